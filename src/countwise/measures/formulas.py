"""Impurities and gains written out as formulas, with the counts they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.measures.tables import entropy, gini, gini_gain, mutual_information, sd_reduction, variance_reduction
from countwise.working.formula import Formula
from countwise.working.numbers import number

__all__ = ["entropy_formula", "gain_formula", "gain_ratio_formula", "gini_formula", "sd_reduction_formula"]

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


def gain_formula(counts: NDArray[Any], name: str = "gain", measure: str = "entropy", missing: float = 0.0) -> Formula:
    """Return the decrease of the impurity of the class by the rows of a table (values, classes), written out.

    The measure is 'entropy' (information gain) or 'gini'. With rows whose value is missing, the gain is multiplied by
    the proportion of the other rows.

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
    """
    impurity, gain = _OF[measure]
    table = np.asarray(counts)
    whole, parts = impurity(table.sum(axis=-2)), impurity(table, axis=-1)
    return _reduction(name, whole, table.sum(axis=-1), parts, gain(table), missing)


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


def _reduction(name: str, whole: Any, n: Any, parts: Any, value: Any, missing: float) -> Formula:
    """Return whole - Σ (n_v/n)·part_v, without parts of weight 0."""
    total = float(n.sum())
    kept = [(float(a), float(b)) for a, b in zip(n, parts, strict=True) if a > 0]
    terms = (f"({number(a)}/{number(total)})·{number(b + 0.0)}" for a, b in kept)
    body, value = _joined((number(float(whole) + 0.0), *terms), " - "), float(value)
    if missing > 0:
        known = total / (total + missing)
        body, value = f"({number(total)}/{number(total + missing)})·({body})", known * value
    return Formula(f"{name} = {body} = {number(value + 0.0)}")


def _shares(counts: NDArray[Any]) -> list[str]:
    """Return the relative frequency of each count that is not 0, as a fraction in brackets."""
    total = number(float(np.sum(counts)))
    return [f"({number(float(n))}/{total})" for n in np.asarray(counts).ravel() if n > 0]


def _joined(terms: Iterable[str], sign: str) -> str:
    """Join terms; those beyond the first ones are left out."""
    every = list(terms)
    return sign.join(every if len(every) <= _MOST + 1 else [*every[:_MOST], "…"])
