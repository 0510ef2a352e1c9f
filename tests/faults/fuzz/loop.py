"""The loop of the fuzzer: cases in worker processes, and the ledger of what they did.

A case is a function of the choices it draws (`tests/strategies/draw.py`), so that the area and the seed repeat it. A
worker writes a line before and after each case; if it dies, the case it was in is a defect too, and a new worker
continues with the next one. Each defect with a new cause is reduced and written as a script that repeats it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from ...strategies.draw import Draw, reduced
from .guard import LIMIT, Defect, Guard

__all__ = ["AREAS", "Ledger", "fuzz", "replay"]

ROOT = Path(__file__).parents[3]
OUT = ROOT / "build" / "fuzz"

# Each area with its share of the time, and its number of cases in CI.
AREAS: dict[str, tuple[float, int]] = {
    "tables": (0.5, 1200),
    "models": (0.1, 500),
    "bytes": (0.15, 1500),
    "sql": (0.1, 200),
    "commands": (0.15, 250),
}
_MEMORY = 8 << 30  # bytes of a worker; more is a MemoryError


@dataclass
class Ledger:
    """What the cases of one area did."""

    area: str
    cases: int = 0
    calls: int = 0
    refusals: int = 0
    defects: dict[str, str] = field(default_factory=dict)  # what happened by its cause
    times: dict[str, int] = field(default_factory=dict)  # how often, by cause

    def add(self, line: dict[str, object]) -> None:
        self.cases += 1
        self.calls += int(line["calls"])  # type: ignore[call-overload]
        self.refusals += int(line["refusals"])  # type: ignore[call-overload]
        for cause, what in line["defects"]:  # type: ignore[attr-defined]
            self.note(cause, what)

    def note(self, cause: str, what: str) -> None:
        self.defects.setdefault(cause, what)
        self.times[cause] = self.times.get(cause, 0) + 1


def _case(area: str, draw: Draw) -> Guard:
    """Run one case in a folder of its own."""
    guard = Guard()
    run = importlib.import_module(f".{area}", __package__).case
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(draw, guard)
    return guard


def replay(area: str, choices: list[int] | None = None, seed: str | None = None) -> list[Defect]:
    """Repeat a case from its choices or its seed, print its calls, and return its defects."""
    guard = _case(area, Draw(seed, choices))
    print(*guard.log, sep="\n")  # noqa: T201
    print(*(f"DEFECT {d.cause}\n  {d.what}" for d in guard.defects), sep="\n")  # noqa: T201
    return guard.defects


def _place(area: str, defect: Defect) -> Path:
    """The path of the script of a cause."""
    return OUT / f"{area}-{hashlib.sha256(defect.cause.encode()).hexdigest()[:10]}.py"


def _script(area: str, defect: Defect, choices: list[int]) -> None:
    """Write a script that repeats a defect."""
    guard = _case(area, Draw(choices=choices))
    what = next((d.what for d in guard.defects if d.cause == defect.cause), defect.what)
    calls = "\n".join(f"# {line!r}"[:1500] for line in guard.log)
    place = _place(area, defect)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(
        f"# {defect.cause}\n# {what!r}\n# The calls:\n{calls}\n"
        f"# Run it in the folder of the repository: PYTHONPATH=. python {place.relative_to(ROOT)}\n"
        f"from tests.faults.fuzz.loop import replay\n\nreplay({area!r}, {choices})\n",
        encoding="utf-8",
    )


def worker(area: str, seed: str, first: int, cases: int, until: float, book: Path) -> None:
    """Run the cases of an area; one line before and one after each."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with book.open("a", encoding="utf-8") as out:
        for number in range(first, cases):
            if time.time() > until:
                break
            faulthandler.dump_traceback_later(8 * LIMIT, exit=True)  # native code that heeds no signal
            print(json.dumps({"case": number}), file=out, flush=True)
            draw = Draw(f"{seed}/{area}/{number}")
            guard = _case(area, draw)
            found = [(d.cause, f"{d.what} [seed {seed}/{area}/{number}]") for d in guard.defects]
            line = {"done": number, "calls": guard.calls, "refusals": guard.refusals, "defects": found}
            print(json.dumps(line), file=out, flush=True)
            for defect in guard.defects:
                if not _place(area, defect).exists():
                    _reduce(area, defect, draw.choices)
    faulthandler.cancel_dump_traceback_later()


def _reduce(area: str, defect: Defect, choices: list[int]) -> None:
    """Reduce a case as long as its defect stays the same, for a few seconds, and write it."""
    until = time.time() + 20

    def still(candidate: list[int]) -> bool:
        if time.time() > until:
            return False
        faulthandler.dump_traceback_later(8 * LIMIT, exit=True)
        return any(d.cause == defect.cause for d in _case(area, Draw(choices=candidate)).defects)

    _script(area, defect, choices if defect.cause.startswith("hang") else reduced(choices, still))


def fuzz(area: str, seed: str = "0", *, cases: int = sys.maxsize, seconds: float = 600.0) -> Ledger:
    """Run an area in worker processes until so many cases or seconds are over."""
    ledger, first, until = Ledger(area), 0, time.time() + seconds
    for old in OUT.glob(f"{area}-*.py"):
        old.unlink()
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    while first < cases and time.time() < until:
        with tempfile.TemporaryDirectory() as folder:
            book, said = Path(folder, "book"), Path(folder, "said")
            command = [sys.executable, "-m", "tests.faults.fuzz", "--worker", area, seed, str(first), str(cases)]
            with said.open("wb") as log:
                done = subprocess.run(
                    [*command, str(until), str(book)], cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **threads}
                )
            before, first = first, _entered(ledger, book, first)
            if done.returncode:
                tail = said.read_text(encoding="utf-8", errors="replace")[-1500:]
                ledger.note(f"worker {done.returncode}", f"seed {seed}/{area}/{first - 1}: {tail}")
            if first == before:  # the worker did not even start
                break
    return ledger


def _entered(ledger: Ledger, book: Path, first: int) -> int:
    """Enter what a worker wrote; return the number of the next case."""
    for line in book.read_text(encoding="utf-8").splitlines() if book.exists() else ():
        entry = json.loads(line)
        if "done" in entry:
            ledger.add(entry)
        first = entry.get("case", first - 1) + 1
    return first
