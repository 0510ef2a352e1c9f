"""Scores of families in which some are numbers: by BIC, AIC or the likelihood, as for names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.special import gammaln

from countwise._typing import Flags
from countwise.attributes import Attribute, Nominal, Numeric
from countwise.conditionals import Gaussian, Poisson
from countwise.errors import OptionError
from countwise.network.given import codes_of_parents, joined_parents
from countwise.network.scores import Families, Family
from countwise.table import Table
from countwise.tallies import Moments, Scatter
from countwise.vectors import Vector

__all__ = ["MixedFamilies", "allowed"]

_FLOOR = 1e-9  # the least variance, as a share of that of the whole column


def allowed(parent: Any, child: Any) -> bool:
    """Whether a node may depend on another, by their laws; None stands for a table.

    Names depend on names; Gaussians on names and Gaussians; other numbers on names.
    """
    if parent is None:
        return True
    return isinstance(child, Gaussian) and isinstance(parent, Gaussian)


class MixedFamilies(Families):
    """Families of names and numbers, each counted and scored once.

    Parameters
    ----------
    attributes : sequence of Attribute
        The variables.
    table : Table
        Their codes and numbers; rows in which a cell of a family is missing do not count for it.
    laws : mapping of str to Conditional
        Of the numbers.
    score, ess
        As for `Families`.
    even : bool
        Whether a family with gaps is scored as if its complete rows spoke for all rows.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        table: Table,
        laws: Mapping[str, Any],
        score: str = "bic",
        ess: float = 1.0,
        *,
        even: bool = False,
    ) -> None:
        super().__init__([a for a in attributes if isinstance(a, Nominal)], table, score, ess, even=even)
        self.numbers = {a.name: a for a in attributes if isinstance(a, Numeric)}
        self.laws = dict(laws)
        if self.numbers and score in ("bdeu", "k2"):
            raise OptionError(
                f"The score {score!r} is of names; {next(iter(self.numbers))!r} is a number.",
                hint="criterion='bic', or cut it: conditionals={...: 'ranges'}.",
            )

    def _learn(self, new: Sequence[Family]) -> None:
        super()._learn([family for family in new if family[0] not in self.numbers])
        cost = {"bic": 0.5 * float(np.log(max(self.total, 1.0))), "aic": 1.0}.get(self.score, 0.0)
        for child, parents in new:
            if child in self.numbers:
                log, free, n = self.likelihood(child, parents)
                log *= self.total / n if self.even and n > 0 else 1.0
                self.known[child, parents] = log - cost * free

    def likelihood(self, child: str, parents: Sequence[str]) -> tuple[float, int, float]:
        """The log-likelihood of a number given its parents, how many parameters it takes, and the rows behind it."""
        names = [self.attributes[p] for p in parents if p in self.attributes]
        numbers = [*(self.numbers[p] for p in parents if p in self.numbers), self.numbers[child]]
        self.counted += 1
        if isinstance(self.laws[child], Poisson):
            return self._poisson(child, joined_parents(names), self.rows(names, numbers))
        if not isinstance(self.laws[child], Gaussian):
            return 0.0, 0, 1.0  # other laws have the parents that they are given, whatever their score
        return _gaussian(self.scatter(names, numbers))

    def rows(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Table:
        """The rows in which all are there: the numbers, and the combination of the names."""
        given = joined_parents(names)
        codes = codes_of_parents(names, self.table)
        there: Flags = codes < len(given.values)
        columns = {n.name: np.asarray(self.table[n.name], dtype=np.float64) for n in numbers}
        for column in columns.values():
            there &= ~np.isnan(column)
        rows = Table({**columns, given.name: codes}, self.table.n_rows, self.table.weights)
        return rows if there.all() else rows.take(there)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """The moments of numbers in each combination of the names, of rows in which all are there."""
        of = Vector("(numbers)", tuple(numbers))
        rows = self.rows(names, numbers)
        laid = rows.with_column(of.name, [rows[n.name] for n in numbers])  # type: ignore[arg-type]
        return Scatter(joined_parents(names), of).fill(laid)

    def information(self, a: str, b: str, given: tuple[str, ...]) -> float:
        """What one of two tells of the other, in bits; minus infinity where neither may depend on the other."""
        child, parent = (a, b) if a in self.numbers else (b, a)
        if not allowed(self.laws.get(parent), self.laws.get(child)):
            return -np.inf
        with_it, _, n = self.likelihood(child, (*given, parent))
        without, _, m = self._with(parent).likelihood(child, given)
        return max(0.0, (with_it / n - without / m) / float(np.log(2))) if n > 0 and m > 0 else 0.0

    def _with(self, name: str) -> MixedFamilies:
        """The same of the rows in which a variable is there, so that what it gains is of the same rows."""
        if type(self) is not MixedFamilies:
            return self  # an engine has counted the rows
        column = np.asarray(self.table[name])
        there = ~np.isnan(column) if name in self.numbers else column < len(self.attributes[name].values)
        if there.all():
            return self
        fewer = copy(self)
        fewer.table = self.table.take(there)
        return fewer

    def _poisson(self, child: str, given: Nominal, rows: Table) -> tuple[float, int, float]:
        tally = Moments(given, self.numbers[child]).fill(rows)
        n, rate, _ = tally.triple
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        constant = float(weights @ gammaln(rows[child] + 1))
        logs = np.where(rate > 0, n * (rate * np.log(np.maximum(rate, 1e-300)) - rate), 0.0)
        return float(logs.sum()) - constant, len(n), float(n.sum())


def _gaussian(tally: Scatter) -> tuple[float, int, float]:
    """Of the last number, by a line on the others in each combination."""
    cells, p = tally.complete, len(tally.of.names) - 1
    n, scatter = cells.n, cells.scattered()
    total = float(n.sum())
    if not total > 0:
        return 0.0, len(n) * (p + 2), 0.0
    center = float(n @ cells.mean[:, p]) / total
    overall = (float(scatter[:, p, p].sum()) + float(n @ (cells.mean[:, p] - center) ** 2)) / total
    left = scatter[:, p, p].copy()
    if p:
        scale = np.sqrt(np.maximum(np.einsum("cii->ci", scatter[:, :p, :p]), 1e-300))
        within = scatter[:, :p, :p] / (scale[:, :, None] * scale[:, None, :])
        across = scatter[:, :p, p] / scale
        slopes = np.linalg.pinv(within, rcond=1e-10, hermitian=True) @ across[:, :, None]
        left = np.maximum(left - (across * slopes[:, :, 0]).sum(axis=1), 0.0)
    # one imagined row in each combination: else one of few rows would be infinitely likely. Its spread is what all
    # lines together leave, and where they leave next to no row free, that of the whole column
    free = max(total - float((n > 0).sum()) * (p + 1), 0.0)
    spread = (float(left.sum()) + overall) / (free + 1.0)
    variance = np.maximum((left + spread) / (n + 1.0), _FLOOR * overall)
    if not overall > 0:
        return 0.0, len(n) * (p + 2), total
    log = -0.5 * float((n * (np.log(2 * np.pi * variance))).sum()) - 0.5 * float(
        np.where(n > 0, left / variance, 0.0).sum()
    )
    return log, len(n) * (p + 2), total
