"""The command line in a process of its own, as a person starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from countwise import _kernels

__all__ = ["ENVIRONMENT", "run"]

# where there are no compiled kernels, the one note about it is not what these tests are about
QUIET = {"COUNTWISE_KERNELS": "reference"} if _kernels.LEVEL == "reference" else {}
ENVIRONMENT = {**os.environ, **QUIET}


def run(*args: str, cwd: Path | None = None, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    """What a command answers; its exit status must be the one given, unless that is None."""
    done = subprocess.run(
        [sys.executable, "-c", "from countwise.cli import main; main()", *args],
        capture_output=True, text=True, cwd=cwd, encoding="utf-8", timeout=120, env=ENVIRONMENT,
    )  # fmt: skip
    assert check is None or done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done
