"""What distributions of numbers share: the step of one value, and how it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.distributions.distribution import Density, no_say
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["NumericDensity"]


class NumericDensity(Density):
    """A density of numbers in each class; `constant` says that it says nothing of the class."""

    constant: bool

    def written(self, x: float, c: int) -> tuple[str, str]:
        """The factor of class c at x, as text and as LaTeX."""
        raise NotImplementedError

    def behind(self, c: int) -> float:
        """How many values are behind the density of class c."""
        raise NotImplementedError

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The factor of each class at the value."""
        x = float(column[0])
        if np.isnan(x):
            return no_say(name, shown or "?", "missing", self.rule)
        if self.constant:
            met = any(self.behind(c) > 0 for c in range(self.n_classes))
            return no_say(name, shown, "constant" if met else "never seen", self.rule)
        out = np.zeros((1, self.n_classes))
        self.add_log_prob(column, out)
        logs = out[0].tolist()
        factors = [Factor(log, *self.written(x, c), total=self.behind(c)) for c, log in enumerate(logs)]
        return [Step(name, shown, tuple(factors), "known", self.rule)]

    def label(self, column: NDArray[Any], row: int) -> str:
        """The number."""
        return number(float(column[row]))
