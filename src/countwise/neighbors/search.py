"""The search: the nearest rows of each of some rows, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise import _kernels, progress
from countwise._typing import Flags, Floats, Indices
from countwise.neighbors.layout import CombinedDistance, RowLayout

__all__ = ["FoundNeighbors", "NeighborSearch"]

_BLOCK = 256  # queries a piece of work


@dataclass(frozen=True, slots=True, eq=False)
class FoundNeighbors:
    """The nearest rows of each query."""

    starts: Indices  # (queries + 1,): where the rows of each query begin
    ids: Indices  # the rows, the nearest first; of equally near ones those that stand first
    sums: Floats  # the sum of what all attributes add
    distances: Floats

    @property
    def sizes(self) -> Indices:
        """How many rows each query has."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Indices:
        """The query of each row that was found."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def only(self, kept: Flags) -> FoundNeighbors:
        """Only some of the rows."""
        if kept.all():
            return self
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return FoundNeighbors(starts, self.ids[kept], self.sums[kept], self.distances[kept])

    def counted(self, own: Floats, k: float) -> Floats:
        """The weight with which each row counts: its own, but that of the last one only up to k in all."""
        if k == np.inf:
            return own
        counted, left = own.copy(), np.full(len(self.starts) - 1, k)
        for place in range(int(self.sizes.max(initial=0))):  # place by place, so that queries do not mix
            which = np.flatnonzero(self.sizes > place)
            ids = self.starts[which] + place
            counted[ids] = np.minimum(own[ids], left[which])
            left[which] -= counted[ids]
        return counted


class NeighborSearch:
    """Rows to be searched; of equally near ones those that stand first are found first."""

    def __init__(self, combined: CombinedDistance, rows: RowLayout, weights: Floats | None = None) -> None:
        self.combined, self.rows = combined, rows
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self._planted: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_planted": None}  # it is made anew when it is needed

    def __len__(self) -> int:
        return len(self.rows)

    def nearest(
        self,
        queries: RowLayout,
        k: float,
        radius: float = np.inf,
        *,
        weighted: bool = True,
        skip: Indices | None = None,
        penalties: Floats | None = None,
        ties: bool = False,
    ) -> FoundNeighbors:
        """The nearest rows of each query.

        Parameters
        ----------
        queries : RowLayout
            Rows to compare with.
        k : float
            Rows are taken until their weights reach this; infinity for all within the radius.
        radius : float
            No row further away is taken.
        weighted : bool, default=True
            Whether weights count; else each row is 1.
        skip : ndarray, optional
            A row that each query must not find; -1 for none.
        penalties : ndarray, optional
            1 or more for each row: by what its sums are multiplied.
        ties : bool, default=False
            Whether all rows are taken that are as near as the last one.

        Returns
        -------
        FoundNeighbors
        """
        limit = np.inf if radius == np.inf else self.combined.power(radius) * (1 + 1e-12)  # of what roots may round
        weights = self.weights if weighted else None
        report = progress.current()
        parts: list[Any] = []
        for start, stop in self.combined.blocks(queries, self.rows):
            left, right, between = self.combined.between(queries.slice(start, stop), self.rows)
            if self._planted is None:
                self._planted = _kernels.row_tree(right, between)

            def work(a: int, b: int, at: int = start, both: Any = (left, right, between)) -> Any:
                mine, theirs, between = both
                part = _kernels.PairRows(mine.numbers[a:b], [codes[a:b] for codes in mine.codes])
                not_this = None if skip is None else skip[at + a : at + b]
                return _kernels.nearest(
                    part, theirs, between, k, limit, weights, not_this, self._planted, penalties, ties
                )

            threads = 1 if (stop - start) * len(self) < 1 << 18 else None
            parts += _kernels.over_blocks(stop - start, _BLOCK, work, threads=threads, progress=report)
        sizes = np.concatenate([[0], *(np.diff(part[0]) for part in parts)])
        ids = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        sums = np.concatenate([np.empty(0), *(part[2] for part in parts)])
        found = FoundNeighbors(np.cumsum(sizes), ids, sums, self.combined.root(sums))
        return found if radius == np.inf else found.only(found.distances <= radius)
