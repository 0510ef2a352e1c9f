"""Parzen densities and prototypes against scikit-learn, SciPy, statsmodels, KDEpy, and sums in longer floats.

Where the models differ by design the test says how: statsmodels' sums are not divided by n - 1, its kernel of
ordered values does not add up to 1, and KDEpy takes the range of the data for the range of its grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from KDEpy.bw_selection import improved_sheather_jones
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit, cross_val_score
from sklearn.neighbors import KernelDensity, NearestCentroid
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from countwise import DiscriminantClassifier, Ordinal, ParzenClassifier, ParzenDensity, PrototypeClassifier

THEIRS = {"gaussian": "gaussian", "epanechnikov": "epanechnikov", "uniform": "tophat"}
kernels = pytest.mark.parametrize("kernel", list(THEIRS))
weighted = pytest.mark.parametrize("weighting", ["none", "whole", "broken"])


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def weights_of(rng: np.random.Generator, n: int, weighting: str) -> np.ndarray | None:
    if weighting == "none":
        return None
    return rng.integers(1, 5, n).astype(float) if weighting == "whole" else rng.uniform(0.1, 3.0, n)


def names(rng: np.random.Generator, n: int, k: int = 3) -> np.ndarray:
    """Names, each several times: statsmodels counts the levels anew whenever it leaves a row out."""
    codes = np.concatenate([np.repeat(np.arange(k), 3), rng.integers(0, k, n)])[:n]
    return np.array([f"v{c}" for c in rng.permutation(codes)], dtype=object)


def codes(column: np.ndarray) -> np.ndarray:
    return np.unique(column.astype(str), return_inverse=True)[1].astype(float)


def exact(values: np.ndarray, weights: np.ndarray, h: float, queries: np.ndarray) -> np.ndarray:
    """Log f by the definition, in floats of 64 bits of mantissa and an exponent that does not end at exp(-745)."""
    assert np.finfo(np.longdouble).nmant >= 63
    z = (queries.astype(np.longdouble)[:, None] - values.astype(np.longdouble)) / np.longdouble(h)
    terms = -z * z / 2 + np.log(weights.astype(np.longdouble))
    top = terms.max(axis=1, keepdims=True)
    sums = top[:, 0] + np.log(np.exp(terms - top).sum(axis=1))
    pi = np.longdouble("3.14159265358979323846264338327950288")
    return sums - np.log(weights.astype(np.longdouble).sum()) - np.log(np.longdouble(h)) - np.log(2 * pi) / 2


# -- scikit-learn ---------------------------------------------------------------------------------------------


@weighted
@kernels
@pytest.mark.parametrize(("n", "h"), [(7, 0.8), (400, 0.3), (3000, 0.05)])
def test_one_column_agrees_with_kernel_density(n, h, kernel, weighting):
    rng = random(n)
    X, w = rng.normal(20.0, 2.0, (n, 1)), weights_of(rng, n, weighting)
    asked = np.concatenate([X[:50], rng.uniform(10, 30, (200, 1))])
    theirs = KernelDensity(bandwidth=h, kernel=THEIRS[kernel]).fit(X, sample_weight=w).score_samples(asked)
    ours = ParzenDensity(h, kernel=kernel).fit(X, sample_weight=w).score_samples(asked)
    assert_array_equal(np.isneginf(ours), np.isneginf(theirs))
    there = np.isfinite(theirs)
    assert there.sum() >= 50
    assert_allclose(ours[there], theirs[there], rtol=1e-9, atol=1e-9)


@weighted
@pytest.mark.parametrize("d", [2, 3, 7])
def test_several_columns_of_one_bandwidth_agree_with_the_radial_gaussian(d, weighting):
    """A product of Gaussian kernels of one width is a function of the Euclidean distance.

    One leaf, so that scikit-learn adds every term: its tree takes bounds away from sums of logs, and in seven
    dimensions is off by 5e-7 in the tails, where ours agrees with the sum in longer floats.
    """
    rng = random(d)
    X, w = rng.normal(size=(500, d)), weights_of(rng, 500, weighting)
    asked = rng.normal(0, 1.5, (200, d))
    theirs = KernelDensity(bandwidth=0.7, leaf_size=500).fit(X, sample_weight=w).score_samples(asked)
    assert_allclose(ParzenDensity(0.7).fit(X, sample_weight=w).score_samples(asked), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("d", [1, 3])
def test_held_out_folds_are_as_likely_as_cross_val_score_says(d, k):
    X = random(k).normal(size=(83, d))
    for h in (0.2, 0.5, 2.0):
        theirs = cross_val_score(KernelDensity(bandwidth=h), X, cv=KFold(k)).sum()
        density = ParzenDensity(h).fit(X)
        factor = h if d == 1 else 1.0
        assert_allclose(density.bandwidth_curve([factor], cv=KFold(k))["held_out"], theirs, rtol=1e-9)
        assert_allclose(density.bandwidth_curve([factor], cv=KFold(k).split(X))["held_out"], theirs, rtol=1e-9)
        few = [(a[::2], b) for a, b in KFold(k).split(X)]  # rows that no fold is trained on
        theirs = cross_val_score(KernelDensity(bandwidth=h), X, cv=few).sum()
        assert_allclose(density.bandwidth_curve([factor], cv=few)["held_out"], theirs, rtol=1e-9)


def test_repeated_folds_are_as_likely_as_grid_search_says():
    """Grid search adds up all repeats; ours is the mean of the repeats, comparable to a single one."""
    X, cv, bandwidths = (
        random(3).normal(size=(61, 1)),
        RepeatedKFold(n_splits=4, n_repeats=3, random_state=0),
        [0.1, 0.3, 1, 2],
    )
    theirs = GridSearchCV(KernelDensity(), {"bandwidth": bandwidths}, cv=cv).fit(X)
    ours = ParzenDensity(1.0).fit(X).bandwidth_curve(bandwidths, cv=cv)
    assert_allclose(ours["held_out"], theirs.cv_results_["mean_test_score"] * 12 / 3, rtol=1e-9)
    assert bandwidths[int(np.argmax(ours["held_out"]))] == theirs.best_params_["bandwidth"]


@pytest.mark.parametrize("d", [1, 3])
def test_a_row_that_is_held_out_several_times_counts_once(d):
    X = random(d).normal(size=(83, d))
    folds = list(ShuffleSplit(3, train_size=20, test_size=30, random_state=0).split(X))
    for h in (0.2, 0.5, 2.0):
        logs = np.full((3, 83), np.nan)
        for found, (a, b) in zip(logs, folds, strict=True):
            found[b] = KernelDensity(bandwidth=h).fit(X[a]).score_samples(X[b])
        held_out = ~np.isnan(logs).all(axis=0)
        assert (np.isfinite(logs).sum(axis=0) > 1).any()
        curve = ParzenDensity(h).fit(X).bandwidth_curve([h if d == 1 else 1.0], cv=folds)
        assert_allclose(curve["held_out"], np.nanmean(logs[:, held_out], axis=0).sum(), rtol=1e-9)


def test_the_width_of_k_folds_is_at_least_as_likely_as_the_best_of_a_grid():
    X = random(5).normal(size=(120, 1))
    found = ParzenDensity("k_fold", cv=KFold(5)).fit(X).best_bandwidth_
    tried = [*np.geomspace(0.03, 5, 60), found]
    scores = [cross_val_score(KernelDensity(bandwidth=h), X, cv=KFold(5)).sum() for h in tried]
    assert scores[-1] >= max(scores[:-1])


@pytest.mark.filterwarnings("ignore:The best bandwidth")  # rows of weight 2 find their copies
@weighted
@pytest.mark.parametrize("bandwidth", [0.6, "silverman", "scott", "sheather_jones", "leave_one_out"])
def test_the_classifier_agrees_with_a_kernel_density_a_class_and_priors(bandwidth, weighting):
    rng = random(8)
    n = 150
    y = np.array(["c", "a", "b"], dtype=object)[rng.integers(0, 3, n)]
    X, w = rng.normal(size=(n, 2)) * [1.0, 30.0] + (y == "a")[:, None] * [1.0, 20.0], weights_of(rng, n, weighting)
    asked = rng.normal(0, 1.5, (80, 2)) * [1.0, 30.0]
    for columns in ([0], [0, 1]):
        model = ParzenClassifier(bandwidth).fit(X[:, columns], y, sample_weight=w)
        joint = np.empty((len(asked), 3))
        for c, label in enumerate(["a", "b", "c"]):
            mine = y == label
            h = np.array([model.bandwidths_[f"x{j}"][label] for j in range(len(columns))])
            own = None if w is None else w[mine]
            theirs = KernelDensity(bandwidth=1.0).fit(X[mine][:, columns] / h, sample_weight=own)
            share = mine.mean() if w is None else w[mine].sum() / w.sum()
            joint[:, c] = theirs.score_samples(asked[:, columns] / h) - np.log(h).sum() + np.log(share)
        assert_allclose(model.predict_joint_log_proba(asked[:, columns]), joint, rtol=1e-9, atol=1e-9)
        posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        assert_allclose(model.predict_proba(asked[:, columns]), posterior, rtol=0, atol=1e-9)


# -- SciPy ------------------------------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("factor", ["scott", 0.1, 1.0, 3.0])
def test_one_column_agrees_with_gaussian_kde(factor, weighting):
    """SciPy's factor is on a deviation over n - 1, or with weights over 1 - Σw² where ours takes copies.

    Its Scott's rule takes (Σw)² / Σw² for n, ours Σw: the same only where nothing is weighted.
    """
    rng = random(3)
    x, w = rng.normal(5.0, 2.0, 300), weights_of(rng, 300, weighting)
    theirs = gaussian_kde(x, factor, weights=w)
    h = float(np.sqrt(theirs.covariance[0, 0]))
    asked = rng.uniform(-3, 13, 200)
    rule = "scott" if factor == "scott" and weighting == "none" else h
    ours = ParzenDensity(rule).fit({"x": x}, sample_weight=w)
    assert_allclose(ours.bandwidths_["x"], h, rtol=1e-12)
    assert_allclose(ours.score_samples({"x": asked}), theirs.logpdf(asked), rtol=1e-9, atol=1e-9)


# -- statsmodels ------------------------------------------------------------------------------------------------


def mixed(kind: str, n: int = 90) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, float]]:
    """Our columns, statsmodels' matrix, and widths: λ is theirs too, 1 - λ for the same value, λ / (k - 1) else."""
    rng = random(len(kind))
    frame: dict[str, np.ndarray] = {}
    for j, letter in enumerate(kind):
        frame[f"{letter}{j}"] = rng.normal(j, 1 + j, n) if letter == "c" else names(rng, n)
    matrix = np.column_stack([codes(v) if v.dtype == object else v for v in frame.values()])
    bandwidths = {name: 0.3 + 0.1 * j if name[0] == "c" else 0.2 for j, name in enumerate(frame)}
    return frame, matrix, bandwidths


# statsmodels announces another default for the seed of samples that we do not draw
seeds = pytest.mark.filterwarnings("ignore:After 0.17 or January 2028:FutureWarning")


kinds = pytest.mark.parametrize("kind", ["c", "cc", "cu", "u", "uu", "cuc"])


@seeds
@kinds
def test_densities_of_numbers_and_names_agree_with_statsmodels(kind):
    frame, matrix, bandwidths = mixed(kind)
    theirs = KDEMultivariate(matrix, kind, bw=list(bandwidths.values()))
    ours = ParzenDensity(bandwidths).fit(frame)
    assert_allclose(np.exp(ours.score_samples(frame)), theirs.pdf(matrix), rtol=1e-9)


@seeds
@kinds
def test_rows_left_out_are_as_likely_as_statsmodels_says(kind):
    """Its f(-i) is a sum, not a mean: n log(n - 1) more."""
    frame, matrix, bandwidths = mixed(kind)
    theirs = KDEMultivariate(matrix, kind, bw=list(bandwidths.values()))
    for factor in (0.5, 1.0, 2.0):
        h = np.array(list(bandwidths.values())) * [factor if letter == "c" else 1.0 for letter in kind]
        objective = -float(np.squeeze(theirs.loo_likelihood(h, np.log))) - len(matrix) * np.log(len(matrix) - 1)
        asked = h[0] if kind == "c" else factor
        assert_allclose(
            ParzenDensity(bandwidths).fit(frame).bandwidth_curve([asked])["held_out"], objective, rtol=1e-9
        )


@seeds
@pytest.mark.parametrize("kind", ["c", "cc", "cu", "uu"])
def test_widths_by_leave_one_out_are_at_least_as_likely_as_those_of_statsmodels(kind):
    """To a ten-thousandth of a log-likelihood of all rows, where our search ends."""
    frame, matrix, _ = mixed(kind, 60)
    with np.errstate(all="ignore"):  # its simplex strays to λ beyond 1, and ends there: it is brought back
        theirs = KDEMultivariate(matrix, kind, bw="cv_ml")
    h = np.clip(theirs.bw, 1e-12, [np.inf if letter == "c" else 2 / 3 for letter in kind])
    ours = ParzenDensity("leave_one_out").fit(frame)
    one = kind == "c"
    found = ours.bandwidth_curve([ours.best_bandwidth_ if one else 1.0])["held_out"][0]
    others = ParzenDensity(dict(zip(frame, h, strict=True))).fit(frame)
    assert found >= others.bandwidth_curve([h[0] if one else 1.0])["held_out"][0] - 1e-4


def test_the_kernel_of_orders_adds_up_to_1_over_the_values_there_are():
    """Not statsmodels' model: its Wang-van Ryzin kernel, (1 - λ) λ^|d| / 2, adds up to 1 over all whole numbers.

    Ours is λ^|d| over what that adds up to on the domain, so that a density does.
    """
    rng = random(2)
    domain = ("none", "low", "middle", "high", "top")
    o, x = rng.integers(0, 4, 40), rng.normal(size=40)  # "top" is declared, and never met
    frame = {"o": np.array(domain, dtype=object)[o], "x": x}
    asked_o, asked_x = np.repeat(np.arange(5), 9), np.tile(np.linspace(-3, 3, 9), 5)
    for share in (0.0, 0.3, 0.9, 1.0):
        apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        kernel = np.power(share, apart, dtype=float)
        kernel /= kernel.sum(axis=1, keepdims=True)  # a row for each training value
        bump = np.exp(-0.5 * ((asked_x[:, None] - x) / 0.4) ** 2) / (0.4 * np.sqrt(2 * np.pi))
        brute = (kernel[o][:, asked_o].T * bump).mean(axis=1)
        ours = ParzenDensity({"o": share, "x": 0.4}, types={"o": Ordinal("o", domain)}).fit(frame)
        found = ours.score_samples({"o": np.array(domain, dtype=object)[asked_o], "x": asked_x})
        assert_allclose(np.exp(found), brute, rtol=1e-9)


# -- widths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_silverman_and_scott_are_their_formulas(d):
    X = random(d).gamma(2.0, 3.0, (200, d))
    sd = X.std(axis=0, ddof=1)
    # quartiles that weights can have too: Hyndman and Fan's second, not the seventh that NumPy takes unasked
    quartiles = np.percentile(X, [25, 75], axis=0, method="averaged_inverted_cdf")
    n = 200 ** (-1 / (d + 4))
    silverman = 0.9 * np.minimum(sd, (quartiles[1] - quartiles[0]) / 1.349) * n
    assert_allclose(list(ParzenDensity().fit(X).bandwidths_.values()), silverman, rtol=1e-12)
    assert_allclose(list(ParzenDensity("scott").fit(X).bandwidths_.values()), sd * n, rtol=1e-12)


@pytest.mark.parametrize(("kernel", "factor"), [("epanechnikov", 15**0.2 * (4 * np.pi) ** 0.1), ("uniform", None)])
def test_compact_kernels_have_the_canonical_widths(kernel, factor):
    """Marron and Nolan's: (R(K) / μ₂(K)²)^(1/5) over that of the Gaussian, here known to five figures."""
    factor = factor or (9 / 2) ** 0.2 * (4 * np.pi) ** 0.1
    x = {"x": random(1).normal(size=50)}
    ratio = ParzenDensity(kernel=kernel).fit(x).bandwidths_["x"] / ParzenDensity().fit(x).bandwidths_["x"]
    assert_allclose(ratio, factor, rtol=5e-5)


SAMPLES = {
    "normal": lambda rng: rng.normal(0, 1, 2000),
    "wide": lambda rng: rng.normal(1e4, 300, 2000),
    "two modes": lambda rng: np.concatenate([rng.normal(0, 1, 1000), rng.normal(40, 1, 1000)]),
    "skewed": lambda rng: rng.gamma(3.0, 10.0, 1500),
    "few": lambda rng: rng.normal(0, 50, 150),
}


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_improved_sheather_jones_agrees_with_kdepy_once_its_range_is_put_right(kind):
    """KDEpy 1.1 finds t on a grid that reaches max(range / 2, 6) beyond the data and multiplies by the data's range.

    t is in units of the grid squared, so its width is too small by data range / grid range, at least two.
    What remains is its grid of 2^10 cells with linear binning against ours of 2^14.
    """
    x = SAMPLES[kind](random(11))
    extent = np.ptp(x)
    theirs = improved_sheather_jones(x[:, None]) * (extent + 2 * max(extent / 2, 6.0)) / extent
    assert_allclose(ParzenDensity("sheather_jones").fit({"x": x}).bandwidths_["x"], theirs, rtol=0.02)


@pytest.mark.parametrize("n", [10_000, 100_000])
def test_improved_sheather_jones_is_near_the_best_bandwidth_of_a_large_normal_sample(n):
    for seed in range(3):
        x = random(seed).normal(-5.0, 3.0, n)
        best = (4 / 3) ** 0.2 * 3.0 * n**-0.2
        assert_allclose(ParzenDensity("sheather_jones").fit({"x": x}).bandwidths_["x"], best, rtol=0.1)


def test_improved_sheather_jones_sees_two_modes_where_silverman_sees_one_wide_law():
    rng = random(4)
    x = np.concatenate([rng.normal(0, 1, 5000), rng.normal(60, 1, 5000)])
    best = (4 / 3) ** 0.2 * 10_000**-0.2 * 2**0.2  # ∫f''² of two far halves is half of one whole's
    bandwidth = ParzenDensity("sheather_jones").fit({"x": x}).bandwidths_["x"]
    assert_allclose(bandwidth, best, rtol=0.1)
    assert ParzenDensity().fit({"x": x}).bandwidths_["x"] > 10 * bandwidth


# -- exact sums -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "h"), [(3, 1.0), (500, 0.3), (2000, 0.01)])
def test_tails_are_exact_however_far_out(n, h):
    rng = random(n)
    x, w = rng.normal(2.0, 1.0, n), rng.uniform(0.1, 4.0, n)
    edge = np.array([x.min(), x.max()])
    far = np.array([5.0, 20, 37.4, 37.5, 40, 75, 120, 200, 1e4])[:, None] * h * [-1, 1] + edge
    asked = np.concatenate([far.ravel(), rng.uniform(*edge, 300)])
    logs = exact(x, w, h, asked)
    assert logs.min() < -1e7
    ours = ParzenDensity(h).fit({"x": x}, sample_weight=w).score_samples({"x": asked})
    assert_allclose(ours, logs.astype(float), rtol=1e-9, atol=1e-9)
    peak = np.exp(exact(x, w, h, x).max())
    assert np.abs(np.exp(ours) - np.exp(logs)).max() <= 1e-11 * peak


@pytest.mark.parametrize("h", [0.05, 0.5, 20.0])
def test_many_rows_with_heavy_ties_are_summed_as_exactly(h):
    rng = random(6)
    x = np.round(rng.normal(0, 30, 100_000))
    values, counts = np.unique(x, return_counts=True)
    asked = np.concatenate([values[::5], rng.uniform(-150, 150, 100)])
    logs = exact(values, counts, h, asked)
    ours = ParzenDensity(h).fit({"x": x}).score_samples({"x": asked})
    assert_allclose(ours, logs.astype(float), rtol=1e-9, atol=1e-9)
    peak = np.exp(exact(values, counts, h, values).max())
    assert np.abs(np.exp(ours) - np.exp(logs)).max() <= 1e-11 * peak


def test_far_rows_of_several_columns_are_exact_too():
    rng = random(7)
    X, h = rng.normal(size=(400, 3)), np.array([0.2, 1.0, 5.0])
    asked = np.concatenate([rng.normal(size=(50, 3)), np.array([40.0, 90, 200])[:, None] * h])
    z = (asked.astype(np.longdouble)[:, None] - X) / h
    terms = -(z * z).sum(axis=2) / 2
    top = terms.max(axis=1)
    sums = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    logs = sums - np.log(400) - np.log(h).sum() - 1.5 * np.log(2 * np.pi)
    ours = ParzenDensity({f"x{j}": float(v) for j, v in enumerate(h)}).fit(X).score_samples(asked)
    assert_allclose(ours, logs.astype(float), rtol=1e-11, atol=1e-11)


# -- prototypes -------------------------------------------------------------------------------------------------


def blobs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = random(seed)
    y = np.array(["a", "b", "c"], dtype=object)[np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])]
    X = rng.normal(size=(n, d)) + (y == "b")[:, None] - 2 * (y == "c")[:, None]
    return X, y, rng.normal(0, 2, (300, d))


# odd and even sizes of classes: the median of an even number is the mean of the two in the middle, in both
@pytest.mark.parametrize(("metric", "center"), [("euclidean", "mean"), ("manhattan", "median")])
@pytest.mark.parametrize(("n", "d"), [(7, 1), (20, 1), (61, 4), (200, 3)])
def test_prototypes_agree_with_nearest_centroid(n, d, metric, center):
    X, y, asked = blobs(n, d, n)
    theirs = NearestCentroid(metric=metric).fit(X, y.astype(str))
    ours = PrototypeClassifier(center, metric=metric).fit(X, y)
    found = np.array([ours.prototypes_[f"x{j}"] for j in range(d)]).T
    assert_allclose(found, theirs.centroids_, rtol=1e-12, atol=1e-12)
    assert (ours.predict(asked) == theirs.predict(asked)).all()
    gaps = np.abs(asked[:, None] - theirs.centroids_)
    distances = gaps.sum(axis=2) if metric == "manhattan" else np.sqrt((gaps**2).sum(axis=2))
    assert_allclose(ours.distances(asked), distances, rtol=1e-12)


@weighted
def test_posteriors_of_prototypes_are_those_of_the_spherical_discriminant(weighting):
    X, y, asked = blobs(120, 3, 1)
    w: Any = weights_of(random(1), 120, weighting)
    theirs = DiscriminantClassifier("spherical", prior="uniform").fit(X, y, sample_weight=w)
    ours = PrototypeClassifier().fit(X, y, sample_weight=w)
    assert_allclose(ours.predict_proba(asked), theirs.predict_proba(asked), rtol=0, atol=1e-9)
    assert (ours.predict(asked) == theirs.predict(asked)).all()
    # and by the formula, which is neither's code
    own = np.ones(120) if w is None else w
    means = np.array([np.average(X[y == c], axis=0, weights=own[y == c]) for c in ours.classes_])
    away = (own[:, None] * (X - means[codes(y).astype(int)]) ** 2).sum() / (own.sum() * 3)
    logs = -((asked[:, None] - means) ** 2).sum(axis=2) / (2 * away)
    assert_allclose(ours.predict_log_proba(asked), logs - np.logaddexp.reduce(logs, axis=1)[:, None], atol=1e-9)
