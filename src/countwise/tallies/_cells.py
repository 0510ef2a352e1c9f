"""Moments of vectors in each class, and how they are merged and subtracted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal
from countwise.tallies._base import DUST, picked, relaid

__all__ = ["PatternMoments", "merged", "nothing", "subtracted_moments"]


class PatternMoments(NamedTuple):
    """Moments, in each class, of the rows that have the same non-missing components."""

    n: Floats  # (classes,)
    mean: Floats  # (classes, numbers)
    scatter: Floats | None  # Σ (x - mean)(x - mean)'; None: no class has two rows
    higher: tuple[Floats, Floats] | None = None  # Σ c_j² c_k and Σ c_j² c_k², where c = x - mean

    def scattered(self) -> Floats:
        """Return the scatter matrices; zeros if there are none."""
        if self.scatter is not None:
            return self.scatter
        return np.zeros((*self.mean.shape, self.mean.shape[1]))

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        return sum(a.nbytes for a in (self.n, self.mean, self.scatter, *(self.higher or ())) if a is not None)

    def relaid(self, places: Indices, old: Nominal, new: Nominal) -> PatternMoments:
        """Select components by position (-1: one that is 0 in each row), for the classes of another domain."""

        def moved(part: Any) -> Any:
            for axis in range(1, part.ndim):
                part = picked(part, axis, places)
            return relaid(part, 0, old, new)

        return PatternMoments(*_each(moved, self))

    def with_constant(self, place: int, value: float) -> PatternMoments:
        """Return the moments with one component that has the same value in every row."""

        def cleared(square: Floats) -> Floats:
            square = square.copy()
            square[:, place, :] = square[:, :, place] = 0.0
            return square

        mean = self.mean.copy()
        mean[:, place] = np.where(self.n > 0, value, 0.0)
        higher = None if self.higher is None else (cleared(self.higher[0]), cleared(self.higher[1]))
        return PatternMoments(self.n, mean, None if self.scatter is None else cleared(self.scatter), higher)

    def to_list(self) -> list[Any]:
        """Return nested lists."""
        return _each(np.ndarray.tolist, self)


def _each(work: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """Apply a function to each array and to each member of a pair; None stays None."""
    return [None if p is None else tuple(map(work, p)) if isinstance(p, tuple) else work(p) for p in parts]


def nothing(classes: int, numbers: int, *, higher: bool = False) -> PatternMoments:
    """Return the moments of no rows."""
    square = (np.zeros((classes, numbers, numbers)), np.zeros((classes, numbers, numbers)))
    return PatternMoments(np.zeros(classes), np.zeros((classes, numbers)), None, square if higher else None)


def merged(a: PatternMoments, b: PatternMoments) -> PatternMoments:
    """Return the moments of the union of two sets of rows (Chan, Golub and LeVeque, 1979)."""
    n = a.n + b.n
    fraction = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    none_a, none_b = (a.n == 0)[:, None], (b.n == 0)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are reported when they are used
        delta = b.mean - a.mean
        # an empty set must not change the other, not even by rounding
        mean = np.where(none_a, b.mean, np.where(none_b, a.mean, a.mean + delta * fraction[:, None]))
        both = (a.n > 0) & (b.n > 0)
        scatter = None
        if a.scatter is not None or b.scatter is not None or both.any():
            between = np.where(both, a.n * fraction, 0.0)[:, None, None] * (delta[:, :, None] * delta[:, None, :])
            scatter = a.scattered() + b.scattered() + between
        return PatternMoments(n, mean, scatter, _higher_together(a, b, mean))


def subtracted_moments(whole: PatternMoments, part: PatternMoments) -> PatternMoments:
    """Return the moments of the remaining rows: the inverse of `merged`."""
    n = whole.n - part.n
    n = np.where(np.abs(n) < 1e-12 * np.maximum(whole.n, part.n), 0.0, n)  # rounding error of fractional weights
    left = n > 0
    ratio = np.divide(part.n, n, out=np.zeros_like(n), where=left)
    mean = np.where(left[:, None], whole.mean + (whole.mean - part.mean) * ratio[:, None], 0.0)
    # a rounding error becomes 0
    mean = np.where(np.abs(mean) < DUST * (np.abs(whole.mean) + np.abs(part.mean)), 0.0, mean)
    delta = part.mean - mean
    fraction = np.divide(part.n, whole.n, out=np.zeros_like(n), where=whole.n > 0)
    before = whole.scattered()
    between = (n * fraction)[:, None, None] * (delta[:, :, None] * delta[:, None, :])
    scatter = np.where(left[:, None, None], before - part.scattered() - between, 0.0)
    gone = np.einsum("kjj->kj", scatter) < DUST * np.einsum("kjj->kj", before)
    scatter[gone[:, :, None] | gone[:, None, :]] = 0.0
    rest = PatternMoments(n, mean, scatter if scatter.any() else None)
    higher = _higher_left(whole, part, rest)
    for square in higher or ():
        square[gone[:, :, None] | gone[:, None, :]] = 0.0
    return rest._replace(higher=higher)


def _shifted(cells: PatternMoments, to: Floats) -> tuple[Floats, Floats]:
    """Return the third and fourth moments about another mean."""
    assert cells.higher is not None  # noqa: S101 - called only with higher moments
    delta = cells.mean - to
    third, fourth = cells.higher
    more_third, more_fourth = _by_shift(cells, delta, third)
    return third + more_third, fourth + more_fourth


def _by_shift(cells: PatternMoments, d: Floats, third: Floats) -> tuple[Floats, Floats]:
    """Return the change of the third and fourth moments if d is added to each deviation."""
    s, n = cells.scattered(), cells.n[:, None, None]
    own = np.einsum("kjj->kj", s)  # (classes, numbers)
    dj, dk, sj, sk = d[:, :, None], d[:, None, :], own[:, :, None], own[:, None, :]
    more_third = dk * sj + 2 * dj * s + n * dj**2 * dk
    more_fourth = (
        2 * dk * third + 2 * dj * third.swapaxes(1, 2) + dk**2 * sj + dj**2 * sk + 4 * dj * dk * s + n * dj**2 * dk**2
    )
    return more_third, more_fourth


def _higher_together(a: PatternMoments, b: PatternMoments, mean: Floats) -> tuple[Floats, Floats] | None:
    if a.higher is None or b.higher is None:
        return None
    (t, q), (u, r) = _shifted(a, mean), _shifted(b, mean)
    return t + u, q + r


def _higher_left(whole: PatternMoments, part: PatternMoments, rest: PatternMoments) -> tuple[Floats, Floats] | None:
    if whole.higher is None or part.higher is None:
        return None
    moved = _shifted(part, whole.mean)
    about_third, about_fourth = (w - p for w, p in zip(whole.higher, moved, strict=True))
    delta = rest.mean - whole.mean
    zero: Any = np.zeros_like(about_third)
    third = about_third - _by_shift(rest, delta, zero)[0]
    fourth = about_fourth - _by_shift(rest, delta, third)[1]
    left = (rest.n > 0)[:, None, None]
    return np.where(left, third, 0.0), np.where(left, np.maximum(fourth, 0.0), 0.0)
