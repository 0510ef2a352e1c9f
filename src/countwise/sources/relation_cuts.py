"""Where numbers of a relation are cut into bins that hold about equally many rows, exactly as in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._kernels.reference_bins import edges_between
from countwise.sources.relation import MOST_GROUPS
from countwise.sources.relation_levels import Extent, Ready, numbers_in

__all__ = ["cut"]

Floats = NDArray[np.float64]
_CELLS = 1 << 16  # into which the range of a number is parted
_HEAVY = 1 << 16  # rows of a piece whose values are not fetched before it is parted again


def cut(ready: Ready, name: str, extent: Extent, n_bins: int, factors: Any = None) -> tuple[Floats, int | None]:
    """The edges of bins that hold about equally many rows, exactly those of `bin_columns` in memory.

    The range is parted into cells, and those in which an edge must lie into their values (or, where these are
    very many, into cells again), until the values on both sides of each edge are known.

    Parameters
    ----------
    ready : Ready
        The relation.
    name : str
        A column of numbers.
    extent : Extent
        Where they lie.
    n_bins : int
        How many bins.
    factors : callable, optional
        Gives, of a column of targets, what each row's weight is multiplied by.

    Returns
    -------
    edges : ndarray
    distinct : int or None
        How many values there are, if it is known.
    """
    if not extent.low < extent.high:
        return np.empty(0), 1
    pieces = _in_cells(ready, name, extent.low, extent.high, factors)
    while True:
        last = _at_edges(pieces, n_bins)
        vague = last[pieces.low[last] < pieces.high[last]]
        if not len(vague):
            break
        pieces = _parted(ready, name, pieces, vague, factors)
    last = last[last < len(pieces.low) - 1]
    known = bool((pieces.low == pieces.high).all())
    return edges_between(pieces.high[last], pieces.low[last + 1]), len(pieces.low) if known else None


def _parted(ready: Ready, name: str, pieces: _Pieces, vague: NDArray[np.int64], factors: Any) -> _Pieces:
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
    import narwhals.stable.v2 as nw

    x, grid = nw.col(name), _Grid(low, high)
    plan = ready.rows([name])
    plan = plan.filter((x >= low) & (x <= high)).with_columns(cw_c=grid.cell(x))
    return _answered(ready, name, plan, grid, factors)


def _values(ready: Ready, name: str, grid: _Grid, some: _Pieces, factors: Any) -> _Pieces:
    """The values in some cells of a grid, each a piece."""
    import narwhals.stable.v2 as nw

    x = nw.col(name)
    plan = ready.rows([name]).filter((x >= float(some.low[0])) & (x <= float(some.high[-1])))
    plan = plan.with_columns(cw_c=grid.cell(x)).filter(nw.col("cw_c").is_in(some.cell.tolist()))
    return _answered(ready, name, plan.with_columns(cw_c=x), grid, factors)


def _answered(ready: Ready, name: str, plan: Any, grid: _Grid, factors: Any) -> _Pieces:
    """A piece for each `cw_c`."""
    import narwhals.stable.v2 as nw

    x, target = nw.col(name), str(ready.relation.target)
    ends = [x.min().alias("cw_l"), x.max().alias("cw_h"), nw.len().alias("cw_r")]
    found = ready.weighed(plan, ["cw_c"] if factors is None else ["cw_c", target], *ends)
    cell, weight, low, high, rows = (numbers_in(found, f"cw_{part}") for part in "cwlhr")
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

    def take(self, which: NDArray[np.int64]) -> _Pieces:
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
        import narwhals.stable.v2 as nw

        low, high = np.float64(self.low), np.float64(self.high)
        with np.errstate(over="ignore"):
            small = 1.0 if np.isfinite(high - low) else 0.25  # the whole range of doubles is no double
            scale = float(_CELLS / (high * small - low * small))
        if not np.isfinite(scale):  # next to 0
            return nw.when(x < self.high).then(0.0).otherwise(1.0)
        away = x - self.low if small == 1.0 else x * small - self.low * small
        return (away * scale).floor()


def _at_edges(pieces: _Pieces, n_bins: int) -> NDArray[np.int64]:
    """The pieces above which an edge lies: all, if there are few; see `edges_of` of the kernels."""
    if len(pieces.low) <= n_bins:
        return np.arange(len(pieces.low))
    below = np.cumsum(pieces.weight)
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    return np.unique(np.minimum(np.searchsorted(below, targets), len(below) - 1))
