"""Moments: count, mean and sum of squared deviations of a numeric attribute."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal
from countwise.data.columns import refuse_infinity
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.jsonfile import numbers
from countwise.tallies._base import BLOCK, DUST, LARGEST, ClassTally, Progress, refuse_negative, relaid

__all__ = ["Moments", "Seen", "seen_in"]

TINY, HUGE = 1e-145, 1e153  # squares of smaller numbers lose precision, those of larger ones overflow
LEAST_SIZE = 1e-280  # numbers that are all smaller lose digits when they are scaled
BLUR = 0.5 * float(np.finfo(float).eps)  # a smaller deviation, as a fraction of the mean, is a rounding error
WORN_BLUR = 16 * BLUR  # the same after most of the data was forgotten

Triple = tuple[Floats, Floats, Floats]

_SAMPLED = 1 << 12  # cells of all columns together that `seen_in` reads, so that a fit does not take longer


class Seen(NamedTuple):
    """Numbers between which values of a column were observed, and whether they were integers.

    They come from a sample of the rows, so the column may have values beyond them.
    """

    low: float
    high: float
    whole: bool

    def joined(self, other: Seen | None) -> Seen:
        """Return the range of both."""
        if other is None:
            return self
        return Seen(min(self.low, other.low), max(self.high, other.high), self.whole and other.whole)


def seen_in(columns: Sequence[NDArray[Any]]) -> list[Seen | None]:
    """Return the range of each column in a sample of its rows; None for a column of missing values."""
    step = max(1, -(-len(columns) * len(columns[0]) // _SAMPLED)) if columns else 1
    cells = np.array([column[::step] for column in columns], dtype=np.float64)
    if cells.size == 0:
        return [None] * len(columns)
    ends = (
        np.fmin.reduce(cells, axis=1),
        np.fmax.reduce(cells, axis=1),
        np.fmax.reduce(cells - np.floor(cells), axis=1),
    )
    found = zip(*(end.tolist() for end in ends), strict=True)
    return [None if low != low else Seen(low, high, fraction == 0) for low, high, fraction in found]


@dataclass(frozen=True, slots=True, eq=False)
class Moments(ClassTally):
    """Count, mean and sum of squared deviations of a numeric attribute in each class.

    Two tallies are merged by the formula of Chan, Golub and LeVeque [1]_, which avoids cancellation.

    Parameters
    ----------
    given : Nominal
        Class.
    of : Numeric
        Attribute.
    n : ndarray of float64 of shape (classes,) or None, default=None
        Total weight of the non-missing values. None means blank.
    mean : ndarray of float64 of shape (classes,) or None, default=None
        Mean.
    m2 : ndarray of float64 of shape (classes,) or None, default=None
        Sum of squared deviations from the mean, Σ w (x − mean)².
    worn : bool, default=False
        Whether `m2` has lost digits because values far larger than the remaining ones were subtracted.
    seen : Seen or None, default=None
        Numbers between which values were observed, and whether these were whole. None if this is not known.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque (1979). "Updating formulae and a pairwise algorithm for computing
       sample variances." Technical Report STAN-CS-79-773, Stanford University.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.tallies import Moments
    >>> from countwise.data.table import Table
    >>> rows = Table({"rain": np.array([0, 0, 1], np.uint8), "temp": np.array([1.0, 3.0, np.nan])}, 3)
    >>> tally = Moments(Nominal("rain", ("no", "yes")), Numeric("temp")).fill(rows)
    >>> tally.n.tolist(), tally.mean.tolist(), tally.m2.tolist()
    ([2.0, 0.0], [2.0, 0.0], [2.0, 0.0])
    """

    n: Floats | None = None
    mean: Floats | None = None
    m2: Floats | None = None
    worn: bool = False
    _settings: ClassVar[tuple[str, ...]] = ("worn",)
    seen: Seen | None = None
    _parts: ClassVar[tuple[str, ...]] = ("n", "mean", "m2")

    @property
    def triple(self) -> Triple:
        """`n`, `mean` and `m2`; zeros if the tally is blank."""
        if self.n is None or self.mean is None or self.m2 is None:
            zero = np.zeros(len(self.given.values))
            return zero, zero, zero
        return self.n, self.mean, self.m2

    @property
    def of_classes(self) -> Floats:
        """Weight of the non-missing values in each class."""
        return self.triple[0]

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill the moments of several columns from one table, in one pass over its rows.

        Blocks of rows are merged in a fixed order, so that the result does not depend on the number of threads.

        Parameters
        ----------
        blanks : sequence of Moments
            Blank tallies.
        table : Table
            Encoded table with the columns of the tallies.
        progress : callable or None, default=None
            Function that is called with the number of rows read so far.

        Returns
        -------
        list of Moments
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
        >>> from countwise.tallies import Moments
        >>> rows = Table({"c": np.zeros(2, np.uint8), "x": np.array([1.0, 3.0])}, 2)
        >>> Moments.fill_many([Moments(Nominal("c", ("a",)), Numeric("x"))], rows)[0].mean.tolist()
        [2.0]
        """
        filled: dict[int, Self] = {}
        for given in dict.fromkeys(blank.given for blank in blanks):
            group = [(i, blank) for i, blank in enumerate(blanks) if blank.given == given]
            columns = [table[blank.of.name] for _, blank in group]
            n, mean, m2 = _gather(columns, table[given.name], table.weights, len(given.values), progress)
            _refuse_infinity(mean, m2, [blank.of.name for _, blank in group], columns)
            ranges = seen_in(columns)
            for row, (i, blank) in enumerate(group):
                filled[i] = cls(given, blank.of, n[row], mean[row], m2[row], blank.worn, ranges[row])
        return [filled[i] for i in range(len(blanks))]

    def __add__(self, other: Self) -> Self:
        given, of = self._joined(other)
        seen = other.seen if self.seen is None else self.seen.joined(other.seen)
        return self._with(given, of, merge(self._over(given, of), other._over(given, of)), seen=seen)

    @classmethod
    def add_many(cls, ones: Sequence[Self], others: Sequence[Self]) -> list[Self]:
        """Add pairs of tallies; columns with the same classes are added in one operation.

        Parameters
        ----------
        ones, others : sequence of Moments
            Tallies of the same length.

        Returns
        -------
        list of Moments
            The sums.

        Examples
        --------
        >>> from countwise.tallies import Moments, Values
        >>> one, other = Values.from_arrays([1.0]).moments, Values.from_arrays([3.0]).moments
        >>> Moments.add_many([one], [other])[0].mean.tolist()
        [2.0]
        """
        given = ones[0].given
        if len(ones) < 3 or not all(t.given is given or t.given == given for t in (*ones, *others)):
            return [one + other for one, other in zip(ones, others, strict=True)]
        a, b = (
            tuple(np.array(part) for part in zip(*(t.triple for t in side), strict=True)) for side in (ones, others)
        )
        n, mean, m2 = merge(a, b)  # type: ignore[arg-type]
        seen = [o.seen if t.seen is None else t.seen.joined(o.seen) for t, o in zip(ones, others, strict=True)]
        return [cls(given, t.of, n[j], mean[j], m2[j], t.worn, seen[j]) for j, t in enumerate(ones)]

    def __sub__(self, other: Self) -> Self:
        given, of = self._joined(other)
        before = self._over(given, of)
        removed = other._over(given, of)
        n, mean, m2 = unmerge(before, removed)
        refuse_negative(n, f"the number of values of {self.of.name!r}")
        worn = self.worn or bool(((n > 1) & (m2 < 1e-9 * before[2])).any())
        blur = subtraction_error(before, removed, n)
        if is_constant(n, mean, m2, blur):
            mean, m2 = np.where(n > 0, mean[np.argmin(np.where(n > 0, blur, np.inf))], 0.0), np.zeros_like(m2)
        return self._with(given, of, (n, mean, m2), worn=worn)

    def _over(self, given: Nominal, of: Any) -> Triple:
        n, mean, m2 = (relaid(part, 0, self.given, given) for part in self.triple)
        return n, mean, m2

    def variance(self, divisor: str) -> Floats:
        """Return the variance in each class.

        Parameters
        ----------
        divisor : {'n', 'n-1'}
            Divisor of the sum of squared deviations. "n" gives the maximum likelihood estimate, "n-1" the unbiased
            estimate.

        Returns
        -------
        ndarray of shape (classes,)
            Variances; NaN for a class with too few values.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([1.0, 3.0]).moments.variance("n-1").tolist()
        [2.0]
        """
        n, _, m2 = self.triple
        denominator = n if divisor == "n" else n - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(denominator > 0, m2 / denominator, np.nan)

    @property
    def overall(self) -> tuple[float, float, float]:
        """Count, mean and sum of squared deviations over all classes."""
        n, mean, m2 = self.triple
        total = float(n.sum())
        if total <= 0:
            return 0.0, 0.0, 0.0
        start = float(mean[int(np.argmax(n))])  # differences from a nearby mean lose fewer digits
        with np.errstate(over="ignore", invalid="ignore"):
            center = start + float((n * np.where(n > 0, mean - start, 0.0)).sum()) / total
            square = float(m2.sum() + (n * np.where(n > 0, mean - center, 0.0) ** 2).sum())
        if not np.isfinite(square):
            raise too_large(self.of.name)
        return total, center, square

    @property
    def observed(self) -> Seen | None:
        """Numbers between which values were observed: those in `seen` and the class means; None without values."""
        n, mean, _ = self.triple
        if not (n > 0).any():
            return None
        means = mean[n > 0]
        between = Seen(float(means.min()), float(means.max()), whole=self.seen is not None)
        return between.joined(self.seen)

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data for the model file.

        Returns
        -------
        dict
            The names of the attributes, the statistics, and the observed range if it is known.

        Examples
        --------
        >>> from countwise.tallies import Values
        >>> Values.from_arrays([1.0, 3.0]).moments.to_dict()
        {'tally': 'moments', 'given': 'class', 'of': 'x', 'worn': False, 'n': [2.0], 'mean': [2.0], 'm2': [2.0]}
        """
        return ClassTally.to_dict(self) | ({} if self.seen is None else {"seen": list(self.seen)})

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
        Moments
            The tally.

        Examples
        --------
        >>> from countwise.tallies import Moments, Values
        >>> tally = Values.from_arrays([1.0, 3.0]).moments
        >>> Moments.from_dict(tally.to_dict(), {"class": tally.given, "x": tally.of}).mean.tolist()
        [2.0]
        """
        given, of = attributes[data["given"]], attributes[data["of"]]
        limits = {"n": (-1e-9, sys.float_info.max), "mean": (-LARGEST, LARGEST), "m2": (0.0, sys.float_info.max)}
        n, mean, m2 = (
            numbers(data[key], f"the moments of {of.name!r}", (len(given.values),), least=low, most=high).astype(
                float
            )
            for key, (low, high) in limits.items()
        )
        if (m2 / (4 * LARGEST**2) > np.maximum(n, 1.0)).any():
            raise ValueError(f"the squared deviations of {of.name!r} are too large")
        worn, seen = bool(data.get("worn", False)), _seen(data.get("seen"), of.name)
        return cls(given, of, n=n, mean=mean, m2=m2, worn=worn, seen=seen)


def _seen(given: Any, name: str) -> Seen | None:
    """Return the observed range of a model file; files of earlier versions have none."""
    if given is None:
        return None
    low, high, whole = given
    if not (isinstance(whole, bool) and np.isfinite([low, high]).all() and low <= high):
        raise ValueError(f"the observed range of {name!r} is damaged")
    return Seen(float(low), float(high), whole)


def merge(a: Triple, b: Triple) -> Triple:
    """Return the moments of the union of two sets of rows (Chan, Golub and LeVeque, 1979)."""
    n = a[0] + b[0]
    fraction = np.divide(b[0], n, out=np.zeros_like(n), where=n > 0)
    with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are reported when they are used
        delta = b[1] - a[1]
        # an empty set must not change the other, not even by rounding
        mean = np.where(a[0] == 0, b[1], np.where(b[0] == 0, a[1], a[1] + delta * fraction))
        m2 = a[2] + b[2] + np.where((a[0] > 0) & (b[0] > 0), delta * delta * a[0] * fraction, 0.0)
    return n, mean, m2


def unmerge(whole: Triple, part: Triple) -> Triple:
    """Return the moments of the remaining rows: the inverse of `merge`."""
    n = whole[0] - part[0]
    left = n > 0
    with np.errstate(over="ignore", invalid="ignore"):  # as in `merge`
        return (n, *_remaining(whole, part, n, left))


def _remaining(whole: Triple, part: Triple, n: Floats, left: Flags) -> tuple[Floats, Floats]:
    """Return the mean and the sum of squared deviations of the n remaining rows of each class."""
    ratio = np.divide(part[0], n, out=np.zeros_like(n), where=left)
    mean = np.where(left, whole[1] + (whole[1] - part[1]) * ratio, 0.0)
    # a rounding error becomes 0
    mean = np.where(np.abs(mean) < DUST * (np.abs(whole[1]) + np.abs(part[1])), 0.0, mean)
    delta = part[1] - mean
    fraction = np.divide(part[0], whole[0], out=np.zeros_like(n), where=whole[0] > 0)
    m2 = np.where(left, whole[2] - part[2] - delta * delta * n * fraction, 0.0)
    return mean, np.where(m2 < DUST * whole[2], 0.0, m2)


def subtraction_error(whole: Triple, part: Triple, n: Floats) -> Floats:
    """Return how far the means of the n remaining rows may be off by rounding."""
    ratio = np.divide(part[0], n, out=np.zeros_like(n), where=n > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.abs(whole[1]) + np.abs(whole[1] - part[1]) * ratio
    return WORN_BLUR * np.where(part[0] > 0, reach, 0.0)


def is_constant(n: Floats, mean: Floats, m2: Floats, blur: Floats) -> bool:
    """Return whether all remaining values are equal up to the error of the means, and some mean has an error."""
    known = n > 0
    if not known.any() or not blur.any():
        return False
    error = float(blur[known].max())
    with np.errstate(over="ignore"):
        return bool(np.ptp(mean[known]) <= error and (m2[known] <= n[known] * error**2).all())


def _gather(
    columns: list[NDArray[Any]], codes: NDArray[Any], weights: Any, n_classes: int, progress: Progress | None
) -> Triple:
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    def work(start: int, stop: int) -> Triple:
        part = None if weights is None else weights[start:stop]
        return _kernels.class_moments([c[start:stop] for c in columns], codes[start:stop], part, n_classes)

    zero = np.zeros((len(columns), n_classes))
    total: Triple = (zero, zero, zero)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports results that are not finite
        for block in _kernels.over_blocks(len(codes), BLOCK, work, progress=progress):
            total = merge(total, block)
    return total


def _refuse_infinity(mean: Any, m2: Any, names: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
    """Raise an error if moments are not finite: a value is infinite or too large to be squared."""
    bad = ~((np.abs(mean) <= LARGEST) & np.isfinite(m2)).all(axis=1)
    for j in np.flatnonzero(bad).tolist():
        refuse_infinity({names[j]: columns[j]})
        raise too_large(names[j])


def too_small(name: str, limit: float = TINY) -> TableError:
    """Return the error for numbers whose squares, or whose own last digits, underflow."""
    what = "their squares underflow" if limit == TINY else "they lose digits"
    return TableError(
        f"The numbers of {name!r} are too small: {what} (below about {limit:g}).",
        hint="rescale the column.",
    )


def too_large(name: str) -> TableError:
    """Return the error for numbers whose squares exceed the range of floats."""
    return TableError(
        f"{name!r} has values too large to be squared (greater than about 1e150).", hint="rescale the column."
    )
