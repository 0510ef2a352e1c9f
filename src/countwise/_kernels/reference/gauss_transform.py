"""Reference sums of Gaussian kernels on a line; see :mod:`countwise._kernels.reference`."""

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

_BLOCK = 1 << 21  # cells of a temporary in the blocked sums: 16 MB


def _log_sums(points: Floats, w: Floats, h: float, queries: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Not divided by 2 h**2: that underflows where h is tiny.
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
    """Local expansions of the kernel sum, for :func:`gauss_log_sums`: here always none, as sums are exact.

    `tolerance` is the error allowed, relative to the largest sum. Returns the numbers of the boxes of the axis that
    have an expansion, ascending (int64), and (boxes, 17) their coefficients and, last, the sum below which an
    expansion is not to be trusted.
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
    """Log sums of Gaussian kernels: ``log(sum of w_i exp(-(q - x_i)**2 / (2 h**2)))`` for each query.

    Points are ascending and finite, weights not negative (None is 1 for all), `h` is the bandwidth, above 0. `boxes`
    and `taylor` are what :func:`gauss_expand` returned for the same points, weights, h and tolerance, used where it
    is accurate enough: a log sum is never wrong by more than 1e-9. Without boxes every sum is exact. It is accurate
    however far out, minus infinity if there is no point, and NaN for NaN.
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
    """The log sum at each point without that point: without one unit of its weight, or all if it has less.

    So a point of weight n equals n points of weight 1. Minus infinity if nothing remains.
    """
    w = check_points(points, weights, h)
    rest = np.where(w >= 1, w - 1, 0.0)
    sums = np.empty(len(points))
    for i in range(len(points)):
        others = w.copy()
        others[i] = rest[i]
        sums[i] = _log_sums(points, others, h, points[i : i + 1])[0]
    return sums
