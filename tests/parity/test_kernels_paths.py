"""The kernels that ask the tests of trees: compiled against NumPy, and NumPy against answers by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain, pairwise
from types import ModuleType

import numpy as np
import pytest

from countwise._kernels import over_blocks

from .levels import LEVELS, assert_array_equal, native, reference

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
VALUES = 6  # of each column of codes


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def arrays_of(nodes: list[tuple]) -> tuple:
    """The six arrays; a node is () for a leaf, or its column, its limits or groups, and the branch of a NaN."""
    limits = [list(node[1]) if node and node[2] is not None else [] for node in nodes]
    groups = [list(node[1]) if node and node[2] is None else [] for node in nodes]
    return (
        np.array([node[0] if node else -1 for node in nodes], np.int32),
        np.array(list(chain(*limits)), np.float64),
        np.cumsum([0, *map(len, limits)], dtype=np.int64),
        np.array(list(chain(*groups)), np.int32),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.array([node[2] if node and node[2] is not None else -1 for node in nodes], np.int32),
    )


def random_test(column: int, is_code: bool, rng: np.random.Generator, most_limits: int, gaps: bool) -> tuple:
    """A node that asks a column; its limits are often cells of the column."""
    low = -1 if gaps else 0
    if is_code and rng.random() < 0.8:
        return column, rng.integers(low, int(rng.integers(1, 4)), VALUES), None
    limits = np.sort(rng.integers(-3, 7, rng.integers(1, most_limits + 1)) / 2)
    return column, limits, int(rng.integers(low, len(limits) + 1))


def highest(node: tuple) -> int:
    return max(*node[1], -1) if node[2] is None else max(len(node[1]), node[2])


def random_tree(codes: list[bool], inner: int, rng: np.random.Generator, most_limits: int = 3, gaps: bool = True):
    """Tests and children of a tree with so many inner nodes; codes[j] says whether column j holds codes."""
    nodes: list[tuple] = [()]
    children = [0]
    waiting = [0]
    for _ in range(inner):
        k = waiting.pop(int(rng.integers(len(waiting))) if rng.random() < 0.7 else -1)
        column = int(rng.integers(len(codes)))
        nodes[k] = random_test(column, codes[column], rng, most_limits, gaps)
        # A node without a branch to go down, and memory that is no child's, are allowed.
        children[k] = len(nodes) + int(rng.integers(0, 2))
        for _ in range(children[k] + highest(nodes[k]) + 1 - len(nodes)):
            waiting.append(len(nodes))
            nodes.append(())
            children.append(0)
        if not waiting:
            break
    return arrays_of(nodes), np.array(children, np.int32)


def numbers(rows: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Cells near the limits of random trees and on them, and now and then far away or missing."""
    low, high = (0, 2) if dtype == "?" else (0, 7) if dtype[0] == "u" else (-6, 14)
    x = rng.integers(low, high, rows).astype(dtype)
    if dtype[0] == "f":
        x /= 2
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e300 if dtype == "f8" else 1e30, 5e-324], dtype)
        x = np.where(rng.random(rows) < 0.15, rng.choice(special, rows), x)
    elif dtype != "?":
        limits = np.iinfo(dtype)
        x = np.where(rng.random(rows) < 0.1, rng.choice(np.array([limits.min, limits.max], dtype), rows), x)
    return x


def table(rows: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[bool]]:
    """Columns of every type, and whether they are codes."""
    columns = [numbers(rows, dtype, rng) for dtype in COLUMN_TYPES]
    columns += [rng.integers(0, VALUES, rows).astype(dtype) for dtype in ("u1", "u2", "u4")]
    return columns, [False] * len(COLUMN_TYPES) + [True] * 3


def strided(columns: list[np.ndarray]) -> list[np.ndarray]:
    """The same cells, apart from each other, backward, or where no cell should be."""
    out = []
    for j, column in enumerate(columns):
        if j % 3 == 0:
            out.append(np.repeat(column, 3)[::3])
        elif j % 3 == 1:
            out.append(column[::-1].copy()[::-1])
        else:
            bytes_ = np.empty(column.nbytes + 1, np.uint8)[1:].view(column.dtype)
            bytes_[:] = column
            out.append(bytes_)
    return out


def segments(sizes: list[int], instances: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Entries of different instances in segments of these sizes, ascending, with random marks."""
    starts = np.cumsum([0, *sizes], dtype=np.int64)
    ids = rng.permutation(instances)[: starts[-1]]
    for a, b in pairwise(starts):
        ids[a:b].sort()
    return (2 * ids + rng.integers(0, 2, len(ids))).astype(np.uint32), starts


def check_apply(columns: list, rows: np.ndarray | None, nodes: np.ndarray | None, n: int, tests: tuple, children):
    ours = native.apply_tests(columns, rows, nodes, n, tests, children)
    theirs = reference.apply_tests(columns, rows, nodes, n, tests, children)
    assert ours.dtype == theirs.dtype == np.int32
    assert_array_equal(ours, theirs)
    return ours


def check_route(
    columns: list, entries: np.ndarray, starts: np.ndarray, tests: tuple, rows, branch: np.ndarray
) -> int:
    theirs = branch.copy()
    gaps = reference.route_entries(columns, entries, starts, tests, rows, theirs)
    assert native.route_entries(columns, entries, starts, tests, rows, branch) == gaps
    assert_array_equal(branch, theirs)
    return gaps


# Leaves


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rows", [0, 1, 2, 255, 256, 257, 1500])
def test_leaves_of_mixed_trees_equal_the_reference(level: str, seed: int, rows: int) -> None:
    rng = random(seed)
    columns, codes = table(rows, rng)
    tests, children = random_tree(codes, [1, 3, 40, 200][seed % 4], rng, most_limits=[1, 3, 30][seed % 3])
    ours = check_apply(columns, None, None, rows, tests, children)
    assert_array_equal(native.apply_tests(strided(columns), None, None, rows, tests, children), ours)
    if rows:
        some = rng.integers(0, rows, 700).astype(np.uint32)
        check_apply(columns, some, None, 700, tests, children)
        check_apply(columns, some, rng.integers(0, len(children), 700).astype(np.int32), 700, tests, children)
        check_apply(
            columns, some[::2], rng.integers(0, len(children), 700).astype(np.int32)[::2], 350, tests, children
        )
        check_apply(columns, None, rng.integers(0, len(children), rows).astype(np.int32), rows, tests, children)


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
@pytest.mark.parametrize("most_limits", [1, 2, 20])
@pytest.mark.parametrize("gaps", [False, True])
def test_leaves_of_numbers_of_one_type_equal_the_reference(level: str, dtype: str, most_limits: int, gaps: bool):
    rng = random(most_limits)
    X = np.stack([numbers(2000, dtype, rng) for _ in range(7)], axis=1)
    ends = 0
    for _ in range(8):
        tests, children = random_tree([False] * 7, 60, rng, most_limits, gaps)
        for frame in (X, np.asfortranarray(X), X[::-1]):
            ours = check_apply([frame[:, j] for j in range(7)], None, None, 2000, tests, children)
        ends += len(np.unique(ours))
        assert gaps or ours.min() >= 0
    assert ends > (10 if dtype == "?" else 30)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_leaves_of_codes_of_one_type_equal_the_reference(level: str, dtype: str) -> None:
    rng = random()
    X = rng.integers(0, VALUES, (3000, 7)).astype(dtype)
    for _ in range(5):
        nodes = [(int(rng.integers(7)), rng.integers(-1, 3, VALUES), None) for _ in range(60)]
        children = np.zeros(60 * 3 + 1, np.int32)
        children[:60] = 3 * np.arange(60) + 1
        tests = arrays_of(nodes + [()] * (len(children) - 60))
        ours = check_apply([X[:, j] for j in range(7)], None, None, 3000, tests, children)
        assert ours.min() < 0 < ours.max()


def test_every_row_of_a_deep_tree_comes_to_its_leaf(level: str) -> None:
    rng = random()
    tests, children = random_tree([False] * 20, 2000, rng, 1, gaps=False)
    X = rng.normal(1, 3, (5000, 20))
    check_apply([X[:, j] for j in range(20)], None, None, 5000, tests, children)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "mixed"])
def test_a_tree_may_be_a_chain(level: str, dtype: str) -> None:
    depth = 10_000
    # Node 2 k sends x <= k to the leaf 2 k + 1 and what is above it on.
    children = np.zeros(2 * depth + 1, np.int32)
    nodes: list[tuple] = [()] * (2 * depth + 1)
    x = np.array([-1.0, 0, 1, 5, 100, 9998, 9999, 1e30])
    for k in range(depth):
        nodes[2 * k] = (k % 2, [1, 1, 0], None) if dtype == "u1" else (k % 2, [k], 0)
        children[2 * k] = 2 * k + 1
    if dtype == "u1":
        leaves, column = [2 * depth, 1], np.array([0, 2], np.uint8)
    else:
        column = x.astype("f8" if dtype == "mixed" else dtype) if dtype != "i4" else np.minimum(x, 2**30).astype("i4")
        leaves = [1, 1, 3, 11, 201, 19997, 19999, 20000]
    columns = [column, column.astype("f4") if dtype == "mixed" else column]
    ends = native.apply_tests(columns, None, None, len(column), arrays_of(nodes), children)
    assert_array_equal(ends, leaves)


@pytest.mark.parametrize("kernels", [native, reference])
def test_leaves_by_hand(kernels: ModuleType) -> None:
    nan, inf = np.nan, np.inf
    columns = [np.array([1.0, 1.5, 2.0, 3.0, nan, inf, -inf]), np.array([0, 1, 2, 0, 1, 2, 0], np.uint8)]
    nodes = [(0, [1.0, 2.0], 2), (), (1, [0, -1, 1], None), (0, [2.5], -1), (), (), (), ()]
    children = np.array([1, 0, 4, 6, 0, 0, 0, 0], np.int32)
    ends = kernels.apply_tests(columns, None, None, 7, arrays_of(nodes), children)
    assert_array_equal(ends, [1, -3, 5, 7, -4, 7, 1])


@pytest.mark.parametrize("kernels", [native, reference])
def test_a_tree_of_one_leaf_asks_nothing(kernels: ModuleType) -> None:
    tests, children = arrays_of([()]), np.zeros(1, np.int32)
    assert_array_equal(kernels.apply_tests([], None, None, 3, tests, children), [0, 0, 0])
    assert_array_equal(kernels.apply_tests([np.zeros(3)], None, None, 2, tests, children), [0, 0])
    assert len(kernels.apply_tests([], None, None, 0, arrays_of([]), np.zeros(0, np.int32))) == 0


# Routes


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("out", ["u1", "u2", "u4"])
def test_branches_equal_the_reference(level: str, seed: int, out: str) -> None:
    rng = random(seed)
    columns, codes = table(2000, rng)
    sizes = [[2000], [0, 1, 2, 0, 500, 33, 0], [5] * 300, [40] * 45][seed % 4]
    nodes = []
    for _ in sizes:
        column = int(rng.integers(len(columns)))
        is_leaf = len(sizes) > 1 and rng.random() < 0.2
        nodes.append(() if is_leaf else random_test(column, codes[column], rng, [1, 3, 40][seed % 3], True))
    tests = arrays_of(nodes)
    entries, starts = segments(sizes, 2000, rng)
    branch = np.full(2000, 77, out)
    for cells in (columns, strided(columns)):
        check_route(cells, entries, starts, tests, None, branch)
        check_route(cells, entries, starts, tests, rng.integers(0, 2000, 2000).astype(np.uint32), branch)
        check_route(cells, entries, starts, tests, None, np.full(6000, 77, out)[::3])
        check_route(cells, entries, starts, tests, None, np.full(2000, 77, out)[::-1])
    if starts[-1]:
        # More instances than rows.
        entries, starts = segments([3 * size for size in sizes], 6000, rng)
        rows = rng.integers(0, 2000, 7000).astype(np.uint32)
        check_route(columns, entries, starts, tests, rows, np.full(6500, 77, out))


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("out", [np.uint8, np.uint16, np.uint32])
def test_branches_by_hand(kernels: ModuleType, out: type) -> None:
    columns = [np.array([1.0, np.nan, 2.0, 3.0]), np.array([2, 0, 1, 1], np.uint16)]
    tests = arrays_of([(0, [1.0], -1), (), (1, [0, -1, 5], None)])
    entries, starts = np.array([0, 3, 5, 6, 4, 1, 2, 6], np.uint32), np.array([0, 3, 4, 5], np.int64)
    branch = np.full(4, 9, out)
    assert kernels.route_entries(columns, entries, starts, tests, None, branch) == 2
    every = np.iinfo(out).max
    assert_array_equal(branch, [0, every, every, 9])  # the node of codes came last
    assert kernels.route_entries(columns, entries, starts, tests, np.array([3, 2, 0, 0], np.uint32), branch) == 0
    assert_array_equal(branch, [1, 1, 5, 9])


def test_instances_of_no_segment_are_left_alone(level: str) -> None:
    branch = np.full(100, 7, np.uint8)
    tests = arrays_of([(0, [0.0], 0)])
    some = np.arange(3, 100, 10)
    starts = np.array([0, len(some)], np.int64)
    native.route_entries([np.ones(100)], (2 * some).astype(np.uint32), starts, tests, None, branch)
    assert_array_equal(np.flatnonzero(branch == 1), some)
    assert (np.delete(branch, some) == 7).all()


# Calls


def test_threads_change_nothing() -> None:
    rng = random()
    columns, codes = table(20_000, rng)
    tests, children = random_tree(codes, 300, rng)

    def run(threads: int) -> np.ndarray:
        def work(a: int, b: int) -> np.ndarray:
            return native.apply_tests([column[a:b] for column in columns], None, None, b - a, tests, children)

        return np.concatenate(over_blocks(20_000, 1500, work, threads=threads))

    assert_array_equal(run(1), run(4))


GOOD = [(0, [0.0], 0), (1, [0, 1], None), (), (), ()]
CHILDREN = np.array([1, 3, 0, 0, 0], np.int32)


def changed(place: int, array: np.ndarray) -> tuple:
    tests = list(arrays_of(GOOD))
    tests[place] = array
    return tuple(tests)


def bad_tests() -> dict[str, tuple[tuple, type[Exception], str]]:
    attribute, limits, limit_starts, groups, group_starts, missing = arrays_of(GOOD)
    value = ValueError
    return {
        "five arrays": (arrays_of(GOOD)[:5], value, "6 arrays"),
        "a short attribute": (changed(0, attribute[:-1]), value, "attribute has 4 rows; 5 are needed"),
        "no such column": (changed(0, attribute + 2), value, "tests column"),
        "a wide attribute": (
            changed(0, attribute.astype(np.int64)),
            TypeError,
            "attribute is int64; it must be int32",
        ),
        "narrow limits": (changed(1, limits.astype(np.float32)), TypeError, "limits is float32; it must be float64"),
        "a missing limit": (changed(1, np.array([np.nan])), value, "limits of node 0 do not ascend"),
        "few limits": (changed(1, limits[:0]), value, "limit_starts must ascend"),
        "short limit_starts": (changed(2, limit_starts[:-1]), value, "limit_starts has 5 rows"),
        "negative limit_starts": (changed(2, limit_starts - 1), value, "limit_starts must ascend"),
        "descending limit_starts": (changed(2, np.array([0, 1, 0, 1, 1, 1])), value, "limit_starts must ascend"),
        "groups of numbers": (changed(2, 0 * limit_starts), TypeError, r"columns\[0\] must be a 1-D array"),
        "wide groups": (changed(3, groups.astype(np.int64)), TypeError, "groups is int64; it must be int32"),
        "far group_starts": (changed(4, group_starts + 1), value, "group_starts must ascend"),
        "descending group_starts": (changed(4, np.array([0, 2, 1, 2, 2, 2])), value, "group_starts must ascend"),
        "a short missing": (changed(5, missing[:-1]), value, "missing has 4 rows"),
        "a missing table": (changed(5, np.zeros((5, 1), np.int32)), value, "missing has shape"),
    }


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("name", bad_tests())
def test_bad_tests_are_refused(kernels: ModuleType, name: str) -> None:
    columns = [np.zeros(4), np.zeros(4, np.uint8)]
    tests, error, message = bad_tests()[name]
    with pytest.raises(error, match=message):
        kernels.apply_tests(columns, None, None, 4, tests, CHILDREN)
    with pytest.raises(error, match=message):
        kernels.route_entries(columns, np.zeros(0, np.uint32), np.zeros(6, np.int64), tests, None, np.zeros(4, "u1"))


@pytest.mark.parametrize("kernels", [native, reference])
def test_limits_that_do_not_ascend_are_refused(kernels: ModuleType) -> None:
    for limits in ([1.0, 0.0], [0.0, np.nan], [np.nan, 0.0]):
        with pytest.raises(ValueError, match="limits of node 0 do not ascend"):
            kernels.apply_tests([np.zeros(1)], None, None, 1, arrays_of([(0, limits, 0)]), CHILDREN[:1])


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("children", [[0, 3], [1, 1], [-5, 3], [4, 3], [1, 4], [1, 2**31 - 1], [2**31 - 1, 3]])
def test_children_that_are_not_after_their_node_are_refused(kernels: ModuleType, children: list[int]) -> None:
    columns = [np.zeros(4), np.zeros(4, np.uint8)]
    bad = np.array([*children, 0, 0, 0], np.int32)
    with pytest.raises(ValueError, match=r"children of node . are not among the nodes after it"):
        kernels.apply_tests(columns, None, None, 4, arrays_of(GOOD), bad)
    tests = changed(5, np.array([4, 0, 0, 0, 0], np.int32))  # the branch of a NaN has no child
    with pytest.raises(ValueError, match="children of node 0"):
        kernels.apply_tests(columns, None, None, 4, tests, CHILDREN)


@pytest.mark.parametrize("kernels", [native, reference])
def test_rows_and_nodes_that_are_not_there_are_refused(kernels: ModuleType) -> None:
    columns, tests = [np.zeros(4), np.zeros(4, np.uint8)], arrays_of(GOOD)
    for rows, nodes, n, message in [
        (None, None, 5, "Row 4 is beyond the 4 rows"),
        (np.array([0, 4], np.uint32), None, 2, "Row 4 is beyond the 4 rows"),
        (np.zeros(3, np.uint32), None, 2, "rows has 3 rows"),
        (None, np.zeros(3, np.int32), 2, "nodes has 3 rows"),
        (None, np.array([0, 5], np.int32), 2, "not among the 5 nodes"),
        (None, np.array([0, -1], np.int32), 2, "not among the 5 nodes"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernels.apply_tests(columns, rows, nodes, n, tests, CHILDREN)
    with pytest.raises(ValueError, match="not among the 0 nodes"):
        kernels.apply_tests([], None, None, 1, arrays_of([]), CHILDREN[:0])
    with pytest.raises(ValueError, match=r"columns\[1\] has 3 rows"):
        kernels.apply_tests([np.zeros(4), np.zeros(3, np.uint8)], None, None, 3, tests, CHILDREN)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_a_code_without_a_group_is_refused(kernels: ModuleType, dtype: str) -> None:
    codes = np.zeros(400, dtype)
    codes[300] = 2
    entries, starts = np.arange(0, 800, 2, dtype=np.uint32), np.array([0, 400], np.int64)
    for tests in (arrays_of([(0, [0, 1], None), (), ()]), arrays_of([(0, [], None), (), ()])):
        with pytest.raises(ValueError, match=r"columns\[0\] contains .*; node 0 has [02] groups"):
            kernels.apply_tests([codes], None, None, 400, tests, np.array([1, 0, 0], np.int32))
        one = (tests[0][:1], tests[1], tests[2][:2], tests[3], tests[4][:2], tests[5][:1])
        with pytest.raises(ValueError, match=r"columns\[0\] contains .*; node 0 has [02] groups"):
            kernels.route_entries([codes], entries, starts, one, None, np.zeros(400, np.uint8))
    # In a tree of several kinds too, where the code is met further down.
    tests = arrays_of([(1, [0.0], 0), (), (0, [0, 1], None), (), ()])
    with pytest.raises(ValueError, match=r"columns\[0\] contains .*; node 2 has 2 groups"):
        kernels.apply_tests([codes, np.ones(400)], None, None, 400, tests, np.array([1, 0, 3, 0, 0], np.int32))


@pytest.mark.parametrize("kernels", [native, reference])
def test_entries_that_are_not_there_are_refused(kernels: ModuleType) -> None:
    tests, columns = arrays_of([(0, [0.0], 0)]), [np.zeros(4)]
    entries, branch = np.array([0, 3, 8], np.uint32), np.zeros(9, np.uint8)
    starts = np.array([0, 3], np.int64)
    beyond = "Entries of node 0 are beyond the rows or branches"
    with pytest.raises(ValueError, match=beyond):
        kernels.route_entries(columns, entries, starts, tests, None, branch)
    with pytest.raises(ValueError, match=beyond):
        kernels.route_entries([np.zeros(9)], entries, starts, tests, None, branch[:4])
    with pytest.raises(ValueError, match=beyond):
        kernels.route_entries(columns, entries, starts, tests, np.zeros(4, np.uint32), branch)
    with pytest.raises(ValueError, match=beyond):
        kernels.route_entries(columns, entries, starts, tests, np.full(9, 4, np.uint32), branch)
    for bad in ([0, 4], [-1, 3], [2, 1], []):
        with pytest.raises(ValueError, match="starts"):
            kernels.route_entries(columns, entries, np.array(bad, np.int64), tests, None, branch)
    assert kernels.route_entries(columns, entries, np.array([0, 2], np.int64), tests, None, branch) == 0


@pytest.mark.parametrize("kernels", [native, reference])
def test_a_branch_that_would_be_taken_for_a_gap_is_refused(kernels: ModuleType) -> None:
    entries, starts, codes = np.zeros(1, np.uint32), np.array([0, 1], np.int64), np.zeros(1, np.uint8)
    for node in ((0, np.arange(255.0), 0), (0, [0.0], 255), (0, [0, 255], None)):
        with pytest.raises(ValueError, match="Branch 255 of node 0 is too high"):
            kernels.route_entries([codes], entries, starts, arrays_of([node]), None, np.zeros(1, np.uint8))
        kernels.route_entries([codes], entries, starts, arrays_of([node]), None, np.zeros(1, np.uint16))
    kernels.route_entries([codes], entries, starts, arrays_of([(0, np.arange(254.0), 254)]), None, codes.copy())


@pytest.mark.parametrize("kernels", [native, reference])
def test_arrays_of_other_types_are_refused(kernels: ModuleType) -> None:
    tests, columns = arrays_of([(0, [0.0], 0)]), [np.zeros(4)]
    entries, starts = np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    with pytest.raises(TypeError, match="branch must be a 1-D array"):
        kernels.route_entries(columns, entries, starts, tests, None, np.zeros(4, np.int8))
    with pytest.raises(TypeError, match=r"columns\[0\]"):
        kernels.route_entries([np.zeros(4, "c16")], entries, starts, tests, None, np.zeros(4, np.uint8))
    fixed = np.zeros(4, np.uint8)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernels.route_entries(columns, entries, starts, tests, None, fixed)


@pytest.mark.parametrize("wanted", LEVELS)
def test_the_level_in_the_environment_runs_the_kernels(wanted: str) -> None:
    program = """if True:
        import numpy as np
        from countwise import _kernels
        empty, starts, zero = np.zeros(0, np.int32), np.array([0, 1, 1, 1]), np.zeros(3, np.int32)
        tests = np.array([0, -1, -1], np.int32), np.zeros(1), starts, empty, 0 * starts, zero
        leaves = _kernels.apply_tests([np.arange(9.0)], None, None, 9, tests, zero + 1)
        print(_kernels.LEVEL, leaves.sum())
    """
    settings = {**os.environ, "COUNTWISE_LEVEL": wanted, "COUNTWISE_KERNELS": ""}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"x86-64-{wanted}", "17"]
