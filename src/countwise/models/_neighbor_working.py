"""The working of an answer by neighbors: who they are, how far, and why so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.attributes import Nominal
from countwise.cells import shown_cell
from countwise.distances.laid import Laid
from countwise.distances.local import Edits
from countwise.distances.search import Found
from countwise.distances.telling import distance_section
from countwise.frames import Frame
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["NeighborTelling"]

_SHOWN, _COLUMNS = 20, 8


class NeighborTelling:
    """How one row came to its answer."""

    def __init__(self, model: Any, frame: Frame, laid: Laid, found: Found) -> None:
        self.model, self.frame, self.laid, self.found = model, frame, laid, found

    def account(self) -> Account:
        """The answer, its neighbors, and the parts of the nearest distance."""
        answer, value, posterior = self.model._answer(self.found)
        if len(self.found.ids) == 0:
            return Account(answer, value, (), (self._nobody(), *self._notes()), posterior)
        sections = (self._neighbors(), self._nearest())
        return Account(answer, value, sections, tuple(self._notes()), posterior)

    def _nobody(self) -> str:
        told = "the classes' shares of all rows" if not self.model._numbers else "the mean of all rows"
        if self.laid.unknown(self.model.metric_.law_)[0]:
            return f"Nothing is known of this row; the answer is {told}."
        return f"No training row is within the radius of {number(float(self.model.radius))}; the answer is {told}."

    def _neighbors(self) -> Section:
        model, found = self.model, self.found
        votes = model._counted(found)
        shown = slice(0, _SHOWN)
        ids = found.ids[shown]
        told = model._told[ids]
        rows: dict[str, list[Any]] = {
            "row": model._order[ids].tolist(),
            model.target_.name: told.tolist() if model._numbers else model.classes_[told].tolist(),
            **{name: cells[shown] for name, cells in model._measures(found).items()},
            "vote": votes[shown].tolist(),
        }
        for name in list(model.schema_)[:_COLUMNS]:
            if name not in rows:
                rows[name] = [shown_cell(model._frame.slice(i, i + 1).columns[name]) for i in ids.tolist()]
        return Section(f"The {_many(found)}", Grid(rows), tuple(self._sums(votes)))

    def _sums(self, votes: Any) -> list[str]:
        model, found = self.model, self.found
        lines = []
        if len(found.ids) > _SHOWN:
            lines.append(f"and {len(found.ids) - _SHOWN} more")
        total = float(votes.sum())
        if model._numbers:
            lines.append(f"mean {number(float(model._means(found)[0]))} of votes {number(total)}")
        else:
            counts = model.votes(found)[0]
            order = np.argsort(-counts, kind="stable")
            told = [f"{model.classes_[c]} = {number(float(counts[c]))}" for c in order if counts[c] > 0]
            lines.append(f"votes: {', '.join(told)}, of {number(total)}")
            if np.count_nonzero(np.isclose(counts, counts.max(), rtol=1e-12, atol=0)) > 1:
                lines.append("Of classes with equal votes the one with the nearest row is told, then the first.")
        left = self._equally_far()
        if left:
            lines.append(
                f"{left} more row{'s are' if left > 1 else ' is'} as far as the last of these; "
                "the first by class, then by row, were taken."
            )
        return lines

    def _equally_far(self) -> int:
        """How many rows that were not asked are as near as the last that was."""
        model = self.model
        if model.radius is not None or model._ties or hasattr(model, "recall_"):
            return 0
        every = model._search.nearest(self.laid, float(model.n_neighbors_), ties=True)
        return len(every.ids) - len(self.found.ids)

    def _nearest(self) -> Section:
        model = self.model
        i = int(self.found.ids[0])
        other = model._search.rows.slice(i, i + 1)
        section = distance_section(
            model.metric_.law_, self.laid, other, self.frame, model._frame.slice(i, i + 1),
            ("asked", f"row {model._order[i]}"),
        )  # fmt: skip
        title, lines = model._reason(self.found, int(model._order[i]), section.lines)
        return Section(title, section.table, lines)

    def _notes(self) -> list[str]:
        model = self.model
        strings = {local.of.name for local in model.metric_.law_.locals if isinstance(local, Edits)}
        notes = [
            f"The value of {a.name!r} was never seen in training, and is taken as missing."
            for a in model.schema_.attributes
            if isinstance(a, Nominal) and a.name not in strings
            if int(a.encode(self.frame.columns[a.name])[0]) == a.unseen
        ]
        if model.radius is None and model.n_neighbors_ > model._total:
            notes.append(f"There are only {number(model._total)} training rows: all of them are asked.")
        if hasattr(model, "recall_"):
            found = percent(model.recall_, certain=model.recall_ == 1.0)
            notes.append(
                f"Neighbors were sought by usearch, which may miss some: it finds {found} of those of training rows."
            )
        return notes


def _many(found: Found) -> str:
    return "nearest row" if len(found.ids) == 1 else f"{len(found.ids)} nearest rows"
