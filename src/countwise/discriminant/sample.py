"""The numbers of a scatter tally that a Gaussian law is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal
from countwise.data.vectors import Vector
from countwise.discriminant.collinearity import Redundant, flat
from countwise.discriminant.em import EMEstimate, em
from countwise.errors import TableError, TooFewRows, listed, warn
from countwise.tallies import Scatter
from countwise.tallies._cells import PatternMoments, merged, nothing
from countwise.tallies.scatter import margins_of

__all__ = ["DiscriminantSample"]

Patterns = list[tuple[Flags, PatternMoments]]
_TINY = 1e-145  # squares of numbers below this are no longer exact


class DiscriminantSample:
    """The columns in use, and their moments.

    Parameters
    ----------
    tally : Scatter
        What was counted.
    missing : {"em", "complete"}
        Whether rows with gaps teach anything.
    unrelated : bool
        Whether columns are looked at one by one: then each value of a name may have its number.
    """

    def __init__(self, tally: Scatter, *, missing: str, unrelated: bool) -> None:
        self.tally, self.missing = tally, missing
        self.left_out: dict[str, str] = {}
        self.n_classes = len(tally.given.values)
        every = tally.margins()
        used = []
        for j in _numbers(tally.of, every=unrelated):
            if float(every[0][:, j].sum()) > 0:
                used.append(j)
            else:
                self.left_out[tally.of.names[j]] = "never seen"
        self.columns = np.array(used, dtype=np.intp)
        if len(self.columns) == 0:
            raise TooFewRows("There is no column of which any cell is there: nothing can be learned.")
        self.weight = every[0].max(axis=1)  # (classes,)
        self.patterns = self._found()
        self._note_borrowed()
        self._refuse_tiny()

    def _found(self) -> Patterns:
        """The patterns of missing cells among the columns in use; rows without any of them tell nothing."""
        found = []
        for there, cells in self.tally.patterns:
            used = there[self.columns]
            if used.any():
                own = (np.cumsum(there) - 1)[self.columns[used]]
                found.append((used, _columns_of(cells, own)))
        if self.missing == "complete":
            found = [(there, cells) for there, cells in found if there.all()]
            self._refuse_incomplete(sum((cells.n for _, cells in found), np.zeros(self.n_classes)))
        return found

    def _refuse_incomplete(self, n: Floats) -> None:
        for c, label in enumerate(self.classes):
            if self.weight[c] > 0 and n[c] == 0:
                raise TooFewRows(
                    f"Class {label!r} has no row without a missing cell.",
                    hint="missing='em' learns from rows with gaps too.",
                )

    def _refuse_tiny(self) -> None:
        n, mean, m2 = self.margins
        size = np.abs(np.where(n > 0, mean, 0.0)).max(axis=0)
        variance = m2.sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        for name, most, spread in zip(self.names, size.tolist(), variance.tolist(), strict=True):
            if 0 < most < _TINY and spread < _TINY**2:
                raise TableError(
                    f"{name!r} holds numbers too small to be squared (below about 1e-145).",
                    hint="rescale the column.",
                )

    def _note_borrowed(self) -> None:
        n = self.margins[0]
        for c, label in enumerate(self.classes):
            gone = [name for name, there in zip(self.names, n[c] > 0, strict=True) if not there]
            if self.weight[c] > 0 and gone:
                warn(f"Class {label!r} has no value of {listed(gone)}: the mean of the other classes is taken.")

    @property
    def patterns(self) -> Patterns:
        """The patterns of missing cells among the columns in use, and their moments."""
        return self._patterns

    @patterns.setter
    def patterns(self, found: Patterns) -> None:
        self._patterns = found
        # (n, mean, M2) of each column in use, (classes, columns)
        self.margins = margins_of(found, self.n_classes, len(self.columns))

    @property
    def means(self) -> Floats:
        """The mean of each class and column; of all classes where a class has no value."""
        n, mean, _ = self.margins
        overall = (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        return np.where(n > 0, mean, overall)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns kept."""
        names = self.tally.of.names
        return tuple(names[j] for j in self.columns.tolist())

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order."""
        return self.tally.given.values

    def drop(self, places: Sequence[int], why: Sequence[Redundant]) -> None:
        """Leave some of the columns out."""
        self.left_out.update({one.name: one.why for one in why})
        self.columns = np.delete(self.columns, list(places))
        self.patterns = self._found()

    def leave_out_constants(self) -> None:
        """Columns that are the same in all rows have no say, and must not thin out the spread of the others."""
        apart = np.ptp(self.means, axis=0) > 8 * np.finfo(float).eps * np.abs(self.means).max(axis=0)
        same = np.flatnonzero(flat(*self.margins) & ~apart)
        names = self.names
        self.left_out.update({names[j]: "constant" for j in same.tolist()})
        self.columns = np.delete(self.columns, same)
        self.patterns = self._found()

    @property
    def cells(self) -> PatternMoments:
        """The moments of the rows that are complete in the columns in use."""
        total = nothing(self.n_classes, len(self.columns), higher=self.tally.higher)
        for there, cells in self.patterns:
            if there.all():
                total = merged(total, cells)
        return total

    @property
    def n_complete(self) -> float:
        """The weight of the complete rows."""
        return float(self.cells.n.sum())

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return all(there.all() for there, _ in self.patterns)

    def estimate(self, *, shared: bool) -> EMEstimate:
        """Means and scatters of the complete rows, or of all rows by EM."""
        means = self.means
        if self.is_complete:
            total = self.cells
            return EMEstimate(total.n, np.where(total.n[:, None] > 0, total.mean, means), total.scattered(), 0)
        n, _, m2 = self.margins
        moving = np.flatnonzero(~flat(*self.margins))  # EM would only creep towards a spread of 0
        scatter = np.zeros((self.n_classes, len(self.columns), len(self.columns)))
        if len(moving) == 0:
            return EMEstimate(self.weight, means, scatter, 0)
        patterns = []
        for there, cells in self.patterns:
            kept = there[moving]
            if kept.any():
                patterns.append((kept, _columns_of(cells, (np.cumsum(there) - 1)[moving[kept]])))
        pooled = (m2.sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300))[moving]
        variance = np.broadcast_to(pooled, (self.n_classes, len(moving)))
        if not shared:
            own = m2[:, moving] / np.maximum(n[:, moving], 1e-300)
            variance = np.where((n[:, moving] > 1) & (own > 0), own, variance)
        found = em(patterns, means[:, moving], variance, shared=shared)
        scatter[:, moving[:, None], moving[None, :]] = found.scatter
        means[:, moving] = found.mean
        return EMEstimate(found.n, means, scatter, found.n_iter)


def _columns_of(cells: PatternMoments, places: NDArray[np.intp]) -> PatternMoments:
    """The moments of some of the numbers."""

    def square(m: Floats | None) -> Any:
        return None if m is None else m[:, places[:, None], places[None, :]]

    higher = None if cells.higher is None else (square(cells.higher[0]), square(cells.higher[1]))
    return PatternMoments(cells.n, cells.mean[:, places], square(cells.scatter), higher)


def _numbers(of: Vector, *, every: bool) -> list[int]:
    """The numbers in use: of each nominal attribute all but the first, which the others tell."""
    used: list[int] = []
    at = 0
    for a, width in zip(of.attributes, of.widths, strict=True):
        first = 1 if isinstance(a, Nominal) and not every else 0
        used += range(at + first, at + width)
        at += width
    return used
