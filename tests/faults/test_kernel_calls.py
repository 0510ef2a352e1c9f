"""Random calls of the compiled kernels, in processes of their own: a crash is a failed test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from countwise import _kernels

SCRIPT = Path(__file__).with_name("kernel_calls.py")


@pytest.mark.skipif(_kernels.LEVEL == "reference", reason="the compiled kernels are absent")
@pytest.mark.parametrize("seed", [1, 2])
def test_no_call_of_a_kernel_crashes_or_gives_other_numbers_in_another_layout(seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", SCRIPT, str(seed), "2500"],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, refused = map(int, done.stdout.split())
    assert made >= 2500
    assert 0.2 * made < refused < 0.7 * made  # hostile calls are refused, valid ones are not
