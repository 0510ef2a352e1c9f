"""A structure without parameters: d-separation, Markov blankets, drawing and networkx need no CPTs."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.exceptions import NotFittedError

from countwise import BayesNetwork
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
