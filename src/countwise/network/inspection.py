"""What a network says of itself: tables, reasons for arcs, independence, and what an answer hangs on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from countwise.data.attributes import Numeric
from countwise.data.table import Table
from countwise.errors import OptionError
from countwise.measures import chi_square
from countwise.network.explaining_away import explaining_away
from countwise.network.graph import Graph
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net
from countwise.network.sensitivity import sensitivities
from countwise.tallies import Counts
from countwise.working import Account, Grid

__all__ = ["NetworkInsight"]

TREES = ("chow_liu", "tan", "k_dependence")  # arcs are taken by what they tell, whether or not they pay


class NetworkInsight:
    """Tables, reasons and independence of a network that is fitted or drawn."""

    def _net(self) -> Net:
        raise NotImplementedError

    def _known(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """What is known."""
        raise NotImplementedError

    def _rows_of(self, X: Any) -> Table:
        """A table encoded by node."""
        raise NotImplementedError

    # -- explanations ---------------------------------------------------------------------

    def why(self, parent: str, child: str) -> Grid:
        """Why an arc is there, or is not: what it was found to gain, each time it was tried.

        Parameters
        ----------
        parent, child : str
            The arc.

        Returns
        -------
        Grid
            The arc, either way; what it gains of the score (for trees and around a class: the bits that the two
            tell of each other), each time that it was weighed; whether it was taken, and why.
        """
        net = self._net()
        net.graph.known([parent, child])
        found = self.found_  # type: ignore[attr-defined]
        if found is None:
            raise OptionError("The structure was given, not found; no arc was tried.")
        rows = [(p, c, g, t) for p, c, g, t in found.tried if {p, c} == {parent, child}]
        return Grid(
            {
                "arc": [f"{p} → {c}" for p, c, _, _ in rows],
                "gain": [float(g) for _, _, g, _ in rows],
                "taken": ["yes" if t else "no" for *_, t in rows],
                "because": [_because(net.graph, *row, tree=self.structure in TREES) for row in rows],  # type: ignore[attr-defined]
            }
        )

    def explaining_away(
        self, cause: str | Mapping[str, Any], effect: Mapping[str, Any], other: str | Mapping[str, Any]
    ) -> Account:
        """Whether one cause explains an effect away, so that another becomes less probable.

        Parameters
        ----------
        cause, other : str or mapping of str to value
            Two nodes, each with its value, as ``{"rain": "yes"}``; for a name alone it is the value for which the
            effect speaks most.
        effect : mapping of str to value
            What is seen.

        Returns
        -------
        Account
        """
        return explaining_away(self._net(), cause, self._known(effect), other)

    def sensitivity(self, asked: str, value: Any, given: Mapping[str, Any] | None = None) -> Grid:
        """How P(asked = value | given) moves with each entry of each table, the largest first.

        The other entries of a row give way in proportion. An answer that moves by 1 where an entry moves by 1 has
        the derivative 1.

        Parameters
        ----------
        asked : str
            A node.
        value : object
            Its value.
        given : mapping of str to value, optional
            What is known.

        Returns
        -------
        Grid
        """
        net, known = self._net(), self._known(given)
        net.graph.known(asked)
        if asked not in net.tables:
            raise OptionError(f"{asked!r} is a number; sensitivity is asked of a value.")
        rows: list[tuple[str, str, float, float]] = []
        for node, slopes in sensitivities(net, asked, net.code(asked, value), known).items():
            above = net.graph.parents[node]
            for at in np.ndindex(*slopes.shape):
                if slopes[at] == 0.0:
                    continue
                case = [f"{p} = {net.attributes[p].values[i]}" for p, i in zip(above, at, strict=False)]  # type: ignore[attr-defined]
                head = f"{node} = {net.attributes[node].values[at[-1]]}"  # type: ignore[attr-defined]
                entry = f"P({head}{' | ' + ', '.join(case) if case else ''})"
                rows.append((node, entry, float(net.tables[node][at]), float(slopes[at])))
        rows.sort(key=lambda row: (-abs(row[3]), row[1]))
        return Grid({name: [row[i] for row in rows] for i, name in enumerate(("node", "entry", "P", "derivative"))})

    def _shown_table(self, name: str) -> Grid:
        """P(node | parents) as a table: a row for each combination of the parents' values."""
        net = self._net()
        (name,) = net.graph.known([name])
        above = net.numbers.names_above(name) if name not in net.tables else net.graph.parents[name]
        cases = list(itertools.product(*(net.attributes[p].values for p in above)))  # type: ignore[attr-defined]
        columns: dict[str, list[Any]] = {p: [case[i] for case in cases] for i, p in enumerate(above)}
        if name in net.tables:
            rows = net.tables[name].reshape(len(cases), -1)
            values = net.attributes[name].values  # type: ignore[attr-defined]
            columns.update({f"{name} = {v}": rows[:, j].tolist() for j, v in enumerate(values)})
            return Grid(columns)
        line = net.numbers.lines.get(name)
        if isinstance(net.densities[name], LinearDensity) and line is not None:
            columns["intercept" if line.numbers else "mean"] = line.intercept.tolist()
            columns.update({f"× {x}": line.slope[:, j].tolist() for j, x in enumerate(line.numbers)})
            return Grid({**columns, "deviation": line.sd.tolist(), "n": line.n.tolist()})
        shown = net.densities[name].summary(range(len(cases)))
        if not isinstance(net.attributes[name], Numeric):
            return Grid(shown)
        return Grid({**columns, **{k: v for i, (k, v) in enumerate(shown.items()) if i or not above}})

    # -- independence -----------------------------------------------------------------------

    def separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Whether nodes are independent given others, whatever the tables are (d-separation)."""
        return self._net().graph.separated(one, other, given)

    def blanket(self, node: str) -> tuple[str, ...]:
        """The Markov blanket: given these, all others tell nothing of the node."""
        return self._net().graph.blanket(node)

    def independence(self, X: Any, one: str, other: str, given: str | Sequence[str] = ()) -> Grid:
        """Pearson's test whether two nodes are independent given others, on the rows of a table.

        Parameters
        ----------
        X : any table
            Rows with columns for the nodes.
        one, other : str
            Nodes of names.
        given : str or sequence of str
            Within each combination of their values the two are compared.

        Returns
        -------
        Grid
            χ², degrees of freedom, p-value, and whether the graph says that they are independent.
        """
        net = self._net()
        names = net.graph.known([one, other, *net.graph.known(given)])
        odd = [name for name in names if name not in net.tables]
        if odd:
            raise OptionError(f"{odd[0]!r} is a number; the test is of names.")
        table = self._rows_of(X)
        axes = tuple(net.attributes[name] for name in (*names[2:], one, other))
        counts = Counts(axes).fill(table).table  # type: ignore[arg-type]
        counts = counts.reshape(-1, *counts.shape[-2:])
        statistic, freedom, _ = chi_square(counts)
        total, free = float(np.sum(statistic)), int(np.sum(freedom))
        from scipy.special import gammaincc

        p = float(gammaincc(free / 2, total / 2)) if free else float("nan")
        apart = net.graph.separated(one, other, names[2:])
        return Grid(
            {
                "pair": [f"{one} and {other}" + (f" given {', '.join(names[2:])}" if names[2:] else "")],
                "chi-square": [total],
                "freedom": [free],
                "p-value": [p],
                "in the graph": ["independent" if apart else "dependent"],
            }
        )


def _because(graph: Graph, parent: str, child: str, gain: float, taken: bool, *, tree: bool) -> str:
    """Why an arc was taken, or was not."""
    if tree:
        return "of those that may join it, it tells most" if taken else "others tell more"
    if taken:
        return "it pays" if gain > 0 else "it is required"
    if not gain > 0:
        return "it does not pay"
    if child in graph.ancestors([parent]):
        return "the other way is taken" if child in graph.parents[parent] else "it would close a circle"
    return "others paid more"
