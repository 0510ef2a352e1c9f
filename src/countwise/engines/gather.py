"""Tallies of a relation: each is asked of the engine in the form of a group-by, and filled from its answer.

Names are answered by every combination of values that there is and how often: a small table with weights, which is
counted as any other. Numbers are answered by sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.base.term import Term, blank_tallies, derive_checked
from countwise.data.attributes import Nominal, Numeric
from countwise.data.derived import CountBlock
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.engines.execute import whole
from countwise.engines.moments import Products, Sums, moments, products, totals, values
from countwise.engines.relation import MOST_GROUPS, Classes, ColumnSummary, Relation
from countwise.errors import RowsRefused, TableError, did_you_mean, listed
from countwise.sources.memory import memory
from countwise.tallies import Counts, Moments, Scatter, Values, Words
from countwise.tallies._cells import PatternMoments

__all__ = ["Gathered", "gathered", "moments_of", "refuse_identifiers", "scatter_of", "target_of"]


@dataclass(frozen=True, eq=False)
class Gathered:
    """What a relation was found to hold.

    Parameters
    ----------
    schema : Schema
    target : Nominal
    tallies : dict of str to tally
    n_rows, left_out : int
        Rows with a target, and without.
    label_type : dtype or None
        In which dtype the classes are kept.
    """

    schema: Schema
    target: Nominal
    tallies: dict[str, Any]
    n_rows: int
    left_out: int
    label_type: np.dtype[Any] | None


def gathered(
    relation: Relation,
    schema: Schema,
    target: Nominal,
    parts_of: Callable[[Schema, Nominal], list[Term]],
    what: str,
) -> Gathered:
    """Fill the tallies that a model asks for.

    Parameters
    ----------
    relation : Relation
    schema : Schema
        What the columns are; domains that grow are learned from the answers.
    target : Nominal
        The class.
    parts_of : callable
        What is to be tallied once the domains are known.
    what : str
        What asks, for errors.
    """
    if relation.target is not None and relation.target != target.name:
        raise TableError(f"The model tells {target.name!r}, not {relation.target!r}.")
    _refuse_lost(relation, schema)
    classes = relation.classes()
    if classes.rows == 0:
        raise TableError("The relation is empty: at least one row with a target is needed.")
    target, label_type = target_of(relation, target, classes)
    names = [a.name for a in schema.attributes if isinstance(a, Nominal)]
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    look = relation.look(numbers, names)
    refuse_identifiers(look, schema, classes.rows)
    frames = {name: relation.groups([*relation.given, name]) for name in names}
    schema = Schema(
        a.learn(frames[a.name][0].columns[a.name]) if isinstance(a, Nominal) else a for a in schema.attributes
    )
    parts = parts_of(schema, target)
    ask = _Asking(relation, look, schema, target, classes, frames, what)
    return Gathered(schema, target, ask.filled(parts), classes.rows, classes.left_out, label_type)


def target_of(relation: Relation, target: Nominal, classes: Classes) -> tuple[Nominal, np.dtype[Any] | None]:
    """The target with the classes that are there; a single one where none is told."""
    if relation.target is None:
        return target.learn(np.zeros(1, dtype=np.uint8)), np.dtype(np.uint8)
    told = memory(_with_a_column(classes.frame), relation.target, classes.weights)
    return target.learn(told.target), told.label_type


def _refuse_lost(relation: Relation, schema: Schema) -> None:
    lost = [name for name in schema if name not in relation.dtypes]
    if lost:
        raise TableError(
            f"The relation lacks the column{'s' * (len(lost) > 1)} {listed(lost)}.",
            hint=did_you_mean(lost[0], relation.dtypes) or f"it has {listed(relation.dtypes)}.",
        )


def refuse_identifiers(look: ColumnSummary, schema: Schema, rows: int) -> None:
    """A column with a value of its own in nearly every row would bring the whole column here."""
    for name, n in look.distinct.items():
        a = schema[name]
        assert isinstance(a, Nominal)  # noqa: S101 - asked of names alone
        if n > MOST_GROUPS or (a.grows and n > 10_000 and name in look.ids):
            seen = min(look.ids.get(name, rows), rows)
            raise TableError(
                f"{name!r} looks like an identifier: {n:,} different values in {seen:,} rows.",
                hint="leave the column out.",
            )


def _with_a_column(frame: Any) -> Any:
    """A frame of the target alone is no table; it gets a column that is not looked at."""
    return replace(frame, columns={**frame.columns, "cw_any": np.zeros(frame.n_rows)})


@dataclass(frozen=True, eq=False)
class _Asking:
    """Requests of a model put to the engine, the numbers of all moments in one question."""

    relation: Relation
    look: ColumnSummary
    schema: Schema
    target: Nominal
    classes: Classes
    frames: Mapping[str, Any]
    what: str

    def filled(self, parts: list[Term]) -> dict[str, Any]:
        asked = blank_tallies(parts, self.target)
        by_key = {part.key: part for part in parts}
        moments = {key: by_key[key].columns[0] for key, blank in asked.items() if isinstance(blank, Moments)}
        self.relation.refuse_infinity([name for name in self.schema if name not in moments.values()])
        tallies: dict[str, Any] = {}
        if moments:
            tallies.update(self._moments({key: (asked[key], name) for key, name in moments.items()}))
        for key, blank in asked.items():
            if key not in tallies:
                tallies[key] = self._one(by_key.get(key), blank)
        return {key: tallies[key] for key in asked}

    def _one(self, part: Term | None, blank: Any) -> Any:
        if part is None:
            return blank.fill(self._encoded(self.classes.frame, self.classes.weights, Schema([]), []))
        if isinstance(blank, Scatter) and not blank.higher:
            return self._scattered(blank)
        if isinstance(blank, Words) and isinstance(part.derived, CountBlock):
            return self._urn(blank, part.columns)
        if isinstance(blank, Values) and part.as_given:
            frame, weights = values(self.relation, part.columns[0], self.look, self.relation.given, self.classes.rows)
        elif isinstance(blank, Counts) and part.columns[0] in self.frames:
            frame, weights = self.frames[part.columns[0]]
        elif isinstance(blank, Counts) and part.derived.flag:
            return self._by_sign(part, blank)
        else:
            raise RowsRefused(
                f"{self.what} needs the rows of {part.key!r}; the relation has {self.classes.rows:,}.",
                hint="fetch them into memory, or give the column another law.",
            )
        own = Schema(self.schema[name] for name in part.columns)
        return blank.fill(self._encoded(frame, weights, own, [part]))

    def _codes(self, frame: Any) -> NDArray[Any]:
        """The class of each row of an answer."""
        if self.relation.target is None:
            return np.zeros(frame.n_rows, dtype=np.uint8)
        return self.target.encode(frame.columns[self.target.name], strict=True)

    def _encoded(self, frame: Any, weights: NDArray[Any], schema: Schema, parts: Sequence[Term]) -> Table:
        codes = {self.target.name: self._codes(frame)}
        if not len(schema):
            return Table(codes, frame.n_rows, weights)
        return derive_checked(
            schema.encode(frame, weights).with_column(self.target.name, codes[self.target.name]), parts
        )

    def _by_sign(self, part: Term, blank: Counts) -> Counts:
        """Whether a number is above 0, or there at all, of each class."""
        name = part.columns[0]
        frame, weights = self.relation.cut({name: [0.0]}).groups([*self.relation.given, name])
        column = Numeric(name).encode(frame.columns[name]).astype(np.float64)
        rows = Table({name: column, self.target.name: self._codes(frame)}, frame.n_rows, weights)
        return blank.fill(derive_checked(rows, [part]))

    def _urn(self, blank: Words, columns: Sequence[str]) -> Words:
        """Totals of counts in each class; a missing cell adds nothing."""
        frame, found = totals(self.relation, columns, self.relation.given)
        k = len(self.target.values)
        cells, n = np.zeros((k, len(columns))), np.zeros(k)
        np.add.at(cells, self._codes(frame), found)
        np.add.at(n, self._codes(self.classes.frame), self.classes.weights)
        return replace(blank, n=whole(n), cells=whole(cells))

    def _moments(self, asked: Mapping[str, tuple[Moments, str]]) -> dict[str, Moments]:
        """n, mean and M2 of numbers."""
        found = moments(self.relation, [name for _, name in asked.values()], self.look, self.relation.given)
        codes = self._codes(found.keys)
        return {key: moments_of(blank, codes, found, j) for j, (key, (blank, _)) in enumerate(asked.items())}

    def _scattered(self, blank: Scatter) -> Scatter:
        """Means and products of whole rows, for each pattern of what is there."""
        numbers: list[tuple[str, Any]] = []
        for a in blank.of.attributes:
            numbers += [(a.name, value) for value in a.values] if isinstance(a, Nominal) else [(a.name, None)]
        flags = [a.name for a in blank.of.attributes]
        found = products(self.relation, numbers, flags, self.look, self.relation.given)
        return scatter_of(blank, self._codes(found.keys), found)


def moments_of(blank: Moments, codes: NDArray[Any], found: Sums, j: int) -> Moments:
    """The tally of one number, from the answer for each group and the class that it is."""
    k = len(blank.given.values)
    n, mean, m2 = (np.zeros(k) for _ in range(3))
    mine = np.flatnonzero((codes < k) & (found.n[:, j] > 0))
    n[codes[mine]], mean[codes[mine]], m2[codes[mine]] = found.n[mine, j], found.mean[mine, j], found.m2[mine, j]
    return replace(blank, n=n, mean=mean, m2=m2)


def scatter_of(blank: Scatter, codes: NDArray[Any], found: Products) -> Scatter:
    """The tally of whole rows, from the answer for each group and pattern."""
    k = len(blank.given.values)
    cells: dict[bytes, PatternMoments] = {}
    for row in np.flatnonzero((codes < k) & (found.n > 0)):
        there = found.present[row][blank.of.owners]
        if not there.any():
            continue
        width = int(there.sum())
        key = np.packbits(found.present[row]).tobytes()
        if key not in cells:
            cells[key] = PatternMoments(np.zeros(k), np.zeros((k, width)), np.zeros((k, width, width)))
        at, c = cells[key], int(codes[row])
        assert at.scatter is not None  # noqa: S101 - just made
        at.n[c], at.mean[c] = found.n[row], found.mean[row][there]
        at.scatter[c] = found.scatter[row][np.ix_(there, there)]
    return replace(blank, cells=cells)
