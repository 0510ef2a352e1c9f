"""Growing from rows in memory: they are kept in the order of their nodes, and parted from level to level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.tree.active_rows import ActiveRows
from countwise.tree.growth.builder import FEW, Children, Growth, GrowthSettings, TreeColumn
from countwise.tree.growth.column_group import ColumnGroup
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.criteria import Criterion
from countwise.tree.growth.level import Level, RowLevel, Splits, ragged
from countwise.tree.nodes import Tree
from countwise.tree.growth.sorted_column import LevelStep
from countwise.tree.growth.splits import Searched

__all__ = ["grow"]


def grow(
    columns: Sequence[TreeColumn],
    asked: list[NDArray[Any]],
    crowd: ActiveRows,
    criterion: Criterion,
    settings: GrowthSettings,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    columns : list of TreeColumn
        The attributes that may be asked.
    asked : list of ndarray
        Of every attribute, the column by which rows are sent to branches. It may be changed for an equal one.
    crowd : ActiveRows
        All rows.
    criterion : Criterion
        What makes a split a good one.
    settings : GrowthSettings
        When to stop.

    Returns
    -------
    Tree
    """
    return _MemoryGrowth(columns, asked, crowd, criterion, settings).grown()


class _MemoryGrowth(Growth):
    """Growth from a crowd of instances."""

    def __init__(
        self,
        columns: Sequence[TreeColumn],
        asked: list[NDArray[Any]],
        crowd: ActiveRows,
        criterion: Criterion,
        settings: GrowthSettings,
    ) -> None:
        super().__init__(columns, len(asked), criterion, settings)
        self.asked, self.crowd = asked, crowd
        self.together = _together(self.columns, asked)
        self.scale = float(np.abs(crowd.told).max(initial=0.0)) if criterion.numbers else 1.0

    def _begin(self) -> Level | None:
        n = len(self.crowd)
        members = (2 * np.arange(n, dtype=np.uint32)).astype(np.uint32)
        starts = np.array([0, n], dtype=np.int64)
        whole = np.zeros(n, dtype=np.uint8)
        centers = None
        if self.criterion.numbers:
            weights = np.ones(n) if self.crowd.weights is None else self.crowd.weights
            centers = np.array([np.average(self.crowd.told, weights=weights)])
        cells = self.crowd.table(whole, members, starts[None], 1, centers)[:, 0].astype(np.float64)
        self._remember(cells, centers, np.array([-1]))
        if not self._open(cells)[0]:
            return None
        none = np.empty(0, dtype=np.int64)
        return self._row_level(cells, centers, members, starts, none, none, none)

    def _row_level(self, cells: Floats, centers: Floats | None, *rest: Any) -> RowLevel:
        level: RowLevel = self._level(RowLevel, cells, centers, *rest[:2], self.crowd, *rest[2:])
        return level

    def _prepare(self, level: Level, threads: int | None) -> None:
        assert isinstance(level, RowLevel)  # noqa: S101 - made here
        if self.together is not None:
            self.together.count(level, threads)

    def _move(self, level: Level, below: Children, threads: int | None) -> Level:
        assert isinstance(level, RowLevel)  # noqa: S101 - made here
        splits, opened = below.splits, below.opened
        step = self._step(level, splits, opened, threads)
        members, starts = _parted(step, level.members, level.starts, threads)
        _kernels.over_items(self.columns, lambda column: column.advance(step), threads)
        siblings = _siblings(below.owner[opened], splits.sizes, splits.nodes, np.diff(starts))
        cells, centers = below.cells[opened], None
        if below.centers is not None:
            centers = below.centers[opened]
            cells = self._counted_anew(members, starts, centers)
            self._corrected(opened, cells, centers)
        return self._row_level(cells, centers, members, starts, *siblings)

    def _counted_anew(self, members: Any, starts: Any, centers: Floats) -> Floats:
        """What is in the nodes of a level, about their own centers."""
        whole = np.broadcast_to(np.uint8(0), (len(self.crowd),))
        segments = np.stack([starts[:-1], starts[1:]], axis=1)
        return self.crowd.table(whole, members, segments, 1, centers)[:, 0].astype(np.float64)

    def _step(self, level: RowLevel, splits: Splits, opened: Flags, threads: int | None) -> LevelStep:
        """Send every instance to its branch; those that lack the value to all of them, in parts."""
        sizes = splits.sizes
        kind = np.uint8 if sizes.max() < 255 else np.uint16 if sizes.max() < 65535 else np.uint32
        branch = np.zeros(len(self.crowd), dtype=kind)
        gaps = self._route(level, splits, branch, threads)
        slots = np.where(opened, np.cumsum(opened) - 1, -1).astype(np.int32)
        of_node = np.zeros(len(level), dtype=np.int64)
        of_node[splits.nodes] = sizes
        first = np.concatenate([[0], np.cumsum(of_node)])
        copies = None
        if gaps:
            copies = self._part(level, splits, branch, np.iinfo(kind).max)
        return LevelStep(branch, slots, first, int(opened.sum()), copies)

    def _route(self, level: RowLevel, splits: Splits, branch: NDArray[Any], threads: int | None) -> int:
        """Write down every instance's branch; how many lack the value."""
        tests = splits.asked(len(level))
        n = len(level.members)
        step = max(FEW, -(-n // (8 * _kernels.thread_count())))

        def route(start: int) -> int:
            starts = np.clip(level.starts, start, min(start + step, n))
            return _kernels.route_entries(self.asked, level.members, starts, tests, self.crowd.rows, branch)

        return sum(_kernels.over_items(range(0, n, step), route, threads))

    def _part(self, level: RowLevel, splits: Splits, branch: NDArray[Any], every: int) -> NDArray[np.uint32]:
        ids = level.members >> 1
        owner = np.repeat(np.arange(len(level)), np.diff(level.starts))
        split = np.zeros(len(level), dtype=bool)
        split[splits.nodes] = True
        lost = (branch[ids] == every) & split[owner]
        shares, starts = ragged([_shares(self.criterion.weight(cells)) for cells in splits.cells], np.float64)
        place = np.zeros(len(level), dtype=np.int64)
        place[splits.nodes] = np.arange(len(splits.nodes))
        at = place[owner[lost]]
        sizes = np.diff(starts)[at]
        offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.crowd, copies = self.crowd.parted(ids[lost], sizes, shares[np.repeat(starts[at], sizes) + offsets])
        return copies


def _together(columns: Sequence[TreeColumn], asked: list[NDArray[Any]]) -> ColumnGroup | None:
    """What counts columns of few codes together, if there are several; from then on it alone keeps their codes."""
    suits = [c for c in columns if isinstance(c, CountedColumn) and ColumnGroup.suits(c.codes)]
    if len(suits) < 2:
        return None
    ways = [c.way if isinstance(c.way, Searched) and not c.gaps else None for c in suits]
    together = ColumnGroup([c.codes for c in suits], [c.n_cells for c in suits], ways)
    for j, column in enumerate(suits):
        column.together, column.among = together, j
        asked[column.place] = column.codes = together.matrix[:, j]
    return together


def _parted(step: LevelStep, members: NDArray[Any], starts: NDArray[Any], threads: int | None) -> tuple[Any, Any]:
    """The members of the next level; nodes are parted in two halves, side by side."""
    half = int(np.searchsorted(starts, len(members) // 2))
    if threads == 1 or not 0 < half < len(starts) - 1:
        return step.parted(members, starts)

    def part(nodes: slice) -> tuple[Any, Any]:
        ends = slice(nodes.start, nodes.stop + 1)
        return replace(step, first=step.first[ends]).parted(members, starts[ends])

    (low, low_starts), (high, high_starts) = _kernels.over_items(
        [slice(0, half), slice(half, len(starts) - 1)], part, threads
    )
    return np.concatenate([low, high]), low_starts + high_starts


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights / total) if total > 0 else np.zeros(len(weights))


def _siblings(owner: Indices, sizes: Indices, nodes: Indices, lengths: Indices) -> tuple[Any, Any, Any]:
    """Of nodes with two branches that are both open: the larger, the smaller, and the node itself."""
    two = np.zeros(int(owner.max()) + 1, dtype=bool)
    two[nodes[(sizes == 2) & (nodes <= owner.max())]] = True
    both = np.flatnonzero((owner[1:] == owner[:-1]) & two[owner[1:]])
    left_larger = lengths[both] >= lengths[both + 1]
    larger, smaller = np.where(left_larger, both, both + 1), np.where(left_larger, both + 1, both)
    return larger.astype(np.int64), smaller.astype(np.int64), owner[both].astype(np.int64)
