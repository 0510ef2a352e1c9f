"""Rules: if some conditions hold, then a class (002). As data, as text, and as a disjunction of conjunctions."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.errors import OptionError, did_you_mean, listed
from countwise.tree.conditions import Condition, condition_of, with_one_more
from countwise.tree.features import Feature
from countwise.working import Grid
from countwise.working.numbers import number, percent

__all__ = ["Rule", "RuleSet", "covered", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """If all conditions hold, then the answer.

    Parameters
    ----------
    conditions : tuple of Condition
        All must hold; none always do.
    answer : object
        The class, or the number.
    support : float
        The weight of the training rows for which the conditions hold.
    confidence : float
        Of these, the share for which the answer is right; of numbers, their standard deviation.
    counts : tuple of float
        Of these, the weight of each class.

    Examples
    --------
    >>> from countwise import TreeClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> print(TreeClassifier().fit(tennis.X, tennis.y).rules()[0])
    if outlook = Overcast then Yes  (4 rows, 100 %)
    """

    conditions: tuple[Condition, ...]
    answer: Any
    support: float
    confidence: float
    counts: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """The conditions as a conjunction."""
        return " and ".join(map(str, self.conditions)) if self.conditions else "always"

    def __str__(self) -> str:
        answer = number(self.answer) if isinstance(self.answer, float) and not self.counts else str(self.answer)
        sure = (
            percent(self.confidence, certain=self.confidence in (0.0, 1.0))
            if self.counts
            else f"SD {number(self.confidence)}"
        )
        start = f"if {self.text} then" if self.conditions else "always"
        return f"{start} {answer}  ({number(self.support)} row{'s' * (self.support != 1)}, {sure})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "if": [condition.to_dict() for condition in self.conditions],
            "then": self.answer,
            "support": self.support,
            "confidence": self.confidence,
            "counts": list(self.counts),
        }


@dataclass(frozen=True, slots=True)
class RuleSet(Sequence[Rule]):
    """Rules about one target.

    Parameters
    ----------
    target : str
        What is told.
    classes : tuple
        Its values; none for numbers.
    rules : tuple of Rule
        In order.
    default : Rule or None
        What holds where no rule does.

    Examples
    --------
    >>> from countwise import TreeClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> print(TreeClassifier().fit(tennis.frame, "play").rules())
    if outlook = Overcast then play = Yes  (4 rows, 100 %)
    if outlook = Rain and wind = Strong then play = No  (2 rows, 100 %)
    if outlook = Rain and wind = Weak then play = Yes  (3 rows, 100 %)
    if outlook = Sunny and humidity = High then play = No  (3 rows, 100 %)
    if outlook = Sunny and humidity = Normal then play = Yes  (2 rows, 100 %)
    """

    target: str
    classes: tuple[Any, ...]
    rules: tuple[Rule, ...]
    default: Rule | None = None

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, i: int) -> Rule: ...
    @overload
    def __getitem__(self, i: slice) -> RuleSet: ...
    def __getitem__(self, i: int | slice) -> Rule | RuleSet:
        return replace(self, rules=self.rules[i]) if isinstance(i, slice) else self.rules[i]

    def __str__(self) -> str:
        lines = [str(rule).replace(" then ", f" then {self.target} = ", 1) for rule in self.rules]
        if self.default is not None:
            lines.append(str(self.default).replace("always ", f"otherwise {self.target} = ", 1))
        return "\n".join(lines)

    __repr__ = __str__

    def of(self, answer: Any) -> RuleSet:
        """The rules for one class."""
        self._check(answer)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.answer == answer))

    def disjunction(self, answer: Any) -> str:
        """When a class holds, as a disjunction of conjunctions (002)."""
        parts = [" ∧ ".join(map(str, rule.conditions)) or "always" for rule in self.of(answer)]
        return " ∨ ".join(f"({part})" for part in parts) or "never"

    def _check(self, answer: Any) -> None:
        if answer not in self.classes:
            raise OptionError(
                f"{answer!r} is no class of {self.target!r}.",
                hint=did_you_mean(answer, self.classes) or f"classes are {listed(self.classes)}.",
            )

    @property
    def table(self) -> Grid:
        """The rules as a table."""
        rows = [*self.rules, *([] if self.default is None else [self.default])]
        return Grid(
            {
                "if": [rule.text if rule.conditions else "otherwise" for rule in rows],
                "then": [rule.answer for rule in rows],
                "rows": [rule.support for rule in rows],
                "confidence" if self.classes else "SD": [rule.confidence for rule in rows],
            }
        )

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def as_setting(self) -> None:
        """Nothing: a model that was given rules keeps them with what it learned."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: tuple[Any, ...], known: Container[str]) -> RuleSet:
        """The rules that `to_dict` wrote, if they are sound."""
        default = data["default"]
        rules = cls(
            str(data["target"]),
            classes,
            tuple(_rule_from(one) for one in data["rules"]),
            None if default is None else _rule_from(default),
        )
        for rule in (*rules.rules, *([] if rules.default is None else [rules.default])):
            odd = [c.attribute for c in rule.conditions if c.attribute not in known]
            if odd or rule.answer not in classes or len(rule.counts) != len(classes):
                raise ValueError("a rule does not fit the columns or the classes")
        return rules

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "target": self.target,
            "classes": list(self.classes),
            "rules": [rule.to_dict() for rule in self.rules],
            "default": None if self.default is None else self.default.to_dict(),
        }


def _rule_from(data: Mapping[str, Any]) -> Rule:
    conditions = tuple(_condition_from(one) for one in data["if"])
    counts = tuple(float(n) for n in data["counts"])
    return Rule(conditions, data["then"], float(data["support"]), float(data["confidence"]), counts)


def _condition_from(data: Mapping[str, Any]) -> Condition:
    values, but = (tuple(data[name]) if name in data else None for name in ("values", "but"))
    low, high = (float(data[name]) if name in data else None for name in ("low", "high"))
    missing, said = bool(data.get("missing", False)), str(data.get("said", ""))
    return Condition(str(data["attribute"]), values, but, low, high, missing, said)


def rules_of(model: Any) -> RuleSet:
    """A rule for each leaf of a tree that rows came to."""
    tree, features = model.tree_, model._features
    rules = []
    for k, conditions in _in_order(tree, features):
        n = float(model._node_weights[k])
        if n <= 0:
            continue
        if model._numbers:
            sd = float(np.sqrt(tree.cells[k][2] / n))
            rules.append(Rule(conditions, float(tree.cells[k][1]), n, sd))
        else:
            best = int(model._best[k])
            counts = tree.cells[k]
            answer = model.classes_.tolist()[best]
            rules.append(Rule(conditions, answer, n, float(counts[best]) / n, tuple(counts.tolist())))
    classes = () if model._numbers else tuple(model.classes_.tolist())
    return RuleSet(model.target_.name, classes, tuple(rules))


def _in_order(tree: Any, features: Sequence[Feature]) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    """The leaves from left to right, as they are drawn, and what holds on the way to each."""
    sizes = tree.sizes
    waiting: list[tuple[int, dict[str, Condition]]] = [(0, {})]
    while waiting:
        k, above = waiting.pop()
        if k:
            above = with_one_more(above, condition_of(tree, features, k), features[tree.attribute[tree.parent[k]]])
        if tree.attribute[k] < 0:
            yield k, tuple(above.values())
        else:
            first = int(tree.children[k])
            waiting.extend((child, above) for child in range(first + int(sizes[k]) - 1, first - 1, -1))


def covered(
    conditions: Sequence[Condition], features: Sequence[Feature], columns: Sequence[NDArray[Any]], n_rows: int
) -> Flags:
    """The rows for which all conditions hold."""
    place = {f.name: j for j, f in enumerate(features)}
    rows = np.ones(n_rows, dtype=bool)
    for condition in conditions:
        j = place[condition.attribute]
        rows &= condition.holds(columns[j], features[j])
    return rows
