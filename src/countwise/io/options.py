"""What the caller asks of a reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countwise.errors import ReadError

__all__ = ["Options", "named"]


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `countwise.sources.readers.read` that say how a file is written."""

    header: bool
    separator: str | None
    quote: str | None
    names: Sequence[str] | None
    missing: frozenset[str]
    encoding: str | None
    weight_column: str


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
