"""Networks with odd input: numbers alone, far numbers, long evidence, gaps above the class, evidence that is none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from countwise import BayesNetwork, BayesNetworkClassifier
from countwise.errors import OptionError, ReadError
from countwise.plots import draw_network


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# -- numbers ---------------------------------------------------------------------------------------------------


def test_a_network_of_numbers_alone_has_a_likelihood():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(3, 2, size=50)
    net = BayesNetwork({}).fit({"x": x, "y": y})
    wanted = norm.logpdf(x, x.mean(), x.std(ddof=1)) + norm.logpdf(y, y.mean(), y.std(ddof=1))
    np.testing.assert_allclose(net.score_samples({"x": x, "y": y}), wanted, atol=1e-12)
    alone = net.score_samples({"x": [x[0], np.nan], "y": [np.nan, np.nan]})
    assert alone[1] == 0
    assert alone[0] == pytest.approx(norm.logpdf(x[0], x.mean(), x.std(ddof=1)), abs=1e-12)


def far_apart():
    """Two classes a thousand deviations apart."""
    rng = np.random.default_rng(0)
    c = np.repeat(["near", "far"], 40)
    x = np.where(c == "far", 1000.0, 0.0) + rng.normal(size=80)
    return {"c": c, "d": rng.choice(["u", "v"], 80), "x": x}


def test_a_number_far_from_its_own_combination_is_improbable_and_not_impossible():
    net = BayesNetwork({"x": ["c"], "d": ["c"]}).fit(far_apart())
    x = net.net_.densities["x"]
    wanted = norm.logpdf(1000.0, x.mean, x.sd)
    logs = net.score_samples({"c": ["near", "far"], "d": ["u", None], "x": [1000.0, 1000.0]})
    near = net.net_.attributes["c"].values.index("near")
    p = net.query("c")["near"] * net.query("d", {"c": "near"})["u"]
    assert logs[0] == pytest.approx(wanted[near] + math.log(p), rel=1e-12)
    assert np.isfinite(logs[1])
    assert net.log_evidence({"c": "near", "x": 1000.0}) == pytest.approx(
        wanted[near] + math.log(net.query("c")["near"]), rel=1e-12
    )
    told = net.query("d", {"c": "near"})
    for ask in (net.query("d", {"c": "near", "x": 1000.0}), net.marginals({"c": "near", "x": 1000.0})["d"]):
        assert ask == pytest.approx(told, abs=1e-12)
    drawn = net.query("d", {"c": "near", "x": 1000.0}, method="likelihood_weighting", n=4000)
    assert drawn["u"] == pytest.approx(told["u"], abs=0.05)


def test_many_numbers_that_speak_for_both_are_weighed():
    rng = np.random.default_rng(0)
    c = np.repeat(["near", "far"], 40)
    rows = {f"x{i}": np.where((c == "far") ^ (i % 2 == 0), 4.0, 0.0) + rng.normal(size=80) for i in range(300)}
    net = BayesNetwork("naive", target="c").fit({"c": c, **rows})
    known = {f"x{i}": 0.0 for i in range(300)}
    logs = np.log(list(net.query("c").values()))
    for name in known:
        density = net.net_.densities[name]
        logs = logs + norm.logpdf(0.0, density.mean, density.sd)
    wanted = np.exp(logs - np.logaddexp(*logs))
    for ask in (net.query("c", known), net.marginals(known)["c"]):
        np.testing.assert_allclose(list(ask.values()), wanted, atol=1e-9)
    assert net.log_evidence(known) == pytest.approx(np.logaddexp(*logs), rel=1e-12)


def test_numbers_that_contradict_each_other_by_far_are_weighed_with_gaps_as_without():
    rows = far_apart()
    frame = pd.DataFrame({"x": rows["x"], "z": -rows["x"], "a": rows["d"], "b": rows["d"]})
    arcs = [("class", "x"), ("class", "z"), ("class", "a"), ("a", "b")]
    model = BayesNetworkClassifier(arcs).fit(frame, rows["c"])
    ask = pd.DataFrame({"x": [0.0, 0.0], "z": [-1000.0, -1000.0], "a": ["u", None], "b": ["u", "u"]})
    joint = model.predict_joint_log_proba(ask)
    both = [{"x": [0.0], "z": [-1000.0], "a": [a], "b": ["u"]} for a in ("u", "v")]
    each = [model.predict_joint_log_proba(pd.DataFrame(one))[0] for one in both]
    wanted = np.logaddexp(*each)
    best = int(np.argmax(wanted))
    assert joint[1, best] == pytest.approx(wanted[best], rel=1e-12)
    assert model.predict_proba(ask)[1].tolist() == np.eye(2)[best].tolist()


# -- gaps above the class ------------------------------------------------------------------------------------------


def test_the_working_of_a_class_whose_parent_is_missing():
    rng = np.random.default_rng(0)
    b = rng.choice(["u", "v"], 200)
    y = np.where((b == "u") ^ (rng.random(200) < 0.1), "yes", "no")
    d = np.where((y == "yes") ^ (rng.random(200) < 0.2), "p", "q")
    model = BayesNetworkClassifier([("b", "class"), ("class", "d")]).fit({"b": b, "d": d}, y)
    for row in ({"b": [None], "d": ["p"]}, {"b": [None], "d": [None]}, {"b": ["u"], "d": ["p"]}):
        row = {name: objects(cells) for name, cells in row.items()}
        working = model.explain(row)
        logs = np.sum([[f.log for f in step.factors] for step in (working.prior, *working.used)], axis=0)
        share = np.exp(logs - logs.max())
        np.testing.assert_allclose(share / share.sum(), model.predict_proba(row)[0], atol=1e-12)
        assert "class" in str(working)


# -- evidence ------------------------------------------------------------------------------------------------------


def long_evidence(n=130):
    """So many improbable things are known that their probability is less than the least number above 0."""
    net = BayesNetwork().add_node("c", ["u", "v"], [0.3, 0.7])
    known = {}
    for i in range(n):
        net.add_node(f"a{i}", ["no", "yes"]).add_arc("c", f"a{i}").set_cpt(f"a{i}", [[0.999, 0.001], [0.998, 0.002]])
        known[f"a{i}"] = "yes" if i % 2 else "no"
        if i % 2 == 0:
            net.add_node(f"b{i}", ["no", "yes"]).add_arc("c", f"b{i}").set_cpt(
                f"b{i}", [[0.998, 0.002], [0.999, 0.001]]
            )
            known[f"b{i}"] = "yes"
    return net, known


def test_much_improbable_evidence_is_not_impossible():
    net, known = long_evidence()
    yes = sum(1 for name, value in known.items() if value == "yes" and name[0] == "a")
    also = sum(1 for name in known if name[0] == "b")
    no = len(known) - yes - also
    u = math.log(0.3) + yes * math.log(0.001) + also * math.log(0.002) + no * math.log(0.999)
    v = math.log(0.7) + yes * math.log(0.002) + also * math.log(0.001) + no * math.log(0.998)
    assert net.log_evidence(known) == pytest.approx(np.logaddexp(u, v), rel=1e-12)
    assert net.log_evidence(known) < -800
    wanted = 1 / (1 + math.exp(v - u))
    assert net.query("c", known)["u"] == pytest.approx(wanted, rel=1e-9)
    assert net.marginals(known)["c"]["u"] == pytest.approx(wanted, rel=1e-9)
    assert net.most_probable_explanation(known) == {"c": "u" if u > v else "v"}
    for method in ("likelihood_weighting", "gibbs"):
        assert net.query("c", known, method=method, n=20_000)["u"] == pytest.approx(wanted, abs=0.02)


def test_the_slopes_of_an_answer_from_improbable_evidence():
    net, known = long_evidence(70)
    found = net.sensitivity("c", "u", known)
    wanted = net.query("c", known)["u"]
    slopes = dict(zip(found["entry"], found["derivative"], strict=True))
    assert slopes["P(c = u)"] == pytest.approx(wanted * (1 - wanted) / (0.3 * 0.7), rel=1e-9)


def test_the_most_probable_row_of_many_nodes_is_found():
    net = BayesNetwork()
    for i in range(260):
        net.add_node(f"n{i}", list(range(20)), np.eye(20)[7] * 0.01 + 0.0495)
    assert set(net.most_probable_explanation().values()) == {7}


@pytest.mark.parametrize("gap", [None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
@pytest.mark.parametrize("arcs", [{"c": ["x"]}, {"x": ["c"]}])
def test_a_gap_in_the_evidence_is_not_known(gap, arcs):
    rows = far_apart()
    net = BayesNetwork(arcs).fit({"c": rows["c"], "x": rows["x"]})
    assert net.query("c", {"x": gap}) == net.query("c")
    assert net.log_evidence({"x": gap, "c": gap}) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"x": "warm"}, "'x' is numeric, but its evidence 'warm' is not a number."),
        ({"x": [1.0]}, "'x' is numeric"),
        ({"x": np.array([1.0, 2.0])}, "'x' is numeric"),
        ({"x": {"a": 1}}, "'x' is numeric"),
        ({"x": float("inf")}, "'x' must be a finite number, not inf."),
    ],
)
def test_evidence_on_a_number_that_is_none_is_told(given, told):
    rows = far_apart()
    net = BayesNetwork({"x": ["c"]}).fit({"c": rows["c"], "x": rows["x"]})
    for ask in (
        lambda: net.query("c", given),
        lambda: net.marginals(given),
        lambda: net.most_probable_explanation(given),
    ):
        with pytest.raises(OptionError, match=told):
            ask()


def test_a_node_that_is_asked_for_twice_is_told():
    net = BayesNetwork().add_node("c", ["u", "v"], [0.3, 0.7])
    with pytest.raises(OptionError, match="The query contains node 'c' twice"):
        net.query(["c", "c"])


def test_a_number_is_told_from_soft_evidence_in_any_form():
    rows = far_apart()
    net = BayesNetwork({"x": ["c"]}).fit({"c": rows["c"], "x": rows["x"]})
    values = net.net_.attributes["c"].values
    wanted = net.query("x", {"c": {values[0]: 3, values[1]: 1}})
    for weights in ([3, 1], np.array([3.0, 1.0])):
        assert net.query("x", {"c": weights}) == wanted


@pytest.mark.parametrize(
    ("queried", "given", "told"), [("c", "d", "must be a mapping"), ("c", ["d"], "must be a mapping"), (3, None, "3")]
)
def test_questions_of_another_kind_are_told(queried, given, told):
    net = BayesNetwork().add_node("c", ["u", "v"], [0.3, 0.7]).add_node("d", ["u", "v"], [0.3, 0.7])
    with pytest.raises(OptionError, match=told):
        net.query(queried, given)


# -- structure ---------------------------------------------------------------------------------------------------


def hanging_together(n=200):
    rng = np.random.default_rng(0)
    c = rng.choice(["u", "v"], n)
    d = np.where(rng.random(n) < 0.8, c, rng.choice(["u", "v"], n))
    x = rng.normal(size=n) + (c == "u")
    z = x + rng.normal(size=n)
    return {"c": c, "d": d, "x": x, "z": z, "w": x - z + rng.normal(size=n)}


@pytest.mark.parametrize("structure", ["chow_liu", "tan", "naive"])
@pytest.mark.parametrize(
    "how",
    [
        {"forbidden": [("c", "d"), ("d", "c")]},
        {"required": [("d", "x"), ("d", "z"), ("d", "w")]},
        {"tiers": [["d"], ["c", "x", "z", "w"]]},
    ],
)
def test_what_a_tree_cannot_keep_is_told_and_not_dropped(structure, how):
    with pytest.raises(OptionError, match=r"required arc|forbidden arc"):
        BayesNetwork(structure, target="c", root="c" if structure == "chow_liu" else None, **how).fit(
            hanging_together()
        )


def test_an_arc_by_hand_that_a_tree_would_drop_is_told():
    with pytest.raises(OptionError, match="omits a required arc: w → z"):
        BayesNetwork("chow_liu").add_arc("w", "z").fit(hanging_together())


def test_the_search_over_orderings_sees_numbers_too():
    rows = {name: cells for name, cells in hanging_together().items() if name != "d"}
    best = max(BayesNetwork("ordering", order=order).fit(rows).found_.score for order in itertools.permutations(rows))
    assert BayesNetwork("orders", restarts=5).fit(rows).found_.score == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("size", [2.5, "ab", True, 0, -1, []])
def test_a_latent_node_needs_a_number_of_values_or_a_list(size):
    with pytest.raises(OptionError, match="latent node 'h' needs"):
        BayesNetwork({"c": ["h"]}, latent={"h": size}).fit({"c": hanging_together()["c"]})


def test_texts_below_a_class_are_drawn_and_not_asked_for():
    rows = {"t": objects(["buy now", "hello you"] * 30), "a": objects(["u", "v", "v"] * 20)}
    model = BayesNetworkClassifier("tan", types={"t": "text"}).fit(rows, ["spam", "ham"] * 30)
    assert all(isinstance(text, str) for text in model.sample(5, random_state=0)["t"])
    with pytest.raises(OptionError, match="has no mean"):
        model.query("t")
    with pytest.raises(OptionError, match="'t' is neither nominal nor numeric"):
        model.query("class", {"t": "buy now"})


# -- what is no setting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [["yes"], {"u": "much"}, {"u": None}, [[1], [2, 3]]])
def test_weights_that_are_no_numbers_are_told(weights):
    net = BayesNetwork().add_node("a", ["u", "v"], [0.4, 0.6])
    with pytest.raises(OptionError, match="Soft evidence on 'a' needs a weight"):
        net.log_evidence({"a": weights})


def test_settings_of_the_wrong_kind_are_told():
    rows = {"a": ["x", "y"] * 5, "b": ["u", "v"] * 5}
    with pytest.raises(OptionError, match="The values of node 'a' must be a list, not 3"):
        BayesNetwork().add_node("a", 3)
    with pytest.raises(OptionError, match="number of values"):
        BayesNetwork({"a": ["kind"]}, latent=["kind"]).fit(rows)
    for setting in ("required", "forbidden"):
        with pytest.raises(OptionError, match=f"{setting} must be a list of arcs, not 'a'"):
            BayesNetwork("hill_climb", **{setting: "a"}).fit(rows)


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "a.bif").write_bytes(b"network \xff\xfe {}")
    with pytest.raises(ReadError, match="is not UTF-8 text"):
        BayesNetwork.read_bif(tmp_path / "a.bif")


def test_an_entry_that_cannot_matter_has_no_rounding_for_a_derivative():
    net = (
        BayesNetwork()
        .add_node("a", ["u", "v", "w"], [0.63, 0.27, 0.1])
        .add_arc("a", "b")
        .add_arc("a", "c")
        .add_arc("b", "c")
    )
    net = net.add_node("b", [0, 1], [[0.836124, 0.163876], [0.7, 0.3], [0.6, 0.4]])
    net = net.add_node(
        "c", [0, 1], [[[0.15, 0.85], [0.49, 0.51]], [[0.3, 0.7], [0.6, 0.4]], [[0.2, 0.8], [0.1, 0.9]]]
    )
    told = str(net.sensitivity("c", 0, {"a": "u"}))
    assert "P(c = 0 | a = u, b = 0)" in told
    assert "e-1" not in told


def test_a_network_without_arcs_is_told_to_be_one():
    with pytest.warns(match="all nodes are independent"):
        BayesNetwork().fit({"a": ["x", "y"], "b": ["u", "v"]})


def test_impossible_evidence_has_the_log_probability_of_nothing():
    net = BayesNetwork().add_node("a", ["x", "y"], [1.0, 0.0])
    assert net.log_evidence({"a": "y"}) == -np.inf
    assert net.log_evidence({"a": "x"}) == 0.0


def test_numbers_that_speak_against_each_other_by_thousands_of_nats_are_weighed():
    x = np.array([0, 0, 0, 0, 0, 0, 0.125, 0.0])
    y = np.array([np.nan, 0, 0, 0.125, 0, 0, 0, -0.75])
    frame = {
        "a": np.array(["u", "u", None, "u", "v", None, "u", "u"], dtype=object),
        "b": np.array(["u", "v", "u", "v", "u", "u", "v", "u"], dtype=object),
        "c": np.array(["u", None, "u", "v", "u", "u", "u", "u"], dtype=object),
        "x": x,
        "y": y,
    }
    told = np.array(["maybe", "no", "maybe", "maybe", "yes", "maybe", "no", "yes"], dtype=object)
    model = BayesNetworkClassifier("tan", missing="available").fit(frame, told)
    together = model.predict_joint_log_proba(frame)
    for i in range(8):
        alone = model.predict_joint_log_proba({name: column[i : i + 1] for name, column in frame.items()})
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-12)
        assert np.isfinite(alone).all()


def test_marginals_of_a_network_of_numbers_given_numbers():
    rows = {"rain": [0.0, 1.0, 0.0, 1.0], "hose": [0.0, 0.0, 1.0, 1.0], "wet": [0.0, 1.0, 1.0, 1.0]}
    net = BayesNetwork({"wet": ["rain", "hose"]}).fit(rows)
    assert net.marginals({"rain": 1.0}) == {}
    assert "given" in draw_network(net, {"rain": 1.0})
    both = {"rain": 1.0, "hose": 0.0}
    assert net.log_evidence(both) == pytest.approx(net.log_evidence({"rain": 1.0}) + net.log_evidence({"hose": 0.0}))
