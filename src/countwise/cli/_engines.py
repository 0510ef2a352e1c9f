"""Where a training happens: by pieces in memory, or in DuckDB, which is opened here and nowhere else."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from countwise.cli._common import left, pieces, progress_bar, title
from countwise.cli._memory import guarded, refuse_too_large, rows_in_a_piece, size_told
from countwise.errors import CountwiseError, OptionError, ReadError, RowsRefused

__all__ = ["LARGE", "learned"]

LARGE = 100 * 10**6  # bytes of Parquet from which DuckDB is quicker
_ROOM = 150 * 10**6  # bytes that Python takes beside DuckDB
_NEEDED = 400 * 10**6  # bytes below which DuckDB may not find enough


def learned(
    model: Any,
    files: list[Path],
    target: str | None,
    drop: tuple[str, ...],
    weights: str | None,
    engine: str,
    memory: int | None,
) -> str:
    """Fit a model to files by the engine asked for, and say in a line which it was.

    `auto` is DuckDB for large Parquet files if it is installed; where it cannot answer, memory does.
    """
    if engine == "duckdb" or (engine == "auto" and target is not None and _worth(files, memory)):
        try:
            return _by_duckdb(model, files, target, drop, weights, memory)
        except (RowsRefused, ReadError) as error:
            if engine == "duckdb":
                raise _in_our_words(error) from None
            click.echo(f"Note: DuckDB does not do this, memory does. {error.message}", err=True)
    return _by_pieces(model, files, target, drop, weights, memory)


def _worth(files: list[Path], memory: int | None) -> bool:
    """Whether DuckDB is there, can read the files, and is worth starting."""
    return (
        not _unfit(files)
        and (memory is None or memory >= _NEEDED)
        and sum(file.stat().st_size for file in files) >= LARGE
        and all(find_spec(name) is not None for name in ("duckdb", "pyarrow"))
    )


def _unfit(files: list[Path]) -> OptionError | None:
    """Why DuckDB cannot read the files as they are read here."""
    from countwise.io.paths import format_of

    if any(format_of(file) != "parquet" or file.suffix == ".gz" for file in files):
        return OptionError(
            "--engine duckdb reads Parquet: the types of other files are decided by all their cells.",
            hint="--engine memory reads them by pieces.",
        )
    odd = next((file for file in files if glob.has_magic(str(file))), None)
    if odd is not None:
        return OptionError(f"DuckDB would take {str(odd)!r} for a pattern.", hint="--engine memory, or rename it.")
    return None


def _by_pieces(
    model: Any, files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> str:
    from countwise.base.tally_model import TallyModel
    from countwise.io.readers import column_names

    columns = len(column_names(files))
    whole = not isinstance(model, TallyModel) or (hasattr(model, "_needs_rows") and model._needs_rows())
    if whole and memory is not None:
        refuse_too_large(type(model).__name__, files, columns, memory)
    rows = rows_in_a_piece(columns, memory)
    with progress_bar(f"Reading {title(files)}"):
        model.fit(guarded(pieces(files, target, drop, rows), memory), target, sample_weight=weights)
    return f"Learned in memory, {'all rows at once' if whole else f'at most {rows:,} rows at a time'}."


def _by_duckdb(
    model: Any, files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> str:
    unfit = _unfit(files)
    if unfit is not None:
        raise unfit
    with _relation(files, target, drop, weights, memory) as relation:
        model.fit(relation, target, sample_weight=weights)
    return f"Learned in DuckDB{'' if memory is None else f', with {size_told(memory - _ROOM)} for its queries'}."


@contextmanager
def _relation(
    files: list[Path], target: str | None, drop: tuple[str, ...], weights: str | None, memory: int | None
) -> Iterator[Any]:
    """The files as a DuckDB relation whose columns have the types that the readers give them."""
    try:
        import duckdb
    except ImportError:
        raise OptionError("DuckDB is not installed.", hint="pip install 'countwise[data]'") from None
    from countwise._kernels.threads import thread_count
    from countwise.io.parquet import duckdb_cells, parquet_families

    families = parquet_families(files)
    cells = duckdb_cells({name: families[name] for name in left(families, target, drop, files)})
    with tempfile.TemporaryDirectory(prefix="countwise-") as spare:
        config: dict[str, Any] = {"threads": thread_count(), "temp_directory": spare}
        if memory is not None:
            config["memory_limit"] = f"{(memory - _ROOM) // 10**6}MB"
        connection = duckdb.connect(config=config)
        try:
            connection.execute("set enable_progress_bar = false")  # it would be drawn among the output
            # by name: else the types of the first file would be forced upon the others
            rows = connection.read_parquet([str(f) for f in files], union_by_name=True, hive_partitioning=False)
            rows = rows.project(cells)
            yield rows
        finally:
            connection.close()


def _in_our_words(error: CountwiseError) -> CountwiseError:
    """A refusal with what the command line can do about it."""
    if isinstance(error, RowsRefused):
        return RowsRefused(error.message, hint="--engine memory learns from the rows.")
    if "OutOfMemory" in str(error):
        return ReadError("DuckDB had too little memory.", hint="give more by --memory, or use --engine memory.")
    return error
