"""Expressions over the columns of an engine table; the dtype of a column determines how its values are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.frames import missing_columns
from countwise.engines import query as nw
from countwise.engines.execute import in_utc, micros
from countwise.errors import NumberIn, OptionError, TableError, check_flag, check_value, listed
from countwise.scoring.plan import Node, Number, Test, time_of, value_type

__all__ = ["ScoringQuery", "all_of", "binned", "first", "first_of", "real", "written"]

_MOST_REASONS = 100  # each is a column of the result
_START = datetime(1970, 1, 1)


class ScoringQuery:
    """An engine table for prediction; it must have `columns`, and none of the names `given` to new columns."""

    def __init__(self, X: Any, columns: Sequence[str], given: Sequence[str]) -> None:
        try:
            self.frame = nw.from_native(X)
        except TypeError:
            raise TableError(
                f"A {type(X).__name__} is not a data frame.",
                hint="pass a pandas, Polars or PyArrow table or an engine table, or use predict.",
            ) from None
        self.dtypes = dict(self.frame.collect_schema())
        absent = list(dict.fromkeys(name for name in columns if name not in self.dtypes))
        if absent:
            raise missing_columns(absent, self.dtypes)
        self._check_names(columns, given)

    def _check_names(self, columns: Sequence[str], given: Sequence[str]) -> None:
        """Raise an error if the engine would mistake a column for another one, or for one of the query."""
        kind = self.frame.implementation
        folds = kind.is_duckdb() or kind.is_ibis() or kind.is_spark_like()  # they ignore the case of names
        folded: Callable[[str], str] = str.lower if folds else str
        results, read = {folded(name): name for name in given}, {folded(name): name for name in columns}
        if len(results) < len(given):
            raise OptionError(
                "The engine ignores the case of names and cannot distinguish the columns of two classes: "
                f"{listed(given)}.",
                hint="use proba=False, or rename one of the classes and fit again.",
            )
        for name in self.dtypes:
            key = folded(name)
            if name == "*" or (name.startswith("^") and name.endswith("$")):
                raise TableError(
                    f"The table has a column {name!r}, which engines take for several columns.",
                    hint="rename the column.",
                )
            if key in results or key.startswith("cw_"):
                why = (
                    "is the name of a column of the result"
                    if key in results
                    else "starts with cw_, a reserved prefix"
                )
                raise TableError(f"The table has a column {name!r}, which {why}.", hint="rename the column.")
            if read.get(key, name) != name:
                raise TableError(
                    f"The engine ignores the case of names and cannot distinguish {read[key]!r} and {name!r}.",
                    hint="rename one of the columns and fit again.",
                )

    @classmethod
    def open(cls, X: Any, plan: Any, proba: bool, reasons: int) -> tuple[ScoringQuery, str, list[str], list[str]]:
        """Open a table for a model; return the names of the prediction, the probabilities and the reasons too."""
        check_value("reasons", reasons, NumberIn(0, _MOST_REASONS, whole=True))
        proba = check_flag("proba", proba)
        predicted, probabilities = f"predicted {plan.target}", [f"P({v})" for v in plan.classes] if proba else []
        names = [f"reason {r + 1}" for r in range(reasons)]
        return cls(X, plan.columns, [predicted, *probabilities, *names]), predicted, probabilities, names

    def given(self, plan: Any, results: Mapping[str, Any]) -> Any:
        """Select the columns of the table and the results, which are renamed last: Spark interprets dots in names."""
        return plan.select(*self.dtypes, *(result.alias(name) for name, result in results.items())).to_native()

    def number(self, name: str) -> Any:
        """Convert a column to numbers, null where missing; dates become seconds, as in memory."""
        column, dtype = nw.col(name), self.dtypes[name]
        if dtype == nw.Boolean:
            no = nw.when(~column).then(real(0.0))
            return nw.when(column).then(real(1.0)).otherwise(no)
        if dtype.is_temporal():
            return micros(in_utc(name, dtype, self.frame), dtype) / 1e6
        x = column.cast(nw.Float64)
        return nw.when(x.is_finite()).then(x)

    def present(self, name: str) -> Any:
        """Return the expression for whether a value is present; NaN is missing."""
        column = nw.col(name)
        return column.is_finite() if self.dtypes[name].is_float() else ~column.is_null()

    def _compared(self, name: str, values: Sequence[Any]) -> tuple[Any, dict[Any, int]]:
        """Return a column for comparisons, and the position of each value by the key that it is compared with."""
        column, dtype, kind = nw.col(name), self.dtypes[name], value_type(values)
        keys: Sequence[Any] = ()
        if dtype == nw.Date or dtype == nw.Datetime:
            column = micros(in_utc(name, dtype, self.frame), dtype)
            times = [time_of(v) for v in values] if kind in ("date", "text") else []
            keys = [None if t is None else float((t - _START) // timedelta(microseconds=1)) for t in times]
        elif dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
            column = column if dtype == nw.String else column.cast(nw.String)
            keys = [v if isinstance(v, str) else None for v in values]
        elif kind in ("text", "date"):
            pass  # no text equals a number
        elif dtype == nw.Boolean:
            keys = [bool(v) if v in (0, 1) else None for v in values]
        elif (dtype == nw.Int64 or dtype == nw.UInt64) and kind != "number":
            keys = [int(v) for v in values]  # doubles would not distinguish large integers
        else:
            column, keys = column.cast(nw.Float64), [float(v) for v in values]
        return column, {key: i for i, key in enumerate(keys) if key is not None}

    def looked_up(
        self, name: str, values: Sequence[Any], numbers: Sequence[float], other: float = 0.0, missing: float = 0.0
    ) -> Any:
        """Return the number of a value; `other` for any other value, and `missing` for a missing value."""
        column, keys = self._compared(name, values)
        found = default = real(other)
        if keys:
            own = [float(numbers[i]) for i in keys.values()]
            found = column.replace_strict(list(keys), own, default=default, return_dtype=nw.Float64)
        return found if other == missing else nw.when(self.present(name)).then(found).otherwise(real(missing))

    def branch(self, node: Node) -> Any:
        """Return the number of the child whose test holds; -1 if none does."""
        first = node.tests[0]
        tests = [(b, test) for b, test in enumerate(node.tests) if not test.missing]
        if first.domain is not None:
            by_value = {v: float(b) for b, test in tests for v in test.values or ()}
            return self.looked_up(first.column, list(by_value), list(by_value.values()), -1.0, -1.0)
        x, edges = self.number(first.column), np.array([test.high for _, test in tests[:-1]])
        return nw.when(~x.is_null()).then(binned(x, edges, [float(b) for b, _ in tests])).otherwise(real(-1.0))

    def one_of(self, name: str, values: Sequence[Any]) -> Any:
        """Return whether a value is one of some values; false if it is missing."""
        column, keys = self._compared(name, values)
        if not keys:
            return nw.lit(1) == 0
        return nw.when(column.is_in(list(keys))).then(nw.lit(1)).otherwise(nw.lit(0)) == 1

    def holds(self, test: Test) -> Any:
        """Return whether a test holds; never null."""
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
        """Return a number of a row, or null."""
        if n.values is None:
            return self.number(n.column)
        known = nw.when(self.one_of(n.column, n.values)).then(real(0.0))
        return nw.when(self.one_of(n.column, (n.value,))).then(real(1.0)).otherwise(known)


def real(x: float) -> Any:
    """Return a double; Ibis writes it as a decimal, and products of decimals alone would get too many digits."""
    return nw.lit(float(x), nw.Float64)


def first(x: float) -> Any:
    """Return a double as the first operand of a sum or product; it makes the other operands doubles."""
    return nw.lit(0).cast(nw.Float64) + float(x)


def written(value: Any) -> Any:
    """Return a value as an expression."""
    return real(value) if isinstance(value, float) else nw.lit(value)


def all_of(conditions: Sequence[Any]) -> Any:
    """Return whether all conditions hold."""
    return reduce(and_, conditions)


def first_of(cases: Sequence[tuple[Any, Any]], other: Any) -> Any:
    """Return the result of the first condition that holds, else `other`; not nested, because engines limit that."""
    return nw.coalesce(*(nw.when(condition).then(result) for condition, result in cases), other) if cases else other


def binned(x: Any, edges: Floats, values: Sequence[Any]) -> Any:
    """Return the value of the bin (low, high] of a number; a balanced tree, because engines limit the nesting."""
    if len(edges) == 0:
        return written(values[0])
    middle = len(edges) // 2
    below = binned(x, edges[:middle], values[: middle + 1])
    above = binned(x, edges[middle + 1 :], values[middle + 1 :])
    return nw.when(x <= float(edges[middle])).then(below).otherwise(above)
