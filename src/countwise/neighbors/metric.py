"""The metric: the distance of two rows of a mixed table."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from countwise import _kernels
from countwise._typing import Floats
from countwise.base.model import Model, note_left_out
from countwise.base.row_model import encode_finite
from countwise.data.attributes import Nominal
from countwise.data.cells import one_row
from countwise.data.frames import Frame, is_relation
from countwise.data.output import dense
from countwise.data.schema import Schema
from countwise.data.table import Table, threads_for
from countwise.engines.relation import Relation
from countwise.errors import CountwiseError, NumberIn, OptionError, check_settings, did_you_mean, listed
from countwise.jsonfile import plain
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
_BINS, _POWERS = NumberIn(1, whole=True), NumberIn(0, strict=True)


@dataclass(eq=False, repr=False)
class DistanceMetric(Model):
    """A distance between rows: a local distance for each attribute, combined as (Σ w d^p)^(1/p).

    Equal rows without missing values are at distance 0, and the distance is symmetric. The triangle inequality holds
    if p is at least 1, except for "cosine", for missing values that are ignored, and by way of a missing value
    between numbers or strings further apart than any of the training rows. Different rows may be at distance 0:
    values with the same class probabilities ("mvdm"), or texts of the same words.

    Parameters
    ----------
    p : float or {"euclidean", "manhattan", "chebyshev"}, default=2
        How local distances are combined: 2 is Euclidean, 1 Manhattan, infinity Chebyshev (the largest).
    numeric : {"range", "sd", "none", "mvdm"}, default="range"
        Numeric columns: the difference over the range of the training rows, over the standard deviation, or as it is;
        or the value difference of bins of equal frequency.
    nominal : {"overlap", "mvdm", "levenshtein"}, default="overlap"
        Nominal columns: 0 if equal, else 1 (Hamming); the modified value difference Σ_c |P(c | v) - P(c | w)|; or the
        edit distance of strings over the length of the longest.
    ordinal : {"steps", "overlap", "mvdm"}, default="steps"
        Ordinal columns: the steps between two values, over all steps; or as nominal columns.
    text : {"cosine", "jaccard", "bag_jaccard"}, default="cosine"
        Texts: 1 less the cosine of their word counts, or less the share of the words that both have.
    missing : {"maximal", "ignore"}, default="maximal"
        A missing value is as far from all others as any two values of the training rows are, or it is ignored and the
        sum of the others divided by their share of the weights. An unseen value counts as missing, except for strings
        and texts.
    weights : mapping of column to float, {"gain", "gain_ratio", "chi_square", "mutual_information"} or None
        The weight of each attribute: given, by its association with the class (numeric columns in bins of equal
        frequency), or 1.
    unit_length : bool, default=False
        Whether the numeric values of each row are divided by their Euclidean length first, and then not scaled.
    attributes : mapping of column to rule, optional
        A rule for single columns, such as ``{"name": "levenshtein"}``.
    divisor : {"n-1", "n"}, default="n-1"
        The divisor of the variance, for "sd".
    n_bins : int, default=10
        How many bins, where numeric columns are counted.
    types : mapping of column to kind, str or Schema, optional
        The kinds of columns, where dtypes do not say.

    Attributes
    ----------
    distance_ : CombinedDistance
        The local distances, and how they are combined.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.neighbors import DistanceMetric
    >>> cheat = samples.load("cheat")
    >>> metric = DistanceMetric(nominal="mvdm").fit(cheat.X, cheat.y)
    >>> print(metric.explain(cheat.X, row=0, other=1))
    The distance is 1.32631.
    <BLANKLINE>
    What each attribute adds
      attribute  row     other    distance                 d         d²
      refund     Yes     No       value difference  0.857143  0.734694
      marital    Single  Married  value difference  1         1
      income_k   125     100      difference / 160  0.15625   0.0244141
      refund: P(No | Yes) = 1, P(Yes | Yes) = 0; P(No | No) = 0.571429, P(Yes | No) = 0.428571
      marital: P(No | Single) = 0.5, P(Yes | Single) = 0.5; P(No | Married) = 1, P(Yes | Married) = 0
      sum 1.75911; its root is the distance
    """

    p: Any = 2
    _: KW_ONLY
    numeric: str = "range"
    nominal: str = "overlap"
    ordinal: str = "steps"
    text: str = "cosine"
    missing: str = "maximal"
    weights: Any = None
    unit_length: bool = False
    attributes: Any = None
    divisor: str = "n-1"
    n_bins: int = 10
    types: Any = None

    schema_: Schema = field(init=False)
    distance_: CombinedDistance = field(init=False)

    def set_params(self, **params: Any) -> Self:
        """Change settings by name."""
        known = self.get_params()
        odd = next((name for name in params if name not in known), None)
        if odd is not None:
            hint = did_you_mean(odd, known) or f"it has {listed(known)}."
            raise OptionError(f"A metric has no setting {odd!r}.", hint=hint)
        return super().set_params(**params)

    def as_setting(self) -> dict[str, Any]:
        """Plain data, where the metric is a setting of a model."""
        return {"@": "metric", "of": [[name, plain(value)] for name, value in self.get_params().items()]}

    def _check_settings(self) -> None:
        check_settings(
            self,
            **RULES,
            missing=("maximal", "ignore"),
            unit_length=(True, False),
            divisor=("n-1", "n"),
            n_bins=_BINS,
        )
        self._power()

    def _power(self) -> float:
        power: Any = _WORDS.get(self.p, self.p) if isinstance(self.p, str) else self.p
        if power not in _POWERS:
            raise OptionError(
                f"p={self.p!r} is no power above 0.", hint="'euclidean' is 2, 'manhattan' 1, 'chebyshev' infinity."
            )
        return float(power)

    # -- learning ----------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn scales and class probabilities of values from a table.

        Parameters
        ----------
        X : any table
            pandas, Polars, PyArrow, NumPy, a mapping of columns, a list of dicts; or a table that an engine holds
            (DuckDB, Polars lazy, Dask, Spark, Ibis), which counts and keeps its rows.
        y : array-like or str, optional
            The class of each row, or the name of its column in X; needed for "mvdm" and for weights by measures.
        sample_weight : array-like or str, optional
            A weight for each row; of a table that an engine holds, the name of their column.

        Returns
        -------
        self
        """
        self._check_settings()
        if is_relation(X):
            return self._fit_relation(Relation.open(X, y, sample_weight))
        (rows,) = open_rows(dense(X), y, sample_weight, needs_target=False)
        classes = None
        if rows.known:
            target = Nominal(rows.name, grows=True).learn(rows.target)
            classes = MetricTarget(target, target.encode(rows.target, strict=True))
        try:
            self.adopt(*self.encoded(rows.frame, rows.weights), classes)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        vars(self).update(self._names(rows.frame))
        return self

    def _fit_relation(self, relation: Relation) -> Self:
        """The same of a table that an engine holds."""
        schema = Schema.kinds(relation.empty(), self.types)
        schema, found, left_out, n_rows = learned_in_engine(self, schema, relation)
        self.schema_, self.distance_ = schema, CombinedDistance(found, self._power(), self.missing, unit_length=False)
        vars(self).update(self._names(relation.empty()))
        note_left_out(left_out, n_rows, str(relation.target))
        return self

    def encoded(self, frame: Frame, weights: Any, categorical_features: Any = None) -> tuple[Schema, Frame, Table]:
        """The schema of rows that are open, their frame with nominal columns as codes, and their encoded table."""
        schema = Schema.kinds(frame, self.types, categorical_features)
        frame = schema.coded(frame)
        schema = schema.learn(frame)
        return schema, frame, encode_finite(schema, frame, weights, strict=True)

    def adopt(self, schema: Schema, frame: Frame, table: Table, classes: MetricTarget | None) -> None:
        """Learn from rows that are encoded."""
        settings = DistanceMetric(**{**self.get_params(), "numeric": "none"}) if self.unit_length else self
        found = learned_locals(settings, schema, MetricRows(table, frame, classes))
        combined = CombinedDistance(found, self._power(), self.missing, bool(self.unit_length))
        self.schema_ = schema
        self.distance_ = of_unit_length(combined, table, frame) if combined.unit_length else combined

    # -- distances -------------------------------------------------------------------

    def lay(self, X: Any) -> RowLayout:
        """The rows of a table, laid out."""
        self._check_fitted()
        return self._laid(self.schema_.opened(dense(X)))

    def _laid(self, frame: Frame) -> RowLayout:
        return lay(self.distance_, encode_finite(self.schema_, frame), frame)

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
        """The distances of rows that are laid out."""
        out = np.empty((len(queries), len(rows)))

        def work(start: int, *pair: Any) -> None:
            sums = _kernels.pair_sums(*pair)
            out[start : start + len(sums)] = self.distance_.root(sums)

        self.distance_.over_blocks(queries, rows, _BLOCK, work, threads=threads_for(len(rows)))
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
        left, right = (self._laid(one) for one in (a, b))
        value = float(self.distances(left, right)[0, 0])
        section = distance_section(self.distance_, left, right, a, b)
        return Account(f"The distance is {number(value)}.", value, (section,))

    @property
    def parts_(self) -> Grid:
        """How each attribute is compared, its weight, and the distance of a missing value."""
        self._check_fitted()
        parts = self.distance_.locals
        return Grid(
            {
                "attribute": [part.of.name for part in parts],
                "kind": [part.of.kind for part in parts],
                "distance": [part.word for part in parts],
                "weight": [part.weight for part in parts],
                "if missing": [part.most if self.distance_.missing == "maximal" else "ignored" for part in parts],
            }
        )

    def scaled(self, X: Any) -> Grid:
        """The numeric columns of a table as they are compared: scaled by range, or by standard deviation."""
        laid = self.lay(X)
        columns = zip(self.distance_.differences, laid.numbers.T, strict=True)
        return Grid({d.of.name: ((numbers - d.origin) * d.scale).tolist() for d, numbers in columns})


def distance_matrix(X: Any, Y: Any = None, metric: Any = None, *, y: Any = None) -> Floats:
    """The distance of each row of X from each row of Y, over mixed columns with missing values.

    Parameters
    ----------
    X, Y : any table
        Columns of any kind; without Y the rows of X among themselves. Scales are learned from X.
    metric : DistanceMetric, float or str, optional
        A metric, which is fitted if it is not yet; or its power.
    y : array-like or str, optional
        The classes of the rows of X, for metrics that need them.

    Returns
    -------
    ndarray, shape (rows of X, rows of Y)

    Examples
    --------
    >>> from countwise.neighbors import distance_matrix
    >>> distance_matrix([[True, False], [False, True]])
    array([[0.        , 1.41421356],
           [1.41421356, 0.        ]])
    """
    found = metric_of(metric)
    if not hasattr(found, "distance_"):
        found = DistanceMetric(**found.get_params()).fit(X, y)
        if isinstance(y, str):
            from countwise.data.frames import frame_of

            X = frame_of(X).without(y)
    return found.pairwise(X, Y)


def metric_of(given: Any) -> DistanceMetric:
    """The metric that a user gave: a metric, its power, or None for the default."""
    if given is None:
        return DistanceMetric()
    if isinstance(given, DistanceMetric):
        return given
    if isinstance(given, str) and given not in _WORDS:
        hint = did_you_mean(given, _WORDS)
        rule = next((kind for kind, known in RULES.items() if given in known), None)
        if rule is not None:
            hint = f"metric=DistanceMetric({rule}={given!r})."
        raise OptionError(
            f"metric={given!r} is unknown.", hint=hint or f"give a DistanceMetric, or one of {listed(_WORDS)}."
        )
    if not isinstance(given, str | int | float | np.number) or isinstance(given, bool):
        raise OptionError(f"metric={given!r} is neither a DistanceMetric, nor a power, nor one of {listed(_WORDS)}.")
    found = DistanceMetric(given)
    found._power()
    return found
