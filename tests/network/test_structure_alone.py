"""A structure without parameters: d-separation, Markov blankets, drawing and networkx need no CPTs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from countwise import BayesNetwork, BayesNetworkClassifier
from countwise.errors import OptionError
from countwise.network.graph import Graph
from countwise.plots import draw_network

STRUCTURES = {
    "mapping": lambda: BayesNetwork({"wet": ["rain", "hose"], "slip": "wet"}),
    "pairs": lambda: BayesNetwork([("rain", "wet"), ("hose", "wet"), ("wet", "slip")]),
    "by hand": lambda: BayesNetwork().add_arc("rain", "wet").add_arc("hose", "wet").add_arc("wet", "slip"),
    "graph": lambda: BayesNetwork(Graph({"rain": (), "hose": (), "wet": ("rain", "hose"), "slip": ("wet",)})),
    "one CPT": lambda: STRUCTURES["by hand"]().add_node("rain", [0, 1], [0.8, 0.2]),
}  # fmt: skip


@pytest.mark.parametrize("given", STRUCTURES)
def test_a_structure_without_cpts_answers_what_follows_from_it(given: str) -> None:
    net = STRUCTURES[given]()
    assert set(net.graph_.arcs) == {("rain", "wet"), ("hose", "wet"), ("wet", "slip")}
    assert net.d_separated("rain", "hose")
    assert not net.d_separated("rain", "hose", given="slip")
    assert net.d_separated("rain", "slip", given="wet")
    assert set(net.markov_blanket("rain")) == {"hose", "wet"}
    picture = draw_network(net, title="sprinkler")
    assert all(f">{node}<" in picture for node in net.graph_.nodes)
    assert picture.count('class="arc"') == 3
    drawn = net.to_networkx()
    assert set(drawn.edges) == set(net.graph_.arcs)
    with pytest.raises((OptionError, NotFittedError)):
        net.query("rain")


def test_a_structure_that_is_fitted_later_gives_the_same_answers() -> None:
    net = BayesNetwork({"wet": ["rain", "hose"]})
    before = net.markov_blanket("rain")
    net.fit({"rain": [0, 1, 0, 1], "hose": [0, 0, 1, 1], "wet": [0, 1, 1, 1]})
    assert set(net.markov_blanket("rain")) == set(before)
    assert "given" in draw_network(net, {"rain": 1})


@pytest.mark.parametrize("wanted", ["hill_climb", "naive", None])
def test_a_network_without_a_structure_says_that_it_is_not_fitted(wanted: Any) -> None:
    net = BayesNetwork() if wanted is None else BayesNetwork(wanted)
    for ask in (lambda: net.markov_blanket("a"), lambda: net.d_separated("a", "b"), lambda: draw_network(net)):
        with pytest.raises(NotFittedError):
            ask()


def test_a_cycle_and_an_unknown_node_are_refused_without_cpts() -> None:
    with pytest.raises(OptionError, match="cycle"):
        BayesNetwork({"a": "b", "b": "a"}).markov_blanket("a")
    with pytest.raises(OptionError, match="'hosr'"):
        BayesNetwork({"wet": ["rain", "hose"]}).markov_blanket("hosr")


def test_the_graph_of_a_fitted_network_has_the_nodes_that_have_values() -> None:
    net = BayesNetwork("hill_climb").fit({"a": [-2.5, 1.0], "b": [None, None], "c": ["u", "v"]})
    assert set(net.to_networkx().nodes) <= set(net.graph_.nodes)


def test_nodes_without_arcs_belong_to_a_structure() -> None:
    assert BayesNetwork({"wet": ["rain"], "moon": []}).graph_.nodes == ("rain", "wet", "moon")
    graph = Graph({"moon": (), "wet": ("rain",), "rain": ()})
    assert set(BayesNetwork(graph).graph_.nodes) == set(graph.nodes)
    networkx = pytest.importorskip("networkx")
    drawn = networkx.DiGraph([("rain", "wet")])
    drawn.add_node("moon")
    assert BayesNetwork(drawn).d_separated("moon", "wet")
    assert BayesNetwork(drawn).markov_blanket("moon") == ()


def test_a_classifier_with_given_arcs_answers_what_follows_from_them() -> None:
    model = BayesNetworkClassifier([("play", "wind"), ("play", "outlook"), ("outlook", "wind")])
    assert not model.d_separated("outlook", "wind", given="play")
    assert model.markov_blanket("outlook") == ("play", "wind")
    assert "tikzpicture" in model.latex()
    assert 'class="arc"' in draw_network(model)
    with pytest.raises(NotFittedError):
        model.query("play")


def test_tables_can_be_added_to_a_given_structure() -> None:
    net = (
        BayesNetwork({"wet": ["rain", "hose"]})
        .add_node("rain", [0, 1], [0.8, 0.2])
        .add_node("hose", [0, 1], [0.5, 0.5])
    )
    assert net.graph_.parents["wet"] == ("rain", "hose")
    net = net.add_node("wet", [0, 1]).set_cpt("wet", [[[1, 0], [0.5, 0.5]], [[0.4, 0.6], [0, 1]]])
    assert net.query("wet")[1] == pytest.approx(0.4 * 0.5 + 0.1 * 0.6 + 0.1)
    fitted = BayesNetwork({"wet": ["rain"]}).set_cpt("rain", {0: 0.9, 1: 0.1}).fit({"rain": [0, 1], "wet": [0, 1]})
    assert fitted.query("rain") == pytest.approx({0: 0.9, 1: 0.1})
    assert fitted.graph_.arcs == (("rain", "wet"),)


@pytest.mark.parametrize("ask", ["query", "cpt", "explain"])
def test_a_query_that_needs_tables_says_which_are_absent(ask: str) -> None:
    net = BayesNetwork([("rain", "wet"), ("hose", "wet")]).add_node("rain", [0, 1], [0.8, 0.2])
    with pytest.raises(OptionError, match=r"'wet', 'hose' have no CPT\. Hint: call net\.set_cpt\('wet', \.\.\.\)"):
        getattr(net, ask)("wet")
    assert net.d_separated("rain", "hose")


def test_d_separation_is_that_of_networkx_for_random_graphs() -> None:
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    for _ in range(40):
        arcs = [(f"n{i}", f"n{j}") for j in range(7) for i in range(j) if rng.random() < 0.3]
        net, graph = BayesNetwork(arcs or {"n0": []}), networkx.DiGraph(arcs or [])
        nodes = list(net.graph_)
        if len(nodes) < 3:
            continue
        a, b, *given = rng.permutation(nodes)[: 2 + rng.integers(0, len(nodes) - 1)].tolist()
        assert net.d_separated(a, b, given) == networkx.is_d_separator(graph, {a}, {b}, set(given))


def test_the_paths_of_a_graph_are_those_of_networkx_and_agree_with_d_separation() -> None:
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(60):
        arcs = [(f"n{i}", f"n{j}") for j in range(6) for i in range(j) if rng.random() < 0.35]
        net, graph = BayesNetwork(arcs or {"n0": []}), networkx.DiGraph(arcs)
        nodes = list(net.graph_)
        if len(nodes) < 3:
            continue
        a, b, *given = rng.permutation(nodes)[: 2 + rng.integers(0, len(nodes) - 1)].tolist()
        account = net.explain_d_separated(a, b, given)
        table = account.sections[0].table
        separated = net.d_separated(a, b, given)
        assert ("are d-separated" in account.answer) is separated
        assert account.value == separated
        if len(table["path"]) < 24:
            assert ("open" not in table["state"]) is separated
            expected = {tuple(path) for path in networkx.all_simple_paths(graph.to_undirected(), a, b)}
            assert {tuple(path.replace("←", "→").split(" → ")) for path in table["path"]} == expected
        seen |= {reason.split(" ")[0] for reason in table["because"]}
    assert {"arcs", "the", "no"} <= seen


def test_the_paths_say_what_blocks_them() -> None:
    net = BayesNetwork({"wet": ["rain", "hose"], "slip": ["wet"]})
    table = net.explain_d_separated("rain", "hose").sections[0].table
    assert dict(table) == {
        "path": ["rain → wet ← hose"],
        "state": ["blocked"],
        "because": ["arcs meet at wet, and neither it nor a descendant is given"],
    }
    assert net.explain_d_separated("rain", "hose", "slip").sections[0].table["because"] == [
        "arcs meet at wet, and a descendant is given"
    ]
    assert net.explain_d_separated("rain", "slip", "wet").sections[0].table["because"] == ["wet is given"]
    assert "No path connects them" in str(BayesNetwork({"a": [], "b": []}).explain_d_separated("a", "b"))
    assert "not separated from itself" in str(net.explain_d_separated("rain", ["rain", "hose"]))
    with pytest.raises(OptionError, match="'hosr'"):
        net.explain_d_separated("rain", "hosr")


def test_a_graph_with_many_paths_shows_the_shortest() -> None:
    arcs = [(f"n{i:02}", f"n{j:02}") for j in range(40) for i in range(j)]
    text = str(BayesNetwork(arcs).explain_d_separated("n00", "n39"))
    assert "n00 → n39" in text
    assert "The first 24 paths are shown" in text
