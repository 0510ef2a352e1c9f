"""Index for the first stage of retrieval: the distinct values of each attribute, with an inverted index.

The first stage computes cheap upper bounds of the similarity to each distinct value. Numbers are compared as arrays.
Sets, strings and graphs are compared by the number of common tokens, which the inverted index yields.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.cases.values import is_number, key_of, type_of

__all__ = ["Column", "RecordColumn"]

Tokens = Callable[[Any], Iterable[Hashable]]


class Column:
    """Values of one attribute: the distinct values, and for each record the code of its value (-1 if missing).

    `n_missing` is the number of records before the attribute was first seen.
    """

    def __init__(self, n_missing: int = 0) -> None:
        self.values: list[Any] = []
        self.types: set[str] = set()
        self._codes = array("q", [-1] * n_missing)
        self._places: dict[Hashable, int] = {}
        self._postings: dict[str, _Postings] = {}
        self._numbers: Floats = np.empty(0)
        self._records: RecordColumn | None = None
        self._elements: Column | None = None

    def add(self, value: Any) -> None:
        """Add a record with this value, or None if it is missing."""
        if value is None:
            self._codes.append(-1)
            return
        code = self._places.setdefault(key_of(value), len(self.values))
        if code == len(self.values):
            self.values.append(value)
            self.types.add(type_of(value))
        self._codes.append(code)

    def codes(self) -> Indices:
        """Return the code of the value of each record; -1 if it is missing."""
        return np.array(self._codes, dtype=np.int64)

    def place(self, value: Any) -> int:
        """Return the code of a value; -1 if no record has it."""
        return self._places.get(key_of(value), -1)

    def numbers(self) -> Floats:
        """Return the distinct values as floats; NaN for values that are not numbers."""
        if len(self._numbers) < len(self.values):
            new = self.values[len(self._numbers) :]
            more = [float(v) if is_number(v) else np.nan for v in new]
            self._numbers = np.concatenate([self._numbers, more])
        return self._numbers

    def common(self, name: str, tokens: Tokens, wanted: Any) -> tuple[Floats, Floats, int]:
        """Count the tokens of each distinct value that are in the wanted value, all its tokens, and those wanted."""
        postings = self._postings.setdefault(name, _Postings())
        postings.extend(self.values, tokens)
        mine = list(tokens(wanted))
        shared = np.zeros(len(self.values))
        for token in mine:
            having = postings.values_with.get(token)
            if having is not None:
                shared[np.array(having, dtype=np.int64)] += 1
        return shared, np.array(postings.sizes, dtype=np.float64), len(mine)

    def records(self) -> RecordColumn:
        """Return the distinct values, which are records, by column."""
        if self._records is None:
            self._records = RecordColumn()
        for value in self.values[self._records.n :]:
            self._records.add(value if isinstance(value, Mapping) else {})
        return self._records

    def elements(self) -> Column:
        """Return the elements of the distinct values, which are sets or lists."""
        if self._elements is None or len(self._elements._codes) < sum(map(len, self.values)):
            self._elements = Column()
            for value in self.values:
                for element in value:
                    self._elements.add(element)
        return self._elements


class _Postings:
    """Inverted index: for each token, the codes of the values that have it."""

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
    """Records, stored by column."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.n = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record."""
        for name in record:
            if name not in self.columns:
                self.columns[name] = Column(self.n)
        for name, column in self.columns.items():
            column.add(record.get(name))
        self.n += 1
