"""Parquet files, through whichever engine is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError
from countwise.io.paths import told_apart
from countwise.io.pieces import Columns, Options, named, objects, same_columns

__all__ = ["duckdb_cells", "parquet_columns", "parquet_families", "parquet_hints", "parquet_pieces", "parquet_rows"]

_BUFFER = 1 << 20  # bytes of a column that are read at a time
_FAMILIES = {
    "whole": r"u?(tiny|small|big)?int(eger)?\d*$",
    "number": r"(half)?float\d*$|double$|decimal|null$",
    "truth": r"bool",
    "text": r"(large_)?(string|utf8)|varchar|categorical|enum",
    "time": r"timestamp|datetime|date(32|64)?(\[|$)",
}


def _families(types: Iterable[tuple[str, Any]], path: Path) -> dict[str, str]:
    """Family of each column, from the name of its type."""
    out = {}
    for name, kind in types:
        text = str(kind).lower()
        family = next((key for key, pattern in _FAMILIES.items() if re.match(pattern, text)), None)
        if family is None:
            message = f"The column {name!r} of {path.name!r} has the type {kind}."
            raise ReadError(message, hint="leave it out, or make it a number, a date, text or true and false.")
        out[name] = family
    return out


def _opened(path: Path) -> Any:
    """A file through pyarrow, of which no more than a little is held at a time, however large its row groups."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ReadError(
            f"{path.name!r} is a Parquet file, and pyarrow is not installed.", hint="pip install 'countwise[data]'"
        ) from None

    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)


class _ArrowTable:
    """A Parquet file through pyarrow; it is open only while it is read, for there may be many of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _opened(path) as file:
            fields = file.schema_arrow
        import pyarrow as pa

        # A categorical column is what its values are.
        types = ((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in fields)
        self.families = _families(types, path)

    def exact(self, names: list[str]) -> set[str]:
        """Columns of whole numbers that int64 can hold: no cell missing, none too large."""
        import pyarrow.compute as compute

        with _opened(self.path) as file:
            good, unsure = _sound_by_statistics(file, names)
            for batch in file.iter_batches(columns=unsure) if unsure else ():
                for name in unsure:
                    column = batch.column(name)
                    largest = compute.max(column).as_py()
                    if column.null_count or (largest is not None and largest >= 2**63):
                        good.discard(name)
        return good

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        with _opened(self.path) as file:
            for batch in file.iter_batches(batch_size=rows):
                yield {name: self._convert(batch.column(name), families[name]) for name in families}

    @staticmethod
    def _convert(column: Any, family: str) -> NDArray[Any]:
        import pyarrow as pa

        if family == "truth":
            return objects(column.to_pylist())
        if family == "text":  # one object for each distinct text
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            words = objects([*coded.dictionary.to_pylist(), None])
            codes = coded.indices.cast(pa.int64()).fill_null(len(words) - 1)
            return np.asarray(words[codes.to_numpy(zero_copy_only=False)])
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if family == "time":
            exact = pa.timestamp("us", getattr(column.type, "tz", None))
            micros = column.cast(exact, safe=False).cast(pa.int64())
            return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6)
        kind = pa.int64() if family == "whole" else pa.float64()
        return np.asarray(column.cast(kind, safe=False).to_numpy(zero_copy_only=False))


def _sound_by_statistics(file: Any, names: list[str]) -> tuple[set[str], list[str]]:
    """Columns that may be sound, and those of them whose cells must be looked at: the file itself counts gaps."""
    import pyarrow as pa

    gaps: dict[str, int | None] = dict.fromkeys(names, 0)
    places = {name: i for i, name in enumerate(file.schema_arrow.names) if name in gaps}
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for name, place in places.items():
            found = group.column(place).statistics
            seen = gaps[name]
            sure = found is not None and found.has_null_count and seen is not None
            gaps[name] = seen + found.null_count if sure else None
    large = {name for name in names if pa.types.is_uint64(file.schema_arrow.field(name).type)}
    unsure = [name for name in names if gaps[name] is None or (name in large and not gaps[name])]
    return {name for name in names if not gaps[name]}, unsure


def _sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duckdb_cells(families: dict[str, str]) -> str:
    """What DuckDB is to select so that each column has the type that it has here."""
    types = {"whole": "bigint", "number": "double", "truth": "boolean", "text": "varchar"}
    seconds = "epoch_us({})::double / 1e6"
    cells = (seconds.format(_sql(n)) if f == "time" else f"{_sql(n)}::{types[f]}" for n, f in families.items())
    return ", ".join(f"{cell} as {_sql(name)}" for name, cell in zip(families, cells, strict=True))


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """What pyarrow says of a bad file, in one line."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ReadError(f"{path.name!r} cannot be read as Parquet: {reason}", hint="is the file complete?") from None


def _tables(paths: list[Path]) -> list[_ArrowTable]:
    tables = []
    for path in paths:
        with _one_line(path):
            tables.append(_ArrowTable(path))
    return tables


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns."""
    return list(_tables([path])[0].families)


def parquet_families(paths: list[Path]) -> dict[str, str]:
    """Family of each column over all files: whole, number, truth, text or time."""
    return _joined_families(_tables(paths), paths)


def parquet_rows(paths: list[Path]) -> int:
    """How many rows the files have, without reading them."""
    rows = 0
    for path in paths:
        with _one_line(path), _opened(path) as file:
            rows += int(file.metadata.num_rows)
    return rows


def parquet_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """An empty piece, then the rows of all files, at most so many at a time."""
    tables = _tables(paths)
    own = list(tables[0].families)
    names = named(own, options, paths[0])
    families = _joined_families(tables, paths)
    yield {name: np.empty(0) for name in names}
    for path, table in zip(paths, tables, strict=True):
        with _one_line(path):
            for piece in table.pieces(rows, families):
                yield {name: piece[key] for name, key in zip(names, own, strict=True)}


def _joined_families(tables: Sequence[Any], paths: list[Path]) -> dict[str, str]:
    """Family of each column over all files: whole numbers stay whole only if they are so everywhere."""
    families = dict(tables[0].families)
    for path, table in zip(paths, tables, strict=True):
        same_columns(list(families), list(table.families), (paths[0], path))
        for name, family in table.families.items():
            if {family, families[name]} == {"whole", "number"}:
                families[name] = "number"
            elif family != families[name]:
                one, other = told_apart(paths[0], path)
                message = f"{name!r} is {families[name]} in {one!r} and {family} in {other!r}."
                raise ReadError(message, hint="give the column one type in all files.")
    for path, table in zip(paths, tables, strict=True):
        whole = [name for name, family in families.items() if family == "whole"]
        with _one_line(path):
            families.update(dict.fromkeys(set(whole) - table.exact(whole), "number"))
    return families


def parquet_hints(path: Path) -> dict[str, tuple[str, Any]]:
    """Categorical columns with their values."""
    hints = {}
    with _one_line(path), _opened(path) as file:
        import pyarrow as pa

        for field in file.schema_arrow:
            if pa.types.is_dictionary(field.type) and pa.types.is_string(field.type.value_type):
                kind = "ordinal" if field.type.ordered else "nominal"
                hints[field.name] = (kind, tuple(_categories(file, field.name)))
    return hints


def _categories(file: Any, name: str) -> list[Any]:
    """The values of a categorical column over the whole file, of which little is held at a time."""
    found: dict[Any, None] = {}
    last = None
    for batch in file.iter_batches(columns=[name]):
        words = batch.column(0).dictionary
        if last is None or not words.equals(last):
            found.update(dict.fromkeys(words.to_pylist()))
        last = words
    return list(found)
