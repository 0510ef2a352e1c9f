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
    "pmi",
    "symmetrical_uncertainty",
]


def log2(x: Floats) -> Floats:
    """The logarithm, with 0 where x is 0: what it is multiplied by is 0 there."""
    return np.log2(x, out=np.zeros_like(x), where=x > 0)


def entropy(counts: NDArray[Any], axis: int | None = None) -> Any:
    """The entropy of the shares that counts have, in bits.

    .. math:: H = -Σ p log₂ p

    Parameters
    ----------
    counts : ndarray
        How often each value occurs.
    axis : int, optional
        Along which axis; by default over all cells.

    Returns
    -------
    float or ndarray
        0 where nothing was counted.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import entropy
    >>> round(entropy(np.array([9, 5])), 6)
    0.940286
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=axis, keepdims=True)
    p = n / np.where(total > 0, total, 1.0)
    bits = np.maximum(-(p * log2(p)).sum(axis=axis), 0.0)
    return float(bits) if np.ndim(bits) == 0 else bits


def mutual_information(counts: NDArray[Any]) -> Any:
    """What the attribute tells of the class, in bits: the information gain.

    .. math:: I = Σ p(v, c) log₂ [p(v, c) / (p(v) p(c))] = H(class) - H(class | attribute)

    Parameters
    ----------
    counts : ndarray, shape (..., values, classes)
        One table, or several of one shape.

    Returns
    -------
    float or ndarray, shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import mutual_information
    >>> round(mutual_information(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.24675
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=(-2, -1), keepdims=True)
    total = np.where(total > 0, total, 1.0)
    rows, columns = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    bits = (n / total * (log2(n) + log2(total) - (log2(rows) + log2(columns)))).sum(axis=(-2, -1))
    bits = np.maximum(bits, 0.0)
    return float(bits) if n.ndim == 2 else bits


def gain_ratio(counts: NDArray[Any]) -> Any:
    """Information gain over the entropy of the attribute itself; 0 for an attribute of one value.

    .. math:: I(attribute; class) / H(attribute)

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gain_ratio
    >>> round(gain_ratio(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.156428
    """
    return _share(mutual_information(counts), entropy(np.asarray(counts).sum(axis=-1), axis=-1))


def symmetrical_uncertainty(counts: NDArray[Any]) -> Any:
    """Information shared, between 0 (none) and 1 (either tells the other).

    .. math:: 2 I / (H(attribute) + H(class))

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import symmetrical_uncertainty
    >>> round(symmetrical_uncertainty(np.array([[5, 0], [0, 9]])), 6)
    1.0
    """
    table = np.asarray(counts)
    both = entropy(table.sum(axis=-1), axis=-1) + entropy(table.sum(axis=-2), axis=-1)
    return _share(2 * mutual_information(table), both)


def _share(part: Any, whole: Any) -> Any:
    """A quotient that is 0 where there is nothing to divide."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return float(share) if share.ndim == 0 else share


def gini(counts: NDArray[Any], axis: int | None = None) -> Any:
    """The probability that two rows drawn at random are not of one class.

    .. math:: 1 - Σ p²

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gini
    >>> round(gini(np.array([9, 5])), 6)
    0.459184
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=axis, keepdims=True)
    p = n / np.where(total > 0, total, 1.0)
    impurity = np.where(total.sum(axis=axis) > 0, 1.0 - (p * p).sum(axis=axis), 0.0)
    return float(impurity) if np.ndim(impurity) == 0 else impurity


def gini_gain(counts: NDArray[Any]) -> Any:
    """By how much knowing the value lowers the Gini impurity of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gini_gain
    >>> round(gini_gain(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.116327
    """
    n = np.asarray(counts, dtype=np.float64)
    shares = _share(n.sum(axis=-1), np.broadcast_to(n.sum(axis=(-2, -1))[..., None], n.shape[:-1]))
    gain = np.maximum(gini(n.sum(axis=-2), axis=-1) - (shares * gini(n, axis=-1)).sum(axis=-1), 0.0)
    return float(gain) if n.ndim == 2 else gain


def pmi(counts: NDArray[Any]) -> Floats:
    """Pointwise mutual information of each value and class, in bits (001).

    .. math:: log₂ [p(v, c) / (p(v) p(c))]

    Parameters
    ----------
    counts : ndarray, shape (values, classes)
        A contingency table.

    Returns
    -------
    ndarray, shape (values, classes)
        Minus infinity where the two never meet; NaN for a value or class that never was.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import pmi
    >>> pmi(np.array([[2, 3], [4, 0], [3, 2]])).round(4).tolist()
    [[-0.6845, 0.7485], [0.6374, -inf], [-0.0995, 0.1635]]
    """
    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(n * n.sum() / (n.sum(axis=1, keepdims=True) * n.sum(axis=0, keepdims=True))))


def chi_square(counts: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Pearson's test of independence: statistic, degrees of freedom, p-value.

    .. math:: χ² = Σ (O - E)² / E,  E = row total · column total / n

    Rows and columns without any count are left out.

    Parameters
    ----------
    counts : ndarray, shape (..., rows, columns)
        One table, or several of one shape.

    Returns
    -------
    statistic : float or ndarray
    freedom : int or ndarray
    p_value : float or ndarray
        NaN if there is nothing to test.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import chi_square
    >>> statistic, freedom, _ = chi_square(np.array([[2, 3], [4, 0], [3, 2]]))
    >>> round(statistic, 6), freedom
    (3.546667, 2)
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
    if n.ndim == 2:
        return float(statistic), int(freedom), float(p_value)
    return statistic, freedom, p_value


def mvdm(counts: NDArray[Any], power: float = 1.0) -> Floats:
    """How differently the classes are spread among the rows of each two values (004).

    .. math:: d(v, w) = Σ_c |P(c | v) - P(c | w)|^k

    Parameters
    ----------
    counts : ndarray, shape (values, classes)
        One table.
    power : float, default=1
        The k of the formula.

    Returns
    -------
    ndarray, shape (values, values)
        NaN for a value that no row has.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import mvdm
    >>> mvdm(np.array([[2, 2], [0, 4], [1, 1]]))  # cheat by marital status: single, married, divorced
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=1, keepdims=True)
    shares = np.divide(n, total, out=np.full_like(n, np.nan), where=total > 0)
    gaps = np.zeros((len(n), len(n)))
    for c in range(n.shape[1]):  # class by class: no table of values by values by classes
        gaps += np.abs(shares[:, c, None] - shares[:, c]) ** power
    return gaps
