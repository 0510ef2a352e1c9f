"""countwise explain: each step of one prediction."""

from __future__ import annotations

from inspect import signature
from typing import Any

import click

from countwise.cli._common import (
    echo,
    echo_data,
    echo_json,
    existing,
    pairs,
    predictor_from,
    row_from,
    terminal_width,
)

__all__ = ["command"]


@click.command("explain")
@click.argument("model")
@click.argument("file", required=False)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Values of the row. Attributes that are not given are missing.",
)
@click.option(
    "--row", type=int, default=None, metavar="N", help="Number of the row in FILE, counted from 0.  [default: 0]"
)
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    type=click.Choice(["text", "latex", "html", "json"]),
    help="Output format.",
)
@click.option(
    "--changes/--no-changes",
    default=True,
    show_default=True,
    help="Find changes of attributes that would change the prediction (naive Bayes).",
)
@click.option(
    "--interval", default=0.9, show_default=True, help="Level of the credible interval (naive Bayes); 0 for none."
)
@click.option(
    "--rows",
    "training",
    default=None,
    metavar="TABLE",
    help="Training table. Show the numbers of its rows behind each count.",
)
@click.option("--unsmoothed", is_flag=True, help="Show each frequency before and after smoothing (naive Bayes).")
@click.option("--densities", is_flag=True, help="Write each density out, from the sums of the data (naive Bayes).")
@click.option("--all-terms", is_flag=True, help="List every term of a sum of kernels (naive Bayes, Parzen).")
def command(
    model: str,
    file: str | None,
    settings: tuple[str, ...],
    row: int | None,
    form: str,
    changes: bool,
    interval: float,
    training: str | None,
    unsmoothed: bool,
    densities: bool,
    all_terms: bool,
) -> None:
    """Show each step of one prediction of MODEL.

    The row is given by --set, or by FILE and --row.

    \b
    Examples:
      countwise explain weather.json --set outlook=sunny,humidity=90
      countwise explain weather.json days.csv --row 3
      countwise explain weather.json days.csv --row 3 --rows weather.csv
    """
    if not 0 <= interval < 1:
        raise click.UsageError(f"--interval must be >= 0 and < 1, not {interval}.")
    if bool(settings) == (file is not None):
        raise click.UsageError("Use either --set NAME=VALUE, or FILE with --row N.")
    fitted = predictor_from(model)
    rows = row_from(fitted.schema_, pairs(settings, "--set")) if settings else _row(file, row or 0, fitted.schema_)
    settings_used: dict[str, Any] = (
        {"changes": changes, "interval": interval or None} if hasattr(fitted, "predict_interval") else {}
    )
    if training:
        if "rows" not in signature(fitted.explain).parameters:
            raise click.UsageError("--rows is not needed: this model shows the numbers of its training rows.")
        settings_used["rows"] = str(existing(training))
    if unsmoothed:
        if type(fitted).__name__ != "NaiveBayesClassifier":
            raise click.UsageError("--unsmoothed can be used only with naive Bayes.")
        settings_used["smoothing"] = True
    if densities:
        if type(fitted).__name__ != "NaiveBayesClassifier":
            raise click.UsageError("--densities can be used only with naive Bayes.")
        settings_used["densities"] = True
    if all_terms:
        if type(fitted).__name__ not in ("NaiveBayesClassifier", "ParzenClassifier", "ParzenDensity"):
            raise click.UsageError("--all-terms can be used only with naive Bayes and Parzen models.")
        settings_used["all_terms"] = True
    working = fitted.explain(rows, **settings_used)
    if form == "json":
        echo_json(working.to_dict())
    elif form == "text":
        echo(working.text(terminal_width()))
    else:
        echo_data(getattr(working, form)())


def _row(file: Any, row: int, schema: Any) -> Any:
    """Read one row of a file, and nothing after it."""
    from countwise.data.schema import field_types
    from countwise.errors import TableError
    from countwise.io.readers import read_pieces

    if row < 0:
        raise click.UsageError(f"--row must be an integer >= 0, not {row}.")
    before = 0
    for chunk in read_pieces(file, types=field_types(schema), needed=list(schema)):
        length = len(next(iter(chunk.values()), ()))
        if row < before + length:
            return {name: column[row - before : row - before + 1] for name, column in chunk.items()}
        before += length
    raise TableError(f"{file} has {before} rows; row {row} does not exist (rows are counted from 0).")
