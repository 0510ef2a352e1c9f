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
CONTROLLED = ["mrmr", "mrmr_quotient", "cfs", "fcbf"]


@click.command("rank")
@click.argument("file")
@click.option("-y", "--target", required=True, metavar="COLUMN", help="Target column.")
@click.option(
    "--by",
    default=None,
    type=click.Choice([*BY, *CONTROLLED]),
    metavar="SCORE",
    help=f"Score to rank by: {', '.join(BY)}. The last two need --number, the others a class as target. Or a "
    f"selection of attributes that do not repeat each other, with its steps: {', '.join(CONTROLLED)}.  "
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
@click.option(
    "--table",
    "table_of",
    default=None,
    metavar="COLUMN",
    help="Show the contingency table of a column and the target instead, with the computation of its scores.",
)
@click.option(
    "--thresholds",
    "thresholds_of",
    default=None,
    metavar="COLUMN",
    help="Show the gain of every threshold of a numeric column instead; with --top the best ones.",
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
    table_of: str | None,
    thresholds_of: str | None,
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
      countwise rank credit.csv -y Status --by mrmr --top 5
      countwise rank tennis.csv -y play --pmi outlook
      countwise rank tennis.csv -y play --table outlook
      countwise rank weather.arff -y play --thresholds temperature --top 3
      countwise rank hours.csv -y hours --number
    """
    from countwise.feature_selection.contingency import Filtering
    from countwise.feature_selection.filters import pmi_table, scored

    _check_views(number, pmi_of, table_of, thresholds_of)
    by = by or ("sd_reduction" if number else "information_gain")
    if by.endswith("_reduction") != number:
        raise click.UsageError(f"--by {by} needs {'a class as target: remove --number' if number else '--number'}.")
    files = _common.tables(file)
    known = _common.types_from(files, types, target, drop) or None
    weights = _common.row_weights(files, weights)
    if by in CONTROLLED:
        _refuse_views(
            by, nominal=nominal, ordinal=ordinal, adjust=adjust, pmi=pmi_of, table=table_of, thresholds=thresholds_of
        )
        _select(file, target, by, top, numeric, known, weights, drop, as_json)
        return
    if number:
        n_rows, found = _for_number(file, target, numeric, known, weights, drop)
        found = _ranked(found, by)
    else:
        # any rule for numeric columns will do for thresholds: only the values are needed
        numeric = numeric if thresholds_of is None else "equal_width"
        filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=known)
        with _common.progress_bar(f"Reading {file}"):
            filters.fit(_common.chunks(files, target, drop, types=known, weights=weights), target, weights)
        n_rows = filters.n_rows_
        if table_of is not None or thresholds_of is not None:
            _print_column(filters, table_of, thresholds_of, top, as_json)
            return
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


def _check_views(number: bool, *columns: str | None) -> None:
    """Raise an error if options that exclude each other are combined."""
    views = zip(("--pmi", "--table", "--thresholds"), columns, strict=True)
    given = [name for name, value in views if value is not None]
    if number and given:
        raise click.UsageError(f"{given[0]} needs a class as target: remove --number.")
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} cannot be combined.")


def _refuse_views(by: str, **given: str | None) -> None:
    """Raise an error if an option does not apply to a selection that controls redundancy."""
    for option, value in given.items():
        if value not in (None, "nominal"):
            raise click.UsageError(f"--{option} {value} does not apply to --by {by}.")


def _select(
    file: str, target: str, by: str, top: int | None, numeric: str | None, types: Any, weights: str | None,
    drop: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Show the steps of a selection that controls redundancy; it needs all rows in memory."""
    from countwise import FilterSelector
    from countwise.data.frames import frame_of
    from countwise.sources.memory import column_of

    table = frame_of(_common.table_of(_common.tables(file), target, drop, types, weights))
    column = None if weights is None else column_of(table, weights, "for the weights")
    rest = dict((table if weights is None else table.without(weights)).columns)
    if by.startswith("mrmr"):
        top = top or max(len(rest) - 1, 1)
    found = FilterSelector(by, k=top, numeric=numeric, types=types).fit(rest, target, column)
    places = zip(found.table_["selected"], found.table_["attribute"], strict=True)
    if as_json and found.path_ is not None:
        _common.echo_json(
            {
                "rows": table.n_rows,
                "target": target,
                "selected": [name for _, name in sorted((place, name) for place, name in places if place)],
                "steps": _common.rows_of_grid(found.path_),
                "attributes": _common.rows_of_grid(found.table_),
            }
        )
    else:
        _common.echo(found.explain().text(_common.terminal_width()))


def _print_column(
    filters: Any, table_of: str | None, thresholds_of: str | None, top: int | None, as_json: bool
) -> None:
    """Print the contingency table of a column, or the gain of each of its thresholds."""
    from countwise.feature_selection.contingency_table import table_named
    from countwise.feature_selection.filters import gains_of

    if table_of is not None:
        table = table_named(filters, table_of, count_missing=False)
        if as_json:
            _common.echo_json(_common.plain(table.to_dict()))
        else:
            _common.echo(table.text(_common.terminal_width()))
        return
    found = dict(gains_of(filters, thresholds_of, "midway"))
    if top is not None:
        order = sorted(range(len(found["threshold"])), key=lambda i: -round(found["information_gain"][i], 12))[:top]
        found = {name: [cells[i] for i in order] for name, cells in found.items()}
    if as_json:
        rows = _common.rows_of_grid(found)
        _common.echo_json({"rows": filters.n_rows_, "column": thresholds_of, "thresholds": rows})
    else:
        _common.echo_table(found)


def _for_number(
    file: str, target: str, numeric: str | None, types: Any, weights: str | None, drop: tuple[str, ...]
) -> tuple[int, dict[str, list[Any]]]:
    """Return the scores for a numeric target; they need all rows in memory."""
    from countwise.data.frames import frame_of
    from countwise.feature_selection.filters import reduction_scores
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
