"""The kernels in NumPy: their specification, and what runs where no compiler was found.

Words used below
----------------
column
    A 1-D array of any stride: float64, float32, bool, or an integer of any width. NaN is a missing cell.
codes
    A 1-D array of any stride: uint8, uint16 or uint32.
out
    A C-contiguous float64 array (rows, classes) that is added to in place.

Shapes that disagree raise ValueError, types that are not listed TypeError.
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
from countwise._kernels.reference_bins import (
    best_bins as best_bins,
)
from countwise._kernels.reference_bins import (
    bin_columns as bin_columns,
)
from countwise._kernels.reference_bins import (
    branch_gains as branch_gains,
)
from countwise._kernels.reference_bins import (
    count_entries as count_entries,
)
from countwise._kernels.reference_bins import (
    count_matrix as count_matrix,
)
from countwise._kernels.reference_bins import (
    sum_entries as sum_entries,
)
from countwise._kernels.reference_columns import (
    encode_columns as encode_columns,
)
from countwise._kernels.reference_columns import (
    factorize_objects as factorize_objects,
)
from countwise._kernels.reference_columns import (
    factorize_strings as factorize_strings,
)
from countwise._kernels.reference_columns import (
    find_infinity as find_infinity,
)
from countwise._kernels.reference_columns import (
    float_is_integral as float_is_integral,
)
from countwise._kernels.reference_columns import (
    integer_domain as integer_domain,
)
from countwise._kernels.reference_columns import (
    mark_columns as mark_columns,
)
from countwise._kernels.reference_cuts import (
    best_cut as best_cut,
)
from countwise._kernels.reference_cuts import (
    cut_codes as cut_codes,
)
from countwise._kernels.reference_cuts import (
    kmeans_1d as kmeans_1d,
)
from countwise._kernels.reference_cuts import (
    mdl_cuts as mdl_cuts,
)
from countwise._kernels.reference_cuts import (
    merge_sets as merge_sets,
)
from countwise._kernels.reference_families import (
    count_families as count_families,
)
from countwise._kernels.reference_gauss import (
    gauss_expand as gauss_expand,
)
from countwise._kernels.reference_gauss import (
    gauss_log_sums as gauss_log_sums,
)
from countwise._kernels.reference_gauss import (
    gauss_log_sums_exact as gauss_log_sums_exact,
)
from countwise._kernels.reference_gauss import (
    gauss_loo_log_sums as gauss_loo_log_sums,
)
from countwise._kernels.reference_neighbors import (
    edit_distances as edit_distances,
)
from countwise._kernels.reference_neighbors import (
    nearest as nearest,
)
from countwise._kernels.reference_neighbors import (
    pair_sums as pair_sums,
)
from countwise._kernels.reference_neighbors import (
    plant as plant,
)
from countwise._kernels.reference_pairs import (
    count_right as count_right,
)
from countwise._kernels.reference_pairs import (
    pair_counts as pair_counts,
)
from countwise._kernels.reference_paths import (
    apply_tests as apply_tests,
)
from countwise._kernels.reference_paths import (
    route_entries as route_entries,
)
from countwise._kernels.reference_products import (
    product_boxes as product_boxes,
)
from countwise._kernels.reference_products import (
    product_log_sums as product_log_sums,
)
from countwise._kernels.reference_products import (
    product_order as product_order,
)
from countwise._kernels.reference_scatter import (
    add_linear as add_linear,
)
from countwise._kernels.reference_scatter import (
    add_quadratic as add_quadratic,
)
from countwise._kernels.reference_scatter import (
    class_scatter as class_scatter,
)
from countwise._kernels.reference_scores import (
    gaussian_left_out as gaussian_left_out,
)
from countwise._kernels.reference_scores import (
    sum_log_share as sum_log_share,
)
from countwise._kernels.reference_sparse import (
    csr_add as csr_add,
)
from countwise._kernels.reference_sparse import (
    csr_class_sums as csr_class_sums,
)
from countwise._kernels.reference_trees import (
    best_thresholds as best_thresholds,
)
from countwise._kernels.reference_trees import (
    best_thresholds_of_numbers as best_thresholds_of_numbers,
)
from countwise._kernels.reference_trees import (
    part_entries as part_entries,
)
from countwise._kernels.reference_trees import (
    presort as presort,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


# Columns


def class_moments(
    columns: Sequence[Array], codes: Array, weights: Floats | None, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """The weight, the mean and the sum of squared deviations of each column within each class.

    Missing cells and rows whose code is `n_classes` or more are left out. An infinite cell shows as a mean or
    a sum that is not finite; equal cells have a sum of exactly 0; a class without cells has 0, 0, 0.

    Parameters
    ----------
    columns : sequence of column
    codes : codes
        The class of each row.
    weights : float64 array or None
        The weight of each row; None is 1 for all.
    n_classes : int

    Returns
    -------
    n, mean, m2 : float64 array (columns, classes)
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
    """How often each code occurs together with each code of another column.

    Parameters
    ----------
    column, given : codes
        Rows in which either code is beyond its range are left out.
    weights : array or None
        The weight of each row: whole numbers or floats.
    n_values, n_given : int
        How many codes there are.

    Returns
    -------
    array (n_given, n_values)
        int64 if weights are None or of an integer (or bool) type, else float64.
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

    Parameters
    ----------
    columns : sequence of codes
        A code beyond its table is a ValueError, after which what `out` holds is not defined.
    tables : sequence of float64 array (values, classes)
        Entries may be minus infinity.
    out : float64 array (rows, classes)
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

    Parameters
    ----------
    columns : sequence of column
        A missing cell adds exactly 0.
    mean, inverse_sd, log_norm : float64 array (columns, classes)
    out : float64 array (rows, classes)
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
    """Add log probabilities of Poisson distributions: ``x log(rate) - rate - log(x!)``.

    A missing cell adds exactly 0. A count of 0 at a rate of 0 adds 0; another count at a rate of 0,
    a negative and an infinite one add minus infinity. ``x!`` of a count that is not whole is by the gamma
    function.

    Parameters
    ----------
    columns : sequence of column
    rate : float64 array (columns, classes)
    out : float64 array (rows, classes)
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
    """Turn rows of log joint probabilities into posteriors, in place.

    Parameters
    ----------
    out : float64 array (rows, classes)
        A row that is minus infinity everywhere, or has a plus infinity or a NaN, becomes NaN.
    kind : {"log", "proba"}
        Log posteriors or posteriors.

    Returns
    -------
    int
        How many rows became NaN.
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
    """The column of each row's maximum: the first of equal ones, and 0 in a row with a NaN.

    Parameters
    ----------
    out : float64 array (rows, classes)

    Returns
    -------
    intp array (rows,)
    """
    _, classes = check_out(out)
    if classes == 0:
        raise ValueError("out has no classes to choose from")
    best: NDArray[np.intp] = out.argmax(axis=1)
    best[np.isnan(out).any(axis=1)] = 0
    return best


# Sparse rows: the arrays of scipy.sparse's CSR. `indptr` may be a slice of a larger matrix's.
