"""Growing: level by level, each level one question to all attributes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise.trees.choosing import Chosen, choose
from countwise.trees.criteria import Criterion, moments_of
from countwise.trees.crowd import Crowd
from countwise.trees.level import Level, Offers, Splits, ragged
from countwise.trees.sorted import Step
from countwise.trees.tables import TableColumn
from countwise.trees.together import Together
from countwise.trees.tree import Tree

__all__ = ["Settings", "TreeColumn", "grow"]

Floats = NDArray[np.float64]
_FEW = 1 << 12  # entries for which threads cost more than they save


class TreeColumn(Protocol):
    """An attribute that offers splits."""

    place: int

    def offers(self, level: Level) -> Offers:
        """What it offers each node of a level."""

    def splits(self, level: Level, nodes: NDArray[np.int64]) -> Splits:
        """The splits of some nodes by this attribute."""

    def advance(self, step: Step) -> None:
        """Move on to the next level."""


@dataclass(frozen=True, slots=True)
class Settings:
    """When a node is not split any more, and what becomes of missing cells.

    Parameters
    ----------
    max_depth : int or None
        No node is deeper.
    min_split, min_leaf : float
        The weight that a node must have to be split, and that its branches must have.
    min_gain : float
        What a split must gain.
    missing : {"fractions", "branch", "majority"}
        Where rows go whose cell is missing.
    threshold_cost : bool
        Whether a gain must pay for the choice of its threshold.
    many : ndarray of bool
        Of each attribute, whether it has so many values that its gain is no measure for others.
    """

    max_depth: int | None
    min_split: float
    min_leaf: float
    min_gain: float
    missing: str
    threshold_cost: bool
    many: NDArray[np.bool_]


def grow(
    columns: Sequence[TreeColumn],
    asked: Sequence[NDArray[Any]],
    crowd: Crowd,
    criterion: Criterion,
    settings: Settings,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    columns : list of TreeColumn
        The attributes that may be asked.
    asked : list of ndarray
        Of every attribute, the column by which rows are sent to branches.
    crowd : Crowd
        All rows.
    criterion : Criterion
        What makes a split a good one.
    settings : Settings
        When to stop.

    Returns
    -------
    Tree
    """
    grower = _Grower(columns, asked, criterion, settings, crowd)
    level = grower.root()
    while level is not None:
        level = grower.next(level)
    return grower.tree()


class _Grower:
    """The nodes so far."""

    def __init__(self, columns: Any, asked: Any, criterion: Criterion, settings: Settings, crowd: Crowd) -> None:
        self.columns, self.asked = list(columns), list(asked)
        self.criterion, self.settings = criterion, settings
        self.n_attributes = len(self.asked)
        self.together = Together([c for c in self.columns if isinstance(c, TableColumn)], len(crowd))
        self.crowd = crowd
        self.scale = float(np.abs(crowd.told).max(initial=0.0)) if criterion.numbers else 1.0
        self.depth = 0
        self.parts: dict[str, list[Any]] = {name: [] for name in ("nodes", "cells", "parent")}
        self.splits: list[tuple[int, Splits]] = []
        self.offered: list[tuple[int, Chosen]] = []
        self.n_nodes = 1

    def root(self) -> Level | None:
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
        self.numbers = np.array([0])
        if not self._open(cells)[0]:
            return None
        return self._level(cells, centers, members, starts, *[np.empty(0, dtype=np.int64)] * 3)

    def _level(self, cells: Floats, centers: Floats | None, members: Any, starts: Any, *siblings: Any) -> Level:
        return Level(
            cells, centers, members, starts, self.crowd, self.criterion, self.settings.min_leaf,
            self.settings.missing, self.settings.threshold_cost, *siblings,
        )  # fmt: skip

    def _remember(self, cells: Floats, centers: Floats | None, parent: NDArray[Any]) -> None:
        if centers is not None:  # about the center; kept as moments
            n, mean, m2 = moments_of(cells)
            cells = np.stack([n, mean + centers, m2], axis=-1)
        self.parts["cells"].append(cells)
        self.parts["parent"].append(parent)

    def _open(self, cells: Floats) -> NDArray[np.bool_]:
        """Nodes that may be split."""
        if self.settings.max_depth is not None and self.depth >= self.settings.max_depth:
            return np.zeros(len(cells), dtype=bool)
        n = self.criterion.weight(cells)
        enough = n >= max(self.settings.min_split, 2 * self.settings.min_leaf) * (1 - 1e-9)
        return np.asarray(enough & (n > 0) & ~self.criterion.pure(cells, self.scale))

    def next(self, level: Level) -> Level | None:
        """Split the nodes of a level; the level below it, if there is any."""
        threads = 1 if len(level.members) < _FEW else None
        self.together.count(level, threads)
        offers = _kernels.over_items(self.columns, lambda column: column.offers(level), threads)
        chosen = choose(offers, [c.place for c in self.columns], self.n_attributes, level, self.settings)
        if self.criterion.numbers:
            chosen = chosen.without(self.criterion.pure(level.cells, self.scale))
        self.offered.append((len(self.offered), chosen))
        self.parts["nodes"].append(self.numbers)
        if not (chosen.column >= 0).any():
            return None
        splits = Splits.joined(
            [
                column.splits(level, np.flatnonzero(chosen.column == c))
                for c, column in enumerate(self.columns)
                if (chosen.column == c).any()
            ]
        )
        return self._descend(level, splits, threads)

    def _descend(self, level: Level, splits: Splits, threads: int | None) -> Level | None:
        sizes = splits.sizes
        cells = np.concatenate(splits.cells)
        owner = np.repeat(splits.nodes, sizes)
        self.splits.append((self.n_nodes, splits))
        self.parts.setdefault("owners", []).append(self.numbers[splits.nodes])
        centers = None
        if level.centers is not None:
            cells, centers = _recentered(cells, level.centers[owner])
        self._remember(cells, centers, self.numbers[owner])
        numbers = self.n_nodes + np.arange(len(cells))
        self.n_nodes += len(cells)
        self.depth += 1
        opened = self._open(cells)
        report = progress.current()
        if report is not None:
            report(len(level.members))
        if not opened.any():
            return None
        step, starts = self._step(level, splits, sizes, opened, threads)
        members, starts = _parted(step, level.members, level.starts, threads)
        _kernels.over_items(self.columns, lambda column: column.advance(step), threads)
        self.numbers = numbers[opened]
        siblings = _siblings(owner[opened], sizes, splits.nodes, np.diff(starts))
        if centers is None:
            return self._level(cells[opened], None, members, starts, *siblings)
        cells, centers = self._counted_anew(members, starts, centers[opened], opened)
        return self._level(cells, centers, members, starts, *siblings)

    def _counted_anew(
        self, members: Any, starts: Any, centers: Floats, opened: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """What is in the nodes of a level, about their own centers: what is left of sums about others is rounded."""
        whole = np.broadcast_to(np.uint8(0), (len(self.crowd),))
        segments = np.stack([starts[:-1], starts[1:]], axis=1)
        cells = self.crowd.table(whole, members, segments, 1, centers)[:, 0].astype(np.float64)
        n, mean, m2 = moments_of(cells)
        self.parts["cells"][-1][opened] = np.stack([n, mean + centers, m2], axis=-1)
        return cells, centers

    def _step(
        self, level: Level, splits: Splits, sizes: NDArray[np.int64], opened: NDArray[np.bool_], threads: int | None
    ) -> tuple[Step, Any]:
        """Send every instance to its branch; those that lack the value to all of them, in parts."""
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
        return Step(branch, slots, first, int(opened.sum()), copies), None

    def _route(self, level: Level, splits: Splits, branch: NDArray[Any], threads: int | None) -> int:
        """Write down every instance's branch; how many lack the value."""
        tests = splits.asked(len(level))
        n = len(level.members)
        step = max(_FEW, -(-n // (8 * _kernels.thread_count())))

        def route(start: int) -> int:
            starts = np.clip(level.starts, start, min(start + step, n))
            return _kernels.route_entries(self.asked, level.members, starts, tests, self.crowd.rows, branch)

        return sum(_kernels.over_items(range(0, n, step), route, threads))

    def _part(self, level: Level, splits: Splits, branch: NDArray[Any], every: int) -> NDArray[np.uint32]:
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

    def tree(self) -> Tree:
        """All nodes."""
        cells, parent = np.concatenate(self.parts["cells"]), np.concatenate(self.parts["parent"])
        n = len(cells)
        attribute, missing = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        children = np.zeros(n, dtype=np.int32)
        limits: list[Any] = [_NONE] * n
        groups: list[Any] = [_NO_GROUPS] * n
        for (base, splits), owners in zip(self.splits, self.parts.get("owners", []), strict=True):
            attribute[owners], missing[owners] = splits.attribute, splits.missing
            children[owners] = base + np.cumsum(splits.sizes) - splits.sizes
            for i, k in enumerate(owners.tolist()):
                if len(splits.groups[i]):
                    groups[k] = splits.groups[i]
                else:
                    limits[k] = splits.limits[i]
        offers = {name: np.full((n, self.n_attributes), np.nan) for name in ("gains", "scores", "cuts")}
        for (_, chosen), numbers in zip(self.offered, self.parts["nodes"], strict=True):
            for name, table in offers.items():
                table[numbers] = getattr(chosen, name)
        return Tree(
            attribute, *ragged(limits, np.float64), *ragged(groups, np.int32), missing, children,
            parent.astype(np.int32), cells, offers["gains"], offers["scores"], offers["cuts"],
        )  # fmt: skip


_NONE = np.empty(0)
_NO_GROUPS = np.empty(0, dtype=np.int32)


def _parted(step: Step, members: NDArray[Any], starts: NDArray[Any], threads: int | None) -> tuple[Any, Any]:
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


def _recentered(cells: Floats, centers: Floats) -> tuple[Floats, Floats]:
    """Sums about a new center: the mean of the cells themselves."""
    n, mean, m2 = moments_of(cells)
    return np.stack([n, np.zeros_like(n), m2], axis=-1), centers + mean


def _siblings(
    owner: NDArray[np.int64], sizes: NDArray[np.int64], nodes: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[Any, Any, Any]:
    """Of nodes with two branches that are both open: the larger, the smaller, and the node itself."""
    two = np.zeros(int(owner.max()) + 1, dtype=bool)
    two[nodes[(sizes == 2) & (nodes <= owner.max())]] = True
    both = np.flatnonzero((owner[1:] == owner[:-1]) & two[owner[1:]])
    left_larger = lengths[both] >= lengths[both + 1]
    larger, smaller = np.where(left_larger, both, both + 1), np.where(left_larger, both + 1, both)
    return larger.astype(np.int64), smaller.astype(np.int64), owner[both].astype(np.int64)
