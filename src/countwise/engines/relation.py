"""Engine tables: a DuckDB relation, Polars LazyFrame, Dask, Spark or Ibis table, queried through narwhals.

Engines are not imported here. The queries follow rules that give equal results in all engines:

* Numbers are cast to doubles before any other operation.
* Values that are not finite are missing values. They are found by comparison, not by `is_nan`, which some engines
  compute from statistics of the file.
* Expressions are computed before aggregates.
* Sums are sums of differences from a pilot mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.columns import missing_cells, plain
from countwise.data.frames import Coded, Column, Frame, is_missing
from countwise.data.weights import HEAVIEST, LIGHTEST, MOST_EXACT
from countwise.engines import query as nw
from countwise.engines.execute import collected, executed, floats, in_utc, is_date, micros, sum_of, sums_of, whole
from countwise.errors import RowsRefused, SchemaError, TableError, did_you_mean, listed
from countwise.tallies.moments import Seen, seen_in

__all__ = ["MOST_GROUPS", "Classes", "ColumnSummary", "Relation", "refused"]


MOST_GROUPS = 1 << 20  # maximum number of groups that are fetched
_FIRST = 10_000  # rows that `Relation.look` reads first


@dataclass(frozen=True, eq=False)
class Relation:
    """An engine table whose columns include a target and possibly weights."""

    frame: Any  # narwhals LazyFrame
    target: str | None
    weights: str | None = None
    dtypes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, X: Any, target: Any, weights: Any = None) -> Relation:
        """Validate the columns of an engine table."""
        frame = nw.from_native(X)
        frame = frame.lazy() if isinstance(frame, nw.DataFrame) else frame
        dtypes = executed(lambda: dict(frame.collect_schema()))
        for what, name in (("target", target), ("weights", weights)):
            if name is None:
                continue
            if not isinstance(name, str):
                raise TableError(
                    f"The {what} of an engine table must be one of its columns.", hint="pass the name of the column."
                )
            if name not in dtypes:
                raise TableError(
                    f"The table has no column {name!r} for the {what}.",
                    hint=did_you_mean(name, dtypes) or f"use one of {listed(dtypes)}.",
                )
        for name, dtype in dtypes.items():
            if dtype.is_nested() or dtype == nw.Binary or dtype == nw.Unknown or dtype == nw.Object:
                raise SchemaError(
                    f"{name!r} has the dtype {dtype}, but only numbers, strings, booleans and dates are supported.",
                    hint="convert the column to one of these types, split it into several columns, or drop it.",
                )
        if weights is not None and not dtypes[weights].is_numeric():
            raise TableError(
                f"The weights {weights!r} must be numeric, but their dtype is {dtypes[weights]}.",
                hint="use a numeric column for the weights.",
            )
        zoned = [name for name, dtype in dtypes.items() if getattr(dtype, "time_zone", None) is not None]
        if zoned:
            frame = frame.with_columns(**{name: in_utc(name, dtypes[name], frame) for name in zoned})
        return cls(frame, target, weights, dtypes)

    @property
    def columns(self) -> list[str]:
        """Names of the attributes."""
        return [name for name in self.dtypes if name not in (self.target, self.weights)]

    @property
    def given(self) -> list[str]:
        """Keys of the group-by queries: the target, if there is one."""
        return [] if self.target is None else [self.target]

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has numbers, dates or booleans."""
        dtype = self.dtypes[name]
        return bool(dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean)

    def selected(self, names: Sequence[str]) -> Any:
        """Select columns; the result is a table of the user's engine."""
        if not names:
            raise TableError("No column is selected, and a table of an engine needs at least one.")
        return self.frame.select(*names).to_native()

    def empty(self) -> Frame:
        """Return columns of the right types without rows."""
        return Frame({name: _empty(self.dtypes[name]) for name in self.columns}, 0, named=True)

    # -- derived tables ------------------------------------------------------------------

    def cut(self, cuts: Mapping[str, Sequence[float]]) -> Relation:
        """Replace numbers by the codes 0, 1, ... of their bins (low, high]; missing values stay missing."""
        fresh, dtypes = {}, dict(self.dtypes)
        for name, edges in cuts.items():
            x = nw.col(name).cast(nw.Float64)
            above = [nw.flag(x > float(edge)) for edge in edges]
            fresh[name] = nw.when(x.is_finite()).then(nw.total(above) if above else nw.lit(0.0))
            dtypes[name] = nw.Float64()
        plan = self.numbered(list(cuts))
        return replace(self, frame=plan.with_columns(**fresh) if fresh else plan, dtypes=dtypes)

    def complete(self, names: Sequence[str]) -> Relation:
        """Keep the rows without a missing value in some columns."""
        plan = self.frame
        for name in names:
            plan = plan.filter(self.present(name))
        return replace(self, frame=plan)

    def only(self, cells: Mapping[str, Any]) -> Relation:
        """Keep the rows in which columns have given values."""
        plan = self.frame
        for name, value in cells.items():
            plan = plan.filter(nw.col(name) == value)
        return replace(self, frame=plan)

    # -- expressions ---------------------------------------------------------------------

    def present(self, name: str) -> Any:
        """Return the expression for whether a value is present; NaN is missing."""
        return nw.col(name).is_finite() if self.dtypes[name].is_float() else ~nw.col(name).is_null()

    def numbered(self, numbers: Sequence[str], plan: Any = None) -> Any:
        """Convert dates and booleans among the numeric columns to numbers."""
        plan, fresh = self.frame if plan is None else plan, {}
        for name in numbers:
            dtype = self.dtypes[name]
            if dtype.is_temporal():
                fresh[name] = micros(nw.col(name), dtype) / 1e6
            elif dtype == nw.Boolean:
                fresh[name] = nw.when(nw.col(name)).then(1.0).when(~nw.col(name)).then(0.0)
        return plan.with_columns(**fresh) if fresh else plan

    def literals(self, name: str, values: Sequence[Any], what: str) -> list[Any]:
        """Return the values of a nominal column as the engine can compare them with it."""
        dtype = self.dtypes[name]
        if dtype.is_temporal() or dtype.is_decimal():
            raise RowsRefused(
                f"{name!r} is nominal and has the dtype {dtype}, whose values {what} cannot compare in an engine.",
                hint="convert the column to strings in the engine, or collect the rows into memory first.",
            )
        return [float(v) for v in values] if dtype.is_float() else list(values)

    def refuse_no_counts(self, names: Sequence[str]) -> None:
        """Raise an error if a column of counts has a value that is negative or not an integer."""
        if not names:
            return
        x = {name: nw.col(name).cast(nw.Float64) for name in names}
        # NaN is a missing value, and infinity is reported elsewhere
        wrong = {f"cw_n{j}": x[n].is_finite() & ((x[n] < 0) | (x[n] != x[n].floor())) for j, n in enumerate(names)}
        found = sums_of(self.known(), wrong)
        for name, rows in zip(names, found.values(), strict=True):
            if rows > 0:
                raise SchemaError(
                    f"{name!r} has {rows:,.0f} values that are negative or fractional; a count is an integer >= 0.",
                    hint=f"pass types={{{name!r}: 'numeric'}}.",
                )

    def known(self, plan: Any = None) -> Any:
        """Keep the rows with a target and a weight > 0."""
        plan = self.frame if plan is None else plan
        plan = plan if self.target is None else plan.filter(self.present(self.target))
        return plan if self.weights is None else plan.filter(nw.col(self.weights) > 0)

    def weight(self) -> Any:
        """Return the expression for the weight of a row."""
        return nw.col(self.weights).cast(nw.Float64) if self.weights else nw.lit(1.0)

    # -- queries -------------------------------------------------------------------------

    def size(self) -> int:
        """Return the number of rows."""
        return int(sums_of(self.frame, {"cw_n": nw.lit(1.0)})["cw_n"])

    def classes(self) -> Classes:
        """Return the classes, their weights and numbers of rows; invalid weights are an error."""
        w = self.weight()
        valid = (w >= 0) & w.is_finite()
        one = nw.lit(1.0)
        used = list(dict.fromkeys([*self.given, *([self.weights] if self.weights else [])]))
        plan = self.frame.select(*used) if used else self.frame
        plan = plan.with_columns(
            cw_n=nw.flag(w > 0) if self.weights else one,
            cw_w=nw.when(valid).then(w).otherwise(0.0) if self.weights else one,
            cw_b=nw.when(valid).then(0.0).otherwise(1.0) if self.weights else nw.lit(0.0),
            cw_x=nw.flag(extreme(w)) if self.weights else nw.lit(0.0),
            cw_a=one,
        )
        names = ("cw_n", "cw_w", "cw_b", "cw_x", "cw_a")
        keys = self.given
        if keys and self.dtypes[keys[0]].is_float():  # NaN is missing; an infinite class is reported later
            x = nw.col(keys[0])
            plan = plan.with_columns(nw.when(x.is_finite() | (x.abs() == float("inf"))).then(x).alias(keys[0]))
        found = grouped(plan, keys, list(map(nw.sum, names)))
        n, weights, bad, beyond, rows = map(floats, map(found.columns.__getitem__, names))
        if bad.sum() > 0:
            raise TableError(
                f"The weights {self.weights!r} are missing, negative or infinite in {bad.sum():.0f} "
                f"row{'s' * bool(bad.sum() != 1)}.",
                hint="use weight 0 to ignore a row.",
            )
        if beyond.sum() > 0:
            raise extreme_weights(self.weights, beyond.sum())
        missing = missing_cells(found.columns[keys[0]]) if keys else np.zeros(found.n_rows, dtype=bool)
        kept = ~missing & (weights > 0)
        frame = Frame({name: found.columns[name] for name in keys}, found.n_rows, named=True).take(kept)
        return Classes(frame, whole(weights[kept]), int(n[kept].sum()), int(rows[missing].sum()))

    def look(self, numbers: Sequence[str], names: Sequence[str]) -> ColumnSummary:
        """Summarize numeric columns (`numbers`) and nominal columns (`names`) from the first rows.

        Pilot means need not be exact, because the queries sum differences from them. Nominal columns with many
        distinct values are counted in more rows, because a group-by of an identifier would fetch the whole table.
        """
        selected = [nw.col(name).cast(nw.Float64) for name in numbers] + [nw.col(name) for name in names]
        plan = self.known(self.numbered(numbers))
        few = collected(plan.select(*selected).head(_FIRST)) if selected else Frame({}, 0, named=True)
        means, medians, deviations, varied, seen = {}, {}, {}, [], {}
        for name in numbers:
            x = floats(few.columns[name])
            x = x[np.isfinite(x)]
            seen[name] = seen_in([x])[0]
            if not len(x):
                x = np.zeros(1)
            with np.errstate(over="ignore", invalid="ignore"):  # `moments` refuses numbers that are too large
                means[name], medians[name], deviations[name] = float(x.mean()), float(np.median(x)), _deviation(x)
            varied += [name] * (len(np.unique(x)) > few.n_rows // 4)
        distinct = {name: _distinct(few.columns[name]) for name in names}
        many = [name for name, n in distinct.items() if few.n_rows == _FIRST and n > _FIRST // 4]
        ids = {}
        if many:
            first = self.known().select(*many).head(2 * MOST_GROUPS)
            count = [nw.col(name).n_unique().alias(f"cw_u{j}") for j, name in enumerate(many)]
            row = sums_of(first, {"cw_n": nw.lit(1.0)}, *count)
            distinct |= {name: int(sum_of(row[f"cw_u{j}"])) for j, name in enumerate(many)}
            checked = int(row["cw_n"])
            ids = {name: checked for name in many if distinct[name] > 0.5 * checked}
        return ColumnSummary(means, medians, deviations, distinct, ids, frozenset(varied), seen)

    def refuse_infinity(self, names: Sequence[str]) -> None:
        """Raise an error if a column has an infinite value; for columns whose sums do not show it."""
        names = [name for name in names if self.dtypes[name].is_float()]
        if not names:
            return
        found = sums_of(self.known(), {f"cw_i{j}": is_infinite(name) for j, name in enumerate(names)})
        for name, rows in zip(names, found.values(), strict=True):
            if rows > 0:
                raise infinite_in(name, rows)

    def groups(self, keys: Sequence[str]) -> tuple[Frame, NDArray[Any]]:
        """Return each observed combination of values of some columns, and its number of rows or its weight."""
        keys = list(dict.fromkeys(keys))
        plan = self.known().select(*keys, *([self.weights] if self.weights not in (None, *keys) else []))
        fresh = {k: nw.when(nw.col(k).is_finite()).then(nw.col(k)) for k in keys if self.dtypes[k].is_float()}
        if self.weights:
            fresh["cw_w"] = self.weight()
        plan = plan.with_columns(**fresh) if fresh else plan  # NaN is missing
        count = nw.col("cw_w").sum() if self.weights else nw.len().alias("cw_w")
        found = grouped(plan, keys, [count])
        frame = Frame({k: found.columns[k] for k in keys}, found.n_rows, named=True)
        return frame, whole(floats(found.columns["cw_w"]))

    def squares(self, name: str) -> tuple[Frame, Floats]:
        """Return the sum of the squared weights of the rows with a value, by class; see `Values.squares`."""
        keys, w, x = list(self.given), nw.col("cw_w"), nw.col(name)
        plan = self.known().with_columns(cw_w=self.weight())
        plan = (
            plan.filter(~x.is_null() & x.is_finite()) if self.dtypes[name].is_float() else plan.filter(~x.is_null())
        )
        plan = plan.with_columns(
            cw_q=nw.when((w == w.floor()) & (w < MOST_EXACT)).then(w).otherwise(w * w), cw_o=nw.lit(1)
        )
        found = grouped(plan, keys or ["cw_o"], [nw.col("cw_q").sum()])
        frame = Frame({k: found.columns[k] for k in keys}, found.n_rows, named=True)
        return frame, floats(found.columns["cw_q"])


def extreme(w: Any) -> Any:
    """Return the expression for whether a weight is beyond the limits of weights."""
    return (w > HEAVIEST) | ((w > 0) & (w < LIGHTEST))


def extreme_weights(name: str | None, rows: float) -> TableError:
    """Return the error for weights beyond the limits."""
    return TableError(
        f"The weights {name!r} must be 0 or from {LIGHTEST:g} to {HEAVIEST:g}, but are not in {rows:.0f} "
        f"row{'s' * bool(rows != 1)}.",
        hint="divide all weights by their maximum.",
    )


def cells_at(frame: Frame, row: int) -> dict[str, Any]:
    """Return the values of a row, None where a value is missing."""
    one = frame.slice(row, row + 1).columns
    values = {name: (c.objects() if isinstance(c, Coded) else c)[0] for name, c in one.items()}
    return {name: None if is_missing(value) else plain(value) for name, value in values.items()}


def grouped(plan: Any, by: Sequence[str], aggregates: Sequence[Any]) -> Frame:
    """Compute aggregates of each group, or of all rows; too many groups are an error."""
    found = collected(plan.group_by(*by).agg(*aggregates).head(MOST_GROUPS + 1) if by else plan.select(*aggregates))
    if found.n_rows > MOST_GROUPS:
        raise too_many([name for name in by if not name.startswith("cw_")] or by)
    return found


def is_infinite(name: str) -> Any:
    """Return the expression that is 1.0 where a number is infinite, else 0.0."""
    return nw.flag(nw.col(name).cast(nw.Float64).abs() == float("inf"))


def too_many(keys: Sequence[str]) -> RowsRefused:
    """Return the error for a group-by with too many groups."""
    return RowsRefused(
        f"The group-by of {listed(keys)} has more than {MOST_GROUPS:,} groups, which is the maximum that is fetched.",
        hint="drop a column, merge its rare values, or use the 'gaussian' distribution for a numeric column.",
    )


def _deviation(x: Floats) -> float:
    """Return the standard deviation, or its estimate from the quartiles if that is smaller (long tails)."""
    low, high = np.quantile(x, [0.25, 0.75])
    return min(float(x.std()), float(high - low) / 1.35) or float(x.std())


def _distinct(column: Column) -> int:
    """Return the number of distinct values of a column."""
    if isinstance(column, Coded):
        return len(np.unique(column.codes))
    if column.dtype.kind == "O":
        return len({None if is_missing(v) else v for v in column})
    return len(np.unique(column))


def infinite_in(name: str, rows: float) -> TableError:
    return TableError(
        f"Input X contains infinity: {name!r} is infinite in {rows:.0f} row{'s' * (rows != 1)}.",
        hint="replace it with NaN if the value is missing, else with a finite number.",
    )


def refused(X: Any) -> RowsRefused:
    """Return the error of a model that needs the rows in memory."""
    return RowsRefused(
        "This method needs the rows in memory, but the table is in an engine "
        f"({Relation.open(X, None).size():,} rows).",
        hint="collect the table or a sample of it into memory, or use a model that learns from counts, "
        "such as NaiveBayesClassifier.",
    )


def _empty(dtype: Any) -> Column:
    """Return a column without rows, of the type that a dtype represents."""
    if dtype == nw.Boolean:
        return np.empty(0, dtype=bool)
    if dtype == nw.Categorical or dtype == nw.String:
        return Coded(np.empty(0, dtype=np.int8), [])
    if dtype == nw.Enum or isinstance(dtype, nw.Enum):
        return Coded(np.empty(0, dtype=np.int8), list(getattr(dtype, "categories", ())), declared=True, ordered=True)
    if dtype.is_temporal():
        return np.empty(0, dtype="datetime64[us]" if is_date(dtype) else "timedelta64[us]")
    if dtype.is_numeric():
        return np.empty(0, dtype=np.float64)
    return np.empty(0, dtype=object)


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """Summary of the columns of an engine table, from its first rows."""

    means: dict[str, float]  # pilot means of numeric columns; 0 for a column without values
    medians: dict[str, float]
    deviations: dict[str, float]  # standard deviations
    distinct: dict[str, int]  # lower bounds of the numbers of distinct values of nominal columns
    ids: dict[str, int]  # nominal columns whose values are mostly distinct, and the numbers of rows checked
    varied: frozenset[str]  # numeric columns whose values are mostly distinct
    seen: dict[str, Seen | None]  # observed ranges of numeric columns


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of an engine table."""

    frame: Frame  # a row for each class; without a target, a single row and no column
    weights: NDArray[Any]
    rows: int  # number of rows with a target and a weight > 0
    left_out: int  # number of rows without a target
