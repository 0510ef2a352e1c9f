"""The same cell is the same value in every kind of table."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from countwise import Date, NaiveBayesClassifier, Nominal, Numeric, Ordinal, Schema
from countwise.data.values import like
from countwise.errors import CountwiseError, DataWarning, SchemaError

from ..strategies.same_cells import same_cells, tables

Y = list("ababbaba")


def fitted(table, types):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a column may look like an identifier
        return NaiveBayesClassifier(types=types).fit(table, "y")


@pytest.mark.parametrize("types", [None, {"v": "nominal"}])
@settings(max_examples=60, deadline=None)
@given(drawn=same_cells())
def test_the_same_cells_give_the_same_model_and_predictions_in_every_kind_of_table(types, drawn):
    kind, cells = drawn
    whole = fitted({"v": cells, "y": Y}, types)
    wanted = whole.predict_proba({"v": cells})
    for name, make in tables(cells, Y).items():
        try:
            table = make()
        except (pa.ArrowException, OverflowError, TypeError, pl.exceptions.PolarsError, ValueError):
            continue  # this kind of table cannot hold these cells
        if name == "DuckDB" and kind == "durations" and types is not None:
            with pytest.raises(CountwiseError, match="interval"):
                fitted(table, types)
            continue
        model = fitted(table, types)
        assert model.schema_ == whole.schema_, name
        np.testing.assert_allclose(model.predict_proba({"v": cells}), wanted, rtol=0, atol=1e-9, err_msg=name)
        if name not in ("Polars lazy", "DuckDB"):
            table = {"v": table["v"]} if isinstance(table, dict) else table
            np.testing.assert_allclose(whole.predict_proba(table), wanted, rtol=0, atol=1e-9, err_msg=name)


def test_a_column_of_dates_is_a_date_and_its_texts_are_read_as_dates():
    days = [datetime.date(2024, 1, d) for d in (1, 2, 3, 4)]
    model = NaiveBayesClassifier().fit({"day": days}, list("aabb"))
    assert model.schema_ == Schema([Date("day")])
    texts = {"day": [str(day) for day in days]}
    np.testing.assert_array_equal(model.predict_proba(texts), model.predict_proba({"day": days}))
    with pytest.raises(SchemaError, match=r"'1\.2\.2024' in row 1 is not an ISO date"):
        model.predict({"day": ["2024-01-01", "1.2.2024"]})


def test_texts_can_be_declared_as_dates():
    model = NaiveBayesClassifier(types={"day": "date"}).fit(
        {"day": ["2024-01-01", None, "2024-03-01T12:00"]}, list("aab")
    )
    assert model.schema_["day"] == Date("day")


def test_a_column_of_dates_that_is_declared_numeric_is_a_date_and_never_a_count():
    days = {"day": [datetime.date(2024, 1, d) for d in (1, 2, 3)]}
    assert (
        Schema.infer(days, {"day": "numeric"}) == Schema([Date("day")]) == Schema.infer(days, {"day": Numeric("day")})
    )
    with pytest.raises(SchemaError, match="'day' has dates, which are not counts"):
        Schema.infer(days, {"day": "count"})


def test_times_with_and_without_a_time_zone_cannot_be_mixed():
    times = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)]
    with pytest.raises(SchemaError, match="'t' has times with and without a time zone; row 1"):
        Schema.infer({"t": times})


def test_masked_cells_and_targets_are_missing():
    y = np.ma.array([0, 0, 1, 1, 7], mask=[0, 0, 0, 0, 1])
    x = np.ma.array([1.0, 1e6, 2.0, 9.0, 8.0], mask=[0, 1, 0, 0, 0])
    with pytest.warns(DataWarning, match="target"):
        model = NaiveBayesClassifier().fit({"x": x}, y)
    assert model.classes_.tolist() == [0, 1]
    with pytest.warns(DataWarning, match="target"):
        same = NaiveBayesClassifier().fit({"x": [1.0, None, 2.0, 9.0, 8.0]}, [0, 0, 1, 1, None])
    np.testing.assert_array_equal(model.predict_proba({"x": [1.0, 5.0]}), same.predict_proba({"x": [1.0, 5.0]}))


def test_a_masked_matrix_and_a_masked_structured_array_have_missing_cells():
    matrix = np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 0], [1, 0], [0, 0]])
    assert NaiveBayesClassifier().fit(matrix, [0, 1, 0]).n_features_in_ == 2
    pairs = np.ma.array([(1, "u"), (2, "v")], mask=[(False, True), (False, False)], dtype=[("n", "i8"), ("s", "U1")])
    assert Schema.infer(pairs)["s"].values == ("v",)


@pytest.mark.parametrize("nulls", [[None], [None, None]])
def test_nulls_in_the_dictionary_of_an_arrow_column_are_missing(nulls):
    codes = pa.array([0, 1, 2, 0], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y", *nulls]))
    schema = Schema.infer(pa.table({"b": column}))
    assert schema["b"].values == ("x", "y")
    assert schema.encode(pa.table({"b": column}))["b"].tolist() == [0, 1, 2, 0]


def test_values_that_occur_twice_in_a_dictionary_are_one_value():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["x", "y", "x"]))
    assert Schema.infer(pa.table({"b": column})).encode(pa.table({"b": column}))["b"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["u", "v", None], pa.string_view()),
        pa.array(["u", "v", None], pa.large_string()),
        pa.chunked_array([["u"], ["v", None]], pa.string_view()),
        pa.array(["u", "v", None]).dictionary_encode(),
    ],
)
def test_every_kind_of_arrow_string_is_a_string(column):
    assert Schema.infer(pa.table({"s": column}))["s"].values == ("u", "v")


def test_categories_of_intervals_periods_and_times_are_their_texts():
    cut = pd.cut([1.0, 2.0, 3.0], 3)
    table = pd.DataFrame({"i": cut, "p": pd.Categorical(pd.period_range("2024-01", periods=3, freq="M"))})
    schema = Schema.infer(table)
    assert schema["i"] == Ordinal("i", tuple(map(str, cut.categories)))
    assert schema["p"].values == ("2024-01", "2024-02", "2024-03")
    days = pd.DataFrame({"t": pd.Categorical(pd.to_datetime(["2024-01-01", "2024-02-01 06:00"], format="ISO8601"))})
    assert Schema.infer(days)["t"].values == ("2024-01-01", "2024-02-01 06:00:00")


def test_an_array_in_a_cell_is_refused_with_its_row():
    with pytest.raises(SchemaError, match="'o' has a ndarray in row 0, but each value must be a scalar"):
        Schema.infer({"o": pd.Series([np.array([1, 2])] * 3)})


def test_an_integer_beyond_floats_is_refused_with_its_row():
    with pytest.raises(SchemaError, match="'a' is a number of 401 digits in row 1"):
        Schema.infer([{"a": 1}, {"a": 10**400}])


def test_decimals_are_numbers():
    assert Schema.infer({"x": [Decimal("1.5"), None, Decimal(2)]}) == Schema([Numeric("x")])


@pytest.mark.parametrize("integer", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 - 1, 2**70])
def test_large_integers_stay_apart_with_and_without_missing_values(integer):
    for missing in ([], [None]):
        cells = [integer, integer - 1, integer, *missing]
        schema = Schema.infer({"id": cells}, {"id": "nominal"})
        assert schema["id"].values == (integer - 1, integer)
        assert schema.encode({"id": cells})["id"].tolist() == [1, 0, 1, *[2] * len(missing)]


# -- values of another type than the domain -------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "cells", "codes"),
    [
        ((7, 12), ["7", "12", "12.0", " 7 ", "x", None], [0, 1, 1, 0, 3, 2]),
        (("12", "7", "A1"), [12, 7, 7.0, 13, None], [0, 1, 1, 4, 3]),
        (("007", "12"), [7, 12], [0, 1]),
        (("007", "07", "7"), [7], [2]),
        (("007", "07"), [7], [3]),
        ((False, True), ["true", "False", "0", 1, "x"], [1, 0, 0, 1, 3]),
        (("false", "true"), [True, False], [1, 0]),
        ((0, 1), [True, False], [1, 0]),
        ((1.5, 2.5), ["1.5", "2,5"], [0, 3]),
        ((2**53, 2**53 + 1), [str(2**53 + 1), float(2**53)], [1, 0]),
        (("2020-01-01",), [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 1)], [0, 2]),
    ],
)
def test_a_value_of_another_type_is_matched_to_the_domain_that_was_learned(domain, cells, codes):
    attribute = Nominal("x", domain)
    for one, code in zip(cells, codes, strict=True):
        column = np.empty(1, dtype=object)
        column[0] = one
        assert attribute.encode(column).tolist() == [code], one
    assert Schema([attribute]).encode({"x": cells})["x"].tolist() == codes


def test_numbers_in_a_matrix_are_matched_to_a_domain_of_texts():
    schema = Schema([Nominal("a", ("1", "2")), Nominal("b", ("x", "3"))])
    table = schema.encode(np.array([[1, 3], [2, 4]]))
    assert (table["a"].tolist(), table["b"].tolist()) == ([0, 1], [1, 3])


def test_only_a_value_of_another_type_is_matched_by_its_text():
    assert like("7", {"007": 0}) is None
    assert like(8, {7: 0}) is None
    assert like("nan", {1.0: 0}) is None
