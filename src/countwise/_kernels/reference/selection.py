"""The kernels that choose columns and structures, in NumPy; a part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_codes, check_rows, check_table, check_weights

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
    """The weight of the rows that are answered rightly with each term added to the base, all (rows, classes).

    A row's answer is the class of the greatest sum of base and term. Of equal sums the first class is taken; where
    all are minus infinity, `fallback`; and a row in which a sum is NaN is never right. A target that is no class is
    never answered, but by `fallback`.
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


def _check_scores(name: str, scores: Floats) -> None:
    if scores.dtype != np.float64:
        raise TypeError(f"{name} is {scores.dtype}; it must be float64")
    if scores.ndim != 2:
        raise ValueError(f"{name} has shape {scores.shape}; it needs 2 dimensions")


def count_families(
    columns: Sequence[Array], sizes: list[int], families: Sequence[Sequence[int]], weights: Array | None
) -> list[Array]:
    """How often values meet, for many families of columns: a table (sizes[i], sizes[j], ...) for each.

    `sizes` are how many values each column has. A code beyond is outside: its row is left out of every family that
    has the column. Families are numbers of columns; those that have all columns but one in common are counted fastest
    if they follow each other. Tables are int64 if weights are None or of an integer (or bool) type, else float64,
    added up in the order of the rows. They may be parts of one array, of any strides.
    """
    rows = len(columns[0]) if columns else 0
    if len(sizes) != len(columns):
        raise ValueError(f"there are {len(columns)} columns but {len(sizes)} sizes")
    for j, column in enumerate(columns):
        check_rows(f"column {j}", check_codes(column, f"column {j}"), rows)
    if weights is not None:
        check_rows("weights", weights.size, rows)
    return [_counted(columns, sizes, list(family), weights) for family in families]


def _counted(columns: Sequence[Array], sizes: list[int], family: list[int], weights: Array | None) -> Array:
    if not family:
        raise ValueError("a family has no columns")
    for j in family:
        if not 0 <= j < len(columns):
            raise ValueError(f"families hold column {j}; there are {len(columns)}")
    shape = [sizes[j] for j in family]
    cells = int(np.prod(shape, dtype=object))
    if cells >= _MOST_CELLS:
        raise ValueError(f"a family has too many cells, {cells}; it must have fewer than {_MOST_CELLS}")
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
