"""Choosing: which attribute a node asks.

At equal scores the attribute that stands first in the table is taken, and of one attribute the lowest cut;
the order of the rows never matters. Scores are equal if they differ by less than 1e-12 of the node's
impurity (1e-10 for variances; 1e-7 for deviations, which keep half of the digits of the squares that they come from).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from countwise._typing import Flags, Floats, Indices
from countwise.trees.level import Level, Offers

if TYPE_CHECKING:
    from countwise.trees.growth import Settings

__all__ = ["Chosen", "choose"]


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The column that each node of a level asks (-1 for none), and what all attributes offered it."""

    column: Indices
    gains: Floats
    scores: Floats
    cuts: Floats

    def of(self, nodes: Flags) -> Chosen:
        """The same of some nodes."""
        return Chosen(self.column[nodes], self.gains[nodes], self.scores[nodes], self.cuts[nodes])


def choose(
    offers: Sequence[Offers], places: Sequence[int], n_attributes: int, level: Level, settings: Settings
) -> Chosen:
    """Compare the offers of all columns at each node."""
    gains, scores, cuts = (np.full((len(level), n_attributes), np.nan) for _ in range(3))
    for offer, place in zip(offers, places, strict=True):
        gains[:, place], cuts[:, place] = offer.gain, offer.cut
    n, impurity = level.weights, np.asarray(level.criterion.impurity(level.cells))
    tolerance = np.asarray(level.criterion.tolerance(impurity, n))
    gains[np.abs(gains) <= tolerance[:, None]] = 0.0  # what rounding leaves of nothing
    if level.criterion.ratio:
        for offer, place in zip(offers, places, strict=True):
            assert offer.information is not None  # noqa: S101 - asked for, for this criterion
            scores[:, place] = _ratio(offer)
        allowed = _worth(gains, settings.many, tolerance)
    else:
        scores[:] = gains
        allowed = ~np.isnan(gains)
    allowed &= gains >= settings.min_gain - tolerance[:, None]
    best = np.where(allowed, scores, -np.inf).max(axis=1, initial=-np.inf)
    equal = allowed & (scores >= (best - tolerance)[:, None])
    first = np.argmax(equal, axis=1)
    column_of = np.full(n_attributes, -1)
    column_of[list(places)] = np.arange(len(places))
    return Chosen(np.where(equal.any(axis=1), column_of[first], -1), gains, scores, cuts)


def _ratio(offer: Offers) -> Floats:
    """The gain over what the split itself tells; 0 where that is nothing."""
    assert offer.information is not None  # noqa: S101 - see above
    ratio = np.divide(offer.gain, offer.information, out=np.zeros_like(offer.gain), where=offer.information > 1e-12)
    return np.where(np.isnan(offer.gain), np.nan, ratio)


def _worth(gains: Floats, many: Flags, tolerance: Floats) -> Flags:
    """C4.5's guard: a tiny gain over a tinier split must not win, so a gain must reach the average one.

    The average is that of all attributes by which a node could be split, also of those that gain nothing. Attributes
    with very many values do not count for it, unless all have: they gain much and mean little. What gains nothing is
    never taken.
    """
    there = ~np.isnan(gains)
    counted = there & ~many
    counted = np.where(counted.any(axis=1, keepdims=True), counted, there)
    total = np.where(counted, gains, 0.0).sum(axis=1)
    average = total / np.maximum(counted.sum(axis=1), 1)
    return np.asarray((gains > tolerance[:, None]) & (gains >= (average * (1 - 1e-9) - tolerance)[:, None]))
