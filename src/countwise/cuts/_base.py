"""What every rule gives back: edges, the reason for each, and what a person should know; and the report on them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.columns import narrowest
from countwise.working import Grid
from countwise.working.numbers import number

__all__ = ["CutReport", "Cuts", "codes_in", "labels", "midway", "uncut"]


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where a numeric attribute is cut, and why."""

    edges: Floats  # inner edges in ascending order; the ranges are (lo, hi]
    reason: str = ""  # for an edge, with a place for each of `parts`
    parts: tuple[Sequence[Any] | NDArray[Any], ...] = ()  # what stands there for each edge
    notes: tuple[str, ...] = ()  # what did not go as asked

    def why(self, i: int) -> str:
        """The reason for the edge at a place."""
        cells = [part[i] for part in self.parts]
        return self.reason.format(*(cell if isinstance(cell, str) else number(float(cell)) for cell in cells))

    @property
    def reasons(self) -> list[str]:
        """The reason for each edge."""
        return [self.why(i) for i in range(len(self.edges))]


def uncut(*notes: str) -> Cuts:
    """One range for all."""
    return Cuts(np.empty(0), notes=notes)


def midway(low: Any, high: Any) -> Any:
    """The middle of two values, low < high; never `high` itself, which the edge must leave above."""
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def codes_in(edges: Floats, column: NDArray[Any]) -> NDArray[Any]:
    """The range of each number; missing has its own code."""
    codes = np.empty(len(column), dtype=narrowest(len(edges) + 3))
    _kernels.cut_codes(column, edges, codes)
    return codes


def labels(edges: Floats) -> tuple[str, ...]:
    """Ranges as a person reads them: ``<= 70.5``, ``(70.5, 77.5]``, ``> 77.5``."""
    if len(edges) == 0:
        return ("any",)
    texts = _written(edges)
    middle = [f"({a}, {b}]" for a, b in itertools.pairwise(texts)]
    return (f"<= {texts[0]}", *middle, f"> {texts[-1]}")


def _written(edges: Floats) -> list[str]:
    """Short numbers as they are; long ones in as few figures, from six on, as keep the edges apart and in place."""
    short = [len(f"{e:.9g}") < 17 and float(f"{e:.9g}") == e for e in edges]
    apart = float(np.diff(edges).min()) if len(edges) > 1 else abs(float(edges[0])) * 5e-3
    rounded = edges.tolist()
    for figures in range(6, 18):
        rounded = [float(e) if whole else float(f"{e:.{figures}g}") for e, whole in zip(edges, short, strict=True)]
        if len(set(rounded)) == len(edges) and (np.abs(np.array(rounded) - edges) <= 1e-3 * apart).all():
            break
    return [_plain(value) for value in rounded]


def _plain(value: float) -> str:
    """A number without an exponent where that is what people write."""
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(value, trim="-")
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


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
    <= 70.5        1    4  4 of yes up to 70; 71 is of another class
    (70.5, 77.5]   2    3  3 of yes up to 75; 80 is of another class
    > 77.5         2    2
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
        return self.text()

    def text(self, width: int | None = None) -> str:
        """As plain text; the table is wrapped to fit into `width` characters."""
        k = len(self.cuts.edges) + 1
        lines = [f"{self.name}: {k} range{'s' * (k > 1)} by {self.how}", self.table.text(width)]
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
