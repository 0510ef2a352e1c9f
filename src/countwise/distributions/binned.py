"""Binned distribution: a discretized numeric attribute, with the probability of each bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.cuts import COUNTED, CutRule, Cuts, settings_of
from countwise.cuts.methods import leave_one_out_score
from countwise.data.attributes import Ordinal
from countwise.data.derived import Derived
from countwise.data.schema import Schema
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.distribution import Density, LeftOutRows
from countwise.distributions.numeric_density import NumericDistribution
from countwise.distributions.smoothing import check_smoothing, smoothing_of
from countwise.errors import UnseenValueError, check_settings
from countwise.scoring.plan import Cut, NumberLookup
from countwise.tallies import Values
from countwise.working.steps import Step

__all__ = ["Binned", "BinnedDensity"]


@dataclass(frozen=True, slots=True)
class Binned(NumericDistribution):
    """Distribution of a discretized numeric attribute: each bin has a probability in each class.

    Parameters
    ----------
    method : str or sequence of float, default='equal_frequency'
        The discretization method: 'equal_frequency', 'equal_width', 'kmeans' (the global optimum), 'lloyd' (k-means
        from random centers), 'naive' (a bin for each value; any other number is unseen), 'class_contiguous' (a cut
        point wherever the class changes), 'min_n', 'mdl' (Fayyad & Irani 1993), or the cut points themselves. The
        supervised methods use the classes of the training rows.
    n_bins : int or 'leave_one_out', default=10
        The number of bins for 'equal_frequency', 'equal_width', 'kmeans' and 'lloyd'. 'leave_one_out' chooses the
        number with the best leave-one-out likelihood.
    n : float, default=6
        The number of rows of one class that a bin must hold, for 'min_n'.
    merge : {None, 'majority', 'last'}, default=None
        The bins to merge afterwards, for 'min_n'; see `Discretizer`.
    smoothing : float, str, MEstimate or None, default=None
        The smoothing against zero frequencies. None uses the smoothing of the model.
    min_size : float or None, default=None
        The number of rows that a bin must hold, for 'class_contiguous'; see `Discretizer`.
    labels : sequence of str or None, default=None
        The names of the bins, such as ``("low", "medium", "high")``, instead of their ranges.
    init : 'random' or sequence of float, default='random'
        The first centers of 'lloyd'; see `Discretizer`.
    n_init : int, default=10
        The number of random starts of 'lloyd'.
    random_state : int, default=0
        The seed of the random starts of 'lloyd'.
    unseen : {'ignore', 'share', 'error'}, default='ignore'
        The treatment of an unseen number by 'naive', as in `Categorical`.

    Examples
    --------
    >>> from countwise import Binned, samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier({"temp": Binned("equal_width", n_bins=3)}).fit(rain.X, rain.y)
    >>> print(model.table("temp"))
    temp                no                          yes
    <= 22.9667          (1 + 1)/(3 + 3) = 0.333333  (3 + 1)/(3 + 3) = 0.666667
    (22.9667, 27.5333]  (1 + 1)/(3 + 3) = 0.333333  (0 + 1)/(3 + 3) = 0.166667
    > 27.5333           (1 + 1)/(3 + 3) = 0.333333  (0 + 1)/(3 + 3) = 0.166667
    """

    method: Any = "equal_frequency"
    n_bins: Any = 10
    n: Any = 6
    merge: str | None = None
    smoothing: Any = None
    min_size: Any = None
    labels: Any = None
    init: Any = "random"
    n_init: Any = 10
    random_state: Any = 0
    unseen: str = "ignore"
    kind: ClassVar[str] = "binned"
    binned: ClassVar[bool] = True
    purpose: ClassVar[str] = "a binned distribution needs a numeric column"

    def __post_init__(self) -> None:
        how = self.how
        for name in ("method", "labels", "init"):  # as tuples
            object.__setattr__(self, name, getattr(how, name))
        check_smoothing(self.smoothing)
        check_settings(self, unseen=("ignore", "share", "error"))

    @property
    def how(self) -> CutRule:
        """The discretization rule with its settings."""
        return CutRule(**settings_of(self))

    def with_defaults(self, smoothing: Any, unseen: str) -> Binned:
        """Return the distribution with the model's smoothing and treatment of unseen values."""
        own = smoothing if self.smoothing is None else self.smoothing
        return replace(self, smoothing=own, unseen=unseen if self.unseen == "ignore" else self.unseen)

    @property
    def title(self) -> str:
        """The discretization method and the number of bins."""
        if self.method == "naive":
            return "each value"
        return f"bins ({self.how}, {self.n_bins})" if self.method in COUNTED else f"bins ({self.how})"

    def price(self, density: BinnedDensity, n: float) -> float:
        """Return the cost of the cut points of a supervised method: log(n) / 2n each, as for any fitted parameter.

        Excluding a row does not move a cut point that was chosen with its class, so the score would be too
        high without this cost.
        """
        return len(density.edges) * 0.5 * float(np.log(n)) / n if self.how.supervised else 0.0

    def estimate(self, tally: Values) -> BinnedDensity:
        """Discretize the values and count the rows of each class in each bin."""
        cuts = self.how.cut(tally)
        return BinnedDensity(tally.of.name, cuts, tally.counts_in(cuts.edges), self)


class BinnedDensity(CategoricalDensity):
    """P(bin | class)."""

    def __init__(self, name: str, cuts: Cuts, counts: NDArray[Any], settings: Binned) -> None:
        self.cuts, self.edges = cuts, cuts.edges
        unseen = "ignore" if cuts.values is None else settings.unseen  # every number is in some bin
        of = Ordinal(name, cuts.labels, grows=cuts.values is not None)
        super().__init__(of, counts, smoothing_of(settings.smoothing), "share" if unseen == "share" else "ignore")
        self._refuses_unseen = unseen == "error"
        self.rule = f"{len(cuts.edges) + 1} bins, {str(settings.how).replace('_', ' ')}, {self.smoothing}"

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the bin of each number; a missing value has its own code, and so has an unseen number."""
        codes = self.cuts.codes(column)
        if self._refuses_unseen and (codes > len(self.of.values)).any():
            new = column[np.argmax(codes > len(self.of.values))]
            raise UnseenValueError(
                f"{self.of.name!r} is {new:g}, which no training row has.",
                hint="unseen='ignore' accepts it; or use another method than 'naive'.",
            )
        return codes

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Find the bin of each value and look up its log-probability."""
        super().add_log_prob(self.codes(column), out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Do the same for several attributes in one pass."""
        super().add_many(densities, [d.codes(column) for d, column in zip(densities, columns, strict=True)], out)

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """Return the factor of the bin in each class."""
        codes = self.codes(column)
        if codes[0] > len(self.edges) or self.cuts.values is not None:
            return super().steps(name, codes, shown)
        return super().steps(name, codes, f"{shown} in {self.label(column, 0)}")

    def counted_in(self, column: Any, one: Any, word: str = "") -> Flags | None:
        """Return the rows in the same bin."""
        return super().counted_in(self.codes(column), self.codes(one), word)

    def grid(self) -> Floats:
        """Return a number in the middle of each bin, or the value of the bin."""
        if self.cuts.values is not None:
            return self.cuts.values
        if len(self.edges) == 0:
            return np.zeros(1)
        step = max(float(np.diff(self.edges).min()) if len(self.edges) > 1 else 1.0, 1e-300)
        ends = np.concatenate([[self.edges[0] - step], self.edges, [self.edges[-1] + step]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)

    def label(self, column: NDArray[Any], row: int) -> str:
        """Return the label of the bin of a number, with its range if it has a name."""
        code = int(self.codes(column[row : row + 1])[0])
        if code >= len(self.of.values):
            return "?"
        return f"{self.of.values[code]} ({self.cuts.ranges[code]})" if self.cuts.names else str(self.of.values[code])

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a lookup of the bin; with the naive method, of the value."""
        edges, logs = np.asarray(self.edges, dtype=np.float64), self._lookup
        if self.cuts.values is None:
            return [Cut(derived.columns[0], edges, logs[: len(edges) + 1])]
        k, values = len(self.cuts.values), tuple(self.cuts.values.tolist())
        return [NumberLookup(derived.columns[0], values, logs[:k], logs[k + 1] if self.unseen == "share" else None)]

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Raise an error: the log-probability of a bin is not linear in the number."""
        return Density.linear_terms(self, key)

    def mean_left_out(self) -> float | None:
        """Return the score from the bin counts, unless the pseudocounts or the bins depend on the row."""
        added = self._added
        if self.cuts.values is not None or self.smoothing.follows_rows or (added != added[0]).any():
            return None
        return leave_one_out_score(self.counts.T, self.pseudo, added=float(added[0]))

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Treat bins like nominal values if `keep` is true; otherwise the bin edges might move.

        With the naive method they cannot: without its only row, a value is unseen.
        """
        if not keep and self.cuts.values is None:
            return None
        return super().log_prob_left_out(rule, tally, self.codes(column), rows)

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw bins from class c and return the middle of each."""
        codes = self._drawn_codes(c, size, rng)
        return np.full(size, np.nan) if codes is None else self.grid()[codes]

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """Treat bins like nominal values."""
        return super().draw_log_prob(self.codes(column), size, rng)
