"""NumPy kernels that discretize numeric columns; part of :mod:`countwise._kernels.reference`.

Terms used below, besides those of the reference
------------------------------------------------
entries
    Float64 values in ascending order (none NaN), with the class code and the weight of each. Weights are integers,
    floats, or None for 1 everywhere. Entries with equal values are in the order of their classes, and no class has a
    value twice, as returned by :func:`merge_sets`.
information
    Entropy of the class times the number of rows, in nats: ``n log n - sum of n_c log n_c``, where n_c is the weight
    of class c and n the total weight; ``0 log 0`` is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_codes, check_column, check_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]
    Cut = tuple[int, float, float]

__all__ = ["cut_codes", "kmeans_1d", "mdl_cuts", "merge_sets"]


def merge_sets(values: Sequence[Floats], weights: Sequence[Array | None]) -> tuple[Floats, Array, Array | None]:
    """Merge the values of several classes into one ascending sequence; equal values are in class order.

    Values are ascending and distinct, without NaN. Weights may have any stride; None is 1 for all. Returns the
    values, their classes as codes of the narrowest sufficient type, and their weights: None if all are None, int64 if
    all are None or of an integer or bool type, else float64.
    """
    if len(values) != len(weights):
        raise ValueError(f"There are {len(values)} classes but {len(weights)} weights.")
    sizes = [_check_floats(x, f"values[{c}]") for c, x in enumerate(values)]
    kind = np.uint8 if len(values) <= 256 else np.uint16 if len(values) <= 65536 else np.uint32
    codes = np.repeat(np.arange(len(values), dtype=kind), sizes)
    together = np.concatenate([np.empty(0), *values])
    order = np.argsort(together, kind="stable")
    return together[order], codes[order], _merged_weights(weights, sizes, order)


def _merged_weights(weights: Sequence[Array | None], sizes: list[int], order: Array) -> Array | None:
    if all(w is None for w in weights):
        return None
    whole = all(w is None or w.dtype.kind in "iub" for w in weights)
    kind = np.int64 if whole else np.float64
    parts: list[Array] = []
    for c, (w, size) in enumerate(zip(weights, sizes, strict=True)):
        if w is not None:
            check_column(f"weights[{c}]", w, size)
        parts.append(np.ones(size, kind) if w is None else w.astype(kind))
    return np.concatenate(parts)[order]


def _best_of(v: Floats, codes: Array, w: Floats, n_classes: int) -> tuple[int, Floats, Floats]:
    place = _best_place(v, codes, w, n_classes)
    cut = max(place, 0)
    left, right = (_class_weights(codes[side], w[side], n_classes) for side in (slice(cut), slice(cut, None)))
    return place, left, right


def _best_place(v: Floats, codes: Array, w: Floats, n_classes: int) -> int:
    apart = np.flatnonzero(v[1:] != v[:-1]) + 1
    if len(apart) == 0:
        return -1
    alone = np.ones(len(v), bool)
    alone[1:] &= v[1:] != v[:-1]
    alone[:-1] &= v[:-1] != v[1:]
    inside = alone[apart - 1] & alone[apart] & (codes[apart - 1] == codes[apart])
    places = apart[~inside]
    if len(places) == 0:
        return int(apart[0])
    n = w.sum()
    information = _x_log_x_of_sides(w, places)
    for c in range(n_classes):
        information -= _x_log_x_of_sides(np.where(codes == c, w, 0.0), places)
    all_of_it = _information(_class_weights(codes, w, n_classes))
    tolerance = 1e-12 * all_of_it + 4e-15 * (n * (1 + abs(np.log(n))) if n > 0 else 0.0)
    # Only a new minimum can be better than the best by more than the tolerance.
    lowest = np.minimum.accumulate(information)
    best = 0
    for i in np.flatnonzero(information[1:] < lowest[:-1]) + 1:
        if information[i] < information[best] - tolerance:
            best = int(i)
    return int(places[best])


def _x_log_x_of_sides(w: Floats, places: Array) -> Floats:
    # Extended precision, so that equally good cuts compare equal.
    left = np.cumsum(w, dtype=np.longdouble)
    below, above = left[places - 1].astype(np.float64), (left[-1] - left[places - 1]).astype(np.float64)
    return np.asarray(_x_log_x(below) + _x_log_x(above))


def _class_weights(codes: Array, w: Floats, n_classes: int) -> Floats:
    sums = np.zeros(n_classes, np.longdouble)
    np.add.at(sums, codes, w)
    return sums.astype(np.float64)


def mdl_cuts(
    values: Floats, codes: Array, weights: Array | None, n_classes: int
) -> tuple[NDArray[np.int64], Floats, Floats, Cut | None]:
    """Return the cut points of the MDL method of Fayyad and Irani (1993), found by recursive binary splitting.

    The gain of a cut of N rows is ``Ent(S) - sum of |Si| / N * Ent(Si)``. A cut is accepted if its gain exceeds the
    threshold ``(log2(N - 1) + log2(3**k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))) / N``, where k, k1 and k2 are
    the numbers of classes present in the whole and in its two sides, and entropies are in bits. With fractional
    weights, N - 1 is at least 1.

    The best cut minimizes the information that remains in its two sides. Equal values are never separated. A cut
    inside a run of one class, that is between two entries of that class that each are the only one of their value, is
    never best. It is only considered if there is no other: with one class all cuts are equally good.

    The lowest of several equally good cuts is taken: a later one must be better by more than 1e-12 of the information
    of all entries, plus the rounding error of sums of this size. A code of `n_classes` or more raises ValueError.

    Returns the first entry of every bin but the first, ascending (int64), the gains and thresholds of these cuts, and
    the position, gain and threshold of the best cut of all entries, accepted or not. The latter is None if there are
    fewer than two distinct values.
    """
    codes, w = _check_entries(values, codes, weights, n_classes)
    accepted: list[Cut] = []
    first: Cut | None = None
    waiting = [(0, len(values))]
    while waiting:
        start, stop = waiting.pop()
        place, left, right = _best_of(values[start:stop], codes[start:stop], w[start:stop], n_classes)
        if place < 0:
            continue
        place += start
        gain, threshold = _test_cut(left, right)
        first = first or (place, gain, threshold)
        if gain > threshold:
            accepted.append((place, gain, threshold))
            waiting += [(start, place), (place, stop)]
    accepted.sort()
    places, gains, thresholds = zip(*accepted, strict=True) if accepted else ((), (), ())
    return np.array(places, np.int64), np.array(gains, np.float64), np.array(thresholds, np.float64), first


def _test_cut(left: Floats, right: Floats) -> tuple[float, float]:
    """Return the gain and the threshold of Fayyad and Irani."""
    (n, entropy, k), (n1, entropy1, k1), (n2, entropy2, k2) = (_side(x) for x in (left + right, left, right))
    if n <= 0:
        return 0.0, float("inf")
    gain = entropy - (n1 * entropy1 + n2 * entropy2) / n
    choices = np.log2(3.0**k - 2) if k < 30 else k * np.log2(3.0)
    delta = choices - (k * entropy - k1 * entropy1 - k2 * entropy2)
    return float(gain), float((np.log2(max(n - 1, 1.0)) + delta) / n)


def _side(counts: Floats) -> tuple[float, float, int]:
    """Return the weight, the entropy in bits, and the number of classes present."""
    n = float(counts.sum())
    return n, _information(counts) / n / np.log(2) if n > 0 else 0.0, int((counts > 0).sum())


def _information(counts: Floats) -> float:
    return max(0.0, float(_x_log_x(counts.sum()) - _x_log_x(counts).sum()))


def _x_log_x(x: Any) -> Any:
    # Rounding may turn 0 into a tiny negative number, which counts as 0.
    return x * np.log(np.where(x > 1e-300, x, 1.0))


def kmeans_1d(values: Floats, weights: Array | None, k: int) -> NDArray[np.int64]:
    """Return the k clusters of values on a line with the smallest within-cluster sum of squares.

    There are at least k values, which are finite, ascending and distinct. Weights are above 0; None is 1. The
    clusters are the global optimum, found by dynamic programming over the start of the last cluster. The lowest of
    several equally good starts is taken, beginning with the last cluster; sums within 1e-13 of the smallest count as
    equal. Returns the position of each cluster's first value (int64); the first one is 0.
    """
    n = _check_floats(values, "values")
    w = np.ones(n)
    if weights is not None:
        check_column("weights", weights, n)
        w = weights.astype(np.float64)
    if not 1 <= k <= n:
        raise ValueError(f"k is {k}; it must be between 1 and the number of values, {n}.")
    if not np.all(np.isfinite(values)) or np.any(values[1:] <= values[:-1]):
        raise ValueError("values must be finite, ascending and distinct.")
    if not np.all((w > 0) & (w < np.inf)):
        raise ValueError("weights must be finite and above 0.")
    sums = _prefix_sums(values, w)
    lengths = np.arange(n + 1)
    least = np.zeros(n + 1, np.longdouble)
    least[1:] = _deviations(sums, np.zeros(n, np.intp), lengths[1:])
    layers = []
    for q in range(2, k):
        least, start = _one_more(sums, least, q, q, n - (k - q))
        layers.append(start)
    starts = [n]
    if k > 1:
        layers.append(_one_more(sums, least, k, n, n)[1])
    for start in reversed(layers):
        starts.append(int(start[starts[-1]]))
    return np.array([0, *starts[:0:-1]], np.int64)


def _prefix_sums(values: Floats, w: Floats) -> Array:
    """Return cumulative sums of weights, weighted values and weighted squares, with values centered and scaled."""
    x = np.ldexp(values, -np.frexp(np.abs(values).max())[1]).astype(np.longdouble)
    x -= (w * x).sum() / w.sum()
    return np.cumsum([np.r_[0, w], np.r_[0, w * x], np.r_[0, w * x * x]], axis=1, dtype=np.longdouble)


def _deviations(sums: Array, start: Array, stop: Array) -> Array:
    """Return the sum of squared deviations from the mean of the values from `start` to before `stop`."""
    w, x, squares = sums[:, stop] - sums[:, start]
    return np.maximum(squares - x * x / w, 0)


def _one_more(sums: Array, before: Array, q: int, shortest: int, longest: int) -> tuple[Array, Array]:
    """Return the smallest sum for each length with q clusters instead of q - 1, and the start of the last cluster.

    The best start never decreases with the length, so the start for the middle length bounds those on both sides. All
    middles of one depth are processed together.
    """
    least, start = np.zeros_like(before), np.zeros(len(before), np.intp)
    low, high = np.array([shortest]), np.array([longest])
    first, last = np.array([q - 1]), np.array([longest - 1])
    while len(low):
        middle = (low + high) // 2
        counts = np.minimum(last + 1, middle) - first
        place = np.cumsum(counts) - counts
        tried = np.arange(counts.sum()) + np.repeat(first - place, counts)
        total = before[tried] + _deviations(sums, tried, np.repeat(middle, counts))
        least[middle] = np.minimum.reduceat(total, place)
        good = total <= np.repeat(least[middle] * (1 + 1e-13), counts)
        best = np.minimum.reduceat(np.where(good, tried, longest), place)
        start[middle] = best
        low, high = np.concatenate([low, middle + 1]), np.concatenate([middle - 1, high])
        first, last = np.concatenate([first, best]), np.concatenate([best, last])
        kept = low <= high
        low, high, first, last = low[kept], high[kept], first[kept], last[kept]
    return least, start


def cut_codes(column: Array, edges: Floats, out: Array) -> None:
    """Write the bin of each number to `out`, given ascending edges.

    Bin i is ``(edges[i - 1], edges[i]]``: a number that equals an edge belongs to the bin below it. Values are
    compared as float64; a missing value has the code ``len(edges) + 1``. `out` is contiguous, and its type is wide
    enough for this code.
    """
    check_column("column", column, len(column))
    check_rows("out", check_codes(out, "out"), len(column))
    _check_floats(edges, "edges")
    if not out.flags.c_contiguous:
        raise ValueError("out must be contiguous.")
    if np.isnan(edges).any() or np.any(edges[1:] < edges[:-1]):
        raise ValueError("edges must be ascending.")
    if len(edges) + 1 > np.iinfo(out.dtype).max:
        raise ValueError(f"The type of out is too narrow for the codes of {len(edges)} edges.")
    x = column.astype(np.float64)
    out[:] = np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="left"))


def _check_floats(x: Floats, name: str) -> int:
    if x.dtype != np.float64:
        raise TypeError(f"{name} is {x.dtype}; it must be float64.")
    if x.ndim != 1:
        raise ValueError(f"{name} has shape {x.shape}; it needs 1 dimension.")
    return len(x)


def _check_entries(values: Floats, codes: Array, weights: Array | None, n_classes: int) -> tuple[Array, Floats]:
    """Check the entries, and return the codes as indices and the weights as floats."""
    rows = _check_floats(values, "values")
    check_rows("codes", check_codes(codes, "codes"), rows)
    if rows and int(codes.max()) >= n_classes:
        raise ValueError(f"codes contains a class beyond the {n_classes} classes.")
    if weights is None:
        return codes.astype(np.intp), np.ones(rows)
    check_column("weights", weights, rows)
    w = weights.astype(np.float64)
    if not np.all((w >= 0) & (w < np.inf)):
        raise ValueError("weights must be finite and not negative.")
    return codes.astype(np.intp), w
