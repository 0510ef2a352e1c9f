"""Bandwidths by rule where values were rounded."""

from __future__ import annotations

import numpy as np
import pytest

from countwise.distributions.bandwidths import bandwidth_of, least_width, sheather_jones


def _distinct(x):
    return np.unique(x, return_counts=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [0.01, 0.1, 0.25, 0.5])
def test_sheather_jones_hardly_depends_on_rounding(seed, step):
    x = np.random.default_rng(seed).normal(size=1000)
    assert sheather_jones(*_distinct(np.round(x / step) * step)) == pytest.approx(
        sheather_jones(*_distinct(x)), rel=0.12
    )


def test_no_bandwidth_is_below_half_the_rounding_step():
    x = np.round(np.random.default_rng(0).normal(size=1000))
    values, counts = _distinct(x)
    assert least_width(values, counts) == 0.5
    assert bandwidth_of("sheather_jones", values, counts) >= 0.5
    assert bandwidth_of("leave_one_out", values, counts) >= 0.5


def test_copies_of_rows_count_as_rows():
    x = np.random.default_rng(1).normal(size=300)
    values, counts = _distinct(np.round(x, 1))
    assert sheather_jones(values, counts) == sheather_jones(values, counts.astype(float))
    assert sheather_jones(values, 100 * counts) < sheather_jones(values, counts)
