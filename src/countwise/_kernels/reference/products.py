"""Sums of product kernels over many columns, in NumPy; a part of :mod:`countwise._kernels.reference`.

A kernel is a product over columns, of factors that are 1 at most and leave normalizing constants to the caller.
With q the cell of the query, x that of the point and a, b the two scales of the column they are, by kind:

===  ============  ==================================  =======================
0    Gaussian      exp(-((q - x) / a)**2 / 2)          a is a width
1    Epanechnikov  max(0, 1 - ((q - x) / a)**2)        a is a width
2    uniform       1 if abs(q - x) <= a else 0         a is a width
3    nominal       exp(a) if q == x else exp(b)        a, b <= 0, or -inf
4    ordinal       exp(a * abs(q - x)), 1 if q == x    a <= 0, or -inf
===  ============  ==================================  =======================
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

_LEAF = 64  # points
_BLOCK = 1 << 21  # cells of a temporary: 16 MB
_LEAST_WIDTH = 1e-300  # its inverse is still a number


def product_order(points: Floats, kinds: Array, scales: Floats) -> NDArray[np.int64]:
    """An order of the points in which leaves of 64 consecutive ones are near each other, as a permutation (int64).

    The points (points, columns) are split in two along the column in which the kernel falls most from one end to the
    other, and each part again, down to leaves; all but the last leaf are full. Equal cells stay in the order of their
    rows, and cells that are missing come last. Sums are the same in any order, but near points make them fast.
    """
    _check_kernel(kinds, scales)
    _check_table("points", points, len(kinds))
    return _split(points, kinds, scales, np.arange(len(points)))


def _split(points: Floats, kinds: Array, scales: Floats, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows, which are ascending, in the order of their leaves."""
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
    """How much the log of the factor falls from one end of the cells to the other."""
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
    """What the leaves of 64 consecutive points span, for :func:`product_log_sums`: (2 * columns + 1, leaves).

    For each column the smallest and the largest cell, minus and plus infinity if a cell is missing; then the log of
    the leaf's weight. Points are finite, or NaN where a cell is missing, in the order of :func:`product_order`. Log
    weights are 0 for all if None; minus infinity is a point that does not count.
    """
    _check_table("points", points, None)
    n, columns = points.shape
    if np.any(np.isinf(points)):
        raise ValueError("points must be finite, or NaN where a cell is missing")
    weights = _weights_of(log_weights, n)
    if not np.all(weights < np.inf):
        raise ValueError("log_weights must be numbers below infinity")
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
    """The log of the weighted sum of product kernels at each query, over all points; minus infinity if all are 0.

    `points`, `log_weights` and `boxes` are those of :func:`product_boxes`; `kinds` (uint8) and `scales` (columns, 2)
    are described above, and widths are finite and at least 1e-300. Queries (queries, columns) may come in any order;
    that of :func:`product_order` is the fastest. A column that is missing in the query is a factor of 1; one that is
    missing in the point, but there in the query, is the exponential of the query's `absent` (queries, columns): 0 at
    most, or None for 0. `own` (int64) is the point that is the query itself, or -1, and `rest` the log weight that
    this point has instead of its own; minus infinity leaves it out. `tolerance` is the error allowed, relative to
    each sum itself; here it is 0.
    """
    _check_kernel(kinds, scales)
    _check_table("points", points, len(kinds))
    _check_table("queries", queries, len(kinds))
    weights = _weights_of(log_weights, len(points))
    _check_boxes(boxes, len(points), len(kinds))
    missing = _check_absent(absent, queries)
    _check_own(own, rest, len(points), len(queries))
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; it is at least 0 and below 1")
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
    """The log sums of a few queries; `sums` are the log weights (queries, points), and are added to."""
    values = np.ones_like(sums)  # the factors that may be 0 without being far: not by logs
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for j, (kind, (a, b)) in enumerate(zip(kinds, scales, strict=True)):
            q, x = queries[:, j, None], points[None, :, j]
            logs, factors = _factors(kind, a, b, q, x)
            there = ~np.isnan(q)
            sums += np.where(there, np.where(np.isnan(x), missing[:, j, None], logs), 0.0)
            values *= np.where(there & ~np.isnan(x), factors, 1.0)
        sums[values == 0] = -np.inf
        top = sums.max(axis=1, initial=-np.inf)
        top[top == -np.inf] = 0.0
        total = (np.exp(sums - top[:, None]) * values).sum(axis=1)
    with np.errstate(divide="ignore"):
        return top + np.log(total)


def _factors(kind: int, a: float, b: float, q: Floats, x: Floats) -> tuple[Array | float, Array | float]:
    """The logs of a column's factors, and what they are multiplied by."""
    if kind == GAUSSIAN:
        return -0.5 * ((q - x) / a) ** 2, 1.0
    if kind == EPANECHNIKOV:
        z = np.abs(q - x) / a
        return 0.0, np.where(z < 1, (1 - z) * (1 + z), 0.0)  # a difference of squares would cancel near the edge
    if kind == UNIFORM:
        return 0.0, np.where(np.abs(q - x) <= a, 1.0, 0.0)
    if kind == NOMINAL:
        return np.where(q == x, a, b), 1.0
    return np.where((q == x) | (a == 0), 0.0, a * np.abs(q - x)), 1.0


# What is asked of the arguments


def _check_kernel(kinds: Array, scales: Floats) -> None:
    check_array("kinds", kinds, "uint8", 1)
    if np.any(kinds > ORDINAL):
        raise ValueError(f"kinds has a {kinds.max()}; they go from 0 to {ORDINAL}")
    _check_table("scales", scales, 2)
    check_rows("scales", len(scales), len(kinds))
    for j, (kind, (a, b)) in enumerate(zip(kinds, scales, strict=True)):
        if kind < NOMINAL and not _LEAST_WIDTH <= a < np.inf:
            raise ValueError(f"column {j} has the width {a}; it must be finite and at least {_LEAST_WIDTH}")
        if kind >= NOMINAL and not (a <= 0 and (kind == ORDINAL or b <= 0)):
            raise ValueError(f"column {j} has scales {a} and {b}; they are logs of at most 0")


def _check_table(name: str, table: Floats, columns: int | None) -> None:
    check_array(name, table, "float64", 2)
    if columns is not None and table.shape[1] != columns:
        raise ValueError(f"{name} has {table.shape[1]} columns; {columns} are needed")


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
        raise ValueError(f"boxes has shape {boxes.shape}; it needs {needed}")


def _check_absent(absent: Floats | None, queries: Floats) -> Floats:
    if absent is None:
        return np.zeros_like(queries)
    _check_table("absent", absent, queries.shape[1])
    check_rows("absent", len(absent), len(queries))
    if not np.all(absent <= 0):
        raise ValueError("absent must be 0 at most")
    return absent


def _check_own(own: NDArray[np.int64] | None, rest: Floats | None, n: int, queries: int) -> None:
    if (own is None) != (rest is None):
        raise ValueError("own and rest are given together or not at all")
    if own is None or rest is None:
        return
    _check_vector("own", own, "int64", queries)
    _check_vector("rest", rest, "float64", queries)
    if np.any((own < -1) | (own >= n)):
        raise ValueError(f"own must be the number of one of {n} points, or -1")
    if not np.all(rest < np.inf):
        raise ValueError("rest must be numbers below infinity")
