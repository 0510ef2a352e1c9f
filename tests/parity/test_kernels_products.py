"""The compiled sums of product kernels against the NumPy ones, which are their specification."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from .levels import LEVELS, assert_allclose, assert_array_equal, native, reference

GAUSSIAN, EPANECHNIKOV, UNIFORM, NOMINAL, ORDINAL = range(5)
KINDS = [GAUSSIAN, EPANECHNIKOV, UNIFORM, NOMINAL, ORDINAL]
INF = np.inf


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cells(rng: np.random.Generator, kinds: list[int], rows: int, gaps: float = 0.0) -> np.ndarray:
    X = rng.normal(size=(rows, len(kinds)))
    for j, kind in enumerate(kinds):
        if kind >= NOMINAL:
            X[:, j] = rng.integers(0, 5, rows)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def scales(kinds: list[int], h: float = 0.4) -> np.ndarray:
    pairs = {NOMINAL: (np.log(0.8), np.log(0.05)), ORDINAL: (np.log(0.3), 0.0)}
    return np.array([pairs.get(kind, (h * (1 + kind), np.nan)) for kind in kinds]).reshape(len(kinds), 2)


def sums(kernels, points, kinds, scale, queries, tolerance=0.0, weights=None, absent=None, own=None, rest=None):
    """The log sums, with the points in whatever order they are."""
    codes = np.array(kinds, np.uint8)
    boxes = kernels.product_boxes(points, weights)
    return kernels.product_log_sums(points, weights, boxes, codes, scale, queries, absent, own, rest, tolerance)


def ordered(points: np.ndarray, kinds: list[int], scale: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points[native.product_order(points, np.array(kinds, np.uint8), scale)])


def check(points, kinds, scale, queries, rtol=1e-12, **more) -> np.ndarray:
    """What the reference says, if the compiled kernel says the same at every tolerance."""
    theirs = sums(reference, points, kinds, scale, queries, **more)
    assert not np.isnan(theirs).any()
    for tolerance in (0.0, 1e-12, 1e-6, 0.1):
        ours = sums(native, points, kinds, scale, queries, tolerance, **more)
        assert_array_equal(ours == -INF, theirs == -INF)
        there = theirs > -INF
        error = theirs[there] - ours[there]
        slack = 1e-12 + rtol * np.abs(theirs[there])
        assert (error <= -np.log1p(-tolerance) + slack).all()
        assert (error >= -slack).all()  # what is left out only makes a sum smaller
    return theirs


# Order and boxes


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 128, 129, 1000, 5003])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("kinds", [[0], [0, 0, 0], [3, 4], KINDS, []])
def test_the_order_of_points_is_that_of_the_reference(rows: int, gaps: float, kinds: list[int]) -> None:
    points = cells(random(rows), kinds, rows, gaps)
    arguments = points, np.array(kinds, np.uint8), scales(kinds)
    order = native.product_order(*arguments)
    assert_array_equal(order, reference.product_order(*arguments))
    assert_array_equal(np.sort(order), np.arange(rows))


@pytest.mark.parametrize("kernels", [native, reference])
def test_leaves_hold_points_that_are_near_each_other(kernels) -> None:
    points = random().random((64 * 64, 2))
    order = kernels.product_order(points, np.zeros(2, np.uint8), np.array([[1.0, 0], [1.0, 0]]))
    leaves = points[order].reshape(64, 64, 2)
    assert (np.ptp(leaves, axis=1) < 0.35).all()


def test_points_that_cannot_be_told_apart_stay_in_their_order() -> None:
    points = np.full((300, 3), 7.0)
    points[:, 1] = random().integers(0, 4, 300)  # of a factor that does not fall
    kinds, scale = np.array([0, 3, 4], np.uint8), np.array([[1.0, 0], [-2.0, -2.0], [-INF, 0]])
    for kernels in (native, reference):
        assert_array_equal(kernels.product_order(points, kinds, scale), np.arange(300))


def test_steep_factors_are_split_first() -> None:
    points = cells(random(), [GAUSSIAN, ORDINAL, NOMINAL], 999, 0.05)
    for steep in ([-INF, -INF], [0.0, -INF]):
        arguments = points, np.array([0, 4, 3], np.uint8), np.array([[1.0, 0], [-0.1, 0], steep])
        assert_array_equal(native.product_order(*arguments), reference.product_order(*arguments))


@pytest.mark.parametrize("rows", [0, 1, 64, 65, 1000])
@pytest.mark.parametrize("columns", [0, 1, 4])
def test_boxes_are_those_of_the_reference(rows: int, columns: int) -> None:
    rng = random(rows)
    points = cells(rng, [0] * columns, rows, 0.01)
    weights = rng.normal(0, 300, rows)
    weights[:70] = -INF
    for log_weights in (None, weights):
        ours, theirs = (k.product_boxes(points, log_weights) for k in (native, reference))
        assert_array_equal(ours[:-1], theirs[:-1])
        assert_allclose(ours[-1], theirs[-1], rtol=1e-13, atol=1e-13)
        assert ours.shape == (2 * columns + 1, -(-rows // 64))


# Sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 700])
def test_one_column_has_the_sums_of_the_reference(level: str, kind: int, rows: int) -> None:
    rng = random(rows)
    points, queries = cells(rng, [kind], rows), cells(rng, [kind], 131)
    check(ordered(points, [kind], scales([kind])), [kind], scales([kind]), queries)


@pytest.mark.parametrize(
    "kinds", [[0, 0, 0], [1, 1], [2, 0], [3, 4, 3], KINDS, [4, 3, 2, 1, 0, 0, 1, 2, 3, 4], [0] * 10]
)
@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.002, 0.3)])
@pytest.mark.parametrize("sort", [False, True])
def test_mixed_columns_have_the_sums_of_the_reference(
    level: str, kinds: list[int], gaps: tuple[float, float], sort: bool
) -> None:
    rng = random(len(kinds))
    points, queries = cells(rng, kinds, 1500, gaps[0]), cells(rng, kinds, 150, gaps[1])
    scale = scales(kinds)
    weights = rng.normal(0, 3, 1500)
    weights[::7] = -INF
    if sort:
        points, queries = ordered(points, kinds, scale), ordered(queries, kinds, scale)
    absent = -rng.exponential(2.0, queries.shape)
    absent[::5] = -INF
    check(points, kinds, scale, queries)
    check(points, kinds, scale, queries, weights=weights, absent=absent)


@pytest.mark.parametrize("kinds", [[0, 0], [1, 0], KINDS])
def test_a_point_of_its_own_has_the_rest_of_its_weight(level: str, kinds: list[int]) -> None:
    rng = random()
    scale = scales(kinds)
    points = ordered(cells(rng, kinds, 900, 0.05), kinds, scale)
    own = np.arange(900)
    own[::9] = -1
    for rest in (
        np.full(900, -INF),
        np.zeros(900),
        rng.normal(-5, 9, 900),
        np.full(900, 800.0),
        np.full(900, -900.0),
    ):
        for weights in (None, rng.normal(0, 4, 900)):
            check(points, kinds, scale, points, weights=weights, own=own, rest=rest)
            check(points, kinds, scale, points[::-1].copy(), weights=weights, own=own[::-1].copy(), rest=rest)


def test_to_leave_a_point_out_is_to_have_it_deleted(level: str) -> None:
    points, scale = cells(random(), KINDS, 130), scales(KINDS, 2.0)
    ours = sums(native, points, KINDS, scale, points, own=np.arange(130), rest=np.full(130, -INF))
    for i in range(130):
        others = np.delete(points, i, axis=0)
        assert_allclose(ours[i], sums(reference, others, KINDS, scale, points[i : i + 1])[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("away", [30.0, 60.0, 500.0, 1e4])
def test_far_tails_are_as_accurate_as_the_middle(level: str, away: float) -> None:
    rng = random()
    points = ordered(rng.normal(size=(1000, 3)), [0] * 3, scales([0] * 3))
    queries = np.concatenate([rng.normal(away, 1, (70, 3)), rng.normal(0, 1, (70, 3))])
    found = check(points, [0] * 3, scales([0] * 3), queries, rtol=1e-14)
    assert found[:70].max() < -0.5 * (away / 0.4) ** 2


@pytest.mark.parametrize("size", [1e-150, 1e-8, 1.0, 1e8, 1e150])
@pytest.mark.parametrize("h", [1e-9, 1e-3, 0.3, 1e3, 1e9])
def test_columns_of_any_size_and_width_have_the_sums_of_the_reference(level: str, size: float, h: float) -> None:
    rng = random()
    kinds = [GAUSSIAN, EPANECHNIKOV, UNIFORM, GAUSSIAN]
    scale = np.full((4, 2), h * size)
    points = rng.normal(size=(500, 4)) * size
    queries = np.concatenate([points[:60], rng.normal(size=(80, 4)) * size])
    check(ordered(points, kinds, scale), kinds, scale, queries)
    check(ordered(points[:, :1], [0], scale[:1]), [0], scale[:1], queries[:, :1].copy())


def test_cells_at_the_ends_of_the_numbers_give_no_nan(level: str) -> None:
    ends = np.array([-1.7e308, -1e-310, 0.0, 5e-324, 1e-300, 1.7e308])
    for kind in KINDS:
        for a in (-INF, -1e300, -1e-300, 0.0) if kind >= NOMINAL else (1e-300, 1.0, 1.7e308):
            check(np.repeat(ends, 30)[:, None], [kind], np.array([[a, -INF]]), ends[:, None])
            queries = np.array([[INF], [-INF], [np.nan], [0.0]])
            check(np.repeat(ends, 30)[:, None], [kind], np.array([[a, a if kind == NOMINAL else 0.0]]), queries)


def test_logs_of_factors_may_be_minus_infinity(level: str) -> None:
    rng = random()
    for pairs in ([0, -INF], [-INF, 0], [-INF, -INF]):
        scale = np.array([pairs, [-INF, 0.0], [0.0, -INF]], float)
        kinds = [NOMINAL, ORDINAL, ORDINAL]
        found = check(cells(rng, kinds, 400, 0.05), kinds, scale, cells(rng, kinds, 90, 0.05))
        assert not (found == INF).any()


def test_the_edge_of_a_compact_kernel_is_exact(level: str) -> None:
    grid = np.arange(200)[:, None] * 0.1
    for kind in (EPANECHNIKOV, UNIFORM):
        for h in (0.1, 0.3, 0.7, 1.1):
            check(grid, [kind], np.array([[h, 0.0]]), grid)
    only = sums(native, np.zeros((3, 1)), [EPANECHNIKOV], np.array([[0.1, 0]]), np.array([[0.1], [0.0]]))
    assert_array_equal(only, [-INF, np.log(3.0)])


def test_near_points_without_a_share_do_not_disturb_far_ones_that_have_one(level: str) -> None:
    points = np.zeros((256, 2))
    points[:64, 0], points[64:, 1] = 1000.0, 5.0
    scale, queries = np.array([[0.1, 0], [1.0, 0]]), np.array([[0.0, 0.0], [900.0, 0.5]])
    for order in (points, points[::-1].copy()):
        found = check(order, [GAUSSIAN, UNIFORM], scale, queries)
        assert_allclose(found, np.log(64) - np.array([5e7, 5e5]), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 64, 1000])
def test_points_that_are_all_equal_have_sums_that_are_known(level: str, n: int) -> None:
    points = np.tile([2.0, 3.0], (n, 1))
    scale = np.array([[0.5, 0], [-1.0, -2.0]])
    found = check(points, [0, 3], scale, np.array([[2.0, 3.0], [3.0, 4.0]]))
    assert_allclose(found, np.log(n) + np.array([-1.0, -4.0]), rtol=1e-13)


def test_queries_or_points_without_any_cell_have_sums_that_are_known(level: str) -> None:
    rng = random()
    points, scale, gaps = cells(rng, KINDS, 300), scales(KINDS), np.full((70, 5), np.nan)
    weights = rng.normal(size=300)
    total = special.logsumexp(weights)
    assert_allclose(check(points, KINDS, scale, gaps, weights=weights), total, rtol=1e-13)
    absent = -rng.random((70, 5))
    nothing = check(np.full((300, 5), np.nan), KINDS, scale, points[:70], weights=weights, absent=absent)
    assert_allclose(nothing, total + absent.sum(axis=1), rtol=1e-12)


def test_nothing_to_add_up_is_minus_infinity(level: str) -> None:
    scale, points = scales(KINDS), cells(random(), KINDS, 90)
    assert_array_equal(check(points[:0], KINDS, scale, points), -INF)
    assert len(check(points, KINDS, scale, points[:0])) == 0
    assert_array_equal(check(points, KINDS, scale, points, weights=np.full(90, -INF)), -INF)
    alone = points[:1]
    assert check(alone, KINDS, scale, alone, own=np.zeros(1, np.int64), rest=np.array([-INF]))[0] == -INF


def test_without_columns_the_sum_is_the_weight(level: str) -> None:
    weights = random().normal(size=100)
    found = check(np.empty((100, 0)), [], np.empty((0, 2)), np.empty((3, 0)), weights=weights)
    assert_allclose(found, special.logsumexp(weights), rtol=1e-13)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.sampled_from([0.02, 0.3, 4.0]))
@settings(max_examples=100, deadline=None)
def test_any_table_has_the_sums_of_the_reference(seed: int, gaps: float, h: float) -> None:
    rng = random(seed)
    kinds = list(rng.integers(0, 5, rng.integers(1, 6)))
    points = cells(rng, kinds, int(rng.integers(1, 400)), gaps) * rng.choice([1.0, 10.0])
    scale = scales(kinds, h)
    queries = cells(rng, kinds, int(rng.integers(1, 150)), gaps)
    check(ordered(points, kinds, scale), kinds, scale, queries, absent=-rng.exponential(9, queries.shape))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("h", [0.02, 0.1, 0.25])
def test_what_is_passed_over_is_below_the_tolerance(level: str, tolerance: float, h: float) -> None:
    rng = random()
    kinds, scale = [0, 0, 0], np.full((3, 2), h)
    points, queries = ordered(rng.normal(size=(8000, 3)), kinds, scale), rng.normal(size=(200, 3))
    weights = rng.normal(0, 5, 8000)
    exact = sums(native, points, kinds, scale, queries, 0.0, weights)
    found = sums(native, points, kinds, scale, ordered(queries, kinds, scale), tolerance, weights)
    again = sums(native, points, kinds, scale, queries, tolerance, weights)
    order = native.product_order(queries, np.array(kinds, np.uint8), scale)
    for some, full in ((found, exact[order]), (again, exact)):
        assert (np.abs(np.expm1(some - full)) <= tolerance + 1e-12 * np.abs(full)).all()
        assert tolerance < 1e-3 or (some != full).any()


# Against other means


@pytest.mark.parametrize("kernels", [native, reference])
def test_gaussian_sums_are_those_of_normal_densities(level: str, kernels) -> None:
    rng = random()
    points, queries, h = rng.normal(size=(300, 2)), rng.normal(size=(40, 2)), np.array([0.3, 2.0])
    weights = rng.normal(size=300)
    logs = stats.norm.logpdf(queries[:, None], points[None], h) - stats.norm.logpdf(0, 0, h)
    expected = special.logsumexp(logs.sum(axis=2) + weights, axis=1)
    found = sums(kernels, points, [0, 0], np.stack([h, h], axis=1), queries, weights=weights)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def exact_factor(kind: int, a: float, b: float, q: float, x: float, absent: float) -> Decimal:
    if np.isnan(q):
        return Decimal(1)
    if np.isnan(x):
        return Decimal(absent).exp()
    distance = abs(Decimal(q) - Decimal(x))
    if kind == NOMINAL:
        return (Decimal(a) if q == x else Decimal(b)).exp()
    if kind == ORDINAL:
        return (Decimal(a) * distance).exp()
    z = distance / Decimal(a)
    if kind == GAUSSIAN:
        return (-z * z / 2).exp()
    return max(Decimal(0), 1 - z * z) if kind == EPANECHNIKOV else Decimal(int(z <= 1))


@pytest.mark.parametrize("kernels", [native, reference])
def test_sums_are_those_of_forty_digits(level: str, kernels) -> None:
    rng = random()
    scale, weights = scales(KINDS, 1.5), rng.normal(0, 30, 70)
    points, queries = cells(rng, KINDS, 70, 0.1), cells(rng, KINDS, 30, 0.1)
    queries[:10, 0] += 100.0
    absent = -rng.random(queries.shape)
    found = sums(kernels, points, KINDS, scale, queries, weights=weights, absent=absent)
    with localcontext() as context:
        context.prec = 40
        for i, query in enumerate(queries):
            total = Decimal(0)
            for point, weight in zip(points, weights, strict=True):
                term = Decimal(weight).exp()
                for j, kind in enumerate(KINDS):
                    term *= exact_factor(kind, *scale[j], query[j], point[j], absent[i, j])
                total += term
            assert_allclose(found[i], float(total.ln()) if total else -INF, rtol=2e-14, atol=2e-14)


# As they are called


def test_a_query_has_the_same_sum_whoever_runs_beside_it() -> None:
    kinds, scale = [0, 0, 0], np.full((3, 2), 0.3)
    points = ordered(random().normal(size=(3000, 3)), kinds, scale)
    expected, found = sums(native, points, kinds, scale, points, 1e-8), [np.empty(0)] * 4

    def work(k: int) -> None:
        found[k] = sums(native, points, kinds, scale, points, 1e-8)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for logs in found:
        assert_array_equal(logs, expected)


@pytest.mark.parametrize("wanted", LEVELS)
def test_the_level_of_the_environment_makes_the_same_sums(wanted: str) -> None:
    code = (
        "import numpy as np; import countwise._kernels as k; rng = np.random.default_rng(0);"
        "x = rng.normal(size=(500, 2)); kinds = np.zeros(2, np.uint8); h = np.full((2, 2), 0.3);"
        "x = x[k.product_order(x, kinds, h)];"
        "logs = k.product_log_sums(x, None, k.product_boxes(x, None), kinds, h, x, None, None, None, 1e-9);"
        "print(k.LEVEL, repr(float(logs.sum())))"
    )
    environment = {**os.environ, "COUNTWISE_LEVEL": wanted}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    name, total = run.stdout.split()
    assert name == f"x86-64-{wanted}"
    points, h = random().normal(size=(500, 2)), np.full((2, 2), 0.3)
    assert_allclose(float(total), sums(reference, points, [0, 0], h, points).sum(), rtol=1e-9)


def test_tables_of_any_layout_are_taken(level: str) -> None:
    points, scale = cells(random(), KINDS, 100), scales(KINDS)
    expected = sums(native, points, KINDS, scale, points)
    wide = np.repeat(points, 2, axis=1)[:, ::2]
    for table in (np.asfortranarray(points), wide):
        assert_array_equal(sums(native, table, KINDS, np.asfortranarray(scale), table), expected)


@pytest.mark.parametrize("kernels", [native, reference])
def test_arguments_for_products_that_do_not_fit_are_refused(kernels) -> None:
    x, kinds, scale = np.zeros((4, 2)), np.array([0, 3], np.uint8), np.array([[1.0, 0], [-1.0, -2.0]])
    good = {
        "points": x,
        "log_weights": None,
        "boxes": kernels.product_boxes(x, None),
        "kinds": kinds,
        "scales": scale,
        "queries": x,
        "absent": None,
        "own": None,
        "rest": None,
        "tolerance": 0.0,
    }
    own, rest = np.zeros(4, np.int64), np.zeros(4)
    kernels.product_log_sums(**good)
    refused = [
        (TypeError, {"points": x.astype("f4")}),
        (TypeError, {"queries": x.astype("f4")}),
        (TypeError, {"kinds": kinds.astype(np.int64)}),
        (TypeError, {"own": own.astype("i4"), "rest": rest}),
        (ValueError, {"points": x[:, :1].copy()}),
        (ValueError, {"queries": x[0]}),
        (ValueError, {"queries": x[:, :1].copy()}),
        (ValueError, {"log_weights": np.zeros(3)}),
        (ValueError, {"boxes": np.zeros((5, 2))}),
        (ValueError, {"boxes": np.zeros((4, 1))}),
        (ValueError, {"kinds": np.array([0, 5], np.uint8)}),
        (ValueError, {"scales": scale[:1]}),
        (ValueError, {"scales": np.zeros((2, 3))}),
        (ValueError, {"absent": np.zeros((4, 1))}),
        (ValueError, {"absent": np.zeros((3, 2))}),
        (ValueError, {"absent": np.full((4, 2), 0.1)}),
        (ValueError, {"absent": np.full((4, 2), np.nan)}),
        (ValueError, {"own": own}),
        (ValueError, {"rest": rest}),
        (ValueError, {"own": own + 4, "rest": rest}),
        (ValueError, {"own": own - 2, "rest": rest}),
        (ValueError, {"own": own, "rest": rest[:3]}),
        (ValueError, {"own": own, "rest": rest + INF}),
        (ValueError, {"own": own, "rest": rest + np.nan}),
        (ValueError, {"tolerance": -1e-9}),
        (ValueError, {"tolerance": 1.0}),
        (ValueError, {"tolerance": np.nan}),
    ]
    refused += [(ValueError, {"scales": np.array([[a, 0], [-1.0, -2.0]])}) for a in (0.0, -1.0, INF, np.nan, 1e-301)]
    refused += [(ValueError, {"scales": np.array([[1.0, 0], ab])}) for ab in ([1.0, -1], [-1, 1.0], [np.nan, -1])]
    for error, changed in refused:
        with pytest.raises(error):
            kernels.product_log_sums(**{**good, **changed})
    with pytest.raises(ValueError, match="finite"):
        kernels.product_boxes(x + INF, None)
    for weight in (INF, np.nan):
        with pytest.raises(ValueError, match="infinity"):
            kernels.product_boxes(x, np.full(4, weight))
