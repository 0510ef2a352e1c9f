"""Against scikit-learn and SciPy, on tables of one kind of column: the same numbers to 1e-9.

Where the two differ by design the test says which setting of ours is theirs: scikit-learn divides variances by n,
and SciPy's own Silverman rule is not the one of the lecture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix
from scipy.stats import gaussian_kde
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from countwise import Gaussian, Kernel, NaiveBayesClassifier, Nominal

SHAPES = [(12, 1, 2), (60, 5, 3), (500, 20, 7), (300, 3, 2)]
WEIGHTS = ["none", "whole", "broken"]

shapes = pytest.mark.parametrize(("n", "d", "k"), SHAPES)
weights = pytest.mark.parametrize("weighting", WEIGHTS)
layouts = pytest.mark.parametrize("order", ["C", "F"])
floats = pytest.mark.parametrize("dtype", [np.float64, np.float32])
priors = pytest.mark.parametrize("prior", ["raw", "uniform", "given"])


def classes_of(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Every class at least three times, so that variances exist."""
    y = np.concatenate([np.repeat(np.arange(k), 3), rng.integers(0, k, n)])[:n]
    return np.array([f"c{c}" for c in rng.permutation(y)], dtype=object)


def weights_of(rng: np.random.Generator, n: int, weighting: str) -> np.ndarray | None:
    if weighting == "none":
        return None
    return rng.integers(1, 5, n).astype(float) if weighting == "whole" else rng.uniform(0.1, 3.0, n)


def given_prior(prior: str, k: int) -> tuple[Any, dict[str, Any]]:
    """Our setting, and theirs for the estimators of counts."""
    shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    ours = {"raw": "raw", "uniform": "uniform", "given": shares}[prior]
    theirs = {"raw": {}, "uniform": {"fit_prior": False}, "given": {"class_prior": shares}}[prior]
    return ours, theirs


def assert_parity(ours: NaiveBayesClassifier, theirs: Any, X: Any, X_theirs: Any = None) -> None:
    X_theirs = X if X_theirs is None else X_theirs
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_allclose(ours.class_prior_.sum(), 1.0, rtol=1e-14)
    joint = (
        theirs._joint_log_likelihood(X_theirs)
        if not hasattr(theirs, "predict_joint_log_proba")
        else theirs.predict_joint_log_proba(X_theirs)
    )
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X_theirs), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X_theirs), rtol=0, atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X_theirs)).all()


def gaussian_case(n: int, d: int, k: int, dtype: Any, order: str, weighting: str, prior: str) -> None:
    rng = np.random.default_rng(n + d)
    y, w = classes_of(rng, n, k), weights_of(rng, n, weighting)
    X = np.asarray(rng.normal(5.0, 2.0, (n, d)) + (y == "c0")[:, None], dtype=dtype, order=order)
    shares = None if prior == "raw" else np.full(k, 1 / k) if prior == "uniform" else given_prior(prior, k)[0]
    # scikit-learn computes in the dtype of X; the same numbers in float64 are the fair comparison
    theirs = GaussianNB(var_smoothing=0, priors=shares).fit(X.astype(np.float64), y, sample_weight=w)
    ours = NaiveBayesClassifier(Gaussian("n", floor=0), prior=given_prior(prior, k)[0]).fit(X, y, sample_weight=w)
    assert_parity(ours, theirs, X, X.astype(np.float64))
    np.testing.assert_allclose([d_.mean for d_ in ours.densities_.values()], theirs.theta_.T, rtol=1e-12)
    np.testing.assert_allclose([d_.sd**2 for d_ in ours.densities_.values()], theirs.var_.T, rtol=1e-9)


@weights
@layouts
@floats
@shapes
def test_gaussian_agrees_with_gaussian_nb(n, d, k, dtype, order, weighting):
    gaussian_case(n, d, k, dtype, order, weighting, "raw")


@priors
@shapes
def test_gaussian_with_priors_agrees_with_gaussian_nb(n, d, k, prior):
    gaussian_case(n, d, k, np.float64, "C", "broken", prior)


def test_gaussian_in_pieces_agrees_with_gaussian_nb_in_pieces():
    rng = np.random.default_rng(9)
    X, y = rng.normal(100.0, 3.0, (90, 4)), classes_of(rng, 90, 3)
    ours, theirs = NaiveBayesClassifier(Gaussian("n", floor=0)), GaussianNB(var_smoothing=0)
    for part in np.array_split(np.arange(90), 4):
        ours.partial_fit(X[part], y[part])
        theirs.partial_fit(X[part], y[part], classes=np.unique(y.astype(str)))
    assert_parity(ours, theirs, X)


def categorical_case(
    n: int, d: int, k: int, alpha: float, order: str, weighting: str, prior: str, integers: Any
) -> None:
    rng = np.random.default_rng(n * d)
    y, w = classes_of(rng, n, k), weights_of(rng, n, weighting)
    X = np.asarray(rng.integers(0, 4, (n, d)), dtype=integers, order=order)
    domain = {f"x{j}": Nominal(f"x{j}", (0, 1, 2, 3)) for j in range(d)}
    setting, theirs_prior = given_prior(prior, k)
    theirs = CategoricalNB(alpha=alpha, min_categories=4, force_alpha=True, **theirs_prior).fit(X, y, sample_weight=w)
    ours = NaiveBayesClassifier("categorical", types=domain, smoothing=alpha, prior=setting).fit(
        X, y, sample_weight=w
    )
    assert_parity(ours, theirs, X)


@weights
@layouts
@shapes
def test_categorical_agrees_with_categorical_nb(n, d, k, order, weighting):
    categorical_case(n, d, k, 1.0, order, weighting, "raw", np.int64)


@pytest.mark.parametrize("integers", [np.int8, np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1.0, 0.25, 1e-3])
def test_categorical_of_any_dtype_and_alpha_agrees_with_categorical_nb(alpha, integers):
    categorical_case(60, 5, 3, alpha, "C", "none", "raw", integers)


@priors
@shapes
def test_categorical_with_priors_agrees_with_categorical_nb(n, d, k, prior):
    categorical_case(n, d, k, 0.25, "F", "broken", prior, np.uint8)


def test_categorical_by_name_agrees_with_categorical_nb_by_number():
    rng = np.random.default_rng(4)
    codes, y = rng.integers(0, 3, (80, 4)), classes_of(rng, 80, 3)
    names = np.array(["east", "north", "süd"], dtype=object)
    ours = NaiveBayesClassifier().fit(names[codes], y)
    theirs = CategoricalNB().fit(codes, y)
    assert_parity(ours, theirs, names[codes], codes)


FORMS = ["dense C", "dense F", "float32", "csr_array", "csr_matrix", "csc_array", "int64 csr"]
WORDS = {
    "bernoulli": lambda alpha, **prior: BernoulliNB(alpha=alpha, binarize=0.0, **prior),
    "multinomial": lambda alpha, **prior: MultinomialNB(alpha=alpha, **prior),
}
words = pytest.mark.parametrize("law", list(WORDS))


def words_case(law: str, n: int, d: int, k: int, form: str, weighting: str, prior: str, alpha: float = 1.0) -> None:
    rng = np.random.default_rng(n - d)
    y, w = classes_of(rng, n, k), weights_of(rng, n, weighting)
    dense = rng.poisson(0.7, (n, d)).astype(float)
    setting, theirs_prior = given_prior(prior, k)
    theirs = WORDS[law](alpha, **theirs_prior).fit(dense, y, sample_weight=w)
    X = shaped(dense, form)
    ours = NaiveBayesClassifier(law, smoothing=alpha, prior=setting).fit(X, y, sample_weight=w)
    assert_parity(ours, theirs, X, dense)


@weights
@pytest.mark.parametrize("form", FORMS)
@words
def test_words_agree_with_bernoulli_nb_and_multinomial_nb(law, form, weighting):
    words_case(law, 300, 20, 3, form, weighting, "raw")


@pytest.mark.parametrize("form", ["dense C", "csr_array"])
@shapes
@words
def test_words_of_any_shape_agree_with_bernoulli_nb_and_multinomial_nb(law, n, d, k, form):
    words_case(law, n, d, k, form, "none", "raw", 0.5)


@priors
@pytest.mark.parametrize("form", ["dense C", "csr_array"])
@words
def test_words_with_priors_agree_with_bernoulli_nb_and_multinomial_nb(law, form, prior):
    words_case(law, 60, 5, 3, form, "broken", prior)


def shaped(dense: np.ndarray, form: str) -> Any:
    makers = {
        "dense C": np.ascontiguousarray,
        "dense F": np.asfortranarray,
        "float32": lambda X: X.astype(np.float32),
        "csr_array": csr_array,
        "csr_matrix": csr_matrix,
        "csc_array": csc_array,
        "int64 csr": lambda X: csr_array(X.astype(np.int64)),
    }
    return makers[form](dense)


@pytest.mark.parametrize("law", ["multinomial", "bernoulli"])
def test_zeros_that_are_stored_in_a_sparse_matrix_are_zeros(law):
    dense = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    stored = csr_array(dense + 1)
    stored.data -= 1
    assert stored.nnz == 12
    y = ["a", "b", "a", "b"]
    theirs = (MultinomialNB() if law == "multinomial" else BernoulliNB()).fit(dense, y)
    ours = NaiveBayesClassifier(law).fit(stored, y)
    assert_parity(ours, theirs, stored, dense)
    raw = NaiveBayesClassifier(law, smoothing=0)
    plain = raw.fit(csr_array(dense), y).predict_joint_log_proba(csr_array(dense))
    np.testing.assert_array_equal(raw.fit(stored, y).predict_joint_log_proba(stored), plain)


@pytest.mark.parametrize("law", ["multinomial", "bernoulli"])
def test_a_sparse_matrix_with_an_entry_in_two_parts_is_its_sum(law):
    parts = csr_matrix((np.array([1.0, 1.0, 2.0, 1.0]), np.array([0, 0, 1, 0]), np.array([0, 2, 3, 4])), shape=(3, 2))
    y = ["a", "b", "a"]
    theirs = (MultinomialNB() if law == "multinomial" else BernoulliNB()).fit(parts.toarray(), y)
    ours = NaiveBayesClassifier(law).fit(parts, y)
    assert_parity(ours, theirs, parts, parts.toarray())
    assert parts.nnz == 4  # the user's matrix stays as it was


@pytest.mark.parametrize("law", ["multinomial", "bernoulli"])
def test_a_model_of_a_sparse_matrix_takes_a_dense_one_and_the_other_way_round(law):
    rng = np.random.default_rng(12)
    dense, y = rng.poisson(0.7, (40, 6)).astype(float), classes_of(rng, 40, 2)
    from_sparse, from_dense = (NaiveBayesClassifier(law).fit(X, y) for X in (csr_array(dense), dense))
    wanted = from_dense.predict_proba(dense)
    np.testing.assert_allclose(from_sparse.predict_proba(dense), wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(from_dense.predict_proba(csr_array(dense)), wanted, rtol=0, atol=1e-12)


# -- kernel densities against SciPy -------------------------------------------------------------------------


def log_density(model: NaiveBayesClassifier, x: np.ndarray, c: int) -> np.ndarray:
    return model.densities_["x"].log_density(x, c)


@pytest.mark.parametrize("kind", ["normal", "ties", "far from zero", "one far outlier", "two points"])
@pytest.mark.parametrize("n", [2, 30, 3000])
def test_kernel_densities_are_those_of_scipy(n, kind):
    rng = np.random.default_rng(n)
    x = {
        "normal": rng.normal(0, 1, n),
        "ties": np.concatenate([[0.0], rng.integers(-5, 6, n - 1) + 0.5]),
        "far from zero": rng.normal(1e9, 1.0, n),
        "one far outlier": np.concatenate([rng.normal(0, 1, n - 1), [1e5]]),
        "two points": np.arange(n) % 2 * 1.0,
    }[kind]
    # SciPy scales before it subtracts and loses digits far from zero; the same numbers near zero are exact
    offset = 1e9 if kind == "far from zero" else 0.0
    theirs = gaussian_kde(x - offset, bw_method="scott")
    queries = np.concatenate([x[:50], rng.normal(x.mean(), x.std(), 50), [x.min() - 3 * x.std()]])
    ours = NaiveBayesClassifier({"x": Kernel("scott")}).fit({"x": x}, ["a"] * n)
    wanted = theirs.logpdf(queries - offset)
    seen = wanted > -600  # SciPy's own sum underflows further out
    np.testing.assert_allclose(log_density(ours, queries, 0)[seen], wanted[seen], rtol=1e-9, atol=1e-9)
    # the same width, given as a number
    h = float(np.sqrt(theirs.covariance[0, 0]))
    given = NaiveBayesClassifier({"x": Kernel(h)}).fit({"x": x}, ["a"] * n)
    np.testing.assert_allclose(log_density(given, queries, 0)[seen], wanted[seen], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [2, 5])
def test_a_kernel_classifier_is_the_posterior_of_scipys_densities(k, dtype):
    rng = np.random.default_rng(k)
    y = classes_of(rng, 400, k)
    x = (rng.normal(0, 1, 400) + np.array([int(c[1:]) for c in y])).astype(dtype)
    model = NaiveBayesClassifier({"x": Kernel("scott")}).fit({"x": x}, y)
    queries = np.linspace(-3, k + 2, 200)
    joint = np.stack(
        [gaussian_kde(x[y == c].astype(float), "scott")(queries) * np.mean(y == c) for c in model.classes_], axis=1
    )
    np.testing.assert_allclose(
        model.predict_proba({"x": queries}), joint / joint.sum(axis=1, keepdims=True), rtol=0, atol=1e-9
    )


def test_kernel_densities_with_weights_are_those_of_scipy_at_the_same_width():
    rng = np.random.default_rng(8)
    x, w = rng.normal(0, 1, 200), rng.uniform(0.1, 3, 200)
    theirs = gaussian_kde(x, weights=w)
    h = float(np.sqrt(theirs.covariance[0, 0]))
    ours = NaiveBayesClassifier({"x": Kernel(h)}).fit({"x": x}, ["a"] * 200, sample_weight=w)
    queries = np.linspace(-4, 4, 101)
    np.testing.assert_allclose(log_density(ours, queries, 0), theirs.logpdf(queries), rtol=1e-9, atol=1e-9)


def test_scott_with_whole_weights_is_scipys_with_copies():
    rng = np.random.default_rng(8)
    x, w = rng.normal(0, 1, 60), rng.integers(1, 4, 60)
    theirs = gaussian_kde(np.repeat(x, w), "scott")
    ours = NaiveBayesClassifier({"x": Kernel("scott")}).fit({"x": x}, ["a"] * 60, sample_weight=w)
    queries = np.linspace(-4, 4, 101)
    np.testing.assert_allclose(log_density(ours, queries, 0), theirs.logpdf(queries), rtol=1e-9, atol=1e-9)


def test_the_tails_of_a_kernel_density_are_finite_where_scipy_underflows():
    x = np.array([0.0, 1.0, 2.0, 4.0])
    ours = NaiveBayesClassifier({"x": Kernel(0.5)}).fit({"x": x}, ["a"] * 4)
    far = np.array([1e3, -1e4])
    nearest = np.array([4.0, 0.0])
    wanted = -0.5 * ((far - nearest) / 0.5) ** 2 - np.log(4 * 0.5 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(log_density(ours, far, 0), wanted, rtol=1e-12)
