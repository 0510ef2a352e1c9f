"""Find the columns that make a covariance matrix singular: constant columns and linear combinations of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countwise._typing import Flags, Floats
from countwise.tallies.moments import BLUR
from countwise.working.numbers import number

__all__ = ["SMALL", "Redundant", "flat", "redundant"]

_LEAST = 1e-11  # smallest fraction of a column's variance not explained by the columns before it
SMALL = 1e-290  # a variance that counts as 0; squares of tiny numbers underflow
_MOST_TERMS = 4


@dataclass(frozen=True, slots=True)
class Redundant:
    """A column that makes a covariance matrix singular."""

    column: int
    name: str
    why: str  # "is constant", or the linear combination of other columns that it equals
    separates: bool  # whether its class means differ although it is redundant within the classes

    def __str__(self) -> str:
        return f"{self.name!r} {self.why}"


def flat(n: Floats, mean: Floats, m2: Floats) -> Flags:
    """Return which columns are constant within the classes, from (n, mean, M2) of each class and column."""
    total = np.maximum(n.sum(axis=0), 1e-300)
    resolution = (BLUR * np.abs(np.where(n > 0, mean, 0.0)).max(axis=0)) ** 2
    return np.asarray(m2.sum(axis=0) / total <= np.maximum(resolution, SMALL))


def redundant(covariance: Floats, mean: Floats, names: Sequence[str], least: float = _LEAST) -> list[Redundant]:
    """Return the columns to exclude so that the within-class covariance is invertible; earlier columns are kept.

    A column is kept if at least the fraction `least` of its variance is not explained by the columns before it. The
    class means show whether the classes differ in a redundant column.
    """
    variance = np.diag(covariance)
    resolution = (BLUR * np.abs(mean).max(axis=0)) ** 2
    flat = variance <= np.maximum(resolution, SMALL)
    sd = np.sqrt(np.where(flat, 1.0, variance))
    r = covariance / np.outer(sd, sd)
    if not flat.any() and _is_sound(r, least):
        return []
    found: list[Redundant] = []
    kept: list[int] = []
    lower = np.zeros_like(r)  # Cholesky factor of the kept columns, row by row
    for j in range(len(r)):
        if flat[j]:
            found.append(_constant(j, mean, names, resolution))
            continue
        row = np.zeros(len(kept))
        for k, i in enumerate(kept):
            row[k] = (r[j, i] - row[:k] @ lower[i, :k]) / lower[i, k]
        left = r[j, j] - float(row @ row)
        if left < least:
            found.append(_combination(j, kept, covariance, mean, names))
            continue
        lower[j, : len(kept)] = row
        lower[j, len(kept)] = np.sqrt(left)
        kept.append(j)
    return found


def _is_sound(r: Floats, least: float) -> bool:
    """Return whether no column of a correlation matrix is close to a linear combination of those before it."""
    try:
        return bool((np.diag(np.linalg.cholesky(r)) ** 2).min() > 10 * least)
    except np.linalg.LinAlgError:
        return False


def _constant(j: int, mean: Floats, names: Sequence[str], resolution: Floats) -> Redundant:
    apart = float(np.ptp(mean[:, j]))
    separates = apart**2 > max(float(resolution[j]), SMALL)
    why = "is constant within each class, and differs between them" if separates else "is constant"
    return Redundant(j, names[j], why, separates)


def _combination(j: int, kept: Sequence[int], covariance: Floats, mean: Floats, names: Sequence[str]) -> Redundant:
    """Describe a column as a linear combination of kept columns, and check whether the class means agree with it."""
    part = np.ix_(kept, kept)
    sd = np.sqrt(np.diag(covariance))
    inner = covariance[part] / np.outer(sd[kept], sd[kept])
    slopes = np.linalg.solve(inner, covariance[kept, j] / (sd[kept] * sd[j]))  # of standardized columns
    used = [k for k in range(len(kept)) if abs(slopes[k]) > 1e-6]
    rest = mean[:, j] / sd[j] - (mean[:, kept] / sd[kept]) @ slopes
    size = np.abs(mean[:, j] / sd[j]).max() + float(np.abs(mean[:, kept] / sd[kept] * slopes).sum(axis=1).max())
    separates = bool(np.ptp(rest) > 1e-6 + 1e-12 * size)
    if len(used) > _MOST_TERMS:
        why = f"is a combination of {len(used)} other columns"
    else:
        terms = [(slopes[k] * sd[j] / sd[kept[k]], names[kept[k]]) for k in used]
        constant = float(np.mean(rest)) * sd[j]
        why = f"= {_written(terms, 0.0 if separates else constant, sd[j])}"
    why += " within each class, and differs between them" * separates
    return Redundant(j, names[j], why, separates)


def _written(terms: Sequence[tuple[float, str]], constant: float, size: float) -> str:
    """Return a linear combination as text, such as ``2·a - b + 3``."""
    text = ""
    for slope, name in terms:
        sign = ("-" if slope < 0 else "") if not text else (" - " if slope < 0 else " + ")
        factor = "" if abs(abs(slope) - 1) < 1e-6 else f"{_short(abs(slope))}·"
        text += f"{sign}{factor}{name}"
    if abs(constant) > 1e-6 * size:
        text += f" {'-' if constant < 0 else '+'} {_short(abs(constant))}"
    return text or "0"


def _short(value: float) -> str:
    return number(float(f"{value:.6g}"))
