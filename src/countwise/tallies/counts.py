"""Counts: contingency tables of nominal attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.attributes import Nominal
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.jsonfile import numbers
from countwise.tallies._base import Progress, Tally, added, joined, refuse_negative, relaid, subtracted

__all__ = ["Counts"]

_MOST_CELLS = 1 << 28  # 2 GB of counts; a larger table is probably that of an identifier
_CELLS = attrgetter("unseen")  # number of values, plus 1 for missing values


@dataclass(frozen=True, slots=True, eq=False)
class Counts(Tally):
    """Contingency table: the weight of the rows with each combination of values.

    Each axis has one cell for each value of its attribute and a last cell for missing values.

    Parameters
    ----------
    axes : tuple of Nominal
        Attributes of the axes. Naive Bayes uses the class and one attribute.
    cells : ndarray or None, default=None
        Counts, shape (K1 + 1, K2 + 1, ...). They are integers if the row weights are. None means blank.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.tallies import Counts
    >>> from countwise.data.table import Table
    >>> play, wind = Nominal("play", ("no", "yes")), Nominal("wind", ("weak", "strong"))
    >>> rows = Table({"play": np.array([0, 1, 1], np.uint8), "wind": np.array([0, 0, 1], np.uint8)}, 3)
    >>> Counts((play, wind)).fill(rows).table.tolist()
    [[1, 0], [1, 1]]
    """

    axes: tuple[Nominal, ...]
    cells: NDArray[Any] | None = None

    @property
    def filled(self) -> NDArray[Any]:
        """Counts including missing values; zeros if the tally is blank."""
        if self.cells is None:
            return np.zeros([len(a.values) + 1 for a in self.axes], dtype=np.int64)
        return self.cells

    @property
    def table(self) -> NDArray[Any]:
        """Counts of the combinations without missing values."""
        return self.filled[(slice(0, -1),) * len(self.axes)]

    @property
    def absent(self) -> NDArray[Any]:
        """Counts of the rows in which only the last attribute is missing."""
        present: tuple[Any, ...] = (slice(0, -1),) * (len(self.axes) - 1)
        return self.filled[(*present, -1)]

    @property
    def request(self) -> tuple[Any, ...]:
        """What is counted; equal for all tallies of the same request."""
        return self.axes

    @property
    def of_classes(self) -> NDArray[Any]:
        """Weight of all counted rows in each class, the first attribute."""
        return self.filled[:-1].reshape(len(self.axes[0].values), -1).sum(axis=1)

    @property
    def of_last(self) -> NDArray[Any]:
        """Marginal counts of the values of the last attribute."""
        return self.filled.sum(axis=tuple(range(len(self.axes) - 1)))[:-1]

    def _has_values(self, name: str) -> bool:
        """Return whether a value of the last attribute has been counted."""
        return bool(self.of_last.any())

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill several tables of counts from one table.

        Parameters
        ----------
        blanks : sequence of Counts
            Blank tallies.
        table : Table
            Encoded table with the columns of all axes.
        progress : callable or None, default=None
            Ignored.

        Returns
        -------
        list of Counts
            Filled tallies in the order of `blanks`.

        Raises
        ------
        TableError
            If a table of counts would have more than 2**28 cells.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.data.table import Table
        >>> from countwise.tallies import Counts
        >>> rows = Table({"rain": np.array([0, 1, 1], np.uint8)}, 3)
        >>> Counts.fill_many([Counts((Nominal("rain", ("no", "yes")),))], rows)[0].table.tolist()
        [1, 2]
        """
        together = False
        for blank in blanks:
            n_cells = math.prod(map(_CELLS, blank.axes))
            if n_cells > _MOST_CELLS:
                names = " by ".join(f"{a.name!r} ({len(a.values)} values)" for a in blank.axes)
                raise TableError(
                    f"The table of counts of {names} would have {n_cells} cells, too many for memory.",
                    hint="drop the column with the most values if it is an identifier, or merge its rare values.",
                )
            together |= len(blank.axes) > 2
        if together:
            return _counted_together(blanks, table)
        return _kernels.over_items(list(blanks), lambda blank: blank._count(table), table.threads)

    def _count(self, table: Table) -> Self:
        sizes = list(map(_CELLS, self.axes))
        columns = [table.columns[a.name] for a in self.axes]
        given = columns[0] if len(columns) == 2 else np.zeros(len(columns[0]), dtype=np.uint8)
        cells = _kernels.count_codes(columns[-1], given, table.weights, sizes[-1], math.prod(sizes[:-1]))
        return replace(self, cells=cells.reshape(sizes))

    def __add__(self, other: Self) -> Self:
        return self._combine(other, added)

    def __sub__(self, other: Self) -> Self:
        result = self._combine(other, subtracted)
        refuse_negative(result.filled, f"a count of {' and '.join(repr(a.name) for a in self.axes)}")
        return result

    def _combine(self, other: Self, operation: Any) -> Self:
        axes = tuple(joined(a, b) for a, b in zip(self.axes, other.axes, strict=True))
        return replace(self, axes=axes, cells=operation(self.over(axes), other.over(axes)))

    def over(self, axes: Sequence[Nominal]) -> NDArray[Any]:
        """Return the counts for other domains.

        Parameters
        ----------
        axes : sequence of Nominal
            Attributes of the axes with other domains. New values have count 0; removed values are dropped.

        Returns
        -------
        ndarray
            Counts including missing values.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.tallies import Counts
        >>> tally = Counts((Nominal("rain", ("no", "yes")),), np.array([1, 2, 0]))
        >>> tally.over((Nominal("rain", ("no", "perhaps", "yes")),)).tolist()
        [1, 0, 2, 0]
        """
        cells = self.filled
        for i, (old, new) in enumerate(zip(self.axes, axes, strict=True)):
            cells = relaid(cells, i, old, new)
        return cells

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """Return the tally for other domains; removed values must have no rows.

        Parameters
        ----------
        attributes : mapping of str to Nominal
            New attributes by name. Axes that it does not contain stay as they are.

        Returns
        -------
        Counts
            The tally with the new domains.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.tallies import Counts
        >>> tally = Counts((Nominal("rain", ("no", "yes")),), np.array([3, 0, 0]))
        >>> tally.within({"rain": Nominal("rain", ("no",))}).table.tolist()
        [3]
        """
        axes = tuple(attributes.get(a.name, a) for a in self.axes)
        return replace(self, axes=axes, cells=self.over(axes))

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data for the model file.

        Returns
        -------
        dict
            The type of the tally, the names of its axes, and nested lists of its counts.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> from countwise.tallies import Counts
        >>> Counts((Nominal("rain", ("no", "yes")),), np.array([1, 2, 0])).to_dict()
        {'tally': 'counts', 'axes': ['rain'], 'cells': [1, 2, 0]}
        """
        return {"tally": "counts", "axes": [a.name for a in self.axes], "cells": self.filled.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """Return the tally that `to_dict` described.

        Parameters
        ----------
        data : mapping
            Result of `to_dict`.
        attributes : mapping of str to Nominal
            Attributes of the axes by name.

        Returns
        -------
        Counts
            The tally.

        Examples
        --------
        >>> from countwise import Nominal
        >>> from countwise.tallies import Counts
        >>> data = {"tally": "counts", "axes": ["rain"], "cells": [1, 2, 0]}
        >>> Counts.from_dict(data, {"rain": Nominal("rain", ("no", "yes"))}).table.tolist()
        [1, 2]
        """
        axes = tuple(attributes[name] for name in data["axes"])
        shape = tuple(len(a.values) + 1 for a in axes)
        return cls(axes, numbers(data["cells"], f"the counts of {axes[-1].name!r}", shape, least=0))


def _counted_together(blanks: Sequence[Counts], table: Table) -> list[Any]:
    """Count tables with more than two axes; each thread fills several of them."""
    axes = {a.name: a for blank in blanks for a in blank.axes}
    place = {name: i for i, name in enumerate(axes)}
    columns, sizes = [table[name] for name in axes], [len(a.values) + 1 for a in axes.values()]
    threads = _kernels.thread_count() if table.threads is None else 1
    per_thread = -(-len(blanks) // threads)

    def work(start: int) -> list[Any]:
        some = blanks[start : start + per_thread]
        families = [[place[a.name] for a in blank.axes] for blank in some]
        found = _kernels.count_families(columns, sizes, families, table.weights)
        return [replace(blank, cells=np.ascontiguousarray(cells)) for blank, cells in zip(some, found, strict=True)]

    parts = _kernels.over_items(range(0, len(blanks), per_thread), work, threads)
    return [one for part in parts for one in part]
