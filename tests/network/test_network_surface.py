"""What a user of networks meets first: names, settings, summaries, tables, and the classes behind them."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import countwise
from countwise import BayesNetwork, BayesNetworkClassifier, samples
from countwise.errors import DataWarning, OptionError
from countwise.network import Dirichlet
from countwise.working import Grid

ASIA = Path(__file__).parents[1] / "data" / "asia.bif"
V1 = Path(__file__).parents[1] / "data" / "models_v1"
TENNIS = samples.load("tennis")
BOTH = (BayesNetwork, BayesNetworkClassifier)


def fitted(kind, structure="tan", **settings):
    if kind is BayesNetwork:
        around = {} if structure in ("hill_climb", "chow_liu") else {"target": "play"}
        return BayesNetwork(structure, **around, **settings).fit(TENNIS.frame)
    return BayesNetworkClassifier(structure, **settings).fit(TENNIS.frame, "play")


def by_hand():
    net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
    return net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})


@pytest.mark.parametrize("kind", BOTH)
def test_at_most_ten_of_our_own_classes_are_behind_a_network(kind):
    own = [c for c in kind.__mro__ if c.__module__.startswith("countwise")]
    assert len(own) <= 10, own


def test_the_graph_of_a_file_is_there_at_once():
    net = BayesNetwork.read_bif(ASIA)
    assert net.graph_.parents["either"] == ("lung", "tub")
    assert ("smoke", "lung") in net.graph_.arcs
    assert net.query("lung", {"smoke": "yes"})["yes"] == pytest.approx(0.1)
    assert net.graph_ == BayesNetwork.read_bif(ASIA).graph_


def test_the_graph_follows_the_hand_that_draws_it():
    net = BayesNetwork()
    assert not hasattr(net, "graph_")
    assert net.add_arc("rain", "wet").graph_.arcs == (("rain", "wet"),)
    assert by_hand().add_arc("rain", "cold").graph_.children("rain") == ("wet", "cold")
    assert not hasattr(BayesNetworkClassifier(), "graph_")


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("structure", ["tan", "k_dependence", "naive", "chow_liu"])
def test_a_criterion_is_refused_where_no_score_is_searched(kind, structure):
    with pytest.raises(OptionError, match=f"cannot be used with structure='{structure}'") as error:
        fitted(kind, structure, criterion="k2")
    assert "hill_climb" in str(error.value)
    assert fitted(BayesNetwork, structure).found_ is not None


def test_a_criterion_changes_a_search_and_bic_is_the_default():
    score = {c: fitted(BayesNetwork, "hill_climb", criterion=c).found_.score for c in (None, "bic", "aic")}
    assert score[None] == score["bic"] != score["aic"]


def test_a_file_of_format_1_with_a_default_criterion_can_be_fitted_again():
    model = countwise.load(V1 / "network_classifier.json")
    assert json.loads((V1 / "network_classifier.json").read_text())["model"]["settings"]["criterion"] == "bic"
    again = BayesNetworkClassifier(**model.get_params()).fit(TENNIS.X, TENNIS.y)
    assert again.graph_ == model.graph_


@pytest.mark.parametrize("kind", BOTH)
def test_a_summary_names_rows_arcs_score_and_parents(kind):
    model = fitted(kind)
    lines = model.summary().split("\n")
    told = "14 rows, 5 attributes: " if kind is BayesNetwork else "14 rows, 4 attributes; play: "
    assert lines[0] == f"{told}network with 7 arcs, BIC {model.found_.score:.6g}"
    assert "  wind ← play, outlook" in lines
    assert len(lines) == 6
    assert by_hand().summary() == "0 rows, 2 attributes: network with 1 arc\n  rain\n  wet ← rain"


def test_a_summary_says_what_em_filled():
    rows = {name: list(column) for name, column in TENNIS.frame.items()}
    rows["wind"][3] = None
    assert "missing values estimated by EM" in BayesNetwork("naive", target="play").fit(rows).summary()


@pytest.mark.parametrize("kind", BOTH)
def test_tables_are_those_of_every_node_and_hold_numbers(kind):
    model = fitted(kind)
    tables = model.tables()
    assert list(tables) == list(model.graph_)
    for name, table in tables.items():
        assert isinstance(table, Grid)
        assert dict(table) == dict(model.cpt(name))
        above = model.graph_.parents[name]
        shares = [column for head, column in table.items() if head not in above]
        assert all(isinstance(p, float) for column in shares for p in column)
        np.testing.assert_allclose(np.sum(shares, axis=0), 1.0, rtol=1e-12)
        assert np.array(shares).T.ravel().tolist() == model.net_.tables[name].ravel().tolist()


def test_densities_hold_the_counts_and_probabilities_behind_a_table():
    model = fitted(BayesNetworkClassifier)
    density = model.densities_["wind"]
    assert density.counts.sum() == 14
    assert density.prob.ravel().tolist() == model.net_.tables["wind"].ravel().tolist()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("attribute", ["net_", "densities_", "graph_", "tallies_"])
def test_what_holds_the_numbers_is_documented(kind, attribute):
    assert f"\n{attribute} : " in inspect.getdoc(kind)


@pytest.mark.parametrize(
    "name",
    ["blanket", "separated", "most_probable", "node", "arc", "why"],
)
def test_old_names_are_gone(name):
    assert not any(hasattr(kind, name) for kind in BOTH)


def test_a_node_with_rows_takes_its_values_from_them():
    net = BayesNetwork({"wind": ["play"]}).fit({n: TENNIS.frame[n] for n in ("play", "wind")})
    with pytest.raises(OptionError, match="from the rows X"):
        net.add_node("outlook", ["Sunny"], X=TENNIS.frame)
    with pytest.raises(OptionError, match="only together with rows X"):
        BayesNetwork().add_node("outlook", parents=["play"])
    net.add_node("outlook", X=TENNIS.frame, parents="play", children="wind")
    assert net.graph_.parents["wind"] == ("play", "outlook")
    with pytest.raises(OptionError, match="has learned from data"):
        net.add_arc("outlook", "play")


def test_a_prior_of_imagined_rows_is_written_and_read_back(tmp_path):
    net = fitted(BayesNetwork, "hill_climb", smoothing=Dirichlet(equivalent_sample_size=3))
    countwise.save(net, tmp_path / "net.json")
    assert countwise.load(tmp_path / "net.json").smoothing == Dirichlet(3)


def test_a_smoothed_prior_serves_a_search_over_missing_values():
    rows = {name: list(column) for name, column in TENNIS.frame.items()}
    rows["wind"][3] = None
    away = [(name, "play") for name in rows if name != "play"]
    model = BayesNetworkClassifier("hill_climb", prior="smoothed", forbidden=away).fit(rows, "play")
    assert model.class_prior_.sum() == pytest.approx(1.0)


def in_an_engine(frame):
    return pl.LazyFrame({name: list(column) for name, column in frame.items()})


def test_rows_of_an_engine_are_forgotten_as_rows_in_memory_are():
    frame = {name: np.asarray(column) for name, column in TENNIS.frame.items()}
    some = {name: column[4:9] for name, column in frame.items()}
    arcs = {"outlook": ["play"], "wind": ["play", "outlook"]}
    for model, y in ((BayesNetwork(arcs), ()), (BayesNetworkClassifier(arcs), ("play",))):
        one = clone(model).fit(in_an_engine(frame), *y).forget(in_an_engine(some), *y)
        two = clone(model).fit(frame, *y).forget(some, *y)
        assert one.n_rows_ == two.n_rows_ == 9
        for node, table in two.net_.tables.items():
            assert one.net_.tables[node].tolist() == table.tolist()


def test_an_arc_is_learned_from_an_engine_as_from_memory():
    one, two = (
        BayesNetwork({"wind": ["play"]}).fit(TENNIS.frame).add_arc("outlook", "wind", X)
        for X in (in_an_engine(TENNIS.frame), TENNIS.frame)
    )
    assert dict(one.cpt("wind")) == dict(two.cpt("wind"))


def test_rows_that_were_left_out_as_incomplete_are_not_forgotten():
    rows = {"a": ["u", "v", "u", "v", "u"], "b": ["x", None, "y", "x", "y"]}
    with pytest.warns(DataWarning, match="1 of 5 rows were excluded"):
        net = BayesNetwork({"b": ["a"]}, missing="complete").fit(rows)
    with pytest.warns(DataWarning, match="1 of 2 rows were excluded"):
        net.forget({"a": ["u", "v"], "b": ["x", None]})
    assert net.n_rows_ == 3
    assert net.tallies_["a"].table.tolist() == [2, 1]
