"""NumPy kernels that inspect and encode whole columns; part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_codes,
    check_column,
    check_columns,
    check_count,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = [
    "encode_columns",
    "factorize_objects",
    "factorize_strings",
    "find_infinity",
    "float_is_integral",
    "integer_domain",
    "mark_columns",
]


def float_is_integral(column: Array) -> bool:
    """Return whether all non-missing values are integers below 2**53 in magnitude; True for integer types."""
    check_column("column", column, len(column))
    if column.dtype.kind != "f":
        return True
    x = column[~np.isnan(column)]
    return bool(np.all((np.abs(x) < 2.0**53) & (np.floor(x) == x)))


def integer_domain(column: Array, limit: int) -> NDArray[np.int64] | None:
    """Return the distinct values of a column of integers as ascending int64, or None if their range is too wide.

    Missing values are ignored; a non-integer value raises ValueError. The result is None if ``max - min >= limit``,
    or if a value does not fit int64.
    """
    if not float_is_integral(column):
        raise ValueError("column contains a number that is not an integer or not below 2**53.")
    x = column[~np.isnan(column)] if column.dtype.kind == "f" else column
    if len(x) == 0:
        return np.empty(0, np.int64)
    low, high = int(x.min()), int(x.max())
    if high - low >= limit or high >= 2**63:
        return None
    return np.unique(x).astype(np.int64)


def find_infinity(columns: Sequence[Array]) -> tuple[int, int] | None:
    """Return the column and the row of any infinite value, or None."""
    check_columns(columns, len(columns[0]) if columns else 0)
    for j, column in enumerate(columns):
        if column.dtype.kind == "f":
            found = np.isinf(column)
            if found.any():
                return j, int(np.argmax(found))
    return None


def mark_columns(columns: Sequence[Array], low: int, span: int) -> tuple[Array, Array]:
    """Mark which of the integers low .. low + span - 1 each column contains; the span is at most 2**31.

    Returns uint8 marks (columns, span + 1), 1 if the number is present, the last one for missing values; and uint8
    (columns,), 1 if the column contains anything else: a number outside the range, or a non-integer.
    """
    check_columns(columns, len(columns[0]) if columns else 0)
    check_count("span", span, 1 << 31)
    marks = np.zeros((len(columns), span + 1), np.uint8)
    outside = np.zeros(len(columns), np.uint8)
    for j, column in enumerate(columns):
        found = np.unique(column.astype(np.uint8) if column.dtype.kind == "b" else column)
        missing = np.isnan(found) if found.dtype.kind == "f" else np.zeros(len(found), bool)
        marks[j, span] = missing.any()
        found = found[~missing]
        inside = (found >= low) & (found < low + span)
        if found.dtype.kind == "f":
            inside &= np.floor(found) == found
        outside[j] = not inside.all()
        marks[j, found[inside].astype(np.int64) - low] = 1
    return marks, outside


def factorize_strings(
    offsets: Array, letters: NDArray[np.uint8], limit: int
) -> tuple[NDArray[np.int32], list[int]] | None:
    """Return int32 codes of strings in order of first occurrence, and the first row of each; None if over `limit`.

    Offsets (int32 or int64, contiguous, ascending) have the start of each string in `letters`, and the end of the
    last. `letters` has the bytes of all strings, and is contiguous.
    """
    for name, array, kinds in (("offsets", offsets, (np.int32, np.int64)), ("letters", letters, (np.uint8,))):
        if array.dtype not in kinds or array.ndim != 1 or not array.flags.c_contiguous:
            raise TypeError(f"{name} must be contiguous {' or '.join(str(np.dtype(kind)) for kind in kinds)}.")
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(letters) or np.any(np.diff(offsets) < 0):
        raise ValueError("offsets must ascend and lie within letters, with one more offset than strings.")
    whole, places = letters.tobytes(), offsets.tolist()
    known: dict[bytes, int] = {}
    rows: list[int] = []
    codes = np.empty(len(places) - 1, dtype=np.int32)
    for i, (start, stop) in enumerate(itertools.pairwise(places)):
        codes[i] = known.setdefault(whole[start:stop], len(known))
        if len(known) > len(rows):
            rows.append(i)
        if len(known) > limit:
            return None
    return codes, rows


def encode_columns(
    columns: Sequence[Array], lows: list[int], lookups: list[Array], others: list[int], codes: list[Array]
) -> None:
    """Encode integer columns by lookup tables: ``codes[j] = lookups[j][columns[j] - lows[j]]``.

    The last entry of each lookup is the code of a missing value and does not represent a number. `others` has the
    code for numbers that are not integers or outside the lookup. Lows lie within 2**62 of 0. `codes` are contiguous
    and have the types of the lookups.
    """
    check_columns(columns, len(columns[0]) if columns else 0)
    for column, low, lookup, other, to in zip(columns, lows, lookups, others, codes, strict=True):
        check_codes(lookup, "lookup")
        if abs(low) > 2**62:
            raise ValueError("lows must lie between -2**62 and 2**62.")
        to[:] = other
        if column.dtype.kind == "b":
            column = column.astype(np.uint8)
        if column.dtype.kind == "f":
            column = column.astype(np.float64)
            to[np.isnan(column)] = lookup[-1]
        inside = (column >= low) & (column < low + len(lookup) - 1)
        if column.dtype.kind == "f":
            inside &= np.floor(column) == column
        # The difference fits int64 even if the numbers are uint64 and wrap around.
        to[inside] = lookup[column[inside].astype(np.int64) - low]


def factorize_objects(column: NDArray[np.object_]) -> tuple[NDArray[np.uint32], list[Any]]:
    """Return uint32 codes of Python objects in order of first occurrence, and the first object of each value.

    Two objects have the same value if they are equal and of the same type (True is not 1). Strings need only be
    equal, and all float NaN are one value. An object that is not hashable raises a TypeError that reports its row.
    """
    if column.dtype != object or column.ndim != 1:
        raise TypeError(f"column must be a 1-D object array, not {column.dtype} with {column.ndim} dimensions.")
    seen: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(column), np.uint32)
    for i, value in enumerate(column.tolist()):
        try:
            code = seen.setdefault(_identity(value), len(distinct))
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"Row {i} contains a {kind}, which is not hashable and cannot be a value.") from None
        if code == len(distinct):
            distinct.append(value)
        codes[i] = code
    return codes, distinct


def _identity(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating) and value != value:
        return (float, None)
    return (type(value), value)
