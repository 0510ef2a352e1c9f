"""NumPy kernels of naive Bayes; part of :mod:`countwise._kernels.reference`.

Sparse rows are the three arrays of scipy.sparse's CSR format. `indptr` may be a slice of a larger matrix's `indptr`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_codes,
    check_column,
    check_columns,
    check_out,
    check_rows,
    check_table,
    check_weights,
)
from countwise._kernels.ties import TIE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = [
    "add_gaussian",
    "add_lookup",
    "add_poisson",
    "argmax_rows",
    "class_moments",
    "count_codes",
    "csr_add",
    "csr_class_sums",
    "gaussian_loo",
    "normalize",
    "sum_log_posterior",
]

_BLOCK = 1 << 21  # elements of a temporary array: 16 MB


def class_moments(
    columns: Sequence[Array], codes: Array, weights: Floats | None, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the mean and the sum of squared deviations of each column by class: (columns, classes) each.

    Missing values and rows whose code is `n_classes` or more are ignored. Without weights every row has weight 1. An
    infinite value makes the mean or the sum non-finite. The sum is exactly 0 if all values are equal. A class without
    values has 0, 0, 0.
    """
    rows = check_codes(codes, "codes")
    check_columns(columns, rows)
    w = np.ones(rows) if weights is None else check_weights(weights, rows)
    n, mean, m2 = (np.zeros((len(columns), n_classes)) for _ in range(3))
    for j, column in enumerate(columns):
        x = column.astype(np.float64)
        kept = ~np.isnan(x) & (codes < n_classes) & (w != 0)
        n[j], mean[j], m2[j] = _moments(x[kept], codes[kept].astype(np.intp), w[kept], n_classes)
    return n, mean, m2


def _moments(x: Floats, codes: Array, w: Floats, n_classes: int) -> tuple[Array, Array, Array]:
    # Deviations are taken from a value of the class, so that equal values have a deviation of exactly 0.
    shift = np.zeros(n_classes)
    shift[codes[::-1]] = x[::-1]
    n = np.bincount(codes, w, n_classes)
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.bincount(codes, w * (x - shift[codes]), n_classes)
        mean = shift + total / np.where(n > 0, n, 1)
        m2 = np.bincount(codes, w * (x - mean[codes]) ** 2, n_classes)
    return n, mean, m2


def count_codes(column: Array, given: Array, weights: Array | None, n_values: int, n_given: int) -> Array:
    """Count the combinations of two columns' codes: (n_given, n_values).

    Rows in which either code is out of range are ignored. Counts are int64 if the weights are None or of an integer
    or bool type, else float64.
    """
    rows = check_codes(column, "column")
    check_rows("given", check_codes(given, "given"), rows)
    kept = (column < n_values) & (given < n_given)
    key = given[kept].astype(np.intp) * n_values + column[kept]
    if weights is None:
        return np.bincount(key, minlength=n_given * n_values).astype(np.int64).reshape(n_given, n_values)
    check_rows("weights", weights.size, rows)
    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    counts: Array = np.zeros(n_given * n_values, kind)
    np.add.at(counts, key, weights[kept].astype(kind))
    return counts.reshape(n_given, n_values)


def add_lookup(columns: Sequence[Array], tables: Sequence[Floats], out: Floats) -> None:
    """Add the table entries of each row's codes: ``out[i] += sum of tables[j][columns[j][i]]``.

    Tables have shape (values, classes) and may contain minus infinity. A code outside its table raises ValueError;
    the contents of `out` are then undefined.
    """
    rows, classes = check_out(out)
    if len(columns) != len(tables):
        raise ValueError(f"There are {len(columns)} columns but {len(tables)} tables.")
    for j, (column, table) in enumerate(zip(columns, tables, strict=True)):
        check_rows(f"columns[{j}]", check_codes(column, f"columns[{j}]"), rows)
        if table.ndim != 2 or table.shape[1] != classes:
            raise ValueError(f"tables[{j}] has shape {table.shape}; it needs {classes} classes.")
        if rows and int(column.max()) >= len(table):
            raise ValueError(f"columns[{j}] contains code {column.max()}, but its table has {len(table)} values.")
        out += table[column]


def add_gaussian(columns: Sequence[Array], mean: Floats, inverse_sd: Floats, log_norm: Floats, out: Floats) -> None:
    """Add the log densities of normal distributions: ``log_norm - ((x - mean) * inverse_sd)**2 / 2``.

    The parameters have shape (columns, classes). A missing value adds exactly 0.
    """
    rows, classes = check_out(out)
    check_columns(columns, rows)
    for name, table in (("mean", mean), ("inverse_sd", inverse_sd), ("log_norm", log_norm)):
        check_table(name, table, len(columns), classes)
    for j, column in enumerate(columns):
        x = column.astype(np.float64)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            term = log_norm[j] - 0.5 * ((x - mean[j]) * inverse_sd[j]) ** 2
        out += np.where(np.isnan(x), 0.0, term)


def add_poisson(columns: Sequence[Array], rate: Floats, out: Floats) -> None:
    """Add the log probabilities of counts with rates (columns, classes): ``x log(rate) - rate - log(x!)``.

    A missing value adds exactly 0. With a rate of 0, a count of 0 adds 0 and any other count adds minus infinity.
    Negative and infinite counts add minus infinity. ``x!`` of a non-integer count is computed by the gamma function.
    """
    from scipy.special import gammaln, xlogy

    rows, classes = check_out(out)
    check_columns(columns, rows)
    check_table("rate", rate, len(columns), classes)
    for j, column in enumerate(columns):
        x = column.astype(np.float64)[:, None]
        inside = np.where((x >= 0) & np.isfinite(x), x, 0.0)
        with np.errstate(divide="ignore"):
            term = xlogy(inside, rate[j]) - rate[j] - gammaln(inside + 1)
        term = np.where((x < 0) | np.isinf(x), -np.inf, term)
        out += np.where(np.isnan(x), 0.0, term)


# Rows


def normalize(out: Floats, kind: Literal["log", "proba"]) -> int:
    """Convert rows of log joint probabilities to (log) posteriors in place; return how many rows became NaN.

    A row becomes NaN if all its entries are minus infinity, or if it contains plus infinity or NaN.
    """
    rows, classes = check_out(out)
    if kind not in ("log", "proba"):
        raise ValueError(f"kind must be 'log' or 'proba', not {kind!r}.")
    if classes == 0 or rows == 0:
        return 0
    top = out.max(axis=1, keepdims=True)
    bad = ~np.isfinite(top[:, 0])
    with np.errstate(invalid="ignore"):
        out -= top
    part = np.exp(out)
    total = part.sum(axis=1, keepdims=True)
    if kind == "log":
        out -= np.log(total)
    else:
        np.divide(part, total, out=out)
    out[bad] = np.nan
    return int(bad.sum())


def argmax_rows(out: Floats) -> NDArray[np.intp]:
    """Return the column of each row's maximum as intp: the first of several equal maxima, 0 for a row with NaN.

    A column replaces an earlier one only if it exceeds it by more than `TIE`, so that rounding errors break no tie.
    """
    rows, classes = check_out(out)
    if classes == 0:
        raise ValueError("out has no classes.")
    best, top = np.zeros(rows, dtype=np.intp), out[:, 0].copy()
    for c in range(1, classes):
        above = out[:, c] > top + TIE
        best[above], top[above] = c, out[above, c]
    best[np.isnan(out).any(axis=1)] = 0
    return best


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
    """Return the weighted sum of each column of a sparse table within each class: (n_classes, n_columns).

    Stored NaN and rows whose code is `n_classes` or more are ignored. With `present`, every entry above 0 counts as 1
    and all others as 0.
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
    """Add the product of each sparse row with a table: ``out[i] += sum of x * table[column]``.

    The table has shape (columns, classes). Stored zeros and NaN add exactly 0, even where the table is infinite. With
    `present`, every entry above 0 counts as 1 and all others as 0.
    """
    rows, classes = check_out(out)
    if table.ndim != 2 or table.shape[1] != classes:
        raise ValueError(f"table has shape {table.shape}; it needs {classes} classes.")
    row, column, x = _entries(indptr, indices, data, rows, len(table), present)
    step = max(1, _BLOCK // max(classes, 1))
    for start in range(0, len(row), step):
        block = slice(start, start + step)
        with np.errstate(invalid="ignore"):  # plus and minus infinity may be added
            np.add.at(out, row[block], x[block, None] * table[column[block]])


def _entries(
    indptr: Array, indices: Array, data: Array, rows: int, n_columns: int, present: bool
) -> tuple[Array, Array, Floats]:
    """Return the row number, the column number and the value of each stored entry that counts."""
    if len(indptr) != rows + 1:
        raise ValueError(f"indptr has {len(indptr)} entries, but {rows} rows need {rows + 1}.")
    if np.any(np.diff(indptr) < 0) or indptr[0] < 0 or indptr[-1] > min(len(indices), len(data)):
        raise ValueError("indptr must ascend and must not point outside indices and data.")
    stored = slice(int(indptr[0]), int(indptr[-1]))
    row = np.repeat(np.arange(rows), np.diff(indptr))
    column, x = indices[stored].astype(np.intp), data[stored].astype(np.float64)
    if len(column) and (column.min() < 0 or column.max() >= n_columns):
        raise ValueError(f"indices contains a column outside 0 to {n_columns - 1}.")
    kept = x > 0 if present else (x != 0) & ~np.isnan(x)
    return row[kept], column[kept], np.ones(kept.sum()) if present else x[kept]


def gaussian_loo(
    values: Floats, n: float, mean: float, m2: float, overall_variance: float, overall_mean: float, out: Floats
) -> None:
    """Compute the leave-one-out log density at each value of a class, by a normal distribution.

    The density at a value is that of a normal distribution fitted to the other values of the class. `n`, `mean` and
    `m2` describe the values of the class: their number (at least 1), their mean and their sum of squared deviations.
    `overall_variance` and `overall_mean` describe the values of all classes. The variance of the fit has the divisor
    (number of other values - 1), and is at least 1e-9 times `overall_variance`. With fewer than two other values the
    variance is `overall_variance`; without any the mean is `overall_mean`. If `overall_variance` is 0, the column is
    uninformative and all densities are 1. The result is written to `out` (values,), which may have any stride.
    """
    for name, x in (("values", values), ("out", out)):
        if x.dtype != np.float64:
            raise TypeError(f"{name} is {x.dtype}; it must be float64.")
        if x.ndim != 1:
            raise ValueError(f"{name} has shape {x.shape}; it needs 1 dimension.")
    check_rows("out", len(out), len(values))
    if not n >= 1:
        raise ValueError(f"n must be at least 1, not {n}.")
    if overall_variance <= 0:
        out[:] = 0.0
        return
    rest = n - 1
    with np.errstate(over="ignore", invalid="ignore"):
        # Leaving x out moves the mean away from x by 1 / rest of their distance.
        away = (values - mean) * (n / rest) if rest > 0 else values - overall_mean
        left = m2 - (values - mean) * away
        variance = np.maximum(left / (rest - 1) if rest > 1 else overall_variance, 1e-9 * overall_variance)
        out[:] = -0.5 * away**2 / variance - 0.5 * np.log(2 * np.pi * variance)


def sum_log_posterior(joint: Floats, c: int, weights: Array | None, least: float) -> float:
    """Return the sum over rows of weight times max(log P(class c), `least`), where `least` is finite.

    `joint` has the log joint probabilities (rows, classes). A row contributes `least` if all its entries are minus
    infinity, or if it contains plus infinity or NaN. Weights are a column, or None if all are 1.
    """
    if joint.dtype != np.float64:
        raise TypeError(f"joint is {joint.dtype}; it must be float64.")
    if joint.ndim != 2:
        raise ValueError(f"joint has shape {joint.shape}; it needs 2 dimensions.")
    rows, classes = joint.shape
    if not 0 <= c < classes:
        raise ValueError(f"c is {c}, but there are {classes} classes.")
    if weights is not None:
        check_column("weights", weights, rows)
    places = np.arange(rows), joint.argmax(axis=1)
    top = joint[places]
    with np.errstate(invalid="ignore"):
        part = np.exp(joint - top[:, None])
        part[places] = 0.0  # the largest term is 1, which log1p adds without rounding
        log_posterior = (joint[:, c] - top) - np.log1p(part.sum(axis=1))
    log_posterior = np.where(np.isfinite(top), np.maximum(log_posterior, least), least)
    return float(log_posterior.sum() if weights is None else (log_posterior * weights).sum())
