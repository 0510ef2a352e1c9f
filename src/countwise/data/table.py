"""Encoded tables: encoded columns of equal length, and a weight for each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "Table", "threads_for"]

_FEW = 1 << 13  # number of rows below which threads are not worth their cost
BLOCK = 1 << 16  # rows of one task; fixed, so that results do not depend on the number of threads


def threads_for(n_rows: int) -> int | None:
    """Return 1 for a small table, where threads cost more than they save, else None for the default number."""
    return 1 if n_rows < _FEW else None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Encoded columns and row weights.

    Parameters
    ----------
    columns : mapping
        Encoded columns by name: numbers with NaN for missing values, codes, or `Bag` objects.
    n_rows : int
        Number of rows.
    weights : ndarray, optional
        Weight of each row; None means 1 for each. Integer weights give integer counts.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.table import Table
    >>> Table({"temp": np.array([1.0, 2.0, 3.0])}, 3).slice(1, 3)["temp"].tolist()
    [2.0, 3.0]
    """

    columns: Mapping[str, Any]
    n_rows: int
    weights: NDArray[Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return self.n_rows

    @property
    def threads(self) -> int | None:
        """Number of threads to use: 1 for a small table, else None for the default number."""
        return threads_for(self.n_rows)

    def with_column(self, name: str, column: NDArray[Any]) -> Table:
        """Return the table with one more column."""
        return Table({**self.columns, name: column}, self.n_rows, self.weights)

    def slice(self, start: int, stop: int) -> Table:
        """Return the rows from start to stop without copying."""
        if start <= 0 and stop >= self.n_rows:
            return self
        return self._part(slice(start, stop), max(0, min(stop, self.n_rows) - start))

    def take(self, rows: NDArray[Any]) -> Table:
        """Return a copy of some rows, in the given order; `rows` is a mask or an array of positions."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return self._part(rows, len(rows))

    def _part(self, rows: Any, n_rows: int) -> Table:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Table(columns, n_rows, None if self.weights is None else self.weights[rows])
