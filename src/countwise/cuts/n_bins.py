"""How many ranges: as many as tell the most of rows that were not looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.cuts._base import Cuts
from countwise.measures import leave_one_out_score
from countwise.tallies import Values
from countwise.working.numbers import number

__all__ = ["MOST_BINS", "best_number"]

MOST_BINS = 50


def best_number(rule: Callable[[Values, int], Cuts], tally: Values) -> Cuts:
    """The cuts with the best leave-one-out likelihood, over 1 to 50 ranges; the fewest at a tie.

    With classes, the likelihood is that of the class given the range, with one imagined row for
    each class in each range; without, that of the values themselves under the histogram, with one
    imagined row spread over it. The edges stay those of all rows.

    Examples
    --------
    >>> from countwise.cuts import best_number, equal_frequency
    >>> from countwise import Values, samples
    >>> rain = samples.load("rain")
    >>> temp = Values.from_arrays(rain.X["temp"], rain.y)
    >>> best_number(equal_frequency, temp).notes
    ('3 ranges, the best of 1 to 6 by leave-one-out log P(class | range): -0.74126',)
    """
    most = max(1, min(MOST_BINS, len(tally.pooled[0])))
    supervised = int(np.count_nonzero(tally.n > 0)) > 1
    best, best_score = rule(tally, 1), -np.inf
    for n_bins in range(1, most + 1):
        cuts = rule(tally, n_bins)
        score = _class_score(tally, cuts) if supervised else _density_score(tally, cuts)
        if score > best_score + 1e-12 * abs(best_score if np.isfinite(best_score) else 0):
            best, best_score = cuts, score
    of = "log P(class | range)" if supervised else "log-likelihood"
    k = len(best.edges) + 1
    found = f"{k} range{'s' * (k > 1)}, the best of 1 to {most} by leave-one-out {of}: {number(best_score)}"
    return replace(best, notes=(found, *best.notes))


def _class_score(tally: Values, cuts: Cuts) -> float:
    return leave_one_out_score(tally.counts_in(cuts.edges).T, unit=_unit(tally))


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
