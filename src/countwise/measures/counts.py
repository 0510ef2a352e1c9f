"""Measures of a table of counts: values by classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats

__all__ = [
    "chi_square",
    "entropy",
    "gain_ratio",
    "gini",
    "gini_gain",
    "log2",
    "mutual_information",
    "mvdm",
    "one_or_many",
    "pmi",
    "symmetrical_uncertainty",
]


def log2(x: Floats) -> Floats:
    """The logarithm, with 0 where x is 0: what it is multiplied by is 0 there."""
    return np.log2(x, out=np.zeros_like(x), where=x > 0)


def one_or_many(x: Any) -> Any:
    """The measure of one table as a float, of several as an array."""
    return float(x) if np.ndim(x) == 0 else x


def _shares(counts: NDArray[Any], axis: int | None) -> Floats:
    """Each count over their sum; 0 where nothing was counted."""
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=axis, keepdims=True)
    return n / np.where(total > 0, total, 1.0)


def entropy(counts: NDArray[Any], axis: int | None = None) -> Any:
    """H = -Σ p log₂ p of the shares that counts have, in bits, by axis or over all; 0 where nothing was counted."""
    p = _shares(counts, axis)
    return one_or_many(np.maximum(-(p * log2(p)).sum(axis=axis), 0.0))


def mutual_information(counts: NDArray[Any]) -> Any:
    """What the attribute tells of the class, in bits: the information gain.

    I = Σ p(v, c) log₂ [p(v, c) / (p(v) p(c))] = H(class) - H(class | attribute)
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=(-2, -1), keepdims=True)
    total = np.where(total > 0, total, 1.0)
    rows, columns = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    bits = (n / total * (log2(n) + log2(total) - (log2(rows) + log2(columns)))).sum(axis=(-2, -1))
    return one_or_many(np.maximum(bits, 0.0))


def gain_ratio(counts: NDArray[Any]) -> Any:
    """I(attribute; class) / H(attribute); 0 for an attribute of one value."""
    return _quotient(mutual_information(counts), entropy(np.asarray(counts).sum(axis=-1), axis=-1))


def symmetrical_uncertainty(counts: NDArray[Any]) -> Any:
    """2 I / (H(attribute) + H(class)): from 0 (nothing shared) to 1 (either determines the other)."""
    table = np.asarray(counts)
    both = entropy(table.sum(axis=-1), axis=-1) + entropy(table.sum(axis=-2), axis=-1)
    return _quotient(2 * mutual_information(table), both)


def _quotient(part: Any, whole: Any) -> Any:
    """A quotient that is 0 where there is nothing to divide by."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return one_or_many(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def gini(counts: NDArray[Any], axis: int | None = None) -> Any:
    """1 - Σ p²: the probability that two rows drawn at random are not of one class; 0 where nothing was counted."""
    p = _shares(counts, axis)
    return one_or_many(np.where(p.sum(axis=axis) > 0, 1.0 - (p * p).sum(axis=axis), 0.0))


def gini_gain(counts: NDArray[Any]) -> Any:
    """By how much knowing the value lowers the Gini impurity of the class."""
    n = np.asarray(counts, dtype=np.float64)
    shares = _quotient(n.sum(axis=-1), n.sum(axis=(-2, -1))[..., None])
    return one_or_many(np.maximum(gini(n.sum(axis=-2), axis=-1) - (shares * gini(n, axis=-1)).sum(axis=-1), 0.0))


def pmi(counts: NDArray[Any]) -> Floats:
    """Pointwise mutual information log₂ [p(v, c) / (p(v) p(c))] of each value and class, in bits (001).

    Minus infinity where the two never meet; NaN for a value or class that never occurs.
    """
    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(n * n.sum() / (n.sum(axis=1, keepdims=True) * n.sum(axis=0, keepdims=True))))


def chi_square(counts: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Pearson's test of independence: statistic Σ (O - E)² / E, degrees of freedom, p-value (NaN: nothing to test).

    Rows and columns without any count are left out.
    """
    from scipy.special import gammaincc

    n = np.asarray(counts, dtype=np.float64)
    rows, columns = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    total = n.sum(axis=(-2, -1), keepdims=True)
    expected = rows * columns / np.where(total > 0, total, 1.0)
    cells = np.divide((n - expected) ** 2, expected, out=np.zeros_like(n), where=expected > 0)
    kept = [np.maximum((part > 0).sum(axis=(-2, -1)) - 1, 0) for part in (rows, columns)]
    freedom = kept[0] * kept[1]
    statistic = np.where(freedom > 0, cells.sum(axis=(-2, -1)), 0.0)
    p_value = np.where(freedom > 0, gammaincc(np.maximum(freedom, 1) / 2, statistic / 2), np.nan)
    return one_or_many(statistic), int(freedom) if n.ndim == 2 else freedom, one_or_many(p_value)


def mvdm(counts: NDArray[Any], power: float = 1.0) -> Floats:
    """d(v, w) = Σ_c |P(c | v) - P(c | w)|^power of each two values (004); NaN for a value that no row has."""
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=1, keepdims=True)
    shares = np.divide(n, total, out=np.full_like(n, np.nan), where=total > 0)
    distances = np.zeros((len(n), len(n)))
    for c in range(n.shape[1]):  # class by class: no table of values by values by classes
        distances += np.abs(shares[:, c, None] - shares[:, c]) ** power
    return distances
