"""What distributions of numbers share: the tally they ask for, the step of one value, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.distributions.distribution import Density, Distribution, no_say
from countwise.errors import OptionError
from countwise.tallies import Moments, Values
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["NumericDensity", "NumericDistribution"]


class NumericDistribution(Distribution):
    """A distribution of numbers, estimated from their values or from their moments."""

    __slots__ = ()
    tally: ClassVar[type[Moments | Values]] = Values
    purpose: ClassVar[str]  # what it is for, for the error message

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Values or moments of the attribute in each class."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} is {of.kind}; {self.purpose}.")
        return self.tally(given, of)

    def estimate_from_values(self, values: Values) -> tuple[Any, Any]:
        """From the values, or from their moments."""
        tally = values.moments if self.tally is Moments else values
        return self.estimate(tally), tally


class NumericDensity(Density):
    """A density of numbers in each class; `constant` says that it says nothing of the class."""

    name: str
    n: NDArray[Any]  # how many values are behind the density of each class
    constant: bool

    def written(self, x: float, c: int) -> tuple[str, str]:
        """The factor of class c at x, as text and as LaTeX."""
        raise NotImplementedError

    def behind(self, c: int) -> float:
        """How many values are behind the density of class c."""
        return float(self.n[c])

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The factor of each class at the value."""
        x = float(column[0])
        if np.isnan(x):
            return no_say(name, shown or "?", "missing", self.rule)
        if self.constant:
            met = any(self.behind(c) > 0 for c in range(self.n_classes))
            return no_say(name, shown, "constant" if met else "never seen", self.rule)
        logs = self.log_prob_of_row(column).tolist()
        factors = [Factor(log, *self.written(x, c), total=self.behind(c)) for c, log in enumerate(logs)]
        return [Step(name, shown, tuple(factors), "known", self.rule)]

    def label(self, column: NDArray[Any], row: int) -> str:
        """The number."""
        return number(float(column[row]))

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """The factor of each class at the value, under drawn parameters."""
        out, x = np.zeros((size, self.n_classes)), float(column[0])
        if not (np.isnan(x) or self.constant):
            for c in range(self.n_classes):
                out[:, c] = self._drawn(x, c, size, rng)
        return out

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Any:
        """Log f(x | c) under parameters drawn from their posterior; by default they are taken as certain."""
        return self.log_prob_of_row(np.array([x]))[c]

    def _class_rows(self, classes: Sequence[Any], **parameters: NDArray[Any]) -> dict[str, list[Any]]:
        """A row for each class: the parameters, and how many values are behind them."""
        columns = {key: column.astype(np.float64).tolist() for key, column in {**parameters, "n": self.n}.items()}
        return {self.name: [str(c) for c in classes], **columns}
