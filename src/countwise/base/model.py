"""Base class of all fitted models, and the warnings that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from countwise._typing import Flags
from countwise.base.protocol import Estimator, refuse_unfitted
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame
from countwise.data.output import dense
from countwise.data.schema import Schema, field_types
from countwise.errors import CountwiseError, OptionError, TableError, check_value, listed, warn
from countwise.sources import Memory, open_whole
from countwise.working import Grid, Section
from countwise.working.numbers import RowNumbers, counted

__all__ = [
    "Model",
    "note_identifiers",
    "note_many_classes",
    "note_skipped",
    "restore_on_error",
    "row_numbers_section",
    "rows_counted_from",
]


class Model(Estimator):
    """Estimator with a schema of the training columns; it refuses to predict before it is fitted."""

    schema_: Schema
    target_: Any
    n_rows_: int
    _learned: tuple[str, ...] = ()  # private attributes set by fit

    def _check_fitted(self, *, answers: bool = True) -> None:
        """Raise an error if the model is not fitted."""
        refuse_unfitted(self)

    @property
    def _training_size(self) -> str:
        """Return how much the model was trained on, for summaries: ``14 rows, 4 attributes``."""
        return f"{counted(self.n_rows_, 'row')}, {counted(len(self.schema_), 'attribute')}"

    def _open(self, X: Any) -> Frame:
        """Open the rows to predict and match their columns to those of training."""
        self._check_fitted()
        # used in predictions, and can be changed after fit
        check_value("unseen", getattr(self, "unseen", "ignore"), ("ignore", "share", "error"))
        return self.schema_.opened(X)

    def _training_rows(self, rows: Any) -> Memory | None:
        """Return the training rows that the user passed to `explain`; None if none are wanted."""
        if rows is None or rows is False:
            return None
        name = self.target_.name
        if rows is True:
            raise OptionError(
                f"{type(self).__name__} keeps no training rows.",
                hint=f"pass the training table with the column {name!r}, or (X, y): rows=table.",
            )
        X, y = rows if isinstance(rows, tuple) and len(rows) == 2 else (rows, name)
        found = open_whole(dense(X), y, numbers=getattr(self, "_numbers", False), types=field_types(self.schema_))
        if found.n_rows != self.n_rows_ and getattr(self, "missing", None) != "complete":
            raise TableError(
                f"rows has {counted(found.n_rows, 'row')} with a target; the model was trained on {self.n_rows_}.",
                hint="pass the table that was used for training.",
            )
        return replace(found, frame=found.matched(self.schema_))

    @staticmethod
    def _names(frame: Frame) -> dict[str, Any]:
        """Return the attributes `n_features_in_` and `feature_names_in_` of scikit-learn."""
        sizes = [c.shape[1] if getattr(c, "ndim", 1) == 2 else 1 for c in frame.columns.values()]
        found: dict[str, Any] = {"n_features_in_": int(sum(sizes))}
        if frame.named:
            found["feature_names_in_"] = np.array(frame.names, dtype=object)
        return found

    def _forget_all(self) -> None:
        """Delete all learned attributes."""
        for name in [n for n in vars(self) if n in self._learned or (n.endswith("_") and not n.startswith("_"))]:
            delattr(self, name)


@contextmanager
def rows_counted_from(start: int) -> Iterator[None]:
    """Make errors about a row of a slice name the row of the whole frame."""
    try:
        yield
    except CountwiseError as error:
        raise error if error.row is None else error.at(error.row + start) from None


@contextmanager
def restore_on_error(model: Any) -> Iterator[None]:
    """Restore the model if fitting fails or is interrupted."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def row_numbers_section(counts: Sequence[tuple[str, Flags]], rows: Memory, *notes: str) -> Section:
    """Return the section of a working with the numbers of the training rows behind each count."""
    places = np.arange(rows.n_rows) if rows.places is None else rows.places
    numbers = [RowNumbers(places[found].tolist()) for _, found in counts]
    table = Grid({"count of": [what for what, _ in counts], "rows": list(map(len, numbers)), "row numbers": numbers})
    return Section("Training rows behind each count, numbered from 0", table, notes)


def note_identifiers(schema: Schema, n_rows: int) -> None:
    """Warn about nominal columns with a different value in nearly every row."""
    looks = [
        a.name
        for a in schema.attributes
        if isinstance(a, Nominal) and a.grows and not a.fixed
        if n_rows >= 100 and len(a.values) > 0.9 * n_rows
    ]
    if looks:
        warn(
            f"{listed(looks)} look{'s' * (len(looks) == 1)} like an identifier: "
            "nearly every row has a different value. Hint: drop the column, or declare it as text."
        )


def note_many_classes(target: Nominal, n_rows: int) -> None:
    """Warn about a numeric target with nearly as many classes as rows."""
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in target.values)
    if numeric and n_rows >= 100 and len(target.values) > max(20, 0.1 * n_rows):
        warn(
            f"The target {target.name!r} has {len(target.values)} distinct numbers in {n_rows} rows, "
            "and each is treated as a class. Hint: discretize the target first, or use a regressor."
        )


def note_skipped(skipped: int, n_rows: int, target: str) -> None:
    """Warn about rows with a missing target."""
    if skipped:
        warn(f"{skipped} of {n_rows} rows were skipped: their target {target!r} is missing.")
