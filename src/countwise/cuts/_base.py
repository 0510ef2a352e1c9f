"""What every rule gives back: edges, the reason for each, and what a person should know."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.working.numbers import number

__all__ = ["Cuts", "labels", "midway", "uncut"]


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
    gap = float(np.diff(edges).min()) if len(edges) > 1 else abs(float(edges[0])) * 5e-3
    rounded = edges.tolist()
    for figures in range(6, 18):
        rounded = [float(e) if whole else float(f"{e:.{figures}g}") for e, whole in zip(edges, short, strict=True)]
        if len(set(rounded)) == len(edges) and (np.abs(np.array(rounded) - edges) <= 1e-3 * gap).all():
            break
    return [_plain(value) for value in rounded]


def _plain(value: float) -> str:
    """A number without an exponent where that is what people write."""
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(value, trim="-")
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
