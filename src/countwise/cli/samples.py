"""countwise samples: the tables that are installed with Countwise."""

from __future__ import annotations

import csv
import sys

import click

__all__ = ["command"]


@click.command("samples")
@click.argument("name", required=False)
@click.option("-o", "--output", default="-", metavar="CSV", help="CSV file to write.  [default: standard output]")
def command(name: str | None, output: str) -> None:
    """List the sample tables, or write the table NAME as CSV.

    \b
    Examples:
      countwise samples
      countwise samples penguins -o penguins.csv
    """
    from countwise import samples
    from countwise.cli._common import echo_table

    if name is None:
        loaded = [samples.load(n) for n in samples.names()]
        rows = [len(next(iter(s.frame.values()))) for s in loaded]
        echo_table(
            {
                "sample": [s.name for s in loaded],
                "rows": rows,
                "target": [s.target for s in loaded],
                "description": [s.description for s in loaded],
            }
        )
        return
    frame = samples.load(name).frame
    out = sys.stdout if output == "-" else open(output, "w", newline="", encoding="utf-8")  # noqa: SIM115 - closed below
    try:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(list(frame))
        writer.writerows([_cell(c) for c in row] for row in zip(*frame.values(), strict=True))
    finally:
        if out is not sys.stdout:
            out.close()


def _cell(value: object) -> object:
    from countwise.data.frames import is_missing

    return "" if is_missing(value) else value
