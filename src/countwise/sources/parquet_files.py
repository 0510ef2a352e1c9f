"""Parquet files, through whichever engine is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError
from countwise.sources.columns import Columns, objects, same_columns
from countwise.sources.options import Options, named

__all__ = ["parquet_hints", "parquet_pieces"]

_FAMILIES = {
    "whole": r"u?(tiny|small|big)?int(eger)?\d*$",
    "number": r"(half)?float\d*$|double$|decimal|null$",
    "truth": r"bool",
    "text": r"(large_)?(string|utf8)|varchar|categorical|enum",
    "time": r"timestamp|datetime|date(32|64)?(\[|$)",
}


def _families(types: Iterable[tuple[str, Any]], path: Path) -> dict[str, str]:
    """Family of each column, from the name that the engine has for its type."""
    out = {}
    for name, kind in types:
        text = str(kind).lower()
        family = next((key for key, pattern in _FAMILIES.items() if re.match(pattern, text)), None)
        if family is None:
            message = f"The column {name!r} of {path.name!r} has the type {kind}."
            raise ReadError(message, hint="leave it out, or make it a number, a date, text or true and false.")
        out[name] = family
    return out


class _ArrowTable:
    """A Parquet file through pyarrow."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        self.file = parquet.ParquetFile(path)
        fields = self.file.schema_arrow
        # A categorical column is what its values are.
        types = ((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in fields)
        self.families = _families(types, path)

    def exact(self, names: list[str]) -> set[str]:
        """Columns of whole numbers that int64 can hold: no cell missing, none too large."""
        import pyarrow.compute as compute

        good = set(names)
        for batch in self.file.iter_batches(columns=names) if names else ():
            for name in list(good):
                column = batch.column(name)
                largest = compute.max(column).as_py()
                if column.null_count or (largest is not None and largest >= 2**63):
                    good.discard(name)
        return good

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        for batch in self.file.iter_batches(batch_size=rows):
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


class _PolarsTable:
    """A Parquet file through Polars."""

    def __init__(self, path: Path) -> None:
        import polars

        self.polars = polars
        self.lazy = polars.scan_parquet(path, glob=False)
        self.families = _families(self.lazy.collect_schema().items(), path)

    def exact(self, names: list[str]) -> set[str]:
        col = self.polars.col
        if not names:
            return set()
        gaps = self.lazy.select(col(names).null_count()).collect().row(0)
        most = self.lazy.select(col(names).max()).collect().row(0)
        return {n for n, gap, top in zip(names, gaps, most, strict=True) if not gap and (top or 0) < 2**63}

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        height = self.lazy.select(self.polars.len()).collect().item()
        for start in range(0, height, rows):
            block = self.lazy.slice(start, rows).collect()
            yield {name: self._convert(block.get_column(name), families[name]) for name in families}

    def _convert(self, column: Any, family: str) -> NDArray[Any]:
        pl = self.polars
        if family in ("truth", "text"):
            return objects((column if family == "truth" else column.cast(pl.String)).to_list())
        if family == "time":
            column = column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column
            return np.asarray(column.dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6)
        return np.array(column.cast(pl.Int64 if family == "whole" else pl.Float64).to_numpy())


class _DuckTable:
    """A Parquet file through DuckDB."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self.run: Any = duckdb.connect().execute
        self.source = "from read_parquet('" + str(path).replace("'", "''") + "')"
        types = self.run(f"describe select * {self.source}").fetchall()
        self.families = _families(((row[0], row[1]) for row in types), path)

    def exact(self, names: list[str]) -> set[str]:
        test = "count(*) = count({0}) and coalesce(max({0}), 0) < 9223372036854775808"
        checks = ", ".join(test.format(_sql(name)) for name in names)
        found = self.run(f"select {checks} {self.source}").fetchall()[0] if names else ()
        return {name for name, good in zip(names, found, strict=True) if good}

    def pieces(self, rows: int, families: dict[str, str]) -> Iterator[Columns]:
        types = {"whole": "bigint", "number": "double", "truth": "boolean", "text": "varchar"}
        seconds = "epoch_us({})::double / 1e6"
        cells = (seconds.format(_sql(n)) if f == "time" else f"{_sql(n)}::{types[f]}" for n, f in families.items())
        answer = self.run(f"select {', '.join(cells)} {self.source}")
        while block := answer.fetchmany(rows):
            columns = zip(families.items(), zip(*block, strict=True), strict=True)
            yield {name: self._convert(cells, family) for (name, family), cells in columns}

    @staticmethod
    def _convert(cells: Sequence[Any], family: str) -> NDArray[Any]:
        if family in ("truth", "text"):
            return objects(list(cells))
        return np.array(cells, dtype=np.int64 if family == "whole" else np.float64)


def _sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _parquet_table(path: Path) -> _ArrowTable | _PolarsTable | _DuckTable:
    """The file through the first engine that is installed."""
    for engine in (_ArrowTable, _PolarsTable, _DuckTable):
        try:
            return engine(path)
        except ImportError:
            continue
    raise ReadError(
        f"{path.name!r} is a Parquet file, and neither pyarrow, Polars nor DuckDB is installed.",
        hint="pip install 'countwise[data]'",
    )


def parquet_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """An empty piece, then the rows of all files, at most so many at a time."""
    path = paths[0]  # the file at work, for the message
    try:
        tables = [_parquet_table(path := each) for each in paths]
        own = list(tables[0].families)
        names = named(own, options, paths[0])
        families = _joined_families(tables, paths)
        yield {name: np.empty(0) for name in names}
        for each, table in zip(paths, tables, strict=True):
            path = each
            for piece in table.pieces(rows, families):
                yield {name: piece[key] for name, key in zip(names, own, strict=True)}
    except ReadError:
        raise
    except Exception as error:  # the engines have no common ancestor for their errors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ReadError(f"{path.name!r} cannot be read as Parquet: {reason}", hint="is the file complete?") from None


def _joined_families(tables: Sequence[Any], paths: list[Path]) -> dict[str, str]:
    """Family of each column over all files: whole numbers stay whole only if they are so everywhere."""
    families = dict(tables[0].families)
    for path, table in zip(paths, tables, strict=True):
        same_columns(list(families), list(table.families), (paths[0], path))
        for name, family in table.families.items():
            if {family, families[name]} == {"whole", "number"}:
                families[name] = "number"
            elif family != families[name]:
                message = f"{name!r} is {families[name]} in {paths[0].name!r} and {family} in {path.name!r}."
                raise ReadError(message, hint="give the column one type in all files.")
    for table in tables:
        whole = [name for name, family in families.items() if family == "whole"]
        families.update(dict.fromkeys(set(whole) - table.exact(whole), "number"))
    return families


def parquet_hints(path: Path) -> dict[str, tuple[str, Any]]:
    """Categorical columns with their values, as pyarrow knows them; nothing without it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        return {}
    hints = {}
    try:
        with parquet.ParquetFile(path) as file:
            for field in file.schema_arrow:
                if pa.types.is_dictionary(field.type) and pa.types.is_string(field.type.value_type):
                    column = file.read(columns=[field.name]).column(0).unify_dictionaries()
                    values = tuple(column.chunk(0).dictionary.to_pylist()) if column.num_chunks else ()
                    hints[field.name] = ("ordinal" if field.type.ordered else "nominal", values)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path.name!r} cannot be read as Parquet: {error}", hint="is the file complete?") from None
    return hints
