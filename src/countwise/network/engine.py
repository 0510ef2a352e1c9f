"""Networks of a table that an engine holds: every family is asked of it by a group-by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.base.term import Term, blank_tallies
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.distributions import Binned
from countwise.engines.gather import EnginePart, moments_of, refuse_identifiers, scatter_of, target_of
from countwise.engines.moments import gaps, moments, products, values
from countwise.engines.relation import Classes, ColumnSummary, Relation
from countwise.errors import RowsRefused, TableError, warn
from countwise.network.base import is_empty
from countwise.network.families import FamilyTally
from countwise.network.family_scores import Family, MixedFamilies
from countwise.network.parent_configurations import codes_of_parents, joined_parents
from countwise.network.search.dispatch import arcs_of, given_graph
from countwise.network.structure_learning import Searching
from countwise.sources.memory import free_name
from countwise.tallies import Counts, Moments, Scatter, Values

__all__ = ["Relating"]


@dataclass(frozen=True, eq=False)
class _NetworkEngine:
    """A relation whose numbers may be held by their ranges, and what the first rows say of it."""

    relation: Relation
    look: ColumnSummary
    rows: int
    cuts: Mapping[str, Any]

    def coded(self, axes: Sequence[Nominal], frame: Frame) -> dict[str, NDArray[Any]]:
        """Names, or ranges, of an answer as codes."""
        return {a.name: self._codes(a, frame.columns[a.name]) for a in axes}

    def _codes(self, a: Nominal, column: Any) -> NDArray[Any]:
        if a.name not in self.cuts:
            return a.encode(column, strict=True)
        numbers = Numeric(a.name).encode(column).astype(np.float64)
        codes = np.where(np.isnan(numbers), a.missing, np.nan_to_num(numbers))
        return codes.astype(narrowest(a.missing + 2))

    def counts(self, blank: Counts) -> Counts:
        """From every combination of values that is there."""
        frame, weights = self.relation.groups([a.name for a in blank.axes])
        return blank.fill(Table(self.coded(blank.axes, frame), frame.n_rows, weights))

    def values(self, parents: Sequence[Nominal], of: Attribute) -> Table:
        """The different values of a number in each combination of its parents' values, as rows with a weight."""
        frame, weights = values(self.relation, of.name, self.look, [a.name for a in parents], self.rows)
        column = Numeric(of.name).encode(frame.columns[of.name]).astype(np.float64)
        return Table({**self.coded(parents, frame), of.name: column}, frame.n_rows, weights)

    def scatter(self, parents: Sequence[Nominal], blank: Scatter) -> Scatter:
        """The moments of numbers in each combination of names, of rows in which all are there."""
        names = list(blank.of.names)
        found = products(self.relation, [(name, None) for name in names], names, self.look, [a.name for a in parents])
        codes = self._combinations(parents, found.keys)
        codes = np.where(found.present.all(axis=1), codes, len(blank.given.values))
        return scatter_of(blank, codes, found)

    def moments(self, parents: Sequence[Nominal], asked: Sequence[Moments]) -> list[Moments]:
        """The moments of several numbers in each combination of the same names, by one question."""
        found = moments(self.relation, [t.of.name for t in asked], self.look, [a.name for a in parents])
        codes = self._combinations(parents, found.keys)
        return [moments_of(blank, codes, found, j) for j, blank in enumerate(asked)]

    def _combinations(self, parents: Sequence[Nominal], keys: Frame) -> Indices:
        table = Table(self.coded(parents, keys), keys.n_rows)
        return codes_of_parents(parents, table).astype(np.int64)

    def tallies(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What every family asks for: tables one by one, numbers with the same parents together."""
        found: dict[str, Any] = {}
        together: dict[tuple[Nominal, ...], list[str]] = {}
        for name, blank in asked.items():
            if isinstance(blank, Counts):
                found[name] = self.counts(blank)
            elif isinstance(blank, FamilyTally) and isinstance(blank.filled, Scatter):
                found[name] = replace(blank, inner=self.scatter(blank.parents, blank.filled))
            elif isinstance(blank, FamilyTally) and isinstance(blank.filled, Moments):
                together.setdefault(blank.parents, []).append(name)
            elif isinstance(blank, FamilyTally) and isinstance(blank.filled, Values):
                found[name] = blank.fill(self.values(blank.parents, blank.of))
            else:
                raise RowsRefused(
                    f"A network needs the rows of {name!r}; the relation has {self.rows:,}.",
                    hint="fetch them into memory, or leave the column out.",
                )
        for parents, names in together.items():
            for name, inner in zip(names, self.moments(parents, [asked[n].filled for n in names]), strict=True):
                found[name] = replace(asked[name], inner=inner)
        return found


class _EngineFamilies(MixedFamilies):
    """Families that an engine counts."""

    def __init__(
        self,
        engine: _NetworkEngine,
        nodes: Sequence[Attribute],
        laws: Mapping[str, Any],
        how: tuple[Any, ...],
        even: bool,
    ) -> None:
        score, ess, total = how
        super().__init__(nodes, Table({}, 0), laws, score, ess, even=even)
        self.engine, self.total = engine, total

    def tables(self, asked: Sequence[Family]) -> list[NDArray[Any]]:
        """A group-by each."""
        self.counted += len(asked)
        for family in asked:
            self._cells(family)
        axes = [tuple(self.attributes[n] for n in (*above, child)) for child, above in asked]
        return [self.engine.counts(Counts(each)).table for each in axes]

    def rows(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Table:
        """The values of the only number, counted, in each combination of the names."""
        (number,) = numbers  # laws that ask for rows depend on names alone
        table = self.engine.values(names, number)
        given = joined_parents(names)
        codes = codes_of_parents(names, table)
        there = (codes < len(given.values)) & ~np.isnan(table[number.name])
        return table.with_column(given.name, codes).take(there)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """By sums of products."""
        return self.engine.scatter(names, Scatter(joined_parents(names), Vector("(numbers)", tuple(numbers))))


class Relating(Searching):
    """Networks that learn where the data lies."""

    def _learn_relation(self, part: EnginePart) -> None:
        if hasattr(self, "tallies_"):
            raise TableError("A network learns from one relation at a time.", hint="merge two by +.")
        relation, empty = part.relation, part.frame
        schema = self._infer_schema(empty)
        lost = gaps(relation, list(schema))
        relation, classes = self._rows_used(part, schema, lost)
        self._refuse_texts(schema, classes.rows)
        names = [a.name for a in schema.attributes if isinstance(a, Nominal)]
        look = relation.look([n for n in schema if n not in names], names)
        refuse_identifiers(look, schema, classes.rows)
        relation.refuse_infinity(list(schema))
        schema = Schema(
            a.learn(relation.groups([a.name])[0].columns[a.name]) if isinstance(a, Nominal) else a
            for a in schema.attributes
        )
        target, label_type = self._class_of(relation, classes, empty)
        vars(self).update(self._names(empty))
        self.schema_, self.target_ = schema, target
        self._label_type, self._known_target = label_type, relation.target is not None
        self.em_, self.n_rows_, self.n_left_out_ = None, classes.rows, 0
        engine = self._prepare_from(_NetworkEngine(relation, look, classes.rows, {}), classes, lost)
        self.tallies_ = self._asked(engine, self._parts_over(schema, target), classes)

    def _rows_used(self, part: EnginePart, schema: Schema, lost: Mapping[str, int]) -> tuple[Relation, Classes]:
        """The rows that count; of missing='complete' those without a gap."""
        relation, classes = part.relation, part.classes
        if classes.rows == 0:
            raise TableError("The relation is empty: at least one row is needed.")
        if self.missing != "complete" or not any(lost.values()):
            return relation, classes
        whole = relation.complete(list(schema))
        kept = whole.classes()
        if kept.rows == 0:
            raise TableError("Every row has a missing cell.", hint="missing='available'.")
        warn(f"{classes.rows - kept.rows} of {classes.rows} rows were left out: they have a missing cell.")
        return whole, replace(kept, left_out=classes.left_out)

    def _refuse_texts(self, schema: Schema, rows: int) -> None:
        for a in schema.attributes:
            if not isinstance(a, Nominal | Numeric):
                raise RowsRefused(
                    f"{a.name!r} is {a.kind}: a network needs its rows, and the relation has {rows:,}.",
                    hint="fetch them into memory, or leave the column out.",
                )

    def _class_of(self, relation: Relation, classes: Classes, empty: Frame) -> tuple[Nominal, Any]:
        if relation.target is None:
            return Nominal(free_name("class", empty), (0,), grows=False), None
        return target_of(relation, Nominal(relation.target, grows=True), classes)

    def _asked(self, engine: _NetworkEngine, parts: list[Term], classes: Classes) -> dict[str, Any]:
        wanted = blank_tallies(parts, self.target_)
        known = engine.relation.target is not None and self.target_.name in engine.relation.dtypes
        alone = [] if known or self.target_.name in self.graph_ else [self.target_.name]  # rows without a class
        found = engine.tallies({name: blank for name, blank in wanted.items() if name not in alone})
        for name in alone:
            found[name] = Counts((self.target_,), np.array([classes.weights.sum(), 0]))
        return {name: found[name] for name in wanted}

    def _prepare_from(self, engine: _NetworkEngine, classes: Classes, lost: Mapping[str, int]) -> _NetworkEngine:
        """Choose the structure, the law of each number and where it is cut, by what the engine counts."""
        if self._latent():
            raise RowsRefused("Latent nodes are learned by EM, which needs rows.", hint="collect the rows.")
        own = self._class_node(self.target_)
        names = [*([own.name] if own is not None else []), *self.schema_]
        arcs = [*(arcs_of(self.structure) or []), *self._hand_arcs()]
        self.graph_ = given_graph(names, arcs)
        self.found_, self.cuts_ = None, {}
        self._laws = self._first_laws(self.graph_, self.schema_)
        self._cut_from(engine)
        engine = replace(engine, relation=engine.relation.cut(self.cuts_), cuts=self.cuts_)
        self._check_arcs(self.graph_)
        self._refuse_gaps_for_em(lost, engine.rows)
        if isinstance(self.structure, str) and self.structure != "given":
            self._search_in(engine, arcs, classes, lost)
            self._refuse_gaps_for_em(lost, engine.rows)
        return engine

    def _cut_from(self, engine: _NetworkEngine) -> None:
        given = [self.target_] if engine.relation.target is not None else []
        for name, law in self._laws.items():
            if isinstance(law, Binned):
                rows = engine.values(given, self.schema_[name])
                if not given:
                    rows = rows.with_column(self.target_.name, np.zeros(rows.n_rows, dtype=np.uint8))
                cuts = law.how.cut(law.blank(self.target_, self.schema_[name]).fill(rows))
                self.cuts_[name] = tuple(cuts.edges.tolist())

    def _search_in(
        self, engine: _NetworkEngine, arcs: Sequence[tuple[str, str]], classes: Classes, lost: Mapping[str, int]
    ) -> None:
        nodes = self._nodes(self.schema_, self.target_)
        free = [a for a in nodes.values() if isinstance(a, Nominal | Numeric) and not is_empty(a)]
        names = [a.name for a in free]
        laws = {name: law for name, law in self._laws.items() if not isinstance(law, Binned)}
        how = (self.criterion, float(self.ess), float(classes.weights.sum()))
        families = _EngineFamilies(engine, free, laws, how, even=bool(self._with_gaps(lost)))
        self.found_ = self._with_others(self._how(names, arcs).find(families, names), nodes)
        self._check_kept(self.found_.graph, names, arcs)
        self.graph_ = self.found_.graph

    def _with_gaps(self, lost: Mapping[str, int]) -> list[str]:
        """The nodes with gaps that matter: names, and numbers that numbers depend on."""
        if self.missing == "complete":
            return []
        numbers = {name for name, law in self._laws.items() if not isinstance(law, Binned)}
        linked = {name for arc in self.graph_.arcs if numbers.issuperset(arc) for name in arc}
        nodes = self._nodes(self.schema_, self.target_)
        return [
            name
            for name, n in lost.items()
            if n and (name in linked or name not in numbers) and not is_empty(nodes[name])
        ]

    def _refuse_gaps_for_em(self, lost: Mapping[str, int], rows: int) -> None:
        """EM must see rows; in an engine only what is there can be counted."""
        for name in self._with_gaps(lost) if self.missing == "em" else ():
            raise RowsRefused(
                f"{name!r} has missing cells, and EM needs the relation's {rows:,} rows.",
                hint="missing='available' counts what is there.",
            )
