"""Constraints on a structure search, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from countwise.errors import OptionError
from countwise.network.graph import Graph

__all__ = ["TINY", "Constraints", "FoundStructure"]

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
class FoundStructure:
    """A structure, its score, and every candidate arc: (parent, child, gain in score, whether taken)."""

    graph: Graph
    score: float
    tried: list[tuple[str, str, float, bool]]
