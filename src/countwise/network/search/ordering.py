"""Structure from a node ordering, by adding parents (the K2 algorithm) or by removing them; searches over orderings.

Neighbors in the ordering are swapped, by hill climbing or by simulated annealing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from countwise.errors import OptionError, TableError
from countwise.network.family_scores import MOST_CELLS, Families
from countwise.network.graph import Graph
from countwise.network.search.constraints import TINY, Candidate, Constraints, FoundStructure, SearchStep

__all__ = ["MOST_NODES", "by_every_ordering", "by_ordering", "by_removal", "search_orders"]

MOST_NODES = 7  # whose orderings are all tried: 5,040


def by_ordering(families: Families, order: Sequence[str], constraints: Constraints) -> FoundStructure:
    """Run the K2 algorithm: each node greedily takes the preceding nodes as parents that raise its score most."""
    growing = [_Growth(families, child, order[:place], constraints) for place, child in enumerate(order)]
    while open_ := [one for one in growing if one.candidates]:
        # the parents of different nodes are independent, so the next candidates of all nodes are counted together
        families.many([(one.child, (*one.chosen, p)) for one in open_ for p in one.candidates])
        for one in open_:
            one.grow()
    parents = {one.child: tuple(p for p in order if p in one.chosen) for one in growing}
    steps = tuple(step for one in growing for step in one.steps)
    return FoundStructure(Graph(parents), float(sum(one.score for one in growing)), _tried(steps), steps)


def _tried(steps: Iterable[SearchStep]) -> list[tuple[str, str, float, bool]]:
    """Return the gain of every candidate arc: of adding it, or of keeping it; the arc is in the network if taken."""
    found = []
    for step in steps:
        for one in step.candidates:
            gain = one.score - step.score if step.adds else step.score - one.score
            found.append((one.parent, step.child, gain, (one.parent == step.chosen) is step.adds))
    return found


def by_removal(
    families: Families, order: Sequence[str], constraints: Constraints, alpha: float | None = None
) -> FoundStructure:
    """Make all predecessors of a node its parents, then remove those that do not matter, one by one.

    The parent is removed whose removal gives the best score, as long as the score does not fall. With `alpha`, the
    parent with the largest p-value is removed as long as that is above alpha: Pearson's chi-square test of the node
    and the parent, given the other parents.
    """
    steps: list[SearchStep] = []
    parents: dict[str, tuple[str, ...]] = {}
    for place, child in enumerate(order):
        kept = _needed(child, order[:place], constraints)
        above = tuple(p for p in order[:place] if p in kept or constraints.allows(p, child))
        _check_size(families, child, above)
        while True:
            step = _removal(families, child, above, kept, constraints.max_parents, alpha)
            if step.candidates:
                steps.append(step)
            if step.chosen is None:
                break
            above = tuple(p for p in above if p != step.chosen)
        parents[child] = above
    score = float(sum(families.of(child, above) for child, above in parents.items()))
    return FoundStructure(Graph(parents), score, _tried(steps), tuple(steps))


def _needed(child: str, before: Sequence[str], constraints: Constraints) -> tuple[str, ...]:
    """Return the required parents of a node; raise an error if one of them comes after it in the ordering."""
    needed = constraints.parents(child)
    late = [p for p in needed if p not in before]
    if late:
        raise OptionError(f"{late[0]!r} is a required parent of {child!r}, but comes after it in the ordering.")
    return needed


def _check_size(families: Families, child: str, above: Sequence[str]) -> None:
    """Raise an error if the table with all predecessors is too large."""
    cells = math.prod(len(families.attributes[p].values) for p in (*above, child) if p in families.attributes)
    if cells > MOST_CELLS:
        raise TableError(
            f"With all {len(above)} predecessors as parents, the table of {child!r} would have {cells:,} cells; at "
            f"most {MOST_CELLS:,} are supported.",
            hint="use structure='ordering', which adds parents one by one.",
        )


def _removal(
    families: Families, child: str, above: tuple[str, ...], kept: tuple[str, ...], most: int, alpha: float | None
) -> SearchStep:
    """Return the step that removes the parent which matters least, if any may be removed."""
    free = [p for p in above if p not in kept]
    score, *others = families.many(
        [(child, above), *((child, tuple(other for other in above if other != p)) for p in free)]
    )
    tests = [families.dependence(child, p, [q for q in above if q != p]) if alpha is not None else () for p in free]
    candidates = tuple(Candidate(p, s, *test) for p, s, test in zip(free, others, tests, strict=True))
    chosen = None
    if candidates:
        if alpha is None:
            least = max(candidates, key=lambda one: one.score)
            idle = least.score >= score - TINY
        else:
            least = max(candidates, key=lambda one: (_p(one), one.score))
            idle = _p(least) > alpha
        chosen = least.parent if idle or len(above) > most else None
    return SearchStep(child, above, score, False, candidates, chosen)


def _p(one: Candidate) -> float:
    """Return the p-value; 1 if the rows do not suffice for a test."""
    return 1.0 if one.p is None else one.p


def by_every_ordering(families: Families, names: Sequence[str], constraints: Constraints) -> FoundStructure:
    """Run the K2 algorithm for every ordering of the nodes, and return the structure with the best score."""
    if len(names) > MOST_NODES:
        raise OptionError(
            f"structure='all_orders' tries every ordering. {len(names)} nodes have {math.factorial(len(names)):,} "
            f"orderings; at most {MOST_NODES} nodes are supported.",
            hint="use structure='orders', which searches over orderings, or 'ordering' with one of them.",
        )
    _first_required(list(names), constraints)  # raises an error if no ordering is possible
    scorer = _Orders(families, constraints)
    orders = []
    for order in itertools.permutations(names):
        place = {name: i for i, name in enumerate(order)}
        in_tiers = all(
            constraints.tiers.get(a, 0) <= constraints.tiers.get(b, 0)
            for a, b in itertools.combinations(order, 2)
            if a in constraints.tiers and b in constraints.tiers
        )
        if in_tiers and all(place[p] < place[c] for p, c in constraints.required):
            orders.append((order, scorer.total(order)))
    best, most = orders[0]
    for order, score in orders:
        if score > most + TINY:
            best, most = order, score
    return replace(by_ordering(families, best, constraints), orders=tuple(orders))


class _Growth:
    """A node that takes parents one by one from the nodes that precede it."""

    def __init__(self, families: Families, child: str, before: Sequence[str], constraints: Constraints) -> None:
        self.families, self.child, self.before, self.constraints = families, child, before, constraints
        self.chosen = _needed(child, before, constraints)
        self.score = families.of(child, self.chosen)
        self.steps: list[SearchStep] = []
        self.candidates = self._free()

    def _free(self) -> list[str]:
        """Return the candidates for the next parent."""
        if len(self.chosen) >= self.constraints.max_parents:
            return []
        return [p for p in self.before if p not in self.chosen and self.constraints.allows(p, self.child)]

    def grow(self) -> None:
        """Take the candidate that raises the score most, if any does."""
        scores = self.families.many([(self.child, (*self.chosen, p)) for p in self.candidates])
        gains = [score - self.score for score in scores]
        best = int(np.argmax(gains))
        taken = gains[best] > TINY
        candidates = tuple(Candidate(p, score) for p, score in zip(self.candidates, scores, strict=True))
        parent = self.candidates[best] if taken else None
        self.steps.append(SearchStep(self.child, self.chosen, self.score, True, candidates, parent))
        if taken:
            self.chosen, self.score = (*self.chosen, self.candidates[best]), scores[best]
        self.candidates = self._free() if taken else []


class _Orders:
    """Cached scores of nodes given the set of their predecessors."""

    def __init__(self, families: Families, constraints: Constraints) -> None:
        self.families, self.constraints = families, constraints
        self.known: dict[tuple[str, frozenset[str]], float] = {}
        self.seen: set[tuple[str, tuple[str, ...]]] = set()
        self.names = [*families.attributes, *families.numbers]

    def of(self, child: str, before: Sequence[str]) -> float:
        """Return the score of a node with the parents that the K2 algorithm gives it."""
        key = (child, frozenset(before))
        if key not in self.known:
            if not set(self.constraints.parents(child)) <= set(before):
                self.known[key] = -np.inf
            else:
                self.known[key] = self._grown(child, [name for name in self.names if name in key[1]])
        return self.known[key]

    def _grown(self, child: str, before: list[str]) -> float:
        one = _Growth(self.families, child, before, self.constraints)
        while one.candidates:
            key = (child, tuple(sorted(one.chosen)))
            if key not in self.seen:  # count all possible next parents at once: most will be needed
                self.seen.add(key)
                others = [p for p in self.names if p != child and p not in one.chosen]
                self.families.many([(child, (*one.chosen, p)) for p in others if self.constraints.allows(p, child)])
            one.grow()
        return one.score

    def total(self, order: Sequence[str]) -> float:
        return float(sum(self.of(child, order[:i]) for i, child in enumerate(order)))


def search_orders(
    families: Families,
    names: Sequence[str],
    constraints: Constraints,
    *,
    anneal: bool = False,
    restarts: int = 3,
    steps: int = 2000,
    seed: int = 0,
) -> FoundStructure:
    """Search over node orderings and return the best structure found, starting from `restarts` orderings.

    The first start is the given ordering, the others are random. Hill climbing makes the swap that raises the score
    most. Simulated annealing also accepts swaps that lower the score, with a probability that decreases over time.
    """
    if restarts < 1:
        raise OptionError(f"restarts must be an integer >= 1, not {restarts!r}.")
    rng = np.random.default_rng(seed)
    orders = _Orders(families, constraints)
    best, most = list(names), -np.inf
    for start in range(restarts):
        order = list(names) if start == 0 else [names[i] for i in rng.permutation(len(names))]
        order = _first_required(order, constraints)
        order = _annealed(orders, order, steps, rng) if anneal else order
        order = _climbed(orders, order)
        score = orders.total(order)
        if score > most + TINY:
            best, most = order, score
    return by_ordering(families, best, constraints)


def _first_required(order: list[str], constraints: Constraints) -> list[str]:
    """Reorder the nodes so that required parents and earlier tiers come first."""
    done: list[str] = []
    left = list(order)
    while left:
        for node in left:
            tier = constraints.tiers.get(node, 0)
            waits = any(p in left for p in constraints.parents(node))
            if not waits and all(constraints.tiers.get(other, tier) >= tier for other in left):
                break
        else:
            raise OptionError("The required arcs contain a cycle, or contradict the tiers.")
        done.append(node)
        left.remove(node)
    return done


def _swapped(order: list[str], i: int) -> list[str]:
    return [*order[:i], order[i + 1], order[i], *order[i + 2 :]]


def _gain(orders: _Orders, order: list[str], i: int) -> float:
    """Return the gain of swapping two neighbors; only their two scores change."""
    a, b, before = order[i], order[i + 1], order[:i]
    old = orders.of(a, before) + orders.of(b, [*before, a])
    new = orders.of(b, before) + orders.of(a, [*before, b])
    return new - old if np.isfinite(new) else -np.inf


def _climbed(orders: _Orders, order: list[str]) -> list[str]:
    """Swap neighbors, the best swap first, as long as the score rises."""
    while len(order) > 1:
        gains = [_gain(orders, order, i) for i in range(len(order) - 1)]
        i = int(np.argmax(gains))
        if not gains[i] > TINY:
            break
        order = _swapped(order, i)
    return order


def _annealed(orders: _Orders, order: list[str], steps: int, rng: np.random.Generator) -> list[str]:
    """Make random swaps; a swap that lowers the score is accepted with decreasing probability."""
    if len(order) < 2:
        return order
    best, most = order, orders.total(order)
    score = most
    start = max(1.0, abs(most) / 100)
    for step in range(steps):
        i = int(rng.integers(len(order) - 1))
        gain = _gain(orders, order, i)
        temperature = start * (1 - step / steps) + 1e-9
        if gain >= 0 or rng.random() < np.exp(gain / temperature):
            order, score = _swapped(order, i), score + gain
            if score > most + TINY:
                best, most = order, score
    return best
