"""Values: the numbers themselves, sorted, with how often each occurs, in each class."""

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
from countwise.tallies._base import ClassTally, Progress, refuse_negative
from countwise.tallies.moments import Moments, too_large

__all__ = ["Merged", "Values", "all_ones"]


class Merged(NamedTuple):
    """The values of all classes in one ascending sequence, an entry for each value and class that meet."""

    values: Floats
    codes: NDArray[Any]
    weights: NDArray[Any] | None  # None: all 1


_NONE: Multiset = (np.empty(0), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)  # no slots: what is derived from the values is kept once it is known
class Values(ClassTally):
    """The multiset of a numeric attribute's values in each class.

    Parameters
    ----------
    given, of : Nominal, Numeric
        The class, and the attribute.
    sets : tuple of (values, weights) or None
        For each class the distinct values in ascending order and their weights. None: blank.

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
    _parts: ClassVar[tuple[str, ...]] = ("sets",)

    @classmethod
    def from_arrays(cls, values: Any, classes: Any = None, weights: Any = None, name: str = "x") -> Self:
        """The tally of a column and the class of each of its rows.

        Parameters
        ----------
        values : array-like of numbers
            NaN is missing.
        classes : array-like, optional
            The class of each row; by default all are of one.
        weights : array-like, optional
            A weight for each row.
        name : str, default="x"
            The attribute.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([3.0, 1.0, 3.0], ["no", "yes", "no"]).n.tolist()
        [2, 1]
        """
        column = np.asarray(values, dtype=np.float64)
        labels = np.zeros(len(column), dtype=np.uint8) if classes is None else np.asarray(classes)
        given = Nominal("class" if name != "class" else "class_").learn(labels)
        rows = {name: column, given.name: given.encode(labels)}
        return cls(given, Numeric(name)).fill(
            Table(rows, len(column), None if weights is None else np.asarray(weights))
        )

    @property
    def filled(self) -> tuple[Multiset, ...]:
        """The multisets; empty while blank."""
        return self.sets if self.sets is not None else (_NONE,) * len(self.given.values)

    @property
    def n(self) -> NDArray[Any]:
        """The weight of the values in each class."""
        return np.array([weights.sum() for _, weights in self.filled])

    @lazy
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value; NaN if there is none."""
        ends = [(values[0], values[-1]) for values, _ in self.filled if len(values)]
        if not ends:
            return float("nan"), float("nan")
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    @lazy
    def pooled(self) -> Multiset:
        """All classes together."""
        if sum(len(values) > 0 for values, _ in self.filled) == 1:
            return next(part for part in self.filled if len(part[0]))
        values, _, weights = self.merged
        return _counted(values) if weights is None else _squeezed(values, weights)

    @lazy
    def merged(self) -> Merged:
        """All classes in one sequence: entries in order of value, then class."""
        sets = [(values, None if all_ones(weights) else weights) for values, weights in self.filled]
        return Merged(*_kernels.merge_sets([v for v, _ in sets], [w for _, w in sets]))

    def release(self) -> None:
        """Forget what was derived from the values; it comes back when it is asked for."""
        for name in ("merged", "moments", "pooled"):
            vars(self).pop(name, None)

    def counts_in(self, edges: Floats) -> NDArray[Any]:
        """How many values of each class lie in each range (lo, hi], shape (classes, ranges)."""
        whole = all(weights.dtype.kind == "i" for _, weights in self.filled)
        counts = np.zeros((len(self.filled), len(edges) + 1), dtype=np.int64 if whole else np.float64)
        for c, (values, weights) in enumerate(self.filled):
            ends = np.concatenate([[0], np.searchsorted(values, edges, side="right"), [len(values)]])
            if all_ones(weights):
                counts[c] = np.diff(ends)
            else:
                counts[c] = np.diff(np.concatenate([[0], np.cumsum(weights)])[ends])
        return counts

    @lazy
    def moments(self) -> Moments:
        """The moments of the same values."""
        n, mean, m2 = np.array([_moments(*part) for part in self.filled]).reshape(-1, 3).T
        return Moments(self.given, self.of, n, mean, m2)

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Columns are independent of each other; which rows are of which class is found once for all of them."""
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
        sets = []
        for start, stop in itertools.pairwise(ends.tolist()):
            mine = multiset(column[start:stop], None if weights is None else weights[start:stop])
            _refuse_extremes(mine, table[self.of.name], self.of.name)
            sets.append(mine)
        return replace(self, sets=tuple(sets))

    def __add__(self, other: Self) -> Self:
        return self._combine(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combine(other, -1)

    def _combine(self, other: Self, sign: int) -> Self:
        given, of = self._joined(other)
        (mine,), (others,) = self._over(given, of), other._over(given, of)
        sets = tuple(_combine(a, b, sign) for a, b in zip(mine, others, strict=True))
        for _, weights in sets:
            refuse_negative(weights, f"the number of a value of {self.of.name!r}")
        return self._with(given, of, (sets,))

    def _over(self, given: Nominal, of: Any) -> tuple[tuple[Multiset, ...]]:
        mine = dict(zip(self.given.values, self.filled, strict=True))
        return (tuple(mine.get(value, _NONE) for value in given.values),)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        given, of = attributes[data["given"]], attributes[data["of"]]
        sets = []
        for values, weights in data["sets"]:
            pair = np.array(values, dtype=np.float64), np.array(weights)
            if pair[0].shape != pair[1].shape or (np.diff(pair[0]) <= 0).any():
                raise ValueError(f"the values of {of.name!r} are not in order")
            sets.append(pair if len(values) else _NONE)
        if len(sets) != len(given.values):
            raise ValueError(f"the values of {of.name!r} do not fit the classes")
        return cls(given, of, tuple(sets))


def _rows_by_class(codes: NDArray[Any], n_classes: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """The rows in order of their class (None: as they are), and where each class begins and ends."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes)[:n_classes])])
    return (None if n_classes == 1 else np.argsort(codes, kind="stable")), ends


def _refuse_extremes(mine: Multiset, column: NDArray[Any], name: str) -> None:
    """Infinity is an error, and so is what would be infinite when squared."""
    ends = np.abs(mine[0][[0, -1]]).max() if len(mine[0]) else 0.0
    if np.isinf(ends):
        raise infinity(column, name)
    if ends > 1e150:
        raise too_large(name)


def multiset(values: Floats, weights: NDArray[Any] | None) -> Multiset:
    """Distinct values in ascending order with their weights; NaN and weight 0 are left out."""
    if weights is None:
        ordered = np.sort(values)  # NaN comes last
        return _counted(ordered[: len(ordered) - int(np.count_nonzero(np.isnan(ordered)))])
    keep = ~np.isnan(values) & (weights != 0)
    values, weights = values[keep], weights[keep]
    order = np.argsort(values, kind="stable")
    return _squeezed(values[order], weights[order])


def ones(n: int) -> Indices:
    """N weights of 1 that take no memory."""
    return np.broadcast_to(np.int64(1), n)


def all_ones(weights: NDArray[Any]) -> bool:
    """Whether every weight is 1."""
    return weights.strides == (0,) or bool((weights == 1).all())


def _counted(ordered: Floats) -> Multiset:
    """Distinct values of an ordered array, and how often each occurs."""
    starts = _starts(ordered)
    if starts is None:
        return ordered, ones(len(ordered))
    return ordered[starts], np.diff(starts, append=len(ordered))


def _starts(ordered: Floats) -> Indices | None:
    """Where each value of an ordered array begins; None if all differ."""
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return None if fresh.all() else np.flatnonzero(fresh)


def _moments(values: Floats, weights: NDArray[Any]) -> tuple[float, float, float]:
    """(n, mean, M2) in two passes; the second takes out what rounding left in the mean.

    Sums, not dot products: BLAS would start threads of its own beside ours.
    """
    n = float(weights.sum())
    if n <= 0:
        return 0.0, 0.0, 0.0
    each = None if all_ones(weights) else weights.astype(np.float64)
    mean = float(values.mean() if each is None else (values * each).sum() / n)
    away = values - mean
    shift = float(away.mean() if each is None else (away * each).sum() / n)
    away -= shift
    return n, mean + shift, float((away * away if each is None else away * away * each).sum())


def _squeezed(ordered: Floats, weights: NDArray[Any]) -> Multiset:
    """Equal neighbors joined; values that no weight is left of dropped."""
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
