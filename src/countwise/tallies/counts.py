"""Counts: how often each combination of values occurs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.attributes import Nominal
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.tallies._base import Progress, Tally, joined, refuse_negative, relaid, taken

__all__ = ["Counts"]

_MOST_CELLS = 1 << 28  # 2 GB of counts: more is an identifier, not an attribute
_CELLS = attrgetter("unseen")  # values, and one cell for missing ones


@dataclass(frozen=True, slots=True, eq=False)
class Counts(Tally):
    """Cells over nominal axes; each axis has one cell more than values, for the missing.

    Parameters
    ----------
    axes : tuple of Nominal
        For naive Bayes the class, then the attribute.
    cells : ndarray or None
        Shape (K1 + 1, K2 + 1, ...); whole numbers when the weights are. None: blank.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.tallies import Counts
    >>> from countwise.data.table import Table
    >>> play, wind = Nominal("play", ("no", "yes")), Nominal("wind", ("weak", "strong"))
    >>> rows = Table({"play": np.array([0, 1, 1], np.uint8), "wind": np.array([0, 0, 1], np.uint8)}, 3)
    >>> Counts((play, wind)).fill(rows).table.tolist()
    [[1, 0], [1, 1]]
    """

    axes: tuple[Nominal, ...]
    cells: NDArray[Any] | None = None

    @property
    def filled(self) -> NDArray[Any]:
        """The cells; zeros while blank."""
        if self.cells is None:
            return np.zeros([len(a.values) + 1 for a in self.axes], dtype=np.int64)
        return self.cells

    @property
    def table(self) -> NDArray[Any]:
        """The cells of values that are not missing on any axis."""
        return self.filled[(slice(0, -1),) * len(self.axes)]

    @property
    def absent(self) -> NDArray[Any]:
        """Cells in which the last axis is missing and the others are not."""
        there: tuple[Any, ...] = (slice(0, -1),) * (len(self.axes) - 1)
        return self.filled[(*there, -1)]

    @property
    def of_last(self) -> NDArray[Any]:
        """How often each value of the last axis occurs, whatever the others are."""
        return self.filled.sum(axis=tuple(range(len(self.axes) - 1)))[:-1]

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Count for many requests: a column at a time, or as families where some have more than two axes."""
        together = False
        for blank in blanks:
            n_cells = math.prod(map(_CELLS, blank.axes))
            if n_cells > _MOST_CELLS:
                names = " by ".join(f"{a.name!r} ({len(a.values)} values)" for a in blank.axes)
                raise TableError(
                    f"A table of counts of {names} would have {n_cells} cells.",
                    hint="one of them looks like an identifier: leave it out, or join its rare values.",
                )
            together |= len(blank.axes) > 2
        if together:
            return _counted_together(blanks, table)
        return _kernels.over_items(list(blanks), lambda blank: blank._count(table), table.threads)

    def _count(self, table: Table) -> Self:
        sizes = list(map(_CELLS, self.axes))
        columns = [table.columns[a.name] for a in self.axes]
        given = columns[0] if len(columns) == 2 else np.zeros(len(columns[0]), dtype=np.uint8)
        cells = _kernels.count_codes(columns[-1], given, table.weights, sizes[-1], math.prod(sizes[:-1]))
        return replace(self, cells=cells.reshape(sizes))

    def __add__(self, other: Self) -> Self:
        return self._combine(other, np.add)

    def __sub__(self, other: Self) -> Self:
        result = self._combine(other, taken)
        refuse_negative(result.filled, f"a count of {' and '.join(repr(a.name) for a in self.axes)}")
        return result

    def _combine(self, other: Self, operation: Any) -> Self:
        axes = tuple(joined(a, b) for a, b in zip(self.axes, other.axes, strict=True))
        return replace(self, axes=axes, cells=operation(self.over(axes), other.over(axes)))

    def over(self, axes: Sequence[Nominal]) -> NDArray[Any]:
        """The cells laid out for other domains."""
        cells = self.filled
        for i, (old, new) in enumerate(zip(self.axes, axes, strict=True)):
            cells = relaid(cells, i, old, new)
        return cells

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """The same counts over narrower domains."""
        axes = tuple(attributes.get(a.name, a) for a in self.axes)
        return replace(self, axes=axes, cells=self.over(axes))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        return {"tally": "counts", "axes": [a.name for a in self.axes], "cells": self.filled.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        axes = tuple(attributes[name] for name in data["axes"])
        cells = np.array(data["cells"])
        if cells.shape != tuple(len(a.values) + 1 for a in axes) or cells.dtype.kind not in "if":
            raise ValueError(f"the counts of {axes[-1].name!r} do not fit their domain")
        return cls(axes, cells)


def _counted_together(blanks: Sequence[Counts], table: Table) -> list[Any]:
    """Families of columns, each thread some of them; columns are looked at where they are."""
    axes = {a.name: a for blank in blanks for a in blank.axes}
    place = {name: i for i, name in enumerate(axes)}
    columns, sizes = [table[name] for name in axes], [len(a.values) + 1 for a in axes.values()]
    threads = _kernels.thread_count() if table.threads is None else 1
    share = -(-len(blanks) // threads)

    def work(start: int) -> list[Any]:
        some = blanks[start : start + share]
        families = [[place[a.name] for a in blank.axes] for blank in some]
        found = _kernels.count_families(columns, sizes, families, table.weights)
        return [replace(blank, cells=np.ascontiguousarray(cells)) for blank, cells in zip(some, found, strict=True)]

    parts = _kernels.over_items(range(0, len(blanks), share), work, threads)
    return [one for part in parts for one in part]
