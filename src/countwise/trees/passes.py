"""Growing in passes: a tree of tallies alone, for rows that are read anew for each level.

At each level every attribute is asked for one tally: Counts(node, class, attribute), or Moments of the number in each
node and cell. Whoever can fill tallies, from pieces of a file or inside an engine, can grow a tree: a pass a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise._typing import Floats, Indices
from countwise.attributes import Nominal, Numeric
from countwise.table import Table
from countwise.tallies import Counts, Moments, fill_all
from countwise.trees.criteria import Criterion
from countwise.trees.growth import Below, Growth, Settings, TreeColumn
from countwise.trees.level import Countable, Level
from countwise.trees.paths import land
from countwise.trees.tables import TableColumn
from countwise.trees.tree import Tree
from countwise.trees.ways import Threshold

__all__ = ["Passing", "grow_in_passes"]

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
    columns: Sequence[TableColumn],
    n_attributes: int,
    n_classes: int,
    criterion: Criterion,
    settings: Settings,
) -> Tree:
    """Grow a tree from rows that are read once a level.

    Parameters
    ----------
    passes : callable
        Gives all rows, piece by piece, each time it is called.
    columns : list of TableColumn
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
        settings: Settings,
    ) -> None:
        super().__init__(columns, n_attributes, criterion, settings)
        self.passes, self.n_classes = passes, n_classes

    def _begin(self) -> Level | None:
        one = np.zeros(1, dtype=np.int64)
        whole = TableColumn(-1, np.empty(0, dtype=np.uint8), 1, Threshold(), gaps=False)
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
        tables = self._gathered([c for c in self.columns if isinstance(c, TableColumn)], nodes)
        if centers is not None:
            tables = {place: _about(table, centers) for place, table in tables.items()}
        level: PassLevel = self._level(PassLevel, cells, centers, tables)
        return level

    def _move(self, level: Level, below: Below, threads: int | None) -> Level:
        centers = None if below.centers is None else below.centers[below.opened]
        return self._pass_level(below.cells[below.opened], centers, self.numbers)

    def _gathered(self, columns: Sequence[TableColumn], nodes: Indices) -> dict[int, NDArray[Any]]:
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

    def _blank(self, column: TableColumn, n_nodes: int) -> Any:
        """The request: how often each node, class and cell meet; of numbers their moments in each node and cell."""
        if not self.n_classes:
            return Moments(Nominal(_NODE, tuple(range(n_nodes * column.n_cells))), Numeric(_TOLD))
        axes = (n_nodes, self.n_classes, column.n_cells)
        names = (_NODE, _TOLD, "(cell)")
        return Counts(tuple(Nominal(name, tuple(range(n))) for name, n in zip(names, axes, strict=True)))

    def _table(self, c: TableColumn, column: Any, at: Any, told: Any, weights: Any, n_nodes: int) -> Table:
        if not self.n_classes:
            cell = (at * c.n_cells + column).astype(np.uint32)
            return Table({_NODE: cell, _TOLD: told}, len(at), weights)
        columns = {_NODE: at.astype(np.uint32), _TOLD: told, "(cell)": column}
        return Table(columns, len(at), weights)

    def _cells_of(self, tally: Any, column: TableColumn, n_nodes: int) -> NDArray[Any]:
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
