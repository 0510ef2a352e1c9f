"""OneR: the one attribute whose values tell the class best (001)."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.cuts import min_n
from countwise.data.attributes import Nominal, Numeric
from countwise.data.table import Table
from countwise.tallies import Values
from countwise.tree.conditions import Condition
from countwise.tree.features import Feature
from countwise.tree.rules import Rule, RuleSet
from countwise.tree.growth.training_set import TrainingSet
from countwise.working import Grid

__all__ = ["one_rule"]


def one_rule(ground: TrainingSet, target: Nominal, n: float) -> tuple[RuleSet, Grid]:
    """A rule for each value, or range, of the best attribute; and how much each attribute errs.

    Numbers are cut into ranges that hold at least n rows of one class, and neighbors with the same commonest class
    are joined. Missing cells are a value of their own.
    """
    best: list[Rule] | None = None
    errors = []
    for j in range(len(ground.features)):
        rules = _rules(ground, j, target, n)
        wrong = sum(rule.support - max(rule.counts) for rule in rules)
        errors.append(wrong)
        if best is None or wrong < min(errors[:-1]) - 1e-9:
            best = rules
    total = float(ground.n_rows if ground.weights is None else ground.weights.sum())
    names = [f.name for f in ground.features]
    table = Grid({"attribute": names, "errors": errors, "accuracy": [1 - e / total for e in errors]})
    return RuleSet(target.name, target.values, tuple(best or ())), table


def _rules(ground: TrainingSet, j: int, target: Nominal, n: float) -> list[Rule]:
    feature, column = ground.features[j], ground.columns[j]
    if isinstance(feature.attribute, Nominal):
        values = feature.attribute.values
        found = [(Condition(feature.name, values=(v,)), column == code) for code, v in enumerate(values)]
        missing = column >= len(values)
    else:
        x = column.astype(np.float64)
        found = _ranges(ground, feature, x, target, n)
        missing = np.isnan(x)
    found.append((Condition(feature.name, missing=True), missing))
    rules = []
    for condition, rows in found:
        weights = None if ground.weights is None else ground.weights[rows]
        counts = np.bincount(ground.told[rows], weights=weights, minlength=ground.n_classes).astype(np.float64)
        if counts.sum() > 0:
            c = int(np.argmax(counts))
            share = float(counts[c] / counts.sum())
            rules.append(Rule((condition,), target.values[c], float(counts.sum()), share, tuple(counts.tolist())))
    return rules


def _ranges(
    ground: TrainingSet, feature: Feature, x: Floats, target: Nominal, n: float
) -> list[tuple[Condition, Any]]:
    rows = Table({"x": x, "class": ground.told}, ground.n_rows, ground.weights)
    tally = Values(Nominal("class", tuple(range(len(target.values)))), Numeric("x")).fill(rows)
    edges = min_n(tally, n, "majority").edges
    place = np.where(np.isnan(x), -1, np.searchsorted(edges, x))
    found: list[tuple[Condition, Any]] = []
    for i in range(len(edges) + 1):
        low = float(edges[i - 1]) if i else None
        high = float(edges[i]) if i < len(edges) else None
        found.append((Condition(feature.name, low=low, high=high), place == i))
    return found
