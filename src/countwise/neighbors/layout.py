"""Rows laid out for the search: numbers, and codes with tables of their distances; and the search, which is exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise import _kernels, progress
from countwise._kernels import PairLaw, PairRows
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Numeric
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.neighbors.local_distances import Difference, LocalCells, LocalDistance

__all__ = ["CombinedDistance", "FoundNeighbors", "NeighborSearch", "RowLayout", "lay", "of_unit_length"]

_BLOCK = 256  # queries a piece of work
_TABLE_CELLS = 1 << 23  # of one table between queries and rows


@dataclass(frozen=True, slots=True, eq=False)
class RowLayout:
    """Rows laid out."""

    numbers: Floats  # (rows, attributes that are compared by their difference)
    cells: Sequence[LocalCells]  # of all other attributes

    def __len__(self) -> int:
        return len(self.numbers)

    def slice(self, start: int, stop: int) -> RowLayout:
        """Some rows."""
        return RowLayout(self.numbers[start:stop], [cells.slice(start, stop) for cells in self.cells])

    def take(self, rows: Indices) -> RowLayout:
        """Some rows, in the order given."""
        return RowLayout(np.ascontiguousarray(self.numbers[rows]), [cells.take(rows) for cells in self.cells])

    def unknown(self, combined: CombinedDistance) -> Flags:
        """Rows whose values are missing in every attribute that has a weight."""
        nothing = np.ones(len(self), dtype=bool)
        for j, difference in enumerate(combined.differences):
            if difference.weight * difference.scale > 0:
                nothing &= np.isnan(self.numbers[:, j])
        for local, cells in zip(combined.others, self.cells, strict=True):
            if local.weight * local.most > 0:
                nothing &= local.lost(cells)
        return nothing


@dataclass(frozen=True, slots=True)
class CombinedDistance:
    """How local distances are combined."""

    locals: tuple[LocalDistance, ...]  # one for each attribute
    p: float  # the power
    missing: str  # "maximal" or "ignore": what a missing value adds
    unit_length: bool  # whether the numeric values of a row are divided by their length

    @property
    def differences(self) -> list[Difference]:
        """The attributes that are compared by a difference."""
        return [local for local in self.locals if isinstance(local, Difference)]

    @property
    def others(self) -> list[LocalDistance]:
        """The attributes that are looked up."""
        return [local for local in self.locals if not isinstance(local, Difference)]

    def cost(self, local: LocalDistance, distance: Floats | float) -> Floats | float:
        """What a local distance adds to the sum."""
        if self.p == np.inf:
            return local.weight * distance
        with np.errstate(over="ignore", under="ignore"):
            return local.weight * np.power(distance, self.p)

    @property
    def shares(self) -> Floats | None:
        """The weight of each attribute, if missing values are ignored."""
        if self.missing != "ignore":
            return None
        return np.array([x.weight for x in (*self.differences, *self.others)], dtype=np.float64)

    def between(self, queries: RowLayout, rows: RowLayout) -> tuple[PairRows, PairRows, PairLaw]:
        """What the kernels take: both sides, and what two of their cells add."""
        tables, left, right, known = [], [], [], []
        for local, a, b in zip(self.others, queries.cells, rows.cells, strict=True):
            mine, theirs = local.codes(a, b)
            tables.append(self.cost(local, local.between(a, b)))
            left.append(mine)
            right.append(theirs)
            known.append((local.n_known(a), local.n_known(b)))
        root = 1.0 if self.p == np.inf else 1.0 / self.p
        between = PairLaw(
            np.array([d.scale * d.weight**root for d in self.differences], dtype=np.float64),
            np.array([self.cost(d, d.most) for d in self.differences], dtype=np.float64),
            tables,
            np.array(known, dtype=np.int64).reshape(-1, 2),
            self.shares,
            self.nothing,
            float(self.p),
        )
        return PairRows(queries.numbers, left), PairRows(rows.numbers, right), between

    def root(self, sums: Floats) -> Floats:
        """Distances of sums."""
        if self.p in (1, np.inf):
            return sums
        return np.sqrt(sums) if self.p == 2 else sums ** (1.0 / self.p)

    def power(self, distance: float) -> float:
        """The sum of a distance."""
        if self.p in (1, np.inf):
            return distance
        with np.errstate(over="ignore", under="ignore"):
            return float(np.power(distance, self.p))

    @property
    def nothing(self) -> float:
        """The sum of rows without a known value in common: every attribute at its maximum."""
        costs = [float(self.cost(local, local.most)) for local in self.locals]
        if self.p == np.inf:
            return max(costs, default=0.0)
        with np.errstate(over="ignore"):
            rough = float(np.sum(costs))
        return math.fsum(costs) if math.isfinite(rough) else rough  # in any order

    def over_blocks(
        self, queries: RowLayout, rows: RowLayout, size: int, work: Callable[..., Any], **how: Any
    ) -> list[Any]:
        """`work(start, queries, rows, between)` of each block of queries, in order; `how` is that of the kernels.

        The tables between queries and rows are made for as many queries at a time as keep them small.
        """
        widths = [len(b.values) + 1 for b in rows.cells if b.values is not None]
        step = max(1, _TABLE_CELLS // max(widths) if widths else len(queries))
        found: list[Any] = []
        for start in range(0, len(queries), step):
            many = min(step, len(queries) - start)
            left, right, between = self.between(queries.slice(start, start + many), rows)

            def part(a: int, b: int, at: int = start, both: Any = (left, right, between)) -> Any:
                mine, *others = both
                return work(at + a, PairRows(mine.numbers[a:b], [codes[a:b] for codes in mine.codes]), *others)

            found += _kernels.over_blocks(many, size, part, **how)
        return found


def lay(combined: CombinedDistance, table: Table, frame: Frame) -> RowLayout:
    """The rows of a table laid out."""
    numbers, cells = [], []
    for local in combined.locals:
        found = local.lay(table[local.of.name], frame.columns[local.of.name])
        if local.numbers:
            numbers.append(found.column)
        else:
            cells.append(found)
    matrix = np.stack(numbers, axis=1) if numbers else np.empty((table.n_rows, 0))
    if combined.unit_length:
        plain = [isinstance(local.of, Numeric) for local in combined.differences]  # steps of an order are no lengths
        matrix[:, plain] = _of_unit_length(matrix[:, plain])
    return RowLayout(np.ascontiguousarray(matrix, dtype=np.float64), cells)


def of_unit_length(combined: CombinedDistance, table: Table, frame: Frame) -> CombinedDistance:
    """The same with numbers of rows of length 1; the most that they differ by is known after the division."""
    columns = iter(lay(combined, table, frame).numbers.T)
    found: list[LocalDistance] = []
    for local in combined.locals:
        if not isinstance(local, Difference):
            found.append(local)
            continue
        column = next(columns)
        if not isinstance(local.of, Numeric):
            found.append(local)
            continue
        there = column[~np.isnan(column)]
        most = float(there.max() - there.min()) if len(there) else 0.0
        found.append(replace(local, most=most, scale=1.0, how="none", origin=0.0))
    return replace(combined, locals=tuple(found))


def _of_unit_length(numbers: Floats) -> Floats:
    """Rows divided by their length; one of length 0 stays as it is."""
    largest = np.nanmax(np.abs(numbers), axis=1, initial=0.0, keepdims=True)
    scaled = np.divide(numbers, largest, out=np.zeros_like(numbers), where=largest > 0)  # so that no square overflows
    length = np.sqrt(np.nansum(scaled**2, axis=1, keepdims=True))
    found = np.divide(scaled, length, out=np.zeros_like(numbers), where=length > 0)
    return np.where(np.isnan(numbers), np.nan, found)


@dataclass(frozen=True, slots=True, eq=False)
class FoundNeighbors:
    """The nearest rows of each query."""

    starts: Indices  # (queries + 1,): where the rows of each query begin
    ids: Indices  # the rows, the nearest first; of equally near ones those that stand first
    sums: Floats  # the sum of what all attributes add
    distances: Floats

    @property
    def sizes(self) -> Indices:
        """How many rows each query has."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Indices:
        """The query of each row that was found."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def only(self, kept: Flags) -> FoundNeighbors:
        """Only some of the rows."""
        if kept.all():
            return self
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return FoundNeighbors(starts, self.ids[kept], self.sums[kept], self.distances[kept])

    def counted(self, own: Floats, k: float) -> Floats:
        """The weight with which each row counts: its own, but that of the last one only up to k in all."""
        if k == np.inf:
            return own
        counted, left = own.copy(), np.full(len(self.starts) - 1, k)
        for place in range(int(self.sizes.max(initial=0))):  # place by place, so that queries do not mix
            which = np.flatnonzero(self.sizes > place)
            ids = self.starts[which] + place
            counted[ids] = np.minimum(own[ids], left[which])
            left[which] -= counted[ids]
        return counted


class NeighborSearch:
    """Rows to be searched; of equally near ones those that stand first are found first."""

    def __init__(self, combined: CombinedDistance, rows: RowLayout, weights: Floats | None = None) -> None:
        self.combined, self.rows = combined, rows
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self._planted: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_planted": None}  # it is made anew when it is needed

    def __len__(self) -> int:
        return len(self.rows)

    def weights_of(self, ids: Indices) -> Floats:
        """The weights of some rows, 1 for each if there are none."""
        return np.ones(len(ids)) if self.weights is None else self.weights[ids]

    def nearest(
        self,
        queries: RowLayout,
        k: float,
        radius: float = np.inf,
        *,
        weighted: bool = True,  # else each row is 1
        skip: Indices | None = None,  # a row that each query must not find; -1 for none
        penalties: Floats | None = None,  # 1 or more for each row: by what its sums are multiplied
        ties: bool = False,  # whether all rows are taken that are as near as the last one
    ) -> FoundNeighbors:
        """The nearest rows of each query, until their weights reach k; none is further away than the radius."""
        limit = np.inf if radius == np.inf else self.combined.power(radius) * (1 + 1e-12)  # of what roots may round
        weights = self.weights if weighted else None
        if self._planted is None and len(queries):  # any query will do
            _, right, between = self.combined.between(queries.slice(0, 1), self.rows)
            self._planted = _kernels.row_tree(right, between)

        def work(start: int, some: PairRows, rows: PairRows, law: PairLaw) -> Any:
            not_this = None if skip is None else skip[start : start + len(some.numbers)]
            return _kernels.nearest(some, rows, law, k, limit, weights, not_this, self._planted, penalties, ties)

        threads = 1 if len(queries) * len(self) < 1 << 18 else None
        shown = progress.current()
        parts = self.combined.over_blocks(queries, self.rows, _BLOCK, work, threads=threads, progress=shown)
        sizes = np.concatenate([[0], *(np.diff(part[0]) for part in parts)])
        ids = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        sums = np.concatenate([np.empty(0), *(part[2] for part in parts)])
        found = FoundNeighbors(np.cumsum(sizes), ids, sums, self.combined.root(sums))
        return found if radius == np.inf else found.only(found.distances <= radius)
