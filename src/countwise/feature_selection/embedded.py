"""Embedded selection: attributes are ranked by the importances or coefficients of a fitted model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.columns import missing_classes
from countwise.data.frames import frame_of, is_sparse
from countwise.errors import CountwiseError, OptionError, TableError, check_flag, check_value, own_warnings
from countwise.feature_selection.selectors import Selector, flags, is_number, refuse_count, refuse_estimator
from countwise.feature_selection.subset_scoring import weighted
from countwise.preprocessing.encoder import CategoricalEncoder
from countwise.sources.labelled_table import labelled
from countwise.working import Grid

__all__ = ["EmbeddedSelector"]


@dataclass(eq=False, repr=False)
class EmbeddedSelector(Selector):
    """Select attributes by the importances of a fitted tree, forest or linear model.

    The model is fitted on a numeric encoding of the table: nominal columns are one-hot encoded, ordinal columns are
    encoded as threshold indicators, missing values are replaced by the column mean, and every column is standardized
    so that coefficients are comparable. The importance of an attribute combines its encoded columns: importances are
    added, coefficients are combined as the square root of the sum of their squares.

    Parameters
    ----------
    estimator : estimator, optional
        An estimator that has `feature_importances_` or `coef_` after fitting. By default scikit-learn's
        DecisionTreeClassifier.
    k : int, optional
        Number of attributes to keep. Ties go to the first column. Cannot be combined with `threshold`.
    threshold : float or 'mean', optional
        Keep the attributes with an importance above this number, or, for 'mean', of at least the mean importance. The
        default is 'mean' if `k` is not given.
    as_it_is : bool, default=False
        Whether to pass the table to the estimator without encoding it, for estimators that accept nominal columns and
        missing values.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        The importance of each column; they sum to 1.
    ranks_ : Grid
        The columns with their importances, most important first.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected columns.
    estimator_ : estimator
        The fitted model.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.
    names_ : tuple of str
        Names of the columns seen in `fit`; "x0", "x1", ... if the table has no column names.

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
        """Fit the model and select attributes by its importances.

        Parameters
        ----------
        X : any table
            Columns of any type; missing values are allowed.
        y : array-like or str
            The target of each row, or the name of its column in X.
        sample_weight : array-like, optional
            Weight of each row.

        Returns
        -------
        self
            The fitted selector.

        Examples
        --------
        >>> from countwise import EmbeddedSelector, samples
        >>> tennis = samples.load("tennis")
        >>> EmbeddedSelector(k=1).fit(tennis.X, tennis.y).get_feature_names_out().tolist()
        ['outlook']
        """
        from sklearn.base import clone

        self._check_options()
        rows = labelled(X, y, sample_weight)
        model = _default() if self.estimator is None else clone(self.estimator)
        settings = weighted(model, rows.weights)
        if self.estimator is None:
            missing_classes(rows.y, y if isinstance(y, str) else "class")
        if self.as_it_is or is_sparse(rows.X):
            _fit(model, rows.X, rows.y, settings)
            groups = [[j] for j in range(rows.d)]
        else:
            cells, groups = self._numbers(rows.X, rows.weights)
            _fit(model, cells, rows.y, settings)
        importances = _importances(model)
        if len(importances) != sum(map(len, groups)):
            raise OptionError(
                f"{type(model).__name__} has importances of {len(importances)} columns, but was fitted on "
                f"{sum(map(len, groups))} columns; the numbers must agree."
            )
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
        refuse_estimator(self.estimator)
        check_flag("as_it_is", self.as_it_is)
        if not (self.threshold is None or is_number(self.threshold)):
            check_value("threshold", self.threshold, ("mean", None))

    def _numbers(self, X: Any, weights: NDArray[Any] | None) -> tuple[Floats, list[list[int]]]:
        """Return the encoded, imputed and standardized table, and the encoded columns of each attribute."""
        coder = CategoricalEncoder(types=self.types).fit(X, sample_weight=weights)
        columns = frame_of(coder.transform(X)).columns.values()
        if not columns:
            raise TableError("Every column of the table is constant; there is nothing to learn from.")
        cells = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
        w = np.ones((len(cells), 1)) if weights is None else weights[:, None] / weights.max()
        missing = np.isnan(cells)
        largest = np.abs(np.where(missing, 0.0, cells)).max(axis=0, initial=0.0)
        cells = cells / np.where(largest > 0, largest, 1.0)  # no square overflows
        observed = np.maximum((w * ~missing).sum(axis=0), 1e-300)
        means = (w * np.where(missing, 0.0, cells)).sum(axis=0) / observed
        cells = np.where(missing, means, cells) - means
        sd = np.sqrt((w * cells**2).sum(axis=0) / w.sum())
        places = iter(range(cells.shape[1]))
        groups = [[next(places) for _ in names] for names in coder.expanded_.values()]
        return cells / np.where(sd > 0, sd, 1.0), groups

    def _kept(self, order: NDArray[Any]) -> Flags:
        if self.k is None:
            mean = self.threshold in (None, "mean")
            limit = self.importances_.mean() if mean else float(self.threshold)
            return np.asarray(self.importances_ >= limit - 1e-12 if mean else self.importances_ > limit)
        return flags(len(order), order[: self.k])


def _fit(model: Any, X: Any, y: Any, settings: dict[str, Any]) -> None:
    """Fit an estimator of any library; what it refuses is an error of the table."""
    try:
        with own_warnings():
            model.fit(X, y, **settings)
    except CountwiseError:
        raise
    except (TypeError, ValueError) as error:
        raise TableError(f"{type(model).__name__} cannot be fitted: {error}") from error


def _default() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def _importances(model: Any) -> Floats:
    """Return the importance of each column from a fitted model, or from the last step of a pipeline."""
    model = model[-1] if hasattr(model, "steps") else model
    for name in ("feature_importances_", "coef_"):
        found = getattr(model, name, None)
        if found is not None:
            found = found.toarray() if is_sparse(found) else np.asarray(found, dtype=np.float64)
            return np.sqrt((found**2).sum(axis=0)) if found.ndim == 2 else np.abs(found)
    raise OptionError(
        f"{type(model).__name__} has neither feature_importances_ nor coef_; one of them is needed.",
        hint="use a tree, a forest or a linear model, or WrapperSelector for any other.",
    )


def _joined(importances: Floats, groups: list[list[int]], linear: bool) -> Floats:
    """Combine the importances of the encoded columns of each attribute, and normalize them to sum to 1."""
    parts = [importances[group] for group in groups]
    sums = np.array([np.sqrt((part**2).sum()) if linear else part.sum() for part in parts])
    return sums / sums.sum() if sums.sum() > 0 else np.full(len(sums), 1 / len(sums))
