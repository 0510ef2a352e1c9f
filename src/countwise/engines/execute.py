"""Asking an engine: a plan goes out, a small answer comes back, and a failure is told in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.frames import Frame, frame_of, is_missing
from countwise.engines.interrupt import asked
from countwise.errors import CountwiseError, ReadError

__all__ = ["answered", "collected", "floats", "micros", "number_of", "rows_of_answer", "sum_of", "whole"]

_DAYS_TO_1970 = 719_163.0  # from the first day of the year 1


def answered(ask: Any, plan: Any = None) -> Any:
    """What an engine answers; what it says when it fails, in one line; Ctrl-C stops it."""
    try:
        return asked(ask, plan)
    except (CountwiseError, KeyboardInterrupt):
        raise
    except Exception as error:
        first = str(error).strip().split("\n")[0][:300]
        raise ReadError(f"The engine failed: {type(error).__name__}: {first}") from error


def collected(plan: Any) -> Frame:
    """The answer to a plan, in memory."""
    return answered(lambda: frame_of(plan.collect().to_native()), plan)


def rows_of_answer(plan: Any) -> list[dict[str, Any]]:
    """The answer to a plan, row by row."""
    return answered(lambda: list(plan.collect().iter_rows(named=True)), plan)


def sum_of(value: Any) -> float:
    """A sum of any engine as a number, which is 0 if there was nothing to add; Decimals and NumPy's too."""
    return 0.0 if is_missing(value) else float(value)


def number_of(value: Any) -> float:
    """A scalar of any engine as a number; one that is missing is an error, and never taken for 0."""
    if is_missing(value):
        raise ReadError("The engine gave no value where a number was expected.")
    return float(value)


def floats(column: Any) -> Floats:
    """A column of an answer as numbers; nothing is NaN."""
    return np.asarray(column, dtype=np.float64)


def whole(weights: Floats) -> NDArray[Any]:
    """Weights as integers, if they all are."""
    weights = np.nan_to_num(weights)
    return weights.astype(np.int64) if (weights == np.floor(weights)).all() else weights


def micros(name: str, dtype: Any) -> Any:
    """A column of points in time as microseconds since 1970; from its parts, which all engines know."""
    import narwhals.stable.v2 as nw

    at = nw.col(name).cast(nw.Datetime("us")).dt
    year = at.year().cast(nw.Float64) - 1.0
    days = year * 365.0 + (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor()
    seconds = (days + at.ordinal_day().cast(nw.Float64) - _DAYS_TO_1970) * 86400.0
    if dtype == nw.Date:
        return seconds * 1e6
    for part, size in ((at.hour, 3600.0), (at.minute, 60.0), (at.second, 1.0)):
        seconds = seconds + part().cast(nw.Float64) * size
    return seconds * 1e6 + at.microsecond().cast(nw.Float64)
