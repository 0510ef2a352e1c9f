"""Results of `CaseBase.solve`: a solution with its explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from countwise.cases.case import Match
from countwise.cases.ranking import Effort
from countwise.cases.reuse import Adaptation, Backtrack, Combined
from countwise.cases.values import shown
from countwise.working import Account, Grid, Section
from countwise.working.numbers import counted, number

__all__ = ["CaseAnswer"]


@dataclass(frozen=True, repr=False)
class CaseAnswer:
    """Result of `CaseBase.solve`: a solution with its explanation.

    Parameters
    ----------
    query : mapping of attribute to value
        The query, without missing values.
    solution : value
        The solution; None if no case is similar enough or could be adapted.
    cases : tuple of Match
        The cases from which the solution was derived, the most similar first.
    combined : tuple of Combined
        How the solutions of the cases were combined, for each attribute of the solution.
    adaptations : tuple of Adaptation
        The solution before and after each adaptation rule.
    backtracks : tuple of Backtrack
        More similar cases that an adaptation rule rejected.
    effort : Effort
        Number of cases that were compared.
    proposed : value, default=None
        The solution before revision.
    revised : bool, default=False
        Whether the solution was revised.
    outcome : value, default=None
        The outcome that was recorded by `CaseBase.revise`.
    notes : str, default=""
        The notes that were recorded by `CaseBase.revise`.
    nearest : Match, default=None
        The most similar case, if it is less similar than `min_similarity`.
    min_similarity : float, default=0.0
        The smallest similarity of a case that could be used, if no case is similar enough.

    Examples
    --------
    >>> from countwise import CaseBase
    >>> answer = CaseBase([({"hours": 900}, "bearing"), ({"hours": 100}, "seal")]).solve({"hours": 700})
    >>> answer.solution, answer.cases[0].similarity
    ('bearing', 0.75)
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
    nearest: Match | None = None
    min_similarity: float = 0.0

    @property
    def solved(self) -> bool:
        """Whether there is a solution."""
        return self.solution is not None

    def explain(self) -> Account:
        """Explain how the solution was found: retrieval, similarities, combination and adaptation.

        Returns
        -------
        Account
            The working; print it, or display it in a notebook.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> CaseBase([({"hours": 900}, "bearing"), ({"hours": 100}, "seal")]).solve({"hours": 700}).explain().answer
        'bearing, from case 1 (similarity 0.75).'
        """
        best = self.cases[0].similarity if self.cases else 0.0 if self.nearest is None else self.nearest.similarity
        return Account(_sentence(self), best, tuple(_sections(self)), tuple(_notes(self)))

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        return self.explain().html()


def _sentence(answer: CaseAnswer) -> str:
    if answer.revised:
        return f"{shown(answer.solution)} (revised)."
    if not answer.cases:
        n, near = len(answer.backtracks), answer.nearest
        if near is not None:
            return (
                f"No solution: the most similar case, {near.case.id!r}, has similarity {number(near.similarity)}, "
                f"below {number(answer.min_similarity)}."
            )
        return f"No solution: none of {n} cases could be adapted." if n else "No solution: no case is similar enough."
    best = answer.cases[0]
    others = f" and {counted(len(answer.cases) - 1, 'other case')}" if len(answer.cases) > 1 else ""
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
    elif answer.nearest is not None and not answer.revised:
        yield _similarity(answer.nearest)
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
    """Return the section with the local similarities of one case and their weighted mean."""
    rows = [part for top in match.parts for part in top.flat()]
    table: dict[str, list[Any]] = {
        "attribute": [part.attribute for part in rows],
        "query": [shown(part.asked, 30) for part in rows],
        "case": [shown(part.found, 30) for part in rows],
        "comparison": [part.how for part in rows],
        "similarity": [part.similarity for part in rows],
        "weight": [part.weight for part in rows],
        "weighted": [None if part.similarity is None else part.weight * part.similarity for part in rows],
    }
    used = [part for part in match.parts if part.similarity is not None]
    mean = "weighted mean"
    if all(part.weight == 1 for part in rows):
        mean = "mean"
        del table["weight"], table["weighted"]
    total = math.fsum(part.weight * (part.similarity or 0.0) for part in used)
    weight = math.fsum(part.weight for part in used)
    line = (
        f"{mean}: {number(total)} / {number(weight)} = {number(match.similarity)}"
        if weight
        else "no attribute with a weight can be compared: 0"
    )
    return Section(f"Similarity to case {match.case.id!r}", Grid(table), (line,))


def _combined(answer: CaseAnswer) -> Section:
    methods = {"weighted": "weighted vote", "majority": "majority vote", "mean": "weighted mean", "best": "copy"}
    table = {
        "attribute": [step.attribute or "solution" for step in answer.combined],
        "method": [methods[step.how] for step in answer.combined],
        "computation": [str(step) for step in answer.combined],
        "result": [shown(step.value) for step in answer.combined],
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
        table["earlier rules"] = ["; ".join(map(str, step.adaptations)) for step in steps]
    after = "The next case was tried." if answer.cases else "No other case is left."
    return Section("Rejected", Grid(table), (after,))


def _notes(answer: CaseAnswer) -> list[str]:
    notes = [str(answer.effort)] if answer.effort.approximate else []
    greedy = {p.attribute for m in answer.cases for top in m.parts for p in top.flat() if p.approximate}
    notes += [
        f"{name!r} is compared by a greedy matching; the true similarity may be higher." for name in sorted(greedy)
    ]
    return notes
