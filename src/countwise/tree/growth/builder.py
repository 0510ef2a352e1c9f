"""Growth: the nodes of a tree so far, level by level; where its rows are is somebody else's business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Flags, Floats, Indices
from countwise.tree.growth.criteria import Criterion, moments_of
from countwise.tree.growth.level import Level, Ragged, SplitCandidates, Splits
from countwise.tree.nodes import Tree
from countwise.tree.growth.sorted_column import LevelStep

__all__ = ["FEW", "Children", "Chosen", "Growth", "GrowthSettings", "TreeColumn", "choose"]


FEW = 1 << 12  # entries for which threads cost more than they save


class TreeColumn(Protocol):
    """An attribute that offers splits."""

    place: int

    def offers(self, level: Level) -> SplitCandidates:
        """What it offers each node of a level."""

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""

    def advance(self, step: LevelStep) -> None:
        """Move on to the next level."""


@dataclass(frozen=True, slots=True)
class GrowthSettings:
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
    many: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """The children that the splits of a level make.

    Parameters
    ----------
    splits : Splits
        What is asked.
    cells, centers : ndarray
        What is in the children; of numbers about their centers.
    owner : ndarray
        The node of the level from which each comes.
    opened : ndarray of bool
        Which of them may be split in turn.
    """

    splits: Splits
    cells: Floats
    centers: Floats | None
    owner: Indices
    opened: Flags


class Growth:
    """The nodes so far; a kind of growth writes `_begin` and `_move`."""

    def __init__(
        self, columns: Sequence[TreeColumn], n_attributes: int, criterion: Criterion, settings: GrowthSettings
    ) -> None:
        self.columns, self.n_attributes = list(columns), n_attributes
        self.criterion, self.settings = criterion, settings
        self.scale = 1.0  # of numbers, the largest there is
        self.depth = 0
        self.n_nodes = 1
        self.numbers = np.array([0])  # of the nodes of the present level
        self._cells: list[Floats] = []
        self._parents: list[NDArray[Any]] = []
        self._splits: list[tuple[int, NDArray[Any], Splits]] = []
        self._offers: list[tuple[NDArray[Any], Chosen]] = []

    def _begin(self) -> Level | None:
        """The level of the root, after it was remembered; None if it may not be split."""
        raise NotImplementedError

    def _prepare(self, level: Level, threads: int | None) -> None:
        """What is to be done before the columns are asked."""

    def _move(self, level: Level, below: Children, threads: int | None) -> Level:
        """The next level: the rows move to the children that are open."""
        raise NotImplementedError

    def grown(self) -> Tree:
        """Grow until nothing is open."""
        level = self._begin()
        while level is not None:
            level = self._next(level)
        return self.tree()

    def _remember(self, cells: Floats, centers: Floats | None, parent: NDArray[Any]) -> None:
        if centers is not None:  # about the center; kept as moments
            n, mean, m2 = moments_of(cells)
            cells = np.stack([n, mean + centers, m2], axis=-1)
        self._cells.append(cells)
        self._parents.append(parent)

    def _open(self, cells: Floats) -> Flags:
        """Nodes that may be split."""
        if self.settings.max_depth is not None and self.depth >= self.settings.max_depth:
            return np.zeros(len(cells), dtype=bool)
        n = self.criterion.weight(cells)
        enough = n >= max(self.settings.min_split, 2 * self.settings.min_leaf) * (1 - 1e-9)
        return np.asarray(enough & (n > 0) & ~self.criterion.pure(cells, self.scale))

    def _level(self, kind: Any, cells: Floats, centers: Floats | None, *rest: Any) -> Any:
        settings = self.settings
        return kind(
            cells, centers, self.criterion, settings.min_leaf, settings.missing, settings.threshold_cost, *rest
        )

    def _next(self, level: Level) -> Level | None:
        """Split the nodes of a level; the level below it, if there is any."""
        threads = 1 if level.n_entries < FEW else None
        self._prepare(level, threads)
        offers = _kernels.over_items(self.columns, lambda column: column.offers(level), threads)
        chosen = choose(offers, [c.place for c in self.columns], self.n_attributes, level, self.settings)
        looked = self.numbers
        if self.criterion.numbers:  # counted anew, some turn out to have nothing to tell
            pure = self.criterion.pure(level.cells, self.scale)
            looked = looked[~pure]
            chosen.column[pure] = -1
        self._offers.append((looked, chosen if len(looked) == len(level) else chosen.of(~pure)))
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
        cells = np.concatenate(splits.cells)
        owner = np.repeat(splits.nodes, splits.sizes)
        self._splits.append((self.n_nodes, self.numbers[splits.nodes], splits))
        centers = None
        if level.centers is not None:
            cells, centers = _recentered(cells, level.centers[owner])
        self._remember(cells, centers, self.numbers[owner])
        self.depth += 1
        opened = self._open(cells)
        report = progress.current()
        if report is not None:
            report(level.n_entries)
        self.numbers = self.n_nodes + np.flatnonzero(opened)
        self.n_nodes += len(cells)
        if not opened.any():
            return None
        return self._move(level, Children(splits, cells, centers, owner, opened), threads)

    def _corrected(self, opened: Flags, cells: Floats, centers: Floats) -> None:
        """Write down anew what is in the open children: what is left of sums about other centers is rounded."""
        n, mean, m2 = moments_of(cells)
        self._cells[-1][opened] = np.stack([n, mean + centers, m2], axis=-1)

    def tree(self) -> Tree:
        """All nodes."""
        cells, parent = np.concatenate(self._cells), np.concatenate(self._parents)
        n = len(cells)
        attribute, missing = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        children = np.zeros(n, dtype=np.int32)
        limits, groups = Ragged(n, np.float64), Ragged(n, np.int32)
        for base, owners, splits in self._splits:
            attribute[owners], missing[owners] = splits.attribute, splits.missing
            children[owners] = base + np.cumsum(splits.sizes) - splits.sizes
            grouped = np.array([len(g) > 0 for g in splits.groups], dtype=bool)
            groups.put(owners, splits.groups)
            limits.put(
                owners[~grouped], [part for part, other in zip(splits.limits, grouped, strict=True) if not other]
            )
        looked = np.concatenate([numbers for numbers, _ in self._offers] or [np.empty(0, np.int64)])
        offered = np.empty((3, len(looked), self.n_attributes))
        end = 0
        for numbers, chosen in self._offers:
            start, end = end, end + len(numbers)
            offered[:, start:end] = chosen.gains, chosen.scores, chosen.cuts
        return Tree(
            attribute, *limits.flat(), *groups.flat(), missing, children,
            parent.astype(np.int32), cells, looked.astype(np.int32), offered,
        )  # fmt: skip


def _recentered(cells: Floats, centers: Floats) -> tuple[Floats, Floats]:
    """Sums about a new center: the mean of the cells themselves."""
    n, mean, m2 = moments_of(cells)
    return np.stack([n, np.zeros_like(n), m2], axis=-1), centers + mean


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The column that each node of a level asks (-1 for none), and what all attributes offered it."""

    column: Indices
    gains: Floats
    scores: Floats
    cuts: Floats

    def of(self, nodes: Flags) -> Chosen:
        """The same of some nodes."""
        return Chosen(self.column[nodes], self.gains[nodes], self.scores[nodes], self.cuts[nodes])


def choose(
    offers: Sequence[SplitCandidates],
    places: Sequence[int],
    n_attributes: int,
    level: Level,
    settings: GrowthSettings,
) -> Chosen:
    """Compare the offers of all columns at each node."""
    gains, scores, cuts = (np.full((len(level), n_attributes), np.nan) for _ in range(3))
    for offer, place in zip(offers, places, strict=True):
        gains[:, place], cuts[:, place] = offer.gain, offer.cut
    n, impurity = level.weights, np.asarray(level.criterion.impurity(level.cells))
    tolerance = np.asarray(level.criterion.tolerance(impurity, n))
    gains[np.abs(gains) <= tolerance[:, None]] = 0.0  # what rounding leaves of nothing
    if level.criterion.ratio:
        for offer, place in zip(offers, places, strict=True):
            assert offer.information is not None  # noqa: S101 - asked for, for this criterion
            scores[:, place] = _ratio(offer)
        allowed = _worth(gains, settings.many, tolerance)
    else:
        scores[:] = gains
        allowed = ~np.isnan(gains)
    allowed &= gains >= settings.min_gain - tolerance[:, None]
    best = np.where(allowed, scores, -np.inf).max(axis=1, initial=-np.inf)
    equal = allowed & (scores >= (best - tolerance)[:, None])
    first = np.argmax(equal, axis=1)
    column_of = np.full(n_attributes, -1)
    column_of[list(places)] = np.arange(len(places))
    return Chosen(np.where(equal.any(axis=1), column_of[first], -1), gains, scores, cuts)


def _ratio(offer: SplitCandidates) -> Floats:
    """The gain over what the split itself tells; 0 where that is nothing."""
    assert offer.information is not None  # noqa: S101 - see above
    ratio = np.divide(offer.gain, offer.information, out=np.zeros_like(offer.gain), where=offer.information > 1e-12)
    return np.where(np.isnan(offer.gain), np.nan, ratio)


def _worth(gains: Floats, many: Flags, tolerance: Floats) -> Flags:
    """C4.5's guard: a tiny gain over a tinier split must not win, so a gain must reach the average one.

    The average is that of all attributes by which a node could be split, also of those that gain nothing. Attributes
    with very many values do not count for it, unless all have: they gain much and mean little. What gains nothing is
    never taken.
    """
    there = ~np.isnan(gains)
    counted = there & ~many
    counted = np.where(counted.any(axis=1, keepdims=True), counted, there)
    total = np.where(counted, gains, 0.0).sum(axis=1)
    average = total / np.maximum(counted.sum(axis=1), 1)
    return np.asarray((gains > tolerance[:, None]) & (gains >= (average * (1 - 1e-9) - tolerance)[:, None]))
