"""Conversion of trees and rule lists to the scoring plans that engines and SQL use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise.data.attributes import Nominal
from countwise.errors import OptionError
from countwise.scoring.plan import Choices, Node, Rules, Test, inputs_of
from countwise.tree.conditions import Condition, condition_of
from countwise.tree.features import Feature

__all__ = ["choices_of", "rules_as_terms"]


def choices_of(model: Any) -> Choices:
    """Return the scoring plan of a fitted tree."""
    tree, features = model.tree_, model._features
    _refuse_words([features[j] for j in model._used], "A tree")
    fractions, nodes = tree.fractions(model._node_weights), []
    for k in range(len(tree)):
        if tree.attribute[k] < 0:
            nodes.append(Node())
            continue
        children, missing = tuple(tree.children_of(k)), int(tree.missing[k])
        parts = np.eye(len(children))[missing] if missing >= 0 else fractions[list(children)]
        feature = features[tree.attribute[k]]
        tests = tuple(as_test(condition_of(tree, features, child), feature) for child in children)
        nodes.append(Node(tests, children, tuple(parts.tolist())))
    if model._numbers:
        return Choices(
            model.target_.name, (), tuple(nodes), np.asarray(model._means), inputs=inputs_of(model.schema_)
        )
    classes, best = tuple(model.classes_.tolist()), tuple(int(c) for c in model._best)
    shares = np.asarray(model._probabilities)
    return Choices(model.target_.name, classes, tuple(nodes), shares, best, inputs_of(model.schema_))


def rules_as_terms(model: Any) -> Rules:
    """Return the scoring plan of a fitted rule list."""
    features = {f.name: f for f in model._features}
    every = [[(c, features[c.attribute]) for c in rule.conditions] for rule in model.rules_]
    _refuse_words([feature for rule in every for _, feature in rule], "A rule")
    rules = tuple(tuple(as_test(c, feature) for c, feature in rule) for rule in every)
    predicted: list[int | None] = model._codes.tolist()
    if model.default == "abstain":
        predicted[-1] = None
    classes = tuple(model.classes_.tolist())
    shares = np.asarray(model._probabilities)
    return Rules(model.target_.name, classes, rules, tuple(predicted), shares, inputs_of(model.schema_))


def as_test(condition: Condition, feature: Feature) -> Test:
    """Return a condition as a test of one value."""
    if not isinstance(feature.attribute, Nominal):
        return Test(feature.column, low=condition.low, high=condition.high, missing=condition.missing)
    domain = feature.attribute.values
    values = condition.values
    if condition.but is not None:
        values = tuple(v for v in domain if v not in set(condition.but))
    return Test(feature.column, domain, values, missing=condition.missing)


def _refuse_words(features: Sequence[Feature], what: str) -> None:
    if any(feature.word is not None for feature in features):
        raise OptionError(
            f"{what} that tests words of a text column cannot be computed in SQL or by an engine.",
            hint="use predict on rows in memory.",
        )
