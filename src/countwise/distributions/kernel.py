"""Kernel density of a numeric attribute: the mean of a kernel centered at each training value."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices, Multiset
from countwise.cuts import quantiles
from countwise.data.attributes import Nominal
from countwise.distributions.bandwidths import (
    RULES,
    TOLERANCE,
    bandwidth_of,
    in_rows,
    ones_as_none,
    scott,
    silverman,
)
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.numeric_density import NumericDensity, NumericDistribution
from countwise.errors import NumberIn, OptionError, did_you_mean, listed
from countwise.tallies import Values, all_ones
from countwise.tallies.values import row_weight, squared_weights
from countwise.working.formula import Formula
from countwise.working.grid import exponential, shown, terms_table
from countwise.working.numbers import cell, number, probability
from countwise.working.sections import Section

__all__ = ["Kernel", "KernelDensity"]

_CELLS = 1 << 18  # kernels added at a time, so that they stay in cache
_MOST_ROWS = 1 << 24  # rows whose values may be repeated in memory to find quantiles
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Kernel(NumericDistribution):
    """Gaussian kernel density of a numeric attribute, with bandwidth h in each class.

    .. math:: f(x | c) = 1/(n_c h √(2π)) Σ_i exp(-(x - x_i)² / 2h²)

    Sums are computed by the fast Gauss transform, with an error of at most 1e-12 relative to the peak of the density;
    the logarithm is accurate to 1e-9 everywhere, including the tails.

    Parameters
    ----------
    bandwidth : float, mapping of class to float, or str, default='silverman'
        A number is the bandwidth of all classes, and a mapping gives that of each class: ``{"no": 1, "yes": 2}``.
        Otherwise 'silverman', 'scott', 'sheather_jones' or 'leave_one_out' chooses it for each class and attribute.
        'silverman': Silverman's rule, 0.9 min(σ, IQR / 1.349) n^(-1/5). 'scott': Scott's rule, σ n^(-1/5).
        'sheather_jones': the improved Sheather-Jones plug-in estimator (Botev, Grotowski & Kroese 2010).
        'leave_one_out': maximum leave-one-out likelihood. Integral sample weights are copies of rows. Otherwise n is
        the effective sample size (Σ w)² / Σ w², so that equal weights of any size leave the bandwidth unchanged.

    Examples
    --------
    >>> from countwise import Kernel, samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier({"temp": Kernel(bandwidth=1.0)}).fit({"temp": rain.X["temp"]}, rain.y)
    >>> model.predict_proba({"temp": [22.8]}).round(6).tolist()
    [[0.937813, 0.062187]]
    """

    bandwidth: Any = "silverman"
    kind: ClassVar[str] = "kernel"
    purpose: ClassVar[str] = "a kernel density needs a numeric column"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in RULES:
                raise OptionError(
                    f"bandwidth must be a number or one of {listed(RULES)}, not {self.bandwidth!r}.",
                    hint=did_you_mean(self.bandwidth, RULES),
                )
            return
        given = self.bandwidth.values() if isinstance(self.bandwidth, Mapping) else [self.bandwidth]
        if not all(h in NumberIn(0, sys.float_info.max) and h > 0 for h in given):
            what = "be finite numbers > 0" if isinstance(self.bandwidth, Mapping) else "be a finite number > 0"
            raise OptionError(f"bandwidth must {what}, not {self.bandwidth!r}.")

    @property
    def title(self) -> str:
        """Name of the distribution, with the bandwidth rule."""
        return f"kernel ({'by class' if isinstance(self.bandwidth, Mapping) else self.bandwidth})"

    def estimate(self, tally: Values) -> KernelDensity:
        """Choose the bandwidths; a class without a bandwidth gets that of all classes together."""
        values, weights = tally.pooled
        total = row_weight(float(np.sum(tally.n)), float(tally.squares_filled.sum()))
        pooled, rules = (values, in_rows(weights, total)), self._rules(tally.given)
        spare = bandwidth_of(rules[0], *pooled)
        sets, bandwidths, rows = [], [], tally.row_weights
        for rule, (values, weights), row in zip(rules, tally.filled, rows, strict=True):
            own = in_rows(weights, row)
            bandwidth = bandwidth_of(rule, values, own)
            bandwidths.append(bandwidth if bandwidth > 0 else spare)
            sets.append((values, own) if len(values) else pooled)
        return KernelDensity(tally.of.name, tuple(sets), np.array(bandwidths), tally.n, self.bandwidth, rows)

    def _rules(self, given: Nominal) -> list[Any]:
        """Return the rule or the bandwidth of each class."""
        if not isinstance(self.bandwidth, Mapping):
            return [self.bandwidth] * len(given.values)
        odd = sorted({*self.bandwidth} ^ {*given.values}, key=str)
        if odd:
            what = "is no class" if odd[0] in self.bandwidth else "has no bandwidth"
            raise OptionError(
                f"bandwidth must have a number for each of the classes {listed(given.values)}; {odd[0]!r} {what}."
            )
        return [self.bandwidth[value] for value in given.values]


@dataclass(eq=False)
class KernelDensity(NumericDensity):
    """Kernel density in each class."""

    name: str
    sets: tuple[Multiset, ...]  # the training values of each class, and their numbers of rows
    bandwidths: Floats
    n: NDArray[Any]  # total weight of each class
    bandwidth: InitVar[Any]  # the bandwidth rule
    rows: Floats | None = None  # weight of a typical row of each class; None: 1

    def __post_init__(self, bandwidth: Any) -> None:
        self.n_classes = len(self.sets)
        how = bandwidth.replace("_", "-") if isinstance(bandwidth, str) else "given"
        self.rule = f"kernel density, Gaussian kernel, bandwidth {how}"
        self.constant = not bool((self.bandwidths > 0).all()) or all(len(v) == 0 for v, _ in self.sets)

    def mean_and_variance(self) -> tuple[Floats, Floats]:
        """Return the mean of the values, and their variance plus that of the kernel."""
        found = []
        for (values, weights), h in zip(self.sets, self.bandwidths, strict=True):
            mean = np.average(values, weights=weights) if len(values) else np.nan
            found.append((mean, np.average((values - mean) ** 2, weights=weights) + h**2 if len(values) else np.nan))
        means, variances = np.array(found).T
        return means, variances

    @lazy
    def _expanded(self) -> list[tuple[Any, Any, Any, Any, float]]:
        """For each class: values, weights, boxes and coefficients of the fast Gauss transform, log norm."""
        prepared = []
        for (values, weights), h in zip(self.sets, self.bandwidths, strict=True):
            w = ones_as_none(weights)
            boxes, taylor = _kernels.gauss_expand(values, w, float(h), TOLERANCE)
            prepared.append((values, w, boxes, taylor, float(np.log(weights.sum() * h) + 0.5 * np.log(2 * np.pi))))
        return prepared

    def log_density(self, column: NDArray[Any], c: int) -> Floats:
        """Return log f(x | class c); NaN where x is missing."""
        values, weights, boxes, taylor, norm = self._expanded[c]
        column = np.asarray(column, dtype=np.float64)
        logs = _kernels.gauss_log_sums(values, weights, float(self.bandwidths[c]), boxes, taylor, TOLERANCE, column)
        logs -= norm
        return logs

    def add_log_prob(self, column: NDArray[Any], out: Floats, skip: int | None = None) -> None:
        """Add log f(x | class) for all classes except `skip`."""
        if self.constant:
            return
        missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(1, dtype=bool)
        some = bool(missing.any())
        for c in range(self.n_classes):
            if c == skip:
                continue
            logs = self.log_density(column, c)
            if some:
                logs[missing] = 0.0
            out[:, c] += logs

    def written(self, x: float, c: int) -> tuple[str, str]:
        """Return the density at x, with the number of values and the bandwidth."""
        n, h, at = number(self.n[c]), number(self.bandwidths[c]), cell(x)
        return f"f({at}; {n} values, h = {h})", rf"\hat f({at};\, n={n},\, h={h})"

    def derivation(
        self, tally: Any, column: Any, event: str, classes: Mapping[int, str], *, all_terms: bool = False
    ) -> list[Section]:
        """Return the kernels at the training values of each class, their sum, and the division by n and h."""
        x = float(column[0])
        if np.isnan(x) or self.constant:
            return []
        return [
            self._summed(x, c, f"{event}: kernels of {label}", all_terms=all_terms) for c, label in classes.items()
        ]

    def _summed(self, x: float, c: int, title: str, *, all_terms: bool) -> Section:
        (values, weights), h = self.sets[c], float(self.bandwidths[c])
        if self.rows is not None and self.n[c] > 0:  # the weights as they were given
            weights = weights * float(self.rows[c])
        away = (x - values) / h
        logs = -0.5 * away**2 - _HALF_LOG_2PI
        table: dict[str, list[Any]] = {
            "value": [cell(v) for v in values.tolist()],
            "x - value": (x - values).tolist(),
            "u": away.tolist(),
        }
        name = "K(u)"
        if not all_ones(weights):
            times = "times" if np.array_equal(weights, np.rint(weights)) else "weight"
            table |= {times: weights.astype(np.float64).tolist(), name: [exponential(v) for v in logs.tolist()]}
            logs, name = logs + np.log(weights), f"{times}·K(u)"
        grid = terms_table(table, name, logs.tolist(), most=None if all_terms else 6)
        n, f = number(float(weights.sum())), probability(float(self.log_density(np.array([x]), c)[0]))
        total = shown(grid[name][-1])
        lines = (
            Formula(f"u = (x - value)/h, h = {number(h)}"),
            Formula("K(u) = exp(-u²/2)/√(2π)"),
            Formula(f"f({cell(x)}) = Σ K(u)/(n·h) = {total}/({n}·{number(h)}) = {f}"),
        )
        return Section(title, grid, lines)

    def grid(self) -> Floats:
        """Return values from one bandwidth below the minimum to one above the maximum."""
        if self.constant:
            return np.empty(0)
        low = min(v[0] for v, _ in self.sets if len(v)) - self.bandwidths.max()
        high = max(v[-1] for v, _ in self.sets if len(v)) + self.bandwidths.max()
        return np.linspace(low, high, 801)

    def typical(self, c: int) -> tuple[float, str]:
        """Return the median; the remark is the interquartile range."""
        values, weights = self.sets[c]
        if len(values) == 0:
            return float("nan"), "no values"
        low, middle, high = quantiles(values, weights, np.array([0.25, 0.5, 0.75]))
        return float(middle), f"quartiles {number(low)} and {number(high)}"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw training values of class c and add noise from the kernel."""
        values, weights = self.sets[c]
        if len(values) == 0:
            return np.full(size, np.nan)
        return rng.choice(values, size, p=weights / weights.sum()) + rng.normal(0, self.bandwidths[c], size)

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw the log-density at x by the Bayesian bootstrap: the density is a mean of kernels."""
        values, weights = self.sets[c]
        log_mean = float(self.log_density(np.array([x]), c)[0])
        with np.errstate(over="ignore"):
            exponents = -0.5 * ((x - values) / self.bandwidths[c]) ** 2
        behind, largest = 1.0, float(exponents.max(initial=-np.inf))
        if np.isfinite(largest):  # the effective number of rows behind the density at x; far from all rows too
            kernels = np.exp(exponents - largest)
            behind = float((weights * kernels).sum()) ** 2 / float((weights * kernels**2).sum())
        return np.asarray(log_mean + np.log(np.maximum(rng.gamma(behind, 1 / behind, size), 1e-300)))

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return a row for each class: the bandwidth and the number of values."""
        return self._class_rows(classes, {"bandwidth": self.bandwidths})

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return the leave-one-out log-density; `keep` fixes the bandwidths, for rows of one class."""
        x = np.asarray(column, dtype=np.float64)
        if keep and rows.only is not None:
            terms = np.zeros((len(x), rows.k))
            if not self.constant:
                self.add_log_prob(x, terms, skip=rows.only)
                terms[:, rows.only] = self._own_left_out(rows.only)
            return terms, np.zeros(len(x), dtype=bool), False
        if keep or not self._has_closed_form(rule):
            return None
        observed, terms, odd = ~np.isnan(x), np.zeros((len(x), rows.k)), np.zeros(len(x), dtype=bool)
        self.add_log_prob(x, terms)
        for c, (values, weights) in enumerate(self.sets):
            mine = np.flatnonzero(observed & (rows.codes == c))
            # rows with equal value and weight have the same result
            pairs, place = np.unique(np.stack([x[mine], rows.weights[mine]], axis=1), axis=0, return_inverse=True)
            at, less = np.searchsorted(values, pairs[:, 0]), pairs[:, 1]
            if not isinstance(rule.bandwidth, str) and all_ones(rows.weights):
                logs = self._own_left_out(c)[at]
            else:
                n, squares = float(self.n[c]), float(tally.squares_filled[c])
                left = np.array([row_weight(n - w, squares - squared_weights(np.array([w]))) for w in less.tolist()])
                row = 1.0 if self.rows is None else float(self.rows[c])
                less = less / row
                chosen = rule.bandwidth if isinstance(rule.bandwidth, str) else self.bandwidths[c]
                bandwidths = _bandwidths(chosen, values, weights, at, less, left / row)
                logs = _one_by_one(values, weights, at, less, bandwidths)
            terms[mine, c], odd[mine] = logs[place.ravel()], ~np.isfinite(logs[place.ravel()])
        terms[odd] = 0.0
        return terms, odd, False

    def _own_left_out(self, c: int) -> Floats:
        """Return log f(x | c) at each value of class c, with the density estimated without one row of that value.

        A row of weight below 1 is excluded entirely.
        """
        values, points, boxes, taylor, _ = self._expanded[c]
        weights, h = self.sets[c][1], float(self.bandwidths[c])
        logs = _kernels.gauss_loo_log_sums(values, points, h, boxes, taylor, TOLERANCE)
        rest = float(weights.sum()) - (1.0 if weights.dtype.kind == "i" else np.minimum(weights, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs -= np.log(rest * h) + _HALF_LOG_2PI
        return logs if np.all(rest > 0) else np.where(rest > 0, logs, -np.inf)

    def _has_closed_form(self, rule: Kernel) -> bool:
        """Return whether the bandwidth without a row needs no search, and each class has its own kernels."""
        if self.constant or not (self.n > 0).all():
            return False
        if not isinstance(rule.bandwidth, str):
            return True
        # a class with a single value gets the bandwidth of all classes together
        thumb = rule.bandwidth in ("silverman", "scott")
        return thumb and all(len(v) > 1 and float(w.sum()) > 1 for v, w in self.sets)


def _bandwidths(
    rule: Any, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats, left: Floats
) -> Floats:
    """Return the bandwidth without each of the rows: the given one, or by a rule of thumb.

    `left` is the weight of a typical row without each of the rows.
    """
    if not isinstance(rule, str):
        return np.full(len(at), float(rule))
    found, accurate = np.empty(len(at)), np.zeros(len(at), dtype=bool)
    if weights.dtype.kind in "iu" and weights.sum() < _MOST_ROWS:
        found, accurate = _thumbs(rule, values, weights, at, less.astype(np.int64))
    for i in np.flatnonzero(~accurate).tolist():
        place, rest = int(at[i]), float(weights[at[i]]) - float(less[i])
        fewer = weights.astype(np.float64) if weights.dtype.kind == "f" else weights.copy()
        fewer[place] = max(rest, 0)
        kept = np.arange(len(values)) != place if rest <= 1e-9 else slice(None)
        found[i] = bandwidth_of(rule, values[kept], in_rows(fewer[kept], float(left[i])))
    return found


def _thumbs(
    rule: str, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Indices
) -> tuple[Floats, Flags]:
    """Return the rule-of-thumb bandwidths of all rows at once, and for which of them enough digits remain."""
    total = int(weights.sum())
    mean = float(np.average(values, weights=weights))
    square = float((weights * (values - mean) ** 2).sum())
    n = (total - less).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = square - less * (values[at] - mean) ** 2 * (total / n)
        sd = np.sqrt(rest / (n - 1))
        accurate = (n > 1) & (rest > 1e-3 * square) & (1e-100 < values[-1] - values[0] < 1e100)
        if rule == "scott":
            return scott(sd, n), accurate
        every, first = np.repeat(values, weights), np.cumsum(weights) - weights
        low, high = (_quantile(every, first[at], less, n, p) for p in (0.25, 0.75))
        return silverman(sd, high - low, n), accurate


def _quantile(every: Floats, first: NDArray[Any], less: Indices, n: Floats, p: float) -> Floats:
    """Return the p-quantile as `quantiles` does, without `less` equal rows that begin at `first`."""
    target = n * p
    rank = np.clip(np.ceil(target * (1 - 1e-12)), 1, n).astype(np.int64)

    def at(k: Indices) -> Floats:
        return np.asarray(every[np.minimum(np.where(k < first, k, k + less), len(every) - 1)])

    here, above = at(rank - 1), at(np.minimum(rank, np.maximum(n.astype(np.int64) - 1, 0)))
    return np.where(np.isclose(rank, target, rtol=1e-12, atol=0), here + (above - here) / 2, here)


def _one_by_one(
    values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats, bandwidths: Floats
) -> Floats:
    """Sum the kernels with a separate bandwidth for each row, without the row; NaN if no value remains."""
    total, w = float(weights.sum()), weights.astype(np.float64)
    logs = np.empty(len(at))

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        place, h, own = at[part], bandwidths[part, None], np.arange(stop - start)
        rest = np.where(w[place] - less[part] > 1e-9, w[place] - less[part], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            kernels = -0.5 * ((values[place, None] - values) / h) ** 2
            kernels[own, place] = np.where(rest > 0, 0.0, -np.inf)
            peak = kernels.max(axis=1, keepdims=True)
            kernels = np.exp(kernels - peak) * w
            kernels[own, place] *= rest / w[place]
            logs[part] = np.log(kernels.sum(axis=1)) + peak[:, 0] - np.log((total - less[part]) * bandwidths[part])

    _kernels.over_blocks(len(at), max(1, _CELLS // max(len(values), 1)), work)
    return np.where(bandwidths > 0, logs - _HALF_LOG_2PI, np.nan)
