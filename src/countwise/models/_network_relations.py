"""Networks of a table that an engine holds: every family is asked of it by a group-by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.attributes import Nominal
from countwise.cells import cell_of
from countwise.errors import RowsRefused, TableError
from countwise.frames import Frame, is_missing, taken
from countwise.learning import blanks
from countwise.models._network_search import Searching
from countwise.network.choosing import arcs_of, given_graph
from countwise.network.mixed import MixedFamilies
from countwise.network.scores import Family
from countwise.parts import Part
from countwise.relating import rows_of
from countwise.schema import Schema
from countwise.sources.memory import memory
from countwise.sources.relation import Relation
from countwise.table import Table
from countwise.tallies import Counts

__all__ = ["Relating"]


class _Asked(MixedFamilies):
    """Families whose tables an engine counts."""

    def __init__(self, relation: Relation, nodes: Sequence[Nominal], total: float, score: str, ess: float) -> None:
        super().__init__(nodes, Table({}, 0), {}, score, ess)
        self.relation, self.total = relation, total

    def tables(self, asked: Sequence[Family]) -> list[NDArray[Any]]:
        """A group-by each."""
        self.counted += len(asked)
        for family in asked:
            self._cells(family)
        return [_counted(self.relation, [self.attributes[n] for n in (*above, child)]) for child, above in asked]


def _counted(relation: Relation, axes: Sequence[Nominal]) -> NDArray[Any]:
    return filled(relation, Counts(tuple(axes))).table


def filled(relation: Relation, blank: Counts) -> Counts:
    """Counts from every combination of values that is there."""
    frame, weights = relation.groups([a.name for a in blank.axes])
    columns = {a.name: a.encode(frame.columns[a.name], strict=True) for a in blank.axes}
    return blank.fill(Table(columns, frame.n_rows, weights))


class Relating(Searching):
    """Networks of names that learn where the data lies."""

    def _learn_relation(self, relation: Relation, *, patient: bool) -> Self:
        if hasattr(self, "tallies_"):
            raise TableError("A network learns from one relation at a time.", hint="merge two by +.")
        schema = self._kinds(relation.empty())
        odd = [a.name for a in schema.attributes if not isinstance(a, Nominal)]
        rows, left_out = rows_of(relation)
        if odd:
            raise RowsRefused(
                f"{odd[0]!r} is no column of names: of the relation's {rows:,} rows a network learns names alone.",
                hint="cut numbers into ranges in the engine, or collect the rows.",
            )
        if rows == 0:
            raise TableError("The relation is empty: at least one row is needed.")
        names = [a.name for a in schema.attributes]
        frames = {name: relation.groups([name]) for name in names}
        self._refuse_null(frames, rows)
        schema = Schema(
            a.learn(frames[a.name][0].columns[a.name]) for a in schema.attributes if isinstance(a, Nominal)
        )
        target, label_type = self._target_of(relation)
        self._prepare_from(relation, schema, target, float(sum(frames[names[0]][1])))
        parts = self._parts_over(schema, target)
        vars(self).update(self._names(relation.empty()))
        self.schema_, self.target_, self._label_type, self._known_target = schema, target, label_type, True
        self.em_, self.n_rows_, self.n_left_out_ = None, rows, left_out
        self.tallies_ = self._asked(relation, parts, target, rows)
        self._note_left_out(left_out, rows + left_out, str(relation.target))
        self._settle_or_wait(patient=patient)
        return self

    def _asked(self, relation: Relation, parts: list[Part], target: Nominal, rows: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, blank in blanks(parts, target).items():
            if name not in self.graph_:  # the single class of rows without one
                found[name] = Counts((target,), np.array([rows, 0]))
            else:
                found[name] = filled(relation, blank)
        return found

    def _refuse_null(self, frames: dict[str, tuple[Frame, Any]], rows: int) -> None:
        """EM must see rows; in an engine only what is there can be counted."""
        if self.missing != "em":
            return
        for name, (frame, _) in frames.items():
            column = frame.columns[name]
            if any(is_missing(cell_of(taken(column, np.array([i])))) for i in range(frame.n_rows)):
                raise RowsRefused(
                    f"{name!r} has missing cells, and EM needs the relation's {rows:,} rows.",
                    hint="missing='available' counts what is there.",
                )

    def _target_of(self, relation: Relation) -> tuple[Nominal, Any]:
        if relation.target is None:
            return Nominal("class", (0,), grows=False), None
        classes, weights = relation.groups([relation.target])
        told = memory(
            Frame({**classes.columns, "cw_any": np.zeros(classes.n_rows)}, classes.n_rows, named=True),
            relation.target,
            weights,
        )
        return Nominal(relation.target, grows=True).learn(told.target), told.label_type

    def _prepare_from(self, relation: Relation, schema: Schema, target: Nominal, total: float) -> None:
        """Choose the structure, by scores of families that the engine counts."""
        if self._latent():
            raise RowsRefused("Latent nodes are learned by EM, which needs rows.", hint="collect the rows.")
        self.found_, self.cuts_, self._laws = None, {}, {}
        nodes = [a for a in self._nodes(schema, target).values() if isinstance(a, Nominal)]
        names = [a.name for a in nodes]
        arcs = [*(arcs_of(self.structure) or []), *self._hand_arcs()]
        self.graph_ = given_graph(names, arcs)
        if isinstance(self.structure, str) and self.structure != "given":
            families = _Asked(relation, nodes, total, self.criterion, float(self.ess))
            self.found_ = self._how(names, arcs).find(families, names)
            self._check_kept(self.found_.graph, names, arcs)
            self.graph_ = self.found_.graph
