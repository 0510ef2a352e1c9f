"""Time countwise and a peer alternately in one run, and report the ratio of the best times."""

from __future__ import annotations

import gc
import importlib.util
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Row:
    """One comparison. A ratio above 1 means that countwise is faster."""

    case: str
    ours: float
    peer: float
    against: str
    target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.peer / self.ours

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "met" if self.ratio >= self.target else "MISSED"


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        target = "" if row.target is None else f">= {row.target:g}x"
        print(
            f"{row.case:<58} {1e3 * row.ours:>9.1f} {1e3 * row.peer:>10.1f} {row.ratio:>9.1f}x  "
            f"{target:<9} {row.verdict:<7} {row.against}{'; ' + row.note if row.note else ''}",
            flush=True,
        )

    def note(self, text: str) -> None:
        """Add a table or a sentence that is not a comparison."""
        self.notes.append(text)
        print(text, flush=True)


def head() -> None:
    print(f"{'case':<58} {'ours (ms)':>9} {'peer (ms)':>10} {'ratio':>10}  {'target':<9} {'':<7} peer")


def timed(work: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def versus(
    ours: Callable[[], Any], peer: Callable[[], Any], repeats: int = 5, peer_repeats: int | None = None
) -> tuple[float, float]:
    """Return the best times of both; the runs alternate, so that noise affects both."""
    best_ours, best_peer = float("inf"), float("inf")
    turns = peer_repeats or repeats
    for turn in range(repeats):
        best_ours = min(best_ours, timed(ours))
        if turn < turns:
            best_peer = min(best_peer, timed(peer))
    return best_ours, best_peer


def peak_beyond(work: Callable[[], Any]) -> int:
    """Return the peak memory of `work` in bytes, as traced by tracemalloc, beyond the memory in use before."""
    gc.collect()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def in_a_process(script: str, name: str, *settings: Any) -> Any:
    """Run a function of a benchmark script in a separate process, and return its result."""
    run = subprocess.run(
        [sys.executable, script, name, json.dumps(settings)], capture_output=True, text=True, check=True,
        cwd=Path(script).parent,
    )  # fmt: skip
    return json.loads(run.stdout.strip().split("\n")[-1])


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
