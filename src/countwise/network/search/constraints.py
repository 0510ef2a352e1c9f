"""Constraints on a structure search, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from countwise.errors import OptionError
from countwise.jsonfile import numbers
from countwise.network.graph import Graph

__all__ = ["TINY", "Candidate", "Constraints", "FoundStructure", "SearchStep"]

TINY = 1e-9  # gains in score below this are rounding errors


@dataclass(frozen=True)
class Constraints:
    """Arcs (parent, child) that a structure must and must not contain."""

    required: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()
    tiers: Mapping[str, int] = field(default_factory=dict)  # no arc leads from a later tier to an earlier one
    max_parents: int = 3
    excludes: Callable[[str, str], bool] | None = None  # further forbidden arcs, too many to list

    def __post_init__(self) -> None:
        both = [arc for arc in self.required if self._is_forbidden(*arc)]
        if both:
            raise OptionError(f"The arc {' → '.join(min(both))} is both required and forbidden.")

    def allows(self, parent: str, child: str) -> bool:
        """Return whether an arc is allowed."""
        early, late = self.tiers.get(parent), self.tiers.get(child)
        in_order = early is None or late is None or early <= late
        return in_order and not self._is_forbidden(parent, child)

    def _is_forbidden(self, parent: str, child: str) -> bool:
        return (parent, child) in self.forbidden or (self.excludes is not None and self.excludes(parent, child))

    def parents(self, child: str) -> tuple[str, ...]:
        """Return the required parents of a node."""
        return tuple(sorted(parent for parent, node in self.required if node == child))


@dataclass(frozen=True)
class Candidate:
    """A parent that a step might add or remove."""

    parent: str
    score: float  # of the node with this parent added or removed
    statistic: float | None = None  # of the test whether the node depends on this parent, given its other parents
    freedom: int | None = None
    p: float | None = None  # None without degrees of freedom


@dataclass(frozen=True)
class SearchStep:
    """One step of a search by an ordering: a parent is added to a node, or removed, or none is."""

    child: str
    parents: tuple[str, ...]  # before the step
    score: float  # of the node with these parents
    adds: bool  # whether the candidates are added; otherwise they are removed
    candidates: tuple[Candidate, ...]
    chosen: str | None


@dataclass(frozen=True)
class FoundStructure:
    """A structure, its score, and every candidate arc: (parent, child, gain in score, whether taken).

    A search by an ordering also has its `steps`, and a search over all orderings the score of each of them, `orders`.
    """

    graph: Graph
    score: float
    tried: list[tuple[str, str, float, bool]]
    steps: tuple[SearchStep, ...] = ()
    orders: tuple[tuple[tuple[str, ...], float], ...] = ()

    def to_state(self) -> dict[str, Any]:
        """Return the search as plain data, for a model file; the graph is kept elsewhere."""
        nodes = {name: i for i, name in enumerate(self.graph)}
        return {
            "score": self.score,
            "tried": [[p, c, g, bool(t)] for p, c, g, t in self.tried],
            "steps": [
                [s.child, list(s.parents), s.score, s.adds, [list(astuple(c)) for c in s.candidates], s.chosen]
                for s in self.steps
            ],
            "orders": [[[nodes[name] for name in order], score] for order, score in self.orders],
        }

    @classmethod
    def from_state(cls, graph: Graph, state: Mapping[str, Any]) -> FoundStructure | None:
        """Return the search that `to_state` wrote; None if the structure was given."""
        if state["score"] is None:
            return None
        known, nodes = set(graph), list(graph)

        def name(text: Any) -> str:
            if not isinstance(text, str) or text not in known:
                raise ValueError(f"the search names {text!r}, which is not a node")
            return str(text)

        steps = tuple(
            SearchStep(
                name(child),
                tuple(map(name, parents)),
                float(score),
                bool(adds),
                tuple(
                    Candidate(
                        name(p),
                        float(s),
                        None if x is None else float(x),
                        None if df is None else int(df),
                        None if q is None else float(q),
                    )
                    for p, s, x, df, q in candidates
                ),
                None if chosen is None else name(chosen),
            )
            for child, parents, score, adds, candidates, chosen in state.get("steps", ())
        )
        gains = numbers([g for _, _, g, _ in state["tried"]], "the gains of the arcs", (None,)).tolist()
        tried = [(str(p), str(c), float(g), bool(t)) for (p, c, _, t), g in zip(state["tried"], gains, strict=True)]
        ranked = state.get("orders", ())
        scores = numbers([score for _, score in ranked], "the scores of the orderings", (None,)).tolist()
        orders = tuple(
            (tuple(nodes[i] for i in order), score) for (order, _), score in zip(ranked, scores, strict=True)
        )
        if any(set(order) != known or len(order) != len(nodes) for order, _ in orders):
            raise ValueError("an ordering does not name every node once")
        return cls(graph, float(numbers([state["score"]], "the score", (1,))[0]), tried, steps, orders)
