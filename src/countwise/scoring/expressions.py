"""Cells of a table that an engine holds, as expressions: what a column is decides how its cells are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.frames import missing_columns
from countwise.engines import query as nw
from countwise.engines.execute import micros
from countwise.errors import TableError
from countwise.scoring.plan import Node, Number, Test, kind_of, time_of

__all__ = ["ScoringQuery", "all_of", "first", "first_of", "ranged", "real", "written"]

_START = datetime(1970, 1, 1)


class ScoringQuery:
    """A table of an engine, opened to be answered: it must have `columns`, and must not have those that are given."""

    def __init__(self, X: Any, columns: Sequence[str], given: Sequence[str]) -> None:
        self.frame = nw.from_native(X)
        self.dtypes = dict(self.frame.collect_schema())
        absent = list(dict.fromkeys(name for name in columns if name not in self.dtypes))
        if absent:
            raise missing_columns(absent, self.dtypes)
        for name in self.dtypes:
            if name in given or name.startswith("cw_"):
                why = "is the name of an answer" if name in given else "starts with cw_, as working columns do"
                raise TableError(f"The table has a column {name!r}, which {why}.", hint="rename it.")

    @classmethod
    def open(cls, X: Any, plan: Any, proba: bool, reasons: int) -> tuple[ScoringQuery, str, list[str], list[str]]:
        """A table opened for the columns of a plan, and what the answer, its probabilities and reasons are named."""
        answer, shares = f"predicted {plan.target}", [f"P({v})" for v in plan.classes] if proba else []
        said = [f"reason {r + 1}" for r in range(reasons)]
        return cls(X, plan.columns, [answer, *shares, *said]), answer, shares, said

    def given(self, plan: Any, answers: Mapping[str, Any]) -> Any:
        """The columns of the table and the answers; those are named last, for Spark looks for dots in names."""
        return plan.select(*self.dtypes, *(answer.alias(name) for name, answer in answers.items())).to_native()

    def number(self, name: str) -> Any:
        """A number; null where there is none. A point in time is seconds, as in memory."""
        column, dtype = nw.col(name), self.dtypes[name]
        if dtype == nw.Boolean:
            no = nw.when(~column).then(real(0.0))
            return nw.when(column).then(real(1.0)).otherwise(no)
        if dtype == nw.Date or dtype == nw.Datetime:
            return micros(name, dtype) / 1e6
        x = column.cast(nw.Float64)
        return nw.when(x.is_finite()).then(x)

    def there(self, name: str) -> Any:
        """Whether a cell is there; NaN is missing."""
        column = nw.col(name)
        return column.is_finite() if self.dtypes[name].is_float() else ~column.is_null()

    def _compared(self, name: str, values: Sequence[Any]) -> tuple[Any, dict[Any, int]]:
        """A column, and by what it is compared with, the place of each value that it can have at all."""
        column, dtype, kind = nw.col(name), self.dtypes[name], kind_of(values)
        keys: Sequence[Any] = ()
        if dtype == nw.Date or dtype == nw.Datetime:
            column = micros(name, dtype)
            times = [time_of(v) for v in values] if kind in ("time", "text") else []
            keys = [None if t is None else float((t - _START) // timedelta(microseconds=1)) for t in times]
        elif dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
            column = column if dtype == nw.String else column.cast(nw.String)
            keys = [v if isinstance(v, str) else None for v in values]
        elif kind in ("text", "time"):
            pass  # no name is a number
        elif dtype == nw.Boolean:
            keys = [bool(v) if v in (0, 1) else None for v in values]
        elif (dtype == nw.Int64 or dtype == nw.UInt64) and kind != "number":
            keys = [int(v) for v in values]  # doubles would not tell large ones apart
        else:
            column, keys = column.cast(nw.Float64), [float(v) for v in values]
        return column, {key: i for i, key in enumerate(keys) if key is not None}

    def looked_up(
        self, name: str, values: Sequence[Any], numbers: Sequence[float], other: float = 0.0, gap: float = 0.0
    ) -> Any:
        """The number that belongs to a cell's value; else `other`, and `gap` where the cell is missing."""
        column, keys = self._compared(name, values)
        found = default = real(other)
        if keys:
            own = [float(numbers[i]) for i in keys.values()]
            found = column.replace_strict(list(keys), own, default=default, return_dtype=nw.Float64)
        return found if other == gap else nw.when(self.there(name)).then(found).otherwise(real(gap))

    def way(self, node: Node) -> Any:
        """The number of the child that a test leads to; -1 where none does."""
        first = node.tests[0]
        tests = [(b, test) for b, test in enumerate(node.tests) if not test.missing]
        if first.domain is not None:
            named = {v: float(b) for b, test in tests for v in test.values or ()}
            return self.looked_up(first.column, list(named), list(named.values()), -1.0, -1.0)
        x, edges = self.number(first.column), np.array([test.high for _, test in tests[:-1]])
        return nw.when(~x.is_null()).then(ranged(x, edges, [float(b) for b, _ in tests])).otherwise(real(-1.0))

    def one_of(self, name: str, values: Sequence[Any]) -> Any:
        """Whether a cell has one of some values; not if it is missing."""
        column, keys = self._compared(name, values)
        if not keys:
            return nw.lit(1) == 0
        return nw.when(column.is_in(list(keys))).then(nw.lit(1)).otherwise(nw.lit(0)) == 1

    def holds(self, test: Test) -> Any:
        """Whether a test holds: never null."""
        if test.domain is not None:
            if test.missing:
                return ~self.one_of(test.column, test.domain)
            return self.one_of(test.column, test.domain if test.values is None else test.values)
        x = self.number(test.column)
        if test.missing:
            return x.is_null()
        found = [~x.is_null()]
        found += [] if test.low is None else [x > test.low]
        found += [] if test.high is None else [x <= test.high]
        return nw.when(all_of(found)).then(nw.lit(1)).otherwise(nw.lit(0)) == 1

    def of(self, n: Number) -> Any:
        """A number of a row, or null."""
        if n.values is None:
            return self.number(n.column)
        known = nw.when(self.one_of(n.column, n.values)).then(real(0.0))
        return nw.when(self.one_of(n.column, (n.value,))).then(real(1.0)).otherwise(known)


def real(x: float) -> Any:
    """A double; by Ibis it is written as a decimal, and must not meet decimals alone: they get too many digits."""
    return nw.lit(float(x), nw.Float64)


def first(x: float) -> Any:
    """The first double of a sum or product, which all that follow become like."""
    return nw.lit(0).cast(nw.Float64) + float(x)


def written(cell: Any) -> Any:
    """A value as an expression."""
    return real(cell) if isinstance(cell, float) else nw.lit(cell)


def all_of(conditions: Sequence[Any]) -> Any:
    """Whether all hold."""
    return reduce(and_, conditions)


def first_of(cases: Sequence[tuple[Any, Any]], other: Any) -> Any:
    """What belongs to the first condition that holds; else the other."""
    for condition, said in reversed(cases):
        other = nw.when(condition).then(said).otherwise(other)
    return other


def ranged(x: Any, edges: Floats, cells: Sequence[Any]) -> Any:
    """The cell of the range (lo, hi] that a number lies in, by halving: engines do not like to nest deeply."""
    if len(edges) == 0:
        return written(cells[0])
    middle = len(edges) // 2
    below = ranged(x, edges[:middle], cells[: middle + 1])
    above = ranged(x, edges[middle + 1 :], cells[middle + 1 :])
    return nw.when(x <= float(edges[middle])).then(below).otherwise(above)
