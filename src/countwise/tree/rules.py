"""If-then rules: their representation, and how they are derived from a tree, simplified and ordered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal
from countwise.errors import OptionError, check_number, did_you_mean, listed
from countwise.tree.conditions import Condition, with_branch
from countwise.tree.features import Feature
from countwise.tree.nodes import Tree
from countwise.tree.pruning import checked, upper_error
from countwise.working import Grid
from countwise.working.grid import shown
from countwise.working.latex import escaped
from countwise.working.numbers import number, percent

__all__ = [
    "Cover",
    "Rule",
    "RuleSet",
    "SimplifiedRule",
    "SimplifyStep",
    "counted",
    "exhaustive",
    "ordered",
    "rules_of",
    "simplified",
]

_MOST_ON_SLIDES = 40  # rules
_MOST_RECORDED = 100  # rules whose simplification is recorded
_MOST_CASES = 10_000  # conditions that are checked to find out whether rules cover every row


@dataclass(frozen=True, slots=True)
class Rule:
    """If-then rule: a conjunction of conditions, and the prediction if all of them hold.

    Parameters
    ----------
    conditions : tuple of Condition
        The conditions. A rule without conditions always holds.
    answer : object
        The predicted class or number.
    support : float
        Total weight of the training rows that the rule covers. In a rule list, rows covered by an earlier rule are
        not counted.
    confidence : float
        Fraction of the covered rows with the predicted class. For a numeric target: their standard deviation.
    counts : tuple of float, default=()
        Total weight of the covered rows of each class. Empty for a numeric target.

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
        """The conditions as text, joined by ``and``; ``always`` if there are none."""
        return " and ".join(map(str, self.conditions)) if self.conditions else "always"

    @property
    def written(self) -> str:
        """The conditions and the prediction as text, without counts."""
        predicted = number(self.answer) if isinstance(self.answer, float) and not self.counts else shown(self.answer)
        return f"if {self.text} then {predicted}" if self.conditions else f"always {predicted}"

    def __str__(self) -> str:
        certain = self.confidence in (0.0, 1.0)
        quality = percent(self.confidence, certain=certain) if self.counts else f"SD {number(self.confidence)}"
        return f"{self.written}  ({number(self.support)} row{'s' * (self.support != 1)}, {quality})"

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data.

        Returns
        -------
        dict
            Keys ``if``, ``then``, ``support``, ``confidence`` and ``counts``.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier().fit(tennis.X, tennis.y).rules()[0].to_dict()["if"]
        [{'attribute': 'outlook', 'values': ['Overcast']}]
        """
        return {
            "if": [condition.to_dict() for condition in self.conditions],
            "then": self.answer,
            "support": self.support,
            "confidence": self.confidence,
            "counts": list(self.counts),
        }


@dataclass(frozen=True, slots=True)
class RuleSet(Sequence[Rule]):
    """Sequence of rules for one target, with an optional default rule.

    Parameters
    ----------
    target : str
        Name of the target.
    classes : tuple
        Classes of the target; empty for a numeric target.
    rules : tuple of Rule
        The rules in order.
    default : Rule or None, default=None
        Rule without conditions that applies if no other rule holds.

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
        target = shown(self.target)
        lines = [str(rule).replace(" then ", f" then {target} = ", 1) for rule in self.rules]
        if self.default is not None:
            lines.append(str(self.default).replace("always ", f"otherwise {target} = ", 1))
        return "\n".join(lines)

    __repr__ = __str__

    def of(self, answer: Any) -> RuleSet:
        """Return the rules that predict one class.

        Parameters
        ----------
        answer : object
            The class.

        Returns
        -------
        RuleSet

        Raises
        ------
        OptionError
            If the target has no such class.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.frame, "play").rules().of("No"))
        if outlook = Rain and wind = Strong then play = No  (2 rows, 100 %)
        if outlook = Sunny and humidity = High then play = No  (3 rows, 100 %)
        """
        if answer not in self.classes:
            raise OptionError(
                f"{answer!r} is not a class of {self.target!r}.",
                hint=did_you_mean(answer, self.classes) or f"use one of {listed(self.classes)}.",
            )
        return replace(self, rules=tuple(rule for rule in self.rules if rule.answer == answer))

    def disjunction(self, answer: Any) -> str:
        """Return the rules of one class as a disjunction of conjunctions.

        Parameters
        ----------
        answer : object
            The class.

        Returns
        -------
        str
            Conjunctions (∧) joined by ∨; ``never`` if no rule predicts the class.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.X, tennis.y).rules().disjunction("No"))
        (outlook = Rain ∧ wind = Strong) ∨ (outlook = Sunny ∧ humidity = High)
        """
        parts = [" ∧ ".join(map(str, rule.conditions)) or "always" for rule in self.of(answer)]
        return " ∨ ".join(f"({part})" for part in parts) or "never"

    @property
    def _every(self) -> list[Rule]:
        """The rules, followed by the default rule if there is one."""
        return [*self.rules, *([] if self.default is None else [self.default])]

    @property
    def table(self) -> Grid:
        """The rules as a table with columns ``if``, ``then``, ``rows`` and ``confidence`` (``SD`` for numbers)."""
        rows = self._every
        return Grid(
            {
                "if": [rule.text if rule.conditions else "otherwise" for rule in rows],
                "then": [rule.answer for rule in rows],
                "rows": [rule.support for rule in rows],
                "confidence" if self.classes else "SD": [rule.confidence for rule in rows],
            }
        )

    def latex(self, width: int | None = None) -> str:
        r"""Return the rules as a LaTeX list; no package is needed.

        Parameters
        ----------
        width : int or None, default=None
            If not None, at most 40 rules are shown, for slides. LaTeX breaks the lines.

        Returns
        -------
        str
            An ``enumerate`` environment, with the default rule as its last item.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> print(RuleClassifier("one_r").fit(samples.load("tennis").frame, "play").rules_.latex())
        \begin{enumerate}
          \item if outlook = Overcast then play = Yes  (4 rows, 100 \%)
          \item if outlook = Rain then play = Yes  (5 rows, 60.0 \%)
          \item if outlook = Sunny then play = No  (5 rows, 60.0 \%)
        \end{enumerate}
        """
        check_number("width", width, 1, none=True)
        lines = [rf"  \item {escaped(line)}" for line in str(self).split("\n") if line]
        if width is not None and len(lines) > _MOST_ON_SLIDES:
            lines[_MOST_ON_SLIDES:] = [rf"  \item[] \ldots{{}} and {len(lines) - _MOST_ON_SLIDES} more"]
        return "\n".join([r"\begin{enumerate}", *lines, r"\end{enumerate}"]) if lines else ""

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def as_setting(self) -> None:
        """Return None: a model file stores given rules with the fitted state, not with the settings."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: tuple[Any, ...], known: Mapping[str, Feature]) -> RuleSet:
        """Create a rule set from the result of `to_dict`.

        Parameters
        ----------
        data : mapping
            The result of `to_dict`.
        classes : tuple
            Classes of the target.
        known : mapping of str to Feature
            The features that rules may test, by name.

        Returns
        -------
        RuleSet

        Raises
        ------
        ValueError
            If a rule tests another attribute, predicts another class or has counts for other classes.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> from countwise.tree.rules import RuleSet
        >>> tennis = samples.load("tennis")
        >>> rules = TreeClassifier().fit(tennis.X, tennis.y).rules()
        >>> from countwise.tree.features import features_of
        >>> model = TreeClassifier().fit(tennis.X, tennis.y)
        >>> known = {feature.name: feature for feature in features_of(model.schema_)}
        >>> RuleSet.from_dict(rules.to_dict(), rules.classes, known) == rules
        True
        """
        default = None if data["default"] is None else _rule_from(data["default"])
        rules = cls(str(data["target"]), classes, tuple(_rule_from(one) for one in data["rules"]), default)
        for rule in rules._every:
            _check_rule(rule, classes, known)
        return rules

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain data.

        Returns
        -------
        dict
            Keys ``target``, ``classes``, ``rules`` and ``default``.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier().fit(tennis.frame, "play").rules().to_dict()["classes"]
        ['No', 'Yes']
        """
        return {
            "target": self.target,
            "classes": list(self.classes),
            "rules": [rule.to_dict() for rule in self.rules],
            "default": None if self.default is None else self.default.to_dict(),
        }


def _check_rule(rule: Rule, classes: tuple[Any, ...], known: Mapping[str, Feature]) -> None:
    """Raise ValueError if a rule of a file does not suit the columns and classes, or its numbers are impossible."""
    odd = [c.attribute for c in rule.conditions if c.attribute not in known]
    if odd or rule.answer not in classes or len(rule.counts) != len(classes):
        raise ValueError("a rule refers to an unknown column or class")
    counts = (*rule.counts, rule.support)
    if not all(0 <= n < math.inf for n in counts) or not 0 <= rule.confidence <= 1 or math.isinf(sum(counts)):
        raise ValueError("the counts or the confidence of a rule are impossible")
    total = sum(rule.counts)
    if abs(rule.confidence * total - rule.counts[list(classes).index(rule.answer)]) > 1e-6 * total:
        raise ValueError("the confidence of a rule is not the share of its class")
    for c in rule.conditions:
        feature, values = known[c.attribute], (*(c.values or ()), *(c.but or ()))
        limits = [limit for limit in (c.low, c.high) if limit is not None]
        domain = feature.attribute.values if isinstance(feature.attribute, Nominal) else ()
        if not all(v in domain for v in values) or (limits and isinstance(feature.attribute, Nominal)):
            raise ValueError(f"a condition on {c.attribute!r} does not suit its values")
        if not all(map(math.isfinite, limits)) or limits != sorted(limits):
            raise ValueError(f"the limits of a condition on {c.attribute!r} are impossible")


def _rule_from(data: Mapping[str, Any]) -> Rule:
    conditions = tuple(_condition_from(one) for one in data["if"])
    counts = tuple(float(n) for n in data["counts"])
    return Rule(conditions, data["then"], float(data["support"]), float(data["confidence"]), counts)


def _condition_from(data: Mapping[str, Any]) -> Condition:
    values, but = (tuple(data[name]) if name in data else None for name in ("values", "but"))
    low, high = (float(data[name]) if name in data else None for name in ("low", "high"))
    missing, said = bool(data.get("missing", False)), str(data.get("said", ""))
    return Condition(str(data["attribute"]), values, but, low, high, missing, said)


def rules_of(
    tree: Tree, features: Sequence[Feature], target: str, classes: Sequence[Any] = (), best: Sequence[int] = ()
) -> RuleSet:
    """Return a rule for each leaf that training rows reached; `best` holds the class code of each node."""
    rules = []
    weights = tree.weights(not classes)
    for k, conditions in _leaves_in_order(tree, features):
        n, cells = float(weights[k]), tree.cells[k]
        if n <= 0:
            continue
        if classes:
            confidence = float(cells[best[k]]) / n
            rules.append(Rule(conditions, classes[best[k]], n, confidence, tuple(cells.tolist())))
        else:
            rules.append(Rule(conditions, float(cells[1]), n, float(np.sqrt(cells[2] / n))))
    return RuleSet(target, tuple(classes), tuple(rules))


def _leaves_in_order(tree: Tree, features: Sequence[Feature]) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    """Yield the leaves in the order in which they are drawn, with the conditions on the path to each."""
    waiting: list[tuple[int, dict[str, Condition]]] = [(0, {})]
    while waiting:
        k, above = waiting.pop()
        if k:
            above = with_branch(above, tree, features, k)
        if tree.attribute[k] < 0:
            yield k, tuple(above.values())
        else:
            waiting.extend((child, above) for child in reversed(tree.children_of(k)))


def exhaustive(rules: Iterable[Rule], features: Mapping[str, Feature]) -> bool:
    """Return whether rules cover every row without missing values; False if there are too many cases to check.

    The domain of an attribute is divided where the conditions on it change, and each part is checked in turn.
    """
    waiting, checked = [[rule.conditions for rule in rules]], 0
    while waiting:
        every = waiting.pop()
        if not all(every):  # a rule without conditions covers all that is left
            continue
        checked += sum(map(len, every))
        if not every or checked > _MOST_CASES:
            return False
        tested = Counter(name for conditions in every for name in {c.attribute for c in conditions})
        name = tested.most_common(1)[0][0]
        on_it = [[c for c in conditions if c.attribute == name] for conditions in every]
        parts = _parts_of(features[name], (c for own in on_it for c in own))
        holds = np.array(
            [
                np.all([np.ones(len(parts), dtype=bool), *(c.holds(parts, features[name]) for c in own)], axis=0)
                for own in on_it
            ]
        )
        for part in np.unique(holds, axis=1).T:
            left = [[c for c in rule if c.attribute != name] for rule, here in zip(every, part, strict=True) if here]
            waiting.append([tuple(conditions) for conditions in left])
    return True


def _parts_of(feature: Feature, conditions: Iterable[Condition]) -> NDArray[Any]:
    """Return a value of each part of the domain of an attribute that conditions on it divide."""
    if isinstance(feature.attribute, Nominal):
        return np.arange(len(feature.attribute.values))
    limits = {limit for c in conditions for limit in (c.low, c.high) if limit is not None}
    return np.array([*sorted(limits), np.inf])  # each part is represented by its upper end


@dataclass(slots=True, eq=False)
class Cover:
    """Coverage of conditions over a table: the rows for which they hold. Each condition is evaluated once."""

    features: Sequence[Feature]
    columns: Sequence[NDArray[Any]]  # one for each feature
    n_rows: int
    y: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.uint8), repr=False)  # class codes
    weights: NDArray[Any] | None = None
    n_classes: int = 0
    _masks: dict[Condition, Flags] = field(default_factory=dict, repr=False)
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._places = {f.name: j for j, f in enumerate(self.features)}

    def of(self, condition: Condition) -> Flags:
        """Return a mask of the rows for which a condition holds."""
        if condition not in self._masks:
            j = self._places[condition.attribute]
            self._masks[condition] = condition.holds(self.columns[j], self.features[j])
        return self._masks[condition]

    def all_of(self, conditions: Sequence[Condition]) -> Flags:
        """Return a mask of the rows for which all conditions hold."""
        rows = np.ones(self.n_rows, dtype=bool)
        for condition in conditions:
            rows &= self.of(condition)
        return rows

    def counts(self, rows: NDArray[Any], group: NDArray[np.intp] | None = None, n_groups: int = 1) -> Floats:
        """Return the weight of each class among some rows, or (groups, classes) if the rows are grouped."""
        weights, k = None if self.weights is None else self.weights[rows], self.n_classes
        cells = self.y[rows] if group is None else group * k + self.y[rows]
        found = np.bincount(cells, weights=weights, minlength=n_groups * k).astype(np.float64)
        return found if group is None else found.reshape(n_groups, k)


@dataclass(frozen=True, slots=True)
class SimplifyStep:
    """Search for a condition of a rule that can be dropped."""

    rows: float  # covered by the rule as it is
    errors: float
    rate: float  # upper limit of the error rate, or the error rate on held-out rows
    without: tuple[tuple[str, float, float, float], ...]  # condition; rows, errors and rate of the rule without it
    dropped: int  # which of these conditions is dropped; -1 for none

    def to_list(self) -> list[Any]:
        """Return the step as plain data, for the model file."""
        return [self.rows, self.errors, self.rate, [list(part) for part in self.without], self.dropped]


@dataclass(frozen=True, slots=True)
class SimplifiedRule:
    """Rule of a tree, the steps in which its conditions were dropped, and the rule that remains."""

    before: str
    after: str
    steps: tuple[SimplifyStep, ...]
    repeats: bool  # whether an earlier rule became the same

    def to_list(self) -> list[Any]:
        """Return the rule as plain data, for the model file."""
        return [self.before, self.after, self.repeats, [step.to_list() for step in self.steps]]

    @classmethod
    def from_list(cls, data: Any) -> SimplifiedRule:
        """Return a rule of a model file; raise ValueError if it is damaged."""
        before, after, repeats, steps = checked(data, (str, str, bool, list), "a simplified rule")
        found = []
        for step in steps:
            n, e, rate, without, dropped = checked(step, (float, float, float, list, int), "a simplified rule")
            parts = [tuple(checked(one, (str, float, float, float), "a simplified rule")) for one in without]
            if not -1 <= dropped < len(parts):
                raise ValueError("a simplified rule lacks the condition that it drops")
            found.append(SimplifyStep(n, e, rate, tuple(parts), dropped))
        return cls(before, after, tuple(found), repeats)


def simplified(rules: RuleSet, cover: Cover, confidence: float | None) -> tuple[RuleSet, tuple[SimplifiedRule, ...]]:
    """Drop unnecessary conditions (C4.5rules), and then duplicate rules; also return the steps of each rule.

    From each rule, conditions are dropped one by one, each time the one whose removal gives the lowest error rate, as
    long as the rate does not increase. Errors are pessimistic, or plain counts if `confidence` is None.
    """
    found: dict[tuple[frozenset[Condition], Any], Rule] = {}
    record: list[SimplifiedRule] = []
    for rule in rules:
        c = rules.classes.index(rule.answer)
        conditions, steps = _shortened(rule.conditions, c, cover, confidence)
        key = (frozenset(conditions), rule.answer)
        short = replace(rule, conditions=tuple(conditions))
        if len(record) < _MOST_RECORDED:
            record.append(SimplifiedRule(rule.written, short.written, tuple(steps), key in found))
        found.setdefault(key, short)
    return RuleSet(rules.target, rules.classes, tuple(found.values())), tuple(record)


def _shortened(
    conditions: Sequence[Condition], c: int, cover: Cover, confidence: float | None
) -> tuple[list[Condition], list[SimplifyStep]]:
    kept, steps = list(conditions), []
    fails = np.array([~cover.of(condition) for condition in kept]).reshape(len(kept), cover.n_rows)
    failed = fails.sum(axis=0)  # how many conditions each row fails
    while kept:
        inside = cover.counts(failed == 0)
        # dropping a condition adds the rows that fail this condition only
        only_one = np.flatnonzero(failed == 1)
        added = cover.counts(only_one, fails[:, only_one].argmax(axis=0), len(kept))
        without = _rates(inside + added, c, confidence)
        best, rate = int(np.argmin(without)), float(_rates(inside[None], c, confidence)[0])
        drop = bool(without[best] <= rate + 1e-12)
        n, right = (inside + added).sum(axis=1), (inside + added)[:, c]
        parts = zip(map(str, kept), n.tolist(), (n - right).tolist(), without.tolist(), strict=True)
        own = float(inside.sum()), float(inside.sum() - inside[c]), rate
        steps.append(SimplifyStep(*own, tuple(parts), best if drop else -1))
        if not drop:
            return kept, steps
        failed -= fails[best]
        fails = np.delete(fails, best, axis=0)
        kept.pop(best)
    return kept, steps


def _rates(counts: Floats, c: int, confidence: float | None) -> Floats:
    """Return the error rates of rules for class c, given the class counts of the covered rows; 1 without rows."""
    n = counts.sum(axis=1)
    errors = n - counts[:, c]
    if confidence is not None:
        errors = upper_error(errors, n, confidence)
    return np.divide(errors, n, out=np.ones(len(n)), where=n > 0)


def ordered(rules: RuleSet, cover: Cover, confidence: float) -> RuleSet:
    """Order rules by pessimistic error rate, lowest first, and add a default rule.

    Rules at the end of the list that predict the same class as the default are removed. The counts of each rule are
    those of the rows that it covers and that no earlier rule covers.
    """
    counts = [cover.counts(cover.all_of(rule.conditions)) for rule in rules]
    code = rules.classes.index
    rates = [float(_rates(n[None], code(rule.answer), confidence)[0]) for n, rule in zip(counts, rules, strict=True)]
    order = sorted(range(len(rules)), key=lambda i: (rates[i], -counts[i].sum(), i))
    every, left = _decided([rules[i] for i in order], cover)
    decided = [(rule, inside) for rule, inside in every if inside.sum() > 0]
    while decided:  # a last rule with the class of the default is redundant
        default = int(np.argmax(left + decided[-1][1]))
        if rules.classes[default] != decided[-1][0].answer or (left.sum() > 0 and int(np.argmax(left)) != default):
            break
        left = left + decided.pop()[1]
    # a rule keeps its class, unless another class is more frequent among its remaining rows
    for i, (rule, inside) in enumerate(decided):
        if inside[code(rule.answer)] < inside.max():
            decided[i] = (replace(rule, answer=rules.classes[int(np.argmax(inside))]), inside)
    return _with_counts(rules, decided, left, cover)


def counted(rules: RuleSet, cover: Cover) -> RuleSet:
    """Return the rules in the given order, with the counts of the rows that no earlier rule covers."""
    return _with_counts(rules, *_decided(rules, cover), cover)


def _decided(rules: Iterable[Rule], cover: Cover) -> tuple[list[tuple[Rule, Floats]], Floats]:
    """Return the rules with the class counts of their rows, and the class counts of the rows that no rule covers."""
    free = np.ones(cover.n_rows, dtype=bool)
    found = []
    for rule in rules:
        mine = cover.all_of(rule.conditions) & free
        free &= ~mine
        found.append((rule, cover.counts(mine)))
    return found, cover.counts(free)


def _with_counts(rules: RuleSet, decided: Iterable[tuple[Rule, Floats]], left: Floats, cover: Cover) -> RuleSet:
    """Return the rules with their counts; the default is the most frequent class of the uncovered rows, or of all."""
    kept = []
    for rule, inside in decided:
        n, right = float(inside.sum()), float(inside[rules.classes.index(rule.answer)])
        kept.append(replace(rule, support=n, confidence=right / n if n else 0.0, counts=tuple(inside.tolist())))
    counts = left if left.sum() > 0 else cover.counts(np.ones(cover.n_rows, dtype=bool))
    best = int(np.argmax(counts))
    confidence = float(counts[best] / counts.sum())
    default = Rule((), rules.classes[best], float(left.sum()), confidence, tuple(counts.tolist()))
    return RuleSet(rules.target, rules.classes, tuple(kept), default)
