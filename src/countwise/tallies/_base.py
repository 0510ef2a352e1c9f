"""Base classes of tallies, and operations on their arrays."""

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

__all__ = ["BLOCK", "DUST", "LARGEST", "ClassTally", "Progress", "Tally", "joined", "picked", "relaid"]

Progress = Callable[[int], None]
LARGEST = 1e150  # numbers above it cannot be squared
DUST = 1e-14  # relative rounding error that remains when all rows are subtracted


class Tally:
    """Base class of tallies.

    Subclasses define ``a + b``, the tally of the rows of both, and ``a - b``, the tally without the rows of `b`. A
    tally is blank until it is filled; a blank tally is the zero of the addition.

    Examples
    --------
    >>> from countwise.tallies import Tally, Values
    >>> a, b = Values.from_arrays([1.0, 2.0]), Values.from_arrays([2.0])
    >>> isinstance(a, Tally), (a + b).n.tolist(), (a + b - b).n.tolist()
    (True, [3], [2])
    """

    __slots__ = ()

    def fill(self, table: Table) -> Self:
        """Return this tally filled from the rows of a table.

        Parameters
        ----------
        table : Table
            Encoded table with the columns of the tally.

        Returns
        -------
        Tally
            The filled tally. The tally itself does not change.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.data.table import Table
        >>> from countwise.tallies import Counts
        >>> rows = Table({"rain": np.array([0, 1, 1], np.uint8)}, 3)
        >>> Counts((Nominal("rain", ("no", "yes")),)).fill(rows).table.tolist()
        [1, 2]
        """
        return self.fill_many([self], table)[0]

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill several tallies of this class from one table, in as few passes over the rows as possible.

        Parameters
        ----------
        blanks : sequence of Tally
            Blank tallies of this class.
        table : Table
            Encoded table with the columns of the tallies.
        progress : callable or None, default=None
            Function that is called with the number of rows read so far.

        Returns
        -------
        list of Tally
            Filled tallies in the order of `blanks`.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.data.table import Table
        >>> from countwise.tallies import Counts
        >>> rows = Table({"rain": np.array([0, 1, 1], np.uint8)}, 3)
        >>> Counts.fill_many([Counts((Nominal("rain", ("no", "yes")),))], rows)[0].table.tolist()
        [1, 2]
        """
        return [blank._filled(table, progress) for blank in blanks]

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        raise NotImplementedError

    def _has_values(self, name: str) -> bool:
        """Return whether a value of a column has been counted; False if it was missing in all rows."""
        return bool(np.any(self.n))  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, eq=False)
class ClassTally(Tally):
    """Tally of an attribute, `of`, in each class of `given`; it is blank while its parts are None."""

    given: Nominal
    of: Any
    _settings: ClassVar[tuple[str, ...]] = ()  # fields that describe the request
    _parts: ClassVar[tuple[str, ...]] = ()  # fields with the statistics

    @property
    def request(self) -> tuple[Any, ...]:
        """What is counted; equal for all tallies of the same request."""
        return (self.given, self.of, *(getattr(self, name) for name in self._settings if name != "worn"))

    @property
    def of_classes(self) -> NDArray[Any]:
        """Weight of the counted rows in each class."""
        raise NotImplementedError

    def _over(self, given: Nominal, of: Any) -> tuple[Any, ...]:
        """Return the parts for other domains: new values have zeros, removed values are dropped."""
        raise NotImplementedError

    def _joined(self, other: Self) -> tuple[Nominal, Any]:
        return joined(self.given, other.given), joined(self.of, other.of)

    def _with(self, given: Nominal, of: Any, parts: Iterable[Any], **more: Any) -> Self:
        return replace(self, given=given, of=of, **dict(zip(self._parts, parts, strict=True)), **more)

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """Return the tally for other domains; removed values must have no rows.

        Parameters
        ----------
        attributes : mapping of str to Attribute
            New attributes by name. Attributes that it does not contain stay as they are.

        Returns
        -------
        Tally
            The tally with the new domains.

        Examples
        --------
        >>> from countwise import Nominal
        >>> from countwise.tallies import Values
        >>> tally = Values.from_arrays([1.0, 2.0], ["no", "no"])
        >>> tally.within({"class": Nominal("class", ("no", "yes"))}).n.tolist()
        [2, 0]
        """
        given, of = attributes.get(self.given.name, self.given), attributes.get(self.of.name, self.of)
        return self._with(given, of, self._over(given, of))

    def _head(self) -> dict[str, Any]:
        head = {"tally": type(self).__name__.lower(), "given": self.given.name, "of": self.of.name}
        return head | {name: getattr(self, name) for name in self._settings}

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data for the model file.

        Returns
        -------
        dict
            The type of the tally, the names of its attributes, and nested lists of its statistics.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([3.0, 1.0]).to_dict()
        {'tally': 'values', 'given': 'class', 'of': 'x', 'sets': [[[1.0, 3.0], [1, 1]]]}
        """
        parts = zip(self._parts, self._over(self.given, self.of), strict=True)
        return self._head() | {name: _plain(part) for name, part in parts if part is not None}


def _plain(part: Any) -> Any:
    """Convert arrays to nested lists; NaN becomes None."""
    if isinstance(part, tuple | list):
        return [_plain(one) for one in part]
    if part.dtype.kind == "f" and np.isnan(part).any():
        part = np.where(np.isnan(part), None, part)
    return part.tolist()


def joined(a: Any, b: Any) -> Any:
    """Return the attribute with the union of both domains."""
    return a if a == b else a.join(b)


def domain(attribute: Any) -> tuple[Any, ...]:
    """Return the values of a nominal attribute, or the words of a text or block."""
    if isinstance(attribute, Text | Block):
        return attribute.words
    assert isinstance(attribute, Nominal)  # noqa: S101 - distributions create no other axes
    return attribute.values


def relaid(cells: NDArray[Any], axis: int, old: Any, new: Any) -> NDArray[Any]:
    """Rearrange the cells along one axis for a wider or narrower domain; new cells are zero.

    Cells after those of the domain (the cell of missing values) stay last.
    """
    before, after = domain(old), domain(new)
    if before == after:
        return cells
    place = {value: i for i, value in enumerate(before)}
    return picked(cells, axis, [*(place.get(value, -1) for value in after), *range(len(before), cells.shape[axis])])


def picked(cells: NDArray[Any], axis: int, places: Sequence[int] | Indices) -> NDArray[Any]:
    """Select cells by position along one axis; position -1 gives zeros."""
    zeros = np.zeros([1 if i == axis else n for i, n in enumerate(cells.shape)], dtype=cells.dtype)
    return np.take(np.concatenate([cells, zeros], axis=axis), np.asarray(places, dtype=np.intp), axis=axis)


def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Add counts; integers that would exceed 64 bits become floats."""
    total = np.asarray(a + b)
    if total.dtype.kind == "i" and total.size and total.min() < 0:
        return np.asarray(a.astype(np.float64) + b)
    return total


def subtracted(whole: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
    """Subtract counts; a rounding error of fractional weights becomes 0."""
    rest = whole - part
    if rest.dtype.kind == "f":
        rest[np.abs(rest) < 1e-12 * np.maximum(whole, part)] = 0.0
    return rest


def shortfall(whole: float, part: float) -> float:
    """Subtract a part of a weight; a rounding error becomes 0.

    Parameters
    ----------
    whole, part : float
        The weight and the part of it.

    Returns
    -------
    float
        ``whole - part``, or 0 if it is at most ``1e-9 * whole``.

    Examples
    --------
    >>> from countwise.tallies import shortfall
    >>> shortfall(3.0, 1.0), shortfall(0.3, 0.1 + 0.2)
    (2.0, 0.0)
    """
    rest = whole - part
    return rest if rest > 1e-9 * whole else 0.0


def refuse_negative(cells: NDArray[Any], what: str) -> None:
    """Raise an error if rows were subtracted that had not been counted."""
    if cells.size and cells.min() < -1e-9 * min(1.0, float(np.abs(cells).max())):
        raise TableError(
            f"The rows to forget include rows that the model was not trained on: {what} would become negative.",
            hint="forget only rows that were passed to fit or partial_fit.",
        )
