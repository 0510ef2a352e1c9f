"""Values: the sorted distinct values of a numeric attribute and their weights in each class."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Floats, Indices, Multiset
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import infinity
from countwise.data.table import Table
from countwise.data.weights import MOST_EXACT
from countwise.jsonfile import numbers
from countwise.tallies._base import LARGEST, ClassTally, Progress, refuse_negative, relaid
from countwise.tallies.moments import Moments, Seen, too_large

__all__ = ["Merged", "Values", "all_ones", "row_weight", "squared_weights"]


class Merged(NamedTuple):
    """Values of all classes in ascending order, with one entry for each observed pair of value and class."""

    values: Floats
    codes: NDArray[Any]
    weights: NDArray[Any] | None  # None: all 1


_NONE: Multiset = (np.empty(0), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)  # no slots, because derived attributes are cached
class Values(ClassTally):
    """Multiset of the values of a numeric attribute in each class.

    Parameters
    ----------
    given : Nominal
        Class.
    of : Numeric
        Attribute.
    sets : tuple of (values, weights) or None, default=None
        For each class, the distinct values in ascending order and their weights. None means blank.
    squares : ndarray or None, default=None
        For each class, the sum of the squared weights of the rows. A row with an integral weight w counts as w rows
        with weight 1. None means that all weights are integral.

    Attributes
    ----------
    bounds : tuple of float
        Minimum and maximum over all classes; NaN if there is no value.
    pooled : tuple of ndarray
        Distinct values of all classes and their weights.
    merged : Merged
        Values, codes of the classes and weights, sorted by value, then by class.
    moments : Moments
        Moments of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.tallies import Values
    >>> from countwise.data.table import Table
    >>> rows = Table({"rain": np.array([0, 0, 1], np.uint8), "temp": np.array([3.0, 3.0, 1.0])}, 3)
    >>> tally = Values(Nominal("rain", ("no", "yes")), Numeric("temp")).fill(rows)
    >>> [(v.tolist(), w.tolist()) for v, w in tally.sets]
    [([3.0], [2]), ([1.0], [1])]
    """

    sets: tuple[Multiset, ...] | None = None
    squares: Floats | None = None
    _parts: ClassVar[tuple[str, ...]] = ("sets", "squares")

    @classmethod
    def from_arrays(cls, values: Any, classes: Any = None, weights: Any = None, name: str = "x") -> Self:
        """Return the tally of a column.

        Parameters
        ----------
        values : array-like of float
            Values of the column. NaN is a missing value.
        classes : array-like or None, default=None
            Class of each row. None means a single class.
        weights : array-like or None, default=None
            Weight of each row. None means 1.
        name : str, default="x"
            Name of the attribute.

        Returns
        -------
        Values
            The filled tally.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([3.0, 1.0, 3.0], ["no", "yes", "no"]).n.tolist()
        [2, 1]
        """
        column = np.asarray(values, dtype=np.float64)
        labels = np.zeros(len(column), dtype=np.uint8) if classes is None else np.asarray(classes)
        given = Nominal("class" if name != "class" else "class_").learn(labels, occurring=True)
        rows = {name: column, given.name: given.encode(labels)}
        return cls(given, Numeric(name)).fill(
            Table(rows, len(column), None if weights is None else np.asarray(weights))
        )

    @property
    def filled(self) -> tuple[Multiset, ...]:
        """Values and weights of each class; empty if the tally is blank."""
        return self.sets if self.sets is not None else (_NONE,) * len(self.given.values)

    @property
    def n(self) -> NDArray[Any]:
        """Total weight of the values in each class."""
        return np.array([weights.sum() for _, weights in self.filled])

    @property
    def of_classes(self) -> NDArray[Any]:
        """Total weight of the values in each class."""
        return self.n

    @property
    def squares_filled(self) -> Floats:
        """Sum of the squared weights of the rows in each class."""
        return np.asarray(self.n, dtype=np.float64) if self.squares is None else self.squares

    @property
    def row_weights(self) -> Floats:
        """Weight of a typical row in each class, Σ w² / Σ w; 1 for integral weights."""
        if self.squares is None:
            return np.ones(len(self.given.values))
        return np.array([row_weight(n, q) for n, q in zip(self.n, self.squares, strict=True)])

    @lazy
    def bounds(self) -> tuple[float, float]:
        """Minimum and maximum over all classes; NaN if there is no value."""
        ends = [(values[0], values[-1]) for values, _ in self.filled if len(values)]
        if not ends:
            return float("nan"), float("nan")
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    @lazy
    def pooled(self) -> Multiset:
        """Distinct values of all classes and their weights."""
        if sum(len(values) > 0 for values, _ in self.filled) == 1:
            return next(part for part in self.filled if len(part[0]))
        values, _, weights = self.merged
        return _counted(values) if weights is None else _squeezed(values, weights)

    @lazy
    def merged(self) -> Merged:
        """Values, codes of the classes and weights, sorted by value, then by class."""
        sets = [(values, None if all_ones(weights) else weights) for values, weights in self.filled]
        return Merged(*_kernels.merge_sets([v for v, _ in sets], [w for _, w in sets]))

    def release(self) -> None:
        """Delete the cached attributes `merged`, `moments` and `pooled`; they are computed again on demand.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> tally = Values.from_arrays([1.0, 3.0])
        >>> tally.release()
        >>> tally.moments.mean.tolist()
        [2.0]
        """
        for name in ("merged", "moments", "pooled"):
            vars(self).pop(name, None)

    def counts_in(self, edges: Floats) -> NDArray[Any]:
        """Return the weight of the values in each bin (low, high].

        Parameters
        ----------
        edges : ndarray
            Cut points in ascending order. The first and the last bin are unbounded.

        Returns
        -------
        ndarray of shape (classes, bins)
            Weights of the values. There are ``len(edges) + 1`` bins.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([1.0, 2.0, 3.0]).counts_in(np.array([2.0])).tolist()
        [[2, 1]]
        """
        integral = all(weights.dtype.kind == "i" for _, weights in self.filled)
        counts = np.zeros((len(self.filled), len(edges) + 1), dtype=np.int64 if integral else np.float64)
        for c, (values, weights) in enumerate(self.filled):
            ends = np.concatenate([[0], np.searchsorted(values, edges, side="right"), [len(values)]])
            if all_ones(weights):
                counts[c] = np.diff(ends)
            else:
                counts[c] = np.diff(np.concatenate([[0], np.cumsum(weights)])[ends])
        return counts

    @property
    def observed(self) -> Seen | None:
        """Smallest and largest value, and whether all values are integers; None without values."""
        sets = [values for values, _ in self.filled if len(values)]
        if not sets:
            return None
        whole = all(bool((np.floor(values) == values).all()) for values in sets)
        return Seen(float(min(v[0] for v in sets)), float(max(v[-1] for v in sets)), whole)

    @lazy
    def moments(self) -> Moments:
        """Moments of the values."""
        n, mean, m2 = np.array([_moments(*part) for part in self.filled]).reshape(-1, 3).T
        return Moments(self.given, self.of, n, mean, m2)

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill several tallies from one table; the rows are sorted by class only once.

        Parameters
        ----------
        blanks : sequence of Values
            Blank tallies.
        table : Table
            Encoded table with the columns of the tallies.
        progress : callable or None, default=None
            Ignored.

        Returns
        -------
        list of Values
            Filled tallies in the order of `blanks`.

        Raises
        ------
        TableError
            If a value is infinite or too large to be squared.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal, Numeric
        >>> from countwise.data.table import Table
        >>> from countwise.tallies import Values
        >>> rows = Table({"c": np.zeros(2, np.uint8), "x": np.array([3.0, 1.0])}, 2)
        >>> Values.fill_many([Values(Nominal("c", ("a",)), Numeric("x"))], rows)[0].bounds
        (1.0, 3.0)
        """
        given = {blank.given.name: blank.given for blank in blanks}
        by_class = {name: _rows_by_class(table[name], len(a.values)) for name, a in given.items()}
        return _kernels.over_items(
            list(blanks), lambda blank: blank._fill(table, *by_class[blank.given.name]), table.threads
        )

    def _fill(self, table: Table, order: NDArray[Any] | None, ends: NDArray[Any]) -> Self:
        column, weights = table[self.of.name], table.weights
        if order is not None:
            column = column[order]
            weights = None if weights is None else weights[order]
        column = column.astype(np.float64, copy=False)
        sets, squares = [], []
        for start, stop in itertools.pairwise(ends.tolist()):
            own = None if weights is None else weights[start:stop]
            mine = multiset(column[start:stop], own)
            _refuse_extremes(mine, table[self.of.name], self.of.name)
            sets.append(mine)
            if own is not None and own.dtype.kind == "f":
                squares.append(squared_weights(own[~np.isnan(column[start:stop])]))
        return replace(self, sets=tuple(sets), squares=np.array(squares) if squares else None)

    def __add__(self, other: Self) -> Self:
        return self._combine(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combine(other, -1)

    def _combine(self, other: Self, sign: int) -> Self:
        given, of = self._joined(other)
        (mine, q), (others, r) = self._over(given, of), other._over(given, of)
        sets = tuple(_combine(a, b, sign) for a, b in zip(mine, others, strict=True))
        for _, weights in sets:
            refuse_negative(weights, f"the count of a value of {self.of.name!r}")
        squares = None
        if q is not None or r is not None:
            a, b = (np.array([w.sum() for _, w in s]) if x is None else x for s, x in ((mine, q), (others, r)))
            squares = np.where([len(values) > 0 for values, _ in sets], np.maximum(a + sign * b, 0.0), 0.0)
        return self._with(given, of, (sets, squares))

    def _over(self, given: Nominal, of: Any) -> tuple[tuple[Multiset, ...], Floats | None]:
        mine = dict(zip(self.given.values, self.filled, strict=True))
        squares = None if self.squares is None else relaid(self.squares, 0, self.given, given)
        return tuple(mine.get(value, _NONE) for value in given.values), squares

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """Return the tally that `to_dict` described.

        Parameters
        ----------
        data : mapping
            Result of `to_dict`.
        attributes : mapping of str to Attribute
            The class and the attribute by name.

        Returns
        -------
        Values
            The tally.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> tally = Values.from_arrays([3.0, 1.0])
        >>> Values.from_dict(tally.to_dict(), {"class": tally.given, "x": tally.of}).n.tolist()
        [2]
        """
        given, of = attributes[data["given"]], attributes[data["of"]]
        sets, what = [], f"the values of {of.name!r}"
        for part in data["sets"]:
            values = numbers(part[0], what, (None,), least=-LARGEST, most=LARGEST).astype(np.float64)
            weights = numbers(part[1], f"the weights of {what}", (len(values),), least=0)
            if not (weights > 0).all() or (np.diff(values) <= 0).any():
                raise ValueError(f"{what} are not in ascending order, or one has no weight")
            sets.append((values, weights) if len(values) else _NONE)
        if len(sets) != len(given.values):
            raise ValueError(f"{what} do not match the classes")
        squares = data.get("squares")
        if squares is not None:
            squares = numbers(squares, f"the squared weights of {what}", (len(sets),), least=0).astype(np.float64)
        elif any(weights.dtype.kind == "f" for _, weights in sets):  # a file of version 0.1.0
            squares = np.array([squared_weights(np.asarray(weights, dtype=np.float64)) for _, weights in sets])
        return cls(given, of, tuple(sets), squares)


def _rows_by_class(codes: NDArray[Any], n_classes: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Return the order of the rows by class (None: unchanged), and the boundaries of the classes in it."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes)[:n_classes])])
    return (None if n_classes == 1 else np.argsort(codes, kind="stable")), ends


def _refuse_extremes(mine: Multiset, column: NDArray[Any], name: str) -> None:
    """Raise an error if a value is infinite or too large to be squared."""
    ends = np.abs(mine[0][[0, -1]]).max() if len(mine[0]) else 0.0
    if np.isinf(ends):
        raise infinity(column, name)
    if ends > LARGEST:
        raise too_large(name)


def squared_weights(weights: Floats) -> float:
    """Return the sum of the squared weights of rows; an integral weight w counts as w rows with weight 1.

    Floats from 2**53 are integers only because they have no digits for a fraction.
    """
    copies = (weights == np.floor(weights)) & (weights < MOST_EXACT)
    return float(np.where(copies, weights, weights * weights).sum())


def row_weight(n: float, squares: float) -> float:
    """Return the weight of a typical row, from the sums of the weights and of their squares."""
    return float(squares) / float(n) if n > 0 and squares > 0 else 1.0


def multiset(values: Floats, weights: NDArray[Any] | None) -> Multiset:
    """Return the distinct values in ascending order and their weights, without NaN and weights of 0."""
    if weights is None:
        ordered = np.sort(values)  # NaN comes last
        return _counted(ordered[: len(ordered) - int(np.count_nonzero(np.isnan(ordered)))])
    keep = ~np.isnan(values) & (weights != 0)
    values, weights = values[keep], weights[keep]
    order = np.argsort(values, kind="stable")
    return _squeezed(values[order], weights[order])


def ones(n: int) -> Indices:
    """Return n weights of 1 that share the memory of one."""
    return np.broadcast_to(np.int64(1), n)


def all_ones(weights: NDArray[Any]) -> bool:
    """Return whether all weights are 1.

    Parameters
    ----------
    weights : ndarray
        Weights.

    Returns
    -------
    bool
        Whether each weight is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.tallies import all_ones
    >>> all_ones(np.array([1, 1])), all_ones(np.array([1, 2]))
    (True, False)
    """
    return weights.strides == (0,) or bool((weights == 1).all())


def _counted(ordered: Floats) -> Multiset:
    """Return the distinct values of a sorted array and their counts."""
    starts = _starts(ordered)
    if starts is None:
        return ordered, ones(len(ordered))
    return ordered[starts], np.diff(starts, append=len(ordered))


def _starts(ordered: Floats) -> Indices | None:
    """Return the position of the first occurrence of each value of a sorted array; None if all are distinct."""
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return None if fresh.all() else np.flatnonzero(fresh)


def _moments(values: Floats, weights: NDArray[Any]) -> tuple[float, float, float]:
    """Compute n, mean and M2 in two passes; the second corrects the rounding error of the mean.

    Sums are used instead of dot products, because BLAS would start its own threads.
    """
    n = float(weights.sum())
    if n <= 0:
        return 0.0, 0.0, 0.0
    each = None if all_ones(weights) else weights.astype(np.float64)
    mean = float(values.mean() if each is None else (values * each).sum() / n)
    deviations = values - mean
    shift = float(deviations.mean() if each is None else (deviations * each).sum() / n)
    deviations -= shift
    squares = deviations * deviations
    return n, mean + shift, float((squares if each is None else squares * each).sum())


def _squeezed(ordered: Floats, weights: NDArray[Any]) -> Multiset:
    """Merge equal values of a sorted array and add their weights."""
    if len(ordered) == 0:
        return _NONE
    starts = _starts(ordered)
    return (ordered, weights) if starts is None else (ordered[starts], np.add.reduceat(weights, starts))


def _combine(a: Multiset, b: Multiset, sign: int) -> Multiset:
    if sign > 0 and (len(a[0]) == 0 or len(b[0]) == 0):
        return b if len(a[0]) == 0 else a
    values = np.concatenate([a[0], b[0]])
    if sign > 0 and all_ones(a[1]) and all_ones(b[1]):
        values.sort()
        return _counted(values)
    weights = np.concatenate([a[1], sign * b[1]])
    order = np.argsort(values, kind="stable")
    values, weights = _squeezed(values[order], weights[order])
    scale = max(float(a[1].max(initial=0)), float(b[1].max(initial=0)))
    left = weights != 0 if weights.dtype.kind == "i" else np.abs(weights) > 1e-12 * scale
    return (values, weights) if left.all() else (values[left], weights[left])
