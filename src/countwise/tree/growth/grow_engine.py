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
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.text import Text
from countwise.engines.bins import Bins, Decode, cut
from countwise.engines.execute import rows_of_answer
from countwise.engines.gather import refuse_identifiers
from countwise.engines.prepared import Extent, Ready, fetched, numbers_in, switched
from countwise.engines.relation import MOST_GROUPS, Relation
from countwise.errors import RowsRefused, TableError
from countwise.sources.memory import Memory, memory
from countwise.tree.apply import shares_of
from countwise.tree.growth.builder import Children, Growth, GrowthSettings
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.criteria import Criterion
from countwise.tree.features import Feature, features_of
from countwise.tree.growth.grow_pieces import PassLevel
from countwise.tree.growth.level import Level
from countwise.tree.nodes import Tree
from countwise.tree.pruning import known_rules, needs_no_rows, pruned_by_itself, unknown_rule
from countwise.tree.growth.splits import Threshold

__all__ = ["PARTED", "EngineTarget", "Ways", "grow_in_engine", "grown_in_engine"]


NOWHERE, PARTED = -1, -2  # where rows are that come to none of the nodes, and those that come to several


class Ways:
    """The ways to some nodes of one depth.

    Parameters
    ----------
    tree : Tree
        The tree so far.
    features : sequence of Feature
        What it asks.
    gaps : dict of int to bool
        Of each attribute that may be asked, whether some cells are missing.
    nodes : ndarray
        Where to, ascending.
    fractions : bool
        Whether rows that lack a value go down all branches.
    numbers : bool
        Whether a number is told.
    """

    def __init__(
        self,
        tree: Tree,
        features: Sequence[Feature],
        gaps: dict[int, bool],
        nodes: Indices,
        fractions: bool,
        numbers: bool,
    ) -> None:
        self.tree, self.features, self.gaps, self.nodes = tree, features, gaps, nodes
        self.depth = int(tree.depths[nodes[0]])
        self.passed = tree.passed(nodes.tolist())
        self.inner = [k for k in sorted(self.passed) if tree.depths[k] < self.depth]
        self.columns = list(dict.fromkeys(features[tree.attribute[k]].column for k in self.inner))
        self.leaky = {k for k in self.inner if fractions and gaps[int(tree.attribute[k])]}
        # the places of nodes to which rows may come in part, and which share of its parent's rows each node has
        self.shared = np.array([i for i, k in enumerate(nodes.tolist()) if self.leaky & set(tree.path(k))], np.int64)
        self.shares = shares_of(tree, tree.weights(numbers)) if self.leaky else np.empty(0)

    def located(self, plan: Any) -> Any:
        """The plan with the node of each row, `cw_at`: one when in another, as the tree is.

        A column for each level would be shorter, but engines that move filters towards the rows write it out again
        wherever it is named.
        """
        return plan.with_columns(cw_at=self._at(0))

    def shared_out(self, plan: Any, nodes: Indices) -> Any:
        """The plan with what of each row's weight comes to some nodes, `cw_p` and the node's number."""
        import narwhals.stable.v2 as nw

        passed, depths = self.tree.passed(nodes.tolist()), self.tree.depths
        plan = plan.with_columns(cw_p0=nw.col("cw_w"))
        for depth in range(1, self.depth + 1):
            plan = plan.with_columns(**{f"cw_p{k}": self._share(k) for k in sorted(passed) if depths[k] == depth})
        return plan

    def _at(self, k: int) -> Any:
        """Which of the nodes a row comes to that is at a node."""
        import narwhals.stable.v2 as nw

        if k not in self.passed or self.tree.depths[k] == self.depth:
            return nw.lit(k if k in self.passed else NOWHERE)
        first, lost = int(self.tree.children[k]), int(self.tree.missing[k])
        x, limits = self._column(k), self.tree.limits_of(k)
        if len(limits):
            low, high = self._at(first), self._at(first + 1)
            if lost == 0:  # a comparison with what is missing does not hold
                inside = nw.when(x > float(limits[0])).then(high).otherwise(low)
            else:
                inside = nw.when(x <= float(limits[0])).then(low).otherwise(high)
        else:
            branches = sorted(self._branches(k).items(), key=lambda branch: branch[0] == lost)
            inside = _chosen(x, [(values, self._at(first + b)) for b, values in branches])
        placed = self._placed(k)
        own = lost >= (2 if len(limits) else len(self._branches(k)))  # missing cells have a branch of their own
        if placed is None or (lost >= 0 and not own):
            return inside
        return nw.when(placed).then(inside).otherwise(self._at(first + lost) if own else nw.lit(PARTED))

    def _share(self, k: int) -> Any:
        """What comes to a node of what its parent has."""
        import narwhals.stable.v2 as nw

        parent = int(self.tree.parent[k])
        branch = k - int(self.tree.children[parent])
        above, x, limits = nw.col(f"cw_p{parent}"), self._column(parent), self.tree.limits_of(parent)
        if len(limits):
            inside = x <= float(limits[0]) if branch == 0 else x > float(limits[0])
        else:
            inside = x.is_in(self._branches(parent)[branch])
        taken, placed = nw.when(inside).then(above).otherwise(0.0), self._placed(parent)
        return taken if placed is None else nw.when(placed).then(taken).otherwise(above * float(self.shares[k]))

    def _column(self, k: int) -> Any:
        import narwhals.stable.v2 as nw

        return nw.col(self.features[self.tree.attribute[k]].column)

    def _branches(self, k: int) -> dict[int, list[Any]]:
        """The values of each branch of a node."""
        attribute = self.features[self.tree.attribute[k]].attribute
        assert isinstance(attribute, Nominal)  # noqa: S101 - numbers have limits
        found: dict[int, list[Any]] = {}
        for value, branch in zip(attribute.values, self.tree.groups_of(k).tolist(), strict=False):
            if branch >= 0:
                found.setdefault(branch, []).append(value)
        return found

    def _placed(self, k: int) -> Any:
        """Whether a cell has a branch of its own; None if all have."""
        x, place = self._column(k), int(self.tree.attribute[k])
        if not len(self.tree.limits_of(k)):
            placed = [value for values in self._branches(k).values() for value in values]
            attribute = self.features[place].attribute
            assert isinstance(attribute, Nominal)  # noqa: S101 - numbers have limits
            if len(placed) < len(attribute.values):
                return x.is_in(placed)
        return ~x.is_null() if self.gaps[place] else None


def _chosen(x: Any, cases: Sequence[tuple[list[Any], Any]]) -> Any:
    """The case among whose values x is; the last one, if it is among those of none."""
    import narwhals.stable.v2 as nw

    if len(cases) == 1:
        return cases[0][1]
    middle = len(cases) // 2
    lower = [value for values, _ in cases[:middle] for value in values]
    return nw.when(x.is_in(lower)).then(_chosen(x, cases[:middle])).otherwise(_chosen(x, cases[middle:]))


MOST_NODES = 1 << 10  # of a level, that an engine is asked about
_AT_ONCE = 64  # nodes at which the weights of parted rows are summed in one query


@dataclass(frozen=True, slots=True, eq=False)
class EngineTarget:
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
    columns: Sequence[CountedColumn],
    bins: dict[str, Bins],
    telling: EngineTarget,
    criterion: Criterion,
    settings: GrowthSettings,
) -> Tree:
    """Grow a tree of rows that an engine holds.

    Parameters
    ----------
    ready : Ready
        The relation.
    features : sequence of Feature
        All attributes.
    columns : list of CountedColumn
        Those that may be asked; their codes are not looked at.
    bins : dict of str to Bins
        Of each column of numbers.
    telling : EngineTarget
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
        columns: Sequence[CountedColumn],
        bins: dict[str, Bins],
        telling: EngineTarget,
        criterion: Criterion,
        settings: GrowthSettings,
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

    def _move(self, level: Level, below: Children, threads: int | None) -> Level:
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
            assert isinstance(column, CountedColumn)  # noqa: S101 - given so
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

    def _table(self, column: CountedColumn, ways: Ways, centers: Floats | None) -> Floats:
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
        self, table: Floats, some: Indices, column: CountedColumn, ways: Ways, plan: Any, centers: Any
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
        self, table: Floats, some: Indices, column: CountedColumn, ways: Ways, plan: Any, centers: Any
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

    def _celled(self, column: CountedColumn, plan: Any, n_nodes: int) -> tuple[Any, list[str], Decode]:
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


def grown_in_engine(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], int, str]:
    """What a tree learns from a relation, how many rows had no target, and what it is called."""
    relation = Relation.open(X, y, sample_weight)
    if relation.target is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    schema = model._infer_schema(relation.empty())
    _refuse_what_needs_rows(model, schema, relation)
    _refuse_a_target_without_numbers(model, relation)
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    ready = Ready(relation, frozenset([*numbers, *([relation.target] if model._numbers else [])]))
    sizes = ready.sizes()
    if not sizes.known:
        raise TableError("The relation is empty: at least one row with a target is needed.")
    extents = ready.extents(numbers)
    schema, extents = _learned(relation, schema, sizes.counted, extents)
    target, telling, counts, label_type = _told(model, ready)
    asked = _LevelQuery(
        model, ready, schema, extents, telling, sizes.weight if counts is None else float(counts.sum())
    )
    found = {
        "schema_": schema,
        "n_rows_": sizes.counted,
        "n_left_out_": sizes.rows - sizes.known,
        "_features": asked.features,
        "target_": target,
        "_label_type": label_type,
        **model._names(relation.empty()),
    }
    return found | pruned_by_itself(model, asked.grow, model._criterion()), sizes.rows - sizes.known, relation.target


def _refuse_what_needs_rows(model: Any, schema: Schema, relation: Relation) -> None:
    if model.pruning is not None and model.pruning not in known_rules(model):
        raise unknown_rule(model)
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    texts = [a.name for a in schema.attributes if isinstance(a, Text)]
    if texts:
        what, hint = f"The words of {texts[0]!r} are not counted in an engine", "leave the column out"
    elif not needs_no_rows(model):
        what = f"pruning={model.pruning!r} tries trees on rows that are held out"
        hint = "give ccp_alpha as a number, or another pruning"
    elif model.numeric == "ranges":
        what, hint = "Ranges are cut on the rows of each node", "numeric='binary', thresholds='binned'"
    elif numbers and model.thresholds != "binned":
        what = f"Exact thresholds, as for {numbers[0]!r}, need the rows themselves"
        hint = "thresholds='binned' grows the tree where they lie"
    else:
        return
    raise RowsRefused(
        f"{what}; the relation has {relation.size():,} rows.", hint=f"{hint}; or collect the rows into memory first."
    )


def _refuse_a_target_without_numbers(model: Any, relation: Relation) -> None:
    import narwhals.stable.v2 as nw

    dtype = relation.dtypes[str(relation.target)]
    if model._numbers and not (dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean):
        raise TableError(
            f"The target {relation.target!r} is a column of {dtype}; numbers are expected.",
            hint="a classifier tells names.",
        )


def _learned(
    relation: Relation, schema: Schema, rows: int, extents: dict[str, Extent]
) -> tuple[Schema, dict[str, Extent]]:
    """The schema with the domains of names, and which of them have gaps."""
    names = [a.name for a in schema.attributes if isinstance(a, Nominal)]
    if names:
        refuse_identifiers(relation.look([], names), schema, rows)
    found: dict[str, Any] = {}
    for name in names:
        frame, _ = relation.groups([name])
        attribute = schema[name].learn(frame.columns[name])
        assert isinstance(attribute, Nominal)  # noqa: S101 - a domain of names
        codes = attribute.encode(frame.columns[name], strict=True)
        found[name] = attribute
        extents[name] = Extent(np.nan, np.nan, bool((codes == len(attribute.values)).any()))
    return Schema(found.get(a.name, a) for a in schema.attributes), extents


def _told(model: Any, ready: Ready) -> tuple[Any, EngineTarget, Floats | None, Any]:
    """The target, what is told of rows, the weight of each class, and the dtype of classes."""
    relation = ready.relation
    name = str(relation.target)
    if model._numbers:
        target = Numeric(name)
        ends = ready.extents([name])[name]
        pilot = relation.look([name], []).means[name]
        return target, EngineTarget(target, None, pilot, max(abs(ends.low), abs(ends.high))), None, None
    rows = _classes(relation)
    classes = Nominal(name, grows=True).learn(rows.target)
    codes = classes.encode(rows.target, strict=True)
    counts = np.bincount(codes, weights=rows.weights, minlength=len(classes.values)).astype(np.float64)
    factors = model._factors(counts, classes)
    return (
        classes,
        EngineTarget(classes, factors),
        counts if factors is None else counts * factors,
        rows.label_type,
    )


def _classes(relation: Relation) -> Memory:
    """The classes that there are, a row and a weight for each."""
    frame, weights = relation.groups([str(relation.target)])
    columns = {**frame.columns, "cw_any": np.zeros(frame.n_rows)}  # a target alone is no table
    return memory(Frame(columns, frame.n_rows, named=True), relation.target, weights)


class _LevelQuery:
    """What is asked of an engine, by the settings of a model."""

    def __init__(
        self,
        model: Any,
        ready: Ready,
        schema: Schema,
        extents: dict[str, Extent],
        telling: EngineTarget,
        weight: float,
    ) -> None:
        self.model, self.ready, self.extents, self.telling = model, ready, extents, telling
        self.features: list[Feature] = features_of(schema)
        self.splitting = model._splitting()
        self.many = np.array([self.splitting.has_many(f, weight) for f in self.features], dtype=bool)
        self.bins: dict[str, Bins] = {}

    def grow(self) -> Tree:
        """The tree."""
        columns = [c for j, f in enumerate(self.features) if (c := self._column(j, f)) is not None]
        settings = GrowthSettings(**self.model._stopping(), many=self.many)
        return grow_in_engine(
            self.ready, self.features, columns, self.bins, self.telling, self.model._criterion(), settings
        )

    def _column(self, j: int, feature: Feature) -> CountedColumn | None:
        none, extent = np.empty(0, dtype=np.uint8), self.extents[feature.column]
        if isinstance(feature.attribute, Nominal):
            n_values = len(feature.attribute.values)
            way = self.splitting.way_of(feature) if n_values > 1 else None
            return None if way is None else CountedColumn(j, none, n_values, way, gaps=extent.gaps)
        factors = None if self.telling.factors is None else self._factors_of
        bins = cut(self.ready, feature.column, extent, int(self.model.max_bins), factors)
        self.bins[feature.column] = bins
        return CountedColumn(j, none, len(bins.edges) + 1, Threshold(), bins.edges, extent.gaps)

    def _factors_of(self, classes: Any) -> Floats:
        """What the weights of rows are multiplied by."""
        assert self.telling.factors is not None  # noqa: S101 - asked before
        return np.asarray(self.telling.factors[self.telling.target.encode(classes, strict=True)])
