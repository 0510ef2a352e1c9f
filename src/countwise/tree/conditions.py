"""Conditions on attributes, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.cuts import labels
from countwise.data.attributes import Nominal
from countwise.tree.features import Feature
from countwise.tree.nodes import Tree

__all__ = ["Condition", "condition_of", "conditions_to", "range_condition", "with_branch"]

_MOST_NAMED = 4  # values of a set that are written out


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one attribute.

    Examples
    --------
    >>> from countwise.tree.conditions import Condition
    >>> print(Condition("outlook", values=("Sunny",)), Condition("humidity", low=70.0, high=82.5), sep="; ")
    outlook = Sunny; 70 < humidity <= 82.5
    """

    attribute: str
    values: tuple[Any, ...] | None = None  # of a nominal attribute: one of these
    but: tuple[Any, ...] | None = None  # or none of these
    low: float | None = None  # of a numeric attribute: above this
    high: float | None = None  # and at most this
    missing: bool = False  # the value must be missing
    said: str = field(default="", compare=False)  # of an ordinal attribute, the same in words: "<= Mild"

    def __str__(self) -> str:
        name = self.attribute
        if self.said or self.missing:
            return f"{name} {self.said or 'is missing'}"
        for values, one, several in ((self.values, "=", "in"), (self.but, "≠", "not")):
            if values is not None:
                return f"{name} {one} {values[0]}" if len(values) == 1 else f"{name} {several} {_set(values)}"
        if self.low is None:
            return f"{name} is known" if self.high is None else f"{name} <= {_written(self.high)}"
        if self.high is None:
            return f"{name} > {_written(self.low)}"
        return f"{_written(self.low)} < {name} <= {_written(self.high)}"

    @property
    def short(self) -> str:
        """The same without the attribute's name, for a branch below its node."""
        if self.missing:
            return "missing"
        if self.low is not None and self.high is not None:
            return f"({_written(self.low)}, {_written(self.high)}]"
        return str(self).removeprefix(f"{self.attribute} ").removeprefix("= ")

    def holds(self, column: NDArray[Any], feature: Feature) -> Flags:
        """For which cells of a column of codes or numbers it holds; a missing value fails every other condition."""
        if isinstance(feature.attribute, Nominal):
            known = column < len(feature.attribute.values)
            if self.missing:
                return ~known
            chosen = self.values if self.values is not None else (self.but or ())
            index = {value: code for code, value in enumerate(feature.attribute.values)}
            codes = np.array([index[v] for v in chosen if v in index], dtype=np.int64)
            inside = np.isin(column, codes)
            return np.asarray(inside if self.values is not None else known & ~inside)
        x = column.astype(np.float64)
        if self.missing:
            return np.isnan(x)
        good = ~np.isnan(x)
        if self.low is not None:
            good &= x > self.low
        if self.high is not None:
            good &= x <= self.high
        return good

    def to_dict(self) -> dict[str, Any]:
        """Plain data without empty fields."""
        plain: dict[str, Any] = {"attribute": self.attribute}
        if self.missing:
            return plain | {"missing": True}
        plain |= {name: list(x) for name, x in (("values", self.values), ("but", self.but)) if x is not None}
        plain |= {"said": self.said} if self.said else {}
        return plain | {name: x for name, x in (("low", self.low), ("high", self.high)) if x is not None}


def _written(limit: float) -> str:
    """A limit as the labels of ranges write it."""
    return labels(np.array([limit]))[0].removeprefix("<= ")


def _set(values: tuple[Any, ...]) -> str:
    named = [str(v) for v in values[:_MOST_NAMED]]
    rest = len(values) - len(named)
    return "{" + ", ".join([*named, *([f"{rest} more"] if rest else [])]) + "}"


def condition_of(tree: Tree, features: Sequence[Feature], child: int) -> Condition:
    """The condition on rows that go from its parent to a node."""
    k = int(tree.parent[child])
    branch = child - int(tree.children[k])
    feature = features[tree.attribute[k]]
    limits = tree.limits_of(k)
    if len(limits):
        own = branch > len(limits)  # missing values have a branch of their own
        return Condition(feature.name, missing=True) if own else range_condition(feature.name, limits, branch)
    assert isinstance(feature.attribute, Nominal)  # noqa: S101 - only nominal attributes have groups
    domain = feature.attribute.values
    groups = tree.groups_of(k)[: len(domain)]
    mine = tuple(domain[v] for v in np.flatnonzero(groups == branch))
    return _nominal_condition(feature, mine) if mine else Condition(feature.name, missing=True)


def range_condition(name: str, edges: Floats, i: int) -> Condition:
    """The i-th of the ranges between some edges."""
    low = float(edges[i - 1]) if i else None
    return Condition(name, low=low, high=float(edges[i]) if i < len(edges) else None)


def _nominal_condition(feature: Feature, mine: tuple[Any, ...]) -> Condition:
    """One of some values; in as few words as will do."""
    assert isinstance(feature.attribute, Nominal)  # noqa: S101 - see above
    domain = feature.attribute.values
    if feature.ordinal and 0 < len(mine) < len(domain):
        if mine == domain[: len(mine)]:
            return Condition(feature.name, values=mine, said=f"<= {mine[-1]}")
        if mine == domain[-len(mine) :]:
            return Condition(feature.name, values=mine, said=f"> {domain[-len(mine) - 1]}")
    if len(mine) > 1 and len(mine) == len(domain) - 1:
        return Condition(feature.name, but=tuple(set(domain).difference(mine)))
    return Condition(feature.name, values=mine)


def conditions_to(tree: Tree, features: Sequence[Feature], node: int) -> list[Condition]:
    """The conditions on the path from the root to a node, one for each attribute."""
    found: dict[str, Condition] = {}
    for k in tree.path(node)[1:]:
        found = with_branch(found, tree, features, k)
    return list(found.values())


def with_branch(
    found: Mapping[str, Condition], tree: Tree, features: Sequence[Feature], child: int
) -> dict[str, Condition]:
    """Conditions by attribute with that on rows that go to a node, combined with that on its attribute."""
    one, feature = condition_of(tree, features, child), features[tree.attribute[tree.parent[child]]]
    before = found.get(one.attribute)
    return {**found, one.attribute: one if before is None else _both(before, one, feature)}


def _both(a: Condition, b: Condition, feature: Feature) -> Condition:
    if a.missing or b.missing:
        return a if a.missing else b
    if isinstance(feature.attribute, Nominal):
        first, second = (_values(c, feature.attribute.values) for c in (a, b))
        return _nominal_condition(feature, tuple(v for v in feature.attribute.values if v in first and v in second))
    lows, highs = [c.low for c in (a, b) if c.low is not None], [c.high for c in (a, b) if c.high is not None]
    return replace(a, low=max(lows, default=None), high=min(highs, default=None))


def _values(condition: Condition, domain: tuple[Any, ...]) -> set[Any]:
    if condition.values is not None:
        return set(condition.values)
    return set(domain) - set(condition.but or ())
