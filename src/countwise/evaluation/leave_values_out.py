"""Leaving one value out of a kernel density: a bump less, and of a width by rule of thumb another width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.base.term import Term
from countwise.distributions.bandwidths import TOLERANCE, bandwidth_of, rows_behind, scott, silverman
from countwise.distributions.kernel import KernelDensity
from countwise.evaluation.left_out_rows import LeftOutRows
from countwise.tallies import all_ones

__all__ = ["kernel", "values_are_closed"]

_CELLS = 1 << 18  # bumps that are added up at a time, so that they stay in cache
_MOST_ROWS = 1 << 24  # that are written out to be counted through
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def values_are_closed(density: KernelDensity, part: Term) -> bool:
    """Whether a width without a row takes no search, and each class has bumps of its own."""
    rule = part.rule.bandwidth
    if density.constant or not (density.n > 0).all():
        return False
    if not isinstance(rule, str):
        return True
    # a class of one value takes its width from all classes together
    return rule in ("silverman", "scott") and all(len(v) > 1 and rows_behind(w) > 1 for v, w in density.sets)


def kernel(left: LeftOutRows, part: Term, column: Any) -> tuple[Floats, Flags]:
    """Log f(x | class) of each row by all others, and the rows that must be taken back."""
    density: KernelDensity = left.model.densities_[part.key]
    x = np.asarray(column, dtype=np.float64)
    there, terms, odd = ~np.isnan(x), np.zeros((len(x), left.k)), np.zeros(len(x), dtype=bool)
    density.add_log_prob(x, terms)
    for c, (values, weights) in enumerate(density.sets):
        mine = np.flatnonzero(there & (left.codes == c))
        # rows of one value and weight have one answer
        pairs, place = np.unique(np.stack([x[mine], left.weights[mine]], axis=1), axis=0, return_inverse=True)
        at = np.searchsorted(values, pairs[:, 0])
        plain = not isinstance(part.rule.bandwidth, str)
        if plain and all_ones(left.weights):
            logs = _all_at_once(values, weights, float(part.rule.bandwidth))[at]
        else:
            less = pairs[:, 1]
            bandwidths = _widths(part.rule.bandwidth, values, weights, at, less)
            logs = _one_by_one(values, weights, at, less, bandwidths)
        terms[mine, c], odd[mine] = logs[place.ravel()], ~np.isfinite(logs[place.ravel()])
    terms[odd] = 0.0
    return terms, odd


def _all_at_once(values: Floats, weights: NDArray[Any], h: float) -> Floats:
    """Without one row of each value, by the fast Gauss transform."""
    points = None if all_ones(weights) else weights.astype(np.float64)
    boxes, taylor = _kernels.gauss_expand(values, points, h, TOLERANCE)
    sums = _kernels.gauss_loo_log_sums(values, points, h, boxes, taylor, TOLERANCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums - np.log((float(weights.sum()) - 1.0) * h) - _HALF_LOG_2PI)


def _widths(rule: Any, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats) -> Floats:
    """The width without each of the rows, given or by a rule of thumb."""
    if not isinstance(rule, str):
        return np.full(len(at), float(rule))
    found, sure = np.empty(len(at)), np.zeros(len(at), dtype=bool)
    if weights.dtype.kind in "iu" and weights.sum() < _MOST_ROWS:
        found, sure = _thumbs(rule, values, weights, at, less.astype(np.int64))
    for i in np.flatnonzero(~sure).tolist():
        place, rest = int(at[i]), float(weights[at[i]]) - float(less[i])
        fewer = weights.astype(np.float64) if weights.dtype.kind == "f" else weights.copy()
        fewer[place] = max(rest, 0)
        kept = np.arange(len(values)) != place if rest <= 1e-9 else slice(None)
        found[i] = bandwidth_of(rule, values[kept], fewer[kept])
    return found


def _thumbs(
    rule: str, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Indices
) -> tuple[Floats, Flags]:
    """The same for all rows at once, and for which of them enough digits are left."""
    total = int(weights.sum())
    mean = float(np.average(values, weights=weights))
    square = float((weights * (values - mean) ** 2).sum())
    n = (total - less).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = square - less * (values[at] - mean) ** 2 * (total / n)
        sd = np.sqrt(rest / (n - 1))
        sure = (n > 1) & (rest > 1e-3 * square) & (1e-100 < values[-1] - values[0] < 1e100)
        if rule == "scott":
            return scott(sd, n), sure
        every, first = np.repeat(values, weights), np.cumsum(weights) - weights
        low, high = (_share(every, first[at], less, n, share) for share in (0.25, 0.75))
        return silverman(sd, high - low, n), sure


def _share(every: Floats, first: NDArray[Any], less: Indices, n: Floats, share: float) -> Floats:
    """The value below which a share of the rows lies, as of `quantiles`, without some equal rows from `first` on."""
    target = n * share
    rank = np.clip(np.ceil(target * (1 - 1e-12)), 1, n).astype(np.int64)

    def at(k: Indices) -> Floats:
        return np.asarray(every[np.minimum(np.where(k < first, k, k + less), len(every) - 1)])

    here, above = at(rank - 1), at(np.minimum(rank, np.maximum(n.astype(np.int64) - 1, 0)))
    return np.where(np.isclose(rank, target, rtol=1e-12, atol=0), here + (above - here) / 2, here)


def _one_by_one(
    values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats, bandwidths: Floats
) -> Floats:
    """Bumps of a width of each row's own, added up without the row; NaN where nothing is left, or no width."""
    total, w = float(weights.sum()), weights.astype(np.float64)
    logs = np.empty(len(at))

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        place, h, own = at[part], bandwidths[part, None], np.arange(stop - start)
        rest = np.where(w[place] - less[part] > 1e-9, w[place] - less[part], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            bumps = -0.5 * ((values[place, None] - values) / h) ** 2
            bumps[own, place] = np.where(rest > 0, 0.0, -np.inf)
            peak = bumps.max(axis=1, keepdims=True)
            bumps = np.exp(bumps - peak) * w
            bumps[own, place] *= rest / w[place]
            logs[part] = np.log(bumps.sum(axis=1)) + peak[:, 0] - np.log((total - less[part]) * bandwidths[part])

    _kernels.over_blocks(len(at), max(1, _CELLS // max(len(values), 1)), work)
    return np.where(bandwidths > 0, logs - _HALF_LOG_2PI, np.nan)
