"""Scatter: mean vectors and scatter matrices for each pattern of missing values.

Rows with the same pattern of missing values share one mean vector and one scatter matrix in each class. These are
sufficient statistics of a multivariate Gaussian with missing values: EM on these tallies equals EM on the rows.
"""

from __future__ import annotations

import sys
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
from countwise.jsonfile import numbers
from countwise.tallies._base import BLOCK, LARGEST, ClassTally, Progress, refuse_negative
from countwise.tallies._cells import PatternMoments, merged, nothing, subtracted_moments
from countwise.tallies.moments import is_constant, merge, subtraction_error, too_large

__all__ = ["Scatter", "margins_of"]

_MOST_BYTES = 1 << 32  # maximum memory of the moments of all patterns
Patterns = dict[bytes, PatternMoments]


@dataclass(frozen=True, slots=True, eq=False)
class Scatter(ClassTally):
    """Weight, mean vector and scatter matrix in each class, for each pattern of missing values.

    The scatter matrix of a set of rows is Σ w (x − mean)(x − mean)ᵀ.

    Parameters
    ----------
    given : Nominal
        Class.
    of : Vector
        Attributes. A nominal attribute has one 0/1 component for each of its values.
    higher : bool, default=False
        Whether third and fourth moments are kept too. The shrinkage of Ledoit and Wolf (2004) needs them.
    cells : dict of bytes to PatternMoments or None, default=None
        Moments of each pattern. The key has one bit for each attribute, 1 if it is present. None means blank.
    worn : bool, default=False
        Whether digits were lost because values far larger than the remaining ones were subtracted.

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

    # -- contents ------------------------------------------------------------------

    @property
    def patterns(self) -> list[tuple[Flags, PatternMoments]]:
        """Mask of the non-missing components and moments of each pattern, the most complete pattern first."""
        owners, found = self.of.owners, []
        for key, cells in (self.cells or {}).items():
            found.append((self._present(key)[owners], cells))
        return sorted(found, key=lambda pair: (-int(pair[0].sum()), (~pair[0]).tolist()))

    @property
    def n_patterns(self) -> int:
        """Number of patterns of missing values, including that of complete rows."""
        return len(self.cells or {})

    @property
    def complete(self) -> PatternMoments:
        """Moments of the complete rows."""
        found = (self.cells or {}).get(self._full)
        return nothing(len(self.given.values), len(self.of.names), higher=self.higher) if found is None else found

    @property
    def of_classes(self) -> Floats:
        """Weight, in each class, of the rows with at least one value."""
        return sum((cells.n for cells in (self.cells or {}).values()), start=np.zeros(len(self.given.values)))

    @property
    def n_complete(self) -> Floats:
        """Weight of the complete rows in each class."""
        return self.complete.n

    def margins(self) -> tuple[Floats, Floats, Floats]:
        """Return the moments of each component, from all rows in which it is present.

        Returns
        -------
        n, mean, m2 : ndarray of shape (classes, components)
            Total weight, mean and sum of squared deviations.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.table import Table
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Scatter
        >>> rows = Table({"c": np.zeros(2, np.uint8), "x": [np.array([1.0, 3.0]), np.array([1.0, np.nan])]}, 2)
        >>> tally = Scatter(Nominal("c", ("a",)), Vector("x", (Numeric("u"), Numeric("v")))).fill(rows)
        >>> tally.margins()[1].tolist()
        [[2.0, 1.0]]
        """
        return margins_of(self.patterns, len(self.given.values), len(self.of.names))

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
        >>> from countwise.data.table import Table
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Scatter
        >>> rows = Table({"c": np.zeros(2, np.uint8), "x": [np.array([1.0, 0.0]), np.array([0.0, 1.0])]}, 2)
        >>> wind = Nominal("wind", ("east", "north"))
        >>> Scatter(Nominal("c", ("a",)), Vector("x", (wind,))).fill(rows).counts()["wind"].tolist()
        [1.0, 1.0]
        """
        n, mean, _ = self.margins()
        weights, owners = (n * mean).sum(axis=0), self.of.owners
        return {a.name: weights[owners == i] for i, a in enumerate(self.of.attributes) if isinstance(a, Nominal)}

    def _has_values(self, name: str) -> bool:
        """Return whether a value of a column has been counted."""
        place = [a.name for a in self.of.attributes].index(name)
        return any(self._present(key)[place] for key in self.cells or {})

    @property
    def _full(self) -> bytes:
        # an attribute with an empty domain is missing in each row
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
        with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are reported below
            for block in _kernels.over_blocks(len(codes), BLOCK, work, progress=progress):
                total = _merged_patterns(total, block)
        self._refuse_infinity(total, columns)
        return replace(self, cells=total)

    def _block(self, columns: list[Any], codes: NDArray[Any], weights: Any) -> Patterns:
        k = len(self.given.values)
        incomplete = np.zeros(len(codes), dtype=np.uint8)
        found: Patterns = {}
        n, mean, scatter = _kernels.class_scatter(columns, codes, weights, k, incomplete)
        rows = np.flatnonzero(incomplete)
        if n.any():
            complete = np.flatnonzero(incomplete == 0)
            found[self._full] = self._with_higher(PatternMoments(n, mean, scatter), columns, codes, weights, complete)
        if len(rows):
            part = None if weights is None else weights[rows]
            numbers = [np.asarray(c[rows], dtype=np.float64) for c in columns]
            found.update(self._incomplete(numbers, codes[rows], part))
        return found

    def _with_higher(
        self, cells: PatternMoments, columns: Any, codes: Any, weights: Any, complete: NDArray[Any]
    ) -> PatternMoments:
        if not self.higher:
            return cells
        square = cells.scattered().shape
        third, fourth = np.zeros(square), np.zeros(square)
        for c in range(len(cells.n) if len(columns) else 0):
            rows = complete[codes[complete] == c]
            deviations = np.stack([np.asarray(x[rows], dtype=np.float64) for x in columns], axis=1) - cells.mean[c]
            squared = deviations * deviations
            weighted = squared if weights is None else squared * weights[rows][:, None]
            third[c], fourth[c] = weighted.T @ deviations, weighted.T @ squared
        return cells._replace(higher=(third, fourth))

    def _incomplete(self, columns: list[Any], codes: NDArray[Any], weights: Any) -> Patterns:
        """Compute the moments of the rows with missing values, pattern by pattern."""
        cells = np.stack(columns, axis=1)
        present = np.zeros((len(cells), len(self.of.attributes)), dtype=bool)
        owners, first = np.unique(self.of.owners, return_index=True)
        present[:, owners] = ~np.isnan(cells[:, first])  # the first component shows whether an attribute is present
        bits = np.packbits(present, axis=1)
        keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
        distinct, which = np.unique(keys, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(distinct)))
        if len(distinct) * len(self.given.values) * int((~np.isnan(cells)).sum(axis=1).max()) * 8 > _MOST_BYTES:
            raise _too_many(len(distinct))
        found: Patterns = {}
        for key, stop, start in zip(distinct, ends.tolist(), [0, *ends[:-1].tolist()], strict=True):
            rows, mask = order[start:stop], self._present(key.tobytes())[self.of.owners]
            if mask.any():  # a row without any value has no moments
                own = None if weights is None else weights[rows]
                found[key.tobytes()] = self._one_pattern(cells[rows][:, mask], codes[rows], own)
        return found

    def _one_pattern(self, cells: Floats, codes: NDArray[Any], weights: Any) -> PatternMoments:
        """Compute the moments of rows with the same pattern of missing values."""
        k = len(self.given.values)
        if len(cells) == 1:
            n, mean = np.zeros(k), np.zeros((k, cells.shape[1]))
            n[codes[0]] = 1.0 if weights is None else weights[0]
            mean[codes[0]] = cells[0]
            return PatternMoments(n, mean, None, nothing(k, cells.shape[1], higher=self.higher).higher)
        incomplete = np.zeros(len(cells), dtype=np.uint8)
        columns = list(cells.T)
        moments = PatternMoments(*_kernels.class_scatter(columns, codes, weights, k, incomplete))
        return self._with_higher(moments, columns, codes, weights, np.arange(len(cells)))

    def _refuse_infinity(self, total: Patterns, columns: Sequence[NDArray[Any]]) -> None:
        """Raise an error if moments are not finite: a value is infinite or too large to be squared."""
        owners = self.of.owners
        for key, cells in total.items():
            finite = (np.abs(cells.mean) <= LARGEST).all(axis=0) & np.isfinite(cells.scattered()).all(axis=(0, 1))
            if finite.all():
                continue
            present = np.flatnonzero(self._present(key)[owners])
            refuse_infinity({self.of.attributes[owners[j]].name: columns[j] for j in present.tolist()})
            diagonal = np.isfinite(np.einsum("kjj->kj", cells.scattered())).all(axis=0)
            bad = present[int(np.argmin(finite if diagonal.all() else diagonal))]
            raise too_large(self.of.attributes[owners[bad]].name)
        for cells in total.values():
            if cells.higher is not None and not all(np.isfinite(m).all() for m in cells.higher):
                raise TableError(
                    "Some values are so large (greater than about 1e75) that their fourth powers overflow.",
                    hint="rescale the columns, or use shrinkage='oas', which does not need fourth powers.",
                )

    # -- addition and subtraction -----------------------------------------------------

    def __add__(self, other: Self) -> Self:
        given, of = self._joined(other)
        (mine,), (others,) = self._over(given, of), other._over(given, of)
        return self._with(given, of, (_merged_patterns(mine, others),), worn=self.worn or other.worn)

    def __sub__(self, other: Self) -> Self:
        given, of = self._joined(other)
        ((whole,), (removed,)) = self._over(given, of), other._over(given, of)
        total = dict(whole)
        for key, part in removed.items():
            before = total.pop(key, None)
            refuse_negative(-part.n if before is None else before.n - part.n, "the number of rows")
            assert before is not None  # noqa: S101 - otherwise the line above raises an error
            rest = subtracted_moments(before, part)
            if rest.n.any():
                total[key] = rest
        left = self._with(given, of, (total,))
        # if the sum of squares of a component is tiny compared to its previous value, its digits are lost
        whole_moments, (n, mean, after) = self._with(given, of, (whole,)).margins(), left.margins()
        numeric = np.repeat([not isinstance(a, Nominal) for a in of.attributes], of.widths)
        lost = bool(((n > 1) & (after < 1e-9 * whole_moments[2]) & numeric).any())
        lost = lost or not all(_is_scatter(cells.scatter) for cells in total.values())
        blur = subtraction_error(whole_moments, self._with(given, of, (dict(removed),)).margins(), n)
        for j in np.flatnonzero(numeric).tolist():
            if is_constant(n[:, j], mean[:, j], after[:, j], blur[:, j]):
                value = float(mean[np.argmin(np.where(n[:, j] > 0, blur[:, j], np.inf)), j])
                for key, cells in total.items():
                    present = self._present(key)[of.owners]
                    if present[j]:
                        total[key] = cells.with_constant(int(np.count_nonzero(present[:j])), value)
        return replace(self._with(given, of, (total,)), worn=self.worn or lost)

    def _over(self, given: Nominal, of: Vector) -> tuple[Patterns]:
        """Return the moments for other domains: the component of a new value is 0 in each row."""
        if self.cells is None or (given == self.given and of == self.of):
            return (self.cells or {},)
        places, found = of.places_in(self.of), {}
        for key, cells in self.cells.items():
            present = self._present(key)
            position = np.append(np.cumsum(present[self.of.owners]) - 1, -1)  # among the present components
            found[key] = cells.relaid(position[places[present[of.owners]]], self.given, given)
        return (found,)

    # -- plain data -------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data for the model file.

        Returns
        -------
        dict
            The type of the tally, the names of its attributes, and nested lists of its moments.

        Examples
        --------
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Scatter
        >>> Scatter(Nominal("c", ("a",)), Vector("x", (Numeric("u"),))).to_dict()
        {'tally': 'scatter', 'given': 'c', 'of': 'x', 'higher': False, 'worn': False, 'cells': {}}
        """
        cells = {key.hex(): cells.to_list() for key, cells in (self.cells or {}).items()}
        return {**self._head(), "cells": cells}

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
        Scatter
            The tally.

        Examples
        --------
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.vectors import Vector
        >>> from countwise.tallies import Scatter
        >>> c, x = Nominal("c", ("a",)), Vector("x", (Numeric("u"),))
        >>> Scatter.from_dict(Scatter(c, x).to_dict(), {"c": c, "x": x}).n_patterns
        0
        """
        given, of, worn = attributes[data["given"]], attributes[data["of"]], bool(data.get("worn", False))
        blank = cls(given, of, bool(data["higher"]), worn=worn)
        cells = {bytes.fromhex(key): blank._read(bytes.fromhex(key), parts) for key, parts in data["cells"].items()}
        return replace(blank, cells=cells)

    def _read(self, key: bytes, parts: Sequence[Any]) -> PatternMoments:
        """Return the moments of a pattern from a file, after checking them."""
        if len(key) != len(self._full) or np.packbits(self._present(key)).tobytes() != key:
            raise ValueError("a pattern of missing values does not match the columns")
        present = self._present(key)[self.of.owners]
        k, d = len(self.given.values), int(present.sum())
        if d == 0 or len(parts) != 4 or (parts[3] is None) == self.higher:
            raise ValueError("a pattern of missing values has no moments, or too many")

        def square(m: Any, least: float = -sys.float_info.max) -> Floats:
            return numbers(m, "the scatter matrices", (k, d, d), least=least).astype(np.float64)

        n = numbers(parts[0], "the numbers of rows", (k,), least=-1e-9, most=sys.float_info.max).astype(np.float64)
        mean = numbers(parts[1], "the means", (k, d), least=-LARGEST, most=LARGEST).astype(np.float64)
        nominal = np.array([isinstance(a, Nominal) for a in self.of.attributes])[self.of.owners][present]
        if ((mean[:, nominal] < -1e-6) | (mean[:, nominal] > 1 + 1e-6)).any():
            raise ValueError("the fraction of rows with a value is not between 0 and 1")
        scatter = None if parts[2] is None else square(parts[2])
        if not self.worn and not _is_scatter(scatter):
            raise ValueError("a scatter matrix is not symmetric, or has a negative eigenvalue")
        higher = None if parts[3] is None else (square(parts[3][0]), square(parts[3][1], 0.0))
        return PatternMoments(n, mean, scatter, higher)


def _is_scatter(scatter: Floats | None) -> bool:
    """Return whether matrices are symmetric and have no negative eigenvalue, up to rounding."""
    if scatter is None:
        return True
    diagonal = np.einsum("kjj->kj", scatter)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = scatter / scale[:, :, None] / scale[:, None, :]
    if (diagonal < 0).any() or np.abs(scaled - np.swapaxes(scaled, 1, 2)).max() > 1e-6:
        return False
    try:
        np.linalg.cholesky(scaled + 1e-6 * np.eye(scaled.shape[1]))
    except np.linalg.LinAlgError:
        return False
    return True


def margins_of(
    patterns: Sequence[tuple[Flags, PatternMoments]], classes: int, numbers: int
) -> tuple[Floats, Floats, Floats]:
    """Return n, mean and M2 of each component, shape (classes, components), from the moments of all patterns."""
    shape = (classes, numbers)
    total = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for present, cells in patterns:
        part = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
        part[0][:, present] = cells.n[:, None]
        part[1][:, present] = cells.mean
        if cells.scatter is not None:
            part[2][:, present] = np.einsum("kjj->kj", cells.scatter)
        total = merge(total, part)
    return total


def _merged_patterns(a: Patterns, b: Patterns) -> Patterns:
    """Merge the moments of two sets of rows, pattern by pattern."""
    total = dict(a)
    for key, cells in b.items():
        total[key] = merged(total[key], cells) if key in total else cells
    if sum(cells.nbytes for cells in total.values()) > _MOST_BYTES:
        raise _too_many(len(total))
    return total


def _too_many(patterns: int) -> TableError:
    return TableError(
        f"The missing values form {patterns} different patterns, too many to keep the moments of each in memory.",
        hint="drop the columns with the most missing values.",
    )
