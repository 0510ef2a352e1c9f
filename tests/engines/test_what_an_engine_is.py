"""One function says what an engine holds and what is memory; a missing scalar of an engine is never a number."""

from __future__ import annotations

import decimal
import sys
import types

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from countwise import NaiveBayesClassifier
from countwise.data.frames import frame_of, is_relation
from countwise.engines.execute import number_of, sum_of
from countwise.errors import ReadError, RowsRefused

COLUMNS = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]}


@pytest.mark.parametrize(
    "table", [pl.DataFrame(COLUMNS).lazy(), nw.from_native(pl.DataFrame(COLUMNS).lazy())], ids=type
)
def test_a_lazy_frame_is_one_of_an_engine_also_behind_narwhals(table):
    assert is_relation(table)
    with pytest.raises(RowsRefused, match="X is a table of an engine"):
        frame_of(table)
    assert NaiveBayesClassifier().fit(table, "y").n_rows_ == 4


@pytest.mark.parametrize("made", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_an_eager_frame_is_memory_also_behind_narwhals(made):
    for table in (made(COLUMNS), nw.from_native(made(COLUMNS))):
        assert not is_relation(table)
        assert frame_of(table).n_rows == 4
        assert NaiveBayesClassifier().fit(table, "y").n_rows_ == 4


def test_a_frame_of_sqlframe_that_narwhals_does_not_know_is_no_relation(monkeypatch):
    module = types.ModuleType("sqlframe.odd")
    monkeypatch.setitem(sys.modules, "sqlframe.odd", module)
    odd = type("Odd", (), {"__module__": "sqlframe.odd"})
    assert not is_relation(odd())
    assert not is_relation(odd)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT], ids=repr)
def test_a_missing_scalar_is_an_error_and_only_an_empty_sum_is_0(missing):
    with pytest.raises(ReadError, match="missing value where a number is required"):
        number_of(missing)
    assert sum_of(missing) == 0.0


@pytest.mark.parametrize("value", [2, 2.0, decimal.Decimal(2), np.int64(2)], ids=repr)
def test_a_scalar_of_any_engine_is_a_number(value):
    assert number_of(value) == sum_of(value) == 2.0
