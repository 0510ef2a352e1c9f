"""Impurities, gains and tests of independence written out as formulas, with the counts they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.measures.tables import (
    chi_square,
    entropy,
    expected_counts,
    gini,
    gini_gain,
    mutual_information,
    sd_reduction,
    symmetrical_uncertainty,
    variance_reduction,
)
from countwise.working.formula import Formula
from countwise.working.numbers import number

__all__ = [
    "chi_square_formula",
    "entropy_formula",
    "gain_formula",
    "gain_ratio_formula",
    "gini_formula",
    "mean_formula",
    "mutual_information_formula",
    "pmi_formula",
    "sd_reduction_formula",
    "sum_formula",
    "symmetrical_uncertainty_formula",
]

_MOST = 12  # terms that are written out
_OF: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "entropy": (entropy, mutual_information),
    "gini": (gini, gini_gain),
}


def entropy_formula(counts: NDArray[Any], name: str = "H") -> Formula:
    """Return the entropy of counts, written out.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import entropy_formula
    >>> entropy_formula(np.array([9, 5]), "H(play)")
    'H(play) = -(9/14)·log2(9/14) - (5/14)·log2(5/14) = 0.940286'
    """
    shares = _shares(counts)
    terms = _joined((f"{p}·log2{p}" for p in shares), " - ")
    return Formula(f"{name} = {f'-{terms}' if shares else '0'} = {number(entropy(np.asarray(counts)) + 0.0)}")


def gini_formula(counts: NDArray[Any], name: str = "Gini") -> Formula:
    """Return the Gini impurity of counts, written out.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gini_formula
    >>> gini_formula(np.array([9, 5]), "Gini(play)")
    'Gini(play) = 1 - (9/14)² - (5/14)² = 0.459184'
    """
    shares = _shares(counts)
    terms = _joined(("1", *(f"{p}²" for p in shares)), " - ") if shares else "0"
    return Formula(f"{name} = {terms} = {number(gini(np.asarray(counts)))}")


def gain_formula(
    counts: NDArray[Any], name: str = "gain", measure: str = "entropy", missing: float = 0.0, *, tried: int = 0
) -> Formula:
    """Return the decrease of the impurity of the class by the rows of a table (values, classes), written out.

    The measure is 'entropy' (information gain) or 'gini'. With rows whose value is missing, the gain is multiplied by
    the proportion of the other rows. For the best of several thresholds, log₂(tried)/n is subtracted as in C4.5.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gain_formula
    >>> gain_formula(np.array([[3, 4], [6, 1]]), "gain(humidity)")
    'gain(humidity) = 0.940286 - (7/14)·0.985228 - (7/14)·0.591673 = 0.151836'
    >>> gain_formula(np.array([[3, 4], [6, 1]]), "gain(humidity)", "gini")
    'gain(humidity) = 0.459184 - (7/14)·0.489796 - (7/14)·0.244898 = 0.0918367'
    >>> gain_formula(np.array([[3, 4], [6, 0]]), "gain(humidity)", missing=1)
    'gain(humidity) = (13/14)·(0.890492 - (7/13)·0.985228 - (6/13)·0) = 0.334271'
    >>> gain_formula(np.array([[1, 6], [4, 3]]), "gain(humidity)", tried=10)
    'gain(humidity) = 0.940286 - (7/14)·0.591673 - (7/14)·0.985228 - log2(10)/14 = -0.0854451'
    """
    impurity, gain = _OF[measure]
    table = np.asarray(counts)
    whole, parts = impurity(table.sum(axis=-2)), impurity(table, axis=-1)
    return _reduction(name, whole, table.sum(axis=-1), parts, gain(table), missing, tried)


def gain_ratio_formula(gain: float, split: float, name: str = "gain ratio") -> Formula:
    """Return the quotient of gain and split information, the entropy of the attribute, written out.

    Examples
    --------
    >>> from countwise.measures import gain_ratio_formula
    >>> gain_ratio_formula(0.24674981977443933, 1.5774062828523454, "gain ratio(outlook)")
    'gain ratio(outlook) = 0.24675/1.57741 = 0.156428'
    """
    if not split > 0:
        return Formula(f"{name} = 0")
    return Formula(f"{name} = {number(gain + 0.0)}/{number(split)} = {number(gain / split + 0.0)}")


def symmetrical_uncertainty_formula(counts: NDArray[Any], name: str = "SU") -> Formula:
    """Return the symmetrical uncertainty 2 I / (H(attribute) + H(class)) of a table, written out.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import symmetrical_uncertainty_formula
    >>> symmetrical_uncertainty_formula(np.array([[2, 3], [4, 0], [3, 2]]), "SU(outlook; play)")
    'SU(outlook; play) = 2·0.24675/(1.57741 + 0.940286) = 0.196013'
    """
    table = np.asarray(counts)
    one, other = entropy(table.sum(axis=1)), entropy(table.sum(axis=0))
    if not one + other > 0:
        return Formula(f"{name} = 0")
    shared = number(mutual_information(table) + 0.0)
    value = number(symmetrical_uncertainty(table) + 0.0)
    return Formula(f"{name} = 2·{shared}/({number(one + 0.0)} + {number(other + 0.0)}) = {value}")


def chi_square_formula(counts: NDArray[Any], name: str = "χ²") -> Formula:
    """Return Pearson's statistic Σ (O - E)²/E of a table (values, classes), written out.

    The expected count E of a cell is its row total times its column total, divided by the total.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import chi_square_formula
    >>> chi_square_formula(np.array([[10, 20], [20, 10]]))
    'χ² = (10 - 15)²/15 + (20 - 15)²/15 + (20 - 15)²/15 + (10 - 15)²/15 = 6.66667'
    """
    table = np.asarray(counts, dtype=np.float64)
    expected = expected_counts(table)
    cells = zip(table[expected > 0], expected[expected > 0], strict=True)
    terms = [f"({number(float(o))} - {number(float(e))})²/{number(float(e))}" for o, e in cells]
    return sum_formula(terms, chi_square(table)[0], name)


def mutual_information_formula(counts: NDArray[Any], name: str = "I") -> Formula:
    """Return the mutual information Σ p(v, c) log₂ [p(v, c) / (p(v) p(c))] of a table (values, classes), written out.

    Cells without rows are left out: 0 log 0 is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import mutual_information_formula
    >>> mutual_information_formula(np.array([[3, 0], [1, 4]]))
    'I = (3/8)·log2((3·8)/(3·4)) + (1/8)·log2((1·8)/(5·4)) + (4/8)·log2((4·8)/(5·4)) = 0.548795'
    """
    table = np.asarray(counts, dtype=np.float64)
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), number(float(table.sum()))
    terms = [
        f"({number(float(table[v, c]))}/{total})·{_log_of_cell(table[v, c], rows[v], columns[c], total)}"
        for v, c in np.argwhere(table > 0)
    ]
    return sum_formula(terms, mutual_information(table), name)


def pmi_formula(n: float, row: float, column: float, total: float, name: str = "PMI") -> Formula:
    """Return the pointwise mutual information log₂ (n total / (row column)) of a cell of a table, written out.

    Parameters are the count of the cell, its row total, its column total and the total.

    Examples
    --------
    >>> from countwise.measures import pmi_formula
    >>> pmi_formula(3, 5, 5, 14, "PMI(Sunny, No)")
    'PMI(Sunny, No) = log2((3·14)/(5·5)) = 0.748461'
    >>> pmi_formula(0, 4, 5, 14)
    'PMI = log2((0·14)/(4·5)) = -∞'
    """
    if not (row > 0 and column > 0):
        return Formula(f"{name} undefined")
    value = number(float(np.log2(n * total / (row * column))) + 0.0) if n > 0 else "-∞"
    return Formula(f"{name} = {_log_of_cell(n, row, column, number(float(total)))} = {value}")


def _log_of_cell(n: Any, row: Any, column: Any, total: str) -> str:
    return f"log2(({number(float(n))}·{total})/({number(float(row))}·{number(float(column))}))"


def sum_formula(terms: Iterable[str], value: float, name: str) -> Formula:
    """Return a sum written out; terms beyond the first twelve are left out.

    Examples
    --------
    >>> from countwise.measures import sum_formula
    >>> sum_formula(["1/2", "1/4"], 0.75, "p")
    'p = 1/2 + 1/4 = 0.75'
    """
    body, total = _joined(terms, " + "), number(value + 0.0)
    return Formula(f"{name} = {total}" if body in ("", total) else f"{name} = {body} = {total}")


def mean_formula(values: NDArray[Any], name: str = "mean") -> Formula:
    """Return the mean of values written out; values beyond the first twelve are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import mean_formula
    >>> mean_formula(np.array([0.25, 0.5]), "average gain")
    'average gain = (1/2)·(0.25 + 0.5) = 0.375'
    """
    terms = _joined((number(float(x) + 0.0) for x in values), " + ")
    return Formula(f"{name} = (1/{len(values)})·({terms}) = {number(float(np.mean(values)) + 0.0)}")


def sd_reduction_formula(
    n: NDArray[Any],
    mean: NDArray[Any],
    m2: NDArray[Any],
    name: str = "SD reduction",
    *,
    variance: bool = False,
    missing: float = 0.0,
) -> Formula:
    """Return the reduction of the standard deviation (or variance) of a numeric target, written out.

    Each part has a weight n, a mean and a sum of squared deviations m2; the divisor is N. With rows whose value is
    missing, the reduction is multiplied by the proportion of the other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import sd_reduction_formula
    >>> sd_reduction_formula(np.array([2, 2]), np.array([2.0, 6.0]), np.array([2.0, 8.0]), "SDR(wind)")
    'SDR(wind) = 2.54951 - (2/4)·1 - (2/4)·2 = 1.04951'
    """
    n, mean, m2 = (np.asarray(part, dtype=np.float64) for part in (n, mean, m2))
    total = max(float(n.sum()), 1e-300)
    center = float((n * mean).sum()) / total
    whole = float((np.maximum(m2, 0.0) + n * (mean - center) ** 2).sum()) / total
    parts = np.divide(np.maximum(m2, 0.0), n, out=np.zeros_like(n), where=n > 0)
    if variance:
        return _reduction(name, whole, n, parts, variance_reduction(n, mean, m2), missing)
    return _reduction(name, np.sqrt(whole), n, np.sqrt(parts), sd_reduction(n, mean, m2), missing)


def _reduction(name: str, whole: Any, n: Any, parts: Any, value: Any, missing: float, tried: int = 0) -> Formula:
    """Return whole - Σ (n_v/n)·part_v, without parts of weight 0; a difference of rounding errors is 0."""
    total = float(n.sum())
    kept = [(float(a), float(b)) for a, b in zip(n, parts, strict=True) if a > 0]
    terms = (f"({number(a)}/{number(total)})·{number(b + 0.0)}" for a, b in kept)
    body = _joined((number(float(whole) + 0.0), *terms), " - ")
    value = float(value) if abs(value) > 1e-12 * whole else 0.0
    if missing > 0:
        known = total / (total + missing)
        body, value = f"({number(total)}/{number(total + missing)})·({body})", known * value
    if tried > 1:
        body += f" - log2({tried})/{number(total + missing)}"
        value -= float(np.log2(tried)) / (total + missing)
    return Formula(f"{name} = {body} = {number(value + 0.0)}")


def _shares(counts: NDArray[Any]) -> list[str]:
    """Return the relative frequency of each count that is not 0, as a fraction in brackets."""
    total = number(float(np.sum(counts)))
    return [f"({number(float(n))}/{total})" for n in np.asarray(counts).ravel() if n > 0]


def _joined(terms: Iterable[str], sign: str) -> str:
    """Join terms; those beyond the first ones are left out."""
    every = list(terms)
    return sign.join(every if len(every) <= _MOST + 1 else [*every[:_MOST], "…"])
