"""The kernels on whole rows: compiled against NumPy, and NumPy against exact arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from countwise._kernels import over_blocks

from .levels import LEVELS, assert_allclose, assert_array_equal, native, reference

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
WIDTHS = [1, 2, 3, 5, 8, 50, 130]
EPS = np.finfo(float).eps


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(rows: int, width: int, rng: np.random.Generator, gaps: float = 0.0) -> np.ndarray:
    """Columns that depend on each other; a share `gaps` of the rows lacks a cell."""
    X = rng.normal(3, 2, size=(rows, width))
    X[:, 1:] += 0.5 * X[:, :-1]
    holes = np.flatnonzero(rng.random(rows) < gaps)
    X[holes, rng.integers(0, width, len(holes))] = np.nan
    return X


def layouts(X: np.ndarray) -> dict[str, list[np.ndarray]]:
    """The same columns as they may lie in memory."""
    rows, width = X.shape
    spaced = np.empty((rows, width, 3), X.dtype)
    spaced[:, :, 1] = X
    unaligned = np.empty(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    unaligned[:] = X
    wide = np.empty((rows, width + 7), X.dtype)
    wide[:, 5 : 5 + width] = X
    frames = {
        "rows": np.ascontiguousarray(X),
        "columns": np.asfortranarray(X),
        "spaced": spaced[:, :, 1],
        "backward": np.ascontiguousarray(X[::-1])[::-1],
        "unaligned": unaligned,
        "wide": wide[:, 5 : 5 + width],
    }
    cut = {name: [frame[:, j] for j in range(width)] for name, frame in frames.items()}
    half = width // 2
    cut["in two halves"] = cut["rows"][:half] + cut["columns"][half:]
    return cut


def marks(rows: int) -> np.ndarray:
    """Memory that holds something else than the answer."""
    return np.full(rows, 7, np.uint8)


def scatter_of(kernels: ModuleType, columns: list, codes: np.ndarray, w: np.ndarray | None, n_classes: int) -> tuple:
    incomplete = marks(len(codes))
    n, mean, scatter = kernels.class_scatter(columns, codes, w, n_classes, incomplete)
    assert_array_equal(scatter, scatter.transpose(0, 2, 1))
    return n, mean, scatter, incomplete


def assert_scatter(ours: np.ndarray, theirs: np.ndarray, tolerance: float = 1e-12) -> None:
    """Equal as far as the deviations of the two columns allow it."""
    sd = np.sqrt(np.diagonal(theirs, axis1=-2, axis2=-1))
    assert np.all(np.abs(ours - theirs) <= tolerance * sd[..., :, None] * sd[..., None, :])


def check_scatter(columns: list, codes: np.ndarray, w: np.ndarray | None, n_classes: int) -> None:
    ours = scatter_of(native, columns, codes, w, n_classes)
    theirs = scatter_of(reference, columns, codes, w, n_classes)
    assert_allclose(ours[0], theirs[0], rtol=1e-13)
    assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-12)
    assert_scatter(ours[2], theirs[2])
    assert_array_equal(ours[3], theirs[3])


# Scatter


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_scatter_equals_the_reference(level: str, width: int, rows: int) -> None:
    rng = random(width)
    X = table(rows, width, rng, 0.05)
    codes = rng.integers(0, 4, rows).astype(np.uint8)
    for columns in layouts(X).values():
        for w in (None, rng.integers(0, 4, rows).astype(float), rng.random(rows)):
            check_scatter(columns, codes, w, 3)


@pytest.mark.parametrize("width", [3, 50])
def test_scatter_of_many_rows_equals_the_reference(level: str, width: int) -> None:
    rng = random(width)
    X = table(70_000, width, rng, 0.01)
    codes = rng.integers(0, 3, 70_000).astype(np.uint16)
    for order in "CF":
        check_scatter(list(np.asarray(X, order=order).T), codes, None, 3)
        check_scatter(list(np.asarray(X, order=order).T), np.sort(codes), rng.random(70_000), 3)


@pytest.mark.parametrize("n_classes", [0, 1, 2, 40, 400])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_scatter_of_any_number_of_classes_equals_the_reference(level: str, n_classes: int, kind: type) -> None:
    rng = random(n_classes)
    X = table(5000, 6, rng, 0.1)
    codes = (2 * rng.integers(0, n_classes // 2 + 2, 10_000)).clip(0, 255).astype(kind)[::2]  # odd ones are empty
    check_scatter(list(X.T), codes, None, n_classes)
    check_scatter(list(X.T), codes, rng.random(5000), n_classes)


def test_scatter_of_columns_of_mixed_types_equals_the_reference(level: str) -> None:
    rng = random()
    columns = [rng.normal(50, 9, 3000).clip(0, 100).astype(dtype)[::2] for dtype in COLUMN_TYPES]
    columns[0][rng.random(1500) < 0.1] = np.nan
    columns[1][rng.random(1500) < 0.1] = np.nan
    columns[-1] = rng.random(1500) < 0.4
    codes = rng.integers(0, 3, 1500).astype(np.uint8)
    check_scatter(columns, codes, None, 3)
    check_scatter(columns[::-1], np.sort(codes), rng.random(1500), 2)


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
def test_scatter_of_every_type_equals_the_reference_in_every_layout(level: str, dtype: str) -> None:
    rng = random()
    X = rng.integers(0, 2 if dtype == "?" else 100, (700, 9)).astype(dtype)
    for columns in layouts(X).values():
        check_scatter(columns, rng.integers(0, 2, 700).astype(np.uint8), None, 2)


def test_a_class_without_rows_has_zeros(level: str) -> None:
    X = random().normal(size=(100, 5))
    X[50:, 2] = np.nan
    codes = np.repeat([0, 2, 9], [50, 25, 25]).astype(np.uint8)
    for kernels in (native, reference):
        n, mean, scatter, incomplete = scatter_of(kernels, list(X.T), codes, None, 4)
        assert_array_equal(n, [50, 0, 0, 0])
        assert not mean[1:].any()
        assert not scatter[1:].any()
        assert_array_equal(incomplete, np.arange(100) >= 50)


def test_scatter_of_equal_rows_is_exactly_0(level: str) -> None:
    X = np.full((3000, 6), 0.1) * np.array([1, 1e9, -1e-9, 7, 1e300, 0])
    codes = (np.arange(3000) % 2).astype(np.uint8)
    for kernels in (native, reference):
        for columns in layouts(X).values():
            for w in (None, np.full(3000, 0.3)):
                _, mean, scatter, _ = scatter_of(kernels, columns, codes, w, 2)
                assert not scatter.any()
                assert_array_equal(mean, X[:2])


def test_a_row_of_weight_0_adds_no_scatter_even_if_it_is_infinite(level: str) -> None:
    X = random().normal(size=(100, 6))
    X[7] = np.inf
    w = np.ones(100)
    w[7] = 0
    for columns in layouts(X).values():
        check_scatter(columns, np.zeros(100, np.uint8), w, 1)


@pytest.mark.parametrize("place", [0, 100, 899])
def test_an_infinite_cell_shows_in_the_scatter_of_its_column_alone(level: str, place: int) -> None:
    X = random().normal(size=(900, 6))
    X[place, 2] = -np.inf
    for kernels in (native, reference):
        for w in (None, np.ones(900)):
            _, mean, scatter, incomplete = scatter_of(kernels, list(X.T), np.zeros(900, np.uint8), w, 1)
            others = np.arange(6) != 2
            assert_array_equal(np.isfinite(mean[0]), others)
            assert_array_equal(np.isfinite(scatter[0]), others[:, None] & others)
            assert not incomplete.any()


def exact_scatter(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """By fractions, rounded once."""
    cells = [[Fraction(float(x)) for x in row] for row in X]
    weights = [Fraction(float(v)) for v in w]
    total, width = sum(weights), X.shape[1]
    mean = [sum(v * row[j] for v, row in zip(weights, cells, strict=True)) / total for j in range(width)]
    centered = [[x - m for x, m in zip(row, mean, strict=True)] for row in cells]
    pairs = [
        [float(sum(v * row[i] * row[j] for v, row in zip(weights, centered, strict=True))) for j in range(width)]
        for i in range(width)
    ]
    return np.array(pairs)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e12])
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_far_from_0_is_that_of_exact_arithmetic(level: str, offset: float, weighted: bool) -> None:
    rng = random()
    X = offset + table(700, 4, rng)
    w = rng.random(700) if weighted else np.ones(700)
    exact = exact_scatter(X, w)
    for kernels in (native, reference):
        _, _, scatter, _ = scatter_of(kernels, list(X.T), np.zeros(700, np.uint8), w if weighted else None, 1)
        assert_scatter(scatter[0], exact, 100 * EPS)


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= EPS, reason="long doubles are doubles here")
@pytest.mark.parametrize("order", ["random", "sorted"])
def test_scatter_of_a_million_rows_far_from_0_keeps_12_digits(level: str, order: str) -> None:
    rng = random()
    X = 1e8 + rng.normal(size=(1_000_000, 3))
    X[:, 1] += 0.7 * (X[:, 0] - 1e8)
    if order == "sorted":  # the means of later rows lie ever farther from those of earlier ones
        X = np.sort(X, axis=0)
    centered = X - X.astype(np.longdouble).mean(axis=0)
    exact = np.array([[float((centered[:, i] * centered[:, j]).sum()) for j in range(3)] for i in range(3)])
    for kernels in (native, reference):
        _, _, scatter, _ = scatter_of(kernels, list(X.T), np.zeros(len(X), np.uint8), None, 1)
        assert_scatter(scatter[0], exact, 1e-12)


def test_an_outlier_in_the_first_row_costs_no_digits_of_the_others(level: str) -> None:
    X = random().normal(size=(5000, 3))
    X[0] = 1e9
    check_scatter(list(X.T), np.zeros(5000, np.uint8), None, 1)


# Forms


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [0, 1, 2, 65, 1000])
def test_quadratic_forms_equal_the_reference(level: str, width: int, rows: int) -> None:
    rng = random(width)
    X = table(rows, width, rng, 0.05)
    for classes, height in ((1, width), (3, width), (5, (width + 1) // 2)):
        centers, full = rng.normal(size=(classes, width)), rng.normal(size=(classes, height, width))
        for factors in (full, np.triu(full), np.tril(full), np.asfortranarray(full), 0 * full):
            start = rng.normal(size=(rows, classes))
            theirs, gaps = start.copy(), marks(rows)
            reference.add_quadratic(list(X.T), centers, factors, theirs, gaps)
            for columns in layouts(X).values():
                ours, found = start.copy(), marks(rows)
                native.add_quadratic(columns, centers, factors, ours, found)
                assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
                assert_array_equal(found, gaps)
                assert_array_equal(ours[gaps == 1], start[gaps == 1])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 11])
def test_linear_forms_equal_the_reference(level: str, width: int, classes: int) -> None:
    rng = random(width)
    for rows in (0, 1, 2, 65, 1000):
        X = table(rows, width, rng, 0.05)
        center, slopes = rng.normal(size=width), rng.normal(size=(classes, width))
        start = rng.normal(size=(rows, classes))
        theirs, gaps = start.copy(), marks(rows)
        reference.add_linear(list(X.T), center, slopes, theirs, gaps)
        for columns in layouts(X).values():
            ours, found = start.copy(), marks(rows)
            native.add_linear(columns, center, slopes, ours, found)
            assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
            assert_array_equal(found, gaps)
            assert_array_equal(ours[gaps == 1], start[gaps == 1])


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
def test_forms_of_every_type_equal_the_reference(level: str, dtype: str) -> None:
    rng = random()
    X = rng.integers(0, 2 if dtype == "?" else 100, (300, 9)).astype(dtype)
    centers, factors = rng.normal(size=(2, 9)), rng.normal(size=(2, 9, 9))
    theirs, unmarked = np.zeros((300, 2)), np.zeros(300)
    reference.add_quadratic(list(X.T), centers, factors, theirs, marks(300))
    reference.add_linear(list(X.T), centers[0], factors[:, 0].copy(), theirs, marks(300))
    for columns in layouts(X).values():
        ours, found = np.zeros((300, 2)), marks(300)
        native.add_quadratic(columns, centers, factors, ours, found)
        assert_array_equal(found, unmarked)
        native.add_linear(columns, centers[0], factors[:, 0].copy(), ours, found)
        assert_array_equal(found, unmarked)
        assert_allclose(ours, theirs, rtol=1e-12)


def test_forms_of_many_rows_equal_the_reference(level: str) -> None:
    rng = random()
    X = table(70_000, 50, rng, 0.001)
    centers, factors = rng.normal(size=(3, 50)), rng.normal(size=(3, 50, 50))
    ours, theirs, found, gaps = np.zeros((70_000, 3)), np.zeros((70_000, 3)), marks(70_000), marks(70_000)
    for kernels, out, incomplete in ((native, ours, found), (reference, theirs, gaps)):
        kernels.add_quadratic(list(X.T), centers, factors, out, incomplete)
        kernels.add_linear(list(X.T), centers[0], factors[:, 0], out, incomplete)
    assert_allclose(ours, theirs, rtol=1e-12)
    assert_array_equal(found, gaps)


def test_forms_far_from_0_keep_their_digits(level: str) -> None:
    rng = random()
    X, centers = rng.integers(-9, 9, (300, 7)).astype(float), rng.integers(-9, 9, (2, 7)).astype(float)
    factors = rng.normal(size=(2, 7, 7))
    for kernels in (native, reference):
        near, far, incomplete = np.zeros((300, 2)), np.zeros((300, 2)), marks(300)
        for out, offset in ((near, 0.0), (far, 1e9)):
            columns = layouts(X + offset)["rows"]
            kernels.add_quadratic(columns, centers + offset, factors, out, incomplete)
            kernels.add_linear(columns, centers[0] + offset, factors[0, :2], out, incomplete)
        assert_array_equal(near, far)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_forms_of_a_row_do_not_depend_on_its_neighbors(level: str, order: str) -> None:
    rng = random()
    X = rng.normal(size=(201, 12))
    holed = X.copy()
    holed[1::2, 3] = np.nan
    centers, factors = rng.normal(size=(5, 12)), rng.normal(size=(5, 12, 12))
    results = []
    for part in (X, holed, X[10:11], X[200:]):
        out = np.zeros((len(part), 5))
        native.add_quadratic(layouts(part)[order], centers, factors, out, marks(len(part)))
        native.add_linear(layouts(part)[order], centers[0], factors[:, 0].copy(), out, marks(len(part)))
        results.append(out)
    whole, gaps, alone, last = results
    assert_array_equal(whole[::2], gaps[::2])
    assert not gaps[1::2].any()
    assert_array_equal(whole[[10, 200]], np.vstack([alone, last]))


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_a_row_with_an_infinite_cell_is_complete_but_not_finite(level: str, order: str) -> None:
    X = random().normal(size=(130, 9))
    X[70, 4] = np.inf
    for kernels in (native, reference):
        straight, squared = np.zeros((130, 3)), np.zeros((130, 3))
        for out in (straight, squared):
            incomplete = marks(130)
            if out is straight:
                kernels.add_linear(layouts(X)[order], np.zeros(9), np.ones((3, 9)), out, incomplete)
            else:
                kernels.add_quadratic(layouts(X)[order], np.zeros((3, 9)), np.ones((3, 9, 9)), out, incomplete)
            assert not incomplete.any()
            assert_array_equal(np.isfinite(out).all(axis=1), np.arange(130) != 70)


# Calls


def test_threads_change_nothing() -> None:
    rng = random()
    X = table(20_000, 9, rng, 0.01)
    codes, centers = rng.integers(0, 3, 20_000).astype(np.uint8), rng.normal(size=(3, 9))
    factors = rng.normal(size=(3, 9, 9))

    def run(threads: int) -> list:
        out, gaps = np.zeros((20_000, 3)), marks(20_000)

        def work(a: int, b: int) -> tuple:
            columns = [X[a:b, j] for j in range(9)]
            native.add_quadratic(columns, centers, factors, out[a:b], gaps[a:b])
            native.add_linear(columns, centers[0], factors[:, 0], out[a:b], gaps[a:b])
            return native.class_scatter(columns, codes[a:b], None, 3, gaps[a:b])

        parts = over_blocks(20_000, 1500, work, threads=threads)
        return [out, gaps, *(np.stack(part) for part in zip(*parts, strict=True))]

    for one, several in zip(run(1), run(4), strict=True):
        assert_array_equal(one, several)


@pytest.mark.parametrize("kernels", [native, reference])
def test_arguments_that_disagree_are_refused(kernels: ModuleType) -> None:
    x, codes, gaps, out = [np.zeros(4)] * 2, np.zeros(4, np.uint8), marks(4), np.zeros((4, 3))
    with pytest.raises(ValueError, match="incomplete has 3 rows"):
        kernels.class_scatter(x, codes, None, 2, marks(3))
    with pytest.raises(ValueError, match="contiguous"):
        kernels.class_scatter(x, codes, None, 2, marks(8)[::2])
    with pytest.raises(TypeError, match="incomplete is bool; it must be uint8"):
        kernels.class_scatter(x, codes, None, 2, np.zeros(4, bool))
    with pytest.raises(ValueError, match=r"columns\[0\] has 4 rows"):
        kernels.class_scatter(x, np.zeros(5, np.uint8), None, 2, marks(5))
    with pytest.raises(ValueError, match=r"centers has shape \(3, 3\); it needs \(3, 2\)"):
        kernels.add_quadratic(x, np.zeros((3, 3)), np.zeros((3, 2, 2)), out, gaps)
    with pytest.raises(ValueError, match=r"factors has shape \(2, 2, 2\); it needs \(3, (2|any), 2\)"):
        kernels.add_quadratic(x, np.zeros((3, 2)), np.zeros((2, 2, 2)), out, gaps)
    with pytest.raises(ValueError, match="center has"):
        kernels.add_linear(x, np.zeros(3), np.zeros((3, 2)), out, gaps)
    with pytest.raises(TypeError, match="slopes is float32; it must be float64"):
        kernels.add_linear(x, np.zeros(2), np.zeros((3, 2), np.float32), out, gaps)


@pytest.mark.parametrize("wanted", LEVELS)
def test_the_level_in_the_environment_runs_the_kernels(wanted: str) -> None:
    program = """if True:
        import numpy as np
        from countwise import _kernels
        gaps = np.zeros(9, np.uint8)
        n, _, _ = _kernels.class_scatter([np.arange(9.0)] * 8, gaps, None, 1, np.zeros(9, np.uint8))
        print(_kernels.LEVEL, n[0])
    """
    settings = {**os.environ, "COUNTWISE_LEVEL": wanted, "COUNTWISE_KERNELS": ""}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"x86-64-{wanted}", "9.0"]
