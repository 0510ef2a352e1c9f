"""Edges of bins that hold about the same weight, shared by all binning code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def edges_of(values: Floats, below: Floats, n_bins: int) -> Floats:
    """Return the bin edges, given distinct ascending values and the cumulative weight at each of them."""
    if len(values) < 2:
        return np.empty(0)
    if len(values) <= n_bins:
        return edges_between(values[:-1], values[1:])
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    last = np.unique(np.searchsorted(below, targets))
    last = last[last < len(values) - 1]
    return edges_between(values[last], values[last + 1])


def edges_between(low: Floats, high: Floats) -> Floats:
    """Return the midpoints between pairs of values; a midpoint is always below the upper value."""
    with np.errstate(over="ignore"):
        middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)
