"""Rows far from all training rows, and numbers near the limits of floats: an answer or an error, no raw warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from countwise import (
    BayesNetworkClassifier,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    ParzenDensity,
    PEBLSClassifier,
    PrototypeClassifier,
    TreeClassifier,
)
from countwise.errors import CountwiseError, CountwiseWarning

MODELS = {
    "gaussian": NaiveBayesClassifier(),
    "kernel": NaiveBayesClassifier("kernel"),
    "auto": NaiveBayesClassifier("auto"),
    "naive network": BayesNetworkClassifier("naive"),
    "tan": BayesNetworkClassifier("tan"),
    "shared": DiscriminantClassifier(nominal="onehot"),
    "own": DiscriminantClassifier("own", nominal="onehot", shrinkage=0.1),
    "diagonal": DiscriminantClassifier("diagonal", nominal="onehot"),
    "spherical": DiscriminantClassifier("spherical", nominal="onehot"),
    "parzen": ParzenClassifier(),
    "epanechnikov": ParzenClassifier(kernel="epanechnikov"),
    "neighbors": NeighborsClassifier(3),
    "pebls": PEBLSClassifier(3),
    "prototype": PrototypeClassifier(),
    "tree": TreeClassifier(),
}
every_model = pytest.mark.parametrize("name", MODELS)


def table(n: int = 40) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(0)
    X = {
        "a": rng.normal(size=n),
        "c": rng.normal(size=n),
        "b": np.array(list("xyz"), dtype=object)[rng.integers(0, 3, n)],
    }
    return X, np.where(X["a"] + (X["b"] == "x") > 0.3, "p", "q").astype(object)


@pytest.fixture(autouse=True)
def no_raw_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CountwiseWarning)
        yield


@every_model
def test_a_row_far_from_all_others_has_probabilities_and_an_explanation(name):
    X, y = table()
    model = MODELS[name].fit(X, y)
    for far in (1e10, 1e155, -1e300, 1.7e308):
        for other in (X["c"][0], -far, far):
            row = {"a": [far], "c": [other], "b": ["x"]}
            found = model.predict_proba(row)
            assert np.isfinite(found).all()
            assert found.sum() == pytest.approx(1.0)
            assert not np.isnan(model.predict_log_proba(row)).any() if hasattr(model, "predict_log_proba") else True
            working = model.explain(row)
            assert "nan" not in working.text().lower()
            shown = working.posterior
            shown = [shown[c] for c in model.classes_] if isinstance(shown, dict) else shown
            np.testing.assert_allclose(shown, found[0], rtol=0, atol=1e-9)
            if hasattr(model, "predict_joint_log_proba"):
                assert not np.isnan(model.predict_joint_log_proba(row)).any()
            if name != "prototype":  # refuses, since its probabilities follow from distances
                ends = model.predict_interval(row)
                assert (ends[..., 0] <= ends[..., 1]).all()


@every_model
@pytest.mark.parametrize("size", [1e308, 1e200, 1e154, 1e-160, 1e-300, 5e-324])
@pytest.mark.parametrize("kind", ["two numbers", "three numbers", "many numbers"])
def test_numbers_near_the_limits_of_floats_are_learned_or_refused(name, size, kind):
    y = np.array(list("pq"), dtype=object)[np.arange(20) % 2]
    units = {
        "two numbers": np.where(y == "p", 1.0, -1.0),
        "three numbers": np.resize([1.0, 0.0, -1.0], 20),
        "many numbers": np.linspace(-1, 1, 20),
    }[kind]
    X = {"a": units * size, "b": np.resize(np.array(list("xyz"), dtype=object), 20)}
    try:
        model = MODELS[name].fit(X, y)
        found = model.predict_proba(X)
    except CountwiseError:
        return
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
    assert "nan" not in model.explain({k: v[:1] for k, v in X.items()}).text().lower()


@pytest.mark.parametrize("rule", ["silverman", "scott", "sheather_jones", "leave_one_out"])
@pytest.mark.parametrize("power", [-1000, -500, -320, 320, 480])
def test_a_bandwidth_scales_with_its_column(rule, power):
    """Powers of two change no digit."""
    x = np.random.default_rng(0).normal(size=30)
    plain = ParzenDensity(rule).fit({"x": x}).bandwidths_["x"]
    try:
        scaled = ParzenDensity(rule).fit({"x": x * 2.0**power}).bandwidths_["x"]
    except CountwiseError:
        return
    assert scaled == pytest.approx(plain * 2.0**power, rel=1e-6)
