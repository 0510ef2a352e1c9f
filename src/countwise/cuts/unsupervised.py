"""Unsupervised discretization methods, which use only the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.cuts._base import Cuts, midway, uncut
from countwise.errors import OptionError, TableError
from countwise.tallies import Values, all_ones
from countwise.working.numbers import number

__all__ = ["equal_frequency", "equal_width", "given", "kmeans", "naive", "quantiles"]

_MOST_CELLS = 1 << 28  # table entries that exact k-means may need


def naive(tally: Values) -> Cuts:
    """Put each distinct value into a separate bin, with cut points midway between adjacent values."""
    values = tally.pooled[0]
    if len(values) < 2:
        return uncut()
    edges = midway(values[:-1], values[1:])
    return Cuts(edges, "midway between {} and {}", (values[:-1], values[1:]))


def equal_width(tally: Values, n_bins: int) -> Cuts:
    """Divide the interval from the minimum to the maximum into bins of equal width."""
    values = tally.pooled[0]
    if len(values) < 2:
        return uncut()
    low, high = values[0], values[-1]
    edges = np.linspace(low, high, n_bins + 1)[1:-1]
    kept = np.unique(edges)
    kept = kept[(kept >= low) & (kept < high)]
    place = np.searchsorted(edges, kept)
    notes = _lost(n_bins, len(kept), "the values are too close together for such narrow bins")
    between = np.diff(np.searchsorted(values, kept, side="right"), prepend=0)
    notes += _empty(int(np.count_nonzero(between == 0)), len(kept) + 1)
    reason = f"{{}}/{n_bins} of the way from {number(low)} to {number(high)}"
    return Cuts(kept, reason, (place + 1,), notes)


def equal_frequency(tally: Values, n_bins: int) -> Cuts:
    """Divide the values into bins with about the same number of rows; equal values are never separated."""
    values, weights = tally.pooled
    if len(values) < 2:
        return uncut()
    edges = np.unique(quantiles(values, weights, np.arange(1, n_bins) / n_bins))
    edges = edges[edges < values[-1]]
    place = np.searchsorted(values, edges, side="right")
    below = place if all_ones(weights) else np.concatenate([[0], np.cumsum(weights)])[place]
    reason = f"{{}} of {number(float(weights.sum()))} rows are at or below it"
    notes = _lost(n_bins, len(edges), "several quantiles are equal, and equal values are never separated")
    notes += _empty(int(np.count_nonzero(np.diff(place) == 0)), len(edges) + 1)
    return Cuts(edges, reason, (below,), notes)


def kmeans(tally: Values, n_bins: int) -> Cuts:
    """Divide the values by k-means into bins with the smallest within-bin sum of squares, the global optimum."""
    values, weights = tally.pooled
    if len(values) < 2:
        return uncut()
    k = min(n_bins, len(values))
    if k * len(values) > _MOST_CELLS:
        raise TableError(
            f"Exact k-means of {len(values)} distinct values into {k} bins needs too much memory.",
            hint="use fewer bins, or round the values.",
        )
    starts = _kernels.kmeans_1d(values, None if all_ones(weights) else weights, k)
    sums = np.add.reduceat(weights.astype(np.float64), starts)
    first = np.repeat(values[starts], np.diff(starts, append=len(values)))
    centers = values[starts] + np.add.reduceat((values - first) * weights, starts) / sums
    below, above = values[starts[1:] - 1], values[starts[1:]]
    edges = np.clip(midway(centers[:-1], centers[1:]), below, np.nextafter(above, -np.inf))
    notes = _lost(n_bins, len(edges), f"there are only {len(values)} distinct values")
    return Cuts(edges, "midway between the centers {} and {}", (centers[:-1], centers[1:]), notes)


def given(tally: Values, edges: Sequence[float]) -> Cuts:
    """Return cut points given by the user."""
    wanted = edges_of(edges)
    values = tally.pooled[0]
    notes: tuple[str, ...] = ()
    if len(values):
        counts = tally.counts_in(wanted).sum(axis=0)
        notes = _empty(int(np.count_nonzero(counts == 0)), len(counts))
    return Cuts(wanted, "given", notes=notes)


def edges_of(edges: Any) -> Floats:
    """Validate cut points given by the user: finite distinct numbers in any order; return them sorted."""
    try:
        wanted = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"The cut points {edges!r} are not numbers.") from None
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise OptionError(
            f"The cut points {edges!r} must be a list of finite numbers.",
            hint="omit infinity: the first and the last bin are unbounded.",
        )
    if len(np.unique(wanted)) < len(wanted):
        raise OptionError(f"The cut points {edges!r} must be distinct.")
    return np.sort(wanted)


def quantiles(values: Floats, weights: NDArray[Any], p: Floats) -> Floats:
    """Return the p-quantiles of weighted values.

    A p-quantile is the smallest value with at least a fraction p of the rows at or below it. If the fraction is
    reached exactly, the result is midway between this value and the next one. The definition is symmetric: counting
    from the top gives the same values.
    """
    target = float(weights.sum()) * p
    # a target equal to a cumulative total, up to rounding, lies between two values
    if all_ones(weights):
        place = np.ceil(target * (1 - 1e-12)).astype(np.int64) - 1
        running = place + 1.0
    else:
        below = np.cumsum(weights, dtype=np.float64)
        place = np.searchsorted(below, target * (1 - 1e-12))
        running = below[np.minimum(place, len(values) - 1)]
    place = np.clip(place, 0, len(values) - 1)
    above = np.minimum(place + 1, len(values) - 1)
    between = np.isclose(running, target, rtol=1e-12, atol=0)
    return np.where(between, values[place] + (values[above] - values[place]) / 2, values[place])


def _empty(n_empty: int, n_bins: int) -> tuple[str, ...]:
    return (f"{n_empty} of the {n_bins} bins contain no training value",) if n_empty else ()


def _lost(n_bins: int, n_edges: int, why: str) -> tuple[str, ...]:
    if n_edges + 1 >= n_bins:
        return ()
    return (f"{n_edges + 1} bins instead of {n_bins}: {why}",)
