"""Factors over nominal variables: products, sums and reductions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countwise._typing import Floats

__all__ = ["TINY", "Potential", "product", "scaled_product"]

TINY = 1e-100  # a product whose largest entry is smaller is rescaled to avoid underflow


@dataclass(frozen=True, slots=True, eq=False)
class Potential:
    """A factor: a number for each combination of values of some variables, one axis for each variable."""

    variables: tuple[str, ...]
    table: Floats

    def over(self, variables: Sequence[str]) -> Floats:
        """Return the table with its axes in another order, with length 1 for other variables."""
        place = {v: i for i, v in enumerate(self.variables)}
        moved = self.table.transpose([place[v] for v in variables if v in place])
        sizes = iter(moved.shape)
        return moved.reshape([next(sizes) if v in place else 1 for v in variables])

    def without(self, *gone: str, largest: bool = False) -> Potential:
        """Sum out some variables, or maximize over them."""
        axes = tuple(i for i, v in enumerate(self.variables) if v in gone)
        table = self.table.max(axis=axes) if largest else self.table.sum(axis=axes)
        return Potential(tuple(v for v in self.variables if v not in gone), table)

    def given(self, codes: Mapping[str, int]) -> Potential:
        """Reduce the factor to the given values."""
        place = tuple(codes.get(v, slice(None)) for v in self.variables)
        left = tuple(v for v in self.variables if v not in codes)
        return Potential(left, np.asarray(self.table[place], dtype=np.float64, order="C"))


def product(factors: Iterable[Potential]) -> Potential:
    """Multiply all factors, over all their variables in order of appearance."""
    return scaled_product(factors, 0.0)[0]


def scaled_product(factors: Iterable[Potential], tiny: float = TINY) -> tuple[Potential, float]:
    """Multiply all factors, rescaled if the product is tiny, to avoid underflow; also return the log of the scale."""
    every = list(factors)
    variables = tuple(dict.fromkeys(v for factor in every for v in factor.variables))
    table: Floats = np.ones(())
    log = 0.0
    for factor in every:
        table = table * factor.over(variables)
        if tiny and 0 < (most := float(table.max(initial=0.0))) < tiny:
            table, log = table / most, log + float(np.log(most))
    if not variables:
        return Potential((), np.asarray(table, dtype=np.float64)), log
    sizes = {v: n for factor in every for v, n in zip(factor.variables, factor.table.shape, strict=True)}
    return Potential(variables, np.broadcast_to(table, [sizes[v] for v in variables])), log
