"""Level-by-level tree growth, independent of where the rows are stored."""

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


FEW = 1 << 12  # number of entries below which threads do not pay off
_MOST_KEPT = 20_000  # numbers of a tree from which gains are written out
_MOST_BRANCHES = 50  # branches of a split whose gain is written out
_MOST_ENTRIES = 1 << 18  # instances of a level, times attributes, that are counted again for that
ClassFactors = Callable[[Floats, Nominal], Floats]  # computes class weights from class counts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingSet:
    """Training rows in memory, in the chunks of a file, or in an engine."""

    schema: Schema  # the attributes with their domains
    features: Sequence[Feature]  # the features that a node may test
    target: Nominal | Numeric
    frame: Frame  # the columns as given by the user, possibly without rows
    n_rows: int  # number of training rows
    n_left_out: int = 0  # number of rows that were skipped because their target is missing
    label_type: np.dtype[Any] | None = None  # dtype of the user's classes

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for a numeric target."""
        return len(self.target.values) if isinstance(self.target, Nominal) else 0

    def grow(self, settings: GrowthSettings) -> Tree:
        """Grow a tree from all rows."""
        raise NotImplementedError


class TreeColumn(Protocol):
    """Attribute by which nodes may be split."""

    index: int

    def candidates(self, level: Level) -> SplitCandidates:
        """Return the best split of each node of a level."""

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """Return the splits of some nodes by this attribute."""


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """Children that result from the splits of a level."""

    splits: Splits
    cells: Floats  # cells of the children; for a numeric target about their centers
    centers: Floats | None
    owner: Indices  # the parent of each child, as a node of the level
    opened: Flags  # which children may be split further

    @property
    def open_centers(self) -> Floats | None:
        """Centers of the children that may be split further."""
        return None if self.centers is None else self.centers[self.opened]


class Growth:
    """Base of tree growth; subclasses implement `_root`, `_first_level` and `_next_level`."""

    def __init__(
        self, data: TrainingSet, columns: Sequence[TreeColumn], weight: float, settings: GrowthSettings
    ) -> None:
        self.columns, self.many_valued = list(columns), settings.many_valued(data.features, weight)
        self.criterion, self.settings = settings.criterion, settings
        self.scale = 1.0  # the largest absolute value of a numeric target
        self.depth = 0
        self.n_nodes = 1
        self.open_nodes = np.array([0])  # the nodes of the current level
        self._cells: list[Floats] = []
        self._parents: list[NDArray[Any]] = []
        self._splits: list[tuple[int, NDArray[Any], Splits]] = []
        self._searched: list[tuple[NDArray[Any], Floats]] = []
        self._branches: list[tuple[Any, Any, Floats]] = []  # nodes, attributes, cells of the branches
        self._kept = 0

    def _root(self) -> tuple[Floats, Floats | None]:
        """Return the cells of the root, and its mean for a numeric target."""
        raise NotImplementedError

    def _first_level(self, cells: Floats, centers: Floats | None) -> Level:
        """Return the level of the root."""
        raise NotImplementedError

    def _prepare(self, level: Level, threads: int | None) -> None:
        """Prepare a level before the columns search for splits."""

    def _next_level(self, level: Level, children: Children, threads: int | None) -> Level:
        """Move the rows to the open children, and return the next level."""
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
        """Return a mask of the nodes that may be split."""
        settings = self.settings
        if settings.max_depth is not None and self.depth >= settings.max_depth:
            return np.zeros(len(cells), dtype=bool)
        n = self.criterion.weight(cells)
        enough = n >= max(settings.min_split, 2 * settings.min_leaf) * (1 - 1e-9)
        return np.asarray(enough & (n > 0) & ~self.criterion.pure(cells, self.scale))

    def _grow_level(self, level: Level) -> Level | None:
        """Split the nodes of a level; return the next level, or None if no node is open."""
        threads = 1 if level.n_entries < FEW else None
        self._prepare(level, threads)
        needed = self._kept + 2 * level.cells.size * len(self.columns)
        level.keeps_branches = level.n_entries * len(self.columns) <= _MOST_ENTRIES and needed <= _MOST_KEPT
        candidates = _kernels.over_items(self.columns, methodcaller("candidates", level), threads)
        chosen, results = self._choose(candidates, level)
        searched = self.open_nodes
        if self.criterion.numeric:  # after sums about their own centers, some nodes are pure
            pure = self.criterion.pure(level.cells, self.scale)
            searched, results = searched[~pure], results[:, ~pure]
            chosen[pure] = -1
        self._searched.append((searched, results))
        if level.keeps_branches:
            self._keep_branches(candidates, level, np.isin(self.open_nodes, searched))
        used = np.unique(chosen).tolist()
        parts = [self.columns[c].splits(level, np.flatnonzero(chosen == c)) for c in used if c >= 0]
        return self._descend(level, Splits.joined(parts), threads) if parts else None

    def _descend(self, level: Level, splits: Splits, threads: int | None) -> Level | None:
        cells = np.concatenate(splits.cells)
        owner = np.repeat(splits.nodes, splits.sizes)
        self._splits.append((self.n_nodes, self.open_nodes[splits.nodes], splits))
        centers = None
        if level.centers is not None:
            n, mean, m2 = moments_of(cells)  # the new center is the mean of each child
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
        """Return the column that splits each node (-1 for none), and gain, score and threshold of all attributes."""
        indices = [column.index for column in self.columns]
        results = np.full((3, level.n_nodes, len(self.many_valued)), np.nan)
        gains, scores, cuts = results
        for candidate, j in zip(candidates, indices, strict=True):
            gains[:, j], cuts[:, j] = candidate.gain, candidate.cut
        criterion = self.criterion
        tolerance = np.asarray(criterion.tolerance(criterion.impurity(level.cells), criterion.weight(level.cells)))
        gains[np.abs(gains) <= tolerance[:, None]] = 0.0  # rounding errors
        if criterion.ratio:
            for candidate, j in zip(candidates, indices, strict=True):
                scores[:, j] = _ratio(candidate)
            allowed = _at_least_average(gains, self.many_valued, tolerance)
        else:
            scores[:] = gains
            allowed = ~np.isnan(gains)
        allowed &= gains >= self.settings.min_gain - tolerance[:, None]
        best = np.where(allowed, scores, -np.inf).max(axis=1, initial=-np.inf)
        equal = allowed & (scores >= (best - tolerance)[:, None])
        column_of = np.full(len(self.many_valued), -1)
        column_of[indices] = np.arange(len(indices))
        if not equal.shape[1]:  # a text column without words, for example
            return np.full(len(best), -1), results
        return np.where(equal.any(axis=1), column_of[np.argmax(equal, axis=1)], -1), results

    def _keep_branches(self, candidates: Sequence[SplitCandidates], level: Level, searched: Flags) -> None:
        """Remember the cells of the branches of the candidate splits, from which gains are written out."""
        same_shape: dict[int, list[Any]] = {}  # number of branches: columns are handled together
        for column, candidate in zip(self.columns, candidates, strict=True):
            for nodes, cells in candidate.branches:
                found = nodes, np.full(len(nodes), column.index, dtype=np.int32), candidate.gain[nodes], cells
                same_shape.setdefault(cells.shape[1], []).append(found)
        for parts in same_shape.values():
            nodes, attributes, gains, cells = (np.concatenate(part) for part in zip(*parts, strict=True))
            weights = self.criterion.weight(cells)
            some = weights > 1e-12 * weights.sum(axis=1, keepdims=True)
            written = searched[nodes] & ~np.isnan(gains) & (some.sum(axis=1) <= _MOST_BRANCHES)
            at, branch = np.nonzero(some & written[:, None])
            inside, centers = cells[at, branch], level.centers
            inside = np.maximum(inside, 0.0) if centers is None else _as_moments(inside, centers[nodes[at]])
            self._branches.append((self.open_nodes[nodes[at]].astype(np.int32), attributes[at], inside))
            self._kept += inside.size

    def _correct(self, opened: Flags, cells: Floats, centers: Floats) -> None:
        """Replace the cells of the open children, because sums about other centers have rounding errors."""
        self._cells[-1][opened] = _as_moments(cells, centers)

    def tree(self) -> Tree:
        """Return the tree of all nodes so far."""
        cells, parent = np.concatenate(self._cells), np.concatenate(self._parents)
        tests, children = NodeTests(len(cells)), np.zeros(len(cells), dtype=np.int32)
        for base, nodes, splits in self._splits:
            children[nodes] = base + np.cumsum(splits.sizes) - splits.sizes
            tests.put(nodes, splits.attribute, splits.limits, splits.groups, splits.missing)
        none = (np.empty(0, np.int64), np.empty((3, 0, len(self.many_valued))))
        of_nodes, of_results = zip(none, *self._searched, strict=True)
        searched, results = np.concatenate(of_nodes), np.concatenate(of_results, axis=1)
        of_tree = children, parent.astype(np.int32), cells, searched.astype(np.int32), results
        nothing = np.empty(0, np.int32), np.empty(0, np.int32), cells[:0]
        return Tree(*tests.flat(), *of_tree, *map(np.concatenate, zip(nothing, *self._branches, strict=True)))


class TableGrowth(Growth):
    """Growth from contingency tables; subclasses implement `_root` and `_tables`."""

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
        """Return the contingency table of each column at some nodes of one depth."""
        raise NotImplementedError

    def _first_level(self, cells: Floats, centers: Floats | None) -> Level:
        return TableLevel(cells, centers, self.settings, self._tables(np.zeros(1, dtype=np.int64), centers))

    def _next_level(self, level: Level, children: Children, threads: int | None) -> Level:
        centers = children.open_centers
        tables = self._tables(self.open_nodes, centers)
        return TableLevel(children.cells[children.opened], centers, self.settings, tables)


def _as_moments(cells: Floats, centers: Floats) -> Floats:
    """Convert sums about centers to weight, mean and sum of squared deviations."""
    n, mean, m2 = moments_of(cells)
    return np.stack([n, mean + centers, m2], axis=-1)


def _ratio(candidate: SplitCandidates) -> Floats:
    """Return the gain ratio: the gain divided by the split information; 0 where that is 0."""
    gain, information = candidate.gain, candidate.information
    assert information is not None  # noqa: S101 - computed for this criterion
    ratio = np.divide(gain, information, out=np.zeros_like(gain), where=information > 1e-12)
    return np.where(np.isnan(gain), np.nan, ratio)


def _at_least_average(gains: Floats, many_valued: Flags, tolerance: Floats) -> Flags:
    """Return which splits have at least the average gain, as C4.5 requires for the gain ratio.

    Without this condition, a tiny gain divided by an even smaller split information could be chosen. The average is
    over all attributes with a possible split, including those with a gain of 0. It excludes attributes with very many
    values, unless all have. A split with a gain of 0 is never chosen.
    """
    possible = ~np.isnan(gains)
    counted = possible & ~many_valued
    counted = np.where(counted.any(axis=1, keepdims=True), counted, possible)
    total = np.where(counted, gains, 0.0).sum(axis=1)
    average = total / np.maximum(counted.sum(axis=1), 1)
    return np.asarray((gains > tolerance[:, None]) & (gains >= (average * (1 - 1e-9) - tolerance)[:, None]))
