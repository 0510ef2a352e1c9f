"""What can be told of a single column: its distinct values, its numbers, an infinity in it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.frames import Coded, Column, is_missing
from countwise.errors import SchemaError, TableError

__all__ = [
    "class_column",
    "distinct",
    "factorized",
    "in_order",
    "infinity",
    "missing_cells",
    "missing_classes",
    "narrowest",
    "number_lookup",
    "number_of",
    "numbers_of",
    "of_objects",
    "plain",
    "refuse_infinity",
    "seconds_of",
]

_LOOKUP_LIMIT = 1 << 20  # integers spread wider than this are searched, not looked up


@lru_cache(maxsize=1 << 14)
def number_lookup(values: tuple[Any, ...]) -> tuple[str, int, NDArray[Any] | None]:
    """How to find the codes of numbers: by a table from the least value on, by search, or not at all."""
    if not values or not all(isinstance(v, int | float) for v in values):
        return "none", 0, None
    low, high = min(values), max(values)
    if not all(v == int(v) for v in values) or high - low >= _LOOKUP_LIMIT or max(-low, high) > 2**62:
        return "search", 0, None
    lookup = np.full(int(high - low) + 2, len(values) + 1, dtype=narrowest(len(values) + 2))
    lookup[[int(v - low) for v in values]] = np.arange(len(values), dtype=lookup.dtype)
    lookup[-1] = len(values)  # the kernels look there for a missing cell
    return "lookup", int(low), lookup


def narrowest(n: int) -> np.dtype[Any]:
    """The narrowest unsigned type that holds the codes 0 .. n-1."""
    return np.dtype(np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32)


def factorized(column: NDArray[Any], name: str) -> Coded:
    """An array of objects, strings or dates as codes and categories in order of first sight."""
    if column.dtype.kind in "mM":
        column = np.array([None if np.isnat(v) else str(v) for v in column], dtype=object)
    elif column.dtype.kind != "O":
        column = column.astype(object)
    try:
        codes, found = _kernels.factorize_objects(column)
    except TypeError:
        row = next(i for i, cell in enumerate(column) if not _hashable(cell))
        raise SchemaError(
            f"{name!r} holds a {type(column[row]).__name__} in row {row}; a cell is a single value.",
            hint="spread it over several columns, or make it a string.",
            row=row,
        ) from None
    return Coded(codes, found)


def _hashable(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def distinct(column: Column, name: str) -> list[Any]:
    """The distinct values that are not missing, of one kind, in order."""
    if isinstance(column, Coded):
        used: Any = range(len(column.categories))
        if not column.declared and not column.all_used:
            used = _kernels.integer_domain(column.codes, len(column.categories) + 2)
        found = [column.categories[c] for c in used if c >= 0]
        if not set(map(type, found)) <= {str}:
            found = [plain(value) for value in found if not is_missing(value)]
        return list(in_order(found, name, column))
    if not isinstance(column, np.ndarray):
        raise SchemaError(f"{name!r} is a sparse block; it has no single domain.")
    if column.dtype.kind == "b":
        return [False, True]
    if column.dtype.kind in "iuf":
        return _distinct_numbers(column, name)
    return distinct(factorized(column, name), name)


def _distinct_numbers(column: NDArray[Any], name: str) -> list[Any]:
    whole = column.dtype.kind in "iu" or _kernels.float_is_integral(column)
    if whole:
        values = _kernels.integer_domain(column, _LOOKUP_LIMIT)
        if values is not None:
            return [int(v) for v in values]
    found = np.unique(column)
    if column.dtype.kind == "f":
        found = found[~np.isnan(found)]
        if np.isinf(found).any():
            raise infinity(column, name)
        return [int(v) if whole else float(v) for v in found]
    return [int(v) for v in found]


def infinity(column: NDArray[Any], name: str) -> TableError:
    """The error for a column that holds an infinity, naming the row."""
    row = int(np.argmax(np.isinf(column)))
    return TableError(
        f"{name!r} contains infinity in row {row}. (Input X contains infinity; NaN would be a missing cell.)",
        hint="replace it by NaN if the value is missing, or by a large number if it is meant.",
        row=row,
    )


def refuse_infinity(columns: Mapping[str, NDArray[Any]]) -> None:
    """An infinity in any of some columns of numbers is an error that names its column and row."""
    floats = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    found = _kernels.find_infinity(list(floats.values()))
    if found is not None:
        name = list(floats)[found[0]]
        raise infinity(columns[name], name)


def missing_cells(column: Column) -> Flags:
    """Which cells are missing."""
    if isinstance(column, Coded):
        return np.array([*map(is_missing, column.categories), True])[column.codes]
    if column.dtype.kind == "O":
        return np.array([is_missing(value) for value in column], dtype=bool)
    is_gap = {"f": np.isnan, "M": np.isnat}.get(column.dtype.kind)
    return np.zeros(len(column), dtype=bool) if is_gap is None else is_gap(column)


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def in_order(values: Sequence[Any], name: str, column: Coded | None = None) -> tuple[Any, ...]:
    """Values of one kind in their natural order; two kinds in one column are an error."""
    kinds = {bool: "bool", str: "str", int: "number", float: "number"}
    met = {kinds.get(type(v), type(v).__name__): v for v in reversed(values)}
    if len(met) > 1:
        (kind_a, a), (kind_b, b) = sorted(met.items())[:2]
        where = "" if column is None else f" in rows {_first_row(column, a)} and {_first_row(column, b)}"
        raise SchemaError(
            f"Column {name!r} mixes kinds: {kind_a} ({a!r}) and {kind_b} ({b!r}){where}.",
            hint="convert the column to one kind, for example with astype(str).",
        )
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))


def _first_row(column: Coded, value: Any) -> int:
    """Where a value first stands."""
    code = next(i for i, c in enumerate(column.categories) if type(plain(c)) is type(value) and plain(c) == value)
    return int(np.argmax(column.codes == code))


def seconds_of(column: NDArray[Any]) -> Floats:
    """Dates and durations as seconds, NaT as NaN."""
    unit = "timedelta64[us]" if column.dtype.kind == "m" else "datetime64[us]"
    seconds = column.astype(unit).astype(np.int64) / 1e6
    seconds[np.isnat(column)] = np.nan
    return np.asarray(seconds)


def numbers_of(column: NDArray[Any], name: str) -> Floats:
    """Objects or strings as numbers, NaN where missing; what is no number is an error that names its row."""
    plain = (int, float, type(None), np.integer, np.floating)
    kinds = set(map(type, column)) if column.dtype.kind == "O" else set()
    if kinds and all(issubclass(kind, plain) for kind in kinds):
        return column.astype(np.float64)
    if kinds and all(issubclass(kind, datetime.date | type(None)) for kind in kinds):
        dates = [None if is_missing(value) else value for value in column.tolist()]  # pandas' NaT is a date too
        return seconds_of(np.array(dates, dtype="datetime64[us]"))
    numbers = np.empty(len(column))
    for row, value in enumerate(column):
        numbers[row] = number_of(value, name, f"row {row}", row)
    return numbers


def number_of(value: Any, name: str, where: str, row: int | None = None) -> float:
    """A single cell as a number, NaN if it is missing."""
    if is_missing(value):
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(
            f"{name!r} is a numeric attribute; {value!r} in {where} is not a number.",
            hint=f"mark missing cells with None or NaN, or declare types={{{name!r}: 'nominal'}}.",
            row=row,
        ) from None


# -- columns of classes ----------------------------------------------------------------------


def of_objects(column: Column) -> bool:
    """Whether a column holds objects, strings or dates that have no codes yet."""
    return isinstance(column, np.ndarray) and column.dtype.kind in "OUSM"


def class_column(column: Column, name: str) -> Column:
    """A column of classes, with codes where it holds objects; a number that is no class is an error."""
    column = factorized(column, name) if isinstance(column, np.ndarray) and of_objects(column) else column
    missing_classes(column, name)
    return column


def missing_classes(target: Column, name: str) -> Flags | None:
    """Rows without a target, or None if there are none; a target that is no class is an error."""
    if isinstance(target, Coded):
        codes = target.codes
        gaps = codes.dtype.kind == "i" and len(codes) > 0 and int(codes.min()) < 0
        return missing_cells(target) if gaps or any(map(is_missing, target.categories)) else None
    if target.dtype.kind == "c":
        raise TableError("Complex data not supported: the target is complex.")
    return _missing_numbers(target, name) if target.dtype.kind == "f" else None


def _missing_numbers(target: NDArray[Any], name: str) -> Flags:
    if _kernels.float_is_integral(target):
        return np.isnan(target)
    if np.isinf(target).any():
        row = int(np.argmax(np.isinf(target)))
        raise TableError(
            f"Input y contains infinity: the target {name!r} is {target[row]} in row {row}.",
            hint="classes are expected; NaN is a missing target, whose row is left out.",
        )
    row = int(np.argmax(target != np.floor(target)))
    raise TableError(
        f"Unknown label type: continuous. The target {name!r} is {target[row]} in row {row}; classes are expected.",
        hint="cut the target into ranges, or use a regressor, or attribute_scores(..., target='number').",
    )
