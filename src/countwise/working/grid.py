"""A small labeled table that prints well anywhere and turns into any frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from countwise.working.numbers import number

__all__ = ["Grid"]


def shown(cell: Any) -> str:
    """A cell as text; nothing for what is not there."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return number(cell) if type(cell) is float else str(cell)


class Grid(Mapping[str, list[Any]]):
    """Columns of cells, readable as text, HTML or a frame.

    Parameters
    ----------
    columns : mapping of str to list
        All of one length.

    Examples
    --------
    >>> from countwise.working import Grid
    >>> print(Grid({"wind": ["north", "east"], "n": [3, 3]}))
    wind   n
    north  3
    east   3
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {str(name): list(cells) for name, cells in columns.items()}

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values()), []))

    def rows(self) -> list[tuple[Any, ...]]:
        """The cells row by row."""
        return list(zip(*self._columns.values(), strict=True))

    def __str__(self) -> str:
        lines = [
            tuple(self._columns),
            *(tuple(shown(cell) for cell in row) for row in self.rows()),
        ]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self._columns))]
        texts = ("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(text.rstrip() for text in texts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(shown(c))}</td>" for c in row) + "</tr>" for row in self.rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_frame(self, kind: str = "pandas") -> Any:
        """The same as a frame of the named library."""
        import importlib

        from countwise.errors import OptionError

        if kind not in ("pandas", "polars", "pyarrow"):
            raise OptionError(f"to_frame({kind!r}) is unknown.", hint="give 'pandas', 'polars' or 'pyarrow'.")
        library = importlib.import_module(kind)
        return library.table(self._columns) if kind == "pyarrow" else library.DataFrame(self._columns)
