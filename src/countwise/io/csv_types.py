"""The type of a CSV column, decided by all its cells, and their conversion to it."""

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
_TRUTH = (frozenset({"true", "false"}), frozenset({"True", "False"}), frozenset({"TRUE", "FALSE"}))
MEMO_LIMIT = 100_000


@dataclass(eq=False, repr=False)
class _CellTypes(dict[str, "str | None"]):
    """The value of each text cell met so far: equal cells share one object, missing ones are None."""

    missing: frozenset[str]

    def __missing__(self, cell: str) -> str | None:
        value = None if cell.strip(" \t") in self.missing else cell
        self[cell] = value
        return value


class CsvColumn:
    """What one column may be, judging by the cells seen so far; then the conversion of its cells."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing
        self.number = self.whole = True
        self.truth: list[frozenset[str]] = list(_TRUTH)
        self.gaps = self.padded = self.filled = False
        self.memo = _CellTypes(missing)

    def look(self, cells: Sequence[str]) -> None:
        """Rule out what these cells contradict."""
        if not self.number and not self.truth:
            return
        joined = "\n".join(cells)
        if " " in joined or "\t" in joined:
            self.padded = True
            cells = [cell.strip(" \t") for cell in cells]
        if not self.missing.isdisjoint(cells):
            self.gaps = True
            cells = [cell for cell in cells if cell not in self.missing]
        if cells:
            self.filled = True
            self.number = self.number and self._are_numbers(cells)
            self.truth = [words for words in self.truth if words.issuperset(cells)]

    def found_numbers(self, some: bool, *, whole: bool, gaps: bool) -> None:
        """Note that the cells looked at were plain numbers, if `some`, and missing ones, if `gaps`."""
        self.gaps = self.gaps or gaps
        if some:
            self.filled = True
            self.whole = self.whole and whole
            self.truth = []

    def _are_numbers(self, cells: Sequence[str]) -> bool:
        """Whether all are decimal numbers; float() alone would also take '1_000', '١٢' and 'infinity'."""
        plain = cells if _SPECIAL.isdisjoint(cells) else [cell for cell in cells if cell not in _SPECIAL]
        self.whole = self.whole and len(plain) == len(cells)
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
        self.whole = self.whole and not (b"." in raw or b"e" in raw or b"E" in raw) and _fit_int64(plain)
        return True

    def convert(self, cells: Sequence[str]) -> NDArray[Any]:
        """The cells as an array of the column's type."""
        if not self.filled:
            return np.full(len(cells), np.nan)
        if self.padded and (self.number or self.truth):
            cells = [cell.strip(" \t") for cell in cells]
        if self.number and self.whole and not self.gaps:
            return np.fromiter(map(int, cells), np.int64, len(cells))
        if self.number:
            missing = self.missing
            if missing.isdisjoint(cells):
                return np.fromiter(map(float, cells), np.float64, len(cells))
            return np.array([np.nan if cell in missing else float(cell) for cell in cells])
        if self.truth:
            true = next(word for word in self.truth[0] if word.lower() == "true")
            return objects([None if cell in self.missing else cell == true for cell in cells])
        if len(self.memo) > MEMO_LIMIT:  # a column of all different texts must not be kept in memory
            self.memo.clear()
        return objects(list(map(self.memo.__getitem__, cells)))


def _fit_int64(cells: Sequence[str]) -> bool:
    if max(map(len, cells)) <= 18:
        return True
    try:
        np.fromiter(map(int, cells), np.int64, len(cells))
    except OverflowError:
        return False
    return True
