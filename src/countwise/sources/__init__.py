"""Sources: where rows come from. `open_parts` is the only fork on what the user gives to `fit`.

A part is a frame in memory, a piece of a file, or a relation that an engine holds. Each has a `frame` (of a relation
one without rows), the name of its target, and `count`, which fills the tallies that a model asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.data.frames import Coded, Column, Frame, frame_of, is_relation, is_sparse
from countwise.engines.gather import EnginePart
from countwise.engines.relation import Relation, refused
from countwise.errors import TableError, listed
from countwise.io.paths import is_paths
from countwise.sources.memory import Memory, memory

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
    yield found[0] if len(found) == 1 else joined_pieces([piece for piece in found if isinstance(piece, Memory)])


def open_whole(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, numbers: bool = False
) -> Memory:
    """The rows of a table in one piece, for what must see them more than once."""
    pieces = list(open_rows(X, y, sample_weight, needs_target=needs_target, numbers=numbers))
    return joined_pieces(pieces) if is_chunked(X) else pieces[0]


# -- rows in pieces: an iterator of frames, or files read piece by piece --------------------------


def is_chunked(X: Any) -> bool:
    """Whether a table comes in pieces: a path, a pattern, several of them, or an iterator."""
    return is_paths(X) or isinstance(X, Iterator)


def in_pieces(
    X: Any, y: Any, sample_weight: Any, needs_target: bool = True, *, numbers: bool = False
) -> Iterator[Memory]:
    """Each piece as rows in memory; the target is a column of every piece."""
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TableError(
            "Weights of a table that comes in pieces must be one of its columns.",
            hint="sample_weight='name of the column'.",
        )
    pieces = X
    if not isinstance(X, Iterator):
        from countwise.io.readers import read_pieces

        pieces = read_pieces(X)
    before = 0
    for piece in pieces:
        X_piece, y_piece = piece if isinstance(piece, tuple) else (piece, y)
        rows = weighted(X_piece, y_piece, sample_weight, needs_target, whole=False, numbers=numbers)
        if before:  # errors name the places of rows among all rows, and not in their piece
            places = np.arange(rows.n_rows) if rows.places is None else rows.places
            yield replace(rows, places=places + before)
        else:
            yield rows
        before += rows.n_given


def weighted(
    X: Any, y: Any, sample_weight: Any, needs_target: bool = True, *, whole: bool = True, numbers: bool = False
) -> Memory:
    """Rows in memory whose weights may be a column of the table."""
    if not isinstance(sample_weight, str):
        return memory(X, y, sample_weight, needs_target, whole=whole, numbers=numbers)
    frame = frame_of(X)
    if sample_weight not in frame.columns:
        raise TableError(f"The table has no column {sample_weight!r} for the weights.")
    weights, rest = frame.columns[sample_weight], frame.without(sample_weight)
    return memory(rest, y, weights, needs_target, whole=whole, numbers=numbers)


def joined_pieces(pieces: Sequence[Memory]) -> Memory:
    """One table of several pieces with the same columns."""
    kept = [piece for piece in pieces if piece.n_rows]
    if not kept:
        raise TableError("The table is empty: at least one row with a target is needed.")
    first = kept[0]
    for piece in kept[1:]:
        odd = set(first.frame.names) ^ set(piece.frame.names)
        if odd:
            raise TableError(f"The pieces do not have the same columns: {listed(sorted(odd))} only in some.")
    columns = {name: _stacked([piece.frame.columns[name] for piece in kept]) for name in first.frame.names}
    frame = Frame(columns, sum(piece.n_rows for piece in kept), first.frame.named)
    weights = None
    if any(piece.weights is not None for piece in kept):
        ones = [np.ones(p.n_rows, dtype=np.int64) if p.weights is None else p.weights for p in kept]
        weights = np.concatenate(ones)
    target, left_out = _stacked([piece.target for piece in kept]), sum(piece.left_out for piece in pieces)
    return Memory(frame, target, first.name, weights, left_out, first.label_type, known=first.known)


def _stacked(columns: Sequence[Column]) -> Any:
    if all(is_sparse(column) for column in columns):
        from scipy.sparse import vstack

        return vstack(columns, format="csr")
    plain = [column.objects() if isinstance(column, Coded) else column for column in columns]
    if len({column.dtype.kind in "OUS" for column in plain}) > 1:
        plain = [column.astype(object) for column in plain]
    return np.concatenate(plain)
