"""Cuts: where to cut a numeric attribute into ranges.

Each rule takes distinct values in ascending order with their weights, and
gives the inner edges of the ranges (lo, hi]. A weight of n equals n copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError, did_you_mean, listed
from countwise.tallies import all_ones

__all__ = ["RULES", "cut", "equal_frequency", "equal_width", "naive", "quantiles"]

Edges = NDArray[np.float64]


def naive(values: NDArray[np.float64], weights: NDArray[Any], bins: int) -> Edges:
    """Each value a range of its own, cut midway (001).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.cuts import naive
    >>> naive(np.array([1.0, 2.0, 4.0]), np.ones(3), 0).tolist()
    [1.5, 3.0]
    """
    return values[:-1] + np.diff(values) / 2


def equal_width(values: NDArray[np.float64], weights: NDArray[Any], bins: int) -> Edges:
    """Ranges of one width from the least value to the greatest (000, 001).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.cuts import equal_width
    >>> temp = np.array([18.4, 19.5, 19.7, 20.3, 23.5, 32.1])
    >>> equal_width(temp, np.ones(6), 3).round(6).tolist()
    [22.966667, 27.533333]
    """
    if len(values) < 2:
        return np.empty(0)
    return np.linspace(values[0], values[-1], bins + 1)[1:-1]


def equal_frequency(values: NDArray[np.float64], weights: NDArray[Any], bins: int) -> Edges:
    """Ranges that hold about equally many rows; equal values are never parted (000, 001).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.cuts import equal_frequency
    >>> temp = np.array([18.4, 19.5, 19.7, 20.3, 23.5, 32.1])
    >>> equal_frequency(temp, np.ones(6), 3).round(6).tolist()
    [19.6, 21.9]
    """
    if len(values) < 2:
        return np.empty(0)
    edges = np.unique(quantiles(values, weights, np.arange(1, bins) / bins))
    return edges[edges < values[-1]]


def quantiles(values: NDArray[np.float64], weights: NDArray[Any], shares: NDArray[np.float64]) -> Edges:
    """The values below which given shares of the rows lie; midway between two values where a share ends there.

    The rule is even-handed: counting from above gives the same values as counting from below.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.cuts import quantiles
    >>> quantiles(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.array([0.25, 0.5, 0.9])).tolist()
    [1.5, 2.5, 4.0]
    """
    target = float(weights.sum()) * shares
    # a target within rounding of a running total falls between two values
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


RULES: dict[str, Callable[[NDArray[np.float64], NDArray[Any], int], Edges]] = {
    "equal_frequency": equal_frequency,
    "equal_width": equal_width,
    "naive": naive,
}


def cut(rule: str, values: NDArray[np.float64], weights: NDArray[Any], bins: int) -> Edges:
    """The inner edges by a named rule."""
    if rule not in RULES:
        raise OptionError(
            f"{rule!r} is not a rule for ranges.",
            hint=did_you_mean(rule, RULES) or f"rules are {listed(RULES)}.",
        )
    if bins < 1:
        raise OptionError(f"bins must be 1 or more, not {bins}.")
    return RULES[rule](values, weights, bins)
