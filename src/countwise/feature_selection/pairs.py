"""Scores of all pairs of attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, measures
from countwise._typing import Floats, Indices
from countwise.cuts import CutRule, codes_in
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import refuse_infinity
from countwise.data.frames import frame_of
from countwise.data.output import LIBRARIES, library_of
from countwise.data.schema import Schema
from countwise.data.table import Table, threads_for
from countwise.data.weights import weights_of
from countwise.errors import OptionError, TableError, check_value, warn
from countwise.tallies import Values
from countwise.working import Grid

__all__ = ["MEASURES", "codes_of", "like", "pairwise_scores", "scores_of_pairs"]

_BLOCK = 1 << 17  # rows in a block of one thread
_MOST_CELLS = 1 << 22  # total number of cells of the contingency tables in one batch
_LARGE = 1 << 24  # cells of a table that is not built: only the pairs of values that occur are counted

MEASURES: dict[str, Callable[[NDArray[Any]], Any]] = {
    "mutual_information": measures.mutual_information,
    "symmetrical_uncertainty": measures.symmetrical_uncertainty,
}


def pairwise_scores(
    X: Any,
    *,
    measure: str = "mutual_information",
    numeric: Any = "equal_frequency",
    n_bins: int = 10,
    sample_weight: Any = None,
    types: Any = None,
) -> Any:
    """Compute the mutual information or symmetrical uncertainty of every pair of attributes.

    A row with a missing value in either attribute is ignored for that pair.

    Parameters
    ----------
    X : any table
        Columns of any type except text; missing values are allowed.
    measure : {'mutual_information', 'symmetrical_uncertainty'}, default='mutual_information'
        Mutual information in bits, or symmetrical uncertainty, which is between 0 and 1.
    numeric : str or sequence of float, default='equal_frequency'
        Unsupervised rule or cut points by which numeric columns are discretized; see `Discretizer`.
    n_bins : int, default=10
        Number of bins of a numeric column.
    sample_weight : array-like, optional
        Weight of each row.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Returns
    -------
    data frame of the same library as X, else Grid
        A symmetric matrix with a row and a column for each attribute. The diagonal is the entropy for mutual
        information, and 1 (0 for a constant column) for symmetrical uncertainty.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.feature_selection import pairwise_scores
    >>> tennis = samples.load("tennis")
    >>> print(pairwise_scores({name: tennis.X[name] for name in ("temperature", "humidity", "wind")}))
    attribute    temperature  humidity       wind
    temperature    1.55666    0.374651  0.0391487
    humidity       0.374651   1         0
    wind           0.0391487  0         0.985228
    """
    check_value("measure", measure, tuple(MEASURES))
    frame = frame_of(X)
    if frame.n_rows == 0:
        raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
    if not frame.columns:
        raise TableError("The table has no columns; pairwise scores need at least one.")
    schema = Schema.kinds(frame, types)
    frame = schema.coded(frame)
    schema = schema.learn(frame)
    table = schema.encode(frame, weights_of(sample_weight, frame.n_rows))
    how = CutRule(numeric, n_bins)
    if how.supervised:
        raise OptionError(
            f"numeric={numeric!r} is a supervised rule, but pairwise scores have no class.",
            hint="use 'equal_frequency'.",
        )
    columns, sizes = codes_of(schema, table, dict.fromkeys(schema, how))
    matrix = information_matrix(columns, sizes, table.weights, MEASURES[measure])
    names = list(schema)
    return like(Grid({"attribute": names, **{name: matrix[:, j].tolist() for j, name in enumerate(names)}}), X)


def like(grid: Grid, X: Any) -> Any:
    """Convert a grid to a data frame of the library of the user's table."""
    library = library_of(X)
    return grid.to_frame(library) if library in LIBRARIES else grid


def codes_of(
    schema: Schema, table: Table, hows: Mapping[str, CutRule], classes: NDArray[Any] | None = None
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return the codes and the number of values of every attribute; a missing value has a code past the last.

    The classes are those of a supervised rule.
    """

    def one(name: str) -> tuple[NDArray[Any], int]:
        a, column = schema[name], table[name]
        if isinstance(a, Nominal):
            return column, len(a.values)
        if not isinstance(a, Numeric):
            raise OptionError(
                f"Column {name!r} is {a.kind}; only nominal, ordinal and numeric columns can be scored.",
                hint="drop the column.",
            )
        refuse_infinity({name: column})
        edges = hows[name].cut(Values.from_arrays(column, classes, table.weights, name)).edges
        return codes_in(edges, column), len(edges) + 1

    found = _kernels.over_items(list(schema), one, table.threads)
    return [codes for codes, _ in found], [size for _, size in found]


def information_matrix(
    columns: list[NDArray[Any]], sizes: list[int], weights: NDArray[Any] | None, measure: Callable[[Any], Any]
) -> Floats:
    """Return the measure of every pair of coded columns, and of every column with itself."""
    d, n_rows = len(columns), len(columns[0])
    matrix = np.zeros((d, d))
    if not all(sizes):
        warn("All values of at least one column are missing; its scores are 0.")
    observed = [j for j in range(d) if sizes[j]]
    one = np.zeros(n_rows, dtype=np.uint8)
    alone = _kernels.over_items(
        observed, lambda j: _kernels.count_codes(columns[j], one, weights, sizes[j], 1)[0], threads_for(n_rows)
    )
    for j, counts in zip(observed, alone, strict=True):
        matrix[j, j] = measure(np.diag(counts)) if sizes[j] <= 1 << 10 else _alone(counts, measure)
    pairs = list(combinations(observed, 2))
    places = tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
    matrix[places] = matrix[places[::-1]] = scores_of_pairs(columns, sizes, pairs, weights, measure)
    return matrix


def scores_of_pairs(
    columns: list[NDArray[Any]],
    sizes: list[int],
    pairs: list[tuple[int, int]],
    weights: NDArray[Any] | None,
    measure: Callable[[Any], Any],
) -> Floats:
    """Return the measure of some pairs of coded columns that have values."""
    found = np.zeros(len(pairs))
    threads = threads_for(len(columns[0]))
    large = [sizes[i] * sizes[j] > _LARGE for i, j in pairs]
    for place in np.flatnonzero(large):
        i, j = pairs[place]
        found[place] = _of_occurring(columns[i], columns[j], sizes[i], sizes[j], weights, measure)
    small = np.flatnonzero(~np.array(large, dtype=bool))
    done = 0
    for batch in _batches([pairs[place] for place in small], sizes):
        tables = _tables(columns, sizes, batch, weights, threads)
        found[small[done : done + len(batch)]] = _measured(tables, measure)
        done += len(batch)
    return found


def _of_occurring(
    one: NDArray[Any], other: NDArray[Any], size: int, others: int, weights: Any, measure: Callable[[Any], Any]
) -> float:
    """Return the measure of two columns with many values, whose table would not fit into memory."""
    known = (one < size) & (other < others)
    a, b = one[known].astype(np.int64), other[known].astype(np.int64)
    w = None if weights is None else weights[known]
    _, both = np.unique(a * others + b, return_inverse=True)
    h = [measures.entropy(np.bincount(codes, w)) if len(a) else 0.0 for codes in (a, b, both.ravel())]
    shared = max(h[0] + h[1] - h[2], 0.0)
    if measure is measures.mutual_information:
        return shared
    return 2 * shared / (h[0] + h[1]) if h[0] + h[1] > 0 else 0.0


def _alone(counts: NDArray[Any], measure: Callable[[Any], Any]) -> float:
    """Return the measure of a column with itself without the square table, which would be too large."""
    return measures.entropy(counts) if measure is measures.mutual_information else float(np.count_nonzero(counts) > 1)


def _batches(pairs: Iterable[tuple[int, int]], sizes: list[int]) -> Iterator[Indices]:
    """Yield batches of column pairs whose tables fit the limit of cells."""
    batch: list[tuple[int, int]] = []
    cells = 0
    for i, j in pairs:
        if batch and cells + sizes[i] * sizes[j] > _MOST_CELLS:
            yield np.array(batch)
            batch, cells = [], 0
        batch.append((i, j))
        cells += sizes[i] * sizes[j]
    if batch:
        yield np.array(batch)


def _tables(columns: Any, sizes: Any, pairs: Any, weights: Any, threads: int | None) -> list[NDArray[Any]]:
    """Return the contingency table of each pair of columns."""

    def weighted(pair: Any) -> NDArray[Any]:
        i, j = pair
        return np.asarray(_kernels.count_codes(columns[j], columns[i], weights, sizes[j], sizes[i]))

    def counted(start: int, stop: int) -> list[NDArray[Any]]:
        return _kernels.count_families([column[start:stop] for column in columns], sizes, pairs.tolist(), None)

    if weights is not None:
        return _kernels.over_items(pairs.tolist(), weighted, threads)
    parts = _kernels.over_blocks(len(columns[0]), _BLOCK, counted, threads=threads)
    total = parts[0]
    for part in parts[1:]:
        for table, more in zip(total, part, strict=True):
            table += more
    return total


def _measured(tables: list[NDArray[Any]], measure: Callable[[Any], Any]) -> Floats:
    """Return the measure of each table; tables of the same shape are computed together."""
    values = np.zeros(len(tables))
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, table in enumerate(tables):
        shapes.setdefault(table.shape, []).append(place)
    for places in shapes.values():
        values[places] = measure(np.stack([tables[p] for p in places]))
    return values
