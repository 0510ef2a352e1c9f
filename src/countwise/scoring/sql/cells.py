"""Prepared columns of an SQL query: finite numbers, texts with binary collation, NULL for missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from countwise.data.values import EXACT, like, number_from, number_text
from countwise.scoring.plan import Number, Test, micros_of, value_type
from countwise.scoring.sql.dialects import Dialect, number
from countwise.scoring.sql.readings import FAR, as_boolean, as_double, as_exact, as_micros, as_seconds, as_text

__all__ = ["SqlCells", "comparison", "holds", "is_any", "spelled"]


_MOST_IN = 3  # for longer lists, DuckDB plans a join for each IN, which takes seconds for hundreds of them
_LONGEST = 50  # maximum bytes of a column name within an alias; Postgres truncates names to 63 bytes


class SqlCells:
    """Prepared columns of a query, each computed once.

    They are aliases of a previous step ("named"), written into the expression ("inside"), or the columns themselves,
    which then must have no missing values ("raw").
    """

    def __init__(self, dialect: Dialect, how: str = "named", inputs: Mapping[str, bool] | None = None) -> None:
        self.dialect, self.how, self.inputs = dialect, how, inputs or {}
        self.columns: dict[str, None] = {}  # the columns that the query reads, in order
        self.read: dict[
            str, str
        ] = {}  # alias of each cell that is read, by expression; then those computed from them
        self.computed: dict[str, str] = {}
        self._used: set[str] = set()

    def _named(self, column: str, expression: str, found: dict[str, str]) -> str:
        """Return the SQL that refers to an expression of a column."""
        if self.how != "named":
            return f"({expression})"
        if expression not in found:
            found[expression] = self._free(column)
        return found[expression]

    def computed_as(self, column: str, expression: str) -> str:
        """Return the SQL that refers to an expression over a cell."""
        return self._named(column, expression, self.computed)

    def _free(self, column: str) -> str:
        """Return an unused alias; it has a space, unlike the names of other steps."""
        base = f"cw {column}" if len(column.encode()) <= _LONGEST else "cw"
        name, n = base, 1
        while self.dialect.folded(name) in self._used or name == "cw":
            n += 1
            name = f"{base} {n}"
        self._used.add(self.dialect.folded(name))
        return self.dialect.identifier(name)

    # -- types of columns --------------------------------------------------------------

    def cell(self, column: str, kind: str, values: tuple[Any, ...] = ()) -> str:
        """Return a cell as a value of a kind: "text", "date", "number", "exact" or "boolean"; NaN is not NULL yet.

        A cell of another type than the `values` of a nominal column that denotes none of them is read as a value
        outside its domain, not as missing.
        """
        d = self.dialect
        self.columns[column] = None
        x = f"{'cw_row.' if self.how == 'named' else ''}{d.identifier(column)}"
        if self.how == "raw" and (kind == "text" or (kind != "date" and not self.inputs.get(column))):
            return x
        return self._named(column, self._reading(column, x, kind, values), self.read)

    def _reading(self, column: str, x: str, kind: str, values: tuple[Any, ...]) -> str:
        d = self.dialect
        outside = d.real(float(max(values)) + 1.0) if values and kind in ("number", "boolean") else "NULL"
        if kind == "text":
            return as_text(d, x, denoted(values))
        if kind == "date":
            return f"COALESCE({as_micros(d, x)}, CASE WHEN {x} IS NOT NULL THEN {FAR} END)"
        if kind == "exact":
            return as_exact(d, x)
        if kind == "boolean":
            return as_boolean(d, x, outside)
        return as_seconds(d, x) if self.inputs.get(column) else as_double(d, x, outside)

    def number(self, column: str, kind: str = "number", values: tuple[Any, ...] = ()) -> str:
        """Return a numeric column; NULL where it is missing."""
        x = self.cell(column, kind, values)
        return (
            x if self.how == "raw" else self.computed_as(column, f"CASE WHEN {self.dialect.finite(x)} THEN {x} END")
        )

    def deviation(self, column: str, center: float) -> str:
        """Return the difference of a numeric column from a constant; NULL where it is missing."""
        d, x = self.dialect, self.cell(column, "number")
        away = x if center == 0 else f"{x} - {number(center)}"
        if d.name == "postgres":  # the square of a tiny number would be an error
            away = f"CASE WHEN ABS({away}) < 1e-150 THEN 0e0 ELSE {away} END"
        return self.computed_as(column, f"CASE WHEN {d.finite(x)} THEN {away} END")

    def name(self, column: str, values: tuple[Any, ...]) -> str:
        """Return a nominal column in a form that can be compared with its values; NULL where it is missing."""
        kind = comparison(values)
        of_numbers = kind in ("number", "boolean")
        return self.number(column, kind, values) if of_numbers else self.cell(column, kind, values)

    def of(self, n: Number, less: float) -> str:
        """Return a number of a row minus a constant."""
        if n.values is None:
            return self.deviation(n.column, less)
        d = self.dialect
        x = self.cell(n.column, comparison(n.values), n.values)
        one = is_one_of(d, x, (n.value,), n.values)
        rest = tuple(v for v in n.values if v != n.value)
        other = f" WHEN {is_one_of(d, x, rest, n.values)} THEN {number(-less)}" if rest else ""
        return self.computed_as(n.column, f"CASE WHEN {one} THEN {number(1 - less)}{other} END")


@lru_cache(maxsize=1 << 10)  # a rule list asks for the same domain again and again
def comparison(values: tuple[Any, ...]) -> str:
    """Return the kind as which a nominal column is compared with its values.

    Integers that doubles represent exactly are numbers.
    """
    kind = value_type(values)
    if kind == "integer":
        return "number" if all(abs(v) < EXACT for v in values) else "exact"
    if kind == "date":
        times = {micros_of(v) for v in values}
        return "date" if None not in times and len(times) == len(values) else "text"
    return kind


@lru_cache(maxsize=1 << 10)
def denoted(values: tuple[Any, ...]) -> tuple[dict[float, str], dict[bool, str]] | None:
    """Return the texts of a domain that numbers denote, unless that is their decimal form, and those of booleans.

    None means that numbers and booleans denote none of the texts.
    """
    domain = dict.fromkeys(values)
    found: dict[int | float, list[str]] = {}
    for text in values:
        number = number_from(text)
        if number is not None and abs(number) < EXACT:
            found.setdefault(number, []).append(text)
    own = {float(n): texts[0] for n, texts in found.items() if len(texts) == 1 and number_text(n) not in domain}
    flags = {flag: like(flag, domain) for flag in (True, False) if like(flag, domain) is not None}
    return (own, flags) if found or flags else None


def spelled(d: Dialect, value: Any, kind: str) -> str:
    """Return the SQL literal that is equal to a value in a comparison of a kind."""
    if kind in ("number", "boolean"):
        return d.real(float(value))
    return d.literal(micros_of(value) if kind == "date" else value)


def is_one_of(d: Dialect, cell: str, values: Sequence[Any], domain: tuple[Any, ...]) -> str:
    """Return the condition that a column has one of some values; the domain determines the type of comparison."""
    kind = comparison(domain)
    return is_any(d, cell, [spelled(d, value, kind) for value in values])


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
        values = test.domain if test.missing or test.values is None else test.values
        found = is_one_of(d, cell, values, test.domain)
        return f"({cell} IS NULL OR NOT ({found}))" if test.missing else found
    cell = cells.number(test.column)
    if test.missing:
        return f"{cell} IS NULL"
    tests = [] if test.low is None else [f"{cell} > {number(test.low)}"]
    tests += [] if test.high is None else [f"{cell} <= {number(test.high)}"]
    return " AND ".join(tests) or f"{cell} IS NOT NULL"
