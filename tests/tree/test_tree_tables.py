"""Columns that are counted together, siblings by difference, and only the values that a node has: the same trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from countwise import TreeClassifier, TreeRegressor
from countwise.tree.growth import column_group, counted_column

ROWS = 6000


def mixed(seed: int = 0, gaps: float = 0.0) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    X: dict[str, Any] = {f"x{j}": rng.normal(size=ROWS).round(2) for j in range(4)}
    X["few"] = rng.integers(0, 3, ROWS).astype(np.float64)
    X["name"] = np.array(list("abcdefg"), dtype=object)[rng.integers(0, 7, ROWS)]
    told = X["x0"] * X["x1"] + X["x2"] + (X["name"] == "c") + rng.normal(size=ROWS)
    for column in X.values():
        column[rng.random(ROWS) < gaps] = None if column.dtype == object else np.nan
    return X, told


def same(a: Any, b: Any) -> None:
    for name in ("attribute", "limits", "groups", "parent", "missing", "cells", "searched", "search_results"):
        np.testing.assert_array_equal(getattr(a.tree_, name), getattr(b.tree_, name), err_msg=name)
    assert len(a.tree_) > 40


SETTINGS = [
    {"criterion": "gini"},
    {"criterion": "gain_ratio", "threshold_cost": True, "min_samples_leaf": 3},
    {"criterion": "gain", "nominal": "subset", "missing": "branch"},
    {"criterion": "gini", "nominal": "one_vs_rest", "missing": "majority"},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("gaps", [0.0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_counted_together_give_the_tree_of_columns_counted_alone(
    monkeypatch, settings, gaps, weighted, n_classes
):
    X, told = mixed(gaps=gaps)
    y = np.searchsorted(np.quantile(told, np.arange(1, n_classes) / n_classes), told)
    weights = np.random.default_rng(1).integers(1, 4, ROWS) if weighted else None

    def fitted() -> TreeClassifier:
        return TreeClassifier(thresholds="binned", max_bins=60, max_depth=7, **settings).fit(X, y, weights)

    at_once = fitted()
    monkeypatch.setattr(column_group, "_FEW", 10**9)
    same(at_once, fitted())


def test_tables_too_large_to_keep_are_counted_alone(monkeypatch):
    X, told = mixed()
    y = told > np.median(told)
    at_once = TreeClassifier("gini", thresholds="binned", max_depth=8).fit(X, y)
    monkeypatch.setattr(column_group, "_KEPT", 60_000)  # from some level on
    same(at_once, TreeClassifier("gini", thresholds="binned", max_depth=8).fit(X, y))
    monkeypatch.setattr(counted_column, "_KEPT", 500)
    monkeypatch.setattr(counted_column, "_CELLS", 300)
    same(at_once, TreeClassifier("gini", thresholds="binned", max_depth=8).fit(X, y))


@pytest.mark.parametrize("nominal", ["multiway", "one_vs_rest", "subset"])
@pytest.mark.parametrize("numbers", [False, True])
def test_wide_columns_are_laid_out_by_the_values_that_a_node_has(monkeypatch, nominal, numbers):
    X, told = mixed(gaps=0.02)
    rng = np.random.default_rng(3)
    X["wide"] = np.array([f"v{v}" for v in rng.integers(0, 40, ROWS)], dtype=object)
    kind = TreeRegressor if numbers else TreeClassifier
    y = told.round(1) if numbers else (told > np.median(told))
    settings = {"nominal": nominal, "max_depth": 4, "min_samples_leaf": 5}
    plain = kind("variance" if numbers else "gain", **settings).fit(X, y)
    monkeypatch.setattr(counted_column, "_WIDE", 20)
    wide = kind("variance" if numbers else "gain", **settings).fit(X, y)
    np.testing.assert_array_equal(plain.tree_.attribute, wide.tree_.attribute)
    np.testing.assert_array_equal(plain.tree_.groups, wide.tree_.groups)
    np.testing.assert_allclose(plain.tree_.cells, wide.tree_.cells, rtol=1e-9, atol=1e-9)
