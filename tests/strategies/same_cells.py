"""Columns of one kind of value, and the same values in every kind of table."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

_DAYS = st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1))
_TIMES = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
_ZONES = st.sampled_from([datetime.UTC, datetime.timezone(datetime.timedelta(hours=-5))])
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "days": _DAYS,
    "times": _TIMES,
    "zoned": st.tuples(_TIMES, _ZONES).map(lambda pair: pair[0].replace(tzinfo=pair[1])),
    "time of day": st.times(),
    "durations": st.timedeltas(datetime.timedelta(days=-999), datetime.timedelta(days=999)),
    "decimals": st.decimals(-1000, 1000, places=3),
    "integers": st.integers(-300, 300),
    "large integers": st.integers(2**53 - 2, 2**53 + 3) | st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    "booleans": st.booleans(),
    "strings": st.sampled_from(["u", "v", "", "ü", "12", "true", "2020-01-01"]),
}


@st.composite
def same_cells(draw: Any) -> tuple[str, list[Any]]:
    """Draw a kind and eight values of it, of which some may be missing."""
    kind = draw(st.sampled_from(sorted(CELLS)))
    few = draw(st.lists(CELLS[kind], min_size=2, max_size=4, unique=True))
    cells = draw(st.lists(st.sampled_from([*few, None]), min_size=8, max_size=8))
    return kind, [few[0], few[1], *cells[2:]]


def tables(cells: list[Any], y: list[str]) -> dict[str, Callable[[], Any]]:
    """Return functions that put cells and a target into each kind of table; some kinds cannot hold some cells."""
    frame = {"v": cells, "y": y}

    def masked() -> Any:
        known = next(cell for cell in cells if cell is not None)
        filled = np.array([known if cell is None else cell for cell in cells])
        return {"v": np.ma.array(filled, mask=[cell is None for cell in cells]), "y": y}

    def typed(**settings: Any) -> Any:
        whole = all(cell is None or type(cell) is int for cell in cells)  # pandas would round integers to floats
        column = pd.Series(cells, dtype="Int64" if whole else object).infer_objects().convert_dtypes(**settings)
        return pd.DataFrame({"v": column, "y": y})

    return {
        "lists": lambda: frame,
        "rows": lambda: [{"v": cell, "y": label} for cell, label in zip(cells, y, strict=True)],
        "objects": lambda: {"v": np.array([*cells, None], dtype=object)[:-1], "y": y},
        "masked": masked,
        "pandas objects": lambda: pd.DataFrame({"v": pd.Series(cells, dtype=object), "y": y}),
        "pandas nullable": typed,
        "pandas on Arrow": lambda: typed(dtype_backend="pyarrow"),
        "Polars": lambda: pl.DataFrame(frame, strict=False),
        "Polars lazy": lambda: pl.LazyFrame(frame, strict=False),
        "Arrow": lambda: pa.table(frame),
        "Arrow batch": lambda: pa.record_batch(frame),
        "DuckDB": lambda: duckdb.from_arrow(pa.table(frame)),
    }
