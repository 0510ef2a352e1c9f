"""Derived columns: what a term of a model is made of, and how it comes from the columns of the table."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countwise.data.attributes import Attribute, Nominal
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.data.text import Bag, Block
from countwise.data.vectors import Vector, cells_of, numbers_of_codes
from countwise.errors import TableError

__all__ = [
    "Absent",
    "AsGiven",
    "CellMatrix",
    "CountBlock",
    "Derived",
    "InRanges",
    "Latent",
    "NumberColumns",
    "Positive",
    "free_name",
    "whole_row",
]


def free_name(name: str, taken: Container[str]) -> str:
    """A name for a derived column that no column of the user's has."""
    while name in taken:
        name = f"({name})"
    return name


@dataclass(frozen=True, slots=True)
class Derived:
    """A column that is derived from others; a new one writes `derive`."""

    of: Any  # the attribute as the tally sees it; its name is the key of the tally
    columns: tuple[str, ...]  # of the table, that it is made of
    flag: ClassVar[bool] = False  # whether it says one thing of a column, yes or no

    def derive(self, table: Table) -> Any:
        """The column."""
        raise NotImplementedError

    def label(self, one: Mapping[str, Any], show: Callable[[Any], str]) -> str | None:
        """How the user's cell is shown in the working; None if the density says it better."""
        return None if self.flag else ""


@dataclass(frozen=True, slots=True)
class AsGiven(Derived):
    """The column as it is."""

    def __init__(self, of: Attribute) -> None:
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "columns", (of.name,))

    def derive(self, table: Table) -> Any:
        """The column of the table."""
        return table[self.of.name]

    def label(self, one: Mapping[str, Any], show: Callable[[Any], str]) -> str | None:
        """The cell."""
        return show(one[self.of.name])


@dataclass(frozen=True, slots=True)
class Positive(Derived):
    """Whether a number is above 0."""

    flag: ClassVar[bool] = True

    @classmethod
    def of_column(cls, name: str, taken: Container[str]) -> Positive:
        """Of one numeric column."""
        return cls(Nominal(free_name(f"{name} > 0", taken), (False, True)), (name,))

    def derive(self, table: Table) -> Any:
        """0 or 1; 2 where the number is missing."""
        column = table[self.columns[0]]
        with np.errstate(invalid="ignore"):
            codes = (column > 0).astype(np.uint8)
        if column.dtype.kind == "f":
            codes[np.isnan(column)] = 2
        return codes


@dataclass(frozen=True, slots=True)
class Absent(Derived):
    """Whether the value is missing; `cell` is the code of a missing value in a column of codes."""

    cell: int | None = None
    flag: ClassVar[bool] = True

    @classmethod
    def of_attribute(cls, attribute: Attribute, taken: Container[str]) -> Absent:
        """Of one column."""
        of = Nominal(free_name(f"{attribute.name} missing", taken), (False, True))
        return cls(of, (attribute.name,), attribute.missing if isinstance(attribute, Nominal) else None)

    def derive(self, table: Table) -> Any:
        """1 where the value is missing."""
        column = table[self.columns[0]]
        missing = None
        if isinstance(column, Bag):
            missing = column.missing
        elif self.cell is not None:
            missing = column == self.cell
        elif column.dtype.kind == "f":
            missing = np.isnan(column)
        return np.zeros(len(column), dtype=np.uint8) if missing is None else missing.astype(np.uint8)


@dataclass(frozen=True, slots=True)
class CountBlock(Derived):
    """Columns of counts as one block of words; a missing count is a word that does not occur."""

    @classmethod
    def of_columns(cls, name: str, columns: Sequence[str], taken: Container[str]) -> CountBlock:
        """Of columns that share one multinomial."""
        return cls(Block(free_name(f"block {name}".strip(), taken), tuple(columns)), tuple(columns))

    def derive(self, table: Table) -> Bag:
        """The counts of each row, by word."""
        dense = np.stack([np.asarray(table[name], dtype=np.float64) for name in self.columns], axis=1)
        dense[np.isnan(dense)] = 0.0
        if (dense < 0).any():
            row, j = (int(place[0]) for place in np.nonzero(dense < 0))
            raise TableError(
                f"Negative values in data: {self.columns[j]!r} is {dense[row, j]:g} in row {row}; "
                "a multinomial distribution is of counts.",
                hint=f"use another distribution: distributions={{{self.columns[j]!r}: 'gaussian'}}.",
                row=row,
            )
        rows, words = np.nonzero(dense)
        indptr = np.zeros(table.n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=table.n_rows), out=indptr[1:])
        return Bag(indptr, words.astype(np.int32), dense[rows, words], len(self.columns))


@dataclass(frozen=True, slots=True)
class NumberColumns(Derived):
    """Several columns as a list of numbers; a nominal one becomes 0 and 1 for each value."""

    def derive(self, table: Table) -> list[Any]:
        """A number for each numeric column, and for each value of a nominal one."""
        numbers: list[Any] = []
        for a in self.of.attributes:
            numbers += numbers_of_codes(a, table[a.name]) if isinstance(a, Nominal) else [table[a.name]]
        return numbers


@dataclass(frozen=True, slots=True)
class CellMatrix(Derived):
    """Several columns as one matrix; nominal values by their codes."""

    def derive(self, table: Table) -> Any:
        """The matrix, shape (rows, columns)."""
        return cells_of(self.of.attributes, [table[name] for name in self.columns])


@dataclass(frozen=True, slots=True)
class InRanges(Derived):
    """A number by the range that it lies in; `codes` finds the range."""

    codes: Any = None

    def derive(self, table: Table) -> Any:
        """The code of the range."""
        return self.codes(table[self.columns[0]])


@dataclass(frozen=True, slots=True)
class Latent(Derived):
    """A column that is never observed."""

    def derive(self, table: Table) -> Any:
        """Every value is missing."""
        return np.full(table.n_rows, self.of.missing, dtype=narrowest(self.of.missing + 2))


def whole_row(kind: type[Derived], attributes: Sequence[Attribute], taken: Container[str]) -> Derived:
    """All attributes together, as `NumberColumns` or as a `CellMatrix`."""
    return kind(Vector(free_name("row", taken), tuple(attributes)), tuple(a.name for a in attributes))
