"""countwise bin: cut the numbers of a table into ranges."""

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
@click.option("-y", "--target", default=None, metavar="COLUMN", help="The class, for the rules that look at it.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="[COLUMN=]RULE",
    help="mdl, min_n, class_contiguous, equal_frequency, equal_width, kmeans or naive; for one column or all. "
    "COLUMN=18:30:65 gives the edges by hand.  [default: mdl]",
)
@click.option("--bins", default=None, metavar="N", help="How many ranges, or leave_one_out.  [default: 10]")
@click.option("--n", "n", default=None, type=float, help="min_n: rows of one class in a range.  [default: 6]")
@click.option("--merge", default=None, type=click.Choice(["majority", "last"]), help="min_n: ranges to be joined.")
@_common.types_option
@_common.weights_option
@_common.drop_option
@click.option(
    "-o", "--output", default=None, metavar="CSV", help="Write the table with its ranges; - for the screen."
)
@_common.json_option
@click.option(
    "--sql", "table", default=None, metavar="TABLE", help="Write a query that cuts TABLE, and nothing else."
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
    """Cut the numeric columns of FILE into ranges, and say why and at what cost.

    \b
    countwise bin weather.arff -y play --method min_n --n 3
    countwise bin penguins.csv -y species -o ranges.csv
    countwise bin credit.csv -y Status --method Age=25:40:60
    countwise bin credit.csv -y Status --sql applicants --dialect postgres > cuts.sql
    """
    from countwise.preprocessing.discretizer import Discretizer

    files = _common.tables(file)
    _check(methods, bins, n, merge, output, as_json, files)
    if table is not None and (as_json or output is not None):
        raise click.UsageError("--sql writes a query and nothing else; leave -o and --json out.")
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
        raise click.UsageError("A rule that looks at the class needs -y COLUMN; equal_frequency does not.")
    warnings.filterwarnings("ignore", message=".*left with one range")  # the report says so, and why
    with _common.progress_bar(f"Reading {file}"):
        cutter.fit(_common.pieces(files, target, drop), target, sample_weight=weights)
    if table is not None:
        click.echo(cutter.to_sql(table, dialect, keep=[] if target is None else [target]) + ";")
        return
    reports = [cutter.report(name) for name in cutter.edges_]
    if as_json:
        _common.echo_json(
            {"rows": cutter.n_rows_, "target": target, "columns": [report.to_dict() for report in reports]}
        )
    elif output != "-":
        shown = [report.text(_common.terminal_width()) for report in reports]
        click.echo("\n\n".join(shown) or f"{file} has no column of numbers.")
    if output is not None:
        _write(cutter, files, output)
        if output != "-":
            click.echo(f"\nWritten to {output}", err=as_json)


def _check(
    methods: tuple[str, ...],
    bins: str | None,
    n: float | None,
    merge: str | None,
    output: str | None,
    as_json: bool,
    files: Sequence[Path],
) -> None:
    """Refuse what cannot be meant before any work is done."""
    from pathlib import Path

    rules = [method.rpartition("=")[2] for method in methods] or ["mdl"]
    if bins is not None and not any(rule in ("equal_frequency", "equal_width", "kmeans") for rule in rules):
        raise click.UsageError("--bins is for equal_frequency, equal_width and kmeans; add --method.")
    if bins is not None and bins != "leave_one_out" and not (bins.isdecimal() and int(bins)):
        raise click.UsageError(f"--bins takes a whole number, 1 or more, or leave_one_out, not {bins!r}.")
    if (n is not None or merge is not None) and "min_n" not in rules:
        raise click.UsageError("--n and --merge are for --method min_n.")
    if output == "-" and as_json:
        raise click.UsageError("-o - and --json would both write to the screen.")
    if output not in (None, "-"):
        if Path(output).suffix.lower() not in (".csv", ".txt", ""):
            raise click.UsageError(f"-o writes CSV; {output} is named as something else.")
        if not Path(output).parent.is_dir():
            raise click.UsageError(f"There is no folder {Path(output).parent} to write to.")
        _common.refuse_same(output, files)


def _methods(methods: tuple[str, ...]) -> Any:
    given = _common.one_or_named(methods, "--method")
    return {name: _edges(rule) for name, rule in given.items()} if isinstance(given, dict) else _edges(given or "mdl")


def _edges(rule: str) -> Any:
    """18:30:65 as edges; anything else is the name of a rule."""
    try:
        return [float(edge) for edge in rule.split(":")]
    except ValueError:
        return rule


def _write(cutter: Any, files: Sequence[Path], output: str) -> None:
    """The table with its ranges as CSV, piece by piece."""
    import csv

    from countwise.data.frames import is_missing
    from countwise.io.readers import read_pieces

    with _common.output_file(output, files) as out:
        writer = csv.writer(out)
        for number, piece in enumerate(read_pieces(files)):
            ranges = cutter.transform({name: piece[name] for name in cutter.schema_})
            columns = {name: ranges.get(name, column) for name, column in piece.items()}
            if number == 0:
                writer.writerow(columns)
            for row in zip(*columns.values(), strict=True):
                writer.writerow(["" if is_missing(cell) else cell for cell in row])
