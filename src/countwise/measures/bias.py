"""What chance alone does to a measure, and how to take it out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import OptionError

__all__ = ["chance_information", "expected_information", "pooled_rare"]


def pooled_rare(counts: NDArray[Any], least: float = 5.0) -> Floats:
    """The table with rare values as one, so that χ² does not live on cells that expect next to nothing.

    A value is rare if some class expects fewer than `least` rows of it. Values are taken from the
    rarest on until those that are left, and the pool itself, expect enough.

    Parameters
    ----------
    counts : ndarray, shape (values, classes)
        A contingency table.
    least : float, default=5
        How many rows a cell should expect.

    Returns
    -------
    ndarray, shape (values left, classes)

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import pooled_rare
    >>> pooled_rare(np.array([[40, 40], [2, 0], [0, 9], [1, 1], [50, 30]])).tolist()
    [[40.0, 40.0], [50.0, 30.0], [3.0, 10.0]]
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if table.size == 0:
        return table
    totals = table.sum(axis=1)
    enough = least * table.sum() / table.sum(axis=0).min()  # the total that a value needs
    order = np.argsort(totals, kind="stable")
    running = np.cumsum(totals[order])
    n_rare = int(np.searchsorted(totals[order], enough))
    if n_rare == 0:
        return table
    while n_rare < len(order) and running[n_rare - 1] < enough:
        n_rare += 1
    pool = np.zeros(len(totals), dtype=bool)
    pool[order[:n_rare]] = True
    return np.vstack([table[~pool], table[pool].sum(axis=0)])


def expected_information(counts: NDArray[Any], how: str = "permutation") -> float:
    """The information that an attribute with these values would seem to have if it told nothing, in bits.

    An attribute of many values seems to tell much of few rows: shuffle its cells, and most of that
    stays. What stays on average is its bias.

    Parameters
    ----------
    counts : ndarray, shape (values, classes)
        A contingency table.
    how : {"permutation", "analytic"}, default="permutation"
        The exact mean over all permutations of the rows (hypergeometric cells), or the first
        term of its expansion, (values - 1)(classes - 1) / (2 n ln 2), after Miller and Madow,
        which also stands in where counts are not whole.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import expected_information
    >>> table = np.array([[2, 3], [4, 0], [3, 2]])
    >>> round(expected_information(table), 4), round(expected_information(table, "analytic"), 4)
    (0.1299, 0.103)
    """
    table = np.asarray(counts, dtype=np.float64)
    return chance_information(table.sum(axis=1), table.sum(axis=0), how)


def chance_information(rows: NDArray[Any], columns: NDArray[Any], how: str = "permutation") -> float:
    """The same from the totals of the values and of the classes alone.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import chance_information
    >>> round(chance_information(np.array([5, 4, 5]), np.array([9, 5])), 4)
    0.1299
    """
    if how not in ("permutation", "analytic"):
        raise OptionError(f"how={how!r} is unknown.", hint="give 'permutation' or 'analytic'.")
    rows, columns = (np.asarray(part, dtype=np.float64) for part in (rows, columns))
    rows, columns, n = rows[rows > 0], columns[columns > 0], float(rows.sum())
    if min(len(rows), len(columns)) < 2:
        return 0.0
    whole = (rows == np.rint(rows)).all() and (columns == np.rint(columns)).all()
    if how == "analytic" or not whole:
        return float((len(rows) - 1) * (len(columns) - 1) / (2 * n * np.log(2)))
    # values that occur equally often have equal cells: each pair of totals is summed once
    sizes, times = np.unique(rows, return_counts=True)
    kinds, often = np.unique(columns, return_counts=True)
    return float(
        sum(
            t * o * _expected_cell(a, b, n)
            for a, t in zip(sizes, times, strict=True)
            for b, o in zip(kinds, often, strict=True)
        )
    )


def _expected_cell(a: float, b: float, n: float) -> float:
    """The mean of (k/n) log₂(k n / a b) over hypergeometric k: a of n rows drawn, b of them marked."""
    from scipy.special import gammaln

    mean = a * b / n
    sd = np.sqrt(max(mean * (1 - b / n) * (n - a) / max(n - 1, 1), 0.0))
    low = max(1.0, a + b - n, np.floor(mean - 40 * sd - 40))  # beyond 40 deviations nothing is left to add
    high = min(a, b, np.ceil(mean + 40 * sd + 40))
    if low > high:
        return 0.0
    k = np.arange(low, high + 1)
    log_p = (
        gammaln(a + 1) + gammaln(b + 1) + gammaln(n - a + 1) + gammaln(n - b + 1) - gammaln(n + 1)
        - gammaln(k + 1) - gammaln(a - k + 1) - gammaln(b - k + 1) - gammaln(n - a - b + k + 1)
    )  # fmt: skip
    return float((np.exp(log_p) * k / n * np.log2(n * k / (a * b))).sum())
