"""countwise bin: discretize the numeric columns of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from countwise.cli import _common

__all__ = ["command"]


@click.command("bin")
@click.argument("file")
@click.option("-y", "--target", default=None, metavar="COLUMN", help="Target column, for supervised methods.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="[COLUMN=]METHOD",
    help="Discretization method for all columns or for one: mdl, min_n or class_contiguous (supervised), "
    "equal_frequency, equal_width or kmeans, or naive (a bin for each distinct value). COLUMN=18:30:65 sets the cut "
    "points.  [default: mdl]",
)
@click.option(
    "--bins",
    default=None,
    metavar="N",
    help="Number of bins for equal_frequency, equal_width and kmeans, or leave_one_out to choose it.  [default: 10]",
)
@click.option(
    "--n",
    "n",
    default=None,
    type=float,
    help="Least number of rows of the majority class in a bin, for min_n.  [default: 6]",
)
@click.option(
    "--merge",
    default=None,
    type=click.Choice(["majority", "last"]),
    help="Bins to merge, for min_n: adjacent bins with the same majority class, or the last bin with the one before "
    "if it has too few rows.",
)
@_common.types_option
@_common.weights_option
@_common.drop_option
@click.option(
    "-o", "--output", default=None, metavar="CSV", help="Write the discretized table as CSV; - for standard output."
)
@_common.json_option
@click.option(
    "--sql",
    "table",
    default=None,
    metavar="TABLE",
    help="Print an SQL query that discretizes TABLE, instead of the report.",
)
@_common.dialect_option
def command(
    file: str,
    target: str | None,
    methods: tuple[str, ...],
    bins: str | None,
    n: float | None,
    merge: str | None,
    types: tuple[str, ...],
    weights: str | None,
    drop: tuple[str, ...],
    output: str | None,
    as_json: bool,
    table: str | None,
    dialect: str,
) -> None:
    """Discretize the numeric columns of FILE and report the cut points.

    \b
    Examples:
      countwise bin weather.arff -y play --method min_n --n 3
      countwise bin penguins.csv -y species -o binned.csv
      countwise bin credit.csv -y Status --method Age=25:40:60
      countwise bin credit.csv -y Status --sql applicants > bins.sql
    """
    from countwise.preprocessing.discretizer import Discretizer

    files = _common.tables(file)
    _check(methods, bins, n, merge, output, as_json, files)
    if table is not None and (as_json or output is not None):
        raise click.UsageError("--sql cannot be combined with -o or --json.")
    known = _common.types_from(files, types, target, drop)
    cutter = Discretizer(
        _methods(methods),
        n_bins=10 if bins is None else int(bins) if bins.isdecimal() else bins,
        n=6.0 if n is None else n,
        merge=merge,
        encode="labels",
        types=known or None,
    )
    if target is None and cutter._needs_target():
        raise click.UsageError(
            "A supervised method needs the target: add -y COLUMN, or use --method equal_frequency."
        )
    warnings.filterwarnings("ignore", message=".* a single bin")  # the report says so
    weights = _common.row_weights(files, weights)
    with _common.progress_bar(f"Reading {file}"):
        cutter.fit(_common.chunks(files, target, drop, types=known, weights=weights), target, sample_weight=weights)
    if table is not None:
        _common.echo_data(cutter.to_sql(table, dialect, keep=[] if target is None else [target]) + ";")
        return
    reports = [cutter.report(name) for name in cutter.edges_]
    if as_json:
        _common.echo_json(
            {"rows": cutter.n_rows_, "target": target, "columns": [report.to_dict() for report in reports]}
        )
    elif output != "-":
        shown = [report.text(_common.terminal_width()) for report in reports]
        _common.echo("\n\n".join(shown) or f"{file} has no numeric column.")
    if output is not None:
        _write(cutter, files, output)
        if output != "-":
            _common.echo(f"\nWritten to {output}", err=as_json)


def _check(
    methods: tuple[str, ...],
    bins: str | None,
    n: float | None,
    merge: str | None,
    output: str | None,
    as_json: bool,
    files: Sequence[Path],
) -> None:
    """Check the combination of options before the file is read."""
    from pathlib import Path

    rules = [method.rpartition("=")[2] for method in methods] or ["mdl"]
    if bins is not None and not any(rule in ("equal_frequency", "equal_width", "kmeans") for rule in rules):
        raise click.UsageError("--bins needs --method equal_frequency, equal_width or kmeans.")
    if bins is not None and bins != "leave_one_out" and not (bins.isdecimal() and int(bins)):
        raise click.UsageError(f"--bins must be an integer >= 1 or leave_one_out, not {bins!r}.")
    if (n is not None or merge is not None) and "min_n" not in rules:
        raise click.UsageError("--n and --merge need --method min_n.")
    if output == "-" and as_json:
        raise click.UsageError("-o - and --json both write to standard output; use one of them.")
    if output not in (None, "-"):
        if Path(output).suffix.lower() not in (".csv", ".txt", ""):
            raise click.UsageError(
                f"-o writes CSV: the file name must end in .csv or .txt, not {Path(output).suffix}."
            )
        if not Path(output).parent.is_dir():
            raise click.UsageError(f"Folder {Path(output).parent} does not exist.")
        _common.refuse_same(output, files)


def _methods(methods: tuple[str, ...]) -> Any:
    given = _common.one_or_named(methods, "--method")
    return {name: _edges(rule) for name, rule in given.items()} if isinstance(given, dict) else _edges(given or "mdl")


def _edges(rule: str) -> Any:
    """Parse 18:30:65 into cut points; any other text is the name of a method."""
    try:
        return [float(edge) for edge in rule.split(":")]
    except ValueError:
        return rule


def _write(cutter: Any, files: Sequence[Path], output: str) -> None:
    """Write the discretized table as CSV, chunk by chunk."""
    from countwise.data.frames import is_missing
    from countwise.data.schema import field_types
    from countwise.io.readers import read_pieces

    with _common.output_file(output, files) as out:
        writer = _common.csv_writer(out)
        for number, chunk in enumerate(read_pieces(files, types=field_types(cutter.schema_))):
            binned = cutter.transform({name: chunk[name] for name in cutter.schema_})
            columns = {name: binned.get(name, column) for name, column in chunk.items()}
            if number == 0:
                writer.writerow(columns)
            for row in zip(*columns.values(), strict=True):
                writer.writerow(["" if is_missing(cell) else cell for cell in row])
