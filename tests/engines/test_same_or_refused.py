"""What memory refuses an engine refuses too, and what an engine cannot compare it refuses in words."""

from __future__ import annotations

import datetime
import sqlite3
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from countwise import DiscriminantClassifier, NaiveBayesClassifier, RuleClassifier, TreeClassifier
from countwise.errors import CountwiseError, RowsRefused, SchemaError

from .quiet import QUIET

pytestmark = QUIET
Y = list("aabbab") * 4
ENGINES = {"DuckDB": lambda table: duckdb.from_arrow(pa.table(table)), "lazy": pl.LazyFrame}
TEMPORAL = {
    "days": [datetime.date(2020, 1, d) for d in (1, 2, 3)] * 8,
    "times": [datetime.datetime(2020, 1, d) for d in (1, 2, 3)] * 8,
    "times of day": [datetime.time(h) for h in (1, 2, 3)] * 8,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cells", TEMPORAL)
@pytest.mark.parametrize(
    "make",
    [
        lambda **more: TreeClassifier(thresholds="binned", **more),
        lambda **more: DiscriminantClassifier(nominal="onehot", **more),
    ],
    ids=["tree", "discriminant"],
)
def test_dates_declared_nominal_are_refused_in_words(engine: str, cells: str, make: Any) -> None:
    table = {"v": TEMPORAL[cells], "z": [float(i * 7 % 5) for i in range(24)], "y": Y}
    with pytest.raises(RowsRefused, match="convert the column to strings"):
        make(types={"v": "nominal"}).fit(ENGINES[engine](table), "y")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tree_compares_numbers_that_are_declared_nominal(engine: str) -> None:
    table = {"v": [1.0, 2.0, 3.0] * 8, "y": Y}
    one = TreeClassifier(types={"v": "nominal"}).fit(table, "y")
    two = TreeClassifier(types={"v": "nominal"}).fit(ENGINES[engine](table), "y")
    asked = {"v": [1.0, 2.0, 3.0, 4.0]}
    np.testing.assert_allclose(two.predict_proba(asked), one.predict_proba(asked), atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cells", [[0.0, 0.1, 1.0], [-1, 0, 1], [-0.5, 2.0, 3.0]])
def test_counts_must_be_counts_in_an_engine_too(engine: str, cells: list[float]) -> None:
    table = {"v": cells * 8, "y": Y}
    for given in (table, ENGINES[engine](table)):
        with pytest.raises(SchemaError, match="a count"):
            NaiveBayesClassifier(types={"v": "count"}).fit(given, "y")


@pytest.mark.parametrize(
    "make", [NaiveBayesClassifier, lambda: NaiveBayesClassifier("mdl"), TreeClassifier, RuleClassifier]
)
def test_queries_read_times_of_day_as_seconds(make: Any) -> None:
    times = [datetime.time(i % 24, i, i, 1000 * i * (i % 2)) for i in range(40)]
    frame = pd.DataFrame({"t": times})
    model = make().fit(frame, ["p" if time.hour < 10 else "q" for time in times])
    wanted = model.predict_proba(frame)
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE r (t TEXT)")
    base.executemany("INSERT INTO r VALUES (?)", [(time.isoformat(),) for time in times])
    found = np.array([row[-2:] for row in base.execute(model.to_sql("r", "sqlite"))], dtype=float)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    duck = duckdb.connect()
    duck.execute("CREATE TABLE r AS SELECT * FROM frame")
    found = np.array([row[-2:] for row in duck.execute(model.to_sql("r")).fetchall()], dtype=float)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_text_that_only_looks_like_a_time_is_missing_in_sqlite() -> None:
    model = NaiveBayesClassifier().fit({"t": [1.0, 2.0, 3.0, 4.0]}, list("aabb"))
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE r (t TEXT)")
    odd = ["01:02", "1:02:03", "31:02:03", "01:62:03", "a 01:02:03", ""]
    base.executemany("INSERT INTO r VALUES (?)", [(text,) for text in odd])
    found = np.array([row[-2:] for row in base.execute(model.to_sql("r", "sqlite"))][:4], dtype=float)
    np.testing.assert_allclose(found, 0.5)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_count_is_missing_in_an_engine_too(engine: str) -> None:
    table = {"v": [0.0, float("nan"), 2.0, None, 1.0, 3.0] * 4, "y": Y}
    one = NaiveBayesClassifier(types={"v": "count"}).fit(table, "y")
    two = NaiveBayesClassifier(types={"v": "count"}).fit(ENGINES[engine](table), "y")
    asked = {"v": [0.0, 1.0, 2.0, None]}
    np.testing.assert_allclose(two.predict_proba(asked), one.predict_proba(asked), atol=1e-12)


@pytest.mark.parametrize("text", ["３", "٣", "1_000", "\u00a03"])
def test_digits_of_other_scripts_are_no_numbers_in_memory_either(text: str) -> None:
    with pytest.raises(CountwiseError, match="is not a number"):
        NaiveBayesClassifier(types={"t": "numeric"}).fit({"t": ["1", text, "2", "3"]}, list("aabb"))
