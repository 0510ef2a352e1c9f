"""Decisions by what they cost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

from countwise import NaiveBayesClassifier, samples
from countwise.errors import OptionError, TableError
from countwise.evaluation import cost_threshold, decide
from countwise.evaluation.costs import costs_of


@pytest.fixture(scope="module")
def credit():
    return samples.load("credit")


@pytest.fixture(scope="module")
def model(credit):
    return NaiveBayesClassifier().fit(credit.X, credit.y)


def test_the_decision_has_the_least_expected_cost_of_all_answers():
    rng = np.random.default_rng(0)
    proba, costs = rng.dirichlet(np.ones(4), 200), rng.normal(size=(4, 4))
    chosen = decide(proba, cost=costs)
    for row, answer in zip(proba, chosen, strict=True):
        expected = [sum(row[c] * costs[c, a] for c in range(4)) for a in range(4)]
        assert answer == int(np.argmin(expected))


def test_without_costs_the_decision_is_that_of_predict(model, credit):
    assert decide(model, credit.X).tolist() == model.predict(credit.X).tolist()
    assert decide(model, credit.X, cost={"fn": 1, "fp": 1}).tolist() == model.predict(credit.X).tolist()


def test_of_two_classes_the_decision_is_a_threshold(model, credit):
    cost = {"fn": 5, "fp": 1}
    for positive, place in (("bad", 0), ("good", 1)):
        threshold = cost_threshold(cost, model.classes_, pos_label=positive)
        assert threshold == pytest.approx(1 / 6, abs=1e-15)
        wanted = model.predict_proba(credit.X)[:, place] > threshold
        assert (decide(model, credit.X, cost=cost, pos_label=positive) == positive).tolist() == wanted.tolist()


def test_the_threshold_is_the_one_that_scikit_learn_takes():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    plain = LogisticRegression().fit(X, y)
    fixed = FixedThresholdClassifier(plain, threshold=cost_threshold({"fn": 1, "fp": 1.3}), pos_label=1).fit(X, y)
    assert decide(plain, X, cost={"fn": 1, "fp": 1.3}).tolist() == fixed.predict(X).tolist()
    assert 0 < (decide(plain, X, cost={"fn": 1, "fp": 1.3}) == 1).mean() < 1


def test_the_cheaper_decision_costs_less_on_the_rows_of_calibrated_probabilities():
    rng = np.random.default_rng(2)
    p = rng.random(20_000)
    y, costs = (rng.random(20_000) < p).astype(int), costs_of({"fn": 5, "fp": 1}, [0, 1])
    plain, cheap = decide(p), decide(p, cost=costs)
    assert costs[y, cheap].mean() < 0.85 * costs[y, plain].mean()


def test_costs_by_class_and_answer_leave_other_errors_at_one():
    table = costs_of({("a", "b"): 5, ("b", "a"): 0.5}, ["a", "b", "c"])
    assert table.tolist() == [[0, 5, 1], [0.5, 0, 1], [1, 1, 0]]


def test_negative_costs_are_gains_and_move_the_threshold():
    assert cost_threshold({"fn": 1, "fp": 1, "tp": -2}) == 0.25
    assert decide([0.2, 0.3], cost={"fn": 1, "fp": 1, "tp": -2}).tolist() == [0, 1]
    assert cost_threshold({"fn": 1, "fp": -1}) == -np.inf  # to call a row positive is never dearer
    assert decide([0.0, 0.4, 0.6, 1.0], cost={"fn": 1, "fp": -1}).tolist() == [1, 1, 1, 1]
    assert cost_threshold({"fp": 1}) == 1.0  # a positive row that is missed costs nothing


def test_costs_that_reward_errors_have_no_threshold_but_a_decision():
    upside_down = [[1, 0], [0, 1]]
    with pytest.raises(OptionError, match="Correct predictions cost more"):
        cost_threshold(upside_down)
    assert decide([0.1, 0.9], cost=upside_down).tolist() == [1, 0]


def test_probabilities_of_exactly_0_and_1_are_decided():
    assert decide([0.0, 1.0], cost={"fn": 1000, "fp": 1}).tolist() == [0, 1]
    assert decide([[0.5, 0.5]], cost={"fn": 1, "fp": 1}, classes=["a", "b"]).tolist() == ["a"]  # of equals the first


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ({"fnn": 5}, "did you mean 'fn'"),
        ({("goood", "bad"): 5}, "did you mean 'good'"),
        ({"price": 5}, "classes 'bad', 'good'"),
        ({"fn": "much"}, "must be a number"),
        ({"fn": float("inf")}, "finite"),
        ([[0, 1]], r"\(2, 2\)"),
        ([[0, np.nan], [1, 0]], "finite"),
        ("fn=5", "must be numbers"),
    ],
)
def test_costs_that_mean_nothing_are_refused(cost, told):
    with pytest.raises(OptionError, match=told):
        decide([0.5], cost=cost, classes=["bad", "good"])


def test_what_cannot_be_decided_is_refused(model, credit):
    with pytest.raises(OptionError, match="two classes; there are 3"):
        decide(np.full((1, 3), 1 / 3), cost={"fn": 5})
    with pytest.raises(OptionError, match="two classes; there are 3"):
        cost_threshold({"fn": 5}, "abc")
    with pytest.raises(TableError, match="needs rows"):
        decide(model, cost={"fn": 5})
    with pytest.raises(OptionError, match="did you mean 'good'"):
        decide(model, credit.X, cost={"fn": 5}, pos_label="goood")
    with pytest.raises(OptionError, match="between 0 and 1"):
        decide([[0.5, 1.5]], cost={"fn": 5})
    with pytest.raises(OptionError, match="3 classes for 2 columns"):
        decide([0.5], classes="abc")
    with pytest.raises(OptionError, match="neither a classifier"):
        decide(object())


def test_a_classifier_without_probabilities_is_told_so():
    from sklearn.svm import LinearSVC

    with pytest.raises(OptionError, match="LinearSVC has no predict_proba"):
        decide(LinearSVC(), [[1.0]], cost={"fn": 5})


def test_costs_of_errors_are_a_table_in_which_right_answers_cost_nothing():
    assert costs_of({"fn": 5, "fp": 1}, ["no", "yes"]).tolist() == [[0.0, 1.0], [5.0, 0.0]]
