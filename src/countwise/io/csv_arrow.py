"""Large CSV files cut into cells by pyarrow, wherever that gives exactly what the csv module gives.

What a column is and what its cells mean stays with `CsvColumn`. Two facts make this quick:

* `CsvColumn` judges a column by the set of its cells and converts each cell by itself, so that it is enough
  to show it the distinct ones;
* of a column of plain decimal numbers even these need not become Python objects: what pyarrow takes for a
  number, out of nothing but digits, signs, points and exponents, Python takes for the same number.

Anything else in the text (a stray quotation mark, a ragged row, a lone carriage return, bytes that are not
UTF-8) is `UnfitError`: the csv module then reads the file from the start, and names the line if it is wrong.
"""

from __future__ import annotations

import codecs
import csv
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.io.csv_types import CsvColumn
from countwise.io.pieces import Options
from countwise.io.text_files import opened

__all__ = ["UnfitError", "blocks", "convert", "look", "suits"]

SMALLEST = 1 << 22  # bytes of a file below which importing pyarrow takes longer than it saves
BLOCK = 1 << 22  # bytes of text at a time
_LONGEST = 16  # blocks that one row may fill before the csv module has to see to it
_NUMBER_BYTES = b"0123456789+-.eE"


class UnfitError(ValueError):
    """The csv module has to read this file."""


def suits(path: Path, separator: str, options: Options) -> bool:
    """Whether to try pyarrow: it is installed, and the file is large, UTF-8 and quoted as usual."""
    try:
        if path.stat().st_size < SMALLEST or options.quote != '"' or not separator.isascii():
            return False
        if options.encoding is not None and codecs.lookup(options.encoding).name != "utf-8":
            return False
        "".join(options.missing).encode()  # pyarrow looks for these words, so they must be text to it
        import pyarrow.compute
        import pyarrow.csv  # noqa: F401 - whether it is there is the question
    except (ImportError, LookupError, OSError, UnicodeError):
        return False
    return True


def blocks(path: Path, separator: str, width: int, header: bool) -> Iterator[list[Any]]:
    """The cells of some rows at a time, as one pyarrow array of strings for each column."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [str(i) for i in range(width)]  # the real ones may be anything
    marks = arrow.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=True)
    texts = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    cell = re.compile(rb'(?<![^\r\n%b])"[^"]*+(?:""[^"]*+)*+"(?![^\r\n%b])' % ((re.escape(separator.encode()),) * 2))
    try:
        for part in _parts(path):
            _check(part, cell)
            # One block for the whole part, so that rows are cut apart here only, and not by pyarrow again.
            whole = arrow.ReadOptions(use_threads=False, block_size=len(part) + 1, column_names=names)
            table = arrow.read_csv(pa.BufferReader(part), whole, marks, texts)
            if header and table.num_rows:
                table, header = table.slice(1), False
            if table.num_rows:
                cells = [column.combine_chunks() for column in table.columns]
                if max(int(np.diff(_offsets(each)).max()) for each in cells) > csv.field_size_limit():
                    raise UnfitError("a cell that the csv module refuses")
                yield cells
    except (pa.ArrowException, ValueError, OSError, EOFError, zlib.error) as error:
        raise UnfitError(str(error)) from None


def _parts(path: Path) -> Iterator[bytes]:
    """The bytes of whole rows."""
    with opened(path) as raw:
        held = raw.read(BLOCK).removeprefix(codecs.BOM_UTF8)
        while more := raw.read(BLOCK):
            end = _end_of_rows(held)
            if end:
                yield held[:end]
            held = held[end:] + more
            if len(held) > _LONGEST * BLOCK:
                raise UnfitError("a row without an end")
        if held:
            yield held


def _end_of_rows(text: bytes) -> int:
    """Where the last row ends: at a line's end that has an even number of quotation marks before it."""
    end = text.rfind(b"\n")
    odd = text.count(b'"', 0, max(end, 0)) % 2
    while odd:
        before = max(text.rfind(b"\n", 0, text.rfind(b'"', 0, end)), 0)
        odd ^= text.count(b'"', before, end) % 2
        end = before or -1
    return end + 1


def _check(part: bytes, cell: re.Pattern[bytes]) -> None:
    """Refuse text on which pyarrow and the csv module might differ."""
    if b"\0" in part or (b"\r" in part and part.count(b"\r") != part.count(b"\r\n")):
        raise UnfitError("a NUL byte or a lone carriage return")
    if part.startswith(codecs.BOM_UTF8):  # pyarrow drops it, but only the first one of a file is a mark
        raise UnfitError("a byte order mark within the file")
    if not part.isascii():
        part.decode()
    # Taken from the left, quoted cells are found where they begin, so that a mark left over is a stray one.
    if b'"' in part and b'"' in cell.sub(b"", part):
        raise UnfitError("a stray quotation mark")


def look(column: CsvColumn, cells: Any) -> None:
    """Rule out what these cells contradict, as `CsvColumn.look` does."""
    if column.number and _look_at_numbers(column, cells):
        return
    if column.number or column.truth:
        column.look(cells.unique().to_pylist())


def _look_at_numbers(column: CsvColumn, cells: Any) -> bool:
    """Do so if all cells are plain numbers or missing; False if the answer needs a closer look."""
    import pyarrow as pa
    from pyarrow import compute

    gaps = _gaps(column, cells)
    some = compute.any(gaps).as_py()
    present = cells.filter(compute.invert(gaps)) if some else cells
    whole = True
    if len(present):
        offsets = _offsets(present)
        starts, ends = offsets[:-1], offsets[1:]
        data = present.buffers()[2]
        raw = b"" if data is None else data.slice(0, int(ends[-1])).to_pybytes()
        text = raw[starts[0] :]
        if text.translate(None, _NUMBER_BYTES) or int((ends - starts).min()) == 0:
            return False
        if _leading_zero(np.frombuffer(raw + b"  ", np.uint8), starts, ends):
            return False
        try:
            values = present.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            return False
        if not np.isfinite(values).all():
            return False
        whole = not (b"." in text or b"e" in text or b"E" in text)
        if whole and int((ends - starts).max()) > 18:  # may not fit into 64 bits
            return False
    column.found_numbers(bool(len(present)), whole=whole, gaps=some)
    return True


def _leading_zero(data: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> bool:
    """Whether a number begins with a zero and another digit; `data` goes on for two bytes after the last."""
    first = data[starts]
    at = starts + ((first == ord("+")) | (first == ord("-")))
    zero = at[(data[at] == ord("0")) & (at + 1 < ends)]
    following = data[zero + 1]
    return bool(((following >= ord("0")) & (following <= ord("9"))).any())


def convert(column: CsvColumn, cells: Any) -> NDArray[Any]:
    """The cells as an array of the column's type, as `CsvColumn.convert` gives it."""
    import pyarrow as pa
    from pyarrow import compute

    if column.number and column.filled:
        try:
            if column.whole and not column.gaps:
                return np.asarray(cells.cast(pa.int64()).to_numpy())
            known = compute.if_else(_gaps(column, cells), None, cells) if column.gaps else cells
            return np.asarray(known.cast(pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            pass  # a plus sign, or spaces around a number
    coded = cells.dictionary_encode()
    return np.asarray(column.convert(coded.dictionary.to_pylist())[coded.indices.to_numpy()])


def _gaps(column: CsvColumn, cells: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    return compute.is_in(cells, value_set=pa.array(sorted(column.missing), pa.string()))


def _offsets(cells: Any) -> NDArray[Any]:
    """Where the cells begin in the array's bytes, and where the last one ends."""
    return np.frombuffer(cells.buffers()[1], np.int32)[cells.offset : cells.offset + len(cells) + 1]
