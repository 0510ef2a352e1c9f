"""Readers of CSV, TSV, Parquet and ARFF files, as a whole or in chunks.

A table or a chunk is a ``dict`` of NumPy arrays of equal length. A numeric column is ``float64`` or ``int64``, with
NaN for missing values. Any other column is an object array of ``str`` (or of ``True`` and ``False``), with None for
missing values.

The types of a CSV file are determined from the whole file before the first chunk is returned, so that all chunks have
the same types.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from countwise.errors import ReadError, did_you_mean, listed, warn
from countwise.io.arff import arff_pieces, has_weights, hints
from countwise.io.csv import csv_columns, csv_pieces
from countwise.io.csv_types import FIELD_TYPES, CsvColumn
from countwise.io.parquet import parquet_columns, parquet_hints, parquet_pieces
from countwise.io.paths import AnyPath, format_of, resolved
from countwise.io.pieces import Columns, Options, objects, regrouped
from countwise.io.text_files import lines

__all__ = ["MISSING", "Columns", "attribute_hints", "column_names", "instance_weights", "read", "read_pieces"]


MISSING = ("", "?", "NA", "NaN", "nan", "null", "None", "N/A")

_BLOCK = 2048  # rows converted at a time; they fit the processor's cache


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
    types: Mapping[str, str] | None = None,
) -> Columns:
    r"""Read a table from CSV, TSV, Parquet or ARFF files.

    The extension determines the format. CSV, TSV and ARFF files may be compressed with gzip (``.csv.gz``).

    Parameters
    ----------
    path : str, path-like or iterable of them
        A file, a pattern such as ``"sales/*.csv"`` (``**`` matches subfolders), a folder of Parquet files, or several
        of these. Several files must have the same format and the same columns; their rows are concatenated.
    pieces : int or None, default=None
        Number of rows that are converted at a time. It affects the memory, not the result. None means 2048.
    header : bool, default=True
        Whether the first line of a CSV file has the names of the columns. If False, the columns are named
        ``column1``, ``column2``, ...
    separator : str or None, default=None
        Delimiter of a CSV file. None detects a comma, semicolon, tab or vertical bar.
    names : sequence of str or None, default=None
        Names of the columns. None uses the names in the file.
    missing : iterable of str, default=("", "?", "NA", "NaN", "nan", "null", "None", "N/A")
        Fields of a CSV file that are missing values. Spaces around a field are ignored.
    quote : str or None, default='"'
        Quotation mark of a CSV file. None reads quotation marks as ordinary characters.
    encoding : str or None, default=None
        Character encoding of a text file. None means UTF-8, or UTF-16 if the file has its byte order mark.
    weight_column : str, default="weight"
        Name of the column for the instance weights of an ARFF file. Files without weights get no such column.
    types : mapping or None, default=None
        Types of columns of a CSV file that their fields should not determine: "numeric", "date" (ISO dates such as
        2024-02-29), "text", "code" (numbers, and strings where a field is not a number) or "boolean". Fields that do
        not fit "numeric" or "date" are missing values, with a warning; more than a quarter of them are an error.

    Returns
    -------
    dict of str to ndarray
        The columns in the order of the file.

    Raises
    ------
    ReadError
        If a file does not exist or cannot be read as a table. The message gives the line where there is one.

    Notes
    -----
    A CSV column is numeric if every non-missing field is a decimal number. It is ``int64`` if all numbers are
    integers of at most 64 bits and none is missing, else ``float64``; integers that neither can represent stay Python
    integers. Up to 5 % of other fields, of at most three kinds among 20 or more numbers, are missing values, with a
    warning. Decimal commas are recognized if no number has a decimal point. Numbers with leading zeros (``007``) are
    codes, so that their column is text. A column of true and false in one spelling is boolean. A column without any
    value is ``float64``. Dates in Parquet and ARFF files become ``datetime64``, in UTC. Blank lines are ignored.

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
    options = Options(header, separator, quote, names, _missing(missing), encoding, weight_column, _types(types))
    block = _BLOCK if pieces is None else _checked(pieces)
    return next(_chunks(resolved(path), sys.maxsize, block, options))


def read_pieces(
    paths: AnyPath | Iterable[AnyPath],
    *,
    rows: int = 65536,
    missing: Iterable[str] = MISSING,
    types: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[Columns]:
    r"""Read a table from one or more files in chunks.

    A column has the same type in all chunks. A table without rows yields one empty chunk.

    Parameters
    ----------
    paths : str, path-like or iterable of them
        The files, as in `read`.
    rows : int, default=65536
        Maximum number of rows of a chunk.
    missing : iterable of str, default=MISSING
        Fields of a CSV file that are missing values.
    types : mapping or None, default=None
        Types of columns of a CSV file, as in `read`.
    **options
        Other arguments of `read`.

    Yields
    ------
    dict of str to ndarray
        The columns of one chunk.

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
    settings = Options(missing=_missing(missing), types=_types(types), **options)
    return _chunks(resolved(paths), _checked(rows), min(rows, _BLOCK), settings)


def attribute_hints(path: AnyPath | Iterable[AnyPath], *, encoding: str | None = None) -> dict[str, tuple[str, Any]]:
    r"""Return the types that files declare for their attributes.

    Parameters
    ----------
    path : str, path-like or iterable of them
        The files, as in `read`. The values of a nominal attribute are the union over all files.
    encoding : str or None, default=None
        Character encoding of ARFF files.

    Returns
    -------
    dict of str to tuple
        For ARFF, ``("nominal", values)``, ``("numeric", None)``, ``("text", None)`` or ``("date", format)`` of each
        attribute. For Parquet, ``("nominal", values)`` or ``("ordinal", values)`` of each categorical column. Empty
        for other formats.

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
            first, detail = found.setdefault(name, hint)
            if isinstance(detail, tuple) and isinstance(hint[1], tuple):
                found[name] = first, tuple(dict.fromkeys((*detail, *hint[1])))
    return found


def column_names(paths: AnyPath | Iterable[AnyPath]) -> list[str]:
    """Return the column names of the first file without reading its rows."""
    file = resolved(paths)[0]
    kind = format_of(file)
    if kind == "parquet":
        return parquet_columns(file)
    if kind == "arff":
        return list(hints(lines(file, None), file.name))
    return csv_columns(file, Options(missing=frozenset(MISSING)))


def instance_weights(paths: AnyPath | Iterable[AnyPath]) -> str | None:
    """Return the name of the column that `read` adds for the instance weights of ARFF files; None without any."""
    files = resolved(paths)
    return "weight" if all(format_of(file) == "arff" for file in files) and has_weights(files) else None


def _missing(missing: Iterable[str]) -> frozenset[str]:
    """Return the set of the strings that mean a missing value; a single string is accepted too."""
    words = [missing] if isinstance(missing, str) or not isinstance(missing, Iterable) else list(missing)
    if not all(isinstance(word, str) for word in words):
        raise ReadError(f"missing must be a list of strings, not {missing!r}.", hint="pass, for example, ['', 'NA'].")
    return frozenset(word.strip(" \t") for word in words)


def _types(types: Mapping[str, str] | None) -> dict[str, str]:
    """Return the given types of columns after checking them."""
    if not isinstance(types, Mapping | None):
        raise ReadError(f"types must be a mapping of column to type, not {types!r}.", hint="pass {'code': 'text'}.")
    found = dict(types or {})
    wrong = next((n for n, given in found.items() if not isinstance(given, str) or given not in FIELD_TYPES), None)
    if wrong is not None:
        raise ReadError(
            f"The type of column {wrong!r} must be one of {listed(FIELD_TYPES)}, not {found[wrong]!r}.",
            hint=did_you_mean(found[wrong], FIELD_TYPES),
        )
    return found


def _checked(rows: Any) -> int:
    """Return the number of rows of a chunk, an integer >= 1."""
    if not isinstance(rows, Integral) or rows < 1:
        raise ReadError(f"A chunk must have at least 1 row, not {rows!r}.", hint="pass an integer >= 1.")
    return int(rows)


def _chunks(paths: list[Path], rows: int, block: int, options: Options) -> Iterator[Columns]:
    """Read chunks over all files; each but the last has `rows` rows. A table without rows yields an empty chunk."""
    formats = {format_of(path).replace("tsv", "csv") for path in paths}
    if len(formats) > 1:
        raise ReadError(f"The files have different formats: {listed(sorted(formats))}.", hint="read them separately.")
    name = formats.pop()
    if name == "csv":
        return regrouped(csv_pieces(paths, block, options), rows)
    pieces = arff_pieces(paths, block, options)
    if name == "parquet":  # pyarrow is faster with larger blocks
        pieces = parquet_pieces(paths, min(rows, 32 * _BLOCK), options)
    return (_as_given(chunk, options) for chunk in regrouped(pieces, rows))


def _as_given(chunk: Columns, options: Options) -> Columns:
    """Convert the columns of a chunk that have another type than the one that is given."""
    found = dict(chunk)
    for name, given in options.types.items():
        column = found.get(name)
        if column is None or not len(column):
            continue
        texts = column.dtype == object and any(isinstance(cell, str) for cell in column)
        if texts and given != "text":
            fields = ["" if cell is None else str(cell) for cell in column]
            as_read = CsvColumn(frozenset({"", *options.missing}), given)
            as_read.look(fields)
            note = as_read.decide(name)
            if note is not None:
                warn(note)
            found[name] = as_read.convert(fields)
        elif given == "text" and not texts and column.dtype.kind in "iufO":
            found[name] = objects([None if _is_missing(cell) else _text(cell) for cell in column.tolist()])
    return found


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell


def _text(cell: Any) -> str:
    """Return the text of a number or a boolean as a CSV file has it."""
    if isinstance(cell, bool):
        return str(cell)
    return str(int(cell)) if cell == int(cell) else repr(cell)
