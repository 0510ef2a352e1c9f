"""Asking an engine: a plan goes out, a small answer comes back, and a failure is told in one line."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.frames import Frame, frame_of_owner, is_missing
from countwise.engines import query as nw
from countwise.errors import CountwiseError, ReadError

__all__ = ["answered", "asked", "collected", "floats", "micros", "number_of", "rows_of_answer", "sum_of", "sums_of"]

_AGAIN = 0.05  # seconds after which an engine that did not stop is told again
_NOTHING = b"\0"  # no signal has this number


def asked(ask: Callable[[], Any], plan: Any = None) -> Any:
    """What an engine answers, unless Ctrl-C stops it."""
    handled = sys.exc_info()[1]  # what the caller is dealing with is no news
    try:
        with _watched(_stop_of(plan)):
            return ask()
    except BaseException as error:
        if not _is_ctrl_c(error, handled):
            raise
        with suppress(KeyboardInterrupt):  # Polars raises it twice: not again while a model is put right
            time.sleep(0)
        raise KeyboardInterrupt from error


def _is_ctrl_c(error: BaseException, handled: BaseException | None) -> bool:
    """Whether an error comes of Ctrl-C: DuckDB calls it a failure, Spark fails to fetch what it has cancelled."""
    met: BaseException | None = error
    while met is not None and met is not handled:
        if isinstance(met, KeyboardInterrupt) or "Query interrupted" in str(met) or "Interrupted!" in str(met):
            return True
        met = met.__context__
    return False


def _stop_of(plan: Any) -> Callable[[], None] | None:
    """What stops a query of DuckDB, also behind Ibis; None for engines that see to it themselves."""
    native: Any = plan.to_native() if hasattr(plan, "to_native") else plan
    home = type(native).__module__.partition(".")[0]
    connection: Any = None
    if home in ("duckdb", "_duckdb"):
        connection = getattr(native, "_con", None)  # a relation has no other name for it, and older ones none
    elif home == "ibis":
        with suppress(Exception):  # a table of no backend, or of several, is not our concern here
            connection = getattr(native.get_backend(), "con", None)
    return connection.interrupt if hasattr(connection, "interrupt") else None


@contextmanager
def _watched(stop: Callable[[], None] | None) -> Iterator[None]:
    """Call `stop` on Ctrl-C; where the program has other plans for the signal, it is left alone."""
    if (
        stop is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    here, there = socket.socketpair()
    there.setblocking(False)
    before = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    waiting = threading.Thread(target=_wait, args=(here, stop, before), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        try:
            signal.set_wakeup_fd(before)
        finally:
            there.close()  # which ends the thread; it must not hold the connection beyond the question
            waiting.join(1.0)


def _wait(here: socket.socket, stop: Callable[[], None], before: int) -> None:
    """Wait for signals, hand them on to who waited before, and stop the engine at Ctrl-C.

    The engine may still be preparing its work, and would forget that it was told to stop: it is told again until the
    question is over.
    """
    with here:
        while signals := _received(here):
            if before >= 0 and signals != _NOTHING:
                with suppress(OSError):
                    os.write(before, signals)
            if signal.SIGINT in signals:
                here.settimeout(_AGAIN)
            if here.gettimeout() is not None:
                stop()


def _received(here: socket.socket) -> bytes:
    """The signals that have come, if any before the time is over; nothing at all once the other end is closed."""
    try:
        return here.recv(64)
    except TimeoutError:
        return _NOTHING


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
    return answered(lambda: frame_of_owner(plan.collect().to_native()), plan)


def rows_of_answer(plan: Any) -> list[dict[str, Any]]:
    """The answer to a plan, row by row."""
    return answered(lambda: list(plan.collect().iter_rows(named=True)), plan)


def sums_of(plan: Any, columns: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    """The sums of new columns over all rows, and other aggregates."""
    asked = [nw.col(name).sum() for name in columns]
    (row,) = rows_of_answer(plan.with_columns(**columns).select(*asked, *more))
    return row | {name: sum_of(row[name]) for name in columns}


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
    at = nw.col(name).cast(nw.Datetime("us")).dt
    year = at.year().cast(nw.Float64) - 1.0
    days = year * 365.0 + (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor()
    seconds = (days + at.ordinal_day().cast(nw.Float64) - _DAYS_TO_1970) * 86400.0
    if dtype == nw.Date:
        return seconds * 1e6
    for part, size in ((at.hour, 3600.0), (at.minute, 60.0), (at.second, 1.0)):
        seconds = seconds + part().cast(nw.Float64) * size
    return seconds * 1e6 + at.microsecond().cast(nw.Float64)
