"""Bandwidth selection for a product kernel: by rule of thumb, or by the likelihood of held-out rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.distributions.bandwidths import RULES, bandwidth_of, golden, least_width
from countwise.errors import NumberIn, OptionError, TooFewRows, did_you_mean, listed, warn
from countwise.parzen.product_kernel import CANONICAL, ProductKernelDensity
from countwise.splits import row_means, splits_of
from countwise.tallies.moments import LEAST_SIZE, too_small
from countwise.tallies.values import row_weight, squared_weights

__all__ = ["HELD_OUT", "bandwidths_of", "check_bandwidth", "folds_of", "held_out", "rule_of", "train"]

# for each fold: the density of its training rows, the training rows, and the held-out rows
Folds = list[tuple[ProductKernelDensity, NDArray[Any], NDArray[Any]]]

LEAST = 1e-300  # 1 / h overflows below it
HELD_OUT = ("leave_one_out", "k_fold")
_SWEEPS = 3


def rule_of(bandwidth: Any, a: Attribute) -> Any:
    """Return the rule or number for one column; a single number applies only to numeric columns."""
    if isinstance(bandwidth, Mapping):
        return bandwidth.get(a.name, "silverman")
    return "silverman" if isinstance(a, Nominal) and not isinstance(bandwidth, str) else bandwidth


def check_bandwidth(bandwidth: Any, names: Iterable[str]) -> None:
    """Check that the bandwidth is a number above 0, a rule, or a mapping of column to either."""
    given = bandwidth if isinstance(bandwidth, Mapping) else {}
    for name in given:
        if name not in set(names):
            raise OptionError(
                f"bandwidth refers to column {name!r}, but the table has no such column.",
                hint=did_you_mean(name, names) or f"use one of {listed(names)}.",
            )
    known = (*RULES, "k_fold")
    for one in given.values() if isinstance(bandwidth, Mapping) else [bandwidth]:
        if isinstance(one, str | bool) or not isinstance(one, int | float | np.number):
            if not isinstance(one, str) or one not in known:
                raise OptionError(
                    f"bandwidth must be a number above 0 or the name of a rule, not {one!r}.",
                    hint=did_you_mean(one, known) or f"use one of {listed(known)}.",
                )
        elif one not in NumberIn(0, sys.float_info.max) or 0 < one < LEAST:
            raise OptionError(f"bandwidth must be a finite number above 0 (at least {LEAST:g}), not {one!r}.")
        elif one == 0 and not isinstance(bandwidth, Mapping):
            raise OptionError("bandwidth must be above 0, not 0.")


def folds_of(density: ProductKernelDensity, cv: Any) -> Folds:
    """Return the density of the training rows, the training rows, and the held-out rows, for each fold of `cv`."""
    found = []
    for rest, test in splits_of(cv, len(density.cells), lambda: _same(density.cells)):
        for j, a in enumerate(density.attributes):
            if np.isnan(density.cells[rest, j]).all() and not np.isnan(density.cells[:, j]).all():
                raise TooFewRows(
                    f"One fold contains every non-missing value of {a.name!r}, so the other folds cannot predict it.",
                    hint="use a smaller cv, or bandwidth='leave_one_out'.",
                )
        found.append((density.subset(rest), rest, test))
    return found


def _same(cells: Floats) -> NDArray[np.intp]:
    """Return a group number for each row, equal for identical rows, in order of first occurrence.

    Identical rows must be in one fold: a copy in another fold would make the bandwidth too small.
    """
    _, first, which = np.unique(cells, axis=0, return_index=True, return_inverse=True, equal_nan=False)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return place[which.ravel()]


def bandwidths_of(density: ProductKernelDensity, bandwidth: Any, folds: Folds | None) -> Floats:
    """Return the bandwidth of each column, by number or rule; 0 for a constant numeric column.

    The current bandwidths of the density are ignored. `folds` is the result of `folds_of`, for 'k_fold'.
    """
    density = _in_rows(density)
    rules = [rule_of(bandwidth, a) for a in density.attributes]
    numbers = sum(isinstance(a, Numeric) for a in density.attributes)
    bandwidths = np.array([_by_rule(density, j, rule, numbers) for j, rule in enumerate(rules)])
    free = [j for j, rule in enumerate(rules) if rule in HELD_OUT]
    spread = all(bandwidths[j] > 0 for j in free if isinstance(density.attributes[j], Numeric))
    if not free or not spread or (len(density.cells) < 2 and density.n < 2):
        return bandwidths
    k_fold = any(rules[j] == "k_fold" for j in free)
    numeric = [isinstance(a, Numeric) for a in density.attributes]
    # lower limit of the search: half the step of rounded numbers
    least = np.array([least_width(*_distinct(density, j)) if numeric[j] else 0.0 for j in range(len(rules))])
    return _likeliest(density, np.maximum(bandwidths, least), free, folds if k_fold else None, least)


def _in_rows(density: ProductKernelDensity) -> ProductKernelDensity:
    """Return the density with weights in units of a typical row; it is the same density."""
    row = row_weight(density.n, squared_weights(density.weights))
    return density if row == 1 else replace(density, weights=density.weights / row, _kept={})


def _distinct(density: ProductKernelDensity, j: int) -> tuple[Floats, Floats]:
    """Return the distinct values of a column, and their numbers of rows."""
    known = ~np.isnan(density.cells[:, j])
    values, which = np.unique(density.cells[known, j], return_inverse=True)
    counts = np.bincount(which, weights=density.weights[known], minlength=len(values)).astype(np.float64)
    return values, counts


def _by_rule(density: ProductKernelDensity, j: int, rule: Any, numbers: int) -> float:
    a = density.attributes[j]
    if isinstance(a, Nominal):
        return _share(a, rule, float(density.weights[~np.isnan(density.cells[:, j])].sum()))
    if not isinstance(rule, str):
        if not rule > 0:
            raise OptionError(f"The bandwidth of {a.name!r} must be above 0, not {rule!r}.")
        return float(rule)
    values, counts = _distinct(density, j)
    if len(values) and 0 < max(-values[0], values[-1]) < LEAST_SIZE:
        raise too_small(a.name, LEAST_SIZE)
    bandwidth = bandwidth_of("silverman" if rule in HELD_OUT else rule, values, counts)
    # Silverman's rule in d dimensions: n^(-1/(d+4)) instead of n^(-1/5)
    return bandwidth * CANONICAL[density.kernels[j]] * density.n ** (0.2 - 1 / (4 + numbers))


def _share(a: Nominal, rule: Any, n: float) -> float:
    """Return λ of a nominal or ordinal column: given, or (k - 1) / (n + k).

    With the latter, the density of a single nominal column has Laplace estimates.
    """
    k = len(a.values)
    most = 1.0 if isinstance(a, Ordinal) else (k - 1) / k if k else 0.0
    if isinstance(rule, str):
        return 0.0 if k < 2 else (k - 1) / (n + k)
    if not 0 <= rule <= most:
        raise OptionError(
            f"The bandwidth of {a.kind} column {a.name!r} is λ, the probability of other values; "
            f"it must be from 0 to {most:g}, not {rule!r}."
        )
    return float(rule)


# -- maximum likelihood of held-out rows ---------------------------------------------------


def train(density: ProductKernelDensity, folds: Folds | None = None) -> float:
    """Return the log-likelihood of the training rows under their own density; it grows as the bandwidth shrinks."""
    if folds is None:
        return _total(density.log_density(density.cells), density.weights)
    return _over_folds(density, [(own, rows) for own, rows, _ in folds])


def held_out(density: ProductKernelDensity, folds: Folds | None) -> float:
    """Return the log-likelihood of each row under the density of all other rows, or of the other folds."""
    if folds is None:
        return _total(density.leave_one_out(), density.weights)
    return _over_folds(density, [(rest, rows) for rest, _, rows in folds])


def _over_folds(density: ProductKernelDensity, parts: list[tuple[ProductKernelDensity, NDArray[Any]]]) -> float:
    """Return the log-likelihood of rows under the densities of their folds; each row counts once."""
    logs = ((rows, own.with_bandwidths(density.bandwidths).log_density(density.cells[rows])) for own, rows in parts)
    rows, means = row_means(len(density.cells), logs)
    return _total(means, density.weights[rows])


def _total(logs: Floats, weights: Floats) -> float:
    return -np.inf if np.isneginf(logs).any() else float((weights * logs).sum())


def _likeliest(
    density: ProductKernelDensity, bandwidths: Floats, free: list[int], folds: Folds | None, least: Floats
) -> Floats:
    """Maximize the held-out likelihood: first one common factor on all bandwidths, then each bandwidth in turn."""

    def score(bandwidths: Floats) -> float:
        return held_out(density.with_bandwidths(np.maximum(bandwidths, least)), folds)

    numbers = [j for j in free if isinstance(density.attributes[j], Numeric)]
    if numbers:
        bandwidths = _by_factor(density, bandwidths, numbers, score)
    if len(free) == 1 and numbers:
        return np.maximum(bandwidths, least)
    best = score(bandwidths)
    for _ in range(_SWEEPS):
        before = best
        for j in free:
            bandwidths, best = _one(density, bandwidths, j, score, best)
        if not best - before > 1e-4:
            break
    return np.maximum(bandwidths, least)


def _by_factor(
    density: ProductKernelDensity, bandwidths: Floats, numbers: list[int], score: Callable[[Floats], float]
) -> Floats:
    """Scale the numeric bandwidths by the factor with the highest held-out likelihood: grid, then golden section."""

    def at(log_factor: float) -> float:
        tried = bandwidths.copy()
        tried[numbers] *= np.exp(log_factor)
        return score(tried)

    alone = len(density.attributes) == 1
    extent = np.nanmax(density.cells[:, numbers], axis=0) - np.nanmin(density.cells[:, numbers], axis=0)
    reach = float(np.log(extent / bandwidths[numbers]).max())  # from here on every kernel covers every row
    ends = (np.log(1 / 20), max(np.log(4.0), reach), 32) if alone else (-np.log(8.0), np.log(8.0), 13)
    grid = np.linspace(*ends)
    scores = [at(float(f)) for f in grid]
    if not alone and max(scores) == -np.inf and reach > grid[-1]:  # bounded kernels that do not reach other rows
        grid = np.linspace(grid[-1], reach + np.log(2.0), 13)
        scores = [at(float(f)) for f in grid]
    best = int(np.argmax(scores))
    if scores[best] == -np.inf:
        warn(
            "The likelihood of the held-out rows is 0 for every bandwidth tried; Silverman's rule is used instead. "
            "Hint: use kernel='gaussian', or pass a bandwidth."
        )
        return bandwidths
    if best == 0 and alone and _repeats(density):
        warn(
            f"The best bandwidth of {density.attributes[numbers[0]].name!r} is the smallest one tried: its values "
            "repeat, so a held-out row is predicted by its copies. Hint: pass a bandwidth, or use 'silverman'."
        )
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    factor = golden(at, float(low), float(high), 1e-7 if alone else 1e-3)
    factor = factor if at(factor) >= scores[best] else float(grid[best])
    bandwidths = bandwidths.copy()
    bandwidths[numbers] *= np.exp(factor)
    return bandwidths


def _repeats(density: ProductKernelDensity) -> bool:
    """Return whether any value occurs more than once."""
    values = density.cells[:, 0]
    known = values[~np.isnan(values)]
    return len(np.unique(known)) < len(known) or bool((density.weights > 1).any())


def _one(
    density: ProductKernelDensity, bandwidths: Floats, j: int, score: Callable[[Floats], float], best: float
) -> tuple[Floats, float]:
    """Optimize one bandwidth while the others are fixed."""
    a: Attribute = density.attributes[j]

    def with_bandwidth(h: float) -> Floats:
        tried = bandwidths.copy()
        tried[j] = h
        return tried

    if isinstance(a, Nominal):
        most = 0.999 if isinstance(a, Ordinal) else (len(a.values) - 1) / max(len(a.values), 1)
        tried = [0.0, most, golden(lambda share: score(with_bandwidth(share)), 0.0, most, 1e-4)]
    else:
        middle = float(np.log(bandwidths[j]))
        log_h = golden(lambda log_h: score(with_bandwidth(float(np.exp(log_h)))), middle - 1.5, middle + 1.5, 1e-3)
        tried = [float(np.exp(log_h))]
    for h in tried:
        found = score(with_bandwidth(h))
        if found > best:
            bandwidths, best = with_bandwidth(h), found
    return bandwidths, best
