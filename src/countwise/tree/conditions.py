"""Conditions on attributes, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.cuts import labels
from countwise.data.attributes import Nominal
from countwise.errors import printable
from countwise.tree.features import Feature
from countwise.tree.nodes import Tree
from countwise.working.numbers import number

__all__ = [
    "Condition",
    "condition_of",
    "conditions_to",
    "portrait_of",
    "range_condition",
    "with_branch",
    "written_limit",
]

_MOST_NAMED = 4  # values of a set that are shown


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition on one attribute.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    values : tuple or None, default=None
        Nominal attribute: the value is one of these.
    but : tuple or None, default=None
        Nominal attribute: the value is none of these.
    low : float or None, default=None
        Numeric attribute: the value is greater than this.
    high : float or None, default=None
        Numeric attribute: the value is at most this.
    missing : bool, default=False
        If True, the condition is that the value is missing.
    said : str, default=""
        Ordinal attribute: the condition as text, such as ``<= Mild``. Bin with a name: such as ``= high``.

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

    @property
    def _name(self) -> str:
        return printable(self.attribute, lines=False)

    def __str__(self) -> str:
        name = self._name
        if self.said or self.missing:
            return f"{name} {printable(self.said, lines=False) or 'is missing'}"
        for values, one, several in ((self.values, "=", "in"), (self.but, "≠", "not")):
            if values is not None:
                return f"{name} {one} {_set(values)}" if len(values) == 1 else f"{name} {several} {{{_set(values)}}}"
        if self.low is None:
            return f"{name} is not missing" if self.high is None else f"{name} <= {written_limit(self.high)}"
        if self.high is None:
            return f"{name} > {written_limit(self.low)}"
        return f"{written_limit(self.low)} < {name} <= {written_limit(self.high)}"

    @property
    def short(self) -> str:
        """The condition without the name of the attribute, as the label of a branch."""
        if self.missing:
            return "missing"
        if self.low is not None and self.high is not None and not self.said:
            return f"({written_limit(self.low)}, {written_limit(self.high)}]"
        return str(self).removeprefix(f"{self._name} ").removeprefix("= ")

    def holds(self, column: NDArray[Any], feature: Feature) -> Flags:
        """Return a mask of the values for which the condition holds.

        The column holds codes or numbers. Missing values satisfy only conditions with ``missing=True``.
        """
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
        """Return the condition as plain data, without empty fields."""
        plain: dict[str, Any] = {"attribute": self.attribute}
        if self.missing:
            return plain | {"missing": True}
        plain |= {name: list(x) for name, x in (("values", self.values), ("but", self.but)) if x is not None}
        plain |= {"said": self.said} if self.said else {}
        return plain | {name: x for name, x in (("low", self.low), ("high", self.high)) if x is not None}


def written_limit(limit: float) -> str:
    """Format a threshold as in the labels of bins."""
    return labels(np.array([limit]))[0].removeprefix("<= ")


def _set(values: tuple[Any, ...]) -> str:
    named = [printable(str(v), lines=False) for v in values[:_MOST_NAMED]]
    rest = len(values) - len(named)
    return ", ".join([*named, *([f"{rest} more"] if rest else [])])


def condition_of(tree: Tree, features: Sequence[Feature], child: int) -> Condition:
    """Return the condition for going from the parent of a node to the node."""
    k = int(tree.parent[child])
    branch = child - int(tree.children[k])
    feature = features[tree.attribute[k]]
    limits = tree.limits_of(k)
    if len(limits):
        own = branch > len(limits)  # the separate branch of missing values
        if own:
            return Condition(feature.name, missing=True)
        found = range_condition(feature.name, limits, branch)
        names = feature.names.get(tuple(limits.tolist()))
        return replace(found, said=f"= {names[branch]}") if names else found
    assert isinstance(feature.attribute, Nominal)  # noqa: S101 - only nominal attributes have groups
    domain = feature.attribute.values
    groups = tree.groups_of(k)[: len(domain)]
    mine = tuple(domain[v] for v in np.flatnonzero(groups == branch))
    return _nominal_condition(feature, mine) if mine else Condition(feature.name, missing=True)


def range_condition(name: str, edges: Floats, i: int) -> Condition:
    """Return the condition that a number is in the i-th bin."""
    low = float(edges[i - 1]) if i else None
    return Condition(name, low=low, high=float(edges[i]) if i < len(edges) else None)


def _nominal_condition(feature: Feature, mine: tuple[Any, ...]) -> Condition:
    """Return the condition that a value is one of some values, in its shortest form."""
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
    """Return the conditions on the path from the root to a node, one for each attribute."""
    found: dict[str, Condition] = {}
    for k in tree.path(node)[1:]:
        found = with_branch(found, tree, features, k)
    return list(found.values())


def portrait_of(conditions: Sequence[Condition], n: float, total: float) -> list[tuple[str, Any, str]]:
    """Return the conditions of a leaf or rule as typical values, with the number of rows of the class in it."""
    remark = f"with {number(n)} of {number(total)} rows of the class"
    return [(c.attribute, str(c).removeprefix(f"{c.attribute} = "), remark) for c in conditions]


def with_branch(
    found: Mapping[str, Condition], tree: Tree, features: Sequence[Feature], child: int
) -> dict[str, Condition]:
    """Add the condition for going to a node; it is combined with an earlier condition on the same attribute."""
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
    low, high = max(lows, default=None), min(highs, default=None)
    said = next((c.said for c in (a, b) if (c.low, c.high) == (low, high)), "")
    return replace(a, low=low, high=high, said=said)


def _values(condition: Condition, domain: tuple[Any, ...]) -> set[Any]:
    if condition.values is not None:
        return set(condition.values)
    return set(domain) - set(condition.but or ())
