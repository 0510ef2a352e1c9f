"""Single rows and values of a table, and their display."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.data.frames import Coded, Frame, is_missing
from countwise.errors import OptionError, TableError
from countwise.working import numbers

__all__ = ["cell_of", "one_row", "row_of", "shown_cell"]

_LONGEST = 60  # characters of a value shown in a working


def row_of(frame: Frame, row: Any) -> int:
    """Return the position of a row; a negative number counts from the end."""
    if not isinstance(row, int | np.integer):
        raise OptionError(f"row must be an integer, not {row!r}.")
    if not -frame.n_rows <= row < frame.n_rows:
        raise TableError(
            f"There is no row {row}: the table has {frame.n_rows} row{'s' * (frame.n_rows != 1)}, numbered from 0."
        )
    return int(row % frame.n_rows)


def one_row(frame: Frame, row: Any) -> Frame:
    """Return one row as a frame."""
    row = row_of(frame, row)
    return frame.slice(row, row + 1)


def cell_of(column: Any) -> Any:
    """Return the value of a one-row column, or None if it is missing."""
    if isinstance(column, Coded):
        code = int(column.codes[0])
        return None if code < 0 else column.categories[code]
    if not isinstance(column, np.ndarray) or is_missing(column[0]):
        return None
    return column[0]


def shown_cell(column: Any) -> str:
    """Return the value of a one-row column as one line of text; empty if it is missing."""
    cell = cell_of(column)
    if cell is None:
        return ""
    if isinstance(cell, float | np.floating):
        return numbers.cell(float(cell))
    text = " ".join(str(cell).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
