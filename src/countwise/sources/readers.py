"""Tables in files: CSV, TSV, Parquet and ARFF, whole or in pieces.

A piece of a table is a plain ``dict`` of NumPy arrays of one length. A numeric column is ``float64`` or
``int64``, with NaN where a cell is missing; every other column is an object array of ``str`` (or of ``True``
and ``False``), with None where a cell is missing.

A CSV file says nothing about its columns, so its types are decided over the whole file before the first piece
is handed out: pieces agree with each other and with the file read at once.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError, listed
from countwise.sources import arff

__all__ = ["MISSING", "Frame", "attribute_hints", "read", "read_pieces"]

Frame: TypeAlias = dict[str, NDArray[Any]]
MISSING = ("", "?", "NA", "NaN", "nan", "null", "None", "N/A")

_PATH = str | os.PathLike[str]
_FORMATS = {
    **dict.fromkeys((".csv", ".txt", ".data", ".dat"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".arff": "arff",
}
_SEPARATORS = ",;\t|"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FOREIGN = {
    b"PAR1": "a Parquet file: give it the ending .parquet.",
    b"PK\x03\x04": "a zip or Excel file: save the sheet as CSV.",
    b"SQLite format 3": "an SQLite database: export the table as CSV or Parquet.",
}
_NUMBER_BYTES = b"0123456789+-.eE\n"
_SPECIAL = frozenset({"nan", "NaN", "inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"})
_LEADING_ZERO = re.compile(rb"\n[+-]?0[0-9]")
_TRUTH = (frozenset({"true", "false"}), frozenset({"True", "False"}), frozenset({"TRUE", "FALSE"}))
_MEMO_LIMIT = 100_000
_BLOCK = 2048  # rows turned from text into numbers at a time: few enough to stay in the processor's cache


@dataclass(frozen=True, slots=True)
class _Options:
    header: bool
    separator: str | None
    quote: str | None
    names: Sequence[str] | None
    missing: frozenset[str]
    encoding: str | None
    weight_column: str


def read(
    path: _PATH,
    *,
    pieces: int | None = None,
    header: bool = True,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    missing: Iterable[str] = MISSING,
    quote: str | None = '"',
    encoding: str | None = None,
    weight_column: str = "weight",
) -> Frame:
    r"""Read a whole table from a CSV, TSV, Parquet or ARFF file, as its ending says; ``.gz`` may follow.

    Parameters
    ----------
    path : str or path
        The file.
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
    >>> from countwise.sources.readers import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rain.csv")
    ...     _ = path.write_text("wind,temp,rain\nnorth,32.1,no\neast,?,yes\n")
    ...     frame = read(path)
    >>> frame["temp"]
    array([32.1,  nan])
    >>> frame["rain"]
    array(['no', 'yes'], dtype=object)
    """
    options = _Options(header, separator, quote, names, _words(missing), encoding, weight_column)
    block = _BLOCK if pieces is None else pieces
    return next(_frames([_checked(Path(path))], sys.maxsize, block, options))


def read_pieces(
    paths: _PATH | Iterable[_PATH],
    *,
    rows: int = 65536,
    header: bool = True,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    missing: Iterable[str] = MISSING,
    quote: str | None = '"',
    encoding: str | None = None,
    weight_column: str = "weight",
) -> Iterator[Frame]:
    r"""Read a table of one or more files in pieces of bounded size.

    Parameters
    ----------
    paths : str, path or iterable of them
        One file, a pattern such as ``"sales/*.csv"``, or several files of one format with the same columns.
    rows : int
        The most rows in a piece.
    header, separator, names, missing, quote, encoding, weight_column
        As in `read`.

    Yields
    ------
    dict of str to ndarray
        The next rows. A column has one type in all pieces. A table without rows gives one empty piece.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from countwise.sources.readers import read_pieces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rain.csv")
    ...     _ = path.write_text("wind;temp\nnorth;32.1\neast;18\neast;19\n")
    ...     [piece["temp"] for piece in read_pieces(path, rows=2)]
    [array([32.1, 18. ]), array([19.])]
    """
    options = _Options(header, separator, quote, names, _words(missing), encoding, weight_column)
    return _frames(_resolved(paths), rows, min(rows, _BLOCK), options)


def attribute_hints(path: _PATH, *, encoding: str | None = None) -> dict[str, tuple[str, Any]]:
    r"""What the file itself declares about its attributes.

    Parameters
    ----------
    path : str or path
        The file.
    encoding : str, optional
        As in `read`.

    Returns
    -------
    dict of str to tuple
        For ARFF ``("nominal", values)``, ``("numeric", None)``, ``("text", None)`` or ``("date", format)``
        per attribute; for Parquet ``("nominal", values)`` or ``("ordinal", values)`` per categorical column,
        if pyarrow is there to ask; for other files nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from countwise.sources.readers import attribute_hints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "play.arff")
    ...     _ = path.write_text("@relation play\n@attribute wind {weak, strong}\n@data\nweak\n")
    ...     attribute_hints(path)
    {'wind': ('nominal', ('weak', 'strong'))}
    """
    path = _checked(Path(path))
    kind = _format(path)
    if kind == "arff":
        return arff.hints(_lines(path, encoding), path.name)
    return _parquet_hints(path) if kind == "parquet" else {}


# ------------------------------------------------------------------ which files, and how


def _words(missing: Iterable[str]) -> frozenset[str]:
    """The words for missing; a single one may stand by itself."""
    return frozenset(word.strip(" \t") for word in ([missing] if isinstance(missing, str) else missing))


def _resolved(paths: _PATH | Iterable[_PATH]) -> list[Path]:
    """The files meant by one path, a pattern, or several paths."""
    if not isinstance(paths, str | os.PathLike):
        several = [_checked(Path(path)) for path in paths]
        if not several:
            raise ReadError("No file was given.", hint="give at least one path.")
        return several
    text = os.fspath(paths)
    # A file may really be called "a[1].csv", so a pattern is only a pattern if no such file exists.
    if glob.has_magic(text) and not os.path.exists(text):
        found = [Path(name) for name in sorted(glob.glob(text, recursive=True)) if os.path.isfile(name)]
        if not found:
            raise ReadError(f"No file matches {text!r}.", hint="check the folder and the ending.")
        return found
    return [_checked(Path(text))]


def _checked(path: Path) -> Path:
    if path.is_dir():
        raise ReadError(f"{str(path)!r} is a folder.", hint="name a file, or read_pieces('folder/*.csv').")
    if not path.exists():
        raise ReadError(f"There is no file {str(path)!r}.", hint="check the spelling and the working folder.")
    return path


def _format(path: Path) -> str:
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    kind = _FORMATS.get(ending.lower())
    if kind is None:
        raise ReadError(
            f"{path.name!r} has no known ending.", hint=f"known are {listed(_FORMATS)}, also with '.gz'."
        )
    return kind


def _frames(paths: list[Path], rows: int, block: int, options: _Options) -> Iterator[Frame]:
    """Pieces over all files, each of so many rows but the last; an empty one if there is no row at all."""
    if min(rows, block) < 1:
        raise ReadError(f"A piece cannot have {min(rows, block)} rows.", hint="give 1 or more.")
    kinds = {_format(path).replace("tsv", "csv") for path in paths}
    if len(kinds) > 1:
        raise ReadError(
            f"The files are of different formats: {listed(sorted(kinds))}.", hint="read them apart."
        )
    engines: dict[str, Callable[[list[Path], int, _Options], Iterator[Frame]]] = {
        "csv": _csv_frames,
        "parquet": _parquet_frames,
        "arff": _arff_frames,
    }
    kind = kinds.pop()
    if kind == "parquet":  # already numbers: larger blocks cost the engines less
        block = min(rows, 32 * _BLOCK)
    return _regrouped(engines[kind](paths, block, options), rows)


def _regrouped(blocks: Iterator[Frame], rows: int) -> Iterator[Frame]:
    """Join small frames, the first of which may be empty, into frames of so many rows."""
    held = [next(blocks)]
    count = _length(held[0])
    some = False
    for block in blocks:
        held.append(block)
        count += _length(block)
        while count >= rows:
            joined = _joined(held)
            yield {name: column[:rows] for name, column in joined.items()}
            held, some = [{name: column[rows:] for name, column in joined.items()}], True
            count -= rows
    if count or not some:
        yield _joined(held)


def _length(frame: Frame) -> int:
    return len(next(iter(frame.values())))


def _joined(frames: list[Frame]) -> Frame:
    """The frames below each other; empty ones do not decide about types."""
    filled = [frame for frame in frames if _length(frame)] or frames[:1]
    return {name: np.concatenate([frame[name] for frame in filled]) for name in filled[0]}


def _named(own: Sequence[str], options: _Options, path: Path) -> list[str]:
    """The columns' names: the caller's if given, checked to be one for each column and each only once."""
    names = list(own if options.names is None else options.names)
    if len(names) != len(own):
        raise ReadError(
            f"{len(names)} names were given, but {path.name!r} has {len(own)} columns.", hint="give one each."
        )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        first, second = [i + 1 for i, name in enumerate(names) if name == twice][:2]
        raise ReadError(
            f"The column name {twice!r} occurs twice in {path.name!r} (columns {first} and {second}).",
            hint="rename one, or give names=...",
        )
    return names


def _same_columns(first: Sequence[str], names: Sequence[str], paths: tuple[Path, Path]) -> None:
    """Refuse files that do not have the same columns; their order may differ."""
    odd = sorted(set(first) ^ set(names))
    if odd:
        raise ReadError(
            f"{paths[0].name!r} and {paths[1].name!r} differ in their columns: only one has {listed(odd)}.",
            hint="read files with different columns apart.",
        )


# ------------------------------------------------------------------ text


def _opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if they are gzip's, whatever the ending says."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    return cast("BinaryIO", gzip.open(path, "rb")) if packed else path.open("rb")


def _lines(path: Path, encoding: str | None) -> Iterator[str]:
    """Decoded lines with their ends; everything that can go wrong with bytes becomes a ReadError here."""
    coding = encoding or "utf-8"
    try:
        with _opened(path) as raw:
            start = cast("io.BufferedReader", raw).peek(16)
            foreign = next((hint for mark, hint in _FOREIGN.items() if start.startswith(mark)), None)
            if foreign:
                raise ReadError(f"{path.name!r} is not text.", hint=f"this is {foreign}")
            if encoding is None:
                coding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), coding)
            with io.TextIOWrapper(raw, encoding=coding, newline="") as text:
                for number, line in enumerate(text, 1):
                    if "\0" in line:
                        raise ReadError(
                            f"Line {number} of {path.name!r} has a NUL byte: this is not {coding} text.",
                            hint="if it is UTF-16 without a byte order mark, give encoding='utf-16-le'.",
                        )
                    yield line if number > 1 else line.removeprefix("\ufeff")
    except UnicodeError:
        raise _undecodable(path, coding) from None
    except LookupError:
        raise ReadError(f"There is no encoding {encoding!r}.", hint="try 'utf-8' or 'latin-1'.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path.name!r} cannot be read: {error}.", hint="is the file complete, and yours to read?"
        ) from None


def _undecodable(path: Path, coding: str) -> ReadError:
    """Find the first byte that has no meaning, by decoding again with finer and finer steps."""
    decoder = codecs.getincrementaldecoder(coding)()
    line, at = 1, 0
    hint = "give the encoding the file was written with, such as encoding='latin-1' or 'cp1252'."
    with _opened(path) as raw:
        while chunk := raw.read(1 << 16):
            state = decoder.getstate()
            try:
                line += decoder.decode(chunk).count("\n")
                at += len(chunk)
                continue
            except UnicodeError:
                decoder.setstate(state)
            for byte in chunk:
                try:
                    line += decoder.decode(bytes([byte])).count("\n")
                except UnicodeError:
                    where = f"byte {at} (0x{byte:02x}) in line {line}"
                    return ReadError(
                        f"{path.name!r} is not {coding} text: {where} cannot be decoded.", hint=hint
                    )
                at += 1
    return ReadError(
        f"{path.name!r} is not {coding} text: it ends within a character, at byte {at}.", hint=hint
    )


# ------------------------------------------------------------------ CSV


class _Cells(dict[str, "str | None"]):
    """The value of each text cell met so far: equal cells share one object, missing ones are None."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing

    def __missing__(self, cell: str) -> str | None:
        value = None if cell.strip(" \t") in self.missing else cell
        self[cell] = value
        return value


class _Column:
    """What one column may be, judging by the cells seen so far; then the conversion of its cells."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing
        self.number = self.whole = True
        self.truth: list[frozenset[str]] = list(_TRUTH)
        self.gaps = self.padded = self.filled = False
        self.memo = _Cells(missing)

    def look(self, cells: Sequence[str]) -> None:
        """Rule out what these cells contradict."""
        if not self.number and not self.truth:
            return
        joined = "\n".join(cells)
        if " " in joined or "\t" in joined:
            self.padded = True
            cells = [cell.strip(" \t") for cell in cells]
        if not self.missing.isdisjoint(cells):
            self.gaps = True
            cells = [cell for cell in cells if cell not in self.missing]
        if cells:
            self.filled = True
            self.number = self.number and self._are_numbers(cells)
            self.truth = [words for words in self.truth if words.issuperset(cells)]

    def _are_numbers(self, cells: Sequence[str]) -> bool:
        """Whether all are decimal numbers; float() alone would also take '1_000', '١٢' and 'infinity'."""
        plain = cells if _SPECIAL.isdisjoint(cells) else [cell for cell in cells if cell not in _SPECIAL]
        self.whole = self.whole and len(plain) == len(cells)
        joined = "\n".join(plain)
        if not plain or not joined.isascii():
            return not plain
        raw = joined.encode()
        if (
            raw.translate(None, _NUMBER_BYTES)
            or raw.count(b"\n") >= len(plain)
            or _LEADING_ZERO.search(b"\n" + raw)
        ):
            return False
        try:
            values = np.fromiter(map(float, plain), np.float64, len(plain))
        except ValueError:
            return False
        if np.isinf(values).any():
            return False
        self.whole = self.whole and not (b"." in raw or b"e" in raw or b"E" in raw) and _fit_int64(plain)
        return True

    def convert(self, cells: Sequence[str]) -> NDArray[Any]:
        """The cells as an array of the column's type."""
        if not self.filled:
            return np.full(len(cells), np.nan)
        if self.padded and (self.number or self.truth):
            cells = [cell.strip(" \t") for cell in cells]
        if self.number and self.whole and not self.gaps:
            return np.fromiter(map(int, cells), np.int64, len(cells))
        if self.number:
            return self._floats(cells)
        if self.truth:
            true = next(word for word in self.truth[0] if word.lower() == "true")
            return arff.objects([None if cell in self.missing else cell == true for cell in cells])
        if len(self.memo) > _MEMO_LIMIT:  # a column of all different texts must not be kept in memory
            self.memo.clear()
        return arff.objects(list(map(self.memo.__getitem__, cells)))

    def _floats(self, cells: Sequence[str]) -> NDArray[Any]:
        if self.missing.isdisjoint(cells):
            return np.fromiter(map(float, cells), np.float64, len(cells))
        missing = self.missing
        return np.array([np.nan if cell in missing else float(cell) for cell in cells])


def _fit_int64(cells: Sequence[str]) -> bool:
    if max(map(len, cells)) <= 18:
        return True
    try:
        np.fromiter(map(int, cells), np.int64, len(cells))
    except OverflowError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _CsvFile:
    """One CSV file, how its lines are cut and what its columns are called."""

    path: Path
    options: _Options
    separator: str
    names: list[str]

    @classmethod
    def open(cls, path: Path, options: _Options) -> _CsvFile:
        separator = options.separator or ("\t" if _format(path) == "tsv" else _sniffed(path, options))
        _check_marks(separator, options)
        probe = cls(path, options, separator, [])
        try:
            first = next(filter(None, probe.rows()), None)
        except csv.Error:
            raise probe.broken() from None
        if first is None:
            raise ReadError(
                f"{path.name!r} is empty.", hint="a table needs a line with the names of its columns."
            )
        unnamed = [f"column{i}" for i in range(1, len(first) + 1)]
        own = [cell.strip(" \t") or other for cell, other in zip(first, unnamed, strict=True)]
        return cls(path, options, separator, _named(own if options.header else unnamed, options, path))

    def rows(self) -> Any:
        """A csv reader, strict: a stray quotation mark is an error instead of a swallowed line."""
        lines = _lines(self.path, self.options.encoding)
        return csv.reader(lines, strict=True, **_marks(self.separator, self.options))

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

    def broken(self) -> ReadError:
        """Say which line cannot be cut into cells, by reading again one row at a time."""
        reader, width, start, skip = self.rows(), len(self.names), 1, self.options.header
        name = self.path.name
        try:
            for row in reader:
                if row and not skip and len(row) != width:
                    hint = "are the separator and the quotation mark right? See separator=... and quote=..."
                    found = f"{len(row)} {'cell' if len(row) == 1 else 'cells'}"
                    return ReadError(
                        f"Line {start} of {name!r} has {found}, where {width} are expected.", hint=hint
                    )
                skip = skip and not row
                start = reader.line_num + 1
        except csv.Error as error:
            reason = str(error)
            what = (
                "a quotation mark that is never closed"
                if "end of data" in reason
                else f"a bad cell ({reason})"
            )
            hint = "quote=None takes quotation marks as they are."
            return ReadError(f"The row that begins in line {start} of {name!r} has {what}.", hint=hint)
        return ReadError(f"{name!r} changed while it was read.", hint="read it again.")


def _marks(separator: str, options: _Options) -> dict[str, Any]:
    quoting = csv.QUOTE_NONE if options.quote is None else csv.QUOTE_MINIMAL
    return {"delimiter": separator, "quotechar": options.quote, "quoting": quoting}


def _check_marks(separator: str, options: _Options) -> None:
    for what, mark in (("separator", separator), ("quote", options.quote)):
        if mark is not None and (len(mark) != 1 or mark in "\r\n"):
            raise ReadError(
                f"{what}={mark!r} is not a single character.", hint="give one such as ',' or '\"'."
            )
    if separator == options.quote:
        raise ReadError(
            f"The separator and the quotation mark are both {separator!r}.", hint="give different ones."
        )


def _sniffed(path: Path, options: _Options) -> str:
    """The separator that cuts the first lines into equally many cells, and into most of them."""
    lines = list(islice(_lines(path, options.encoding), 100))
    best, found = (False, 0.0, 1), ","
    for separator in _SEPARATORS:
        try:
            reader = csv.reader(lines, strict=False, **_marks(separator, options))
            counts = [len(row) for row in reader if row]
        except csv.Error:
            continue
        if len(lines) == 100:
            counts.pop()  # the last row may go on beyond these lines
        if counts and counts[0] > 1:
            agree = counts.count(counts[0]) / len(counts)
            score = (agree == 1, agree, counts[0])
            if score > best:
                best, found = score, separator
    return found


def _csv_frames(paths: list[Path], rows: int, options: _Options) -> Iterator[Frame]:
    files = [_CsvFile.open(path, options) for path in paths]
    names = files[0].names
    for file in files:
        _same_columns(names, file.names, (paths[0], file.path))
    columns = {name: _Column(options.missing) for name in names}
    for file in files:
        for block in file.blocks(rows):
            for name in names:
                columns[name].look(block[name])
    yield {name: np.empty(0) for name in names}
    for file in files:
        try:
            for block in file.blocks(rows):
                yield {name: columns[name].convert(block[name]) for name in names}
        except (OverflowError, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"{file.path.name!r} changed while it was read.", hint="read it again.") from None


# ------------------------------------------------------------------ ARFF


def _arff_frames(paths: list[Path], rows: int, options: _Options) -> Iterator[Frame]:
    heads = [arff.hints(_lines(path, options.encoding), path.name) for path in paths]
    names = _named(list(heads[0]), options, paths[0])
    for path, head in zip(paths, heads, strict=True):
        _same_columns(list(heads[0]), list(head), (paths[0], path))
        odd = next((name for name in head if head[name][0] != heads[0][name][0]), None)
        if odd is not None:
            message = (
                f"{odd!r} is {heads[0][odd][0]} in {paths[0].name!r} and {head[odd][0]} in {path.name!r}."
            )
            raise ReadError(message, hint="read files with different attributes apart.")
    weighted = any(arff.has_weights(_lines(path, options.encoding), path.name) for path in paths)
    if weighted and options.weight_column in names:
        message = f"{paths[0].name!r} has instance weights and an attribute {options.weight_column!r}."
        raise ReadError(message, hint="give another weight_column=...")
    for path in paths:
        for piece in arff.pieces(_lines(path, options.encoding), path.name, rows):
            frame = {name: piece.columns[own] for name, own in zip(names, heads[0], strict=True)}
            if weighted:
                frame[options.weight_column] = piece.weights
            yield frame


# ------------------------------------------------------------------ Parquet


_FAMILIES = {
    "whole": r"u?(tiny|small|big)?int(eger)?\d*$",
    "number": r"(half)?float\d*$|double$|decimal|null$",
    "truth": r"bool",
    "text": r"(large_)?(string|utf8)|varchar|categorical|enum",
    "time": r"timestamp|datetime|date(32|64)?(\[|$)",
}


def _families(types: Iterable[tuple[str, Any]], path: Path) -> dict[str, str]:
    """Family of each column, from the name that the engine has for its type."""
    out = {}
    for name, kind in types:
        text = str(kind).lower()
        family = next((key for key, pattern in _FAMILIES.items() if re.match(pattern, text)), None)
        if family is None:
            message = f"The column {name!r} of {path.name!r} has the type {kind}."
            raise ReadError(
                message, hint="leave it out, or make it a number, a date, text or true and false."
            )
        out[name] = family
    return out


class _ArrowTable:
    """A Parquet file through pyarrow."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        self.file = parquet.ParquetFile(path)
        fields = self.file.schema_arrow
        # A categorical column is what its values are.
        types = ((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in fields)
        self.families = _families(types, path)

    def exact(self, names: list[str]) -> set[str]:
        """Columns of whole numbers that int64 can hold: no cell missing, none too large."""
        import pyarrow.compute as compute

        good = set(names)
        for batch in self.file.iter_batches(columns=names) if names else ():
            for name in list(good):
                column = batch.column(name)
                largest = compute.max(column).as_py()
                if column.null_count or (largest is not None and largest >= 2**63):
                    good.discard(name)
        return good

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Frame]:
        for batch in self.file.iter_batches(batch_size=rows):
            yield {name: self._convert(batch.column(name), families[name]) for name in families}

    @staticmethod
    def _convert(column: Any, family: str) -> NDArray[Any]:
        import pyarrow as pa

        if family == "truth":
            return arff.objects(column.to_pylist())
        if family == "text":  # one object for each distinct text
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            words = arff.objects([*coded.dictionary.to_pylist(), None])
            codes = coded.indices.cast(pa.int64()).fill_null(len(words) - 1)
            return np.asarray(words[codes.to_numpy(zero_copy_only=False)])
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if family == "time":
            exact = pa.timestamp("us", getattr(column.type, "tz", None))
            micros = column.cast(exact, safe=False).cast(pa.int64())
            return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6)
        kind = pa.int64() if family == "whole" else pa.float64()
        return np.asarray(column.cast(kind, safe=False).to_numpy(zero_copy_only=False))


class _PolarsTable:
    """A Parquet file through Polars."""

    def __init__(self, path: Path) -> None:
        import polars

        self.polars = polars
        self.lazy = polars.scan_parquet(path, glob=False)
        self.families = _families(self.lazy.collect_schema().items(), path)

    def exact(self, names: list[str]) -> set[str]:
        col = self.polars.col
        if not names:
            return set()
        gaps = self.lazy.select(col(names).null_count()).collect().row(0)
        most = self.lazy.select(col(names).max()).collect().row(0)
        return {n for n, gap, top in zip(names, gaps, most, strict=True) if not gap and (top or 0) < 2**63}

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Frame]:
        height = self.lazy.select(self.polars.len()).collect().item()
        for start in range(0, height, rows):
            block = self.lazy.slice(start, rows).collect()
            yield {name: self._convert(block.get_column(name), families[name]) for name in families}

    def _convert(self, column: Any, family: str) -> NDArray[Any]:
        pl = self.polars
        if family in ("truth", "text"):
            return arff.objects((column if family == "truth" else column.cast(pl.String)).to_list())
        if family == "time":
            column = column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column
            return np.asarray(column.dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6)
        return np.array(column.cast(pl.Int64 if family == "whole" else pl.Float64).to_numpy())


class _DuckTable:
    """A Parquet file through DuckDB."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self.run: Any = duckdb.connect().execute
        self.source = "from read_parquet('" + str(path).replace("'", "''") + "')"
        types = self.run(f"describe select * {self.source}").fetchall()
        self.families = _families(((row[0], row[1]) for row in types), path)

    def exact(self, names: list[str]) -> set[str]:
        test = "count(*) = count({0}) and coalesce(max({0}), 0) < 9223372036854775808"
        checks = ", ".join(test.format(_sql(name)) for name in names)
        found = self.run(f"select {checks} {self.source}").fetchall()[0] if names else ()
        return {name for name, good in zip(names, found, strict=True) if good}

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Frame]:
        types = {"whole": "bigint", "number": "double", "truth": "boolean", "text": "varchar"}
        seconds = "epoch_us({})::double / 1e6"
        cells = (
            seconds.format(_sql(n)) if f == "time" else f"{_sql(n)}::{types[f]}" for n, f in families.items()
        )
        answer = self.run(f"select {', '.join(cells)} {self.source}")
        while block := answer.fetchmany(rows):
            columns = zip(families.items(), zip(*block, strict=True), strict=True)
            yield {name: self._convert(cells, family) for (name, family), cells in columns}

    @staticmethod
    def _convert(cells: Sequence[Any], family: str) -> NDArray[Any]:
        if family in ("truth", "text"):
            return arff.objects(list(cells))
        return np.array(cells, dtype=np.int64 if family == "whole" else np.float64)


def _sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _parquet_table(path: Path) -> _ArrowTable | _PolarsTable | _DuckTable:
    """The file through the first engine that is installed."""
    for engine in (_ArrowTable, _PolarsTable, _DuckTable):
        try:
            return engine(path)
        except ImportError:
            continue
    raise ReadError(
        f"{path.name!r} is a Parquet file, and neither pyarrow, Polars nor DuckDB is installed.",
        hint="pip install 'countwise[data]'",
    )


def _parquet_frames(paths: list[Path], rows: int, options: _Options) -> Iterator[Frame]:
    path = paths[0]  # the file at work, for the message
    try:
        tables = [_parquet_table(path := each) for each in paths]
        own = list(tables[0].families)
        names = _named(own, options, paths[0])
        families = _joined_families(tables, paths)
        yield {name: np.empty(0) for name in names}
        for each, table in zip(paths, tables, strict=True):
            path = each
            for piece in table.pieces(rows, families):
                yield {name: piece[key] for name, key in zip(names, own, strict=True)}
    except ReadError:
        raise
    except Exception as error:  # the engines have no common ancestor for their errors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ReadError(
            f"{path.name!r} cannot be read as Parquet: {reason}", hint="is the file complete?"
        ) from None


def _joined_families(tables: Sequence[Any], paths: list[Path]) -> dict[str, str]:
    """Family of each column over all files: whole numbers stay whole only if they are so everywhere."""
    families = dict(tables[0].families)
    for path, table in zip(paths, tables, strict=True):
        _same_columns(list(families), list(table.families), (paths[0], path))
        for name, family in table.families.items():
            if {family, families[name]} == {"whole", "number"}:
                families[name] = "number"
            elif family != families[name]:
                message = f"{name!r} is {families[name]} in {paths[0].name!r} and {family} in {path.name!r}."
                raise ReadError(message, hint="give the column one type in all files.")
    for table in tables:
        whole = [name for name, family in families.items() if family == "whole"]
        families.update(dict.fromkeys(set(whole) - table.exact(whole), "number"))
    return families


def _parquet_hints(path: Path) -> dict[str, tuple[str, Any]]:
    """Categorical columns with their values, as pyarrow knows them; nothing without it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        return {}
    hints = {}
    try:
        with parquet.ParquetFile(path) as file:
            for field in file.schema_arrow:
                if pa.types.is_dictionary(field.type) and pa.types.is_string(field.type.value_type):
                    column = file.read(columns=[field.name]).column(0).unify_dictionaries()
                    values = tuple(column.chunk(0).dictionary.to_pylist()) if column.num_chunks else ()
                    hints[field.name] = ("ordinal" if field.type.ordered else "nominal", values)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(
            f"{path.name!r} cannot be read as Parquet: {error}", hint="is the file complete?"
        ) from None
    return hints
