"""Which training rows carried a Parzen density, and what each column added to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.parzen.density import written
from countwise.parzen.product_kernel import ProductKernelDensity
from countwise.working import Grid, Section
from countwise.working.numbers import number, percent, probability, signed

__all__ = ["by_columns", "carriers", "columns_section"]

_MOST_ROWS = 5
_MOST_COLUMNS = 12


def carriers(density: ProductKernelDensity, x: Floats, places: Sequence[int], title: str) -> Section:
    """The training rows whose kernels make up most of the density at a row."""
    shares = density.carriers(x)
    log = float(density.log_density(x[None, :])[0])
    if not shares.any():
        return Section(title, Grid({"row learned": []}), ("f = 0: no bump reaches the row.",))
    order = np.argsort(-shares, kind="stable")[:_MOST_ROWS]
    order = order[shares[order] > 0]
    # counted among the rows learned from: those without weight or class are none
    table: dict[str, list[Any]] = {"row learned": [int(places[i]) for i in order]}
    asked = [(j, a) for j, a in enumerate(density.attributes) if not np.isnan(x[j])][:_MOST_COLUMNS]
    for j, a in asked:
        table[a.name] = [written(a, density.cells[i, j]) for i in order]
    table["carries"] = [percent(float(shares[i]), certain=len(shares) == 1) for i in order]
    if len(order) < np.count_nonzero(shares):
        rest = float(1 - shares[order].sum())
        for key in table:
            table[key].append("")
        table["row learned"][-1] = f"{len(shares) - len(order)} more"
        table["carries"][-1] = percent(rest)
    behind = 1 / float((shares**2).sum())
    alike = f"as if {number(float(f'{behind:.3g}'))} of {len(shares)} rows carried it in equal parts"
    lines = [f"f = {probability(log)}; {alike}"]
    if len(asked) > 3:  # a longer row is not written out above
        lines.insert(0, "x: " + ", ".join(f"{a.name} {written(a, x[j])}" for j, a in asked))
    if any(np.isnan(density.cells[i, j]) for i in order for j, _ in asked):
        lines.append("?: the density of the whole column stands for the kernel of a missing cell")
    lines.append("bandwidths: " + ", ".join(f"{a.name} {number(float(density.bandwidths[j]))}" for j, a in asked))
    return Section(title, Grid(table), tuple(lines))


def columns_section(density: ProductKernelDensity, x: Floats) -> Section:
    """What each column adds to the density at a row, the others given."""
    known, added = np.flatnonzero(~np.isnan(x)), _added(density, x)
    table = _cells(density, x, known) | {
        "f given the others": [probability(float(added[j])) for j in known],
        "log": [signed(float(added[j])) for j in known],
    }
    return Section("What each column adds, the others given", Grid(table))


def _cells(density: ProductKernelDensity, x: Floats, columns: Any) -> dict[str, list[str]]:
    """The names and values of some columns of a row."""
    attributes = [density.attributes[j] for j in columns]
    values = [written(a, x[j]) for a, j in zip(attributes, columns, strict=True)]
    return {"": [a.name for a in attributes], "value": values}


def _added(density: ProductKernelDensity, x: Floats) -> Floats:
    """Log of f(row) over f(row without the column): what each column adds, the others given; NaN if missing."""
    known = np.flatnonzero(~np.isnan(x))
    rows = np.tile(x, (len(known) + 1, 1))
    for k, j in enumerate(known.tolist()):
        rows[k, j] = np.nan
    logs = density.log_density(rows)
    out = np.full(len(x), np.nan)
    with np.errstate(invalid="ignore"):
        out[known] = logs[-1] - logs[:-1]
    return out


def by_columns(
    densities: Sequence[ProductKernelDensity], x: Floats, classes: tuple[Any, ...], a: int, b: int
) -> Section:
    """What each column adds, the others given, in the answer's class and in its rival's."""
    mine, other = _added(densities[a], x), _added(densities[b], x)
    known = np.flatnonzero(~np.isnan(x))
    with np.errstate(invalid="ignore"):
        odds = np.where(mine == other, 0.0, mine - other)
    order = known[np.argsort(-np.abs(np.nan_to_num(odds[known])), kind="stable")][:_MOST_COLUMNS]
    table = _cells(densities[a], x, order) | {
        f"f given the others, {classes[a]}": [probability(float(mine[j])) for j in order],
        f"f given the others, {classes[b]}": [probability(float(other[j])) for j in order],
        "log-odds": [signed(float(odds[j])) for j in order],
    }
    return Section(f"What each column says for {classes[a]} against {classes[b]}, the others given", Grid(table))
