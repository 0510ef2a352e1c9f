"""Neighbors: bad input, odd tables, what is told, settings, and model files."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import countwise
from countwise import NeighborsClassifier, NeighborsRegressor, Ordinal, samples
from countwise.errors import CountwiseError, DataWarning, ModelFileError, OptionError, TableError
from countwise.neighbors import DistanceMetric

NAN = float("nan")
both = pytest.mark.parametrize("kind", [NeighborsClassifier, NeighborsRegressor])


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


# Few rows, many neighbors


@both
def test_more_neighbors_than_rows_are_all_rows_and_that_is_said(kind):
    model = kind(5).fit({"a": [0.0, 1.0, 2.0]}, [0, 0, 3])
    assert model.predict({"a": [2.0]}).tolist() == [0 if kind is NeighborsClassifier else 1.0]
    assert model.explain({"a": [2.0]}).notes == ("There are only 3 training rows; all of them are neighbors.",)
    with pytest.raises(ValueError, match=r"Expected n_neighbors <= n_samples_fit, but n_neighbors = 4"):
        model.kneighbors({"a": [2.0]}, 4)
    with pytest.raises(ValueError, match="no row is its own neighbor"):
        model.kneighbors(n_neighbors=3)
    assert model.kneighbors({"a": [2.0]})[1].tolist() == [[2, 1, 0]]  # by default as many as there are


@both
def test_weights_count_as_rows_where_neighbors_are_counted(kind):
    model = kind(5).fit({"a": [0.0, 1.0]}, [0, 3], sample_weight=[4, 4])
    assert model.explain({"a": [0.0]}).notes == ()
    wanted = [[0.8, 0.2]] if kind is NeighborsClassifier else [0.6]
    np.testing.assert_allclose(answers(model, {"a": [0.0]}), wanted, rtol=1e-15)


def test_the_votes_of_a_row_do_not_hang_on_the_other_rows_that_are_asked():
    weights = [1e20, 1.5, 1.5, 1.0]
    model = NeighborsClassifier(2).fit([[0.0], [10.0], [10.0], [10.0]], ["a", "b", "b", "c"], sample_weight=weights)
    assert model.predict_proba([[0.0], [10.0]]).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert model.predict_proba([[10.0]]).tolist() == [[0.0, 1.0, 0.0]]


@both
@pytest.mark.parametrize("k", [1, 3, "loo"])
def test_a_single_row_is_everybodys_neighbor(kind, k):
    model = kind(k).fit({"a": [0.0], "b": ["x"]}, [7])
    assert model.predict({"a": [9.0, NAN], "b": objects("y", None)}).tolist() == [7, 7]
    assert model.n_neighbors_ == (1 if k == "loo" else k)


def test_a_single_class_is_certain():
    model = NeighborsClassifier("loo").fit([[0.0], [1.0]], ["u", "u"])
    assert model.predict_proba([[9.0], [NAN]]).tolist() == [[1.0], [1.0]]
    assert str(model.explain([[9.0]])).startswith("class = u with probability 100 %.")
    mvdm = NeighborsClassifier(1, metric=DistanceMetric(nominal="mvdm")).fit({"a": ["x", "y"]}, ["u", "u"])
    assert mvdm.predict({"a": ["x"]}).tolist() == ["u"]


# Rows of which little is known


@pytest.mark.parametrize("missing", ["maximal", "ignore"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_row_of_which_nothing_is_known_gets_the_prior_exactly(missing, weights):
    X = {"a": [0.0, 1.0, 2.0, NAN], "b": objects("x", "y", "x", None), "t": objects("one", "two", "", None)}
    metric = DistanceMetric(missing=missing, types={"t": "text"})
    model = NeighborsClassifier(1, weights=weights, metric=metric).fit(X, ["u", "v", "v", "v"], [1, 2, 3, 1])
    asked = {"a": [NAN, NAN], "b": objects(None, "never seen"), "t": objects(None, None)}
    assert model.predict_proba(asked).tolist() == [[1 / 7, 6 / 7]] * 2
    assert model.predict(asked).tolist() == ["v", "v"]
    told = model.explain(asked)
    (note,) = told.notes
    assert note == (
        "Every value of this row is missing or was never seen in training; "
        "the prediction is based on the class frequencies of all training rows."
    )
    assert told.posterior == {"u": 1 / 7, "v": 6 / 7}
    mean = NeighborsRegressor(1, weights=weights, metric=metric).fit(X, [1.0, 2.0, 3.0, 4.0], [1, 2, 3, 1])
    assert mean.predict(asked).tolist() == [18 / 7] * 2
    assert "based on the mean of all training rows" in str(mean.explain(asked))


def test_a_row_of_which_only_a_constant_is_known_gets_the_prior():
    model = NeighborsClassifier(1).fit({"a": [3.0, 3.0, 3.0], "b": [0.0, 1.0, 2.0]}, ["u", "v", "v"])
    assert model.predict_proba({"a": [3.0], "b": [NAN]}).tolist() == [[1 / 3, 2 / 3]]
    weighted = NeighborsClassifier(1, metric=DistanceMetric(weights={"a": 0})).fit(
        {"a": [0.0, 1.0], "b": [0.0, 1.0]}, [0, 1]
    )
    assert weighted.predict_proba({"a": [1.0], "b": [NAN]}).tolist() == [[0.5, 0.5]]


def test_training_rows_of_which_nothing_is_known_do_not_sway_the_choice_of_k():
    a = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2, NAN, NAN, NAN]
    model = NeighborsClassifier("loo").fit({"a": a}, list("uuuvvvvvv"))
    score = model.choice_["score"]
    assert score[0] == 1.0  # the three are told by the prior, in which v is ahead
    assert model.n_neighbors_ == 1


@both
def test_without_a_row_within_the_radius_all_rows_are_asked(kind):
    model = kind(radius=0.1).fit({"a": [0.0, 4.0, 4.0, 10.0]}, [1, 2, 2, 2])
    wanted = [[0.25, 0.75]] if kind is NeighborsClassifier else [1.75]
    np.testing.assert_array_equal(answers(model, {"a": [7.0]}), wanted)
    assert "No training row is within the radius of 0.1" in str(model.explain({"a": [7.0]}))
    distances, rows = model.radius_neighbors({"a": [7.0, 4.0]})
    assert [list(r) for r in rows] == [[], [1, 2]]
    assert [list(d) for d in distances] == [[], [0.0, 0.0]]


def test_a_row_just_at_the_radius_is_within_it_and_one_behind_is_not():
    X = np.array([[0.1], [0.2], [0.3], [0.7], [1.1]])
    for p in (1, 2, 3, math.inf):
        model = NeighborsClassifier(metric=DistanceMetric(p, numeric="none")).fit(X, [0, 1, 2, 3, 4])
        d = model.metric_.pairwise([[0.0]], X)[0]
        for i, radius in enumerate(d):
            assert model.radius_neighbors([[0.0]], radius)[1][0].tolist() == list(range(i + 1))
            assert model.radius_neighbors([[0.0]], np.nextafter(radius, 0))[1][0].tolist() == list(range(i))


def test_a_radius_may_be_huge_or_infinite():
    for radius in (1e200, math.inf):
        model = NeighborsClassifier(radius=radius).fit([[0.0], [1.0]], ["u", "v"])
        assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]


@both
def test_rows_without_a_target_are_left_out_and_the_others_keep_their_numbers(kind):
    y = [NAN, 1, NAN, 2, 3] if kind is NeighborsRegressor else objects(None, "b", None, "a", "b")
    with pytest.warns(DataWarning, match="2 of 5 rows were skipped"):
        model = kind(2).fit({"x": [0.0, 1.0, 2.0, 3.0, 4.0]}, y)
    assert model.kneighbors({"x": [0.0, 3.9]})[1].tolist() == [[1, 3], [4, 3]]
    assert model.kneighbors(n_neighbors=1)[1].tolist() == [[3], [4], [3]]
    assert model.n_rows_ == 3
    assert model.explain({"x": [0.0]}).sections[0].table["row"] == [1, 3]
    assert [rows.tolist() for rows in model.radius_neighbors({"x": [3.0]}, 0.1)[1]] == [[3]]


def test_rows_without_weight_are_left_out_and_the_others_keep_their_numbers():
    model = NeighborsClassifier(1).fit({"x": [0.0, 1.0, 2.0]}, ["u", "v", "u"], sample_weight=[1, 0, 1])
    assert model.kneighbors({"x": [1.4]})[1].tolist() == [[2]]
    assert model.classes_.tolist() == ["u"]


# Ties


def test_of_equal_votes_the_class_with_the_nearest_row_wins_then_the_first():
    X = {"a": [0.0, 1.0, 2.0, 3.0]}
    model = NeighborsClassifier(2).fit(X, ["v", "u", "v", "u"])
    assert model.predict({"a": [0.4, 0.6, 0.5, 1.5]}).tolist() == ["v", "u", "u", "u"]
    assert model.predict_proba({"a": [0.4]}).tolist() == [[0.5, 0.5]]


def test_equal_rows_of_different_classes_share_their_votes():
    X = {"a": [1.0] * 4 + [9.0], "b": ["x"] * 4 + ["y"]}
    y = ["v", "u", "v", "v", "u"]
    for weights in ("uniform", "distance", "squared"):
        model = NeighborsClassifier(4, weights=weights).fit(X, y)
        assert model.predict_proba({"a": [1.0], "b": ["x"]}).tolist() == [[0.25, 0.75]]
    one = NeighborsClassifier(1).fit(X, y)
    assert one.predict({"a": [1.0], "b": ["x"]}).tolist() == ["u"]  # of equally near rows the first class comes first


def test_nearer_rows_never_count_less():
    """Also where the inverse of a distance, or of its square, is no number any more."""
    near = [1e-170, 1e-165, 1e-150, 1e-100, 1.0]
    for weights in ("distance", "squared"):
        shares = []
        for d in near:
            metric = DistanceMetric(1, numeric="none")
            model = NeighborsClassifier(2, weights=weights, metric=metric).fit([[d], [-2.0]], ["u", "v"])
            shares.append(model.predict_proba([[0.0]])[0, 0])
        assert shares == sorted(shares, reverse=True)
        assert shares[0] == 1.0
        pair = NeighborsClassifier(2, weights=weights, metric=DistanceMetric(1, numeric="none"))
        told = pair.fit([[1e-170], [-1e-150]], ["u", "v"]).predict_proba([[0.0]])
        assert told[0, 0] >= told[0, 1]


def test_a_function_of_the_distances_weighs_votes():
    model = NeighborsClassifier(3, weights=lambda d: np.exp(-d)).fit([[0.0], [1.0], [4.0]], ["u", "v", "v"])
    w = np.exp([-0.0, -0.25, -1.0])
    assert model.predict_proba([[0.0]])[0].tolist() == pytest.approx([w[0] / w.sum(), w[1:].sum() / w.sum()])
    for wrong in (lambda d: -d - 1, lambda d: d[:1], lambda d: d * NAN):
        with pytest.raises(OptionError, match="weights function"):
            NeighborsClassifier(2, weights=wrong).fit([[0.0], [1.0]], ["u", "v"]).predict([[0.5]])


# Large and odd tables


def test_queries_with_gaps_find_rows_among_numbers_of_any_size():
    for size in (1e15, 1e20, 1e150, 1e200):
        model = NeighborsClassifier(1, metric=DistanceMetric(numeric="none")).fit(
            [[0.0, 1.0], [size, 2.0], [5.0, 3.0]], [0, 1, 1]
        )
        distances, rows = model.kneighbors([[NAN, 1.0]], 3)
        assert sorted(rows[0]) == [0, 1, 2]
        assert distances.shape == (1, 3)


def test_names_of_very_many_values():
    n = 20_000
    names = np.array([f"name {i}" for i in range(n)], dtype=object)
    y = np.where(np.arange(n) % 3 == 0, "yes", "no")
    asked = {"a": objects("name 0", "name 1", "never seen", "")}
    overlap = NeighborsClassifier(1).fit({"a": names}, y)
    assert overlap.kneighbors({"a": names[-3:]})[1].tolist() == [[n - 3], [n - 2], [n - 1]]
    prior = [(y == c).mean() for c in ("no", "yes")]
    assert overlap.predict_proba(asked).tolist() == [[0.0, 1.0], [1.0, 0.0], prior, prior]
    mvdm = NeighborsClassifier(7, metric=DistanceMetric(nominal="mvdm")).fit({"a": names}, y)
    assert mvdm.predict_proba(asked).tolist() == [[0.0, 1.0], [1.0, 0.0], prior, prior]


def test_infinity_is_refused_by_name_and_row():
    with pytest.raises(TableError, match=r"contains infinity: 'b' is -?inf in row 1"):
        NeighborsClassifier().fit({"a": [1.0, 2.0], "b": [1.0, math.inf]}, [0, 1])
    model = NeighborsClassifier().fit({"a": np.arange(9000.0)}, np.arange(9000) % 2)
    asked = np.zeros(9000)
    asked[8765] = -math.inf
    with pytest.raises(TableError, match=r"contains infinity: 'a' is -?inf in row 8765"):
        model.predict({"a": asked})


def test_many_rows_are_answered_as_each_alone():
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=5000), "b": rng.integers(0, 4, 5000).astype(str).astype(object)}
    y = np.where(X["a"] > 0, "u", "v")
    model = NeighborsClassifier(5, weights="distance").fit(X, y)
    together = model.predict_proba(X)
    for i in (0, 255, 256, 4095, 4096, 4999):
        row = {name: column[i : i + 1] for name, column in X.items()}
        np.testing.assert_array_equal(model.predict_proba(row)[0], together[i])


def test_a_model_that_is_not_fitted_does_not_answer():
    for ask in ("predict", "predict_proba", "kneighbors", "radius_neighbors", "explain"):
        with pytest.raises(NotFittedError):
            getattr(NeighborsClassifier(), ask)({"a": [1.0]})


def test_a_class_column_may_have_the_name_of_an_attribute():
    X = {"y": ["a", "b", "a", "b"], "class": [1.0, 2.0, 3.0, 4.0]}
    pd = pytest.importorskip("pandas")
    model = NeighborsClassifier(1, metric=DistanceMetric(nominal="mvdm")).fit(
        X, pd.Series(["u", "v", "u", "u"], name="y")
    )
    assert model.metric_({"y": "a", "class": 1.0}, {"y": "b", "class": 1.0}) == 1.0


# Settings


@both
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer"),
        ({"n_neighbors": 2.0}, "n_neighbors must be an integer"),
        ({"n_neighbors": True}, "n_neighbors must be an integer"),
        ({"n_neighbors": "lou"}, "or 'loo', not 'lou'"),
        ({"max_neighbors": 0}, "max_neighbors must be an integer"),
        ({"radius": -1.0}, "radius must be a number >= 0"),
        ({"radius": NAN}, "radius must be a number >= 0"),
        ({"radius": "far"}, "radius must be a number >= 0"),
        ({"weights": "distnace"}, "did you mean 'distance'"),
        ({"weights": np.ones(2)}, "weights must be 'uniform', 'distance', 'squared' or a function, not array"),
        ({"metric": "euclid"}, "did you mean 'euclidean'"),
        ({"metric": 0}, "p must be a number above 0"),
        ({"metric": [1]}, "metric must be a DistanceMetric, a power above 0"),
        ({"metric": "levenshtein"}, r"metric=DistanceMetric\(nominal='levenshtein'\)"),
        ({"metric": DistanceMetric(nominal="ovrlap")}, "did you mean 'overlap'"),
        ({"metric": DistanceMetric(weights={"q": 1})}, "weights refers to column 'q'"),
    ],
)
def test_unknown_settings_are_refused_when_fitted_with_a_hint(kind, settings, told):
    with pytest.raises(OptionError, match=told):
        kind(**settings).fit({"a": [1.0, 2.0]}, [1, 2])


def test_metrics_that_ask_for_classes_are_refused_where_there_are_none():
    for metric in (DistanceMetric(nominal="mvdm"), DistanceMetric(weights="gain")):
        with pytest.raises(OptionError, match="needs the class of each row"):
            NeighborsRegressor(metric=metric).fit({"a": ["x", "y"]}, [1.0, 2.0])


def test_settings_of_the_metric_are_reached_through_the_model():
    model = NeighborsClassifier(3, metric=DistanceMetric(1))
    assert model.get_params()["metric__p"] == 1
    model.set_params(metric__p=2, metric__missing="ignore", n_neighbors=7)
    assert (model.metric.p, model.metric.missing, model.n_neighbors) == (2, "ignore", 7)
    copy = clone(model)
    assert copy.metric is not model.metric
    assert repr(copy.metric) == repr(model.metric) == "DistanceMetric(missing='ignore')"
    assert "DistanceMetric(missing='ignore')" in repr(model)


def test_the_users_metric_is_neither_fitted_nor_changed():
    metric = DistanceMetric(1)
    model = NeighborsClassifier(metric=metric, types={"a": "nominal"}).fit({"a": [1, 2]}, [0, 1])
    assert vars(metric) == vars(DistanceMetric(1))
    assert model.metric is metric
    assert model.metric_ is not metric


def test_a_grid_of_settings_of_the_metric_is_searched():
    iris = samples.load("penguins")
    X = {name: iris.X[name] for name in ("bill_length_mm", "bill_depth_mm", "sex")}
    pd = pytest.importorskip("pandas")
    grid = {"metric__p": [1, 2, np.inf], "metric__missing": ["maximal", "ignore"], "n_neighbors": [1, "loo"]}
    search = GridSearchCV(NeighborsClassifier(metric=DistanceMetric()), grid, cv=2).fit(pd.DataFrame(X), iris.y)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_estimator_.metric.p == search.best_params_["metric__p"]
    assert search.best_score_ > 0.9


# What is told


def test_the_neighbors_of_a_row_are_told_with_the_parts_of_the_nearest_distance():
    hours = samples.load("hours")
    model = NeighborsRegressor(3, weights="distance").fit(hours.frame, "hours")
    told = model.explain(hours.X, row=2)
    assert told.answer == f"hours = {told.value:g}."
    assert told.value == model.predict(hours.X)[2]
    table = told.sections[0].table
    assert table["row"][0] == 2
    assert table["distance"][0] == 0.0
    assert table["vote"][:2] == [1.0, 0.0]
    assert told.sections[1].title == "Contribution d² of each attribute to each distance"
    assert told.sections[2].title == "Distance to the nearest row (row 2): 0"


def mixed(n=60, p=10):
    rng = np.random.default_rng(4)
    X = {f"x{j}": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)) for j in range(p)}
    X |= {"row": rng.choice(["a", "b", "c"], n).astype(object), "bin": rng.normal(size=n)}
    return X, rng.choice(["u", "v"], n).astype(object)


@pytest.mark.parametrize("p", [1, 2, 3, math.inf])
@pytest.mark.parametrize("missing", ["maximal", "ignore"])
def test_the_contributions_of_the_attributes_make_the_distance_of_every_neighbor(p, missing):
    X, y = mixed()
    metric = DistanceMetric(p, attributes={"row": "mvdm", "bin": "mvdm"}, n_bins=4, missing=missing)
    model = NeighborsClassifier(7, metric=metric).fit(X, y)
    for row in range(20):
        table = model.explain(X, row=row).sections[1].table
        names = [name for name in table if name not in ("row", "sum", "distance")]
        assert len(names) == 9  # eight attributes, and all others
        assert names[-1] == "others"
        added = np.array([table[name] for name in names])
        sums = added.max(axis=0) if p == math.inf else added.sum(axis=0)
        distances = sums if p == math.inf else sums ** (1 / p)
        complete = missing == "maximal" or not any(
            X[name][i] != X[name][i] for name in X for i in (row, *table["row"])
        )
        if complete:
            np.testing.assert_allclose(distances, table["distance"], rtol=1e-12, atol=1e-12)
            if p in (2, 3):
                np.testing.assert_allclose(sums, table["sum"], rtol=1e-12, atol=1e-12)


def test_an_attribute_with_the_name_of_a_measure_keeps_its_column():
    model = NeighborsClassifier(2).fit({"row": [1.0, 3.0], "distance": [0.0, 1.0]}, ["a", "b"])
    table = model.explain({"row": [2.0], "distance": [0.0]}).sections[1].table
    assert dict(table) == {
        "row": [0, 1],
        "row (attribute)": [0.25, 0.25],
        "distance (attribute)": [0.0, 1.0],
        "sum": [0.25, 1.25],
        "distance": [0.5, math.sqrt(1.25)],
    }


def test_the_value_differences_are_written_with_every_fraction():
    X, y = {"v": list("ppqqqrr")}, list("uvuuvvv")
    metric = DistanceMetric(3, nominal="mvdm").fit(X, y)
    (_, section) = metric.explain(X, row=0, other=2).sections
    assert section.title == "Value differences of v"
    assert {name: [str(cell) for cell in cells] for name, cells in section.table.items()} == {
        "class": ["u", "v"],
        "P(class | p)": ["1/2 = 0.5", "1/2 = 0.5"],
        "P(class | q)": ["2/3 = 0.666667", "1/3 = 0.333333"],
    }
    assert section.lines == (
        "d(p, q) = |1/2 - 2/3| + |1/2 - 1/3| = 1/3 = 0.333333",
        "d(p, q)^3 = (1/3)^3 = 0.037037",
    )
    weighted = DistanceMetric(1, nominal="mvdm").fit(X, y, [0.5] * 7).explain(X, row=0, other=2).sections[1]
    assert weighted.lines == ("d(p, q) = |0.5/1 - 1/1.5| + |0.5/1 - 0.5/1.5| = 0.333333",)
    assert len(metric.explain(X, row=0, other=1).sections) == 1  # equal values
    assert len(metric.explain({"v": ["p", None, "new"]}, row=0, other=1).sections) == 1
    assert len(metric.explain({"v": ["p", None, "new"]}, row=2, other=0).sections) == 1


def test_a_binned_number_is_compared_by_its_bins():
    X, y = {"x": [1.0, 2.0, 3.0, 4.0]}, list("uuvu")
    section = DistanceMetric(1, numeric="mvdm", n_bins=2).fit(X, y).explain(X, row=0, other=3).sections[1]
    assert section.lines == ("d(<= 2.5, > 2.5) = |2/2 - 1/2| + |0/2 - 1/2| = 1",)


def test_the_vote_is_written_out():
    X, y = {"x": [0.0, 2.0, 4.0, 10.0]}, ["a", "a", "b", "b"]
    far = (
        NeighborsClassifier(3, metric=DistanceMetric(numeric="none"), weights="squared")
        .fit(X, y)
        .explain({"x": [1.0]})
    )
    section = far.sections[0]
    assert [str(vote) for vote in section.table["vote"]] == ["1/1² = 1", "1/1² = 1", "1/3² = 0.111111"]
    assert section.lines[1:3] == ("P(a) = (1 + 1)/2.11111 = 0.947368", "P(b) = 0.111111/2.11111 = 0.0526316")
    mean = NeighborsRegressor(2, weights="distance").fit(X, [1.0, 2.0, 3.0, 4.0]).explain({"x": [3.5]})
    assert mean.sections[0].lines[1] == "mean = (20·3 + 6.66667·2)/26.6667 = 2.75"
    many = NeighborsClassifier(20).fit({"x": np.arange(30.0)}, ["a"] * 30).explain({"x": [3.0]})
    assert many.sections[0].lines[1] == "P(a) = 20/20 = 1"


def test_of_very_many_neighbors_the_first_are_shown():
    model = NeighborsClassifier(50).fit([[float(i)] for i in range(60)], [i % 2 for i in range(60)])
    told = model.explain([[0.0]])
    assert len(told.sections[0].table["row"]) == 20
    assert "and 30 more" in str(told)
    assert "total 50" in str(told)


def test_a_value_never_seen_is_named():
    model = NeighborsClassifier(1).fit({"a": ["x", "y"], "b": [1.0, 2.0]}, [1, 2])
    assert "The value of 'a' was never seen in training" in str(model.explain({"a": ["q"], "b": [1.0]}))
    strings = NeighborsClassifier(1, metric=DistanceMetric(nominal="levenshtein")).fit({"a": ["x", "y"]}, [1, 2])
    assert strings.explain({"a": ["q"]}).notes == ()


# Model files


def every_setting():
    X = {
        "name": objects("anna", "bob", None, "anne", "bob"),
        "grade": objects("low", "high", "low", None, "top"),
        "mail": objects("send us", "review", "", None, "us us send"),
        "x": np.array([1.0, NAN, 2.5, 4.0, 4.0]),
        "n": np.array([1, 2, 3, 4, 5]),
    }
    types = {"grade": Ordinal("grade", ("low", "high", "top")), "mail": "text", "n": "nominal"}
    metrics = [
        None,
        "manhattan",
        np.inf,
        DistanceMetric(3, nominal="mvdm", numeric="mvdm", n_bins=2, types=types),
        DistanceMetric(np.inf, missing="ignore", attributes={"name": "levenshtein"}, weights={"x": 0.5}, types=types),
        DistanceMetric(1, numeric="sd", divisor="n", ordinal="overlap", text="bag_jaccard", types=types),
        DistanceMetric(unit_length=True, weights={"name": 0.0}, types=types),
    ]
    return X, [1, 2, 1, 3, 2], types, metrics


@both
@pytest.mark.parametrize("which", range(7))
def test_a_model_with_any_metric_comes_back_from_a_file(kind, which, tmp_path):
    X, y, types, metrics = every_setting()
    metric = metrics[which]
    if kind is NeighborsRegressor and which == 3:
        metric = DistanceMetric(3, types=types)
    for settings in ({}, {"n_neighbors": "loo", "weights": "squared"}, {"radius": np.inf}, {"radius": 1.0}):
        model = kind(**settings, metric=metric, types=types).fit(X, y, sample_weight=[1.0, 2.0, 0.5, 1.0, 3.0])
        countwise.save(model, tmp_path / "model.json")
        loaded = countwise.load(tmp_path / "model.json")
        assert repr(loaded.metric) == repr(model.metric)
        assert loaded.radius == model.radius
        assert loaded.n_neighbors_ == model.n_neighbors_
        np.testing.assert_array_equal(answers(loaded, X), answers(model, X))
        np.testing.assert_array_equal(loaded.kneighbors(X, 5)[0], model.kneighbors(X, 5)[0])
        assert loaded.explain(X, row=1).answer == model.explain(X, row=1).answer
        np.testing.assert_array_equal(answers(pickle.loads(pickle.dumps(model)), X), answers(model, X))


def test_a_function_of_weights_cannot_be_saved_and_is_named(tmp_path):
    model = NeighborsClassifier(1, weights=np.exp).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ModelFileError, match="Parameter 'weights'"):
        countwise.save(model, tmp_path / "model.json")


def damaged(path, change):
    """A file whose checksum fits, but not its content."""
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)["model"]
    change(content)
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    path.write_text(f'{{"countwise":1,"sha256":"{digest}","model":{body}}}\n', encoding="utf-8")


DAMAGES = {
    "a class that is not there": lambda c: c["told"].__setitem__(0, 9),
    "a negative class": lambda c: c["told"].__setitem__(0, -1),
    "a class too few": lambda c: c["told"].pop(),
    "no rows": lambda c: c.update(told=[], order=[], weights=None),
    "rows of another number": lambda c: c["order"].pop(),
    "a weight too few": lambda c: c["weights"].pop(),
    "a weight below 0": lambda c: c["weights"].__setitem__(0, -1.0),
    "a weight of 0": lambda c: c["weights"].__setitem__(0, 0),
    "a weight that is a word": lambda c: c["weights"].__setitem__(0, "much"),
    "weights in lists": lambda c: c.update(weights=[[w] for w in c["weights"]]),
    "a code outside its domain": lambda c: c["instances"]["name"].__setitem__(0, 77),
    "a negative code": lambda c: c["instances"]["name"].__setitem__(0, -1),
    "a number that is a word": lambda c: c["instances"]["x"].__setitem__(0, "one"),
    "a number too few": lambda c: c["instances"]["x"].pop(),
    "numbers in lists": lambda c: c["instances"].update(x=[[1.0]] * 5),
    "a column that is not there": lambda c: c["instances"].pop("x"),
    "a word outside the vocabulary": lambda c: c["instances"]["mail"]["words"].__setitem__(0, 99),
    "a negative word": lambda c: c["instances"]["mail"]["words"].__setitem__(0, -1),
    "a count too few": lambda c: c["instances"]["mail"]["counts"].pop(),
    "a count below 0": lambda c: c["instances"]["mail"]["counts"].__setitem__(0, -3),
    "texts that descend": lambda c: c["instances"]["mail"]["starts"].__setitem__(1, 99),
    "a gap too few": lambda c: c["instances"]["mail"]["missing"].pop(),
    "texts that are codes": lambda c: c["instances"].update(mail=[0, 1, 2, 3, 4]),
    "codes that are texts": lambda c: c["instances"].update(name=c["instances"]["mail"]),
    "an unknown setting of the metric": lambda c: c["settings"]["metric"]["of"].append(["quick", 1]),
    "an unknown power": lambda c: c["settings"]["metric"]["of"].__setitem__(0, ["p", -1]),
    "a rule that is none": lambda c: c["settings"]["metric"]["of"].__setitem__(1, ["numeric", "best"]),
    "a metric that is no metric": lambda c: c["settings"].update(metric={"@": "metric", "of": 3}),
    "an unknown number of neighbors": lambda c: c["settings"].update(n_neighbors=-4),
    "an unknown kind of vote": lambda c: c["settings"].update(weights="all"),
    "a radius below 0": lambda c: c["settings"].update(radius=-1),
    "a row number that is a word": lambda c: c["order"].__setitem__(0, "first"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_in_one_line(name, tmp_path):
    X, y, types, _ = every_setting()
    metric = DistanceMetric(1, types=types)
    model = NeighborsClassifier(2, metric=metric).fit(X, y, sample_weight=[1, 2, 1, 1, 3])
    path = tmp_path / "model.json"
    countwise.save(model, path)
    damaged(path, lambda content: None)
    np.testing.assert_array_equal(countwise.load(path).predict_proba(X), model.predict_proba(X))  # so far sound
    damaged(path, DAMAGES[name])
    with pytest.raises(ModelFileError) as refused:
        countwise.load(path)
    assert "\n" not in str(refused.value)


def test_errors_name_rows_as_they_were_given():
    """Rows are kept in the order of their classes."""
    with pytest.raises(CountwiseError, match="inf in row 1"):
        NeighborsClassifier(1).fit({"a": [1.0, np.inf, 2.5, 3.0]}, [0, 1, 0, 1])
    with pytest.raises(CountwiseError, match="in rows 0 and 1"):
        NeighborsClassifier(1).fit({"a": np.array([1, "x", 2.5, None], dtype=object)}, [0, 1, 0, 1])


def test_rows_that_are_as_far_as_the_last_are_told_of():
    told = str(NeighborsClassifier(1).fit({"x": [1, 1, 1, 1, 5]}, list("babbb")).explain([{"x": 1}]))
    assert "3 more rows are at the same distance as the last neighbor" in told
    assert "more row" not in str(NeighborsClassifier(1).fit({"x": [1, 2, 5]}, list("bab")).explain([{"x": 1}]))


def test_equal_votes_are_told_of():
    told = str(NeighborsClassifier(2).fit({"x": [0.0, 1.0, 9.0]}, list("bab")).explain([{"x": 0.1}]))
    assert "class = b with probability 50.0 %." in told
    assert "Among classes with equal votes" in told


def test_a_row_of_which_only_a_new_value_is_known_says_so():
    told = str(NeighborsClassifier(1).fit({"i": ["a", "b"]}, ["x", "y"]).explain([{"i": "Rome"}]))
    assert "Every value of this row is missing or was never seen in training" in told
    assert "'i' was never seen" in told


def test_texts_are_shown_also_by_a_loaded_model(tmp_path):
    X = {"note": ["late payment", "paid at once", "paid", "late", None]}
    model = NeighborsClassifier(1, types={"note": "text"}).fit(X, list("bggbg"))
    countwise.save(model, tmp_path / "model.json")
    asked = [{"note": "late again"}]
    assert str(countwise.load(tmp_path / "model.json").explain(asked)) == str(model.explain(asked))


def test_dates_with_gaps_are_numbers_whatever_marks_the_gap():
    dates = [datetime.date(2020, 1, 1), pd.NaT, datetime.date(2021, 1, 1)]
    model = NeighborsClassifier(1).fit(pd.DataFrame({"a": dates}), ["x", "y", "x"])
    assert model.schema_["a"].kind == "date"
    assert model.predict([{"a": datetime.date(2020, 2, 1)}, {"a": pd.NaT}]).tolist() == ["x", "x"]


@both
def test_an_unknown_setting_is_refused_by_the_name_of_the_class(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an unexpected keyword argument 'k'"):
        kind(k=3)


# Summaries


def test_the_summary_and_the_tables_say_what_was_learned():
    cheat = samples.load("cheat")
    model = NeighborsClassifier("loo", max_neighbors=4).fit(cheat.frame, "cheat")
    lines = model.summary().split("\n")
    assert lines[0] == f"10 rows, 3 attributes; cheat: predicted from {model.n_neighbors_} neighbor"
    assert [line.split()[0] for line in lines[1:]] == ["attribute", "refund", "marital", "income_k"]
    assert list(model.tables()) == ["metric", "choice"]
    exemplars = countwise.PEBLSClassifier().fit(cheat.frame, "cheat")
    assert exemplars.summary().startswith("10 rows, 3 attributes; cheat: predicted from 1 neighbor\n")
    assert exemplars.tables()["exemplars"]["weight"] == exemplars.exemplar_weights_.tolist()
    with pytest.raises(NotFittedError):
        NeighborsClassifier().summary()


# Local linear regression


def plane_by_lstsq(x, y, w, query):
    """Weighted least squares with an intercept, by NumPy."""
    root = np.sqrt(w)
    design = np.column_stack([np.ones(len(x)), x - query])
    return np.linalg.lstsq(root[:, None] * design, root * y, rcond=None)[0][0]


def cloud(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 100.0, 0.01][:d] + [0.0, 1e4, -5.0][:d]
    return X, X @ [1.0, 0.02, 30.0][:d] + rng.normal(size=n)


@pytest.mark.parametrize("weights", ["uniform", "distance", "squared", lambda d: np.exp(-d)])
@pytest.mark.parametrize("own", [None, "weights"])
def test_a_local_plane_is_that_of_least_squares(weights, own):
    X, y = cloud()
    w = None if own is None else np.random.default_rng(1).integers(1, 4, len(y))
    asked = cloud(30, seed=5)[0]
    model = NeighborsRegressor(12, weights=weights, local="linear").fit(X, y, w)
    mean = NeighborsRegressor(12, weights=weights).fit(X, y, w)
    for i, row in enumerate(asked):
        table = mean.explain(asked, row=i).sections[0].table
        near = table["row"]
        expected = plane_by_lstsq(X[near], y[near], np.array(table["vote"], dtype=float), row)
        assert model.predict(asked[i : i + 1])[0] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(model.predict(asked), [model.explain(asked, row=i).value for i in range(30)])


def test_a_plane_in_the_data_is_found_wherever_its_rows_are():
    X, _ = cloud(60)
    y = 3 + X @ [2.0, -0.5, 7.0]
    asked = cloud(10, seed=3)[0]
    far = np.add(asked, [50.0, 5000.0, 1.0])  # beyond the training rows
    model = NeighborsRegressor(9, local="linear").fit(X, y)
    for rows in (asked, far):
        np.testing.assert_allclose(model.predict(rows), 3 + rows @ [2.0, -0.5, 7.0], rtol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_fewer_neighbors_than_slopes_are_fitted_with_the_smallest_slopes(k):
    X, y = cloud()
    model = NeighborsRegressor(k, local="linear").fit(X, y)
    asked = cloud(5, seed=2)[0]
    for i in range(5):
        told = model.explain(asked, row=i)
        assert told.sections[2].table["residual"] == pytest.approx([0.0] * k, abs=1e-9)
        assert f"The neighbors determine {k - 1} of 3 slopes" in str(told)
    assert np.isfinite(model.predict(asked)).all()
    if k == 1:
        assert (model.predict(X) == y).all()


def test_equal_rows_collinear_columns_and_constant_columns_are_no_errors():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    X = {"a": x, "twice": 2 * x + 1, "constant": np.full(40, 7.0), "gone": np.full(40, np.nan)}
    model = NeighborsRegressor(8, local="linear", types={"gone": "numeric"}).fit(X, 3 * x - 2)
    asked = {"a": [0.3], "twice": [1.6], "constant": [7.0], "gone": [1.0]}
    assert model.predict(asked)[0] == pytest.approx(3 * 0.3 - 2, abs=1e-9)
    table = model.explain(asked).sections[1].table
    slopes = dict(zip(table["attribute"], table["slope"], strict=True))
    assert slopes["constant"] == slopes["gone"] == 0.0
    assert slopes["a"] + 2 * slopes["twice"] == pytest.approx(3.0, rel=1e-9)
    same = NeighborsRegressor(3, local="linear").fit({"a": [1.0] * 3 + [9.0] * 2}, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert same.predict({"a": [1.5]}).tolist() == [2.0]


def test_missing_values_and_names_in_a_local_plane():
    X = {"a": [1.0, 2.0, 3.0, np.nan], "b": [0.0, 1.0, 5.0, 2.0], "k": ["u", "u", "v", "u"]}
    y = np.array([1.0, 2.0, 3.0, 6.0])
    model = NeighborsRegressor(4, local="linear").fit(X, y)
    table = model.explain({"a": [None], "b": [2.0], "k": ["u"]}).sections[1].table
    assert table["attribute"] == ["b"]
    expected = plane_by_lstsq(np.array(X["b"])[:, None], y, np.ones(4), [2.0])
    assert model.predict({"a": [None], "b": [2.0], "k": ["u"]})[0] == pytest.approx(expected, rel=1e-12)
    # a neighbor whose value is missing is at the mean of the others
    filled = np.column_stack([[1.0, 2.0, 3.0, 2.0], X["b"]])
    expected = plane_by_lstsq(filled, y, np.ones(4), [2.5, 2.0])
    assert model.predict({"a": [2.5], "b": [2.0], "k": ["v"]})[0] == pytest.approx(expected, rel=1e-12)
    assert model.predict([{}])[0] == y.mean()
    names = NeighborsRegressor(2, local="linear").fit({"k": ["u", "u", "v"]}, [1.0, 2.0, 9.0])
    assert names.predict({"k": ["u"]}).tolist() == [1.5]
    assert len(names.explain({"k": ["u"]}).sections) == 3


def test_columns_of_weight_0_have_no_slope():
    X, y = cloud(d=2)
    frame = {"a": X[:, 0], "b": X[:, 1]}
    model = NeighborsRegressor(9, local="linear", metric=DistanceMetric(weights={"b": 0})).fit(frame, y)
    alone = NeighborsRegressor(9, local="linear").fit({"a": X[:, 0]}, y)
    np.testing.assert_allclose(model.predict(frame), alone.predict({"a": X[:, 0]}), rtol=1e-12)


def test_the_number_of_neighbors_of_planes_is_chosen_by_leaving_one_out():
    X, y = cloud(30)
    model = NeighborsRegressor("loo", local="linear", max_neighbors=12).fit(X, y)
    # the metric is fitted once, to all rows
    for k in (1, 5, 12):
        errors = []
        every = NeighborsRegressor(30, local="linear").fit(X, y)
        _, near = every.kneighbors(n_neighbors=k)
        for i in range(30):
            ids = near[i]
            plane = np.linalg.lstsq((X[ids] - X[ids].mean(axis=0)) / np.ptp(X, axis=0), y[ids] - y[ids].mean(),
                                    rcond=1e-10)[0]  # fmt: skip
            errors.append(y[ids].mean() + (X[i] - X[ids].mean(axis=0)) / np.ptp(X, axis=0) @ plane - y[i])
        assert model.choice_["score"][k - 1] == pytest.approx(-np.mean(np.square(errors)), rel=1e-6)


def test_a_file_and_a_wrong_setting_of_a_local_plane(tmp_path):
    X, y = cloud()
    model = NeighborsRegressor(7, local="linear").fit(X, y)
    countwise.save(model, tmp_path / "m.json")
    assert (countwise.load(tmp_path / "m.json").predict(X) == model.predict(X)).all()
    with pytest.raises(OptionError, match="local must be"):
        NeighborsRegressor(local="liner").fit(X, y)


def test_a_setting_that_was_changed_after_fit_is_checked():
    model = NeighborsRegressor(2).fit({"x": [0.0, 1.0, 9.0]}, [10.0, 20.0, 90.0])
    for wrong in (np.array([1.0, 2.0]), "plane"):
        with pytest.raises(OptionError, match="local must be 'mean' or 'linear'"):
            model.set_params(local=wrong).predict({"x": [0.4]})
