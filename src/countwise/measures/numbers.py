"""Measures of numeric attributes, and of numeric targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.measures.counts import entropy, log2, one_or_many
from countwise.tallies import Values

__all__ = ["gaussian_information", "information_of_values", "sd_reduction", "variance_reduction"]


def information_of_values(tally: Values) -> float:
    """The mutual information of a numeric attribute and the class, each value on its own, in bits."""
    values, _, weights = tally.merged
    if len(values) == 0:
        return 0.0
    n = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    at_value = np.add.reduceat(n, np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])))
    unsure = float((at_value * log2(at_value)).sum() - (n * log2(n)).sum()) / float(n.sum())
    return max(entropy(tally.n) - unsure, 0.0)


def gaussian_information(n: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any]) -> float:
    """The mutual information of the class and a number that is Gaussian in each class, in bits.

    I = Σ_c P(c) ∫ f(x | c) log₂ [f(x | c) / f(x)] dx by the trapezoid rule, exact to about 1e-6; NaN if a class has
    no spread. `n`, `mean` and `variance` have an entry for each class.
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
    """SD(y) - Σ_v n_v/n SD(y | v), SD over N: by how much knowing the value lowers it (002).

    `n`, `mean` and `m2`, of shape (..., values): how many numbers each value has, their mean, and their sum of
    squared deviations.
    """
    shares, whole, parts = _variances(n, mean, m2)
    return one_or_many(np.maximum(np.sqrt(whole) - (shares * np.sqrt(parts)).sum(axis=-1), 0.0))


def variance_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """The same of the variance (over N)."""
    shares, whole, parts = _variances(n, mean, m2)
    return one_or_many(np.maximum(whole - (shares * parts).sum(axis=-1), 0.0))


def _variances(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> tuple[Any, Any, Any]:
    """The share of each value, the variance of all numbers, and the variance at each value."""
    n, mean, m2 = (np.asarray(part, dtype=np.float64) for part in (n, mean, m2))
    total = n.sum(axis=-1, keepdims=True)
    shares = n / np.where(total > 0, total, 1.0)
    center = (shares * mean).sum(axis=-1, keepdims=True)
    parts = np.divide(np.maximum(m2, 0.0), n, out=np.zeros_like(n), where=n > 0)
    return shares, (shares * (parts + (mean - center) ** 2)).sum(axis=-1), parts
