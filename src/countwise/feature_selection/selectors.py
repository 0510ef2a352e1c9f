"""Selectors by scikit-learn's protocol, over tables with strings and missing values."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.base.protocol import Transformer, refuse_unfitted
from countwise.data.frames import Frame, frame_of, is_relation, is_sparse
from countwise.data.output import chosen, container_of, library_of, names_in, rebuilt
from countwise.engines.relation import Relation
from countwise.errors import NumberIn, OptionError, TableError, check_flag, did_you_mean, listed, warn
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.feature_selection.filters import ADJUSTED, SCORES, scored
from countwise.feature_selection.regression_scores import REDUCTIONS, reduction_scores
from countwise.working import Grid

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

    Each attribute is scored on its own by its association with the target; see `attribute_scores`.

    Parameters
    ----------
    measure : str, default='information_gain'
        The score. For a class: 'information_gain', 'gain_ratio', 'symmetrical_uncertainty', 'chi_square',
        'gini_gain', or 'adjusted_gain' and 'adjusted_chi_square', which correct the bias toward attributes with many
        or rare values. For a numeric target: 'sd_reduction' or 'variance_reduction'.
    k : int, optional
        Number of attributes to keep. Ties go to the first column. The default is 10 if `threshold` is not given.
    threshold : float, optional
        Keep the attributes with a score above this number. Cannot be combined with `k`.
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
        The score of each column; NaN where it is undefined.
    table_ : Grid
        All scores of all attributes; see `attribute_scores`.
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

    Examples
    --------
    >>> from countwise import FilterSelector, samples
    >>> tennis = samples.load("tennis")
    >>> list(FilterSelector(k=2).fit_transform(tennis.X, tennis.y))
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
        self.support_ = self._kept()
        return self

    def _check_options(self) -> None:
        known = (*SCORES, *ADJUSTED, *REDUCTIONS)
        if not isinstance(self.measure, str) or self.measure not in known:
            raise OptionError(
                f"measure must be one of {listed(known, len(known))}, not {self.measure!r}.",
                hint=did_you_mean(self.measure, known),
            )
        refuse_count(self.k, self.threshold)
        if self.threshold is not None and not is_number(self.threshold):
            raise OptionError(f"threshold must be a finite number, not {self.threshold!r}.")

    def _kept(self) -> Flags:
        self.ties_: tuple[str, ...] = ()
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
