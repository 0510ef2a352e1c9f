"""Answers: a solution, and the account of all that led to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from countwise.cases.case import Match
from countwise.cases.ranking import Effort
from countwise.cases.reuse import Adaptation, Backtrack, Combined
from countwise.cases.values import counted, shown
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number

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
        best = self.cases[0].similarity if self.cases else 0.0
        return Account(_sentence(self), best, tuple(_sections(self)), tuple(_notes(self)))

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        return self.explain().html()


def _sentence(answer: CaseAnswer) -> str:
    if answer.revised:
        return f"{shown(answer.solution)} (revised)."
    if not answer.cases:
        n = len(answer.backtracks)
        return f"No solution: none of {n} cases could be adapted." if n else "No solution: no case is similar enough."
    best = answer.cases[0]
    others = f" and {len(answer.cases) - 1} more" if len(answer.cases) > 1 else ""
    changed = sum(step.changed for step in answer.adaptations)
    rules = f", adapted by {counted(changed, 'rule')}" if changed else ""
    return (
        f"{shown(answer.solution)}, from case {best.case.id!r} (similarity {number(best.similarity)}){others}{rules}."
    )


def _sections(answer: CaseAnswer) -> Iterator[Section]:
    if answer.backtracks:
        yield _backtracks(answer)
    if answer.cases:
        yield _cases(answer)
    yield from map(_similarity, answer.cases)
    if len(answer.cases) > 1:
        yield _combined(answer)
    if answer.adaptations:
        yield _adaptations(answer)
    if answer.revised:
        lines = [f"proposed: {shown(answer.proposed) or 'nothing'}", f"revised: {shown(answer.solution)}"]
        if answer.outcome is not None:
            lines.append(f"outcome: {shown(answer.outcome)}")
        yield Section("Revised", Grid({}), (*lines, *([answer.notes] if answer.notes else [])))


def _cases(answer: CaseAnswer) -> Section:
    table: dict[str, list[Any]] = {
        "case": [match.case.id for match in answer.cases],
        "similarity": [match.similarity for match in answer.cases],
        "solution": [shown(match.case.solution) for match in answer.cases],
    }
    if any(match.case.outcome is not None for match in answer.cases):
        table["outcome"] = [shown(match.case.outcome) for match in answer.cases]
    return Section("Retrieved", Grid(table), (str(answer.effort),))


def _similarity(match: Match) -> Section:
    """The local similarities of one case, and their weighted mean."""
    rows = [part for top in match.parts for part in top.flat()]
    table: dict[str, list[Any]] = {
        "attribute": [part.attribute for part in rows],
        "asked": [shown(part.asked, 30) for part in rows],
        "case": [shown(part.found, 30) for part in rows],
        "how": [part.how for part in rows],
        "s": [part.similarity for part in rows],
        "weight": [part.weight for part in rows],
        "w s": [None if part.similarity is None else part.weight * part.similarity for part in rows],
    }
    counted = [part for part in match.parts if part.similarity is not None]
    if all(part.weight == 1 for part in rows):
        del table["weight"], table["w s"]
    above = math.fsum(part.weight * (part.similarity or 0.0) for part in counted)
    below = math.fsum(part.weight for part in counted)
    line = f"{number(above)} / {number(below)} = {number(match.similarity)}" if below else "nothing to compare: 0"
    return Section(f"Similarity to case {match.case.id!r}", Grid(table), (line,))


def _combined(answer: CaseAnswer) -> Section:
    how = {"weighted": "weighted vote", "majority": "majority", "mean": "weighted mean", "best": "copy"}
    table = {
        "attribute": [step.attribute or "solution" for step in answer.combined],
        "by": [how[step.how] for step in answer.combined],
        "from": [str(step) for step in answer.combined],
        "gives": [shown(step.value) for step in answer.combined],
    }
    return Section(f"Combined from {len(answer.cases)} cases", Grid(table))


def _adaptations(answer: CaseAnswer) -> Section:
    steps = answer.adaptations
    table = {
        "rule": [step.rule for step in steps],
        "before": [shown(step.before) for step in steps],
        "after": [shown(step.after) if step.changed else "unchanged" for step in steps],
    }
    lines = tuple(f"{step.rule}: {step.says}" for step in steps if step.says and step.says != step.rule)
    return Section("Adapted", Grid(table), lines)


def _backtracks(answer: CaseAnswer) -> Section:
    steps = answer.backtracks
    table: dict[str, list[Any]] = {
        "case": [step.id for step in steps],
        "similarity": [step.similarity for step in steps],
        "rule": [step.rule for step in steps],
        "reason": [step.reason for step in steps],
    }
    if any(change.changed for step in steps for change in step.adaptations):
        table["before that"] = ["; ".join(map(str, step.adaptations)) for step in steps]
    after = "the next case was tried" if answer.cases else "no case is left"
    return Section("Given up", Grid(table), (f"{after}.",))


def _notes(answer: CaseAnswer) -> list[str]:
    notes = [str(answer.effort)] if answer.effort.approximate else []
    greedy = {p.attribute for m in answer.cases for top in m.parts for p in top.flat() if p.approximate}
    notes += [
        f"{name!r} is compared by a greedy matching: the graphs may have more in common." for name in sorted(greedy)
    ]
    return notes
