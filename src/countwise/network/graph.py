"""Directed acyclic graphs and d-separation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from countwise._cached import lazy
from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["Graph"]


@dataclass(frozen=True)
class Graph:
    """Directed acyclic graph of nodes with their parents.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        The parents of each node, in the order of the axes of its CPT. A cycle is an error.

    Examples
    --------
    >>> from countwise.network.graph import Graph
    >>> graph = Graph({"rain": (), "sprinkler": (), "wet": ("rain", "sprinkler")})
    >>> graph.d_separated("rain", "sprinkler"), graph.d_separated("rain", "sprinkler", given=["wet"])
    (True, False)
    """

    parents: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        found = {str(node): tuple(above) for node, above in self.parents.items()}
        for node, above in found.items():
            for parent in above:
                if parent not in found:
                    raise OptionError(
                        f"{node!r} has the parent {parent!r}, but the network has no such node.",
                        hint=did_you_mean(parent, found) or f"use one of the nodes {listed(found)}.",
                    )
            if len(set(above)) < len(above):
                raise OptionError(f"{node!r} lists a parent twice: {listed(above)}.")
        object.__setattr__(self, "parents", found)
        loop = self.cycle()
        if loop:
            raise OptionError(f"The arcs form a cycle: {' → '.join([*loop, loop[0]])}.")

    def __iter__(self) -> Iterator[str]:
        return iter(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, str) and node in self.parents

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, in the given order."""
        return tuple(self.parents)

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """All arcs as pairs (parent, child)."""
        return tuple((parent, node) for node, above in self.parents.items() for parent in above)

    def known(self, nodes: Iterable[str] | str) -> list[str]:
        """Return nodes as a list; raise an error for a node that does not exist."""
        found = [nodes] if isinstance(nodes, str) or not isinstance(nodes, Iterable) else list(nodes)
        for node in found:
            if node not in self:
                raise OptionError(
                    f"The network has no node {node!r}.",
                    hint=did_you_mean(node, self.parents) or f"use one of {listed(self.nodes)}.",
                )
        return found

    def children(self, node: str) -> tuple[str, ...]:
        """Return the children of a node."""
        return self._children.get(node, ())

    @lazy
    def _children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {node: [] for node in self.parents}
        for parent, child in self.arcs:
            found[parent].append(child)
        return {node: tuple(below) for node, below in found.items()}

    def _sorted(self) -> list[str]:
        """Return the nodes with parents before children, without those on a cycle or below one."""
        left = {node: len(above) for node, above in self.parents.items()}
        found = [node for node, n in left.items() if n == 0]
        for node in found:
            for child in self._children[node]:
                left[child] -= 1
                if left[child] == 0:
                    found.append(child)
        return found

    def cycle(self) -> list[str]:
        """Return the nodes of a cycle; an empty list if the graph has none."""
        done = set(self._sorted())
        left = [node for node in self.parents if node not in done]
        if not left:
            return []
        at, path = left[0], dict[str, None]()
        while at not in path:
            path[at] = None
            at = next(parent for parent in self.parents[at] if parent not in done)
        nodes = list(path)
        return nodes[nodes.index(at) :][::-1]

    def order(self) -> tuple[str, ...]:
        """Return the nodes in topological order, otherwise as given."""
        place = {node: i for i, node in enumerate(self.parents)}
        turn: dict[str, int] = {}  # in which round over the nodes, as given, all parents of a node are placed
        for node in self._sorted():
            turn[node] = max((turn[p] + (place[p] > place[node]) for p in self.parents[node]), default=0)
        return tuple(sorted(turn, key=lambda node: (turn[node], place[node])))

    def ancestors(self, nodes: Iterable[str]) -> set[str]:
        """Return the ancestors of some nodes, including the nodes themselves."""
        found: set[str] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting.extend(self.parents[node])
        return found

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return the Markov blanket: parents, children, and the children's other parents."""
        found = self.known(node)
        if len(found) != 1:
            raise OptionError(f"Expected one node, not {node!r}.")
        node = found[0]
        around = set(self.parents[node])
        for child in self.children(node):
            around |= {child, *self.parents[child]}
        around.discard(node)
        return tuple(other for other in self.parents if other in around)

    def moral(self, among: Iterable[str] | None = None) -> dict[str, set[str]]:
        """Return the neighbors of each node in the moral graph."""
        nodes = set(self.parents) if among is None else set(among)
        near: dict[str, set[str]] = {node: set() for node in self.parents if node in nodes}
        for node in near:
            family = [node, *(parent for parent in self.parents[node] if parent in nodes)]
            for one in family:
                near[one].update(other for other in family if other != one)
        return near

    def d_separated(
        self, one: Iterable[str] | str, other: Iterable[str] | str, given: Iterable[str] | str = ()
    ) -> bool:
        """Return whether two sets of nodes are d-separated by a third set."""
        a, b, c = set(self.known(one)), set(self.known(other)), set(self.known(given))
        if a & b:
            return False
        near = self.moral(self.ancestors(a | b | c))
        reached, waiting = set(c), list(a - c)
        while waiting:
            node = waiting.pop()
            if node in reached:
                continue
            if node in b:
                return False
            reached.add(node)
            waiting.extend(near[node] - reached)
        return True

    def with_arc(self, parent: str, child: str) -> Graph:
        """Return the graph with one more arc; nodes that do not exist are added."""
        found = dict(self.parents)
        for node in (parent, child):
            found.setdefault(node, ())
        if parent in found[child]:
            return self
        found[child] = (*found[child], parent)
        return Graph(found)

    def without_arc(self, parent: str, child: str) -> Graph:
        """Return the graph without an arc."""
        self.known([parent, child])
        found = dict(self.parents)
        found[child] = tuple(p for p in found[child] if p != parent)
        return Graph(found)

    def as_setting(self) -> dict[str, object]:
        """Return the graph as plain data, for a model file: a mapping of child to parents."""
        return {"@": "mapping", "of": [[node, list(above)] for node, above in self.parents.items()]}

    def within(self, nodes: Sequence[str]) -> Graph:
        """Return the subgraph of some nodes."""
        kept = set(nodes)
        return Graph({node: tuple(p for p in self.parents[node] if p in kept) for node in nodes})
