"""Features that a node may test: a column, or one word of a text column or of a block of count columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.data.attributes import Nominal, Numeric, Ordinal
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Bag, Block, Text
from countwise.errors import TableError

__all__ = ["Feature", "columns_of", "features_of"]

_MOST_CELLS = 1 << 28  # entries of a dense word matrix, one or two bytes each


@dataclass(frozen=True, slots=True)
class Feature:
    """Feature that a node may test."""

    name: str  # the column, or the column and the word
    attribute: Nominal | Numeric
    column: str  # column of the table
    word: int | None = None  # index of the word in a text column or block
    names: Mapping[tuple[float, ...], tuple[str, ...]] = field(default_factory=dict)  # of the bins of cut points
    nominal: bool = field(init=False, compare=False)  # nominal or ordinal
    ordinal: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nominal", isinstance(self.attribute, Nominal))
        object.__setattr__(self, "ordinal", isinstance(self.attribute, Ordinal))


def features_of(schema: Schema, n_rows: int = 0) -> list[Feature]:
    """Return all features of a schema; raise an error if the words of a text column are too many for the rows."""
    found: list[Feature] = []
    for a in schema.attributes:
        if isinstance(a, Text | Block):
            if len(a.words) * n_rows > _MOST_CELLS:
                raise TableError(
                    f"{a.name!r} has {len(a.words)} words in {n_rows} rows, which is too large for a tree: "
                    f"words × rows must be at most {_MOST_CELLS}.",
                    hint="select words first, for example with FilterSelector, or use NaiveBayesClassifier.",
                )
            plain = isinstance(a, Block)
            found += [Feature(w if plain else f"{a.name}: {w}", Numeric(w), a.name, j) for j, w in enumerate(a.words)]
        else:
            assert isinstance(a, Nominal | Numeric)  # noqa: S101 - there are no other types
            found.append(Feature(a.name, a, a.name))
    return found


def columns_of(features: Sequence[Feature], table: Table, used: Sequence[int] | None = None) -> list[NDArray[Any]]:
    """Return the column of each feature; features that are not used get a column of zeros."""
    wanted = set(range(len(features)) if used is None else used)
    bags = {f.column: _by_word(table[f.column]) for j, f in enumerate(features) if f.word is not None and j in wanted}
    nothing = np.broadcast_to(np.uint8(0), (table.n_rows,))
    return [
        nothing if j not in wanted else table[f.column] if f.word is None else _word(*bags[f.column], f.word)
        for j, f in enumerate(features)
    ]


def _by_word(bag: Bag) -> tuple[Any, Flags | None]:
    from scipy.sparse import csr_array

    rows = slice(int(bag.indptr[0]), int(bag.indptr[-1]))
    parts = (bag.data[rows], bag.indices[rows], bag.indptr - bag.indptr[0])
    return csr_array(parts, shape=(len(bag), bag.n_words)).tocsc(), bag.missing


def _word(matrix: Any, missing: Flags | None, j: int) -> NDArray[Any]:
    """Return the count of a word in each row; NaN where the text is missing."""
    stored = slice(int(matrix.indptr[j]), int(matrix.indptr[j + 1]))
    counts = matrix.data[stored]
    has_missing = missing is not None and bool(missing.any())
    small = not has_missing and counts.dtype.kind in "iub" and (not len(counts) or int(counts.max()) < 256)
    column = np.zeros(matrix.shape[0], dtype=np.uint8 if small else np.float64)
    column[matrix.indices[stored]] = counts
    if has_missing:
        column[missing] = np.nan
    return column
