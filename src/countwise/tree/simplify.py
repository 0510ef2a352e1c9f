"""Rules made simpler: conditions that do not earn their keep are dropped (C4.5rules)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.tree.conditions import Condition
from countwise.tree.pruning import upper_error
from countwise.tree.rules import Rule, RuleSet
from countwise.tree.growth.training_set import TrainingSet

__all__ = ["Cover", "ordered", "simplified"]


@dataclass(slots=True, eq=False)
class Cover:
    """Which rows conditions cover, each looked at once.

    Parameters
    ----------
    ground : TrainingSet
        The rows.
    """

    ground: TrainingSet
    _masks: dict[Condition, Flags] = field(default_factory=dict, repr=False)
    _places: dict[str, int] = field(default_factory=dict, repr=False)

    def of(self, condition: Condition) -> Flags:
        """The rows for which a condition holds."""
        found = self._masks.get(condition)
        if found is None:
            self._places = self._places or {f.name: j for j, f in enumerate(self.ground.features)}
            j = self._places[condition.attribute]
            found = condition.holds(self.ground.columns[j], self.ground.features[j])
            self._masks[condition] = found
        return found

    def all_of(self, conditions: Sequence[Condition]) -> Flags:
        """The rows for which all conditions hold."""
        rows = np.ones(self.ground.n_rows, dtype=bool)
        for condition in conditions:
            rows &= self.of(condition)
        return rows

    def counts(self, rows: NDArray[Any], kind: NDArray[np.intp] | None = None, kinds: int = 1) -> Floats:
        """The weight of each class in some rows; of rows of several kinds a row for each kind."""
        weights, k = None if self.ground.weights is None else self.ground.weights[rows], self.ground.n_classes
        told = self.ground.told[rows] if kind is None else kind * k + self.ground.told[rows]
        found = np.bincount(told, weights=weights, minlength=kinds * k).astype(np.float64)
        return found if kind is None else found.reshape(kinds, k)


def simplified(rules: RuleSet, cover: Cover, confidence: float | None) -> RuleSet:
    """Rules whose conditions all earn their keep, each rule once.

    Of each rule, the condition is dropped without which it errs least, as long as it then errs no more than with it.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    cover : Cover
        The rows to judge by.
    confidence : float or None
        Errors are pessimistic, with this confidence; None counts them as they are, on rows that were held out.
    """
    found: dict[tuple[frozenset[Condition], Any], Rule] = {}
    for rule in rules:
        c = rules.classes.index(rule.answer)
        conditions = _shortened(rule.conditions, c, cover, confidence)
        key = (frozenset(conditions), rule.answer)
        if key not in found:
            found[key] = Rule(tuple(conditions), rule.answer, rule.support, rule.confidence, rule.counts)
    return RuleSet(rules.target, rules.classes, tuple(found.values()))


def _shortened(conditions: Sequence[Condition], c: int, cover: Cover, confidence: float | None) -> list[Condition]:
    kept = list(conditions)
    fails = np.array([~cover.of(condition) for condition in kept]).reshape(len(kept), cover.ground.n_rows)
    failed = fails.sum(axis=0)  # how many conditions each row fails
    while kept:
        inside = cover.counts(failed == 0)
        # a row that fails one condition alone comes in when that one is dropped
        alone = np.flatnonzero(failed == 1)
        coming = cover.counts(alone, fails[:, alone].argmax(axis=0), len(kept))
        without = _rates(inside + coming, c, confidence)
        best = int(np.argmin(without))
        if without[best] > _rates(inside[None], c, confidence)[0] + 1e-12:
            return kept
        failed -= fails[best]
        fails = np.delete(fails, best, axis=0)
        kept.pop(best)
    return kept


def _rates(counts: Floats, c: int, confidence: float | None) -> Floats:
    """How often rules err, by the classes of the rows that each covers; one that covers nothing always does."""
    n = counts.sum(axis=1)
    errors = n - counts[:, c]
    if confidence is not None:
        errors = upper_error(errors, n, confidence)
    return np.divide(errors, n, out=np.ones(len(n)), where=n > 0)


def ordered(rules: RuleSet, cover: Cover, confidence: float) -> RuleSet:
    """The rules in the order in which they are asked, and what holds where none does.

    The most reliable first, by pessimistic error; rules that decide no row that the default would not decide as
    well are taken off the end. Each rule's counts are those of the rows that it decides.
    """
    masks = [cover.all_of(rule.conditions) for rule in rules]
    counts = [cover.counts(mask) for mask in masks]
    rates = [
        float(_rates(n[None], rules.classes.index(rule.answer), confidence)[0])
        for n, rule in zip(counts, rules, strict=True)
    ]
    order = sorted(range(len(rules)), key=lambda i: (rates[i], -counts[i].sum(), i))
    free = np.ones(cover.ground.n_rows, dtype=bool)
    list_: list[tuple[Rule, Floats]] = []
    for i in order:
        mine = masks[i] & free
        inside = cover.counts(mine)
        if inside.sum() > 0:
            list_.append((rules[i], inside))
            free &= ~mine
    left = cover.counts(free)
    everything = cover.counts(np.ones(cover.ground.n_rows, dtype=bool))
    while list_:  # what the default would answer needs no rule
        default = int(np.argmax(left + list_[-1][1]))
        if rules.classes[default] != list_[-1][0].answer or (left.sum() > 0 and int(np.argmax(left)) != default):
            break
        left = left + list_.pop()[1]
    kept = tuple(
        _counted(rule, inside, _commonest(rule, inside, rules.classes), rules.classes) for rule, inside in list_
    )
    return RuleSet(rules.target, rules.classes, kept, otherwise(left, everything, rules.classes))


def otherwise(left: Floats, everything: Floats, classes: tuple[Any, ...]) -> Rule:
    """What holds where no rule does: the commonest class of the rows left over, or of all if none is."""
    counts = left if left.sum() > 0 else everything
    best = int(np.argmax(counts))
    share = float(counts[best] / counts.sum())
    return Rule((), classes[best], float(left.sum()), share, tuple(counts.tolist()))


def _counted(rule: Rule, inside: Floats, answer: Any, classes: tuple[Any, ...]) -> Rule:
    n = float(inside.sum())
    right = float(inside[classes.index(answer)])
    return Rule(rule.conditions, answer, n, right / n if n else 0.0, tuple(inside.tolist()))


def _commonest(rule: Rule, inside: Floats, classes: tuple[Any, ...]) -> Any:
    """The answer of a rule, unless the rows that are left to it are mostly of another class."""
    best = int(np.argmax(inside))
    return rule.answer if inside[classes.index(rule.answer)] >= inside[best] else classes[best]


def counted(rules: RuleSet, cover: Cover) -> RuleSet:
    """Rules in the order given, each with the counts of the rows that it decides."""
    free = np.ones(cover.ground.n_rows, dtype=bool)
    everything = cover.counts(free)
    found = []
    for rule in rules:
        mine = cover.all_of(rule.conditions) & free
        free &= ~mine
        found.append(_counted(rule, cover.counts(mine), rule.answer, rules.classes))
    return RuleSet(
        rules.target, rules.classes, tuple(found), otherwise(cover.counts(free), everything, rules.classes)
    )
