"""countwise rank: attributes ordered by their association with the target."""

from __future__ import annotations

import math
from typing import Any

import click

from countwise.cli import _common

__all__ = ["command"]

BY = [
    "information_gain",
    "gain_ratio",
    "symmetrical_uncertainty",
    "chi_square",
    "gini_gain",
    "adjusted_gain",
    "adjusted_chi_square",
    "sd_reduction",
    "variance_reduction",
]


@click.command("rank")
@click.argument("file")
@click.option("-y", "--target", required=True, metavar="COLUMN", help="Target column.")
@click.option(
    "--by",
    default=None,
    type=click.Choice(BY),
    metavar="SCORE",
    help=f"Score to rank by: {', '.join(BY)}. The last two need --number, the others a class as target.  "
    "[default: information_gain; with --number sd_reduction]",
)
@click.option(
    "--numeric",
    default=None,
    metavar="METHOD",
    help="Treatment of numeric columns: a discretization method (see countwise bin), or gaussian.  [default: mdl]",
)
@click.option(
    "--number", is_flag=True, help="The target is numeric: score by the reduction of its standard deviation."
)
@click.option(
    "--nominal",
    default="nominal",
    show_default=True,
    type=click.Choice(["nominal", "binary"]),
    help="Score each nominal column as a whole, or each of its values against the others.",
)
@click.option(
    "--ordinal",
    default="nominal",
    show_default=True,
    type=click.Choice(["nominal", "binary", "number"]),
    help="Treat ordinal columns as nominal, as one binary attribute per value, or as numbers.",
)
@click.option(
    "--adjust",
    default=None,
    type=click.Choice(["permutation", "analytic"]),
    help="Also show scores corrected for the bias towards attributes with many values.",
)
@click.option(
    "--pmi",
    "pmi_of",
    default=None,
    metavar="COLUMN",
    help="Show the pointwise mutual information of each value of a column and each class instead.",
)
@click.option("--top", default=None, type=click.IntRange(1), metavar="N", help="Show only the first N attributes.")
@_common.types_option
@_common.weights_option
@_common.drop_option
@_common.json_option
def command(
    file: str,
    target: str,
    by: str | None,
    numeric: str | None,
    number: bool,
    nominal: str,
    ordinal: str,
    adjust: str | None,
    pmi_of: str | None,
    top: int | None,
    types: tuple[str, ...],
    weights: str | None,
    drop: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rank the attributes of FILE by their association with the target.

    \b
    Examples:
      countwise rank weather.arff -y play
      countwise rank credit.csv -y Status --by gain_ratio --adjust permutation
      countwise rank tennis.csv -y play --pmi outlook
      countwise rank hours.csv -y hours --number
    """
    from countwise.feature_selection.contingency import Filtering
    from countwise.feature_selection.filters import pmi_table, scored

    by = by or ("sd_reduction" if number else "information_gain")
    if by.endswith("_reduction") != number:
        raise click.UsageError(f"--by {by} needs {'a class as target: remove --number' if number else '--number'}.")
    files = _common.tables(file)
    known = _common.types_from(files, types, target, drop) or None
    weights = _common.row_weights(files, weights)
    if number:
        n_rows, found = _for_number(file, target, numeric, known, weights, drop)
        found = _ranked(found, by)
    else:
        filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=known)
        with _common.progress_bar(f"Reading {file}"):
            filters.fit(_common.chunks(files, target, drop, types=known, weights=weights), target, weights)
        n_rows = filters.n_rows_
        if pmi_of is not None:
            _only(filters, pmi_of)
            found = pmi_table(filters)
        else:
            adjust = adjust or ("permutation" if by.startswith("adjusted") else None)
            found = _ranked(scored(filters.contingencies_, adjust), by)
    found = {name: cells[:top] for name, cells in found.items()}
    if as_json:
        _common.echo_json({"rows": n_rows, "target": target, "attributes": _common.rows_of_grid(found)})
    elif pmi_of is not None:
        _common.echo_table(found)
    else:
        _print(found, n_rows, target, by)


def _for_number(
    file: str, target: str, numeric: str | None, types: Any, weights: str | None, drop: tuple[str, ...]
) -> tuple[int, dict[str, list[Any]]]:
    """Return the scores for a numeric target; they need all rows in memory."""
    from countwise.data.frames import frame_of
    from countwise.feature_selection.regression_scores import reduction_scores
    from countwise.sources.memory import column_of

    files = _common.tables(file)
    table = frame_of(_common.table_of(files, target, drop, types, weights))
    column = None if weights is None else column_of(table, weights, "for the weights")
    rest = table if weights is None else table.without(weights)
    return table.n_rows, reduction_scores(dict(rest.columns), target, column, numeric, types)


def _only(filters: Any, name: str) -> None:
    from countwise.errors import OptionError, did_you_mean, listed

    if name not in filters.schema_:
        hint = did_you_mean(name, filters.schema_) or f"use one of {listed(filters.schema_)}."
        raise OptionError(f"The table has no attribute {name!r}.", hint=hint)
    filters.contingencies_ = [c for c in filters.contingencies_ if c.of.name == name]


def _ranked(found: dict[str, list[Any]], by: str) -> dict[str, list[Any]]:
    """Sort by score, highest first; attributes without this score come last."""
    values = [(-math.inf if math.isnan(value) else value) for value in found[by]]
    order = sorted(range(len(values)), key=lambda i: -values[i])
    return {name: [cells[i] for i in order] for name, cells in found.items()}


def _print(found: dict[str, list[Any]], n_rows: int, target: str, by: str) -> None:
    short = {"information_gain": "gain", "symmetrical_uncertainty": "sym. unc.", "read_as": "read as"}
    hidden = ("kind", "entropy", "note")
    columns = {
        short.get(name, name.replace("_", " ")): [_common.shown(cell) for cell in cells]
        for name, cells in found.items()
        if name not in hidden
    }
    unit = " (gain in bits)" if "gain" in columns else ""
    _common.echo(f"Attributes ranked by {by.replace('_', ' ')} for target {target}, {n_rows} rows{unit}\n")
    _common.echo_table(columns)
    for name, note in zip(found["attribute"], found["note"], strict=True):
        if note:
            _common.echo(f"Note: {name}: {note}")
