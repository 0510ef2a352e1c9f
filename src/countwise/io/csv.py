"""CSV files, parsed by the csv module, or by pyarrow if they are large."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from countwise.errors import ReadError, listed, warn
from countwise.io import csv_arrow
from countwise.io.csv_types import CsvColumn
from countwise.io.paths import format_of
from countwise.io.pieces import Columns, Options, named, same_columns
from countwise.io.spreadsheets import unguarded
from countwise.io.text_files import lines

__all__ = ["csv_columns", "csv_pieces"]

_SEPARATORS = ",;\t|"
_LONGEST_FIELD = 1 << 30  # characters; the limit of the csv module is 131,072


@dataclass(frozen=True, slots=True)
class _CsvFile:
    """One CSV file, its delimiter and its column names."""

    path: Path
    options: Options
    separator: str
    names: list[str]

    @classmethod
    def open(cls, path: Path, options: Options) -> _CsvFile:
        _check_marks(options.separator, options)
        separator = options.separator or ("\t" if format_of(path) == "tsv" else _sniffed(path, options))
        _check_marks(separator, options)
        probe = cls(path, options, separator, [])
        try:
            first = next(filter(None, probe.rows()), None)
        except csv.Error:
            raise probe.broken() from None
        if first is None:
            raise ReadError(f"{path.name!r} is empty.", hint="add a header line with the names of the columns.")
        unnamed = [f"column{i}" for i in range(1, len(first) + 1)]
        own = [unguarded(name.strip(" \t")) or other for name, other in zip(first, unnamed, strict=True)]
        return cls(path, options, separator, named(own if options.header else unnamed, options, path))

    def rows(self) -> Any:
        """Return a strict csv reader: a stray quotation mark is an error instead of merging lines."""
        text = lines(self.path, self.options.encoding)
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        return csv.reader(text, strict=True, **_marks(self.separator, self.options))

    def blocks(self, rows: int) -> Iterator[dict[str, Sequence[str]]]:
        """Read at most `rows` rows at a time: the fields as strings, by column."""
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
        """Read the fields as pyarrow arrays, by column."""
        width = len(self.names)
        for arrays in csv_arrow.blocks(self.path, self.separator, width, self.options.header):
            yield dict(zip(self.names, arrays, strict=True))

    def broken(self) -> ReadError:
        """Return the error for the first line that cannot be parsed, found by reading the file row by row."""
        reader, width, start, skip = self.rows(), len(self.names), 1, self.options.header
        name = self.path.name
        try:
            for row in reader:
                if row and not skip and len(row) != width:
                    hint = "check the line, or pass the right separator and quote."
                    found = f"{len(row)} field{'s' * (len(row) != 1)}"
                    return ReadError(f"Line {start} of {name!r} has {found}, but {width} are expected.", hint=hint)
                skip = skip and not row
                start = reader.line_num + 1
        except csv.Error as error:
            reason = str(error)
            closed = "end of data" not in reason
            what = f"an invalid field ({reason})" if closed else "a quotation mark that is never closed"
            hint = "correct the line, or pass quote=None to read quotation marks as ordinary characters."
            return ReadError(f"The row that begins in line {start} of {name!r} has {what}.", hint=hint)
        return ReadError(f"{name!r} changed while it was read.", hint="read it again.")


def _marks(separator: str, options: Options) -> dict[str, Any]:
    quoting = csv.QUOTE_NONE if options.quote is None else csv.QUOTE_MINIMAL
    return {"delimiter": separator, "quotechar": options.quote, "quoting": quoting}


def _check_marks(separator: str | None, options: Options) -> None:
    for what, mark, example in (("separator", separator, "','"), ("quote", options.quote, "'\"'")):
        if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark in "\r\n"):
            raise ReadError(
                f"{what} must be a single character, not {mark!r}.",
                hint=f"pass, for example, {what}={example}.",
            )
    if separator is not None and separator == options.quote:
        raise ReadError(
            f"separator and quote are both {separator!r}.", hint="pass a different character for one of them."
        )


def _sniffed(path: Path, options: Options) -> str:
    """Return the delimiter for which the first lines have the same number of fields, and the most fields."""
    first = list(islice(lines(path, options.encoding), 100))
    best, found = (False, 0.0, 1), ","
    for separator in _SEPARATORS:
        try:
            reader = csv.reader(first, strict=False, **_marks(separator, options))
            counts = [len(row) for row in reader if row]
        except csv.Error:
            continue
        if len(first) == 100:
            counts.pop()  # the last row may continue beyond these lines
        if counts and counts[0] > 1:
            agree = counts.count(counts[0]) / len(counts)
            score = (agree == 1, agree, counts[0])
            if score > best:
                best, found = score, separator
    return found


def csv_columns(path: Path, options: Options) -> list[str]:
    """Return the names of the columns."""
    return _CsvFile.open(path, options).names


def csv_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """Yield an empty chunk, then the rows of all files in chunks of at most `rows` rows."""
    files = [_CsvFile.open(path, options) for path in paths]
    names = files[0].names
    for file in files:
        same_columns(names, file.names, (paths[0], file.path))
    columns = {name: CsvColumn(options.missing, options.types.get(name), files[0].separator) for name in names}
    arrow = [_look(file, columns, rows) for file in files]
    for name, column in columns.items():
        note = column.decide(name)
        if note is not None:
            warn(note)
    commas = [name for name, column in columns.items() if column.comma]
    if commas:
        warn(f"The numbers of {listed(commas)} have decimal commas.")
    yield {name: np.empty(0) for name in names}
    for file, by_arrow in zip(files, arrow, strict=True):
        converted = _arrow_chunks(file, columns, rows) if by_arrow else _chunks(file, columns, rows)
        try:
            yield from converted
        except (OverflowError, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"{file.path.name!r} changed while it was read.", hint="read it again.") from None


def _look(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> bool:
    """Determine the types of the columns from all fields of a file; return whether pyarrow was able to parse it."""
    if csv_arrow.suits(file.path, file.separator, file.options):
        try:
            for arrays in file.arrow_blocks():
                for name, fields in arrays.items():
                    csv_arrow.look(columns[name], fields)
            return True
        except csv_arrow.UnfitError:
            pass  # reading the first rows again does not change the types
    for block in file.blocks(rows):
        for name, texts in block.items():
            columns[name].look(texts)
    return False


def _chunks(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> Iterator[Columns]:
    for block in file.blocks(rows):
        yield {name: column.convert(block[name]) for name, column in columns.items()}


def _arrow_chunks(file: _CsvFile, columns: dict[str, CsvColumn], rows: int) -> Iterator[Columns]:
    for arrays in file.arrow_blocks():
        block = {name: csv_arrow.convert(column, arrays[name]) for name, column in columns.items()}
        for start in range(0, len(block[file.names[0]]), rows):
            yield {name: column[start : start + rows] for name, column in block.items()}
