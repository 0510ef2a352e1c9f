"""Training in memory, chunk by chunk, or in DuckDB."""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from countwise.cli._common import chunks, echo, left, progress_bar, title
from countwise.errors import CountwiseError, OptionError, ReadError, RowsRefused

__all__ = ["LARGE", "LEAST", "guarded", "refuse_too_large", "rows_per_chunk", "size", "size_text", "trained"]


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
LEAST = 256 * 10**6  # Python, the readers and a small chunk
_OWN = 200 * 10**6  # of that, in use before the first row is read
_CELL = 100  # measured bytes per value of a chunk while it is counted
_HELD = 24  # measured bytes per value in a model that needs all rows in memory
_MOST_ROWS = 65536


def size(text: str | None) -> int | None:
    """Parse a size in bytes such as 500MB, 2GB or 1.5GiB."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", text.upper())
    if found is None or found[2] not in _UNITS:
        raise click.UsageError(f"--memory must be a size such as 500MB, 2GB or 1.5GiB, not {text!r}.")
    amount = int(float(found[1]) * _UNITS[found[2]])
    if amount < LEAST:
        raise click.UsageError(f"--memory must be at least {size_text(LEAST)}, not {text}.")
    return amount


def size_text(amount: float) -> str:
    """Return a number of bytes as text."""
    return f"{amount / 1e9:.3g} GB" if amount >= 1e9 else f"{amount / 1e6:.3g} MB"


def rows_per_chunk(columns: int, memory: int | None) -> int:
    """Return the number of rows to read at a time."""
    room = (10**9 if memory is None else memory) - _OWN
    return max(512, min(_MOST_ROWS, room // (_CELL * max(columns, 1))))


def refuse_too_large(what: str, files: list[Path], columns: int, memory: int) -> None:
    """Raise an error if a model needs all rows in memory and they do not fit."""
    rows = _rows_about(files)
    need = _OWN + _HELD * rows * columns
    if need > memory:
        raise RowsRefused(
            f"{what} needs all rows in memory: about {rows:,} rows of {columns} columns take {size_text(need)}, "
            f"more than --memory {size_text(memory)}.",
            hint="increase --memory, drop columns with --drop, or use --model naive-bayes or discriminant.",
        )


def _rows_about(files: list[Path]) -> int:
    """Return the number of rows: exactly for Parquet, estimated from the first lines for other files."""
    from countwise.io.parquet import parquet_rows
    from countwise.io.paths import format_of
    from countwise.io.text_files import opened

    if format_of(files[0]) == "parquet":
        return parquet_rows(files)
    with opened(files[0]) as text:
        start = text.read(1 << 20)
        packed = 4 if files[0].suffix == ".gz" else 1  # gzip compresses text to about a quarter
    lines = max(start.count(b"\n"), 1)
    return int(sum(file.stat().st_size for file in files) * packed * lines / max(len(start), 1))


def guarded(chunks: Iterator[Any], memory: int | None) -> Iterator[Any]:
    """Yield the chunks; raise an error as soon as more than `memory` is in use.

    A model may keep the values of a density, the rows, or a count for each of many nominal values.
    """
    rows = 0
    for chunk in chunks:
        held = _resident()
        if memory is not None and held is not None and held > memory:
            raise RowsRefused(
                f"After {rows:,} rows, {size_text(held)} of memory is in use, more than --memory "
                f"{size_text(memory)}. The memory use of this model grows with the number of rows.",
                hint="increase --memory, drop columns with many values with --drop, or use --distribution gaussian.",
            )
        yield chunk
        rows += len(next(iter(chunk.values()), ()))


def _resident() -> int | None:
    """Return the resident memory of this process in bytes, or None if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


LARGE = 100 * 10**6  # bytes of Parquet from which DuckDB is faster
_ROOM = 150 * 10**6  # bytes that Python needs beside DuckDB
_NEEDED = 400 * 10**6  # with fewer bytes DuckDB may run out of memory


def trained(
    model: Any,
    files: list[Path],
    target: str | None,
    drop: tuple[str, ...],
    weights: str | None,
    engine: str,
    memory: int | None,
) -> str:
    """Fit a model to files with the given engine, and return a sentence that says how it was trained.

    `auto` uses DuckDB for large Parquet files if it is installed. If DuckDB cannot train the model, it is trained in
    memory.
    """
    if engine == "duckdb" or (engine == "auto" and target is not None and _worth(files, memory)):
        try:
            return _in_duckdb(model, files, target, drop, weights, memory)
        except (RowsRefused, ReadError) as error:
            if engine == "duckdb":
                raise _with_options(error) from None
            echo(f"Note: DuckDB cannot train this model; it is trained in memory. {error.message}", err=True)
    return _in_chunks(model, files, target, drop, weights, memory)


def _worth(files: list[Path], memory: int | None) -> bool:
    """Return whether DuckDB is installed, can read the files, and is worth starting."""
    return (
        not _unfit(files)
        and (memory is None or memory >= _NEEDED)
        and sum(file.stat().st_size for file in files) >= LARGE
        and all(find_spec(name) is not None for name in ("duckdb", "pyarrow"))
    )


def _unfit(files: list[Path]) -> OptionError | None:
    """Return the error if DuckDB cannot read the files in the same way as the readers of Countwise."""
    from countwise.io.paths import format_of

    if any(format_of(file) != "parquet" or file.suffix == ".gz" for file in files):
        return OptionError(
            "--engine duckdb reads only Parquet files; column types in other formats depend on all values.",
            hint="use --engine memory, which reads the file in chunks.",
        )
    odd = next((file for file in files if glob.has_magic(str(file))), None)
    if odd is not None:
        return OptionError(
            f"DuckDB would read {str(odd)!r} as a pattern.", hint="use --engine memory, or rename the file."
        )
    return None


def _in_chunks(
    model: Any, files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> str:
    from countwise.base.tally_model import TallyModel
    from countwise.io.readers import column_names

    columns = len(column_names(files))
    whole = not isinstance(model, TallyModel) or (hasattr(model, "_needs_rows") and model._needs_rows())
    if whole and memory is not None:
        refuse_too_large(type(model).__name__, files, columns, memory)
    rows = rows_per_chunk(columns, memory)
    with progress_bar(f"Reading {title(files)}"):
        parts = guarded(chunks(files, target, drop, rows, model.types, weights), memory)
        model.fit(parts, target, sample_weight=weights)
    return f"Trained in memory, {'all rows at once' if whole else f'in chunks of at most {rows:,} rows'}."


def _in_duckdb(
    model: Any, files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> str:
    unfit = _unfit(files)
    if unfit is not None:
        raise unfit
    with _relation(files, target, drop, weights, memory) as relation:
        model.fit(relation, target, sample_weight=weights)
    return f"Trained in DuckDB{'' if memory is None else f' with a memory limit of {size_text(memory - _ROOM)}'}."


@contextmanager
def _relation(
    files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> Iterator[Any]:
    """Open the files as a DuckDB relation whose columns have the same types as in the readers."""
    try:
        import duckdb
    except ImportError:
        raise OptionError("DuckDB is not installed.", hint="install it with pip install 'countwise[data]'.") from None
    from countwise._kernels.threads import thread_count
    from countwise.io.parquet import duckdb_cells, parquet_families
    from countwise.io.readers import column_names

    kept = left(column_names(files), target, drop, files)
    families = parquet_families(files, kept)
    cells = duckdb_cells({name: families[name] for name in kept})
    with tempfile.TemporaryDirectory(prefix="countwise-") as spare:
        config: dict[str, Any] = {"threads": thread_count(), "temp_directory": spare}
        if memory is not None:
            config["memory_limit"] = f"{(memory - _ROOM) // 10**6}MB"
        connection = duckdb.connect(config=config)
        try:
            connection.execute("set enable_progress_bar = false")  # it would mix with the output
            # by name: otherwise the other files would be cast to the types of the first
            rows = connection.read_parquet([str(f) for f in files], union_by_name=True, hive_partitioning=False)
            rows = rows.project(cells)
            yield rows
        finally:
            connection.close()


def _with_options(error: CountwiseError) -> CountwiseError:
    """Return an error of DuckDB with a hint that names options of the command line."""
    if isinstance(error, RowsRefused):
        return RowsRefused(error.message, hint="use --engine memory.")
    if "OutOfMemory" in str(error):
        return ReadError("DuckDB ran out of memory.", hint="increase --memory, or use --engine memory.")
    return error
