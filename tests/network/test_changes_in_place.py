"""Methods that change a network: all do so in place, return the network, and leave it unchanged if they fail."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone

from countwise import BayesNetwork, BayesNetworkClassifier, samples
from countwise.errors import CountwiseError

TENNIS = samples.load("tennis").frame
THREE = {name: TENNIS[name] for name in ("outlook", "wind", "play")}


def by_hand():
    return BayesNetwork({"wet": ["rain"]}).add_node("rain", [0, 1], [0.8, 0.2]).add_node("wet", [0, 1])


def fitted():
    return BayesNetwork({"wind": ["play"], "outlook": ["play"]}).fit(THREE)


def classifier():
    return BayesNetworkClassifier("naive").fit(THREE, "play")


CHANGES = {
    "add_node": (by_hand, lambda net: net.add_node("hose", [0, 1])),
    "add_arc": (by_hand, lambda net: net.add_arc("hose", "wet")),
    "remove_arc": (by_hand, lambda net: net.remove_arc("rain", "wet")),
    "set_cpt": (by_hand, lambda net: net.set_cpt("wet", [[1, 0], [0.5, 0.5]])),
    "add_node, fitted": (fitted, lambda net: net.add_node("humidity", X=TENNIS, parents="play")),
    "add_arc, fitted": (fitted, lambda net: net.add_arc("outlook", "wind", TENNIS)),
    "remove_arc, fitted": (fitted, lambda net: net.remove_arc("play", "wind", TENNIS)),
    "partial_fit": (fitted, lambda net: net.partial_fit(THREE)),
    "forget": (fitted, lambda net: net.forget({name: column[:1] for name, column in THREE.items()})),
    "fit": (fitted, lambda net: net.fit(THREE)),
    "add_node, classifier": (classifier, lambda net: net.add_node("humidity", TENNIS, "play", parents="play")),
    "add_arc, classifier": (classifier, lambda net: net.add_arc("outlook", "wind", TENNIS, "play")),
    "remove_arc, classifier": (classifier, lambda net: net.remove_arc("play", "wind", TENNIS, "play")),
    "partial_fit, classifier": (classifier, lambda net: net.partial_fit(THREE, "play")),
}  # fmt: skip


def what(net):
    tallies = {name: tally.to_dict() for name, tally in getattr(net, "tallies_", {}).items()}
    return repr((net.get_params(), net.graph_, tallies))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_made_in_place_and_returns_the_network(name):
    make, change = CHANGES[name]
    net = make()
    before = what(net)
    assert change(net) is net
    assert (what(net) != before) is (name != "fit")


@pytest.mark.parametrize("kind", [BayesNetwork, BayesNetworkClassifier])
@pytest.mark.parametrize("method", ["add_node", "add_arc", "remove_arc"])
def test_every_method_that_changes_a_network_says_so(kind, method):
    assert "in place" in getattr(kind, method).__doc__.split("Parameters")[0]
    assert "in place" in BayesNetwork.set_cpt.__doc__.split("Parameters")[0]


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (by_hand, lambda net: net.add_node("hose", [0, 1], [0.5, 0.6])),
        (by_hand, lambda net: net.add_node("hose", [0, 0])),
        (by_hand, lambda net: net.add_arc("wet", "rain")),
        (by_hand, lambda net: net.remove_arc("wet", "rain")),
        (by_hand, lambda net: net.remove_arc("hose", "wet")),
        (by_hand, lambda net: net.remove_arc(1, "wet")),
        (by_hand, lambda net: net.remove_arc(np.array([1, 2]), "wet")),
        (by_hand, lambda net: net.set_cpt("wet", [1, 0])),
        (fitted, lambda net: net.remove_arc("play", "wind")),
        (fitted, lambda net: net.add_arc("outlook", "wind", {"wind": ["Weak"]})),
        (fitted, lambda net: net.add_node("humidity", X=THREE, parents="play")),
        (classifier, lambda net: net.add_arc("wind", "play", THREE)),
    ],
)
def test_a_change_that_fails_leaves_the_network_as_it_is(make, change):
    net = make()
    before = what(net)
    with pytest.raises(CountwiseError):
        change(net)
    assert what(net) == before


def test_an_arc_by_hand_is_removed_with_the_table_that_depends_on_it():
    net = by_hand().set_cpt("wet", [[1, 0], [0.5, 0.5]])
    other = copy.deepcopy(net)
    assert net.query("wet")[1] == pytest.approx(0.1)
    net.remove_arc("rain", "wet")
    with pytest.raises(CountwiseError, match="'wet' has no CPT"):
        net.query("wet")
    assert net.set_cpt("wet", [0.3, 0.7]).query("wet") == pytest.approx({0: 0.3, 1: 0.7})
    assert other.query("wet")[1] == pytest.approx(0.1)
    assert clone(net).query("wet") == pytest.approx({0: 0.3, 1: 0.7})
