"""A table and its target, apart, in the kind of table that the user holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError, did_you_mean, listed
from countwise.frames import Coded, Frame, frame_of, is_sparse, series_of
from countwise.outputs import chosen

__all__ = ["opened"]


def opened(X: Any, y: Any) -> tuple[Any, Frame, NDArray[Any]]:
    """The table without its target, the same opened, and the target as an array."""
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
    if isinstance(target, Coded):
        table = np.array([*target.categories, None], dtype=object)
        target = table[target.codes]
        target = target.astype(str) if all(isinstance(v, str) for v in target) else target
    if not is_sparse(X) and not frame.columns:
        raise TableError(
            f"Found array with 0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is required."
        )
    if len(target) != frame.n_rows:
        raise TableError(
            f"Found input variables with inconsistent numbers of samples: {frame.n_rows} rows, {len(target)} targets."
        )
    return X, frame, target
