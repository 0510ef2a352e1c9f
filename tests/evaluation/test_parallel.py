"""Folds and turns in other processes: the same answers, and what is said when a process fails."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, learning_curve, samples
from countwise.errors import CountwiseError, DataWarning, OptionError
from countwise.evaluation.parallel import elsewhere, over_processes, processes_of
from countwise.progress import reporting

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 carries it along
    from joblib.externals import cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # processes need not find the tests


class Unlucky(ClassifierMixin, BaseEstimator):
    """Fails as told to where the first row is among those it learns from."""

    def __init__(self, how="words"):
        self.how = how

    def fit(self, X, y):
        if (np.asarray(X)[:, 0] == 0).any():
            if self.how == "ends":
                os._exit(3)
            if self.how == "odd":

                class OddError(Exception):  # nobody else has such a class
                    pass

                raise OddError("not today")
            raise RuntimeError("not today")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def numbers(n=60):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n), rng.normal(size=n)])
    return X, np.where(X[:, 1] + rng.normal(size=n) > 0, "yes", "no")


def test_folds_in_other_processes_have_the_same_answers():
    X, y = numbers()
    here, there = (cross_validate(GaussianNB(), X, y, cv=4, n_jobs=n) for n in (None, 2))
    assert np.array_equal(here.predictions.proba, there.predictions.proba)
    assert [np.array_equal(a.test, b.test) for a, b in zip(here.folds, there.folds, strict=True)] == [True] * 4
    assert isinstance(there.folds[2].fitted.model, GaussianNB)
    with pytest.raises(OptionError, match="n_jobs"):
        cross_validate(GaussianNB(), X, y, n_jobs=0)


def test_turns_of_a_curve_in_other_processes_have_the_same_scores():
    birds = samples.load("penguins")
    learners = {"tree": TreeClassifier(), "bayes": NaiveBayesClassifier()}
    heard: list[int] = []
    here = learning_curve(learners, birds.X, birds.y, train_sizes=[30, 200], repeats=3)
    with reporting(heard.append):
        there = learning_curve(learners, birds.X, birds.y, train_sizes=[30, 200], repeats=3, n_jobs=2)
    for name in learners:
        assert np.array_equal(here.test[name], there.test[name])
        assert np.array_equal(here.train[name], there.train[name])
    assert heard == list(range(1, 13))


@pytest.mark.parametrize(("how", "told"), [("words", "not today"), ("odd", "OddError: not today")])
def test_a_failure_elsewhere_is_reported_and_the_others_go_on(how, told):
    X, y = numbers(12)
    splits = [(np.arange(4, 12), np.arange(4)), (np.arange(8), np.arange(8, 12))]
    with pytest.warns(DataWarning, match=f"failed in fold 2 of 2: {told}"):
        found = cross_validate(Unlucky(how), X, y, cv=splits, n_jobs=2)
    ((fold, error),) = found.errors
    assert (fold, str(error)) == (1, told)


def test_a_process_that_ends_is_told_of():
    X, y = numbers(12)
    with pytest.raises(CountwiseError, match=r"A worker process ended without a result: .* Hint: drop n_jobs"):
        cross_validate(Unlucky("ends"), X, y, cv=3, n_jobs=2)


def test_an_estimator_that_cannot_travel_is_told_of():
    X, y = numbers(12)
    model = LogisticRegression()
    model.lock = threading.Lock()
    with pytest.raises(CountwiseError, match="drop n_jobs"):
        list(over_processes(_fitted, model, [((X, y), 1), ((X, y), 1)], 2, lambda: None))


def _fitted(model, rows, tell):
    return model.fit(*rows).n_iter_


def test_negative_jobs_count_from_the_processors_and_joblib_chooses_where_they_work(monkeypatch):
    monkeypatch.setenv("COUNTWISE_THREADS", "4")
    assert [processes_of(n) for n in (None, 3, -1, -2, -9)] == [1, 3, 4, 3, 1]
    X, y = numbers()
    here = cross_validate(GaussianNB(), X, y, cv=4)
    with parallel_config("threading", n_jobs=2):
        assert processes_of(None) == 2
        there = cross_validate(GaussianNB(), X, y, cv=4)
    assert np.array_equal(here.predictions.proba, there.predictions.proba)
    assert not elsewhere()
