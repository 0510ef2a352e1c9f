"""A table and its target, apart, in the kind of table that the user holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.frames import Coded, Frame, frame_of, is_missing, is_sparse, series_of
from countwise.data.output import chosen, rows_of
from countwise.errors import TableError, did_you_mean, listed, warn
from countwise.sources.memory import weights_of

__all__ = ["Opened", "opened"]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
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


def opened(X: Any, y: Any, sample_weight: Any = None) -> Opened:
    """Take a table and its target apart; rows without a target are left out, with a warning."""
    frame = frame_of(X)
    if y is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, str):
        if y not in frame.columns:
            raise TableError(
                f"The table has no column {y!r} for the target.",
                hint=did_you_mean(y, frame.columns) or f"it has {listed(frame.columns)}.",
            )
        target: Any = frame.columns[y]
        X = chosen(X, frame, [place for place, name in enumerate(frame.names) if name != y])
        frame = frame.without(y)
    else:
        target, _ = series_of(y)
        if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
            target = target.ravel()
    if isinstance(target, Coded):
        table = np.array([*target.categories, None], dtype=object)
        target = table[target.codes]
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
    rows = _known(Opened(X, frame, target, weights_of(sample_weight, frame.n_rows)))
    return replace(rows, y=_plain(rows.y))


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Objects of one kind as an array of that kind, which scikit-learn asks of classes."""
    kinds = {type(value) for value in y.tolist()} if y.dtype == object else set()
    return np.array(y.tolist()) if len(kinds) == 1 and kinds <= {bool, int, float, str} else y


def _known(rows: Opened) -> Opened:
    """The rows whose target is known."""
    if rows.y.dtype.kind == "f":
        lost = np.isnan(rows.y)
    elif rows.y.dtype.kind == "O":
        lost = np.array([is_missing(value) for value in rows.y], dtype=bool)
    else:
        return rows
    if not lost.any():
        return rows
    warn(f"{int(lost.sum())} of {len(lost)} rows were left out: their target is missing.")
    keep = np.flatnonzero(~lost)
    weights = None if rows.weights is None else rows.weights[keep]
    return Opened(rows_of(rows.X, keep), rows.frame.take(keep), rows.y[keep], weights, keep)
