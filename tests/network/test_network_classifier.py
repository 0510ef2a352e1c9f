"""BayesNetworkClassifier: one ladder from naive Bayes upwards, missing cells as no evidence, and its working."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

import countwise
from countwise import BayesNetworkClassifier, NaiveBayesClassifier, samples
from countwise.errors import CountwiseError, OptionError

STRUCTURES = ["naive", "tan", "k_dependence", "hill_climb"]


def correlated(n=4000, seed=0):
    """Attributes that copy each other within the classes, and one that tells the class together with another."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.where(rng.random(n) < 0.7, y, 1 - y)
    columns = {"a": a}
    for name in ("b", "c", "d"):
        columns[name] = np.where(rng.random(n) < 0.95, a, 1 - a)
    noise = rng.integers(0, 2, n)
    columns["e"] = noise
    columns["f"] = np.where(rng.random(n) < 0.85, noise ^ y, rng.integers(0, 2, n))
    frame = pd.DataFrame({name: np.array(["no", "yes"])[column] for name, column in columns.items()})
    return frame, np.array(["bad", "good"])[y]


def mixed(n=400, seed=0, gaps=0.15):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "n1": np.array(list("pqr"))[(y + rng.integers(0, 2, n)) % 3],
            "n2": np.array(list("uv"))[rng.integers(0, 2, n)],
            "x": rng.normal(y, 1.0),
            "z": rng.normal(size=n),
        }
    )
    frame["n3"] = np.where((frame["n2"] == "u") ^ (y == 1), "s", "t")
    frame["w"] = frame["x"] + 0.5 * frame["z"] + rng.normal(size=n)
    frame = frame.astype(dict.fromkeys(("n1", "n2", "n3"), object))
    for name in frame:
        frame.loc[rng.random(n) < gaps, name] = None
    return frame, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("name", ["tennis", "weather", "rain", "loan", "cheat"])
@pytest.mark.parametrize("smoothing", [0, 1])
def test_the_first_rung_is_naive_bayes_to_the_last_digit(name, smoothing):
    sample = samples.load(name)
    settings = {"smoothing": smoothing}
    one = BayesNetworkClassifier("naive", **settings).fit(sample.X, sample.y)
    other = NaiveBayesClassifier(**settings).fit(sample.X, sample.y)
    np.testing.assert_allclose(
        one.predict_joint_log_proba(sample.X), other.predict_joint_log_proba(sample.X), atol=1e-13, rtol=1e-13
    )


def test_texts_and_sparse_blocks_stand_below_the_class():
    frame = {"text": ["buy now", "hello you", "buy buy", "hello friend"], "k": ["a", "b", "a", "b"]}
    model = BayesNetworkClassifier("tan", types={"text": "text"}).fit(frame, ["spam", "ham", "spam", "ham"])
    other = NaiveBayesClassifier(types={"text": "text"}).fit(frame, ["spam", "ham", "spam", "ham"])
    np.testing.assert_allclose(model.predict_proba(frame), other.predict_proba(frame), atol=1e-13)
    counts = csr_array(np.array([[2, 0, 1], [0, 3, 0], [1, 0, 2], [0, 1, 1]]))
    model = BayesNetworkClassifier("tan").fit(counts, [0, 1, 0, 1])
    other = NaiveBayesClassifier().fit(counts, [0, 1, 0, 1])
    np.testing.assert_allclose(model.predict_proba(counts), other.predict_proba(counts), atol=1e-13)


def test_correlated_attributes_are_told_and_arcs_improve_accuracy_and_log_loss():
    X, y = correlated()
    naive = BayesNetworkClassifier("naive").fit(X, y)
    pairs = naive.conditional_mi_
    first = {frozenset(pair) for pair in zip(pairs["one"][:6], pairs["other"][:6], strict=True)}
    assert {frozenset("ab"), frozenset("ac"), frozenset("ad")} <= first
    fresh, truth = correlated(seed=1)
    loss = {"naive": log_loss(truth, naive.predict_proba(fresh))}
    right = {"naive": naive.score(fresh, truth)}
    for structure in ("tan", "k_dependence", "hill_climb"):
        model = BayesNetworkClassifier(structure).fit(X, y)
        loss[structure] = log_loss(truth, model.predict_proba(fresh))
        right[structure] = model.score(fresh, truth)
        assert loss[structure] < loss["naive"] - 0.1
        assert right[structure] > right["naive"] + 0.02
    one, other = pairs["one"][0], pairs["other"][0]
    joined = naive.add_arc(one, other, X, y)
    assert log_loss(truth, joined.predict_proba(fresh)) < loss["naive"] - 0.01
    assert joined.conditional_mi_["arc"][0] == "yes"


def test_one_call_adds_the_arc_and_equals_a_network_with_that_structure():
    X, y = correlated(500)
    model = BayesNetworkClassifier("naive").fit(X, y).add_arc("e", "f", X, y)
    arcs = [("class", name) for name in X] + [("e", "f")]
    other = BayesNetworkClassifier(arcs).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_missing_cells_are_no_evidence(structure):
    X, y = mixed()
    model = BayesNetworkClassifier(structure, missing="available").fit(X, y)
    rows = X.head(60)
    found = model.predict_proba(rows)
    for i, (_, row) in enumerate(rows.iterrows()):
        known = {name: value for name, value in row.items() if value is not None and value == value}
        answer = model.query("class", known)
        np.testing.assert_allclose(found[i], [answer[c] for c in model.classes_], atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_row_with_everything_missing_gets_the_prior(structure):
    X, y = mixed(gaps=0.0)
    model = BayesNetworkClassifier(structure).fit(X, y)
    empty = pd.DataFrame({name: [None] for name in X}).astype(object)
    np.testing.assert_allclose(model.predict_proba(empty)[0], model.class_prior_, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_the_working_multiplies_to_the_answer(structure, gaps):
    X, y = mixed(gaps=gaps)
    model = BayesNetworkClassifier(structure, missing="available").fit(X, y)
    for row in range(25):
        working = model.explain(X, row=row)
        logs = np.array([f.log for f in working.prior.factors])
        for step in working.used:
            logs = logs + np.array([f.log for f in step.factors])
        np.testing.assert_allclose(working.log_joint, logs, atol=1e-9)
        share = np.exp(logs - logs.max())
        np.testing.assert_allclose(working.posterior, share / share.sum(), atol=1e-9)
        assert working.answer == model.predict(X.iloc[[row]])[0]
        assert str(working)
        assert working.html()
        assert working.latex()


def test_the_working_names_what_a_factor_depends_on():
    tennis = samples.load("tennis")
    text = str(BayesNetworkClassifier("tan").fit(tennis.frame, "play").explain(tennis.X))
    assert "P(temperature = Hot | play, outlook = Sunny)" in text
    assert "(2 + 1)/(3 + 3) = 0.5" in text


def test_the_working_says_what_was_summed_out():
    tennis = samples.load("tennis")
    model = BayesNetworkClassifier("tan").fit(tennis.frame, "play")
    text = str(model.explain([{"outlook": "Sunny", "humidity": "High", "wind": "Weak"}]))
    assert "'temperature' is missing, and 'humidity' depends on it" in text


def test_two_equal_numbers_are_no_certainty():
    weather = samples.load("weather")
    model = BayesNetworkClassifier("tan").fit(weather.frame, "play")
    assert ("outlook", "humidity") in model.graph_.arcs
    share = model.predict_proba([{"outlook": "sunny", "humidity": 90}])[0, 1]
    assert 1e-6 < share < 0.5
    raw = BayesNetworkClassifier("tan", smoothing=0).fit(weather.frame, "play")  # both sunny days of play had 70
    assert raw.predict_proba([{"outlook": "sunny", "humidity": 90}])[0, 1] == 0.0
    assert "mean" in model.cpt("humidity")


def test_terms_add_up_to_the_joint():
    X, y = mixed(gaps=0.0)
    model = BayesNetworkClassifier("tan").fit(X, y)
    total = model.log_prior_ + sum(model.contributions(X).values())
    np.testing.assert_allclose(total, model.predict_joint_log_proba(X), atol=1e-10)


@pytest.mark.parametrize("structure", ["tan", "k_dependence", "hill_climb", "ordering"])
def test_a_saved_classifier_answers_as_before(structure, tmp_path):
    X, y = mixed()
    model = BayesNetworkClassifier(structure).fit(X, y)
    countwise.save(model, tmp_path / "m.json")
    again = countwise.load(tmp_path / "m.json")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert str(again.conditional_mi_) == str(model.conditional_mi_)
    assert (again.predict(X) == model.predict(X)).all()


def test_pieces_and_merges_equal_one_fit_and_forgetting_takes_back():
    X, y = mixed(gaps=0.1)
    arcs = [("class", name) for name in X] + [("n2", "n3"), ("x", "w"), ("n1", "x")]
    settings = {"missing": "available"}
    whole = BayesNetworkClassifier(arcs, **settings).fit(X, y)
    parts = BayesNetworkClassifier(arcs, **settings)
    for start in range(0, 400, 90):
        parts.partial_fit(X.iloc[start : start + 90], y[start : start + 90], classes=["a", "b", "c"])
    merged = BayesNetworkClassifier(arcs, **settings).fit(X.head(150), y[:150]) + BayesNetworkClassifier(
        arcs, **settings
    ).fit(X.tail(250), y[150:])
    more = BayesNetworkClassifier(arcs, **settings).fit(pd.concat([X, X.head(30)]), np.concatenate([y, y[:30]]))
    more.forget(X.head(30), y[:30])
    for other in (parts, merged, more):
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_weights_count_as_copies():
    X, y = mixed(120, gaps=0.0)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    for structure in STRUCTURES:
        one = BayesNetworkClassifier(structure).fit(X, y, sample_weight=weights)
        other = BayesNetworkClassifier(structure).fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
        assert one.graph_ == other.graph_
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


def test_it_works_in_scikit_learns_cross_validation():
    X, y = correlated(600)
    shares = cross_val_predict(BayesNetworkClassifier("tan"), X, y, method="predict_proba", cv=5)
    assert log_loss(y, shares) < 0.6


def test_a_class_with_parents_is_told_by_its_family_and_its_children():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 800)
    y = np.where(rng.random(800) < 0.9, a, 1 - a)
    b = np.where(rng.random(800) < 0.8, y, 1 - y)
    frame = pd.DataFrame({"a": np.array(["l", "r"])[a], "b": np.array(["l", "r"])[b]})
    model = BayesNetworkClassifier([("a", "class"), ("class", "b")], smoothing=0).fit(frame, y)
    table = pd.crosstab([frame["a"]], y, normalize="index")
    below = pd.crosstab(y, frame["b"], normalize="index")
    joint = table.loc["l"].to_numpy() * below["r"].to_numpy()
    np.testing.assert_allclose(model.predict_proba([{"a": "l", "b": "r"}])[0], joint / joint.sum(), atol=1e-12)
    assert "P(class | a = l)" in str(model.explain([{"a": "l", "b": "r"}]))
    with pytest.raises(OptionError, match="cannot be used because the class has parents"):
        BayesNetworkClassifier([("a", "class")], prior="uniform").fit(frame, y)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"structure": "tann"}, "did you mean 'tan'"),
        ({"structure": "given"}, "provides no arcs"),
        ({"structure": [("nn", "x")]}, "refers to node 'nn', but the table has no such column"),
        ({"structure": [("x", "n1"), ("n1", "x")]}, "form a cycle"),
        ({"unseen": "share"}, "unseen must be 'ignore' or 'error', not 'share'"),
        ({"root": "zz"}, "root refers to node 'zz'"),
        ({"distributions": {"q": "kernel"}}, "distributions refers to column 'q'"),
        ({"distributions": {"x": "gausian"}}, "did you mean 'gaussian'"),
        ({"prior": "odd"}, "prior must be 'raw', .*, not 'odd'"),
        ({"max_dependence": -1}, "max_dependence must be an integer >= 0, not -1"),
    ],
)
def test_what_is_wrong_is_told(settings, told):
    X, y = mixed(60)
    with pytest.raises(CountwiseError, match=told):
        BayesNetworkClassifier(**settings).fit(X, y)
