"""Sources: where rows come from. This is the only door to them.

`open_rows` takes whatever a user gives to `fit` and hands out pieces in memory;
most tables are one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from countwise.sources.chunks import in_pieces, is_chunked, weighted
from countwise.sources.memory import Memory

__all__ = ["Memory", "open_rows"]


def open_rows(X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True) -> Iterator[Memory]:
    """The rows of a table with their targets, in one piece or many.

    Parameters
    ----------
    X : any table, path, or iterator of frames
        What to read.
    y : array or str
        The target, or the name of its column (the only way for pieces).
    sample_weight : array or str, optional
        A weight for each row, or the name of their column.
    needs_target : bool, default=True
        Whether y must be given; if it need not and is not, all rows are of one class.

    Yields
    ------
    Memory
    """
    if is_chunked(X):
        yield from in_pieces(X, y, sample_weight, needs_target)
    else:
        yield weighted(X, y, sample_weight, needs_target)
