"""Which attributes tell of each other within the classes, where naive Bayes takes them for independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from countwise.attributes import Nominal
from countwise.errors import CountwiseError
from countwise.evaluation.suiting import Kinds
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
    from countwise.models.network_estimators import NetworkClassifier

    ground = kinds.ground
    if len(kinds.names) + len(kinds.numbers) < 2:
        return None
    try:
        model = NetworkClassifier("tan", types=kinds.types)
        told = model.fit(ground.rows.X, ground.rows.y, sample_weight=ground.weights).conditional_mi_
    except CountwiseError:
        return None
    free = [_freedom(kinds.schema[a], kinds.schema[b], len(ground.classes)) for a, b in
            zip(told["one"], told["other"], strict=True)]  # fmt: skip
    n = float(len(ground))
    chance = [df / (2 * n * math.log(2)) for df in free]
    breaks = [_surprising(bits, df, n, len(free)) for bits, df in zip(told["bits"], free, strict=True)]
    return Grid(
        {"one": told["one"], "other": told["other"], "bits": told["bits"], "by_chance": chance, "breaks": breaks}
    )


def _freedom(a: Any, b: Any, n_classes: int) -> int:
    """How many parameters a dependence has: a slope for each class, two of a Gaussian for each value, or a table."""
    values = [max(len(x.values) - 1, 1) if isinstance(x, Nominal) else None for x in (a, b)]
    one, other = values
    if one is None and other is None:
        return n_classes
    if one is None or other is None:
        return 2 * n_classes * (one or other or 1)
    return n_classes * one * other


def _surprising(bits: float, df: int, n: float, pairs: int) -> bool:
    from scipy.stats import chi2

    return bool(np.isfinite(bits) and chi2.sf(2 * math.log(2) * n * bits, df) < _SURE / max(pairs, 1))
