"""Tree growth in an engine: each level is a group-by query by node, cell and class for each attribute.

The node of a row is an expression made of the tests on the path to it. A row with a missing value goes down one
branch, or down all branches in fractions. Only for the latter rows, the query sums fractional weights at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.engines import query as nw
from countwise.engines.bins import Bins, Decode, cut
from countwise.engines.execute import rows_of_answer
from countwise.engines.gather import EnginePart, refuse_identifiers, target_of
from countwise.engines.prepared import Extent, Ready, fetched, numbers_in, switched
from countwise.engines.relation import MOST_GROUPS, Relation
from countwise.errors import RowsRefused, TableError
from countwise.tree.features import Feature, features_of
from countwise.tree.growth.builder import ClassFactors, TableGrowth, TrainingSet
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.nodes import Tree

__all__ = ["EngineTrainingSet", "NodePaths", "open_engine"]


NOWHERE, DIVIDED = -1, -2  # node codes of rows that reach none of the nodes, and of rows that reach several
MOST_NODES = 1 << 10  # largest number of nodes of a level
_AT_ONCE = 64  # number of nodes at which one query sums the weights of divided rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EngineTrainingSet(TrainingSet):
    """Training rows in an engine."""

    ready: Ready  # the prepared engine table
    extents: dict[str, Extent]  # minimum and maximum of each column, and whether it has missing values
    weight: float  # total weight of the rows, multiplied by class weights
    class_factors: Floats | None = None  # class weights
    pilot: float = 0.0  # a number near the mean of a numeric target
    scale: float = 1.0  # the largest absolute value of a numeric target

    def grow(self, settings: GrowthSettings) -> Tree:
        """Grow a tree from all rows."""
        return _EngineGrowth(self, settings).grow()

    def bins(self, n_bins: int) -> dict[str, Bins]:
        """Discretize the numeric columns into bins with about equally many rows."""
        factors = None if self.class_factors is None else self._factors_of
        numeric = [f.column for f in self.features if not f.nominal]
        return {name: cut(self.ready, name, self.extents[name], n_bins, factors) for name in numeric}

    def _factors_of(self, classes: Any) -> Floats:
        """Return the weights of some classes."""
        assert self.class_factors is not None  # noqa: S101 - checked by the caller
        return np.asarray(self.class_factors[self.target.encode(classes, strict=True)])


def open_engine(
    part: EnginePart,
    infer_schema: Callable[[Frame], Schema],
    class_factors: ClassFactors | None,
    needs_rows: Callable[[Schema], tuple[str, str] | None],
    *,
    numeric_target: bool,
) -> EngineTrainingSet:
    """Query an engine for domains, classes and the extents of numeric columns.

    `needs_rows` returns, for a schema, why a tree cannot be grown in an engine, and a hint; None if it can.
    """
    relation, name = part.relation, part.name
    schema = infer_schema(part.frame)
    reason = needs_rows(schema)
    if reason is not None:
        raise RowsRefused(
            f"{reason[0]}; the engine table has {relation.size():,} rows.",
            hint=f"{reason[1]}, or collect the rows into memory first.",
        )
    if numeric_target and not relation.is_numeric(name):
        raise TableError(
            f"The target {name!r} has type {relation.dtypes[name]}; a regression tree needs a numeric target.",
            hint="use TreeClassifier for a nominal target.",
        )
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    ready = Ready(relation, frozenset([*numbers, *([name] if numeric_target else [])]))
    sizes = ready.sizes()
    if not sizes.known:
        raise TableError(
            "The table is empty or its target is missing in every row; at least one row with a target is needed."
        )
    extents = ready.extents(numbers)
    schema = _learn_domains(relation, schema, sizes.counted, extents)
    own = _numeric_target(ready, name) if numeric_target else _class_target(part, class_factors)
    return EngineTrainingSet(
        schema=schema,
        features=features_of(schema),
        frame=part.frame,
        n_rows=sizes.counted,
        n_left_out=sizes.rows - sizes.known,
        ready=ready,
        extents=extents,
        **{"weight": sizes.weight, **own},
    )


def _learn_domains(relation: Relation, schema: Schema, n_rows: int, extents: dict[str, Extent]) -> Schema:
    """Return the schema with the domains of nominal columns; their missing values are recorded in `extents`."""
    names = [a.name for a in schema.attributes if isinstance(a, Nominal)]
    if names:
        refuse_identifiers(relation.look([], names), schema, n_rows)
    found: dict[str, Any] = {}
    for name in names:
        relation.literals(name, [], "a tree")
        frame, _ = relation.groups([name])
        attribute = schema[name].learn(frame.columns[name])
        assert isinstance(attribute, Nominal)  # noqa: S101 - it stays nominal
        codes = attribute.encode(frame.columns[name], strict=True)
        found[name] = attribute
        extents[name] = Extent(np.nan, np.nan, bool((codes == len(attribute.values)).any()))
    return Schema(found.get(a.name, a) for a in schema.attributes)


def _numeric_target(ready: Ready, name: str) -> dict[str, Any]:
    """Return a numeric target, a number near its mean and its largest absolute value."""
    ends = ready.extents([name])[name]
    pilot = ready.relation.look([name], []).means[name]
    return {"target": Numeric(name), "pilot": pilot, "scale": max(abs(ends.low), abs(ends.high))}


def _class_target(part: EnginePart, class_factors: ClassFactors | None) -> dict[str, Any]:
    """Return a nominal target, the class weights, the total weight and the dtype of the user's classes."""
    target, label_type = target_of(part.relation, Nominal(part.name, grows=True), part.classes)
    codes = target.encode(part.classes.frame.columns[part.name], strict=True)
    counts = np.bincount(codes, weights=part.classes.weights, minlength=len(target.values)).astype(np.float64)
    factors = None if class_factors is None else class_factors(counts, target)
    weight = float((counts if factors is None else counts * factors).sum())
    return {"target": target, "class_factors": factors, "weight": weight, "label_type": label_type}


class NodePaths:
    """Paths to some nodes of one depth, in ascending order, as engine expressions."""

    def __init__(
        self,
        tree: Tree,
        features: Sequence[Feature],
        has_missing: dict[int, bool],  # for each attribute that may be tested
        nodes: Indices,
        fractions: bool,  # whether rows with a missing value go down all branches
        numeric_target: bool,
        literals: Callable[[str, Sequence[Any], str], list[Any]],  # see Relation.literals
    ) -> None:
        self.literals = literals
        self.tree, self.features, self.has_missing, self.nodes = tree, features, has_missing, nodes
        self.depth = int(tree.depths[nodes[0]])
        self.passed = tree.passed(nodes.tolist())
        self.inner = [k for k in sorted(self.passed) if tree.depths[k] < self.depth]
        self.columns = list(dict.fromkeys(features[tree.attribute[k]].column for k in self.inner))
        self.dividing = {k for k in self.inner if fractions and has_missing[int(tree.attribute[k])]}
        # indices of the nodes that parts of rows may reach, and the fraction of its parent's weight at each node
        self.partial = np.array(
            [i for i, k in enumerate(nodes.tolist()) if self.dividing & set(tree.path(k))], np.int64
        )
        self.fractions = tree.fractions(tree.weights(numeric_target)) if self.dividing else np.empty(0)

    def located(self, plan: Any) -> Any:
        """Add the node of each row to the plan as column `cw_at`, by nested when expressions.

        A column for each level would be shorter, but engines that push filters down repeat its expression.
        """
        return plan.with_columns(cw_at=self._at(0))

    def with_partial_weights(self, plan: Any, nodes: Indices) -> Any:
        """Add the weight of each row that reaches some nodes to the plan, as columns `cw_p` plus the node index."""
        passed, depths = self.tree.passed(nodes.tolist()), self.tree.depths
        plan = plan.with_columns(cw_p0=nw.col("cw_w"))
        for depth in range(1, self.depth + 1):
            plan = plan.with_columns(**{f"cw_p{k}": self._weight_at(k) for k in sorted(passed) if depths[k] == depth})
        return plan

    def _at(self, k: int) -> Any:
        """Return the expression of the node that a row reaches from node k."""
        if k not in self.passed or self.tree.depths[k] == self.depth:
            return nw.lit(k if k in self.passed else NOWHERE)
        first, missing = int(self.tree.children[k]), int(self.tree.missing[k])
        x, limits = self._column(k), self.tree.limits_of(k)
        if len(limits):
            low, high = self._at(first), self._at(first + 1)
            if missing == 0:  # a comparison with a missing value is false
                inside = nw.when(x > float(limits[0])).then(high).otherwise(low)
            else:
                inside = nw.when(x <= float(limits[0])).then(low).otherwise(high)
        else:
            branches = sorted(self._branches(k).items(), key=lambda branch: branch[0] == missing)
            inside = _chosen(x, [(values, self._at(first + b)) for b, values in branches])
        placed = self._placed(k)
        own = missing >= (2 if len(limits) else len(self._branches(k)))  # missing values have a separate branch
        if placed is None or (missing >= 0 and not own):
            return inside
        return nw.when(placed).then(inside).otherwise(self._at(first + missing) if own else nw.lit(DIVIDED))

    def _weight_at(self, k: int) -> Any:
        """Return the expression of the weight of a row that reaches node k from its parent."""
        parent = int(self.tree.parent[k])
        branch = k - int(self.tree.children[parent])
        above, x, limits = nw.col(f"cw_p{parent}"), self._column(parent), self.tree.limits_of(parent)
        if len(limits):
            inside = x <= float(limits[0]) if branch == 0 else x > float(limits[0])
        else:
            inside = x.is_in(self._branches(parent)[branch])
        taken, placed = nw.when(inside).then(above).otherwise(0.0), self._placed(parent)
        return taken if placed is None else nw.when(placed).then(taken).otherwise(above * float(self.fractions[k]))

    def _column(self, k: int) -> Any:
        return nw.col(self.features[self.tree.attribute[k]].column)

    def _branches(self, k: int) -> dict[int, list[Any]]:
        """Return the values of each branch of a node."""
        attribute = self.features[self.tree.attribute[k]].attribute
        assert isinstance(attribute, Nominal)  # noqa: S101 - numeric attributes have limits
        found: dict[int, list[Any]] = {}
        for value, branch in zip(attribute.values, self.tree.groups_of(k).tolist(), strict=False):
            if branch >= 0:
                found.setdefault(branch, []).append(value)
        return {branch: self.literals(attribute.name, values, "a tree") for branch, values in found.items()}

    def _placed(self, k: int) -> Any:
        """Return the expression of whether a value is assigned to one branch; None if all values are."""
        x, place = self._column(k), int(self.tree.attribute[k])
        if not len(self.tree.limits_of(k)):
            placed = [value for values in self._branches(k).values() for value in values]
            attribute = self.features[place].attribute
            assert isinstance(attribute, Nominal)  # noqa: S101 - numeric attributes have limits
            if len(placed) < len(attribute.values):
                return x.is_in(placed)
        return ~x.is_null() if self.has_missing[place] else None


def _chosen(x: Any, cases: Sequence[tuple[list[Any], Any]]) -> Any:
    """Return the result of the case whose values include x; that of the last case if none does."""
    if len(cases) == 1:
        return cases[0][1]
    middle = len(cases) // 2
    lower = [value for values, _ in cases[:middle] for value in values]
    return nw.when(x.is_in(lower)).then(_chosen(x, cases[:middle])).otherwise(_chosen(x, cases[middle:]))


class _EngineGrowth(TableGrowth):
    """Growth by queries to an engine."""

    def __init__(self, data: EngineTrainingSet, settings: GrowthSettings) -> None:
        self.bins = data.bins(settings.bins or 0)
        edges = {name: bins.edges for name, bins in self.bins.items()}
        super().__init__(data, settings, edges, {name: extent.gaps for name, extent in data.extents.items()})
        self.has_missing = {c.index: c.has_missing for c in self.columns}
        self.scale = data.scale

    def _root(self) -> tuple[Floats, Floats | None]:
        data = self.data
        plan = data.ready.rows([])
        if data.n_classes:
            found = data.ready.weighed(plan, [data.target.name])
            cells = np.zeros((1, data.n_classes))
            np.add.at(cells[0], self._class_codes(found), numbers_in(found, "cw_w"))
            return self._weighed(cells), None
        (row,) = rows_of_answer(_sums(plan, data.ready, data.pilot, data.target.name))
        n, total, squares = (float(row[name]) for name in ("cw_w", "cw_s", "cw_q"))
        mean = total / n
        cells = np.array([[n, 0.0, max(squares - total * mean, 0.0)]])
        return cells, np.array([data.pilot + mean])

    def _tables(self, nodes: Indices, centers: Floats | None) -> dict[int, NDArray[Any]]:
        if len(nodes) > MOST_NODES:
            raise RowsRefused(
                f"{len(nodes):,} nodes at depth {self.depth} could be split; the limit for growing a tree in an "
                f"engine is {MOST_NODES:,}.",
                hint=f"use max_depth={self.depth}, a larger min_samples_leaf or min_gain, or collect the rows into "
                "memory first.",
            )
        fractions = self.settings.missing == "fractions"
        paths = NodePaths(
            self.tree(), self.data.features, self.has_missing, nodes, fractions, self.criterion.numeric,
            self.data.ready.relation.literals,
        )  # fmt: skip
        return {c.index: self._weighed(self._table(c, paths, centers)) for c in self.columns}

    def _weighed(self, table: Floats) -> NDArray[Any]:
        """Multiply a table by the class weights; the result is of integers if possible."""
        if self.data.class_factors is not None:
            table = table * self.data.class_factors
        whole = not self.criterion.numeric and table.ndim > 2 and _kernels.float_is_integral(table.reshape(-1))
        return table.astype(np.int64) if whole else table

    # -- tables ------------------------------------------------------------------------

    def _table(self, column: CountedColumn, paths: NodePaths, centers: Floats | None) -> Floats:
        """Return the table of a column at some nodes: (nodes, cells, classes or 3)."""
        nodes, last = paths.nodes, self.n_classes or 3
        table = np.zeros((len(nodes), column.n_cells, last))
        plan = paths.located(self.data.ready.rows([self.data.features[column.index].column, *paths.columns]))
        step = max(1, MOST_GROUPS // (column.n_cells * (self.n_classes or 1)))
        for start in range(0, len(nodes), step):
            some = np.arange(start, min(start + step, len(nodes)))
            self._add_whole(table, some, column, paths, plan, centers)
        for start in range(0, len(paths.partial), _AT_ONCE):
            self._add_divided(table, paths.partial[start : start + _AT_ONCE], column, paths, plan, centers)
        return table

    def _add_whole(
        self, table: Floats, some: Indices, column: CountedColumn, paths: NodePaths, plan: Any, centers: Any
    ) -> None:
        """Add the rows that reach exactly one node."""
        nodes = paths.nodes[some]
        at = nw.col("cw_at")
        if len(some) < len(paths.nodes):
            plan = plan.filter((at >= int(nodes[0])) & (at <= int(nodes[-1])))
        elif len(paths.tree) > 1:
            plan = plan.filter(at >= 0)
        plan, cell_keys, decode = self._celled(column, plan, len(some))
        if self.criterion.numeric:
            shift = switched(at, nodes.tolist(), [nw.lit(float(c)) for c in centers[some]])
            keys = ["cw_at", *cell_keys]
            found = fetched(_sums(plan, self.data.ready, shift, self.data.target.name, keys), keys)
        else:
            found = self.data.ready.weighed(plan, ["cw_at", *cell_keys, self.data.target.name])
        place = np.searchsorted(paths.nodes, numbers_in(found, "cw_at").astype(np.int64))
        self._add(table, place, decode(found), found, "cw_w", "cw_s", "cw_q")

    def _add_divided(
        self, table: Floats, some: Indices, column: CountedColumn, paths: NodePaths, plan: Any, centers: Any
    ) -> None:
        """Add the rows that reach several nodes, with a fraction of their weight at each."""
        plan = plan.filter(nw.col("cw_at") == DIVIDED)
        if self.data.ready.relation.weights is None:
            plan = plan.with_columns(cw_w=nw.lit(1.0))
        plan = paths.with_partial_weights(plan, paths.nodes[some])
        plan, cell_keys, decode = self._celled(column, plan, len(some))
        names = {"cw_w": {i: f"cw_p{k}" for i, k in zip(some.tolist(), paths.nodes[some].tolist(), strict=True)}}
        keys = list(cell_keys)
        if self.criterion.numeric:
            y = nw.col(self.data.target.name)
            for prefix, before in (("cw_s", "cw_w"), ("cw_q", "cw_s")):
                names[prefix] = {i: f"{prefix}{i}" for i in some.tolist()}
                plan = plan.with_columns(
                    **{names[prefix][i]: nw.col(names[before][i]) * (y - float(centers[i])) for i in some.tolist()}
                )
        else:
            keys.append(self.data.target.name)
        sums = [nw.col(name).sum() for by_node in names.values() for name in by_node.values()]
        found = fetched(plan.group_by(*keys).agg(*sums), keys)
        cells = decode(found)
        for i in some.tolist():
            own = (by_node[i] for by_node in names.values())
            self._add(table, np.full(found.n_rows, i), cells, found, *own)

    def _add(self, table: Floats, place: NDArray[Any], cells: NDArray[Any], found: Frame, *names: str) -> None:
        """Add the result of a query to a table; `names` are its columns of sums."""
        if self.criterion.numeric:
            for i, name in enumerate(names):
                np.add.at(table[..., i], (place, cells), np.nan_to_num(numbers_in(found, name)))
        else:
            np.add.at(table, (place, cells, self._class_codes(found)), np.nan_to_num(numbers_in(found, names[0])))

    def _celled(self, column: CountedColumn, plan: Any, n_nodes: int) -> tuple[Any, list[str], Decode]:
        """Add columns that identify the cells of a column to a plan; return also the function that decodes them."""
        feature = self.data.features[column.index]
        attribute, name = feature.attribute, feature.column
        if isinstance(attribute, Nominal):
            return plan, [name], lambda found: attribute.encode(found.columns[name]).astype(np.int64)
        times = n_nodes * (self.n_classes or 1)
        return self.bins[name].keyed(plan, times, gaps=column.has_missing, flat=self.data.ready.slow_whens)

    def _class_codes(self, found: Frame) -> NDArray[Any]:
        codes: NDArray[Any] = self.data.target.encode(found.columns[self.data.target.name], strict=True)
        return codes


def _sums(plan: Any, ready: Ready, shift: Any, target: str, keys: Sequence[str] = ()) -> Any:
    """Return the weight, and the sums of the target minus a shift and of its square, for each group."""
    fresh = {"cw_d": nw.col(target) - shift}
    if ready.relation.weights is None:
        fresh["cw_w"] = nw.lit(1.0)
    plan = plan.with_columns(**fresh)
    plan = plan.with_columns(cw_s=nw.col("cw_w") * nw.col("cw_d"))
    plan = plan.with_columns(cw_q=nw.col("cw_s") * nw.col("cw_d"))
    sums = [nw.col(name).sum() for name in ("cw_w", "cw_s", "cw_q")]
    return plan.group_by(*keys).agg(*sums) if keys else plan.select(*sums)
