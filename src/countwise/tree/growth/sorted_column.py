"""Numeric attributes with exact thresholds: rows are sorted once and stay sorted from level to level.

Nodes are split at the best threshold, or into several bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts import CutRule, midway
from countwise.data.attributes import Nominal, Numeric
from countwise.data.table import Table
from countwise.tallies import Values
from countwise.tree.growth.level import Level, RowLevel, SplitCandidates, Splits

__all__ = ["LevelStep", "RangesColumn", "SortedColumn", "values_by_class"]

_NO_GROUPS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class LevelStep:
    """Move of the instances from one level to the next; see the kernel `partition_entries`."""

    branch: NDArray[Any]
    slots: NDArray[np.int32]
    first: Indices
    n_next: int
    copies: NDArray[np.uint32] | None

    def moved(self, entries: NDArray[Any], starts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the entries of the next level."""
        return _kernels.partition_entries(
            entries, starts, self.branch, self.slots, self.first, self.n_next, self.copies
        )


def values_by_class(x: Floats, y: NDArray[Any], n_classes: int, weights: NDArray[Any] | None) -> Values:
    """Return the tally of numbers by class, from which bins are found."""
    table = Table({"x": x, "class": y}, len(x), weights)
    return Values(Nominal("class", tuple(range(n_classes))), Numeric("x")).fill(table)


class SortedColumn:
    """Numeric attribute whose rows are kept sorted; missing values are NaN."""

    def __init__(self, index: int, column: NDArray[Any]) -> None:
        self.index = index
        self.column = column
        self.entries = _kernels.presort(column)
        self.starts = np.array([0, len(self.entries)], dtype=np.int64)
        self.has_missing = len(self.entries) < len(column)
        self._places = np.empty(0, dtype=np.int64)  # positions of the best thresholds of the current level
        self._cuts = np.empty(0)

    def advance(self, step: LevelStep) -> None:
        """Move on to the next level."""
        self.entries, self.starts = step.moved(self.entries, self.starts)

    def candidates(self, level: Level) -> SplitCandidates:
        """Return the best split of each node of a level."""
        assert isinstance(level, RowLevel)  # noqa: S101 - sorted columns are in memory
        places, gain = level.rows.thresholds(self.entries, self.starts, level.criterion, level.settings.min_leaf)
        has_split = places >= 0
        gain = np.where(has_split, gain, np.nan)
        self._places, self._cuts = places, np.full(level.n_nodes, np.nan)
        best = places[has_split]
        low, high = self._values(self.entries[np.concatenate([best - 1, best])] >> 1, level).reshape(2, -1)
        self._cuts[has_split] = midway(low, high)
        every = np.arange(level.n_nodes)
        missing = self._missing(level, every) if self.has_missing else None
        n_tried = self._n_thresholds() if level.settings.threshold_cost else None
        return level.candidates(gain, every, lambda: self._sides(level, every), missing, self._cuts, n_tried)

    def _n_thresholds(self) -> Indices:
        """Return the number of possible thresholds in each segment."""
        fresh = np.concatenate([[0], np.cumsum(self.entries & 1, dtype=np.int64)])
        return np.maximum(np.diff(fresh[self.starts]) - 1, 0)

    def _values(self, instances: NDArray[Any], level: RowLevel) -> Floats:
        rows = level.rows.rows
        return self.column[instances if rows is None else rows[instances]].astype(np.float64)

    def _missing(self, level: RowLevel, nodes: Indices) -> Floats | None:
        """Return the cells of the rows with a missing value."""
        if not self.has_missing:
            return None
        segments = np.stack([self.starts[nodes], self.starts[nodes + 1]], axis=1)
        rest = level.cells[nodes] - self._contents(level, segments, nodes)
        # remove rounding errors of the difference
        n = level.criterion.weight(level.cells[nodes])
        rest[level.criterion.weight(rest) <= 1e-9 * n] = 0.0
        if not level.criterion.numeric:
            rest[rest <= 1e-12 * n[:, None]] = 0.0
        return rest

    def _sides(self, level: RowLevel, nodes: Indices) -> Floats:
        """Return the cells below and above the best threshold of some nodes."""
        segments = np.empty((len(nodes), 4), dtype=self.starts.dtype)  # below from and to, above from and to
        segments[:, 0], segments[:, 3] = self.starts[nodes], self.starts[nodes + 1]
        segments[:, 1] = segments[:, 2] = np.maximum(self._places[nodes], segments[:, 0])
        inside = self._contents(level, segments.reshape(-1, 2), np.repeat(nodes, 2))
        return inside.reshape(len(nodes), 2, -1)

    def _contents(self, level: RowLevel, segments: Indices, nodes: Indices) -> Floats:
        """Return the cells of some segments of the entries."""
        return level.rows.sums(self.entries, segments, None if level.centers is None else level.centers[nodes])

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """Return the splits of some nodes by this attribute."""
        assert isinstance(level, RowLevel)  # noqa: S101 - see above
        limits = list(self._cuts[nodes][:, None])
        cells, missing = level.add_missing(self._sides(level, nodes), self._missing(level, nodes))
        none = [_NO_GROUPS] * len(nodes)
        return Splits.by(self.index, nodes, limits, none, none, missing, cells)


class RangesColumn(SortedColumn):
    """Numeric or ordinal attribute that is split into several bins, found from the rows of each node.

    The numbers of an ordinal attribute are its codes, and `n_values` is the number of its values.
    """

    def __init__(self, index: int, column: NDArray[Any], rule: CutRule, n_values: int = 0) -> None:
        super().__init__(index, column)
        self.rule = rule
        self.n_values = n_values
        self._edges: list[Floats] = []

    def candidates(self, level: Level) -> SplitCandidates:
        """Return the best split of each node of a level."""
        assert isinstance(level, RowLevel)  # noqa: S101 - sorted columns are in memory
        found = SplitCandidates.none(level.n_nodes)
        self._edges = [self._cut(level, k) for k in range(level.n_nodes)]
        for k, edges in enumerate(self._edges):
            if not len(edges):
                continue
            one = np.array([k])
            inside = self._ranges(level, k)
            n = level.criterion.weight(inside[0])
            if np.count_nonzero(n >= level.settings.min_leaf * (1 - 1e-9)) < 2:
                continue
            gain, cut = np.array([level.criterion.gain(inside[0])]), edges[:1]
            missing = self._missing(level, one)
            found.put(one, level.candidates(gain, one, partial(np.asarray, inside), missing, cut))
        return found

    def _cut(self, level: RowLevel, k: int) -> Floats:
        ids = self.entries[self.starts[k] : self.starts[k + 1]] >> 1
        rows = level.rows
        weights = None if rows.weights is None else rows.weights[ids]
        y = np.zeros(len(ids), dtype=np.uint8) if level.criterion.numeric else rows.y[ids]
        return self.rule.cut(values_by_class(self._values(ids, level), y, max(rows.n_classes, 1), weights)).edges

    def _ranges(self, level: RowLevel, k: int) -> Floats:
        """Return the cells of each bin of one node, (1, bins, classes)."""
        ids = self.entries[self.starts[k] : self.starts[k + 1]] >> 1
        places = self.starts[k] + np.searchsorted(self._values(ids, level), self._edges[k], side="right")
        ends = np.concatenate([[self.starts[k]], places, [self.starts[k + 1]]])
        segments = np.stack([ends[:-1], ends[1:]], axis=1)
        return self._contents(level, segments, np.full(len(segments), k))[None]

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """Return the splits of some nodes by this attribute."""
        assert isinstance(level, RowLevel)  # noqa: S101 - see above
        cells, missing = [], np.empty(len(nodes), dtype=np.int32)
        for i, k in enumerate(nodes.tolist()):
            inside, missing[i : i + 1] = level.add_missing(
                self._ranges(level, k), self._missing(level, nodes[i : i + 1])
            )
            cells.append(inside[0])
        limits = [self._edges[k] for k in nodes.tolist()]
        groups = [self._groups(e, m) for e, m in zip(limits, missing.tolist(), strict=True)]
        return Splits.by(self.index, nodes, limits, groups, [_NO_GROUPS] * len(nodes), missing, cells)

    def _groups(self, edges: Floats, missing: int) -> NDArray[np.int32]:
        """Return the bin of each value of an ordinal attribute."""
        if not self.n_values:
            return _NO_GROUPS
        return np.append(np.searchsorted(edges, np.arange(self.n_values)), [missing, missing]).astype(np.int32)
