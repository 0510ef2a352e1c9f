"""The rows that learners are judged on: opened once, handed out in pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal
from countwise.data.frames import frame_of, series_of, taken
from countwise.data.output import rows_of
from countwise.errors import TableError
from countwise.feature_selection.labelled_table import Opened, opened
from countwise.sources import Memory
from countwise.sources.memory import memory

__all__ = ["EvaluationData", "EvaluationRows", "ground_of"]


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """A table with classes, in the kind of table that the user holds and as it is read here.

    Parameters
    ----------
    rows : Opened
        The table and its target apart; rows without a target are left out.
    source : Memory
        The same, opened.
    target : Nominal
        What the classes are.
    codes : ndarray of int
        The class of each row.
    n_given : int
        How many rows the user's table has, those that were left out among them.
    """

    rows: Opened
    source: Memory
    target: Nominal
    codes: Indices
    n_given: int

    @property
    def classes(self) -> tuple[Any, ...]:
        """In ascending order."""
        return tuple(self.target.values)

    def coded(self, labels: Any) -> Indices:
        """The place of each label among the classes."""
        return self.target.encode(series_of(labels)[0], strict=True).astype(np.int64)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def weights(self) -> NDArray[Any] | None:
        """Of the rows."""
        return self.rows.weights

    def piece(self, which: Indices) -> EvaluationRows:
        """Some rows, in the order given."""
        weights = None if self.source.weights is None else self.source.weights[which]
        frame, target = self.source.frame.take(which), taken(self.source.target, which)
        source = replace(self.source, frame=frame, target=target, weights=weights, places=which)
        return EvaluationRows(self, which, source, self.codes[which])

    def labels(self, by: Any, X: Any, what: str = "by") -> NDArray[Any]:
        """The group of each row: a column of the table, also one that learners did not see, or labels themselves."""
        from countwise.errors import did_you_mean, listed

        frame, name = frame_of(X), by if isinstance(by, str) else what
        if not isinstance(by, str):
            if np.ndim(by) > 1:
                raise TableError(f"{what} has {np.ndim(by)} dimensions; give a column, or a label for each row.")
            column = frame_of({name: by}).columns[name]
            if len(column) != frame.n_rows:
                raise TableError(f"{what} has {len(column)} entries; the table has {frame.n_rows} rows.")
        elif name in frame.columns:
            column = frame.columns[name]
        else:
            raise TableError(
                f"The table has no column {name!r} to tell groups by.",
                hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
            )
        own = Nominal(name).learn(column)
        labels = np.array([*own.values, None, None], dtype=object)[own.encode(column)]
        return labels if self.rows.kept is None else labels[self.rows.kept]


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """Some rows of the ground.

    Parameters
    ----------
    ground : EvaluationData
    which : ndarray of int
        Their numbers.
    source : Memory
        The rows, opened, with their classes.
    codes : ndarray of int
        The class of each.
    """

    ground: EvaluationData
    which: Indices
    source: Memory
    codes: Indices

    def __len__(self) -> int:
        return len(self.which)

    def between(self, start: int, stop: int) -> EvaluationRows:
        """Rows start to stop; nothing is copied."""
        if start <= 0 and stop >= len(self):
            return self
        part = slice(start, stop)
        weights = None if self.source.weights is None else self.source.weights[part]
        frame, target = self.source.frame.slice(start, stop), taken(self.source.target, part)  # type: ignore[arg-type]
        source = replace(self.source, frame=frame, target=target, weights=weights, places=self.which[part])
        return EvaluationRows(self.ground, self.which[part], source, self.codes[part])

    @property
    def table(self) -> Any:
        """The rows in the kind of table that the user gave."""
        return rows_of(self.ground.rows.X, self.which)

    @property
    def y(self) -> NDArray[Any]:
        """Their classes, as the user gave them."""
        return self.ground.rows.y[self.which]

    @property
    def weights(self) -> Floats | None:
        """Their weights."""
        given = self.ground.weights
        return None if given is None else given[self.which].astype(np.float64)


def ground_of(X: Any, y: Any, sample_weight: Any = None) -> EvaluationData:
    """Open a table and its classes.

    Parameters
    ----------
    X : any table
    y : array-like or str
        The class of each row, or the name of its column.
    sample_weight : array-like, optional
        Indices of weight 0 are left out.
    """
    rows = opened(X, y, sample_weight)
    n_given = len(rows.y) if rows.kept is None else frame_of(X).n_rows
    if rows.weights is not None and not rows.weights.all():
        keep = np.flatnonzero(rows.weights)
        kept = keep if rows.kept is None else rows.kept[keep]
        rows = Opened(rows_of(rows.X, keep), rows.frame.take(keep), rows.y[keep], rows.weights[keep], kept)
    source = memory(rows.frame, rows.y, rows.weights)
    target = Nominal(source.name, grows=True).learn(source.target)
    codes = target.encode(source.target, strict=True).astype(np.int64)
    return EvaluationData(rows, source, target, codes, n_given)
