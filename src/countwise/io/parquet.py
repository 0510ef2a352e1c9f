"""Parquet files, read with pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
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


def _families(types: Iterable[tuple[str, Any]], path: Path, needed: Collection[str] | None) -> dict[str, str]:
    """Return the family of each column: integer, float, boolean, text or date; others are omitted if not needed."""
    out = {}
    for name, dtype in types:
        text = str(dtype).lower()
        family = next((key for key, pattern in _FAMILIES.items() if re.match(pattern, text)), None)
        if family is None and needed is not None and name not in needed:
            continue
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

    def __init__(self, path: Path, needed: Collection[str] | None) -> None:
        self.path = path
        with _opened(path) as file:
            fields = file.schema_arrow
        import pyarrow as pa

        # The type of a categorical column is that of its values.
        types = ((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in fields)
        self.families = _families(types, path, needed)

    def sizes(self, names: list[str]) -> dict[str, tuple[bool, int]]:
        """Return whether an integer column has missing values, and its largest absolute value.

        Statistics of the file are used where it has them.
        """
        import pyarrow.compute as compute

        with _opened(self.path) as file:
            found = _sizes_by_statistics(file, names)
            unchecked = [name for name in names if name not in found]
            for batch in file.iter_batches(columns=unchecked) if unchecked else ():
                for name in unchecked:
                    column, (missing, size) = batch.column(name), found.get(name, (False, 0))
                    ends = compute.min_max(column).as_py()
                    sizes = [abs(end) for end in ends.values() if end is not None]
                    found[name] = missing or bool(column.null_count), max(size, *sizes) if sizes else size
        return found

    def chunks(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        with _opened(self.path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(families)):
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
            return np.asarray(column.cast(exact, safe=False).to_numpy(zero_copy_only=False))
        if family == "large":
            return objects(column.to_pylist())
        if pa.types.is_decimal(column.type):  # through text, because the cast to a double is not exactly rounded
            column = column.cast(pa.string())
        dtype = pa.int64() if family == "integer" else pa.float64()
        return np.asarray(column.cast(dtype, safe=False).to_numpy(zero_copy_only=False))


def _sizes_by_statistics(file: Any, names: list[str]) -> dict[str, tuple[bool, int]]:
    """Return the sizes of the integer columns for which every row group has statistics."""
    places = {file.schema.column(i).path: i for i in range(len(file.schema))}  # a nested column has several places
    groups = list(map(file.metadata.row_group, range(file.metadata.num_row_groups)))
    found = {}
    for name in names:
        known = [group.column(places[name]).statistics for group in groups if name in places]
        if len(known) == len(groups) and all(s is not None and s.has_null_count and s.has_min_max for s in known):
            missing = any(s.null_count for s in known)
            found[name] = missing, max((abs(end) for s in known for end in (s.min, s.max)), default=0)
    return found


def _sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duckdb_cells(families: dict[str, str]) -> str:
    """Return the SELECT list for DuckDB that gives each column the type that `read` gives it."""
    types = {"integer": "bigint", "large": "hugeint", "float": "double", "boolean": "boolean", "text": "varchar"}
    utc = "make_timestamp(epoch_us({}))"
    columns = (utc.format(_sql(n)) if f == "date" else f"{_sql(n)}::{types[f]}" for n, f in families.items())
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


def _tables(paths: list[Path], needed: Collection[str] | None = None) -> list[_ArrowTable]:
    tables = []
    for path in paths:
        with _one_line(path):
            tables.append(_ArrowTable(path, needed))
    return tables


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _one_line(path), _opened(path) as file:
        return list(file.schema_arrow.names)


def parquet_families(paths: list[Path], needed: Collection[str] | None = None) -> dict[str, str]:
    """Return the family of each column over all files: integer, float, boolean, text or date."""
    return _joined_families(_tables(paths, needed), paths)


def parquet_rows(paths: list[Path]) -> int:
    """Return the total number of rows, from the metadata of the files."""
    rows = 0
    for path in paths:
        with _one_line(path), _opened(path) as file:
            rows += int(file.metadata.num_rows)
    return rows


def parquet_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """Yield an empty chunk, then the rows of all files in chunks of at most `rows` rows."""
    tables = _tables(paths, options.needed)
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
    integers = [name for name, family in families.items() if family == "integer"]
    missing, large = set(), set()
    for path, table in zip(paths, tables, strict=True):
        with _one_line(path):
            for name, (has_missing, size) in table.sizes(integers).items():
                missing |= {name} if has_missing else set()
                large |= {name} if size > 2**53 else set()
                families[name] = "large" if size >= 2**63 else families[name]
    return {
        name: family if family != "integer" or name not in missing else "large" if name in large else "float"
        for name, family in families.items()
    }


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
