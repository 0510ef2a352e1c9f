"""Paths, patterns and folders: the files they match and the formats of the files."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from countwise.errors import OptionError, ReadError, did_you_mean, listed, warn

__all__ = ["AnyPath", "distinct_names", "format_of", "is_paths", "path_of", "resolved"]

AnyPath = str | os.PathLike[str]
_FORMATS = {
    **dict.fromkeys((".csv", ".txt", ".data", ".dat"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".arff": "arff",
}


def is_paths(X: Any) -> bool:
    """Return whether X is a path, a pattern or a list of them.

    A list of strings may also be a list of documents. It is a list of paths only if each has a known extension.
    """
    if isinstance(X, list | tuple):
        return bool(X) and all(
            isinstance(part, os.PathLike) or (isinstance(part, str) and _format(Path(part)) is not None) for part in X
        )
    return isinstance(X, str | os.PathLike)


def resolved(paths: AnyPath | Iterable[AnyPath]) -> list[Path]:
    """Return the files of a path, a pattern, a folder of Parquet files, or several of these.

    The files of a pattern or a folder are sorted by name; several paths keep their order.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not given:
        raise ReadError("The list of paths is empty.", hint="pass at least one path.")
    for path in given:
        if not isinstance(path, str | os.PathLike):
            raise ReadError(f"A path must be a string or a Path, not {path!r}.")
    try:
        found = [file for path in given for file in _files(os.fspath(path))]
    except OSError as error:  # a name that is too long, for example
        raise ReadError(f"The file cannot be read: {error.strerror}.", hint="check the path.") from None
    duplicate = next((file for file, times in Counter(map(os.path.realpath, found)).items() if times > 1), None)
    if duplicate is not None:
        raise ReadError(
            f"The file {Path(duplicate).name!r} is given twice, so that its rows would be counted twice.",
            hint="pass each file once.",
        )
    _warn_of_partitions(found)
    return found


def _files(text: str) -> list[Path]:
    path = Path(text)
    # A file may be named "a[1].csv", so the text is a pattern only if no such file exists.
    if not path.exists() and glob.has_magic(text):
        hits = [Path(name) for name in sorted(glob.glob(text, recursive=True))]
        found = [file for hit in hits for file in (_inside(hit) if _is_written_folder(hit) else [hit])]
        found = list(dict.fromkeys(file for file in found if file.is_file()))
        if not found:
            raise ReadError(f"No file matches {text!r}.", hint=_nearest(path))
        return found
    if path.is_dir():
        found = _inside(path)
        if not found:
            raise ReadError(f"{text!r} is a folder that contains no Parquet files.", hint=_instead(path))
        return found
    if not path.exists():
        raise ReadError(f"The file {text!r} does not exist.", hint=_nearest(path))
    return [path]


def _is_written_folder(path: Path) -> bool:
    """Return whether a folder is a table written by an engine, such as ``rows.parquet/part-0.parquet``."""
    return path.is_dir() and _format(path) == "parquet"


def _inside(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and its subfolders; names that begin with ``_`` or ``.`` are metadata."""
    found = []
    for file in folder.rglob("*"):
        metadata = any(part[0] in "_." for part in file.relative_to(folder).parts)
        if not metadata and _format(file) == "parquet" and file.is_file():
            found.append(file)
    return sorted(found, key=str)


def _instead(folder: Path) -> str:
    """Suggest a pattern for the tables in a folder."""
    endings = Counter(file.suffix for file in folder.iterdir() if file.is_file() and _format(file) is not None)
    if not endings:
        return "pass a file, or a pattern such as 'folder/*.csv'."
    return f"did you mean {str(folder / ('*' + endings.most_common(1)[0][0]))!r}?"


def _nearest(path: Path) -> str:
    """Suggest an existing file with a similar name."""
    folder = path.parent
    if glob.has_magic(str(folder)):
        return "check the folder and the extension."
    if not folder.is_dir():
        return f"check the folder: {str(folder)!r} does not exist."
    names = [entry.name for entry in folder.iterdir()]
    if glob.has_magic(path.name):
        endings = {os.path.splitext(name)[1] for name in names} & set(_FORMATS)
        names = sorted({os.path.splitext(path.name)[0] + ending for ending in endings})
        names = [name for name in names if name != path.name and any(folder.glob(name))]
    return did_you_mean(path.name, names) or "check the spelling and the working directory."


def _warn_of_partitions(files: list[Path]) -> None:
    """Warn that folders such as ``year=2024`` do not become columns."""
    if len(files) < 2:
        return
    shared = Path(os.path.commonpath([file.parent for file in map(Path.absolute, files)]))
    below = {part for file in files for part in file.absolute().relative_to(shared).parts[:-1] if "=" in part}
    names = sorted({part.partition("=")[0] for part in below})
    if names:
        warn(f"Partition folders do not become columns: {listed(f'{name}=…' for name in names)}.")


def distinct_names(path: Path, other: Path) -> tuple[str, str]:
    """Return the names of two files, or their paths if the names are equal."""
    return (path.name, other.name) if path.name != other.name else (str(path), str(other))


def _format(path: Path) -> str | None:
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    return _FORMATS.get(ending.lower())


def format_of(path: Path) -> str:
    """Return the format that the extension implies: csv, tsv, parquet or arff."""
    name = _format(path)
    if name is None:
        raise ReadError(
            f"The format of {path.name!r} is unknown: its extension must be one of {listed(_FORMATS, 99)}, "
            "optionally followed by '.gz'.",
            hint="rename the file, or convert it to CSV or Parquet.",
        )
    return name


def path_of(path: Any) -> Path:
    """Return the path of a file; raise an OptionError for anything else."""
    try:
        return Path(path)
    except TypeError:
        raise OptionError(f"path must be the path of a file, not {path!r}.") from None
