"""A table and its target, apart, in the kind of table that the user holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.frames import Coded, Column, Frame, frame_of, is_missing, is_sparse, series_of
from countwise.data.output import chosen, rows_of
from countwise.errors import TableError, did_you_mean, listed, warn
from countwise.sources.memory import weights_of

__all__ = ["LabelledTable", "apart", "column_of", "labelled"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table without its target, the same opened, the target as an array, and the weights.

    `kept` are the places of the rows in the user's table; None if none was left out.
    """

    X: Any
    frame: Frame
    y: NDArray[Any]
    weights: NDArray[Any] | None
    kept: NDArray[Any] | None = None

    @property
    def d(self) -> int:
        """The number of attributes."""
        return int(self.X.shape[1]) if is_sparse(self.X) else len(self.frame.columns)

    def take(self, rows: NDArray[Any]) -> LabelledTable:
        """Some rows."""
        weights = None if self.weights is None else self.weights[rows]
        kept = rows if self.kept is None else self.kept[rows]
        return LabelledTable(rows_of(self.X, rows), self.frame.take(rows), self.y[rows], weights, kept)


def labelled(X: Any, y: Any, sample_weight: Any = None) -> LabelledTable:
    """Take a table and its target apart; rows without a target are left out, with a warning."""
    if y is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    X, frame, target, _ = apart(X, frame_of(X), y)
    if isinstance(target, Coded):
        target = np.array([*target.categories, None], dtype=object)[target.codes]
    if not is_sparse(X) and not frame.columns:
        raise TableError(
            f"Found array with 0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is required."
        )
    if frame.n_rows == 0:
        raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
    if len(target) != frame.n_rows:
        raise TableError(
            f"Found input variables with inconsistent numbers of samples: {frame.n_rows} rows, {len(target)} targets."
        )
    rows = LabelledTable(X, frame, target, weights_of(sample_weight, frame.n_rows))
    lost = _missing(target)
    if lost.any():
        warn(f"{int(lost.sum())} of {len(lost)} rows were left out: their target is missing.")
        rows = rows.take(np.flatnonzero(~lost))
    return replace(rows, y=_plain(rows.y))


def apart(X: Any, frame: Frame, y: Any) -> tuple[Any, Frame, Column, str | None]:
    """The table without its target, the same opened, the target, and its name; `y` may name a column."""
    if isinstance(y, str):
        target = column_of(frame, y, "for the target")
        places = [place for place, name in enumerate(frame.names) if name != y]
        return chosen(X, frame, places), frame.without(y), target, y
    target, name = series_of(y)
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        target = target.ravel()
    return X, frame, target, None if name is None else str(name)


def column_of(frame: Frame, name: str, what: str = "") -> Column:
    """A column by its name; `what` says in an error what it is for."""
    if name not in frame.columns:
        raise TableError(
            f"The table has no column {name!r}{' ' * bool(what)}{what}.",
            hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
        )
    return frame.columns[name]


def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind == "O":
        return np.array([is_missing(value) for value in y], dtype=bool)
    return np.zeros(len(y), dtype=bool)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Objects of one kind as an array of that kind, which scikit-learn asks of classes."""
    kinds = {type(value) for value in y.tolist()} if y.dtype == object else set()
    return np.array(y.tolist()) if len(kinds) == 1 and kinds <= {bool, int, float, str} else y
