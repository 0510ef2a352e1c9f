"""The kernels that grow trees, in NumPy; a part of :mod:`countwise._kernels.reference`.

Words used below, besides those of the reference
------------------------------------------------
instance
    A row on its way down the tree, numbered from 0. At the root instance i is row i. Where a row goes down
    several branches, each of its parts is an instance of its own with a part of its weight.
entries
    Instances in an order, as uint32: entry ``2 * i + 1`` is instance i with a value other than that of the entry
    before it, entry ``2 * i`` is instance i with the same value as the entry before it. They lie in segments, one
    for each node of a level: segment k is ``entries[starts[k]:starts[k + 1]]``, with `starts` int64.
impurity
    Of a node's classes "gini" (1 - sum of p^2) or "entropy" (in bits), of its numbers "variance" or "sd" (divisor n).
gain
    The impurity of the instances less that of each side, weighed by its share of the weight. Never below 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_array,
    check_ascending,
    check_codes,
    check_columns,
    check_count,
    check_entries,
    check_instances,
    check_rows,
    check_weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

OF_CLASSES = ("gini", "entropy")
OF_NUMBERS = ("variance", "sd")


def presort(column: Array) -> Array:
    """The rows of a column whose cell is not NaN as entries, ascending by value, equal values in the rows' order.

    Parameters
    ----------
    column : column
        Cells are compared as float64; 0 and -0 are equal.

    Returns
    -------
    uint32 array
        Entries; of more than 2**31 - 1 rows a ValueError.
    """
    check_columns([column], len(column))
    if len(column) >= 1 << 31:
        raise ValueError(f"{len(column)} rows are more than entries can number")
    x = column.astype(np.float64)
    rows = np.flatnonzero(~np.isnan(x))
    rows = rows[np.argsort(x[rows], kind="stable")]
    v = x[rows]
    fresh = np.ones(len(v), dtype=np.int64)
    fresh[1:] = v[1:] != v[:-1]
    return (2 * rows + fresh).astype(np.uint32)


def partition_entries(
    entries: Array, starts: Array, branch: Array, slots: Array, first: Array, n_next: int, copies: Array | None
) -> tuple[Array, Array]:
    """The entries of the next level: each instance moves to the segment of its branch, and order is kept.

    Parameters
    ----------
    entries, starts
        The entries of this level, in nodes' segments.
    branch : codes
        Of each instance, the branch that it takes at its node. The largest number of the type: it goes down all of
        them, and its part in branch b is instance ``copies[i] + b``.
    slots : int32 array
        The next segment of branch b of node k is ``slots[first[k] + b]``, or -1 if nothing follows there. The
        numbers that are not -1 ascend.
    first : int64 array (nodes + 1,)
        Node k has ``first[k + 1] - first[k]`` branches; none if it is a leaf, whose entries are dropped.
    n_next : int
        How many segments there will be, at most 2**31; one without entries is empty.
    copies : uint32 array or None
        None if no instance goes down several branches.

    Returns
    -------
    entries, starts
        Of the next level. An entry is marked as new if any since the last of its segment was.
    """
    check_codes(branch, "branch")
    check_entries(entries, starts)
    check_instances(entries, starts, len(branch))
    check_count("n_next", n_next, 1 << 31)
    _check_slots(slots, first, len(starts) - 1, n_next)
    if copies is not None:
        check_array("copies", copies, "uint32", 1)
        check_rows("copies", len(copies), len(branch))
    out: list[list[int]] = [[] for _ in range(n_next)]
    every = np.iinfo(branch.dtype).max
    for k in range(len(starts) - 1):
        branches = int(first[k + 1] - first[k])
        if branches == 0:
            continue
        fresh = [True] * branches
        for entry in entries[starts[k] : starts[k + 1]].tolist():
            if entry & 1:
                fresh = [True] * branches
            i = entry >> 1
            b = int(branch[i])
            if b == every and copies is None:
                raise ValueError("an instance goes down all branches but has no copies")
            if b != every and b >= branches:
                raise ValueError("a branch is beyond those of its node")
            for to in range(branches) if b == every else [b]:
                slot = int(slots[first[k] + to])
                if slot >= 0:
                    number = i if copies is None or b != every else int(copies[i]) + to
                    if number >= 1 << 31:
                        raise ValueError("copies are more than entries can number")
                    out[slot].append(2 * number + fresh[to])
                    fresh[to] = False
    sizes = [len(segment) for segment in out]
    flat = [entry for segment in out for entry in segment]
    return np.array(flat, dtype=np.uint32), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def best_thresholds(
    entries: Array, starts: Array, codes: Array, weights: Floats | None, n_classes: int, criterion: str, least: float
) -> tuple[Array, Floats]:
    """The place in each segment where parting the classes gains most.

    Entries of equal values are never parted, and each side keeps at least the weight `least` (less 1e-9 of it). Of
    equally good places the first is taken: a later one must gain more by over 1e-12 of the segment's impurity and
    4e-15 (entropy: times 1 + log2 of the segment's weight, if that is above 1).

    Parameters
    ----------
    entries, starts
        In ascending order of the column's values.
    codes : codes
        The class of each instance.
    weights : float64 array or None
        The weight of each instance, above 0; None is 1.
    n_classes : int
    criterion : {"gini", "entropy"}
    least : float

    Returns
    -------
    places : int64 array (nodes,)
        The place in `entries` of the first entry of the right side, or -1 if there is none to choose.
    gains : float64 array (nodes,)
        0 where there is no place.
    """
    _known(criterion, OF_CLASSES)
    check_count("n_classes", n_classes)
    rows = check_codes(codes, "codes")
    check_entries(entries, starts)
    check_instances(entries, starts, rows)
    if weights is not None:
        check_weights(weights, rows)
    found = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        ids = entries[start:stop] >> 1
        if len(ids) and int(codes[ids].max()) >= n_classes:
            raise ValueError("codes hold a class that is not there")
        cells = np.zeros((len(ids), n_classes))
        cells[np.arange(len(ids)), codes[ids]] = 1.0 if weights is None else weights[ids]
        found.append(_best_place(cells, entries[start:stop], start, criterion, least))
    return _two_arrays(found)


def best_thresholds_of_numbers(
    entries: Array, starts: Array, values: Floats, weights: Floats | None, criterion: str, least: float
) -> tuple[Array, Floats]:
    """The place in each segment where parting the instances brings like numbers together best.

    As :func:`best_thresholds`, but of equally good places a later one must gain more by over 1e-10 of the segment's
    impurity, of deviations 1e-7: roots of squares keep half of their digits.

    Parameters
    ----------
    entries, starts
        In ascending order of the column's values.
    values : float64 array
        The number of each instance that is to be told.
    weights : float64 array or None
    criterion : {"variance", "sd"}
    least : float

    Returns
    -------
    places, gains
    """
    _known(criterion, OF_NUMBERS)
    if values.dtype != np.float64:
        raise TypeError(f"values is {values.dtype}; it must be float64")
    if values.ndim != 1:
        raise ValueError(f"values has shape {values.shape}; it needs 1 dimension")
    check_entries(entries, starts)
    check_instances(entries, starts, len(values))
    if weights is not None:
        check_weights(weights, len(values))
    found = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        ids = entries[start:stop] >> 1
        w = np.ones(len(ids)) if weights is None else weights[ids]
        places = _places(entries[start:stop])
        if len(places) == 0:
            found.append((-1, 0.0))
            continue
        y, exponent = _centered(values[ids], w)
        left, right = _spread(y, w), _spread(y[::-1], w[::-1])[::-1]
        best, gain = best_of(left[places - 1], right[0], criterion, least, right[places])
        gain = float(np.ldexp(gain, exponent * (2 if criterion == "variance" else 1)))
        found.append((-1, 0.0) if best < 0 else (start + int(places[best]), gain))
    return _two_arrays(found)


def _centered(y: Floats, w: Floats) -> tuple[Floats, int]:
    """Numbers less their mean, divided by a power of 2 so that no square overflows; equal ones are exactly 0."""
    y = y - y[0]
    exponent = int(np.frexp(np.abs(y).max())[1])
    y = np.ldexp(y, -exponent)
    return y - (w * y).sum() / w.sum(), exponent


def _spread(y: Floats, w: Floats) -> Floats:
    """Weight, 0, and squared deviations from their mean, of the first k numbers: each number adds something.

    A difference of sums of squares would leave standard deviations half of their digits.
    """
    n = np.cumsum(w)
    mean = np.cumsum(w * y) / n
    steps = np.zeros(len(y))
    steps[1:] = w[1:] * (n[:-1] / n[1:]) * (y[1:] - mean[:-1]) ** 2
    return np.stack([n, np.zeros(len(y)), np.cumsum(steps)], axis=1)


def _places(entries: Array) -> Array:
    """Where a segment can be parted."""
    places = np.flatnonzero(entries & 1)
    return places[places > 0]


def _best_place(cells: Floats, entries: Array, start: int, criterion: str, least: float) -> tuple[int, float]:
    """The best place of one segment; cells (entries, classes)."""
    places = _places(entries)
    if len(places) == 0:
        return -1, 0.0
    left = np.cumsum(cells, axis=0)[places - 1]
    best, gain = best_of(left, cells.sum(axis=0), criterion, least)
    return (-1, 0.0) if best < 0 else (start + int(places[best]), gain)


def best_of(
    left: Floats, total: Floats, criterion: str, least: float, right: Floats | None = None
) -> tuple[int, float]:
    """The best of several ways to part a whole, given their left sides (ways, ...); of equals the first.

    The right sides are what is left of the total, unless they are given.
    """
    numbers = criterion in OF_NUMBERS
    right = total - left if right is None else right
    n_left, n_right = (side[:, 0] if numbers else side.sum(axis=1) for side in (left, right))
    n = float(total[0] if numbers else total.sum())
    whole = float(impurity(total, criterion))
    good = (n_left >= least * (1 - 1e-9)) & (n_right >= least * (1 - 1e-9)) & (n_left > 0) & (n_right > 0)
    gains = whole - (n_left * impurity(left, criterion) + n_right * impurity(right, criterion)) / n
    gains = np.where(good, np.maximum(gains, 0.0), -1.0)
    rounding = 4e-15 * (1 + max(np.log2(n), 0.0) if criterion == "entropy" else 1) * (not numbers)
    share = 1e-7 if criterion == "sd" else 1e-10 if numbers else 1e-12
    tolerance = share * whole + rounding
    best = -1
    highest = np.maximum.accumulate(np.concatenate([[-1.0], gains[:-1]]))
    for i in np.flatnonzero((gains > highest) & good):
        if best < 0 or gains[i] > gains[best] + tolerance:
            best = int(i)
    return best, float(gains[best]) if best >= 0 else 0.0


def impurity(cells: Floats, criterion: str) -> Floats:
    """Of cells (..., classes) of weights, or of cells (..., 3): weight, sum, and sum of squares."""
    if criterion in OF_NUMBERS:
        n = np.maximum(cells[..., 0], 1e-300)
        variance = np.maximum(cells[..., 2] / n - (cells[..., 1] / n) ** 2, 0.0)
        return variance if criterion == "variance" else np.sqrt(variance)
    n = cells.sum(axis=-1, keepdims=True)
    p = np.maximum(cells, 0.0) / np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return np.where(n[..., 0] > 0, 1.0 - (p * p).sum(axis=-1), 0.0)
    return np.maximum(-(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1), 0.0)


def _check_slots(slots: Array, first: Array, nodes: int, n_next: int) -> None:
    check_array("slots", slots, "int32", 1)
    check_array("first", first, "int64", 1)
    check_rows("first", len(first), nodes + 1)
    check_ascending("first", first, len(slots))
    taken = slots[slots != -1]
    if len(taken) and (taken[0] < 0 or taken[-1] >= n_next or np.any(np.diff(taken) <= 0)):
        raise ValueError(f"slots must be -1 or ascend from 0 to below {n_next}")


def _known(criterion: str, words: tuple[str, ...]) -> None:
    if criterion not in words:
        raise ValueError(f"criterion is {criterion!r}; it must be one of {', '.join(words)}")


def _two_arrays(found: list[tuple[int, float]]) -> tuple[Array, Floats]:
    return np.array([p for p, _ in found], dtype=np.int64), np.array([g for _, g in found], dtype=np.float64)
