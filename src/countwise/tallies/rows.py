"""Rows: the rows themselves, for what cannot be learned from less."""

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
from countwise.tallies._base import ClassTally, Progress

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows(ClassTally):
    """The encoded rows of several columns, with their classes and weights, in the order in which they came.

    Parameters
    ----------
    given, of : Nominal, Vector
        The class, and the attributes.
    cells : ndarray of float64, shape (rows, attributes), or None
        Numbers, and codes as numbers; NaN is missing. None: blank.
    codes : ndarray of integers, shape (rows,)
        The class of each row.
    weights : ndarray of float64, shape (rows,)
        The weight of each row.

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
        """Cells, classes and weights; none while blank."""
        if self.cells is None or self.codes is None or self.weights is None:
            return np.empty((0, len(self.of.attributes))), np.empty(0, dtype=np.int64), np.empty(0)
        return self.cells, self.codes, self.weights

    def of_class(self, c: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """The cells and weights of one class, and where its rows stand among all."""
        cells, codes, weights = self.filled
        mine = np.flatnonzero(codes == c)
        return cells[mine], weights[mine], mine

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        """With a copy of the rows: the user's may change."""
        cells = np.array(table[self.of.name], dtype=np.float64, order="C")
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
        waiting: dict[bytes, list[int]] = {}
        for i, key in enumerate(_keys(cells, codes)):
            waiting.setdefault(key, []).append(i)
        gone, gone_codes, gone_weights = other._over(given, of)
        for key, weight in zip(_keys(gone, gone_codes), gone_weights.tolist(), strict=True):
            _subtract_rows(waiting.get(key, []), weight, left)
        kept = left > 0
        return self._with(given, of, (cells[kept], codes[kept], left[kept]))

    def _over(self, given: Nominal, of: Vector) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The rows with codes of other domains."""
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
        """How often each value of the nominal attributes is there."""
        cells, _, weights = self.filled
        found = {}
        for j, a in enumerate(self.of.attributes):
            if isinstance(a, Nominal):
                there = ~np.isnan(cells[:, j])
                codes = cells[there, j].astype(np.int64)
                found[a.name] = np.bincount(codes, weights=weights[there], minlength=len(a.values)).astype(np.float64)
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        given, of = attributes[data["given"]], attributes[data["of"]]
        width = len(of.attributes)
        cells = np.array(data["cells"], dtype=np.float64).reshape(-1, width)
        codes = np.array(data["codes"], dtype=np.int64)
        weights = np.array(data["weights"], dtype=np.float64)
        if codes.shape != (len(cells),) or weights.shape != (len(cells),):
            raise ValueError("the rows do not fit together")
        if len(codes) and not (codes.min() >= 0 and codes.max() < len(given.values)):
            raise ValueError("a row has a class that there is not")
        _check_codes(cells, of)
        return cls(given, of, cells, codes, weights)


def _check_codes(cells: Floats, of: Vector) -> None:
    for j, a in enumerate(of.attributes):
        if isinstance(a, Nominal):
            known = cells[~np.isnan(cells[:, j]), j]
            if ((known != np.floor(known)) | (known < 0) | (known >= len(a.values))).any():
                raise ValueError(f"a row has a value of {a.name!r} that there is not")


def _keys(cells: Floats, codes: NDArray[Any]) -> list[bytes]:
    """Rows as bytes: two are the same if every cell is, missing ones included."""
    plain = np.where(np.isnan(cells), np.nan, cells) + 0.0  # one NaN, one zero
    whole = np.ascontiguousarray(np.column_stack([plain, codes.astype(np.float64)]))
    return [row.tobytes() for row in whole]


def _subtract_rows(places: list[int], weight: float, left: Floats) -> None:
    """Take a weight from the last rows that are the same."""
    least = 1e-12 * weight  # what rounding leaves of it
    while weight > least:
        if not places:
            raise TableError(
                "Rows were taken back that had not been counted.",
                hint="forget only rows that were given to fit or partial_fit.",
            )
        last = places[-1]
        taken = min(weight, float(left[last]))
        rest = left[last] - taken
        left[last] = rest if rest > 1e-9 * taken else 0.0
        weight -= taken
        if left[last] == 0:
            places.pop()


def _recoded(column: Floats, old: Nominal, new: Any) -> Floats:
    """Codes of one domain as codes of another; what it does not have is missing."""
    if not isinstance(new, Nominal):  # nothing was met while the attribute was not known
        return column
    place = {value: float(i) for i, value in enumerate(new.values)}
    table = np.array([*(place.get(value, np.nan) for value in old.values), np.nan])
    known = np.where(np.isnan(column), len(old.values), column).astype(np.int64)
    return table[known]
