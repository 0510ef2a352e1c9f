"""NumPy kernels that select columns and structures; part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_codes, check_rows, check_table, check_weights
from countwise._kernels.reference.naive_bayes import argmax_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = ["count_correct", "count_families"]

_MOST_CELLS = 1 << 31


def count_correct(
    base: Floats, terms: Sequence[Floats], target: Array, weights: Floats | None, fallback: int
) -> Floats:
    """Return the total weight of the correctly predicted rows when each term is added to the base.

    Base and terms have shape (rows, classes). The prediction of a row is the class with the highest sum of base and
    term, the first of several equal ones as in `argmax_rows`. If all sums are minus infinity, it is `fallback`. A row
    with a sum of NaN is never correct. A target that is not a class is only matched by `fallback`.
    """
    _check_scores("base", base)
    rows, classes = base.shape
    if classes == 0:
        raise ValueError("base has no classes.")
    if target.dtype.kind not in "iu":
        raise TypeError("target must have an integer type.")
    check_rows("target", len(target), rows)
    w = np.ones(rows) if weights is None else check_weights(weights, rows)
    sums = np.zeros(len(terms))
    for t, term in enumerate(terms):
        _check_scores(f"terms[{t}]", term)
        check_table(f"terms[{t}]", term, rows, classes)
        with np.errstate(invalid="ignore"):  # plus and minus infinity may be added
            score = base + term
        predicted = np.where(np.isneginf(score).all(axis=1), fallback, argmax_rows(score))
        sums[t] = w[(predicted == target) & ~np.isnan(score).any(axis=1)].sum()
    return sums


def _check_scores(name: str, scores: Floats) -> None:
    if scores.dtype != np.float64:
        raise TypeError(f"{name} is {scores.dtype}; it must be float64.")
    if scores.ndim != 2:
        raise ValueError(f"{name} has shape {scores.shape}; it needs 2 dimensions.")


def count_families(
    columns: Sequence[Array], sizes: list[int], families: Sequence[Sequence[int]], weights: Array | None
) -> list[Array]:
    """Return the contingency table of each family of columns, of shape (sizes[i], sizes[j], ...).

    `sizes` has the number of values of each column. A row is ignored in every family that contains a column whose
    code is out of range. A family is a sequence of column numbers. Counting is fastest if families that differ in one
    column are adjacent. Tables are int64 if the weights are None or of an integer or bool type. Otherwise they are
    float64, summed in row order. Tables may be views of one array, with any strides.
    """
    rows = len(columns[0]) if columns else 0
    if len(sizes) != len(columns):
        raise ValueError(f"There are {len(columns)} columns but {len(sizes)} sizes.")
    for j, column in enumerate(columns):
        check_rows(f"columns[{j}]", check_codes(column, f"columns[{j}]"), rows)
    if weights is not None:
        check_rows("weights", weights.size, rows)
    return [_counted(columns, sizes, list(family), weights) for family in families]


def _counted(columns: Sequence[Array], sizes: list[int], family: list[int], weights: Array | None) -> Array:
    if not family:
        raise ValueError("A family has no columns.")
    for j in family:
        if not 0 <= j < len(columns):
            raise ValueError(f"families contains column {j}, but there are {len(columns)} columns.")
    shape = [sizes[j] for j in family]
    cells = int(np.prod(shape, dtype=object))
    if cells >= _MOST_CELLS:
        raise ValueError(f"A family has too many cells ({cells}); it must have fewer than {_MOST_CELLS}.")
    inside = np.ones(len(columns[0]), dtype=bool)
    for j in family:
        inside &= columns[j] < sizes[j]
    key = np.zeros(int(inside.sum()), dtype=np.intp)
    for j in family:
        key = key * sizes[j] + columns[j][inside]
    if weights is None:
        return np.bincount(key, minlength=cells).astype(np.int64).reshape(shape)
    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    counts: Array = np.zeros(cells, kind)
    np.add.at(counts, key, weights[inside].astype(kind))
    return counts.reshape(shape)
