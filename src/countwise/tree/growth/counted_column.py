"""Attributes whose cells can be counted: names, orders, and numbers in bins.

What is asked for at each level is the tally Counts(node, class, attribute): the node is one more axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.tree.growth.column_group import ColumnGroup
from countwise.tree.growth.level import Level, RowLevel, SplitCandidates, Splits, heaviest
from countwise.tree.growth.splits import Multiway, Searched, SplitResult, SplitStrategy

__all__ = ["CountedColumn", "NodeBatch"]


_WIDE = 1 << 10  # cells from which on only those that a node has are laid out
_CELLS = 1 << 22  # of a table at a time
_KEPT = 1 << 24  # cells of a table that is kept for the next level
_NONE = np.empty(0)
_NO_GROUPS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Some nodes of a level with their table.

    Parameters
    ----------
    nodes : ndarray, shape (n,)
        Which.
    table : ndarray, shape (n, cells, classes)
        Of the values.
    absent : ndarray, shape (n, classes), or None
        Of the missing cells; None if there are none.
    values : ndarray, shape (n, cells), or None
        The code of each cell, -1 where there is none; None if cell v is code v.
    """

    nodes: Indices
    table: NDArray[Any]
    absent: NDArray[Any] | None
    values: Indices | None = None


@dataclass(slots=True, eq=False)
class CountedColumn:
    """An attribute that is counted at each level.

    Parameters
    ----------
    place : int
        Which attribute it is.
    codes : ndarray
        Codes 0 to n_values - 1; n_values is missing.
    n_values : int
        How many values, or bins.
    way : SplitStrategy
        How nodes may be split by it.
    edges : ndarray or None
        Of bins, the edges between them.
    gaps : bool
        Whether any cell is missing.
    together : ColumnGroup or None
        Where columns are counted together, what counts them.
    among : int
        Which of them this one is.
    """

    place: int
    codes: NDArray[Any]
    n_values: int
    way: SplitStrategy
    edges: Floats | None = None
    gaps: bool = True
    together: ColumnGroup | None = field(default=None, repr=False)
    among: int = 0
    _kept: NDArray[Any] | None = field(default=None, repr=False)

    def offers(self, level: Level) -> SplitCandidates:
        """What it offers each node of a level."""
        every = np.arange(len(level))
        known = self._known(every, level)
        if known is not None:
            return self._offered(level, every, known, None)
        found = SplitCandidates.none(len(level))
        for batch in self._batches(level):
            parted = self.way.part(batch.table, level.criterion, level.least)
            found.put(batch.nodes, self._offered(level, batch.nodes, parted, batch.absent))
        return found

    def _offered(self, level: Level, nodes: Indices, parted: SplitResult, absent: Any) -> SplitCandidates:
        """What some nodes are offered, given how they would be split."""
        cut, tried = np.full(len(nodes), np.nan), None
        if self.edges is not None:
            there = parted.place > 0
            cut[there] = self.edges[parted.place[there] - 1]
            if level.cost:
                tried = np.count_nonzero(level.criterion.weight(parted.table()) > 0, axis=1) - 1
        return level.offers(parted.gain, nodes, parted.branches, absent, cut, tried)

    def _known(self, nodes: Indices, level: Level) -> SplitResult | None:
        """How some nodes would be split, if that was found when the columns were counted together."""
        together, j = self.together, self.among
        if together is None or not together.ready or together.ways[j] is None:
            return None
        assert isinstance(self.way, Searched)  # noqa: S101 - it is the way that was asked
        return self.way.parted(
            lambda: together.table(nodes, j), self.n_values, level.criterion, together.found(nodes, j)
        )

    def advance(self, step: Any) -> None:
        """Nothing: the table of the next level is counted when it is asked for."""

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""
        some: list[Splits] = []
        for batch in self._some(level, nodes):
            parted = self._known(batch.nodes, level)
            if parted is None:
                parted = self.way.part(batch.table, level.criterion, level.least)
            if parted.two is not None and batch.values is None:
                groups, cells, lost = self._all_at_once(batch, parted, level)
            elif isinstance(self.way, Multiway) and batch.values is None:
                groups, cells, lost = self._branch_for_each(batch, level)
            else:
                groups, cells, lost = self._one_by_one(batch, parted, level)
            n = len(batch.nodes)
            attribute = np.full(n, self.place, dtype=np.int32)
            if self.edges is None:
                some.append(Splits(batch.nodes, attribute, [_NONE] * n, groups, groups, lost, cells))
            else:
                limits = list(self.edges[parted.place - 1][:, None])
                some.append(Splits(batch.nodes, attribute, limits, [_NO_GROUPS] * n, groups, lost, cells))
        return Splits.joined(some)

    def _all_at_once(self, batch: NodeBatch, parted: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Two branches, and each value in one of them."""
        assert parted.two is not None  # noqa: S101 - asked before
        cells, lost = settled(parted.branches(), batch.absent, level)
        groups = np.empty((len(batch.nodes), self.n_values + 2), dtype=np.int32)
        groups[:, :-2] = parted.two()
        groups[:, -2:] = lost[:, None]
        return list(groups), cells, lost

    def _branch_for_each(self, batch: NodeBatch, level: Level) -> tuple[Any, Any, Any]:
        """A branch for each value that a node has, and an empty one for all that it has not."""
        there = level.criterion.weight(batch.table) > 0
        many = there.sum(axis=1)
        sizes = many + (many < self.n_values)
        branch = np.where(there, np.cumsum(there, axis=1) - 1, many[:, None])
        starts = np.cumsum(sizes) - sizes
        inside = np.zeros((int(sizes.sum()), batch.table.shape[2]))
        inside[(starts[:, None] + branch)[there]] = batch.table[there]
        cells = np.split(inside, starts[1:])
        lost = np.full(len(cells), -1, dtype=np.int32)
        gaps = np.zeros(len(cells)) if batch.absent is None else level.criterion.weight(batch.absent)
        for i in np.flatnonzero((gaps > 0) | (level.missing == "majority")).tolist():
            absent = None if batch.absent is None else batch.absent[i : i + 1]
            settled_cells, branch_of_gaps = settled(cells[i][None], absent, level)
            cells[i], lost[i] = settled_cells[0], branch_of_gaps[0]
        groups = np.concatenate([branch, lost[:, None], lost[:, None]], axis=1).astype(np.int32)
        return list(groups), cells, lost

    def _one_by_one(self, batch: NodeBatch, parted: SplitResult, level: Level) -> tuple[Any, Any, Any]:
        """Any number of branches."""
        groups, cells, missing = [], [], []
        for i in range(len(batch.nodes)):
            of_value, inside = self._one(batch, parted, i)
            absent = None if batch.absent is None else batch.absent[i : i + 1]
            inside_all, lost = settled(inside[None], absent, level)
            groups.append(np.append(of_value, [lost[0], lost[0]]).astype(np.int32))
            cells.append(inside_all[0])
            missing.append(int(lost[0]))
        return groups, cells, np.array(missing, dtype=np.int32)

    def _one(self, batch: NodeBatch, parted: SplitResult, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The branch of each value at one node, and what is in the branches."""
        branch = parted.branch(i)  # of each cell; -1 where no row is
        inside = np.zeros((max(int(branch.max()) + 1, 1), batch.table.shape[2]))
        np.add.at(inside, branch[branch >= 0], batch.table[i][branch >= 0])
        groups = np.full(self.n_values, -1, dtype=np.int32)
        codes = np.arange(self.n_values) if batch.values is None else batch.values[i]
        there = (codes >= 0) & (branch >= 0)
        groups[codes[there]] = branch[there]
        lost = groups < 0
        if lost.any() and self.way.takes_absent is not None:
            # values that no row of the node has: one of the branches, or an empty one of their own
            if self.way.takes_absent == "empty":
                groups[lost] = len(inside)
                inside = np.concatenate([inside, np.zeros((1, inside.shape[1]))])
            else:
                groups[lost] = 1
        return groups, inside

    # -- tables ----------------------------------------------------------------

    def _batches(self, level: Level) -> Iterator[NodeBatch]:
        """All nodes of a level, in batches."""
        if isinstance(level, RowLevel) and self.n_cells > _WIDE:
            yield from self._wide(level, np.arange(len(level)))
            return
        if self.together is not None and self.together.ready:
            self._kept = None
            yield from self._some(level, np.arange(len(level)))
            return
        if isinstance(level, RowLevel) and self.keeps(level) and level.crowd.whole:
            table = self._table_by_difference(level)
            yield self._batch(np.arange(len(level)), table)
            return
        self._kept = None
        step = max(1, _CELLS // (self.n_cells * level.cells.shape[1]))
        for start in range(0, len(level), step):
            yield from self._some(level, np.arange(start, min(start + step, len(level))))

    def _some(self, level: Level, nodes: Indices) -> Iterator[NodeBatch]:
        """Some nodes, counted anew unless their table was kept."""
        if isinstance(level, RowLevel) and self.n_cells > _WIDE:
            yield from self._wide(level, nodes)
        elif self.together is not None and self.together.ready:
            yield self._batch(nodes, self.together.table(nodes, self.among))
        elif self._kept is not None:
            yield self._batch(nodes, self._kept[nodes])
        else:
            step = max(1, _CELLS // (self.n_cells * level.cells.shape[1]))
            for start in range(0, len(nodes), step):
                some = nodes[start : start + step]
                yield self._batch(some, self._counted(level, some))

    def _batch(self, nodes: Indices, table: NDArray[Any]) -> NodeBatch:
        if not self.gaps:
            return NodeBatch(nodes, table, None)
        return NodeBatch(nodes, np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.float64))

    @property
    def n_cells(self) -> int:
        """The values, and one cell more if any is missing."""
        return self.n_values + self.gaps

    def _counted(self, level: Level, nodes: Indices) -> NDArray[Any]:
        return level.table(self, nodes)

    def _table_by_difference(self, level: RowLevel) -> NDArray[Any]:
        """The table of a level; of two siblings only the smaller one is counted."""
        before = self._kept
        every = np.arange(len(level))
        direct = every if before is None else np.setdiff1d(every, level.larger, assume_unique=True)
        counted = self._counted(level, direct)
        if before is None or len(direct) == len(level):
            self._kept = counted
            return counted
        table = np.empty((len(level), *counted.shape[1:]), dtype=counted.dtype)
        table[direct] = counted
        table[level.larger] = before[level.parents] - table[level.smaller]
        self._kept = table
        return table

    def keeps(self, level: Level) -> bool:
        """Whether the table of a level is small enough to be kept for the next."""
        return self.n_cells <= _WIDE and len(level) * self.n_cells * level.cells.shape[1] <= _KEPT

    def _wide(self, level: RowLevel, nodes: Indices) -> Iterator[NodeBatch]:
        """Only the values that a node has: nodes with about equally many of them together."""
        starts, stops = level.starts[nodes], level.starts[nodes + 1]
        sizes = stops - starts
        ids = np.concatenate([level.members[a:b] for a, b in zip(starts, stops, strict=True)]) >> 1
        owner = np.repeat(np.arange(len(nodes)), sizes)
        crowd = level.crowd
        codes = self.codes[ids if crowd.rows is None else crowd.rows[ids]].astype(np.int64)
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
            absent = (table * gone[:, :, None]).sum(axis=1)
            table[gone] = 0.0
            values[gone] = -1
            yield NodeBatch(nodes[some], table, absent if gone.any() else None, values)


def _add(table: Floats, at: Any, ids: NDArray[Any], level: RowLevel, nodes: Indices) -> None:
    """Add instances to cells of a table."""
    crowd = level.crowd
    w = np.ones(len(ids)) if crowd.weights is None else crowd.weights[ids].astype(np.float64)
    if crowd.n_classes:
        np.add.at(table, (*at, crowd.told[ids]), w)
    else:
        assert level.centers is not None  # noqa: S101 - numbers have centers
        y = crowd.told[ids] - level.centers[nodes][at[0]]
        np.add.at(table, at, np.stack([w, w * y, w * y * y], axis=1))


def settled(
    inside: NDArray[Any], absent: NDArray[Any] | None, level: Level
) -> tuple[list[Floats], NDArray[np.int32]]:
    """What is in the branches (n, branches, classes) with the rows that lack the value (n, classes).

    Returns the branches of each node, and the branch of missing cells (-1: all).
    """
    inside = np.array(inside, dtype=np.float64)
    n = level.criterion.weight(inside)
    nodes = np.arange(len(inside))
    if level.missing == "majority":
        most = heaviest(n)
        if absent is not None:
            inside[nodes, most] += absent
        return list(inside), most.astype(np.int32)
    lost = np.zeros(len(inside)) if absent is None else level.criterion.weight(absent)
    if absent is None or not (lost > 0).any():
        return list(inside), np.full(len(inside), -1, dtype=np.int32)
    if level.missing == "branch":
        own = [np.concatenate([a, b[None]]) if w > 0 else a for a, b, w in zip(inside, absent, lost, strict=True)]
        return own, np.where(lost > 0, inside.shape[1], -1).astype(np.int32)
    share = n / n.sum(axis=1, keepdims=True)
    return list(inside + share[:, :, None] * absent[:, None]), np.full(len(inside), -1, dtype=np.int32)
