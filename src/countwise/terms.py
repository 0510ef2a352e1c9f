"""The terms of an answer as plain data: what an engine, or a query without Python, adds up for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cut", "Lookup", "Normal", "Presence", "Rate", "Scoring"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A name: log P(value | class), shape (values, classes); a value that is not listed adds nothing."""

    column: str
    values: tuple[Any, ...]
    logs: Floats


@dataclass(frozen=True, eq=False)
class Cut:
    """A number by its range (lo, hi]: log P(range | class), shape (ranges, classes)."""

    column: str
    edges: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class Normal:
    """A number by a normal law: log_norm - ((x - mean) · inverse_sd)² / 2, each of shape (classes,)."""

    column: str
    mean: Floats
    inverse_sd: Floats
    log_norm: Floats


@dataclass(frozen=True, eq=False)
class Rate:
    """A count by a Poisson law, less what is the same in all classes: x · log_rate - rate, of shape (classes,)."""

    column: str
    log_rate: Floats
    rate: Floats


@dataclass(frozen=True, eq=False)
class Presence:
    """Whether a cell is there: log P(there | class) and log P(missing | class)."""

    column: str
    there: Floats
    missing: Floats
    number: bool = False


@dataclass(frozen=True, eq=False)
class Scoring:
    """All that is added up.

    Parameters
    ----------
    target : str
        What is told.
    classes : tuple
        Its values.
    prior : ndarray, shape (classes,)
        Log P(class).
    terms : tuple of terms
    """

    target: str
    classes: tuple[Any, ...]
    prior: Floats
    terms: tuple[Any, ...]
