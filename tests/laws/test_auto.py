"""The score of every candidate of "auto" is brute-force leave-one-out, with the edges and bandwidths of all rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from countwise import (
    Auto,
    Binned,
    Gaussian,
    Kernel,
    MEstimate,
    NaiveBayesClassifier,
    Nominal,
    Numeric,
    Poisson,
    leave_one_out,
    samples,
)
from countwise.cuts.methods import LEAST
from countwise.data.table import Table
from countwise.distributions.auto import leave_one_out_score
from countwise.distributions.binned import BinnedDensity
from countwise.distributions.kernel import KernelDensity
from countwise.tallies import Values

CANDIDATES = {
    "gaussian": Gaussian(),
    "gaussian, divisor n": Gaussian("n"),
    "gaussian, high floor": Gaussian(floor=0.25),
    "gaussian, no floor": Gaussian(floor=0.0),
    "poisson": Poisson(0),
    "poisson, Laplace": Poisson(1.0),
    "poisson, m-estimate": Poisson(MEstimate(2.0)),
    "kernel": Kernel(),
    "kernel, scott": Kernel("scott"),
    "kernel, given": Kernel(1.5),
    "kernel, leave-one-out": Kernel("leave_one_out"),
    "ranges": Binned("equal_width", 3, smoothing=1.0),
    "ranges, raw": Binned("equal_frequency", 2, smoothing=0),
    "ranges, shares of all classes": Binned("equal_width", 3, smoothing="global"),
    "ranges, m-estimate": Binned("equal_width", 4, smoothing=MEstimate(3.0)),
    "ranges, mdl": Binned("mdl", smoothing=1.0),
    "each value": Binned("naive", smoothing=0.5),
    "by hand": Binned([2.0, 4.5], smoothing=1.0),
}
CLASSES = Nominal("class", ("a", "b", "c"))
X = Numeric("x")
EPS = float(np.finfo(np.float64).eps)

rows = st.lists(
    st.tuples(st.integers(0, 24).map(lambda v: v / 4), st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=12
)


def tally(x: Any, c: Any, w: Any) -> Values:
    table = Table({"x": np.asarray(x, dtype=float), "class": np.asarray(c, dtype=np.uint8)}, len(x), np.asarray(w))
    return Values(CLASSES, X).fill(table)


def kept(rule: Any, density: Any, rest: Values) -> Any:
    """The density of the other rows, with the edges or bandwidths of all; bins of single values are their own."""
    if isinstance(density, BinnedDensity) and density.cuts.values is None:
        return BinnedDensity("x", density.cuts, rest.counts_in(density.edges), rule)
    if isinstance(density, KernelDensity):
        sets = tuple(s if len(s[0]) else rest.pooled for s in rest.filled)
        return KernelDensity("x", sets, density.bandwidths, rest.n, rule.bandwidth)
    return rule.estimate_from_values(rest)[0]


def brute_force(rule: Any, density: Any, whole: Values) -> tuple[float, float]:
    """The score by refitting without each row, and how far rounding may put it off."""
    total, weight, rounding = 0.0, 0.0, 0.0
    for c, (values, weights) in enumerate(whole.filled):
        for x, w in zip(values.tolist(), weights.tolist(), strict=True):
            unit = 1 if isinstance(w, int) else min(w, float(whole.row_weights[c]))
            rest = whole - tally([x], [c], [unit])
            joint = np.zeros((1, 3))
            with np.errstate(divide="ignore"):
                joint += np.log(rest.n.astype(float))
            if rest.n[c] > 0:
                kept(rule, density, rest).add_log_prob(np.array([x]), joint)
                top = joint.max()
                share = joint[0, c] - (top + math.log(np.exp(joint - top).sum())) if np.isfinite(top) else -math.inf
                rounding += w * 8 * EPS * abs(top) if np.isfinite(top) else 0.0  # logs of this size are subtracted
            else:
                share = -math.inf
            total += w * max(share, LEAST)
            weight += w
    return total / weight - rule.price(density, max(weight, 1.0)), rounding / weight


def check(rule: Any, whole: Values) -> None:
    density, own = rule.estimate_from_values(whole)
    if getattr(density, "constant", False):
        return  # without spread there is nothing to compare
    ours = leave_one_out_score(rule, density, own, whole)
    wanted, rounding = brute_force(rule, density, whole)
    assert ours == pytest.approx(wanted, rel=1e-10, abs=1e-10 + rounding)


@pytest.mark.parametrize("name", CANDIDATES)
@given(cells=rows)
@example(cells=[(2.75, 2, 1), (3.0, 0, 1), (3.0, 1, 1), (3.5, 0, 1)])  # logs of 1e9 are subtracted
@settings(max_examples=25)
def test_the_score_of_a_candidate_is_brute_force_leave_one_out(name, cells):
    x, c, w = zip(*cells, strict=True)
    check(CANDIDATES[name], tally(x, c, np.array(w)))


@pytest.mark.parametrize("name", CANDIDATES)
@given(cells=rows, unit=st.sampled_from([0.5, 0.25]))
@settings(max_examples=10)
def test_the_same_with_fractional_weights(name, cells, unit):
    x, c, w = zip(*cells, strict=True)
    check(CANDIDATES[name], tally(x, c, np.array(w) * unit))


def test_a_gaussian_over_n_is_scored_as_one_over_n():
    rain = samples.load("rain")
    x, y = rain.X["temp"], rain.y
    model = NaiveBayesClassifier({"temp": Auto((Gaussian(), Gaussian("n")))}).fit({"temp": x}, y)
    scores = model.choices_["temp"]
    assert list(scores) == ["gaussian", "gaussian (divisor=n)"]
    for title, rule in zip(scores, (Gaussian(), Gaussian("n")), strict=True):
        found = leave_one_out(NaiveBayesClassifier({"temp": rule}), {"temp": x}, y)
        assert scores[title] == pytest.approx(-found.mean("log_loss"), abs=1e-12)
    assert scores["gaussian (divisor=n)"] == pytest.approx(-2.6141, abs=5e-5)


def test_candidates_take_the_smoothing_of_the_model():
    auto = Auto((Poisson(), Binned("equal_width", 3))).with_defaults(2.0, "ignore")
    assert auto.candidates == (Poisson(2.0), replace(Binned("equal_width", 3), smoothing=2.0))
