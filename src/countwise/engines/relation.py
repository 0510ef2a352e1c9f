"""Relations: tables that an engine holds. Tallies are asked of it by group-by; rows stay where they are.

Engines are never imported: narwhals speaks to those that made what the user gives. What has been measured of them is
kept to here: numbers are cast to doubles before anything is done with them, what is not finite is missing and is told
by comparison (never by `is_nan`, which some answer from statistics), expressions come before aggregates, and sums are
of differences from a pilot mean.
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
from countwise.engines import query as nw
from countwise.engines.execute import answered, collected, floats, micros, sum_of, sums_of, whole
from countwise.errors import RowsRefused, SchemaError, TableError, did_you_mean, listed

__all__ = ["MOST_GROUPS", "Classes", "ColumnSummary", "Relation", "refused"]


MOST_GROUPS = 1 << 20  # that are fetched from an engine
_FIRST = 10_000  # rows that are looked at first


@dataclass(frozen=True, eq=False)
class Relation:
    """A table that an engine holds, with a target and perhaps weights among its columns."""

    frame: Any  # a LazyFrame of narwhals
    target: str | None
    weights: str | None = None
    dtypes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, X: Any, target: Any, weights: Any = None) -> Relation:
        """Look at the columns, and refuse what cannot be counted."""
        frame = nw.from_native(X)
        frame = frame.lazy() if isinstance(frame, nw.DataFrame) else frame
        dtypes = answered(lambda: dict(frame.collect_schema()))
        for what, name in (("target", target), ("weights", weights)):
            if name is None:
                continue
            if not isinstance(name, str):
                raise TableError(f"The {what} of a relation must be one of its columns.", hint="give its name.")
            if name not in dtypes:
                raise TableError(
                    f"The relation has no column {name!r} for the {what}.",
                    hint=did_you_mean(name, dtypes) or f"it has {listed(dtypes)}.",
                )
        for name, dtype in dtypes.items():
            if dtype.is_nested() or dtype == nw.Binary or dtype == nw.Unknown or dtype == nw.Object:
                raise SchemaError(
                    f"{name!r} holds a {dtype} in each cell; a cell is a single value.",
                    hint="spread it over several columns, or leave it out.",
                )
        if weights is not None and not dtypes[weights].is_numeric():
            raise TableError(f"The weights {weights!r} are {dtypes[weights]}, which are no numbers.")
        return cls(frame, target, weights, dtypes)

    @property
    def columns(self) -> list[str]:
        """The attributes."""
        return [name for name in self.dtypes if name not in (self.target, self.weights)]

    @property
    def given(self) -> list[str]:
        """What numbers are told apart by: the target, if there is one."""
        return [] if self.target is None else [self.target]

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers, dates or booleans."""
        dtype = self.dtypes[name]
        return bool(dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean)

    def selected(self, names: Sequence[str]) -> Any:
        """Some columns, in the form in which the user holds the table."""
        return self.frame.select(*names).to_native()

    def empty(self) -> Frame:
        """No rows, but columns of the right kinds."""
        return Frame({name: _empty(self.dtypes[name]) for name in self.columns}, 0, named=True)

    # -- other relations -----------------------------------------------------------------

    def cut(self, cuts: Mapping[str, Sequence[float]]) -> Relation:
        """The same with numbers as the ranges (lo, hi] that they lie in: 0, 1, ...; missing stays missing."""
        fresh, dtypes = {}, dict(self.dtypes)
        for name, edges in cuts.items():
            x = nw.col(name).cast(nw.Float64)
            above = [nw.flag(x > float(edge)) for edge in edges]
            fresh[name] = nw.when(x.is_finite()).then(nw.total(above) if above else nw.lit(0.0))
            dtypes[name] = nw.Float64()
        plan = self.numbered(list(cuts))
        return replace(self, frame=plan.with_columns(**fresh) if fresh else plan, dtypes=dtypes)

    def complete(self, names: Sequence[str]) -> Relation:
        """The rows in which cells of some columns are all there."""
        plan = self.frame
        for name in names:
            plan = plan.filter(self.there(name))
        return replace(self, frame=plan)

    def only(self, cells: Mapping[str, Any]) -> Relation:
        """The rows in which columns have the values given."""
        plan = self.frame
        for name, value in cells.items():
            plan = plan.filter(nw.col(name) == value)
        return replace(self, frame=plan)

    # -- expressions ---------------------------------------------------------------------

    def there(self, name: str) -> Any:
        """Whether a cell is there; NaN is missing."""
        return nw.col(name).is_finite() if self.dtypes[name].is_float() else ~nw.col(name).is_null()

    def numbered(self, numbers: Sequence[str], plan: Any = None) -> Any:
        """The relation with dates and booleans among the numbers as numbers."""
        plan, fresh = self.frame if plan is None else plan, {}
        for name in numbers:
            dtype = self.dtypes[name]
            if dtype.is_temporal():
                fresh[name] = micros(name, dtype) / 1e6
            elif dtype == nw.Boolean:
                fresh[name] = nw.when(nw.col(name)).then(1.0).when(~nw.col(name)).then(0.0)
        return plan.with_columns(**fresh) if fresh else plan

    def known(self, plan: Any = None) -> Any:
        """The rows that count: those with a target and a weight."""
        plan = self.frame if plan is None else plan
        plan = plan if self.target is None else plan.filter(self.there(self.target))
        return plan if self.weights is None else plan.filter(nw.col(self.weights) > 0)

    def weight(self) -> Any:
        """The weight of a row."""
        return nw.col(self.weights).cast(nw.Float64) if self.weights else nw.lit(1.0)

    # -- questions -----------------------------------------------------------------------

    def size(self) -> int:
        """How many rows there are."""
        return int(sums_of(self.frame, {"cw_n": nw.lit(1.0)})["cw_n"])

    def classes(self) -> Classes:
        """The values of the target, what they weigh, and how many rows have one; weights are checked."""
        w = self.weight()
        fine = (w >= 0) & w.is_finite()
        one = nw.lit(1.0)
        used = list(dict.fromkeys([*self.given, *([self.weights] if self.weights else [])]))
        plan = self.frame.select(*used) if used else self.frame
        plan = plan.with_columns(
            cw_n=nw.flag(w > 0) if self.weights else one,
            cw_w=nw.when(fine).then(w).otherwise(0.0) if self.weights else one,
            cw_b=nw.when(fine).then(0.0).otherwise(1.0) if self.weights else nw.lit(0.0),
            cw_a=one,
        )
        names = ("cw_n", "cw_w", "cw_b", "cw_a")
        keys = self.given
        if keys and self.dtypes[keys[0]].is_float():  # NaN is missing; an infinity is told where classes are read
            x = nw.col(keys[0])
            plan = plan.with_columns(nw.when(x.is_finite() | (x.abs() == float("inf"))).then(x).alias(keys[0]))
        found = grouped(plan, keys, list(map(nw.sum, names)))
        n, weights, bad, rows = map(floats, map(found.columns.__getitem__, names))
        if bad.sum() > 0:
            raise TableError(
                f"The weights {self.weights!r} are missing, negative or infinite in {bad.sum():.0f} "
                f"row{'s' * bool(bad.sum() != 1)}.",
                hint="give 0 to leave a row out.",
            )
        gone = missing_cells(found.columns[keys[0]]) if keys else np.zeros(found.n_rows, dtype=bool)
        kept = ~gone & (weights > 0)
        frame = Frame({name: found.columns[name] for name in keys}, found.n_rows, named=True).take(kept)
        return Classes(frame, whole(weights[kept]), int(n[kept].sum()), int(rows[gone].sum()))

    def look(self, numbers: Sequence[str], names: Sequence[str]) -> ColumnSummary:
        """Where numbers lie, and how many values names have, from the first rows.

        A pilot mean need not be exact: what is summed are differences from it. Names that hardly repeat are looked at
        in more rows: a group-by of an identifier would bring the table here.
        """
        asked = [nw.col(name).cast(nw.Float64) for name in numbers] + [nw.col(name) for name in names]
        plan = self.known(self.numbered(numbers))
        few = collected(plan.select(*asked).head(_FIRST)) if asked else Frame({}, 0, named=True)
        means, middles, spreads, varied = {}, {}, {}, []
        for name in numbers:
            x = floats(few.columns[name])
            x = x[np.isfinite(x)]
            if not len(x):
                x = np.zeros(1)
            means[name], middles[name], spreads[name] = float(x.mean()), float(np.median(x)), _spread(x)
            varied += [name] * (len(np.unique(x)) > few.n_rows // 4)
        distinct = {name: _distinct(few.columns[name]) for name in names}
        many = [name for name, n in distinct.items() if few.n_rows == _FIRST and n > _FIRST // 4]
        ids = {}
        if many:
            first = self.known().select(*many).head(2 * MOST_GROUPS)
            count = [nw.col(name).n_unique().alias(f"cw_u{j}") for j, name in enumerate(many)]
            row = sums_of(first, {"cw_n": nw.lit(1.0)}, *count)
            distinct |= {name: int(sum_of(row[f"cw_u{j}"])) for j, name in enumerate(many)}
            seen = int(row["cw_n"])
            ids = {name: seen for name in many if distinct[name] > 0.5 * seen}
        return ColumnSummary(means, middles, spreads, distinct, ids, frozenset(varied))

    def refuse_infinity(self, names: Sequence[str]) -> None:
        """An infinity is an error and no missing cell; asked of columns whose sums do not show it."""
        names = [name for name in names if self.dtypes[name].is_float()]
        if not names:
            return
        found = sums_of(self.known(), {f"cw_i{j}": is_infinite(name) for j, name in enumerate(names)})
        for name, rows in zip(names, found.values(), strict=True):
            if rows > 0:
                raise infinite_in(name, rows)

    def groups(self, keys: Sequence[str]) -> tuple[Frame, NDArray[Any]]:
        """Every combination of values of some columns that is there, and how many rows (or what weight) it has."""
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


def cells_at(frame: Frame, row: int) -> dict[str, Any]:
    """The cells of a row, None where one is missing."""
    one = frame.slice(row, row + 1).columns
    cells = {name: (c.objects() if isinstance(c, Coded) else c)[0] for name, c in one.items()}
    return {name: None if is_missing(cell) else plain(cell) for name, cell in cells.items()}


def grouped(plan: Any, by: Sequence[str], asked: Sequence[Any]) -> Frame:
    """Aggregates of each group, or of all rows; too many groups are refused."""
    found = collected(plan.group_by(*by).agg(*asked).head(MOST_GROUPS + 1) if by else plan.select(*asked))
    if found.n_rows > MOST_GROUPS:
        raise too_many([name for name in by if not name.startswith("cw_")] or by)
    return found


def is_infinite(name: str) -> Any:
    """1.0 where a number is infinite, else 0.0."""
    return nw.flag(nw.col(name).cast(nw.Float64).abs() == float("inf"))


def too_many(keys: Sequence[str]) -> RowsRefused:
    """More groups than are fetched."""
    return RowsRefused(
        f"{listed(keys)} have more than {MOST_GROUPS:,} different values together; no more are fetched.",
        hint="leave a column out, join its rare values, or give a number a law of moments: 'gaussian'.",
    )


def _spread(x: Floats) -> float:
    """The deviation, as the quartiles have it where tails are long."""
    low, high = np.quantile(x, [0.25, 0.75])
    return min(float(x.std()), float(high - low) / 1.35) or float(x.std())


def _distinct(column: Column) -> int:
    """How many values a column has."""
    if isinstance(column, Coded):
        return len(np.unique(column.codes))
    if column.dtype.kind == "O":
        return len({None if is_missing(v) else v for v in column})
    return len(np.unique(column))


def infinite_in(name: str, rows: float) -> TableError:
    return TableError(
        f"Input X contains infinity: {name!r} is infinite in {rows:.0f} row{'s' * (rows != 1)}.",
        hint="replace infinities by numbers or by missing cells.",
    )


def refused(X: Any) -> RowsRefused:
    """What is said by a model that must see rows."""
    return RowsRefused(
        f"This needs the rows themselves; the relation has {Relation.open(X, None).size():,}.",
        hint="collect it into memory first, or take a sample of it; what learns by counting can learn where it lies.",
    )


def _empty(dtype: Any) -> Column:
    """A column without rows, of the kind that a dtype stands for."""
    if dtype == nw.Boolean:
        return np.empty(0, dtype=bool)
    if dtype == nw.Categorical or dtype == nw.String:
        return Coded(np.empty(0, dtype=np.int8), [])
    if dtype == nw.Enum or isinstance(dtype, nw.Enum):
        return Coded(np.empty(0, dtype=np.int8), list(getattr(dtype, "categories", ())), declared=True, ordered=True)
    if dtype.is_temporal():
        return np.empty(0, dtype="datetime64[us]")
    if dtype.is_numeric():
        return np.empty(0, dtype=np.float64)
    return np.empty(0, dtype=object)


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What the first rows say of a relation."""

    means: dict[str, float]  # mean, median and deviation of numbers; 0 where there are none
    middles: dict[str, float]
    spreads: dict[str, float]
    distinct: dict[str, int]  # how many values nominal columns have, at least
    ids: dict[str, int]  # columns with a value of its own in most rows looked at: how many rows those were
    varied: frozenset[str]  # the numbers that hardly repeat


@dataclass(frozen=True, slots=True)
class Classes:
    """The values of the target, and the rows that have one."""

    frame: Frame  # a row for each value; without a target a single row and no column
    weights: NDArray[Any]
    rows: int  # that count
    left_out: int  # rows without a target
