"""Asking an engine: a plan goes out, a small answer comes back, and a failure is told in one line."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError, ReadError
from countwise.frames import Frame, frame_of, is_missing

__all__ = ["answered", "collected", "floats", "number_of", "rows_of_answer", "whole"]


def answered(ask: Any) -> Any:
    """What an engine answers; what it says when it fails, in one line.

    Ctrl-C during a query reaches us in the words of the engine: DuckDB calls it a failure once it has cancelled the
    query, Spark fails to fetch what it has cancelled, and Polars raises it twice.
    """
    handled = sys.exc_info()[1]  # what the caller is dealing with is no news
    try:
        return ask()
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):  # what is still pending comes here, and not while a model is put right
            time.sleep(0)
        raise
    except CountwiseError:
        raise
    except Exception as error:
        met: BaseException | None = error
        while met is not None and met is not handled:
            words = str(met).removeprefix("INTERRUPT Error: ")
            if isinstance(met, KeyboardInterrupt) or words in ("Query interrupted", "Interrupted!"):
                raise KeyboardInterrupt from error
            met = met.__context__
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
