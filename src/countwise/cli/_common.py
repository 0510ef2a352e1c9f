"""Options, arguments and output that several commands share."""

from __future__ import annotations

import io
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from countwise.errors import OptionError, ReadError, SchemaError, did_you_mean, listed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "chart_look",
    "chunks",
    "dialect_option",
    "drop_option",
    "echo_json",
    "echo_table",
    "existing",
    "json_option",
    "left",
    "network_from",
    "one_or_named",
    "output_file",
    "pairs",
    "plain",
    "predictor_from",
    "progress_bar",
    "refuse_same",
    "row_from",
    "rows_of_grid",
    "shown",
    "tables",
    "terminal_width",
    "title",
    "types_from",
    "types_option",
    "weights_option",
]


types_option = click.option(
    "--types",
    multiple=True,
    metavar="COLUMN=TYPE",
    help="Type of a column: nominal, ordinal (in numerical or alphabetical order), numeric, count, text or boolean. "
    "By default, types are inferred from the values. Can be repeated, or separated by commas.",
)
weights_option = click.option("--weights", metavar="COLUMN", help="Column with the weight of each row.")
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Column to ignore. Can be repeated, or separated by commas."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
dialect_option = click.option(
    "--dialect",
    default="duckdb",
    show_default=True,
    type=click.Choice(["duckdb", "postgres", "spark", "sqlite"]),
    help="SQL dialect.",
)


def pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """Parse ``a=b,c=d`` into a mapping; a value with commas is quoted: ``note="hello, world"``."""
    found: dict[str, str] = {}
    for text in texts:
        for part in re.findall(r'(?:"[^"]*"|[^,"]|")+', text):
            name, equals, value = part.partition("=")
            if not equals:
                form = "COLUMN=TYPE" if option == "--types" else "NAME=VALUE"
                raise click.UsageError(f"{option} must be {form}, not {part!r}.")
            if name.strip() in found:
                raise click.UsageError(f"{option} sets {name.strip()!r} twice.")
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] == '"'
            found[name.strip()] = value[1:-1] if quoted else value
    return found


def one_or_named(texts: tuple[str, ...], option: str) -> Any:
    """Return one value for all columns, a mapping from ``COLUMN=VALUE`` options, or None without any."""
    single = [text for text in texts if "=" not in text]
    named = pairs(tuple(text for text in texts if "=" in text), option)
    if len(single) > 1 or (single and named):
        raise click.UsageError(f"{option} must be one value for all columns, or COLUMN=VALUE for some columns.")
    return single[0] if single else named or None


def types_from(
    files: Sequence[Path], texts: tuple[str, ...], target: str | None, drop: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the types declared by --types and the domains declared in ARFF files, without dropped columns.

    The categories of a Parquet column are not used as a domain: they are only the values of that file, and a model
    with such a fixed domain could not be updated or merged.
    """
    from countwise.data.attributes import Nominal
    from countwise.io.paths import format_of
    from countwise.io.readers import attribute_hints

    types: dict[str, Any] = {}
    hints = attribute_hints(files) if format_of(files[0]) == "arff" else {}
    for name, (kind, values) in hints.items():
        if name != target and kind == "nominal" and values:
            types[name] = Nominal(name, tuple(values))
        elif name != target and kind == "text":
            types[name] = "text"
    types.update(pairs(texts, "--types"))
    return {name: kind for name, kind in types.items() if name not in drop}


def row_from(schema: Any, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the row given by --set; attributes that are not given are missing."""
    row: dict[str, Any] = dict.fromkeys(schema)
    for name, text in settings.items():
        known = {n.casefold(): n for n in schema}
        if name.casefold() not in known:
            raise OptionError(
                f"The model has no attribute {name!r}.",
                hint=did_you_mean(name, schema) or f"use one of {listed(schema)}.",
            )
        attribute = schema[known[name.casefold()]]
        if getattr(attribute, "kind", "") == "block":
            raise SchemaError(
                f"{attribute.name!r} is a block of count columns; its values cannot be set on the command line."
            )
        row[attribute.name] = None if text in ("", "?") else attribute.parse(text)
    return [row]


def network_from(path: str) -> Any:
    """Load a Bayesian network from a model file or a BIF file."""
    from countwise.network.model import BayesNetwork

    if path.lower().endswith(".bif"):
        existing(path)
        return BayesNetwork.read_bif(path)
    from countwise.modelfile import load

    fitted = load(path)
    if not hasattr(fitted, "graph_"):
        raise OptionError(
            f"{path} is not a Bayesian network.", hint="train one with countwise train FILE --model net."
        )
    return fitted


def predictor_from(path: str) -> Any:
    """Load a model that predicts a target; a Bayesian network without a target is an error."""
    from countwise.modelfile import load

    fitted = load(path)
    if not hasattr(fitted, "predict"):
        raise OptionError(
            f"{path} is a model without a target, so it makes no predictions.",
            hint="use countwise ask for a Bayesian network, or train a classifier with -y.",
        )
    return fitted


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[None]:
    """Show a progress bar if standard error is a terminal and the work takes more than a second."""
    from countwise.progress import bar

    with bar(title, total) if sys.stderr.isatty() else nullcontext():
        yield


def echo_json(value: Any) -> None:
    """Print plain data as JSON."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def echo_table(columns: Mapping[str, list[Any]]) -> None:
    """Print a table, wrapped to the width of the terminal."""
    from countwise.working import Grid

    click.echo(Grid(columns).text(terminal_width()))


@contextmanager
def output_file(path: str, not_over: Iterable[str | Path] = ()) -> Iterator[Any]:
    """Open standard output for "-", or a file that is written only if the command succeeds."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    refuse_same(path, not_over)
    text = io.StringIO(newline="")
    yield text
    from pathlib import Path

    from countwise.modelfile import write_whole

    write_whole(Path(path), text.getvalue().encode())


def refuse_same(path: str, others: Iterable[str | Path]) -> None:
    """Raise an error if an output file is one of the input files."""
    for other in others if os.path.exists(path) else ():
        if os.path.exists(other) and os.path.samefile(path, other):
            raise OptionError(f"{path} is an input file and cannot be overwritten.", hint="use another file for -o.")


def terminal_width() -> int | None:
    """Return the width of the terminal; None if the output is not a terminal."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def existing(path: str) -> Path:
    """Return a path after checking that the file exists."""
    from pathlib import Path

    if not Path(path).exists():
        raise ReadError(f"The file {path!r} does not exist.", hint="check the spelling and the working directory.")
    return Path(path)


def tables(given: str | Sequence[str]) -> list[Path]:
    """Return the files of paths, patterns and folders of Parquet files."""
    from countwise.io.paths import resolved

    return resolved(given)


def title(files: Sequence[Path]) -> str:
    """Return the name of the file, or the number of files."""
    return str(files[0]) if len(files) == 1 else f"{len(files)} files"


def left(names: Iterable[str], target: str | None, drop: tuple[str, ...], files: Sequence[Path]) -> list[str]:
    """Return the columns without dropped ones; raise an error if the target or a dropped column does not exist."""
    names = list(names)
    drop = tuple(name for one in drop for name in ([one] if one in names else one.split(",")))
    for name in (*drop, *([target] if target else ())):
        if name not in names:
            raise ReadError(
                f"{files[0]} has no column {name!r}.",
                hint=did_you_mean(name, names) or f"use one of {listed(names)}.",
            )
    if target in drop:
        raise click.UsageError(f"--drop must not contain the target {target!r}.")
    return [name for name in names if name not in drop]


def chunks(files: Sequence[Path], target: str | None, drop: tuple[str, ...], rows: int = 65536) -> Any:
    """Read the table in chunks, without the dropped columns."""
    from countwise.io.readers import read_pieces

    for chunk in read_pieces(files, rows=rows):
        yield {name: chunk[name] for name in left(chunk, target, drop, files)}


def chart_look() -> dict[str, Any]:
    """Return the width of charts, and whether the terminal supports Unicode."""
    from countwise.working.charts import supports_unicode

    width = terminal_width()
    return {"width": min(width or 72, 72), "unicode": supports_unicode(sys.stdout.encoding)}


def plain(value: Any) -> Any:
    """Return a value that JSON can represent: NaN becomes None, infinity "inf"."""
    if isinstance(value, Mapping):
        return {str(name): plain(cell) for name, cell in value.items()}
    if isinstance(value, list | tuple):
        return [plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def rows_of_grid(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return a table as a list of rows for JSON."""
    return [dict(zip(grid, (plain(cell) for cell in row), strict=True)) for row in zip(*grid.values(), strict=True)]


def shown(cell: Any) -> Any:
    """Return a number with four significant digits; NaN and infinity become words."""
    from countwise.working.numbers import number

    if not isinstance(cell, float):
        return cell
    if math.isnan(cell):
        return "undefined"
    if math.isinf(cell):
        return "infinite" if cell > 0 else "-infinite"
    return number(float(f"{cell:.4g}")) if abs(cell) > 1e-12 else "0"  # smaller values are rounding errors
