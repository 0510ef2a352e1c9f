"""Relations that are asked again and again: the rows that count, and numbers as doubles.

A tree asks for its tables level by level; what a row must pass to come to a node is told to the engine in whens.
Whens are nested in the form of a balanced tree, so that even a thousand choices are some ten deep.
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
from countwise.engines.relation import MOST_GROUPS, Relation, infinite_in, is_infinite
from countwise.errors import RowsRefused, TableError

__all__ = ["Extent", "Ready", "Sizes", "code_of", "fetched", "numbers_in", "switched"]


class Sizes(NamedTuple):
    """How many rows there are: in all, those with a target, those with a target and a weight; and their weight."""

    rows: int
    known: int
    counted: int
    weight: float


class Extent(NamedTuple):
    """Where the numbers of a column lie (NaN if it has none), and whether some of its cells are missing."""

    low: float
    high: float
    gaps: bool


@dataclass(frozen=True, eq=False)
class Ready:
    """A relation made ready to be counted."""

    relation: Relation
    numbers: frozenset[str]  # the columns that are taken as numbers, the target among them if it is one

    def rows(self, names: Sequence[str], *, infinities: bool = False) -> Any:
        """The rows that count with some columns and the target: what is no finite number is null, `cw_w` the weight.

        Without weights there is no such column. On demand `cw_i0` and so on are 1 where a column is infinite.
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
        """Whether the engine takes long to plan many whens."""
        return bool(self.relation.frame.implementation.is_dask())

    def _taken(self, names: Sequence[str]) -> Any:
        """Some columns, dates and booleans among the numbers as numbers."""
        return self.relation.numbered([n for n in names if n in self.numbers]).select(*names)

    def _clean(self, name: str) -> Any:
        """A column without what is no number, if it could hold such."""
        if name in self.numbers:
            x = nw.col(name).cast(nw.Float64)
        elif self.relation.dtypes[name].is_float():
            x = nw.col(name)
        else:
            return None
        return nw.when(x.is_finite()).then(x)

    # -- questions ---------------------------------------------------------------------

    def sizes(self) -> Sizes:
        """How many rows there are; a weight that is none, and an infinite target, are errors."""
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
            fresh |= {"cw_c": nw.flag(counts), "cw_t": nw.when(counts).then(nw.col("cw_w")).otherwise(0.0)}
        sums = sums_of(plan, fresh)
        n = {name: int(value) for name, value in sums.items()}
        self._refuse(n)
        known_rows = n.get("cw_k", n["cw_n"])
        weight = sums["cw_t"] if relation.weights is not None else float(known_rows)
        return Sizes(n["cw_n"], known_rows, n.get("cw_c", known_rows), weight)

    def _refuse(self, n: dict[str, int]) -> None:
        """What memory refuses of weights and of a target of numbers."""
        relation = self.relation
        if n.get("cw_b"):
            raise TableError(
                f"The weights {relation.weights!r} are missing or infinite in {n['cw_b']:,} of {n['cw_n']:,} rows.",
                hint="give 0 to leave a row out.",
            )
        if n.get("cw_m"):
            raise TableError(
                f"Negative values in data passed to `sample_weight`: {n['cw_m']:,} of {n['cw_n']:,} rows of "
                f"{relation.weights!r}.",
                hint="give 0 to leave a row out.",
            )
        if n.get("cw_i"):
            raise TableError(
                f"Input y contains infinity: the target {relation.target!r} is infinite in {n['cw_i']:,} rows.",
                hint="NaN is a missing target, whose row is left out.",
            )
        if n.get("cw_k", n["cw_n"]) and "cw_c" in n and not n["cw_c"]:
            raise TableError(
                "All sample weights are zero: no row would count.", hint="give at least one row a weight above 0."
            )

    def extents(self, names: Sequence[str]) -> dict[str, Extent]:
        """Where some columns of numbers lie, in one query; an infinity is an error."""
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
        """What weight (or how many rows) each combination of some columns has, as `cw_w`, and other aggregates."""
        weight = nw.len().alias("cw_w") if self.relation.weights is None else nw.col("cw_w").sum()
        return fetched(plan.group_by(*keys).agg(weight, *more), keys)


# -- expressions and answers ---------------------------------------------------------------


def switched(x: Any, starts: Sequence[float], cases: Sequence[Any]) -> Any:
    """The case whose start is the last one not above x; below all starts it is the first."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    lower, upper = switched(x, starts[:middle], cases[:middle]), switched(x, starts[middle:], cases[middle:])
    return nw.when(x < plain(starts[middle])).then(lower).otherwise(upper)


def code_of(x: Any, edges: Floats, *, flat: bool = False) -> Any:
    """How many edges lie below a number, which is not null: asked for as in a search, or flat, one by one.

    Where whens are slow to plan (Dask takes seconds for 255 of them), flat is faster; else it is slower.
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
    """The answer to a group-by, unless it is too long."""
    found = collected(plan.head(MOST_GROUPS + 1))
    if found.n_rows > MOST_GROUPS:
        raise RowsRefused(
            f"There are more than {MOST_GROUPS:,} combinations of {len(keys)} columns; no more are fetched.",
            hint="leave columns of very many values out, or join their rare values.",
        )
    return found


def numbers_in(frame: Frame, name: str) -> Floats:
    """A column of an answer as numbers; what is not there is NaN."""
    column: Any = frame.columns[name]
    if column.dtype == object:
        column = [np.nan if value is None else value for value in column]
    return np.asarray(column, dtype=np.float64)
