"""The kernels that grow trees from bins, in NumPy; a part of :mod:`countwise._kernels.reference`.

Words are those of :mod:`countwise._kernels.reference.trees`.
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
    """Columns of numbers as codes of bins that hold about equally many rows.

    Cells are compared as float64; none is infinite. `n_bins` is from 2 to 255. A column of at most `n_bins` different
    values has a bin for each. Else the j-th edge lies above the smallest value at or below which at least
    ``j / n_bins`` of the weight lies (less 1e-12 of it); edges that fall together are one. An edge lies midway
    between two neighboring values, and never on the upper one. Returns of each column the edges, ascending (none if
    it has fewer than two values), and the uint8 codes: how many edges lie below a cell, ``len(edges) + 1`` for NaN.
    """
    if not 2 <= n_bins <= 255:
        raise ValueError(f"n_bins is {n_bins}; it must lie between 2 and 255")
    check_columns(columns, len(columns[0]) if columns else 0)
    if weights is not None:
        check_weights(weights, len(columns[0]) if columns else 0)
    edges, codes = [], []
    for column in columns:
        x = column.astype(np.float64)
        there = ~np.isnan(x)
        w = np.ones(len(x)) if weights is None else weights
        mine = _bin_edges(x[there], w[there], n_bins)
        edges.append(mine)
        codes.append(np.where(there, np.searchsorted(mine, x), len(mine) + 1).astype(np.uint8))
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
    """How often each cell of a column meets each class, in some nodes: (nodes, n_cells, n_classes).

    `column` has the code of each row, and a code of `n_cells` or more is a ValueError. `segments` (nodes, 2) is where
    the entries of each node begin and end. `codes`, `weights` (int64 or float64) and `rows` (uint32; None if instance
    i is row i) are of instances. Counts are uint32 without weights, int64 with whole ones, float64 otherwise.
    """
    check_codes(column, "column")
    check_codes(codes, "codes")
    if weights is not None and weights.dtype not in (np.int64, np.float64):
        raise TypeError(f"weights must be int64 or float64, not {weights.dtype}")
    _check_entries(entries, segments, weights, rows, len(codes), len(column))
    kind = np.uint32 if weights is None else weights.dtype
    out = np.zeros((len(segments), n_cells, n_classes), dtype=kind)
    for k, (start, stop) in enumerate(segments.tolist()):
        ids = entries[start:stop] >> 1
        cells = column[ids if rows is None else rows[ids]]
        if len(cells) and (int(cells.max()) >= n_cells or int(codes[ids].max()) >= n_classes):
            raise ValueError("a code is out of range")
        np.add.at(out[k], (cells, codes[ids]), 1 if weights is None else weights[ids])
    return out


def _check_entries(
    entries: Array, segments: Array, weights: Array | None, rows: Array | None, instances: int, cells: int
) -> None:
    if entries.dtype != np.uint32 or (rows is not None and rows.dtype != np.uint32):
        raise TypeError("entries and rows must be uint32")
    if segments.dtype != np.int64:
        raise TypeError(f"segments must be int64, not {segments.dtype}")
    if segments.ndim != 2 or segments.shape[1] != 2:
        raise ValueError(f"segments has shape {segments.shape}; it needs (nodes, 2)")
    if np.any((segments[:, 0] < 0) | (segments[:, 0] > segments[:, 1]) | (segments[:, 1] > len(entries))):
        raise ValueError(f"a segment does not lie within the {len(entries)} entries")
    if weights is not None:
        check_rows("weights", len(weights), instances)
    if rows is not None:
        check_rows("rows", len(rows), instances)
    for start, stop in segments.tolist():
        ids = entries[start:stop] >> 1
        if len(ids) and (ids.max() >= instances or (ids if rows is None else rows[ids]).max() >= cells):
            raise ValueError("an entry is of an instance or a row that there is not")


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
    """How often each cell of several columns meets each class, in some nodes: :func:`count_entries` of all at once.

    The matrix is uint8 (rows, columns) and C-contiguous: the codes of a row lie side by side, so that they are
    fetched together. The result is (columns, nodes, n_cells, n_classes).
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
    """The weight, and the sum and sum of squares of a number less the node's center, by cell: (nodes, n_cells, 3).

    `values` and `weights` are of instances, `centers` of nodes; all else is as for :func:`count_entries`.
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
            raise ValueError("a code is out of range")
        y = values[ids] - centers[k]
        w = np.ones(len(ids)) if weights is None else weights[ids]
        np.add.at(out[k], cells, np.stack([w, w * y, w * y * y], axis=1))
    return out


def best_bins(table: Array, n_bins: int, criterion: str, least: float) -> tuple[Array, Floats]:
    """Where to part the bins of each node into lower and upper ones so that it gains most.

    The table is what :func:`count_entries` gives or, for "variance" and "sd", :func:`sum_entries`; only the first
    `n_bins` cells of a node are bins. Ties are settled as in :func:`best_thresholds` and
    :func:`best_thresholds_of_numbers`, and both sides must weigh something. Returns how many bins lie on the left
    (int64), or -1 if there is nothing to choose, and the gains, 0 where there is no place.
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
    """What each node gains by a branch for each value; NaN where fewer than two branches have the least weight.

    As for :func:`best_bins`; only the first `n_values` cells of a node are values.
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
        raise ValueError(f"criterion is {criterion!r}; it must be one of {', '.join(OF_CLASSES + OF_NUMBERS)}")
    if table.dtype not in (np.uint32, np.int64, np.float64):
        raise TypeError(f"table must be uint32, int64 or float64, not {table.dtype}")
    if table.ndim != 3 or not table.flags.c_contiguous:
        raise ValueError(f"table must be C-contiguous (nodes, cells, classes), not of shape {table.shape}")
    if criterion in OF_NUMBERS and table.shape[2] != 3:
        raise ValueError(f"a table of sums has 3 numbers a cell, not {table.shape[2]}")
