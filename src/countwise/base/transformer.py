"""What everything that turns a table into another has in common: opening it, naming columns, giving it back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.base.protocol import Transformer
from countwise.base.tally_model import TallyModel
from countwise.data.frames import Frame, frame_of
from countwise.data.output import dense, names_in
from countwise.errors import TableError

__all__ = ["TableTransformer"]


class TableTransformer(TallyModel, Transformer):
    """A learner that converts tables; a new one writes `_tails`, and `transform` and its inverse."""

    def _tails(self) -> dict[str, list[str]]:
        """For each column what is added to its name in those that come of it; nothing where it keeps its name."""
        raise NotImplementedError

    def _coerce_input(self, X: Any) -> Any:
        return dense(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_target()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tallies_")

    def _opened(self, X: Any) -> tuple[Any, Frame]:
        """A table, and the same opened."""
        self._check_fitted()
        X = dense(X)
        return X, frame_of(X)

    def _matched(self, X: Any) -> tuple[Any, Frame]:
        """A table to be converted, and the same opened, in the order of training."""
        X, frame = self._opened(X)
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
        return X, self.schema_.match(frame)

    def _converted(self, X: Any) -> tuple[Any, Frame]:
        """A table that was converted, and the same opened."""
        X, frame = self._opened(X)
        expected = sum(len(tails) for tails in self._tails().values())
        if len(frame.columns) != expected:
            raise TableError(f"X has {len(frame.columns)} columns; what transform gives has {expected}.")
        return X, frame

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns that it takes; those met in training if there were any.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        names = names_in(self, input_features)
        tails = self._tails().values()
        return np.array([f"{n}{tail}" for n, own in zip(names, tails, strict=True) for tail in own], dtype=object)
