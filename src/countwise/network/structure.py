"""Structure from data: by an ordering (004), by trees, and by climbing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError
from countwise.network.graph import Graph
from countwise.network.scores import Families

__all__ = ["Constraints", "Found", "by_ordering", "chow_liu", "hill_climb"]

_TINY = 1e-9  # what rounding may add to a score


@dataclass(frozen=True)
class Constraints:
    """Which arcs there must be, and must not be.

    Parameters
    ----------
    required, forbidden : frozenset of (parent, child)
    tiers : mapping of str to int
        No arc goes from a later tier to an earlier one.
    max_parents : int
    """

    required: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()
    tiers: Mapping[str, int] = field(default_factory=dict)
    max_parents: int = 3

    def __post_init__(self) -> None:
        both = self.required & self.forbidden
        if both:
            raise OptionError(f"The arc {' → '.join(min(both))} is required and forbidden.")

    def allows(self, parent: str, child: str) -> bool:
        """Whether an arc may be there."""
        early, late = self.tiers.get(parent), self.tiers.get(child)
        in_order = early is None or late is None or early <= late
        return (parent, child) not in self.forbidden and in_order

    def parents(self, child: str) -> tuple[str, ...]:
        """The parents that a node must have."""
        return tuple(sorted(parent for parent, node in self.required if node == child))


@dataclass(frozen=True)
class Found:
    """A structure, its score, and what was tried on the way.

    Parameters
    ----------
    graph : Graph
    score : float
    tried : list of (parent, child, gain, taken)
        Every arc that was a candidate: what it would have added to the score, and whether it was taken.
    """

    graph: Graph
    score: float
    tried: list[tuple[str, str, float, bool]]


def by_ordering(families: Families, order: Sequence[str], constraints: Constraints) -> Found:
    """The loop of 004: each node, in order, takes those before it as parents that raise its score most.

    Parameters
    ----------
    families : Families
        The scores.
    order : sequence of str
        Causes before effects.
    constraints : Constraints
        Required and forbidden arcs, and the most parents.
    """
    parents: dict[str, tuple[str, ...]] = {}
    tried: list[tuple[str, str, float, bool]] = []
    total = 0.0
    for place, child in enumerate(order):
        chosen = constraints.parents(child)
        late = [p for p in chosen if p not in order[:place]]
        if late:
            raise OptionError(f"{late[0]!r} must be a parent of {child!r}, but stands behind it in the ordering.")
        best = families.of(child, chosen)
        while len(chosen) < constraints.max_parents:
            free = [p for p in order[:place] if p not in chosen and constraints.allows(p, child)]
            gains = [families.of(child, (*chosen, p)) - best for p in free]
            at = int(np.argmax(gains)) if gains else -1
            taken = at >= 0 and gains[at] > _TINY
            tried += [
                (p, child, gain, taken and i == at) for i, (p, gain) in enumerate(zip(free, gains, strict=True))
            ]
            if not taken:
                break
            chosen, best = (*chosen, free[at]), best + gains[at]
        parents[child] = tuple(p for p in order if p in chosen)
        total += best
    return Found(Graph({node: parents[node] for node in order}), total, tried)


def chow_liu(
    names: Sequence[str],
    weight: Callable[[str, str], float] | NDArray[np.float64],
    root: str | None = None,
    last: Collection[str] = (),
) -> dict[str, str | None]:
    """The tree of most mutual information: the parent of each node, None for the root.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    weight : callable or ndarray
        What two nodes tell of each other.
    root : str, optional
        Where arcs begin; the first node if not given.
    last : collection of str
        Nodes that no other may depend on: they join when all others have.
    """
    at = {name: i for i, name in enumerate(names)}
    table = weight if isinstance(weight, np.ndarray) else np.array([[weight(a, b) for b in names] for a in names])
    first = names[0] if root is None else root
    parent: dict[str, str | None] = {first: None}
    while len(parent) < len(names):
        free = [b for b in names if b not in parent]
        free = [b for b in free if b not in last] or free
        pairs = [(-table[at[a], at[b]], at[b], at[a]) for a in parent for b in free]
        _, b, a = min(pairs)  # of equals the first by place
        parent[names[b]] = names[a]
    return {name: parent[name] for name in names}


def hill_climb(
    families: Families,
    names: Sequence[str],
    constraints: Constraints,
    start: Graph | None = None,
    tabu: int = 10,
    patience: int = 10,
    restarts: int = 0,
    seed: int = 0,
) -> Found:
    """Arcs are added, removed and turned, whichever raises the score most; a few steps down are allowed.

    Parameters
    ----------
    families : Families
        The scores.
    names : sequence of str
        The nodes.
    constraints : Constraints
        Required and forbidden arcs, and the most parents.
    start : Graph, optional
        Where to begin; with the required arcs alone if not given.
    tabu : int, default=10
        Of how many steps the reverse is not taken.
    patience : int, default=10
        How many steps may pass without a better score.
    """
    parents = {name: constraints.parents(name) for name in names}
    if start is not None:
        parents = {name: tuple(dict.fromkeys((*constraints.parents(name), *start.parents[name]))) for name in names}
    climb = _Climb(families, Graph(parents), constraints)
    best, best_score, waited = climb.graph, climb.score, 0
    recent: list[tuple[str, str, str]] = []
    while waited < patience:
        step = climb.best(set(recent))
        if step is None:
            break
        climb.take(step)
        recent = [*recent, _reverse(step)][-tabu:] if tabu else []
        if climb.score > best_score + _TINY:
            best, best_score, waited = climb.graph, climb.score, 0
        else:
            waited += 1
    return Found(best, best_score, climb.tried)


Move = tuple[str, str, str]  # what is done, and the arc


def _reverse(move: Move) -> Move:
    what, parent, child = move
    if what == "turn":
        return "turn", child, parent
    return "remove" if what == "add" else "add", parent, child


class _Climb:
    def __init__(self, families: Families, graph: Graph, constraints: Constraints) -> None:
        self.families, self.graph, self.constraints = families, graph, constraints
        self.own = {node: families.of(node, graph.parents[node]) for node in graph.nodes}
        self.tried: list[tuple[str, str, float, bool]] = []
        self.gains: dict[Move, float] = {}
        for child in graph.nodes:
            self._refresh(child)

    @property
    def score(self) -> float:
        return float(sum(self.own.values()))

    def _refresh(self, child: str) -> None:
        """What adding or removing each arc into a node would gain."""
        above = self.graph.parents[child]
        for parent in self.graph.nodes:
            if parent == child:
                continue
            self.gains.pop(("add", parent, child), None)
            self.gains.pop(("remove", parent, child), None)
            if parent in above:
                if (parent, child) not in self.constraints.required:
                    rest = [p for p in above if p != parent]
                    self.gains["remove", parent, child] = self.families.of(child, rest) - self.own[child]
            elif len(above) < self.constraints.max_parents and self.constraints.allows(parent, child):
                self.gains["add", parent, child] = self.families.of(child, (*above, parent)) - self.own[child]

    def best(self, tabu: set[Move]) -> Move | None:
        """The move that gains most, of those that make no circle."""
        below = self._below()
        found, most = None, -np.inf
        for move, gain in self.gains.items():
            what, parent, child = move
            if move in tabu:
                continue
            if what == "add" and parent not in below[child] and gain > most + _TINY:
                found, most = move, gain
            elif what == "remove":
                if gain > most + _TINY:
                    found, most = move, gain
                turned, back = ("turn", parent, child), self._turned(parent, child)
                better = back is not None and gain + back > most + _TINY
                if better and turned not in tabu and not self._leads(parent, child):
                    found, most = turned, gain + float(back or 0.0)
        return found

    def _turned(self, parent: str, child: str) -> float | None:
        """What the arc from child to parent would gain."""
        above = self.graph.parents[parent]
        allowed = len(above) < self.constraints.max_parents and self.constraints.allows(child, parent)
        return self.families.of(parent, (*above, child)) - self.own[parent] if allowed else None

    def _below(self) -> dict[str, set[str]]:
        """The nodes below each, itself among them."""
        found: dict[str, set[str]] = {}
        for node in reversed(self.graph.order()):
            found[node] = {node}.union(*(found[child] for child in self.graph.children(node)))
        return found

    def _leads(self, start: str, end: str) -> bool:
        """Whether a way leads from one node to another beside the arc between them."""
        waiting = [child for child in self.graph.children(start) if child != end]
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if node == end:
                return True
            if node not in seen:
                seen.add(node)
                waiting.extend(self.graph.children(node))
        return False

    def take(self, move: Move) -> None:
        """Make a move."""
        what, parent, child = move
        changed: Iterable[str] = (child,)
        if what == "add":
            self.graph = self.graph.with_arc(parent, child)
        else:
            self.graph = self.graph.without_arc(parent, child)
            if what == "turn":
                self.graph = self.graph.with_arc(child, parent)
                changed = (child, parent)
        gain = -self.score
        for node in changed:
            self.own[node] = self.families.of(node, self.graph.parents[node])
        self.tried.append((parent, child, gain + self.score, True))
        for node in changed:
            self._refresh(node)
