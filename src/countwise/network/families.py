"""Families: a node with its parents, what is counted of them, and the law that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.distributions import Gaussian, MEstimate, smoothing_of
from countwise.distributions.categorical import CategoricalDensity
from countwise.errors import OptionError
from countwise.network.linear_gaussian import linear_from, steady_from
from countwise.network.parent_configurations import codes_of_parents, joined_parents
from countwise.tallies import Counts, Progress, Scatter, tally_from
from countwise.tallies._base import joined

__all__ = ["Dirichlet", "FamilyRule", "FamilyTally", "table_smoothing"]


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Imagined rows, spread evenly over all cells of a node's table (the prior behind the BDeu score).

    Parameters
    ----------
    ess : float, default=1
        The equivalent sample size: how many rows in all, whatever the number of cells.

    Examples
    --------
    >>> from countwise import Dirichlet
    >>> Dirichlet(10)
    Dirichlet(ess=10)
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        number = isinstance(self.ess, int | float | np.number) and not isinstance(self.ess, bool)
        if not (number and self.ess >= 0 and np.isfinite(self.ess)):
            raise OptionError(f"ess must be 0 or more, not {self.ess!r}.")

    def as_setting(self) -> dict[str, Any]:
        """As plain data, for the model file."""
        return {"@": "dirichlet", "ess": self.ess}


def table_smoothing(option: Any, combinations: int) -> Any:
    """The smoothing of a table with so many combinations of the parents' values."""
    if isinstance(option, str) and option == "bdeu":
        option = Dirichlet()
    if isinstance(option, Dirichlet):
        return smoothing_of(MEstimate(option.ess / max(combinations, 1)))
    return smoothing_of(option)


@dataclass(frozen=True, slots=True)
class FamilyRule:
    """What is asked of a node and its parents, and what is made of it.

    Parameters
    ----------
    parents : tuple of Nominal
        The parents that are names.
    numbers : tuple of Numeric
        The parents that are numbers; only a Gaussian has such.
    law : Distribution or None
        The law of a number given names; None: a table.
    smoothing : optional
        Of a table.
    edges : tuple of float, optional
        Where a number that is held by its ranges is cut.
    """

    parents: tuple[Nominal, ...]
    numbers: tuple[Numeric, ...]
    law: Any
    smoothing: Any = 0.0
    edges: tuple[float, ...] | None = None

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """The range of each number; missing has its own code."""
        edges = np.array(self.edges, dtype=np.float64)
        codes = np.empty(len(column), dtype=narrowest(len(edges) + 3))
        _kernels.cut_codes(column, edges, codes)
        return codes

    @property
    def _shares(self) -> bool:
        """Whether combinations of several parents lend each other a row: many have hardly any of their own."""
        smoothed = not (self.smoothing is None or (isinstance(self.smoothing, str) and self.smoothing == "none"))
        smoothed = smoothed and not (isinstance(self.smoothing, int | float) and self.smoothing == 0)
        return smoothed and len(self.parents) > 0 and len(self.parents) + len(self.numbers) > 1

    @property
    def shows_infinity(self) -> bool:
        """Whether an infinity shows in what is counted."""
        return False

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """The request: counts over parents and node, or whatever the law asks for in each combination."""
        if self.law is None:
            assert isinstance(of, Nominal)  # noqa: S101 - laws are chosen by kinds
            return Counts((*self.parents, of))
        return FamilyTally(self.parents, self.numbers, self.law, of)

    def estimate(self, tally: Any, *, steady: bool = False) -> Any:
        """The density over combinations of the nominal parents' values; a steady one is for the steps of EM."""
        if self.law is not None:
            return tally.estimate(steady=steady or self._shares)
        cells = tally.table
        counts = cells.reshape(int(np.prod(cells.shape[:-1], dtype=np.int64)), cells.shape[-1])
        return CategoricalDensity(tally.axes[-1], counts, table_smoothing(self.smoothing, len(counts)))


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTally:
    """The tally of a number in each combination of its nominal parents' values.

    Parameters
    ----------
    parents : tuple of Nominal
    numbers : tuple of Numeric
        Numeric parents: then moments of all of them together are kept.
    law : Distribution
        Which tally, and what it becomes.
    of : Attribute
        The node.
    inner : tally or None
        By combination; None: blank.
    """

    parents: tuple[Nominal, ...]
    numbers: tuple[Numeric, ...]
    law: Any
    of: Attribute
    inner: Any = None

    @property
    def given(self) -> Nominal:
        """The combinations."""
        return joined_parents(self.parents)

    @property
    def filled(self) -> Any:
        """The tally by combination; blank while it is."""
        return self._blank(self.parents) if self.inner is None else self.inner

    def _blank(self, parents: Sequence[Nominal]) -> Any:
        given = joined_parents(parents)
        if self.numbers:
            return Scatter(given, Vector(f"({self.of.name})", (*self.numbers, self.of)))
        return self.law.blank(given, self.of)

    def estimate(self, *, steady: bool = False) -> Any:
        """The law of each combination; a steady one is for the steps of EM."""
        if steady and isinstance(self.law, Gaussian):
            return steady_from(self.filled, self.law.floor)
        if not self.numbers:
            return self.law.estimate(self.filled)
        return linear_from(self.filled, self.law.divisor, self.law.floor)

    def fill(self, table: Table) -> Self:
        """Gather from the rows of a table in which all parents are there."""
        return self.fill_many([self], table)[0]

    @classmethod
    def fill_many(cls, blanks: Sequence[Self], table: Table, progress: Progress | None = None) -> list[Self]:
        """One after the other: each has combinations of its own."""
        return [blank._fill(table) for blank in blanks]

    def _fill(self, table: Table) -> Self:
        blank = self._blank(self.parents)
        codes = codes_of_parents(self.parents, table)
        there: Flags = codes < len(blank.given.values)
        names = [a.name for a in (*self.numbers, self.of)]
        for name in names if self.numbers else ():
            there &= ~np.isnan(np.asarray(table[name], dtype=np.float64))
        rows = Table({name: table[name] for name in names}, table.n_rows, table.weights)
        rows = rows.with_column(blank.given.name, codes)
        if not there.all():
            rows = rows.take(there)
        if self.numbers:
            columns = [np.asarray(rows[name], dtype=np.float64) for name in names]
            rows = rows.with_column(blank.of.name, columns)  # type: ignore[arg-type]
        return replace(self, inner=blank.fill(rows))

    def _laid(self, parents: Sequence[Nominal]) -> Any:
        """The tally over wider domains of the parents."""
        blank = self._blank(parents)
        return blank if self.inner is None else blank + self.inner

    def __add__(self, other: Self) -> Self:
        parents = tuple(joined(a, b) for a, b in zip(self.parents, other.parents, strict=True))
        inner = self._laid(parents) + other._laid(parents)
        return replace(self, parents=parents, of=_of(self.of, other.of), inner=inner)

    def __sub__(self, other: Self) -> Self:
        parents = tuple(joined(a, b) for a, b in zip(self.parents, other.parents, strict=True))
        inner = self._laid(parents) - other._laid(parents)
        return replace(self, parents=parents, of=_of(self.of, other.of), inner=inner)

    def within(self, attributes: Mapping[str, Any]) -> Self:
        """The same over fewer values of the parents."""
        parents = tuple(attributes.get(a.name, a) for a in self.parents)
        inner = self.filled.within({self.given.name: joined_parents(parents)})
        return replace(self, parents=parents, inner=inner)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        return {"tally": "family", "inner": self.filled.to_dict()}

    def read(self, data: Mapping[str, Any]) -> Self:
        """The same request with what `to_dict` wrote."""
        blank = self._blank(self.parents)
        return replace(self, inner=tally_from(data["inner"], {a.name: a for a in (blank.given, blank.of)}))


def _of(a: Attribute, b: Attribute) -> Attribute:
    return a if a == b else a.join(b)
