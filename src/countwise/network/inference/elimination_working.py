"""The working of a query by variable elimination: factors, products, sums and normalization."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.errors import OptionError
from countwise.network.inference.elimination import Elimination, EliminationStep
from countwise.network.inference.factors import Potential, product
from countwise.network.net import Net, evidence_text
from countwise.network.queries import Situation, arcs_text
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["explain_elimination"]

_MOST_TABLES = 12  # more factors are shown only where they are used
_MOST_IN_A_LINE = 6


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A factor, its name, and the node whose CPT it is, if any."""

    name: str
    factor: Potential
    node: str = ""


def explain_elimination(here: Situation, queried: str | Sequence[str], *, most_cells: int = 64) -> Account:
    """Explain a query by variable elimination, with every intermediate table.

    P(queried | known) is proportional to the product of all factors, summed over all other nodes. To eliminate a
    node, the factors that contain it are multiplied and summed over its values. Irrelevant factors are ignored, and
    the reason is stated.
    """
    names = here.queried(queried)
    here.net.query(names, here.evidence)  # raises the usual errors for an invalid query
    return _EliminationWorking(here, names, most_cells).account()


class _EliminationWorking:
    """The working of one query."""

    def __init__(self, here: Situation, queried: Sequence[str], most_cells: int) -> None:
        net, known = here.net, here.evidence
        self.here, self.net, self.queried, self.most_cells = here, net, queried, most_cells
        self.codes, self.numbers = net.evidence(known)
        self.hard = {name: int(code) for name, code in self.codes.items() if np.ndim(code) == 0}
        self.soft = [name for name in self.codes if name not in self.hard]
        events = [_event(net, name, known[name], self.hard) for name in known if name not in here.do]
        self.seen = ", ".join(events)
        self.events = ", ".join(part for part in (here.doing, self.seen) if part)
        self.query = f"P({', '.join(queried)}{f' | {self.events}' if self.events else ''})"
        self.relevant = net.graph.ancestors({*queried, *self.codes, *self.numbers})
        weights = [_Named(f"w({name})", Potential((name,), self.codes[name])) for name in self.soft]
        every = [*self._tables(), *weights, *self._likelihoods()]
        joined = _joined(every, queried)
        self.factors = [named for named in every if set(named.factor.variables) & joined]
        self.constants = [named for named in every if not set(named.factor.variables) & joined]
        self.work = Elimination([named.factor for named in self.factors], queried)
        self.names = {id(named.factor): named.name for named in self.factors}
        for i, step in enumerate(self.work.steps, 1):
            self.names[id(step.made)] = f"f{i}({', '.join(step.made.variables)})"

    # -- factors -------------------------------------------------------------------------

    def _tables(self) -> list[_Named]:
        found = []
        for name in self.net.graph:
            if name in self.relevant and name in self.net.tables and name not in self.here.do:
                (factor,) = self.net.factors(self.hard, {}, [name])
                above = [self._put(parent) for parent in self.net.graph.parents[name]]
                found.append(_Named(_written("P", [self._put(name)], above), factor, name))
        return found

    def _likelihoods(self) -> list[_Named]:
        """Return the likelihoods of observed numbers; linked nodes are combined."""
        found = []
        linked = {name: block for block in self.net.numbers.blocks for name in block}
        groups: dict[Any, list[str]] = {}
        for name in (name for name in self.net.graph if name in self.numbers):
            groups.setdefault(linked.get(name, name), []).append(name)
        for group in groups.values():
            values = {name: self.numbers[name] for name in group}
            whole = product(self.net.factors({}, values, group))
            of = [f"{name} = {number(value)}" for name, value in values.items()]
            label = _written("p", of, [self._put(name) for name in whole.variables])
            found.append(_Named(label, whole.given(self.hard)))
        return found

    def _put(self, name: str) -> str:
        """Return a node, with its value if it is observed."""
        return f"{name} = {self.net.values(name)[self.hard[name]]}" if name in self.hard else name

    # -- sections ------------------------------------------------------------------------

    def account(self) -> Account:
        """Return the complete working."""
        if not self.queried:
            raise OptionError("The query contains no node.", hint="pass the name of a node, or several names.")
        table = self.work.result.table
        total = float(table.sum())
        normalized = table / total
        cells = itertools.product(*(self.net.values(name) for name in self.queried))
        posterior = {
            cell if len(self.queried) > 1 else cell[0]: float(p)
            for cell, p in zip(cells, normalized.ravel(), strict=True)
        }
        if len(self.factors) <= _MOST_TABLES:
            tables = [self._table(named) for named in self.factors]
        else:
            line = f"There are {len(self.factors)} factors; each is shown where it is used."
            tables = [Section("Factors", Grid({}), (line,))]
        doing = [self._intervention()] if self.here.do else []
        compared = [self._seeing_and_doing(normalized)] if self.here.do else []
        sections = [
            *doing,
            self._opening(),
            *tables,
            *map(self._step, self.work.steps),
            self._ending(total),
            *compared,
        ]
        answer = f"{self.query}: {_in_a_line(posterior)}."
        return Account(answer, max(posterior.values()), tuple(sections), tuple(self._notes()), posterior)

    def _intervention(self) -> Section:
        """Return the section on the graph surgery."""
        here, graph = self.here, self.here.before.graph
        lines: list[str] = []
        for name in here.do:
            cut = [arc for arc in here.cut if arc[1] == name]
            event = evidence_text({name: here.do[name]})
            why = f"the arcs into {name} are cut: {arcs_text(cut)}" if cut else f"no arc leads into {name}"
            table = _written("P" if name in self.net.graph else "p", [name], graph.parents[name])
            put = f"In place of {table} stands 1." if name in self.net.graph else f"{table} is left out."
            lines.append(f"do({event}): {why}. {put}")
        if len(graph) <= _MOST_TABLES:
            free = [node for node in graph if node not in here.do]
            above = [[self._set(p) for p in graph.parents[node]] for node in free]
            letters = ["P" if node in self.net.tables else "p" for node in free]
            factors = [_written(letter, [node], put) for letter, node, put in zip(letters, free, above, strict=True)]
            whole = _written("p" if "p" in letters else "P", free, [here.doing])
            lines.append(Formula(f"{whole} = {' · '.join(factors)}"))
        return Section("The intervention", Grid({}), tuple(lines))

    def _set(self, name: str) -> str:
        """Return a node, with its value if it is set."""
        return evidence_text({name: self.here.do[name]}) if name in self.here.do else name

    def _seeing_and_doing(self, posterior: Floats) -> Section:
        """Return the section that compares setting the values with observing them."""
        here = self.here
        title = "Setting and observing"
        known = evidence_text({**here.do, **here.given})
        seen = f"P({', '.join(self.queried)} | {known})"
        try:
            observed = here.before.query(self.queried, here.observed)
        except OptionError:
            return Section(title, Grid({}), (f"{seen} is not defined: {known} has probability 0.",))
        columns = {self.query: posterior.ravel().tolist(), seen: observed.ravel().tolist()}
        values = zip(self.queried, self._combinations(self.queried), strict=True)
        same = np.allclose(observed, posterior, rtol=1e-9, atol=0)
        line = (
            "Setting the values and observing them give the same distribution here."
            if same
            else ("Setting a value says nothing about its causes, but observing it does.")
        )
        return Section(title, Grid({**dict(values), **columns}), (line,))

    def _opening(self) -> Section:
        """Return the section on the factors that are used and ignored."""
        gone, graph = self.work.order, self.net.graph
        over = f"the sum over {', '.join(gone)} of " if gone else ""
        lines = [f"{self.query} is proportional to {over}{' · '.join(named.name for named in self.factors)}."]
        barren = [name for name in graph if name not in self.relevant and name not in self.here.do]
        if barren:
            lines.append(
                f"Ignored as barren (neither the node nor a descendant is queried or observed): {', '.join(barren)}."
            )
        used = {v for named in self.factors for v in named.factor.variables}
        apart = [n for n in self.net.tables if n in self.relevant and n not in used and n not in self.hard]
        if apart:
            given = f" given {', '.join([*self.hard, *self.numbers])}" if self.hard or self.numbers else ""
            lines.append(f"Ignored as d-separated from {', '.join(self.queried)}{given}: {', '.join(apart)}.")
        known = [name for name in (*self.codes, *self.numbers) if name not in self.here.do]
        certain = [*self.hard, *self.numbers]
        idle = [name for name in known if graph.d_separated(self.queried, name, [k for k in certain if k != name])]
        if idle:
            what = "it is" if len(idle) == 1 else "each of them is"
            given = " given the other evidence" if any(k != name for name in idle for k in certain) else ""
            why = f"{what} d-separated from {', '.join(self.queried)}{given}"
            lines.append(f"The evidence on {', '.join(idle)} has no effect: {why}.")
        useless = [
            name
            for name in self.here.do
            if name in graph and graph.d_separated(self.queried, name, [k for k in certain if k != name])
        ]
        if useless:
            lines.append(f"Setting {', '.join(useless)} has no effect on {', '.join(self.queried)}.")
        if self.constants:
            names = ", ".join(named.name for named in self.constants)
            lines.append(f"Ignored because they are equal for every value of {', '.join(self.queried)}: {names}.")
        return Section("The query", Grid({}), tuple(lines))

    def _table(self, named: _Named) -> Section:
        """Return a CPT: one row for each combination of the parents' values, one column for each value."""
        factor, node = named.factor, named.node
        if factor.table.size > self.most_cells:
            return Section(named.name, Grid({}), (self._size(factor),))
        if node not in factor.variables:
            return Section(named.name, self._grid(factor.variables, [(named.name, factor)]))
        above = factor.variables[:-1]
        rows = factor.table.reshape(-1, factor.table.shape[-1])
        heads = [*above, *(f"{node} = {value}" for value in self.net.values(node))]
        return Section(named.name, _grid(heads, [*self._combinations(above), *rows.T.tolist()]))

    def _step(self, step: EliminationStep) -> Section:
        """Return the section on the elimination of one node."""
        made, names = step.made, [self.names[id(factor)] for factor in step.used]
        title = (
            f"Eliminate {step.variable}: {' · '.join(names)}, summed over {step.variable}, is {self.names[id(made)]}"
        )
        order = (*made.variables, step.variable)
        whole = product(step.used)
        if whole.table.size > self.most_cells:
            return Section(title, Grid({}), (self._size(whole), f"The sums: {self._size(made)}"))
        columns = list(zip(names, step.used, strict=True))
        if len(columns) > 1:
            columns.append(("product", whole))
        # each sum is shown in the last of its rows
        size = whole.table.shape[whole.variables.index(step.variable)]
        sums: list[Any] = [x for total in made.table.ravel().tolist() for x in (*[None] * (size - 1), total)]
        return Section(title, self._grid(order, columns, {self.names[id(made)]: sums}))

    def _ending(self, total: float) -> Section:
        """Return the section on the product and normalization of the remaining factors."""
        used = {id(factor) for step in self.work.steps for factor in step.used}
        every = [*(named.factor for named in self.factors), *(step.made for step in self.work.steps)]
        left = [factor for factor in every if id(factor) not in used]
        names = [self.names[id(factor)] for factor in left]
        whole = Potential(tuple(self.queried), self.work.result.table)
        title = f"Remaining factors: {' · '.join(names)}"
        columns = [*zip(names, left, strict=True), *([("product", whole)] if len(left) > 1 else [])]
        exact = not (self.constants or self.soft or self.numbers)
        given = f" | {self.here.doing}" if self.here.do else ""
        means = f" = P({self.seen}{given})" if exact and self.seen else ""
        what = "products" if len(left) > 1 else "numbers"
        divided = ", so they are the result" if number(total) == "1" else "; each is divided by this sum"
        line = f"The {what} sum to {number(total)}{means}{divided}."
        if whole.table.size > self.most_cells:
            return Section(title, Grid({}), (self._size(whole), line))
        posterior = {self.query: (whole.table / total).ravel().tolist()}
        return Section(title, self._grid(whole.variables, columns, posterior), (line,))

    def _notes(self) -> Iterable[str]:
        cells = [product(step.used).table.size for step in self.work.steps]
        yield f"The largest intermediate table has {max([self.work.result.table.size, *cells]):,} cells."
        if self.numbers:
            yield "p(...) is a density up to a constant factor, which is the same in every row."
        if self.soft:
            yield "w(...) is soft evidence: the weight of each value."

    # -- tables --------------------------------------------------------------------------

    def _combinations(self, variables: Sequence[str]) -> list[list[str]]:
        """Return a column of values for each variable; the last varies fastest."""
        rows = list(itertools.product(*(map(str, self.net.values(name)) for name in variables)))
        return [[row[j] for row in rows] for j in range(len(variables))]

    def _grid(
        self,
        variables: Sequence[str],
        factors: Sequence[tuple[str, Potential]],
        more: Mapping[str, Sequence[Any]] | None = None,
    ) -> Grid:
        """Return a table with one row for each combination of values and one column for each factor."""
        sizes = [len(self.net.values(name)) for name in variables]
        columns: list[Sequence[Any]] = list(self._combinations(variables))
        columns += [np.broadcast_to(factor.over(variables), sizes).ravel().tolist() for _, factor in factors]
        columns += (more or {}).values()
        return _grid([*variables, *(name for name, _ in factors), *(more or {})], columns)

    def _size(self, factor: Potential) -> str:
        by = " × ".join(f"{name} ({n})" for name, n in zip(factor.variables, factor.table.shape, strict=True))
        more = f", more than the {self.most_cells} that are shown" if factor.table.size > self.most_cells else ""
        return f"{by}: {factor.table.size:,} cells{more}."


def _grid(heads: Sequence[str], columns: Sequence[Sequence[Any]]) -> Grid:
    """Return columns under headings that may repeat: a node may be named "product"."""
    found: dict[str, Sequence[Any]] = {}
    for head, column in zip(heads, columns, strict=True):
        while head in found:
            head += "'"
        found[head] = column
    return Grid(found)


def _written(letter: str, of: Sequence[str], given: Sequence[str]) -> str:
    return f"{letter}({' | '.join(', '.join(part) for part in (of, given) if part)})"


def _event(net: Net, name: str, value: Any, hard: Mapping[str, int]) -> str:
    if not isinstance(net.attributes[name], Nominal):
        return f"{name} = {number(float(value))}"
    return f"{name} = {value}" if name in hard else f"soft evidence on {name}"


def _joined(factors: Sequence[_Named], queried: Sequence[str]) -> set[str]:
    """Return the variables that factors connect to the queried ones."""
    found, scopes = set(queried), [set(named.factor.variables) for named in factors]
    while more := {v for scope in scopes if scope & found for v in scope} - found:
        found |= more
    return found


def _in_a_line(posterior: Mapping[Any, float]) -> str:
    """Format probabilities in one line: all if there are few, otherwise the largest and their number."""

    def text(key: Any, p: float) -> str:
        shown = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        return f"{shown} {percent(p, certain=p in (0.0, 1.0))}"

    if len(posterior) <= _MOST_IN_A_LINE:
        joint = any(isinstance(key, tuple) for key in posterior)
        return ("; " if joint else ", ").join(text(key, p) for key, p in posterior.items())
    best = max(posterior, key=lambda key: posterior[key])
    return f"{text(best, posterior[best])}, the most probable of {len(posterior)}"
