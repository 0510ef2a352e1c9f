"""Binned: a numeric attribute cut into ranges, each counted as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.cuts import COUNTED, CutRule, Cuts, labels
from countwise.cuts.n_bins import leave_one_out_score
from countwise.data.attributes import Ordinal
from countwise.data.columns import narrowest
from countwise.data.derived import Derived
from countwise.data.schema import Schema
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.distribution import Density, LeftOutRows
from countwise.distributions.numeric_density import NumericDistribution
from countwise.distributions.smoothing import smoothing_of
from countwise.scoring.plan import Cut
from countwise.tallies import Values
from countwise.working.steps import Step

__all__ = ["Binned", "RangesDensity"]


@dataclass(frozen=True, slots=True)
class Binned(NumericDistribution):
    """Cut the numbers into ranges, then count.

    Parameters
    ----------
    method : str or sequence of float, default="equal_frequency"
        Where to cut: "equal_frequency", "equal_width", "kmeans", "naive" (each value a range),
        "class_contiguous", "min_n", "mdl", or the inner edges themselves. Rules that look at the
        class look at that of the rows they are fitted on and of no others.
    n_bins : int or "leave_one_out", default=10
        How many ranges, for the first three.
    n : float, default=6
        For "min_n": how many rows of one class a range must hold.
    merge : {None, "majority", "last"}, optional
        For "min_n": which ranges are joined afterwards.
    smoothing : optional
        Against zero counts; None takes the model's.

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
    kind: ClassVar[str] = "binned"
    binned: ClassVar[bool] = True
    purpose: ClassVar[str] = "bins are for numeric attributes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", self.how.method)

    @property
    def how(self) -> CutRule:
        """The rule with its settings."""
        return CutRule(self.method, self.n_bins, self.n, self.merge)

    @property
    def title(self) -> str:
        """The rule for the edges, and how many ranges."""
        if self.method == "naive":
            return "each value"
        return f"ranges ({self.how}, {self.n_bins})" if self.method in COUNTED else f"ranges ({self.how})"

    def price(self, density: RangesDensity, n: float) -> float:
        """What an edge costs that was put where the class changes: half a log n, as for any parameter fitted.

        Leaving a row out does not move such an edge, so that the row's own class would speak for itself.
        """
        return len(density.edges) * 0.5 * float(np.log(n)) / n if self.how.supervised else 0.0

    def estimate(self, tally: Values) -> RangesDensity:
        """Cut and count."""
        cuts = self.how.cut(tally)
        return RangesDensity(tally.of.name, cuts, tally.counts_in(cuts.edges), self)


class RangesDensity(CategoricalDensity):
    """P(range | class)."""

    def __init__(self, name: str, cuts: Cuts, counts: NDArray[Any], settings: Binned) -> None:
        self.cuts, self.edges = cuts, cuts.edges
        super().__init__(Ordinal(name, labels(cuts.edges)), counts, smoothing_of(settings.smoothing))
        self.rule = f"{len(cuts.edges) + 1} ranges, {str(settings.how).replace('_', ' ')}, {self.smoothing}"

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """The range of each number; missing has its own code."""
        codes = np.empty(len(column), dtype=narrowest(len(self.edges) + 3))
        _kernels.cut_codes(column, self.edges, codes)
        return codes

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Find the intervals, then look them up."""
        super().add_log_prob(self.codes(column), out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Find the ranges, then look them up."""
        super().add_many(densities, [d.codes(column) for d, column in zip(densities, columns, strict=True)], out)

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The fraction of the range in each class."""
        codes = self.codes(column)
        inside = "" if codes[0] > len(self.edges) else f" in {self.of.values[codes[0]]}"
        return super().steps(name, codes, f"{shown}{inside}" if inside else shown)

    def grid(self) -> Floats:
        """A number in the middle of each range."""
        if len(self.edges) == 0:
            return np.zeros(1)
        step = max(float(np.diff(self.edges).min()) if len(self.edges) > 1 else 1.0, 1e-300)
        ends = np.concatenate([[self.edges[0] - step], self.edges, [self.edges[-1] + step]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)

    def label(self, column: NDArray[Any], row: int) -> str:
        """The range of the number."""
        return str(self.of.values[int(self.codes(column[row : row + 1])[0])])

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """A lookup of the range."""
        edges = np.asarray(self.edges, dtype=np.float64)
        return [Cut(derived.columns[0], edges, self._lookup[: len(edges) + 1])]

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """A number is not linear in its range."""
        return Density.linear_terms(self, key)

    def mean_left_out(self) -> float | None:
        """From the counts of the ranges, unless imagined counts depend on the row."""
        estimate = self.smoothing.estimate
        depends = estimate is not None and isinstance(estimate.p, str) and estimate.p == "global"
        return None if depends else leave_one_out_score(self.counts.T, self.pseudo)

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """As for nominal values, if the edges are to stay; without the row they may lie elsewhere."""
        return super().log_prob_left_out(rule, tally, self.codes(column), rows) if keep else None

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """The middle of a range, in the proportions of class c."""
        codes = self._drawn_codes(c, size, rng)
        return np.full(size, np.nan) if codes is None else self.grid()[codes]

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """As for nominal values."""
        return super().draw_log_prob(self.codes(column), size, rng)
