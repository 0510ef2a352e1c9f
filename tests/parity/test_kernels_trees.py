"""The kernels that sort, part and search the entries of trees: compiled against NumPy, NumPy against definitions."""

from __future__ import annotations

from itertools import pairwise
from math import log2
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countwise._kernels import over_items

from .levels import assert_allclose, assert_array_equal, native, reference

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
CODE_TYPES = [np.uint8, np.uint16, np.uint32]
WEIGHTS = ["none", "ones", "whole", "large", "float"]


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def weights_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray | None:
    match kind:
        case "none":
            return None
        case "ones":
            return np.ones(n)
        case "whole":
            return rng.integers(1, 9, n).astype(float)
        case "large":
            return rng.integers(1, 10**6, n) * 1e6
        case _:
            return rng.random(n) + 0.01


# Sorting


def check_sorted(column: np.ndarray) -> None:
    ours, theirs = native.presort(column), reference.presort(column)
    assert ours.dtype == theirs.dtype == np.uint32
    assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 70, 5000])
def test_a_column_of_any_type_is_sorted_as_in_the_reference(level: str, dtype: str, rows: int) -> None:
    rng = random(rows)
    if dtype == "?":
        cells = rng.random(rows) < 0.3
    elif dtype[0] == "f":
        cells = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) * 10.0 ** rng.integers(-30, 30, rows))
    else:
        limits = np.iinfo(dtype)
        cells = rng.integers(limits.min, limits.max, rows, dtype=dtype, endpoint=True)
    cells = cells.astype(dtype)
    check_sorted(cells)
    check_sorted(cells[::-1])
    check_sorted(cells[::3])
    check_sorted(np.stack([cells] * 20, axis=1)[:, 7])
    check_sorted(np.sort(cells))
    check_sorted(np.sort(cells)[::-1])
    unaligned = np.empty(cells.nbytes + 1, np.uint8)[1:].view(dtype)
    unaligned[:] = cells
    check_sorted(unaligned)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_zeros_of_both_signs_are_equal_and_infinities_are_values(level: str, dtype: str) -> None:
    cells = np.array([0.0, -0.0, np.inf, 1e-45, -np.inf, -0.0, np.nan, -1e-45, 0.0, -np.nan, np.inf, -3], dtype)
    check_sorted(cells)
    rows = native.presort(cells)
    assert_array_equal(rows >> 1, [4, 11, 7, 0, 1, 5, 8, 3, 2, 10])
    assert_array_equal(rows & 1, [1, 1, 1, 1, 0, 0, 0, 1, 1, 0])


@pytest.mark.parametrize("cells", [[], [np.nan], [np.nan] * 9, [5.0], [5.0] * 300, [np.nan, 2.0, np.nan]])
def test_columns_with_little_to_sort(level: str, cells: list[float]) -> None:
    check_sorted(np.array(cells))
    check_sorted(np.array(cells, np.float32))


@pytest.mark.parametrize("seed", range(4))
def test_cells_that_differ_in_their_last_bits_alone_are_sorted(level: str, seed: int) -> None:
    rng = random(seed)
    n = 3000
    near = 1.0 + rng.integers(0, 1 << 20, n) * 2.0**-52
    far = np.where(rng.random(n) < 0.5, 1e300, -1e300)
    for cells in (
        near,
        np.where(rng.random(n) < 0.02, far, near),  # most have equal upper bits
        np.where(rng.random(n) < 0.5, near, -near),
        np.where(rng.random(n) < 0.7, 1.0 + rng.integers(0, 3, n) * 2.0**-52, far),
        1.6e9 + rng.integers(0, 10**6, n) / 8,
        np.concatenate([1e300 * np.sign(rng.normal(size=9)), near[:39], 2 * near[:40], 4 * near[:41]]),
        rng.integers(-(2**63), 2**63 - 1, n) | 1,
        2**60 + rng.integers(0, 2000, n),  # float64 makes some of them equal
        np.uint64(2**64 - 1) - rng.integers(0, 9000, n).astype(np.uint64),
    ):
        check_sorted(cells)


@given(st.lists(st.floats(width=64), max_size=200), st.sampled_from(["f8", "f4"]))
@settings(max_examples=200, deadline=None)
def test_any_floats_are_sorted_as_in_the_reference(cells: list[float], dtype: str) -> None:
    with np.errstate(over="ignore"):
        check_sorted(np.array(cells).astype(dtype))


def test_a_long_column_is_sorted_as_in_the_reference(level: str) -> None:
    rng = random()
    x = rng.normal(size=200_000)
    for cells in (x, np.round(x, 2), np.exp(9 * x), np.round(x), np.where(rng.random(len(x)) < 0.2, np.nan, x)):
        check_sorted(cells)
        check_sorted(cells.astype(np.float32))


@pytest.mark.parametrize("kernels", [native, reference])
def test_what_is_not_a_column_is_not_sorted(kernels: ModuleType) -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        kernels.presort(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="column is"):
        kernels.presort(np.zeros(3, np.float16))
    with pytest.raises(TypeError, match="column is"):
        kernels.presort(np.zeros(3, complex))
    with pytest.raises(ValueError, match=r"2147483648 rows exceed the maximum of 2147483647"):
        kernels.presort(np.broadcast_to(np.float64(1), (1 << 31,)))


# Parting


def some_entries(sizes: list[int], domain: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Entries of instances in any order, of about `domain` values in each segment."""
    n = sum(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    fresh = np.zeros(n, np.uint32)
    for a, b in pairwise(starts):
        fresh[a:b] = rng.random(b - a) * (b - a) < domain
        fresh[a : min(a + 1, b)] = 1
    return (2 * rng.permutation(n) + fresh).astype(np.uint32), starts


def some_slots(branches: list[int], dropped: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    first = np.concatenate([[0], np.cumsum(branches)]).astype(np.int64)
    kept = rng.random(first[-1]) >= dropped
    numbers = np.sort(rng.choice(2 * kept.sum() + 1, kept.sum(), replace=False))  # some segments stay empty
    slots = np.full(first[-1], -1, np.int32)
    slots[kept] = numbers
    return slots, first, int(2 * kept.sum() + 1)


def check_parted(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
    ours, theirs = native.partition_entries(*arguments), reference.partition_entries(*arguments)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)
    return ours


@pytest.mark.parametrize("kind", CODE_TYPES)
@pytest.mark.parametrize("domain", [1, 7, 10**6])
@pytest.mark.parametrize("most", [2, 3, 9])
def test_entries_are_parted_as_in_the_reference(level: str, kind: type, domain: int, most: int) -> None:
    rng = random(most)
    for sizes in ([], [0], [1], [5], [0, 3, 0], [700], [40, 1, 0, 300, 9, 9], [5] * 200):
        entries, starts = some_entries(sizes, domain, rng)
        branches = [int(rng.choice([0, 2, 2, most, most])) for _ in sizes]
        node = np.repeat(np.arange(len(sizes)), sizes)
        branch = np.zeros(len(entries), kind)
        branch[entries >> 1] = (rng.random(len(entries)) * np.array(branches, int)[node]).astype(kind)
        for dropped in (0.0, 0.4, 1.0):
            slots, first, n_next = some_slots(branches, dropped, rng)
            check_parted(entries, starts, branch, slots, first, n_next, None)
            check_parted(entries, starts, np.repeat(branch, 2)[::2], slots, first, n_next, None)
            copies = np.zeros(len(branch), np.uint32)
            check_parted(entries, starts, branch, slots, first, n_next, copies)


@pytest.mark.parametrize("kind", CODE_TYPES)
@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_instances_that_go_down_all_branches_are_copied(level: str, kind: type, share: float) -> None:
    rng = random()
    for most in (1, 2, 5):
        sizes = [300, 0, 1, 20, 400]
        entries, starts = some_entries(sizes, 50, rng)
        branches = [2, most, most, 0, most]
        node = np.repeat(np.arange(len(sizes)), sizes)
        branch = np.zeros(len(entries), kind)
        branch[entries >> 1] = (rng.random(len(entries)) * np.array(branches)[node]).astype(kind)
        branch[rng.random(len(branch)) < share] = np.iinfo(kind).max
        copies = (2**31 - 9 - 7 * np.arange(len(branch))).astype(np.uint32)
        for dropped in (0.0, 0.4):
            slots, first, n_next = some_slots(branches, dropped, rng)
            parted, _ = check_parted(entries, starts, branch, slots, first, n_next, copies)
            assert dropped or len(parted) > len(entries) - 20
            with pytest.raises(ValueError, match="goes down all branches but has no copies"):
                native.partition_entries(entries, starts, branch, slots, first, n_next, None)


def test_a_value_is_new_to_a_segment_that_its_first_entry_did_not_enter(level: str) -> None:
    entries = np.array([1, 2, 4, 7, 9, 10], np.uint32)  # instances 0, 1, 2 | 3 | 4, 5
    starts, first = np.array([0, 6]), np.array([0, 2])
    branch = np.array([0, 1, 0, 0, 0, 1], np.uint8)
    for kernels in (native, reference):
        parted, begins = kernels.partition_entries(
            entries, starts, branch, np.array([0, 1], np.int32), first, 2, None
        )
        assert_array_equal(parted, [1, 4, 7, 9, 3, 11])
        assert_array_equal(begins, [0, 4, 6])


@pytest.mark.parametrize("kernels", [native, reference])
def test_entries_that_cannot_be_parted_are_refused(kernels: ModuleType) -> None:
    good = {
        "entries": np.array([1, 3, 4], np.uint32),
        "starts": np.array([0, 2, 3]),
        "branch": np.array([0, 1, 0], np.uint8),
        "slots": np.array([0, -1, 1, 2], np.int32),
        "first": np.array([0, 2, 4]),
        "n_next": 3,
        "copies": None,
    }
    kernels.partition_entries(**good)
    three = {"slots": np.array([0, -1, 1, 2, 3], np.int32), "first": np.array([0, 3, 5]), "n_next": 4}
    kernels.partition_entries(**good | three)
    for change, error, message in (
        ({"entries": np.array([1, 3, 6], np.uint32)}, ValueError, "an instance that does not exist"),
        ({"entries": np.array([1, 3, 4])}, TypeError, "entries is int64; it must be uint32"),
        ({"starts": np.array([0, 2, 4])}, ValueError, "starts must ascend and lie between 0 and 3"),
        ({"starts": np.array([-1, 2, 3])}, ValueError, "starts must ascend"),
        ({"starts": np.array([0, 4, 3])}, ValueError, "starts must ascend"),
        ({"starts": np.array([], np.int64)}, ValueError, "starts must ascend"),
        ({"starts": np.array([0, 2, 3], np.int32)}, TypeError, "starts is int32; it must be int64"),
        ({"branch": np.array([0, 2, 0], np.uint8)}, ValueError, "A branch number exceeds the branches"),
        ({"branch": np.array([0, 255, 0], np.uint8)}, ValueError, "has no copies"),
        (three | {"branch": np.array([0, 7, 0], np.uint8)}, ValueError, "A branch number exceeds the branches"),
        (three | {"branch": np.array([0, 255, 0], np.uint8)}, ValueError, "has no copies"),
        (three | {"entries": np.array([1, 8, 4], np.uint32)}, ValueError, "an instance that does not exist"),
        ({"branch": np.zeros(3, np.int64)}, TypeError, "branch must be a 1-D array"),
        ({"slots": np.array([0, -1, 1, 3], np.int32)}, ValueError, "slots must be -1 or ascend from 0 to below 3"),
        ({"slots": np.array([0, -2, 1, 2], np.int32)}, ValueError, "slots must be"),
        ({"slots": np.array([1, -1, 1, 2], np.int32)}, ValueError, "slots must be"),
        ({"slots": np.array([0, 1, 2, 3])}, TypeError, "slots is int64; it must be int32"),
        ({"first": np.array([0, 2, 5])}, ValueError, "first must ascend and lie between 0 and 4"),
        ({"first": np.array([0, 4])}, ValueError, "first has 2 rows; 3 are needed"),
        ({"copies": np.array([1], np.uint32)}, ValueError, "copies has 1 rows; 3 are needed"),
        ({"copies": np.array([1, 2, 3])}, TypeError, "copies is int64; it must be uint32"),
    ):
        with pytest.raises(error, match=message):
            kernels.partition_entries(**good | change)
    copies = {"copies": np.array([0, 2**31 - 1, 0], np.uint32), "branch": np.array([0, 255, 0], np.uint8)}
    for change in (
        {"slots": np.array([0, 1, 2, 3], np.int32), "n_next": 4},
        three | {"slots": np.arange(5, dtype="i4"), "n_next": 5},
    ):
        with pytest.raises(ValueError, match="copies exceeds the maximum instance number"):
            kernels.partition_entries(**good | change | copies)


# Thresholds of classes


def check_best(ours: tuple, theirs: tuple, scale: float = 1.0) -> None:
    assert ours[0].dtype == theirs[0].dtype
    assert ours[1].dtype == theirs[1].dtype
    assert_array_equal(ours[0], theirs[0])
    assert_allclose(ours[1], theirs[1], rtol=1e-10, atol=1e-13 * scale)


def some_classes(entries: np.ndarray, n_classes: int, kind: type, rng: np.random.Generator) -> np.ndarray:
    """Classes that depend on the place."""
    n = len(entries)
    codes = np.zeros(n, kind)
    near = (np.arange(n) * n_classes // max(n, 1) + rng.integers(0, max(n_classes // 2, 1), n)) % n_classes
    codes[entries >> 1] = np.where(rng.random(n) < 0.5, near, rng.integers(0, n_classes, n))
    return codes


SIZES = [[], [0], [3, 0, 1, 5], [31, 32, 33, 34, 64, 65, 66], [*[5] * 20, *[2] * 20], [3000, 2, 2000]]


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_thresholds_of_classes_are_the_reference_s(level: str, n_classes: int, criterion: str, weight: str) -> None:
    rng = random(n_classes)
    for sizes in SIZES:
        for domain in (3, 10**6):
            entries, starts = some_entries(sizes, domain, rng)
            codes = some_classes(entries, n_classes, rng.choice(CODE_TYPES), rng)
            w = weights_of(weight, len(codes), rng)
            for least in (0.0, 1.0, 5.0 if w is None else 5 * w.mean() if len(w) else 1.0):
                rest = (codes, w, n_classes, criterion, least)
                check_best(
                    native.best_thresholds(entries, starts, *rest), reference.best_thresholds(entries, starts, *rest)
                )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_thousands_of_classes_in_small_segments(level: str, criterion: str, weight: str) -> None:
    rng = random()
    entries, starts = some_entries([*rng.integers(0, 9, 50), 1500, *rng.integers(0, 9, 50)], 10**6, rng)
    codes = rng.integers(0, 3000, len(entries)).astype(np.uint16)
    rest = (codes, weights_of(weight, len(codes), rng), 3000, criterion, 1.0)
    check_best(native.best_thresholds(entries, starts, *rest), reference.best_thresholds(entries, starts, *rest))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_thresholds_of_many_entries_are_the_reference_s(level: str, criterion: str, n_classes: int) -> None:
    rng = random()
    entries, starts = some_entries([150_000, 50_000], 10**6, rng)
    noise = rng.integers(0, n_classes, len(entries)).astype(np.uint8)
    separate = np.zeros(len(entries), np.uint8)
    separate[entries >> 1] = np.arange(len(entries)) * n_classes // len(entries)
    for codes in (noise, separate, some_classes(entries, n_classes, np.uint8, rng)):
        for weight in ("none", "whole"):
            rest = (codes, weights_of(weight, len(codes), rng), n_classes, criterion, 1.0)
            check_best(
                native.best_thresholds(entries, starts, *rest), reference.best_thresholds(entries, starts, *rest)
            )


def in_order(n: int, fresh: list[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    marks = np.ones(n, int) if fresh is None else np.array(fresh)
    return (2 * np.arange(n) + marks).astype(np.uint32), np.array([0, n])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weight", [None, 1.0, 3.0, 0.1, 1e-7 / 3, 1e300, 1e-300])
def test_of_equally_good_places_the_first_is_taken(level: str, criterion: str, weight: float | None) -> None:
    for codes, place in (
        ([0, 1, 1, 0], 1),
        ([0, 1, 0, 1, 0, 1, 0], 1),
        ([0, 0, 1, 1, 1, 0, 0], 2),
        ([2, 2, 2, 1, 0, 1, 0, 1, 2, 2, 2], 3),
        ([0, 1, 2, 2, 1, 0], 1),
        ([1] * 9, 1),
        ([0, 1] * 40 + [1, 0] * 40, 1),
        ([0] * 50 + [1] * 100 + [0] * 50, 50),
        (([0] * 7 + [1] * 11 + [0] * 7) * 3, 7),
    ):
        c = np.array(codes, np.uint8)
        w = None if weight is None else np.full(len(c), weight)
        for kernels in (native, reference):
            for n_classes in (int(c.max()) + 1, 30):
                places, gains = kernels.best_thresholds(*in_order(len(c)), c, w, n_classes, criterion, 0.0)
                assert places[0] == place
                assert (gains[0] < 1e-15) == (len(set(codes)) == 1)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_thresholds_of_small_segments_with_many_ties_are_the_reference_s(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 40))
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.uint8)
    marks = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    unit = data.draw(st.sampled_from([None, 1.0, 7.0, 0.1, 1 / 3]))
    w = (
        None
        if unit is None
        else unit * np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), float)
    )
    least = data.draw(st.sampled_from([0.0, 1.0, 2.0, 0.3]))
    entries, _ = in_order(n, marks)
    starts = np.array([0, *cuts, n])
    for criterion in ("gini", "entropy"):
        rest = (codes, w, 3, criterion, least)
        check_best(native.best_thresholds(entries, starts, *rest), reference.best_thresholds(entries, starts, *rest))
    for criterion in ("variance", "sd"):
        for values in (codes / 1.0, codes / 3 + 1e6, codes * -1e-200):
            rest = (values, w, criterion, least)
            check_numbers(entries, starts, *rest)


def gain_of(codes: np.ndarray, weights: np.ndarray, place: int, criterion: str) -> float:
    """From the definition."""

    def impurity(side: slice) -> float:
        p = [weights[side][codes[side] == c].sum() / weights[side].sum() for c in set(codes[side].tolist())]
        return 1 - sum(x * x for x in p) if criterion == "gini" else -sum(x * log2(x) for x in p)

    share = weights[:place].sum() / weights.sum()
    return impurity(slice(None)) - share * impurity(slice(place)) - (1 - share) * impurity(slice(place, None))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_best_threshold_is_that_of_all_places(level: str, criterion: str) -> None:
    rng = random()
    for _ in range(30):
        n = int(rng.integers(2, 60))
        codes, w, marks = rng.integers(0, 3, n).astype(np.uint8), rng.random(n) + 0.1, rng.integers(0, 2, n)
        allowed = [p for p in range(1, n) if marks[p]]
        for kernels in (native, reference):
            (place,), (gain,) = kernels.best_thresholds(*in_order(n, list(marks)), codes, w, 3, criterion, 0.0)
            if not allowed:
                assert (place, gain) == (-1, 0)
                continue
            assert place in allowed
            assert gain == pytest.approx(max(gain_of(codes, w, p, criterion) for p in allowed), abs=1e-13)
            assert gain == pytest.approx(gain_of(codes, w, int(place), criterion), abs=1e-13)


@pytest.mark.parametrize("weight", [None, 0.1])
def test_each_side_keeps_the_least_weight(level: str, weight: float | None) -> None:
    codes = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 1], np.uint8)
    w = None if weight is None else np.full(10, weight)
    one = 1.0 if weight is None else weight
    for kernels in (native, reference):
        for least, place in ((1, 1), (2, 2), (3, 3), (5, 5), (5.1, -1), (6, -1)):
            assert kernels.best_thresholds(*in_order(10), codes, w, 2, "gini", least * one)[0][0] == place
            assert kernels.best_thresholds(*in_order(10), codes, w, 3, "entropy", least * one)[0][0] == place
            found = kernels.best_thresholds_of_numbers(*in_order(10), codes / 7, w, "variance", least * one)
            assert found[0][0] == place
            found = kernels.best_thresholds_of_numbers(*in_order(10), codes / 7, w, "sd", least * one)
            assert found[0][0] == place


@pytest.mark.parametrize("kernels", [native, reference])
def test_classes_that_cannot_be_parted_are_refused(kernels: ModuleType) -> None:
    entries, starts = in_order(4)
    codes = np.array([0, 1, 1, 0], np.uint8)
    for n_classes in (2, 3):
        with pytest.raises(ValueError, match="an instance that does not exist"):
            kernels.best_thresholds(entries, starts, codes[:3], None, n_classes, "gini", 1.0)
    with pytest.raises(ValueError, match="a class that does not exist"):
        kernels.best_thresholds(entries, starts, codes, None, 1, "gini", 1.0)
    with pytest.raises(ValueError, match="a class that does not exist"):
        kernels.best_thresholds(entries, starts, codes, None, 0, "entropy", 1.0)
    with pytest.raises(ValueError, match="criterion must be one of 'gini', 'entropy', not 'sd'"):
        kernels.best_thresholds(entries, starts, codes, None, 2, "sd", 1.0)
    with pytest.raises(ValueError, match="weights has 3 rows; 4 are needed"):
        kernels.best_thresholds(entries, starts, codes, np.ones(3), 2, "gini", 1.0)
    with pytest.raises(TypeError, match="codes must be a 1-D array"):
        kernels.best_thresholds(entries, starts, codes.astype(int), None, 2, "gini", 1.0)
    with pytest.raises(TypeError, match="entries is int32; it must be uint32"):
        kernels.best_thresholds(entries.astype(np.int32), starts, codes, None, 2, "gini", 1.0)
    with pytest.raises(ValueError, match="starts must ascend"):
        kernels.best_thresholds(entries, starts + 1, codes, None, 2, "gini", 1.0)
    with pytest.raises(ValueError, match="an instance that does not exist"):
        kernels.best_thresholds_of_numbers(entries, starts, np.zeros(3), None, "sd", 1.0)
    with pytest.raises(ValueError, match="criterion must be one of 'variance', 'sd', not 'gini'"):
        kernels.best_thresholds_of_numbers(entries, starts, np.zeros(4), None, "gini", 1.0)
    with pytest.raises(TypeError, match="values is int64; it must be float64"):
        kernels.best_thresholds_of_numbers(entries, starts, np.zeros(4, int), None, "sd", 1.0)
    with pytest.raises(ValueError, match="weights has 5 rows; 4 are needed"):
        kernels.best_thresholds_of_numbers(entries, starts, np.zeros(4), np.ones(5), "sd", 1.0)


# Thresholds of numbers


def check_numbers(entries: np.ndarray, starts: np.ndarray, values: np.ndarray, *rest: object) -> None:
    ours = native.best_thresholds_of_numbers(entries, starts, values, *rest)
    theirs = reference.best_thresholds_of_numbers(entries, starts, values, *rest)
    span = float(np.ptp(values)) if len(values) else 0.0
    check_best(ours, theirs, span if rest[1] == "sd" else span**2)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("offset", [0.0, -1e12])
def test_thresholds_of_numbers_are_the_reference_s(level: str, criterion: str, weight: str, offset: float) -> None:
    rng = random()
    for sizes in SIZES:
        for domain in (3, 10**6):
            entries, starts = some_entries(sizes, domain, rng)
            noise = rng.normal(size=len(entries))
            signal = np.zeros(len(entries))
            signal[entries >> 1] = np.sin(np.arange(len(entries)) / 50)
            w = weights_of(weight, len(entries), rng)
            for values in (offset + noise, offset + np.round(signal * 8) / 8, np.full(len(entries), offset + 0.1)):
                for least in (0.0, 5.0 if w is None else 5 * w.mean() if len(w) else 1.0):
                    check_numbers(entries, starts, values, w, criterion, least)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
def test_thresholds_of_many_numbers_are_the_reference_s(level: str, criterion: str) -> None:
    rng = random()
    entries, starts = some_entries([200_000, 100_000], 10**6, rng)
    noise = rng.normal(size=len(entries))
    steps = np.zeros(len(entries))
    steps[entries >> 1] = np.arange(len(entries)) // 70_000 / 3
    for values in (noise, steps, np.repeat(steps + noise, 2)[::2]):
        check_numbers(entries, starts, values, None, criterion, 1.0)
        check_numbers(entries, starts, values, rng.random(len(values)) + 0.1, criterion, 1.0)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
@pytest.mark.parametrize("unit", [1.0, 1 / 3, 1e-200, 1e200, -1e150, 1e-310])
@pytest.mark.parametrize("weight", [None, 0.1, 1e300, 1e-300])
def test_numbers_of_any_size_have_their_thresholds(
    level: str, criterion: str, unit: float, weight: float | None
) -> None:
    w = None if weight is None else np.full(8, weight)
    for numbers, place in (
        ([0, 1, 1, 0, 0, 0, 0, 0], 3),
        ([0, 0, 0, 5, 5, 5, 5, 5], 3),
        ([0, 3, 3, 3, 3, 3, 3, 0], 1),
    ):
        for kernels in (native, reference):
            values = np.array(numbers) * unit
            with np.errstate(over="ignore", under="ignore"):
                places, gains = kernels.best_thresholds_of_numbers(*in_order(8), values, w, criterion, 0.0)
            assert places[0] == place
            assert gains[0] >= 0


@pytest.mark.parametrize("criterion", ["variance", "sd"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1e-300])
def test_equal_numbers_gain_exactly_nothing_at_the_first_place(level: str, criterion: str, value: float) -> None:
    for n in (2, 3, 7, 1000):
        for w in (None, random().random(n) + 0.1):
            for kernels in (native, reference):
                places, gains = kernels.best_thresholds_of_numbers(*in_order(n), np.full(n, value), w, criterion, 0.0)
                assert (places[0], gains[0]) == (1, 0.0)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
def test_numbers_that_are_nan_have_no_threshold(level: str, criterion: str) -> None:
    for kernels in (native, reference):
        for values in (np.array([1, np.nan, 2, 3]), np.array([np.nan, 1, 2, 3])):
            with np.errstate(invalid="ignore"):
                places, gains = kernels.best_thresholds_of_numbers(*in_order(4), values, None, criterion, 0.0)
            assert (places[0], gains[0]) == (-1, 0.0)


# Calls


def test_threads_change_nothing() -> None:
    rng = random()
    columns = [rng.normal(size=20_000) for _ in range(8)]
    codes = rng.integers(0, 3, 20_000).astype(np.uint8)
    starts = np.array([0, 20_000])

    def work(j: int) -> tuple:
        entries = native.presort(columns[j])
        branch = (columns[j] > 0).astype(np.uint8)
        parted = native.partition_entries(
            entries, starts, branch, np.array([0, 1], np.int32), np.array([0, 2]), 2, None
        )
        return *parted, *native.best_thresholds(*parted, codes, None, 3, "entropy", 1.0)

    for one, several in zip(
        over_items(range(8), work, threads=1), over_items(range(8), work, threads=4), strict=True
    ):
        for a, b in zip(one, several, strict=True):
            assert_array_equal(a, b)
