"""Bins of columns: the compiled steps in the order in which :func:`bin_columns` needs them, over threads.

Each column has a map from numbers to 4096 narrow buckets, made from a sample so that they hold about equally many
cells. The map decides how long things take and never what comes out:

1. All cells are counted by bucket. Now it is known in which buckets the values lie above which there are edges.
2. The cells of these few buckets are copied and sorted, except for a value that most of a bucket is made of, which is
   counted. Of the bucket that comes next the least cell is needed, as an edge lies midway to the next value.
3. Codes are written: a bucket knows the edges before it, and a number is compared with the few in its bucket.

A column for which the copies would be too many is sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from countwise._kernels import _native
from countwise._kernels.checks import check_columns, check_weights
from countwise._kernels.reference_bins import edges_between, edges_of
from countwise._kernels.threads import over_blocks, over_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

CELLS, BUCKETS, MOST_EDGES = 256, 4096, 512  # as in native/abi.h
SAMPLE = 4096
FEW_ROWS = 8192  # up to here sorting is faster
BLOCK, MOST_BLOCKS = 1 << 14, 16
MOST_COPIED = 0.25  # of a column's cells


class Map(NamedTuple):
    """How a column's numbers become buckets."""

    low: float
    scale: float
    cells: Array
    sample: Floats


class Slots(NamedTuple):
    """The buckets of a column that are looked into, from 1 on; 0 is for all others."""

    bucket: Array
    slot: Array
    wanted: Array
    common: Floats
    targets: Floats  # less the weight of what is not copied
    rooms: Array  # of each block


def bin_columns(
    columns: Sequence[Array], weights: Floats | None, n_bins: int
) -> tuple[list[Floats], list[NDArray[np.uint8]]]:
    """Columns of numbers as codes of bins that hold about equally many rows.

    Parameters
    ----------
    columns : list of column
    weights : float64 array or None
    n_bins : int

    Returns
    -------
    edges, codes
        As :func:`countwise._kernels.reference_bins.bin_columns` gives them.
    """
    if not 2 <= n_bins <= 255:
        raise ValueError(f"n_bins is {n_bins}; it must lie between 2 and 255")
    rows = len(columns[0]) if columns else 0
    check_columns(columns, rows)
    weights = None if weights is None else np.ascontiguousarray(check_weights(weights, rows))
    maps = over_items(columns, _map)
    if rows <= FEW_ROWS:
        edges = over_items(columns, lambda column: _sorted_edges(column, weights, n_bins))
    else:
        edges = _all_edges(columns, maps, weights, n_bins)
    return edges, _codes(columns, maps, edges)


def _map(column: Array) -> Map:
    step = max(1, len(column) // SAMPLE)
    sample = column[::step].astype(np.float64)
    sample = np.sort(sample[np.isfinite(sample)])
    low, high = (float(sample[0]), float(sample[-1])) if len(sample) else (0.0, 0.0)
    if low == high:
        low, high = low - abs(low) / 2 - 1, high + abs(high) / 2 + 1
    # Where the range is beyond what floats can hold, all are in one bucket.
    low, scale = (low, CELLS * 65536 / (high - low)) if 1e-300 < high - low < np.inf else (0.0, 0.0)
    counts = np.bincount(_places(sample, low, scale) >> 16, minlength=CELLS)[:CELLS]
    sizes = 1 + counts * (BUCKETS - CELLS) // max(1, len(sample))
    cells = np.empty(CELLS + 1, np.uint32)
    cells[:CELLS] = np.cumsum(sizes) - sizes | sizes << 16
    cells[CELLS] = BUCKETS
    return Map(low, scale, cells, sample)


def _places(x: Floats, low: float, scale: float) -> Array:
    with np.errstate(all="ignore"):
        return np.fmin(np.fmax((x - low) * scale, 0), CELLS * 65536 - 1).astype(np.int64)


def _buckets(x: Floats, column_map: Map) -> Array:
    """The buckets of numbers that are not NaN, exactly as the kernels find them."""
    places = _places(x, column_map.low, column_map.scale)
    cells = column_map.cells[places >> 16].astype(np.int64)
    return (cells & 0xFFFF) + ((places & 0xFFFF) * (cells >> 16) >> 16)


def _stacked(maps: Sequence[Map]) -> tuple[Floats, Array]:
    return np.array([[m.low, m.scale] for m in maps]).reshape(-1, 2), np.array(
        [m.cells for m in maps], np.uint32
    ).reshape(-1, CELLS + 1)


def _block(rows: int) -> int:
    """Rows in a block: a multiple of the kernels' tiles, whatever the number of threads."""
    return max(BLOCK, -(-rows // MOST_BLOCKS // 64) * 64)


def _sorted_edges(column: Array, weights: Floats | None, n_bins: int) -> Floats:
    x = column.astype(np.float64)
    there = ~np.isnan(x)
    x = x[there]
    if weights is None:
        x.sort()
    else:
        order = np.argsort(x, kind="stable")
        x, weights = x[order], weights[there][order]
    last = np.flatnonzero(np.append(x[1:] != x[:-1], True))[: len(x)]
    below = np.arange(1.0, len(x) + 1) if weights is None else np.cumsum(weights)
    return edges_of(x[last], below[last], n_bins)


def _all_edges(columns: Sequence[Array], maps: list[Map], weights: Floats | None, n_bins: int) -> list[Floats]:
    edges: list[Floats | None] = [None] * len(columns)
    doubtful = [j for j, m in enumerate(maps) if _distinct(m.sample) <= n_bins]
    for j, values in zip(doubtful, _few_values([columns[j] for j in doubtful], n_bins), strict=True):
        if values is not None:
            edges[j] = edges_between(values[:-1], values[1:])
    many = [j for j, mine in enumerate(edges) if mine is None]
    found = _many_edges([columns[j] for j in many], [maps[j] for j in many], weights, n_bins)
    for j, mine in zip(many, found, strict=True):
        edges[j] = mine
    return [mine for mine in edges if mine is not None]


def _distinct(ascending: Floats) -> int:
    return int(np.count_nonzero(ascending[1:] != ascending[:-1])) + min(1, len(ascending))


def _few_values(columns: list[Array], limit: int) -> list[Floats | None]:
    """The values of each column, ascending; None if there are more than `limit`."""
    if not columns:
        return []
    parts = over_blocks(
        len(columns[0]),
        _block(len(columns[0])),
        lambda a, b: _native.few_values([column[a:b] for column in columns], limit),
    )
    found: list[Floats | None] = []
    for mine in zip(*parts, strict=True):
        values = None if any(part is None for part in mine) else np.unique(np.concatenate(mine))
        found.append(None if values is None or len(values) > limit else values)
    return found


def _many_edges(columns: list[Array], maps: list[Map], weights: Floats | None, n_bins: int) -> list[Floats]:
    """The edges of columns of more than `n_bins` values."""
    if not columns:
        return []
    rows, block = len(columns[0]), _block(len(columns[0]))
    ranges, cells = _stacked(maps)
    counted = over_blocks(
        rows,
        block,
        lambda a, b: _native.bin_counts([column[a:b] for column in columns], _cut(weights, a, b), ranges, cells),
    )
    counts = np.stack([part[0] for part in counted])
    sums = counts.sum(axis=0, dtype=np.float64) if weights is None else np.sum([part[1] for part in counted], axis=0)
    slots = over_items(range(len(columns)), lambda j: _slots(maps[j], counts[:, j], sums[j], n_bins))
    lookable = [j for j, mine in enumerate(slots) if mine is not None]
    edges: list[Floats | None] = [None] * len(columns)
    looked = _collect(
        [columns[j] for j in lookable], [maps[j] for j in lookable], weights, [slots[j] for j in lookable]
    )
    for j, mine in zip(lookable, looked, strict=True):
        edges[j] = mine
    rest = [j for j, mine in enumerate(edges) if mine is None]
    for j, mine in zip(rest, over_items(rest, lambda j: _sorted_edges(columns[j], weights, n_bins)), strict=True):
        edges[j] = mine
    return [mine for mine in edges if mine is not None]


def _cut(weights: Floats | None, a: int, b: int) -> Floats | None:
    return None if weights is None else weights[a:b]


def _slots(column_map: Map, counts: Array, sums: Floats, n_bins: int) -> Slots | None:
    """Which buckets to look into; None if that is not worth it."""
    sums, rows = sums[:BUCKETS], counts[:, :BUCKETS].sum(axis=0)
    below = np.cumsum(sums)
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    there = np.flatnonzero(rows)
    hit = np.searchsorted(below[there], targets)
    wanted = np.zeros(len(there), bool)
    wanted[hit] = True
    looked = wanted | np.concatenate([[False], wanted[:-1]])
    bucket, wanted = there[looked], wanted[looked]
    common, share = _common(column_map, bucket)
    copied = np.minimum(rows[bucket], (rows[bucket] * (1 - share) * 1.25 + rows[bucket] / 16 * (share > 0))) * wanted
    if copied.sum() > MOST_COPIED * rows.sum():
        return None
    left_out = sums.copy()
    left_out[bucket[wanted]] = 0
    slot = np.zeros(BUCKETS + 1, np.uint16)
    slot[bucket] = np.arange(1, len(bucket) + 1)
    expected = copied / np.maximum(1, rows[bucket])
    rooms = (counts[:, bucket] * expected).sum(axis=1) * (1 + (share > 0).any()) + 64
    return Slots(
        bucket, slot, wanted, common, targets - np.cumsum(left_out)[there[hit]], np.ceil(rooms).astype(np.int64)
    )


def _common(column_map: Map, bucket: Array) -> tuple[Floats, Floats]:
    """The value that the sample met most often in each bucket and its share, if that is large; else NaN and 0."""
    sample = column_map.sample
    common, share = np.full(len(bucket), np.nan), np.zeros(len(bucket))
    starts = np.flatnonzero(np.concatenate([[True], sample[1:] != sample[:-1]]))[: len(sample)]
    sizes = np.diff(np.append(starts, len(sample)))
    often = sizes > 1
    if not often.any():
        return common, share
    values, sizes = sample[starts[often]], sizes[often]
    at = _buckets(values, column_map)
    all_of = np.bincount(_buckets(sample, column_map), minlength=BUCKETS)
    order = np.argsort(sizes, kind="stable")
    most, value = np.zeros(BUCKETS), np.full(BUCKETS, np.nan)
    value[at[order]], most[at[order]] = values[order], sizes[order]  # the last one written is the most frequent
    large = most[bucket] > all_of[bucket] / 4
    common[large] = value[bucket][large]
    share[large] = (most[bucket] / np.maximum(1, all_of[bucket]))[large]
    return common, share


def _collect(
    columns: list[Array], maps: list[Map], weights: Floats | None, slots: list[Slots | None]
) -> list[Floats | None]:
    """The edges that cells in the slots' buckets make; None where there were more cells than expected."""
    known = [mine for mine in slots if mine is not None]
    if not known:
        return []
    ranges, cells = _stacked(maps)
    width = 1 + max(len(mine.bucket) for mine in known)
    wanted, common = np.zeros((len(known), width), np.uint8), np.full((len(known), width), np.nan)
    for j, mine in enumerate(known):
        wanted[j, 1 : len(mine.wanted) + 1], common[j, 1 : len(mine.common) + 1] = mine.wanted, mine.common
    slot = np.stack([mine.slot for mine in known])
    block = _block(len(columns[0]))

    def collect(a: int, b: int) -> tuple[list[Floats | None], list[Floats], Floats, Floats]:
        rooms = [int(mine.rooms[a // block]) for mine in known]
        values, kept, counts, least, same = _native.bin_collect(
            [column[a:b] for column in columns], _cut(weights, a, b), ranges, cells, slot, wanted, common, rooms
        )
        cut = [v[:n] if n <= len(v) else None for v, n in zip(values, counts, strict=True)]
        return cut, [w[:n] for w, n in zip(kept, counts, strict=True)], least, same

    parts = over_blocks(len(columns[0]), block, collect)
    least = np.min([part[2] for part in parts], axis=0)
    same = np.sum([part[3] for part in parts], axis=0)

    def finish(j: int) -> Floats | None:
        values = [part[0][j] for part in parts]
        whole = [v for v in values if v is not None]
        if len(whole) < len(values):
            return None
        kept = None if weights is None else np.concatenate([part[1][j] for part in parts])
        return _edges_of(known[j], np.concatenate(whole), kept, least[j, 1:], same[j, 1:])

    return over_items(range(len(known)), finish)


def _edges_of(slots: Slots, values: Floats, weights: Floats | None, least: Floats, same: Floats) -> Floats:
    least, same = least[: len(slots.bucket)], same[: len(slots.bucket)]
    counted = slots.wanted & (slots.common == slots.common)
    extra = np.concatenate([slots.common[counted], least[~slots.wanted]])
    extra_weights = np.concatenate([same[counted], np.zeros(np.count_nonzero(~slots.wanted))])
    values = np.concatenate([values, extra])
    if weights is None:
        values.sort()
        cell_weights = np.ones(len(values))
        cell_weights[np.searchsorted(values, extra)] = extra_weights
    else:
        order = np.argsort(values, kind="stable")
        values, cell_weights = values[order], np.concatenate([weights, extra_weights])[order]
    below = np.cumsum(cell_weights)
    place = np.minimum(np.searchsorted(below, slots.targets), len(values) - 1)
    low = np.unique(values[place])
    after = np.searchsorted(values, low, side="right")
    low, after = low[after < len(values)], after[after < len(values)]
    return edges_between(low, values[after])


def _codes(columns: Sequence[Array], maps: list[Map], edges: list[Floats]) -> list[NDArray[np.uint8]]:
    rows = len(columns[0]) if columns else 0
    ranges, cells = _stacked(maps)
    first = np.empty((len(columns), BUCKETS + 1), np.uint8)
    padded = np.full((len(columns), MOST_EDGES), np.inf)
    steps = []
    for j, mine in enumerate(edges):
        inside = np.bincount(_buckets(mine, maps[j]), minlength=BUCKETS)
        first[j, :BUCKETS] = np.cumsum(inside) - inside
        first[j, BUCKETS] = len(mine) + 1
        padded[j, : len(mine)] = mine
        steps.append(int(inside.max()).bit_length())
    codes = [np.empty(rows, np.uint8) for _ in columns]
    over_blocks(
        rows,
        _block(rows),
        lambda a, b: _native.bin_codes(
            [column[a:b] for column in columns], ranges, cells, first, padded, steps, [code[a:b] for code in codes]
        ),
    )
    return codes
