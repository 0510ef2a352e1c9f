"""Auto: let each column choose its own law, by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from countwise import _kernels
from countwise._typing import Floats
from countwise.cuts import COUNTED
from countwise.data.attributes import Attribute, Count, Nominal, Numeric
from countwise.data.table import threads_for
from countwise.distributions.bandwidths import TOLERANCE
from countwise.distributions.binned import Binned, RangesDensity
from countwise.distributions.gaussian import Gaussian, GaussianDensity
from countwise.distributions.kernel import Kernel, KernelDensity
from countwise.distributions.poisson import Poisson, PoissonDensity
from countwise.errors import OptionError
from countwise.measures import LEAST as _LEAST
from countwise.measures import leave_one_out_score as score_of_counts
from countwise.tallies import Moments, Values

__all__ = ["Auto", "leave_one_out_score"]

Overall = tuple[float, float, float]  # n, mean and M2 over all classes

_BLOCK = 1 << 14  # rows that stay in cache while they are judged


@dataclass(frozen=True, slots=True)
class Auto:
    """The law whose leave-one-out log P(class | this column alone) is best.

    Densities and ranges are compared by what they say of the class, since a
    density of numbers and a probability of ranges are not of one kind. Each row
    is judged by all the others; the edges of ranges and the widths of kernels
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

    def blank(self, given: Nominal, of: Attribute) -> Values:
        """The values themselves: every candidate can be made from them."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} is {of.kind}; a choice of laws is for numeric attributes and counts.")
        return Values(given, of)

    def estimate(self, tally: Values) -> Any:
        """Score the candidates, settle the best."""
        moments = tally.moments
        candidates = self.candidates or self._usual(tally.of)

        def judged(candidate: Any) -> tuple[Any, float]:
            density = settle_from_values(candidate, tally, moments)
            return density, leave_one_out_score(density, tally, moments) - _price(candidate, density, moments)

        n_values = sum(len(values) for values, _ in tally.filled)
        found = _kernels.over_items(candidates, judged, threads_for(n_values))
        scores = {title(c): score for c, (_, score) in zip(candidates, found, strict=True)}
        best = max(range(len(found)), key=lambda i: found[i][1])  # the first at a tie
        density = found[best][0]
        density.choice = Choice(title(candidates[best]), scores)
        return density

    def _usual(self, of: Attribute) -> tuple[Any, ...]:
        methods = ("equal_frequency", "equal_width", "mdl")
        ranges = tuple(Binned(method, 10, smoothing=self.smoothing) for method in methods)
        usual = (Gaussian(), *ranges, Kernel())
        if isinstance(of, Count):
            return (Poisson(self.smoothing), *usual, Binned("naive", smoothing=self.smoothing))
        return usual


def _price(candidate: Any, density: Any, moments: Moments) -> float:
    """What an edge costs that was put where the class changes: half a log n, as for any parameter fitted.

    Leaving a row out does not move such an edge, so that the row's own class would speak for itself.
    """
    if not isinstance(candidate, Binned) or not candidate.how.supervised:
        return 0.0
    n = max(float(moments.triple[0].sum()), 1.0)
    return len(density.edges) * 0.5 * float(np.log(n)) / n


@dataclass(frozen=True, slots=True)
class Choice:
    """Which law was chosen, and what each scored (higher is better)."""

    chosen: str
    scores: dict[str, float] = field(default_factory=dict)


def title(candidate: Any) -> str:
    """A candidate in a few words."""
    if isinstance(candidate, Binned):
        if candidate.method == "naive":
            return "each value"
        counted = candidate.method in COUNTED
        return f"ranges ({candidate.how}, {candidate.n_bins})" if counted else f"ranges ({candidate.how})"
    if isinstance(candidate, Kernel):
        return f"kernel ({candidate.bandwidth})"
    return str(candidate.kind)


def settle_from_values(candidate: Any, tally: Values, moments: Moments) -> Any:
    """Settle a law of numbers from the values, whichever tally it would ask for."""
    return candidate.estimate(moments if isinstance(candidate, Gaussian | Poisson) else tally)


def leave_one_out_score(density: Any, tally: Values, moments: Moments) -> float:
    """The mean over the rows of log P(class | x), the row itself left out."""
    whole = all(weights.dtype.kind == "i" for _, weights in tally.filled)
    if whole and isinstance(density, RangesDensity):
        return score_of_counts(density.counts.T, density.pseudo)
    n, overall = moments.triple[0], moments.overall
    total = 0.0
    for c, (values, weights) in enumerate(tally.filled):
        if len(values) == 0:
            continue
        left_out = _own_kernel(density, values, weights, c) if isinstance(density, KernelDensity) else None
        for start in range(0, len(values), _BLOCK):
            part = slice(start, start + _BLOCK)
            unit = 1.0 if whole else np.minimum(weights[part], 1.0)  # what one row weighs
            own = _own(density, values[part], moments, overall, c, unit) if left_out is None else left_out[part]
            total += _block_score(density, values[part], weights[part], own, n, c, unit)
    return total / float(n.sum()) if n.sum() else 0.0


def _block_score(density: Any, values: Any, weights: Any, own: Any, n: Any, c: int, unit: Any) -> float:
    """The sum over some rows of class c of weight times log P(c | x)."""
    with np.errstate(divide="ignore"):
        joint = np.tile(np.log(n), (len(values), 1))
        if isinstance(density, KernelDensity):
            density.add_log_prob(values, joint, skip=c)  # that of the class itself is `own`
        else:
            density.add_log_prob(values, joint)
        joint[:, c] = own + np.log(np.maximum(n[c] - unit, 0))
    # a row that no class could have made tells nothing: it scores as the least likely
    return _kernels.sum_log_share(joint, c, weights, _LEAST)


def _own(density: Any, values: Floats, moments: Moments, overall: Overall, c: int, unit: Any) -> Floats:
    """Log f(x | c) at values of class c, made from the other rows of the class."""
    if isinstance(density, RangesDensity):
        return _own_ranges(density, values, unit, c)
    n, mean, m2 = (part[c] for part in moments.triple)
    spread = overall[2] / max(overall[0] - 1, 1)
    if isinstance(density, GaussianDensity):
        if density.constant or spread <= 0:
            return np.zeros(len(values))
        if np.isscalar(unit):
            out = np.empty(len(values))
            _kernels.gaussian_left_out(values, n, mean, m2, spread, overall[1], out)
            return out
    rest = n - unit
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_left = np.where(rest > 0, mean + (mean - values) * (unit / rest), overall[1])
        if isinstance(density, PoissonDensity):
            return _own_poisson(values, np.maximum(mean_left, 1e-9))
        m2_left = m2 - (values - mean) ** 2 * (unit * n / np.maximum(rest, 1e-300))
        variance = np.maximum(np.where(rest > 1, m2_left / (rest - 1), spread), 1e-9 * spread)
        return np.asarray(-0.5 * (values - mean_left) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance))


def _own_poisson(values: Floats, rate: Floats) -> Floats:
    from scipy.special import gammaln

    return np.asarray(values * np.log(rate) - rate - gammaln(values + 1))


def _own_ranges(density: RangesDensity, values: Any, unit: Any, c: int) -> Floats:
    codes = density.codes(values)
    counts, pseudo = density.counts[c], density.pseudo
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (counts[codes] - unit + pseudo[codes]) / (counts.sum() - unit + pseudo.sum())
        return np.asarray(np.log(np.maximum(np.nan_to_num(share), 0.0)))


def _own_kernel(density: KernelDensity, values: Any, weights: Any, c: int) -> Floats:
    if density.constant:
        return np.zeros(len(values))
    h = float(density.bandwidths[c])
    _, kernel_weights, boxes, taylor, _ = density._expanded[c]  # the same expansion, not a second one
    logs = _kernels.gauss_loo_log_sums(values, kernel_weights, h, boxes, taylor, TOLERANCE)
    rest = weights.sum() - (1.0 if weights.dtype.kind == "i" else np.minimum(weights, 1.0))
    if not np.all(rest > 0):  # a single row: nothing is left to make a density of
        return np.full(len(values), -np.inf)
    return np.asarray(logs - np.log(rest * h) - 0.5 * np.log(2 * np.pi))
