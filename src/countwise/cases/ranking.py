"""Two-stage retrieval: cheap upper bounds for all cases, then exact similarities where they can matter."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.cases.case import Case
from countwise.cases.columns import RecordColumn
from countwise.cases.records import RecordSimilarity

__all__ = ["Effort", "Ranking"]

_MARGIN = 1e-9  # tolerance for rounding errors of bounds, which are summed in another order
_DIGITS = 12  # similarities that agree to so many digits are tied


@dataclass(frozen=True)
class Effort:
    """Number of cases that a retrieval compared."""

    n_cases: int  # cases in the base
    n_compared: int  # cases whose exact similarity was computed
    candidates: int | None  # largest number of cases to compare; None for all that can be among the best

    @property
    def approximate(self) -> bool:
        """Whether a more similar case may have been missed."""
        return self.candidates is not None and self.candidates < self.n_cases

    def __str__(self) -> str:
        if self.approximate:
            return (
                f"Approximate: only the best {self.candidates} of {self.n_cases} cases by upper bound were "
                "considered; another case may be more similar."
            )
        if self.n_compared == self.n_cases:
            return f"All {self.n_cases} cases were compared exactly."
        return f"{self.n_compared} of {self.n_cases} cases were compared exactly; no other can be more similar."


class Ranking:
    """Iterator over the cases in descending order of similarity to a query.

    Ties go to the case that was retained first. `cases` are in the order in which they were retained, and `records`
    are their problems by column. If `candidates` is given, only so many cases with the largest bounds are compared.
    """

    def __init__(
        self,
        similarity: RecordSimilarity,
        query: Mapping[str, Any],
        cases: Sequence[Case],
        records: RecordColumn,
        candidates: int | None = None,
    ) -> None:
        self._similarity, self._query, self._cases = similarity, query, cases
        self._bounds = similarity.bounds_over(query, records)
        self._order = np.argsort(-self._bounds, kind="stable")[:candidates]
        self._candidates = candidates
        self._compared = 0
        self._waiting: list[tuple[float, int, float]] = []

    @property
    def effort(self) -> Effort:
        """Number of cases compared so far."""
        return Effort(len(self._cases), self._compared, self._candidates)

    def __iter__(self) -> Iterator[tuple[Case, float]]:
        return self

    def __next__(self) -> tuple[Case, float]:
        """Return the next case and its similarity."""
        while self._compared < len(self._order) and self._may_be_beaten():
            place = int(self._order[self._compared])
            similarity = self._similarity.between(self._query, self._cases[place].problem)
            heapq.heappush(self._waiting, (-round(similarity, _DIGITS), place, similarity))
            self._compared += 1
        if not self._waiting:
            raise StopIteration
        _, place, similarity = heapq.heappop(self._waiting)
        return self._cases[place], similarity

    def _may_be_beaten(self) -> bool:
        """Return whether a case that was not compared yet can precede the best one so far."""
        return not self._waiting or bool(-self._waiting[0][0] <= self._bounds[self._order[self._compared]] + _MARGIN)
