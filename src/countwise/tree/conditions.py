"""Conditions on attributes, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.cuts import labels
from countwise.data.attributes import Nominal
from countwise.tree.features import Feature
from countwise.tree.nodes import Tree

__all__ = ["Condition", "condition_of", "conditions_to", "joined", "with_one_more"]

_MOST_NAMED = 4  # values of a set that are written out


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one attribute.

    Parameters
    ----------
    attribute : str
        Which.
    values : tuple or None
        Of a nominal attribute: one of these.
    but : tuple or None
        Or: none of these.
    low, high : float or None
        Of a numeric attribute: above `low`, and at most `high`.
    missing : bool
        The value must be missing.
    said : str
        Of an ordinal attribute, the same in words: "<= Mild".

    Examples
    --------
    >>> from countwise.tree.conditions import Condition
    >>> print(Condition("outlook", values=("Sunny",)), Condition("humidity", low=70.0, high=82.5), sep="; ")
    outlook = Sunny; 70 < humidity <= 82.5
    """

    attribute: str
    values: tuple[Any, ...] | None = None
    but: tuple[Any, ...] | None = None
    low: float | None = None
    high: float | None = None
    missing: bool = False
    said: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.said:
            return f"{self.attribute} {self.said}"
        if self.missing:
            return f"{self.attribute} is missing"
        if self.values is not None:
            return f"{self.attribute} {_one_of(self.values)}"
        if self.but is not None:
            return (
                f"{self.attribute} ≠ {self.but[0]}"
                if len(self.but) == 1
                else f"{self.attribute} not {_set(self.but)}"
            )
        if self.low is not None and self.high is not None:
            return f"{written(self.low)} < {self.attribute} <= {written(self.high)}"
        if self.low is None and self.high is None:
            return f"{self.attribute} is known"
        limit = self.high if self.high is not None else self.low
        assert limit is not None  # noqa: S101 - one of the two is there
        return f"{self.attribute} {'<=' if self.high is not None else '>'} {written(limit)}"

    @property
    def short(self) -> str:
        """The same without the attribute's name, for a branch below its node."""
        if self.missing:
            return "missing"
        if self.low is not None and self.high is not None:
            return f"({written(self.low)}, {written(self.high)}]"
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
        for name in ("values", "but"):
            if getattr(self, name) is not None:
                plain[name] = list(getattr(self, name))
        if self.said:
            plain["said"] = self.said
        return plain | {name: getattr(self, name) for name in ("low", "high") if getattr(self, name) is not None}


def written(limit: float) -> str:
    """A limit as the labels of ranges write it."""
    return labels(np.array([limit]))[0].removeprefix("<= ")


def _one_of(values: tuple[Any, ...]) -> str:
    return f"= {values[0]}" if len(values) == 1 else f"in {_set(values)}"


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
        if branch > len(limits):
            return Condition(feature.name, missing=True)
        return Condition(
            feature.name,
            low=float(limits[branch - 1]) if branch else None,
            high=float(limits[branch]) if branch < len(limits) else None,
        )
    assert isinstance(feature.attribute, Nominal)  # noqa: S101 - only nominal attributes have groups
    domain = feature.attribute.values
    groups = tree.groups_of(k)[: len(domain)]
    mine = tuple(domain[v] for v in np.flatnonzero(groups == branch))
    return _nominal_condition(feature, mine) if mine else Condition(feature.name, missing=True)


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
    return joined([condition_of(tree, features, k) for k in tree.path(node)[1:]], features)


def joined(conditions: Sequence[Condition], features: Sequence[Feature]) -> list[Condition]:
    """Conditions with those on one attribute combined, in the order in which attributes first appear."""
    by_name = {f.name: f for f in features}
    found: dict[str, Condition] = {}
    for one in conditions:
        found = with_one_more(found, one, by_name[one.attribute])
    return list(found.values())


def with_one_more(found: Mapping[str, Condition], one: Condition, feature: Feature) -> dict[str, Condition]:
    """Conditions by attribute with one more, combined with that on its attribute."""
    before = found.get(one.attribute)
    return {**found, one.attribute: one if before is None else _both(before, one, feature)}


def _both(a: Condition, b: Condition, feature: Feature) -> Condition:
    if a.missing or b.missing:
        return a if a.missing else b
    if isinstance(feature.attribute, Nominal):
        first, second = (_values(c, feature.attribute.values) for c in (a, b))
        return _nominal_condition(feature, tuple(v for v in feature.attribute.values if v in first and v in second))
    lows = [c.low for c in (a, b) if c.low is not None]
    highs = [c.high for c in (a, b) if c.high is not None]
    return replace(a, low=max(lows) if lows else None, high=min(highs) if highs else None)


def _values(condition: Condition, domain: tuple[Any, ...]) -> set[Any]:
    if condition.values is not None:
        return set(condition.values)
    return set(domain) - set(condition.but or ())
