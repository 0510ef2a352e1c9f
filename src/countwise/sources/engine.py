"""Asking an engine: a plan goes out, a small answer comes back, and a failure is told in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError, ReadError
from countwise.frames import Frame, frame_of, is_missing
from countwise.sources.stopping import asked

__all__ = ["answered", "collected", "floats", "number_of", "rows_of_answer", "whole"]


def answered(ask: Any) -> Any:
    """What an engine answers; what it says when it fails, in one line; Ctrl-C stops it."""
    try:
        return asked(ask)
    except (CountwiseError, KeyboardInterrupt):
        raise
    except Exception as error:
        first = str(error).strip().split("\n")[0][:300]
        raise ReadError(f"The engine failed: {type(error).__name__}: {first}") from error


def collected(plan: Any) -> Frame:
    """The answer to a plan, in memory."""
    return answered(lambda: frame_of(plan.collect().to_native()))


def rows_of_answer(plan: Any) -> list[dict[str, Any]]:
    """The answer to a plan, row by row."""
    return answered(lambda: list(plan.collect().iter_rows(named=True)))


def number_of(value: Any) -> float:
    """A scalar of any engine as a number: None, NaN, NA, Decimal and NumPy's come by one gate."""
    return 0.0 if is_missing(value) else float(value)


def floats(column: Any) -> NDArray[np.float64]:
    """A column of an answer as numbers; nothing is NaN."""
    return np.asarray(column, dtype=np.float64)


def whole(weights: NDArray[np.float64]) -> NDArray[Any]:
    """Weights as integers, if they all are."""
    weights = np.nan_to_num(weights)
    return weights.astype(np.int64) if (weights == np.floor(weights)).all() else weights
