"""All rows of a table, each to be left out in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices

__all__ = ["LeftOutRows"]


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """All rows, each with its class and weight, as they are left out.

    Parameters
    ----------
    model : Tallying
        Fitted on all of them.
    codes : ndarray of int
        The class of each.
    weights : ndarray
        Of each.
    """

    model: Any
    codes: Indices
    weights: Floats

    @property
    def k(self) -> int:
        """How many classes there are."""
        return len(self.model.classes_)

    def own(self, values: Floats) -> Floats:
        """Of each row, what its class has."""
        return np.asarray(values[self.codes])

    def picked(self, values: Floats) -> Floats:
        """Of each row, the entry of its class."""
        return np.asarray(values[np.arange(len(self.codes)), self.codes])

    def with_own(self, every: Floats, own: Floats) -> Floats:
        """A row of all classes for each row, with another entry for its own."""
        out = np.tile(every, (len(self.codes), 1)) if every.ndim == 1 else every.copy()
        out[np.arange(len(self.codes)), self.codes] = own
        return out
