"""The kernels of distances between rows, in NumPy; a part of :mod:`countwise._kernels.reference`.

A row is some numbers (NaN is missing) and some codes. The distance of two rows is a sum over their cells:

* a number adds ``(|a - b| * factor) ** p``, or what `absent` says if either is missing;
* a code adds what its table says for the two codes, or a cost if they are not equal where there is no table.

For ``p = inf`` the largest is taken instead of the sum. Sums are carried in twice the precision of a double, so that
the order of the cells does not matter. Roots are not drawn here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_array, check_ascending, check_codes, check_rows, check_weights
from countwise._kernels.pair_rows import PairLaw, PairRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

__all__ = ["edit_distances", "nearest", "pair_sums", "row_tree"]

_CELLS = 1 << 21  # of a block of distances


def pair_sums(queries: PairRows, rows: PairRows, law: PairLaw) -> Floats:
    """The sum of what all cells add, for each query and each row: (queries, rows)."""
    _check_pairs(queries, rows, law)
    shape = (len(queries.numbers), len(rows.numbers))
    total, rest = np.zeros(shape), np.zeros(shape)
    present, more = np.zeros(shape), np.zeros(shape)
    for j in range(len(law.factors) + len(law.tables)):
        added, there = _added(queries, rows, law, j)
        if law.p == np.inf:
            np.maximum(total, added, out=total)
        else:
            total, rest = _two_sum(total, rest, added)
        if law.shares is not None:
            present, more = _two_sum(present, more, np.where(there, law.shares[j], 0.0))
    with np.errstate(invalid="ignore"):
        total = np.where(np.isfinite(total), total + rest, total)
    if law.shares is None:
        return total
    present += more
    whole, more = np.zeros(()), np.zeros(())
    for share in law.shares:
        whole, more = _two_sum(whole, more, share)
    whole = whole + more
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = total if law.p == np.inf else total * (whole / present)
    return np.where(present > 0, scaled, law.nothing)


def _added(queries: PairRows, rows: PairRows, law: PairLaw, j: int) -> tuple[Floats, Array]:
    """What the j-th cells add, and whether both are there."""
    m = len(law.factors)
    if j < m:
        with np.errstate(over="ignore"):
            gap = np.abs(queries.numbers[:, j, None] - rows.numbers[:, j]) * law.factors[j]
            added = gap if law.p in (1, np.inf) else gap * gap if law.p == 2 else gap**law.p
        there = ~np.isnan(gap)
        return np.where(there, added, 0.0 if law.shares is not None else law.absent[j]), there
    j -= m
    a, b, table = queries.codes[j][:, None], rows.codes[j], law.tables[j]
    there = (a < law.known[j, 0]) & (b < law.known[j, 1])
    added = np.where(a == b, 0.0, table) if np.ndim(table) == 0 else table[a, b]
    return (np.where(there, added, 0.0) if law.shares is not None else added), there


def _two_sum(total: Floats, rest: Floats, added: Floats) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", over="ignore"):
        high = total + added
        part = high - total
        return high, rest + ((total - (high - part)) + (added - part))


def row_tree(rows: PairRows, law: PairLaw) -> Any:
    """The rows in a form in which they are searched faster, also for laws that differ only in tables."""
    _check_pairs(None, rows, law)


def nearest(
    queries: PairRows,
    rows: PairRows,
    law: PairLaw,
    k: float,
    limit: float,
    weights: Floats | None,
    skip: Array | None,
    tree: Any = None,
    penalties: Floats | None = None,
    ties: bool = False,
) -> tuple[Array, Array, Floats]:
    """The nearest rows of each query: those of the least sums, and of equal ones those that come first.

    Rows are taken until their weights (above 0; None is 1 for each) reach `k`, or all if it is infinite, but none of
    a sum above `limit`; with `ties` also all that are as near as the last one. `skip` is a row for each query that is
    not taken, or -1. `tree` is what :func:`row_tree` made of the rows, or None. The sums of a row are multiplied by
    its penalty, which is 1 or more. Returns where the rows of each query begin (queries + 1), the rows (int64), the
    nearest first, and their sums.
    """
    if not k > 0:
        raise ValueError("k must be above 0")
    if np.isnan(limit):
        raise ValueError("the limit is no number")
    _check_pairs(queries, rows, law)
    n_queries, n = len(queries.numbers), len(rows.numbers)
    for array in (weights, penalties):
        if array is not None:
            check_weights(array, n)
    if penalties is not None and not (penalties >= 1).all():
        raise ValueError("a penalty is below 1")
    if skip is not None:
        check_array("skip", skip, "int64", 1)
        check_rows("skip", len(skip), n_queries)
    step = max(1, _CELLS // max(n, 1))
    found, sums, sizes = [], [], []
    for start in range(0, n_queries, step):
        part = slice(start, min(start + step, n_queries))
        block = PairRows(queries.numbers[part], [codes[part] for codes in queries.codes])
        table = pair_sums(block, rows, law)
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
    before = np.concatenate([[0.0], np.cumsum(own)])[: len(order)]  # a difference would lose what is before much
    taken = int(np.count_nonzero(before < k))
    if ties and taken:
        taken = int(np.searchsorted(sums[order], sums[order[taken - 1]], side="right"))
    return order[:taken]


def _check_law(law: PairLaw) -> None:
    tables = [table for table in law.tables if not isinstance(table, int | float)]
    arrays = [("factors", law.factors, 1), ("absent", law.absent, 1), *(("table", table, 2) for table in tables)]
    if law.shares is not None:
        arrays.append(("shares", law.shares, 1))
    for name, array, dimensions in arrays:
        check_array(name, array, "float64", dimensions)
    check_array("known", law.known, "int64", 2)
    if law.known.shape != (len(law.tables), 2):
        raise ValueError(f"known has shape {law.known.shape}; it needs {(len(law.tables), 2)}")
    check_rows("absent", len(law.absent), len(law.factors))
    if law.shares is not None:
        check_rows("shares", len(law.shares), len(law.factors) + len(law.tables))


def _check_pairs(queries: PairRows | None, rows: PairRows, law: PairLaw) -> None:
    _check_law(law)
    for name, side in (("queries", queries), ("rows", rows)):
        if side is None:
            continue
        numbers = side.numbers
        check_array(f"the numbers of {name}", numbers, "float64", 2, contiguous=True)
        if numbers.shape[1] != len(law.factors):
            raise ValueError(f"{name} have {numbers.shape[1]} numbers; the law has {len(law.factors)}")
        if len(side.codes) != len(law.tables):
            raise ValueError(f"{name} have {len(side.codes)} codes; the law has {len(law.tables)}")
        for j, codes in enumerate(side.codes):
            check_codes(codes, f"codes of {name}")
            check_rows(f"codes of {name}", len(codes), len(numbers))
            table = law.tables[j]
            axis = 0 if name == "queries" else 1
            if np.ndim(table) == 2 and len(codes) and int(codes.max()) >= table.shape[axis]:
                raise ValueError(f"a code of {name} is outside its table")


def edit_distances(letters: Array, starts: Array, other_letters: Array, other_starts: Array, out: Array) -> None:
    """How many letters must be inserted, taken away or replaced to make one string of another.

    Letters are the uint32 code points of all strings of one side, one after the other; `starts` (int64) is where each
    string begins, and the end of the last. Written to `out`, a C-contiguous uint32 array (strings, other strings).
    """
    for name, points, places in (("letters", letters, starts), ("other letters", other_letters, other_starts)):
        check_array(name, points, "uint32", 1)
        check_array(f"starts of {name}", places, "int64", 1)
        check_ascending(f"starts of {name}", places, len(points))
    check_array("out", out, "uint32", 2, contiguous=True)
    if out.shape != (len(starts) - 1, len(other_starts) - 1):
        raise ValueError(f"out has shape {out.shape}; it needs a cell for each two strings")
    for i in range(len(out)):
        for j in range(out.shape[1]):
            a, b = letters[starts[i] : starts[i + 1]], other_letters[other_starts[j] : other_starts[j + 1]]
            out[i, j] = _edits(a, b)


def _edits(a: Array, b: Array) -> int:
    """Row by row: what is inserted is a running minimum."""
    places = np.arange(len(b) + 1)
    line = places
    for i, letter in enumerate(a, start=1):
        stepped = np.minimum(line[1:] + 1, line[:-1] + (b != letter))
        line = np.minimum.accumulate(np.concatenate([[i], stepped]) - places) + places
    return int(line[-1])
