"""countwise forget: a model without some of its rows."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("forget")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", default=None, metavar="MODEL", help="Where to write; by default in its place.")
@click.option("--weights", default=None, metavar="COLUMN", help="The column that holds the weight of each row.")
def command(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Take the rows of FILE back from MODEL, as if they had never been there, and say what moved most.

    For models that learn by counting. Rows that cannot have been learned are refused; a model keeps counts and not
    rows, so that others that were never learned cannot be told from those that were.

    \b
    countwise forget credit.json withdrawn.csv
    """
    from countwise.cli._update import changed

    changed(model, files, output, weights, forget=True)
