"""Startup time of commands, as ratios to the import of the library that they need."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path


def seconds(*args: str, repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *args], check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def run() -> None:
    main = "from countwise.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        table, model = str(Path(folder) / "weather.csv"), str(Path(folder) / "weather.json")
        seconds("-c", main, "samples", "weather", "-o", table, repeats=1)
        seconds("-c", main, "train", table, "-y", "play", "-o", model, repeats=1)
        numpy, sklearn = seconds("-c", "import numpy"), seconds("-c", "import sklearn.base")
        for name, took, base, peer, target in (
            ("countwise --help", seconds("-c", main, "--help"), numpy, "import numpy", 3.0),
            (
                "countwise explain",
                seconds("-c", main, "explain", model, "--set", "outlook=sunny"),
                sklearn,
                "import sklearn.base",
                1.4,
            ),
            (
                "import countwise.NaiveBayesClassifier",
                seconds("-c", "from countwise import NaiveBayesClassifier"),
                sklearn,
                "import sklearn.base",
                1.4,
            ),
        ):
            verdict = "met" if took / base <= target else "MISSED"
            print(
                f"{name}: {1e3 * took:.0f} ms = {took / base:.2f}x the time of `{peer}` ({1e3 * base:.0f} ms); target at most {target:g}x: {verdict}"
            )


if __name__ == "__main__":
    run()
