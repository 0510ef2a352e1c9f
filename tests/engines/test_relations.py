"""Relations: what an engine counts and answers is what memory counts and answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countwise import (
    BayesNetwork,
    BayesNetworkClassifier,
    Binned,
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
)
from countwise.errors import CountwiseError, RowsRefused, SchemaError, TableError
from countwise.feature_selection import attribute_scores

from .quiet import QUIET

pytestmark = QUIET

NFC, NFD = "é", "é"  # one letter, and a letter with a mark


def odd_table(n=400, seed=0):
    """Everything that engines treat differently, side by side."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "name": rng.choice(["a", "O'Brien\"; DROP TABLE", "12", "1.0", NFC, NFD, "", "select"], n),
            "select": rng.choice(["x", "y"], n),
            'quo"te': rng.normal(size=n),
            "far": rng.normal(1e9, 1.0, n),
            "zero": rng.choice([0.0, -0.0, 1.5], n),
            "whole": rng.integers(-3, 4, n),
            "large": rng.choice([2**53 + 1, 2**53 + 3, 2**60], n),
            "flag": rng.random(n) < 0.3,
            "count": rng.poisson(3, n),
            "y": rng.choice(["p", "q", "r"], n, p=[0.5, 0.4, 0.1]),
        }
    )
    frame["mixed"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    for name in ("name", "select", "y"):
        frame.loc[rng.random(n) < 0.1, name] = None
    frame.loc[rng.random(n) < 0.1, "far"] = np.nan
    frame["gone"] = None
    frame["gone"] = frame["gone"].astype("string")
    return frame


SETTINGS = {
    "distributions": {"count": "poisson", "zero": "categorical", "mixed": Binned([-1.0, 0.0, 1.0])},
    "types": {"whole": "nominal", "large": "nominal"},
    "missing": {"far": "value", "name": "value"},
}


def test_naive_bayes_counts_in_the_engine_what_it_counts_in_memory(engine, tmp_path):
    frame = odd_table()
    relation = engine.of(frame, tmp_path)
    ours = NaiveBayesClassifier(**SETTINGS).fit(relation, "y")
    memory = NaiveBayesClassifier(**SETTINGS).fit(frame, "y")
    assert ours.n_rows_ == memory.n_rows_
    assert ours.n_left_out_ == memory.n_left_out_
    assert ours.classes_.tolist() == memory.classes_.tolist()
    assert list(ours.schema_) == list(memory.schema_)
    for key, tally in memory.tallies_.items():
        other = ours.tallies_[key]
        if hasattr(tally, "axes"):
            assert [a.values for a in other.axes] == [a.values for a in tally.axes]
            np.testing.assert_array_equal(other.cells, tally.cells)
        elif hasattr(tally, "triple"):
            for one, two in zip(other.triple, tally.triple, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-12)
        else:
            for (v, w), (x, z) in zip(other.filled, tally.filled, strict=True):
                np.testing.assert_array_equal(v, x)
                np.testing.assert_array_equal(w, z)
    np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-12)


def test_rows_are_answered_in_the_engine_as_in_memory(engine, tmp_path):
    frame = odd_table()
    frame["large"] = frame["large"].astype("float64")  # unseen below: a value that was never met
    model = NaiveBayesClassifier(**{**SETTINGS, "types": {"whole": "nominal"}}).fit(frame, "y")
    asked = odd_table(seed=1).assign(large=1.0)
    asked.loc[:3, "select"] = "never seen"
    answered = model.predict_frame(engine.of(asked, tmp_path), reasons=1)
    assert type(answered) is type(engine.of(asked, tmp_path))
    rows = engine.collected(answered).sort_values(["far", 'quo"te'], ignore_index=True)
    order = asked.assign(at=np.arange(len(asked))).sort_values(["far", 'quo"te'])["at"].to_numpy()
    want = model.predict_proba(asked)[order]
    np.testing.assert_allclose(rows[[f"P({c})" for c in model.classes_]].to_numpy(), want, atol=1e-12)
    assert rows["predicted y"].tolist() == model.predict(asked)[order].tolist()
    assert set(rows["reason 1"]) <= {*asked.columns, ""}
    assert not any(str(name).startswith("cw_") for name in rows.columns)


def test_discriminants_learn_from_moments_that_the_engine_sums(engine, tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["u", "v", "w"])
    frame["w"] += 2 * frame["u"] + 1e6
    frame["y"] = np.where(frame["u"] + rng.normal(size=300) > 0, "a", "b")
    for name in ("u", "v"):
        frame.loc[rng.random(300) < 0.1, name] = np.nan
    for covariance in ("shared", "own"):
        ours = DiscriminantClassifier(covariance).fit(engine.of(frame, tmp_path), "y")
        memory = DiscriminantClassifier(covariance).fit(frame, "y")
        np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-9)


def test_networks_of_names_learn_in_the_engine(engine, tmp_path):
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 500)
    frame = pd.DataFrame({"a": a, "b": (a + (rng.random(500) < 0.1)) % 2, "c": rng.integers(0, 3, 500), "y": a ^ 1})
    frame["y"] = np.where(rng.random(500) < 0.2, 1 - frame["y"], frame["y"])
    frame = frame.astype(str)
    relation = engine.of(frame, tmp_path)
    spark = engine.name == "spark"  # which takes a third of a second for every question
    for structure in ("tan",) if spark else ("naive", "tan", [("y", "a"), ("a", "b")]):
        ours = BayesNetworkClassifier(structure).fit(relation, "y")
        memory = BayesNetworkClassifier(structure).fit(frame, "y")
        assert ours.graph_ == memory.graph_
        np.testing.assert_array_equal(ours.predict_proba(frame), memory.predict_proba(frame))
    for structure in ({"b": ["a"], "y": ["a", "c"]},) if spark else ("chow_liu", {"b": ["a"], "y": ["a", "c"]}):
        net, other = BayesNetwork(structure).fit(relation), BayesNetwork(structure).fit(frame)
        assert net.graph_ == other.graph_
        for node, table in other.net_.tables.items():
            np.testing.assert_array_equal(net.net_.tables[node], table)
    with pytest.raises(RowsRefused, match="EM needs"):
        BayesNetwork({"b": ["a"]}).fit(engine.of(frame.assign(a=frame["a"].where(frame["a"] == "1")), tmp_path))


def test_cuts_and_scores_are_those_of_memory(engine, tmp_path):
    frame = odd_table()[["select", "whole", "zero", "y"]]
    frame["whole"] = frame["whole"].astype(float) + (frame["y"] == "p")
    relation = engine.of(frame, tmp_path)
    ours, memory = (Discretizer(columns=["whole"]).fit(table, "y").cuts_["whole"] for table in (relation, frame))
    np.testing.assert_array_equal(ours.edges, memory.edges)
    one, other = attribute_scores(relation, "y"), attribute_scores(frame, "y")
    for measure in ("values", "missing", "information_gain", "gain_ratio", "chi_square", "gini_gain"):
        assert list(one[measure]) == pytest.approx(list(other[measure]), rel=1e-12)


def test_pieces_of_a_relation_and_weights(engine, tmp_path):
    frame = odd_table(300).assign(w=np.random.default_rng(0).integers(0, 3, 300))
    memory = NaiveBayesClassifier(**SETTINGS).fit(frame.drop(columns="w"), "y", sample_weight=frame["w"].to_numpy())
    ours = NaiveBayesClassifier(**SETTINGS).fit(engine.of(frame, tmp_path), "y", sample_weight="w")
    np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-12)
    half = NaiveBayesClassifier().fit(engine.of(frame.head(150)[["select", "far", "y"]], tmp_path), "y")
    half.partial_fit(engine.of(frame.tail(150)[["select", "far", "y"]], tmp_path), "y")
    whole = NaiveBayesClassifier().fit(frame[["select", "far", "y"]], "y")
    np.testing.assert_allclose(half.predict_proba(frame), whole.predict_proba(frame), atol=1e-9)


def test_one_row_and_dates_as_names(engine, tmp_path):
    one = pd.DataFrame({"k": ["a"], "x": [1.0], "y": ["p"]})
    assert NaiveBayesClassifier().fit(engine.of(one, tmp_path), "y").classes_.tolist() == ["p"]
    days = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"]), "y": ["p", "q", "p"]})
    relation = engine.of(days, tmp_path)
    ours = NaiveBayesClassifier(types={"day": "nominal"}).fit(relation, "y")
    memory = NaiveBayesClassifier(types={"day": "nominal"}).fit(days, "y")
    np.testing.assert_array_equal(ours.tallies_["day"].table, memory.tallies_["day"].table)


@pytest.mark.parametrize(
    ("work", "kind", "told"),
    [
        (lambda r: NaiveBayesClassifier().fit(r, "yy"), TableError, "no column 'yy' for the target"),
        (lambda r: NaiveBayesClassifier().fit(r, np.zeros(3)), TableError, "must be one of its columns"),
        (lambda r: NaiveBayesClassifier().fit(r), TableError, "requires y to be passed"),
        (lambda r: ParzenClassifier().fit(r, "y"), RowsRefused, "needs the rows"),
        (lambda r: NeighborsClassifier().fit(r, "y"), RowsRefused, r"the table is in an engine \(3 rows\)"),
        (lambda r: NaiveBayesClassifier().fit(r, "y").predict(r), RowsRefused, "predict_frame"),
        (
            lambda r: NaiveBayesClassifier({"t": "multinomial"}, types={"t": "text"}).fit(r, "y"),
            RowsRefused,
            "needs the rows",
        ),
    ],
)
def test_what_cannot_be_learned_from_a_relation_is_told(engine, tmp_path, work, kind, told):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "t": ["a b", "b", "c"], "y": ["p", "q", "p"]})
    with pytest.raises(kind, match=told):
        work(engine.of(frame, tmp_path))


def test_an_empty_relation_and_a_target_without_classes_are_told(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["p", "q"]})
    with pytest.raises(TableError, match="empty"):
        NaiveBayesClassifier().fit(engine.of(frame.head(0), tmp_path), "y")
    with pytest.raises(TableError, match="empty"):
        NaiveBayesClassifier().fit(engine.of(frame.assign(y=pd.Series([None, None], dtype="string")), tmp_path), "y")


def test_an_infinity_and_an_identifier_are_told_by_name(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.inf, 2.0], "y": ["p", "q", "p"]})
    with pytest.raises(TableError, match="'x' is infinite in 1 row"):
        NaiveBayesClassifier().fit(engine.of(frame, tmp_path), "y")
    many = pd.DataFrame({"id": [f"n{i}" for i in range(12_000)], "y": ["p", "q"] * 6000})
    with pytest.raises(TableError, match="'id' looks like an identifier"):
        NaiveBayesClassifier().fit(engine.of(many, tmp_path), "y")


def test_an_infinity_shows_whatever_the_law_is(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.inf, 2.0, 0.5], "y": ["p", "q", "p", "q"]})
    for model in (
        NaiveBayesClassifier({"x": "kernel"}),
        DiscriminantClassifier(),
        NaiveBayesClassifier({"x": [1.0]}),
    ):
        with pytest.raises(TableError, match="'x' is infinite in 1 row"):
            model.fit(engine.of(frame, tmp_path), "y")


def test_a_class_that_is_not_a_number_is_missing(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "k": ["a", "b", "a", "b"], "y": [0.0, 1.0, np.nan, 1.0]})
    ours, memory = NaiveBayesClassifier().fit(engine.of(frame, tmp_path), "y"), NaiveBayesClassifier().fit(frame, "y")
    assert (ours.n_rows_, ours.n_left_out_) == (memory.n_rows_, memory.n_left_out_) == (3, 1)
    np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-12)


def test_columns_that_a_second_relation_lacks_are_told(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": ["a", "b", "a"], "y": ["p", "q", "p"]})
    model = NaiveBayesClassifier().fit(engine.of(frame, tmp_path), "y")
    with pytest.raises(TableError, match="has no column 'k'"):
        model.partial_fit(engine.of(frame[["x", "y"]], tmp_path), "y")


def test_structures_beyond_the_naive_are_not_answered_by_lookups(tmp_path):
    frame = pd.DataFrame({"a": list("uvuvuv"), "b": list("uvvuvu"), "y": list("ppqqpq")})
    naive = BayesNetworkClassifier("naive").fit(frame, "y")
    found = naive.predict_frame(frame)
    np.testing.assert_allclose(found[["P(p)", "P(q)"]].to_numpy(), naive.predict_proba(frame), atol=1e-12)
    tan = BayesNetworkClassifier("tan").fit(frame, "y")
    for work in (lambda: tan.predict_frame(frame), lambda: tan.to_sql("t")):
        with pytest.raises(CountwiseError, match="a scoring query cannot express"):
            work()


def test_lists_in_cells_are_refused_by_name():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"tags": [["a"], ["b", "c"]], "y": ["p", "q"]})
    with pytest.raises(SchemaError, match="'tags' has the dtype List"):
        NaiveBayesClassifier().fit(frame, "y")


def test_an_engine_that_fails_leaves_the_model_as_it_was():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    good = connection.sql("SELECT * FROM (VALUES ('a', 1.0, 'p'), ('b', 2.0, 'q')) t(k, x, y)")
    model = NaiveBayesClassifier().fit(good, "y")
    before = model.predict_proba([{"k": "a", "x": 1.0}])
    bad = connection.sql("SELECT k, CAST(k AS DOUBLE) AS x, y FROM (VALUES ('a', 'p'), ('b', 'q')) t(k, y)")
    with pytest.raises(CountwiseError, match="The query failed in the engine") as caught:
        model.fit(bad, "y")
    assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(model.predict_proba([{"k": "a", "x": 1.0}]), before)


def test_nan_in_parquet_is_missing_whatever_its_statistics_say(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0, np.nan, 5.0], "y": ["p", "p", "q", "q", "q"]})
    frame.to_parquet(tmp_path / "nan.parquet")
    connection = duckdb.connect()
    connection.sql(f"COPY (SELECT CASE WHEN x IS NULL THEN 'nan'::DOUBLE ELSE x END AS x, y "
                   f"FROM '{tmp_path / 'nan.parquet'}') TO '{tmp_path / 'real.parquet'}'")  # fmt: skip
    model = NaiveBayesClassifier().fit(connection.read_parquet(str(tmp_path / "real.parquet")), "y")
    assert model.tallies_["x"].n.tolist() == [1.0, 2.0]
    assert model.tallies_["x"].mean.tolist() == [1.0, 4.0]
