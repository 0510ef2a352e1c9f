"""Bandwidths of a kernel: rules of thumb, and the bandwidth that leave-one-out likelihood prefers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.cuts import quantiles
from countwise.errors import OptionError, listed
from countwise.tallies import all_ones

__all__ = [
    "RULES",
    "TOLERANCE",
    "bandwidth_of",
    "golden",
    "least_width",
    "leave_one_out_likelihood",
    "ones_as_none",
    "rows_behind",
    "scott",
    "sheather_jones",
    "silverman",
]


_CELLS, _FEW_CELLS = 1 << 14, 1 << 12  # of the grid; a few values need no finer one
_STAGES = 7
_FAR = 25.0  # interquartile ranges beyond which a value would only make the grid coarse


def sheather_jones(values: Floats, weights: NDArray[Any]) -> float | None:
    """The bandwidth by Botev's diffusion estimator; None if its equation has no solution.

    The bandwidth is the fixed point of seven plug-in stages, each the integral of a squared derivative
    of the density, taken from the cosine transform of a fine histogram. Values are distinct and ascending.
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


RULES = ("silverman", "scott", "sheather_jones", "leave_one_out")
TOLERANCE = 1e-12  # error of a kernel sum, relative to its peak


def bandwidth_of(rule: Any, values: Floats, weights: NDArray[Any]) -> float:
    """The bandwidth that a rule gives for one class; 0 if the values, distinct and ascending, have no spread."""
    if not isinstance(rule, str):
        return float(rule)
    alike = all_ones(weights)
    n = float(len(weights)) if alike else rows_behind(weights)
    if n <= 1 or len(values) < 2:
        return 0.0
    extent = float(values[-1] - values[0])
    if not 1e-100 < extent < 1e100:  # so that squares stay numbers
        return bandwidth_of(rule, (values - values[0]) / extent, weights) * extent
    away = values - np.average(values, weights=None if alike else weights)
    squares = (away * away).sum() / n if alike else (weights * away * away).sum() / weights.sum()
    sd = float(np.sqrt(squares * (n / (n - 1))))
    if rule == "scott":
        return scott(sd, n)
    low, high = quantiles(values, weights, np.array([0.25, 0.75]))
    thumb = float(silverman(sd, float(high - low), n))
    if rule == "silverman":
        return thumb
    if rule == "sheather_jones":  # where its equation has no solution, the rule of thumb stands
        return sheather_jones(values, weights) or thumb
    if rule == "leave_one_out":
        return _best_width(values, weights, thumb, float(values[-1] - values[0]))
    raise OptionError(f"bandwidth={rule!r} is unknown.", hint=f"give a number or one of {listed(RULES)}.")


def scott(sd: Any, n: Any) -> Any:
    """Scott's rule, from the deviation and the number of rows."""
    return sd * n**-0.2


def silverman(sd: Any, half: Any, n: Any) -> Any:
    """Silverman's rule, from the deviation, the extent of the middle half and the number of rows."""
    quartile = half / 1.349
    return 0.9 * np.where(quartile > 0, np.minimum(sd, quartile), sd) * n**-0.2


def rows_behind(weights: NDArray[Any]) -> float:
    """How many rows weights stand for: their sum if they are copies; of broken ones the number of rows alike."""
    total = float(weights.sum()) if len(weights) else 0.0
    if total <= 0 or weights.dtype.kind in "iu" or _kernels.float_is_integral(weights):
        return total
    return total**2 / float((np.asarray(weights, dtype=np.float64) ** 2).sum())


def least_width(values: Floats, weights: NDArray[Any]) -> float:
    """Half the step of numbers that were rounded: below it a density would be a comb, and find every copy again.

    0 where values hardly repeat. `values` are distinct and ascending.
    """
    total = rows_behind(weights)
    if len(values) < 3 or total < 1.05 * len(values):
        return 0.0
    return 0.5 * float(np.diff(values).min())


def ones_as_none(weights: NDArray[Any]) -> Floats | None:
    """Weights for a kernel: none at all if every one is 1."""
    return None if all_ones(weights) else weights.astype(np.float64)


def leave_one_out_likelihood(values: Floats, weights: NDArray[Any], h: float) -> float:
    """Sum over the rows of log f(x) where f is made from all the other rows (003)."""
    kernel_weights = ones_as_none(weights)
    boxes, taylor = _kernels.gauss_expand(values, kernel_weights, h, TOLERANCE)
    logs = _kernels.gauss_loo_log_sums(values, kernel_weights, h, boxes, taylor, TOLERANCE)
    rest = float(weights.sum()) - np.minimum(weights, 1.0)  # a row that weighs less than 1 is left out whole
    return float((weights * (logs - np.log(np.maximum(rest, 1e-300) * h) - 0.5 * np.log(2 * np.pi))).sum())


def _best_width(values: Floats, weights: NDArray[Any], start: float, extent: float) -> float:
    """A coarse scan over bandwidths, then golden section around the best."""
    least = max(start / 20, least_width(values, weights))
    grid = np.geomspace(least, max(4 * start, extent, 2 * least), 32)

    def score(log_h: float) -> float:
        return leave_one_out_likelihood(values, weights, float(np.exp(log_h)))

    scores = [score(float(np.log(h))) for h in grid]
    best = int(np.argmax(scores))
    low, high = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, len(grid) - 1)])
    return float(np.exp(golden(score, float(low), float(high))))


def golden(score: Callable[[float], float], low: float, high: float, tolerance: float = 1e-7) -> float:
    """Where a function of one peak is largest, by golden section; the best of all that was tried.

    Minus infinity lies on the low side: a bandwidth too small for its rows.
    """
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = score(a), score(b)
    best = max((at_a, a), (at_b, b))
    while high - low > tolerance:
        best = max(best, (at_a, a), (at_b, b))
        if at_a >= at_b and at_a > -np.inf:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = score(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = score(b)
    return max(best, (at_a, a), (at_b, b))[1]
