"""The same columns in every kind of table.

Each container is a function of a draw, the names and the columns as lists of Python values. A library may refuse to
build a table from odd cells; `contained` then falls back to a mapping of lists.
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from .draw import Draw

__all__ = ["CONTAINERS", "ENGINES", "FAITHFUL", "contained", "vector"]

Columns = list[list[Any]]
_FLOATS = ["float64", "float32", "float16", "Float64", "Float32", "float64[pyarrow]", "object", "Sparse[float64]"]
_WHOLES = ["int64", "Int64", "int8", "uint64", "UInt8", "int64[pyarrow]", "uint64[pyarrow]", "object", "category"]
_WORDS = ["object", "str", "string", "category", "string[pyarrow]", "ordered", "large_string", "dictionary"]
_DAYS = [
    "object",
    "datetime64[ns]",
    "datetime64[s]",
    "datetime64[us, UTC]",
    "category",
    "timestamp",
    "date32",
    "period",
]


def _pandas_column(draw: Draw, values: list[Any]) -> pd.Series:
    """A pandas column with a random type that suits its values."""
    known = [v for v in values if v is not None]
    first = known[0] if known else None
    if isinstance(first, bool):
        wanted = draw.pick(["object", "bool", "boolean", "bool[pyarrow]", "category"])
    elif isinstance(first, int):
        wanted = draw.pick(_WHOLES)
    elif isinstance(first, float):
        wanted = draw.pick(_FLOATS)
    elif isinstance(first, str):
        wanted = draw.pick(_WORDS)
    elif hasattr(first, "year"):
        wanted = draw.pick(_DAYS)
    else:
        wanted = draw.pick(["object", "category", "infer", "interval"])
    return _typed(values, wanted)


def _typed(values: list[Any], wanted: str) -> pd.Series:
    plain = pd.Series(values, dtype=object)
    arrow = {"large_string": pa.large_string(), "dictionary": pa.dictionary(pa.int32(), pa.string()),
             "timestamp": pa.timestamp("ms"), "date32": pa.date32()}  # fmt: skip
    if wanted in arrow:
        return pd.Series(pa.array(values, pa.string()).dictionary_encode() if wanted == "dictionary" else values,
                         dtype=pd.ArrowDtype(arrow[wanted]))  # fmt: skip
    if wanted == "ordered":
        levels = list(dict.fromkeys(v for v in values if v is not None))
        return pd.Series(pd.Categorical(values, [*levels[::-1], "never"], ordered=True))
    if wanted == "infer":
        return plain.infer_objects()
    if wanted == "interval":
        return pd.Series(pd.cut(pd.Series(range(len(values))), 3))
    if wanted == "period":
        return pd.Series(pd.PeriodIndex([None if v is None else str(v)[:10] for v in values], freq="D"))
    return plain.astype(wanted)


def _frame(columns: list[pd.Series], names: list[Any], n: int) -> pd.DataFrame:
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def pandas_plain(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return _frame([pd.Series(c, dtype=object).infer_objects() for c in columns], names, 0)


def pandas_typed(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return _frame([_pandas_column(draw, c) for c in columns], names, 0)


def pandas_indexed(draw: Draw, names: list[Any], columns: Columns) -> Any:
    frame = pandas_typed(draw, names, columns)
    n = len(frame)
    odd = [[0] * n, [f"r{i}" for i in range(n)], list(range(n))[::-1], pd.date_range("2024", periods=n)]
    frame.index = pd.Index(draw.pick(odd))
    return frame


def mapping_of_lists(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return dict(zip(names, columns, strict=True))


def mapping_of_arrays(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return {name: _array(draw, c) for name, c in zip(names, columns, strict=True)}


def mapping_of_masked(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return {name: _masked(c) for name, c in zip(names, columns, strict=True)}


def mapping_of_all_kinds(draw: Draw, names: list[Any], columns: Columns) -> Any:
    kinds: list[Callable[[list[Any]], Any]] = [
        list,
        tuple,
        pd.Series,
        pl.Series,
        pa.array,
        np.array,
        pa.chunked_array,
    ]
    found = {}
    for name, c in zip(names, columns, strict=True):
        make = draw.pick(kinds)
        found[name] = make([c]) if make is pa.chunked_array else make(c)
    return found


def rows_of_dicts(draw: Draw, names: list[Any], columns: Columns) -> Any:
    drop = draw.chance(30)  # a key that is absent is a missing value
    rows = zip(*columns, strict=True)
    return [{k: v for k, v in zip(names, row, strict=True) if v is not None or not drop} for row in rows]


def rows_of_whole_dicts(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def rows_of_lists(draw: Draw, names: list[Any], columns: Columns) -> Any:
    make = draw.pick([list, tuple])
    return [make(row) for row in zip(*columns, strict=True)]


def rows_of_named_tuples(draw: Draw, names: list[Any], columns: Columns) -> Any:
    row = namedtuple("Row", names)  # type: ignore[misc]  # noqa: PYI024
    return [row(*cells) for cells in zip(*columns, strict=True)]


def array_of_objects(draw: Draw, names: list[Any], columns: Columns) -> Any:
    found = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=object)
    for j, c in enumerate(columns):
        found[:, j] = c
    return found


def array_of_numbers(draw: Draw, names: list[Any], columns: Columns) -> Any:
    cells = np.array([[np.nan if v is None else v for v in c] for c in columns], dtype=float).T
    kind = draw.pick(
        ["f8", ">f8", "f4", "f2", "longdouble", "masked", "strided", "fortran", "frozen", "i8", "matrix"]
    )
    if kind == "masked":
        return np.ma.masked_invalid(cells)
    if kind == "strided":
        return np.repeat(np.repeat(cells, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == "fortran":
        return np.asfortranarray(cells)
    if kind == "frozen":
        cells.flags.writeable = False
        return cells
    if kind == "matrix":
        return np.matrix(cells)
    return cells.astype(kind)


def array_of_strings(draw: Draw, names: list[Any], columns: Columns) -> Any:
    kind = draw.pick(["U", "S", "T"])
    cells = np.array([["" if v is None else str(v) for v in c] for c in columns], dtype="U").T
    return cells.astype(np.dtypes.StringDType() if kind == "T" else kind)


def structured_array(draw: Draw, names: list[Any], columns: Columns) -> Any:
    arrays = [np.asarray(c) for c in columns]
    found = np.empty(len(columns[0]), dtype=[(name, a.dtype) for name, a in zip(names, arrays, strict=True)])
    for name, a in zip(names, arrays, strict=True):
        found[name] = a
    return found.view(np.recarray) if draw.chance(30) else found


def sparse(draw: Draw, names: list[Any], columns: Columns) -> Any:
    cells = np.array([[0.0 if v is None else float(v) for v in c] for c in columns]).T
    make = [
        "csr_matrix",
        "csr_array",
        "csc_matrix",
        "csc_array",
        "coo_matrix",
        "coo_array",
        "lil_matrix",
        "dok_array",
    ]
    return getattr(scipy.sparse, draw.pick(make))(cells)


def _array(draw: Draw, values: list[Any]) -> Any:
    plain = np.array(values)
    if plain.ndim != 1:
        plain = np.empty(len(values), dtype=object)
        plain[:] = values
    if plain.dtype == object:
        return plain
    kinds = {"f": ["f8", "f4", "f2", "longdouble", ">f8"], "i": ["i8", "i4", "u1", ">i4", "f8"],
             "u": ["u8", "f8"], "U": ["U", "O", "S", "T"], "b": ["?", "i1", "O"], "c": ["c16"]}  # fmt: skip
    kind = draw.pick(kinds.get(plain.dtype.kind, ["O"]))
    found = plain.astype(np.dtypes.StringDType() if kind == "T" else kind)
    return found[::-1][::-1] if draw.chance(20) else found


def _masked(values: list[Any]) -> Any:
    """A masked array; a masked cell has a value that must not be read."""
    known = [v for v in values if v is not None]
    fill = known[0] if known else 0
    return np.ma.array([fill if v is None else v for v in values], mask=[v is None for v in values])


_ARROW: dict[type, list[Any]] = {
    str: [pa.string(), pa.large_string(), pa.string_view(), "dictionary", "dictionary with null", pa.large_binary()],
    int: [pa.int64(), pa.int8(), pa.uint64(), pa.int32(), pa.float32(), pa.decimal128(20, 2)],
    float: [pa.float64(), pa.float32(), pa.float16()],
    bool: [pa.bool_(), "dictionary"],
}


def _arrow_column(draw: Draw, values: list[Any]) -> Any:
    first = next((v for v in values if v is not None), None)
    kind = draw.pick(_ARROW.get(type(first), [None, "dictionary", pa.date64(), pa.timestamp("s"), pa.null()]))
    if kind is None:
        return pa.array(values)
    if kind == "dictionary":
        return pa.array(values).dictionary_encode()
    if kind == "dictionary with null":
        levels = [*dict.fromkeys(v for v in values if v is not None), None]
        return pa.DictionaryArray.from_arrays(pa.array([levels.index(v) for v in values]), pa.array(levels))
    return pa.array(values, kind)


def arrow_plain(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return pa.table([pa.array(c) for c in columns], names=names)


def arrow_typed(draw: Draw, names: list[Any], columns: Columns) -> Any:
    table = pa.table([_arrow_column(draw, c) for c in columns], names=names)
    if draw.chance(30):
        return pa.concat_tables([table.slice(0, 1), table.slice(1, 1), table.slice(2)])
    return table.to_batches()[0] if draw.chance(15) and table.num_rows else table


_POLARS: dict[type, list[Any]] = {
    str: [pl.String, pl.Categorical, "enum", pl.Object, pl.Binary],
    int: [pl.Int64, pl.Int8, pl.UInt64, pl.Int128, pl.Decimal(20, 2), pl.Float32],
    float: [pl.Float64, pl.Float32, pl.Decimal(20, 3)],
    bool: [pl.Boolean, pl.Int8],
}


def _polars_column(draw: Draw, name: str, values: list[Any]) -> Any:
    first = next((v for v in values if v is not None), None)
    kind = draw.pick(_POLARS.get(type(first), [None, pl.Object, pl.Null]))
    if kind == "enum":
        kind = pl.Enum([*dict.fromkeys(v for v in values if v is not None), "never"])
    return pl.Series(name, values, dtype=kind, strict=False)


def polars_plain(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return pl.DataFrame([pl.Series(name, c, strict=True) for name, c in zip(names, columns, strict=True)])


def polars_typed(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return pl.DataFrame([_polars_column(draw, name, c) for name, c in zip(names, columns, strict=True)])


def polars_lazy(draw: Draw, names: list[Any], columns: Columns) -> Any:
    return polars_typed(draw, names, columns).lazy()


def duckdb_relation(draw: Draw, names: list[Any], columns: Columns) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(arrow_typed(draw, names, columns))


def not_a_table(draw: Draw, names: list[Any], columns: Columns) -> Any:
    three = np.zeros((2, 2, 2))
    return draw.pick([None, 5, "a,b", b"x", object(), [], {}, [None], [[]], np.array(3.0), three, [1, 2], set(), "",
                      range(3), pd.DataFrame(), pl.DataFrame(), pa.table({}), np.empty((0, 3)), np.empty((3, 0)),
                      [{}], {"a": 1}, {"a": [1, 2], "b": [1]}, [[1, 2], [3]], pd.Series([1, 2]), iter([[1], [2]]),
                      [{"a": 1}, [2]]])  # fmt: skip


CONTAINERS = [pandas_plain, mapping_of_lists, pandas_typed, pandas_indexed, mapping_of_arrays, mapping_of_masked,
              mapping_of_all_kinds, rows_of_dicts, rows_of_lists, rows_of_named_tuples, array_of_objects,
              array_of_numbers, array_of_strings, structured_array, sparse, arrow_plain, arrow_typed, polars_plain,
              polars_typed, not_a_table]  # fmt: skip
ENGINES = [duckdb_relation, polars_lazy]
# Containers that hold plain cells without a change of value.
FAITHFUL = [mapping_of_lists, pandas_plain, mapping_of_masked, rows_of_whole_dicts, arrow_plain, polars_plain]


def contained(draw: Draw, make: Callable[..., Any], names: list[Any], columns: Columns) -> Any:
    """A table in a container, or a mapping of lists if its library cannot hold the cells."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return make(draw, names, columns)
        except Exception:  # the library refuses these cells
            return mapping_of_lists(draw, names, columns)


def vector(draw: Draw, values: list[Any]) -> Any:
    """A target or weights in a random container."""
    odd = np.empty(len(values), dtype=object)
    odd[:] = values
    makers: list[Callable[[], Any]] = [
        lambda: list(values),
        lambda: odd,
        lambda: np.array(values),
        lambda: pd.Series(values, index=range(5, 5 + len(values))),
        lambda: _pandas_column(draw, values),
        lambda: pd.Categorical(values),
        lambda: pl.Series("y", values),
        lambda: pa.array(values),
        lambda: pa.array(values).dictionary_encode(),
        lambda: _masked(values),
        lambda: np.array(values).reshape(-1, 1),
        lambda: tuple(values),
        lambda: pd.DataFrame({"y": values}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return draw.often(60, makers[:3], makers)()
        except Exception:  # the library refuses these values
            return list(values)
