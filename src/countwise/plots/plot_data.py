"""What a picture shows: two attributes, the rows that have both, and rows in which the other columns stand still."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Numeric
from countwise.data.columns import in_order, number_of, plain, refuse_infinity
from countwise.data.frames import Coded, Column, Frame, frame_of, is_missing, is_sparse
from countwise.data.output import chosen, dense, library_of, rebuilt, rows_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.sources.labelled_table import apart
from countwise.working.numbers import number

__all__ = ["MOST", "FixedValue", "PlotData", "moved", "plot_data", "spread_out", "still"]

MOST = 2000  # points that a panel can show


@dataclass(frozen=True, slots=True, eq=False)
class PlotData:
    """A table, two of its attributes, and the rows that can be drawn: those that have both and a class."""

    X: Any  # in the kind that the user gave, without the target
    frame: Frame
    pair: tuple[str, str]
    rows: Indices
    xy: Floats
    y: NDArray[Any]
    classes: tuple[Any, ...]
    target: str | None
    notes: tuple[str, ...]  # what was left out

    @property
    def limits(self) -> Floats:
        """The least and the greatest of each axis, with a margin: shape (2, 2)."""
        low, high = self.xy.min(axis=0), self.xy.max(axis=0)
        wide = np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
        return np.stack([low - 0.06 * wide, high + 0.06 * wide], axis=1)


def plot_data(X: Any, y: Any, attributes: Any) -> PlotData:
    """Take a table, its classes and two attributes apart; None stands for the only two numeric ones."""
    if y is None:
        raise TableError("The classes y are needed.", hint="give an array, or the name of a column in X.")
    X, frame, column, target = apart(*_opened(X), y)
    if len(column) != frame.n_rows:
        raise TableError(f"X has {frame.n_rows} rows and y has {len(column)} classes; each row has one.")
    pair = _pair(frame, attributes)
    numbers = {name: np.asarray(Numeric(name).encode(frame.columns[name]), dtype=np.float64) for name in pair}
    refuse_infinity(numbers)
    xy = np.stack(list(numbers.values()), axis=1)
    cells = _cells(column)
    known = np.array([cell is not None for cell in cells], dtype=bool)
    there = ~np.isnan(xy).any(axis=1)
    rows = np.flatnonzero(known & there)
    if not len(rows):
        raise TableError(f"No row has a class, {pair[0]!r} and {pair[1]!r}: there is nothing to draw.")
    lost = {f"without {pair[0]} or {pair[1]}": known & ~there, "without a class": ~known}
    notes = [
        f"{n} row{'s' * (n > 1)} {why} {'is' if n == 1 else 'are'} not drawn."
        for why, n in ((why, int(np.count_nonzero(which))) for why, which in lost.items())
        if n
    ]
    labels = [cells[row] for row in rows]
    classes = _classes(column, labels, target or "y")
    return PlotData(X, frame, pair, rows, xy[rows], _plain(labels), classes, target, tuple(notes))


def _opened(X: Any) -> tuple[Any, Frame]:
    """The table in a kind that columns can be taken from by place, and the same as named columns."""
    if is_sparse(X):
        X = dense(X)
    if isinstance(X, np.ndarray) and X.dtype.names:
        X = {name: X[name] for name in X.dtype.names}
    frame = frame_of(X)
    if library_of(X) == "array":
        X = chosen(X, frame, range(len(frame.columns)))
    return X, frame


def _cells(column: Column) -> list[Any]:
    """The cells of a column as plain values, None where missing."""
    if isinstance(column, Coded):
        values = [*(plain(c) for c in column.categories), None]
        return [values[code] if code >= 0 else None for code in np.asarray(column.codes).tolist()]
    return [None if is_missing(cell) else plain(cell) for cell in column]


def _classes(column: Column, labels: list[Any], name: str) -> tuple[Any, ...]:
    """The classes of some rows: in the order of the owner if there is one, else in their natural order."""
    met = dict.fromkeys(labels)
    if isinstance(column, Coded) and column.declared:
        return tuple(c for c in map(plain, column.categories) if c in met)
    return in_order(list(met), name)


def _plain(values: list[Any]) -> NDArray[Any]:
    """Classes of one kind as an array of that kind, which scikit-learn asks for."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], bool | int | float | str):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# -- the two attributes ------------------------------------------------------------


def _pair(frame: Frame, attributes: Any) -> tuple[str, str]:
    schema = Schema.kinds(frame)
    numeric = [name for name, column in frame.columns.items() if _is_number(schema[name], column)]
    offer = f"for example attributes={tuple(numeric[:2])!r}; numeric are {listed(numeric)}."
    offer = offer if len(numeric) > 1 else "name two."
    if attributes is None:
        if len(numeric) < 2:
            has = f"X has only {listed(numeric)}" if numeric else "X has none"
            raise OptionError(f"The picture needs two numeric attributes; {has}.")
        if len(numeric) > 2:
            raise OptionError(f"X has {len(numeric)} numeric attributes: which two?", hint=offer)
        return numeric[0], numeric[1]
    if isinstance(attributes, str) or not isinstance(attributes, Sequence | np.ndarray) or len(attributes) != 2:
        raise OptionError(
            f"attributes={attributes!r}: the picture has two axes, and needs two attributes.", hint=offer
        )
    for given in attributes:
        if isinstance(given, int | np.integer) and not isinstance(given, bool) and not frame.named:
            if not 0 <= given < len(frame.columns):
                raise OptionError(f"There is no attribute {given}: positions go from 0 to {len(frame.columns) - 1}.")
        elif given not in frame.columns:
            hint = did_you_mean(given, frame.columns) or f"there are {listed(frame.columns)}."
            raise OptionError(f"There is no attribute {given!r}.", hint=hint)
    first, second = (_name(frame, given) for given in attributes)
    if first == second:
        raise OptionError(f"attributes names {first!r} twice.", hint=offer)
    for name in (first, second):
        if name not in numeric:
            what = "date" if isinstance(schema[name], Numeric) else schema[name].kind
            raise OptionError(
                f"{name!r} is no axis: a {what} attribute has no scale of numbers.",
                hint=f"numeric are {listed(numeric)}." if numeric else None,
            )
    return first, second


def _is_number(kind: Any, column: Column) -> bool:
    """Whether a column is numbers; dates and durations are numbers to a model but not to a picture."""
    if not isinstance(kind, Numeric) or not isinstance(column, np.ndarray):
        return isinstance(kind, Numeric)
    if column.dtype.kind == "O":
        return not any(isinstance(cell, datetime.date | datetime.timedelta) for cell in column)
    return column.dtype.kind not in "mM"


def _name(frame: Frame, given: Any) -> str:
    """The name of a column, which may be a position in a table without names."""
    position = isinstance(given, int | np.integer) and not frame.named and 0 <= given < len(frame.columns)
    return frame.names[given] if position else str(given)


# -- the other columns stand still -------------------------------------------------


@dataclass(frozen=True, slots=True)
class FixedValue:
    """Where a column stands still: at a number, or at the cell of a row; `text` is the same for people."""

    number: float | None
    row: int
    text: str


def still(frame: Frame, at: Mapping[str, Any] | None, moving: tuple[str, str]) -> dict[str, FixedValue]:
    """Where each column but the moving ones stands still: `at`, else the median of numbers, the commonest name."""
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
        if name not in asked:
            found[name] = _middle(name, column) if isinstance(kinds[name], Numeric) else _commonest(column)
        elif _is_number(kinds[name], column):
            given = number_of(asked[name], name, "at")
            found[name] = FixedValue(given, 0, "missing" if given != given else number(given))
        else:
            found[name] = _met(name, column, asked[name])
    return found


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
    cells = _cells(column)
    counts = Counter(cell for cell in cells if cell is not None)
    if not counts:
        return FixedValue(None, 0, "missing")
    value = max(counts, key=lambda cell: counts[cell])
    return FixedValue(None, cells.index(value), _text(value))


def _met(name: str, column: Column, value: Any) -> FixedValue:
    """A value that stands in some row."""
    cells = _cells(column)
    if plain(value) not in cells:
        known = dict.fromkeys(cell for cell in cells if cell is not None)
        hint = did_you_mean(value, known) or f"it has {listed(known)}."
        raise OptionError(f"at holds {name!r} still at {value!r}, a value that the column does not have.", hint=hint)
    return FixedValue(None, cells.index(plain(value)), _text(value))


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def moved(X: Any, frame: Frame, moving: Mapping[str, NDArray[Any]], stands: Mapping[str, FixedValue]) -> Any:
    """A table of the kind of X in which some columns have new numbers and the others stand still."""
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
    if isinstance(X, Mapping):
        return dict(zip(X, cells.values(), strict=True))
    return rebuilt(rows_of(X, np.zeros(n, dtype=np.int64)), replace(frame, n_rows=n), cells, library_of(X))


def _repeated(X: Any, frame: Frame, place: int, rows: NDArray[Any]) -> Any:
    """One cell again and again, as its owner keeps it."""
    one = rows_of(chosen(X, frame, [place]), rows)
    match library_of(X):
        case "pandas":
            return one.iloc[:, 0].array
        case "polars":
            return one.to_series(0)
        case "pyarrow":
            return one.column(0)
        case "mapping":
            return one[next(iter(one))] if isinstance(one, Mapping) else [next(iter(row.values())) for row in one]
    return one[:, 0]


# -- many points -------------------------------------------------------------------


def spread_out(xy: Floats, most: int = MOST) -> Indices:
    """At most so many rows, from everywhere: every so manieth along a line that visits each neighborhood in turn."""
    n = len(xy)
    if n <= most:
        return np.arange(n)
    low, high = xy.min(axis=0), xy.max(axis=0)
    scaled = (1023 * (xy - low) / np.where(high > low, high - low, 1.0)).astype(np.int64)
    along = np.zeros(n, dtype=np.int64)
    for bit in range(10):  # the bits of both in turn: Morton's order
        along |= ((scaled[:, 0] >> bit) & 1) << (2 * bit) | ((scaled[:, 1] >> bit) & 1) << (2 * bit + 1)
    line = np.argsort(along, kind="stable")
    return np.sort(line[np.arange(most) * n // most])
