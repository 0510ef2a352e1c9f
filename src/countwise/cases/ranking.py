"""Retrieval in two stages: cheap bounds of all cases, then the exact similarity of those that can still be best."""

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

_MARGIN = 1e-9  # for the rounding of bounds, which are summed in another order
_DIGITS = 12  # similarities that differ by less are equal, so that rounding never decides


@dataclass(frozen=True)
class Effort:
    """How much a search looked at."""

    n_cases: int  # in the base
    n_compared: int  # cases whose similarity was computed exactly
    candidates: int | None  # how many cases the first stage hands on; None for all that can be among the best

    @property
    def approximate(self) -> bool:
        """Whether a better case may have been missed."""
        return self.candidates is not None and self.candidates < self.n_cases

    def __str__(self) -> str:
        if self.approximate:
            return (
                f"Approximate: only the best {self.candidates} of {self.n_cases} cases by the first stage were "
                "considered; a more similar case may be among the others."
            )
        if self.n_compared == self.n_cases:
            return f"All {self.n_cases} cases were compared exactly."
        return f"{self.n_compared} of {self.n_cases} cases were compared exactly; no other can be more similar."


class Ranking:
    """The cases from the most similar on, found one by one as they are asked for.

    At equal similarity the case that was retained first comes first. `cases` are in the order in which they were
    retained, and `records` are their problems by column; of the first stage only so many `candidates` are compared.
    """

    def __init__(
        self,
        similarity: RecordSimilarity,
        asked: Mapping[str, Any],
        cases: Sequence[Case],
        records: RecordColumn,
        candidates: int | None = None,
    ) -> None:
        self._similarity, self._asked, self._cases = similarity, asked, cases
        self._bounds = similarity.bounds_over(asked, records)
        self._order = np.argsort(-self._bounds, kind="stable")[:candidates]
        self._candidates = candidates
        self._compared = 0
        self._waiting: list[tuple[float, int, float]] = []

    @property
    def effort(self) -> Effort:
        """How much was looked at so far."""
        return Effort(len(self._cases), self._compared, self._candidates)

    def __iter__(self) -> Iterator[tuple[Case, float]]:
        return self

    def __next__(self) -> tuple[Case, float]:
        """The next case, and its similarity."""
        while self._compared < len(self._order) and self._may_be_beaten():
            place = int(self._order[self._compared])
            share = self._similarity.between(self._asked, self._cases[place].problem)
            heapq.heappush(self._waiting, (-round(share, _DIGITS), place, share))
            self._compared += 1
        if not self._waiting:
            raise StopIteration
        _, place, share = heapq.heappop(self._waiting)
        return self._cases[place], share

    def _may_be_beaten(self) -> bool:
        """Whether a case that was not compared yet can come before the best that was."""
        return not self._waiting or bool(-self._waiting[0][0] <= self._bounds[self._order[self._compared]] + _MARGIN)
