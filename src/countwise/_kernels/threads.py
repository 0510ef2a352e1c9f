"""Multithreading over fixed blocks of rows.

The kernels are single-threaded and release the global interpreter lock; only this module starts threads, for one call
at a time. The blocks do not depend on the number of threads, and results are returned in block order. Any number of
threads therefore gives bit-identical results.
"""

from __future__ import annotations

import _thread
import functools
import importlib.util
import itertools
import math
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

Item = TypeVar("Item")
Result = TypeVar("Result")

_here = threading.local()
_native: Any = None  # the compiled kernels, if they are in use
_limit = sys.maxsize


def use_kernels(native: Any) -> None:
    """Set the compiled module, whose kernels in helper threads are ended on Ctrl-C."""
    global _native
    _native = native


def thread_count() -> int:
    """Return the number of threads.

    This is ``COUNTWISE_THREADS`` if set, else the number of available CPUs, but at most ``OMP_NUM_THREADS``. The
    limit of threadpoolctl applies to both.
    """
    return min(_unlimited_count(), _limit)


def limit_threads(count: int) -> None:
    """Set the limit of threadpoolctl."""
    global _limit
    _limit = max(1, count) if count < _unlimited_count() else sys.maxsize


def _unlimited_count() -> int:
    count = _chosen("COUNTWISE_THREADS", strict=True)
    return min(_available_cpus(), _chosen("OMP_NUM_THREADS") or sys.maxsize) if count is None else count


def _available_cpus() -> int:
    """Return the number of CPUs that this process may use, by its affinity and by the quota of its container."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, _quota()))


def _chosen(variable: str, *, strict: bool = False) -> int | None:
    """Return an environment variable as a number of threads; OpenMP's may be a list by nesting level."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    first = text if strict else text.split(",")[0].strip()
    if first.isdecimal() and int(first) >= 1:
        return int(first)
    if strict:
        raise ValueError(f"{variable} must be an integer >= 1, not {text!r}.")
    return None


@functools.cache
def _quota(root: str = "/sys/fs/cgroup") -> int:
    """Return the number of CPUs of the container's quota, rounded up; Linux only."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = " ".join(Path(root, name).read_text() for name in files).split()
            if int(quota) > 0 and int(period) > 0:
                return math.ceil(int(quota) / int(period))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return sys.maxsize


def over_items(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    threads: int | None = None,
    *,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """Return ``work(item)`` for every item, in the order of the items; the calls may run in any order.

    The calling thread does all the work if there is one item or one thread, if the call is nested in another call's
    `work`, or if calls in other threads already use all threads. The first exception (in the order of the items) is
    raised, and items that have not started are skipped. `done` is called in the calling thread with the number of
    leading items that are finished. Ctrl-C ends the kernels that are running.
    """
    waiting = list(items)
    if len(waiting) <= 1 or threads == 1 or getattr(_here, "working", False):
        return _inline(waiting, work, done)
    most = thread_count() if threads is None else threads
    if most <= 1:
        return _inline(waiting, work, done)
    return _Team(waiting, work, done).run(most)


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


class _Team(Generic[Item, Result]):
    """The calling thread and its helpers; each takes the next item when it is free."""

    def __init__(
        self, items: Sequence[Item], work: Callable[[Item], Result], done: Callable[[int], None] | None
    ) -> None:
        self.items, self.work, self.done = items, work, done
        self.results: list[Any] = [None] * len(items)
        self.finished = bytearray(len(items) + 1)  # ends with 0
        self.reported = 0
        self.errors: dict[int, BaseException] = {}
        self.stopped_by: BaseException | None = None
        self.stop = bytearray(1)  # read by the kernels of the helpers
        self.ended: set[Any] = set()  # locks of the helpers that have ended
        self.turn = itertools.count()

    def run(self, most: int) -> list[Result]:
        helpers: list[Any] = []
        try:
            _here.working = True
            size = _claim(min(most, len(self.items)), most)
            while len(helpers) < size - 1 and (busy := self.started()):
                helpers.append(busy)
            self.pull(report=True)
        except BaseException as error:  # Ctrl-C, in a kernel or between two items
            self.halt(error)
        finally:
            _here.working = False
            for busy in helpers:
                self.wait_for(busy)
            _release()
        if self.stopped_by is not None:
            raise self.stopped_by
        if self.errors:
            raise self.errors[min(self.errors)]
        self.report()
        return self.results

    def pull(self, *, report: bool = False) -> None:
        items, work, results, errors, stop, turn = (
            self.items, self.work, self.results, self.errors, self.stop, self.turn
        )  # fmt: skip
        while not errors and not stop[0] and (i := next(turn)) < len(items):
            try:
                results[i] = work(items[i])
            except Exception as error:  # raised by the calling thread
                errors[i] = error
                return
            if self.done is not None:
                self.finished[i] = 1
                if report:
                    self.report()

    def report(self) -> None:
        """Report the leading items that are finished, if there are more than at the last time."""
        if self.done is not None and (number := self.finished.index(0, self.reported)) > self.reported:
            self.reported = number
            self.done(number)

    def halt(self, error: BaseException) -> None:
        """End the kernels of the helpers; the error is raised when they have ended."""
        self.stop[0] = 1
        self.stopped_by = self.stopped_by or error

    def started(self) -> Any:
        """Return a lock that is held while a helper runs in a new thread, or None if no thread could be started."""
        busy = _thread.allocate_lock()
        busy.acquire()
        try:
            # Not threading.Thread: its start() waits until the thread runs, which is most of the cost here.
            _thread.start_new_thread(self.help, (busy,))
        except RuntimeError:
            return None  # the threads already started do the work
        return busy

    def help(self, busy: Any) -> None:
        try:
            _here.working = True  # a nested call runs in the calling thread
            if _native is not None:
                _native.set_stop_flag(self.stop)
            self.pull()
        except BaseException as error:  # KeyboardInterrupt of a kernel that was ended, or SystemExit
            self.halt(error)
        finally:
            if _native is not None:
                _native.set_stop_flag(None)
            self.ended.add(busy)
            busy.release()

    def wait_for(self, busy: Any) -> None:
        while busy not in self.ended:
            try:
                busy.acquire()
            except BaseException as error:  # Ctrl-C, while waiting or just after
                self.halt(error)


# The number of threads at work in each thread's call. With several calls at a time, for example from joblib's
# threads, there are hardly more threads than with one.
_teams: dict[int, int] = {}
_lock = _thread.allocate_lock()


def _claim(wanted: int, most: int) -> int:
    """Return the number of threads of a call, including the calling thread; to be released."""
    me = _thread.get_ident()
    with _lock:
        others = sum(size for caller, size in _teams.items() if caller != me)
        _teams[me] = max(1, min(wanted, most - others))
        return _teams[me]


def _release() -> None:
    with _lock:
        _teams.pop(_thread.get_ident(), None)


def _after_fork() -> None:
    """Forget the other threads: they do not exist in the new process."""
    global _lock
    _lock = _thread.allocate_lock()
    _teams.clear()
    _here.working = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def heed_threadpoolctl() -> None:
    """Register with threadpoolctl, so that ``threadpool_limits`` applies to the kernels, now or when it is imported.

    It is not imported for this: that takes longer than importing all kernels.
    """
    if "threadpoolctl" in sys.modules:
        _register(sys.modules["threadpoolctl"])
    else:
        sys.meta_path.insert(0, _Importer)


class _Importer:
    """Finds threadpoolctl as usual, and registers after it is loaded."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "threadpoolctl":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                _register(module)

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def _register(threadpoolctl: Any) -> None:
    if not hasattr(threadpoolctl, "register"):  # before version 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        """The number of threads of the kernels."""

        user_api = internal_api = "countwise"
        filename_prefixes = ("_native",)
        check_symbols = ("countwise_kernels",)

        def get_num_threads(self) -> int:
            return thread_count()

        def set_num_threads(self, num_threads: int) -> None:
            limit_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(Controller)
