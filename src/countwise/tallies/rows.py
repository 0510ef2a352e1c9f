"""Rows: the rows themselves, for models that need them, such as nearest neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.errors import TableError
from countwise.jsonfile import numbers
from countwise.tallies._base import ClassTally, Progress

__all__ = ["Rows"]

_MOST = 1e300  # differences of larger numbers overflow


@dataclass(frozen=True, slots=True, eq=False)
class Rows(ClassTally):
    """Encoded rows of several columns with their classes and weights, in the order of the training data.

    Parameters
    ----------
    given : Nominal
        Class.
    of : Vector
        Attributes.
    cells : ndarray of float64 of shape (rows, attributes) or None, default=None
        Numbers, and the codes of nominal values. NaN is a missing value. None means blank.
    codes : ndarray of int of shape (rows,) or None, default=None
        Class of each row.
    weights : ndarray of float64 of shape (rows,) or None, default=None
        Weight of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.tallies import Rows
    >>> from countwise.data.table import Table
    >>> from countwise.data.vectors import Vector
    >>> rows = Table({"c": np.array([0, 1], np.uint8), "x": np.array([[1.0, 2.0], [3.0, np.nan]])}, 2)
    >>> tally = Rows(Nominal("c", ("a", "b")), Vector("x", (Numeric("u"), Numeric("v")))).fill(rows)
    >>> tally.of_class(1)[0].tolist(), (tally - tally).filled[0].shape
    ([[3.0, nan]], (0, 2))
    """

    cells: Floats | None = field(default=None, repr=False)
    codes: NDArray[Any] | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    _parts: ClassVar[tuple[str, ...]] = ("cells", "codes", "weights")

    @property
    def filled(self) -> tuple[Floats, NDArray[Any], Floats]:
        """`cells`, `codes` and `weights`; empty if the tally is blank."""
        if self.cells is None or self.codes is None or self.weights is None:
            return np.empty((0, len(self.of.attributes))), np.empty(0, dtype=np.int64), np.empty(0)
        return self.cells, self.codes, self.weights

    @property
    def of_classes(self) -> NDArray[Any]:
        """Weight of the rows in each class."""
        _, codes, weights = self.filled
        return np.bincount(codes, weights=weights, minlength=len(self.given.values))

    def of_class(self, c: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return the rows of one class.

        Parameters
        ----------
        c : int
            Code of the class.

        Returns
        -------
        cells : ndarray of shape (n, attributes)
            Encoded values.
        weights : ndarray of shape (n,)
            Weights.
        places : ndarray of int of shape (n,)
            Positions of the rows among all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Rows
        >>> rows = Rows(Nominal("c", ("a", "b")), Vector("x", (Numeric("u"),)),
        ...             np.array([[1.0], [3.0]]), np.array([0, 1]), np.ones(2))
        >>> rows.of_class(1)[0].tolist()
        [[3.0]]
        """
        cells, codes, weights = self.filled
        mine = np.flatnonzero(codes == c)
        return cells[mine], weights[mine], mine

    def _has_values(self, name: str) -> bool:
        """Return whether a value of a column has been counted."""
        place = [a.name for a in self.of.attributes].index(name)
        return not bool(np.isnan(self.filled[0][:, place]).all())

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        """Copy the rows, because the user may change the table."""
        cells = np.array(table[self.of.name], dtype=np.float64, order="C")
        size = np.abs(cells).max(axis=0, initial=0.0, where=~np.isnan(cells))
        if (size > _MOST).any():
            name = self.of.attributes[int(np.argmax(size > _MOST))].name
            raise TableError(f"{name!r} has values greater than {_MOST:g}.", hint="rescale the column.")
        weights = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights, dtype=np.float64)
        return replace(self, cells=cells, codes=table[self.given.name], weights=weights)

    def __add__(self, other: Self) -> Self:
        given, of = self._joined(other)
        sides = zip(self._over(given, of), other._over(given, of), strict=True)
        return self._with(given, of, map(np.concatenate, sides))

    def __sub__(self, other: Self) -> Self:
        given, of = self._joined(other)
        cells, codes, weights = self._over(given, of)
        left = weights.copy()
        equal_rows: dict[bytes, list[int]] = {}
        for i, key in enumerate(_keys(cells, codes)):
            equal_rows.setdefault(key, []).append(i)
        removed, removed_codes, removed_weights = other._over(given, of)
        for key, weight in zip(_keys(removed, removed_codes), removed_weights.tolist(), strict=True):
            _subtract_rows(equal_rows.get(key, []), weight, left)
        kept = left > 0
        return self._with(given, of, (cells[kept], codes[kept], left[kept]))

    def _over(self, given: Nominal, of: Vector) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the rows with the codes of other domains."""
        cells, codes, weights = self.filled
        if of != self.of:
            cells = cells.copy()
            for j, (old, new) in enumerate(zip(self.of.attributes, of.attributes, strict=True)):
                if isinstance(old, Nominal) and old != new:
                    cells[:, j] = _recoded(cells[:, j], old, new)
        if given != self.given:
            codes = _recoded(codes.astype(np.float64), self.given, given).astype(np.int64)
        return cells, codes, weights

    def counts(self) -> dict[str, Floats]:
        """Return the total weight of each value of the nominal attributes.

        Returns
        -------
        dict of str to ndarray
            Weights of the values, by the name of the attribute.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Rows
        >>> rows = Rows(Nominal("c", ("a",)), Vector("x", (Nominal("wind", ("east", "north")),)),
        ...             np.array([[1.0], [1.0]]), np.zeros(2, int), np.ones(2))
        >>> rows.counts()["wind"].tolist()
        [0.0, 2.0]
        """
        cells, _, weights = self.filled
        found = {}
        for j, a in enumerate(self.of.attributes):
            if isinstance(a, Nominal):
                present = ~np.isnan(cells[:, j])
                codes = cells[present, j].astype(np.int64)
                sums = np.bincount(codes, weights=weights[present], minlength=len(a.values))
                found[a.name] = sums.astype(np.float64)
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """Return the tally that `to_dict` described.

        Parameters
        ----------
        data : mapping
            Result of `to_dict`.
        attributes : mapping of str to Attribute
            The class and the vector by name.

        Returns
        -------
        Rows
            The tally.

        Examples
        --------
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Rows
        >>> c, x = Nominal("c", ("a",)), Vector("x", (Numeric("u"),))
        >>> Rows.from_dict(Rows(c, x).to_dict(), {"c": c, "x": x}).filled[0].shape
        (0, 1)
        """
        given, of = attributes[data["given"]], attributes[data["of"]]
        width = len(of.attributes)
        cells = numbers(data["cells"], "the cells", (None, width), least=-_MOST, most=_MOST, missing=True).astype(
            np.float64
        )
        n = (len(cells),)
        codes = numbers(data["codes"], "the classes", n, least=0, most=len(given.values) - 1, whole=True)
        weights = numbers(data["weights"], "the weights", n, least=0).astype(np.float64)
        if not (weights > 0).all():
            raise ValueError("a row has no weight")
        _check_codes(cells, of)
        return cls(given, of, cells, codes, weights)


def _check_codes(cells: Floats, of: Vector) -> None:
    for j, a in enumerate(of.attributes):
        if isinstance(a, Nominal):
            known = cells[~np.isnan(cells[:, j]), j]
            if ((known != np.floor(known)) | (known < 0) | (known >= len(a.values))).any():
                raise ValueError(f"a row has a value of {a.name!r} that is not in its domain")


def _keys(cells: Floats, codes: NDArray[Any]) -> list[bytes]:
    """Return rows as bytes; two rows are equal if all values are, including missing values."""
    plain = np.where(np.isnan(cells), np.nan, cells) + 0.0  # a single NaN, and no negative zero
    whole = np.ascontiguousarray(np.column_stack([plain, codes.astype(np.float64)]))
    return [row.tobytes() for row in whole]


def _subtract_rows(places: list[int], weight: float, left: Floats) -> None:
    """Subtract a weight from the last of several equal rows."""
    least = 1e-12 * weight  # rounding error
    while weight > least:
        if not places:
            raise TableError(
                "The rows to forget include rows that the model was not trained on.",
                hint="forget only rows that were passed to fit or partial_fit.",
            )
        last = places[-1]
        taken = min(weight, float(left[last]))
        rest = left[last] - taken
        left[last] = rest if rest > 1e-9 * taken else 0.0
        weight -= taken
        if left[last] == 0:
            places.pop()


def _recoded(column: Floats, old: Nominal, new: Any) -> Floats:
    """Convert codes of one domain to those of another; values that it does not have become missing."""
    if not isinstance(new, Nominal):  # the type of the attribute was not known, so it has no values yet
        return column
    place = {value: float(i) for i, value in enumerate(new.values)}
    table = np.array([*(place.get(value, np.nan) for value in old.values), np.nan])
    known = np.where(np.isnan(column), len(old.values), column).astype(np.int64)
    return table[known]
