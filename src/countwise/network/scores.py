"""Scores of families: how well parents explain a child, each family counted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from countwise import _kernels
from countwise._typing import Floats
from countwise.attributes import Nominal
from countwise.errors import OptionError, TableError, check_settings
from countwise.table import Table

__all__ = ["SCORES", "Families", "Family", "family_score", "family_scores"]

SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")
MOST_CELLS = 1 << 24  # of a family's table
_AT_ONCE = 1 << 22  # cells of tables that are kept at a time
_WORTH = 1 << 28  # rows times cells from which on threads save more than they cost: about a millisecond

Family = tuple[str, tuple[str, ...]]  # a child with its parents


def family_score(counts: NDArray[Any], score: str, ess: float = 1.0) -> float:
    """The score of a table of counts in nats; larger is better.

    Parameters
    ----------
    counts : ndarray, shape (..., values)
        How often each value of the child meets each combination of its parents' values.
    score : {"bic", "aic", "bdeu", "k2", "log_likelihood"}
        The log-likelihood less (log n) / 2 or 1 for each free number; the log of the marginal likelihood under
        Dirichlet priors that together weigh `ess` rows (BDeu), or one for each cell (K2); or the likelihood alone.
    ess : float, default=1
        For "bdeu": the equivalent sample size.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.network.scores import family_score
    >>> round(family_score(np.array([5, 9]), "bic"), 6)
    -10.444121
    """
    return family_scores([np.asarray(counts)], score, ess)[0]


def family_scores(tables: Sequence[NDArray[Any]], score: str, ess: float = 1.0) -> list[float]:
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
        scores = _marginal(cells, q, score, ess) if marginal else _penalized(cells, q, score)
        for i, one in zip(places, scores.tolist(), strict=True):
            found[i] = one
    return found


def _marginal(n: Floats, q: NDArray[Any], score: str, ess: float) -> Floats:
    """Log marginal likelihoods of tables below each other, of which each has q rows."""
    r = n.shape[1]
    cell = np.repeat(ess / (q * r), q)[:, None] if score == "bdeu" else np.ones((1, 1))
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


class Families:
    """Families of a table, each counted and scored once.

    Parameters
    ----------
    attributes : sequence of Nominal
        The variables.
    table : Table
        Their codes; rows in which a cell of a family is missing do not count for it.
    score : str
        See `family_score`.
    ess : float, default=1
        For "bdeu".
    even : bool, default=False
        Whether a family with gaps is scored as if its complete rows spoke for all rows: else a family would be the
        better the more of its cells are missing.
    """

    def __init__(
        self, attributes: Sequence[Nominal], table: Table, score: str = "bic", ess: float = 1.0, *, even: bool = False
    ) -> None:
        self.score, self.ess = score, ess
        check_settings(self, score=SCORES)
        if not (np.isfinite(ess) and ess > 0):
            raise OptionError(f"ess must be above 0, not {ess!r}.")
        self.attributes = {a.name: a for a in attributes}
        self.table, self.even = table, even
        self.total = float(table.n_rows if table.weights is None else table.weights.sum())
        self.known: dict[Family, float] = {}
        self.counted = 0
        self._place = {name: i for i, name in enumerate(self.attributes)}
        self._sizes = [len(a.values) for a in attributes]

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
        cells = 1
        for name in (child, *parents):
            cells *= self._sizes[self._place[name]]
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
            cells = self._cells(family)
            if part and cells > room:
                self._score(part)
                part, room = [], _AT_ONCE
            part.append(family)
            room -= cells
        self._score(part)

    def _score(self, part: Sequence[Family]) -> None:
        tables = self.tables(part)
        if self.even:
            totals = [float(table.sum()) for table in tables]
            tables = [
                table * (self.total / n) if 0 < n < self.total else table
                for table, n in zip(tables, totals, strict=True)
            ]
        self.known.update(zip(part, family_scores(tables, self.score, self.ess), strict=True))
