"""Run the fuzzer.

python -m tests.faults.fuzz --seconds 1800 --seed 1     all areas, in two processes
python -m tests.faults.fuzz --area tables --case 1/tables/17     one case again
python -m tests.faults.fuzz --write                     also write the figures to docs/reliability.md
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .loop import AREAS, OUT, ROOT, Ledger, fuzz, replay, worker

PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- figures: python -m tests.faults.fuzz --write -->", "<!-- end of figures -->"


def table(ledgers: list[Ledger], command: str) -> str:
    """The ledgers as a Markdown table, with the command that made them."""
    lines = [f"`{command}`", "", "| area | cases | calls | refusals | defects |", "|---|---|---|---|---|"]
    rows = [(book.area, book.cases, book.calls, book.refusals, len(book.defects)) for book in ledgers]
    rows.append(("together", *(sum(row[i] for row in rows) for i in range(1, 5))))
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        area, seed, first, cases, until, book = sys.argv[2:]
        worker(area, seed, int(first), int(cases), float(until), Path(book))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="time of all areas together, on one processor")
    parser.add_argument("--seed", default="0", help="random seed")
    parser.add_argument("--area", action="append", choices=AREAS, help="only this area; can be repeated")
    parser.add_argument("--case", help="run one case again, by its seed as in the report")
    parser.add_argument("--jobs", type=int, default=2, help="areas at the same time")
    parser.add_argument("--write", action="store_true", help="write the figures to docs/reliability.md")
    args = parser.parse_args()
    if args.case:
        sys.exit(bool(replay(args.case.split("/")[1], seed=args.case)))
    areas = args.area or list(AREAS)
    whole = sum(AREAS[area][0] for area in areas)
    with ThreadPoolExecutor(args.jobs) as pool:
        books = list(
            pool.map(lambda area: fuzz(area, args.seed, seconds=args.seconds * AREAS[area][0] / whole), areas)
        )
    report(books)
    command = f"make fuzz SECONDS={args.seconds:g} SEED={args.seed}"
    figures = table(books, command)
    print(f"\n{figures}")  # noqa: T201
    if args.write:
        text = PAGE.read_text(encoding="utf-8")
        section = f"{START}\n\n{figures}\n\n"
        PAGE.write_text(text[: text.index(START)] + section + text[text.index(END) :], encoding="utf-8")
    sys.exit(any(book.defects for book in books))


def report(books: list[Ledger]) -> None:
    """Print each defect once, the most frequent first."""
    for book in books:
        for cause in sorted(book.defects, key=lambda cause: -book.times[cause]):
            print(f"\n{book.area}: {cause} ({book.times[cause]} times)\n    {book.defects[cause]}")  # noqa: T201
    if any(book.defects for book in books):
        print(f"\nScripts that repeat them are in {OUT.relative_to(ROOT)}.")  # noqa: T201


if __name__ == "__main__":
    main()
