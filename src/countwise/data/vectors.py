"""Several attributes combined to one vector per row.

A multivariate distribution has one tally over many columns. Its attribute is a `Vector`, which is encoded as a list
of numeric columns with NaN for missing values.
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
from countwise.errors import SchemaError, listed

__all__ = ["Vector", "cells_of", "chosen_cells", "numbers_of_codes"]


@dataclass(frozen=True, slots=True)
class Vector(Attribute):
    """Several attributes combined to one; a nominal attribute is one-hot encoded.

    Parameters
    ----------
    name : str
        Name of the vector.
    attributes : tuple of Attribute, default=()
        The attributes.

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
        """Number of components of each attribute: its number of values if nominal, else 1."""
        return tuple(len(a.values) if isinstance(a, Nominal) else 1 for a in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each component."""
        return tuple(
            name
            for a in self.attributes
            for name in ([f"{a.name}={value}" for value in a.values] if isinstance(a, Nominal) else [a.name])
        )

    @property
    def owners(self) -> NDArray[np.intp]:
        """Position of the attribute of each component."""
        return np.repeat(np.arange(len(self.attributes)), self.widths)

    def _join(self, other: Self) -> Self:
        """Return the vector whose attributes have the union of both domains."""
        names, others = [a.name for a in self.attributes], [a.name for a in other.attributes]
        if names != others:
            raise SchemaError(
                "Both parts of the data must have the same columns in the same order, "
                f"but they have {listed(names)} and {listed(others)}."
            )
        pairs = zip(self.attributes, other.attributes, strict=True)
        return dataclasses.replace(self, attributes=tuple(a if a == b else a.join(b) for a, b in pairs))

    def without(self, counts: Mapping[str, NDArray[Any]]) -> Vector:
        """Return the vector without the values whose count is zero; `counts` has the nominal attributes by name."""
        kept = (a.without(counts[a.name]) if isinstance(a, Nominal) else a for a in self.attributes)
        return dataclasses.replace(self, attributes=tuple(kept))

    def places_in(self, other: Vector) -> NDArray[np.intp]:
        """Return the position of each component in a vector with other domains; -1 if it is not in it."""
        place = {name: i for i, name in enumerate(_keys(other))}
        return np.array([place.get(name, -1) for name in _keys(self)], dtype=np.intp)


def _keys(vector: Vector) -> list[tuple[Any, ...]]:
    """Return a unique key of each component; unlike names, keys distinguish the values 1 and "1"."""
    return [
        key
        for a in vector.attributes
        for key in ([(a.name, type(v), v) for v in a.values] if isinstance(a, Nominal) else [(a.name,)])
    ]


def numbers_of_codes(a: Nominal, codes: NDArray[Any]) -> list[NDArray[Any]]:
    """Return a 0/1 column for each value of a nominal attribute; NaN where the value is missing or unseen."""
    unknown = codes >= a.missing
    if not unknown.any():
        return [(codes == code).view(np.uint8) for code in range(len(a.values))]
    return [np.where(unknown, np.float32(np.nan), codes == code).astype(np.float32) for code in range(len(a.values))]


def cells_of(attributes: Sequence[Attribute], columns: Sequence[NDArray[Any]]) -> Floats:
    """Return encoded columns as one matrix of numbers and codes, NaN where a value is missing or unseen.

    The result may be a view if there is only one column.
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
    """Select columns of a matrix; return the matrix itself if all are selected."""
    if len(columns) == cells.shape[1]:
        return cells
    return np.ascontiguousarray(cells[:, columns])
