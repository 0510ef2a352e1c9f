"""Trees as SQL, run by two databases: they answer what the tree answers."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from countwise import Nominal, Ordinal, TreeClassifier, TreeRegressor, samples
from countwise.errors import OptionError

MISSING = ("fractions", "branch", "majority")
NOMINAL = ("multiway", "one_vs_rest", "subset")
HOSTILE = ('he said "no"', "a; DROP TABLE rows; --", "it's\nnew\tline", "select", "ü & <b>", "x")
Cells = dict[str, list[Any]]
Engine = Callable[[Cells, str], list[tuple[Any, ...]]]


def cells_of(X: Any) -> Cells:
    """Columns as lists, gaps as None."""

    def cell(v: Any) -> Any:
        v = v.item() if isinstance(v, np.generic) else v
        return None if v is None or (isinstance(v, float) and np.isnan(v)) else v

    return {name: [cell(v) for v in column] for name, column in X.items()}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_sqlite(table: Cells, expressions: str) -> list[tuple[Any, ...]]:
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE cells (no INTEGER, {', '.join(map(quoted, table))})")
    rows = [(i, *row) for i, row in enumerate(zip(*table.values(), strict=True))]
    base.executemany(f"INSERT INTO cells VALUES ({', '.join('?' * (len(table) + 1))})", rows)
    found = base.execute(f"SELECT {expressions} FROM cells ORDER BY no").fetchall()
    base.close()
    return found


def in_duckdb(table: Cells, expressions: str) -> list[tuple[Any, ...]]:
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    n = len(next(iter(table.values())))
    base = duckdb.connect(":memory:")
    base.register("cells", pa.table({"no": list(range(n)), **table}))
    found = base.execute(f"SELECT {expressions} FROM cells ORDER BY no").fetchall()
    base.close()
    return found


ENGINES = {"sqlite": in_sqlite, "duckdb": in_duckdb}
DIALECTS = {work: name for name, work in ENGINES.items()}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def answers(found: list[tuple[Any, ...]]) -> list[Any]:
    assert all(len(row) == 1 for row in found)
    return [row[0] for row in found]


def check(model: Any, X: Any, engine: Engine) -> None:
    """Everything that SQL can be asked for equals what the tree says of rows that may have gaps."""
    table = cells_of(X)
    found = answers(engine(table, model.to_sql(dialect=DIALECTS[engine])))
    if isinstance(model, TreeRegressor):
        assert_allclose(np.array(found, dtype=float), model.predict(X), rtol=1e-9, atol=1e-9)
        return
    assert found == model.predict(X).tolist()
    shares = engine(table, model.to_sql(dialect=DIALECTS[engine], proba=True))
    assert_allclose(np.array(shares, dtype=float), model.predict_proba(X), rtol=0, atol=1e-9)


def check_without_gaps(model: Any, X: Any, engine: Engine) -> None:
    """The short form, for rows that lack nothing and hold nothing new."""
    table = cells_of(X)
    assert not any(cell is None for column in table.values() for cell in column)
    found = answers(engine(table, model.to_sql(dialect=DIALECTS[engine], missing=False)))
    if isinstance(model, TreeRegressor):
        assert_allclose(np.array(found, dtype=float), model.predict(X), rtol=1e-9, atol=1e-9)
        return
    assert found == model.predict(X).tolist()
    shares = engine(table, model.to_sql(dialect=DIALECTS[engine], proba=True, missing=False))
    assert_allclose(np.array(shares, dtype=float), model.predict_proba(X), rtol=0, atol=1e-9)


def whole_rows(X: Any) -> Any:
    table = cells_of(X)
    good = [i for i, row in enumerate(zip(*table.values(), strict=True)) if None not in row]
    return {name: np.asarray(column)[good] for name, column in X.items()}


@engines
@pytest.mark.parametrize(("missing", "nominal"), list(zip(MISSING, reversed(NOMINAL), strict=True)))
def test_penguins_are_told_alike(engine, missing, nominal):
    sample = samples.load("penguins")
    model = TreeClassifier("gini", nominal=nominal, missing=missing, min_samples_leaf=3).fit(sample.X, sample.y)
    assert model.get_n_leaves() > 5
    check(model, sample.X, engine)
    check_without_gaps(model, whole_rows(sample.X), engine)


@engines
@pytest.mark.parametrize(("missing", "nominal"), list(zip(MISSING, NOMINAL, strict=True)))
def test_credit_is_told_alike(engine, missing, nominal):
    sample = samples.load("credit")
    model = TreeClassifier("gain_ratio", nominal=nominal, missing=missing, max_depth=4, smoothing="laplace")
    model.fit(sample.X, sample.y)
    assert model.get_n_leaves() > 8
    check(model, sample.X, engine)
    check_without_gaps(model, whole_rows(sample.X), engine)


@engines
@pytest.mark.parametrize("missing", MISSING)
def test_the_weight_of_penguins_is_told_alike(engine, missing):
    sample = samples.load("penguins")
    X = {name: column for name, column in sample.frame.items() if name != "body_mass_g"}
    good = ~np.isnan(sample.frame["body_mass_g"])
    model = TreeRegressor(missing=missing, max_depth=4, nominal="subset")
    model.fit({name: column[good] for name, column in X.items()}, sample.frame["body_mass_g"][good])
    check(model, X, engine)
    check_without_gaps(model, whole_rows(X), engine)


def random_table(rng: np.random.Generator, rows: int, *, gaps: float, new: bool = False) -> dict[str, Any]:
    """Columns of every kind whose names and values must be quoted; with values that training never met."""
    words = ["it's", 'say "a"', "line\nbreak", ""] + ["never seen"] * new
    levels = ["low", "mid'dle", "high"]

    def names(values: list[Any]) -> np.ndarray:
        column = np.empty(rows, dtype=object)
        column[:] = [values[i] for i in rng.integers(0, len(values), rows)]
        column[rng.random(rows) < gaps] = None
        return column

    def numbers(column: np.ndarray) -> np.ndarray:
        column = column.astype(float)
        column[rng.random(rows) < gaps] = np.nan
        return column

    return {
        HOSTILE[0]: names(words),
        HOSTILE[1]: numbers(rng.normal(size=rows)),
        HOSTILE[2]: names(levels),
        HOSTILE[3]: names([True, False]),
        HOSTILE[4]: numbers(rng.integers(-3, 3, rows)),
        HOSTILE[5]: names([-1, 2, 30] + [4] * new),
    }


TYPES = {HOSTILE[2]: Ordinal(HOSTILE[2], ("low", "mid'dle", "high")), HOSTILE[5]: "nominal"}
CLASSES = {
    "text": np.array(["don't", "do", ""], dtype=object),
    "numbers": np.array([-2, 0, 7]),
    "truth": np.array([False, True]),
}


@engines
@pytest.mark.parametrize(("missing", "nominal"), list(itertools.product(MISSING, NOMINAL)))
@pytest.mark.parametrize("gaps", [0.0, 0.15], ids=["none missing", "some missing"])
def test_random_tables_are_told_alike_with_gaps_and_values_never_seen(engine, missing, nominal, gaps):
    rng = np.random.default_rng(7)
    X = random_table(rng, 90, gaps=gaps)
    asked = random_table(rng, 120, gaps=0.2, new=True)
    kinds = list(CLASSES)
    kind = CLASSES[kinds[(MISSING.index(missing) + NOMINAL.index(nominal)) % 3]]
    told = np.array([v is True for v in X[HOSTILE[3]]]) ^ (X[HOSTILE[1]] > 0.2)
    y = kind[(told + rng.integers(0, 2, 90)) % len(kind)]
    model = TreeClassifier("gini", nominal=nominal, missing=missing, types=TYPES, max_depth=3).fit(X, y)
    assert model.get_n_leaves() > 5
    check(model, X, engine)
    check(model, asked, engine)
    check_without_gaps(model, whole_rows(X), engine)
    numbers = TreeRegressor(nominal=nominal, missing=missing, types=TYPES, max_depth=3)
    numbers.fit(X, told * 3.0 - rng.normal(size=90))
    check(numbers, X, engine)
    check(numbers, asked, engine)
    check_without_gaps(numbers, whole_rows(X), engine)


@engines
def test_ranges_are_told_alike(engine):
    sample = samples.load("penguins")
    model = TreeClassifier(numeric="ranges", missing="branch").fit(sample.X, sample.y)
    assert (model.tree_.sizes > 2).any()
    check(model, sample.X, engine)


@engines
def test_thresholds_between_neighboring_numbers_are_kept_to_the_last_digit(engine):
    low = 0.1 + 0.2
    high = np.nextafter(low, 1)
    model = TreeClassifier().fit({"x": [low, high, -1e300, 1e300]}, ["a", "b", "a", "b"])
    asked = {"x": np.array([low, high, -5e-324, 1e-300, 1e300])}
    assert model.predict(asked).tolist() == ["a", "b", "a", "a", "b"]
    check(model, asked, engine)


@engines
def test_a_tree_of_one_leaf_is_its_answer(engine):
    model = TreeClassifier().fit({"x": [1.0, 2.0]}, ["it's", "it's"])
    check(model, {"x": [np.nan, 5.0]}, engine)
    check(TreeRegressor().fit({"x": [1.0, 2.0]}, [-1.5, -1.5]), {"x": [np.nan, 5.0]}, engine)


@engines
def test_a_branch_without_rows_answers_as_its_parent_does(engine):
    types = {"w": ("u", "v", "nobody"), "x": ("p", "q")}
    model = TreeClassifier(types={n: Nominal(n, v) for n, v in types.items()})
    model.fit({"w": ["u", "u", "v", "v", "v"], "x": ["p", "p", "q", "q", "q"]}, list("aabbb"))
    asked = {"w": np.array(["nobody", "u", None], dtype=object), "x": np.array([None, "p", None], dtype=object)}
    assert model.predict(asked).tolist() == ["b", "a", "b"]
    check(model, asked, engine)


@engines
def test_the_short_form_says_nothing_of_a_gap(engine):
    tennis = samples.load("tennis")
    model = TreeClassifier().fit(tennis.X, tennis.y)
    table = cells_of({name: column[:1] for name, column in tennis.X.items()}) | {"outlook": [None]}
    table = {name: [*column, *column] for name, column in table.items()} | {"outlook": [None, "Overcast"]}
    assert answers(engine(table, model.to_sql(dialect=DIALECTS[engine], missing=False))) == [None, "Yes"]


def test_probabilities_are_named():
    tennis = samples.load("tennis")
    text = TreeClassifier(max_depth=1).fit(tennis.X, tennis.y).to_sql(dialect="sqlite", proba=True)
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE cells (outlook, temperature, humidity, wind)")
    assert [c[0] for c in base.execute(f"SELECT {text} FROM cells").description] == ["P(No)", "P(Yes)"]
    base.close()


def test_what_cannot_be_written_as_sql_is_refused():
    with pytest.raises(OptionError, match="probabilities"):
        TreeRegressor().fit({"x": [1.0, 2.0]}, [1.0, 2.0]).to_sql(proba=True)
    mail = samples.load("mail")
    with pytest.raises(OptionError, match="words"):
        TreeClassifier(types="text").fit(mail.X, mail.y).to_sql()
