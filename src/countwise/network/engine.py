"""Networks of a table that an engine holds: every family is counted by a group-by."""

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

_HINT = "fetch them into memory, or leave the column out."


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The rows of a relation, as `StructureLearner` asks for them."""

    relation: Relation
    summary: ColumnSummary  # what the columns hold
    classes: Classes  # the rows of each class
    lost: Mapping[str, int]  # how many values of each column are missing
    missing: str  # the setting: "em", "available" or "complete"
    cuts: Mapping[str, Any] = field(default_factory=dict)  # where numeric columns are cut
    incomplete: tuple[str, ...] = ()  # nodes with missing values that matter

    @classmethod
    def open(cls, part: EnginePart, schema: Schema, missing: str) -> tuple[EngineRows, Schema]:
        """The rows that count, and the schema with its domains."""
        part.matched(schema)
        lost = gaps(part.relation, list(schema))
        relation, classes = _used(part, schema, lost, missing)
        for a in schema.attributes:
            if not isinstance(a, Nominal | Numeric):
                raise RowsRefused(
                    f"{a.name!r} is {a.kind}: a network needs its rows, and the relation has {classes.rows:,}.",
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
        return cls(relation, summary, classes, lost, missing), learned

    # -- what a structure learner asks -----------------------------------------------------

    def edges(self, rule: Binned, target: Nominal, a: Attribute) -> tuple[float, ...]:
        """From the different values in each class."""
        given = [target] if self.relation.target is not None else []
        rows = self._values(given, a)
        if not given:
            rows = rows.with_column(target.name, np.zeros(rows.n_rows, dtype=np.uint8))
        return tuple(rule.how.cut(rule.blank(target, a).fill(rows)).edges.tolist())

    def laid_out(self, plan: Blueprint, schema: Schema, target: Nominal) -> EngineRows:
        """With numeric columns by their ranges."""
        nodes = plan.nodes(schema, target)
        some = tuple(n for n, count in self.lost.items() if count and self.missing != "complete")
        incomplete = tuple(n for n in some if not is_empty(nodes[n]))
        return replace(self, relation=self.relation.cut(plan.cuts), cuts=plan.cuts, incomplete=incomplete)

    def _filled_by_em(self, plan: Blueprint) -> list[str]:
        """The nodes whose missing values matter: nominal ones, and Gaussians with an arc to another."""
        numeric = plan.of_numbers
        linked = {name for arc in plan.graph.arcs if numeric.keys() >= set(arc) for name in arc}
        return [name for name in self.incomplete if name in linked or name not in numeric]

    def check(self, plan: Blueprint) -> None:
        """EM must see rows; an engine counts only what is present."""
        if plan.latent:
            raise RowsRefused("Latent nodes are learned by EM, which needs rows.", hint="collect the rows.")
        for name in self._filled_by_em(plan) if self.missing == "em" else ():
            raise RowsRefused(
                f"{name!r} has missing values, and EM needs the relation's {self.classes.rows:,} rows.",
                hint="missing='available' counts what is present.",
            )

    def families(self, free: Sequence[Attribute], plan: Blueprint, score: str, size: float) -> Families:
        """Counted by the engine."""
        return _EngineFamilies(self, free, plan, score, size)

    # -- what is counted -------------------------------------------------------------------

    def tallies(self, asked: Mapping[str, Any], target: Nominal) -> dict[str, Any]:
        """What every family asks for: tables one by one, numbers with the same parents together."""
        found: dict[str, Any] = {}
        together: dict[tuple[Nominal, ...], list[str]] = {}
        for name, blank in asked.items():
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
                    f"A network needs the rows of {name!r}; the relation has {self.classes.rows:,}.", hint=_HINT
                )
        for parents, names in together.items():
            for name, inner in zip(names, self._moments(parents, [asked[n].filled for n in names]), strict=True):
                found[name] = replace(asked[name], inner=inner)
        return {name: found[name] for name in asked}

    def counts(self, blank: Counts) -> Counts:
        """From every combination of values that occurs."""
        frame, weights = self.relation.groups([a.name for a in blank.axes])
        return blank.fill(Table(self._coded(blank.axes, frame), frame.n_rows, weights))

    def scatter(self, parents: Sequence[Nominal], blank: Scatter) -> Scatter:
        """The moments of numbers in each combination of nominal values, of rows in which nothing is missing."""
        names = list(blank.of.names)
        found = products(
            self.relation, [(name, None) for name in names], names, self.summary, [a.name for a in parents]
        )
        codes = self._combinations(parents, found.keys)
        codes = np.where(found.present.all(axis=1), codes, len(blank.given.values))
        return scatter_of(blank, codes, found)

    def _moments(self, parents: Sequence[Nominal], asked: Sequence[Moments]) -> list[Moments]:
        """The moments of several numbers in each combination of the same nominal values, by one question."""
        found = moments(self.relation, [t.of.name for t in asked], self.summary, [a.name for a in parents])
        codes = self._combinations(parents, found.keys)
        return [moments_of(blank, codes, found, j) for j, blank in enumerate(asked)]

    def _values(self, parents: Sequence[Nominal], of: Attribute) -> Table:
        """The different values of a number in each combination of its parents' values, as rows with a weight."""
        names = [a.name for a in parents]
        frame, weights = values(self.relation, of.name, self.summary, names, self.classes.rows)
        column = Numeric(of.name).encode(frame.columns[of.name]).astype(np.float64)
        return Table({**self._coded(parents, frame), of.name: column}, frame.n_rows, weights)

    def complete_values(self, parents: Sequence[Nominal], of: Attribute) -> Table:
        """The same where nothing is missing, with the combination of the parents' values as a column."""
        table, given = self._values(parents, of), joined_parents(parents)
        codes = codes_of_parents(parents, table)
        there = (codes < len(given.values)) & ~np.isnan(table[of.name])
        return table.with_column(given.name, codes).take(there)

    def _combinations(self, parents: Sequence[Nominal], keys: Frame) -> Indices:
        table = Table(self._coded(parents, keys), keys.n_rows)
        return codes_of_parents(parents, table).astype(np.int64)

    def _coded(self, axes: Sequence[Nominal], frame: Frame) -> dict[str, NDArray[Any]]:
        """Nominal values, or ranges, of an answer as codes."""
        return {a.name: self._codes(a, frame.columns[a.name]) for a in axes}

    def _codes(self, a: Nominal, column: Any) -> NDArray[Any]:
        if a.name not in self.cuts:
            return a.encode(column, strict=True)
        numbers = Numeric(a.name).encode(column).astype(np.float64)
        codes = np.where(np.isnan(numbers), a.missing, np.nan_to_num(numbers))
        return codes.astype(narrowest(a.missing + 2))


def _used(part: EnginePart, schema: Schema, lost: Mapping[str, int], missing: str) -> tuple[Relation, Classes]:
    """The rows that count; for missing='complete' those without a missing value."""
    relation, classes = part.relation, part.classes
    if classes.rows == 0:
        raise TableError("The relation is empty: at least one row is needed.")
    if missing != "complete" or not any(lost.values()):
        return relation, classes
    whole = relation.complete(list(schema))
    kept = whole.classes()
    if kept.rows == 0:
        raise TableError("Every row has a missing value.", hint="missing='available'.")
    warn(f"{classes.rows - kept.rows} of {classes.rows} rows were left out: they have a missing value.")
    return whole, replace(kept, left_out=classes.left_out)


class _EngineFamilies(Families):
    """Families that an engine counts."""

    def __init__(self, rows: EngineRows, free: Sequence[Attribute], plan: Blueprint, score: str, size: float) -> None:
        even = bool(rows._filled_by_em(plan))
        super().__init__(free, Table({}, 0), score, size, distributions=plan.of_numbers, even=even)
        self.engine, self.total = rows, float(rows.classes.weights.sum())

    def tables(self, asked: Sequence[Family]) -> list[NDArray[Any]]:
        """A group-by each."""
        self.counted += len(asked)
        for family in asked:
            self._cells(family)
        axes = [tuple(self.attributes[n] for n in (*above, child)) for child, above in asked]
        return [self.engine.counts(Counts(each)).table for each in axes]

    def rows(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Table:
        """The values of the only number, counted, in each combination of nominal values."""
        (number,) = numbers  # distributions that ask for rows depend on nominal nodes alone
        return self.engine.complete_values(names, number)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """By sums of products."""
        return self.engine.scatter(names, Scatter(joined_parents(names), Vector("(numbers)", tuple(numbers))))

    def _with(self, name: str) -> Families:
        """The engine has counted the rows."""
        return self
