"""Multithreading over fixed blocks of rows.

The kernels are single-threaded and release the global interpreter lock; only this module starts threads. The blocks
do not depend on the number of threads, and results are returned in block order. Any number of threads therefore gives
bit-identical results.
"""

from __future__ import annotations

import _thread
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")

_here = threading.local()


def thread_count() -> int:
    """Return the number of threads: ``COUNTWISE_THREADS`` if set, else the number of available CPUs."""
    wanted = os.environ.get("COUNTWISE_THREADS", "").strip()
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise ValueError(f"COUNTWISE_THREADS must be an integer >= 1, not {wanted!r}.")
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def over_items(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    threads: int | None = None,
    *,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """Return ``work(item)`` for every item, in the order of the items; the calls may run in any order.

    The calling thread does all the work if there is one item or one thread, or if the call is nested in another
    call's `work`. The first exception (in the order of the items) is raised, and items that have not started are
    skipped. `done` is called in the calling thread with the number of leading items that are finished.
    """
    waiting = list(items)
    count = min(thread_count() if threads is None else threads, len(waiting))
    if count <= 1 or getattr(_here, "working", False):
        return _inline(waiting, work, done)
    if done is None:
        return _shared(waiting, work, count)
    # Imported here because it imports logging, which takes longer than importing all kernels.
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(count, thread_name_prefix="countwise", initializer=_enter)
    try:
        futures = [pool.submit(work, item) for item in waiting]
        results = []
        for number, future in enumerate(futures, start=1):
            results.append(future.result())
            if done is not None:
                done(number)
        return results
    finally:
        # After Ctrl-C or an exception in `work`, wait only for the calls that are already running.
        pool.shutdown(wait=True, cancel_futures=True)


def over_blocks(
    n_rows: int,
    block: int,
    work: Callable[[int, int], Result],
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Return ``work(start, stop)`` for fixed blocks of rows, in block order.

    The block size must not depend on the number of threads (see the module docstring). `progress` is called in the
    calling thread with the number of rows that are finished.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, not {block}.")
    spans = [(start, min(start + block, n_rows)) for start in range(0, n_rows, block)]
    report = None if progress is None else _rows_of(spans, progress)
    return over_items(spans, lambda span: work(*span), threads, done=report)


def _rows_of(spans: Sequence[tuple[int, int]], progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda number: progress(spans[number - 1][1])


def _inline(
    items: Sequence[Item], work: Callable[[Item], Result], done: Callable[[int], None] | None
) -> list[Result]:
    results = []
    for number, item in enumerate(items, start=1):
        results.append(work(item))
        if done is not None:
            done(number)
    return results


def _shared(items: Sequence[Item], work: Callable[[Item], Result], threads: int) -> list[Result]:
    """Return the results of all items; every thread, including this one, takes the next item when it is free."""
    results: list[Result] = [None] * len(items)  # type: ignore[list-item]
    errors: dict[int, BaseException] = {}
    turn = itertools.count()

    def pull() -> None:
        while not errors and (i := next(turn)) < len(items):
            try:
                results[i] = work(items[i])
            except BaseException as error:  # Ctrl-C too: the other threads must stop; raised below
                errors[i] = error

    def helper(busy: Any) -> None:
        try:
            _enter()
            pull()
        finally:
            busy.release()

    helpers: list[Any] = []
    _here.working = True
    try:
        while len(helpers) < threads - 1 and (busy := _started(helper)):
            helpers.append(busy)
        pull()
    except BaseException as error:  # Ctrl-C between two items
        errors[-1] = error
    finally:
        _here.working = False
        for busy in helpers:
            busy.acquire()
    if errors:
        raise errors[min(errors)]
    return results


def _started(helper: Callable[[Any], None]) -> Any:
    """Return a lock that is held while the helper runs in a new thread, or None if no thread could be started."""
    busy = _thread.allocate_lock()
    busy.acquire()
    try:
        # Not threading.Thread: its start() waits until the thread runs, which is most of the cost here.
        _thread.start_new_thread(helper, (busy,))
    except RuntimeError:
        return None  # the threads already started do the work
    return busy


def _enter() -> None:
    # A nested call runs in the calling thread; otherwise every thread of a pool would start a pool.
    _here.working = True
