"""Reference kernels of whole columns: what is in them, and their codes; see :mod:`countwise._kernels.reference`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_codes,
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
    """Whether every cell that is not missing is a whole number below 2**53 in magnitude; integers always are."""
    check_columns([column], len(column))
    if column.dtype.kind != "f":
        return True
    x = column[~np.isnan(column)]
    return bool(np.all((np.abs(x) < 2.0**53) & (np.floor(x) == x)))


def integer_domain(column: Array, limit: int) -> NDArray[np.int64] | None:
    """The distinct values of a column of whole numbers, ascending, as int64, if they lie close together.

    Missing cells are left out; a cell that is not whole is a ValueError. None if ``max - min >= limit``, or if a
    value is beyond int64.
    """
    if not float_is_integral(column):
        raise ValueError("the column holds a number that is not whole, or is 2**53 or more")
    x = column[~np.isnan(column)] if column.dtype.kind == "f" else column
    if len(x) == 0:
        return np.empty(0, np.int64)
    low, high = int(x.min()), int(x.max())
    if high - low >= limit or high >= 2**63:
        return None
    return np.unique(x).astype(np.int64)


def find_infinity(columns: Sequence[Array]) -> tuple[int, int] | None:
    """The column and row of an infinite cell, or None; which one, where there are several, is not said."""
    check_columns(columns, len(columns[0]) if columns else 0)
    for j, column in enumerate(columns):
        if column.dtype.kind == "f":
            found = np.isinf(column)
            if found.any():
                return j, int(np.argmax(found))
    return None


def mark_columns(columns: Sequence[Array], low: int, span: int) -> tuple[Array, Array]:
    """Which of the numbers low .. low + span - 1 each column holds; the span is at most 2**31.

    Returns uint8 marks (columns, span + 1), 1 where the number was met, the last for missing cells; and uint8
    (columns,), 1 if the column holds anything else: a number outside, or one that is not whole.
    """
    check_columns(columns, len(columns[0]) if columns else 0)
    check_count("span", span, 1 << 31)
    marks = np.zeros((len(columns), span + 1), np.uint8)
    outside = np.zeros(len(columns), np.uint8)
    for j, column in enumerate(columns):
        found = np.unique(column.astype(np.uint8) if column.dtype.kind == "b" else column)
        gaps = np.isnan(found) if found.dtype.kind == "f" else np.zeros(len(found), bool)
        marks[j, span] = gaps.any()
        found = found[~gaps]
        inside = (found >= low) & (found < low + span)
        if found.dtype.kind == "f":
            inside &= np.floor(found) == found
        outside[j] = not inside.all()
        marks[j, found[inside].astype(np.int64) - low] = 1
    return marks, outside


def factorize_strings(
    offsets: Array, letters: NDArray[np.uint8], limit: int
) -> tuple[NDArray[np.int32], list[int]] | None:
    """Codes of strings (int32) in the order in which they are first met, and the row of each; None if over `limit`.

    Offsets (int32 or int64, contiguous, ascending) are where each string begins, and the last one ends, among the
    letters: the bytes of all strings, contiguous.
    """
    for name, array, kinds in (("offsets", offsets, (np.int32, np.int64)), ("letters", letters, (np.uint8,))):
        if array.dtype not in kinds or array.ndim != 1 or not array.flags.c_contiguous:
            raise TypeError(f"{name} must be contiguous {' or '.join(str(np.dtype(kind)) for kind in kinds)}")
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(letters) or np.any(np.diff(offsets) < 0):
        raise ValueError("offsets must ascend within the letters, one more of them than strings")
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
    """Codes of whole numbers, of many columns at once: ``lookup[x - low]``, written to `codes`.

    The last entry of each lookup is the code of a missing cell and stands for no number; `others` are the codes of
    numbers that are not whole or outside the lookup. Lows lie within 2**62 of 0. `codes` are contiguous and of the
    lookups' types.
    """
    check_columns(columns, len(columns[0]) if columns else 0)
    for column, low, lookup, other, to in zip(columns, lows, lookups, others, codes, strict=True):
        check_codes(lookup, "lookup")
        if abs(low) > 2**62:
            raise ValueError("a low must lie within 2**62 of 0")
        to[:] = other
        if column.dtype.kind == "b":
            column = column.astype(np.uint8)
        if column.dtype.kind == "f":
            column = column.astype(np.float64)
            to[np.isnan(column)] = lookup[-1]
        inside = (column >= low) & (column < low + len(lookup) - 1)
        if column.dtype.kind == "f":
            inside &= np.floor(column) == column
        # The difference is within int64 even where the numbers themselves are uint64 and wrap around.
        to[inside] = lookup[column[inside].astype(np.int64) - low]


def factorize_objects(column: NDArray[np.object_]) -> tuple[NDArray[np.uint32], list[Any]]:
    """Uint32 codes of Python objects in the order in which they are first seen, and the first object of each value.

    Objects are one value if they are equal and of one type (True is not 1); strings if they are equal; and every
    float NaN is one value. An object that cannot be hashed is a TypeError that names its row.
    """
    if column.dtype != object or column.ndim != 1:
        raise TypeError(f"a 1-D object array is needed, not {column.dtype} in {column.ndim} dimensions")
    seen: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(column), np.uint32)
    for i, value in enumerate(column.tolist()):
        try:
            code = seen.setdefault(_identity(value), len(distinct))
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"row {i} holds a {kind}, which cannot be a value: it is not hashable") from None
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
