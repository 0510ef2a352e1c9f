"""The rows that learners are judged on: opened once, handed out in pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.attributes import Nominal
from countwise.errors import TableError
from countwise.frames import taken
from countwise.outputs import rows_of
from countwise.selection.opening import Opened, opened
from countwise.sources import Memory
from countwise.sources.memory import memory

__all__ = ["Ground", "ground_of"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ground:
    """A table with classes, in the kind of table that the user holds and as it is read here.

    Parameters
    ----------
    rows : Opened
        The table and its target apart; rows without a target are left out.
    source : Memory
        The same, opened.
    classes : tuple
        In ascending order.
    codes : ndarray of int
        The class of each row.
    """

    rows: Opened
    source: Memory
    classes: tuple[Any, ...]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def weights(self) -> NDArray[Any] | None:
        """Of the rows."""
        return self.rows.weights

    def table(self, which: Rows) -> Any:
        """Some rows in the kind of table that the user gave."""
        return rows_of(self.rows.X, which)

    def piece(self, which: Rows) -> Memory:
        """Some rows, opened, with their classes."""
        weights = None if self.source.weights is None else self.source.weights[which]
        frame, target = self.source.frame.take(which), taken(self.source.target, which)
        return replace(self.source, frame=frame, target=target, weights=weights, places=which)

    def weights_of(self, which: Rows) -> NDArray[Any] | None:
        """The weights of some rows."""
        return None if self.weights is None else self.weights[which]

    def column(self, name: str, X: Any) -> NDArray[Any]:
        """A column as labels, also one that learners did not see."""
        from countwise.frames import frame_of
        from countwise.errors import did_you_mean, listed

        frame = frame_of(X)
        if name not in frame.columns:
            raise TableError(
                f"The table has no column {name!r} to tell groups by.",
                hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
            )
        column = frame.columns[name]
        own = Nominal(name).learn(column)
        codes = own.encode(column)
        labels = np.array([*own.values, None, None], dtype=object)[codes]
        return labels if self.rows.kept is None else labels[self.rows.kept]


def ground_of(X: Any, y: Any, sample_weight: Any = None) -> Ground:
    """Open a table and its classes.

    Parameters
    ----------
    X : any table
    y : array-like or str
        The class of each row, or the name of its column.
    sample_weight : array-like, optional
        Rows of weight 0 are left out.
    """
    rows = opened(X, y, sample_weight)
    if rows.weights is not None and not rows.weights.all():
        keep = np.flatnonzero(rows.weights)
        kept = keep if rows.kept is None else rows.kept[keep]
        rows = Opened(rows_of(rows.X, keep), rows.frame.take(keep), rows.y[keep], rows.weights[keep], kept)
    source = memory(rows.frame, rows.y, rows.weights)
    target = Nominal(source.name, grows=True).learn(source.target)
    codes = target.encode(source.target, strict=True).astype(np.int64)
    return Ground(rows, source, tuple(target.values), codes)
