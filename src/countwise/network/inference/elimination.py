"""Variable elimination: factors are multiplied and summed, one variable after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError
from countwise.network.inference.factors import Potential, scaled_product

__all__ = ["MOST_CELLS", "Elimination", "EliminationStep", "elimination_order", "neighbors", "refuse_wide"]

MOST_CELLS = 1 << 26  # of a factor on the way: half a gigabyte


@dataclass(frozen=True, slots=True)
class EliminationStep:
    """One variable eliminated: the factors that have it, and what their product sums to."""

    variable: str
    used: tuple[Potential, ...]
    made: Potential


def elimination_order(
    near: Mapping[str, set[str]], sizes: Mapping[str, int], gone: Iterable[str]
) -> tuple[list[str], int]:
    """In which order to eliminate, and the cells of the largest factor on the way.

    Next is the variable whose neighbors need fewest new connections (min-fill), of equals the one that makes the
    smallest factor, then the first by name.
    """
    names = sorted(near)  # so that of equals the first by name has the least number
    place = {node: i for i, node in enumerate(names)}
    left = [{place[other] for other in near[node]} for node in names]
    bits = [sum(1 << one for one in around) for around in left]
    size = [sizes[node] for node in names]

    def cost(node: int) -> tuple[int, int, int]:
        around, mask, lacking, cells = left[node], bits[node], 0, size[node]
        for one in around:
            lacking += len(around) - 1 - (mask & bits[one]).bit_count()
            cells *= size[one]
        return lacking, cells, node  # each connection that is lacking was met from both ends

    costs = {node: cost(node) for node in map(place.__getitem__, gone)}
    order, most = [], 1
    while costs:
        lacking, cells, best = min(costs.values())
        del costs[best]
        most = max(most, cells)
        changed = set(left[best])
        for one in left[best]:
            left[one] |= left[best]
            left[one] -= {best, one}
            bits[one] = (bits[one] | bits[best]) & ~(1 << best | 1 << one)
            if lacking:
                changed |= left[one]
        for one in changed & costs.keys():
            costs[one] = cost(one)
        order.append(names[best])
    return order, most


def refuse_wide(cells: int, what: str = "The query") -> None:
    """Refuse what would need too large a table, before anything is multiplied."""
    if cells > MOST_CELLS:
        raise OptionError(
            f"{what} needs a table of {cells:,} cells on the way; at most {MOST_CELLS:,} are allowed.",
            hint="ask by sampling: method='likelihood_weighting' or 'gibbs'.",
        )


def neighbors(scopes: Iterable[Sequence[str]], among: Iterable[str] = ()) -> dict[str, set[str]]:
    """The variables with which each shares a scope; those of `among` come first, even if none has them."""
    near: dict[str, set[str]] = {v: set() for v in among}
    for scope in scopes:
        for v in scope:
            near.setdefault(v, set()).update(w for w in scope if w != v)
    return near


class Elimination:
    """A query by elimination from factors with the evidence put in; or the largest instead of sums, as MPE needs."""

    def __init__(self, factors: Sequence[Potential], asked: Sequence[str], *, largest: bool = False) -> None:
        self.asked, self.largest = tuple(asked), largest
        sizes = {v: n for f in factors for v, n in zip(f.variables, f.table.shape, strict=True)}
        near = neighbors(factor.variables for factor in factors)
        self.order, cells = elimination_order(near, sizes, [v for v in sizes if v not in asked])
        whole = int(np.prod([sizes[v] for v in asked if v in sizes], dtype=np.float64))
        refuse_wide(max(cells, whole))
        self.steps: list[EliminationStep] = []
        self.log = 0.0  # of what was divided out of numbers that would else have vanished
        self.result = self._run(list(factors))

    def _run(self, factors: list[Potential]) -> Potential:
        for variable in self.order:
            used = [f for f in factors if variable in f.variables]
            factors = [f for f in factors if variable not in f.variables]
            whole = self._multiplied(used)
            made = whole.without(variable, largest=self.largest)
            self.steps.append(EliminationStep(variable, tuple(used), made))
            factors.append(made)
        found = self._multiplied(factors)
        order = tuple(v for v in self.asked if v in found.variables)
        return Potential(order, np.ascontiguousarray(found.over(order)) if order else found.table)

    def _multiplied(self, factors: Sequence[Potential]) -> Potential:
        found, log = scaled_product(factors)
        self.log += log
        return found

    def explanation(self) -> dict[str, Any]:
        """The most probable values of what was eliminated, last first; for the largest."""
        known: dict[str, Any] = {}
        for step in reversed(self.steps):
            table = scaled_product(step.used)[0].given(known)
            known[step.variable] = int(np.argmax(table.over((step.variable,))))
        return known
