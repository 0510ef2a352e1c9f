"""The table that learners are evaluated on: read once, and split into subsets of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.data.attributes import Nominal
from countwise.data.columns import missing_classes
from countwise.data.frames import Frame, frame_of
from countwise.data.output import rows_of
from countwise.errors import TableError
from countwise.sources import Memory
from countwise.sources.labelled_table import LabelledTable, apart, column_of, labelled
from countwise.sources.memory import memory

__all__ = ["EvaluationData", "evaluation_data", "labels_of"]


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """A subset of the rows of a table with classes, in the user's container and as encoded columns."""

    rows: LabelledTable  # the whole table, without the rows that have no class or no weight
    source: Memory  # the rows of this subset as columns
    target: Nominal
    codes: Indices  # the class code of each row of this subset
    n_given: int  # number of rows of the user's table, including those without a class or weight
    which: Indices | None = None  # indices of the rows of this subset; None for all

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in ascending order."""
        return tuple(self.target.values)

    @property
    def weights(self) -> NDArray[Any] | None:
        """The weight of each row, or None."""
        return self.source.weights

    @property
    def table(self) -> Any:
        """The rows in the type of container that the user passed."""
        return self.rows.X if self.which is None else rows_of(self.rows.X, self.which)

    @property
    def y(self) -> NDArray[Any]:
        """The class of each row, as the user passed it."""
        return self.rows.y if self.which is None else self.rows.y[self.which]

    def subset(self, which: Indices) -> EvaluationData:
        """Return the rows with the given indices, in that order."""
        return self._part(self.source.frame.take(which), which)

    def between(self, start: int, stop: int) -> EvaluationData:
        """Return rows start to stop without copying them."""
        if start <= 0 and stop >= len(self):
            return self
        return self._part(self.source.frame.slice(start, stop), slice(start, stop))

    def _part(self, frame: Frame, rows: Any) -> EvaluationData:
        which = np.arange(len(self))[rows] if self.which is None else self.which[rows]
        weights = None if self.weights is None else self.weights[rows]
        target = self.source.target[rows]
        source = replace(self.source, frame=frame, target=target, weights=weights, places=which)
        return replace(self, source=source, codes=self.codes[rows], which=which)

    def labels(self, by: Any, X: Any, what: str = "by") -> NDArray[Any]:
        """Return the group label of each row, from a column of the user's table or from given labels."""
        frame, name = frame_of(X), by if isinstance(by, str) else what
        if isinstance(by, str):
            column = column_of(frame, name, "for the groups")
        else:
            if np.ndim(by) > 1:
                raise TableError(
                    f"{what} has {np.ndim(by)} dimensions; it must be a column name or one label for each row."
                )
            column = frame_of({name: by}).columns[name]
            if len(column) != frame.n_rows:
                raise TableError(
                    f"{what} has {len(column)} entries, but the table has {frame.n_rows} rows; they must agree."
                )
        labels = labels_of(column, name)
        return labels if self.rows.kept is None else labels[self.rows.kept]


def labels_of(column: Any, name: str) -> NDArray[Any]:
    """Return the label of each row from a column; None where the value is missing."""
    own = Nominal(name).learn(column)
    return np.array([*own.values, None, None], dtype=object)[own.encode(column)]


def _refuse_numbers(rows: LabelledTable, n_given: int, name: str) -> None:
    """Raise an error for a continuous target, which names the column and the row of the user's table."""
    target = rows.y
    if target.dtype.kind == "f" and rows.kept is not None:
        target = np.full(n_given, np.nan)
        target[rows.kept] = rows.y
    missing_classes(target, name)


def evaluation_data(X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> EvaluationData:
    """Read a table and its classes; rows of weight 0 are ignored.

    A column of groups is no attribute: the groups of the held-out rows do not occur in training.
    """
    if isinstance(groups, str):
        X = apart(X, frame_of(X), groups)[0]
    rows = labelled(X, y, sample_weight)
    n_given = len(rows.y) if rows.kept is None else frame_of(X).n_rows
    if rows.weights is not None and not rows.weights.all():
        rows = rows.take(np.flatnonzero(rows.weights))
    _refuse_numbers(rows, n_given, y if isinstance(y, str) else "class")
    source = memory(rows.frame, rows.y, rows.weights)
    target = Nominal(source.name, grows=True).learn(source.target, occurring=True)
    codes = target.encode(source.target, strict=True).astype(np.int64)
    return EvaluationData(rows, source, target, codes, n_given)
