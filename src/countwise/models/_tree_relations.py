"""Trees of a table that an engine holds: it answers a group-by for each attribute and level, and rows stay there."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.attributes import Nominal, Numeric
from countwise.bags import Text
from countwise.errors import RowsRefused, TableError
from countwise.frames import Frame
from countwise.models._tree_pruning import known_rules, needs_no_rows, pruned_by_itself, unknown_rule
from countwise.relating import refuse_identifiers
from countwise.schema import Schema
from countwise.sources.memory import Memory, memory
from countwise.sources.relation import Relation
from countwise.sources.relation_cuts import Bins, cut
from countwise.sources.relation_levels import Extent, Ready
from countwise.trees.features import Feature, features_of
from countwise.trees.growth import Settings
from countwise.trees.relation_passes import Telling, grow_in_engine
from countwise.trees.tables import TableColumn
from countwise.trees.tree import Tree
from countwise.trees.ways import Threshold

__all__ = ["grown_in_engine"]


def grown_in_engine(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], int, str]:
    """What a tree learns from a relation, how many rows had no target, and what it is called."""
    relation = Relation.open(X, y, sample_weight)
    if relation.target is None:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    schema = model._kinds(relation.empty())
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
    asked = _Asked(model, ready, schema, extents, telling, sizes.weight if counts is None else float(counts.sum()))
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


def _told(model: Any, ready: Ready) -> tuple[Any, Telling, Floats | None, Any]:
    """The target, what is told of rows, the weight of each class, and the dtype of classes."""
    relation = ready.relation
    name = str(relation.target)
    if model._numbers:
        target = Numeric(name)
        ends = ready.extents([name])[name]
        pilot = relation.look([name], []).means[name]
        return target, Telling(target, None, pilot, max(abs(ends.low), abs(ends.high))), None, None
    rows = _classes(relation)
    classes = Nominal(name, grows=True).learn(rows.target)
    codes = classes.encode(rows.target, strict=True)
    counts = np.bincount(codes, weights=rows.weights, minlength=len(classes.values)).astype(np.float64)
    factors = model._factors(counts, classes)
    return (
        classes,
        Telling(classes, factors),
        counts if factors is None else counts * factors,
        rows.label_type,
    )


def _classes(relation: Relation) -> Memory:
    """The classes that there are, a row and a weight for each."""
    frame, weights = relation.groups([str(relation.target)])
    columns = {**frame.columns, "cw_any": np.zeros(frame.n_rows)}  # a target alone is no table
    return memory(Frame(columns, frame.n_rows, named=True), relation.target, weights)


class _Asked:
    """What is asked of an engine, by the settings of a model."""

    def __init__(
        self, model: Any, ready: Ready, schema: Schema, extents: dict[str, Extent], telling: Telling, weight: float
    ) -> None:
        self.model, self.ready, self.extents, self.telling = model, ready, extents, telling
        self.features: list[Feature] = features_of(schema)
        self.splitting = model._splitting()
        self.many = np.array([self.splitting.has_many(f, weight) for f in self.features], dtype=bool)
        self.bins: dict[str, Bins] = {}

    def grow(self) -> Tree:
        """The tree."""
        columns = [c for j, f in enumerate(self.features) if (c := self._column(j, f)) is not None]
        settings = Settings(**self.model._stopping(), many=self.many)
        return grow_in_engine(
            self.ready, self.features, columns, self.bins, self.telling, self.model._criterion(), settings
        )

    def _column(self, j: int, feature: Feature) -> TableColumn | None:
        none, extent = np.empty(0, dtype=np.uint8), self.extents[feature.column]
        if isinstance(feature.attribute, Nominal):
            n_values = len(feature.attribute.values)
            way = self.splitting.way_of(feature) if n_values > 1 else None
            return None if way is None else TableColumn(j, none, n_values, way, gaps=extent.gaps)
        factors = None if self.telling.factors is None else self._factors_of
        bins = cut(self.ready, feature.column, extent, int(self.model.max_bins), factors)
        self.bins[feature.column] = bins
        return TableColumn(j, none, len(bins.edges) + 1, Threshold(), bins.edges, extent.gaps)

    def _factors_of(self, classes: Any) -> Floats:
        """What the weights of rows are multiplied by."""
        assert self.telling.factors is not None  # noqa: S101 - asked before
        return np.asarray(self.telling.factors[self.telling.target.encode(classes, strict=True)])
