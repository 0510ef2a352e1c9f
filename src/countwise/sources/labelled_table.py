"""A table and its target, apart, in the kind of table that the user holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.columns import missing_cells
from countwise.data.frames import Coded, Column, Frame, frame_of, is_sparse, series_of
from countwise.data.output import chosen, rows_of
from countwise.errors import TableError, warn
from countwise.sources.memory import check_shape, column_of, weights_of

__all__ = ["LabelledTable", "apart", "column_of", "labelled"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table without its target, the same opened, the target as an array, and the weights.

    `kept` are the places of the rows in the user's table; None if none was left out.
    """

    X: Any
    frame: Frame
    y: NDArray[Any]
    weights: NDArray[Any] | None
    kept: NDArray[Any] | None = None

    @property
    def d(self) -> int:
        """The number of attributes."""
        return int(self.X.shape[1]) if is_sparse(self.X) else len(self.frame.columns)

    def take(self, rows: NDArray[Any]) -> LabelledTable:
        """Some rows."""
        weights = None if self.weights is None else self.weights[rows]
        kept = rows if self.kept is None else self.kept[rows]
        return LabelledTable(rows_of(self.X, rows), self.frame.take(rows), self.y[rows], weights, kept)


def labelled(X: Any, y: Any, sample_weight: Any = None) -> LabelledTable:
    """Take a table and its target apart; rows without a target are left out, with a warning."""
    if y is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    X, frame, target, _ = apart(X, frame_of(X), y)
    target = target.objects() if isinstance(target, Coded) else target
    check_shape(len(frame.columns), frame.n_rows, target)
    rows = LabelledTable(X, frame, target, weights_of(sample_weight, frame.n_rows))
    lost = missing_cells(target) if target.dtype.kind in "fO" else np.zeros(len(target), dtype=bool)
    if lost.any():
        warn(f"{int(lost.sum())} of {len(lost)} rows were left out: their target is missing.")
        rows = rows.take(np.flatnonzero(~lost))
    return replace(rows, y=_plain(rows.y))


def apart(X: Any, frame: Frame, y: Any) -> tuple[Any, Frame, Column, str | None]:
    """The table without its target, the same opened, the target, and its name; `y` may name a column."""
    if isinstance(y, str):
        target = column_of(frame, y, "for the target")
        places = [place for place, name in enumerate(frame.names) if name != y]
        return chosen(X, frame, places), frame.without(y), target, y
    target, name = series_of(y)
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        target = target.ravel()
    return X, frame, target, None if name is None else str(name)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Objects of one kind as an array of that kind, which scikit-learn asks of classes."""
    kinds = {type(value) for value in y.tolist()} if y.dtype == object else set()
    return np.array(y.tolist()) if len(kinds) == 1 and kinds <= {bool, int, float, str} else y
