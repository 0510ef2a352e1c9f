"""Small tables whose measures are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from countwise import measures
from countwise.measures import area, average_precision, by_range, precision_recall_points, roc_points
from countwise.tallies import Values

OUTLOOK = np.array([[2, 3], [4, 0], [3, 2]])  # tennis: sunny, overcast, rain by yes, no
MOMENTS = (np.array([2, 2]), np.array([0.0, 4.0]), np.array([0.0, 0.0]))


@pytest.mark.parametrize(
    ("measure", "counts", "expected"),
    [
        ("entropy", [9, 5], 0.940286),
        ("gini", [9, 5], 0.459184),
        ("mutual_information", OUTLOOK, 0.24675),
        ("gain_ratio", OUTLOOK, 0.156428),
        ("symmetrical_uncertainty", [[5, 0], [0, 9]], 1.0),
        ("gini_gain", OUTLOOK, 0.116327),
    ],
)
def test_a_measure_of_one_table_is_a_float(measure, counts, expected):
    found = getattr(measures, measure)(np.array(counts))
    assert type(found) is float
    assert round(found, 6) == expected


@pytest.mark.parametrize("measure", ["mutual_information", "gain_ratio", "symmetrical_uncertainty", "gini_gain"])
def test_tables_of_one_shape_are_measured_at_once(measure):
    of = getattr(measures, measure)
    tables = np.stack([OUTLOOK, OUTLOOK[::-1] + 1, np.zeros_like(OUTLOOK)])
    assert of(tables).tolist() == [of(table) for table in tables]


def test_pointwise_information_of_outlook():
    expected = [[-0.6845, 0.7485], [0.6374, -np.inf], [-0.0995, 0.1635]]
    assert measures.pmi(OUTLOOK).round(4).tolist() == expected


def test_chi_square_of_outlook():
    statistic, freedom, _ = measures.chi_square(OUTLOOK)
    assert (round(statistic, 6), freedom, type(freedom)) == (3.546667, 2, int)


def test_value_differences_of_cheat_by_marital_status():
    counts = np.array([[2, 2], [0, 4], [1, 1]])  # single, married, divorced
    assert measures.mvdm(counts).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_rare_values_are_pooled():
    counts = np.array([[40, 40], [2, 0], [0, 9], [1, 1], [50, 30]])
    assert measures.pooled_rare(counts).tolist() == [[40, 40], [50, 30], [3, 10]]


def test_what_chance_gives_outlook():
    assert round(measures.expected_information(OUTLOOK), 4) == 0.1299
    assert round(measures.expected_information(OUTLOOK, "analytic"), 4) == 0.103
    assert round(measures.chance_information(np.array([5, 4, 5]), np.array([9, 5])), 4) == 0.1299


def test_information_of_numbers():
    values = Values.from_arrays([1.0, 2.0, 3.0, 3.0], ["no", "yes", "no", "yes"])
    assert measures.information_of_values(values) == 0.5
    far = measures.gaussian_information(np.array([5, 5]), np.array([0.0, 100.0]), np.array([1.0, 1.0]))
    assert round(far, 6) == 1


def test_reductions_of_spread():
    assert measures.sd_reduction(*MOMENTS) == 2.0
    assert measures.variance_reduction(*MOMENTS) == 4.0


def test_the_area_counts_ties_half():
    assert area(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])) == 0.875


def test_points_of_curves():
    false, true, at = roc_points(np.array([0.1, 0.4, 0.8]), np.array([False, True, True]))
    assert false.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert true.tolist() == [0.0, 0.5, 1.0, 1.0]
    assert at.tolist() == [np.inf, 0.8, 0.4, 0.1]
    score, positive = np.array([0.1, 0.4, 0.8]), np.array([True, False, True])
    precision, recall, at = precision_recall_points(score, positive)
    assert precision.round(3).tolist() == [0.667, 0.5, 1.0, 1.0]
    assert recall.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert at.tolist() == [0.1, 0.4, 0.8]
    assert round(average_precision(score, positive), 4) == 0.8333


def test_ranges_of_a_probability():
    rows, mean, share = by_range(np.array([0.1, 0.2, 0.9]), np.array([False, True, True]), None, 2)
    assert (rows.tolist(), mean.round(3).tolist(), share.tolist()) == ([2.0, 1.0], [0.15, 0.9], [0.5, 1.0])
