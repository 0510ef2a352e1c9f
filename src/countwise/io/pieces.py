"""Pieces of a table as plain dicts of arrays: made, joined, cut and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError, did_you_mean, listed
from countwise.io.paths import told_apart

__all__ = ["Columns", "Options", "named", "objects", "regrouped", "same_columns"]


Columns: TypeAlias = dict[str, NDArray[Any]]


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """An object array that holds the values as they are; ``numpy.array`` would try to make sense of them.

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
    """Join small pieces, the first of which may be empty, into pieces of so many rows."""
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


def _length(piece: Columns) -> int:
    return len(next(iter(piece.values())))


def _joined(pieces: list[Columns]) -> Columns:
    """The pieces below each other; empty ones do not decide about types."""
    filled = [piece for piece in pieces if _length(piece)] or pieces[:1]
    return {name: np.concatenate([piece[name] for piece in filled]) for name in filled[0]}


def same_columns(first: Sequence[str], names: Sequence[str], paths: tuple[Path, Path]) -> None:
    """Refuse a file that has not the columns of the first; their order may differ."""
    lost = [name for name in first if name not in names]
    more = [name for name in names if name not in first]
    if lost or more:
        one, other = told_apart(*paths)
        what = f"lacks {listed(lost)}, which {one!r} has" if lost else f"has {listed(more)}, which {one!r} has not"
        raise ReadError(
            f"The columns differ: {other!r} {what}.",
            hint=(did_you_mean(lost[0], more) if lost else None) or "read files with different columns apart.",
        )


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `countwise.io.readers.read` that say how a file is written."""

    header: bool = True
    separator: str | None = None
    quote: str | None = '"'
    names: Sequence[str] | None = None
    missing: frozenset[str] = frozenset()
    encoding: str | None = None
    weight_column: str = "weight"


def named(own: Sequence[str], options: Options, path: Path) -> list[str]:
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
