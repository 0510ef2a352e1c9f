"""The same naive network, built with each of the three classes, has the same prior and the same posterior."""

from __future__ import annotations

import numpy as np
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier, MEstimate, NaiveBayesClassifier, load, samples, save
from countwise.errors import OptionError
from countwise.network import Dirichlet

SAMPLES = ("tennis", "loan", "cheat", "weather")


def columns_of(sample, missing, seed=0):
    """The nominal columns of a sample, with cells made missing."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in sample.X:
        cells = [str(cell) for cell in sample.X[name]]
        found[name] = [None if missing and rng.random() < 0.2 else cell for cell in cells]
    return found


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", [None, "raw", "smoothed", "uniform"])
def test_three_classes_give_the_same_posterior(name, missing, weighted, prior):
    sample = samples.load(name)
    columns, y = columns_of(sample, missing), [str(label) for label in sample.y]
    weights = np.linspace(0.5, 3, len(y)) if weighted else None
    settings = {} if prior is None else {"prior": prior}
    bayes = NaiveBayesClassifier(**settings).fit(columns, y, weights)
    tree = BayesNetworkClassifier("naive", **settings).fit(columns, y, weights)
    net = BayesNetwork("naive", target="y", **settings).fit({**columns, "y": y}, sample_weight=weights)
    expected = bayes.predict_proba(columns)
    np.testing.assert_allclose(tree.predict_proba(columns), expected, rtol=1e-10)
    rows = [{key: columns[key][i] for key in columns if columns[key][i] is not None} for i in range(len(y))]
    found = [[answer[label] for label in bayes.classes_] for row in rows for answer in [net.query("y", row)]]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(net.net_.tables["y"], bayes.class_prior_, rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0, 0.5, "global", MEstimate(2)])
def test_every_smoothing_leaves_the_prior_alone_unless_it_is_requested(smoothing):
    tennis = samples.load("tennis")
    raw = BayesNetwork("naive", target="play", smoothing=smoothing).fit(tennis.frame)
    assert dict(raw.query("play")) == {"No": 5 / 14, "Yes": 9 / 14}
    models = [
        NaiveBayesClassifier(smoothing=smoothing, prior="smoothed").fit(tennis.frame, "play").class_prior_,
        BayesNetworkClassifier("naive", smoothing=smoothing, prior="smoothed").fit(tennis.frame, "play").class_prior_,
        BayesNetwork("naive", target="play", smoothing=smoothing, prior="smoothed")
        .fit(tennis.frame)
        .net_.tables["play"],
    ]
    for prior in models[1:]:
        np.testing.assert_allclose(prior, models[0], rtol=1e-12)


def test_the_prior_of_bdeu_is_spread_over_the_classes():
    tennis = samples.load("tennis")
    expected = {"No": (5 + 2) / 18, "Yes": (9 + 2) / 18}
    settings = {"smoothing": Dirichlet(4), "prior": "smoothed"}
    assert BayesNetwork("tan", target="play", **settings).fit(tennis.frame).query("play") == pytest.approx(expected)
    model = BayesNetworkClassifier("tan", **settings).fit(tennis.frame, "play")
    assert model.class_prior_.tolist() == pytest.approx(list(expected.values()))


def test_a_prior_may_be_given_and_is_saved(tmp_path):
    tennis = samples.load("tennis")
    given = {"No": 0.25, "Yes": 0.75}
    net = BayesNetwork("tan", target="play", prior=given).fit(tennis.frame)
    assert net.query("play") == pytest.approx(given)
    save(net, tmp_path / "net.json")
    again = load(tmp_path / "net.json")
    assert again.prior == given
    assert again.query("play") == pytest.approx(given)


def test_a_table_by_hand_comes_before_the_prior():
    tennis = samples.load("tennis")
    net = BayesNetwork("naive", target="play", prior="uniform").add_node("play", ["No", "Yes"], [0.1, 0.9])
    assert net.fit(tennis.frame).query("play") == pytest.approx({"No": 0.1, "Yes": 0.9})


def test_the_roots_of_a_network_without_a_class_are_smoothed_like_all_tables():
    net = BayesNetwork({"wet": ["rain"]}).fit({"rain": ["no", "yes", "yes"], "wet": ["no", "yes", "yes"]})
    assert net.query("rain") == pytest.approx({"no": 2 / 5, "yes": 3 / 5})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": {"wet": ["rain"]}, "prior": "uniform"}, "target names none"),
        ({"structure": {"wet": ["rain"]}, "target": "snow", "prior": "uniform"}, "target names none"),
        ({"structure": {"wet": ["rain"]}, "target": "wet", "prior": "smoothed"}, "the class has parents"),
        ({"structure": "naive", "target": "wet", "prior": "even"}, "prior must be 'raw', 'smoothed', 'uniform'"),
        ({"structure": "naive", "target": "wet", "prior": {"no": 1.0}}, "prior has no probability for 'yes'"),
        ({"structure": "naive", "target": "wet", "prior": [0.5, 0.6]}, "sum to 1"),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        BayesNetwork(**settings).fit({"rain": ["no", "yes"], "wet": ["no", "yes"]})
