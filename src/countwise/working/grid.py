"""A small table with named columns that prints as text or HTML and converts to a data frame."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from countwise.errors import check_number, printable
from countwise.working.formula import Formula
from countwise.working.markup import escape
from countwise.working.numbers import Worked, number, probability

__all__ = ["Grid", "Matrix", "cell_width", "exponential", "shown", "terms_table"]


def shown(cell: Any) -> str:
    """Return a value as text; None and NaN become an empty string."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return number(cell) if type(cell) is float else printable(str(cell), lines=False)


_NUMBER = re.compile(r"(?P<whole>[-+−]?[0-9]+([ ,][0-9]{3})*|(?=\.[0-9]))(?P<rest>(\.[0-9]+)?(e[-+]?[0-9]+)?( ?%)?)")
_LONG_WORD = 16  # longer words may be broken
_LEAST = 10  # least width of a wrapped text column, including the two blanks after it
_NO_NUMBER = ("", "undefined", "infinite", "-infinite", "inf", "-inf")


def cell_width(text: str) -> int:
    """Return the width of a text on a terminal, where some characters take two columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(texts: list[str], *, right: bool = False) -> list[str]:
    """Pad the texts with blanks to equal width."""
    widths = [cell_width(text) for text in texts]
    most = max(widths, default=0)
    blanks = [" " * (most - width) for width in widths]
    return [blank + text if right else text + blank for text, blank in zip(texts, blanks, strict=True)]


def _aligned(name: str, texts: list[str]) -> tuple[bool, list[str]]:
    """Return whether a column is numeric, and its header and values padded to equal width."""
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


def _column(name: str, cells: list[Any]) -> tuple[bool, list[str]]:
    """Return whether a column is not wrapped, because it has numbers or computations, and its padded texts."""
    numeric, texts = _aligned(shown(name), [shown(cell) for cell in cells])
    return numeric or (bool(cells) and all(isinstance(cell, Formula | Worked) for cell in cells)), texts


def _laid(columns: list[tuple[bool, list[str]]]) -> str:
    """Lay out aligned columns side by side."""
    lines = ("  ".join(line) for line in zip(*(cells for _, cells in columns), strict=True))
    return "\n".join(line.rstrip() for line in lines)


def _fitted(columns: list[tuple[bool, list[str]]], width: int) -> str:
    """Lay out columns in at most `width` characters, unless the numbers alone are wider."""
    wide = [cell_width(cells[0]) + 2 for _, cells in columns]
    least = _least(columns, wide)
    return _wrapped(columns, width) if sum(least) - 2 <= width < sum(wide) - 2 else _laid(columns)


def _least(columns: list[tuple[bool, list[str]]], wide: list[int]) -> list[int]:
    """Return the least width of each column: that of a number, and of the longest word of a text if it is short."""
    return [w if numeric else min(w, _word(cells) + 2) for (numeric, cells), w in zip(columns, wide, strict=True)]


def _word(cells: list[str]) -> int:
    """Return the width of the longest word, but at least a few characters, and not more than a long word."""
    longest = max((cell_width(word) for cell in cells for word in cell.split()), default=0)
    return max(_LEAST - 2, min(longest, _LONG_WORD))


def _wrapped(columns: list[tuple[bool, list[str]]], width: int) -> str:
    """Lay out aligned columns in at most `width` characters; texts are wrapped, numbers are not."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for numeric, cells in columns:
        least = None if numeric else min(cell_width(cells[0]), _word(cells))
        table.add_column(cells[0], no_wrap=numeric, min_width=least, overflow="fold")
    for row in zip(*(cells[1:] for _, cells in columns), strict=True):
        table.add_row(*row)
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip("\n").split("\n"))  # type: ignore[attr-defined]


class Grid(Mapping[str, list[Any]]):
    """Small table with named columns that prints as text or HTML and converts to a data frame.

    A grid is a mapping from column names to lists of values.

    Parameters
    ----------
    columns : mapping of str to list
        Values of each column. All columns have the same length.

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
        """Number of rows."""
        return len(next(iter(self._columns.values()), []))

    @property
    def _leading(self) -> int:
        """Number of columns that identify a row: up to the first one that has a name."""
        return next((j for j, name in enumerate(self._columns, 1) if name.strip()), 1)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of the table.

        Returns
        -------
        list of tuple
            The values of each row.

        Examples
        --------
        >>> from countwise.working import Grid
        >>> Grid({"wind": ["north", "east"], "n": [3, 4]}).rows()
        [('north', 3), ('east', 4)]
        """
        return list(zip(*self._columns.values(), strict=True))

    def text(self, width: int | None = None) -> str:
        """Return the table as plain text, with numbers aligned at the decimal point.

        Parameters
        ----------
        width : int or None, default=None
            Text columns are wrapped so that the table fits into this many characters. A table that is still wider
            is divided into several tables that repeat the first column that has a name, and the columns before it.
            If None, the table is in one piece.

        Returns
        -------
        str
            The table, with the column names in the first line.

        Examples
        --------
        >>> from countwise.working import Grid
        >>> print(Grid({"wind": ["north", "east"], "speed": [3.5, 12]}).text())
        wind   speed
        north    3.5
        east    12
        """
        check_number("width", width, 1, none=True, whole=True)
        columns = [_column(name, cells) for name, cells in self._columns.items()]
        wide = [cell_width(cells[0]) + 2 for _, cells in columns]
        if width is None or sum(wide) - 2 <= width:
            return _laid(columns)
        width = int(width)
        least = _least(columns, wide)
        repeated = list(range(self._leading))
        tables: list[list[int]] = [[]]
        for j in range(len(columns)):
            if len(tables[-1]) > len(repeated) and sum(least[i] for i in (*tables[-1], j)) - 2 > width:
                tables.append(list(repeated))
            tables[-1].append(j)
        return "\n\n".join(_fitted([columns[j] for j in table], width) for table in tables)

    def latex(self, width: int | None = None) -> str:
        r"""Return the table as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            A table that is wider than this many characters becomes several tables that repeat the first
            column that has a name, and the columns before it; a beamer frame has about 56. If None, the table is in
            one piece.

        Returns
        -------
        str
            An array in displayed mathematics, with a line below the column names.

        Examples
        --------
        >>> from countwise.working import Grid
        >>> print(Grid({"wind": ["north", "east"], "n": [3, 4]}).latex())
        \begingroup\centering\renewcommand{\arraystretch}{1.1}\smallskip
        \(\begin{array}[b]{lr}
          \text{wind} & \text{n} \\ \hline
          \text{north} & 3 \\
          \text{east} & 4
        \end{array}\)\par\smallskip\endgroup
        """
        from countwise.working.latex import grid_latex

        check_number("width", width, 1, none=True)
        return grid_latex(self, width)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(shown(c))}</td>" for c in row) + "</tr>" for row in self.rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_frame(self, kind: str = "pandas") -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        kind : {'pandas', 'polars', 'pyarrow'}, default='pandas'
            Library of the returned frame. It must be installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The table with the same columns.

        Examples
        --------
        >>> from countwise.working import Grid
        >>> Grid({"wind": ["north", "east"], "n": [3, 4]}).to_frame("pandas").shape
        (2, 2)
        """
        import importlib

        from countwise.errors import TableError, check_value

        check_value("kind", kind, ("pandas", "polars", "pyarrow"))
        library = importlib.import_module(kind)
        try:
            return library.table(self._columns) if kind == "pyarrow" else library.DataFrame(self._columns)
        except Exception as error:  # values that the library cannot hold, such as tuples
            raise TableError(f"The result cannot be a {kind} table: {error}", hint="use 'pandas'.") from error


class Matrix(Grid):
    r"""Square matrix whose rows and columns have the same names; LaTeX sets it as a matrix.

    Parameters
    ----------
    symbol : str
        Symbol of the matrix, such as ``Σ``.
    names : list of str
        Name of each row and column.
    values : array-like of shape (n, n)
        Numbers.

    Examples
    --------
    >>> from countwise.working.grid import Matrix
    >>> sigma = Matrix("Σ", ["temp", "wind"], [[4.0, 1.5], [1.5, 2.0]])
    >>> print(sigma)
    Σ     temp  wind
    temp   4     1.5
    wind   1.5   2
    >>> print(sigma.latex().split("\n")[1])
    \(\Sigma = \begin{pmatrix} 4 & 1.5 \\ 1.5 & 2 \end{pmatrix}\)\par\smallskip\endgroup
    """

    def __init__(self, symbol: str, names: Sequence[str], values: Any) -> None:
        self.symbol = symbol
        rows = [[float(value) for value in row] for row in values]
        super().__init__({symbol: names, **{name: [row[j] for row in rows] for j, name in enumerate(names)}})

    @property
    def numbers(self) -> list[list[float]]:
        """The numbers without the names, row by row."""
        return [list(row[1:]) for row in self.rows()]


def terms_table(
    columns: Mapping[str, Sequence[Any]], name: str, logs: Sequence[float], *, most: int | None = 6
) -> Grid:
    """Return a table of the terms of a sum, and the sum in the last row.

    More than `most` terms are shown as the largest ones, in descending order, and the sum of the others.

    Parameters
    ----------
    columns : mapping of str to list
        What is known about each term.
    name : str
        Name of the column of terms.
    logs : list of float
        Logarithm of each term.
    most : int or None, default=6
        Number of terms that are listed; None for all.

    Returns
    -------
    Grid
        The columns, and the column of terms.

    Examples
    --------
    >>> from math import log
    >>> from countwise.working.grid import terms_table
    >>> print(terms_table({"row": [0, 1, 2, 3]}, "term", [log(k) for k in (0.2, 0.5, 0.05, 0.1)], most=2))
    row     term
    1       0.5
    0       0.2
    2 more  0.15
    sum     0.85
    """
    every = range(len(logs))
    order = list(every) if most is None or len(logs) <= most else sorted(every, key=lambda i: -logs[i])[:most]
    table: dict[str, list[Any]] = {key: [cells[i] for i in order] for key, cells in columns.items()}
    table[name] = [exponential(logs[i]) for i in order]
    ends = [("sum", [*logs])]
    if len(order) < len(logs):
        kept = set(order)
        ends.insert(0, (f"{len(logs) - len(order)} more", [log for i, log in enumerate(logs) if i not in kept]))
    for label, some in ends:
        row: list[Any] = [label, *[None] * (len(columns) - 1), exponential(log_sum(some))]
        for key, cell in zip(table, row, strict=True):
            table[key].append(cell)
    return Grid(table)


def log_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of a sum of exponentials."""
    top = max(logs, default=-math.inf)
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(log - top) for log in logs))


def exponential(log: float) -> float | str:
    """Return exp(log), as text if it underflows or overflows a float."""
    return math.exp(log) if -700 < log < 700 else 0.0 if log == -math.inf else probability(log)
