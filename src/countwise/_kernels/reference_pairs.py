"""The kernels that choose columns, in NumPy; a part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_codes, check_rows, check_table, check_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


def count_right(
    base: Floats, terms: Sequence[Floats], target: Array, weights: Floats | None, fallback: int
) -> Floats:
    """The weight of the rows that are answered rightly with each term added to the base.

    A row's answer is the class of the greatest sum of base and term. Of equal sums the first class is taken; where
    all are minus infinity, `fallback`; and a row in which a sum is NaN is never right.

    Parameters
    ----------
    base : float64 array (rows, classes)
    terms : list of float64 array (rows, classes)
    target : integer array (rows,)
        The right class of each row; a code that is no class is never answered, but by `fallback`.
    weights : float64 array or None
        None is 1 for all.
    fallback : int

    Returns
    -------
    float64 array (terms,)
    """
    _check_scores("base", base)
    rows, classes = base.shape
    if classes == 0:
        raise ValueError("base has no classes to choose from")
    if target.dtype.kind not in "iu":
        raise TypeError("target must be of an integer type")
    check_rows("target", len(target), rows)
    w = np.ones(rows) if weights is None else check_weights(weights, rows)
    sums = np.zeros(len(terms))
    for t, term in enumerate(terms):
        _check_scores(f"term {t}", term)
        check_table(f"term {t}", term, rows, classes)
        with np.errstate(invalid="ignore"):  # infinities of either sign meet
            score = base + term
        answer = np.where(np.isneginf(score).all(axis=1), fallback, score.argmax(axis=1))
        sums[t] = w[(answer == target) & ~np.isnan(score).any(axis=1)].sum()
    return sums


def pair_counts(columns: Sequence[Array], sizes: list[int], pairs: Array) -> list[NDArray[np.int64]]:
    """How many rows have each value of one column together with each value of another, for many pairs of columns.

    Parameters
    ----------
    columns : list of codes
    sizes : list of int
        How many values each column has. A code beyond is outside: its row is left out wherever that column is in
        the pair.
    pairs : integer array (pairs, 2)
        The numbers of two columns each; they may be the same.

    Returns
    -------
    list of int64 array (sizes[i], sizes[j])
        One table for each pair (i, j). They may be parts of one array.
    """
    rows = len(columns[0]) if columns else 0
    if len(sizes) != len(columns):
        raise ValueError(f"there are {len(columns)} columns but {len(sizes)} sizes")
    for j, column in enumerate(columns):
        check_rows(f"column {j}", check_codes(column, f"column {j}"), rows)
    if pairs.dtype.kind not in "iu":
        raise TypeError("pairs must be of an integer type")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs has shape {pairs.shape}; it needs (pairs, 2)")
    tables = []
    for i, j in pairs.tolist():
        if not (0 <= i < len(columns) and 0 <= j < len(columns)):
            raise ValueError(f"pairs hold column {i} or {j}; there are {len(columns)}")
        inside = (columns[i] < sizes[i]) & (columns[j] < sizes[j])
        key = columns[i][inside].astype(np.intp) * sizes[j] + columns[j][inside]
        table = np.bincount(key, minlength=sizes[i] * sizes[j]).astype(np.int64)
        tables.append(table.reshape(sizes[i], sizes[j]))
    return tables


def _check_scores(name: str, scores: Floats) -> None:
    if scores.dtype != np.float64:
        raise TypeError(f"{name} is {scores.dtype}; it must be float64")
    if scores.ndim != 2:
        raise ValueError(f"{name} has shape {scores.shape}; it needs 2 dimensions")
