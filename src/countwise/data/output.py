"""Conversion of columns to the table type of the input, or to the type requested by `set_output`.

A pandas frame yields a pandas frame with the same index; Polars, PyArrow, mappings and arrays likewise. A library is
imported only if its frames are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.frames import Coded, Column, Frame, is_sparse
from countwise.errors import CountwiseError, OptionError, TableError

__all__ = ["chosen", "container_of", "dense", "library_of", "names_in", "rebuilt", "rows_of"]

LIBRARIES = ("pandas", "polars", "pyarrow")

_MOST_CELLS = 1 << 27  # a GB of numbers


def library_of(X: Any) -> str:
    """Return the table type: "pandas", "polars", "pyarrow", "mapping" (also for a list of dicts) or "array"."""
    library = type(X).__module__.partition(".")[0]
    if library in LIBRARIES and not isinstance(X, np.ndarray):
        return library
    if isinstance(X, Mapping) and not is_sparse(X):  # SciPy's dictionaries of keys are mappings too
        return "mapping"
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return "mapping"
    return "array"


def container_of(X: Any, requested: str | None) -> str:
    """Return the table type of the output: the one requested by `set_output`, else that of X."""
    if requested in (None, "default"):
        return library_of(X)
    if requested not in ("pandas", "polars"):
        raise OptionError(f"transform must be 'default', 'pandas' or 'polars', not {requested!r}.")
    return str(requested)


def rebuilt(X: Any, frame: Frame, columns: Mapping[str, Column | None], container: str) -> Any:
    """Build a table from new columns and, where a column is None, the original one.

    `frame` is the result of `frame_of(X)`; `container` is a table type from `container_of`.
    """
    try:
        return _built(X, frame, columns, container)
    except CountwiseError:
        raise
    except Exception as error:  # values or names that the library cannot hold
        raise TableError(
            f"The result cannot be a {container} table: {error}", hint="use set_output to get another type of table."
        ) from error


def _built(X: Any, frame: Frame, columns: Mapping[str, Column | None], container: str) -> Any:
    own = library_of(X) == container
    cells: dict[str, Any] = {}
    for name, column in columns.items():
        if column is None and own and container in LIBRARIES:
            cells[name] = _native(X, name if frame.named else list(frame.columns).index(name), container)
        else:
            cells[name] = _laid_out(frame.columns[name] if column is None else column, container)
    if container == "mapping":
        return cells
    if container == "array":
        return _array(list(cells.values()), frame.n_rows)
    library = importlib.import_module(container)
    if container == "pandas":
        return _pandas(library, X if own else None, frame, cells)
    if container == "pyarrow":
        return library.table(cells)
    plain = {n: c.tolist() if isinstance(c, np.ndarray) and c.dtype.kind == "O" else c for n, c in cells.items()}
    return library.DataFrame(plain)


def _pandas(library: Any, X: Any, frame: Frame, cells: dict[str, Any]) -> Any:
    """Build a pandas frame with the index and the names of X, unless X is None."""
    own = X is not None
    index = X.index if own else None
    if own and not frame.named:  # restore pandas names that are not strings
        original = dict(zip(frame.names, X.columns, strict=False))
        cells = {original.get(name, name): column for name, column in cells.items()}
    if not cells:
        return library.DataFrame(index=range(frame.n_rows) if index is None else index)
    return library.DataFrame(cells, index=index)


def _native(X: Any, where: str | int, container: str) -> Any:
    """Return a column of the user's frame, by name, or by position if the names were generated."""
    if container == "pandas":
        return X.iloc[:, where] if isinstance(where, int) else X[where]
    if container == "polars":
        return X.to_series(where) if isinstance(where, int) else X.get_column(where)
    return X.column(where)


def _laid_out(column: Column, container: str) -> Any:
    if not isinstance(column, Coded):
        if is_sparse(column):
            raise OptionError(
                "A sparse matrix cannot be a column of a data frame.", hint="pass X.toarray() to get one column each."
            )
        return column
    codes, categories = np.asarray(column.codes).astype(np.int64), list(column.categories)
    missing = (codes < 0) | (codes >= len(categories))
    codes = np.where(missing, -1, codes)
    if container not in LIBRARIES or not (column.declared or column.ordered):  # strings stay strings
        return Coded(codes, categories).objects()
    library = importlib.import_module(container)
    if container == "pandas":
        return library.Categorical.from_codes(codes, categories, ordered=column.ordered)
    if container == "polars":
        kind = library.Enum(categories) if column.ordered else library.Categorical
        return library.Series(Coded(codes, categories).objects().tolist(), dtype=kind)
    indices = library.array(np.where(missing, 0, codes).astype(np.int32), mask=missing)
    return library.DictionaryArray.from_arrays(indices, categories, ordered=column.ordered)


def _array(columns: list[Any], n_rows: int) -> NDArray[Any]:
    if not columns:
        return np.empty((n_rows, 0))
    numbers = all(c.dtype.kind in "iufb" for c in columns)
    out = np.empty((n_rows, len(columns)), dtype=np.result_type(*columns) if numbers else object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def dense(X: Any) -> Any:
    """Convert a sparse matrix to a dense array; return any other table unchanged."""
    if not is_sparse(X):
        return X
    if X.ndim != 2:
        raise TableError(f"Expected 2D array, got a sparse array of shape {X.shape} instead.")
    rows, columns = X.shape
    if rows * columns > _MOST_CELLS:
        raise TableError(
            f"The sparse matrix has {rows} x {columns} values, too many for a dense array.",
            hint="select columns first, for example with FilterSelector.",
        )
    return X.toarray()


def chosen(X: Any, frame: Frame, places: Sequence[int]) -> Any:
    """Select columns by position; the table type stays the same.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.frames import frame_of
    >>> from countwise.data.output import chosen
    >>> X = np.arange(6).reshape(2, 3)
    >>> chosen(X, frame_of(X), [0, 2]).tolist()
    [[0, 2], [3, 5]]
    """
    library = library_of(X)
    if library == "pandas":
        return X.iloc[:, list(places)]
    if library == "polars":
        return X.select([X.columns[i] for i in places])
    if library == "pyarrow":
        return X.select(list(places))
    if is_sparse(X):
        return X.tocsr()[:, list(places)]
    names = [frame.names[i] for i in places]
    if isinstance(X, Mapping):
        keys = list(X)
        return {keys[place]: X[keys[place]] for place in places}
    if library == "mapping":
        return [{name: row.get(name) for name in names} for row in X]
    if isinstance(X, list | tuple):  # np.asarray would convert rows of mixed types to strings
        cells = np.empty((len(X), len(places)), dtype=object)
        for i, row in enumerate(X):
            cells[i, :] = [row[place] for place in places]
        numbers = all(isinstance(cell, bool | int | float | np.number) for cell in cells.flat)
        return np.array(cells.tolist()) if numbers else cells
    array = np.asarray(X)
    if array.dtype.names:
        return array[names]
    if array.ndim != 2:  # an iterator, which has been read already
        raise TableError(f"A {type(X).__name__} is not a table whose columns can be selected.", hint="pass a list.")
    return array[:, list(places)]


def rows_of(X: Any, rows: NDArray[Any]) -> Any:
    """Select rows by position; the table type stays the same.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.output import rows_of
    >>> rows_of({"x": np.array([1.0, 2.0, 3.0])}, np.array([0, 2]))["x"].tolist()
    [1.0, 3.0]
    """
    library = library_of(X)
    if library == "pandas":
        return X.iloc[rows] if hasattr(X, "iloc") else X.take(rows)  # an index or an array of categories
    if library == "polars":
        return X[rows]
    if library == "pyarrow":
        return _taken(X, rows)
    if is_sparse(X):
        return X.tocsr()[rows]
    if isinstance(X, Mapping):
        return {name: rows_of(column, rows) for name, column in X.items()}
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    return X[rows] if isinstance(X, np.ndarray | Coded) else np.asarray(X)[rows]


def _taken(X: Any, rows: NDArray[Any]) -> Any:
    """Select rows of an Arrow table or array; Arrow itself cannot select rows of string views."""
    import pyarrow as pa

    try:
        return X.take(rows)
    except pa.ArrowNotImplementedError:
        if isinstance(X, pa.Table | pa.RecordBatch):
            return type(X).from_arrays([_taken(column, rows) for column in X.columns], schema=X.schema)
        cells = X.to_pylist()
        return pa.array([cells[i] for i in rows.tolist()], type=X.type)


def names_in(learner: Any, input_features: Any) -> list[str]:
    """Return the names of the input columns; `input_features` is validated as in scikit-learn."""
    own = getattr(learner, "feature_names_in_", None)
    every = learner.schema_ if hasattr(learner, "schema_") else learner.names_
    if input_features is None:
        return [str(name) for name in (every if own is None else own)]
    names = [str(name) for name in np.atleast_1d(np.asarray(input_features, dtype=object))]
    if own is not None and names != [str(name) for name in own]:
        raise OptionError("input_features is not equal to feature_names_in_.")
    if len(names) != len(every):
        raise OptionError(f"input_features should have length equal to number of features ({len(every)}).")
    return names
