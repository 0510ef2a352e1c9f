"""Measures of a table of counts, each written once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["chi_square"]


def chi_square(counts: NDArray[Any]) -> tuple[float, int, float]:
    """Pearson's test of independence: statistic, degrees of freedom, p-value.

    .. math:: χ² = Σ (O - E)² / E,  E = row total · column total / n

    Rows and columns without any count are left out.

    Parameters
    ----------
    counts : ndarray, shape (rows, columns)
        A contingency table.

    Returns
    -------
    statistic : float
    freedom : int
    p_value : float
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

    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0, 0, float("nan")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return statistic, freedom, float(gammaincc(freedom / 2, statistic / 2))
