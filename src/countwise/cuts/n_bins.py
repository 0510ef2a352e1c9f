"""Choice of the number of bins by leave-one-out likelihood."""

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
LEAST = -700.0  # replaces log 0, so that the score stays finite


def best_number(rule: Callable[[Values, int], Cuts], tally: Values) -> Cuts:
    """Return the cut points with the best leave-one-out likelihood over 1 to 50 bins; the fewest bins at a tie.

    With classes it is the likelihood of the class given the bin, with one pseudocount for each class in each bin.
    Without classes it is the likelihood of the values under the histogram, with one pseudocount divided equally among
    the bins. The cut points stay those of all rows.
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
    of = "log P(class | bin)" if supervised else "log-likelihood"
    k = len(best.edges) + 1
    found = f"{k} bin{'s' * (k > 1)}: best number from 1 to {most} by leave-one-out {of} ({number(best_score)})"
    return replace(best, notes=(found, *best.notes))


def _unit(tally: Values) -> float:
    """Return the weight of one row: 1 for integer weights, otherwise the mean weight of a value."""
    if all(weights.dtype.kind == "i" for _, weights in tally.filled):
        return 1.0
    entries = sum(len(values) for values, _ in tally.filled)
    return min(1.0, float(tally.n.sum()) / max(entries, 1))


def _density_score(tally: Values, cuts: Cuts) -> float:
    """Return the mean of log f(x), where f is the histogram of the other rows."""
    values: Any = tally.pooled[0]
    if len(values) < 2:
        return 0.0
    counts = tally.counts_in(cuts.edges).sum(axis=0) / _unit(tally)
    widths = np.diff(np.concatenate([[values[0]], cuts.edges, [values[-1]]]))
    widths = np.maximum(widths, 1e-12 * (values[-1] - values[0]))  # a bin that holds only the minimum has width 0
    n, k = counts.sum(), len(counts)
    with np.errstate(divide="ignore"):
        logs = np.log((np.maximum(counts - 1, 0) + 1 / k) / n) - np.log(widths)
    return float((counts * logs).sum() / n)


def leave_one_out_score(
    counts: NDArray[Any], pseudo: NDArray[Any] | float = 1.0, unit: float = 1.0, added: float | None = None
) -> float:
    """Return the mean over the rows of log P(class | value), in nats, estimated without the row itself.

    `pseudo` are the pseudocounts of each value in each class, `unit` is the weight of one row, and `added` what is
    added to the number of rows of a class: by default the sum of the pseudocounts.
    """
    n_vc = np.asarray(counts, dtype=np.float64) / unit
    each = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), n_vc.shape[:1])[:, None]
    n_c, mass = n_vc.sum(axis=0), float(each.sum()) if added is None else added
    if not n_c.sum() > 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(n_vc + each) - np.log(n_c + mass) + np.log(n_c)  # (values, classes)
        own = np.log(np.maximum(n_vc - 1 + each, 0)) - np.log(n_c - 1 + mass) + np.log(np.maximum(n_c - 1, 0))
        # a class without rows, or whose only row is excluded, has probability 0
        joint, own = (np.where(np.isnan(logs), -np.inf, logs) for logs in (joint, own))
        total = 0.0
        for c in range(n_vc.shape[1]):
            rest = np.delete(joint, c, axis=1)
            log_sum = np.logaddexp.reduce(np.column_stack([rest, own[:, c]]), axis=1)
            score = np.nan_to_num(own[:, c] - log_sum, nan=LEAST, neginf=LEAST)
            total += float((n_vc[:, c] * np.maximum(score, LEAST)).sum())
    return total / float(n_c.sum())
