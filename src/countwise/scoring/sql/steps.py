"""The steps of a query: each a SELECT with a name that the next one reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from countwise.scoring.sql.cells import SqlCells
from countwise.scoring.sql.dialects import Dialect

__all__ = ["Steps"]


class Steps:
    """A query in steps: cells made ready, then whatever is added, then all columns of the table and the answer.

    Parameters
    ----------
    table : str
        The table; see `Dialect.table`.
    dialect : str
    """

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
        """A step that adds columns to those of the step before it.

        Parameters
        ----------
        name : str
            Of the step.
        columns : mapping of str to str
            The new columns and their expressions.
        joins : sequence of str
            With small tables, each with its condition.
        once : bool
            Whether what is added is named more than once by the next step.
        """
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
