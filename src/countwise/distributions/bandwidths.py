"""Bandwidths of kernel densities: rules of thumb, plug-in, and leave-one-out likelihood."""

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
from countwise.tallies.values import row_weight, squared_weights

__all__ = [
    "RULES",
    "TOLERANCE",
    "bandwidth_of",
    "golden",
    "in_rows",
    "least_width",
    "leave_one_out_likelihood",
    "ones_as_none",
    "rows_behind",
    "scott",
    "sheather_jones",
    "silverman",
]


_CELLS, _FEW_CELLS = 1 << 14, 1 << 12  # grid cells for many values and for few
_STAGES = 7
_FAR = 25.0  # values further out, in interquartile ranges, are excluded: they would make the grid coarse


def sheather_jones(values: Floats, weights: NDArray[Any]) -> float | None:
    """Return the bandwidth by the improved Sheather-Jones estimator (Botev, Grotowski & Kroese 2010), or None.

    The bandwidth is the fixed point of seven plug-in stages. Each stage is the integral of a squared derivative of
    the density, computed from the cosine transform of a fine histogram. The values are distinct and ascending.
    Rounded values are spread evenly over the interval from which they were rounded; otherwise each would be a peak of
    the density. The result is None if there is no fixed point.
    """
    from scipy.fft import dct

    low, high = quantiles(values, weights, np.array([0.25, 0.75]))
    if high > low:
        near = (values >= low - _FAR * (high - low)) & (values <= high + _FAR * (high - low))
        values, weights = values[near], weights[near]
    n, extent = float(weights.sum()), float(values[-1] - values[0])
    start, span = float(values[0]) - extent / 2, 2 * extent
    size = _CELLS if len(values) > _FEW_CELLS else _FEW_CELLS
    # positions are scaled to [0, 1], so that squares cannot overflow
    half = least_width(values, weights)  # of the rounding interval
    first, last = (
        np.clip(((end - start) / span * size).astype(np.int64), 0, size - 1) for end in (values - half, values + half)
    )
    each = weights / n / (last - first + 1)
    steps = np.bincount(first, weights=each, minlength=size + 1) - np.bincount(
        last + 1, weights=each, minlength=size + 1
    )
    histogram = np.cumsum(steps)[:size] if half else np.bincount(first, weights=each, minlength=size)
    squares = (dct(histogram)[1:] / 2) ** 2
    orders = np.arange(1.0, size) ** 2
    t = _fixed_point(n, orders, squares)
    return None if t is None else float(np.sqrt(t) * span)


def _fixed_point(n: float, orders: Floats, squares: Floats) -> float | None:
    from scipy.optimize import brentq

    limit = 1e-12 + 0.01 * (min(max(n, 50), 1050) - 50) / 1000
    while limit < 1:
        with np.errstate(all="ignore"):  # NaN at an end is handled below
            ends = [_distance(t, n, orders, squares) for t in (1e-300, limit)]
        if np.isfinite(ends).all() and ends[0] * ends[1] < 0:
            with np.errstate(all="ignore"):
                return float(brentq(_distance, 1e-300, limit, args=(n, orders, squares), xtol=1e-18, rtol=1e-12))
        limit *= 2
    return None


def _distance(t: float, n: float, orders: Floats, squares: Floats) -> float:
    """Return the difference between t and the value that the plug-in stages compute from it."""
    norm = _norm(_STAGES, t, orders, squares)
    for stage in range(_STAGES - 1, 1, -1):
        if not norm > 0:
            return float("nan")
        odd = float(np.prod(np.arange(1.0, 2 * stage, 2)))
        constant = (1 + 0.5 ** (stage + 0.5)) / 3 * odd / np.sqrt(2 * np.pi)
        norm = _norm(stage, (2 * constant / (n * norm)) ** (2 / (3 + 2 * stage)), orders, squares)
    return float(t - (2 * n * np.sqrt(np.pi) * norm) ** -0.4) if norm > 0 else float("nan")


def _norm(stage: int, t: float, orders: Floats, squares: Floats) -> float:
    """Return the integral of the squared derivative of the given order, after smoothing for time t."""
    return float(2 * np.pi ** (2 * stage) * (orders**stage * squares * np.exp(-orders * np.pi**2 * t)).sum())


RULES = ("silverman", "scott", "sheather_jones", "leave_one_out")
TOLERANCE = 1e-12  # error of a kernel sum relative to its peak


def bandwidth_of(rule: Any, values: Floats, weights: NDArray[Any]) -> float:
    """Return the bandwidth of one class by a rule, or the given bandwidth.

    The values are distinct and ascending. Their weights are numbers of rows (see `in_rows`). The result is 0 if there
    are fewer than two values.
    """
    if not isinstance(rule, str):
        return float(rule)
    unweighted = all_ones(weights)
    n = float(len(weights)) if unweighted else float(weights.sum())
    if n <= 1 or len(values) < 2:
        return 0.0
    if not 1e-100 < values[-1] / 2 - values[0] / 2 < 1e100:  # so that squares neither overflow nor underflow
        _, power = np.frexp(np.abs(values[[0, -1]]).max())
        return float(np.ldexp(bandwidth_of(rule, np.ldexp(values, -power), weights), power))
    away = values - np.average(values, weights=None if unweighted else weights)
    squares = (away * away).sum() / n if unweighted else (weights * away * away).sum() / weights.sum()
    sd = float(np.sqrt(squares * (n / (n - 1))))
    if rule == "scott":
        return scott(sd, n)
    low, high = quantiles(values, weights, np.array([0.25, 0.75]))
    thumb = float(silverman(sd, float(high - low), n))
    if rule == "silverman":
        return thumb
    if rule == "sheather_jones":  # if the estimator fails, Silverman's rule is used
        return max(sheather_jones(values, weights) or thumb, least_width(values, weights))
    if rule == "leave_one_out":
        return _best_bandwidth(values, weights, thumb, float(values[-1] - values[0]))
    raise OptionError(f"bandwidth must be a number or one of {listed(RULES)}, not {rule!r}.")


def scott(sd: Any, n: Any) -> Any:
    """Return the bandwidth by Scott's rule, from the standard deviation and the number of rows."""
    return sd * n**-0.2


def silverman(sd: Any, iqr: Any, n: Any) -> Any:
    """Return the bandwidth by Silverman's rule, from standard deviation, interquartile range and number of rows."""
    quartile = iqr / 1.349
    return 0.9 * np.where(quartile > 0, np.minimum(sd, quartile), sd) * n**-0.2


def in_rows(weights: NDArray[Any], row: float) -> NDArray[Any]:
    """Return weights as numbers of rows, where `row` is the weight of a typical row.

    Their sum is the effective sample size (Σ w)² / Σ w². Integral weights are copies: their typical row has weight 1.
    """
    return weights if row == 1 else weights / row


def rows_behind(weights: NDArray[Any]) -> float:
    """Return the number of rows that the weights of rows represent, the effective sample size (Σ w)² / Σ w².

    A row with an integral weight w counts as w copies.
    """
    total = float(weights.sum()) if len(weights) else 0.0
    if total <= 0 or weights.dtype.kind in "iu":
        return total
    return total / row_weight(total, squared_weights(weights))


def least_width(values: Floats, weights: NDArray[Any]) -> float:
    """Return half the smallest difference between rounded values, the lower limit of estimated bandwidths.

    With a smaller bandwidth the density has a peak at each rounded value, and the leave-one-out likelihood would grow
    without limit. The result is 0 if values hardly repeat. `values` are distinct and ascending.
    """
    total = float(weights.sum())
    if len(values) < 3 or total < 1.05 * len(values):
        return 0.0
    return 0.5 * float(np.diff(values).min())


def ones_as_none(weights: NDArray[Any]) -> Floats | None:
    """Return the weights as floats, or None if every weight is 1."""
    return None if all_ones(weights) else weights.astype(np.float64)


def leave_one_out_likelihood(values: Floats, weights: NDArray[Any], h: float) -> float:
    """Return the sum over the rows of log f(x), where f is estimated from the other rows."""
    kernel_weights = ones_as_none(weights)
    boxes, taylor = _kernels.gauss_expand(values, kernel_weights, h, TOLERANCE)
    logs = _kernels.gauss_loo_log_sums(values, kernel_weights, h, boxes, taylor, TOLERANCE)
    rest = float(weights.sum()) - np.minimum(weights, 1.0)  # a row of weight below 1 is excluded entirely
    return float((weights * (logs - np.log(np.maximum(rest, 1e-300) * h) - 0.5 * np.log(2 * np.pi))).sum())


def _best_bandwidth(values: Floats, weights: NDArray[Any], start: float, extent: float) -> float:
    """Return the bandwidth of the highest leave-one-out likelihood: a coarse scan, then golden section."""
    least = max(start / 20, least_width(values, weights))
    grid = np.geomspace(least, max(4 * start, extent, 2 * least), 32)

    def score(log_h: float) -> float:
        return leave_one_out_likelihood(values, weights, float(np.exp(log_h)))

    scores = [score(float(np.log(h))) for h in grid]
    best = int(np.argmax(scores))
    low, high = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, len(grid) - 1)])
    return float(np.exp(golden(score, float(low), float(high))))


def golden(score: Callable[[float], float], low: float, high: float, tolerance: float = 1e-7) -> float:
    """Return the maximum of a unimodal function by golden-section search; the best point of all that were tried.

    -inf is treated as lying below the maximum: a bandwidth too small for its rows.
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
