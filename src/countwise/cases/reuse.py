"""Reuse: combine the solutions of several cases, and adapt the result to the query by rules."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.cases.case import Match
from countwise.cases.values import Where, checked, copied, is_number, key_of, shown
from countwise.errors import AdaptationFailed, OptionError, did_you_mean, listed
from countwise.working.numbers import number

__all__ = ["COMBINING", "Adaptation", "AdaptationRule", "Backtrack", "Combined", "adapted", "combined", "rules_of"]

COMBINING = ("weighted", "majority", "mean", "best")


@dataclass(frozen=True)
class Combined:
    """Combination of the values of several cases for one attribute of the solution."""

    attribute: str  # empty if the solution is not a mapping
    how: str  # "weighted", "majority", "mean" or "best"
    value: Any
    votes: tuple[tuple[Any, Any, float], ...]  # the id, value and weight of each case

    def __str__(self) -> str:
        if self.how == "best":
            return "from the most similar case"
        if self.how == "mean":
            total = math.fsum(weight for *_, weight in self.votes)
            terms = " + ".join(f"{number(weight)} × {shown(value)}" for _, value, weight in self.votes)
            return f"({terms}) / {number(total)}"
        sums: dict[str, float] = {}
        for _, value, weight in self.votes:
            sums[shown(value)] = sums.get(shown(value), 0.0) + (weight if self.how == "weighted" else 1)
        return ", ".join(f"{name}: {number(weight)}" for name, weight in sums.items())


def combined(matches: Sequence[Match], combine: Any) -> tuple[Any, tuple[Combined, ...]]:
    """Combine the solutions of matches, the most similar first; return the solution and how it was combined."""
    best = matches[0].case.solution
    if not isinstance(best, Mapping):
        values = [(m.case.id, m.case.solution, m.similarity) for m in matches]
        whole = _one("", values, combine if isinstance(combine, str) else None)
        return copied(whole.value), (whole,)
    records = [m for m in matches if isinstance(m.case.solution, Mapping)]
    steps = []
    for name in best:
        values = [(m.case.id, m.case.solution[name], m.similarity) for m in records if name in m.case.solution]
        steps.append(_one(name, values, combine.get(name) if isinstance(combine, Mapping) else combine))
    return {step.attribute: copied(step.value) for step in steps}, tuple(steps)


def _one(attribute: str, votes: list[tuple[Any, Any, float]], how: str | None) -> Combined:
    """Combine several values; if the best case has a number, only numbers count, and otherwise only other values."""
    best = votes[0][1]
    votes = [vote for vote in votes if is_number(vote[1]) == is_number(best) and vote[1] is not None] or votes[:1]
    if all(weight == 0 for *_, weight in votes):
        votes = [(name, value, 1.0) for name, value, _ in votes]
    if how is None:
        how = "mean" if is_number(best) else "weighted" if isinstance(best, str | bool) else "best"
    if how == "mean":
        if not is_number(best):
            what = repr(attribute) if attribute else "the solution"
            raise OptionError(
                f"combine='mean' needs numbers, but {what} is {shown(best)!r}.", hint="use 'weighted' or 'majority'."
            )
        return Combined(attribute, how, _mean(votes), tuple(votes))
    if how == "best":
        return Combined(attribute, how, best, tuple(votes[:1]))
    sums: dict[Any, float] = {}
    for _, value, weight in votes:
        sums[key_of(value)] = sums.get(key_of(value), 0.0) + (weight if how == "weighted" else 1.0)
    most = max(round(total, 12) for total in sums.values())
    winner = next(value for _, value, _ in votes if round(sums[key_of(value)], 12) == most)
    return Combined(attribute, how, winner, tuple(votes))


def _mean(votes: list[tuple[Any, Any, float]]) -> Any:
    """Return the weighted mean; equal numbers are returned unchanged."""
    if all(value == votes[0][1] for _, value, _ in votes):
        return votes[0][1]
    total = math.fsum(weight for *_, weight in votes)
    return math.fsum(value * (weight / total) for _, value, weight in votes)


def check_combine(combine: Any, solutions: Iterable[Any]) -> None:
    """Raise OptionError for an unknown method of combining, or an unknown attribute of the solutions."""
    methods = combine.values() if isinstance(combine, Mapping) else [combine]
    for method in methods:
        if method is not None and method not in COMBINING:
            raise OptionError(
                f"combine must be one of {listed(COMBINING)}, or a mapping to these, not {method!r}.",
                hint=did_you_mean(method, COMBINING),
            )
    if isinstance(combine, Mapping):
        known = {name for solution in solutions if isinstance(solution, Mapping) for name in solution}
        for name in combine:
            if name not in known:
                raise OptionError(
                    f"combine refers to {name!r}, but no solution has this attribute.", hint=did_you_mean(name, known)
                )


@dataclass(frozen=True)
class AdaptationRule:
    """Adaptation rule: a function with a name."""

    name: str
    says: str  # the first line of its docstring
    function: Callable[[Any, Any, Any], Any]  # takes the query, the most similar case and the solution


@dataclass(frozen=True)
class Adaptation:
    """Solution before and after an adaptation rule."""

    rule: str
    says: str  # the first line of the docstring of the rule
    before: Any
    after: Any

    @property
    def changed(self) -> bool:
        """Whether the rule changed the solution."""
        return key_of(self.before) != key_of(self.after)

    def __str__(self) -> str:
        return f"{self.rule}: {shown(self.before)} → {shown(self.after) if self.changed else 'unchanged'}"


@dataclass(frozen=True)
class Backtrack:
    """Case that was rejected by an adaptation rule."""

    id: Any
    similarity: float
    rule: str  # the rule that rejected the case
    reason: str
    adaptations: tuple[Adaptation, ...] = ()  # adaptations by earlier rules


def rules_of(functions: Iterable[Any]) -> tuple[AdaptationRule, ...]:
    """Return functions as adaptation rules; raise OptionError if two have the same name."""
    rules: list[AdaptationRule] = []
    for function in functions:
        if not callable(function) or isinstance(function, type):
            raise OptionError(
                f"An adaptation rule must be a function, not {function!r}.",
                hint="pass a function rule(query, case, solution).",
            )
        inner = getattr(function, "func", function)  # functools.partial
        says = (inspect.getdoc(inner) or "").partition("\n")[0]
        name = getattr(inner, "__name__", type(function).__name__)
        if name == "<lambda>" and says:
            name = says
        if any(rule.name == name for rule in rules):
            raise OptionError(f"Two rules are named {name!r}.", hint="use functions with different names.")
        rules.append(AdaptationRule(name, says, function))
    return tuple(rules)


def adapted(
    rules: Sequence[AdaptationRule], query: Mapping[str, Any], match: Match, solution: Any
) -> tuple[tuple[Adaptation, ...], Backtrack | None]:
    """Apply the rules in order; return the adaptations, and the rejected case if a rule rejects it."""
    steps: list[Adaptation] = []
    for rule in rules:
        reason = "rejected"
        try:
            after = rule.function(copied(query), match.case.copy(), copied(solution))
        except AdaptationFailed as error:
            after, reason = None, str(error)
        if after is None:
            return tuple(steps), Backtrack(match.case.id, match.similarity, rule.name, reason, tuple(steps))
        after = checked(after, Where(f"the result of rule {rule.name!r}"), whole=True)
        steps.append(Adaptation(rule.name, rule.says, solution, after))
        solution = after
    return tuple(steps), None
