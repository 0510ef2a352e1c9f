"""The laws of estimates: units, the order of rows and the size of weights do not matter where they must not."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import (
    BayesNetworkClassifier,
    DiscriminantClassifier,
    Gaussian,
    Kernel,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    ParzenDensity,
    PEBLSClassifier,
    PrototypeClassifier,
    TreeClassifier,
    leave_one_out,
)
from countwise.errors import CountwiseError, CountwiseWarning, TableError

from .strategies import few, some

NAN = float("nan")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


def quiet(work: Any) -> Any:
    """Our warnings are no matter here; a raw one is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CountwiseWarning)
        return work()


# -- units --------------------------------------------------------------------------------------------------

DISCRIMINANTS = [
    {"covariance": covariance, "shrinkage": shrinkage, "divisor": divisor, "missing": missing}
    for covariance, shrinkage, divisor, missing in product(
        ("shared", "own", "diagonal"), (None, "auto", "oas"), ("n", "n-classes"), ("em", "complete")
    )
    if shrinkage is None or covariance != "diagonal"
]


def discriminant_rows(seed: int, *, gaps: float) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat(list("abc"), 14)
    X = rng.normal(size=(42, 3)) + 0.5 * rng.normal(size=(3, 3))[np.repeat(range(3), 14)]
    X[:, 2] += X[:, 0]
    table = pd.DataFrame(np.round(X, 6), columns=list("uvw"))
    if seed % 2:
        table.loc[y == "c", "v"] = 1.5  # constant in one class
    if gaps:
        table = table.mask(rng.random(table.shape) < gaps)
    table["wind"] = np.array(["east", "north"], dtype=object)[rng.integers(0, 2, 42)]
    return table, y


@pytest.mark.parametrize("settings", DISCRIMINANTS, ids=lambda s: " ".join(str(v) for v in s.values()))
@few
@given(
    seed=st.integers(0, 500),
    gaps=st.sampled_from([0.0, 0.1, 0.5]),
    power=st.tuples(*[st.integers(-30, 30)] * 3),
    shift=st.tuples(*[st.integers(-3, 3)] * 3),
)
def test_the_unit_of_a_column_does_not_matter_to_a_discriminant(settings, seed, gaps, power, shift):
    table, y = discriminant_rows(seed, gaps=gaps)
    scaled = table.copy()
    for name, p, s in zip("uvw", power, shift, strict=True):
        scaled[name] = (table[name] + s) * 1.7**p
    found = []
    for one in (table, scaled):
        try:
            model = quiet(lambda one=one: DiscriminantClassifier(nominal="onehot", **settings).fit(one, y))
        except CountwiseError as error:
            found.append(type(error))
        else:
            found.append(quiet(lambda model=model, one=one: model.predict_proba(one)))
    if isinstance(found[0], type) or isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-8)


@some
@given(
    offset=st.sampled_from([0.0, 1e3, 1e9, 2.0**40]),
    power=st.integers(-60, 60),
    divisor=st.sampled_from(["n", "n-1"]),
    codes=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=3, max_size=20),
)
def test_a_gaussian_does_not_care_about_units_and_offsets(offset, power, divisor, codes):
    x = np.array([c for c, _ in codes]) / 4.0
    y = [str(c) for _, c in codes]
    plain = NaiveBayesClassifier(Gaussian(divisor)).fit({"x": x}, y)
    moved = NaiveBayesClassifier(Gaussian(divisor)).fit({"x": (x + offset) * 2.0**power}, y)
    wanted, found = plain.predict_proba({"x": x}), moved.predict_proba({"x": (x + offset) * 2.0**power})
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 if offset < 1e6 else 1e-4)


@pytest.mark.parametrize("divisor", ["n", "n-1"])
@some
@given(values=st.lists(st.integers(-50, 50), min_size=3, max_size=12), single=st.integers(-50, 50))
def test_a_class_with_a_single_value_has_the_deviation_of_the_whole_column(divisor, values, single):
    x = np.array([*values, single], dtype=float)
    if np.ptp(x) == 0:
        return
    model = NaiveBayesClassifier(Gaussian(divisor)).fit({"x": x}, ["a"] * len(values) + ["b"])
    np.testing.assert_allclose(model.densities_["x"].sd[1], x.std(ddof=int(divisor == "n-1")), rtol=1e-12)


@pytest.mark.parametrize("offset", [1e9, 1e12, 1e15, 2.0**52])
@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(),
        BayesNetworkClassifier("naive"),
        DiscriminantClassifier(),
        DiscriminantClassifier("own"),
    ],
    ids=["naive Bayes", "network", "shared", "own"],
)
def test_integers_far_from_zero_are_not_taken_for_a_constant(offset, model):
    x, y = np.array([0, 1, 2, 3, 7, 8, 9, 11.0]), list("aaaabbbb")
    near = model.fit({"x": x}, y).predict_proba({"x": x})
    far = model.fit({"x": x + offset}, y).predict_proba({"x": x + offset})
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-6 if offset < 1e14 else 0.1)
    assert (far.argmax(axis=1) == near.argmax(axis=1)).all()


# -- the order of rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [None, "whole", "fractional"])
@some
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 30),
    k=st.integers(1, 4),
    passes=st.integers(1, 4),
    missing=st.sampled_from(["maximal", "ignore"]),
)
def test_the_order_of_rows_does_not_matter_to_pebls(weighted, seed, n, k, passes, missing):
    rng = np.random.default_rng(seed)
    table = {
        "a": np.where(rng.random(n) < 0.1, NAN, rng.integers(-2, 3, n) / 3),
        "b": np.array([None, "u", "v", "w"], dtype=object)[rng.integers(0, 4, n)],
        "c": np.array([True, False, None], dtype=object)[rng.integers(0, 3, n)],
    }
    y = np.array(["no", "yes", "so"], dtype=object)[rng.integers(0, 3, n)]
    w = {None: None, "whole": rng.integers(1, 4, n), "fractional": rng.integers(1, 7, n) / 3}[weighted]
    order = rng.permutation(n)
    one = PEBLSClassifier(k, passes=passes, missing=missing).fit(table, y, sample_weight=w)
    two = PEBLSClassifier(k, passes=passes, missing=missing).fit(
        {name: cells[order] for name, cells in table.items()},
        y[order],
        sample_weight=None if w is None else w[order],
    )
    np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(table))
    # equal rows may exchange the last bit of their weights
    np.testing.assert_allclose(one.exemplar_weights_[order], two.exemplar_weights_, rtol=1e-14)


# -- weights ------------------------------------------------------------------------------------------------

FRACTIONAL = st.sampled_from([0.3, 1 / 3, 1.0000001, 5.5, 123.4, 1e-90, 0.7e-30, 1.1e30, 1.3e90])
RULES = ("silverman", "scott", "sheather_jones", "leave_one_out")


def tied(seed: int, n: int) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(size=n) * 2) / 2


@pytest.mark.parametrize("rule", RULES)
@few
@given(seed=st.integers(0, 1000), n=st.integers(5, 60), w=FRACTIONAL, ties=st.booleans())
def test_equal_weights_of_any_size_leave_a_bandwidth_as_it_is(rule, seed, n, w, ties):
    x = tied(seed, n) if ties else np.random.default_rng(seed).normal(size=n)
    y, weights = np.arange(n) % 2, np.full(n, w)
    for make in (
        lambda **more: ParzenDensity(rule).fit({"x": x}, **more).bandwidths_["x"],
        lambda **more: NaiveBayesClassifier(Kernel(rule)).fit({"x": x}, y, **more).densities_["x"].bandwidths,
    ):
        plain, weighed = quiet(make), quiet(lambda make=make: make(sample_weight=weights))
        np.testing.assert_allclose(weighed, plain, rtol=1e-5)  # the likelihood is searched to 1e-7


@few
@given(seed=st.integers(0, 1000), w=FRACTIONAL)
def test_equal_weights_leave_a_kernel_in_pieces_and_after_forgetting_as_it_is(seed, w):
    x, y = tied(seed, 40), np.array(list("ab"), dtype=object)[np.arange(40) % 2]
    weights = np.full(40, w)
    whole = NaiveBayesClassifier("kernel").fit({"x": x[:30]}, y[:30])
    parts = NaiveBayesClassifier("kernel")
    for piece in (slice(0, 11), slice(11, 40)):
        parts.partial_fit({"x": x[piece]}, y[piece], sample_weight=weights[piece])
    parts.forget({"x": x[30:]}, y[30:], sample_weight=weights[30:])
    np.testing.assert_allclose(parts.densities_["x"].bandwidths, whole.densities_["x"].bandwidths, rtol=1e-6)
    np.testing.assert_allclose(parts.predict_proba({"x": x}), whole.predict_proba({"x": x}), rtol=0, atol=1e-6)


SCALE_FREE = {
    "naive Bayes": lambda: NaiveBayesClassifier(Gaussian("n"), smoothing=0),
    "shared": lambda: DiscriminantClassifier(nominal="onehot"),
    "own": lambda: DiscriminantClassifier("own", nominal="onehot"),
    "diagonal": lambda: DiscriminantClassifier("diagonal", nominal="onehot"),
    "spherical": lambda: DiscriminantClassifier("spherical", nominal="onehot"),
    "prototype": PrototypeClassifier,
}


@pytest.mark.parametrize("name", SCALE_FREE)
@few
@given(seed=st.integers(0, 1000), power=st.sampled_from([-300, -64, -3, 2, 20, 61, 300]))
def test_weights_times_a_power_of_two_change_no_answer_of_a_model_without_scale(name, seed, power):
    rng = np.random.default_rng(seed)
    table = {
        "u": rng.normal(size=40),
        "v": np.where(rng.random(40) < 0.1, NAN, rng.normal(size=40)),
        "wind": np.array(["east", "north"], dtype=object)[rng.integers(0, 2, 40)],
    }
    y, w = np.array(list("ab"), dtype=object)[np.arange(40) % 2], rng.integers(1, 9, 40) / 4 + 0.1
    plain = quiet(lambda: SCALE_FREE[name]().fit(table, y, sample_weight=w).predict_proba(table))
    scaled = quiet(lambda: SCALE_FREE[name]().fit(table, y, sample_weight=w * 2.0**power).predict_proba(table))
    np.testing.assert_allclose(scaled, plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(),
        NaiveBayesClassifier("kernel"),
        NaiveBayesClassifier("auto"),
        TreeClassifier(),
        PEBLSClassifier(2, passes=2),
        NeighborsClassifier(2),
        ParzenClassifier(),
        PrototypeClassifier(),
        BayesNetworkClassifier("tan"),
        DiscriminantClassifier(nominal="onehot"),
    ],
    ids=lambda model: type(model).__name__ + str(getattr(model, "distribution", "")),
)
@pytest.mark.parametrize("w", [1e-100, 1e-30, 1e30, 1e100, 2**53, 2**62, 2**62 + 1])
def test_weights_of_any_allowed_size_give_probabilities(model, w):
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=30), "b": np.array(list("xyz"), dtype=object)[rng.integers(0, 3, 30)]}
    y = np.array(list("pq"), dtype=object)[np.arange(30) % 2]
    try:
        fitted = quiet(lambda: model.fit(table, y, sample_weight=np.full(30, w)))
    except CountwiseError:
        return
    found = quiet(lambda: fitted.predict_proba(table))
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    quiet(lambda: fitted.explain(table).text())


@some
@given(seed=st.integers(0, 1000), w=FRACTIONAL)
def test_rows_of_any_weight_can_be_forgotten(seed, w):
    rng = np.random.default_rng(seed)
    table = {"x": rng.choice(list("uvw"), 20).tolist(), "t": rng.choice(["aa bb", "bb cc", "cc"], 20).tolist()}
    y, weights = rng.choice(list("pq"), 20).tolist(), np.full(20, w)
    y[:2] = "p", "q"
    part = {name: column[:12] for name, column in table.items()}
    rest = {name: column[12:] for name, column in table.items()}
    settings = {"types": {"t": "text"}, "smoothing": 0}
    whole = NaiveBayesClassifier(**settings).fit(table, y, sample_weight=weights)
    whole.forget(rest, y[12:], sample_weight=weights[12:])
    again = NaiveBayesClassifier(**settings).fit(part, y[:12], sample_weight=weights[:12])
    assert whole.schema_ == again.schema_
    np.testing.assert_allclose(whole.predict_proba(part), again.predict_proba(part), rtol=1e-9)
    with pytest.raises(TableError, match="not trained on"):
        again.forget(part, y[:12], sample_weight=2 * weights[:12])


# -- a Gaussian and the size of the weights -------------------------------------------------------------------


@some
@given(
    seed=st.integers(0, 1000),
    w=st.sampled_from([0.5, 1 / 6, 1e-3, 1e-30, 1e-99]),
    divisor=st.sampled_from(["n", "n-1"]),
)
def test_weights_that_sum_to_less_than_2_do_not_shrink_or_stretch_a_gaussian(seed, w, divisor):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=6), np.array(list("ababab"))
    rule = Gaussian(divisor=divisor)
    found = NaiveBayesClassifier(rule).fit({"x": x}, y, sample_weight=np.full(6, w)).densities_["x"]
    # two rows of equal weight have the divisor n / 2; a class with a weight of at most 1 takes that of the column
    parts = [x] * 2 if divisor == "n-1" and 3 * w <= 1 else [x[y == c] for c in "ab"]
    total = 6 * w if divisor == "n-1" and 3 * w <= 1 else 3 * w
    rows = [
        np.sqrt(np.sum((part - part.mean()) ** 2) * w / (max(total - 1, total / 2) if divisor == "n-1" else total))
        for part in parts
    ]
    np.testing.assert_allclose(found.sd, rows, rtol=1e-12)
    left_out = leave_one_out(NaiveBayesClassifier(rule), {"x": x}, y, sample_weight=np.full(6, w)).predictions.proba
    for i in range(6):
        kept = np.arange(6) != i
        again = NaiveBayesClassifier(rule).fit({"x": x[kept]}, y[kept], sample_weight=np.full(5, w))
        np.testing.assert_allclose(left_out[i], again.predict_proba({"x": x[i : i + 1]})[0], rtol=1e-9)


@some
@given(seed=st.integers(0, 10_000), n=st.integers(6, 20), gone=st.integers(1, 3))
def test_a_column_that_becomes_constant_by_forgetting_is_constant(seed, n, gone):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], n)
    x = np.full(n, round(rng.normal(), 1))
    x[:gone] = np.round(rng.normal(size=gone) * 5, 1)
    table = {"x": x, "z": rng.integers(0, 9, n).astype(float)}
    rest = {name: column[gone:] for name, column in table.items()}
    asked = {"x": [1.3], "z": [4.0]}
    for make in (
        NaiveBayesClassifier,
        PrototypeClassifier,
        lambda: DiscriminantClassifier("diagonal"),
        lambda: DiscriminantClassifier("spherical"),
        lambda: BayesNetworkClassifier("naive"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                again = make().fit(rest, y[gone:]).predict_proba(asked)
            except CountwiseError:
                continue
            model = make().fit(table, y).forget({name: column[:gone] for name, column in table.items()}, y[:gone])
            np.testing.assert_allclose(model.predict_proba(asked), again, atol=1e-9)


def test_leave_one_out_refuses_the_rows_whose_refit_is_refused():
    a, b, y = [2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [-0.5, 0.4, 1.3, 0.9, -0.7, -1.3, -0.6], list("aaabbbb")
    model = DiscriminantClassifier("own", shrinkage="auto")
    with pytest.raises(CountwiseError, match=r"is singular.*shrinkage=0\.1"):
        model.fit({"a": a[1:], "b": b[1:]}, y[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountwiseWarning)
        found = leave_one_out(model, {"a": a, "b": b}, y)
    assert "leave-one-out over 7 rows; 3 failed" in str(found)
