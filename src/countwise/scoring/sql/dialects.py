"""Names and values as SQL writes them: whatever they hold, they are data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["DIALECTS", "LEAST", "Dialect", "added", "number"]

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
LEAST = -1.7976931348623157e308  # the least double: below it there is only what cannot be
_SIDE_BY_SIDE = 40  # numbers that are added up in one go; databases read only so many operators deep


@dataclass(frozen=True, slots=True)
class Dialect:
    """Whose SQL.

    Examples
    --------
    >>> from countwise.scoring.sql.dialects import Dialect
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

    # -- names ------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """The name of a column or table, quoted."""
        mark = "`" if self.name == "spark" else '"'
        if "\0" in name:
            raise OptionError(f"{name!r} cannot be the name of a column in SQL.", hint="rename it.")
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def table(self, name: str) -> str:
        """The name of a table: parts between dots are schemas; a part in quotes may hold dots itself.

        Examples
        --------
        >>> from countwise.scoring.sql.dialects import Dialect
        >>> print(Dialect("duckdb").table("main.days"), Dialect("spark").table('"v1.0".days'))
        "main"."days" `v1.0`.`days`
        """
        parts, rest = [], name
        while True:
            part, rest = _first_part(rest)
            if not part:
                raise OptionError(f"{name!r} is no name of a table.", hint="give NAME or SCHEMA.NAME.")
            parts.append(self.identifier(part))
            if not rest:
                return ".".join(parts)
            rest = rest[1:]

    # -- values -----------------------------------------------------------------------

    def literal(self, value: Any) -> str:
        """A value: a text in quotes, a number in brackets where it is negative."""
        if value is None:
            return "NULL"
        if isinstance(value, bool | np.bool_):
            return str(int(value)) if self.name == "sqlite" else ("TRUE" if value else "FALSE")
        if isinstance(value, int | np.integer):
            return str(int(value)) if value >= 0 else f"({int(value)})"
        if isinstance(value, float | np.floating):
            return self.real(float(value))
        text = value.isoformat() if isinstance(value, datetime.date) else str(value)
        if "\0" in text:
            raise OptionError(f"{value!r} cannot be written as SQL.", hint="texts of SQL hold no zero bytes.")
        if self.name == "spark":  # it reads escapes in its texts
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        quoted = "'" + text.replace("'", "''") + "'"
        if self.name == "postgres" and "\\" in text:  # whether it reads escapes is a setting, but not in these
            return "E" + quoted.replace("\\", "\\\\")
        return quoted

    def real(self, x: float) -> str:
        """A double, also one that is infinite."""
        if math.isinf(x):
            sign = "-" if x < 0 else ""
            return f"({sign}9e999)" if self.name == "sqlite" else self.cast(f"'{sign}Infinity'", "double")
        return number(x)

    # -- expressions ------------------------------------------------------------------

    def cast(self, expression: str, kind: str) -> str:
        """An expression as a "double" or a "text"."""
        word = {
            "duckdb": {"double": "DOUBLE", "text": "TEXT"},
            "postgres": {"double": "FLOAT8", "text": "TEXT"},
            "spark": {"double": "DOUBLE", "text": "STRING"},
            "sqlite": {"double": "REAL", "text": "TEXT"},
        }[self.name][kind]
        return f"{expression}::{word}" if self.name in ("duckdb", "postgres") else f"CAST({expression} AS {word})"

    def exact_text(self, column: str) -> str:
        """A column as text that is compared letter by letter, whatever collation it was declared with."""
        ending = {"duckdb": ' COLLATE "C"', "postgres": ' COLLATE "C"', "sqlite": " COLLATE BINARY"}
        return self.cast(column, "text") + ending.get(self.name, "")

    def finite(self, expression: str) -> str:
        """Whether a double is a number: to most databases NaN is larger than all of them.

        DuckDB takes comparisons for settled by the least and largest value that a Parquet file tells, where NaN is
        not counted. Postgres takes the square of a number beyond 1e154 for an error.
        """
        if self.name == "duckdb":
            return f"ISFINITE({expression})"
        return f"ABS({expression}) < {'1e100' if self.name == 'postgres' else '1e308'}"

    def greatest(self, expressions: Sequence[str]) -> str:
        """The largest of some numbers."""
        return f"{'MAX' if self.name == 'sqlite' else 'GREATEST'}({', '.join(expressions)})"

    def power(self, exponent: str) -> str:
        """E to some power that is at most 0; Postgres takes a result that is too small for an error."""
        if self.name == "postgres":
            return f"CASE WHEN {exponent} > (-700e0) THEN EXP({exponent}) ELSE 0e0 END"
        return f"EXP({exponent})"

    def rounded(self, expression: str, digits: int) -> str:
        """A double rounded; Postgres rounds decimals alone."""
        inner = f"{expression}::NUMERIC" if self.name == "postgres" else expression
        return f"ROUND({inner}, {digits})"

    @property
    def once(self) -> str:
        """What keeps a database from working an expression out again wherever it is named."""
        return "MATERIALIZED " if self.name in ("postgres", "sqlite") else ""

    def values(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A small table within a query."""
        cells = ",\n  ".join(f"({', '.join(row)})" for row in rows)
        return f"{name}({', '.join(columns)}) AS (VALUES\n  {cells}\n)"


def _first_part(name: str) -> tuple[str, str]:
    """The first part of the name of a table, and what stands behind it."""
    mark = name[:1]
    if mark not in ('"', "`"):
        part, dot, rest = name.partition(".")
        return part, dot + rest
    end = 1
    while end < len(name):
        if name[end] == mark:
            if name[end : end + 2] != 2 * mark:
                break
            end += 1
        end += 1
    rest = name[end + 1 :]
    if end >= len(name) or rest == "." or rest[:1] not in ("", "."):  # no quotes, but a name that starts with one
        part, dot, rest = name.partition(".")
        return part, dot + rest
    return name[1:end].replace(2 * mark, mark), rest


def number(x: float) -> str:
    """A double; never a decimal, and never a minus that could meet another."""
    text = repr(float(x) or 0.0).removesuffix(".0")  # zero has no sign
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if x < 0 else text


def added(parts: Sequence[str], between: str = " + ") -> str:
    """A sum; a long one in brackets, so that no database finds it too deep."""
    found = list(parts)
    while len(found) > _SIDE_BY_SIDE:
        found = [f"({between.join(found[i : i + _SIDE_BY_SIDE])})" for i in range(0, len(found), _SIDE_BY_SIDE)]
    return between.join(found)
