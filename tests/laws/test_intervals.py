"""Credible intervals contain the probability that they belong to, whatever the distribution and the smoothing."""

from __future__ import annotations

import warnings
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from countwise import (
    Bernoulli,
    Categorical,
    MEstimate,
    Multinomial,
    NaiveBayesClassifier,
    Nominal,
    Ordinal,
)
from countwise.errors import OptionError

PRIORS = ["raw", "smoothed", "uniform", [0.9, 0.1]]
SMOOTHINGS = [
    0,
    1,
    0.5,
    "laplace",
    "global",
    MEstimate(2),
    MEstimate(1, "global"),
    MEstimate(1, {"u": 0.5, "v": 0.5}),
]


def inside(model: NaiveBayesClassifier, rows: Any, *, level: float = 0.9) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba, ends = model.predict_proba(rows), model.predict_interval(rows, level=level, draws=300)
    assert np.isfinite(ends).all()
    assert ((ends >= 0) & (ends <= 1)).all()
    assert (ends[:, :, 0] <= proba).all()
    assert (proba <= ends[:, :, 1]).all()
    return ends


@pytest.mark.parametrize("rule", [Multinomial, Bernoulli])
def test_an_interval_heeds_the_cap_of_words(rule: Any) -> None:
    texts, y = ["spam spam spam money"] * 20 + ["hello friend lunch"] * 20, ["s"] * 20 + ["h"] * 20
    row = {"t": ["spam money"]}
    ends = inside(NaiveBayesClassifier({"t": rule(cap=0.5)}).fit({"t": texts}, y), row, level=0.999)
    capped = np.array([0.5 * (2 if rule is Multinomial else 5)])
    assert (ends[0, 1, 1] <= 1 / (1 + np.exp(-capped - 1.2))).all()  # each word has at most e^0.5 of evidence
    free = NaiveBayesClassifier({"t": rule()}).fit({"t": texts}, y)
    assert inside(free, row, level=0.999)[0, 1, 0] > ends[0, 1, 1]


@pytest.mark.parametrize("distribution", ["gaussian", "poisson", "kernel", "binned", "auto"])
@pytest.mark.parametrize("smoothing", [0, 1])
def test_a_class_without_values_leaves_its_interval_wide(distribution: str, smoothing: float) -> None:
    x = {"x": [1.0, 2.0, 3.0, None, None, None]}
    model = NaiveBayesClassifier(distribution, types={"x": "count"}, smoothing=smoothing).fit(x, list("aaabbb"))
    (a, b) = inside(model, {"x": [2.0]}, level=0.99)[0]
    assert a[1] - a[0] > 0.2
    assert b[1] - b[0] > 0.2


@pytest.mark.parametrize(("smoothing", "prior"), list(zip(SMOOTHINGS, cycle(PRIORS))), ids=str)
@pytest.mark.parametrize("unseen", ["ignore", "share", "error"])
@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_what_is_predicted_is_explained_under_every_smoothing(
    smoothing: Any, unseen: str, missing: str, prior: Any
) -> None:
    """Declared values that never occur, missing values, unseen values and classes without any value."""
    frame = {
        "x": ["u", "u", "v", "v", None, "u"],
        "o": ["low", "low", "mid", None, "mid", "low"],
        "e": ["p", None, "q", None, "p", None],  # no value in class b
        "n": [None] * 6,
        "t": ["good day", "", None, "bad day", "day", "good"],
        "k": [1.0, 2.0, None, 3.0, 0.0, 5.0],
    }
    types = {
        "x": Nominal("x", ("u", "v", "w")),
        "o": Ordinal("o", ("low", "mid", "high")),
        "t": "text",
        "k": "count",
    }
    if unseen == "share" and "global" in str(smoothing):
        pytest.skip("refused: an unseen value has no global frequency")
    if "{" in str(smoothing):  # probabilities of given values suit one column
        model = NaiveBayesClassifier({"x": Categorical(smoothing)}, types=types, unseen=unseen, missing=missing)
    else:
        model = NaiveBayesClassifier(
            {"k": "poisson"}, types=types, smoothing=smoothing, unseen=unseen, missing=missing, prior=prior
        )
    model.fit(frame, list("ababab"))
    rows = [
        {"x": "w", "o": "high", "e": "q", "n": None, "t": "", "k": 2.0},
        {"x": None, "o": None, "e": None, "n": None, "t": None, "k": None},
        {"x": "u", "o": "low", "e": "p", "n": None, "t": "unheard words only", "k": -0.0},
        {"x": "v", "o": "mid", "e": "p", "n": None, "t": "day day bad", "k": 1e9},
    ]
    if unseen != "error":
        rows.append({"x": "odd", "o": "odd", "e": "odd", "n": "odd", "t": "odd", "k": 7.0})
    inside(model, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba, predicted = model.predict_proba(rows), model.predict(rows)
        for i in range(len(rows)):
            working = model.explain(rows, row=i)
            assert working.text()
            assert working.answer == predicted[i]
            np.testing.assert_allclose(working.posterior, proba[i], rtol=1e-12)
            logs = np.sum([[f.log for f in step.factors] for step in (working.prior, *working.used)], axis=0)
            np.testing.assert_allclose(logs, working.log_joint, rtol=1e-9, atol=1e-9)


def test_a_row_far_from_all_values_has_a_finite_interval() -> None:
    x = np.r_[np.zeros(5), np.ones(5)] + np.arange(10) / 10
    for distribution in ("gaussian", "kernel", "binned"):
        model = NaiveBayesClassifier(distribution).fit({"x": x}, ["a"] * 5 + ["b"] * 5)
        inside(model, {"x": np.array([1e9, -1e200, 1e300])})


@pytest.mark.parametrize(
    "arguments",
    [{"draws": 0}, {"draws": 2.5}, {"draws": None}, {"draws": 10**12}, {"level": 2}, {"level": 0}, {"level": "0.9"},
     {"level": float("nan")}, {"level": None}, {"random_state": -1}, {"random_state": "seed"}],
    ids=str,
)  # fmt: skip
def test_an_impossible_interval_is_refused(arguments: dict[str, Any]) -> None:
    model = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 3.0]}, list("aab"))
    with pytest.raises(OptionError, match=next(iter(arguments))):
        model.predict_interval({"x": [1.0]}, **arguments)


@pytest.mark.parametrize("interval", [0, 1, 2, -0.5, "0.9", float("nan"), True], ids=str)
def test_an_impossible_level_of_a_working_is_refused(interval: Any) -> None:
    model = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 3.0]}, list("aab"))
    with pytest.raises(OptionError, match="interval must be a number between 0 and 1"):
        model.explain({"x": [1.0]}, interval=interval)


def test_numbers_of_numpy_are_numbers() -> None:
    model = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 3.0]}, list("aab"))
    ends = model.predict_interval({"x": [1.0]}, level=np.float32(0.5), draws=np.int64(10), random_state=np.uint8(1))
    assert ends.shape == (1, 2, 2)
    assert model.explain({"x": [1.0]}, row=np.int8(0), interval=np.float64(0.5)).interval is not None
