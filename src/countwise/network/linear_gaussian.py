"""Linear Gaussian densities: one regression on the numeric parents for each combination of nominal parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.errors import warn
from countwise.tallies import Moments, Scatter
from countwise.tallies.moments import BLUR

__all__ = ["LinearDensity", "block_log_likelihood", "block_moments", "linear_from", "regularized_from"]

_SMALLEST = 1e-150  # a smaller standard deviation has no square
_RANK = 1e-12  # relative eigenvalue of a correlation matrix below which nodes are collinear
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class LinearDensity:
    """y = a + b·x + noise, with separate a, b and noise for each combination of the nominal parents' values."""

    name: str  # the node
    numbers: tuple[str, ...]  # the numeric parents x
    intercept: Floats  # a
    slope: Floats  # b, shape (combinations, numbers)
    sd: Floats  # the standard deviation of the noise
    n: Floats  # the number of rows
    borrowed: Flags  # combinations with too few rows, which use the pooled regression

    linear = True

    @property
    def n_classes(self) -> int:
        """The number of combinations."""
        return len(self.intercept)

    @property
    def constant(self) -> bool:
        """Whether all standard deviations are 0; the node is then ignored."""
        return not bool((self.sd > 0).any())

    def at(self, known: Mapping[str, float]) -> LinearDensity:
        """Return the density with some numeric parents set to a number: their terms become part of the intercept."""
        free = [j for j, name in enumerate(self.numbers) if name not in known]
        fixed = [j for j, name in enumerate(self.numbers) if name in known]
        values = np.array([known[self.numbers[j]] for j in fixed])
        return replace(
            self,
            numbers=tuple(self.numbers[j] for j in free),
            intercept=self.intercept + self.slope[:, fixed] @ values,
            slope=self.slope[:, free],
        )

    def log_prob(self, y: Floats, x: Sequence[Floats], combos: Indices | None = None) -> Floats:
        """Return log f(y | x) of each row for every combination, or for its given one; 0 if a number is missing."""
        pick = slice(None) if combos is None else combos
        a, b, sd = self.intercept[pick], self.slope[pick], self.sd[pick]
        y = np.asarray(y, dtype=np.float64)
        shape = (len(y), len(a)) if combos is None else (len(y),)
        if self.constant:
            return np.zeros(shape)
        mean, missing = np.broadcast_to(a, shape).copy(), np.isnan(y)
        with np.errstate(over="ignore", invalid="ignore"):  # far from all rows the density is 0
            for j, column in enumerate(x):
                column = np.asarray(column, dtype=np.float64)
                missing = missing | np.isnan(column)
                mean += b[:, j] * (column[:, None] if combos is None else column)
            away = ((y[:, None] if combos is None else y) - mean) / sd
            logs = -0.5 * away**2 - np.log(sd) - _HALF_LOG_2PI
        logs[np.isnan(logs)] = -np.inf  # ∞ - ∞
        logs[missing] = 0.0
        return np.asarray(logs)

    def add_log_prob(self, column: Floats, out: Floats) -> None:
        """Add log f(y | combination) of a node without numeric parents to `out` (rows, combinations)."""
        out += self.log_prob(column, [])


def linear_from(tally: Scatter, divisor: str = "n-1", floor: float = 1e-9) -> LinearDensity:
    """Estimate the regressions by least squares from the moments of (parents, child) in each combination.

    The residual sum of squares is divided by n minus the number of coefficients, or by n. The floor of the variance
    is relative to the variance of the whole column.
    """
    if tally.worn:
        warn(
            "The remaining values vary far less than the forgotten ones, so the regression coefficients have lost "
            "precision. "
            "Hint: fit again on the remaining rows."
        )
    *numbers, name = tally.of.names
    p = len(numbers)
    cells = tally.complete
    n, mean, scatter = cells.n, cells.mean, cells.scattered()
    center = (n @ mean) / max(float(n.sum()), 1e-300)
    away = np.where((n > 0)[:, None], mean - center, 0.0)
    overall = float(scatter[:, p, p].sum() + n @ away[:, p] ** 2) / max(float(n.sum()) - (divisor == "n-1"), 1.0)
    if overall <= max(BLUR * abs(float(center[p])), _SMALLEST) ** 2:
        overall = 0.0  # a variance below floating-point resolution counts as 0
    pooled = scatter.sum(axis=0)
    fitted = p + 1 if divisor == "n-1" else 0
    pooled_slope = _line(pooled, p)
    free = max(float(n.sum()) - (int((n > 0).sum()) + p if fitted else 0), 0.0)
    pooled_variance = _residual(pooled, pooled_slope, p) / free if free > 0 else overall
    slope, variance = np.empty((len(n), p)), np.empty(len(n))
    borrowed = ~(n - p - 1 > 0)
    for c in range(len(n)):
        slope[c] = pooled_slope if borrowed[c] else _line(scatter[c], p)
        variance[c] = pooled_variance if borrowed[c] else _residual(scatter[c], slope[c], p) / (n[c] - fitted)
    variance = np.maximum(variance, floor * overall) if overall > 0 else np.zeros(len(n))
    mean = np.where((n > 0)[:, None], mean, center)
    intercept = mean[:, p] - (slope * mean[:, :p]).sum(axis=1)
    return LinearDensity(name, tuple(numbers), intercept, slope, np.sqrt(variance), n, borrowed)


def regularized_from(tally: Scatter | Moments, floor: float = 1e-9) -> LinearDensity:
    """Estimate the regressions by maximum likelihood, with one prior row in each combination.

    The prior row has the pooled covariance. It changes nothing if there is only one combination. It keeps the
    variance of a combination with few rows above 0, and keeps its coefficients from jumping between its own and the
    pooled regression during EM.
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
    residual = np.array([_residual(one, b, p) for one, b in zip(shared, slope, strict=True)])
    constant = overall <= max(BLUR * abs(float(center[p])), _SMALLEST) ** 2
    variance = np.zeros(len(n)) if constant else np.maximum(residual / (n + 1.0), floor * overall)
    intercept = mean[:, p] - (slope * mean[:, :p]).sum(axis=1)
    return LinearDensity(name, tuple(numbers), intercept, slope, np.sqrt(variance), n, np.zeros(len(n), dtype=bool))


def _line(scatter: Floats, p: int) -> Floats:
    """Return the slopes; the minimum-norm solution if parents are collinear."""
    if not p:
        return np.empty(0)
    scale = np.sqrt(np.maximum(np.diag(scatter)[:p], 1e-300))
    within = scatter[:p, :p] / scale[:, None] / scale  # the product of two scales may underflow
    return np.asarray(np.linalg.pinv(within, rcond=1e-12, hermitian=True) @ (scatter[:p, p] / scale) / scale)


def _residual(scatter: Floats, slope: Floats, p: int) -> float:
    """Return the residual sum of squares."""
    return max(float(scatter[p, p] - slope @ scatter[:p, p]), 0.0)


def block_moments(
    names: Sequence[str], lines: Mapping[str, LinearDensity], combos: Mapping[str, Indices], n: int
) -> tuple[Floats, Floats]:
    """Return the joint mean and covariance of several numeric nodes, for each of n cases.

    Parents precede children; `combos` holds the combination of each node's nominal parents in each case.
    """
    place = {name: i for i, name in enumerate(names)}
    mean = np.zeros((n, len(names)))
    root = np.zeros((n, len(names), len(names)))  # each node as a linear combination of the noise terms
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
    observed: NDArray[np.intp], values: Floats, mean: Floats, covariance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the log density (rows, cases) of the observed nodes, and the moments of all nodes given these.

    `observed` holds the positions of the observed nodes; `values` has the shape (rows, observed), `mean` (cases,
    nodes).
    """
    rows, cases = len(values), len(mean)
    after = np.broadcast_to(mean, (rows, *mean.shape))
    if not len(observed):
        return np.zeros((rows, cases)), after, covariance
    varies = (np.einsum("cii->ci", covariance)[:, observed] > 0).any(axis=0)
    if not varies.all():  # a constant node has no density, and no effect on the others
        return block_log_likelihood(observed[varies], values[:, varies], mean, covariance)
    known = covariance[:, observed[:, None], observed[None, :]]
    scale = np.sqrt(np.maximum(np.einsum("cii->ci", known), 1e-300))
    squared = scale[:, :, None] * scale[:, None, :]
    sizes, directions = np.linalg.eigh(known / squared)
    spread = sizes > _RANK * sizes[:, -1:]  # the density is on the plane in which the nodes vary
    inverse = (
        directions * np.where(spread, 1 / np.where(spread, sizes, 1.0), 0.0)[:, None, :]
    ) @ directions.swapaxes(1, 2)
    inverse /= squared
    away = values[:, None, :] - mean[None, :, observed]
    size = np.log(np.where(spread, sizes, 1.0)).sum(axis=1) + 2 * np.log(scale).sum(axis=1)
    by_case = away.swapaxes(0, 1)  # (cases, rows, observed)
    squares = ((by_case @ inverse) * by_case).sum(axis=2).T
    log = -0.5 * (squares + size) - len(observed) * _HALF_LOG_2PI
    gain = covariance[:, :, observed] @ inverse  # (cases, nodes, observed)
    after = after + (by_case @ gain.swapaxes(1, 2)).swapaxes(0, 1)
    remaining = covariance - gain @ covariance[:, observed, :]
    return log, after, remaining
