"""Execution of queries: collect a plan, convert errors of the engine, and handle Ctrl-C."""

from __future__ import annotations

import datetime
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
from countwise.data.weights import MOST_EXACT
from countwise.engines import query as nw
from countwise.errors import CountwiseError, ReadError, SchemaError

__all__ = [
    "collected",
    "executed",
    "floats",
    "in_utc",
    "is_date",
    "micros",
    "number_of",
    "rows_of_answer",
    "sum_of",
    "sums_of",
]

_AGAIN = 0.05  # seconds after which an engine that did not stop is interrupted again
_NOTHING = b"\0"  # no signal has this number


def _interruptible(run: Callable[[], Any], plan: Any = None) -> Any:
    """Run a query; Ctrl-C interrupts it."""
    handled = sys.exc_info()[1]  # an error that the caller is already handling
    try:
        with _watched(_stop_of(plan)):
            return run()
    except BaseException as error:
        if not _is_ctrl_c(error, handled):
            raise
        with suppress(KeyboardInterrupt):  # Polars raises it twice; the second must not interrupt the cleanup
            time.sleep(0)
        raise KeyboardInterrupt from error


def _is_ctrl_c(error: BaseException, handled: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error: DuckDB and Spark raise errors of their own."""
    cause: BaseException | None = error
    while cause is not None and cause is not handled:
        if isinstance(cause, KeyboardInterrupt) or "Query interrupted" in str(cause) or "Interrupted!" in str(cause):
            return True
        cause = cause.__context__
    return False


def _stop_of(plan: Any) -> Callable[[], None] | None:
    """Return the function that interrupts a query of DuckDB, also through Ibis; None for other engines."""
    native: Any = plan.to_native() if hasattr(plan, "to_native") else plan
    home = type(native).__module__.partition(".")[0]
    connection: Any = None
    if home in ("duckdb", "_duckdb"):
        connection = getattr(native, "_con", None)  # there is no public attribute; older versions have none
    elif home == "ibis":
        with suppress(Exception):  # a table without a backend, or with several
            connection = getattr(native.get_backend(), "con", None)
    return connection.interrupt if hasattr(connection, "interrupt") else None


@contextmanager
def _watched(stop: Callable[[], None] | None) -> Iterator[None]:
    """Call `stop` on Ctrl-C, unless the program has its own handler of the signal."""
    if (
        stop is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    waiting = threading.Thread(target=_wait, args=(receiver, stop, before), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        try:
            signal.set_wakeup_fd(before)
        finally:
            sender.close()  # ends the thread, which must not keep the connection after the query
            waiting.join(1.0)


def _wait(receiver: socket.socket, stop: Callable[[], None], before: int) -> None:
    """Wait for signals, pass them on to the previous receiver, and interrupt the engine on Ctrl-C.

    An engine that is still preparing the query ignores the interrupt. It is therefore repeated until the query ends.
    """
    with receiver:
        while signals := _received(receiver):
            if before >= 0 and signals != _NOTHING:
                with suppress(OSError):
                    os.write(before, signals)
            if signal.SIGINT in signals:
                receiver.settimeout(_AGAIN)
            if receiver.gettimeout() is not None:
                stop()


def _received(receiver: socket.socket) -> bytes:
    """Return the signals received before the timeout; empty when the other end is closed."""
    try:
        return receiver.recv(64)
    except TimeoutError:
        return _NOTHING


_EPOCH = datetime.datetime(1970, 1, 1)
_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00")
_DAYS_TO_1970 = 719_163.0  # from the first day of the year 1


def executed(run: Any, plan: Any = None) -> Any:
    """Run a query; an error of the engine raises a ReadError with the first line of its message."""
    try:
        return _interruptible(run, plan)
    except (CountwiseError, KeyboardInterrupt):
        raise
    except Exception as error:
        first = str(error).strip().split("\n")[0][:300].rstrip(".")
        raise ReadError(f"The query failed in the engine: {type(error).__name__}: {first}.") from error


def collected(plan: Any) -> Frame:
    """Run a query and return its result in memory."""
    return executed(lambda: frame_of_owner(plan.collect().to_native()), plan)


def rows_of_answer(plan: Any) -> list[dict[str, Any]]:
    """Run a query and return the rows of its result."""
    return executed(lambda: list(plan.collect().iter_rows(named=True)), plan)


def sums_of(plan: Any, columns: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    """Return the sums of computed columns over all rows, and other aggregates."""
    sums = [nw.col(name).sum() for name in columns]
    (row,) = rows_of_answer(plan.with_columns(**columns).select(*sums, *more))
    return row | {name: sum_of(row[name]) for name in columns}


def sum_of(value: Any) -> float:
    """Convert a sum of any engine, such as a Decimal, to a float; the sum of nothing is 0."""
    return 0.0 if is_missing(value) else float(value)


def number_of(value: Any) -> float:
    """Convert a scalar of any engine to a float; a missing value is an error."""
    if is_missing(value):
        raise ReadError("The engine returned a missing value where a number is required.")
    return float(value)


def floats(column: Any) -> Floats:
    """Convert a column of a result to floats, NaN where a value is missing."""
    return np.asarray(column, dtype=np.float64)


def whole(weights: Floats) -> NDArray[Any]:
    """Convert weights to integers if all are integral, and their sum is exact."""
    weights = np.nan_to_num(weights)
    integral = (weights == np.floor(weights)).all() and float(weights.max(initial=0.0)) <= MOST_EXACT
    return weights.astype(np.int64) if integral else weights


def micros(column: Any, dtype: Any) -> Any:
    """Convert dates in UTC to microseconds since 1970, and durations and times of day to microseconds.

    Dates are converted from the year, day, ..., which all engines support.
    """
    if isinstance(dtype, nw.Duration) or dtype == nw.Duration:
        return column.dt.total_microseconds().cast(nw.Float64)
    if dtype == nw.Time:
        return _time_of_day(column.dt, nw.lit(0.0))
    at = column.cast(nw.Datetime("us")).dt
    year = at.year().cast(nw.Float64) - 1.0
    days = year * 365.0 + (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor()
    seconds = (days + at.ordinal_day().cast(nw.Float64) - _DAYS_TO_1970) * 86400.0
    return seconds * 1e6 if dtype == nw.Date else _time_of_day(at, seconds)


def in_utc(name: str, dtype: Any, frame: Any) -> Any:
    """Return a column; times with a time zone are converted to times in UTC without one."""
    column, zone = nw.col(name), getattr(dtype, "time_zone", None)
    if zone is None:
        return column
    if zone in _UTC:
        return column.dt.replace_time_zone(None)
    if frame.implementation.is_duckdb():
        # DuckDB gives the hour in the time zone of the connection, which narwhals cannot convert
        return nw.lit(_EPOCH) + (column - nw.lit(_EPOCH.replace(tzinfo=datetime.UTC)))
    if frame.implementation.is_ibis() or frame.implementation.is_spark_like():
        raise SchemaError(
            f"{name!r} has times with the time zone {zone!r}, which this engine cannot convert to UTC.",
            hint="set the time zone of the session to UTC, or convert the column to times in UTC.",
        )
    return column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def is_date(dtype: Any) -> bool:
    """Return whether a dtype of an engine has dates, with or without a time, rather than durations."""
    return bool(dtype == nw.Date or dtype == nw.Datetime)


def _time_of_day(at: Any, seconds: Any) -> Any:
    """Add the time of day to an expression of seconds; return microseconds."""
    for part, size in ((at.hour, 3600.0), (at.minute, 60.0), (at.second, 1.0)):
        seconds = seconds + part().cast(nw.Float64) * size
    return seconds * 1e6 + at.microsecond().cast(nw.Float64)
