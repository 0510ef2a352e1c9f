"""The structure of a network: given arcs, or the result of one of the searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError, did_you_mean, listed
from countwise.network.family_scores import Families
from countwise.network.graph import Graph
from countwise.network.search.class_structures import (
    augmented_tree,
    chow_liu,
    conditional_information,
    k_dependence,
    naive,
)
from countwise.network.search.constraints import Constraints, FoundStructure
from countwise.network.search.hill_climb import hill_climb
from countwise.network.search.ordering import by_every_ordering, by_ordering, by_removal, search_orders

__all__ = ["AROUND_CLASS", "BY_INFORMATION", "STRUCTURES", "StructureSearch", "arcs_of", "given_graph", "graph_of"]

STRUCTURES = (
    "given",
    "ordering",
    "backward_ordering",
    "orders",
    "all_orders",
    "annealing",
    "chow_liu",
    "naive",
    "tan",
    "k_dependence",
    "hill_climb",
)
AROUND_CLASS = ("naive", "tan", "k_dependence")  # structures in which every attribute depends on the class
BY_INFORMATION = (*AROUND_CLASS, "chow_liu")  # structures that do not maximize a score


def arcs_of(structure: Any) -> list[tuple[str, str]] | None:
    """Return the arcs of a given structure: a Graph, a mapping of child to parents, pairs, or a networkx graph."""
    if isinstance(structure, str) or structure is None:
        return None
    if isinstance(structure, Graph):
        return list(structure.arcs)
    if isinstance(structure, Mapping):
        pairs: list[Any] = []
        for child, above in structure.items():
            parents = [above] if isinstance(above, str) else above
            if not isinstance(parents, Iterable):
                raise OptionError(f"The parents of {child!r} must be names of nodes, not {above!r}.")
            pairs += [(parent, child) for parent in parents]
    elif hasattr(structure, "edges"):
        pairs = list(structure.edges() if callable(structure.edges) else structure.edges)
    else:
        pairs = list(structure) if isinstance(structure, Iterable) else [structure]
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise OptionError(f"{pair!r} is not an arc.", hint="use pairs (parent, child), or {child: [parents]}.")
    return [(str(parent), str(child)) for parent, child in pairs]


def graph_of(structure: Any) -> Graph | None:
    """Return a given structure as a graph; None if the structure is learned, or has no nodes."""
    arcs = arcs_of(structure)
    if arcs is None:
        return None
    alone: Iterable[Any] = ()  # nodes without arcs
    if isinstance(structure, Graph | Mapping):
        alone = structure
    elif hasattr(structure, "edges"):
        alone = structure.nodes() if callable(structure.nodes) else structure.nodes
    names = dict.fromkeys([*(node for arc in arcs for node in arc), *map(str, alone)])
    return given_graph(list(names), arcs) if names else None


def given_graph(names: Sequence[str], arcs: Iterable[tuple[str, str]]) -> Graph:
    """Return a graph over all nodes with the given arcs."""
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for parent, child in arcs:
        for node in (parent, child):
            if node not in parents:
                raise OptionError(
                    f"The arc {parent} → {child} refers to node {node!r}, but the table has no such column.",
                    hint=did_you_mean(node, parents) or f"use the nodes {listed(names)}, or add the column.",
                )
        parents[child] = tuple(dict.fromkeys((*parents[child], parent)))
    return Graph(parents)


@dataclass(frozen=True)
class StructureSearch:
    """The options of a structure search."""

    structure: str  # one of `STRUCTURES`
    constraints: Constraints
    order: Sequence[str] | None  # for "ordering" and "backward_ordering"
    root: str | None  # for "chow_liu" and "tan"
    target: str | None  # the class, for "naive", "tan" and "k_dependence"
    max_dependence: int  # for "k_dependence"
    restarts: int
    seed: int
    numbers: frozenset[str]  # numeric nodes, which cannot be parents of nominal nodes
    alpha: float | None  # significance level of the test of "backward_ordering"; None if a score decides

    def find(self, families: Families, names: Sequence[str], start: Graph | None = None) -> FoundStructure:
        """Return the structure, its score and the candidate arcs."""
        ground = (families, list(names), self.constraints)
        match self.structure:
            case "ordering":
                return by_ordering(families, self._ordering(names), self.constraints)
            case "backward_ordering":
                return by_removal(families, self._ordering(names), self.constraints, self.alpha)
            case "all_orders":
                return by_every_ordering(*ground)
            case "orders" | "annealing" as method:
                return search_orders(*ground, anneal=method == "annealing", restarts=self.restarts, seed=self.seed)
            case "hill_climb":
                return hill_climb(*ground, start=start, restarts=self.restarts, seed=self.seed)
            case "chow_liu":
                return self._tree(families, names)
        return self._for_class(families, names)

    def _ordering(self, names: Sequence[str]) -> list[str]:
        if self.order is None:
            return list(names)
        if isinstance(self.order, str) or not isinstance(self.order, Iterable):
            raise OptionError(f"order must be a list of the names of nodes, not {self.order!r}.")
        order = [str(name) for name in self.order]
        for name in order:
            if name not in names:
                raise OptionError(
                    f"order refers to node {name!r}, but the network has no such node.",
                    hint=did_you_mean(name, names),
                )
        absent = [name for name in names if name not in order]
        if absent or len(set(order)) < len(order):
            raise OptionError(
                f"order must contain every node exactly once{'; missing: ' + listed(absent) if absent else ''}.",
                hint=f"use the nodes {listed(names)}.",
            )
        return order

    def _scored(self, families: Families, graph: Graph, tried: list[tuple[str, str, float, bool]]) -> FoundStructure:
        return FoundStructure(graph, float(sum(families.of(node, graph.parents[node]) for node in graph)), tried)

    def _tree(self, families: Families, names: Sequence[str]) -> FoundStructure:
        self._check_root(names)
        names = _nominal_first(names, self.numbers)
        information = conditional_information(families, names, None)
        parent = chow_liu(names, information, self.root, last=self.numbers)
        graph = Graph({name: (above,) if above else () for name, above in parent.items()})
        return self._scored(families, graph, _tried(names, information, graph))

    def _check_root(self, names: Sequence[str]) -> None:
        if self.root is not None and not (isinstance(self.root, str) and self.root in names):
            raise OptionError(
                f"root refers to node {self.root!r}, but the network has no such node.",
                hint=did_you_mean(self.root, names),
            )
        if self.root in self.numbers and len(self.numbers) < len(names):
            raise OptionError(
                f"The root {self.root!r} is numeric, so no nominal node can depend on it.",
                hint="use a nominal node as root.",
            )

    def _for_class(self, families: Families, names: Sequence[str]) -> FoundStructure:
        target = self.target
        if not isinstance(target, str) or target not in names:
            raise OptionError(
                f"structure={self.structure!r} needs a class node, but target={target!r} is not a node.",
                hint=did_you_mean(target, names)
                or f"use target={names[-1]!r} or another of the nodes {listed(names)}.",
            )
        others = _nominal_first([name for name in names if name != target], self.numbers)
        if self.structure == "naive":
            return self._scored(families, naive(others, target), [])
        self._check_root(others)
        information = conditional_information(families, others, target)
        if self.structure == "tan":
            graph = augmented_tree(others, target, information, self.root, last=self.numbers)
        else:
            graph = k_dependence(families, others, target, information, self.max_dependence, last=self.numbers)
        graph = Graph({name: graph.parents[name] for name in names})
        return self._scored(families, graph, _tried(others, information, graph))


def _nominal_first(names: Sequence[str], numbers: frozenset[str]) -> list[str]:
    return [name for name in names if name not in numbers] + [name for name in names if name in numbers]


def _tried(names: Sequence[str], information: Any, graph: Graph) -> list[tuple[str, str, float, bool]]:
    """Return every pair with its mutual information in bits; a taken arc has its direction in the graph."""
    found = []
    for i, a in enumerate(names):
        for j in range(i):
            b = names[j]
            pair = (a, b) if a in graph.parents[b] else (b, a)
            taken = a in graph.parents[b] or b in graph.parents[a]
            if np.isfinite(information[i, j]):
                found.append((*pair, float(information[i, j]), taken))
    return found
