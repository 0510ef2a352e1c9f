"""Numbers in an engine: networks, urns of counts, cuts of many values, and sums that keep their digits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier, Binned, Discretizer, FilterSelector, NaiveBayesClassifier
from countwise.engines import moments as relation_sums
from countwise.engines import relation
from countwise.errors import RowsRefused, TableError
from countwise.feature_selection import attribute_scores
from countwise.measures import mutual_information

from .quiet import QUIET

pytestmark = QUIET


def mixed_table(n=400, seed=0, gaps=0.05):
    """A class, names, numbers that hang together, and a count."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.8, np.where(y == 1, "u", "v"), "w"),
            "x": rng.normal(y * 2.0, 1.0),
            "k": rng.poisson(1 + 2 * y).astype(float),
            "t": rng.integers(0, 20, n) / 4 + y,
        }
    )
    frame["z"] = 1e6 + 3 * frame["x"] + rng.normal(size=n)
    for name in ("x", "k", "t"):
        frame.loc[rng.random(n) < gaps, name] = np.nan
    frame.loc[rng.random(n) < gaps, "a"] = None
    return frame.assign(y=np.where(y == 1, "yes", "no"))


DISTRIBUTIONS = {"k": "poisson", "t": Binned("equal_frequency", n_bins=3)}
STRUCTURES = [("y", "a"), ("y", "x"), ("a", "x"), ("x", "z"), ("y", "z"), ("t", "k"), ("y", "t")]


@pytest.mark.parametrize("missing", ["available", "complete"])
def test_networks_of_numbers_learn_in_the_engine(engine, tmp_path, missing):
    if missing == "complete" and engine.name == "spark":
        pytest.skip("Spark takes its time; rows without gaps are left to the other engines")
    frame = mixed_table()
    table = engine.of(frame, tmp_path)
    how = {"distributions": DISTRIBUTIONS, "missing": missing}
    ours, memory = (BayesNetworkClassifier(STRUCTURES, **how).fit(t, "y") for t in (table, frame))
    assert ours.graph_ == memory.graph_
    assert ours.cuts_ == memory.cuts_
    assert (ours.n_rows_, ours.n_left_out_) == (memory.n_rows_, memory.n_left_out_)
    asked = mixed_table(60, seed=1)
    np.testing.assert_allclose(ours.predict_proba(asked), memory.predict_proba(asked), atol=1e-9)
    for node, tally in memory.tallies_.items():
        if hasattr(tally, "table"):
            np.testing.assert_array_equal(ours.tallies_[node].table, tally.table)


def test_structures_of_names_and_numbers_are_found_in_the_engine(engine, tmp_path):
    frame = mixed_table(300, gaps=0.0)[["a", "x", "z", "k", "y"]]
    table = engine.of(frame, tmp_path)
    searched = {"duckdb": ["tan", "hill_climb"], "polars": ["tan", "hill_climb"], "spark": ["naive"]}.get(
        engine.name, ["tan"]
    )
    for structure in searched:
        ours, memory = (
            BayesNetworkClassifier(structure, distributions={"k": "poisson"}).fit(t, "y") for t in (table, frame)
        )
        assert ours.graph_ == memory.graph_
        if structure != "naive":
            assert ours.found_.score == pytest.approx(memory.found_.score, rel=1e-9)
        np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-9)


def test_a_network_without_a_class_learns_numbers_too(engine, tmp_path):
    frame = mixed_table(200)[["a", "x", "z"]]
    arcs = {"x": ["a"], "z": ["x"]}
    ours, memory = (BayesNetwork(arcs, missing="available").fit(t) for t in (engine.of(frame, tmp_path), frame))
    np.testing.assert_allclose(ours.score_samples(frame), memory.score_samples(frame), rtol=1e-9)
    with pytest.raises(RowsRefused, match="EM needs all 200 rows"):
        BayesNetwork(arcs).fit(engine.of(frame, tmp_path))


def test_urns_of_counts_and_signs_of_numbers(engine, tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.poisson(2, (200, 3)).astype(float), columns=["p", "q", "r"])
    frame["s"] = rng.normal(size=200)
    frame.loc[rng.random(200) < 0.1, ["q", "s"]] = np.nan
    frame["w"] = rng.integers(0, 3, 200)
    frame["y"] = rng.choice(["n", "m"], 200)
    laws = {"p": "multinomial", "q": "multinomial", "r": "bernoulli", "s": "gaussian"}
    how = {"distributions": laws, "missing": {"s": "value"}}
    table = engine.of(frame, tmp_path)
    ours = NaiveBayesClassifier(**how).fit(table, "y", sample_weight="w")
    memory = NaiveBayesClassifier(**how).fit(frame.drop(columns="w"), "y", sample_weight=frame["w"].to_numpy())
    assert ours.n_rows_ == memory.n_rows_ == int((frame["w"] > 0).sum())
    for key, tally in memory.tallies_.items():
        if hasattr(tally, "cells"):
            np.testing.assert_array_equal(ours.tallies_[key].cells, tally.cells)
    np.testing.assert_allclose(ours.predict_proba(frame), memory.predict_proba(frame), atol=1e-12)
    with pytest.raises(TableError, match="minimum of 'p' is -1, but a multinomial distribution needs counts"):
        NaiveBayesClassifier(laws).fit(engine.of(frame.assign(p=-1.0), tmp_path), "y")


def test_tables_without_a_class_are_cut_and_filtered(engine, tmp_path):
    frame = mixed_table(300)
    table = engine.of(frame, tmp_path)
    ours, memory = (Discretizer("equal_frequency", n_bins=4, columns=["x", "t"]).fit(t) for t in (
        engine.of(frame.drop(columns="y"), tmp_path), frame.drop(columns="y")))  # fmt: skip
    for name in ("x", "t"):
        np.testing.assert_array_equal(ours.edges_[name], memory.edges_[name])
    one, two = FilterSelector(k=2).fit(table, "y"), FilterSelector(k=2).fit(frame, "y")
    np.testing.assert_array_equal(one.get_support(), two.get_support())
    kept = one.transform(table)
    assert type(kept) is type(table)
    assert list(engine.collected(kept).columns) == list(two.transform(frame.drop(columns="y")).columns)
    with pytest.raises(TableError, match="requires y"):
        NaiveBayesClassifier().fit(table)


def test_groups_that_lie_far_apart_keep_their_digits(engine, tmp_path):
    rng = np.random.default_rng(5)
    y = np.repeat(["near", "far", "still"], 60)
    x = np.concatenate([rng.normal(0, 1, 60), rng.normal(1e9, 1, 60), np.full(60, 12345.678)])
    frame = pd.DataFrame({"x": x, "y": y})
    ours, memory = (NaiveBayesClassifier().fit(t, "y") for t in (engine.of(frame, tmp_path), frame))
    for one, two in zip(ours.tallies_["x"].triple, memory.tallies_["x"].triple, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_values_beyond_what_is_fetched_are_taken_together(engine, tmp_path, monkeypatch):
    """Neighbors at their mean: cuts move by no more than is said, and nothing is lost of counts and means."""
    for module in (relation, relation_sums):
        monkeypatch.setattr(module, "MOST_GROUPS", 1500)
    monkeypatch.setattr(relation_sums, "FINENESS", 256)
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": np.concatenate([rng.normal(50, 3, 1900), rng.standard_cauchy(100) * 1e4])})
    frame["y"] = np.where(frame["x"] + rng.normal(size=2000) > 50, "high", "low")
    table = engine.of(frame.sample(frac=1, random_state=0, ignore_index=True), tmp_path)
    by_count, by_class = Binned("equal_frequency", n_bins=4), Binned("mdl")
    ours, memory = (NaiveBayesClassifier({"x": by_count}).fit(t, "y") for t in (table, frame))
    (values, weights), (all_values, _) = ours.tallies_["x"].pooled, memory.tallies_["x"].pooled
    assert len(values) < 1500 < len(all_values)
    assert weights.sum() == 2000
    np.testing.assert_allclose(ours.tallies_["x"].moments.mean, memory.tallies_["x"].moments.mean, rtol=1e-9)
    np.testing.assert_allclose(ours.densities_["x"].edges, memory.densities_["x"].edges, atol=3.0 / 256)
    ours, memory = (NaiveBayesClassifier({"x": by_class}).fit(t, "y") for t in (table, frame))
    told = [mutual_information(m.tallies_["x"].counts_in(m.densities_["x"].edges).T) for m in (ours, memory)]
    assert told[0] == pytest.approx(told[1], abs=5e-3)
    kernels = [NaiveBayesClassifier({"x": "kernel"}).fit(t, "y") for t in (table, frame)]
    asked = pd.DataFrame({"x": np.linspace(40, 60, 41)})
    np.testing.assert_allclose(*(m.predict_proba(asked) for m in kernels), atol=1e-3)


def test_points_in_time_are_numbers(engine, tmp_path):
    rng = np.random.default_rng(8)
    days = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 10**8, 60), unit="s")
    frame = pd.DataFrame({"at": days, "y": rng.choice(["p", "q"], 60)})
    frame.loc[3, "at"] = pd.NaT
    how = {"types": {"at": "numeric"}}
    ours, memory = (NaiveBayesClassifier(**how).fit(t, "y") for t in (engine.of(frame, tmp_path), frame))
    for one, two in zip(ours.tallies_["at"].triple, memory.tallies_["at"].triple, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_weights_that_are_none_are_told(engine, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "w": [1.0, -1.0, np.nan], "v": ["a", "b", "c"], "y": ["p", "q", "p"]})
    table = engine.of(frame, tmp_path)
    with pytest.raises(TableError, match="'w' are missing, negative or infinite in 2 rows"):
        NaiveBayesClassifier().fit(table, "y", sample_weight="w")
    with pytest.raises(TableError, match="'v' must be numeric"):
        NaiveBayesClassifier().fit(table, "y", sample_weight="v")


def test_rows_of_an_engine_are_forgotten(engine, tmp_path):
    frame = mixed_table(200)[["a", "x", "k", "y"]]
    gone = engine.of(frame.tail(80), tmp_path)
    model = NaiveBayesClassifier().fit(frame, "y").forget(gone, "y")
    kept = NaiveBayesClassifier().fit(frame.head(120), "y")
    assert model.n_rows_ == 120
    np.testing.assert_allclose(model.predict_proba(frame), kept.predict_proba(frame), atol=1e-9)
    with pytest.raises(TableError):
        model.forget(gone, "y")


def test_scores_of_numbers_are_those_of_memory(engine, tmp_path):
    frame = mixed_table(300)
    one, two = (attribute_scores(t, "y") for t in (engine.of(frame, tmp_path), frame))
    assert list(one["values"]) == list(two["values"])
    assert list(one["information_gain"]) == pytest.approx(list(two["information_gain"]), rel=1e-9)


def test_each_column_is_asked_for_once(monkeypatch):
    """The classes, the first rows, a group-by for each column of names, and one for all numbers."""
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    asked = []
    for module in (relation, relation_sums):
        answer = module.collected
        monkeypatch.setattr(module, "collected", lambda plan, answer=answer: asked.append(plan) or answer(plan))
    frame = mixed_table(200)[["a", "x", "z", "y"]].assign(b="u")
    NaiveBayesClassifier().fit(polars.from_pandas(frame).lazy(), "y")
    assert len(asked) == 1 + 1 + 2 + 1
