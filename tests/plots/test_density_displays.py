"""Contours of densities, boundaries in one picture, densities for several bandwidths, and curves from estimators."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, multivariate_normal, norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import countwise as cw
from countwise import DiscriminantClassifier, NaiveBayesClassifier, ParzenClassifier, ParzenDensity, samples
from countwise.errors import OptionError, TableError
from countwise.plots import (
    BoundaryDisplay,
    ContourDisplay,
    DensityDisplay,
    LearningCurveDisplay,
    ValidationCurveDisplay,
)

RNG = np.random.default_rng(0)
Y = np.array(["no", "yes"], dtype=object)[np.arange(80) % 2]
X = pd.DataFrame(RNG.normal(size=(80, 2)) + (Y == "yes")[:, None], columns=["a", "b"])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("fitted", [True, False])
def test_contours_of_a_discriminant_are_the_density_of_each_class(fitted):
    model = DiscriminantClassifier("own")
    shown = ContourDisplay.from_estimator(model.fit(X, Y) if fitted else model, X, Y, resolution=12)
    for c in ("no", "yes"):
        rows = X[c == Y].to_numpy()
        theirs = multivariate_normal(rows.mean(axis=0), np.cov(rows.T, ddof=0))
        grid = np.stack(np.meshgrid(shown.xs, shown.ys), axis=-1)
        np.testing.assert_allclose(shown.densities[c], theirs.pdf(grid), rtol=1e-9)
    assert shown.ax_.get_title(loc="left") == "p(a, b | class)"
    assert len(shown.ax_.collections) == 4  # the points and the contours of each class


def test_contours_of_a_parzen_classifier_and_of_naive_bayes():
    bandwidths = {"a": 0.5, "b": 0.5}
    shown = ContourDisplay.from_estimator(ParzenClassifier(bandwidths), X, Y, resolution=10)
    grid = np.stack(np.meshgrid(shown.xs, shown.ys), axis=-1).reshape(-1, 2)
    theirs = KernelDensity(bandwidth=0.5).fit(X[Y == "no"].to_numpy()).score_samples(grid)
    np.testing.assert_allclose(shown.densities["no"].ravel(), np.exp(theirs), rtol=1e-9)
    shown = ContourDisplay.from_estimator(NaiveBayesClassifier(), X, Y, resolution=10)
    own = X[Y == "no"]
    product = np.prod([norm.pdf(grid[:, j], own[n].mean(), own[n].std()) for j, n in enumerate("ab")], axis=0)
    np.testing.assert_allclose(shown.densities["no"].ravel(), product, rtol=1e-9)


def test_other_columns_of_a_fitted_model_are_integrated_out():
    more = X.assign(c=RNG.normal(size=80), d=np.array(["u", "v"], dtype=object)[RNG.integers(0, 2, 80)])
    both = [
        ContourDisplay.from_estimator(model, more, Y, ("a", "b"), resolution=10)
        for model in (DiscriminantClassifier("own", nominal="onehot").fit(more, Y), DiscriminantClassifier("own"))
    ]
    np.testing.assert_allclose(both[0].densities["yes"], both[1].densities["yes"], rtol=1e-9)


def test_boundaries_of_several_classifiers_are_in_one_picture():
    models = {
        "LDA": DiscriminantClassifier(prior="uniform"),
        "scikit-learn": LinearDiscriminantAnalysis(priors=[0.5, 0.5]),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    shown = BoundaryDisplay.from_estimator(models, X, Y, resolution=60)
    ours, theirs, logistic = shown.lines.values()
    np.testing.assert_allclose(
        np.sort(ours.reshape(-1, 2), axis=0), np.sort(theirs.reshape(-1, 2), axis=0), atol=1e-6
    )
    fitted = models["logistic regression"].fit(X.to_numpy(), Y)
    proba = fitted.predict_proba(logistic.reshape(-1, 2))[:, 0]
    np.testing.assert_allclose(proba, 0.5, atol=1e-3)
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert labels[:2] == ["no", "yes"]
    assert [label.partition(" (")[0] for label in labels[2:]] == list(models)
    lines = [c for c in shown.ax_.collections if hasattr(c, "get_segments")]
    assert [len(one.get_segments()) for one in lines] == [1, 1, 1]  # each straight line is in one piece


def test_fitted_classifiers_and_lists_are_taken():
    shown = BoundaryDisplay.from_estimator(
        [DiscriminantClassifier().fit(X, Y), ParzenClassifier()], X, Y, resolution=20
    )
    assert [title.partition(" (")[0] for title in shown.lines] == ["DiscriminantClassifier", "ParzenClassifier"]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ContourDisplay.from_estimator(cw.TreeClassifier(), X, Y), OptionError, "no density p"),
        (lambda: ContourDisplay.from_estimator(ParzenClassifier(), X, Y, levels=[0, 2]), OptionError, "levels"),
        (lambda: ContourDisplay.from_estimator(ParzenClassifier(), X, Y, levels=3), OptionError, "levels"),
        (lambda: ContourDisplay.from_estimator(ParzenClassifier(), X, Y, resolution=1), OptionError, "resolution"),
        (lambda: ContourDisplay(("a", "b"), xs=[0, 1], ys=[0], densities={"c": [[1.0]]}), TableError, "1 rows"),
        (lambda: BoundaryDisplay.from_estimator({}, X, Y), OptionError, "models is empty"),
        (lambda: BoundaryDisplay.from_estimator(ParzenClassifier(), X, Y, ("a", "z")), OptionError, "'z'"),
        (lambda: BoundaryDisplay(("a",), lines={}, xy=[], labels=[], limits=[]), TableError, "two attributes"),
        (lambda: DensityDisplay.from_bandwidths(ParzenClassifier(), [1]), OptionError, "ParzenDensity"),
        (lambda: DensityDisplay.from_bandwidths(ParzenDensity().fit(X), [1]), OptionError, "one numeric column"),
        (lambda: DensityDisplay.from_estimator(ParzenClassifier().fit(X, Y), "z"), OptionError, "'z'"),
    ],
)
def test_wrong_arguments_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


# -- densities of one attribute ---------------------------------------------------------------------------------


def test_the_density_of_an_attribute_of_a_parzen_classifier_is_its_marginal():
    shown = DensityDisplay.from_estimator(ParzenClassifier(0.4).fit(X, Y), "b")
    for c in ("no", "yes"):
        own = X["b"][c == Y].to_numpy()
        theirs = gaussian_kde(own, 0.4 / own.std(ddof=1)).pdf(shown.values)
        np.testing.assert_allclose(shown.curves[c], theirs, rtol=1e-9, atol=1e-15)
    frame = X.assign(size=np.array(["S", "M"], dtype=object)[RNG.integers(0, 2, 80)])
    bars = DensityDisplay.from_estimator(ParzenClassifier().fit(frame, Y), "size", prior=True)
    assert (bars.kind, bars.values) == ("bars", ["M", "S"])
    assert sum(sum(heights) for heights in bars.curves.values()) == pytest.approx(1)
    alone = DensityDisplay.from_estimator(ParzenDensity(0.4).fit(X), "a")
    theirs = gaussian_kde(X["a"], 0.4 / X["a"].std()).pdf(alone.values)
    np.testing.assert_allclose(alone.curves["all rows"], theirs, rtol=1e-9, atol=1e-15)
    assert alone.ax_.get_ylabel() == "density"


@pytest.mark.parametrize("covariance", ["shared", "own", "diagonal", "spherical"])
def test_the_density_of_an_attribute_of_a_discriminant_is_its_marginal(covariance):
    model = DiscriminantClassifier(covariance).fit(X, Y)
    shown = DensityDisplay.from_estimator(model, "b")
    sigma = np.broadcast_to(model.covariance_, (2, 2, 2))
    for i, c in enumerate(("no", "yes")):
        theirs = norm.pdf(shown.values, model.means_[i, 1], np.sqrt(sigma[i, 1, 1]))
        np.testing.assert_allclose(shown.curves[c], theirs, rtol=1e-9)


def test_densities_for_several_bandwidths_have_their_log_likelihoods():
    x = samples.load("rain").X["temp"]
    density = ParzenDensity().fit({"temp": x})
    shown = DensityDisplay.from_bandwidths(density, [1, 5])
    for h, (label, heights) in zip((1, 5), shown.curves.items(), strict=True):
        theirs = KernelDensity(bandwidth=h).fit(np.asarray(x)[:, None])
        np.testing.assert_allclose(np.log(heights), theirs.score_samples(shown.values[:, None]), rtol=1e-9, atol=1e-9)
        assert label.startswith(f"h = {h}: {theirs.score(np.asarray(x)[:, None]):.4g}, held out ")
    split = [([0, 1, 2, 3], [4, 5])]
    assert list(DensityDisplay.from_bandwidths(density, [1], cv=split).curves) == ["h = 1: -8.349, held out -4.376"]


# -- curves -------------------------------------------------------------------------------------------------------


def test_curves_are_computed_and_drawn_from_an_estimator():
    shown = LearningCurveDisplay.from_estimator(NaiveBayesClassifier(), X, Y, train_sizes=[20, 40], repeats=2)
    curve = cw.learning_curve(NaiveBayesClassifier(), X, Y, train_sizes=[20, 40], repeats=2)
    np.testing.assert_array_equal(shown.test_scores["NaiveBayesClassifier"], curve.test["NaiveBayesClassifier"])
    axes = plt.subplots()[1]
    shown = ValidationCurveDisplay.from_estimator(
        cw.TreeClassifier(), X, Y, param_name="max_depth", param_range=[1, 2], cv=3, ax=axes
    )
    curve = cw.validation_curve(cw.TreeClassifier(), X, Y, param_name="max_depth", param_range=[1, 2], cv=3)
    assert shown.ax_ is axes
    np.testing.assert_array_equal(shown.held_out, curve.held_out)
    assert ValidationCurveDisplay.from_estimator(ParzenDensity(), X[["a"]]).score_name == "log_likelihood"
