"""Tree growth from rows in memory; the rows are kept sorted by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.base.row_model import encode_finite
from countwise.data.attributes import Nominal, Numeric
from countwise.data.schema import Schema
from countwise.data.table import threads_for
from countwise.sources import Memory
from countwise.tree.features import columns_of, features_of
from countwise.tree.growth.builder import FEW, Children, ClassFactors, Growth, TrainingSet, TreeColumn
from countwise.tree.growth.column_group import ColumnGroup
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.level import ActiveRows, Level, RowLevel, Splits
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.growth.sorted_column import LevelStep, RangesColumn, SortedColumn
from countwise.tree.growth.splits import Searched, Threshold
from countwise.tree.nodes import Tree, ragged

__all__ = ["MemoryTrainingSet"]

_NO_NODES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MemoryTrainingSet(TrainingSet):
    """Training rows in memory."""

    columns: Sequence[NDArray[Any]]  # for each attribute: codes, or numbers with NaN for missing
    y: NDArray[Any]  # the class code of each row, or its numeric target
    weights: NDArray[Any] | None  # weight of each row, multiplied by that of its class
    places: NDArray[Any] | None = None  # positions of the rows in the user's table; None if all rows are used
    n_given: int = 0  # number of rows of the user's table

    @classmethod
    def of(
        cls,
        rows: Memory,
        schema: Schema,
        target: Nominal | Numeric,
        y: NDArray[Any],
        class_factors: ClassFactors | None = None,
    ) -> Self:
        """Learn the domains of a schema from rows, and encode the rows."""
        frame = schema.coded(rows.frame)
        schema = schema.learn(frame)
        table = encode_finite(schema, frame, rows.weights, strict=True)
        features, weights = features_of(schema, table.n_rows), rows.weights
        if class_factors is not None and isinstance(target, Nominal):
            counts = np.bincount(y, weights=weights, minlength=len(target.values)).astype(np.float64)
            weights = class_factors(counts, target)[y] * (1.0 if weights is None else weights)
            weights = weights.astype(np.int64) if _kernels.float_is_integral(weights) else weights
        return cls(
            schema=schema,
            features=features,
            target=target,
            frame=rows.frame,
            n_rows=table.n_rows,
            n_left_out=rows.left_out,
            label_type=rows.label_type,
            columns=columns_of(features, table),
            y=y,
            weights=weights,
            places=rows.places,
            n_given=rows.n_given,
        )

    @property
    def floats(self) -> Floats | None:
        """The weights as floats."""
        return None if self.weights is None else self.weights.astype(np.float64)

    @property
    def own_weights(self) -> NDArray[Any]:
        """The weights; 1 for each row if none are given."""
        return np.ones(self.n_rows, dtype=np.int64) if self.weights is None else self.weights

    def take(self, rows: Indices) -> MemoryTrainingSet:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, columns=[c[rows] for c in self.columns], y=self.y[rows], weights=weights, n_rows=len(rows)
        )

    def weighed(self, weights: NDArray[Any]) -> MemoryTrainingSet:
        """Return the rows with new weights, without those of weight 0."""
        return replace(self, weights=weights).take(np.flatnonzero(weights > 0))

    def grow(self, settings: GrowthSettings) -> Tree:
        """Grow a tree from all rows."""
        return _MemoryGrowth(self, settings).grow()

    def tree_columns(self, settings: GrowthSettings) -> tuple[list[TreeColumn], list[NDArray[Any]]]:
        """Return the columns by which nodes may be split, and the columns by which rows are sent to branches."""
        routes, found, numeric = list(self.columns), {}, []
        for j, f in enumerate(self.features):
            column = self._nominal(j, settings) if f.nominal else None
            if column is not None:
                found[j] = column
            elif not f.nominal:
                numeric.append(j)
            if isinstance(column, RangesColumn):
                routes[j] = column.column
        in_ranges = settings.numeric == "ranges"
        binned = [j for j in numeric if settings.bins is not None or self.features[j].word is not None]
        if binned and not in_ranges:
            edges, codes = _kernels.bin_columns([self.columns[j] for j in binned], self.floats, settings.bins or 255)
            for j, e, c in zip(binned, edges, codes, strict=True):
                missing = bool(self.columns[j].dtype.kind == "f" and (c == len(e) + 1).any())
                found[j] = CountedColumn(j, c, len(e) + 1, Threshold(), e, missing)
                routes[j] = c
        exact = [j for j in numeric if j not in found]

        def sort(j: int) -> SortedColumn:
            column = self.columns[j]
            if not in_ranges:
                return SortedColumn(j, column)
            return RangesColumn(j, column, settings.rule(self.features[j].name))

        found.update(zip(exact, _kernels.over_items(exact, sort, threads_for(self.n_rows)), strict=True))
        return [found[j] for j in sorted(found)], routes

    def _nominal(self, j: int, settings: GrowthSettings) -> TreeColumn | None:
        feature, codes = self.features[j], self.columns[j]
        assert isinstance(feature.attribute, Nominal)  # noqa: S101 - checked by the caller
        n_values = len(feature.attribute.values)
        if n_values < 2:
            return None
        if feature.ordinal and settings.numeric == "ranges":
            return RangesColumn(j, np.where(codes < n_values, codes, np.nan), settings.rule(feature.name), n_values)
        strategy = settings.strategy(feature)
        return CountedColumn(j, codes, n_values, strategy, has_missing=bool((codes == n_values).any()))


class _MemoryGrowth(Growth):
    """Growth from rows in memory."""

    def __init__(self, data: MemoryTrainingSet, settings: GrowthSettings) -> None:
        columns, self.routes = data.tree_columns(settings)
        weight = data.n_rows if data.weights is None else float(data.weights.sum())
        super().__init__(data, columns, weight, settings)
        self.rows = ActiveRows(data.y, data.weights, None, data.n_classes)
        self.group = _grouped(self.columns, self.routes)
        self.sorted = [column for column in self.columns if isinstance(column, SortedColumn)]
        self.scale = float(np.abs(data.y).max(initial=0.0)) if self.criterion.numeric else 1.0
        self.members = (2 * np.arange(data.n_rows, dtype=np.uint32)).astype(np.uint32)
        self.starts = np.array([0, data.n_rows], dtype=np.int64)

    def _root(self) -> tuple[Floats, Floats | None]:
        centers = None
        if self.criterion.numeric:
            weights = np.ones(len(self.members)) if self.rows.weights is None else self.rows.weights
            centers = np.array([np.average(self.rows.y, weights=weights)])
        return self.rows.sums(self.members, self.starts[None], centers), centers

    def _first_level(self, cells: Floats, centers: Floats | None) -> Level:
        none = (_NO_NODES, _NO_NODES, _NO_NODES)
        return RowLevel(cells, centers, self.settings, self.members, self.starts, self.rows, *none)

    def _prepare(self, level: Level, threads: int | None) -> None:
        if self.group is not None:
            assert isinstance(level, RowLevel)  # noqa: S101 - made here
            self.group.count(level, threads)

    def _next_level(self, level: Level, children: Children, threads: int | None) -> Level:
        assert isinstance(level, RowLevel)  # noqa: S101 - made here
        splits, opened = children.splits, children.opened
        step = self._step(level, splits, opened, threads)
        members, starts = _moved(step, level.members, level.starts, threads)
        if self.sorted:
            _kernels.over_items(self.sorted, methodcaller("advance", step), threads)
        siblings = _siblings(children.owner[opened], splits.sizes, splits.nodes, np.diff(starts))
        cells, centers = children.cells[opened], children.open_centers
        if centers is not None:  # sums about the centers of the children
            cells = self.rows.sums(members, np.stack([starts[:-1], starts[1:]], axis=1), centers)
            self._correct(opened, cells, centers)
        return RowLevel(cells, centers, self.settings, members, starts, self.rows, *siblings)

    def _step(self, level: RowLevel, splits: Splits, opened: Flags, threads: int | None) -> LevelStep:
        """Send every instance to its branch; instances with a missing value are divided among all branches."""
        sizes = splits.sizes
        dtype = np.uint8 if sizes.max() < 255 else np.uint16 if sizes.max() < 65535 else np.uint32
        branch = np.zeros(len(self.rows.y), dtype=dtype)
        n_missing = self._route(level, splits, branch, threads)
        slots = np.where(opened, np.cumsum(opened) - 1, -1).astype(np.int32)
        of_node = np.zeros(level.n_nodes, dtype=np.int64)
        of_node[splits.nodes] = sizes
        first = np.concatenate([[0], np.cumsum(of_node)])
        copies = None
        if n_missing:
            copies = self._divide(level, splits, branch, np.iinfo(dtype).max)
        return LevelStep(branch, slots, first, int(opened.sum()), copies)

    def _route(self, level: RowLevel, splits: Splits, branch: NDArray[Any], threads: int | None) -> int:
        """Set the branch of every instance; return the number of instances with a missing value."""
        tests, n = splits.training_tests(level.n_nodes), level.n_entries
        if threads == 1:
            return _kernels.route_entries(self.routes, level.members, level.starts, tests, self.rows.rows, branch)
        step = max(FEW, -(-n // (8 * _kernels.thread_count())))

        def route(start: int) -> int:
            starts = np.clip(level.starts, start, min(start + step, n))
            return _kernels.route_entries(self.routes, level.members, starts, tests, self.rows.rows, branch)

        return sum(_kernels.over_items(range(0, n, step), route, threads))

    def _divide(self, level: RowLevel, splits: Splits, branch: NDArray[Any], every: int) -> NDArray[np.uint32]:
        """Divide the instances with a missing value; return the index of the first part of each instance."""
        ids = level.members >> 1
        owner = np.repeat(np.arange(level.n_nodes), np.diff(level.starts))
        split = np.zeros(level.n_nodes, dtype=bool)
        split[splits.nodes] = True
        missing = (branch[ids] == every) & split[owner]
        fractions, starts = ragged([_fractions(self.criterion.weight(cells)) for cells in splits.cells], np.float64)
        place = np.zeros(level.n_nodes, dtype=np.int64)
        place[splits.nodes] = np.arange(len(splits.nodes))
        at = place[owner[missing]]
        sizes = np.diff(starts)[at]
        offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.rows, copies = self.rows.divided(ids[missing], sizes, fractions[np.repeat(starts[at], sizes) + offsets])
        return copies


def _grouped(columns: Sequence[TreeColumn], routes: list[NDArray[Any]]) -> ColumnGroup | None:
    """Group the columns with few codes, if there are at least two; the group then owns their codes."""
    suited = [c for c in columns if isinstance(c, CountedColumn) and ColumnGroup.suits(c.codes)]
    if len(suited) < 2:
        return None
    strategies = [c.strategy if isinstance(c.strategy, Searched) and not c.has_missing else None for c in suited]
    group = ColumnGroup([c.codes for c in suited], [c.n_cells for c in suited], strategies)
    for j, column in enumerate(suited):
        column.group, column.group_index = group, j
        routes[column.index] = column.codes = group.matrix[:, j]
    return group


def _moved(step: LevelStep, members: NDArray[Any], starts: NDArray[Any], threads: int | None) -> tuple[Any, Any]:
    """Return the members of the next level; two halves of the nodes are moved in parallel."""
    half = int(np.searchsorted(starts, len(members) // 2))
    if threads == 1 or not 0 < half < len(starts) - 1:
        return step.moved(members, starts)

    def move(nodes: slice) -> tuple[Any, Any]:
        ends = slice(nodes.start, nodes.stop + 1)
        return replace(step, first=step.first[ends]).moved(members, starts[ends])

    (low, low_starts), (high, high_starts) = _kernels.over_items(
        [slice(0, half), slice(half, len(starts) - 1)], move, threads
    )
    return np.concatenate([low, high]), low_starts + high_starts


def _fractions(weights: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights / total) if total > 0 else np.zeros(len(weights))


def _siblings(owner: Indices, sizes: Indices, nodes: Indices, lengths: Indices) -> tuple[Any, Any, Any]:
    """Return the larger child, the smaller child and the node, for nodes with two open children."""
    two = np.zeros(int(owner.max()) + 1, dtype=bool)
    two[nodes[(sizes == 2) & (nodes <= owner.max())]] = True
    both = np.flatnonzero((owner[1:] == owner[:-1]) & two[owner[1:]])
    left_larger = lengths[both] >= lengths[both + 1]
    larger, smaller = np.where(left_larger, both, both + 1), np.where(left_larger, both + 1, both)
    return larger.astype(np.int64), smaller.astype(np.int64), owner[both].astype(np.int64)
