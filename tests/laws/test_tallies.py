"""The laws of tallies: blank is zero, `+` merges, `-` takes back, and filling agrees with both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from countwise import Nominal, Numeric, Schema, Text
from countwise.data.table import Table
from countwise.distributions import MEstimate, Smoothing, smoothing_of
from countwise.distributions.categorical import CategoricalDensity
from countwise.errors import CountwiseError
from countwise.tallies import Counts, Moments, Values, Words, tally_from

from .strategies import CLASSES, NOMINAL, WORDS, eighths, many, some

KINDS = ("counts", "moments", "values", "words", "words present")


def attribute_of(kind: str) -> Any:
    if kind == "counts":
        return Nominal("x", NOMINAL)
    return Text("x", WORDS) if kind.startswith("words") else Numeric("x")


def blank_of(kind: str, given: Nominal, of: Any) -> Any:
    if kind == "counts":
        return Counts((given, of))
    if kind == "moments":
        return Moments(given, of)
    return Values(given, of) if kind == "values" else Words(given, of, present=kind == "words present")


def cells_of(kind: str) -> Any:
    if kind == "counts":
        return st.sampled_from([*NOMINAL, None])
    if kind.startswith("words"):
        return st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join))
    return st.one_of(eighths, st.just(float("nan")))


def raw_column(kind: str, cells: list[Any]) -> np.ndarray:
    if kind in ("moments", "values"):
        return np.array(cells, dtype=np.float64)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@st.composite
def parts(draw: Any, kind: str, count: int, weight: Any = None) -> list[tuple[np.ndarray, np.ndarray, Any]]:
    """Several parts of one table: raw cells, classes, weights."""
    found = []
    for _ in range(count):
        n = draw(st.integers(0, 6))
        cells = draw(st.lists(cells_of(kind), min_size=n, max_size=n))
        y = draw(st.lists(st.sampled_from(CLASSES), min_size=n, max_size=n))
        w = None if weight is None else draw(st.lists(weight, min_size=n, max_size=n))
        whole = w is not None and all(isinstance(one, int) for one in w)
        w = None if w is None else np.array(w, dtype=np.int64 if whole else np.float64)
        found.append((raw_column(kind, cells), objects(y), w))
    return found


def table_of(part: tuple[np.ndarray, np.ndarray, Any], given: Nominal, of: Any) -> Table:
    cells, y, weights = part
    return Table({of.name: of.encode(cells), given.name: given.encode(y)}, len(y), weights)


def filled(kind: str, part: Any, given: Nominal | None = None, of: Any = None) -> Any:
    given, of = given or Nominal("y", CLASSES), of or attribute_of(kind)
    return blank_of(kind, given, of).fill(table_of(part, given, of))


def numbers_of(tally: Any) -> list[np.ndarray]:
    if isinstance(tally, Values):
        return [part for pair in tally.filled for part in pair]
    if isinstance(tally, Moments):
        return list(tally.triple)
    return [tally.filled] if isinstance(tally, Counts) else list(tally.filled)


def assert_equal(a: Any, b: Any, tolerance: float = 1e-9, scale: float = 10.0) -> None:
    """Exactly for what is counted; moments relative to the scale of the numbers."""
    assert type(a) is type(b)
    if not isinstance(a, Moments):
        assert len(numbers_of(a)) == len(numbers_of(b))
        for x, z in zip(numbers_of(a), numbers_of(b), strict=True):
            np.testing.assert_array_equal(x, z)
        return
    (n1, mean1, m1), (n2, mean2, m2) = a.triple, b.triple
    np.testing.assert_allclose(n1, n2, rtol=tolerance, atol=0)
    np.testing.assert_allclose(mean1, mean2, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(m1, m2, rtol=tolerance, atol=tolerance * scale**2)


def together(a: Any, b: Any) -> Any:
    weights = None if a[2] is None else np.concatenate([a[2], b[2]])
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]), weights


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_adding_tallies_is_associative(kind, data):
    a, b, c = (filled(kind, p) for p in data.draw(parts(kind, 3)))
    assert_equal((a + b) + c, a + (b + c))


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_adding_tallies_is_commutative(kind, data):
    a, b = (filled(kind, p) for p in data.draw(parts(kind, 2)))
    assert_equal(a + b, b + a)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_a_blank_tally_is_the_identity_to_the_last_bit(kind, data):
    (part,) = data.draw(parts(kind, 1))
    a, blank = filled(kind, part), blank_of(kind, Nominal("y", CLASSES), attribute_of(kind))
    for sum_ in (a + blank, blank + a, a - blank):
        for x, z in zip(numbers_of(sum_), numbers_of(a), strict=True):
            np.testing.assert_array_equal(x, z)
            assert x.dtype == z.dtype


@pytest.mark.filterwarnings("ignore:Most rows of")  # due where no spread is left; the law is about the numbers
@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_what_was_added_can_be_taken_back(kind, data):
    a, b = (filled(kind, p) for p in data.draw(parts(kind, 2)))
    assert_equal(a + b - b, a)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_filling_from_two_parts_is_adding_what_each_fills(kind, data):
    a, b = data.draw(parts(kind, 2, st.integers(1, 3)))
    assert_equal(filled(kind, together(a, b)), filled(kind, a) + filled(kind, b))


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_parts_that_know_different_domains_add_to_the_tally_of_the_whole(kind, data):
    a, b = data.draw(parts(kind, 2))
    given = [Nominal("y", grows=True).learn(part[1]) for part in (a, b)]
    of: list[Any] = [Numeric("x")] * 2
    if kind == "counts":
        of = [Nominal("x", grows=True).learn(part[0]) for part in (a, b)]
    elif kind.startswith("words"):
        of = [Text("x", grows=True).learn(part[0]) for part in (a, b)]
    whole_given, whole_of = given[0].join(given[1]), of[0].join(of[1])
    sum_ = filled(kind, a, given[0], of[0]) + filled(kind, b, given[1], of[1])
    whole = filled(kind, together(a, b), whole_given, whole_of)
    assert (sum_.axes if kind == "counts" else (sum_.given, sum_.of)) == (whole_given, whole_of)
    assert_equal(sum_, whole)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_a_weight_of_n_is_n_copies_of_the_row(kind, data):
    (part,) = data.draw(parts(kind, 1, st.integers(0, 3)))
    cells, y, weights = part
    copies = np.repeat(cells, weights), np.repeat(y, weights), None
    assert_equal(filled(kind, part), filled(kind, copies))


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_whole_weights_keep_counts_whole(kind, data):
    (part,) = data.draw(parts(kind, 1, st.integers(1, 3)))
    tally = filled(kind, part)
    whole = [w for _, w in tally.filled] if kind == "values" else numbers_of(tally)
    if kind == "moments":
        np.testing.assert_array_equal(tally.n, np.floor(tally.n))
    else:
        assert all(array.dtype.kind == "i" for array in whole)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_the_order_of_the_rows_changes_no_tally(kind, data):
    (part,) = data.draw(parts(kind, 1, st.integers(1, 3)))
    order = np.array(data.draw(st.permutations(range(len(part[1])))), dtype=int)
    assert_equal(filled(kind, part), filled(kind, tuple(p[order] for p in part)))


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_a_tally_written_as_plain_data_comes_back_to_the_last_bit(kind, data):
    (part,) = data.draw(parts(kind, 1, st.floats(0.25, 4)))
    tally = filled(kind, part)
    back = tally_from(tally.to_dict(), {"y": Nominal("y", CLASSES), "x": attribute_of(kind)})
    for x, z in zip(numbers_of(back), numbers_of(tally), strict=True):
        np.testing.assert_array_equal(x, z)
    assert back.to_dict() == tally.to_dict()


@pytest.mark.parametrize("kind", ["counts", "values", "words", "moments"])
def test_taking_back_rows_that_were_never_there_is_refused(kind):
    cells = {"counts": ["u"], "words": ["us us"]}.get(kind, [1.0])
    one = filled(kind, (raw_column(kind, cells), objects(["no"]), None))
    blank = blank_of(kind, Nominal("y", CLASSES), attribute_of(kind))
    with pytest.raises(CountwiseError, match=r"'x'.*forget only rows"):
        blank - one


@some
@given(data=st.data())
def test_a_value_that_was_never_there_cannot_be_taken_back_for_another(data):
    a, b = data.draw(eighths), data.draw(eighths)
    assume(a != b)
    one, other = (filled("values", (np.array([x]), objects(["no"]), None)) for x in (a, b))
    with pytest.raises(CountwiseError, match="'x'"):
        one - other


tenths = st.integers(1, 9).map(lambda k: k / 10)


@pytest.mark.parametrize("kind", ["counts", "values", "words"])
@some
@given(weights=st.tuples(tenths, tenths, tenths))
@example(weights=(0.1, 0.2, 0.3))
@example(weights=(0.3, 0.2, 0.1))
def test_rows_with_broken_weights_taken_back_in_another_grouping_leave_nothing(kind, weights):
    """What rounding leaves of 0.1 + 0.2 + 0.3 must not look like a value that is there, or a count below zero."""
    cell = {"counts": "u", "values": 1.0, "words": "us"}[kind]
    a, b, c = (filled(kind, (raw_column(kind, [cell]), objects(["no"]), np.array([w]))) for w in weights)
    left = (a + b) + c - (a + (b + c))
    if kind == "values":
        assert all(len(values) == 0 for values, _ in left.filled)
    else:
        for array in numbers_of(left):
            np.testing.assert_array_equal(array, 0.0)


@many
@given(
    numbers=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    cut=st.integers(0, 40),
)
def test_moments_are_those_that_fractions_give(numbers, cut):
    """The oracle is exact arithmetic; Chan's merge must not lose more than rounding."""
    column, y = np.array(numbers), objects(["no"] * len(numbers))
    merged = filled("moments", (column[:cut], y[:cut], None)) + filled("moments", (column[cut:], y[cut:], None))
    n, mean, m2 = (part[CLASSES.index("no")] for part in merged.triple)
    exact = [Fraction(x) for x in numbers]
    exact_mean = sum(exact) / len(exact)
    exact_m2 = sum((x - exact_mean) ** 2 for x in exact)
    scale = max(abs(column).max(), 1e-300)
    assert n == len(numbers)
    assert abs(mean - float(exact_mean)) <= 1e-14 * scale * 4
    # rounding of the mean, n eps scale, enters every deviation once
    assert abs(m2 - float(exact_m2)) <= 1e-14 * (
        float(exact_m2) + len(numbers) * scale * np.sqrt(float(exact_m2)) + scale**2 * 1e-14
    )


@some
@given(cells=st.lists(eighths, min_size=2, max_size=20), cut=st.integers(0, 20))
def test_moments_of_a_table_far_from_zero_keep_their_spread(cells, cut):
    y = objects(["no"] * len(cells))
    near, far = np.array(cells), np.array(cells) + 1e9
    a = filled("moments", (near, y, None))
    b = filled("moments", (far[:cut], y[:cut], None)) + filled("moments", (far[cut:], y[cut:], None))
    np.testing.assert_allclose(b.triple[2], a.triple[2], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(b.triple[1][1] - 1e9, a.triple[1][1], rtol=0, atol=1e-6)


@some
@given(
    cells=st.lists(st.sampled_from([1.1, 1e9 + 0.1, -3.3]), min_size=1, max_size=1),
    n=st.integers(1, 30),
    cut=st.integers(0, 30),
)
def test_equal_numbers_have_no_spread_at_all(cells, n, cut):
    column, y = np.full(n, cells[0]), objects(["no"] * n)
    merged = filled("moments", (column[:cut], y[:cut], None)) + filled("moments", (column[cut:], y[cut:], None))
    assert merged.triple[2].tolist() == [0.0, 0.0, 0.0]
    assert merged.triple[1][CLASSES.index("no")] == cells[0]


@some
@given(data=st.data())
def test_the_moments_of_values_are_the_moments_of_the_rows(data):
    (part,) = data.draw(parts("values", 1, st.integers(1, 3)))
    assert_equal(filled("values", part).moments, filled("moments", part), 1e-12)


# -- domains ------------------------------------------------------------------------------------------------

values_of_one_kind = st.one_of(
    st.lists(st.text(max_size=4), max_size=12),
    st.lists(st.integers(-5, 5), max_size=12),
    st.lists(st.integers(-(2**60), 2**60), max_size=12),
    st.lists(st.booleans(), max_size=12),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=12),
)


@many
@given(cells=values_of_one_kind, gaps=st.sets(st.integers(0, 11)))
def test_what_is_encoded_decodes_to_what_it_was_and_gaps_stay_gaps(cells, gaps):
    column = objects([None if i in gaps else cell for i, cell in enumerate(cells)])
    attribute = Nominal("x").learn(column)
    assert attribute.decode(attribute.encode(column)).tolist() == column.tolist()


@some
@given(numbers=st.lists(st.one_of(st.integers(-300, 300), st.none()), min_size=1, max_size=30))
def test_numbers_are_encoded_alike_as_integers_floats_and_objects(numbers):
    column = objects(numbers)
    attribute = Nominal("x").learn(column)
    codes = attribute.encode(column).tolist()
    floats = np.array([np.nan if v is None else v for v in numbers], dtype=np.float64)
    assert Nominal("x").learn(floats).values == attribute.values
    assert attribute.encode(floats).tolist() == codes
    assert attribute.encode(floats.astype(np.float32)).tolist() == codes
    if None not in numbers:
        assert attribute.encode(np.array(numbers, dtype=np.int16)).tolist() == codes


@some
@given(data=st.data())
def test_joining_domains_is_associative_commutative_and_idempotent(data):
    lists = st.lists(st.sampled_from(NOMINAL), max_size=3)
    a, b, c = (Schema([Nominal("x", grows=True).learn(objects(data.draw(lists)))]) for _ in range(3))
    assert (a | b) | c == a | (b | c)
    assert a | b == b | a
    assert a | a == a


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), gaps=st.booleans(), spread=st.sampled_from([3, 300, 10**6]))
def test_a_long_matrix_is_encoded_as_its_columns_are(seed, gaps, spread):
    """Above 4096 rows an interleaved matrix is read in blocks; the codes must not show it."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-spread, spread, (9000, 3)).astype(np.float64)
    if gaps:
        matrix[rng.random(matrix.shape) < 0.1] = np.nan
    whole = Schema.infer(matrix, types="nominal")
    single = {f"x{j}": np.ascontiguousarray(matrix[:, j]) for j in range(3)}
    by_column = Schema.infer(single, types="nominal")
    assert whole == by_column
    a, b = whole.encode(matrix), by_column.encode(single)
    for name in whole:
        np.testing.assert_array_equal(a[name], b[name])


# -- smoothing ----------------------------------------------------------------------------------------------

smoothings = st.one_of(
    st.integers(0, 5).map(smoothing_of),
    st.sampled_from([0.5, 0.1, 0.25, 1e-3]).map(smoothing_of),
    st.builds(
        lambda m, p: Smoothing(None, MEstimate(m, p)),
        st.sampled_from([0, 1, 3, 0.5]),
        st.sampled_from(["uniform", "global"]),
    ),
    st.just(Smoothing(None, MEstimate(2, {"u": 0.5, "v": 0.25, "w": 0.125, "ü": 0.125}))),
)
count_tables = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=3).map(np.array)


@many
@given(counts=count_tables, smoothing=smoothings, share=st.booleans())
def test_probabilities_of_a_table_sum_to_1_under_every_smoothing(counts, smoothing, share):
    is_global = smoothing.estimate is not None and smoothing.estimate.p == "global"
    density = CategoricalDensity(
        Nominal("x", NOMINAL), counts, smoothing, "share" if share and not is_global else "ignore"
    )
    assume(counts.any() or density.pseudo.any())
    np.testing.assert_allclose(density.prob.sum(axis=1), 1.0, rtol=1e-14)
    assert (density.prob >= 0).all()


@many
@given(counts=count_tables, smoothing=smoothings, share=st.booleans())
def test_the_imagined_count_as_a_fraction_is_the_float_that_is_used(counts, smoothing, share):
    is_global = smoothing.estimate is not None and smoothing.estimate.p == "global"
    extra = int(share and not is_global)
    pseudo = smoothing.pseudo(counts, NOMINAL, extra)
    given_shares = smoothing.estimate is not None and not isinstance(smoothing.estimate.p, str)
    for v in range(4):
        exact = smoothing.exact(counts, v, NOMINAL, extra)
        if exact is None:
            assert given_shares or not counts.any()
        else:
            assert float(exact) == pytest.approx(pseudo[v], rel=1e-14, abs=0)
            added = smoothing.mass(counts, exact, extra)
            assert added is not None
            assert float(added) == pytest.approx(pseudo.sum(), rel=1e-14, abs=0)


@many
@given(counts=count_tables, smoothing=smoothings)
def test_smoothed_probabilities_are_the_quotients_of_the_definition(counts, smoothing):
    """The oracle is the formula of the lecture in fractions."""
    density = CategoricalDensity(Nominal("x", NOMINAL), counts, smoothing)
    total = int(counts.sum())
    for c in range(len(counts)):
        for v, value in enumerate(NOMINAL):
            if smoothing.estimate is None:
                added, mass = Fraction(repr(smoothing.epsilon)), 4 * Fraction(repr(smoothing.epsilon))
            else:
                m = Fraction(repr(float(smoothing.estimate.m)))
                p = smoothing.estimate.p
                uniform = p == "uniform" or (p == "global" and total == 0)
                share = (
                    Fraction(1, 4)
                    if uniform
                    else Fraction(int(counts[:, v].sum()), total)
                    if p == "global"
                    else Fraction(p[value])
                )
                added, mass = m * share, m
            rows = int(counts[c].sum()) + mass
            if rows:
                assert density.prob[c, v] == pytest.approx(
                    float((int(counts[c, v]) + added) / rows), rel=1e-13, abs=0
                )
