"""Tables in files: CSV, TSV, Parquet and ARFF, whole or in pieces.

A piece of a table is a plain ``dict`` of NumPy arrays of one length. A numeric column is ``float64`` or
``int64``, with NaN where a cell is missing; every other column is an object array of ``str`` (or of ``True``
and ``False``), with None where a cell is missing.

A CSV file says nothing about its columns, so its types are decided over the whole file before the first piece
is handed out: pieces agree with each other and with the file read at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from countwise.errors import ReadError, listed
from countwise.io.arff import arff_pieces, hints
from countwise.io.csv import csv_columns, csv_pieces
from countwise.io.parquet import parquet_columns, parquet_hints, parquet_pieces
from countwise.io.paths import AnyPath, format_of, resolved
from countwise.io.pieces import Columns, Options, regrouped
from countwise.io.text_files import lines

__all__ = ["MISSING", "Columns", "attribute_hints", "column_names", "read", "read_pieces"]


MISSING = ("", "?", "NA", "NaN", "nan", "null", "None", "N/A")

_BLOCK = 2048  # rows turned from text into numbers at a time: few enough to stay in the processor's cache


def read(
    path: AnyPath | Iterable[AnyPath],
    *,
    pieces: int | None = None,
    header: bool = True,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    missing: Iterable[str] = MISSING,
    quote: str | None = '"',
    encoding: str | None = None,
    weight_column: str = "weight",
) -> Columns:
    r"""Read a whole table from a CSV, TSV, Parquet or ARFF file, as its ending says; ``.gz`` may follow.

    Parameters
    ----------
    path : str, path or iterable of them
        The file; or a pattern such as ``"sales/*.csv"`` (``**`` for folders in folders), a folder of Parquet
        files, or several files of one format with the same columns.
    pieces : int, optional
        Rows held as text at a time. It changes the memory needed, never the result.
    header : bool
        Whether the first line of a CSV file names the columns; else they are ``column1``, ``column2``, ...
    separator : str, optional
        What stands between two cells of a CSV file. If not given, it is found among comma, semicolon, tab
        and bar.
    names : sequence of str, optional
        Names of the columns, instead of the file's own.
    missing : iterable of str
        Cells of a CSV file that stand for a missing value, apart from spaces around them.
    quote : str or None
        The quotation mark of a CSV file; None takes quotation marks as they are.
    encoding : str, optional
        Character encoding; UTF-8, or UTF-16 with a byte order mark, when not given.
    weight_column : str
        Name of the column of instance weights, if an ARFF file has any.

    Returns
    -------
    dict of str to ndarray
        The columns, in the file's order.

    Notes
    -----
    A CSV column is numeric if every cell that is not missing is a decimal number: ``int64`` if all are
    whole, fit and none is missing, else ``float64``. A leading zero (``007``) marks a code, which stays text.
    A column of true and false, in one spelling, is boolean. A column with nothing in it is ``float64``.
    Dates of Parquet and ARFF are seconds since 1970, UTC. Blank lines are skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from countwise.io.readers import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rain.csv")
    ...     _ = path.write_text("wind,temp,rain\nnorth,32.1,no\neast,?,yes\n")
    ...     frame = read(path)
    >>> frame["temp"]
    array([32.1,  nan])
    >>> frame["rain"]
    array(['no', 'yes'], dtype=object)
    """
    options = Options(header, separator, quote, names, _words(missing), encoding, weight_column)
    block = _BLOCK if pieces is None else pieces
    return next(_pieces(resolved(path), sys.maxsize, block, options))


def read_pieces(
    paths: AnyPath | Iterable[AnyPath], *, rows: int = 65536, missing: Iterable[str] = MISSING, **options: Any
) -> Iterator[Columns]:
    r"""Read a table of one or more files in pieces of so many rows at most; the other arguments are those of `read`.

    A column has one type in all pieces. A table without rows gives one empty piece.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from countwise.io.readers import read_pieces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rain.csv")
    ...     _ = path.write_text("wind;temp\nnorth;32.1\neast;18\neast;19\n")
    ...     [piece["temp"] for piece in read_pieces(path, rows=2)]
    [array([32.1, 18. ]), array([19.])]
    """
    return _pieces(resolved(paths), rows, min(rows, _BLOCK), Options(missing=_words(missing), **options))


def attribute_hints(path: AnyPath | Iterable[AnyPath], *, encoding: str | None = None) -> dict[str, tuple[str, Any]]:
    r"""What the file itself, or several files together, declare about their attributes.

    ARFF says ``("nominal", values)``, ``("numeric", None)``, ``("text", None)`` or ``("date", format)`` of each;
    Parquet ``("nominal", values)`` or ``("ordinal", values)`` of categorical columns; other files say nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from countwise.io.readers import attribute_hints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "play.arff")
    ...     _ = path.write_text("@relation play\n@attribute wind {weak, strong}\n@data\nweak\n")
    ...     attribute_hints(path)
    {'wind': ('nominal', ('weak', 'strong'))}
    """
    found: dict[str, tuple[str, Any]] = {}
    for file in resolved(path):
        kind = format_of(file)
        declared = hints(lines(file, encoding), file.name) if kind == "arff" else {}
        for name, hint in (parquet_hints(file) if kind == "parquet" else declared).items():
            word, detail = found.setdefault(name, hint)
            if isinstance(detail, tuple) and isinstance(hint[1], tuple):  # the values that both files list
                found[name] = word, tuple(dict.fromkeys((*detail, *hint[1])))
    return found


def column_names(paths: AnyPath | Iterable[AnyPath]) -> list[str]:
    """The columns of a table as the head of its first file says, before any row is read."""
    file = resolved(paths)[0]
    kind = format_of(file)
    if kind == "parquet":
        return parquet_columns(file)
    if kind == "arff":
        return list(hints(lines(file, None), file.name))
    return csv_columns(file, Options(missing=frozenset(MISSING)))


def _words(missing: Iterable[str]) -> frozenset[str]:
    """The words for missing; a single one may stand by itself."""
    return frozenset(word.strip(" \t") for word in ([missing] if isinstance(missing, str) else missing))


def _pieces(paths: list[Path], rows: int, block: int, options: Options) -> Iterator[Columns]:
    """Pieces over all files, each of so many rows but the last; an empty one if there is no row at all."""
    if min(rows, block) < 1:
        raise ReadError(f"A piece cannot have {min(rows, block)} rows.", hint="give 1 or more.")
    kinds = {format_of(path).replace("tsv", "csv") for path in paths}
    if len(kinds) > 1:
        raise ReadError(f"The files are of different formats: {listed(sorted(kinds))}.", hint="read them apart.")
    engines: dict[str, Callable[[list[Path], int, Options], Iterator[Columns]]] = {
        "csv": csv_pieces,
        "parquet": parquet_pieces,
        "arff": arff_pieces,
    }
    kind = kinds.pop()
    if kind == "parquet":  # already numbers: larger blocks cost the engines less
        block = min(rows, 32 * _BLOCK)
    return regrouped(engines[kind](paths, block, options), rows)
