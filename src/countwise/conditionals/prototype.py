"""Prototypes: the middle of each class, column by column, and how far a value is from it (001, 003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.conditionals._base import add_each
from countwise.conditionals._base import left_out as left_out_step
from countwise.cuts import quantiles
from countwise.measures import mvdm
from countwise.tallies import Counts, Moments, Values
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["Middle", "MiddleDensity"]


@dataclass(frozen=True, slots=True)
class Middle:
    """The middle of each class: mean or median of numbers, middle value of an order, commonest name.

    Parameters
    ----------
    center : {"mean", "median"}
        Of numbers.
    metric : {"euclidean", "manhattan"}
        Whether distances add up as squares or as they are.
    scaled : bool
        Whether numbers are measured in deviations of their column, and orders in steps from 0 to 1.
    unit : {"sd", "range"}, default="sd"
        What scaled numbers are divided by.
    divisor : {"n", "n-1"}, default="n"
        Of the variance.
    names : {"overlap", "mvdm"}, default="overlap"
        Whether names are equal or not, or how differently they tell of the class.
    weight : float, default=1
        By what the (squared) distance is multiplied.
    """

    center: str = "mean"
    metric: str = "euclidean"
    scaled: bool = False
    unit: str = "sd"
    divisor: str = "n"
    names: str = "overlap"
    weight: float = 1.0

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Moments, values or counts, as the middle asks for."""
        if isinstance(of, Nominal):
            return Counts((given, of))
        if not isinstance(of, Numeric):
            raise TypeError(of.kind)
        plain = self.center == "mean" and self.metric == "euclidean" and not (self.scaled and self.unit == "range")
        return Moments(given, of) if plain else Values(given, of)

    def settle(self, tally: Any) -> MiddleDensity:
        """The middles, and how far the rows of a class lie from theirs on average."""
        if isinstance(tally, Counts):
            return self._of_names(tally)
        return self._of_moments(tally) if isinstance(tally, Moments) else self._of_values(tally)

    def _of_moments(self, tally: Moments) -> MiddleDensity:
        n, mean, m2 = tally.triple
        total, middle, overall = tally.overall
        scale = self._scale(self._deviation(float(overall), float(total)))
        means = np.where(n > 0, mean, middle)
        return MiddleDensity(tally.of, means, n, float(m2.sum()) / scale**2, scale, self)

    def _of_values(self, tally: Values) -> MiddleDensity:
        pooled, pooled_weights = tally.pooled
        n = np.array([float(weights.sum()) for _, weights in tally.filled])
        away, middles = 0.0, []
        for values, weights in tally.filled:
            own = self._middle(*(pooled, pooled_weights) if len(values) == 0 else (values, weights))
            middles.append(own)
            gaps = np.abs(values - own)
            away += float((weights * (gaps**2 if self.metric == "euclidean" else gaps)).sum())
        spread = 0.0
        if len(pooled) and self.unit == "range":
            spread = float(pooled[-1] - pooled[0])
        elif len(pooled):
            center = float(np.average(pooled, weights=pooled_weights))
            squares = float((pooled_weights * (pooled - center) ** 2).sum())
            spread = self._deviation(squares, float(pooled_weights.sum()))
        scale = self._scale(spread)
        power = 2 if self.metric == "euclidean" else 1
        return MiddleDensity(tally.of, np.array(middles), n, away / scale**power, scale, self)

    def _middle(self, values: Floats, weights: NDArray[Any]) -> float:
        if len(values) == 0:
            return 0.0
        if self.center == "mean":
            return float(np.average(values, weights=weights))
        return float(quantiles(values, weights, np.array([0.5]))[0])

    def _of_names(self, tally: Counts) -> MiddleDensity:
        of: Any = tally.axes[1]
        table = np.asarray(tally.table, dtype=np.float64)
        n, k = table.sum(axis=1), len(of.values)
        apart = None
        if self.names == "mvdm" and not (isinstance(of, Ordinal) and self.scaled):
            apart = np.nan_to_num(mvdm(table.T), nan=2.0)
        table = np.where(n[:, None] > 0, table, table.sum(axis=0))
        codes = np.arange(k, dtype=np.float64)
        if apart is not None:
            middles, scale = np.argmax(table, axis=1).astype(np.float64), 1.0
            gaps = apart[:, middles.astype(np.intp)].T
        elif isinstance(of, Ordinal):
            middles = np.array([_middle_code(row) for row in table])
            scale = float(max(k - 1, 1)) if self.scaled else 1.0
            gaps = np.abs(codes - middles[:, None]) / scale
        else:
            middles, scale = np.argmax(table, axis=1).astype(np.float64), 1.0
            gaps = (codes != middles[:, None]).astype(np.float64)
        gaps = gaps**2 if self.metric == "euclidean" else gaps
        return MiddleDensity(of, middles, n, float((table * gaps)[n > 0].sum()), scale, self, apart)

    def _deviation(self, squares: float, n: float) -> float:
        below = n - (self.divisor == "n-1")
        return float(np.sqrt(squares / below)) if below > 0 else 0.0

    def _scale(self, deviation: float) -> float:
        return float(deviation) if self.scaled and deviation > 0 else 1.0


def _middle_code(counts: Floats) -> float:
    """The code at which half of the rows are reached."""
    if not counts.sum() > 0:
        return 0.0
    return float(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


class MiddleDensity:
    """Distances of one column from the middle of each class, as terms of a posterior.

    Parameters
    ----------
    of : Attribute
        The column.
    middles : ndarray, shape (classes,)
        Numbers, or codes.
    n : ndarray, shape (classes,)
        How many values are behind them.
    away : float
        The sum of all rows' (squared) distances from the middle of their own class.
    scale : float
        What distances are divided by.
    settings : Middle
        The metric.
    apart : ndarray, shape (values, values), optional
        How far names are from each other.
    """

    add_many = classmethod(add_each)

    def __init__(
        self,
        of: Attribute,
        middles: Floats,
        n: Floats,
        away: float,
        scale: float,
        settings: Middle,
        apart: Floats | None = None,
    ) -> None:
        self.of, self.name, self.middles, self.n, self.scale = of, of.name, middles, n, scale
        self.away, self.weight, self.apart = away * settings.weight, settings.weight, apart
        self.squared = settings.metric == "euclidean"
        self.n_classes = len(middles)
        self.temperature = self.unit = 1.0  # set by the model: one for all columns
        middle = (
            "commonest value"
            if type(of) is Nominal or apart is not None
            else "middle value"
            if isinstance(of, Ordinal)
            else settings.center
        )
        self.rule = f"distance from the {middle} of the class"
        self.scaled = settings.scaled
        # a column that is the same everywhere has no say, and must not thin out the distances of the others
        self.silent = "never seen" if not (n > 0).any() else "constant" if not away and not np.ptp(middles) else ""
        self.silent = self.silent or ("" if settings.weight > 0 else "of no weight")

    def distances(self, column: NDArray[Any]) -> Floats:
        """The (squared) distance from each class's middle, (rows, classes); NaN where the cell is missing."""
        cells = np.asarray(column, dtype=np.float64)
        if isinstance(self.of, Nominal):
            cells = np.where(column >= self.of.missing, np.nan, cells)
        gaps = self.gaps(cells) / self.unit
        with np.errstate(over="ignore"):
            return self.weight * (gaps**2 if self.squared else gaps)

    def gaps(self, cells: Floats) -> Floats:
        """How far numbers, or codes, are from each class's middle; NaN stays NaN."""
        if type(self.of) is not Nominal and self.apart is None:
            return np.abs(cells[:, None] - self.middles) / self.scale
        lost = np.isnan(cells)
        if self.apart is not None:
            found = self.apart[np.where(lost, 0, cells).astype(np.intp)][:, self.middles.astype(np.intp)]
        else:
            found = (cells[:, None] != self.middles).astype(np.float64)
        return np.where(lost[:, None], np.nan, found)

    def add_log_prob(self, column: NDArray[Any], out: Floats) -> None:
        """Add - d² / 2s², or - d / s."""
        if self.silent:
            return
        gaps = self.distances(column)
        gaps[np.isnan(gaps)] = 0.0
        out -= gaps / (2 * self.temperature if self.squared else self.temperature)

    def shown(self, code: float) -> str:
        """A middle, or a value, as a person writes it."""
        return str(self.of.values[int(code)]) if isinstance(self.of, Nominal) else number(float(code))

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The factor of each class at the value."""
        gaps = self.distances(column)[0]
        if np.isnan(gaps).any():
            seen = isinstance(self.of, Nominal) and int(column[0]) == self.of.unseen
            return left_out_step(name, shown or "?", "never seen" if seen else "missing", self.rule)
        if self.silent:
            return left_out_step(name, shown, self.silent, self.rule)
        below = number(2 * self.temperature if self.squared else self.temperature)
        factors = tuple(
            Factor(
                -float(d) / (2 * self.temperature if self.squared else self.temperature),
                f"exp(-{number(float(d))} / {below})",
                rf"e^{{-{number(float(d))} / {below}}}",
                total=float(n),
            )
            for d, n in zip(gaps, self.n, strict=True)
        )
        return [Step(name, shown, factors, "known", self.rule)]

    def rows(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """A row a class: its middle."""
        return {
            self.name: [str(c) for c in classes],
            "prototype": [self.shown(m) for m in self.middles],
            "n": [number(float(n)) for n in self.n],
        }
