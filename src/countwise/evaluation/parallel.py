"""Parallel work with joblib; the processors are divided among the worker processes."""

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

_started_by: set[int] = set()  # id of the process that started this worker

Work = Callable[[Any, Any, Callable[[], None]], Any]


def processes_of(n_jobs: int | None) -> int:
    """Return the number of processes for `n_jobs`: -1 is one for each processor, -2 one less.

    None is one process, or the number that `joblib.parallel_config` sets.
    """
    if n_jobs is None:
        joblib = sys.modules.get("joblib")
        return 1 if joblib is None else int(joblib.effective_n_jobs(None))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(f"n_jobs must be an integer other than 0, or None, not {n_jobs!r}.")
    return max(1, thread_count() + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


def over_processes(
    work: Work, shared: Any, tasks: Sequence[tuple[Any, int]], processes: int, advance: Callable[[], None]
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with its result, in the order of completion; one process means the current one.

    `tasks` contains pairs of a task and its number of steps. `work` must be a module-level function, so that worker
    processes can import it. It receives `shared`, which each process reads once, and calls `advance` after each step;
    in worker processes `advance` is called for all steps when the task is finished.
    """
    processes = min(processes, len(tasks))
    if processes <= 1:
        for task, _ in tasks:
            yield task, work(shared, task, advance)
        return
    import tempfile
    import warnings

    from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]
    from joblib.parallel import get_active_backend  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="countwise-") as folder:
        results: Any = iter(())
        try:
            path, threads = _written(shared, folder), max(1, thread_count() // processes)
            alone = get_active_backend()[0].supports_inner_max_num_threads  # False for the threading backend
            with parallel_config("loky", inner_max_num_threads=threads) if alone else nullcontext():
                # dispatch no more tasks than processes: waiting tasks would delay Ctrl-C
                pool = Parallel(processes, return_as="generator_unordered", pre_dispatch=processes, batch_size=1)
            results = pool(
                delayed(_run_task)(work, path, i, task, threads, os.getpid()) for i, (task, _) in enumerate(tasks)
            )
            for i, found in results:
                for _ in range(tasks[i][1]):
                    advance()
                yield tasks[i][0], found
        except Exception as error:  # from joblib or pickle: `work` handles the errors of learners itself
            reason = str(error).strip().split("\n")[0].rstrip(".")
            raise CountwiseError(
                f"A worker process ended without a result: {type(error).__name__}: {reason}.",
                hint="drop n_jobs to use the current process; the estimator may not be picklable, or the memory may "
                "not suffice.",
            ) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # unfinished tasks are abandoned on purpose
                getattr(results, "close", bool)()


def elsewhere() -> bool:
    """Return whether this is a worker process."""
    return bool(_started_by - {os.getpid()})


def _written(shared: Any, folder: str) -> Path:
    """Pickle the shared data to a file; cloudpickle also handles classes defined in an interactive session."""
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:  # joblib before 1.6 bundles it
        from joblib.externals import cloudpickle  # type: ignore[import-untyped]
    path = Path(folder, "shared.pickle")
    path.write_bytes(cloudpickle.dumps(shared))
    return path


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:
    import pickle

    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the process that started this one


def _run_task(work: Work, path: Path, i: int, task: Any, threads: int, parent: int) -> tuple[int, Any]:
    _started_by.add(parent)
    if elsewhere():
        import signal

        # Ctrl-C reaches all processes of a terminal; the parent process stops the workers
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ["COUNTWISE_THREADS"] = str(threads)
    return i, work(_read(path), task, lambda: None)
