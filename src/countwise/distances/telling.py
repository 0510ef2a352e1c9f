"""What each attribute adds to a distance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.cells import shown_cell
from countwise.distances.laid import Laid, Law
from countwise.distances.local import Difference, Lookup
from countwise.frames import Frame
from countwise.working import Grid, Section
from countwise.working.numbers import number

__all__ = ["distance_section", "parts_of"]

_MOST_CLASSES = 6


def parts_of(law: Law, a: Laid, b: Laid) -> tuple[list[float], list[bool]]:
    """What each attribute adds to the sum of two single rows, and where a cell of either is missing."""
    added, missing = [], []
    places = {id(local): j for group in (law.differences, law.others) for j, local in enumerate(group)}
    for local in law.locals:
        j = places[id(local)]
        alone = replace(law, locals=(local,), missing="maximal")
        if isinstance(local, Difference):
            left, right = (Laid(np.ascontiguousarray(x.numbers[:, j : j + 1]), []) for x in (a, b))
            lost = bool(np.isnan(left.numbers[0, 0]) or np.isnan(right.numbers[0, 0]))
        else:
            left, right = (Laid(np.empty((1, 0)), [x.cells[j]]) for x in (a, b))
            lost = False
        pair = alone.between(left, right)
        if not isinstance(local, Difference):
            known = pair[2].known[0]
            lost = bool(pair[0].codes[0][0] >= known[0] or pair[1].codes[0][0] >= known[1])
        missing.append(lost)
        added.append(0.0 if lost and law.missing == "ignore" else float(_kernels.pair_sums(*pair)[0, 0]))
    return added, missing


def distance_section(
    law: Law, a: Laid, b: Laid, one: Frame, other: Frame, names_of_rows: tuple[str, str] = ("row", "other")
) -> Section:
    """The parts of the distance of two single rows."""
    added, missing = parts_of(law, a, b)
    lost = "ignored" if law.missing == "ignore" else "missing: the most there is"
    power = "" if law.p in (1, np.inf) else "²" if law.p == 2 else f"^{number(law.p)}"
    names = [local.of.name for local in law.locals]
    table: dict[str, list[Any]] = {
        "attribute": names,
        names_of_rows[0]: [shown_cell(one.columns[name]) for name in names],
        names_of_rows[1]: [shown_cell(other.columns[name]) for name in names],
        "distance": [lost if gone else local.word for local, gone in zip(law.locals, missing, strict=True)],
        "d": [_gap(law, local.weight, cost) for local, cost in zip(law.locals, added, strict=True)],
        "weight": [local.weight for local in law.locals],
        f"w d{power}": added,
    }
    if all(local.weight == 1 for local in law.locals):
        del table["weight"]
        table[f"d{power}"] = table.pop(f"w d{power}")
        if not power:
            del table["d"]
            table["d"] = added
    cells = list(zip(table[names_of_rows[0]], table[names_of_rows[1]], strict=True))
    lines = [*_shares_lines(law, a, b, missing, cells), *_sum_lines(law, a, b, missing, added)]
    return Section("What each attribute adds", Grid(table), tuple(lines))


def _gap(law: Law, weight: float, cost: float) -> float:
    """The local distance that adds so much."""
    return float(law.root(np.array(cost / weight))) if weight > 0 else float("nan")


def _sum_lines(law: Law, a: Laid, b: Laid, missing: list[bool], added: list[float]) -> list[str]:
    total = float(_kernels.pair_sums(*law.between(a, b))[0, 0])
    if law.p == np.inf:
        return [f"the largest: {number(total)}"]
    root = "" if law.p == 1 else "; its root is the distance" if law.p == 2 else f"; to the power 1/{number(law.p)}"
    if law.missing != "ignore" or not any(missing):
        return [f"sum {number(total)}{root}"]
    there = sum(local.weight for local, lost in zip(law.locals, missing, strict=True) if not lost)
    whole = sum(local.weight for local in law.locals)
    if there == 0:
        return ["nothing in common: every attribute counts as at its most", f"sum {number(total)}{root}"]
    times = f"times {number(whole)} / {number(there)} for what is ignored"
    return [f"sum {number(float(np.sum(added)))}, {times}: {number(total)}{root}"]


def _shares_lines(law: Law, a: Laid, b: Laid, missing: list[bool], cells: list[tuple[str, str]]) -> list[str]:
    """What the values of a value difference tell of the class."""
    lines, others = [], law.others
    for local, lost, shown in zip(law.locals, missing, cells, strict=True):
        if lost or not isinstance(local, Lookup) or len(local.classes) > _MOST_CLASSES:
            continue
        j = next(k for k, other in enumerate(others) if other is local)
        told = []
        for cell, laid in zip(shown, (a, b), strict=True):
            shares = local.shares[int(laid.cells[j].column[0])]
            pairs = zip(local.classes, shares, strict=True)
            told.append(", ".join(f"P({c} | {cell}) = {number(float(p))}" for c, p in pairs))
        if len(set(shown)) > 1:
            lines.append(f"{local.of.name}: {'; '.join(told)}")
    return lines
