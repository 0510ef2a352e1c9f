"""Trees, rules and cuts in the engine: answers as new columns of the same kind of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from countwise.sources.answers import total_of
from countwise.sources.asking import Asked, all_of, ranged
from countwise.terms import Choices, Ranges, Rules

__all__ = ["chosen", "cut", "ruled"]


def chosen(X: Any, tree: Choices, *, proba: bool = True, reasons: int = 0) -> Any:
    """The frame with the class of a tree and its probabilities, or its number."""
    import narwhals.stable.v2 as nw

    shares = [f"P({v})" for v in tree.classes] if proba else []
    named = [f"reason {r + 1}" for r in range(reasons)]
    given = [f"predicted {tree.target}", *shares, *named]
    asked = Asked(X, tree.columns, given)
    plan = _descended(asked, tree)
    if not tree.classes:
        answers = {given[0]: nw.col("cw_p0")}
    else:
        plan = plan.with_columns(**{f"cw_q{c}": nw.col(f"cw_p{c}").round(12) for c in range(len(tree.classes))})
        answers = {given[0]: _first_largest(tree)}
        answers |= {name: nw.col(f"cw_p{c}") for c, name in enumerate(shares)}
    answers |= {name: _reason(asked, tree, r) for r, name in enumerate(named)}
    return plan.with_columns(**answers).select(*asked.names, *given).to_native()


def _descended(asked: Asked, tree: Choices) -> Any:
    """What the leaves answer, times the share of the row that comes to each; a level of the tree a step."""
    import narwhals.stable.v2 as nw

    shares = tree.answers if tree.classes else tree.answers[:, None]
    sums = [f"cw_p{c}" for c in range(shares.shape[1])]
    root = {} if tree.nodes[0].children else {name: nw.lit(float(p)) for name, p in zip(sums, shares[0], strict=True)}
    plan = asked.frame.with_columns(cw_w0=nw.lit(1.0), **(root or {name: nw.lit(0.0) for name in sums}))
    level = [0]
    while level:
        inner = [k for k in level if tree.nodes[k].children]
        fresh = {
            f"cw_w{child}": nw.col(f"cw_w{k}") * _part(asked, tree, k, b)
            for k in inner
            for b, child in enumerate(tree.nodes[k].children)
        }
        if not fresh:
            break
        plan = plan.with_columns(**fresh)
        level = [child for k in inner for child in tree.nodes[k].children]
        leaves = [k for k in level if not tree.nodes[k].children]
        if leaves:
            plan = plan.with_columns(
                **{
                    name: total_of([nw.col(name), *(nw.col(f"cw_w{k}") * float(shares[k, c]) for k in leaves)])
                    for c, name in enumerate(sums)
                }
            )
        still = [f"cw_w{k}" for k in level if tree.nodes[k].children]
        plan = plan.select(*asked.names, *sums, *still)
    return plan


def _part(asked: Asked, tree: Choices, k: int, b: int) -> Any:
    """Which share of a row goes down to a child."""
    import narwhals.stable.v2 as nw

    node = tree.nodes[k]
    gap = nw.when(asked.holds(node.placed)).then(nw.lit(0.0)).otherwise(nw.lit(node.shares[b]))
    if node.tests[b].missing:
        return gap
    return nw.when(asked.holds(node.tests[b])).then(nw.lit(1.0)).otherwise(gap)


def _first_largest(tree: Choices) -> Any:
    import narwhals.stable.v2 as nw

    k = len(tree.classes)
    found = nw.lit(tree.classes[-1])
    for c in range(k - 2, -1, -1):
        largest = all_of([nw.col(f"cw_q{c}") >= nw.col(f"cw_q{other}") for other in range(c + 1, k)])
        found = nw.when(largest).then(nw.lit(tree.classes[c])).otherwise(found)
    return found


def _reason(asked: Asked, tree: Choices, r: int, k: int = 0, met: tuple[str, ...] = ()) -> Any:
    """The name of the column that is asked at some place of the way down; none where a row is parted before."""
    import narwhals.stable.v2 as nw

    node = tree.nodes[k]
    if not node.children:
        return nw.lit("")
    column = node.tests[0].column
    met = met if column in met else (*met, column)
    if len(met) > r:
        return nw.lit(met[r])
    below = [_reason(asked, tree, r, child, met) for child in node.children]
    found = below[node.lost] if node.lost is not None else nw.lit("")
    for test, said in zip(node.tests, below, strict=True):
        found = found if test.missing else nw.when(asked.holds(test)).then(said).otherwise(found)
    return found


def ruled(X: Any, rules: Rules, *, proba: bool = True, reasons: int = 0) -> Any:
    """The frame with the class of a list of rules and its probabilities; null where it is left open."""
    import narwhals.stable.v2 as nw

    shares = [f"P({v})" for v in rules.classes] if proba else []
    named = [f"reason {r + 1}" for r in range(reasons)]
    given = [f"predicted {rules.target}", *shares, *named]
    asked = Asked(X, rules.columns, given)
    always = nw.lit(1) == 1
    holding = [all_of([asked.holds(test) for test in rule]) if rule else always for rule in rules.rules]
    first = [nw.when(holds).then(nw.lit(i)) for i, holds in enumerate(holding)]
    plan = asked.frame.with_columns(cw_rule=nw.coalesce(*first, nw.lit(len(first))) if first else nw.lit(0))
    answers = {given[0]: _of_rule([None if c is None else rules.classes[c] for c in rules.answers])}
    for c, name in enumerate(shares):
        answers[name] = _of_rule(
            [None if a is None else float(p) for a, p in zip(rules.answers, rules.shares[:, c], strict=True)]
        )
    for r, name in enumerate(named):
        asks = [list(dict.fromkeys(test.column for test in rule)) for rule in (*rules.rules, ())]
        answers[name] = _of_rule([columns[r] if r < len(columns) else "" for columns in asks])
    return plan.with_columns(**answers).select(*asked.names, *given).to_native()


def _of_rule(cells: Sequence[Any]) -> Any:
    """What belongs to the deciding rule, by halving; null where nothing does."""
    import narwhals.stable.v2 as nw

    rule, known = nw.col("cw_rule"), [i for i, cell in enumerate(cells) if cell is not None]

    def found(low: int, high: int) -> Any:
        if high - low == 1:
            return nw.lit(cells[known[low]])
        middle = (low + high) // 2
        return nw.when(rule < known[middle]).then(found(low, middle)).otherwise(found(middle, high))

    inner = found(0, len(known))
    return inner if len(known) == len(cells) else nw.when(rule <= known[-1]).then(inner)


def cut(X: Any, ranges: Ranges) -> Any:
    """The frame with its numbers cut into ranges, in place; other columns stay as they are."""
    import narwhals.stable.v2 as nw

    asked = Asked(X, [name for name in ranges.columns if name in ranges.edges], [])
    names, fresh = list[str](), dict[str, Any]()
    for name in asked.names:
        if name not in ranges.edges:
            names.append(name)
            continue
        x, edges, labels = asked.number(name), ranges.edges[name], ranges.labels[name]
        if ranges.encode == "onehot":
            gap = nw.lit(0.0)
            for i, label in enumerate(labels):
                inside = nw.when(~x.is_null()).then(ranged(x, edges, [float(j == i) for j in range(len(labels))]))
                fresh[f"{name} {label}"] = inside if ranges.keep else inside.otherwise(gap)
                names.append(f"{name} {label}")
            continue
        cells = list(labels) if ranges.encode == "labels" else [float(i) for i in range(len(labels))]
        fresh[name] = nw.when(~x.is_null()).then(ranged(x, edges, cells))
        names.append(name)
    return asked.frame.with_columns(**fresh).select(*names).to_native()
