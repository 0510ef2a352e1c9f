"""The command line: within this process, which is quicker, or in one of its own, as a person starts it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

from countwise import _kernels
from countwise.cli import main

__all__ = ["ENVIRONMENT", "run", "run_apart"]

# where there are no compiled kernels, the one note about it is not what these tests are about
QUIET = {"COUNTWISE_KERNELS": "reference"} if _kernels.LEVEL == "reference" else {}
ENVIRONMENT = {**os.environ, **QUIET}

Done = subprocess.CompletedProcess[str]


def run(*args: str, cwd: Path | None = None, check: int | None = 0) -> Done:
    """What a command answers; its exit status must be the one given, unless that is None."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    status: object = 0
    with (
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ImportWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            main(list(args))
        except SystemExit as leave:
            status = leave.code
    said = [stream.buffer.getvalue().decode() for stream in (out, err) if stream.flush() is None]
    return _checked(subprocess.CompletedProcess([*args], int(status or 0), *said), check)  # type: ignore[call-overload]


def run_apart(*args: str, cwd: Path | None = None, check: int | None = 0) -> Done:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "from countwise.cli import main; main()", *args],
        capture_output=True, text=True, cwd=cwd, encoding="utf-8", timeout=120, env=ENVIRONMENT,
    )  # fmt: skip
    return _checked(done, check)


def _checked(done: Done, check: int | None) -> Done:
    assert check is None or done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done
