"""Types of CSV columns, determined from all fields of a column, and the conversion of the fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.io.pieces import objects

__all__ = ["MEMO_LIMIT", "CsvColumn"]

_NUMBER_BYTES = b"0123456789+-.eE\n"
_SPECIAL = frozenset({"nan", "NaN", "inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"})
_LEADING_ZERO = re.compile(rb"\n[+-]?0[0-9]")
_BOOLEAN = (frozenset({"true", "false"}), frozenset({"True", "False"}), frozenset({"TRUE", "FALSE"}))
MEMO_LIMIT = 100_000


@dataclass(eq=False, repr=False)
class _TextValues(dict[str, "str | None"]):
    """Value of each text field seen so far: equal fields share one string, missing ones are None."""

    missing: frozenset[str]

    def __missing__(self, field: str) -> str | None:
        value = None if field.strip(" \t") in self.missing else field
        self[field] = value
        return value


class CsvColumn:
    """Possible types of one column, given the fields seen so far, and the conversion of its fields."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing
        self.number = self.integer = True
        self.boolean: list[frozenset[str]] = list(_BOOLEAN)
        self.has_missing = self.padded = self.has_values = False
        self.memo = _TextValues(missing)

    def look(self, fields: Sequence[str]) -> None:
        """Exclude the types that these fields contradict."""
        if not self.number and not self.boolean:
            return
        joined = "\n".join(fields)
        if " " in joined or "\t" in joined:
            self.padded = True
            fields = [field.strip(" \t") for field in fields]
        if not self.missing.isdisjoint(fields):
            self.has_missing = True
            fields = [field for field in fields if field not in self.missing]
        if fields:
            self.has_values = True
            self.number = self.number and self._are_numbers(fields)
            self.boolean = [words for words in self.boolean if words.issuperset(fields)]

    def found_numbers(self, some: bool, *, integer: bool, has_missing: bool) -> None:
        """Record that the fields were numbers, if there were `some`, or missing values."""
        self.has_missing = self.has_missing or has_missing
        if some:
            self.has_values = True
            self.integer = self.integer and integer
            self.boolean = []

    def _are_numbers(self, fields: Sequence[str]) -> bool:
        """Return whether all fields are decimal numbers; float() would also accept '1_000', '١٢' and 'infinity'."""
        plain = fields if _SPECIAL.isdisjoint(fields) else [field for field in fields if field not in _SPECIAL]
        self.integer = self.integer and len(plain) == len(fields)
        joined = "\n".join(plain)
        if not plain or not joined.isascii():
            return not plain
        raw = joined.encode()
        if raw.translate(None, _NUMBER_BYTES) or raw.count(b"\n") >= len(plain) or _LEADING_ZERO.search(b"\n" + raw):
            return False
        try:
            values = np.fromiter(map(float, plain), np.float64, len(plain))
        except ValueError:
            return False
        if np.isinf(values).any():
            return False
        self.integer = self.integer and not (b"." in raw or b"e" in raw or b"E" in raw) and _fit_int64(plain)
        return True

    def convert(self, fields: Sequence[str]) -> NDArray[Any]:
        """Convert fields to an array of the column's type."""
        if not self.has_values:
            return np.full(len(fields), np.nan)
        if self.padded and (self.number or self.boolean):
            fields = [field.strip(" \t") for field in fields]
        if self.number and self.integer and not self.has_missing:
            return np.fromiter(map(int, fields), np.int64, len(fields))
        if self.number:
            missing = self.missing
            if missing.isdisjoint(fields):
                return np.fromiter(map(float, fields), np.float64, len(fields))
            return np.array([np.nan if field in missing else float(field) for field in fields])
        if self.boolean:
            true = next(word for word in self.boolean[0] if word.lower() == "true")
            return objects([None if field in self.missing else field == true for field in fields])
        if len(self.memo) > MEMO_LIMIT:  # limits the memory for a column of distinct strings
            self.memo.clear()
        return objects(list(map(self.memo.__getitem__, fields)))


def _fit_int64(fields: Sequence[str]) -> bool:
    if max(map(len, fields)) <= 18:
        return True
    try:
        np.fromiter(map(int, fields), np.int64, len(fields))
    except OverflowError:
        return False
    return True
