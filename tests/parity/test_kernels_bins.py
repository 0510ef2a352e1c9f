"""The kernels that grow trees from bins: compiled against NumPy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from countwise.measures import mutual_information

from .levels import assert_allclose, assert_array_equal, binning, native, reference

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]


@pytest.fixture
def never_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even small columns go by buckets, in several blocks, however many cells are copied."""
    monkeypatch.setattr(binning, "FEW_ROWS", 0)
    monkeypatch.setattr(binning, "BLOCK", 640)
    monkeypatch.setattr(binning, "MOST_COPIED", 2.0)


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Bins


def check_bins(columns: list, weights: np.ndarray | None, n_bins: int) -> None:
    edges, codes = binning.bin_columns(columns, weights, n_bins)
    wanted, known = reference.bin_columns(columns, weights, n_bins)
    assert len(edges) == len(codes) == len(columns)
    for mine, theirs in zip(edges, wanted, strict=True):
        assert_array_equal(mine, theirs)
    for mine, theirs in zip(codes, known, strict=True):
        assert mine.dtype == np.uint8
        assert mine.flags.c_contiguous
        assert_array_equal(mine, theirs)


def laws(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Columns that are easy and hard to part."""
    normal = rng.normal(size=n)
    found = {
        "normal": normal,
        "uniform": rng.random(n),
        "far from 0": 1e9 + rng.random(n),
        "heavy tails": rng.standard_cauchy(n),
        "lognormal": np.exp(3 * normal),
        "many magnitudes": np.exp(40 * normal),
        "ascending": np.arange(n, dtype=float),
        "descending": -np.sort(rng.random(n)),
        "an outlier": np.where(np.arange(n) == n // 3, 1e300, normal),
        "outliers on both sides": np.where(np.arange(n) % 997 == 5, 1e300 * np.sign(normal), normal),
        "the widest range": np.where(np.arange(n) % 2 == 0, 1.7e308, -1.7e308) * rng.random(n),
        "denormal": rng.integers(0, 5000, n) * 5e-324,
        "neighbors": 1.0 + rng.integers(0, 3000, n) * np.finfo(float).eps,
        "constant": np.full(n, 3.5),
        "two values": rng.integers(0, 2, n) * 1e-3,
        "signed zeros": np.where(rng.random(n) < 0.5, 0.0, -0.0) + rng.integers(-1, 2, n),
        "40 values": rng.integers(0, 40, n) * 0.1,
        "255 values": rng.integers(0, 255, n).astype(float),
        "256 values": rng.integers(0, 256, n).astype(float),
        "1000 values": rng.integers(0, 1000, n).astype(float),
        "rare values": np.where(rng.random(n) < 0.999, 0.0, normal),
        "half are 0": np.where(rng.random(n) < 0.5, 0.0, normal),
        "clipped": np.clip(normal, -0.5, 1),
        "counts": rng.poisson(300, n).astype(float),
        "rounded": np.round(normal, 2),
        "gaps": np.where(rng.random(n) < 0.3, np.nan, normal),
        "few there": np.where(rng.random(n) < 0.999, np.nan, normal),
        "nothing there": np.full(n, np.nan),
        "periodic": np.where(np.arange(n) % (max(n, 4096) // 4096) == 0, 1.0, normal),
    }
    return {name: np.asarray(x, dtype=float) for name, x in found.items()}


def weights_of(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [
        rng.integers(0, 3, n).astype(float),
        rng.random(n) + 0.1,
        np.full(n, 0.1),
        np.where(rng.random(n) < 0.01, 1e3, 1e-3),
    ]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 63, 64, 65, 1000, 5000])
def test_bins_of_few_rows_equal_the_reference(level: str, n: int) -> None:
    rng = random(n)
    columns = list(laws(n, rng).values())
    for n_bins in (2, 3, 10, 255):
        check_bins(columns, None, n_bins)
    for w in weights_of(n, rng):
        check_bins(columns, w, 32)


@pytest.mark.parametrize("n", [1, 2, 641, 5000])
@pytest.mark.usefixtures("never_sorted")
def test_bins_by_buckets_equal_the_reference(level: str, n: int) -> None:
    rng = random(n)
    for x in laws(n, rng).values():
        for n_bins in (2, 3, 10, 255):
            check_bins([x], None, n_bins)
        for w in weights_of(n, rng):
            check_bins([x], w, 32)


@pytest.mark.parametrize("n", [20_000, 100_003])
def test_bins_of_many_rows_equal_the_reference(level: str, n: int) -> None:
    rng = random(n)
    X = np.stack(list(laws(n, rng).values()), axis=1)
    check_bins(list(X.T), None, 255)
    check_bins(list(np.asfortranarray(X).T), None, 16)
    check_bins(list(X.T), rng.random(n), 255)


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
def test_bins_of_every_type_equal_the_reference(level: str, dtype: str) -> None:
    rng = random()
    for n in (3000, 30_000):
        wide = rng.integers(0, 2, (n, 7)) if dtype == "?" else rng.normal(0, 1e5, (n, 7))
        with np.errstate(invalid="ignore"):
            X = wide.astype("i8" if dtype not in ("f4", "f8") else dtype).astype(dtype)
        spaced = np.zeros((n, 7, 2), X.dtype)
        spaced[:, :, 0] = X
        for frame in (X, np.asfortranarray(X), spaced[:, :, 0], X[::-1]):
            check_bins(list(frame.T), None, 100)


def test_bins_of_mixed_columns_equal_the_reference(level: str) -> None:
    rng = random()
    columns: list[np.ndarray] = [rng.integers(0, 100, 20_000).astype(dtype) for dtype in COLUMN_TYPES]
    columns += [rng.normal(size=40_000)[::2], rng.normal(size=(20_000, 3))[:, 1]]
    check_bins(columns * 3, None, 64)


def test_large_integers_are_binned_as_floats(level: str) -> None:
    x = random().integers(2**62, 2**63 - 1, 20_000)
    check_bins([x, x.astype(np.uint64) * 2, -x], None, 255)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_change_no_bins(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    rng = random()
    columns, w = list(laws(30_000, rng).values()), rng.random(30_000)
    monkeypatch.setenv("COUNTWISE_THREADS", threads)
    check_bins(columns, None, 255)
    check_bins(columns, w, 255)


def test_buckets_hold_what_the_steps_rely_on(level: str) -> None:
    rng = random()
    for x in laws(20_000, rng).values():
        made = binning._map(x)
        there = np.sort(x[~np.isnan(x)])
        buckets = binning._buckets(there, made)
        assert np.all(np.diff(buckets) >= 0)
        ranges, cells = binning._stacked([made])
        counts = np.zeros((1, binning.BUCKETS + 1), np.uint32)
        native.bin_counts([x], None, ranges, cells, counts, np.zeros((0, binning.BUCKETS + 1)))
        assert_array_equal(counts[0, : binning.BUCKETS], np.bincount(buckets, minlength=binning.BUCKETS))
        assert counts[0, binning.BUCKETS] == len(x) - len(there)


@pytest.mark.parametrize("bin_columns", [binning.bin_columns, reference.bin_columns])
def test_columns_that_cannot_be_binned_are_refused(bin_columns) -> None:
    x = np.zeros(4)
    for n_bins in (-1, 0, 1, 256):
        with pytest.raises(ValueError, match="n_bins"):
            bin_columns([x], None, n_bins)
    with pytest.raises(ValueError, match=r"columns\[1\] has 3 rows"):
        bin_columns([x, x[:3]], None, 4)
    with pytest.raises(ValueError, match="dimensions"):
        bin_columns([np.zeros((2, 2))], None, 4)
    with pytest.raises(TypeError, match="complex"):
        bin_columns([np.zeros(4, complex)], None, 4)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        bin_columns([x], np.ones(3), 4)
    with pytest.raises(TypeError, match="weights"):
        bin_columns([x], np.ones(4, np.float32), 4)
    assert bin_columns([], None, 4) == ([], [])


def test_steps_of_binning_refuse_what_leads_out_of_memory() -> None:
    x, made = [np.zeros(100)], binning._map(np.arange(100.0))
    ranges, cells = binning._stacked([made])
    good = np.zeros((1, binning.BUCKETS + 1), np.uint16)
    counts, none = np.zeros((1, binning.BUCKETS + 1), np.uint32), np.zeros((0, binning.BUCKETS + 1))
    bad = cells.copy()
    bad[0, 3] = 4000 | 200 << 16
    with pytest.raises(ValueError, match="beyond the last"):
        native.bin_counts(x, None, ranges, bad, counts, none)
    with pytest.raises(ValueError, match="ranges"):
        native.bin_counts(x * 2, None, ranges, cells, counts, none)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        native.bin_counts(x, np.ones(3), ranges, cells, counts, none)
    with pytest.raises(ValueError, match="sums"):
        native.bin_counts(x, np.ones(100), ranges, cells, counts, none)
    with pytest.raises(ValueError, match="counts"):
        native.bin_counts(x, None, ranges, cells, counts[:, 1:].copy(), none)
    marks, usual, out = np.ones((1, 2), np.uint8), np.ones((1, 2)), np.zeros(100, np.uint8)
    with pytest.raises(ValueError, match="slot is out of range"):
        native.bin_collect(x, None, ranges, cells, good, good + np.uint16(2), marks, usual, [5], [out])
    with pytest.raises(ValueError, match="word is out of range"):
        native.bin_collect(x, None, ranges, cells, good + np.uint16(512), good, marks, usual, [5], [out])
    with pytest.raises(ValueError, match="codes"):
        native.bin_collect(x, None, ranges, cells, good, good, marks, usual, [5], [out[:50]])
    all_of_it = x, None, ranges, cells, good + np.uint16(257), good + np.uint16(1), marks, usual
    for room in (0, 5, 99):
        assert native.bin_collect(*all_of_it, [room], [out])[0] == [None]
    copies, least, same = native.bin_collect(*all_of_it, [100], [out])
    assert_array_equal(copies[0][0], x[0])
    assert_array_equal(copies[0][1], np.arange(100))
    assert_array_equal(least, [[np.inf, 0.0]])
    assert_array_equal(same, [[0.0, 0.0]])
    assert_array_equal(out, np.ones(100))
    flat = np.zeros(binning.MOST_EDGES)
    with pytest.raises(ValueError, match="A row is out of range"):
        native.bin_amend(x[0], np.full(100, 100, np.uint32), flat, 1, out)
    with pytest.raises(ValueError, match="8 steps"):
        native.bin_amend(x[0], np.zeros(100, np.uint32), flat, 9, out)
    native.bin_amend(x[0] + 1, np.zeros(100, np.uint32), flat, 8, out)
    words, edges = good + np.uint16(511), np.full((1, binning.MOST_EDGES), -np.inf)
    native.bin_codes(x, ranges, cells, words, edges, [8], [out])
    with pytest.raises(ValueError, match="word is out of range"):
        native.bin_codes(x, ranges, cells, words + np.uint16(1), edges, [8], [out])
    with pytest.raises(ValueError, match="8 steps"):
        native.bin_codes(x, ranges, cells, words, edges, [9], [out])
    with pytest.raises(ValueError, match="codes"):
        native.bin_codes(x, ranges, cells, words, edges, [1], [out[:50]])
    with pytest.raises(ValueError, match="limit"):
        native.few_values(x, 256)


# Tables


def entries_of(n: int, nodes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Instances that ascend within nodes of all sizes, and where they lie: not all of them, and not in order."""
    node = rng.integers(0, nodes, n) ** 2 // nodes
    order = np.argsort(node, kind="stable")
    starts = np.searchsorted(node[order], np.arange(nodes + 1))
    segments = np.stack([starts[:-1], starts[1:]], axis=1)[rng.permutation(nodes)[: max(1, nodes * 2 // 3)]]
    return (2 * order + rng.integers(0, 2, n)).astype(np.uint32), segments.astype(np.int64)


def check_counts(*arguments: object) -> None:
    ours, theirs = native.count_entries(*arguments), reference.count_entries(*arguments)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert_allclose(ours, theirs, rtol=1e-12) if theirs.dtype == float else assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 9, 40])
def test_counts_of_entries_equal_the_reference(level: str, kind: type, n_classes: int) -> None:
    rng = random(n_classes)
    for n, nodes in ((0, 1), (1, 1), (7, 3), (3000, 1), (9001, 3), (2000, 300)):
        entries, segments = entries_of(n, nodes, rng)
        for codes in (rng.integers(0, n_classes, n).astype(np.uint8), rng.integers(0, n_classes, n).astype(kind)):
            column = rng.integers(0, 100, 2 * n).astype(kind)
            for w in (None, rng.integers(0, 9, n), rng.random(n)):
                check_counts(column[:n].copy(), entries, segments, codes, w, None, 100, n_classes)
                check_counts(column[::2], entries, segments, np.repeat(codes, 3)[::3], w, None, 101, n_classes)
                rows = rng.integers(0, 2 * n + 1, n).clip(0, max(0, 2 * n - 1)).astype(np.uint32)
                check_counts(column, entries, segments, codes, w, rows, 100, n_classes)


def test_counts_of_equal_cells_equal_the_reference(level: str) -> None:
    for n in (1, 1023, 1024, 10_001):
        entries, segments = 2 * np.arange(n, dtype=np.uint32), np.array([[0, n], [0, 0], [n // 2, n]])
        check_counts(np.full(n, 255, np.uint8), entries, segments, np.ones(n, np.uint8), None, None, 256, 2)
        check_counts(np.full(n, 255, np.uint8), entries, segments, np.full(n, 255, np.uint8), None, None, 256, 256)


def test_entries_and_rows_of_any_stride_are_counted(level: str) -> None:
    rng = random()
    entries, segments = entries_of(4000, 5, rng)
    column, codes = rng.integers(0, 9, 4000).astype(np.uint8), rng.integers(0, 2, 4000).astype(np.uint8)
    rows = np.arange(4000, dtype=np.uint32)[::-1]
    check_counts(column, np.repeat(entries, 2)[::2], np.asfortranarray(segments), codes, None, rows, 9, 2)
    check_counts(column, entries, segments, codes, np.ones(8000)[::2], None, 9, 2)


def check_matrix(*arguments: object) -> None:
    ours, theirs = native.count_matrix(*arguments), reference.count_matrix(*arguments)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert_allclose(ours, theirs, rtol=1e-12) if theirs.dtype == float else assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n_columns", [0, 1, 3, 4, 15, 16, 17, 20, 64, 300])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 17])
def test_counts_of_a_matrix_equal_the_reference(level: str, n_columns: int, n_classes: int) -> None:
    rng = random(n_columns)
    sizes = [(0, 1), (1, 1), (7, 3), (31, 1), (32, 1), (33, 1), (700, 1), (300, 30)]
    for n, nodes in sizes if n_columns < 64 else [(7, 3), (500, 2), (200, 9)]:
        entries, segments = entries_of(n, nodes, rng)
        codes = rng.integers(0, n_classes, n).astype(np.uint8)
        matrix = rng.integers(0, 50, (2 * n, n_columns)).astype(np.uint8)
        rows = rng.integers(0, max(1, 2 * n), n).astype(np.uint32)
        for w in (None, rng.integers(0, 9, n), rng.random(n)):
            check_matrix(matrix[:n], entries, segments, codes, w, None, 50, n_classes)
            check_matrix(matrix, entries, segments, codes, w, rows, 53, n_classes)


@pytest.mark.parametrize("n_cells", [1, 2, 255, 256, 257, 1000])
def test_counts_of_a_matrix_with_any_number_of_cells_equal_the_reference(level: str, n_cells: int) -> None:
    rng = random(n_cells)
    for n, nodes in ((9, 2), (2000, 2), (1000, 40)):
        entries, segments = entries_of(n, nodes, rng)
        matrix = rng.integers(0, min(n_cells, 256), (n, 21)).astype(np.uint8)
        codes = rng.integers(0, 2, n).astype(np.uint8)
        for w in (None, rng.integers(-3, 9, n), rng.random(n)):
            check_matrix(matrix, entries, segments, codes, w, None, n_cells, 2)
            check_matrix(matrix, entries, segments, codes, w, None, n_cells, 5)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_classes", [2, 300, 3000])
def test_counts_of_a_matrix_with_classes_of_every_type_equal_the_reference(
    level: str, kind: type, n_classes: int
) -> None:
    rng = random(n_classes)
    entries, segments = entries_of(4000, 3, rng)
    matrix = rng.integers(0, 200, (4000, 3)).astype(np.uint8)
    codes = rng.integers(0, min(n_classes, np.iinfo(kind).max), 4000).astype(kind)
    for w in (None, rng.integers(0, 9, 12_000)[::3], rng.random(8000)[::-2]):
        check_matrix(matrix, np.repeat(entries, 2)[::2], np.asfortranarray(segments), codes, w, None, 200, n_classes)
        check_matrix(matrix, entries, segments, np.repeat(codes, 2)[::2], w, None, 200, n_classes)


@pytest.mark.parametrize("n", [65_535, 65_536, 65_600, 131_072, 200_001])
def test_more_rows_of_a_matrix_than_two_bytes_count_are_counted(level: str, n: int) -> None:
    matrix = np.tile(np.array([255, 0, 7, 7, 255], np.uint8), (n, 1))
    entries, segments = 2 * np.arange(n, dtype=np.uint32), np.array([[0, n], [0, 0], [5, n], [0, 100]])
    for n_classes, c in ((2, 1), (1, 0), (4, 2)):
        table = native.count_matrix(matrix, entries, segments, np.full(n, c, np.uint8), None, None, 256, n_classes)
        wanted = np.zeros((5, 4, 256, n_classes), np.uint32)
        wanted[np.arange(5), :, matrix[0], c] = n, 0, n - 5, 100
        assert_array_equal(table, wanted)


def test_the_counts_of_a_matrix_are_those_of_its_columns(level: str) -> None:
    rng = random()
    for n, nodes in ((150_000, 2), (30_000, 600)):
        entries, segments = entries_of(n, nodes, rng)
        matrix, codes = rng.integers(0, 256, (n, 20)).astype(np.uint8), rng.integers(0, 2, n).astype(np.uint8)
        for w in (None, rng.integers(0, 9, n)):
            table = native.count_matrix(matrix, entries, segments, codes, w, None, 256, 2)
            for mine, column in zip(table, matrix.T, strict=True):
                assert_array_equal(mine, native.count_entries(column, entries, segments, codes, w, None, 256, 2))


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("n_columns", [1, 16, 21])
def test_a_matrix_that_leads_out_of_memory_is_refused(
    level: str, kernels: ModuleType, n: int, n_columns: int
) -> None:
    matrix, codes, entries = np.zeros((n, n_columns), np.uint8), np.zeros(n, np.uint8), 2 * np.arange(n, dtype="u4")
    whole = np.array([[0, n]])

    def refuse(match: str, error: type = ValueError, **changed: object) -> None:
        given: dict = {"matrix": matrix, "entries": entries, "segments": whole, "codes": codes, "weights": None}
        given |= {"rows": None, "n_cells": 3, "n_classes": 2}
        with pytest.raises(error, match=match):
            kernels.count_matrix(**given | changed)

    for w in (None, np.ones(n, np.int64), np.ones(n)):
        for j in range(n_columns):
            for i, bad in ((0, 3), (n // 2, 4), (n - 1, 255)):
                wrong = matrix.copy()
                wrong[i, j] = bad
                refuse("out of range", matrix=wrong, weights=w)
        for kind in (np.uint8, np.uint32):
            for bad in (2, 3, 255):
                wrong = codes.astype(kind)
                wrong[n - 1] = bad
                refuse("out of range", codes=wrong, weights=w)
    refuse("out of range", n_cells=0)
    refuse("out of range", n_classes=0)
    refuse("instance or a row", matrix=matrix[:-1])
    refuse("instance or a row", entries=entries + np.uint32(2))
    refuse("instance or a row", entries=entries | np.uint32(2**31))
    refuse("instance or a row", rows=np.full(n, n, np.uint32))
    refuse("instance or a row", rows=np.full(n, 2**32 - 1, np.uint32))
    for segment in ([0, n + 1], [-1, 2], [3, 2], [-(2**63), 2**63 - 1]):
        refuse("A segment lies outside", segments=np.array([segment]))
    refuse(r"segments has shape \(1, 3\)", segments=np.zeros((1, 3), np.int64))
    refuse("weights has", weights=np.ones(n - 1))
    refuse("rows has", rows=np.zeros(n - 1, np.uint32))
    refuse("uint32", TypeError, entries=entries.astype(np.int64))
    refuse("uint32", TypeError, rows=entries.astype(np.int64))
    refuse("int64", TypeError, segments=whole.astype(np.int32))
    refuse("weights", TypeError, weights=np.ones(n, np.float32))
    refuse("codes", TypeError, codes=np.zeros(n))
    wide = np.zeros((n, 2 * n_columns), np.uint8)
    for wrong in (matrix.astype(np.uint16), matrix.astype(np.int8)):
        refuse("matrix is .*; it must be uint8", TypeError, matrix=wrong)
    for wrong in (wide[:, ::2], wide[:, n_columns:]):
        refuse("matrix must be C-contiguous", matrix=wrong)
    refuse("matrix has shape", matrix=matrix[:, 0])


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_sums_of_entries_equal_the_reference(level: str, kind: type) -> None:
    rng = random()
    for n, nodes in ((0, 1), (1, 1), (7, 3), (3000, 1), (2000, 300)):
        entries, segments = entries_of(n, nodes, rng)
        values, centers = rng.normal(50, 3, n), rng.normal(50, 1, len(segments))
        column, rows = rng.integers(0, 60, 2 * n).astype(kind), rng.integers(0, 2 * n + 1, n) % max(1, 2 * n)
        for w in (None, rng.random(n)):
            for cells, places in ((column[::2], None), (column, rows.astype(np.uint32))):
                arguments = cells, entries, segments, values, w, places, 60, centers
                assert_allclose(
                    native.sum_entries(*arguments), reference.sum_entries(*arguments), rtol=1e-11, atol=1e-9
                )


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n", [10, 5000])
def test_entries_that_lead_out_of_memory_are_refused(level: str, kernels: ModuleType, n: int) -> None:
    column, codes, entries = np.zeros(n, np.uint8), np.zeros(n, np.uint8), 2 * np.arange(n, dtype=np.uint32)
    whole, values = np.array([[0, n]]), np.zeros(n)

    def refuse(match: str, error: type = ValueError, **changed: object) -> None:
        given = {"column": column, "entries": entries, "segments": whole, "weights": None, "rows": None, "n_cells": 3}
        given |= changed
        with pytest.raises(error, match=match):
            kernels.count_entries(**{"codes": codes, "n_classes": 2} | given)
        if "codes" not in changed:
            given = {name: given[name] for name in given if name != "n_classes"}
            with pytest.raises(error, match=match):
                kernels.sum_entries(**{"values": values, "centers": np.zeros(1)} | given)

    for kind in (np.uint8, np.uint32):
        for bad in (3, 4, 255):
            wrong = column.astype(kind)
            wrong[n // 2] = bad
            refuse("out of range", column=wrong)
            refuse("out of range", codes=wrong)
    refuse("instance or a row", column=column[:-1])
    refuse("instance or a row", entries=entries + np.uint32(2))
    refuse("instance or a row", rows=np.full(n, n, np.uint32))
    for segment in ([0, n + 1], [-1, 2], [3, 2], [-(2**63), 2**63 - 1]):
        refuse("A segment lies outside", segments=np.array([segment]))
    refuse(r"segments has shape \(1, 3\)", segments=np.zeros((1, 3), np.int64))
    refuse("weights has", weights=np.ones(n - 1))
    refuse("rows has", rows=np.zeros(n - 1, np.uint32))
    refuse("uint32", TypeError, entries=entries.astype(np.int64))
    refuse("uint32", TypeError, rows=entries.astype(np.int64))
    refuse("int64", TypeError, segments=whole.astype(np.int32))
    refuse("column must be a 1-D array", TypeError, column=values)
    refuse("weights", TypeError, weights=np.ones(n, np.float32))
    with pytest.raises(ValueError, match="centers has 2 rows"):
        kernels.sum_entries(column, entries, whole, values, None, None, 3, np.zeros(2))


# Places


def check_places(table: np.ndarray, n_bins: int, criterion: str, least: float) -> np.ndarray:
    places, gains = native.best_bins(table, n_bins, criterion, least)
    wanted, known = reference.best_bins(table, n_bins, criterion, least)
    assert places.dtype == np.int64
    assert_array_equal(places, wanted)
    assert_allclose(gains, known, rtol=1e-9, atol=1e-13 if criterion in ("gini", "entropy") else 0)
    return places


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("kind", [np.uint32, np.int64, np.float64])
def test_places_between_bins_equal_the_reference(level: str, criterion: str, n_classes: int, kind: type) -> None:
    rng = random(n_classes)
    for most in (2, 5, 300, 30_000):
        for filled in (0.02, 0.5, 1.0):
            table = rng.integers(0, most, (15, 50, n_classes)) * (rng.random((15, 50, 1)) < filled)
            table = (table * rng.random(table.shape) if kind is np.float64 else table).astype(kind)
            for n_bins, least in ((50, 1), (49, 20), (2, 1), (1, 1), (0, 1), (99, 0), (50, 1e9)):
                check_places(table, n_bins, criterion, least)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_of_equally_good_places_the_first_is_taken(level: str, criterion: str) -> None:
    table = np.zeros((4, 255, 2), np.uint32)
    table[0, ::2, 0], table[0, 1::2, 1] = 1, 1  # alike from both ends
    table[1, 10, 0], table[1, 200, 1] = 10**9, 10**9  # all places between are one
    table[2, :, 0] = 7  # a single class
    table[3, 5] = 3, 4  # a single bin
    places = check_places(table, 255, criterion, 1.0)
    assert places[1:].tolist() == [11, 1, -1]
    mirrored = np.concatenate([table[0], table[0][::-1]])[None].copy()
    check_places(mirrored, 510, criterion, 1.0)
    counts = random().integers(0, 50, (300, 20, 2))
    both = np.concatenate([counts, counts[:, ::-1]], axis=1).astype(np.uint32)
    check_places(both, 40, criterion, 1.0)
    check_places(np.ascontiguousarray(both[:, :, ::-1]).astype(float) / 3, 40, criterion, 1.0)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_large_nodes_before_small_ones_change_nothing(level: str, criterion: str) -> None:
    rng = random()
    table = rng.integers(0, 4, (100, 37, 2)).astype(np.uint32)
    table[::3] *= 10**7
    check_places(table, 37, criterion, 2.0)
    alone = [native.best_bins(table[k : k + 1], 37, criterion, 2.0)[0][0] for k in range(100)]
    assert_array_equal(native.best_bins(table, 37, criterion, 2.0)[0], alone)


def test_counts_up_to_the_largest_are_parted(level: str) -> None:
    table = random().integers(2**32 - 9, 2**32, (20, 30, 2), dtype=np.uint32)
    table[:, 7] = 0
    for criterion in ("gini", "entropy"):
        places, _ = native.best_bins(table, 30, criterion, 1.0)
        assert np.all((places > 0) & (places < 30))
        check_places(table // 2**12, 30, criterion, 1.0)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
def test_places_of_numbers_equal_the_reference(level: str, criterion: str) -> None:
    rng = random()
    for n in (1, 2, 50, 5000):
        entries, segments = entries_of(n, 7, rng)
        column, values = rng.integers(0, 30, n).astype(np.uint8), rng.normal(size=n)
        values += column > 11
        centers = rng.normal(size=len(segments))
        for w in (None, rng.random(n)):
            table = reference.sum_entries(column, entries, segments, values, w, None, 30, centers)
            for n_bins, least in ((30, 1), (29, 5), (2, 0), (1, 1)):
                check_places(table, n_bins, criterion, least)
            check_places(table * 0, 30, criterion, 0)
    whole = np.zeros((1, 9, 3))
    whole[0, :, 0] = 2  # numbers that are all the center
    assert check_places(whole, 9, criterion, 1.0) == [1]


def check_gains(table: np.ndarray, n_values: int, criterion: str, least: float) -> np.ndarray:
    gains = native.branch_gains(table, n_values, criterion, least)
    wanted = reference.branch_gains(table, n_values, criterion, least)
    atol = {"gini": 1e-13, "entropy": 1e-13, "variance": 1e-12, "sd": 1e-7}[criterion]
    assert_allclose(gains, wanted, rtol=1e-9, atol=atol)
    return gains


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("kind", [np.uint32, np.int64, np.float64])
def test_gains_of_branches_equal_the_reference(level: str, criterion: str, n_classes: int, kind: type) -> None:
    rng = random(n_classes)
    for most in (2, 5, 300, 30_000):
        for filled in (0.02, 0.5, 1.0):
            table = rng.integers(0, most, (60, 20, n_classes)) * (rng.random((60, 20, 1)) < filled)
            table = (table * rng.random(table.shape) if kind is np.float64 else table).astype(kind)
            for n_values, least in ((20, 1), (19, 20), (2, 1), (1, 1), (0, 1), (99, 0), (20, 1e9)):
                check_gains(table, n_values, criterion, least)


@pytest.mark.parametrize("criterion", ["variance", "sd"])
def test_gains_of_branches_of_numbers_equal_the_reference(level: str, criterion: str) -> None:
    rng = random()
    for n in (1, 2, 50, 5000):
        entries, segments = entries_of(n, 7, rng)
        column, values = rng.integers(0, 30, n).astype(np.uint8), rng.normal(size=n)
        centers = rng.normal(size=len(segments))
        for w in (None, rng.random(n)):
            table = reference.sum_entries(column, entries, segments, values, w, None, 30, centers)
            for n_values, least in ((30, 1), (29, 5), (2, 0), (1, 1)):
                check_gains(table, n_values, criterion, least)
            assert np.isnan(check_gains(table * 0, 30, criterion, 0)).all()


def test_gains_of_branches_are_the_mutual_information(level: str) -> None:
    table = np.array([[[2, 3], [4, 0], [3, 2]], [[9, 5], [0, 0], [0, 0]], [[1, 0], [0, 1], [0, 0]]], dtype=np.uint32)
    gains = native.branch_gains(table, 3, "entropy", 1.0)
    assert_allclose(gains, [mutual_information(table[0]), np.nan, 1.0], rtol=1e-14)
    assert np.isnan(native.branch_gains(table, 3, "entropy", 5.0)[1:]).all()  # one branch weighs enough, or none


@pytest.mark.parametrize("kernels", [native, reference])
def test_tables_that_cannot_be_parted_are_refused(kernels: ModuleType) -> None:
    table = np.zeros((2, 5, 2))
    for name, match in (("misses", "criterion"), ("sd", "3 numbers per cell, not 2")):
        with pytest.raises(ValueError, match=match):
            kernels.branch_gains(table, 5, name, 1.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        kernels.branch_gains(table[:, ::2], 5, "gini", 1.0)
    with pytest.raises(ValueError, match="criterion"):
        kernels.best_bins(table, 5, "misses", 1.0)
    with pytest.raises(ValueError, match="3 numbers per cell, not 2"):
        kernels.best_bins(table, 5, "sd", 1.0)
    with pytest.raises(TypeError, match="table"):
        kernels.best_bins(table.astype(np.float32), 5, "gini", 1.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        kernels.best_bins(table[:, ::2], 5, "gini", 1.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        kernels.best_bins(table[0], 5, "gini", 1.0)
    places, gains = kernels.best_bins(table[:0].copy(), 5, "gini", 1.0)
    assert len(places) == len(gains) == 0
