"""Kernel density: a numeric attribute as the sum of a kernel over each training value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices, Multiset
from countwise.cuts import quantiles
from countwise.distributions.bandwidths import (
    RULES,
    TOLERANCE,
    bandwidth_of,
    ones_as_none,
    rows_behind,
    scott,
    silverman,
)
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.numeric_density import NumericDensity, NumericDistribution
from countwise.errors import OptionError, listed
from countwise.tallies import Values, all_ones
from countwise.working.numbers import number

__all__ = ["Kernel", "KernelDensity"]

_CELLS = 1 << 18  # kernels that are added up at a time, so that they stay in cache
_MOST_ROWS = 1 << 24  # that are written out to be counted through
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Kernel(NumericDistribution):
    """A Gaussian kernel of bandwidth h over each value of the class.

    .. math:: f(x | c) = 1/(n_c h √(2π)) Σ_i exp(-(x - x_i)² / 2h²)

    Sums are taken by the fast Gauss transform: exact to 1e-12 of the peak, and
    the logarithm to 1e-9 everywhere, the tails included.

    Parameters
    ----------
    bandwidth : float or {"silverman", "scott", "sheather_jones", "leave_one_out"}, default="silverman"
        Of each class and attribute on its own, unless it is a number.

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
    purpose: ClassVar[str] = "a kernel density is for numeric attributes"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in RULES:
                raise OptionError(
                    f"bandwidth={self.bandwidth!r} is unknown.", hint=f"give a number or one of {listed(RULES)}."
                )
        elif not (
            isinstance(self.bandwidth, int | float | np.number) and self.bandwidth > 0 and np.isfinite(self.bandwidth)
        ):
            raise OptionError(f"bandwidth must be above 0, not {self.bandwidth!r}.")

    @property
    def title(self) -> str:
        """With the rule for the bandwidth."""
        return f"kernel ({self.bandwidth})"

    def estimate(self, tally: Values) -> KernelDensity:
        """Choose the bandwidths."""
        pooled = tally.pooled
        spare = bandwidth_of(self.bandwidth, *pooled)
        sets, bandwidths = [], []
        for values, weights in tally.filled:
            bandwidth = bandwidth_of(self.bandwidth, values, weights)
            bandwidths.append(bandwidth if bandwidth > 0 else spare)
            sets.append((values, weights) if len(values) else pooled)
        return KernelDensity(tally.of.name, tuple(sets), np.array(bandwidths), tally.n, self.bandwidth)


@dataclass(eq=False)
class KernelDensity(NumericDensity):
    """Kernel densities, one a class."""

    name: str
    sets: tuple[Multiset, ...]  # the training values of each class, and their weights
    bandwidths: Floats
    n: NDArray[Any]
    bandwidth: InitVar[Any]  # how the bandwidths were found

    def __post_init__(self, bandwidth: Any) -> None:
        self.n_classes = len(self.sets)
        how = bandwidth.replace("_", "-") if isinstance(bandwidth, str) else "given"
        self.rule = f"kernel density, Gaussian kernel, bandwidth {how}"
        self.constant = not bool((self.bandwidths > 0).all()) or all(len(v) == 0 for v, _ in self.sets)

    def mean_and_variance(self) -> tuple[Floats, Floats]:
        """The mean of the values, and their variance with that of the kernel."""
        found = []
        for (values, weights), h in zip(self.sets, self.bandwidths, strict=True):
            mean = np.average(values, weights=weights) if len(values) else np.nan
            found.append((mean, np.average((values - mean) ** 2, weights=weights) + h**2 if len(values) else np.nan))
        means, variances = np.array(found).T
        return means, variances

    @lazy
    def _expanded(self) -> list[tuple[Any, Any, Any, Any, float]]:
        """For each class: points, kernel weights, boxes, coefficients, log of the norm."""
        prepared = []
        for (values, weights), h in zip(self.sets, self.bandwidths, strict=True):
            w = ones_as_none(weights)
            boxes, taylor = _kernels.gauss_expand(values, w, float(h), TOLERANCE)
            prepared.append((values, w, boxes, taylor, float(np.log(weights.sum() * h) + 0.5 * np.log(2 * np.pi))))
        return prepared

    def log_density(self, column: NDArray[Any], c: int) -> Floats:
        """Log f(x | class c); NaN where x is missing."""
        values, weights, boxes, taylor, norm = self._expanded[c]
        column = np.asarray(column, dtype=np.float64)
        logs = _kernels.gauss_log_sums(values, weights, float(self.bandwidths[c]), boxes, taylor, TOLERANCE, column)
        logs -= norm
        return logs

    def add_log_prob(self, column: NDArray[Any], out: Floats, skip: int | None = None) -> None:
        """Add log f(x | class), for all classes but the one to skip."""
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
        """The density at x, with how many values and which bandwidth."""
        n, h = number(self.n[c]), number(self.bandwidths[c])
        return f"f({number(x)}; {n} values, h = {h})", rf"\hat f({number(x)};\, n={n},\, h={h})"

    def grid(self) -> Floats:
        """Values from below the least to above the greatest."""
        if self.constant:
            return np.empty(0)
        low = min(v[0] for v, _ in self.sets if len(v)) - self.bandwidths.max()
        high = max(v[-1] for v, _ in self.sets if len(v)) + self.bandwidths.max()
        return np.linspace(low, high, 801)

    def typical(self, c: int) -> tuple[float, str]:
        """The median, and the middle half."""
        values, weights = self.sets[c]
        if len(values) == 0:
            return float("nan"), "never there"
        low, middle, high = quantiles(values, weights, np.array([0.25, 0.5, 0.75]))
        return float(middle), f"half of them {number(low)} to {number(high)}"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """A training value of the class, moved by the kernel."""
        values, weights = self.sets[c]
        if len(values) == 0:
            return np.full(size, np.nan)
        return rng.choice(values, size, p=weights / weights.sum()) + rng.normal(0, self.bandwidths[c], size)

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Floats:
        """The density at x is a mean of kernels; its spread is that of the Bayesian bootstrap."""
        values, weights = self.sets[c]
        log_mean = float(self.log_density(np.array([x]), c)[0])
        kernels = np.exp(-0.5 * ((x - values) / self.bandwidths[c]) ** 2)
        total = float((weights * kernels).sum())
        # as many rows as would give the same relative spread stand behind this density
        behind = total**2 / max(float((weights * kernels**2).sum()), 1e-300) if total > 0 else 1.0
        return np.asarray(log_mean + np.log(rng.gamma(behind, 1 / behind, size)))

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """A row for each class: bandwidth and how many values."""
        return self._class_rows(classes, bandwidth=self.bandwidths)

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """From the kernels of the other values; `keep` leaves bandwidths as they are, for rows of one class."""
        x = np.asarray(column, dtype=np.float64)
        if keep and rows.only is not None:
            terms = np.zeros((len(x), rows.k))
            if not self.constant:
                self.add_log_prob(x, terms, skip=rows.only)
                terms[:, rows.only] = self._own_left_out(rows.only)
            return terms, np.zeros(len(x), dtype=bool), False
        if keep or not self._has_closed_form(rule):
            return None
        there, terms, odd = ~np.isnan(x), np.zeros((len(x), rows.k)), np.zeros(len(x), dtype=bool)
        self.add_log_prob(x, terms)
        for c, (values, weights) in enumerate(self.sets):
            mine = np.flatnonzero(there & (rows.codes == c))
            # rows of one value and weight have one answer
            pairs, place = np.unique(np.stack([x[mine], rows.weights[mine]], axis=1), axis=0, return_inverse=True)
            at, less = np.searchsorted(values, pairs[:, 0]), pairs[:, 1]
            if not isinstance(rule.bandwidth, str) and all_ones(rows.weights):
                logs = self._own_left_out(c)[at]
            else:
                bandwidths = _bandwidths(rule.bandwidth, values, weights, at, less)
                logs = _one_by_one(values, weights, at, less, bandwidths)
            terms[mine, c], odd[mine] = logs[place.ravel()], ~np.isfinite(logs[place.ravel()])
        terms[odd] = 0.0
        return terms, odd, False

    def _own_left_out(self, c: int) -> Floats:
        """Log f(x | c) at each value of class c without one row of it, or the row whole if it weighs less than 1."""
        values, points, boxes, taylor, _ = self._expanded[c]
        weights, h = self.sets[c][1], float(self.bandwidths[c])
        logs = _kernels.gauss_loo_log_sums(values, points, h, boxes, taylor, TOLERANCE)
        rest = float(self.n[c]) - (1.0 if weights.dtype.kind == "i" else np.minimum(weights, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs -= np.log(rest * h) + _HALF_LOG_2PI
        return logs if np.all(rest > 0) else np.where(rest > 0, logs, -np.inf)

    def _has_closed_form(self, rule: Kernel) -> bool:
        """Whether a bandwidth without a row takes no search, and each class has kernels of its own."""
        if self.constant or not (self.n > 0).all():
            return False
        if not isinstance(rule.bandwidth, str):
            return True
        # a class of one value takes its bandwidth from all classes together
        thumb = rule.bandwidth in ("silverman", "scott")
        return thumb and all(len(v) > 1 and rows_behind(w) > 1 for v, w in self.sets)


def _bandwidths(rule: Any, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats) -> Floats:
    """The bandwidth without each of the rows, given or by a rule of thumb."""
    if not isinstance(rule, str):
        return np.full(len(at), float(rule))
    found, sure = np.empty(len(at)), np.zeros(len(at), dtype=bool)
    if weights.dtype.kind in "iu" and weights.sum() < _MOST_ROWS:
        found, sure = _thumbs(rule, values, weights, at, less.astype(np.int64))
    for i in np.flatnonzero(~sure).tolist():
        place, rest = int(at[i]), float(weights[at[i]]) - float(less[i])
        fewer = weights.astype(np.float64) if weights.dtype.kind == "f" else weights.copy()
        fewer[place] = max(rest, 0)
        kept = np.arange(len(values)) != place if rest <= 1e-9 else slice(None)
        found[i] = bandwidth_of(rule, values[kept], fewer[kept])
    return found


def _thumbs(
    rule: str, values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Indices
) -> tuple[Floats, Flags]:
    """The same for all rows at once, and for which of them enough digits are left."""
    total = int(weights.sum())
    mean = float(np.average(values, weights=weights))
    square = float((weights * (values - mean) ** 2).sum())
    n = (total - less).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = square - less * (values[at] - mean) ** 2 * (total / n)
        sd = np.sqrt(rest / (n - 1))
        sure = (n > 1) & (rest > 1e-3 * square) & (1e-100 < values[-1] - values[0] < 1e100)
        if rule == "scott":
            return scott(sd, n), sure
        every, first = np.repeat(values, weights), np.cumsum(weights) - weights
        low, high = (_share(every, first[at], less, n, share) for share in (0.25, 0.75))
        return silverman(sd, high - low, n), sure


def _share(every: Floats, first: NDArray[Any], less: Indices, n: Floats, share: float) -> Floats:
    """The value below which a share of the rows lies, as of `quantiles`, without some equal rows from `first` on."""
    target = n * share
    rank = np.clip(np.ceil(target * (1 - 1e-12)), 1, n).astype(np.int64)

    def at(k: Indices) -> Floats:
        return np.asarray(every[np.minimum(np.where(k < first, k, k + less), len(every) - 1)])

    here, above = at(rank - 1), at(np.minimum(rank, np.maximum(n.astype(np.int64) - 1, 0)))
    return np.where(np.isclose(rank, target, rtol=1e-12, atol=0), here + (above - here) / 2, here)


def _one_by_one(
    values: Floats, weights: NDArray[Any], at: NDArray[np.intp], less: Floats, bandwidths: Floats
) -> Floats:
    """Kernels of a bandwidth of each row's own, added up without the row; NaN where nothing is left."""
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
