"""How well probabilities rank rows, and how well they keep what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats

__all__ = ["area", "average_precision", "by_range", "precision_recall_points", "roc_points"]


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
    false, true = (_shares(np.concatenate([[0.0], rows])) for rows in (downs, ups))
    return false, true, np.concatenate([[np.inf], scores])


def precision_recall_points(
    score: Floats, positive: NDArray[Any], weight: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Precision and recall at each threshold, from the lowest on; the last point, 1 and 0, has none."""
    scores, ups, downs = _running(score, positive, weight)
    found = ups + downs
    precision = np.divide(ups, found, out=np.zeros_like(ups), where=found > 0)
    recall = _shares(ups)
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), scores[::-1]


def _shares(running: Floats) -> Floats:
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
