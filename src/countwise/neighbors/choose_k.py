"""How many neighbors: leave-one-out of every k, from one search."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.neighbors.layout import RowLayout
from countwise.neighbors.search import FoundNeighbors
from countwise.neighbors.voting import nearness
from countwise.working import Grid

__all__ = ["choice_of_k", "left_out"]

_BLOCK = 1 << 12  # training rows asked at a time


def left_out(
    model: Any,
    k: float,
    start: int,
    stop: int,
    penalties: Floats | None = None,
    *,
    ties: bool = False,
) -> tuple[FoundNeighbors, Floats]:
    """The neighbors of some training rows among the others, and the weight of each.

    A weight of n is n copies: one of them is left out, the others are neighbors.
    """
    rows: RowLayout = model._search.rows
    own = model._search.weights
    asked = rows.slice(start, stop)
    found = model._search.nearest(asked, k + 1.0, penalties=penalties, ties=ties)
    found = found.only(~asked.unknown(model.metric_.law_)[found.owner])  # of which nothing is known, ask nobody
    weights = np.ones(len(found.ids)) if own is None else own[found.ids].copy()
    itself = found.ids == found.owner + start
    weights[itself] = np.maximum(weights[itself] - 1.0, 0.0)
    return found.only(weights > 0), weights[weights > 0]


def choice_of_k(model: Any) -> Grid:
    """The score of every k up to the most that are asked for: the share told right, or less the mean squared error.

    Equal scores are settled for the smaller k.
    """
    total = float(model._total)
    most = int(max(1, min(model.max_neighbors, np.ceil(total) - 1)))
    good = np.zeros(most)
    n = len(model._search)
    weight = np.ones(n) if model._search.weights is None else model._search.weights
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        found, own = left_out(model, float(most), start, stop)
        near = nearness(model.weights, found)
        for k in range(1, most + 1):
            judged = model._judged(found, found.counted(own, float(k)) * near, model._told[start:stop])
            good[k - 1] += float((weight[start:stop] * judged).sum())
    return Grid({"k": list(range(1, most + 1)), "score": (good / weight.sum()).tolist()})
