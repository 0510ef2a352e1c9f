"""Tables of numbers as scikit-learn has them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from countwise._typing import Floats
from countwise.frames import frame_of

__all__ = ["Matrix"]


class Matrix(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any table of numbers as a matrix; a step of a pipeline, and nothing is learned."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> Floats:
        """The columns side by side; missing is NaN."""
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in frame_of(X).columns.values()])

    def __sklearn_is_fitted__(self) -> bool:
        return True
