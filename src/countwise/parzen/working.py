"""Working of a Parzen density: the contributions of the training rows and of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric, Ordinal
from countwise.parzen.density import written
from countwise.parzen.product_kernel import ProductKernelDensity
from countwise.tallies import all_ones
from countwise.working import Formula, Grid, Section
from countwise.working.grid import exponential, shown, terms_table
from countwise.working.numbers import number, probability, signed

__all__ = ["by_columns", "columns_section", "rows_section"]

_MOST_ROWS = 6
_FEW = 3  # columns from which on the table has no distances, and the head of the product no names
_MOST_COLUMNS = 12


def rows_section(
    density: ProductKernelDensity, x: Floats, places: Sequence[int], title: str, *, all_terms: bool = False
) -> Section:
    """Return the section with the kernels of the training rows at a row, their sum, and the density."""
    log = float(density.log_density(x[None, :])[0])
    known = np.flatnonzero(~np.isnan(x)).tolist()
    kernels = density.log_kernels(x) + _peaks(density)
    with np.errstate(divide="ignore"):
        logs = kernels[:, known].sum(axis=1) + np.log(density.weights)
    if not np.isfinite(logs).any():
        return Section(title, Grid({"training row": []}), ("f = 0: no kernel reaches the row.",))
    listed = known[:_MOST_COLUMNS]
    # indices among the stored rows: rows of weight 0 or without a class are not counted
    table: dict[str, Sequence[Any]] = {"training row": [int(i) for i in places]}
    for j in listed:
        table |= _of_column(density, x, kernels, j, len(known))
    weighted = not all_ones(density.weights)
    if weighted:
        table["weight"] = density.weights.tolist()
    factors = [name for name in table if name.startswith("K(")]
    term = "·".join(["weight"] * weighted + (factors if len(known) < _FEW else ["product"]))
    if term in table:  # a single column: its kernel is the term
        del table[term]
    grid = terms_table(table, term, logs.tolist(), most=None if all_terms else _MOST_ROWS)
    shares = density.contributions(x)
    effective = 1 / float((shares**2).sum())
    lines = [f"effective number of rows {number(float(f'{effective:.3g}'))} of {len(shares)}"]
    if len(known) > 3:  # the title shows only short rows
        attributes = [density.attributes[j] for j in known]
        lines.insert(
            0, "x: " + ", ".join(f"{a.name} {written(a, x[j])}" for a, j in zip(attributes, known, strict=True))
        )
    if np.isnan(density.cells[:, known]).any():
        lines.append("?: missing; h times the marginal density of the column replaces the kernel")
    sizes = [float(density.bandwidths[j]) for j in known if isinstance(density.attributes[j], Numeric)]
    below = "·".join(map(number, (density.n, *sizes)))
    symbols = ("n", "(n·h)")[len(sizes)] if len(sizes) < 2 else "(n·Π h)"
    divisor = f"({below})" if sizes else below
    total = Formula(f"f = sum/{symbols} = {shown(grid[term][-1])}/{divisor} = {probability(log)}")
    return Section(title, grid, (*lines, *_definitions(density, listed), total))


def _peaks(density: ProductKernelDensity) -> Floats:
    """Return the logarithm of the peak of each kernel for bandwidth 1; 0 for nominal and ordinal columns."""
    numeric = np.array([isinstance(a, Numeric) for a in density.attributes])
    return np.where(numeric, density.log_norms + np.log(np.where(numeric, density.bandwidths, 1.0)), 0.0)


def _of_column(
    density: ProductKernelDensity, x: Floats, kernels: Floats, j: int, n_known: int
) -> dict[str, list[Any]]:
    """Return the values of a column in the training rows, their distances in a short table, and their kernels."""
    a, cells = density.attributes[j], density.cells[:, j]
    table: dict[str, list[Any]] = {a.name: [written(a, value) for value in cells]}
    alone = n_known == 1
    if isinstance(a, Numeric) and n_known < _FEW:
        away = x[j] - cells
        if alone:
            table["x - xᵢ"] = away.tolist()
        table["u" if alone else f"u({a.name})"] = (away / density.bandwidths[j]).tolist()
    table["K(u)" if alone and isinstance(a, Numeric) else f"K({a.name})"] = [
        exponential(value) for value in kernels[:, j].tolist()
    ]
    return table


_KERNELS = {
    "gaussian": "exp(-u²/2)/√(2π)",
    "epanechnikov": "(3/4)·(1 - u²) for u from -1 to 1, else 0",
    "uniform": "1/2 for u from -1 to 1, else 0",
}


def _definitions(density: ProductKernelDensity, columns: Sequence[int]) -> list[str]:
    """Return the definitions of the kernels, with their bandwidths."""
    lines: list[str] = []
    several = len(columns) > 1
    for kernel, definition in _KERNELS.items():
        own = [j for j in columns if density.kernels[j] == kernel and isinstance(density.attributes[j], Numeric)]
        bandwidths = {density.attributes[j].name: number(float(density.bandwidths[j])) for j in own}
        if own:
            h = "" if several else f", h = {bandwidths.popitem()[1]}"
            line = f"K(u) = {definition}, u = (x - xᵢ)/h{h}"
            lines.append(line if "else" in definition else Formula(line))
        if bandwidths:
            lines.append("h: " + ", ".join(f"{name} {h}" for name, h in bandwidths.items()))
    for j in columns:
        a, share = density.attributes[j], number(float(density.bandwidths[j]))
        if isinstance(a, Ordinal):
            lines.append(f"K({a.name}) = λ^steps / Σ λ^steps over all values, λ = {share}")
        elif isinstance(a, Nominal):
            lines.append(
                f"K({a.name}) = 1 - λ for the same value, λ/({len(a.values)} - 1) for another value, λ = {share}"
            )
    return lines


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
