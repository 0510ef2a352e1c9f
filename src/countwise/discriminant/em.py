"""EM for Gaussian classes with missing cells, from the scatter tallies alone.

Rows in which the same cells are there enter only through their number, mean and scatter; so a step
costs as much as there are patterns of missing cells, however many rows there are. Steps are taken three at a
time and the path between them is drawn out (squared extrapolation), which saves most of them where much is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.errors import warn
from countwise.tallies._cells import PatternMoments

__all__ = ["EMEstimate", "em"]

Places = NDArray[np.intp]
_TOLERANCE = 1e-10  # a step that moves nothing by more than this share of a deviation is the last
_MOST_STEPS = 3000
_JITTER = 1e-12  # eigenvalues of a correlation matrix below this are none


class EMEstimate(NamedTuple):
    """Gaussians, one a class, over all columns."""

    n: Floats  # (classes,)
    mean: Floats  # (classes, columns)
    scatter: Floats  # (classes, columns, columns): expected, about the class means
    n_iter: int


class _State(NamedTuple):
    """Where EM stands: means, and one covariance or one a class; all in units of the columns' deviations."""

    mean: Floats  # (classes, columns)
    covariance: Floats  # (1 or classes, columns, columns)

    def away_from(self, other: _State) -> float:
        moved = np.abs(self.mean - other.mean).max()
        return float(max(moved, np.abs(self.covariance - other.covariance).max()))


@dataclass(frozen=True, slots=True)
class _Group:
    """Cells (a pattern of missing columns in a class) with as many columns there as each other."""

    classes: Places  # (cells,)
    n: Floats  # (cells,)
    mean: Floats  # (cells, there)
    there: Places  # (cells, there)
    gone: Places  # (cells, gone)
    heavy: Places  # the cells that have a scatter of their own
    scatter: Floats  # (heavy, there, there)
    which: Places  # (cells,): the regression of each
    first: Places  # (regressions,): a cell that has it


def em(
    patterns: Sequence[tuple[Flags, PatternMoments]], mean: Floats, variance: Floats, *, shared: bool
) -> EMEstimate:
    """The Gaussians under which the cells that are there are likeliest; mean and variance are where to start."""
    scale, center = np.sqrt(variance.mean(axis=0)), mean.mean(axis=0)
    groups = _grouped(patterns, center, scale, shared=shared)
    diagonal = np.stack([np.diag(v) for v in variance / scale**2])
    here = _State((mean - center) / scale, diagonal.mean(axis=0, keepdims=True) if shared else diagonal)
    here, steps, moved = _climbed(groups, here)
    if moved >= _TOLERANCE:
        warn(f"EM over the missing cells still moved by {moved:.1g} of a deviation after {steps} steps.")
    n, _, scatter = _expected(groups, here, by_class=True)
    found = here.mean * scale + center
    found = np.where(np.abs(found) < 1e-14 * (np.abs(center) + scale), 0.0, found)  # what rounding left of nothing
    return EMEstimate(n, found, scatter * np.outer(scale, scale), steps)


def _climbed(groups: Sequence[_Group], here: _State) -> tuple[_State, int, float]:
    """EM until it converges: two steps, a leap along their curve, and a step to make sure."""
    steps, moved, last = 0, np.inf, np.inf
    while steps < _MOST_STEPS:
        one = _step(groups, here)
        moved = one.away_from(here)
        steps += 1
        if moved < _TOLERANCE:
            return one, steps, moved
        two = _step(groups, one)
        leap = _leap(here, one, two)
        steps += 1
        # a leap that led farther from rest than the last did is not taken
        here = two if leap is None or moved > 2 * last else leap
        last = moved
    return here, steps, moved


def _leap(here: _State, one: _State, two: _State) -> _State | None:
    """Where the two steps seem to lead; None if that is no covariance."""
    r = [b - a for a, b in zip(here, one, strict=True)]
    v = [(c - b) - d for b, c, d in zip(one, two, r, strict=True)]
    curve = sum(float((part**2).sum()) for part in v)
    if not curve > 0:
        return None
    length = max(1.0, float(np.sqrt(sum(float((part**2).sum()) for part in r) / curve)))
    while length > 1:
        mean, covariance = (a + 2 * length * d + length**2 * w for a, d, w in zip(here, r, v, strict=True))
        try:
            np.linalg.cholesky(covariance - 1e-10 * np.eye(covariance.shape[1]))
        except np.linalg.LinAlgError:
            length = (length + 1) / 2 if length > 1.5 else 1.0
        else:
            return _State(mean, covariance)
    return None


def _step(groups: Sequence[_Group], state: _State) -> _State:
    """Fill the missing cells, and take means and covariances anew."""
    n, mean, scatter = _expected(groups, state, by_class=len(state.covariance) > 1)
    if len(state.covariance) == 1:
        return _State(mean, scatter / n.sum())
    covariance = scatter / np.maximum(n, 1e-300)[:, None, None]
    return _State(mean, np.where((n > 0)[:, None, None], covariance, state.covariance))


def _grouped(
    patterns: Sequence[tuple[Flags, PatternMoments]], center: Floats, scale: Floats, *, shared: bool
) -> list[_Group]:
    by_size: dict[int, list[tuple[Flags, PatternMoments]]] = {}
    for mask, cells in patterns:
        by_size.setdefault(int(mask.sum()), []).append((mask, cells))
    return [_group(found, center, scale, shared=shared) for found in by_size.values()]


def _group(found: Sequence[tuple[Flags, PatternMoments]], center: Floats, scale: Floats, *, shared: bool) -> _Group:
    n = np.stack([cells.n for _, cells in found])
    pattern, classes = np.nonzero(n > 0)
    there = np.stack([np.flatnonzero(mask) for mask, _ in found])[pattern]
    gone = np.stack([np.flatnonzero(~mask) for mask, _ in found])[pattern]
    mean = np.stack([found[p][1].mean[c] for p, c in zip(pattern.tolist(), classes.tolist(), strict=True)])
    heavy, scatter = [], []
    for i, (p, c) in enumerate(zip(pattern.tolist(), classes.tolist(), strict=True)):
        own = found[p][1].scatter
        if own is not None and own[c].any():
            heavy.append(i)
            scatter.append(own[c] / np.outer(scale[there[i]], scale[there[i]]))
    which = pattern if shared else np.arange(len(pattern))
    _, first, which = np.unique(which, return_index=True, return_inverse=True)
    size = there.shape[1]
    return _Group(
        classes=classes,
        n=n[pattern, classes],
        mean=(mean - center[there]) / scale[there],
        there=there,
        gone=gone,
        heavy=np.array(heavy, dtype=np.intp),
        scatter=np.array(scatter).reshape(len(heavy), size, size),
        which=which.ravel(),
        first=first,
    )


def _expected(groups: Sequence[_Group], state: _State, *, by_class: bool) -> tuple[Floats, Floats, Floats]:
    """Expected number, mean and scatter of the complete rows; the scatter of each class, or of all together."""
    k, d = state.mean.shape
    n, total = np.zeros(k), np.zeros((k, d))
    scatter = np.zeros((k if by_class else 1, d, d))
    precision = _precision(state.covariance)
    filled = []
    for group in groups:
        rows = np.zeros((len(group.n), d))
        into = group.classes if by_class else np.zeros_like(group.classes)
        place = np.arange(len(rows))[:, None]
        rows[place, group.there] = group.mean
        if len(group.heavy):
            _add(scatter, group.scatter, into[group.heavy], group.there[group.heavy], group.there[group.heavy])
        if group.gone.shape[1]:
            slope, left = _regressions(group, state.covariance, precision)
            mu = state.mean[group.classes[:, None], group.there]
            rise = np.einsum("mgt,mt->mg", slope[group.which], group.mean - mu)
            rows[place, group.gone] = state.mean[group.classes[:, None], group.gone] + rise
            _add(scatter, group.n[:, None, None] * left[group.which], into, group.gone, group.gone)
            _add_heavy(scatter, group, slope, into)
        filled.append((group, rows))
        n += np.bincount(group.classes, weights=group.n, minlength=k)
        for c in range(k):
            mine = group.classes == c
            total[c] += group.n[mine] @ rows[mine]
    mean = np.where(n[:, None] > 0, total / np.maximum(n, 1e-300)[:, None], state.mean)
    for group, rows in filled:
        away = (rows - mean[group.classes]) * np.sqrt(group.n)[:, None]
        for c in range(len(scatter)):
            mine = away[group.classes == c] if by_class else away
            scatter[c] += mine.T @ mine
    return n, mean, scatter


def _add_heavy(scatter: Floats, group: _Group, slope: Floats, into: Places) -> None:
    """What missing columns inherit of the scatter that cells have of their own."""
    if not len(group.heavy):
        return
    own = slope[group.which[group.heavy]]
    there, gone, to = group.there[group.heavy], group.gone[group.heavy], into[group.heavy]
    across = own @ group.scatter
    _add(scatter, across, to, gone, there)
    _add(scatter, across.swapaxes(1, 2), to, there, gone)
    _add(scatter, across @ own.swapaxes(1, 2), to, gone, gone)


def _precision(covariance: Floats) -> Floats | None:
    """The inverse of each covariance, if all of them can be inverted with digits to spare."""
    try:
        np.linalg.cholesky(covariance - 1e-9 * np.eye(covariance.shape[1]))
        return np.asarray(np.linalg.inv(covariance))
    except np.linalg.LinAlgError:
        return None


def _regressions(group: _Group, covariance: Floats, precision: Floats | None) -> tuple[Floats, Floats]:
    """The slopes of what is gone on what is there, and the covariance that they leave."""
    there, gone = group.there[group.first], group.gone[group.first]
    own = (group.classes[group.first] if len(covariance) > 1 else np.zeros_like(group.first))[:, None, None]
    if precision is not None:  # few columns are gone, mostly: theirs is the smaller system
        within = precision[own, gone[:, :, None], gone[:, None, :]]
        left = np.linalg.inv(within)
        slope = -left @ precision[own, gone[:, :, None], there[:, None, :]]
        return np.asarray(slope), np.asarray(left)
    known = covariance[own, there[:, :, None], there[:, None, :]]
    across = covariance[own, gone[:, :, None], there[:, None, :]]
    # columns that repeat each other: any of them tells what all tell
    slope = across @ np.linalg.pinv(known, rcond=_JITTER, hermitian=True)
    left = covariance[own, gone[:, :, None], gone[:, None, :]] - slope @ across.swapaxes(1, 2)
    return slope, left


def _add(to: Floats, parts: Floats, into: Places, rows: Places, columns: Places) -> None:
    """Add each cell's matrix to that of its class, at its own rows and columns."""
    k, d, _ = to.shape
    flat = (into[:, None, None] * d + rows[:, :, None]) * d + columns[:, None, :]
    to += np.bincount(flat.ravel(), weights=parts.ravel(), minlength=k * d * d).reshape(k, d, d)
