"""countwise explain: the working behind one answer."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli._common import echo_json, pairs, row_from, terminal_width

__all__ = ["command"]


@click.command("explain")
@click.argument("model")
@click.argument("file", required=False)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="The row itself; attributes not named are missing.",
)
@click.option("--row", type=int, default=None, metavar="N", help="Or a row of FILE, counted from 0.")
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    type=click.Choice(["text", "latex", "html", "json"]),
)
@click.option(
    "--changes/--no-changes",
    default=True,
    show_default=True,
    help="Look for what would change the answer (naive Bayes).",
)
@click.option(
    "--interval", default=0.9, show_default=True, help="Credibility of the interval (naive Bayes); 0 for none."
)
def command(
    model: str,
    file: str | None,
    settings: tuple[str, ...],
    row: int | None,
    form: str,
    changes: bool,
    interval: float,
) -> None:
    """Show every factor behind an answer of MODEL.

    \b
    countwise explain weather.json --set outlook=sunny,temperature=66,humidity=90,windy=TRUE
    countwise explain weather.json days.csv --row 3
    """
    from countwise.modelfile import load

    if not 0 <= interval < 1:
        raise click.UsageError("--interval lies between 0 and 1.")
    if bool(settings) == (file is not None):
        raise click.UsageError("Give the row by --set NAME=VALUE, or a FILE with --row N.")
    fitted = load(model)
    rows = row_from(fitted.schema_, pairs(settings, "--set")) if settings else _row(file, row or 0)
    asked = {"changes": changes, "interval": interval or None} if hasattr(fitted, "predict_interval") else {}
    working = fitted.explain(rows, **asked)
    if form == "json":
        echo_json(working.to_dict())
    else:
        click.echo(working.text(terminal_width()) if form == "text" else getattr(working, form)())


def _row(file: Any, row: int) -> Any:
    """One row of a file, read no further than needed."""
    from countwise.errors import TableError
    from countwise.io.readers import read_pieces

    if row < 0:
        raise click.UsageError("--row counts from 0.")
    before = 0
    for piece in read_pieces(file):
        length = len(next(iter(piece.values()), ()))
        if row < before + length:
            return {name: column[row - before : row - before + 1] for name, column in piece.items()}
        before += length
    raise TableError(f"{file} has {before} rows; there is no row {row}.")
