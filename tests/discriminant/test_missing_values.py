"""EM where the known values do not determine a covariance: a ridge with a warning, and an answer for every row."""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from countwise import DiscriminantClassifier, Ordinal
from countwise.discriminant.em import RIDGE
from countwise.errors import CountwiseWarning, DataWarning, TooFewRows

NAN = float("nan")


def noise(seed: int, n: int, d: int, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    X[rng.random((n, d)) < share] = NAN
    return X, y


def penalized(X: np.ndarray, y: np.ndarray, steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """EM row by row, in plain NumPy, with the ridge in each M step."""
    d, classes = X.shape[1], np.unique(y)
    means = np.array([np.nanmean(X[y == c], axis=0) for c in classes])
    own = means[np.searchsorted(classes, y)]
    variance = np.nansum((X - own) ** 2, axis=0) / (~np.isnan(X)).sum(axis=0)
    sigma = np.diag(variance)
    for _ in range(steps):
        rows, extra = np.empty_like(X), np.zeros((d, d))
        for i, (row, c) in enumerate(zip(X, np.searchsorted(classes, y), strict=True)):
            t, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            slope = sigma[np.ix_(m, t)] @ np.linalg.inv(sigma[np.ix_(t, t)])
            rows[i, t] = row[t]
            rows[i, m] = means[c][m] + slope @ (row[t] - means[c][t])
            extra[np.ix_(m, m)] += sigma[np.ix_(m, m)] - slope @ sigma[np.ix_(t, m)]
        before = sigma
        means = np.array([rows[y == c].mean(axis=0) for c in classes])
        away = rows - means[np.searchsorted(classes, y)]
        sigma = (1 - RIDGE) * (away.T @ away + extra) / len(X) + RIDGE * np.diag(variance)
        if np.abs(sigma - before).max() < 1e-12:
            break
    return means, sigma


@pytest.mark.parametrize(("seed", "n", "d"), [(3, 60, 10), (4, 60, 10), (5, 60, 10)])
def test_a_covariance_that_is_not_determined_has_a_ridge_and_a_warning(seed, n, d):
    X, y = noise(seed, n, d)
    with pytest.warns(DataWarning, match="do not determine the covariance.*EM uses a ridge"):
        model = DiscriminantClassifier().fit(X, y)
    means, sigma = penalized(X, y)
    np.testing.assert_allclose(model.covariance_, sigma, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.means_, means, rtol=0, atol=1e-6)
    rng = np.random.default_rng(1)
    loss = -model.predict_log_proba(rng.normal(size=(200, d)))[np.arange(200), rng.integers(0, 2, 200)].mean()
    assert loss < 5
    assert "EM used a ridge" in model.explain(X[:1]).text()


def test_a_covariance_that_is_determined_has_no_ridge():
    X, y = noise(0, 400, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DiscriminantClassifier().fit(X, y)
    assert "ridge" not in model.explain(X[:1]).text()


def test_near_collinear_columns_that_the_rows_determine_have_no_ridge():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    X[:, 2] = X[:, 0] + 1e-3 * X[:, 2]
    X[rng.random(X.shape) < 0.3] = NAN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DiscriminantClassifier().fit(X, rng.integers(0, 2, 400))


def test_columns_that_are_missing_together_have_an_estimate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 6)), np.arange(80) % 2
    X[:40, :3], X[40:, 3:] = NAN, NAN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountwiseWarning)
        model = DiscriminantClassifier().fit(X, y)
    assert np.linalg.eigvalsh(model.covariance_).min() > 1e-8
    assert np.isfinite(model.predict_log_proba(rng.normal(size=(20, 6)))).all()


def test_collinear_columns_with_missing_values_are_excluded_if_complete_rows_show_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 3] = 2 * X[:, 0] - X[:, 1] + 5
    y = np.arange(200) % 2
    X[rng.random(X.shape) < 0.1] = NAN
    with pytest.warns(DataWarning, match="'x3' = 2·x0 - x1 \\+ 5"):
        model = DiscriminantClassifier().fit(X, y)
    assert model.columns_ == ("x0", "x1", "x2")
    assert "x3" in model.left_out_


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("shrinkage", [None, "auto", "oas", 0.2])
def test_a_fitted_discriminant_answers_for_every_pattern_of_missing_values(seed, covariance, shrinkage):
    rng = np.random.default_rng(seed)
    X, y = noise(seed, 14, 4, 0.35)
    X[:, 3] = np.where(rng.random(14) < 0.7, 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CountwiseWarning)
        try:
            model = DiscriminantClassifier(covariance, shrinkage=shrinkage).fit(X, y)
        except TooFewRows:
            return
        row = rng.normal(size=4)
        asked = np.array([np.where(known, row, NAN) for known in itertools.product([False, True], repeat=4)])
        proba = model.predict_proba(asked)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    stack = model.covariance_ if model.covariance_.ndim == 3 else model.covariance_[None]
    for sigma in stack:
        multivariate_normal(np.zeros(len(sigma)), sigma)  # positive definite for SciPy too


def test_a_small_table_of_all_kinds_of_columns_is_answered():
    level = ["high", "low", "high", "high", "top", "mid", "low", None, "top", "mid", "top", "low"]
    table = {
        "o": level,
        "a": [-1.9, 4.0, -3.8, -1.0, None, -3.6, 1.0, 2.8, -1.2, -0.6, 3.6, 2.3],
        "b": [342.7, 0.13, 0.14, 11.1, 0.25, None, None, 0.03, None, 0.05, 0.1, 0.22],
        "n": [2, 2, 0, None, 0, 0, 0, 1, 0, 0, 0, 1],
        "c": ["v5", "v6", None, "v3", "v6", None, "v6", "v5", None, "v5", "v5", "v7"],
    }
    y = ["c0", "c1", "c2", "c0", "c1", "c2", "c1", "c1", "c2", "c1", "c1", "c1"]
    types = {"o": Ordinal("o", ("low", "mid", "high", "top")), "n": "count"}
    settings = {"divisor": "n-classes", "nominal": "onehot", "prior": "uniform", "types": types}
    with pytest.warns(CountwiseWarning):
        model = DiscriminantClassifier(**settings).fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0, rtol=1e-12)


def test_em_of_a_hundred_rows_and_twenty_columns_takes_seconds_at_most():
    X, y = noise(0, 100, 20)
    start = time.process_time()
    with pytest.warns(DataWarning, match="ridge"):
        DiscriminantClassifier().fit(X, y)
    assert time.process_time() - start < 10
