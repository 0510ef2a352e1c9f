"""Auto: each column gets the distribution that predicts the class best by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts.n_bins import LEAST
from countwise.data.attributes import Attribute, Count
from countwise.data.table import Table, threads_for
from countwise.distributions.binned import Binned
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.gaussian import Gaussian
from countwise.distributions.kernel import Kernel
from countwise.distributions.numeric_density import NumericDistribution
from countwise.distributions.poisson import Poisson
from countwise.tallies import Values

__all__ = ["Auto", "Choice", "leave_one_out_score"]


@dataclass(frozen=True, slots=True)
class Auto(NumericDistribution):
    """The distribution whose leave-one-out log P(class | this column alone) is best.

    Densities and ranges are compared by what they say of the class, since a
    density of numbers and a probability of ranges are not of one kind. Each row
    is judged by all the others; the edges of ranges and the bandwidths of kernels
    stay those of all rows. An edge that was put where the class changes costs log(n) / 2n.

    Parameters
    ----------
    candidates : tuple of distributions, default=()
        In order of preference at equal scores. By default Gaussian, ranges of equal
        frequency and of equal width (10 each), ranges by MDL, and kernel; for counts Poisson
        first, and each value on its own.
    smoothing : optional
        For the candidates; None takes the model's.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier("auto").fit(rain.X, rain.y)
    >>> sorted(model.choices_["temp"])
    ['gaussian', 'kernel (silverman)', 'ranges (equal_frequency, 10)', 'ranges (equal_width, 10)', 'ranges (mdl)']
    """

    candidates: tuple[Any, ...] = ()
    smoothing: Any = None
    kind: ClassVar[str] = "auto"
    purpose: ClassVar[str] = "'auto' is for numeric attributes and counts"

    def with_defaults(self, smoothing: Any, unseen: str) -> Auto:
        """The model's smoothing, also for the candidates that have none of their own."""
        own = smoothing if self.smoothing is None else self.smoothing
        return replace(self, smoothing=own, candidates=tuple(c.with_defaults(own, unseen) for c in self.candidates))

    def estimate(self, tally: Values) -> Any:
        """Score the candidates; estimate the best."""
        candidates = self.candidates or self._usual(tally.of)

        n = tally.n.astype(np.float64)

        def judged(candidate: Any) -> tuple[Any, float]:
            density, own = candidate.estimate_from_values(tally)
            return density, leave_one_out_score(candidate, density, own, tally, n)

        n_values = sum(len(values) for values, _ in tally.filled)
        found = _kernels.over_items(candidates, judged, threads_for(n_values))
        scores = {c.title: score for c, (_, score) in zip(candidates, found, strict=True)}
        best = max(range(len(found)), key=lambda i: found[i][1])  # the first at a tie
        density = found[best][0]
        density.choice = Choice(candidates[best].title, scores)
        return density

    def _usual(self, of: Attribute) -> tuple[Any, ...]:
        methods = ("equal_frequency", "equal_width", "mdl")
        ranges = tuple(Binned(method, 10, smoothing=self.smoothing) for method in methods)
        usual = (Gaussian(), *ranges, Kernel())
        if isinstance(of, Count):
            return (Poisson(self.smoothing), *usual, Binned("naive", smoothing=self.smoothing))
        return usual


@dataclass(frozen=True, slots=True)
class Choice:
    """Which distribution was chosen, and what each candidate scored (higher is better)."""

    chosen: str
    scores: dict[str, float] = field(default_factory=dict)


def leave_one_out_score(rule: Any, density: Any, tally: Any, values: Values, n: Floats | None = None) -> float:
    """The mean over the rows of log P(class | x), each row left out of its own density, less the price of edges.

    Edges and bandwidths stay those of all rows. `n` is the weight of each class, if it is known.
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
            unit = _repeated(1.0, len(x)) if whole else np.minimum(weights, 1.0)  # what one row weighs
            every = LeftOutRows(_repeated(c, len(x)), unit, len(n), c)
            found = density.log_prob_left_out(rule, tally, x, every, keep=True)
            logs, odd, _ = found or (np.empty((len(x), len(n))), np.ones(len(x), dtype=bool), True)
            if odd.any():
                _again(rule, values, c, unit, np.flatnonzero(odd), logs)
            prior = log_n.copy()
            prior[c] = log_fewer[c] if whole else 0.0
            logs += prior
            if not whole:
                logs[:, c] += np.log(np.maximum(n[c] - unit, 0.0))
            # a row that no class could have made says nothing: it scores as the least likely
            total += _kernels.sum_log_share(logs, c, weights, LEAST)
    return total / rows - price


def _repeated(value: float, size: int) -> NDArray[Any]:
    """A number many times without memory for them: np.broadcast_to, in a tenth of its time."""
    one = np.array(value)
    return np.ndarray(size, one.dtype, one, strides=(0,))


def _again(rule: Any, values: Values, c: int, unit: Floats, which: Indices, logs: Floats) -> None:
    """Estimate the density anew without a row, where there is no closed form or it would lose digits."""
    given, of = values.given, values.of
    for i in which.tolist():
        x = values.filled[c][0][i : i + 1]
        one = Table({of.name: x, given.name: np.array([c], dtype=np.uint8)}, 1, unit[i : i + 1])
        rest = values - Values(given, of).fill(one)
        logs[i] = 0.0
        rule.estimate_from_values(rest)[0].add_log_prob(x, logs[i : i + 1])
