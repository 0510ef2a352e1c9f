"""How many ranges: the number that predicts left-out rows best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.cuts._base import Cuts
from countwise.tallies import Values
from countwise.working.numbers import number

__all__ = ["LEAST", "MOST_BINS", "best_number", "leave_one_out_score"]

MOST_BINS = 50
LEAST = -700.0  # the log-probability of what is called impossible: a finite price for being wrong


def best_number(rule: Callable[[Values, int], Cuts], tally: Values) -> Cuts:
    """The cuts with the best leave-one-out likelihood, over 1 to 50 ranges; the fewest at a tie.

    With classes, the likelihood is that of the class given the range, with one imagined row for
    each class in each range; without, that of the values themselves under the histogram, with one
    imagined row spread over it. The edges stay those of all rows.
    """
    most = max(1, min(MOST_BINS, len(tally.pooled[0])))
    supervised = int(np.count_nonzero(tally.n > 0)) > 1
    best, best_score = rule(tally, 1), -np.inf
    for n_bins in range(1, most + 1):
        cuts = rule(tally, n_bins)
        if supervised:
            score = leave_one_out_score(tally.counts_in(cuts.edges).T, unit=_unit(tally))
        else:
            score = _density_score(tally, cuts)
        if score > best_score + 1e-12 * abs(best_score if np.isfinite(best_score) else 0):
            best, best_score = cuts, score
    of = "log P(class | range)" if supervised else "log-likelihood"
    k = len(best.edges) + 1
    found = f"{k} range{'s' * (k > 1)}, the best of 1 to {most} by leave-one-out {of}: {number(best_score)}"
    return replace(best, notes=(found, *best.notes))


def _unit(tally: Values) -> float:
    """What one row weighs: 1 where weights are whole, else the mean weight of a value."""
    if all(weights.dtype.kind == "i" for _, weights in tally.filled):
        return 1.0
    entries = sum(len(values) for values, _ in tally.filled)
    return min(1.0, float(tally.n.sum()) / max(entries, 1))


def _density_score(tally: Values, cuts: Cuts) -> float:
    """The mean of log f(x), f a histogram made from the other rows."""
    values: Any = tally.pooled[0]
    if len(values) < 2:
        return 0.0
    counts = tally.counts_in(cuts.edges).sum(axis=0) / _unit(tally)
    widths = np.diff(np.concatenate([[values[0]], cuts.edges, [values[-1]]]))
    widths = np.maximum(widths, 1e-12 * (values[-1] - values[0]))  # a range of the least value alone has no width
    n, k = counts.sum(), len(counts)
    with np.errstate(divide="ignore"):
        logs = np.log((np.maximum(counts - 1, 0) + 1 / k) / n) - np.log(widths)
    return float((counts * logs).sum() / n)


def leave_one_out_score(counts: NDArray[Any], pseudo: NDArray[Any] | float = 1.0, unit: float = 1.0) -> float:
    """The mean over the rows of log P(class | value), in nats, the row itself left out.

    `pseudo` are imagined counts of each value in each class, of rows that weigh `unit`.
    """
    n_vc = np.asarray(counts, dtype=np.float64) / unit
    added = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), n_vc.shape[:1])[:, None]
    n_c, mass = n_vc.sum(axis=0), float(added.sum())
    if not n_c.sum() > 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(n_vc + added) - np.log(n_c + mass) + np.log(n_c)  # (values, classes)
        own = np.log(np.maximum(n_vc - 1 + added, 0)) - np.log(n_c - 1 + mass) + np.log(np.maximum(n_c - 1, 0))
        # a class without rows, or of one row that is left out, made nothing
        joint, own = (np.where(np.isnan(logs), -np.inf, logs) for logs in (joint, own))
        total = 0.0
        for c in range(n_vc.shape[1]):
            rest = np.delete(joint, c, axis=1)
            log_sum = np.logaddexp.reduce(np.column_stack([rest, own[:, c]]), axis=1)
            score = np.nan_to_num(own[:, c] - log_sum, nan=LEAST, neginf=LEAST)
            total += float((n_vc[:, c] * np.maximum(score, LEAST)).sum())
    return total / float(n_c.sum())
