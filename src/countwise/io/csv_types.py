"""Types of CSV columns, given or determined from all fields of a column, and the conversion of the fields."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError, listed
from countwise.io.pieces import objects
from countwise.io.spreadsheets import unguarded

__all__ = ["FIELD_TYPES", "MEMO_LIMIT", "MOST_UNFIT", "CsvColumn"]

FIELD_TYPES = ("numeric", "date", "text", "code", "boolean")  # types that `read` can be given
MEMO_LIMIT = 100_000
MOST_UNFIT = 0.25  # share of fields that may not fit a given type; more are an error
_MOST_ODD = 0.05  # the same for a type that is not given: with more such fields, the column is text
_FEW_ODD = 3  # distinct fields among these numbers that are read as missing
_ENOUGH = 20  # numbers without which a column with other fields is text
_REMEMBERED = 50  # distinct fields that are not numbers
_NUMBER_BYTES = b"0123456789+-.eE\n"
_SPECIAL = frozenset({"nan", "NaN", "inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"})
_LEADING_ZERO = re.compile(rb"\n[+-]?0[0-9]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?\d+(,\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?", re.ASCII)
_BOOLEAN = (frozenset({"true", "false"}), frozenset({"True", "False"}), frozenset({"TRUE", "FALSE"}))
_EXACT = 2**53  # larger integers are not all doubles


@dataclass(eq=False, repr=False)
class _TextValues(dict[str, "str | None"]):
    """Value of each text field seen so far: equal fields share one string, missing ones are None."""

    missing: frozenset[str]

    def __missing__(self, field: str) -> str | None:
        value = None if field.strip(" \t") in self.missing else unguarded(field)
        self[field] = value
        return value


class CsvColumn:
    """Possible types of one column, given the fields seen so far, and the conversion of its fields.

    If the type is given, fields that do not fit it are missing values; many of them are an error. Otherwise a column
    is numeric if its fields are numbers. A few other fields among many numbers are missing values, with a warning.
    """

    def __init__(self, missing: frozenset[str], given: str | None = None, separator: str = ",") -> None:
        self.missing = missing
        self.given = given
        self.separator = separator
        self.number = given in (None, "numeric")
        self.boolean: list[frozenset[str]] = list(_BOOLEAN) if given is None else []
        self.integer = True
        self.has_missing = self.padded = self.has_values = False
        self.large = self.huge = False  # whether integers are beyond 2^53, and beyond 64 bits
        self.comma = False  # whether numbers have decimal commas
        self.odd: Counter[str] = Counter()  # fields that are not numbers, or not of the given type
        self._odd_commas: Counter[str] = Counter()  # the same if numbers have decimal commas
        self._points = False  # whether a number has a decimal point
        self.n_present = self.n_rows = self.n_odd = 0
        self.first_odd: list[tuple[int, str]] = []  # row and field, for error messages
        self.memo = _TextValues(missing)

    @property
    def checked(self) -> bool:
        """Whether the type depends on more fields."""
        return self.number or bool(self.boolean) or self.given == "date"

    def look(self, fields: Sequence[str], counts: Sequence[int] | None = None) -> None:
        """Exclude the types that these fields contradict; `counts` has the number of rows of each field."""
        rows = len(fields) if counts is None else sum(counts)
        if self.checked:
            self._look(fields, counts)
        self.n_rows += rows

    def _look(self, fields: Sequence[str], counts: Sequence[int] | None) -> None:
        joined = "\n".join(fields)
        if " " in joined or "\t" in joined:
            self.padded = True
            fields = [field.strip(" \t") for field in fields]
        places: Sequence[int] = range(len(fields))
        if not self.missing.isdisjoint(fields):
            self.has_missing = True
            places = [i for i, field in enumerate(fields) if field not in self.missing]
            fields = [fields[i] for i in places]
        if not fields:
            return
        self.has_values = True
        weights = None if counts is None else [counts[i] for i in places]
        self.n_present += len(fields) if weights is None else sum(weights)
        self.boolean = [words for words in self.boolean if words.issuperset(fields)]
        if self.given == "date":
            self._count_odd([i for i, field in enumerate(fields) if _seconds(field) is None], fields, places, weights)
        elif self.number and not self._are_numbers(fields):
            self._look_at_others(fields, places, weights)

    def found_numbers(self, n_rows: int, n_present: int, *, integer: bool, points: bool) -> None:
        """Record that the fields were numbers or missing values."""
        self.has_missing = self.has_missing or n_present < n_rows
        self.n_rows, self.n_present = self.n_rows + n_rows, self.n_present + n_present
        if n_present:
            self.has_values = True
            self.integer, self._points = self.integer and integer, self._points or points
            self.boolean = []

    def _are_numbers(self, fields: Sequence[str]) -> bool:
        """Return whether all fields are decimal numbers; float() would also accept '1_000', '١٢' and 'infinity'."""
        plain = fields if _SPECIAL.isdisjoint(fields) else [field for field in fields if field not in _SPECIAL]
        integer = self.integer and len(plain) == len(fields)
        joined = "\n".join(plain)
        if not plain:
            self.integer = integer
            return True
        if not joined.isascii():
            return False
        raw = joined.encode()
        if raw.translate(None, _NUMBER_BYTES) or raw.count(b"\n") >= len(plain) or _LEADING_ZERO.search(b"\n" + raw):
            return False
        try:
            values = np.fromiter(map(float, plain), np.float64, len(plain))
        except ValueError:
            return False
        if np.isinf(values).any():
            return False
        self._points = self._points or b"." in raw
        self.integer = integer and not (b"." in raw or b"e" in raw or b"E" in raw)
        if self.integer:
            self.found_sizes(values)
            self.huge = self.huge or not _fit_int64(plain)
        return True

    def found_sizes(self, values: NDArray[Any]) -> None:
        """Record whether integers are beyond those that a double can represent."""
        self.large = self.large or float(np.abs(values).max(initial=0.0)) >= _EXACT

    def _look_at_others(self, fields: Sequence[str], places: Sequence[int], weights: Sequence[int] | None) -> None:
        """Count the fields that are not numbers, with decimal points and with decimal commas."""
        if self.given is None and _LEADING_ZERO.search(("\n" + "\n".join(fields)).encode(errors="replace")):
            self.number = False  # codes such as 007
            return
        numbers = [field for field in fields if _is_number(field)]
        if numbers:
            self._are_numbers(numbers)
        self._count_odd([i for i, field in enumerate(fields) if not _is_number(field)], fields, places, weights)
        for i, field in enumerate(fields):
            if len(self._odd_commas) <= _REMEMBERED and not _is_comma_number(field):
                self._odd_commas[field] += 1 if weights is None else weights[i]
        if self.given is None and min(len(self.odd), len(self._odd_commas)) > _REMEMBERED:
            self.number = False  # a column of strings

    def _count_odd(
        self, odd: list[int], fields: Sequence[str], places: Sequence[int], weights: Sequence[int] | None
    ) -> None:
        for i in odd:
            n = 1 if weights is None else weights[i]
            self.n_odd += n
            if len(self.odd) <= _REMEMBERED or fields[i] in self.odd:
                self.odd[fields[i]] += n
            if len(self.first_odd) < 3:
                self.first_odd.append((self.n_rows + places[i], fields[i]))

    def decide(self, name: str) -> str | None:
        """Determine the type after all fields were seen; return a note on fields that are read as missing values."""
        if self.given not in (None, "numeric", "date") or not self.n_odd:
            return None
        if self.number and self._has_commas():
            self.comma, self.integer = True, False
            self.odd = self._odd_commas
            self.n_odd = self.odd.total()
        if self.given is None and self.number and not self._few_odd():
            self.number = False
            return self._note_on_text(name)
        if not self.number and self.given is None:
            return None
        if not self.n_odd:
            return None
        self.has_missing = True
        what = "dates such as 2024-02-29" if self.given == "date" else "numbers"
        count = f"{self.n_odd:,} of {self.n_present:,} values of {name!r}"
        if self.given is not None and self.n_odd > MOST_UNFIT * self.n_present:
            first = ", ".join(f"{field!r} in row {row}" for row, field in self.first_odd)
            raise ReadError(
                f"{count} are not {what}: {first}{', ...' if self.n_odd > len(self.first_odd) else ''}.",
                hint=f"check that the column has the right content, or train with types={{{name!r}: 'nominal'}}.",
            )
        shown = listed((field for field, _ in self.odd.most_common(4)), most=3)
        if self.n_odd == 1:
            return (
                f"{count} is not {'a date' if self.given == 'date' else 'a number'}: {shown}. It is read as missing."
            )
        return f"{count} are not {what}: {shown}. They are read as missing."

    def _note_on_text(self, name: str) -> str | None:
        """Return a note on a column that is text although most of its fields are numbers."""
        commas = self.separator != "," and not self._points
        odd = min(self.odd, self._odd_commas, key=Counter.total) if commas else self.odd
        if not 0 < 2 * odd.total() < self.n_present:
            return None
        shown = listed((field for field, _ in odd.most_common(4)), most=3)
        return (
            f"{name!r} is read as nominal: {odd.total():,} of {self.n_present:,} values are not numbers ({shown}). "
            f"Use types={{{name!r}: 'numeric'}} to read them as missing."
        )

    def _has_commas(self) -> bool:
        """Return whether the fields are numbers with decimal commas rather than decimal points."""
        commas = [field for field in self.odd if _COMMA_NUMBER.fullmatch(field)]
        if (
            not commas
            or self.separator == ","
            or self._points
            or self._odd_commas.total() > MOST_UNFIT * self.n_present
        ):
            return False
        if self.given is None and self._odd_commas and not self._few(self._odd_commas):
            return False
        return self.separator == ";" or not all(_THOUSANDS.fullmatch(field) for field in commas)

    def _few_odd(self) -> bool:
        return not self.n_odd or self._few(self.odd)

    def _few(self, odd: Counter[str]) -> bool:
        numbers = self.n_present - odd.total()
        return len(odd) <= _FEW_ODD and odd.total() <= _MOST_ODD * self.n_present and numbers >= _ENOUGH

    @property
    def exact(self) -> bool:
        """Whether the integers fit neither int64, because of their size or missing values, nor float64."""
        return self.number and self.integer and not self.n_odd and (self.huge or (self.large and self.has_missing))

    def convert(self, fields: Sequence[str]) -> NDArray[Any]:
        """Convert fields to an array of the column's type."""
        if not self.has_values and self.given in (None, "numeric"):
            return np.full(len(fields), np.nan)
        if self.padded and (self.number or self.boolean or self.given == "date"):
            fields = [field.strip(" \t") for field in fields]
        if self.number:
            return self._numbers(fields)
        if self.given == "date":
            seconds = [None if field in self.missing else _seconds(field) for field in fields]
            return np.array(seconds, dtype="datetime64[us]")
        if self.boolean:
            true = next(word for word in self.boolean[0] if word.lower() == "true")
            return objects([None if field in self.missing else field == true for field in fields])
        if len(self.memo) > MEMO_LIMIT:  # limits the memory for a column of distinct strings
            self.memo.clear()
        texts = list(map(self.memo.__getitem__, fields))
        if self.given in ("code", "boolean"):
            texts = [None if text is None else _CODES[self.given](text) for text in texts]
        return objects(texts)

    def _numbers(self, fields: Sequence[str]) -> NDArray[Any]:
        if self.comma:
            fields = [field.replace(",", ".") if field not in self.odd else "" for field in fields]
        if self.exact:  # without rounding to doubles
            return objects([None if field in self.missing else int(field) for field in fields])
        if self.integer and not self.n_odd and not self.has_missing:
            return np.fromiter(map(int, fields), np.int64, len(fields))
        missing = self.missing
        if not self.n_odd and missing.isdisjoint(fields):
            return np.fromiter(map(float, fields), np.float64, len(fields))
        if not self.n_odd:
            return np.array([np.nan if field in missing else float(field) for field in fields])
        return np.array([float(f) if f not in missing and _is_number(f) else np.nan for f in fields])


def _is_number(field: str) -> bool:
    return field in _SPECIAL or (_NUMBER.fullmatch(field) is not None and np.isfinite(float(field)))


def _is_comma_number(field: str) -> bool:
    if field in _SPECIAL:
        return True
    return _COMMA_NUMBER.fullmatch(field) is not None and bool(np.isfinite(float(field.replace(",", "."))))


def _fit_int64(fields: Sequence[str]) -> bool:
    return max(map(len, fields)) <= 18 or all(-(2**63) <= int(field) < 2**63 for field in fields)


def _seconds(field: str) -> datetime.datetime | None:
    """Convert an ISO date to a time in UTC without a time zone; return None for any other text."""
    if _DATE.fullmatch(field) is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(field)
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)


def _code(text: str) -> int | float | str:
    """Return a number for the text of a number, else the text."""
    if _NUMBER.fullmatch(text.strip()) is None:
        return text
    number = float(text)
    return int(text) if text.strip().lstrip("+-").isdecimal() else number if np.isfinite(number) else text


def _boolean(text: str) -> bool | str:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().casefold(), text)


_CODES: dict[str, Any] = {"code": _code, "boolean": _boolean}
