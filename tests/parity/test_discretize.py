"""Cuts and scores against other programs: Orange, scikit-learn, SciPy, and plain loops that look at everything.

Where ours differ from scikit-learn's `KBinsDiscretizer`, they do so on purpose:

- ranges are closed above, ``(lo, hi]``, as in the lectures; scikit-learn's are closed below, so a number that
  equals an edge falls one range higher there;
- an edge at the least value parts the rows that have it from all others; scikit-learn, whose first range
  begins there, drops it;
- an edge at the greatest value parts nothing and is dropped; scikit-learn, whose last range is closed above,
  drops it too;
- where a share of the rows ends just between two of them, the edge is midway, as scikit-learn's
  ``averaged_inverted_cdf`` has it; but its percentage may be rounded to beside that place (6 of 9 parts of
  6 rows: 66.67 %), and then it takes one of the two values.
"""

from __future__ import annotations

import json
import math
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2_contingency, norm
from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information
from sklearn.preprocessing import KBinsDiscretizer

import countwise
from countwise import Discretizer, cuts, measures, samples
from countwise.errors import DataWarning
from countwise.feature_selection import attribute_scores
from countwise.tallies import Values

ORANGE = json.loads((Path(__file__).parent / "orange_cuts.json").read_text(encoding="utf-8"))["cuts"]
TARGETS = {"penguins": "species", "credit": "Status"}
LN2 = math.log(2)

many = settings(deadline=None, max_examples=60)
some = settings(deadline=None, max_examples=20)


def without_warning(call: Any, *args: Any, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **settings)


# -- MDL -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_mdl_cuts_are_those_of_orange(name):
    sample = samples.load(name)
    frame = {column: sample.frame[column] for column in ORANGE[name]}
    cutter = without_warning(Discretizer("mdl").fit, frame, sample.frame[TARGETS[name]])
    assert list(cutter.edges_) == list(ORANGE[name])
    for column, wanted in ORANGE[name].items():
        assert len(cutter.edges_[column]) == len(wanted), column
        np.testing.assert_allclose(cutter.edges_[column], wanted, rtol=1e-15, atol=0, err_msg=column)


@pytest.mark.parametrize("name", TARGETS)
def test_every_numeric_column_of_the_table_is_compared(name):
    frame = samples.load(name).frame
    numbers = [c for c, column in frame.items() if c != TARGETS[name] and column.dtype.kind in "if"]
    assert numbers == list(ORANGE[name])


@cache
def x_log2_x(x: int) -> Decimal:
    with localcontext() as context:
        context.prec = 40
        return Decimal(x) * Decimal(x).ln() / Decimal(2).ln() if x else Decimal(0)


@cache
def entropy_of(counts: tuple[int, ...]) -> Decimal:
    n = sum(counts)
    return (x_log2_x(n) - sum((x_log2_x(c) for c in counts), Decimal(0))) / n


def fayyad_irani(rows: list[tuple[float, int]], k: int) -> list[Fraction]:
    """The definition, word for word: every cut of every range is tried; 40 digits; the lowest at a tie."""
    counts = tuple(sum(1 for _, c in rows if c == label) for label in range(k))
    n = len(rows)
    best: tuple[Decimal, Any] | None = None
    with localcontext() as context:
        context.prec = 40
        for low, high in pairwise(sorted({x for x, _ in rows})):
            left = [(x, c) for x, c in rows if x <= low]
            right = [(x, c) for x, c in rows if x > low]
            sides = [tuple(sum(1 for _, c in side if c == label) for label in range(k)) for side in (left, right)]
            gain = entropy_of(counts) - sum(sum(side) * entropy_of(side) for side in sides) / n
            if best is None or gain > best[0] + Decimal("1e-30"):
                best = gain, ((Fraction(low) + Fraction(high)) / 2, left, right, sides)
        if best is None:
            return []
        gain, (cut, left, right, sides) = best
        present = [sum(1 for c in side if c) for side in (counts, *sides)]
        delta = (
            Decimal(3 ** present[0] - 2).ln() / Decimal(2).ln()
            - present[0] * entropy_of(counts)
            + sum(p * entropy_of(side) for p, side in zip(present[1:], sides, strict=True))
        )
        if n < 2 or gain <= (Decimal(n - 1).ln() / Decimal(2).ln() + delta) / n:
            return []
    return [*fayyad_irani(left, k), cut, *fayyad_irani(right, k)]


@st.composite
def classed_numbers(draw: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """A column with ties and gaps whose class depends on it, more or less."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(2, 60))
    raw = np.frombuffer(draw(st.binary(min_size=3 * n, max_size=3 * n)), dtype=np.uint8).reshape(n, 3)
    spread = draw(st.sampled_from([2, 5, 12, 200]))
    x = (raw[:, 0] % spread) / 4
    noise = draw(st.sampled_from([0, 1, 3, 8]))
    y = np.where(raw[:, 1] % 10 < noise, raw[:, 2] % k, (x * 4 * k // spread).astype(int))
    x = np.where(raw[:, 1] >= 230, np.nan, x)
    return x, y, k


@many
@given(table=classed_numbers())
def test_mdl_cuts_are_those_of_the_definition(table):
    x, y, k = table
    rows = [(float(v), int(c)) for v, c in zip(x, y, strict=True) if not math.isnan(v)]
    found = cuts.mdl(Values.from_arrays(x, y)).edges
    assert found.tolist() == [float(cut) for cut in fayyad_irani(rows, k)]


def test_the_tables_of_the_definition_are_cut_now_and_then():
    """Else the test above would say nothing."""
    x = np.repeat(np.arange(6.0), 10)
    rows = [(float(v), int(v // 2)) for v in x]
    assert fayyad_irani(rows, 3) == [Fraction(3, 2), Fraction(7, 2)]
    assert cuts.mdl(Values.from_arrays(x, (x // 2).astype(int))).edges.tolist() == [1.5, 3.5]


# -- equal width and equal frequency -------------------------------------------------------------------------


def bins_of(x: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    """Inner edges by scikit-learn."""
    more = {"quantile_method": "averaged_inverted_cdf"} if strategy == "quantile" else {}
    theirs = KBinsDiscretizer(n_bins, encode="ordinal", strategy=strategy, subsample=None, **more)
    return without_warning(theirs.fit, x[:, None]).bin_edges_[0][1:-1]


def ours_of(x: np.ndarray, n_bins: int, method: str) -> np.ndarray:
    return without_warning(Discretizer(method, n_bins=n_bins).fit, {"x": x}).edges_["x"]


# scikit-learn joins edges that are closer than 1e-8
numbers = st.lists(st.integers(-60, 60).map(lambda k: k / 8), min_size=2, max_size=40).map(np.array)


@many
@given(x=numbers, n_bins=st.integers(2, 12))
@example(x=np.array([0.1, 0.2, 0.3, 0.4, 0.6]), n_bins=7)
def test_equal_width_edges_are_those_of_scikit_learn(x, n_bins):
    assume(x.min() < x.max())
    assert ours_of(x, n_bins, "equal_width").tolist() == bins_of(x, n_bins, "uniform").tolist()


def quantile_edges(x: np.ndarray, n_bins: int) -> list[float]:
    """Midway between two rows where a share ends there, in whole numbers; each edge once, none at the end."""
    ordered = sorted(x.tolist())
    edges = set()
    for i in range(1, n_bins):
        place, rest = divmod(i * len(ordered), n_bins)
        edges.add(ordered[place] if rest else (ordered[place - 1] + ordered[place]) / 2)
    return sorted(edge for edge in edges if edge < ordered[-1])


@many
@given(x=numbers, n_bins=st.integers(2, 12))
def test_equal_frequency_edges_are_those_of_the_definition(x, n_bins):
    assume(x.min() < x.max())
    assert ours_of(x, n_bins, "equal_frequency").tolist() == quantile_edges(x, n_bins)


def percentages_are_exact(n: int, n_bins: int) -> bool:
    """Whether scikit-learn's percentages meet the places between two rows that they mean."""
    shares = np.linspace(0, 100, n_bins + 1) / 100
    return all(n * shares[i] == i * n // n_bins for i in range(n_bins) if i * n % n_bins == 0)


@many
@given(x=numbers, n_bins=st.integers(2, 12))
def test_equal_frequency_edges_are_those_of_scikit_learn(x, n_bins):
    """But for an edge at the least value, which parts something only where ranges are closed above."""
    assume(x.min() < x.max())
    assume(percentages_are_exact(len(x), n_bins))
    ours = ours_of(x, n_bins, "equal_frequency")
    assert ours[ours > x.min()].tolist() == bins_of(x, n_bins, "quantile").tolist()


@pytest.mark.parametrize(("method", "strategy"), [("equal_width", "uniform"), ("equal_frequency", "quantile")])
@pytest.mark.parametrize("name", TARGETS)
def test_edges_of_whole_tables_are_those_of_scikit_learn(name, method, strategy):
    frame = samples.load(name).frame
    complete = [c for c in ORANGE[name] if not np.isnan(frame[c].astype(float)).any()]
    assert complete
    for column in complete:
        x = frame[column].astype(np.float64)
        ours = ours_of(x, 7, method)
        theirs = bins_of(x, 7, strategy)
        assert ours[ours > x.min()].tolist() == theirs.tolist(), column


def test_a_share_that_ends_between_two_rows_does_so_whatever_the_percentage_is_rounded_to():
    x = np.array([0.0, 0, 0, 0, 1, 1])
    assert ours_of(x, 9, "equal_frequency").tolist() == [0.0, 0.5]
    assert not percentages_are_exact(6, 9)
    assert bins_of(x, 9, "quantile").tolist() == []


def test_an_edge_at_the_least_value_is_kept_where_scikit_learn_drops_it():
    x = np.array([0.0, 0, 0, 0, 1, 2])
    assert ours_of(x, 3, "equal_frequency").tolist() == [0.0, 0.5]
    assert bins_of(x, 3, "quantile").tolist() == [0.5]


@pytest.mark.parametrize(("method", "strategy"), [("equal_width", "uniform"), ("equal_frequency", "quantile")])
def test_a_number_on_an_edge_is_in_the_range_below_and_in_scikit_learns_above(method, strategy):
    x = np.arange(9.0)
    ours = Discretizer(method, n_bins=4, encode="codes").fit(x[:, None])
    more = {"quantile_method": "averaged_inverted_cdf"} if strategy == "quantile" else {}
    theirs = KBinsDiscretizer(4, encode="ordinal", strategy=strategy, subsample=None, **more).fit(x[:, None])
    edges = ours.edges_["x0"]
    on_edge = np.isin(x, edges)
    assert on_edge.any()
    np.testing.assert_array_equal(ours.transform(x[:, None])[:, 0] + on_edge, theirs.transform(x[:, None])[:, 0])


# -- k-means -------------------------------------------------------------------------------------------------


def partitions(values: list[Fraction], weights: list[int], k: int) -> dict[tuple[int, ...], Fraction]:
    """The squared distances of every partition into k runs, by where the runs begin."""
    found = {}
    for inner in combinations(range(1, len(values)), k - 1):
        ends = [0, *inner, len(values)]
        cost = Fraction(0)
        for a, b in pairwise(ends):
            n = sum(weights[a:b])
            mean = sum((v * w for v, w in zip(values[a:b], weights[a:b], strict=True)), Fraction(0)) / n
            cost += sum(w * (v - mean) ** 2 for v, w in zip(values[a:b], weights[a:b], strict=True))
        found[tuple(inner)] = cost
    return found


@many
@given(
    x=st.lists(st.integers(-30, 30).map(lambda k: k / 4), min_size=2, max_size=14).map(np.array),
    k=st.integers(1, 5),
    shift=st.sampled_from([0.0, 1024.0, 2.0**30]),
)
def test_k_means_is_the_optimum_over_all_partitions(x, k, shift):
    x = x + shift
    values, counts = np.unique(x, return_counts=True)
    assume(len(values) >= k)
    costs = partitions([Fraction(v) for v in values.tolist()], counts.tolist(), k)
    edges = cuts.kmeans(Values.from_arrays(x), k).edges
    starts = tuple(np.searchsorted(values, edges, side="right").tolist())
    assert starts in costs
    assert costs[starts] == min(costs.values())


@some
@given(data=st.data())
def test_weighted_k_means_is_the_optimum_over_all_partitions(data):
    n = data.draw(st.integers(2, 10))
    values = np.unique(data.draw(st.lists(st.integers(-60, 60), min_size=n, max_size=n))) / 8
    assume(len(values) > 1)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))))
    k = data.draw(st.integers(1, len(values)))
    costs = partitions([Fraction(v) for v in values.tolist()], weights.tolist(), k)
    edges = cuts.kmeans(Values.from_arrays(values, weights=weights), k).edges
    assert costs[tuple(np.searchsorted(values, edges, side="right").tolist())] == min(costs.values())


def test_k_means_edges_are_midway_between_the_centers():
    x = np.array([1.0, 2.0, 3.0, 10.0, 11.0, 30.0])
    assert cuts.kmeans(Values.from_arrays(x), 3).edges.tolist() == [6.25, 20.25]


# -- measures ------------------------------------------------------------------------------------------------

tables = st.integers(1, 6).flatmap(
    lambda rows: st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 30), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        ).map(np.array)
    )
)


def close(ours: float, theirs: float, absolute: float) -> bool:
    """To 1e-12 relative; what is next to nothing beside the terms that it is a sum of, to their rounding."""
    return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=absolute)


@many
@given(table=tables)
def test_mutual_information_is_that_of_scikit_learn(table):
    assume(table.sum() > 0)
    theirs = mutual_info_score(None, None, contingency=table) / LN2
    assert close(measures.mutual_information(table), theirs, 1e-14)


@many
@given(table=tables)
def test_chi_square_is_that_of_scipy(table):
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    assume(table.size)
    statistic, freedom, p_value = measures.chi_square(table)
    theirs = chi2_contingency(table, correction=False)
    assert close(statistic, theirs.statistic, 1e-13)
    assert freedom == theirs.dof
    if freedom:
        assert math.isclose(p_value, theirs.pvalue, rel_tol=1e-10)
    else:
        assert math.isnan(p_value)


@some
@given(table=tables)
def test_the_mean_over_all_permutations_is_that_of_scikit_learn(table):
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    assume(table.size)
    theirs = expected_mutual_information(table.astype(np.float64), int(table.sum())) / LN2
    assert close(measures.expected_information(table), theirs, 1e-12)


@pytest.mark.parametrize("n", [5, 6])
def test_the_mean_over_all_permutations_is_that_mean(n):
    from itertools import permutations

    x = [0, 0, 1, 1, 2, 2][:n]
    y = [0, 1, 0, 1, 1, 1][:n]
    every = [mutual_info_score(x, shuffled) for shuffled in permutations(y)]
    table = contingency_matrix(x, y)
    assert math.isclose(measures.expected_information(table), np.mean(every) / LN2, rel_tol=1e-11)


@some
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=4, max_size=60))
def test_adjusted_gain_is_the_numerator_of_adjusted_mutual_information(rows):
    x, y = (np.array(part) for part in zip(*rows, strict=True))
    assume(len(set(x.tolist())) > 1)
    assume(len(set(y.tolist())) > 1)
    found = attribute_scores({"x": x.astype(str)}, y.astype(str), adjust="permutation")
    gain, adjusted = found["information_gain"][0], found["adjusted_gain"][0]
    entropies = [measures.entropy(np.bincount(part)) for part in (x, y)]
    most = np.mean(entropies) - (gain - adjusted)
    assume(abs(most) > 1e-6)
    assert close(adjusted / most, adjusted_mutual_info_score(x, y), 1e-10)


@pytest.mark.parametrize(
    ("n", "mean", "variance"),
    [
        ([5, 5], [0.0, 1.0], [1.0, 1.0]),
        ([9, 1], [0.0, 3.0], [1.0, 0.01]),
        ([3, 4, 5], [-2.0, 0.0, 7.5], [2.0, 0.5, 9.0]),
        ([1, 99], [1e6, 1e6 + 1], [1.0, 4.0]),
        ([5, 5], [0.0, 0.0], [1.0, 1e-4]),
        ([5, 5], [0.0, 0.0], [1.0, 1.0]),
        ([9, 5], [73.0, 74.6], [38.0, 62.3]),
    ],
)
def test_gaussian_information_is_the_integral(n, mean, variance):
    share, sd = np.array(n) / sum(n), np.sqrt(variance)

    def inner(x: float) -> float:
        f = norm.pdf(x, mean, sd)
        mixed = float((share * f).sum())
        return sum(p * d * math.log2(d / mixed) for p, d in zip(share, f, strict=True) if d > 0)

    low, high = min(np.array(mean) - 12 * sd), max(np.array(mean) + 12 * sd)
    points = sorted({float(m + t * s) for m, s in zip(mean, sd, strict=True) for t in (-6, -3, 0, 3, 6)})
    integral, error = quad(inner, low, high, points=points, limit=500, epsabs=1e-11)
    assert error < 1e-8
    ours = measures.gaussian_information(np.array(n), np.array(mean), np.array(variance))
    assert ours == pytest.approx(integral, abs=1e-6)


# -- pairs ---------------------------------------------------------------------------------------------------


def coded_column(raw: np.ndarray, k: int, gaps: bool) -> np.ndarray:
    column = np.array([f"v{v % k}" for v in raw], dtype=object)
    if gaps:
        column[raw % 5 == 4] = None
    return column


@some
@given(data=st.data())
def test_pairs_are_those_of_mutual_info_score_with_rows_left_out_where_a_cell_is_missing(data):
    n, d = data.draw(st.integers(1, 40)), data.draw(st.integers(2, 5))
    raw = np.frombuffer(data.draw(st.binary(min_size=n * d, max_size=n * d)), dtype=np.uint8).reshape(n, d)
    frame = {f"c{j}": coded_column(raw[:, j], 2 + j, gaps=j % 2 == 1) for j in range(d)}
    assume(all(any(cell is not None for cell in column) for column in frame.values()))
    found = countwise.feature_selection.pairwise_scores(frame)
    assert found["attribute"] == list(frame)
    for i, a in enumerate(frame):
        for b in frame:
            both = [(u, v) for u, v in zip(frame[a], frame[b], strict=True) if u is not None and v is not None]
            theirs = mutual_info_score(*zip(*both, strict=True)) / LN2 if both else 0.0
            assert close(found[b][i], theirs, 1e-14), (a, b)


def test_pairs_of_many_rows_are_those_of_mutual_info_score():
    """More rows than one block, and columns of few and of many values."""
    rng = np.random.default_rng(0)
    n = 300_000
    base = rng.integers(0, 4, n)
    columns = {"a": base, "b": (base + rng.integers(0, 2, n)) % 3, "c": rng.integers(0, 300, n), "d": base * 0 + 1}
    frame = {name: np.array([f"{v}" for v in column], dtype=object) for name, column in columns.items()}
    found = countwise.feature_selection.pairwise_scores(frame)
    for i, a in enumerate(columns):
        for b in columns:
            assert close(found[b][i], mutual_info_score(columns[a], columns[b]) / LN2, 1e-13), (a, b)


def test_numbers_in_pairs_are_cut_first():
    penguins = samples.load("penguins").frame
    names = ("bill_length_mm", "body_mass_g", "island")
    found = countwise.feature_selection.pairwise_scores(
        {name: penguins[name] for name in names}, numeric="equal_width", n_bins=4
    )
    codes = {}
    for name in names[:2]:
        x = penguins[name]
        edges = cuts.equal_width(Values.from_arrays(x), 4).edges
        codes[name] = np.where(np.isnan(x), -1, np.searchsorted(edges, x))
    both = (codes["bill_length_mm"] >= 0) & (codes["body_mass_g"] >= 0)
    theirs = mutual_info_score(codes["bill_length_mm"][both], codes["body_mass_g"][both]) / LN2
    assert close(found["body_mass_g"][0], theirs, 1e-14)
    known = codes["body_mass_g"] >= 0
    theirs = mutual_info_score(codes["body_mass_g"][known], penguins["island"][known]) / LN2
    assert close(found["island"][1], theirs, 1e-14)


def test_symmetrical_uncertainty_of_pairs():
    tennis = samples.load("tennis").X
    bits, shares = (
        countwise.feature_selection.pairwise_scores(tennis),
        countwise.feature_selection.pairwise_scores(tennis, measure="symmetrical_uncertainty"),
    )
    names = list(tennis)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            wanted = 2 * bits[b][i] / (bits[a][i] + bits[b][j])
            assert close(shares[b][i], wanted, 1e-14)
            assert shares[b][i] == shares[a][j]


def test_a_column_of_nothing_but_gaps_tells_nothing_of_any_other():
    frame = {"a": np.array(["u", "v"], dtype=object), "b": np.array([None, None], dtype=object)}
    with pytest.warns(DataWarning, match="at least one column are missing"):
        found = countwise.feature_selection.pairwise_scores(frame)
    assert found["b"] == [0, 0]
    assert found["a"] == [1, 0]
