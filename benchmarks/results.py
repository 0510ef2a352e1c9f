"""Results page: one section for each case, updated when the case is run with --write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness import Row

PAGE = Path(__file__).with_name("RESULTS.md")
HEAD = """# Results

Written by `make bench ARGS="--write [case ...]"`. The ratio is the time of the peer divided by the time of
countwise. Both ran on the same machine in the same run; each time is the best of several.
"""


def section(case: str, where: str, rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Return the results of a case as Markdown."""
    lines = [f"## {case}", "", where, ""]
    if rows:
        lines += ["| case | countwise | peer | ratio | target | peer is |", "|---|---:|---:|---:|---:|---|"]
        lines += [
            f"| {r.case}{f' ({r.note})' if r.note else ''} | {_seconds(r.ours)} | {_seconds(r.peer)} | {r.ratio:.2f} "
            f"| {'' if r.target is None else f'{r.target:.2f}'} | {r.against} |"
            for r in rows
        ]
        lines.append("")
    return "\n".join([*lines, *(f"{note}\n" for note in notes)])


def _seconds(t: float) -> str:
    return f"{t:.2f} s" if t >= 1 else f"{1e3 * t:.1f} ms"


def write(fresh: dict[str, str]) -> None:
    """Replace the sections of these cases."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept = {
        m.group(1): m.group(0).rstrip() + "\n" for m in re.finditer(r"^## (.+?)\n.*?(?=^## |\Z)", old, re.M | re.S)
    }
    kept |= {case: text.rstrip() + "\n" for case, text in fresh.items()}
    PAGE.write_text("\n".join([HEAD, *(kept[case] for case in sorted(kept))]), encoding="utf-8")
