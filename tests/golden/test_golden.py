"""Every worked example of the lectures, through the public interface."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from countwise import Multinomial, NaiveBayesClassifier, Text, samples
from countwise.data.schema import Nominal
from countwise.distributions import Smoothing
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.gaussian import GaussianDensity

FILES = sorted(Path(__file__).parent.glob("*.toml"))
CASES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
FITTED = [name for name, case in CASES.items() if "query" in case and case.get("kind") not in ("given", "network")]


def value(text: str) -> float:
    return float(Fraction(text)) if "/" in text or text.isdigit() else float(text)


def close(ours: float, text: str) -> bool:
    return math.isclose(ours, value(text), rel_tol=1e-12, abs_tol=1e-300)


def table_of(case: dict) -> dict[str, np.ndarray]:
    if "table" in case:
        return {name: np.array(cells, dtype=object) for name, cells in case["table"].items()}
    frame = {name: column.copy() for name, column in samples.load(case["sample"]).frame.items()}
    for cell in case.get("blank", []):
        frame[cell["column"]][cell["row"]] = None
    return frame


def fitted(case: dict, **changes: object) -> NaiveBayesClassifier:
    settings = dict(case["model"])
    columns = settings.pop("columns")
    words = settings.pop("vocabulary", None)
    if words is not None:
        settings["types"] = {"text": Text("text", words=tuple(words))}
    model = NaiveBayesClassifier(settings.pop("distributions"), **{**settings, **changes})
    frame = table_of(case)
    return model.fit({name: frame[name] for name in columns}, frame[case["target"]])


def row_of(case: dict, query: dict) -> list[dict]:
    return [{name: query["row"].get(name) for name in case["model"]["columns"]}]


def by_class(model: NaiveBayesClassifier, numbers: np.ndarray) -> dict[str, float]:
    return dict(zip(map(str, model.classes_), numbers[0], strict=True))


def test_every_example_of_naive_bayes_has_a_file():
    wanted = {f"G{n}" for n in [*range(1, 29), *range(57, 63)]}
    assert wanted <= {case["id"] for case in CASES.values()}


@pytest.mark.parametrize("name", FITTED)
def test_posteriors_and_joints_are_those_of_the_example(name):
    case = CASES[name]
    model = fitted(case)
    for query in case["query"]:
        row = row_of(case, query)
        joint = by_class(model, np.exp(model.predict_joint_log_proba(row)))
        posterior = by_class(model, model.predict_proba(row))
        for label, text in query["joint"].items():
            assert close(joint[label], text), (label, joint[label], text)
        for label, text in query["posterior"].items():
            assert close(posterior[label], text), (label, posterior[label], text)


@pytest.mark.parametrize("name", FITTED)
def test_the_working_multiplies_to_the_same_joint_and_shows_exact_fractions(name):
    case = CASES[name]
    model = fitted(case)
    for query in case["query"]:
        working = model.explain(row_of(case, query), interval=None)
        assert working.text()
        assert working.latex()
        assert working.html()
        for c, label in enumerate(map(str, working.classes)):
            summed = sum(step.factors[c].log for step in (working.prior, *working.used))
            assert (
                summed == pytest.approx(working.log_joint[c], rel=1e-12, abs=1e-12) or summed == working.log_joint[c]
            )
            text = query["joint"][label]
            if "/" in text and working.exact_joint[c] is not None:
                assert working.exact_joint[c] == Fraction(text)
            if "/" in query["posterior"][label] and working.exact_posterior[c] is not None:
                assert working.exact_posterior[c] == Fraction(query["posterior"][label])


def laws_of(case: dict) -> set[str]:
    return {spec if isinstance(spec, str) else spec["kind"] for spec in case["model"]["distributions"].values()}


COUNTED = [name for name in FITTED if laws_of(CASES[name]) <= {"categorical", "bernoulli", "multinomial"}]


@pytest.mark.parametrize("name", COUNTED)
def test_counted_models_give_fractions_and_not_only_decimals(name):
    case = CASES[name]
    model = fitted(case)
    for query in case["query"]:
        working = model.explain(row_of(case, query), interval=None)
        for c, label in enumerate(map(str, working.classes)):
            assert working.exact_joint[c] == Fraction(query["joint"][label])


@pytest.mark.parametrize("name", FITTED)
def test_each_single_factor_is_that_of_the_example(name):
    case = CASES[name]
    model = fitted(case)
    for query in case["query"]:
        working = model.explain(row_of(case, query), interval=None)
        for c, label in enumerate(map(str, working.classes)):
            logs: dict[str, float] = {}
            for step in working.used:
                column = step.attribute.removesuffix(" > 0")
                logs[column] = logs.get(column, 0.0) + step.factors[c].log
            for column, text in query.get("factors", {}).get(label, {}).items():
                assert close(math.exp(logs[column]), text), (label, column)
            if "likelihood" in query:
                assert close(math.exp(sum(logs.values())), query["likelihood"][label])
            if "prior" in query:
                assert close(model.class_prior_[c], query["prior"][label])


def test_g13_raw_counts_err_on_one_training_row():
    case = CASES["g13_tennis_training_accuracy"]
    model = fitted(case)
    frame = table_of(case)
    wrong = np.flatnonzero(model.predict(frame) != frame[case["target"]])
    assert wrong.tolist() == case["expected"]["wrong_rows"]
    assert model.score(frame, frame[case["target"]]) == pytest.approx(13 / 14, rel=1e-15)


def test_g14_means_and_deviations_by_both_divisors():
    case = CASES["g14_weather_parameters"]
    law = {"temperature", "humidity"}
    for divisor, key in (("n-1", "sd"), ("n", "sd_n")):
        laws = {
            c: {"kind": "gaussian", "divisor": divisor} if c in law else "categorical"
            for c in case["model"]["columns"]
        }
        frame = table_of(case)
        model = NaiveBayesClassifier(laws).fit({c: frame[c] for c in laws}, frame["play"])
        for c, label in enumerate(model.classes_):
            for column in law:
                wanted = case["parameters"][label][column]
                density = model.densities_[column]
                assert close(density.mean[c], wanted["mean"])
                assert close(density.sd[c], wanted[key])


def test_g17_rounded_parameters_give_the_slides_density():
    case = CASES["g17_weather_given_parameters"]
    given, query = case["given"], case["query"][0]
    classes = sorted(given["prior"])
    joint = np.log([[value(given["prior"][c]) for c in classes]])
    for column, x in query["row"].items():
        if column in given["gaussian"][classes[0]]:
            laws = [given["gaussian"][c][column] for c in classes]
            mean, sd = (np.array([value(law[key]) for law in laws]) for key in ("mean", "sd"))
            none = np.zeros(len(classes))
            GaussianDensity(column, mean, sd, none, none.astype(bool)).add_log_prob(np.array([float(x)]), joint)
        else:
            shares = [Fraction(given["categorical"][c][column]) for c in classes]
            counts = np.array([[s.numerator, s.denominator - s.numerator] for s in shares])
            density = CategoricalDensity(Nominal(column, (str(x), "other")), counts, Smoothing(0.0))
            density.add_log_prob(np.array([0], dtype=np.uint8), joint)
    for c, label in enumerate(classes):
        assert close(math.exp(joint[0, c]), query["joint"][label])
        assert close(math.exp(joint[0, c]) / np.exp(joint).sum(), query["posterior"][label])


@pytest.mark.parametrize("name", ["g05_elevation_given_joints", "g25_given_likelihoods"])
def test_given_likelihoods_normalize_to_the_posterior(name):
    case = CASES[name]
    given = case["given"]
    prior = given.get("prior", dict.fromkeys(given.get("joint", ()), "1"))
    likelihood = given.get("likelihood", given.get("joint"))
    classes = sorted(prior)
    # one attribute whose single value has just these likelihoods
    scale = 10**6
    shares = [Fraction(likelihood[c]) for c in classes]
    counts = np.array([[int(s * scale), scale - int(s * scale)] for s in shares])
    density = CategoricalDensity(Nominal("given", ("it", "other")), counts, Smoothing(0.0))
    joint = np.log([[value(prior[c]) for c in classes]])
    density.add_log_prob(np.array([0], dtype=np.uint8), joint)
    posterior = np.exp(joint[0]) / np.exp(joint[0]).sum()
    for c, label in enumerate(classes):
        assert close(posterior[c], case["expected"]["posterior"][label])
    assert classes[int(np.argmax(posterior))] == case["expected"]["predict"]


def test_g28_the_factorials_change_the_joint_and_no_posterior():
    case = CASES["g28_factorials_cancel"]
    query = case["query"][0]
    row = row_of(case, query)
    plain = fitted(case)
    law = Multinomial(coefficient=True)
    with_m = NaiveBayesClassifier({"text": law}, smoothing=1).fit(
        {"text": samples.load("mail").frame["text"]}, samples.load("mail").frame["label"]
    )
    joint = by_class(with_m, np.exp(with_m.predict_joint_log_proba(row)))
    for label, text in query["joint_with_coefficient"].items():
        assert close(joint[label], text)
    assert np.allclose(plain.predict_proba(row), with_m.predict_proba(row), rtol=1e-14, atol=0)


def test_g06_a_value_never_seen_says_so():
    case = CASES["g06_rain_temperature_as_nominal"]
    working = fitted(case).explain([{"temp": 22.8}], interval=None)
    assert [step.state for step in working.left_out] == ["never seen"]
    assert "never seen" in working.text()
