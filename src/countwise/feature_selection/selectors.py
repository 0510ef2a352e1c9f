"""Selectors by scikit-learn's protocol, over tables with strings and missing values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.base.protocol import Transformer, refuse_unfitted
from countwise.data.columns import missing_classes
from countwise.data.frames import Frame, frame_of, is_relation, is_sparse
from countwise.data.output import chosen, container_of, library_of, names_in, rebuilt
from countwise.engines.relation import Relation
from countwise.errors import NumberIn, OptionError, TableError, check_flag, did_you_mean, listed, warn
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.feature_selection.filters import ADJUSTED, REDUCTIONS, SCORES, reduction_scores, scored
from countwise.feature_selection.redundancy import CONTROLLED, Selection, select
from countwise.measures import (
    chi_square_formula,
    entropy,
    gain_formula,
    gain_ratio_formula,
    mutual_information,
    symmetrical_uncertainty_formula,
)
from countwise.sources.labelled_table import labelled
from countwise.working import Account, Formula, Grid, Section

__all__ = ["FilterSelector", "Selector"]


class Selector(Transformer):
    """Base class of selectors: `transform` returns the selected columns in the container of the input."""

    n_features_in_: int
    names_: tuple[str, ...]
    support_: Flags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_fitted(self) -> None:
        refuse_unfitted(self)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return the selected columns as a mask or as indices.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return the indices of the selected columns instead of a mask.

        Returns
        -------
        ndarray
            A boolean mask over all columns, or an array of integers.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> FilterSelector(k=2).fit(tennis.X, tennis.y).get_support(indices=True).tolist()
        [0, 2]
        """
        self._check_fitted()
        return np.flatnonzero(self.support_) if check_flag("indices", indices) else self.support_

    def _remember(self, X: Any, frame: Frame) -> None:
        block = next(iter(frame.columns.values())) if is_sparse(X) else None
        self.names_ = frame.names if block is None else tuple(f"x{j}" for j in range(block.shape[1]))
        self.n_features_in_ = len(self.names_)
        vars(self).pop("feature_names_in_", None)
        if frame.named:
            self.feature_names_in_ = np.array(frame.names, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : any table
            A table with the columns seen in `fit`. A lazy table of a database or query engine is not loaded.

        Returns
        -------
        table of the same type as X
            The selected columns.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> list(FilterSelector(k=2).fit(tennis.X, tennis.y).transform(tennis.X))
        ['outlook', 'humidity']
        """
        self._check_fitted()
        if is_relation(X):  # columns of an engine table are selected without loading the rows
            relation = Relation.open(X, None)
            wanted = [str(name) for name in self.get_feature_names_out()]
            _refuse_lost(wanted, relation.columns)
            return relation.selected(wanted)
        frame = frame_of(X)
        places = np.flatnonzero(self.support_).tolist()
        n = next(iter(frame.columns.values())).shape[1] if is_sparse(X) else len(frame.columns)
        if frame.named and hasattr(self, "feature_names_in_"):
            _refuse_lost(self.names_, frame.columns)
            where = {name: place for place, name in enumerate(frame.names)}
            places = [where[self.names_[place]] for place in places]
        elif n != self.n_features_in_:
            raise TableError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
            )
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
        picked = chosen(X, frame, places)
        container = container_of(X, self._output_wanted())
        if container == library_of(X) or is_sparse(X):
            return picked
        names = [str(n) for n in self.get_feature_names_out()]
        columns = dict(zip(names, (frame.columns[frame.names[p]] for p in places), strict=True))
        return rebuilt(X, frame, columns, container)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the selected columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all input columns. By default those seen in `fit`, or "x0", "x1", ... without names.

        Returns
        -------
        ndarray of str
            The names of the selected columns.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> FilterSelector(k=2).fit(tennis.X, tennis.y).get_feature_names_out().tolist()
        ['outlook', 'humidity']
        """
        self._check_fitted()
        names = np.array(names_in(self, input_features), dtype=object)
        return names[self.support_]

    def inverse_transform(self, X: Any) -> Any:
        """Return a table with all columns, in which the columns that were not selected are missing.

        Parameters
        ----------
        X : any table
            A dense table of the selected columns.

        Returns
        -------
        table of the same type as X
            The table with all columns seen in `fit`.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> selector = FilterSelector(k=2).fit(tennis.X, tennis.y)
        >>> list(selector.inverse_transform(selector.transform(tennis.X)))
        ['outlook', 'temperature', 'humidity', 'wind']
        """
        self._check_fitted()
        frame = frame_of(X)
        mask = self.support_
        if is_sparse(X) or len(frame.columns) != int(mask.sum()):
            raise TableError(f"X must be a dense table of the {int(mask.sum())} selected columns.")
        waiting = iter(frame.columns.values())
        missing = np.full(frame.n_rows, np.nan)
        columns = {name: next(waiting) if kept else missing for name, kept in zip(self.names_, mask, strict=True)}
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))


@dataclass(eq=False, repr=False)
class FilterSelector(Selector):
    """Filter selection: keep the attributes with the highest scores.

    Each attribute is scored on its own by its association with the target; see `attribute_scores`. The measures
    'mrmr', 'mrmr_quotient', 'cfs' and 'fcbf' also consider how much the attributes depend on each other, so that they
    do not select an attribute and its copy.

    Parameters
    ----------
    measure : str, default='information_gain'
        The score. For a class: 'information_gain', 'gain_ratio', 'symmetrical_uncertainty', 'chi_square',
        'gini_gain', or 'adjusted_gain' and 'adjusted_chi_square', which correct the bias toward attributes with many
        or rare values. For a numeric target: 'sd_reduction' or 'variance_reduction'. To control redundancy:

        - 'mrmr': add the attribute with the highest mutual information with the class minus its mean mutual
          information with the attributes selected so far; 'mrmr_quotient' divides instead of subtracting.
        - 'cfs': search for the subset of m attributes with the highest merit m r / √(m + m (m - 1) s), where r is the
          mean symmetrical uncertainty with the class and s that of the pairs. The search is best first and ends after
          five expansions without a better subset.
        - 'fcbf': in the order of their symmetrical uncertainty with the class, keep the attributes whose symmetrical
          uncertainty with each attribute kept so far is lower.
    k : int, optional
        Number of attributes to keep; for 'cfs' and 'fcbf' the largest number. Ties go to the first column. The
        default is 10 if `threshold` is not given; 'cfs' and 'fcbf' find the number themselves.
    threshold : float, optional
        Keep the attributes with a score above this number. Cannot be combined with `k`. 'mrmr' stops when no score is
        above it, 'fcbf' applies it to the symmetrical uncertainty with the class, 'cfs' does not have it.
    numeric : str, sequence of float, Binned, 'gaussian', or mapping of column to any of these, optional
        How numeric columns are discretized; see `attribute_scores`.
    nominal : {'nominal', 'binary'}, default='nominal'
        Whether nominal columns are scored as one attribute or as indicators of their values. The score of a column
        with several indicators is that of the best one.
    ordinal : {'nominal', 'binary', 'number'}, default='nominal'
        How ordinal columns are scored; see `attribute_scores`.
    adjust : {'permutation', 'analytic'}, default='permutation'
        How the adjusted scores are computed; see `attribute_scores`. Ignored by other scores.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each column; NaN where it is undefined. For a measure that controls redundancy, its relevance:
        the mutual information or symmetrical uncertainty with the class.
    table_ : Grid
        All scores of all attributes; see `attribute_scores`. For a measure that controls redundancy, their relevance,
        and their place among the selected ones.
    path_ : Grid or None
        For a measure that controls redundancy, one row for each step: relevance, redundancy, score, and attributes
        with the same score. For 'cfs', a step is the best extension of a subset.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected columns.
    ties_ : tuple of str
        Columns that are not selected although they score as high as the last selected one.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.
    names_ : tuple of str
        Names of the columns seen in `fit`; "x0", "x1", ... if the table has no column names.

    See Also
    --------
    WrapperSelector : Select subsets by the cross-validated score of a model.
    EmbeddedSelector : Select by the importances of a fitted model.

    Notes
    -----
    The measures that control redundancy need the rows in memory, and do not support text columns. Rows with a missing
    value are left out of each pair of columns that has it.

    References
    ----------
    H. Peng, F. Long and C. Ding (2005). Feature selection based on mutual information: criteria of max-dependency,
    max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis and Machine Intelligence, 27, 1226-1238.

    M. A. Hall (1999). Correlation-based feature selection for machine learning. PhD thesis, University of Waikato.

    L. Yu and H. Liu (2003). Feature selection for high-dimensional data: a fast correlation-based filter solution.
    Proceedings of the 20th International Conference on Machine Learning, 856-863.

    Examples
    --------
    >>> from countwise import FilterSelector, samples
    >>> tennis = samples.load("tennis")
    >>> list(FilterSelector(k=2).fit_transform(tennis.X, tennis.y))
    ['outlook', 'humidity']
    >>> twice = {**tennis.X, "outlook again": tennis.X["outlook"]}
    >>> list(FilterSelector(k=2).fit_transform(twice, tennis.y))
    ['outlook', 'outlook again']
    >>> list(FilterSelector("mrmr", k=2).fit_transform(twice, tennis.y))
    ['outlook', 'humidity']
    """

    measure: str = "information_gain"
    _: KW_ONLY
    k: int | None = None
    threshold: float | None = None
    numeric: Any = None
    nominal: str = "nominal"
    ordinal: str = "nominal"
    adjust: str = "permutation"
    types: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Score the columns and select the best.

        Parameters
        ----------
        X : any table, path, or iterator of frames
            Columns of any type; missing values are allowed.
        y : array-like or str
            The target of each row, or the name of its column in X.
        sample_weight : array-like or str, optional
            Weight of each row. For a lazy table of a database or query engine, the name of its column.

        Returns
        -------
        self
            The fitted selector.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> FilterSelector("gain_ratio", k=1).fit(tennis.X, tennis.y).get_feature_names_out().tolist()
        ['outlook']
        """
        self._check_options()
        if isinstance(sample_weight, str) and not is_relation(X):
            raise TableError(
                f"sample_weight must be an array of numbers for this type of table, not the column name "
                f"{sample_weight!r}."
            )
        if self.measure in CONTROLLED:
            return self._without_redundancy(X, y, sample_weight)
        lines: tuple[str, ...] = ()
        if self.measure in REDUCTIONS:
            found = reduction_scores(X, y, sample_weight, self.numeric, self.types)
            values = np.array(found[self.measure], dtype=np.float64)
        else:
            filters = Filtering(numeric=self.numeric, nominal=self.nominal, ordinal=self.ordinal, types=self.types)
            contingencies = filters.fit(X, y, sample_weight).contingencies_
            found = scored(contingencies, self.adjust if self.measure in ADJUSTED else None)
            values = _per_column(contingencies, np.array(found[self.measure], dtype=np.float64), is_sparse(X))
        if is_relation(X):
            frame = Relation.open(X, y, sample_weight).empty()
        else:
            frame = frame_of(X)
            frame = frame.without(y) if isinstance(y, str) else frame
        self._remember(X, frame)
        self.table_, self.scores_ = Grid(found), values
        self.path_: Grid | None = None
        self.support_ = self._kept()
        if self.measure not in REDUCTIONS:
            lines = _formulas(contingencies, found, self.measure)
        scores = Grid({name: found[name] for name in ("attribute", "read_as", "missing", self.measure)})
        self._sections: tuple[Section, ...] = (Section("scores", _highest(scores, self.measure), lines),)
        best = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable").tolist()
        self._chosen = [j for j in best if self.support_[j]]
        return self

    def _without_redundancy(self, X: Any, y: Any, sample_weight: Any) -> Self:
        for name in ("nominal", "ordinal"):
            if getattr(self, name) != "nominal":
                raise OptionError(f"{name}={getattr(self, name)!r} does not apply to measure={self.measure!r}.")
        if is_sparse(X):
            raise OptionError(
                f"measure={self.measure!r} does not support sparse matrices.", hint="use 'symmetrical_uncertainty'."
            )
        rows = labelled(X, y, sample_weight)
        missing_classes(rows.y, y if isinstance(y, str) else "class")
        target = y if isinstance(y, str) else "class"
        k = None if self.k is None else int(self.k)
        found: Selection = select(rows, self.measure, k, self.threshold, self.numeric, self.types, target)
        self._remember(rows.X, rows.frame)
        self.table_, self.scores_, self.path_ = found.table, found.relevance, found.path
        self.support_ = flags(len(self.names_), found.chosen)
        self.ties_: tuple[str, ...] = tuple(self.names_[j] for j in found.ties)
        self._sections, self._chosen = found.sections, found.chosen
        if not found.chosen:
            warn(f"No attribute is relevant by {self.measure!r}; no column is selected.")
        return self

    def explain(self) -> Account:
        """Return the computation of the selection: the scores, and the steps of a measure that controls redundancy.

        Returns
        -------
        Account
            The selected attributes, with the computation in sections. `value` is their number.

        See Also
        --------
        countwise.feature_selection.contingency_table : The computation of the scores of one attribute.

        Examples
        --------
        >>> from countwise import FilterSelector, samples
        >>> tennis = samples.load("tennis")
        >>> found = FilterSelector("mrmr", k=3).fit(tennis.X, tennis.y).explain()
        >>> print(found.sections[1])
        steps
          step  attribute  relevance  redundancy      score  ties
             1  outlook     0.24675   0           0.24675
             2  humidity    0.151836  0.0207496   0.131086
             3  wind        0.048127  0.00298886  0.0451382
          score(outlook) = 0.24675
          score(humidity) = 0.151836 - 0.0207496 = 0.131086
          score(wind) = 0.048127 - (1/2)·(0.00597771 + 0) = 0.0451382
        """
        self._check_fitted()
        names = [self.names_[j] for j in self._chosen]
        answer = f"{self.measure} selects {listed(names, 20) if names else 'no attribute'}"
        ties = (f"The same score as the last selected attribute: {listed(self.ties_)}.",) if self.ties_ else ()
        return Account(answer, float(len(names)), self._sections, ties)

    def _check_options(self) -> None:
        known = (*SCORES, *ADJUSTED, *REDUCTIONS, *CONTROLLED)
        if not isinstance(self.measure, str) or self.measure not in known:
            raise OptionError(
                f"measure must be one of {listed(known, len(known))}, not {self.measure!r}.",
                hint=did_you_mean(self.measure, known),
            )
        refuse_count(self.k, self.threshold)
        if self.threshold is not None and not is_number(self.threshold):
            raise OptionError(f"threshold must be a finite number, not {self.threshold!r}.")
        if self.measure == "cfs" and self.threshold is not None:
            raise OptionError("threshold does not apply to measure='cfs'.", hint="use k.")

    def _kept(self) -> Flags:
        self.ties_ = ()
        values = np.nan_to_num(self.scores_, nan=-np.inf)
        if self.threshold is not None:
            if not (values > self.threshold).any():
                warn(f"No attribute has a score above {self.threshold}; no column is selected.")
            return values > self.threshold
        k = min(10 if self.k is None else int(self.k), len(values))
        order = np.argsort(-values, kind="stable")
        last = values[order[k - 1]]
        self.ties_ = tuple(
            self.names_[j] for j in order[k:] if math.isclose(values[j], last, rel_tol=1e-12, abs_tol=1e-24)
        )
        return flags(len(values), order[:k])


_FORMULAS: dict[str, Callable[[NDArray[Any], str], Formula]] = {
    "information_gain": lambda table, name: gain_formula(table, f"gain({name})"),
    "gain_ratio": lambda table, name: gain_ratio_formula(
        mutual_information(table), entropy(table.sum(axis=1)), f"gain ratio({name})"
    ),
    "symmetrical_uncertainty": lambda table, name: symmetrical_uncertainty_formula(table, f"SU({name})"),
    "chi_square": lambda table, name: chi_square_formula(table, f"χ²({name})"),
    "gini_gain": lambda table, name: gain_formula(table, f"Gini gain({name})", "gini"),
}
_MOST = 12  # attributes that `explain` shows


def _formulas(found: Sequence[Contingency], scores: Mapping[str, Any], measure: str) -> tuple[Formula, ...]:
    """Return the scores of the best attributes as formulas."""
    if measure not in _FORMULAS:
        return ()
    tables = [(name, c, table) for c in found for name, table in zip(c.names, c.tables, strict=True)]
    best = _order(scores[measure])[:_MOST]
    return tuple(
        _FORMULAS[measure](table, name)
        for name, c, table in (tables[i] for i in best)
        if c.information is None and table.sum() > 0
    )


def _order(values: Any) -> list[int]:
    return np.argsort(-np.nan_to_num(np.array(values, dtype=np.float64), nan=-np.inf), kind="stable").tolist()


def _highest(scores: Grid, measure: str) -> Grid:
    """Return the rows with the highest scores."""
    best = _order(scores[measure])[:_MOST]
    return Grid({name.replace("_", " "): [cells[i] for i in best] for name, cells in scores.items()})


def flags(n: int, places: Any) -> Flags:
    """Return a mask of length n that is True at some places."""
    out = np.zeros(n, dtype=bool)
    out[places] = True
    return out


def _refuse_lost(wanted: Sequence[str], have: Collection[str]) -> None:
    """Raise an error if a table lacks some of the columns seen in training."""
    lost = [name for name in wanted if name not in have]
    if lost:
        raise TableError(
            f"The table lacks the column{'s' * (len(lost) > 1)} {listed(lost)} seen in training; it has "
            f"{listed(have)}.",
            hint=did_you_mean(lost[0], have),
        )


def refuse_count(k: Any, threshold: Any) -> None:
    """Raise an error unless k is an integer >= 1 or None, and at most one of k and threshold is given."""
    if k is not None and threshold is not None:
        raise OptionError("k and threshold cannot be combined.", hint="drop one of them.")
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if k is not None and not (whole and k >= 1):
        raise OptionError(f"k must be an integer >= 1, not {k!r}.")


def refuse_estimator(estimator: Any) -> None:
    """Raise an error unless an estimator can be fitted and cloned; None is the default estimator."""
    if estimator is None:
        return
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise OptionError(
            f"estimator must have the methods fit and get_params, but {estimator!r} does not.",
            hint="pass an instance of an estimator.",
        )


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return value in NumberIn(-sys.float_info.max, sys.float_info.max)


def _per_column(found: Sequence[Contingency], values: Floats, sparse: bool) -> Floats:
    """Return the best score of each column's tables; each table of a sparse matrix is a column."""
    if sparse:
        return values
    ends = np.cumsum([len(c.names) for c in found])
    parts = np.split(values, ends[:-1])
    return np.array([np.nanmax(part) if len(part) and not np.isnan(part).all() else np.nan for part in parts])
