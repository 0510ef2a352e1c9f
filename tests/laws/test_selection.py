"""The laws of scores and searches: what must hold whatever the table."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

import countwise
from countwise import (
    Binned,
    CategoricalEncoder,
    Discretizer,
    FilterSelector,
    Gaussian,
    NaiveBayesClassifier,
    Ordinal,
    WrapperSelector,
    samples,
)
from countwise.errors import DataWarning
from countwise.feature_selection import attribute_scores, pmi

from .strategies import CLASSES, DISTRIBUTIONS, TYPES, Law, Rows, few, no_near_tie, rows_of, some, twice

MIXED = Law({"wind": ("nominal", None), "temp": ("number", None), "years": ("count", None), "mail": ("text", None)})
KINDS = {name: TYPES[kind] for name, (kind, _) in MIXED.columns.items()}
NOT_SCORES = ("attribute", "kind", "read_as", "note")
ORDERED = {"wind": Ordinal("wind", ("u", "v", "w", "ü"))}
WAYS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "ranges of equal frequency": {"numeric": Binned("equal_frequency", 3)},
    "gaussian": {"numeric": "gaussian"},
    "binary": {"nominal": "binary"},
    "ordinal as steps": {"ordinal": "binary", "types": {**KINDS, **ORDERED}},
    "ordinal as number": {"ordinal": "number", "numeric": "class_contiguous", "types": {**KINDS, **ORDERED}},
    "less chance": {"adjust": "permutation"},
    "less chance, by formula": {"adjust": "analytic"},
}


def scored(rows: Rows, weights: Any = None, **settings: Any) -> Any:
    return attribute_scores(rows.frame, rows.y, sample_weight=weights, **{"types": KINDS, **settings})


def assert_same_scores(ours: Any, theirs: Any, tolerance: float = 1e-11) -> None:
    assert list(ours) == list(theirs)
    for name in theirs:
        if name in NOT_SCORES:
            assert ours[name] == theirs[name], name
            continue
        for place, (a, b) in enumerate(zip(ours[name], theirs[name], strict=True)):
            told = (name, ours["attribute"][place], a, b)
            if a is None or b is None:
                assert a is None, told
                assert b is None, told
            elif math.isnan(b):
                assert math.isnan(a), told
            else:
                assert math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance), told


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


# -- scores --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("way", WAYS)
@some
@given(rows=rows_of(MIXED))
def test_a_weight_of_n_is_n_copies_to_every_score(way, kind, rows):
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    assert_same_scores(scored(rows, rows.weights.astype(kind), **WAYS[way]), scored(copies, **WAYS[way]))


@pytest.mark.parametrize("way", WAYS)
@some
@given(rows=rows_of(MIXED), data=st.data())
def test_the_order_of_the_rows_changes_no_score(way, rows, data):
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    assert_same_scores(scored(rows.take(order), **WAYS[way]), scored(rows, **WAYS[way]))


@pytest.mark.parametrize("way", WAYS)
@some
@given(rows=rows_of(MIXED), names=st.permutations(["p", "q", "r"]))
def test_the_names_of_the_classes_change_no_score(way, rows, names):
    new = dict(zip(CLASSES, names, strict=True))
    renamed = Rows(rows.frame, np.array([new[c] for c in rows.y], dtype=object), rows.weights)
    assert_same_scores(scored(renamed, **WAYS[way]), scored(rows, **WAYS[way]))


@some
@given(rows=rows_of(MIXED), names=st.permutations(["p", "q", "r", "s"]))
def test_the_names_of_the_values_change_no_score(rows, names):
    new = dict(zip(("u", "v", "w", "ü", None), [*names, None], strict=True))
    renamed = rows.with_frame(wind=np.array([new[v] for v in rows.frame["wind"]], dtype=object))
    assert_same_scores(scored(renamed, adjust="permutation"), scored(rows, adjust="permutation"))


@some
@given(rows=rows_of(MIXED))
def test_scores_come_in_pieces_as_at_once(rows):
    """An iterator of frames is read piece by piece."""
    half = len(rows) // 2
    assume(half)
    parts = [rows.take(np.arange(half)), rows.take(np.arange(half, len(rows)))]
    pieces = ({**part.frame, "class": part.y} for part in parts)
    assert_same_scores(attribute_scores(pieces, "class", types=KINDS), scored(rows))


@some
@given(rows=rows_of(MIXED))
def test_scores_lie_where_they_must(rows):
    found = scored(rows, adjust="permutation")
    h_class = countwise.measures.entropy(np.unique(rows.y.astype(str), return_counts=True)[1])
    assert h_class <= math.log2(3) + 1e-12
    for name, _, _, values, missing, h, gain, ratio, su, chi, p, gini, *_ in found.rows():
        assert 0 <= missing <= len(rows), name
        assert values >= 0, name
        assert 0 <= gain <= h + 1e-12, name
        assert gain <= math.log2(3) + 1e-12, name
        assert 0 <= ratio <= 1 + 1e-12, name
        assert 0 <= su <= 1 + 1e-12, name
        assert 0 <= gini <= 1, name
        assert chi >= 0, name
        assert math.isnan(p) or 0 <= p <= 1, name
    for gain, adjusted in zip(found["information_gain"], found["adjusted_gain"], strict=True):
        assert adjusted <= gain + 1e-12


@pytest.mark.parametrize("measure", ["information_gain", "symmetrical_uncertainty", "chi_square"])
@some
@given(rows=rows_of(twice("nominal", None)))
def test_what_an_attribute_tells_of_the_class_the_class_tells_of_it(measure, rows):
    known = np.array([cell is not None for cell in rows.frame["a"]])
    assume(known.any())
    x, y = rows.frame["a"][known], rows.y[known]
    there, back = (attribute_scores({"x": a}, b)[measure][0] for a, b in ((x, y), (y, x)))
    assert there == pytest.approx(back, rel=1e-12, abs=1e-13)


@some
@given(rows=rows_of(MIXED, gaps=False))
def test_an_attribute_that_is_the_class_tells_all(rows):
    assume(len(set(rows.y.tolist())) > 1)
    found = attribute_scores({"copy": rows.y, "other": rows.frame["wind"]}, rows.y)
    assert found["symmetrical_uncertainty"][0] == pytest.approx(1, rel=1e-12)
    assert found["gain_ratio"][0] == pytest.approx(1, rel=1e-12)
    assert found["information_gain"][0] == pytest.approx(found["entropy"][0], rel=1e-12)
    assert found["information_gain"][0] >= found["information_gain"][1] - 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@some
@given(rows=rows_of(MIXED))
def test_a_weight_of_n_is_n_copies_to_pmi(weighted, rows):
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    weights = rows.weights.astype(float) if weighted else rows.weights
    ours = pmi(rows.frame, rows.y, sample_weight=weights, types=KINDS)
    theirs = pmi(copies.frame, copies.y, types=KINDS)
    for name in ("attribute", "value", "class", "n"):
        assert ours[name] == theirs[name]
    np.testing.assert_allclose(ours["pmi"], theirs["pmi"], rtol=1e-12, atol=1e-13)


@some
@given(rows=rows_of(MIXED))
def test_the_mean_of_pmi_is_the_gain(rows):
    table, found = pmi(rows.frame, rows.y, types=KINDS), scored(rows)
    for name, gain in zip(found["attribute"], found["information_gain"], strict=True):
        cells = zip(table["attribute"], table["n"], table["pmi"], strict=True)
        mine = [(n, bits) for a, n, bits in cells if a == name]
        total = sum(n for n, _ in mine)
        mean = sum(n * bits for n, bits in mine if n) / total if total else 0.0
        assert mean == pytest.approx(gain, rel=1e-10, abs=1e-12), name


PAIRS = Law({name: kind for name, kind in MIXED.columns.items() if name != "mail"})


def paired(rows: Rows, weights: Any = None, **settings: Any) -> Any:
    with quiet():
        return countwise.feature_selection.pairwise_scores(rows.frame, sample_weight=weights, n_bins=3, **settings)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("measure", ["mutual_information", "symmetrical_uncertainty"])
@some
@given(rows=rows_of(PAIRS))
def test_a_weight_of_n_is_n_copies_to_every_pair(measure, kind, rows):
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    ours, theirs = paired(rows, rows.weights.astype(kind), measure=measure), paired(copies, measure=measure)
    for name in theirs:
        if name != "attribute":
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-13)


@some
@given(rows=rows_of(PAIRS), data=st.data())
def test_the_order_of_rows_and_columns_changes_no_pair(rows, data):
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    turned = rows.take(order)
    turned = Rows({name: turned.frame[name] for name in reversed(turned.frame)}, turned.y, turned.weights)
    ours, theirs = paired(turned), paired(rows)
    names = list(rows.frame)
    for a in names:
        for j, b in enumerate(names):
            assert ours[a][len(names) - 1 - j] == pytest.approx(theirs[a][j], rel=1e-12, abs=1e-13), (a, b)
            assert theirs[a][j] == theirs[b][names.index(a)]


@some
@given(rows=rows_of(PAIRS), number=st.lists(st.integers(-20, 20), min_size=16, max_size=16))
def test_what_a_number_loses_of_its_spread_is_what_lies_between_the_values(rows, number):
    y = np.array(number[: len(rows)]) / 4
    types = {"wind": "nominal"}
    found = attribute_scores(
        {"wind": rows.frame["wind"]}, y, target="number", types=types, sample_weight=rows.weights
    )
    x = np.repeat(rows.frame["wind"], rows.weights)
    z = np.repeat(y, rows.weights)
    known = np.array([v is not None for v in x], dtype=bool)
    x, z = x[known], z[known]
    assert found["missing"][0] == np.count_nonzero(~known)
    if not len(z):
        assert found["variance_reduction"] == [0.0]
        return
    parts = [z[np.array([v == u for v in x])] for u in sorted(set(x.tolist()))]
    left = sum(len(p) * p.var() for p in parts) / len(z)
    assert found["variance_reduction"][0] == pytest.approx(z.var() - left, rel=1e-10, abs=1e-11)
    left = sum(len(p) * p.std() for p in parts) / len(z)
    assert found["sd_reduction"][0] == pytest.approx(z.std() - left, rel=1e-7, abs=1e-7)
    assert found["sd_reduction"][0] >= -1e-7


# -- filters as selectors ------------------------------------------------------------------------------------


@some
@given(rows=rows_of(MIXED), k=st.integers(1, 4))
def test_the_filter_keeps_the_k_best_and_names_the_ties(rows, k):
    search = FilterSelector(k=k, types=KINDS).fit(rows.frame, rows.y)
    kept = search.get_feature_names_out().tolist()
    assert len(kept) == min(k, len(MIXED.columns))
    score = dict(zip(MIXED.columns, np.nan_to_num(search.scores_, nan=-np.inf), strict=True))
    least = min(score[name] for name in kept)
    assert all(score[name] <= least + 1e-12 for name in score if name not in kept)
    assert set(search.ties_) == {name for name in score if name not in kept and abs(score[name] - least) <= 1e-12}
    assert list(search.transform(rows.frame)) == kept


# -- the wrapper's two ways ----------------------------------------------------------------------------------

SUMS = {
    **{name: law for name, law in DISTRIBUTIONS.items() if name != "multinomial of counts"},
    "missing is a value": twice("nominal", "categorical", missing="value"),
    "missing is a value, mixed": Law(
        {"wind": ("nominal", "categorical"), "temp": ("number", "gaussian"), "mail": ("text", "bernoulli")},
        {"missing": "value"},
    ),
    "prior smoothed": twice("nominal", "categorical", prior="smoothed"),
    "raw counts": twice("nominal", "categorical", smoothing=0),
    "ranges, mdl": twice("number", Binned("mdl")),
    "ranges, min n": twice("number", Binned("min_n", n=2)),
}


class Held(ClassifierMixin, BaseEstimator):
    """A naive Bayes in a box: the wrapper does not see what it is made of, and has to refit."""

    def __init__(self, model: Any = None) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Held:
        there = {
            name: {column: part for column, part in given.items() if column in X}
            for name in ("distributions", "types")
            if isinstance(given := getattr(self.model, name), dict)
        }
        self.model_ = clone(self.model).set_params(**there).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


def searched(model: Any, rows: Rows, **settings: Any) -> WrapperSelector:
    with quiet():
        return WrapperSelector(model, direction="exhaustive", allow_empty=True, **settings).fit(rows.frame, rows.y)


def near_tie(model: Any, rows: Rows, cv: Any) -> bool:
    """Whether some row of some subset is so nearly of two classes that rounding decides."""
    names = list(rows.frame)
    for which in range(1, 1 << len(names)):
        subset = [name for j, name in enumerate(names) if which >> j & 1]
        for train, test in cv.split(rows.y):
            part, asked = rows.take(train), rows.take(test)
            fit = Held(model).fit({name: part.frame[name] for name in subset}, part.y).model_
            joint = np.sort(fit.predict_joint_log_proba({name: asked.frame[name] for name in subset}), axis=1)
            with np.errstate(invalid="ignore"):  # a row that no class could have made is no tie
                tied = (joint[:, -1] - joint[:, -2] < 1e-9).any()
            if tied or not no_near_tie(fit):
                return True
    return False


@pytest.mark.parametrize("law", SUMS)
@settings(few, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])  # ties are common
@given(data=st.data())
def test_adding_terms_scores_as_refitting_does(law, data):
    rows = data.draw(rows_of(SUMS[law], min_rows=6))
    cv = KFold(3)
    model = SUMS[law].model()
    with quiet():
        counts = [len(set(rows.y[train].tolist())) for train, _ in cv.split(rows.y)]
        assume(min(counts) > 1)
        shares = [np.unique(rows.y[train].astype(str), return_counts=True)[1] for train, _ in cv.split(rows.y)]
        assume(all(np.sort(share)[-1] > np.sort(share)[-2] for share in shares))  # of no attribute: no tie either
        assume(not near_tie(model, rows, cv))
    ours, theirs = searched(model, rows, cv=cv), searched(Held(model), rows, cv=cv)
    assert (ours.how_, theirs.how_) == ("adding terms", "refitting")
    assert ours.scores_ == pytest.approx(theirs.scores_, rel=1e-12)
    assert ours.why_ == theirs.why_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("prior", ["raw", "smoothed", "uniform"])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_without_any_attribute_the_commonest_class_answers_whatever_the_prior(prior, scoring):
    X, y = whole_table(seed=9)
    y = np.where(y == "b", "c", y)  # not the first of the classes
    with quiet():
        ours, theirs = (
            WrapperSelector(model, cv=StratifiedKFold(3), scoring=scoring, allow_empty=True).fit(X, y)
            for model in (NaiveBayesClassifier(prior=prior), Held(NaiveBayesClassifier(prior=prior)))
        )
    assert ours.scores_[()] == pytest.approx(theirs.scores_[()], rel=1e-12)


def whole_table(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Strings and numbers with gaps, in pandas; three classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "wind": np.array(["n", "e", "s", "w"], dtype=object)[(y + rng.integers(0, 2, n)) % 4],
            "temp": y + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "years": rng.poisson(1 + y).astype(float),
            "sky": np.array(["clear", "grey"], dtype=object)[rng.integers(0, 2, n)],
        }
    )
    for name in frame:
        gone = rng.random(n) < 0.1
        frame.loc[gone, name] = np.nan if frame[name].dtype.kind == "f" else None
    return frame, np.array(["a", "b", "c"], dtype=object)[y]


@pytest.mark.parametrize("missing", ["skip", "value"])
@pytest.mark.parametrize("scoring", [None, "accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_both_ways_score_alike_by_any_scoring(scoring, missing):
    X, y = whole_table()
    missing = NaiveBayesClassifier().missing if missing == "skip" else missing
    model = NaiveBayesClassifier({"temp": "gaussian", "noise": Binned("mdl"), "years": "kernel"}, missing=missing)
    options = {"cv": StratifiedKFold(3), "scoring": scoring, "allow_empty": True}
    with quiet():
        ours = WrapperSelector(model, direction="exhaustive", **options).fit(X, y)
        theirs = WrapperSelector(Held(model), direction="exhaustive", **options).fit(X, y)
    assert (ours.how_, theirs.how_) == ("adding terms", "refitting")
    assert list(ours.scores_) != []
    assert ours.scores_ == pytest.approx(theirs.scores_, rel=1e-10)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_both_ways_take_the_same_path(direction, scoring):
    X, y = whole_table(seed=1)
    with quiet():
        ours, theirs = (
            WrapperSelector(model, direction=direction, scoring=scoring, cv=StratifiedKFold(5)).fit(X, y)
            for model in (NaiveBayesClassifier(), Pipeline([("nb", NaiveBayesClassifier())]))
        )
    assert ours.path_["changed"] == theirs.path_["changed"]
    assert ours.path_["ties"] == theirs.path_["ties"]
    assert ours.path_["score"] == pytest.approx(theirs.path_["score"], rel=1e-10)
    assert ours.why_ == theirs.why_


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_both_ways_weigh_the_rows_alike(scoring):
    X, y = whole_table(seed=2)
    weights = np.random.default_rng(2).integers(1, 4, len(y))
    options = {"direction": "exhaustive", "scoring": scoring, "cv": StratifiedKFold(3)}
    model = NaiveBayesClassifier()
    with quiet():
        ours, theirs = (
            WrapperSelector(judged, **options).fit(X, y, sample_weight=weights) for judged in (model, Held(model))
        )
    assert (ours.how_, theirs.how_) == ("adding terms", "refitting")
    assert ours.scores_ == pytest.approx(theirs.scores_, rel=1e-10)


# -- inside scikit-learn -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector",
    [
        FilterSelector(k=2),
        FilterSelector("adjusted_gain", threshold=0.0),
        WrapperSelector(cv=3),
        WrapperSelector(direction="backward", cv=3, tol=0.01),
    ],
    ids=["filter", "filter by threshold", "forward", "backward"],
)
def test_selectors_work_in_pipelines_over_frames_with_strings_and_gaps(selector):
    X, y = whole_table(seed=3)
    pipeline = make_pipeline(selector, NaiveBayesClassifier())
    found = cross_val_score(pipeline, X, y, cv=StratifiedKFold(3), error_score="raise")
    assert (found > 0.4).all()
    pipeline.fit(X, y)
    kept = pipeline[0].get_feature_names_out().tolist()
    assert kept == pipeline[1].feature_names_in_.tolist()
    assert 1 <= len(kept) <= X.shape[1]
    assert pipeline[0].transform(X).equals(X[kept])


def test_the_number_kept_and_the_measure_can_be_searched():
    X, y = whole_table(seed=4)
    pipeline = Pipeline([("filter", FilterSelector()), ("nb", NaiveBayesClassifier())])
    grid = {"filter__k": [1, 3, 5], "filter__measure": ["information_gain", "gain_ratio"]}
    found = GridSearchCV(pipeline, grid, cv=StratifiedKFold(3), error_score="raise").fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert found.best_params_["filter__k"] in (1, 3, 5)
    wrapped = Pipeline([("wrap", WrapperSelector(NaiveBayesClassifier(), cv=3)), ("nb", NaiveBayesClassifier())])
    grid = {"wrap__direction": ["forward", "backward"], "wrap__estimator__smoothing": [0.5, 1]}
    found = GridSearchCV(wrapped, grid, cv=StratifiedKFold(3), error_score="raise").fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_a_discretizer_before_any_other_model():
    X, y = whole_table(seed=5)
    numbers = X[["temp", "noise", "years"]].fillna(0.0)
    pipeline = make_pipeline(Discretizer("equal_frequency", n_bins=4, encode="onehot"), LogisticRegression())
    with quiet():
        assert (cross_val_score(pipeline, numbers, y, cv=StratifiedKFold(3), error_score="raise") > 0.4).all()


def test_an_encoder_before_any_other_model():
    X, y = whole_table(seed=6)
    names = X[["wind", "sky"]].fillna("gone")
    pipeline = make_pipeline(CategoricalEncoder(), LogisticRegression())
    assert (cross_val_score(pipeline, names, y, cv=StratifiedKFold(3), error_score="raise") > 0.4).all()


# -- nothing leaks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Binned("mdl"), Binned("min_n", n=5), Binned("class_contiguous"), Binned("kmeans")])
def test_ranges_in_a_naive_bayes_are_made_from_the_training_rows_of_each_fold_alone(rule):
    X, y = whole_table(n=240, seed=7)
    numbers = X[["temp", "noise"]]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = NaiveBayesClassifier({"temp": rule, "noise": rule})
    ours = cross_val_predict(model, numbers, y, cv=cv, method="predict_proba")
    shares = np.zeros_like(ours)
    edges = set()
    for train, test in cv.split(numbers, y):
        with quiet():
            cutter = Discretizer(rule).fit(numbers.iloc[train], y[train])
            part = NaiveBayesClassifier("categorical").fit(cutter.transform(numbers.iloc[train]), y[train])
            shares[test] = part.predict_proba(cutter.transform(numbers.iloc[test]))
        edges.add(tuple(cutter.edges_["temp"].tolist()))
    np.testing.assert_allclose(ours, shares, rtol=1e-10, atol=1e-14)
    assert len(edges) > 1  # the folds differ, so that edges of all rows would show
    with quiet():
        whole = Discretizer(rule).fit(numbers, y)
        leaky = cross_val_predict(NaiveBayesClassifier("categorical"), whole.transform(numbers), y, cv=cv,
                                  method="predict_proba")  # fmt: skip
    assert np.abs(leaky - shares).max() > 1e-3


def test_changing_the_test_rows_moves_no_edge():
    X, y = whole_table(n=120, seed=8)
    train = np.arange(80)
    model = NaiveBayesClassifier({"temp": Binned("mdl")}).fit(X[["temp"]].iloc[train], y[train])
    before = model.densities_["temp"].edges.copy()
    model.predict_proba(X[["temp"]].iloc[80:] * 100)
    assert model.densities_["temp"].edges.tolist() == before.tolist()


def test_gaussians_in_scores_are_those_of_the_law():
    weather = samples.load("weather")
    found = attribute_scores(weather.X, weather.y, numeric={"temperature": Gaussian(), "humidity": "gaussian"})
    assert found["read_as"][1:3] == ["Gaussian in each class"] * 2
    assert all(0 < gain < 1 for gain in found["information_gain"][1:3])
    assert all(math.isnan(chi) for chi in found["chi_square"][1:3])
