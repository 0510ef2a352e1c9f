"""Scores of a child with its parents (BIC, AIC, BDeu, K2); each family is counted once."""

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
from countwise.measures import chi_square, chi_square_tail
from countwise.network.families import codes_of_parents, joined_parents
from countwise.tallies import Scatter
from countwise.tallies.moments import too_large

__all__ = ["SCORES", "Families", "Family", "family_score", "family_scores", "may_depend"]


SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")
MOST_CELLS = 1 << 24  # the largest table of a family
_AT_ONCE = 1 << 22  # the largest total number of cells kept in memory
_WORTH = 1 << 28  # rows times cells above which threads are faster: about a millisecond of work
_FLOOR = 1e-9  # the smallest variance, relative to that of the whole column

Family = tuple[str, tuple[str, ...]]  # a child with its parents


def family_score(counts: NDArray[Any], score: str, equivalent_sample_size: float = 1.0) -> float:
    """Return the score of a table of counts in nats; larger is better. The last axis is the child.

    BIC and AIC are the log-likelihood minus (log n) / 2, or 1, for each free parameter. BDeu and K2 are the log
    marginal likelihood under a Dirichlet prior with `equivalent_sample_size` pseudocounts in total, or one for each
    cell.
    """
    return family_scores([np.asarray(counts)], score, equivalent_sample_size)[0]


def family_scores(tables: Sequence[NDArray[Any]], score: str, equivalent_sample_size: float = 1.0) -> list[float]:
    """Return the scores of many tables; see `family_score`. Children with equally many values are scored together."""
    found = [0.0] * len(tables)
    by_size: dict[int, list[int]] = {}
    for i, table in enumerate(tables):
        if table.size:
            by_size.setdefault(table.shape[-1], []).append(i)
    for r, places in by_size.items():
        cells = np.concatenate([tables[i].reshape(-1) for i in places]).astype(np.float64).reshape(-1, r)
        q = np.array([tables[i].size // r for i in places])
        marginal = score in ("bdeu", "k2")
        scores = _marginal(cells, q, score, equivalent_sample_size) if marginal else _penalized(cells, q, score)
        for i, one in zip(places, scores.tolist(), strict=True):
            found[i] = one
    return found


def _marginal(n: Floats, q: NDArray[Any], score: str, equivalent_sample_size: float) -> Floats:
    """Return the log marginal likelihoods of stacked tables; table i has q[i] rows."""
    r = n.shape[1]
    cell = np.repeat(equivalent_sample_size / (q * r), q)[:, None] if score == "bdeu" else np.ones((1, 1))
    given = cell[:, 0] * r
    rows = gammaln(given) - gammaln(given + n.sum(axis=1)) + (gammaln(cell + n) - gammaln(cell)).sum(axis=1)
    return _sums(rows, q)


def _penalized(n: Floats, q: NDArray[Any], score: str) -> Floats:
    """Return the penalized log-likelihoods of stacked tables; table i has q[i] rows."""
    row = n.sum(axis=1)
    fraction = np.divide(n, row[:, None], out=np.ones_like(n), where=n > 0)
    likely = _sums((n * np.log(fraction)).sum(axis=1), q)
    if score == "log_likelihood":
        return likely
    each = 0.5 * np.log(np.maximum(_sums(row, q), 1e-300)) if score == "bic" else np.ones(len(q))
    each[_sums(row, q) <= 0] = 0.0 if score == "bic" else 1.0
    return likely - each * (q * (n.shape[1] - 1))


def _sums(rows: Floats, q: NDArray[Any]) -> Floats:
    """Return the sum of the first q[0] rows, of the next q[1] rows, and so on."""
    return np.add.reduceat(rows, np.cumsum(q) - q)


def may_depend(parent: Any, child: Any) -> bool:
    """Return whether a node may be the parent of another, given their distributions; None means a CPT.

    Nominal nodes may depend on nominal nodes, Gaussian nodes on nominal and Gaussian nodes, other numeric nodes on
    nominal nodes.
    """
    return parent is None or (child is not None and bool(child.may_depend_on(parent)))


class Families:
    """Counts and scores of the families of a table, each computed once.

    Rows in which the child or a parent is missing are ignored. If `even`, the score of a family with missing values
    is scaled to the total number of rows; otherwise a family would score better the more of its values are missing.
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
            raise OptionError(f"equivalent_sample_size must be a number > 0, not {equivalent_sample_size!r}.")
        self.attributes = {a.name: a for a in attributes if isinstance(a, Nominal)}
        self.numbers = {a.name: a for a in attributes if isinstance(a, Numeric)}
        self.distributions = dict(distributions or {})
        if self.numbers and score in ("bdeu", "k2"):
            raise OptionError(
                f"The score {score!r} is defined for nominal columns, but {next(iter(self.numbers))!r} is numeric.",
                hint="use criterion='bic', or discretize the column: distributions={...: 'binned'}.",
            )
        self.table, self.even = table, even
        self.total = float(table.n_rows if table.weights is None else table.weights.sum())
        self.known: dict[Family, float] = {}
        self.counted = 0
        self._place = {name: i for i, name in enumerate(self.attributes)}
        self._sizes = [len(a.values) for a in self.attributes.values()]

    def counts(self, child: str, parents: Sequence[str]) -> NDArray[Any]:
        """Return the joint counts: one axis for each parent, the last axis for the child."""
        return self.tables([(child, tuple(parents))])[0]

    def tables(self, families: Sequence[Family]) -> list[NDArray[Any]]:
        """Return the joint counts of many families, counted together.

        Counting is fastest if families that share all but one node follow each other.
        """
        work = self.table.n_rows * sum(self._cells(family) for family in families)
        self.counted += len(families)
        used = dict.fromkeys(name for child, parents in families for name in (*parents, child))
        place = {name: i for i, name in enumerate(used)}
        numbers = [[place[name] for name in (*parents, child)] for child, parents in families]
        columns = [self.table[name] for name in used]
        sizes = [self._sizes[self._place[name]] for name in used]
        threads = _kernels.thread_count() if work > _WORTH else 1
        size = -(-len(numbers) // threads) or 1
        parts = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        found = _kernels.over_items(
            parts, lambda part: _kernels.count_families(columns, sizes, part, self.table.weights), threads
        )
        return [table for part in found for table in part]

    def _cells(self, family: Family) -> int:
        """Return the number of cells of a family's table; raise an error if it is too large."""
        child, parents = family
        cells = math.prod(self._sizes[self._place[name]] for name in (child, *parents))
        if cells > MOST_CELLS:
            raise TableError(
                f"The table of {child!r} given {', '.join(map(repr, parents))} would have {cells:,} cells; "
                f"at most {MOST_CELLS:,} are supported.",
                hint="use fewer parents, or columns with fewer values.",
            )
        return cells

    def of(self, child: str, parents: Sequence[str]) -> float:
        """Return the score of a child with its parents, in any order."""
        return self.many([(child, parents)])[0]

    def many(self, requested: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
        """Return the scores of many families; those without a cached score are counted together."""
        families: list[Family] = [(child, tuple(sorted(parents))) for child, parents in requested]
        new = dict.fromkeys(family for family in families if family not in self.known)
        if new:
            self._learn(list(new))
        return [self.known[family] for family in families]

    def _learn(self, new: Sequence[Family]) -> None:
        """Count and score families, in batches whose tables fit in memory."""
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
        """Return the score of a numeric child: its log-likelihood minus the penalty of its parameters."""
        cost = {"bic": 0.5 * float(np.log(max(self.total, 1.0))), "aic": 1.0}.get(self.score, 0.0)
        log, free, n = self.likelihood(child, parents)
        return log * (self.total / n if self.even and n > 0 else 1.0) - cost * free

    def likelihood(self, child: str, parents: Sequence[str]) -> tuple[float, int, float]:
        """Return the log-likelihood of a numeric child, its number of parameters, and the number of rows."""
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
        """Return the complete rows of some nodes: the numeric columns, and the combination of the nominal values."""
        given = joined_parents(names)
        codes = codes_of_parents(names, self.table)
        complete: Flags = codes < len(given.values)
        columns = {n.name: np.asarray(self.table[n.name], dtype=np.float64) for n in numbers}
        for column in columns.values():
            complete &= ~np.isnan(column)
        rows = Table({**columns, given.name: codes}, self.table.n_rows, self.table.weights)
        return rows if complete.all() else rows.take(complete)

    def scatter(self, names: Sequence[Nominal], numbers: Sequence[Numeric]) -> Scatter:
        """Return the moments of numeric columns for each combination of nominal values, from complete rows."""
        of = Vector("(numbers)", tuple(numbers))
        rows = self.rows(names, numbers)
        joint = rows.with_column(of.name, [rows[n.name] for n in numbers])  # type: ignore[arg-type]
        return Scatter(joined_parents(names), of).fill(joint)

    def dependence(self, child: str, parent: str, given: Sequence[str]) -> tuple[float, int, float | None]:
        """Test whether a node depends on a parent, given others: the statistic, the degrees of freedom, the p-value.

        It is Pearson's chi-square test for a nominal node, and the likelihood-ratio test for a numeric one.
        """
        if child in self.attributes:
            table = self.counts(child, [*given, parent])
            statistics, freedoms, _ = chi_square(table.reshape(-1, *table.shape[-2:]))
            statistic, freedom = float(np.sum(statistics)), int(np.sum(freedoms))
        else:
            same = self._with(parent)
            (more, free, _), (less, fewer, _) = (
                same.likelihood(child, above) for above in ((*given, parent), tuple(given))
            )
            statistic, freedom = max(2.0 * (more - less), 0.0), max(free - fewer, 0)
        return statistic, freedom, float(chi_square_tail(statistic, freedom)) if freedom else None

    def information(self, a: str, b: str, given: tuple[str, ...]) -> float:
        """Return the mutual information of two nodes in bits; minus infinity if neither may depend on the other."""
        child, parent = (a, b) if a in self.numbers else (b, a)
        if not may_depend(self.distributions.get(parent), self.distributions.get(child)):
            return -np.inf
        with_it, _, n = self.likelihood(child, (*given, parent))
        without, _, m = self._with(parent).likelihood(child, given)
        return max(0.0, (with_it / n - without / m) / float(np.log(2))) if n > 0 and m > 0 else 0.0

    def _with(self, name: str) -> Families:
        """Restrict the families to the rows in which a node is observed, so that scores compare the same rows."""
        column = np.asarray(self.table[name])
        observed = ~np.isnan(column) if name in self.numbers else column < len(self.attributes[name].values)
        if observed.all():
            return self
        fewer = copy(self)
        fewer.table = self.table.take(observed)
        return fewer


def _gaussian(tally: Scatter) -> tuple[float, int, float]:
    """Return the log-likelihood of the last numeric column, regressed on the others within each combination."""
    cells, p = tally.complete, len(tally.of.names) - 1
    n, scatter = cells.n, cells.scattered()
    total = float(n.sum())
    if not total > 0:
        return 0.0, len(n) * (p + 2), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        center = float((n * cells.mean[:, p]).sum()) / total
        overall = (float(scatter[:, p, p].sum()) + float((n * (cells.mean[:, p] - center) ** 2).sum())) / total
    if not np.isfinite(overall):
        raise too_large(tally.of.names[p])
    residual = scatter[:, p, p].copy()
    if p:
        scale = np.sqrt(np.maximum(np.einsum("cii->ci", scatter[:, :p, :p]), 1e-300))
        within = scatter[:, :p, :p] / (scale[:, :, None] * scale[:, None, :])
        across = scatter[:, :p, p] / scale
        slopes = np.linalg.pinv(within, rcond=1e-10, hermitian=True) @ across[:, :, None]
        residual = np.maximum(residual - (across * slopes[:, :, 0]).sum(axis=1), 0.0)
    # A prior row in each combination bounds the likelihood of combinations with few rows. Its variance is the pooled
    # residual variance, which tends to the variance of the whole column when few degrees of freedom remain.
    free = max(total - float((n > 0).sum()) * (p + 1), 0.0)
    prior = (float(residual.sum()) + overall) / (free + 1.0)
    variance = np.maximum((residual + prior) / (n + 1.0), _FLOOR * overall)
    if not overall > 0:
        return 0.0, len(n) * (p + 2), total
    log = -0.5 * float((n * (np.log(2 * np.pi * variance))).sum())
    log -= 0.5 * float(np.where(n > 0, residual / variance, 0.0).sum())
    return log, len(n) * (p + 2), total
