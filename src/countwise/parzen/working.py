"""Working of a Parzen density: the contributions of the training rows and of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.parzen.density import written
from countwise.parzen.product_kernel import ProductKernelDensity
from countwise.working import Grid, Section
from countwise.working.numbers import number, percent, probability, signed

__all__ = ["by_columns", "columns_section", "rows_section"]

_MOST_ROWS = 5
_MOST_COLUMNS = 12


def rows_section(density: ProductKernelDensity, x: Floats, places: Sequence[int], title: str) -> Section:
    """Return the section with the training rows that contribute most to the density at a row."""
    shares = density.contributions(x)
    log = float(density.log_density(x[None, :])[0])
    if not shares.any():
        return Section(title, Grid({"training row": []}), ("f = 0: no kernel reaches the row.",))
    order = np.argsort(-shares, kind="stable")[:_MOST_ROWS]
    order = order[shares[order] > 0]
    # indices among the stored rows: rows of weight 0 or without a class are not counted
    table: dict[str, list[Any]] = {"training row": [int(places[i]) for i in order]}
    known = [(j, a) for j, a in enumerate(density.attributes) if not np.isnan(x[j])][:_MOST_COLUMNS]
    for j, a in known:
        table[a.name] = [written(a, density.cells[i, j]) for i in order]
    table["contribution"] = [percent(float(shares[i]), certain=len(shares) == 1) for i in order]
    if len(order) < np.count_nonzero(shares):
        rest = float(1 - shares[order].sum())
        for key in table:
            table[key].append("")
        table["training row"][-1] = f"{len(shares) - len(order)} more"
        table["contribution"][-1] = percent(rest)
    effective = 1 / float((shares**2).sum())
    lines = [f"f = {probability(log)}; effective number of rows {number(float(f'{effective:.3g}'))} of {len(shares)}"]
    if len(known) > 3:  # the title shows only short rows
        lines.insert(0, "x: " + ", ".join(f"{a.name} {written(a, x[j])}" for j, a in known))
    if any(np.isnan(density.cells[i, j]) for i in order for j, _ in known):
        lines.append("?: missing; the marginal density of the column replaces the kernel")
    lines.append("bandwidths: " + ", ".join(f"{a.name} {number(float(density.bandwidths[j]))}" for j, a in known))
    return Section(title, Grid(table), tuple(lines))


def columns_section(density: ProductKernelDensity, x: Floats) -> Section:
    """Return the section with the density of each value given the values of the other columns."""
    known, added = np.flatnonzero(~np.isnan(x)), _added(density, x)
    table = _cells(density, x, known) | {
        "f given the other columns": [probability(float(added[j])) for j in known],
        "log": [signed(float(added[j])) for j in known],
    }
    return Section("Contribution of each column, given the others", Grid(table))


def _cells(density: ProductKernelDensity, x: Floats, columns: Any) -> dict[str, list[str]]:
    """Return the names and values of some columns of a row."""
    attributes = [density.attributes[j] for j in columns]
    values = [written(a, x[j]) for a, j in zip(attributes, columns, strict=True)]
    return {"": [a.name for a in attributes], "value": values}


def _added(density: ProductKernelDensity, x: Floats) -> Floats:
    """Return log f(row) - log f(row without the column) for each column; NaN if the value is missing."""
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
    """Return the section with the log-odds of the predicted class against its rival, by column given the others."""
    mine, other = _added(densities[a], x), _added(densities[b], x)
    known = np.flatnonzero(~np.isnan(x))
    with np.errstate(invalid="ignore"):
        odds = np.where(mine == other, 0.0, mine - other)
    order = known[np.argsort(-np.abs(np.nan_to_num(odds[known])), kind="stable")][:_MOST_COLUMNS]
    table = _cells(densities[a], x, order) | {
        f"f given the other columns, {classes[a]}": [probability(float(mine[j])) for j in order],
        f"f given the other columns, {classes[b]}": [probability(float(other[j])) for j in order],
        "log-odds": [signed(float(odds[j])) for j in order],
    }
    return Section(f"Log-odds of {classes[a]} against {classes[b]} by column, given the others", Grid(table))
