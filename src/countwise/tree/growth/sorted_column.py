"""Numbers with every threshold tried: the rows are sorted once, and parted in order from level to level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts import midway
from countwise.tree.growth.counted_column import settled
from countwise.tree.growth.level import Level, RowLevel, SplitCandidates, Splits

__all__ = ["LevelStep", "SortedColumn"]

_NO_GROUPS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class LevelStep:
    """How instances move from one level to the next; see the kernel `partition_entries`."""

    branch: NDArray[Any]
    slots: NDArray[np.int32]
    first: Indices
    n_next: int
    copies: NDArray[np.uint32] | None

    def parted(self, entries: NDArray[Any], starts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The entries of the next level."""
        return _kernels.partition_entries(
            entries, starts, self.branch, self.slots, self.first, self.n_next, self.copies
        )


class SortedColumn:
    """A numeric attribute whose rows are kept in order.

    Parameters
    ----------
    place : int
        Which attribute it is.
    column : ndarray
        Its numbers, NaN where missing.
    """

    def __init__(self, place: int, column: NDArray[Any]) -> None:
        self.place = place
        self.column = column
        self.entries = _kernels.presort(column)
        self.starts = np.array([0, len(self.entries)], dtype=np.int64)
        self.gaps = len(self.entries) < len(column)
        self._places = np.empty(0, dtype=np.int64)

    def advance(self, step: LevelStep) -> None:
        """Move on to the next level."""
        self.entries, self.starts = step.parted(self.entries, self.starts)

    def offers(self, level: Level) -> SplitCandidates:
        """What it offers each node of a level."""
        assert isinstance(level, RowLevel)  # noqa: S101 - what is sorted is in memory
        criterion = level.criterion
        self._places, gain = level.crowd.thresholds(self.entries, self.starts, criterion.kernel, level.least)
        there = self._places >= 0
        gain = np.where(there, gain, np.nan)
        cut = np.full(len(level), np.nan)
        cut[there] = self._middle(self._places[there], level)
        every = np.arange(len(level))
        absent, tried = self._absent(level, every), self._tried() if level.cost else None
        return level.offers(gain, slice(None), lambda: self._sides(level, every), absent, cut, tried)

    def _tried(self) -> Indices:
        """How many thresholds there are in each segment."""
        fresh = np.concatenate([[0], np.cumsum(self.entries & 1, dtype=np.int64)])
        return np.maximum(np.diff(fresh[self.starts]) - 1, 0)

    def _middle(self, places: Indices, level: RowLevel) -> Floats:
        """Midway between the values on either side of some places."""
        low, high = (self._values(self.entries[at] >> 1, level) for at in (places - 1, places))
        return np.asarray(midway(low, high))

    def _values(self, instances: NDArray[Any], level: RowLevel) -> Floats:
        rows = level.crowd.rows
        return self.column[instances if rows is None else rows[instances]].astype(np.float64)

    def _absent(self, level: RowLevel, nodes: Indices) -> Floats | None:
        """What is in rows that lack a number."""
        if not self.gaps:
            return None
        segments = np.stack([self.starts[nodes], self.starts[nodes + 1]], axis=1)
        known = self._inside(level, segments, nodes)
        rest = level.cells[nodes] - known
        # what rounding alone leaves of a difference is nothing
        n = level.criterion.weight(level.cells[nodes])
        rest[level.criterion.weight(rest) <= 1e-9 * n] = 0.0
        if not level.criterion.numbers:
            rest[rest <= 1e-12 * n[:, None]] = 0.0
        return rest

    def _sides(self, level: RowLevel, nodes: Indices) -> Floats:
        """What is below and above the best threshold of some nodes."""
        places = np.maximum(self._places[nodes], self.starts[nodes])
        left = np.stack([self.starts[nodes], places], axis=1)
        right = np.stack([places, self.starts[nodes + 1]], axis=1)
        inside = self._inside(level, np.concatenate([left, right]), np.concatenate([nodes, nodes]))
        return np.stack([inside[: len(nodes)], inside[len(nodes) :]], axis=1)

    def _inside(self, level: RowLevel, segments: Indices, nodes: Indices) -> Floats:
        """What is in some segments of the entries."""
        one = np.broadcast_to(np.uint8(0), (len(self.column),))
        table = level.crowd.table(one, self.entries, segments, 1, level.centers_of(nodes))
        return table[:, 0].astype(np.float64)

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""
        assert isinstance(level, RowLevel)  # noqa: S101 - see above
        limits = list(self._middle(self._places[nodes], level)[:, None])
        cells, missing = settled(self._sides(level, nodes), self._absent(level, nodes), level)
        none = [_NO_GROUPS] * len(nodes)
        return Splits(nodes, np.full(len(nodes), self.place, np.int32), limits, none, none, missing, cells)
