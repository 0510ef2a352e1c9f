"""Work that is shared out to other processes, of which each has its share of the processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from countwise._kernels.threads import thread_count
from countwise.errors import CountwiseError, OptionError

__all__ = ["elsewhere", "over_processes", "processes_of"]

_THREADS = ("COUNTWISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_shared: list[Any] = []  # in another process: what all tasks need, sent once

Work = Callable[[Any, Any, Callable[[], None]], Any]


def processes_of(n_jobs: int | None) -> int:
    """How many processes are asked for.

    Parameters
    ----------
    n_jobs : int or None
        None is this process alone, -1 one for each processor.
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise OptionError(f"n_jobs must be a whole number of at least 1, or -1, not {n_jobs!r}.")
    return thread_count() if n_jobs == -1 else int(n_jobs)


def over_processes(
    work: Work, shared: Any, tasks: Sequence[tuple[Any, int]], processes: int, tell: Callable[[], None]
) -> Iterator[tuple[Any, Any]]:
    """Each task and what came of it, as they come.

    Parameters
    ----------
    work : function of (shared, task, tell)
        Of a module, so that other processes find it; it calls `tell` at each step.
    shared : object
        What all tasks need; it travels once to each process.
    tasks : sequence of (task, int)
        Each with the number of its steps.
    processes : int
        1 is this one.
    tell : function
        Called at each step; of steps in other processes when their task is done.
    """
    processes = min(processes, len(tasks))
    if processes <= 1:
        for task, _ in tasks:
            yield task, work(shared, task, tell)
        return
    from concurrent.futures import FIRST_COMPLETED, wait
    from itertools import islice

    from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]

    threads = str(max(1, thread_count() // processes))
    pool = ProcessPoolExecutor(
        processes, initializer=_begin, initargs=(shared,), env=dict.fromkeys(_THREADS, threads)
    )
    waiting = iter(tasks)
    asked: dict[Any, tuple[Any, int]] = {}
    try:
        while True:
            # no more than are worked on: what waits in the pool would be in the way of stopping it
            for task, steps in islice(waiting, processes - len(asked)):
                asked[_answer_of(partial(pool.submit, _there, work, task))] = task, steps
            if not asked:
                return
            for answer in wait(asked, return_when=FIRST_COMPLETED).done:
                task, steps = asked.pop(answer)
                found = _answer_of(answer.result)
                for _ in range(steps):
                    tell()
                yield task, found
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _answer_of(ask: Callable[[], Any]) -> Any:
    """What raises here is the way to the other process: work there tells of its failures itself."""
    try:
        return ask()
    except Exception as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise CountwiseError(
            f"Another process ended without an answer: {type(error).__name__}: {reason}.",
            hint="leave n_jobs out to work in this one; was there memory for all, and can the estimator be pickled?",
        ) from error


def elsewhere() -> bool:
    """Whether this is a process that was started for others' work."""
    return bool(_shared)


def _begin(shared: Any) -> None:
    """Ctrl-C goes to all processes of a terminal; the one that started the others stops them."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared.append(shared)


def _there(work: Work, task: Any) -> Any:
    return work(_shared[0], task, lambda: None)
