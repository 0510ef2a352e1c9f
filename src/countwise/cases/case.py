"""Cases, and matches of cases with a query."""

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
    """Case: a problem with its solution.

    Parameters
    ----------
    problem : mapping of attribute to value
        The problem. An attribute that is None is missing.
    solution : value
        The solution: a string, a number, or a mapping of several attributes.
    id : str or int, optional
        Id of the case. A case base assigns the next free number to cases without one.
    outcome : value, optional
        The outcome of applying the solution.
    notes : str, default=""
        Free text.

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
        """Return a copy that can be changed without changing this case.

        Returns
        -------
        Case
            Copy of the case.

        Examples
        --------
        >>> from countwise.cases import Case
        >>> case = Case({"hours": 900}, "bearing")
        >>> case.copy() == case
        True
        """
        return replace(
            self, problem=copied(self.problem), solution=copied(self.solution), outcome=copied(self.outcome)
        )

    @property
    def label(self) -> str:
        """Name of the case in messages."""
        return "the case" if self.id is None else f"case {self.id!r}"

    def checked(self) -> Case:
        """Return the case with checked and normalized values.

        NumPy values become Python values, and NaN becomes None. Attributes of the problem that are None are removed.

        Returns
        -------
        Case
            Case with checked values.

        Raises
        ------
        TableError
            If the case has no problem or no solution, or if a value has an unsupported type.

        Examples
        --------
        >>> from countwise.cases import Case
        >>> Case({"hours": 900, "noise": None}, "bearing").checked().problem
        {'hours': 900}
        """
        owner = self.label
        where = Where(owner)
        if self.id is not None and (isinstance(self.id, bool) or not isinstance(self.id, str | int)):
            raise TableError(f"{self.id!r} cannot be the id of a case; an id must be a string or an integer.")
        if not isinstance(self.problem, Mapping):
            raise TableError(
                f"The problem of {owner} is {self.problem!r}; it must be a mapping of attribute to value."
            )
        problem = checked(self.problem, where)
        if not problem:
            raise TableError(f"Every attribute of the problem of {owner} is missing.")
        solution = checked(self.solution, Where(f"the solution of {owner}"), whole=True)
        if solution is None:
            raise TableError(f"{where} has no solution.")
        if not isinstance(self.notes, str):
            raise TableError(f"The notes of {owner} are {self.notes!r}; they must be a string.")
        outcome = checked(self.outcome, Where(f"the outcome of {owner}"), whole=True)
        return replace(self, problem=problem, solution=solution, outcome=outcome)


def case_of(given: Any) -> Case:
    """Return a Case, given a Case, a pair (problem, solution) or a mapping of its fields."""
    if isinstance(given, Case):
        return given
    if isinstance(given, Mapping) and {"problem", "solution"} <= given.keys() <= {
        field.name for field in fields(Case)
    }:
        return Case(**given)
    if isinstance(given, tuple | list) and len(given) == 2:
        return Case(given[0], given[1])
    raise TableError(
        f"A case cannot be of type {type(given).__name__}.",
        hint="pass Case(problem, solution) or a pair (problem, solution).",
    )


@dataclass(frozen=True)
class Match:
    """Retrieved case with its similarity to the query.

    Parameters
    ----------
    case : Case
        Copy of the case.
    similarity : float
        Similarity to the query, from 0 to 1.
    parts : tuple of RecordField
        Local similarities of the attributes; `similarity` is their weighted mean.

    Examples
    --------
    >>> from countwise import CaseBase
    >>> match = CaseBase([({"hours": 900}, "bearing"), ({"hours": 100}, "seal")]).retrieve({"hours": 700})[0]
    >>> match.case.solution, match.similarity
    ('bearing', 0.75)
    """

    case: Case
    similarity: float
    parts: tuple[RecordField, ...]
