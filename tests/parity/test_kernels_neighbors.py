"""The kernels of distances between rows, of the search and of strings: compiled against NumPy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from countwise._kernels import PairMetric, PairRows

from .levels import assert_allclose, assert_array_equal, native, reference

INF = np.inf
CODES = ("u1", "u2", "u4")
KINDS = ("cost", "other cost", "table", "wide table")


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows_of(numbers: Any, *codes: Any) -> PairRows:
    return PairRows(np.ascontiguousarray(numbers, dtype=np.float64), list(codes))


def metric_of(
    factors: Any = (),
    missing_costs: Any = None,
    tables: Any = (),
    known: Any = None,
    weights: Any = None,
    no_overlap: float = 9.0,
    p: float = 2.0,
) -> PairMetric:
    factors = np.array(factors, dtype=np.float64)
    return PairMetric(
        factors,
        np.ones(len(factors)) if missing_costs is None else np.array(missing_costs, dtype=np.float64),
        list(tables),
        np.array([(2**31, 2**31)] * len(tables) if known is None else known, dtype=np.int64).reshape(-1, 2),
        None if weights is None else np.array(weights, dtype=np.float64),
        no_overlap,
        p,
    )


def mixed(
    rng: np.random.Generator,
    sizes: tuple[int, int],
    *,
    p: float,
    ignored: bool,
    numbers: int = 2,
    kinds: tuple[str, ...] = KINDS,
    gaps: float = 0.15,
    coarse: bool = False,
    known: int = 5,
) -> tuple[PairRows, PairRows, PairMetric]:
    """Rows of every kind of column: the last known code of each is missing, in queries it is one more."""
    sides = []
    domains = [{"wide table": 400, "table": 7, "other cost": 300}.get(kind, known) for kind in kinds]
    for side, n in enumerate(sizes):
        cells = rng.integers(0, 4, (n, numbers)) / 4 if coarse else rng.normal(size=(n, numbers))
        cells[rng.random((n, numbers)) < gaps] = np.nan
        codes = []
        for j, size in enumerate(domains):
            column = rng.integers(0, size, n)
            lost = size + (side == 0 and "table" not in kinds[j])
            column = np.where(rng.random(n) < gaps, lost, column)
            codes.append(column.astype("u2" if size > 250 and CODES[j % 3] == "u1" else CODES[j % 3]))
        sides.append(rows_of(cells, *codes))
    tables: list[Any] = []
    for kind, size in zip(kinds, domains, strict=True):
        if "table" in kind:
            table = np.round(rng.random((size + 1, size + 1)), 2 if coarse else 17)
            np.fill_diagonal(table, 0.0)
            table[-1] = table[:, -1] = 1.0
            tables.append(table)
        else:
            tables.append(1.0 if kind == "cost" else 0.37)
    factors = np.ones(numbers) if coarse else rng.random(numbers) + 0.1
    weights = rng.integers(1, 4, numbers + len(kinds)) if ignored else None
    metric = metric_of(factors, rng.random(numbers) + 1, tables, [(s, s) for s in domains], weights, 7.5, p)
    return sides[0], sides[1], metric


def brute(sums: np.ndarray, k: float, limit: float, weights: Any, skip: Any) -> tuple[np.ndarray, ...]:
    """The rule in as few words as possible, row by row."""
    starts, ids, found = [0], [], []
    for i, line in enumerate(sums):
        taken = 0.0
        for s, row in sorted((s, row) for row, s in enumerate(line.tolist())):
            if taken >= k:
                break
            if s <= limit and (skip is None or skip[i] != row):
                ids.append(row)
                found.append(s)
                taken += 1.0 if weights is None else float(weights[row])
        starts.append(len(ids))
    return np.array(starts), np.array(ids, dtype=np.int64), np.array(found)


def check_nearest(
    queries: PairRows,
    rows: PairRows,
    metric: PairMetric,
    k: float,
    limit: float = INF,
    weights: Any = None,
    skip: Any = None,
    *,
    naive: bool = False,
) -> None:
    """Planted or not, bit for bit what NumPy says; for odd powers what the compiled sums say."""
    wanted = reference.nearest(queries, rows, metric, k, limit, weights, skip)
    if naive or metric.p not in (1, 2, INF):
        wanted = brute(native.pair_sums(queries, rows, metric), k, limit, weights, skip)
    for planted in (None, native.row_tree(rows, metric)):
        found = native.nearest(queries, rows, metric, k, limit, weights, skip, planted)
        for mine, theirs, kind in zip(found, wanted, (np.int64, np.int64, np.float64), strict=True):
            assert mine.dtype == kind
            assert_array_equal(mine, theirs)


def check_sums(queries: PairRows, rows: PairRows, metric: PairMetric) -> None:
    mine, theirs = native.pair_sums(queries, rows, metric), reference.pair_sums(queries, rows, metric)
    assert mine.shape == (len(queries.numbers), len(rows.numbers))
    if metric.p in (1, 2, INF):
        assert_array_equal(mine, theirs)
    else:
        assert_allclose(mine, theirs, rtol=1e-14, atol=0)


# Every kind of column


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, INF, 3.0, 0.5, 2.5])
@pytest.mark.usefixtures("level")
def test_sums_over_every_kind_of_column_are_those_of_numpy(p: float, ignored: bool):
    rng = random(1)
    for n in (0, 1, 2, 255, 256, 257, 600):
        for coarse in (False, True):
            check_sums(*mixed(rng, (7, n), p=p, ignored=ignored, coarse=coarse))
    check_sums(*mixed(rng, (0, 50), p=p, ignored=ignored))


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, INF, 3.0, 0.5])
@pytest.mark.usefixtures("level")
def test_the_nearest_of_every_kind_of_column_are_those_of_numpy(p: float, ignored: bool):
    rng = random(2)
    for numbers, kinds in (
        (1, ()),
        (3, ()),
        (0, KINDS),
        (2, KINDS),
        (1, ("cost",)),
        (0, ("cost",) * 3),
        (5, KINDS * 2),
    ):
        for coarse in (False, True):
            case = mixed(rng, (8, 700), p=p, ignored=ignored, numbers=numbers, kinds=kinds, coarse=coarse)
            for k in (1, 7, 2.5):
                check_nearest(*case, k)


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, INF])
@pytest.mark.usefixtures("level")
def test_limits_weights_rows_left_out_and_all_of_these_are_those_of_numpy(p: float, ignored: bool):
    rng = random(3)
    for coarse in (False, True):
        n = 300
        case = mixed(rng, (20, n), p=p, ignored=ignored, coarse=coarse)
        sums = reference.pair_sums(*case)
        limits = [INF, 0.0, float(np.median(sums)), float(np.sort(sums.ravel())[40]), -1.0]
        skip = rng.integers(-1, n, 20)
        skip[:10] = sums[:10].argmin(axis=1)  # the very nearest
        whole = rng.integers(1, 4, n).astype(float)
        for limit in limits:
            for k in (1, 5, INF):
                check_nearest(*case, k, limit)
                check_nearest(*case, k, limit, whole, skip)
        for weights in (whole, rng.random(n) + 0.01, np.full(n, 0.1)):
            for k in (0.3, 4, INF):
                check_nearest(*case, k, INF, weights)
                check_nearest(*case, k, INF, weights, skip, naive=True)


@pytest.mark.usefixtures("level")
def test_weights_of_many_magnitudes_are_added_as_in_numpy():
    rng = random(4)
    queries, rows, metric = mixed(rng, (40, 400), p=2.0, ignored=False)
    for weights in (np.where(rng.random(400) < 0.1, 1e20, 1.0), 10.0 ** rng.integers(-12, 13, 400), rng.random(400)):
        for k in (1, 3, 10):
            check_nearest(queries, rows, metric, k, INF, weights)
            check_nearest(queries, rows, metric, k, INF, weights, naive=True)


@pytest.mark.usefixtures("level")
def test_more_neighbors_than_rows_are_all_rows():
    rng = random(5)
    for n in (0, 1, 3, 33, 200):
        case = mixed(rng, (5, n), p=2.0, ignored=False)
        check_nearest(*case, 1000)
        starts, ids, _ = native.nearest(*case, 1000.0, INF, None, None)
        assert_array_equal(starts, np.arange(6) * n)
        assert_array_equal(np.sort(ids.reshape(5, n), axis=1), np.tile(np.arange(n), (5, 1)))


@pytest.mark.usefixtures("level")
def test_no_queries_no_rows_and_no_columns():
    for queries, rows in ((0, 5), (3, 0), (0, 0), (3, 5)):
        metric = metric_of()
        a, b = rows_of(np.empty((queries, 0))), rows_of(np.empty((rows, 0)))
        check_sums(a, b, metric)
        check_sums(a, b, metric_of(weights=()))  # nothing in common
        for k in (1, 3, INF):
            check_nearest(a, b, metric, k)
            check_nearest(a, b, metric_of(weights=()), k)
        if queries and rows:
            assert_array_equal(native.pair_sums(a, b, metric), np.zeros((3, 5)))
            assert_array_equal(native.pair_sums(a, b, metric_of(weights=(), no_overlap=4.0)), np.full((3, 5), 4.0))


@pytest.mark.parametrize("p", [1.0, 2.0, INF, 3.0])
@pytest.mark.usefixtures("level")
def test_of_equal_rows_those_that_stand_first_are_found_first(p: float):
    numbers = np.repeat(np.arange(4.0), 300)[random().permutation(1200)].reshape(-1, 1)
    rows, metric = rows_of(numbers), metric_of([1.0], p=p)
    _, ids, sums = native.nearest(rows_of([[2.0]]), rows, metric, 300.0, INF, None, None)
    assert_array_equal(ids, np.flatnonzero(numbers[:, 0] == 2))
    assert_array_equal(sums, np.zeros(300))
    check_nearest(rows_of([[0.5], [1.5], [9.0], [np.nan]]), rows, metric, 301)


# Numbers that are hard


def hard(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    normal = rng.normal(size=n)
    return {
        "normal": normal,
        "constant": np.full(n, 3.5),
        "duplicates": rng.integers(0, 3, n).astype(float),
        "far from 0": 1e9 + rng.random(n),
        "very far from 0": 1e15 + rng.integers(0, 9, n),
        "large": 1e20 * normal,
        "squares overflow single precision": 1e19 * rng.random(n),
        "squares overflow": 1e200 * normal,
        "huge": 1e300 * normal,
        "differences overflow": 1.7e308 * np.sign(normal),
        "squares vanish in single precision": 1e-21 * rng.integers(1, 40, n),
        "nothing in single precision": 1e-45 * rng.random(n) * 8,
        "tiny": 1e-160 * rng.random(n),
        "tinier": 1e-300 * rng.random(n),
        "denormal": rng.integers(0, 9, n) * 5e-324,
        "many magnitudes": np.exp(60 * normal),
        "an outlier": np.where(np.arange(n) == n // 3, 1e14, normal),
        "a far outlier": np.where(np.arange(n) == n // 3, 1e300, normal),
        "neighbors": 1.0 + rng.integers(0, 50, n) * np.finfo(float).eps,
        "signed zeros": np.where(rng.random(n) < 0.5, 0.0, -0.0),
        "gaps": np.where(rng.random(n) < 0.5, np.nan, normal),
        "nothing observed": np.full(n, np.nan),
        "few there": np.where(rng.random(n) < 0.99, np.nan, normal),
    }


HARD = list(hard(1, random()))


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, INF])
@pytest.mark.parametrize("name", HARD)
@pytest.mark.usefixtures("level")
def test_hard_numbers_are_searched_as_in_numpy(name: str, p: float, ignored: bool):
    rng = random(6)
    n = 150
    column = hard(n, rng)[name]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        spread = np.nanmax(column) - np.nanmin(column) if np.isfinite(column).any() else np.float64(0.0)
        scales = [scale for scale in (1.0, 1 / spread) if np.isfinite(scale * spread)] or [1.0]
    cells = np.stack([column, rng.permutation(column), rng.normal(size=n)], axis=1)
    gaps = np.where(rng.random((n, 3)) < 0.1, np.nan, cells)
    code = rng.integers(0, 3, n).astype("u1")
    for scale in scales:
        with np.errstate(over="ignore"):
            most = spread * scale if p in (1, INF) else np.square(spread * scale)
        wide = metric_of(
            [scale, scale, 1.0], [most, most, 9.0], [0.5], [(3, 3)], [1, 1, 1, 2] if ignored else None, 3.0, p
        )
        bare = metric_of([scale, scale], [most, most], weights=[1, 2] if ignored else None, no_overlap=3.0, p=p)
        for block in (cells, gaps):
            asked = np.concatenate([block[:12], gaps[12:20]])
            for metric, rows, queries in (
                (wide, rows_of(block, code), rows_of(asked, code[:20])),
                (bare, rows_of(block[:, :2]), rows_of(asked[:, :2])),
            ):
                check_sums(queries, rows, metric)
                check_nearest(queries, rows, metric, 4)
                limit = float(np.median(reference.pair_sums(queries, rows, metric)))
                check_nearest(queries, rows, metric, INF, limit)


@pytest.mark.parametrize("p", [1.0, 2.0, INF])
@pytest.mark.parametrize("cost", [0.0, 5e-324, 1e-321, 1e-310, 1e-45, 1e-30, 1.0, 1e36, 1e40, 1e300])
@pytest.mark.usefixtures("level")
def test_costs_of_any_size_are_searched_as_in_numpy(cost: float, p: float):
    rng = random(7)
    numbers = rng.normal(size=(300, 1))
    codes = [rng.integers(0, 4, 300).astype(kind) for kind in CODES]
    table = np.round(rng.random((4, 4)), 1) * cost
    rows, queries = rows_of(numbers, *codes), rows_of(numbers[:20], *[c[:20] for c in codes])
    for tables in ([cost, cost, cost], [cost, cost / 3, 1.0], [cost, table, table]):
        for factor in (1.0, 0.0, cost):
            metric = metric_of([factor], [cost], tables, p=p)
            check_sums(queries, rows, metric)
            check_nearest(queries, rows, metric, 5)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.usefixtures("level")
def test_what_a_missing_cell_adds_may_be_of_any_size(p: float):
    rng = random(8)
    numbers = rng.normal(size=(300, 2))
    numbers[rng.random((300, 2)) < 0.3] = np.nan
    for missing_costs in (0.0, 1e-45, 1e-300, 1.0, 1e30, 1e38, 1e40, 1e300, INF):
        metric = metric_of([1.0, 1.0], [missing_costs, 1.0], p=p)
        rows = rows_of(numbers)
        queries = rows_of(np.concatenate([numbers[:20], [[np.nan, 0.5], [np.nan, np.nan]]]))
        check_sums(queries, rows, metric)
        for k in (1, 6, INF):
            check_nearest(queries, rows, metric, k)


@pytest.mark.usefixtures("level")
def test_codes_that_share_their_low_byte_are_told_apart():
    rng = random(9)
    for kind in ("u2", "u4"):
        codes = (rng.integers(0, 5, 900) * 256).astype(kind)
        more = rng.integers(0, 700, 900).astype(kind)
        rows = rows_of(np.empty((900, 0)), codes, more)
        queries = rows_of(np.empty((9, 0)), codes[:9] + kind_of(kind, 0), more[:9])
        for tables in ([1.0, 0.7], [1.0, np.round(rng.random((700, 700)), 2)]):
            for p in (1.0, 2.0, INF):
                check_nearest(queries, rows, metric_of(tables=tables, p=p), 9)


def kind_of(kind: str, value: int) -> Any:
    return np.dtype(kind).type(value)


@pytest.mark.usefixtures("level")
def test_the_types_of_codes_may_differ_between_queries_and_rows():
    rng = random(10)
    codes = rng.integers(0, 5, 300)
    for mine in CODES:
        for theirs in CODES:
            for tables in ([1.0], [rng.random((5, 5))]):
                queries = rows_of(np.empty((20, 0)), codes[:20].astype(mine))
                rows = rows_of(np.empty((300, 0)), codes.astype(theirs))
                check_sums(queries, rows, metric_of(tables=tables))
                check_nearest(queries, rows, metric_of(tables=tables), 4)


@pytest.mark.usefixtures("level")
def test_codes_with_strides_and_codes_that_stand_at_odd_places():
    rng = random(11)
    codes = rng.integers(0, 5, 600).astype("u4")
    odd = np.frombuffer(b"x" + codes[::3].tobytes(), dtype="u1")[1:].view("u4")
    rows = rows_of(np.empty((200, 0)), codes[::3], odd, codes[::-3])
    queries = rows_of(np.empty((10, 0)), codes[:10], codes[:10], codes[9::-1])
    metric = metric_of(tables=[1.0, rng.random((5, 5)), 0.5])
    check_sums(queries, rows, metric)
    check_nearest(queries, rows, metric, 3)


@pytest.mark.usefixtures("level")
def test_many_columns_of_equal_and_of_unequal_costs():
    rng = random(12)
    for c in (1, 17, 199, 200, 201, 260):
        codes = [rng.integers(0, 3, 150).astype("u1") for _ in range(c)]
        rows, queries = rows_of(np.empty((150, 0)), *codes), rows_of(np.empty((6, 0)), *[x[:6] for x in codes])
        for costs in ([1.0] * c, [0.3] * c, (rng.random(c) + 1e-3).tolist(), [1.0] + [0.0] * (c - 1)):
            check_nearest(queries, rows, metric_of(tables=costs), 7)


@pytest.mark.usefixtures("level")
def test_a_tree_serves_metrics_that_differ_in_their_tables():
    rng = random(13)
    queries, rows, metric = mixed(rng, (10, 400), p=2.0, ignored=True, kinds=("table", "cost"))
    planted = native.row_tree(rows, metric)
    for _ in range(4):
        other = metric._replace(tables=[rng.random((8, 8)), metric.tables[1]])
        found = native.nearest(queries, rows, other, 5.0, INF, None, None, planted)
        for mine, theirs in zip(found, reference.nearest(queries, rows, other, 5.0, INF, None, None), strict=True):
            assert_array_equal(mine, theirs)


def test_many_threads_find_what_one_finds():
    rng = random(14)
    queries, rows, metric = mixed(rng, (60, 2000), p=2.0, ignored=False)
    planted = native.row_tree(rows, metric)
    wanted = native.nearest(queries, rows, metric, 5.0, INF, None, None, planted)
    found: list[Any] = [None] * 8

    def ask(i: int) -> None:
        found[i] = native.nearest(queries, rows, metric, 5.0, INF, None, None, planted)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in found:
        for mine, theirs in zip(answer, wanted, strict=True):
            assert_array_equal(mine, theirs)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.usefixtures("level")
def test_the_order_of_numbers_changes_no_bit_of_their_sum(p: float):
    rng = random(15)
    numbers = np.exp(4 * rng.normal(size=(60, 9)))
    factors = rng.random(9)
    sums = native.pair_sums(rows_of(numbers), rows_of(numbers), metric_of(factors, p=p))
    for _ in range(10):
        order = rng.permutation(9)
        turned = rows_of(numbers[:, order])
        assert_array_equal(native.pair_sums(turned, turned, metric_of(factors[order], p=p)), sums)


# Bad input


def bad_cases() -> dict[str, tuple[PairRows, PairRows, PairMetric, type[Exception]]]:
    rows = rows_of(np.zeros((3, 2)), np.array([0, 1, 2], "u1"))
    metric = metric_of([1.0, 1.0], tables=[np.zeros((3, 3))])
    numbers, codes = rows

    def with_rows(changed: PairRows) -> tuple[PairRows, PairRows, PairMetric]:
        return rows, changed, metric

    return {
        "numbers of single precision": (*with_rows(PairRows(numbers.astype("f4"), codes)), TypeError),
        "numbers in one dimension": (*with_rows(PairRows(numbers[:, 0], codes)), ValueError),
        "numbers not in order": (*with_rows(PairRows(np.asfortranarray(numbers), codes)), ValueError),
        "a number too few": (*with_rows(PairRows(numbers[:, :1].copy(), codes)), ValueError),
        "no codes": (*with_rows(PairRows(numbers, [])), ValueError),
        "two codes": (*with_rows(PairRows(numbers, [*codes, *codes])), ValueError),
        "codes that may be negative": (*with_rows(PairRows(numbers, [codes[0].astype("i8")])), TypeError),
        "codes of too few rows": (*with_rows(PairRows(numbers, [codes[0][:2]])), ValueError),
        "codes in two dimensions": (*with_rows(PairRows(numbers, [codes[0][:, None]])), TypeError),
        "a code outside its table": (*with_rows(PairRows(numbers, [codes[0] + np.uint8(1)])), ValueError),
        "a query's code outside its table": (
            PairRows(numbers, [codes[0] + np.uint8(1)]),
            rows,
            metric,
            ValueError,
        ),
        "a factor too few": (rows, rows, metric._replace(factors=np.ones(1)), ValueError),
        "factors of single precision": (rows, rows, metric._replace(factors=np.ones(2, "f4")), TypeError),
        "factors in two dimensions": (rows, rows, metric._replace(factors=np.ones((2, 1))), ValueError),
        "too few missing costs": (rows, rows, metric._replace(missing_costs=np.ones(1)), ValueError),
        "a table too few": (rows, rows, metric._replace(tables=[]), ValueError),
        "a table in one dimension": (rows, rows, metric._replace(tables=[np.zeros(3)]), ValueError),
        "a table of single precision": (rows, rows, metric._replace(tables=[np.zeros((3, 3), "f4")]), TypeError),
        "a table that is too small": (rows, rows, metric._replace(tables=[np.zeros((3, 2))]), ValueError),
        "known of another shape": (rows, rows, metric._replace(known=np.zeros((2, 2), "i8")), ValueError),
        "known in one dimension": (rows, rows, metric._replace(known=np.zeros(2, "i8")), ValueError),
        "known of another type": (rows, rows, metric._replace(known=np.zeros((1, 2), "i4")), TypeError),
        "weights too few": (rows, rows, metric._replace(weights=np.ones(2)), ValueError),
        "weights too many": (rows, rows, metric._replace(weights=np.ones(4)), ValueError),
        "weights of single precision": (rows, rows, metric._replace(weights=np.ones(3, "f4")), TypeError),
    }


@pytest.mark.parametrize("name", bad_cases())
@pytest.mark.parametrize("module", [native, reference], ids=["compiled", "NumPy"])
def test_bad_rows_and_metrics_are_refused_by_both(module: Any, name: str):
    queries, rows, metric, error = bad_cases()[name]
    with pytest.raises(error):
        module.pair_sums(queries, rows, metric)
    with pytest.raises(error):
        module.nearest(queries, rows, metric, 1.0, INF, None, None)
    if "query" not in name:
        with pytest.raises(error):
            module.row_tree(rows, metric)


@pytest.mark.parametrize("module", [native, reference], ids=["compiled", "NumPy"])
def test_bad_questions_are_refused_by_both(module: Any):
    rows, metric = rows_of([[0.0], [1.0]]), metric_of([1.0])
    for k in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="k must be above 0"):
            module.nearest(rows, rows, metric, k, INF, None, None)
    with pytest.raises(ValueError, match="limit"):
        module.nearest(rows, rows, metric, 1.0, float("nan"), None, None)
    for weights, error in ((np.ones(3), ValueError), (np.ones(2, "f4"), TypeError), (np.ones(2, "i8"), TypeError)):
        with pytest.raises(error):
            module.nearest(rows, rows, metric, 1.0, INF, weights, None)
    for skip, error in ((np.zeros(3, "i8"), ValueError), (np.zeros(2, "i4"), TypeError), (np.zeros(2), TypeError)):
        with pytest.raises(error):
            module.nearest(rows, rows, metric, 1.0, INF, None, skip)


def test_a_tree_of_other_rows_is_refused():
    rng = random(16)
    numbers, codes = rng.normal(size=(50, 2)), rng.integers(0, 3, 50).astype("u1")
    rows, metric = rows_of(numbers, codes), metric_of([1.0, 1.0], tables=[np.zeros((3, 3))])
    others = {
        "fewer rows": (rows_of(numbers[:9], codes[:9]), metric),
        "fewer numbers": (rows_of(numbers[:, :1], codes), metric_of([1.0], tables=metric.tables)),
        "no codes": (rows_of(numbers), metric_of([1.0, 1.0])),
        "more codes": (rows_of(numbers, codes, codes), metric_of([1.0, 1.0], tables=metric.tables * 2)),
        "codes outside the table": (rows_of(numbers, codes + np.uint8(90)), metric_of([1.0, 1.0], tables=[1.0])),
    }
    for other, its in others.values():
        with pytest.raises(ValueError, match="other rows"):
            native.nearest(rows, rows, metric, 1.0, INF, None, None, native.row_tree(other, its))
    with pytest.raises((TypeError, RuntimeError)):
        native.nearest(rows, rows, metric, 1.0, INF, None, None, "no tree")


# Strings


def letters_of(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    points = [ord(c) for s in strings for c in s]
    return np.array(points, dtype=np.uint32), np.cumsum([0, *map(len, strings)]).astype(np.int64)


def edits(module: Any, a: list[str], b: list[str]) -> np.ndarray:
    out = np.full((len(a), len(b)), 77, dtype=np.uint32)
    module.edit_distances(*letters_of(a), *letters_of(b), out)
    return out


def strings_of(rng: np.random.Generator, lengths: Any, letters: str) -> list[str]:
    return ["".join(rng.choice(list(letters), n)) for n in lengths]


def changed(string: str, rng: np.random.Generator) -> str:
    """A few letters put in, taken away and replaced."""
    letters = list(string)
    for _ in range(int(rng.integers(0, 6))):
        at = int(rng.integers(0, len(letters) + 1))
        what = int(rng.integers(0, 3))
        letters[at : at + (what != 0)] = [] if what == 1 else ["x"]
    return "".join(letters)


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnop", "aä€𝄞"])
@pytest.mark.usefixtures("level")
def test_edit_distances_around_the_lengths_at_which_the_way_changes(letters: str):
    rng = random(17)
    lengths = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193]
    a = strings_of(rng, lengths, letters)
    b = [changed(s, rng) for s in a] + strings_of(rng, lengths[::3], letters)
    assert_array_equal(edits(native, a, b), edits(reference, a, b))
    assert_array_equal(edits(native, b, a), edits(native, a, b).T)


@pytest.mark.parametrize("length", [8, 16, 32, 64, 128])
@pytest.mark.usefixtures("level")
def test_many_strings_of_one_length_fill_all_lanes(length: int):
    rng = random(18)
    for n in (1, 7, 9, 16, 33, 65):
        a = strings_of(rng, [length] * n, "abc")
        b = strings_of(rng, rng.integers(0, length + 4, 2), "abcd")
        assert_array_equal(edits(native, a, b), edits(reference, a, b))


@pytest.mark.usefixtures("level")
def test_edit_distances_of_strings_that_are_hard():
    strings = [
        "",
        "a",
        "\x00",
        "\x00\x00",
        "e\u0301",
        "\u00e9",
        "👩‍👩‍👧‍👦",
        "👩‍👩‍👧",
        "🏳️‍🌈",
        "\ud800",
        "a\udfff\ud800",
        "\U0010ffff",
        "ß",
        "SS",
        "İi",
        "kitten",
        "sitting",
        "a" * 200,
        "a" * 199 + "b",
        "ab" * 100,
    ]
    assert_array_equal(edits(native, strings, strings), edits(reference, strings, strings))
    assert edits(native, ["kitten"], ["sitting"]).tolist() == [[3]]
    assert edits(native, ["e\u0301"], ["\u00e9"]).tolist() == [[2]]  # letters are code points
    assert edits(native, ["\ud800"], [""]).tolist() == [[1]]


@pytest.mark.usefixtures("level")
def test_long_strings_of_very_many_letters():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) + "".join(map(chr, range(0x20000, 0x20000 + 5_000)))
    others = [text[:9], text[100:140], "", text[-5:] + "abc"]
    found = edits(native, [text, "abc"], others)
    assert found[0].tolist() == [len(text) - 9, len(text) - 40, len(text), len(text) - 5 + 3]
    assert_array_equal(found, edits(reference, [text, "abc"], others))


@pytest.mark.usefixtures("level")
def test_edit_distances_are_those_of_rapidfuzz():
    rapidfuzz = pytest.importorskip("rapidfuzz.distance")
    rng = random(19)
    a = strings_of(rng, rng.integers(0, 150, 60), "abcdé👩")
    b = [changed(s, rng) for s in a[::2]]
    wanted = [[rapidfuzz.Levenshtein.distance(x, y) for y in b] for x in a]
    assert_array_equal(edits(native, a, b), wanted)


@pytest.mark.parametrize("module", [native, reference], ids=["compiled", "NumPy"])
def test_bad_strings_are_refused_by_both(module: Any):
    letters, starts = letters_of(["ab", "c"])
    out = np.zeros((2, 2), np.uint32)
    good = (letters, starts, letters, starts)
    module.edit_distances(*good, out)
    for change, error in (
        ({0: letters.astype("u8")}, TypeError),
        ({1: starts.astype("i4")}, TypeError),
        ({1: starts[::-1].copy()}, ValueError),
        ({1: starts + 9}, ValueError),
        ({1: starts - 1}, ValueError),
        ({3: starts[:0]}, ValueError),
        ({2: letters[:1]}, ValueError),
    ):
        with pytest.raises(error):
            module.edit_distances(*[change.get(i, x) for i, x in enumerate(good)], out)
    for other, error in (
        (out.astype("i4"), TypeError),
        (np.zeros(4, np.uint32), ValueError),
        (np.zeros((2, 3), np.uint32), ValueError),
        (np.zeros((2, 4), np.uint32)[:, ::2], ValueError),
    ):
        with pytest.raises(error):
            module.edit_distances(*good, other)


@pytest.mark.parametrize("module", [native, reference], ids=["compiled", "NumPy"])
def test_strings_may_begin_behind_the_first_letter(module: Any):
    letters, starts = letters_of(["xx", "ab", "abc"])
    out = np.zeros((2, 2), np.uint32)
    module.edit_distances(letters, starts[1:], letters, starts[1:], out)
    assert out.tolist() == [[0, 1], [1, 0]]
