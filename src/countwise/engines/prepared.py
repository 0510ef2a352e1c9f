"""Engine tables prepared for repeated queries: the rows that are used, with numeric columns as doubles.

A decision tree is grown level by level, with queries for each level. CASE expressions assign a row to its node. They
are nested as a balanced tree, so that a thousand cases have a depth of about ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from countwise._typing import Floats
from countwise.data.columns import plain
from countwise.data.frames import Frame
from countwise.engines import query as nw
from countwise.engines.execute import collected, number_of, sums_of
from countwise.engines.relation import MOST_GROUPS, Relation, extreme, extreme_weights, infinite_in, is_infinite
from countwise.errors import RowsRefused, TableError

__all__ = ["Extent", "Ready", "Sizes", "code_of", "fetched", "numbers_in", "switched"]


class Sizes(NamedTuple):
    """Number of rows: all, those with a target, those with a target and a weight > 0; and the total weight."""

    rows: int
    known: int
    counted: int
    weight: float


class Extent(NamedTuple):
    """Minimum and maximum of a column (NaN if it has no value), and whether it has missing values."""

    low: float
    high: float
    gaps: bool


@dataclass(frozen=True, eq=False)
class Ready:
    """An engine table prepared for queries."""

    relation: Relation
    numbers: frozenset[str]  # the numeric columns, including a numeric target

    def rows(self, names: Sequence[str], *, infinities: bool = False) -> Any:
        """Select columns of the rows with a target and a weight > 0; numbers that are not finite become null.

        The weight is the column `cw_w`, if there are weights. With `infinities`, the columns `cw_i0`, `cw_i1`, ...
        are 1 where a column is infinite.
        """
        relation = self.relation
        own = [name for name in (relation.target, relation.weights) if name is not None]
        wanted = list(dict.fromkeys([*names, *own]))
        plan = self._taken(wanted)
        if infinities:
            plan = plan.with_columns(**{f"cw_i{j}": is_infinite(name) for j, name in enumerate(names)})
        fresh = {name: clean for name in wanted if (clean := self._clean(name)) is not None}
        if relation.weights is not None:
            fresh["cw_w"] = nw.col(relation.weights).cast(nw.Float64)
        plan = plan.with_columns(**fresh) if fresh else plan
        if relation.target is not None:
            plan = plan.filter(~nw.col(relation.target).is_null())
        return plan if relation.weights is None else plan.filter(nw.col("cw_w") > 0)

    @property
    def slow_whens(self) -> bool:
        """Whether the engine is slow to plan many CASE expressions."""
        return bool(self.relation.frame.implementation.is_dask())

    def _taken(self, names: Sequence[str]) -> Any:
        """Select columns, with dates and booleans among the numeric columns converted to numbers."""
        return self.relation.numbered([n for n in names if n in self.numbers]).select(*names)

    def _clean(self, name: str) -> Any:
        """Replace NaN and infinity in a column by null; return None if the column cannot have them."""
        if name in self.numbers:
            x = nw.col(name).cast(nw.Float64)
        elif self.relation.dtypes[name].is_float():
            x = nw.col(name)
        else:
            return None
        return nw.when(x.is_finite()).then(x)

    # -- queries -----------------------------------------------------------------------

    def sizes(self) -> Sizes:
        """Count the rows; an invalid weight and an infinite target are errors."""
        relation = self.relation
        own = [name for name in (relation.target, relation.weights) if name is not None]
        plan = self._taken(own or relation.columns[:1])
        fresh: dict[str, Any] = {"cw_n": nw.lit(1.0)}
        counts = nw.lit(value=True)
        if relation.target is not None:
            target = self._clean(relation.target)
            plan = plan.with_columns(cw_y=nw.col(relation.target) if target is None else target)
            known = counts = ~nw.col("cw_y").is_null()
            fresh["cw_k"] = nw.flag(known)
            if relation.target in self.numbers:
                fresh["cw_i"] = is_infinite(relation.target)
        if relation.weights is not None:
            w = nw.col(relation.weights).cast(nw.Float64)
            plan = plan.with_columns(cw_w=nw.when(w.is_finite()).then(w))
            counts = counts & (nw.col("cw_w") > 0)
            fresh |= {"cw_b": nw.flag(nw.col("cw_w").is_null()), "cw_m": nw.flag(nw.col("cw_w") < 0)}
            fresh["cw_x"] = nw.flag(extreme(nw.col("cw_w")))
            fresh |= {"cw_c": nw.flag(counts), "cw_t": nw.when(counts).then(nw.col("cw_w")).otherwise(0.0)}
        sums = sums_of(plan, fresh)
        n = {name: int(value) for name, value in sums.items() if name != "cw_t"}
        self._refuse(n)
        known_rows = n.get("cw_k", n["cw_n"])
        weight = sums["cw_t"] if relation.weights is not None else float(known_rows)
        return Sizes(n["cw_n"], known_rows, n.get("cw_c", known_rows), weight)

    def _refuse(self, n: dict[str, int]) -> None:
        """Raise the errors for weights and a numeric target that tables in memory raise."""
        relation = self.relation
        if n.get("cw_b"):
            raise TableError(
                f"The weights {relation.weights!r} are missing or infinite in {n['cw_b']:,} of {n['cw_n']:,} rows.",
                hint="use weight 0 to ignore a row.",
            )
        if n.get("cw_m"):
            raise TableError(
                f"Negative values in data passed to `sample_weight`: {n['cw_m']:,} of {n['cw_n']:,} rows of "
                f"{relation.weights!r}.",
                hint="use weight 0 to ignore a row.",
            )
        if n.get("cw_x"):
            raise extreme_weights(relation.weights, n["cw_x"])
        if n.get("cw_i"):
            raise TableError(
                f"Input y contains infinity: the target {relation.target!r} is infinite in {n['cw_i']:,} rows.",
                hint="use finite numbers, or NaN to skip a row.",
            )
        if n.get("cw_k", n["cw_n"]) and "cw_c" in n and not n["cw_c"]:
            raise TableError(
                "All sample weights are zero, so that no row would be used.",
                hint="give at least one row a weight greater than 0.",
            )

    def extents(self, names: Sequence[str]) -> dict[str, Extent]:
        """Return the minimum and maximum of numeric columns, in one query; an infinite value is an error."""
        if not names:
            return {}
        fresh, ends = {"cw_n": nw.lit(1.0)}, []
        for j, name in enumerate(names):
            x = nw.col(name)
            fresh |= {f"cw_k{j}": nw.when(x.is_null()).then(0.0).otherwise(1.0), f"cw_i{j}": nw.col(f"cw_i{j}")}
            ends += [x.min().alias(f"cw_l{j}"), x.max().alias(f"cw_h{j}")]
        row = sums_of(self.rows(names, infinities=True), fresh, *ends)
        found = {}
        for j, name in enumerate(names):
            if row[f"cw_i{j}"]:
                raise infinite_in(name, row[f"cw_i{j}"])
            n = row[f"cw_k{j}"]
            low, high = (number_of(row[f"cw_{end}{j}"]) if n else np.nan for end in "lh")
            found[name] = Extent(low, high, n < row["cw_n"])
        return found

    def weighed(self, plan: Any, keys: Sequence[str], *more: Any) -> Frame:
        """Return the weight (or the number of rows) of each combination of keys, as `cw_w`, and other aggregates."""
        weight = nw.len().alias("cw_w") if self.relation.weights is None else nw.col("cw_w").sum()
        return fetched(plan.group_by(*keys).agg(weight, *more), keys)


# -- expressions and results ---------------------------------------------------------------


def switched(x: Any, starts: Sequence[float], cases: Sequence[Any]) -> Any:
    """Return the case with the largest start <= x, or the first case if x is less than all starts."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    lower, upper = switched(x, starts[:middle], cases[:middle]), switched(x, starts[middle:], cases[middle:])
    return nw.when(x < plain(starts[middle])).then(lower).otherwise(upper)


def code_of(x: Any, edges: Floats, *, flat: bool = False) -> Any:
    """Return the expression for the number of edges below x, which must not be null.

    It is a binary search of CASE expressions or, if `flat`, a sum over all edges. The sum is faster only in engines
    that are slow to plan CASE expressions (Dask takes seconds for 255 of them).
    """
    if flat and len(edges):
        return nw.sum_horizontal(*((x > float(edge)).cast(nw.Int64) for edge in edges))

    def among(low: int, high: int) -> Any:
        if low == high:
            return nw.lit(low)
        middle = (low + high) // 2
        return nw.when(x <= float(edges[middle])).then(among(low, middle)).otherwise(among(middle + 1, high))

    return among(0, len(edges))


def fetched(plan: Any, keys: Sequence[str]) -> Frame:
    """Run a group-by query; too many groups are an error."""
    found = collected(plan.head(MOST_GROUPS + 1))
    if found.n_rows > MOST_GROUPS:
        raise RowsRefused(
            f"The group-by has more than {MOST_GROUPS:,} combinations of values of {len(keys)} columns, "
            "which is the maximum that is fetched.",
            hint="drop columns with very many values, or merge their rare values.",
        )
    return found


def numbers_in(frame: Frame, name: str) -> Floats:
    """Return a column of a result as floats, NaN where a value is missing."""
    column: Any = frame.columns[name]
    if column.dtype == object:
        column = [np.nan if value is None else value for value in column]
    return np.asarray(column, dtype=np.float64)
