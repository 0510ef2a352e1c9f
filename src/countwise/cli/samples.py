"""countwise samples: the tables that are installed with Countwise."""

from __future__ import annotations

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
    from countwise.cli._common import csv_writer, echo_table, output_file

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
    with output_file(output) as out:
        writer = csv_writer(out)
        writer.writerow(list(frame))
        writer.writerows([_cell(c) for c in row] for row in zip(*frame.values(), strict=True))


def _cell(value: object) -> object:
    from countwise.data.frames import is_missing

    return "" if is_missing(value) else value
