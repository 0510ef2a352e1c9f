"""Votes: by how much a neighbor counts for its distance, and the class that has most of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.neighbors.search import FoundNeighbors

__all__ = ["WEIGHTS", "Voting", "nearness"]

WEIGHTS = ("uniform", "distance", "squared")


def nearness(weights: str | Callable[[Any], Any], found: FoundNeighbors) -> Floats:
    """By how much each neighbor counts for its distance alone."""
    d = found.distances
    if callable(weights):
        told = np.asarray(weights(d), dtype=np.float64)
        if told.shape != d.shape or not (np.isfinite(told).all() and (told >= 0).all()):
            raise OptionError("The function of weights must give a number of 0 or more for each distance.")
        return told
    if weights == "uniform":
        return np.ones(len(d))
    same = np.zeros(len(found.starts) - 1, dtype=bool)
    np.logical_or.at(same, found.owner, d == 0)
    # rows at distance 0 are the same row: only they count where there are any
    with np.errstate(divide="ignore", over="ignore"):
        near = 1.0 / d if weights == "distance" else 1.0 / (d * d)
    near = np.minimum(near, np.finfo(np.float64).max / 1e20)  # so that sums do not overflow
    return np.where(same[found.owner], (d == 0).astype(np.float64), near)


class Voting:
    """Rows that vote for their classes."""

    target_: Any
    classes_: NDArray[Any]
    class_count_: Floats
    prior_: Floats
    _told: NDArray[Any]
    _weights: NDArray[Any] | None
    _label_type: Any
    _counted: Any  # the votes of neighbors, a method of the model

    def _describe(self) -> None:
        self.classes_ = self.target_.labels(self._label_type)
        counts = np.bincount(self._told, weights=self._weights, minlength=len(self.classes_)).astype(np.float64)
        self.class_count_ = counts
        self.prior_ = counts / counts.sum()

    def votes(self, found: FoundNeighbors, counted: Floats | None = None) -> Floats:
        """The votes for each class, (queries, classes)."""
        n, k = len(found.starts) - 1, len(self.classes_)
        cells = found.owner * k + self._told[found.ids]
        counted = self._counted(found) if counted is None else counted
        return np.asarray(np.bincount(cells, weights=counted, minlength=n * k).reshape(n, k), dtype=np.float64)

    def _shares(self, found: FoundNeighbors, counted: Floats | None = None) -> Floats:
        votes = self.votes(found, counted)
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), self.prior_)

    def _best(self, found: FoundNeighbors, counted: Floats | None = None) -> NDArray[np.intp]:
        """The class with most votes; of equals the one that has the nearest row, then the first."""
        shares = self._shares(found, counted).round(12)
        tied = shares >= shares.max(axis=1, keepdims=True)
        best = np.argmax(tied, axis=1)
        several = np.flatnonzero(tied.sum(axis=1) > 1)
        for i in several.tolist():
            part = slice(found.starts[i], found.starts[i + 1])
            among = tied[i][self._told[found.ids[part]]]
            if among.any():  # they stand in the order of distance, then class
                best[i] = self._told[found.ids[part]][int(np.argmax(among))]
        return np.asarray(best)
