"""Scores of families: how well parents explain a child, each family counted once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.errors import OptionError, TableError, check_settings
from countwise.network.families import codes_of_parents, joined_parents
from countwise.tallies import Scatter

__all__ = ["SCORES", "Families", "Family", "family_score", "family_scores", "may_depend"]


SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")
MOST_CELLS = 1 << 24  # of a family's table
_AT_ONCE = 1 << 22  # cells of tables that are kept at a time
_WORTH = 1 << 28  # rows times cells from which on threads save more than they cost: about a millisecond
_FLOOR = 1e-9  # the least variance, as a share of that of the whole column

Family = tuple[str, tuple[str, ...]]  # a child with its parents


def family_score(counts: NDArray[Any], score: str, equivalent_sample_size: float = 1.0) -> float:
    """The score of a table of counts in nats, the last axis for the child's values; larger is better.

    BIC and AIC are the log-likelihood less (log n) / 2 or 1 for each free number. BDeu and K2 are the log marginal
    likelihood under Dirichlet priors of `equivalent_sample_size` imagined rows in all, or of one for each cell.
    """
    return family_scores([np.asarray(counts)], score, equivalent_sample_size)[0]


def family_scores(tables: Sequence[NDArray[Any]], score: str, equivalent_sample_size: float = 1.0) -> list[float]:
    """The scores of many tables; see `family_score`. Those whose children have as many values are scored together."""
    found = [0.0] * len(tables)
    alike: dict[int, list[int]] = {}
    for i, table in enumerate(tables):
        if table.size:
            alike.setdefault(table.shape[-1], []).append(i)
    for r, places in alike.items():
        cells = np.concatenate([tables[i].reshape(-1) for i in places]).astype(np.float64).reshape(-1, r)
        q = np.array([tables[i].size // r for i in places])
        marginal = score in ("bdeu", "k2")
        scores = _marginal(cells, q, score, equivalent_sample_size) if marginal else _penalized(cells, q, score)
        for i, one in zip(places, scores.tolist(), strict=True):
            found[i] = one
    return found


def _marginal(n: Floats, q: NDArray[Any], score: str, equivalent_sample_size: float) -> Floats:
    """Log marginal likelihoods of tables below each other, of which each has q rows."""
    r = n.shape[1]
    cell = np.repeat(equivalent_sample_size / (q * r), q)[:, None] if score == "bdeu" else np.ones((1, 1))
    given = cell[:, 0] * r
    rows = gammaln(given) - gammaln(given + n.sum(axis=1)) + (gammaln(cell + n) - gammaln(cell)).sum(axis=1)
    return _sums(rows, q)


def _penalized(n: Floats, q: NDArray[Any], score: str) -> Floats:
    """Log-likelihoods of tables below each other, of which each has q rows, less what their numbers cost."""
    row = n.sum(axis=1)
    share = np.divide(n, row[:, None], out=np.ones_like(n), where=n > 0)
    likely = _sums((n * np.log(share)).sum(axis=1), q)
    if score == "log_likelihood":
        return likely
    each = 0.5 * np.log(np.maximum(_sums(row, q), 1e-300)) if score == "bic" else np.ones(len(q))
    each[_sums(row, q) <= 0] = 0.0 if score == "bic" else 1.0
    return likely - each * (q * (n.shape[1] - 1))


def _sums(rows: Floats, q: NDArray[Any]) -> Floats:
    """The sum of the first q[0] rows, of the q[1] behind them, and so on."""
    return np.add.reduceat(rows, np.cumsum(q) - q)


def may_depend(parent: Any, child: Any) -> bool:
    """Whether a node may depend on another, by their distributions; None stands for a table.

    Nominal nodes depend on nominal ones; Gaussians on nominal ones and Gaussians; other numeric ones on nominal ones.
    """
    return parent is None or (child is not None and bool(child.may_depend_on(parent)))


class Families:
    """Families of a table, each counted and scored once; rows in which a value of a family is missing do not count.

    If `even`, a family with missing values is scored as if its complete rows spoke for all rows: else a family would
    be the better the more of its values are missing.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        table: Table,
        score: str = "bic",
        equivalent_sample_size: float = 1.0,
        *,
        distributions: Mapping[str, Any] | None = None,
        even: bool = False,
    ) -> None:
        self.score, self.equivalent_sample_size = score, equivalent_sample_size
        check_settings(self, score=SCORES)
        if not (np.isfinite(equivalent_sample_size) and equivalent_sample_size > 0):
            raise OptionError(f"equivalent_sample_size must be above 0, not {equivalent_sample_size!r}.")
        self.attributes = {a.name: a for a in attributes if isinstance(a, Nominal)}
        self.numbers = {a.name: a for a in attributes if isinstance(a, Numeric)}
        self.distributions = dict(distributions or {})
        if self.numbers and score in ("bdeu", "k2"):
            raise OptionError(
                f"The score {score!r} is of nominal columns; {next(iter(self.numbers))!r} is numeric.",
                hint="criterion='bic', or cut it: distributions={...: 'binned'}.",
            )
        self.table, self.even = table, even
        self.total = float(table.n_rows if table.weights is None else table.weights.sum())
        self.known: dict[Family, float] = {}
        self.counted = 0
        self._place = {name: i for i, name in enumerate(self.attributes)}
        self._sizes = [len(a.values) for a in self.attributes.values()]

    def counts(self, child: str, parents: Sequence[str]) -> NDArray[Any]:
        """How often values meet: an axis for each parent, the last for the child."""
        return self.tables([(child, tuple(parents))])[0]

    def tables(self, asked: Sequence[Family]) -> list[NDArray[Any]]:
        """The same for many families, counted together.

        Those that have all but one node in common are counted fastest if they follow each other.
        """
        work = self.table.n_rows * sum(self._cells(family) for family in asked)
        self.counted += len(asked)
        numbers = [[self._place[name] for name in (*parents, child)] for child, parents in asked]
        columns = [self.table[name] for name in self.attributes]
        threads = _kernels.thread_count() if work > _WORTH else 1
        share = -(-len(numbers) // threads) or 1
        parts = [numbers[i : i + share] for i in range(0, len(numbers), share)]
        found = _kernels.over_items(
            parts, lambda part: _kernels.count_families(columns, self._sizes, part, self.table.weights), threads
        )
        return [table for part in found for table in part]

    def _cells(self, family: Family) -> int:
        """The size of a family's table; one that is too large is an error."""
        child, parents = family
        cells = math.prod(self._sizes[self._place[name]] for name in (child, *parents))
        if cells > MOST_CELLS:
            raise TableError(
                f"The table of {child!r} given {', '.join(map(repr, parents))} would have {cells} cells.",
                hint="fewer parents, or fewer values.",
            )
        return cells

    def of(self, child: str, parents: Sequence[str]) -> float:
        """The score of a child with its parents, in any order."""
        return self.many([(child, parents)])[0]

    def many(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
        """The scores of many families; those that are not known yet are counted together."""
        families: list[Family] = [(child, tuple(sorted(parents))) for child, parents in asked]
        new = dict.fromkeys(family for family in families if family not in self.known)
        if new:
            self._learn(list(new))
        return [self.known[family] for family in families]

    def _learn(self, new: Sequence[Family]) -> None:
        """Count and score families, in parts whose tables do not take too much memory."""
        part: list[Family] = []
        room = _AT_ONCE
        for family in new:
            if family[0] in self.numbers:
                self.known[family] = self._score_number(*family)
                continue
            cells = self._cells(family)
            if part and cells > room:
                self._score(part)
                part, room = [], _AT_ONCE
            part.append(family)
            room -= cells
        if part:
            self._score(part)

    def _score(self, part: Sequence[Family]) -> None:
        tables = self.tables(part)
        if self.even:
            totals = [float(table.sum()) for table in tables]
            tables = [
                table * (self.total / n) if 0 < n < self.total else table
                for table, n in zip(tables, totals, strict=True)
            ]
        self.known.update(zip(part, family_scores(tables, self.score, self.equivalent_sample_size), strict=True))

    def _score_number(self, child: str, parents: Sequence[str]) -> float:
        """The score of a numeric child: its log-likelihood less what its parameters cost."""
        cost = {"bic": 0.5 * float(np.log(max(self.total, 1.0))), "aic": 1.0}.get(self.score, 0.0)
        log, free, n = self.likelihood(child, parents)
        return log * (self.total / n if self.even and n > 0 else 1.0) - cost * free

    def likelihood(self, child: str, parents: Sequence[str]) -> tuple[float, int, float]:
        """The log-likelihood of a numeric child, how many parameters it takes, and the rows behind it."""
        names = [self.attributes[p] for p in parents if p in self.attributes]
        numbers = [*(self.numbers[p] for p in parents if p in self.numbers), self.numbers[child]]
        self.counted += 1
        rule = self.distributions[child]
        if rule.linear:
            return _gaussian(self.scatter(names, numbers))
        if not rule.scored:
            return 0.0, 0, 1.0
        found: tuple[float, int, float] = rule.family_likelihood(
            joined_parents(names), numbers[-1], self.rows(names, numbers)
        )
        return found

    def rows(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Table:
        """The rows in which nothing is missing: the numbers, and the combination of the nominal values."""
        given = joined_parents(names)
        codes = codes_of_parents(names, self.table)
        there: Flags = codes < len(given.values)
        columns = {n.name: np.asarray(self.table[n.name], dtype=np.float64) for n in numbers}
        for column in columns.values():
            there &= ~np.isnan(column)
        rows = Table({**columns, given.name: codes}, self.table.n_rows, self.table.weights)
        return rows if there.all() else rows.take(there)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """The moments of numbers in each combination of nominal values, of rows in which nothing is missing."""
        of = Vector("(numbers)", tuple(numbers))
        rows = self.rows(names, numbers)
        laid = rows.with_column(of.name, [rows[n.name] for n in numbers])  # type: ignore[arg-type]
        return Scatter(joined_parents(names), of).fill(laid)

    def information(self, a: str, b: str, given: tuple[str, ...]) -> float:
        """The mutual information of two variables in bits; minus infinity where neither may depend on the other."""
        child, parent = (a, b) if a in self.numbers else (b, a)
        if not may_depend(self.distributions.get(parent), self.distributions.get(child)):
            return -np.inf
        with_it, _, n = self.likelihood(child, (*given, parent))
        without, _, m = self._with(parent).likelihood(child, given)
        return max(0.0, (with_it / n - without / m) / float(np.log(2))) if n > 0 and m > 0 else 0.0

    def _with(self, name: str) -> Families:
        """The same of the rows in which a variable is present, so that what it gains is of the same rows."""
        column = np.asarray(self.table[name])
        there = ~np.isnan(column) if name in self.numbers else column < len(self.attributes[name].values)
        if there.all():
            return self
        fewer = copy(self)
        fewer.table = self.table.take(there)
        return fewer


def _gaussian(tally: Scatter) -> tuple[float, int, float]:
    """The log-likelihood of the last number, by a line on the others in each combination."""
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
    log = -0.5 * float((n * (np.log(2 * np.pi * variance))).sum())
    log -= 0.5 * float(np.where(n > 0, left / variance, 0.0).sum())
    return log, len(n) * (p + 2), total
