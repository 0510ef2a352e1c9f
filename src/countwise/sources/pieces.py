"""Rows in pieces: an iterator of frames, or files read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.data.frames import Coded, Column, Frame, is_sparse
from countwise.errors import TableError, listed
from countwise.io.paths import is_paths
from countwise.sources.memory import Memory, memory

__all__ = ["in_pieces", "is_chunked", "joined_pieces"]


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
        yield _counted_from(rows, before) if before else rows
        before += rows.n_given


def _counted_from(rows: Memory, before: int) -> Memory:
    """Rows that are told of by their places among all rows, and not in their piece."""
    places = np.arange(rows.frame.n_rows) if rows.places is None else rows.places
    return replace(rows, places=places + before)


def weighted(
    X: Any, y: Any, sample_weight: Any, needs_target: bool = True, *, whole: bool = True, numbers: bool = False
) -> Memory:
    """Rows in memory whose weights may be a column of the table."""
    if not isinstance(sample_weight, str):
        return memory(X, y, sample_weight, needs_target, whole=whole, numbers=numbers)
    from countwise.data.frames import frame_of

    frame = frame_of(X)
    if sample_weight not in frame.columns:
        raise TableError(f"The table has no column {sample_weight!r} for the weights.")
    weights, rest = frame.columns[sample_weight], frame.without(sample_weight)
    return memory(rest, y, weights, needs_target, whole=whole, numbers=numbers)


def joined_pieces(pieces: Sequence[Memory]) -> Memory:
    """One table of several pieces with the same columns."""
    kept = [piece for piece in pieces if piece.frame.n_rows]
    if not kept:
        raise TableError("The table is empty: at least one row with a target is needed.")
    first = kept[0]
    for piece in kept[1:]:
        odd = set(first.frame.names) ^ set(piece.frame.names)
        if odd:
            raise TableError(f"The pieces do not have the same columns: {listed(sorted(odd))} only in some.")
    columns = {name: _stacked([piece.frame.columns[name] for piece in kept]) for name in first.frame.names}
    n_rows = sum(piece.frame.n_rows for piece in kept)
    weights = None
    if any(piece.weights is not None for piece in kept):
        ones = [np.ones(p.frame.n_rows, dtype=np.int64) if p.weights is None else p.weights for p in kept]
        weights = np.concatenate(ones)
    return Memory(
        Frame(columns, n_rows, first.frame.named),
        _stacked([piece.target for piece in kept]),
        first.name,
        weights,
        sum(piece.left_out for piece in pieces),
        first.label_type,
        known=first.known,
    )


def _stacked(columns: Sequence[Column]) -> Any:
    if all(is_sparse(column) for column in columns):
        from scipy.sparse import vstack

        return vstack(columns, format="csr")
    plain = [column.objects() if isinstance(column, Coded) else column for column in columns]
    if len({column.dtype.kind in "OUS" for column in plain}) > 1:
        plain = [column.astype(object) for column in plain]
    return np.concatenate(plain)
