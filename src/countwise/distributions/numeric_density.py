"""Base classes of distributions and densities of numeric attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.distributions.distribution import Density, Distribution, no_say
from countwise.errors import OptionError
from countwise.tallies import Moments, Values
from countwise.working.numbers import cell
from countwise.working.steps import Factor, Step

__all__ = ["NumericDensity", "NumericDistribution"]


class NumericDistribution(Distribution):
    """Distribution of a numeric attribute, estimated from its values or its moments."""

    __slots__ = ()
    tally: ClassVar[type[Moments | Values]] = Values
    purpose: ClassVar[str]  # the columns that it needs, for the error message

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Return an empty tally of the values or moments in each class."""
        if not isinstance(of, Numeric):
            raise OptionError(f"{of.name!r} has type {of.kind}; {self.purpose}.")
        return self.tally(given, of)

    def estimate_from_values(self, values: Values) -> tuple[Any, Any]:
        """Estimate the density from the values, or from their moments."""
        tally = values.moments if self.tally is Moments else values
        return self.estimate(tally), tally


class NumericDensity(Density):
    """Density of a numeric attribute in each class; if it is `constant`, the attribute has no effect."""

    name: str
    n: NDArray[Any]  # the number of values of each class
    constant: bool
    varies: bool = False

    def written(self, x: float, c: int) -> tuple[str, str]:
        """Return the factor of class c at x, as text and as LaTeX."""
        raise NotImplementedError

    def behind(self, c: int) -> float:
        """Return the number of values of class c."""
        return float(self.n[c])

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """Return the factor of the value in each class."""
        x = float(column[0])
        if np.isnan(x):
            new = shown not in ("", "?")  # a value of an ordinal column that has no code
            return no_say(name, shown or "?", "never seen" if new else "missing", self.rule)
        if self.constant:
            seen = any(self.behind(c) > 0 for c in range(self.n_classes))
            state = "too close" if self.varies else "constant"
            return no_say(name, shown, state if seen else "never seen", self.rule)
        logs = self.log_prob_of_row(column).tolist()
        factors = [Factor(log, *self.written(x, c), total=self.behind(c)) for c, log in enumerate(logs)]
        return [Step(name, shown, tuple(factors), "known", self.rule)]

    def counted_in(self, column: Any, one: Any, word: str = "") -> Flags | None:
        """Return the rows with a value."""
        return np.asarray(~np.isnan(column), dtype=bool)

    def label(self, column: NDArray[Any], row: int) -> str:
        """Return the number as text."""
        return cell(float(column[row]))

    def draw_log_prob(self, column: NDArray[Any], size: int, rng: np.random.Generator) -> Floats:
        """Return the log-density at the value with parameters drawn from their posterior."""
        out, x = np.zeros((size, self.n_classes)), float(column[0])
        if not (np.isnan(x) or self.constant):
            for c in range(self.n_classes):
                out[:, c] = self._drawn(x, c, size, rng)
        return out

    def _drawn(self, x: float, c: int, size: int, rng: np.random.Generator) -> Any:
        """Draw log f(x | c) from its posterior; by default the parameters are treated as known."""
        return self.log_prob_of_row(np.array([x]))[c]

    def _class_rows(self, classes: Sequence[Any], parameters: dict[str, NDArray[Any]]) -> dict[str, list[Any]]:
        """Return a row for each class: the parameters and the number of values."""
        columns = {key: column.astype(np.float64).tolist() for key, column in {**parameters, "n": self.n}.items()}
        return {self.name: [str(c) for c in classes], **columns}
