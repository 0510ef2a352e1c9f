"""SQL dialects: quoted identifiers, literals and functions."""

from __future__ import annotations

import datetime
import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["DIALECTS", "LEAST", "Dialect", "added", "number"]

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
LEAST = -1.7976931348623157e308  # the least double; only minus infinity, an impossible class, is less
_LONGEST_NAME = 63  # bytes of a name in Postgres
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TITLES = {"duckdb": "DuckDB", "postgres": "Postgres", "spark": "Spark", "sqlite": "SQLite"}
_SIDE_BY_SIDE = 40  # maximum number of operands of a flat sum; databases limit the depth of expressions


@dataclass(frozen=True, slots=True)
class Dialect:
    """An SQL dialect.

    Parameters
    ----------
    name : {'duckdb', 'postgres', 'spark', 'sqlite'}, default='duckdb'
        Name of the dialect.

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
        if not isinstance(self.name, str) or self.name not in DIALECTS:
            raise OptionError(
                f"The SQL dialect {self.name!r} is not supported.",
                hint=did_you_mean(self.name, DIALECTS) or f"use one of {listed(DIALECTS)}.",
            )

    # -- names ------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """Quote the name of a column or table."""
        mark = "`" if self.name == "spark" else '"'
        why = "it is empty" if not name and self.name != "sqlite" else _unwritable(name)
        if why:
            raise OptionError(
                f"{name!r} cannot be the name of a column or table in SQL, because {why}.",
                hint="rename the column or table.",
            )
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def table(self, name: str) -> str:
        """Quote the name of a table; dots separate schemas, unless they are within quotes.

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
                raise OptionError(f"{name!r} is not a valid table name.", hint="pass NAME or SCHEMA.NAME.")
            parts.append(self.identifier(part))
            if not rest:
                return ".".join(parts)
            rest = rest[1:]

    def folded(self, name: str) -> str:
        """Return what is equal for names that the database does not distinguish.

        DuckDB and SQLite ignore the case of ASCII letters, Spark that of all letters. Postgres truncates long names.
        """
        if self.name == "postgres":
            return name.encode(errors="surrogatepass")[:_LONGEST_NAME].decode(errors="ignore")
        return name.lower() if self.name == "spark" else name.translate(_ASCII_LOWER)

    def check_names(self, columns: Iterable[str], results: Iterable[str], others: Iterable[str] = ()) -> None:
        """Raise an error if the database cannot distinguish the columns that a query reads or adds.

        `others` are further columns of the table, with which those that are read must not be mistaken.
        """
        read: dict[str, str] = {}
        for name in columns:
            self._refuse_twins(read.setdefault(self.folded(name), name), name, "columns")
        for name in others:
            self._refuse_twins(read.get(self.folded(name), name), name, "columns")
        added: dict[str, str] = {}
        for name in results:
            key = self.folded(name)
            if name in (read.get(key), added.get(key)):
                raise OptionError(
                    f"The result would have two columns {name!r}.",
                    hint="rename the column of the table and fit again.",
                )
            self._refuse_twins(read.get(key, name), name, "columns")
            self._refuse_twins(added.setdefault(key, name), name, "classes")

    def _refuse_twins(self, a: str, b: str, what: str) -> None:
        """Raise an error for two different names that the database does not distinguish."""
        if a == b:
            return
        why = f"truncates names to {_LONGEST_NAME} bytes" if self.name == "postgres" else "ignores their case"
        raise OptionError(
            f"{_TITLES[self.name]} cannot distinguish {a!r} and {b!r}, because it {why}.",
            hint=f"rename one of the {what} and fit again{', or use proba=False' * (what == 'classes')}.",
        )

    # -- values -----------------------------------------------------------------------

    def literal(self, value: Any) -> str:
        """Return a value as SQL: a quoted string, or a number, in parentheses if it is negative."""
        if value is None:
            return "NULL"
        if isinstance(value, bool | np.bool_):
            return str(int(value)) if self.name == "sqlite" else ("TRUE" if value else "FALSE")
        if isinstance(value, int | np.integer):
            return str(int(value)) if value >= 0 else f"({int(value)})"
        if isinstance(value, float | np.floating):
            return self.real(float(value))
        text = value.isoformat() if isinstance(value, datetime.date) else str(value)
        why = _unwritable(text)
        if why:
            raise OptionError(
                f"{value!r} cannot be written in SQL, because {why}.",
                hint="remove such characters from the data and fit again.",
            )
        if self.name == "spark":  # its strings have escape sequences
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        quoted = "'" + text.replace("'", "''") + "'"
        if self.name == "postgres" and "\\" in text:  # E'...' does not depend on standard_conforming_strings
            return "E" + quoted.replace("\\", "\\\\")
        return quoted

    def real(self, x: float) -> str:
        """Return a double, which may be infinite, as SQL."""
        if math.isinf(x):
            sign = "-" if x < 0 else ""
            return f"({sign}9e999)" if self.name == "sqlite" else self.cast(f"'{sign}Infinity'", "double")
        return number(x)

    # -- expressions ------------------------------------------------------------------

    def cast(self, expression: str, kind: str) -> str:
        """Cast an expression to "double" or "text"."""
        sql_type = {
            "duckdb": {"double": "DOUBLE", "text": "TEXT"},
            "postgres": {"double": "FLOAT8", "text": "TEXT"},
            "spark": {"double": "DOUBLE", "text": "STRING"},
            "sqlite": {"double": "REAL", "text": "TEXT"},
        }[self.name][kind]
        if self.name in ("duckdb", "postgres"):
            return f"{expression}::{sql_type}"
        return f"CAST({expression} AS {sql_type})"

    def exact_text(self, column: str) -> str:
        """Cast a column to text with a binary collation, whatever its own collation is."""
        ending = {"duckdb": ' COLLATE "C"', "postgres": ' COLLATE "C"', "sqlite": " COLLATE BINARY"}
        return self.cast(column, "text") + ending.get(self.name, "")

    def finite(self, expression: str) -> str:
        """Return the condition that a double is finite; most databases treat NaN as larger than any number.

        DuckDB decides comparisons by the minimum and maximum in the statistics of a Parquet file, which ignore NaN.
        """
        if self.name == "duckdb":
            return f"ISFINITE({expression})"
        return f"ABS({expression}) < {self.real(math.inf)}"

    def greatest(self, expressions: Sequence[str]) -> str:
        """Return the maximum of several numbers."""
        if self.name != "sqlite":
            return f"GREATEST({', '.join(expressions)})"
        found = list(expressions)
        while len(found) > _SIDE_BY_SIDE:  # SQLite accepts about a hundred arguments
            parts = [found[i : i + _SIDE_BY_SIDE] for i in range(0, len(found), _SIDE_BY_SIDE)]
            found = [f"MAX({', '.join(part)})" if len(part) > 1 else part[0] for part in parts]
        return f"MAX({', '.join(found)})"

    def power(self, exponent: str) -> str:
        """Return exp of an exponent <= 0; Postgres raises an error for an underflow."""
        if self.name == "postgres":
            return f"CASE WHEN {exponent} > (-700e0) THEN EXP({exponent}) ELSE 0e0 END"
        return f"EXP({exponent})"

    def square(self, x: str) -> str:
        """Return the square of a double; Postgres raises an error for an overflow or underflow."""
        if self.name == "postgres":
            infinite = self.real(math.inf)
            return f"CASE WHEN ABS({x}) < 1e-150 THEN 0e0 WHEN ABS({x}) < 1e150 THEN {x} * {x} ELSE {infinite} END"
        return f"{x} * {x}"

    def rounded(self, expression: str, digits: int) -> str:
        """Round a double; Postgres can round only decimals to digits."""
        inner = f"{expression}::NUMERIC" if self.name == "postgres" else expression
        return f"ROUND({inner}, {digits})"

    @property
    def most_columns(self) -> float:
        """Maximum number of columns of a step."""
        return {"postgres": 1664, "sqlite": 2000}.get(self.name, math.inf)

    @property
    def once(self) -> str:
        """Keyword that makes a database compute a common table expression only once."""
        return "MATERIALIZED " if self.name in ("postgres", "sqlite") else ""

    def values(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return a common table expression with constant rows."""
        tuples = ",\n  ".join(f"({', '.join(row)})" for row in rows)
        return f"{name}({', '.join(columns)}) AS (VALUES\n  {tuples}\n)"


def _unwritable(text: str) -> str:
    """Return why a text cannot be part of a query; empty if it can."""
    if "\0" in text:
        return "it contains a NUL character"
    return "it contains half of a surrogate pair" if any("\ud800" <= c <= "\udfff" for c in text) else ""


def _first_part(name: str) -> tuple[str, str]:
    """Split off the first part of a table name."""
    if not isinstance(name, str):
        raise OptionError(f"table must be the name of a table, not {name!r}.")
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
    if end >= len(name) or rest == "." or rest[:1] not in ("", "."):  # an unquoted name that begins with a quote
        part, dot, rest = name.partition(".")
        return part, dot + rest
    return name[1:end].replace(2 * mark, mark), rest


def number(x: float) -> str:
    """Return a double as SQL, in exponent notation (not a decimal), and in parentheses if it is negative."""
    text = repr(float(x) or 0.0).removesuffix(".0")  # no negative zero
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if x < 0 else text


def added(parts: Sequence[str], between: str = " + ") -> str:
    """Join expressions to a sum; a long sum gets parentheses that limit its depth."""
    found = list(parts)
    while len(found) > _SIDE_BY_SIDE:
        found = [f"({between.join(found[i : i + _SIDE_BY_SIDE])})" for i in range(0, len(found), _SIDE_BY_SIDE)]
    return between.join(found)
