"""Growth: what a tree is grown from, and its nodes so far, level by level, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.tree.features import Feature
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.criteria import moments_of
from countwise.tree.growth.level import Level, SplitCandidates, Splits, TableLevel
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.growth.splits import Threshold
from countwise.tree.nodes import NodeTests, Tree

__all__ = ["FEW", "Children", "ClassFactors", "Growth", "TableGrowth", "TrainingSet", "TreeColumn"]


FEW = 1 << 12  # entries for which threads cost more than they save
ClassFactors = Callable[[Floats, Nominal], Floats]  # the weights of classes, from their counts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingSet:
    """Rows to grow a tree from, wherever they are: in memory, in the pieces of a file, or in an engine."""

    schema: Schema  # the attributes with their domains
    features: Sequence[Feature]  # what a node may test
    target: Nominal | Numeric
    frame: Frame  # columns as the user gave them, possibly without rows
    n_rows: int  # to learn from
    n_left_out: int = 0  # rows without a target
    label_type: np.dtype[Any] | None = None  # of the user's classes

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 for a numeric target."""
        return len(self.target.values) if isinstance(self.target, Nominal) else 0

    def grow(self, settings: GrowthSettings) -> Tree:
        """A tree of all rows."""
        raise NotImplementedError


class TreeColumn(Protocol):
    """An attribute by which nodes may be split."""

    index: int

    def candidates(self, level: Level) -> SplitCandidates:
        """The best split of each node of a level."""

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """The children that the splits of a level make."""

    splits: Splits
    cells: Floats  # their contents; for a numeric target about their centers
    centers: Floats | None
    owner: Indices  # the parent of each, as a node of the level
    opened: Flags  # which of them may be split in turn

    @property
    def open_centers(self) -> Floats | None:
        """The centers of those that may be split."""
        return None if self.centers is None else self.centers[self.opened]


class Growth:
    """The nodes so far; a kind of growth writes `_root`, `_first_level` and `_next_level`."""

    def __init__(
        self, data: TrainingSet, columns: Sequence[TreeColumn], weight: float, settings: GrowthSettings
    ) -> None:
        self.columns, self.many_valued = list(columns), settings.many_valued(data.features, weight)
        self.criterion, self.settings = settings.criterion, settings
        self.scale = 1.0  # the largest absolute value of a numeric target
        self.depth = 0
        self.n_nodes = 1
        self.open_nodes = np.array([0])  # the nodes of the present level
        self._cells: list[Floats] = []
        self._parents: list[NDArray[Any]] = []
        self._splits: list[tuple[int, NDArray[Any], Splits]] = []
        self._searched: list[tuple[NDArray[Any], Floats]] = []

    def _root(self) -> tuple[Floats, Floats | None]:
        """The contents of the root, and of a numeric target its mean."""
        raise NotImplementedError

    def _first_level(self, cells: Floats, centers: Floats | None) -> Level:
        """The level of the root."""
        raise NotImplementedError

    def _prepare(self, level: Level, threads: int | None) -> None:
        """What is to be done before the columns search for splits."""

    def _next_level(self, level: Level, children: Children, threads: int | None) -> Level:
        """The next level: the rows move to the children that are open."""
        raise NotImplementedError

    def grow(self) -> Tree:
        """Grow until no node is open."""
        cells, centers = self._root()
        self._remember(cells, centers, np.array([-1]))
        level = self._first_level(cells, centers) if self._is_open(cells)[0] else None
        while level is not None:
            level = self._grow_level(level)
        return self.tree()

    def _remember(self, cells: Floats, centers: Floats | None, parent: NDArray[Any]) -> None:
        self._cells.append(cells if centers is None else _as_moments(cells, centers))
        self._parents.append(parent)

    def _is_open(self, cells: Floats) -> Flags:
        """Nodes that may be split."""
        settings = self.settings
        if settings.max_depth is not None and self.depth >= settings.max_depth:
            return np.zeros(len(cells), dtype=bool)
        n = self.criterion.weight(cells)
        enough = n >= max(settings.min_split, 2 * settings.min_leaf) * (1 - 1e-9)
        return np.asarray(enough & (n > 0) & ~self.criterion.pure(cells, self.scale))

    def _grow_level(self, level: Level) -> Level | None:
        """Split the nodes of a level; the level below it, if there is any."""
        threads = 1 if level.n_entries < FEW else None
        self._prepare(level, threads)
        candidates = _kernels.over_items(self.columns, methodcaller("candidates", level), threads)
        chosen, results = self._choose(candidates, level)
        searched = self.open_nodes
        if self.criterion.numeric:  # counted anew, some turn out to be pure
            pure = self.criterion.pure(level.cells, self.scale)
            searched, results = searched[~pure], results[:, ~pure]
            chosen[pure] = -1
        self._searched.append((searched, results))
        used = np.unique(chosen).tolist()
        parts = [self.columns[c].splits(level, np.flatnonzero(chosen == c)) for c in used if c >= 0]
        return self._descend(level, Splits.joined(parts), threads) if parts else None

    def _descend(self, level: Level, splits: Splits, threads: int | None) -> Level | None:
        cells = np.concatenate(splits.cells)
        owner = np.repeat(splits.nodes, splits.sizes)
        self._splits.append((self.n_nodes, self.open_nodes[splits.nodes], splits))
        centers = None
        if level.centers is not None:
            n, mean, m2 = moments_of(cells)  # about a new center: the mean of the children themselves
            cells, centers = np.stack([n, np.zeros_like(n), m2], axis=-1), level.centers[owner] + mean
        self._remember(cells, centers, self.open_nodes[owner])
        self.depth += 1
        opened = self._is_open(cells)
        report = progress.current()
        if report is not None:
            report(level.n_entries)
        self.open_nodes = self.n_nodes + np.flatnonzero(opened)
        self.n_nodes += len(cells)
        if not opened.any():
            return None
        return self._next_level(level, Children(splits, cells, centers, owner, opened), threads)

    def _choose(self, candidates: Sequence[SplitCandidates], level: Level) -> tuple[Indices, Floats]:
        """The column that splits each node (-1 for none), and gains, scores and thresholds of all attributes."""
        indices = [column.index for column in self.columns]
        results = np.full((3, level.n_nodes, len(self.many_valued)), np.nan)
        gains, scores, cuts = results
        for candidate, j in zip(candidates, indices, strict=True):
            gains[:, j], cuts[:, j] = candidate.gain, candidate.cut
        criterion = self.criterion
        tolerance = np.asarray(criterion.tolerance(criterion.impurity(level.cells), criterion.weight(level.cells)))
        gains[np.abs(gains) <= tolerance[:, None]] = 0.0  # what rounding leaves of nothing
        if criterion.ratio:
            for candidate, j in zip(candidates, indices, strict=True):
                scores[:, j] = _ratio(candidate)
            allowed = _worth(gains, self.many_valued, tolerance)
        else:
            scores[:] = gains
            allowed = ~np.isnan(gains)
        allowed &= gains >= self.settings.min_gain - tolerance[:, None]
        best = np.where(allowed, scores, -np.inf).max(axis=1, initial=-np.inf)
        equal = allowed & (scores >= (best - tolerance)[:, None])
        column_of = np.full(len(self.many_valued), -1)
        column_of[indices] = np.arange(len(indices))
        return np.where(equal.any(axis=1), column_of[np.argmax(equal, axis=1)], -1), results

    def _correct(self, opened: Flags, cells: Floats, centers: Floats) -> None:
        """Write down anew the contents of the open children: sums about other centers are rounded."""
        self._cells[-1][opened] = _as_moments(cells, centers)

    def tree(self) -> Tree:
        """All nodes."""
        cells, parent = np.concatenate(self._cells), np.concatenate(self._parents)
        tests, children = NodeTests(len(cells)), np.zeros(len(cells), dtype=np.int32)
        for base, nodes, splits in self._splits:
            children[nodes] = base + np.cumsum(splits.sizes) - splits.sizes
            tests.put(nodes, splits.attribute, splits.limits, splits.groups, splits.missing)
        none = (np.empty(0, np.int64), np.empty((3, 0, len(self.many_valued))))
        of_nodes, of_results = zip(none, *self._searched, strict=True)
        searched, results = np.concatenate(of_nodes), np.concatenate(of_results, axis=1)
        return Tree(*tests.flat(), children, parent.astype(np.int32), cells, searched.astype(np.int32), results)


class TableGrowth(Growth):
    """Growth from tables that are counted where the rows are; a kind of it writes `_root` and `_tables`."""

    columns: list[CountedColumn]  # type: ignore[assignment]

    def __init__(
        self, data: Any, settings: GrowthSettings, edges: Mapping[str, Floats], has_missing: Mapping[str, bool]
    ) -> None:
        none, columns = np.empty(0, dtype=np.uint8), []  # these columns hold no codes
        for j, f in enumerate(data.features):
            missing = has_missing[f.column]
            if isinstance(f.attribute, Numeric):
                cuts = edges[f.column]
                columns.append(CountedColumn(j, none, len(cuts) + 1, Threshold(), cuts, missing))
            elif len(f.attribute.values) > 1:
                strategy = settings.strategy(f)
                columns.append(CountedColumn(j, none, len(f.attribute.values), strategy, has_missing=missing))
        super().__init__(data, columns, data.weight, settings)
        self.data, self.n_classes = data, data.n_classes

    def _tables(self, nodes: Indices, centers: Floats | None) -> dict[int, NDArray[Any]]:
        """The table of each column at some nodes of one depth."""
        raise NotImplementedError

    def _first_level(self, cells: Floats, centers: Floats | None) -> Level:
        return TableLevel(cells, centers, self.settings, self._tables(np.zeros(1, dtype=np.int64), centers))

    def _next_level(self, level: Level, children: Children, threads: int | None) -> Level:
        centers = children.open_centers
        tables = self._tables(self.open_nodes, centers)
        return TableLevel(children.cells[children.opened], centers, self.settings, tables)


def _as_moments(cells: Floats, centers: Floats) -> Floats:
    """Sums about centers as weight, mean and squared deviations."""
    n, mean, m2 = moments_of(cells)
    return np.stack([n, mean + centers, m2], axis=-1)


def _ratio(candidate: SplitCandidates) -> Floats:
    """The gain over the information of the split itself; 0 where that is nothing."""
    gain, information = candidate.gain, candidate.information
    assert information is not None  # noqa: S101 - computed for this criterion
    ratio = np.divide(gain, information, out=np.zeros_like(gain), where=information > 1e-12)
    return np.where(np.isnan(gain), np.nan, ratio)


def _worth(gains: Floats, many_valued: Flags, tolerance: Floats) -> Flags:
    """C4.5's guard: a tiny gain over a tinier split must not win, so a gain must reach the average one.

    The average is that of all attributes by which a node could be split, also of those that gain nothing. Attributes
    with very many values do not count for it, unless all have: they gain much and mean little. A split that gains
    nothing is never taken.
    """
    there = ~np.isnan(gains)
    counted = there & ~many_valued
    counted = np.where(counted.any(axis=1, keepdims=True), counted, there)
    total = np.where(counted, gains, 0.0).sum(axis=1)
    average = total / np.maximum(counted.sum(axis=1), 1)
    return np.asarray((gains > tolerance[:, None]) & (gains >= (average * (1 - 1e-9) - tolerance)[:, None]))
