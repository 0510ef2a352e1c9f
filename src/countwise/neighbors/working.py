"""The working of a prediction by neighbors: which rows they are, how far, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.data.attributes import Nominal
from countwise.data.cells import shown_cell
from countwise.data.frames import Frame
from countwise.neighbors.layout import CombinedDistance, FoundNeighbors, RowLayout
from countwise.neighbors.local_distances import Difference, Edits, LookupDistance
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number

__all__ = ["NeighborWorking", "distance_section", "parts_of"]

_MOST_CLASSES = 6
_SHOWN, _COLUMNS = 20, 8


def parts_of(combined: CombinedDistance, a: RowLayout, b: RowLayout) -> tuple[list[float], list[bool]]:
    """What each attribute adds to the sum of two single rows, and where a cell of either is missing."""
    added, missing = [], []
    places = {id(local): j for group in (combined.differences, combined.others) for j, local in enumerate(group)}
    for local in combined.locals:
        j = places[id(local)]
        if isinstance(local, Difference):
            left, right = (RowLayout(np.ascontiguousarray(x.numbers[:, j : j + 1]), []) for x in (a, b))
            lost = bool(np.isnan([left.numbers, right.numbers]).any())
        else:
            left, right = (RowLayout(np.empty((1, 0)), [x.cells[j]]) for x in (a, b))
            lost = any(bool(local.lost(x.cells[j])[0]) for x in (a, b))
        pair = replace(combined, locals=(local,), missing="maximal").between(left, right)
        missing.append(lost)
        added.append(0.0 if lost and combined.missing == "ignore" else float(_kernels.pair_sums(*pair)[0, 0]))
    return added, missing


def distance_section(
    combined: CombinedDistance,
    a: RowLayout,
    b: RowLayout,
    one: Frame,
    other: Frame,
    names_of_rows: tuple[str, str] = ("row", "other"),
) -> Section:
    """The parts of the distance of two single rows."""
    added, missing = parts_of(combined, a, b)
    lost = "ignored" if combined.missing == "ignore" else "missing: the maximum"
    power = "" if combined.p in (1, np.inf) else "²" if combined.p == 2 else f"^{number(combined.p)}"
    names = [local.of.name for local in combined.locals]
    table: dict[str, list[Any]] = {
        "attribute": names,
        names_of_rows[0]: [shown_cell(one.columns[name]) for name in names],
        names_of_rows[1]: [shown_cell(other.columns[name]) for name in names],
        "distance": [lost if gone else local.word for local, gone in zip(combined.locals, missing, strict=True)],
        "d": [_gap(combined, local.weight, cost) for local, cost in zip(combined.locals, added, strict=True)],
        "weight": [local.weight for local in combined.locals],
        f"w d{power}": added,
    }
    if all(local.weight == 1 for local in combined.locals):
        del table["weight"]
        table[f"d{power}"] = table.pop(f"w d{power}")
        if not power:
            del table["d"]
            table["d"] = added
    cells = list(zip(table[names_of_rows[0]], table[names_of_rows[1]], strict=True))
    lines = [*_shares_lines(combined, a, b, missing, cells), *_sum_lines(combined, a, b, missing, added)]
    return Section("What each attribute adds", Grid(table), tuple(lines))


def _gap(combined: CombinedDistance, weight: float, cost: float) -> float:
    """The local distance that adds so much."""
    return float(combined.root(np.array(cost / weight))) if weight > 0 else float("nan")


def _sum_lines(
    combined: CombinedDistance, a: RowLayout, b: RowLayout, missing: list[bool], added: list[float]
) -> list[str]:
    total = float(_kernels.pair_sums(*combined.between(a, b))[0, 0])
    if combined.p == np.inf:
        return [f"the largest: {number(total)}"]
    root = {1.0: "", 2.0: "; its root is the distance"}.get(combined.p, f"; to the power 1/{number(combined.p)}")
    if combined.missing != "ignore" or not any(missing):
        return [f"sum {number(total)}{root}"]
    there = sum(local.weight for local, lost in zip(combined.locals, missing, strict=True) if not lost)
    whole = sum(local.weight for local in combined.locals)
    if there == 0:
        return ["nothing in common: every attribute counts as at its most", f"sum {number(total)}{root}"]
    times = f"times {number(whole)} / {number(there)} for what is ignored"
    return [f"sum {number(float(np.sum(added)))}, {times}: {number(total)}{root}"]


def _shares_lines(
    combined: CombinedDistance, a: RowLayout, b: RowLayout, missing: list[bool], cells: list[tuple[str, str]]
) -> list[str]:
    """P(class | value) of both values of a value difference."""
    lines, others = [], combined.others
    for local, lost, shown in zip(combined.locals, missing, cells, strict=True):
        if lost or not isinstance(local, LookupDistance) or len(local.classes) > _MOST_CLASSES:
            continue
        j = next(k for k, other in enumerate(others) if other is local)
        said = []
        for cell, laid in zip(shown, (a, b), strict=True):
            shares = local.shares[int(laid.cells[j].column[0])]
            pairs = zip(local.classes, shares, strict=True)
            said.append(", ".join(f"P({c} | {cell}) = {number(float(p))}" for c, p in pairs))
        if len(set(shown)) > 1:
            lines.append(f"{local.of.name}: {'; '.join(said)}")
    return lines


class NeighborWorking:
    """How the prediction of one row came about."""

    def __init__(self, model: Any, frame: Frame, laid: RowLayout, found: FoundNeighbors) -> None:
        self.model, self.frame, self.laid, self.found = model, frame, laid, found

    def account(self) -> Account:
        """The prediction, its neighbors, and the parts of the nearest distance."""
        answer, value, posterior = self.model._prediction(self.found)
        alone = len(self.found.ids) == 0
        sections = () if alone else (self._neighbors(), self._nearest())
        notes = (*([self._nobody()] if alone else []), *self._notes())
        return Account(answer, value, sections, notes, posterior)

    def _nobody(self) -> str:
        said = "the mean of all rows" if self.model._numbers else "the classes' shares of all rows"
        if self.laid.unknown(self.model.metric_.distance_)[0]:
            return f"No value of this row is known; the prediction is {said}."
        radius = number(float(self.model.radius))
        return f"No training row is within the radius of {radius}; the prediction is {said}."

    def _neighbors(self) -> Section:
        model, found = self.model, self.found
        votes = model._vote_weights(found)
        shown = slice(0, _SHOWN)
        ids = found.ids[shown]
        targets = model._targets[ids]
        rows: dict[str, list[Any]] = {
            "row": model._order[ids].tolist(),
            model.target_.name: targets.tolist() if model._numbers else model.classes_[targets].tolist(),
            **{name: cells[shown] for name, cells in model._measures(found).items()},
            "vote": votes[shown].tolist(),
        }
        for name in list(model.schema_)[:_COLUMNS]:
            if name not in rows:
                rows[name] = [shown_cell(model._frame.slice(i, i + 1).columns[name]) for i in ids.tolist()]
        many = "nearest row" if len(found.ids) == 1 else f"{len(found.ids)} nearest rows"
        return Section(f"The {many}", Grid(rows), tuple(self._sums(votes)))

    def _sums(self, votes: Any) -> list[str]:
        model, found = self.model, self.found
        lines = []
        if len(found.ids) > _SHOWN:
            lines.append(f"and {len(found.ids) - _SHOWN} more")
        total = float(votes.sum())
        if model._numbers:
            lines.append(f"mean {number(float(model._means(found)[0]))} of votes {number(total)}")
        else:
            counts = model._votes.count(found, votes)[0]
            order = np.argsort(-counts, kind="stable")
            said = [f"{model.classes_[c]} = {number(float(counts[c]))}" for c in order if counts[c] > 0]
            lines.append(f"votes: {', '.join(said)}, of {number(total)}")
            if np.count_nonzero(np.isclose(counts, counts.max(), rtol=1e-12, atol=0)) > 1:
                lines.append("Of classes with equal votes the one with the nearest row is predicted, then the first.")
        left = self._equally_far()
        if left:
            lines.append(
                f"{left} more row{'s are' if left > 1 else ' is'} as far as the last of these; "
                "the first by class, then by row, were taken."
            )
        return lines

    def _equally_far(self) -> int:
        """How many rows that are not neighbors are as near as the last that is."""
        model = self.model
        if model.radius is not None or model._ties:
            return 0
        every = model._search.nearest(self.laid, float(model.n_neighbors_), ties=True)
        return len(every.ids) - len(self.found.ids)

    def _nearest(self) -> Section:
        model = self.model
        i = int(self.found.ids[0])
        other = model._search.rows.slice(i, i + 1)
        section = distance_section(
            model.metric_.distance_, self.laid, other, self.frame, model._frame.slice(i, i + 1),
            ("asked", f"row {model._order[i]}"),
        )  # fmt: skip
        title, lines = model._reason(self.found, int(model._order[i]), section.lines)
        return Section(title, section.table, lines)

    def _notes(self) -> list[str]:
        model = self.model
        strings = {local.of.name for local in model.metric_.distance_.locals if isinstance(local, Edits)}
        notes = [
            f"The value of {a.name!r} was never seen in training, and is taken as missing."
            for a in model.schema_.attributes
            if isinstance(a, Nominal) and a.name not in strings
            if int(a.encode(self.frame.columns[a.name])[0]) == a.unseen
        ]
        if model.radius is None and model.n_neighbors_ > model._n_total:
            notes.append(f"There are only {number(model._n_total)} training rows: all of them are neighbors.")
        return notes
