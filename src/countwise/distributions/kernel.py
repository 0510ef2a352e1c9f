"""Kernel density: a numeric attribute as the sum of a bump over each training value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Floats, Multiset
from countwise.cuts import quantiles
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.distributions.bandwidths import RULES, TOLERANCE, bandwidth_of, ones_as_none
from countwise.distributions.distribution import add_each
from countwise.distributions.numeric_density import NumericDensity
from countwise.errors import OptionError, listed
from countwise.tallies import Values
from countwise.working.numbers import number

__all__ = ["Kernel", "KernelDensity"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A Gaussian bump of bandwidth h over each value of the class.

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

    def blank(self, given: Nominal, of: Attribute) -> Values:
        """The values themselves."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} is {of.kind}; the kernel law is for numeric attributes.")
        return Values(given, of)

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


class KernelDensity(NumericDensity):
    """Kernel densities, one a class.

    Parameters
    ----------
    name : str
        The attribute.
    sets : tuple of (values, weights)
        The training values of each class.
    bandwidths, n : ndarray, shape (classes,)
        The bandwidth of each class, and how many values it has.
    rule : float or str
        How the bandwidths were found, for the wording.
    """

    add_many = classmethod(add_each)

    def __init__(self, name: str, sets: tuple[Multiset, ...], bandwidths: Floats, n: NDArray[Any], rule: Any) -> None:
        self.name, self.sets, self.bandwidths, self.n = name, sets, bandwidths, n
        self.n_classes = len(sets)
        how = rule if isinstance(rule, str) else "given"
        self.rule = f"kernel density, Gaussian kernel, bandwidth {how.replace('_', '-')}"
        self.constant = not bool((bandwidths > 0).all()) or all(len(v) == 0 for v, _ in sets)

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
        sums = _kernels.gauss_log_sums(values, weights, float(self.bandwidths[c]), boxes, taylor, TOLERANCE, column)
        return np.asarray(sums - norm)

    def add_log_prob(self, column: NDArray[Any], out: Floats, skip: int | None = None) -> None:
        """Add log f(x | class), for all classes but the one to skip."""
        if self.constant:
            return
        missing = np.isnan(column) if column.dtype.kind == "f" else None
        for c in range(self.n_classes):
            if c == skip:
                continue
            logs = self.log_density(column, c)
            if missing is not None:
                logs[missing] = 0.0
            out[:, c] += logs

    def written(self, x: float, c: int) -> tuple[str, str]:
        """The density at x, with how many bumps of which bandwidth."""
        n, h = number(self.n[c]), number(self.bandwidths[c])
        return f"f({number(x)}; {n} values, h = {h})", rf"\hat f({number(x)};\, n={n},\, h={h})"

    def behind(self, c: int) -> float:
        """How many values the bumps stand over."""
        return float(self.n[c])

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

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """The density at x is a mean of bumps; its spread is that of the Bayesian bootstrap."""
        out = np.zeros((size, self.n_classes))
        x = float(column[0])
        if np.isnan(x) or self.constant:
            return out
        for c in range(self.n_classes):
            values, weights = self.sets[c]
            log_mean = float(self.log_density(column, c)[0])
            bumps = np.exp(-0.5 * ((x - values) / self.bandwidths[c]) ** 2)
            total = float((weights * bumps).sum())
            # as many rows as would give the same relative spread stand behind this density
            behind = total**2 / max(float((weights * bumps**2).sum()), 1e-300) if total > 0 else 1.0
            out[:, c] = log_mean + np.log(rng.gamma(behind, 1 / behind, size))
        return out

    def rows(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """A row a class: bandwidth and how many values."""
        return {
            self.name: [str(c) for c in classes],
            "bandwidth": [number(h) for h in self.bandwidths],
            "n": [number(n) for n in self.n],
        }
