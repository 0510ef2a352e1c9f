"""Work that is shared out by joblib, in processes of which each has its share of the processors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from countwise._kernels.threads import thread_count
from countwise.errors import CountwiseError, OptionError

__all__ = ["elsewhere", "over_processes", "processes_of"]

_started_by: set[int] = set()  # the process for which this one works

Work = Callable[[Any, Any, Callable[[], None]], Any]


def processes_of(n_jobs: int | None) -> int:
    """How many processes are asked for: -1 is one for each processor, -2 one less.

    None is this process alone, or what `joblib.parallel_config` says.
    """
    if n_jobs is None:
        joblib = sys.modules.get("joblib")
        return 1 if joblib is None else int(joblib.effective_n_jobs(None))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(f"n_jobs must be a whole number other than 0, not {n_jobs!r}.")
    return max(1, thread_count() + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


def over_processes(
    work: Work, shared: Any, tasks: Sequence[tuple[Any, int]], processes: int, tell: Callable[[], None]
) -> Iterator[tuple[Any, Any]]:
    """Each task and its result, as they come; tasks have the number of their steps, and one process is this one.

    `work` is a function of a module, so that other processes find it. It gets `shared`, which each process reads
    once, and calls `tell` at each step; for steps in other processes it is called when their task is done.
    """
    processes = min(processes, len(tasks))
    if processes <= 1:
        for task, _ in tasks:
            yield task, work(shared, task, tell)
        return
    import tempfile
    import warnings

    from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]
    from joblib.parallel import get_active_backend  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="countwise-") as folder:
        results: Any = iter(())
        try:
            path, threads = _written(shared, folder), max(1, thread_count() // processes)
            alone = get_active_backend()[0].supports_inner_max_num_threads  # not where the user chose threads
            with parallel_config("loky", inner_max_num_threads=threads) if alone else nullcontext():
                # no more tasks than are worked on: those that wait would be in the way of Ctrl-C
                pool = Parallel(processes, return_as="generator_unordered", pre_dispatch=processes, batch_size=1)
            results = pool(
                delayed(_there)(work, path, i, task, threads, os.getpid()) for i, (task, _) in enumerate(tasks)
            )
            for i, found in results:
                for _ in range(tasks[i][1]):
                    tell()
                yield tasks[i][0], found
        except Exception as error:  # of the way there and back: `work` tells of its own failures
            reason = str(error).strip().split("\n")[0].rstrip(".")
            raise CountwiseError(
                f"Another process ended without an answer: {type(error).__name__}: {reason}.",
                hint="leave n_jobs out to work in this one. Was there enough memory? Can the estimator be pickled?",
            ) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that tasks are left over is meant
                getattr(results, "close", bool)()


def elsewhere() -> bool:
    """Whether this is a process that was started for another's work."""
    return bool(_started_by - {os.getpid()})


def _written(shared: Any, folder: str) -> Path:
    """What all tasks need, in a file; cloudpickle carries classes of the user's own session."""
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:  # joblib before 1.6 has its own
        from joblib.externals import cloudpickle  # type: ignore[import-untyped]
    path = Path(folder, "shared.pickle")
    path.write_bytes(cloudpickle.dumps(shared))
    return path


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:
    import pickle

    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the process that started this one


def _there(work: Work, path: Path, i: int, task: Any, threads: int, parent: int) -> tuple[int, Any]:
    _started_by.add(parent)
    if elsewhere():
        import signal

        # Ctrl-C goes to all processes of a terminal; the one that started the others stops them
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ["COUNTWISE_THREADS"] = str(threads)
    return i, work(_read(path), task, lambda: None)
