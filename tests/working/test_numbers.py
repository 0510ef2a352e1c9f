"""The text of a factor can be computed again, however far from 0 its numbers are."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from countwise import BayesNetworkClassifier, NaiveBayesClassifier
from countwise.working.numbers import normal, number, poisson

NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"


def read(text: str) -> list[float]:
    return [float(part) for part in re.findall(NUMBER, text.partition("(")[2])]


@given(
    st.sampled_from([0.0, 1.0, -273.15, 1e5, 1e9, -1e12]), st.floats(1e-3, 1e3), st.floats(-20, 20), st.floats(-3, 3)
)
@settings(max_examples=300, deadline=None)
def test_a_normal_density_can_be_computed_from_its_text(offset: float, sd: float, z: float, shift: float) -> None:
    mean, x = offset + shift * sd, offset + (shift + z) * sd
    x_read, mean_read, sd_read = read(normal(x, mean, sd)[0])
    exact, again = stats.norm.logpdf(x, mean, sd), stats.norm.logpdf(x_read, mean_read, sd_read)
    assert again == pytest.approx(exact, abs=1e-3)


@given(st.integers(0, 10**7), st.floats(0.01, 1e7))
@settings(max_examples=200, deadline=None)
def test_a_poisson_probability_can_be_computed_from_its_text(x: int, rate: float) -> None:
    x_read, rate_read = read(poisson(float(x), rate)[0])
    assert x_read == x
    assert stats.poisson.logpmf(x, rate_read) == pytest.approx(stats.poisson.logpmf(x, rate), abs=1e-3, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e9, 1e12])
@pytest.mark.parametrize("model", [NaiveBayesClassifier(), BayesNetworkClassifier("naive")], ids=["naive", "network"])
def test_a_working_far_from_0_shows_numbers_that_differ(offset: float, model: NaiveBayesClassifier) -> None:
    x = [offset + v for v in (0.0, 1.0, 2.0, 5.0, 6.0, 8.0)]
    working = model.fit({"x": x}, list("aaabbb")).explain({"x": [offset + 4]})
    (step,) = working.used
    for factor in step.factors:
        assert stats.norm.logpdf(*read(factor.text)) == pytest.approx(factor.log, abs=1e-3)
    assert float(step.value) == offset + 4


def test_ordinary_numbers_have_six_digits() -> None:
    assert normal(66.0, 73.0, 6.164414002968976)[0] == "φ(66; 73, 6.16441)"
    assert normal(20.0, 19.466666666666665, 0.9712534856222318)[0] == "φ(20; 19.4667, 0.971253)"
    assert number(math.pi) == "3.14159"


def test_numbers_too_close_to_have_a_variance_are_not_called_constant() -> None:
    ids = 2.0**53 + 2 * np.arange(6)
    model = NaiveBayesClassifier().fit({"id": ids}, list("pqpqpq"))
    text = str(model.explain({"id": ids[:1]}))
    assert "the same in all rows" not in text
    assert "differ by less than numbers of their size can resolve" in text or "φ(" in text
