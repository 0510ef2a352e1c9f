"""Relations: tables that an engine holds. Tallies are asked of it by group-by; rows stay where they are.

Engines are never imported: narwhals speaks to those that made what the user gives. What has been measured of them is
kept to here: numbers are cast to doubles before anything is done with them, what is not finite is missing and is told
by comparison (never by `is_nan`, which some answer from statistics), expressions come before aggregates, and sums are
of differences from a pilot mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError, ReadError, RowsRefused, SchemaError, TableError, did_you_mean, listed
from countwise.frames import Coded, Column, Frame, frame_of, is_missing

__all__ = ["Look", "Relation", "is_relation", "refused"]

_HOMES = ("duckdb", "_duckdb", "polars", "dask", "pyspark", "ibis", "narwhals", "sqlframe")
MOST_GROUPS = 1 << 20  # that are fetched from an engine
_FIRST = 10_000  # rows that are looked at first


def is_relation(X: Any) -> bool:
    """Whether a table is one that an engine holds, and not memory."""
    home = type(X).__module__.partition(".")[0]
    if home not in _HOMES or isinstance(X, type):
        return False
    if home == "polars":
        return type(X).__name__ == "LazyFrame"
    import narwhals.stable.v2 as nw

    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


@dataclass(frozen=True, slots=True)
class Look:
    """What the first rows say of a relation.

    Parameters
    ----------
    means : dict of str to float
        Of numbers in the first rows; 0 where there are none.
    distinct : dict of str to int
        How many values names have, at least.
    """

    means: dict[str, float]
    distinct: dict[str, int]


@dataclass(frozen=True, eq=False)
class Relation:
    """A table that an engine holds, with a target and perhaps weights among its columns.

    Parameters
    ----------
    frame : narwhals LazyFrame
        The table.
    target : str or None
        The column to be told.
    weights : str or None
        The column of weights.
    """

    frame: Any
    target: str | None
    weights: str | None = None
    dtypes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, X: Any, target: Any, weights: Any = None) -> Relation:
        """Look at the columns, and refuse what cannot be counted."""
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X)
        frame = frame.lazy() if isinstance(frame, nw.DataFrame) else frame
        dtypes = _answered(lambda: dict(frame.collect_schema()))
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
        return cls(frame, target, weights, dtypes)

    @property
    def columns(self) -> list[str]:
        """The attributes."""
        return [name for name in self.dtypes if name not in (self.target, self.weights)]

    def empty(self) -> Frame:
        """No rows, but columns of the right kinds."""
        return Frame({name: _empty(self.dtypes[name]) for name in self.columns}, 0, named=True)

    # -- questions ---------------------------------------------------------------------

    def look(self, numbers: Sequence[str], names: Sequence[str]) -> Look:
        """Where numbers lie, from the first rows, and how many values names have: of all rows where they may be many.

        A pilot mean need not be exact: what is summed are differences from it.
        """
        import narwhals.stable.v2 as nw

        few = self._numbered(numbers).head(_FIRST)
        fresh = {"cw_n": nw.lit(1.0)}
        for j, name in enumerate(numbers):
            x = nw.col(name).cast(nw.Float64)
            fresh[f"cw_x{j}"] = nw.when(x.is_finite()).then(x)
        asked = [nw.col("cw_n").sum(), *(nw.col(f"cw_x{j}").mean() for j in range(len(numbers)))]
        asked += [nw.col(name).n_unique().alias(f"cw_u{j}") for j, name in enumerate(names)]
        (row,) = _rows(few.with_columns(**fresh).select(*asked))
        means = {name: _number(row[f"cw_x{j}"]) for j, name in enumerate(numbers)}
        first = int(_number(row["cw_n"]))
        distinct = {name: int(_number(row[f"cw_u{j}"])) for j, name in enumerate(names)}
        many = [name for name, n in distinct.items() if first == _FIRST and n > _FIRST // 4]
        if many:
            (row,) = _rows(self.frame.select(*(nw.col(n).n_unique().alias(f"cw_u{j}") for j, n in enumerate(many))))
            distinct |= {name: int(_number(row[f"cw_u{j}"])) for j, name in enumerate(many)}
        return Look(means, distinct)

    def _numbered(self, numbers: Sequence[str]) -> Any:
        """The relation with dates and booleans among the numbers as numbers."""
        import narwhals.stable.v2 as nw

        fresh = {}
        for name in numbers:
            dtype = self.dtypes[name]
            if dtype.is_temporal():
                fresh[name] = nw.col(name).cast(nw.Datetime("us")).dt.timestamp("us").cast(nw.Float64) / 1e6
            elif dtype == nw.Boolean:
                fresh[name] = nw.when(nw.col(name)).then(1.0).when(~nw.col(name)).then(0.0)
        return self.frame.with_columns(**fresh) if fresh else self.frame

    def size(self) -> int:
        """How many rows there are."""
        import narwhals.stable.v2 as nw

        (row,) = _rows(self.frame.with_columns(cw_n=nw.lit(1.0)).select(nw.col("cw_n").sum()))
        return int(_number(row["cw_n"]))

    def _known(self, plan: Any = None) -> Any:
        """The rows that have a target; NaN is none."""
        import narwhals.stable.v2 as nw

        plan = self.frame if plan is None else plan
        if self.target is None:
            return plan
        target = nw.col(self.target)
        return plan.filter(target.is_finite() if self.dtypes[self.target].is_float() else ~target.is_null())

    def refuse_infinity(self, names: Sequence[str]) -> None:
        """An infinity is an error and no missing cell; asked of columns whose sums do not show it."""
        import narwhals.stable.v2 as nw

        names = [name for name in names if self.dtypes[name].is_float()]
        if not names:
            return
        infinite = {
            f"cw_i{j}": nw.when(nw.col(name).cast(nw.Float64).abs() == float("inf")).then(1.0).otherwise(0.0)
            for j, name in enumerate(names)
        }
        (row,) = _rows(self._known().with_columns(**infinite).select(*(nw.col(i).sum() for i in infinite)))
        for j, name in enumerate(names):
            if _number(row[f"cw_i{j}"]) > 0:
                raise _infinite(name, _number(row[f"cw_i{j}"]))

    def groups(self, keys: Sequence[str], *, known: bool = True) -> tuple[Frame, NDArray[Any]]:
        """Every combination of values of some columns that is there, and how many rows (or what weight) it has.

        Parameters
        ----------
        keys : sequence of str
            The columns.
        known : bool, default=True
            Whether only rows with a target count.
        """
        import narwhals.stable.v2 as nw

        keys = list(dict.fromkeys(keys))
        plan = self._known() if known else self.frame
        plan = plan.select(*keys, *([self.weights] if self.weights else []))
        fresh = {k: nw.when(nw.col(k).is_finite()).then(nw.col(k)) for k in keys if self.dtypes[k].is_float()}
        if self.weights:
            fresh["cw_w"] = self._weight()
        plan = plan.with_columns(**fresh) if fresh else plan  # NaN is missing
        count = nw.col("cw_w").sum() if self.weights else nw.len().alias("cw_w")
        found = _collected(plan.group_by(*keys).agg(count).head(MOST_GROUPS + 1))
        if found.n_rows > MOST_GROUPS:
            raise RowsRefused(
                f"{listed(keys)} have more than {MOST_GROUPS:,} different values together; no more are fetched.",
                hint="leave a column out, join its rare values, or give a number a law of moments: 'gaussian'.",
            )
        weights = np.nan_to_num(np.asarray(found.columns["cw_w"], dtype=np.float64))
        kept = weights > 0
        weights = weights.astype(np.int64) if (weights == np.floor(weights)).all() else weights
        frame = Frame({k: found.columns[k] for k in keys}, found.n_rows, named=True)
        return frame.taken(kept), weights[kept]

    def _weight(self) -> Any:
        import narwhals.stable.v2 as nw

        return nw.col(self.weights).cast(nw.Float64) if self.weights else nw.lit(1.0)

    def products(
        self, numbers: Sequence[tuple[str, Any]], shifts: Mapping[str, float], flags: Sequence[str]
    ) -> Frame:
        """By target and by which columns are there: the weight of the rows, sums of numbers and of their products.

        Parameters
        ----------
        numbers : sequence of (column, value)
            A column of numbers and None, or one of names and a value: 1 where it is that value, else 0.
        shifts : mapping of str to float
            What is taken from numbers first.
        flags : sequence of str
            The columns whose gaps are told apart.
        """
        import narwhals.stable.v2 as nw

        plan = self._known(self._numbered([name for name, value in numbers if value is None]))
        fresh: dict[str, Any] = {"cw_w": self._weight()}
        for j, (name, value) in enumerate(numbers):
            if value is None:
                x = nw.col(name).cast(nw.Float64)
                fresh[f"cw_d{j}"] = nw.when(x.is_finite()).then(x - shifts[name]).otherwise(0.0)
            else:
                fresh[f"cw_d{j}"] = nw.when(nw.col(name) == value).then(1.0).otherwise(0.0)
        for i, name in enumerate(flags):
            x = nw.col(name)
            there = x.cast(nw.Float64).is_finite() if self._is_number(name) else ~x.is_null()
            fresh[f"cw_f{i}"] = nw.when(there).then(1).otherwise(0)
        plan = plan.with_columns(**fresh)
        w, d = nw.col("cw_w"), [nw.col(f"cw_d{j}") for j in range(len(numbers))]
        more = {f"cw_s{j}": w * x for j, x in enumerate(d)}
        more |= {f"cw_q{j}_{k}": w * d[j] * d[k] for j in range(len(d)) for k in range(j + 1)}
        keys = [str(self.target), *(f"cw_f{i}" for i in range(len(flags)))]
        return _collected(
            plan.with_columns(**more).group_by(*keys).agg(*(nw.col(name).sum() for name in ("cw_w", *more)))
        )

    def _is_number(self, name: str) -> bool:
        return bool(self.dtypes[name].is_numeric() or self.dtypes[name].is_temporal())

    def sums(self, numbers: Sequence[str], shifts: Mapping[str, float]) -> Frame:
        """By target: how many cells, the sum of differences from a shift, and of their squares (or products)."""
        import narwhals.stable.v2 as nw

        fresh: dict[str, Any] = {}
        for j, name in enumerate(numbers):
            x = nw.col(name).cast(nw.Float64)
            fresh[f"cw_d{j}"] = nw.when(x.is_finite()).then(x - shifts[name])
        if self.weights:
            fresh["cw_w"] = self._weight()
        plan = self._known(self._numbered(numbers))
        plan = plan.with_columns(**fresh)
        d = [nw.col(f"cw_d{j}") for j in range(len(numbers))]
        if self.weights:
            w = nw.col("cw_w")
            more = {f"cw_c{j}": nw.when(~x.is_null()).then(w).otherwise(0.0) for j, x in enumerate(d)}
            more |= {f"cw_s{j}": w * x for j, x in enumerate(d)}
            more |= {f"cw_q{j}": w * x * x for j, x in enumerate(d)}
        else:
            more = {f"cw_q{j}": x * x for j, x in enumerate(d)}
        more |= {
            f"cw_i{j}": nw.when(nw.col(name).cast(nw.Float64).abs() == float("inf")).then(1.0)
            for j, name in enumerate(numbers)
        }
        plan = plan.with_columns(**more)
        keys = [self.target] if self.target else []
        asked = [nw.col(name).sum() for name in more]
        if not self.weights:
            asked += [nw.col(f"cw_d{j}").count().alias(f"cw_c{j}") for j in range(len(numbers))]
            asked += [nw.col(f"cw_d{j}").sum().alias(f"cw_s{j}") for j in range(len(numbers))]
        found = _collected(plan.group_by(*keys).agg(*asked) if keys else plan.select(*asked))
        for j, name in enumerate(numbers):
            infinite = float(np.nansum(np.asarray(found.columns[f"cw_i{j}"], dtype=np.float64)))
            if infinite:
                raise _infinite(name, infinite)
        return found


def _infinite(name: str, rows: float) -> TableError:
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
    import narwhals.stable.v2 as nw

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


def _answered(ask: Any) -> Any:
    """What an engine answers; what it says when it fails, in one line; Ctrl-C stops it."""
    from countwise.sources.stopping import asked

    try:
        return asked(ask)
    except (CountwiseError, KeyboardInterrupt):
        raise
    except Exception as error:
        first = str(error).strip().split("\n")[0][:300]
        raise ReadError(f"The engine failed: {type(error).__name__}: {first}") from error


def _collected(plan: Any) -> Frame:
    """The answer to a plan, in memory."""
    return _answered(lambda: frame_of(plan.collect().to_native()))


def _rows(plan: Any) -> list[dict[str, Any]]:
    """The answer to a plan, row by row."""
    return _answered(lambda: list(plan.collect().iter_rows(named=True)))


def _number(value: Any) -> float:
    """A scalar of any engine as a number: None, NaN, NA, Decimal and NumPy's come by one gate."""
    return 0.0 if is_missing(value) else float(value)
