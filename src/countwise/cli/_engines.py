"""Where a training happens: by pieces in memory, or in DuckDB, which is opened here and nowhere else."""

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

from countwise.cli._common import left, pieces, progress_bar, title
from countwise.errors import CountwiseError, OptionError, ReadError, RowsRefused

__all__ = ["LARGE", "LEAST", "guarded", "learned", "refuse_too_large", "rows_in_a_piece", "size", "size_told"]


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
LEAST = 256 * 10**6  # Python, the readers and a small piece
_OWN = 200 * 10**6  # of that, what is there before the first row
_CELL = 100  # bytes that a cell of a piece takes while it is counted, as measured
_HELD = 24  # bytes that a cell takes in a model that must see all rows at once, as measured
_MOST_ROWS = 65536


def size(text: str | None) -> int | None:
    """Bytes as a person writes them: 500MB, 2GB, 1.5GiB."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", text.upper())
    if found is None or found[2] not in _UNITS:
        raise click.UsageError(f"--memory takes a size such as 500MB, 2GB or 1.5GiB, not {text!r}.")
    amount = int(float(found[1]) * _UNITS[found[2]])
    if amount < LEAST:
        raise click.UsageError(f"--memory {text} is too little: at least {size_told(LEAST)} are needed.")
    return amount


def size_told(amount: float) -> str:
    """Bytes for a person."""
    return f"{amount / 1e9:.3g} GB" if amount >= 1e9 else f"{amount / 1e6:.3g} MB"


def rows_in_a_piece(columns: int, memory: int | None) -> int:
    """How many rows are held at a time."""
    room = (10**9 if memory is None else memory) - _OWN
    return max(512, min(_MOST_ROWS, room // (_CELL * max(columns, 1))))


def refuse_too_large(what: str, files: list[Path], columns: int, memory: int) -> None:
    """A model that must see all rows at once is refused if they would not fit."""
    rows = _rows_about(files)
    need = _OWN + _HELD * rows * columns
    if need > memory:
        raise RowsRefused(
            f"{what} needs all rows at once: about {rows:,} rows of {columns} columns take {size_told(need)}, "
            f"more than --memory {size_told(memory)}.",
            hint="give more, leave columns out by --drop, or learn by counting: naive-bayes, discriminant.",
        )


def _rows_about(files: list[Path]) -> int:
    """How many rows there are: as the file says, or by the length of its first lines."""
    from countwise.io.parquet import parquet_rows
    from countwise.io.paths import format_of
    from countwise.io.text_files import opened

    if format_of(files[0]) == "parquet":
        return parquet_rows(files)
    with opened(files[0]) as text:
        start = text.read(1 << 20)
        packed = 4 if files[0].suffix == ".gz" else 1  # text is about four times as long as its gzip
    lines = max(start.count(b"\n"), 1)
    return int(sum(file.stat().st_size for file in files) * packed * lines / max(len(start), 1))


def guarded(pieces: Iterator[Any], memory: int | None) -> Iterator[Any]:
    """The pieces, unless what is kept of them has outgrown the memory: values of a density, rows, many names."""
    rows = 0
    for piece in pieces:
        held = _resident()
        if memory is not None and held is not None and held > memory:
            raise RowsRefused(
                f"After {rows:,} rows {size_told(held)} are in use, more than --memory {size_told(memory)}: "
                "this model keeps more the more rows there are.",
                hint="give more, leave columns of many values out by --drop, or use a distribution such as gaussian.",
            )
        yield piece
        rows += len(next(iter(piece.values()), ()))


def _resident() -> int | None:
    """Bytes of memory that this process has now, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


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
