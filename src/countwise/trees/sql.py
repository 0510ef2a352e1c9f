"""Trees as SQL: one CASE in another, or a sum over leaves where rows may go down several branches."""

from __future__ import annotations

from typing import Any

from countwise.attributes import Numeric
from countwise.errors import OptionError
from countwise.quoting import LEAST, MOST, Dialect
from countwise.trees.conditions import Condition, condition_of
from countwise.trees.features import Feature
from countwise.trees.paths import shares_of

__all__ = ["case_of", "selected", "where"]

_DEEPEST = 40  # lines further down are not moved further to the right
_MOST_FACTORS = 1_000_000  # some 100 MB of SQL


def case_of(model: Any, *, proba: bool, missing: bool, dialect: str = "duckdb") -> str:
    """The expression; see `to_sql` of the trees."""
    d = Dialect(dialect)
    words = [f.name for f in model._features if f.word is not None]
    if words and any(model._features[j].word is not None for j in model._used):
        raise OptionError("A tree that asks for words of a text cannot be written as SQL.")
    classes = [] if model._numbers else model.classes_.tolist()
    whole = missing and (model.tree_.missing[model.tree_.attribute >= 0] < 0).any()
    if proba and model._numbers:
        raise OptionError("A tree that tells a number has no probabilities.", hint="proba=False.")
    if whole:
        _check_size(model, 1 if model._numbers else len(classes) * (1 if proba else len(classes)))
    if proba:
        every = [_expression(d, model, model._probabilities[:, c].tolist(), whole) for c in range(len(classes))]
        return ",\n".join(f"{text} AS {d.identifier(f'P({c})')}" for text, c in zip(every, classes, strict=True))
    if model._numbers:
        return _expression(d, model, model._means.tolist(), whole)
    if not whole:
        return _nested(d, model, [classes[i] for i in model._best])
    shares = [
        f"ROUND({_expression(d, model, model._probabilities[:, c].tolist(), whole)}, 12)" for c in range(len(classes))
    ]
    lines = [
        f"  WHEN {' AND '.join(f'{shares[c]} >= {other}' for other in shares[c + 1 :])} THEN {d.literal(classes[c])}"
        for c in range(len(classes) - 1)
    ]
    return "\n".join(["CASE", *lines, f"  ELSE {d.literal(classes[-1])}", "END"]) if lines else d.literal(classes[0])


def _expression(d: Dialect, model: Any, answers: list[Any], whole: bool) -> str:
    return _summed(d, model, answers) if whole else _nested(d, model, answers)


def _nested(d: Dialect, model: Any, answers: list[Any]) -> str:
    """A CASE for each node, one in another."""
    tree, features = model.tree_, model._features
    sizes = tree.sizes
    lines: list[str] = []
    waiting: list[tuple[str, int, int, str]] = [("node", 0, 0, "")]  # what to write, node, depth, what stands before
    while waiting:
        what, k, depth, before = waiting.pop()
        pad = "  " * min(depth, _DEEPEST)
        if what == "end":
            lines.append(f"{pad}END")
            continue
        if tree.attribute[k] < 0:
            lines.append(f"{pad}{before}{d.literal(answers[k])}")
            continue
        lines.append(f"{pad}{before}CASE")
        feature = features[tree.attribute[k]]
        first = int(tree.children[k])
        waiting.append(("end", k, depth, ""))
        lost = int(tree.missing[k])
        branches = [b for b in range(int(sizes[k])) if not condition_of(tree, features, first + b).missing]
        if lost >= 0:
            waiting.append(("node", first + lost, depth + 1, "ELSE "))
        for b in reversed(branches):
            test = where(condition_of(tree, features, first + b), feature, d)
            waiting.append(("node", first + b, depth + 1, f"WHEN {test} THEN "))
    return "\n".join(lines)


def _summed(d: Dialect, model: Any, answers: list[Any]) -> str:
    """Of each leaf its answer times the share of the row that comes to it."""
    tree, features = model.tree_, model._features
    shares = shares_of(tree, model._node_weights)
    terms = []
    for leaf in tree.leaves.tolist():
        if answers[leaf] == 0 or (leaf and model._node_weights[leaf] <= 0 and not _reachable(tree, leaf)):
            continue
        factors = [_share(d, tree, features, shares, k) for k in tree.path(leaf)[1:]]
        terms.append(" * ".join([*factors, d.literal(float(answers[leaf]))]))
    return "(" + "\n + ".join(terms or [d.literal(0.0)]) + ")"


def _check_size(model: Any, times: int) -> None:
    """Refuse what no database would read."""
    tree = model.tree_
    factors = int(tree.depths[tree.leaves].sum()) * times
    if factors > _MOST_FACTORS:
        raise OptionError(
            f"The tree has {len(tree.leaves)} leaves, up to {int(tree.depths.max())} questions deep: SQL that sends "
            f"rows down several branches would have {factors} factors.",
            hint="to_sql(missing=False), a smaller tree, or missing='majority'.",
        )


def _reachable(tree: Any, leaf: int) -> bool:
    """Whether a value leads to a leaf, though no training row did."""
    return bool(tree.parent[leaf] >= 0)


def _share(d: Dialect, tree: Any, features: Any, shares: Any, k: int) -> str:
    """Which share of a row goes down to a node from its parent."""
    parent = int(tree.parent[k])
    feature = features[tree.attribute[parent]]
    condition = condition_of(tree, features, k)
    lost = int(tree.missing[parent])
    known = _known(d, tree, parent, feature)
    inside = "1e0" if not condition.missing else "0e0"
    gap = d.literal(float(shares[k])) if lost < 0 else "1e0" if int(tree.children[parent]) + lost == k else "0e0"
    if condition.missing:
        return f"(CASE WHEN {known} THEN 0e0 ELSE {gap} END)"
    return f"(CASE WHEN {where(condition, feature, d)} THEN {inside} WHEN {known} THEN 0e0 ELSE {gap} END)"


def _known(d: Dialect, tree: Any, k: int, feature: Feature) -> str:
    """Whether a node can place a value: it is there, and has a branch."""
    column = d.identifier(feature.column)
    groups = tree.groups_of(k)
    if not len(groups):
        return f"{column} BETWEEN {LEAST} AND {MOST}"  # NaN is not there
    values = feature.attribute.values  # type: ignore[union-attr]
    lost = int(tree.missing[k])
    placed = [d.literal(v) for v, b in zip(values, groups, strict=False) if b >= 0 and (b != lost or lost < 0)]
    return f"{column} IN ({', '.join(placed)})"


def where(condition: Condition, feature: Feature, d: Dialect) -> str:
    """A condition as SQL."""
    column = d.identifier(feature.column)
    is_number = isinstance(feature.attribute, Numeric)
    if condition.missing:
        gap = f"{column} IS NULL"
        return f"({gap} OR NOT {column} BETWEEN {LEAST} AND {MOST})" if is_number else gap
    if condition.values is not None:
        values = [d.literal(v) for v in condition.values]
        return f"{column} = {values[0]}" if len(values) == 1 else f"{column} IN ({', '.join(values)})"
    if condition.but is not None:
        but = set(condition.but)
        rest = [v for v in feature.attribute.values if v not in but]  # type: ignore[union-attr]
        return f"{column} IN ({', '.join(d.literal(v) for v in rest)})"
    tests = []
    if condition.low is not None:
        tests.append(f"{column} > {d.literal(condition.low)}")
    if condition.high is not None:
        tests.append(f"{column} <= {d.literal(condition.high)}")
    elif is_number:
        tests.append(f"{column} <= {MOST}")  # to most databases NaN is larger than all numbers
    return " AND ".join(tests) or f"{column} IS NOT NULL"


def selected(expression: str, table: str, dialect: str, name: str | None) -> str:
    """A query: all columns of a table, and an expression under a name."""
    d = Dialect(dialect)
    source = ".".join(d.identifier(part) for part in table.split("."))
    given = expression if name is None else f"{expression} AS {d.identifier(name)}"
    return f"SELECT *,\n{given}\nFROM {source}"
