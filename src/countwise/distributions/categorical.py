"""Categorical distribution: the relative frequency of each nominal value in each class."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.derived import Absent, Derived, Positive
from countwise.data.schema import Schema
from countwise.distributions.distribution import Density, Distribution, LeftOutRows, no_say
from countwise.distributions.smoothing import Smoothing, check_smoothing, drawn_counts, exact, jeffreys, smoothing_of
from countwise.errors import NumberIn, OptionError, check_settings
from countwise.scoring.plan import Cut, LookupTerm, Presence
from countwise.tallies import Counts
from countwise.working.numbers import Worked
from countwise.working.smoothing import frequency
from countwise.working.steps import Factor, Step

__all__ = ["Categorical", "CategoricalDensity"]


@dataclass(frozen=True, slots=True)
class Categorical(Distribution):
    """Categorical distribution: each value of a nominal attribute has a probability in each class.

    .. math:: P(v | c) = (count(v, c) + α_v) / (count(c) + Σ α)

    The pseudocounts α depend on the smoothing; see `NaiveBayesClassifier`.

    Parameters
    ----------
    smoothing : float, str, MEstimate or None, default=None
        The smoothing against zero frequencies. None uses the smoothing of the model.
    unseen : {'ignore', 'share', 'error'}, default='ignore'
        The treatment of a value that was never seen in training: 'ignore' skips its factor, 'share' adds one extra
        value with a count of 0 and uses its smoothed probability, 'error' raises an error.
    cap : float or None, default=None
        The largest difference between the log-probabilities of one value in two classes (natural logarithm). It
        limits the influence of the attribute. None sets no limit.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> tennis = samples.load("tennis")
    >>> model = NaiveBayesClassifier(distributions="categorical", smoothing=0).fit(tennis.X, tennis.y)
    >>> print(model.table("wind"))
    wind    No         Yes
    Strong  3/5 = 0.6  3/9 = 0.333333
    Weak    2/5 = 0.4  6/9 = 0.666667
    """

    smoothing: Any = None
    unseen: str = "ignore"
    cap: float | None = None
    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)
        check_settings(self, unseen=("ignore", "share", "error"), cap=NumberIn(0, sys.float_info.max, words=(None,)))

    def suits(self, attribute: Attribute) -> bool:
        """Return whether the attribute is nominal or ordinal."""
        return isinstance(attribute, Nominal)

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """Return the attribute as nominal, also if its column is numeric."""
        return Nominal(attribute.name) if isinstance(attribute, Numeric) else attribute

    def with_defaults(self, smoothing: Any, unseen: str) -> Categorical:
        """Return the distribution with the model's smoothing and treatment of unseen values."""
        own = smoothing if self.smoothing is None else self.smoothing
        return Categorical(own, unseen if self.unseen == "ignore" else self.unseen, self.cap)

    def blank(self, given: Nominal, of: Attribute) -> Counts:
        """Return an empty table of counts by class and value."""
        if not isinstance(of, Nominal):
            raise OptionError(
                f"{of.name!r} has type {of.kind}; a categorical distribution needs a nominal column.",
                hint=f"pass types={{{of.name!r}: 'nominal'}}, or use distributions={{{of.name!r}: 'binned'}}.",
            )
        return Counts((given, of))

    def estimate(self, tally: Counts) -> CategoricalDensity:
        """Estimate P(value | class) from the counts."""
        smoothing = smoothing_of(self.smoothing)
        return CategoricalDensity(tally.axes[-1], tally.table, smoothing, self.unseen, self.cap)


class CategoricalDensity(Density):
    """P(value | class), from counts of shape (classes, values)."""

    def __init__(
        self,
        of: Nominal,
        counts: NDArray[Any],
        smoothing: Smoothing,
        unseen: str = "ignore",
        cap: float | None = None,
    ) -> None:
        self.of, self.counts, self.smoothing, self.unseen, self.cap = of, counts, smoothing, unseen, cap
        self.n_classes = counts.shape[0]
        self.rule = f"categorical, {smoothing}"
        self._extra = int(unseen == "share")  # one more entry, for unseen values

    @lazy
    def pseudo(self) -> Floats:
        """Pseudocounts, shape (values + extra,)."""
        return self.smoothing.pseudo(self.counts, self.of.values, self._extra)

    @property
    def _added(self) -> Floats:
        """What the smoothing adds to the number of rows of each class, shape (1,) or (values + extra,)."""
        return self.smoothing.added(self.pseudo, self.n_classes)

    @lazy
    def prob(self) -> Floats:
        """P(value | class), shape (classes, values + extra)."""
        padded = self.counts.astype(np.float64)
        if self._extra:
            padded = np.pad(padded, ((0, 0), (0, self._extra)))
        totals = padded.sum(axis=1, keepdims=True) + self._added
        if totals.all():
            return np.asarray((padded + self.pseudo) / totals)
        overall = padded.sum(axis=0) / max(padded.sum(), 1e-300)
        with np.errstate(invalid="ignore", divide="ignore"):
            # a class with only missing values gets the frequencies over all classes
            return np.where(totals > 0, (padded + self.pseudo) / totals, overall)

    @lazy
    def _lookup(self) -> Floats:
        """Log P(value | class), shape (values + 2, classes); the last two rows are missing and unseen."""
        k = len(self.of.values)
        table = np.zeros((k + 2, self.n_classes))
        with np.errstate(divide="ignore"):
            logs = capped(np.log(self.prob.T), self.cap)
        table[:k] = logs[:k]
        if self._extra:
            table[k + 1] = logs[k]
        if not self.counts.any() and not self.pseudo.any():
            table[:] = 0.0  # every value is missing: the attribute has no effect
        return table

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Look up the log-probability of each value."""
        _kernels.add_lookup([column], [self._lookup], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Look up the log-probabilities of all nominal attributes in one pass."""
        _kernels.add_lookup(list(columns), [d._lookup for d in densities], out)

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """Return the factor of the value in each class."""
        code = int(column[0])
        k = len(self.of.values)
        if code == k:
            return no_say(name, shown or "?", "missing", self.rule)
        if (code > k and not self._extra) or not (self.counts.any() or self.pseudo.any()):
            return no_say(name, shown, "never seen", self.rule)
        return [Step(name, shown, tuple(self._factors(min(code, k))), "known", self.rule)]

    def _factors(self, code: int) -> list[Factor]:
        """Return the factor of a value in each class, as a fraction if possible."""
        added = self.smoothing.exact(self.counts, code, self.of.values, self._extra)
        mass = self.smoothing.mass(self.counts, added, self._extra) if self.cap is None else None
        logs = self._lookup[code if code < len(self.of.values) else code + 1].tolist()
        counts = self.counts[:, code].tolist() if code < self.counts.shape[1] else [0.0] * self.n_classes
        totals = self.counts.sum(axis=1).tolist()
        return [counted_factor(*row, added, mass) for row in zip(logs, counts, totals, strict=True)]

    def grid(self) -> NDArray[Any]:
        """Return the codes of all values."""
        return np.arange(len(self.of.values), dtype=np.uint32)

    def label(self, column: NDArray[Any], row: int) -> str:
        """Return the value of a code."""
        code = int(column[row])
        return str(self.of.values[code]) if code < len(self.of.values) else "?"

    def typical(self, c: int) -> tuple[Any, str]:
        """Return the most frequent value."""
        if not self.of.values:
            return None, "no values"
        best = int(np.argmax(self.prob[c, : len(self.of.values)]))
        return self.of.values[best], f"{self.prob[c, best]:.0%} of the class"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw values from class c."""
        codes = self._drawn_codes(c, size, rng)
        return np.full(size, None, dtype=object) if codes is None else self.of.decode(codes)

    def _drawn_codes(self, c: int, size: int, rng: np.random.Generator) -> Indices | None:
        p = self.prob[c, : len(self.of.values)]
        return rng.choice(len(p), size=size, p=p / p.sum()) if p.sum() > 0 else None

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """Return the log-likelihood with a probability drawn from its Beta posterior.

        A value without a pseudocount has that of Jeffreys' prior, 0.5.
        """
        out = np.zeros((size, self.n_classes))
        code, k = int(column[0]), len(self.of.values)
        if code == k or (code > k and not self._extra) or not (self.counts.any() or self.pseudo.any()):
            return out
        code = min(code, k)  # the entry of unseen values follows those of the values
        counts = drawn_counts(np.pad(self.counts, ((0, 0), (0, self._extra))), self.counts.sum(axis=1), self.pseudo)
        added = jeffreys(self.pseudo)
        total = float(added.sum() if self.smoothing.proper else self._added[code if len(self._added) > 1 else 0])
        for c in range(self.n_classes):
            mine = counts[c, code] + added[code]
            rest = counts[c].sum() + total - mine
            out[:, c] = np.log(np.maximum(rng.beta(mine, max(rest, 1e-9), size), 1e-300))
        return capped(out, self.cap)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return a table with a row for each value and a column for each class."""
        columns: dict[str, list[Any]] = {self.of.name: [str(v) for v in self.of.values]}
        factors = [self._factors(v) for v in range(len(self.of.values))]
        for c, label in enumerate(classes):
            of = [row[c] for row in factors]
            columns[str(label)] = [
                Worked(np.exp(f.log), f.text if f.fraction is not None else "", f.count) for f in of
            ]
        return columns

    def smoothing_steps(self) -> list[Step]:
        """Return a step for each value."""
        return [Step(self.of.name, str(v), tuple(self._factors(i))) for i, v in enumerate(self.of.values)]

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a lookup of the values, or a term for a derived binary column."""
        logs, name = self._lookup, derived.columns[0]
        if isinstance(derived, Absent):
            attribute = schema[name]
            return [Presence(name, logs[0], logs[1], attribute.values if isinstance(attribute, Nominal) else None)]
        if isinstance(derived, Positive):
            return [Cut(name, np.zeros(1), logs[:2])]
        k = len(self.of.values)
        if k == 0 or not logs.any():
            return []  # every value is missing: the attribute has no effect
        return [LookupTerm(name, self.of.values, logs[:k], logs[k + 1] if self.unseen == "share" else None)]

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Return one weight for each value."""
        logs = np.zeros((len(self.of.values), self.n_classes))
        self.add_log_prob(np.arange(len(logs), dtype=np.uint32), logs)
        return [f"{key}={value}" for value in self.of.values], list(logs), 0.0

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return the leave-one-out log-likelihood; a value that no other row has is unseen."""
        if self.unseen == "error":
            return None
        v, size = np.asarray(column, dtype=np.int64), len(self.of.values)
        observed = v < size
        if not size:
            return np.zeros((len(v), rows.k)), np.zeros(len(v), dtype=bool), False
        at, w = np.where(observed, v, 0), rows.weights
        counts = self.counts.astype(np.float64)
        totals, of_value = counts.sum(axis=1), counts.sum(axis=0)
        rest = counts[rows.codes, at] - w
        mine = rows.with_own(counts.T[at], np.where(rest < 1e-9, 0.0, rest))
        whole = rows.with_own(totals, rows.own(totals) - w)
        everyone, everything = of_value[at] - w, of_value.sum() - w
        added, mass = self._pseudo_without(at, everyone, everything)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (everyone / everything)[:, None]
            logs = np.log(np.where(whole + mass > 1e-12, (mine + added) / (whole + mass), others))
            logs = capped(logs, self.cap)
        of = self.of  # False stays in the domain while True occurs
        kept = np.array([not of.grows or value in of.fixed or isinstance(value, bool) for value in of.values])
        unique = observed & (everyone <= 1e-9) & ~kept[at]  # no other row has the value: it is unseen
        nothing = observed & (everything <= 1e-9)
        return np.where((~observed | unique | nothing)[:, None], 0.0, logs), unique & (self.unseen == "share"), False

    def _pseudo_without(self, at: Indices, everyone: Floats, everything: Floats) -> tuple[Floats, Floats]:
        """Return the pseudocounts of values, shape (rows, 1), and what is added to the number of rows of a class.

        Global frequencies change without the row.
        """
        estimate = self.smoothing.estimate
        if estimate is None or not self.smoothing.follows_rows:
            return self.pseudo[at, None], np.broadcast_to(self._added, self.pseudo.shape)[at, None]
        m, k = float(estimate.m), len(self.of.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            pseudo = np.where(everything > 1e-9, m * everyone / everything, m / k)[:, None]
        if self.smoothing.proper:
            return pseudo, np.full_like(pseudo, m)
        return pseudo, pseudo * (self.n_classes if self.smoothing.k == "classes" else k)


def capped(logs: Floats, cap: float | None) -> Floats:
    """Raise log-probabilities (..., classes) so that two classes differ by at most the cap."""
    return logs if cap is None else np.maximum(logs, logs.max(axis=-1, keepdims=True) - cap)


def counted_factor(log: float, count: Any, total: Any, added: Fraction | None, mass: Fraction | None) -> Factor:
    """Return the factor (count + added) / (total + mass).

    It is written as a fraction such as ``(2 + 1)/(9 + 3)`` if all four are short fractions, otherwise as a number.
    """
    whole, of = exact(count), exact(total)
    raw = "" if whole is None or of is None else frequency(whole, of)
    if whole is None or of is None or added is None or mass is None or of + mass == 0:
        shown = f"{np.exp(log):.6g}"
        return Factor(log, shown, shown, None, float(count), float(total), raw)
    above, below = (f"{whole} + {added}", f"{of} + {mass}") if mass else (f"{whole}", f"{of}")
    plain = not mass and whole.denominator == of.denominator == 1
    text = f"{above}/{below}" if plain else f"({above})/({below})"
    latex = rf"\frac{{{above}}}{{{below}}}"
    return Factor(log, text, latex, (whole + added) / (of + mass), float(count), float(total), raw)
