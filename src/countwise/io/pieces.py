"""Chunks of a table: dicts of arrays that the readers build, join and split."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError, did_you_mean, listed
from countwise.io.paths import distinct_names

__all__ = ["Columns", "Options", "first_duplicate", "named", "objects", "regrouped", "same_columns"]


Columns: TypeAlias = dict[str, NDArray[Any]]


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an object array of the values; unlike ``numpy.array``, it never converts them.

    Examples
    --------
    >>> from countwise.io.pieces import objects
    >>> objects(["a", None])
    array(['a', None], dtype=object)
    """
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def regrouped(blocks: Iterator[Columns], rows: int) -> Iterator[Columns]:
    """Join small chunks, the first of which may be empty, to chunks of `rows` rows."""
    buffer = [next(blocks)]
    count = _length(buffer[0])
    any_chunk = False
    for block in blocks:
        buffer.append(block)
        count += _length(block)
        while count >= rows:
            joined = _joined(buffer)
            yield {name: column[:rows] for name, column in joined.items()}
            buffer, any_chunk = [{name: column[rows:] for name, column in joined.items()}], True
            count -= rows
    if count or not any_chunk:
        yield _joined(buffer)


def _length(chunk: Columns) -> int:
    return len(next(iter(chunk.values())))


def _joined(chunks: list[Columns]) -> Columns:
    """Concatenate chunks; empty ones do not affect the dtypes."""
    nonempty = [chunk for chunk in chunks if _length(chunk)] or chunks[:1]
    return {name: np.concatenate([chunk[name] for chunk in nonempty]) for name in nonempty[0]}


def first_duplicate(values: Sequence[str]) -> str | None:
    """Return the first value that occurs a second time, or None."""
    if len(set(values)) == len(values):
        return None
    seen: set[str] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]


def same_columns(first: Sequence[str], names: Sequence[str], paths: tuple[Path, Path]) -> None:
    """Raise an error if a file has other columns than the first file; their order may differ."""
    in_first, in_other = set(first), set(names)
    absent = [name for name in first if name not in in_other]
    extra = [name for name in names if name not in in_first]
    if absent or extra:
        one, other = distinct_names(*paths)
        has, has_not = (one, other) if absent else (other, one)
        columns = listed(absent or extra)
        raise ReadError(
            f"The files have different columns: {has!r} has {columns}, but {has_not!r} does not.",
            hint=(did_you_mean(absent[0], extra) if absent else None)
            or "read files with different columns separately.",
        )


@dataclass(frozen=True, slots=True)
class Options:
    """Arguments of `countwise.io.readers.read` that describe the format of a file."""

    header: bool = True
    separator: str | None = None
    quote: str | None = '"'
    names: Sequence[str] | None = None
    missing: frozenset[str] = frozenset()
    encoding: str | None = None
    weight_column: str = "weight"
    types: Mapping[str, str] = field(default_factory=dict)  # of some columns of a CSV file, in FIELD_TYPES
    needed: Collection[str] | None = None  # other columns are omitted if their type is not supported

    def __post_init__(self) -> None:
        for name in ("encoding", "weight_column"):
            if not isinstance(getattr(self, name), str | None):
                raise ReadError(f"{name} must be a string, not {getattr(self, name)!r}.")


def named(own: Sequence[str], options: Options, path: Path) -> list[str]:
    """Return the column names, from the option `names` or the file; their number and uniqueness are checked."""
    names = list(own if options.names is None else options.names)
    if len(names) != len(own):
        raise ReadError(
            f"The length of names is {len(names)}, but {path.name!r} has {len(own)} column{'s' * (len(own) != 1)}.",
            hint="pass one name for each column.",
        )
    duplicate = first_duplicate(names)
    if duplicate is not None:
        first, second = [i + 1 for i, name in enumerate(names) if name == duplicate][:2]
        raise ReadError(
            f"The column name {duplicate!r} occurs twice in {path.name!r} (columns {first} and {second}).",
            hint="rename one of the columns, or pass names=[...].",
        )
    return names
