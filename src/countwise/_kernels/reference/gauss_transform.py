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

    Parameters
    ----------
    points, weights, h
        As in :func:`gauss_log_sums`.
    tolerance : float
        The error allowed, relative to the largest sum.

    Returns
    -------
    boxes : int64 array (B,)
        The numbers of the boxes of the axis that have an expansion, ascending.
    taylor : float64 array (B, order + 1)
        Their coefficients, and in the last column the sum below which the expansion is not to be trusted.
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

    Parameters
    ----------
    points : float64 array
        Ascending and finite.
    weights : float64 array or None
        None is 1 for all. Not negative.
    h : float
        The kernel's bandwidth, above 0.
    boxes, taylor
        What :func:`gauss_expand` returned for the same points, weights, h and tolerance, used where it is accurate
        enough; without boxes every sum is exact.
    tolerance : float
        The error allowed, relative to the largest sum; a log sum is never wrong by more than 1e-9.
    queries : float64 array
        NaN gives NaN.

    Returns
    -------
    float64 array (queries,)
        Accurate however far out; minus infinity if there is no point.
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

    So a point of weight n equals n points of weight 1.

    Parameters
    ----------
    points, weights, h
        As in :func:`gauss_log_sums`.
    boxes, taylor, tolerance
        As in :func:`gauss_log_sums`.

    Returns
    -------
    float64 array (points,)
        Minus infinity if nothing remains.
    """
    w = check_points(points, weights, h)
    rest = np.where(w >= 1, w - 1, 0.0)
    sums = np.empty(len(points))
    for i in range(len(points)):
        others = w.copy()
        others[i] = rest[i]
        sums[i] = _log_sums(points, others, h, points[i : i + 1])[0]
    return sums
