"""Cells made ready: numbers that are numbers, names that are compared letter by letter, gaps as NULL."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from countwise.scoring.plan import Number, Test, kind_of, time_of
from countwise.scoring.sql.dialects import Dialect, number

__all__ = ["SqlCells", "Steps", "holds", "is_any", "spelled"]


_MOST_IN = 3  # of more values DuckDB makes a join for each IN, and takes seconds to plan hundreds of them
_LONGEST = 50  # bytes of a name within a name; Postgres cuts them off at 63


class SqlCells:
    """The cells that a query asks for, each worked out once.

    They are "named" by a step before, written out "inside" the expression, or "raw": columns without missing cells.
    """

    def __init__(self, dialect: Dialect, how: str = "named") -> None:
        self.dialect, self.how = dialect, how
        self._found: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()

    def named(self, column: str, expression: str, *, raw: str | None = None) -> str:
        """What stands for an expression of a column."""
        if self.how == "raw":
            return raw or self.dialect.identifier(column)
        if self.how == "inside":
            return f"({expression})"
        key = (column, expression)
        if key not in self._found:
            self._found[key] = self._free(column)
        return self._found[key]

    def _free(self, column: str) -> str:
        """A name with a space, which no step of a query has."""
        base = f"cw {column}" if len(column.encode()) <= _LONGEST else "cw"
        name, n = base, 1
        while name.casefold() in self._used or name == "cw":  # some databases take A for a
            n += 1
            name = f"{base} {n}"
        self._used.add(name.casefold())
        return self.dialect.identifier(name)

    @property
    def definitions(self) -> dict[str, str]:
        """Each name and the expression behind it."""
        return {name: expression for (_, expression), name in self._found.items()}

    # -- kinds of cells ----------------------------------------------------------------

    def number(self, column: str, less: float = 0.0) -> str:
        """A number, less another; NULL where there is none."""
        d = self.dialect
        x = d.cast(d.identifier(column), "double")
        away = x if less == 0 else f"{x} - {number(less)}"
        return self.named(column, f"CASE WHEN {d.finite(x)} THEN {away} END")

    def name(self, column: str, values: Sequence[Any]) -> str:
        """A name as something that can be compared with its values; NULL where it is missing."""
        d, kind = self.dialect, kind_of(values)
        x = d.identifier(column)
        if kind in ("text", "time"):
            return self.named(column, d.exact_text(x), raw=d.cast(x, "text") if kind == "time" else x)
        if kind == "truth":
            return self.named(column, x)
        double = d.cast(x, "double")
        return self.named(column, f"CASE WHEN {d.finite(double)} THEN {double if kind == 'number' else x} END")

    def of(self, n: Number, less: float) -> str:
        """A number of a row, less another."""
        if n.values is None:
            return self.number(n.column, less)
        d = self.dialect
        x = d.exact_text(d.identifier(n.column))
        if kind_of(n.values) not in ("text", "time"):
            x = d.identifier(n.column)
        one = is_one_of(d, x, (n.value,), n.values)
        rest = tuple(v for v in n.values if v != n.value)
        other = f" WHEN {is_one_of(d, x, rest, n.values)} THEN {number(-less)}" if rest else ""
        return self.named(n.column, f"CASE WHEN {one} THEN {number(1 - less)}{other} END")


def spelled(d: Dialect, value: Any, kind: str) -> list[str]:
    """A value as SQL; a point in time in all ways in which databases write it."""
    if kind == "number":
        return [d.real(float(value))]
    found = time_of(value) if kind == "time" else None
    if found is None:
        return [d.literal(value)]
    text = found.isoformat(" ")
    short = text.rstrip("0") if found.microsecond else text
    day = [text[:10]] if found.time() == datetime.time() else []
    original = value.isoformat() if isinstance(value, datetime.date) else str(value)
    return [d.literal(form) for form in dict.fromkeys([original, text, short, *day])]


def is_one_of(d: Dialect, cell: str, values: Sequence[Any], domain: Sequence[Any]) -> str:
    """Whether a cell has one of some values; what they are compared as is told by the whole domain."""
    kind = kind_of(domain)
    return is_any(d, cell, [text for value in values for text in spelled(d, value, kind)])


def is_any(d: Dialect, cell: str, texts: Sequence[str]) -> str:
    """Whether a cell is one of some values that are written already."""
    if len(texts) <= 1:
        return f"{cell} = {texts[0]}" if texts else "1 = 0"
    if d.name == "duckdb" and len(texts) > _MOST_IN:
        return f"CASE {cell} {' '.join(f'WHEN {text} THEN TRUE' for text in texts)} ELSE FALSE END"
    return f"{cell} IN ({', '.join(texts)})"


def holds(test: Test, cells: SqlCells) -> str:
    """A test as SQL; of a missing cell it does not hold, unless it asks for one."""
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
    """A query in steps: cells made ready, then whatever is added, then all columns of the table and the answer."""

    def __init__(self, table: str, dialect: str) -> None:
        self.dialect = Dialect(dialect)
        self.table = self.dialect.table(table)
        self.cells = SqlCells(self.dialect)
        self._tables: list[str] = []
        self._steps: list[str] = []
        self._last, self._on_the_way = "cw_cells", list[str]()

    def look_up(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A small table to be joined with."""
        self._tables.append(self.dialect.values(name, columns, rows))

    def add(self, name: str, columns: Mapping[str, str], joins: Sequence[str] = (), *, once: bool = False) -> None:
        """A step that adds columns to those before it; `once` if the next step names them more than once."""
        joined = "".join(f"\n  LEFT JOIN {join}" for join in joins)
        every = "cw_r.*" if joins else "*"
        source = f"{self._last} AS cw_r{joined}" if joins else self._last
        cells = ",\n".join(f"    {expression} AS {alias}" for alias, expression in columns.items())
        self._steps.append(
            f"{name} AS {self.dialect.once if once else ''}(\n  SELECT {every},\n{cells}\n  FROM {source}\n)"
        )
        self._last = name
        self._on_the_way += columns

    def text(self, given: Mapping[str, str]) -> str:
        """The query, with the columns that it gives beside those of the table."""
        ready = self.cells.definitions
        row = "cw_row" if self.dialect.name == "postgres" else "*"
        source = f"{self.table} AS cw_row" if self.dialect.name == "postgres" else self.table
        cells = "".join(f",\n    {expression} AS {alias}" for alias, expression in ready.items())
        first = f"cw_cells AS (\n  SELECT {row}{cells}\n  FROM {source}\n)"
        head = ", ".join([*self._tables, first, *self._steps])
        answer = ",\n".join(
            f"  {expression} AS {self.dialect.identifier(name)}" for name, expression in given.items()
        )
        return f"WITH {head}\nSELECT {self._every([*ready, *self._on_the_way])},\n{answer}\nFROM {self._last}"

    def _every(self, helpers: Sequence[str]) -> str:
        """The table's own columns; SQLite knows no way to leave out those that came on the way."""
        words = {"duckdb": "* EXCLUDE", "spark": "* EXCEPT"}
        if self.dialect.name == "postgres":
            return "(cw_row).*"
        return f"{words[self.dialect.name]} ({', '.join(helpers)})" if self.dialect.name in words and helpers else "*"
