"""Learning where the data lives: an engine answers the tallies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from countwise.attributes import Nominal
from countwise.errors import TableError
from countwise.frames import Frame
from countwise.noting import Noting
from countwise.parts import Part
from countwise.relating import Gathered, gathered
from countwise.schema import Schema
from countwise.sources.memory import free_name
from countwise.sources.relation import Relation

__all__ = ["FromRelations"]


class FromRelations(Noting):
    """A learner whose tallies an engine can fill."""

    tallies_: dict[str, Any]
    n_left_out_: int
    _label_type: np.dtype[Any] | None
    _known_target: bool

    # -- written by the learner ---------------------------------------------------------

    def _kinds(self, frame: Frame) -> Schema:
        raise NotImplementedError

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        raise NotImplementedError

    def _needs_target(self) -> bool:
        raise NotImplementedError

    def _first_target(self, name: str) -> Nominal:
        raise NotImplementedError

    def _same_kind_of_target(self, known: bool) -> Nominal:
        raise NotImplementedError

    def _join(self, schema: Schema, target: Nominal, tallies: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _settle_or_wait(self, *, patient: bool) -> None:
        raise NotImplementedError

    # -- learning -----------------------------------------------------------------------

    def _learn_relation(self, relation: Relation, *, patient: bool) -> Self:
        """Learn from what an engine holds: it answers the tallies."""
        if relation.target is None and self._needs_target():
            raise TableError("This estimator requires y to be passed, but the target y is None.")
        first = not hasattr(self, "tallies_")
        empty = relation.empty()
        schema = self._kinds(empty) if first else self.schema_
        name = relation.target or free_name("class", empty)
        known = relation.target is not None
        target = self._first_target(name) if first else self._same_kind_of_target(known)
        found = self._gathered(relation, schema, target)
        if first:
            vars(self).update(self._names(empty))
            self._label_type, self._known_target = found.label_type, known
            self.schema_, self.target_, self.tallies_ = found.schema, found.target, found.tallies
            self.n_rows_, self.n_left_out_ = 0, 0
        else:
            self._join(found.schema, found.target, found.tallies)
        self.n_rows_ += found.n_rows
        self.n_left_out_ += found.left_out
        self._note_left_out(found.left_out, found.n_rows + found.left_out, name)
        self._note_many_classes()
        self._settle_or_wait(patient=patient)
        return self

    def _gathered(self, relation: Relation, schema: Schema, target: Nominal) -> Gathered:
        return gathered(relation, schema, target, lambda s, t: self._parts(s, t.name), type(self).__name__)

    def _take_back_relation(self, relation: Relation) -> None:
        if relation.target is None and self._needs_target():
            raise TableError("This estimator requires y to be passed, but the target y is None.")
        found = self._gathered(relation, self.schema_, self._same_kind_of_target(relation.target is not None))
        self.tallies_ = {name: tally - found.tallies[name] for name, tally in self.tallies_.items()}
        self.n_rows_ -= found.n_rows
