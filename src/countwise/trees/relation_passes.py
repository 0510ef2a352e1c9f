"""Growing where the rows lie: each level is a group-by by node, cell and class for each attribute.

The node of a row is told to the engine by the questions on the way to it. A row that lacks a value goes down one
branch, or, in fractions, down all of them: of such rows, and of them alone, the weight at each node is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.attributes import Nominal
from countwise.errors import RowsRefused
from countwise.frames import Frame
from countwise.sources.engine import rows_of_answer
from countwise.sources.relation import MOST_GROUPS
from countwise.sources.relation_cuts import Bins, Decode
from countwise.sources.relation_levels import Ready, fetched, numbers_in, switched
from countwise.trees.criteria import Criterion
from countwise.trees.features import Feature
from countwise.trees.growth import Below, Growth, Settings
from countwise.trees.level import Level
from countwise.trees.passes import PassLevel
from countwise.trees.relation_ways import PARTED, Ways
from countwise.trees.tables import TableColumn
from countwise.trees.tree import Tree

__all__ = ["Telling", "grow_in_engine"]

MOST_NODES = 1 << 10  # of a level, that an engine is asked about
_AT_ONCE = 64  # nodes at which the weights of parted rows are summed in one query


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """What is told of each row.

    Parameters
    ----------
    target : Nominal or Numeric
        The column.
    factors : ndarray or None
        The weights of classes.
    pilot, scale : float
        Of numbers: one near their mean, and the largest there is.
    """

    target: Any
    factors: Floats | None = None
    pilot: float = 0.0
    scale: float = 1.0

    @property
    def numbers(self) -> bool:
        """Whether a number is told."""
        return not isinstance(self.target, Nominal)


def grow_in_engine(
    ready: Ready,
    features: Sequence[Feature],
    columns: Sequence[TableColumn],
    bins: dict[str, Bins],
    telling: Telling,
    criterion: Criterion,
    settings: Settings,
) -> Tree:
    """Grow a tree of rows that an engine holds.

    Parameters
    ----------
    ready : Ready
        The relation.
    features : sequence of Feature
        All attributes.
    columns : list of TableColumn
        Those that may be asked; their codes are not looked at.
    bins : dict of str to Bins
        Of each column of numbers.
    telling : Telling
        What is told.
    criterion, settings
        As for `grow`.

    Returns
    -------
    Tree
    """
    return _InEngine(ready, features, columns, bins, telling, criterion, settings).grown()


class _InEngine(Growth):
    """Growth from what an engine answers."""

    def __init__(
        self,
        ready: Ready,
        features: Sequence[Feature],
        columns: Sequence[TableColumn],
        bins: dict[str, Bins],
        telling: Telling,
        criterion: Criterion,
        settings: Settings,
    ) -> None:
        super().__init__(columns, len(features), criterion, settings)
        self.ready, self.features, self.bins, self.telling = ready, features, bins, telling
        self.gaps = {c.place: c.gaps for c in columns}
        self.scale = telling.scale

    # -- levels ------------------------------------------------------------------------

    def _begin(self) -> Level | None:
        cells, centers = self._root()
        self._remember(cells, centers, np.array([-1]))
        if not self._open(cells)[0]:
            return None
        return self._asked(cells, centers, np.zeros(1, dtype=np.int64))

    def _root(self) -> tuple[Floats, Floats | None]:
        """What is in the root."""
        plan, target = self.ready.rows([]), self.telling.target
        if not self.telling.numbers:
            found = self.ready.weighed(plan, [target.name])
            cells = np.zeros((1, len(target.values)))
            np.add.at(cells[0], self._classes(found), numbers_in(found, "cw_w"))
            return self._weighed(cells), None
        (row,) = rows_of_answer(_sums(plan, self.ready, self.telling.pilot, target.name))
        n, total, squares = (float(row[name]) for name in ("cw_w", "cw_s", "cw_q"))
        mean = total / n
        cells = np.array([[n, 0.0, max(squares - total * mean, 0.0)]])
        return cells, np.array([self.telling.pilot + mean])

    def _move(self, level: Level, below: Below, threads: int | None) -> Level:
        centers = None if below.centers is None else below.centers[below.opened]
        return self._asked(below.cells[below.opened], centers, self.numbers)

    def _asked(self, cells: Floats, centers: Floats | None, nodes: Indices) -> PassLevel:
        """A level, its tables counted by the engine."""
        if len(nodes) > MOST_NODES:
            raise RowsRefused(
                f"{len(nodes):,} nodes at depth {self.depth} could be split; an engine is asked about "
                f"{MOST_NODES:,} at most.",
                hint=f"max_depth={self.depth}, a larger min_samples_leaf or min_gain; or collect the rows.",
            )
        fractions = self.settings.missing == "fractions"
        ways = Ways(self.tree(), self.features, self.gaps, nodes, fractions, self.telling.numbers)
        tables = {}
        for column in self.columns:
            assert isinstance(column, TableColumn)  # noqa: S101 - given so
            tables[column.place] = self._weighed(self._table(column, ways, centers))
        level: PassLevel = self._level(PassLevel, cells, centers, tables)
        return level

    def _weighed(self, table: Floats) -> NDArray[Any]:
        """A table times the weights of classes; of whole numbers if it can be."""
        if self.telling.factors is not None:
            table = table * self.telling.factors
        whole = not self.criterion.numbers and table.ndim > 2 and _kernels.float_is_integral(table.reshape(-1))
        return table.astype(np.int64) if whole else table

    # -- tables ------------------------------------------------------------------------

    def _table(self, column: TableColumn, ways: Ways, centers: Floats | None) -> Floats:
        """The table of a column at some nodes: (nodes, cells, classes or 3)."""
        target, nodes = self.telling.target, ways.nodes
        last = 3 if self.telling.numbers else len(target.values)
        table = np.zeros((len(nodes), column.n_cells, last))
        plan = ways.located(self.ready.rows([self.features[column.place].column, *ways.columns]))
        step = max(1, MOST_GROUPS // (column.n_cells * (1 if self.telling.numbers else last)))
        for start in range(0, len(nodes), step):
            some = np.arange(start, min(start + step, len(nodes)))
            self._add_whole(table, some, column, ways, plan, centers)
        for start in range(0, len(ways.shared), _AT_ONCE):
            self._add_parted(table, ways.shared[start : start + _AT_ONCE], column, ways, plan, centers)
        return table

    def _add_whole(
        self, table: Floats, some: Indices, column: TableColumn, ways: Ways, plan: Any, centers: Any
    ) -> None:
        """Rows that are at one node."""
        import narwhals.stable.v2 as nw

        nodes = ways.nodes[some]
        at = nw.col("cw_at")
        if len(some) < len(ways.nodes):
            plan = plan.filter((at >= int(nodes[0])) & (at <= int(nodes[-1])))
        elif len(ways.tree) > 1:
            plan = plan.filter(at >= 0)
        plan, cell_keys, decode = self._celled(column, plan, len(some))
        if self.telling.numbers:
            shift = switched(at, nodes.tolist(), [nw.lit(float(c)) for c in centers[some]])
            keys = ["cw_at", *cell_keys]
            found = fetched(_sums(plan, self.ready, shift, self.telling.target.name, keys), keys)
        else:
            found = self.ready.weighed(plan, ["cw_at", *cell_keys, self.telling.target.name])
        place = np.searchsorted(ways.nodes, numbers_in(found, "cw_at").astype(np.int64))
        self._add(table, place, decode(found), found, "cw_w", "cw_s", "cw_q")

    def _add_parted(
        self, table: Floats, some: Indices, column: TableColumn, ways: Ways, plan: Any, centers: Any
    ) -> None:
        """Rows that are at several nodes, with a share of their weight at each."""
        import narwhals.stable.v2 as nw

        plan = plan.filter(nw.col("cw_at") == PARTED)
        if self.ready.relation.weights is None:
            plan = plan.with_columns(cw_w=nw.lit(1.0))
        plan = ways.shared_out(plan, ways.nodes[some])
        plan, cell_keys, decode = self._celled(column, plan, len(some))
        names = {"cw_w": {i: f"cw_p{k}" for i, k in zip(some.tolist(), ways.nodes[some].tolist(), strict=True)}}
        keys = list(cell_keys)
        if self.telling.numbers:
            y = nw.col(self.telling.target.name)
            for word, before in (("cw_s", "cw_w"), ("cw_q", "cw_s")):
                names[word] = {i: f"{word}{i}" for i in some.tolist()}
                plan = plan.with_columns(
                    **{names[word][i]: nw.col(names[before][i]) * (y - float(centers[i])) for i in some.tolist()}
                )
        else:
            keys.append(self.telling.target.name)
        sums = [nw.col(name).sum() for of_word in names.values() for name in of_word.values()]
        found = fetched(plan.group_by(*keys).agg(*sums), keys)
        cells = decode(found)
        for i in some.tolist():
            words = (names[word][i] for word in names)
            self._add(table, np.full(found.n_rows, i), cells, found, *words)

    def _add(self, table: Floats, place: NDArray[Any], cells: NDArray[Any], found: Frame, *words: str) -> None:
        """Add an answer to a table."""
        if self.telling.numbers:
            for i, word in enumerate(words):
                np.add.at(table[..., i], (place, cells), np.nan_to_num(numbers_in(found, word)))
        else:
            np.add.at(table, (place, cells, self._classes(found)), np.nan_to_num(numbers_in(found, words[0])))

    def _celled(self, column: TableColumn, plan: Any, n_nodes: int) -> tuple[Any, list[str], Decode]:
        """A plan with columns that tell the cells of a column apart, and how they are read as codes."""
        feature = self.features[column.place]
        attribute, name = feature.attribute, feature.column
        if isinstance(attribute, Nominal):
            return plan, [name], lambda found: attribute.encode(found.columns[name]).astype(np.int64)
        times = n_nodes * (1 if self.telling.numbers else len(self.telling.target.values))
        return self.bins[name].keyed(plan, times, gaps=column.gaps, flat=self.ready.slow_whens)

    def _classes(self, found: Frame) -> NDArray[Any]:
        codes: NDArray[Any] = self.telling.target.encode(found.columns[self.telling.target.name], strict=True)
        return codes


def _sums(plan: Any, ready: Ready, shift: Any, target: str, keys: Sequence[str] = ()) -> Any:
    """The weight, and the sums of the target less a shift and of its square, in each group."""
    import narwhals.stable.v2 as nw

    fresh = {"cw_d": nw.col(target) - shift}
    if ready.relation.weights is None:
        fresh["cw_w"] = nw.lit(1.0)
    plan = plan.with_columns(**fresh)
    plan = plan.with_columns(cw_s=nw.col("cw_w") * nw.col("cw_d"))
    plan = plan.with_columns(cw_q=nw.col("cw_s") * nw.col("cw_d"))
    sums = [nw.col(name).sum() for name in ("cw_w", "cw_s", "cw_q")]
    return plan.group_by(*keys).agg(*sums) if keys else plan.select(*sums)
