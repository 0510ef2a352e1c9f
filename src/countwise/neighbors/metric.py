"""The metric: how far two rows of a mixed table are apart (000, 001, 004)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from countwise import _kernels
from countwise._typing import Floats
from countwise.base.model import Model, note_left_out
from countwise.data.attributes import Nominal, Numeric
from countwise.data.cells import one_row
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame, is_relation
from countwise.data.output import dense
from countwise.data.schema import Schema
from countwise.data.table import Table, threads_for
from countwise.engines.relation import Relation
from countwise.errors import CountwiseError, OptionError, check_settings, did_you_mean, listed
from countwise.neighbors.engine import learned_in_engine
from countwise.neighbors.fit_distances import RULES, MetricRows, MetricTarget, learned_locals
from countwise.neighbors.layout import CombinedDistance, RowLayout, lay, of_unit_length
from countwise.neighbors.working import distance_section
from countwise.sources import open_rows
from countwise.working import Account, Grid
from countwise.working.numbers import number

__all__ = ["DistanceMetric", "distance_matrix", "metric_of"]

_WORDS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
_BLOCK = 128  # queries compared with all rows at a time


class DistanceMetric(Model):
    """A distance between rows: a local distance for each attribute, combined as (Σ w d^p)^(1/p).

    Equal rows without gaps are at distance 0, and it is the same either way. No way round is shorter if p is at least
    1, but for "cosine", where cells are missing and ignored, and by a missing cell between numbers or strings further
    apart than any of the training rows. Different rows may be at distance 0: where values tell the same of the class
    ("mvdm"), or texts have the same words.

    Parameters
    ----------
    p : float or {"euclidean", "manhattan", "chebyshev"}, default=2
        How local distances are combined: 2 as Euclid did, 1 as a taxi goes, infinity for the largest.
    numeric : {"range", "sd", "none", "mvdm"}, default="range"
        Numbers: their difference over the range of the training rows, over the standard deviation, or as it is;
        or in ranges of equal frequency by what these tell of the class.
    nominal : {"overlap", "mvdm", "levenshtein"}, default="overlap"
        Names: 0 if equal, else 1 (Hamming); by what they tell of the class (MVDM); or as strings, by the letters
        to be changed, over the length of the longest.
    ordinal : {"steps", "overlap", "mvdm"}, default="steps"
        Orders: the steps between two values, over all there are; or as names.
    text : {"cosine", "jaccard", "bag_jaccard"}, default="cosine"
        Texts: one less the cosine of their words' counts, or the share of the words that both have.
    missing : {"maximal", "ignore"}, default="maximal"
        A missing cell is as far from all others as any two of the training rows are (004), or it is ignored and the
        sum of the others divided by their share of the weights. So is a value never seen, but for strings and texts.
    weights : mapping of column to float, {"gain", "gain_ratio", "chi_square", "mutual_information"} or None
        The weight of each attribute: given, by what it tells of the class (numbers in ranges of equal
        frequency), or 1.
    unit_length : bool, default=False
        Whether the numbers of each row are divided by their length first; they are then taken as they are.
    attributes : mapping of column to rule, optional
        A rule for single columns, such as ``{"name": "levenshtein"}``.
    divisor : {"n-1", "n"}, default="n-1"
        Of the variance, for "sd".
    n_bins : int, default=10
        How many ranges numbers are put into to be counted.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.

    Attributes
    ----------
    law_ : CombinedDistance
        The local distances, and how they are combined.

    Examples
    --------
    >>> from countwise import DistanceMetric, samples
    >>> cheat = samples.load("cheat")
    >>> metric = DistanceMetric(nominal="mvdm").fit(cheat.X, cheat.y)
    >>> print(metric.explain(cheat.X, row=0, other=1))
    The distance is 1.32631.
    <BLANKLINE>
    What each attribute adds
      attribute  row     other    distance          d         d²
      refund     Yes     No       value difference  0.857143  0.734694
      marital    Single  Married  value difference  1         1
      income_k   125     100      difference / 160  0.15625   0.0244141
      refund: P(No | Yes) = 1, P(Yes | Yes) = 0; P(No | No) = 0.571429, P(Yes | No) = 0.428571
      marital: P(No | Single) = 0.5, P(Yes | Single) = 0.5; P(No | Married) = 1, P(Yes | Married) = 0
      sum 1.75911; its root is the distance
    """

    schema_: Schema
    law_: CombinedDistance

    def __init__(
        self,
        p: Any = 2,
        *,
        numeric: str = "range",
        nominal: str = "overlap",
        ordinal: str = "steps",
        text: str = "cosine",
        missing: str = "maximal",
        weights: Any = None,
        unit_length: bool = False,
        attributes: Any = None,
        divisor: str = "n-1",
        n_bins: int = 10,
        types: Any = None,
    ) -> None:
        self.p = p
        self.numeric = numeric
        self.nominal = nominal
        self.ordinal = ordinal
        self.text = text
        self.missing = missing
        self.weights = weights
        self.unit_length = unit_length
        self.attributes = attributes
        self.divisor = divisor
        self.n_bins = n_bins
        self.types = types

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        known = self.get_params()
        for name in settings:
            if name not in known:
                hint = did_you_mean(name, known) or f"it has {listed(known)}."
                raise OptionError(f"A metric has no setting {name!r}.", hint=hint)
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = DistanceMetric().get_params()
        told = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, usual[k])]
        return f"DistanceMetric({', '.join(told)})"

    def _check_settings(self) -> None:
        check_settings(self, **RULES, missing=("maximal", "ignore"), unit_length=(True, False), divisor=("n-1", "n"))
        self._power()
        if not (isinstance(self.n_bins, int | np.integer) and self.n_bins >= 1):
            raise OptionError(f"n_bins must be a whole number, 1 or more, not {self.n_bins!r}.")

    def _power(self) -> float:
        power: Any = _WORDS.get(self.p, self.p) if isinstance(self.p, str) else self.p
        number = isinstance(power, int | float | np.number) and not isinstance(power, bool)
        if not (number and power > 0):
            raise OptionError(
                f"p={self.p!r} is no power above 0.", hint="'euclidean' is 2, 'manhattan' 1, 'chebyshev' infinity."
            )
        return float(power)

    # -- learning ----------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn scales, and what values tell of the class, from a table.

        Parameters
        ----------
        X : any table
            pandas, Polars, PyArrow, NumPy, a mapping of columns, a list of dicts; or a table that an engine holds
            (DuckDB, Polars lazy, Dask, Spark, Ibis), which is asked for counts and ranges, and keeps its rows.
        y : array-like or str, optional
            The class of each row, or the name of its column in X; needed for "mvdm" and for weights by measures.
        sample_weight : array-like or str, optional
            A weight for each row; of a table that an engine holds, the name of their column.

        Returns
        -------
        self
        """
        if is_relation(X):
            return self._fit_relation(Relation.open(X, y, sample_weight))
        (rows,) = open_rows(dense(X), y, sample_weight, needs_target=False)
        told = None
        if rows.known:
            target = Nominal(rows.name, grows=True).learn(rows.target)
            told = MetricTarget(target, target.encode(rows.target, strict=True))
        try:
            self.adopt(*self.encoded(rows.frame, rows.weights), told)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        vars(self).update(self._names(rows.frame))
        return self

    def _fit_relation(self, relation: Relation) -> Self:
        """The same of a table that an engine holds."""
        self._check_settings()
        schema = Schema.kinds(relation.empty(), self.types)
        schema, found, left_out, n_rows = learned_in_engine(self, schema, relation)
        self.schema_, self.law_ = schema, CombinedDistance(found, self._power(), self.missing, unit_length=False)
        vars(self).update(self._names(relation.empty()))
        note_left_out(left_out, n_rows, str(relation.target))
        return self

    def encoded(self, frame: Frame, weights: Any, categorical_features: Any = None) -> tuple[Schema, Frame, Table]:
        """Rows that somebody else has opened: what their columns are, as codes, and encoded."""
        self._check_settings()
        schema = Schema.kinds(frame, self.types, categorical_features)
        frame = schema.coded(frame)
        schema = schema.learn(frame)
        table = schema.encode(frame, weights, strict=True)
        refuse_infinity({a.name: table[a.name] for a in schema.attributes if isinstance(a, Numeric)})
        return schema, frame, table

    def adopt(self, schema: Schema, frame: Frame, table: Table, told: MetricTarget | None) -> None:
        """Learn from rows that are encoded."""
        settings = DistanceMetric(**{**self.get_params(), "numeric": "none"}) if self.unit_length else self
        found = learned_locals(settings, schema, MetricRows(table, frame, told))
        law = CombinedDistance(found, self._power(), self.missing, bool(self.unit_length))
        self.schema_ = schema
        self.law_ = of_unit_length(law, table, frame) if law.unit_length else law

    # -- distances -------------------------------------------------------------------

    def lay(self, X: Any) -> RowLayout:
        """The rows of a table, laid out."""
        self._check_fitted()
        frame = self.schema_.opened(dense(X))
        return self.laid(frame, self.schema_.encode(frame))

    def laid(self, frame: Frame, table: Table) -> RowLayout:
        """Rows that are encoded already, laid out."""
        refuse_infinity({a.name: table[a.name] for a in self.schema_.attributes if isinstance(a, Numeric)})
        return lay(self.law_, table, frame)

    def pairwise(self, X: Any, Y: Any = None) -> Floats:
        """The distance of each row of X from each row of Y.

        Parameters
        ----------
        X, Y : any table
            Columns are found by name, or by place in an array; without Y the rows of X among themselves.

        Returns
        -------
        ndarray, shape (rows of X, rows of Y)
        """
        rows = self.lay(X)
        return self.distances(rows, rows if Y is None else self.lay(Y))

    def distances(self, queries: RowLayout, rows: RowLayout) -> Floats:
        """The same of rows that are laid out."""
        law, out = self.law_, np.empty((len(queries), len(rows)))
        for start, stop in law.blocks(queries, rows):
            left, right, between = law.between(queries.slice(start, stop), rows)

            def work(a: int, b: int, at: int = start, both: Any = (left, right, between)) -> None:
                part = _kernels.PairRows(both[0].numbers[a:b], [codes[a:b] for codes in both[0].codes])
                out[at + a : at + b] = law.root(_kernels.pair_sums(part, *both[1:]))

            _kernels.over_blocks(stop - start, _BLOCK, work, threads=threads_for(len(rows)))
        return out

    def __call__(self, a: Any, b: Any) -> float:
        """The distance of two rows, each a mapping of columns to cells or a list of cells."""
        return float(self.pairwise([a], [b])[0, 0])

    def explain(self, X: Any, *, row: int = 0, Y: Any = None, other: int = 1) -> Account:
        """What each attribute adds to the distance of two rows.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            A row of X.
        Y : any table, optional
            Where the other row is; X if not given.
        other : int, default=1
            The other row.

        Returns
        -------
        Account
        """
        self._check_fitted()
        frame = self.schema_.opened(dense(X))
        others = frame if Y is None else self.schema_.opened(dense(Y))
        a, b = one_row(frame, row), one_row(others, other)
        left, right = (self.laid(one, self.schema_.encode(one)) for one in (a, b))
        value = float(self.distances(left, right)[0, 0])
        section = distance_section(self.law_, left, right, a, b)
        return Account(f"The distance is {number(value)}.", value, (section,))

    @property
    def parts_(self) -> Grid:
        """How each attribute is compared, its weight, and the distance of a missing cell."""
        self._check_fitted()
        parts = self.law_.locals
        return Grid(
            {
                "attribute": [part.of.name for part in parts],
                "kind": [part.of.kind for part in parts],
                "distance": [part.word for part in parts],
                "weight": [part.weight for part in parts],
                "if missing": [part.most if self.law_.missing == "maximal" else "ignored" for part in parts],
            }
        )

    def scaled(self, X: Any) -> Grid:
        """The numbers of a table as they are compared: over their range from its lower end, or in deviations.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        Grid
            A column for each number.
        """
        laid = self.lay(X)
        columns = {}
        for j, local in enumerate(self.law_.differences):
            columns[local.of.name] = ((laid.numbers[:, j] - local.origin) * local.scale).tolist()
        return Grid(columns)


def distance_matrix(X: Any, Y: Any = None, metric: Any = None, *, y: Any = None) -> Floats:
    """The distance of each row of X from each row of Y, over mixed columns with gaps.

    Parameters
    ----------
    X, Y : any table
        Columns of any kind; without Y the rows of X among themselves. Scales are learned from X.
    metric : DistanceMetric, float or str, optional
        A metric, which is fitted if it is not yet; or its power.
    y : array-like or str, optional
        The classes of the rows of X, for metrics that look at them.

    Returns
    -------
    ndarray, shape (rows of X, rows of Y)

    Examples
    --------
    >>> from countwise import distance_matrix
    >>> distance_matrix([[True, False], [False, True]])
    array([[0.        , 1.41421356],
           [1.41421356, 0.        ]])
    """
    found = metric_of(metric)
    if not hasattr(found, "law_"):
        found = DistanceMetric(**found.get_params()).fit(X, y)
        if isinstance(y, str):
            from countwise.data.frames import frame_of

            X = frame_of(X).without(y)
    return found.pairwise(X, Y)


def metric_of(given: Any) -> DistanceMetric:
    """The metric that a user named: one, its power, or nothing for the usual."""
    if given is None:
        return DistanceMetric()
    if isinstance(given, DistanceMetric):
        return given
    if isinstance(given, str) and given not in _WORDS:
        hint = did_you_mean(given, _WORDS)
        rule = next((kind for kind, known in RULES.items() if given in known), None)
        if rule is not None:
            hint = f"metric=DistanceMetric({rule}={given!r})."
        raise OptionError(f"metric={given!r} is unknown.", hint=hint or f"give a Metric, or one of {listed(_WORDS)}.")
    if not isinstance(given, str | int | float | np.number) or isinstance(given, bool):
        raise OptionError(f"metric={given!r} is neither a Metric, nor a power, nor one of {listed(_WORDS)}.")
    found = DistanceMetric(given)
    found._power()
    return found


def _same(a: Any, b: Any) -> bool:
    return bool(a is b or (type(a) is type(b) and a == b))
