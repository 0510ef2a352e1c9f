"""The compiled kernel that counts families against the NumPy one, which is its specification."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from .levels import assert_array_equal, native, reference

SIZES = [2, 3, 4, 1, 7, 64, 65, 300, 0, 3]


def drawn(rows: int, gaps: float, seed: int = 0) -> list[np.ndarray]:
    """Columns of all types and strides; codes beyond their sizes where there are gaps."""
    rng = np.random.default_rng(seed)
    columns = []
    for j, size in enumerate(SIZES):
        kind = (np.uint8, np.uint16, np.uint32)[j % 3] if size < 255 else np.uint16
        codes = np.minimum(rng.geometric(0.4, 2 * rows) - 1, max(size - 1, 0))
        codes[rng.random(2 * rows) < gaps] = size + rng.integers(0, 2)
        columns.append(codes.astype(kind)[::2] if j % 2 else codes.astype(kind)[:rows])
    return columns


def check(columns: list[np.ndarray], sizes: list[int], families: Sequence[Sequence[int]], weights=None) -> None:
    ours = native.count_families(columns, sizes, families, weights)
    theirs = reference.count_families(columns, sizes, families, weights)
    assert len(ours) == len(theirs) == len(families)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert_array_equal(one, other)


def families_of(seed: int, n: int) -> list[tuple[int, ...]]:
    """Sets of columns in any order: alone, in runs that have all but one in common, small and large."""
    rng = np.random.default_rng(seed)
    found: list[tuple[int, ...]] = []
    while len(found) < n:
        first = tuple(rng.choice(6, size=int(rng.integers(0, 4)), replace=False).tolist())
        for other in rng.choice(len(SIZES), size=int(rng.integers(1, 6)), replace=False).tolist():
            family = [*first, other]
            rng.shuffle(family)
            found.append(tuple(family))
    return found


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 511, 8192, 20_000])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_families_are_counted_as_in_the_reference(level: str, rows: int, gaps: float) -> None:
    check(drawn(rows, gaps, rows), SIZES, families_of(rows, 60))


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "u1", "?"])
def test_weights_are_added_up_in_the_order_of_the_rows(level: str, kind: str) -> None:
    """To the last bit, so that nothing depends on how the work is shared."""
    weights = (5 * np.random.default_rng(1).random(20_000)).astype(kind)
    check(drawn(20_000, 0.1), SIZES, families_of(7, 40), weights)
    check(drawn(10_000, 0.0), SIZES, families_of(8, 40), np.asarray(weights)[::2])


def test_many_columns_and_columns_of_one_value_are_counted(level: str) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, n, 9000).astype(np.uint8) for n in [1] * 10 + [2] * 10]
    check(columns, [1] * 10 + [2] * 10, [range(12), range(20), range(8, 16), range(9, 17), [*range(10), 19]])


def test_a_column_may_be_in_a_family_twice(level: str) -> None:
    check(drawn(9000, 0.1), SIZES, [(0, 0), (1, 0, 0), (1, 1, 0), (2, 2, 2), (0, 5, 5)])


def test_a_family_without_cells_may_stand_between_others(level: str) -> None:
    check(drawn(9000, 0.1), SIZES, [(0, 1, 2), (0, 1, 8), (0, 1, 9), (8,), (0, 1, 2)])


def test_all_pairs_and_no_families_are_counted(level: str) -> None:
    columns = drawn(9000, 0.1)
    check(columns, SIZES, list(itertools.product(range(6), repeat=2)))
    check(columns, SIZES, [])
    check([], [], [])


@pytest.mark.parametrize("kernels", [native, reference])
def test_families_that_cannot_be_are_refused(kernels) -> None:
    columns = [np.zeros(4, np.uint8), np.zeros(4, np.uint16)]
    for family in ([0, 2], [-1]):
        with pytest.raises(ValueError, match="families contains column"):
            kernels.count_families(columns, [1, 1], [family], None)
    with pytest.raises(ValueError, match="no columns"):
        kernels.count_families(columns, [1, 1], [[0], []], None)
    with pytest.raises(ValueError, match="cells"):
        kernels.count_families(columns, [1 << 16, 1 << 16], [[0, 1]], None)
    with pytest.raises(ValueError, match="2 columns but 1 sizes"):
        kernels.count_families(columns, [1], [[0]], None)
    with pytest.raises(ValueError, match=r"columns\[1\] has 3 rows"):
        kernels.count_families([columns[0], columns[1][:3]], [1, 1], [[0, 1]], None)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        kernels.count_families(columns, [1, 1], [[0, 1]], np.ones(3))
    with pytest.raises(TypeError, match=r"columns\[0\]"):
        kernels.count_families([np.zeros(4)], [1], [[0]], None)
