"""Linear Gaussians: lines on numeric parents, one for each combination of the nominal parents' values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.errors import warn
from countwise.tallies import Moments, Scatter

__all__ = ["LinearDensity", "block_log_likelihood", "block_moments", "linear_from", "steady_from"]

_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class LinearDensity:
    """y = a + b·x + noise, with its own a, b and deviation for each combination of the nominal parents' values."""

    name: str  # the node
    numbers: tuple[str, ...]  # the numeric parents x
    intercept: Floats  # a
    slope: Floats  # b, shape (combinations, numbers)
    sd: Floats  # the deviation of the noise
    n: Floats  # how many rows are behind them
    borrowed: Flags  # where rows were too few for a line of their own, so that it is the line of all combinations

    linear = True

    @property
    def n_classes(self) -> int:
        """How many combinations."""
        return len(self.intercept)

    @property
    def constant(self) -> bool:
        """Whether there is no spread at all: the node then has no say."""
        return not bool((self.sd > 0).any())

    def log_prob(self, y: Floats, x: Sequence[Floats], combos: Indices | None = None) -> Floats:
        """Log f(y | x), of each row under every combination, or under its own; 0 where a number is missing."""
        pick = slice(None) if combos is None else combos
        a, b, sd = self.intercept[pick], self.slope[pick], self.sd[pick]
        y = np.asarray(y, dtype=np.float64)
        shape = (len(y), len(a)) if combos is None else (len(y),)
        if self.constant:
            return np.zeros(shape)
        mean = np.broadcast_to(a, shape).copy()
        for j, column in enumerate(x):
            column = np.asarray(column, dtype=np.float64)
            mean += b[:, j] * (column[:, None] if combos is None else column)
        away = ((y[:, None] if combos is None else y) - mean) / sd
        logs = -0.5 * away**2 - np.log(sd) - _HALF_LOG_2PI
        return np.where(np.isnan(logs), 0.0, logs)

    def add_log_prob(self, column: Floats, out: Floats) -> None:
        """Add log f(y | combination) of a node without numeric parents to out (rows, combinations)."""
        out += self.log_prob(column, [])


def linear_from(tally: Scatter, divisor: str = "n-1", floor: float = 1e-9) -> LinearDensity:
    """Lines by least squares from the moments of (parents, child) in each combination.

    The residuals' squares are divided by n less the numbers fitted, or by n. The floor of the variance is a share of
    that of the whole column.
    """
    if tally.worn:
        warn("Most of the data was forgotten; lines have lost precision. Hint: fit again.")
    *numbers, name = tally.of.names
    p = len(numbers)
    cells = tally.complete
    n, mean, scatter = cells.n, cells.mean, cells.scattered()
    center = (n @ mean) / max(float(n.sum()), 1e-300)
    away = np.where((n > 0)[:, None], mean - center, 0.0)
    overall = float(scatter[:, p, p].sum() + n @ away[:, p] ** 2) / max(float(n.sum()) - (divisor == "n-1"), 1.0)
    if overall <= (8 * np.finfo(float).eps * float(center[p])) ** 2:
        overall = 0.0  # a spread below the resolution of the numbers is none
    pooled = scatter.sum(axis=0)
    fitted = p + 1 if divisor == "n-1" else 0
    spare_slope = _line(pooled, p)
    free = max(float(n.sum()) - (int((n > 0).sum()) + p if fitted else 0), 0.0)
    spare = _left(pooled, spare_slope, p) / free if free > 0 else overall
    slope, variance = np.empty((len(n), p)), np.empty(len(n))
    borrowed = ~(n - p - 1 > 0)
    for c in range(len(n)):
        slope[c] = spare_slope if borrowed[c] else _line(scatter[c], p)
        variance[c] = spare if borrowed[c] else _left(scatter[c], slope[c], p) / (n[c] - fitted)
    variance = np.maximum(variance, floor * overall) if overall > 0 else np.zeros(len(n))
    mean = np.where((n > 0)[:, None], mean, center)
    intercept = mean[:, p] - (slope * mean[:, :p]).sum(axis=1)
    return LinearDensity(name, tuple(numbers), intercept, slope, np.sqrt(variance), n, borrowed)


def steady_from(tally: Scatter | Moments, floor: float = 1e-9) -> LinearDensity:
    """The likeliest lines, with one imagined row of all combinations' spread in each.

    That changes nothing where there is one combination. A combination of hardly any rows is neither certain of its
    line, nor does it jump, from step to step of EM, between a line of its own and that of all.
    """
    if isinstance(tally, Moments):
        names: tuple[str, ...] = (tally.of.name,)
        n, flat, m2 = tally.triple
        mean, scatter = flat[:, None], m2[:, None, None]
    else:
        names, cells = tally.of.names, tally.complete
        n, mean, scatter = cells.n, cells.mean, cells.scattered()
    *numbers, name = names
    p, total = len(numbers), max(float(n.sum()), 1e-300)
    center = (n @ mean) / total
    mean = np.where((n > 0)[:, None], mean, center)
    pooled = scatter.sum(axis=0)
    overall = (float(pooled[p, p]) + float(n @ (mean[:, p] - center[p]) ** 2)) / total
    shared = scatter + pooled / total
    slope = np.array([_line(one, p) for one in shared]).reshape(len(n), p)
    left = np.array([_left(one, b, p) for one, b in zip(shared, slope, strict=True)])
    variance = np.maximum(left / (n + 1.0), floor * overall)
    intercept = mean[:, p] - (slope * mean[:, :p]).sum(axis=1)
    return LinearDensity(name, tuple(numbers), intercept, slope, np.sqrt(variance), n, np.zeros(len(n), dtype=bool))


def _line(scatter: Floats, p: int) -> Floats:
    """The slopes; of parents that repeat each other, the shortest that serve."""
    if not p:
        return np.empty(0)
    scale = np.sqrt(np.maximum(np.diag(scatter)[:p], 1e-300))
    within = scatter[:p, :p] / np.outer(scale, scale)
    return np.asarray(np.linalg.pinv(within, rcond=1e-12, hermitian=True) @ (scatter[:p, p] / scale) / scale)


def _left(scatter: Floats, slope: Floats, p: int) -> float:
    """The residual sum of squares."""
    return max(float(scatter[p, p] - slope @ scatter[:p, p]), 0.0)


def block_moments(
    names: Sequence[str], lines: Mapping[str, LinearDensity], combos: Mapping[str, Indices], n: int
) -> tuple[Floats, Floats]:
    """Mean and covariance of several numbers together, for each of n cases.

    Parents stand before children; `combos` has the combination of each node's own nominal parents, in each case.
    """
    place = {name: i for i, name in enumerate(names)}
    mean = np.zeros((n, len(names)))
    root = np.zeros((n, len(names), len(names)))  # each number as a sum of the noises
    for i, name in enumerate(names):
        line, own = lines[name], combos[name]
        mean[:, i] = line.intercept[own]
        root[:, i, i] = line.sd[own]
        for j, parent in enumerate(line.numbers):
            b = line.slope[own, j]
            mean[:, i] += b * mean[:, place[parent]]
            root[:, i] += b[:, None] * root[:, place[parent]]
    return mean, root @ root.swapaxes(1, 2)


def block_log_likelihood(
    there: NDArray[np.intp], values: Floats, mean: Floats, covariance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log density (rows, cases) of the numbers that are known, and the mean and covariance of all given them.

    `there` are the places of the numbers that are known, `values` is (rows, there), `mean` is (cases, numbers).
    """
    rows, cases = len(values), len(mean)
    after = np.broadcast_to(mean, (rows, *mean.shape))
    if not len(there):
        return np.zeros((rows, cases)), after, covariance
    known = covariance[:, there[:, None], there[None, :]]
    scale = np.sqrt(np.maximum(np.einsum("cii->ci", known), 1e-300))
    squared = scale[:, :, None] * scale[:, None, :]
    inverse = np.linalg.pinv(known / squared, rcond=1e-12, hermitian=True) / squared
    away = values[:, None, :] - mean[None, :, there]
    size = np.linalg.slogdet(known / squared + 0.0)[1] + 2 * np.log(scale).sum(axis=1)
    by_case = away.swapaxes(0, 1)  # (cases, rows, there)
    squares = ((by_case @ inverse) * by_case).sum(axis=2).T
    log = -0.5 * (squares + size) - len(there) * _HALF_LOG_2PI
    gain = covariance[:, :, there] @ inverse  # (cases, numbers, there)
    after = after + (by_case @ gain.swapaxes(1, 2)).swapaxes(0, 1)
    left = covariance - gain @ covariance[:, there, :]
    return log, after, left
