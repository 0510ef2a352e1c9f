"""Threads over fixed blocks of rows.

The kernels are single-threaded and release the interpreter's lock; parallelism is here and only here.
A block's rows never depend on the number of threads, and results come back in block order,
so that what is computed from them is equal to the last bit for any number of threads.
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
    """The number of threads to use: ``COUNTWISE_THREADS``, else the CPUs this process may run on."""
    wanted = os.environ.get("COUNTWISE_THREADS", "").strip()
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise ValueError(f"COUNTWISE_THREADS is {wanted!r}; it must be a whole number of at least 1.")
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
    """The results of ``work(item)`` for every item, in the items' order; there is none in which the work happens.

    One item, one thread, or a call from within another call's `work` runs in the calling thread. The first exception
    (in the items' order) is raised; what had not begun is dropped. `done` is called in the calling thread with the
    number of leading items that are finished.
    """
    waiting = list(items)
    count = min(thread_count() if threads is None else threads, len(waiting))
    if count <= 1 or getattr(_here, "working", False):
        return _inline(waiting, work, done)
    if done is None:
        return _shared(waiting, work, count)
    # Imported late: it brings logging with it, which costs more than all kernels' import.
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
        # Also the way out of Ctrl-C and of an exception in `work`: only what runs already is waited for.
        pool.shutdown(wait=True, cancel_futures=True)


def over_blocks(
    n_rows: int,
    block: int,
    work: Callable[[int, int], Result],
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """The results of ``work(start, stop)`` over fixed blocks of rows, in the blocks' order.

    The block must not be made to depend on the number of threads: see the module's docstring. `progress` is called in
    the calling thread with the number of rows done so far.
    """
    if block < 1:
        raise ValueError(f"a block has at least 1 row, not {block}")
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
    """The same, by threads of which each takes the next item when it is free; the calling thread is one of them."""
    results: list[Result] = [None] * len(items)  # type: ignore[list-item]
    errors: dict[int, BaseException] = {}
    turn = itertools.count()

    def pull() -> None:
        while not errors and (i := next(turn)) < len(items):
            try:
                results[i] = work(items[i])
            except BaseException as error:  # Ctrl-C too: the others must stop, and it is raised below
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
    """A lock that is held while the helper runs in a thread of its own; None if the system has no thread to give."""
    busy = _thread.allocate_lock()
    busy.acquire()
    try:
        # not threading.Thread: its start() waits until the thread runs, which here is most of what it costs
        _thread.start_new_thread(helper, (busy,))
    except RuntimeError:
        return None  # those that there are do the work
    return busy


def _enter() -> None:
    # A nested call would start a pool in every thread of a pool; it runs in line instead.
    _here.working = True
