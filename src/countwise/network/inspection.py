"""Inspection of a network: CPTs, reasons for arcs, independence tests, sensitivity, explaining away."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.table import Table
from countwise.errors import OptionError
from countwise.measures import chi_square, chi_square_tail
from countwise.network.family_scores import family_score
from countwise.network.graph import Graph
from countwise.network.inference.elimination import Elimination
from countwise.network.inference.factors import Potential
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net, evidence_text
from countwise.network.search.constraints import TINY, FoundStructure, SearchStep
from countwise.tallies import Counts
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import Worked, number, percent

__all__ = [
    "arc_lines",
    "arc_reasons",
    "cpt_grid",
    "explaining_away",
    "independence_test",
    "search_account",
    "sensitivity_grid",
    "separation_account",
]

_MOST = 24  # orderings, or paths, that are shown
_MOST_TRIED = 5_000  # paths that are followed
_SAME = 1e-9  # smaller relative differences of probabilities are rounding errors


# -- tables and arcs ---------------------------------------------------------------------


def arc_lines(graph: Graph) -> list[str]:
    """Return one line for each node with its parents."""
    return [f"{name} ← {', '.join(above)}" if above else name for name, above in graph.parents.items()]


def cpt_grid(net: Net, name: str, counts: Any = None) -> Grid:
    """Return P(node | parents): one row for each combination of the parents' values.

    `counts` is the tally of the node and its parents from which the CPT was estimated; None without one.
    """
    (name,) = net.graph.known([name])
    above = net.numbers.nominal_parents(name) if name not in net.tables else net.graph.parents[name]
    cases = list(itertools.product(*(net.values(p) for p in above)))
    columns: dict[str, list[Any]] = {p: [case[i] for case in cases] for i, p in enumerate(above)}
    if name in net.tables:
        rows = net.tables[name].reshape(len(cases), -1).tolist()
        found = _counts_of(counts, [*above, name], net.tables[name].shape)
        if found is not None:
            counted = found.reshape(len(cases), -1).tolist()
            rows = [[Worked(p, "", n) for p, n in zip(*row, strict=True)] for row in zip(rows, counted, strict=True)]
        return Grid(columns | {f"{name} = {v}": [row[j] for row in rows] for j, v in enumerate(net.values(name))})
    line = net.densities[name]
    if isinstance(line, LinearDensity):
        columns["intercept" if line.numbers else "mean"] = line.intercept.tolist()
        columns.update({f"× {x}": line.slope[:, j].tolist() for j, x in enumerate(line.numbers)})
        return Grid({**columns, "sd": line.sd.tolist(), "n": line.n.tolist()})
    shown = line.summary(range(len(cases)))
    if not isinstance(net.attributes[name], Numeric):
        return Grid(shown)
    return Grid({**columns, **{k: v for i, (k, v) in enumerate(shown.items()) if i or not above}})


def _counts_of(tally: Any, names: Sequence[str], shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return the counts of a tally with its axes in the order of the names; None if it counts something else."""
    axes = [a.name for a in tally.axes] if isinstance(tally, Counts) else []
    if sorted(axes) != sorted(names):
        return None
    table = tally.table.transpose([axes.index(name) for name in names])
    return table if table.shape == shape else None


def arc_reasons(graph: Graph, found: FoundStructure | None, parent: str, child: str, structure: str) -> Grid:
    """Explain why an arc is present or absent: its gain whenever the search considered it, and the reason."""
    graph.known([parent, child])
    if found is None:
        raise OptionError(
            "The structure was given, so no search considered any arc.",
            hint="use a structure learner, such as structure='hill_climb'.",
        )
    rows = [(p, c, g, t) for p, c, g, t in found.tried if {p, c} == {parent, child}]
    return Grid(
        {
            "arc": [f"{p} → {c}" for p, c, _, _ in rows],
            "gain": [float(g) for _, _, g, _ in rows],
            "taken": ["yes" if t else "no" for *_, t in rows],
            "because": [_because(graph, structure, *row) for row in rows],
        }
    )


def _because(graph: Graph, structure: str, parent: str, child: str, gain: float, taken: bool) -> str:
    """Return the reason why an arc was taken or not."""
    if structure in ("chow_liu", "tan"):
        return f"it is {'' if taken else 'not '}in the tree with the largest mutual information"
    if structure == "k_dependence":
        if taken:
            return "it is among the arcs into the node with the most mutual information"
        return "other arcs into the node have more mutual information" if gain > 0 else "its mutual information is 0"
    if structure == "backward_ordering":
        return "it is kept in this step" if taken else "no other parent of the node matters less"
    if taken:
        return "it raises the score" if gain > 0 else "it is required"
    if not gain > 0:
        return "it does not raise the score"
    if child in graph.ancestors([parent]):
        return "the reverse arc is present" if child in graph.parents[parent] else "it would create a cycle"
    return "other arcs raise the score more"


def search_account(
    net: Net,
    found: FoundStructure | None,
    structure: str,
    score: str,
    alpha: float | None,
    counts: Mapping[str, Floats],
) -> Account:
    """Show each step of a structure search; `alpha` is the significance level if a test decides.

    `counts` are the counts of the nominal nodes with their parents, from rows without missing values.
    """
    graph = net.graph
    if found is None:
        raise OptionError(
            "The structure was given, or changed after the search, so no search has steps to show.",
            hint="use a structure learner, such as structure='hill_climb'.",
        )
    arcs = len(graph.arcs)
    total = number(found.score)
    answer = f"{structure}: {len(graph)} nodes, {arcs} arc{'s' * (arcs != 1)}, {score} {total}."
    sections = []
    if found.orders:
        sections.append(_orderings(found, score))
    nodes: dict[str, list[SearchStep]] = {}
    for step in found.steps:
        nodes.setdefault(step.child, []).append(step)
    for child, steps in nodes.items():
        penalty = _penalty(net, child, steps, score, counts) if alpha is None else None
        sections += _steps_of(child, steps, graph, score, alpha, penalty)
    first = [name for name in graph if name not in nodes]
    if found.steps and first:
        line = f"No parent can be added to or removed from {', '.join(first)}."
        sections.insert(len(found.orders) > 0, Section("Without candidates", Grid({}), (line,)))
    if not found.steps:
        rows = [(p, c, g, t) for p, c, g, t in found.tried]
        table: dict[str, list[Any]] = {
            "arc": [f"{p} → {c}" for p, c, _, _ in rows],
            "gain": [float(g) for _, _, g, _ in rows],
            "taken": ["yes" if t else "no" for *_, t in rows],
            "because": [_because(graph, structure, *row) for row in rows],
        }
        none = () if rows else ("No arc was compared with another.",)
        sections.append(Section("Candidate arcs", Grid(table), none))
    return Account(answer, found.score, tuple(sections))


def _orderings(found: FoundStructure, score: str) -> Section:
    """Return the section with the score of every ordering, the best first."""
    ranked = sorted(found.orders, key=lambda pair: -pair[1])
    best = [order for order, one in ranked if one > ranked[0][1] - TINY]
    shown = ranked[:_MOST]
    table = Grid({"ordering": [", ".join(order) for order, _ in shown], score: [one for _, one in shown]})
    lines = [f"{len(ranked):,} orderings of {len(best[0])} nodes; {len(best):,} with the best score."]
    if len(ranked) > _MOST:
        lines.insert(0, f"The best {_MOST} are shown; found_.orders has all.")
    return Section("Every ordering", table, tuple(lines))


@dataclass(frozen=True)
class _Penalty:
    """BIC and AIC: the log-likelihood of a node minus a number for each of its parameters."""

    sizes: Mapping[str, int]
    child: str
    each: float

    def free(self, parents: Iterable[str]) -> int:
        """Return the number of free parameters of the CPT with some parents."""
        return math.prod(self.sizes[p] for p in parents) * (self.sizes[self.child] - 1)

    def log_likelihood(self, score: float, parents: Iterable[str]) -> float:
        """Return the log-likelihood behind a score."""
        found = score + self.each * self.free(parents)
        return found if abs(found) > 1e-12 * abs(score) else 0.0


def _penalty(
    net: Net, child: str, steps: Sequence[SearchStep], score: str, counts: Mapping[str, Floats]
) -> _Penalty | None:
    """Return the penalty of a nominal node with nominal parents; None if the score is not that of `counts`."""
    names = {child, *(p for step in steps for p in (*step.parents, *(one.parent for one in step.candidates)))}
    if score not in ("BIC", "AIC") or not names <= set(counts):
        return None
    last = steps[-1]
    end = next((one.score for one in last.candidates if one.parent == last.chosen), last.score)
    if abs(family_score(counts[child], score.lower()) - end) > 1e-6 * max(1.0, abs(end)):
        return None  # rows came later, or lack values
    n = float(counts[child].sum())
    return _Penalty(net.sizes(), child, 1.0 if score == "AIC" else 0.5 * math.log(max(n, 1.0)))


def _steps_of(
    child: str, steps: Sequence[SearchStep], graph: Graph, score: str, alpha: float | None, penalty: _Penalty | None
) -> list[Section]:
    """Return a section for each step of the search at one node."""
    found = []
    for i, step in enumerate(steps, 1):
        word = "with" if step.adds else "without"
        parents = f"parents {', '.join(step.parents)}" if step.parents else "no parents"
        columns: dict[str, list[Any]] = {word: [one.parent for one in step.candidates]}
        lines: list[str] = []
        if alpha is None:
            parents += f"; {score} {number(step.score)}"
            if penalty is not None:
                each = "parameters" if score == "AIC" else "(ln n)/2·parameters"
                log, free = penalty.log_likelihood(step.score, step.parents), penalty.free(step.parents)
                cost = f"{free}" if score == "AIC" else f"{number(penalty.each)}·{free}"
                lines.append(
                    Formula(f"{score} = log-likelihood - {each} = {number(log)} - {cost} = {number(step.score)}")
                )
                after = [_after(step, one.parent) for one in step.candidates]
                pairs = list(zip(step.candidates, after, strict=True))
                columns["log-likelihood"] = [penalty.log_likelihood(one.score, above) for one, above in pairs]
                columns["parameters"] = [penalty.free(above) for above in after]
            columns |= {
                score: [one.score for one in step.candidates],
                "change": [one.score - step.score for one in step.candidates],
            }
        else:
            columns |= {
                "χ²": [one.statistic for one in step.candidates],
                "df": [one.freedom for one in step.candidates],
                "p": [one.p for one in step.candidates],
            }
        line = _choice(step, alpha)
        if i == len(steps):
            above = ", ".join(graph.parents[child])
            line += f" {child} ← {above}." if above else f" {child} has no parents."
        found.append(Section(f"{child}, step {i}: {parents}", Grid(columns), (*lines, line)))
    return found


def _after(step: SearchStep, parent: str) -> tuple[str, ...]:
    """Return the parents after a candidate is added or removed."""
    return (*step.parents, parent) if step.adds else tuple(p for p in step.parents if p != parent)


def _choice(step: SearchStep, alpha: float | None) -> str:
    """Return in words what a step did, and why."""
    one = next((one for one in step.candidates if one.parent == step.chosen), None)
    if one is None:
        if alpha is not None:
            return f"No p is above {number(alpha)}."
        return "No addition raises the score." if step.adds else "Every removal lowers the score."
    if step.adds:
        return f"{one.parent} is added, which raises the score most."
    if alpha is not None:
        if one.p is None:
            return f"{one.parent} is removed: too few rows for a test (no degrees of freedom)."
        if one.p > alpha:
            return f"{one.parent} is removed: it has the largest p, and p > {number(alpha)}."
    elif one.score >= step.score - TINY:
        same = abs(one.score - step.score) <= TINY
        return f"{one.parent} is removed, which {'leaves the score as it is' if same else 'raises the score most'}."
    return f"{one.parent} is removed, which costs least: there are more parents than max_parents."


# -- d-separation ------------------------------------------------------------------------


def separation_account(
    graph: Graph, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str]
) -> Account:
    """Show why two sets of nodes are d-separated or not: each path between them, and what blocks it."""
    a, b, c = graph.known(one), graph.known(other), graph.known(given)
    separated = graph.d_separated(a, b, c)
    known = graph.ancestors(c)  # a collider among these is open
    paths, more = _paths(graph, a, b)
    rows = [(_arrows(graph, path), *_block(graph, path, set(c), known)) for path in paths]
    left, right = (", ".join(dict.fromkeys(names)) for names in (a, b))
    condition = f" given {', '.join(c)}" if c else ""
    text = f"{left} and {right} are {'' if separated else 'not '}d-separated{condition}"
    lines = []
    if not rows and not set(a) & set(b):
        lines.append("No path connects them.")
    elif more:
        lines.append(f"The first {len(rows)} paths are shown, the shortest ones first.")
    table = Grid({name: [row[k] for row in rows] for k, name in enumerate(("path", "state", "because"))})
    end = "every path is blocked" if separated else "a path is open"
    if set(a) & set(b):
        end = "a node is not separated from itself"
    sections = (Section("Paths", table, tuple(lines)),) if rows or lines else ()
    return Account(f"{text}: {end}.", float(separated), sections)


def _paths(graph: Graph, one: Sequence[str], other: Sequence[str]) -> tuple[list[list[str]], bool]:
    """Return the paths between two sets of nodes, the shortest first, and whether there may be more."""
    ends, starts = set(other), dict.fromkeys(one)
    found: list[list[str]] = []
    waiting = deque([name] for name in starts if name not in ends)
    for _ in range(_MOST_TRIED):
        if not waiting or len(found) >= _MOST:
            break
        path = waiting.popleft()
        for node in (*graph.parents[path[-1]], *graph.children(path[-1])):
            if node in path or node in starts:
                continue
            (found if node in ends else waiting).append([*path, node])
    return found[:_MOST], bool(waiting) or len(found) > _MOST


def _arrows(graph: Graph, path: Sequence[str]) -> str:
    """Format a path: rain → wet ← hose."""
    text = path[0]
    for before, node in itertools.pairwise(path):
        text += f" {'→' if before in graph.parents[node] else '←'} {node}"
    return text


def _block(graph: Graph, path: Sequence[str], given: set[str], known: set[str]) -> tuple[str, str]:
    """Return whether a path is open or blocked, and why."""
    for end in (path[0], path[-1]):
        if end in given:
            return "blocked", f"{end} is given"
    reasons = []
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        collider = before in graph.parents[node] and after in graph.parents[node]
        if collider and node not in known:
            return "blocked", f"arcs meet at {node}, and neither it nor a descendant is given"
        if not collider and node in given:
            return "blocked", f"{node} is given"
        if collider:
            reasons.append(f"arcs meet at {node}, and {'it' if node in given else 'a descendant'} is given")
    if not reasons:
        return "open", "the nodes are adjacent" if len(path) == 2 else "no node on it blocks it"
    return "open", "; ".join(reasons)


# -- independence ------------------------------------------------------------------------


def independence_test(net: Net, table: Table, one: str, other: str, given: str | Sequence[str]) -> Grid:
    """Test whether two nominal nodes are independent given others, by Pearson's chi-square test."""
    names = net.graph.known([one, other, *net.graph.known(given)])
    numeric = [name for name in names if name not in net.tables]
    if numeric:
        raise OptionError(f"Node {numeric[0]!r} is numeric; the test needs nominal nodes.")
    axes = tuple(net.attributes[name] for name in (*names[2:], one, other))
    counts = Counts(axes).fill(table).table  # type: ignore[arg-type]
    statistic, freedom, _ = chi_square(counts.reshape(-1, *counts.shape[-2:]))
    total, free = float(np.sum(statistic)), int(np.sum(freedom))
    return Grid(
        {
            "pair": [f"{one} and {other}" + (f" given {', '.join(names[2:])}" if names[2:] else "")],
            "chi-square": [total],
            "df": [free],
            "p-value": [float(chi_square_tail(total, free)) if free else float("nan")],
            "d-separated": ["yes" if net.graph.d_separated(one, other, names[2:]) else "no"],
        }
    )


# -- sensitivity -------------------------------------------------------------------------


def sensitivity_grid(net: Net, queried: str, value: Any, evidence: Mapping[str, Any]) -> Grid:
    """Return the derivative of P(queried = value | evidence) with respect to each CPT entry, the largest first."""
    if len(net.graph.known(queried)) != 1 or not isinstance(queried, str):
        raise OptionError(f"node must be the name of a node, not {queried!r}.")
    if queried not in net.tables:
        raise OptionError(f"Node {queried!r} is numeric; sensitivity needs a nominal node.")
    rows: list[tuple[str, str, float, float]] = []
    for node, slopes in _sensitivities(net, queried, net.code(queried, value), evidence).items():
        above = net.graph.parents[node]
        for at in np.ndindex(*slopes.shape):
            if slopes[at] == 0.0:
                continue
            case = [f"{p} = {net.values(p)[i]}" for p, i in zip(above, at, strict=False)]
            entry = f"P({node} = {net.values(node)[at[-1]]}{' | ' + ', '.join(case) if case else ''})"
            rows.append((node, entry, float(net.tables[node][at]), float(slopes[at])))
    rows.sort(key=lambda row: (-abs(row[3]), row[1]))
    return Grid({name: [row[i] for row in rows] for i, name in enumerate(("node", "entry", "P", "derivative"))})


def _sensitivities(net: Net, queried: str, code: int, known: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the derivative of P(queried = value | known) with respect to each CPT entry.

    The other entries of the row change in proportion, so that it still sums to 1. Irrelevant nodes have derivative 0.
    """
    codes, numbers = net.evidence(known)
    if queried in codes and np.ndim(codes[queried]) == 0:
        raise OptionError(f"Node {queried!r} is part of the evidence, so it cannot be queried.")
    relevant = net.graph.ancestors({queried, *codes, *numbers})
    among = [node for node in net.graph if node in relevant]
    both = _Weights(net, codes, numbers, among, *net.marks({queried: code}))
    alone = _Weights(net, codes, numbers, among)
    log_known = alone.total()
    if log_known == -np.inf:
        raise OptionError("The evidence has probability 0 in this network.")
    p = float(np.exp(both.total() - log_known))
    found = {}
    for node, table in net.tables.items():
        if node not in relevant:
            found[node] = np.zeros_like(table)
            continue
        gains = both.of(node, log_known), alone.of(node, log_known)
        parts = _with_others(table, gains[0]), p * _with_others(table, gains[1])
        size = max(float(np.abs(gain).max(initial=0.0)) for gain in (gains[0], p * gains[1]))
        # smaller differences are rounding errors
        found[node] = np.where(np.abs(parts[0] - parts[1]) > 1e-14 * size, parts[0] - parts[1], 0.0)
    return found


class _Weights:
    """Sums of the joint distribution over all rows that agree with the evidence, as functions of one CPT."""

    def __init__(
        self, net: Net, codes: Mapping[str, Any], numbers: Mapping[str, float], among: list[str], *more: Potential
    ) -> None:
        self.net, self.among = net, among
        self.rest = [*(factor for factor, _ in net.number_factors(numbers, codes)), *net.marks(codes), *more]

    def total(self) -> float:
        """Return log P(known), including the query value if it is among the factors."""
        work = Elimination(self.net.factors({}, {}, self.among) + self.rest, [])
        with np.errstate(divide="ignore"):
            return float(np.log(work.result.table)) + work.log

    def of(self, node: str, log: float) -> Floats:
        """Return the derivative of the sum with respect to each CPT entry of a node, divided by exp(log)."""
        family = (*self.net.graph.parents[node], node)
        sizes = self.net.sizes()
        ones = [Potential((v,), np.ones(sizes[v])) for v in family]
        others = self.net.factors({}, {}, [one for one in self.among if one != node])
        work = Elimination([*others, *self.rest, *ones], family)
        return np.asarray(work.result.table) * np.exp(work.log - log)


def _with_others(table: Floats, gain: Floats) -> Floats:
    """Return the derivative for an entry when the other entries of its row change in proportion."""
    rest = 1.0 - table
    size = table.shape[-1]
    weighted = (table * gain).sum(axis=-1, keepdims=True) - table * gain
    # if the entry is 1, the others are all 0 and change evenly
    even = (gain.sum(axis=-1, keepdims=True) - gain) / max(size - 1, 1)
    others = np.where(rest > 1e-12, weighted / np.where(rest > 1e-12, rest, 1.0), even)
    return gain - others if size > 1 else np.zeros_like(gain)


# -- explaining away ---------------------------------------------------------------------


def explaining_away(
    net: Net, cause: str | Mapping[str, Any], effect_known: Mapping[str, Any], other: str | Mapping[str, Any]
) -> Account:
    """Show whether a second cause explains an effect away, that is, makes the first cause less probable.

    The account has P(cause), P(cause | other), P(cause | effect) and P(cause | effect, other), and whether the two
    causes are d-separated with and without the effect.
    """
    net.evidence(effect_known)
    (name, value), (beside, seen) = (_event(net, which, effect_known) for which in (cause, other))
    if not effect_known or len({name, beside, *effect_known}) < 2 + len(effect_known):
        raise OptionError("The cause, the other cause and the effect must be different nodes.")
    code = net.code(name, value)
    effect, both = dict(effect_known), {**effect_known, beside: seen}
    evidence: list[dict[str, Any]] = [{}, {beside: seen}, effect, both]
    p = [float(net.query(name, known)[code]) for known in evidence]
    event, helper, seen_words = f"{name} = {value}", f"{beside} = {seen}", evidence_text(effect_known)
    table = Grid({"evidence": [evidence_text(known) or "none" for known in evidence], f"P({event})": p})
    line = _separation(net, name, beside, list(effect_known))
    section = Section(f"P({event}) given different evidence", table, (line,))
    return Account(_verdict(event, helper, seen_words, p[0], p[2], p[3]), p[3], (section,))


def _event(net: Net, which: str | Mapping[str, Any], effect: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a node and its value: the given one, or the one whose probability the effect raises most."""
    if isinstance(which, Mapping):
        if len(which) != 1:
            raise OptionError(
                f"A cause must be one node with its value, not {dict(which)!r}.",
                hint='pass for example {"rain": "yes"}.',
            )
        ((name, value),) = which.items()
    else:
        name, value = which, None
    net.graph.known([name])
    a = net.attributes[name]
    if not isinstance(a, Nominal):
        raise OptionError(f"Node {name!r} is numeric; a cause must be a nominal node.")
    if isinstance(which, Mapping) or name in effect:
        return name, value
    before, after = net.query(name), net.query(name, effect)
    return name, a.values[int(np.argmax(after / np.where(before > 0, before, np.inf)))]


def _verdict(event: str, helper: str, effect: str, before: float, after: float, last: float) -> str:
    """Summarize the three probabilities in one sentence."""
    start, seen, end = (percent(p, certain=p in (0.0, 1.0)) for p in (before, after, last))
    if abs(last - after) <= _SAME * max(after, last):
        return f"{helper} does not explain {effect} away: P({event}) stays at {seen}."
    shown = (seen, end) if seen != end else (number(after), number(last))  # more digits if the percentages are equal
    moved = f"P({event}) {'falls' if last < after else 'rises'} from {shown[0]} to {shown[1]}"
    if after - before <= _SAME * max(after, before):
        why = f"{effect} does not make {event} more probable (from {start} to {seen})"
        return f"There is nothing to explain away: {why}. Given {helper} as well, {moved}."
    if last < after:
        return f"{helper} explains {effect} away: {moved}."
    return f"{helper} does not explain {effect} away. On the contrary, {moved}."


def _separation(net: Net, one: str, other: str, effect: list[str]) -> str:
    """State whether two causes are d-separated with and without the effect."""
    before, after = net.graph.d_separated(one, other), net.graph.d_separated(one, other, effect)
    pair, known = f"{one} and {other} are", ", ".join(effect)
    verb = "is" if len(effect) == 1 else "are"
    if before and after:
        return f"{pair} d-separated, whether {known} {verb} observed or not."
    if before:
        return f"{pair} d-separated without evidence, but not given {known}."
    if after:
        return f"{pair} d-separated given {known}, but not without evidence."
    return f"{pair} not d-separated, whether {known} {verb} observed or not."
