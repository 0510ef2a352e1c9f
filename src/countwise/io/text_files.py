"""Text files: decompressed, decoded and split into lines."""

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
    b"PAR1": ("a Parquet file", "rename it so that it ends with .parquet."),
    b"PK\x03\x04": ("a zip or Excel file", "save the sheet as CSV."),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV or Parquet."),
}


def opened(path: Path) -> BinaryIO:
    """Open a file for reading bytes; a gzip file is decompressed, whatever its extension is."""
    with path.open("rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
    return cast("BinaryIO", gzip.open(path, "rb")) if compressed else path.open("rb")


def lines(path: Path, encoding: str | None) -> Iterator[str]:
    """Read decoded lines with their line ends; failures of reading or decoding raise a ReadError."""
    coding = encoding or "utf-8"
    try:
        with opened(path) as raw:
            start = cast("io.BufferedReader", raw).peek(16)
            foreign = next((known for mark, known in _FOREIGN.items() if start.startswith(mark)), None)
            if foreign:
                raise ReadError(f"{path.name!r} is not a text file, but {foreign[0]}.", hint=foreign[1])
            if encoding is None:
                coding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), coding)
            with io.TextIOWrapper(raw, encoding=coding, newline="") as text:
                for number, line in enumerate(text, 1):
                    if "\0" in line:
                        raise ReadError(
                            f"Line {number} of {path.name!r} contains a NUL byte, so the file is not {coding} text.",
                            hint="pass encoding='utf-16-le' if the file is UTF-16 without a byte order mark.",
                        )
                    yield line if number > 1 else line.removeprefix("\ufeff")
    except UnicodeError:
        raise _undecodable(path, coding) from None
    except LookupError:
        raise ReadError(
            f"The encoding {encoding!r} is unknown.", hint="use, for example, 'utf-8', 'latin-1' or 'cp1252'."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path.name!r} cannot be read: {error}.",
            hint="check that the file is complete and that you have permission to read it.",
        ) from None


def _undecodable(path: Path, coding: str) -> ReadError:
    """Return the error for the first byte that cannot be decoded, found by decoding the file again."""
    decoder = codecs.getincrementaldecoder(coding)()
    line, at = 1, 0
    hint = "pass the encoding of the file, for example encoding='latin-1' or encoding='cp1252'."
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
                except UnicodeError as error:
                    if isinstance(error, UnicodeDecodeError):  # the invalid byte may be one that was read before
                        at -= len(error.object) - 1 - error.start
                        byte = error.object[error.start]
                    where = f"byte {at} (0x{byte:02x}) in line {line}"
                    return ReadError(f"{path.name!r} is not {coding} text: {where} cannot be decoded.", hint=hint)
                at += 1
    return ReadError(
        f"{path.name!r} is not {coding} text: the file ends in the middle of a character, at byte {at}.", hint=hint
    )
