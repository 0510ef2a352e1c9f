"""What is asked of a structure, and what a search comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from countwise.errors import OptionError
from countwise.network.graph import Graph

__all__ = ["TINY", "Constraints", "FoundStructure"]

TINY = 1e-9  # what rounding may add to a score


@dataclass(frozen=True)
class Constraints:
    """Which arcs (parent, child) there must be, and must not be."""

    required: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()
    tiers: Mapping[str, int] = field(default_factory=dict)  # no arc goes from a later tier to an earlier one
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
class FoundStructure:
    """A structure, its score, and every arc that was a candidate: (parent, child, gain in score, whether taken)."""

    graph: Graph
    score: float
    tried: list[tuple[str, str, float, bool]]
