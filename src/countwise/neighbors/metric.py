"""Distance metric for rows of mixed columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from countwise import _kernels
from countwise._typing import Floats
from countwise.base.model import Model, note_skipped
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
from countwise.neighbors.working import distance_section, value_difference_sections
from countwise.sources import open_rows
from countwise.working import Account, Grid
from countwise.working.numbers import number

__all__ = ["DistanceMetric", "distance_matrix", "metric_hint", "metric_of"]

_WORDS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
_SYNONYMS = {
    **dict.fromkeys(("l1", "cityblock", "city_block", "taxicab", "gower"), "use 'manhattan'."),
    **dict.fromkeys(("l2", "sqeuclidean", "heom", "nan_euclidean"), "use 'euclidean'."),
    **dict.fromkeys(("linf", "infinity", "maximum", "chessboard"), "use 'chebyshev'."),
    "hamming": "use 'manhattan': equal nominal values have distance 0, different ones 1.",
    "minkowski": "use a power above 0, such as 3.",
    "vdm": "use metric=DistanceMetric(nominal='mvdm').",
    "edit": "use metric=DistanceMetric(nominal='levenshtein').",
}
_BLOCK = 128  # queries in one block of parallel work
_BINS, _POWERS = NumberIn(1, whole=True), NumberIn(0, strict=True)


@dataclass(eq=False, repr=False)
class DistanceMetric(Model):
    """Distance between rows of mixed columns: d(x, y) = (Σ_j w_j d_j(x_j, y_j)^p)^(1/p).

    Each attribute j has a local distance d_j, which depends on its type, and a weight w_j. Scales, class
    probabilities and weights are learned by `fit`.

    Parameters
    ----------
    p : float or {'euclidean', 'manhattan', 'chebyshev'}, default=2
        Power with which local distances are combined, above 0. 2 or 'euclidean': the root of the sum of squares. 1 or
        'manhattan': the sum. ``inf`` or 'chebyshev': the largest local distance.
    numeric : {'range', 'sd', 'none', 'mvdm'}, default='range'
        Local distance of numeric columns. 'range': the difference divided by the range of the training rows. 'sd':
        the difference divided by the standard deviation. 'none': the difference. 'mvdm': the value difference metric
        of equal-frequency bins.
    nominal : {'overlap', 'mvdm', 'levenshtein'}, default='overlap'
        Local distance of nominal columns. 'overlap': 0 for equal values, 1 for different values. 'mvdm': the modified
        value difference metric ``Σ_c |P(c | v) - P(c | w)|``. 'levenshtein': the edit distance of the strings divided
        by the length of the longest training string, or not divided if `numeric` is 'none'.
    ordinal : {'steps', 'overlap', 'mvdm'}, default='steps'
        Local distance of ordinal columns. 'steps': the number of steps between two values, divided by the number of
        all steps. The other options are those of nominal columns.
    text : {'cosine', 'jaccard', 'bag_jaccard'}, default='cosine'
        Local distance of text columns: 1 minus the similarity of two documents. 'cosine': the cosine of the word
        counts. 'jaccard': the number of words in both documents divided by the number in either. 'bag_jaccard': the
        same for word counts.
    missing : {'maximal', 'ignore'}, default='maximal'
        Distance of a missing value. 'maximal': the largest distance between two values of the training rows.
        'ignore': the attribute is skipped, and the sum of the others is divided by their proportion of the weights. A
        value never seen in training counts as missing, except with 'levenshtein' and in text columns.
    weights : mapping of column to float, str or None, default=None
        Weight of each attribute. A mapping gives them; columns that it does not contain have weight 1. 'gain' (or
        'mutual_information'), 'gain_ratio' and 'chi_square' are measures of the association with the class, as in
        `countwise.feature_selection.attribute_scores`: numeric columns are discretized by MDL, so the weight of a
        column without an accepted cut point is 0. None: all weights are 1.
    unit_length : bool, default=False
        If True, the numeric values of each row are divided by their Euclidean norm, and not scaled.
    attributes : mapping of column to str, optional
        Local distances of single columns, such as ``{'name': 'levenshtein'}``. Each must be an option for the type
        of its column. It is used for this column instead of `numeric`, `nominal`, `ordinal` or `text`.
    divisor : {'n-1', 'n'}, default='n-1'
        Divisor of the variance for 'sd'.
    n_bins : int, default=10
        Number of bins of numeric columns for 'mvdm'.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them.

    Attributes
    ----------
    distance_ : CombinedDistance
        The local distances and how they are combined.
    parts_ : Grid
        The local distance of each attribute, its weight, and its distance for a missing value.
    schema_ : Schema
        The columns and their types.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.

    Notes
    -----
    The distance is symmetric, and rows that are equal and complete have distance 0. Different rows can have distance
    0 too: values with equal class probabilities ('mvdm'), or documents with the same words. For p >= 1 the triangle
    inequality holds, with three exceptions: 'cosine'; missing='ignore'; and missing='maximal' if two numbers or
    strings are farther apart than any two of the training rows.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.neighbors import DistanceMetric
    >>> cheat = samples.load("cheat")
    >>> metric = DistanceMetric(nominal="mvdm").fit(cheat.X, cheat.y)
    >>> print(metric.explain(cheat.X, row=0, other=1))
    The distance is 1.32631.
    <BLANKLINE>
    Contribution of each attribute
      attribute  row     other    distance                 d         d²
      refund     Yes     No       value difference  0.857143  0.734694
      marital    Single  Married  value difference  1         1
      income_k   125     100      difference / 160  0.15625   0.0244141
      sum 1.75911; the distance is its square root
    <BLANKLINE>
    Value differences of refund
      class  P(class | Yes)  P(class | No)
      No     3/3 = 1         4/7 = 0.571429
      Yes    0/3 = 0         3/7 = 0.428571
      d(Yes, No) = |3/3 - 4/7| + |0/3 - 3/7| = 6/7 = 0.857143
      d(Yes, No)² = (6/7)² = 36/49 = 0.734694
    <BLANKLINE>
    Value differences of marital
      class  P(class | Single)  P(class | Married)
      No     2/4 = 0.5          4/4 = 1
      Yes    2/4 = 0.5          0/4 = 0
      d(Single, Married) = |2/4 - 4/4| + |2/4 - 0/4| = 1
      d(Single, Married)² = 1² = 1
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
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Parameters of the metric and their new values.

        Returns
        -------
        DistanceMetric
            The metric itself.

        Examples
        --------
        >>> from countwise.neighbors import DistanceMetric
        >>> DistanceMetric().set_params(p=1, nominal="mvdm").p
        1
        """
        known = self.get_params()
        odd = next((name for name in params if name not in known), None)
        if odd is not None:
            hint = did_you_mean(odd, known) or f"use one of {listed(known)}."
            raise OptionError(f"DistanceMetric has no parameter {odd!r}.", hint=hint)
        return super().set_params(**params)

    def as_setting(self) -> dict[str, Any]:
        """Return the parameters as plain data, for the file of a model that has this metric as a parameter.

        Returns
        -------
        dict
            Plain data that can be written as JSON.
        """
        return {"@": "metric", "of": [[name, plain(value)] for name, value in self.get_params().items()]}

    def _check_settings(self) -> None:
        for name in ("nominal", "ordinal"):
            if isinstance(getattr(self, name), str) and getattr(self, name) == "hamming":
                raise OptionError(
                    f"{name} must be one of {listed(RULES[name])}, not 'hamming'.", hint="use 'overlap'."
                )
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
                f"p must be a number above 0 or one of {listed(_WORDS)}, not {self.p!r}.",
                hint=(metric_hint(self.p) if isinstance(self.p, str) else None)
                or "use 2 for the Euclidean, 1 for the Manhattan and infinity for the Chebyshev distance.",
            )
        return float(power)

    # -- fitting -----------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn scales, class probabilities of values, and weights from a table.

        Parameters
        ----------
        X : table
            The training rows: a pandas or Polars data frame, a PyArrow table, a NumPy array, a mapping of columns or
            a list of dicts; or an engine table (DuckDB relation, Polars LazyFrame, Dask, Spark or Ibis table). An
            engine computes the counts and sums itself, and its rows are not fetched.
        y : array-like or str, optional
            The class of each row, or the name of its column in X. Needed for 'mvdm' and for weights by a measure.
        sample_weight : array-like or str, optional
            The weight of each row. For an engine table, the name of the column of weights.

        Returns
        -------
        DistanceMetric
            The fitted metric.

        Examples
        --------
        >>> from countwise.neighbors import DistanceMetric
        >>> metric = DistanceMetric().fit({"age": [20, 40], "city": ["Rome", "Oslo"]})
        >>> metric({"age": 25, "city": "Rome"}, {"age": 30, "city": "Rome"})
        0.25
        """
        self._check_settings()
        if is_relation(X):
            return self._fit_relation(Relation.open(X, y, sample_weight))
        (rows,) = open_rows(dense(X), y, sample_weight, needs_target=False)
        classes = None
        if rows.known:
            target = Nominal(rows.name, grows=True).learn(rows.target, occurring=True)
            classes = MetricTarget(target, target.encode(rows.target, strict=True))
        try:
            self.adopt(*self.encoded(rows.frame, rows.weights), classes)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        vars(self).update(self._names(rows.frame))
        return self

    def _fit_relation(self, relation: Relation) -> Self:
        """Fit the metric to an engine table."""
        schema = Schema.kinds(relation.empty(), self.types)
        schema, found, skipped, n_rows = learned_in_engine(self, schema, relation)
        self.schema_, self.distance_ = schema, CombinedDistance(found, self._power(), self.missing, unit_length=False)
        vars(self).update(self._names(relation.empty()))
        note_skipped(skipped, n_rows, str(relation.target))
        return self

    def encoded(self, frame: Frame, weights: Any, categorical_features: Any = None) -> tuple[Schema, Frame, Table]:
        """Return the schema of a frame, the frame with nominal columns as codes, and the encoded table.

        Parameters
        ----------
        frame : Frame
            The rows.
        weights : ndarray or None
            The weight of each row.
        categorical_features : array-like, optional
            Columns that are nominal, by name or index or as a mask.

        Returns
        -------
        schema : Schema
            The columns and their types.
        frame : Frame
            The rows, with nominal columns as codes.
        table : Table
            The encoded rows.
        """
        schema = Schema.kinds(frame, self.types, categorical_features)
        frame = schema.coded(frame)
        schema = schema.learn(frame)
        return schema, frame, encode_finite(schema, frame, weights, strict=True)

    def adopt(self, schema: Schema, frame: Frame, table: Table, classes: MetricTarget | None) -> None:
        """Fit the metric to encoded rows, the result of `encoded`.

        Parameters
        ----------
        schema : Schema
            The columns and their types.
        frame : Frame
            The rows, with nominal columns as codes.
        table : Table
            The encoded rows.
        classes : MetricTarget or None
            The class of each row, if there are classes.
        """
        settings = DistanceMetric(**{**self.get_params(), "numeric": "none"}) if self.unit_length else self
        found = learned_locals(settings, schema, MetricRows(table, frame, classes))
        combined = CombinedDistance(found, self._power(), self.missing, bool(self.unit_length))
        self.schema_ = schema
        self.distance_ = of_unit_length(combined, table, frame) if combined.unit_length else combined

    # -- distances -------------------------------------------------------------------

    def lay(self, X: Any) -> RowLayout:
        """Return the rows of a table in the layout that `distances` and the neighbor search use.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        RowLayout
            The rows, encoded.
        """
        self._check_fitted()
        return self._laid(self.schema_.opened(dense(X)))

    def _laid(self, frame: Frame) -> RowLayout:
        return lay(self.distance_, encode_finite(self.schema_, frame), frame)

    def pairwise(self, X: Any, Y: Any = None) -> Floats:
        """Compute the distance between each row of X and each row of Y.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.
        Y : table, optional
            Other rows. If omitted, the distances between the rows of X are computed.

        Returns
        -------
        ndarray of shape (n_rows_X, n_rows_Y)
            The distances.

        Examples
        --------
        >>> from countwise.neighbors import DistanceMetric
        >>> metric = DistanceMetric().fit({"x": [0.0, 10.0], "c": ["u", "v"]})
        >>> metric.pairwise({"x": [0.0, 5.0], "c": ["u", "u"]}).tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """
        rows = self.lay(X)
        return self.distances(rows, rows if Y is None else self.lay(Y))

    def distances(self, queries: RowLayout, rows: RowLayout) -> Floats:
        """Compute the distances between rows in the layout of `lay`.

        Parameters
        ----------
        queries, rows : RowLayout
            Results of `lay`.

        Returns
        -------
        ndarray of shape (n_queries, n_rows)
            The distances.
        """
        out = np.empty((len(queries), len(rows)))

        def work(start: int, *pair: Any) -> None:
            sums = _kernels.pair_sums(*pair)
            out[start : start + len(sums)] = self.distance_.root(sums)

        self.distance_.over_blocks(queries, rows, _BLOCK, work, threads=threads_for(len(rows)))
        return out

    def __call__(self, a: Any, b: Any) -> float:
        """Compute the distance between two rows, each a mapping of column to value or a list of values."""
        return float(self.pairwise([a], [b])[0, 0])

    def explain(self, X: Any, *, row: int = 0, Y: Any = None, other: int = 1) -> Account:
        """Explain the distance between two rows: the contribution of each attribute.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.
        row : int, default=0
            Index of the first row in X.
        Y : table, optional
            Table of the second row. If omitted, X.
        other : int, default=1
            Index of the second row in Y.

        Returns
        -------
        Account
            The working. ``print`` shows it as text.

        Examples
        --------
        >>> from countwise.neighbors import DistanceMetric
        >>> metric = DistanceMetric("manhattan").fit({"x": [0.0, 10.0], "c": ["u", "v"]})
        >>> print(metric.explain({"x": [0.0, 5.0], "c": ["u", "v"]}))
        The distance is 1.5.
        <BLANKLINE>
        Contribution of each attribute
          attribute  row  other  distance           d
          x          0    5      difference / 10  0.5
          c          u    v      overlap          1
          sum 1.5
        """
        self._check_fitted()
        frame = self.schema_.opened(dense(X))
        others = frame if Y is None else self.schema_.opened(dense(Y))
        a, b = one_row(frame, row), one_row(others, other)
        left, right = (self._laid(one) for one in (a, b))
        value = float(self.distances(left, right)[0, 0])
        section = distance_section(self.distance_, left, right, a, b)
        differences = value_difference_sections(self.distance_, a, b)
        return Account(f"The distance is {number(value)}.", value, (section, *differences))

    @property
    def parts_(self) -> Grid:
        """The local distance of each attribute, its weight, and its distance for a missing value."""
        self._check_fitted()
        parts = self.distance_.locals
        return Grid(
            {
                "attribute": [part.of.name for part in parts],
                "type": [part.of.kind for part in parts],
                "distance": [part.label for part in parts],
                "weight": [part.weight for part in parts],
                "if missing": [part.most if self.distance_.missing == "maximal" else "ignored" for part in parts],
            }
        )

    def scaled(self, X: Any) -> Grid:
        """Return the numeric and ordinal columns of a table, scaled as the metric compares them.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        Grid
            The scaled columns.

        Examples
        --------
        >>> from countwise.neighbors import DistanceMetric
        >>> print(DistanceMetric().fit({"x": [0.0, 10.0]}).scaled({"x": [5.0, 20.0]}))
          x
        0.5
        2
        """
        laid = self.lay(X)
        columns = zip(self.distance_.differences, laid.numbers.T, strict=True)
        return Grid({d.of.name: ((numbers - d.origin) * d.scale).tolist() for d, numbers in columns})


def distance_matrix(X: Any, Y: Any = None, metric: Any = None, *, y: Any = None) -> Floats:
    """Compute the distance between each row of X and each row of Y, for mixed columns with missing values.

    Parameters
    ----------
    X : table
        Rows with columns of any type. An unfitted metric is fitted to X.
    Y : table, optional
        Other rows. If omitted, the distances between the rows of X are computed.
    metric : DistanceMetric, float or {'euclidean', 'manhattan', 'chebyshev'}, optional
        The metric, fitted or not. A number or a name is the power p of a `DistanceMetric`; the default is
        ``DistanceMetric()``.
    y : array-like or str, optional
        The classes of the rows of X, or the name of their column, for metrics that need classes.

    Returns
    -------
    ndarray of shape (n_rows_X, n_rows_Y)
        The distances.

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


def _wrong(given: Any) -> str:
    return f"metric must be a DistanceMetric, a power above 0 or one of {listed(_WORDS)}, not {given!r}."


def metric_hint(given: str) -> str | None:
    """Return what to write instead of the name of a metric; None if no known name is similar."""
    rule = next((option for option in ("nominal", "numeric", "text", "ordinal") if given in RULES[option]), None)
    if rule is not None:
        return f"use metric=DistanceMetric({rule}={given!r})."
    return _SYNONYMS.get(given.lower()) or did_you_mean(given, _WORDS)


def metric_of(given: Any) -> DistanceMetric:
    """Return the metric for a `metric` parameter: a DistanceMetric, its power, or None for the default."""
    if given is None:
        return DistanceMetric()
    if isinstance(given, DistanceMetric):
        return given
    if isinstance(given, str) and given not in _WORDS:
        raise OptionError(
            _wrong(given), hint=metric_hint(given) or f"use one of {listed(_WORDS)}, or a DistanceMetric."
        )
    if not isinstance(given, str | int | float | np.number) or isinstance(given, bool):
        raise OptionError(_wrong(given))
    found = DistanceMetric(given)
    found._power()
    return found
