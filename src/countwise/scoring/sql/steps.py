"""The steps of an SQL query, whose columns cannot be mistaken for those of the scored table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from countwise.errors import OptionError
from countwise.scoring.sql.cells import SqlCells
from countwise.scoring.sql.dialects import Dialect

__all__ = ["Steps"]

_SQLITE_KEYS = ("_rowid_", "rowid", "oid")  # a column of the table may have some of these names


class Steps:
    """Query of common table expressions: prepared columns, further steps, then all columns and the prediction.

    The table may have columns of any name. The steps therefore carry a row so that its columns cannot be mistaken for
    those of the steps: as one composite value (Postgres, Spark), with a prefix (DuckDB), or by its row id (SQLite).
    """

    def __init__(self, table: str, dialect: str, inputs: Mapping[str, bool]) -> None:
        self.dialect = Dialect(dialect)
        self.table = self.dialect.table(table)
        self.cells = SqlCells(self.dialect, inputs=inputs)
        self._tables: dict[str, str] = {}
        self._steps: dict[str, str] = {}
        self._last, self._width = "cw_cells", 0

    def look_up(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table of constants for a join."""
        self._check_width(len(columns))
        self._tables[name] = self.dialect.values(name, columns, rows)

    def add(self, name: str, columns: Mapping[str, str], joins: Sequence[str] = (), *, once: bool = False) -> None:
        """Add a step with further columns; `once` if the next step refers to them more than once."""
        joined = "".join(f"\n  LEFT JOIN {join}" for join in joins)
        every = "cw_r.*" if joins else "*"
        source = f"{self._last} AS cw_r{joined}" if joins else self._last
        self._steps[name] = self._step(name, every, columns, source, once)
        self._last, self._width = name, self._width + len(columns)

    def _check_width(self, columns: int) -> None:
        if columns > self.dialect.most_columns:
            raise OptionError(
                f"The query would have a step of {columns} columns, but the database accepts at most "
                f"{self.dialect.most_columns}.",
                hint="use a model with fewer columns, classes or leaves. For a tree, missing=False or "
                "missing='majority' gives a shorter query.",
            )

    def _step(self, name: str, every: str, columns: Mapping[str, str], source: str, once: bool = False) -> str:
        cells = "".join(f",\n    {expression} AS {alias}" for alias, expression in columns.items())
        return f"{name} AS {self.dialect.once if once else ''}(\n  SELECT {every}{cells}\n  FROM {source}\n)"

    def text(self, given: Mapping[str, str]) -> str:
        """Return the query; `given` has the columns that it adds to those of the table."""
        self.dialect.check_names(self.cells.columns, given, self.cells.inputs)
        read, computed = ({alias: text for text, alias in d.items()} for d in (self.cells.read, self.cells.computed))
        rows = "cw_rows" if computed else "cw_cells"
        first = {rows: self._step(rows, self._row, read, self._source(given), once=bool(computed))}
        if computed:
            first["cw_cells"] = self._step("cw_cells", "*", computed, "cw_rows")
        names = [self.dialect.identifier(name) for name in given]
        answers = dict(zip(names, given.values(), strict=True))
        if self.dialect.name == "sqlite":
            own = [f"cw_a{i}" for i in range(len(given))]
            self.add("cw_answers", dict(zip(own, given.values(), strict=True)))
            answers = {name: f"cw_answers.{alias}" for name, alias in zip(names, own, strict=True)}
        self._check_width(self._width + len(read) + len(computed) + len(_SQLITE_KEYS))
        steps = self._tables | first | self._steps
        self._check_table(steps)
        added = ",\n".join(f"  {text} AS {name}" for name, text in answers.items())
        return f"WITH {', '.join(steps.values())}\nSELECT {self._every},\n{added}\nFROM {self._result}"

    def _check_table(self, steps: Collection[str]) -> None:
        """Raise an error if a step has the name of the table, which would then not be read."""
        if self.dialect.folded(self.table) in [self.dialect.folded(self.dialect.identifier(name)) for name in steps]:
            raise OptionError(
                f"The query cannot read the table {self.table}, because one of its own steps has this name.",
                hint="pass SCHEMA.NAME, or rename the table.",
            )

    # -- the row of the table ----------------------------------------------------------

    def _source(self, given: Collection[str]) -> str:
        """Return the table; in DuckDB without columns that a previous query has added."""
        if self.dialect.name != "duckdb":
            return f"{self.table} AS cw_row"
        old = "|".join("".join(_either_case(c) for c in name) for name in given)
        return f"(SELECT * NOT SIMILAR TO {self.dialect.literal(old)} FROM {self.table}) AS cw_row"

    @property
    def _row(self) -> str:
        """Columns of the first step that represent the row."""
        if self.dialect.name == "duckdb":
            return "COLUMNS('(?s)^(.*)$') AS 't \\1'"
        if self.dialect.name == "sqlite":
            return ", ".join(f"cw_row.{key} AS cw_{key}" for key in _SQLITE_KEYS)
        return f"{'STRUCT' if self.dialect.name == 'spark' else 'COALESCE'}(cw_row.*) AS cw_row"

    @property
    def _every(self) -> str:
        """Columns of the table in the result."""
        if self.dialect.name == "duckdb":
            return "COLUMNS('(?s)^t (.*)$') AS '\\1'"
        return "(cw_row).*" if self.dialect.name == "postgres" else "cw_row.*"

    @property
    def _result(self) -> str:
        """Source of the result."""
        if self.dialect.name != "sqlite":
            return self._last
        same = " AND ".join(f"cw_row.{key} IS {self._last}.cw_{key}" for key in _SQLITE_KEYS)
        return f"{self._last} CROSS JOIN {self.table} AS cw_row ON {same}\nWHERE {self._has_keys}"

    @property
    def _has_keys(self) -> str:
        """Condition in SQLite that the rows have different row ids, else an error: those of a view are NULL.

        SQLite raises no errors of our own, but quotes a wrong path in the message of its error.
        """
        first = "cw_rows" if self.cells.computed else "cw_cells"
        keys = ", ".join(f"cw_{key}" for key in _SQLITE_KEYS)
        distinct = f"(SELECT COUNT(*) FROM (SELECT DISTINCT {keys} FROM {first}))"
        no_keys = f"'the table has no row ids, copy it' || COALESCE(substr({self._last}.cw_rowid, 1, 0), '')"
        return (
            f"CASE WHEN {distinct} = (SELECT COUNT(*) FROM {first}) THEN 1 ELSE json_extract('{{}}', {no_keys}) END"
        )


def _either_case(c: str) -> str:
    """Return a regular expression for a character of a name; DuckDB ignores the case of ASCII letters."""
    return f"[{c.lower()}{c.upper()}]" if c.isascii() and c.isalpha() else re.escape(c)
