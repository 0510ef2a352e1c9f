"""Which files are meant, and which format each has."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from countwise.errors import ReadError, listed

__all__ = ["AnyPath", "checked", "format_of", "resolved"]

AnyPath = str | os.PathLike[str]
_FORMATS = {
    **dict.fromkeys((".csv", ".txt", ".data", ".dat"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".arff": "arff",
}


def resolved(paths: AnyPath | Iterable[AnyPath]) -> list[Path]:
    """The files meant by one path, a pattern, or several paths."""
    if not isinstance(paths, str | os.PathLike):
        several = [checked(Path(path)) for path in paths]
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
    return [checked(Path(text))]


def checked(path: Path) -> Path:
    """The path itself, if there is a file."""
    if path.is_dir():
        raise ReadError(f"{str(path)!r} is a folder.", hint="name a file, or read_pieces('folder/*.csv').")
    if not path.exists():
        raise ReadError(f"There is no file {str(path)!r}.", hint="check the spelling and the working folder.")
    return path


def format_of(path: Path) -> str:
    """The format that the ending says: csv, tsv, parquet or arff."""
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    kind = _FORMATS.get(ending.lower())
    if kind is None:
        raise ReadError(f"{path.name!r} has no known ending.", hint=f"known are {listed(_FORMATS)}, also with '.gz'.")
    return kind
