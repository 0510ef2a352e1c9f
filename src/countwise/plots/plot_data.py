"""Data of a plot of decision regions: two attributes, the rows that have both, fixed values of other columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Date, Numeric
from countwise.data.columns import in_order, number_of, plain, refuse_infinity
from countwise.data.frames import Coded, Column, Frame, frame_of, is_missing, is_sparse
from countwise.data.output import chosen, dense, library_of, rebuilt, rows_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.sources.labelled_table import apart
from countwise.working.numbers import number

__all__ = ["MOST", "FixedValue", "PlotData", "moved", "plot_data", "spread_out", "still"]

MOST = 2000  # largest number of points in a panel


@dataclass(frozen=True, slots=True, eq=False)
class PlotData:
    """A table, two of its attributes, and the rows in which both and the class are observed."""

    X: Any  # the user's table without the target
    frame: Frame
    pair: tuple[str, str]
    rows: Indices
    xy: Floats
    y: NDArray[Any]
    classes: tuple[Any, ...]
    target: str | None
    notes: tuple[str, ...]  # remarks about rows that are not drawn

    @property
    def limits(self) -> Floats:
        """The minimum and maximum of each axis, with a margin, of shape (2, 2)."""
        low, high = self.xy.min(axis=0), self.xy.max(axis=0)
        wide = np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
        return np.stack([low - 0.06 * wide, high + 0.06 * wide], axis=1)


def plot_data(X: Any, y: Any, attributes: Any) -> PlotData:
    """Prepare a table, its classes and two attributes; None selects the only two numeric attributes."""
    if y is None:
        raise TableError("The classes y are missing.", hint="pass an array, or the name of a column of X.")
    X, frame, column, target = apart(*_opened(X), y)
    if isinstance(column, np.ndarray) and column.ndim == 0:
        raise TableError("y is a single value; each row needs one class.")
    if len(column) != frame.n_rows:
        raise TableError(f"X has {frame.n_rows} rows, but y has {len(column)} entries; each row needs one class.")
    pair = _pair(frame, attributes)
    numbers = {name: np.asarray(Numeric(name).encode(frame.columns[name]), dtype=np.float64) for name in pair}
    refuse_infinity(numbers)
    xy = np.stack(list(numbers.values()), axis=1)
    cells = _cells(column)
    known = np.array([cell is not None for cell in cells], dtype=bool)
    observed = ~np.isnan(xy).any(axis=1)
    rows = np.flatnonzero(known & observed)
    if not len(rows):
        raise TableError(f"In every row the class, {pair[0]!r} or {pair[1]!r} is missing; there is nothing to draw.")
    lost = {f"without {pair[0]} or {pair[1]}": known & ~observed, "without a class": ~known}
    notes = [
        f"{n} row{'s' * (n > 1)} {why} {'is' if n == 1 else 'are'} not drawn."
        for why, n in ((why, int(np.count_nonzero(which))) for why, which in lost.items())
        if n
    ]
    labels = [cells[row] for row in rows]
    classes = _classes(column, labels, target or "y")
    return PlotData(X, frame, pair, rows, xy[rows], _plain(labels), classes, target, tuple(notes))


def _opened(X: Any) -> tuple[Any, Frame]:
    """Return the table in a container whose columns can be selected by position, and as a frame."""
    if is_sparse(X):
        X = dense(X)
    if isinstance(X, np.ndarray) and X.dtype.names:
        X = {name: X[name] for name in X.dtype.names}
    frame = frame_of(X)
    if library_of(X) == "array":
        X = chosen(X, frame, range(len(frame.columns)))
    return X, frame


def _cells(column: Column) -> list[Any]:
    """Return the values of a column as Python objects, None where missing."""
    if isinstance(column, Coded):
        values = [*(plain(c) for c in column.categories), None]
        return [values[code] if code >= 0 else None for code in np.asarray(column.codes).tolist()]
    return [None if is_missing(cell) else plain(cell) for cell in column]


def _classes(column: Column, labels: list[Any], name: str) -> tuple[Any, ...]:
    """Return the classes of some rows, in the order of declared categories or in ascending order."""
    seen = dict.fromkeys(labels)
    if isinstance(column, Coded) and column.declared:
        return tuple(c for c in map(plain, column.categories) if c in seen)
    return in_order(list(seen), name)


def _plain(values: list[Any]) -> NDArray[Any]:
    """Return an array of the classes, with their own dtype if all have the same type, as scikit-learn requires."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], bool | int | float | str):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# -- the two attributes ------------------------------------------------------------


def _pair(frame: Frame, attributes: Any) -> tuple[str, str]:
    schema = Schema.kinds(frame)
    numeric = [name for name, column in frame.columns.items() if _is_number(schema[name], column)]
    offer = f"use two of {listed(numeric)}, for example attributes={tuple(numeric[:2])!r}."
    offer = offer if len(numeric) > 1 else "pass the names of two numeric attributes."
    if attributes is None:
        if len(numeric) < 2:
            has = f"X has only {listed(numeric)}" if numeric else "X has none"
            raise OptionError(f"The plot needs two numeric attributes; {has}.")
        if len(numeric) > 2:
            raise OptionError(f"X has {len(numeric)} numeric attributes; the plot shows two.", hint=offer)
        return numeric[0], numeric[1]
    if isinstance(attributes, str) or not isinstance(attributes, Sequence | np.ndarray) or len(attributes) != 2:
        raise OptionError(
            f"attributes must be a sequence of two attributes, one for each axis, not {attributes!r}.", hint=offer
        )
    for given in attributes:
        if isinstance(given, int | np.integer) and not isinstance(given, bool) and not frame.named:
            if not 0 <= given < len(frame.columns):
                raise OptionError(f"X has no column {given}: positions go from 0 to {len(frame.columns) - 1}.")
        elif not isinstance(given, str) or given not in frame.columns:
            hint = did_you_mean(given, frame.columns) or f"choose among {listed(frame.columns)}."
            raise OptionError(f"attributes refers to column {given!r}, but X has no such column.", hint=hint)
    first, second = (_name(frame, given) for given in attributes)
    if first == second:
        raise OptionError(f"attributes contains {first!r} twice; the plot needs two attributes.", hint=offer)
    for name in (first, second):
        if name not in numeric:
            what = "duration" if type(schema[name]) is Numeric else schema[name].kind
            raise OptionError(
                f"{name!r} cannot be an axis: a {what} attribute is not numeric.",
                hint=f"use numeric attributes: {listed(numeric)}." if numeric else None,
            )
    return first, second


def _is_number(kind: Any, column: Column) -> bool:
    """Return whether a column can be an axis; dates and durations are numeric for a model but not for a plot."""
    duration = isinstance(column, np.ndarray) and column.dtype.kind == "m"
    return isinstance(kind, Numeric) and not isinstance(kind, Date) and not duration


def _name(frame: Frame, given: Any) -> str:
    """Return the name of a column, which may be given by position in a table without names."""
    position = isinstance(given, int | np.integer) and not frame.named and 0 <= given < len(frame.columns)
    return frame.names[given] if position else str(given)


# -- fixed values of the other columns ---------------------------------------------


@dataclass(frozen=True, slots=True)
class FixedValue:
    """The value at which a column is held fixed: a number, or the value of a row; `text` is for the caption."""

    number: float | None
    row: int
    text: str


def still(frame: Frame, at: Mapping[str, Any] | None, moving: tuple[str, str]) -> dict[str, FixedValue]:
    """Return the fixed value of each column except the two on the axes: `at`, the median, or the mode."""
    if at is not None and not isinstance(at, Mapping):
        raise OptionError(
            f"at must be a mapping of column to value, not {at!r}.", hint='pass a dict such as {"windy": True}.'
        )
    fixed = {_name(frame, given): value for given, value in (at or {}).items()}
    for name in fixed:
        if name not in frame.columns:
            known = did_you_mean(name, frame.columns) or f"choose among {listed(frame.columns)}."
            raise OptionError(f"at refers to column {name!r}, but X has no such column.", hint=known)
        if name in moving:
            raise OptionError(
                f"at fixes {name!r}, which is one of the two attributes on the axes.", hint=f"drop {name!r} from at."
            )
    types = Schema.kinds(frame)
    found: dict[str, FixedValue] = {}
    for name, column in frame.columns.items():
        if name in moving:
            continue
        if name not in fixed:
            found[name] = _middle(name, column) if isinstance(types[name], Numeric) else _mode(column)
        elif _is_number(types[name], column):
            given = number_of(fixed[name], name, "at")
            found[name] = FixedValue(given, 0, "missing" if given != given else number(given))
        else:
            found[name] = _occurring(name, column, fixed[name])
    return found


def _middle(name: str, column: Column) -> FixedValue:
    """Return the median; for integers and dates an observed value, so that a count remains an integer."""
    numbers = np.asarray(Numeric(name).encode(column), dtype=np.float64)
    known = np.flatnonzero(~np.isnan(numbers))
    if not len(known):
        return FixedValue(None, 0, "missing")
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        median = float(np.median(numbers[known]))
        return FixedValue(median, 0, number(median))
    row = int(known[np.argsort(numbers[known], kind="stable")[(len(known) - 1) // 2]])
    return FixedValue(None, row, _text(plain(column[row])))


def _mode(column: Column) -> FixedValue:
    """Return the most frequent value; ties go to the first in the column."""
    cells = _cells(column)
    counts = Counter(cell for cell in cells if cell is not None)
    if not counts:
        return FixedValue(None, 0, "missing")
    value = max(counts, key=lambda cell: counts[cell])
    return FixedValue(None, cells.index(value), _text(value))


def _occurring(name: str, column: Column, value: Any) -> FixedValue:
    """Return a value that occurs in the column."""
    cells = _cells(column)
    if plain(value) not in cells:
        known = dict.fromkeys(cell for cell in cells if cell is not None)
        hint = did_you_mean(value, known) or f"choose one of {listed(known)}."
        raise OptionError(f"at fixes {name!r} at {value!r}, but this value does not occur in the column.", hint=hint)
    return FixedValue(None, cells.index(plain(value)), _text(value))


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def moved(X: Any, frame: Frame, moving: Mapping[str, NDArray[Any]], fixed_values: Mapping[str, FixedValue]) -> Any:
    """Return a table like X in which some columns have new numbers and the others are held fixed."""
    n = len(next(iter(moving.values())))
    cells: dict[str, Any] = {}
    for place, name in enumerate(frame.names):
        value = fixed_values.get(name)
        if name in moving:
            cells[name] = moving[name]
        elif value is not None and value.number is not None:
            cells[name] = np.full(n, value.number)
        else:
            cells[name] = _repeated(X, frame, place, np.full(n, 0 if value is None else value.row))
    if isinstance(X, Mapping):
        return dict(zip(X, cells.values(), strict=True))
    return rebuilt(rows_of(X, np.zeros(n, dtype=np.int64)), replace(frame, n_rows=n), cells, library_of(X))


def _repeated(X: Any, frame: Frame, place: int, rows: NDArray[Any]) -> Any:
    """Return one value repeated, with the dtype of the user's column."""
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
    """Return at most `most` rows that are spread over the plane, by even steps along a Morton curve."""
    n = len(xy)
    if n <= most:
        return np.arange(n)
    low, high = xy.min(axis=0), xy.max(axis=0)
    scaled = (1023 * (xy - low) / np.where(high > low, high - low, 1.0)).astype(np.int64)
    along = np.zeros(n, dtype=np.int64)
    for bit in range(10):  # interleave the bits of both coordinates
        along |= ((scaled[:, 0] >> bit) & 1) << (2 * bit) | ((scaled[:, 1] >> bit) & 1) << (2 * bit + 1)
    line = np.argsort(along, kind="stable")
    return np.sort(line[np.arange(most) * n // most])
