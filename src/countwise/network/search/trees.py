"""Structure from data: by an ordering (the K2 algorithm), and by trees (Chow and Liu)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.network.family_scores import Families
from countwise.network.graph import Graph
from countwise.network.search.constraints import TINY, Constraints, FoundStructure

__all__ = ["by_ordering", "chow_liu"]


def by_ordering(families: Families, order: Sequence[str], constraints: Constraints) -> FoundStructure:
    """The K2 algorithm: each node, in order, takes those before it as parents that raise its score most."""
    growing = [_TreeGrowth(families, child, order[:place], constraints) for place, child in enumerate(order)]
    while open_ := [one for one in growing if one.candidates]:
        # nodes do not depend on each other's parents: what all of them need next is counted together
        families.many([(one.child, (*one.chosen, p)) for one in open_ for p in one.candidates])
        for one in open_:
            one.grow()
    parents = {one.child: tuple(p for p in order if p in one.chosen) for one in growing}
    tried = [step for one in growing for step in one.tried]
    return FoundStructure(Graph(parents), float(sum(one.score for one in growing)), tried)


class _TreeGrowth:
    """A node that takes parents, one after the other, from those that stand before it."""

    def __init__(self, families: Families, child: str, before: Sequence[str], constraints: Constraints) -> None:
        self.families, self.child, self.before, self.constraints = families, child, before, constraints
        self.chosen = constraints.parents(child)
        late = [p for p in self.chosen if p not in before]
        if late:
            raise OptionError(f"{late[0]!r} must be a parent of {child!r}, but stands behind it in the ordering.")
        self.score = families.of(child, self.chosen)
        self.tried: list[tuple[str, str, float, bool]] = []
        self.candidates = self._free()

    def _free(self) -> list[str]:
        """Those that may become the next parent."""
        if len(self.chosen) >= self.constraints.max_parents:
            return []
        return [p for p in self.before if p not in self.chosen and self.constraints.allows(p, self.child)]

    def grow(self) -> None:
        """Take the candidate that raises the score most, if one does."""
        scores = self.families.many([(self.child, (*self.chosen, p)) for p in self.candidates])
        gains = [score - self.score for score in scores]
        best = int(np.argmax(gains))
        taken = gains[best] > TINY
        for i, (p, gain) in enumerate(zip(self.candidates, gains, strict=True)):
            self.tried.append((p, self.child, gain, taken and i == best))
        if taken:
            self.chosen, self.score = (*self.chosen, self.candidates[best]), self.score + gains[best]
        self.candidates = self._free() if taken else []


def chow_liu(
    names: Sequence[str],
    weight: Callable[[str, str], float] | Floats,
    root: str | None = None,
    last: Collection[str] = (),
) -> dict[str, str | None]:
    """The tree of most mutual information: the parent of each node, None for the root (or else the first node).

    Nodes that no other may depend on are the last to join.
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
