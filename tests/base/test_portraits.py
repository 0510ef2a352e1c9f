"""Portraits, drawn rows, counterfactuals and intervals of every classifier, compared with simulations."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import countwise as cw
from countwise import samples
from countwise.distributions.gaussian import GaussianDensity
from countwise.errors import OptionError
from countwise.network.classifier import _line_draws
from countwise.network.linear_gaussian import LinearDensity
from countwise.registry import KINDS, class_of

CLASSIFIERS = [name for name, kind in KINDS.items() if hasattr(class_of(kind), "predict_proba")]
DRAWING = ("NaiveBayes", "Discriminant", "Parzen", "Prototype", "NetworkBayes")
WEATHER = samples.load("weather")
NUMBERS = WEATHER.columns("temperature", "humidity")
PENGUINS = samples.load("penguins")


def fitted(name, X=None, y=None, **settings):
    X = (NUMBERS if name in ("Discriminant", "Prototype") else WEATHER.X) if X is None else X
    return class_of(KINDS[name])(**settings).fit(X, WEATHER.y if y is None else y), X


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_counterfactual_gives_the_class_that_it_promises(name):
    model, X = fitted(name)
    for row in range(14):
        now = model.predict(X)[row]
        found = model.counterfactuals(X, row=row)
        for change, to, p in found.rows():
            cells = {n: column[row] for n, column in X.items()}
            for part in change.split(" and "):
                attribute, _, value = part.partition(" = ")
                cells[attribute] = model.schema_[attribute].parse(value)
            assert to != now
            assert model.predict([cells])[0] == to
            assert model.predict_proba([cells])[0].max() == pytest.approx(p, abs=1e-12)
    assert model.counterfactuals(X).n_rows == 1


def test_no_smaller_change_than_that_of_a_tree_exists():
    model = cw.TreeClassifier().fit(WEATHER.X, WEATHER.y)
    found = model.counterfactuals([{"outlook": "sunny", "temperature": 70, "humidity": 90, "windy": True}])
    assert found.rows() == [("humidity = 77", "yes", 1.0)] or found["change"] == ["outlook = overcast"]
    alone = cw.TreeClassifier().fit({"x": [1.0, 2.0, 3.0, 4.0]}, list("aabb"))
    assert alone.counterfactuals({"x": [1.0]})["change"] == ["x = 3"]
    assert alone.counterfactuals({"x": [9.0]})["change"] == ["x = 2"]


def test_two_changes_are_found_where_one_is_not_enough():
    rows = {"a": list("0011") * 3, "b": list("0101") * 3}
    y = ["yes" if a == b == "1" else "no" for a, b in zip(*rows.values(), strict=True)]
    model = cw.TreeClassifier().fit(rows, y)
    assert model.counterfactuals([{"a": "0", "b": "0"}])["change"] == ["a = 1 and b = 1"]


def test_a_prediction_that_nothing_changes_has_no_counterfactual():
    model = cw.TreeClassifier(max_depth=0).fit(WEATHER.X, WEATHER.y)
    assert model.counterfactuals(WEATHER.X).n_rows == 0
    abstains = cw.RoteClassifier("abstain").fit(WEATHER.X, WEATHER.y)
    assert abstains.counterfactuals(WEATHER.X).n_rows <= 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_missing_value_can_be_changed(name):
    model, _ = fitted(name)
    assert model.counterfactuals([dict.fromkeys(model.schema_)]).n_rows <= 1


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_portraits_name_attributes_of_the_table(name, make):
    X = make(NUMBERS) if name in ("Discriminant", "Prototype") else make(WEATHER.X)
    model, _ = fitted(name, X)
    for cls in ("no", "yes"):
        found = model.portrait(cls)
        assert set(found["attribute"]) <= set(model.schema_)
        assert found.n_rows
    with pytest.raises(OptionError, match="did you mean 'yes'"):
        model.portrait("yess")
    with pytest.raises(OptionError, match="There is no class"):
        model.portrait([])


def test_portraits_are_the_means_and_modes_of_the_classes():
    frame = pd.DataFrame(PENGUINS.X).assign(y=PENGUINS.y)
    for model in (cw.NeighborsClassifier(), cw.RoteClassifier(), cw.ParzenClassifier()):
        found = model.fit(PENGUINS.X, PENGUINS.y).portrait("Gentoo")
        typical = dict(zip(found["attribute"], found["typical"], strict=True))
        mine = frame[frame["y"] == "Gentoo"]
        assert float(typical["body_mass_g"]) == pytest.approx(mine["body_mass_g"].mean(), rel=1e-5)
        assert typical["island"] == mine["island"].mode()[0]
    tree = cw.TreeClassifier().fit(WEATHER.X, WEATHER.y).portrait("yes")
    assert tree.rows() == [("outlook", "overcast", "with 4 of 9 rows of the class")]


@pytest.mark.parametrize("name", DRAWING)
def test_rows_are_drawn_from_the_classes(name):
    model, X = fitted(name)
    drawn = model.sample(50, 0)
    assert set(drawn) == {*X, "class"}
    assert str(model.sample(50, 0)) == str(drawn)
    only = model.sample(30, 1, cls="no")
    assert list(only["class"]) == ["no"] * 30
    again, _ = fitted(
        name,
        {n: only[n] for n in X} if name != "NetworkBayes" else None,
        None if name == "NetworkBayes" else ["no", "yes"] * 15,
    )
    assert again.n_rows_
    with pytest.raises(OptionError):
        model.sample(0)
    with pytest.raises(OptionError, match="There is no class"):
        model.sample(1, cls="maybe")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_drawn_rows_are_a_table_of_the_same_library(make):
    model = cw.NaiveBayesClassifier().fit(make(WEATHER.frame), "play")
    assert isinstance(model.sample(4, 0), make)


def test_drawn_rows_have_the_moments_of_a_discriminant():
    iris = load_iris()
    model = cw.DiscriminantClassifier("own").fit(iris.data, iris.target)
    drawn = model.sample(40_000, 0, cls=2)
    cells = np.stack([drawn[name] for name in model.schema_], axis=1)
    own = iris.data[iris.target == 2]
    np.testing.assert_allclose(cells.mean(axis=0), own.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.cov(cells.T), np.cov(own.T), atol=0.02)


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - set(DRAWING)))
def test_models_without_a_distribution_of_the_rows_say_so(name):
    model, _ = fitted(name)
    with pytest.raises(OptionError, match=r"models P\(class \| row\), and has no distribution of the rows"):
        model.sample(3)


def test_indicator_columns_are_not_drawn():
    model = cw.DiscriminantClassifier(nominal="onehot").fit(WEATHER.X, WEATHER.y)
    with pytest.raises(OptionError, match="indicator"):
        model.sample(3)


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"Prototype"}))
def test_intervals_contain_the_estimate_and_grow_with_the_level(name):
    model, X = fitted(name)
    wide, narrow = (model.predict_interval(X, level=level, draws=400) for level in (0.95, 0.5))
    p = model.predict_proba(X)
    assert wide.shape == (14, 2, 2)
    assert ((wide[..., 0] <= p + 1e-12) & (p <= wide[..., 1] + 1e-12)).all()
    assert ((wide >= 0) & (wide <= 1)).all()
    assert (wide[..., 1] - wide[..., 0]).mean() > (narrow[..., 1] - narrow[..., 0]).mean()
    assert (wide == model.predict_interval(X, level=0.95, draws=400)).all()
    with pytest.raises(OptionError, match="between 0 and 1"):
        model.predict_interval(X, level=95)


def test_more_rows_make_narrower_intervals():
    for name in sorted(set(CLASSIFIERS) - {"Prototype", "Neighbors", "Exemplars"}):
        model, X = fitted(name)
        many = {n: np.tile(np.asarray(column), 30) for n, column in X.items()}
        more, _ = fitted(name, many, np.tile(WEATHER.y, 30))
        widths = [np.ptp(m.predict_interval(X, draws=300), axis=2).mean() for m in (model, more)]
        assert widths[1] < widths[0], name


def test_the_interval_of_a_leaf_is_that_of_jeffreys():
    y = ["a"] * 3 + ["b"] * 7
    model = cw.TreeClassifier().fit({"x": ["u"] * 10}, y)
    low, high = model.predict_interval({"x": ["u"]}, draws=200_000)[0, 0]
    np.testing.assert_allclose([low, high], stats.beta(3.5, 7.5).ppf([0.05, 0.95]), atol=0.003)


def test_the_interval_of_a_discriminant_is_that_of_its_parametric_bootstrap():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + y[:, None] * 1.2
    row = np.array([[0.9, 0.2]])
    for covariance in ("shared", "own"):
        model = cw.DiscriminantClassifier(covariance, prior="uniform").fit(X, y)
        means, covs = model.means_, np.broadcast_to(model.covariance_, (2, 2, 2))
        found = []
        for _ in range(600):
            drawn = np.concatenate([rng.multivariate_normal(means[c], covs[c], 60) for c in (0, 1)])
            again = cw.DiscriminantClassifier(covariance, prior="uniform").fit(drawn, y)
            found.append(again.predict_proba(row)[0, 1])
        low, high = model.predict_interval(row, draws=4000)[0, 1]
        np.testing.assert_allclose([low, high], np.quantile(found, [0.05, 0.95]), atol=0.05)


def test_a_prototype_and_incomplete_rows_of_a_network_say_why_there_is_no_interval():
    model, X = fitted("Prototype")
    with pytest.raises(OptionError, match="distances"):
        model.predict_interval(X)
    network = cw.BayesNetworkClassifier("tan").fit(WEATHER.X, WEATHER.y)
    parent = next(p for name in WEATHER.X for p in network.graph_.parents[name] if p != "class")
    row = {name: column[0] for name, column in WEATHER.X.items()} | {parent: None}
    with pytest.raises(OptionError, match="missing"):
        network.predict_interval([row])
    with pytest.raises(OptionError, match="identical"):
        cw.RoteClassifier("abstain").fit(WEATHER.X, WEATHER.y).predict_interval([dict.fromkeys(WEATHER.X)])


def test_loaded_models_answer_the_same(tmp_path):
    for name in CLASSIFIERS:
        model, X = fitted(name)
        cw.save(model, tmp_path / "m.json")
        again = cw.load(tmp_path / "m.json")
        assert str(again.portrait("no")) == str(model.portrait("no"))
        assert str(again.counterfactuals(X)) == str(model.counterfactuals(X))
        if name in DRAWING:
            assert list(again.sample(5, 0)["class"]) == list(model.sample(5, 0)["class"])
    assert json.dumps(dict(model.portrait("no")))


def test_counts_beyond_the_limit_of_numpy_are_drawn():
    n = np.array([2**64 - 1] * 4, dtype=np.uint64)
    model = cw.NaiveBayesClassifier(types={"n": "count"}).fit({"n": n}, list("abab"))
    drawn = np.asarray(model.sample(50, random_state=0)["n"], dtype=float)
    np.testing.assert_allclose(drawn, 2.0**64, rtol=1e-8)


@pytest.mark.parametrize("c", [0, 1])
def test_a_number_in_a_network_is_drawn_as_in_naive_bayes(c):
    mean, sd, n, borrowed = np.array([0.5, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 40.0]), np.array([True, False])
    line = LinearDensity("x", (), mean, np.zeros((2, 0)), sd, n, borrowed)
    drawn = _line_draws("x", line, [c], 0.2, 50, np.random.default_rng(0))
    gaussian = GaussianDensity("x", mean, sd, n, borrowed)
    np.testing.assert_array_equal(drawn[:, 0], gaussian._drawn(0.2, c, 50, np.random.default_rng(0)))
