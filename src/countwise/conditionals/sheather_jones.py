"""The improved Sheather-Jones width: the data choose it, without a normal law as reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.cuts import quantiles

__all__ = ["sheather_jones"]

_CELLS, _FEW_CELLS = 1 << 14, 1 << 12  # of the grid; a few values need no finer one
_STAGES = 7
_FAR = 25.0  # interquartile ranges beyond which a value would only make the grid coarse


def sheather_jones(values: Floats, weights: NDArray[Any]) -> float | None:
    """The width by Botev's diffusion estimator; None if its equation has no solution.

    The width is the fixed point of seven plug-in stages, each the integral of a squared derivative
    of the density, taken from the cosine transform of a fine histogram.

    Parameters
    ----------
    values, weights : ndarray
        Distinct values in ascending order, and their weights.
    """
    from scipy.fft import dct

    low, high = quantiles(values, weights, np.array([0.25, 0.75]))
    if high > low:
        near = (values >= low - _FAR * (high - low)) & (values <= high + _FAR * (high - low))
        values, weights = values[near], weights[near]
    n, extent = len(values), float(values[-1] - values[0])
    start, span = float(values[0]) - extent / 2, 2 * extent
    size = _CELLS if n > _FEW_CELLS else _FEW_CELLS
    # the range is taken as 1, so that no square of it can overflow
    cells = np.clip(((values - start) / span * size).astype(np.int64), 0, size - 1)
    share = np.bincount(cells, weights=weights / weights.sum(), minlength=size)
    squares = (dct(share)[1:] / 2) ** 2
    orders = np.arange(1.0, size) ** 2
    t = _fixed_point(n, orders, squares)
    return None if t is None else float(np.sqrt(t) * span)


def _fixed_point(n: int, orders: Floats, squares: Floats) -> float | None:
    from scipy.optimize import brentq

    limit = 1e-12 + 0.01 * (min(max(n, 50), 1050) - 50) / 1000
    while limit < 1:
        with np.errstate(all="ignore"):  # what is no number is not between the ends
            ends = [_distance(t, n, orders, squares) for t in (1e-300, limit)]
        if np.isfinite(ends).all() and ends[0] * ends[1] < 0:
            with np.errstate(all="ignore"):
                return float(brentq(_distance, 1e-300, limit, args=(n, orders, squares), xtol=1e-18, rtol=1e-12))
        limit *= 2
    return None


def _distance(t: float, n: int, orders: Floats, squares: Floats) -> float:
    """How far t is from what the stages make of it."""
    norm = _norm(_STAGES, t, orders, squares)
    for stage in range(_STAGES - 1, 1, -1):
        if not norm > 0:
            return float("nan")
        odd = float(np.prod(np.arange(1.0, 2 * stage, 2)))
        constant = (1 + 0.5 ** (stage + 0.5)) / 3 * odd / np.sqrt(2 * np.pi)
        norm = _norm(stage, (2 * constant / (n * norm)) ** (2 / (3 + 2 * stage)), orders, squares)
    return float(t - (2 * n * np.sqrt(np.pi) * norm) ** -0.4) if norm > 0 else float("nan")


def _norm(stage: int, t: float, orders: Floats, squares: Floats) -> float:
    """The integral of the squared derivative of that order, smoothed for a time t."""
    return float(2 * np.pi ** (2 * stage) * (orders**stage * squares * np.exp(-orders * np.pi**2 * t)).sum())
