"""Scores of families: how well parents explain a child, each family counted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from countwise.attributes import Nominal
from countwise.errors import OptionError, TableError, check_settings
from countwise.table import Table
from countwise.tallies import Counts

__all__ = ["SCORES", "Families", "family_score"]

SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")
MOST_CELLS = 1 << 24  # of a family's table


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
    n = np.asarray(counts, dtype=np.float64).reshape(-1, np.shape(counts)[-1])
    q, r = n.shape
    row = n.sum(axis=1)
    if score in ("bdeu", "k2"):
        cell = ess / (q * r) if score == "bdeu" else 1.0
        given = cell * r
        found = (gammaln(given) - gammaln(given + row)).sum() + (gammaln(cell + n) - gammaln(cell)).sum()
        return float(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(n > 0, n * (np.log(n) - np.log(row)[:, None]), 0.0)
    found = float(logs.sum())
    free = q * (r - 1)
    total = float(row.sum())
    if score == "bic":
        return found - (0.5 * float(np.log(total)) * free if total > 0 else 0.0)
    return found - free if score == "aic" else found


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
        self.known: dict[tuple[str, tuple[str, ...]], float] = {}
        self.counted = 0

    def counts(self, child: str, parents: Sequence[str]) -> NDArray[Any]:
        """How often values meet: an axis for each parent, the last for the child."""
        axes = tuple(self.attributes[name] for name in (*parents, child))
        cells = float(np.prod([len(a.values) + 1 for a in axes], dtype=np.float64))
        if cells > MOST_CELLS:
            raise TableError(
                f"The table of {child!r} given {', '.join(map(repr, parents))} would have {cells:.0f} cells.",
                hint="fewer parents, or fewer values.",
            )
        self.counted += 1
        return Counts(axes).fill(self.table).table

    def of(self, child: str, parents: Sequence[str]) -> float:
        """The score of a child with its parents, in any order."""
        key = (child, tuple(sorted(parents)))
        if key not in self.known:
            counts = self.counts(*key)
            n = float(counts.sum())
            counts = counts * (self.total / n) if self.even and 0 < n < self.total else counts
            self.known[key] = family_score(counts, self.score, self.ess)
        return self.known[key]
