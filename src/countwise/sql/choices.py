"""Trees as SQL: one CASE in another, or a sum over leaves where rows may go down several branches."""

from __future__ import annotations

from collections.abc import Sequence

from countwise.errors import OptionError
from countwise.quoting import Dialect, added
from countwise.sql.cells import Cells, holds
from countwise.sql.steps import Steps
from countwise.terms import Choices, Node

__all__ = ["choice_expression", "choice_query"]

_DEEPEST = 40  # lines further down are not moved further to the right
_MOST_FACTORS = 1_000_000  # some 100 MB of SQL


def choice_expression(tree: Choices, dialect: str = "duckdb", *, proba: bool = False, missing: bool = True) -> str:
    """The tree as an expression over its columns; see `to_sql` of the trees."""
    d = Dialect(dialect)
    parts = missing and tree.parts_rows
    cells = Cells(d, "inside" if missing else "raw")
    if parts:
        _check_size(tree, 1 if not tree.classes else len(tree.classes) * (1 if proba else len(tree.classes)))

    def share(c: int) -> str:
        answers = tree.answers[:, c] if tree.classes else tree.answers
        return _summed(d, tree, cells, answers.tolist()) if parts else _nested(tree, cells, _texts(d, answers))

    if proba:
        return ",\n".join(f"{share(c)} AS {d.identifier(f'P({v})')}" for c, v in enumerate(tree.classes))
    if not tree.classes:
        return share(0)
    if not parts:
        return _nested(tree, cells, [d.literal(tree.classes[c]) for c in tree.best])
    return _largest(d, tree, [share(c) for c in range(len(tree.classes))])


def choice_query(
    tree: Choices, table: str, dialect: str = "duckdb", *, proba: bool = True, missing: bool = True
) -> str:
    """All columns of a table, and the class and its probabilities, or the number.

    The leaf of a row is found by one CASE in another, and its answer looked up. A row that lacks a value comes to
    none where rows go down all branches: its answer is a sum over the leaves.
    """
    steps = Steps(table, dialect)
    d, k = steps.dialect, len(tree.classes)
    parts = missing and tree.parts_rows
    if parts:
        _check_size(tree, max(1, k))
    name = f"predicted {tree.target}"
    if not parts and not (proba and k):
        answers = [d.literal(tree.classes[c]) for c in tree.best] if k else _texts(d, tree.answers)
        return steps.text({name: _nested(tree, steps.cells, answers, 1)})
    steps.add("cw_ways", {"cw_leaf": _nested(tree, steps.cells, [str(i) for i in range(len(tree.nodes))], 2)}, once=True)
    leaves = [i for i, node in enumerate(tree.nodes) if not node.children]
    shares = tree.answers if k else tree.answers[:, None]
    rows = [
        [str(i), *([d.literal(tree.classes[tree.best[i]])] if k else []), *_texts(d, shares[i])] for i in leaves
    ]
    columns = [f"p{c}" for c in range(max(1, k))]
    steps.look_up("cw_leaves", ["leaf", *(["answer"] if k else []), *columns], rows)
    found = {}
    for c, column in enumerate(columns):
        own = f"cw_leaves.{column}"
        own = f"COALESCE({own}, {_summed(d, tree, steps.cells, shares[:, c].tolist())})" if parts else own
        found[f"cw_{column}"] = d.cast(f"({own})", "double") if d.name == "postgres" else own
    if k:
        found["cw_answer"] = "cw_leaves.answer"
    steps.add("cw_found", found, ["cw_leaves ON cw_leaf = cw_leaves.leaf"], once=True)
    if not k:
        return steps.text({name: "cw_p0"})
    answer = f"COALESCE(cw_answer, {_largest(d, tree, [f'cw_p{c}' for c in range(k)])})" if parts else "cw_answer"
    given = {f"P({v})": f"cw_p{c}" for c, v in enumerate(tree.classes)} if proba else {}
    return steps.text({name: answer, **given})


def _texts(d: Dialect, answers: Sequence[float]) -> list[str]:
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


def _nested(tree: Choices, cells: Cells, answers: Sequence[str], depth: int = 0) -> str:
    """A CASE for each node, one in another; NULL for a row that is parted."""
    lines: list[str] = []
    waiting: list[tuple[str, int, int, str]] = [("node", 0, 0, "")]  # what to write, node, depth, what stands before
    while waiting:
        what, k, deep, before = waiting.pop()
        pad = "  " * min(deep + depth, _DEEPEST)
        if what == "end":
            lines.append(f"{pad}END")
            continue
        node = tree.nodes[k]
        if not node.children:
            lines.append(f"{pad}{before}{answers[k]}")
            continue
        lines.append(f"{pad}{before}CASE")
        waiting.append(("end", k, deep, ""))
        if node.lost is not None:
            waiting.append(("node", node.children[node.lost], deep + 1, "ELSE "))
        for b in range(len(node.children) - 1, -1, -1):
            if b != node.lost and not node.tests[b].missing:
                waiting.append(("node", node.children[b], deep + 1, f"WHEN {holds(node.tests[b], cells)} THEN "))
    return "\n".join(lines).lstrip()


def _summed(d: Dialect, tree: Choices, cells: Cells, answers: Sequence[float]) -> str:
    """Of each leaf its answer times the share of the row that comes to it."""
    terms: list[str] = []
    waiting: list[tuple[int, list[str]]] = [(0, [])]
    while waiting:
        k, factors = waiting.pop()
        node = tree.nodes[k]
        if not node.children and answers[k] != 0:
            terms.append(" * ".join([*factors, d.real(float(answers[k]))]))
        waiting += [(child, [*factors, _share(node, b, cells)]) for b, child in enumerate(node.children)][::-1]
    return "(" + added(terms or [d.real(0.0)], "\n + ") + ")"


def _share(node: Node, b: int, cells: Cells) -> str:
    """Which share of a row goes down to a child."""
    test, gap = node.tests[b], cells.dialect.real(node.shares[b])
    placed = holds(node.placed, cells)
    if test.missing:
        return f"(CASE WHEN {placed} THEN 0e0 ELSE {gap} END)"
    return f"(CASE WHEN {holds(test, cells)} THEN 1e0 WHEN {placed} THEN 0e0 ELSE {gap} END)"


def _check_size(tree: Choices, times: int) -> None:
    """Refuse what no database would read."""
    depths = [0] * len(tree.nodes)
    for k, node in enumerate(tree.nodes):
        for child in node.children:
            depths[child] = depths[k] + 1
    leaves = [depths[k] for k, node in enumerate(tree.nodes) if not node.children]
    factors = sum(leaves) * times
    if factors > _MOST_FACTORS:
        raise OptionError(
            f"The tree has {len(leaves)} leaves, up to {max(leaves)} questions deep: SQL that sends "
            f"rows down several branches would have {factors} factors.",
            hint="to_sql(missing=False), a smaller tree, or missing='majority'.",
        )
