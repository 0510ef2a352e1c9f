"""Cases, and how similar they are to a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from countwise.cases.records import RecordField
from countwise.cases.values import Where, checked, copied
from countwise.errors import TableError

__all__ = ["Case", "Match", "case_of"]


@dataclass(frozen=True)
class Case:
    """A problem that was solved once.

    Parameters
    ----------
    problem : mapping of attribute to value
        What was asked for. An attribute that is None is missing.
    solution : value
        What was done: a name, a number, or a record of several.
    id : str or int, optional
        The case's name; a case base gives one to cases that have none.
    outcome : value, optional
        What came of it.
    notes : str, default=""
        Anything to remember.

    Examples
    --------
    >>> from countwise.cases import Case
    >>> Case({"noise": "grinding", "hours": 900}, "change the bearing", id="pump 3").solution
    'change the bearing'
    """

    problem: Mapping[str, Any]
    solution: Any
    id: str | int | None = None
    outcome: Any = None
    notes: str = ""

    def copy(self) -> Case:
        """A case that may be changed without changing this one."""
        return replace(
            self, problem=copied(self.problem), solution=copied(self.solution), outcome=copied(self.outcome)
        )

    @property
    def label(self) -> str:
        """How messages call it."""
        return "the case" if self.id is None else f"case {self.id!r}"

    def checked(self) -> Case:
        """The same, refused if it is no case."""
        owner = self.label
        where = Where(owner)
        if self.id is not None and (isinstance(self.id, bool) or not isinstance(self.id, str | int)):
            raise TableError(f"{self.id!r} cannot be the id of a case: it is a name or a whole number.")
        if not isinstance(self.problem, Mapping):
            raise TableError(f"The problem of {owner} is {self.problem!r}; a mapping is needed.")
        problem = checked(self.problem, where)
        if not problem:
            raise TableError(f"{where} says nothing of its problem: every attribute is missing.")
        solution = checked(self.solution, Where(f"the solution of {owner}"), whole=True)
        if solution is None:
            raise TableError(f"{where} has no solution.")
        if not isinstance(self.notes, str):
            raise TableError(f"The notes of {owner} are {self.notes!r}; a string is needed.")
        outcome = checked(self.outcome, Where(f"the outcome of {owner}"), whole=True)
        return replace(self, problem=problem, solution=solution, outcome=outcome)


def case_of(given: Any) -> Case:
    """A case in any of the forms in which cases are given."""
    if isinstance(given, Case):
        return given
    if isinstance(given, Mapping) and {"problem", "solution"} <= given.keys() <= {
        field.name for field in fields(Case)
    }:
        return Case(**given)
    if isinstance(given, tuple | list) and len(given) == 2:
        return Case(given[0], given[1])
    raise TableError(
        f"{type(given).__name__} is no case.", hint="give Case(problem, solution) or a pair (problem, solution)."
    )


@dataclass(frozen=True)
class Match:
    """A case that was retrieved.

    Parameters
    ----------
    case : Case
        A copy of the case.
    similarity : float
        Its similarity to the query.
    parts : tuple of RecordField
        The local similarities that it is the weighted mean of.
    """

    case: Case
    similarity: float
    parts: tuple[RecordField, ...]
