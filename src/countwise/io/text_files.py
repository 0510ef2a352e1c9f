"""Files of text: unpacked, decoded and cut into lines."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from countwise.errors import ReadError

__all__ = ["lines", "opened"]

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FOREIGN = {
    b"PAR1": "a Parquet file: give it the ending .parquet.",
    b"PK\x03\x04": "a zip or Excel file: save the sheet as CSV.",
    b"SQLite format 3": "an SQLite database: export the table as CSV or Parquet.",
}


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if they are gzip's, whatever the ending says."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    return cast("BinaryIO", gzip.open(path, "rb")) if packed else path.open("rb")


def lines(path: Path, encoding: str | None) -> Iterator[str]:
    """Decoded lines with their ends; everything that can go wrong with bytes becomes a ReadError here."""
    coding = encoding or "utf-8"
    try:
        with opened(path) as raw:
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
    with opened(path) as raw:
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
                    return ReadError(f"{path.name!r} is not {coding} text: {where} cannot be decoded.", hint=hint)
                at += 1
    return ReadError(f"{path.name!r} is not {coding} text: it ends within a character, at byte {at}.", hint=hint)
