"""scikit-learn's protocol without its base classes: what its tools do with our estimators."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from countwise import (
    CategoricalEncoder,
    Discretizer,
    FilterSelector,
    NaiveBayesClassifier,
    NeighborsClassifier,
    TreeClassifier,
    TreeRegressor,
    samples,
)
from countwise.neighbors import DistanceMetric


@pytest.fixture(scope="module")
def penguins():
    frame = pd.DataFrame(samples.load("penguins").frame).dropna()
    return frame.drop(columns="species"), frame["species"]


def test_estimators_are_none_of_scikit_learns_classes_and_are_taken_for_what_they_are():
    assert not isinstance(NaiveBayesClassifier(), BaseEstimator)
    assert is_classifier(NaiveBayesClassifier())
    assert is_regressor(TreeRegressor())
    assert NaiveBayesClassifier()._estimator_type == "classifier"


def test_settings_are_read_set_cloned_and_shown():
    model = NeighborsClassifier(3, metric=DistanceMetric(p=1))
    assert model.get_params()["metric__p"] == 1
    assert model.set_params(metric__p=2, n_neighbors=5).metric.p == 2
    again = clone(model)
    assert repr(again) == repr(model)
    assert again.metric is not model.metric
    assert repr(NaiveBayesClassifier()) == "NaiveBayesClassifier()"
    assert (
        repr(NaiveBayesClassifier("auto", smoothing=2)) == "NaiveBayesClassifier(distributions='auto', smoothing=2)"
    )
    with pytest.raises(ValueError, match="Invalid parameter 'smothing'"):
        NaiveBayesClassifier().set_params(smothing=1)


def test_a_fitted_model_is_pickled_and_one_that_is_not_says_so(penguins):
    X, y = penguins
    model = NaiveBayesClassifier().fit(X, y)
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X) == model.predict_proba(X)).all()
    check_is_fitted(model)
    with pytest.raises(sklearn.exceptions.NotFittedError, match="NaiveBayesClassifier"):
        NaiveBayesClassifier().predict(X)


def test_searches_stacks_votes_bags_and_calibrates(penguins):
    X, y = penguins
    search = GridSearchCV(NaiveBayesClassifier(), {"smoothing": [0.5, 1], "distributions": [None, "binned"]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9
    named = [("bayes", NaiveBayesClassifier()), ("tree", TreeClassifier())]
    for model in (
        StackingClassifier(named, final_estimator=LogisticRegression()),
        VotingClassifier(named, voting="soft"),
        CalibratedClassifierCV(NaiveBayesClassifier(), cv=3),
    ):
        assert model.fit(X, y).score(X, y) > 0.9
    numbers = X.select_dtypes("number").to_numpy()
    assert BaggingClassifier(NaiveBayesClassifier(), 3, random_state=0).fit(numbers, y).score(numbers, y) > 0.9


def test_transformers_give_the_kind_of_table_that_is_asked_for(penguins):
    X, y = penguins
    coder = CategoricalEncoder().set_output(transform="pandas")
    assert isinstance(coder.fit_transform({name: X[name].to_numpy() for name in X}), pd.DataFrame)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(Discretizer("equal_width").fit(X, y).transform(X), pd.DataFrame)
    columns = ColumnTransformer(
        [("names", CategoricalEncoder(), make_column_selector(dtype_exclude="number"))], remainder="passthrough"
    )
    model = make_pipeline(columns.set_output(transform="pandas"), FilterSelector(k=3), NaiveBayesClassifier())
    assert model.fit(X, y).score(X, y) > 0.8
    assert len(model[:-1].get_feature_names_out()) == 3


def test_metadata_is_routed(penguins):
    X, y = penguins
    weights = np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        assert model.get_metadata_routing().fit.requests == {"sample_weight": True}
        routed = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3)["test_score"]
        assert clone(model).get_metadata_routing().fit.requests == {"sample_weight": True}
        with pytest.raises(TypeError, match="Unexpected args"):
            model.set_fit_request(weights=True)
    plain = cross_validate(NaiveBayesClassifier(), X, y, cv=3)["test_score"]
    assert not np.array_equal(routed, plain)
    with pytest.raises(RuntimeError, match="routing is enabled"):
        NaiveBayesClassifier().set_fit_request(sample_weight=True)


def test_notebooks_show_a_diagram_unless_text_is_asked_for():
    model = make_pipeline(CategoricalEncoder(), NaiveBayesClassifier(smoothing=2))
    assert "NaiveBayesClassifier" in model._repr_html_()
    assert "smoothing" in NaiveBayesClassifier(smoothing=2)._repr_html_()
    assert "text/html" in NaiveBayesClassifier()._repr_mimebundle_()
    with sklearn.config_context(display="text"):
        assert not hasattr(NaiveBayesClassifier(), "_repr_html_")
        assert list(NaiveBayesClassifier()._repr_mimebundle_()) == ["text/plain"]


USE = """
import sys, time
start = time.perf_counter()
from countwise import {name}, samples
rows = samples.load("weather")
model = {name}().fit(rows.X, rows.y)
model.predict(rows.X)
model.explain(rows.X)
took = time.perf_counter() - start
heavy = [m for m in ("sklearn", "pandas") if m in sys.modules]
start = time.perf_counter()
import sklearn.base
print(heavy, took / (time.perf_counter() - start))
"""


@pytest.mark.parametrize(
    "name", ["NaiveBayesClassifier", "TreeClassifier", "NeighborsClassifier", "BayesNetworkClassifier"]
)
def test_fitting_predicting_and_explaining_do_not_import_scikit_learn_or_pandas(name):
    done = subprocess.run([sys.executable, "-c", USE.format(name=name)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("[] "), done.stdout + done.stderr
