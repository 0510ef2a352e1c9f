"""The compiled kernels for cuts against the NumPy ones, which are their specification."""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countwise._kernels import over_items

from .levels import assert_allclose, assert_array_equal, native, reference

COLUMN_TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
CODE_TYPES = [np.uint8, np.uint16, np.uint32]


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def weights_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray | None:
    match kind:
        case "none":
            return None
        case "ones":
            return np.broadcast_to(np.int64(1), (n,))
        case "whole":
            return rng.integers(1, 9, n)
        case "strided":
            return rng.integers(1, 9, 2 * n)[::2]
        case "small":
            return rng.integers(1, 9, n).astype(np.uint8)
        case _:
            return rng.random(n) + 0.01


# Merging


def check_merged(values: list[np.ndarray], weights: list[np.ndarray | None]) -> None:
    ours, theirs = native.merge_sets(values, weights), reference.merge_sets(values, weights)
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert_array_equal(one, other)


@pytest.mark.parametrize("sizes", [[], [0], [1], [0, 0], [1, 0], [1, 1], [3, 1, 4], [500], [70, 1, 900, 0, 33, 300]])
@pytest.mark.parametrize("domain", [5, 1000, 10**9])
def test_values_of_classes_merge_as_in_the_reference(level: str, sizes: list[int], domain: int) -> None:
    rng = random(domain)
    values = [np.unique(rng.integers(-domain, domain, n)) / 8 for n in sizes]
    for kinds in (["none"], ["whole"], ["float"], ["ones", "none"], ["none", "float", "strided"], ["small", "none"]):
        weights = [weights_of(kinds[c % len(kinds)], len(x), rng) for c, x in enumerate(values)]
        check_merged(values, weights)


@pytest.mark.parametrize("classes", range(1, 12))
def test_any_number_of_large_classes_merges_as_in_the_reference(level: str, classes: int) -> None:
    rng = random(classes)
    values = [np.unique(np.round(rng.normal(c / 3, 1, 3000 + 500 * c), 4)) for c in range(classes)]
    check_merged(values, [weights_of("whole", len(x), rng) for x in values])
    check_merged(values, [None] * classes)


@pytest.mark.parametrize(("classes", "kind"), [(256, np.uint8), (257, np.uint16), (65537, np.uint32)])
def test_codes_of_merged_classes_are_as_narrow_as_they_can_be(classes: int, kind: type) -> None:
    values = [np.array([float(c % 7)]) for c in range(classes)]
    check_merged(values, [None] * classes)
    assert native.merge_sets(values, [None] * classes)[1].dtype == kind


def test_values_of_one_class_far_below_another_merge_without_loss(level: str) -> None:
    low, high = np.arange(1000.0), np.arange(5.0) + 5000
    check_merged([low, high], [None, None])
    check_merged([high, low], [None, None])
    check_merged([low, np.array([-np.inf, np.inf])], [None, None])
    check_merged([low[::2], low[1::2][::-1][::-1]], [None, np.full(500, 2)])


# The best cut


def brute(values: np.ndarray, codes: np.ndarray, weights: np.ndarray, n_classes: int) -> float:
    """The least information that a cut leaves, from the definition."""

    def information(side: slice) -> float:
        counts = [float(weights[side][codes[side] == c].sum()) for c in range(n_classes)]
        return sum(counts) * log(sum(counts)) - sum(n * log(n) for n in counts if n > 0)

    places = [p for p in range(1, len(values)) if values[p] != values[p - 1]]
    return min(information(slice(0, p)) + information(slice(p, None)) for p in places)


def entries(classes: int, rows: int, domain: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values in order, with classes that differ in their mean."""
    cells = [rng.normal(domain / 3 * (1 + c % 2), domain / 8, rows).round() for c in range(classes)]
    values, codes, _ = reference.merge_sets([np.unique(x) for x in cells], [None] * classes)
    return values, codes


def best_cut(
    kernels, values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, n_classes: int
) -> tuple[int, float, float] | None:
    """The best cut of all entries, its gain and the threshold for it."""
    return kernels.mdl_cuts(values, codes, weights, n_classes)[3]


def check_best(values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, n_classes: int) -> None:
    n = len(values)
    for start, stop in ((0, n), (n // 3, n), (0, n - n // 4), (n // 2, n // 2 + min(n - n // 2, 9))):
        some = slice(start, stop)
        some_weights = None if weights is None else weights[some]
        ours = best_cut(native, values[some], codes[some], some_weights, n_classes)
        theirs = best_cut(reference, values[some], codes[some], some_weights, n_classes)
        if ours is None or theirs is None:
            assert ours is theirs
        else:
            assert ours[0] == theirs[0]
            assert_allclose(ours[1:], theirs[1:], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 8, 9, 40])
@pytest.mark.parametrize("domain", [3, 40, 10**4, 10**8])
@pytest.mark.parametrize("kind", ["none", "ones", "whole", "small", "float"])
def test_the_best_cut_is_the_reference_s(level: str, classes: int, domain: int, kind: str) -> None:
    rng = random(classes)
    for rows in (1, 2, 300):
        values, codes = entries(classes, rows, domain, rng)
        check_best(values, codes, weights_of(kind, len(values), rng), classes)


@pytest.mark.parametrize("kind", ["none", "whole", "float"])
def test_the_best_cut_of_many_entries_is_the_reference_s(level: str, kind: str) -> None:
    rng = random()
    values, codes = entries(3, 60_000, 10**7, rng)
    check_best(values, codes, weights_of(kind, len(values), rng), 3)
    check_best(values, (values > values[70_000]).astype(np.uint16), weights_of(kind, len(values), rng), 2)


def test_the_best_cut_of_heavy_entries_is_the_reference_s(level: str) -> None:
    rng = random()
    values, codes = entries(3, 400, 1000, rng)
    check_best(values, codes, rng.integers(1, 10**12, len(values)), 3)
    check_best(values, codes, rng.random(len(values)) * 1e-12, 3)
    check_best(values, codes, rng.random(len(values)).astype(np.float32), 3)


@pytest.mark.parametrize("kernels", [native, reference])
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=25))
@settings(max_examples=150, deadline=None)
def test_no_cut_leaves_less_information_than_the_best(kernels, rows: list[tuple[int, int, int]]) -> None:
    cells = dict.fromkeys(((v, c) for v, c, _ in rows), 0)
    for v, c, w in rows:
        cells[v, c] += w
    places = sorted(cells)
    values, codes = np.array([float(v) for v, _ in places]), np.array([c for _, c in places], np.uint8)
    weights = np.array([cells[place] for place in places])
    found = best_cut(kernels, values, codes, weights, 3)
    if len(np.unique(values)) < 2:
        assert found is None
    else:
        place, gain, _ = found
        assert values[place] != values[place - 1]
        counts, n = np.bincount(codes, weights, 3), weights.sum()
        before = n * log(n) - sum(count * log(count) for count in counts if count > 0)
        assert_allclose(gain, (before - brute(values, codes, weights, 3)) / n / log(2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernels", [native, reference])
def test_of_equally_good_cuts_the_lowest_is_taken(level: str, kernels) -> None:
    for n in (3, 30, 3000):  # a pattern that is its own mirror image
        codes = np.tile(np.array([0, 1, 1, 0], np.uint8), n)
        for weights in (None, np.full(4 * n, 0.1), np.full(4 * n, 1 / 3)):
            place, gain, _ = best_cut(kernels, np.arange(4.0 * n), codes, weights, 2)
            mirrored = best_cut(kernels, np.arange(4.0 * n), codes[::-1], weights, 2)
            assert (place, mirrored[0]) == (1, 1)
            assert_allclose(gain, mirrored[1], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("kernels", [native, reference])
def test_entries_of_one_class_are_cut_at_the_first_chance(level: str, kernels) -> None:
    codes = np.full(5, 1, np.uint8)
    values = np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    for weights in (None, np.full(5, 0.3)):
        assert best_cut(kernels, values, codes, weights, 2)[:2] == (2, 0.0)
        assert best_cut(kernels, values[:2], codes[:2], None if weights is None else weights[:2], 2) is None
    for start, stop in ((0, 0), (3, 4), (5, 5)):
        assert best_cut(kernels, values[start:stop], codes[start:stop], None, 2) is None


def test_a_class_that_is_absent_on_a_side_has_exactly_no_weight_there(level: str) -> None:
    rng = random()
    codes = np.repeat(np.array([0, 1], np.uint8), 500)
    for _ in range(20):
        places, gains, _, _ = native.mdl_cuts(np.arange(1000.0), codes, weights := rng.random(1000), 2)
        assert places.tolist() == [500]
        share = weights[:500].sum() / weights.sum()  # both sides are pure: the gain is the entropy of all
        assert_allclose(gains, -share * log(share, 2) - (1 - share) * log(1 - share, 2), rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 4, 70])
def test_a_cut_is_found_wherever_it_lies(level: str, classes: int) -> None:
    rng = random(classes)
    noise, swap = rng.integers(0, classes, 400), rng.random(400) < 0.2
    for place in range(1, 400):
        codes = np.where(swap, noise, np.where(np.arange(400) < place, 0, classes - 1)).astype(np.uint8)
        for start in (0, place // 2):
            some = np.arange(400.0)[start:], codes[start:], None, classes
            assert best_cut(native, *some)[0] == best_cut(reference, *some)[0]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classes_that_tell_nothing_are_cut_as_in_the_reference(level: str, classes: int) -> None:
    rng = random(classes)
    for kind in ("none", "whole"):
        for repeats in (1, 2, 5):  # equal values cannot be parted, though a cut between them would look good
            values = np.repeat(np.arange(9000.0), repeats)[:9000]
            codes = rng.integers(0, classes, 9000).astype(np.uint8)
            codes = np.sort(codes.reshape(-1, repeats)).reshape(-1)
            check_best(values, codes, weights_of(kind, 9000, rng), classes)
            check_cuts(values, codes, weights_of(kind, 9000, rng), classes)


# Cuts by minimum description length

WEATHER = {
    "temperature": "64y 65n 68y 69y 70y 71n 72n 72y 75y 75y 80n 81y 83y 85n",
    "humidity": "85n 90n 86y 96y 80y 70n 65y 95n 70y 80y 70y 90y 75y 91n",
}


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize(
    ("name", "edge", "gain", "threshold"),
    [("temperature", 84.0, 0.113400864, 0.457729), ("humidity", 82.5, 0.151835501, 0.555787)],
)
def test_the_weather_is_not_worth_a_cut(
    level: str, kernels, name: str, edge: float, gain: float, threshold: float
) -> None:
    cells = [(float(cell[:-1]), "yn".index(cell[-1])) for cell in WEATHER[name].split()]
    sets = [np.unique([v for v, c in cells if c == k], return_counts=True) for k in (0, 1)]
    values, codes, weights = kernels.merge_sets([v for v, _ in sets], [w for _, w in sets])
    places, gains, thresholds, first = kernels.mdl_cuts(values, codes, weights, 2)
    assert [len(x) for x in (places, gains, thresholds)] == [0, 0, 0]
    assert (values[first[0] - 1] + values[first[0]]) / 2 == edge
    assert_allclose(first[1:], [gain, threshold], atol=1e-6)


def check_cuts(values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, n_classes: int) -> int:
    ours = native.mdl_cuts(values, codes, weights, n_classes)
    theirs = reference.mdl_cuts(values, codes, weights, n_classes)
    assert_array_equal(ours[0], theirs[0])
    assert ours[0].dtype == theirs[0].dtype == np.int64
    assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-12)
    assert_allclose(ours[2], theirs[2], rtol=1e-9, atol=1e-12)
    assert (ours[3] is None) == (theirs[3] is None)
    if ours[3] is not None:
        assert_allclose(ours[3], theirs[3], rtol=1e-9, atol=1e-12)
        assert len(ours[0]) or ours[3][1] <= ours[3][2]
    return len(ours[0])


@pytest.mark.parametrize("classes", [1, 2, 3, 5, 40])
@pytest.mark.parametrize("kind", ["none", "strided", "float"])
def test_cuts_by_description_length_are_the_reference_s(level: str, classes: int, kind: str) -> None:
    rng = random(classes)
    made = 0
    for rows in (0, 1, 20, 2000):
        for domain in (10, 10**6):
            values, codes = entries(classes, rows, domain, rng)
            made += check_cuts(values, codes, weights_of(kind, len(values), rng), classes)
    assert made or classes == 1


def test_many_alternating_classes_are_cut_apart(level: str) -> None:
    codes = np.repeat(np.arange(200) % 2, 100).astype(np.uint8)
    assert check_cuts(np.arange(20_000.0), codes, None, 2) == 199


def test_hundreds_of_classes_do_not_overflow_the_threshold(level: str) -> None:
    codes = np.repeat(np.arange(900), 100).astype(np.uint16)
    places, _, thresholds, _ = native.mdl_cuts(np.arange(90_000.0), codes, None, 900)
    assert np.isfinite(thresholds).all()
    assert_array_equal(places % 100, 0)
    check_cuts(np.arange(90.0), (np.arange(90) // 2).astype(np.uint8), None, 200)


@pytest.mark.parametrize("kernels", [native, reference])
def test_the_threshold_of_less_than_two_rows_is_a_number(kernels) -> None:
    values, codes = np.arange(4.0), np.array([0, 1, 1, 0], np.uint8)
    for weight in (1e-9, 0.25, 0.3):
        _, _, _, (place, gain, threshold) = kernels.mdl_cuts(values, codes, np.full(4, weight), 2)
        assert place == 1
        assert 0 < gain < threshold < np.inf
    assert len(kernels.mdl_cuts(values, codes, np.zeros(4), 2)[0]) == 0


def test_cuts_are_equal_to_the_last_bit_in_any_thread() -> None:
    rng = random()
    columns = [entries(3, 4000 + 500 * i, 10**6, rng) for i in range(6)]

    def cuts(i: int) -> tuple:
        return native.mdl_cuts(*columns[i], None, 3)

    for one, other in zip(over_items([*range(6)] * 3, cuts, 3), [cuts(i) for i in range(6)] * 3, strict=True):
        for x, y in zip(one, other, strict=True):
            assert_array_equal(x, y)


# Ranges


@pytest.mark.parametrize("dtype", COLUMN_TYPES)
@pytest.mark.parametrize("n_edges", [0, 1, 10, 32, 33, 200])
def test_ranges_equal_the_reference(level: str, dtype: str, n_edges: int) -> None:
    rng = random(n_edges)
    for rows in (0, 1, 511, 1500):
        column = (rng.normal(size=rows) * 50 + (0 if dtype[0] in "fi" else 60)).clip(-100, 200).astype(dtype)
        edges = np.sort(rng.normal(size=n_edges) * 50)
        edges[::3] = np.round(edges[::3])
        edges.sort()
        if dtype[0] == "f" and rows > 1:
            column[:: max(rows // 9, 1)] = np.nan
            column[1::7] = np.inf
            column[2::7] = -np.inf
            if n_edges:
                column[3::5] = rng.choice(edges, len(column[3::5]))
        for kind in CODE_TYPES:
            for x in (column, np.repeat(column, 3)[1::3], column[::-1]):
                ours, theirs = np.full(rows, 77, kind), np.full(rows, 88, kind)
                native.cut_codes(x, edges, ours)
                reference.cut_codes(x, edges, theirs)
                assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kernels", [native, reference])
def test_a_number_on_an_edge_is_in_the_range_below_it(level: str, kernels) -> None:
    x = np.array([0.5, 1.0, 1.5, 2.0, 2.5, np.nan, -np.inf, np.inf])
    out = np.empty(8, np.uint8)
    kernels.cut_codes(x, np.array([1.0, 2.0]), out)
    assert out.tolist() == [0, 0, 1, 1, 2, 3, 0, 2]
    for many in (1, 20):  # 0.1 as float32 is above 0.1
        edges = np.repeat([0.1, 0.2], many)
        kernels.cut_codes(np.array([0.1, 0.2], np.float32), edges, out[:2])
        assert out[:2].tolist() == [many, 2 * many]


def test_a_column_at_any_address_has_the_same_ranges(level: str) -> None:
    x = random().normal(size=2000)
    raw = np.empty(x.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float64)
    unaligned[:] = x
    edges, ours, theirs = np.linspace(-1, 1, 7), np.empty(2000, np.uint16), np.empty(2000, np.uint16)
    native.cut_codes(unaligned, edges, ours)
    reference.cut_codes(x, edges, theirs)
    assert_array_equal(ours, theirs)


# Clusters on a line


def deviations(values: np.ndarray, weights: np.ndarray, starts: tuple[int, ...] | np.ndarray) -> float:
    total = 0.0
    for part, w in zip(np.split(values, starts[1:]), np.split(weights, starts[1:]), strict=True):
        total += float((w * (part - np.average(part, weights=w)) ** 2).sum())
    return total


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_no_clusters_are_better_than_the_best(level: str, kernels, n: int) -> None:
    rng = random(n)
    values, weights = np.sort(rng.normal(size=n)), rng.random(n) + 0.1
    for k in range(1, n + 1):
        starts = kernels.kmeans_1d(values, weights, k)
        assert starts.dtype == np.int64
        assert (len(starts), starts[0]) == (k, 0)
        least = min(deviations(values, weights, (0, *rest)) for rest in combinations(range(1, n), k - 1))
        assert_allclose(deviations(values, weights, starts), least, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("kind", ["none", "whole", "strided", "small", "float"])
def test_clusters_are_the_reference_s(level: str, k: int, kind: str) -> None:
    rng = random(k)
    for values in (
        np.sort(rng.normal(size=3000)),
        np.sort(rng.lognormal(3, 2, size=3000)),
        np.unique(rng.integers(0, 10**6, 3000)) + 1e9,
        np.sort(rng.normal(size=50)) * 1e300,
        np.sort(rng.normal(size=50)) * 1e-300,
    ):
        weights = weights_of(kind, len(values), rng)
        assert_array_equal(native.kmeans_1d(values, weights, k), reference.kmeans_1d(values, weights, k))


def test_many_values_have_the_reference_s_clusters(level: str) -> None:
    values = np.unique(random().normal(size=60_000))
    assert_array_equal(native.kmeans_1d(values, None, 4), reference.kmeans_1d(values, None, 4))


@pytest.mark.parametrize("kernels", [native, reference])
def test_of_equally_good_clusters_those_with_the_lowest_starts_are_taken(level: str, kernels) -> None:
    for scale in (1.0, 0.1, 1 / 3):
        for weights in (None, np.full(10, 0.1)):
            assert kernels.kmeans_1d(np.arange(10) * scale, weights, 3).tolist() == [0, 3, 6]
            assert kernels.kmeans_1d(np.arange(10) * scale - 20, weights, 4).tolist() == [0, 2, 4, 7]
        assert kernels.kmeans_1d(np.arange(3) * scale, None, 2).tolist() == [0, 1]


def test_far_values_do_not_drown_the_near_ones(level: str) -> None:
    near = np.sort(random().normal(size=40))
    alone = native.kmeans_1d(near, None, 4)
    for far in (1e6, 1e9, 1e12):
        assert native.kmeans_1d(np.append(near, far), None, 5).tolist() == [*alone, 40]


@pytest.mark.parametrize("kernels", [native, reference])
def test_clusters_that_cannot_be_are_refused(kernels) -> None:
    values = np.arange(4.0)
    for k in (0, 5):
        with pytest.raises(ValueError, match=f"k is {k}"):
            kernels.kmeans_1d(values, None, k)
    with pytest.raises(ValueError, match="k is 1"):
        kernels.kmeans_1d(values[:0], None, 1)
    for bad in ([0.0, 1, 1], [1.0, 0], [0.0, np.inf], [np.nan, 1.0], [0.0, np.nan, 1]):
        with pytest.raises(ValueError, match="ascending and distinct"):
            kernels.kmeans_1d(np.array(bad), None, 1)
    for weight in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="above 0"):
            kernels.kmeans_1d(values, np.array([1, 1, weight, 1]), 2)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        kernels.kmeans_1d(values, np.ones(3), 2)


# What is refused


@pytest.mark.parametrize("kernels", [native, reference])
def test_arguments_for_cuts_that_do_not_fit_are_refused(kernels) -> None:
    values, codes = np.arange(4.0), np.array([0, 1, 0, 2], np.uint8)
    with pytest.raises(ValueError, match="beyond the 2"):
        kernels.mdl_cuts(values, codes, None, 2)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="finite and not negative"):
            kernels.mdl_cuts(values, codes, np.array([1, 1, bad, 1]), 3)
    with pytest.raises(ValueError, match="finite and not negative"):
        kernels.mdl_cuts(values, codes, np.array([1, 1, 1, -1]), 3)
    with pytest.raises(ValueError, match="codes has 3 rows"):
        kernels.mdl_cuts(values, codes[:3], None, 3)
    with pytest.raises(ValueError, match="weights has 3 rows"):
        kernels.mdl_cuts(values, codes, np.ones(3), 3)
    with pytest.raises(TypeError, match="float64"):
        kernels.mdl_cuts(values.astype(np.float32), codes, None, 3)
    with pytest.raises(ValueError, match="1 classes but 2 weights"):
        kernels.merge_sets([values], [None, None])
    with pytest.raises(ValueError, match=r"weights\[0\] has 3 rows"):
        kernels.merge_sets([values], [np.ones(3)])
    with pytest.raises(TypeError, match=r"values\[0\]"):
        kernels.merge_sets([codes], [None])


@pytest.mark.parametrize("kernels", [native, reference])
def test_ranges_that_do_not_fit_are_refused(kernels) -> None:
    x, out = np.arange(4.0), np.empty(4, np.uint8)
    with pytest.raises(ValueError, match="ascending"):
        kernels.cut_codes(x, np.array([2.0, 1.0]), out)
    with pytest.raises(ValueError, match="ascending"):
        kernels.cut_codes(x, np.array([np.nan]), out)
    with pytest.raises(ValueError, match="too narrow"):
        kernels.cut_codes(x, np.arange(255.0), out)
    kernels.cut_codes(x, np.arange(254.0), out)
    with pytest.raises(ValueError, match="out has 3 rows"):
        kernels.cut_codes(x, np.arange(2.0), out[:3])
    with pytest.raises(ValueError, match="contiguous"):
        kernels.cut_codes(x[:2], np.arange(2.0), out[::2])
    with pytest.raises(TypeError, match="out"):
        kernels.cut_codes(x, np.arange(2.0), np.empty(4))
    with pytest.raises(TypeError, match="edges"):
        kernels.cut_codes(x, np.arange(2), out)
