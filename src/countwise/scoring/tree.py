"""Trees, rules and cuts in the engine: predictions as new columns of the same kind of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise.engines import query as nw
from countwise.scoring.expressions import ScoringQuery, all_of, first, first_of, ranged, real, written
from countwise.scoring.plan import Choices, RangeTerm, Rules

__all__ = ["chosen", "cut", "ruled"]


def chosen(X: Any, tree: Choices, *, proba: bool = True, reasons: int = 0) -> Any:
    """The frame with the class of a tree and its probabilities, or its number."""
    asked, answer, shares, named = ScoringQuery.open(X, tree, proba, reasons)
    plan, k = _descended(asked, tree), len(tree.classes)
    answers = {answer: nw.col("cw_p0")}
    if k:
        rounded = [nw.col(f"cw_q{c}") for c in range(k)]
        plan = plan.with_columns(**{f"cw_q{c}": nw.col(f"cw_p{c}").round(12) for c in range(k)})
        largest = [all_of([rounded[c] >= other for other in rounded[c + 1 :]]) for c in range(k - 1)]
        cases = [(is_it, nw.lit(v)) for is_it, v in zip(largest, tree.classes[:-1], strict=True)]
        answers = {answer: first_of(cases, nw.lit(tree.classes[-1]))}
        answers |= {name: nw.col(f"cw_p{c}") for c, name in enumerate(shares)}
    answers |= {name: _reason(asked, tree, r) for r, name in enumerate(named)}
    return asked.given(plan, answers)


def _descended(asked: ScoringQuery, tree: Choices) -> Any:
    """The predictions of the leaves, times the share of the row that reaches each; one step for each level."""
    shares = tree.answers if tree.classes else tree.answers[:, None]
    sums = [f"cw_p{c}" for c in range(shares.shape[1])]
    at_root = shares[0] if not tree.nodes[0].children else np.zeros(len(sums))
    start = {name: first(p) for name, p in zip(sums, at_root, strict=True)}
    plan = asked.frame.with_columns(cw_w0=first(1.0), **start)
    level = [k for k in (0,) if tree.nodes[k].children]
    while level:
        plan = plan.with_columns(**{f"cw_b{k}": asked.way(tree.nodes[k]) for k in level})
        below = [(k, b, child) for k in level for b, child in enumerate(tree.nodes[k].children)]
        plan = plan.with_columns(**{f"cw_w{child}": _part(tree, k, b) for k, b, child in below})
        leaves = [child for _, _, child in below if not tree.nodes[child].children]
        level = [child for _, _, child in below if tree.nodes[child].children]
        ended = {
            name: nw.total([nw.col(name), *(nw.col(f"cw_w{k}") * float(shares[k, c]) for k in leaves)])
            for c, name in enumerate(sums)
        }
        plan = plan.with_columns(**ended).select(*asked.dtypes, *sums, *(f"cw_w{k}" for k in level))
    return plan


def _part(tree: Choices, k: int, b: int) -> Any:
    """The part of a row that reaches a child."""
    way, whole = nw.col(f"cw_b{k}"), nw.col(f"cw_w{k}")
    lost = nw.when(way == -1.0).then(whole * tree.nodes[k].shares[b]).otherwise(real(0.0))
    return nw.when(way == float(b)).then(whole).otherwise(lost)


def _reason(asked: ScoringQuery, tree: Choices, r: int, k: int = 0, met: tuple[str, ...] = ()) -> Any:
    """The name of the column tested at one place of the path; none where a row is divided before."""
    node = tree.nodes[k]
    if not node.children:
        return nw.lit("")
    column = node.tests[0].column
    met = met if column in met else (*met, column)
    if len(met) > r:
        return nw.lit(met[r])
    below = [_reason(asked, tree, r, child, met) for child in node.children]
    pairs = zip(node.tests, below, strict=True)
    cases = [(asked.holds(test), said) for test, said in pairs if not test.missing]
    return first_of(cases[::-1], below[node.lost] if node.lost is not None else nw.lit(""))


def ruled(X: Any, rules: Rules, *, proba: bool = True, reasons: int = 0) -> Any:
    """The frame with the class of a list of rules and its probabilities; null where it is left open."""
    asked, answer, shares, named = ScoringQuery.open(X, rules, proba, reasons)
    always = nw.lit(1) == 1
    holding = [all_of([asked.holds(test) for test in rule]) if rule else always for rule in rules.rules]
    found = [nw.when(holds).then(nw.lit(i)) for i, holds in enumerate(holding)]
    plan = asked.frame.with_columns(cw_rule=nw.coalesce(*found, nw.lit(len(found))) if found else nw.lit(0))
    answers = {answer: _of_rule([None if c is None else rules.classes[c] for c in rules.answers])}
    for c, name in enumerate(shares):
        answers[name] = _of_rule(
            [None if a is None else float(p) for a, p in zip(rules.answers, rules.shares[:, c], strict=True)]
        )
    for r, name in enumerate(named):
        asks = [list(dict.fromkeys(test.column for test in rule)) for rule in (*rules.rules, ())]
        answers[name] = _of_rule([columns[r] if r < len(columns) else "" for columns in asks])
    return asked.given(plan, answers)


def _of_rule(cells: Sequence[Any]) -> Any:
    """What belongs to the deciding rule, by halving; null where nothing does."""
    rule, known = nw.col("cw_rule"), [i for i, cell in enumerate(cells) if cell is not None]

    def found(low: int, high: int) -> Any:
        if high - low == 1:
            return written(cells[known[low]])
        middle = (low + high) // 2
        return nw.when(rule < known[middle]).then(found(low, middle)).otherwise(found(middle, high))

    inner = found(0, len(known))
    return inner if len(known) == len(cells) else nw.when(rule <= known[-1]).then(inner)


def cut(X: Any, ranges: RangeTerm) -> Any:
    """The frame with its numbers cut into ranges, in place; other columns stay as they are."""
    asked = ScoringQuery(X, [name for name in ranges.columns if name in ranges.edges], [])
    found: list[Any] = []
    for name in asked.dtypes:
        if name not in ranges.edges:
            found.append(nw.col(name))
            continue
        x, edges, labels = asked.number(name), ranges.edges[name], ranges.labels[name]
        known = nw.when(~x.is_null())
        if ranges.encode == "onehot":
            for i, label in enumerate(labels):
                inside = known.then(ranged(x, edges, [float(j == i) for j in range(len(labels))]))
                found.append((inside if ranges.keep else inside.otherwise(real(0.0))).alias(f"{name} {label}"))
            continue
        cells = list(labels) if ranges.encode == "labels" else [float(i) for i in range(len(labels))]
        found.append(known.then(ranged(x, edges, cells)).alias(name))
    return asked.frame.select(*found).to_native()
