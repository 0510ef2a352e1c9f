"""Poisson distribution of a count in each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal
from countwise.data.derived import Derived
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.numeric_density import NumericDensity, NumericDistribution
from countwise.distributions.smoothing import check_smoothing, smoothing_of
from countwise.errors import OptionError
from countwise.scoring.plan import Rate
from countwise.tallies import Moments
from countwise.working.formula import Formula
from countwise.working.grid import Grid
from countwise.working.numbers import Worked, number, poisson, poisson_written, probability
from countwise.working.sections import Section
from countwise.working.steps import Factor, Step

__all__ = ["Poisson", "PoissonDensity"]

_LARGE_RATE = 1e15  # NumPy draws no Poisson numbers for much larger rates


@dataclass(frozen=True, slots=True)
class Poisson(NumericDistribution):
    """Poisson distribution: the rate of a class is the mean of its counts.

    .. math:: P(x | c) = λ_c^x e^{-λ_c} / x!

    Parameters
    ----------
    smoothing : float, str, MEstimate or None, default=None
        The number of prior rows whose count is the mean of all classes; they keep every rate above 0. Laplace
        smoothing adds ε rows to each class, an m-estimate m rows. None uses the smoothing of the model.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> loan = samples.load("loan")
    >>> model = NaiveBayesClassifier({"job_years": "poisson"}, types={"job_years": "count"}, smoothing=0)
    >>> print(model.fit(loan.X, loan.y).table("job_years"))
    job_years     rate  n
    No         3.57143  7
    Yes        2.33333  3
    """

    smoothing: Any = None
    kind: ClassVar[str] = "poisson"
    tally: ClassVar[Any] = Moments
    purpose: ClassVar[str] = "a Poisson distribution needs a count column"
    scored: ClassVar[bool] = True
    shows_infinity: ClassVar[bool] = True  # the moments become non-finite

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)

    def estimate(self, tally: Moments) -> PoissonDensity:
        """Estimate the rates."""
        n, mean, _ = tally.triple
        if (mean < 0).any():
            raise OptionError(
                f"{tally.of.name!r} has a negative mean in a class; a Poisson distribution needs counts >= 0.",
                hint=f"use distributions={{{tally.of.name!r}: 'gaussian'}}.",
            )
        overall, rows = tally.overall[1], self._prior_rows()
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(n + rows > 0, (n * mean + rows * overall) / (n + rows), overall)
        return PoissonDensity(tally.of.name, rate, n, rows, n * mean, float(overall))

    def family_likelihood(self, given: Nominal, of: Any, rows: Table) -> tuple[float, int, float]:
        """Return the log-likelihood with a rate for each combination of the parents' values."""
        from scipy.special import gammaln

        n, rate, _ = Moments(given, of).fill(rows).triple
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        constant = float(weights @ gammaln(rows[of.name] + 1))
        logs = np.where(rate > 0, n * (rate * np.log(np.maximum(rate, 1e-300)) - rate), 0.0)
        return float(logs.sum()) - constant, len(n), float(n.sum())

    def _prior_rows(self) -> float:
        smoothing = smoothing_of(self.smoothing)
        return float(smoothing.estimate.m if smoothing.estimate else smoothing.epsilon or 0.0)


@dataclass(eq=False)
class PoissonDensity(NumericDensity):
    """Poisson distribution in each class."""

    name: str
    rate: Floats
    n: Floats
    prior_rows: float = 0.0  # rows of the smoothing, whose count is the mean of all classes
    sums: Floats = field(default_factory=lambda: np.empty(0))  # the sum of the counts of each class
    overall: float = 0.0  # the mean of all classes
    rule = "Poisson"

    def __post_init__(self) -> None:
        self.n_classes = len(self.rate)
        self.constant = not bool(self.rate.any())  # only zeros, or no values: the attribute has no effect

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Add the log-probabilities of all Poisson attributes in one pass."""
        pairs = [(d, c) for d, c in zip(densities, columns, strict=True) if not d.constant]
        if pairs:
            _kernels.add_poisson([c for _, c in pairs], np.array([d.rate for d, _ in pairs]), out)

    def mean_and_variance(self) -> tuple[Floats, Floats]:
        """Return the rate, which is both mean and variance."""
        return self.rate, self.rate

    def written(self, x: float, c: int) -> tuple[str, str]:
        """Return the probability of x, with the rate of class c."""
        return poisson(x, float(self.rate[c]))

    def derivation(
        self, tally: Any, column: Any, event: str, classes: Mapping[int, str], *, all_terms: bool = False
    ) -> list[Section]:
        """Return the rate of each class from the sum of its counts, and the probability with its numbers."""
        x = float(column[0])
        if np.isnan(x) or self.constant:
            return []
        texts, logs = [factor.text for factor in self.smoothing_steps()[0].factors], self.log_prob_of_row(column)
        rates = [Worked(float(self.rate[c]), texts[c] if self.n[c] + self.prior_rows else "") for c in classes]
        head, lines = "λ = Σ x/n", []
        if self.prior_rows:
            head = "λ = (Σ x + ε·mean)/(n + ε)"
            lines.append(f"ε = {number(self.prior_rows)}, and the mean of all classes is {number(self.overall)}.")
        if x >= 0:
            for c in classes:
                written = poisson_written(x, float(self.rate[c]))
                lines.append(Formula(f"{written} = {probability(float(logs[c]))}"))
        table: dict[str, list[Any]] = {"": list(classes.values()), head: rates}
        return [Section(f"{event}: Poisson distribution", Grid(table), tuple(lines))]

    def grid(self) -> Floats:
        """Return counts from 0 to four standard deviations above the highest rate."""
        high = self.rate.max()
        return np.arange(0.0, min(np.ceil(high + 4 * np.sqrt(high) + 4), 4096))

    def typical(self, c: int) -> tuple[float, str]:
        """Return the rate."""
        return float(self.rate[c]), "mean count"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw Poisson numbers; a large rate draws rounded normal numbers, whose distribution is then the same."""
        rate = float(self.rate[c])
        return np.rint(rng.normal(rate, np.sqrt(rate), size)) if rate > _LARGE_RATE else rng.poisson(rate, size)

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw the rate from its gamma posterior; without rows of the class, from that of all classes."""
        from scipy.special import gammaln

        if x < 0:
            return np.full(size, -np.inf)
        rows = float(self.n[c] + self.prior_rows or self.n.sum())
        rate = rng.gamma(self.rate[c] * rows + 0.5, 1 / rows, size)
        return np.asarray(x * np.log(np.maximum(rate, 1e-300)) - rate - gammaln(x + 1))

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return a row for each class: the rate."""
        return self._class_rows(classes, {"rate": self.rate})

    def smoothing_steps(self) -> list[Step]:
        """Return the rate of each class: the sum of its counts divided by its rows."""
        factors = []
        for total, n, rate in zip(self.sums.tolist(), self.n.tolist(), self.rate.tolist(), strict=True):
            log = math.log(rate) if rate > 0 else -math.inf
            raw, rows = f"{number(total)}/{number(n)}", number(self.prior_rows)
            added = f"({number(total)} + {rows}·{number(self.overall)})/({number(n)} + {rows})"
            factors.append(Factor(log, added if self.prior_rows else raw, "", raw=raw))
        return [Step(f"rate of {self.name}", "", tuple(factors), rule="rate")]

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a Poisson term; none if the column is constant 0."""
        return [] if self.constant else [Rate(derived.columns[0], self.rate)]

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Return the weights log λ and biases -λ; x! is the same for all classes."""
        if self.constant:
            return [key], [np.zeros(self.n_classes)], 0.0
        with np.errstate(divide="ignore"):
            return [key], [np.log(self.rate)], -self.rate

    def log_prob_left_out(
        self, rule: Any, tally: Moments, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool]:
        """Return the leave-one-out log-probability, from the sums without the row."""
        from scipy.special import xlogy

        x = np.asarray(column, dtype=np.float64)
        observed, w = ~np.isnan(x), rows.weights
        n, mean, _ = tally.triple
        total, center, _ = tally.overall
        prior_rows = rule._prior_rows()
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = np.maximum((total * center - w * x) / np.maximum(total - w, 1e-300), 0.0)
            sums = rows.with_own(n * mean, np.maximum(rows.own(n * mean) - w * x, 0.0))
            counts = rows.with_own(n, np.maximum(rows.own(n) - w, 0.0))
            mixed = (sums + prior_rows * overall[:, None]) / (counts + prior_rows)
            rate = np.where(counts + prior_rows > 0, mixed, overall[:, None])
            rate = np.where(rate < 1e-13 * max(float(np.max(mean, initial=0.0)), 1.0), 0.0, rate)
            logs = xlogy(x[:, None], rate) - rate
        no_effect = ~observed | ~(rate > 0).any(axis=1)
        return np.where(no_effect[:, None], 0.0, logs), observed & ~(total - w > 1e-9), False
