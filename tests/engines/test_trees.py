"""Trees grown where the rows lie are those grown in memory, node for node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countwise import RuleClassifier, TreeClassifier, TreeRegressor, _kernels
from countwise.engines import bins as relation_cuts
from countwise.engines import prepared as relation_levels
from countwise.engines.relation import Relation
from countwise.errors import CountwiseError, DataWarning, OptionError, RowsRefused, TableError
from countwise.tree.growth import grow_engine

from .quiet import QUIET

pytestmark = QUIET


def odd_table(n=400, seed=1):
    """Names with quotes, booleans, gaps, zeros of both signs, numbers far from 0; a class and a number to be told."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "na'me": rng.choice(["a", "O'Brien", "12", "é"], n),
            "flag": rng.random(n) < 0.3,
            "zero": rng.choice([0.0, -0.0, 1.5, -2.0], n),
            "far": rng.normal(1e9, 1.0, n),
            "w": rng.choice([0, 1, 2, 3], n),
        }
    )
    s = (frame["na'me"] == "a") * 1.5 + (frame["far"] > 1e9) * (1 + frame["flag"]) + 0.3 * frame["zero"]
    noise = rng.normal(size=n)
    frame["y"] = np.where(s + noise > 1.5, "p", np.where(s > 1.0, "q", "r"))
    frame["t"] = 1e6 + 3 * s + noise
    for name in ("na'me", "y"):
        frame.loc[rng.random(n) < 0.08, name] = None
    for name in ("far", "zero", "t"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def opened(engine, frame, folder):
    """A relation in which some gaps are NaN and some are null."""
    polars = pytest.importorskip("polars")
    table = polars.from_pandas(frame, nan_to_null=False)
    gaps = polars.Series(np.arange(len(frame)) % 2 == 0)
    numbers = [name for name in ("far", "zero", "t") if name in frame]
    table = table.with_columns(
        polars.when(gaps & polars.col(n).is_nan()).then(None).otherwise(polars.col(n)).alias(n) for n in numbers
    )
    table.write_parquet(folder / "table.parquet")
    return engine._open(str(folder / "table.parquet"))


def same(a, b, digits=1e-9):
    np.testing.assert_array_equal(a.attribute, b.attribute)
    np.testing.assert_array_equal(a.parent, b.parent)
    np.testing.assert_array_equal(a.limits, b.limits)
    np.testing.assert_array_equal(a.groups, b.groups)
    np.testing.assert_array_equal(a.missing, b.missing)
    np.testing.assert_array_equal(a.searched, b.searched)
    np.testing.assert_allclose(a.cells, b.cells, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(a.search_results[0], b.search_results[0], rtol=digits, atol=digits)


CLASSES = [
    ({"pruning": "pessimistic"}, "w"),  # rows that lack a value go down all branches
    ({"criterion": "gini", "nominal": "subset", "missing": "branch", "class_weight": "balanced"}, None),
]


def test_a_tree_is_grown_in_the_engine_as_in_memory(engine, tmp_path):
    for settings, weights in CLASSES[: 1 if engine.name == "spark" else 2]:  # Spark takes a second for each question
        frame = odd_table().drop(columns="t" if weights else ["t", "w"])
        settings = {"thresholds": "binned", "max_depth": 2, "min_samples_leaf": 3, **settings}
        ours = TreeClassifier(**settings).fit(opened(engine, frame, tmp_path), "y", sample_weight=weights)
        given = None if weights is None else frame.pop("w").to_numpy()
        memory = TreeClassifier(**settings).fit(frame, "y", sample_weight=given)
        same(ours.tree_, memory.tree_)
        assert len(memory.tree_) > 5
        assert weights is None or (memory.tree_.cells % 1 > 0).any()  # rows went down in parts
        assert ours.schema_ == memory.schema_
        assert ours.classes_.tolist() == memory.classes_.tolist()
        assert (ours.n_rows_, ours.n_left_out_) == (memory.n_rows_, memory.n_left_out_)
        np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-12)


def test_a_regression_tree_too(engine, tmp_path):
    frame = odd_table()[["flag", "zero", "far", "w", "t"]]
    settings = {"thresholds": "binned", "max_depth": 2, "min_samples_leaf": 3, "max_bins": 16}
    ours = TreeRegressor(**settings).fit(opened(engine, frame, tmp_path), "t", sample_weight="w")
    weights = frame.pop("w").to_numpy()
    memory = TreeRegressor(**settings).fit(frame, "t", sample_weight=weights)
    assert (memory.tree_.cells[:, 0] % 1 > 0).any()  # rows went down in parts
    same(ours.tree_, memory.tree_, 1e-7)  # deviations are roots of differences of squares
    assert (ours.n_rows_, ours.n_left_out_) == (memory.n_rows_, memory.n_left_out_)
    np.testing.assert_allclose(ours.predict(frame), memory.predict(frame), rtol=1e-12)


@pytest.fixture
def lazy():
    """Frames that Polars holds, for what is the same on every engine."""
    polars = pytest.importorskip("polars")
    return lambda frame: polars.from_pandas(frame).lazy()


@pytest.mark.parametrize(("missing", "fetched"), [("fractions", 20000), ("branch", 20000), ("majority", 0)])
def test_deeper_trees_are_the_same_however_bins_are_asked_for(lazy, monkeypatch, missing, fetched):
    frame = odd_table(600).drop(columns="w")
    monkeypatch.setattr(relation_cuts, "_FETCHED", fetched)  # cells and values, or bins
    monkeypatch.setattr(grow_engine, "MOST_GROUPS", 2500)  # few nodes at a time
    monkeypatch.setattr(grow_engine, "_AT_ONCE", 3)
    for criterion, nominal in (("gain_ratio", "multiway"), ("gini", "subset")):
        settings = {
            "thresholds": "binned",
            "missing": missing,
            "min_samples_leaf": 10,
            "max_depth": 3,
            "max_bins": 60,
        }
        rows = frame.drop(columns="t")
        ours = TreeClassifier(criterion, nominal=nominal, **settings).fit(lazy(rows), "y")
        same(ours.tree_, TreeClassifier(criterion, nominal=nominal, **settings).fit(rows, "y").tree_)
        rows = frame.drop(columns="y")
        ours = TreeRegressor(nominal=nominal, **settings).fit(lazy(rows), "t")
        same(ours.tree_, TreeRegressor(nominal=nominal, **settings).fit(rows, "t").tree_, 1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_a_tree_is_pruned_at_a_given_cost(lazy, alpha):
    frame = odd_table().drop(columns=["t", "w"])
    settings = {"thresholds": "binned", "pruning": "cost_complexity", "ccp_alpha": alpha, "max_depth": 4}
    ours, memory = TreeClassifier(**settings).fit(lazy(frame), "y"), TreeClassifier(**settings).fit(frame, "y")
    same(ours.tree_, memory.tree_)
    assert ours.alpha_ == memory.alpha_


def test_names_alone_need_no_bins(lazy):
    frame = odd_table()[["na'me", "flag", "y"]]
    same(TreeClassifier().fit(lazy(frame), "y").tree_, TreeClassifier().fit(frame, "y").tree_)


def test_booleans_dates_and_whole_numbers_may_be_numbers_and_numbers_names(lazy):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"b": rng.random(300) < 0.4, "k": rng.integers(0, 4, 300), "f": rng.choice([0.5, 1.5], 300)})
    frame["d"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 300), unit="D")
    frame["big"] = rng.choice([2**53 + 1, 2**53 + 3, 2**60], 300)
    late = frame["d"] > pd.Timestamp("2024-02-01")
    frame["y"] = ((frame["k"] == 2) ^ frame["b"] ^ late ^ (frame["f"] > 1)).astype(int)
    types = {"b": "numeric", "k": "nominal", "f": "nominal", "d": "numeric"}
    settings = {"thresholds": "binned", "types": types, "max_depth": 5}
    ours, memory = TreeClassifier(**settings).fit(lazy(frame), "y"), TreeClassifier(**settings).fit(frame, "y")
    assert {f.name for f in ours._features} >= {"b", "k", "f", "d"}
    same(ours.tree_, memory.tree_)
    assert ours.classes_.dtype == memory.classes_.dtype


# Edges


def columns_of_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    return {
        "normal": x,
        "skewed": np.exp(6 * x),
        "an outlier": np.append(x, 1e300),
        "huge": np.append(x, [-1.7e308, 1.7e308]),
        "tiny": x * 5e-320,
        "few": rng.integers(0, 100, 2000).astype(float),
        "as many as bins": rng.integers(0, 255, 2000).astype(float),
        "most alike": np.where(rng.random(2000) < 0.9, 0.0, x),
        "neighbors": 1.0 + rng.integers(0, 3000, 2000) * np.finfo(float).eps,
        "one": np.ones(5),
        "two": np.array([0.0, 1.0, -0.0, 1.0]),
    }


@pytest.mark.parametrize("cells", [1 << 16, 8])
@pytest.mark.parametrize("name", list(columns_of_numbers()))
def test_edges_are_exactly_those_of_memory(monkeypatch, cells, name):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(relation_cuts, "_CELLS", cells)
    monkeypatch.setattr(relation_cuts, "_HEAVY", cells)
    x = columns_of_numbers()[name]
    w = np.random.default_rng(1).integers(1, 4, len(x)).astype(float)
    for weights, n_bins in ((None, 255), (w, 7)):
        frame = polars.DataFrame({"x": x, "w": w}).lazy()
        ready = relation_levels.Ready(Relation.open(frame, None, None if weights is None else "w"), frozenset({"x"}))
        bins = relation_cuts.cut(ready, "x", ready.extents(["x"])["x"], n_bins)
        edges, codes = _kernels.bin_columns([x], weights, n_bins)
        np.testing.assert_array_equal(bins.edges, edges[0])
        assert bins.distinct in (None, len(np.unique(x)))
        n = np.bincount(codes[0], weights, minlength=len(edges[0]) + 1)
        for fetched in (1 << 18, 2000, 0):  # values, cells and values, bins
            monkeypatch.setattr(relation_cuts, "_FETCHED", fetched)
            plan, keys, decode = bins.keyed(ready.rows(["x"]), 1, gaps=False, flat=False)
            found = ready.weighed(plan, keys)
            counted = np.bincount(decode(found), relation_levels.numbers_in(found, "cw_w"), minlength=len(n))
            np.testing.assert_array_equal(counted, n)


# What is refused


def test_what_needs_rows_is_refused_with_their_number_and_the_way_round(lazy):
    frame = odd_table().drop(columns=["t", "w"])
    for model, told in (
        (TreeClassifier(), r"exact thresholds .*'zero'.*has 400 rows.*thresholds='binned'"),
        (TreeClassifier(thresholds="binned", pruning="reduced_error"), r"held-out rows.*has 400 rows.*ccp_alpha"),
        (TreeClassifier(thresholds="binned", pruning="cost_complexity"), r"held-out rows.*has 400 rows.*ccp_alpha"),
        (TreeClassifier(numeric="ranges"), r"discretizes the rows of each node.*400 rows"),
        (
            TreeClassifier(thresholds="binned", types={"na'me": "text"}),
            r"words of the text column \"na'me\".*400 rows.*drop",
        ),
        (RuleClassifier(), r"needs the rows in memory, but the table is in an engine \(400 rows\)"),
    ):
        with pytest.raises(RowsRefused, match=told):
            model.fit(lazy(frame), "y")


@pytest.mark.parametrize(
    ("change", "settings", "told"),
    [
        ({}, {"y": "z"}, r"no column 'z' for the target.*did you mean|use one of"),
        ({}, {"y": None}, "requires y"),
        ({"y": None}, {}, "empty"),
        ({"far": np.inf}, {}, "'far' is infinite in 400 rows|'far' is infinite"),
        ({"w": -1.0}, {"sample_weight": "w"}, "Negative values"),
        ({"w": np.nan}, {"sample_weight": "w"}, "'w' are missing or infinite in 400 of 400"),
        ({"w": 0.0}, {"sample_weight": "w"}, "All sample weights are zero"),
    ],
)
def test_bad_tables_are_told_and_leave_the_model_as_it_was(lazy, change, settings, told):
    frame = odd_table().drop(columns="t")
    model = TreeClassifier(thresholds="binned", max_depth=1).fit(lazy(frame), "y", sample_weight="w")
    before = dict(vars(model))
    frame = frame.assign(**change).astype({"y": "string"})
    with pytest.raises(TableError, match=told):
        model.fit(lazy(frame), **{"y": "y", **settings})
    assert vars(model) == before


def test_a_target_that_does_not_fit_is_told(lazy):
    frame = odd_table().drop(columns="w")
    with pytest.raises(CountwiseError, match="continuous"):
        TreeClassifier(thresholds="binned").fit(lazy(frame), "t")
    with pytest.raises(
        TableError, match=r"'y' has type String; a regression tree needs a numeric target.*TreeClassifier"
    ):
        TreeRegressor(thresholds="binned").fit(lazy(frame), "y")
    with pytest.raises(TableError, match="'t' is infinite in 400 rows"):
        TreeRegressor(thresholds="binned").fit(lazy(frame.assign(t=-np.inf)), "t")


def test_rows_without_a_target_are_left_out_and_counted(lazy):
    frame = odd_table().drop(columns=["y", "w"])
    lost = int(frame["t"].isna().sum())
    with pytest.warns(DataWarning, match=f"{lost} of 400 rows were skipped"):
        model = TreeRegressor(thresholds="binned", max_depth=1).fit(lazy(frame), "t")
    assert (model.n_rows_, model.n_left_out_) == (400 - lost, lost)


def test_more_nodes_than_an_engine_is_asked_about_are_refused(lazy, monkeypatch):
    monkeypatch.setattr(grow_engine, "MOST_NODES", 3)
    frame = odd_table().drop(columns=["t", "w"])
    with pytest.raises(RowsRefused, match=r"nodes at depth [12] could be split.*max_depth="):
        TreeClassifier(thresholds="binned").fit(lazy(frame), "y")


def test_settings_that_do_not_fit_are_told_before_the_tree_is_grown(lazy):
    frame = pd.DataFrame({"k": [f"n{i % 30}" for i in range(90)], "y": ["p", "q", "q"] * 30})
    with pytest.raises(TableError, match="'k' has 30 values"):
        TreeClassifier(thresholds="binned", max_branches=29).fit(lazy(frame), "y")
    with pytest.raises(OptionError, match=r"pruning must be .* not 'pesimistic'.*did you mean 'pessimistic'"):
        TreeClassifier(thresholds="binned", pruning="pesimistic").fit(lazy(frame), "y")
    with pytest.raises(OptionError, match="max_bins"):
        TreeClassifier(thresholds="binned", max_bins=1).fit(lazy(frame), "y")


def test_an_engine_that_fails_midway_leaves_the_model_as_it_was(lazy, monkeypatch):
    frame = odd_table().drop(columns=["t", "w"])
    model = TreeClassifier(thresholds="binned", max_depth=1).fit(lazy(frame), "y")
    before, asked = dict(vars(model)), []
    collected = relation_levels.collected

    def failing(plan):
        asked.append(plan)
        if len(asked) > 12:
            plan = plan.select("no such column")
        return collected(plan)

    monkeypatch.setattr(relation_levels, "collected", failing)
    with pytest.raises(CountwiseError, match="no such column"):
        model.set_params(max_depth=3).fit(lazy(frame), "y")
    assert {**vars(model), "max_depth": 1} == before


def test_an_engine_is_asked_once_for_each_attribute_and_level(lazy, monkeypatch):
    frame = odd_table().drop(columns=["t", "w"])
    asked = []
    fetched = relation_levels.fetched
    monkeypatch.setattr(relation_levels, "fetched", lambda plan, keys: asked.append(keys) or fetched(plan, keys))
    model = TreeClassifier(thresholds="binned", max_depth=3, missing="majority").fit(lazy(frame), "y")
    tables = [keys for keys in asked if "cw_at" in keys]
    assert len(tables) == 4 * model.get_depth() == 12
