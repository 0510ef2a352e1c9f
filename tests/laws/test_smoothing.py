"""Smoothing in all its forms: leave-one-out, intervals and model files agree; wrong mappings are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from countwise import (
    BayesNetworkClassifier,
    Bernoulli,
    Categorical,
    Kernel,
    MEstimate,
    NaiveBayesClassifier,
    Nominal,
    Text,
    leave_one_out,
    load,
    samples,
    save,
)
from countwise.distributions import Smoothing
from countwise.errors import OptionError

FORMS = [
    Smoothing(1, k="classes"),
    Smoothing(0.25, k="classes"),
    MEstimate(3, 0.25),
    MEstimate(2, 1.0),
    MEstimate(3, {"Sunny": 0.5, "Rain": 0.25, "Overcast": 0.25}),
    {"epsilon": 2, "k": "classes"},
    Smoothing("global", denominator="literal"),
    Smoothing("global", denominator="literal", k="classes"),
    Smoothing(estimate=MEstimate(2.5, "global"), denominator="literal"),
    {"epsilon": "global", "denominator": "literal"},
    {"m": 2, "p": 0.1},
]


@pytest.fixture(scope="module")
def tennis() -> Any:
    return samples.load("tennis")


def refitted(model: NaiveBayesClassifier, X: Any, y: Any) -> np.ndarray:
    """P(class | row) of each row from a model that is fitted without it; rows are given as mappings."""
    found = []
    for i in range(len(y)):
        kept = [j for j in range(len(y)) if j != i]
        again = NaiveBayesClassifier(**model.get_params(deep=False)).fit([X[j] for j in kept], [y[j] for j in kept])
        found.append(again.predict_proba([X[i]])[0])
    return np.array(found)


@pytest.mark.parametrize("smoothing", FORMS, ids=str)
@pytest.mark.parametrize("prior", ["raw", "smoothed"])
def test_leave_one_out_equals_fitting_again(tennis: Any, smoothing: Any, prior: str) -> None:
    domains = {
        a.name: Nominal(a.name, a.values) for a in NaiveBayesClassifier().fit(tennis.X, tennis.y).schema_.attributes
    }
    model = NaiveBayesClassifier(smoothing=smoothing, prior=prior, types=domains)
    rows = [dict(zip(tennis.X, cells, strict=True)) for cells in zip(*tennis.X.values(), strict=True)]
    found = leave_one_out(model, rows, tennis.y).predictions.proba
    np.testing.assert_allclose(found, refitted(model, rows, tennis.y), atol=1e-12)


@pytest.mark.parametrize("smoothing", FORMS, ids=str)
def test_working_interval_and_file_agree_with_the_prediction(tennis: Any, smoothing: Any, tmp_path: Path) -> None:
    model = NaiveBayesClassifier(smoothing=smoothing, prior="smoothed").fit(tennis.X, tennis.y)
    proba = model.predict_proba(tennis.X)
    for row in range(4):
        working = model.explain(tennis.X, row=row)
        np.testing.assert_allclose(working.posterior, proba[row], atol=1e-15)
        assert all(
            p is not None and math.isclose(p, q) for p, q in zip(working.exact_posterior, proba[row], strict=True)
        )
        low, high = model.predict_interval(tennis.X, level=0.99)[row].T
        assert (low <= proba[row]).all()
        assert (proba[row] <= high).all()
    save(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(tennis.X), proba)


def test_a_mapping_for_one_attribute_leaves_the_smoothing_of_the_others(tennis: Any) -> None:
    given = MEstimate(3, {"Sunny": 0.5, "Rain": 0.25, "Overcast": 0.25})
    whole = NaiveBayesClassifier(smoothing=given).fit(tennis.X, tennis.y)
    own = NaiveBayesClassifier({"outlook": Categorical(given)}, smoothing=MEstimate(3)).fit(tennis.X, tennis.y)
    np.testing.assert_allclose(whole.predict_proba(tennis.X), own.predict_proba(tennis.X), atol=1e-15)
    assert (whole.densities_["wind"].prob > 0).all()


@pytest.mark.parametrize(
    ("p", "why"),
    [
        ({"Sunny": 0.5, "Rain": 0.25}, "sum to 0.75"),
        ({"Sunny": 0.5, "Foggy": 0.5}, "'Foggy'"),
        ({"sunny": 0.5, "rain": 0.5}, "no attribute has one of these values"),
        ({}, "empty"),
        ({"Sunny": 1.5}, "'Sunny'"),
        (1.5, "number from 0 to 1"),
        ("unifrom", "'unifrom'"),
    ],
)
def test_a_wrong_p_is_refused(tennis: Any, p: Any, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        NaiveBayesClassifier(smoothing=MEstimate(2, p)).fit(tennis.X, tennis.y)


IMPROPER = [Smoothing(1, k="classes"), MEstimate(2, 0.25), Smoothing("global", denominator="literal")]


@pytest.mark.parametrize("smoothing", IMPROPER, ids=str)
def test_networks_refuse_probabilities_that_do_not_sum_to_1(tennis: Any, smoothing: Any) -> None:
    with pytest.raises(OptionError, match="sum to 1"):
        BayesNetworkClassifier("naive", smoothing=smoothing).fit(tennis.X, tennis.y)


@pytest.mark.parametrize("k", ["values", "classes"])
@pytest.mark.parametrize("name", ["multinomial", "bernoulli"])
def test_a_global_pseudocount_with_the_literal_denominator_smooths_words(name: str, k: str) -> None:
    docs, y = ["aa aa money", "bb lunch", "money bb", "lunch lunch aa", "cc"], list("shshs")
    smoothing = Smoothing("global", denominator="literal", k=k)
    model = NaiveBayesClassifier(name, types={"t": "text"}, smoothing=smoothing).fit({"t": docs}, y)
    words = [doc.split() if name == "multinomial" else sorted(set(doc.split())) for doc in docs]
    for c, label in enumerate("hs"):
        own = [word for doc, of in zip(words, y, strict=True) for word in doc if of == label]
        total = len(own) if name == "multinomial" else y.count(label)
        every = sum(map(len, words)) if name == "multinomial" else len(docs)
        size = 2 if k == "classes" or name == "bernoulli" else 5
        for i, word in enumerate(["aa", "bb", "cc", "lunch", "money"]):
            e = Fraction(sum(doc.count(word) for doc in words), every)
            exact = (own.count(word) + e) / (total + size * e)
            assert model.densities_["t"].prob[c, i] == pytest.approx(float(exact), abs=1e-15)
    found = leave_one_out(model, {"t": docs}, y).predictions.proba
    rows = [{"t": doc} for doc in docs]
    np.testing.assert_allclose(found, refitted(model, rows, y), atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"epsilon": "global", "k": "classes"}, "no effect"),
        ({"epsilon": "globl"}, "'globl'"),
        ({"epsilon": 1, "denominator": "litteral"}, "'litteral'"),
    ],
)
def test_a_wrong_smoothing_is_refused(settings: Any, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        Smoothing(**settings)


def test_bernoulli_words_heed_a_mapping() -> None:
    docs, y = ["money money", "lunch", "money lunch", "lunch lunch"], ["s", "h", "s", "h"]
    rule = Bernoulli(smoothing=MEstimate(2, {"money": 0.9, "lunch": 0.1}))
    model = NaiveBayesClassifier({"t": rule}).fit({"t": docs}, y)
    density = model.densities_["t"]
    by_hand = [[(2 + 0.2) / 4, (0 + 1.8) / 4], [(1 + 0.2) / 4, (2 + 1.8) / 4]]  # lunch, money; of h, then of s
    np.testing.assert_allclose(density.prob, by_hand, atol=1e-15)
    wrong = Bernoulli(smoothing=MEstimate(2, {"money": 0.9, "lunsch": 0.1}))
    with pytest.raises(OptionError, match="'lunsch'"):
        NaiveBayesClassifier({"t": wrong}).fit({"t": docs}, y)


@pytest.mark.parametrize("name", ["multinomial", "bernoulli"])
def test_a_fixed_dictionary_keeps_words_that_never_occur_as_scikit_learn_does(name: str) -> None:
    words = ["a", "b", "lunch", "money", "never", "zzz"]
    docs, y = np.array(["a money money", "b lunch", "money b", "lunch lunch a"]), np.array(["s", "h", "s", "h"])
    asked = ["money a never", "zzz b", ""]
    vectors = CountVectorizer(vocabulary=words, token_pattern=r"(?u)\b\w+\b")
    peer = {"multinomial": MultinomialNB, "bernoulli": BernoulliNB}[name]
    model = NaiveBayesClassifier(name, types={"t": Text("t", words=tuple(words))}).fit({"t": docs}, y)
    theirs = peer().fit(vectors.transform(docs), y)
    np.testing.assert_allclose(model.predict_proba({"t": asked}), theirs.predict_proba(vectors.transform(asked)))
    left_out = leave_one_out(model, {"t": docs}, y).predictions.proba
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        again = peer().fit(vectors.transform(docs[kept]), y[kept])
        np.testing.assert_allclose(left_out[i], again.predict_proba(vectors.transform(docs[i : i + 1]))[0])


def test_an_unsmoothed_word_without_counts_does_not_rule_out_every_class() -> None:
    types = {"t": Text("t", words=("money", "never"))}
    model = NaiveBayesClassifier("multinomial", types=types, smoothing=0).fit({"t": ["money", "money"]}, ["s", "h"])
    np.testing.assert_allclose(model.predict_proba({"t": ["never money"]}), [[0.5, 0.5]])


@pytest.mark.parametrize("values", [[True, False, True, True], ["v", "u", "v", "v"], [1.0, 0.0, 2.0, 1.0]], ids=str)
def test_cap_limits_the_log_odds_of_columns_with_two_values(values: list[Any]) -> None:
    x, y = values * 5, ([1, 0, 1, 1] * 5)
    types = {"x": "nominal"} if isinstance(values[0], str) else None
    rule = Bernoulli(cap=0.1)
    model = NaiveBayesClassifier({"x": rule}, types=types, prior="uniform").fit({"x": x}, y)
    odds = np.diff(model.predict_joint_log_proba({"x": values[:2]}), axis=1)
    assert np.allclose(np.abs(odds), 0.1)
    step = model.explain({"x": values[:1]}).used[0]
    assert abs(step.factors[0].log - step.factors[1].log) == pytest.approx(0.1)
    rows = [{"x": one} for one in x]
    found = leave_one_out(model, rows, y).predictions.proba
    np.testing.assert_allclose(found, refitted(model, rows, y), atol=1e-12)


@pytest.mark.parametrize("smoothing", [1, 0, MEstimate(2), MEstimate(2, {"low": 0.5, "high": 0.5})], ids=str)
def test_a_working_says_that_a_shared_value_was_never_seen(smoothing: Any) -> None:
    X, y = {"t": ["low", "high", "high"] * 4}, list("ab") * 6
    model = NaiveBayesClassifier(smoothing=smoothing, unseen="share").fit(X, y)
    working = model.explain({"t": ["new"]})
    assert "t = new was never seen in training" in working.text()
    np.testing.assert_allclose(working.posterior, [0.5, 0.5], atol=1e-15)


@pytest.mark.parametrize(
    ("bandwidth", "why"),
    [
        ({"no": 1, "maybe": 2}, "'maybe' is no class"),
        ({"no": 1}, "'yes' has no bandwidth"),
        ({"no": 0, "yes": 1}, "> 0"),
    ],
)
def test_a_wrong_bandwidth_of_a_class_is_refused(bandwidth: Any, why: str) -> None:
    rain = samples.load("rain")
    with pytest.raises(OptionError, match=why):
        NaiveBayesClassifier(Kernel(bandwidth)).fit(rain.columns("temp", "rain"), "rain")


def test_bandwidths_by_class_leave_one_out_with_weights_and_in_files(tmp_path: Path) -> None:
    rain = samples.load("rain")
    rows = [{"temp": float(value)} for value in rain.X["temp"]]
    model = NaiveBayesClassifier({"temp": Kernel({"no": 1, "yes": 2})}).fit(rows, rain.y)
    np.testing.assert_allclose(
        leave_one_out(model, rows, rain.y).predictions.proba, refitted(model, rows, rain.y), atol=1e-12
    )
    weights = [1, 2, 1, 3, 1, 1]
    copies = np.repeat(np.arange(6), weights)
    weighted = NaiveBayesClassifier({"temp": Kernel({"no": 1, "yes": 2})}).fit(rows, rain.y, sample_weight=weights)
    copied = NaiveBayesClassifier({"temp": Kernel({"no": 1, "yes": 2})}).fit(
        [rows[i] for i in copies], rain.y[copies]
    )
    np.testing.assert_allclose(weighted.predict_proba(rows), copied.predict_proba(rows), atol=1e-12)
    save(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(rows), model.predict_proba(rows))
