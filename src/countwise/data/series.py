"""Conversion of one column of a data frame: numbers stay as they are, categories and strings become codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.values import EXACT, is_missing, objects_of, plain, tidy
from countwise.errors import SchemaError, TableError

__all__ = ["TWO_PARTS", "Coded", "Column", "coded_as", "holds_strings", "is_missing", "native_order", "series_column"]

TWO_PARTS = "pass the real and the imaginary part as two columns."
_FEW_STRINGS = 1 << 12  # the hash table of so many strings fits the processor's cache
Column = Any  # NDArray | Coded | CSR matrix


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of codes that refer to a list of categories."""

    codes: NDArray[Any]  # position in `categories`; a negative code is a missing value
    categories: Sequence[Any]  # in the order of the data frame
    declared: bool = False  # whether the categories are a declared domain rather than the values found
    ordered: bool = False  # whether the categories are ordinal
    all_used: bool = False  # whether every non-missing category is known to occur in some row

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return Coded(self.codes[rows], self.categories, self.declared, self.ordered)

    def objects(self) -> NDArray[Any]:
        """Return the values, None where a value is missing."""
        values = np.empty(len(self.categories) + 1, dtype=object)
        values[:-1] = list(self.categories)
        return values[self.codes]


def coded_as(codes: NDArray[Any], categories: Sequence[Any], *, ordered: bool) -> Coded:
    """Return a column of declared categories; those that are missing or occur twice, as Arrow allows, are removed."""
    values = [None if is_missing(category) else plain(category) for category in categories]
    if None not in values and len(set(values)) == len(values):
        return Coded(codes, values, declared=True, ordered=ordered)
    index: dict[Any, int] = {}
    places = [-1 if value is None else index.setdefault(value, len(index)) for value in values]
    return Coded(np.array([*places, -1])[codes], list(index), declared=True, ordered=ordered)


def native_order(X: NDArray[Any]) -> NDArray[Any]:
    """Convert half and extended floats, unaligned data and foreign byte order to dtypes that the kernels support."""
    if X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8):
        return X.astype(np.float64)
    if X.dtype.kind in "mM":
        return X
    if not X.dtype.isnative or not X.flags.aligned:
        return X.astype(X.dtype.newbyteorder("="))
    return X


def series_column(series: Any, name: str) -> Column:
    """Convert a narwhals series to an array, or to codes if it has categories or strings."""
    import narwhals.stable.v2 as nw

    native = series.to_native()
    native_dtype = getattr(native, "dtype", None)
    if isinstance(native_dtype, np.dtype) and native_dtype.kind in "iufb":  # pandas: only NaN can be missing
        return native_order(np.asarray(native))
    dtype = series.dtype
    if dtype.is_integer():
        return _integer_column(series)
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum) or dtype == nw.Enum:
        return _categorical_column(series, ordered=dtype == nw.Enum)
    if dtype == nw.String:
        return _string_column(series)
    if dtype == nw.Boolean:
        values = series.to_numpy()
        if values.dtype.kind == "b":
            return values
        return np.array([None if is_missing(v) else bool(v) for v in values], dtype=object)
    if dtype.is_float():
        if series.null_count():
            series = series.cast(nw.Float32 if dtype == nw.Float32 else nw.Float64)
        values = series.to_numpy()
        if values.dtype.kind == "O":
            values = np.array([np.nan if is_missing(v) else float(v) for v in values])
        return native_order(values)
    if dtype.is_nested() or "interval" in str(getattr(native, "type", "")):
        raise SchemaError(
            f"{name!r} has the dtype {getattr(native, 'type', dtype)}, but each value must be a scalar.",
            hint="split it into several columns, or convert it to a string.",
        )
    if dtype.is_decimal():  # through text, because the cast of Arrow is not exactly rounded
        return np.asarray(series.cast(nw.String).cast(nw.Float64).to_numpy(), dtype=np.float64)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "c":
        raise TableError(f"Complex data not supported: column {name!r}.", hint=TWO_PARTS)
    return tidy(values, name) if values.dtype.kind == "O" else values


def _integer_column(series: Any) -> NDArray[Any]:
    """Convert integers to integers, or to floats if some are missing; objects if floats would not be exact."""
    import narwhals.stable.v2 as nw

    missing, long = bool(series.null_count()), series.dtype in (nw.Int128, nw.UInt128)
    if not missing and not long:
        return native_order(np.asarray(series.to_numpy()))
    low, high = series.min(), series.max()
    if is_missing(low):  # every value is missing
        return np.full(len(series), np.nan)
    low, high = int(low), int(high)
    if low < -(2**63) or high >= 2**63 or (missing and max(-low, high) > EXACT):
        return objects_of([None if is_missing(value) else int(value) for value in series.to_list()])
    return np.asarray(series.cast(nw.Float64 if missing else nw.Int64).to_numpy())


def holds_strings(series: Any) -> bool:
    """Return whether a narwhals series has unencoded strings; the native dtype is faster to read than narwhals'."""
    native = series.to_native()
    return "str" in str(getattr(native, "dtype", getattr(native, "type", ""))).lower()


def _categorical_column(series: Any, *, ordered: bool) -> Coded:
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas-like
        dtype = native.dtype
        codes = native.array.codes if type(native).__module__.startswith("pandas.") else native.cat.codes
        return coded_as(np.asarray(codes), dtype.categories.tolist(), ordered=bool(dtype.ordered))
    if hasattr(native, "to_physical"):  # Polars: several columns may share one list of categories
        if ordered:
            return Coded(_polars_codes(native), list(native.dtype.categories), declared=True, ordered=True)
        import narwhals.stable.v2 as nw

        return _string_column(series.cast(nw.String))
    return _arrow_codes(series.to_arrow())  # pandas may keep Arrow's dictionaries


def _string_column(series: Any) -> Column:
    """Encode strings, with the hash table of Polars or Arrow where available."""
    native = series.to_native()
    library = type(native).__module__.partition(".")[0]
    if library == "polars":
        found = native.drop_nulls().unique().sort()
        if len(found) == 0:
            return Coded(np.full(len(native), -1, dtype=np.int32), [])
        import polars

        return Coded(_polars_codes(native.cast(polars.Enum(found))), found.to_list())
    in_pandas = library == "pandas"
    if library == "pyarrow" or (in_pandas and "pyarrow" in str(getattr(native.dtype, "storage", native.dtype))):
        return _arrow_codes(series.to_arrow())
    return np.asarray(native.to_numpy(dtype=object) if in_pandas else series.to_list(), dtype=object)


def _polars_codes(native: Any) -> NDArray[Any]:
    physical = native.to_physical()
    if physical.null_count():
        return np.asarray(physical.cast(int).fill_null(-1).to_numpy())
    return np.asarray(physical.to_numpy())


def _few_strings(whole: Any) -> Coded | None:
    """Encode an Arrow array with few distinct strings and no missing value, faster than Arrow does; else None."""
    import pyarrow.types

    wide = pyarrow.types.is_large_string(whole.type)
    if whole.null_count or not (wide or pyarrow.types.is_string(whole.type)):
        return None
    _, offset_buffer, text_buffer = whole.buffers()
    if offset_buffer is None or text_buffer is None:
        return None
    offsets = np.frombuffer(offset_buffer, dtype=np.int64 if wide else np.int32)[whole.offset :][: len(whole) + 1]
    text = np.frombuffer(text_buffer, dtype=np.uint8)
    found = _kernels.factorize_strings(offsets, text, _FEW_STRINGS)
    if found is None:
        return None
    codes, rows = found
    values = [text[offsets[row] : offsets[row + 1]].tobytes().decode() for row in rows]
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.min_scalar_type(len(values) + 2))
    rank[order] = np.arange(len(values))
    # sorted as a learned domain, so that `Nominal.encode` can use the codes as they are
    return Coded(rank.take(codes), [*map(values.__getitem__, order), None], all_used=True)


def _arrow_codes(native: Any) -> Coded:
    """Encode an Arrow array; an existing dictionary keeps its order."""
    import pyarrow
    import pyarrow.types

    whole = native.combine_chunks() if isinstance(native, pyarrow.ChunkedArray) else native
    declared = pyarrow.types.is_dictionary(whole.type)
    if not declared:
        found = _few_strings(whole)
        if found is not None:
            return found
        whole = whole.dictionary_encode()
    codes = whole.indices
    if codes.null_count:
        codes = codes.cast(pyarrow.int64()).fill_null(-1)
    numbers = codes.to_numpy(zero_copy_only=False)
    if not declared:
        return Coded(numbers, whole.dictionary.to_pylist())
    return coded_as(numbers, whole.dictionary.to_pylist(), ordered=bool(whole.type.ordered))
