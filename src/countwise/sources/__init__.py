"""Sources: where rows come from. `open_parts` is the only fork on what the user gives to `fit`.

A part is a frame in memory, a piece of a file, or a relation that an engine holds. Each has a `frame` (of a relation
one without rows), the name of its target, and `count`, which fills the tallies that a model asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from countwise.data.frames import is_relation
from countwise.engines.gather import EnginePart
from countwise.engines.relation import Relation, refused
from countwise.sources.memory import Memory
from countwise.sources.pieces import in_pieces, is_chunked, joined_pieces, weighted

__all__ = ["EnginePart", "Memory", "in_one", "open_parts", "open_rows", "open_whole"]


def open_parts(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True
) -> Iterator[Memory | EnginePart]:
    """The parts of a table, wherever its rows are.

    The target and the weights are arrays or names of columns (the only way for pieces and relations). If no target is
    needed and none is given, all rows are of one class.
    """
    if is_relation(X):
        yield EnginePart.open(Relation.open(X, y, sample_weight), needs_target=needs_target)
    else:
        yield from open_rows(X, y, sample_weight, needs_target=needs_target)


def open_rows(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, numbers: bool = False
) -> Iterator[Memory]:
    """The rows of a table with their classes or `numbers`, in one piece or many; a relation is refused."""
    if is_relation(X):
        raise refused(X)
    if is_chunked(X):
        yield from in_pieces(X, y, sample_weight, needs_target, numbers=numbers)
    else:
        yield weighted(X, y, sample_weight, needs_target, numbers=numbers)


def in_one(parts: Iterator[Memory | EnginePart]) -> Iterator[Memory | EnginePart]:
    """The same rows in one part, for what must see them more than once; a relation stays what it is."""
    found = list(parts)
    if len(found) == 1:
        yield found[0]
    else:
        yield joined_pieces([piece for piece in found if isinstance(piece, Memory)])


def open_whole(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, numbers: bool = False
) -> Memory:
    """The rows of a table in one piece, for what must see them more than once."""
    pieces = list(open_rows(X, y, sample_weight, needs_target=needs_target, numbers=numbers))
    return joined_pieces(pieces) if is_chunked(X) else pieces[0]
