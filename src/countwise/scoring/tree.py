"""Predictions of trees and rule lists, and discretization, in an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise.engines import query as nw
from countwise.scoring.expressions import ScoringQuery, all_of, binned, first, first_of, real, written
from countwise.scoring.plan import Choices, RangeTerm, Rules, exact_bins

__all__ = ["chosen", "cut", "ruled"]


def chosen(X: Any, tree: Choices, *, proba: bool = True, reasons: int = 0) -> Any:
    """Add the class that a tree predicts and its probabilities, or the predicted number, to an engine table."""
    query, predicted, probabilities, named = ScoringQuery.open(X, tree, proba, reasons)
    plan, k = _descended(query, tree), len(tree.classes)
    results = {predicted: nw.col("cw_p0")}
    if k:
        if tree.parts_rows:  # rounding errors of the fractions must not leave a sum other than 1
            plan = plan.with_columns(cw_total=nw.total([nw.col(f"cw_p{c}") for c in range(k)]))
            plan = plan.with_columns(**{f"cw_p{c}": nw.col(f"cw_p{c}") / nw.col("cw_total") for c in range(k)})
        plan = plan.with_columns(**{f"cw_q{c}": nw.col(f"cw_p{c}").round(12) for c in range(k)})
        plan = plan.with_columns(cw_top=nw.max_horizontal(*(f"cw_q{c}" for c in range(k))))
        cases = [(nw.col(f"cw_q{c}") >= nw.col("cw_top"), nw.lit(v)) for c, v in enumerate(tree.classes[:-1])]
        results = {predicted: first_of(cases, nw.lit(tree.classes[-1]))}
        results |= {name: nw.col(f"cw_p{c}") for c, name in enumerate(probabilities)}
    results |= {name: _reason(query, tree, r) for r, name in enumerate(named)}
    return query.given(plan, results)


def _descended(query: ScoringQuery, tree: Choices) -> Any:
    """Sum the predictions of the leaves, weighted by the fraction of the row in each; one step for each level."""
    shares = tree.answers if tree.classes else tree.answers[:, None]
    sums = [f"cw_p{c}" for c in range(shares.shape[1])]
    at_root = shares[0] if not tree.nodes[0].children else np.zeros(len(sums))
    start = {name: first(p) for name, p in zip(sums, at_root, strict=True)}
    plan = query.frame.with_columns(cw_w0=first(1.0), **start)
    level = [k for k in (0,) if tree.nodes[k].children]
    while level:
        plan = plan.with_columns(**{f"cw_b{k}": query.branch(tree.nodes[k]) for k in level})
        below = [(k, b, child) for k in level for b, child in enumerate(tree.nodes[k].children)]
        plan = plan.with_columns(**{f"cw_w{child}": _fraction(tree, k, b) for k, b, child in below})
        leaves = [child for _, _, child in below if not tree.nodes[child].children]
        level = [child for _, _, child in below if tree.nodes[child].children]
        ended = {
            name: nw.total([nw.col(name), *(nw.col(f"cw_w{k}") * float(shares[k, c]) for k in leaves)])
            for c, name in enumerate(sums)
        }
        plan = plan.with_columns(**ended).select(*query.dtypes, *sums, *(f"cw_w{k}" for k in level))
    return plan


def _fraction(tree: Choices, k: int, b: int) -> Any:
    """Return the fraction of a row that reaches child b of node k."""
    branch, whole = nw.col(f"cw_b{k}"), nw.col(f"cw_w{k}")
    unmatched = nw.when(branch == -1.0).then(whole * tree.nodes[k].shares[b]).otherwise(real(0.0))
    return nw.when(branch == float(b)).then(whole).otherwise(unmatched)


def _reason(query: ScoringQuery, tree: Choices, r: int, k: int = 0, tested: tuple[str, ...] = ()) -> Any:
    """Return the name of the r-th column tested on the path; empty if the row is divided before."""
    node = tree.nodes[k]
    if not node.children:
        return nw.lit("")
    column = node.tests[0].column
    tested = tested if column in tested else (*tested, column)
    if len(tested) > r:
        return nw.lit(tested[r])
    below = [_reason(query, tree, r, child, tested) for child in node.children]
    pairs = zip(node.tests, below, strict=True)
    cases = [(query.holds(test), reason) for test, reason in pairs if not test.missing]
    return first_of(cases[::-1], below[node.lost] if node.lost is not None else nw.lit(""))


def ruled(X: Any, rules: Rules, *, proba: bool = True, reasons: int = 0) -> Any:
    """Add the class that a rule list predicts and its probabilities to an engine table; null for no prediction."""
    query, predicted, probabilities, named = ScoringQuery.open(X, rules, proba, reasons)
    always = nw.lit(1) == 1
    conditions = [all_of([query.holds(test) for test in rule]) if rule else always for rule in rules.rules]
    found = [nw.when(condition).then(nw.lit(i)) for i, condition in enumerate(conditions)]
    plan = query.frame.with_columns(cw_rule=nw.coalesce(*found, nw.lit(len(found))) if found else nw.lit(0))
    results = {predicted: _of_rule([None if c is None else rules.classes[c] for c in rules.answers])}
    for c, name in enumerate(probabilities):
        results[name] = _of_rule(
            [None if a is None else float(p) for a, p in zip(rules.answers, rules.shares[:, c], strict=True)]
        )
    for r, name in enumerate(named):
        tested = [list(dict.fromkeys(test.column for test in rule)) for rule in (*rules.rules, ())]
        results[name] = _of_rule([columns[r] if r < len(columns) else "" for columns in tested])
    return query.given(plan, results)


def _of_rule(values: Sequence[Any]) -> Any:
    """Return the value of the deciding rule, found by binary search; null where it is None."""
    rule, known = nw.col("cw_rule"), [i for i, value in enumerate(values) if value is not None]

    def found(low: int, high: int) -> Any:
        if high - low == 1:
            return written(values[known[low]])
        middle = (low + high) // 2
        return nw.when(rule < known[middle]).then(found(low, middle)).otherwise(found(middle, high))

    inner = found(0, len(known))
    return inner if len(known) == len(values) else nw.when(rule <= known[-1]).then(inner)


def cut(X: Any, bins: RangeTerm) -> Any:
    """Discretize numeric columns of an engine table in place; other columns stay as they are."""
    query = ScoringQuery(X, [name for name in bins.columns if name in bins.edges], [])
    found: list[Any] = []
    for name in query.dtypes:
        if name not in bins.edges:
            found.append(nw.col(name))
            continue
        x, edges, labels = query.number(name), bins.edges[name], bins.labels[name]
        known, codes = nw.when(~x.is_null()), list(range(len(labels)))
        if name in bins.values:
            edges, codes = exact_bins(bins.values[name])
        if bins.encode == "onehot":
            for i, label in enumerate(labels):
                inside = known.then(binned(x, edges, [float(j == i) for j in codes]))
                found.append((inside if bins.keep else inside.otherwise(real(0.0))).alias(f"{name} {label}"))
            continue
        values = [None if i < 0 else labels[i] if bins.encode == "labels" else float(i) for i in codes]
        found.append(known.then(binned(x, edges, values)).alias(name))
    return query.frame.select(*found).to_native()
