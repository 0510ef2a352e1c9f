"""A tree of a file that is read anew for each level, so that its rows need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._kernels.bin_edges import edges_of
from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.errors import CountwiseError, TableError
from countwise.sources import Memory, open_rows
from countwise.tallies import Counts, Moments, Values, fill_all
from countwise.tree.apply import land
from countwise.tree.growth.builder import Children, Growth, GrowthSettings, TreeColumn
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.criteria import Criterion
from countwise.tree.features import Feature, features_of
from countwise.tree.growth.level import Countable, Level
from countwise.tree.nodes import Tree
from countwise.tree.growth.splits import Threshold

__all__ = ["FilePasses", "Passing", "grow_in_passes"]


_NODE, _TOLD = "(node)", "(told)"


@dataclass(frozen=True, slots=True, eq=False)
class PassLevel(Level):
    """A level whose tables were gathered in one pass.

    Parameters
    ----------
    tables : dict of int to ndarray
        Of each attribute (nodes, cells, classes or 3).
    """

    tables: dict[int, NDArray[Any]]

    @property
    def n_entries(self) -> int:
        """What is left to do is small: the rows have been read."""
        return 0

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """The cells of a column at some nodes."""
        return np.ascontiguousarray(self.tables[column.place][nodes])


@dataclass(frozen=True, slots=True, eq=False)
class Passing:
    """Rows as they pass: the columns that are counted, those that are asked, what is told, and weights.

    Parameters
    ----------
    counted : list of ndarray
        Codes of each attribute.
    asked : list of ndarray
        Of each attribute the codes or numbers that a tree asks.
    told : ndarray
        The class of each row as a code, or its number.
    weights : ndarray or None
        The weight of each row.
    """

    counted: Sequence[NDArray[Any]]
    asked: Sequence[NDArray[Any]]
    told: NDArray[Any]
    weights: NDArray[Any] | None


def grow_in_passes(
    passes: Callable[[], Iterable[Passing]],
    columns: Sequence[CountedColumn],
    n_attributes: int,
    n_classes: int,
    criterion: Criterion,
    settings: GrowthSettings,
) -> Tree:
    """Grow a tree from rows that are read once a level.

    Parameters
    ----------
    passes : callable
        Gives all rows, piece by piece, each time it is called.
    columns : list of CountedColumn
        The attributes that may be asked; their codes are not looked at.
    n_attributes, n_classes : int
        How many attributes there are, and classes (0 if numbers are told).
    criterion, settings
        As for `grow`.

    Returns
    -------
    Tree
    """
    return _Passes(passes, columns, n_attributes, n_classes, criterion, settings).grown()


class _Passes(Growth):
    """Growth from tallies."""

    def __init__(
        self,
        passes: Callable[[], Iterable[Passing]],
        columns: Sequence[TreeColumn],
        n_attributes: int,
        n_classes: int,
        criterion: Criterion,
        settings: GrowthSettings,
    ) -> None:
        super().__init__(columns, n_attributes, criterion, settings)
        self.passes, self.n_classes = passes, n_classes

    def _begin(self) -> Level | None:
        one = np.zeros(1, dtype=np.int64)
        whole = CountedColumn(-1, np.empty(0, dtype=np.uint8), 1, Threshold(), gaps=False)
        cells = self._gathered([whole], one)[-1]
        centers = None
        if self.criterion.numbers:
            n, mean, m2 = cells[0, 0]
            centers = np.array([mean])
            self.scale = abs(float(mean)) + float(np.sqrt(m2 / n))
            cells = np.array([[[n, 0.0, m2]]])
        cells = cells[:, 0].astype(np.float64)
        self._remember(cells, centers, np.array([-1]))
        if not self._open(cells)[0]:
            return None
        return self._pass_level(cells, centers, one)

    def _pass_level(self, cells: Floats, centers: Floats | None, nodes: Indices) -> PassLevel:
        tables = self._gathered([c for c in self.columns if isinstance(c, CountedColumn)], nodes)
        if centers is not None:
            tables = {place: _about(table, centers) for place, table in tables.items()}
        level: PassLevel = self._level(PassLevel, cells, centers, tables)
        return level

    def _move(self, level: Level, below: Children, threads: int | None) -> Level:
        centers = None if below.centers is None else below.centers[below.opened]
        return self._pass_level(below.cells[below.opened], centers, self.numbers)

    def _gathered(self, columns: Sequence[CountedColumn], nodes: Indices) -> dict[int, NDArray[Any]]:
        """One pass: the table of each column at some nodes."""
        tree = self.tree() if len(self._cells) else None
        place = np.full(self.n_nodes if tree is not None else 1, len(nodes), dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        blanks = {str(c.place): self._blank(c, len(nodes)) for c in columns}
        totals = dict(blanks)
        report = progress.current()
        for piece in self.passes():
            if report is not None:
                report(len(piece.told))
            rows, at, weights = _arrived(tree, piece, place, self.criterion.numbers)
            kept = at < len(nodes)
            rows, at = rows[kept], at[kept]
            weights = None if weights is None else weights[kept]
            told = piece.told[rows]
            for c in columns:
                column = np.zeros(len(rows), np.uint8) if c.place < 0 else piece.counted[c.place][rows]
                table = self._table(c, column, at, told, weights, len(nodes))
                totals[str(c.place)] = totals[str(c.place)] + fill_all({"t": blanks[str(c.place)]}, table)["t"]
        return {c.place: self._cells_of(totals[str(c.place)], c, len(nodes)) for c in columns}

    def _blank(self, column: CountedColumn, n_nodes: int) -> Any:
        """The request: how often each node, class and cell meet; of numbers their moments in each node and cell."""
        if not self.n_classes:
            return Moments(Nominal(_NODE, tuple(range(n_nodes * column.n_cells))), Numeric(_TOLD))
        axes = (n_nodes, self.n_classes, column.n_cells)
        names = (_NODE, _TOLD, "(cell)")
        return Counts(tuple(Nominal(name, tuple(range(n))) for name, n in zip(names, axes, strict=True)))

    def _table(self, c: CountedColumn, column: Any, at: Any, told: Any, weights: Any, n_nodes: int) -> Table:
        if not self.n_classes:
            cell = (at * c.n_cells + column).astype(np.uint32)
            return Table({_NODE: cell, _TOLD: told}, len(at), weights)
        columns = {_NODE: at.astype(np.uint32), _TOLD: told, "(cell)": column}
        return Table(columns, len(at), weights)

    def _cells_of(self, tally: Any, column: CountedColumn, n_nodes: int) -> NDArray[Any]:
        """A tally as (nodes, cells, classes), or as (nodes, cells, 3) with weight, mean and squared deviations."""
        if self.n_classes:
            cells: NDArray[Any] = np.ascontiguousarray(tally.table.transpose(0, 2, 1))
            return cells
        n, mean, m2 = tally.triple
        return np.stack([n, mean, m2], axis=-1).reshape(n_nodes, column.n_cells, 3)


def _arrived(tree: Tree | None, piece: Passing, place: Indices, numbers: bool) -> tuple[Any, Any, Any]:
    """The rows of a piece (or parts of them), the node that each has come to, and weights."""
    n = len(piece.told)
    if tree is None or len(tree) == 1:
        return np.arange(n), np.full(n, place[0]), piece.weights
    landing = land(tree, piece.asked, n, tree.weights(numbers))
    rows = np.arange(n) if landing.rows is None else landing.rows
    weights = None if piece.weights is None else piece.weights[rows]
    if landing.shares is not None:
        weights = landing.shares if weights is None else weights * landing.shares
    return rows, place[landing.leaves], weights


def _about(table: NDArray[Any], centers: Floats) -> Floats:
    """Moments as weight, sum and sum of squares about the nodes' centers."""
    n, mean, m2 = (table[..., i] for i in range(3))
    away = mean - centers[:, None]
    return np.stack([n, n * away, m2 + n * away * away], axis=-1)


_ALL = Nominal("(all)", (0,))


@dataclass(slots=True, eq=False)
class FilePasses:
    """What the first pass over a file finds, and the passes after it.

    Parameters
    ----------
    X, y, sample_weight
        The path, and the columns of the target and of the weights.
    numbers : bool
        Whether the target is a number.
    kinds : callable
        Gives the schema of a frame, its domains not yet learned.
    """

    X: Any
    y: Any
    sample_weight: Any
    numbers: bool
    kinds: Any
    schema: Schema = field(default_factory=Schema)
    target: Any = None
    first: Memory | None = None
    n_rows: int = 0
    left_out: int = 0
    values: dict[str, Values] = field(default_factory=dict)
    told: Any = None
    edges: dict[str, Floats] = field(default_factory=dict)
    gaps: dict[str, bool] = field(default_factory=dict)

    def look(self, n_bins: int, factors_of: Any) -> None:
        """The first pass: domains, classes, and the edges of bins; `factors_of` gives the weights of classes."""
        for rows in open_rows(self.X, self.y, self.sample_weight, numbers=self.numbers):
            self.left_out += rows.left_out
            if rows.frame.n_rows:
                self._look_at(rows)
        if self.first is None:
            raise TableError("The table is empty: at least one row with a target is needed.")
        factors = None if self.numbers else factors_of(self.told.table.astype(np.float64), self.target)
        for name, tally in self.values.items():
            numbers, weights = _pooled(tally, self.target, factors)
            self.edges[name] = edges_of(numbers, np.cumsum(weights, dtype=np.float64), n_bins)
            self.gaps[name] = self.gaps.get(name, False)
        self.values = {}

    def _look_at(self, rows: Memory) -> None:
        if self.first is None:
            self.first = rows
            self.schema = self.kinds(rows.frame)
            self.target = Numeric(rows.name) if self.numbers else Nominal(rows.name, grows=True)
        frame = self.schema.coded(self.schema.match(rows.frame))
        self.schema = self.schema.learn(frame)
        texts = [a.name for a in self.schema.attributes if isinstance(a, Text)]
        if texts:
            raise TableError(
                f"{texts[0]!r} is a text; its words are not counted in passes.", hint="read the file first."
            )
        self.target = self.target if self.numbers else self.target.learn(rows.target)
        table = self._encoded(rows, frame)
        counted = table.with_column(self.target.name, self._told(rows)).with_column(
            _ALL.name, np.zeros(table.n_rows, np.uint8)
        )
        of = _ALL if self.numbers else self.target
        blanks = {a.name: Values(of, a) for a in self.schema.attributes if isinstance(a, Numeric)}
        found = fill_all(blanks, counted)
        for name, tally in found.items():
            self.values[name] = self.values[name] + tally if name in self.values else tally
            self.gaps[name] = self.gaps.get(name, False) or _some_nan(table[name])
        for a in self.schema.attributes:
            if isinstance(a, Nominal):
                self.gaps[a.name] = self.gaps.get(a.name, False) or bool((table[a.name] == a.missing).any())
        blank = Moments(_ALL, self.target) if self.numbers else Counts((self.target,))
        told = fill_all({"told": blank}, counted)["told"]
        self.told = told if self.told is None else self.told + told
        self.n_rows += rows.frame.n_rows

    def _told(self, rows: Memory) -> NDArray[Any]:
        """The class of each row as a code, or its number."""
        if self.numbers:
            return np.asarray(rows.target, dtype=np.float64)
        codes: NDArray[Any] = self.target.encode(rows.target, strict=True)
        return codes

    def _encoded(self, rows: Memory, frame: Frame) -> Any:
        try:
            table = self.schema.encode(frame, rows.weights, strict=True)
            refuse_infinity({a.name: table[a.name] for a in self.schema.attributes if isinstance(a, Numeric)})
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        return table

    # -- the passes after it ------------------------------------------------------------

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.told.n.sum() if self.numbers else self.told.table.sum())

    @property
    def features(self) -> list[Feature]:
        """What can be asked."""
        return features_of(self.schema)

    def columns(self, way_of: Any) -> list[CountedColumn]:
        """The attributes that are counted."""
        none = np.empty(0, dtype=np.uint8)
        found = []
        for j, f in enumerate(self.features):
            gaps = self.gaps[f.name]
            if isinstance(f.attribute, Nominal):
                if len(f.attribute.values) > 1:
                    found.append(CountedColumn(j, none, len(f.attribute.values), way_of(f), gaps=gaps))
            else:
                edges = self.edges[f.name]
                found.append(CountedColumn(j, none, len(edges) + 1, Threshold(), edges, gaps))
        return found

    def passes(self, factors: Floats | None) -> Iterator[Passing]:
        """All rows once more; `factors` are the weights of classes."""
        for rows in open_rows(self.X, self.y, self.sample_weight, numbers=self.numbers):
            if not rows.frame.n_rows:
                continue
            table = self._encoded(rows, self.schema.coded(self.schema.match(rows.frame)))
            told = (
                np.asarray(rows.target, np.float64) if self.numbers else self.target.encode(rows.target, strict=True)
            )
            weights = rows.weights
            if factors is not None:
                weights = factors[told] * (1.0 if weights is None else weights)
            asked = [table[f.column] for f in self.features]
            counted = [
                asked[j] if f.nominal else _binned(asked[j], self.edges[f.name]) for j, f in enumerate(self.features)
            ]
            yield Passing(counted, asked, told, weights)

    def grow(self, way_of: Any, criterion: Any, stopping: dict[str, Any], many: Any, factors: Any) -> Tree:
        """The tree."""
        columns = self.columns(way_of)
        n_classes = 0 if self.numbers else len(self.target.values)
        settings = GrowthSettings(**stopping, many=many)
        return grow_in_passes(
            lambda: self.passes(factors), columns, len(self.features), n_classes, criterion, settings
        )


def _pooled(tally: Values, target: Any, factors: Floats | None) -> tuple[Any, Any]:
    """The numbers of all classes and their weights, which may be weighed by class."""
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


def _some_nan(column: NDArray[Any]) -> bool:
    return bool(column.dtype.kind == "f" and np.isnan(column).any())
