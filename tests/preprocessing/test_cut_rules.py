"""Each rule for cuts on the samples, and why it cuts there."""

from __future__ import annotations

import numpy as np
import pytest

from countwise import Binned, cuts, samples
from countwise.cuts.methods import leave_one_out_score
from countwise.tallies import Values


def column(sample, name):
    table = samples.load(sample)
    return Values.from_arrays(table.X[name], table.y)


TEMP = column("rain", "temp")
TEMPERATURE = column("weather", "temperature")


@pytest.mark.parametrize(
    ("found", "edges", "why"),
    [
        (cuts.naive(TEMP), [18.95, 19.6, 20.0, 21.9, 27.8], "midway between 18.4 and 19.5"),
        (cuts.equal_width(TEMP, 3), [22.966667, 27.533333], "1/3 of the way from 18.4 to 32.1"),
        (cuts.equal_frequency(TEMP, 3), [19.6, 21.9], "2 of 6 rows are at or below it"),
        (cuts.kmeans(TEMP, 2), [26.19], "midway between the centers 20.28 and 32.1"),
        (cuts.given(TEMP, (19.0, 21.0)), [19.0, 21.0], "given"),
        (cuts.class_contiguous(TEMP), [18.95, 19.6, 21.9], "midway between 18.4 (yes) and 19.5 (no)"),
        (cuts.CutRule("equal_width", n_bins=2).cut(TEMP), [25.25], "1/2 of the way from 18.4 to 32.1"),
    ],
)
def test_edges_and_the_reason_for_the_first(found, edges, why):
    assert found.edges.round(6).tolist() == edges
    assert found.reasons[0] == why


def test_min_n_joins_ranges():
    found = [cuts.min_n(TEMPERATURE, 3, merge).edges.tolist() for merge in (None, "majority", "last")]
    assert found == [[70.5, 77.5], [77.5], [70.5]]


def test_mdl_says_why_it_does_not_cut():
    gain = "the best, 84, has an information gain of 0.113401 bits, and 0.457729 are required"
    assert cuts.mdl(TEMPERATURE).notes[0] == f"no cut point is accepted by the MDL criterion: {gain}"


@pytest.mark.parametrize("rule", [cuts.class_contiguous, cuts.mdl, lambda tally: cuts.min_n(tally, 1)])
def test_one_class_is_not_cut_and_one_value_needs_no_reason(rule):
    one_class = rule(Values.from_arrays([1.0, 2.0], ["no", "no"]))
    assert (one_class.edges.tolist(), one_class.notes) == (
        [],
        ("all rows have the same class, so no cut point is informative",),
    )
    one_value = rule(Values.from_arrays([1.0, 1.0], ["no", "yes"]))
    assert (one_value.edges.tolist(), one_value.notes) == ([], ())
    none = rule(Values.from_arrays([np.nan, np.nan], ["no", "yes"]))
    assert (none.edges.tolist(), none.notes) == ([], ())


def test_the_best_number_of_ranges():
    best = "3 bins: best number from 1 to 6 by leave-one-out log P(class | bin) (-0.74126)"
    assert cuts.best_number(cuts.equal_frequency, TEMP).notes == (best,)


def test_leave_one_out_score():
    assert round(leave_one_out_score(np.array([[5, 0], [0, 9]])), 4) == -0.1392


def test_quantiles_are_even_handed():
    found = cuts.quantiles(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.array([0.25, 0.5, 0.9]))
    assert found.tolist() == [1.5, 2.5, 4.0]


def test_a_rule_is_given_in_any_form():
    rule = cuts.CutRule("equal_width", 3)
    assert cuts.rule_of(rule, n_bins=5) is rule
    assert cuts.rule_of(Binned("equal_width", 3), n_bins=5) == rule
    assert cuts.rule_of("equal_width", n_bins=3) == rule
