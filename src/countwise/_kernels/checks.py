"""Argument checks of the NumPy kernels: a wrong shape raises ValueError, a wrong type TypeError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


def check_codes(codes: Array, name: str) -> int:
    """Check an array of codes, and return its number of rows."""
    if codes.ndim != 1 or codes.dtype not in (np.uint8, np.uint16, np.uint32):
        raise TypeError(f"{name} must be a 1-D array of uint8, uint16 or uint32, not {codes.dtype} {codes.shape}.")
    return len(codes)


def check_columns(columns: Sequence[Array], rows: int) -> None:
    """Check that each column is a 1-D numeric array with this number of rows."""
    for j, column in enumerate(columns):
        check_column(f"columns[{j}]", column, rows)


def check_column(name: str, column: Array, rows: int) -> None:
    """Check that a column is a 1-D numeric array with this number of rows."""
    if column.ndim != 1:
        raise ValueError(f"{name} has {column.ndim} dimensions; it needs 1.")
    if column.dtype.kind not in "fiub" or column.dtype.itemsize > 8 or column.dtype == np.float16:
        raise TypeError(f"{name} is {column.dtype}; it must be float32, float64, an integer or bool.")
    check_rows(name, len(column), rows)


def check_rows(name: str, found: int, rows: int) -> None:
    """Check the number of rows."""
    if found != rows:
        raise ValueError(f"{name} has {found} rows; {rows} are needed.")


def check_count(name: str, found: int, most: int = 1 << 32) -> None:
    """Check that a number of values or classes is small enough for codes."""
    if found > most:
        raise ValueError(f"{name} is {found}; it must be at most {most}.")


def check_weights(weights: Floats, rows: int) -> Floats:
    """Check that the weights are float64 with one weight per row, and return them."""
    if weights.dtype != np.float64 or weights.ndim != 1:
        raise TypeError(f"weights must be a 1-D float64 array, not {weights.dtype}.")
    check_rows("weights", len(weights), rows)
    return weights


def check_array(name: str, array: Array, dtype: str, dimensions: int, *, contiguous: bool = False) -> None:
    """Check the type, the number of dimensions and optionally the memory layout of an array."""
    if array.dtype != dtype:
        raise TypeError(f"{name} is {array.dtype}; it must be {dtype}.")
    if array.ndim != dimensions:
        raise ValueError(f"{name} has shape {array.shape}; it needs {dimensions} dimension{'s' * (dimensions > 1)}.")
    if contiguous and not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous; its shape is {array.shape}.")


def check_entries(entries: Array, starts: Array) -> None:
    """Check an array of entries and the starts of its segments."""
    check_array("entries", entries, "uint32", 1)
    check_array("starts", starts, "int64", 1)
    check_ascending("starts", starts, len(entries))


def check_ascending(name: str, starts: Array, most: int) -> None:
    """Check that positions ascend and lie between 0 and `most`."""
    if len(starts) == 0 or starts[0] < 0 or starts[-1] > most or np.any(np.diff(starts) < 0):
        raise ValueError(f"{name} must ascend and lie between 0 and {most}.")


def check_instances(entries: Array, starts: Array, instances: int) -> None:
    """Check that all entries refer to existing instances."""
    used = entries[starts[0] : starts[-1]]
    if len(used) and int(used.max()) >> 1 >= instances:
        raise ValueError("entries contains an instance that does not exist.")


def check_out(out: Floats) -> tuple[int, int]:
    """Check the output array, and return its numbers of rows and classes."""
    if out.dtype != np.float64:
        raise TypeError(f"out is {out.dtype}; it must be float64.")
    if out.ndim != 2 or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous (rows, classes), but has shape {out.shape}.")
    return out.shape[0], out.shape[1]


def check_table(name: str, table: Floats, columns: int, classes: int) -> None:
    """Check the shape of a table."""
    if table.shape != (columns, classes):
        raise ValueError(f"{name} has shape {table.shape}; it needs {(columns, classes)}.")


def check_points(points: Floats, weights: Floats | None, h: float) -> Floats:
    """Check the arguments of a kernel sum, and return the weights of the points."""
    if points.dtype != np.float64 or points.ndim != 1:
        raise TypeError(f"points must be a 1-D float64 array, not {points.dtype}.")
    if not np.all(np.isfinite(points)) or np.any(np.diff(points) < 0):
        raise ValueError("points must be finite and ascending.")
    if not (h > 0 and np.isfinite(h)):
        raise ValueError(f"h is {h}; a bandwidth must be finite and above 0.")
    if weights is None:
        return np.ones(len(points))
    w = check_weights(weights, len(points))
    if not np.all((w >= 0) & np.isfinite(w)):
        raise ValueError("weights must be finite and not negative.")
    return w
