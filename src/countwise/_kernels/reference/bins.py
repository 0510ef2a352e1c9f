"""NumPy kernels that grow trees from binned columns; part of :mod:`countwise._kernels.reference`.

:mod:`countwise._kernels.reference.trees` defines the terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.bin_edges import edges_of
from countwise._kernels.checks import check_array, check_codes, check_columns, check_rows, check_weights
from countwise._kernels.reference.trees import OF_CLASSES, OF_NUMBERS, best_of, impurity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = ["best_bins", "bin_columns", "branch_gains", "count_entries", "count_matrix", "sum_entries"]


def bin_columns(
    columns: Sequence[Array], weights: Floats | None, n_bins: int
) -> tuple[list[Floats], list[NDArray[np.uint8]]]:
    """Discretize numeric columns into bins that hold about the same weight.

    Values are compared as float64; none is infinite. `n_bins` is between 2 and 255. A column with at most `n_bins`
    distinct values has one bin for each value. Otherwise the j-th edge lies above the smallest value whose cumulative
    weight is at least ``j / n_bins`` of the total (less a relative tolerance of 1e-12); duplicate edges are merged.
    An edge lies midway between two adjacent values, and always below the upper one.

    Returns the ascending edges of each column (none if it has fewer than two values) and its uint8 codes. The code of
    a value is the number of edges below it; the code of NaN is ``len(edges) + 1``.
    """
    if not 2 <= n_bins <= 255:
        raise ValueError(f"n_bins must be between 2 and 255, not {n_bins}.")
    check_columns(columns, len(columns[0]) if columns else 0)
    if weights is not None:
        check_weights(weights, len(columns[0]) if columns else 0)
    edges, codes = [], []
    for column in columns:
        x = column.astype(np.float64)
        present = ~np.isnan(x)
        w = np.ones(len(x)) if weights is None else weights
        mine = _bin_edges(x[present], w[present], n_bins)
        edges.append(mine)
        codes.append(np.where(present, np.searchsorted(mine, x), len(mine) + 1).astype(np.uint8))
    return edges, codes


def _bin_edges(x: Floats, w: Floats, n_bins: int) -> Floats:
    values, place = np.unique(x, return_inverse=True)
    return edges_of(values, np.cumsum(np.bincount(place, weights=w)), n_bins)


def count_entries(
    column: Array,
    entries: Array,
    segments: Array,
    codes: Array,
    weights: Array | None,
    rows: Array | None,
    n_cells: int,
    n_classes: int,
) -> Array:
    """Count the combinations of column code and class in each node: (nodes, n_cells, n_classes).

    `column` has the code of each row; a code of `n_cells` or more raises ValueError. `segments` (nodes, 2) has the
    start and the end of each node's entries. `codes`, `weights` (int64 or float64) and `rows` (uint32; None if
    instance i is row i) are indexed by instance. Counts are uint32 without weights, int64 with integer weights and
    float64 otherwise.
    """
    check_codes(column, "column")
    check_codes(codes, "codes")
    if weights is not None and weights.dtype not in (np.int64, np.float64):
        raise TypeError(f"weights must be int64 or float64, not {weights.dtype}.")
    _check_entries(entries, segments, weights, rows, len(codes), len(column))
    kind = np.uint32 if weights is None else weights.dtype
    out = np.zeros((len(segments), n_cells, n_classes), dtype=kind)
    for k, (start, stop) in enumerate(segments.tolist()):
        ids = entries[start:stop] >> 1
        cells = column[ids if rows is None else rows[ids]]
        if len(cells) and (int(cells.max()) >= n_cells or int(codes[ids].max()) >= n_classes):
            raise ValueError("A code is out of range.")
        np.add.at(out[k], (cells, codes[ids]), 1 if weights is None else weights[ids])
    return out


def _check_entries(
    entries: Array, segments: Array, weights: Array | None, rows: Array | None, instances: int, cells: int
) -> None:
    if entries.dtype != np.uint32 or (rows is not None and rows.dtype != np.uint32):
        raise TypeError("entries and rows must be uint32.")
    if segments.dtype != np.int64:
        raise TypeError(f"segments must be int64, not {segments.dtype}.")
    if segments.ndim != 2 or segments.shape[1] != 2:
        raise ValueError(f"segments has shape {segments.shape}; it needs (nodes, 2).")
    if np.any((segments[:, 0] < 0) | (segments[:, 0] > segments[:, 1]) | (segments[:, 1] > len(entries))):
        raise ValueError(f"A segment lies outside the {len(entries)} entries.")
    if weights is not None:
        check_rows("weights", len(weights), instances)
    if rows is not None:
        check_rows("rows", len(rows), instances)
    for start, stop in segments.tolist():
        ids = entries[start:stop] >> 1
        if len(ids) and (ids.max() >= instances or (ids if rows is None else rows[ids]).max() >= cells):
            raise ValueError("An entry refers to an instance or a row that does not exist.")


def count_matrix(
    matrix: NDArray[np.uint8],
    entries: Array,
    segments: Array,
    codes: Array,
    weights: Array | None,
    rows: Array | None,
    n_cells: int,
    n_classes: int,
) -> Array:
    """Count the combinations of code and class of several columns at once; see :func:`count_entries`.

    The matrix is uint8 (rows, columns) and C-contiguous, so that the codes of a row are adjacent in memory and are
    loaded together. The result has shape (columns, nodes, n_cells, n_classes).
    """
    check_array("matrix", matrix, "uint8", 2, contiguous=True)
    tables = [
        count_entries(column, entries, segments, codes, weights, rows, n_cells, n_classes) for column in matrix.T
    ]
    kind = np.uint32 if weights is None else np.int64 if weights.dtype.kind in "iu" else np.float64
    empty = np.zeros((0, len(segments), n_cells, n_classes), dtype=kind)
    return np.stack(tables) if tables else empty


def sum_entries(
    column: Array,
    entries: Array,
    segments: Array,
    values: Floats,
    weights: Floats | None,
    rows: Array | None,
    n_cells: int,
    centers: Floats,
) -> Floats:
    """Sum weights, centered values and their squares by code in each node: (nodes, n_cells, 3).

    `values` and `weights` are indexed by instance. `centers` has one number for each node, which is subtracted from
    the values. The other arguments are as in :func:`count_entries`.
    """
    check_codes(column, "column")
    if weights is not None:
        check_weights(weights, len(values))
    _check_entries(entries, segments, weights, rows, len(values), len(column))
    check_rows("centers", len(centers), len(segments))
    out = np.zeros((len(segments), n_cells, 3))
    for k, (start, stop) in enumerate(segments.tolist()):
        ids = entries[start:stop] >> 1
        cells = column[ids if rows is None else rows[ids]]
        if len(cells) and int(cells.max()) >= n_cells:
            raise ValueError("A code is out of range.")
        y = values[ids] - centers[k]
        w = np.ones(len(ids)) if weights is None else weights[ids]
        np.add.at(out[k], cells, np.stack([w, w * y, w * y * y], axis=1))
    return out


def best_bins(table: Array, n_bins: int, criterion: str, least: float) -> tuple[Array, Floats]:
    """Return the split of each node's bins into lower and upper bins with the highest gain.

    The table is the result of :func:`count_entries` or, for "variance" and "sd", of :func:`sum_entries`. Only the
    first `n_bins` cells of a node are bins. Ties are resolved as in :func:`best_thresholds` and
    :func:`best_thresholds_of_numbers`. Both sides must have a positive weight. Returns the number of bins on the left
    (int64), or -1 if no split is possible, and the gains, which are 0 without a split.
    """
    _check_table(table, criterion)
    places = np.full(len(table), -1, dtype=np.int64)
    gains = np.zeros(len(table))
    for k, cells in enumerate(table[:, :n_bins].astype(np.float64)):
        if len(cells) > 1 and cells.any():
            best, gain = best_of(np.cumsum(cells, axis=0)[:-1], cells.sum(axis=0), criterion, least)
            places[k], gains[k] = (best + 1, gain) if best >= 0 else (-1, 0.0)
    return places, gains


def branch_gains(table: Array, n_values: int, criterion: str, least: float) -> Floats:
    """Return the gain of one branch for each value; NaN if fewer than two branches have the minimum weight `least`.

    The arguments are as in :func:`best_bins`; only the first `n_values` cells of a node are values.
    """
    _check_table(table, criterion)
    cells = table[:, :n_values].astype(np.float64)
    n = cells[..., 0] if criterion in OF_NUMBERS else cells.sum(axis=-1)
    whole = cells.sum(axis=1)
    inside = (n * impurity(cells, criterion)).sum(axis=1)
    total = n.sum(axis=1)
    gains = impurity(whole, criterion) - np.divide(inside, total, out=np.zeros_like(total), where=total > 0)
    heavy = ((n > 0) & (n >= least * (1 - 1e-9))).sum(axis=1)
    return np.where(heavy > 1, np.maximum(gains, 0.0), np.nan)


def _check_table(table: Array, criterion: str) -> None:
    if criterion not in OF_CLASSES + OF_NUMBERS:
        options = ", ".join(map(repr, OF_CLASSES + OF_NUMBERS))
        raise ValueError(f"criterion must be one of {options}, not {criterion!r}.")
    if table.dtype not in (np.uint32, np.int64, np.float64):
        raise TypeError(f"table must be uint32, int64 or float64, not {table.dtype}.")
    if table.ndim != 3 or not table.flags.c_contiguous:
        raise ValueError(f"table must be C-contiguous (nodes, cells, classes), but has shape {table.shape}.")
    if criterion in OF_NUMBERS and table.shape[2] != 3:
        raise ValueError(f"A table of sums must have 3 numbers per cell, not {table.shape[2]}.")
