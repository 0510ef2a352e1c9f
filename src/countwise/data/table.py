"""The table: encoded columns of one length, and a weight for each row. No statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "Table", "threads_for"]

_FEW = 1 << 13  # rows for which starting threads costs more than it saves
BLOCK = 1 << 16  # rows a piece of work; fixed, so that results do not depend on the number of threads


def threads_for(n_rows: int) -> int | None:
    """A thread costs more than it saves on a table of few rows."""
    return 1 if n_rows < _FEW else None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Encoded columns and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.table import Table
    >>> Table({"temp": np.array([1.0, 2.0, 3.0])}, 3).slice(1, 3)["temp"].tolist()
    [2.0, 3.0]
    """

    columns: Mapping[str, Any]  # numbers with NaN for missing, codes, or bags of words
    n_rows: int
    weights: NDArray[Any] | None = None  # None: each row weighs 1; integers keep counts whole

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return self.n_rows

    @property
    def threads(self) -> int | None:
        """How many threads are worth starting: one for a small table, as many as there are for others."""
        return threads_for(self.n_rows)

    def with_column(self, name: str, column: NDArray[Any]) -> Table:
        """The same table with one column more."""
        return Table({**self.columns, name: column}, self.n_rows, self.weights)

    def slice(self, start: int, stop: int) -> Table:
        """Rows start to stop, sharing memory."""
        if start <= 0 and stop >= self.n_rows:
            return self
        return self._part(slice(start, stop), max(0, min(stop, self.n_rows) - start))

    def take(self, rows: NDArray[Any]) -> Table:
        """Some rows, copied, in the order given."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return self._part(rows, len(rows))

    def _part(self, rows: Any, n_rows: int) -> Table:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Table(columns, n_rows, None if self.weights is None else self.weights[rows])
