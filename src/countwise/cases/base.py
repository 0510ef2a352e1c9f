"""Case bases: retrieve, reuse, revise, retain."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice, takewhile
from typing import Any

import numpy as np

from countwise.cases.answer import CaseAnswer
from countwise.cases.case import Case, Match, case_of
from countwise.cases.columns import RecordColumn
from countwise.cases.ranking import Ranking
from countwise.cases.records import RecordSimilarity
from countwise.cases.reuse import Backtrack, adapted, check_combine, combined, rules_of
from countwise.cases.values import Where, checked, copied, counted, key_of
from countwise.data.frames import Coded, Frame, frame_of, is_missing
from countwise.errors import (
    AdaptationFailed,
    NumberIn,
    OptionError,
    SchemaError,
    TableError,
    check_value,
    did_you_mean,
    listed,
)
from countwise.working import Account, Grid

__all__ = ["CaseBase"]

_SAME: Any = object()
_ROUNDING = 1e-12
_NUMBER = NumberIn(1, whole=True)  # of cases


class CaseBase:
    """Problems that were solved once, to solve new ones by: retrieve, reuse, revise, retain.

    A query is compared with each case by the weighted mean of the similarities of their attributes. The solution of
    the most similar case, or of several combined, is adapted by rules; the answer explains how it came about.

    Parameters
    ----------
    cases : iterable of Case or of pairs (problem, solution), optional
        The cases to begin with.
    similarities : mapping of attribute to similarity or function, optional
        How attributes are compared; see `RecordSimilarity` for those that are not named.
    weights : mapping of attribute to number, optional
        1 for attributes that are not named.
    missing : {"zero", "ignore"}, default="zero"
        What an attribute counts that is asked for and that a case does not have.
    rules : iterable of functions, optional
        Rules of adaptation, `rule(query, case, solution)`, applied in this order. Each returns the solution, changed
        or not; or None, or raises `AdaptationFailed`, if the case is of no use, so that the next one is tried.

    Examples
    --------
    >>> from countwise import CaseBase
    >>> base = CaseBase([({"noise": "grinding", "hours": 900}, "bearing"), ({"noise": "hiss", "hours": 100}, "seal")])
    >>> print(base.solve({"noise": "grinding", "hours": 700}))
    bearing, from case 1 (similarity 0.875).
    <BLANKLINE>
    Retrieved
      case  similarity  solution
         1       0.875  bearing
      1 of 2 cases were compared exactly; no other can be more similar.
    <BLANKLINE>
    Similarity to case 1
      attribute  asked     case      how               s
      noise      grinding  grinding  equal          1
      hours      700       900       1 - 200 / 800  0.75
      1.75 / 2 = 0.875
    """

    def __init__(
        self,
        cases: Iterable[Any] = (),
        *,
        similarities: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        missing: str = "zero",
        rules: Iterable[Callable[[Any, Any, Any], Any]] = (),
    ) -> None:
        self._store = _Store(RecordSimilarity(similarities, weights, missing))
        self._rules = rules_of(rules)
        if isinstance(cases, Mapping | str):
            raise TableError("Cases are given as a list.", hint="give [Case(problem, solution), ...].")
        for given in cases:
            self._store.keep(case_of(given))
        if len(self):
            _check_names(self._store.declared, self._store.index(), "")

    @classmethod
    def from_table(
        cls,
        X: Any,
        solution: str | Sequence[str],
        *,
        id: str | None = None,  # noqa: A002 - the word for it
        **settings: Any,
    ) -> CaseBase:
        """A case for each row of a table.

        Parameters
        ----------
        X : table
            Anything that models learn from.
        solution : str or list of str
            The column of solutions; of several, the solution is a record.
        id : str, optional
            The column of ids.
        **settings
            As for `CaseBase`.

        Returns
        -------
        CaseBase

        Examples
        --------
        >>> from countwise import CaseBase
        >>> table = {"wind": ["north", "east"], "temp": [12.5, 25.0], "play": ["no", "yes"]}
        >>> CaseBase.from_table(table, "play").solve({"temp": 24}).solution
        'yes'
        """
        return cls(_cases_of(X, solution, id), **settings)

    def __len__(self) -> int:
        return len(self._store.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter([case.copy() for case in self._store.cases.values()])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, Hashable) and name in self._store.cases

    def __getitem__(self, name: str | int) -> Case:
        return self._store.cases[self._store.there(name)].copy()

    def __repr__(self) -> str:
        names = listed(self._store.index().columns) if self._store.cases else "none yet"
        return f"<case base of {counted(len(self), 'case')}; attributes: {names}>"

    def describe(self) -> Grid:
        """How each attribute is compared, and what it weighs.

        Returns
        -------
        Grid
        """
        similarity = self._store.similarity()
        names = list(similarity.similarities or {})
        columns = self._store.index().columns
        return Grid(
            {
                "attribute": names,
                "similarity": [str(similarity.local(name)) for name in names],
                "weight": [similarity.weight(name) for name in names],
                "values": [len(columns[name].values) if name in columns else 0 for name in names],
            }
        )

    def retrieve(self, query: Mapping[str, Any], k: int = 1, *, candidates: int | None = None) -> list[Match]:
        """The cases that are most similar to a query.

        Parameters
        ----------
        query : mapping of attribute to value
            What is asked for; attributes that are None or not named do not count.
        k : int, default=1
            How many cases. At equal similarity the one that was retained first comes first.
        candidates : int, optional
            Look only at so many cases, those that the cheap first stage thinks best. Without it no better case is
            ever missed.

        Returns
        -------
        list of Match
        """
        check_value("k", k, _NUMBER)
        asked = self._store.asked(query)
        return [self._store.match(asked, *found) for found in islice(self._store.ranking(asked, candidates), k)]

    def solve(
        self,
        query: Mapping[str, Any],
        k: int = 1,
        *,
        candidates: int | None = None,
        combine: str | Mapping[str, str] | None = None,
        least: float = 0.0,
        required: bool = False,
    ) -> CaseAnswer:
        """Solve a problem as similar ones were solved.

        Parameters
        ----------
        query : mapping of attribute to value
            What is asked for.
        k : int, default=1
            From how many cases the solution is combined.
        candidates : int, optional
            As for `retrieve`.
        combine : str or mapping of solution attribute to str, optional
            "weighted" or "majority" vote, weighted "mean", or that of the "best" case; weights are similarities.
            By default strings are voted on by weight, numbers averaged, and all else is copied from the best case.
        least : float, default=0.0
            Cases that are less similar are not used.
        required : bool, default=False
            Whether to raise `AdaptationFailed` if there is no solution.

        Returns
        -------
        CaseAnswer
            Its `solution` is None if no case could be adapted.
        """
        check_value("k", k, _NUMBER)
        check_combine(combine, [case.solution for case in self._store.cases.values()])
        asked = self._store.asked(query)
        ranking = self._store.ranking(asked, candidates)
        backtracks: list[Backtrack] = []
        near = takewhile(lambda found: found[1] >= least - _ROUNDING, ranking)
        for window in _windows((self._store.match(asked, *found) for found in near), k):
            solution, steps = combined(window, combine)
            adaptations, refused = adapted(self._rules, asked, window[0], solution)
            if refused is None:
                solution = adaptations[-1].after if adaptations else solution
                rest = (tuple(window), steps, adaptations, tuple(backtracks), ranking.effort)
                return CaseAnswer(asked, copied(solution), *rest, proposed=solution)
            backtracks.append(refused)
        answer = CaseAnswer(asked, None, (), (), (), tuple(backtracks), ranking.effort)
        if required:
            raise AdaptationFailed(answer.explain().answer, hint="explain(query) says why.")
        return answer

    def explain(self, query: Mapping[str, Any], k: int = 1, **settings: Any) -> Account:
        """How the answer to a query comes about; parameters as of `solve`."""
        return self.solve(query, k, **settings).explain()

    def revise(
        self, answer: CaseAnswer, *, solution: Any = _SAME, outcome: Any = _SAME, notes: str = _SAME
    ) -> CaseAnswer:
        """An answer, corrected by someone who knows better, or with what came of it.

        Parameters
        ----------
        answer : CaseAnswer
            What `solve` gave.
        solution, outcome : value, optional
            The right solution; what came of it.
        notes : str, optional
            Anything to remember.

        Returns
        -------
        CaseAnswer
            To be handed to `retain`.
        """
        if not isinstance(answer, CaseAnswer):
            raise OptionError(f"revise takes an answer of solve, not a {type(answer).__name__}.")
        given = {"solution": solution, "outcome": outcome, "notes": notes}
        changes = {name: value for name, value in given.items() if value is not _SAME}
        if not changes:
            raise OptionError("There is nothing to revise.", hint="give solution, outcome or notes.")
        for name in changes.keys() - {"notes"}:
            changes[name] = checked(changes[name], Where(f"the {name}"), whole=True)
        return replace(answer, **changes, revised=True)

    def retain(
        self,
        problem: Mapping[str, Any] | CaseAnswer | Case,
        solution: Any = None,
        *,
        id: str | int | None = None,  # noqa: A002 - the word for it
        outcome: Any = None,
        notes: str = "",
        replace: bool = False,
        duplicates: str = "refuse",
    ) -> str | int:
        """Keep a case for later.

        Parameters
        ----------
        problem : mapping, CaseAnswer or Case
            What was asked for; an answer and a case bring their solutions along.
        solution : value, optional
            What was done.
        id : str or int, optional
            The case's name; by default the next number.
        outcome : value, optional
            What came of it.
        notes : str, default=""
            Anything to remember.
        replace : bool, default=False
            Whether a case of the same id is replaced, at its place; without it that is an error.
        duplicates : {"refuse", "skip", "keep"}, default="refuse"
            What is done with a case that has the problem and the solution of one in the base: it is an error, or
            left out, or kept as well.

        Returns
        -------
        str or int
            The id of the case; of a duplicate that was left out, that of the case in the base.
        """
        check_value("duplicates", duplicates, ("refuse", "skip", "keep"))
        parts = {"solution": solution, "id": id, "outcome": outcome, "notes": notes or None}
        given = {name: value for name, value in parts.items() if value is not None}
        case = Case(**(_fields(problem) | given))
        return self._store.keep(case, replacing=replace, duplicates=duplicates)

    def forget(self, name: str | int) -> Case:
        """Take a case out of the base.

        Parameters
        ----------
        name : str or int
            Its id.

        Returns
        -------
        Case
        """
        return self._store.forget(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the base to a file of plain JSON; functions are kept by name only.

        Parameters
        ----------
        path : str or path
            Where to.
        """
        from countwise.cases.files import save_base

        save_base(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        rules: Iterable[Callable[[Any, Any, Any], Any]] = (),
        similarities: Mapping[str, Callable[[Any, Any], float]] | None = None,
    ) -> CaseBase:
        """Read a base that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        rules : iterable of functions, optional
            The rules that the base had, which files do not hold.
        similarities : mapping of attribute to function, optional
            The functions that it compared attributes by; attributes of records in records are named with dots.

        Returns
        -------
        CaseBase
        """
        from countwise.cases.files import load_base

        return load_base(cls, path, tuple(rules), dict(similarities or {}))


def _windows(matches: Iterator[Match], k: int) -> Iterator[list[Match]]:
    """So many cases, then the same without the first and with the next, until none is left."""
    window = list(islice(matches, k))
    while window:
        yield window
        window = [*window[1:], *islice(matches, 1)]


def _fields(problem: Any) -> dict[str, Any]:
    """What a case, an answer or a mere problem says of a new case."""
    if isinstance(problem, Case):
        return vars(problem)
    if isinstance(problem, CaseAnswer):
        return {"problem": problem.query} | {
            name: getattr(problem, name) for name in ("solution", "outcome", "notes")
        }
    return {"problem": problem, "solution": None}


class _Store:
    """Cases by id, in the order in which they were retained.

    The index grows with each case. When one is forgotten or replaced it is made anew, with the next query.
    """

    def __init__(self, declared: RecordSimilarity) -> None:
        self.declared = declared  # what the user says of attributes
        self.cases: dict[str | int, Case] = {}
        self._known: dict[Hashable, str | int] = {}
        self._records: RecordColumn | None = None
        self._fitted: RecordSimilarity | None = None

    def there(self, name: Any) -> str | int:
        """An id, refused if no case has it."""
        if not isinstance(name, str | int) or name not in self.cases:
            raise OptionError(f"There is no case {name!r}.", hint=did_you_mean(name, self.cases))
        return name

    def keep(self, given: Case, *, replacing: bool = False, duplicates: str = "keep") -> str | int:
        """Check a case and put it into the base and its index; its id."""
        case = given.checked()
        self.declared.check(case.problem, Where(case.label))
        if case.id in self.cases and not replacing:
            raise OptionError(
                f"There is a case {case.id!r} already.", hint="replace=True puts this one in its place."
            )
        pair = (key_of(case.problem), key_of(case.solution))
        same = self._known.get(pair)
        if same is not None and same != case.id and duplicates != "keep":
            if duplicates == "skip":
                return same
            raise OptionError(f"Case {same!r} has this problem and solution.", hint="duplicates='keep' or 'skip'.")
        name = case.id
        if name is None:
            name = next(n for n in count(len(self.cases) + 1) if n not in self.cases)
        old = name in self.cases
        self.cases[name] = replace(case, id=name)
        if old:
            self._renew()
            return name
        self._known.setdefault(pair, name)
        self._fitted = None
        if self._records is not None:
            self._records.add(case.problem)
        return name

    def forget(self, name: Any) -> Case:
        """Take a case out."""
        case = self.cases.pop(self.there(name))
        self._renew()
        return case

    def _renew(self) -> None:
        """Forget the index; it is made again when it is needed."""
        self._records = self._fitted = None
        self._known = {}
        for name, case in self.cases.items():
            self._known.setdefault((key_of(case.problem), key_of(case.solution)), name)

    def index(self) -> RecordColumn:
        """The problems by column."""
        if self._records is None:
            self._records = RecordColumn()
            for case in self.cases.values():
                self._records.add(case.problem)
        return self._records

    def similarity(self) -> RecordSimilarity:
        """The similarity of problems, with all that it takes from the base."""
        if not self.cases:
            raise TableError("The case base is empty.", hint="retain a case first.")
        if self._fitted is None:
            self._fitted = self.declared.fitted_over(self.index())
        return self._fitted

    def asked(self, query: Any) -> dict[str, Any]:
        """A query, checked."""
        similarity = self.similarity()
        if not isinstance(query, Mapping):
            raise TableError(
                f"A query is a mapping, not a {type(query).__name__}.", hint="give {'attribute': value}."
            )
        for name in query:
            similarity.local(name)
        asked: dict[str, Any] = checked(query, Where("the query"))
        if not asked:
            raise TableError("The query asks for nothing: every attribute is missing.")
        similarity.check_asked(asked, Where("the query"))
        return asked

    def ranking(self, asked: Mapping[str, Any], candidates: int | None) -> Ranking:
        """All cases from the most similar on."""
        if candidates is not None:
            check_value("candidates", candidates, _NUMBER)
        return Ranking(self.similarity(), asked, list(self.cases.values()), self.index(), candidates)

    def match(self, asked: Mapping[str, Any], case: Case, share: float) -> Match:
        """A case that was ranked, with its local similarities."""
        return Match(case.copy(), share, self.similarity().parts(asked, case.problem))


def _check_names(declared: RecordSimilarity, records: RecordColumn, path: str) -> None:
    """Refuse similarities and weights of attributes that no case has."""
    similarities = declared.similarities or {}
    for name in [*similarities, *(declared.weights or {})]:
        if name not in records.columns:
            raise OptionError(f"No case has {path + name!r}.", hint=did_you_mean(name, records.columns))
        local = similarities.get(name)
        if isinstance(local, RecordSimilarity):
            _check_names(local, records.columns[name].records(), f"{path}{name}.")


def _cases_of(X: Any, solution: str | Sequence[str], ids: str | None) -> Iterator[Case]:
    """The rows of a table as cases."""
    frame = frame_of(X)
    names = [solution] if isinstance(solution, str) else list(solution)
    if not names:
        raise TableError("No column of solutions is named.")
    for name in [*names, *([] if ids is None else [ids])]:
        if name not in frame.columns:
            raise SchemaError(f"There is no column {name!r}.", hint=did_you_mean(name, frame.names))
    columns = {name: _cells(frame, name) for name in frame.names}
    for row in range(frame.n_rows):
        cells = {name: column[row] for name, column in columns.items()}
        done = {name: cells.pop(name) for name in names}
        if all(value is None for value in done.values()):
            raise TableError(f"The solution is missing in row {row}.", hint="leave the row out.", row=row)
        if all(value is None for name, value in cells.items() if name != ids):
            raise TableError(f"Everything but the solution of row {row} is missing.", hint="leave it out.", row=row)
        mine = None if ids is None else cells.pop(ids)
        if ids is not None and mine is None:
            raise TableError(f"The id is missing in row {row}.", row=row)
        if isinstance(mine, float) and mine.is_integer():  # whole numbers beside a missing value come as floats
            mine = int(mine)
        yield Case(cells, done[solution] if isinstance(solution, str) else done, mine)


def _cells(frame: Frame, name: str) -> list[Any]:
    """A column as Python's own values; None for missing cells, dates as ISO writes them."""
    column = frame.columns[name]
    if isinstance(column, Coded):
        values = [None if code < 0 else column.categories[code] for code in column.codes.tolist()]
    elif not isinstance(column, np.ndarray):
        raise TableError(f"Column {name!r} is a block of counts; cases have single values.")
    elif column.dtype.kind == "M":
        values = [None if np.isnat(cell) else str(cell) for cell in column]
    else:
        values = column.tolist()
    return [None if np.isscalar(value) and is_missing(value) else value for value in values]
