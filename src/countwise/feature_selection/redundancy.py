"""Filters that control redundancy: mRMR, CFS and FCBF select relevant attributes that do not repeat each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.cuts import rule_of
from countwise.data.attributes import Nominal, Numeric
from countwise.data.schema import Schema
from countwise.errors import OptionError
from countwise.feature_selection.contingency import refuse_nominal
from countwise.feature_selection.pairs import MEASURES, codes_of, scores_of_pairs
from countwise.measures import sum_formula
from countwise.sources.labelled_table import LabelledTable
from countwise.tallies import shortfall
from countwise.working import Formula, Grid, Section
from countwise.working.numbers import number

__all__ = ["CONTROLLED", "Selection", "select"]

CONTROLLED = ("mrmr", "mrmr_quotient", "cfs", "fcbf")
_MOST = 12  # steps and attributes that are written out
_SAME = 1e-12  # scores that differ by less are a tie
_MANY = 100  # rows from which on a column with almost as many values looks like an identifier
_STALE = 5  # expansions without a better subset that end the search of CFS


class Dependence:
    """The relevance of each attribute to the class, and its dependence on the others, computed on demand.

    Both are the mutual information in bits, or the symmetrical uncertainty. Rows with a missing value are left out of
    each pair that has it.
    """

    def __init__(self, rows: LabelledTable, measure: str, numeric: Any, types: Any) -> None:
        schema = Schema.kinds(rows.frame, types)
        named = numeric if isinstance(numeric, Mapping) else {}
        for name in named:
            if name not in schema:
                raise OptionError(f"numeric refers to column {name!r}, but the table has no such column.")
        refuse_nominal(named, schema)
        rule = {name: named.get(name, "mdl") if isinstance(numeric, Mapping) else numeric or "mdl" for name in schema}
        hows = {name: rule_of(spec) for name, spec in rule.items()}
        frame = schema.coded(rows.frame)
        schema = schema.learn(frame)
        target = Nominal("class").learn(rows.y, occurring=True)
        classes = np.asarray(target.encode(rows.y))
        table = schema.encode(frame, rows.weights)
        columns, sizes = codes_of(schema, table, hows, classes)
        self.names = list(schema)
        self.measure, self.weights = MEASURES[measure], rows.weights
        self.columns, self.sizes = [*columns, classes], [*sizes, len(target.values)]
        self.missing = [self._missing(j) for j in range(len(self.names))]
        self.kinds = [schema[name].kind for name in schema]
        self.read_as = [
            f"{size} bin{'s' * (size != 1)} ({hows[name]})" if isinstance(schema[name], Numeric) else "nominal"
            for name, size in zip(schema, sizes, strict=True)
        ]
        self.notes = [self._note(j, len(rows.y)) for j in range(len(self.names))]
        self._rows: dict[int, Floats] = {}
        self.relevance = self._with(len(self.names))

    def _missing(self, j: int) -> Any:
        known = self.columns[j] < self.sizes[j]
        if self.weights is None:
            return int((~known).sum())
        return shortfall(float(self.weights.sum()), float(self.weights[known].sum()))

    def _note(self, j: int, n: int) -> str:
        size = self.sizes[j]
        if n >= _MANY and size > 0.9 * n:
            return "looks like an identifier"
        if size == 1:
            return "only one value or bin"
        return "" if size else "all values missing"

    def _with(self, j: int) -> Floats:
        """Return the dependence of every attribute on a column; that of an attribute on itself is not needed."""
        found = np.zeros(len(self.names))
        if self.sizes[j]:
            others = [i for i in range(len(self.names)) if i != j and self.sizes[i]]
            pairs = [(min(i, j), max(i, j)) for i in others]
            found[others] = scores_of_pairs(self.columns, self.sizes, pairs, self.weights, self.measure)
        return found

    def on(self, j: int) -> Floats:
        """Return the dependence of every attribute on attribute j."""
        if j not in self._rows:
            self._rows[j] = self._with(j)
        return self._rows[j]


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected attributes in their order, the steps of the search, and the computation."""

    chosen: list[int]
    path: Grid
    table: Grid
    relevance: Floats
    ties: list[int]
    sections: tuple[Section, ...]


@dataclass(slots=True)
class _Steps:
    """The steps of a search as columns of a table, and as formulas."""

    columns: dict[str, list[Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, *lines: str, **cells: Any) -> None:
        for name, cell in {"step": len(self.columns.get("step", ())) + 1, **cells}.items():
            self.columns.setdefault(name, []).append(cell)
        if len(self.columns["step"]) <= _MOST:
            self.lines += lines


def select(
    rows: LabelledTable,
    measure: str,
    k: int | None,
    threshold: float | None,
    numeric: Any = None,
    types: Any = None,
    target: str = "class",
) -> Selection:
    """Select attributes by one of the measures in `CONTROLLED`."""
    information = "mutual_information" if measure.startswith("mrmr") else "symmetrical_uncertainty"
    of = Dependence(rows, information, numeric, types)
    steps = _Steps()
    if measure == "cfs":
        chosen, ties = _cfs(of, k, steps)
    elif measure == "fcbf":
        chosen, ties = _fcbf(of, k, 0.0 if threshold is None else threshold, steps, target)
    else:
        most = 10 if k is None and threshold is None else k
        chosen, ties = _mrmr(of, most, threshold, steps, quotient=measure == "mrmr_quotient")
    place = {j: i + 1 for i, j in enumerate(chosen)}
    table = Grid(
        {
            "attribute": of.names,
            "kind": of.kinds,
            "read_as": of.read_as,
            "values": [int(size) for size in of.sizes[:-1]],
            "missing": of.missing,
            "relevance": of.relevance.tolist(),
            "selected": [place.get(j) for j in range(len(of.names))],
            "note": of.notes,
        }
    )
    path = Grid(steps.columns)
    return Selection(chosen, path, table, of.relevance, ties, _sections(of, table, path, steps, chosen, information))


def _sections(
    of: Dependence, table: Grid, path: Grid, steps: _Steps, chosen: Sequence[int], information: str
) -> tuple[Section, ...]:
    what = "mutual information, in bits" if information == "mutual_information" else "symmetrical uncertainty"
    relevant = sorted(range(len(of.names)), key=lambda j: -round(float(of.relevance[j]), 12))[:_MOST]
    lines = () if len(relevant) == len(of.names) else (f"The {_MOST} most relevant of {len(of.names)} attributes.",)
    names = ("attribute", "read_as", "relevance")
    relevance = Grid({name.replace("_", " "): [table[name][j] for j in relevant] for name in names})
    first = Grid({name: cells[:_MOST] for name, cells in path.items()})
    cut = () if path.n_rows <= _MOST else (f"The first {_MOST} of {path.n_rows} steps.",)
    shown = list(chosen[:_MOST])
    between: dict[str, list[Any]] = {"attribute": [of.names[j] for j in shown]}
    between |= {of.names[i]: [None if i == j else float(of.on(i)[j]) for j in shown] for i in shown}
    sections = (
        Section(f"relevance: {what}, with the class", relevance, lines),
        Section("steps", first, (*cut, *steps.lines)),
    )
    return (
        (*sections, Section(f"redundancy: {what}, of the selected attributes", Grid(between))) if shown else sections
    )


def _best(scores: Floats, allowed: Sequence[int]) -> tuple[int, list[int]]:
    """Return the first place with the highest score among the allowed ones, and the other places with that score."""
    values = [float(scores[j]) for j in allowed]
    top = max(values)
    same = [j for j, v in zip(allowed, values, strict=True) if math.isclose(v, top, rel_tol=_SAME, abs_tol=_SAME)]
    return same[0], same[1:]


def _mrmr(
    of: Dependence, k: int | None, threshold: float | None, steps: _Steps, *, quotient: bool
) -> tuple[list[int], list[int]]:
    """Add the attribute with the highest relevance minus (or divided by) mean redundancy, one at a time."""
    chosen: list[int] = []
    ties: list[int] = []
    left = list(range(len(of.names)))
    total = np.zeros(len(of.names))
    while left and (k is None or len(chosen) < k):
        redundancy = total / max(len(chosen), 1)
        scores = of.relevance.copy()
        if chosen:
            scores = _quotients(of.relevance, redundancy) if quotient else of.relevance - redundancy
        candidates = left
        if quotient:  # among attributes without any redundancy, the most relevant one comes first
            infinite = [j for j in left if scores[j] == math.inf]
            candidates = infinite or left
        best, same = _best(of.relevance if quotient and candidates is not left else scores, candidates)
        if threshold is not None and not scores[best] > threshold:
            break
        ties = same
        steps.add(
            _mrmr_line(of, best, chosen, float(scores[best]), quotient=quotient),
            attribute=of.names[best],
            relevance=float(of.relevance[best]),
            redundancy=float(redundancy[best]),
            score=float(scores[best]),
            ties=_listed(of, same),
        )
        chosen.append(best)
        left.remove(best)
        total += of.on(best)
    return chosen, ties


def _quotients(relevance: Floats, redundancy: Floats) -> Floats:
    """Return relevance / redundancy; without redundancy it is infinite, or 0 if the attribute is not relevant."""
    small = redundancy <= _SAME
    quotients = np.divide(relevance, redundancy, out=np.zeros_like(relevance), where=~small)
    return np.where(small & (relevance > _SAME), math.inf, quotients)


def _mrmr_line(of: Dependence, best: int, chosen: Sequence[int], score: float, *, quotient: bool) -> Formula:
    name, relevance = f"score({of.names[best]})", number(float(of.relevance[best]) + 0.0)
    if not chosen:
        return Formula(f"{name} = {relevance}")
    shares = [number(float(of.on(i)[best]) + 0.0) for i in chosen]
    shown = shares if len(shares) <= _MOST + 1 else [*shares[:_MOST], "…"]
    mean = f"(1/{len(shares)})·({' + '.join(shown)})" if len(shares) > 1 else shares[0]
    value = "∞" if score == math.inf else number(score + 0.0)
    if quotient:
        below = f"({mean})" if len(shares) > 1 else mean
        return Formula(f"{name} = {relevance}/{below} = {value}")
    return Formula(f"{name} = {relevance} - {mean} = {value}")


def _cfs(of: Dependence, k: int | None, steps: _Steps) -> tuple[list[int], list[int]]:
    """Search for the subset with the highest merit: best first, up to five expansions without a better subset.

    The merit of m attributes is m r / √(m + m (m - 1) s), where r is their mean relevance and s the mean redundancy
    of their pairs.
    """
    d, r = len(of.names), of.relevance
    # merit, attributes in the order of their addition, sum of their relevance, sum of the redundancy of their pairs
    waiting: list[tuple[float, tuple[int, ...], float, float]] = [(0.0, (), 0.0, 0.0)]
    seen = {frozenset[int]()}
    best, stale = waiting[0], 0
    ties: list[int] = []
    while waiting and stale < _STALE:
        i, _ = _best(np.array([node[0] for node in waiting]), range(len(waiting)))
        _, subset, relevance, redundancy = waiting.pop(i)
        m = len(subset) + 1
        stale += 1
        more = [j for j in range(d) if j not in subset and frozenset((*subset, j)) not in seen]
        if not more or (k is not None and m > k):
            continue
        pairs = redundancy + sum((of.on(j) for j in subset), np.zeros(d))
        merits = (relevance + r) / np.sqrt(m + 2 * pairs)
        for j in more:
            seen.add(frozenset((*subset, j)))
            waiting.append((float(merits[j]), (*subset, j), relevance + float(r[j]), float(pairs[j])))
        top, same = _best(merits, more)
        better = bool(merits[top] > best[0] + _SAME)
        if better:
            best, stale, ties = waiting[len(waiting) - len(more) + more.index(top)], 0, same
        sums = relevance + float(r[top]), float(pairs[top])
        steps.add(
            *(_cfs_lines(of, (*subset, top), *sums, float(merits[top])) if better else ()),
            subset=", ".join(of.names[j] for j in (*subset, top)),
            relevance=sums[0] / m,
            redundancy=sums[1] / (m * (m - 1) / 2) if m > 1 else 0.0,
            score=float(merits[top]),
            better="yes" if better else "no",
            ties=_listed(of, same),
        )
    return list(best[1]), ties


def _cfs_lines(
    of: Dependence, subset: tuple[int, ...], relevance: float, redundancy: float, merit: float
) -> list[Formula]:
    m = len(subset)
    r = sum_formula([number(float(of.relevance[j]) + 0.0) for j in subset], relevance, "Σ relevance")
    if m == 1:
        return [Formula(f"merit({of.names[subset[0]]}) = 1·{number(relevance)}/√(1) = {number(merit)}")]
    both = [number(float(of.on(i)[j]) + 0.0) for at, i in enumerate(subset) for j in subset[at + 1 :]]
    lines = [r, sum_formula(both, redundancy, "Σ redundancy")]
    mean, shared = number(relevance / m), number(redundancy / (m * (m - 1) / 2) + 0.0)
    name = f"merit({', '.join(of.names[j] for j in subset[:_MOST])}{', …' * (m > _MOST)})"
    lines.append(Formula(f"{name} = {m}·{mean}/√({m} + {m}·{m - 1}·{shared}) = {number(merit)}"))
    return lines


def _fcbf(of: Dependence, k: int | None, threshold: float, steps: _Steps, target: str) -> tuple[list[int], list[int]]:
    """Keep attributes in the order of their relevance, unless they depend at least as much on a kept one."""
    order = np.argsort(-np.round(of.relevance, 12), kind="stable").tolist()
    order = [j for j in order if of.relevance[j] > max(threshold, _SAME)]
    chosen: list[int] = []
    for j in order:
        if k is not None and len(chosen) == k:
            break
        mine = float(of.relevance[j])
        peer = next((i for i in chosen if of.on(i)[j] >= mine - _SAME), None)
        share = None if peer is None else float(of.on(peer)[j])
        lines: tuple[str, ...] = ()
        if peer is None:
            chosen.append(j)
        else:
            name = of.names[j]
            lines = (
                Formula(
                    f"SU({name}; {of.names[peer]}) = {number(share or 0.0)} ≥ {number(mine)} = SU({name}; {target})"
                ),
            )
        steps.add(
            *lines,
            attribute=of.names[j],
            relevance=mine,
            redundancy=share,
            result="kept" if peer is None else f"redundant to {of.names[peer]}",
        )
    return chosen, []


def _listed(of: Dependence, places: Sequence[int]) -> str:
    names = [of.names[j] for j in places[:_MOST]]
    return ", ".join([*names, "…"] if len(places) > _MOST else names)
