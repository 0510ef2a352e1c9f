"""Options, arguments and output that several commands share."""

from __future__ import annotations

import errno
import io
import math
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from countwise.errors import ModelFileError, OptionError, ReadError, SchemaError, did_you_mean, listed, printable

if TYPE_CHECKING:
    from pathlib import Path

    from countwise.io.spreadsheets import CsvWriter

__all__ = [
    "chart_look",
    "chunks",
    "csv_writer",
    "cut_points",
    "dialect_option",
    "drop_option",
    "echo",
    "echo_data",
    "echo_json",
    "echo_table",
    "existing",
    "json_option",
    "left",
    "network_from",
    "note_unseen",
    "one_or_named",
    "output_file",
    "pairs",
    "plain",
    "predictor_from",
    "progress_bar",
    "refuse_same",
    "refuse_unknown",
    "row_from",
    "row_weights",
    "rows_of_grid",
    "schema_with_target",
    "shown",
    "table_of",
    "tables",
    "terminal_width",
    "title",
    "types_from",
    "types_option",
    "weights_option",
]


_STANDARD_OUTPUT = "standard output"

types_option = click.option(
    "--types",
    multiple=True,
    metavar="COLUMN=TYPE",
    help="Type of a column: nominal, ordinal (in numerical or alphabetical order), numeric, date, count, text or "
    "boolean; or the ordered values of an ordinal column, as in 'size=S<M<L'. By default, types are inferred from "
    "the values. Can be repeated, or separated by commas.",
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


def cut_points(rule: str) -> Any:
    """Parse 18:30:65 into cut points; any other text is the name of a method."""
    try:
        return [float(edge) for edge in rule.split(":")]
    except ValueError:
        return rule


def types_from(
    files: Sequence[Path], texts: tuple[str, ...], target: str | None, drop: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the types declared by --types and the domains declared in ARFF files, without dropped columns.

    The categories of a Parquet column are not used as a domain: they are only the values of that file, and a model
    with such a fixed domain could not be updated or merged.
    """
    from countwise.data.attributes import Nominal, Ordinal
    from countwise.io.paths import format_of
    from countwise.io.readers import attribute_hints

    types: dict[str, Any] = {}
    hints = attribute_hints(files) if format_of(files[0]) == "arff" else {}
    for name, (kind, values) in hints.items():
        if name != target and kind == "nominal" and values:
            types[name] = Nominal(name, tuple(values))
        elif name != target and kind == "text":
            types[name] = "text"
    for name, kind in pairs(texts, "--types").items():
        types[name] = Ordinal(name, tuple(value.strip() for value in kind.split("<"))) if "<" in kind else kind
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

    with bar(title, total) if sys.stderr is not None and sys.stderr.isatty() else nullcontext():
        yield


def echo(text: str = "", *, err: bool = False) -> None:
    """Print text on the terminal, with control characters escaped; data is printed by `echo_data`."""
    if err:
        click.echo(printable(text), err=True)
        return
    with _named_errors():
        click.echo(printable(text), file=_standard_output())


def echo_data(text: str) -> None:
    """Print data that another program may read, such as SQL: unchanged, unless a terminal shows it."""
    with output_file("-") as out:
        out.write(f"{text}\n")


def echo_json(value: Any) -> None:
    """Print plain data as JSON; characters that could change a terminal are written as JSON escapes."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    echo_data(re.sub(r"[^ -~\n]", lambda c: c[0] if printable(c[0]) == c[0] else json.dumps(c[0])[1:-1], text))


def echo_table(columns: Mapping[str, list[Any]]) -> None:
    """Print a table, wrapped to the width of the terminal."""
    from countwise.working import Grid

    echo(Grid(columns).text(terminal_width()))


def _standard_output() -> Any:
    """Return standard output; raise an error if it is closed."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", _STANDARD_OUTPUT)
    return sys.stdout


@contextmanager
def _named_errors() -> Iterator[None]:
    """Name standard output in the errors of writing to it; a reader that has ended ends the command."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(0) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, _STANDARD_OUTPUT) from None


class _DataStream:
    """Standard output for data: the text in UTF-8, or with control characters escaped if a terminal shows it."""

    def __init__(self) -> None:
        self._out = _standard_output()
        self._raw = None if self._out.isatty() else getattr(self._out, "buffer", None)

    def write(self, text: str) -> int:
        with _named_errors():
            if self._raw is None:
                self._out.write(printable(text) if self._out.isatty() else text)
            else:
                self._out.flush()  # what was printed before comes first
                self._raw.write(_utf8(text))
        return len(text)

    def flush(self) -> None:
        (self._raw or self._out).flush()


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ModelFileError(
            f"The text has {text[error.start]!r}, a lone surrogate, which UTF-8 cannot represent.",
            hint="rename the values with such characters.",
        ) from None


@contextmanager
def output_file(path: str, not_over: Iterable[str | Path] = ()) -> Iterator[Any]:
    """Open standard output for "-", or a file that is written only if the command succeeds."""
    if path == "-":
        out = _DataStream()
        yield out
        with _named_errors():
            out.flush()
        return
    refuse_same(path, not_over)
    text = io.StringIO(newline="")
    yield text
    from countwise.filewriter import write_whole

    write_whole(path, _utf8(text.getvalue()))


def csv_writer(out: Any, *, raw: bool = False) -> CsvWriter:
    """Return a writer of CSV rows that notes texts a spreadsheet would run as formulas."""
    from countwise.io.spreadsheets import CsvWriter

    def note(text: str) -> None:
        echo(
            f"Note: Texts that a spreadsheet would run as formulas, such as {text!r}, are written with a leading "
            "apostrophe; countwise removes it when it reads the file.",
            err=True,
        )

    return CsvWriter(out, raw=raw, note=note)


def refuse_same(path: str, others: Iterable[str | Path]) -> None:
    """Raise an error if an output file is one of the input files."""
    for other in others if os.path.exists(path) else ():
        if os.path.exists(other) and os.path.samefile(path, other):
            raise OptionError(f"{path} is an input file and cannot be overwritten.", hint="use another file for -o.")


def terminal_width() -> int | None:
    """Return the width of the terminal; None if the output is not a terminal."""
    import shutil

    return shutil.get_terminal_size().columns if _standard_output().isatty() else None


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


def refuse_unknown(given: Iterable[str], names: Collection[str], files: Sequence[Path]) -> None:
    """Raise an error if a column that an option names does not exist."""
    for name in given:
        if name not in names:
            raise ReadError(
                f"{files[0]} has no column {name!r}.",
                hint=did_you_mean(name, names) or f"use one of {listed(names)}.",
            )


def left(names: Iterable[str], target: str | None, drop: tuple[str, ...], files: Sequence[Path]) -> list[str]:
    """Return the columns without dropped ones; raise an error if the target or a dropped column does not exist."""
    names = list(names)
    drop = tuple(name for one in drop for name in ([one] if one in names else one.split(",")))
    refuse_unknown((*drop, *([target] if target else ())), names, files)
    if target in drop:
        raise click.UsageError(f"--drop must not contain the target {target!r}.")
    return [name for name in names if name not in drop]


def row_weights(files: Sequence[Path], weights: str | None) -> str | None:
    """Return the column of --weights, or else that of the instance weights of ARFF files."""
    from countwise.io.readers import instance_weights

    if weights is None and (weights := instance_weights(files)) is not None:
        click.echo(f"Note: The instance weights of {title(files)} are used.", err=True)
    return weights


def chunks(
    files: Sequence[Path],
    target: str | None,
    drop: tuple[str, ...],
    rows: int = 65536,
    types: Any = None,
    weights: str | None = None,
) -> Any:
    """Read the table in chunks, without the dropped columns; `types` are declared types or a schema."""
    from countwise.data.schema import field_types
    from countwise.io.readers import column_names, read_pieces

    kept = left(column_names(files), target, drop, files)
    if weights is not None and weights not in kept:
        kept.append(weights)
    types = {**field_types(types), **({} if weights is None else {weights: "numeric"})}
    for chunk in read_pieces(files, rows=rows, types=types, needed=kept):
        yield {name: chunk[name] for name in kept if name in chunk}


def table_of(
    files: Sequence[Path], target: str | None, drop: tuple[str, ...], types: Any = None, weights: str | None = None
) -> dict[str, Any]:
    """Read the whole table, without the dropped columns; `types` are declared types or a schema."""
    return dict(next(chunks(files, target, drop, sys.maxsize, types, weights)))


def note_unseen(schema: Any, chunk: Mapping[str, Any]) -> None:
    """Print a note about nominal columns of which no value was seen in training."""
    from countwise.data.attributes import Nominal
    from countwise.data.frames import frame_of

    known = [a for a in schema.values() if isinstance(a, Nominal) and a.name in chunk]
    for a, column in zip(known, frame_of({a.name: chunk[a.name] for a in known}).columns.values(), strict=True):
        codes = a.encode(column)
        present = codes != a.missing
        if present.any() and (codes[present] == a.unseen).all():
            values = dict.fromkeys(str(value) for value in chunk[a.name][present][:100])
            click.echo(
                f"Note: No value of {a.name!r} was seen in training ({listed(values, 3)}); the column is ignored.",
                err=True,
            )


def schema_with_target(fitted: Any, target: str | None = None) -> dict[str, Any]:
    """Return the attributes of a fitted model and of its target, which may have another name in a file."""
    found = dict(fitted.schema_)
    if hasattr(fitted, "target_"):
        found[target or fitted.target_.name] = fitted.target_
    return found


def chart_look() -> dict[str, Any]:
    """Return the width of charts, and whether the terminal supports Unicode."""
    from countwise.working.charts import supports_unicode

    width = terminal_width()
    return {"width": min(width or 72, 72), "unicode": supports_unicode(_standard_output().encoding)}


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
