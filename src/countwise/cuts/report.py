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

    Parameters
    ----------
    name, target, how : str
        The column, the class, and the rule.
    cuts : Cuts
        Edges with reasons and notes.
    classes : tuple
        The classes, in the order of `counts`.
    counts : ndarray, shape (classes, ranges)
        How often.
    n_values : int
        Distinct values before.
    missing : float
        The weight of the missing cells.
    before, after : float
        Mutual information with the class, in bits, of the values and of the ranges.
    chance : float
        What the values would seem to tell if they told nothing: so many values part any rows.

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

    name: str
    target: str
    how: str
    cuts: Cuts
    classes: tuple[Any, ...]
    counts: NDArray[Any]
    n_values: int
    missing: float
    before: float
    after: float
    chance: float

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
            lost = (
                "" if self.before <= 0 else f" ({max(0.0, 1 - self.after / self.before):.0%} lost)".replace("%", " %")
            )
            about = f"Information on {self.target}"
            chance = f"of which chance alone would give {number(self.chance)}"
            lines.append(f"{about} by its {self.n_values} values: {number(self.before)} bits, {chance}")
            lines.append(f"{about} by its ranges: {number(self.after)} bits{lost}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = (
            None
            if np.isnan(self.before)
            else {
                "before": self.before,
                "after": self.after,
                "by_chance": self.chance,
            }
        )
        return {
            "attribute": self.name,
            "rule": self.how,
            "cuts": [{"at": float(e), "why": self.cuts.why(i)} for i, e in enumerate(self.cuts.edges)],
            "ranges": list(labels(self.cuts.edges)),
            "counts": {str(c): row.tolist() for c, row in zip(self.classes, self.counts, strict=True)},
            "values": self.n_values,
            "missing": self.missing,
            "information_bits": plain,
            "notes": self.notes,
        }
