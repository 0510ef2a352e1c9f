"""Conversion of in-memory tables to named columns.

The input is a NumPy array, a SciPy sparse matrix, a list of dicts, a mapping of columns, or a data frame that
narwhals supports (pandas, Polars, PyArrow, Modin, cuDF). Each column of the output is one of

* a 1-D NumPy array, a view of the input where possible;
* a `Coded` column, for categories and strings;
* a SciPy CSR matrix, for a sparse matrix.

The types of the attributes are determined in `countwise.data.schema`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.series import TWO_PARTS, Coded, Column, coded_as, holds_strings, native_order, series_column
from countwise.data.values import is_missing, objects_of, tidy, unmasked
from countwise.errors import MixedNamesError, RowsRefused, SchemaError, TableError, did_you_mean, listed

__all__ = [
    "Coded",
    "Column",
    "Frame",
    "frame_of",
    "frame_of_owner",
    "is_missing",
    "is_relation",
    "is_sparse",
    "missing_columns",
    "refuse_duplicates",
    "series_of",
    "unused_name",
]

_NUMBERS = (bool, int, float, complex, np.generic)  # what NumPy makes one array of
_MANY = 1 << 13  # number of rows from which threads are worth their cost


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Named columns of equal length."""

    columns: dict[str, Column]  # in the user's order
    n_rows: int
    named: bool  # True if the names are the user's, False if they were generated for an array
    partial: bool = False  # whether an absent column means missing values (rows given as dicts)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self.columns)

    def without(self, name: str) -> Frame:
        """Return the frame without one column."""
        return Frame({k: v for k, v in self.columns.items() if k != name}, self.n_rows, self.named, self.partial)

    def slice(self, start: int, stop: int) -> Frame:
        """Return the rows from start to stop without copying dense columns."""
        if start <= 0 and stop >= self.n_rows:
            return self
        cut = {name: column[start:stop] for name, column in self.columns.items()}
        return Frame(cut, max(0, min(stop, self.n_rows) - start), self.named)

    def take(self, rows: NDArray[Any]) -> Frame:
        """Return a copy of some rows; `rows` is a mask or an array of positions."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        cut = _taken_together(self.columns, rows)
        columns = {name: cut[name] if name in cut else column[rows] for name, column in self.columns.items()}
        return Frame(columns, len(rows), self.named, self.partial)


def unused_name(name: str, frame: Frame) -> str:
    """Return `name`, with underscores appended until no column has it."""
    while name in frame.columns:
        name += "_"
    return name


def _taken_together(columns: Mapping[str, Column], rows: NDArray[Any]) -> dict[str, Column]:
    """Take rows of the columns that are views of one matrix; copying whole rows is faster than column by column."""
    matrix = next((c.base for c in columns.values() if isinstance(c, np.ndarray) and c.base is not None), None)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or not matrix.flags.c_contiguous:
        return {}
    places = {name: _place(column, matrix) for name, column in columns.items()}
    first = next((place[0] for place in places.values() if place is not None), 0)
    inside = {name: place[1] for name, place in places.items() if place is not None and place[0] == first}
    if len(inside) < max(2, matrix.shape[1] // 2):  # most of the copied values would not be used
        return {}
    cells = matrix[first : first + len(columns[next(iter(inside))])].take(rows, axis=0)
    return {name: cells[:, j] for name, j in inside.items()}


def _place(column: Column, matrix: NDArray[Any]) -> tuple[int, int] | None:
    """Return the row and column of a matrix at which a view of it begins; None if it is not such a view."""
    if not isinstance(column, np.ndarray) or column.base is not matrix or column.dtype != matrix.dtype:
        return None
    if column.ndim != 1 or column.strides[0] != matrix.strides[0] or not column.size:
        return None
    row, j = divmod((column.ctypes.data - matrix.ctypes.data) // matrix.itemsize, matrix.shape[1])
    return row, j


def is_sparse(X: object) -> bool:
    """Return whether X is a SciPy sparse matrix or array, without importing SciPy."""
    return type(X).__module__.startswith("scipy.sparse")


def frame_of(X: Any, names: Sequence[str] | None = None) -> Frame:
    """Convert a table to named columns; `names` are for the columns of an array.

    Examples
    --------
    >>> from countwise.data.frames import frame_of
    >>> frame_of([{"wind": "north", "temp": 32.1}, {"wind": "east"}]).names
    ('wind', 'temp')
    """
    if isinstance(X, Frame):
        return X
    if isinstance(X, np.ndarray):
        return _from_array(X, names)
    if is_sparse(X):
        return _from_sparse(X)
    if isinstance(X, Mapping):
        return _from_mapping(X)
    if isinstance(X, str | bytes):
        raise TableError("X must be a table, not a string.", hint="read a file with countwise.read(path).")
    if isinstance(getattr(X, "frame", None), Mapping):  # a sample
        raise TableError(
            "X must be a table; a sample is a table with more about it.", hint="pass its frame, or its X and y."
        )
    if is_relation(X):
        raise RowsRefused(
            f"X is a table of an engine ({type(X).__module__.partition('.')[0].strip('_')}), "
            "but this method needs the rows in memory.",
            hint="collect the table into memory first. To predict in the engine, use predict_frame.",
        )
    if isinstance(X, Iterable) and not hasattr(X, "__dataframe__") and not hasattr(X, "__array__"):
        return _from_rows(list(X), names)
    framed = frame_of_owner(X)
    return _from_array(np.asarray(X), names) if framed is None else framed


_ENGINES = ("duckdb", "_duckdb", "polars", "dask", "pyspark", "ibis", "narwhals", "sqlframe")


def is_relation(X: Any) -> bool:
    """Return whether X is an engine table, such as a DuckDB relation or a Polars LazyFrame; imports no engine."""
    home = type(X).__module__.partition(".")[0]
    if home not in _ENGINES or isinstance(X, type):
        return False
    if home == "polars":
        return type(X).__name__ == "LazyFrame"
    import narwhals.stable.v2 as nw

    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def series_of(y: Any) -> tuple[Column, str | None]:
    """Return the values of a single column and its name, if it has one."""
    if isinstance(y, np.ndarray):
        y = unmasked(y)
        return (tidy(y, "y") if y.dtype.kind == "O" and y.ndim == 1 else y), None
    if isinstance(y, list | tuple):
        return _array_of_objects(y, "y"), None
    library = type(y).__module__.partition(".")[0]
    if library == "pandas" and hasattr(y, "codes") and hasattr(y, "categories"):  # pandas.Categorical
        return coded_as(np.asarray(y.codes), y.categories.tolist(), ordered=bool(y.ordered)), None
    try:
        import narwhals.stable.v2 as nw

        if library == "pyarrow":
            y = _arrow_column(y)
        series = nw.from_native(y, series_only=True)
    except TypeError:
        return series_of(np.asarray(y))
    return series_column(series, str(series.name or "y")), series.name or None


def _arrow_column(column: Any) -> Any:
    """Return an Arrow array as a chunked array of a type that narwhals supports."""
    import pyarrow as pa

    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pa.compute.run_end_decode(chunk) for chunk in column.chunks])
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if "view" not in str(kind):
        return column
    plain_type = pa.string() if pa.types.is_string_view(kind) else pa.binary()
    if pa.types.is_dictionary(column.type):
        plain_type = pa.dictionary(column.type.index_type, plain_type, column.type.ordered)
    return column.cast(plain_type)


def _from_array(X: NDArray[Any], names: Sequence[str] | None) -> Frame:
    X = np.asarray(X) if isinstance(X, np.matrix) else X  # a column of a matrix is a matrix
    if X.dtype.kind == "c":
        raise TableError("Complex data not supported.", hint=TWO_PARTS)
    if X.dtype.names:
        return _from_mapping({name: X[name] for name in X.dtype.names})
    X = unmasked(X)
    if X.ndim == 0:
        raise TableError(
            f"X must be a table, not {X.item()!r}.",
            hint="pass a data frame, a mapping of columns, a list of dicts or a 2D array.",
        )
    if X.ndim != 2:
        raise TableError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have rows and columns.",
            hint="Reshape your data with X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row. "
            "Convert a Series with X.to_frame().",
        )
    labels = tuple(names) if names is not None else tuple(f"x{j}" for j in range(X.shape[1]))
    if X.dtype.kind not in "OUS":
        X = native_order(X)
    columns = {name: X[:, j] for j, name in enumerate(labels)}
    if X.dtype.kind == "O":
        columns = {name: tidy(column, name) for name, column in columns.items()}
    return Frame(columns, X.shape[0], names is not None)


def _from_sparse(X: Any) -> Frame:
    if X.dtype.kind == "c":
        raise TableError("Complex data not supported.", hint=TWO_PARTS)
    block = X.tocsr()
    if not block.has_canonical_format:  # duplicate entries would be counted as two words
        block = block.copy() if block is X else block
        block.sum_duplicates()
    return Frame({"x": block}, X.shape[0], named=False)


def _from_mapping(X: Mapping[str, Any]) -> Frame:
    if X and all(map(_is_cell, X.values())):
        return _from_rows([X], None)
    columns: dict[str, Column] = {}
    for name, values in X.items():
        if isinstance(values, np.ndarray):
            if values.dtype.kind == "c":
                raise TableError(f"Complex data not supported: column {str(name)!r}.", hint=TWO_PARTS)
            if values.ndim != 1:
                raise TableError(f"Column {str(name)!r} has {values.ndim} dimensions; a column must have 1.")
            values = unmasked(values)
            if values.dtype.kind == "O":
                values = tidy(values, str(name))
            columns[str(name)] = native_order(values) if values.dtype.kind not in "OUS" else values
        elif isinstance(values, Coded):
            columns[str(name)] = values
        else:
            columns[str(name)] = values.tocsr() if is_sparse(values) else _column_of(values, str(name))
            if isinstance(columns[str(name)], np.ndarray) and columns[str(name)].ndim == 0:
                raise TableError(f"Column {str(name)!r} is a single value, {values!r}; a column must be a sequence.")
    lengths = {n: len(c) if isinstance(c, Coded) else c.shape[0] for n, c in columns.items()}
    if len(set(lengths.values())) > 1:
        first = next(iter(lengths))
        other = next(n for n, length in lengths.items() if length != lengths[first])
        raise TableError(
            f"Columns differ in length: {first!r} has {lengths[first]} rows, {other!r} has {lengths[other]}."
        )
    return Frame(columns, next(iter(lengths.values()), 0), named=True)


def _column_of(values: Any, name: str) -> Column:
    return _array_of_objects(values, name) if isinstance(values, list | tuple) else series_of(values)[0]


def _is_cell(value: Any) -> bool:
    """Return whether a value is a scalar; a mapping of scalars is one row."""
    return value is None or isinstance(value, str | bytes) or (np.isscalar(value) and not is_sparse(value))


def _from_rows(rows: list[Any], names: Sequence[str] | None) -> Frame:
    if not rows:
        raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
    if all(isinstance(row, Mapping) for row in rows):
        keys = dict.fromkeys(str(key) for row in rows for key in row)
        columns = {key: _array_of_objects([row.get(key) for row in rows], key) for key in keys}
        return Frame(columns, len(rows), named=True, partial=True)
    if len(set(map(_row_length, rows))) > 1:
        first = _row_length(rows[0])
        i, other = next((i, _row_length(row)) for i, row in enumerate(rows) if _row_length(row) != first)
        if -1 in (first, other):
            at = 0 if first == -1 else i
            raise TableError(f"Each row must be a sequence or a mapping, but row {at} is {rows[at]!r}.")
        raise TableError(f"Rows differ in length: row 0 has {first} values, row {i} has {other}.")
    if any(not isinstance(v, _NUMBERS) for row in rows if _row_length(row) >= 0 for v in row):
        table = np.empty((len(rows), len(rows[0])), dtype=object)
        for i, row in enumerate(rows):
            table[i, :] = row
        return _from_array(table, names)
    return _from_array(np.asarray(rows), names)


def _row_length(row: Any) -> int:
    """Return the number of values of a row; -1 if it is not a sequence."""
    return len(row) if isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) else -1


def _array_of_objects(values: Sequence[Any], name: str) -> NDArray[Any]:
    """Convert a list to an array of numbers or dates if no information is lost, else to an object array."""
    types = set(map(type, values))
    if types == {bool} or types == {float}:
        return np.asarray(values)
    if types == {int}:
        with suppress(OverflowError):
            return np.array(values, dtype=np.int64)
    return tidy(objects_of(values), name)


def frame_of_owner(X: Any) -> Frame | None:
    """Convert a data frame that narwhals supports; return None for any other object."""
    import narwhals.stable.v2 as nw

    if type(X).__module__.startswith("pyarrow") and hasattr(X, "schema"):
        X = _arrow_table(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        return None
    except ValueError as error:  # narwhals raises it for duplicate names
        refuse_duplicates(list(getattr(X, "column_names", getattr(X, "columns", ()))))
        raise TableError(str(error)) from error
    names = [str(name) for name in frame.columns]
    refuse_duplicates(names)
    labels = getattr(X, "columns", None)  # only pandas-like frames have names that are not strings
    native_names = list(labels) if labels is not None and hasattr(labels, "tolist") else names
    types = set(map(type, native_names))
    all_strings = all(map(issubclass, types, repeat(str)))
    if not all_strings and any(map(issubclass, types, repeat(str))):
        raise MixedNamesError(
            "Feature names are only supported if all input features have string names, "
            f"but your input has {listed(sorted(t.__name__ for t in types))} as column name types.",
            hint="convert the names with X.columns = X.columns.astype(str).",
        )
    if not all_strings:
        names = [f"x{j}" for j in range(len(names))]
    series = [frame.get_column(native) for native in frame.columns]
    # only columns of strings need much work (a hash table each), so only they are worth threads
    if len(frame) >= _MANY and any(map(holds_strings, series)):
        columns = _kernels.over_items(range(len(names)), lambda j: series_column(series[j], names[j]), None)
    else:
        columns = list(map(series_column, series, names))
    return Frame(dict(zip(names, columns, strict=True)), len(frame), named=all_strings)


def _arrow_table(X: Any) -> Any:
    """Return an Arrow table or record batch as a table whose types narwhals supports."""
    import pyarrow as pa

    table = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
    if not any(word in str(kind) for kind in table.schema.types for word in ("view", "run_end")):
        return table
    return pa.table([_arrow_column(column) for column in table.columns], names=table.column_names)


def missing_columns(absent: Sequence[str], known: Collection[str]) -> TableError:
    """Return the error for columns that a table does not have."""
    return TableError(
        f"The table has no column{'s' * (len(absent) > 1)} {listed(absent)}; its columns are {listed(known)}.",
        hint=did_you_mean(absent[0], known) or "add the missing columns, or rename the existing ones.",
    )


def refuse_duplicates(names: Sequence[object]) -> None:
    """Raise an error if two columns have the same name."""
    if len(set(names)) < len(names):
        duplicate = next(n for n in names if list(names).count(n) > 1)
        raise SchemaError(f"Two columns are named {duplicate!r}.", hint="rename one of them.")
