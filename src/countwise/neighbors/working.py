"""Working of a nearest neighbors prediction: the neighbors, the parts of their distances, and the vote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.cuts import labels
from countwise.data.attributes import Nominal
from countwise.data.cells import shown_cell
from countwise.data.frames import Frame
from countwise.neighbors.layout import CombinedDistance, FoundNeighbors, RowLayout
from countwise.neighbors.local_distances import Difference, Edits, LookupDistance
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import Worked, counted, fraction, number

__all__ = ["NeighborWorking", "distance_section", "parts_of", "value_difference_sections"]

_SHOWN, _COLUMNS, _TERMS = 20, 8, 12


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
    power = _power(combined)
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
    lines = _sum_lines(combined, a, b, missing, added)
    return Section("Contribution of each attribute", Grid(table), tuple(lines))


def _power(combined: CombinedDistance) -> str:
    """Return the power of the local distances as text; empty for a sum or a maximum of distances."""
    return "" if combined.p in (1, np.inf) else "²" if combined.p == 2 else f"^{number(combined.p)}"


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


def value_difference_sections(combined: CombinedDistance, one: Frame, others: Frame) -> list[Section]:
    """Return a section for each attribute with the value difference metric: P(class | value), and the differences.

    The value of one row is compared with the other values of up to twenty rows.
    """
    found = []
    for local in combined.locals:
        if not isinstance(local, LookupDistance):
            continue
        of: Any = local.of
        name, k = of.name, len(local.place)
        (value,) = local.values(of.encode(one.columns[name]))
        every = local.values(of.encode(others.columns[name]))[:_SHOWN]
        different = [w for w in dict.fromkeys(every.tolist()) if w != value and w < k and local.counts[w].sum() > 0]
        if value < k and local.counts[value].sum() > 0 and different:
            found.append(_value_differences(combined, local, int(value), different))
    return found


def _value_differences(combined: CombinedDistance, local: LookupDistance, value: int, others: list[int]) -> Section:
    """Return the table with P(class | value) of each value, and the difference of one value from each other one."""
    of = local.of
    names = [str(v) for v in of.values] if isinstance(of, Nominal) else list(labels(np.asarray(local.edges)))
    counts = np.asarray(local.counts, dtype=np.float64)
    classes = np.flatnonzero(counts[[value, *others]].sum(axis=0) > 0)
    fractions = {
        v: [f"{number(float(n))}/{number(float(counts[v].sum()))}" for n in counts[v, classes]]
        for v in (value, *others)
    }
    columns: dict[str, list[Any]] = {"class": [local.classes[c] for c in classes[:_SHOWN]]}
    for v, texts in fractions.items():
        shares = (counts[v, classes] / counts[v].sum()).tolist()
        columns[f"P(class | {names[v]})"] = [Worked(p, text) for p, text in zip(shares, texts, strict=True)][:_SHOWN]
    lines = []
    for w in others:
        pair = f"d({names[value]}, {names[w]})"
        apart = float(local.table[local.place[value], local.place[w]])
        terms = [f"|{mine} - {theirs}|" for mine, theirs in zip(fractions[value], fractions[w], strict=True)]
        exact = _exact_difference(counts[value], counts[w])
        middle = "" if exact is None or str(exact) == number(apart) else f" = {exact}"
        lines.append(Formula(f"{pair} = {_sum(terms, brackets=False)}{middle} = {number(apart)}"))
        if combined.p not in (1, np.inf):
            power = _power(combined)
            of_fraction = f" = ({exact}){power}" if middle else f" = {number(apart)}{power}"
            square = f" = {exact**2}" if middle and exact is not None and combined.p == 2 else ""
            lines.append(Formula(f"{pair}{power}{of_fraction}{square} = {number(apart**combined.p)}"))
    return Section(f"Value differences of {of.name}", Grid(columns), tuple(lines))


def _inside(value: float) -> str:
    """Return a number that is subtracted, in brackets if it is negative."""
    return f"({number(value)})" if value < 0 else number(value)


def _sum(terms: Iterable[str], *, brackets: bool = True) -> str:
    """Return a sum; terms beyond the first twelve are left out."""
    every = list(terms)
    body = " + ".join(every if len(every) <= _TERMS else [*every[:_TERMS], "…"])
    return f"({body})" if brackets and (len(every) > 1 or "·" in body) else body


def _exact_difference(one: Any, other: Any) -> Fraction | None:
    """Return Σ |P(c | v) - P(c | w)| as a fraction; None for weights that are not whole or a fraction too long."""
    if not all(float(n).is_integer() for n in (*one, *other)):
        return None
    n, m = int(one.sum()), int(other.sum())
    exact = sum(
        (abs(Fraction(int(a), n) - Fraction(int(b), m)) for a, b in zip(one, other, strict=True)), Fraction(0)
    )
    return exact if fraction(exact**2) is not None else None


class NeighborWorking:
    """Working of the prediction for one row."""

    def __init__(self, model: Any, frame: Frame, laid: RowLayout, found: FoundNeighbors) -> None:
        self.model, self.frame, self.laid, self.found = model, frame, laid, found

    def account(self) -> Account:
        """Return the prediction, the neighbors, and the contributions to the nearest distance."""
        sentence, value, posterior = self.model._prediction(self.found, self.frame)
        alone = len(self.found.ids) == 0
        sections = () if alone else tuple(self._sections())
        notes = (*([self._no_neighbors()] if alone else []), *self._notes())
        return Account(sentence, value, sections, notes, posterior)

    def _sections(self) -> list[Section]:
        """Return the neighbors, the contributions to their distances, and the differences of nominal values."""
        every = [self._contributions()] if len(self.found.ids) > 1 else []
        others = self.model._frame.take(self.found.ids[:_SHOWN])
        differences = value_difference_sections(self.model.metric_.distance_, self.frame, others)
        return [self._neighbors(), *self._plane(), *every, self._nearest(), *differences]

    def _plane(self) -> list[Section]:
        """Return the plane that a local linear regression fits to the neighbors."""
        model = self.model
        plane = model._plane(self.found, self.frame) if model._numbers else None
        if plane is None:
            return []
        names, target = np.array(model._columns(), dtype=object), model.target_.name
        query = model._numbers_in(model._table(self.frame, 0, 1))[0]
        known = np.flatnonzero(~np.isnan(query))
        if not len(known):
            return []
        parts = plane.slopes[known] * (query - plane.centers)[known]
        grid = Grid(
            {
                "attribute": names[known].tolist(),
                "query": query[known].tolist(),
                "mean": plane.centers[known].tolist(),
                "slope": plane.slopes[known].tolist(),
                "contribution": parts.tolist(),
            }
        )
        terms = [
            f" {'-' if slope < 0 else '+'} {number(abs(slope))}·({number(x)} - {_inside(center)})"
            for slope, x, center in zip(
                plane.slopes[known].tolist(), query[known].tolist(), plane.centers[known].tolist(), strict=True
            )
        ]
        lines: list[str] = [Formula(f"{target} = {number(plane.level)}{''.join(terms)} = {number(plane.value)}")]
        if plane.n_determined < len(known):
            lines.append(
                f"The neighbors determine {plane.n_determined} of {counted(len(known), 'slope')}; of all planes with "
                "the smallest error, the one with the smallest slopes is used."
            )
        ids = self.found.ids[:_SHOWN]
        targets = model._targets[ids]
        fitted = plane.fitted[:_SHOWN]
        rows = Grid(
            {
                "row": model._order[ids].tolist(),
                target if target != "row" else "target": targets.tolist(),
                "plane": fitted.tolist(),
                "residual": (targets - fitted).tolist(),
            }
        )
        title = "Local linear regression: weighted least squares among the neighbors"
        return [Section(title, grid, tuple(lines)), Section("Neighbors and the plane", rows)]

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
            "vote": self._derived(votes[shown]),
        }
        for name in list(model.schema_)[:_COLUMNS]:
            if name not in rows:
                rows[name] = [shown_cell(model._frame.slice(i, i + 1).columns[name]) for i in ids.tolist()]
        many = "nearest row" if len(found.ids) == 1 else f"{len(found.ids)} nearest rows"
        return Section(f"The {many}", Grid(rows), tuple(self._sums(votes)))

    def _derived(self, votes: Any) -> list[float]:
        """Return the votes, with the quotient they come from if votes depend on distances."""
        power = {"distance": "", "squared": "²"}.get(
            self.model.weights if isinstance(self.model.weights, str) else ""
        )
        distances = self.found.distances[: len(votes)]
        if power is None or not (distances > 0).all():
            return [float(vote) for vote in votes]
        near = 1.0 / (distances if power == "" else distances**2)
        return [
            Worked(vote, f"{number(round(vote / each, 9))}/{number(d)}{power}")
            for vote, each, d in zip(votes.tolist(), near.tolist(), distances.tolist(), strict=True)
        ]

    def _contributions(self) -> Section:
        """Return the contribution of each attribute to the distance of each neighbor."""
        model, found = self.model, self.found
        combined: CombinedDistance = model.metric_.distance_
        ids = found.ids[:_SHOWN]
        parts = [parts_of(combined, self.laid, model._search.rows.slice(i, i + 1)) for i in ids.tolist()]
        added = np.array([costs for costs, _ in parts])
        main = np.sort(np.argsort(-added.sum(axis=0), kind="stable")[:_COLUMNS])
        measures = {name: cells[: len(ids)] for name, cells in model._measures(found).items()}
        columns: dict[str, list[Any]] = {"row": model._order[ids].tolist()}
        for j in main.tolist():
            name = combined.locals[j].of.name
            columns[f"{name} (attribute)" if name in ("row", "others", "sum", *measures) else name] = added[
                :, j
            ].tolist()
        rest = np.delete(added, main, axis=1)
        if rest.shape[1]:
            columns["others"] = (rest.max(axis=1) if combined.p == np.inf else rest.sum(axis=1)).tolist()
        if "Σd²" not in measures and combined.p not in (1, np.inf):
            columns["sum"] = found.sums[: len(ids)].tolist()
        columns |= measures
        what = f"w d{_power(combined)}" if any(x.weight != 1 for x in combined.locals) else f"d{_power(combined)}"
        lines = []
        if combined.missing == "ignore" and any(any(gone) for _, gone in parts):
            lines.append("sums are divided by the proportion of the weights of the attributes known in both rows")
        return Section(f"Contribution {what} of each attribute to each distance", Grid(columns), tuple(lines))

    def _sums(self, votes: Any) -> list[str]:
        model, found = self.model, self.found
        lines = []
        if len(found.ids) > _SHOWN:
            lines.append(f"and {len(found.ids) - _SHOWN} more")
        total = float(votes.sum())
        if model._numbers:
            lines.append(f"mean weighted by votes: {number(float(model._means(found)[0]))}; total {number(total)}")
            lines += [self._mean_formula(votes, total)] if total > 0 and not model._is_linear() else []
        else:
            counts = model._votes.count(found, votes)[0]
            order = np.argsort(-counts, kind="stable")
            shown = [f"{model.classes_[c]} = {number(float(counts[c]))}" for c in order if counts[c] > 0]
            lines.append(f"votes: {', '.join(shown)}; total {number(total)}")
            lines += [self._share_formula(votes, int(c), total) for c in order if counts[c] > 0]
            if np.count_nonzero(np.isclose(counts, counts.max(), rtol=1e-12, atol=0)) > 1:
                lines.append("Among classes with equal votes, that of the nearest row is predicted, then the first.")
        left = self._equally_far()
        if left:
            lines.append(
                f"{left} more row{'s are' if left > 1 else ' is'} at the same distance as the last neighbor; "
                f"ties are broken by {'row' if model._numbers else 'class, then by row'}."
            )
        return lines

    def _share_formula(self, votes: Any, c: int, total: float) -> Formula:
        """Return the proportion of the votes for a class, written out."""
        own = votes[self.model._targets[self.found.ids] == c]
        value, every = number(float(own.sum()) / total), own.tolist() if len(own) <= _TERMS else [float(own.sum())]
        return Formula(f"P({self.model.classes_[c]}) = {_sum(map(number, every))}/{number(total)} = {value}")

    def _mean_formula(self, votes: Any, total: float) -> Formula:
        """Return the mean weighted by votes, written out."""
        targets = self.model._targets[self.found.ids].tolist()
        terms = [
            number(target) if vote == 1 else f"{number(vote)}·{number(target)}"
            for vote, target in zip(votes.tolist(), targets, strict=True)
        ]
        mean = number(float(self.model._means(self.found)[0]))
        return Formula(f"mean = {_sum(terms)}/{number(total)} = {mean}")

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
