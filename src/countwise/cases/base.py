"""Case base with the CBR cycle of Aamodt and Plaza (1994): retrieve, reuse, revise, retain."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, islice, takewhile
from typing import Any

import numpy as np

from countwise.cases.answer import CaseAnswer
from countwise.cases.case import Case, Match, case_of
from countwise.cases.columns import RecordColumn
from countwise.cases.ranking import Ranking
from countwise.cases.records import RecordSimilarity
from countwise.cases.reuse import Backtrack, adapted, check_combine, combined, rules_of
from countwise.cases.values import Where, checked, copied, key_of
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
from countwise.working.numbers import counted

__all__ = ["CaseBase"]


class _Unchanged:
    """Default of arguments that leave a value as it is; `help` shows its name."""

    def __repr__(self) -> str:
        return "unchanged"


_SAME: Any = _Unchanged()
_ROUNDING = 1e-12
_COUNT = NumberIn(1, whole=True)  # number of cases
_SIMILARITY = NumberIn(0, 1)


class CaseBase:
    """Case base for case-based reasoning: retrieve, reuse, revise and retain.

    The similarity of a query and a case is the weighted mean of the local similarities of the attributes in the
    query. `solve` retrieves the most similar case, or several cases whose solutions it combines, and adapts the
    solution by rules. The result explains each of these steps.

    Parameters
    ----------
    cases : iterable of Case or of pairs (problem, solution), optional
        Initial cases.
    similarities : mapping of attribute to similarity or function, optional
        Local similarity of each attribute. A function takes the value in the query and the value in the case, and
        returns a number from 0 to 1. For other attributes, the type of their values decides; see `RecordSimilarity`.
    weights : mapping of attribute to number, optional
        Weights of the attributes. Attributes not in the mapping have weight 1.
    missing : {'zero', 'ignore'}, default='zero'
        Treatment of an attribute of the query that a case does not have. 'zero' counts it with similarity 0.
        'ignore' leaves it out of the weighted mean.
    rules : iterable of functions, optional
        Adaptation rules ``rule(query, case, solution)``, applied in this order. A rule returns the solution, changed
        or unchanged. If it returns None or raises `AdaptationFailed`, the case is rejected and the next most similar
        case is tried.

    See Also
    --------
    RecordSimilarity : Similarity of the problems in a case base.

    References
    ----------
    Aamodt, A. and Plaza, E. (1994). Case-based reasoning: foundational issues, methodological variations, and system
    approaches. AI Communications 7(1), 39-59.

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
      attribute  query     case      comparison     similarity
      noise      grinding  grinding  equal                1
      hours      700       900       1 - 200 / 800        0.75
      mean: 1.75 / 2 = 0.875
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
            raise TableError(
                f"cases must be a list of cases, not {type(cases).__name__}.",
                hint="pass [Case(problem, solution), ...].",
            )
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
        id: str | None = None,  # noqa: A002 - the established name
        **settings: Any,
    ) -> CaseBase:
        """Create a case base with a case for each row of a table.

        Parameters
        ----------
        X : table
            Any table that models can be fitted to. Dates become strings in ISO format.
        solution : str or list of str
            Column of the solutions. With a list, each solution is a record of these columns.
        id : str, optional
            Column of the case ids. By default the cases are numbered from 1.
        **settings
            Keyword arguments of `CaseBase`.

        Returns
        -------
        CaseBase

        Raises
        ------
        SchemaError
            If the table has no such column.
        TableError
            If a row has no solution, no problem or no id.

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
        return self._store.cases[self._store.known(name)].copy()

    def __repr__(self) -> str:
        names = listed(self._store.index().columns) if self._store.cases else "none yet"
        return f"<case base of {counted(len(self), 'case')}; attributes: {names}>"

    def describe(self) -> Grid:
        """Return the local similarity and the weight of each attribute.

        Returns
        -------
        Grid
            Columns ``attribute``, ``similarity``, ``weight`` and ``values`` (number of distinct values).

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"noise": "grinding", "hours": 900}, "bearing")], weights={"noise": 2})
        >>> print(base.describe())
        attribute  similarity        weight  values
        noise      EqualSimilarity        2       1
        hours      NumberSimilarity       1       1
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

    def retrieve(
        self, query: Mapping[str, Any], k: int = 1, *, candidates: int | None = None, min_similarity: float = 0.0
    ) -> list[Match]:
        """Retrieve the k cases that are most similar to a query.

        Parameters
        ----------
        query : mapping of attribute to value
            The problem to solve. Attributes that are None or not in the mapping are ignored.
        k : int, default=1
            Number of cases. Ties go to the case that was retained first.
        candidates : int, optional
            Largest number of cases whose exact similarity is computed. They are the cases with the largest upper
            bounds of the similarity, so a more similar case may be missed. By default the result is exact.
        min_similarity : float, default=0.0
            Smallest similarity of a case, from 0 to 1. Cases that are less similar are not returned.

        Returns
        -------
        list of Match
            The cases with their similarity, the most similar first.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"noise": "hum", "hours": 900}, "bearing"), ({"noise": "hiss", "hours": 100}, "seal")])
        >>> [(match.case.id, match.similarity) for match in base.retrieve({"noise": "hiss", "hours": 300}, 2)]
        [(2, 0.875), (1, 0.125)]
        """
        check_value("k", k, _COUNT)
        check_value("min_similarity", min_similarity, _SIMILARITY)
        checked_query = self._store.checked_query(query)
        near = takewhile(_enough(min_similarity), self._store.ranking(checked_query, candidates))
        return [self._store.match(checked_query, *found) for found in islice(near, k)]

    def solve(
        self,
        query: Mapping[str, Any],
        k: int = 1,
        *,
        candidates: int | None = None,
        combine: str | Mapping[str, str] | None = None,
        min_similarity: float = 0.0,
        required: bool = False,
    ) -> CaseAnswer:
        """Solve a problem by reusing and adapting the solutions of the most similar cases.

        Parameters
        ----------
        query : mapping of attribute to value
            The problem to solve. Attributes that are None or not in the mapping are ignored.
        k : int, default=1
            Number of cases whose solutions are combined.
        candidates : int, optional
            Largest number of cases whose exact similarity is computed; see `retrieve`.
        combine : {'weighted', 'majority', 'mean', 'best'} or mapping of solution attribute to these, optional
            How the solutions of k cases are combined. 'weighted' is a vote weighted by similarity, 'majority' an
            unweighted vote, 'mean' the mean weighted by similarity, and 'best' copies the most similar case. By
            default it is 'weighted' for strings and booleans, 'mean' for numbers and 'best' for other values.
        min_similarity : float, default=0.0
            Smallest similarity of a case that is used, from 0 to 1. If no case is that similar, there is no solution.
        required : bool, default=False
            If True, raise `AdaptationFailed` if there is no solution.

        Returns
        -------
        CaseAnswer
            The solution and its explanation. Its `solution` is None if no case is similar enough or could be adapted.

        Raises
        ------
        AdaptationFailed
            If `required` is True and there is no solution.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"size": 60}, 800), ({"size": 80}, 1000), ({"size": 140}, 2000)])
        >>> base.solve({"size": 70}, 2).solution
        900.0
        """
        check_value("k", k, _COUNT)
        check_value("min_similarity", min_similarity, _SIMILARITY)
        check_combine(combine, [case.solution for case in self._store.cases.values()])
        checked_query = self._store.checked_query(query)
        ranking = self._store.ranking(checked_query, candidates)
        backtracks: list[Backtrack] = []
        first = next(ranking, None)
        near = takewhile(_enough(min_similarity), () if first is None else chain((first,), ranking))
        for window in _windows((self._store.match(checked_query, *found) for found in near), k):
            solution, steps = combined(window, combine)
            adaptations, rejected = adapted(self._rules, checked_query, window[0], solution)
            if rejected is None:
                solution = adaptations[-1].after if adaptations else solution
                rest = (tuple(window), steps, adaptations, tuple(backtracks), ranking.effort)
                return CaseAnswer(checked_query, copied(solution), *rest, proposed=solution)
            backtracks.append(rejected)
        answer = CaseAnswer(checked_query, None, (), (), (), tuple(backtracks), ranking.effort)
        if first is not None and not backtracks:
            answer = replace(answer, nearest=self._store.match(checked_query, *first), min_similarity=min_similarity)
        if required:
            raise AdaptationFailed(answer.explain().answer, hint="use explain(query) to see why.")
        return answer

    def explain(self, query: Mapping[str, Any], k: int = 1, **settings: Any) -> Account:
        """Explain how `solve` finds the solution of a query.

        Parameters
        ----------
        query : mapping of attribute to value
            The problem to solve.
        k : int, default=1
            Number of cases whose solutions are combined.
        **settings
            Further keyword arguments of `solve`.

        Returns
        -------
        Account
            The working; print it, or display it in a notebook.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"size": 60}, 800), ({"size": 80}, 1000), ({"size": 140}, 2000)])
        >>> base.explain({"size": 70}, 2).answer
        '900, from case 1 (similarity 0.875) and 1 other case.'
        """
        return self.solve(query, k, **settings).explain()

    def revise(
        self, answer: CaseAnswer, *, solution: Any = _SAME, outcome: Any = _SAME, notes: str = _SAME
    ) -> CaseAnswer:
        """Correct a proposed solution, or record its outcome.

        Parameters
        ----------
        answer : CaseAnswer
            The result of `solve`.
        solution : value, optional
            The corrected solution. By default the proposed one is kept.
        outcome : value, optional
            The outcome of applying the solution.
        notes : str, optional
            Free text.

        Returns
        -------
        CaseAnswer
            The revised copy, which can be passed to `retain`.

        Raises
        ------
        OptionError
            If nothing is revised, or if `answer` is not a CaseAnswer.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"noise": "grinding"}, "bearing"), ({"noise": "hiss"}, "seal")])
        >>> base.revise(base.solve({"noise": "hiss"}), solution="valve", outcome="works").solution
        'valve'
        """
        if not isinstance(answer, CaseAnswer):
            raise OptionError(
                f"answer must be a CaseAnswer, not {type(answer).__name__}.", hint="pass the result of solve."
            )
        given = {"solution": solution, "outcome": outcome, "notes": notes}
        changes = {name: value for name, value in given.items() if value is not _SAME}
        if not changes:
            raise OptionError("There is nothing to revise.", hint="pass solution, outcome or notes.")
        for name in changes.keys() - {"notes"}:
            changes[name] = checked(changes[name], Where(f"the {name}"), whole=True)
        return replace(answer, **changes, revised=True)

    def retain(
        self,
        problem: Mapping[str, Any] | CaseAnswer | Case,
        solution: Any = None,
        *,
        id: str | int | None = None,  # noqa: A002 - the established name
        outcome: Any = None,
        notes: str = "",
        replace: bool = False,
        duplicates: str = "refuse",
    ) -> str | int:
        """Add a case to the case base.

        Parameters
        ----------
        problem : mapping, CaseAnswer or Case
            The problem. A CaseAnswer and a Case also provide the solution, the outcome and the notes.
        solution : value, optional
            The solution; it replaces that of a CaseAnswer or Case.
        id : str or int, optional
            Id of the case. By default the next free number.
        outcome : value, optional
            The outcome of applying the solution.
        notes : str, default=""
            Free text.
        replace : bool, default=False
            Whether a case with the same id is replaced; the new case takes its position. If False, an existing id
            raises an error.
        duplicates : {'refuse', 'skip', 'keep'}, default='refuse'
            Treatment of a case with the same problem and solution as an existing one. 'refuse' raises an error,
            'skip' does not add it, and 'keep' adds it.

        Returns
        -------
        str or int
            Id of the case. For a skipped duplicate, the id of the existing case.

        Raises
        ------
        OptionError
            If the id exists and `replace` is False, or if the case is a duplicate and `duplicates` is 'refuse'.
        TableError
            If the case has no problem or no solution, or a value cannot be compared.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"noise": "grinding"}, "bearing")])
        >>> base.retain({"noise": "hiss"}, "seal", outcome="works")
        2
        """
        check_value("duplicates", duplicates, ("refuse", "skip", "keep"))
        parts = {"solution": solution, "id": id, "outcome": outcome, "notes": notes or None}
        given = {name: value for name, value in parts.items() if value is not None}
        case = Case(**(_fields(problem) | given))
        return self._store.keep(case, replacing=replace, duplicates=duplicates)

    def forget(self, name: str | int) -> Case:
        """Remove a case from the case base.

        Parameters
        ----------
        name : str or int
            Id of the case.

        Returns
        -------
        Case
            The removed case.

        Raises
        ------
        OptionError
            If there is no case with this id.

        Examples
        --------
        >>> from countwise import CaseBase
        >>> base = CaseBase([({"noise": "grinding"}, "bearing"), ({"noise": "hiss"}, "seal")])
        >>> base.forget(1).solution, len(base)
        ('bearing', 1)
        """
        return self._store.forget(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the case base to a JSON file.

        Functions (adaptation rules and similarities) are saved by name only; pass them again to `load`.

        Parameters
        ----------
        path : str or path
            Path of the file. An existing file is replaced.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from countwise import CaseBase
        >>> path = pathlib.Path(tempfile.mkdtemp(), "pumps.json")
        >>> CaseBase([({"noise": "grinding"}, "bearing")]).save(path)
        >>> CaseBase.load(path)
        <case base of 1 case; attributes: 'noise'>
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
        """Load a case base from a file written by `save`.

        Parameters
        ----------
        path : str or path
            Path of the file.
        rules : iterable of functions, optional
            The adaptation rules of the case base, which are not in the file. Their order does not matter.
        similarities : mapping of attribute to function, optional
            The similarity functions of the case base, which are not in the file. Attributes of nested records are
            written with dots, such as ``"hotel.stars"``.

        Returns
        -------
        CaseBase

        Raises
        ------
        ModelFileError
            If the file cannot be read, is damaged or holds no case base.
        OptionError
            If a function is missing or was not in the case base.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from countwise import CaseBase
        >>> path = pathlib.Path(tempfile.mkdtemp(), "pumps.json")
        >>> CaseBase([({"noise": "grinding"}, "bearing"), ({"noise": "hiss"}, "seal")]).save(path)
        >>> CaseBase.load(path).solve({"noise": "hiss"}).solution
        'seal'
        """
        from countwise.cases.files import load_base

        return load_base(cls, path, tuple(rules), dict(similarities or {}))


def _enough(min_similarity: float) -> Callable[[tuple[Case, float]], bool]:
    """Return whether a case of a ranking is similar enough."""
    return lambda found: found[1] >= min_similarity - _ROUNDING


def _windows(matches: Iterator[Match], k: int) -> Iterator[list[Match]]:
    """Yield the first k matches, and then windows that are shifted by one match each."""
    window = list(islice(matches, k))
    while window:
        yield window
        window = [*window[1:], *islice(matches, 1)]


def _fields(problem: Any) -> dict[str, Any]:
    """Return the fields of a new case, given a Case, a CaseAnswer or a problem."""
    if isinstance(problem, Case):
        return vars(problem)
    if isinstance(problem, CaseAnswer):
        return {"problem": problem.query} | {
            name: getattr(problem, name) for name in ("solution", "outcome", "notes")
        }
    return {"problem": problem, "solution": None}


class _Store:
    """Cases by id, in the order in which they were retained, with an index for retrieval.

    New cases are added to the index. After a case was forgotten or replaced, the next query builds a new index.
    """

    def __init__(self, declared: RecordSimilarity) -> None:
        self.declared = declared  # similarities and weights as given by the user
        self.cases: dict[str | int, Case] = {}
        self._ids: dict[Hashable, str | int] = {}  # by problem and solution
        self._records: RecordColumn | None = None
        self._fitted: RecordSimilarity | None = None

    def known(self, name: Any) -> str | int:
        """Return an id; raise OptionError if no case has it."""
        if not isinstance(name, str | int) or name not in self.cases:
            raise OptionError(f"There is no case with id {name!r}.", hint=did_you_mean(name, self.cases))
        return name

    def keep(self, given: Case, *, replacing: bool = False, duplicates: str = "keep") -> str | int:
        """Check a case, add it to the base and the index, and return its id."""
        case = given.checked()
        self.declared.check(case.problem, Where(case.label))
        if case.id in self.cases and not replacing:
            raise OptionError(
                f"A case with id {case.id!r} already exists.",
                hint="use another id, or replace the case with retain(..., replace=True).",
            )
        pair = (key_of(case.problem), key_of(case.solution))
        same = self._ids.get(pair)
        if same is not None and same != case.id and duplicates != "keep":
            if duplicates == "skip":
                return same
            raise OptionError(
                f"Case {same!r} has the same problem and solution.", hint="use duplicates='keep' or 'skip'."
            )
        name = case.id
        if name is None:
            name = next(n for n in count(len(self.cases) + 1) if n not in self.cases)
        old = name in self.cases
        self.cases[name] = replace(case, id=name)
        if old:
            self._renew()
            return name
        self._ids.setdefault(pair, name)
        self._fitted = None
        if self._records is not None:
            self._records.add(case.problem)
        return name

    def forget(self, name: Any) -> Case:
        """Remove a case and return it."""
        case = self.cases.pop(self.known(name))
        self._renew()
        return case

    def _renew(self) -> None:
        """Discard the index; it is rebuilt when it is needed."""
        self._records = self._fitted = None
        self._ids = {}
        for name, case in self.cases.items():
            self._ids.setdefault((key_of(case.problem), key_of(case.solution)), name)

    def index(self) -> RecordColumn:
        """Return the problems by column."""
        if self._records is None:
            self._records = RecordColumn()
            for case in self.cases.values():
                self._records.add(case.problem)
        return self._records

    def similarity(self) -> RecordSimilarity:
        """Return the similarity of problems, fitted to the cases."""
        if not self.cases:
            raise TableError("The case base is empty.", hint="add a case with retain first.")
        if self._fitted is None:
            self._fitted = self.declared.fitted_over(self.index())
        return self._fitted

    def checked_query(self, query: Any) -> dict[str, Any]:
        """Return a checked copy of a query, without missing values."""
        similarity = self.similarity()
        if not isinstance(query, Mapping):
            raise TableError(
                f"The query must be a mapping of attribute to value, not {type(query).__name__}.",
                hint="pass {'attribute': value}.",
            )
        for name in query:
            similarity.local(name)
        found: dict[str, Any] = checked(query, Where("the query"))
        if not found:
            raise TableError("Every attribute of the query is missing.", hint="pass a value for at least one.")
        similarity.check_asked(found, Where("the query"))
        return found

    def ranking(self, query: Mapping[str, Any], candidates: int | None) -> Ranking:
        """Return the cases in descending order of similarity."""
        if candidates is not None:
            check_value("candidates", candidates, _COUNT)
        return Ranking(self.similarity(), query, list(self.cases.values()), self.index(), candidates)

    def match(self, query: Mapping[str, Any], case: Case, similarity: float) -> Match:
        """Return a ranked case with its local similarities."""
        return Match(case.copy(), similarity, self.similarity().parts(query, case.problem))


def _check_names(declared: RecordSimilarity, records: RecordColumn, path: str) -> None:
    """Raise OptionError for similarities and weights of attributes that no case has."""
    similarities = declared.similarities or {}
    for name in [*similarities, *(declared.weights or {})]:
        if name not in records.columns:
            setting = "similarities" if name in similarities else "weights"
            raise OptionError(
                f"{setting} refers to attribute {path + name!r}, but no case has such an attribute.",
                hint=did_you_mean(name, records.columns),
            )
        local = similarities.get(name)
        if isinstance(local, RecordSimilarity):
            _check_names(local, records.columns[name].records(), f"{path}{name}.")


def _cases_of(X: Any, solution: str | Sequence[str], ids: str | None) -> Iterator[Case]:
    """Yield the rows of a table as cases."""
    frame = frame_of(X)
    names = [solution] if isinstance(solution, str) else list(solution)
    if not names:
        raise TableError("solution is empty; at least one column of solutions is needed.")
    for name in [*names, *([] if ids is None else [ids])]:
        if name not in frame.columns:
            raise SchemaError(f"The table has no column {name!r}.", hint=did_you_mean(name, frame.names))
    columns = {name: _values(frame, name) for name in frame.names}
    for row in range(frame.n_rows):
        problem = {name: column[row] for name, column in columns.items()}
        solved = {name: problem.pop(name) for name in names}
        if all(value is None for value in solved.values()):
            raise TableError(f"The solution is missing in row {row}.", hint="drop the row.", row=row)
        if all(value is None for name, value in problem.items() if name != ids):
            raise TableError(f"Every value of the problem in row {row} is missing.", hint="drop the row.", row=row)
        mine = None if ids is None else problem.pop(ids)
        if ids is not None and mine is None:
            raise TableError(f"The id in column {ids!r} is missing in row {row}.", row=row)
        if isinstance(mine, float) and mine.is_integer():  # a missing value turns a column of integers into floats
            mine = int(mine)
        yield Case(problem, solved[solution] if isinstance(solution, str) else solved, mine)


def _values(frame: Frame, name: str) -> list[Any]:
    """Return a column as Python objects: None for missing values, ISO strings for dates."""
    column = frame.columns[name]
    if isinstance(column, Coded):
        values = [None if code < 0 else column.categories[code] for code in column.codes.tolist()]
    elif not isinstance(column, np.ndarray):
        raise TableError(f"{name!r} is a block of count columns; a case needs a single value for each attribute.")
    elif column.dtype.kind == "M":
        values = [None if np.isnat(value) else str(value) for value in column]
    else:
        values = column.tolist()
    return [None if np.isscalar(value) and is_missing(value) else value for value in values]
