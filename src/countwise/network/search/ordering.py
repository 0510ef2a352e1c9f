"""The search for an ordering: all of them are too many, so neighbors are swapped, upwards or by annealing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countwise.errors import OptionError
from countwise.network.family_scores import Families
from countwise.network.search.constraints import TINY, Constraints, FoundStructure
from countwise.network.search.trees import by_ordering

__all__ = ["search_orders"]


class _Orders:
    """Scores of nodes given what stands before them; each is worked out once."""

    def __init__(self, families: Families, constraints: Constraints) -> None:
        self.families, self.constraints = families, constraints
        self.known: dict[tuple[str, frozenset[str]], float] = {}
        self.seen: set[tuple[str, tuple[str, ...]]] = set()
        self.names = [*families.attributes, *families.numbers]

    def of(self, child: str, before: Sequence[str]) -> float:
        """The score of a node with the parents that the K2 algorithm would give it."""
        key = (child, frozenset(before))
        if key not in self.known:
            if not set(self.constraints.parents(child)) <= set(before):
                self.known[key] = -np.inf
            else:
                self.known[key] = self._grown(child, [name for name in self.names if name in key[1]])
        return self.known[key]

    def _grown(self, child: str, before: list[str]) -> float:
        chosen = list(self.constraints.parents(child))
        best = self.families.of(child, chosen)
        while len(chosen) < self.constraints.max_parents:
            free = [p for p in before if p not in chosen and self.constraints.allows(p, child)]
            scores = self._scores(child, chosen, free)
            if not scores or max(scores) <= best + TINY:
                break
            chosen.append(free[int(np.argmax(scores))])
            best = max(scores)
        return best

    def _scores(self, child: str, chosen: list[str], free: list[str]) -> list[float]:
        """The scores with one parent more. All that may ever be such are counted at first sight, as most will be."""
        key = (child, tuple(sorted(chosen)))
        if key not in self.seen:
            self.seen.add(key)
            others = [p for p in self.names if p != child and p not in chosen]
            self.families.many([(child, (*chosen, p)) for p in others if self.constraints.allows(p, child)])
        return self.families.many([(child, (*chosen, p)) for p in free])

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
    """The best structure over orderings that a search comes to, from several of which the first is the one given.

    In annealing, swaps that lower the score are taken at times, more at first than at last; else only those that
    raise it most.
    """
    if restarts < 1:
        raise OptionError(f"restarts must be 1 or more, not {restarts!r}.")
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
    """The ordering with required parents, and earlier tiers, before those that need them."""
    done: list[str] = []
    left = list(order)
    while left:
        for node in left:
            tier = constraints.tiers.get(node, 0)
            waits = any(p in left for p in constraints.parents(node))
            if not waits and all(constraints.tiers.get(other, tier) >= tier for other in left):
                break
        else:
            raise OptionError("The required arcs go in a circle, or against the tiers.")
        done.append(node)
        left.remove(node)
    return done


def _swapped(order: list[str], i: int) -> list[str]:
    return [*order[:i], order[i + 1], order[i], *order[i + 2 :]]


def _gain(orders: _Orders, order: list[str], i: int) -> float:
    """What the swap of two neighbors gains; only their own scores change."""
    a, b, before = order[i], order[i + 1], order[:i]
    old = orders.of(a, before) + orders.of(b, [*before, a])
    new = orders.of(b, before) + orders.of(a, [*before, b])
    return new - old if np.isfinite(new) else -np.inf


def _climbed(orders: _Orders, order: list[str]) -> list[str]:
    """Swaps of neighbors, the best first, as long as they raise the score."""
    while len(order) > 1:
        gains = [_gain(orders, order, i) for i in range(len(order) - 1)]
        i = int(np.argmax(gains))
        if not gains[i] > TINY:
            break
        order = _swapped(order, i)
    return order


def _annealed(orders: _Orders, order: list[str], steps: int, rng: np.random.Generator) -> list[str]:
    """Swaps by chance; one that costs is taken with a probability that falls from step to step."""
    if len(order) < 2:
        return order
    best, most = order, orders.total(order)
    score = most
    heat = max(1.0, abs(most) / 100)
    for step in range(steps):
        i = int(rng.integers(len(order) - 1))
        gain = _gain(orders, order, i)
        warm = heat * (1 - step / steps) + 1e-9
        if gain >= 0 or rng.random() < np.exp(gain / warm):
            order, score = _swapped(order, i), score + gain
            if score > most + TINY:
                best, most = order, score
    return best
