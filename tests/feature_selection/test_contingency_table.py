"""A contingency table and the computations written out: other libraries give the same numbers."""

from __future__ import annotations

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from countwise import measures, samples
from countwise.errors import CountwiseError, OptionError, TableError
from countwise.feature_selection import ContingencyTable, attribute_scores, contingency_table, threshold_gains
from countwise.working import Formula, Section

CELLS = st.tuples(st.integers(2, 4), st.integers(2, 3)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 30), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)
TENNIS = samples.load("tennis")


@given(CELLS)
def test_the_numbers_are_those_of_scipy_and_scikit_learn(cells):
    counts = np.array(cells)
    table = ContingencyTable(cells)
    if not (counts.sum(axis=0) > 0).all() or not (counts.sum(axis=1) > 0).all():
        return
    test = chi2_contingency(counts, correction=False)
    np.testing.assert_allclose(table.expected, test.expected_freq, rtol=1e-12)
    assert math.isclose(table.chi_square, test.statistic, rel_tol=1e-9, abs_tol=1e-12)
    assert table.degrees_of_freedom == test.dof
    assert math.isclose(table.p_value, test.pvalue, rel_tol=1e-9, abs_tol=1e-300)
    nats = mutual_info_score(None, None, contingency=counts)
    assert math.isclose(table.mutual_information * math.log(2), nats, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(table.contributions.sum(), table.chi_square, rel_tol=1e-12, abs_tol=1e-12)
    finite = counts > 0
    of_cells = float((counts / counts.sum() * np.where(finite, table.pmi, 0))[finite].sum())
    assert math.isclose(of_cells, table.mutual_information, rel_tol=1e-9, abs_tol=1e-12)


def value_of(formula: str) -> float:
    """Return the value of the computation between the equals signs of a formula."""
    body = re.split(r" = ", formula)[-2]
    code = body.replace("·", "*").replace("²", "**2").replace("log2(", "math.log2(").replace("ln(", "math.log(")
    return float(eval(code, {"math": math}))


@given(CELLS)
def test_every_written_term_gives_the_number_beside_it(cells):
    counts = np.array(cells)
    table = ContingencyTable(cells, name="a", target="c")
    if not counts.sum():
        return
    written = [cell for section in table.sections for column in section.table.values() for cell in column]
    lines = [line for section in table.sections for line in section.lines if isinstance(line, Formula)]
    for formula in [str(cell) for cell in written if "·" in str(cell) or "²" in str(cell)] + lines:
        if "∞" in formula or "P(" in formula or "…" in formula or " = " not in formula.partition(" = ")[2]:
            continue
        shown = float(formula.rpartition(" = ")[2])
        assert math.isclose(value_of(formula), shown, rel_tol=1e-4, abs_tol=2e-4), formula
    for formula, value in (
        (measures.chi_square_formula(counts), table.chi_square),
        (measures.mutual_information_formula(counts), table.mutual_information),
        (measures.symmetrical_uncertainty_formula(counts), table.symmetrical_uncertainty),
    ):
        assert math.isclose(float(formula.rpartition(" = ")[2]), value, rel_tol=1e-5, abs_tol=1e-12)


def test_a_table_has_the_scores_of_its_attribute():
    penguins = samples.load("penguins")
    scores = attribute_scores(penguins.frame, "species", numeric="equal_frequency")
    for i, name in enumerate(scores["attribute"]):
        table = contingency_table(penguins.frame, "species", column=name, numeric="equal_frequency")
        assert table.missing == scores["missing"][i]
        for score in (
            "information_gain",
            "gain_ratio",
            "symmetrical_uncertainty",
            "chi_square",
            "p_value",
            "gini_gain",
        ):
            assert math.isclose(getattr(table, score), scores[score][i], rel_tol=1e-12), (name, score)


@pytest.mark.parametrize(
    "column",
    [
        lambda values: list(values), np.array, lambda values: pd.Series(values, name="outlook"), pd.Categorical,
        lambda values: pl.Series("outlook", list(values)), lambda values: pa.array(list(values)),
        lambda values: {"outlook": values}, lambda values: pd.DataFrame({"outlook": values}),
    ],
)  # fmt: skip
def test_a_column_of_any_library_is_counted(column):
    table = contingency_table(column(TENNIS.X["outlook"]), TENNIS.y)
    assert table.counts.tolist() == [[0, 4], [2, 3], [3, 2]]
    assert (table.values, table.classes) == (("Overcast", "Rain", "Sunny"), ("No", "Yes"))


def test_a_missing_value_is_left_out_and_counted_or_a_value_of_its_own():
    x, y = ["a", None, "b", "a", None], ["n", "y", "y", "n", "n"]
    left_out = contingency_table(x, y)
    assert left_out.counts.tolist() == [[2, 0], [0, 1]]
    assert left_out.missing == 2
    assert "2 rows without x left out" in str(left_out)
    counted = contingency_table(x, y, missing="value")
    assert counted.values == ("a", "b", "missing")
    assert counted.counts.tolist() == [[2, 0], [0, 1], [1, 1]]
    assert counted.missing == 0
    assert "left out" not in str(counted)
    number = contingency_table([1.0, np.nan, 2.0, 1.0, np.nan], y, missing="value", numeric=[1.5])
    assert number.counts.tolist() == counted.counts.tolist()


def test_weights_are_counted_and_weight_2_is_two_rows():
    weights = np.arange(14) % 3 + 1
    twice = contingency_table(np.repeat(TENNIS.X["outlook"], weights), np.repeat(TENNIS.y, weights))
    once = contingency_table(TENNIS.frame, "play", column="outlook", sample_weight=weights)
    assert once.counts.tolist() == twice.counts.tolist()
    half = contingency_table(TENNIS.frame, "play", column="outlook", sample_weight=weights / 2)
    assert half.n == weights.sum() / 2
    assert "sums of weights" in str(half)


@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_chunks_and_engines_give_the_table_of_the_rows_in_memory(missing):
    duckdb = pytest.importorskip("duckdb")
    weather = pd.DataFrame(samples.load("weather").frame)
    weather.loc[0, "humidity"] = np.nan
    settings = {"column": "humidity", "numeric": [82.5], "missing": missing}
    wanted = contingency_table(weather, "play", **settings)
    assert wanted.counts.tolist() == [[1, 6], [3, 3]] + [[1, 0]] * (missing == "value")
    for X in (duckdb.from_df(weather), iter([weather[:6], weather[6:]])):
        found = contingency_table(X, "play", **settings)
        assert found.counts.tolist() == wanted.counts.tolist()
        assert (found.values, found.missing) == (wanted.values, wanted.missing)
    gains = threshold_gains(duckdb.from_df(weather), "play", column="humidity")
    assert dict(gains) == dict(threshold_gains(weather, "play", column="humidity"))


def test_an_indicator_has_a_table_of_its_own():
    found = contingency_table(TENNIS.frame, "play", column="outlook=Sunny", nominal="binary")
    assert found.counts.tolist() == [[2, 7], [3, 2]]
    with pytest.raises(OptionError, match="has several tables"):
        contingency_table(TENNIS.frame, "play", column="outlook", nominal="binary")


def test_it_shows_itself_in_80_columns_and_in_html_latex_and_json():
    table = contingency_table(TENNIS.frame, "play", column="outlook")
    assert max(map(len, str(table).split("\n")[1:])) <= 80
    assert "(3 - 1)·(2 - 1) = 2" in str(table)
    assert "log2((3·14)/(5·5)) = 0.748461" in str(table)
    assert repr(table) == "ContingencyTable(outlook, play: 3 values, 2 classes, n = 14)"
    assert table._repr_html_().count("<table>") == 4
    assert r"\frac{4 \cdot 5}{14} = 1.42857" in table.latex()
    assert r"\resizebox" not in table.latex(80)
    data = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert data["pmi"][0][0] is None
    assert data["degrees_of_freedom"] == 2
    assert len(data["sections"]) == 6
    assert table.cells["observed"] == [0, 4, 2, 3, 3, 2]


def test_a_large_table_shows_its_first_values_and_says_so():
    rng = np.random.default_rng(0)
    table = contingency_table(rng.integers(0, 300, 4000).astype(str), rng.integers(0, 15, 4000))
    text = str(table)
    assert "the first 12 of 300 values and the first 6 of 15 classes" in " ".join(text.split())
    assert len(text) < 20_000
    assert max(map(len, text.split("\n")[1:])) <= 80
    assert table.counts.shape == (300, 15)


def test_a_table_without_rows_or_with_one_value_has_no_test():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty, constant = contingency_table([None, None], ["a", "b"]), contingency_table(["u", "u"], ["a", "b"])
        assert empty.chi_square == constant.chi_square == 0
        assert math.isnan(constant.p_value)
        assert "There is no test" in str(constant)
        assert "all values missing" in str(empty)
        json.dumps([empty.to_dict(), constant.to_dict()], allow_nan=False)


def test_a_class_named_like_the_attribute_has_its_own_column():
    table = contingency_table(pd.Series(["a", "b"], name="x"), ["x", "total"])
    assert list(table.sections[0].table) == ["x", "class = total", "class = x", "total"]


@pytest.mark.parametrize(
    "counts", [None, "foo", [[1, -1]], [[math.nan]], [1, 2], [[[1]]], object(), [[math.inf]], []]
)
def test_counts_of_another_kind_are_refused(counts):
    with pytest.raises(TableError, match="counts"):
        ContingencyTable(counts)


@pytest.mark.parametrize(
    "settings", [{"values": ["a"]}, {"classes": 3}, {"missing": -1}, {"notes": "one"}, {"missing": "no"}]
)
def test_wrong_labels_are_refused(settings):
    with pytest.raises(OptionError):
        ContingencyTable([[1, 2], [3, 4]], **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "X has 4 columns"), ({"column": "outlok"}, "no attribute 'outlok'"), ({"column": 3}, "no attribute 3"),
        ({"column": "outlook", "missing": "drop"}, "missing must be"),
        ({"column": "outlook", "nominal": []}, "nominal"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(settings, message):
    with pytest.raises(CountwiseError, match=message):
        contingency_table(TENNIS.frame, "play", **settings)


def test_a_gaussian_has_no_table():
    weather = samples.load("weather")
    with pytest.raises(OptionError, match="no counts"):
        contingency_table(weather.frame, "play", column="humidity", numeric="gaussian")


def test_names_of_any_kind_are_shown_as_they_are():
    table = ContingencyTable([[1, 2], [3, 4]], ["a)b(", "$x_1$"], ["{", "\\"], name="50% (of|n)", target="c = d")
    assert "50% (of|n)" in str(table)
    assert isinstance(table.sections[0], Section)
    assert table.latex(56)
    assert table.html()
