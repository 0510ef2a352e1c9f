"""IB3: rows with a record of how they tell others, kept if it is good beyond chance and dropped if it is bad."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from countwise._typing import Flags, Floats, Indices

__all__ = ["AcceptanceRecords", "interval"]


def interval(right: Any, used: Any, confidence: float) -> tuple[Any, Any]:
    """The limits within which a share lies, given how often it was so (Wilson's interval).

    Parameters
    ----------
    right, used : array or float
        How often, of how many.
    confidence : float
        Above 0 and below 1, of both limits together.
    """
    z = float(ndtri(0.5 + confidence / 2))
    none = np.asarray(used) <= 0
    n = np.where(none, 1.0, used)
    p = np.asarray(right, dtype=np.float64) / n
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return np.where(none, 0.0, low), np.where(none, 1.0, high)


class AcceptanceRecords:
    """The rows kept so far, and their records.

    Parameters
    ----------
    n : int
        How many rows there are.
    told : ndarray
        The class of each.
    n_classes : int
        How many classes.
    accept, drop : float
        The confidence with which a record must be better, or worse, than the share of its class.
    """

    def __init__(self, n: int, told: NDArray[Any], n_classes: int, accept: float, drop: float) -> None:
        self.told, self.accept, self.drop = told, accept, drop
        self.kept = np.zeros(n, dtype=bool)
        self.dropped = np.zeros(n, dtype=bool)
        self.teller = np.full(n, -1)
        self.used, self.right = np.zeros(n), np.zeros(n)
        self.met = np.zeros(n_classes)

    def meet(self, i: int, sums: Floats) -> None:
        """A row comes in turn: the kept rows tell it, and their records follow."""
        here = np.flatnonzero(self.kept)
        if len(here) == 0:
            self.kept[i] = True
            self.met[self.told[i]] += 1
            return
        near = sums[here]
        good = self._acceptable(here)
        # without an acceptable row the nearest tells, so that nothing is left to chance
        pool = here[good] if good.any() else here
        best = pool[int(np.argmin(sums[pool]))]
        mine = self.told[i]
        within = here[near <= sums[best]]
        self.used[within] += 1
        self.right[within] += self.told[within] == mine
        self.met[mine] += 1
        if self.told[best] == mine:
            self.teller[i] = best
        else:
            self.kept[i] = True
        self._drop(within)

    def _class_interval(self, rows: Indices, confidence: float) -> tuple[Any, Any]:
        return interval(self.met[self.told[rows]], self.met.sum(), confidence)

    def _acceptable(self, rows: Indices) -> Flags:
        low, _ = interval(self.right[rows], self.used[rows], self.accept)
        _, high = self._class_interval(rows, self.accept)
        return np.asarray(low > high)

    def _drop(self, rows: Indices) -> None:
        _, high = interval(self.right[rows], self.used[rows], self.drop)
        low, _ = self._class_interval(rows, self.drop)
        bad = rows[high < low]
        self.kept[bad] = False
        self.dropped[bad] = True

    def reasons(self, classes: NDArray[Any], order: Indices) -> list[str | None]:
        """Of each row, why it was removed; None if it stays."""
        here = np.flatnonzero(self.kept)
        good = np.zeros(len(self.kept), dtype=bool)
        good[here] = self._acceptable(here) if len(here) else False
        if not good.any():  # too few rows for any record to be good: all that were kept stay
            good[here] = True
        found: list[str | None] = []
        for i in range(len(good)):
            record = f"{self.right[i]:g} of {self.used[i]:g} rows near it are {classes[self.told[i]]}"
            if good[i]:
                found.append(None)
            elif self.dropped[i]:
                found.append(f"dropped: {record}")
            elif self.kept[i]:
                found.append(f"not accepted: {record}")
            else:
                found.append(f"row {order[self.teller[i]]} told it")
        return found
