"""Fit a distance metric to an engine table: the engine computes counts and sums, and no rows are fetched."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.engines import query as nw
from countwise.engines.execute import rows_of_answer, sum_of
from countwise.engines.gather import target_of
from countwise.engines.prepared import Extent, Ready, Sizes, numbers_in
from countwise.engines.relation import Relation
from countwise.errors import RowsRefused, TableError
from countwise.neighbors.fit_distances import MetricSource, learned_locals, needs_classes
from countwise.neighbors.local_distances import LocalDistance

__all__ = ["learned_in_engine"]


def learned_in_engine(
    metric: Any, schema: Schema, relation: Relation
) -> tuple[Schema, tuple[LocalDistance, ...], int, int]:
    """Return the schema with domains, the local distances, the number of rows without a required class, and all rows.

    The target of the engine table is used only if a distance or the weights depend on the classes.
    """
    if not needs_classes(metric, schema):
        relation = replace(relation, target=None)
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    ready = Ready(relation, frozenset(numbers))
    sizes = ready.sizes()
    _refuse(metric, schema, sizes)
    target = None
    if relation.target is not None:
        target, _ = target_of(relation, Nominal(relation.target, grows=True), relation.classes())
    source = _MetricEngine(ready, target, ready.extents(numbers))
    schema = Schema(a.learn(source.strings(a)) if isinstance(a, Nominal) else a for a in schema.attributes)
    return schema, learned_locals(metric, schema, source), sizes.rows - sizes.known, sizes.rows


def _refuse(metric: Any, schema: Schema, sizes: Sizes) -> None:
    texts = [a.name for a in schema.attributes if isinstance(a, Text | Block)]
    if texts or metric.unit_length:
        what = f"The words of text column {texts[0]!r}" if texts else "unit_length=True: the length of each row"
        raise RowsRefused(
            f"{what} cannot be computed by an engine; the table has {sizes.rows:,} rows.",
            hint="collect the table into memory first"
            + (", or drop the column." if texts else ", or pass unit_length=False."),
        )
    if not sizes.known:
        lack = f"The target is missing in all {sizes.rows:,} rows" if sizes.rows else "The table has no rows"
        raise TableError(f"{lack}; at least one row is needed.")


@dataclass(eq=False)
class _MetricEngine(MetricSource):
    """An engine table as the source from which a metric is learned."""

    ready: Ready
    target: Nominal | None
    extents: dict[str, Extent]
    groups: dict[str, Frame] = field(default_factory=dict)
    moments: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def bounds(self, a: Attribute) -> tuple[float, float]:
        extent = self.extents[a.name]
        return (0.0, 0.0) if np.isnan(extent.low) else (extent.low, extent.high)

    def mean_and_deviation(self, a: Attribute, divisor: str) -> tuple[float, float]:
        if not self.moments:
            self.moments = self._all_moments()
        n, mean, squares = self.moments[a.name]
        n -= divisor == "n-1"
        return (mean, float(np.sqrt(squares / n)) * self._unit(a.name)) if n > 0 else (mean, 0.0)

    def _unit(self, name: str) -> float:
        """Return the range of a column; sums use it as their unit, so that squares neither overflow nor underflow."""
        extent = self.extents[name]
        return extent.high - extent.low if extent.high > extent.low else 1.0

    def _all_moments(self) -> dict[str, tuple[float, float, float]]:
        """Return the total weight, the mean and the sum of squared deviations of each column, in its unit.

        The moments are computed twice, the second time about the first mean, to avoid cancellation far from 0.
        """
        means = {name: 0.0 if np.isnan(e.low) else e.low / 2 + e.high / 2 for name, e in self.extents.items()}
        found: dict[str, tuple[float, float, float]] = {}
        for _ in range(2):
            found = self._moments_about(means)
            means = {name: mean for name, (_, mean, _) in found.items()}
        return found

    def _moments_about(self, means: dict[str, float]) -> dict[str, tuple[float, float, float]]:
        plan = self.ready.rows(list(means))
        if self.ready.relation.weights is None:
            plan = plan.with_columns(cw_w=nw.lit(1.0))
        w = nw.col("cw_w")
        units = {name: self._unit(name) for name in means}
        away = {f"cw_d{j}": (nw.col(name) - means[name]) / units[name] for j, name in enumerate(means)}
        d = {j: nw.col(f"cw_d{j}") for j in range(len(means))}
        sums = {f"cw_n{j}": nw.when(~x.is_null()).then(w).otherwise(0.0) for j, x in d.items()}
        sums |= {f"cw_s{j}": w * x for j, x in d.items()} | {f"cw_q{j}": w * x * x for j, x in d.items()}
        plan = plan.with_columns(**away).with_columns(**sums)
        (row,) = rows_of_answer(plan.select(*(nw.col(name).sum() for name in sums)))
        found = {}
        for j, name in enumerate(means):
            n, s, q = (sum_of(row[f"cw_{part}{j}"]) for part in "nsq")
            found[name] = (n, means[name] + s / n * units[name], max(q - s * s / n, 0.0)) if n else (0.0, 0.0, 0.0)
        return found

    def strings(self, a: Attribute) -> Any:
        return self._groups(a).columns[a.name]

    def counted(self, a: Nominal | Numeric) -> Table:
        """Return a table with one weighted row for each combination of class and value."""
        assert self.target is not None  # noqa: S101 - checked by the caller
        frame = self._groups(a)
        weights: NDArray[Any] = numbers_in(frame, "cw_w")
        if (weights == np.floor(weights)).all():
            weights = weights.astype(np.int64)
        codes = self.target.encode(frame.columns[self.target.name], strict=True)
        return Table({a.name: a.encode(frame.columns[a.name]), self.target.name: codes}, frame.n_rows, weights)

    def _groups(self, a: Attribute) -> Frame:
        """Return the distinct values of a column with their total weight, by class if the classes are known."""
        if a.name not in self.groups:
            keys = [a.name] if self.target is None else [self.target.name, a.name]
            self.groups[a.name] = self.ready.weighed(self.ready.rows([a.name]), keys)
        return self.groups[a.name]
