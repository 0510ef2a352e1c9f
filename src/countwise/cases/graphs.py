"""Similarity of labeled graphs by a common subgraph: exact for small graphs, greedy for large ones.

A matching pairs nodes of two graphs with equal labels, each node at most once. Its size is the number of paired nodes
plus the number of edges that it maps to an edge with the same label.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats, Indices
from countwise.cases.columns import Column
from countwise.cases.similarities import Similarity, counted_tokens, quotient
from countwise.cases.values import LabeledGraph, Where, key_of
from countwise.errors import NumberIn, TableError, check_settings
from countwise.working.numbers import counted

__all__ = ["GraphSimilarity", "Matching", "best_matching"]

_HIGHEST = 12  # largest limit of the exact search, whose time can grow with the factorial
_LARGEST = 1000  # largest number of nodes of a graph


@dataclass(frozen=True)
class GraphSimilarity(Similarity):
    """Similarity of labeled graphs by their maximum common subgraph.

    .. math:: s(q, c) = common nodes and edges / nodes and edges of the larger graph

    The common nodes and edges are those of the best matching, which pairs nodes with equal labels, each at most
    once, and counts the edges with equal labels between paired nodes. Two empty graphs have similarity 1.

    Parameters
    ----------
    limit : int, default=8
        Largest number of nodes for which the best matching is searched exactly, from 0 to 12. If either graph is
        larger, a greedy matching is used, and the similarity may be too low; the explanation mentions it.

    Examples
    --------
    >>> from countwise.cases import GraphSimilarity, LabeledGraph
    >>> one = LabeledGraph({1: "pump", 2: "valve", 3: "tank"}, [(1, 2), (2, 3)])
    >>> other = LabeledGraph({"a": "valve", "b": "pump"}, [("a", "b")])
    >>> GraphSimilarity().between(one, other)
    0.6
    """

    limit: int = 8
    word: ClassVar[str] = "graph"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    needed: ClassVar[str] = "a LabeledGraph"

    def __post_init__(self) -> None:
        check_settings(self, limit=NumberIn(0, _HIGHEST, whole=True))

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if the value is no graph, or too large."""
        super().check(value, where)
        if len(value.nodes) > _LARGEST:
            raise TableError(f"{where} has {len(value.nodes)} nodes; a graph may have at most {_LARGEST}.")

    def matching(self, asked: LabeledGraph, found: LabeledGraph) -> Matching:
        """Return the matching from which the similarity is computed.

        Parameters
        ----------
        asked : LabeledGraph
            Graph in the query.
        found : LabeledGraph
            Graph in the case.

        Returns
        -------
        Matching
            Its `pairs` are the paired nodes.

        Examples
        --------
        >>> from countwise.cases import GraphSimilarity, LabeledGraph
        >>> one, other = LabeledGraph({1: "pump", 2: "valve"}), LabeledGraph({"a": "valve", "b": "tank"})
        >>> GraphSimilarity().matching(one, other).pairs
        ((2, 'a'),)
        """
        return best_matching(asked, found, self.limit)

    def between(self, asked: Any, found: Any) -> float:
        """Return the size of the best matching divided by the size of the larger graph."""
        larger = max(_size(asked), _size(found))
        return self.matching(asked, found).size / larger if larger else 1.0

    def approximate(self, asked: Any, found: Any) -> bool:
        """Return whether the matching is greedy."""
        return max(len(asked.nodes), len(found.nodes)) > self.limit

    def explain(self, asked: Any, found: Any) -> str:
        """Return the numerator and the denominator of the similarity, and whether the matching is greedy."""
        matching = self.matching(asked, found)
        how = f" (greedy: more than {self.limit} nodes)" if self.approximate(asked, found) else ""
        common = f"{counted(len(matching.pairs), 'node')} and {counted(matching.n_edges, 'edge')}"
        return f"{common} in common of {max(_size(asked), _size(found))}{how}"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return bounds from the labels of nodes and edges, regardless of their position."""
        shared, sizes, mine = column.common("graph", _tokens, asked)
        return quotient(shared, np.maximum(sizes, mine))


def _size(graph: LabeledGraph) -> int:
    return len(graph.nodes) + len(tuple(graph.edges))


def _tokens(graph: LabeledGraph) -> Iterator[Hashable]:
    """Return tokens of nodes and edges; no matching of two graphs is larger than their number of common tokens."""
    labels = {node: key_of(label) for node, label in graph.nodes.items()}
    tokens: list[Hashable] = [("node", label) for label in labels.values()]
    for a, b, label in graph.edges:
        ends: Hashable = (labels[a], labels[b]) if graph.directed else frozenset((labels[a], labels[b]))
        tokens.append(("edge", graph.directed, a == b, ends, key_of(label)))
    return counted_tokens(tokens)


@dataclass(frozen=True)
class Matching:
    """Pairing of the nodes of two graphs."""

    pairs: tuple[tuple[Any, Any], ...]  # a node of the first graph and a node of the second
    n_edges: int  # number of common edges
    exact: bool  # whether no matching is larger

    @property
    def size(self) -> int:
        """Number of paired nodes and common edges."""
        return len(self.pairs) + self.n_edges


class _Arcs:
    """Graph with numbered nodes, their labels and their adjacency lists."""

    def __init__(self, graph: LabeledGraph) -> None:
        self.nodes = list(graph.nodes)
        self.labels = [key_of(label) for label in graph.nodes.values()]
        place = {node: i for i, node in enumerate(self.nodes)}
        self.arcs: list[dict[int, set[Hashable]]] = [{} for _ in self.nodes]
        for a, b, label in graph.edges:
            i, j, name = place[a], place[b], key_of(label)
            # a directed edge differs from an undirected one, and from the reverse edge
            self.arcs[i].setdefault(j, set()).add((name, "to" if graph.directed else "with"))
            self.arcs[j].setdefault(i, set()).add((name, "from" if graph.directed else "with"))

    def loop(self, node: int) -> set[Hashable]:
        """Return the edges from a node to itself, each once."""
        return {arc for arc in self.arcs[node].get(node, ()) if arc[1] != "from"}  # type: ignore[index]

    def shared(self, a: int, b: int, other: _Arcs, x: int, y: int) -> int:
        """Return the number of edges between a and b that match edges between x and y of another graph."""
        return len(self.arcs[a].get(b, _NONE) & other.arcs[x].get(y, _NONE))


_NONE: set[Hashable] = set()


def _initial_gain(one: _Arcs, other: _Arcs) -> Indices:
    """Return the gain of each pair of nodes alone: 1 plus its common loops, or -1 if the labels differ."""
    codes: dict[Hashable, int] = {}
    mine, theirs = (np.array([codes.setdefault(label, len(codes)) for label in g.labels]) for g in (one, other))
    gain = np.where(mine[:, None] == theirs[None, :], 1, -1)
    for u in (u for u in range(len(one.nodes)) if u in one.arcs[u]):
        for x in (x for x in range(len(other.nodes)) if x in other.arcs[x] and gain[u, x] > 0):
            gain[u, x] += len(one.loop(u) & other.loop(x))
    return gain


def _common_neighbors(one: _Arcs, other: _Arcs) -> Indices:
    """Return, for each pair of nodes, the number of common edges by edge label and label of the neighbor."""
    places: dict[Hashable, int] = {}
    found: list[list[list[int]]] = []
    for graph in (one, other):
        ends = [[(graph.labels[v], name) for v, names in arcs.items() for name in names] for arcs in graph.arcs]
        found.append([[places.setdefault(t, len(places)) for t in counted_tokens(own)] for own in ends])
    tables = []
    for rows in found:
        table = np.zeros((len(rows), len(places)), dtype=np.int64)
        for i, row in enumerate(rows):
            table[i, row] = 1
        tables.append(table)
    return tables[0] @ tables[1].T


def _greedy(one: _Arcs, other: _Arcs) -> tuple[list[tuple[int, int]], int]:
    """Return a greedy matching: always the pair with the largest gain, and among ties the most similar neighbors."""
    pairs: list[tuple[int, int]] = []
    total = 0
    if not one.nodes or not other.nodes:
        return pairs, total
    gain = _initial_gain(one, other)
    common = _common_neighbors(one, other)
    most = int(common.max()) + 1
    while True:
        u, x = (int(i) for i in np.unravel_index(np.argmax(gain * most + common), gain.shape))
        if gain[u, x] <= 0:
            return pairs, total
        pairs.append((u, x))
        total += int(gain[u, x])
        gain[u, :] = gain[:, x] = -most - 1
        for v in one.arcs[u]:
            for y in other.arcs[x]:
                if gain[v, y] > 0:
                    gain[v, y] += one.shared(u, v, other, x, y)


def best_matching(a: LabeledGraph, b: LabeledGraph, limit: int) -> Matching:
    """Return the largest matching, or a greedy one if either graph has more nodes than the limit."""
    one, other = _Arcs(a), _Arcs(b)
    pairs, total = _greedy(one, other)
    exact = max(len(one.nodes), len(other.nodes)) <= limit
    if exact and one.nodes and other.nodes:
        search = _Search(one, other, pairs, total)
        search.go(0, 0)
        pairs, total = search.best, search.most
    named = tuple((one.nodes[u], other.nodes[x]) for u, x in sorted(pairs))
    return Matching(named, total - len(pairs), exact)


class _Search:
    """Branch-and-bound search for the largest matching, depth first over the nodes of one graph.

    The bound pairs each remaining node with its best free partner, given the pairs so far, and counts all edges among
    the remaining nodes as common.
    """

    def __init__(self, one: _Arcs, other: _Arcs, best: list[tuple[int, int]], most: int) -> None:
        self.one, self.other = one, other
        self.best, self.most = list(best), most
        self.order = sorted(range(len(one.nodes)), key=lambda u: (-len(one.arcs[u]), u))
        self.gain: list[list[int]] = _initial_gain(one, other).tolist()
        self.free = set(range(len(other.nodes)))
        self.pairs: list[tuple[int, int]] = []
        self.inner = [self._edges_among(set(self.order[i:])) for i in range(len(self.order) + 1)]

    def _edges_among(self, nodes: set[int]) -> int:
        return sum(len(self.one.arcs[u][v]) for u in nodes for v in self.one.arcs[u] if v in nodes and v < u)

    def _bound(self, start: int) -> int:
        """Return an upper bound of what the nodes from `start` on can add."""
        rows = (self.gain[u] for u in self.order[start:])
        return self.inner[start] + sum(max(0, *(row[x] for x in self.free)) for row in rows) if self.free else 0

    def go(self, start: int, total: int) -> None:
        """Try every partner of the next node, the best first, and then no partner."""
        if total > self.most:
            self.best, self.most = list(self.pairs), total
        if start == len(self.order) or total + self._bound(start) <= self.most:
            return
        u = self.order[start]
        for x in sorted((x for x in self.free if self.gain[u][x] > 0), key=lambda x: (-self.gain[u][x], x)):
            gain = self.gain[u][x]
            changed = self._pair(u, x)
            self.go(start + 1, total + gain)
            self._unpair(u, x, changed)
        self.go(start + 1, total)

    def _pair(self, u: int, x: int) -> list[tuple[int, int, int]]:
        self.pairs.append((u, x))
        self.free.discard(x)
        changed = []
        for v in self.one.arcs[u]:
            for y in self.other.arcs[x]:
                more = self.one.shared(u, v, self.other, x, y) if v != u and y != x else 0
                if more and self.gain[v][y] > 0:
                    self.gain[v][y] += more
                    changed.append((v, y, more))
        return changed

    def _unpair(self, u: int, x: int, changed: list[tuple[int, int, int]]) -> None:
        for v, y, more in changed:
            self.gain[v][y] -= more
        self.free.add(x)
        self.pairs.pop()
