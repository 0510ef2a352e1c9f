"""Sources: where rows come from. This is the only door to them.

`open_rows` takes whatever a user gives to `fit` and hands out pieces in memory;
most tables are one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from countwise.engines.relation import is_relation, refused
from countwise.sources.memory import Memory
from countwise.sources.pieces import in_pieces, is_chunked, joined_pieces, weighted

__all__ = ["Memory", "open_rows", "open_whole"]


def open_rows(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, numbers: bool = False
) -> Iterator[Memory]:
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
    numbers : bool, default=False
        Whether the target is a number, not a class.

    Yields
    ------
    Memory
    """
    if is_relation(X):
        raise refused(X)
    if is_chunked(X):
        yield from in_pieces(X, y, sample_weight, needs_target, numbers=numbers)
    else:
        yield weighted(X, y, sample_weight, needs_target, numbers=numbers)


def open_whole(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, numbers: bool = False
) -> Memory:
    """The rows of a table in one piece, for what must see them more than once.

    Parameters
    ----------
    X, y, sample_weight, needs_target
        As for `open_rows`.
    numbers : bool, default=False
        Whether the target is a number, not a class.

    Returns
    -------
    Memory
    """
    if is_relation(X):
        raise refused(X)
    if not is_chunked(X):
        return weighted(X, y, sample_weight, needs_target, numbers=numbers)
    return joined_pieces(list(in_pieces(X, y, sample_weight, needs_target, numbers=numbers)))
