"""Edges of bins that hold about equally many rows: what all ways of binning agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def edges_of(values: Floats, below: Floats, n_bins: int) -> Floats:
    """The edges among different values in ascending order, given the weight at or below each."""
    if len(values) < 2:
        return np.empty(0)
    if len(values) <= n_bins:
        return edges_between(values[:-1], values[1:])
    targets = below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    last = np.unique(np.searchsorted(below, targets))
    last = last[last < len(values) - 1]
    return edges_between(values[last], values[last + 1])


def edges_between(low: Floats, high: Floats) -> Floats:
    """Midway between each two values, and never on the upper one."""
    with np.errstate(over="ignore"):
        middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)
