"""The first stage of a search: the values of all cases by attribute, each once, with an inverted index.

A query is compared with each distinct value only by what is cheap: numbers as arrays, sets, strings and graphs by the
tokens that they share, found through the lists of values that have a token.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.cases.values import is_number, key_of, kind_of

__all__ = ["Column", "RecordColumn"]

Tokens = Callable[[Any], Iterable[Hashable]]


class Column:
    """The values of one attribute: distinct values, and for each record which of them it has, or -1.

    `n_missing` records came before the attribute was first seen.
    """

    def __init__(self, n_missing: int = 0) -> None:
        self.values: list[Any] = []
        self.kinds: set[str] = set()
        self._codes = array("q", [-1] * n_missing)
        self._places: dict[Hashable, int] = {}
        self._postings: dict[str, _Postings] = {}
        self._numbers: Floats = np.empty(0)
        self._records: RecordColumn | None = None
        self._elements: Column | None = None

    def add(self, value: Any) -> None:
        """One more record, that has this value; None if it has none."""
        if value is None:
            self._codes.append(-1)
            return
        code = self._places.setdefault(key_of(value), len(self.values))
        if code == len(self.values):
            self.values.append(value)
            self.kinds.add(kind_of(value))
        self._codes.append(code)

    def codes(self) -> Indices:
        """For each record the number of its value, or -1."""
        return np.array(self._codes, dtype=np.int64)

    def place(self, value: Any) -> int:
        """The number of a value, or -1."""
        return self._places.get(key_of(value), -1)

    def numbers(self) -> Floats:
        """The distinct values as numbers; NaN for others."""
        if len(self._numbers) < len(self.values):
            new = self.values[len(self._numbers) :]
            more = [float(v) if is_number(v) else np.nan for v in new]
            self._numbers = np.concatenate([self._numbers, more])
        return self._numbers

    def common(self, name: str, tokens: Tokens, asked: Any) -> tuple[Floats, Floats, int]:
        """How many tokens each distinct value shares with the asked one; how many it has; how many are asked."""
        postings = self._postings.setdefault(name, _Postings())
        postings.extend(self.values, tokens)
        mine = list(tokens(asked))
        shared = np.zeros(len(self.values))
        for token in mine:
            having = postings.values_with.get(token)
            if having is not None:
                shared[np.array(having, dtype=np.int64)] += 1
        return shared, np.array(postings.sizes, dtype=np.float64), len(mine)

    def records(self) -> RecordColumn:
        """The distinct values as records of their own."""
        if self._records is None:
            self._records = RecordColumn()
        for value in self.values[self._records.n :]:
            self._records.add(value if isinstance(value, Mapping) else {})
        return self._records

    def elements(self) -> Column:
        """All elements of the distinct values, which are sets or lists."""
        if self._elements is None or len(self._elements._codes) < sum(map(len, self.values)):
            self._elements = Column()
            for value in self.values:
                for element in value:
                    self._elements.add(element)
        return self._elements


class _Postings:
    """For each token the values that have it."""

    def __init__(self) -> None:
        self.values_with: dict[Hashable, array[int]] = {}
        self.sizes: list[int] = []

    def extend(self, values: list[Any], tokens: Tokens) -> None:
        for code in range(len(self.sizes), len(values)):
            mine = list(tokens(values[code]))
            self.sizes.append(len(mine))
            for token in mine:
                self.values_with.setdefault(token, array("q")).append(code)


class RecordColumn:
    """Records by column."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.n = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """One more record."""
        for name in record:
            if name not in self.columns:
                self.columns[name] = Column(self.n)
        for name, column in self.columns.items():
            column.add(record.get(name))
        self.n += 1
