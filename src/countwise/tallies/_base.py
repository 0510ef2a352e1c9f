"""What every tally obeys: blank is zero, `+` merges, `-` takes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from countwise.data.attributes import Nominal
from countwise.data.table import BLOCK, Table
from countwise.data.text import Block, Text
from countwise.errors import TableError

__all__ = ["BLOCK", "Progress", "Tally", "joined", "narrowed", "plain_numbers", "spread"]

Progress = Callable[[int], None]


class Tally(Protocol):
    """A commutative monoid with subtraction; a blank one is the request for a filled one."""

    def fill(self, table: Table) -> Self:
        """A tally of the same request, filled from the rows of a table."""

    @classmethod
    def fill_many(cls, blanks: Sequence[Any], table: Table, progress: Progress | None = None) -> list[Any]:
        """Fill many requests in as few passes over the rows as possible."""

    def __add__(self, other: Self) -> Self: ...

    def __sub__(self, other: Self) -> Self: ...

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """The same counts over narrower domains, where the cells that go are empty."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""


def joined(a: Any, b: Any) -> Any:
    """The attribute that has the domains of both."""
    return a if a == b else a.join(b)


def domain(attribute: Any) -> tuple[Any, ...]:
    """The cells along an axis: values of a nominal attribute, words of a text or block."""
    if isinstance(attribute, Text | Block):
        return attribute.words
    assert isinstance(attribute, Nominal)  # noqa: S101 - axes are made by distributions
    return attribute.values


def spread(cells: NDArray[Any], axis: int, old: Any, new: Any) -> NDArray[Any]:
    """Cells re-laid along one axis, from an old domain to a wider one; new cells are zero.

    Whatever lies behind the domain (the cell of the missing) stays last.
    """
    before, after = domain(old), domain(new)
    if before == after:
        return cells
    place = {value: i for i, value in enumerate(after)}
    tail = cells.shape[axis] - len(before)
    shape = list(cells.shape)
    shape[axis] = len(after) + tail
    wide = np.zeros(shape, dtype=cells.dtype)
    target = [place[value] for value in before] + [len(after) + k for k in range(tail)]
    index: list[Any] = [slice(None)] * cells.ndim
    index[axis] = target
    wide[tuple(index)] = cells
    return wide


def narrowed(cells: NDArray[Any], axis: int, old: Any, new: Any) -> NDArray[Any]:
    """Cells re-laid along one axis, from a domain to a part of it; what lies behind the domain stays last."""
    before, after = domain(old), domain(new)
    if before == after:
        return cells
    place = {value: i for i, value in enumerate(before)}
    kept = [place[value] for value in after] + list(range(len(before), cells.shape[axis]))
    return np.take(cells, kept, axis=axis)


def plain_numbers(array: NDArray[Any]) -> list[Any]:
    """Nested lists; floats that are whole stay floats, integers integers."""
    numbers: list[Any] = array.tolist()
    return numbers


def taken(whole: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
    """A difference of counts, in which what rounding alone has left of broken weights is nothing."""
    rest = whole - part
    if rest.dtype.kind == "f":
        rest[np.abs(rest) < 1e-12 * np.maximum(whole, part)] = 0.0
    return rest


def shortfall(whole: float, part: float) -> float:
    """What is left of a weight; what rounding alone has left of broken weights is nothing."""
    rest = whole - part
    return rest if rest > 1e-9 * whole else 0.0


def refuse_negative(cells: NDArray[Any], what: str) -> None:
    """Taking back more than was there is an error, not a negative count."""
    if cells.size and cells.min() < -1e-9:
        raise TableError(
            f"Rows were taken back that had not been counted: {what} would fall below zero.",
            hint="forget only rows that were given to fit or partial_fit.",
        )
