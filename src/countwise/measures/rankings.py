"""Measures of rankings by probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats

__all__ = ["area", "average_precision", "by_range", "precision_recall_points", "roc_points"]


def _running(score: Floats, positive: NDArray[Any], weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores in descending order, and the positive and negative rows with at least each score."""
    weight = np.ones(len(score)) if weight is None else weight
    order = np.argsort(-score, kind="stable")
    s, p, w = score[order], positive[order], weight[order]
    ends = np.flatnonzero(np.append(s[1:] != s[:-1], True)) if len(s) else np.empty(0, dtype=np.int64)
    return s[ends], np.cumsum(np.where(p, w, 0.0))[ends], np.cumsum(np.where(p, 0.0, w))[ends]


def area(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> float:
    """Return the area under the ROC curve; ties count half.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import area
    >>> area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    _, ups, downs = _running(score, positive, weight)
    if np.isnan(score).any() or not len(ups) or not ups[-1] > 0 or not downs[-1] > 0:
        return float("nan")
    # a positive row ranks above the negative rows with a lower score, and ties with those of equal score
    up, down = np.diff(ups, prepend=0.0), np.diff(downs, prepend=0.0)
    return float((up * (downs[-1] - downs + down / 2)).sum() / (ups[-1] * downs[-1]))


def roc_points(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the points of the ROC curve, from the highest threshold to the lowest.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import roc_points
    >>> false, true, thresholds = roc_points(np.array([0.2, 0.7]), np.array([False, True]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    """
    scores, ups, downs = _running(score, positive, weight)
    false, true = (_rates(np.concatenate([[0.0], rows])) for rows in (downs, ups))
    return false, true, np.concatenate([[np.inf], scores])


def precision_recall_points(
    score: Floats, positive: NDArray[Any], weight: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return precision and recall at each threshold, from the lowest threshold to the highest.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import precision_recall_points
    >>> precision, recall, _ = precision_recall_points(np.array([0.2, 0.7]), np.array([False, True]))
    >>> precision.tolist(), recall.tolist()
    ([0.5, 1.0, 1.0], [1.0, 1.0, 0.0])
    """
    scores, ups, downs = _running(score, positive, weight)
    found = ups + downs
    precision = np.divide(ups, found, out=np.zeros_like(ups), where=found > 0)
    recall = _rates(ups)
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), scores[::-1]


def _rates(running: Floats) -> Floats:
    """Divide cumulative totals by the last one; NaN if it is 0."""
    return running / running[-1] if len(running) and running[-1] > 0 else np.full(len(running), np.nan)


def average_precision(score: Floats, positive: NDArray[Any], weight: Floats | None = None) -> float:
    """Return the average precision: the mean of the precisions, weighted by the increase in recall.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import average_precision
    >>> round(average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])), 4)
    0.8333
    """
    precision, recall, _ = precision_recall_points(score, positive, weight)
    return float(-(np.diff(recall) * precision[:-1]).sum()) if len(score) else float("nan")


def by_range(p: Floats, right: NDArray[Any], weight: Floats | None, n_bins: int) -> tuple[Floats, Floats, Floats]:
    """Return the rows, the mean probability and the proportion of correct rows in each bin of a probability.

    The bins have equal width and include their upper edge. Rows without a probability are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.measures import by_range
    >>> rows, mean, correct = by_range(np.array([0.6, 0.8, 0.9]), np.array([False, True, True]), None, 2)
    >>> rows.tolist(), correct.round(4).tolist()
    ([0.0, 3.0], [0.0, 0.6667])
    """
    weight = np.ones(len(p)) if weight is None else weight
    if np.isnan(p).any():
        p, right, weight = (part[~np.isnan(p)] for part in (p, right, weight))
    at = np.clip(np.ceil(p * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    counted = (weight, weight * p, weight * right)
    rows, sums, hits = (np.asarray(np.bincount(at, w, n_bins), dtype=np.float64) for w in counted)
    safe = np.maximum(rows, 1e-300)
    return rows, sums / safe, hits / safe
