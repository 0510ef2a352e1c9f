"""CSV files, cut into cells by the csv module, or by pyarrow if they are large and plain."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from countwise.errors import ReadError
from countwise.io import csv_arrow
from countwise.io.csv_types import CsvColumn
from countwise.io.paths import format_of
from countwise.io.pieces import Columns, Options, named, same_columns
from countwise.io.text_files import lines

__all__ = ["csv_columns", "csv_pieces"]

_SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class _CsvFile:
    """One CSV file, how its lines are cut and what its columns are called."""

    path: Path
    options: Options
    separator: str
    names: list[str]

    @classmethod
    def open(cls, path: Path, options: Options) -> _CsvFile:
        separator = options.separator or ("\t" if format_of(path) == "tsv" else _sniffed(path, options))
        _check_marks(separator, options)
        probe = cls(path, options, separator, [])
        try:
            first = next(filter(None, probe.rows()), None)
        except csv.Error:
            raise probe.broken() from None
        if first is None:
            raise ReadError(f"{path.name!r} is empty.", hint="a table needs a line with the names of its columns.")
        unnamed = [f"column{i}" for i in range(1, len(first) + 1)]
        own = [cell.strip(" \t") or other for cell, other in zip(first, unnamed, strict=True)]
        return cls(path, options, separator, named(own if options.header else unnamed, options, path))

    def rows(self) -> Any:
        """A csv reader, strict: a stray quotation mark is an error instead of a swallowed line."""
        text = lines(self.path, self.options.encoding)
        return csv.reader(text, strict=True, **_marks(self.separator, self.options))

    def blocks(self, rows: int) -> Iterator[dict[str, Sequence[str]]]:
        """The cells as text, at most so many rows at a time, by column."""
        reader, width = self.rows(), len(self.names)
        try:
            if self.options.header:
                next(filter(None, reader))
            while block := list(islice(reader, rows)):
                if set(map(len, block)) != {width}:
                    block = [row for row in block if row]
                    if any(len(row) != width for row in block):
                        raise self.broken()
                if block:
                    yield dict(zip(self.names, zip(*block, strict=True), strict=True))
        except csv.Error:
            raise self.broken() from None

    def arrow_blocks(self) -> Iterator[dict[str, Any]]:
        """The cells as arrays of pyarrow, by column."""
        width = len(self.names)
        for arrays in csv_arrow.blocks(self.path, self.separator, width, self.options.header):
            yield dict(zip(self.names, arrays, strict=True))

    def broken(self) -> ReadError:
        """Say which line cannot be cut into cells, by reading again one row at a time."""
        reader, width, start, skip = self.rows(), len(self.names), 1, self.options.header
        name = self.path.name
        try:
            for row in reader:
                if row and not skip and len(row) != width:
                    hint = "are the separator and the quotation mark right? See separator=... and quote=..."
                    found = f"{len(row)} {'cell' if len(row) == 1 else 'cells'}"
                    return ReadError(f"Line {start} of {name!r} has {found}, where {width} are expected.", hint=hint)
                skip = skip and not row
                start = reader.line_num + 1
        except csv.Error as error:
            reason = str(error)
            what = "a quotation mark that is never closed" if "end of data" in reason else f"a bad cell ({reason})"
            hint = "quote=None takes quotation marks as they are."
            return ReadError(f"The row that begins in line {start} of {name!r} has {what}.", hint=hint)
        return ReadError(f"{name!r} changed while it was read.", hint="read it again.")


def _marks(separator: str, options: Options) -> dict[str, Any]:
    quoting = csv.QUOTE_NONE if options.quote is None else csv.QUOTE_MINIMAL
    return {"delimiter": separator, "quotechar": options.quote, "quoting": quoting}


def _check_marks(separator: str, options: Options) -> None:
    for what, mark in (("separator", separator), ("quote", options.quote)):
        if mark is not None and (len(mark) != 1 or mark in "\r\n"):
            raise ReadError(f"{what}={mark!r} is not a single character.", hint="give one such as ',' or '\"'.")
    if separator == options.quote:
        raise ReadError(f"The separator and the quotation mark are both {separator!r}.", hint="give different ones.")


def _sniffed(path: Path, options: Options) -> str:
    """The separator that cuts the first lines into equally many cells, and into most of them."""
    first = list(islice(lines(path, options.encoding), 100))
    best, found = (False, 0.0, 1), ","
    for separator in _SEPARATORS:
        try:
            reader = csv.reader(first, strict=False, **_marks(separator, options))
            counts = [len(row) for row in reader if row]
        except csv.Error:
            continue
        if len(first) == 100:
            counts.pop()  # the last row may go on beyond these lines
        if counts and counts[0] > 1:
            agree = counts.count(counts[0]) / len(counts)
            score = (agree == 1, agree, counts[0])
            if score > best:
                best, found = score, separator
    return found


def csv_columns(path: Path, options: Options) -> list[str]:
    """The names of the columns."""
    return _CsvFile.open(path, options).names


def csv_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """An empty piece, then the rows of all files, at most so many at a time."""
    files = [_CsvFile.open(path, options) for path in paths]
    names = files[0].names
    for file in files:
        same_columns(names, file.names, (paths[0], file.path))
    columns = {name: CsvColumn(options.missing) for name in names}
    quick = [_look(file, columns, rows) for file in files]
    yield {name: np.empty(0) for name in names}
    for file, by_arrow in zip(files, quick, strict=True):
        converted = _arrow_pieces(file, columns, rows) if by_arrow else _pieces(file, columns, rows)
        try:
            yield from converted
        except (OverflowError, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"{file.path.name!r} changed while it was read.", hint="read it again.") from None


def _look(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> bool:
    """Show all cells of a file to its columns; whether pyarrow was able to cut them."""
    if csv_arrow.suits(file.path, file.separator, file.options):
        try:
            for arrays in file.arrow_blocks():
                for name, cells in arrays.items():
                    csv_arrow.look(columns[name], cells)
            return True
        except csv_arrow.UnfitError:
            pass  # the rows before are looked at again, which changes nothing
    for block in file.blocks(rows):
        for name, texts in block.items():
            columns[name].look(texts)
    return False


def _pieces(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> Iterator[Columns]:
    for block in file.blocks(rows):
        yield {name: column.convert(block[name]) for name, column in columns.items()}


def _arrow_pieces(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> Iterator[Columns]:
    for arrays in file.arrow_blocks():
        block = {name: csv_arrow.convert(column, arrays[name]) for name, column in columns.items()}
        for start in range(0, len(block[file.names[0]]), rows):
            yield {name: column[start : start + rows] for name, column in block.items()}
