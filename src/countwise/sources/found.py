"""What is found of a relation before it is counted: the first rows, and its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from countwise.frames import Frame

__all__ = ["Classes", "Look"]


@dataclass(frozen=True, slots=True)
class Look:
    """What the first rows say of a relation.

    Parameters
    ----------
    means, middles, spreads : dict of str to float
        Mean, median and deviation of numbers in the first rows; 0 where there are none.
    distinct : dict of str to int
        How many values names have, at least.
    ids : dict of str to int
        The names that have a value of their own in most of the rows looked at: how many rows those were.
    varied : frozenset of str
        The numbers that hardly repeat in the first rows.
    """

    means: dict[str, float]
    middles: dict[str, float]
    spreads: dict[str, float]
    distinct: dict[str, int]
    ids: dict[str, int]
    varied: frozenset[str]


@dataclass(frozen=True, slots=True)
class Classes:
    """The values of the target, and the rows that have one.

    Parameters
    ----------
    frame : Frame
        A row for each value; without a target a single row and no column.
    weights : ndarray
        What each value weighs.
    rows, left_out : int
        Rows that count, and rows without a target.
    """

    frame: Frame
    weights: NDArray[Any]
    rows: int
    left_out: int
