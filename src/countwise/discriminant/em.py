"""EM algorithm for normal classes with missing values, from the scatter tallies alone.

Rows with the same pattern of missing values enter only through their number, mean and scatter matrix. The cost of an
iteration is therefore proportional to the number of patterns, not of rows. Iterations are accelerated by squared
extrapolation (SQUAREM), which saves most of them where many values are missing.

Where too few rows have the columns together, the likelihood has no maximum: it grows without limit while a covariance
becomes singular. EM stops as soon as that shows, or if it does not converge, and starts again with a ridge: each
iteration replaces the scatter S / n by (1 - r) S / n + r D, where D has the variances of the columns and no
correlations. This maximizes the likelihood times an inverse Wishart prior with the weight of n r / (1 - r) rows.
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

__all__ = ["RIDGE", "EMEstimate", "em"]

Places = NDArray[np.intp]
_TOLERANCE = 1e-10  # EM stops when no parameter changes by more than this fraction of a standard deviation
_MOST_STEPS = 500
_JITTER = 1e-12  # eigenvalues of a correlation matrix below this count as 0
_SINGULAR = 1e-8  # a correlation matrix with a smaller eigenvalue is on its way to a singular one
RIDGE = 0.1  # r: fraction of the variances in a covariance that the known values do not determine


class EMEstimate(NamedTuple):
    """Means and scatter matrices of all columns, for each class."""

    n: Floats  # (classes,)
    mean: Floats  # (classes, columns)
    scatter: Floats  # (classes, columns, columns): expected scatter about the class means, with its ridge
    n_iter: int
    ridge: Floats  # (1 or classes,): ridge of the covariance of all classes, or of each; 0 if there is none


class _State(NamedTuple):
    """Current means, and one covariance or one for each class; all in units of the columns' standard deviations."""

    mean: Floats  # (classes, columns)
    covariance: Floats  # (1 or classes, columns, columns)

    def away_from(self, other: _State) -> float:
        moved = np.abs(self.mean - other.mean).max()
        return float(max(moved, np.abs(self.covariance - other.covariance).max()))


@dataclass(frozen=True, slots=True)
class _Group:
    """Patterns of missing values in a class ("cells") with equally many known columns."""

    classes: Places  # (cells,)
    n: Floats  # (cells,)
    mean: Floats  # (cells, known)
    known: Places  # (cells, known): indices of the known columns
    gone: Places  # (cells, gone): indices of the missing columns
    heavy: Places  # cells with a scatter matrix, that is with more than one distinct row
    scatter: Floats  # (heavy, known, known)
    which: Places  # (cells,): index of the regression that each cell uses
    first: Places  # (regressions,): a cell that uses it


@dataclass(frozen=True, slots=True)
class _Ridge:
    """A fraction of the variances at the start that is mixed into each covariance."""

    share: Floats  # (1 or classes,)
    variance: Floats  # (1 or classes, columns, columns): diagonal

    def mixed(self, covariance: Floats) -> Floats:
        """Return (1 - r) Σ + r D."""
        share = self.share[:, None, None]
        return np.where(share > 0, (1 - share) * covariance + share * self.variance, covariance)


def em(
    patterns: Sequence[tuple[Flags, PatternMoments]], mean: Floats, variance: Floats, *, shared: bool
) -> EMEstimate:
    """Return the maximum likelihood estimate for the known values, starting from the given mean and variance.

    A covariance that would become singular gets a ridge.
    """
    scale, center = np.sqrt(variance.mean(axis=0)), mean.mean(axis=0)
    groups = _grouped(patterns, center, scale, shared=shared)
    diagonal = np.stack([np.diag(v) for v in variance / scale**2])
    start = _State((mean - center) / scale, diagonal.mean(axis=0, keepdims=True) if shared else diagonal)
    ridge = _Ridge(np.zeros(len(start.covariance)), start.covariance)
    here, steps, singular = _climbed(groups, start, ridge)
    while singular.any():
        ridge = _Ridge(np.where(singular, RIDGE, ridge.share), start.covariance)
        here, more, singular = _climbed(groups, start, ridge)
        steps += more
    n, _, scatter = _expected(groups, here, by_class=True)
    mass = np.maximum(n, 1e-300)[:, None, None]
    scatter = ridge.mixed(scatter / mass) * mass if ridge.share.any() else scatter
    found = here.mean * scale + center
    found = np.where(np.abs(found) < 1e-14 * (np.abs(center) + scale), 0.0, found)  # rounding errors about 0
    return EMEstimate(n, found, scatter * np.outer(scale, scale), steps, ridge.share)


def _climbed(groups: Sequence[_Group], here: _State, ridge: _Ridge) -> tuple[_State, int, Flags]:
    """Iterate EM until it converges: two steps, then an extrapolation along their path.

    Also return which covariances need a ridge: those that are nearly singular, and all if EM does not converge.
    """
    steps, moved, last = 0, np.inf, np.inf
    free = ridge.share == 0
    while steps < _MOST_STEPS:
        one = _step(groups, here, ridge)
        moved = one.away_from(here)
        steps += 1
        singular = free & _nearly_singular(one.covariance, ridge.variance)
        if moved < _TOLERANCE or singular.any():
            return one, steps, singular
        two = _step(groups, one, ridge)
        leap = _leap(here, one, two)
        steps += 1
        # no extrapolation after one that led away from the optimum
        here = two if leap is None or moved > 2 * last else leap
        last = moved
    if not free.any():
        warn(
            f"EM for the missing values did not converge in {steps} iterations; the last one changed a parameter by "
            f"{moved:.1g} standard deviations."
        )
    return here, steps, free


def _nearly_singular(covariance: Floats, start: Floats) -> Flags:
    """Return which covariances have lost a variance since the start, or have an eigenvalue near 0 (correlations)."""
    variance = np.einsum("kjj->kj", covariance)
    flat = (variance <= _SINGULAR * np.einsum("kjj->kj", start)).any(axis=1)
    sd = np.sqrt(np.where(variance > 0, variance, 1.0))
    least = np.linalg.eigvalsh(covariance / (sd[:, :, None] * sd[:, None, :]))[:, 0]
    return np.asarray(flat | (least < _SINGULAR))


def _leap(here: _State, one: _State, two: _State) -> _State | None:
    """Extrapolate two EM steps (SQUAREM); None if the result is not a valid covariance."""
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


def _step(groups: Sequence[_Group], state: _State, ridge: _Ridge) -> _State:
    """Return the means and covariances after one EM iteration."""
    n, mean, scatter = _expected(groups, state, by_class=len(state.covariance) > 1)
    if len(state.covariance) == 1:
        return _State(mean, ridge.mixed(scatter / n.sum()))
    covariance = ridge.mixed(scatter / np.maximum(n, 1e-300)[:, None, None])
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
    known = np.stack([np.flatnonzero(mask) for mask, _ in found])[pattern]
    gone = np.stack([np.flatnonzero(~mask) for mask, _ in found])[pattern]
    mean = np.stack([found[p][1].mean[c] for p, c in zip(pattern.tolist(), classes.tolist(), strict=True)])
    heavy, scatter = [], []
    for i, (p, c) in enumerate(zip(pattern.tolist(), classes.tolist(), strict=True)):
        own = found[p][1].scatter
        if own is not None and own[c].any():
            heavy.append(i)
            scatter.append(own[c] / np.outer(scale[known[i]], scale[known[i]]))
    which = pattern if shared else np.arange(len(pattern))
    _, first, which = np.unique(which, return_index=True, return_inverse=True)
    size = known.shape[1]
    return _Group(
        classes=classes,
        n=n[pattern, classes],
        mean=(mean - center[known]) / scale[known],
        known=known,
        gone=gone,
        heavy=np.array(heavy, dtype=np.intp),
        scatter=np.array(scatter).reshape(len(heavy), size, size),
        which=which.ravel(),
        first=first,
    )


def _expected(groups: Sequence[_Group], state: _State, *, by_class: bool) -> tuple[Floats, Floats, Floats]:
    """Return the expected number, mean and scatter of the complete rows; the scatter by class or in total."""
    k, d = state.mean.shape
    n, total = np.zeros(k), np.zeros((k, d))
    scatter = np.zeros((k if by_class else 1, d, d))
    precision = _precision(state.covariance)
    filled = []
    for group in groups:
        rows = np.zeros((len(group.n), d))
        into = group.classes if by_class else np.zeros_like(group.classes)
        place = np.arange(len(rows))[:, None]
        rows[place, group.known] = group.mean
        if len(group.heavy):
            _add(scatter, group.scatter, into[group.heavy], group.known[group.heavy], group.known[group.heavy])
        if group.gone.shape[1]:
            slope, left = _regressions(group, state.covariance, precision)
            mu = state.mean[group.classes[:, None], group.known]
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
    """Add the scatter of the missing columns that follows from the scatter of the known ones by regression."""
    if not len(group.heavy):
        return
    own = slope[group.which[group.heavy]]
    known, gone, to = group.known[group.heavy], group.gone[group.heavy], into[group.heavy]
    across = own @ group.scatter
    _add(scatter, across, to, gone, known)
    _add(scatter, across.swapaxes(1, 2), to, known, gone)
    _add(scatter, across @ own.swapaxes(1, 2), to, gone, gone)


def _precision(covariance: Floats) -> Floats | None:
    """Return the inverse of each covariance, or None if any of them is nearly singular."""
    try:
        np.linalg.cholesky(covariance - 1e-9 * np.eye(covariance.shape[1]))
        return np.asarray(np.linalg.inv(covariance))
    except np.linalg.LinAlgError:
        return None


def _regressions(group: _Group, covariance: Floats, precision: Floats | None) -> tuple[Floats, Floats]:
    """Return the slopes of the missing columns on the known ones, and the residual covariance."""
    known, gone = group.known[group.first], group.gone[group.first]
    own = (group.classes[group.first] if len(covariance) > 1 else np.zeros_like(group.first))[:, None, None]
    if precision is not None:  # usually few columns are missing, so their system is the smaller one
        within = precision[own, gone[:, :, None], gone[:, None, :]]
        left = np.linalg.inv(within)
        slope = -left @ precision[own, gone[:, :, None], known[:, None, :]]
        return np.asarray(slope), np.asarray(left)
    inner = covariance[own, known[:, :, None], known[:, None, :]]
    across = covariance[own, gone[:, :, None], known[:, None, :]]
    # collinear columns: the pseudoinverse uses them together
    slope = across @ np.linalg.pinv(inner, rcond=_JITTER, hermitian=True)
    left = covariance[own, gone[:, :, None], gone[:, None, :]] - slope @ across.swapaxes(1, 2)
    return slope, left


def _add(to: Floats, parts: Floats, into: Places, rows: Places, columns: Places) -> None:
    """Add the matrix of each cell to that of its class, at the cell's rows and columns."""
    k, d, _ = to.shape
    flat = (into[:, None, None] * d + rows[:, :, None]) * d + columns[:, None, :]
    to += np.bincount(flat.ravel(), weights=parts.ravel(), minlength=k * d * d).reshape(k, d, d)
