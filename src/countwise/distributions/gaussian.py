"""Gaussian: a numeric attribute as a normal law in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.distributions.numeric_density import NumericDensity
from countwise.errors import OptionError, warn
from countwise.tallies import Moments
from countwise.working.numbers import number

__all__ = ["Gaussian", "GaussianDensity"]

_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A mean and a deviation in each class.

    .. math:: f(x | c) = exp(-(x - μ_c)² / 2σ_c²) / (σ_c √(2π))

    Parameters
    ----------
    divisor : {"n-1", "n"}, default="n-1"
        The variance is M2 / (n - 1), as lectures 000 and 004 have it, or M2 / n as 003 and scikit-learn.
    floor : float, default=1e-9
        The least variance, as a share of the variance of this column over all classes.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
    >>> print(model.table("temp"))
    temp  mean     deviation  n
    no    25.0333  6.43843    3
    yes   19.4667  0.971253   3
    """

    divisor: str = "n-1"
    floor: float = 1e-9
    kind: ClassVar[str] = "gaussian"
    shows_infinity: ClassVar[bool] = True  # an infinite number makes the moments infinite, and every class impossible

    def __post_init__(self) -> None:
        if self.divisor not in ("n", "n-1"):
            raise OptionError(f"divisor must be 'n' or 'n-1', not {self.divisor!r}.")

    def blank(self, given: Nominal, of: Attribute) -> Moments:
        """Moments of the attribute in each class."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} is {of.kind}; the Gaussian law is for numeric attributes.")
        return Moments(given, of)

    def estimate(self, tally: Moments) -> GaussianDensity:
        """Means and deviations, with a floor under the variance."""
        return self.settle_many([self], [tally])[0]

    @classmethod
    def settle_many(cls, rules: Sequence[Gaussian], tallies: Sequence[Moments]) -> list[GaussianDensity]:
        """The densities of many columns over the same classes, in one go: a call for each would take longer."""
        first, given = rules[0], tallies[0].given
        alike = all(rule is first or rule == first for rule in rules)
        if not alike or not all(t.given is given or t.given == given for t in tallies):
            return [rule.estimate(tally) for rule, tally in zip(rules, tallies, strict=True)]
        for tally in tallies:
            if tally.worn:
                warn(
                    f"What remains of {tally.of.name!r} is tiny beside what was taken back: its deviation has lost "
                    "digits. Hint: fit again on the rows that remain."
                )
        n, mean, m2 = (np.array(part) for part in zip(*(t.triple for t in tallies), strict=True))
        center, overall = first._overall(n, mean, m2)
        below = n - 1 if first.divisor == "n-1" else n
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(overall > 0, np.where(below > 0, m2 / below, np.nan), 0.0)
        # too few values for a variance: the class takes that of the whole column, and the working says so
        borrowed = ~(variance >= 0)
        variance = np.where(borrowed, overall, np.maximum(variance, first.floor * overall))
        sd = np.sqrt(variance)
        mean, (inverse, norm) = np.where(n > 0, mean, center), _scales(sd)
        return [
            GaussianDensity(t.of.name, mean[j], sd[j], n[j], borrowed[j], first.divisor, (inverse[j], norm[j]))
            for j, t in enumerate(tallies)
        ]

    def _overall(self, n: Floats, mean: Floats, m2: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of each column over all classes, shape (columns, 1)."""
        total = n.sum(axis=1, keepdims=True)
        # sums of differences from a mean that is near keep their digits
        start = mean[np.arange(len(n)), n.argmax(axis=1)][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (n * np.where(n > 0, mean - start, 0.0)).sum(axis=1, keepdims=True)
            center = np.where(total > 0, start + away / total, 0.0)
        square = (m2 + n * np.where(n > 0, mean - center, 0.0) ** 2).sum(axis=1, keepdims=True)
        overall = square / np.maximum(total - 1 if self.divisor == "n-1" else total, 1)
        # a spread below the resolution of the numbers is none
        return center, np.where(overall <= (8 * np.finfo(float).eps * center) ** 2, 0.0, overall)


def _scales(sd: Floats) -> tuple[Floats, Floats]:
    """1/σ and log 1/(σ√2π); zeros for a column without any spread, which says nothing about the class."""
    told = (sd > 0).any(axis=-1, keepdims=True)
    usable = np.where(sd > 0, sd, 1.0)
    return np.where(told, 1.0 / usable, 0.0), np.where(told, -np.log(usable) - _HALF_LOG_2PI, 0.0)


class GaussianDensity(NumericDensity):
    """Normal laws, one a class.

    Parameters
    ----------
    name : str
        The attribute.
    mean, sd, n : ndarray, shape (classes,)
        Parameters, and how many values are behind them.
    borrowed : ndarray of bool
        Classes whose deviation is that of the whole column.
    divisor : str
        For the wording.
    scales : tuple of ndarray, optional
        1/σ and log 1/(σ√2π), where they are known already.
    """

    def __init__(
        self,
        name: str,
        mean: Floats,
        sd: Floats,
        n: Floats,
        borrowed: Flags,
        divisor: str = "n-1",
        scales: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.name, self.mean, self.sd, self.n, self.borrowed, self.divisor = name, mean, sd, n, borrowed, divisor
        self.n_classes = len(mean)
        self.inverse_sd, self.log_norm = _scales(sd) if scales is None else scales

    @property
    def rule(self) -> str:  # type: ignore[override]
        """The law in words."""
        words = f"Gaussian, σ over {'n - 1' if self.divisor == 'n-1' else 'n'}"
        return words + ", σ of the whole column where a class has too few values" * bool(self.borrowed.any())

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """Whether the column has no spread at all."""
        return not bool(self.inverse_sd.any())

    def add_log_prob(self, column: NDArray[Any], out: Floats) -> None:
        """Add log f(x | class)."""
        self.add_many([self], [column], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """All Gaussian attributes in one pass."""
        _kernels.add_gaussian(
            list(columns),
            np.array([d.mean for d in densities]),
            np.array([d.inverse_sd for d in densities]),
            np.array([d.log_norm for d in densities]),
            out,
        )

    def written(self, x: float, c: int) -> tuple[str, str]:
        """φ at x, with the mean and the deviation of class c."""
        mean, sd = number(self.mean[c]), number(self.sd[c])
        return f"φ({number(x)}; {mean}, {sd})", rf"\varphi({number(x)};\,{mean},\,{sd})"

    def behind(self, c: int) -> float:
        """How many values the mean is of."""
        return float(self.n[c])

    def grid(self) -> Floats:
        """Values from well below the lowest mean to well above the highest."""
        low, high = (self.mean - 4 * self.sd).min(), (self.mean + 4 * self.sd).max()
        return np.linspace(low, high, 801)

    def typical(self, c: int) -> tuple[float, str]:
        """The mean."""
        return float(self.mean[c]), f"± {number(self.sd[c])}"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Normal numbers."""
        return rng.normal(self.mean[c], self.sd[c], size)

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """Means and deviations drawn from their posterior (normal, scaled inverse chi-square)."""
        out = np.zeros((size, self.n_classes))
        x = float(column[0])
        if np.isnan(x) or self.constant:
            return out
        for c in range(self.n_classes):
            free = max(self.n[c] - 1, 1.0)
            sd = self.sd[c] * np.sqrt(free / rng.chisquare(free, size))
            mean = rng.normal(self.mean[c], sd / np.sqrt(max(self.n[c], 1.0)))
            out[:, c] = -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - _HALF_LOG_2PI
        return out

    def rows(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """A row a class: mean and deviation."""
        return {
            self.name: [str(c) for c in classes],
            "mean": [number(m) for m in self.mean],
            "deviation": [number(s) for s in self.sd],
            "n": [number(n) for n in self.n],
        }
