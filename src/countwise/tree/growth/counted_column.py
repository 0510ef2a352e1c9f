"""Attributes that are split by counting: nominal, ordinal and binned numeric ones.

Each level needs the contingency table of node, class and attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.tree.growth.column_group import ColumnGroup
from countwise.tree.growth.level import Level, RowLevel, SplitCandidates, Splits
from countwise.tree.growth.splits import Multiway, Searched, SplitResult, SplitStrategy

__all__ = ["CountedColumn", "NodeBatch"]


_WIDE = 1 << 10  # above this number of cells, tables hold only the values that a node has
_CELLS = 1 << 22  # largest number of cells of a table
_KEPT = 1 << 24  # largest number of cells of a table that is kept for the next level
_NO_GROUPS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Batch of nodes of a level with their contingency table."""

    nodes: Indices
    table: NDArray[Any]  # (nodes, cells, classes) for the values
    missing: NDArray[Any] | None  # (nodes, classes) for the missing values; None if no value is missing
    values: Indices | None = None  # (nodes, cells): the code of each cell, -1 for none; None if cell v is code v


@dataclass(slots=True, eq=False)
class CountedColumn:
    """Attribute that is counted at each level."""

    index: int  # index of the attribute
    codes: NDArray[Any]  # 0 to n_values - 1; n_values is missing
    n_values: int  # number of values or bins
    strategy: SplitStrategy
    edges: Floats | None = None  # cut points between bins
    has_missing: bool = True
    group: ColumnGroup | None = field(default=None, repr=False)  # the columns that are counted together with it
    group_index: int = 0  # index in the group
    n_cells: int = field(init=False)  # number of values, plus 1 if any value is missing
    _kept: NDArray[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.n_cells = self.n_values + self.has_missing

    def candidates(self, level: Level) -> SplitCandidates:
        """Return the best split of each node of a level."""
        if self.group is not None and self.group.ready:
            every = np.arange(level.n_nodes)
            known = self._known(every, level)
            if known is not None:
                return self._candidates_of(level, every, known, None)
        found = None
        for batch in self._batches(level):
            result = self.strategy.split(batch.table, level.criterion, level.settings.min_leaf)
            some = self._candidates_of(level, batch.nodes, result, batch.missing)
            if len(batch.nodes) == level.n_nodes:
                return some
            found = SplitCandidates.none(level.n_nodes) if found is None else found
            found.put(batch.nodes, some)
        assert found is not None  # noqa: S101 - a level has nodes
        return found

    def _candidates_of(self, level: Level, nodes: Indices, result: SplitResult, missing: Any) -> SplitCandidates:
        """Return the candidates of some nodes, given their best splits."""
        cut, n_tried = np.full(len(nodes), np.nan), None
        if self.edges is not None:
            has_split = result.place > 0
            cut[has_split] = self.edges[result.place[has_split] - 1]
            if level.settings.threshold_cost:
                n_tried = np.count_nonzero(level.criterion.weight(result.table()) > 0, axis=1) - 1
        return level.candidates(result.gain, nodes, result.branches, missing, cut, n_tried)

    def _known(self, nodes: Indices, level: Level) -> SplitResult | None:
        """Return the best splits of some nodes if they were found when the columns were counted together."""
        group, j = self.group, self.group_index
        if group is None or not group.ready or group.strategies[j] is None:
            return None
        assert isinstance(self.strategy, Searched)  # noqa: S101 - only these are searched in groups
        return self.strategy.result(lambda: group.table(nodes, j), self.n_values, group.found(nodes, j))

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """Return the splits of some nodes by this attribute."""
        some: list[Splits] = []
        for batch in self._batches(level, nodes):
            result = self._known(batch.nodes, level)
            if result is None:
                result = self.strategy.split(batch.table, level.criterion, level.settings.min_leaf)
            if result.binary and batch.values is None:
                groups, cells, missing = self._binary(batch, result, level)
            elif isinstance(self.strategy, Multiway) and batch.values is None:
                groups, cells, missing = self._branch_for_each(batch, level)
            else:
                groups, cells, missing = self._one_by_one(batch, result, level)
            limits, own = [np.empty(0)] * len(groups), groups
            if self.edges is not None:
                limits, own = list(self.edges[result.place - 1][:, None]), [_NO_GROUPS] * len(groups)
            some.append(Splits.by(self.index, batch.nodes, limits, own, groups, missing, cells))
        return Splits.joined(some)

    def _binary(self, batch: NodeBatch, result: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Return splits with two branches, with each value in one of them."""
        cells, missing = level.add_missing(result.branches(), batch.missing)
        return _with_missing(result.branch(), missing), cells, missing

    def _branch_for_each(self, batch: NodeBatch, level: Level) -> tuple[Any, Any, Any]:
        """Return splits with a branch for each value that a node has, and an empty one for the other values."""
        present = level.criterion.weight(batch.table) > 0
        many = present.sum(axis=1)
        sizes = many + (many < self.n_values)
        branch = np.where(present, np.cumsum(present, axis=1) - 1, many[:, None])
        starts = np.cumsum(sizes) - sizes
        inside = np.zeros((int(sizes.sum()), batch.table.shape[2]))
        inside[(starts[:, None] + branch)[present]] = batch.table[present]
        cells = np.split(inside, starts[1:])
        missing = np.full(len(cells), -1, dtype=np.int32)
        weight = np.zeros(len(cells)) if batch.missing is None else level.criterion.weight(batch.missing)
        for i in np.flatnonzero((weight > 0) | (level.settings.missing == "majority")).tolist():
            of_missing = None if batch.missing is None else batch.missing[i : i + 1]
            (cells[i],), missing[i : i + 1] = level.add_missing(cells[i][None], of_missing)
        return _with_missing(branch, missing), cells, missing

    def _one_by_one(self, batch: NodeBatch, result: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Return splits with any number of branches."""
        groups, cells, missing = [], [], np.empty(len(batch.nodes), dtype=np.int32)
        for i, branch in enumerate(result.branch()):
            of_value, inside = self._one(batch, branch, i)
            of_missing = None if batch.missing is None else batch.missing[i : i + 1]
            (all_inside,), missing[i : i + 1] = level.add_missing(inside[None], of_missing)
            groups.append(np.append(of_value, [missing[i], missing[i]]).astype(np.int32))
            cells.append(all_inside)
        return groups, cells, missing

    def _one(self, batch: NodeBatch, branch: NDArray[Any], i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the branch of each value and the cells of each branch of one node, given the branch of each cell."""
        inside = np.zeros((max(int(branch.max()) + 1, 1), batch.table.shape[2]))
        np.add.at(inside, branch[branch >= 0], batch.table[i][branch >= 0])
        groups = np.full(self.n_values, -1, dtype=np.int32)
        codes = np.arange(self.n_values) if batch.values is None else batch.values[i]
        present = (codes >= 0) & (branch >= 0)
        groups[codes[present]] = branch[present]
        unseen = groups < 0
        if unseen.any() and self.strategy.unseen_branch is not None:
            # values that no row of the node has go to one of the branches, or to a new empty one
            if self.strategy.unseen_branch == "empty":
                groups[unseen] = len(inside)
                inside = np.concatenate([inside, np.zeros((1, inside.shape[1]))])
            else:
                groups[unseen] = 1
        return groups, inside

    # -- tables ----------------------------------------------------------------

    def _batches(self, level: Level, nodes: Indices | None = None) -> Iterable[NodeBatch]:
        """Return the tables of some nodes in batches; without `nodes`, count all nodes of the level."""
        every = nodes is None
        nodes = np.arange(level.n_nodes) if nodes is None else nodes
        if isinstance(level, RowLevel) and self.n_cells > _WIDE:
            return self._wide(level, nodes)
        if self.group is not None and self.group.ready:
            self._kept = None
            return [self._batch(nodes, self.group.table(nodes, self.group_index))]
        size = self.n_cells * level.cells.shape[1]
        if every and isinstance(level, RowLevel) and level.n_nodes * size <= _KEPT and level.rows.whole:
            return [self._batch(nodes, self._table_by_difference(level, nodes))]
        self._kept = None if every else self._kept
        if self._kept is not None:
            return [self._batch(nodes, self._kept[nodes])]
        step = max(1, _CELLS // size)
        parts = (nodes[start : start + step] for start in range(0, len(nodes), step))
        return (self._batch(some, level.table(self, some)) for some in parts)

    def _batch(self, nodes: Indices, table: NDArray[Any]) -> NodeBatch:
        if not self.has_missing:
            return NodeBatch(nodes, table, None)
        return NodeBatch(nodes, np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.float64))

    def _table_by_difference(self, level: RowLevel, every: Indices) -> NDArray[Any]:
        """Return the table of a level; only the smaller of two siblings is counted."""
        before = self._kept
        direct = every if before is None else np.setdiff1d(every, level.larger, assume_unique=True)
        counted = level.table(self, direct)
        if before is None or len(direct) == level.n_nodes:
            self._kept = counted
            return counted
        table = np.empty((level.n_nodes, *counted.shape[1:]), dtype=counted.dtype)
        table[direct] = counted
        table[level.larger] = before[level.parents] - table[level.smaller]
        self._kept = table
        return table

    def _wide(self, level: RowLevel, nodes: Indices) -> Iterator[NodeBatch]:
        """Yield tables with only the values that a node has; a batch has nodes with about equally many values."""
        starts, stops = level.starts[nodes], level.starts[nodes + 1]
        sizes = stops - starts
        ids = np.concatenate([level.members[a:b] for a, b in zip(starts, stops, strict=True)]) >> 1
        owner = np.repeat(np.arange(len(nodes)), sizes)
        rows = level.rows.rows
        codes = self.codes[ids if rows is None else rows[ids]].astype(np.int64)
        keys, place = np.unique(owner * (self.n_values + 1) + codes, return_inverse=True)
        of_node, value = np.divmod(keys, self.n_values + 1)
        first = np.searchsorted(of_node, np.arange(len(nodes) + 1))
        dense = (np.arange(len(keys)) - first[of_node])[place]
        power = np.ceil(np.log2(np.maximum(np.diff(first), 1))).astype(np.int64)
        for p in np.unique(power):
            mine = np.flatnonzero(power == p)
            yield from self._laid_out(level, nodes, mine, (ids, owner, dense), (of_node, value, first))

    def _laid_out(self, level: RowLevel, nodes: Any, mine: Any, entry: Any, pair: Any) -> Iterator[NodeBatch]:
        ids, owner, dense = entry
        of_node, value, first = pair
        width = int(np.diff(first)[mine].max())
        columns = level.cells.shape[1]
        step = max(1, _CELLS // (width * columns))
        for begin in range(0, len(mine), step):
            some = mine[begin : begin + step]
            slot = np.full(len(nodes), -1)
            slot[some] = np.arange(len(some))
            inside, pairs = slot[owner] >= 0, slot[of_node] >= 0
            values = np.full((len(some), width), -1, dtype=np.int64)
            rank = np.arange(len(of_node)) - first[of_node]
            values[slot[of_node[pairs]], rank[pairs]] = value[pairs]
            table = np.zeros((len(some), width, columns))
            at = (slot[owner[inside]], dense[inside])
            _add(table, at, ids[inside], level, nodes[some])
            is_missing = values == self.n_values
            missing = (table * is_missing[:, :, None]).sum(axis=1)
            table[is_missing] = 0.0
            values[is_missing] = -1
            yield NodeBatch(nodes[some], table, missing if is_missing.any() else None, values)


def _with_missing(branch: NDArray[Any], missing: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Append the branch of missing and of unseen values to the branches of the codes (nodes, values)."""
    return list(np.concatenate([branch, missing[:, None], missing[:, None]], axis=1).astype(np.int32, copy=False))


def _add(table: Floats, at: Any, ids: NDArray[Any], level: RowLevel, nodes: Indices) -> None:
    """Add instances to the cells of a table."""
    rows = level.rows
    w = np.ones(len(ids)) if rows.weights is None else rows.weights[ids].astype(np.float64)
    if rows.n_classes:
        np.add.at(table, (*at, rows.y[ids]), w)
    else:
        assert level.centers is not None  # noqa: S101 - the nodes of a numeric target have centers
        y = rows.y[ids] - level.centers[nodes][at[0]]
        np.add.at(table, at, np.stack([w, w * y, w * y * y], axis=1))
