"""Selectors by scikit-learn's protocol, over tables with strings and missing values."""

from __future__ import annotations

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
from countwise.errors import OptionError, TableError, did_you_mean, listed, warn
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.feature_selection.filters import ADJUSTED, SCORES, scored
from countwise.feature_selection.regression_scores import SPREADS, spread_scores
from countwise.working import Grid

__all__ = ["FilterSelector", "Selector"]


class Selector(Transformer):
    """Give back the chosen columns of any table, in the kind of table that it is; `fit` sets `support_`."""

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
        """Which columns are chosen.

        Parameters
        ----------
        indices : bool, default=False
            Whether to give their places instead of a mask.

        Returns
        -------
        ndarray
        """
        self._check_fitted()
        return np.flatnonzero(self.support_) if indices else self.support_

    def _remember(self, X: Any, frame: Frame) -> None:
        block = next(iter(frame.columns.values())) if is_sparse(X) else None
        self.names_ = frame.names if block is None else tuple(f"x{j}" for j in range(block.shape[1]))
        self.n_features_in_ = len(self.names_)
        vars(self).pop("feature_names_in_", None)
        if frame.named:
            self.feature_names_in_ = np.array(frame.names, dtype=object)

    def transform(self, X: Any) -> Any:
        """The chosen columns."""
        self._check_fitted()
        if is_relation(X):  # nothing is fetched of what an engine holds
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
        asked = container_of(X, self._output_wanted())
        if asked == library_of(X) or is_sparse(X):
            return picked
        names = [str(n) for n in self.get_feature_names_out()]
        columns = dict(zip(names, (frame.columns[frame.names[p]] for p in places), strict=True))
        return rebuilt(X, frame, columns, asked)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the chosen columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of all columns; those met in training if there were any.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        names = np.array(names_in(self, input_features), dtype=object)
        return names[self.support_]

    def inverse_transform(self, X: Any) -> Any:
        """All columns again; those that were not chosen are missing."""
        self._check_fitted()
        frame = frame_of(X)
        mask = self.support_
        if is_sparse(X) or len(frame.columns) != int(mask.sum()):
            raise TableError(f"X must be a dense table of the {int(mask.sum())} chosen columns.")
        waiting = iter(frame.columns.values())
        missing = np.full(frame.n_rows, np.nan)
        columns = {name: next(waiting) if kept else missing for name, kept in zip(self.names_, mask, strict=True)}
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))


@dataclass(eq=False, repr=False)
class FilterSelector(Selector):
    """Keep the attributes that score best on their own.

    Parameters
    ----------
    measure : str, default="information_gain"
        "information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain",
        or, freed of the favor for attributes of many or of rare values, "adjusted_gain" or
        "adjusted_chi_square". If the target is a number: "sd_reduction" or "variance_reduction".
    k : int, optional
        Keep so many; at a tie the first columns. 10 if neither is given.
    threshold : float, optional
        Keep those that score more than this.
    numeric, nominal, ordinal, types
        How columns are read; see `attribute_scores`. An attribute that is read as several two-valued
        ones scores as the best of them.
    adjust : {"permutation", "analytic"}, default="permutation"
        How the adjusted scores are found.

    Attributes
    ----------
    scores_ : ndarray
        The score of each column; NaN where it has none.
    table_ : Grid
        All scores; see `attribute_scores`.
    support_ : ndarray of bool
        Which columns are kept.
    ties_ : tuple of str
        Columns left out that score as well as the last one kept.

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
        """Score the columns."""
        self._check_options()
        if isinstance(sample_weight, str) and not is_relation(X):
            raise TableError("Weights are given as numbers here, not by the name of a column.")
        if self.measure in SPREADS:
            found = spread_scores(X, y, sample_weight, self.numeric, self.types)
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
        known = (*SCORES, *ADJUSTED, *SPREADS)
        if self.measure not in known:
            raise OptionError(
                f"measure={self.measure!r} is unknown.",
                hint=did_you_mean(self.measure, known) or f"measures are {listed(known)}.",
            )
        refuse_count(self.k, self.threshold)
        if self.threshold is not None and not is_number(self.threshold):
            raise OptionError(f"threshold must be a number, not {self.threshold!r}.")

    def _kept(self) -> Flags:
        self.ties_: tuple[str, ...] = ()
        values = np.nan_to_num(self.scores_, nan=-np.inf)
        if self.threshold is not None:
            if not (values > self.threshold).any():
                warn(f"No attribute scores more than {self.threshold}: none is kept.")
            return values > self.threshold
        k = min(10 if self.k is None else int(self.k), len(values))
        order = np.argsort(-values, kind="stable")
        last = values[order[k - 1]]
        self.ties_ = tuple(
            self.names_[j] for j in order[k:] if abs(values[j] - last) <= 1e-12 * max(abs(last), 1e-12)
        )
        return flags(len(values), order[:k])


def flags(n: int, places: Any) -> Flags:
    """So many flags, set at some places."""
    out = np.zeros(n, dtype=bool)
    out[places] = True
    return out


def _refuse_lost(wanted: Sequence[str], have: Collection[str]) -> None:
    """Refuse a table without some of the columns of training."""
    lost = [name for name in wanted if name not in have]
    if lost:
        raise TableError(
            f"The table lacks the column{'s' * (len(lost) > 1)} {listed(lost)}.",
            hint=did_you_mean(lost[0], have) or f"it has {listed(have)}.",
        )


def refuse_count(k: Any, threshold: Any) -> None:
    """How many to keep is a whole number from 1 on, unless a threshold says which."""
    if k is not None and threshold is not None:
        raise OptionError("Give k or threshold, not both.")
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if k is not None and not (whole and k >= 1):
        raise OptionError(f"k must be a whole number, 1 or more, not {k!r}.")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _per_column(found: Sequence[Contingency], values: Floats, sparse: bool) -> Floats:
    """The best score of each column's tables; each word of a sparse matrix is a column of its own."""
    if sparse:
        return values
    ends = np.cumsum([len(c.names) for c in found])
    parts = np.split(values, ends[:-1])
    return np.array([np.nanmax(part) if len(part) and not np.isnan(part).all() else np.nan for part in parts])
