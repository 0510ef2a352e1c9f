"""What every tally obeys: blank is zero, `+` merges, `-` takes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.data.attributes import Nominal
from countwise.data.table import BLOCK, Table
from countwise.data.text import Block, Text
from countwise.errors import TableError

__all__ = ["BLOCK", "DUST", "ClassTally", "Progress", "Tally", "joined", "picked", "relaid"]

Progress = Callable[[int], None]
DUST = 1e-14  # of what there was: all that rounding leaves when everything is taken back


class Tally:
    """A commutative monoid with subtraction; a blank one is the request for a filled one."""

    __slots__ = ()

    def fill(self, table: Table) -> Self:
        """A tally of the same request, filled from the rows of a table."""
        return self.fill_many([self], table)[0]

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill many requests in as few passes over the rows as possible; here one after the other."""
        return [blank._filled(table, progress) for blank in blanks]

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class ClassTally(Tally):
    """A tally of an attribute, `of`, in each class of `given`; blank while its parts are None."""

    given: Nominal
    of: Any
    _settings: ClassVar[tuple[str, ...]] = ()  # fields of the request
    _parts: ClassVar[tuple[str, ...]] = ()  # fields of what is counted

    def _over(self, given: Nominal, of: Any) -> tuple[Any, ...]:
        """The parts for other domains: what is new is zero, what is gone is left out."""
        raise NotImplementedError

    def _joined(self, other: Self) -> tuple[Nominal, Any]:
        return joined(self.given, other.given), joined(self.of, other.of)

    def _with(self, given: Nominal, of: Any, parts: Iterable[Any], **more: Any) -> Self:
        return replace(self, given=given, of=of, **dict(zip(self._parts, parts, strict=True)), **more)

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """The same counts over narrower domains, where the cells that go are empty."""
        given, of = attributes.get(self.given.name, self.given), attributes.get(self.of.name, self.of)
        return self._with(given, of, self._over(given, of))

    def _head(self) -> dict[str, Any]:
        head = {"tally": type(self).__name__.lower(), "given": self.given.name, "of": self.of.name}
        return head | {name: getattr(self, name) for name in self._settings}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        parts = zip(self._parts, self._over(self.given, self.of), strict=True)
        return self._head() | {name: _plain(part) for name, part in parts}


def _plain(part: Any) -> Any:
    """Nested lists; missing numbers are None."""
    if isinstance(part, tuple | list):
        return [_plain(one) for one in part]
    if part.dtype.kind == "f" and np.isnan(part).any():
        part = np.where(np.isnan(part), None, part)
    return part.tolist()


def joined(a: Any, b: Any) -> Any:
    """The attribute that has the domains of both."""
    return a if a == b else a.join(b)


def domain(attribute: Any) -> tuple[Any, ...]:
    """The cells along an axis: values of a nominal attribute, words of a text or block."""
    if isinstance(attribute, Text | Block):
        return attribute.words
    assert isinstance(attribute, Nominal)  # noqa: S101 - axes are made by distributions
    return attribute.values


def relaid(cells: NDArray[Any], axis: int, old: Any, new: Any) -> NDArray[Any]:
    """Cells along one axis, from an old domain to a wider or narrower one; new cells are zero.

    Whatever lies behind the domain (the cell of the missing) stays last.
    """
    before, after = domain(old), domain(new)
    if before == after:
        return cells
    place = {value: i for i, value in enumerate(before)}
    return picked(cells, axis, [*(place.get(value, -1) for value in after), *range(len(before), cells.shape[axis])])


def picked(cells: NDArray[Any], axis: int, places: Sequence[int] | Indices) -> NDArray[Any]:
    """Cells of some places along one axis; zeros for place -1."""
    zeros = np.zeros([1 if i == axis else n for i, n in enumerate(cells.shape)], dtype=cells.dtype)
    return np.take(np.concatenate([cells, zeros], axis=axis), np.asarray(places, dtype=np.intp), axis=axis)


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
