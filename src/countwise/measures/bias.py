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
    """The mean information, in bits, of an attribute with these values that is independent of the class: its bias.

    "permutation": the exact mean over all permutations of the rows (hypergeometric cells). "analytic": the first term
    of its expansion, (values - 1)(classes - 1) / (2 n ln 2), after Miller and Madow; used if counts are not whole.
    """
    table = np.asarray(counts, dtype=np.float64)
    return chance_information(table.sum(axis=1), table.sum(axis=0), how)


def chance_information(rows: NDArray[Any], columns: NDArray[Any], how: str = "permutation") -> float:
    """The same from the totals of the values and of the classes alone."""
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
