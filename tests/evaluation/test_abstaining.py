"""Learners that abstain: coverage, and the scores of the rows that they predict."""

from __future__ import annotations

import numpy as np
import pytest

from countwise import RoteClassifier, RuleClassifier, compare, cross_validate, leave_one_out, samples
from countwise.errors import TableError
from countwise.evaluation import Predictions, decide, learning_curve, paired_test
from countwise.plots import CalibrationDisplay, ConfusionDisplay, ROCDisplay

TENNIS = samples.load("tennis")
THREE = {name: TENNIS.X[name] for name in ("outlook", "temperature", "humidity")}
ROTE = RoteClassifier("abstain")


def naive(X, y, splits):
    """Predict each held-out row from the identical training rows; None if there is none."""
    rows, found = list(zip(*X.values(), strict=True)), {}
    for train, test in splits:
        for i in test:
            near = [y[j] for j in train if rows[j] == rows[i]]
            found[int(i)] = None if not near else "No" if near.count("No") >= near.count("Yes") else "Yes"
    return [found[i] for i in range(len(y))]


def test_scores_are_those_of_the_rows_that_are_predicted():
    found = leave_one_out(ROTE, THREE, TENNIS.y)
    wanted = naive(THREE, TENNIS.y, [(np.delete(np.arange(14), i), [i]) for i in range(14)])
    known = [i for i, c in enumerate(wanted) if c is not None]
    right = np.mean([wanted[i] == TENNIS.y[i] for i in known])
    assert [None if c < 0 else found.data.classes[c] for c in found.predictions.answered] == wanted
    assert found.predictions.coverage == len(known) / 14
    assert found.predictions.accuracy == right
    assert found.predictions.table.sum() == len(known)
    assert np.isfinite(found.predictions.brier)
    assert np.isnan(found.predictions.proba[[i for i in range(14) if i not in known]]).all()
    table = found.predictions.confusion()
    assert table["no prediction"] == [1, 7]
    assert "The learner abstains for 8 rows; the scores are those of the other rows." in str(found)


@pytest.mark.parametrize("fast", [True, False])
def test_each_fold_has_a_coverage(fast):
    splits = [(np.arange(7, 14), np.arange(7)), (np.arange(7), np.arange(7, 14))]
    found = cross_validate(ROTE, THREE, TENNIS.y, cv=splits, scoring=["accuracy"], fast=fast)
    wanted = naive(THREE, TENNIS.y, splits)
    for f, (_, test) in enumerate(splits):
        known = [i for i in test if wanted[i] is not None]
        assert found.frame["coverage"][f] == len(known) / 7
        assert found.frame["accuracy"][f] == np.mean([wanted[i] == TENNIS.y[i] for i in known])
    assert found.scores["score"] == ["accuracy", "coverage"]
    # the majority class is scored on the same rows
    base = [found.folds[f].baseline.take([i for i, t in enumerate(test) if wanted[t] is not None]).accuracy
            for f, (_, test) in enumerate(splits)]  # fmt: skip
    assert found.scores["majority_class"][0] == np.mean(base)
    assert found.by(TENNIS.X["wind"])["coverage"] == [
        np.mean([wanted[i] is not None for i in range(14) if TENNIS.X["wind"][i] == wind])
        for wind in ("Strong", "Weak")
    ]


def test_coverage_is_a_score_that_can_be_requested():
    found = cross_validate(RoteClassifier(), THREE, TENNIS.y, cv=7, scoring="coverage")
    assert found.mean("coverage") == 1.0
    assert "coverage" not in cross_validate(RoteClassifier(), THREE, TENNIS.y, cv=7).frame
    assert "abstain" not in str(found)


def test_scorers_of_scikit_learn_get_the_rows_that_are_predicted():
    found = leave_one_out(ROTE, THREE, TENNIS.y, scoring=["accuracy"])
    splits = [(np.arange(7, 14), np.arange(7)), (np.arange(7), np.arange(7, 14))]
    both = cross_validate(
        ROTE, THREE, TENNIS.y, cv=splits, scoring={"a": "accuracy", "b": lambda m, X, y: m.score(X, y)}
    )
    assert both.frame["a"] == both.frame["b"]
    none = cross_validate(ROTE, TENNIS.X, TENNIS.y, cv=splits, scoring=["accuracy", "f1_macro"])
    assert np.isnan(none.frame["f1_macro"]).all()
    assert np.isnan(none.frame["accuracy"]).all()
    assert none.frame["coverage"] == [0.0, 0.0]
    assert not none.errors
    assert found.cost({"fn": 1, "fp": 1}) == pytest.approx(1 - found.predictions.accuracy, rel=1e-14)


def test_score_counts_the_rows_that_are_predicted():
    model = ROTE.fit({"x": [1, 2]}, ["a", "b"])
    assert model.score({"x": [1, 2, 3, 1]}, ["a", "a", "a", "b"]) == 1 / 3
    assert model.score({"x": [1, 2, 3]}, ["a", "a", "a"], sample_weight=[3, 1, 9]) == 0.75
    assert np.isnan(model.score({"x": [3]}, ["a"]))


def test_weights_count_in_the_coverage():
    y = ["a", "a", "b", "b"]
    found = leave_one_out(ROTE, {"x": [1, 1, 2, 3]}, y, sample_weight=[1, 1, 3, 3])
    assert found.predictions.coverage == 0.25
    assert found.predictions.accuracy == 1.0


def test_a_class_that_a_fold_does_not_know_stays_out_of_the_predictions_of_abstained_rows():
    X, y = {"x": [1, 1, 1, 2, 2]}, ["a", "a", "b", "b", "c"]
    found = cross_validate(ROTE, X, y, cv=[([0, 1, 3], [2, 4]), ([0, 2, 4], [1, 3])], scoring="accuracy")
    assert found.predictions.coverage == 1.0
    some = cross_validate(ROTE, X, y, cv=[([0, 1], [2, 4])], scoring="accuracy")
    assert some.predictions.coverage == 0.5
    assert np.isnan(some.predictions.proba[1]).all()


def test_a_comparison_shows_the_coverage():
    rules = RuleClassifier(default="abstain")
    found = compare(TENNIS.X, TENNIS.y, learners={"list": rules}, only=["naive Bayes"], cv=7)
    own = cross_validate(rules, TENNIS.X, TENNIS.y, cv=7)
    place = found.table["learner"].index("list")
    assert found.table["coverage"][place] == own.mean("coverage") < 1
    assert found.table["accuracy"][place] == own.mean("accuracy")
    assert "% of the rows that it predicts" in found.verdict
    assert "learners that abstain are scored on the rows that they predict (coverage): list" in str(found)
    assert "coverage" not in compare(TENNIS.X, TENNIS.y, only=["naive Bayes"], cv=7).table
    assert np.isfinite(paired_test(own, found.validations["naive Bayes"], "accuracy").difference)


def test_a_learning_curve_counts_the_errors_among_the_rows_that_are_predicted():
    X = {"x": np.arange(40) % 4}
    found = learning_curve(ROTE, X, (np.arange(40) % 2).astype(str), train_sizes=[1, 20], repeats=2)
    assert (np.array(found.summary["test_error"]) == 0).all()


def test_plots_show_the_rows_that_are_predicted():
    found = leave_one_out(ROTE, THREE, TENNIS.y)
    assert ConfusionDisplay.from_answers(found.predictions).table.sum() == 6
    assert np.isfinite(list(ROCDisplay.from_answers(found.predictions).roc_auc.values())).all()
    assert CalibrationDisplay.from_answers(found.predictions).ax_ is not None


def test_a_decision_by_costs_abstains_too():
    model = ROTE.fit({"x": [1, 2]}, ["a", "b"])
    assert decide(model, {"x": [1, 3, 2]}, cost={"fn": 5, "fp": 1}).tolist() == ["a", None, "b"]


def test_predictions_without_a_predicted_class_abstain_where_probabilities_are_missing():
    found = Predictions(("a", "b"), np.array([0, 1, 1]), np.array([[0.9, 0.1], [np.nan, np.nan], [0.6, 0.4]]))
    assert found.answered.tolist() == [0, -1, 0]
    assert (found.coverage, found.accuracy) == (2 / 3, 0.5)
    assert found.over(("a", "c", "b")).coverage == 2 / 3


def test_no_row_is_predicted():
    from countwise.evaluation.holdout import Holdout

    held = Holdout(ROTE.fit({"x": [1]}, ["a"]), "class")
    held.add({"x": [2], "class": ["a"]})
    with pytest.raises(TableError, match="nothing to score"):
        _ = held.predictions
