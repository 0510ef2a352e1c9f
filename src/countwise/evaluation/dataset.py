"""The rows that learners are evaluated on: opened once, handed out in pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame, frame_of
from countwise.data.output import rows_of
from countwise.errors import TableError
from countwise.sources import Memory
from countwise.sources.labelled_table import LabelledTable, column_of, labelled
from countwise.sources.memory import memory

__all__ = ["EvaluationData", "ground_of", "labels_of"]


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """Rows with classes, in the kind of table that the user holds and as it is read here."""

    rows: LabelledTable  # the whole table; rows without a target or without weight are left out
    source: Memory  # the rows of this piece, opened
    target: Nominal
    codes: Indices  # the class of each row of this piece
    n_given: int  # how many rows the user's table has, those that were left out among them
    which: Indices | None = None  # the rows of this piece; by default all

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def classes(self) -> tuple[Any, ...]:
        """In ascending order."""
        return tuple(self.target.values)

    @property
    def weights(self) -> NDArray[Any] | None:
        """Their weights."""
        return self.source.weights

    @property
    def table(self) -> Any:
        """The rows in the kind of table that the user gave."""
        return self.rows.X if self.which is None else rows_of(self.rows.X, self.which)

    @property
    def y(self) -> NDArray[Any]:
        """Their classes, as the user gave them."""
        return self.rows.y if self.which is None else self.rows.y[self.which]

    def piece(self, which: Indices) -> EvaluationData:
        """Some rows, in the order given."""
        return self._part(self.source.frame.take(which), which)

    def between(self, start: int, stop: int) -> EvaluationData:
        """Rows start to stop; nothing is copied."""
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
        """The group of each row: a column of the table, also one that learners did not see, or labels themselves."""
        frame, name = frame_of(X), by if isinstance(by, str) else what
        if isinstance(by, str):
            column = column_of(frame, name, "for the groups")
        else:
            if np.ndim(by) > 1:
                raise TableError(f"{what} has {np.ndim(by)} dimensions; give a column, or a label for each row.")
            column = frame_of({name: by}).columns[name]
            if len(column) != frame.n_rows:
                raise TableError(f"{what} has {len(column)} entries; the table has {frame.n_rows} rows.")
        labels = labels_of(column, name)
        return labels if self.rows.kept is None else labels[self.rows.kept]


def labels_of(column: Any, name: str) -> NDArray[Any]:
    """The group of each row, by a column; None where it is missing."""
    own = Nominal(name).learn(column)
    return np.array([*own.values, None, None], dtype=object)[own.encode(column)]


def ground_of(X: Any, y: Any, sample_weight: Any = None) -> EvaluationData:
    """Open a table and its classes; rows of weight 0 are left out."""
    rows = labelled(X, y, sample_weight)
    n_given = len(rows.y) if rows.kept is None else frame_of(X).n_rows
    if rows.weights is not None and not rows.weights.all():
        rows = rows.take(np.flatnonzero(rows.weights))
    source = memory(rows.frame, rows.y, rows.weights)
    target = Nominal(source.name, grows=True).learn(source.target)
    codes = target.encode(source.target, strict=True).astype(np.int64)
    return EvaluationData(rows, source, target, codes, n_given)
