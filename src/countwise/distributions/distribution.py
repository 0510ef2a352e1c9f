"""What a distribution and a density are; a new distribution is one file beside this one.

A `Distribution` is a rule with frozen settings and no state: which column it is about, which tally it asks for, and
what to make of it. A `Density` is what came of it: P(attribute | class) with its parameters. What one of them cannot
do is refused here, in one place.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.derived import AsGiven, Derived
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError
from countwise.jsonfile import plain
from countwise.working.steps import Step

__all__ = ["Density", "Distribution", "LeftOutRows", "no_say"]


class Distribution:
    """A rule with frozen settings; a new one is a frozen dataclass with a `kind`, `blank` and `estimate`."""

    __slots__ = ()
    kind: ClassVar[str]
    how: ClassVar[Any] = None  # the rule that cuts numbers into ranges, of a distribution over ranges
    shows_infinity: ClassVar[bool] = False  # whether an infinite number shows in the tally and in the answer

    def as_setting(self) -> dict[str, Any]:
        """The kind and the settings as plain data, for the model file."""
        own = {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"@": "distribution", "kind": self.kind, **own}

    # -- which columns it is for ----------------------------------------------------------

    def suits(self, attribute: Attribute) -> bool:
        """Whether it can be the distribution of an attribute."""
        return isinstance(attribute, Numeric)

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """What the column is if the user gives it this distribution; `named` if the user named the column."""
        return attribute

    def with_defaults(self, smoothing: Any, unseen: str) -> Self:
        """The same with the model's settings where it has none of its own."""
        return replace(self, smoothing=smoothing) if getattr(self, "smoothing", 0) is None else self  # type: ignore[type-var]

    def block_of(self, attribute: Attribute) -> str | None:
        """The block that an attribute shares with others; None if it has a term of its own."""
        return None

    def derived(self, attribute: Attribute, taken: Container[str]) -> tuple[Derived, Any]:
        """The column that the term of an attribute is about, and its distribution."""
        return AsGiven(attribute), self

    # -- what it counts, and what it makes of it --------------------------------------------

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """The request: a blank tally."""
        raise NotImplementedError

    def estimate(self, tally: Any) -> Any:
        """The density that a filled tally gives."""
        raise NotImplementedError

    def estimate_from_values(self, values: Any) -> tuple[Any, Any]:
        """The density from a tally of values, whichever tally it would ask for; and that tally."""
        return self.estimate(values), values

    # -- how it is judged by leave-one-out -------------------------------------------------

    @property
    def title(self) -> str:
        """Itself in a few words, with the settings that are not the default."""
        own = fields(self)  # type: ignore[arg-type]
        odd = [f"{f.name}={getattr(self, f.name)}" for f in own if getattr(self, f.name) != f.default]
        return f"{self.kind} ({', '.join(odd)})" if odd else self.kind

    def price(self, density: Any, n: float) -> float:
        """What it costs in mean log-loss that some of its parameters do not change when a row is left out."""
        return 0.0

    # -- nodes of networks ------------------------------------------------------------------

    binned: ClassVar[bool] = False  # whether numbers are cut into ranges, which make a nominal node
    linear: ClassVar[bool] = False  # whether a node may be a line on its numeric parents
    scored: ClassVar[bool] = False  # whether a family has a score; others keep the parents that they are given

    def family_likelihood(self, given: Nominal, of: Any, rows: Table) -> tuple[float, int, float]:
        """The log-likelihood of a node in each combination of its nominal parents, its parameters, and its rows."""
        raise NotImplementedError

    def may_depend_on(self, parent: Distribution) -> bool:
        """Whether a numeric node of this distribution may have a numeric parent of that one."""
        return False


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Rows to be left out one by one: the class and the weight of each, and how many classes there are."""

    codes: Indices
    weights: Floats
    k: int
    only: int | None = None  # the class of all rows, if their values are those of the class, distinct and ascending

    def own(self, values: Floats) -> Floats:
        """Of each row, what its class has."""
        return np.asarray(values[self.codes])

    def picked(self, values: Floats) -> Floats:
        """Of each row, the entry of its class."""
        return np.asarray(values[np.arange(len(self.codes)), self.codes])

    def with_own(self, every: Floats, own: Floats) -> Floats:
        """A row of all classes for each row, with another entry for its own class."""
        out = np.tile(every, (len(self.codes), 1)) if every.ndim == 1 else every.copy()
        out[np.arange(len(self.codes)), self.codes] = own
        return out


class Density:
    """P(attribute | class) with its parameters.

    A new one writes `add_log_prob` or, where one pass over many attributes is faster, `add_many`; `steps`; and what
    it can do more.
    """

    n_classes: int
    rule: str
    choice: Any = None  # of "auto": which distribution was chosen, and what each scored
    linear = False  # whether it is a Gaussian, so that a node may be a line on it

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Add log P(value | class) to out (rows, classes) in place; a missing value adds 0."""
        self.add_many([self], [column], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """The same for many attributes; in one pass over the rows where that is faster."""
        if cls.add_log_prob is Density.add_log_prob:
            raise NotImplementedError
        for density, column in zip(densities, columns, strict=True):
            density.add_log_prob(column, out)

    def log_prob_of_row(self, column: Any) -> Floats:
        """Log P(value | class) of a one-row column, for each class."""
        out = np.zeros((1, self.n_classes))
        self.add_log_prob(column, out)
        return np.asarray(out[0])

    def steps(self, name: str, column: Any, shown: str) -> list[Step]:
        """The factors behind a one-row column, as a person would write them."""
        raise NotImplementedError

    # -- what explanations and portraits ask ------------------------------------------------

    def grid(self) -> Any:
        """A column of values worth trying, for what would change the answer; None if there is none."""
        return None

    def label(self, column: Any, row: int) -> str:
        """A value of a column as a person would write it."""
        raise NotImplementedError

    def typical(self, c: int) -> tuple[Any, str]:
        """The typical value in class c, and how sure it is, in words."""
        raise NotImplementedError

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Any:
        """Values drawn from P(attribute | class c)."""
        raise NotImplementedError

    def draw_log_prob(self, column: Any, size: int, rng: np.random.Generator) -> Floats:
        """Log factors of a one-row column under parameters drawn from what the counts leave open.

        By default the parameters are taken as certain.
        """
        return np.tile(self.log_prob_of_row(column), (size, 1))

    def mean_and_variance(self) -> tuple[Floats, Floats]:
        """Of the numbers in each class."""
        raise OptionError("Of texts and of blocks of counts no mean is asked.")

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """The parameters as columns of a table; numbers are not rounded."""
        raise NotImplementedError

    # -- what engines, formulas and leave-one-out ask ------------------------------------------

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """The density as terms that an engine can add up."""
        what = repr(derived.columns[0]) if len(derived.columns) == 1 else "The row"
        raise OptionError(
            f"{what} has a distribution that no engine can compute: {self.rule}.",
            hint="cut it into ranges: distributions={...: 'binned'}."
            if len(derived.columns) == 1
            else "an engine can compute naive Bayes with binned columns, and discriminants; predict takes rows.",
        )

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Names, the weight of each in every class, and what is added to the biases, of a logistic form."""
        raise OptionError(
            f"The distribution of {key!r} ({self.rule}) is not linear in its value: there is no sigmoid of w·x + b.",
            hint="'poisson' and 'categorical' are; for Gaussians see DiscriminantClassifier(covariance='shared').",
        )

    def mean_left_out(self) -> float | None:
        """The mean of log P(class | value), each row left out, where the counts say it at once; else None."""
        return None

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Log P(value | class) of each row by the density of all other rows, in closed form.

        Parameters
        ----------
        rule, tally : Distribution and tally
            What this density was estimated by, and from.
        column, rows : column and LeftOutRows
            The values of the rows, and their classes and weights.
        keep : bool, default=False
            Whether what was found by a search over all rows (edges of ranges, bandwidths) stays as it is.

        Returns
        -------
        tuple or None
            The logarithms, shape (rows, classes), up to what is the same for all classes of a row; the rows for which
            they are not exact; and whether these must be estimated again from scratch, because subtracting the row
            from the tally would lose the same digits. None if there is no closed form.
        """
        return None


def no_say(name: str, shown: str, state: str, rule: str) -> list[Step]:
    """The step of an attribute that says nothing of the class."""
    return [Step(name, shown, (), state, rule)]
