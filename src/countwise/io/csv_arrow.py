"""Large CSV files, parsed by pyarrow where the result is exactly that of the csv module.

`CsvColumn` determines the type of a column and converts its fields. Two properties make this fast:

* The type of a column depends on the set of its fields only, and each field is converted separately. `CsvColumn`
  therefore reads the distinct fields only.
* Fields that consist of digits, signs, points and exponents need not become Python objects: pyarrow and Python
  convert them to the same numbers.

Anything else in the text (a stray quotation mark, a row of another length, a lone carriage return, bytes that are not
UTF-8) raises `UnfitError`. The csv module then reads the file from the start and reports the line of an error.
"""

from __future__ import annotations

import codecs
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
_LONGEST = 16  # blocks that one row may fill before the csv module reads the file
_NUMBER_BYTES = b"0123456789+-.eE"


class UnfitError(ValueError):
    """Raised if the csv module must read the file."""


def suits(path: Path, separator: str, options: Options) -> bool:
    """Return whether to use pyarrow: it is installed, and the file is large, in UTF-8 and uses double quotes."""
    try:
        if path.stat().st_size < SMALLEST or options.quote != '"' or not separator.isascii():
            return False
        if options.encoding is not None and codecs.lookup(options.encoding).name != "utf-8":
            return False
        "".join(options.missing).encode()  # pyarrow needs these strings in UTF-8
        import pyarrow.compute
        import pyarrow.csv  # noqa: F401 - tests whether it is installed
    except (ImportError, LookupError, OSError, UnicodeError):
        return False
    return True


def blocks(path: Path, separator: str, width: int, header: bool) -> Iterator[list[Any]]:
    """Read some rows at a time, as one pyarrow array of strings for each column."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [str(i) for i in range(width)]  # the names in the file may not be unique
    marks = arrow.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=True)
    texts = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    quoted = re.compile(
        rb'(?<![^\r\n%b])"[^"]*+(?:""[^"]*+)*+"(?![^\r\n%b])' % ((re.escape(separator.encode()),) * 2)
    )
    try:
        for part in _parts(path):
            _check(part, quoted)
            # One block for the whole part: pyarrow must not split rows again.
            whole = arrow.ReadOptions(use_threads=False, block_size=len(part) + 1, column_names=names)
            table = arrow.read_csv(pa.BufferReader(part), whole, marks, texts)
            if header and table.num_rows:
                table, header = table.slice(1), False
            if table.num_rows:
                yield [column.combine_chunks() for column in table.columns]
    except (pa.ArrowException, ValueError, OSError, EOFError, zlib.error) as error:
        raise UnfitError(str(error)) from None


def _parts(path: Path) -> Iterator[bytes]:
    """Read the file in parts of complete rows."""
    with opened(path) as raw:
        buffer = raw.read(BLOCK).removeprefix(codecs.BOM_UTF8)
        while more := raw.read(BLOCK):
            end = _end_of_rows(buffer)
            if end:
                yield buffer[:end]
            buffer = buffer[end:] + more
            if len(buffer) > _LONGEST * BLOCK:
                raise UnfitError("a row is too long")
        if buffer:
            yield buffer


def _end_of_rows(text: bytes) -> int:
    """Return the end of the last complete row: a line end after an even number of quotation marks."""
    end = text.rfind(b"\n")
    odd = text.count(b'"', 0, max(end, 0)) % 2
    while odd:
        before = max(text.rfind(b"\n", 0, text.rfind(b'"', 0, end)), 0)
        odd ^= text.count(b'"', before, end) % 2
        end = before or -1
    return end + 1


def _check(part: bytes, quoted: re.Pattern[bytes]) -> None:
    """Raise an error for text that pyarrow and the csv module may parse differently."""
    if b"\0" in part or (b"\r" in part and part.count(b"\r") != part.count(b"\r\n")):
        raise UnfitError("a NUL byte or a lone carriage return")
    if part.startswith(codecs.BOM_UTF8):  # pyarrow drops it, but only the first one in a file is a byte order mark
        raise UnfitError("a byte order mark within the file")
    if not part.isascii():
        part.decode()
    # Quoted fields are removed from left to right, so that a remaining quotation mark is a stray one.
    if b'"' in part and b'"' in quoted.sub(b"", part):
        raise UnfitError("a stray quotation mark")


def look(column: CsvColumn, fields: Any) -> None:
    """Exclude the types that these fields contradict, like `CsvColumn.look`."""
    if column.number and _look_at_numbers(column, fields):
        return
    if column.given is not None or not column.checked:
        column.look(fields.to_pylist() if column.checked else [""] * len(fields))
        return
    found = fields.value_counts()
    column.look(found.field("values").to_pylist(), found.field("counts").to_pylist())


def _look_at_numbers(column: CsvColumn, fields: Any) -> bool:
    """Update the column if all fields are plain numbers or missing; else return False."""
    import pyarrow as pa
    from pyarrow import compute

    missing = _missing(column, fields)
    has_missing = compute.any(missing).as_py()
    present = fields.filter(compute.invert(missing)) if has_missing else fields
    integer, points = True, False
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
        points = b"." in text
        integer = not (points or b"e" in text or b"E" in text)
        if integer and int((ends - starts).max()) > 18:  # may not fit into 64 bits
            return False
        if integer:
            column.found_sizes(values)
    column.found_numbers(len(fields), len(present), integer=integer, points=points)
    return True


def _leading_zero(data: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> bool:
    """Return whether a number begins with a zero and another digit; `data` has two bytes after the last number."""
    first = data[starts]
    at = starts + ((first == ord("+")) | (first == ord("-")))
    zero = at[(data[at] == ord("0")) & (at + 1 < ends)]
    following = data[zero + 1]
    return bool(((following >= ord("0")) & (following <= ord("9"))).any())


def convert(column: CsvColumn, fields: Any) -> NDArray[Any]:
    """Convert fields to an array of the column's type, like `CsvColumn.convert`."""
    import pyarrow as pa
    from pyarrow import compute

    if column.number and column.has_values and not (column.n_odd or column.comma or column.exact):
        try:
            if column.integer and not column.has_missing:
                return np.asarray(fields.cast(pa.int64()).to_numpy())
            known = compute.if_else(_missing(column, fields), None, fields) if column.has_missing else fields
            return np.asarray(known.cast(pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            pass  # a plus sign, or spaces around a number
    coded = fields.dictionary_encode()
    return np.asarray(column.convert(coded.dictionary.to_pylist())[coded.indices.to_numpy()])


def _missing(column: CsvColumn, fields: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    return compute.is_in(fields, value_set=pa.array(sorted(column.missing), pa.string()))


def _offsets(fields: Any) -> NDArray[Any]:
    """Return the positions in the array's bytes at which the fields begin and the last one ends."""
    return np.frombuffer(fields.buffers()[1], np.int32)[fields.offset : fields.offset + len(fields) + 1]
