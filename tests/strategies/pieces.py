"""Tables with every kind of column and target, their containers, and their splits into pieces."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

DAY = datetime.date(2024, 1, 31)
LEVELS = ["low", "mid", "high", "never"]  # no row has the last one
VALUES: dict[str, list[Any]] = {
    "string": ["u", "v", "w", "ü"],
    "boolean": [True, False],
    "number": [0.5, -1.25, 3.0, 8.0],
    "count": [0, 1, 2, 5],
    "date": [DAY, DAY.replace(day=1), DAY.replace(year=2020), DAY.replace(month=3)],
    "category": LEVELS[:3],
    "ordered": LEVELS[:3],
    "text": ["send us", "us or us", "review", ""],
    "code": [3, 1, 20, 7],
}
TARGETS = ("string", "boolean", "category", "ordered", "code")
TYPES = {"count": "count", "text": "text", "code": "nominal"}  # of the kinds whose dtype would imply another type
CONTAINERS = ("lists", "lists with NaN", "rows", "pandas", "pandas of objects", "polars", "arrow")


@dataclass(frozen=True)
class Pieces:
    """Columns of Python values, None where a value is missing; a target; positions where the rows are split."""

    kinds: dict[str, str]
    columns: dict[str, list[Any]]
    y: list[Any]
    target: str  # the kind of the target
    cuts: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @property
    def types(self) -> dict[str, str]:
        """The types to be declared."""
        return {name: TYPES[kind] for name, kind in self.kinds.items() if kind in TYPES}

    def take(self, which: Any) -> Pieces:
        """Return some rows as one piece."""
        columns = {name: [cells[i] for i in which] for name, cells in self.columns.items()}
        return Pieces(self.kinds, columns, [self.y[i] for i in which], self.target)

    def split(self) -> list[Pieces]:
        """Return the pieces."""
        return [self.take(which) for which in np.split(np.arange(len(self)), list(self.cuts))]

    def table(self, container: str = "pandas") -> Any:
        """Return the columns in a container."""
        if container == "lists":
            return dict(self.columns)
        if container == "lists with NaN":
            return {name: _with_nan(self.kinds[name], cells) for name, cells in self.columns.items()}
        if container == "rows":
            return [{name: cells[i] for name, cells in self.columns.items()} for i in range(len(self))]
        frame = pd.DataFrame({name: _series(self.kinds[name], cells) for name, cells in self.columns.items()})
        if container == "pandas":
            return frame
        if container == "pandas of objects":  # a column without any value has no type
            return frame.astype({name: object for name, cells in self.columns.items() if set(cells) == {None}})
        if container == "arrow":
            return _arrow({name: (self.kinds[name], cells) for name, cells in self.columns.items()})
        return _polars({name: (self.kinds[name], cells) for name, cells in self.columns.items()})

    def classes(self) -> Any:
        """Return the target as a pandas Series."""
        return _series(self.target, self.y)

    def whole(self, container: str) -> Any:
        """Return an Arrow table or a Polars frame with the target as the column "y"."""
        columns = {name: (self.kinds[name], cells) for name, cells in self.columns.items()}
        columns["y"] = (self.target, self.y)
        return _arrow(columns) if container == "arrow" else _polars(columns)


def _with_nan(kind: str, cells: list[Any]) -> list[Any]:
    missing = None if kind == "date" and any(cells) else np.nan  # dates and NaN are two types
    return [missing if cell is None else cell for cell in cells]


def _series(kind: str, cells: list[Any]) -> Any:
    if kind in ("category", "ordered"):
        return pd.Series(pd.Categorical(cells, categories=LEVELS, ordered=kind == "ordered"))
    if kind == "boolean" and None not in cells:
        return pd.Series(cells, dtype=bool)
    if kind in ("number", "count", "code"):
        return pd.Series([np.nan if cell is None else cell for cell in cells], dtype=float)
    return pd.Series(cells, dtype=object)


def _arrow(columns: dict[str, tuple[str, list[Any]]]) -> Any:
    import pyarrow as pa

    kinds = {"boolean": pa.bool_(), "number": pa.float64(), "count": pa.int64(), "code": pa.int64()}
    kinds |= {"date": pa.date32()}
    found = {}
    for name, (kind, cells) in columns.items():
        if kind in ("category", "ordered"):
            codes = pa.array([None if cell is None else LEVELS.index(cell) for cell in cells], pa.int8())
            found[name] = pa.DictionaryArray.from_arrays(codes, LEVELS, ordered=kind == "ordered")
        else:
            found[name] = pa.array(cells, kinds.get(kind, pa.string()))
    return pa.table(found)


def _polars(columns: dict[str, tuple[str, list[Any]]]) -> Any:
    import polars as pl

    kinds: dict[str, Any] = {"boolean": pl.Boolean, "number": pl.Float64, "count": pl.Int64, "code": pl.Int64}
    kinds |= {"date": pl.Date, "ordered": pl.Enum(LEVELS)}
    return pl.DataFrame(
        {name: pl.Series(name, cells, dtype=kinds.get(kind, pl.String)) for name, (kind, cells) in columns.items()}
    )


@st.composite
def pieces(
    draw: Any,
    kinds: tuple[str, ...] = tuple(VALUES),
    targets: tuple[str, ...] = TARGETS,
    *,
    min_rows: int = 2,
    max_rows: int = 10,
    max_columns: int = 3,
) -> Pieces:
    """Draw a table and where to split it; a third of the cells is missing, so that columns begin without a value."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_columns))
    target, n = draw(st.sampled_from(targets)), draw(st.integers(min_rows, max_rows))
    raw = np.frombuffer(
        draw(st.binary(min_size=n * (len(chosen) + 1), max_size=n * (len(chosen) + 1))), dtype=np.uint8
    )
    raw = raw.reshape(n, len(chosen) + 1)

    def cell(kind: str, byte: int) -> Any:
        return None if byte % 3 == 2 else VALUES[kind][(byte // 3) % len(VALUES[kind])]

    columns = {f"{kind}{j}": [cell(kind, int(byte)) for byte in raw[:, j]] for j, kind in enumerate(chosen)}
    y = [VALUES[target][int(byte) % min(3, len(VALUES[target]))] for byte in raw[:, -1]]
    cuts = tuple(sorted(draw(st.sets(st.integers(1, n - 1), max_size=3)))) if n > 1 else ()
    return Pieces(dict(zip(columns, chosen, strict=True)), columns, y, target, cuts)
