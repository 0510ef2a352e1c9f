"""What was done to a column, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.cuts._base import Cuts, labels
from countwise.working import Grid
from countwise.working.numbers import number

__all__ = ["CutReport"]


@dataclass(frozen=True, slots=True, eq=False)
class CutReport:
    """What was done to a column: cuts, reasons, counts, and what was lost.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> weather = samples.load("weather")
    >>> cutter = Discretizer({"temperature": "min_n"}, n=3).fit(weather.X, weather.y)
    >>> print(cutter.report("temperature"))
    temperature: 3 ranges by min_n, n = 3
    range         no  yes  why it ends there
    <= 70.5       1   4    4 of yes up to 70; 71 is of another class
    (70.5, 77.5]  2   3    3 of yes up to 75; 80 is of another class
    > 77.5        2   2
    Information on class by its 12 values: 0.797429 bits, of which chance alone would give 0.798999
    Information on class by its ranges: 0.0499721 bits (94 % lost)
    """

    name: str  # of the column
    target: str
    how: str  # the rule
    cuts: Cuts
    classes: tuple[Any, ...]
    counts: NDArray[Any]  # (classes, ranges)
    n_values: int  # distinct values before
    missing: float  # the weight of the missing cells
    before: float  # mutual information with the class, in bits, of the values
    after: float  # the same of the ranges
    chance: float  # what so many values would give on average if they were independent of the class

    @property
    def table(self) -> Grid:
        """A row for each range: how many of each class, and why it ends where it does."""
        per_class = {
            str(c): [number(float(n)) for n in row] for c, row in zip(self.classes, self.counts, strict=True)
        }
        return Grid({"range": labels(self.cuts.edges), **per_class, "why it ends there": [*self.cuts.reasons, ""]})

    @property
    def notes(self) -> list[str]:
        """What did not go as asked, or should be known."""
        notes = list(self.cuts.notes)
        if self.n_values == 0:
            notes.append("every cell is missing")
        elif self.n_values == 1:
            notes.append("one value only")
        if self.missing > 0:
            notes.append(f"{number(self.missing)} cells are missing and stay so")
        return notes

    def __str__(self) -> str:
        k = len(self.cuts.edges) + 1
        lines = [f"{self.name}: {k} range{'s' * (k > 1)} by {self.how}", str(self.table)]
        if not np.isnan(self.before):
            share = max(0.0, 1 - self.after / self.before) if self.before > 0 else 0.0
            lost = f" ({100 * share:.0f} % lost)" if self.before > 0 else ""
            about = f"Information on {self.target}"
            chance = f"of which chance alone would give {number(self.chance)}"
            lines.append(f"{about} by its {self.n_values} values: {number(self.before)} bits, {chance}")
            lines.append(f"{about} by its ranges: {number(self.after)} bits{lost}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        bits = {"before": self.before, "after": self.after, "by_chance": self.chance}
        return {
            "attribute": self.name,
            "rule": self.how,
            "cuts": [{"at": float(e), "why": self.cuts.why(i)} for i, e in enumerate(self.cuts.edges)],
            "ranges": list(labels(self.cuts.edges)),
            "counts": {str(c): row.tolist() for c, row in zip(self.classes, self.counts, strict=True)},
            "values": self.n_values,
            "missing": self.missing,
            "information_bits": None if np.isnan(self.before) else bits,
            "notes": self.notes,
        }
