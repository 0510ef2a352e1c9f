"""countwise update: a model with more rows."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("update")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", default=None, metavar="MODEL", help="Where to write; by default in its place.")
@click.option("--weights", default=None, metavar="COLUMN", help="The column that holds the weight of each row.")
def command(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Add the rows of FILE to MODEL, and say what is new and what moved most.

    For models that learn by counting. The file has the model's columns, the class among them; others are left out,
    and that is said. Several files, or a pattern in quotes, are added together. If anything is wrong, nothing is.

    \b
    countwise update credit.json new.parquet
    countwise update credit.json 'march/*.csv' -o march.json
    """
    from countwise.cli._update import changed

    changed(model, files, output, weights, forget=False)
