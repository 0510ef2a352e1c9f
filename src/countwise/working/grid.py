"""A small labeled table that prints well anywhere and turns into any frame."""

from __future__ import annotations

import math
import re
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


_NUMBER = re.compile(r"(?P<whole>[-+−]?[0-9]+([ ,][0-9]{3})*|(?=\.[0-9]))(?P<rest>(\.[0-9]+)?(e[-+]?[0-9]+)?( ?%)?)")
_LEAST = 10  # characters of a column of texts that is wrapped, with the blanks behind it
_NO_NUMBER = ("", "undefined", "infinite", "-infinite", "inf", "-inf")


def cell_width(text: str) -> int:
    """The width of a text on a terminal, where some characters take two places."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(texts: list[str], *, right: bool = False) -> list[str]:
    """The texts with blanks, all of one width."""
    widths = [cell_width(text) for text in texts]
    most = max(widths, default=0)
    blanks = [" " * (most - width) for width in widths]
    return [blank + text if right else text + blank for text, blank in zip(texts, blanks, strict=True)]


def _aligned(name: str, texts: list[str]) -> tuple[bool, list[str]]:
    """Whether a column is of numbers; its head and cells, all of one width."""
    found = [_NUMBER.fullmatch(text) for text in texts]
    if not any(found) or any(
        match is None and text not in _NO_NUMBER for match, text in zip(found, texts, strict=True)
    ):
        return False, _padded([name, *texts])
    rest = iter(_padded([match["rest"] for match in found if match]))
    return True, _padded(
        [name, *(match["whole"] + next(rest) if match else text for match, text in zip(found, texts, strict=True))],
        right=True,
    )


def _wrapped(columns: list[tuple[bool, list[str]]], width: int) -> str:
    """Aligned columns in a table of at most this width; texts are wrapped, numbers are not."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for numeric, cells in columns:
        least = None if numeric else min(cell_width(cells[0]), _LEAST - 2)
        table.add_column(cells[0], no_wrap=numeric, min_width=least, overflow="fold")
    for row in zip(*(cells[1:] for _, cells in columns), strict=True):
        table.add_row(*row)
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip("\n").split("\n"))  # type: ignore[attr-defined]


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

    def text(self, width: int | None = None) -> str:
        """As plain text, numbers aligned at the decimal point; texts are wrapped to fit into `width` characters."""
        columns = [_aligned(name, [shown(cell) for cell in cells]) for name, cells in self._columns.items()]
        wide = [(cell_width(cells[0]) + 2, numeric) for numeric, cells in columns]
        least = sum(w if numeric else min(w, _LEAST) for w, numeric in wide) - 2
        if width is not None and least <= width < sum(w for w, _ in wide) - 2:
            return _wrapped(columns, width)
        lines = ("  ".join(line) for line in zip(*(cells for _, cells in columns), strict=True))
        return "\n".join(line.rstrip() for line in lines)

    def __str__(self) -> str:
        return self.text()

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
