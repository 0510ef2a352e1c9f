"""Graphs: the largest part that two labeled graphs have in common, exact for small graphs and greedy for large ones.

A matching pairs nodes of one graph with nodes of the other, each at most once, and only nodes of equal labels. Its
worth is its pairs, and each edge of one graph that lies on an edge of the other with the same label.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats, Indices
from countwise.cases.columns import Column
from countwise.cases.similarities import Similarity, counted_tokens, quotient
from countwise.cases.values import LabeledGraph, Where, counted, key_of
from countwise.errors import NumberIn, TableError, check_settings

__all__ = ["GraphSimilarity", "Matching", "best_matching"]

_HIGHEST = 12  # nodes that may be searched exactly: the work can grow with the factorial
_LARGEST = 1000  # nodes that are matched at all


@dataclass(frozen=True)
class GraphSimilarity(Similarity):
    """Nodes and edges in common / nodes and edges of the larger graph.

    In common is what the best matching pairs: nodes of equal labels, each at most once, and edges of equal labels
    between them (a maximum common subgraph). Two empty graphs have 1.

    Parameters
    ----------
    limit : int, default=8
        Up to so many nodes, in both graphs, the best matching is found by a search. Beyond, a greedy matching
        stands in for it, which may find less; the explanation says so.

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
        """Graphs, not too large."""
        super().check(value, where)
        if len(value.nodes) > _LARGEST:
            raise TableError(f"{where} has {len(value.nodes)} nodes; graphs of at most {_LARGEST} are compared.")

    def matching(self, asked: LabeledGraph, found: LabeledGraph) -> Matching:
        """Which nodes stand for which."""
        return best_matching(asked, found, self.limit)

    def between(self, asked: Any, found: Any) -> float:
        """What is in common, over the larger graph."""
        larger = max(_size(asked), _size(found))
        return self.matching(asked, found).worth / larger if larger else 1.0

    def approximate(self, asked: Any, found: Any) -> bool:
        """Whether the matching is greedy."""
        return max(len(asked.nodes), len(found.nodes)) > self.limit

    def explain(self, asked: Any, found: Any) -> str:
        """The parts of the fraction, and whether they are approximate."""
        matching = self.matching(asked, found)
        how = f" (greedy: more than {self.limit} nodes)" if self.approximate(asked, found) else ""
        common = f"{counted(len(matching.pairs), 'node')} and {counted(matching.n_edges, 'edge')}"
        return f"{common} in common of {max(_size(asked), _size(found))}{how}"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """By the labels of nodes and edges, wherever they are."""
        shared, sizes, mine = column.common("graph", _tokens, asked)
        return quotient(shared, np.maximum(sizes, mine))


def _size(graph: LabeledGraph) -> int:
    return len(graph.nodes) + len(tuple(graph.edges))


def _tokens(graph: LabeledGraph) -> Iterator[Hashable]:
    """Labels of nodes; edges by their labels and those of their ends. No matching is worth more than is shared."""
    labels = {node: key_of(label) for node, label in graph.nodes.items()}
    tokens: list[Hashable] = [("node", label) for label in labels.values()]
    for a, b, label in graph.edges:
        ends: Hashable = (labels[a], labels[b]) if graph.directed else frozenset((labels[a], labels[b]))
        tokens.append(("edge", graph.directed, a == b, ends, key_of(label)))
    return counted_tokens(tokens)


@dataclass(frozen=True)
class Matching:
    """Which node of one graph stands for which of the other."""

    pairs: tuple[tuple[Any, Any], ...]  # nodes of the first graph with those of the second
    n_edges: int  # how many edges lie on each other
    exact: bool  # whether no matching is worth more

    @property
    def worth(self) -> int:
        """Pairs of nodes and of edges."""
        return len(self.pairs) + self.n_edges


class _Arcs:
    """A graph by numbers: labels, and for each node what leads where."""

    def __init__(self, graph: LabeledGraph) -> None:
        self.nodes = list(graph.nodes)
        self.labels = [key_of(label) for label in graph.nodes.values()]
        place = {node: i for i, node in enumerate(self.nodes)}
        self.arcs: list[dict[int, set[Hashable]]] = [{} for _ in self.nodes]
        for a, b, label in graph.edges:
            i, j, name = place[a], place[b], key_of(label)
            # a directed edge differs from an undirected one, and from the same edge the other way round
            self.arcs[i].setdefault(j, set()).add((name, "to" if graph.directed else "with"))
            self.arcs[j].setdefault(i, set()).add((name, "from" if graph.directed else "with"))

    def loop(self, node: int) -> set[Hashable]:
        """What leads from a node to itself, each edge once."""
        return {arc for arc in self.arcs[node].get(node, ()) if arc[1] != "from"}  # type: ignore[index]

    def shared(self, a: int, b: int, other: _Arcs, x: int, y: int) -> int:
        """How many edges between a and b lie upon edges between x and y."""
        return len(self.arcs[a].get(b, _NONE) & other.arcs[x].get(y, _NONE))


_NONE: set[Hashable] = set()


def _start(one: _Arcs, other: _Arcs) -> Indices:
    """What each pair of nodes is worth alone: 1 and its loops, or -1 if the labels differ."""
    codes: dict[Hashable, int] = {}
    mine, theirs = (np.array([codes.setdefault(label, len(codes)) for label in g.labels]) for g in (one, other))
    worth = np.where(mine[:, None] == theirs[None, :], 1, -1)
    for u in (u for u in range(len(one.nodes)) if u in one.arcs[u]):
        for x in (x for x in range(len(other.nodes)) if x in other.arcs[x] and worth[u, x] > 0):
            worth[u, x] += len(one.loop(u) & other.loop(x))
    return worth


def _surroundings(one: _Arcs, other: _Arcs) -> Indices:
    """How many edges with their far ends' labels each pair of nodes has in common."""
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
    """Pair by pair, always the one that is worth most now; then the one with the most alike surroundings."""
    pairs: list[tuple[int, int]] = []
    total = 0
    if not one.nodes or not other.nodes:
        return pairs, total
    worth = _start(one, other)
    around = _surroundings(one, other)
    most = int(around.max()) + 1
    while True:
        u, x = (int(i) for i in np.unravel_index(np.argmax(worth * most + around), worth.shape))
        if worth[u, x] <= 0:
            return pairs, total
        pairs.append((u, x))
        total += int(worth[u, x])
        worth[u, :] = worth[:, x] = -most - 1
        for v in one.arcs[u]:
            for y in other.arcs[x]:
                if worth[v, y] > 0:
                    worth[v, y] += one.shared(u, v, other, x, y)


def best_matching(a: LabeledGraph, b: LabeledGraph, limit: int) -> Matching:
    """The matching that is worth most; greedy if either graph has more nodes than the limit."""
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
    """Depth first over the nodes of one graph; a branch is left when its bound does not exceed the best so far.

    The bound: each node that is left gets its best free partner, at what the pair is worth with all pairs made so
    far; and all edges among the nodes that are left lie upon others.
    """

    def __init__(self, one: _Arcs, other: _Arcs, best: list[tuple[int, int]], most: int) -> None:
        self.one, self.other = one, other
        self.best, self.most = list(best), most
        self.order = sorted(range(len(one.nodes)), key=lambda u: (-len(one.arcs[u]), u))
        self.worth: list[list[int]] = _start(one, other).tolist()
        self.free = set(range(len(other.nodes)))
        self.pairs: list[tuple[int, int]] = []
        self.inner = [self._edges_among(set(self.order[i:])) for i in range(len(self.order) + 1)]

    def _edges_among(self, nodes: set[int]) -> int:
        return sum(len(self.one.arcs[u][v]) for u in nodes for v in self.one.arcs[u] if v in nodes and v < u)

    def _bound(self, start: int) -> int:
        """The most that the nodes from `start` on can add."""
        rows = (self.worth[u] for u in self.order[start:])
        return self.inner[start] + sum(max(0, *(row[x] for x in self.free)) for row in rows) if self.free else 0

    def go(self, start: int, total: int) -> None:
        """Try every partner of the next node, the best first, and none."""
        if total > self.most:
            self.best, self.most = list(self.pairs), total
        if start == len(self.order) or total + self._bound(start) <= self.most:
            return
        u = self.order[start]
        for x in sorted((x for x in self.free if self.worth[u][x] > 0), key=lambda x: (-self.worth[u][x], x)):
            gain = self.worth[u][x]
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
                if more and self.worth[v][y] > 0:
                    self.worth[v][y] += more
                    changed.append((v, y, more))
        return changed

    def _unpair(self, u: int, x: int, changed: list[tuple[int, int, int]]) -> None:
        for v, y, more in changed:
            self.worth[v][y] -= more
        self.free.add(x)
        self.pairs.pop()
