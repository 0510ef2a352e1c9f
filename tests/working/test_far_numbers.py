"""Cut points, values and tables of workings distinguish the training values, far from 0 too."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from countwise import (
    Binned,
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    ParzenClassifier,
    PrototypeClassifier,
    RuleClassifier,
    TreeClassifier,
)

Y = list("aaaabbbb")
OFFSETS = [(0.0, 0.1), (1e6, 0.01), (12345678.0, 0.1), (1e9, 0.1), (-1e9, 0.1), (1577840000.0, 1.0)]


def column(offset: float, step: float) -> np.ndarray:
    return offset + step * np.array([1, 2, 3, 4, 6, 7, 8, 9])


@pytest.mark.parametrize(("offset", "step"), OFFSETS)
def test_a_cut_point_is_written_between_the_values_that_it_separates(offset: float, step: float) -> None:
    x = column(offset, step)
    labels = Discretizer("mdl").fit({"x": x}, Y).transform({"x": x})["x"]
    texts = [str(label) for label in np.unique(np.asarray(labels, dtype=object).astype(str))]
    cuts = {float(text.removeprefix("<= ").removeprefix("> ")) for text in texts}
    assert len(cuts) == 1
    assert x[3] <= cuts.pop() < x[4]


@pytest.mark.parametrize(("offset", "step"), OFFSETS)
@pytest.mark.parametrize("numeric", ["binary", "ranges"])
def test_a_tree_and_its_rules_write_limits_that_hold(offset: float, step: float, numeric: str) -> None:
    x = column(offset, step)
    tree = TreeClassifier(numeric=numeric).fit({"x": x}, Y)
    shown = tree.explain({"x": x[2:3]}).text() + str(tree)
    rules = RuleClassifier().fit({"x": x}, Y)
    shown += rules.explain({"x": x[2:3]}).text() + rules.summary()
    limits = [float(text) for text in re.findall(r"(?:<=|>|at) (-?[\d.]+(?:e[+-]?\d+)?)", shown)]
    assert limits
    assert all(x[3] <= limit < x[4] for limit in limits)
    (value,) = re.findall(r"the value is (\S+)", tree.explain({"x": x[2:3]}).text())[:1]
    assert abs(float(value) - x[2]) < 0.1 * step


@pytest.mark.parametrize(("offset", "step"), OFFSETS)
def test_a_change_of_a_binned_value_names_another_bin(offset: float, step: float) -> None:
    x = column(offset, step)
    model = NaiveBayesClassifier(Binned("mdl")).fit({"x": x}, Y)
    working = model.explain({"x": x[2:3]})
    for change in working.changes:
        limit = float(str(change.values["x"]).removeprefix("> ").removeprefix("<= "))
        assert x[3] <= limit < x[4]


@pytest.mark.parametrize(("offset", "step"), OFFSETS)
@pytest.mark.parametrize("model", [PrototypeClassifier(), ParzenClassifier()], ids=str)
def test_the_value_of_a_row_can_be_read_from_its_working(model: Any, offset: float, step: float) -> None:
    x = column(offset, step)
    shown = model.fit({"x": x}, Y).explain({"x": x[2:3]}).text()
    found = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", shown)]
    assert min(abs(value - x[2]) for value in found) < 0.1 * step


@pytest.mark.parametrize(("offset", "step"), OFFSETS)
def test_the_differences_of_a_discriminant_can_be_computed_from_its_table(offset: float, step: float) -> None:
    x = column(offset, step)
    working = DiscriminantClassifier().fit({"x": x}, Y).explain({"x": x[2:3]})
    tables = [section.table for section in working.sections if section.table is not None and "x - μ" in section.table]
    assert tables
    for table in tables:
        for value, mean, difference in zip(table["x"], table["μ"], table["x - μ"], strict=True):
            assert float(value) - float(mean) == pytest.approx(difference, rel=1e-3)
