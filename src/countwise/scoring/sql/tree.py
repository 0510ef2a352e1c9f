"""Trees as SQL: one CASE in another, or a sum over leaves where rows may go down several branches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from countwise.errors import OptionError
from countwise.scoring.plan import Choices, RangeTerm, Rules, kind_of
from countwise.scoring.sql.cells import SqlCells, Steps, holds, spelled
from countwise.scoring.sql.dialects import Dialect, added, number

__all__ = ["choice_expression", "choice_query", "range_query", "rule_query"]


def rule_query(rules: Rules, table: str, dialect: str = "duckdb", *, proba: bool = True) -> str:
    """All columns of a table, and the class and its probabilities; NULL where the list leaves it open."""
    steps = Steps(table, dialect)
    d, name = steps.dialect, f"predicted {rules.target}"
    answers = [d.literal(None if c is None else rules.classes[c]) for c in rules.answers]
    tests = [" AND ".join(holds(test, steps.cells) for test in rule) or "1 = 1" for rule in rules.rules]

    def first(found: list[str]) -> str:
        whens = [f"WHEN {test} THEN {text}" for test, text in zip(tests, found, strict=False)]
        return "\n    ".join(["CASE", *whens, f"ELSE {found[-1]}"]) + "\n  END" if whens else found[-1]

    if not proba:
        return steps.text({name: first(answers)})
    steps.add("cw_deciding", {"cw_rule": first([str(i) for i in range(len(answers))])}, once=True)
    columns = [f"p{c}" for c in range(len(rules.classes))]
    rows = [
        [str(i), answer, *("NULL" if rules.answers[i] is None else d.real(float(p)) for p in shares)]
        for i, (answer, shares) in enumerate(zip(answers, rules.shares, strict=True))
    ]
    steps.look_up("cw_rules", ["rule", "answer", *columns], rows)
    found = {
        f"cw_{c}": d.cast(f"cw_rules.{c}", "double") if d.name == "postgres" else f"cw_rules.{c}" for c in columns
    }
    steps.add("cw_found", {"cw_answer": "cw_rules.answer", **found}, ["cw_rules ON cw_rule = cw_rules.rule"])
    return steps.text({name: "cw_answer", **{f"P({v})": f"cw_p{c}" for c, v in enumerate(rules.classes)}})


def range_query(ranges: RangeTerm, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
    """The columns of training, those that are cut as ranges; and others to be kept as they are."""
    d = Dialect(dialect)
    lines = [d.identifier(name) for name in keep if name not in ranges.columns]
    for name in ranges.columns:
        lines += _columns(ranges, name, d) if name in ranges.edges else [d.identifier(name)]
    return "SELECT\n  " + ",\n  ".join(lines) + f"\nFROM {d.table(table)}"


def _columns(ranges: RangeTerm, name: str, d: Dialect) -> list[str]:
    x, labels = d.cast(d.identifier(name), "double"), ranges.labels[name]
    if ranges.encode == "onehot":
        return [
            f"{_case(ranges, name, d, x, ['1' if j == i else '0' for j in range(len(labels))])} AS "
            f"{d.identifier(f'{name} {label}')}"
            for i, label in enumerate(labels)
        ]
    cells = (
        [d.literal(label) for label in labels] if ranges.encode == "labels" else list(map(str, range(len(labels))))
    )
    return [f"{_case(ranges, name, d, x, cells)} AS {d.identifier(name)}"]


def _case(ranges: RangeTerm, name: str, d: Dialect, x: str, cells: Sequence[str]) -> str:
    """The cell of the range that a number lies in; NULL where there is none."""
    whens = [
        f"WHEN {x} <= {number(float(e))} THEN {cell}" for e, cell in zip(ranges.edges[name], cells, strict=False)
    ]
    inner = "\n    ".join(["CASE", *whens, f"ELSE {cells[-1]} END"]) if whens else cells[-1]
    gap = " ELSE 0" if ranges.encode == "onehot" and not ranges.keep else ""
    return f"CASE WHEN {d.finite(x)} THEN {inner}{gap} END"


_DEEPEST = 40  # lines further down are not moved further to the right
_MOST_FACTORS = 100_000  # some 10 MB of SQL
_MOST_DEEP = 150  # sums in sums; DuckDB reads 1000 expressions in each other
_SHALLOW, _AT_ONCE = 12, 8  # levels; SQLite reads some 15 CASEs in each other


def choice_expression(tree: Choices, dialect: str = "duckdb", *, proba: bool = False, missing: bool = True) -> str:
    """The tree as an expression over its columns; see `to_sql` of the trees."""
    d = Dialect(dialect)
    parts = missing and tree.parts_rows
    ways = _Ways(tree, SqlCells(d, "inside" if missing else "raw"))
    if parts:
        _check_size(tree, 1 if not tree.classes else len(tree.classes) * (1 if proba else len(tree.classes)))

    def share(c: int) -> str:
        answers = tree.answers[:, c] if tree.classes else tree.answers
        return _summed(ways, answers.tolist()) if parts else _nested(ways, _texts(d, answers))

    if proba:
        return ",\n".join(f"{share(c)} AS {d.identifier(f'P({v})')}" for c, v in enumerate(tree.classes))
    if not tree.classes:
        return share(0)
    if not parts:
        return _nested(ways, [d.literal(tree.classes[c]) for c in tree.best])
    return _largest(d, tree, [share(c) for c in range(len(tree.classes))])


def choice_query(
    tree: Choices, table: str, dialect: str = "duckdb", *, proba: bool = True, missing: bool = True
) -> str:
    """All columns of a table, and the class and its probabilities, or the number.

    The leaf of a row is found by one CASE in another, and its answer looked up. A row that lacks a value comes to
    none where rows go down all branches: its answer is a sum over the branches. Deep trees are asked some levels at a
    time.
    """
    steps = Steps(table, dialect)
    d, k = steps.dialect, len(tree.classes)
    parts = missing and tree.parts_rows
    if parts:
        _check_size(tree, max(1, k))
    name, levels = f"predicted {tree.target}", _levels(tree)
    if not parts and not (proba and k) and len(levels) == 1:
        answers = [d.literal(tree.classes[c]) for c in tree.best] if k else _texts(d, tree.answers)
        return steps.text({name: _nested(_Ways(tree, steps.cells), answers, 1)})
    ways = _NamedWays(tree, steps) if parts else _Ways(tree, steps.cells)
    _find_leaf(ways, steps, levels)
    shares = tree.answers if k else tree.answers[:, None]
    _look_up_leaves(tree, steps, shares)
    columns = [f"p{c}" for c in range(shares.shape[1])]
    sums = _sums(ways, steps, levels, shares) if parts else []
    found = {}
    for c, column in enumerate(columns):
        own = f"COALESCE(cw_leaves.{column}, {sums[c]})" if parts else f"cw_leaves.{column}"
        found[f"cw_{column}"] = d.cast(f"({own})", "double") if d.name == "postgres" else own
    if k:
        found["cw_answer"] = "cw_leaves.answer"
    steps.add("cw_found", found, ["cw_leaves ON cw_leaf = cw_leaves.leaf"], once=True)
    if not k:
        return steps.text({name: "cw_p0"})
    answer = f"COALESCE(cw_answer, {_largest(d, tree, [f'cw_p{c}' for c in range(k)])})" if parts else "cw_answer"
    given = {f"P({v})": f"cw_p{c}" for c, v in enumerate(tree.classes)} if proba else {}
    return steps.text({name: answer, **given})


def _levels(tree: Choices) -> list[list[int]]:
    """The root; of deep trees also the nodes from which the next step goes on, some levels further down each."""
    depths = _depths(tree)
    if max(depths) <= _SHALLOW:
        return [[0]]
    inner = [k for k, node in enumerate(tree.nodes) if node.children]
    return [[k for k in inner if depths[k] == deep] for deep in range(0, max(depths), _AT_ONCE)]


def _find_leaf(ways: _Ways, steps: Steps, levels: list[list[int]]) -> None:
    """Steps that lead each row to its leaf, or to NULL."""
    numbers = [str(i) for i in range(len(ways.tree.nodes))]
    stops = {k for level in levels[1:] for k in level}
    for i, level in enumerate(levels):
        name, before = ("cw_leaf" if level is levels[-1] else f"cw_at{i}"), f"cw_at{i - 1}"
        expression = _nested(ways, numbers, 2, stops=stops)
        if i:
            whens = [f"WHEN {before} = {k} THEN {_nested(ways, numbers, 3, start=k, stops=stops)}" for k in level]
            expression = "\n      ".join(["CASE", *whens, f"ELSE {before}"]) + "\n    END"
        steps.add(f"cw_ways{i or ''}", {name: expression}, once=True)


def _look_up_leaves(tree: Choices, steps: Steps, shares: Any) -> None:
    d, k = steps.dialect, len(tree.classes)
    rows = [
        [str(i), *([d.literal(tree.classes[tree.best[i]])] if k else []), *_texts(d, shares[i])]
        for i, node in enumerate(tree.nodes)
        if not node.children
    ]
    columns = [f"p{c}" for c in range(shares.shape[1])]
    steps.look_up("cw_leaves", ["leaf", *(["answer"] if k else []), *columns], rows)


def _sums(ways: _Ways, steps: Steps, levels: list[list[int]], shares: Any) -> list[str]:
    """What all branches answer together, for each class; steps for what is far down."""
    known: list[dict[int, str]] = [{} for _ in range(shares.shape[1])]
    for i in range(len(levels) - 1, 0, -1):
        fresh = {}
        for c, below in enumerate(known):
            for k in levels[i]:
                fresh[f"cw_v{k}_{c}"] = _summed(ways, shares[:, c].tolist(), k, below)
            below |= {k: f"cw_v{k}_{c}" for k in levels[i]}
        steps.add(f"cw_below{i}", fresh, once=True)
    return [_summed(ways, shares[:, c].tolist(), 0, below) for c, below in enumerate(known)]


def _texts(d: Dialect, answers: Any) -> list[str]:
    return [d.real(float(x)) for x in answers]


def _largest(d: Dialect, tree: Choices, shares: list[str]) -> str:
    """The first class that has the largest share, as far as sums of parts can tell."""
    rounded = [d.rounded(share, 12) for share in shares]
    lines = [
        f"WHEN {' AND '.join(f'{rounded[c]} >= {other}' for other in rounded[c + 1 :])} THEN {d.literal(v)}"
        for c, v in enumerate(tree.classes[:-1])
    ]
    last = d.literal(tree.classes[-1])
    return "\n  ".join(["CASE", *lines, f"ELSE {last}"]) + "\nEND" if lines else last


class _Ways:
    """Which way a row goes at each node, asked of its cells."""

    def __init__(self, tree: Choices, cells: SqlCells) -> None:
        self.tree, self.cells = tree, cells

    def goes(self, k: int, b: int) -> str:
        """Whether a test leads from a node to its child b."""
        return holds(self.tree.nodes[k].tests[b], self.cells)

    def placed(self, k: int) -> str:
        """Whether any test of a node holds."""
        return holds(self.tree.nodes[k].placed, self.cells)


class _NamedWays(_Ways):
    """The same where a step before has named the child: each node is asked once."""

    def __init__(self, tree: Choices, steps: Steps) -> None:
        super().__init__(tree, steps.cells)
        asked = {f"cw_b{k}": self._asked(k) for k, node in enumerate(tree.nodes) if node.children}
        steps.add("cw_asked", asked, once=True)

    def _asked(self, k: int) -> str:
        """The number of the child that a test leads to; NULL where none does."""
        tests, d = self.tree.nodes[k].tests, self.cells.dialect
        if tests[0].domain is None:
            whens = [f"WHEN {holds(test, self.cells)} THEN {b}" for b, test in enumerate(tests) if not test.missing]
            return f"CASE {' '.join(whens)} END"
        kind = kind_of(tests[0].domain)
        named = [(text, b) for b, test in enumerate(tests) for v in test.values or () for text in spelled(d, v, kind)]
        cell = self.cells.name(tests[0].column, tests[0].domain)
        return f"CASE {cell} {' '.join(f'WHEN {text} THEN {b}' for text, b in named)} END"

    def goes(self, k: int, b: int) -> str:
        """Whether a test leads from a node to its child b."""
        return f"cw_b{k} = {b}"

    def placed(self, k: int) -> str:
        """Whether any test of a node holds."""
        return f"cw_b{k} IS NOT NULL"


def _nested(
    ways: _Ways, answers: Sequence[str], depth: int = 0, *, start: int = 0, stops: Collection[int] = ()
) -> str:
    """A CASE for each node, one in another, down to leaves and stops; NULL for a row that is parted."""
    tree = ways.tree
    lines: list[str] = []
    waiting: list[tuple[str, int, int, str]] = [
        ("node", start, 0, "")
    ]  # what to write, node, depth, what comes before
    while waiting:
        what, k, deep, before = waiting.pop()
        pad = "  " * min(deep + depth, _DEEPEST)
        if what == "end":
            lines.append(f"{pad}END")
            continue
        node = tree.nodes[k]
        if not node.children or (k in stops and k != start):
            lines.append(f"{pad}{before}{answers[k]}")
            continue
        lines.append(f"{pad}{before}CASE")
        waiting.append(("end", k, deep, ""))
        if node.lost is not None:
            waiting.append(("node", node.children[node.lost], deep + 1, "ELSE "))
        asked = [b for b, test in enumerate(node.tests) if b != node.lost and not test.missing]
        waiting += [("node", node.children[b], deep + 1, f"WHEN {ways.goes(k, b)} THEN ") for b in reversed(asked)]
    return "\n".join(lines).lstrip()


def _summed(ways: _Ways, answers: Sequence[float], start: int = 0, known: Mapping[int, str] | None = None) -> str:
    """Of each branch what is below it times the share of the row that goes there, one sum in another."""
    d, nodes, known = ways.cells.dialect, ways.tree.nodes, known or {}
    order, waiting = [], [start]
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting += nodes[k].children if k not in known else ()
    found = dict(known)
    for k in reversed(order):  # children before their parents; nothing is written for 0
        if k in known:
            continue
        if not nodes[k].children:
            found[k] = d.real(float(answers[k])) if answers[k] else ""
            continue
        below = [(b, found[child]) for b, child in enumerate(nodes[k].children) if found[child]]
        text = added([f"{_share(ways, k, b)} * {text}" for b, text in below], "\n + ")
        found[k] = f"({text})" if below else ""
    return found[start] or d.real(0.0)


def _share(ways: _Ways, k: int, b: int) -> str:
    """Which share of a row goes down to a child."""
    node = ways.tree.nodes[k]
    gap = ways.cells.dialect.real(node.shares[b])
    if node.tests[b].missing:
        return f"(CASE WHEN {ways.placed(k)} THEN 0e0 ELSE {gap} END)"
    return f"(CASE WHEN {ways.goes(k, b)} THEN 1e0 WHEN {ways.placed(k)} THEN 0e0 ELSE {gap} END)"


def _depths(tree: Choices) -> list[int]:
    depths = [0] * len(tree.nodes)
    for k, node in enumerate(tree.nodes):
        for child in node.children:
            depths[child] = depths[k] + 1
    return depths


def _check_size(tree: Choices, times: int) -> None:
    """Refuse what no database would read."""
    leaves, deepest, factors = (
        sum(not node.children for node in tree.nodes),
        max(_depths(tree)),
        len(tree.nodes) * times,
    )
    if factors > _MOST_FACTORS or deepest > _MOST_DEEP:
        raise OptionError(
            f"The tree has {leaves} leaves, up to {deepest} questions deep: no database reads SQL that sends "
            f"rows down several branches of it, with {factors} factors.",
            hint="to_sql(missing=False), a smaller tree, or missing='majority'.",
        )
