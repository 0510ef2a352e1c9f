"""Columns of codes that are counted together; the codes of a row are adjacent in memory.

Nodes are counted in batches. While the tables of a batch are in the cache, the tables of the siblings are computed by
subtraction from the parents, and the best split by each column is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.data.table import BLOCK, threads_for
from countwise.tree.growth.level import RowLevel
from countwise.tree.growth.splits import Searched

__all__ = ["ColumnGroup"]

_FEW = 1 << 12  # number of rows from which counting together is faster
_KEPT = 1 << 24  # largest number of cells of all tables of a level; above it, columns are counted one by one


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Contingency tables of a level: for each node, the array that holds its tables and the row in that array.

    Each array is (columns, nodes, cells, classes).
    """

    arrays: list[NDArray[Any]]
    array: Indices
    row: Indices

    def of(self, nodes: Indices, j: int | slice) -> NDArray[Any]:
        """Return the tables of some nodes: (nodes, cells, classes) for one column, or for several with that axis."""
        first = self.arrays[0][j]
        out = np.empty((*first.shape[:-3], len(nodes), *first.shape[-2:]), dtype=first.dtype)
        for a in np.unique(self.array[nodes]).tolist():
            mine = np.flatnonzero(self.array[nodes] == a)
            out[..., mine, :, :] = self.arrays[a][j].take(self.row[nodes[mine]], axis=-3)
        return out


@dataclass(slots=True, eq=False)
class ColumnGroup:
    """Columns with at most 256 cells each, and their codes as one matrix.

    `strategies` search the best splits by columns without missing values while these are counted. They are None for
    columns whose best split is searched later.
    """

    codes: InitVar[Sequence[NDArray[Any]]]
    n_cells: Sequence[int]
    strategies: Sequence[Searched | None]
    matrix: NDArray[np.uint8] = field(init=False, repr=False)
    places: Indices | None = field(default=None, repr=False)
    gains: Floats | None = field(default=None, repr=False)
    _tables: _Tables | None = field(default=None, repr=False)

    def __post_init__(self, codes: Sequence[NDArray[Any]]) -> None:
        n_rows = len(codes[0])
        self.matrix = np.empty((n_rows, len(codes)), dtype=np.uint8)

        def lay(start: int, stop: int) -> None:
            for j, column in enumerate(codes):
                self.matrix[start:stop, j] = column[start:stop]

        _kernels.over_blocks(n_rows, BLOCK, lay, threads=threads_for(n_rows))

    @staticmethod
    def suits(codes: NDArray[Any]) -> bool:
        """Return whether a column can be counted together with others."""
        return codes.dtype == np.uint8 and len(codes) >= _FEW

    @property
    def ready(self) -> bool:
        """Whether the tables of the current level are available."""
        return self._tables is not None

    def found(self, nodes: Indices, j: int) -> tuple[Indices, Floats]:
        """Return place and gain of the best split by one column at some nodes."""
        assert self.places is not None and self.gains is not None  # noqa: S101, PT018 - called when ready
        return self.places[nodes, j], self.gains[nodes, j]

    def table(self, nodes: Indices, j: int) -> NDArray[Any]:
        """Return the table of one column at some nodes, (nodes, cells, classes)."""
        assert self._tables is not None  # noqa: S101 - called when ready
        return np.ascontiguousarray(self._tables.of(nodes, j)[:, : self.n_cells[j]])

    def count(self, level: RowLevel, threads: int | None) -> None:
        """Count the nodes of a level, except those computed by subtraction, and find the best splits."""
        before, self._tables = self._tables, None
        width = max(self.n_cells)
        if not level.rows.whole or level.n_nodes * len(self.n_cells) * width * level.rows.n_classes > _KEPT:
            return
        larger = level.larger if before is not None else np.empty(0, dtype=np.int64)
        direct = np.setdiff1d(np.arange(level.n_nodes), larger, assume_unique=True)
        sibling, parent = np.full((2, level.n_nodes), -1, dtype=np.int64)
        if len(larger):
            sibling[level.smaller], parent[level.smaller] = level.larger, level.parents
        segments = np.stack([level.starts[direct], level.starts[direct + 1]], axis=1)
        parts, owner = _parts(segments, 8 * _kernels.thread_count())
        groups = _evenly(parts[:, 1] - parts[:, 0], 8 * _kernels.thread_count())
        whole = len(parts) == len(direct)

        def count(group: slice) -> NDArray[Any]:
            rows = level.rows
            return _kernels.count_matrix(
                self.matrix, level.members, parts[group], rows.y, rows.weights, rows.rows, width,
                rows.n_classes,
            )  # fmt: skip

        def finish(nodes: Indices, counted: NDArray[Any]) -> list[Any]:
            """Return nodes with their tables and best splits, also for the siblings computed by subtraction."""
            found = [(nodes, counted, self._best(counted, level))]
            paired = np.flatnonzero(sibling[nodes] >= 0)
            if before is not None and len(paired):
                rest = before.of(parent[nodes[paired]], slice(None))
                np.subtract(rest, counted if len(paired) == len(nodes) else counted[:, paired], out=rest)
                found.append((sibling[nodes[paired]], rest, self._best(rest, level)))
            return found

        if whole:
            done = _kernels.over_items(groups, lambda group: finish(direct[group], count(group)), threads)
        else:  # large nodes are counted in parts
            tables = np.concatenate(_kernels.over_items(groups, count, threads), axis=1)
            first = np.searchsorted(owner, np.arange(len(direct)))
            done = [finish(direct, np.add.reduceat(tables, first, axis=1, dtype=tables.dtype))]
        self._gather(level.n_nodes, done)

    def _best(self, tables: NDArray[Any], level: RowLevel) -> tuple[Indices, Floats]:
        """Return the best split by each column with a strategy at some nodes: (nodes, columns)."""
        places, gains = self._nothing_found(tables.shape[1])
        for j, strategy in enumerate(self.strategies):
            if strategy is not None:
                found = strategy.search(tables[j], self.n_cells[j], level.criterion, level.settings.min_leaf)
                places[:, j], gains[:, j] = found
        return places, gains

    def _nothing_found(self, n_nodes: int) -> tuple[Indices, Floats]:
        """Return empty arrays of places and gains, (nodes, columns)."""
        return np.full((n_nodes, len(self.n_cells)), -1, dtype=np.int64), np.zeros((n_nodes, len(self.n_cells)))

    def _gather(self, n_nodes: int, done: Sequence[Any]) -> None:
        """Store the tables and the best splits of all nodes."""
        arrays: list[NDArray[Any]] = []
        array, row = np.zeros((2, n_nodes), dtype=np.int64)
        self.places, self.gains = self._nothing_found(n_nodes)
        for nodes, table, (places, gains) in chain.from_iterable(done):
            array[nodes], row[nodes] = len(arrays), np.arange(len(nodes))
            arrays.append(table)
            self.places[nodes], self.gains[nodes] = places, gains
        self._tables = _Tables(arrays, array, row)


def _parts(segments: Indices, parts: int) -> tuple[Indices, Indices]:
    """Divide large segments into parts; return the parts and the segment of each part."""
    sizes = segments[:, 1] - segments[:, 0]
    most = max(_FEW, -(-int(sizes.sum()) // parts))
    many = np.maximum(-(-sizes // most), 1)
    if int(many.max(initial=1)) < 3:  # dividing into two does not pay off
        many[:] = 1
    owner = np.repeat(np.arange(len(segments)), many)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    starts = segments[owner, 0] + place * most
    stops = np.where(many[owner] == 1, segments[owner, 1], np.minimum(starts + most, segments[owner, 1]))
    return np.stack([starts, stops], axis=1), owner


def _evenly(sizes: Indices, groups: int) -> list[slice]:
    """Group parts so that each group has about the same number of rows."""
    ends = np.cumsum(sizes)
    goals = np.linspace(0, int(ends[-1]) if len(ends) else 0, groups + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, goals, side="left") + 1, [len(sizes)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(cuts[cuts <= len(sizes)])]
