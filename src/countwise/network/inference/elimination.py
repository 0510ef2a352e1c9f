"""Variable elimination: factors are multiplied and summed out, one variable at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError
from countwise.network.inference.factors import Potential, scaled_product

__all__ = ["MOST_CELLS", "Elimination", "EliminationStep", "elimination_order", "neighbors", "refuse_wide"]

MOST_CELLS = 1 << 26  # the largest intermediate factor: half a gigabyte
_SAMPLE = "query one node by sampling, with method='likelihood_weighting' or method='gibbs'."


@dataclass(frozen=True, slots=True)
class EliminationStep:
    """The elimination of one variable: the factors that contain it, and the sum of their product."""

    variable: str
    used: tuple[Potential, ...]
    made: Potential


def elimination_order(
    near: Mapping[str, set[str]], sizes: Mapping[str, int], gone: Iterable[str]
) -> tuple[list[str], int]:
    """Return an elimination order, and the number of cells of the largest intermediate factor.

    The next variable is the one whose neighbors need the fewest new edges (min-fill). Ties go to the smallest
    resulting factor, then to the first name.
    """
    names = sorted(near)  # ties go to the first name
    place = {node: i for i, node in enumerate(names)}
    left = [{place[other] for other in near[node]} for node in names]
    bits = [sum(1 << one for one in around) for around in left]
    size = [sizes[node] for node in names]

    def cost(node: int) -> tuple[int, int, int]:
        around, mask, fill, cells = left[node], bits[node], 0, size[node]
        for one in around:
            fill += len(around) - 1 - (mask & bits[one]).bit_count()
            cells *= size[one]
        return fill, cells, node  # each missing edge is counted from both ends

    costs = {node: cost(node) for node in map(place.__getitem__, gone)}
    order, most = [], 1
    while costs:
        fill, cells, best = min(costs.values())
        del costs[best]
        most = max(most, cells)
        changed = set(left[best])
        for one in left[best]:
            left[one] |= left[best]
            left[one] -= {best, one}
            bits[one] = (bits[one] | bits[best]) & ~(1 << best | 1 << one)
            if fill:
                changed |= left[one]
        for one in changed & costs.keys():
            costs[one] = cost(one)
        order.append(names[best])
    return order, most


def refuse_wide(cells: int, what: str = "The query", hint: str = _SAMPLE) -> None:
    """Raise an error if a table would be too large, before any multiplication."""
    if cells > MOST_CELLS:
        raise OptionError(
            f"{what} needs an intermediate table of {cells:,} cells; at most {MOST_CELLS:,} are supported.",
            hint=hint,
        )


def neighbors(scopes: Iterable[Sequence[str]], among: Iterable[str] = ()) -> dict[str, set[str]]:
    """Return the variables that share a scope with each variable; the variables of `among` come first."""
    near: dict[str, set[str]] = {v: set() for v in among}
    for scope in scopes:
        for v in scope:
            near.setdefault(v, set()).update(w for w in scope if w != v)
    return near


class Elimination:
    """A query by variable elimination on reduced factors; `largest` maximizes instead of summing (MPE)."""

    def __init__(self, factors: Sequence[Potential], queried: Sequence[str], *, largest: bool = False) -> None:
        self.queried, self.largest = tuple(queried), largest
        sizes = {v: n for f in factors for v, n in zip(f.variables, f.table.shape, strict=True)}
        near = neighbors(factor.variables for factor in factors)
        self.order, cells = elimination_order(near, sizes, [v for v in sizes if v not in queried])
        whole = int(np.prod([sizes[v] for v in queried if v in sizes], dtype=np.float64))
        refuse_wide(max(cells, whole))
        self.steps: list[EliminationStep] = []
        self.log = 0.0  # of the factor divided out to avoid underflow
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
        order = tuple(v for v in self.queried if v in found.variables)
        return Potential(order, np.ascontiguousarray(found.over(order)) if order else found.table)

    def _multiplied(self, factors: Sequence[Potential]) -> Potential:
        found, log = scaled_product(factors)
        self.log += log
        return found

    def explanation(self) -> dict[str, Any]:
        """Return the most probable values of the eliminated variables, by backtracking; for `largest`."""
        known: dict[str, Any] = {}
        for step in reversed(self.steps):
            table = scaled_product(step.used)[0].given(known)
            known[step.variable] = int(np.argmax(table.over((step.variable,))))
        return known
