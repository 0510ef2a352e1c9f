"""Derived columns: the columns that the terms of a model use, computed from the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.data.text import Bag, Block
from countwise.data.vectors import Vector, cells_of, numbers_of_codes
from countwise.errors import OptionError, TableError

__all__ = [
    "Absent",
    "AsGiven",
    "CellMatrix",
    "CountBlock",
    "Derived",
    "InRanges",
    "Latent",
    "NumberColumns",
    "OrderCodes",
    "Positive",
    "free_name",
    "whole_row",
]


def free_name(name: str, taken: Container[str]) -> str:
    """Return `name`, in parentheses if a column of the table already has it."""
    while name in taken:
        name = f"({name})"
    return name


@dataclass(frozen=True, slots=True)
class Derived:
    """Base class of derived columns; a subclass implements `derive`."""

    of: Any  # attribute of the derived column; its name is the key of the tally
    columns: tuple[str, ...]  # columns of the table that it is computed from
    flag: ClassVar[bool] = False  # whether the derived column is a boolean

    def derive(self, table: Table) -> Any:
        """Compute the column."""
        raise NotImplementedError

    def label(self, one: Mapping[str, Any], show: Callable[[Any], str]) -> str | None:
        """Return the value as the working shows it; None if the distribution writes its own label."""
        return None if self.flag else ""


@dataclass(frozen=True, slots=True)
class AsGiven(Derived):
    """A column of the table without any change."""

    def __init__(self, of: Attribute) -> None:
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "columns", (of.name,))

    def derive(self, table: Table) -> Any:
        """Return the column of the table."""
        return table[self.of.name]

    def label(self, one: Mapping[str, Any], show: Callable[[Any], str]) -> str | None:
        """Return the value as text."""
        return show(one[self.of.name])


@dataclass(frozen=True, slots=True)
class OrderCodes(Derived):
    """The codes 0, 1, 2, ... of an ordinal column as numbers."""

    values: tuple[Any, ...] = ()

    @classmethod
    def of_column(cls, attribute: Ordinal) -> OrderCodes:
        """Derive them from one column, whose order must be declared: the codes must not change with more rows."""
        if attribute.grows:
            raise OptionError(
                f"The codes of {attribute.name!r} need a declared order of its values.",
                hint=f"pass types={{{attribute.name!r}: Ordinal({attribute.name!r}, (lowest, ..., highest))}}.",
            )
        return cls(Numeric(attribute.name), (attribute.name,), attribute.values)

    def derive(self, table: Table) -> Any:
        """Return the code of each value; NaN where it is missing or unseen."""
        codes = table[self.columns[0]]
        return np.where(codes < len(self.values), codes.astype(np.float64), np.nan)

    def nearest(self, numbers: NDArray[Any]) -> list[Any]:
        """Return the value whose code is nearest to each number; None where it is NaN."""
        places = np.clip(np.rint(np.nan_to_num(numbers)), 0, len(self.values) - 1).astype(np.int64)
        return [None if np.isnan(x) else self.values[i] for x, i in zip(numbers, places, strict=True)]

    def label(self, one: Mapping[str, Any], show: Callable[[Any], str]) -> str | None:
        """Return the value with its code."""
        value = one[self.columns[0]]
        return f"{show(value)} ({self.values.index(value)})" if value in self.values else show(value)


@dataclass(frozen=True, slots=True)
class Positive(Derived):
    """Boolean column: whether a number is greater than 0."""

    flag: ClassVar[bool] = True

    @classmethod
    def of_column(cls, name: str, taken: Container[str]) -> Positive:
        """Derive it from one numeric column."""
        return cls(Nominal(free_name(f"{name} > 0", taken), (False, True)), (name,))

    def derive(self, table: Table) -> Any:
        """Return 0 or 1, and 2 where the number is missing."""
        column = table[self.columns[0]]
        with np.errstate(invalid="ignore"):
            codes = (column > 0).astype(np.uint8)
        if column.dtype.kind == "f":
            codes[np.isnan(column)] = 2
        return codes


@dataclass(frozen=True, slots=True)
class Absent(Derived):
    """Boolean column: whether the value is missing. `cell` is the code of a missing value in an encoded column."""

    cell: int | None = None
    flag: ClassVar[bool] = True

    @classmethod
    def of_attribute(cls, attribute: Attribute, taken: Container[str]) -> Absent:
        """Derive it from one column."""
        of = Nominal(free_name(f"{attribute.name} missing", taken), (False, True))
        return cls(of, (attribute.name,), attribute.missing if isinstance(attribute, Nominal) else None)

    def derive(self, table: Table) -> Any:
        """Return 1 where the value is missing, else 0."""
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
    """Count columns modeled jointly by one multinomial; a missing count is 0."""

    @classmethod
    def of_columns(cls, name: str, columns: Sequence[str], taken: Container[str]) -> CountBlock:
        """Derive it from count columns."""
        return cls(Block(free_name(f"block {name}".strip(), taken), tuple(columns)), tuple(columns))

    def derive(self, table: Table) -> Bag:
        """Return the counts as a sparse matrix."""
        dense = np.stack([np.asarray(table[name], dtype=np.float64) for name in self.columns], axis=1)
        dense[np.isnan(dense)] = 0.0
        if (dense < 0).any():
            row, j = (int(place[0]) for place in np.nonzero(dense < 0))
            raise TableError(
                f"Negative values in data: {self.columns[j]!r} is {dense[row, j]:g} in row {row}, "
                "but a multinomial distribution needs counts >= 0.",
                hint=f"use another distribution: distributions={{{self.columns[j]!r}: 'gaussian'}}.",
                row=row,
            )
        rows, words = np.nonzero(dense)
        indptr = np.zeros(table.n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=table.n_rows), out=indptr[1:])
        return Bag(indptr, words.astype(np.int32), dense[rows, words], len(self.columns))


@dataclass(frozen=True, slots=True)
class NumberColumns(Derived):
    """Several columns as a list of numeric columns; a nominal column is one-hot encoded."""

    def derive(self, table: Table) -> list[Any]:
        """Return one column for each numeric attribute and for each value of a nominal attribute."""
        numbers: list[Any] = []
        for a in self.of.attributes:
            numbers += numbers_of_codes(a, table[a.name]) if isinstance(a, Nominal) else [table[a.name]]
        return numbers


@dataclass(frozen=True, slots=True)
class CellMatrix(Derived):
    """Several columns as one matrix; nominal values are represented by their codes."""

    def derive(self, table: Table) -> Any:
        """Return the matrix, shape (rows, columns)."""
        return cells_of(self.of.attributes, [table[name] for name in self.columns])


@dataclass(frozen=True, slots=True)
class InRanges(Derived):
    """A discretized numeric column; `codes` maps numbers to the codes of their bins."""

    codes: Any = None

    def derive(self, table: Table) -> Any:
        """Return the code of the bin of each number."""
        return self.codes(table[self.columns[0]])


@dataclass(frozen=True, slots=True)
class Latent(Derived):
    """A latent variable: a column whose values are all missing."""

    def derive(self, table: Table) -> Any:
        """Return the code of a missing value for each row."""
        return np.full(table.n_rows, self.of.missing, dtype=narrowest(self.of.missing + 2))


def whole_row(kind: type[Derived], attributes: Sequence[Attribute], taken: Container[str]) -> Derived:
    """Combine all attributes into one derived column, a `NumberColumns` or a `CellMatrix`."""
    return kind(Vector(free_name("row", taken), tuple(attributes)), tuple(a.name for a in attributes))
