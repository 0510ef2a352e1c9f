"""The kernels of naive Bayes, in NumPy; a part of :mod:`countwise._kernels.reference`.

Sparse rows are the arrays of scipy.sparse's CSR; `indptr` may be a slice of a larger matrix's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import (
    check_codes,
    check_columns,
    check_out,
    check_rows,
    check_table,
    check_weights,
)

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
    "gaussian_left_out",
    "normalize",
    "sum_log_share",
]

_BLOCK = 1 << 21  # cells of a temporary in the blocked sums: 16 MB


def class_moments(
    columns: Sequence[Array], codes: Array, weights: Floats | None, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """The weight, the mean and the sum of squared deviations of each column by class: (columns, classes) each.

    Missing cells and rows whose code is `n_classes` or more are left out; without weights every row weighs 1. An
    infinite cell shows as a mean or a sum that is not finite; equal cells have a sum of exactly 0; a class without
    cells has 0, 0, 0.
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
    # Deviations from a value of the class itself: equal cells then have a deviation of exactly 0.
    shift = np.zeros(n_classes)
    shift[codes[::-1]] = x[::-1]
    n = np.bincount(codes, w, n_classes)
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.bincount(codes, w * (x - shift[codes]), n_classes)
        mean = shift + total / np.where(n > 0, n, 1)
        m2 = np.bincount(codes, w * (x - mean[codes]) ** 2, n_classes)
    return n, mean, m2


def count_codes(column: Array, given: Array, weights: Array | None, n_values: int, n_given: int) -> Array:
    """How often each code occurs together with each code of another column: (n_given, n_values).

    Rows in which either code is beyond its range are left out. Counts are int64 if weights are None or of an integer
    (or bool) type, else float64.
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
    """Add to each row the table entries of its codes: ``out[i] += sum of tables[j][columns[j][i]]``.

    Tables are (values, classes), and may hold minus infinity. A code beyond its table is a ValueError, after which
    what `out` holds is not defined.
    """
    rows, classes = check_out(out)
    if len(columns) != len(tables):
        raise ValueError(f"there are {len(columns)} columns but {len(tables)} tables")
    for j, (column, table) in enumerate(zip(columns, tables, strict=True)):
        check_rows(f"column {j}", check_codes(column, f"column {j}"), rows)
        if table.ndim != 2 or table.shape[1] != classes:
            raise ValueError(f"table {j} has shape {table.shape}; it needs {classes} classes")
        if rows and int(column.max()) >= len(table):
            raise ValueError(f"column {j} holds code {column.max()}, but its table has {len(table)} values")
        out += table[column]


def add_gaussian(columns: Sequence[Array], mean: Floats, inverse_sd: Floats, log_norm: Floats, out: Floats) -> None:
    """Add log densities of normal distributions: ``log_norm - ((x - mean) * inverse_sd)**2 / 2``.

    The parameters are (columns, classes). A missing cell adds exactly 0.
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
    """Add log probabilities of counts with a rate in each class (columns, classes): ``x log(rate) - rate - log(x!)``.

    A missing cell adds exactly 0. A count of 0 at a rate of 0 adds 0; another count at a rate of 0, a negative and an
    infinite one add minus infinity. ``x!`` of a count that is not whole is by the gamma function.
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
    """Turn rows of log joint probabilities into (log) posteriors, in place; returns how many rows became NaN.

    Those are the rows that are minus infinity everywhere, or have a plus infinity or a NaN.
    """
    rows, classes = check_out(out)
    if kind not in ("log", "proba"):
        raise ValueError(f"kind is {kind!r}; it must be 'log' or 'proba'")
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
    """The column of each row's maximum, as intp: the first of equal ones, and 0 in a row with a NaN."""
    _, classes = check_out(out)
    if classes == 0:
        raise ValueError("out has no classes to choose from")
    best: NDArray[np.intp] = out.argmax(axis=1)
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
    """The weighted sum of each column of a sparse table within each class: (n_classes, n_columns).

    Stored NaN and rows whose code is `n_classes` or more are left out. `present` counts the entries that are above 0
    instead of adding them.
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

    The table is (columns, classes). Stored zeros and NaN add exactly 0, also where the table is infinite. `present`
    takes 1 for the entries above 0, and 0 for others.
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


def gaussian_left_out(
    values: Floats, n: float, mean: float, m2: float, spread: float, middle: float, out: Floats
) -> None:
    """At each value of a class, the log density of the Gaussian made from the other values of the class.

    `n`, `mean` and `m2` are of the values: their number (at least 1), mean and squared deviations from it; `spread`
    and `middle` are the variance and the mean of all classes together. The Gaussian's variance is over the number of
    the others less 1, and at least 1e-9 of `spread`. With less than two others it is `spread`; without any the mean
    is `middle`. If `spread` is 0, the column says nothing: all densities are 1. `out` (values,) may have any stride.
    """
    for name, x in (("values", values), ("out", out)):
        if x.dtype != np.float64:
            raise TypeError(f"{name} is {x.dtype}; it must be float64")
        if x.ndim != 1:
            raise ValueError(f"{name} has shape {x.shape}; it needs 1 dimension")
    check_rows("out", len(out), len(values))
    if not n >= 1:
        raise ValueError(f"n is {n}; the class has at least 1 value")
    if spread <= 0:
        out[:] = 0.0
        return
    rest = n - 1
    with np.errstate(over="ignore", invalid="ignore"):
        # To leave x out moves the mean away from x: by 1 / rest of their distance.
        away = (values - mean) * (n / rest) if rest > 0 else values - middle
        left = m2 - (values - mean) * away
        variance = np.maximum(left / (rest - 1) if rest > 1 else spread, 1e-9 * spread)
        out[:] = -0.5 * away**2 / variance - 0.5 * np.log(2 * np.pi * variance)


def sum_log_share(joint: Floats, c: int, weights: Array | None, least: float) -> float:
    """The sum over rows of weight times log P(class c), which is at least `least`, a finite number.

    `joint` are log joint probabilities (rows, classes). A row that is minus infinity everywhere, or has a plus
    infinity or a NaN, counts as `least`. Weights are a column, or None for 1.
    """
    if joint.dtype != np.float64:
        raise TypeError(f"joint is {joint.dtype}; it must be float64")
    if joint.ndim != 2:
        raise ValueError(f"joint has shape {joint.shape}; it needs 2 dimensions")
    rows, classes = joint.shape
    if not 0 <= c < classes:
        raise ValueError(f"c is {c}; there are {classes} classes")
    if weights is not None:
        check_columns([weights], len(weights))
        check_rows("weights", len(weights), rows)
    places = np.arange(rows), joint.argmax(axis=1)
    top = joint[places]
    with np.errstate(invalid="ignore"):
        part = np.exp(joint - top[:, None])
        part[places] = 0.0  # the greatest is 1, which log1p adds without loss
        share = (joint[:, c] - top) - np.log1p(part.sum(axis=1))
    share = np.where(np.isfinite(top), np.maximum(share, least), least)
    return float(share.sum() if weights is None else (share * weights).sum())
