"""Values of cells: the same value for the same cell, whatever kind of table it comes from.

A number is an int or a float, also if a table has Decimals. A date, with or without a time, is its ISO text, where
midnight is left out and a time zone is converted to UTC. A duration or a time of day is a number of seconds.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import SchemaError

__all__ = [
    "EXACT",
    "date_from",
    "dates_of",
    "instant",
    "is_missing",
    "iso_text",
    "like",
    "number_from",
    "number_in",
    "number_text",
    "objects_of",
    "plain",
    "tidy",
    "unmasked",
]

EXACT = 2**53  # every integer up to this one is a double
_PLAIN = frozenset({str, int, float, bool, type(None)})
_LABELLED = frozenset({"Interval", "Period"})  # types of pandas whose text is the value
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d([T ]|\s*$)", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN, NaT, NA or a masked value.

    Examples
    --------
    >>> from countwise.data.values import is_missing
    >>> is_missing(float("nan")), is_missing(None), is_missing("")
    (True, True, False)
    """
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value) or type(value).__name__ == "MaskedConstant"
    except TypeError:
        return True  # bool(pandas.NA) raises a TypeError
    except ValueError:
        return False  # an array is not a scalar, which is reported elsewhere


def plain(value: Any) -> Any:
    """Return the value as which a cell is counted.

    Examples
    --------
    >>> import datetime
    >>> from decimal import Decimal
    >>> import numpy as np
    >>> from countwise.data.values import plain
    >>> plain(np.int8(3)), plain(Decimal("1.5")), plain(datetime.date(2024, 2, 29))
    (3, 1.5, '2024-02-29')
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    elif isinstance(value, np.generic):
        return value.item()
    if isinstance(value, datetime.date):
        return iso_text(value)
    if isinstance(value, datetime.timedelta | datetime.time):
        return _seconds(value)
    if isinstance(value, numbers.Number) and not isinstance(value, int | float | complex):
        return float(value)  # type: ignore[arg-type] # a Decimal or a Fraction
    if type(value).__name__ in _LABELLED and type(value).__module__.partition(".")[0] == "pandas":
        return str(value)
    return value


def instant(value: datetime.date) -> datetime.datetime:
    """Return a date or a time as a time in UTC without a time zone.

    Examples
    --------
    >>> import datetime
    >>> from countwise.data.values import instant
    >>> instant(datetime.date(2024, 2, 29))
    datetime.datetime(2024, 2, 29, 0, 0)
    """
    if not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    # nanoseconds of pandas are cut off everywhere
    at: datetime.datetime = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
    return at if at.tzinfo is None else at.astimezone(datetime.UTC).replace(tzinfo=None)


def iso_text(value: datetime.date) -> str:
    """Return the ISO text of a date or a time, without the time if it is midnight.

    Examples
    --------
    >>> import datetime
    >>> from countwise.data.values import iso_text
    >>> iso_text(datetime.datetime(2024, 2, 29)), iso_text(datetime.datetime(2024, 2, 29, 6, 30))
    ('2024-02-29', '2024-02-29 06:30:00')
    """
    at = instant(value)
    return at.date().isoformat() if at.time() == datetime.time() else at.isoformat(" ")


def date_from(text: str) -> datetime.datetime | None:
    """Convert the ISO text of a date or a time to a time in UTC; return None for any other text.

    Examples
    --------
    >>> from countwise.data.values import date_from
    >>> date_from("2024-02-29"), date_from("29.2.2024")
    (datetime.datetime(2024, 2, 29, 0, 0), None)
    """
    if _DATE.match(text) is None:  # fromisoformat also accepts weeks and dates without hyphens
        return None
    try:
        return instant(datetime.datetime.fromisoformat(text.strip()))
    except ValueError:
        return None


def _seconds(value: datetime.timedelta | datetime.time) -> float:
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return an object array of values; unlike ``numpy.array``, it never converts or unpacks them."""
    column = np.empty(len(values), dtype=object)
    try:
        column[:] = values
    except ValueError:  # arrays as values
        for i, value in enumerate(values):
            column[i] = value
    return column


def like(value: Any, domain: Mapping[Any, Any]) -> Any:
    """Return the key of a domain that a value of another type denotes, such as 12 for "12"; None if there is none.

    A number denotes the text that is its decimal form, or else the only text with its value, such as "007" for 7.

    Examples
    --------
    >>> from countwise.data.values import like
    >>> like("12", {12: 0, 7: 1}), like(7.0, {"12": 0, "007": 1}), like("yes", {12: 0})
    (12, '007', None)
    """
    types = {bool if type(key) is bool else str if type(key) is str else float for key in domain}
    if type(value) is str:
        found = _BOOLEANS.get(value.strip().casefold()) if types == {bool} else number_from(value)
        return found if types != {str} and found is not None and found in domain else None
    if type(value) not in (bool, int, float) or types != {str}:
        return None
    texts = [str(value), str(value).casefold(), str(value).upper()] if type(value) is bool else [number_text(value)]
    exact = next((text for text in texts if text in domain), None)
    if exact is not None:
        return exact
    equal = [text for text in domain if number_from(text) == value] if type(value) is not bool else []
    return equal[0] if len(equal) == 1 else None


def number_from(text: Any) -> int | float | None:
    """Convert text to a finite number; return None for anything else.

    Examples
    --------
    >>> from countwise.data.values import number_from
    >>> number_from(" 12 "), number_from("1e3"), number_from("1_000"), number_from("nan")
    (12, 1000.0, None, None)
    """
    if not isinstance(text, str) or _NUMBER.fullmatch(text) is None:
        return None
    if _INTEGER.fullmatch(text) is not None and len(text) < 400:
        return int(text)
    found = float(text)
    return found if math.isfinite(found) else None


def number_text(value: float) -> str:
    """Return the shortest decimal form of a number, without a point if it is an integer."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))


def unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """Return a masked array as an ordinary array, with missing values where it is masked."""
    if type(array) is np.ndarray:
        return array
    mask = getattr(array, "mask", None)
    if mask is None or not type(array).__module__.startswith("numpy.ma"):
        return array
    mask, data = np.broadcast_to(np.asarray(mask), array.shape), np.asarray(array)
    if not mask.any():
        return data
    if data.dtype.kind in "iu" and not np.any((data > EXACT) | (data < -EXACT), where=~mask):
        data = data.astype(np.float64)
    if data.dtype.kind in "fmM":
        missing: Any = np.nan if data.dtype.kind == "f" else np.array("NaT", dtype=data.dtype)
        return np.where(mask, missing, data).astype(data.dtype)
    cells = data.astype(object)
    cells[mask] = None
    return cells


def tidy(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert an object array of numbers, dates, durations or times of day to an array of such a dtype.

    Other arrays, and integers that a double cannot represent, stay objects.
    """
    if len(column) and (type(column[0]) is str or str in set(map(type, column[:100]))):  # usually strings
        return column
    types = set(map(type, column)) - {type(None)}
    if not types or str in types or types == {bool}:
        return column
    if types <= {int, float}:
        found = _small_numbers(column, types)
        if found is not None:
            return found
    present = {type(value) for value in column if not is_missing(value)}
    if not present or any(issubclass(t, bool | np.bool_) for t in present):
        return column
    if all(issubclass(t, numbers.Number) and not issubclass(t, np.timedelta64) for t in present):
        return _numbers(column, name)
    if all(issubclass(t, datetime.date | np.datetime64) for t in present):
        return dates_of(column, name)
    if all(issubclass(t, datetime.timedelta | datetime.time | np.timedelta64) for t in present):
        return np.array([np.nan if is_missing(value) else plain(value) for value in column])
    return column


def _small_numbers(column: NDArray[Any], types: set[type]) -> NDArray[Any] | None:
    """Convert Python numbers and None at once; return None if an integer may not be exact as a double."""
    try:
        found = column.astype(np.float64)
    except OverflowError:
        return None
    if not np.abs(found).max(initial=0.0, where=~np.isnan(found)) < EXACT:
        return found if types == {float} else None
    return found.astype(np.int64) if types == {int} and not np.isnan(found).any() else found


def _numbers(column: NDArray[Any], name: str) -> NDArray[Any]:
    values: list[Any] = [None if is_missing(value) else plain(value) for value in column]
    if any(isinstance(value, complex) for value in values):
        return column
    types = set(map(type, values))
    if types == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    found = np.array([np.nan if v is None else number_in(v, name, row) for row, v in enumerate(values)])
    exact = all(v == number for v, number in zip(values, found.tolist(), strict=True) if type(v) is int)
    return found if exact else objects_of(values)


def number_in(value: Any, name: str, row: int) -> float:
    """Convert a number to a float; one that is too large for a float is an error."""
    try:
        return float(value)
    except OverflowError:
        digits = str(value)
        raise SchemaError(
            f"{name!r} is a number of {len(digits)} digits in row {row}, which is too large for a float.",
            hint="divide the column by a power of ten, or convert it to strings.",
            row=row,
        ) from None


def dates_of(column: Iterable[Any], name: str) -> NDArray[Any]:
    """Convert dates and times to datetime64, in UTC; a mixture of times with and without a time zone is an error."""
    found: list[Any] = []
    zoned: set[bool] = set()
    for row, value in enumerate(column):
        if is_missing(value):
            found.append(None)
            continue
        if isinstance(value, datetime.datetime):
            zoned.add(value.tzinfo is not None)
            if len(zoned) > 1:
                raise SchemaError(
                    f"{name!r} has times with and without a time zone; row {row} is the first that differs.",
                    hint="give all times a time zone, or none.",
                    row=row,
                )
        found.append(value if isinstance(value, np.datetime64) else instant(value))
    return np.array(found, dtype="datetime64[us]")
