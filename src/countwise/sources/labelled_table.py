"""A table and its target, separated, with the table in the user's type (pandas, Polars, array, ...)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.columns import missing_cells
from countwise.data.frames import Coded, Column, Frame, frame_of, is_sparse
from countwise.data.output import chosen, rows_of
from countwise.data.weights import weights_of
from countwise.errors import TableError, warn
from countwise.sources.memory import check_shape, column_of, target_of

__all__ = ["LabelledTable", "apart", "column_of", "labelled"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table without its target (as given and as a `Frame`), the target as an array, and the weights.

    `kept` has the positions of the rows in the user's table; None if no row was skipped.
    """

    X: Any
    frame: Frame
    y: NDArray[Any]
    weights: NDArray[Any] | None
    kept: NDArray[Any] | None = None

    @property
    def d(self) -> int:
        """Number of attributes."""
        return int(self.X.shape[1]) if is_sparse(self.X) else len(self.frame.columns)

    def take(self, rows: NDArray[Any]) -> LabelledTable:
        """Select rows by position."""
        weights = None if self.weights is None else self.weights[rows]
        kept = rows if self.kept is None else self.kept[rows]
        return LabelledTable(rows_of(self.X, rows), self.frame.take(rows), self.y[rows], weights, kept)


def labelled(X: Any, y: Any, sample_weight: Any = None) -> LabelledTable:
    """Separate a table and its target; rows without a target are skipped with a warning."""
    if y is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    X, frame, target, name = apart(X, frame_of(X), y)
    target = target.objects() if isinstance(target, Coded) else target
    check_shape(len(frame.columns), frame.n_rows, target)
    rows = LabelledTable(X, frame, target, weights_of(sample_weight, frame.n_rows))
    missing = missing_cells(target) if target.dtype.kind in "fO" else np.zeros(len(target), dtype=bool)
    if missing.any():
        shown = "" if name is None else f" {name!r}"
        warn(f"{int(missing.sum())} of {len(missing)} rows were skipped: their target{shown} is missing.")
        rows = rows.take(np.flatnonzero(~missing))
    return replace(rows, y=_plain(rows.y))


def apart(X: Any, frame: Frame, y: Any) -> tuple[Any, Frame, Column, str | None]:
    """Return the table without its target, its frame, the target and its name; `y` may be a column name."""
    if isinstance(y, str):
        target = column_of(frame, y, "for the target")
        places = [place for place, name in enumerate(frame.names) if name != y]
        return chosen(X, frame, places), frame.without(y), target, y
    target, name = target_of(y)
    return X, frame, target, None if name is None else str(name)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Convert objects of one type to an array of that type, as scikit-learn expects of classes."""
    types = {type(value) for value in y.tolist()} if y.dtype == object else set()
    return np.array(y.tolist()) if len(types) == 1 and types <= {bool, int, float, str} else y
