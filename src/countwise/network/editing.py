"""Changes of a network: nodes, arcs and CPTs specified by hand, and edits of a fitted network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.model import restore_on_error
from countwise.data.attributes import Attribute, Nominal
from countwise.data.frames import Frame, frame_of
from countwise.data.schema import Schema
from countwise.errors import NumberIn, OptionError, TableError, check_value, did_you_mean, listed
from countwise.network.graph import Graph
from countwise.network.net import Net, code_of
from countwise.network.search.dispatch import given_graph
from countwise.network.structure_learning import choose_distributions
from countwise.tallies import Counts

__all__ = ["Editor", "HandSpecification"]

_OFF = 1e-6  # the largest allowed deviation of the sum of a row from 1


@dataclass(frozen=True, eq=False)
class HandSpecification:
    """A network specified by hand: the parameters `nodes`, `arcs` and `cpts`."""

    nodes: dict[str, Any]  # a list of values, an Attribute, or None if the values are learned from the data
    arcs: list[tuple[str, str]]  # parent and child
    tables: dict[str, dict[str, Any]]  # P(node | parents), and its weight in rows (None: data do not change it)

    def with_node(self, name: str, values: Sequence[Any] | Attribute | None) -> HandSpecification:
        """Return the specification with one more node."""
        if isinstance(values, str):
            raise OptionError(f"The values of node {name!r} must be a list, not the string {values!r}.")
        found: Any = values
        if values is not None and not isinstance(values, Attribute):
            if not isinstance(values, Iterable):
                raise OptionError(f"The values of node {name!r} must be a list, not {values!r}.")
            found = list(Nominal(name, tuple(values)).values)
        return replace(self, nodes={**self.nodes, name: found})

    def with_arc(self, parent: str, child: str) -> HandSpecification:
        """Return the specification with one more arc; undeclared nodes are declared."""
        nodes = {name: self.nodes.get(name) for name in (*self.nodes, parent, child)}
        if (parent, child) in self.arcs:
            return replace(self, nodes=nodes)
        arcs = [*self.arcs, (parent, child)]
        given_graph(list(nodes), arcs)  # raises an error for a cycle
        if child in self.tables:
            raise OptionError(
                f"Node {child!r} already has a CPT without the parent {parent!r}.", hint="add arcs before CPTs."
            )
        return replace(self, nodes=nodes, arcs=arcs)

    def without_arc(self, parent: str, child: str) -> HandSpecification:
        """Return the specification without an arc, and without the CPT of the child, which depends on it."""
        if not isinstance(parent, str) or not isinstance(child, str) or (parent, child) not in self.arcs:
            raise absent_arc(self.graph(), parent, child)
        arcs = [arc for arc in self.arcs if arc != (parent, child)]
        return replace(self, arcs=arcs, tables={name: t for name, t in self.tables.items() if name != child})

    def with_table(self, name: str, table: Any, rows: float | None) -> HandSpecification:
        """Return the specification with the CPT of a node."""
        nodes = {**self.nodes, name: self.nodes.get(name)}
        above = self.parents(name)
        if nodes[name] is None:
            values = _values_in(table, len(above))
            nodes[name] = None if values is None else list(values)
        for node in (name, *above):
            if not isinstance(nodes.get(node), list | Nominal):
                raise OptionError(
                    f"The values of node {node!r} are not declared.",
                    hint=f"call net.add_node({node!r}, [...]) first; set CPTs before the network is fitted.",
                )
        if rows is not None and not (isinstance(rows, int | float | np.number) and rows >= 0 and np.isfinite(rows)):
            raise OptionError(f"rows must be a number >= 0 or None, not {rows!r}.")
        found = _table_of(_nominal(name, nodes[name]), [_nominal(p, nodes[p]) for p in above], table)
        entry = {"table": found.tolist(), "rows": None if rows is None else float(rows)}
        return replace(self, nodes=nodes, tables={**self.tables, name: entry})

    def check(self) -> None:
        """Raise an error if a CPT that was passed as a parameter, or is in a file, is not one of its node."""
        for name, entry in self.tables.items():
            if not isinstance(entry, Mapping) or set(entry) != {"table", "rows"}:
                raise OptionError(
                    f"The entry of {name!r} in cpts must be {{'table': ..., 'rows': ...}}, not {entry!r}.",
                    hint=f"call net.set_cpt({name!r}, ...).",
                )
            self.with_table(name, entry["table"], entry["rows"])

    def parents(self, name: str) -> list[str]:
        """Return the parents of a node, in the order in which their arcs were added."""
        return [p for p, c in self.arcs if c == name]

    def declared(self) -> dict[str, Attribute | None]:
        """Return the nodes as attributes; None if the values are learned from the data."""
        return {
            name: what if what is None or isinstance(what, Attribute) else _nominal(name, what)
            for name, what in self.nodes.items()
        }

    def graph(self) -> Graph:
        """Return the structure."""
        return given_graph(list(self.nodes), self.arcs)

    def table(self, name: str, tally: Counts) -> Floats | None:
        """Return the CPT of a node: as given, or combined with the counts if it has a weight; None if not given."""
        if name not in self.tables:
            return None
        table, rows = np.array(self.tables[name]["table"], dtype=np.float64), self.tables[name]["rows"]
        if rows is None:
            return table
        counts = tally.table + rows / max(int(np.prod(tally.table.shape[:-1])), 1) * table
        totals = counts.sum(axis=-1, keepdims=True)
        return np.where(totals > 0, counts / np.maximum(totals, 1e-300), table)

    def check_columns(self, schema: Schema, latent: Mapping[str, Nominal]) -> None:
        """Raise an error if the table has no column for a node."""
        hidden = [name for name in self.nodes if name not in schema and name not in latent]
        if hidden:
            raise TableError(
                f"The table has no column{'s' * (len(hidden) > 1)} {listed(hidden)}.",
                hint=did_you_mean(hidden[0], schema)
                or f"declare a node that is never observed as latent: latent={{{hidden[0]!r}: number of values}}.",
            )

    def check_graph(self, graph: Graph) -> None:
        """Raise an error if a learned structure contradicts the CPTs specified by hand."""
        for name in self.tables:
            if list(graph.parents[name]) != self.parents(name):
                given, learned = (
                    f"the parents {listed(some)}" if some else "no parents"
                    for some in (self.parents(name), graph.parents[name])
                )
                raise OptionError(
                    f"The CPT of node {name!r} was set by hand for {given}, but the structure has {learned}.",
                    hint="set the CPT for these parents, or change the arcs.",
                )

    def net(self) -> Net:
        """Return the network with the given CPTs, without data."""
        absent = [name for name in self.nodes if name not in self.tables]
        if absent:
            raise OptionError(
                f"{listed(absent)} {'has' if len(absent) == 1 else 'have'} no CPT.",
                hint=f"call net.set_cpt({absent[0]!r}, ...), or fit the network on data. The graph alone answers "
                "d_separated and markov_blanket.",
            )
        self.check()
        attributes = {name: a for name, a in self.declared().items() if isinstance(a, Nominal)}
        tables = {name: np.array(entry["table"], dtype=np.float64) for name, entry in self.tables.items()}
        return Net(self.graph(), attributes, tables, {})


def absent_arc(graph: Graph, parent: Any, child: Any) -> OptionError:
    """Return the error of an arc that cannot be removed, because the network does not have it."""
    for node in (parent, child):
        if not isinstance(node, str):
            return OptionError(f"{node!r} is not the name of a node.")
    parents = listed(graph.parents.get(child, ()))
    hint = f"use one of the parents of {child!r}: {parents}." if parents else "see graph_.arcs for all arcs."
    return OptionError(f"The network has no arc {parent} → {child}.", hint=hint)


class Editor:
    """Changes a fitted network and returns it; only the changed families are counted again."""

    def __init__(self, model: Any) -> None:
        model._check_fitted()
        self.model, self.graph = model, model.graph_

    def add_arc(self, parent: str, child: str, *rows: Any) -> Any:
        """Add an arc; see `BayesNetworkClassifier.add_arc`."""
        graph = self.graph.with_arc(*self.graph.known([parent, child]))
        return self._extend(graph, self.model.schema_, [child], *rows)

    def remove_arc(self, parent: str, child: str, *rows: Any) -> Any:
        """Remove an arc."""
        if not isinstance(parent, str) or not isinstance(child, str) or (parent, child) not in self.graph.arcs:
            raise absent_arc(self.graph, parent, child)
        return self._extend(self.graph.without_arc(parent, child), self.model.schema_, [child], *rows)

    def add_node(
        self, name: str, parents: str | Iterable[str], children: str | Iterable[str], X: Any, *rows: Any
    ) -> Any:
        """Add a node."""
        if not isinstance(name, str):
            raise OptionError(f"{name!r} is not the name of a node.")
        if name in self.graph:
            raise OptionError(f"The network already has a node {name!r}.", hint="use add_arc to add parents.")
        above, below = (self.graph.known(names) for names in (parents, children))
        frame = X if isinstance(X, Frame) else frame_of(X)
        if name not in frame.columns:
            raise TableError(
                f"The table has no column {name!r}.", hint=f"use one of its columns: {listed(frame.columns)}."
            )
        types = self.model.types
        declared = {name: types[name]} if isinstance(types, dict) and name in types else None
        one = Frame({name: frame.columns[name]}, frame.n_rows, named=True)
        schema = Schema([*self.model.schema_.attributes, *Schema.kinds(one, declared).learn(one).attributes])
        tree = {**self.graph.parents, name: tuple(above)}
        tree |= {child: (*tree[child], name) for child in below}
        return self._extend(Graph(tree), schema, [name, *below], frame, *rows)

    def _extend(self, graph: Graph, schema: Schema, changed: Sequence[str], X: Any, y: Any, weight: Any) -> Any:
        model = self.model
        with restore_on_error(model):
            model.schema_, model.n_features_in_ = schema, len(schema)
            if hasattr(model, "feature_names_in_"):
                model.feature_names_in_ = np.array(list(schema), dtype=object)
            fresh = choose_distributions(model, Graph(dict.fromkeys(graph, ())), schema)
            plan = model._blueprint
            model._blueprint = replace(plan, graph=graph, distributions={**fresh, **plan.distributions})
            model._blueprint.check_arcs("fit again with distributions={{{parent!r}: 'binned'}}.")
            total: dict[str, Any] = {}
            for part in model._open_parts(X, y, weight):
                tallies = model._tallies_of(part, changed)[0]
                total = {name: total[name] + tallies[name] if name in total else tallies[name] for name in changed}
            model.tallies_ = {**model.tallies_, **total}
            model.found_ = None  # its score is that of another structure
            model._estimate()
        return model


def _nominal(name: str, what: Any) -> Nominal:
    if isinstance(what, Nominal):
        return what
    if isinstance(what, str) or not isinstance(what, Iterable):
        raise OptionError(f"The values of node {name!r} must be a list, not {what!r}.")
    return Nominal(name, tuple(what), grows=False)


# -- CPTs as the user gives them -------------------------------------------------------------


def _values_in(table: Any, parents: int) -> tuple[Any, ...] | None:
    """Return the values that a CPT given as a mapping has probabilities for; None if it does not list them."""
    if not isinstance(table, Mapping):
        return None
    if not parents:
        return tuple(table)
    rows = [row for row in table.values() if isinstance(row, Mapping)]
    return tuple(dict.fromkeys(value for row in rows for value in row)) or None


def _table_of(of: Nominal, parents: Sequence[Nominal], table: Any) -> Floats:
    """Return P(node | parents) as an array with one axis for each parent and the last axis for the node.

    An array must have this shape. A mapping is ``{value: p}`` without parents, ``{parent value: {value: p}}`` with
    one parent, and ``{(value, value): {value: p}}`` with several.
    """
    shape = tuple(len(a.values) for a in (*parents, of))
    if isinstance(table, Mapping):
        found = np.full(shape, np.nan)
        for key, row in table.items() if parents else [((), table)]:
            cells = zip(parents, _key(key, parents), strict=True)
            found[tuple(code_of(a.name, a.values, value) for a, value in cells)] = _row(of, row)
        absent = np.argwhere(np.isnan(found).any(axis=-1))
        if len(absent):
            case = [a.values[i] for a, i in zip(parents, absent[0].tolist(), strict=True)]
            raise OptionError(f"The CPT of {of.name!r} has no probabilities for the parent values {listed(case)}.")
    else:
        try:
            found = np.array(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"The CPT of {of.name!r} must be an array of numbers or a mapping.") from None
        if found.shape != shape:
            raise OptionError(
                f"The CPT of {of.name!r} has the shape {found.shape}; it must be {shape}.",
                hint=f"use one axis for each of {listed([a.name for a in (*parents, of)])}"
                + ("." if parents else "; add arcs before CPTs."),
            )
    return _sound(of.name, parents, found)


def _key(key: Any, parents: Sequence[Nominal]) -> tuple[Any, ...]:
    found = (key,) if len(parents) == 1 and not (isinstance(key, tuple) and len(key) == 1) else tuple(key)
    if len(found) != len(parents):
        raise OptionError(
            f"The CPT key {key!r} must contain one value for each of the parents {listed([a.name for a in parents])}."
        )
    return found


def _probability(of: Nominal, given: Any) -> float:
    check_value(f"A probability of {of.name!r}", given, NumberIn(0, 1))
    return float(given)


def _row(of: Nominal, row: Any) -> Floats:
    if isinstance(row, Mapping):
        numbers = np.zeros(len(of.values))
        for value, p in row.items():
            numbers[code_of(of.name, of.values, value)] = _probability(of, p)
        absent = [v for v in of.values if v not in row]
        rest = 1.0 - float(numbers.sum())
        if len(absent) == 1 and rest > _OFF:  # the missing probability is the rest
            numbers[of.values.index(absent[0])] = rest
        return numbers
    try:
        numbers = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (len(of.values),):
        raise OptionError(
            f"A row of the CPT of {of.name!r} needs {len(of.values)} numbers, one for each value, not {row!r}."
        )
    return numbers


def _sound(name: str, parents: Sequence[Nominal], table: Floats) -> Floats:
    """Return the CPT with normalized rows; raise an error if a sum differs from 1 by more than rounding."""
    if not np.isfinite(table).all() or (table < 0).any():
        raise OptionError(f"The CPT of {name!r} must contain finite numbers >= 0.")
    sums = table.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1.0)
    if off.size and off.max() > _OFF:
        at = np.unravel_index(int(np.argmax(off)), sums.shape)
        given = ", ".join(f"{a.name} = {a.values[i]}" for a, i in zip(parents, map(int, at[:-1]), strict=True))
        row = f"The row of the CPT of {name!r} for {given}" if given else f"The CPT of {name!r}"
        raise OptionError(f"{row} sums to {float(sums[at]):.6g}, not 1.")
    return np.where(off > 1e-15, table / np.where(sums > 0, sums, 1.0), table)
