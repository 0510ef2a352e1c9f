"""Measures of contingency tables and of numeric attributes.

A contingency table has a row for each value of the attribute and a column for each class; several tables of the same
shape can be stacked. Information is measured in bits, and 0 log 0 is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.tallies import Values

__all__ = [
    "chance_information",
    "chi_square",
    "chi_square_tail",
    "entropy",
    "expected_counts",
    "expected_information",
    "gain_ratio",
    "gaussian_information",
    "gini",
    "gini_gain",
    "information_of_values",
    "mutual_information",
    "mvdm",
    "pmi",
    "pooled_rare",
    "sd_reduction",
    "symmetrical_uncertainty",
    "variance_reduction",
]


def _log2(x: Floats) -> Floats:
    """Return the binary logarithm, 0 where x is 0."""
    return np.log2(x, out=np.zeros_like(x), where=x > 0)


def _one_or_many(x: Any) -> Any:
    """Return the measure of one table as a float, that of several as an array."""
    return float(x) if np.ndim(x) == 0 else x


def _proportions(counts: NDArray[Any], axis: int | None) -> Floats:
    """Divide the counts by their sum; 0 if the sum is 0."""
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=axis, keepdims=True)
    return n / np.where(total > 0, total, 1.0)


def entropy(counts: NDArray[Any], axis: int | None = None) -> Any:
    """Return the entropy H = -Σ p log₂ p of the relative frequencies, in bits; 0 if there are no counts.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import entropy
    >>> round(entropy(np.array([9, 5])), 6)
    0.940286
    """
    p = _proportions(counts, axis)
    return _one_or_many(np.maximum(-(p * _log2(p)).sum(axis=axis), 0.0))


def mutual_information(counts: NDArray[Any]) -> Any:
    """Return the mutual information of attribute and class, in bits, also called information gain.

    I = Σ p(v, c) log₂ [p(v, c) / (p(v) p(c))] = H(class) - H(class | attribute)

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
    bits = (n / total * (_log2(n) + _log2(total) - (_log2(rows) + _log2(columns)))).sum(axis=(-2, -1))
    return _one_or_many(np.maximum(bits, 0.0))


def gain_ratio(counts: NDArray[Any]) -> Any:
    """Return the gain ratio I(attribute; class) / H(attribute); 0 for an attribute with a single value.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gain_ratio
    >>> round(gain_ratio(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.156428
    """
    return _quotient(mutual_information(counts), entropy(np.asarray(counts).sum(axis=-1), axis=-1))


def symmetrical_uncertainty(counts: NDArray[Any]) -> Any:
    """Return the symmetrical uncertainty 2 I / (H(attribute) + H(class)).

    It is 0 for independent variables and 1 if each determines the other.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import symmetrical_uncertainty
    >>> symmetrical_uncertainty(np.array([[4, 0], [0, 4]]))
    1.0
    """
    table = np.asarray(counts)
    both = entropy(table.sum(axis=-1), axis=-1) + entropy(table.sum(axis=-2), axis=-1)
    return _quotient(2 * mutual_information(table), both)


def _quotient(part: Any, whole: Any) -> Any:
    """Divide, with 0 where the divisor is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return _one_or_many(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def gini(counts: NDArray[Any], axis: int | None = None) -> Any:
    """Return the Gini impurity 1 - Σ p²; 0 if there are no counts.

    It is the probability that two rows drawn at random with replacement have different classes.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gini
    >>> gini(np.array([5, 5]))
    0.5
    """
    p = _proportions(counts, axis)
    return _one_or_many(np.where(p.sum(axis=axis) > 0, 1.0 - (p * p).sum(axis=axis), 0.0))


def gini_gain(counts: NDArray[Any]) -> Any:
    """Return the decrease of the Gini impurity of the class when the value is known.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gini_gain
    >>> gini_gain(np.array([[5, 0], [0, 5]]))
    0.5
    """
    n = np.asarray(counts, dtype=np.float64)
    proportions = _quotient(n.sum(axis=-1), n.sum(axis=(-2, -1))[..., None])
    return _one_or_many(
        np.maximum(gini(n.sum(axis=-2), axis=-1) - (proportions * gini(n, axis=-1)).sum(axis=-1), 0.0)
    )


def pmi(counts: NDArray[Any]) -> Floats:
    """Return the pointwise mutual information log₂ [p(v, c) / (p(v) p(c))] of each value and class, in bits.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import pmi
    >>> pmi(np.array([[3, 1], [1, 3]])).round(4).tolist()
    [[0.585, -1.0], [-1.0, 0.585]]
    """
    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(n * n.sum() / (n.sum(axis=1, keepdims=True) * n.sum(axis=0, keepdims=True))))


def expected_counts(counts: NDArray[Any]) -> Floats:
    """Return the expected count of each cell if attribute and class were independent: row total · column total / n.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import expected_counts
    >>> expected_counts(np.array([[10, 20], [20, 30]])).tolist()
    [[11.25, 18.75], [18.75, 31.25]]
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=(-2, -1), keepdims=True)
    return np.asarray(n.sum(axis=-1, keepdims=True) * n.sum(axis=-2, keepdims=True) / np.where(total > 0, total, 1.0))


def chi_square(counts: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Test attribute and class for independence by Pearson's chi-square test.

    The statistic is Σ (O - E)² / E. Rows and columns without counts are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import chi_square
    >>> statistic, freedom, p = chi_square(np.array([[10, 20], [20, 10]]))
    >>> round(statistic, 4), freedom, round(p, 4)
    (6.6667, 1, 0.0098)
    """
    n = np.asarray(counts, dtype=np.float64)
    rows, columns = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    expected = expected_counts(n)
    cells = np.divide((n - expected) ** 2, expected, out=np.zeros_like(n), where=expected > 0)
    kept = [np.maximum((part > 0).sum(axis=(-2, -1)) - 1, 0) for part in (rows, columns)]
    freedom = kept[0] * kept[1]
    statistic = np.where(freedom > 0, cells.sum(axis=(-2, -1)), 0.0)
    p_value = np.where(freedom > 0, chi_square_tail(statistic, np.maximum(freedom, 1)), np.nan)
    return _one_or_many(statistic), int(freedom) if n.ndim == 2 else freedom, _one_or_many(p_value)


def chi_square_tail(statistic: Any, freedom: Any) -> Any:
    """Return the probability that a chi-square variable is larger than a statistic.

    Examples
    --------
    >>> from countwise.measures import chi_square_tail
    >>> round(float(chi_square_tail(3.841, 1)), 3)
    0.05
    """
    from scipy.special import gammaincc

    return gammaincc(np.asarray(freedom) / 2, np.asarray(statistic) / 2)


def mvdm(counts: NDArray[Any], power: float = 1.0) -> Floats:
    """Return the modified value difference metric of each pair of values: Σ_c |P(c | v) - P(c | w)|^power.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import mvdm
    >>> mvdm(np.array([[3, 1], [1, 3]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=1, keepdims=True)
    posterior = np.divide(n, total, out=np.full_like(n, np.nan), where=total > 0)
    distances = np.zeros((len(n), len(n)))
    for c in range(n.shape[1]):  # class by class, to avoid an array of values by values by classes
        distances += np.abs(posterior[:, c, None] - posterior[:, c]) ** power
    return distances


def pooled_rare(counts: NDArray[Any], least: float = 5.0) -> Floats:
    """Merge rare values into one row, so that the chi-square test does not rely on tiny expected counts.

    A value is rare if its expected count in some class is below `least`. Values are merged, the rarest first, until
    the remaining values and the merged row have large enough expected counts.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import pooled_rare
    >>> pooled_rare(np.array([[20, 20], [2, 1], [1, 2], [3, 3]])).tolist()
    [[20.0, 20.0], [6.0, 6.0]]
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if table.size == 0:
        return table
    totals = table.sum(axis=1)
    enough = least * table.sum() / table.sum(axis=0).min()  # the row total that gives the smallest expected count
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
    """Return the expected mutual information, in bits, if attribute and class were independent.

    It is the bias of `mutual_information`.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import expected_information
    >>> round(expected_information(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.129867
    """
    table = np.asarray(counts, dtype=np.float64)
    return chance_information(table.sum(axis=1), table.sum(axis=0), how)


def chance_information(rows: NDArray[Any], columns: NDArray[Any], how: str = "permutation") -> float:
    """Return the expected mutual information under independence from the row and column totals.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import chance_information
    >>> round(chance_information(np.array([5, 4, 5]), np.array([9, 5])), 6)
    0.129867
    """
    if how not in ("permutation", "analytic"):
        raise OptionError(f"how must be 'permutation' or 'analytic', not {how!r}.")
    rows, columns = (np.asarray(part, dtype=np.float64) for part in (rows, columns))
    rows, columns, n = rows[rows > 0], columns[columns > 0], float(rows.sum())
    if min(len(rows), len(columns)) < 2:
        return 0.0
    whole = (rows == np.rint(rows)).all() and (columns == np.rint(columns)).all()
    if how == "analytic" or not whole:
        return float((len(rows) - 1) * (len(columns) - 1) / (2 * n * np.log(2)))
    # equal totals have equal expected terms, so each pair of totals is computed once
    sizes, times = np.unique(rows, return_counts=True)
    class_sizes, class_times = np.unique(columns, return_counts=True)
    return float(
        sum(
            t * o * _expected_cell(a, b, n)
            for a, t in zip(sizes, times, strict=True)
            for b, o in zip(class_sizes, class_times, strict=True)
        )
    )


def _expected_cell(a: float, b: float, n: float) -> float:
    """Return the mean of (k/n) log₂(k n / a b) for hypergeometric k: a of n rows drawn, b of them marked."""
    from scipy.special import gammaln

    mean = a * b / n
    sd = np.sqrt(max(mean * (1 - b / n) * (n - a) / max(n - 1, 1), 0.0))
    low = max(1.0, a + b - n, np.floor(mean - 40 * sd - 40))  # terms beyond 40 standard deviations are negligible
    high = min(a, b, np.ceil(mean + 40 * sd + 40))
    if low > high:
        return 0.0
    k = np.arange(low, high + 1)
    log_p = (
        gammaln(a + 1) + gammaln(b + 1) + gammaln(n - a + 1) + gammaln(n - b + 1) - gammaln(n + 1)
        - gammaln(k + 1) - gammaln(a - k + 1) - gammaln(b - k + 1) - gammaln(n - a - b + k + 1)
    )  # fmt: skip
    return float((np.exp(log_p) * k / n * np.log2(n * k / (a * b))).sum())


def information_of_values(tally: Values) -> float:
    """Return the mutual information of a numeric attribute and the class, in bits.

    Each distinct value is treated as a category.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> from countwise.measures import information_of_values
    >>> rain = samples.load("rain")
    >>> round(information_of_values(Discretizer("naive").fit(rain.X, rain.y).tallies_["temp"]), 4)
    1.0
    """
    values, _, weights = tally.merged
    if len(values) == 0:
        return 0.0
    n = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    at_value = np.add.reduceat(n, np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])))
    conditional = float((at_value * _log2(at_value)).sum() - (n * _log2(n)).sum()) / float(n.sum())
    return max(entropy(tally.n) - conditional, 0.0)


def gaussian_information(n: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any]) -> float:
    """Return the mutual information, in bits, of the class and an attribute that is Gaussian in each class.

    I = Σ_c P(c) ∫ f(x | c) log₂ [f(x | c) / f(x)] dx, computed by the trapezoidal rule with an error of about 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import gaussian_information
    >>> round(gaussian_information(np.array([50, 50]), np.array([0.0, 2.0]), np.array([1.0, 1.0])), 4)
    0.4859
    """
    occurs = np.asarray(n) > 0
    prior = np.asarray(n, dtype=np.float64)[occurs] / max(float(np.sum(n)), 1e-300)
    mu, sd = np.asarray(mean)[occurs], np.sqrt(np.asarray(variance)[occurs])
    if len(prior) < 2:
        return 0.0
    if not (sd > 0).all():
        return float("nan")
    # the grid is fine wherever a class has a small variance
    x = np.unique((mu + np.linspace(-12, 12, 2401)[:, None] * sd).ravel())
    log_f = -0.5 * ((x[:, None] - mu) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    log_mix = np.logaddexp.reduce(log_f + np.log(prior), axis=1)
    inner = (prior * np.exp(log_f) * (log_f - log_mix[:, None])).sum(axis=1)
    area = float(((inner[1:] + inner[:-1]) * np.diff(x)).sum() / 2)
    return max(area / float(np.log(2)), 0.0)


def sd_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """Return the standard deviation reduction SD(y) - Σ_v n_v/n SD(y | v), with the divisor N.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import sd_reduction
    >>> sd_reduction(np.array([2, 2]), np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    1.0
    """
    proportions, whole, parts = _variances(n, mean, m2)
    return _one_or_many(np.maximum(np.sqrt(whole) - (proportions * np.sqrt(parts)).sum(axis=-1), 0.0))


def variance_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """Return the variance reduction Var(y) - Σ_v n_v/n Var(y | v), with the divisor N.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import variance_reduction
    >>> variance_reduction(np.array([2, 2]), np.array([1.0, 5.0]), np.array([0.0, 0.0]))
    4.0
    """
    proportions, whole, parts = _variances(n, mean, m2)
    return _one_or_many(np.maximum(whole - (proportions * parts).sum(axis=-1), 0.0))


def _variances(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return the proportion of each value, the variance of the target, and its variance for each value."""
    n, mean, m2 = (np.asarray(part, dtype=np.float64) for part in (n, mean, m2))
    total = n.sum(axis=-1, keepdims=True)
    proportions = n / np.where(total > 0, total, 1.0)
    center = (proportions * mean).sum(axis=-1, keepdims=True)
    parts = np.divide(np.maximum(m2, 0.0), n, out=np.zeros_like(n), where=n > 0)
    return proportions, (proportions * (parts + (mean - center) ** 2)).sum(axis=-1), parts
