"""Moments: count, mean and sum of squared deviations of a numeric attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.data.columns import refuse_infinity
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.tallies._base import BLOCK, DUST, ClassTally, Progress, refuse_negative, relaid

__all__ = ["Moments"]

Triple = tuple[Floats, Floats, Floats]


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
    _parts: ClassVar[tuple[str, ...]] = ("n", "mean", "m2")

    @property
    def triple(self) -> Triple:
        """`n`, `mean` and `m2`; zeros if the tally is blank."""
        if self.n is None or self.mean is None or self.m2 is None:
            zero = np.zeros(len(self.given.values))
            return zero, zero, zero
        return self.n, self.mean, self.m2

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
            for row, (i, blank) in enumerate(group):
                filled[i] = cls(given, blank.of, n[row], mean[row], m2[row], blank.worn)
        return [filled[i] for i in range(len(blanks))]

    def __add__(self, other: Self) -> Self:
        given, of = self._joined(other)
        return self._with(given, of, merge(self._over(given, of), other._over(given, of)))

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
        return [cls(given, t.of, n[j], mean[j], m2[j], t.worn) for j, t in enumerate(ones)]

    def __sub__(self, other: Self) -> Self:
        given, of = self._joined(other)
        before = self._over(given, of)
        left = n, _, m2 = unmerge(before, other._over(given, of))
        refuse_negative(n, f"the number of values of {self.of.name!r}")
        worn = self.worn or bool(((n > 1) & (m2 < 1e-9 * before[2])).any())
        return self._with(given, of, left, worn=worn)

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
        center = start + float((n * np.where(n > 0, mean - start, 0.0)).sum()) / total
        return total, center, float(m2.sum() + (n * np.where(n > 0, mean - center, 0.0) ** 2).sum())

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
        parts = [np.array(data[key], dtype=np.float64) for key in ("n", "mean", "m2")]
        if any(part.shape != (len(given.values),) for part in parts):
            raise ValueError(f"the moments of {of.name!r} do not match the classes")
        return cls(given, of, n=parts[0], mean=parts[1], m2=parts[2])


def merge(a: Triple, b: Triple) -> Triple:
    """Return the moments of the union of two sets of rows (Chan, Golub and LeVeque, 1979)."""
    n = a[0] + b[0]
    fraction = np.divide(b[0], n, out=np.zeros_like(n), where=n > 0)
    delta = b[1] - a[1]
    # an empty set must not change the other, not even by rounding
    mean = np.where(a[0] == 0, b[1], np.where(b[0] == 0, a[1], a[1] + delta * fraction))
    m2 = a[2] + b[2] + np.where((a[0] > 0) & (b[0] > 0), delta * delta * a[0] * fraction, 0.0)
    return n, mean, m2


def unmerge(whole: Triple, part: Triple) -> Triple:
    """Return the moments of the remaining rows: the inverse of `merge`."""
    n = whole[0] - part[0]
    left = n > 0
    ratio = np.divide(part[0], n, out=np.zeros_like(n), where=left)
    mean = np.where(left, whole[1] + (whole[1] - part[1]) * ratio, 0.0)
    # a rounding error becomes 0
    mean = np.where(np.abs(mean) < DUST * (np.abs(whole[1]) + np.abs(part[1])), 0.0, mean)
    delta = part[1] - mean
    fraction = np.divide(part[0], whole[0], out=np.zeros_like(n), where=whole[0] > 0)
    m2 = np.where(left, whole[2] - part[2] - delta * delta * n * fraction, 0.0)
    m2 = np.where(m2 < DUST * whole[2], 0.0, m2)
    return n, mean, m2


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
    bad = ~(np.isfinite(mean) & np.isfinite(m2)).all(axis=1)
    for j in np.flatnonzero(bad).tolist():
        refuse_infinity({names[j]: columns[j]})
        raise too_large(names[j])


def too_large(name: str) -> TableError:
    """Return the error for numbers whose squares exceed the range of floats."""
    return TableError(
        f"{name!r} has values too large to be squared (greater than about 1e150).", hint="rescale the column."
    )
