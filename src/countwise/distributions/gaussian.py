"""Gaussian distribution of a numeric attribute in each class."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import InitVar, dataclass
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Ordinal
from countwise.data.derived import AsGiven, Derived, OrderCodes
from countwise.data.schema import Schema
from countwise.distributions.distribution import Distribution, LeftOutRows
from countwise.distributions.numeric_density import NumericDensity, NumericDistribution
from countwise.errors import NumberIn, check_settings, warn
from countwise.scoring.plan import LookupTerm, NormalTerm
from countwise.tallies import Moments, Values, all_ones
from countwise.tallies.moments import BLUR, TINY, WORN_BLUR, too_large, too_small
from countwise.working.formula import Formula
from countwise.working.grid import Grid
from countwise.working.numbers import Worked, normal, normal_written, number, probability
from countwise.working.sections import Section

__all__ = ["Gaussian", "GaussianDensity", "drawn_log_densities"]

_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_WORN = 1e-4  # if a smaller fraction of a sum of squares remains without a row, digits are lost


@dataclass(frozen=True, slots=True)
class Gaussian(NumericDistribution):
    """Gaussian distribution: a mean and a standard deviation in each class.

    .. math:: f(x | c) = exp(-(x - μ_c)² / 2σ_c²) / (σ_c √(2π))

    A class with too few values for a variance gets the variance of the whole column, with the same divisor.
    An ordinal column with a declared order has the codes 0, 1, 2, ... of its values, as if all steps were equal.

    Parameters
    ----------
    divisor : {'n-1', 'n'}, default='n-1'
        The divisor of the sum of squared deviations: 'n-1' gives the unbiased estimate of the variance, 'n' the
        maximum likelihood estimate, as in scikit-learn.
    floor : float, default=1e-09
        The smallest variance, as a fraction of the variance of this column over all classes.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
    >>> print(model.table("temp"))
    temp     mean        sd  n
    no    25.0333  6.43843   3
    yes   19.4667  0.971253  3
    """

    divisor: str = "n-1"
    floor: float = 1e-9
    kind: ClassVar[str] = "gaussian"
    tally: ClassVar[Any] = Moments
    purpose: ClassVar[str] = "a Gaussian distribution needs a numeric column"
    linear: ClassVar[bool] = True
    scored: ClassVar[bool] = True
    shows_infinity: ClassVar[bool] = True  # the moments become non-finite

    def __post_init__(self) -> None:
        check_settings(self, divisor=("n", "n-1"), floor=NumberIn(0, sys.float_info.max))

    def derived(self, attribute: Attribute, taken: Container[str]) -> tuple[Derived, Any]:
        """Return the codes of an ordinal column, or a numeric column as it is."""
        return (OrderCodes.of_column(attribute) if isinstance(attribute, Ordinal) else AsGiven(attribute)), self

    def estimate(self, tally: Moments) -> GaussianDensity:
        """Estimate means and standard deviations."""
        return self.estimate_many([self], [tally])[0]

    def may_depend_on(self, parent: Distribution) -> bool:
        """Return True for a Gaussian parent: the node is then a linear function of it."""
        return isinstance(parent, Gaussian)

    @classmethod
    def estimate_many(cls, rules: Sequence[Gaussian], tallies: Sequence[Moments]) -> list[GaussianDensity]:
        """Estimate the densities of several columns over the same classes at once, which is faster.

        Parameters
        ----------
        rules : sequence of Gaussian
            The distribution of each column.
        tallies : sequence of Moments
            The tally of each column.

        Returns
        -------
        list of GaussianDensity
            The density of each column.

        Examples
        --------
        >>> from countwise import Gaussian, NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> Gaussian.estimate_many([Gaussian()], [model.tallies_["temp"]])[0].mean.round(4).tolist()
        [25.0333, 19.4667]
        """
        first = rules[0]
        if len(set(rules)) > 1 or len(set(map(attrgetter("given"), tallies))) > 1:
            return [rule.estimate(tally) for rule, tally in zip(rules, tallies, strict=True)]
        for tally in tallies:
            if tally.worn:
                warn(
                    f"The remaining values of {tally.of.name!r} vary far less than the forgotten ones, so its "
                    "variance has lost precision. Hint: fit again on the remaining rows."
                )
        n, mean, m2 = map(np.array, zip(*map(attrgetter("triple"), tallies), strict=True))
        worn = any(tally.worn for tally in tallies)
        blur = np.array([[_worn_blur(tally)] for tally in tallies]) if worn else 0.0
        center, overall = first._overall(n, mean, m2, blur)
        _refuse_extremes(tallies, n, mean, overall)
        below = _divisors(n, first.divisor)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(overall > 0, np.where(below > 0, m2 / below, np.nan), 0.0)
        # a class with too few values gets the variance of the whole column; `rule` says so
        borrowed = ~(variance >= 0) | _too_few(n, m2, first.divisor)
        variance = np.where(borrowed, overall, np.maximum(variance, first.floor * overall))
        sd = np.sqrt(variance)
        mean, (inverse, norm) = np.where(n > 0, mean, center), _scales(sd)
        varies = [t.seen is not None and t.seen.low < t.seen.high for t in tallies]
        return [
            GaussianDensity(
                t.of.name, mean[j], sd[j], n[j], borrowed[j], first.divisor, varies[j], (inverse[j], norm[j])
            )
            for j, t in enumerate(tallies)
        ]

    def _overall(self, n: Floats, mean: Floats, m2: Floats, blur: Floats | float) -> tuple[Floats, Floats]:
        """Return mean and variance of each column over all classes, shape (columns, 1).

        A deviation of at most `blur`, or below the floating-point resolution of the mean, is 0.
        """
        total = n.sum(axis=1, keepdims=True)
        # differences from a nearby mean keep their digits
        start = mean[np.arange(len(n)), n.argmax(axis=1)][:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            known = np.where(n > 0, mean, start)
            center = np.where(total > 0, start + (n * (known - start)).sum(axis=1, keepdims=True) / total, 0.0)
            square = (m2 + n * (known - center) ** 2).sum(axis=1, keepdims=True)
            overall = square / np.where(total > 0, _divisors(total, self.divisor), 1)
            blurred = (overall < np.inf) & (overall <= np.maximum(np.abs(BLUR * center), blur) ** 2)
        return center, np.where(blurred, 0.0, overall)


def _divisors(n: Floats, divisor: str) -> Floats:
    """Return the divisor of a sum of squares for a total weight of n.

    n - 1 is for whole rows. Weights that sum to less than 2 stand for at least two rows: n / 2 is the divisor of two
    rows of equal weight.
    """
    return np.maximum(n - 1, n / 2) if divisor == "n-1" else n


def _too_few(n: Floats, m2: Floats, divisor: str) -> Flags:
    """Return which classes have too little weight for a variance of their own, or a single value."""
    return (n <= (1.0 if divisor == "n-1" else 0.0)) | ((n <= 1) & (m2 == 0))


def _worn_blur(tally: Moments) -> float:
    """Return the deviation that may be a rounding error, from the largest value, which may have been forgotten."""
    if not tally.worn:
        return 0.0
    ends = [0.0, 0.0] if tally.seen is None else [tally.seen.low, tally.seen.high]
    return WORN_BLUR * max(float(np.abs([*ends, *tally.triple[1]]).max()), 0.0)


def _refuse_extremes(tallies: Sequence[Moments], n: Floats, mean: Floats, overall: Floats) -> None:
    """Raise an error if the squares of a column overflow between the classes, or underflow."""
    if overall.min(initial=1.0) >= TINY**2 and overall.max(initial=1.0) < np.inf:
        return
    if not np.isfinite(overall).all():
        raise too_large(tallies[int(np.argmin(np.isfinite(overall[:, 0])))].of.name)
    size = np.abs(np.where(n > 0, mean, 0.0)).max(axis=1)
    tiny = (size > 0) & (size < TINY) & (overall[:, 0] < TINY**2)
    if tiny.any():
        raise too_small(tallies[int(np.argmax(tiny))].of.name)


def _scales(sd: Floats) -> tuple[Floats, Floats]:
    """Return 1/σ and log 1/(σ√2π); zeros for a constant column, which has no effect."""
    varies = (sd > 0).any(axis=-1, keepdims=True)
    usable = np.where(sd > 0, sd, 1.0)
    return np.where(varies, 1.0 / usable, 0.0), np.where(varies, -np.log(usable) - _HALF_LOG_2PI, 0.0)


@dataclass(eq=False)
class GaussianDensity(NumericDensity):
    """Normal density in each class."""

    name: str
    mean: Floats
    sd: Floats
    n: Floats
    borrowed: Flags  # classes whose standard deviation is that of the whole column
    divisor: str = "n-1"
    varies: bool = False  # whether different values were observed; they may be too close to have a variance
    scales: InitVar[tuple[Floats, Floats] | None] = None  # 1/σ and log 1/(σ√2π), if already known

    linear = True

    def __post_init__(self, scales: tuple[Floats, Floats] | None) -> None:
        self.n_classes = len(self.mean)
        self.inverse_sd, self.log_norm = _scales(self.sd) if scales is None else scales

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Description of the distribution."""
        text = f"Gaussian, σ over {'n - 1' if self.divisor == 'n-1' else 'n'}"
        return text + ", σ of the whole column where a class has too few values" * bool(self.borrowed.any())

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """Whether the column is constant."""
        return not bool(self.inverse_sd.any())

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Add the log-density of each value."""
        _kernels.add_gaussian([column], self.mean[None], self.inverse_sd[None], self.log_norm[None], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Add the log-densities of all Gaussian attributes in one pass."""
        tables = np.array([(d.mean, d.inverse_sd, d.log_norm) for d in densities])
        mean, inverse, norm = np.ascontiguousarray(tables.swapaxes(0, 1))
        _kernels.add_gaussian(list(columns), mean, inverse, norm, out)

    def written(self, x: float, c: int) -> tuple[str, str]:
        """Return φ at x, with the mean and the standard deviation of class c."""
        return normal(x, float(self.mean[c]), float(self.sd[c]))

    def derivation(
        self, tally: Any, column: Any, event: str, classes: Mapping[int, str], *, all_terms: bool = False
    ) -> list[Section]:
        """Return the sums of each class, the mean and the standard deviation from them, and φ with its numbers."""
        x = float(column[0])
        if np.isnan(x) or self.constant:
            return []
        n, mean, m2 = (tally.moments if isinstance(tally, Values) else tally).triple
        below = _divisors(n, self.divisor)
        means, deviations, lines = [], [], []
        for c, label in classes.items():
            own, mu, sd = float(n[c]), float(self.mean[c]), float(self.sd[c])
            means.append(Worked(mu, f"{number(own * mean[c])}/{number(own)}" if own else ""))
            divisor = f"({number(own)} - 1)" if self.divisor == "n-1" and own >= 2 else number(below[c])
            counted = below[c] > 0 and np.isclose(np.sqrt(m2[c] / below[c]), sd, rtol=1e-9, atol=0)
            deviations.append(Worked(sd, f"√({number(m2[c])}/{divisor})" if counted else ""))
            if not counted:
                why = "its values are too few" if self.borrowed[c] else "a variance has a lower limit"
                lines.append(f"σ of {label} is computed from the whole column: {why}.")
        logs = self.log_prob_of_row(column).tolist()
        for c in classes:
            density = normal_written(x, float(self.mean[c]), float(self.sd[c]))
            lines.append(Formula(f"{density} = {probability(logs[c])}"))
        root = "√(Σ (x - μ)²/(n - 1))" if self.divisor == "n-1" else "√(Σ (x - μ)²/n)"
        table: dict[str, list[Any]] = {"": list(classes.values()), "μ = Σ x/n": means, f"σ = {root}": deviations}
        return [Section(f"{event}: Gaussian density", Grid(table), tuple(lines))]

    def grid(self) -> Floats:
        """Return values from four standard deviations below the lowest mean to four above the highest."""
        low, high = (self.mean - 4 * self.sd).min(), (self.mean + 4 * self.sd).max()
        return np.linspace(low, high, 801)

    def typical(self, c: int) -> tuple[float, str]:
        """Return the mean; the remark is the standard deviation."""
        return float(self.mean[c]), f"± {number(self.sd[c])}"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw normal numbers."""
        return rng.normal(self.mean[c], self.sd[c], size)

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw mean and variance from their posterior; a standard deviation of the whole column has all its rows."""
        behind = float(self.n.sum() if self.borrowed[c] else self.n[c])
        return drawn_log_densities(x, float(self.mean[c]), float(self.sd[c]), float(self.n[c]), behind, size, rng)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return a row for each class: mean and standard deviation."""
        return self._class_rows(classes, {"mean": self.mean, "sd": self.sd})

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a normal term, or a lookup of the values of an ordinal column; none if the column is constant."""
        if isinstance(derived, OrderCodes) and not self.constant:
            logs = np.zeros((len(derived.values), self.n_classes))
            self.add_log_prob(np.arange(len(logs), dtype=np.float64), logs)
            return [LookupTerm(derived.columns[0], derived.values, logs)]
        return [] if self.constant else [NormalTerm(derived.columns[0], self.mean, self.inverse_sd, self.log_norm)]

    def log_prob_left_out(
        self, rule: Any, tally: Moments, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool]:
        """Return the leave-one-out log-density, from the moments without the row."""
        x = np.asarray(column, dtype=np.float64)
        quick = self._left_out_of_one_class(rule, tally, x, rows)
        if quick is not None:
            return quick, np.zeros(len(x), dtype=bool), True
        observed, w = ~np.isnan(x), rows.weights
        n, mean, m2 = tally.triple
        total, center, square = tally.overall
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            own_n, own_mean, own_m2, worn = _without(rows.own(n), rows.own(mean), rows.own(m2), x, w)
            all_n, all_mean, all_m2, blurred = _without(np.full(len(x), total), center, square, x, w)
            overall = all_m2 / np.where(all_n > 0, _divisors(all_n, rule.divisor), 1.0)
            overall = np.where(overall <= (BLUR * all_mean) ** 2, 0.0, overall)
            least = rule.floor * overall
            own = own_m2 / _divisors(own_n, rule.divisor)
            few = _too_few(own_n, own_m2, rule.divisor)
            own = np.where((own >= 0) & ~few, np.maximum(own, least), overall)
            own_mean = np.where(own_n > 0, own_mean, all_mean)
            every = m2 / _divisors(n, rule.divisor)
            spread = (every >= 0) & ~_too_few(n, m2, rule.divisor)
            if spread.all() and float(every.min()) >= float(np.nanmax(least, initial=0.0)) and not self.constant:
                logs = np.zeros((len(x), rows.k))  # the other classes do not change
                self.add_log_prob(x, logs)
            else:
                variance = np.where(spread, np.maximum(every, least[:, None]), overall[:, None])
                logs = _log_normal(x[:, None], np.where(n > 0, mean, all_mean[:, None]), variance)
            logs[np.arange(len(x)), rows.codes] = _log_normal(x, own_mean, own)
        logs[~observed | ~(overall > 0)] = 0.0
        return logs, observed & (worn | blurred), True

    def _left_out_of_one_class(self, rule: Any, tally: Moments, x: Floats, rows: LeftOutRows) -> Floats | None:
        """Do the same by a compiled kernel, for rows of one class with weight 1.

        Return None if the variance floor or lost digits could matter.
        """
        c, (n, mean, m2) = rows.only, tally.triple
        if c is None or rule.divisor != "n-1" or self.constant or not all_ones(rows.weights):
            return None
        (own_n, own_mean, own_m2), (total, center, square) = map(float, (n[c], mean[c], m2[c])), tally.overall
        if own_n <= 3 or n.min() <= 1:
            return None
        low, high = float(x[0]), float(x[-1])
        # lower limits of the remaining sums of squares
        own = own_m2 - max(high - own_mean, own_mean - low) ** 2 * (own_n / (own_n - 1))
        every = square - max(high - center, center - low) ** 2 * (total / (total - 1))
        least = rule.floor * square / max(total - 2, 1.0)
        blurred = (BLUR * float(np.abs(mean).max())) ** 2 * total
        if not (own > _WORN * own_m2 and every > max(_WORN * square, 4 * blurred) and own / (own_n - 2) > least):
            return None
        if not (m2 / (n - 1)).min() > least:
            return None
        logs = np.zeros((len(x), rows.k))
        self.add_log_prob(x, logs)
        _kernels.gaussian_loo(x, own_n, own_mean, own_m2, square / (total - 1), 0.0, logs[:, c])
        return logs


def _log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return log φ(x); a variance of 0 is replaced by 1."""
    variance = np.where(variance > 0, variance, 1.0)
    return np.asarray(-0.5 * (x - mean) ** 2 / variance - 0.5 * np.log(variance) - _HALF_LOG_2PI)


def _without(n: Floats, mean: Any, m2: Any, x: Floats, w: Floats) -> tuple[Floats, Floats, Floats, Flags]:
    """Return (n, mean, M2) without a value, and where too little remains for the digits to be reliable."""
    rest = n - w
    rest = np.where(rest < 1e-9 * n, 0.0, rest)
    after = np.where(rest > 0, mean + (mean - x) * (w / rest), 0.0)
    square = m2 - w * (x - mean) ** 2 * (n / rest)
    worn = (rest > 0) & (m2 > 0) & (square < _WORN * m2)
    return rest, after, np.where(rest > 0, np.maximum(square, 0.0), 0.0), worn


def drawn_log_densities(
    x: float, mean: float, sd: float, n: float, behind: float, size: int, rng: np.random.Generator
) -> Floats:
    """Return log φ(x) for means and variances drawn from their posterior (normal, scaled inverse chi-square).

    `n` is the number of rows behind the mean, and `behind` that behind the standard deviation.
    """
    free = max(behind - 1, 1.0)
    drawn = sd * np.sqrt(free / rng.chisquare(free, size))
    centers = rng.normal(mean, drawn / np.sqrt(max(n or behind, 1.0)))
    with np.errstate(over="ignore"):  # far from all rows the density is 0
        return np.asarray(-0.5 * ((x - centers) / drawn) ** 2 - np.log(drawn) - _HALF_LOG_2PI)
