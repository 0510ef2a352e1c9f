"""Rows that nobody has met: two attributes move, the other columns stand still."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.attributes import Numeric
from countwise.data.columns import number_of, plain
from countwise.data.frames import Coded, Column, Frame, is_missing
from countwise.data.output import chosen, library_of, rows_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, did_you_mean, listed
from countwise.working.numbers import number

__all__ = ["FixedValue", "cells_of", "is_date", "moved", "still"]


@dataclass(frozen=True, slots=True)
class FixedValue:
    """Where a column stands still: at a number, or at the cell of a row.

    Parameters
    ----------
    number : float or None
        The number.
    row : int
        Else the row whose cell it is.
    text : str
        The same for people.
    """

    number: float | None
    row: int
    text: str


def still(frame: Frame, at: Mapping[str, Any] | None, moving: tuple[str, str]) -> dict[str, FixedValue]:
    """Where each column but the moving ones stands still.

    Parameters
    ----------
    frame : Frame
        The table.
    at : mapping of column to value, optional
        What the user asks for; else the median of numbers, and the commonest of names.
    moving : tuple of str
        The attributes that move.

    Returns
    -------
    dict of str to FixedValue
    """
    if at is not None and not isinstance(at, Mapping):
        raise OptionError(f"at is a mapping of column to value, not {at!r}.", hint='at={"windy": True}.')
    asked = {_name(frame, given): value for given, value in (at or {}).items()}
    for name in asked:
        if name not in frame.columns:
            known = did_you_mean(name, frame.columns) or f"there are {listed(frame.columns)}."
            raise OptionError(f"at names {name!r}, which is no column of X.", hint=known)
        if name in moving:
            raise OptionError(f"at holds {name!r} still, but it is one of the two attributes that are drawn.")
    kinds = Schema.kinds(frame)
    found: dict[str, FixedValue] = {}
    for name, column in frame.columns.items():
        if name in moving:
            continue
        numeric = isinstance(kinds[name], Numeric) and not is_date(column)
        if name not in asked:
            found[name] = _middle(name, column) if isinstance(kinds[name], Numeric) else _commonest(column)
        elif numeric:
            given = number_of(asked[name], name, "at")
            found[name] = FixedValue(given, 0, "missing" if given != given else number(given))
        else:
            found[name] = _met(name, column, asked[name])
    return found


def _name(frame: Frame, given: Any) -> str:
    """The name of a column, which may be a position in a table without names."""
    position = isinstance(given, int | np.integer) and not frame.named and 0 <= given < len(frame.columns)
    return frame.names[given] if position else str(given)


def is_date(column: Column) -> bool:
    """Whether a column holds dates or durations, which are numbers to a model but not to a picture."""
    if not isinstance(column, np.ndarray) or column.dtype.kind != "O":
        return isinstance(column, np.ndarray) and column.dtype.kind in "mM"
    return any(isinstance(cell, datetime.date | datetime.timedelta) for cell in column)


def cells_of(column: Column) -> list[Any]:
    """The cells of a column as plain values, None where missing."""
    if isinstance(column, Coded):
        values = [*(plain(c) for c in column.categories), None]
        return [values[code] if code >= 0 else None for code in np.asarray(column.codes).tolist()]
    return [None if is_missing(cell) else plain(cell) for cell in column]


def _middle(name: str, column: Column) -> FixedValue:
    """The median; of whole numbers and dates one that is there, so that a count stays a count."""
    numbers = np.asarray(Numeric(name).encode(column), dtype=np.float64)
    known = np.flatnonzero(~np.isnan(numbers))
    if not len(known):
        return FixedValue(None, 0, "missing")
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        median = float(np.median(numbers[known]))
        return FixedValue(median, 0, number(median))
    row = int(known[np.argsort(numbers[known], kind="stable")[(len(known) - 1) // 2]])
    return FixedValue(None, row, _text(plain(column[row])))


def _commonest(column: Column) -> FixedValue:
    """The commonest value; at a tie the first that is met."""
    first: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for row, cell in enumerate(cells_of(column)):
        if cell is not None:
            first.setdefault(cell, row)
            counts[cell] = counts.get(cell, 0) + 1
    if not counts:
        return FixedValue(None, 0, "missing")
    value = max(counts, key=lambda cell: counts[cell])
    return FixedValue(None, first[value], _text(value))


def _met(name: str, column: Column, value: Any) -> FixedValue:
    """A value that stands in some row."""
    cells = cells_of(column)
    if plain(value) not in cells:
        known = dict.fromkeys(cell for cell in cells if cell is not None)
        hint = did_you_mean(value, known) or f"it has {listed(known)}."
        raise OptionError(f"at holds {name!r} still at {value!r}, a value that the column does not have.", hint=hint)
    return FixedValue(None, cells.index(plain(value)), _text(value))


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def moved(X: Any, frame: Frame, moving: Mapping[str, NDArray[Any]], stands: Mapping[str, FixedValue]) -> Any:
    """A table of the kind of X in which some columns move and the others stand still.

    Parameters
    ----------
    X : any table
        What the user gave.
    frame : Frame
        The same, opened.
    moving : mapping of column to ndarray
        Its new numbers.
    stands : mapping of column to FixedValue
        For all the other columns.

    Returns
    -------
    any table

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.frames import frame_of
    >>> from countwise.plots.slices import moved, still
    >>> X = np.array([[1.0, 2.0, 7.0], [3.0, 4.0, 9.0]])
    >>> frame = frame_of(X)
    >>> new = {"x0": np.array([5.0, 6.0]), "x1": np.array([0.0, 1.0])}
    >>> moved(X, frame, new, still(frame, None, ("x0", "x1"))).tolist()
    [[5.0, 0.0, 8.0], [6.0, 1.0, 8.0]]
    """
    n = len(next(iter(moving.values())))
    cells: dict[str, Any] = {}
    for place, name in enumerate(frame.names):
        stand = stands.get(name)
        if name in moving:
            cells[name] = moving[name]
        elif stand is not None and stand.number is not None:
            cells[name] = np.full(n, stand.number)
        else:
            cells[name] = _repeated(X, frame, place, np.full(n, 0 if stand is None else stand.row))
    return _table(X, cells)


def _repeated(X: Any, frame: Frame, place: int, rows: NDArray[Any]) -> Any:
    """One cell again and again, as its owner keeps it."""
    one = rows_of(chosen(X, frame, [place]), rows)
    library = library_of(X)
    if library == "pandas":
        return one.iloc[:, 0].reset_index(drop=True)
    if library == "polars":
        return one.to_series(0)
    if library == "pyarrow":
        return one.column(0)
    if isinstance(one, Mapping):
        return next(iter(one.values()))
    if library == "mapping":
        return [next(iter(row.values())) for row in one]
    return one[:, 0]


def _table(X: Any, cells: dict[str, Any]) -> Any:
    """Columns as a table of the kind of X."""
    library = library_of(X)
    if library == "pandas":
        made = importlib.import_module("pandas").DataFrame(cells)
        made.columns = X.columns
        return made
    if library == "polars":
        return importlib.import_module("polars").DataFrame(cells)
    if library == "pyarrow":
        return importlib.import_module("pyarrow").table(cells)
    if isinstance(X, Mapping):
        return dict(zip(X, cells.values(), strict=True))
    if library == "mapping":
        return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    kinds = {column.dtype.kind for column in cells.values()}
    out = np.empty((len(next(iter(cells.values()))), len(cells)), dtype=float if kinds <= set("iufb") else object)
    for place, column in enumerate(cells.values()):
        out[:, place] = column
    return out
