"""Where numbers of a relation are cut into bins that hold about equally many rows, exactly as in memory."""

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
_CELLS = 1 << 16  # into which the range of a number is parted
_BLOCK = 16  # neighboring cells that are asked for as one, where they are in one bin
_FETCHED = 1 << 18  # values or cells that are fetched at most instead of bins
_HEAVY = 1 << 16  # rows of a piece whose values are not fetched before it is parted again


def cut(ready: Ready, name: str, extent: Extent, n_bins: int, factors: Any = None) -> Bins:
    """Bins that hold about equally many rows, with exactly the edges of `bin_columns` in memory.

    The range is parted into cells, and those in which an edge must lie into their values (or, where these are
    very many, into cells again), until the values on both sides of each edge are known. `factors` gives, of a column
    of targets, what each row's weight is multiplied by.
    """
    if not extent.low < extent.high:
        return Bins(name, np.empty(0), 1)
    pieces = first = _in_cells(ready, name, extent.low, extent.high, factors)
    while True:
        last = _at_edges(pieces, n_bins)
        vague = last[pieces.low[last] < pieces.high[last]]
        if not len(vague):
            break
        pieces = _parted(ready, name, pieces, vague, factors)
    last = last[last < len(pieces.low) - 1]
    known = bool((pieces.low == pieces.high).all())
    edges = edges_between(pieces.high[last], pieces.low[last + 1])
    return Bins(name, edges, len(pieces.low) if known else None, _BinCells(first, edges))


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """A column of numbers in bins."""

    name: str
    edges: Floats  # between the bins
    distinct: int | None  # how many values there are, if it is known
    cells: _BinCells | None = None  # of the grid by which the edges were found

    def keyed(self, plan: Any, times: int, *, gaps: bool, flat: bool) -> tuple[Any, list[str], Decode]:
        """A plan with columns that tell the bins apart, their names, and how their values are read as codes of bins.

        There need not be one value a bin: it is cheaper to fetch a few thousand cells, or the values themselves, than
        to let an engine find the bin of each row. Only where an answer would be long does it find them: the bins are
        asked for with `times` combinations of other columns. With gaps, the code of a missing cell is the number of
        bins. An engine is asked flat if it is slow to plan many whens.
        """
        few = self.distinct is not None and self.distinct <= len(self.edges) + 1
        if few or (self.distinct is not None and self.distinct * times <= _FETCHED):
            return plan, [self.name], lambda found: self.codes(numbers_in(found, self.name))
        if self.cells is not None and self.cells.n_keys * times + self.cells.n_loose <= _FETCHED:
            return self.cells.keyed(plan, self)
        plan = plan.with_columns(cw_c=code_of(nw.col(self.name), self.edges, flat=flat))
        if gaps:
            lost = nw.col(self.name).is_null()
            plan = plan.with_columns(cw_c=nw.when(lost).then(len(self.edges) + 1).otherwise(nw.col("cw_c")))
        return plan, ["cw_c"], lambda found: numbers_in(found, "cw_c").astype(np.int64)

    def codes(self, numbers: Floats) -> Indices:
        """How many edges lie below each number; one more than there are for NaN."""
        found = np.searchsorted(self.edges, numbers)
        return np.where(np.isnan(numbers), len(self.edges) + 1, found)


class _BinCells:
    """The cells of a grid, and which bin each lies in.

    Sixteen neighbors in one bin are asked for as one; a cell in which an edge lies is loose, and asked for by values.
    """

    def __init__(self, pieces: _Pieces, edges: Floats) -> None:
        self.grid = _Grid(float(pieces.start[0]), float(pieces.stop[0]))
        self.cell, self.bin = pieces.cell, np.searchsorted(edges, pieces.low)
        above = np.searchsorted(edges, pieces.high)
        self.block, first = np.unique(np.floor(self.cell / _BLOCK), return_index=True)
        self.block_bin = self.bin[first]
        mixed = np.maximum.reduceat(above, first) > self.block_bin
        single = np.repeat(mixed, np.diff(first, append=len(self.cell)))
        loose = above > self.bin
        self.mixed, self.loose = self.block[mixed].tolist(), self.cell[loose].tolist()
        self.n_keys = int(np.count_nonzero(~mixed) + np.count_nonzero(single & ~loose))
        self.n_loose = int(pieces.rows[loose].sum())

    def keyed(self, plan: Any, bins: Bins) -> tuple[Any, list[str], Decode]:
        """See `Bins`: blocks are below 0, cells are not, and values stand in a column of their own."""
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


def _parted(ready: Ready, name: str, pieces: _Pieces, vague: Indices, factors: Any) -> _Pieces:
    """The pieces with some of them parted: light ones into their values, heavy ones into cells."""
    heavy = pieces.rows[vague] > _HEAVY
    fresh = [
        _in_cells(ready, name, float(pieces.low[i]), float(pieces.high[i]), factors) for i in vague[heavy].tolist()
    ]
    light = vague[~heavy]
    turn = np.cumsum(pieces.rows[light]) // (MOST_GROUPS - _HEAVY)  # what is fetched together
    batches = np.stack([pieces.start[light], pieces.stop[light], turn], axis=1)
    for batch in np.unique(batches, axis=0):
        some = pieces.take(light[(batches == batch).all(axis=1)])
        fresh.append(_values(ready, name, _Grid(float(batch[0]), float(batch[1])), some, factors))
    rest = np.setdiff1d(np.arange(len(pieces.low)), vague)
    return _Pieces.joined([pieces.take(rest), *fresh])


def _in_cells(ready: Ready, name: str, low: float, high: float, factors: Any) -> _Pieces:
    """The numbers from one to another in pieces, one for each cell of a grid."""
    x, grid = nw.col(name), _Grid(low, high)
    plan = ready.rows([name])
    plan = plan.filter((x >= low) & (x <= high)).with_columns(cw_c=grid.cell(x))
    return _answered(ready, name, plan, grid, factors)


def _values(ready: Ready, name: str, grid: _Grid, some: _Pieces, factors: Any) -> _Pieces:
    """The values in some cells of a grid, each a piece."""
    x = nw.col(name)
    plan = ready.rows([name]).filter((x >= float(some.low[0])) & (x <= float(some.high[-1])))
    plan = plan.with_columns(cw_c=grid.cell(x)).filter(nw.col("cw_c").is_in(some.cell.tolist()))
    return _answered(ready, name, plan.with_columns(cw_c=x), grid, factors)


def _answered(ready: Ready, name: str, plan: Any, grid: _Grid, factors: Any) -> _Pieces:
    """A piece for each `cw_c`."""
    x, target = nw.col(name), str(ready.relation.target)
    more = [x.min().alias("cw_l"), x.max().alias("cw_h")]
    if ready.relation.weights is not None:  # without them the weight is how many rows there are
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
    return _Pieces(least, most, weights, counts, cells, np.full(n, grid.low), np.full(n, grid.high))


class _Pieces(NamedTuple):
    """Ranges in ascending order, each from the least to the greatest value in it.

    Their weights, how many rows they have, which cell of a grid each is, and where that grid starts and stops.
    """

    low: Floats
    high: Floats
    weight: Floats
    rows: Floats
    cell: Floats
    start: Floats
    stop: Floats

    def take(self, which: Indices) -> _Pieces:
        return _Pieces(*(part[np.sort(which)] for part in self))

    @staticmethod
    def joined(parts: Sequence[_Pieces]) -> _Pieces:
        every = _Pieces(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        return _Pieces(*(part[np.argsort(every.low, kind="stable")] for part in every))


class _Grid(NamedTuple):
    """The numbers from one to another in cells of one width."""

    low: float
    high: float

    def cell(self, x: Any) -> Any:
        """In which cell a number lies: whatever the rounding, of two numbers the larger is never before.

        The two ends are never in one cell, so that a grid parts what it is laid on.
        """
        low, high, unit = np.float64(self.low), np.float64(self.high), 1.0
        with np.errstate(over="ignore"):
            if not np.isfinite(high - low):
                unit = 0.25  # the whole range of doubles is no double
            elif not np.isfinite(_CELLS / (high - low)):
                unit = 2.0**600  # next to 0
            scale = float(_CELLS / (high * unit - low * unit))
        away = x - self.low if unit == 1.0 else x * unit - self.low * unit
        return (away * scale).floor()


def _at_edges(pieces: _Pieces, n_bins: int) -> Indices:
    """The pieces above which an edge lies: all, if there are few; see `edges_of` of the kernels."""
    if len(pieces.low) <= n_bins:
        return np.arange(len(pieces.low))
    below = np.cumsum(pieces.weight)
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    return np.unique(np.minimum(np.searchsorted(below, targets), len(below) - 1))
