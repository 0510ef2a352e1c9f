"""Scatter: the moments of vectors, mean and scatter matrix, for each pattern of missing cells.

Rows in which the same cells are there share one mean and one scatter matrix a class. That is all that a Gaussian
distribution of whole rows needs to know, missing cells included: EM over these tallies is EM over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal
from countwise.data.columns import refuse_infinity
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.errors import TableError
from countwise.tallies._base import BLOCK, ClassTally, Progress, refuse_negative
from countwise.tallies._cells import PatternMoments, merged, nothing, parted
from countwise.tallies.moments import merge, too_large

__all__ = ["Scatter", "margins_of"]

_MOST_BYTES = 1 << 32  # of moments: beyond it the patterns of missing cells are too many to be kept
Patterns = dict[bytes, PatternMoments]


@dataclass(frozen=True, slots=True, eq=False)
class Scatter(ClassTally):
    """(n, mean, scatter matrix) of a vector in each class, for each pattern of cells that are there.

    Parameters
    ----------
    given, of : Nominal, Vector
        The class, and the attributes.
    higher : bool
        Whether third and fourth moments are kept too (Ledoit and Wolf ask for them).
    cells : dict of bytes to PatternMoments, or None
        By the attributes that are there, a bit each. None: blank.
    worn : bool
        Whether rows were taken back that were far larger than what remains, so that digits are lost.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.tallies import Scatter
    >>> from countwise.data.table import Table
    >>> from countwise.data.vectors import Vector
    >>> rows = Table({"c": np.zeros(3, np.uint8), "x": [np.array([1.0, 3.0, 5.0]), np.array([1.0, 2.0, np.nan])]}, 3)
    >>> tally = Scatter(Nominal("c", ("a",)), Vector("x", (Numeric("u"), Numeric("v")))).fill(rows)
    >>> tally.complete.mean.tolist(), tally.complete.scatter.tolist()
    ([[2.0, 1.5]], [[[2.0, 1.0], [1.0, 0.5]]])
    >>> tally.n_complete.tolist(), tally.n_patterns
    ([2.0], 2)
    """

    higher: bool = False
    cells: Patterns | None = field(default=None, repr=False)
    worn: bool = False
    _settings: ClassVar[tuple[str, ...]] = ("higher", "worn")
    _parts: ClassVar[tuple[str, ...]] = ("cells",)

    # -- what is in it -------------------------------------------------------------

    @property
    def patterns(self) -> list[tuple[Flags, PatternMoments]]:
        """The numbers that are there, as a mask, and their moments; the most complete rows first."""
        owners, found = self.of.owners, []
        for key, cells in (self.cells or {}).items():
            found.append((self._present(key)[owners], cells))
        return sorted(found, key=lambda pair: (-int(pair[0].sum()), (~pair[0]).tolist()))

    @property
    def n_patterns(self) -> int:
        """How many patterns of missing cells there are, that of no missing cell included."""
        return len(self.cells or {})

    @property
    def complete(self) -> PatternMoments:
        """The moments of the rows without a missing cell."""
        found = (self.cells or {}).get(self._full)
        return nothing(len(self.given.values), len(self.of.names), higher=self.higher) if found is None else found

    @property
    def n_complete(self) -> Floats:
        """The weight of the rows without a missing cell, a class."""
        return self.complete.n

    def margins(self) -> tuple[Floats, Floats, Floats]:
        """(n, mean, M2) of each number on its own, (classes, numbers): from all rows in which it is there."""
        return margins_of(self.patterns, len(self.given.values), len(self.of.names))

    def counts(self) -> dict[str, Floats]:
        """How often each value of the nominal attributes is there."""
        n, mean, _ = self.margins()
        often, owners = (n * mean).sum(axis=0), self.of.owners
        return {a.name: often[owners == i] for i, a in enumerate(self.of.attributes) if isinstance(a, Nominal)}

    @property
    def _full(self) -> bytes:
        # an attribute of which no value was met yet is missing everywhere
        return np.packbits(np.array(self.of.widths, dtype=np.int64) > 0).tobytes()

    def _present(self, key: bytes) -> Flags:
        bits = np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=len(self.of.attributes))
        return bits.astype(bool)

    # -- filling --------------------------------------------------------------------

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        columns, codes = table[self.of.name], table[self.given.name]
        weights = None if table.weights is None else np.asarray(table.weights, dtype=np.float64)

        def work(start: int, stop: int) -> Patterns:
            part = None if weights is None else weights[start:stop]
            return self._block([c[start:stop] for c in columns], codes[start:stop], part)

        total: Patterns = {}
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported below
            for piece in _kernels.over_blocks(len(codes), BLOCK, work, progress=progress):
                total = _together(total, piece)
        self._refuse_infinity(total, columns)
        return replace(self, cells=total)

    def _block(self, columns: list[Any], codes: NDArray[Any], weights: Any) -> Patterns:
        k = len(self.given.values)
        incomplete = np.zeros(len(codes), dtype=np.uint8)
        found: Patterns = {}
        n, mean, scatter = _kernels.class_scatter(columns, codes, weights, k, incomplete)
        gaps = np.flatnonzero(incomplete)
        if n.any():
            whole = np.flatnonzero(incomplete == 0)
            found[self._full] = self._with_higher(PatternMoments(n, mean, scatter), columns, codes, weights, whole)
        if len(gaps):
            part = None if weights is None else weights[gaps]
            found.update(self._with_gaps([np.asarray(c[gaps], dtype=np.float64) for c in columns], codes[gaps], part))
        return found

    def _with_higher(
        self, cells: PatternMoments, columns: Any, codes: Any, weights: Any, whole: NDArray[Any]
    ) -> PatternMoments:
        if not self.higher:
            return cells
        square = cells.scattered().shape
        third, fourth = np.zeros(square), np.zeros(square)
        for c in range(len(cells.n)):
            rows = whole[codes[whole] == c]
            away = np.stack([np.asarray(x[rows], dtype=np.float64) for x in columns], axis=1) - cells.mean[c]
            squared = away * away
            weighted = squared if weights is None else squared * weights[rows][:, None]
            third[c], fourth[c] = weighted.T @ away, weighted.T @ squared
        return cells._replace(higher=(third, fourth))

    def _with_gaps(self, columns: list[Any], codes: NDArray[Any], weights: Any) -> Patterns:
        """The rows with missing cells, pattern by pattern."""
        cells = np.stack(columns, axis=1)
        present = np.zeros((len(cells), len(self.of.attributes)), dtype=bool)
        owners, first = np.unique(self.of.owners, return_index=True)
        present[:, owners] = ~np.isnan(cells[:, first])  # one number tells whether its attribute is there
        bits = np.packbits(present, axis=1)
        keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
        distinct, which = np.unique(keys, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(distinct)))
        if len(distinct) * len(self.given.values) * int((~np.isnan(cells)).sum(axis=1).max()) * 8 > _MOST_BYTES:
            raise _too_many(len(distinct))
        found: Patterns = {}
        for key, stop, start in zip(distinct, ends.tolist(), [0, *ends[:-1].tolist()], strict=True):
            rows, there = order[start:stop], self._present(key.tobytes())[self.of.owners]
            if there.any():  # a row without any cell tells only its class
                own = None if weights is None else weights[rows]
                found[key.tobytes()] = self._alike(cells[rows][:, there], codes[rows], own)
        return found

    def _alike(self, cells: Floats, codes: NDArray[Any], weights: Any) -> PatternMoments:
        """Rows in which the same cells are there."""
        k = len(self.given.values)
        if len(cells) == 1:
            n, mean = np.zeros(k), np.zeros((k, cells.shape[1]))
            n[codes[0]] = 1.0 if weights is None else weights[0]
            mean[codes[0]] = cells[0]
            return PatternMoments(n, mean, None, nothing(k, cells.shape[1], higher=self.higher).higher)
        gaps = np.zeros(len(cells), dtype=np.uint8)
        columns = list(cells.T)
        alike = PatternMoments(*_kernels.class_scatter(columns, codes, weights, k, gaps))
        return self._with_higher(alike, columns, codes, weights, np.arange(len(cells)))

    def _refuse_infinity(self, total: Patterns, columns: Sequence[NDArray[Any]]) -> None:
        """Moments that are not finite come from an infinity, or from numbers too large to be squared."""
        owners = self.of.owners
        for key, cells in total.items():
            finite = np.isfinite(cells.mean).all(axis=0) & np.isfinite(cells.scattered()).all(axis=(0, 1))
            if finite.all():
                continue
            there = np.flatnonzero(self._present(key)[owners])
            refuse_infinity({self.of.attributes[owners[j]].name: columns[j] for j in there.tolist()})
            diagonal = np.isfinite(np.einsum("kjj->kj", cells.scattered())).all(axis=0)
            bad = there[int(np.argmin(finite if diagonal.all() else diagonal))]
            raise too_large(self.of.attributes[owners[bad]].name)
        for cells in total.values():
            if cells.higher is not None and not all(np.isfinite(m).all() for m in cells.higher):
                raise TableError(
                    "Some numbers are too large for their fourth powers (beyond about 1e75).",
                    hint="rescale the columns; shrinkage='oas' does with squares.",
                )

    # -- merging and taking back ------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        given, of = self._joined(other)
        (mine,), (others,) = self._over(given, of), other._over(given, of)
        return self._with(given, of, (_together(mine, others),), worn=self.worn or other.worn)

    def __sub__(self, other: Self) -> Self:
        given, of = self._joined(other)
        ((whole,), (gone,)) = self._over(given, of), other._over(given, of)
        total = dict(whole)
        for key, part in gone.items():
            before = total.pop(key, None)
            refuse_negative(-part.n if before is None else before.n - part.n, "the number of rows")
            assert before is not None  # noqa: S101 - refused just above
            rest = parted(before, part)
            if rest.n.any():
                total[key] = rest
        left = self._with(given, of, (total,))
        # where the spread of some number is tiny beside what it was, its digits are gone
        (n, _, after), (_, _, whole_m2) = left.margins(), self._with(given, of, (whole,)).margins()
        numeric = np.repeat([not isinstance(a, Nominal) for a in of.attributes], of.widths)
        return replace(left, worn=self.worn or bool(((n > 1) & (after < 1e-9 * whole_m2) & numeric).any()))

    def _over(self, given: Nominal, of: Vector) -> tuple[Patterns]:
        """The moments over other domains: a value that was not met is 0 in every row."""
        if self.cells is None or (given == self.given and of == self.of):
            return (self.cells or {},)
        places, found = of.places_in(self.of), {}
        for key, cells in self.cells.items():
            present = self._present(key)
            position = np.append(np.cumsum(present[self.of.owners]) - 1, -1)  # of each number among those there
            found[key] = cells.relaid(position[places[present[of.owners]]], self.given, given)
        return (found,)

    # -- plain data -------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        cells = {key.hex(): cells.to_list() for key, cells in (self.cells or {}).items()}
        return {**self._head(), "cells": cells}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        blank = cls(attributes[data["given"]], attributes[data["of"]], bool(data["higher"]))
        cells = {bytes.fromhex(key): blank._read(bytes.fromhex(key), parts) for key, parts in data["cells"].items()}
        return replace(blank, cells=cells, worn=bool(data.get("worn", False)))

    def _read(self, key: bytes, parts: Sequence[Any]) -> PatternMoments:
        if len(key) != len(self._full):
            raise ValueError("a pattern of missing cells does not fit the columns")
        k, d = len(self.given.values), int(self._present(key)[self.of.owners].sum())

        def square(m: Any) -> Floats:
            return np.array(m, dtype=np.float64).reshape(k, d, d)

        n = np.array(parts[0], dtype=np.float64).reshape(k)
        mean = np.array(parts[1], dtype=np.float64).reshape(k, d)
        scatter = None if parts[2] is None else square(parts[2])
        return PatternMoments(
            n, mean, scatter, None if parts[3] is None else (square(parts[3][0]), square(parts[3][1]))
        )


def margins_of(
    patterns: Sequence[tuple[Flags, PatternMoments]], classes: int, numbers: int
) -> tuple[Floats, Floats, Floats]:
    """(n, mean, M2) of each number on its own, (classes, numbers), from patterns of what is there."""
    shape = (classes, numbers)
    total = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for there, cells in patterns:
        part = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
        part[0][:, there] = cells.n[:, None]
        part[1][:, there] = cells.mean
        if cells.scatter is not None:
            part[2][:, there] = np.einsum("kjj->kj", cells.scatter)
        total = merge(total, part)
    return total


def _together(a: Patterns, b: Patterns) -> Patterns:
    """The moments of two sets of rows, pattern by pattern."""
    total = dict(a)
    for key, cells in b.items():
        total[key] = merged(total[key], cells) if key in total else cells
    if sum(cells.nbytes for cells in total.values()) > _MOST_BYTES:
        raise _too_many(len(total))
    return total


def _too_many(patterns: int) -> TableError:
    return TableError(
        f"The missing cells lie in {patterns} different patterns, too many to be kept with their moments.",
        hint="leave out the columns with most gaps.",
    )
