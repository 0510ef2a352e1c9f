"""Tallies of engine tables: each tally is filled from the result of a group-by query.

For nominal columns, the query returns each combination of values and its weight. This small table with weights is
counted like any other. For numeric columns, the query returns sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise.data.attributes import Count, Nominal, Numeric
from countwise.data.columns import class_column
from countwise.data.derived import AsGiven, CountBlock
from countwise.data.frames import Frame, missing_columns, unused_name
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.engines.execute import whole
from countwise.engines.moments import Products, Sums, moments, products, totals, values
from countwise.engines.relation import MOST_GROUPS, Classes, ColumnSummary, Relation
from countwise.errors import CountwiseError, RowsRefused, TableError
from countwise.tallies import BuildRequests, Counted, Counts, Moments, Request, Scatter, Values, Words, derived_table
from countwise.tallies._cells import PatternMoments

__all__ = ["EnginePart", "moments_of", "refuse_identifiers", "scatter_of", "target_of"]


@dataclass(frozen=True, eq=False)
class EnginePart:
    """An engine table as a part of the training data; it is counted in the engine."""

    relation: Relation
    frame: Frame  # columns of the right types without rows
    name: str  # name of the target
    known: bool  # whether there is a target; if not, all rows belong to one class

    @classmethod
    def open(cls, relation: Relation, *, needs_target: bool = True) -> EnginePart:
        """Create the part of an engine table."""
        if relation.target is None and needs_target:
            raise TableError("This estimator requires y to be passed, but the target y is None.")
        empty = relation.empty()
        name = unused_name("class", empty) if relation.target is None else relation.target
        return cls(relation, empty, name, relation.target is not None)

    @property
    def left_out(self) -> int:
        """Number of rows without a target."""
        return self.classes.left_out

    @lazy
    def classes(self) -> Classes:
        """The classes and their weights, queried once."""
        return self.relation.classes()

    @property
    def n_rows(self) -> int:
        """Number of rows with a target."""
        return self.classes.rows

    def counted_as_given(self, error: CountwiseError) -> CountwiseError:
        """Return the error unchanged: rows of an engine table have no numbers."""
        return error

    def matched(self, schema: Schema) -> Frame:
        """Return the columns of a schema, in its order."""
        absent = [name for name in schema if name not in self.relation.dtypes]
        if absent:
            raise missing_columns(absent, self.relation.dtypes)
        return Frame({name: self.frame.columns[name] for name in schema}, 0, named=True)

    def count(
        self, schema: Schema, target: Nominal, build: BuildRequests, what: str = "", *, learn: bool = True
    ) -> Counted:
        """Fill the tallies that a model requests; domains are always learned from the results of the queries."""
        relation, classes = self.relation, self.classes
        if relation.target is not None and relation.target != target.name:
            raise TableError(
                f"The target is {relation.target!r}, but the model was trained with the target {target.name!r}."
            )
        self.matched(schema)
        if classes.rows == 0:
            raise TableError(
                "The table is empty or its target is missing in every row; at least one row with a target is needed."
            )
        target, label_type = target_of(relation, target, classes)
        nominal = [a.name for a in schema.attributes if isinstance(a, Nominal)]
        numeric = [a.name for a in schema.attributes if isinstance(a, Numeric)]
        look = relation.look(numeric, nominal)
        refuse_identifiers(look, schema, classes.rows)
        relation.refuse_no_counts([a.name for a in schema.attributes if isinstance(a, Count)])
        frames = {name: relation.groups([*relation.given, name]) for name in nominal}
        schema = Schema(
            [a.learn(frames[a.name][0].columns[a.name]) if isinstance(a, Nominal) else a for a in schema.attributes]
        )
        query = _Query(relation, look, schema, target, classes, frames, what)
        return Counted(schema, target, query.filled(build(schema, target)), classes.rows, label_type)


def target_of(relation: Relation, target: Nominal, classes: Classes) -> tuple[Nominal, np.dtype[Any] | None]:
    """Return the target with its observed classes; a single class if there is no target."""
    if relation.target is None:
        return target.learn(np.zeros(1, dtype=np.uint8)), np.dtype(np.uint8)
    column = classes.frame.columns[relation.target]
    label_type = column.dtype if isinstance(column, np.ndarray) else None
    return target.learn(class_column(column, relation.target), occurring=True), label_type


def refuse_identifiers(look: ColumnSummary, schema: Schema, rows: int) -> None:
    """Raise an error for a nominal column whose values are nearly all distinct; its group-by would be too large."""
    for name, n in look.distinct.items():
        a = schema[name]
        assert isinstance(a, Nominal)  # noqa: S101 - `distinct` has nominal columns only
        if n > MOST_GROUPS or (a.grows and n > 10_000 and name in look.ids):
            seen = min(look.ids.get(name, rows), rows)
            raise TableError(
                f"{name!r} looks like an identifier: it has {n:,} distinct values in {seen:,} rows.",
                hint="drop the column.",
            )


@dataclass(frozen=True, eq=False)
class _Query:
    """Queries for the requests of a model."""

    relation: Relation
    look: ColumnSummary
    schema: Schema
    target: Nominal
    classes: Classes
    frames: Mapping[str, Any]
    what: str

    def filled(self, requests: Mapping[str, Request]) -> dict[str, Any]:
        """Fill all tallies; one query returns the moments of all numeric columns."""
        moments = {
            key: (r.blank, r.derived.columns[0])
            for key, r in requests.items()
            if isinstance(r.blank, Moments) and r.derived is not None and r.derived.columns[0] not in self.frames
        }
        shown = {name for _, name in moments.values()}
        self.relation.refuse_infinity([name for name in self.schema if name not in shown])
        tallies: dict[str, Any] = self._moments(moments) if moments else {}
        return {key: tallies[key] if key in tallies else self._one(key, r) for key, r in requests.items()}

    def _one(self, key: str, request: Request) -> Any:
        derived, blank = request.derived, request.blank
        if derived is None:
            frame = self.classes.frame
            return blank.fill(Table({self.target.name: self._codes(frame)}, frame.n_rows, self.classes.weights))
        if isinstance(blank, Scatter) and not blank.higher:
            return self._scattered(blank)
        if isinstance(derived, CountBlock):
            return self._word_totals(blank, derived.columns)
        name = derived.columns[0] if derived.columns else ""
        if isinstance(blank, Values) and isinstance(derived, AsGiven):
            frame, weights = values(self.relation, name, self.look, self.relation.given, self.classes.rows)
        elif isinstance(blank, Counts | Moments) and name in self.frames:
            frame, weights = self.frames[name]
        elif isinstance(blank, Counts) and derived.flag:  # whether a number is positive, or present
            frame, weights = self.relation.cut({name: [0.0]}).groups([*self.relation.given, name])
        else:
            whole = len(derived.columns) != 1  # a derived column of all attributes has no name in the user's table
            raise RowsRefused(
                f"{self.what} needs the rows{'' if whole else f' of {name!r}'} in memory, but the table is in an "
                f"engine ({self.classes.rows:,} rows).",
                hint="collect the table into memory first."
                if whole
                else "collect the table into memory, or choose another type or distribution for the column.",
            )
        table = Schema(map(self.schema.__getitem__, derived.columns)).encode(frame, weights)
        tally = blank.fill(derived_table(table.with_column(self.target.name, self._codes(frame)), {key: request}))
        if isinstance(tally, Values) and self.relation.weights is not None:
            frame, sums = self.relation.squares(name)
            squares = np.zeros(len(self.target.values))
            np.add.at(squares, self._codes(frame), sums)
            tally = replace(tally, squares=None if (squares == tally.n).all() else squares)
        return tally

    def _codes(self, frame: Any) -> NDArray[Any]:
        """Return the code of the class of each row of a result."""
        if self.relation.target is None:
            return np.zeros(frame.n_rows, dtype=np.uint8)
        return self.target.encode(frame.columns[self.target.name], strict=True)

    def _word_totals(self, blank: Words, columns: Sequence[str]) -> Words:
        """Sum the counts in each class; a missing value counts 0."""
        frame, found = totals(self.relation, columns, self.relation.given)
        k = len(self.target.values)
        cells, n = np.zeros((k, len(columns))), np.zeros(k)
        np.add.at(cells, self._codes(frame), found)
        np.add.at(n, self._codes(self.classes.frame), self.classes.weights)
        return replace(blank, n=whole(n), cells=whole(cells))

    def _moments(self, requested: Mapping[str, tuple[Moments, str]]) -> dict[str, Moments]:
        """Compute n, the mean and M2 of numeric columns."""
        found = moments(self.relation, [name for _, name in requested.values()], self.look, self.relation.given)
        codes = self._codes(found.keys)
        return {
            key: replace(moments_of(blank, codes, found, j), seen=self.look.seen[name])
            for j, (key, (blank, name)) in enumerate(requested.items())
        }

    def _scattered(self, blank: Scatter) -> Scatter:
        """Compute means and scatter matrices for each pattern of non-missing columns."""
        numbers: list[tuple[str, Any]] = []
        for a in blank.of.attributes:
            numbers += [(a.name, value) for value in a.values] if isinstance(a, Nominal) else [(a.name, None)]
        if not numbers:  # every value of every column is missing
            return replace(blank, cells={})
        flags = [a.name for a in blank.of.attributes]
        found = products(self.relation, numbers, flags, self.look, self.relation.given)
        return scatter_of(blank, self._codes(found.keys), found)


def moments_of(blank: Moments, codes: NDArray[Any], found: Sums, j: int) -> Moments:
    """Fill the moments of one column from the results by group; `codes` are the classes of the groups."""
    k = len(blank.given.values)
    n, mean, m2 = np.zeros((3, k))
    mine = np.flatnonzero((codes < k) & (found.n[:, j] > 0))
    n[codes[mine]], mean[codes[mine]], m2[codes[mine]] = found.n[mine, j], found.mean[mine, j], found.m2[mine, j]
    return replace(blank, n=n, mean=mean, m2=m2)


def scatter_of(blank: Scatter, codes: NDArray[Any], found: Products) -> Scatter:
    """Fill the scatter matrices from the results by group and pattern; `codes` are the classes of the groups."""
    k = len(blank.given.values)
    cells: dict[bytes, PatternMoments] = {}
    for row in np.flatnonzero((codes < k) & (found.n > 0)):
        present = found.present[row][blank.of.owners]
        if not present.any():
            continue
        width = int(present.sum())
        key = np.packbits(found.present[row]).tobytes()
        if key not in cells:
            cells[key] = PatternMoments(np.zeros(k), np.zeros((k, width)), np.zeros((k, width, width)))
        at, c = cells[key], int(codes[row])
        assert at.scatter is not None  # noqa: S101 - set above
        at.n[c], at.mean[c] = found.n[row], found.mean[row][present]
        at.scatter[c] = found.scatter[row][np.ix_(present, present)]
    return replace(blank, cells=cells)
