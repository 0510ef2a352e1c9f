"""Neighbors against scikit-learn, imbalanced-learn, and the rules in as few words as possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import neighbors

from countwise import NeighborsClassifier, NeighborsRegressor, samples
from countwise.neighbors import DistanceMetric, distance_matrix

PLAIN = {"numeric": "none"}
POWERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf, "minkowski": 3}


def table(seed: int = 0, n: int = 240, columns: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers without ties, classes that they tell something of, and numbers to be told."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) * [1, 10, 0.1, 3][:columns] + 100
    y = (X[:, 0] + rng.normal(size=n) > 100).astype(int) + (X[:, 1] > 108)
    return X, y, X[:, 0] * 3 + rng.normal(size=n)


@pytest.mark.parametrize("power", POWERS)
def test_distances_of_numbers_are_scikit_learns(power: str):
    X, _, _ = table()
    more = {"p": 3} if power == "minkowski" else {}
    theirs = neighbors.NearestNeighbors(metric=power, algorithm="ball_tree", **more).fit(X)  # by differences
    wanted = theirs.kneighbors(X[:60] + 0.25, len(X))
    ours = NeighborsClassifier(metric=DistanceMetric(POWERS[power], **PLAIN)).fit(X, np.zeros(len(X)))
    distances, rows = ours.kneighbors(X[:60] + 0.25, len(X))
    assert_allclose(distances, wanted[0], rtol=1e-12)
    assert_array_equal(rows, wanted[1])
    itself, first = ours.kneighbors(X, 1)
    assert_array_equal(itself, 0.0)
    assert_array_equal(first[:, 0], np.arange(len(X)))
    assert_array_equal(np.diag(distance_matrix(X, metric=DistanceMetric(POWERS[power], **PLAIN))), 0.0)


@pytest.mark.parametrize("power", ["euclidean", "manhattan", "chebyshev"])
def test_scikit_learns_names_are_the_powers(power: str):
    X, y, _ = table(n=60)
    assert_array_equal(distance_matrix(X, metric=power), distance_matrix(X, metric=POWERS[power]))
    ours = NeighborsClassifier(metric=power).fit(X, y).predict_proba(X)
    assert_array_equal(ours, NeighborsClassifier(metric=DistanceMetric(POWERS[power])).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("k", [1, 5, 17])
def test_votes_and_means_are_scikit_learns(power: str, weights: str, k: int):
    X, y, numbers = table()
    asked = np.concatenate([X[:40], X[:60] + 0.25])
    more = {"p": 3} if power == "minkowski" else {}
    metric = DistanceMetric(POWERS[power], **PLAIN)
    theirs = neighbors.KNeighborsClassifier(k, weights=weights, metric=power, **more).fit(X, y)
    ours = NeighborsClassifier(k, weights=weights, metric=metric).fit(X, y)
    assert_allclose(ours.predict_proba(asked), theirs.predict_proba(asked), rtol=0, atol=1e-12)
    assert_array_equal(ours.classes_, theirs.classes_)
    regression = neighbors.KNeighborsRegressor(k, weights=weights, metric=power, **more).fit(X, numbers)
    mean = NeighborsRegressor(k, weights=weights, metric=metric).fit(X, numbers)
    assert_allclose(mean.predict(asked), regression.predict(asked), rtol=1e-12)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("power", ["euclidean", "manhattan", "chebyshev"])
def test_rows_within_a_radius_are_scikit_learns(power: str, weights: str):
    X, y, numbers = table()
    metric, radius = DistanceMetric(POWERS[power], **PLAIN), 4.0
    theirs = neighbors.RadiusNeighborsClassifier(radius, weights=weights, metric=power).fit(X, y)
    lonely = [len(rows) == 0 for rows in theirs.radius_neighbors(X + 0.5, return_distance=False)]
    asked = (X + 0.5)[~np.array(lonely)]
    ours = NeighborsClassifier(radius=radius, weights=weights, metric=metric).fit(X, y)
    assert_allclose(ours.predict_proba(asked), theirs.predict_proba(asked), rtol=0, atol=1e-12)
    regression = neighbors.RadiusNeighborsRegressor(radius, weights=weights, metric=power).fit(X, numbers)
    mean = NeighborsRegressor(radius=radius, weights=weights, metric=metric).fit(X, numbers)
    assert_allclose(mean.predict(asked), regression.predict(asked), rtol=1e-12)
    wanted = theirs.radius_neighbors(asked, sort_results=True)
    for mine, others in zip(ours.radius_neighbors(asked), wanted, strict=True):
        for a, b in zip(mine, others, strict=True):
            assert_allclose(a, b, rtol=1e-12)
    alone, others = ours.radius_neighbors(return_distance=False), theirs.radius_neighbors(return_distance=False)
    for a, b in zip(alone, others, strict=True):
        assert sorted(a) == sorted(b)


def test_overlap_is_scikit_learns_hamming_distance_times_the_columns():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (150, 5))
    words = np.array(["a", "b", "c"], dtype=object)[codes]
    ours = distance_matrix(words, metric=1)
    theirs = neighbors.NearestNeighbors(metric="hamming", algorithm="brute").fit(codes)
    distances, rows = theirs.kneighbors(codes, 150)
    assert_allclose(np.take_along_axis(ours, rows, axis=1), distances * 5, rtol=1e-12)


def test_neighbors_without_a_table_leave_each_row_itself_out_as_scikit_learn_does():
    X, y, _ = table(n=100)
    ours = NeighborsClassifier(4, metric=DistanceMetric(**PLAIN)).fit(X, y).kneighbors()
    theirs = neighbors.KNeighborsClassifier(4).fit(X, y).kneighbors()
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert_array_equal(ours[1], theirs[1])


def test_range_and_deviation_are_what_scikit_learns_scalers_make_of_numbers():
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    X, _, _ = table(n=80)
    for numeric, scaler in (("range", MinMaxScaler()), ("sd", StandardScaler())):
        scaled = scaler.fit_transform(X)
        metric = DistanceMetric(numeric=numeric, divisor="n").fit(X)
        wanted = np.sqrt(((scaled[:, None] - scaled) ** 2).sum(axis=2))
        assert_allclose(metric.pairwise(X), wanted, rtol=1e-12, atol=1e-14)
        ours = metric.scaled(X)
        assert_allclose(np.stack([ours[name] for name in metric.schema_], axis=1), scaled, rtol=1e-9, atol=1e-12)


def test_value_differences_are_imbalanced_learns():
    imblearn = pytest.importorskip("imblearn.metrics.pairwise")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 120)
    codes = (y[:, None] + rng.integers(0, 4, (120, 3))) % 5
    theirs = imblearn.ValueDifferenceMetric(k=1, r=2, n_categories=[5] * 3).fit(codes, y).pairwise(codes)
    metric = DistanceMetric(2, nominal="mvdm", types="nominal").fit(codes, y)
    assert_allclose(metric.pairwise(codes) ** 2, theirs, rtol=1e-12, atol=1e-14)  # the root is not drawn there
    cheat = samples.load("cheat")
    table = np.stack([cheat.X["refund"], cheat.X["marital"]], axis=1)
    numbers = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    numbers[:, 0] = np.unique(table[:, 0], return_inverse=True)[1]
    numbers[:, 1] = np.unique(table[:, 1], return_inverse=True)[1]
    theirs = imblearn.ValueDifferenceMetric(k=1, r=2).fit(numbers, cheat.y).pairwise(numbers)
    X = {"refund": cheat.X["refund"], "marital": cheat.X["marital"]}
    ours = DistanceMetric(2, nominal="mvdm").fit(X, cheat.y).pairwise(X)
    assert_allclose(ours**2, theirs, rtol=1e-12, atol=1e-14)
    assert ours[0, 1] ** 2 == pytest.approx(85 / 49, rel=1e-14)


# The rules in as few words as possible


def mixed(seed: int = 3, n: int = 90, gaps: float = 0.2) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    names = np.array(["u", "v", "w", "z"], dtype=object)[(y + rng.integers(0, 3, n)) % 4]
    other = np.array(["left", "right"], dtype=object)[rng.integers(0, 2, n)]
    X = {"name": names, "side": other, "x": rng.normal(size=n) + y, "z": rng.integers(0, 6, n) / 2}
    for name, column in X.items():
        lost = rng.random(n) < gaps
        X[name] = np.where(lost, np.nan if column.dtype == float else None, column)
    classes = np.array(["one", "three", "two"], dtype=object)[y]
    return X, classes, np.where(np.isnan(X["x"].astype(float)), 0, X["x"].astype(float)) + y


def lost(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def heom(X: dict[str, np.ndarray], a: int, b: int) -> float:
    """Wilson and Martinez (1997)."""
    total = 0.0
    for column in X.values():
        u, v = column[a], column[b]
        if lost(u) or lost(v):
            total += 1.0
        elif isinstance(u, str):
            total += u != v
        else:
            there = [c for c in column if not lost(c)]
            total += ((u - v) / (max(there) - min(there))) ** 2
    return math.sqrt(total)


def test_the_usual_metric_is_heom():
    X, _, _ = mixed()
    ours = distance_matrix(X)
    wanted = [[heom(X, a, b) for b in range(90)] for a in range(90)]
    assert_allclose(ours, wanted, rtol=1e-12, atol=1e-14)


def test_ignored_gaps_divide_by_the_share_of_what_is_there():
    X, _, _ = mixed()
    weights = {"name": 2.0, "side": 0.5, "x": 1.0, "z": 3.0}
    metric = DistanceMetric(1, missing="ignore", weights=weights).fit(X)
    ours = metric.pairwise(X)
    spans = {name: np.nanmax(X[name].astype(float)) - np.nanmin(X[name].astype(float)) for name in ("x", "z")}
    for a in range(30):
        for b in range(90):
            total = there = 0.0
            for name, column in X.items():
                u, v = column[a], column[b]
                if lost(u) or lost(v):
                    continue
                there += weights[name]
                total += weights[name] * (float(u != v) if isinstance(u, str) else abs(u - v) / spans[name])
            wanted = total * 6.5 / there if there else 6.5
            assert ours[a, b] == pytest.approx(wanted, rel=1e-12)


def votes(distances: np.ndarray, y: np.ndarray, k: int, weights: str) -> tuple[Any, dict[Any, float]]:
    """The classes' shares of the votes of the k nearest, and who wins."""
    order = sorted(range(len(y)), key=lambda i: (distances[i], y[i], i))[:k]
    same = any(distances[i] == 0 for i in order)
    told = dict.fromkeys(sorted(set(y.tolist())), 0.0)
    for i in order:
        d = float(distances[i])
        if weights == "uniform":
            told[y[i]] += 1
        elif same:
            told[y[i]] += d == 0
        else:
            told[y[i]] += 1 / d if weights == "distance" else 1 / d**2
    total = sum(told.values())
    best = max(told.values())
    first = next(y[i] for i in order if told[y[i]] >= best - 1e-12 * total)
    return first, {name: v / total for name, v in told.items()}


@pytest.mark.parametrize("missing", ["maximal", "ignore"])
@pytest.mark.parametrize("weights", ["uniform", "distance", "squared"])
def test_probabilities_are_a_naive_count_of_votes(weights: str, missing: str):
    X, y, _ = mixed()
    asked, _, _ = mixed(seed=4)
    known = np.array([not all(lost(column[i]) for column in asked.values()) for i in range(90)])
    for k in (1, 4, 9):
        metric = DistanceMetric(1, missing=missing)
        model = NeighborsClassifier(k, weights=weights, metric=metric).fit(X, y)
        distances = model.metric_.pairwise(asked, X)
        wanted = [votes(line, y, k, weights) for line in distances]
        proba = [[shares[name] for name in model.classes_] for _, shares in wanted]
        assert_allclose(model.predict_proba(asked)[known], np.array(proba)[known], rtol=0, atol=1e-12)
        assert_array_equal(model.predict(asked)[known], np.array([best for best, _ in wanted], dtype=object)[known])


@pytest.mark.parametrize("missing", ["maximal", "ignore"])
@pytest.mark.parametrize("weights", ["uniform", "distance", "squared"])
def test_leave_one_out_is_a_loop_of_refits_with_the_metric_of_all_rows(weights: str, missing: str):
    X, y, numbers = mixed(n=60, gaps=0.1)
    metric = DistanceMetric(1, missing=missing)
    distances = distance_matrix(X, metric=metric)
    model = NeighborsClassifier("loo", weights=weights, metric=metric, max_neighbors=12).fit(X, y)
    right, errors = np.zeros(12), np.zeros(12)
    for i in range(60):
        others = np.flatnonzero(np.arange(60) != i)
        for k in range(1, 13):
            right[k - 1] += votes(distances[i, others], y[others], k, weights)[0] == y[i]
            order = sorted(others.tolist(), key=lambda j: (distances[i, j], numbers[j], j))[:k]
            d = distances[i, order]
            if weights == "uniform":
                w = np.ones(k)
            elif (d == 0).any():
                w = (d == 0).astype(float)
            else:
                w = 1 / d if weights == "distance" else 1 / d**2
            errors[k - 1] += (np.average(numbers[order], weights=w) - numbers[i]) ** 2
    assert list(model.choice_["n_neighbors"]) == list(range(1, 13))
    assert_allclose(model.choice_["score"], right / 60, rtol=1e-12)
    assert model.n_neighbors_ == 1 + int(np.argmax(right))
    regression = NeighborsRegressor("loo", weights=weights, metric=metric, max_neighbors=12).fit(X, numbers)
    assert_allclose(regression.choice_["score"], -errors / 60, rtol=1e-10)
    assert regression.n_neighbors_ == 1 + int(np.argmin(errors))


def test_the_chosen_number_of_neighbors_never_exceeds_the_other_rows():
    X, y, numbers = mixed(n=6, gaps=0.0)
    assert list(NeighborsClassifier("loo").fit(X, y).choice_["n_neighbors"]) == [1, 2, 3, 4, 5]
    assert list(NeighborsRegressor("loo").fit(X, numbers).choice_["n_neighbors"]) == [1, 2, 3, 4, 5]
