"""The compiled kernels that score laws by leaving rows out against the NumPy ones, which are their specification."""

from __future__ import annotations

from math import exp, fsum, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from .levels import assert_allclose, assert_array_equal, native, reference

LEAST = -700.0


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# A Gaussian without the value it is for


def left_out(kernels, values: np.ndarray, *law: float) -> np.ndarray:
    out = np.full(len(values), 7.0)
    kernels.gaussian_loo(values, *law, out)
    return out


def moments(values: np.ndarray) -> tuple[float, float, float]:
    mean = float(values.mean()) if len(values) else 0.0
    return float(max(len(values), 1)), mean, float(((values - mean) ** 2).sum())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 128, 1001])
@pytest.mark.parametrize(("center", "sd"), [(0.0, 1.0), (1e6, 3.0), (-2e-149, 1e-150), (3e150, 1e149)])
def test_a_value_left_out_has_the_density_of_the_reference(level: str, n: int, center: float, sd: float) -> None:
    values = random(n).normal(center, sd, n)
    law = (*moments(values), (1.1 * sd) * sd, center)
    ours, theirs = left_out(native, values, *law), left_out(reference, values, *law)
    assert_allclose(ours, theirs, rtol=1e-12, atol=1e-11)
    spaced = np.full((n, 3), 7.0)
    native.gaussian_loo(np.repeat(values, 2)[::2], *law, spaced[:, 1])
    assert_array_equal(spaced[:, 1], ours)
    assert_array_equal(spaced[:, [0, 2]], 7.0)
    backward = np.empty(n)
    native.gaussian_loo(values, *law, backward[::-1])
    assert_array_equal(backward[::-1], ours)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n", [3, 4, 40])
def test_a_value_left_out_has_the_density_that_the_others_make(level: str, kernels, n: int) -> None:
    values = random(n).normal(50, 2, n)
    found = left_out(kernels, values, *moments(values), 4.0, 50.0)
    for i, x in enumerate(values):
        others = np.delete(values, i)
        expected = stats.norm.logpdf(x, others.mean(), others.std(ddof=1))
        assert_allclose(found[i], expected, rtol=1e-9)


@pytest.mark.parametrize("kernels", [native, reference])
def test_few_others_borrow_the_spread_of_the_column(level: str, kernels) -> None:
    one = left_out(kernels, np.array([3.0]), 1.0, 3.0, 0.0, 4.0, 5.0)
    assert_allclose(one, stats.norm.logpdf([3.0], 5.0, 2.0), rtol=1e-13)
    two = left_out(kernels, np.array([3.0, 4.0]), 2.0, 3.5, 0.5, 4.0, 9.0)
    assert_allclose(two, stats.norm.logpdf([3.0, 4.0], [4.0, 3.0], 2.0), rtol=1e-13)


@pytest.mark.parametrize("kernels", [native, reference])
def test_equal_others_have_the_least_spread(level: str, kernels) -> None:
    values = np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    found = left_out(kernels, values, *moments(values), 4.0, 2.0)
    assert_allclose(found[-1], stats.norm.logpdf(6.0, 1.0, (4.0 * 1e-9) ** 0.5), rtol=1e-6)
    assert_array_equal(left_out(kernels, values, *moments(values), 0.0, 2.0), 0.0)


def test_values_that_are_not_finite_leave_the_others_as_they_are(level: str) -> None:
    values = np.array([1.0, np.nan, 2.0, np.inf, 3.0, -np.inf, 4.0, 5.0, 6.0])
    law = (9.0, 3.0, 30.0, 4.0, 2.0)
    good = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        ours, theirs = left_out(native, values, *law), left_out(reference, values, *law)
    assert_allclose(ours[good], theirs[good], rtol=1e-13)
    assert not np.isfinite(ours[~good]).any()
    assert not np.isfinite(theirs[~good]).any()


# The share of a class


def exact(joint: np.ndarray, c: int, weights: np.ndarray) -> float:
    """Rows of numbers only."""
    terms = []
    for row, weight in zip(joint, weights, strict=True):
        top = int(row.argmax())
        others = fsum(exp(x - row[top]) for k, x in enumerate(row) if k != top)
        terms.append(max((row[c] - row[top]) - log1p(others), LEAST) * float(weight))
    return fsum(terms)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 17])
@pytest.mark.parametrize("rows", [0, 1, 3, 63, 64, 65, 1000])
@pytest.mark.parametrize("size", [0.01, 5.0, 800.0])
def test_the_sum_of_log_shares_is_right(level: str, classes: int, rows: int, size: float) -> None:
    rng = random(rows)
    joint = rng.normal(0, size, (rows, classes))
    joint[::5] = joint[::5, :1]  # equal ones
    before = joint.copy()
    for weights in (
        None,
        rng.integers(0, 9, rows),
        rng.random(rows),
        rng.random(2 * rows)[::2],
        np.full(rows, 2, "u1"),
    ):
        for c in {0, classes // 2, classes - 1}:
            expected = exact(joint, c, np.ones(rows) if weights is None else weights)
            assert_allclose(native.sum_log_posterior(joint, c, weights, LEAST), expected, rtol=1e-13)
            assert_allclose(reference.sum_log_posterior(joint, c, weights, LEAST), expected, rtol=1e-13)
    one = np.broadcast_to(np.int64(3), (rows,))
    assert_allclose(native.sum_log_posterior(joint, 0, one, LEAST), exact(joint, 0, one), rtol=1e-13)
    assert_array_equal(joint, before)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_a_share_near_1_keeps_its_digits(level: str, kernels, classes: int) -> None:
    joint = np.full((100, classes), -40.0)
    joint[:, 1] = 0.0
    expected = -100 * log1p((classes - 1) * exp(-40))
    assert_allclose(kernels.sum_log_posterior(joint, 1, None, LEAST), expected, rtol=1e-13)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_row_that_tells_nothing_counts_as_the_least(level: str, kernels, classes: int) -> None:
    joint = np.zeros((5, classes))
    joint[0] = -np.inf
    joint[1, 0] = np.nan
    joint[2, 1] = np.inf
    joint[3, 1] = -np.inf
    joint[4, 1] = -1e9
    for row in range(5):
        assert kernels.sum_log_posterior(joint[row : row + 1], 1, None, LEAST) == LEAST
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert kernels.sum_log_posterior(joint, 1, weights, -3.0) == -45.0


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.floats(-800, 800) | st.sampled_from([-np.inf, np.inf, np.nan]),
    ),
    st.integers(0, 8),
)
@settings(max_examples=200, deadline=None)
def test_any_rows_have_the_sum_of_the_reference(joint: np.ndarray, c: int) -> None:
    c %= joint.shape[1]
    ours, theirs = (k.sum_log_posterior(joint, c, None, LEAST) for k in (native, reference))
    assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)


def test_the_sum_of_log_shares_is_the_same_every_time(level: str) -> None:
    joint = random().normal(0, 4, (5000, 2))
    assert len({native.sum_log_posterior(joint.copy(), 0, None, LEAST) for _ in range(20)}) == 1


# What is refused


@pytest.mark.parametrize("kernels", [native, reference])
def test_arguments_for_scores_that_do_not_fit_are_refused(kernels) -> None:
    x, out, joint = np.arange(4.0), np.zeros(4), np.zeros((4, 2))
    law = (4.0, 1.5, 5.0, 2.0, 1.0)
    refused = [
        (TypeError, lambda: kernels.gaussian_loo(x.astype("f4"), *law, out)),
        (TypeError, lambda: kernels.gaussian_loo(x, *law, out.astype("f4"))),
        (ValueError, lambda: kernels.gaussian_loo(joint, *law, out)),
        (ValueError, lambda: kernels.gaussian_loo(x, *law, joint)),
        (ValueError, lambda: kernels.gaussian_loo(x, *law, out[:3])),
        (ValueError, lambda: kernels.gaussian_loo(x, 0.5, 1.0, 1.0, 1.0, 1.0, out)),
        (ValueError, lambda: kernels.gaussian_loo(x, float("nan"), 1.0, 1.0, 1.0, 1.0, out)),
        (TypeError, lambda: kernels.sum_log_posterior(joint.astype("f4"), 0, None, LEAST)),
        (ValueError, lambda: kernels.sum_log_posterior(x, 0, None, LEAST)),
        (ValueError, lambda: kernels.sum_log_posterior(joint, 2, None, LEAST)),
        (ValueError, lambda: kernels.sum_log_posterior(joint, -1, None, LEAST)),
        (ValueError, lambda: kernels.sum_log_posterior(joint, 0, np.ones(3), LEAST)),
        (TypeError, lambda: kernels.sum_log_posterior(joint, 0, np.array(list("abcd")), LEAST)),
    ]
    for error, call in refused:
        with pytest.raises(error):
            call()
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernels.gaussian_loo(x, *law, out)
