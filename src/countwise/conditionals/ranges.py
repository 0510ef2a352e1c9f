"""Ranges: a numeric attribute cut into ranges, each counted as a value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.columns import narrowest
from countwise.conditionals._base import smoothing_of
from countwise.conditionals.categorical import CategoricalDensity
from countwise.cuts import RULES, cut
from countwise.errors import OptionError, did_you_mean, listed
from countwise.tallies import Values, all_ones
from countwise.working.numbers import number
from countwise.working.steps import Step

__all__ = ["Ranges", "RangesDensity"]


@dataclass(frozen=True, slots=True)
class Ranges:
    """Cut the numbers into ranges, then count.

    Parameters
    ----------
    rule : {"equal_frequency", "equal_width", "naive"}, default="equal_frequency"
        Where to cut; see `countwise.cuts`.
    bins : int, default=10
        How many ranges.
    smoothing : optional
        Against zero counts; None takes the model's.

    Examples
    --------
    >>> from countwise import Ranges, samples, NaiveBayesClassifier
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier({"temp": Ranges("equal_width", bins=3)}).fit(rain.X, rain.y)
    >>> print(model.table("temp"))
    temp                no                        yes
    <= 22.9667          (1 + 1)/(3 + 3) = 0.333333  (3 + 1)/(3 + 3) = 0.666667
    (22.9667, 27.5333]  (1 + 1)/(3 + 3) = 0.333333  (0 + 1)/(3 + 3) = 0.166667
    > 27.5333           (1 + 1)/(3 + 3) = 0.333333  (0 + 1)/(3 + 3) = 0.166667
    """

    rule: str = "equal_frequency"
    bins: int = 10
    smoothing: Any = None
    law: ClassVar[str] = "ranges"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise OptionError(
                f"{self.rule!r} is not a rule for ranges.",
                hint=did_you_mean(self.rule, RULES) or f"rules are {listed(RULES)}.",
            )
        if not isinstance(self.bins, int | np.integer) or self.bins < 1:
            raise OptionError(f"bins must be a whole number, 1 or more, not {self.bins!r}.")

    def blank(self, given: Nominal, of: Attribute) -> Values:
        """The values themselves: the cuts depend on them."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} is {of.kind}; ranges are for numeric attributes.")
        return Values(given, of)

    def settle(self, tally: Values) -> RangesDensity:
        """Cut and count."""
        edges = cut(self.rule, *tally.pooled, self.bins)
        whole = all(weights.dtype.kind == "i" for _, weights in tally.filled)
        counts = np.zeros((len(tally.filled), len(edges) + 1), dtype=np.int64 if whole else np.float64)
        for c, (values, weights) in enumerate(tally.filled):
            ends = np.concatenate([[0], np.searchsorted(values, edges, side="right"), [len(values)]])
            if all_ones(weights):
                counts[c] = np.diff(ends)
            else:
                counts[c] = np.diff(np.concatenate([[0], np.cumsum(weights)])[ends])
        return RangesDensity(tally.of.name, edges, counts, self)


class RangesDensity(CategoricalDensity):
    """P(range | class).

    Parameters
    ----------
    name : str
        The attribute.
    edges : ndarray
        Inner edges in ascending order; ranges are (lo, hi].
    counts : ndarray, shape (classes, ranges)
        How often.
    settings : Ranges
        The rule.
    """

    def __init__(self, name: str, edges: NDArray[np.float64], counts: NDArray[Any], settings: Ranges) -> None:
        self.edges = edges
        super().__init__(Ordinal(name, labels(edges)), counts, smoothing_of(settings.smoothing))
        self.rule = f"{len(edges) + 1} ranges, {settings.rule.replace('_', ' ')}, {self.smoothing}"

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """The range of each number; missing has its own code."""
        k = len(self.edges) + 1
        codes = np.searchsorted(self.edges, column).astype(narrowest(k + 2))
        if column.dtype.kind == "f":
            codes[np.isnan(column)] = k
        return codes

    def add_log_prob(self, column: NDArray[Any], out: NDArray[np.float64]) -> None:
        """Find the range, then look it up."""
        _kernels.add_lookup([self.codes(column)], [self._lookup], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: NDArray[np.float64]) -> None:
        """All such attributes in one pass."""
        codes = [d.codes(column) for d, column in zip(densities, columns, strict=True)]
        _kernels.add_lookup(codes, [d._lookup for d in densities], out)

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The fraction of the range in each class."""
        codes = self.codes(column)
        inside = "" if codes[0] > len(self.edges) else f" in {self.of.values[codes[0]]}"
        return super().steps(name, codes, f"{shown}{inside}" if inside else shown)

    def grid(self) -> NDArray[np.float64]:
        """A number in the middle of each range."""
        if len(self.edges) == 0:
            return np.zeros(1)
        step = max(float(np.diff(self.edges).min()) if len(self.edges) > 1 else 1.0, 1e-300)
        ends = np.concatenate([[self.edges[0] - step], self.edges, [self.edges[-1] + step]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)

    def label(self, column: NDArray[Any], row: int) -> str:
        """The range of the number."""
        return str(self.of.values[int(self.codes(column[row : row + 1])[0])])

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The middle of a range, in the proportions of class c."""
        p = self.prob[c]
        if not p.sum() > 0:
            return np.full(size, np.nan)
        return self.grid()[rng.choice(len(p), size=size, p=p / p.sum())]

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """As for nominal values."""
        return super().draw_log_prob(self.codes(column), size, rng)


def labels(edges: NDArray[np.float64]) -> tuple[str, ...]:
    """Ranges as a person reads them: ``<= 70.5``, ``(70.5, 77.5]``, ``> 77.5``."""
    if len(edges) == 0:
        return ("any",)
    texts = [number(e) for e in edges]
    if len(set(texts)) < len(texts):  # six figures cannot tell the edges apart: write them out
        texts = [repr(float(e)) for e in edges]
    middle = [f"({a}, {b}]" for a, b in itertools.pairwise(texts)]
    return (f"<= {texts[0]}", *middle, f"> {texts[-1]}")
