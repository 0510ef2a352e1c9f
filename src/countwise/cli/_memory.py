"""How much memory a training may take: sizes as typed, pieces that fit, and a refusal before it is too much."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from countwise.errors import RowsRefused

__all__ = ["LEAST", "guarded", "refuse_too_large", "rows_in_a_piece", "size", "size_told"]

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
                hint="give more, leave columns of many names out by --drop, or use laws such as gaussian.",
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
