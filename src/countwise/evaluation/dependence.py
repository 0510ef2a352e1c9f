"""Which attributes tell of each other within the classes, where naive Bayes takes them for independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from countwise.data.attributes import Nominal
from countwise.distributions.bandwidths import rows_behind
from countwise.errors import CountwiseError
from countwise.evaluation.learners import Kinds
from countwise.working import Grid

__all__ = ["broken_pairs"]

_SURE = 0.01  # the chance, over all pairs together, of calling dependent what is not


def broken_pairs(kinds: Kinds) -> Grid | None:
    """What each two attributes tell of each other within the classes, in bits, the most first.

    Bits are never below 0, and chance alone makes them some: `by_chance` says how many they would be on average if
    the two were independent, and `breaks` whether they are more than that explains.

    Parameters
    ----------
    kinds : Kinds
        The table.

    Returns
    -------
    Grid or None
        None if there are no two attributes, or no network can be learned.
    """
    from countwise.network.classifier import BayesNetworkClassifier

    ground = kinds.ground
    if len(kinds.names) + len(kinds.numbers) < 2:
        return None
    try:
        model = BayesNetworkClassifier("tan", types=kinds.types)
        told = model.fit(ground.rows.X, ground.rows.y, sample_weight=ground.weights).conditional_mi_
    except CountwiseError:
        return None
    pairs = list(zip(told["one"], told["other"], strict=True))
    names = {name for pair in pairs for name in pair}  # each column is looked at once, and not with every other
    met, there = {name: kinds.met(name) for name in names}, {name: kinds.there(name) for name in names}
    free = [_freedom(met[a], met[b], len(ground.classes)) for a, b in pairs]
    rows = [_rows_behind(there[a] & there[b], ground.weights) for a, b in pairs]
    chance = [df / (2 * n * math.log(2)) if n > 0 else math.nan for df, n in zip(free, rows, strict=True)]
    every = zip(told["bits"], free, rows, strict=True)
    breaks = [df > 0 and n > 0 and _surprising(bits, df, n, len(free)) for bits, df, n in every]
    return Grid(
        {"one": told["one"], "other": told["other"], "bits": told["bits"], "by_chance": chance, "breaks": breaks}
    )


def _rows_behind(both: Any, weights: Any) -> float:
    """How many rows have both cells; of weights that are no copies, the number of rows alike."""
    return float(both.sum()) if weights is None else rows_behind(weights[both])


def _freedom(a: Any, b: Any, n_classes: int) -> int:
    """How many parameters a dependence has: a slope for each class, two of a Gaussian for each value, or a table."""
    values = [max(len(x.values) - 1, 0) if isinstance(x, Nominal) else None for x in (a, b)]
    one, other = values
    if one is None and other is None:
        return n_classes
    if one is None or other is None:
        return 2 * n_classes * (other if one is None else one)  # type: ignore[operator]
    return n_classes * one * other


def _surprising(bits: float, df: int, n: float, pairs: int) -> bool:
    from scipy.stats import chi2

    return bool(np.isfinite(bits) and chi2.sf(2 * math.log(2) * n * bits, df) < _SURE / max(pairs, 1))
