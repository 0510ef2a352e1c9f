"""PEBLS on the lecture's table, step by step, through the public interface.

Files of kind `exemplars` follow the form of this folder's README, and hold for each choice of `columns` the `step` of
each row (the `nearest` of the others, their `delta`, and which of them are `right`), and of each row how often it is
`used`, how often it is `right`, and its `weight`.
"""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countwise import PEBLSClassifier, samples
from countwise.neighbors import DistanceMetric

CASE = tomllib.loads((Path(__file__).parent / "g40_cheat_pebls.toml").read_text(encoding="utf-8"))


def numbers(texts: list[str]) -> list[float]:
    return [float(Fraction(text)) for text in texts]


def table_of(part: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    sample = samples.load(CASE["sample"])
    names = part.get("columns", list(sample.X))
    return {name: sample.X[name] for name in names}, sample.y


@pytest.mark.parametrize("part", CASE["exemplars"])
def test_each_row_is_told_by_the_rows_of_the_worked_example(part):
    X, y = table_of(part)
    sums = DistanceMetric(nominal="mvdm").fit(X, y).pairwise(X) ** 2
    for step in part["step"]:
        others = np.delete(np.arange(len(y)), step["row"])
        gaps = sums[step["row"], others]
        near = others[np.isclose(gaps, gaps.min(), rtol=1e-12, atol=1e-15)]
        assert near.tolist() == step["nearest"]
        assert gaps.min() == pytest.approx(float(Fraction(step["delta"])), rel=1e-12, abs=1e-15)
        assert [bool(y[k] == y[step["row"]]) for k in near] == step["right"]


@pytest.mark.parametrize("part", CASE["exemplars"])
def test_exemplars_have_the_weights_of_the_worked_example(part):
    X, y = table_of(part)
    table = PEBLSClassifier().fit(X, y).exemplars_
    for name in ("used", "right", "weight"):
        assert table[name] == pytest.approx(numbers(part[name]), rel=1e-14), name


def test_an_exemplar_used_ten_times_and_right_eight_times_has_the_weight_of_the_lecture():
    """One row in the middle is the nearest of nine others, of which seven are of its class."""
    X = {f"own{j}": np.where(np.arange(10) == j, 1.0, 0.0) for j in range(1, 10)}
    table = PEBLSClassifier().fit(X, ["a"] * 8 + ["b"] * 2).exemplars_
    assert (table["used"][0], table["right"][0], table["weight"][0]) == (10.0, 8.0, 1.25)
