"""compare: the same numbers as by hand, reasons for what is left out, and a verdict that follows from the numbers."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from countwise import BayesNetworkClassifier, NaiveBayesClassifier, compare, cross_validate, learning_curve, samples
from countwise.errors import OptionError, TableError
from countwise.evaluation import paired_test
from countwise.evaluation import parallel as processes

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 carries it along
    from joblib.externals import cloudpickle

QUICK = ["naive Bayes", "LDA", "TAN", "C4.5 tree", "prototype"]


class Fussy(ClassifierMixin, BaseEstimator):
    """Tells the first class, and refuses to learn from an odd number of rows."""

    def fit(self, X: Any, y: Any) -> Fussy:
        if len(y) % 2:
            raise RuntimeError(f"{len(y)} rows are odd")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


class Stopped(Fussy):
    """Ctrl-C is pressed while it learns."""

    def fit(self, X: Any, y: Any) -> Fussy:
        raise KeyboardInterrupt


class Threads(Fussy):
    """Fails with how many threads it may use."""

    def fit(self, X: Any, y: Any) -> Fussy:
        raise RuntimeError(f"threads {os.environ.get('COUNTWISE_THREADS')} {os.environ.get('OMP_NUM_THREADS')}")


@pytest.fixture(scope="module")
def penguins() -> Any:
    return samples.load("penguins")


@pytest.fixture(scope="module")
def found(penguins: Any) -> Any:
    return compare(penguins.X, penguins.y, only=QUICK, cv=5, random_state=3)


def test_the_numbers_are_those_of_each_learner_by_hand(found: Any, penguins: Any) -> None:
    table = found.table
    assert set(table["learner"]) == {*QUICK, "majority class"}
    for i, name in enumerate(table["learner"]):
        if name == "majority class":
            continue
        by_hand = cross_validate(found.learners[name], penguins.X, penguins.y, cv=5, random_state=3)
        for score in ("accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc"):
            assert table[score][i] == by_hand.mean(score), (name, score)
        assert (table["from"][i], table["to"][i]) == by_hand.interval("accuracy")
        assert table["calibration_error"][i] == by_hand.predictions.calibration_error
        assert np.array_equal(found.validations[name].predictions.proba, by_hand.predictions.proba)


def test_the_numbers_on_credit_are_those_by_hand() -> None:
    credit = samples.load("credit")
    quick = ["naive Bayes", "naive Bayes (kernel)", "LDA", "QDA", "prototype", "one rule"]  # all take half a minute
    found = compare(credit.X, credit.y, only=quick, curve=False)
    assert sorted(found.learners) == sorted(quick)
    for name, learner in found.learners.items():
        by_hand = cross_validate(learner, credit.X, credit.y, scoring=["accuracy", "brier"])
        assert found.validations[name].mean("accuracy") == by_hand.mean("accuracy"), name
        assert found.validations[name].mean("brier") == by_hand.mean("brier"), name


def test_the_best_comes_first_and_is_compared_with_the_others(found: Any) -> None:
    accuracy = found.table["accuracy"]
    assert accuracy == sorted(accuracy, reverse=True)
    assert found.best == found.table["learner"][0]
    assert math.isnan(found.table["p_value"][0])
    other = found.table["learner"][1]
    by_hand = paired_test(found.validations[found.best], found.validations[other], "accuracy")
    assert found.table["p_value"][1] == by_hand.p_value
    by_loss = compare(samples.load("rain").X, samples.load("rain").y, cv=2, score="log_loss", only=QUICK[:1])
    assert by_loss.table["log_loss"] == sorted(by_loss.table["log_loss"])


def test_the_majority_class_is_a_row(found: Any, penguins: Any) -> None:
    at = found.table["learner"].index("majority class")
    base = cross_validate(NaiveBayesClassifier(), penguins.X, penguins.y, cv=5, random_state=3).baseline
    assert found.validations["majority class"].predictions.accuracy == base.accuracy
    assert found.table["accuracy"][at] == pytest.approx(152 / 344, abs=0.01)


def test_the_curve_is_that_of_the_function(found: Any, penguins: Any) -> None:
    assert list(found.curve.test) == [found.best, *(["naive Bayes"] if found.best != "naive Bayes" else [])]
    again = learning_curve(
        found.learners[found.best],
        penguins.X,
        penguins.y,
        train_sizes=[0.1, 0.25, 0.5, 1.0],
        repeats=5,
        random_state=3,
    )
    assert np.array_equal(found.curve.test[found.best], again.test_scores)
    rows = samples.load("rain")
    assert compare(rows.X, rows.y, cv=2, only="naive Bayes").curve is None  # six rows make no curve


def test_processes_give_the_same_and_share_the_processors(
    found: Any, penguins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "thread_count", lambda: 4)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # processes need not find the tests
    there = compare(
        penguins.X,
        penguins.y,
        learners={"threads": Threads()},
        only=[*QUICK, "threads"],
        cv=5,
        random_state=3,
        n_jobs=2,
    )
    assert there.skipped.pop("threads") == "it failed: RuntimeError: threads 2 2"
    assert there.notes.pop().startswith("threads: fitted behind CategoricalEncoder")
    told = [{k: v for k, v in f.to_dict().items() if k != "curve"} for f in (found, there)]
    for one in told:
        for row in one["learners"]:
            del row["fit_seconds"], row["predict_seconds"]
    assert told[0] == told[1]
    assert np.array_equal(found.curve.test[found.best], there.curve.test[found.best])


def test_none_may_be_left() -> None:
    tennis = samples.load("tennis")
    found = compare(tennis.X, tennis.y, cv=2, learners={"a": Threads()}, only="a")
    assert found.best is None
    assert "No learner could be evaluated" in str(found)
    assert found.table["learner"] == ["majority class"]


# -- what suits ------------------------------------------------------------------------------


def test_what_does_not_suit_is_named_with_the_reason() -> None:
    mail = samples.load("mail")
    column = next(iter(mail.X))
    found = compare(mail.X, mail.y, cv=2, types={column: "text"}, learners=LogisticRegression())
    assert {"LDA", "QDA", "Parzen", "prototype", "TAN", "naive Bayes (auto)", "LogisticRegression"} <= set(
        found.skipped
    )
    assert "does not support text columns" in found.skipped["LDA"]
    assert repr(column) in found.skipped["LDA"]
    assert {"naive Bayes", "C4.5 tree", "neighbors"} <= set(found.learners)
    judged, every = set(found.learners), set(found.skipped)
    assert judged | every == {*comparing_names(), "LogisticRegression"}
    assert not judged & every


def comparing_names() -> tuple[str, ...]:
    from countwise.evaluation.learners import NAMES

    return NAMES


def test_too_many_rows_are_left_out_unless_asked_for(monkeypatch: pytest.MonkeyPatch, penguins: Any) -> None:
    monkeypatch.setattr("countwise.evaluation.learners.MOST_ROWS", 300)
    found = compare(penguins.X, penguins.y, cv=2, curve=False)
    assert "344 rows exceed the limit of 300" in found.skipped["Parzen"]
    assert "neighbors" in found.skipped
    assert "naive Bayes" in found.learners
    assert "Parzen" in compare(penguins.X, penguins.y, cv=2, curve=False, only="parzen").learners


def test_names_of_many_values_are_not_made_numbers() -> None:
    rng = np.random.default_rng(0)
    X = {"key": np.array([f"v{i % 600}" for i in range(1200)], dtype=object), "x": rng.normal(size=1200)}
    y = np.where(X["x"] > 0, "up", "down")
    found = compare(X, y, cv=2, curve=False, without=["rules", "CART tree", "neighbors", "TAN"])
    assert "600 columns after encoding; the limit is 500" in found.skipped["LDA"]


def test_estimators_of_others_get_numbers(penguins: Any) -> None:
    found = compare(
        penguins.X, penguins.y, cv=3, curve=False, only=["naive Bayes", "gauss", "tree"],
        learners={"gauss": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)},
    )  # fmt: skip
    assert not found.skipped
    assert found.validations["tree"].mean("accuracy") > 0.9
    encoder = "CategoricalEncoder (encodes nominal columns)"
    assert f"gauss: fitted behind {encoder} and SimpleImputer (replaces missing values by means)" in found.notes
    assert f"tree: fitted behind {encoder}" in found.notes
    numbers = {name: penguins.X[name] for name in ("body_mass_g",)}
    plain = compare(numbers, penguins.y, cv=3, curve=False, only="tree", learners={"tree": DecisionTreeClassifier()})
    assert plain.notes == []


def test_names_are_found_or_suggested(penguins: Any) -> None:
    assert list(compare(penguins.X, penguins.y, cv=2, only="NAIVE-BAYES", curve=False).learners) == ["naive Bayes"]
    with pytest.raises(OptionError, match="did you mean 'prototype'"):
        compare(penguins.X, penguins.y, only="protoype")
    with pytest.raises(OptionError, match="taken"):
        compare(penguins.X, penguins.y, learners={"TAN": LogisticRegression()})
    with pytest.raises(OptionError, match="n_jobs"):
        compare(penguins.X, penguins.y, n_jobs=0)
    with pytest.raises(TableError, match="one class"):
        compare(penguins.X, ["same"] * 344)


# -- what goes wrong ---------------------------------------------------------------------------


def test_a_learner_that_fails_in_all_folds_is_left_out(penguins: Any) -> None:
    found = compare(
        penguins.X, penguins.y, cv=8, curve=False, only=["naive Bayes", "fussy"], learners={"fussy": Fussy()}
    )
    assert found.skipped == {"fussy": "it failed: RuntimeError: 301 rows are odd"}  # 7 of 8 times 43
    assert list(found.learners) == ["naive Bayes"]


def test_a_learner_that_fails_in_some_folds_is_told_of_and_the_others_go_on(penguins: Any) -> None:
    found = compare(
        penguins.X, penguins.y, cv=7, curve=False, only=["naive Bayes", "fussy"], learners={"fussy": Fussy()}
    )
    failed = len(found.validations["fussy"].errors)
    assert 0 < failed < 7
    assert list(found.validations)[-1] == "fussy"
    assert found.best == "naive Bayes"
    assert f"* fussy failed in {failed} of 7 folds" in str(found)
    assert "rows are odd" in str(found)
    assert "differ" not in found.verdict


def test_small_classes_are_noted() -> None:
    tennis = samples.load("tennis")
    found = compare(tennis.X, tennis.y, only=["naive Bayes", "TAN"])
    assert any("fewer rows than the 10 folds: 'No' (5), 'Yes' (9)" in note for note in found.notes)
    assert not found.validations["TAN"].errors


def test_ctrl_c_returns_what_is_done(penguins: Any) -> None:
    found = compare(penguins.X, penguins.y, cv=3, without=QUICK[1:], learners={"stopped": Stopped()})
    assert found.partial
    assert found.curve is None
    assert "naive Bayes" in found.learners
    assert found.skipped["stopped"] == "interrupted before it finished"
    assert found.verdict.startswith("The comparison was interrupted")
    by_hand = cross_validate(NaiveBayesClassifier(), penguins.X, penguins.y, cv=3)
    assert found.validations["naive Bayes"].mean("accuracy") == by_hand.mean("accuracy")


# -- in words ----------------------------------------------------------------------------------


def test_the_verdict_follows_the_numbers(found: Any) -> None:
    best = found.validations[found.best].mean("accuracy")
    base = found.validations["majority class"].mean("accuracy")
    assert f"{found.best} has the highest accuracy of 5 learners: {100 * best:.1f} %" in found.verdict
    assert f"{100 * (best - base):.1f} points above the majority class" in found.verdict
    for name in ("naive Bayes", "prototype"):
        near = not found.against(name).p_value < 0.05
        assert (name in found.verdict.split(" not differ significantly from it")[0].split("). ")[1]) == near


def test_the_verdict_knows_noise_growth_and_bad_calibration() -> None:
    rng = np.random.default_rng(1)
    X = {"a": rng.normal(size=400), "b": rng.integers(0, 3, 400).astype(str).astype(object)}
    noise = compare(X, rng.integers(0, 2, 400).astype(str), only=["naive Bayes", "LDA"])
    assert "not better than the majority class" in noise.verdict or "may be due to chance" in noise.verdict
    assert "No pair of attributes is significantly dependent" in noise.verdict
    copied = np.repeat(rng.normal(size=(600, 1)), 6, axis=1) + 0.01 * rng.normal(size=(600, 6))
    y = np.where(copied[:, 0] + rng.normal(size=600) > 0, "up", "down")
    twice = compare(copied, y, only=["naive Bayes"])
    assert "It is overconfident" in twice.verdict
    assert "15 pairs of attributes depend on each other" in twice.verdict
    keys = rng.integers(0, 300, 1000)
    X = {"key": np.array([f"k{k}" for k in keys], dtype=object)}
    learned = compare(X, np.where(rng.permutation(300)[keys] % 2, "odd", "even"), only="naive Bayes", cv=5)
    assert "More rows would help" in learned.verdict
    flat = {"x": np.concatenate([rng.normal(0, 1, 1000), rng.normal(9, 1, 1000)])}
    assert "would hardly help" in compare(flat, np.repeat(["a", "b"], 1000), only="naive Bayes").verdict


def test_pairs_are_those_of_the_network(found: Any, penguins: Any) -> None:
    told = BayesNetworkClassifier("tan").fit(penguins.X, penguins.y).conditional_mi_
    assert found.pairs["bits"] == told["bits"]
    assert found.pairs["significant"][0]
    assert not found.pairs["significant"][-1]


def test_it_prints_in_a_hundred_columns_and_as_plain_data(found: Any) -> None:
    assert max(len(line) for line in str(found).splitlines()) <= 100
    assert "<table>" in found._repr_html_()
    assert "majority class" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["best"] == found.best
    assert plain["partial"] is False
    assert [row["learner"] for row in plain["learners"]] == found.table["learner"]


def test_long_names_are_shortened_in_print_and_nowhere_else(penguins: Any) -> None:
    names = [f"a classifier of every column with a prior, {word}" for word in ("raw", "flat")]
    learners = {names[0]: NaiveBayesClassifier(), names[1]: NaiveBayesClassifier(prior="uniform")}
    found = compare(penguins.X, penguins.y, learners=learners, only=names, curve=False, cv=3)
    table = str(found).split("p: paired")[0]
    assert max(len(line) for line in table.splitlines()) == 100
    assert table.count("a classifier …r, raw") == table.count("a classifier …, flat") == 1
    assert set(names) < set(found.table["learner"])


def test_infinite_log_loss_is_said(penguins: Any) -> None:
    found = compare(penguins.X, penguins.y, only=["PEBLS"], curve=False, cv=3)
    assert found.table["log_loss"][0] == math.inf
    assert "log loss is infinite" in str(found)
    assert found.to_dict()["learners"][0]["log_loss"] == "inf"


def test_a_scorer_of_scikit_learn(penguins: Any) -> None:
    found = compare(penguins.X, penguins.y, only=["naive Bayes", "one rule"], score="neg_brier_score", cv=3)
    values = [v for v in found.table["neg_brier_score"] if not math.isnan(v)]
    assert len(values) == 2
    assert values == sorted(values, reverse=True)


def test_a_column_of_single_values_is_noted() -> None:
    X = {"id": np.array([f"n{i}" for i in range(120)], dtype=object), "x": np.arange(120.0)}
    found = compare(X, np.repeat(["a", "b"], 60), only="naive Bayes", cv=2, curve=False)
    assert any("a different value of 'id'" in note for note in found.notes)


def test_networks_are_fitted_anew_for_each_fold(penguins: Any) -> None:
    """Their arcs and cuts are found in the rows: those of pieces do not add up."""
    one, other = (
        cross_validate(BayesNetworkClassifier(), penguins.X, penguins.y, cv=3, fast=f) for f in (True, False)
    )
    assert np.array_equal(one.predictions.proba, other.predictions.proba)


def test_without_probabilities_there_is_no_area_and_no_calibration(penguins: Any) -> None:
    found = compare(penguins.X, penguins.y, cv=4, curve=False, only="fussy", learners={"fussy": Fussy()})
    at = found.table["learner"].index("fussy")
    assert math.isnan(found.table["roc_auc"][at])
    assert math.isnan(found.table["calibration_error"][at])
    assert "does not predict probabilities" in found.verdict


def test_what_ctrl_c_leaves_is_shown_without_further_imports() -> None:
    # an import that was stopped half-way fails when it is repeated
    script = """
import importlib, sys
from countwise import samples
compare = importlib.import_module("countwise.evaluation.compare")
def stopped(*args):
    global before
    before = set(sys.modules)
    raise KeyboardInterrupt
    yield
compare._evaluated = stopped
credit = samples.load("credit")
found = compare.compare(credit.X, credit.y)
print(found, file=sys.stderr)
print(found.partial, sorted(set(sys.modules) - before))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "True []\n"
