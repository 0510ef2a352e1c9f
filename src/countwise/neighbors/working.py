"""Working of a nearest neighbors prediction: the neighbors, their distances, and the parts of a distance."""

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
    """Return the contribution of each attribute to the sum of two rows, and where either value is missing."""
    added, missing = [], []
    places = {id(local): j for group in (combined.differences, combined.others) for j, local in enumerate(group)}
    for local in combined.locals:
        j = places[id(local)]
        if isinstance(local, Difference):
            left, right = (RowLayout(np.ascontiguousarray(x.numbers[:, j : j + 1]), []) for x in (a, b))
            is_missing = bool(np.isnan([left.numbers, right.numbers]).any())
        else:
            left, right = (RowLayout(np.empty((1, 0)), [x.cells[j]]) for x in (a, b))
            is_missing = any(bool(local.unknown(x.cells[j])[0]) for x in (a, b))
        pair = replace(combined, locals=(local,), missing="maximal").between(left, right)
        missing.append(is_missing)
        added.append(0.0 if is_missing and combined.missing == "ignore" else float(_kernels.pair_sums(*pair)[0, 0]))
    return added, missing


def distance_section(
    combined: CombinedDistance,
    a: RowLayout,
    b: RowLayout,
    one: Frame,
    other: Frame,
    names_of_rows: tuple[str, str] = ("row", "other"),
) -> Section:
    """Return the section with the contributions of the attributes to the distance between two rows."""
    added, missing = parts_of(combined, a, b)
    if_missing = "ignored" if combined.missing == "ignore" else "missing: maximum"
    power = "" if combined.p in (1, np.inf) else "²" if combined.p == 2 else f"^{number(combined.p)}"
    names = [local.of.name for local in combined.locals]
    table: dict[str, list[Any]] = {
        "attribute": names,
        names_of_rows[0]: [shown_cell(one.columns[name]) for name in names],
        names_of_rows[1]: [shown_cell(other.columns[name]) for name in names],
        "distance": [
            if_missing if gone else local.label for local, gone in zip(combined.locals, missing, strict=True)
        ],
        "d": [
            _local_distance(combined, local.weight, cost) for local, cost in zip(combined.locals, added, strict=True)
        ],
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
    lines = [*_probability_lines(combined, a, b, missing, cells), *_sum_lines(combined, a, b, missing, added)]
    return Section("Contribution of each attribute", Grid(table), tuple(lines))


def _local_distance(combined: CombinedDistance, weight: float, cost: float) -> float:
    """Return the local distance d whose contribution w d^p is `cost`."""
    return float(combined.root(np.array(cost / weight))) if weight > 0 else float("nan")


def _sum_lines(
    combined: CombinedDistance, a: RowLayout, b: RowLayout, missing: list[bool], added: list[float]
) -> list[str]:
    total = float(_kernels.pair_sums(*combined.between(a, b))[0, 0])
    if combined.p == np.inf:
        return [f"the distance is the largest of these: {number(total)}"]
    ends = {1.0: "", 2.0: "; the distance is its square root"}
    root = ends.get(combined.p, f"; the distance is its power 1/{number(combined.p)}")
    if combined.missing != "ignore" or not any(missing):
        return [f"sum {number(total)}{root}"]
    known = sum(local.weight for local, gone in zip(combined.locals, missing, strict=True) if not gone)
    whole = sum(local.weight for local in combined.locals)
    if known == 0:
        return [
            "no attribute is known in both rows: every attribute counts with its maximum distance",
            f"sum {number(total)}{root}",
        ]
    times = f"times {number(whole)} / {number(known)} for the ignored attributes"
    return [f"sum {number(float(np.sum(added)))}, {times}: {number(total)}{root}"]


def _probability_lines(
    combined: CombinedDistance, a: RowLayout, b: RowLayout, missing: list[bool], cells: list[tuple[str, str]]
) -> list[str]:
    """Return lines with P(class | value) of both values of each attribute that uses the value difference metric."""
    lines, others = [], combined.others
    for local, is_missing, shown in zip(combined.locals, missing, cells, strict=True):
        if is_missing or not isinstance(local, LookupDistance) or len(local.classes) > _MOST_CLASSES:
            continue
        j = next(k for k, other in enumerate(others) if other is local)
        texts = []
        for cell, laid in zip(shown, (a, b), strict=True):
            probabilities = local.probabilities[int(laid.cells[j].column[0])]
            pairs = zip(local.classes, probabilities, strict=True)
            texts.append(", ".join(f"P({c} | {cell}) = {number(float(p))}" for c, p in pairs))
        if len(set(shown)) > 1:
            lines.append(f"{local.of.name}: {'; '.join(texts)}")
    return lines


class NeighborWorking:
    """Working of the prediction for one row."""

    def __init__(self, model: Any, frame: Frame, laid: RowLayout, found: FoundNeighbors) -> None:
        self.model, self.frame, self.laid, self.found = model, frame, laid, found

    def account(self) -> Account:
        """Return the prediction, the neighbors, and the contributions to the nearest distance."""
        sentence, value, posterior = self.model._prediction(self.found)
        alone = len(self.found.ids) == 0
        sections = () if alone else (self._neighbors(), self._nearest())
        notes = (*([self._no_neighbors()] if alone else []), *self._notes())
        return Account(sentence, value, sections, notes, posterior)

    def _no_neighbors(self) -> str:
        statistic = "the mean" if self.model._numbers else "the class frequencies"
        basis = f"the prediction is based on {statistic} of all training rows"
        if self.laid.unknown(self.model.metric_.distance_)[0]:
            return f"Every value of this row is missing or was never seen in training; {basis}."
        return f"No training row is within the radius of {number(float(self.model.radius))}; {basis}."

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
            lines.append(f"mean weighted by votes: {number(float(model._means(found)[0]))}; total {number(total)}")
        else:
            counts = model._votes.count(found, votes)[0]
            order = np.argsort(-counts, kind="stable")
            shown = [f"{model.classes_[c]} = {number(float(counts[c]))}" for c in order if counts[c] > 0]
            lines.append(f"votes: {', '.join(shown)}; total {number(total)}")
            if np.count_nonzero(np.isclose(counts, counts.max(), rtol=1e-12, atol=0)) > 1:
                lines.append("Among classes with equal votes, that of the nearest row is predicted, then the first.")
        left = self._equally_far()
        if left:
            lines.append(
                f"{left} more row{'s are' if left > 1 else ' is'} at the same distance as the last neighbor; "
                "ties are broken by class, then by row."
            )
        return lines

    def _equally_far(self) -> int:
        """Return the number of other rows at the distance of the last neighbor."""
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
            ("query", f"row {model._order[i]}"),
        )  # fmt: skip
        title, lines = model._reason(self.found, int(model._order[i]), section.lines)
        return Section(title, section.table, lines)

    def _notes(self) -> list[str]:
        model = self.model
        strings = {local.of.name for local in model.metric_.distance_.locals if isinstance(local, Edits)}
        notes = [
            f"The value of {a.name!r} was never seen in training; it is treated as missing."
            for a in model.schema_.attributes
            if isinstance(a, Nominal) and a.name not in strings
            if int(a.encode(self.frame.columns[a.name])[0]) == a.unseen
        ]
        if model.radius is None and model.n_neighbors_ > model._n_total:
            notes.append(f"There are only {number(model._n_total)} training rows; all of them are neighbors.")
        return notes
