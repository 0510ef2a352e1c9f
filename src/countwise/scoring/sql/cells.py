"""Prepared columns of an SQL query: finite numbers, texts with binary collation, NULL for missing values."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from countwise.scoring.plan import Number, Test, time_of, value_type
from countwise.scoring.sql.dialects import Dialect, number

__all__ = ["SqlCells", "Steps", "holds", "is_any", "spelled"]


_MOST_IN = 3  # for longer lists, DuckDB plans a join for each IN, which takes seconds for hundreds of them
_LONGEST = 50  # maximum bytes of a column name within an alias; Postgres truncates names to 63 bytes


class SqlCells:
    """Prepared columns of a query, each computed once.

    They are aliases of a previous step ("named"), written into the expression ("inside"), or the columns themselves,
    which then must have no missing values ("raw").
    """

    def __init__(self, dialect: Dialect, how: str = "named") -> None:
        self.dialect, self.how = dialect, how
        self._found: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()

    def named(self, column: str, expression: str, *, raw: str | None = None) -> str:
        """Return the SQL that refers to an expression of a column."""
        if self.how == "raw":
            return raw or self.dialect.identifier(column)
        if self.how == "inside":
            return f"({expression})"
        key = (column, expression)
        if key not in self._found:
            self._found[key] = self._free(column)
        return self._found[key]

    def _free(self, column: str) -> str:
        """Return an unused alias; it has a space, unlike the names of other steps."""
        base = f"cw {column}" if len(column.encode()) <= _LONGEST else "cw"
        name, n = base, 1
        while name.casefold() in self._used or name == "cw":  # some databases ignore the case of names
            n += 1
            name = f"{base} {n}"
        self._used.add(name.casefold())
        return self.dialect.identifier(name)

    @property
    def definitions(self) -> dict[str, str]:
        """Aliases and their expressions."""
        return {name: expression for (_, expression), name in self._found.items()}

    # -- types of columns --------------------------------------------------------------

    def number(self, column: str, less: float = 0.0) -> str:
        """Return a numeric column minus a constant; NULL where it is missing."""
        d = self.dialect
        x = d.cast(d.identifier(column), "double")
        away = x if less == 0 else f"{x} - {number(less)}"
        return self.named(column, f"CASE WHEN {d.finite(x)} THEN {away} END")

    def name(self, column: str, values: Sequence[Any]) -> str:
        """Return a nominal column in a form that can be compared with its values; NULL where it is missing."""
        d, kind = self.dialect, value_type(values)
        x = d.identifier(column)
        if kind in ("text", "date"):
            return self.named(column, d.exact_text(x), raw=d.cast(x, "text") if kind == "date" else x)
        if kind == "boolean":
            return self.named(column, x)
        double = d.cast(x, "double")
        return self.named(column, f"CASE WHEN {d.finite(double)} THEN {double if kind == 'number' else x} END")

    def of(self, n: Number, less: float) -> str:
        """Return a number of a row minus a constant."""
        if n.values is None:
            return self.number(n.column, less)
        d = self.dialect
        x = d.exact_text(d.identifier(n.column))
        if value_type(n.values) not in ("text", "date"):
            x = d.identifier(n.column)
        one = is_one_of(d, x, (n.value,), n.values)
        rest = tuple(v for v in n.values if v != n.value)
        other = f" WHEN {is_one_of(d, x, rest, n.values)} THEN {number(-less)}" if rest else ""
        return self.named(n.column, f"CASE WHEN {one} THEN {number(1 - less)}{other} END")


def spelled(d: Dialect, value: Any, kind: str) -> list[str]:
    """Return a value as SQL; a date in all formats in which databases write it."""
    if kind == "number":
        return [d.real(float(value))]
    found = time_of(value) if kind == "date" else None
    if found is None:
        return [d.literal(value)]
    text = found.isoformat(" ")
    short = text.rstrip("0") if found.microsecond else text
    day = [text[:10]] if found.time() == datetime.time() else []
    original = value.isoformat() if isinstance(value, datetime.date) else str(value)
    return [d.literal(form) for form in dict.fromkeys([original, text, short, *day])]


def is_one_of(d: Dialect, cell: str, values: Sequence[Any], domain: Sequence[Any]) -> str:
    """Return the condition that a column has one of some values; the domain determines the type of comparison."""
    kind = value_type(domain)
    return is_any(d, cell, [text for value in values for text in spelled(d, value, kind)])


def is_any(d: Dialect, cell: str, texts: Sequence[str]) -> str:
    """Return the condition that a column has one of some SQL literals."""
    if len(texts) <= 1:
        return f"{cell} = {texts[0]}" if texts else "1 = 0"
    if d.name == "duckdb" and len(texts) > _MOST_IN:
        return f"CASE {cell} {' '.join(f'WHEN {text} THEN TRUE' for text in texts)} ELSE FALSE END"
    return f"{cell} IN ({', '.join(texts)})"


def holds(test: Test, cells: SqlCells) -> str:
    """Return a test as an SQL condition; it fails for a missing value, unless it tests for missing values."""
    d = cells.dialect
    if test.domain is not None:
        cell = cells.name(test.column, test.domain)
        known = is_one_of(d, cell, test.domain, test.domain)
        if test.missing:
            return f"({cell} IS NULL OR NOT ({known}))" if test.domain else f"({cell} IS NULL OR 1 = 1)"
        return known if test.values is None else is_one_of(d, cell, test.values, test.domain)
    cell = cells.number(test.column)
    if test.missing:
        return f"{cell} IS NULL"
    tests = [] if test.low is None else [f"{cell} > {number(test.low)}"]
    tests += [] if test.high is None else [f"{cell} <= {number(test.high)}"]
    return " AND ".join(tests) or f"{cell} IS NOT NULL"


class Steps:
    """Query of common table expressions: prepared columns, further steps, then all columns and the prediction."""

    def __init__(self, table: str, dialect: str) -> None:
        self.dialect = Dialect(dialect)
        self.table = self.dialect.table(table)
        self.cells = SqlCells(self.dialect)
        self._tables: list[str] = []
        self._steps: list[str] = []
        self._last, self._intermediate = "cw_cells", list[str]()

    def look_up(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table of constants for a join."""
        self._tables.append(self.dialect.values(name, columns, rows))

    def add(self, name: str, columns: Mapping[str, str], joins: Sequence[str] = (), *, once: bool = False) -> None:
        """Add a step with further columns; `once` if the next step refers to them more than once."""
        joined = "".join(f"\n  LEFT JOIN {join}" for join in joins)
        every = "cw_r.*" if joins else "*"
        source = f"{self._last} AS cw_r{joined}" if joins else self._last
        cells = ",\n".join(f"    {expression} AS {alias}" for alias, expression in columns.items())
        self._steps.append(
            f"{name} AS {self.dialect.once if once else ''}(\n  SELECT {every},\n{cells}\n  FROM {source}\n)"
        )
        self._last = name
        self._intermediate += columns

    def text(self, given: Mapping[str, str]) -> str:
        """Return the query; `given` has the columns that it adds to those of the table."""
        ready = self.cells.definitions
        row = "cw_row" if self.dialect.name == "postgres" else "*"
        source = f"{self.table} AS cw_row" if self.dialect.name == "postgres" else self.table
        cells = "".join(f",\n    {expression} AS {alias}" for alias, expression in ready.items())
        first = f"cw_cells AS (\n  SELECT {row}{cells}\n  FROM {source}\n)"
        head = ", ".join([*self._tables, first, *self._steps])
        answer = ",\n".join(
            f"  {expression} AS {self.dialect.identifier(name)}" for name, expression in given.items()
        )
        return f"WITH {head}\nSELECT {self._every([*ready, *self._intermediate])},\n{answer}\nFROM {self._last}"

    def _every(self, helpers: Sequence[str]) -> str:
        """Select the columns of the table; SQLite has no syntax to exclude the intermediate columns."""
        exclude = {"duckdb": "* EXCLUDE", "spark": "* EXCEPT"}.get(self.dialect.name)
        if self.dialect.name == "postgres":
            return "(cw_row).*"
        return f"{exclude} ({', '.join(helpers)})" if exclude and helpers else "*"
