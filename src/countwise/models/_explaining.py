"""Explaining: the terms of a prediction before they are summed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise.attributes import Nominal
from countwise.bags import Text
from countwise.cells import cell_of, row_of, shown_cell
from countwise.errors import listed
from countwise.frames import Frame
from countwise.table import Table
from countwise.vectors import Vector
from countwise.working import Section, Step, Working

__all__ = ["Explaining"]


class Explaining:
    """Explanations of a fitted classifier whose answer is a sum of terms."""

    def explain(self, X: Any, *, row: int = 0) -> Working:
        """The working behind the answer for one row.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            Which row.

        Returns
        -------
        Working
        """
        return self._worked(*self._one(X, row))

    def _one(self, X: Any, row: int) -> tuple[Table, Frame]:
        """One row of a table, encoded and as it was given."""
        frame = self._open(X)  # type: ignore[attr-defined]
        row = row_of(frame, row)
        return self._table(frame, row, row + 1, every=True), frame.slice(row, row + 1)  # type: ignore[attr-defined]

    def _worked(self, table: Table, one: Frame) -> Working:
        steps, notes = self._steps(table, one)
        joint = self.log_prior_[None, :].copy()  # type: ignore[attr-defined]
        self._add_terms(table, joint)  # type: ignore[attr-defined]
        posterior = np.empty_like(joint)
        if self._posterior(table, posterior, "proba", self._priors(1)):  # type: ignore[attr-defined]
            why, hint = self._zeros()  # type: ignore[attr-defined]
            notes.append(f"Every product is 0: {why}. So the prior is given instead; {hint}.")
        working = Working(
            target=self.target_.name,  # type: ignore[attr-defined]
            classes=tuple(self.classes_.tolist()),  # type: ignore[attr-defined]
            prior=self._prior_step(),  # type: ignore[attr-defined]
            steps=tuple(steps),
            log_joint=tuple(joint[0].tolist()),
            posterior=tuple(posterior[0].tolist()),
            chosen=int(np.argmax(posterior[0])),
            notes=tuple(notes),
            given={name: shown_cell(column) for name, column in one.columns.items()},
        )
        sections = tuple(self._sections(table, working))
        return replace(working, sections=sections) if sections else working

    def _sections(self, table: Table, working: Working) -> list[Section]:
        """How the factors came about, where they are more than a count or a formula of one number."""
        return []

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        """The steps of each part: the terms of the prediction before they are summed."""
        steps: list[Step] = []
        notes: list[str] = []
        for part in self.parts_:  # type: ignore[attr-defined]
            shown = shown_cell(one.columns[part.columns[0]]) if part.how == "same" and part.columns else ""
            density = self.densities_[part.key]  # type: ignore[attr-defined]
            if part.how in ("positive", "missing"):
                shown = density.label(table[part.key], 0)
            steps += _unseen_marked(density.steps(part.key, table[part.key], shown), part, table, one)
            if isinstance(part.of, Text):
                unknown = part.of.unknown(cell_of(one.columns[part.key]) or "")
                if unknown:
                    notes.append(f"{listed(unknown)} in {part.key!r}: never seen in training, left out.")
        return steps, notes


def _unseen_marked(steps: list[Step], part: Any, table: Table, one: Frame) -> list[Step]:
    """Steps of a whole row, in which a value never met is told from a missing cell."""
    if not isinstance(part.of, Vector):
        return steps
    odd = {a.name: a for a in part.of.attributes if isinstance(a, Nominal) and int(table[a.name][0]) == a.unseen}
    marked = [s for s in steps if s.attribute.partition("=")[0] not in odd]
    return marked + [Step(name, shown_cell(one.columns[name]), (), "never seen") for name in odd]
