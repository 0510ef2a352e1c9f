"""How good is it: scores, folds, curves, and what is said where something cannot be told."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as t_distribution
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, cross_val_predict
from sklearn.model_selection import learning_curve as theirs
from sklearn.model_selection import validation_curve as their_validation_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from countwise import (
    CategoricalEncoder,
    DiscriminantClassifier,
    Kernel,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    ParzenDensity,
    TreeClassifier,
    cross_validate,
    learning_curve,
    leave_one_out,
    samples,
    validation_curve,
)
from countwise.base.predictions import Predictions
from countwise.errors import DataWarning, OptionError, TableError, TooFewRows
from countwise.evaluation import PairedTest, paired_test
from countwise.evaluation.holdout import Holdout
from countwise.working import Formula


def drawn(k, n=300, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(k), n)
    proba = (proba * 8).round() / 8 + 0.01 if ties else proba
    return proba / proba.sum(axis=1, keepdims=True), rng.integers(0, k, n), rng.random(n)


# -- scores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_scores_are_those_of_scikit_learn(k, ties, weighted):
    proba, y, w = drawn(k, ties=ties)
    weights = w if weighted else None
    told = Predictions(tuple(range(k)), y, proba, None, weights)
    best = proba.argmax(axis=1)
    area = {"y_score": proba[:, 1]} if k == 2 else {"y_score": proba, "multi_class": "ovr"}
    brier = proba[:, 1] if k == 2 else proba
    assert told.accuracy == pytest.approx(metrics.accuracy_score(y, best, sample_weight=weights))
    assert told.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(y, best, sample_weight=weights))
    assert told.log_loss == pytest.approx(metrics.log_loss(y, proba, sample_weight=weights))
    assert told.brier == pytest.approx(
        metrics.brier_score_loss(y, brier, sample_weight=weights, labels=list(range(k)))
    )
    assert told.roc_auc == pytest.approx(metrics.roc_auc_score(y, sample_weight=weights, **area))
    table = metrics.confusion_matrix(y, best, sample_weight=weights)
    np.testing.assert_allclose(told.table, table)


def test_the_calibration_error_is_the_mean_gap_of_its_table():
    proba, y, _ = drawn(3)
    told = Predictions((0, 1, 2), y, proba)
    table = told.reliability()
    gaps = np.abs(np.array(table["probability"]) - np.array(table["share"]))
    assert told.calibration_error == pytest.approx((gaps * table["rows"]).sum() / sum(table["rows"]))
    assert sum(told.reliability(of=2)["rows"]) == 300
    with pytest.raises(OptionError, match="no class 7"):
        told.reliability(of=7)


def test_what_cannot_be_told_is_not_made_up():
    constant = Predictions(("a", "b"), np.array([0, 1, 1]), np.tile([0.3, 0.7], (3, 1)))
    assert constant.roc_auc == 0.5
    alone = Predictions(("a", "b"), np.array([1]), np.array([[0.3, 0.7]]))
    assert np.isnan(alone.roc_auc)
    assert alone.accuracy == 1.0
    never = Predictions(("a", "b"), np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert never.log_loss == np.inf
    assert never.zeros == 1
    assert np.isnan(Predictions(("a", "b", "c"), np.array([0, 1]), np.full((2, 3), 1 / 3)).roc_auc)
    with pytest.raises(OptionError, match="did you mean 'accuracy'"):
        alone.score("acuracy")


def far_off() -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes far apart, and a row of the first in the midst of the second: its P is e^-5000 or so."""
    x = np.r_[np.linspace(-1, 1, 30), np.linspace(99, 101, 30), 100.0]
    return pd.DataFrame({"x": x}), np.array(["a"] * 30 + ["b"] * 30 + ["a"])


def test_a_probability_too_small_for_a_double_is_not_0() -> None:
    X, y = far_off()
    model = NaiveBayesClassifier()
    held = [(np.arange(60), np.array([60, 0]))]
    for estimator in (model, GaussianNB()):
        found = cross_validate(estimator, X, y, cv=held)
        assert found.predictions.proba[-1, 0] == 0.0
        assert found.predictions.zeros == 0
        exact = clone(estimator).fit(X[:60], y[:60]).predict_log_proba(X[60:])[0, 0]
        assert exact < -2000
        assert found.mean("log_loss") == pytest.approx(-exact / 2, rel=1e-12)
        assert found.predictions.take(np.array([1])).log_loss == pytest.approx(-exact, rel=1e-12)
    without = model.fit(X[:60], y[:60]).predict_log_proba(X[60:])[0, 0]
    left = leave_one_out(model, X, y).predictions
    assert left.log_own[60] == pytest.approx(without, rel=1e-9)
    assert np.isfinite(left.log_loss)
    table = X.assign(y=y)
    judge = Holdout(model.fit(table[:60], "y"))
    for rows in ([0], [60, 30]):
        judge.add(table.iloc[rows])
    assert judge.predictions.zeros == 0
    assert judge.predictions.log_own[1] == pytest.approx(without, rel=1e-12)


def test_an_interval_knows_what_a_score_can_be() -> None:
    X, y = _two(40)
    found = cross_validate(NaiveBayesClassifier(), X, y, cv=4)
    easy = cross_validate(NaiveBayesClassifier(), {"x": X["x"]}, np.where(X["x"] > 0, "yes", "no"), cv=4)
    for score in found.scoring:
        for one in (found, easy):
            low, high = one.interval(score)
            assert 0 <= low <= one.mean(score) <= high <= (np.inf if score == "log_loss" else 1.0), score
    values = found.values("log_loss")
    spread = np.sqrt((1 / 4 + 1 / 3) * values.var(ddof=1))
    assert found.interval("log_loss", 0.5)[1] == pytest.approx(values.mean() + t_distribution.ppf(0.75, 3) * spread)


# -- folds -------------------------------------------------------------------------------------------------------


def test_folds_answer_as_by_hand_and_as_scikit_learn_has_it():
    credit = samples.load("credit")
    X, y = pd.DataFrame(credit.X), np.asarray(credit.y)
    found = cross_validate(NaiveBayesClassifier(), X, y, cv=KFold(5))
    by_hand = cross_val_predict(NaiveBayesClassifier(), X, y, cv=KFold(5), method="predict_proba")
    np.testing.assert_allclose(found.predictions.proba, by_hand, atol=1e-10)
    answered = np.array(["bad", "good"])[by_hand.argmax(axis=1)]
    shares = [metrics.accuracy_score(y[test], answered[test]) for _, test in KFold(5).split(X)]
    np.testing.assert_allclose(found.values("accuracy"), shares, rtol=1e-12)
    assert found.mean("accuracy") == pytest.approx(np.mean(shares))
    assert [row[0] for row in found.scores.rows()] == list(found.scoring)
    base = max(np.mean(y == "good"), np.mean(y == "bad"))
    assert found.scores["majority_class"][0] == pytest.approx(base, abs=1e-3)


def test_any_estimator_of_scikit_learn_is_judged_on_frames_with_names_and_gaps():
    birds = samples.load("penguins")
    X, y = pd.DataFrame(birds.X), np.asarray(birds.y)
    model = make_pipeline(CategoricalEncoder(), StandardScaler(), GaussianNB())
    with pytest.raises(ValueError, match="NaN"):  # in every fold
        cross_validate(make_pipeline(CategoricalEncoder(), LogisticRegression()), X, y, cv=3)
    kept = X.dropna().index
    found = cross_validate(model, X.loc[kept], y[kept], cv=3, scoring=["accuracy", "f1_macro"])
    expected = [
        metrics.f1_score(y[kept][f.test], np.array(found.data.classes)[f.predictions.answered], average="macro")
        for f in found.folds
    ]
    np.testing.assert_allclose(found.values("f1_macro"), expected)
    assert "by refitting" in str(found)


class Moody(ClassifierMixin, BaseEstimator):
    """Fails where a certain row is among those it learns from."""

    def fit(self, X, y):
        if 3.0 in np.asarray(X)[:, 0]:
            raise RuntimeError("not with 3")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_learner_that_fails_in_one_fold_is_reported_and_the_others_go_on():
    X, y = np.arange(12.0)[:, None], np.array(["a", "b"] * 6)
    with pytest.warns(DataWarning, match="failed in fold"):
        found = cross_validate(Moody(), X, y, cv=[(np.arange(4, 12), np.arange(4)), (np.arange(8), np.arange(8, 12))])
    assert len(found.done) == 1
    ((fold, error),) = found.errors
    assert (fold, str(error)) == (1, "not with 3")
    assert np.isnan(found.values("accuracy")[1])
    assert "Fold 2 failed: not with 3" in str(found)
    assert "error" in found.frame
    assert np.isnan(found.mean("log_loss"))  # it gives no probabilities


def test_classes_with_fewer_rows_than_folds():
    X, y = {"x": np.arange(11.0)}, np.array(["a"] * 5 + ["b"] * 5 + ["rare"])
    found = cross_validate(NaiveBayesClassifier(), X, y, cv=5)
    assert found.predictions.zeros == 1  # the only row of its class was learned from by nobody who was asked
    assert found.mean("log_loss") == np.inf
    assert "the true class of 1 row got probability 0" in str(found)
    with pytest.raises(TooFewRows, match="cannot be split into 20 folds"):
        cross_validate(NaiveBayesClassifier(), X, y, cv=20)


def test_groups_of_rows_and_scores_of_each():
    credit = pd.DataFrame(samples.load("credit").frame).head(600)
    found = cross_validate(NaiveBayesClassifier(), credit, "Status", cv=5, scoring=["accuracy", "roc_auc"])
    table = found.by("Home")
    assert sum(table["rows"]) == 600
    home = credit["Home"].to_numpy()
    mine = np.flatnonzero(home == "rent")
    right = np.array(found.data.classes)[found.predictions.answered[mine]] == credit["Status"].to_numpy()[mine]
    assert table["accuracy"][table["Home"].index("rent")] == pytest.approx(right.mean())
    lone = credit.assign(Home=["only one", *["many"] * 599])
    assert np.isnan(cross_validate(NaiveBayesClassifier(), lone, "Status", cv=5).by("Home")["roc_auc"][1])
    with pytest.raises(TableError, match="did you mean 'Home'"):
        found.by("Hom")
    named = cross_validate(NaiveBayesClassifier(), credit, "Status", cv=5, scoring="accuracy", by="Home")
    assert named.by()["accuracy"] == table["accuracy"]
    assert str(named).endswith(str(named.by()))
    without = cross_validate(NaiveBayesClassifier(), credit.drop(columns="Home"), "Status", cv=5, by=home)
    assert without.by()["rows"] == table["rows"]
    assert leave_one_out(NaiveBayesClassifier(), credit, "Status", by="Home").by()["rows"] == table["rows"]
    for judge in (cross_validate, leave_one_out):
        with pytest.raises(TableError, match="did you mean 'Home'"):
            judge(NaiveBayesClassifier(), credit, "Status", by="Hom")
        with pytest.raises(TableError, match="by has 3 entries, but the table has 600 rows"):
            judge(NaiveBayesClassifier(), credit, "Status", by=["a", "b", "c"])
    with pytest.raises(OptionError, match="no groups"):
        found.by()
    groups = np.arange(600) // 10
    held = cross_validate(NaiveBayesClassifier(), credit, "Status", cv=5, groups=groups)
    assert all(len(set(groups[f.test]) & set(groups[f.train])) == 0 for f in held.folds)


def test_costs_of_answers():
    told = cross_validate(NaiveBayesClassifier(), *_two(), cv=5)
    table = told.predictions.table
    assert told.cost({"fn": 5, "fp": 1}) == pytest.approx((table[1, 0] * 5 + table[0, 1]) / table.sum())
    assert told.cost({("no", "yes"): 2, ("yes", "no"): 0}) == pytest.approx(table[0, 1] * 2 / table.sum())
    for wrong in ({"fm": 1}, {("no", "maybe"): 1}, np.ones((3, 3)), {"fn": np.nan}):
        with pytest.raises(OptionError):
            told.cost(wrong)


def _two(n=200, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {"x": x}, np.where(x + rng.normal(size=n) > 0.5, "yes", "no")


def test_the_paired_test_is_that_of_nadeau_and_bengio():
    X, y = _two(300)
    one, other = (cross_validate(m, X, y, scoring="accuracy") for m in (NaiveBayesClassifier(), TreeClassifier()))
    found = paired_test(one, other)
    gaps = one.values("accuracy") - other.values("accuracy")
    spread = np.sqrt((1 / 10 + 1 / 9) * gaps.var(ddof=1))
    assert found.difference == pytest.approx(gaps.mean())
    assert found.p_value == pytest.approx(2 * t_distribution.sf(abs(gaps.mean()) / spread, 9))
    assert found.high - found.difference == pytest.approx(t_distribution.ppf(0.975, 9) * spread)
    assert "in accuracy" in str(found)
    same = paired_test(one, one)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    with pytest.raises(OptionError, match="different folds"):
        paired_test(one, cross_validate(TreeClassifier(), X, y, cv=5, scoring="accuracy"))


@pytest.mark.parametrize("folds", [3, 30])
def test_the_steps_of_a_paired_test_give_its_result(folds):
    X, y = _two(100)
    one, other = (
        cross_validate(m, X, y, cv=folds, scoring="accuracy") for m in (NaiveBayesClassifier(), TreeClassifier())
    )
    found = paired_test(one, other)
    shown = found.explain()
    assert shown.value == found.p_value
    table = shown.sections[0].table
    assert table["NaiveBayesClassifier"] == one.values("accuracy").tolist()[:20]
    assert table["train"] == [len(fold.train) for fold in one.folds][:20]
    assert ("The first 20 of 30 folds." in str(shown)) == (folds == 30)
    results = {}
    for line in (line for section in shown.sections for line in section.lines if isinstance(line, Formula)):
        name, *_, body, result = line.split(" = ")
        results[name] = float(result)
        if "…" not in body and "P(" not in body:
            code = body.replace("·", "*").replace("²", "**2").replace("√", "math.sqrt")
            assert eval(code, {"math": math}) == pytest.approx(float(result), rel=2e-3, abs=1e-6), line
    assert results["mean of d"] == pytest.approx(found.difference, rel=1e-5)
    assert results["lower limit"] == pytest.approx(found.low, rel=1e-4)
    assert results["upper limit"] == pytest.approx(found.high, rel=1e-4)
    assert results["degrees of freedom"] == folds - 1
    assert 2 * t_distribution.sf(abs(results["t"]), folds - 1) == pytest.approx(found.p_value, rel=1e-4)
    assert max(len(line) for line in shown.text(80).splitlines()[1:]) <= 80
    assert r"\sqrt" in shown.latex(56)


def test_a_paired_test_without_a_computation_explains_itself_in_a_sentence():
    X, y = _two(60)
    one = cross_validate(NaiveBayesClassifier(), X, y, scoring="accuracy")
    assert "All differences are equal: p = 1." in str(paired_test(one, one).explain())
    made = PairedTest("a", "b", "accuracy", 0.1, -0.05, 0.25, 0.15, 10)
    assert made.explain().sections == ()
    assert str(made.explain()) == str(made)


def test_leaving_out_is_that_of_scikit_learn():
    birds = samples.load("penguins")
    X, y = pd.DataFrame(birds.X).head(60), np.asarray(birds.y)[:60]
    for model in (NaiveBayesClassifier(), NaiveBayesClassifier({"body_mass_g": Kernel(200.0)})):
        found = leave_one_out(model, X, y)
        by_hand = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="predict_proba")
        np.testing.assert_allclose(found.predictions.proba, by_hand, atol=1e-10)
    nearest = leave_one_out(NeighborsClassifier(3), X.head(30), y[:30])
    assert nearest.folds[0].fitted.how == "fitting"
    with pytest.raises(TooFewRows):
        leave_one_out(NaiveBayesClassifier(), X.head(1), y[:1])


def test_a_learner_that_fails_without_a_row_is_judged_on_the_others() -> None:
    X, y = np.arange(12.0)[:, None], np.array(["a", "b"] * 6)
    X[[5, 6]] = 3.0  # it fails unless these, and the fourth, are left out: always
    with pytest.raises(RuntimeError, match="not with 3"):
        leave_one_out(Moody(), X, y)
    X[[5, 6]] = 0.0  # it fails unless the fourth is left out
    with pytest.warns(DataWarning, match="failed in fold 1 of 12 and in 10 others: not with 3"):
        found = leave_one_out(Moody(), X, y, by=["odd", "even"] * 6)
    assert found.rows.tolist() == [3]
    assert len(found.predictions) == 1
    assert found.by()["rows"] == [1]
    assert "leave-one-out over 12 rows; 11 failed" in str(found)


def test_rows_without_which_there_is_no_model_are_told_and_the_others_go_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(23, 2)), np.array(["few"] * 3 + ["many"] * 20)
    X[3:, 0] += 2
    told = r"failed without row 0 and without each of 2 other rows: The covariance of class 'few'"
    with pytest.warns(DataWarning, match=told):
        found = leave_one_out(DiscriminantClassifier("own"), X, y)
    assert found.rows.tolist() == list(range(3, 23))
    assert len(found.predictions) == len(found.baseline) == 20
    by_hand = [
        DiscriminantClassifier("own").fit(np.delete(X, i, 0), np.delete(y, i)).predict_proba(X[[i]])[0]
        for i in range(3, 23)
    ]
    np.testing.assert_allclose(found.predictions.proba, by_hand, rtol=0, atol=1e-10)


# -- curves ------------------------------------------------------------------------------------------------------


def test_a_learning_curve_unpacks_as_that_of_scikit_learn_and_tells_the_same():
    X, y = samples.load("penguins").X, samples.load("penguins").y
    X = pd.DataFrame(X)[["bill_length_mm", "flipper_length_mm"]].dropna()
    y = np.asarray(y)[X.index]
    cv = ShuffleSplit(3, test_size=0.25, random_state=0)
    sizes, train, test = learning_curve(GaussianNB(), X, y, train_sizes=[1.0], cv=cv)
    expected = theirs(GaussianNB(), X, y, train_sizes=[1.0], cv=cv)
    assert sizes.tolist() == expected[0].tolist()
    np.testing.assert_allclose(train, expected[1])
    np.testing.assert_allclose(test, expected[2])


def bent(n, rng):
    """Classes that a line does not part: there is more to learn than a simple learner can."""
    X = rng.uniform(-1, 1, (n, 2))
    clear = np.where((X**2).sum(axis=1) < 0.6, "in", "out")
    return X, np.where(rng.random(n) < 0.08, np.where(clear == "in", "out", "in"), clear)


def test_the_shapes_that_the_lecture_teaches():
    X, y = bent(3000, np.random.default_rng(0))
    X[:, 0] += 0.15 * (y == "in")
    learners = {"simple": DiscriminantClassifier(), "flexible": NeighborsClassifier(9)}
    curve = learning_curve(learners, X, y, train_sizes=[16, 100, 600, 2200], repeats=8)
    for name in learners:
        apparent, true = 1 - curve.train[name].mean(axis=1), 1 - curve.test[name].mean(axis=1)
        assert (apparent[:2] < true[:2]).all()  # what was learned from looks better than it is
        gap = true - apparent
        assert gap[-1] < 0.4 * gap[0]  # and the two meet as rows grow
        assert curve.test[name].std(axis=1)[-1] < curve.test[name].std(axis=1)[0]
    simple, flexible = (curve.test[name].mean(axis=1) for name in learners)
    assert flexible[-1] > simple[-1] + 0.1
    assert "train_error" in str(curve.summary)


def test_a_simple_learner_is_ahead_while_rows_are_few():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    X = rng.normal(size=(3000, 6)) + 0.5 * y[:, None]
    X[:, 5] = np.where(y == 1, np.abs(X[:, 5]) * np.sign(X[:, 4]), X[:, 5])  # a twist that only many rows show
    learners = {"nearest mean": NaiveBayesClassifier(), "quadratic": DiscriminantClassifier("own")}
    curve = learning_curve(learners, X, y, train_sizes=[20, 2200], repeats=12)
    few, many = curve.test["quadratic"].mean(axis=1) - curve.test["nearest mean"].mean(axis=1)
    assert few < 0 < many


def test_widths_rise_without_end_where_learned_and_peak_where_held_out():
    """G34: the likelihood of the rows learned from grows as the width falls; that of rows held out has its best."""
    X = {"x": np.random.default_rng(0).normal(size=200)}
    curve = validation_curve(ParzenDensity(), X, param_range=np.geomspace(0.01, 5, 15))
    assert (np.diff(curve.train) < 0).all()
    best = curve.param_range.index(curve.best)
    assert 0 < best < 14
    assert curve.held_out[0] < curve.held_out[best] > curve.held_out[-1]


RAIN_TEMPERATURES = np.array([32.1, 18.4, 19.5, 23.5, 20.3, 19.7])


def summed(rows: Any, under: Any, h: float = 1.0) -> float:
    """The log-likelihood of some temperatures under a kernel density of others, by the definition."""
    x, centers = RAIN_TEMPERATURES[list(rows)], RAIN_TEMPERATURES[list(under)]
    kernels = np.exp(-0.5 * ((x[:, None] - centers) / h) ** 2) / np.sqrt(2 * np.pi)
    return float(np.log(kernels.sum(axis=1) / (len(centers) * h)).sum())


def densities_over(cv: Any, **settings: Any) -> list[Any]:
    """The curves of our density, by both of its paths, and of scikit-learn's, over the same folds."""
    X = RAIN_TEMPERATURES[:, None]
    return [
        validation_curve(ParzenDensity(), X, param_range=[0.5, 1.0, 5.0], cv=cv),
        validation_curve(ParzenDensity(), X, param_name="bandwidth", param_range=[0.5, 1.0, 5.0], cv=cv),
        validation_curve(KernelDensity(), X, param_name="bandwidth", param_range=[0.5, 1.0, 5.0], cv=cv),
    ]


def test_a_curve_over_explicit_splits_scores_the_training_rows_under_their_own_density() -> None:
    splits = [([0, 1, 2, 3], [4, 5])]
    for curve in densities_over(splits):
        assert curve.train[1] == pytest.approx(summed(range(4), range(4)), rel=1e-12)
        assert curve.held_out[1] == pytest.approx(summed([4, 5], range(4)), rel=1e-12)
    assert curve.train[1] == pytest.approx(-8.3489373335927)  # -12.134472 is that of all six rows
    X, name = RAIN_TEMPERATURES[:, None], "bandwidth"
    train, test = their_validation_curve(
        KernelDensity(), X, None, param_name=name, param_range=[0.5, 1, 5], cv=splits
    )
    np.testing.assert_allclose(curve.train, train[:, 0], rtol=1e-12)
    np.testing.assert_allclose(curve.held_out, test[:, 0], rtol=1e-12)


@pytest.mark.parametrize("cv", [KFold(4), KFold(3, shuffle=True, random_state=0), LeaveOneOut()])
def test_the_curves_of_our_density_and_of_scikit_learn_agree_on_the_same_folds(cv: Any) -> None:
    curves = densities_over(cv)
    for curve in curves[1:]:
        np.testing.assert_allclose(curve.train, curves[0].train, rtol=1e-12)
        np.testing.assert_allclose(curve.held_out, curves[0].held_out, rtol=1e-12)
    by_hand = sum(summed(test, train) for train, test in cv.split(RAIN_TEMPERATURES))
    assert curves[0].held_out[1] == pytest.approx(by_hand, rel=1e-12)


def test_a_row_that_is_in_several_folds_of_a_curve_counts_once() -> None:
    once, twice = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])], RepeatedKFold(n_splits=3, n_repeats=2)
    for curve, again in zip(densities_over(once), densities_over(once * 2), strict=True):
        np.testing.assert_allclose(again.train, curve.train, rtol=1e-12)
        np.testing.assert_allclose(again.held_out, curve.held_out, rtol=1e-12)
    folds = list(twice.split(RAIN_TEMPERATURES))
    for curve in densities_over(folds):
        assert curve.held_out[1] == pytest.approx(sum(summed(b, a) for a, b in folds) / 2, rel=1e-12)
        assert curve.train[1] == pytest.approx(sum(summed(a, a) for a, _ in folds) / 4, rel=1e-12)


def test_a_fold_that_fails_does_not_make_a_bandwidth_look_better() -> None:
    class Fussy(KernelDensity):
        def fit(self, X, y=None, sample_weight=None):
            if self.bandwidth == 1.0 and 32.1 not in X:
                raise ValueError("not without 32.1")
            return super().fit(X)

    X, splits = RAIN_TEMPERATURES[:, None], list(KFold(3).split(RAIN_TEMPERATURES))
    with pytest.warns(
        DataWarning, match=r"bandwidth=1 failed in 1 of 3 folds, which are ignored: .* not without 32.1"
    ):
        curve = validation_curve(Fussy(), X, param_range=[1.0], cv=splits)
    known = sum(summed(test, train) for train, test in splits[1:])
    assert curve.held_out == [pytest.approx(known * 6 / 4, rel=1e-12)]


def test_neighbors_are_chosen_by_leaving_out():
    X, y = bent(80, np.random.default_rng(1))
    curve = validation_curve(NeighborsClassifier(), X, y, param_range=[1, 5, 9, 31])
    for k, score in zip(curve.param_range, curve.held_out, strict=True):
        by_hand = cross_val_predict(NeighborsClassifier(k), X, y, cv=LeaveOneOut())
        assert score == pytest.approx(np.mean(by_hand == y))
    assert curve.train[0] == 1.0
    assert curve.best == curve.param_range[int(np.argmax(curve.held_out))]
    folds = validation_curve(NeighborsClassifier(), X, y, param_range=[9, 1, 9], cv=5)
    assert folds.param_range == [1, 9]  # ascending, each once
    assert validation_curve(ParzenDensity(), {"x": X[:, 0]}, param_range=[2.0, 0.5, 2.0]).param_range == [0.5, 2.0]


class Mute(Moody):
    """Learns from anything, and does not answer rows like those of 100."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if (np.asarray(X)[:, 0] == 100.0).any():
            raise RuntimeError("no answer to 100")
        return super().predict(X)


def test_a_learner_that_fails_at_a_point_of_a_curve_is_reported_and_the_others_go_on() -> None:
    X, y = np.arange(40.0)[:, None], np.array(["a", "b"] * 20)
    X[39] = 100.0
    splits = [(np.arange(10, 40), np.arange(10)), (np.arange(30), np.arange(30, 40))]
    learners = {"mute": Mute(), "bayes": NaiveBayesClassifier()}
    with pytest.warns(DataWarning, match=r"mute failed with \d+ rows: no answer to 100"):
        curve = learning_curve(learners, X, y, cv=splits, train_sizes=[10, 20])
    assert np.isnan(curve.test["mute"][:, 1]).all()
    assert np.isfinite(curve.test["mute"][0, 0])
    assert np.isfinite(curve.test["bayes"]).all()
    assert str(curve).endswith(" rows: no answer to 100")
    with pytest.raises(TableError, match="Moody failed with 30 rows: not with 3"):
        learning_curve(Moody(), np.full((40, 1), 3.0), y, cv=splits, train_sizes=[30])


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda X, y: learning_curve(NaiveBayesClassifier(), X, y, train_sizes=[0.5, 2.0]), "must be fractions in"),
        (lambda X, y: learning_curve(NaiveBayesClassifier(), X, y, train_sizes=[10_000]), "must be from 1 to"),
        (lambda X, y: learning_curve([], X, y), "no learner"),
        (lambda X, y: learning_curve(NaiveBayesClassifier, X, y), "pass an instance"),
        (lambda X, y: learning_curve(NaiveBayesClassifier(), X, y, test_size=2), "test_size"),
        (lambda X, y: cross_validate(NaiveBayesClassifier(), X, y, scoring="acuracy"), "did you mean"),
        (lambda X, y: cross_validate(NaiveBayesClassifier(), X), "requires y"),
        (lambda X, y: validation_curve(NeighborsClassifier(), X, y, param_range=[0]), "numbers > 0"),
        (
            lambda X, y: validation_curve(NaiveBayesClassifier(), X, y),
            "no parameter for a number of neighbors or a bandwidth",
        ),
    ],
)
def test_what_is_no_question_is_told(work, told):
    with pytest.raises((OptionError, TableError, TooFewRows), match=told):
        work(*_two(50))


def test_a_law_that_was_chosen_is_chosen_anew_without_the_row() -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 40)
    X = pd.DataFrame({"x": rng.normal(2 * y, 1), "same": np.zeros(40)})
    model = NaiveBayesClassifier("auto")
    assert "gaussian" in {law.choice.chosen for law in model.fit(X, y).densities_.values()}
    fast, slow = leave_one_out(model, X, y), cross_validate(model, X, y, cv=LeaveOneOut(), fast=False)
    np.testing.assert_allclose(fast.predictions.proba, slow.predictions.proba, rtol=0, atol=1e-10)


# -- what cannot be told -----------------------------------------------------------------------------------------


def test_scores_of_scikit_learn_are_better_where_they_are_greater() -> None:
    birds = samples.load("penguins")
    how = {"cv": 5, "scoring": ["neg_log_loss", "log_loss"]}
    good, bad = (
        cross_validate(m, birds.X, birds.y, **how) for m in (NaiveBayesClassifier(), TreeClassifier(max_depth=1))
    )
    for score in how["scoring"]:
        assert "is significantly better than TreeClassifier" in str(paired_test(good, bad, score)), score
        assert "is significantly worse than NaiveBayesClassifier" in str(paired_test(bad, good, score)), score


def test_the_interval_of_a_comparison_names_its_confidence() -> None:
    birds = samples.load("penguins")
    one, other = (cross_validate(m, birds.X, birds.y) for m in (NaiveBayesClassifier(), TreeClassifier(max_depth=1)))
    wide, narrow = paired_test(one, other), paired_test(one, other, confidence=0.8)
    assert "95 % CI" in str(wide)
    assert "80 % CI" in str(narrow)
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(OptionError, match="between 0 and 1"):
        paired_test(one, other, confidence=95)


def test_no_width_is_best_if_none_has_a_likelihood() -> None:
    curve = validation_curve(ParzenDensity(kernel="uniform"), {"x": [0.0, 10.0, 30.0, 70.0]}, param_range=[0.1, 1.0])
    assert curve.best is None
    assert not np.isfinite(curve.held_out).any()
    assert "There is no best bandwidth" in str(curve)


class Picky(BaseEstimator, ClassifierMixin):
    """Fails with three neighbors where the first row was learned from, and with nine always."""

    def __init__(self, k=1):
        self.k = k

    def fit(self, X, y):
        if self.k == 9 or (self.k == 3 and (np.asarray(X)[:, 0] == 0).any()):
            raise RuntimeError("not today")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_a_curve_over_a_setting_goes_on_where_a_fold_fails() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.warns(DataWarning) as told:
        curve = validation_curve(Picky(), X, y, param_range=[1, 3, 9], cv=4)
    assert [str(warning.message).split(",")[0] for warning in told] == [
        "k=3 failed in 3 of 4 folds", "k=9 failed in 4 of 4 folds"
    ]  # fmt: skip
    assert curve.param_range == [1, 3, 9]
    assert curve.best == 1
    assert np.isfinite(curve.held_out[:2]).all()
    assert np.isnan(curve.held_out[2])
    with pytest.raises(RuntimeError, match="not today"):
        validation_curve(Picky(), X, y, param_range=[9], cv=4)


def test_the_rooms_name_what_is_public_and_import_no_scikit_learn() -> None:
    script = (
        "import sys, countwise.evaluation as e, countwise.feature_selection as f, countwise.plots as p\n"
        "assert not {'sklearn', 'joblib', 'pandas', 'matplotlib'} & sys.modules.keys()\n"
        "for room in (e, f, p):\n"
        "    assert room.__all__ == sorted(room.__all__)\n"
        "    assert all(callable(getattr(room, name)) for name in room.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("values", [["gini", "gain_ratio"], [None, 2]])
def test_a_validation_curve_is_over_any_setting(values: list[object]) -> None:
    X, y = _two(60)
    name = "criterion" if "gini" in values else "max_depth"
    curve = validation_curve(TreeClassifier(), X, y, param_name=name, param_range=values, cv=3, scoring="log_loss")
    by_hand = [
        cross_validate(TreeClassifier(**{name: value}), X, y, cv=3, scoring="log_loss").mean("log_loss")
        for value in values
    ]
    assert curve.held_out == pytest.approx(by_hand, abs=1e-12)
    finite = [(score, -i) for i, score in enumerate(curve.held_out) if np.isfinite(score)]
    assert curve.best == (values[-min(finite)[1]] if finite else None)
    with pytest.raises(OptionError, match="did you mean 'max_depth'"):
        validation_curve(TreeClassifier(), X, y, param_name="max_dept", param_range=[1])
    with pytest.raises(OptionError, match="param_range is needed"):
        validation_curve(TreeClassifier(), X, y, param_name="max_depth")


def test_a_fitted_model_is_held_against_its_own_rows_and_the_majority_class():
    tennis = samples.load("tennis")
    judge = Holdout(NaiveBayesClassifier().fit(tennis.frame, "play"))
    judge.add(tennis.frame)
    assert (round(judge.predictions.accuracy, 4), round(judge.baseline.accuracy, 4)) == (0.9286, 0.6429)


# hints of validation curves


@pytest.mark.parametrize("given", [{}, {"param_name": "bandwidth"}, {"param_name": "distributions__bandwidth"}])
def test_the_hint_for_the_bandwidth_of_a_kernel_works_when_it_is_followed(given):
    weather = samples.load("weather")
    with pytest.raises(OptionError, match=r"distributions', param_range=\[Kernel\(bandwidth=1\)") as caught:
        validation_curve(NaiveBayesClassifier(), weather.X, weather.y, **given)
    options = eval(caught.value.hint.removeprefix("pass ").removesuffix(".").join(["dict(", ")"]))
    curve = validation_curve(NaiveBayesClassifier(), weather.X, weather.y, cv=5, **options)
    assert curve.param_range == options["param_range"]
    assert np.isfinite(curve.held_out).all()
    by_hand = cross_validate(
        NaiveBayesClassifier(distributions=options["param_range"][1]), weather.X, weather.y, cv=5
    )
    assert curve.held_out[1] == pytest.approx(by_hand.mean("accuracy"), rel=1e-12)


@pytest.mark.parametrize(
    ("learner", "name", "right"),
    [(NeighborsClassifier, "k", "n_neighbors"), (ParzenClassifier, "width", "bandwidth")],
)
def test_another_name_of_a_parameter_is_answered_by_the_right_one(learner, name, right):
    weather = samples.load("weather")
    with pytest.raises(OptionError, match=f"use '{right}'"):
        validation_curve(learner(), weather.X, weather.y, param_name=name)
    assert next(iter(validation_curve(learner(), weather.X, weather.y, param_name=right, cv=3).frame)) == right
    assert next(iter(validation_curve(learner(), weather.X, weather.y, cv=3).frame)) == right


def test_factors_on_several_bandwidths_are_called_factors_in_the_table_and_in_the_picture():
    weather = samples.load("weather")
    X = {name: weather.X[name] for name in ("temperature", "humidity")}
    curve = validation_curve(ParzenDensity(), X, param_range=[0.5, 1, 2])
    assert next(iter(curve.frame)) == "bandwidth factor" == curve.plot().ax_.get_xlabel()


def test_two_validations_of_the_same_name_can_be_compared():
    weather = samples.load("weather")
    one, other = (
        cross_validate(NaiveBayesClassifier(distributions=d), weather.X, weather.y, cv=7)
        for d in (None, Kernel(bandwidth=2))
    )
    found = paired_test(one, other)
    assert (found.one, found.other) == ("NaiveBayesClassifier (1)", "NaiveBayesClassifier (2)")
    differences = one.values("accuracy") - other.values("accuracy")
    assert found.difference == pytest.approx(differences.mean(), rel=1e-12)
