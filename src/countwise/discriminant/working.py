"""Working of a discriminant: the quadratic form of each class, and the log-odds by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.discriminant.density import Marginal, MultivariateNormal
from countwise.working import Formula, Grid, Section, Working
from countwise.working.grid import Matrix
from countwise.working.numbers import number, precise, probability, signed
from countwise.working.text import columns as classes_shown

__all__ = ["sections_of"]

_MOST = 12  # most columns that are listed one by one
_MOST_SQUARE = 5  # most columns for which the covariance is shown


def sections_of(density: MultivariateNormal, column: Any, working: Working, divisor: str) -> list[Section]:
    """Return sections from the means and the covariance to the score of each class and the log-odds by column."""
    x = density.row(column)
    known = ~np.isnan(x)
    if not known.any():
        return []
    if not np.isfinite(working.log_joint).any():  # too far from every class: nothing can be written out
        return []
    marginal = density.marginal(known)
    names = [name for name, is_known in zip(density.names, known, strict=True) if is_known]
    found = [_means(density, marginal, names, working)]
    found += _covariances(density, known, names, working, divisor) if len(names) <= _MOST_SQUARE else []
    found += [_form(marginal, x[known], names, working, c) for c in classes_shown(working)]
    if len(working.classes) > 1:
        found.append(_scores(working))
        found.append(_contributions(marginal, x[known], names, working))
    return found


def _parts(marginal: Marginal, x: Floats, c: int) -> tuple[Floats, Floats, int]:
    """Return x - μ, Σ⁻¹ (x - μ), and the index of the covariance of class c."""
    k = 0 if marginal.shared else c
    away = x - marginal.mean[c]
    return away, marginal.whitener[k].T @ (marginal.whitener[k] @ away), k


def _form(marginal: Marginal, x: Floats, names: list[str], working: Working, c: int) -> Section:
    away, solved, k = _parts(marginal, x, c)
    products = away * solved
    square = float((marginal.whitener[k] @ away) @ (marginal.whitener[k] @ away))
    order = _largest(np.abs(products))
    table: dict[str, list[Any]] = {
        "": [names[j] for j in order],
        "x": [_beside(float(x[j]), float(away[j])) for j in order],
        "μ": [_beside(float(marginal.mean[c][j]), float(away[j])) for j in order],
        "x - μ": [float(away[j]) for j in order],
        "Σ⁻¹(x - μ)": [float(solved[j]) for j in order],
        "product": [float(products[j]) for j in order],
    }
    if len(order) < len(names):
        rest = float(products.sum() - products[order].sum())
        for key, cell in zip(table, (f"{len(names) - len(order)} more", None, None, None, None, rest), strict=True):
            table[key].append(cell)
    d = len(names)
    log = float(marginal.log_norm[k]) - square / 2
    determinant = probability(float(marginal.log_det[k]))
    lines = (
        Formula(f"(x - μ)' Σ⁻¹ (x - μ) = {number(square)}, |Σ| = {determinant}"),
        Formula(f"f = exp(-{number(square)}/2)/√((2π)^{d}·{determinant}) = {probability(log)}"),
    )
    return Section(f"{working.target} = {working.classes[c]}: density of the row", Grid(table), lines)


def _beside(value: float, difference: float) -> float | str:
    """Return a number, as text if six digits do not show the difference between it and another one."""
    text = precise(value, max(1e-4 * abs(difference), 1e-14 * abs(value)))
    return value if text == number(value) else text


def _means(density: MultivariateNormal, marginal: Marginal, names: list[str], working: Working) -> Section:
    """Return the section with the mean of each class, and its number of rows."""
    listed = _largest(np.abs(marginal.mean).max(axis=0))
    table: dict[str, list[Any]] = {"": [*(names[j] for j in listed), "rows"]}
    for c in classes_shown(working):
        table[f"μ {working.classes[c]}"] = [*marginal.mean[c][listed].tolist(), float(density.n[c])]
    return Section("Means", Grid(table))


def _covariances(
    density: MultivariateNormal, known: Any, names: list[str], working: Working, divisor: str
) -> list[Section]:
    """Return sections with the covariance of the known columns and its inverse, of all classes or of each."""
    place = np.flatnonzero(known)
    marginal = density.marginal(known)
    found = []
    for c in [0] if density.shared else classes_shown(working):
        sigma = (density.covariance if density.shared else density.covariance[c])[np.ix_(place, place)]
        whose = ", pooled over all classes" if density.shared else f" of {working.target} = {working.classes[c]}"
        lines: tuple[str, ...] = ()
        if not density.n_iter and not np.any(density.shrinkage):
            n, k = (float(density.n.sum()), len(density.n)) if density.shared else (float(density.n[c]), 1)
            below = f"({number(n)} - {k})" if divisor == "n-classes" else number(n)
            lines = (Formula(f"Σ = 1/{below}·Σ (x - μ)(x - μ)ᵀ"),)
        found.append(Section(f"Covariance{whose}", Matrix("Σ", names, sigma), lines))
        determinant = Formula(f"|Σ| = {probability(float(marginal.log_det[c]))}")
        found.append(
            Section(f"Inverse covariance{whose}", Matrix("Σ⁻¹", names, marginal.precision[c]), (determinant,))
        )
    return found


def _scores(working: Working) -> Section:
    """Return the section with log prior, log density and score of each class, and the posterior from the scores."""
    classes = classes_shown(working)
    logs = [working.log_joint[c] for c in classes]
    prior = [working.prior.factors[c].log for c in classes]
    table: dict[str, list[Any]] = {
        "": [str(working.classes[c]) for c in classes],
        f"log P({working.target})": prior,
        "log f": [log - own if np.isfinite(own) else float("nan") for log, own in zip(logs, prior, strict=True)],
        "score": logs,
        "posterior": [working.posterior[c] for c in classes],
    }
    lines = [f"score = log P({working.target}) + log f"]
    if len(classes) == len(working.classes) and np.isfinite(logs).all():
        best = working.log_joint[working.chosen]
        powers = [f"exp({number(log - best)})" for log in logs]
        posterior = number(working.posterior[working.chosen])
        lines.append(Formula(f"P(prediction | x) = exp(0)/({' + '.join(powers)}) = {posterior}"))
    return Section("Score of each class", Grid(table), tuple(lines))


def _contributions(marginal: Marginal, x: Floats, names: list[str], working: Working) -> Section:
    """Return the section with the log-odds of the predicted class against its rival, by column."""
    a, b = working.chosen, working.rival
    first, second = working.classes[a], working.classes[b]
    constant, columns = 0.0, {}
    if marginal.shared:  # linear in the row
        slopes, away = marginal.slopes[a] - marginal.slopes[b], x - (marginal.mean[a] + marginal.mean[b]) / 2
        terms = slopes * away
        columns = {f"w = Σ⁻¹(μ_{first} - μ_{second})": slopes, "x - midpoint": away}
        how = "w times the difference from the midpoint of the two means"
    else:
        (away_a, solved_a, i), (away_b, solved_b, j) = _parts(marginal, x, a), _parts(marginal, x, b)
        terms = -0.5 * (away_a * solved_a - away_b * solved_b)
        constant = float(marginal.log_norm[i] - marginal.log_norm[j])
        how = f"half of the product of {second} above, minus half of the product of {first}"
    order = _largest(np.abs(terms))
    table: dict[str, list[Any]] = {"": [names[k] for k in order]}
    table |= {name: [float(values[k]) for k in order] for name, values in columns.items()}
    table["log-odds"] = [signed(float(terms[k])) for k in order]
    rest = len(names) - len(order)
    more = [(f"{rest} more", float(terms.sum() - terms[order].sum()))] if rest else []
    more += [(f"½ log(|Σ_{second}| / |Σ_{first}|)", constant)] if constant else []
    more += [
        (f"P({working.target})", working.prior.log_odds(a, b)),
        ("sum", working.log_joint[a] - working.log_joint[b]),
    ]
    for label, odds in more:
        row = (label, *[None] * len(columns), signed(odds) if odds == odds else "?")
        for column, cell in zip(table.values(), row, strict=True):
            column.append(cell)
    return Section(f"Log-odds of {first} against {second} by column", Grid(table), (f"log-odds: {how}",))


def _largest(sizes: Floats) -> list[int]:
    """Return all columns in order, or the columns with the largest values if there are many."""
    if len(sizes) <= _MOST:
        return list(range(len(sizes)))
    return sorted(np.argsort(-sizes, kind="stable")[:_MOST].tolist())
