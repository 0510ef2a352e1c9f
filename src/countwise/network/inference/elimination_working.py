"""The working of a query by variable elimination: tables, products, sums, and how they are normalized."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.network.inference.elimination import Elimination, EliminationStep
from countwise.network.inference.factors import Potential, product
from countwise.network.net import Net
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["explain_elimination"]

_MOST_TABLES = 12  # more are written only where they are used
_MOST_IN_A_LINE = 6


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A factor, how it is called, and the node whose table it is, if it is one."""

    name: str
    factor: Potential
    node: str = ""


def explain_elimination(
    net: Net, asked: str | Sequence[str], known: Mapping[str, Any] | None = None, *, most_cells: int = 64
) -> Account:
    """Explain a query by variable elimination, with every table on the way.

    P(asked | known) is proportional to the sum over all other nodes of the product of all tables. A node is summed
    out as soon as the tables that have it are multiplied. Tables that cannot matter are left out, and it is said why.

    Parameters
    ----------
    net : Net
        The network.
    asked : str or sequence of str
        Nominal nodes.
    known : mapping of str to value, optional
        The evidence: values, numbers, or weights of values.
    most_cells : int, default=64
        Of larger tables only the size is shown.

    Returns
    -------
    Account
        `value` is the largest probability, `posterior` all of them: by value, or by values where several are asked.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.network.graph import Graph
    >>> from countwise.network.net import Net
    >>> from countwise.network.inference.elimination_working import explain_elimination
    >>> both = ("no", "yes")
    >>> net = Net(
    ...     Graph({"rain": (), "wet": ("rain",), "slippery": ("wet",)}),
    ...     {name: Nominal(name, both) for name in ("rain", "wet", "slippery")},
    ...     {
    ...         "rain": np.array([0.8, 0.2]),
    ...         "wet": np.array([[0.9, 0.1], [0.1, 0.9]]),
    ...         "slippery": np.array([[1.0, 0.0], [0.3, 0.7]]),
    ...     },
    ...     {},
    ... )
    >>> account = explain_elimination(net, "rain", {"slippery": "yes"})
    >>> print(account.answer)
    P(rain | slippery = yes): no 30.8 %, yes 69.2 %.
    >>> for section in account.sections[-2:]:
    ...     print(section)
    Eliminate wet: P(wet | rain) · P(slippery = yes | wet), summed over wet, is f1(rain)
      rain  wet  P(wet | rain)  P(slippery = yes | wet)  product  f1(rain)
      no    no   0.9            0                        0
      no    yes  0.1            0.7                      0.07     0.07
      yes   no   0.1            0                        0
      yes   yes  0.9            0.7                      0.63     0.63
    What is left: P(rain) · f1(rain)
      rain  P(rain)  f1(rain)  product  P(rain | slippery = yes)
      no    0.8      0.07      0.056    0.307692
      yes   0.2      0.63      0.126    0.692308
      The sum of the products is 0.182 = P(slippery = yes); each is divided by it.
    """
    net.query(asked, known)  # what cannot be asked is refused where it always is
    return _EliminationWorking(net, net.graph.known(asked), dict(known or {}), most_cells).account()


class _EliminationWorking:
    """A query, from the tables to the answer."""

    def __init__(self, net: Net, asked: Sequence[str], known: Mapping[str, Any], most_cells: int) -> None:
        self.net, self.asked, self.most_cells = net, asked, most_cells
        self.codes, self.numbers = net.evidence(known)
        self.hard = {name: int(code) for name, code in self.codes.items() if np.ndim(code) == 0}
        self.events = ", ".join(_event(net, name, known[name], self.hard) for name in known)
        self.query = f"P({', '.join(asked)}{f' | {self.events}' if self.events else ''})"
        self.relevant = net.graph.ancestors({*asked, *self.codes, *self.numbers})
        every = [*self._tables(), *self._weights(), *self._of_numbers()]
        joined = _joined(every, asked)
        self.factors = [named for named in every if set(named.factor.variables) & joined]
        self.constants = [named for named in every if not set(named.factor.variables) & joined]
        self.work = Elimination([named.factor for named in self.factors], asked)
        self.names = {id(named.factor): named.name for named in self.factors}
        for i, step in enumerate(self.work.steps, 1):
            self.names[id(step.made)] = f"f{i}({', '.join(step.made.variables)})"

    # -- factors -------------------------------------------------------------------------

    def _tables(self) -> list[_Named]:
        found = []
        for name in self.net.graph:
            if name in self.relevant and name in self.net.tables:
                (factor,) = self.net.factors(self.hard, {}, [name])
                above = [self._put(parent) for parent in self.net.graph.parents[name]]
                found.append(_Named(_law("P", [self._put(name)], above), factor, name))
        return found

    def _weights(self) -> list[_Named]:
        soft = [name for name in self.codes if name not in self.hard]
        return [_Named(f"w({name})", Potential((name,), self.codes[name])) for name in soft]

    def _of_numbers(self) -> list[_Named]:
        """How likely the numbers are that are known; those that depend on each other together."""
        found = []
        for group in _groups(self.net, self.numbers):
            values = {name: self.numbers[name] for name in group}
            whole = product(self.net.factors({}, values, group))
            of = [f"{name} = {number(value)}" for name, value in values.items()]
            label = _law("p", of, [self._put(name) for name in whole.variables])
            found.append(_Named(label, whole.given(self.hard)))
        return found

    def _put(self, name: str) -> str:
        """A node, with its value where it is known."""
        return f"{name} = {self._values(name)[self.hard[name]]}" if name in self.hard else name

    def _values(self, name: str) -> tuple[Any, ...]:
        a = self.net.attributes[name]
        assert isinstance(a, Nominal)  # noqa: S101 - only nominal nodes are variables of factors
        return a.values

    # -- sections ------------------------------------------------------------------------

    def account(self) -> Account:
        """All of it."""
        table = self.work.result.table
        total = float(table.sum())
        shares = table / total
        cells = itertools.product(*(self._values(name) for name in self.asked))
        posterior = {
            cell if len(self.asked) > 1 else cell[0]: float(p) for cell, p in zip(cells, shares.ravel(), strict=True)
        }
        sections = [self._opening(), *self._tables_told(), *map(self._step, self.work.steps), self._ending(total)]
        answer = f"{self.query}: {_in_a_line(posterior)}."
        return Account(answer, max(posterior.values()), tuple(sections), tuple(self._notes()), posterior)

    def _opening(self) -> Section:
        """What is summed, and what is left out."""
        gone = self.work.order
        over = f"the sum over {', '.join(gone)} of " if gone else ""
        lines = [
            f"{self.query} is proportional to {over}{' · '.join(named.name for named in self.factors)}.",
            *self._left_out(),
        ]
        return Section("The query", Grid({}), tuple(lines))

    def _left_out(self) -> list[str]:
        graph, lines = self.net.graph, []
        barren = [name for name in graph if name not in self.relevant]
        if barren:
            lines.append(f"Left out as barren (neither asked nor known, nor is anything below): {', '.join(barren)}.")
        used = {v for named in self.factors for v in named.factor.variables}
        apart = [n for n in self.net.tables if n in self.relevant and n not in used and n not in self.hard]
        if apart:
            given = f" given {', '.join([*self.hard, *self.numbers])}" if self.hard or self.numbers else ""
            lines.append(f"Left out as d-separated from {', '.join(self.asked)}{given}: {', '.join(apart)}.")
        known = [*self.codes, *self.numbers]
        sure = [*self.hard, *self.numbers]
        idle = [name for name in known if graph.d_separated(self.asked, name, [k for k in sure if k != name])]
        if idle:
            what = "it is d-separated" if len(idle) == 1 else "each is d-separated"
            lines.append(f"Knowing {', '.join(idle)} changes nothing: {what} given what else is known.")
        if self.constants:
            told = ", ".join(named.name for named in self.constants)
            lines.append(f"Left out as constants, the same for every value of {', '.join(self.asked)}: {told}.")
        return lines

    @property
    def _soft(self) -> set[str]:
        return {name for name in self.codes if name not in self.hard}

    def _tables_told(self) -> list[Section]:
        """Each table on its own, if they are few."""
        if len(self.factors) > _MOST_TABLES:
            words = f"There are {len(self.factors)}; each is written where it is used."
            return [Section("The tables", Grid({}), (words,))]
        return [self._table(named) for named in self.factors]

    def _table(self, named: _Named) -> Section:
        """A table as it is given: a row for each combination of the parents, a column for each value."""
        factor, node = named.factor, named.node
        if factor.size > self.most_cells:
            return Section(named.name, Grid({}), (self._size(factor),))
        if node not in factor.variables:
            return Section(named.name, self._grid(factor.variables, [(named.name, factor)]))
        above = factor.variables[:-1]
        rows = factor.table.reshape(-1, factor.table.shape[-1])
        heads = [*above, *(f"{node} = {value}" for value in self._values(node))]
        return Section(named.name, _grid(heads, [*self._combinations(above), *rows.T.tolist()]))

    def _step(self, step: EliminationStep) -> Section:
        """One node summed out."""
        made, names = step.made, [self.names[id(factor)] for factor in step.used]
        title = (
            f"Eliminate {step.variable}: {' · '.join(names)}, summed over {step.variable}, is {self.names[id(made)]}"
        )
        order = (*made.variables, step.variable)
        whole = product(step.used)
        if whole.size > self.most_cells:
            return Section(title, Grid({}), (self._size(whole), f"The sums: {self._size(made)}"))
        columns = list(zip(names, step.used, strict=True))
        if len(columns) > 1:
            columns.append(("product", whole))
        # a sum stands in the last of the lines that it is the sum of
        size = whole.table.shape[whole.variables.index(step.variable)]
        sums: list[Any] = [x for total in made.table.ravel().tolist() for x in (*[None] * (size - 1), total)]
        return Section(title, self._grid(order, columns, {self.names[id(made)]: sums}))

    def _ending(self, total: float) -> Section:
        """What is left, multiplied and normalized."""
        left = self._left()
        names = [self.names[id(factor)] for factor in left]
        whole = Potential(tuple(self.asked), self.work.result.table)
        title = f"What is left: {' · '.join(names)}"
        columns = [*zip(names, left, strict=True), *([("product", whole)] if len(left) > 1 else [])]
        exact = not (self.constants or self._soft or self.numbers)
        means = f" = P({self.events})" if exact and self.events else ""
        what = "products" if len(left) > 1 else "numbers"
        divided = "so they are the answer" if number(total) == "1" else "each is divided by it"
        line = f"The sum of the {what} is {number(total)}{means}; {divided}."
        if whole.size > self.most_cells:
            return Section(title, Grid({}), (self._size(whole), line))
        shares = {self.query: (whole.table / total).ravel().tolist()}
        return Section(title, self._grid(whole.variables, columns, shares), (line,))

    def _left(self) -> list[Potential]:
        used = {id(factor) for step in self.work.steps for factor in step.used}
        every = [*(named.factor for named in self.factors), *(step.made for step in self.work.steps)]
        return [factor for factor in every if id(factor) not in used]

    def _notes(self) -> Iterable[str]:
        cells = [product(step.used).size for step in self.work.steps]
        yield f"The largest table on the way has {max([self.work.result.size, *cells]):,} cells."
        if self.numbers:
            yield "p(...) is a density, divided by its largest value: what is divided out is the same in every line."
        if self._soft:
            yield "w(...) are the weights of soft evidence."

    # -- tables --------------------------------------------------------------------------

    def _combinations(self, variables: Sequence[str]) -> list[list[str]]:
        """A column of values for each variable, the last running fastest."""
        rows = list(itertools.product(*(map(str, self._values(name)) for name in variables)))
        return [[row[j] for row in rows] for j in range(len(variables))]

    def _grid(
        self,
        variables: Sequence[str],
        factors: Sequence[tuple[str, Potential]],
        more: Mapping[str, Sequence[Any]] | None = None,
    ) -> Grid:
        """A row for each combination of values, a column for each factor."""
        sizes = [len(self._values(name)) for name in variables]
        columns: list[Sequence[Any]] = list(self._combinations(variables))
        columns += [_spread(factor, variables, sizes) for _, factor in factors]
        columns += (more or {}).values()
        return _grid([*variables, *(name for name, _ in factors), *(more or {})], columns)

    def _size(self, factor: Potential) -> str:
        by = " × ".join(f"{name} ({n})" for name, n in zip(factor.variables, factor.table.shape, strict=True))
        return f"{by}: {factor.size:,} cells, more than the {self.most_cells} that are written out."


def _spread(factor: Potential, variables: Sequence[str], sizes: Sequence[int]) -> list[float]:
    table: Floats = np.broadcast_to(factor.over(variables), sizes)
    return table.ravel().tolist()


def _grid(heads: Sequence[str], columns: Sequence[Sequence[Any]]) -> Grid:
    """Columns under heads that may be alike: a node can be called "product"."""
    found: dict[str, Sequence[Any]] = {}
    for head, column in zip(heads, columns, strict=True):
        while head in found:
            head += "'"
        found[head] = column
    return Grid(found)


def _law(letter: str, of: Sequence[str], given: Sequence[str]) -> str:
    return f"{letter}({' | '.join(', '.join(part) for part in (of, given) if part)})"


def _event(net: Net, name: str, value: Any, hard: Mapping[str, int]) -> str:
    if not isinstance(net.attributes[name], Nominal):
        return f"{name} = {number(float(value))}"
    return f"{name} = {value}" if name in hard else f"{name} by weights"


def _joined(factors: Sequence[_Named], asked: Sequence[str]) -> set[str]:
    """The variables that factors join to those asked."""
    found = set(asked)
    grown = True
    while grown:
        grown = False
        for named in factors:
            variables = set(named.factor.variables)
            if variables & found and not variables <= found:
                found |= variables
                grown = True
    return found


def _groups(net: Net, numbers: Mapping[str, float]) -> list[list[str]]:
    """Numbers that are known, together where arcs lead from number to number."""
    apart: dict[str, str] = {name: name for name in net.graph if not isinstance(net.attributes[name], Nominal)}

    def root(name: str) -> str:
        while apart[name] != name:
            name = apart[name]
        return name

    for parent, child in net.graph.arcs:
        if parent in apart and child in apart:
            apart[root(child)] = root(parent)
    found: dict[str, list[str]] = {}
    for name in net.graph:
        if name in numbers:
            found.setdefault(root(name), []).append(name)
    return list(found.values())


def _in_a_line(shares: Mapping[Any, float]) -> str:
    """Probabilities in a line: all if they are few, else the largest, saying of how many."""

    def words(key: Any, p: float) -> str:
        shown = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        return f"{shown} {percent(p, certain=p in (0.0, 1.0))}"

    if len(shares) <= _MOST_IN_A_LINE:
        joint = any(isinstance(key, tuple) for key in shares)
        return ("; " if joint else ", ").join(words(key, p) for key, p in shares.items())
    best = max(shares, key=lambda key: shares[key])
    return f"{words(best, shares[best])}, the most probable of {len(shares)}"
