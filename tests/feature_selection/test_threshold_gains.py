"""The gain of every threshold: by brute force over the rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import samples
from countwise.errors import CountwiseError, OptionError, TableError
from countwise.feature_selection import contingency_table, threshold_gains
from countwise.plots import plot_threshold_gains

WEATHER = samples.load("weather")


def entropy(labels, weights):
    total = Counter()
    for label, w in zip(labels, weights, strict=True):
        total[label] += w
    n = sum(total.values())
    return -sum(w / n * math.log2(w / n) for w in total.values() if w) if n else 0.0


def direct(x, y, w, threshold):
    """The gain and gain ratio of one threshold."""
    rows = [(v <= threshold, label, k) for v, label, k in zip(x, y, w, strict=True) if not math.isnan(v)]
    sides, labels, weights = (list(part) for part in zip(*rows, strict=True))
    n, gain = sum(weights), entropy(labels, weights)
    for side in (True, False):
        part = [(label, k) for s, label, k in rows if s == side]
        gain -= sum(k for _, k in part) / n * entropy(*zip(*part, strict=True))
    return gain, gain / entropy(sides, weights)


ROWS = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, 2.5, 3.0, -1e6, 7.25, math.nan]), st.sampled_from("uvw"), st.integers(1, 3)),
    min_size=2, max_size=25,
)  # fmt: skip


@given(ROWS, st.sampled_from(["midway", "values"]))
def test_every_threshold_has_the_gain_of_its_rows(rows, thresholds):
    x, y, w = (list(part) for part in zip(*rows, strict=True))
    distinct = sorted({v for v in x if not math.isnan(v)})
    found = threshold_gains(x, y, thresholds=thresholds, sample_weight=np.array(w))
    middle = [(a + b) / 2 for a, b in itertools.pairwise(distinct)]
    assert found["threshold"] == (middle if thresholds == "midway" else distinct[:-1])
    for i, m in enumerate(found["threshold"]):
        gain, ratio = direct(x, y, w, m)
        assert math.isclose(found["information_gain"][i], gain, rel_tol=1e-9, abs_tol=1e-12)
        assert math.isclose(found["gain_ratio"][i], ratio, rel_tol=1e-9, abs_tol=1e-12)
        for c in set(y):
            below = sum(k for v, label, k in rows if label == c and v <= m)
            above = sum(k for v, label, k in rows if label == c and v > m)
            assert (found[f"below {c}"][i], found[f"above {c}"][i]) == (below, above)


def test_a_threshold_has_the_table_of_its_rows():
    found = threshold_gains(WEATHER.frame, "play", column="humidity")
    for i, m in enumerate(found["threshold"]):
        table = contingency_table(WEATHER.frame, "play", column="humidity", numeric=[m])
        assert table.counts.tolist() == [
            [found[f"{side} {c}"][i] for c in ("no", "yes")] for side in ("below", "above")
        ]
        assert table.information_gain == found["information_gain"][i]


def test_weights_of_any_size_leave_no_rounding_error_behind():
    found = threshold_gains([1.0, 2.0, 3.0], ["a", "b", "b"], sample_weight=np.array([0.1, 0.2, 0.3]))
    assert found["above a"] == [0.0, 0.0]
    assert found["information_gain"][0] == pytest.approx(entropy("ab", [0.1, 0.5]))


def test_many_values_are_fast_and_drawn_without_markers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100_000)
    found = threshold_gains(x, x + rng.normal(size=len(x)) > 0)
    assert found.n_rows == len(np.unique(x)) - 1
    assert abs(found["threshold"][int(np.argmax(found["information_gain"]))]) < 0.1
    assert plot_threshold_gains(found).lines[0].get_marker() in ("", "None")


def test_a_column_without_two_values_has_no_threshold():
    assert threshold_gains([1.0, 1.0, np.nan], ["a", "b", "b"]).n_rows == 0
    with pytest.raises(TableError, match="fewer than two values"):
        plot_threshold_gains(threshold_gains([1.0, 1.0], ["a", "b"]))


def test_the_curve_marks_the_first_best_threshold():
    ax = plot_threshold_gains(threshold_gains([60, 70, 70, 85], ["no", "yes", "yes", "no"]))
    assert ax.lines[0].get_xdata().tolist() == [65.0, 77.5]
    assert "highest gain: 0.311278 at 65" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (WEATHER.frame, {}, "the thresholds are those of one"),
        (WEATHER.frame, {"column": "humdity"}, "did you mean 'humidity'"),
        (WEATHER.frame, {"column": 3}, "no attribute 3"),
        (WEATHER.frame, {"column": "outlook"}, "only a numeric attribute has thresholds"),
        (WEATHER.frame, {"column": "humidity", "thresholds": "all"}, "thresholds must be"),
        (pd.DataFrame({"a": ["u", "v"], "b": ["u", "v"], "play": ["no", "yes"]}), {}, "numeric column"),
    ],
)
def test_wrong_arguments_are_refused(X, settings, message):
    with pytest.raises(CountwiseError, match=message):
        threshold_gains(X, "play", **settings)


@pytest.mark.parametrize(
    "gains", [None, 3, {}, [1], {"threshold": [1], "information_gain": ["a"], "gain_ratio": [1]}]
)
def test_only_gains_are_drawn(gains):
    with pytest.raises(OptionError, match="gains must"):
        plot_threshold_gains(gains)
