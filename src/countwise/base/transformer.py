"""Base class of transformers: opening tables, naming output columns."""

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
    """Transformer of tables; subclasses implement `_tails`, `transform` and `inverse_transform`."""

    def _tails(self) -> dict[str, list[str]]:
        """Return, for each column, the suffixes of its output columns; an empty suffix keeps the name."""
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
        """Return a table, and the same table as a frame."""
        self._check_fitted()
        X = dense(X)
        return X, frame_of(X)

    def _matched(self, X: Any) -> tuple[Any, Frame]:
        """Return a table to transform, and its frame with the columns in the order of training."""
        X, frame = self._opened(X)
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is required.")
        return X, self.schema_.match(frame)

    def _converted(self, X: Any) -> tuple[Any, Frame]:
        """Return a transformed table and its frame; check the number of columns."""
        X, frame = self._opened(X)
        expected = sum(len(tails) for tails in self._tails().values())
        if len(frame.columns) != expected:
            raise TableError(f"X has {len(frame.columns)} columns, but the output of transform has {expected}.")
        return X, frame

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the input columns. By default those seen in training.

        Returns
        -------
        ndarray of str
            The names of the output columns.

        Examples
        --------
        >>> from countwise import CategoricalEncoder
        >>> CategoricalEncoder().fit({"wind": ["north", "east"], "temp": [20, 30]}).get_feature_names_out().tolist()
        ['wind=east', 'wind=north', 'temp']
        """
        self._check_fitted()
        names = names_in(self, input_features)
        tails = self._tails().values()
        return np.array([f"{n}{tail}" for n, own in zip(names, tails, strict=True) for tail in own], dtype=object)
