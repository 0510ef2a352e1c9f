"""Embedded selection: what a fitted model itself says of its attributes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.frames import frame_of, is_sparse
from countwise.errors import OptionError, TableError
from countwise.feature_selection.selectors import Selector, flags, is_number, refuse_count
from countwise.feature_selection.subset_scoring import weighted
from countwise.preprocessing.encoder import CategoricalEncoder
from countwise.sources.labelled_table import labelled
from countwise.working import Grid

__all__ = ["EmbeddedSelector"]


@dataclass(eq=False, repr=False)
class EmbeddedSelector(Selector):
    """Keep the attributes that a fitted tree, forest or linear model makes most of.

    The model is fitted on the table turned into numbers: nominal columns one-hot, ordinal ones as
    thresholds, missing values as the mean of their column, every column divided by its standard deviation so
    that coefficients can be compared. What comes of one attribute is added up again: importances as
    they are, coefficients as the root of their squares' sum. An estimator that takes nominal
    columns and missing values is given the table as it is (`as_it_is`).

    Parameters
    ----------
    estimator : estimator, optional
        With `feature_importances_` or `coef_` once fitted; by default a decision tree.
    k : int, optional
        Keep so many; at a tie the first columns.
    threshold : float or "mean", optional
        Keep those above it; "mean", the default, is the mean importance.
    as_it_is : bool, default=False
        Give the estimator the table as it is.
    types : mapping of column to kind, str or Schema, optional
        Declared column types; others follow from dtypes.

    Attributes
    ----------
    importances_ : ndarray
        Of each column; they add up to 1.
    ranks_ : Grid
        The columns from the most important on.
    support_ : ndarray of bool
        Which columns are kept.
    estimator_ : estimator
        The fitted model.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from countwise import EmbeddedSelector, samples
    >>> tennis = samples.load("tennis")
    >>> tree = EmbeddedSelector(DecisionTreeClassifier(random_state=0), k=2).fit(tennis.X, tennis.y)
    >>> tree.get_feature_names_out().tolist()
    ['outlook', 'humidity']
    """

    estimator: Any = None
    _: KW_ONLY
    k: int | None = None
    threshold: Any = None
    as_it_is: bool = False
    types: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model and read its importances."""
        from sklearn.base import clone

        self._check_options()
        rows = labelled(X, y, sample_weight)
        model = _default() if self.estimator is None else clone(self.estimator)
        settings = weighted(model, rows.weights)
        if self.as_it_is or is_sparse(rows.X):
            model.fit(rows.X, rows.y, **settings)
            groups = [[j] for j in range(rows.d)]
        else:
            cells, groups = self._numbers(rows.X, rows.weights)
            model.fit(cells, rows.y, **settings)
        importances = _importances(model)
        if len(importances) != sum(map(len, groups)):
            raise OptionError(f"{type(model).__name__} tells of {len(importances)} columns; the table has {rows.d}.")
        linear = not hasattr(model, "feature_importances_")
        self._remember(rows.X, rows.frame)
        self.estimator_, self.importances_ = model, _joined(importances, groups, linear)
        order = np.argsort(-self.importances_, kind="stable")
        self.ranks_ = Grid(
            {
                "rank": list(range(1, len(order) + 1)),
                "attribute": [self.names_[j] for j in order],
                "importance": self.importances_[order].tolist(),
            }
        )
        self.support_ = self._kept(order)
        return self

    def _check_options(self) -> None:
        refuse_count(self.k, self.threshold)
        if self.threshold not in (None, "mean") and not is_number(self.threshold):
            raise OptionError(f"threshold={self.threshold!r} is unknown.", hint="give a number or 'mean'.")

    def _numbers(self, X: Any, weights: NDArray[Any] | None) -> tuple[Floats, list[list[int]]]:
        """The table as numbers without missing values and of one spread, and the columns of each attribute."""
        coder = CategoricalEncoder(types=self.types).fit(X, sample_weight=weights)
        columns = frame_of(coder.transform(X)).columns.values()
        if not columns:
            raise TableError("The table has no column with two values: there is nothing to learn from.")
        cells = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
        w = np.ones((len(cells), 1)) if weights is None else weights[:, None].astype(np.float64)
        missing = np.isnan(cells)
        there = np.maximum((w * ~missing).sum(axis=0), 1e-300)
        means = (w * np.where(missing, 0.0, cells)).sum(axis=0) / there
        cells = np.where(missing, means, cells) - means
        spread = np.sqrt((w * cells**2).sum(axis=0) / w.sum())
        places = iter(range(cells.shape[1]))
        groups = [[next(places) for _ in names] for names in coder.expanded_.values()]
        return cells / np.where(spread > 0, spread, 1.0), groups

    def _kept(self, order: NDArray[Any]) -> Flags:
        if self.k is None:
            mean = self.threshold in (None, "mean")
            limit = self.importances_.mean() if mean else float(self.threshold)
            return np.asarray(self.importances_ >= limit - 1e-12 if mean else self.importances_ > limit)
        return flags(len(order), order[: self.k])


def _default() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def _importances(model: Any) -> Floats:
    """The importance of each column by a fitted model; the last step of a pipeline speaks for it."""
    model = model[-1] if hasattr(model, "steps") else model
    for name in ("feature_importances_", "coef_"):
        found = getattr(model, name, None)
        if found is not None:
            found = found.toarray() if is_sparse(found) else np.asarray(found, dtype=np.float64)
            return np.sqrt((found**2).sum(axis=0)) if found.ndim == 2 else np.abs(found)
    raise OptionError(
        f"{type(model).__name__} has neither feature_importances_ nor coef_.",
        hint="use a tree, a forest or a linear model, or WrapperSelector for any other.",
    )


def _joined(importances: Floats, groups: list[list[int]], linear: bool) -> Floats:
    """What the columns of each attribute add up to, as shares."""
    parts = [importances[group] for group in groups]
    sums = np.array([np.sqrt((part**2).sum()) if linear else part.sum() for part in parts])
    return sums / sums.sum() if sums.sum() > 0 else np.full(len(sums), 1 / len(sums))
