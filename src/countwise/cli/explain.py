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
    default=None,
    help="Find changes of attributes that would change the prediction.  [default: only with naive Bayes]",
)
@click.option(
    "--interval",
    default=None,
    type=float,
    help="Level of the credible interval; 0 for none.  [default: 0.9 with naive Bayes]",
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
    changes: bool | None,
    interval: float | None,
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
      countwise explain weather.json days.csv --row 3 --rows days.csv
    """
    if not 0 <= (interval or 0) < 1:
        raise click.UsageError(f"--interval must be >= 0 and < 1, not {interval}.")
    if bool(settings) == (file is not None):
        raise click.UsageError("Use either --set NAME=VALUE, or FILE with --row N.")
    fitted = predictor_from(model)
    rows = row_from(fitted.schema_, pairs(settings, "--set")) if settings else _row(file, row or 0, fitted.schema_)
    parameters = signature(fitted.explain).parameters
    parameters = signature(fitted.explain).parameters
    settings_used: dict[str, Any] = {}
    if "changes" in parameters:
        level = 0.9 if interval is None else interval
        settings_used = {"changes": changes is not False, "interval": level or None}
    if training:
        if "rows" not in parameters:
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
    if "changes" not in parameters:
        working = _with_answers(fitted, working, rows, changes=bool(changes), level=interval or 0)
    if form == "json":
        echo_json(working.to_dict())
    elif form == "text":
        echo(working.text(terminal_width()))
    else:
        echo_data(getattr(working, form)())


def _with_answers(fitted: Any, working: Any, rows: Any, *, changes: bool, level: float) -> Any:
    """Add what would change the prediction, and credible intervals, to the working of a classifier."""
    from dataclasses import replace

    from countwise.working import Grid, Section

    if (changes or level) and not hasattr(fitted, "counterfactuals"):
        raise click.UsageError("--changes and --interval can be used only with classifiers.")
    added = []
    if level:
        low, high = fitted.predict_interval(rows, level=level)[0].T.tolist()
        proba = fitted.predict_proba(rows)[0].tolist()
        table = {"class": fitted.classes_.tolist(), "probability": proba, "low": low, "high": high}
        added.append(Section(f"{100 * level:g} % credible interval", Grid(table)))
    if changes:
        found = fitted.counterfactuals(rows)
        none = () if found.n_rows else ("No change was found.",)
        added.append(Section("What would change the prediction", found, none))
    return replace(working, sections=(*working.sections, *added)) if added else working


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
