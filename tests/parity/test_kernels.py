"""The compiled kernels against the NumPy ones, which are their specification."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from countwise._kernels import over_blocks, over_items, thread_count

from .levels import LEVELS, assert_allclose, assert_array_equal, native, reference, specification

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
CODE_TYPES = [np.uint8, np.uint16, np.uint32]
TOLERANCE = 1e-12
EMPTY = np.empty(0, np.int64), np.empty((0, 17))


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def column(dtype: str, rows: int, rng: np.random.Generator, gaps: float = 0.0) -> np.ndarray:
    """A column of any type; floats around 1e6 with gaps, so that cancellation would show."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = (1e6 + rng.normal(size=rows)).astype(kind)
        values[rng.random(rows) < gaps] = np.nan
        return values
    if kind.kind == "b":
        return rng.random(rows) < 0.4
    return rng.integers(0, 100, rows).astype(kind)


def layouts(X: np.ndarray) -> dict[str, list[np.ndarray]]:
    """The same columns as they may lie in memory."""
    rows, count = X.shape
    spaced = np.empty((rows, count, 3), X.dtype)
    spaced[:, :, 1] = X
    backward = np.ascontiguousarray(X[::-1])[::-1]
    raw = np.empty(X.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(X.dtype).reshape(X.shape)
    unaligned[:] = X
    fortran = np.asfortranarray(X)
    wide = np.empty((rows, count + 37), X.dtype)
    wide[:, 5 : 5 + count] = X
    frames = {
        "rows": X,
        "columns": fortran,
        "spaced": spaced[:, :, 1],
        "backward": backward,
        "unaligned": unaligned,
        "wide": wide[:, 5 : 5 + count],
    }
    cut = {name: [frame[:, j] for j in range(count)] for name, frame in frames.items()}
    cut["apart"] = [X[:, j].copy() for j in range(count)]
    return cut


# Moments


def check_moments(columns: list, codes: np.ndarray, weights: np.ndarray | None, n_classes: int) -> None:
    ours = native.class_moments(columns, codes, weights, n_classes)
    theirs = reference.class_moments(columns, codes, weights, n_classes)
    assert_allclose(ours[0], theirs[0], rtol=1e-14)
    assert_allclose(ours[1], theirs[1], rtol=1e-13, atol=1e-13)
    assert_allclose(ours[2], theirs[2], rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("rows", [0, 1, 3, 64, 255, 257, 5000, 9001])
@pytest.mark.parametrize("n_classes", [1, 3, 7, 50])
def test_moments_equal_the_reference(level: str, rows: int, n_classes: int) -> None:
    rng = random(rows)
    X = rng.normal(5, 3, size=(rows, 9))
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, n_classes + 1, rows).astype(np.uint8)
    for columns in layouts(X).values():
        for weights in (None, rng.integers(0, 4, rows).astype(float), rng.random(rows)):
            check_moments(columns, codes, weights, n_classes)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 20, 31, 32, 33, 70])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_moments_of_any_number_of_columns_equal_the_reference(level: str, count: int, dtype: str) -> None:
    rng = random(count)
    X = np.stack([column(dtype, 700, rng, 0.05) for _ in range(count)], axis=1)
    codes = rng.integers(0, 3, 700).astype(np.uint16)
    for columns in layouts(X).values():
        check_moments(columns, codes, None, 3)


def test_moments_of_columns_of_mixed_types_equal_the_reference(level: str) -> None:
    rng = random()
    columns = [column(dtype, 1000, rng, 0.1) for dtype in COLUMN_TYPES]
    for kind in CODE_TYPES:
        for n_classes in (2, 20):
            codes = rng.integers(0, n_classes + 2, 2000).astype(kind)[::2]
            check_moments(columns, codes, None, n_classes)
            check_moments(columns, codes, rng.random(1000), n_classes)
            check_moments(columns[::-1], codes, None, n_classes)


@pytest.mark.parametrize("n_classes", [2, 30])
def test_squared_deviations_of_equal_values_are_exactly_0(level: str, n_classes: int) -> None:
    X = np.full((10_000, 5), 0.1) * np.array([1, 1e9, -1e-9, 7, 1e300])
    codes = (np.arange(10_000) % 2).astype(np.uint8)
    for columns in layouts(X).values():
        for weights in (None, np.full(10_000, 0.3)):
            _, mean, m2 = native.class_moments(columns, codes, weights, n_classes)
            assert_array_equal(m2, 0)
            assert_array_equal(mean[:, 0], X[0])


def test_moments_of_a_column_with_a_huge_offset_keep_their_digits(level: str) -> None:
    rng = random()
    noise = rng.integers(-8, 9, size=(20_000, 4)).astype(float)
    codes = rng.integers(0, 2, 20_000).astype(np.uint8)
    for columns in layouts(noise + 1e15).values():
        _, _, m2 = native.class_moments(columns, codes, None, 2)
        for c in range(2):
            assert_allclose(m2[:, c], noise[codes == c].var(axis=0) * (codes == c).sum(), rtol=1e-9)


@pytest.mark.parametrize("place", [0, 100, 5000])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_cell_shows_in_the_moments(level: str, place: int, value: float) -> None:
    X = random().normal(size=(9000, 6))
    X[place, 2] = value
    for columns in layouts(X).values():
        for weights in (None, np.ones(9000)):
            _, mean, m2 = native.class_moments(columns, np.zeros(9000, np.uint8), weights, 1)
            finite = np.isfinite(mean) & np.isfinite(m2)
            assert_array_equal(finite[:, 0], np.arange(6) != 2)


def test_a_row_of_weight_0_adds_nothing_even_if_it_is_infinite(level: str) -> None:
    X = random().normal(size=(100, 6))
    X[7] = np.inf
    weights = np.ones(100)
    weights[7] = 0
    for columns in layouts(X).values():
        check_moments(columns, np.zeros(100, np.uint8), weights, 1)


# Counts and lookups


@pytest.mark.parametrize("kind", CODE_TYPES)
@pytest.mark.parametrize("given_kind", CODE_TYPES)
@pytest.mark.parametrize("sizes", [(1, 1), (10, 3), (255, 255), (3, 0), (5000, 7)])
@pytest.mark.parametrize("rows", [0, 5, 10_000])
def test_counts_equal_the_reference(kind: type, given_kind: type, sizes: tuple, rows: int) -> None:
    rng = random(rows)
    values = rng.integers(0, min(sizes[0] + 3, np.iinfo(kind).max), rows).astype(kind)
    givens = rng.integers(0, min(sizes[1] + 3, np.iinfo(given_kind).max), 2 * rows).astype(given_kind)[::2]
    whole = rng.integers(-2, 9, rows)
    for weights in (None, whole, whole.astype(np.int8), whole > 3, whole.astype(np.uint8)):
        ours = native.count_codes(values, givens, weights, *sizes)
        theirs = reference.count_codes(values, givens, weights, *sizes)
        assert ours.dtype == theirs.dtype == np.int64
        assert_array_equal(ours, theirs)
    for floats in (rng.random(rows), rng.random(rows).astype(np.float32)):
        ours = native.count_codes(values, givens, floats, *sizes)
        assert ours.dtype == np.float64
        assert_allclose(ours, reference.count_codes(values, givens, floats, *sizes), rtol=1e-12)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 50])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 500])
def test_lookups_equal_the_reference(level: str, classes: int, rows: int) -> None:
    rng = random(classes)
    sizes = [1, 2, 7, 200, *rng.integers(1, 30, 36)]
    columns = [rng.integers(0, n, 2 * rows).astype(CODE_TYPES[j % 3])[::2] for j, n in enumerate(sizes)]
    tables = [rng.normal(size=(n, classes)) for n in sizes]
    tables[3][5] = -np.inf
    tables[4] = np.asfortranarray(tables[4])
    start = rng.normal(size=(rows, classes))
    ours, theirs = start.copy(), start.copy()
    native.add_lookup(columns, tables, ours)
    reference.add_lookup(columns, tables, theirs)
    assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_lookups_in_a_table_larger_than_the_rows_equal_the_reference(level: str) -> None:
    rng = random()
    columns = [rng.integers(0, 70_000, 30).astype(np.uint32) for _ in range(3)]
    tables = [rng.normal(size=(70_000, 5)) for _ in range(3)]
    ours, theirs = np.zeros((30, 5)), np.zeros((30, 5))
    native.add_lookup(columns, tables, ours)
    reference.add_lookup(columns, tables, theirs)
    assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("rows", [10, 1000])
def test_a_code_beyond_its_table_is_named(kernels: object, rows: int) -> None:
    columns = [np.zeros(rows, np.uint8), np.full(rows, 4, np.uint16)]
    with pytest.raises(ValueError, match=r"columns\[1\] contains"):
        kernels.add_lookup(columns, [np.zeros((1, 2)), np.zeros((4, 2))], np.zeros((rows, 2)))


# Densities


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 6, 7, 10, 50])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_gaussian_terms_equal_the_reference(level: str, classes: int, gaps: float) -> None:
    rng = random(classes)
    for rows in (0, 1, 65, 1000):
        X = rng.normal(size=(rows, 37))
        X[rng.random(X.shape) < gaps] = np.nan
        mean, log_norm = rng.normal(size=(37, classes)), rng.normal(size=(37, classes))
        inverse_sd = rng.random((37, classes)) + 0.1
        start = rng.normal(size=(rows, classes))
        theirs = start.copy()
        reference.add_gaussian(layouts(X)["rows"], mean, inverse_sd, log_norm, theirs)
        for columns in layouts(X).values():
            ours = start.copy()
            native.add_gaussian(columns, mean, inverse_sd, log_norm, ours)
            assert_allclose(ours, theirs, rtol=1e-12, atol=1e-11)


def test_gaussian_terms_of_every_type_equal_the_reference(level: str) -> None:
    rng = random()
    columns = [column(dtype, 500, rng, 0.1) for dtype in COLUMN_TYPES]
    mean = np.array([[np.nanmean(x.astype(float))] * 3 for x in columns]) + rng.normal(size=(11, 3))
    scale, norm = np.ones((11, 3)), rng.normal(size=(11, 3))
    ours, theirs = np.zeros((500, 3)), np.zeros((500, 3))
    native.add_gaussian(columns, mean, scale, norm, ours)
    reference.add_gaussian(columns, mean, scale, norm, theirs)
    assert_allclose(ours, theirs, rtol=1e-12)


def test_gaussian_terms_of_a_column_with_a_huge_offset_keep_their_digits(level: str) -> None:
    x = random().integers(-9, 9, 300).astype(float)
    near, far = np.zeros((300, 2)), np.zeros((300, 2))
    mean, scale, norm = np.array([[1.0, -2.0]]), np.array([[0.5, 2.0]]), np.array([[0.1, 0.2]])
    native.add_gaussian([x], mean, scale, norm, near)
    native.add_gaussian([x + 1e9], mean + 1e9, scale, norm, far)
    assert_array_equal(near, far)


def test_a_missing_cell_adds_exactly_0(level: str) -> None:
    rng = random()
    start = rng.normal(size=(130, 6))
    columns = [np.full(130, np.nan)] * 3
    table = rng.random((3, 6))
    ours = start.copy()
    native.add_gaussian(columns, table, table, table, ours)
    native.add_poisson(columns, table, ours)
    assert_array_equal(ours, start)


def test_a_row_does_not_depend_on_its_neighbors(level: str) -> None:
    rng = random()
    X = rng.normal(size=(200, 12))
    gaps = X.copy()
    gaps[1::2] = np.nan
    mean, scale, norm = (rng.random((12, 7)) for _ in range(3))
    whole, holed, alone = np.zeros((200, 7)), np.zeros((200, 7)), np.zeros((1, 7))
    native.add_gaussian(list(X.T), mean, scale, norm, whole)
    native.add_gaussian(list(gaps.T), mean, scale, norm, holed)
    native.add_gaussian(list(X[10:11].T), mean, scale, norm, alone)
    assert_array_equal(whole[::2], holed[::2])
    assert_array_equal(whole[10], alone[0])


@pytest.mark.parametrize("classes", [1, 2, 5, 11])
def test_poisson_terms_equal_the_reference(level: str, classes: int) -> None:
    rng = random(classes)
    counts = rng.poisson(3, size=(300, 35)).astype(float)
    counts[rng.random(counts.shape) < 0.1] = np.nan
    counts[:50] *= 400
    counts[5, 3], counts[6, 3], counts[7, 3] = 2.5, -1, np.inf
    for rate in (rng.random((35, classes)) * 5 + 0.01, rng.integers(0, 3, (35, classes)).astype(float)):
        ours, theirs = np.zeros((300, classes)), np.zeros((300, classes))
        native.add_poisson(list(counts.T), rate, ours)
        reference.add_poisson(list(counts.T), rate, theirs)
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "u2", "?", "f4"])
def test_poisson_terms_of_counts_of_every_type_equal_the_reference(dtype: str) -> None:
    x = random().integers(0, 2 if dtype == "?" else 120, (200, 3)).astype(dtype)
    ours, theirs = np.zeros((200, 2)), np.zeros((200, 2))
    rate = np.array([[0.5, 100.0]] * 3)
    native.add_poisson(list(x.T), rate, ours)
    reference.add_poisson(list(x.T), rate, theirs)
    assert_allclose(ours, theirs, rtol=1e-12)


def test_a_count_of_0_at_a_rate_of_0_adds_0_and_any_other_is_impossible(level: str) -> None:
    out = np.zeros((3, 2))
    native.add_poisson([np.array([0.0, 1.0, 5000.0])], np.array([[0.0, 2.0]]), out)
    assert_array_equal(out[:, 0], [0, -np.inf, -np.inf])


# Rows


@pytest.mark.parametrize("kind", ["log", "proba"])
@pytest.mark.parametrize("classes", [1, 2, 3, 4, 7, 10, 50])
def test_posteriors_equal_the_reference_and_bad_rows_are_counted(level: str, kind: str, classes: int) -> None:
    rng = random(classes)
    out = rng.normal(size=(1001, classes)) * rng.choice([1, 100, 1000], size=(1001, 1))
    out[rng.random(out.shape) < 0.1] = -np.inf
    out[3], out[4, 0], out[5, -1], out[6] = -np.inf, np.nan, np.inf, 1e300
    ours, theirs = out.copy(), out.copy()
    assert native.normalize(ours, kind) == reference.normalize(theirs, kind)
    assert_allclose(ours, theirs, rtol=2e-15 if kind == "proba" else 1e-14, atol=1e-15 if kind == "log" else 0)


@pytest.mark.parametrize("level_name", LEVELS or ["native"])
def test_exp_and_log_are_right_to_the_last_bits(level_name: str) -> None:
    if LEVELS:
        native.set_level(level_name)
    x = -np.sort(random().random(20_000) * 740)
    out = np.stack([np.zeros_like(x), x], axis=1)
    native.normalize(out, "proba")
    native.set_level(LEVELS[-1]) if LEVELS else None
    exact = np.exp(x.astype(np.longdouble))
    exact = (exact / (1 + exact)).astype(np.float64)
    normal = exact > 1e-300
    assert_allclose(out[normal, 1], exact[normal], rtol=1e-15)
    assert_allclose(out[~normal, 1], exact[~normal], atol=2e-323, rtol=1e-13)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.floats(-800, 800) | st.sampled_from([-np.inf, np.inf, np.nan]),
    ),
    st.sampled_from(["log", "proba"]),
)
@settings(max_examples=200, deadline=None)
def test_any_row_normalizes_as_the_reference_does(out: np.ndarray, kind: str) -> None:
    ours, theirs = out.copy(), out.copy()
    assert native.normalize(ours, kind) == reference.normalize(theirs, kind)
    assert_allclose(ours, theirs, rtol=1e-14, atol=1e-15 if kind == "log" else 1e-320)
    assert_array_equal(native.argmax_rows(out), reference.argmax_rows(out))


@pytest.mark.parametrize("classes", [1, 2, 3, 5, 50])
def test_the_best_class_is_the_first_maximum_and_0_beside_a_nan(level: str, classes: int) -> None:
    rng = random(classes)
    out = rng.integers(0, 4, (777, classes)).astype(float)
    out[rng.random(out.shape) < 0.05] = np.nan
    out[rng.random(out.shape) < 0.05] = -np.inf
    best = native.argmax_rows(out)
    assert best.dtype == np.intp
    assert_array_equal(best, reference.argmax_rows(out))
    read_only = out.copy()
    read_only.flags.writeable = False
    assert_array_equal(native.argmax_rows(read_only), best)


# Sparse tables


def sparse(rng: np.random.Generator, rows: int, columns: int, dtype: str, index: str) -> tuple:
    sizes = rng.integers(0, 6, rows)
    sizes[rows // 2 : rows // 2 + 3] = 0
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(index)
    indices = rng.integers(0, columns, indptr[-1]).astype(index)
    data = rng.integers(0, 2 if dtype == "?" else 4, indptr[-1]).astype(dtype)
    if np.dtype(dtype).kind == "f" and len(data):
        data[::7] = np.nan
        data[1::9] = -1.5
    return indptr, indices, data


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("present", [True, False])
def test_sparse_sums_equal_the_reference(level: str, dtype: str, index: str, present: bool) -> None:
    rng = random()
    indptr, indices, data = sparse(rng, 900, 13, dtype, index)
    codes = rng.integers(0, 4, 900).astype(np.uint16)
    for weights in (None, rng.random(900)):
        ours = native.csr_class_sums(indptr, indices, data, codes, weights, 3, 13, present)
        theirs = reference.csr_class_sums(indptr, indices, data, codes, weights, 3, 13, present)
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    for classes in (1, 3, 4, 11):
        table = rng.normal(size=(13, classes))
        table[3, 0] = -np.inf
        ours, theirs = np.ones((900, classes)), np.ones((900, classes))
        native.csr_add(indptr, indices, data, table, present, ours)
        reference.csr_add(indptr, indices, data, table, present, theirs)
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_block_of_sparse_rows_is_a_slice_of_indptr(level: str) -> None:
    rng = random()
    indptr, indices, data = sparse(rng, 500, 9, "f8", "i4")
    table, whole, parts = rng.normal(size=(9, 5)), np.zeros((500, 5)), np.zeros((500, 5))
    native.csr_add(indptr, indices, data, table, False, whole)
    for start in range(0, 500, 70):
        rows = slice(start, min(start + 70, 500))
        native.csr_add(indptr[rows.start : rows.stop + 1], indices, data, table, False, parts[rows])
    assert_array_equal(whole, parts)


@pytest.mark.parametrize("kernels", [native, reference])
def test_a_sparse_table_that_points_outside_is_refused(kernels: object) -> None:
    out, table, codes = np.zeros((2, 1)), np.zeros((3, 1)), np.zeros(2, np.uint8)
    data = np.ones(2)
    for indptr, indices in (
        ([0, 1, 3], [0, 1]),
        ([0, 2, 1], [0, 1]),
        ([0, 1], [0, 1]),
        ([0, 1, 2], [0, 3]),
        ([0, 1, 2], [-1, 0]),
        ([-1, 1, 2], [0, 0]),
    ):
        arrays = np.array(indptr), np.array(indices), data
        with pytest.raises(ValueError, match=r"indptr|indices"):
            kernels.csr_add(*arrays, table, False, out)
        with pytest.raises(ValueError, match=r"indptr|indices"):
            kernels.csr_class_sums(*arrays, codes, None, 1, 3, False)


# Whole numbers


@given(
    hnp.arrays(hnp.integer_dtypes(endianness="=") | hnp.unsigned_integer_dtypes(endianness="="), st.integers(0, 30)),
    st.integers(0, 300),
)
@settings(max_examples=300, deadline=None)
def test_the_domain_of_any_integers_is_the_reference_s(values: np.ndarray, limit: int) -> None:
    ours, theirs = native.integer_domain(values, limit), reference.integer_domain(values, limit)
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert ours.dtype == np.int64
        assert_array_equal(ours, theirs)


def encoded(kernels, x: np.ndarray, low: int, lookup: np.ndarray, missing: int, other: int) -> np.ndarray:
    codes = np.empty(len(x), lookup.dtype)
    table = np.append(lookup, np.array([missing], lookup.dtype))
    kernels.encode_columns([x], [low], [table], [other], [codes])
    return codes


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
def test_integers_encode_as_in_the_reference(level: str, dtype: str) -> None:
    rng = random()
    x = rng.integers(0, 2 if dtype == "?" else 60, 2001).astype(dtype)[::2]
    if np.dtype(dtype).kind == "f":
        x[::9] = np.nan
        assert native.float_is_integral(x)
        assert_array_equal(native.integer_domain(x, 100), reference.integer_domain(x, 100))
        x[1::9] += 0.5
        x[2::99], x[3::99], x[4::99] = np.inf, -np.inf, 1e30
    for kind in CODE_TYPES:
        for low in (-3, 0, 7, 2**62, -(2**62)):
            lookup = rng.permutation(40).astype(kind)
            ours = encoded(native, x, low, lookup, 101, 102)
            assert ours.dtype == kind
            assert_array_equal(ours, encoded(reference, x, low, lookup, 101, 102))


@given(
    hnp.arrays(
        st.sampled_from([np.int64, np.uint64]),
        st.integers(0, 20),
        elements=st.integers(0, 5) | st.integers(2**63 - 4, 2**63 - 1) | st.integers(2**62 - 4, 2**62 + 4),
    ),
    st.sampled_from([0, -2, 2, 2**62 - 3, 2**62, -(2**62)]),
)
@settings(max_examples=200, deadline=None)
def test_integers_at_the_edge_of_their_type_encode_as_in_the_reference(values: np.ndarray, low: int) -> None:
    if values.dtype == np.uint64:
        values = np.concatenate([values, values + np.uint64(2**63)])
    else:
        values = np.concatenate([values, -values - 1])
    lookup = np.arange(5, dtype=np.uint8)
    ours = encoded(native, values, low, lookup, 8, 9)
    assert_array_equal(ours, encoded(reference, values, low, lookup, 8, 9))


def test_a_wide_domain_is_sorted_instead_of_marked(level: str) -> None:
    x = random().integers(-(2**40), 2**40, 1000)
    assert_array_equal(native.integer_domain(x, 2**60), np.unique(x))
    assert native.integer_domain(x, 2**30) is None


@pytest.mark.parametrize("kernels", [native, reference])
def test_numbers_that_are_not_whole_have_no_integer_domain(kernels: object) -> None:
    for bad in (0.5, 2.0**53, np.inf):
        x = np.array([1.0, np.nan, bad])
        assert not kernels.float_is_integral(x)
        with pytest.raises(ValueError, match="not an integer"):
            kernels.integer_domain(x, 10)
    assert kernels.float_is_integral(np.array([np.nan, -(2.0**53) + 1]))
    assert kernels.integer_domain(np.array([np.nan]), 10).size == 0
    assert kernels.integer_domain(np.array([2**63], np.uint64), 10) is None


# Many columns at once


@pytest.mark.parametrize("rows", [0, 1, 64, 300])
def test_many_columns_encode_as_in_the_reference(level: str, rows: int) -> None:
    rng = random(rows)
    columns = [rng.integers(0, 2 if d == "?" else 70, rows).astype(d) for d in COLUMN_TYPES]
    for x in columns[:2]:
        x[::5] = np.nan
        x[1::7] = 3.5
    columns += [rng.normal(size=(rows, 3))[:, 1], -columns[2]]
    assert_array_equal(native.mark_columns(columns, -4, 60)[0], reference.mark_columns(columns, -4, 60)[0])
    assert_array_equal(native.mark_columns(columns, -4, 60)[1], reference.mark_columns(columns, -4, 60)[1])
    count = len(columns)
    lookups = [rng.permutation(30).astype(CODE_TYPES[j % 3]) for j in range(count)]
    lows, others = list(range(-3, count - 3)), list(range(100, 100 + count))
    ours = [np.zeros(rows, lookup.dtype) for lookup in lookups]
    theirs = [np.zeros(rows, lookup.dtype) for lookup in lookups]
    native.encode_columns(columns, lows, lookups, others, ours)
    reference.encode_columns(columns, lows, lookups, others, theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_an_infinity_is_found_wherever_it_is(level: str, dtype: str) -> None:
    X = random().normal(size=(200, 7)).astype(dtype)
    X[::9] = np.nan
    for columns in layouts(X).values():
        assert native.find_infinity([*columns, np.arange(200)]) is None
    for row, j, value in ((0, 0, np.inf), (199, 6, -np.inf), (64, 3, np.inf)):
        spoilt = X.copy()
        spoilt[row, j] = value
        for columns in layouts(spoilt).values():
            assert native.find_infinity(columns) == reference.find_infinity(columns) == (j, row)


# Objects


class Odd:
    """Equal to every other of its kind."""

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd)


def objects(values: list) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


VALUES = st.one_of(
    st.text(max_size=3),
    st.integers(-3, 3),
    st.booleans(),
    st.none(),
    st.floats(width=16),
    st.binary(max_size=2),
    st.builds(np.float32, st.floats(width=16)),
    st.builds(np.int64, st.integers(0, 2)),
    st.builds(Odd),
    st.tuples(st.integers(0, 1)),
    st.builds(np.str_, st.text(max_size=1)),
)


@given(st.lists(VALUES, max_size=40))
@settings(max_examples=300, deadline=None)
def test_objects_get_codes_as_in_the_reference(values: list) -> None:
    codes, distinct = native.factorize_objects(objects(values))
    expected, first = reference.factorize_objects(objects(values))
    assert codes.dtype == np.uint32
    assert_array_equal(codes, expected)
    assert len(distinct) == len(first)
    assert all(a is b for a, b in zip(distinct, first, strict=True))


def test_many_objects_get_codes_as_in_the_reference() -> None:
    rng = random()
    numbers = rng.integers(0, 3000, 20_000)
    for values in ([f"v{i}" for i in numbers], [str(i) if i % 2 else int(i) for i in numbers]):
        codes, distinct = native.factorize_objects(objects(values)[::-1])
        expected, first = reference.factorize_objects(objects(values)[::-1])
        assert_array_equal(codes, expected)
        assert distinct == first


def test_true_is_not_1_and_every_nan_is_one_value() -> None:
    codes, distinct = native.factorize_objects(
        objects([True, 1, 1.0, float("nan"), np.float64("nan"), np.float32("nan"), "1", None])
    )
    assert_array_equal(codes, [0, 1, 2, 3, 3, 3, 4, 5])
    assert len(distinct) == 6


@pytest.mark.parametrize("kernels", [native, reference])
def test_an_object_that_cannot_be_hashed_is_named_by_its_row(kernels: object) -> None:
    with pytest.raises(TypeError, match="Row 2 contains a list"):
        kernels.factorize_objects(objects(["a", "b", [1], {}]))
    with pytest.raises(TypeError, match="object array"):
        kernels.factorize_objects(np.zeros(3))


def test_an_error_of_an_object_is_passed_on() -> None:
    class Broken:
        def __hash__(self) -> int:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        native.factorize_objects(objects([Broken()]))


# Kernel density sums


def samples() -> dict[str, np.ndarray]:
    rng = random()
    n = 1500
    return {
        "normal": rng.normal(size=n),
        "offset": 1e9 + rng.normal(size=n),
        "cauchy": rng.standard_cauchy(n),
        "outliers": np.r_[rng.normal(size=n), 1e12, -1e300, 1e300],
        "ties": rng.integers(0, 30, n).astype(float),
        "two clusters": np.r_[rng.normal(size=n), rng.normal(size=n) * 0.01 + 1e7],
        "uniform": rng.random(n),
        "skewed": np.exp(2 * rng.normal(size=n)),
        "all equal": np.full(400, 7.0),
        "coarse": 1e9 + np.round(rng.normal(size=n) * 1e-5, 6),
        "one": np.array([3.0]),
        "two": np.array([3.0, 4.0]),
        "none": np.empty(0),
    }


def spread(x: np.ndarray) -> float:
    """A robust width: half the span of the middle half."""
    if not len(x):
        return 1.0
    return float(np.subtract(*np.percentile(x, [75, 25]))) / 2 or 1.0


def queries_for(x: np.ndarray, h: float) -> np.ndarray:
    rng = random(3)
    special = [np.nan, np.inf, -np.inf, 1e6, -1e150]
    if not len(x):
        return np.array([0.0, *special])
    middle = np.median(x) + np.linspace(-60, 60, 61) * h
    tails = np.geomspace(0.1, 40, 15) * h
    near = rng.choice(x, 60) + rng.normal(size=60) * h
    return np.concatenate([rng.choice(x, 60), near, middle, x[0] - tails, x[-1] + tails, special])


def assert_log_sums(ours: np.ndarray, theirs: np.ndarray) -> None:
    # In far tails a log sum is so large that its own last digit is more than 1e-9.
    assert_allclose(ours, theirs, rtol=1e-14, atol=1e-9)
    finite = np.isfinite(theirs)
    if finite.any():
        peak = theirs[finite].max()
        assert_allclose(np.exp(ours[finite] - peak), np.exp(theirs[finite] - peak), rtol=0, atol=2e-12)


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize("factor", [1e-6, 0.02, 0.3, 3, 100])
def test_kernel_sums_equal_the_reference_everywhere(level: str, name: str, factor: float) -> None:
    x = np.sort(samples()[name])
    h = factor * spread(x)
    rng = random(1)
    q = queries_for(x, h)
    for weights in (None, rng.random(len(x)) * 3, rng.integers(0, 3, len(x)).astype(float)):
        expansion = native.gauss_expand(x, weights, h, TOLERANCE)
        theirs = reference.gauss_log_sums(x, weights, h, *EMPTY, TOLERANCE, q)
        assert_log_sums(native.gauss_log_sums(x, weights, h, *EMPTY, TOLERANCE, q), theirs)
        assert_log_sums(native.gauss_log_sums(x, weights, h, *expansion, TOLERANCE, q), theirs)


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize("factor", [0.02, 0.5, 30])
def test_leave_one_out_sums_equal_the_reference(level: str, name: str, factor: float) -> None:
    x = np.sort(random().permutation(samples()[name])[:500])
    h = factor * spread(x)
    rng = random(1)
    for weights in (None, rng.random(len(x)) * 3, rng.integers(0, 3, len(x)).astype(float)):
        expansion = native.gauss_expand(x, weights, h, TOLERANCE)
        theirs = reference.gauss_loo_log_sums(x, weights, h, *EMPTY, TOLERANCE)
        assert_log_sums(native.gauss_loo_log_sums(x, weights, h, *expansion, TOLERANCE), theirs)
        assert_log_sums(native.gauss_loo_log_sums(x, weights, h, *EMPTY, TOLERANCE), theirs)


@pytest.mark.parametrize("name", ["normal", "offset", "cauchy", "skewed", "ties"])
def test_many_points_have_expansions_that_equal_the_exact_sums(level: str, name: str) -> None:
    rng = random()
    x = {
        "normal": rng.normal(size=12_000),
        "offset": 1e9 + rng.normal(size=12_000),
        "cauchy": rng.standard_cauchy(12_000),
        "skewed": np.exp(2 * rng.normal(size=12_000)),
        "ties": np.round(rng.normal(size=12_000), 1),
    }[name]
    x = np.sort(x)
    h = 0.1 * spread(x)
    boxes, taylor = native.gauss_expand(x, None, h, TOLERANCE)
    assert len(boxes) > 20
    assert np.all(np.diff(boxes) > 0)
    q = queries_for(x, h)
    fast = native.gauss_log_sums(x, None, h, boxes, taylor, TOLERANCE, q)
    assert_log_sums(fast, native.gauss_log_sums(x, None, h, *EMPTY, TOLERANCE, q))
    some = native.gauss_loo_log_sums(x, None, h, boxes, taylor, TOLERANCE)
    assert_log_sums(some, native.gauss_loo_log_sums(x, None, h, *EMPTY, TOLERANCE))


def test_a_far_outlier_costs_no_boxes() -> None:
    x = np.sort(random().normal(size=5000))
    plain, _ = native.gauss_expand(x, None, 0.1, TOLERANCE)
    outlying, _ = native.gauss_expand(np.r_[x, 1e15], None, 0.1, TOLERANCE)
    assert_array_equal(plain, outlying)


def test_a_tolerance_beyond_reach_gives_no_expansion() -> None:
    x = np.sort(random().normal(size=5000))
    boxes, taylor = native.gauss_expand(x, None, 0.1, 1e-15)
    assert (boxes.shape, taylor.shape) == ((0,), (0, 17))


def test_a_weight_of_3_equals_3_points_in_kernel_sums(level: str) -> None:
    x = np.sort(random().normal(size=800))
    weights = random().integers(1, 4, 800).astype(float)
    copies = np.repeat(x, weights.astype(int))
    q = np.linspace(-6, 6, 50)
    one, many = native.gauss_expand(x, weights, 0.2, TOLERANCE), native.gauss_expand(copies, None, 0.2, TOLERANCE)
    assert_allclose(
        native.gauss_log_sums(x, weights, 0.2, *one, TOLERANCE, q),
        native.gauss_log_sums(copies, None, 0.2, *many, TOLERANCE, q),
        rtol=1e-12,
        atol=1e-12,
    )
    assert_allclose(
        np.repeat(native.gauss_loo_log_sums(x, weights, 0.2, *one, TOLERANCE), weights.astype(int)),
        native.gauss_loo_log_sums(copies, None, 0.2, *many, TOLERANCE),
        rtol=1e-10,
        atol=1e-10,
    )


@pytest.mark.parametrize("kernels", [native, reference])
def test_points_that_are_not_sorted_and_bad_widths_are_refused(kernels: object) -> None:
    q = np.zeros(1)
    for points in (np.array([1.0, 0.0]), np.array([0.0, np.nan]), np.array([np.inf])):
        with pytest.raises(ValueError, match="finite and ascending"):
            kernels.gauss_log_sums(points, None, 1.0, *EMPTY, TOLERANCE, q)
    for h in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="h is"):
            kernels.gauss_expand(np.zeros(2), None, h, TOLERANCE)
    with pytest.raises(ValueError, match="weights"):
        kernels.gauss_log_sums(np.zeros(2), np.array([1.0, -1.0]), 1.0, *EMPTY, TOLERANCE, q)


# What is refused


@pytest.mark.parametrize("kernels", [native, reference])
def test_shapes_and_types_that_do_not_fit_are_refused(kernels: object) -> None:
    x, codes, out = np.zeros(4), np.zeros(4, np.uint8), np.zeros((4, 2))
    table = np.zeros((1, 2))
    refused: list[tuple[type[Exception], Callable[[], object]]] = [
        (ValueError, lambda: kernels.class_moments([np.zeros(3)], codes, None, 2)),
        (ValueError, lambda: kernels.class_moments([out], codes, None, 2)),
        (TypeError, lambda: kernels.class_moments([np.zeros(4, complex)], codes, None, 2)),
        (TypeError, lambda: kernels.class_moments([np.zeros(4, np.float16)], codes, None, 2)),
        (TypeError, lambda: kernels.class_moments([np.zeros(4, "M8[s]")], codes, None, 2)),
        (TypeError, lambda: kernels.class_moments([np.zeros(4, object)], codes, None, 2)),
        (TypeError, lambda: kernels.class_moments([x], np.zeros(4, np.int64), None, 2)),
        (TypeError, lambda: kernels.class_moments([x], codes, np.zeros(4, np.float32), 2)),
        (ValueError, lambda: kernels.class_moments([x], codes, np.zeros(5), 2)),
        (ValueError, lambda: kernels.count_codes(codes, codes[:3], None, 1, 1)),
        (ValueError, lambda: kernels.count_codes(codes, codes, np.zeros(3), 1, 1)),
        (TypeError, lambda: kernels.count_codes(x, codes, None, 1, 1)),
        (ValueError, lambda: kernels.add_lookup([codes], [], out)),
        (ValueError, lambda: kernels.add_lookup([codes], [np.zeros((1, 3))], out)),
        (ValueError, lambda: kernels.add_lookup([codes[:2]], [table], out)),
        (ValueError, lambda: kernels.add_gaussian([x], table, table, np.zeros((2, 2)), out)),
        (ValueError, lambda: kernels.add_gaussian([x, x], table, table, table, out)),
        (ValueError, lambda: kernels.add_poisson([x], np.zeros((1, 3)), out)),
        (ValueError, lambda: kernels.normalize(np.asfortranarray(out), "log")),
        (TypeError, lambda: kernels.normalize(out.astype(np.float32), "log")),
        (ValueError, lambda: kernels.normalize(out, "odds")),
        (ValueError, lambda: kernels.argmax_rows(np.zeros((3, 0)))),
        (ValueError, lambda: encoded(kernels, x, 2**62 + 1, np.zeros(2, np.uint8), 0, 0)),
        (TypeError, lambda: kernels.encode_columns([x], [0], [np.zeros(2)], [0], [np.zeros(len(x), np.uint8)])),
    ]
    for error, call in refused:
        with pytest.raises(error):
            call()


def test_a_read_only_out_is_refused() -> None:
    out = np.zeros((4, 2))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        native.normalize(out, "log")


def test_read_only_columns_are_welcome() -> None:
    x = np.arange(5.0)
    x.flags.writeable = False
    assert native.class_moments([x], np.zeros(5, np.uint8), None, 1)[1][0, 0] == 2


# Levels and the choice of kernels


def run_python(code: str, **environment: str) -> str:
    settings_of_run = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=settings_of_run, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("wanted", ["v2", "v3", "v4"])
def test_the_level_is_never_above_the_processor_s(wanted: str) -> None:
    if not LEVELS:
        pytest.skip("there is one level only")
    found = run_python("import countwise._kernels as k; print(k.LEVEL)", COUNTWISE_LEVEL=wanted)
    assert found == f"x86-64-{min(wanted, LEVELS[-1])}"


def test_the_reference_can_be_asked_for_without_a_warning() -> None:
    code = "import countwise._kernels as k; print(k.LEVEL, k.normalize.__module__)"
    assert run_python(code, COUNTWISE_KERNELS="reference") == "reference countwise._kernels.reference.naive_bayes"


def test_absent_kernels_are_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import countwise._kernels as kernels
    from countwise.errors import SlowKernelsWarning

    monkeypatch.delenv("COUNTWISE_KERNELS", raising=False)
    monkeypatch.delattr(kernels, "_native")
    monkeypatch.setitem(sys.modules, "countwise._kernels._native", None)
    with pytest.warns(SlowKernelsWarning, match="slower") as told:
        chosen, name = kernels._choose()
    assert (chosen, name, len(told)) == (specification, "reference", 1)


def test_every_kernel_has_the_reference_s_signature() -> None:
    import inspect

    import countwise._kernels as kernels

    for name in [name for name, kernel in vars(specification).items() if callable(kernel)]:
        theirs = list(inspect.signature(getattr(reference, name)).parameters)
        if not hasattr(native, name):  # put together from several compiled steps
            assert list(inspect.signature(getattr(kernels, name)).parameters) == theirs
            continue
        text = getattr(native, name).__doc__.split("->")[0]
        places = [text.index(f"{parameter}:") for parameter in theirs]
        assert places == sorted(places), name


def test_importing_the_kernels_brings_in_nothing_but_numpy() -> None:
    code = (
        "import sys, numpy; before = set(sys.modules); import countwise._kernels;"
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} - {'countwise'}))"
    )
    # What `countwise` itself imports on the way is not the kernels' to answer for.
    extra = set(eval(run_python(code))) - {"__future__", "typing"}
    assert not extra & {"scipy", "sklearn", "logging", "concurrent", "pandas"}


# Threads


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    rng = random()
    X = rng.normal(size=(50_000, 5))
    codes = rng.integers(0, 3, 50_000).astype(np.uint8)
    out = np.zeros((50_000, 3))
    table = rng.random((5, 3))

    def work(start: int, stop: int) -> tuple:
        columns = [X[start:stop, j] for j in range(5)]
        native.add_gaussian(columns, table, table, table, out[start:stop])
        native.normalize(out[start:stop], "proba")
        return native.class_moments(columns, codes[start:stop], None, 3)

    blocks = over_blocks(50_000, 4096, work, threads=threads)
    alone = out.copy()
    out[:] = 0
    expected = over_blocks(50_000, 4096, work, threads=1)
    assert_array_equal(out, alone)
    for ours, theirs in zip(blocks, expected, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_blocks_cover_the_rows_in_order_and_progress_is_told(threads: int) -> None:
    told: list[int] = []
    spans = over_blocks(10, 4, lambda start, stop: (start, stop), threads=threads, progress=told.append)
    assert spans == [(0, 4), (4, 8), (8, 10)]
    assert told == [4, 8, 10]
    assert over_blocks(0, 4, lambda start, stop: 1, threads=threads) == []
    assert over_items("abc", str.upper, threads=threads) == ["A", "B", "C"]


def test_one_block_runs_in_the_calling_thread() -> None:
    assert over_blocks(3, 4, lambda *_: threading.get_ident(), threads=3) == [threading.get_ident()]


def test_a_call_within_a_call_starts_no_threads_of_its_own() -> None:
    def outer(_: int) -> bool:
        return set(over_items(range(4), lambda _: threading.get_ident())) == {threading.get_ident()}

    assert all(over_items(range(4), outer, threads=2))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_stops_the_blocks_that_have_not_begun(threads: int, error: type[BaseException]) -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise error("stop")
        threading.Event().wait(0.01)

    with pytest.raises(error):
        over_items(range(1000), work, threads=threads)
    assert len(begun) < 500


def test_the_number_of_threads_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTWISE_THREADS", "5")
    assert thread_count() == 5
    monkeypatch.delenv("COUNTWISE_THREADS")
    assert thread_count() >= 1
    for bad in ("0", "-1", "many"):
        monkeypatch.setenv("COUNTWISE_THREADS", bad)
        with pytest.raises(ValueError, match="COUNTWISE_THREADS"):
            thread_count()


def test_the_kernels_run_at_the_same_time_in_threads() -> None:
    rng = random()
    X = rng.normal(size=(30_000, 8))
    columns = [X[:, j] for j in range(8)]
    table = rng.random((8, 4))

    def work(_: int) -> np.ndarray:
        out = np.zeros((30_000, 4))
        native.add_gaussian(columns, table, table, table, out)
        return out

    results = over_items(range(16), work, threads=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for out in results[1:]:
            assert_array_equal(out, results[0])
