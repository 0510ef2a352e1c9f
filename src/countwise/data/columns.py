"""Operations on a single column: distinct values, conversion to numbers, checks for infinite and missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.frames import Coded, Column, is_missing
from countwise.data.values import EXACT, plain, tidy
from countwise.errors import SchemaError, TableError

__all__ = [
    "class_column",
    "distinct",
    "factorized",
    "has_values",
    "in_order",
    "infinity",
    "joined_dtype",
    "missing_cells",
    "missing_classes",
    "narrowest",
    "number_lookup",
    "number_of",
    "numbers_of",
    "of_objects",
    "plain",
    "refuse_infinity",
    "remaining",
    "seconds_of",
]

_LOOKUP_LIMIT = 1 << 20  # integers of a wider range are found by binary search instead of a lookup table


@lru_cache(maxsize=1 << 14)
def number_lookup(values: tuple[Any, ...]) -> tuple[str, int, NDArray[Any] | None]:
    """Return how to encode numbers: "lookup" with the least value and a table, "search", or "none"."""
    if not values or not all(isinstance(v, int | float) for v in values):
        return "none", 0, None
    low, high = min(values), max(values)
    if max(-low, high) >= EXACT // 2:  # NumPy and the kernels compare larger integers and floats inexactly
        return "none", 0, None
    if not all(v == int(v) for v in values) or high - low >= _LOOKUP_LIMIT:
        return "search", 0, None
    lookup = np.full(int(high - low) + 2, len(values) + 1, dtype=narrowest(len(values) + 2))
    lookup[[int(v - low) for v in values]] = np.arange(len(values), dtype=lookup.dtype)
    lookup[-1] = len(values)  # the kernels read the code of a missing value there
    return "lookup", int(low), lookup


def remaining(counts: NDArray[Any]) -> Flags:
    """Return which counts are more than rounding errors of subtracted weights, whatever the scale of the weights."""
    return np.asarray(counts > 1e-9 * min(1.0, float(np.max(counts, initial=0.0))))


def narrowest(n: int) -> np.dtype[Any]:
    """Return the narrowest unsigned integer dtype for the codes 0, ..., n - 1."""
    return np.dtype(np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32)


def factorized(column: NDArray[Any], name: str) -> Coded:
    """Encode an array of objects, strings or dates; categories are in order of first occurrence."""
    if column.dtype.kind in "mM":
        times, places = np.unique(column, return_inverse=True)
        return Coded(places, [None if np.isnat(value) else plain(value) for value in times])
    if column.dtype.kind != "O":
        column = column.astype(object)
    try:
        codes, found = _kernels.factorize_objects(column)
    except TypeError:
        row = next(i for i, cell in enumerate(column) if not _hashable(cell))
        raise SchemaError(
            f"{name!r} has a {type(column[row]).__name__} in row {row}, but each value must be a scalar.",
            hint="split it into several columns, or convert it to a string.",
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
    """Return the distinct values that occur, except missing ones, in ascending order; mixed types are an error."""
    if isinstance(column, Coded):
        used: Any = range(len(column.categories))
        if not column.all_used:
            used = _kernels.integer_domain(column.codes, len(column.categories) + 2)
        found = [column.categories[c] for c in used if c >= 0]
        if not set(map(type, found)) <= {str}:
            found = list(dict.fromkeys(plain(value) for value in found if not is_missing(value)))
        return list(in_order(found, name, column))
    if not isinstance(column, np.ndarray):
        raise SchemaError(f"{name!r} is a sparse matrix; it cannot be used as a single nominal column.")
    if column.dtype.kind == "b":
        return [value for value, occurs in ((False, not column.all()), (True, column.any())) if occurs]
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
    """Return the error for a column with an infinite value."""
    row = int(np.argmax(np.isinf(column)))
    return TableError(
        f"Input X contains infinity: {name!r} is {column[row]} in row {row}.",
        hint="replace it with NaN if the value is missing, else with a finite number.",
        row=row,
    )


def refuse_infinity(columns: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error if a numeric column has an infinite value."""
    floats = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    found = _kernels.find_infinity(list(floats.values()))
    if found is not None:
        name = list(floats)[found[0]]
        raise infinity(columns[name], name)


def missing_cells(column: Column) -> Flags:
    """Return a mask of the missing values."""
    if isinstance(column, Coded):
        return np.array([*map(is_missing, column.categories), True])[column.codes]
    if column.dtype.kind == "O":
        return np.array([is_missing(value) for value in column], dtype=bool)
    test = {"f": np.isnan, "M": np.isnat, "m": np.isnat}.get(column.dtype.kind)
    return np.zeros(len(column), dtype=bool) if test is None else test(column)


def has_values(column: Column) -> bool:
    """Return whether a column has a value that is not missing, or a declared domain."""
    if isinstance(column, Coded) and column.declared and len(column.categories):
        return True
    return not isinstance(column, Coded | np.ndarray) or not bool(missing_cells(column).all())


def joined_dtype(one: np.dtype[Any] | None, other: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """Return the dtype of the labels of two parts of the data; None if NumPy should infer it."""
    if one == other:
        return one
    kinds = {dtype.kind for dtype in (one, other) if dtype is not None}
    if one is not None and other is not None and kinds <= set("iuf"):
        return np.promote_types(one, other)
    return np.dtype(object) if "O" in kinds else None


def in_order(values: Sequence[Any], name: str, column: Coded | None = None) -> tuple[Any, ...]:
    """Return values of one type in their natural order; mixed types are an error."""
    type_names = {bool: "bool", str: "str", int: "number", float: "number"}
    found = {type_names.get(type(v), type(v).__name__): v for v in reversed(values)}
    if len(found) > 1:
        (type_a, a), (type_b, b) = sorted(found.items())[:2]
        where = "" if column is None else f" in rows {_first_row(column, a)} and {_first_row(column, b)}"
        raise SchemaError(
            f"Column {name!r} has mixed types: {type_a} ({a!r}) and {type_b} ({b!r}){where}.",
            hint="convert the column to one type, for example with astype(str).",
        )
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))


def _first_row(column: Coded, value: Any) -> int:
    """Return the first row that has a value."""
    code = next(i for i, c in enumerate(column.categories) if type(plain(c)) is type(value) and plain(c) == value)
    return int(np.argmax(column.codes == code))


def seconds_of(column: NDArray[Any]) -> Floats:
    """Convert dates and durations to seconds, and NaT to NaN."""
    unit = "timedelta64[us]" if column.dtype.kind == "m" else "datetime64[us]"
    seconds = column.astype(unit).astype(np.int64) / 1e6
    seconds[np.isnat(column)] = np.nan
    return np.asarray(seconds)


def numbers_of(column: NDArray[Any], name: str) -> Floats:
    """Convert objects or strings to numbers, NaN where missing; any other value is an error."""
    column = tidy(column, name) if column.dtype.kind == "O" else column
    if column.dtype.kind in "mM":
        return seconds_of(column)
    if column.dtype.kind not in "OUS":
        with suppress(ValueError):
            return column.astype(np.float64)
    numbers = np.empty(len(column))
    for row, value in enumerate(column):
        numbers[row] = number_of(value, name, f"row {row}", row)
    return numbers


def number_of(value: Any, name: str, where: str, row: int | None = None) -> float:
    """Convert one value to a number, NaN if it is missing."""
    if is_missing(value):
        return float("nan")
    try:
        number = float(plain(value))
        if isinstance(value, str) and (not value.isascii() or "_" in value):  # digits that no file or engine reads
            raise ValueError
        return number
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(
            f"{name!r} is numeric, but {plain(value)!r} in {where} is not a number.",
            hint=f"use None or NaN for missing values, or train with types={{{name!r}: 'nominal'}}.",
            row=row,
        ) from None


# -- columns of classes ----------------------------------------------------------------------


def of_objects(column: Column) -> bool:
    """Return whether a column is an unencoded array of objects, strings, dates or durations."""
    return isinstance(column, np.ndarray) and column.dtype.kind in "OUSMm"


def class_column(column: Column, name: str) -> Column:
    """Return a column of classes, with objects encoded; continuous numbers are an error."""
    column = factorized(column, name) if isinstance(column, np.ndarray) and of_objects(column) else column
    missing_classes(column, name)
    return column


def missing_classes(target: Column, name: str) -> Flags | None:
    """Return a mask of the rows without a target, or None if there are none; continuous numbers are an error."""
    if isinstance(target, Coded):
        codes = target.codes
        negative = codes.dtype.kind == "i" and len(codes) > 0 and int(codes.min()) < 0
        return missing_cells(target) if negative or any(map(is_missing, target.categories)) else None
    if target.dtype.kind == "c":
        raise TableError(f"Complex data not supported: the target {name!r} has complex values.")
    if target.dtype.kind in "mM":
        missing = np.isnat(target)
        return missing if missing.any() else None
    return _missing_numbers(target, name) if target.dtype.kind == "f" else None


def _missing_numbers(target: NDArray[Any], name: str) -> Flags:
    if _kernels.float_is_integral(target):
        return np.isnan(target)
    if np.isinf(target).any():
        row = int(np.argmax(np.isinf(target)))
        raise TableError(
            f"Input y contains infinity: the target {name!r} is {target[row]} in row {row}.",
            hint="use a target with discrete classes; rows whose target is NaN are ignored.",
        )
    row = int(np.argmax((target != np.floor(target)) & ~np.isnan(target)))
    raise TableError(
        f"Unknown label type: continuous. The target {name!r} is {target[row]} in row {row}, "
        "but a classifier needs discrete classes.",
        hint="discretize the target, or use a regressor or attribute_scores(..., target='number').",
    )
