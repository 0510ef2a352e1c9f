"""What the kernels in NumPy ask of their arguments: shapes that disagree are a ValueError, types a TypeError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


def check_codes(codes: Array, name: str) -> int:
    """The number of rows of codes."""
    if codes.ndim != 1 or codes.dtype not in (np.uint8, np.uint16, np.uint32):
        raise TypeError(f"{name}: codes are 1-D uint8, uint16 or uint32, not {codes.dtype} {codes.shape}")
    return len(codes)


def check_columns(columns: Sequence[Array], rows: int) -> None:
    """Refuses columns that are not 1-D numbers of so many rows."""
    for j, column in enumerate(columns):
        if column.ndim != 1:
            raise ValueError(f"column {j} has {column.ndim} dimensions; it needs 1")
        if column.dtype.kind not in "fiub" or column.dtype.itemsize > 8 or column.dtype == np.float16:
            raise TypeError(f"column {j} is {column.dtype}; it must be float32, float64, an integer or bool")
        check_rows(f"column {j}", len(column), rows)


def check_rows(name: str, found: int, rows: int) -> None:
    """Refuses another number of rows."""
    if found != rows:
        raise ValueError(f"{name} has {found} rows; {rows} are needed")


def check_count(name: str, found: int, most: int = 1 << 32) -> None:
    """Refuses a number that no code reaches."""
    if found > most:
        raise ValueError(f"{name} is {found}; it must be at most {most}")


def check_weights(weights: Floats, rows: int) -> Floats:
    """The weights, if there is one a row."""
    if weights.dtype != np.float64 or weights.ndim != 1:
        raise TypeError(f"weights are 1-D float64, not {weights.dtype}")
    check_rows("weights", len(weights), rows)
    return weights


def check_array(name: str, array: Array, dtype: str, dimensions: int, *, contiguous: bool = False) -> None:
    """Refuses an array of another type, shape or layout."""
    if array.dtype != dtype:
        raise TypeError(f"{name} is {array.dtype}; it must be {dtype}")
    if array.ndim != dimensions:
        raise ValueError(f"{name} has shape {array.shape}; it needs {dimensions} dimension{'s' * (dimensions > 1)}")
    if contiguous and not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous, which its {array.shape} are not")


def check_entries(entries: Array, starts: Array) -> None:
    """Refuses what are not entries in segments."""
    check_array("entries", entries, "uint32", 1)
    check_array("starts", starts, "int64", 1)
    check_ascending("starts", starts, len(entries))


def check_ascending(name: str, starts: Array, most: int) -> None:
    """Refuses places that descend or lie outside 0 to `most`."""
    if len(starts) == 0 or starts[0] < 0 or starts[-1] > most or np.any(np.diff(starts) < 0):
        raise ValueError(f"{name} must ascend from 0 or more to at most {most}")


def check_instances(entries: Array, starts: Array, instances: int) -> None:
    """Refuses segments of entries that hold an instance of a larger number."""
    used = entries[starts[0] : starts[-1]]
    if len(used) and int(used.max()) >> 1 >= instances:
        raise ValueError("entries hold an instance that is not there")


def check_out(out: Floats) -> tuple[int, int]:
    """The rows and classes of what is to be added to."""
    if out.dtype != np.float64:
        raise TypeError(f"out is {out.dtype}; it must be float64")
    if out.ndim != 2 or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous (rows, classes), not of shape {out.shape}")
    return out.shape[0], out.shape[1]


def check_table(name: str, table: Floats, columns: int, classes: int) -> None:
    """Refuses a table of another shape."""
    if table.shape != (columns, classes):
        raise ValueError(f"{name} has shape {table.shape}; it needs {(columns, classes)}")


def check_points(points: Floats, weights: Floats | None, h: float) -> Floats:
    """The weights of sorted points, if all is as kernel sums need it."""
    if points.dtype != np.float64 or points.ndim != 1:
        raise TypeError(f"points are 1-D float64, not {points.dtype}")
    if not np.all(np.isfinite(points)) or np.any(np.diff(points) < 0):
        raise ValueError("points must be finite and ascending")
    if not (h > 0 and np.isfinite(h)):
        raise ValueError(f"h is {h}; a width is finite and above 0")
    if weights is None:
        return np.ones(len(points))
    w = check_weights(weights, len(points))
    if not np.all((w >= 0) & np.isfinite(w)):
        raise ValueError("weights must be finite and not negative")
    return w
