"""Attributes whose cells can be counted: nominal and ordinal ones, and numeric ones in bins.

At each level the tally Counts(node, class, attribute) is needed: the node is one more axis.
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


_WIDE = 1 << 10  # cells from which on only those that a node has are laid out
_CELLS = 1 << 22  # of a table at a time
_KEPT = 1 << 24  # cells of a table that is kept for the next level
_NO_GROUPS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Some nodes of a level with their table."""

    nodes: Indices
    table: NDArray[Any]  # (nodes, cells, classes) of the values
    missing: NDArray[Any] | None  # (nodes, classes) of the missing values; None if there are none
    values: Indices | None = None  # (nodes, cells): the code of each cell, -1 for none; None if cell v is code v


@dataclass(slots=True, eq=False)
class CountedColumn:
    """An attribute that is counted at each level."""

    index: int  # which attribute it is
    codes: NDArray[Any]  # 0 to n_values - 1; n_values is missing
    n_values: int  # or bins
    strategy: SplitStrategy  # how nodes may be split by it
    edges: Floats | None = None  # between bins
    has_missing: bool = True
    group: ColumnGroup | None = field(default=None, repr=False)  # the columns it is counted together with
    group_index: int = 0  # which of them this one is
    n_cells: int = field(init=False)  # the values, and one cell more if any is missing
    _kept: NDArray[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.n_cells = self.n_values + self.has_missing

    def candidates(self, level: Level) -> SplitCandidates:
        """The best split of each node of a level."""
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
        """The candidates of some nodes, given how they would be split."""
        cut, n_tried = np.full(len(nodes), np.nan), None
        if self.edges is not None:
            there = result.place > 0
            cut[there] = self.edges[result.place[there] - 1]
            if level.settings.threshold_cost:
                n_tried = np.count_nonzero(level.criterion.weight(result.table()) > 0, axis=1) - 1
        return level.candidates(result.gain, nodes, result.branches, missing, cut, n_tried)

    def _known(self, nodes: Indices, level: Level) -> SplitResult | None:
        """How some nodes would be split, if that was found when the columns were counted together."""
        group, j = self.group, self.group_index
        if group is None or not group.ready or group.strategies[j] is None:
            return None
        assert isinstance(self.strategy, Searched)  # noqa: S101 - it is the strategy that was asked
        return self.strategy.result(lambda: group.table(nodes, j), self.n_values, group.found(nodes, j))

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""
        some: list[Splits] = []
        for batch in self._batches(level, nodes):
            result = self._known(batch.nodes, level)
            if result is None:
                result = self.strategy.split(batch.table, level.criterion, level.settings.min_leaf)
            if result.binary and batch.values is None:
                groups, cells, lost = self._all_at_once(batch, result, level)
            elif isinstance(self.strategy, Multiway) and batch.values is None:
                groups, cells, lost = self._branch_for_each(batch, level)
            else:
                groups, cells, lost = self._one_by_one(batch, result, level)
            limits, own = [np.empty(0)] * len(groups), groups
            if self.edges is not None:
                limits, own = list(self.edges[result.place - 1][:, None]), [_NO_GROUPS] * len(groups)
            some.append(Splits.by(self.index, batch.nodes, limits, own, groups, lost, cells))
        return Splits.joined(some)

    def _all_at_once(self, batch: NodeBatch, result: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Two branches, and each value in one of them."""
        cells, lost = level.add_missing(result.branches(), batch.missing)
        return _with_lost(result.branch(), lost), cells, lost

    def _branch_for_each(self, batch: NodeBatch, level: Level) -> tuple[Any, Any, Any]:
        """A branch for each value that a node has, and an empty one for all others."""
        there = level.criterion.weight(batch.table) > 0
        many = there.sum(axis=1)
        sizes = many + (many < self.n_values)
        branch = np.where(there, np.cumsum(there, axis=1) - 1, many[:, None])
        starts = np.cumsum(sizes) - sizes
        inside = np.zeros((int(sizes.sum()), batch.table.shape[2]))
        inside[(starts[:, None] + branch)[there]] = batch.table[there]
        cells = np.split(inside, starts[1:])
        lost = np.full(len(cells), -1, dtype=np.int32)
        weight = np.zeros(len(cells)) if batch.missing is None else level.criterion.weight(batch.missing)
        for i in np.flatnonzero((weight > 0) | (level.settings.missing == "majority")).tolist():
            missing = None if batch.missing is None else batch.missing[i : i + 1]
            (cells[i],), lost[i : i + 1] = level.add_missing(cells[i][None], missing)
        return _with_lost(branch, lost), cells, lost

    def _one_by_one(self, batch: NodeBatch, result: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Any number of branches."""
        groups, cells, lost = [], [], np.empty(len(batch.nodes), dtype=np.int32)
        for i, branch in enumerate(result.branch()):
            of_value, inside = self._one(batch, branch, i)
            missing = None if batch.missing is None else batch.missing[i : i + 1]
            (all_inside,), lost[i : i + 1] = level.add_missing(inside[None], missing)
            groups.append(np.append(of_value, [lost[i], lost[i]]).astype(np.int32))
            cells.append(all_inside)
        return groups, cells, lost

    def _one(self, batch: NodeBatch, branch: NDArray[Any], i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The branch of each value at one node, and the contents of the branches, given the branch of each cell."""
        inside = np.zeros((max(int(branch.max()) + 1, 1), batch.table.shape[2]))
        np.add.at(inside, branch[branch >= 0], batch.table[i][branch >= 0])
        groups = np.full(self.n_values, -1, dtype=np.int32)
        codes = np.arange(self.n_values) if batch.values is None else batch.values[i]
        there = (codes >= 0) & (branch >= 0)
        groups[codes[there]] = branch[there]
        unseen = groups < 0
        if unseen.any() and self.strategy.unseen_branch is not None:
            # values that no row of the node has: one of the branches, or an empty one of their own
            if self.strategy.unseen_branch == "empty":
                groups[unseen] = len(inside)
                inside = np.concatenate([inside, np.zeros((1, inside.shape[1]))])
            else:
                groups[unseen] = 1
        return groups, inside

    # -- tables ----------------------------------------------------------------

    def _batches(self, level: Level, nodes: Indices | None = None) -> Iterable[NodeBatch]:
        """Some nodes of a level in batches; all of them are counted, some have their table kept from that."""
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
        """The table of a level; of two siblings only the smaller one is counted."""
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
        """Only the values that a node has; nodes with about equally many of them in one batch."""
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
            gone = values == self.n_values
            missing = (table * gone[:, :, None]).sum(axis=1)
            table[gone] = 0.0
            values[gone] = -1
            yield NodeBatch(nodes[some], table, missing if gone.any() else None, values)


def _with_lost(branch: NDArray[Any], lost: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The branch of each code of some nodes (nodes, values), those of missing and unseen values at the end."""
    return list(np.concatenate([branch, lost[:, None], lost[:, None]], axis=1).astype(np.int32, copy=False))


def _add(table: Floats, at: Any, ids: NDArray[Any], level: RowLevel, nodes: Indices) -> None:
    """Add instances to cells of a table."""
    rows = level.rows
    w = np.ones(len(ids)) if rows.weights is None else rows.weights[ids].astype(np.float64)
    if rows.n_classes:
        np.add.at(table, (*at, rows.y[ids]), w)
    else:
        assert level.centers is not None  # noqa: S101 - the nodes of a numeric target have centers
        y = rows.y[ids] - level.centers[nodes][at[0]]
        np.add.at(table, at, np.stack([w, w * y, w * y * y], axis=1))
