"""The cases of a base with their index: kept, forgotten, ranked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from countwise.cases.case import Case, Match
from countwise.cases.columns import RecordColumn
from countwise.cases.ranking import Ranking
from countwise.cases.records import RecordSimilarity
from countwise.cases.values import Where, checked, key_of
from countwise.errors import OptionError, TableError, did_you_mean

__all__ = ["Store", "positive"]


class Store:
    """Cases by id, in the order in which they were retained.

    The index grows with each case. When one is forgotten or replaced it is made anew, with the next query.

    Parameters
    ----------
    declared : RecordSimilarity
        What the user says of attributes.
    """

    def __init__(self, declared: RecordSimilarity) -> None:
        self.declared = declared
        self.cases: dict[str | int, Case] = {}
        self._order: list[str | int] = []
        self._known: dict[Hashable, str | int] = {}
        self._records: RecordColumn | None = None
        self._settled: RecordSimilarity | None = None

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
        name = self._free_id() if case.id is None else case.id
        old = name in self.cases
        self.cases[name] = replace(case, id=name)
        if old:
            self._renew()
        else:
            self._append(name, pair)
        return name

    def _append(self, name: str | int, pair: Hashable) -> None:
        self._order.append(name)
        self._known.setdefault(pair, name)
        self._settled = None
        if self._records is not None:
            self._records.add(self.cases[name].problem)

    def forget(self, name: Any) -> Case:
        """Take a case out."""
        case = self.cases.pop(self.there(name))
        self._renew()
        return case

    def _free_id(self) -> int:
        number = len(self.cases) + 1
        while number in self.cases:
            number += 1
        return number

    def _renew(self) -> None:
        """Forget the index; it is made again when it is needed."""
        self._records = self._settled = None
        self._order, self._known = list(self.cases), {}
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
        if self._settled is None:
            self._settled = self.declared.settled_over(self.index())
        return self._settled

    def check_declared(self) -> None:
        """Refuse similarities and weights of attributes that no case has."""
        _check_names(self.declared, self.index(), "")

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
            positive(candidates, "candidates")
        problems = [case.problem for case in self.cases.values()]
        return Ranking(self.similarity(), asked, problems, self.index(), candidates)

    def match(self, asked: Mapping[str, Any], place: int, share: float) -> Match:
        """A case that was ranked, with its local similarities."""
        case = self.cases[self._order[place]].copy()
        return Match(case, share, self.similarity().parts(asked, case.problem))

    def solutions(self) -> Iterable[Any]:
        """All solutions."""
        return (case.solution for case in self.cases.values())


def _check_names(declared: RecordSimilarity, records: RecordColumn, path: str) -> None:
    similarities = declared.similarities or {}
    for name in [*similarities, *(declared.weights or {})]:
        if name not in records.columns:
            raise OptionError(f"No case has {path + name!r}.", hint=did_you_mean(name, records.columns))
        local = similarities.get(name)
        if isinstance(local, RecordSimilarity):
            _check_names(local, records.columns[name].records(), f"{path}{name}.")


def positive(value: Any, name: str) -> None:
    """Refuse what is no number of cases."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{name}={value!r} is no number of cases.", hint="give a whole number from 1.")
