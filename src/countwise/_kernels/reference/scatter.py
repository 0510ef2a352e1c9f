"""NumPy kernels on whole rows: scatter matrices of classes, quadratic and linear forms.

Rows with a missing value are ignored. `incomplete`, a contiguous uint8 array (rows,), is set to 1 for these rows and
to 0 for all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_array, check_codes, check_columns, check_out, check_rows, check_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]
    Marks = NDArray[np.uint8]

__all__ = ["add_linear", "add_quadratic", "class_scatter"]


def class_scatter(
    columns: Sequence[Array], codes: Array, weights: Floats | None, n_classes: int, incomplete: Marks
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the mean and the scatter matrix of each class: the sum of ``w (x - mean) (x - mean)^T``.

    The shapes are (classes,), (classes, columns) and (classes, columns, columns); the matrices are exactly symmetric.
    Rows with a missing value, with weight 0, or whose code is `n_classes` or more are ignored. An infinite value
    makes the mean or the scatter non-finite. A column of equal values has a scatter of exactly 0. A class without
    rows has 0, 0, 0.
    """
    rows = check_codes(codes, "codes")
    check_columns(columns, rows)
    w = None if weights is None else check_weights(weights, rows)
    _check_marks(incomplete, rows)
    X = _rows_of(columns, rows, incomplete)
    kept = incomplete == 0 if w is None else (incomplete == 0) & (w != 0)
    n, mean = np.zeros(n_classes), np.zeros((n_classes, len(columns)))
    scatter = np.zeros((n_classes, len(columns), len(columns)))
    for c in np.unique(codes[kept & (codes < n_classes)]):
        chosen = kept & (codes == c)
        n[c], mean[c], scatter[c] = _scatter(X[chosen], None if w is None else w[chosen])
    return n, mean, scatter


def _scatter(X: Floats, w: Floats | None) -> tuple[float, Floats, Floats]:
    weight = float(len(X)) if w is None else float(w.sum())
    if not weight > 0:
        return 0.0, np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    scale = 1.0 if w is None else w[:, None]
    # The mean is computed in two steps, starting from a row of the class. Equal values then have a deviation of
    # exactly 0, a column far from 0 loses no digits, and the second step corrects the error of an outlier in the
    # first row.
    with np.errstate(invalid="ignore", over="ignore"):
        shift = X[0] + (scale * (X - X[0])).sum(axis=0) / weight
        deviations = X - shift
        delta = (scale * deviations).sum(axis=0) / weight
        deviations -= delta
        upper = np.triu((scale * deviations).T @ deviations)
        return weight, shift + delta, upper + np.triu(upper, 1).T


def add_quadratic(columns: Sequence[Array], centers: Floats, factors: Floats, out: Floats, incomplete: Marks) -> None:
    """Subtract half the squared length of ``factors[c] @ (x - centers[c])`` from the complete rows.

    Centers have shape (classes, columns), factors (classes, r, columns); zeros at either end of a factor's row may be
    skipped in the sums. With a factor of the inverse covariance this is the exponent of a normal density. A row with
    an infinite value may get any non-finite result. Rows with a missing value are not changed.
    """
    rows, classes = check_out(out)
    check_columns(columns, rows)
    _check_marks(incomplete, rows)
    _check_floats("centers", centers, (classes, len(columns)))
    height = factors.shape[1] if factors.ndim == 3 else 0
    _check_floats("factors", factors, (classes, height, len(columns)))
    X = _rows_of(columns, rows, incomplete)
    complete = incomplete == 0
    X = X[complete]
    for c in range(classes):
        with np.errstate(invalid="ignore", over="ignore"):
            y = np.einsum("rj,kj->rk", X - centers[c], factors[c])  # not BLAS: rows must not affect each other
            out[complete, c] -= 0.5 * np.sum(y * y, axis=1)


def add_linear(columns: Sequence[Array], center: Floats, slopes: Floats, out: Floats, incomplete: Marks) -> None:
    """Add ``slopes @ (x - center)``, slopes (classes, columns), to the rows without missing values."""
    rows, classes = check_out(out)
    check_columns(columns, rows)
    _check_marks(incomplete, rows)
    _check_floats("center", center, (len(columns),))
    _check_floats("slopes", slopes, (classes, len(columns)))
    X = _rows_of(columns, rows, incomplete)
    complete = incomplete == 0
    with np.errstate(invalid="ignore", over="ignore"):
        out[complete] += np.einsum("rj,cj->rc", X[complete] - center, slopes)


def _rows_of(columns: Sequence[Array], rows: int, incomplete: Marks) -> Floats:
    """Return the columns as a table, after marking its incomplete rows."""
    X = np.empty((rows, len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = column
    incomplete[:] = np.isnan(X).any(axis=1)
    return X


def _check_marks(incomplete: Marks, rows: int) -> None:
    check_array("incomplete", incomplete, "uint8", 1, contiguous=True)
    check_rows("incomplete", len(incomplete), rows)


def _check_floats(name: str, table: Floats, shape: tuple[int, ...]) -> None:
    if table.dtype != np.float64:
        raise TypeError(f"{name} is {table.dtype}; it must be float64.")
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; it needs {shape}.")
