"""Tables with a target: random columns, classes and weights in random containers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .cells import PLAIN, cells, kind, names
from .containers import CONTAINERS, ENGINES, Columns, contained, vector
from .draw import Draw

__all__ = ["Table", "target", "weights"]

_LABELS: list[list[Any]] = [["p", "q"], ["p", "q", "r"], [0, 1], [False, True], [1.0, 2.0], [3, 7, 11, 2], ["=1+1",
                            "a\nb"], ["", " "], [("a", 1), ("b", 2)], ["1", 1], [2**60, 2**60 + 1], ["é", "\ud800"],
                            [math.inf, 1.0], [None, "p"], [0.5, 1.5], [b"a", b"b"]]  # fmt: skip
_ODD_WEIGHTS: list[Any] = [0, 1, 2, 0.5, -1.0, math.nan, math.inf, 1e308, 1e-308, 5e-324, True, None, "2", 2**62]


@dataclass
class Table:
    """Names and columns of a table, from which tables in containers are made."""

    names: list[Any]
    kinds: list[str]
    columns: Columns
    rows: int

    @classmethod
    def drawn(cls, draw: Draw, *, plain: bool = False, most: int = 28) -> Table:
        """A random table; a plain one has only columns and names that every container can hold."""
        rows = draw.integer(4, most) if plain or not draw.chance(15) else draw.pick([3, 2, 1, 0])
        width = draw.integer(1, 4) if plain or not draw.chance(4) else draw.pick([0, 12])
        kinds = [draw.pick(PLAIN) if plain else kind(draw) for _ in range(width)]
        missing = [draw.pick([0, 0, 0, 10, 50]) if k != "whole" or not plain else 0 for k in kinds]
        columns = [cells(draw, k, rows, m) for k, m in zip(kinds, missing, strict=True)]
        return cls(names(draw, width, 0 if plain else 12), kinds, columns, rows)

    def again(self, draw: Draw) -> Table:
        """Other rows with the same columns; sometimes with other kinds of cells, more columns or fewer."""
        rows = draw.integer(1, 8) if not draw.chance(6) else 0
        kinds = [kind(draw) if draw.chance(5) else k for k in self.kinds]
        columns = [cells(draw, k, rows, draw.pick([0, 0, 30])) for k in kinds]
        found = Table(list(self.names), kinds, columns, rows)
        if self.names and draw.chance(6):
            j = draw.below(len(self.names))
            del found.names[j], found.kinds[j], found.columns[j]
        if draw.chance(4):
            found.names.append("more")
            found.kinds.append("number")
            found.columns.append(cells(draw, "number", rows))
        return found

    def __str__(self) -> str:
        columns = zip(self.names, self.columns, strict=True)
        return "{" + ", ".join(f"{name!r}: {c!r}"[:400] for name, c in columns) + "}"

    def given(self, draw: Draw) -> tuple[str, Any]:
        """The table in a random container, with its description."""
        make = draw.pick(CONTAINERS[:2]) if draw.chance(50) else draw.pick(CONTAINERS)
        if draw.chance(5):
            make = draw.pick(ENGINES)
        table = contained(draw, make, self.names, self.columns)
        return f"{make.__name__}{_types(table)} {self}", table


def _types(table: Any) -> str:
    if hasattr(table, "collect"):  # to ask for its types would run it
        return f"[{type(table).__name__}]"
    types = getattr(table, "dtypes", getattr(getattr(table, "schema", None), "types", getattr(table, "dtype", "")))
    if hasattr(types, "tolist"):
        types = types.tolist()
    if isinstance(table, dict):
        types = [getattr(c, "dtype", type(c).__name__) for c in table.values()]
    return f"[{type(table).__module__.partition('.')[0]}.{type(table).__name__}: {types}]"[:300]


def target(draw: Draw, n: int, *, numeric: bool = False) -> tuple[str, Any]:
    """A target of n rows with its description; mostly classes, or numbers if the learner needs them."""
    if numeric and not draw.chance(15):
        values: list[Any] = cells(draw, draw.pick(["number", "whole", "far", "huge", "constant", "large"]), n)
    else:
        labels = draw.often(30, _LABELS[:5], _LABELS)
        if draw.chance(6):
            labels = labels[:1]
        values = [labels[draw.below(len(labels))] for _ in range(n)]
    if draw.chance(10):
        values = [None if draw.chance(20) else v for v in values]
    if draw.chance(3):
        values = values[:-1]
    found = vector(draw, values)
    return f"{type(found).__name__}[{getattr(found, 'dtype', '')}] {values!r}", found


def weights(draw: Draw, n: int) -> tuple[str, Any]:
    """Weights of n rows with their description; mostly none."""
    if not draw.chance(20):
        return "None", None
    how = draw.below(4)
    if how == 0:
        values: list[Any] = [draw.pick([1, 2, 0, 3]) for _ in range(n)]
    elif how == 1:
        values = [draw.pick([1.0, 0.5, 0.25, 2.0, 0.0]) for _ in range(n)]
    elif how == 2:
        values = [draw.pick(_ODD_WEIGHTS)] * n
    else:
        values = [draw.pick(_ODD_WEIGHTS) for _ in range(n)]
    if draw.chance(4):
        values.append(1.0)
    found = vector(draw, values)
    return f"{type(found).__name__}[{getattr(found, 'dtype', '')}] {values!r}", found
