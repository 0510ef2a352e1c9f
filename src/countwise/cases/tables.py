"""A case for each row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from countwise.cases.case import Case
from countwise.data.frames import Coded, Frame, frame_of, is_missing
from countwise.errors import SchemaError, TableError, did_you_mean

__all__ = ["cases_of"]


def cases_of(X: Any, solution: str | Sequence[str], ids: str | None) -> Iterator[Case]:
    """The rows of a table as cases."""
    frame = frame_of(X)
    names = [solution] if isinstance(solution, str) else list(solution)
    if not names:
        raise TableError("No column of solutions is named.")
    for name in [*names, *([] if ids is None else [ids])]:
        if name not in frame.columns:
            raise SchemaError(f"There is no column {name!r}.", hint=did_you_mean(name, frame.names))
    columns = {name: _cells(frame, name) for name in frame.names}
    for row in range(frame.n_rows):
        cells = {name: column[row] for name, column in columns.items()}
        done = {name: cells.pop(name) for name in names}
        if all(value is None for value in done.values()):
            raise TableError(f"The solution is missing in row {row}.", hint="leave the row out.", row=row)
        if all(value is None for name, value in cells.items() if name != ids):
            raise TableError(f"Everything but the solution of row {row} is missing.", hint="leave it out.", row=row)
        mine = None if ids is None else cells.pop(ids)
        if ids is not None and mine is None:
            raise TableError(f"The id is missing in row {row}.", row=row)
        if isinstance(mine, float) and mine.is_integer():  # whole numbers beside a gap come as floats
            mine = int(mine)
        yield Case(cells, done[solution] if isinstance(solution, str) else done, mine)


def _cells(frame: Frame, name: str) -> list[Any]:
    """A column as Python's own values; None for missing cells, dates as ISO writes them."""
    column = frame.columns[name]
    if isinstance(column, Coded):
        values = [None if code < 0 else column.categories[code] for code in column.codes.tolist()]
    elif not isinstance(column, np.ndarray):
        raise TableError(f"Column {name!r} is a block of counts; cases have single values.")
    elif column.dtype.kind == "M":
        values = [None if np.isnat(cell) else str(cell) for cell in column]
    else:
        values = column.tolist()
    return [None if _is_gap(value) else value for value in values]


def _is_gap(value: Any) -> bool:
    return value is None or (np.isscalar(value) and bool(is_missing(value)))
