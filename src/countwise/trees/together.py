"""Columns of codes that are counted together: the codes of a row lie side by side and are fetched at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.table import BLOCK, threads_for
from countwise.trees.level import RowLevel
from countwise.trees.tables import TableColumn

__all__ = ["Together"]

_FEW = 1 << 12  # rows from which on it pays


class Together:
    """Columns with at most 256 cells each, and their codes as one matrix.

    Parameters
    ----------
    columns : sequence of TableColumn
        All columns that are counted; those that do not suit are left alone.
    n_rows : int
        How many rows there are.
    """

    def __init__(self, columns: Sequence[TableColumn], n_rows: int) -> None:
        suits = [c for c in columns if c.codes.dtype == np.uint8] if n_rows >= _FEW else []
        self.columns = suits if len(suits) > 1 else []
        self.matrix = np.empty((n_rows if self.columns else 0, len(self.columns)), dtype=np.uint8)

        def lay(start: int, stop: int) -> None:
            for j, column in enumerate(self.columns):
                self.matrix[start:stop, j] = column.codes[start:stop]

        _kernels.over_blocks(len(self.matrix), BLOCK, lay, threads=threads_for(n_rows))

    def count(self, level: RowLevel, threads: int | None) -> None:
        """Count for all columns the nodes of a level that are not told by a difference."""
        if not self.columns or not level.crowd.whole:
            return
        width = max(column.n_cells for column in self.columns)
        alike = {(column.keeps(level), column.counted_before) for column in self.columns}
        if alike not in ({(True, True)}, {(True, False)}):
            return
        nodes = self.columns[0].direct(level)
        segments = np.stack([level.starts[nodes], level.starts[nodes + 1]], axis=1)
        parts, owner = _parts(segments, 8 * _kernels.thread_count())
        pieces = _evenly(parts[:, 1] - parts[:, 0], 8 * _kernels.thread_count())

        def count(piece: slice) -> Any:
            crowd = level.crowd
            return _kernels.count_matrix(
                self.matrix, level.members, parts[piece], crowd.told, crowd.weights, crowd.rows, width,
                crowd.n_classes,
            )  # fmt: skip

        tables = _kernels.over_items(pieces, count, threads)
        first = np.searchsorted(owner, np.arange(len(nodes)))
        for j, column in enumerate(self.columns):
            table = np.concatenate([table[j, :, : column.n_cells] for table in tables])
            column.given = (
                table if len(parts) == len(nodes) else np.add.reduceat(table, first, axis=0, dtype=table.dtype)
            )


def _parts(segments: NDArray[np.int64], parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Segments of which none has more than a share of all rows, and the segment that each is a part of."""
    sizes = segments[:, 1] - segments[:, 0]
    most = max(_FEW, -(-int(sizes.sum()) // parts))
    many = np.maximum(-(-sizes // most), 1)
    owner = np.repeat(np.arange(len(segments)), many)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    starts = segments[owner, 0] + place * most
    return np.stack([starts, np.minimum(starts + most, segments[owner, 1])], axis=1), owner


def _evenly(sizes: NDArray[np.int64], groups: int) -> list[slice]:
    """Parts in groups that have about equally many rows."""
    ends = np.cumsum(sizes)
    goals = np.linspace(0, int(ends[-1]) if len(ends) else 0, groups + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, goals, side="left") + 1, [len(sizes)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(cuts[cuts <= len(sizes)])]
