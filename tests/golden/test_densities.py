"""The worked examples of discriminants, Parzen densities and nearest means, through the public interface.

The files follow the form of this folder's README, with `columns`, `row` and `[expected]`, and these kinds:

| kind | what the file holds |
|---|---|
| `discriminant` | `[model]`: its settings; means, Σ, densities |
| `logistic` | `[model]`, or a Poisson model if there is none; w and b |
| `prototype` | the distance from each class's mean |
| `parzen`, `widths` | densities by width; log-likelihood of the rows on themselves and left out, by width |
| `lonely` | a table with one row a class |
"""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from countwise import (
    DiscriminantClassifier,
    NaiveBayesClassifier,
    ParzenClassifier,
    ParzenDensity,
    PrototypeClassifier,
    samples,
)

HERE = Path(__file__).parent
CASES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in [
        HERE / "g04_rain_parzen.toml",
        *(p for n in range(29, 36) for p in sorted(HERE.glob(f"g{n}_*.toml"))),
    ]
}


def close(ours: float, text: str) -> bool:
    return math.isclose(ours, float(Fraction(text)), rel_tol=1e-12)


def table_of(case: dict) -> dict[str, np.ndarray]:
    if "table" in case:
        return {name: np.array(cells) for name, cells in case["table"].items()}
    return dict(samples.load(case["sample"]).frame)


def of_kind(kind: str) -> list[str]:
    return [name for name, case in CASES.items() if case.get("kind") == kind]


def fitted(case: dict, model):
    frame = table_of(case)
    return model.fit({name: frame[name] for name in (*case["columns"], case["target"])}, case["target"])


def model_of(case: dict):
    if "model" in case:
        return fitted(case, DiscriminantClassifier(**case["model"]))
    counts = dict.fromkeys(case["columns"], "count")
    return fitted(case, NaiveBayesClassifier("poisson", types=counts, smoothing=0))


def test_every_example_of_densities_and_discriminants_has_a_file():
    assert {f"G{n}" for n in [4, *range(29, 36)]} <= {case["id"] for case in CASES.values()}


@pytest.mark.parametrize("name", of_kind("discriminant"))
def test_a_discriminant_has_the_examples_densities_and_posteriors(name):
    case = CASES[name]
    model, expected, row = model_of(case), case["expected"], [case["row"]]
    place = {str(c): k for k, c in enumerate(model.classes_)}
    joint = np.exp(model.predict_joint_log_proba(row)[0])
    posterior = model.predict_proba(row)[0]
    for label, text in expected["posterior"].items():
        assert close(posterior[place[label]], text)
    for label, text in expected.get("joint", {}).items():
        assert close(joint[place[label]], text)
        assert close(joint[place[label]] / model.class_prior_[place[label]], expected["density"][label])
    for label, means in expected.get("mean", {}).items():
        assert all(close(ours, text) for ours, text in zip(model.means_[place[label]], means, strict=True))
    for ours, texts in zip(model.covariance_, expected.get("covariance", []), strict=False):
        assert all(close(one, text) for one, text in zip(ours, texts, strict=True))


@pytest.mark.parametrize("name", of_kind("discriminant"))
def test_a_discriminants_working_writes_the_quadratic_form_out(name):
    case = CASES[name]
    model = model_of(case)
    working = model.explain([case["row"]])
    assert working.latex()
    assert working.html().count("<h4>") == (7 if model.covariance == "shared" else 9)
    for c, label in enumerate(working.classes):
        section = next(s for s in working.sections if s.title.startswith(f"play = {label}"))
        square = sum(section.table["product"])
        away = np.array(section.table["x - μ"])
        sigma = model.covariance_ if model.covariance_.ndim == 2 else model.covariance_[c]
        assert square == pytest.approx(away @ np.linalg.solve(sigma, away), rel=1e-12)
        log = -square / 2 - math.log(2 * math.pi) - math.log(np.linalg.det(sigma)) / 2
        assert working.steps[0].factors[c].log == pytest.approx(log, rel=1e-12)
        assert f"{math.exp(log):.6g}" in section.lines[1]


@pytest.mark.parametrize("name", of_kind("logistic"))
def test_the_logistic_form_is_the_posterior(name):
    case = CASES[name]
    model, expected, row = model_of(case), case["expected"], [case["row"]]
    form = model.logistic_form()
    assert all(close(ours, text) for ours, text in zip(form.w, expected["w"], strict=True))
    assert close(form.b, expected["b"])
    x = np.array([[float(v) for v in case["row"].values()]])
    second = 1 / (1 + math.exp(-(form.w @ x[0] + form.b)))
    label, text = next(iter(expected["posterior"].items()))
    assert list(map(str, form.classes)).index(label) == 1
    assert close(second, text)
    assert close(model.predict_proba(row)[0, 1], text)
    assert form.predict_proba(x) == pytest.approx(model.predict_proba(row), rel=1e-12)


def test_g32_the_nearest_mean_is_that_of_no():
    case = CASES["g32_weather_nearest_mean"]
    model = fitted(case, PrototypeClassifier())
    distances = dict(zip(map(str, model.classes_), model.distances([case["row"]])[0], strict=True))
    for label, text in case["expected"]["distance"].items():
        assert close(distances[label], text)
    assert model.predict([case["row"]]).tolist() == [case["expected"]["predict"]]
    spherical = fitted(case, DiscriminantClassifier("spherical", prior="uniform"))
    assert spherical.predict([case["row"]]).tolist() == [case["expected"]["predict"]]
    assert spherical.predict_proba([case["row"]]) == pytest.approx(model.predict_proba([case["row"]]), rel=1e-12)


def test_g4_a_parzen_classifier_has_the_examples_densities():
    case = CASES["g04_rain_parzen"]
    for width in case["width"]:
        model = fitted(case, ParzenClassifier(width["h"]))
        posterior = dict(zip(map(str, model.classes_), model.predict_proba([case["row"]])[0], strict=True))
        for label, text in width["posterior"].items():
            assert posterior[label] == pytest.approx(float(text), rel=1e-11)
        density = np.exp(model.predict_joint_log_proba([case["row"]])[0]) / model.class_prior_
        for label, text in width.get("density", {}).items():
            c = list(map(str, model.classes_)).index(label)
            assert density[c] == pytest.approx(float(text), rel=1e-11)


def test_g34_the_two_curves_of_the_lecture_and_the_best_width():
    case = CASES["g34_rain_widths"]
    expected, frame = case["expected"], table_of(case)
    rows = {name: frame[name] for name in case["columns"]}
    density = ParzenDensity("leave_one_out").fit(rows)
    curve = density.bandwidth_curve([float(h) for h in expected["width"]])
    for name in ("train", "held_out"):
        assert curve[name] == pytest.approx([float(text) for text in expected[name]], rel=1e-11)
    assert density.best_bandwidth_ == pytest.approx(float(expected["best"]), rel=1e-6)  # flat at the top
    assert density.bandwidth_curve([density.best_bandwidth_])["held_out"] == pytest.approx(
        [float(expected["best_held_out"])], rel=1e-11
    )
    assert max(density.bandwidth_curve_["held_out"]) <= float(expected["best_held_out"]) + 1e-9


@pytest.mark.parametrize(
    "model",
    [
        PrototypeClassifier(),
        PrototypeClassifier("median", metric="manhattan"),
        ParzenClassifier(),
        ParzenClassifier(1.0),
    ],
    ids=repr,
)
def test_g35_prototypes_and_parzen_densities_learn_from_one_object_a_class(model):
    case = CASES["g35_one_object_a_class"]
    frame = table_of(case)
    rows = {name: frame[name].astype(float) for name in case["columns"]}
    assert model.fit(rows, frame["class"]).score(rows, frame["class"]) == 1


@pytest.mark.parametrize("covariance", ["shared", "own", "diagonal", "spherical"])
def test_g35_discriminants_have_no_variance_and_say_so(covariance):
    case = CASES["g35_one_object_a_class"]
    frame = table_of(case)
    rows = {name: frame[name].astype(float) for name in case["columns"]}
    with pytest.raises(ValueError, match="No class has two different rows"):
        DiscriminantClassifier(covariance).fit(rows, frame["class"])


def test_g35_gaussian_naive_bayes_borrows_the_columns_deviation_and_says_so():
    model = NaiveBayesClassifier()
    case = CASES["g35_one_object_a_class"]
    frame = table_of(case)
    rows = {name: frame[name].astype(float) for name in case["columns"]}
    working = model.fit(rows, frame["class"]).explain(rows)
    assert "σ of the whole column where a class has too few values" in working.steps[0].rule
    assert model.score(rows, frame["class"]) == 1
