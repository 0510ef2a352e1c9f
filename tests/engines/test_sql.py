"""Queries that need no Python answer what the model answers, in every database, whatever the table holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from countwise import (
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    ParzenClassifier,
    PrototypeClassifier,
    RuleClassifier,
    TreeClassifier,
    TreeRegressor,
)
from countwise.errors import OptionError
from countwise.scoring.sql.dialects import Dialect

from .odd import FEW, FORMS, MODELS, NAMES, compare, fitted, odd_table
from .quiet import QUIET

pytestmark = QUIET


@pytest.mark.parametrize("kind", FEW)
def test_a_query_answers_as_the_model_does(database, kind):
    check_query(database, kind)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in FEW])
def test_a_query_answers_as_every_model_does(quick_database, kind):
    check_query(quick_database, kind)


def check_query(database, kind):
    model, asked, memory = fitted(kind)
    for form in ("join", "case") if kind in FORMS else (None,):
        settings = {} if form is None else {"form": form}
        query = model.to_sql("odd 'table\"", database.dialect, **settings) if database.dialect != "spark" else (
            model.to_sql("odd_table", "spark", **settings))  # fmt: skip
        rows = database.rows(asked, "odd_table" if database.dialect == "spark" else "odd 'table\"", query)
        assert len(rows) == len(memory)
        if database.dialect != "sqlite":
            assert not [name for name in rows[0] if name.startswith("cw")]
        compare(model, memory, rows)


@pytest.mark.parametrize("kind", ["naive Bayes", "own covariances", "tree, parts of rows", "rules"])
def test_the_class_alone(quick_database, kind):
    model, asked, memory = fitted(kind)
    rows = quick_database.rows(asked, "odd", model.to_sql("odd", quick_database.dialect, proba=False))
    assert [row["predicted y"] for row in rows] == model.predict(memory).tolist()
    assert not [name for name in rows[0] if name.startswith("P(")]


def test_rows_that_no_class_could_have_made_get_the_prior(database):
    """Of two classes that cannot be, none wins because fewer of its factors are 0."""
    rows = {"a": list("uuvvuu"), "b": list("ppqqpp"), "n": [0.0, 0.0, 3.0, 2.0, 0.0, 1.0], "y": list("001122")}
    for distributions in ({"n": "poisson"}, {"n": "gaussian"}):
        model = NaiveBayesClassifier(distributions, smoothing=0, prior=[0.2, 0.5, 0.3]).fit(rows, "y")
        asked = {
            "no": list(range(6)), "a": ["u", "v", "u", None, "w", "u"], "b": ["q", "p", "q", "p", "q", "p"],
            "n": [0.0, 0.0, 5.0, None, 1.0, 1e200 if database.dialect != "postgres" else 1e90],
        }  # fmt: skip
        found = database.rows(pa.table(asked), "odd", model.to_sql("odd", database.dialect))
        memory = {name: np.array(asked[name], dtype=object if name != "n" else float) for name in "abn"}
        compare(model, memory, found)
    assert found[0]["P(1)"] == pytest.approx(0.5)
    assert found[0]["predicted y"] == "1"


def test_numbers_whose_squares_are_infinite_leave_the_prior(quick_database):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 90)
    names = [f"c{j}" for j in range(8)]
    model = NaiveBayesClassifier().fit({**{n: rng.normal(size=90) + y for n in names}, "y": y}, "y")
    far = 1e200 if quick_database.dialect != "postgres" else 1e90
    asked = {n: np.array([0.5, far, -far, np.nan, 0.1]) for n in names[:1]} | {n: np.full(5, 0.3) for n in names[1:]}
    cells = {n: pa.array(column, from_pandas=True) for n, column in asked.items()}
    rows = quick_database.rows(
        pa.table({"no": range(5), **cells}), "far", model.to_sql("far", quick_database.dialect)
    )
    compare(model, asked, rows)
    if far == 1e200:
        assert [rows[1][f"P({c})"] for c in model.classes_] == pytest.approx(model.class_prior_.tolist())


def test_counts_below_zero_and_numbers_far_out_are_impossible_alike(quick_database):
    rng = np.random.default_rng(2)
    frame = {"n": rng.poisson(2, 60).astype(float), "m": np.zeros(60), "y": np.repeat(["p", "q"], 30)}
    model = NaiveBayesClassifier({"n": "poisson", "m": "poisson"}, smoothing=0).fit(frame, "y")
    asked = {"no": [0, 1, 2], "n": [-1.0, 2.5, None], "m": [0.0, 4.0, None]}
    rows = quick_database.rows(pa.table(asked), "odd", model.to_sql("odd", quick_database.dialect))
    compare(model, {name: np.array(asked[name], dtype=float) for name in "nm"}, rows)


def test_gaps_of_discriminants_are_integrated_out_whatever_is_missing(database):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + y[:, None] + [0, 1e9, -1e6, 5]
    every = np.array([[x if m >> j & 1 else np.nan for j, x in enumerate(X[m])] for m in range(16)])
    names = [f"c{j}" for j in range(4)]
    for covariance in ("shared", "own"):
        model = DiscriminantClassifier(covariance).fit({**dict(zip(names, X.T, strict=True)), "y": y}, "y")
        asked = pa.table(
            {"no": range(16), **{n: pa.array(c, from_pandas=True) for n, c in zip(names, every.T, strict=True)}}
        )
        rows = database.rows(asked, "gaps", model.to_sql("gaps", database.dialect))
        compare(model, dict(zip(names, every.T, strict=True)), rows)


def test_of_many_columns_rows_with_few_gaps_are_answered_and_others_left_open(quick_database):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 12)) + y[:, None] * 0.3
    names = [f"c{j}" for j in range(12)]
    X[:40, 5:] = np.nan  # a pattern that is met in training
    for covariance in ("shared", "own"):
        model = DiscriminantClassifier(covariance).fit({**dict(zip(names, X.T, strict=True)), "y": y}, "y")
        asked = X[35:80].copy()
        asked[10, 3] = np.nan
        asked[11, :] = np.nan
        asked[12, [0, 2, 4, 6, 8]] = np.nan
        columns = {n: pa.array(c, from_pandas=True) for n, c in zip(names, asked.T, strict=True)}
        query = model.to_sql("gaps", quick_database.dialect)
        rows = quick_database.rows(pa.table({"no": range(len(asked)), **columns}), "gaps", query)
        assert rows[12]["predicted y"] is None
        assert rows[12]["P(0)"] is None
        kept = [i for i in range(len(asked)) if i != 12]
        compare(model, dict(zip(names, asked[kept].T, strict=True)), [rows[i] for i in kept])


def test_numbers_of_trees_are_told_alike(quick_database):
    trained, asked = odd_table(), odd_table(seed=1, new=True)
    names = [n for n in trained.column_names if n not in ("no", "y", "far")]
    far = np.nan_to_num(np.array(trained["far"].to_pandas()), nan=1e9)
    for missing in ("fractions", "branch"):
        model = TreeRegressor(types=NAMES, max_depth=4, missing=missing).fit(trained.select(names).to_pandas(), far)
        rows = quick_database.rows(asked, "odd", model.to_sql("odd", quick_database.dialect))
        found = [row[f"predicted {model.target_.name}"] for row in rows]
        np.testing.assert_allclose(found, model.predict(asked.select(names).to_pandas()), rtol=1e-12)


@pytest.mark.parametrize("encode", ["labels", "codes", "onehot"])
def test_numbers_are_cut_alike(database, encode):
    trained, asked = odd_table(), odd_table(seed=1, new=True)
    columns = ["SELECT", "x; --", "far", "count"]  # Postgres would cut off longer names
    for missing in ("keep", "zeros") if encode == "onehot" else ("keep",):
        cutter = Discretizer("equal_frequency", n_bins=4, encode=encode, missing=missing)
        cutter.fit(trained.select(columns).to_pandas())
        rows = database.rows(asked, "odd", cutter.to_sql("odd", database.dialect, keep=["no"]))
        want = cutter.transform(asked.select(columns).to_pandas())
        assert [name for name in rows[0] if name != "no"] == list(want.columns)
        for name in want.columns:
            cells = [None if v != v or v is None else v for v in want[name].astype(object)]
            assert [row[name] for row in rows] == cells


def test_classes_keep_their_types(quick_database):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    for classes in ([-2, 7], [False, True], ["1", "2"]):
        y = np.array([classes[0]] * 2 + [classes[1]] * 2)
        for model in (NaiveBayesClassifier(), TreeClassifier(), RuleClassifier("one_r", n=1)):
            query = model.fit({"x": x, "y": y}, "y").to_sql("t", quick_database.dialect)
            rows = quick_database.rows(pa.table({"no": range(4), "x": x}), "t", query)
            assert [row["predicted y"] for row in rows] == model.predict({"x": x}).tolist()


def test_case_is_not_folded_by_a_column_that_folds_it(postgres):
    model = NaiveBayesClassifier().fit({"k": ["a", "A", "b", "B"] * 3, "y": ["p", "q", "q", "p"] * 3}, "y")
    for base, make in (
        ("sqlite", 'CREATE TABLE t (no INTEGER, "k" TEXT COLLATE NOCASE)'),
        ("duckdb", 'CREATE TABLE t (no INTEGER, "k" VARCHAR COLLATE NOCASE)'),
    ):
        import sqlite3

        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() if base == "duckdb" else sqlite3.connect(":memory:") as connection:
            connection.execute(make)
            connection.execute("INSERT INTO t VALUES (0, 'a'), (1, 'A'), (2, 'B')")
            query = f'SELECT "predicted y" FROM ({model.to_sql("t", base)}) ORDER BY no'
            assert [row[0] for row in connection.execute(query).fetchall()] == ["p", "q", "p"]
        if base == "sqlite":
            connection.close()
    postgres._psql("DROP TABLE IF EXISTS t; DROP COLLATION IF EXISTS folded; CREATE COLLATION folded "
                   "(provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
                   'CREATE TABLE t (no INTEGER, "k" TEXT COLLATE folded);'
                   "INSERT INTO t VALUES (0, 'a'), (1, 'A'), (2, 'B');")  # fmt: skip
    query = f'SELECT "predicted y" FROM ({model.to_sql("t", "postgres")}) AS q ORDER BY no;'
    assert postgres._psql(query).split() == ["p", "q", "p"]


@pytest.mark.parametrize(
    ("name", "dialect", "written"),
    [
        ("days", "duckdb", '"days"'),
        ("main.days", "postgres", '"main"."days"'),
        ('"v1.0".days', "spark", "`v1.0`.`days`"),
        ('a"b', "sqlite", '"a""b"'),
        ('"a""b.c"', "sqlite", '"a""b.c"'),
        ('"a', "duckdb", '"""a"'),
        ("x; DROP TABLE y", "duckdb", '"x; DROP TABLE y"'),
    ],
)
def test_names_of_tables_are_quoted(name, dialect, written):
    assert Dialect(dialect).table(name) == written


def test_what_cannot_be_written_is_told():
    frame = {"x": [1.0, 2.0, 3.0, 4.0], "t": ["a b", "b", "c", "a"], "y": list("ppqq")}
    bayes, texts = NaiveBayesClassifier().fit(frame, "y"), {"t": ["win now", "win", "hi", "hi you"], "y": frame["y"]}
    for work, told in (
        (lambda: bayes.to_sql("t", "oracle"), "SQL dialect 'oracle' is not supported"),
        (lambda: bayes.to_sql("t", form="table"), "form must be 'join' or 'case', not 'table'"),
        (lambda: bayes.to_sql(""), "is not a valid table name"),
        (lambda: bayes.to_sql("a..b"), "is not a valid table name"),
        (lambda: bayes.to_sql("a\0b"), "cannot be the name"),
        (
            lambda: NaiveBayesClassifier({"x": "kernel"}).fit(frame, "y").to_sql("t"),
            "cannot be computed by an engine or as SQL",
        ),
        (
            lambda: ParzenClassifier().fit(frame, "y").to_sql("t"),
            "The joint distribution of .* cannot be computed by an engine or as SQL: Parzen",
        ),
        (lambda: PrototypeClassifier().fit({"x": frame["x"], "y": frame["y"]}, "y").to_sql("t"), "by an engine"),
        (lambda: TreeClassifier(types={"t": "text"}).fit(texts, "y").to_sql("t"), "words of a text"),
    ):
        with pytest.raises(OptionError, match=told) as caught:
            work()
        assert caught.value.hint
        assert "\n" not in str(caught.value)
    with pytest.raises(NotFittedError):
        NaiveBayesClassifier().to_sql("t")


def test_very_wide_tables_are_not_too_deep(quick_database):
    rng = np.random.default_rng(9)
    n, wide = 60, 150
    y = rng.integers(0, 2, n)
    cells = {f"k{j}": [f"v{i}" for i in (rng.integers(0, 4, n) + y) % 5] for j in range(wide)}
    model = NaiveBayesClassifier().fit({**cells, "y": y}, "y")
    rows = quick_database.rows(
        pa.table({"no": range(n), **cells}), "wide", model.to_sql("wide", quick_database.dialect)
    )
    compare(model, cells, rows)


def test_a_tree_of_many_leaves_is_not_too_deep(quick_database):
    rng = np.random.default_rng(10)
    n = 3000
    X = {"x": rng.normal(size=n), "z": rng.normal(size=n), "k": rng.choice(list("abc"), n)}
    model = TreeClassifier(max_depth=30).fit(X, rng.integers(0, 2, n))
    assert model.get_n_leaves() > 200, model.get_n_leaves()
    asked = {name: np.where(rng.random(40) < 0.3, np.nan, rng.normal(size=40)) for name in "xz"}
    asked |= {"k": rng.choice(["a", "b", "never"], 40)}
    table = pa.table({"no": range(40), **{n: pa.array(c, from_pandas=True) for n, c in asked.items()}})
    compare(model, asked, quick_database.rows(table, "t", model.to_sql("t", quick_database.dialect)))
    plain = TreeClassifier(max_depth=30, missing="majority").fit(X, rng.integers(0, 2, n))
    compare(plain, asked, quick_database.rows(table, "t", plain.to_sql("t", quick_database.dialect)))
