"""A query reads the columns it was written for, whatever other columns, names and tables there are."""

from __future__ import annotations

import datetime
import re
import sqlite3

import numpy as np
import pyarrow as pa
import pytest

from countwise import (
    BayesNetworkClassifier,
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    RuleClassifier,
    TreeClassifier,
)
from countwise.errors import CountwiseError, OptionError, TableError

from .databases import SQLite
from .odd import compare
from .quiet import QUIET

pytestmark = QUIET
MODELS = {
    "naive Bayes": NaiveBayesClassifier(),
    "naive Bayes, many columns": NaiveBayesClassifier(missing="value"),
    "tree": TreeClassifier(max_depth=3),
    "rules": RuleClassifier(simplify=None),
    "discriminant": DiscriminantClassifier("own", nominal="onehot"),
    "network": BayesNetworkClassifier("naive"),
}


def rows_of(names=("a", "b"), n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    cells = {
        name: rng.normal(size=n) + y if i % 2 == 0 else rng.choice(list("uvw"), n) for i, name in enumerate(names)
    }
    return cells, np.where(y, "p", "q")


def fitted(kind, names=("a", "b"), seed=0):
    cells, y = rows_of(names, seed=seed)
    return MODELS[kind].fit({**cells, "y": y}, "y"), cells


@pytest.mark.parametrize("kind", MODELS)
def test_the_columns_of_the_table_may_have_the_names_of_the_query(quick_database, kind):
    check_own_names(quick_database, kind)


def test_the_columns_of_a_table_in_spark_may_have_the_names_of_the_query(spark):
    from .databases import Spark

    check_own_names(Spark(spark), "naive Bayes, many columns")


def check_own_names(database, kind):
    """Whatever the query calls anything, the table has it too; also as a column of the model."""
    model, cells = fitted(kind)
    query = model.to_sql("t", database.dialect)
    own = set(re.findall(r'(?:AS |")([A-Za-z_][\w ]*)', query)) | set(re.findall(r"`([^`]*)`", query))
    others = {name: np.full(40, 7.5) for name in sorted(own) if name.lower() not in ("no", "a", "b", "predicted y")}
    assert "cw_row" in others
    rows = database.rows(pa.table({"no": range(40), **others, **cells}), "t", query)
    compare(model, cells, rows)
    for name in ("cw_row", "cw_l0"):
        model, cells = fitted(kind, (name, "b"))
        rows = database.rows(pa.table({"no": range(40), **others, **cells}), "t", model.to_sql("t", database.dialect))
        compare(model, cells, rows)


@pytest.mark.parametrize("kind", ["naive Bayes", "tree", "rules"])
def test_a_table_that_was_scored_before_is_scored_anew(database, kind):
    first, cells = fitted(kind)
    before = database.rows(pa.table({"no": range(40), **cells}), "t", first.to_sql("t", database.dialect))
    scored = {name: [row[name] for row in before] for name in before[0]}
    assert [name for name in scored if name not in ("no", "a", "b")] == ["predicted y", "P(p)", "P(q)"]
    second, _ = fitted(kind, seed=5)
    cells, _ = rows_of()
    compare(second, cells, database.rows(pa.table(scored), "t", second.to_sql("t", database.dialect)))


def test_sqlite_distinguishes_rows_though_a_column_has_the_name_of_the_row_id():
    model, cells = fitted("tree")
    for name in ("rowid", "oid", "_rowid_"):
        other = {name: [None, *[1] * 39]}
        compare(
            model,
            cells,
            SQLite().rows(pa.table({"no": range(40), **other, **cells}), "t", model.to_sql("t", "sqlite")),
        )


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "spark"])
def test_names_that_differ_by_case_are_refused_where_case_is_ignored(dialect, kind):
    model, _ = fitted(kind, ("a", "b", "A"))
    if kind in ("tree", "rules") and "A" not in str(model.to_sql("t", "postgres")):
        return
    with pytest.raises(OptionError, match=r"cannot distinguish '[aA]' and '[aA]'") as caught:
        model.to_sql("t", dialect)
    assert caught.value.hint


def test_a_column_is_not_mistaken_for_another_one_that_the_model_does_not_read():
    x = np.arange(40.0)
    model = TreeClassifier(max_depth=1).fit({"a": np.zeros(40), "A": x, "y": np.where(x < 20, "p", "q")}, "y")
    with pytest.raises(OptionError, match="cannot distinguish"):
        model.to_sql("t")
    assert model.to_sql("t", "postgres")


def test_postgres_distinguishes_case(postgres):
    model, cells = fitted("naive Bayes", ("a", "b", "A", "B"))
    compare(model, cells, postgres.rows(pa.table({"no": range(40), **cells}), "t", model.to_sql("t", "postgres")))


def test_names_that_postgres_truncates_to_the_same_are_refused():
    long = "n" * 62
    for names in ((long + "ü1", "b", long + "ü2"), (long + "12", "b", long + "13")):
        model, _ = fitted("naive Bayes", names)
        with pytest.raises(OptionError, match="truncates names to 63 bytes"):
            model.to_sql("t", "postgres")
        assert model.to_sql("t", "duckdb")
    cells, y = rows_of()
    classes = NaiveBayesClassifier().fit({**cells, "y": np.where(y == "p", long + "1", long + "2")}, "y")
    with pytest.raises(OptionError, match="truncates"):
        classes.to_sql("t", "postgres")
    assert classes.to_sql("t", "postgres", proba=False)


@pytest.mark.parametrize("model", [NaiveBayesClassifier(), TreeClassifier(), RuleClassifier("one_r")])
def test_classes_that_differ_by_case_only_are_refused(model):
    cells, y = rows_of()
    model.fit({**cells, "y": np.where(y == "p", "yes", "YES")}, "y")
    for dialect in ("duckdb", "sqlite", "spark"):
        with pytest.raises(OptionError, match=r"cannot distinguish 'P\(YES\)' and 'P\(yes\)'"):
            model.to_sql("t", dialect)
        assert model.to_sql("t", dialect, proba=False)
    assert model.to_sql("t", "postgres")


@pytest.mark.parametrize("name", ["P(p)", "predicted y"])
def test_a_model_does_not_read_a_column_of_its_result(name):
    model, _ = fitted("naive Bayes", (name, "b"))
    for dialect in ("duckdb", "sqlite", "spark", "postgres"):
        with pytest.raises(OptionError, match="would have two columns"):
            model.to_sql("t", dialect)


def test_a_table_with_the_name_of_a_step_is_refused_unless_it_is_qualified():
    model, cells = fitted("naive Bayes")
    for name in ("cw_rows", "CW_CELLS", "cw_t0", "cw_sums"):
        with pytest.raises(OptionError, match="one of its own steps has this name"):
            model.to_sql(name, "sqlite")
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE cw_sums (no INTEGER, a REAL, b TEXT)")
        base.executemany(
            "INSERT INTO cw_sums VALUES (?, ?, ?)",
            zip(range(40), cells["a"].tolist(), cells["b"].tolist(), strict=True),
        )
        found = base.execute(model.to_sql("main.cw_sums", "sqlite")).fetchall()
    base.close()
    np.testing.assert_allclose([row[-2:] for row in found], model.predict_proba(cells), atol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "spark", "postgres"])
@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_query_can_have_is_refused(dialect, text):
    cells, y = rows_of()
    y_with = np.where(y == "p", text, "v").astype(object)
    for given in ({text: cells["a"], "y": y}, {"b": y_with, "y": y}, {"a": cells["a"], "y": y_with}):
        try:
            model = NaiveBayesClassifier().fit(given, "y")
        except CountwiseError:
            continue
        with pytest.raises(OptionError, match="cannot be"):
            model.to_sql("t", dialect)


def test_more_columns_than_a_database_accepts_are_refused():
    rng = np.random.default_rng(0)
    tree = TreeClassifier().fit({"x": rng.normal(size=5000), "z": rng.normal(size=5000)}, rng.integers(0, 2, 5000))
    with pytest.raises(OptionError, match="at most 1664"):
        tree.to_sql("t", "postgres")
    assert tree.to_sql("t", "postgres", missing=False)


def test_a_discretizer_refuses_columns_that_differ_by_case():
    cutter = Discretizer("equal_frequency", n_bins=2).fit({"a": [-1.0, 1.0], "A": [2.0, 3.0]})
    with pytest.raises(OptionError, match="cannot distinguish 'a' and 'A'"):
        cutter.to_sql("t")
    assert cutter.to_sql("t", "postgres")


def test_an_engine_that_ignores_case_refuses_what_it_would_mistake():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    model, cells = fitted("naive Bayes")
    base = duckdb.connect()
    for name, why in (("CW_L0", "reserved prefix"), ("p(P)", "column of the result"), ("*", "several columns")):
        base.register("seen", pa.table({**cells, name: range(40)}))
        with pytest.raises(TableError, match=why):
            model.predict_frame(base.sql("SELECT * FROM seen"))
    base.close()


def test_many_classes_are_within_the_limits_of_sqlite():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(120), 2)
    cells = {"x": rng.normal(size=240) + y}
    model = NaiveBayesClassifier({"x": "gaussian"}).fit({**cells, "y": y}, "y")
    asked = {name: column[:9] for name, column in cells.items()}
    compare(model, asked, SQLite().rows(pa.table({"no": range(9), **asked}), "t", model.to_sql("t", "sqlite")))


def test_dates_are_scored_as_they_were_learned_whatever_type_the_column_has(database):
    after = np.random.default_rng(0).integers(0, 300, 40).tolist()
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=d) for d in after]
    y = ["a" if day.month < 6 else "b" for day in days]
    times = [datetime.datetime(day.year, day.month, day.day) for day in days]
    stored = {
        "date": pa.array(days), "time": pa.array(times, pa.timestamp("us")),
        "time with a time zone": pa.array(times, pa.timestamp("us", "UTC")),
        "text": pa.array([str(day) for day in days]),
        "text with an offset": pa.array([f"{t.isoformat()}+00:00" for t in times]),
        "seconds": pa.array([(t - datetime.datetime(1970, 1, 1)).total_seconds() for t in times]),
    }  # fmt: skip
    for model in (NaiveBayesClassifier(), TreeClassifier(max_depth=2)):
        model.fit(pa.table({"d": days, "y": y}), "y")
        query = model.to_sql("t", database.dialect)
        for column in stored.values():
            rows = database.rows(pa.table({"no": range(40), "d": column}), "t", query)
            compare(model, pa.table({"d": days}), rows)


TEXTS = [
    "", " ", "abc", " 5 ", "1e3", "5 apples", "0x10", "1,5", "5d", ".5", "5.", "+5", "--5", "5e", "-0", "\t7\n",
    "NULL", "true", "-1E-2",
]  # fmt: skip


def test_text_that_is_not_a_number_is_missing(database):
    x = np.linspace(0, 1500, 60)
    want = [
        None if re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", t) is None else float(t) for t in TEXTS
    ]
    asked = {"x": np.array(want, dtype=float)}
    for model in (NaiveBayesClassifier("gaussian", missing="value"), TreeClassifier(max_depth=3, missing="branch")):
        model.fit(
            {
                "x": np.where(np.arange(60) % 5 == 0, np.nan, x),
                "y": np.where((x > 4) & (x < 6) | (x > 900), "p", "q"),
            },
            "y",
        )
        table = pa.table({"no": range(len(TEXTS)), "x": TEXTS})
        compare(model, asked, database.rows(table, "t", model.to_sql("t", database.dialect)))


def test_a_table_without_row_ids_raises_an_error_in_sqlite_rather_than_a_wrong_answer():
    model, _ = fitted("tree")
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (a REAL, b TEXT)")
    base.execute("INSERT INTO t VALUES (1.0, 'u'), (2.0, 'v')")
    base.execute("CREATE VIEW v AS SELECT * FROM t")
    assert len(base.execute(model.to_sql("t", "sqlite")).fetchall()) == 2
    base.execute("CREATE TABLE hidden (a REAL, b TEXT, rowid INTEGER, oid INTEGER, _rowid_ INTEGER)")
    base.execute("INSERT INTO hidden VALUES (1.0, 'u', 1, 1, 1), (2.0, 'v', 1, 1, 1)")
    for name in ("v", "hidden"):
        with pytest.raises(sqlite3.OperationalError, match=r"no such column|no row ids"):
            base.execute(model.to_sql(name, "sqlite")).fetchall()
    base.close()
