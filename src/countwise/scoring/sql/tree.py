"""Trees, rule lists and bins as SQL: nested CASE expressions, or sums over leaves if rows may be divided."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from countwise.errors import OptionError, check_flag
from countwise.scoring.plan import Choices, RangeTerm, Rules
from countwise.scoring.sql.cells import SqlCells, comparison, holds, spelled
from countwise.scoring.sql.dialects import Dialect, added, number
from countwise.scoring.sql.readings import as_double, as_seconds
from countwise.scoring.sql.steps import Steps

__all__ = ["choice_expression", "choice_query", "range_query", "rule_query"]


def rule_query(rules: Rules, table: str, dialect: str = "duckdb", *, proba: bool = True) -> str:
    """Return the query of a rule list: all columns, the class and its probabilities; NULL for no prediction."""
    steps = Steps(table, dialect, rules.inputs)
    d, name = steps.dialect, f"predicted {rules.target}"
    predictions = [d.literal(None if c is None else rules.classes[c]) for c in rules.answers]
    tests = [" AND ".join(holds(test, steps.cells) for test in rule) or "1 = 1" for rule in rules.rules]

    def first(found: list[str]) -> str:
        whens = [f"WHEN {test} THEN {text}" for test, text in zip(tests, found, strict=False)]
        return "\n    ".join(["CASE", *whens, f"ELSE {found[-1]}"]) + "\n  END" if whens else found[-1]

    if not check_flag("proba", proba):
        return steps.text({name: first(predictions)})
    steps.add("cw_deciding", {"cw_rule": first([str(i) for i in range(len(predictions))])}, once=True)
    columns = [f"p{c}" for c in range(len(rules.classes))]
    rows = [
        [str(i), prediction, *("NULL" if rules.answers[i] is None else d.real(float(p)) for p in probabilities)]
        for i, (prediction, probabilities) in enumerate(zip(predictions, rules.shares, strict=True))
    ]
    steps.look_up("cw_rules", ["rule", "answer", *columns], rows)
    found = {
        f"cw_{c}": d.cast(f"cw_rules.{c}", "double") if d.name == "postgres" else f"cw_rules.{c}" for c in columns
    }
    steps.add("cw_found", {"cw_answer": "cw_rules.answer", **found}, ["cw_rules ON cw_rule = cw_rules.rule"])
    return steps.text({name: "cw_answer", **{f"P({v})": f"cw_p{c}" for c, v in enumerate(rules.classes)}})


def range_query(bins: RangeTerm, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
    """Return the query that discretizes the columns of the training data; `keep` names further columns to select."""
    d = Dialect(dialect)
    names = [*(name for name in keep if name not in bins.columns), *bins.columns]
    read, found = [], list[tuple[str, str]]()
    for i, name in enumerate(names):
        x, alias = f"cw_row.{d.identifier(name)}", f"cw_{i}"
        reading = x if name not in bins.edges else as_seconds(d, x) if bins.inputs.get(name) else as_double(d, x)
        read.append(f"{reading} AS {alias}")
        found += _columns(bins, name, d, alias) if name in bins.edges else [(name, alias)]
    d.check_names(names, ())
    d.check_names((), (name for name, _ in found))
    cells, lines = ",\n    ".join(read), ",\n  ".join(f"{text} AS {d.identifier(name)}" for name, text in found)
    source = f"WITH cw_cells AS (\n  SELECT {cells}\n  FROM {d.table(table)} AS cw_row\n)"
    return f"{source}\nSELECT\n  {lines}\nFROM cw_cells"


def _columns(bins: RangeTerm, name: str, d: Dialect, x: str) -> list[tuple[str, str]]:
    """Return the names and expressions of the columns of a discretized column."""
    labels = bins.labels[name]
    if bins.encode == "onehot":
        indicators = [["1" if j == i else "0" for j in range(len(labels))] for i in range(len(labels))]
        return [
            (f"{name} {label}", _case(bins, name, d, x, own)) for label, own in zip(labels, indicators, strict=True)
        ]
    values = [d.literal(label) for label in labels] if bins.encode == "labels" else list(map(str, range(len(labels))))
    return [(name, _case(bins, name, d, x, values))]


def _case(bins: RangeTerm, name: str, d: Dialect, x: str, values: Sequence[str]) -> str:
    """Return the value of the bin of a number; NULL where it is missing or in no bin."""
    missing = " ELSE 0" if bins.encode == "onehot" and not bins.keep else ""
    if name in bins.values:
        pairs = zip(bins.values[name].tolist(), values, strict=True)
        equal = "\n    ".join(f"WHEN {x} = {number(e)} THEN {value}" for e, value in pairs)
        unseen = f" WHEN {d.finite(x)} THEN 0" if bins.encode == "onehot" else ""
        return f"CASE {equal}{unseen}{missing} END"
    whens = [
        f"WHEN {x} <= {number(float(e))} THEN {value}" for e, value in zip(bins.edges[name], values, strict=False)
    ]
    inner = "\n    ".join(["CASE", *whens, f"ELSE {values[-1]} END"]) if whens else values[-1]
    return f"CASE WHEN {d.finite(x)} THEN {inner}{missing} END"


_DEEPEST = 40  # maximum indentation
_MOST_FACTORS = 100_000  # about 10 MB of SQL
_MOST_DEEP = 150  # maximum depth of nested sums; DuckDB accepts 1000 nested expressions
_SHALLOW, _AT_ONCE = 12, 8  # levels of the tree; SQLite accepts about 15 nested CASE expressions


def choice_expression(tree: Choices, dialect: str = "duckdb", *, proba: bool = False, missing: bool = True) -> str:
    """Return the tree as an expression over its columns; see the method `to_sql` of the trees."""
    d = Dialect(dialect)
    divided = missing and tree.parts_rows
    branches = _Branches(tree, SqlCells(d, "inside" if missing else "raw", tree.inputs))
    if divided:
        _check_size(tree, 1 if not tree.classes else len(tree.classes) * (1 if proba else len(tree.classes)))

    def prediction(c: int) -> str:
        leaves = tree.answers[:, c] if tree.classes else tree.answers
        return _summed(branches, leaves.tolist()) if divided else _nested(branches, _texts(d, leaves))

    if proba:
        return ",\n".join(f"{prediction(c)} AS {d.identifier(f'P({v})')}" for c, v in enumerate(tree.classes))
    if not tree.classes:
        return prediction(0)
    if not divided:
        return _nested(branches, [d.literal(tree.classes[c]) for c in tree.best])
    return _largest(d, tree, [prediction(c) for c in range(len(tree.classes))])


def choice_query(
    tree: Choices, table: str, dialect: str = "duckdb", *, proba: bool = True, missing: bool = True
) -> str:
    """Return the query of a tree: all columns, and the class and its probabilities, or the predicted number.

    Nested CASE expressions find the leaf of a row, whose prediction is looked up. If rows with missing values are
    divided among the branches, the prediction of such a row is a sum over the branches. Deep trees take several steps
    of a few levels each.
    """
    steps = Steps(table, dialect, tree.inputs)
    d, k = steps.dialect, len(tree.classes)
    divided = missing and tree.parts_rows
    if divided:
        _check_size(tree, max(1, k))
    name, levels = f"predicted {tree.target}", _levels(tree)
    if not divided and not (proba and k) and len(levels) == 1:
        predictions = [d.literal(tree.classes[c]) for c in tree.best] if k else _texts(d, tree.answers)
        return steps.text({name: _nested(_Branches(tree, steps.cells), predictions, 1)})
    branches = _NamedBranches(tree, steps) if divided else _Branches(tree, steps.cells)
    _find_leaf(branches, steps, levels)
    leaves = tree.answers if k else tree.answers[:, None]
    _look_up_leaves(tree, steps, leaves)
    columns = [f"p{c}" for c in range(leaves.shape[1])]
    sums = _sums(branches, steps, levels, leaves) if divided else []
    found = {}
    for c, column in enumerate(columns):
        own = f"COALESCE(cw_leaves.{column}, {sums[c]})" if divided else f"cw_leaves.{column}"
        found[f"cw_{column}"] = d.cast(f"({own})", "double") if d.name == "postgres" else own
    if k:
        found["cw_answer"] = "cw_leaves.answer"
    steps.add("cw_found", found, ["cw_leaves ON cw_leaf = cw_leaves.leaf"], once=True)
    if not k:
        return steps.text({name: "cw_p0"})
    prediction = "cw_answer"
    if divided:
        prediction = f"COALESCE(cw_answer, {_largest(d, tree, [f'cw_p{c}' for c in range(k)])})"
    given = {f"P({v})": f"cw_p{c}" for c, v in enumerate(tree.classes)} if proba else {}
    return steps.text({name: prediction, **given})


def _levels(tree: Choices) -> list[list[int]]:
    """Return the start nodes of each step: the root and, in deep trees, the inner nodes of every eighth level."""
    depths = _depths(tree)
    if max(depths) <= _SHALLOW:
        return [[0]]
    inner = [k for k, node in enumerate(tree.nodes) if node.children]
    return [[k for k in inner if depths[k] == deep] for deep in range(0, max(depths), _AT_ONCE)]


def _find_leaf(branches: _Branches, steps: Steps, levels: list[list[int]]) -> None:
    """Add the steps that find the leaf of each row; NULL for a divided row."""
    numbers = [str(i) for i in range(len(branches.tree.nodes))]
    stops = {k for level in levels[1:] for k in level}
    for i, level in enumerate(levels):
        name, before = ("cw_leaf" if level is levels[-1] else f"cw_at{i}"), f"cw_at{i - 1}"
        expression = _nested(branches, numbers, 2, stops=stops)
        if i:
            whens = [f"WHEN {before} = {k} THEN {_nested(branches, numbers, 3, start=k, stops=stops)}" for k in level]
            expression = "\n      ".join(["CASE", *whens, f"ELSE {before}"]) + "\n    END"
        steps.add(f"cw_ways{i or ''}", {name: expression}, once=True)


def _look_up_leaves(tree: Choices, steps: Steps, leaves: Any) -> None:
    d, k = steps.dialect, len(tree.classes)
    rows = [
        [str(i), *([d.literal(tree.classes[tree.best[i]])] if k else []), *_texts(d, leaves[i])]
        for i, node in enumerate(tree.nodes)
        if not node.children
    ]
    columns = [f"p{c}" for c in range(leaves.shape[1])]
    steps.look_up("cw_leaves", ["leaf", *(["answer"] if k else []), *columns], rows)


def _sums(branches: _Branches, steps: Steps, levels: list[list[int]], leaves: Any) -> list[str]:
    """Return the sum over all branches, for each class; the lower levels of deep trees take separate steps."""
    known: list[dict[int, str]] = [{} for _ in range(leaves.shape[1])]
    for i in range(len(levels) - 1, 0, -1):
        fresh = {}
        for c, below in enumerate(known):
            for k in levels[i]:
                fresh[f"cw_v{k}_{c}"] = _summed(branches, leaves[:, c].tolist(), k, below)
            below |= {k: f"cw_v{k}_{c}" for k in levels[i]}
        steps.add(f"cw_below{i}", fresh, once=True)
    return [_summed(branches, leaves[:, c].tolist(), 0, below) for c, below in enumerate(known)]


def _texts(d: Dialect, numbers: Any) -> list[str]:
    return [d.real(float(x)) for x in numbers]


def _largest(d: Dialect, tree: Choices, probabilities: list[str]) -> str:
    """Return the first class with the largest probability, rounded because sums have rounding errors."""
    rounded = [d.rounded(probability, 12) for probability in probabilities]
    lines = [
        f"WHEN {' AND '.join(f'{rounded[c]} >= {other}' for other in rounded[c + 1 :])} THEN {d.literal(v)}"
        for c, v in enumerate(tree.classes[:-1])
    ]
    last = d.literal(tree.classes[-1])
    return "\n  ".join(["CASE", *lines, f"ELSE {last}"]) + "\nEND" if lines else last


class _Branches:
    """Conditions for the branches of each node, written as tests of the columns."""

    def __init__(self, tree: Choices, cells: SqlCells) -> None:
        self.tree, self.cells = tree, cells

    def goes(self, k: int, b: int) -> str:
        """Return the condition that the test of child b of node k holds."""
        return holds(self.tree.nodes[k].tests[b], self.cells)

    def placed(self, k: int) -> str:
        """Return the condition that any test of node k holds."""
        return holds(self.tree.nodes[k].placed, self.cells)


class _NamedBranches(_Branches):
    """Conditions for the branches, where a previous step has computed the branch of each node."""

    def __init__(self, tree: Choices, steps: Steps) -> None:
        super().__init__(tree, steps.cells)
        branches = {f"cw_b{k}": self._branch(k) for k, node in enumerate(tree.nodes) if node.children}
        steps.add("cw_asked", branches, once=True)

    def _branch(self, k: int) -> str:
        """Return the number of the child whose test holds; NULL if none does."""
        tests, d = self.tree.nodes[k].tests, self.cells.dialect
        if tests[0].domain is None:
            whens = [f"WHEN {holds(test, self.cells)} THEN {b}" for b, test in enumerate(tests) if not test.missing]
            return f"CASE {' '.join(whens)} END"
        kind = comparison(tests[0].domain)
        named = [(spelled(d, v, kind), b) for b, test in enumerate(tests) for v in test.values or ()]
        cell = self.cells.name(tests[0].column, tests[0].domain)
        return f"CASE {cell} {' '.join(f'WHEN {text} THEN {b}' for text, b in named)} END"

    def goes(self, k: int, b: int) -> str:
        """Return the condition that the test of child b of node k holds."""
        return f"cw_b{k} = {b}"

    def placed(self, k: int) -> str:
        """Return the condition that any test of node k holds."""
        return f"cw_b{k} IS NOT NULL"


def _nested(
    branches: _Branches, answers: Sequence[str], depth: int = 0, *, start: int = 0, stops: Collection[int] = ()
) -> str:
    """Return nested CASE expressions down to the leaves and `stops`; NULL for a divided row."""
    tree = branches.tree
    lines: list[str] = []
    stack: list[tuple[str, int, int, str]] = [("node", start, 0, "")]  # what to write, node, depth, prefix
    while stack:
        what, k, deep, before = stack.pop()
        pad = "  " * min(deep + depth, _DEEPEST)
        if what == "end":
            lines.append(f"{pad}END")
            continue
        node = tree.nodes[k]
        if not node.children or (k in stops and k != start):
            lines.append(f"{pad}{before}{answers[k]}")
            continue
        lines.append(f"{pad}{before}CASE")
        stack.append(("end", k, deep, ""))
        if node.lost is not None:
            stack.append(("node", node.children[node.lost], deep + 1, "ELSE "))
        tested = [b for b, test in enumerate(node.tests) if b != node.lost and not test.missing]
        stack += [("node", node.children[b], deep + 1, f"WHEN {branches.goes(k, b)} THEN ") for b in reversed(tested)]
    return "\n".join(lines).lstrip()


def _summed(
    branches: _Branches, answers: Sequence[float], start: int = 0, known: Mapping[int, str] | None = None
) -> str:
    """Return nested sums over the branches: the fraction of the row in a branch times the result below it."""
    d, nodes, known = branches.cells.dialect, branches.tree.nodes, known or {}
    order, stack = [], [start]
    while stack:
        k = stack.pop()
        order.append(k)
        stack += nodes[k].children if k not in known else ()
    found = dict(known)
    for k in reversed(order):  # children before their parents; zeros are omitted
        if k in known:
            continue
        if not nodes[k].children:
            found[k] = d.real(float(answers[k])) if answers[k] else ""
            continue
        below = [(b, found[child]) for b, child in enumerate(nodes[k].children) if found[child]]
        text = added([f"{_fraction(branches, k, b)} * {text}" for b, text in below], "\n + ")
        found[k] = f"({text})" if below else ""
    return found[start] or d.real(0.0)


def _fraction(branches: _Branches, k: int, b: int) -> str:
    """Return the fraction of a row that goes to child b of node k."""
    node = branches.tree.nodes[k]
    unmatched = branches.cells.dialect.real(node.shares[b])
    if node.tests[b].missing:
        return f"(CASE WHEN {branches.placed(k)} THEN 0e0 ELSE {unmatched} END)"
    return f"(CASE WHEN {branches.goes(k, b)} THEN 1e0 WHEN {branches.placed(k)} THEN 0e0 ELSE {unmatched} END)"


def _depths(tree: Choices) -> list[int]:
    depths = [0] * len(tree.nodes)
    for k, node in enumerate(tree.nodes):
        for child in node.children:
            depths[child] = depths[k] + 1
    return depths


def _check_size(tree: Choices, times: int) -> None:
    """Raise an error if the query would be too large for databases."""
    leaves, deepest, factors = (
        sum(not node.children for node in tree.nodes),
        max(_depths(tree)),
        len(tree.nodes) * times,
    )
    if factors > _MOST_FACTORS or deepest > _MOST_DEEP:
        raise OptionError(
            f"The tree is too large or too deep for SQL that divides rows with missing values among its branches: "
            f"it has {leaves} leaves and depth {deepest}, and the query would have {factors} factors.",
            hint="use to_sql(missing=False), a smaller tree, or a tree with missing='majority'.",
        )
