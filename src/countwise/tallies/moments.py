"""Moments: how many numbers, their mean, and the sum of squares about it."""

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
    """(n, mean, M2) of a numeric attribute in each class; merged by Chan's formula.

    Parameters
    ----------
    given, of : Nominal, Numeric
        The class, and the attribute.
    n, mean, m2 : ndarray of float64, shape (classes,)
        Sum of weights, mean, and sum of squared deviations from the mean.
    worn : bool
        Whether rows were taken back that were far larger than what remains, so that M2 has lost digits.

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
        """The three arrays; zeros while blank."""
        if self.n is None or self.mean is None or self.m2 is None:
            zero = np.zeros(len(self.given.values))
            return zero, zero, zero
        return self.n, self.mean, self.m2

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """All columns of one class together, in blocks of rows merged in a fixed order."""
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
        """The sums of pairs, those of all columns over the same classes in one go."""
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
        """M2 over n or n - 1; NaN where there are too few values."""
        n, _, m2 = self.triple
        below = n if divisor == "n" else n - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below > 0, m2 / below, np.nan)

    @property
    def overall(self) -> tuple[float, float, float]:
        """(n, mean, M2) over all classes together."""
        n, mean, m2 = self.triple
        total = float(n.sum())
        if total <= 0:
            return 0.0, 0.0, 0.0
        start = float(mean[int(np.argmax(n))])  # sums of differences from a mean that is near keep their digits
        center = start + float((n * np.where(n > 0, mean - start, 0.0)).sum()) / total
        return total, center, float(m2.sum() + (n * np.where(n > 0, mean - center, 0.0) ** 2).sum())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        given, of = attributes[data["given"]], attributes[data["of"]]
        parts = [np.array(data[key], dtype=np.float64) for key in ("n", "mean", "m2")]
        if any(part.shape != (len(given.values),) for part in parts):
            raise ValueError(f"the moments of {of.name!r} do not fit the classes")
        return cls(given, of, n=parts[0], mean=parts[1], m2=parts[2])


def merge(a: Triple, b: Triple) -> Triple:
    """Chan's formula: the moments of two sets of rows together."""
    n = a[0] + b[0]
    share = np.divide(b[0], n, out=np.zeros_like(n), where=n > 0)
    delta = b[1] - a[1]
    # a side without rows must leave the other as it is, bit for bit
    mean = np.where(a[0] == 0, b[1], np.where(b[0] == 0, a[1], a[1] + delta * share))
    m2 = a[2] + b[2] + np.where((a[0] > 0) & (b[0] > 0), delta * delta * a[0] * share, 0.0)
    return n, mean, m2


def unmerge(whole: Triple, part: Triple) -> Triple:
    """Chan's formula backwards: the moments of the rows that remain."""
    n = whole[0] - part[0]
    left = n > 0
    ratio = np.divide(part[0], n, out=np.zeros_like(n), where=left)
    mean = np.where(left, whole[1] + (whole[1] - part[1]) * ratio, 0.0)
    # what is left by rounding alone is nothing
    mean = np.where(np.abs(mean) < DUST * (np.abs(whole[1]) + np.abs(part[1])), 0.0, mean)
    delta = part[1] - mean
    share = np.divide(part[0], whole[0], out=np.zeros_like(n), where=whole[0] > 0)
    m2 = np.where(left, whole[2] - part[2] - delta * delta * n * share, 0.0)
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
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported by the caller
        for piece in _kernels.over_blocks(len(codes), BLOCK, work, progress=progress):
            total = merge(total, piece)
    return total


def _refuse_infinity(mean: Any, m2: Any, names: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
    """Moments that are not finite come from an infinity, or from numbers too large to be squared."""
    bad = ~(np.isfinite(mean) & np.isfinite(m2)).all(axis=1)
    for j in np.flatnonzero(bad).tolist():
        refuse_infinity({names[j]: columns[j]})
        raise too_large(names[j])


def too_large(name: str) -> TableError:
    """The error for numbers whose squares are beyond the range of floats."""
    return TableError(
        f"{name!r} holds numbers too large to be squared (beyond about 1e150).", hint="rescale the column."
    )
