"""What numbers tell of the class: each value on its own, as Gaussians, or as counts of the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.measures.counts import entropy, log2
from countwise.tallies import Values

__all__ = [
    "gaussian_information",
    "information_of_values",
    "sd_reduction",
    "variance_reduction",
]


def information_of_values(tally: Values) -> float:
    """What the values of a numeric attribute tell of the class when each is a value of its own, in bits.

    Examples
    --------
    >>> from countwise.tallies import Values
    >>> from countwise.measures import information_of_values
    >>> information_of_values(Values.from_arrays([1.0, 2.0, 3.0, 3.0], ["no", "yes", "no", "yes"]))
    0.5
    """
    values, _, weights = tally.merged
    if len(values) == 0:
        return 0.0
    n = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    at_value = np.add.reduceat(n, np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])))
    unsure = float((at_value * log2(at_value)).sum() - (n * log2(n)).sum()) / float(n.sum())
    return max(entropy(tally.n) - unsure, 0.0)


def gaussian_information(n: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any]) -> float:
    """What a number tells of the class if it is Gaussian in each class, in bits.

    .. math:: I = Σ_c P(c) ∫ f(x | c) log₂ [f(x | c) / f(x)] dx

    Parameters
    ----------
    n, mean, variance : ndarray, shape (classes,)
        How many values each class has, their mean and their variance.

    Returns
    -------
    float
        By the trapezoid rule, exact to about 1e-6; NaN if a class has no spread.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gaussian_information
    >>> round(gaussian_information(np.array([5, 5]), np.array([0.0, 100.0]), np.array([1.0, 1.0])), 6)
    1.0
    """
    there = np.asarray(n) > 0
    share = np.asarray(n, dtype=np.float64)[there] / max(float(np.sum(n)), 1e-300)
    mu, sd = np.asarray(mean)[there], np.sqrt(np.asarray(variance)[there])
    if len(share) < 2:
        return 0.0
    if not (sd > 0).all():
        return float("nan")
    # a grid that is fine wherever some class is narrow
    x = np.unique((mu + np.linspace(-12, 12, 2401)[:, None] * sd).ravel())
    log_f = -0.5 * ((x[:, None] - mu) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    log_mix = np.logaddexp.reduce(log_f + np.log(share), axis=1)
    inner = (share * np.exp(log_f) * (log_f - log_mix[:, None])).sum(axis=1)
    area = float(((inner[1:] + inner[:-1]) * np.diff(x)).sum() / 2)
    return max(area / float(np.log(2)), 0.0)


def sd_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """By how much knowing the value lowers the standard deviation (over N) of a number (002).

    .. math:: SDR = SD(y) - Σ_v n_v/n SD(y | v)

    Parameters
    ----------
    n, mean, m2 : ndarray, shape (..., values)
        How many numbers each value has, their mean, and their sum of squared deviations.

    Returns
    -------
    float or ndarray, shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import sd_reduction
    >>> sd_reduction(np.array([2, 2]), np.array([0.0, 4.0]), np.array([0.0, 0.0]))
    2.0
    """
    shares, whole, parts = _variances(n, mean, m2)
    return _one(np.maximum(np.sqrt(whole) - (shares * np.sqrt(parts)).sum(axis=-1), 0.0))


def variance_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """By how much knowing the value lowers the variance (over N) of a number (002).

    Parameters
    ----------
    n, mean, m2 : ndarray, shape (..., values)
        How many numbers each value has, their mean, and their sum of squared deviations.

    Returns
    -------
    float or ndarray, shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import variance_reduction
    >>> variance_reduction(np.array([2, 2]), np.array([0.0, 4.0]), np.array([0.0, 0.0]))
    4.0
    """
    shares, whole, parts = _variances(n, mean, m2)
    return _one(np.maximum(whole - (shares * parts).sum(axis=-1), 0.0))


def _one(x: NDArray[Any]) -> Any:
    return float(x) if np.ndim(x) == 0 else x


def _variances(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> tuple[Any, Any, Any]:
    """The share of each value, the variance of all numbers, and the variance at each value."""
    n, mean, m2 = (np.asarray(part, dtype=np.float64) for part in (n, mean, m2))
    total = n.sum(axis=-1, keepdims=True)
    shares = n / np.where(total > 0, total, 1.0)
    center = (shares * mean).sum(axis=-1, keepdims=True)
    parts = np.divide(np.maximum(m2, 0.0), n, out=np.zeros_like(n), where=n > 0)
    return shares, (shares * (parts + (mean - center) ** 2)).sum(axis=-1), parts
