"""Rows in pieces: an iterator of frames, or files read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.errors import TableError
from countwise.sources.memory import Memory, memory
from countwise.sources.paths import is_paths

__all__ = ["in_pieces", "is_chunked"]


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
        from countwise.sources.readers import read_pieces

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
    from countwise.frames import frame_of

    frame = frame_of(X)
    if sample_weight not in frame.columns:
        raise TableError(f"The table has no column {sample_weight!r} for the weights.")
    weights, rest = frame.columns[sample_weight], frame.without(sample_weight)
    return memory(rest, y, weights, needs_target, whole=whole, numbers=numbers)
