"""Several attributes taken together: one vector a row.

A distribution of whole rows has one tally over many columns. Its attribute is a `Vector`; encoded, it is
a list of columns of numbers with NaN for missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal
from countwise.errors import SchemaError

__all__ = ["Vector", "cells_of", "chosen_cells", "numbers_of_codes"]


@dataclass(frozen=True, slots=True)
class Vector(Attribute):
    """Attributes that are one. A nominal one gives a number for each of its values: 1 where it is the row's, else 0.

    Examples
    --------
    >>> from countwise import Nominal, Numeric
    >>> from countwise.data.vectors import Vector
    >>> Vector("all", (Numeric("temp"), Nominal("wind", ("east", "north")))).names
    ('temp', 'wind=east', 'wind=north')
    """

    attributes: tuple[Attribute, ...] = ()
    kind: ClassVar[str] = "vector"

    @property
    def widths(self) -> tuple[int, ...]:
        """How many numbers come of each attribute."""
        return tuple(len(a.values) if isinstance(a, Nominal) else 1 for a in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number."""
        return tuple(
            name
            for a in self.attributes
            for name in ([f"{a.name}={value}" for value in a.values] if isinstance(a, Nominal) else [a.name])
        )

    @property
    def owners(self) -> NDArray[np.intp]:
        """The position of the attribute that each number comes of."""
        return np.repeat(np.arange(len(self.attributes)), self.widths)

    def _join(self, other: Self) -> Self:
        """The vector whose attributes have the domains of both."""
        if [a.name for a in self.attributes] != [a.name for a in other.attributes]:
            raise SchemaError("The two parts do not have the same columns.")
        pairs = zip(self.attributes, other.attributes, strict=True)
        return dataclasses.replace(self, attributes=tuple(a if a == b else a.join(b) for a, b in pairs))

    def without(self, counts: Mapping[str, NDArray[Any]]) -> Vector:
        """The vector less the values that nothing is left of; counts of the nominal attributes by name."""
        left = (a.without(counts[a.name]) if isinstance(a, Nominal) else a for a in self.attributes)
        return dataclasses.replace(self, attributes=tuple(left))

    def places_in(self, other: Vector) -> NDArray[np.intp]:
        """Where each of these numbers stands in a vector with other domains; -1 where it does not."""
        place = {name: i for i, name in enumerate(_keys(other))}
        return np.array([place.get(name, -1) for name in _keys(self)], dtype=np.intp)


def _keys(vector: Vector) -> list[tuple[Any, ...]]:
    """What tells numbers apart, whatever their values are written like."""
    return [
        key
        for a in vector.attributes
        for key in ([(a.name, type(v), v) for v in a.values] if isinstance(a, Nominal) else [(a.name,)])
    ]


def numbers_of_codes(a: Nominal, codes: NDArray[Any]) -> list[NDArray[Any]]:
    """A column of 0 and 1 for each value of a nominal attribute; NaN where the cell is missing or never seen."""
    unknown = codes >= a.missing
    if not unknown.any():
        return [(codes == code).view(np.uint8) for code in range(len(a.values))]
    return [np.where(unknown, np.float32(np.nan), codes == code).astype(np.float32) for code in range(len(a.values))]


def cells_of(attributes: Sequence[Attribute], columns: Sequence[NDArray[Any]]) -> Floats:
    """Encoded columns as one matrix: numbers, and codes as numbers, NaN where a cell is missing or never seen.

    It may share the memory of a single column.
    """
    if len(columns) == 1 and columns[0].dtype == np.float64:
        return columns[0].reshape(-1, 1)
    cells = np.empty((len(columns[0]) if columns else 0, len(columns)))
    for j, (a, column) in enumerate(zip(attributes, columns, strict=True)):
        cells[:, j] = column
        if isinstance(a, Nominal):
            cells[column >= a.missing, j] = np.nan
    return cells


def chosen_cells(cells: Floats, columns: Sequence[int] | NDArray[np.intp]) -> Floats:
    """Some columns of a matrix; the matrix itself if they are all of them."""
    if len(columns) == cells.shape[1]:
        return cells
    return np.ascontiguousarray(cells[:, columns])
