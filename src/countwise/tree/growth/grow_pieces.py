"""Out-of-core tree growth from a file that is read once per level, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._kernels.bin_edges import edges_of
from countwise._typing import Floats, Indices
from countwise.base.row_model import encode_finite
from countwise.base.tally_model import is_untyped
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import has_values
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.errors import CountwiseError, TableError, listed
from countwise.sources import Memory
from countwise.tallies import Counts, Moments, Values, fill_all
from countwise.tree.features import features_of
from countwise.tree.growth.builder import ClassFactors, TableGrowth, TrainingSet
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.growth.splits import Threshold
from countwise.tree.nodes import Tree

__all__ = ["ChunkedTrainingSet", "open_chunks"]

_ALL = Nominal("(all)", (0,))
_NODE, _TARGET, _CELL = "(node)", "(target)", "(cell)"
_WHOLE = CountedColumn(-1, np.empty(0, dtype=np.uint8), 1, Threshold(), has_missing=False)  # one cell for all rows

Reopen = Callable[[], Iterator[Memory]]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedChunk:
    """Chunk of encoded rows."""

    counted: Sequence[NDArray[Any]]  # for each attribute, the codes that are counted
    columns: Sequence[NDArray[Any]]  # for each attribute, the codes or numbers that a tree tests
    y: NDArray[Any]  # the class code of each row, or its numeric target
    weights: NDArray[Any] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChunkedTrainingSet(TrainingSet):
    """Training rows in a file that is read in chunks."""

    reopen: Reopen  # starts a new pass over all chunks
    edges: dict[str, Floats]  # for each numeric attribute, the cut points between its bins
    has_missing: dict[str, bool]
    weight: float  # total weight of the rows, without class weights
    class_factors: Floats | None

    def chunks(self) -> Iterator[EncodedChunk]:
        """Read all rows once, in chunks."""
        for rows in self.reopen():
            if not rows.frame.n_rows:
                continue
            table = _encoded(rows, self.schema, self.schema.coded(self.schema.match(rows.frame)))
            y, weights = _target_of(rows, self.target), rows.weights
            if self.class_factors is not None:
                weights = self.class_factors[y] * (1.0 if weights is None else weights)
            columns = [table[f.column] for f in self.features]
            counted = [
                column if f.nominal else _binned(column, self.edges[f.name])
                for f, column in zip(self.features, columns, strict=True)
            ]
            yield EncodedChunk(counted, columns, y, weights)

    def grow(self, settings: GrowthSettings) -> Tree:
        """Grow a tree from all rows, which are read once per level."""
        return ChunkedGrowth(self, settings, self.edges, self.has_missing).grow()


def open_chunks(
    reopen: Reopen,
    infer_schema: Callable[[Frame], Schema],
    class_factors: ClassFactors | None,
    n_bins: int,
    *,
    numeric_target: bool,
) -> ChunkedTrainingSet:
    """Read all chunks once to find domains, classes and bins."""
    first: _FirstPass | None = None
    left_out = 0
    for rows in reopen():
        left_out += rows.left_out
        if rows.frame.n_rows:
            inferred = infer_schema(rows.frame)
            first = first or _FirstPass(rows, inferred, numeric_target)
            first.retype(rows.frame, inferred)
            first.add(rows)
    if first is None:
        raise TableError(
            "The table is empty or its target is missing in every row; at least one row with a target is needed."
        )
    totals = first.totals
    factors = None if class_factors is None else class_factors(totals.table.astype(np.float64), first.target)
    edges = {}
    for name, tally in first.values.items():
        numbers, weights = _pooled(tally, first.target, factors)
        edges[name] = edges_of(numbers, np.cumsum(weights, dtype=np.float64), n_bins)
    return ChunkedTrainingSet(
        schema=first.schema,
        features=features_of(first.schema),
        target=first.target,
        frame=first.rows.frame,
        n_rows=first.n_rows,
        n_left_out=left_out,
        label_type=first.rows.label_type,
        reopen=reopen,
        edges=edges,
        has_missing=first.has_missing,
        weight=float(totals.n.sum() if numeric_target else totals.table.sum()),
        class_factors=factors,
    )


class _FirstPass:
    """Results of the first pass over the chunks."""

    def __init__(self, rows: Memory, schema: Schema, numeric_target: bool) -> None:
        self.rows, self.schema, self.n_rows = rows, schema, 0  # the first chunk
        self.target: Any = Numeric(rows.name) if numeric_target else Nominal(rows.name, grows=True)
        self.has_missing: dict[str, bool] = {}
        self.values: dict[str, Values] = {}
        self.totals: Any = None

    def retype(self, frame: Frame, inferred: Schema) -> None:
        """Give columns without a value so far the types that they have in a chunk."""
        different = set(self.schema) ^ set(inferred)
        if different:
            raise TableError(
                f"All chunks must have the same columns, but only some of them have {listed(sorted(different))}."
            )
        types = {
            a.name: inferred[a.name]
            for a in self.schema.attributes
            if type(inferred[a.name]) is not type(a)
            if is_untyped(a) or (self._is_empty(a) and has_values(frame.columns[a.name]))
        }
        self.values = {name: tally for name, tally in self.values.items() if name not in types}
        self.schema = Schema(types.get(a.name, a) for a in self.schema.attributes) if types else self.schema

    def _is_empty(self, a: Attribute) -> bool:
        return a.name in self.values and not self.values[a.name]._has_values(a.name)

    def add(self, rows: Memory) -> None:
        """Add a chunk."""
        frame = self.schema.coded(self.schema.match(rows.frame))
        self.schema = self.schema.learn(frame)
        texts = [a.name for a in self.schema.attributes if isinstance(a, Text)]
        if texts:
            raise TableError(
                f"{texts[0]!r} is a text column; its words cannot be counted in chunks.",
                hint="read the file into memory first, or drop the column.",
            )
        by_class = isinstance(self.target, Nominal)
        self.target = self.target.learn(rows.target, occurring=True) if by_class else self.target
        table = _encoded(rows, self.schema, frame)
        given = self.target if by_class else _ALL
        blanks: dict[str, Any] = {a.name: Values(given, a) for a in self.schema.attributes if isinstance(a, Numeric)}
        blanks[_TARGET] = Counts((self.target,)) if by_class else Moments(_ALL, self.target)
        counted = table.with_column(self.target.name, _target_of(rows, self.target))
        found = fill_all(blanks, counted.with_column(_ALL.name, np.zeros(table.n_rows, np.uint8)))
        totals = found.pop(_TARGET)
        self.totals = totals if self.totals is None else self.totals + totals
        self.values = {name: self.values[name] + t if name in self.values else t for name, t in found.items()}
        for a in self.schema.attributes:
            self.has_missing[a.name] = self.has_missing.get(a.name, False) or _some_missing(a, table[a.name])
        self.n_rows += rows.frame.n_rows


def _target_of(rows: Memory, target: Nominal | Numeric) -> NDArray[Any]:
    """Return the class code of each row, or its numeric target."""
    if isinstance(target, Nominal):
        return np.asarray(target.encode(rows.target, strict=True))
    return np.asarray(rows.target, dtype=np.float64)


def _encoded(rows: Memory, schema: Schema, frame: Frame) -> Table:
    try:
        return encode_finite(schema, frame, rows.weights, strict=True)
    except CountwiseError as error:
        raise rows.counted_as_given(error) from None


def _some_missing(attribute: Any, column: NDArray[Any]) -> bool:
    if isinstance(attribute, Nominal):
        return bool((column == attribute.missing).any())
    return bool(column.dtype.kind == "f" and np.isnan(column).any())


def _pooled(tally: Values, target: Any, factors: Floats | None) -> tuple[Any, Any]:
    """Return the numbers of all classes, and their weights multiplied by class weights."""
    if factors is None:
        return tally.pooled
    factor = dict(zip(target.values, factors, strict=True))
    parts = zip(tally.given.values, tally.filled, strict=True)
    weighed = [(numbers, weights * factor[value]) for value, (numbers, weights) in parts]
    numbers, place = np.unique(np.concatenate([part for part, _ in weighed]), return_inverse=True)
    return numbers, np.bincount(place, weights=np.concatenate([part for _, part in weighed]))


def _binned(column: NDArray[Any], edges: Floats) -> NDArray[np.uint16]:
    codes = np.empty(len(column), dtype=np.uint16)
    _kernels.cut_codes(column, edges, codes)
    return codes


class ChunkedGrowth(TableGrowth):
    """Growth from tallies, with one pass over the chunks per level."""

    def _root(self) -> tuple[Floats, Floats | None]:
        cells = self._gathered([_WHOLE], np.zeros(1, dtype=np.int64))[_WHOLE.index][:, 0]
        if self.n_classes:
            return cells.astype(np.float64), None
        n, mean, m2 = cells[0]
        self.scale = abs(float(mean)) + float(np.sqrt(m2 / n))
        return np.array([[n, 0.0, m2]]), np.array([mean])

    def _tables(self, nodes: Indices, centers: Floats | None) -> dict[int, NDArray[Any]]:
        tables = self._gathered(self.columns, nodes)
        return tables if centers is None else {j: _about(table, centers) for j, table in tables.items()}

    def _gathered(self, columns: Sequence[CountedColumn], nodes: Indices) -> dict[int, NDArray[Any]]:
        """Count the table of each column at some nodes in one pass over the chunks."""
        tree = self.tree() if self._cells else None
        place = np.full(self.n_nodes, len(nodes), dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        blanks = {c.index: self._blank(c, len(nodes)) for c in columns}
        totals = dict(blanks)
        report = progress.current()
        for chunk in self.data.chunks():
            if report is not None:
                report(len(chunk.y))
            rows, at, weights = _reached(tree, chunk, place, numeric_target=self.criterion.numeric)
            kept = at < len(nodes)
            rows, at = rows[kept], at[kept]
            weights = None if weights is None else weights[kept]
            for c in columns:
                codes = np.zeros(len(rows), np.uint8) if c is _WHOLE else chunk.counted[c.index][rows]
                table = self._table(c, codes, at, chunk.y[rows], weights)
                totals[c.index] = totals[c.index] + fill_all({"t": blanks[c.index]}, table)["t"]
        return {c.index: self._cells_of(totals[c.index], c, len(nodes)) for c in columns}

    def _blank(self, column: CountedColumn, n_nodes: int) -> Any:
        """Return an empty tally: counts by node, class and cell, or moments of a numeric target by node and cell."""
        if not self.n_classes:
            return Moments(Nominal(_NODE, tuple(range(n_nodes * column.n_cells))), Numeric(_TARGET))
        axes = {_NODE: n_nodes, _TARGET: self.n_classes, _CELL: column.n_cells}
        return Counts(tuple(Nominal(name, tuple(range(n))) for name, n in axes.items()))

    def _table(self, c: CountedColumn, codes: Any, at: Any, y: Any, weights: Any) -> Table:
        if not self.n_classes:
            cell = (at * c.n_cells + codes).astype(np.uint32)
            return Table({_NODE: cell, _TARGET: y}, len(at), weights)
        return Table({_NODE: at.astype(np.uint32), _TARGET: y, _CELL: codes}, len(at), weights)

    def _cells_of(self, tally: Any, column: CountedColumn, n_nodes: int) -> NDArray[Any]:
        """Convert a tally to (nodes, cells, classes), or to (nodes, cells, 3): weight, mean, squared deviations."""
        if self.n_classes:
            return np.ascontiguousarray(tally.table.transpose(0, 2, 1))
        n, mean, m2 = tally.triple
        return np.stack([n, mean, m2], axis=-1).reshape(n_nodes, column.n_cells, 3)


def _reached(tree: Tree | None, chunk: EncodedChunk, place: Indices, *, numeric_target: bool) -> tuple[Any, Any, Any]:
    """Return the rows of a chunk (or parts of them), the node that each reaches, and weights."""
    n = len(chunk.y)
    if tree is None or len(tree) == 1:
        return np.arange(n), np.full(n, place[0]), chunk.weights
    landing = tree.land(chunk.columns, n, tree.weights(numeric_target))
    rows = np.arange(n) if landing.rows is None else landing.rows
    weights = None if chunk.weights is None else chunk.weights[rows]
    if landing.fractions is not None:
        weights = landing.fractions if weights is None else weights * landing.fractions
    return rows, place[landing.leaves], weights


def _about(table: NDArray[Any], centers: Floats) -> Floats:
    """Convert moments to weight, sum and sum of squares about the centers of the nodes."""
    n, mean, m2 = (table[..., i] for i in range(3))
    shift = mean - centers[:, None]
    return np.stack([n, n * shift, m2 + n * shift * shift], axis=-1)
