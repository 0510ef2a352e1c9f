"""Pieces of a table put together, for what must see all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise.errors import TableError, listed
from countwise.frames import Coded, Column, Frame, is_sparse
from countwise.sources.memory import Memory

__all__ = ["joined_pieces"]


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
    plain = [_written(column) if isinstance(column, Coded) else column for column in columns]
    if len({column.dtype.kind in "OUS" for column in plain}) > 1:
        plain = [column.astype(object) for column in plain]
    return np.concatenate(plain)


def _written(column: Coded) -> Any:
    values = np.empty(len(column.categories) + 1, dtype=object)
    values[:-1] = list(column.categories)
    return values[column.codes]
