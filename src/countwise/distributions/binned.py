"""Binned distribution: a discretized numeric attribute, with the probability of each bin."""

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
from countwise.distributions.smoothing import check_smoothing, smoothing_of
from countwise.scoring.plan import Cut
from countwise.tallies import Values
from countwise.working.steps import Step

__all__ = ["Binned", "BinnedDensity"]


@dataclass(frozen=True, slots=True)
class Binned(NumericDistribution):
    """Distribution of a discretized numeric attribute: each bin has a probability in each class.

    Parameters
    ----------
    method : str or sequence of float, default='equal_frequency'
        The discretization method: 'equal_frequency', 'equal_width', 'kmeans', 'naive' (a bin for each value),
        'class_contiguous' (a cut point wherever the class changes), 'min_n', 'mdl' (Fayyad & Irani 1993), or the cut
        points themselves. The supervised methods use the classes of the training rows.
    n_bins : int or 'leave_one_out', default=10
        The number of bins for 'equal_frequency', 'equal_width' and 'kmeans'. 'leave_one_out' chooses the number with
        the best leave-one-out likelihood.
    n : float, default=6
        The number of rows of one class that a bin must hold, for 'min_n'.
    merge : {None, 'majority', 'last'}, default=None
        The bins to merge afterwards, for 'min_n'; see `Discretizer`.
    smoothing : float, str, MEstimate or None, default=None
        The smoothing against zero frequencies. None uses the smoothing of the model.

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
    purpose: ClassVar[str] = "a binned distribution needs a numeric column"

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", self.how.method)
        check_smoothing(self.smoothing)

    @property
    def how(self) -> CutRule:
        """The discretization rule with its settings."""
        return CutRule(self.method, self.n_bins, self.n, self.merge)

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
        super().__init__(Ordinal(name, labels(cuts.edges)), counts, smoothing_of(settings.smoothing))
        self.rule = f"{len(cuts.edges) + 1} bins, {str(settings.how).replace('_', ' ')}, {self.smoothing}"

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the bin of each number; a missing value has its own code."""
        codes = np.empty(len(column), dtype=narrowest(len(self.edges) + 3))
        _kernels.cut_codes(column, self.edges, codes)
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
        inside = "" if codes[0] > len(self.edges) else f" in {self.of.values[codes[0]]}"
        return super().steps(name, codes, f"{shown}{inside}" if inside else shown)

    def grid(self) -> Floats:
        """Return a number in the middle of each bin."""
        if len(self.edges) == 0:
            return np.zeros(1)
        step = max(float(np.diff(self.edges).min()) if len(self.edges) > 1 else 1.0, 1e-300)
        ends = np.concatenate([[self.edges[0] - step], self.edges, [self.edges[-1] + step]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)

    def label(self, column: NDArray[Any], row: int) -> str:
        """Return the label of the bin of a number."""
        return str(self.of.values[int(self.codes(column[row : row + 1])[0])])

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a lookup of the bin."""
        edges = np.asarray(self.edges, dtype=np.float64)
        return [Cut(derived.columns[0], edges, self._lookup[: len(edges) + 1])]

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Raise an error: the log-probability of a bin is not linear in the number."""
        return Density.linear_terms(self, key)

    def mean_left_out(self) -> float | None:
        """Return the score from the bin counts, unless the pseudocounts depend on the row."""
        added = self._added
        if self.smoothing.follows_rows or (added != added[0]).any():
            return None
        return leave_one_out_score(self.counts.T, self.pseudo, added=float(added[0]))

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Treat bins like nominal values if `keep` is true; otherwise the bin edges might move."""
        return super().log_prob_left_out(rule, tally, self.codes(column), rows) if keep else None

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw bins from class c and return the middle of each."""
        codes = self._drawn_codes(c, size, rng)
        return np.full(size, np.nan) if codes is None else self.grid()[codes]

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """Treat bins like nominal values."""
        return super().draw_log_prob(self.codes(column), size, rng)
