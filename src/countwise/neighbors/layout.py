"""Layout of rows for the neighbor search, and the exact search itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise import _kernels, progress
from countwise._kernels import PairMetric, PairRows
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Numeric
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.neighbors.local_distances import Difference, LocalCells, LocalDistance

__all__ = ["CombinedDistance", "FoundNeighbors", "NeighborSearch", "RowLayout", "lay", "of_unit_length"]

_BLOCK = 256  # queries in one block of parallel work
_TABLE_CELLS = 1 << 23  # most cells of a distance table between the values of queries and rows


@dataclass(frozen=True, slots=True, eq=False)
class RowLayout:
    """Rows in the layout of the search: a matrix of numbers, and codes for all other attributes."""

    numbers: Floats  # (rows, attributes compared by difference)
    cells: Sequence[LocalCells]  # one for each other attribute

    def __len__(self) -> int:
        return len(self.numbers)

    def slice(self, start: int, stop: int) -> RowLayout:
        """Return rows start to stop."""
        return RowLayout(self.numbers[start:stop], [cells.slice(start, stop) for cells in self.cells])

    def take(self, rows: Indices) -> RowLayout:
        """Return the rows with the given indices, in that order."""
        return RowLayout(np.ascontiguousarray(self.numbers[rows]), [cells.take(rows) for cells in self.cells])

    def unknown(self, combined: CombinedDistance) -> Flags:
        """Return which rows have no known value in any attribute of positive weight."""
        nothing = np.ones(len(self), dtype=bool)
        for j, difference in enumerate(combined.differences):
            if difference.weight * difference.scale > 0:
                nothing &= np.isnan(self.numbers[:, j])
        for local, cells in zip(combined.others, self.cells, strict=True):
            if local.weight * local.most > 0:
                nothing &= local.unknown(cells)
        return nothing


@dataclass(frozen=True, slots=True)
class CombinedDistance:
    """A distance between rows: the local distances and how they are combined."""

    locals: tuple[LocalDistance, ...]  # one for each attribute
    p: float  # power of the Minkowski sum
    missing: str  # "maximal" or "ignore": the contribution of a missing value
    unit_length: bool  # whether the numeric values of a row are divided by their Euclidean norm

    @property
    def differences(self) -> list[Difference]:
        """The attributes compared by difference."""
        return [local for local in self.locals if isinstance(local, Difference)]

    @property
    def others(self) -> list[LocalDistance]:
        """The attributes whose distances are looked up in a table."""
        return [local for local in self.locals if not isinstance(local, Difference)]

    def cost(self, local: LocalDistance, distance: Floats | float) -> Floats | float:
        """Return w d^p, the contribution of a local distance d to the sum."""
        if self.p == np.inf:
            return local.weight * distance
        with np.errstate(over="ignore", under="ignore"):
            return local.weight * np.power(distance, self.p)

    @property
    def shares(self) -> Floats | None:
        """The weight of each attribute if missing values are ignored, else None."""
        if self.missing != "ignore":
            return None
        return np.array([x.weight for x in (*self.differences, *self.others)], dtype=np.float64)

    def between(self, queries: RowLayout, rows: RowLayout) -> tuple[PairRows, PairRows, PairMetric]:
        """Return the arguments of the kernels: queries, rows, and the contributions of each pair of values."""
        tables, left, right, known = [], [], [], []
        for local, a, b in zip(self.others, queries.cells, rows.cells, strict=True):
            mine, theirs = local.codes(a, b)
            tables.append(self.cost(local, local.between(a, b)))
            left.append(mine)
            right.append(theirs)
            known.append((local.n_known(a), local.n_known(b)))
        root = 1.0 if self.p == np.inf else 1.0 / self.p
        between = PairMetric(
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
        """Convert sums into distances."""
        if self.p in (1, np.inf):
            return sums
        return np.sqrt(sums) if self.p == 2 else sums ** (1.0 / self.p)

    def power(self, distance: float) -> float:
        """Convert a distance into a sum."""
        if self.p in (1, np.inf):
            return distance
        with np.errstate(over="ignore", under="ignore"):
            return float(np.power(distance, self.p))

    @property
    def nothing(self) -> float:
        """The sum for two rows without a known value in common: every attribute contributes its maximum."""
        costs = [float(self.cost(local, local.most)) for local in self.locals]
        if self.p == np.inf:
            return max(costs, default=0.0)
        with np.errstate(over="ignore"):
            rough = float(np.sum(costs))
        return math.fsum(costs) if math.isfinite(rough) else rough  # independent of the order of the attributes

    def over_blocks(
        self, queries: RowLayout, rows: RowLayout, size: int, work: Callable[..., Any], **how: Any
    ) -> list[Any]:
        """Call `work(start, queries, rows, between)` for each block of queries, in order.

        The keyword arguments `how` are passed to the kernels. The distance tables are built for a limited number of
        queries at a time, to bound their size.
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
    """Return the rows of a table in the layout of the search."""
    numbers, cells = [], []
    for local in combined.locals:
        found = local.lay(table[local.of.name], frame.columns[local.of.name])
        if local.numbers:
            numbers.append(found.column)
        else:
            cells.append(found)
    matrix = np.stack(numbers, axis=1) if numbers else np.empty((table.n_rows, 0))
    if combined.unit_length:
        plain = [isinstance(local.of, Numeric) for local in combined.differences]  # ordinal codes have no length
        matrix[:, plain] = _of_unit_length(matrix[:, plain])
    return RowLayout(np.ascontiguousarray(matrix, dtype=np.float64), cells)


def of_unit_length(combined: CombinedDistance, table: Table, frame: Frame) -> CombinedDistance:
    """Return the same distance for rows of unit length, with maxima computed after the division by the norm."""
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
        known = column[~np.isnan(column)]
        most = float(known.max() - known.min()) if len(known) else 0.0
        found.append(replace(local, most=most, scale=1.0, how="none", origin=0.0))
    return replace(combined, locals=tuple(found))


def _of_unit_length(numbers: Floats) -> Floats:
    """Divide each row by its Euclidean norm; a row of norm 0 stays as it is."""
    largest = np.nanmax(np.abs(numbers), axis=1, initial=0.0, keepdims=True)
    scaled = np.divide(numbers, largest, out=np.zeros_like(numbers), where=largest > 0)  # squares must not overflow
    length = np.sqrt(np.nansum(scaled**2, axis=1, keepdims=True))
    found = np.divide(scaled, length, out=np.zeros_like(numbers), where=length > 0)
    return np.where(np.isnan(numbers), np.nan, found)


@dataclass(frozen=True, slots=True, eq=False)
class FoundNeighbors:
    """The nearest rows of each query."""

    starts: Indices  # (queries + 1,): the offset at which the rows of each query begin
    ids: Indices  # row indices, nearest first; ties in the order of the rows
    sums: Floats  # sum of the contributions of all attributes
    distances: Floats

    @property
    def sizes(self) -> Indices:
        """The number of rows found for each query."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Indices:
        """The query of each row found."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def only(self, kept: Flags) -> FoundNeighbors:
        """Return only the rows where `kept` is True."""
        if kept.all():
            return self
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return FoundNeighbors(starts, self.ids[kept], self.sums[kept], self.distances[kept])

    def counted(self, own: Floats, k: float) -> Floats:
        """Return the weight with which each row counts, cut off where the total of a query reaches k."""
        if k == np.inf:
            return own
        counted, left = own.copy(), np.full(len(self.starts) - 1, k)
        for place in range(int(self.sizes.max(initial=0))):  # all queries at once, from the nearest row outwards
            which = np.flatnonzero(self.sizes > place)
            ids = self.starts[which] + place
            counted[ids] = np.minimum(own[ids], left[which])
            left[which] -= counted[ids]
        return counted


class NeighborSearch:
    """Exact search for the nearest rows; ties are returned in the order of the rows."""

    def __init__(self, combined: CombinedDistance, rows: RowLayout, weights: Floats | None = None) -> None:
        self.combined, self.rows = combined, rows
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self._tree: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tree": None}  # rebuilt on demand

    def __len__(self) -> int:
        return len(self.rows)

    def weights_of(self, ids: Indices) -> Floats:
        """Return the weights of some rows; 1 for each if the rows are unweighted."""
        return np.ones(len(ids)) if self.weights is None else self.weights[ids]

    def nearest(
        self,
        queries: RowLayout,
        k: float,
        radius: float = np.inf,
        *,
        weighted: bool = True,  # False counts each row as 1
        skip: Indices | None = None,  # a row to exclude for each query; -1 for none
        penalties: Floats | None = None,  # factor >= 1 on the sums of each row
        ties: bool = False,  # whether to return all rows at the distance of the last one
    ) -> FoundNeighbors:
        """Return the nearest rows of each query within the radius, until their total weight reaches k."""
        # slightly above the radius, because of rounding in the power; filtered exactly below
        limit = np.inf if radius == np.inf else self.combined.power(radius) * (1 + 1e-12)
        weights = self.weights if weighted else None
        if self._tree is None and len(queries):  # the tree is the same for any query
            _, right, between = self.combined.between(queries.slice(0, 1), self.rows)
            self._tree = _kernels.row_tree(right, between)

        def work(start: int, some: PairRows, rows: PairRows, metric: PairMetric) -> Any:
            excluded = None if skip is None else skip[start : start + len(some.numbers)]
            return _kernels.nearest(some, rows, metric, k, limit, weights, excluded, self._tree, penalties, ties)

        threads = 1 if len(queries) * len(self) < 1 << 18 else None
        shown = progress.current()
        parts = self.combined.over_blocks(queries, self.rows, _BLOCK, work, threads=threads, progress=shown)
        sizes = np.concatenate([[0], *(np.diff(part[0]) for part in parts)])
        ids = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        sums = np.concatenate([np.empty(0), *(part[2] for part in parts)])
        found = FoundNeighbors(np.cumsum(sizes), ids, sums, self.combined.root(sums))
        return found if radius == np.inf else found.only(found.distances <= radius)
