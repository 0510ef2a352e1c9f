"""Gains written out: the computation that is shown gives the number behind it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import measures
from countwise.working import Formula, Grid, Section

TABLES = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 20), min_size=k, max_size=k), min_size=1, max_size=6)
)


def computed(text: str) -> tuple[float, float]:
    """Return the value of the shown computation, and the shown result."""
    _, body, result = re.split(r" = ", text)
    code = body.replace("·", "*").replace("²", "**2").replace("log2(", "math.log2(")
    return eval(code, {"math": math}), float(result)


@given(TABLES, st.integers(0, 5))
def test_a_written_gain_is_what_its_numbers_give(rows, missing):
    table = np.array(rows)
    if not table.sum():
        return
    for measure, gain in (("entropy", measures.mutual_information), ("gini", measures.gini_gain)):
        left, right = computed(measures.gain_formula(table, "gain(a)", measure, missing))
        known = table.sum() / (table.sum() + missing)
        assert math.isclose(right, gain(table) * known, rel_tol=1e-5, abs_tol=1e-12)
        assert math.isclose(left, right, abs_tol=2e-5)  # six digits of each impurity are shown


@given(TABLES)
def test_written_impurities_are_what_their_numbers_give(rows):
    counts = np.array(rows)[0]
    for formula, impurity in ((measures.entropy_formula, measures.entropy), (measures.gini_formula, measures.gini)):
        left, right = computed(formula(counts))
        assert math.isclose(left, impurity(counts), abs_tol=1e-12)
        assert math.isclose(right, impurity(counts), rel_tol=1e-5, abs_tol=1e-12)


@given(st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=5), min_size=1, max_size=5), st.booleans())
def test_a_written_reduction_is_what_its_numbers_give(groups, variance):
    n, mean, m2 = np.array([(len(g), np.mean(g), np.sum((g - np.mean(g)) ** 2)) for g in groups]).T
    spread = np.var if variance else np.std
    whole = float(spread([y for g in groups for y in g]))
    expected = whole - sum(len(g) * spread(g) for g in groups) / n.sum()
    left, right = computed(measures.sd_reduction_formula(n, mean, m2, "SDR(a)", variance=variance))
    assert math.isclose(right, expected, rel_tol=1e-5, abs_tol=1e-6)
    assert math.isclose(left, expected, abs_tol=1e-5 * max(1, whole))


def test_a_gain_of_many_values_shows_the_first_ones():
    text = measures.gain_formula(np.ones((40, 2), dtype=int), "gain(day)")
    assert text.count("(2/80)") == 11
    assert text.endswith("- … = 0")


@pytest.mark.parametrize("split", [0.0, 1.5])
def test_a_gain_ratio_is_0_where_there_is_one_value(split):
    assert measures.gain_ratio_formula(0.3, split).endswith(" = 0.2" if split else " = 0")


def test_a_written_gain_is_mathematics_in_latex():
    formula = measures.gain_formula(np.array([[3, 4], [6, 1]]), "gain(humidity)")
    assert type(formula) is Formula
    latex = Section("gain", Grid({}), (formula,)).latex()
    assert r"\frac{7}{14} \cdot 0.985228" in latex
