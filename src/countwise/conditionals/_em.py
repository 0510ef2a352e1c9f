"""EM for Gaussian classes with missing cells, from the scatter tallies alone.

Rows in which the same cells are there enter only through their number, mean and scatter; so a step
costs as much as there are patterns of missing cells, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.errors import warn
from countwise.tallies._cells import Cells

__all__ = ["Estimate", "em"]

Matrix = NDArray[np.float64]
_TOLERANCE = 1e-10  # a step that moves nothing by more than this share of a deviation is the last
_MOST_STEPS = 2000
_JITTER = 1e-12  # eigenvalues of a correlation matrix below this are none


class Estimate(NamedTuple):
    """Gaussians, one a class, over all columns."""

    n: NDArray[np.float64]  # (classes,)
    mean: Matrix  # (classes, columns)
    scatter: Matrix  # (classes, columns, columns): expected, about the class means
    n_iter: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Patterns with as many cells there as each other, stacked."""

    there: NDArray[np.intp]  # (patterns, there)
    gone: NDArray[np.intp]  # (patterns, gone)
    n: NDArray[np.float64]  # (patterns, classes)
    mean: Matrix  # (patterns, classes, there)
    scatter: Matrix | None  # (patterns, classes, there, there)


def em(
    patterns: Sequence[tuple[NDArray[np.bool_], Cells]], mean: Matrix, variance: Matrix, *, shared: bool
) -> Estimate:
    """The Gaussians under which the cells that are there are likeliest.

    Parameters
    ----------
    patterns : sequence of (mask, Cells)
        From the scatter tally.
    mean, variance : ndarray, shape (classes, columns)
        Where to start: of the cells that are there; the variance with all columns unrelated.
    shared : bool
        Whether the classes have one covariance.
    """
    scale = np.sqrt(variance.mean(axis=0))
    center = mean.mean(axis=0)
    groups = _grouped(patterns, center, scale)
    mu = (mean - center) / scale
    sigma = _covariances(np.ones(len(mean)), np.stack([np.diag(v) for v in variance / scale**2]), shared=shared)
    steps, moved = 0, np.inf
    while moved >= _TOLERANCE and steps < _MOST_STEPS:
        n, new_mu, scatter = _step(groups, mu, sigma)
        new_sigma = _covariances(n, scatter, shared=shared)
        moved = max(float(np.abs(new_mu - mu).max()), float(np.abs(new_sigma - sigma).max()))
        mu, sigma, steps = new_mu, new_sigma, steps + 1
    if moved >= _TOLERANCE:
        warn(f"EM over the missing cells still moved by {moved:.1g} of a deviation after {_MOST_STEPS} steps.")
    n, _, scatter = _step(groups, mu, sigma)
    mean = mu * scale + center
    mean = np.where(np.abs(mean) < 1e-14 * (np.abs(center) + scale), 0.0, mean)  # what rounding left of nothing
    return Estimate(n, mean, scatter * np.outer(scale, scale), steps)


def _covariances(n: NDArray[np.float64], scatter: Matrix, *, shared: bool) -> Matrix:
    if shared:
        one = scatter.sum(axis=0) / n.sum()
        return np.broadcast_to(one, scatter.shape)
    return scatter / np.maximum(n, 1e-300)[:, None, None]


def _grouped(patterns: Sequence[tuple[NDArray[np.bool_], Cells]], center: Matrix, scale: Matrix) -> list[_Group]:
    by_size: dict[int, list[tuple[NDArray[np.bool_], Cells]]] = {}
    for there, cells in patterns:
        by_size.setdefault(int(there.sum()), []).append((there, cells))
    groups = []
    for found in by_size.values():
        present = np.stack([np.flatnonzero(mask) for mask, _ in found])
        gone = np.stack([np.flatnonzero(~mask) for mask, _ in found])
        mean = np.stack([cells.mean for _, cells in found])
        n = np.stack([cells.n for _, cells in found])
        mean = np.where(n[:, :, None] > 0, (mean - center[present][:, None, :]) / scale[present][:, None, :], 0.0)
        scatter = None
        if any(cells.scatter is not None for _, cells in found):
            both = scale[present][:, None, :, None] * scale[present][:, None, None, :]
            scatter = np.stack([cells.scattered() for _, cells in found]) / both
        groups.append(_Group(present, gone, n, mean, scatter))
    return groups


def _step(groups: Sequence[_Group], mu: Matrix, sigma: Matrix) -> tuple[NDArray[np.float64], Matrix, Matrix]:
    """Expected number, mean and scatter of the complete rows, class by class."""
    classes, d = mu.shape
    n = np.zeros(classes)
    weighted = np.zeros((classes, d))
    filled = []
    inner = np.zeros((classes, d, d))
    for group in groups:
        means, spread = _expected(group, mu, sigma)
        filled.append((group.n, means))
        n += group.n.sum(axis=0)
        weighted += np.einsum("pk,pkd->kd", group.n, means)
        inner += spread
    mean = weighted / np.maximum(n, 1e-300)[:, None]
    mean = np.where(n[:, None] > 0, mean, mu)
    for weights, means in filled:
        away = means - mean
        inner += np.einsum("pk,pki,pkj->kij", weights, away, away, optimize=True)
    return n, mean, inner


def _expected(group: _Group, mu: Matrix, sigma: Matrix) -> tuple[Matrix, Matrix]:
    """The means of the rows with their gaps filled, and their expected scatter about those means."""
    patterns, classes = group.n.shape
    d = mu.shape[1]
    means = np.zeros((patterns, classes, d))
    scatter = np.zeros((classes, d, d))
    rows = np.arange(patterns)[:, None]
    there, gone = group.there, group.gone
    shared = sigma.strides[0] == 0  # one covariance, seen once a class
    slope, left = _regression(sigma[0], there, gone)
    for c in range(classes):
        if not group.n[:, c].any():
            continue
        if not shared and c:
            slope, left = _regression(sigma[c], there, gone)
        means[rows, c, there] = group.mean[:, c]
        if gone.shape[1]:
            away = group.mean[:, c] - mu[c][there]
            means[rows, c, gone] = mu[c][gone] + np.einsum("pgt,pt->pg", slope, away)
            _add(scatter[c], group.n[:, c, None, None] * left, gone, gone)
        if group.scatter is not None:
            own = group.scatter[:, c]
            _add(scatter[c], own, there, there)
            if gone.shape[1]:
                across = slope @ own
                _add(scatter[c], across, gone, there)
                _add(scatter[c], across.swapaxes(1, 2), there, gone)
                _add(scatter[c], across @ slope.swapaxes(1, 2), gone, gone)
    return means, scatter


def _regression(sigma: Matrix, there: NDArray[np.intp], gone: NDArray[np.intp]) -> tuple[Matrix, Matrix]:
    """The slopes of what is gone on what is there, and the covariance that they leave."""
    if not gone.shape[1]:
        return np.zeros((len(there), 0, there.shape[1])), np.zeros((len(there), 0, 0))
    known = sigma[there[:, :, None], there[:, None, :]]
    across = sigma[gone[:, :, None], there[:, None, :]]
    try:
        slope = np.linalg.solve(known, across.swapaxes(1, 2)).swapaxes(1, 2)
        sound = bool(np.isfinite(slope).all()) and float(np.abs(slope).max(initial=0.0)) < 1 / np.sqrt(_JITTER)
    except np.linalg.LinAlgError:
        sound = False
    if not sound:  # columns that repeat each other: any of them tells what all tell
        slope = across @ np.linalg.pinv(known, rcond=_JITTER, hermitian=True)
    left = sigma[gone[:, :, None], gone[:, None, :]] - slope @ across.swapaxes(1, 2)
    return np.asarray(slope), np.asarray(left)


def _add(to: Matrix, parts: Matrix, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
    """Add each pattern's matrix at its own rows and columns."""
    d = len(to)
    flat = (rows[:, :, None] * d + columns[:, None, :]).ravel()
    to += np.bincount(flat, weights=parts.ravel(), minlength=d * d).reshape(d, d)
