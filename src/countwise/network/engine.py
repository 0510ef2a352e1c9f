"""Networks from a table in an engine: every family is counted by a group-by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.distributions import Binned
from countwise.engines.gather import EnginePart, moments_of, refuse_identifiers, scatter_of
from countwise.engines.moments import gaps, moments, products, values
from countwise.engines.relation import Classes, ColumnSummary, Relation
from countwise.errors import RowsRefused, TableError, warn
from countwise.network.blueprint import Blueprint, is_empty
from countwise.network.families import FamilyTally, codes_of_parents, joined_parents
from countwise.network.family_scores import Families, Family
from countwise.tallies import Counts, Moments, Scatter, Values

__all__ = ["EngineRows"]

_HINT = "load the rows into memory, or drop the column."


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The rows of an engine table, with the interface that `StructureLearner` needs."""

    relation: Relation
    summary: ColumnSummary  # of the column contents
    classes: Classes  # the rows of each class
    n_missing: Mapping[str, int]  # the number of missing values of each column
    missing: str  # the parameter: "em", "available" or "complete"
    cuts: Mapping[str, Any] = field(default_factory=dict)  # the cut points of discretized columns
    incomplete: tuple[str, ...] = ()  # nodes with missing values

    @classmethod
    def open(cls, part: EnginePart, schema: Schema, missing: str) -> tuple[EngineRows, Schema]:
        """Return the rows to count, and the schema with the values of each column."""
        part.matched(schema)
        n_missing = gaps(part.relation, list(schema))
        relation, classes = _used(part, schema, n_missing, missing)
        for a in schema.attributes:
            if not isinstance(a, Nominal | Numeric):
                raise RowsRefused(
                    f"Column {a.name!r} has the type {a.kind}; a network needs its {classes.rows:,} rows in memory.",
                    hint=_HINT,
                )
        nominal = [a.name for a in schema.attributes if isinstance(a, Nominal)]
        summary = relation.look([n for n in schema if n not in nominal], nominal)
        refuse_identifiers(summary, schema, classes.rows)
        relation.refuse_infinity(list(schema))
        learned = Schema(
            a.learn(relation.groups([a.name])[0].columns[a.name]) if isinstance(a, Nominal) else a
            for a in schema.attributes
        )
        return cls(relation, summary, classes, n_missing, missing), learned

    # -- interface for the structure learner -----------------------------------------------

    def edges(self, rule: Binned, target: Nominal, a: Attribute) -> tuple[float, ...]:
        """Return the cut points of a column, from its distinct values in each class."""
        given = [target] if self.relation.target is not None else []
        rows = self._values(given, a)
        if not given:
            rows = rows.with_column(target.name, np.zeros(rows.n_rows, dtype=np.uint8))
        return tuple(rule.how.cut(rule.blank(target, a).fill(rows)).edges.tolist())

    def prepare(self, plan: Blueprint, schema: Schema, target: Nominal) -> EngineRows:
        """Return the rows with discretized numeric columns."""
        nodes = plan.nodes(schema, target)
        some = tuple(n for n, count in self.n_missing.items() if count and self.missing != "complete")
        incomplete = tuple(n for n in some if not is_empty(nodes[n]))
        return replace(self, relation=self.relation.cut(plan.cuts), cuts=plan.cuts, incomplete=incomplete)

    def _filled_by_em(self, plan: Blueprint) -> list[str]:
        """Return the nodes whose missing values need EM: nominal ones, and Gaussians with a numeric neighbor."""
        numeric = plan.of_numbers
        linked = {name for arc in plan.graph.arcs if numeric.keys() >= set(arc) for name in arc}
        return [name for name in self.incomplete if name in linked or name not in numeric]

    def check(self, plan: Blueprint) -> None:
        """Raise an error if EM is needed: it needs rows in memory."""
        if plan.latent:
            raise RowsRefused(
                "Latent nodes are learned by EM, which needs the rows in memory.", hint="load the rows into memory."
            )
        for name in self._filled_by_em(plan) if self.missing == "em" else ():
            raise RowsRefused(
                f"Column {name!r} has missing values, and EM needs all {self.classes.rows:,} rows in memory.",
                hint="use missing='available', which counts the observed values.",
            )

    def families(self, free: Sequence[Attribute], plan: Blueprint, score: str, size: float) -> Families:
        """Return the family scores, counted by the engine."""
        return _EngineFamilies(self, free, plan, score, size)

    # -- counting --------------------------------------------------------------------------

    def tallies(self, blanks: Mapping[str, Any], target: Nominal) -> dict[str, Any]:
        """Fill the tallies of all families; numeric nodes with the same parents are counted by one query."""
        found: dict[str, Any] = {}
        together: dict[tuple[Nominal, ...], list[str]] = {}
        for name, blank in blanks.items():
            inner = blank.filled if isinstance(blank, FamilyTally) else None
            if name == target.name and self.relation.target is None:  # rows without a class
                found[name] = Counts((target,), np.array([self.classes.weights.sum(), 0]))
            elif isinstance(blank, Counts):
                found[name] = self.counts(blank)
            elif isinstance(inner, Scatter):
                found[name] = replace(blank, inner=self.scatter(blank.parents, inner))
            elif isinstance(inner, Moments):
                together.setdefault(blank.parents, []).append(name)
            elif isinstance(inner, Values):
                found[name] = blank.fill(self._values(blank.parents, blank.of))
            else:
                raise RowsRefused(
                    f"The distribution of {name!r} needs all {self.classes.rows:,} rows in memory.", hint=_HINT
                )
        for parents, names in together.items():
            for name, inner in zip(names, self._moments(parents, [blanks[n].filled for n in names]), strict=True):
                found[name] = replace(blanks[name], inner=inner)
        return {name: found[name] for name in blanks}

    def counts(self, blank: Counts) -> Counts:
        """Return the counts of every combination of values that occurs."""
        frame, weights = self.relation.groups([a.name for a in blank.axes])
        return blank.fill(Table(self._coded(blank.axes, frame), frame.n_rows, weights))

    def scatter(self, parents: Sequence[Nominal], blank: Scatter) -> Scatter:
        """Return the moments of numeric columns for each combination of nominal values, from complete rows."""
        names = list(blank.of.names)
        found = products(
            self.relation, [(name, None) for name in names], names, self.summary, [a.name for a in parents]
        )
        codes = self._combinations(parents, found.keys)
        codes = np.where(found.present.all(axis=1), codes, len(blank.given.values))
        return scatter_of(blank, codes, found)

    def _moments(self, parents: Sequence[Nominal], blanks: Sequence[Moments]) -> list[Moments]:
        """Return the moments of several numeric columns for the same combinations of nominal values, by one query."""
        found = moments(self.relation, [t.of.name for t in blanks], self.summary, [a.name for a in parents])
        codes = self._combinations(parents, found.keys)
        return [moments_of(blank, codes, found, j) for j, blank in enumerate(blanks)]

    def _values(self, parents: Sequence[Nominal], of: Attribute) -> Table:
        """Return the distinct values of a numeric column for each combination of its parents, as weighted rows."""
        names = [a.name for a in parents]
        frame, weights = values(self.relation, of.name, self.summary, names, self.classes.rows)
        column = Numeric(of.name).encode(frame.columns[of.name]).astype(np.float64)
        return Table({**self._coded(parents, frame), of.name: column}, frame.n_rows, weights)

    def complete_values(self, parents: Sequence[Nominal], of: Attribute) -> Table:
        """Return the complete rows of `_values`, with the combination of the parents' values as a column."""
        table, given = self._values(parents, of), joined_parents(parents)
        codes = codes_of_parents(parents, table)
        complete = (codes < len(given.values)) & ~np.isnan(table[of.name])
        return table.with_column(given.name, codes).take(complete)

    def _combinations(self, parents: Sequence[Nominal], keys: Frame) -> Indices:
        table = Table(self._coded(parents, keys), keys.n_rows)
        return codes_of_parents(parents, table).astype(np.int64)

    def _coded(self, axes: Sequence[Nominal], frame: Frame) -> dict[str, NDArray[Any]]:
        """Encode the nominal values, or the bins, of a query result."""
        return {a.name: self._codes(a, frame.columns[a.name]) for a in axes}

    def _codes(self, a: Nominal, column: Any) -> NDArray[Any]:
        if a.name not in self.cuts:
            return a.encode(column, strict=True)
        numbers = Numeric(a.name).encode(column).astype(np.float64)
        codes = np.where(np.isnan(numbers), a.missing, np.nan_to_num(numbers))
        return codes.astype(narrowest(a.missing + 2))


def _used(part: EnginePart, schema: Schema, n_missing: Mapping[str, int], missing: str) -> tuple[Relation, Classes]:
    """Return the rows to count; for missing='complete' only rows without a missing value."""
    relation, classes = part.relation, part.classes
    if classes.rows == 0:
        raise TableError("The table is empty; at least one row is needed.")
    if missing != "complete" or not any(n_missing.values()):
        return relation, classes
    whole = relation.complete(list(schema))
    kept = whole.classes()
    warn(f"{classes.rows - kept.rows} of {classes.rows} rows were excluded because they have a missing value.")
    return whole, replace(kept, left_out=classes.left_out)


class _EngineFamilies(Families):
    """Family scores from counts by an engine."""

    def __init__(self, rows: EngineRows, free: Sequence[Attribute], plan: Blueprint, score: str, size: float) -> None:
        even = bool(rows._filled_by_em(plan))
        super().__init__(free, Table({}, 0), score, size, distributions=plan.of_numbers, even=even)
        self.engine, self.total = rows, float(rows.classes.weights.sum())

    def tables(self, families: Sequence[Family]) -> list[NDArray[Any]]:
        """Count each family by a group-by."""
        self.counted += len(families)
        for family in families:
            self._cells(family)
        axes = [tuple(self.attributes[n] for n in (*above, child)) for child, above in families]
        return [self.engine.counts(Counts(each)).table for each in axes]

    def rows(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Table:
        """Return the weighted values of the only numeric column for each combination of nominal values."""
        (number,) = numbers  # densities that need rows have nominal parents only
        return self.engine.complete_values(names, number)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """Return the moments of numeric columns from sums of products."""
        return self.engine.scatter(names, Scatter(joined_parents(names), Vector("(numbers)", tuple(numbers))))

    def _with(self, name: str) -> Families:
        """Return the same scores: the engine cannot restrict the rows."""
        return self
