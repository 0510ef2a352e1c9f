"""Threads of the kernels: how many there are, and what Ctrl-C, forks and the end of the process do to them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from countwise import NaiveBayesClassifier, _kernels
from countwise._kernels import over_items, thread_count, threads

COMPILED = _kernels.LEVEL != "reference"
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
needs_kernels = pytest.mark.skipif(not COMPILED, reason="the compiled kernels are absent")
LIMITS = ("COUNTWISE_THREADS", "OMP_NUM_THREADS")


@pytest.fixture(autouse=True)
def no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in LIMITS:
        monkeypatch.delenv(variable, raising=False)


def run(code: str, *, seconds: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own; a hang or a crash of it is a failure of the test."""
    inherited = {name: value for name, value in os.environ.items() if name not in LIMITS}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=inherited | environment,
    )


# The number of threads


@pytest.mark.parametrize(
    ("ours", "openmp", "expected"),
    [
        ("3", "", 3),
        ("3", "1", 3),
        ("", "1", 1),
        ("", " 1 , 4", 1),
        ("", "999", None),
        ("", "four", None),
        ("", "0", None),
    ],
)
def test_the_number_of_threads_is_that_of_the_environment(monkeypatch, ours, openmp, expected) -> None:
    free = thread_count()
    monkeypatch.setenv("COUNTWISE_THREADS", ours)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    assert thread_count() == (free if expected is None else expected)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, text: str) -> None:
    monkeypatch.setenv("COUNTWISE_THREADS", text)
    with pytest.raises(ValueError, match="COUNTWISE_THREADS must be an integer >= 1"):
        thread_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_affinity_of_the_process_is_heeded() -> None:
    code = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        from countwise._kernels import thread_count
        print(thread_count())
    """
    assert run(code).stdout == "1\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, sys.maxsize),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
        ({"cpu.max": "nonsense"}, sys.maxsize),
        ({}, sys.maxsize),
    ],
)
def test_the_quota_of_a_container_is_heeded(tmp_path, files: dict[str, str], expected: int) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert threads._quota(str(tmp_path)) == expected


@needs_kernels
@pytest.mark.parametrize("first", ["countwise._kernels", "threadpoolctl"])
def test_threadpoolctl_limits_the_kernels_whichever_is_imported_first(first: str) -> None:
    code = f"""
        import {first}
        import threadpoolctl
        from countwise._kernels import thread_count
        with threadpoolctl.threadpool_limits(1):
            with threadpoolctl.threadpool_limits(2):
                inner = thread_count()
            print(thread_count(), inner, end=" ")
        with threadpoolctl.threadpool_limits({{"countwise": 3}}):
            print(thread_count(), end=" ")
        info = threadpoolctl.threadpool_info()
        print(thread_count(), [i["num_threads"] for i in info if i["user_api"] == "countwise"])
    """
    done = run(code, COUNTWISE_THREADS="4")
    assert done.stdout == "1 2 3 4 [4]\n", done.stderr


def test_threadpoolctl_is_not_imported_for_the_kernels() -> None:
    assert run("import sys, countwise._kernels; print('threadpoolctl' in sys.modules)").stdout == "False\n"


def most_at_once(calls: int, most: int) -> int:
    """Return the largest number of threads that worked at once in calls from several threads."""
    lock, now, peak = threading.Lock(), 0, 0

    def work(_: int) -> None:
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        time.sleep(0.005)
        with lock:
            now -= 1

    callers = [threading.Thread(target=over_items, args=(range(20), work, most)) for _ in range(calls)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return peak


@pytest.mark.parametrize(("calls", "most", "expected"), [(1, 3, 3), (2, 2, 3), (3, 4, 6), (4, 4, 7)])
def test_several_calls_at_a_time_share_the_threads(calls: int, most: int, expected: int) -> None:
    # each caller is itself a thread that works; no helper is added to a full team
    assert most_at_once(calls, most) <= max(expected, calls)
    assert threads._teams == {}


@pytest.mark.parametrize(("how", "each"), [("n_jobs=2", "cpus // 2"), ("n_jobs=2, inner_max_num_threads=1", "1")])
def test_the_workers_of_a_grid_search_share_the_cpus(how: str, each: str) -> None:
    code = f"""
        import joblib
        from countwise._kernels import thread_count

        with joblib.parallel_config("loky", {how}):  # as in GridSearchCV(n_jobs=2)
            counts = joblib.Parallel()(joblib.delayed(thread_count)() for _ in range(4))
        cpus = joblib.cpu_count()
        print(max(counts) <= max(1, {each}))
    """
    done = run(code)
    assert done.stdout == "True\n", done.stderr


# Ends of threads and processes


@pytest.mark.parametrize(
    "call",
    [
        "model.predict_proba(X)",
        "k.product_boxes(X.T, None)",  # copied by NumPy, which releases the lock too
        "k.factorize_objects(values)",
        "k.over_items(range(4), lambda i: k.find_infinity([X[:, i]]), 3)",
    ],
)
def test_a_daemon_thread_in_a_kernel_does_not_abort_the_end_of_the_process(call: str) -> None:
    code = f"""
        import threading, time
        import numpy as np
        import countwise
        from countwise import _kernels as k

        class Value:
            def __init__(self, i): self.i = i
            def __hash__(self): return self.i
            def __eq__(self, other): return self.i == other.i

        X = np.random.default_rng(0).normal(size=(20000, 10))
        values = np.array([Value(i % 50) for i in range(5000)], object)
        model = countwise.NaiveBayesClassifier().fit(X, (X[:, 0] > 0).astype(int))

        def work():
            while True:
                {call}

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """
    for _ in range(3):
        done = run(code)
        assert (done.returncode, done.stderr) == (0, "")


@needs_fork
def test_a_process_that_was_forked_while_kernels_run_can_use_them() -> None:
    code = """
        import os, threading, warnings
        import numpy as np
        from countwise import NaiveBayesClassifier, _kernels as k

        warnings.simplefilter("ignore")  # later versions of Python warn about forks with threads
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100_000, 4))
        y = (X[:, 0] > 0).astype(np.uint8)
        x = np.sort(X[:, 0])
        counts = rng.poisson(3, 100_000).astype(float)
        out = np.zeros((100_000, 2))
        ended = False

        def work():
            while not ended:
                k.mdl_cuts(x, y, None, 2)
                k.add_poisson([counts], np.ones((1, 2)), out.copy())
                k.over_items(range(4), lambda i: k.presort(X[:, i]), 3)

        for _ in range(2):
            threading.Thread(target=work).start()
        model = NaiveBayesClassifier().fit(X, y)
        expected = model.predict_proba(X)
        for _ in range(10):
            child = os.fork()
            if child == 0:
                k.mdl_cuts(x, y, None, 2)
                k.add_poisson([counts], np.ones((1, 2)), out)
                again = NaiveBayesClassifier().fit(X, y).predict_proba(X)
                os._exit(0 if np.array_equal(again, expected) and k.threads._teams == {} else 1)
            assert os.waitpid(child, 0)[1] == 0
        ended = True
        print("done")
    """
    done = run(code, seconds=120, COUNTWISE_THREADS="3")
    assert done.stdout == "done\n", done.stderr


# Ctrl-C

# Calls that take long. Arrays of 10**10 rows repeat one element: they take no memory, and minutes of work.
LONG_CALLS = """
    "moments": lambda: k.class_moments([floats], codes, None, 2),
    "counts": lambda: k.count_codes(codes, codes, None, 2, 2),
    "families": lambda: k.count_families([codes] * 3, [3, 3, 3], [[0, 1, 2], [0, 2]], None),
    "infinity": lambda: k.find_infinity([floats]),
    "marks": lambda: k.mark_columns([floats], 0, 5),
    "integers": lambda: k.integer_domain(floats, 9),
    "scatter": partial(k.class_scatter, [*rng.normal(size=(60, 50_000))] * 8, zeros(50_000), None, 1, zeros(50_000)),
    "pair sums": partial(k.pair_sums, rows(4000), rows(20_000), metric(3.0)),
    "nearest": partial(k.nearest, rows(20_000), rows(50_000), metric(2.0), 5.0, np.inf, None, None),
    "row tree": partial(k.row_tree, rows(2_000_000, 2), metric(2.0, 2)),
    "edit distances": partial(k.edit_distances, *text, *text, np.empty((1, 1), np.uint32)),
    "gauss": partial(k.gauss_log_sums, x, None, 1.0, *k.gauss_expand(x, None, 1.0, 0.0), 0.0, x),
    "products": partial(k.product_log_sums, P, None, k.product_boxes(P, None), zeros(2), np.full((2, 2), 3.0), P,
        None, None, None, 0.0),
    "kmeans": partial(k.kmeans_1d, x, None, 200),
    "thresholds": partial(k.best_thresholds, entries, np.array([0, len(entries)]), zeros(len(entries)),
        np.full(len(entries), 0.5), 50, "entropy", 0.0),
    "threads": lambda: k.over_items(range(9), lambda i: k.find_infinity([floats]), 3),
    "threads with progress": lambda: k.over_items(range(9), lambda i: k.find_infinity([floats]), 3, done=print),
"""
INTERRUPTED = """
    import os, signal, threading, time
    from functools import partial
    import numpy as np
    from countwise import _kernels as k

    rng = np.random.default_rng(0)
    floats, codes = np.broadcast_to(1.0, 10**10), np.broadcast_to(np.uint8(0), 10**10)
    x, P, entries = np.sort(rng.normal(size=300_000)), rng.normal(size=(200_000, 2)), k.presort(np.arange(10**6))
    text = np.arange(10**6, dtype=np.uint32), np.array([0, 10**6])
    def zeros(n): return np.zeros(n, np.uint8)
    def rows(n, m=20): return k.PairRows(rng.normal(size=(n, m)), [])
    def metric(p, m=20):
        return k.PairMetric(np.ones(m), np.ones(m), [], np.zeros((0, 2), np.int64), None, 1.0, p)

    def send():
        time.sleep(0.25)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    for name, call in {CALLS}.items():
        sent = []
        sender = threading.Thread(target=send)
        sender.start()
        try:
            while True:
                call()
        except KeyboardInterrupt:
            late = time.monotonic() - sent[0]
        sender.join()
        print(name, "ended", "late" if late > 1 else "in time", threading.active_count())
"""


@needs_kernels
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
def test_long_kernels_end_soon_after_ctrl_c() -> None:
    done = run(INTERRUPTED.replace("CALLS", LONG_CALLS.strip()), COUNTWISE_THREADS="3")
    assert done.returncode == 0, done.stdout + done.stderr
    ended = [line for line in done.stdout.splitlines() if " ended " in line]
    assert all(line.endswith("ended in time 1") for line in ended), done.stdout
    assert len(ended) == LONG_CALLS.count('\n    "')


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
@pytest.mark.parametrize(
    ("model", "call"),
    [
        ("NeighborsClassifier()", "model.predict(X)"),
        ("ParzenClassifier()", "model.predict(X)"),
        ("TreeClassifier()", "model.fit(X, y)"),
    ],
)
def test_a_model_is_as_before_after_ctrl_c(model: str, call: str) -> None:
    code = f"""
        import os, signal, threading, time
        import numpy as np
        import countwise

        rng = np.random.default_rng(0)
        X = rng.normal(size=(2_000_000, 8))
        y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
        model = countwise.{model}.fit(X[:200], y[:200])
        before = model.predict_proba(X[:50])
        threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        try:
            {call}
            print("finished")
        except KeyboardInterrupt:
            print("late" if time.monotonic() - started > 1.4 else "in time", end=" ")
            print(np.array_equal(model.predict_proba(X[:50]), before))
    """
    done = run(code)
    assert done.stdout == "in time True\n", done.stdout + done.stderr


@needs_kernels
def test_a_signal_handler_may_use_kernels_itself_and_raise_what_it_likes() -> None:
    code = """
        import signal, threading, os
        import numpy as np
        from countwise import _kernels as k

        def handler(*_):
            k.find_infinity([np.arange(10.0)])
            raise LookupError("from the handler")

        signal.signal(signal.SIGINT, handler)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            k.over_items(range(9), lambda i: k.find_infinity([np.broadcast_to(1.0, 10**10)]), 1)
        except LookupError as error:
            print(error)
    """
    assert run(code).stdout == "from the handler\n"


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5))
    y = rng.integers(0, 3, 30_000)
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("COUNTWISE_THREADS", count)
        results.append(NaiveBayesClassifier().fit(X, y).predict_proba(X).tobytes())
    assert len(set(results)) == 1


def test_the_first_error_in_the_order_of_the_items_is_raised_and_all_threads_have_ended() -> None:
    running = threading.active_count()

    def work(i: int) -> int:
        time.sleep(0.01 * (5 - i))
        raise ValueError(str(i))

    for _ in range(3):
        with pytest.raises(ValueError, match="0"):
            over_items(range(4), work, 4)
        assert threading.active_count() == running
        assert threads._teams == {}


def test_progress_is_reported_in_order_and_to_the_end() -> None:
    reported: list[int] = []
    assert over_items(range(40), lambda i: i, 4, done=reported.append) == list(range(40))
    assert reported == sorted(set(reported))
    assert reported[-1] == 40
