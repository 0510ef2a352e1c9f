"""scikit-learn's own checks, over every public estimator: all of them, none excused."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from countwise import (
    BayesNetwork,
    BayesNetworkClassifier,
    CategoricalEncoder,
    Discretizer,
    DiscriminantClassifier,
    EmbeddedSelector,
    FilterSelector,
    InstanceSelector,
    NaiveBayesClassifier,
    NeighborsClassifier,
    NeighborsRegressor,
    ParzenClassifier,
    ParzenDensity,
    PEBLSClassifier,
    PrototypeClassifier,
    RoteClassifier,
    RuleClassifier,
    TreeClassifier,
    TreeRegressor,
    WrapperSelector,
)
from countwise.neighbors import DistanceMetric

ESTIMATORS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier("auto"),
    NaiveBayesClassifier("kernel"),
    NaiveBayesClassifier("ranges"),
    NaiveBayesClassifier("mdl"),
    Discretizer(),
    Discretizer("equal_frequency"),
    Discretizer("kmeans", n_bins=3, encode="onehot"),
    Discretizer("min_n", n=2, encode="codes"),
    CategoricalEncoder(),
    FilterSelector(),
    FilterSelector("adjusted_gain", threshold=0.0),
    WrapperSelector(cv=2),
    WrapperSelector(direction="backward", cv=2),
    EmbeddedSelector(),
    DiscriminantClassifier(),
    DiscriminantClassifier(shrinkage="auto"),
    DiscriminantClassifier("own", shrinkage=0.1),  # some of the checks' tables have more columns than rows
    DiscriminantClassifier("diagonal"),
    DiscriminantClassifier("spherical"),
    ParzenClassifier(),
    ParzenDensity(),
    ParzenDensity("leave_one_out"),
    PrototypeClassifier(),
    PrototypeClassifier("median", metric="manhattan"),
    TreeClassifier(),
    TreeClassifier("gain_ratio", threshold_cost=True, pruning="pessimistic"),
    TreeClassifier("gini", nominal="subset", thresholds="binned", missing="branch"),
    TreeClassifier("gini", nominal="one_vs_rest", missing="majority", pruning="cost_complexity"),
    TreeClassifier(numeric="ranges", pruning="reduced_error"),
    TreeRegressor(),
    TreeRegressor("variance", thresholds="binned", pruning="cost_complexity"),
    RuleClassifier(),
    RuleClassifier("tree"),
    RuleClassifier("one_r"),
    PEBLSClassifier(),
    PEBLSClassifier(3, numeric="mvdm"),
    RoteClassifier(),
    RoteClassifier(NaiveBayesClassifier()),
    InstanceSelector(),
    InstanceSelector("condensed"),
    InstanceSelector("ib2"),
    InstanceSelector("ib3"),
    NeighborsClassifier(),
    NeighborsClassifier("loo", weights="distance", metric=DistanceMetric(1, missing="ignore")),
    NeighborsClassifier(radius=0.3),
    NeighborsRegressor(),
    NeighborsRegressor("loo", weights="squared"),
    BayesNetwork(),
    BayesNetwork("hill_climb", missing="available", max_parents=1),
    BayesNetwork("chow_liu", distributions="ranges"),
    BayesNetworkClassifier(),
    BayesNetworkClassifier("naive"),
    BayesNetworkClassifier("k_dependence", missing="available"),
    BayesNetworkClassifier("hill_climb", max_parents=1),
]


# The checks take random numbers: that some of them tell nothing of a random class, or lie outside those of
# another half of the rows, is said as it should be.
@pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")
@pytest.mark.filterwarnings("ignore:The least populated class in y")  # scikit-learn's folds of its own small tables
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
