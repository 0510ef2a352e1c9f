"""Answers: a solution, and all that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countwise.cases.case import Match
from countwise.cases.ranking import Effort
from countwise.cases.reuse import Adaptation, Backtrack, Combined
from countwise.working import Account

__all__ = ["CaseAnswer"]


@dataclass(frozen=True, repr=False)
class CaseAnswer:
    """What a case base answers to a query.

    Parameters
    ----------
    query : mapping
        What was asked.
    solution : value
        The solution; None if no case could be adapted.
    cases : tuple of Match
        The cases that it is made from, the most similar first.
    combined : tuple of Combined
        How their solutions were combined.
    adaptations : tuple of Adaptation
        What each rule made of it.
    backtracks : tuple of Backtrack
        Cases that were more similar and could not be adapted.
    effort : Effort
        How many cases were compared.
    proposed : value
        The solution before it was revised.
    revised : bool
        Whether it was revised.
    outcome, notes : value, str
        What was given when it was revised.
    """

    query: Mapping[str, Any]
    solution: Any
    cases: tuple[Match, ...]
    combined: tuple[Combined, ...]
    adaptations: tuple[Adaptation, ...]
    backtracks: tuple[Backtrack, ...]
    effort: Effort
    proposed: Any = None
    revised: bool = False
    outcome: Any = None
    notes: str = ""

    @property
    def solved(self) -> bool:
        """Whether there is a solution."""
        return self.solution is not None

    def explain(self) -> Account:
        """All that led to the answer."""
        from countwise.cases.working import account

        return account(self)

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        return self.explain().html()
