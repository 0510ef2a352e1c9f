"""NumPy sums of product kernels over several columns; part of :mod:`countwise._kernels.reference`.

A product kernel is a product of one factor for each column. A factor is at most 1; the caller applies the normalizing
constants. For the query's value q, the point's value x and the column's two scales a and b, the factors are:

===  ============  ==================================  ===================
0    Gaussian      exp(-((q - x) / a)**2 / 2)          a is the bandwidth
1    Epanechnikov  max(0, 1 - ((q - x) / a)**2)        a is the bandwidth
2    uniform       1 if abs(q - x) <= a else 0         a is the bandwidth
3    nominal       exp(a) if q == x else exp(b)        a, b <= 0, or -inf
4    ordinal       exp(a * abs(q - x)), 1 if q == x    a <= 0, or -inf
===  ============  ==================================  ===================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_array, check_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = ["product_boxes", "product_log_sums", "product_order"]

GAUSSIAN, EPANECHNIKOV, UNIFORM, NOMINAL, ORDINAL = range(5)

_LEAF = 64  # points in a leaf
_BLOCK = 1 << 21  # elements of a temporary array: 16 MB
_LEAST_BANDWIDTH = 1e-300  # the inverse is finite


def product_order(points: Floats, kinds: Array, scales: Floats) -> NDArray[np.int64]:
    """Return a permutation (int64) of the points such that each leaf of 64 consecutive points is compact.

    The points (points, columns) are split in two along the column in which the log kernel decreases most over the
    range of the values. Each part is split again, down to leaves; all leaves but the last are full. Equal values keep
    the order of their rows, and missing values come last. The order does not affect the sums, but compact leaves make
    them faster.
    """
    _check_kernel(kinds, scales)
    _check_table("points", points, len(kinds))
    return _split(points, kinds, scales, np.arange(len(points)))


def _split(points: Floats, kinds: Array, scales: Floats, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows, given in ascending order, in the order of their leaves."""
    leaves = -(-len(rows) // _LEAF)
    if leaves < 2:
        return rows
    falls = [_fall(points[rows, j], kinds[j], scales[j, 0], scales[j, 1]) for j in range(len(kinds))]
    if not falls or max(falls) <= 0:
        return rows
    keys = points[rows, int(np.argmax(falls))]
    keys = np.where(np.isnan(keys), np.inf, keys)
    ranked = rows[np.argsort(keys, kind="stable")]
    half = leaves // 2 * _LEAF
    parts = (_split(points, kinds, scales, np.sort(part)) for part in (ranked[:half], ranked[half:]))
    return np.concatenate(list(parts))


def _fall(cells: Floats, kind: int, a: float, b: float) -> float:
    """Return how much the log of the factor decreases over the range of the values."""
    cells = cells[~np.isnan(cells)]
    low, high = (cells.min(), cells.max()) if len(cells) else (0.0, 0.0)
    if not high > low:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == NOMINAL:
            return float(abs(a - b)) if a != b else 0.0
        if kind == ORDINAL:
            return float((high - low) * -a) if a < 0 else 0.0
        return float(((high - low) / a) ** 2 * 0.5)


def product_boxes(points: Floats, log_weights: Floats | None) -> Floats:
    """Return the bounding boxes of the leaves of 64 consecutive points: (2 * columns + 1, leaves).

    A box has the smallest and the largest value of each column, or minus and plus infinity if a value is missing, and
    then the log of the leaf's weight. Points are in the order of :func:`product_order`, and finite or NaN (missing).
    Log weights of None are all 0; a point with a log weight of minus infinity is ignored. :func:`product_log_sums`
    uses the boxes.
    """
    _check_table("points", points, None)
    n, columns = points.shape
    if np.any(np.isinf(points)):
        raise ValueError("points must be finite or NaN (missing).")
    weights = _weights_of(log_weights, n)
    if not np.all(weights < np.inf):
        raise ValueError("log_weights must be below infinity and not NaN.")
    starts = np.arange(0, n, _LEAF)
    boxes = np.empty((2 * columns + 1, len(starts)))
    if len(starts) == 0:
        return boxes
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    boxes[0:-1:2] = np.where(np.isnan(low), -np.inf, low).T
    boxes[1:-1:2] = np.where(np.isnan(high), np.inf, high).T
    boxes[-1] = np.logaddexp.reduceat(weights, starts)
    return boxes


def product_log_sums(
    points: Floats,
    log_weights: Floats | None,
    boxes: Floats,
    kinds: Array,
    scales: Floats,
    queries: Floats,
    absent: Floats | None,
    own: NDArray[np.int64] | None,
    rest: Floats | None,
    tolerance: float,
) -> Floats:
    """Return the log of the weighted sum of product kernels at each query; minus infinity if all kernels are 0.

    `points`, `log_weights` and `boxes` are as in :func:`product_boxes`. The module docstring describes `kinds`
    (uint8) and `scales` (columns, 2); bandwidths are finite and at least 1e-300. Queries (queries, columns) may have
    any order; that of :func:`product_order` is the fastest. A column that is missing in the query has a factor of 1.
    A column that is missing only in the point has the factor exp(`absent`), where `absent` (queries, columns) is at
    most 0, or None for 0. `own` (int64) is the index of the point that is the query itself, or -1. `rest` is the log
    weight used for that point instead of its own; minus infinity excludes it. `tolerance` is the relative error
    allowed in each sum; the NumPy version is exact.
    """
    _check_kernel(kinds, scales)
    _check_table("points", points, len(kinds))
    _check_table("queries", queries, len(kinds))
    weights = _weights_of(log_weights, len(points))
    _check_boxes(boxes, len(points), len(kinds))
    missing = _check_absent(absent, queries)
    _check_own(own, rest, len(points), len(queries))
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be at least 0 and below 1.")
    logs = np.empty(len(queries))
    step = max(1, _BLOCK // max(len(points), 1))
    for start in range(0, len(queries), step):
        here = slice(start, start + step)
        sums = np.tile(weights, (len(queries[here]), 1))
        if own is not None and rest is not None:
            mine = np.flatnonzero(own[here] >= 0)
            sums[mine, own[here][mine]] = rest[here][mine]
        logs[here] = _block(points, kinds, scales, queries[here], missing[here], sums)
    return logs


def _block(points: Floats, kinds: Array, scales: Floats, queries: Floats, missing: Floats, sums: Floats) -> Floats:
    """Return the log sums of a few queries; `sums`, the log weights (queries, points), is overwritten."""
    values = np.ones_like(sums)  # factors that may be 0 near the point are multiplied, not added as logs
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for j, (kind, (a, b)) in enumerate(zip(kinds, scales, strict=True)):
            q, x = queries[:, j, None], points[None, :, j]
            logs, factors = _factors(kind, a, b, q, x)
            observed = ~np.isnan(q)
            sums += np.where(observed, np.where(np.isnan(x), missing[:, j, None], logs), 0.0)
            values *= np.where(observed & ~np.isnan(x), factors, 1.0)
        sums[values == 0] = -np.inf
        top = sums.max(axis=1, initial=-np.inf)
        top[top == -np.inf] = 0.0
        total = (np.exp(sums - top[:, None]) * values).sum(axis=1)
    with np.errstate(divide="ignore"):
        return top + np.log(total)


def _factors(kind: int, a: float, b: float, q: Floats, x: Floats) -> tuple[Array | float, Array | float]:
    """Return the logs of a column's factors, and the numbers to multiply their exponentials by."""
    if kind == GAUSSIAN:
        return -0.5 * ((q - x) / a) ** 2, 1.0
    if kind == EPANECHNIKOV:
        z = np.abs(q - x) / a
        return 0.0, np.where(z < 1, (1 - z) * (1 + z), 0.0)  # 1 - z**2 would cancel near the edge
    if kind == UNIFORM:
        return 0.0, np.where(np.abs(q - x) <= a, 1.0, 0.0)
    if kind == NOMINAL:
        return np.where(q == x, a, b), 1.0
    return np.where((q == x) | (a == 0), 0.0, a * np.abs(q - x)), 1.0


# Argument checks


def _check_kernel(kinds: Array, scales: Floats) -> None:
    check_array("kinds", kinds, "uint8", 1)
    if np.any(kinds > ORDINAL):
        raise ValueError(f"kinds contains {kinds.max()}; kinds must be between 0 and {ORDINAL}.")
    _check_table("scales", scales, 2)
    check_rows("scales", len(scales), len(kinds))
    for j, (kind, (a, b)) in enumerate(zip(kinds, scales, strict=True)):
        if kind < NOMINAL and not _LEAST_BANDWIDTH <= a < np.inf:
            raise ValueError(f"Column {j} has bandwidth {a}; it must be finite and at least {_LEAST_BANDWIDTH}.")
        if kind >= NOMINAL and not (a <= 0 and (kind == ORDINAL or b <= 0)):
            raise ValueError(f"Column {j} has scales {a} and {b}; they must be at most 0.")


def _check_table(name: str, table: Floats, columns: int | None) -> None:
    check_array(name, table, "float64", 2)
    if columns is not None and table.shape[1] != columns:
        raise ValueError(f"{name} has {table.shape[1]} columns; {columns} are needed.")


def _check_vector(name: str, x: Array, dtype: str, rows: int) -> None:
    check_array(name, x, dtype, 1)
    check_rows(name, len(x), rows)


def _weights_of(log_weights: Floats | None, n: int) -> Floats:
    if log_weights is None:
        return np.zeros(n)
    _check_vector("log_weights", log_weights, "float64", n)
    return log_weights


def _check_boxes(boxes: Floats, n: int, columns: int) -> None:
    _check_table("boxes", boxes, None)
    needed = 2 * columns + 1, -(-n // _LEAF)
    if boxes.shape != needed:
        raise ValueError(f"boxes has shape {boxes.shape}; it needs {needed}.")


def _check_absent(absent: Floats | None, queries: Floats) -> Floats:
    if absent is None:
        return np.zeros_like(queries)
    _check_table("absent", absent, queries.shape[1])
    check_rows("absent", len(absent), len(queries))
    if not np.all(absent <= 0):
        raise ValueError("absent must be at most 0.")
    return absent


def _check_own(own: NDArray[np.int64] | None, rest: Floats | None, n: int, queries: int) -> None:
    if (own is None) != (rest is None):
        raise ValueError("own and rest must both be given, or neither.")
    if own is None or rest is None:
        return
    _check_vector("own", own, "int64", queries)
    _check_vector("rest", rest, "float64", queries)
    if np.any((own < -1) | (own >= n)):
        raise ValueError(f"own must be the index of one of the {n} points, or -1.")
    if not np.all(rest < np.inf):
        raise ValueError("rest must be below infinity and not NaN.")
