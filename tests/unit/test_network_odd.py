"""Networks with odd input: numbers alone, far numbers, long evidence, gaps above the class, evidence that is none."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from countwise import BayesNetwork, NetworkClassifier


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# -- numbers ---------------------------------------------------------------------------------------------------


def test_a_network_of_numbers_alone_has_a_likelihood():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(3, 2, size=50)
    net = BayesNetwork().fit({"x": x, "y": y})
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


def test_numbers_that_contradict_each_other_by_far_are_weighed_with_gaps_as_without():
    rows = far_apart()
    frame = pd.DataFrame({"x": rows["x"], "z": -rows["x"], "a": rows["d"], "b": rows["d"]})
    arcs = [("class", "x"), ("class", "z"), ("class", "a"), ("a", "b")]
    model = NetworkClassifier(arcs).fit(frame, rows["c"])
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
    model = NetworkClassifier([("b", "class"), ("class", "d")]).fit({"b": b, "d": d}, y)
    for row in ({"b": [None], "d": ["p"]}, {"b": [None], "d": [None]}, {"b": ["u"], "d": ["p"]}):
        row = {name: objects(cells) for name, cells in row.items()}
        working = model.explain(row)
        logs = np.sum([[f.log for f in step.factors] for step in (working.prior, *working.used)], axis=0)
        share = np.exp(logs - logs.max())
        np.testing.assert_allclose(share / share.sum(), model.predict_proba(row)[0], atol=1e-12)
        assert "class" in str(working)
