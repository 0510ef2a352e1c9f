"""Models that are updated, merged, made to forget, and written as SQL by the command line."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest

import countwise

from .running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("changing")
    run("samples", "credit", "-o", "credit.csv", cwd=place)
    with (place / "credit.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    for name, part in (("first", rows[1:3001]), ("second", rows[3001:])):
        with (place / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([rows[0], *part])
    for name in ("credit", "first", "second"):
        run("train", f"{name}.csv", "-y", "Status", "-o", f"{name}.json", cwd=place)
    few = pd.read_csv(place / "second.csv")[:20]
    few[:0].to_csv(place / "empty.csv", index=False)
    few.assign(Home="castle").to_csv(place / "castle.csv", index=False)
    few.assign(Status="ugly", Extra=1).to_csv(place / "ugly.csv", index=False)
    few.assign(Age="old").to_csv(place / "old.csv", index=False)
    run("train", "first.csv", "-y", "Status", "--smoothing", "0", "-o", "raw.json", cwd=place)
    run("train", "first.csv", "-y", "Status", "--drop", "Age", "-o", "short.json", cwd=place)
    run("train", "old.csv", "-y", "Status", "-o", "named.json", cwd=place)
    return place


def same(one, other):
    return np.allclose(one.class_prior_, other.class_prior_) and all(
        np.allclose(one.tallies_[k].table, t.table) for k, t in other.tallies_.items() if hasattr(t, "axes")
    )


def test_updated_and_merged_models_are_those_of_all_rows(folder):
    whole = countwise.load(folder / "credit.json")
    told = run("update", "first.json", "second.csv", "-o", "updated.json", cwd=folder).stdout
    assert "Rows: 3000 → " in told
    assert "Largest changes:" in told
    assert "→" in told
    assert same(countwise.load(folder / "updated.json"), whole)
    told = run("merge", "first.json", "second.json", "-o", "merged.json", cwd=folder).stdout
    assert "Merged 2 models" in told
    assert same(countwise.load(folder / "merged.json"), whole)
    run("forget", "credit.json", "second.csv", "-o", "less.json", cwd=folder)
    assert same(countwise.load(folder / "less.json"), countwise.load(folder / "first.json"))


def test_a_pattern_stands_for_models_and_for_files(folder):
    told = run("merge", "[fs][ie]*.json", "-o", "pattern.json", cwd=folder).stdout
    assert "Merged 2 models with 4454 rows." in told
    assert same(countwise.load(folder / "pattern.json"), countwise.load(folder / "credit.json"))
    run("update", "first.json", "sec*.csv", "-o", "pattern.json", cwd=folder)
    assert same(countwise.load(folder / "pattern.json"), countwise.load(folder / "credit.json"))


def test_what_is_new_and_what_is_left_out_is_told(folder):
    done = run("update", "first.json", "ugly.csv", "castle.csv", "-o", "more.json", cwd=folder, check=1)
    assert "'ugly.csv' has 'Extra', but 'castle.csv' does not." in done.stderr
    done = run("update", "first.json", "ugly.csv", "-o", "more.json", cwd=folder)
    assert "Note: The model has no column 'Extra'; ignored." in done.stderr
    assert "  New class: ugly\n" in done.stdout
    assert "in ugly" not in done.stdout
    done = run("update", "more.json", "castle.csv", cwd=folder)
    assert "  Home: new values 'castle'\n" in done.stdout
    done = run("forget", "more.json", "ugly.csv", cwd=folder)
    assert "  No rows left of class ugly\n" in done.stdout
    assert "Rows: 3040 → 3020" in done.stdout


def test_categories_of_parquet_may_differ_between_models_that_are_merged(tmp_path):
    for name, values in (("a", ["x", "y"]), ("b", ["y", "z"])):
        rows = {"c": pd.Categorical(values * 20), "y": ["no", "yes"] * 20}
        pd.DataFrame(rows).to_parquet(tmp_path / f"{name}.parquet")
        run("train", f"{name}.parquet", "-y", "y", "-o", f"{name}.json", cwd=tmp_path)
    run("merge", "a.json", "b.json", "-o", "c.json", cwd=tmp_path)
    assert countwise.load(tmp_path / "c.json").schema_["c"].values == ("x", "y", "z")
    assert "c: new values 'z'" in run("update", "a.json", "b.parquet", cwd=tmp_path).stdout


def test_a_net_without_a_class_learns_more_rows(folder):
    args = ("--model", "net", "--drop", "Status", "--option", "missing=available")
    run("train", "first.csv", *args, "-o", "net.json", cwd=folder)
    assert "Rows: 3000 → 4454" in run("update", "net.json", "second.csv", cwd=folder).stdout


@pytest.mark.parametrize("form", ["join", "case"])
def test_a_query_scores_as_the_model_does(folder, form):
    query = run("sql", "credit.json", "--table", "credit", "--form", form, cwd=folder).stdout
    connection = duckdb.connect()
    connection.register("credit", pd.read_csv(folder / "credit.csv"))
    found = connection.sql(query).df()
    model = countwise.load(folder / "credit.json")
    want = model.predict_proba(countwise.read(folder / "credit.csv"))
    for j, c in enumerate(model.classes_):
        np.testing.assert_allclose(found[f"P({c})"].to_numpy(), want[:, j], atol=1e-9)
    assert not [name for name in found.columns if name.startswith("cw_")]


def test_a_tree_is_written_for_sqlite(folder):
    run(
        "train",
        "credit.csv",
        "-y",
        "Status",
        "-o",
        "tree.json",
        "--model",
        "tree",
        "--option",
        "max_depth=3",
        cwd=folder,
    )
    run("sql", "tree.json", "--table", "credit", "--dialect", "sqlite", "--no-proba", "-o", "tree.sql", cwd=folder)
    query = (folder / "tree.sql").read_text(encoding="utf-8").rstrip().removesuffix(";")
    with closing(sqlite3.connect(":memory:")) as connection:
        pd.read_csv(folder / "credit.csv").to_sql("credit", connection, index=False)
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        answers = [row[names.index("predicted Status")] for row in cursor.fetchall()]
    assert "is not estimated from counts" in run("update", "tree.json", "second.csv", cwd=folder, check=1).stderr
    model = countwise.load(folder / "tree.json")
    assert answers == model.predict(countwise.read(folder / "credit.csv")).tolist()


KEPT = ("Age", "Income", "Price", "Status")


@pytest.mark.parametrize("kind", ["discriminant", "tree", "rules"])
def test_every_kind_of_model_that_can_be_is_written_as_a_query(folder, kind):
    names = list(countwise.read(folder / "credit.csv"))
    settings = [x for name in names for x in ("--drop", name) if name not in KEPT] if kind == "discriminant" else []
    settings += ["--option", "max_depth=3"] if kind != "discriminant" else []
    run("train", "credit.csv", "-y", "Status", "-o", f"{kind}.json", "--model", kind, *settings, cwd=folder)
    run("sql", f"{kind}.json", "--table", "credit", "-o", f"{kind}.sql", cwd=folder)
    query = (folder / f"{kind}.sql").read_text(encoding="utf-8").rstrip().removesuffix(";")
    connection = duckdb.connect()
    connection.register("credit", pd.read_csv(folder / "credit.csv"))
    found = connection.sql(query).df()
    model = countwise.load(folder / f"{kind}.json")
    want = model.predict_proba(countwise.read(folder / "credit.csv"))
    np.testing.assert_allclose(found[[f"P({c})" for c in model.classes_]].to_numpy(), want, rtol=0, atol=1e-9)
    assert found["predicted Status"].tolist() == model.predict(countwise.read(folder / "credit.csv")).tolist()


@pytest.mark.filterwarnings("ignore:.* a single bin")
def test_cuts_are_written_as_a_query(folder):
    query = run("bin", "credit.csv", "-y", "Status", "--sql", "credit", "--dialect", "sqlite", cwd=folder).stdout
    table = countwise.read(folder / "credit.csv")
    with closing(sqlite3.connect(":memory:")) as connection:
        pd.read_csv(folder / "credit.csv").to_sql("credit", connection, index=False)
        found = pd.read_sql(query.rstrip().removesuffix(";"), connection)
    cutter = countwise.Discretizer(encode="labels").fit(table, "Status")
    want = cutter.transform({name: column for name, column in table.items() if name != "Status"})
    for name in cutter.edges_:
        assert [None if v != v else v for v in found[name]] == list(want[name])
    assert found["Status"].tolist() == list(table["Status"])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("neighbors", "is a nearest-neighbors model, which cannot be written as SQL. Hint: use countwise predict"),
        ("parzen", "cannot be computed by an engine or as SQL: Parzen"),
        ("network", "Hint: use countwise train --option structure=naive"),
    ],
)
def test_models_that_cannot_be_written_say_what_can(folder, kind, told):
    run("train", "first.csv", "-y", "Status", "-o", f"{kind}.json", "--model", kind, cwd=folder)
    done = run("sql", f"{kind}.json", "--table", "t", cwd=folder, check=1)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (
            ("bin", "first.csv", "-y", "Status", "--sql", "t", "--json"),
            2,
            "--sql cannot be combined with -o, --json or --explain",
        ),
        (("merge", "first.json", "-o", "x.json"), 2, "At least two"),
        (("merge", "first.json", "first.json", "-o", "first.json"), 1, "is an input file"),
        (("update", "none.json", "second.csv"), 1, "none.json"),
        (("update", "first.json", "none.csv"), 1, "does not exist"),
        (("update", "first.json", "secnd.csv"), 1, "did you mean 'second.csv'?"),
        (("update", "first.json", "second.csv", "s*.csv"), 1, "'second.csv' is given twice"),
        (("forget", "first.json", "empty.csv"), 1, "has no rows to forget"),
        (("forget", "first.json", "castle.csv"), 1, "'castle' in row 0, but its domain is"),
        (("forget", "first.json", "castle.csv"), 1, "Hint: remove rows with this value"),
        (("merge", "first.json", "first.json", "-o", "x.json"), 1, "is given twice"),
        (("merge", "first.json", "raw.json", "-o", "x.json"), 1, "trained with different settings: 'smoothing'"),
        (("merge", "first.json", "short.json", "-o", "x.json"), 1, "short.json was trained without 'Age'"),
        (("merge", "first.json", "named.json", "-o", "x.json"), 1, "'Age' is numeric in first.json and nominal in"),
        (("merge", "none*.json", "-o", "x.json"), 1, "No file matches"),
        (("sql", "first.json"), 2, "Missing option '--table'"),
        (("sql", "first.json", "--table", "t", "--dialect", "oracle"), 2, "oracle"),
        (("forget", "first.json", "credit.csv"), 1, "the model was not trained on"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, args, code, told):
    done = run(*args, cwd=folder, check=code)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
