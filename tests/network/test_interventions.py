"""Interventions: graph surgery, exact and sampled, and the working that compares setting with observing."""

from __future__ import annotations

import itertools
import json
from xml.etree import ElementTree

import numpy as np
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier, samples
from countwise.errors import OptionError
from countwise.plots import draw_network


def sprinkler() -> BayesNetwork:
    net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).add_arc("rain", "sprinkler")
    net = net.add_node("sprinkler", ["off", "on"], {"no": [0.6, 0.4], "yes": [0.99, 0.01]})
    net = net.add_arc("rain", "wet").add_arc("sprinkler", "wet").add_node("wet", ["no", "yes"])
    return net.set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]])


def test_an_intervention_says_nothing_about_the_causes():
    net = sprinkler()
    assert net.query("rain", do={"sprinkler": "on"}) == pytest.approx({"no": 0.8, "yes": 0.2})
    assert net.query("rain", {"sprinkler": "on"})["yes"] == pytest.approx(0.002 / 0.322)
    # P(wet | do(sprinkler = on)) = Σ P(rain) P(wet | rain, on)
    assert net.query("wet", do={"sprinkler": "on"})["yes"] == pytest.approx(0.8 * 0.9 + 0.2 * 0.99)
    found = net.query("rain", {"wet": "yes"}, do={"sprinkler": "on"})
    assert found["yes"] == pytest.approx(0.198 / 0.918)
    assert found.cut == (("rain", "sprinkler"),)
    assert str(found).splitlines()[0] == "P(rain | do(sprinkler = on), wet = yes)"
    assert str(found).splitlines()[-1] == "arcs cut: rain → sprinkler"
    assert "arcs cut" in found.latex()
    assert "arcs cut" in found._repr_html_()


def test_the_network_itself_keeps_its_arcs():
    net = sprinkler()
    before = net.query("rain", {"sprinkler": "on"})
    net.query("rain", do={"sprinkler": "on"})
    assert net.graph_.parents["sprinkler"] == ("rain",)
    assert net.query("rain", {"sprinkler": "on"}) == before


def test_adjustment_by_the_parents_gives_the_same():
    # P(y | do(x)) = Σ over the parents of x: P(y | x, parents) P(parents)
    net = BayesNetwork(
        {"humidity": ["outlook", "temperature"], "play": ["humidity", "outlook"], "wind": ["play"]}
    ).fit(samples.load("tennis").frame)
    expected = dict.fromkeys(("No", "Yes"), 0.0)
    for (outlook, temperature), p in net.query(["outlook", "temperature"]).items():
        given = {"humidity": "High", "outlook": outlook, "temperature": temperature}
        for value, q in net.query("play", given).items():
            expected[value] += p * q
    assert net.query("play", do={"humidity": "High"}) == pytest.approx(expected)
    assert net.query("play", do={"wind": "Weak"}) == pytest.approx(net.query("play"))


@pytest.mark.parametrize("method", ["likelihood_weighting", "gibbs"])
def test_sampling_agrees_with_the_exact_answer(method):
    net = sprinkler()
    for do, given in itertools.product([{"sprinkler": "on"}, {"wet": "yes"}], [{}, {"wet": "no"}]):
        if set(do) & set(given):
            continue
        exact = net.query("rain", given, do=do)
        found = net.query("rain", given, do=do, method=method, n=20_000, random_state=1)
        assert abs(found["yes"] - exact["yes"]) < 5 * found.errors["yes"] + 1e-9
        assert found.cut == exact.cut


def test_rows_of_an_intervention_are_drawn():
    net = sprinkler()
    rows = net.sample(4000, 0, do={"sprinkler": "on"})
    assert set(rows["sprinkler"]) == {"on"}
    assert abs(np.mean(rows["rain"] == "yes") - 0.2) < 0.03
    assert abs(np.mean(rows["wet"] == "yes") - 0.918) < 0.03


def test_marginals_and_several_nodes_after_an_intervention():
    net = sprinkler()
    every = net.marginals({"wet": "yes"}, do={"sprinkler": "on"})
    assert every["sprinkler"] == pytest.approx({"off": 0, "on": 1})
    assert every["rain"] == pytest.approx(net.query("rain", {"wet": "yes"}, do={"sprinkler": "on"}))
    joint = net.query(["rain", "wet"], do={"sprinkler": "on"})
    assert joint["yes", "yes"] == pytest.approx(0.2 * 0.99)
    one = net.query("rain", {"wet": {"no": 1, "yes": 3}}, do={"sprinkler": "on"})
    assert one["yes"] == pytest.approx(0.2 * (0.01 + 2.97) / (0.2 * 2.98 + 0.8 * 2.8))


def linear(n=3000):
    rng = np.random.default_rng(0)
    side = rng.choice(["a", "b"], n)
    x = rng.normal(np.where(side == "a", 0, 2), 1)
    y = 2 * x + np.where(side == "a", 1, 5) + rng.normal(0, 0.5, n)
    z = x - y + rng.normal(0, 1, n)
    return BayesNetwork({"x": ["side"], "y": ["x", "side"], "z": ["x", "y"]}, smoothing=0).fit(
        {"side": side, "x": x, "y": y, "z": z}
    )


def test_a_number_that_is_set_goes_into_the_regressions_of_its_children():
    net = linear()
    sides, line = net.query("side"), net.net_.densities["y"]
    by_side = [line.intercept[i] + line.slope[i, 0] * 1.5 for i in range(2)]
    expected = sides["a"] * by_side[0] + sides["b"] * by_side[1]
    found = net.query("y", do={"x": 1.5})
    assert found["mean"] == pytest.approx(expected)
    variance = sum(p * (line.sd[i] ** 2 + (by_side[i] - expected) ** 2) for i, p in enumerate(sides.values()))
    assert found["sd"] == pytest.approx(variance**0.5)
    assert found.cut == (("side", "x"),)
    assert net.query("side", do={"x": 1.5}) == pytest.approx(sides)
    assert net.query("side", {"x": 1.5})["a"] != pytest.approx(sides["a"])
    # y is set: x keeps its distribution, z follows both
    assert net.query("x", do={"y": 3.0}) == pytest.approx(net.query("x"))
    after = net.net_.densities["z"]
    mean = after.intercept[0] + after.slope[0] @ [net.query("x")["mean"], 3.0]
    assert net.query("z", do={"y": 3.0})["mean"] == pytest.approx(mean)
    rows = net.sample(2000, 0, do={"x": 1.5})
    assert set(rows["x"]) == {1.5}
    assert abs(np.mean(rows["y"]) - expected) < 0.2
    assert list(rows) == ["side", "x", "y", "z"]
    assert "p(x | side) is left out." in str(net.explain("side", {"y": 4.0}, do={"x": 1.5}))


def test_the_number_of_a_discretized_node_is_its_bin():
    weather = samples.load("weather")
    net = BayesNetwork([("temperature", "humidity")], distributions="binned").fit(
        weather.columns("temperature", "humidity")
    )
    value = net.net_.values("temperature")[0]
    low = min(net.cuts_["temperature"]) - 1
    assert net.query("humidity", do={"temperature": low}) == pytest.approx(
        net.query("humidity", do={"temperature": value})
    )


def test_a_classifier_takes_interventions_too():
    tennis = samples.load("tennis")
    model = BayesNetworkClassifier("naive").fit(tennis.frame, "play")
    assert model.query("play", do={"wind": "Weak"}) == pytest.approx(model.query("play"))
    assert model.query("wind", do={"play": "No"}) == pytest.approx(model.query("wind", {"play": "No"}))


def test_the_working_shows_the_surgery_and_compares_setting_with_observing():
    working = sprinkler().explain("rain", {"wet": "yes"}, do={"sprinkler": "on"})
    sections = {section.title: section for section in working.sections}
    first, last = sections["The intervention"], sections["Setting and observing"]
    assert first.lines[0] == (
        "do(sprinkler = on): the arcs into sprinkler are cut: rain → sprinkler. "
        "In place of P(sprinkler | rain) stands 1."
    )
    assert first.lines[1] == "P(rain, wet | do(sprinkler = on)) = P(rain) · P(wet | rain, sprinkler = on)"
    assert last.table["P(rain | do(sprinkler = on), wet = yes)"] == pytest.approx([0.72 / 0.918, 0.198 / 0.918])
    assert last.table["P(rain | sprinkler = on, wet = yes)"] == pytest.approx([0.288 / 0.28998, 0.00198 / 0.28998])
    assert "P(sprinkler" not in "".join(sections)
    assert json.loads(json.dumps(working.to_dict()))
    same = sprinkler().explain("wet", do={"rain": "yes"}).sections
    assert "no arc leads into rain" in same[0].lines[0]
    assert "give the same distribution" in same[-1].lines[0]


def test_an_observation_of_probability_zero_can_still_be_set():
    net = BayesNetwork().add_node("a", [0, 1], [1.0, 0.0]).add_arc("a", "b").add_node("b", [0, 1], [[1, 0], [0, 1]])
    assert net.query("b", do={"a": 1}) == {0: 0.0, 1: 1.0}
    assert "is not defined" in str(net.explain("b", do={"a": 1}))


@pytest.mark.parametrize(
    ("nodes", "given", "do", "message"),
    [
        ("rain", None, {"sprinkler": "of"}, "no value 'of'"),
        ("rain", None, {"sprinklr": "on"}, "no node 'sprinklr'"),
        ("rain", None, {"sprinkler": {"on": 1, "off": 2}}, "do sets 'sprinkler' to one value"),
        ("rain", None, {"sprinkler": None}, "missing value"),
        ("rain", {"sprinkler": "on"}, {"sprinkler": "on"}, "both observed and set"),
        ("sprinkler", None, {"sprinkler": "on"}, "is set by do, so it cannot be queried"),
        ("rain", None, "sprinkler", "do must be a mapping"),
        ("rain", None, ["sprinkler"], "do must be a mapping"),
    ],
)
def test_an_intervention_that_makes_no_sense_is_refused(nodes, given, do, message):
    for ask in (sprinkler().query, sprinkler().explain):
        with pytest.raises(OptionError, match=message):
            ask(nodes, given, do=do)


def test_a_drawing_marks_the_nodes_that_are_set_and_the_arcs_that_are_cut():
    picture = draw_network(sprinkler(), {"wet": "yes"}, do={"sprinkler": "on"})
    ElementTree.fromstring(picture)
    assert picture.count('class="arc cut"') == 1
    assert "rain → sprinkler: cut" in picture
    assert picture.count('class="arc"') == 2
    assert 'class="node nominal set"' in picture
    assert 'class="node nominal given"' in picture
    assert "do(sprinkler = on), given wet = yes" in picture
    numbers = draw_network(linear(), do={"x": 1.5})
    ElementTree.fromstring(numbers)
    assert "= 1.5" in numbers
    assert "side → x: cut" in numbers
    assert draw_network(sprinkler(), {"wet": "yes"}) == draw_network(sprinkler(), {"wet": "yes"}, do={})


def test_the_most_probable_explanation_and_the_evidence_after_an_intervention():
    net = sprinkler()
    assert net.most_probable_explanation(do={"sprinkler": "on"}) == {"rain": "no", "wet": "yes"}
    assert net.most_probable_explanation({"wet": "no"}, do={"sprinkler": "on"}) == {"rain": "no"}
    assert net.log_evidence({"wet": "yes"}, do={"sprinkler": "on"}) == pytest.approx(np.log(0.918))
    assert net.log_evidence({"wet": "yes"}) == pytest.approx(
        np.log(0.8 * 0.4 * 0.9 + 0.2 * (0.99 * 0.8 + 0.01 * 0.99))
    )
