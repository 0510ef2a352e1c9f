"""The compiled kernels that choose columns against the NumPy ones, which are their specification."""

from __future__ import annotations

import numpy as np
import pytest

from .levels import assert_allclose, assert_array_equal, native, reference

CODE_TYPES = [np.uint8, np.uint16, np.uint32]


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Right answers


def scores(rows: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Sums that are often equal and sometimes minus infinity, or not a number."""
    cells = rng.integers(-3, 4, (rows, classes)).astype(float)
    cells[rng.random((rows, classes)) < 0.1] = -np.inf
    cells[rng.random(rows) < 0.05] = -np.inf
    cells[rng.random((rows, classes)) < 0.01] = np.inf
    cells[rng.random((rows, classes)) < 0.01] = np.nan
    return cells


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 50])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 1000])
def test_right_answers_are_counted_as_in_the_reference(level: str, classes: int, rows: int) -> None:
    rng = random(rows)
    base, terms = scores(rows, classes, rng), [scores(rows, classes, rng) for _ in range(5)]
    for dtype in ("u1", "u2", "u4", "i8", "i4"):
        target = rng.integers(0, classes + 1, 2 * rows).astype(dtype)[::2]
        for fallback in (0, classes - 1):
            ours = native.count_correct(base, terms, target, None, fallback)
            assert_array_equal(ours, reference.count_correct(base, terms, target, None, fallback))
            weights = rng.random(rows)
            ours = native.count_correct(base, terms, target, weights, fallback)
            assert_allclose(ours, reference.count_correct(base, terms, target, weights, fallback), rtol=1e-13)


@pytest.mark.parametrize("classes", [2, 3, 5, 11])
def test_right_answers_of_many_rows_are_counted_as_in_the_reference(level: str, classes: int) -> None:
    rng = random(classes)
    rows = 40_003
    base, terms = rng.normal(size=(rows, classes)), [rng.normal(size=(rows, classes)) for _ in range(3)]
    target, weights = rng.integers(0, classes, rows), rng.random(rows)
    for w in (None, weights):
        ours = native.count_correct(base, terms, target, w, 0)
        assert_allclose(ours, reference.count_correct(base, terms, target, w, 0), rtol=1e-12)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("classes", [2, 3, 4, 6])
def test_the_first_of_equal_classes_is_the_answer_and_the_fallback_that_of_none(
    level: str, kernels, classes: int
) -> None:
    for rows in (1, 8):
        equal, none = np.zeros((rows, classes)), np.full((rows, classes), -np.inf)
        for c in range(classes):
            target = np.full(rows, c, np.uint8)
            last = equal.copy()
            last[:, c:] = 1.0
            spoilt = last.copy()
            spoilt[:, classes - 1 - c] = np.nan
            right = kernels.count_correct(equal, [equal, last, none, spoilt], target, None, classes - 1)
            assert_array_equal(right, np.array([c == 0, True, c == classes - 1, False]) * rows)


def test_terms_of_any_layout_are_judged_alike(level: str) -> None:
    rng = random()
    base, term = rng.normal(size=(100, 3)), rng.normal(size=(100, 3))
    target = rng.integers(0, 3, 100)
    expected = reference.count_correct(base, [term], target, None, 0)
    for other in (np.asfortranarray(term), np.repeat(term, 2, axis=0)[::2]):
        assert_array_equal(native.count_correct(base, [other], target, None, 0), expected)
    assert len(native.count_correct(base, [], target, None, 0)) == 0


@pytest.mark.parametrize("kernels", [native, reference])
def test_scores_that_do_not_fit_are_refused(kernels) -> None:
    base, target = np.zeros((4, 3)), np.zeros(4, np.uint8)
    with pytest.raises(ValueError, match=r"terms\[1\] has shape"):
        kernels.count_correct(base, [base, base[:, :2]], target, None, 0)
    with pytest.raises(ValueError, match="target has 3 rows"):
        kernels.count_correct(base, [base], target[:3], None, 0)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        kernels.count_correct(base, [base], target, np.ones(3), 0)
    with pytest.raises(ValueError, match="no classes"):
        kernels.count_correct(base[:, :0], [], target, None, 0)
    with pytest.raises(TypeError, match="target"):
        kernels.count_correct(base, [base], np.zeros(4), None, 0)
    with pytest.raises(TypeError, match=r"terms\[0\]"):
        kernels.count_correct(base, [base.astype(np.float32)], target, None, 0)


# Pairs of columns


def check_pairs(columns: list[np.ndarray], sizes: list[int], pairs: np.ndarray) -> None:
    ours, theirs = (kernels.count_families(columns, sizes, pairs.tolist(), None) for kernels in (native, reference))
    assert len(ours) == len(theirs) == len(pairs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype == np.int64
        assert one.shape == other.shape
        assert_array_equal(one, other)


def all_pairs(n: int) -> np.ndarray:
    return np.array([(i, j) for i in range(n) for j in range(n)]).reshape(-1, 2)


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 100, 8192, 20_000])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_pairs_are_counted_as_in_the_reference(level: str, rows: int, gaps: float) -> None:
    rng = random(rows)
    sizes = [1, 2, 3, 5, 11, 12, 64, 65, 100, 300, 0]
    columns = []
    for j, size in enumerate(sizes):
        kind = CODE_TYPES[j % 3] if size < 255 else np.uint16
        codes = rng.integers(0, max(size, 1), 2 * rows)
        codes[rng.random(2 * rows) < gaps] = size + rng.integers(0, 2)
        columns.append(codes.astype(kind)[::2] if j % 2 else codes.astype(kind)[:rows])
    check_pairs(columns, sizes, all_pairs(len(sizes)))


def test_codes_far_outside_are_not_counted(level: str) -> None:
    rng = random()
    columns = [rng.choice([0, 1, 2, 3, 255, 256, 257, 65535], 9000).astype(np.uint16) for _ in range(3)]
    columns.append(rng.choice(np.array([0, 1, 255, 2**32 - 1, 2**32 - 256], np.uint32), 9000))
    columns.append(np.full(9000, 255, np.uint8))
    check_pairs(columns, [3, 4, 1, 2, 60], all_pairs(5))


def test_values_that_are_rare_or_come_in_runs_are_counted(level: str) -> None:
    rng = random()
    runs = np.repeat([0, 1, 2, 9, 1], 8000).astype(np.uint8)  # whole blocks without some values, or outside
    rare = np.zeros(40_000, np.uint8)
    rare[[5, 8191, 8192, 39_999]] = [1, 2, 3, 4]
    check_pairs([runs, rare, rng.integers(0, 4, 40_000).astype(np.uint8)], [3, 5, 4], all_pairs(3))


def test_pairs_in_any_order_are_welcome(level: str) -> None:
    rng = random()
    columns = [rng.integers(0, 4, 500).astype(np.uint8) for _ in range(4)]
    pairs = np.array([(3, 0), (1, 2), (1, 2), (2, 2)])
    for given in (pairs, pairs[::-1], pairs[:, ::-1]):
        check_pairs(columns, [4] * 4, given)
    check_pairs(columns, [4] * 4, np.empty((0, 2), np.int64))
    check_pairs([], [], np.empty((0, 2), np.int64))


@pytest.mark.parametrize("kernels", [native, reference])
def test_pairs_that_cannot_be_are_refused(kernels) -> None:
    columns = [np.zeros(4, np.uint8), np.zeros(4, np.uint16)]
    for pair in ([0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="families contains column"):
            kernels.count_families(columns, [1, 1], [pair], None)
    with pytest.raises(ValueError, match="2 columns but 1 sizes"):
        kernels.count_families(columns, [1], [[0, 1]], None)
    with pytest.raises(ValueError, match=r"columns\[1\] has 3 rows"):
        kernels.count_families([columns[0], columns[1][:3]], [1, 1], [[0, 1]], None)
    with pytest.raises(TypeError, match=r"columns\[0\]"):
        kernels.count_families([np.zeros(4)], [1], [[0, 0]], None)
