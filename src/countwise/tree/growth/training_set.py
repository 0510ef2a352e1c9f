"""The ground a tree grows from: the columns of a table as it may ask them, and what is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.data.table import threads_for
from countwise.errors import TableError
from countwise.tree.active_rows import ActiveRows
from countwise.tree.growth.builder import GrowthSettings, TreeColumn
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.criteria import Criterion
from countwise.tree.features import Feature
from countwise.tree.growth.grow_memory import grow
from countwise.tree.nodes import Tree
from countwise.tree.ranges_column import RangesColumn
from countwise.tree.growth.sorted_column import SortedColumn
from countwise.tree.growth.splits import Multiway, OneAgainstRest, SplitStrategy, Subset, Threshold

__all__ = ["NOMINAL", "Splitting", "TrainingSet"]

NOMINAL: dict[str, type[Any]] = {"multiway": Multiway, "one_vs_rest": OneAgainstRest, "subset": Subset}
_MANY = 0.3  # of the rows' weight: an attribute with so many values gains much by chance


@dataclass(frozen=True, slots=True)
class Splitting:
    """How nodes may be split.

    Parameters
    ----------
    nominal : {"multiway", "one_vs_rest", "subset"}
        By names.
    numeric : {"binary", "ranges"}
        By numbers and orders.
    rule : {"mdl", "class_contiguous"}
        Of ranges.
    bins : int or None
        Into how many bins numbers are put first; None tries every threshold.
    max_branches : int
        The most values by which a node is split into as many branches.
    """

    nominal: str
    numeric: str
    rule: str
    bins: int | None
    max_branches: int

    def way_of(self, feature: Feature) -> SplitStrategy:
        """How nodes may be split by names, or by an order of names."""
        attribute = feature.attribute
        assert isinstance(attribute, Nominal)  # noqa: S101 - numbers have thresholds
        way: SplitStrategy = Threshold() if feature.ordinal else NOMINAL[self.nominal]()
        n_values = len(attribute.values)
        if isinstance(way, Multiway) and n_values > self.max_branches:
            raise TableError(
                f"{attribute.name!r} has {n_values} values; a split into as many branches is refused above "
                f"{self.max_branches}.",
                hint="leave the column out, give nominal='subset' or 'one_vs_rest', or raise max_branches.",
            )
        return way

    def has_many(self, feature: Feature, n: float) -> bool:
        """Whether an attribute has so many values, for n rows, that it gains much by chance."""
        if self.nominal != "multiway" or feature.ordinal or not isinstance(feature.attribute, Nominal):
            return False
        return len(feature.attribute.values) >= _MANY * n * (1 - 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """Rows to grow a tree from.

    Parameters
    ----------
    features : sequence of Feature
        What can be asked.
    columns : list of ndarray
        The column of each: codes, or numbers with NaN for missing.
    told : ndarray
        The class of each row as a code, or its number.
    weights : ndarray or None
        The weight of each row.
    n_classes : int
        0 if numbers are told.
    places : ndarray or None
        Where the rows stood in the user's table; None if all of them are here.
    n_given : int
        How many rows the user's table had.
    """

    features: Sequence[Feature]
    columns: Sequence[NDArray[Any]]
    told: NDArray[Any]
    weights: NDArray[Any] | None
    n_classes: int
    places: NDArray[Any] | None = None
    n_given: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.told)

    @property
    def floats(self) -> Floats | None:
        """The weights as floats."""
        return None if self.weights is None else self.weights.astype(np.float64)

    def take(self, rows: NDArray[Any]) -> TrainingSet:
        """Some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, columns=[c[rows] for c in self.columns], told=self.told[rows], weights=weights)

    def weighed(self, weights: NDArray[Any]) -> TrainingSet:
        """The rows that have a weight, with these weights."""
        return replace(self, weights=weights).take(np.flatnonzero(weights > 0))

    def grow(self, criterion: Criterion, splitting: Splitting, settings: dict[str, Any]) -> Tree:
        """A tree of all rows."""
        columns, asked = self._laid_out(splitting)
        n = self.n_rows if self.weights is None else float(self.weights.sum())
        many = np.array([splitting.has_many(f, n) for f in self.features], dtype=bool)
        crowd = ActiveRows(self.told, self.weights, None, self.n_classes)
        return grow(columns, asked, crowd, criterion, GrowthSettings(**settings, many=many))

    def _laid_out(self, splitting: Splitting) -> tuple[list[TreeColumn], list[NDArray[Any]]]:
        """The columns that offer splits, and those by which rows are sent to branches."""
        asked = list(self.columns)
        names = [j for j, f in enumerate(self.features) if f.nominal]
        found: dict[int, TreeColumn] = {}
        for j in names:
            column = self._of_names(j, splitting)
            if column is not None:
                found[j] = column
            if isinstance(column, RangesColumn):
                asked[j] = column.column
        numbers = [j for j, f in enumerate(self.features) if not f.nominal]
        binned = [j for j in numbers if splitting.bins is not None or self.features[j].word is not None]
        if splitting.numeric == "ranges":
            binned = []
        if binned:
            edges, codes = _kernels.bin_columns([self.columns[j] for j in binned], self.floats, splitting.bins or 255)
            for j, e, c in zip(binned, edges, codes, strict=True):
                gaps = bool(self.columns[j].dtype.kind == "f" and (c == len(e) + 1).any())
                found[j] = CountedColumn(j, c, len(e) + 1, Threshold(), e, gaps)
                asked[j] = c
        exact = [j for j in numbers if j not in found]
        made = _kernels.over_items(exact, lambda j: self._of_numbers(j, splitting), threads_for(self.n_rows))
        found.update(zip(exact, made, strict=True))
        return [found[j] for j in sorted(found)], asked

    def _of_names(self, j: int, splitting: Splitting) -> TreeColumn | None:
        attribute, codes = self.features[j].attribute, self.columns[j]
        assert isinstance(attribute, Nominal)  # noqa: S101 - asked before
        n_values = len(attribute.values)
        if n_values < 2:
            return None
        if self.features[j].ordinal and splitting.numeric == "ranges":
            order = np.where(codes < n_values, codes, np.nan)
            return RangesColumn(j, order, splitting.rule, n_values)
        way = splitting.way_of(self.features[j])
        return CountedColumn(j, codes, n_values, way, gaps=bool((codes == n_values).any()))

    def _of_numbers(self, j: int, splitting: Splitting) -> TreeColumn:
        if splitting.numeric == "ranges":
            return RangesColumn(j, self.columns[j], splitting.rule)
        return SortedColumn(j, self.columns[j])
