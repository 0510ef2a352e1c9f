"""Directed graphs without cycles, and what they say of dependence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["Graph"]


@dataclass(frozen=True)
class Graph:
    """Nodes with their parents.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        Of each node, those that it depends on, in the order of its table.

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
                        f"{node!r} depends on {parent!r}, which is no node.",
                        hint=did_you_mean(parent, found) or f"nodes are {listed(found)}.",
                    )
            if len(set(above)) < len(above):
                raise OptionError(f"{node!r} names a parent twice: {listed(above)}.")
        object.__setattr__(self, "parents", found)
        loop = self.cycle()
        if loop:
            raise OptionError(f"The arcs go in a circle: {' → '.join([*loop, loop[0]])}.")

    def __iter__(self) -> Iterator[str]:
        return iter(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    def __contains__(self, node: object) -> bool:
        return node in self.parents

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, as they were given."""
        return tuple(self.parents)

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """Parent and child of each arc."""
        return tuple((parent, node) for node, above in self.parents.items() for parent in above)

    def known(self, nodes: Iterable[str] | str) -> list[str]:
        """Nodes by name; one that there is not is an error."""
        found = [nodes] if isinstance(nodes, str) or not isinstance(nodes, Iterable) else list(nodes)
        for node in found:
            if node not in self.parents:
                raise OptionError(
                    f"There is no node {node!r}.",
                    hint=did_you_mean(node, self.parents) or f"nodes are {listed(self.nodes)}.",
                )
        return found

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes that depend on a node."""
        return tuple(child for child, above in self.parents.items() if node in above)

    def cycle(self) -> list[str]:
        """Some nodes that lead back to the first of them; none if there are no such."""
        left = {node: set(above) for node, above in self.parents.items()}
        while True:
            free = [node for node, above in left.items() if not above]
            if not free:
                break
            for node in free:
                del left[node]
            for above in left.values():
                above.difference_update(free)
        if not left:
            return []
        at = next(iter(left))
        way: list[str] = []
        while at not in way:
            way.append(at)
            at = next(parent for parent in self.parents[at] if parent in left)
        return way[way.index(at) :][::-1]

    def order(self) -> tuple[str, ...]:
        """The nodes, parents before children, else as they were given."""
        done: dict[str, None] = {}
        while len(done) < len(self.parents):
            for node, above in self.parents.items():
                if node not in done and all(parent in done for parent in above):
                    done[node] = None
        return tuple(done)

    def ancestors(self, nodes: Iterable[str]) -> set[str]:
        """The nodes above some nodes, these among them."""
        found: set[str] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting.extend(self.parents[node])
        return found

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """The Markov blanket: parents, children, and the children's other parents."""
        (node,) = self.known(node)
        around = set(self.parents[node])
        for child in self.children(node):
            around |= {child, *self.parents[child]}
        around.discard(node)
        return tuple(other for other in self.parents if other in around)

    def moral(self, among: Iterable[str] | None = None) -> dict[str, set[str]]:
        """Neighbors when parents of one child are joined and arcs lose their direction."""
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
        """Whether two sets of nodes are independent given a third, whatever the tables are (d-separation)."""
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
        """The same with one arc more; nodes that there are not yet are added."""
        found = dict(self.parents)
        for node in (parent, child):
            found.setdefault(node, ())
        if parent in found[child]:
            return self
        found[child] = (*found[child], parent)
        return Graph(found)

    def without_arc(self, parent: str, child: str) -> Graph:
        """The same with one arc less."""
        self.known([parent, child])
        found = dict(self.parents)
        found[child] = tuple(p for p in found[child] if p != parent)
        return Graph(found)

    def as_setting(self) -> dict[str, object]:
        """As plain data, for the model file: a mapping of child to parents."""
        return {"@": "mapping", "of": [[node, list(above)] for node, above in self.parents.items()]}

    def within(self, nodes: Sequence[str]) -> Graph:
        """Some nodes, with the arcs among them."""
        return Graph({node: tuple(p for p in self.parents[node] if p in nodes) for node in nodes})
