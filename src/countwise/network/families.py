"""Families: a node with its parents, their counts, and the distribution estimated from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add, sub
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.distributions import MEstimate, smoothing_of
from countwise.distributions.categorical import CategoricalDensity
from countwise.errors import OptionError, TableError
from countwise.network.linear_gaussian import linear_from, regularized_from
from countwise.tallies import Counts, Progress, Scatter, tally_from
from countwise.tallies._base import joined

__all__ = [
    "MOST_COMBINATIONS",
    "Dirichlet",
    "FamilyRule",
    "FamilyTally",
    "codes_of_parents",
    "joined_parents",
    "table_smoothing",
]

MOST_COMBINATIONS = 1 << 22  # the largest number of combinations of the nominal parents' values


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Dirichlet prior with a fixed total weight, spread evenly over all cells of a CPT.

    This is the prior of the BDeu score (Heckerman, Geiger and Chickering, 1995). A CPT with q combinations of its
    parents' values and r values gets the pseudocount equivalent_sample_size / (q r) in each cell.

    Parameters
    ----------
    equivalent_sample_size : float, default=1
        The total of all pseudocounts of a CPT. Larger values pull the probabilities more strongly toward uniform.

    Examples
    --------
    >>> from countwise.network import Dirichlet
    >>> Dirichlet(10)
    Dirichlet(equivalent_sample_size=10)
    """

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        size = self.equivalent_sample_size
        number = isinstance(size, int | float | np.number) and not isinstance(size, bool)
        if not (number and size >= 0 and np.isfinite(size)):
            raise OptionError(f"equivalent_sample_size must be a number >= 0, not {size!r}.")

    def as_setting(self) -> dict[str, Any]:
        """Return the prior as plain data, for a model file.

        Returns
        -------
        dict of str to object
            A JSON-serializable mapping.

        Examples
        --------
        >>> from countwise.network import Dirichlet
        >>> Dirichlet(10).as_setting()
        {'@': 'dirichlet', 'equivalent_sample_size': 10}
        """
        return {"@": "dirichlet", "equivalent_sample_size": self.equivalent_sample_size}


def table_smoothing(option: Any, combinations: int) -> Any:
    """Return the smoothing of a CPT with the given number of combinations of the parents' values."""
    if isinstance(option, str) and option == "bdeu":
        option = Dirichlet()
    if isinstance(option, Dirichlet):
        return smoothing_of(MEstimate(option.equivalent_sample_size / max(combinations, 1)))
    smoothing = smoothing_of(option)
    if not smoothing.proper:
        raise OptionError(
            f"smoothing {smoothing} does not give probabilities that sum to 1, which a network needs.",
            hint="use Laplace smoothing (a number) or MEstimate(m).",
        )
    return smoothing


def joined_parents(parents: Sequence[Nominal]) -> Nominal:
    """Return one attribute whose values are the combinations of the parents' values; the last parent varies fastest.

    The densities of an attribute given a class can then be used for a node with any nominal parents. Without parents
    there is one combination.
    """
    size = int(np.prod([len(a.values) for a in parents], dtype=np.float64))
    if size > MOST_COMBINATIONS:
        raise TableError(
            f"The parents {', '.join(repr(a.name) for a in parents)} have {size:,} combinations of values; "
            f"at most {MOST_COMBINATIONS:,} are supported.",
            hint="use fewer parents, or parents with fewer values.",
        )
    name = ", ".join(a.name for a in parents)
    return Nominal(f"({name})", tuple(itertools.product(*(a.values for a in parents))), grows=False)


def codes_of_parents(parents: Sequence[Nominal], table: Table) -> NDArray[Any]:
    """Return the combination of each row; one past the last if a parent is missing or has an unseen value."""
    sizes = [len(a.values) for a in parents]
    size = int(np.prod(sizes, dtype=np.int64))
    key = np.zeros(table.n_rows, dtype=np.int64)
    missing = np.zeros(table.n_rows, dtype=bool)
    for a, n in zip(parents, sizes, strict=True):
        codes = table[a.name]
        missing |= codes >= n
        key = key * n + np.minimum(codes, max(n - 1, 0))
    key[missing] = size
    return key.astype(narrowest(size + 2))


@dataclass(frozen=True, slots=True)
class FamilyRule:
    """The counts that a node with its parents needs, and the distribution estimated from them."""

    parents: tuple[Nominal, ...]  # the nominal parents
    numbers: tuple[Numeric, ...]  # the numeric parents; only a Gaussian node has them
    distribution: Any  # of a numeric node given its nominal parents; None for a CPT
    smoothing: Any = 0.0  # of a CPT

    @property
    def _smooths_variance(self) -> bool:
        """Whether each combination gets a prior row from all others: with several parents, many have few rows."""
        smoothed = self.smoothing is not None and self.smoothing not in ("none", 0)
        return smoothed and len(self.parents) > 0 and len(self.parents) + len(self.numbers) > 1

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Return an empty tally: counts over parents and node, or the tally of the density for each combination."""
        if self.distribution is None:
            assert isinstance(of, Nominal)  # noqa: S101 - only nominal nodes have no distribution
            return Counts((*self.parents, of))
        return FamilyTally(self.parents, self.numbers, self.distribution, of)

    def estimate(self, tally: Any, *, regularized: bool = False) -> Any:
        """Estimate the density for each combination of the nominal parents' values; EM uses `regularized`."""
        rule = self.distribution
        if rule is None:
            cells = tally.table
            counts = cells.reshape(int(np.prod(cells.shape[:-1], dtype=np.int64)), cells.shape[-1])
            return CategoricalDensity(tally.axes[-1], counts, table_smoothing(self.smoothing, len(counts)))
        if (regularized or self._smooths_variance) and rule.linear:
            return regularized_from(tally.filled, rule.floor)
        return linear_from(tally.filled, rule.divisor, rule.floor) if self.numbers else rule.estimate(tally.filled)


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTally:
    """The tally of a numeric node for each combination of its nominal parents' values."""

    parents: tuple[Nominal, ...]
    numbers: tuple[Numeric, ...]  # the numeric parents; with any, the tally holds joint moments
    distribution: Any  # determines the type of the tally
    of: Attribute  # the node
    inner: Any = None  # the tally by combination; None if nothing has been counted

    @property
    def filled(self) -> Any:
        """The tally by combination; an empty one if nothing has been counted."""
        return self.blank(self.parents) if self.inner is None else self.inner

    def blank(self, parents: Sequence[Nominal]) -> Any:
        """Return an empty tally by combination, over the given domains of the parents."""
        given = joined_parents(parents)
        if self.numbers:
            return Scatter(given, Vector(f"({self.of.name})", (*self.numbers, self.of)))
        return self.distribution.blank(given, self.of)

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """Fill several tallies one by one, because each has different combinations."""
        return [blank.fill(table) for blank in blanks]

    def fill(self, table: Table) -> Self:
        """Count the rows of a table in which all parents are observed."""
        blank = self.blank(self.parents)
        codes = codes_of_parents(self.parents, table)
        complete: Flags = codes < len(blank.given.values)
        names = [a.name for a in (*self.numbers, self.of)]
        for name in names if self.numbers else ():
            complete &= ~np.isnan(np.asarray(table[name], dtype=np.float64))
        rows = Table({name: table[name] for name in names}, table.n_rows, table.weights)
        rows = rows.with_column(blank.given.name, codes)
        if not complete.all():
            rows = rows.take(complete)
        if self.numbers:
            columns = [np.asarray(rows[name], dtype=np.float64) for name in names]
            rows = rows.with_column(blank.of.name, columns)  # type: ignore[arg-type]
        return replace(self, inner=blank.fill(rows))

    def __add__(self, other: Self) -> Self:
        return self._with(other, add)

    def __sub__(self, other: Self) -> Self:
        return self._with(other, sub)

    def _with(self, other: Self, combine: Callable[[Any, Any], Any]) -> Self:
        parents = tuple(joined(a, b) for a, b in zip(self.parents, other.parents, strict=True))
        blank = self.blank(parents)  # over the union of both domains
        one, two = (blank if tally.inner is None else blank + tally.inner for tally in (self, other))
        of = self.of if self.of == other.of else self.of.join(other.of)
        return replace(self, parents=parents, of=of, inner=combine(one, two))

    def _has_values(self, name: str) -> bool:
        """Return whether a value of the node has been counted."""
        return self.inner is not None and bool(self.inner._has_values(name))

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """Restrict the tally to fewer values of the parents."""
        parents = tuple(attributes.get(a.name, a) for a in self.parents)
        given = joined_parents(parents)
        return replace(self, parents=parents, inner=self.filled.within({given.name: given}))

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data, for a model file."""
        return {"tally": "family", "inner": self.filled.to_dict()}

    def read(self, data: Mapping[str, Any]) -> Self:
        """Return this tally with the data that `to_dict` wrote."""
        blank = self.blank(self.parents)
        inner = tally_from(data["inner"], {a.name: a for a in (blank.given, blank.of)})
        if type(inner) is not type(blank) or inner.request != blank.request:
            raise ValueError(f"the tally of {self.of.name!r} is not the one that its distribution needs")
        return replace(self, inner=inner)

    @property
    def request(self) -> tuple[Any, ...]:
        """What is counted; equal for all tallies of the same request."""
        return (self.parents, self.numbers, self.of)
