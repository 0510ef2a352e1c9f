"""What a picture shows: two attributes, the rows that have both, and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Numeric
from countwise.data.columns import in_order, refuse_infinity
from countwise.data.frames import Coded, Column, Frame, frame_of, is_sparse
from countwise.data.output import chosen, dense, library_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.plots.slices import cells_of, is_date
from countwise.sources.labelled_table import apart

__all__ = ["MOST", "PlotData", "plot_data", "spread_out"]

MOST = 2000  # points that a panel can show


@dataclass(frozen=True, slots=True, eq=False)
class PlotData:
    """A table, two of its attributes, and the rows that can be drawn.

    Parameters
    ----------
    X : any table
        In the kind that the user gave, without the target.
    frame : Frame
        The same, opened.
    pair : tuple of str
        The two attributes.
    rows : ndarray of int
        The rows that have both attributes and a class.
    xy : ndarray, shape (rows, 2)
        Their numbers.
    y : ndarray, shape (rows,)
        Their classes.
    classes : tuple
        All classes in order.
    target : str or None
        What the classes are called.
    notes : tuple of str
        What was left out.
    """

    X: Any
    frame: Frame
    pair: tuple[str, str]
    rows: Indices
    xy: Floats
    y: NDArray[Any]
    classes: tuple[Any, ...]
    target: str | None
    notes: tuple[str, ...]

    @property
    def limits(self) -> Floats:
        """The least and the greatest of each axis, with a margin: shape (2, 2)."""
        low, high = self.xy.min(axis=0), self.xy.max(axis=0)
        wide = np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
        return np.stack([low - 0.06 * wide, high + 0.06 * wide], axis=1)


def plot_data(X: Any, y: Any, attributes: Any) -> PlotData:
    """Take a table, its classes and two attributes apart.

    Parameters
    ----------
    X : any table
        See `countwise.data.frames.frame_of`.
    y : array-like or str
        The classes, or the name of their column in X.
    attributes : sequence of two names or positions, or None
        Which attributes; None stands for the only two numeric ones.

    Returns
    -------
    PlotData

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.plots.plot_data import plot_data
    >>> weather = samples.load("weather")
    >>> found = plot_data(weather.frame, "play", None)
    >>> found.pair, found.classes, found.xy[0].tolist()
    (('temperature', 'humidity'), ('no', 'yes'), [85.0, 85.0])
    """
    if y is None:
        raise TableError("The classes y are needed.", hint="give an array, or the name of a column in X.")
    X, frame, column, target = apart(*_opened(X), y)
    if len(column) != frame.n_rows:
        raise TableError(f"X has {frame.n_rows} rows and y has {len(column)} classes; each row has one.")
    pair = _pair(frame, attributes)
    numbers = {name: np.asarray(Numeric(name).encode(frame.columns[name]), dtype=np.float64) for name in pair}
    refuse_infinity(numbers)
    xy = np.stack(list(numbers.values()), axis=1)
    cells = cells_of(column)
    known = np.array([cell is not None for cell in cells], dtype=bool)
    there = ~np.isnan(xy).any(axis=1)
    rows = np.flatnonzero(known & there)
    if not len(rows):
        raise TableError(f"No row has a class, {pair[0]!r} and {pair[1]!r}: there is nothing to draw.")
    notes = (
        *_left_out(int(np.count_nonzero(known & ~there)), f"without {pair[0]} or {pair[1]}"),
        *_left_out(int(np.count_nonzero(~known)), "without a class"),
    )
    classes = _classes(column, cells, rows, target or "y")
    return PlotData(X, frame, pair, rows, xy[rows], _plain([cells[row] for row in rows]), classes, target, notes)


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


def _left_out(count: int, why: str) -> list[str]:
    if not count:
        return []
    return [f"{count} row{'s' * (count > 1)} {why} {'is' if count == 1 else 'are'} not drawn."]


def _classes(column: Column, cells: list[Any], rows: NDArray[Any], name: str) -> tuple[Any, ...]:
    """The classes of some rows: in the order of the owner if there is one, else in their natural order."""
    met = dict.fromkeys(cells[row] for row in rows)
    if isinstance(column, Coded) and column.declared:
        return tuple(value for value in cells_of(Coded(np.arange(len(column.categories)), column.categories))
                     if value in met)  # fmt: skip
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
    kinds = Schema.kinds(frame)
    numeric = [name for name, column in frame.columns.items() if _is_number(column, kinds[name])]
    if attributes is None:
        return _only_two(numeric)
    if isinstance(attributes, str) or not isinstance(attributes, Sequence | np.ndarray) or len(attributes) != 2:
        raise OptionError(
            f"attributes={attributes!r}: the picture has two axes, and needs two attributes.",
            hint=_offer(numeric),
        )
    first, second = (_name(frame, given) for given in attributes)
    if first == second:
        raise OptionError(f"attributes names {first!r} twice.", hint=_offer(numeric))
    for name in (first, second):
        if name not in numeric:
            what = _kind(frame.columns[name], kinds[name])
            raise OptionError(
                f"{name!r} is no axis: a {what} attribute has no scale of numbers.",
                hint=f"numeric are {listed(numeric)}." if numeric else None,
            )
    return first, second


def _is_number(column: Column, kind: Any) -> bool:
    return isinstance(kind, Numeric) and _kind(column, kind) != "date"


def _kind(column: Column, kind: Any) -> str:
    return "date" if isinstance(kind, Numeric) and is_date(column) else str(kind.kind)


def _only_two(numeric: list[str]) -> tuple[str, str]:
    if len(numeric) < 2:
        has = f"X has only {listed(numeric)}" if numeric else "X has none"
        raise OptionError(f"The picture needs two numeric attributes; {has}.")
    if len(numeric) > 2:
        raise OptionError(f"X has {len(numeric)} numeric attributes: which two?", hint=_offer(numeric))
    return numeric[0], numeric[1]


def _offer(numeric: Iterable[str]) -> str:
    names = tuple(numeric)
    return f"for example attributes={names[:2]!r}; numeric are {listed(names)}." if len(names) > 1 else "name two."


def _name(frame: Frame, given: Any) -> str:
    """The name of an attribute, which may be a position in a table without names."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and not frame.named:
        if not 0 <= given < len(frame.columns):
            raise OptionError(f"There is no attribute {given}: positions go from 0 to {len(frame.columns) - 1}.")
        return frame.names[int(given)]
    if given not in frame.columns:
        hint = did_you_mean(given, frame.columns) or f"there are {listed(frame.columns)}."
        raise OptionError(f"There is no attribute {given!r}.", hint=hint)
    return str(given)


# -- many points -------------------------------------------------------------------


def spread_out(xy: Floats, most: int = MOST) -> Indices:
    """At most so many rows, from everywhere: every so manieth along a line that visits each neighborhood in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.plots.plot_data import spread_out
    >>> spread_out(np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [0.9, 1.0]]), most=2).tolist()
    [0, 3]
    """
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
