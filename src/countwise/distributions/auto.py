"""Automatic choice of the distribution of a numeric column by a leave-one-out score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts.methods import LEAST
from countwise.data.attributes import Attribute, Count
from countwise.data.columns import narrowest
from countwise.data.table import Table, threads_for
from countwise.distributions.binned import Binned
from countwise.distributions.distribution import Distribution, LeftOutRows
from countwise.distributions.gaussian import Gaussian
from countwise.distributions.kernel import Kernel
from countwise.distributions.numeric_density import NumericDistribution
from countwise.distributions.poisson import Poisson
from countwise.distributions.smoothing import check_smoothing
from countwise.errors import OptionError
from countwise.tallies import Values

__all__ = ["Auto", "Choice", "leave_one_out_score"]


@dataclass(frozen=True, slots=True)
class Auto(NumericDistribution):
    """Automatic choice among several distributions of a numeric attribute.

    The distribution with the highest leave-one-out score is chosen: the mean over the rows of log P(class | this
    attribute alone), where the density is estimated without the row itself. Densities and bin probabilities are not
    comparable, but these scores are. Bin edges and bandwidths stay those of all rows. Every bin edge placed by a
    supervised method costs log(n) / 2n, because it was chosen with the class of the row.

    Parameters
    ----------
    candidates : tuple of Distribution, default=()
        The candidates; the first one wins a tie. By default Gaussian, bins of equal frequency, bins of equal width
        (10 each), bins by MDL, and kernel; for counts also Poisson (first) and a bin for each value.
    smoothing : float, str, MEstimate or None, default=None
        The smoothing of the candidates that do not have their own. None uses the smoothing of the model.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier("auto").fit(rain.X, rain.y)
    >>> sorted(model.choices_["temp"])
    ['bins (equal_frequency, 10)', 'bins (equal_width, 10)', 'bins (mdl)', 'gaussian', 'kernel (silverman)']
    """

    candidates: tuple[Any, ...] = ()
    smoothing: Any = None
    kind: ClassVar[str] = "auto"
    purpose: ClassVar[str] = "'auto' needs a numeric or count column"

    def __post_init__(self) -> None:
        given: Any = self.candidates
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise OptionError(f"candidates must be distributions, not {given!r}.")
        object.__setattr__(self, "candidates", tuple(given))
        for one in self.candidates:
            if isinstance(one, Auto) or not isinstance(one, Distribution):
                raise OptionError(
                    f"A candidate must be a distribution, not {one!r}.",
                    hint="use objects such as Gaussian(), Kernel() and Binned().",
                )
        check_smoothing(self.smoothing)

    def with_defaults(self, smoothing: Any, unseen: str) -> Auto:
        """Return the distribution with the model's smoothing, also for candidates without their own."""
        own = smoothing if self.smoothing is None else self.smoothing
        return replace(self, smoothing=own, candidates=tuple(c.with_defaults(own, unseen) for c in self.candidates))

    def estimate(self, tally: Values) -> Any:
        """Score the candidates and return the density of the best one."""
        candidates = self.candidates or self._usual(tally.of)

        n = tally.n.astype(np.float64)

        def scored(candidate: Any) -> tuple[Any, float]:
            density, own = candidate.estimate_from_values(tally)
            return density, leave_one_out_score(candidate, density, own, tally, n)

        n_values = sum(len(values) for values, _ in tally.filled)
        found = _kernels.over_items(candidates, scored, threads_for(n_values))
        scores = {c.title: score for c, (_, score) in zip(candidates, found, strict=True)}
        best = max(range(len(found)), key=lambda i: found[i][1])  # the first at a tie
        density = found[best][0]
        density.choice = Choice(candidates[best].title, scores)
        return density

    def _usual(self, of: Attribute) -> tuple[Any, ...]:
        methods = ("equal_frequency", "equal_width", "mdl")
        binned = tuple(Binned(method, 10, smoothing=self.smoothing) for method in methods)
        usual = (Gaussian(), *binned, Kernel())
        if isinstance(of, Count):
            return (Poisson(self.smoothing), *usual, Binned("naive", smoothing=self.smoothing))
        return usual


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen distribution, and the leave-one-out score of each candidate (higher is better)."""

    chosen: str
    scores: dict[str, float] = field(default_factory=dict)


def leave_one_out_score(rule: Any, density: Any, tally: Any, values: Values, n: Floats | None = None) -> float:
    """Return the leave-one-out score of a density.

    It is the mean over the rows of log P(class | x), less the cost of supervised bin edges. Each row is excluded from
    its own density, but bin edges and bandwidths stay those of all rows. `n` is the total weight of each class, if it
    is known.
    """
    n = values.n.astype(np.float64) if n is None else n
    rows = float(n.sum())
    if not rows > 0:
        return 0.0
    whole = all(weights.dtype.kind == "i" for _, weights in values.filled)
    price = float(rule.price(density, max(rows, 1.0)))
    known = density.mean_left_out() if whole else None
    if known is not None:
        return float(known) - price
    total = 0.0
    with np.errstate(divide="ignore"):
        log_n, log_fewer = np.log(n), np.log(np.maximum(n - 1.0, 0.0))
        for c, (x, weights) in enumerate(values.filled):
            if not len(x):
                continue
            unit = _repeated(1.0, len(x)) if whole else np.minimum(weights, values.row_weights[c])  # one row
            every = LeftOutRows(_repeated(c, len(x)), unit, len(n), c)
            found = density.log_prob_left_out(rule, tally, x, every, keep=True)
            logs, odd, _ = found or (np.empty((len(x), len(n))), np.ones(len(x), dtype=bool), True)
            if odd.any():
                _estimate_again(rule, values, c, unit, np.flatnonzero(odd), logs)
            prior = log_n.copy()
            prior[c] = log_fewer[c] if whole else 0.0
            logs += prior
            if not whole:
                logs[:, c] += np.log(np.maximum(n[c] - unit, 0.0))
            # a row for which every class has density 0 gets the lowest score
            total += _kernels.sum_log_posterior(logs, c, weights, LEAST)
    return total / rows - price


def _repeated(value: float, size: int) -> NDArray[Any]:
    """Return an array of equal numbers that shares one memory cell, faster than np.broadcast_to."""
    one = np.array(value)
    return np.ndarray(size, one.dtype, one, strides=(0,))


def _estimate_again(rule: Any, values: Values, c: int, unit: Floats, which: Indices, logs: Floats) -> None:
    """Estimate the density without each of some rows, where there is no closed form or it would lose digits."""
    given, of = values.given, values.of
    for i in which.tolist():
        x = values.filled[c][0][i : i + 1]
        one = Table(
            {of.name: x, given.name: np.array([c], dtype=narrowest(len(given.values) + 2))}, 1, unit[i : i + 1]
        )
        rest = values - Values(given, of).fill(one)
        logs[i] = 0.0
        rule.estimate_from_values(rest)[0].add_log_prob(x, logs[i : i + 1])
