"""Parquet files, read with pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError
from countwise.io.paths import distinct_names
from countwise.io.pieces import Columns, Options, named, objects, same_columns

__all__ = ["duckdb_cells", "parquet_columns", "parquet_families", "parquet_hints", "parquet_pieces", "parquet_rows"]

_BUFFER = 1 << 20  # bytes of a column read at a time
_FAMILIES = {
    "integer": r"u?(tiny|small|big)?int(eger)?\d*$",
    "float": r"(half)?float\d*$|double$|decimal|null$",
    "boolean": r"bool",
    "text": r"(large_)?(string|utf8)|varchar|categorical|enum",
    "date": r"timestamp|datetime|date(32|64)?(\[|$)",
}


def _families(types: Iterable[tuple[str, Any]], path: Path) -> dict[str, str]:
    """Return the family of each column: integer, float, boolean, text or date."""
    out = {}
    for name, dtype in types:
        text = str(dtype).lower()
        family = next((key for key, pattern in _FAMILIES.items() if re.match(pattern, text)), None)
        if family is None:
            message = f"Column {name!r} of {path.name!r} has the type {dtype}, which is not supported."
            raise ReadError(message, hint="drop the column, or convert it to numbers, dates, strings or booleans.")
        out[name] = family
    return out


def _opened(path: Path) -> Any:
    """Open a file with pyarrow; the buffer is small, however large the row groups are."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ReadError(
            f"Reading the Parquet file {path.name!r} needs pyarrow, which is not installed.",
            hint="install it with pip install 'countwise[data]'.",
        ) from None

    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)


class _ArrowTable:
    """A Parquet file. It is open only while it is read, because there may be many files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _opened(path) as file:
            fields = file.schema_arrow
        import pyarrow as pa

        # The type of a categorical column is that of its values.
        types = ((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in fields)
        self.families = _families(types, path)

    def exact(self, names: list[str]) -> set[str]:
        """Return the integer columns that fit int64: no value is missing and none is too large."""
        import pyarrow.compute as compute

        with _opened(self.path) as file:
            exact, unchecked = _exact_by_statistics(file, names)
            for batch in file.iter_batches(columns=unchecked) if unchecked else ():
                for name in unchecked:
                    column = batch.column(name)
                    largest = compute.max(column).as_py()
                    if column.null_count or (largest is not None and largest >= 2**63):
                        exact.discard(name)
        return exact

    def chunks(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        with _opened(self.path) as file:
            for batch in file.iter_batches(batch_size=rows):
                yield {name: self._convert(batch.column(name), families[name]) for name in families}

    @staticmethod
    def _convert(column: Any, family: str) -> NDArray[Any]:
        import pyarrow as pa

        if family == "boolean":
            return objects(column.to_pylist())
        if family == "text":  # equal strings share one object
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            values = objects([*coded.dictionary.to_pylist(), None])
            codes = coded.indices.cast(pa.int64()).fill_null(len(values) - 1)
            return np.asarray(values[codes.to_numpy(zero_copy_only=False)])
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if family == "date":
            exact = pa.timestamp("us", getattr(column.type, "tz", None))
            micros = column.cast(exact, safe=False).cast(pa.int64())
            return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6)
        dtype = pa.int64() if family == "integer" else pa.float64()
        return np.asarray(column.cast(dtype, safe=False).to_numpy(zero_copy_only=False))


def _exact_by_statistics(file: Any, names: list[str]) -> tuple[set[str], list[str]]:
    """Return the columns that may fit int64 by the statistics of the file, and those whose values must be checked."""
    import pyarrow as pa

    nulls: dict[str, int | None] = dict.fromkeys(names, 0)
    places = {name: i for i, name in enumerate(file.schema_arrow.names) if name in nulls}
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for name, place in places.items():
            statistics = group.column(place).statistics
            before = nulls[name]
            known = statistics is not None and statistics.has_null_count and before is not None
            nulls[name] = before + statistics.null_count if known else None
    large = {name for name in names if pa.types.is_uint64(file.schema_arrow.field(name).type)}
    unchecked = [name for name in names if nulls[name] is None or (name in large and not nulls[name])]
    return {name for name in names if not nulls[name]}, unchecked


def _sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duckdb_cells(families: dict[str, str]) -> str:
    """Return the SELECT list for DuckDB that gives each column the type that `read` gives it."""
    types = {"integer": "bigint", "float": "double", "boolean": "boolean", "text": "varchar"}
    seconds = "epoch_us({})::double / 1e6"
    columns = (seconds.format(_sql(n)) if f == "date" else f"{_sql(n)}::{types[f]}" for n, f in families.items())
    return ", ".join(f"{column} as {_sql(name)}" for name, column in zip(families, columns, strict=True))


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Convert an error of pyarrow to a ReadError with the first line of its message."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ReadError(
            f"{path.name!r} cannot be read as Parquet: {reason}.", hint="check that the file is complete."
        ) from None


def _tables(paths: list[Path]) -> list[_ArrowTable]:
    tables = []
    for path in paths:
        with _one_line(path):
            tables.append(_ArrowTable(path))
    return tables


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns."""
    return list(_tables([path])[0].families)


def parquet_families(paths: list[Path]) -> dict[str, str]:
    """Return the family of each column over all files: integer, float, boolean, text or date."""
    return _joined_families(_tables(paths), paths)


def parquet_rows(paths: list[Path]) -> int:
    """Return the total number of rows, from the metadata of the files."""
    rows = 0
    for path in paths:
        with _one_line(path), _opened(path) as file:
            rows += int(file.metadata.num_rows)
    return rows


def parquet_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """Yield an empty chunk, then the rows of all files in chunks of at most `rows` rows."""
    tables = _tables(paths)
    own = list(tables[0].families)
    names = named(own, options, paths[0])
    families = _joined_families(tables, paths)
    yield {name: np.empty(0) for name in names}
    for path, table in zip(paths, tables, strict=True):
        with _one_line(path):
            for chunk in table.chunks(rows, families):
                yield {name: chunk[key] for name, key in zip(names, own, strict=True)}


def _joined_families(tables: Sequence[Any], paths: list[Path]) -> dict[str, str]:
    """Return the family of each column over all files; a column is integer only if it is so in each file."""
    families = dict(tables[0].families)
    for path, table in zip(paths, tables, strict=True):
        same_columns(list(families), list(table.families), (paths[0], path))
        for name, family in table.families.items():
            if {family, families[name]} == {"integer", "float"}:
                families[name] = "float"
            elif family != families[name]:
                one, other = distinct_names(paths[0], path)
                message = f"The type of {name!r} is {families[name]} in {one!r}, but {family} in {other!r}."
                raise ReadError(message, hint="convert the column to the same type in all files.")
    for path, table in zip(paths, tables, strict=True):
        integers = [name for name, family in families.items() if family == "integer"]
        with _one_line(path):
            families.update(dict.fromkeys(set(integers) - table.exact(integers), "float"))
    return families


def parquet_hints(path: Path) -> dict[str, tuple[str, Any]]:
    """Return the type, nominal or ordinal, and the values of each categorical column."""
    hints = {}
    with _one_line(path), _opened(path) as file:
        import pyarrow as pa

        for field in file.schema_arrow:
            if pa.types.is_dictionary(field.type) and pa.types.is_string(field.type.value_type):
                kind = "ordinal" if field.type.ordered else "nominal"
                hints[field.name] = (kind, tuple(_categories(file, field.name)))
    return hints


def _categories(file: Any, name: str) -> list[Any]:
    """Return the values of a categorical column, reading the file in batches."""
    found: dict[Any, None] = {}
    last = None
    for batch in file.iter_batches(columns=[name]):
        values = batch.column(0).dictionary
        if last is None or not values.equals(last):
            found.update(dict.fromkeys(values.to_pylist()))
        last = values
    return list(found)
