"""The kernels of sparse rows, in NumPy; a part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_codes, check_out, check_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

_BLOCK = 1 << 21  # cells of a temporary in the blocked sums: 16 MB


def csr_class_sums(
    indptr: Array,
    indices: Array,
    data: Array,
    codes: Array,
    weights: Floats | None,
    n_classes: int,
    n_columns: int,
    present: bool,
) -> Floats:
    """The weighted sum of each column of a sparse table within each class.

    Parameters
    ----------
    indptr, indices : int32 or int64 array
    data : column
        Stored NaN are left out.
    codes : codes
        The class of each row; rows whose code is `n_classes` or more are left out.
    weights : float64 array or None
    n_classes, n_columns : int
    present : bool
        Count the entries that are above 0 instead of adding them.

    Returns
    -------
    float64 array (n_classes, n_columns)
    """
    rows = check_codes(codes, "codes")
    row, column, x = _entries(indptr, indices, data, rows, n_columns, present)
    w = np.ones(rows) if weights is None else check_weights(weights, rows)
    kept = (codes < n_classes)[row]
    row, column, x = row[kept], column[kept], x[kept]
    key = codes[row].astype(np.intp) * n_columns + column
    sums: Array = np.bincount(key, w[row] * x, n_classes * n_columns)
    return sums.reshape(n_classes, n_columns)


def csr_add(indptr: Array, indices: Array, data: Array, table: Floats, present: bool, out: Floats) -> None:
    """Add to each row the table's rows times its entries: ``out[i] += sum of x * table[column]``.

    Parameters
    ----------
    indptr, indices : int32 or int64 array
    data : column
        Stored zeros and NaN add exactly 0, also where the table is infinite.
    table : float64 array (n_columns, classes)
    present : bool
        Take 1 for the entries above 0, and 0 for others.
    out : float64 array (rows, classes)
    """
    rows, classes = check_out(out)
    if table.ndim != 2 or table.shape[1] != classes:
        raise ValueError(f"table has shape {table.shape}; it needs {classes} classes")
    row, column, x = _entries(indptr, indices, data, rows, len(table), present)
    step = max(1, _BLOCK // max(classes, 1))
    for start in range(0, len(row), step):
        block = slice(start, start + step)
        with np.errstate(invalid="ignore"):  # infinities of either sign meet
            np.add.at(out, row[block], x[block, None] * table[column[block]])


def _entries(
    indptr: Array, indices: Array, data: Array, rows: int, n_columns: int, present: bool
) -> tuple[Array, Array, Floats]:
    """Row number, column number and value of the stored entries that count."""
    if len(indptr) != rows + 1:
        raise ValueError(f"indptr has {len(indptr)} entries; {rows} rows need {rows + 1}")
    if np.any(np.diff(indptr) < 0) or indptr[0] < 0 or indptr[-1] > min(len(indices), len(data)):
        raise ValueError("indptr must not descend, nor point outside indices and data")
    stored = slice(int(indptr[0]), int(indptr[-1]))
    row = np.repeat(np.arange(rows), np.diff(indptr))
    column, x = indices[stored].astype(np.intp), data[stored].astype(np.float64)
    if len(column) and (column.min() < 0 or column.max() >= n_columns):
        raise ValueError(f"indices hold a column outside 0 to {n_columns - 1}")
    kept = x > 0 if present else (x != 0) & ~np.isnan(x)
    return row[kept], column[kept], np.ones(kept.sum()) if present else x[kept]
