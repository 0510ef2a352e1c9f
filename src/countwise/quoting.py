"""Names and values as SQL writes them: whatever they hold, they are data."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["DIALECTS", "LEAST", "MOST", "Dialect", "number"]

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
LEAST, MOST = "(-1.7976931348623157e308)", "1.7976931348623157e308"  # between which NaN is nowhere


@dataclass(frozen=True, slots=True)
class Dialect:
    """Whose SQL.

    Parameters
    ----------
    name : {"duckdb", "postgres", "spark", "sqlite"}

    Examples
    --------
    >>> from countwise.quoting import Dialect
    >>> print(Dialect("duckdb").identifier('a "b" c'), Dialect("spark").identifier("a `b` c"))
    "a ""b"" c" `a ``b`` c`
    >>> print(Dialect("duckdb").literal("O'Brien"), Dialect("duckdb").literal(-2.5), Dialect("sqlite").literal(True))
    'O''Brien' (-2.5e0) 1
    """

    name: str = "duckdb"

    def __post_init__(self) -> None:
        if self.name not in DIALECTS:
            raise OptionError(
                f"dialect={self.name!r} is unknown.",
                hint=did_you_mean(self.name, DIALECTS) or f"give {listed(DIALECTS)}.",
            )

    def identifier(self, name: str) -> str:
        """The name of a column or table, quoted."""
        mark = "`" if self.name == "spark" else '"'
        if "\0" in name:
            raise OptionError(f"{name!r} cannot be the name of a column in SQL.")
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def literal(self, value: Any) -> str:
        """A value: a text in quotes, a number in brackets where it is negative."""
        if value is None:
            return "NULL"
        if isinstance(value, bool | np.bool_):
            return str(int(value)) if self.name == "sqlite" else ("TRUE" if value else "FALSE")
        if isinstance(value, int | np.integer):
            return str(int(value)) if value >= 0 else f"({int(value)})"
        if isinstance(value, float | np.floating):
            return number(float(value))
        text = value.isoformat() if isinstance(value, datetime.date) else str(value)
        if "\0" in text:
            raise OptionError(f"{value!r} cannot be written as SQL.")
        if self.name == "spark":  # it reads escapes in its texts
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + text.replace("'", "''") + "'"

    def double(self, expression: str) -> str:
        """An expression as a double."""
        kind = {"sqlite": "REAL", "postgres": "DOUBLE PRECISION"}.get(self.name, "DOUBLE")
        return f"CAST({expression} AS {kind})"


def number(x: float) -> str:
    """A double; never a decimal, and never a minus that could meet another."""
    if math.isnan(x):
        return "NULL"
    x = max(min(x, 1e300), -1e300)  # log 0 beside any finite number
    text = repr(float(x))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if x < 0 else text
