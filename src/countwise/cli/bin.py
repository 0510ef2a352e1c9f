"""countwise bin: discretize the numeric columns of a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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
    "equal_frequency, equal_width, kmeans (the global optimum) or lloyd (k-means from random centers), or naive (a "
    "bin for each distinct value). COLUMN=18:30:65 sets the cut points.  [default: mdl]",
)
@click.option(
    "--bins",
    default=None,
    metavar="N",
    help="Number of bins for equal_frequency, equal_width, kmeans and lloyd, or leave_one_out to choose it.  "
    "[default: 10]",
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
@click.option(
    "--min-size",
    default=None,
    type=float,
    help="Least number of rows in a bin, for class_contiguous.",
)
@click.option(
    "--labels",
    "labels",
    multiple=True,
    metavar="[COLUMN=]NAME,NAME,...",
    help="Names of the bins of all columns or of one, such as low,medium,high.",
)
@click.option("--n-init", default=None, type=int, help="Number of random starts, for lloyd.  [default: 10]")
@click.option("--seed", default=None, type=int, help="Seed of the random starts, for lloyd.  [default: 0]")
@_common.types_option
@_common.weights_option
@_common.drop_option
@click.option(
    "-o", "--output", default=None, metavar="CSV", help="Write the discretized table as CSV; - for standard output."
)
@_common.json_option
@click.option(
    "--explain", "explained", is_flag=True, help="Print the computation of every cut point instead of the report."
)
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
    min_size: float | None,
    labels: tuple[str, ...],
    n_init: int | None,
    seed: int | None,
    types: tuple[str, ...],
    weights: str | None,
    drop: tuple[str, ...],
    output: str | None,
    as_json: bool,
    explained: bool,
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
    of_rules: dict[tuple[str, ...], dict[str, Any]] = {
        ("min_n",): {"--n": n, "--merge": merge},
        ("class_contiguous",): {"--min-size": min_size},
        ("lloyd",): {"--n-init": n_init, "--seed": seed},
        ("equal_frequency", "equal_width", "kmeans", "lloyd"): {"--bins": bins},
    }
    _check(methods, bins, of_rules, output, as_json, files)
    if table is not None and (as_json or explained or output is not None):
        raise click.UsageError("--sql cannot be combined with -o, --json or --explain.")
    known = _common.types_from(files, types, target, drop)
    cutter = Discretizer(
        _methods(methods),
        n_bins=10 if bins is None else int(bins) if bins.isdecimal() else bins,
        n=6.0 if n is None else n,
        merge=merge,
        min_size=min_size,
        labels=_labels(labels),
        n_init=10 if n_init is None else n_init,
        random_state=0 if seed is None else seed,
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
    reports: list[Any] = [cutter.explain(name) if explained else cutter.report(name) for name in cutter.edges_]
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
    of_rules: Mapping[tuple[str, ...], Mapping[str, Any]],
    output: str | None,
    as_json: bool,
    files: Sequence[Path],
) -> None:
    """Check the combination of options before the file is read."""
    from pathlib import Path

    rules = [method.rpartition("=")[2] for method in methods] or ["mdl"]
    for needed, options in of_rules.items():
        given = [option for option, value in options.items() if value is not None]
        if given and not set(needed) & set(rules):
            *first, last = needed
            names = f"{', '.join(first)} or {last}" if first else last
            raise click.UsageError(f"{' and '.join(options)} need{'s' * (len(options) == 1)} --method {names}.")
    if bins is not None and bins != "leave_one_out" and not (bins.isdecimal() and int(bins)):
        raise click.UsageError(f"--bins must be an integer >= 1 or leave_one_out, not {bins!r}.")
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
    return (
        {name: _common.cut_points(rule) for name, rule in given.items()}
        if isinstance(given, dict)
        else _common.cut_points(given or "mdl")
    )


def _labels(labels: tuple[str, ...]) -> Any:
    """Parse low,medium,high, for all columns or as COLUMN=low,medium,high for some."""
    given = {name: names.split(",") for name, equals, names in (text.partition("=") for text in labels) if equals}
    single = [text.split(",") for text in labels if "=" not in text]
    if len(given) + len(single) < len(labels) or len(single) > 1 or (single and given):
        raise click.UsageError("--labels must be given once for all columns, or once for each of some columns.")
    return single[0] if single else given or None


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
