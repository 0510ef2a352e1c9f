"""Which files are meant, and which format each has."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from countwise.errors import ReadError, did_you_mean, listed, warn

__all__ = ["AnyPath", "format_of", "is_paths", "resolved", "told_apart"]

AnyPath = str | os.PathLike[str]
_FORMATS = {
    **dict.fromkeys((".csv", ".txt", ".data", ".dat"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".arff": "arff",
}


def is_paths(X: Any) -> bool:
    """Whether a table is named by a path, a pattern, or a list of them.

    A list of texts could also be documents, so that it is one of paths only if each has the ending of a table.
    """
    if isinstance(X, list | tuple):
        return bool(X) and all(
            isinstance(part, os.PathLike) or (isinstance(part, str) and _kind(Path(part)) is not None) for part in X
        )
    return isinstance(X, str | os.PathLike)


def resolved(paths: AnyPath | Iterable[AnyPath]) -> list[Path]:
    """The files meant by a path, a pattern, a folder of Parquet files, or several of these.

    Files of a pattern or a folder come in the order of their names; several come as they were given.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ReadError("No file was given.", hint="give at least one path.")
    found = [file for path in given for file in _files(os.fspath(path))]
    twice = next((file for file, times in Counter(map(os.path.realpath, found)).items() if times > 1), None)
    if twice is not None:
        raise ReadError(f"{Path(twice).name!r} is given twice.", hint="its rows would count twice.")
    _note_partitions(found)
    return found


def _files(text: str) -> list[Path]:
    path = Path(text)
    # A file may really be called "a[1].csv", so a pattern is only a pattern if no such file exists.
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
            raise ReadError(f"{text!r} is a folder without Parquet files.", hint=_instead(path))
        return found
    if not path.exists():
        raise ReadError(f"There is no file {text!r}.", hint=_nearest(path))
    return [path]


def _is_written_folder(path: Path) -> bool:
    """Whether a folder is itself called a table, as engines write them: ``rows.parquet/part-0.parquet``."""
    return path.is_dir() and _kind(path) == "parquet"


def _inside(folder: Path) -> list[Path]:
    """The Parquet files of a folder and of those in it; what begins with ``_`` or ``.`` is an engine's own."""
    found = []
    for file in folder.rglob("*"):
        own = any(part[0] in "_." for part in file.relative_to(folder).parts)
        if not own and _kind(file) == "parquet" and file.is_file():
            found.append(file)
    return sorted(found, key=str)


def _instead(folder: Path) -> str:
    """A pattern for the tables that a folder does hold."""
    endings = Counter(file.suffix for file in folder.iterdir() if file.is_file() and _kind(file) is not None)
    if not endings:
        return "name a file, or a pattern such as 'folder/*.csv'."
    return f"did you mean {str(folder / ('*' + endings.most_common(1)[0][0]))!r}?"


def _nearest(path: Path) -> str:
    """What is there under a name like the one that is not."""
    folder = path.parent
    if glob.has_magic(str(folder)):
        return "check the folder and the ending."
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}."
    names = [entry.name for entry in folder.iterdir()]
    if glob.has_magic(path.name):
        endings = {os.path.splitext(name)[1] for name in names} & set(_FORMATS)
        names = sorted({os.path.splitext(path.name)[0] + ending for ending in endings})
        names = [name for name in names if name != path.name and any(folder.glob(name))]
    return did_you_mean(path.name, names) or "check the spelling and the working folder."


def _note_partitions(files: list[Path]) -> None:
    """Folders such as ``year=2024`` may stand for a column; it is not read, and that is said."""
    if len(files) < 2:
        return
    shared = Path(os.path.commonpath([file.parent for file in map(Path.absolute, files)]))
    below = {part for file in files for part in file.absolute().relative_to(shared).parts[:-1] if "=" in part}
    names = sorted({part.partition("=")[0] for part in below})
    if names:
        warn(f"Names of folders are not read as columns: {listed(f'{name}=…' for name in names)}.")


def told_apart(path: Path, other: Path) -> tuple[str, str]:
    """Two files by name, or by their whole paths if they are called the same."""
    return (path.name, other.name) if path.name != other.name else (str(path), str(other))


def _kind(path: Path) -> str | None:
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    return _FORMATS.get(ending.lower())


def format_of(path: Path) -> str:
    """The format that the ending says: csv, tsv, parquet or arff."""
    kind = _kind(path)
    if kind is None:
        raise ReadError(f"{path.name!r} has no known ending.", hint=f"known are {listed(_FORMATS)}, also with '.gz'.")
    return kind
