"""Moments of vectors, in each class: how they merge, and how rows are taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal
from countwise.tallies._base import DUST, picked, relaid

__all__ = ["PatternMoments", "merged", "nothing", "parted"]


class PatternMoments(NamedTuple):
    """The rows with the same numbers present, in each class."""

    n: Floats  # (classes,)
    mean: Floats  # (classes, numbers)
    scatter: Floats | None  # Σ (x - mean)(x - mean)'; None: no class has two rows
    higher: tuple[Floats, Floats] | None = None  # Σ c_j² c_k and Σ c_j² c_k², where c = x - mean

    def scattered(self) -> Floats:
        """The scatter, zeros where there is none."""
        if self.scatter is not None:
            return self.scatter
        return np.zeros((*self.mean.shape, self.mean.shape[1]))

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return sum(a.nbytes for a in (self.n, self.mean, self.scatter, *(self.higher or ())) if a is not None)

    def relaid(self, places: Indices, old: Nominal, new: Nominal) -> PatternMoments:
        """The numbers at some places (-1: one that is 0 in every row), in the classes of another domain."""

        def moved(part: Any) -> Any:
            for axis in range(1, part.ndim):
                part = picked(part, axis, places)
            return relaid(part, 0, old, new)

        return PatternMoments(*_each(moved, self))

    def to_list(self) -> list[Any]:
        """Plain data."""
        return _each(np.ndarray.tolist, self)


def _each(work: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """What is done to each array, and to each of a pair; None stays."""
    return [None if p is None else tuple(map(work, p)) if isinstance(p, tuple) else work(p) for p in parts]


def nothing(classes: int, numbers: int, *, higher: bool = False) -> PatternMoments:
    """No rows at all."""
    square = (np.zeros((classes, numbers, numbers)), np.zeros((classes, numbers, numbers)))
    return PatternMoments(np.zeros(classes), np.zeros((classes, numbers)), None, square if higher else None)


def merged(a: PatternMoments, b: PatternMoments) -> PatternMoments:
    """Chan's formula: the moments of two sets of rows together."""
    n = a.n + b.n
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    delta = b.mean - a.mean
    none_a, none_b = (a.n == 0)[:, None], (b.n == 0)[:, None]
    # a side without rows must leave the other as it is, bit for bit
    mean = np.where(none_a, b.mean, np.where(none_b, a.mean, a.mean + delta * share[:, None]))
    both = (a.n > 0) & (b.n > 0)
    scatter = None
    if a.scatter is not None or b.scatter is not None or both.any():
        between = np.where(both, a.n * share, 0.0)[:, None, None] * (delta[:, :, None] * delta[:, None, :])
        scatter = a.scattered() + b.scattered() + between
    return PatternMoments(n, mean, scatter, _higher_together(a, b, mean))


def parted(whole: PatternMoments, part: PatternMoments) -> PatternMoments:
    """Chan's formula backwards: the moments of the rows that remain."""
    n = whole.n - part.n
    n = np.where(np.abs(n) < 1e-12 * np.maximum(whole.n, part.n), 0.0, n)  # what rounding left of broken weights
    left = n > 0
    ratio = np.divide(part.n, n, out=np.zeros_like(n), where=left)
    mean = np.where(left[:, None], whole.mean + (whole.mean - part.mean) * ratio[:, None], 0.0)
    # what is left by rounding alone is nothing
    mean = np.where(np.abs(mean) < DUST * (np.abs(whole.mean) + np.abs(part.mean)), 0.0, mean)
    delta = part.mean - mean
    share = np.divide(part.n, whole.n, out=np.zeros_like(n), where=whole.n > 0)
    before = whole.scattered()
    between = (n * share)[:, None, None] * (delta[:, :, None] * delta[:, None, :])
    scatter = np.where(left[:, None, None], before - part.scattered() - between, 0.0)
    gone = np.einsum("kjj->kj", scatter) < DUST * np.einsum("kjj->kj", before)
    scatter[gone[:, :, None] | gone[:, None, :]] = 0.0
    rest = PatternMoments(n, mean, scatter if scatter.any() else None)
    return rest._replace(higher=_higher_left(whole, part, rest))


def _shifted(cells: PatternMoments, to: Floats) -> tuple[Floats, Floats]:
    """What a side adds to the third and fourth moments about another mean."""
    assert cells.higher is not None  # noqa: S101 - asked for only where they are kept
    delta = cells.mean - to
    third, fourth = cells.higher
    more_third, more_fourth = _by_shift(cells, delta, third)
    return third + more_third, fourth + more_fourth


def _by_shift(cells: PatternMoments, d: Floats, third: Floats) -> tuple[Floats, Floats]:
    """How the moments about the mean change when every difference grows by d."""
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
