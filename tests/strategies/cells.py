"""Cells of every kind, as plain Python values; None is a missing value."""

from __future__ import annotations

import datetime as dt
import fractions
import math
from decimal import Decimal
from typing import Any

from .draw import Draw

__all__ = ["KINDS", "NAMES", "PLAIN", "STRINGS", "cells", "names"]

UTC = dt.UTC
STRINGS = ["u", "v", "w", "ü", "a b", "", " ", "1", "01", "1.0", "nan", "None", "true", "=1+1", "a\nb", "a\rb",
           "a\tb", "\x1b]0;x\x07", "\x00", "'", '"', "\\input{x}", "$x_1$", "<b>", "%s{0}", "é", "日本", "\u202e",
           "x" * 3000, "\ud800"]  # fmt: skip
HUGE = [0.0, 1e308, -1e308, 1.7976931348623157e308, 1e300, 1e155, 1e-155, 5e-324, -5e-324, 2.2e-308, -0.0, 1e16, 1.0]
WORDS = ["send", "us", "review", "password", "über", "a", "1st"]
DAY = dt.datetime(2024, 2, 28, 12)


class Odd:
    """An object that no table expects."""

    def __repr__(self) -> str:
        return "Odd()"


# The kinds of columns, each with a function of a number from 0 to 63 to a cell.
KINDS: dict[str, Any] = {
    "number": lambda k: (k - 20) / 8,
    "nominal": lambda k: STRINGS[k % 4],
    "whole": lambda k: k % 7,
    "bool": lambda k: k % 2 == 1,
    "constant": lambda k: 3.5,
    "one_word": lambda k: "u",
    "text": lambda k: " ".join(WORDS[(k + i * i) % len(WORDS)] for i in range(k % 5)),
    "date": lambda k: (DAY + dt.timedelta(days=k)).date(),
    "datetime": lambda k: DAY + dt.timedelta(hours=7 * k),
    "zoned": lambda k: (DAY + dt.timedelta(hours=7 * k)).replace(tzinfo=UTC),
    "duration": lambda k: dt.timedelta(seconds=k * 3600 + 0.5),
    "time": lambda k: dt.time(k % 24, k % 60),
    "decimal": lambda k: Decimal(k - 20) / 4,
    "fraction": lambda k: fractions.Fraction(k, 7),
    "bytes": lambda k: bytes([k % 3, 200]),
    "odd_strings": lambda k: STRINGS[k % len(STRINGS)],
    "number_words": lambda k: str(k % 9),
    "large": lambda k: 2**53 + k,
    "larger": lambda k: 2**64 - 1 - k,
    "largest": lambda k: 10 ** (k * 7),
    "huge": lambda k: HUGE[k % len(HUGE)],
    "far": lambda k: 1e9 + k / 8,
    "infinite": lambda k: [1.0, 2.0, math.inf, -math.inf, 3.0][k % 5] if k > 40 else k / 8,
    "empty": lambda k: None,
    "all_different": lambda k: f"id{k}",
    "tuples": lambda k: (k % 3, "x"),
    "lists": lambda k: [k % 3],
    "dicts": lambda k: {"k": k % 3},
    "complex": lambda k: complex(k, 1),
    "mixed": lambda k: [k, str(k), k / 8, k % 2 == 0, None, dt.date(2024, 1, 1), b"x", (1, 2)][k % 8],
    "words_and_numbers": lambda k: k if k % 2 else f"w{k % 3}",
    "mixed_zones": lambda k: DAY.replace(tzinfo=UTC) if k % 2 else DAY,
    "odd": lambda k: Odd(),
    "early": lambda k: dt.date(1 + k * 100, 1, 1),
}
# Kinds whose values every container can hold as they are.
PLAIN = ["number", "nominal", "whole", "bool", "number_words", "text"]
_USUAL = ["number", "nominal", "whole", "bool", "number", "nominal", "constant", "one_word", "text"]

NAMES: list[Any] = ["", " ", "ü", "a\nb", "a\x00b", "n" * 10_000, '"', "'", "a,b", "=1+1", "class", "weight", "cw_l0",
                    "A", "\ud800", "\\input{x}", "$", "y", "target", "a=b", "P(a)"]  # fmt: skip
_NOT_STRINGS: list[Any] = [0, 1, None, 2.5, math.nan, ("a", 1), True, b"a", dt.date(2024, 1, 1)]


def cells(draw: Draw, kind: str, n: int, missing: int = 0) -> list[Any]:
    """The cells of a column, so many percent of them missing."""
    make = KINDS[kind]
    return [None if missing and draw.chance(missing) else make(draw.below(64)) for _ in range(n)]


def kind(draw: Draw, odd: int = 35) -> str:
    """A kind of column; an odd one in so many of 100 cases."""
    return draw.often(odd, _USUAL, list(KINDS))


def names(draw: Draw, n: int, odd: int = 12) -> list[Any]:
    """Names of columns, mostly a, b, c and so on; sometimes strange, the same twice, or not strings."""
    found: list[Any] = [chr(ord("a") + j) for j in range(n)]
    if n and draw.chance(odd):
        how = draw.below(4)
        for j in range(n):
            if how <= 1 and draw.chance(60):
                found[j] = draw.pick(NAMES)
            elif how == 2 and draw.chance(40):
                found[j] = found[0]
            elif how == 3:
                found[j] = draw.pick(_NOT_STRINGS)
    return found
