"""Several nominal parents as one: every combination of their values is a value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.attributes import Nominal
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.errors import TableError

__all__ = ["MOST_COMBINATIONS", "codes_of_parents", "joined_parents"]

MOST_COMBINATIONS = 1 << 22


def joined_parents(parents: Sequence[Nominal]) -> Nominal:
    """One attribute whose values are the combinations of the parents' values, the last running fastest.

    Laws of one attribute given a class then serve a node with any nominal parents; without parents there is one
    combination.

    Examples
    --------
    >>> from countwise import Nominal
    >>> from countwise.network.parent_configurations import joined_parents
    >>> joined_parents([Nominal("a", (0, 1)), Nominal("b", ("x", "y"))]).values
    ((0, 'x'), (0, 'y'), (1, 'x'), (1, 'y'))
    """
    size = int(np.prod([len(a.values) for a in parents], dtype=np.float64))
    if size > MOST_COMBINATIONS:
        raise TableError(
            f"The values of {', '.join(repr(a.name) for a in parents)} have {size:,} combinations.",
            hint="fewer parents, or fewer values.",
        )
    name = ", ".join(a.name for a in parents)
    return Nominal(f"({name})", tuple(itertools.product(*(a.values for a in parents))), grows=False)


def codes_of_parents(parents: Sequence[Nominal], table: Table) -> NDArray[Any]:
    """The combination of each row; that behind the last where any parent is missing or never seen."""
    sizes = [len(a.values) for a in parents]
    size = int(np.prod(sizes, dtype=np.int64))
    key = np.zeros(table.n_rows, dtype=np.int64)
    lost = np.zeros(table.n_rows, dtype=bool)
    for a, n in zip(parents, sizes, strict=True):
        codes = table[a.name]
        lost |= codes >= n
        key = key * n + np.minimum(codes, max(n - 1, 0))
    key[lost] = size
    return key.astype(narrowest(size + 2))
