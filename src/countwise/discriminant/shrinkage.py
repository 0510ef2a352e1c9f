"""Shrinkage: a covariance drawn towards a simpler one, by a number or by how much its noise asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError
from countwise.tallies._cells import PatternMoments

__all__ = ["check_shrinkage", "ledoit_wolf_share", "oas_share", "shrunk", "shrunk_by_scale"]


def check_shrinkage(shrinkage: Any) -> None:
    """None, "auto", "oas", or a number from 0 to 1."""
    number = isinstance(shrinkage, int | float | np.number) and not isinstance(shrinkage, bool)
    if not (shrinkage is None or shrinkage in ("auto", "oas") if not number else 0 <= shrinkage <= 1):
        raise OptionError(
            f"shrinkage={shrinkage!r} is unknown.",
            hint="give None, a number from 0 to 1, 'auto' (Ledoit-Wolf) or 'oas'.",
        )


def shrunk(covariance: Floats, share: float) -> Floats:
    """(1 - share) Σ + share (tr Σ / d) I."""
    d = len(covariance)
    return (1 - share) * covariance + share * (np.trace(covariance) / d) * np.eye(d)


def shrunk_by_scale(covariance: Floats, share: float) -> Floats:
    """The same after every column was brought to deviation 1, and taken back."""
    sd = np.sqrt(np.diag(covariance))
    sd = np.where(sd > 0, sd, 1.0)
    return shrunk(covariance / np.outer(sd, sd), share) * np.outer(sd, sd)


def ledoit_wolf_share(cells: PatternMoments, c: int) -> float:
    """How much Ledoit and Wolf would shrink class c's covariance, each column brought to deviation 1 first.

    The noise of the covariance against its distance from (tr Σ / d) I; it needs the fourth moments.
    """
    assert cells.higher is not None  # noqa: S101 - they were asked for
    n, d = float(cells.n[c]), cells.mean.shape[1]
    if d == 1 or n <= 0:
        return 0.0
    covariance = cells.scattered()[c] / n
    sd = np.sqrt(np.diag(covariance))
    sd = np.where(sd > 0, sd, 1.0)
    if sd.min() < 1e-70:
        raise TableError(
            "Some numbers are too small for their fourth powers (below about 1e-70).",
            hint="rescale the columns; shrinkage='oas' does with squares.",
        )
    covariance = covariance / np.outer(sd, sd)
    fourth = cells.higher[1][c] / np.outer(sd**2, sd**2)
    mu = float(np.trace(covariance)) / d
    size = float((covariance**2).sum())
    noise = (float(fourth.sum()) / n - size) / (d * n)
    away = (size - 2 * mu * float(np.trace(covariance)) + d * mu**2) / d
    noise = min(noise, away)
    return 0.0 if noise <= 0 else noise / away


def oas_share(covariance: Floats, n: float) -> float:
    """How much the oracle-approximating formula shrinks, each column brought to deviation 1 first."""
    d = len(covariance)
    if d == 1:
        return 0.0
    sd = np.sqrt(np.diag(covariance))
    sd = np.where(sd > 0, sd, 1.0)
    r = covariance / np.outer(sd, sd)
    alpha, mu = float((r**2).mean()), float(np.trace(r)) / d
    above, below = alpha + mu**2, (n + 1.0) * (alpha - mu**2 / d)
    return 1.0 if below <= 0 else min(above / below, 1.0)
