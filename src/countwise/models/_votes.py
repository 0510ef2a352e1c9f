"""Votes: by how much a neighbor counts for its distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.distances.search import Found
from countwise.errors import OptionError

__all__ = ["WEIGHTS", "nearness"]

Floats = NDArray[np.float64]
WEIGHTS = ("uniform", "distance", "squared")


def nearness(weights: str | Callable[[Any], Any], found: Found) -> Floats:
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
