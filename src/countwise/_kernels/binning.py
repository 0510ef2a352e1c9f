"""Binning of columns: :func:`bin_columns` runs the compiled steps in order, on several threads.

Each column has a map from numbers to 4096 narrow buckets. The map is computed from a sample, so that all buckets hold
about the same number of values. It affects the running time but never the result.

1. Count all values by bucket. The counts determine which buckets contain a value that has an edge above it.
2. Copy the values of these few buckets. If one value makes up a large part of a bucket, it is counted instead of
   copied. From the next non-empty bucket only the smallest value is needed, because an edge lies midway to the next
   value. All other values get their codes in the same pass.
3. Sort the copied values, compute the edges, and assign codes to the copied values.

Columns with few distinct values, and columns in which several edges would follow the same value, get their codes in a
separate pass. A column of which too much would have to be copied is sorted instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from countwise._kernels import _native
from countwise._kernels.bin_edges import edges_between, edges_of
from countwise._kernels.checks import check_columns, check_weights
from countwise._kernels.threads import over_blocks, over_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

Item = TypeVar("Item")

CELLS, BUCKETS, MOST_EDGES = 256, 4096, 512  # as in native/support/abi.h
SAMPLE = 4096
FEW_ROWS = 8192  # sorting is faster up to this number
BLOCK, MOST_BLOCKS = 1 << 14, 16
MOST_COPIED = 1 / 6  # fraction of a column's values, at 12 bytes each


class Map(NamedTuple):
    """Map from the numbers of a column to buckets."""

    low: float
    scale: float
    cells: Array
    sample: Floats


class Slots(NamedTuple):
    """Buckets of a column that are examined, numbered from 1; slot 0 represents all other buckets."""

    slot: Array
    words: Array  # for each bucket the number of targets before it, plus 256 if it is examined
    wanted: Array  # for each slot whether it contains a target; if not, it follows a slot that does
    common: Floats
    targets: Floats  # minus the weight of the values that are not copied
    before: Array  # number of slots before a target's slot that are not wanted
    steps: int
    capacities: Array  # maximum number of copies in each block


def bin_columns(
    columns: Sequence[Array], weights: Floats | None, n_bins: int
) -> tuple[list[Floats], list[NDArray[np.uint8]]]:
    """Discretize columns; see :func:`countwise._kernels.reference.bins.bin_columns`."""
    if not 2 <= n_bins <= 255:
        raise ValueError(f"n_bins must be between 2 and 255, not {n_bins}.")
    rows = len(columns[0]) if columns else 0
    check_columns(columns, rows)
    weights = None if weights is None else np.ascontiguousarray(check_weights(weights, rows))
    maps = over_items(columns, _map)
    codes = [np.empty(rows, np.uint8) for _ in columns]
    if rows <= FEW_ROWS:
        edges = over_items(columns, lambda column: _sorted_edges(column, weights, n_bins))
        coded = [False] * len(columns)
    else:
        edges, coded = _all_edges(columns, maps, weights, n_bins, codes)
    rest = [j for j, done in enumerate(coded) if not done]
    _write_codes(_pick(columns, rest), _pick(maps, rest), _pick(edges, rest), _pick(codes, rest))
    return edges, codes


def _map(column: Array) -> Map:
    step = max(1, len(column) // SAMPLE)
    sample = column[::step].astype(np.float64)
    sample = np.sort(sample[np.isfinite(sample)])
    # Outliers fall into the first and the last bucket, so that they do not widen the other buckets.
    low, high = (float(sample[k]) for k in _ends(len(sample))) if len(sample) else (0.0, 0.0)
    if low == high:
        low, high = low - abs(low) / 2 - 1, high + abs(high) / 2 + 1
    # If the range exceeds the range of floats, all values are in one bucket.
    low, scale = (low, CELLS * 65536 / (high - low)) if 1e-300 < high - low < np.inf else (0.0, 0.0)
    counts = np.bincount(_places(sample, low, scale) >> 16, minlength=CELLS)[:CELLS]
    sizes = 1 + counts * (BUCKETS - CELLS) // max(1, len(sample))
    cells = np.empty(CELLS + 1, np.uint32)
    cells[:CELLS] = np.cumsum(sizes) - sizes | sizes << 16
    cells[CELLS] = BUCKETS
    return Map(low, scale, cells, sample)


def _ends(n: int) -> tuple[int, int]:
    """Return the positions in a sorted sample that bound its range, ignoring 1/500 of the sample at either end."""
    return n // 500, n - 1 - n // 500


def _places(x: Floats, low: float, scale: float) -> Array:
    with np.errstate(all="ignore"):
        return np.fmin(np.fmax((x - low) * scale, 0), CELLS * 65536 - 1).astype(np.int64)


def _buckets(x: Floats, column_map: Map) -> Array:
    """Return the bucket of each number (none is NaN), exactly as the kernels compute it."""
    places = _places(x, column_map.low, column_map.scale)
    cells = column_map.cells[places >> 16].astype(np.int64)
    return (cells & 0xFFFF) + ((places & 0xFFFF) * (cells >> 16) >> 16)


def _stacked(maps: Sequence[Map]) -> tuple[Floats, Array]:
    return np.array([[m.low, m.scale] for m in maps]).reshape(-1, 2), np.array(
        [m.cells for m in maps], np.uint32
    ).reshape(-1, CELLS + 1)


def _block(rows: int) -> int:
    """Return the number of rows in a block: a multiple of the kernels' tile size, for any number of threads."""
    return max(BLOCK, -(-rows // MOST_BLOCKS // 64) * 64)


def _sorted_edges(column: Array, weights: Floats | None, n_bins: int) -> Floats:
    x = column.astype(np.float64)
    if weights is None:
        x.sort()
        x = x[: len(x) - np.count_nonzero(np.isnan(x))]
    else:
        present = ~np.isnan(x)
        order = np.argsort(x[present])
        x, weights = x[present][order], weights[present][order]
    fresh = x[1:] != x[:-1]
    if weights is None and np.count_nonzero(fresh) >= n_bins:
        places = np.ceil(len(x) * np.arange(1.0, n_bins) / n_bins * (1 - 1e-12)).astype(np.int64) - 1
        return _edges_above(x, places)
    last = np.append(np.flatnonzero(fresh), len(x) - 1)[: len(x)]
    return edges_of(x[last], last + 1.0 if weights is None else np.cumsum(weights)[last], n_bins)


def _edges_above(ascending: Floats, places: Array) -> Floats:
    """Return the edges above the values at these positions."""
    low = ascending[places]
    low = low[np.append(True, low[1:] != low[:-1])]
    following = np.searchsorted(ascending, low, side="right")
    present = following < len(ascending)
    return edges_between(low[present], ascending[following[present]])


def _all_edges(
    columns: Sequence[Array], maps: list[Map], weights: Floats | None, n_bins: int, codes: list[NDArray[np.uint8]]
) -> tuple[list[Floats], list[bool]]:
    """Return the edges of each column, and whether its codes have been written."""
    edges: dict[int, Floats] = {}
    doubtful = [j for j, m in enumerate(maps) if _distinct(m.sample) <= n_bins]
    for j, values in zip(doubtful, _few_values(_pick(columns, doubtful), n_bins), strict=True):
        if values is not None:
            edges[j] = edges_between(values[:-1], values[1:])
    many = [j for j in range(len(columns)) if j not in edges]
    slots = _look(_pick(columns, many), _pick(maps, many), weights, n_bins)
    looked = [j for j, mine in zip(many, slots, strict=True) if mine is not None]
    known = [mine for mine in slots if mine is not None]
    found = _collect(_pick(columns, looked), _pick(maps, looked), _pick(codes, looked), weights, known)
    edges |= {j: mine[0] for j, mine in zip(looked, found, strict=True) if mine is not None}
    coded = {j for j, mine in zip(looked, found, strict=True) if mine is not None and mine[1]}
    rest = [j for j in many if j not in edges]
    by_sorting = over_items(rest, lambda j: _sorted_edges(columns[j], weights, n_bins))
    edges |= dict(zip(rest, by_sorting, strict=True))
    return [edges[j] for j in range(len(columns))], [j in coded for j in range(len(columns))]


def _pick(items: Sequence[Item], places: list[int]) -> list[Item]:
    return [items[j] for j in places]


def _distinct(ascending: Floats) -> int:
    return int(np.count_nonzero(ascending[1:] != ascending[:-1])) + min(1, len(ascending))


def _few_values(columns: list[Array], limit: int) -> list[Floats | None]:
    """Return the distinct values of each column in ascending order, or None if there are more than `limit`."""
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


def _look(columns: list[Array], maps: list[Map], weights: Floats | None, n_bins: int) -> list[Slots | None]:
    """Count all values by bucket, and select the buckets to examine in each column."""
    if not columns:
        return []
    ranges, cells = _stacked(maps)
    block = _block(len(columns[0]))
    blocks = -(-len(columns[0]) // block)
    counts = np.zeros((blocks, len(columns), BUCKETS + 1), np.uint32)
    summed = np.zeros((blocks, 0 if weights is None else len(columns), BUCKETS + 1))

    def count(a: int, b: int) -> None:
        k = a // block
        _native.bin_counts(
            [column[a:b] for column in columns], _cut(weights, a, b), ranges, cells, counts[k], summed[k]
        )

    over_blocks(len(columns[0]), block, count)
    rows = counts.sum(axis=0, dtype=np.float64)
    sums = rows if weights is None else summed.sum(axis=0)
    return [_slots(mine, counts[:, j], rows[j], sums[j], n_bins) for j, mine in enumerate(maps)]


def _cut(weights: Floats | None, a: int, b: int) -> Floats | None:
    return None if weights is None else weights[a:b]


def _slots(column_map: Map, counts: Array, rows: Floats, sums: Floats, n_bins: int) -> Slots | None:
    """Select the buckets to examine; return None if they are all empty or hold too many values."""
    present = np.flatnonzero(rows[:BUCKETS])
    if len(present) == 0:
        return None
    below = np.cumsum(sums[present])
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    hit = np.searchsorted(below, targets)
    times = np.bincount(hit, minlength=len(present))
    wanted = times > 0
    looked = wanted.copy()
    looked[1:] |= wanted[:-1]
    not_copied = np.cumsum(np.where(wanted, 0, sums[present]))[hit]
    before = np.cumsum(looked & ~wanted)[hit]
    bucket, wanted = present[looked], wanted[looked]
    common, proportion = _common(column_map, bucket)
    expected = wanted * np.minimum(1, np.where(proportion > 0, 1.25 * (1 - proportion) + 0.125, 1))
    if rows[bucket] @ expected > MOST_COPIED * rows[:BUCKETS].sum():
        return None
    slot = np.zeros(BUCKETS + 1, np.uint16)
    slot[bucket] = np.arange(1, len(bucket) + 1)
    words = np.zeros(BUCKETS + 1, np.uint16)
    words[1 + present] = times
    words = np.cumsum(words, dtype=np.uint16)
    words[BUCKETS] = n_bins
    words[bucket] += 256
    capacities = np.ceil(counts[:, bucket] @ expected).astype(np.int64)
    return Slots(slot, words, wanted, common, targets - not_copied, before, int(times.max()).bit_length(), capacities)


def _common(column_map: Map, bucket: Array) -> tuple[Floats, Floats]:
    """Return the most frequent sample value of each bucket and its proportion if that is large, else NaN and 0."""
    sample = column_map.sample
    common, proportion = np.full(len(bucket), np.nan), np.zeros(len(bucket))
    fresh = sample[1:] != sample[:-1]
    if fresh.all():
        return common, proportion
    starts = np.flatnonzero(np.append(True, fresh))
    sizes = np.diff(np.append(starts, len(sample)))
    often = sizes > 1
    values, sizes = sample[starts[often]], sizes[often]
    at = _buckets(values, column_map)
    all_of = np.bincount(_buckets(sample, column_map), minlength=BUCKETS)
    order = np.argsort(sizes, kind="stable")
    most, value = np.zeros(BUCKETS), np.full(BUCKETS, np.nan)
    value[at[order]], most[at[order]] = values[order], sizes[order]  # the last value written is the most frequent
    large = most[bucket] > all_of[bucket] / 4
    common[large] = value[bucket][large]
    proportion[large] = (most[bucket] / np.maximum(1, all_of[bucket]))[large]
    return common, proportion


def _collect(
    columns: list[Array],
    maps: list[Map],
    codes: list[NDArray[np.uint8]],
    weights: Floats | None,
    slots: list[Slots],
) -> list[tuple[Floats, bool] | None]:
    """Return each column's edges and whether its codes are written; None if the copies exceeded their capacity."""
    if not columns:
        return []
    ranges, cells = _stacked(maps)
    wanted, common = _side_by_side(slots)
    words, slot = np.stack([mine.words for mine in slots]), np.stack([mine.slot for mine in slots])
    block = _block(len(columns[0]))
    parts = over_blocks(
        len(columns[0]),
        block,
        lambda a, b: _native.bin_collect(
            [column[a:b] for column in columns],
            _cut(weights, a, b),
            ranges,
            cells,
            words,
            slot,
            wanted,
            common,
            [int(mine.capacities[a // block]) for mine in slots],
            [code[a:b] for code in codes],
        ),
    )
    least = np.min([part[1] for part in parts], axis=0)
    same = np.sum([part[2] for part in parts], axis=0)

    def finish(j: int) -> tuple[Floats, bool] | None:
        copies = [part[0][j] for part in parts]
        whole = [copy for copy in copies if copy is not None]
        if len(whole) < len(copies):
            return None
        mine = slots[j]
        kept = None if weights is None else np.concatenate([copy[2] for copy in whole])
        edges = _edges_of(mine, np.concatenate([copy[0] for copy in whole]), kept, least[j, 1:], same[j, 1:])
        if len(edges) < len(mine.targets) or np.any(mine.common == mine.common):
            return edges, False
        padded = np.append(edges, np.full(MOST_EDGES - len(edges), np.inf))
        for k, (values, rows, _) in enumerate(whole):
            _native.bin_amend(values, rows, padded, mine.steps, codes[j][k * block : (k + 1) * block])
        return edges, True

    return over_items(range(len(slots)), finish)


def _side_by_side(slots: list[Slots]) -> tuple[NDArray[np.uint8], Floats]:
    """Stack the `wanted` flags and the common values of all columns; the first entry of each row is slot 0."""
    width = 1 + max(len(mine.wanted) for mine in slots)
    wanted, common = np.zeros((len(slots), width), np.uint8), np.full((len(slots), width), np.nan)
    for j, mine in enumerate(slots):
        wanted[j, 1 : len(mine.wanted) + 1], common[j, 1 : len(mine.common) + 1] = mine.wanted, mine.common
    return wanted, common


def _edges_of(slots: Slots, values: Floats, weights: Floats | None, least: Floats, same: Floats) -> Floats:
    """Return the edges, given the copied values, and the smallest value and common value's weight of each slot."""
    least, same = least[: len(slots.wanted)], same[: len(slots.wanted)]
    counted = slots.wanted & (slots.common == slots.common)
    after = least[~slots.wanted]
    values = np.concatenate([values, after, slots.common[counted]])
    if weights is None and not counted.any():
        values.sort()
        return _edges_above(values, np.ceil(slots.targets).astype(np.int64) - 1 + slots.before)
    if weights is None:
        values.sort()
        cell_weights = np.ones(len(values))
        cell_weights[np.searchsorted(values, after)] = 0
        cell_weights[np.searchsorted(values, slots.common[counted])] = same[counted]
    else:
        order = np.argsort(values)
        values = values[order]
        cell_weights = np.concatenate([weights, np.zeros(len(after)), same[counted]])[order]
    place = np.minimum(np.searchsorted(np.cumsum(cell_weights), slots.targets), len(values) - 1)
    return _edges_above(values, place)


def _write_codes(columns: list[Array], maps: list[Map], edges: list[Floats], codes: list[NDArray[np.uint8]]) -> None:
    if not columns:
        return
    ranges, cells = _stacked(maps)
    words = np.empty((len(columns), BUCKETS + 1), np.uint16)
    padded = np.full((len(columns), MOST_EDGES), np.inf)
    steps = []
    for j, mine in enumerate(edges):
        inside = np.bincount(_buckets(mine, maps[j]), minlength=BUCKETS)
        words[j, :BUCKETS] = np.cumsum(inside) - inside + 256 * (inside > 0)
        words[j, BUCKETS] = len(mine) + 1
        padded[j, : len(mine)] = mine
        steps.append(int(inside.max()).bit_length())
    over_blocks(
        len(columns[0]),
        _block(len(columns[0])),
        lambda a, b: _native.bin_codes(
            [column[a:b] for column in columns], ranges, cells, words, padded, steps, [code[a:b] for code in codes]
        ),
    )
