"""Dates of ARFF files, which are written after a pattern of Java's."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable

__all__ = ["date_parser"]

_MONTHS = [name.lower() for name in calendar.month_abbr]
_FIELDS = {
    "y": "year",
    "M": "month",
    "d": "day",
    "H": "hour",
    "h": "hour12",
    "m": "minute",
    "s": "second",
} | {
    "S": "milli",
    "a": "half",
    "E": "weekday",
    **dict.fromkeys("ZXz", "zone"),
}
_ZONE = r"Z|UTC|GMT|[+-]\d\d(?::?\d\d)?"


def date_parser(pattern: str) -> Callable[[str], float | None]:
    """A function from a date to seconds since 1970, or to None if the text does not fit Java's pattern."""
    parts = re.findall(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z'])", pattern)
    expression = ""
    for i, (literal, run, letter, other) in enumerate(parts):
        if letter:
            following = parts[i + 1][2] if i + 1 < len(parts) else ""
            part = _date_field(letter, len(run), following in "yMdHhmsS" and following != "")
            if f"(?P<{_FIELDS[letter]}>" in expression:
                raise ValueError(f"two parts for the {_FIELDS[letter]}")
            expression += part
        else:
            expression += re.escape(other or literal.replace("''", "'") or "'")
    regex = re.compile(expression, re.IGNORECASE | re.ASCII)

    def parse(text: str) -> float | None:
        match = regex.fullmatch(text)
        return _seconds(match.groupdict()) if match else None

    return parse


def _date_field(letter: str, count: int, exact: bool) -> str:
    """The regular expression of one field; digits are counted only if more digits follow at once."""
    if letter not in _FIELDS:
        raise ValueError(f"the unknown part {letter * count!r}")
    if letter in "ZXz":
        body = _ZONE
    elif letter == "a":
        body = "AM|PM"
    elif letter == "E" or (letter == "M" and count > 2):
        body = r"[A-Za-z]+"
    elif exact:
        body = rf"\d{{{count}}}"
    else:
        body = {"y": r"\d{4}" if count > 2 else r"\d{2,4}", "S": r"\d{1,3}"}.get(letter, r"\d{1,2}")
    return f"(?P<{_FIELDS[letter]}>{body})"


def _seconds(parts: dict[str, str | None]) -> float | None:
    get = {name: text for name, text in parts.items() if text is not None}
    month = get.get("month", "1").lower()
    year = int(get.get("year", "1970"))
    if len(get.get("year", "1970")) == 2:  # POSIX's century, where Java's would move with the calendar
        year += 1900 if year >= 69 else 2000
    named = _MONTHS.index(month[:3]) if month[:3] in _MONTHS else 0
    number = int(month) if month.isdigit() else named
    day, minute, second = int(get.get("day", "1")), int(get.get("minute", "0")), int(get.get("second", "0"))
    hour = int(get.get("hour", "0"))
    if "hour12" in get:
        hour = int(get["hour12"]) % 12 + (12 if get.get("half", "AM").upper() == "PM" else 0)
    if not (1 <= number <= 12 and year >= 1 and hour < 24 and minute < 60 and second < 60):
        return None
    if not 1 <= day <= calendar.monthrange(year, number)[1]:
        return None
    whole = calendar.timegm((year, number, day, hour, minute, second))
    return whole + int(get.get("milli", "0")) / 1000 - _offset(get.get("zone", "Z"))


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
