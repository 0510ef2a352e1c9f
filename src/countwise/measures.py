"""Measures, each written once: of tables of counts, of numbers, and of how well probabilities rank rows.

A table of counts has a row for each value of the attribute and a column for each class; several
tables of one shape can be stacked. Information is in bits, 0 log 0 is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.tallies import Values

__all__ = [
    "area",
    "average_precision",
    "by_range",
    "chance_information",
    "chi_square",
    "entropy",
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
    "precision_recall_points",
    "roc_points",
    "sd_reduction",
    "symmetrical_uncertainty",
    "variance_reduction",
]


def _log2(x: Floats) -> Floats:
    """The logarithm, with 0 where x is 0: what it is multiplied by is 0 there."""
    return np.log2(x, out=np.zeros_like(x), where=x > 0)


def _one_or_many(x: Any) -> Any:
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
    return _one_or_many(np.maximum(-(p * _log2(p)).sum(axis=axis), 0.0))


def mutual_information(counts: NDArray[Any]) -> Any:
    """The mutual information of attribute and class, in bits: the information gain.

    I = Σ p(v, c) log₂ [p(v, c) / (p(v) p(c))] = H(class) - H(class | attribute)
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=(-2, -1), keepdims=True)
    total = np.where(total > 0, total, 1.0)
    rows, columns = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    bits = (n / total * (_log2(n) + _log2(total) - (_log2(rows) + _log2(columns)))).sum(axis=(-2, -1))
    return _one_or_many(np.maximum(bits, 0.0))


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
    return _one_or_many(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def gini(counts: NDArray[Any], axis: int | None = None) -> Any:
    """1 - Σ p²: the probability that two rows drawn at random are not of one class; 0 where nothing was counted."""
    p = _shares(counts, axis)
    return _one_or_many(np.where(p.sum(axis=axis) > 0, 1.0 - (p * p).sum(axis=axis), 0.0))


def gini_gain(counts: NDArray[Any]) -> Any:
    """By how much knowing the value lowers the Gini impurity of the class."""
    n = np.asarray(counts, dtype=np.float64)
    shares = _quotient(n.sum(axis=-1), n.sum(axis=(-2, -1))[..., None])
    return _one_or_many(np.maximum(gini(n.sum(axis=-2), axis=-1) - (shares * gini(n, axis=-1)).sum(axis=-1), 0.0))


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
    return _one_or_many(statistic), int(freedom) if n.ndim == 2 else freedom, _one_or_many(p_value)


def mvdm(counts: NDArray[Any], power: float = 1.0) -> Floats:
    """d(v, w) = Σ_c |P(c | v) - P(c | w)|^power of each two values (004); NaN for a value that no row has."""
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=1, keepdims=True)
    shares = np.divide(n, total, out=np.full_like(n, np.nan), where=total > 0)
    distances = np.zeros((len(n), len(n)))
    for c in range(n.shape[1]):  # class by class: no table of values by values by classes
        distances += np.abs(shares[:, c, None] - shares[:, c]) ** power
    return distances


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


def information_of_values(tally: Values) -> float:
    """The mutual information of a numeric attribute and the class, each value on its own, in bits."""
    values, _, weights = tally.merged
    if len(values) == 0:
        return 0.0
    n = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    at_value = np.add.reduceat(n, np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])))
    unsure = float((at_value * _log2(at_value)).sum() - (n * _log2(n)).sum()) / float(n.sum())
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
    return _one_or_many(np.maximum(np.sqrt(whole) - (shares * np.sqrt(parts)).sum(axis=-1), 0.0))


def variance_reduction(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> Any:
    """The same of the variance (over N)."""
    shares, whole, parts = _variances(n, mean, m2)
    return _one_or_many(np.maximum(whole - (shares * parts).sum(axis=-1), 0.0))


def _variances(n: NDArray[Any], mean: NDArray[Any], m2: NDArray[Any]) -> tuple[Any, Any, Any]:
    """The share of each value, the variance of all numbers, and the variance at each value."""
    n, mean, m2 = (np.asarray(part, dtype=np.float64) for part in (n, mean, m2))
    total = n.sum(axis=-1, keepdims=True)
    shares = n / np.where(total > 0, total, 1.0)
    center = (shares * mean).sum(axis=-1, keepdims=True)
    parts = np.divide(np.maximum(m2, 0.0), n, out=np.zeros_like(n), where=n > 0)
    return shares, (shares * (parts + (mean - center) ** 2)).sum(axis=-1), parts


def _running(score: Floats, positive: NDArray[Any], weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """From the highest score on: the distinct scores, the positive rows and the others that have at least it."""
    weight = np.ones(len(score)) if weight is None else weight
    order = np.argsort(-score, kind="stable")
    s, p, w = score[order], positive[order], weight[order]
    ends = np.flatnonzero(np.append(s[1:] != s[:-1], True)) if len(s) else np.empty(0, dtype=np.int64)
    return s[ends], np.cumsum(np.where(p, w, 0.0))[ends], np.cumsum(np.where(p, 0.0, w))[ends]


def area(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> float:
    """The area under the ROC curve; rows of equal score count half; NaN for rows of one kind or a score of NaN."""
    _, ups, downs = _running(score, positive, weight)
    if np.isnan(score).any() or not len(ups) or not ups[-1] > 0 or not downs[-1] > 0:
        return float("nan")
    # a positive row ranks before the others that come after its score, and ties with those that share it
    up, down = np.diff(ups, prepend=0.0), np.diff(downs, prepend=0.0)
    return float((up * (downs[-1] - downs + down / 2)).sum() / (ups[-1] * downs[-1]))


def roc_points(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """The ROC curve: false and true positive rates at each threshold, from the highest on.

    The first threshold is infinite: no row is called positive. Rates of rows that there are none of are NaN.
    """
    scores, ups, downs = _running(score, positive, weight)
    false, true = (_rates(np.concatenate([[0.0], rows])) for rows in (downs, ups))
    return false, true, np.concatenate([[np.inf], scores])


def precision_recall_points(
    score: Floats, positive: NDArray[Any], weight: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Precision and recall at each threshold, from the lowest on; the last point, 1 and 0, has none."""
    scores, ups, downs = _running(score, positive, weight)
    found = ups + downs
    precision = np.divide(ups, found, out=np.zeros_like(ups), where=found > 0)
    recall = _rates(ups)
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), scores[::-1]


def _rates(running: Floats) -> Floats:
    """Running totals as shares of the last; NaN if there is nothing to share."""
    return running / running[-1] if len(running) and running[-1] > 0 else np.full(len(running), np.nan)


def average_precision(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> float:
    """The mean of the precision, each weighted by the recall that it adds; NaN if no row is positive."""
    precision, recall, _ = precision_recall_points(score, positive, weight)
    return float(-(np.diff(recall) * precision[:-1]).sum()) if len(score) else float("nan")


def by_range(p: Floats, right: NDArray[Any], weight: Floats | None, n_bins: int) -> tuple[Floats, Floats, Floats]:
    """By range of a probability: rows, mean probability, share of rows that are right; 0 where there are no rows.

    Ranges are of equal width and hold their upper end; rows without a probability are left out.
    """
    weight = np.ones(len(p)) if weight is None else weight
    if np.isnan(p).any():
        p, right, weight = (part[~np.isnan(p)] for part in (p, right, weight))
    at = np.clip(np.ceil(p * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    counted = (weight, weight * p, weight * right)
    rows, sums, hits = (np.asarray(np.bincount(at, w, n_bins), dtype=np.float64) for w in counted)
    safe = np.maximum(rows, 1e-300)
    return rows, sums / safe, hits / safe
