"""Sources of rows: tables in memory, files read in chunks, and engine tables.

`open_parts` splits the argument X of `fit` into parts. A part is a table in memory, a chunk of a file, or an engine
table. Each part has a `frame` (without rows for an engine table), the name of its target, and `count`, which fills
the tallies that a model requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.data.frames import Coded, Column, Frame, frame_of, is_relation, is_sparse
from countwise.engines.gather import EnginePart
from countwise.engines.relation import Relation, refused
from countwise.errors import TableError, listed, warn
from countwise.io.paths import is_paths
from countwise.sources.memory import Memory, column_of, memory

FieldTypes = Mapping[str, str] | None  # types as which the columns of a CSV file are read

__all__ = ["EnginePart", "Memory", "in_one", "open_parts", "open_rows", "open_whole"]


def open_parts(
    X: Any, y: Any, sample_weight: Any = None, *, needs_target: bool = True, types: FieldTypes = None
) -> Iterator[Memory | EnginePart]:
    """Yield the parts of a table; `types` are those of columns in files.

    The target and the weights are arrays or names of columns; for files and engine tables, names of columns. If no
    target is needed and none is given, all rows belong to one class.
    """
    if is_relation(X):
        yield EnginePart.open(Relation.open(X, y, sample_weight), needs_target=needs_target)
    else:
        yield from open_rows(X, y, sample_weight, needs_target=needs_target, types=types)


def open_rows(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    needs_target: bool = True,
    numbers: bool = False,
    types: FieldTypes = None,
) -> Iterator[Memory]:
    """Yield the rows of a table with their classes or `numbers` in chunks; an engine table is an error."""
    if is_relation(X):
        raise refused(X)
    if is_chunked(X):
        yield from in_chunks(X, y, sample_weight, needs_target, numbers=numbers, types=types)
    else:
        yield weighted(X, y, sample_weight, needs_target, numbers=numbers)


def in_one(parts: Iterator[Memory | EnginePart]) -> Iterator[Memory | EnginePart]:
    """Join parts to one, for computations that need several passes; an engine table stays as it is."""
    found = list(parts)
    yield found[0] if len(found) == 1 else joined_chunks([part for part in found if isinstance(part, Memory)])


def open_whole(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    needs_target: bool = True,
    numbers: bool = False,
    types: FieldTypes = None,
) -> Memory:
    """Return all rows of a table at once, for computations that need several passes."""
    chunks = list(open_rows(X, y, sample_weight, needs_target=needs_target, numbers=numbers, types=types))
    return joined_chunks(chunks) if is_chunked(X) else chunks[0]


# -- rows in chunks: an iterator of tables, or files ----------------------------------------------


def is_chunked(X: Any) -> bool:
    """Return whether a table comes in chunks: a path, a pattern, several of them, or an iterator."""
    return is_paths(X) or isinstance(X, Iterator)


def in_chunks(
    X: Any, y: Any, sample_weight: Any, needs_target: bool = True, *, numbers: bool = False, types: FieldTypes = None
) -> Iterator[Memory]:
    """Yield the rows of each chunk; the target is a column of each chunk."""
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TableError(
            "The weights of a table that is read in chunks must be one of its columns.",
            hint="pass sample_weight='name of the column'.",
        )
    chunks = X
    if not isinstance(X, Iterator):
        from countwise.io.readers import instance_weights, read_pieces

        if sample_weight is None and (sample_weight := instance_weights(X)) is not None:
            warn("The instance weights of the file are used as sample weights.")
        numeric = [name for name in (sample_weight, y if numbers else None) if isinstance(name, str)]
        chunks = read_pieces(X, types={**dict.fromkeys(numeric, "numeric"), **(types or {})})
    before = 0
    for chunk in chunks:
        X_chunk, y_chunk = chunk if isinstance(chunk, tuple) else (chunk, y)
        rows = weighted(X_chunk, y_chunk, sample_weight, needs_target, whole=False, numbers=numbers)
        if before:  # error messages number the rows of all chunks consecutively
            places = np.arange(rows.n_rows) if rows.places is None else rows.places
            yield replace(rows, places=places + before)
        else:
            yield rows
        before += rows.n_given


def weighted(
    X: Any, y: Any, sample_weight: Any, needs_target: bool = True, *, whole: bool = True, numbers: bool = False
) -> Memory:
    """Return rows in memory; the weights may be a column of the table."""
    if not isinstance(sample_weight, str):
        return memory(X, y, sample_weight, needs_target, whole=whole, numbers=numbers)
    frame = frame_of(X)
    weights, rest = column_of(frame, sample_weight, "for the weights"), frame.without(sample_weight)
    return memory(rest, y, weights, needs_target, whole=whole, numbers=numbers)


def joined_chunks(chunks: Sequence[Memory]) -> Memory:
    """Join chunks with the same columns to one table."""
    kept = [chunk for chunk in chunks if chunk.n_rows]
    if not kept:
        raise TableError(
            "The table is empty or its target is missing in every row; at least one row with a target is needed."
        )
    first = kept[0]
    for chunk in kept[1:]:
        different = set(first.frame.names) ^ set(chunk.frame.names)
        if different:
            raise TableError(
                f"All chunks must have the same columns, but only some of them have {listed(sorted(different))}."
            )
    columns = {name: _stacked([chunk.frame.columns[name] for chunk in kept]) for name in first.frame.names}
    frame = Frame(columns, sum(chunk.n_rows for chunk in kept), first.frame.named)
    weights = None
    if any(chunk.weights is not None for chunk in kept):
        filled = [np.ones(c.n_rows, dtype=np.int64) if c.weights is None else c.weights for c in kept]
        weights = np.concatenate(filled)
    target, left_out = _stacked([chunk.target for chunk in kept]), sum(chunk.left_out for chunk in chunks)
    return Memory(frame, target, first.name, weights, left_out, first.label_type, known=first.known)


def _stacked(columns: Sequence[Column]) -> Any:
    if all(is_sparse(column) for column in columns):
        from scipy.sparse import vstack

        return vstack(columns, format="csr")
    plain = [column.objects() if isinstance(column, Coded) else column for column in columns]
    if len({column.dtype.kind in "OUS" for column in plain}) > 1:
        plain = [column.astype(object) for column in plain]
    return np.concatenate(plain)
