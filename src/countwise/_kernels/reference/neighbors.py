"""NumPy kernels of distances between rows; part of :mod:`countwise._kernels.reference`.

A row has numbers (NaN is missing) and codes. The distance between two rows is a sum over the attributes:

* a number adds ``(|a - b| * factor) ** p``, or its missing cost if either number is missing;
* a code adds the entry of its table for the two codes; without a table, two different codes add a fixed cost.

For ``p = inf`` the maximum replaces the sum. Sums are accumulated in twice the precision of a double, so that the
order of the attributes does not matter. The kernels return the sums without taking the p-th root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_array, check_ascending, check_codes, check_rows, check_weights
from countwise._kernels.pair_rows import PairMetric, PairRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = ["edit_distances", "nearest", "pair_sums", "row_tree"]

_CELLS = 1 << 21  # elements of a block of distances


def pair_sums(queries: PairRows, rows: PairRows, metric: PairMetric) -> Floats:
    """Return the sum of the attributes' contributions for each query and each row: (queries, rows)."""
    _check_pairs(queries, rows, metric)
    shape = (len(queries.numbers), len(rows.numbers))
    total, rest = np.zeros(shape), np.zeros(shape)
    present, more = np.zeros(shape), np.zeros(shape)
    for j in range(len(metric.factors) + len(metric.tables)):
        added, observed = _added(queries, rows, metric, j)
        if metric.p == np.inf:
            np.maximum(total, added, out=total)
        else:
            total, rest = _two_sum(total, rest, added)
        if metric.weights is not None:
            present, more = _two_sum(present, more, np.where(observed, metric.weights[j], 0.0))
    with np.errstate(invalid="ignore"):
        total = np.where(np.isfinite(total), total + rest, total)
    if metric.weights is None:
        return total
    present += more
    whole, more = np.zeros(()), np.zeros(())
    for weight in metric.weights:
        whole, more = _two_sum(whole, more, weight)
    whole = whole + more
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = total if metric.p == np.inf else total * (whole / present)
    return np.where(present > 0, scaled, metric.no_overlap)


def _added(queries: PairRows, rows: PairRows, metric: PairMetric, j: int) -> tuple[Floats, Array]:
    """Return the contribution of the j-th attribute, and whether it is present in both rows."""
    m = len(metric.factors)
    if j < m:
        with np.errstate(over="ignore"):
            d = np.abs(queries.numbers[:, j, None] - rows.numbers[:, j]) * metric.factors[j]
            added = d if metric.p in (1, np.inf) else d * d if metric.p == 2 else d**metric.p
        observed = ~np.isnan(d)
        return np.where(observed, added, 0.0 if metric.weights is not None else metric.missing_costs[j]), observed
    j -= m
    a, b, table = queries.codes[j][:, None], rows.codes[j], metric.tables[j]
    observed = (a < metric.known[j, 0]) & (b < metric.known[j, 1])
    added = np.where(a == b, 0.0, table) if np.ndim(table) == 0 else table[a, b]
    return (np.where(observed, added, 0.0) if metric.weights is not None else added), observed


def _two_sum(total: Floats, rest: Floats, added: Floats) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", over="ignore"):
        high = total + added
        part = high - total
        return high, rest + ((total - (high - part)) + (added - part))


def row_tree(rows: PairRows, metric: PairMetric) -> Any:
    """Return a search tree of the rows, or None; it is valid for all metrics that differ only in their tables."""
    _check_pairs(None, rows, metric)


def nearest(
    queries: PairRows,
    rows: PairRows,
    metric: PairMetric,
    k: float,
    limit: float,
    weights: Floats | None,
    skip: Array | None,
    tree: Any = None,
    penalties: Floats | None = None,
    ties: bool = False,
) -> tuple[Array, Array, Floats]:
    """Return the nearest rows of each query: those with the smallest sums, equal sums in the order of the rows.

    Rows are taken until the sum of their weights (above 0; None is 1 for each) reaches `k`. If `k` is infinite, all
    rows are taken. Rows with a sum above `limit` are never taken. With `ties`, all rows as near as the last one are
    taken too. `skip` has for each query a row that is not taken, or -1. `tree` is the result of :func:`row_tree` for
    the rows, or None. The sum of a row is multiplied by its penalty, which is at least 1. Returns the start of each
    query's rows (queries + 1), the rows (int64) from nearest to farthest, and their sums.
    """
    if not k > 0:
        raise ValueError("k must be above 0.")
    if np.isnan(limit):
        raise ValueError("limit must not be NaN.")
    _check_pairs(queries, rows, metric)
    n_queries, n = len(queries.numbers), len(rows.numbers)
    for array in (weights, penalties):
        if array is not None:
            check_weights(array, n)
    if penalties is not None and not (penalties >= 1).all():
        raise ValueError("penalties must be at least 1.")
    if skip is not None:
        check_array("skip", skip, "int64", 1)
        check_rows("skip", len(skip), n_queries)
    step = max(1, _CELLS // max(n, 1))
    found, sums, sizes = [], [], []
    for start in range(0, n_queries, step):
        part = slice(start, min(start + step, n_queries))
        block = PairRows(queries.numbers[part], [codes[part] for codes in queries.codes])
        table = pair_sums(block, rows, metric)
        if penalties is not None:
            table *= penalties
        for i, line in enumerate(table):
            ids = _first(line, k, limit, weights, -1 if skip is None else int(skip[start + i]), ties)
            found.append(ids)
            sums.append(line[ids])
            sizes.append(len(ids))
    starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))])
    empty = np.empty(0)
    return starts, np.concatenate([empty.astype(np.int64), *found]), np.concatenate([empty, *sums])


def _first(sums: Floats, k: float, limit: float, weights: Floats | None, skip: int, ties: bool) -> Array:
    good = np.flatnonzero(sums <= limit)
    good = good[good != skip]
    order = good[np.argsort(sums[good], kind="stable")]
    if k == np.inf:
        return order
    own = np.ones(len(order)) if weights is None else weights[order]
    before = np.concatenate([[0.0], np.cumsum(own)])[: len(order)]  # subtracting `own` from its sum would lose digits
    taken = int(np.count_nonzero(before < k))
    if ties and taken:
        taken = int(np.searchsorted(sums[order], sums[order[taken - 1]], side="right"))
    return order[:taken]


def _check_metric(metric: PairMetric) -> None:
    tables = [table for table in metric.tables if not isinstance(table, int | float)]
    arrays = [("factors", metric.factors, 1), ("missing_costs", metric.missing_costs, 1)]
    arrays += [("table", table, 2) for table in tables]
    if metric.weights is not None:
        arrays.append(("weights", metric.weights, 1))
    for name, array, dimensions in arrays:
        check_array(name, array, "float64", dimensions)
    check_array("known", metric.known, "int64", 2)
    if metric.known.shape != (len(metric.tables), 2):
        raise ValueError(f"known has shape {metric.known.shape}; it needs {(len(metric.tables), 2)}.")
    check_rows("missing_costs", len(metric.missing_costs), len(metric.factors))
    if metric.weights is not None:
        check_rows("weights", len(metric.weights), len(metric.factors) + len(metric.tables))


def _check_pairs(queries: PairRows | None, rows: PairRows, metric: PairMetric) -> None:
    _check_metric(metric)
    for name, side in (("queries", queries), ("rows", rows)):
        if side is None:
            continue
        numbers = side.numbers
        check_array(f"numbers of {name}", numbers, "float64", 2, contiguous=True)
        if numbers.shape[1] != len(metric.factors):
            found, needed = numbers.shape[1], len(metric.factors)
            raise ValueError(f"{name} has {found} numeric attributes, but the metric has {needed}.")
        if len(side.codes) != len(metric.tables):
            found, needed = len(side.codes), len(metric.tables)
            raise ValueError(f"{name} has {found} nominal attributes, but the metric has {needed}.")
        for j, codes in enumerate(side.codes):
            check_codes(codes, f"codes of {name}")
            check_rows(f"codes of {name}", len(codes), len(numbers))
            table = metric.tables[j]
            axis = 0 if name == "queries" else 1
            if np.ndim(table) == 2 and len(codes) and int(codes.max()) >= table.shape[axis]:
                raise ValueError(f"A code of {name} is outside its table.")


def edit_distances(letters: Array, starts: Array, other_letters: Array, other_starts: Array, out: Array) -> None:
    """Compute the Levenshtein distance between each pair of strings: insertions, deletions and substitutions.

    Letters are the uint32 code points of all strings of one side, concatenated. `starts` (int64) has the start of
    each string, and the end of the last. Results are written to `out`, a C-contiguous uint32 array (strings, other
    strings).
    """
    for name, points, places in (("letters", letters, starts), ("other letters", other_letters, other_starts)):
        check_array(name, points, "uint32", 1)
        check_array(f"starts of {name}", places, "int64", 1)
        check_ascending(f"starts of {name}", places, len(points))
    check_array("out", out, "uint32", 2, contiguous=True)
    if out.shape != (len(starts) - 1, len(other_starts) - 1):
        raise ValueError(f"out has shape {out.shape}; it must have one entry for each pair of strings.")
    for i in range(len(out)):
        for j in range(out.shape[1]):
            a, b = letters[starts[i] : starts[i + 1]], other_letters[other_starts[j] : other_starts[j + 1]]
            out[i, j] = _edits(a, b)


def _edits(a: Array, b: Array) -> int:
    """Compute one distance row by row; a running minimum handles the insertions."""
    places = np.arange(len(b) + 1)
    line = places
    for i, letter in enumerate(a, start=1):
        stepped = np.minimum(line[1:] + 1, line[:-1] + (b != letter))
        line = np.minimum.accumulate(np.concatenate([[i], stepped]) - places) + places
    return int(line[-1])
