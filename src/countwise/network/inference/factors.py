"""Factors: tables over nominal variables, multiplied, summed and reduced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats

__all__ = ["TINY", "Potential", "product", "scaled_product"]

TINY = 1e-100  # a product of which nothing is larger is scaled up before it vanishes


@dataclass(frozen=True, slots=True, eq=False)
class Potential:
    """A number for each combination of values of some variables.

    Parameters
    ----------
    variables : tuple of str
        The axes.
    table : ndarray
        An axis for each variable.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.network.inference.factors import Potential
    >>> play = Potential(("play",), np.array([0.4, 0.6]))
    >>> wind = Potential(("play", "wind"), np.array([[0.5, 0.5], [0.2, 0.8]]))
    >>> (play * wind).without("play").table.round(3).tolist()
    [0.32, 0.68]
    """

    variables: tuple[str, ...]
    table: Floats

    def __mul__(self, other: Potential) -> Potential:
        return product([self, other])

    @property
    def size(self) -> int:
        """How many numbers."""
        return int(self.table.size)

    def over(self, variables: Sequence[str]) -> Floats:
        """The table with axes in another order, of length 1 where it has none."""
        place = {v: i for i, v in enumerate(self.variables)}
        moved = self.table.transpose([place[v] for v in variables if v in place])
        sizes = iter(moved.shape)
        return moved.reshape([next(sizes) if v in place else 1 for v in variables])

    def without(self, *gone: str) -> Potential:
        """The sum over some variables."""
        axes = tuple(i for i, v in enumerate(self.variables) if v in gone)
        return Potential(tuple(v for v in self.variables if v not in gone), self.table.sum(axis=axes))

    def best(self, *gone: str) -> Potential:
        """The largest over some variables."""
        axes = tuple(i for i, v in enumerate(self.variables) if v in gone)
        return Potential(tuple(v for v in self.variables if v not in gone), self.table.max(axis=axes))

    def given(self, evidence: Mapping[str, Any]) -> Potential:
        """Only the numbers for values that are known: codes, or weights of all values (soft evidence)."""
        table: Any = self.table
        left: list[str] = []
        for v in self.variables:
            axis = len(left)
            known = evidence.get(v)
            if known is None:
                left.append(v)
            elif np.ndim(known) == 0:
                table = table.take(int(known), axis=axis)
            else:
                shape = [1] * table.ndim
                shape[axis] = -1
                table = table * np.asarray(known, dtype=np.float64).reshape(shape)
                left.append(v)
        return Potential(tuple(left), np.asarray(table, dtype=np.float64))

    def scaled(self) -> Potential:
        """The same numbers, of which all together are 1."""
        total = self.table.sum()
        return Potential(self.variables, self.table / total)


def product(factors: Iterable[Potential]) -> Potential:
    """All factors multiplied, over all their variables in the order in which they are met."""
    return _multiplied(factors, 0.0)[0]


def scaled_product(factors: Iterable[Potential]) -> tuple[Potential, float]:
    """The same, but for its scale if it is tiny: many small numbers would else vanish; and the log of the scale."""
    return _multiplied(factors, TINY)


def _multiplied(factors: Iterable[Potential], tiny: float) -> tuple[Potential, float]:
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
