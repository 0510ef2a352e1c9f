"""Random calls of the compiled kernels: valid ones, in other memory layouts, and with hostile arguments.

``python tests/faults/kernel_calls.py SEED CALLS`` makes calls until one is wrong; it runs in a process of its own,
because a call that is wrong may crash. A call with valid arguments must give what the reference gives, in any memory
layout. A call with hostile arguments must raise an error, or give a result.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from countwise._kernels import PairMetric, PairRows, reference
from countwise._kernels import _native as native

REFUSALS = (ValueError, TypeError, MemoryError, OverflowError)
SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")  # a size that no memory holds ends such a process
SIZES = [0, 1, 255, 256, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**61, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = [*SIZES, 2**64, 2**80, -1, -(2**31), -(2**63), np.nan, np.inf, -np.inf, 0.5, 1e308, 1e-308, 5e-324]
SMALL = [0, 1, 2, 255, -1, np.nan, 0.5]
Rng = np.random.Generator
Arguments = list[Any]


# Valid arguments


def codes(rng: Rng, n: int, k: int) -> np.ndarray:
    return rng.integers(0, k, n).astype(rng.choice([np.uint8, np.uint16, np.uint32]))


def column(rng: Rng, n: int) -> np.ndarray:
    kind = rng.choice([np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint8, np.bool_])
    values = rng.normal(scale=3, size=n).round(int(rng.integers(0, 3)))
    if np.issubdtype(kind, np.floating):
        values[rng.random(n) < 0.1] = np.nan
        return values.astype(kind)
    return (np.abs(values).astype(np.int64) % 2 if kind == np.bool_ else np.abs(values)).astype(kind)


def columns(rng: Rng, n: int) -> list[np.ndarray]:
    m = int(rng.integers(0, 8))
    if rng.random() < 0.5:
        matrix = rng.normal(size=(n, m)).astype(rng.choice([np.float64, np.float32]))
        matrix[rng.random((n, m)) < 0.05] = np.nan
        return list(matrix.T)
    return [column(rng, n) for _ in range(m)]


def weights(rng: Rng, n: int) -> np.ndarray | None:
    return None if rng.random() < 0.5 else rng.integers(0, 4, n).astype(float)


def any_weights(rng: Rng, n: int) -> np.ndarray | None:
    found = weights(rng, n)
    return found if found is None else found.astype(rng.choice([np.float64, np.int64, np.int32, np.uint8]))


def entries(rng: Rng, n: int) -> np.ndarray:
    return (2 * rng.permutation(n) + rng.integers(0, 2, n)).astype(np.uint32)


def starts(rng: Rng, n: int) -> np.ndarray:
    return np.concatenate([[0], np.sort(rng.integers(0, n + 1, int(rng.integers(0, 4)))), [n]]).astype(np.int64)


def pairs(rng: Rng) -> tuple[PairRows, PairRows, PairMetric]:
    m, c, k = int(rng.integers(0, 4)), int(rng.integers(0, 4)), 5

    def rows(n: int) -> PairRows:
        numbers = rng.normal(size=(n, m))
        numbers[rng.random((n, m)) < 0.1] = np.nan
        return PairRows(numbers, [codes(rng, n, k) for _ in range(c)])

    tables = [rng.random((k, k)) if rng.random() < 0.5 else float(rng.random()) for _ in range(c)]
    metric = PairMetric(
        rng.random(m),
        rng.random(m),
        tables,
        np.full((c, 2), k - 1),
        None if rng.random() < 0.5 else rng.random(m + c) + 0.1,
        2.0,
        float(rng.choice([1.0, 2.0, 3.0, np.inf])),
    )
    return rows(int(rng.integers(0, 20))), rows(int(rng.integers(0, 200))), metric


def letters(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    at = starts(rng, n := int(rng.integers(0, 300)))
    return rng.integers(97, 105, n).astype(np.uint32), at


def tests_of_a_tree(rng: Rng, m: int, k: int) -> tuple[Arguments, np.ndarray]:
    """Return tests and children of a tree of depth two over m columns, the first of which has k codes."""
    attribute = np.array([rng.integers(1, m), -1, 0, -1, -1], np.int32)
    groups = rng.integers(0, 2, k).astype(np.int32)
    return [
        attribute,
        rng.normal(size=1),
        np.array([0, 1, 1, 1, 1, 1]),
        groups,
        np.array([0, 0, 0, k, k, k]),
        np.array([int(rng.integers(-1, 2)), 0, 0, 0, 0], np.int32),
    ], np.array([1, 0, 3, 0, 0], np.int32)


def product_points(rng: Rng, n: int, m: int) -> Arguments:
    points = rng.normal(size=(n, m))
    points[rng.random((n, m)) < 0.05] = np.nan
    kinds = rng.integers(0, 3, m).astype(np.uint8)
    return [points, None if rng.random() < 0.5 else -rng.random(n), kinds, rng.random((m, 2)) + 0.5]


def counting_calls(rng: Rng, n: int, k: int) -> dict[str, Arguments]:
    x, y, out = columns(rng, n), codes(rng, n, k), rng.normal(size=(n, k))
    m = len(x)
    coded = [codes(rng, n, k) for _ in range(3)]
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 3, n))]).astype(rng.choice([np.int32, np.int64]))
    indices, cells = rng.integers(0, 6, indptr[-1]).astype(np.int32), column(rng, int(indptr[-1]))
    spread = rng.random((m, k))
    return {
        "class_moments": [x, y, weights(rng, n), k],
        "count_codes": [coded[0], y, any_weights(rng, n), k, k],
        "add_lookup": [coded, [rng.normal(size=(k, k)) for _ in coded], out],
        "add_gaussian": [x, spread, spread, spread, out],
        "add_poisson": [x, spread, out],
        "normalize": [out, str(rng.choice(["log", "proba"]))],
        "argmax_rows": [out],
        "class_scatter": [x, y, weights(rng, n), k, np.zeros(n, np.uint8)],
        "add_quadratic": [x, rng.random((k, m)), rng.random((k, 3, m)), out, np.zeros(n, np.uint8)],
        "add_linear": [x, rng.random(m), rng.random((k, m)), out, np.zeros(n, np.uint8)],
        "csr_class_sums": [indptr, indices, cells, y, weights(rng, n), k, 6, bool(rng.random() < 0.5)],
        "csr_add": [indptr, indices, cells, rng.normal(size=(6, k)), bool(rng.random() < 0.5), out],
        "count_families": [coded, [k, k, k], [[0, 1], [2], [0, 1, 2]], any_weights(rng, n)],
        "gaussian_loo": [rng.normal(size=n), float(n + 1), 0.1, float(n), 1.0, 0.0, np.empty(n)],
        "count_correct": [out, [rng.normal(size=(n, k))] * 2, y.astype(np.int64), weights(rng, n), 0],
        "sum_log_posterior": [out, 0, any_weights(rng, n), -50.0],
        "find_infinity": [x],
        "mark_columns": [x, -3, 9],
        "encode_columns": [x, [0] * m, [np.arange(6, dtype=np.uint8)] * m, [7] * m, [np.empty(n, np.uint8)] * m],
        "float_is_integral": [column(rng, n)],
        "integer_domain": [np.round(rng.normal(scale=4, size=n)), 1000],
        "factorize_objects": [np.array([*rng.choice(list("abc"), n), None], object)],
        "factorize_strings": [np.arange(n + 1, dtype=np.int32), rng.integers(97, 100, n).astype(np.uint8), 50],
    }


def tree_calls(rng: Rng, n: int, k: int) -> dict[str, Arguments]:
    x, y, e, at = column(rng, n), codes(rng, n, k), entries(rng, n), starts(rng, n)
    nodes = len(at) - 1
    segments = np.stack([at[:-1], at[1:]], axis=1)
    table = rng.integers(0, 9, (nodes, k, 3)).astype(rng.choice([np.uint32, np.int64, np.float64]))
    by = str(rng.choice(["gini", "entropy"]))
    tested, children = tests_of_a_tree(rng, 3, k)
    mixed = [codes(rng, n, k), rng.normal(size=n), rng.normal(size=n)]
    return {
        "presort": [x],
        "partition_entries": [e, at, rng.integers(0, 2, n).astype(np.uint8), np.arange(2 * nodes, dtype=np.int32),
                              np.arange(nodes + 1) * 2, 2 * nodes, None],
        "best_thresholds": [e, at, y, weights(rng, n), k, by, 0.0],
        "best_thresholds_of_numbers": [e, at, rng.normal(size=n), weights(rng, n), "variance", 0.0],
        "count_entries": [codes(rng, n, k), e, segments, y, None, None, k, k],
        "count_matrix": [rng.integers(0, k, (n, 3)).astype(np.uint8), e, segments, y, None, None, k, k],
        "sum_entries": [codes(rng, n, k), e, segments, rng.normal(size=n), weights(rng, n), None, k, np.zeros(nodes)],
        "best_bins": [table, k, by, 0.0],
        "branch_gains": [table, k, by, 0.0],
        "route_entries": [mixed, e, np.array([0, n, n, n, n, n]), tested, None, np.zeros(n, np.uint8)],
        "apply_tests": [mixed, None, None, n, tested, children],
    }  # fmt: skip


def other_calls(rng: Rng, n: int, k: int) -> dict[str, Arguments]:
    x, y = np.sort(rng.normal(size=n)), codes(rng, n, k)
    queries, rows, metric = pairs(rng)
    a, b = letters(rng), letters(rng)
    points, logs, kinds, scales = product_points(rng, n, int(rng.integers(0, 4)))
    boxes = reference.product_boxes(points, logs)
    w = weights(rng, n)
    kernel = [x, w, 0.3]
    edges = np.sort(rng.normal(size=int(rng.integers(0, 40))))
    return {
        "mdl_cuts": [x, y, any_weights(rng, n), k],
        "merge_sets": [[x, x[: n // 2]], [None, None if w is None else w[: n // 2]]],
        "kmeans_1d": [np.unique(np.append(x, 9.0)), None, 1],
        "cut_codes": [column(rng, n), edges, np.empty(n, np.uint8)],
        "gauss_expand": [*kernel, 1e-9],
        "gauss_log_sums": [*kernel, *reference.gauss_expand(*kernel, 1e-9), 1e-9, rng.normal(size=5)],
        "gauss_loo_log_sums": [*kernel, *reference.gauss_expand(*kernel, 1e-9), 1e-9],
        "product_boxes": [points, logs],
        "product_order": [points, kinds, scales],
        "product_log_sums": [points, logs, boxes, kinds, scales, points[:5], None, None, None, 1e-9],
        "pair_sums": [queries, rows, metric],
        "nearest": [queries, rows, metric, 3.0, np.inf, None, None],
        "row_tree": [rows, metric],
        "edit_distances": [*a, *b, np.empty((len(a[1]) - 1, len(b[1]) - 1), np.uint32)],
    }


def bin_calls(rng: Rng, n: int) -> dict[str, Arguments]:
    x = [rng.normal(size=n) for _ in range(2)]
    maps = [np.array([[-4.0, 2.0**21]] * 2), np.full((2, 257), 4095 << 0, np.uint32)]
    words, slots = np.zeros((2, 4097), np.uint16), np.zeros((2, 4097), np.uint16)
    return {
        "few_values": [x, 20],
        "bin_counts": [x, None, *maps, np.zeros((2, 4097), np.uint32), np.zeros((0, 4097))],
        "bin_collect": [x, None, *maps, words, slots, np.zeros((2, 3), np.uint8), np.full((2, 3), np.nan), [n, n],
                        [np.zeros(n, np.uint8) for _ in range(2)]],
        "bin_amend": [x[0], np.arange(n, dtype=np.uint32), np.full(512, np.inf), 1, np.zeros(n, np.uint8)],
        "bin_codes": [x, *maps, words, np.full((2, 512), np.inf), [1, 1], [np.zeros(n, np.uint8) for _ in range(2)]],
    }  # fmt: skip


def calls(rng: Rng) -> dict[str, Arguments]:
    n, k = int(rng.choice([1, 2, 7, 64, 130, 600])), int(rng.choice([1, 2, 3, 5, 20]))
    return counting_calls(rng, n, k) | tree_calls(rng, n, k) | other_calls(rng, n, k) | bin_calls(rng, n)


# Changes of arguments


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every argument and every part of it, with its path."""
    yield path, value
    if isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from places(part, (*path, i))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    parts = list(value)
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def strided(rng: Rng, x: np.ndarray) -> np.ndarray:
    """Return an equal array with other strides."""
    kind = rng.integers(0, 4)
    if kind == 0:  # every second element
        wide = np.repeat(x, 2, axis=-1)
        return wide[..., ::2]
    if kind == 1:  # in reverse
        return np.ascontiguousarray(x[::-1])[::-1]
    if kind == 2:  # by columns
        return np.asfortranarray(x)
    memory = np.empty(x.nbytes + 1, np.uint8)[1:]  # not aligned
    moved = memory.view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def hostile_array(rng: Rng, x: np.ndarray) -> Any:
    """Return an array of another type, shape or content."""
    y = x.copy()
    changes: list[Callable[[], Any]] = [
        lambda: y[:-1],
        lambda: y[:0],
        lambda: np.concatenate([y, y]),
        lambda: y[None],
        lambda: y.reshape(-1),
        lambda: y.astype(rng.choice([np.float64, np.float32, np.int64, np.int32, np.uint8, np.uint32, object])),
        lambda: y.astype(y.dtype.newbyteorder()),
        lambda: np.lib.stride_tricks.as_strided(y, writeable=False),
        lambda: np.broadcast_to(y.dtype.type(0), x.shape),
        lambda: np.array(0, x.dtype),
        lambda: memoryview(y) if y.dtype != object and y.ndim else None,
    ]
    if y.size and y.dtype != object and rng.random() < 0.6:
        high = np.iinfo(y.dtype).max if y.dtype.kind in "iu" else 1
        low = np.iinfo(y.dtype).min if y.dtype.kind in "iu" else 0
        values = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308] if y.dtype.kind == "f" else [high, high - 1, low, 1]
        values = [value for value in values if y.dtype != np.float32 or abs(value) != 1e308]
        y[tuple(rng.integers(0, s) for s in y.shape)] = rng.choice(values)
        return y
    return changes[rng.integers(0, len(changes))]()


def hostile(rng: Rng, value: Any) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < 0.85:
        return hostile_array(rng, value)
    if isinstance(value, (list, tuple)) and rng.random() < 0.7 and not hasattr(value, "_fields"):
        parts = list(value)
        return [parts[:-1], parts + parts[:1], parts[::-1], []][rng.integers(0, 4)]
    number = NUMBERS[rng.integers(0, len(NUMBERS))] if not SANITIZED else SMALL[rng.integers(0, len(SMALL))]
    return [number, number, number, None, "x", b"x", np.arange(3), []][rng.integers(0, 8)]


def changed(rng: Rng, arguments: Arguments, change: Callable[[Rng, Any], Any], *, arrays: bool) -> Arguments:
    found = [(path, value) for path, value in places(arguments) if path]
    if arrays:
        found = [(path, value) for path, value in found if isinstance(value, np.ndarray) and value.ndim]
    for _ in range(int(rng.integers(1, 3))):
        if not found:
            break
        path, value = found[rng.integers(0, len(found))]
        with contextlib.suppress(IndexError, TypeError, ValueError, OverflowError):  # a part that was replaced before
            arguments = replaced(arguments, path, change(rng, value))
    return arguments


# Results


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        if ours.dtype.kind == "f":
            return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6, atol=1e-9, equal_nan=True)
        return np.array_equal(ours, theirs)
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float):
        return bool(np.isclose(ours, theirs, rtol=1e-6, equal_nan=True))
    return bool(ours == theirs) if not isinstance(ours, native.RowTree) else True


def check(rng: Rng, name: str, arguments: Arguments) -> None:
    """Compare a valid call, in any layout, with the reference; where gains tie, rounding decides."""
    mine = changed(rng, copy.deepcopy(arguments), strided, arrays=True) if rng.random() < 0.5 else arguments
    theirs = copy.deepcopy(mine)
    try:
        found = getattr(native, name)(*mine)
    except (ValueError, TypeError) as error:
        if "contiguous" in str(error):  # arrays that are written, or not copied
            return
        raise
    if name.startswith("gauss_") or not hasattr(reference, name):  # expansions differ; steps have no reference
        return
    expected = getattr(reference, name)(*theirs)
    assert same(found, expected), f"{name}: {found} is not {expected}"
    assert same(mine, theirs), f"{name} wrote other numbers than the reference"


def attack(rng: Rng, name: str, arguments: Arguments) -> bool:
    """Make a hostile call; return whether it was refused."""
    arguments = changed(rng, arguments, hostile, arrays=False)
    try:
        getattr(native, name)(*arguments)
    except REFUSALS:
        return True
    return False


def main(seed: int, count: int) -> None:
    """Make random calls, and print how many were refused."""
    with contextlib.suppress(ImportError, ValueError):
        import resource

        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    rng = np.random.default_rng(seed)
    made = refused = 0
    while made < count:
        for name, arguments in calls(rng).items():
            made += 1
            last = f"{name}, seed {seed}, call {made}"
            try:
                if rng.random() < 0.3:
                    check(rng, name, arguments)
                else:
                    refused += attack(rng, name, arguments)
            except BaseException as error:
                error.add_note(last)
                raise
    sys.stdout.write(f"{made} {refused}\n")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(int(sys.argv[1]), int(sys.argv[2]))
