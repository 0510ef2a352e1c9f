"""Discriminants against scikit-learn and SciPy: the same numbers to 1e-9, posteriors to 1e-10.

scikit-learn solves with the covariance as it is, so it is given the table near zero with columns of one size. Ours
gets the same table moved and rescaled by numbers that change no digit: the posteriors must stay what they were.
EM has an oracle of its own: row by row, in plain NumPy.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf, oas
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA  # noqa: N817 - everybody calls it so
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as QDA  # noqa: N817
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from countwise import DiscriminantClassifier

# until 1.7 its QDA divides by n - 1 and has no eigen solver
NEW_QDA = "solver" in inspect.signature(QDA).parameters
QDA_DIVISOR = "n" if NEW_QDA else "n-classes"

SHAPES = [(30, 1, 2), (60, 3, 3), (400, 12, 7), (300, 5, 2)]
MOVES = ["as it is", "scales", "offset", "float32"]
shapes = pytest.mark.parametrize(("n", "d", "k"), SHAPES)
moves = pytest.mark.parametrize("move", MOVES)


def case(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, classes that overlap; cells are whole multiples of 2^-20, so that moving them is exact."""
    rng = np.random.default_rng(n + 31 * d + k)
    code = rng.permutation(np.arange(n) % k)
    mix = np.eye(d) + 0.4 * rng.normal(size=(k, d, d)) / np.sqrt(d)
    X = np.einsum("ni,nij->nj", rng.normal(size=(n, d)), mix[code]) + 0.8 * rng.normal(size=(k, d))[code]
    rounded = np.round(X.astype(np.float32) * 2**10) / 2**10 if n % 2 else np.round(X * 2**20) / 2**20
    keep = rng.random(n) < 0.9  # classes of different sizes
    keep[: k * (d + 2)] = True
    return rounded[keep], np.array([f"c{c}" for c in code], dtype=object)[keep]


def moved(X: np.ndarray, move: str) -> np.ndarray:
    if move == "scales":  # about 1e-3 .. 1e3, in powers of two
        return X * 2.0 ** np.round(np.linspace(-10, 10, X.shape[1]))
    if move == "float32":
        return X.astype(np.float32)
    return X + 1e6 if move == "offset" else X


def both(n: int, d: int, k: int, move: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table as theirs gets it, as ours gets it, and the classes."""
    X, y = case(n, d, k)
    near = X.astype(np.float32).astype(np.float64) if move == "float32" else X
    return near, moved(near, move), y


def slack(move: str) -> float:
    """A mean near 1e6 is known to half a unit of its last place, 6e-11 of a deviation: twelve of them to 1e-9."""
    return 1e-9 if move == "offset" else 1e-10


def logs_of(theirs: Any, X: np.ndarray) -> np.ndarray:
    """Log-posteriors from the scores: scikit-learn's own predict_log_proba clips."""
    scores = theirs.decision_function(X)
    scores = np.stack([np.zeros(len(X)), scores], axis=1) if scores.ndim == 1 else scores
    return scores - logsumexp(scores, axis=1, keepdims=True)


def assert_parity(ours: Any, theirs: Any, X: np.ndarray, near: np.ndarray, tolerance: float = 1e-10) -> None:
    wanted = logs_of(theirs, near)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_allclose(ours.predict_proba(X), np.exp(wanted), rtol=0, atol=tolerance)
    np.testing.assert_allclose(ours.predict_log_proba(X), wanted, rtol=1e-9, atol=10 * tolerance)
    clear = np.diff(np.sort(wanted, axis=1)[:, -2:], axis=1)[:, 0] > 1e-6
    assert clear.mean() > 0.9
    assert (ours.predict(X)[clear] == theirs.predict(near)[clear]).all()


# -- the same models ----------------------------------------------------------------------------------------


@moves
@shapes
def test_a_shared_covariance_is_lda(n, d, k, move):
    near, X, y = both(n, d, k, move)
    theirs = LDA(solver="lsqr").fit(near, y)
    ours = DiscriminantClassifier().fit(X, y)
    assert_parity(ours, theirs, X, near, slack(move))
    if move in ("as it is", "float32"):
        np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.class_prior_, theirs.priors_, rtol=1e-14)


@moves
@shapes
def test_a_covariance_of_each_class_is_qda(n, d, k, move):
    near, X, y = both(n, d, k, move)
    theirs = QDA(store_covariance=True).fit(near, y)
    ours = DiscriminantClassifier("own", divisor=QDA_DIVISOR).fit(X, y)
    assert_parity(ours, theirs, X, near, slack(move))
    if move in ("as it is", "float32"):
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)


@moves
@shapes
def test_a_diagonal_covariance_is_gaussian_nb(n, d, k, move):
    near, X, y = both(n, d, k, move)
    theirs = GaussianNB(var_smoothing=0).fit(near, y)
    ours = DiscriminantClassifier("diagonal").fit(X, y)
    tolerance = slack(move)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(near), rtol=0, atol=tolerance)
    wanted = theirs.predict_log_proba(near)
    np.testing.assert_allclose(ours.predict_log_proba(X), wanted, rtol=1e-9, atol=10 * tolerance)
    if move in ("as it is", "float32"):
        stack = np.einsum("kjj->kj", ours.covariance_)
        np.testing.assert_allclose(stack, theirs.var_, rtol=1e-9)
        wanted = theirs.predict_joint_log_proba(near)
        np.testing.assert_allclose(ours.predict_joint_log_proba(X), wanted, rtol=1e-9, atol=1e-9)


@shapes
def test_one_variance_for_all_is_the_nearest_centroid(n, d, k):
    X, y = case(n, d, k)
    theirs = NearestCentroid().fit(X, y)
    for offset in (0.0, 1e6):
        ours = DiscriminantClassifier("spherical", prior="uniform").fit(X + offset, y)
        assert (ours.predict(X + offset) == theirs.predict(X)).all()
    ours = DiscriminantClassifier("spherical").fit(X, y)
    away = X - theirs.centroids_[np.searchsorted(theirs.classes_, y)]
    np.testing.assert_allclose(ours.covariance_, np.eye(d) * (away**2).sum() / away.size, rtol=1e-12)


@pytest.mark.parametrize("move", ["as it is", "offset"])
@shapes
def test_a_given_shrinkage_is_that_of_lda(n, d, k, move):
    near, X, y = both(n, d, k, move)
    theirs = LDA(solver="lsqr", shrinkage=0.3).fit(near, y)
    ours = DiscriminantClassifier(shrinkage=0.3).fit(X, y)
    assert_parity(ours, theirs, X, near, slack(move))
    assert ours.shrinkage_.tolist() == [0.3]


@pytest.mark.parametrize("move", ["as it is", "offset", "scales"])
@shapes
def test_automatic_shrinkage_is_that_of_lda(n, d, k, move):
    near, X, y = both(n, d, k, move)
    theirs = LDA(solver="lsqr", shrinkage="auto").fit(near, y)
    ours = DiscriminantClassifier(shrinkage="auto").fit(X, y)
    assert_parity(ours, theirs, X, near, slack(move))
    if move == "as it is":
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(not NEW_QDA, reason="this scikit-learn's QDA cannot shrink")
@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
@shapes
def test_shrinkage_of_each_class_is_that_of_qda(n, d, k, shrinkage):
    X, y = case(n, d, k)
    theirs = QDA(solver="eigen", shrinkage=shrinkage, store_covariance=True).fit(X, y)
    ours = DiscriminantClassifier("own", shrinkage=shrinkage).fit(X, y)
    assert_parity(ours, theirs, X, X)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("covariance", ["shared", "own"])
@shapes
def test_the_shares_are_those_of_ledoit_and_wolf_and_of_oas(n, d, k, covariance):
    """Of a class's columns, each brought to deviation 1."""
    X, y = case(n, d, k)
    for shrinkage, formula in (("auto", ledoit_wolf), ("oas", oas)):
        if shrinkage == "oas" and d == 1:
            continue  # has a test of its own
        ours = DiscriminantClassifier(covariance, shrinkage=shrinkage).fit(X, y)
        parts = [X[y == c] for c in ours.classes_]
        wanted = [formula((part - part.mean(axis=0)) / part.std(axis=0))[1] for part in parts]
        np.testing.assert_allclose(ours.shrinkage_, wanted, rtol=1e-9)


def test_a_single_column_is_not_shrunk_by_oas():
    X, y = case(30, 1, 2)
    assert oas(X)[1] == 0.0
    ours = DiscriminantClassifier(shrinkage="oas").fit(X, y)
    plain = DiscriminantClassifier().fit(X, y)
    np.testing.assert_allclose(ours.covariance_, plain.covariance_, rtol=1e-14)
    assert ours.shrinkage_.tolist() == [0.0, 0.0]


# -- priors -------------------------------------------------------------------------------------------------


@shapes
def test_given_priors_are_those_of_qda_and_gaussian_nb(n, d, k):
    X, y = case(n, d, k)
    shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    theirs = QDA(priors=shares).fit(X, y)
    assert_parity(DiscriminantClassifier("own", divisor=QDA_DIVISOR, prior=shares).fit(X, y), theirs, X, X)
    nb = GaussianNB(var_smoothing=0, priors=shares).fit(X, y)
    ours = DiscriminantClassifier("diagonal", prior=shares).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), nb.predict_proba(X), rtol=0, atol=1e-10)


@shapes
def test_given_priors_change_the_prior_of_lda_and_nothing_else(n, d, k):
    """scikit-learn weights the covariances of the classes by the priors, ours by their rows: so by hand."""
    X, y = case(n, d, k)
    shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    raw = LDA(solver="lsqr").fit(X, y)
    theirs = LDA(solver="lsqr", priors=shares).fit(X, y)
    ours = DiscriminantClassifier(prior=shares).fit(X, y)
    wanted = logs_of(raw, X) + np.log(shares / raw.priors_)
    wanted -= logsumexp(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(ours.predict_log_proba(X), wanted, rtol=1e-9, atol=1e-9)
    own = np.stack([np.cov(X[y == c].T, bias=True).reshape(d, d) for c in ours.classes_])
    np.testing.assert_allclose(theirs.covariance_, np.einsum("k,kij->ij", shares, own), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.covariance_, raw.covariance_, rtol=1e-9, atol=1e-12)
    # where the given priors are the classes' shares both are one model
    same = DiscriminantClassifier(prior=raw.priors_).fit(X, y)
    assert_parity(same, LDA(solver="lsqr", priors=raw.priors_).fit(X, y), X, X)


# -- the logistic form --------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["shared", "spherical"])
@pytest.mark.parametrize("prior", ["raw", "uniform"])
@shapes
def test_the_logistic_form_is_the_posterior(n, d, k, covariance, prior):
    X, y = case(n, d, k)
    model = DiscriminantClassifier(covariance, prior=prior).fit(X, y)
    form, wanted = model.logistic_form(), model.predict_proba(X)
    np.testing.assert_allclose(form.predict_proba(X), wanted, rtol=0, atol=1e-12)
    scores = X @ form.weights.T + form.biases
    shares = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    np.testing.assert_allclose(shares, wanted, rtol=0, atol=1e-12)
    if k == 2:
        np.testing.assert_allclose(1 / (1 + np.exp(-(X @ form.w + form.b))), wanted[:, 1], rtol=0, atol=1e-12)
        if covariance == "shared" and prior == "raw":
            theirs = LDA(solver="lsqr").fit(X, y)
            np.testing.assert_allclose(form.w, theirs.coef_[0], rtol=1e-9)
            np.testing.assert_allclose(form.b, theirs.intercept_[0], rtol=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "spherical"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_the_logistic_form_far_from_zero_is_the_posterior_too(covariance, k, offset):
    """Slopes of size 1 times cells of 1e6 round at 1e-10 a column: nothing worse is needed."""
    X, y = case(300, 4, k)
    model = DiscriminantClassifier(covariance).fit(X + offset, y)
    form = model.logistic_form()
    centered = form.weights - form.weights.mean(axis=0)
    rounding = 4 * np.finfo(float).eps * offset * np.abs(centered).sum(axis=1).max()
    np.testing.assert_allclose(
        form.predict_proba(X + offset), model.predict_proba(X + offset), rtol=0, atol=1e-12 + rounding
    )


# -- densities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["shared", "own", "diagonal", "spherical"])
@pytest.mark.parametrize("gaps", [False, True])
@shapes
def test_joint_densities_are_those_of_scipy_and_gaps_are_integrated_out(n, d, k, covariance, gaps):
    X, y = case(n, d, k)
    model = DiscriminantClassifier(covariance).fit(X, y)
    asked = X[:60].copy()
    if gaps:
        asked[np.random.default_rng(d).random(asked.shape) < 0.3] = np.nan
    stack = model.covariance_ if model.covariance_.ndim == 3 else np.stack([model.covariance_] * k)
    wanted = np.tile(np.log(model.class_prior_), (len(asked), 1))
    for i, row in enumerate(asked):
        t = np.flatnonzero(~np.isnan(row))
        for c in range(k):
            if len(t):
                wanted[i, c] += multivariate_normal(model.means_[c][t], stack[c][np.ix_(t, t)]).logpdf(row[t])
    np.testing.assert_allclose(model.predict_joint_log_proba(asked), wanted, rtol=1e-9, atol=1e-9)
    posterior = np.exp(wanted - logsumexp(wanted, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(asked), posterior, rtol=0, atol=1e-10)


def test_a_table_of_names_as_zeros_and_ones_is_lda_of_dummies():
    import pandas as pd

    X, y = case(300, 3, 3)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=list("uvw"))
    table["wind"] = np.array(["north", "east", "south", "west"])[rng.integers(0, 4, len(y))]
    table["sky"] = np.array(["clear", "grey"])[rng.integers(0, 2, len(y))]
    dummies = pd.get_dummies(table, drop_first=True, dtype=float)
    ours = DiscriminantClassifier(nominal="onehot").fit(table, y)
    assert [c.replace("=", "_") for c in ours.columns_] == list(dummies.columns)
    assert_parity(ours, LDA(solver="lsqr").fit(dummies.to_numpy(), y), table, dummies.to_numpy())
    own = DiscriminantClassifier("own", divisor=QDA_DIVISOR, nominal="onehot").fit(table, y)
    assert_parity(own, QDA().fit(dummies.to_numpy(), y), table, dummies.to_numpy())


# -- EM -----------------------------------------------------------------------------------------------------


def gappy(n: int, d: int, k: int, share: float, pattern: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = case(n, d, k)
    rng = np.random.default_rng(n)
    if pattern == "at random":
        gone = rng.random(X.shape) < share
    elif pattern == "the last columns of some rows":  # monotone, as when people leave a study
        gone = np.arange(d)[None, :] >= rng.integers(1, d + 3, len(X))[:, None]
    else:  # "two halves": some rows have the first columns, some the last, some all
        half = rng.integers(0, 4, len(X))[:, None]
        gone = ((half == 0) & (np.arange(d) >= d - 1)) | ((half == 1) & (np.arange(d) < d - 1))
    return np.where(gone, np.nan, X), y


def slow_em(X: np.ndarray, y: np.ndarray, *, shared: bool) -> tuple[np.ndarray, np.ndarray]:
    """Row by row: fill each gap with what is expected of it, add what stays open, take means and covariances."""
    classes, d = np.unique(y), X.shape[1]
    mean = np.stack([np.nanmean(X[y == c], axis=0) for c in classes])
    cov = np.stack([np.diag(np.nanvar(X, axis=0))] * len(classes))
    for _ in range(20_000):
        new_mean, scatter, n = np.empty_like(mean), np.zeros_like(cov), np.zeros(len(classes))
        for c, label in enumerate(classes):
            rows = X[(y == label) & ~np.isnan(X).all(axis=1)]
            full, extra = rows.copy(), np.zeros((d, d))
            for i, row in enumerate(rows):
                o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
                B = np.linalg.solve(cov[c][np.ix_(o, o)], cov[c][np.ix_(o, m)]).T
                full[i, m] = mean[c][m] + B @ (row[o] - mean[c][o])
                extra[np.ix_(m, m)] += cov[c][np.ix_(m, m)] - B @ cov[c][np.ix_(o, m)]
            new_mean[c], n[c] = full.mean(axis=0), len(rows)
            scatter[c] = (full - new_mean[c]).T @ (full - new_mean[c]) + extra
        new_cov = np.stack([scatter.sum(axis=0) / n.sum()] * len(classes)) if shared else scatter / n[:, None, None]
        step = max(np.abs(new_mean - mean).max(), np.abs(new_cov - cov).max())
        mean, cov = new_mean, new_cov
        if step < 1e-12:
            return mean, cov
    raise AssertionError("the oracle did not settle")


def likelihood(X: np.ndarray, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> float:
    """Log f of the cells that are there."""
    total = 0.0
    for c, label in enumerate(np.unique(y)):
        for row in X[y == label]:
            t = np.flatnonzero(~np.isnan(row))
            if len(t):
                total += multivariate_normal(mean[c][t], cov[c][np.ix_(t, t)]).logpdf(row[t])
    return total


EM_CASES = [
    (80, 2, 2, 0.3, "at random"),
    (90, 3, 3, 0.25, "at random"),
    (120, 4, 2, 0.2, "at random"),
    (80, 3, 2, 0.0, "the last columns of some rows"),
    (80, 3, 2, 0.0, "two halves"),
]


@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize(("n", "d", "k", "share", "pattern"), EM_CASES)
def test_em_reaches_what_em_row_by_row_reaches(n, d, k, share, pattern, covariance):
    X, y = gappy(n, d, k, share, pattern)
    assert 0.1 < np.isnan(X).mean() < 0.5
    model = DiscriminantClassifier(covariance).fit(X, y)
    mean, cov = slow_em(X, y, shared=covariance == "shared")
    np.testing.assert_allclose(model.means_, mean, rtol=0, atol=1e-7)
    ours = model.covariance_ if covariance == "own" else np.stack([model.covariance_] * k)
    np.testing.assert_allclose(ours, cov, rtol=0, atol=1e-7)
    assert model.n_iter_ > 1
    assert model.n_complete_ == (~np.isnan(X)).all(axis=1).sum()


@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize(("n", "d", "k", "share", "pattern"), EM_CASES)
def test_nothing_near_the_answer_of_em_is_likelier(n, d, k, share, pattern, covariance):
    X, y = gappy(n, d, k, share, pattern)
    model = DiscriminantClassifier(covariance).fit(X, y)
    cov = model.covariance_ if covariance == "own" else np.stack([model.covariance_] * k)
    best, rng = likelihood(X, y, model.means_, cov), np.random.default_rng(0)
    for _ in range(4):
        by = rng.normal(size=model.means_.shape)
        turn = rng.normal(size=cov.shape) if covariance == "own" else np.stack([rng.normal(size=cov.shape[1:])] * k)
        turn = (turn + turn.swapaxes(1, 2)) / 20
        for size in (1e-3, -1e-3, 1e-2, -1e-2):
            assert likelihood(X, y, model.means_ + size * by, cov) < best
            assert likelihood(X, y, model.means_, cov + size * turn) < best


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_em_keeps_the_accuracy_that_a_fifth_of_the_cells_would_cost(covariance):
    """5000 rows, 8 columns that go together, 3 classes, a fifth of the cells lost; means over 5 draws of it all.

    Judged on 20 000 complete rows each. Complete rows alone are about 840: what they cost a shared covariance is a
    twentieth of a point, but it is never for nothing.
    """
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        means = rng.normal(size=(3, 8)) / 2
        mix = np.eye(8) + 0.9 * rng.normal(size=(3, 8, 8)) / np.sqrt(8)
        mix = mix if covariance == "own" else np.stack([mix[0]] * 3)
        code, asked = rng.integers(0, 3, 5000), rng.integers(0, 3, 20_000)
        X, T = (np.einsum("ni,nij->nj", rng.normal(size=(len(c), 8)), mix[c]) + means[c] for c in (code, asked))
        gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
        tables = [(X, "em"), (gaps, "em"), (filled, "em"), (gaps, "complete")]
        models = [DiscriminantClassifier(covariance, missing=missing).fit(table, code) for table, missing in tables]
        found.append([np.mean(model.predict(T) == asked) for model in models])
    whole, em, imputed, complete = np.mean(found, axis=0)
    assert abs(whole - em) < 0.01
    assert em > imputed + 0.01
    assert em > complete


@pytest.mark.parametrize(
    "settings",
    [
        {"covariance": "shared"},
        {"covariance": "own"},
        {"covariance": "diagonal"},
        {"covariance": "spherical"},
        {"shrinkage": 0.3},
        {"shrinkage": "oas"},
        {"shrinkage": "auto", "missing": "complete"},  # FAILS: the share is 0, as if it had not been asked for
        {"shrinkage": "auto"},  # FAILS: the same, where LedoitWolf's or at least OAS's share is due
    ],
    ids=str,
)
def test_a_column_without_any_cell_changes_nothing(settings):
    X, y = case(90, 3, 3)
    wider = np.column_stack([X[:, 0], np.full(len(X), np.nan), X[:, 1:]])
    model, plain = DiscriminantClassifier(**settings).fit(wider, y), DiscriminantClassifier(**settings).fit(X, y)
    assert model.left_out_ == {"x1": "never seen"}
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.shrinkage_, plain.shrinkage_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(wider), plain.predict_proba(X), rtol=0, atol=1e-13)
