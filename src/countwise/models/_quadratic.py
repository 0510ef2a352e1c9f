"""The quadratic form of a Gaussian, as a lecture writes it out, and what each column says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.conditionals.normal import Marginal, Normal
from countwise.working import Grid, Section, Working
from countwise.working.numbers import number, probability, signed
from countwise.working.text import columns as classes_shown

__all__ = ["sections_of"]

_MOST = 12  # columns that are listed one by one

Vector = NDArray[np.float64]


def sections_of(law: Normal, column: Any, working: Working) -> list[Section]:
    """A section a class: (x - μ)' Σ⁻¹ (x - μ) column by column; then what each column says for the answer."""
    x = law.row(column)
    there = ~np.isnan(x)
    if not there.any():
        return []
    marginal = law.marginal(there)
    names = [name for name, known in zip(law.names, there, strict=True) if known]
    found = [_form(marginal, x[there], names, working, c) for c in classes_shown(working)]
    if len(working.classes) > 1:
        found.append(_contributions(marginal, x[there], names, working))
    return found


def _parts(marginal: Marginal, x: Vector, c: int) -> tuple[Vector, Vector, int]:
    """X - μ, Σ⁻¹ (x - μ), and which covariance it is."""
    k = 0 if marginal.shared else c
    away = x - marginal.mean[c]
    return away, marginal.whitener[k].T @ (marginal.whitener[k] @ away), k


def _form(marginal: Marginal, x: Vector, names: list[str], working: Working, c: int) -> Section:
    away, solved, k = _parts(marginal, x, c)
    products = away * solved
    square = float((marginal.whitener[k] @ away) @ (marginal.whitener[k] @ away))
    order = _largest(np.abs(products))
    table: dict[str, list[Any]] = {
        "": [names[j] for j in order],
        "x": [float(x[j]) for j in order],
        "μ": [float(marginal.mean[c][j]) for j in order],
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
        f"(x - μ)' Σ⁻¹ (x - μ) = {number(square)}, |Σ| = {determinant}",
        f"f = exp(-{number(square)} / 2) / √((2π)^{d} · {determinant}) = {probability(log)}",
    )
    return Section(f"{working.target} = {working.classes[c]}: density of the row", Grid(table), lines)


def _contributions(marginal: Marginal, x: Vector, names: list[str], working: Working) -> Section:
    """The log-odds of the answer against its rival, column by column."""
    a, b = working.chosen, working.rival
    if marginal.shared:  # linear: Σ⁻¹(μ_a - μ_b) times the distance from half-way
        slopes = marginal.slopes[a] - marginal.slopes[b]
        terms = slopes * (x - (marginal.mean[a] + marginal.mean[b]) / 2)
        constant = 0.0
    else:
        (away_a, solved_a, i), (away_b, solved_b, j) = _parts(marginal, x, a), _parts(marginal, x, b)
        terms = -0.5 * (away_a * solved_a - away_b * solved_b)
        constant = float(marginal.log_norm[i] - marginal.log_norm[j])
    order = _largest(np.abs(terms))
    labels, odds = [names[k] for k in order], [signed(float(terms[k])) for k in order]
    if len(order) < len(names):
        labels.append(f"{len(names) - len(order)} more")
        odds.append(signed(float(terms.sum() - terms[order].sum())))
    if constant:
        labels.append("½ log of |Σ| against |Σ|")
        odds.append(signed(constant))
    labels.append(f"P({working.target})")
    odds.append(signed(working.prior.log_odds(a, b)))
    labels.append("sum")
    total = working.log_joint[a] - working.log_joint[b]
    odds.append(signed(total) if not math.isnan(total) else "?")
    title = f"What each column says for {working.classes[a]} against {working.classes[b]}"
    return Section(title, Grid({"": labels, "log-odds": odds}))


def _largest(sizes: Vector) -> list[int]:
    """All columns in order, or the largest if there are many."""
    if len(sizes) <= _MOST:
        return list(range(len(sizes)))
    return sorted(np.argsort(-sizes, kind="stable")[:_MOST].tolist())
