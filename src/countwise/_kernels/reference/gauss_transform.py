"""NumPy sums of Gaussian kernels on a line; part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from countwise._kernels.checks import (
    check_points,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["gauss_expand", "gauss_log_sums", "gauss_loo_log_sums"]

_BLOCK = 1 << 21  # elements of a temporary array: 16 MB


def _log_sums(points: Floats, w: Floats, h: float, queries: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Dividing by 2 h**2 would underflow for a tiny h.
        terms = np.log(w) - 0.5 * ((queries[:, None] - points) / h) ** 2
        top = terms.max(axis=1, initial=-np.inf)
        shift = np.where(np.isneginf(top), 0.0, top)
        return np.asarray(np.log(np.exp(terms - shift[:, None]).sum(axis=1)) + shift)


def gauss_expand(
    points: Floats,
    weights: Floats | None,
    h: float,
    tolerance: float,
) -> tuple[NDArray[np.int64], Floats]:
    """Return local expansions of the kernel sum for :func:`gauss_log_sums`; none here, as the NumPy sums are exact.

    `tolerance` is the allowed error, relative to the largest sum. Returns the ascending numbers (int64) of the boxes
    of the axis that have an expansion, and an array (boxes, 17): the coefficients and, last, the smallest sum for
    which the expansion is accurate.
    """
    check_points(points, weights, h)
    return np.empty(0, np.int64), np.empty((0, 17))


def gauss_log_sums(
    points: Floats,
    weights: Floats | None,
    h: float,
    boxes: NDArray[np.int64],
    taylor: Floats,
    tolerance: float,
    queries: Floats,
) -> Floats:
    """Return log sums of Gaussian kernels: ``log(sum of w_i exp(-(q - x_i)**2 / (2 h**2)))`` for each query.

    Points are ascending and finite, weights are not negative (None is 1 for all), and the bandwidth `h` is above 0.
    `boxes` and `taylor` are the result of :func:`gauss_expand` for the same points, weights, h and tolerance. They
    are used where they are accurate enough: the error of a log sum never exceeds 1e-9. Without boxes every sum is
    exact. Sums are accurate at any distance from the points, minus infinity without points, and NaN for a query of
    NaN.
    """
    w = check_points(points, weights, h)
    step = max(1, _BLOCK // max(len(points), 1))
    blocks = [_log_sums(points, w, h, queries[i : i + step]) for i in range(0, len(queries), step)]
    sums = np.concatenate([np.empty(0), *blocks])
    return np.where(np.isnan(queries), np.nan, sums)


def gauss_loo_log_sums(
    points: Floats,
    weights: Floats | None,
    h: float,
    boxes: NDArray[np.int64],
    taylor: Floats,
    tolerance: float,
) -> Floats:
    """Return the leave-one-out log sum at each point.

    One unit of the point's weight is left out, or all of it if it is less than 1. A point of weight n is therefore
    equivalent to n points of weight 1. The result is minus infinity if nothing remains.
    """
    w = check_points(points, weights, h)
    rest = np.where(w >= 1, w - 1, 0.0)
    sums = np.empty(len(points))
    for i in range(len(points)):
        others = w.copy()
        others[i] = rest[i]
        sums[i] = _log_sums(points, others, h, points[i : i + 1])[0]
    return sums
