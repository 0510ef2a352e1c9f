"""Judging tables that are odd: outliers, weights of all sizes, rows that cannot be counted, groups, gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from countwise import (
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    PrototypeClassifier,
    compare,
    cross_validate,
    learning_curve,
    leave_one_out,
    validation_curve,
)
from countwise.base.predictions import bounds
from countwise.errors import DataWarning, TooFewRows
from countwise.evaluation import decide
from countwise.neighbors import DistanceMetric

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")


def without_each(model, X, y, weights=None):
    """By hand: P(class | row) by a model of all other rows."""
    found = np.zeros((len(y), len(np.unique(y))))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        one = clone(model).fit(X.iloc[rest], y[rest], **({} if weights is None else {"sample_weight": weights[rest]}))
        found[i, np.searchsorted(np.unique(y), one.classes_)] = one.predict_proba(X.iloc[[i]])[0]
    return found


@pytest.mark.parametrize("size", [1e3, 1e5, 1e8, 1e12])
@pytest.mark.parametrize("model", [NaiveBayesClassifier(), DiscriminantClassifier(), DiscriminantClassifier("own")])
def test_without_an_outlier_the_digits_of_the_others_are_back(model, size):
    X = pd.DataFrame({"x": [size, 0.1, -4, 7, 1.2, -1.0, 0.2, -0.5, 0.3, 0.5]})
    y = np.array(list("uuuuuvvvvv"))
    found = leave_one_out(model, X, y).predictions.proba
    np.testing.assert_allclose(found[0], without_each(model, X, y)[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("weights", [np.full(24, 1e-12), np.r_[1e16, np.ones(23)], np.r_[1e-12, np.ones(23)]])
def test_weights_of_all_sizes_are_left_out(weights):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("ab"), 24), "x": rng.normal(size=24).round(1)})
    y = np.array(["u", "v"] * 12)
    for model in (NaiveBayesClassifier(), NaiveBayesClassifier({"x": "kernel"})):
        ours = leave_one_out(model, X, y, sample_weight=weights).predictions.proba
        np.testing.assert_allclose(ours, without_each(model, X, y, weights), rtol=0, atol=1e-9)


def test_a_share_that_is_tiny_is_not_0():
    X, y = pd.DataFrame({"c": list("abbaab")}), np.array(list("uuuvvv"))
    for smoothing in (1e-14, 1e-20):
        model = NaiveBayesClassifier(smoothing=smoothing)
        found = leave_one_out(model, X.assign(d=list("aaabbb")), y)
        assert found.predictions.zeros == 0
        by_hand = without_each(model, X.assign(d=list("aaabbb")), y)
        np.testing.assert_allclose(found.predictions.proba, by_hand, rtol=1e-9, atol=0)


def test_rows_that_cannot_be_counted_spoil_what_learns_from_them_and_nothing_else():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.normal(size=200)}), np.array(["u", "v"] * 100)
    X.loc[17, "x"] = 1e200
    how = {"train_sizes": [20, 40, 80, 150], "repeats": 4, "scoring": "log_loss"}
    ours, theirs = (learning_curve(NaiveBayesClassifier(), X, y, **how, fast=f) for f in (True, False))
    assert np.isnan(theirs.test_scores).any()
    np.testing.assert_array_equal(np.isnan(ours.test_scores), np.isnan(theirs.test_scores))
    np.testing.assert_allclose(ours.test_scores, theirs.test_scores, rtol=1e-10)
    ours, theirs = (cross_validate(NaiveBayesClassifier(), X, y, cv=4, fast=f) for f in (True, False))
    assert [f.fitted.error is None for f in ours.folds] == [f.fitted.error is None for f in theirs.folds]
    assert sum(f.fitted.error is None for f in ours.folds) == 1


@pytest.mark.parametrize("model", [DiscriminantClassifier(), PrototypeClassifier(), ParzenClassifier(),
                                   NaiveBayesClassifier("multinomial")])  # fmt: skip
def test_sparse_matrices_are_judged_by_all(model):
    X = sp.random(60, 4, 0.5, format="csr", random_state=0)
    y = np.array(["u", "v"] * 30)
    ours, theirs = (cross_validate(model, X, y, cv=3, fast=f) for f in (True, False))
    np.testing.assert_allclose(ours.predictions.proba, theirs.predictions.proba, rtol=0, atol=1e-10)
    assert len(leave_one_out(model, X[:20], y[:20]).predictions) == 20
    assert learning_curve(model, X, y, repeats=2, train_sizes=[20, 40]).test_scores.shape == (2, 2)


def test_groups_are_kept_together_in_curves_too():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 6)
    X = pd.DataFrame(np.repeat(rng.normal(size=(40, 3)), 6, axis=0) + rng.normal(size=(240, 3)) * 1e-3)
    X.columns = list("abc")
    y = np.repeat(rng.choice(["u", "v"], 40), 6)
    nearest = {"1nn": KNeighborsClassifier(1)}
    found = compare(X, y, learners=nearest, only="naive Bayes", groups=groups, cv=5, curve=True)
    assert found.curve.test["1nn"][-1].mean() < 0.8  # copies of a row would give it away
    for share in (0.2, 0.5, 0.8):
        how = {"groups": groups, "test_size": share, "train_sizes": [1.0], "repeats": 2}
        curve = learning_curve(NaiveBayesClassifier(), X, y, **how)
        assert curve.train_sizes[0] == pytest.approx((1 - share) * 240, abs=12)
    with pytest.raises(TooFewRows, match="one group"):
        learning_curve(NaiveBayesClassifier(), X, y, groups=np.zeros(240))


def test_a_metric_made_from_the_classes_is_made_without_the_rows_held_out():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.integers(0, 20, 60).astype(str), "b": rng.integers(0, 20, 60).astype(str)})
    y = rng.choice(["u", "v"], 60)
    curve = validation_curve(NeighborsClassifier(metric=DistanceMetric(nominal="mvdm")), X, y, param_range=[1, 5, 15])
    assert max(curve.held_out) < 0.65  # there is nothing to learn


def test_pairs_with_gaps_weights_and_categories_that_are_not_there():
    broken = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({name: rng.normal(size=400) for name in "xz"} | {"k": rng.choice(list("pqr"), 400)})
        X.loc[rng.random(400) < 0.9, "x"] = np.nan
        X.loc[rng.random(400) < 0.9, "k"] = None
        y = rng.choice(["u", "v"], 400)
        weights = rng.lognormal(0, 1.2, 400)
        for how in ({}, {"sample_weight": weights}):
            found = compare(X, y, only="naive Bayes", curve=False, cv=2, **how)
            broken += sum(found.pairs["significant"])
    assert broken <= 2  # of 60 pairs that are independent
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("pq"), 300), "b": rng.choice(list("pq"), 300)})
    wide = X.assign(b=pd.Categorical(X["b"], categories=list("pqrstuvwxyz")))
    y = rng.choice(["u", "v"], 300)
    plain, declared = (compare(t, y, only="naive Bayes", curve=False, cv=2).pairs["by_chance"] for t in (X, wide))
    assert declared == plain == [pytest.approx(2 / (2 * 300 * np.log(2)))]
    dependent = X.assign(b=np.where(rng.random(300) < 0.9, X["a"], X["b"]))
    assert compare(dependent, y, only="naive Bayes", curve=False, cv=2).pairs["significant"] == [True]


def test_equally_cheap_answers_are_the_first():
    assert decide([[3 / 11, 4 / 11, 0, 4 / 11]], cost=3 * (1 - np.eye(4))) == [1]
    rng = np.random.default_rng(0)
    proba = rng.integers(0, 5, (500, 3)) + 1e-3
    proba /= proba.sum(axis=1, keepdims=True)
    costs = rng.integers(-2, 4, (3, 3))
    together = decide(proba, cost=costs)
    assert together.tolist() == [decide(proba[i : i + 1], cost=costs)[0] for i in range(500)]


@pytest.mark.parametrize(
    "labels",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.Categorical(["low", "high"], categories=["low", "high", "never"], ordered=True),
        np.array([True, False]),
        np.array([0.0, 1.0]),
        np.array([7, -1], dtype=np.int8),
    ],
    ids=["dates", "ordered", "truth", "floats", "small integers"],
)
def test_classes_of_any_kind_are_judged(labels):
    X, y = pd.DataFrame({"x": np.r_[np.zeros(15), np.ones(15)] + np.arange(30) % 4 / 5}), pd.Series(labels.repeat(15))
    ours, theirs = (cross_validate(NaiveBayesClassifier(), X, y, cv=3, fast=f) for f in (True, False))
    np.testing.assert_allclose(ours.predictions.proba, theirs.predictions.proba, rtol=0, atol=1e-10)
    assert ours.predictions.accuracy > 0.9
    assert leave_one_out(NaiveBayesClassifier(), X, y).predictions.accuracy > 0.9


def test_of_two_classes_a_brier_score_is_1_at_most():
    assert bounds("brier", 2) == (0.0, 1.0)
    assert bounds("brier", 3) == (0.0, 2.0)


def test_a_warning_tells_what_is_left_out():
    X, y = pd.DataFrame({"c": list("aabbz")}), np.array(list("uvuvu"))
    with pytest.warns(DataWarning, match="failed without row 4"):
        found = leave_one_out(NaiveBayesClassifier(unseen="error"), X, y)
    assert found.rows.tolist() == [0, 1, 2, 3]
