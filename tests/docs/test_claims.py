"""Each row of the README's table of peers is true.

scikit-learn and pyAgrum are installed with the tests. Orange and interpret come with `make bench`; their tests are
skipped without them. The number of Weka was computed by Weka 3.9.7.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from countwise import BayesNetwork, Discretizer, Gaussian, NaiveBayesClassifier, samples

DAY = [{"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}]


def test_scikit_learn_needs_numbers_without_missing_or_unseen_values():
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    with pytest.raises(ValueError, match="NaN"):
        GaussianNB().fit([[1.0], [np.nan], [3.0]], [0, 1, 1])
    with pytest.raises(ValueError, match=r"invalid literal|could not convert"):
        CategoricalNB().fit([["a"], ["b"]], [0, 1])
    with pytest.raises(IndexError):
        CategoricalNB().fit([[0], [1]], [0, 1]).predict([[2]])
    assert not hasattr(GaussianNB, "forget")
    assert "__add__" not in dir(GaussianNB)


def test_mixed_missing_and_unseen_values_go_into_one_model_that_merges_and_forgets():
    table = {"size": [1.0, None, 3.0, 2.5], "color": ["red", "blue", None, "red"], "y": ["a", "b", "b", "a"]}
    model = NaiveBayesClassifier().fit(table, "y")
    new = [{"size": None, "color": "green"}]
    assert model.predict_proba(new)[0].tolist() == [0.5, 0.5]
    twice = model + NaiveBayesClassifier().fit(table, "y")
    assert np.allclose(twice.forget(table, "y").predict_proba(table), model.predict_proba(table))


def test_raw_counts_and_other_smoothings_than_weka_s_can_be_chosen():
    tennis = samples.load("tennis")
    raw = NaiveBayesClassifier(smoothing=0).fit(tennis.frame, "play").explain(DAY)
    assert raw.exact_posterior[1] == Fraction(125, 611)
    weka = NaiveBayesClassifier(smoothing=1, prior="smoothed").fit(tennis.frame, "play").explain(DAY)
    assert weka.exact_posterior[1] == Fraction(392, 1481)


def test_the_divisor_of_the_variance_can_be_chosen():
    weather = samples.load("weather")
    day = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]
    for divisor, expected in (("n-1", 0.207902074), ("n", 0.193547254)):
        distributions = {name: Gaussian(divisor=divisor) for name in ("temperature", "humidity")}
        model = NaiveBayesClassifier(distributions, smoothing=0).fit(weather.frame, "play")
        assert model.predict_proba(day)[0, 1] == pytest.approx(expected, abs=1e-9)


def test_orange_bins_numeric_columns_and_finds_the_same_mdl_cut_points():
    Orange = pytest.importorskip("Orange")
    from Orange.preprocess.discretize import EntropyMDL

    penguins = samples.load("penguins")
    frame = pd.DataFrame(penguins.frame).dropna()
    data = Orange.data.table_from_frame(frame)
    data = data.transform(Orange.data.Domain([data.domain["bill_length_mm"]], data.domain["species"]))
    model = Orange.classification.NaiveBayesLearner()(data)
    assert len(model.domain.attributes[0].values) == 4
    cut = EntropyMDL()(data, "bill_length_mm").compute_value.points
    ours = Discretizer("mdl", columns=["bill_length_mm"]).fit(frame, "species").edges_["bill_length_mm"]
    assert list(ours) == pytest.approx(list(cut))


def test_pyagrum_refuses_missing_values_in_structure_learning():
    agrum = pytest.importorskip("pyagrum")
    tennis = pd.DataFrame(samples.load("tennis").frame).astype(object)
    tennis.loc[0, "outlook"] = "?"
    with pytest.raises(agrum.MissingValueInDatabase):
        agrum.BNLearner(tennis.astype(str), ["?"]).learnBN()


def test_structure_is_learned_with_missing_values_and_numeric_nodes():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 300).astype(object)
    height = rng.normal(np.where(sex == "m", 178, 166), 7)
    sex[:20], height[30:50] = None, np.nan
    net = BayesNetwork("hill_climb").fit({"sex": sex, "height": height})
    assert len(net.graph_.arcs) == 1
    posterior = net.query("sex", {"height": 185.0})
    assert posterior["m"] > 0.8
    assert "Eliminate" in str(
        BayesNetwork("chow_liu").fit(samples.load("tennis").frame).explain("play", {"wind": "Weak"})
    )


def test_interpret_trains_many_times_as_long_and_has_no_sql():
    glassbox = pytest.importorskip("interpret.glassbox")
    credit = samples.load("credit")
    X, y = pd.DataFrame(credit.X), credit.y

    def seconds(fit):
        start = time.perf_counter()
        fit()
        return time.perf_counter() - start

    peer = glassbox.ExplainableBoostingClassifier(n_jobs=1)
    theirs = seconds(lambda: peer.fit(X, y))
    ours = min(seconds(lambda: NaiveBayesClassifier("auto").fit(X, y)) for _ in range(3))
    assert theirs > 20 * ours
    assert not hasattr(peer, "to_sql")
    assert "SELECT" in NaiveBayesClassifier("mdl").fit(X, y).to_sql("applications")
