"""The kernels that ask trees, in NumPy; a part of :mod:`countwise._kernels.reference`.

Words used below, besides those of the reference and of :mod:`countwise._kernels.reference.trees`
-------------------------------------------------------------------------------------------------
tests
    What nodes ask, as six arrays. `attribute` (int32): which column; -1 for a leaf. `limits` (float64) and
    `limit_starts` (int64, nodes + 1): a node with limits, which ascend, takes a number x to the branch that counts
    its limits below x, so that x goes to branch 0 if ``x <= limit``. `groups` (int32) and `group_starts` (int64,
    nodes + 1): a node without limits takes code v to branch ``groups[group_starts[k] + v]``. `missing` (int32): the
    branch of a NaN. A branch of -1 is a gap: the instance goes down all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_array,
    check_codes,
    check_columns,
    check_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]
    Tests = tuple[Array, Floats, Array, Array, Array, Array]


def route_entries(
    columns: Sequence[Array], entries: Array, starts: Array, tests: Tests, rows: Array | None, branch: Array
) -> int:
    """Write down the branch that each instance takes at its node.

    Parameters
    ----------
    columns : list of column
        Codes where a test has groups; a code without a group is a ValueError.
    entries, starts
        The instances of each node, in any order.
    tests : tests
        One a node; the instances of a leaf are left alone.
    rows : uint32 array or None
        The row of each instance; None if instance i is row i.
    branch : codes
        Written to in place: of each instance its branch, or the largest number of the type at a gap.

    Returns
    -------
    int
        How many gaps there were.
    """
    check_codes(branch, "branch")
    every = np.iinfo(branch.dtype).max
    _check_starts(starts, "starts", len(entries))
    _check_tests(columns, tests, len(starts) - 1)
    for k in np.flatnonzero(tests[0] >= 0).tolist():
        if _highest_branch(tests, k) >= every:
            raise ValueError(f"branch {_highest_branch(tests, k)} of node {k} is too high for the type of branch")
    gaps = 0
    for k in range(len(starts) - 1):
        if tests[0][k] < 0:
            continue
        ids = entries[starts[k] : starts[k + 1]] >> 1
        if len(ids) and int(ids.max()) >= min(len(branch), len(branch if rows is None else rows)):
            raise ValueError(f"entries of node {k} are beyond the rows or branches")
        to = _branches(columns, ids if rows is None else rows[ids], tests, k)
        gaps += int(np.count_nonzero(to < 0))
        branch[ids] = np.where(to < 0, every, to)
    return gaps


def apply_tests(
    columns: Sequence[Array], rows: Array | None, nodes: Array | None, n: int, tests: Tests, children: Array
) -> Array:
    """The leaf that each row comes to.

    Parameters
    ----------
    columns : list of column
    rows : uint32 array (n,) or None
        Which rows; None for row 0 to n - 1.
    nodes : int32 array (n,) or None
        The node at which each starts; None for the root, node 0.
    n : int
    tests : tests
        Of all nodes of the tree.
    children : int32 array (nodes,)
        The child of node k in branch b is node ``children[k] + b``, above k.

    Returns
    -------
    int32 array (n,)
        The leaf, or ``-1 - k`` if it meets a gap at node k.
    """
    _check_tests(columns, tests, len(children))
    for k in np.flatnonzero(tests[0] >= 0).tolist():
        highest = _highest_branch(tests, k)
        if highest >= 0 and not k < children[k] < len(children) - highest:
            raise ValueError(f"the children of node {k} are not among the nodes after it")
    rows = np.arange(n) if rows is None else rows
    check_rows("rows", len(rows), n)
    if n and columns and int(rows.max()) >= len(columns[0]):
        raise ValueError(f"row {rows.max()} is beyond the {len(columns[0])} rows")
    at = np.zeros(n, np.int32) if nodes is None else nodes.astype(np.int32)
    check_rows("nodes", len(at), n)
    if n and (at.min() < 0 or at.max() >= len(children)):
        raise ValueError(f"rows start at nodes that are not among the {len(children)}")
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
    """The branch of some rows at one node; -1 at a gap."""
    attribute, limits, limit_starts, groups, group_starts, missing = tests
    if len(rows) and int(rows.max()) >= len(columns[attribute[k]]):
        raise ValueError(f"entries of node {k} are beyond the rows or branches")
    cells = columns[attribute[k]][rows]
    mine = limits[limit_starts[k] : limit_starts[k + 1]]
    if len(mine):
        x = cells.astype(np.float64)
        return np.where(np.isnan(x), missing[k], np.searchsorted(mine, x, side="left"))
    table = groups[group_starts[k] : group_starts[k + 1]]
    if len(cells) and int(cells.max()) >= len(table):
        raise ValueError(f"column {attribute[k]} holds code {int(cells.max())}; node {k} has {len(table)} groups")
    return table[cells]


def _check_tests(columns: Sequence[Array], tests: Tests, nodes: int) -> None:
    """Refuses tests that cannot be asked of these columns."""
    check_columns(columns, len(columns[0]) if columns else 0)
    if len(tests) != 6:
        raise ValueError(f"tests are 6 arrays, not {len(tests)}")
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
            raise ValueError(f"node {k} asks column {attribute[k]} of {len(columns)}")
        mine = limits[limit_starts[k] : limit_starts[k + 1]]
        if len(mine) == 0:
            check_codes(columns[attribute[k]], f"column {attribute[k]}")
        elif np.isnan(mine).any() or (mine[1:] < mine[:-1]).any():
            raise ValueError(f"the limits of node {k} do not ascend")


def _check_starts(starts: Array, name: str, length: int) -> None:
    if len(starts) == 0 or starts[0] < 0 or starts[-1] > length or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} must ascend from 0 to at most {length}")


def _highest_branch(tests: Tests, k: int) -> int:
    """The highest branch of an inner node; below 0 if there is none."""
    _, _, limit_starts, groups, group_starts, missing = tests
    limits = int(limit_starts[k + 1] - limit_starts[k])
    if limits:
        return max(limits, int(missing[k]))
    return int(groups[group_starts[k] : group_starts[k + 1]].max(initial=-1))
