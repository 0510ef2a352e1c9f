"""Equal-frequency bins of the numeric columns of an engine table, identical to those computed in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from countwise._kernels.bin_edges import edges_between
from countwise._typing import Floats, Indices
from countwise.data.frames import Frame
from countwise.engines import query as nw
from countwise.engines.prepared import Extent, Ready, code_of, numbers_in
from countwise.engines.relation import MOST_GROUPS

__all__ = ["Bins", "cut"]

Decode = Callable[[Frame], Indices]
_CELLS = 1 << 16  # number of grid cells into which the range of a column is divided
_BLOCK = 16  # adjacent cells that are queried as one group, if they are in the same bin
_FETCHED = 1 << 18  # maximum number of values or cells that are fetched instead of bins
_HEAVY = 1 << 16  # an interval with more rows is divided again before its values are fetched


def cut(ready: Ready, name: str, extent: Extent, n_bins: int, factors: Any = None) -> Bins:
    """Compute equal-frequency bins, with exactly the edges of `bin_columns` in memory.

    The range is divided into the cells of a grid. Cells that must contain an edge are divided into their values (or
    into a finer grid, if they have many rows), until the values on both sides of each edge are known. `factors` maps
    a column of targets to factors of the row weights.
    """
    if not extent.low < extent.high:
        return Bins(name, np.empty(0), 1)
    intervals = first = _in_cells(ready, name, extent.low, extent.high, factors)
    while True:
        last = _at_edges(intervals, n_bins)
        coarse = last[intervals.low[last] < intervals.high[last]]
        if not len(coarse):
            break
        intervals = _divided(ready, name, intervals, coarse, factors)
    last = last[last < len(intervals.low) - 1]
    known = bool((intervals.low == intervals.high).all())
    edges = edges_between(intervals.high[last], intervals.low[last + 1])
    return Bins(name, edges, len(intervals.low) if known else None, _BinCells(first, edges))


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of a numeric column."""

    name: str
    edges: Floats  # between the bins
    distinct: int | None  # number of distinct values, if known
    cells: _BinCells | None = None  # cells of the grid that was used to find the edges

    def keyed(self, plan: Any, times: int, *, gaps: bool, flat: bool) -> tuple[Any, list[str], Decode]:
        """Add key columns for a group-by; return the plan, their names and the function from keys to codes of bins.

        A bin may have several keys: fetching a few thousand cells, or the values themselves, is cheaper than
        computing the bin of each row in the engine. The engine computes the bins only if the result would be long,
        which depends on the number of combinations with other columns, `times`. If the column has missing values
        (`gaps`), their code is the number of bins. `flat` is for engines that are slow to plan many CASE expressions.
        """
        few = self.distinct is not None and self.distinct <= len(self.edges) + 1
        if few or (self.distinct is not None and self.distinct * times <= _FETCHED):
            return plan, [self.name], lambda found: self.codes(numbers_in(found, self.name))
        if self.cells is not None and self.cells.n_keys * times + self.cells.n_loose <= _FETCHED:
            return self.cells.keyed(plan, self)
        plan = plan.with_columns(cw_c=code_of(nw.col(self.name), self.edges, flat=flat))
        if gaps:
            missing = nw.col(self.name).is_null()
            plan = plan.with_columns(cw_c=nw.when(missing).then(len(self.edges) + 1).otherwise(nw.col("cw_c")))
        return plan, ["cw_c"], lambda found: numbers_in(found, "cw_c").astype(np.int64)

    def codes(self, numbers: Floats) -> Indices:
        """Return the code of the bin of each number; the number of bins for NaN."""
        found = np.searchsorted(self.edges, numbers)
        return np.where(np.isnan(numbers), len(self.edges) + 1, found)


class _BinCells:
    """The cells of a grid and their bins.

    A block of 16 adjacent cells in one bin is queried as one group. A cell that contains an edge is loose: it is
    queried by its values.
    """

    def __init__(self, intervals: _Intervals, edges: Floats) -> None:
        self.grid = _Grid(float(intervals.start[0]), float(intervals.stop[0]))
        self.cell, self.bin = intervals.cell, np.searchsorted(edges, intervals.low)
        above = np.searchsorted(edges, intervals.high)
        self.block, first = np.unique(np.floor(self.cell / _BLOCK), return_index=True)
        self.block_bin = self.bin[first]
        mixed = np.maximum.reduceat(above, first) > self.block_bin
        single = np.repeat(mixed, np.diff(first, append=len(self.cell)))
        loose = above > self.bin
        self.mixed, self.loose = self.block[mixed].tolist(), self.cell[loose].tolist()
        self.n_keys = int(np.count_nonzero(~mixed) + np.count_nonzero(single & ~loose))
        self.n_loose = int(intervals.rows[loose].sum())

    def keyed(self, plan: Any, bins: Bins) -> tuple[Any, list[str], Decode]:
        """Add key columns; see `Bins.keyed`. Keys of blocks are negative, those of cells are not."""
        x, cell, block = nw.col(bins.name), nw.col("cw_f"), nw.col("cw_b")
        plan = plan.with_columns(cw_f=self.grid.cell(x))
        plan = plan.with_columns(cw_b=(cell / _BLOCK).floor())
        key = nw.when(block.is_in(self.mixed)).then(cell).otherwise(-1.0 - block) if self.mixed else -1.0 - block
        plan = plan.with_columns(cw_c=key)
        if self.loose:
            plan = plan.with_columns(cw_x=nw.when(cell.is_in(self.loose)).then(x))

        def decode(found: Frame) -> Indices:
            keys = numbers_in(found, "cw_c")
            codes = np.full(found.n_rows, len(bins.edges) + 1)
            one, many = keys >= 0, keys < 0
            codes[one] = self.bin[np.searchsorted(self.cell, keys[one])]
            codes[many] = self.block_bin[np.searchsorted(self.block, -1.0 - keys[many])]
            if self.loose:
                values = numbers_in(found, "cw_x")
                codes = np.where(np.isnan(values), codes, bins.codes(values))
            return codes

        return plan, ["cw_c", "cw_x"] if self.loose else ["cw_c"], decode


def _divided(ready: Ready, name: str, intervals: _Intervals, coarse: Indices, factors: Any) -> _Intervals:
    """Divide coarse intervals: those with few rows into their values, others into cells."""
    heavy = intervals.rows[coarse] > _HEAVY
    fresh = [
        _in_cells(ready, name, float(intervals.low[i]), float(intervals.high[i]), factors)
        for i in coarse[heavy].tolist()
    ]
    light = coarse[~heavy]
    query = np.cumsum(intervals.rows[light]) // (MOST_GROUPS - _HEAVY)  # number of the query
    batches = np.stack([intervals.start[light], intervals.stop[light], query], axis=1)
    for batch in np.unique(batches, axis=0):
        some = intervals.take(light[(batches == batch).all(axis=1)])
        fresh.append(_values(ready, name, _Grid(float(batch[0]), float(batch[1])), some, factors))
    rest = np.setdiff1d(np.arange(len(intervals.low)), coarse)
    return _Intervals.joined([intervals.take(rest), *fresh])


def _in_cells(ready: Ready, name: str, low: float, high: float, factors: Any) -> _Intervals:
    """Return one interval for each cell of a grid from low to high."""
    x, grid = nw.col(name), _Grid(low, high)
    plan = ready.rows([name])
    plan = plan.filter((x >= low) & (x <= high)).with_columns(cw_c=grid.cell(x))
    return _fetched_intervals(ready, name, plan, grid, factors)


def _values(ready: Ready, name: str, grid: _Grid, some: _Intervals, factors: Any) -> _Intervals:
    """Return one interval for each value in some cells of a grid."""
    x = nw.col(name)
    plan = ready.rows([name]).filter((x >= float(some.low[0])) & (x <= float(some.high[-1])))
    plan = plan.with_columns(cw_c=grid.cell(x)).filter(nw.col("cw_c").is_in(some.cell.tolist()))
    return _fetched_intervals(ready, name, plan.with_columns(cw_c=x), grid, factors)


def _fetched_intervals(ready: Ready, name: str, plan: Any, grid: _Grid, factors: Any) -> _Intervals:
    """Return one interval for each value of the key `cw_c`."""
    x, target = nw.col(name), str(ready.relation.target)
    more = [x.min().alias("cw_l"), x.max().alias("cw_h")]
    if ready.relation.weights is not None:  # without weights, the weight is the number of rows
        more.append(nw.len().alias("cw_r"))
    found = ready.weighed(plan, ["cw_c"] if factors is None else ["cw_c", target], *more)
    cell, weight, low, high = (numbers_in(found, f"cw_{part}") for part in "cwlh")
    rows = weight if ready.relation.weights is None else numbers_in(found, "cw_r")
    if factors is not None:
        weight = weight * factors(found.columns[target])
    cells, place = np.unique(cell, return_inverse=True)
    n = len(cells)
    least, most = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(least, place, low)
    np.maximum.at(most, place, high)
    weights, counts = np.zeros(n), np.zeros(n)
    np.add.at(weights, place, weight)
    np.add.at(counts, place, rows)
    return _Intervals(least, most, weights, counts, cells, np.full(n, grid.low), np.full(n, grid.high))


class _Intervals(NamedTuple):
    """Intervals in ascending order, each from the least to the greatest value in it.

    Also their weights, their numbers of rows, their cells in a grid, and the start and the end of that grid.
    """

    low: Floats
    high: Floats
    weight: Floats
    rows: Floats
    cell: Floats
    start: Floats
    stop: Floats

    def take(self, which: Indices) -> _Intervals:
        return _Intervals(*(part[np.sort(which)] for part in self))

    @staticmethod
    def joined(parts: Sequence[_Intervals]) -> _Intervals:
        every = _Intervals(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        return _Intervals(*(part[np.argsort(every.low, kind="stable")] for part in every))


class _Grid(NamedTuple):
    """Cells of equal width from low to high."""

    low: float
    high: float

    def cell(self, x: Any) -> Any:
        """Return the cell of a number; despite rounding, a larger number is never in an earlier cell.

        The two ends are never in the same cell, so that a grid always divides its range.
        """
        low, high, unit = np.float64(self.low), np.float64(self.high), 1.0
        with np.errstate(over="ignore"):
            if not np.isfinite(high - low):
                unit = 0.25  # the difference exceeds the largest double
            elif not np.isfinite(_CELLS / (high - low)):
                unit = 2.0**600  # the difference is close to 0
            scale = float(_CELLS / (high * unit - low * unit))
        away = x - self.low if unit == 1.0 else x * unit - self.low * unit
        return (away * scale).floor()


def _at_edges(intervals: _Intervals, n_bins: int) -> Indices:
    """Return the intervals below an edge: all, if there are few; see `edges_of` of the kernels."""
    if len(intervals.low) <= n_bins:
        return np.arange(len(intervals.low))
    below = np.cumsum(intervals.weight)
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    return np.unique(np.minimum(np.searchsorted(below, targets), len(below) - 1))
