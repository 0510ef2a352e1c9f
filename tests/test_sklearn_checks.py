"""scikit-learn's own checks, over every public estimator: all of them, none excused."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from countwise import NaiveBayesClassifier

ESTIMATORS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier("auto"),
    NaiveBayesClassifier("kernel"),
    NaiveBayesClassifier("ranges"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
