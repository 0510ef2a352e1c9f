"""NumPy kernels that grow and apply trees; part of :mod:`countwise._kernels.reference`.

Terms used below, besides those of the reference
------------------------------------------------
instance
    A row, or a part of a row, at a node of the tree, numbered from 0. At the root, instance i is row i. If a row goes
    down several branches, each part is a separate instance with a fraction of the weight.
entries
    Instances in a given order, as uint32. Entry ``2 * i + 1`` is instance i with a value that differs from the
    previous entry's; entry ``2 * i`` is instance i with the same value as the previous entry. Entries are grouped in
    segments, one for each node of a level: segment k is ``entries[starts[k]:starts[k + 1]]``, with `starts` int64.
impurity
    For classes "gini" (1 - sum of p^2) or "entropy" (in bits); for a numeric target "variance" or "sd" (divisor n).
gain
    Impurity of a node minus the mean impurity of the two sides, weighted by their weights. Never below 0.
tests
    Tests of the nodes, as six arrays. `attribute` (int32) is the column; -1 for a leaf. `limits` (float64) and
    `limit_starts` (int64, nodes + 1) are ascending thresholds: a number x takes the branch whose index is the number
    of limits below x, so that x takes branch 0 if ``x <= limit``. `groups` (int32) and `group_starts` (int64, nodes +
    1) are used by nodes without limits: code v takes branch ``groups[group_starts[k] + v]``. `missing` (int32) is the
    branch of a NaN. A branch of -1 means that the instance goes down all branches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_array,
    check_ascending,
    check_codes,
    check_column,
    check_columns,
    check_count,
    check_entries,
    check_instances,
    check_rows,
    check_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]
    Tests = tuple[Array, Floats, Array, Array, Array, Array]

__all__ = [
    "apply_tests",
    "best_thresholds",
    "best_thresholds_of_numbers",
    "partition_entries",
    "presort",
    "route_entries",
]

OF_CLASSES = ("gini", "entropy")
OF_NUMBERS = ("variance", "sd")


def presort(column: Array) -> Array:
    """Return the rows with a non-missing value as entries, sorted by value; equal values keep row order.

    Values are compared as float64; 0 and -0 are equal. More than 2**31 - 1 rows raise ValueError.
    """
    check_column("column", column, len(column))
    if len(column) >= 1 << 31:
        raise ValueError(f"{len(column)} rows exceed the maximum of 2147483647.")
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
    """Return the entries of the next level: each instance moves to the segment of its branch, and order is kept.

    `branch` (codes) is the branch of each instance at its node. The largest number of the type means all branches:
    the part of instance i in branch b is instance ``copies[i] + b`` (uint32; None if there are no such instances).
    Node k has ``first[k + 1] - first[k]`` branches (int64); a leaf has none, and its entries are dropped. The next
    segment of branch b is ``slots[first[k] + b]`` (int32), or -1 if the branch ends there. Slots that are not -1
    ascend. There are `n_next` segments, at most 2**31; some may be empty. Returns the entries and starts of the next
    level. An entry has a new value if any entry since the previous one of its segment had.
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
                raise ValueError("An instance goes down all branches but has no copies.")
            if b != every and b >= branches:
                raise ValueError("A branch number exceeds the branches of its node.")
            for to in range(branches) if b == every else [b]:
                slot = int(slots[first[k] + to])
                if slot >= 0:
                    number = i if copies is None or b != every else int(copies[i]) + to
                    if number >= 1 << 31:
                        raise ValueError("copies exceeds the maximum instance number, 2147483647.")
                    out[slot].append(2 * number + fresh[to])
                    fresh[to] = False
    sizes = [len(segment) for segment in out]
    flat = [entry for segment in out for entry in segment]
    return np.array(flat, dtype=np.uint32), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def best_thresholds(
    entries: Array, starts: Array, codes: Array, weights: Floats | None, n_classes: int, criterion: str, least: float
) -> tuple[Array, Floats]:
    """Return the split position in each segment with the highest gain in "gini" or "entropy".

    Entries are in ascending order of the column's values. `codes` and `weights` (above 0, None is 1) are indexed by
    instance. Entries with equal values are never separated, and each side keeps at least the weight `least` (less a
    relative tolerance of 1e-9). The first of several equally good positions is taken: a later one must exceed its
    gain by more than 1e-12 of the segment's impurity plus 4e-15 (for entropy times 1 + log2 of the segment's weight,
    if that is above 1). Returns the position in `entries` of the first entry on the right (int64), or -1 if no split
    is possible, and the gains, which are 0 without a split.
    """
    _check_criterion(criterion, OF_CLASSES)
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
            raise ValueError("codes contains a class that does not exist.")
        cells = np.zeros((len(ids), n_classes))
        cells[np.arange(len(ids)), codes[ids]] = 1.0 if weights is None else weights[ids]
        found.append(_best_place(cells, entries[start:stop], start, criterion, least))
    return _two_arrays(found)


def best_thresholds_of_numbers(
    entries: Array, starts: Array, values: Floats, weights: Floats | None, criterion: str, least: float
) -> tuple[Array, Floats]:
    """Return the split position in each segment with the highest gain in "variance" or "sd" of a numeric target.

    `values` is the target, indexed by instance; otherwise this is :func:`best_thresholds`. A later position must
    exceed the best gain by more than 1e-10 of the segment's impurity for "variance", and 1e-7 for "sd", because a
    square root of a difference of squares has only half of the digits.
    """
    _check_criterion(criterion, OF_NUMBERS)
    if values.dtype != np.float64:
        raise TypeError(f"values is {values.dtype}; it must be float64.")
    if values.ndim != 1:
        raise ValueError(f"values has shape {values.shape}; it needs 1 dimension.")
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
        left, right = _squared_deviations(y, w), _squared_deviations(y[::-1], w[::-1])[::-1]
        best, gain = best_of(left[places - 1], right[0], criterion, least, right[places])
        gain = float(np.ldexp(gain, exponent * (2 if criterion == "variance" else 1)))
        found.append((-1, 0.0) if best < 0 else (start + int(places[best]), gain))
    return _two_arrays(found)


def _centered(y: Floats, w: Floats) -> tuple[Floats, int]:
    """Return the numbers minus their mean, scaled by a power of 2 to avoid overflow, and the exponent.

    Equal numbers give exactly 0.
    """
    y = y - y[0]
    exponent = int(np.frexp(np.abs(y).max())[1])
    y = np.ldexp(y, -exponent)
    return y - (w * y).sum() / w.sum(), exponent


def _squared_deviations(y: Floats, w: Floats) -> Floats:
    """Return the weight, 0, and the sum of squared deviations of the first k numbers, for each k.

    Each number adds its own contribution. A difference of sums of squares would lose half of the digits of a standard
    deviation.
    """
    n = np.cumsum(w)
    some = np.flatnonzero(n[:-1] > 0)  # leading weights of 0 have no mean
    mean = np.cumsum(w * y)[some] / n[some]
    steps = np.zeros(len(y))
    steps[some + 1] = w[some + 1] * (n[some] / n[some + 1]) * (y[some + 1] - mean) ** 2
    return np.stack([n, np.zeros(len(y)), np.cumsum(steps)], axis=1)


def _places(entries: Array) -> Array:
    """Return the positions at which a segment can be split."""
    places = np.flatnonzero(entries & 1)
    return places[places > 0]


def _best_place(cells: Floats, entries: Array, start: int, criterion: str, least: float) -> tuple[int, float]:
    """Return the best position and the gain of one segment; cells (entries, classes)."""
    places = _places(entries)
    if len(places) == 0:
        return -1, 0.0
    left = np.cumsum(cells, axis=0)[places - 1]
    best, gain = best_of(left, cells.sum(axis=0), criterion, least)
    return (-1, 0.0) if best < 0 else (start + int(places[best]), gain)


def best_of(
    left: Floats, total: Floats, criterion: str, least: float, right: Floats | None = None
) -> tuple[int, float]:
    """Return the first best split, given the left sides of the splits (splits, ...), and its gain.

    The right sides are the total minus the left sides, unless they are given.
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
    relative = 1e-7 if criterion == "sd" else 1e-10 if numbers else 1e-12
    tolerance = relative * whole + rounding
    best = -1
    highest = np.maximum.accumulate(np.concatenate([[-1.0], gains[:-1]]))
    for i in np.flatnonzero((gains > highest) & good):
        if best < 0 or gains[i] > gains[best] + tolerance:
            best = int(i)
    return best, float(gains[best]) if best >= 0 else 0.0


def impurity(cells: Floats, criterion: str) -> Floats:
    """Return the impurity of class weights (..., classes), or of (..., 3): weight, sum and sum of squares."""
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
        raise ValueError(f"slots must be -1 or ascend from 0 to below {n_next}.")


def _check_criterion(criterion: str, options: tuple[str, ...]) -> None:
    if criterion not in options:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, options))}, not {criterion!r}.")


def _two_arrays(found: list[tuple[int, float]]) -> tuple[Array, Floats]:
    return np.array([p for p, _ in found], dtype=np.int64), np.array([g for _, g in found], dtype=np.float64)


def route_entries(
    columns: Sequence[Array], entries: Array, starts: Array, tests: Tests, rows: Array | None, branch: Array
) -> int:
    """Write the branch that each instance takes at its node; return how many instances go down all branches.

    There is one test for each node; instances of a leaf are not changed. A code without a group raises ValueError.
    `rows` (uint32) is the row of each instance; None if instance i is row i. `branch` (codes) receives the branch of
    each instance. The largest number of its type means all branches.
    """
    check_codes(branch, "branch")
    every = np.iinfo(branch.dtype).max
    _check_starts(starts, "starts", len(entries))
    _check_tests(columns, tests, len(starts) - 1)
    for k in np.flatnonzero(tests[0] >= 0).tolist():
        if _highest_branch(tests, k) >= every:
            raise ValueError(f"Branch {_highest_branch(tests, k)} of node {k} is too high for the type of branch.")
    n_all_branches = 0
    for k in range(len(starts) - 1):
        if tests[0][k] < 0:
            continue
        ids = entries[starts[k] : starts[k + 1]] >> 1
        if len(ids) and int(ids.max()) >= min(len(branch), len(branch if rows is None else rows)):
            raise ValueError(f"Entries of node {k} are beyond the rows or branches.")
        to = _branches(columns, ids if rows is None else rows[ids], tests, k)
        n_all_branches += int(np.count_nonzero(to < 0))
        branch[ids] = np.where(to < 0, every, to)
    return n_all_branches


def apply_tests(
    columns: Sequence[Array], rows: Array | None, nodes: Array | None, n: int, tests: Tests, children: Array
) -> Array:
    """Return the leaf that each row reaches (int32), or ``-1 - k`` if the row goes down all branches at node k.

    `rows` (uint32) are the n rows; None for rows 0 to n - 1. `nodes` (int32) are the nodes at which they start; None
    for the root, node 0. The tests are those of all nodes of the tree. The child of node k in branch b is node
    ``children[k] + b`` (int32), which is greater than k.
    """
    _check_tests(columns, tests, len(children))
    for k in np.flatnonzero(tests[0] >= 0).tolist():
        highest = _highest_branch(tests, k)
        if highest >= 0 and not k < children[k] < len(children) - highest:
            raise ValueError(f"The children of node {k} are not among the nodes after it.")
    rows = np.arange(n) if rows is None else rows
    check_rows("rows", len(rows), n)
    if n and columns and int(rows.max()) >= len(columns[0]):
        raise ValueError(f"Row {rows.max()} is beyond the {len(columns[0])} rows.")
    at = np.zeros(n, np.int32) if nodes is None else nodes.astype(np.int32)
    check_rows("nodes", len(at), n)
    if n and (at.min() < 0 or at.max() >= len(children)):
        raise ValueError(f"Rows start at nodes that are not among the {len(children)} nodes.")
    moving = np.flatnonzero(tests[0][at] >= 0) if n else np.empty(0, np.intp)
    while len(moving):
        for k in np.unique(at[moving]):
            here = moving[at[moving] == k]
            to = _branches(columns, rows[here], tests, int(k))
            at[here] = np.where(to < 0, -1 - k, children[k] + to)
        moving = moving[at[moving] >= 0]
        moving = moving[tests[0][at[moving]] >= 0]
    return at


def _branches(columns: Sequence[Array], rows: Array, tests: Tests, k: int) -> Array:
    """Return the branches of some rows at one node; -1 means all branches."""
    attribute, limits, limit_starts, groups, group_starts, missing = tests
    if len(rows) and int(rows.max()) >= len(columns[attribute[k]]):
        raise ValueError(f"Entries of node {k} are beyond the rows or branches.")
    cells = columns[attribute[k]][rows]
    mine = limits[limit_starts[k] : limit_starts[k + 1]]
    if len(mine):
        x = cells.astype(np.float64)
        return np.where(np.isnan(x), missing[k], np.searchsorted(mine, x, side="left"))
    table = groups[group_starts[k] : group_starts[k + 1]]
    if len(cells) and int(cells.max()) >= len(table):
        found = int(cells.max())
        raise ValueError(f"columns[{attribute[k]}] contains code {found}; node {k} has {len(table)} groups.")
    return table[cells]


def _check_tests(columns: Sequence[Array], tests: Tests, nodes: int) -> None:
    """Check that the tests can be applied to these columns."""
    check_columns(columns, len(columns[0]) if columns else 0)
    if len(tests) != 6:
        raise ValueError(f"tests must be 6 arrays, not {len(tests)}.")
    attribute, limits, limit_starts, groups, group_starts, missing = tests
    types = {"attribute": "int32", "limits": "float64", "limit_starts": "int64", "groups": "int32"}
    types |= {"group_starts": "int64", "missing": "int32"}
    for (name, dtype), array in zip(types.items(), tests, strict=True):
        check_array(name, array, dtype, 1)
    check_rows("attribute", len(attribute), nodes)
    check_rows("missing", len(missing), nodes)
    for name, starts, whole in (("limit_starts", limit_starts, limits), ("group_starts", group_starts, groups)):
        check_rows(name, len(starts), nodes + 1)
        _check_starts(starts, name, len(whole))
    for k in np.flatnonzero(attribute >= 0).tolist():
        if attribute[k] >= len(columns):
            raise ValueError(f"Node {k} tests column {attribute[k]}, but there are {len(columns)} columns.")
        mine = limits[limit_starts[k] : limit_starts[k + 1]]
        if len(mine) == 0:
            check_codes(columns[attribute[k]], f"columns[{attribute[k]}]")
        elif np.isnan(mine).any() or (mine[1:] < mine[:-1]).any():
            raise ValueError(f"The limits of node {k} do not ascend.")


def _check_starts(starts: Array, name: str, length: int) -> None:
    if len(starts) == 0 or starts[0] < 0 or starts[-1] > length or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} must ascend and lie between 0 and {length}.")


def _highest_branch(tests: Tests, k: int) -> int:
    """Return the highest branch of an inner node, or a negative number if it has none."""
    _, _, limit_starts, groups, group_starts, missing = tests
    limits = int(limit_starts[k + 1] - limit_starts[k])
    if limits:
        return max(limits, int(missing[k]))
    return int(groups[group_starts[k] : group_starts[k + 1]].max(initial=-1))
