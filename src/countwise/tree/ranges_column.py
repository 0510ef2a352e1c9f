"""Numbers and orders in several ranges at once: cut where the class changes, or where a cut pays for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.cuts import class_contiguous, mdl
from countwise.data.attributes import Nominal, Numeric
from countwise.data.table import Table
from countwise.tallies import Values
from countwise.tree.growth.counted_column import settled
from countwise.tree.growth.level import Level, RowLevel, SplitCandidates, Splits
from countwise.tree.growth.sorted_column import SortedColumn

__all__ = ["RULES", "RangesColumn"]

RULES = {"class_contiguous": class_contiguous, "mdl": mdl}
_NO_GROUPS = np.empty(0, dtype=np.int32)


class RangesColumn(SortedColumn):
    """A numeric or ordinal attribute that is split into several ranges, by a rule on the node's rows.

    Parameters
    ----------
    place : int
        Which attribute it is.
    column : ndarray
        Its numbers (of an order, the codes), NaN where missing.
    rule : {"class_contiguous", "mdl"}
        Where to cut.
    n_values : int
        Of an order, how many values; 0 for numbers.
    """

    def __init__(self, place: int, column: NDArray[Any], rule: str, n_values: int = 0) -> None:
        super().__init__(place, column)
        self.rule = RULES[rule]
        self.n_values = n_values
        self._edges: list[Floats] = []

    def offers(self, level: Level) -> SplitCandidates:
        """What it offers each node of a level."""
        assert isinstance(level, RowLevel)  # noqa: S101 - what is sorted is in memory
        found = SplitCandidates.none(len(level))
        self._edges = [self._cut(level, k) for k in range(len(level))]
        for k, edges in enumerate(self._edges):
            if not len(edges):
                continue
            one = np.array([k])
            inside = self._branches(level, k)
            n = level.criterion.weight(inside[0])
            if np.count_nonzero(n >= level.least * (1 - 1e-9)) < 2:
                continue
            gain, cut = np.array([level.criterion.gain(inside[0])]), edges[:1]
            found.put(one, level.offers(gain, one, lambda inside=inside: inside, self._absent(level, one), cut))
        return found

    def _cut(self, level: RowLevel, k: int) -> Floats:
        ids = self.entries[self.starts[k] : self.starts[k + 1]] >> 1
        crowd = level.crowd
        target = Nominal("class", tuple(range(crowd.n_classes)))
        weights = None if crowd.weights is None else crowd.weights[ids]
        rows = Table({"x": self._values(ids, level), "class": crowd.told[ids]}, len(ids), weights)
        return self.rule(Values(target, Numeric("x")).fill(rows)).edges

    def _branches(self, level: RowLevel, k: int) -> Floats:
        """What is in each range of one node, (1, ranges, classes)."""
        ids = self.entries[self.starts[k] : self.starts[k + 1]] >> 1
        places = self.starts[k] + np.searchsorted(self._values(ids, level), self._edges[k], side="right")
        ends = np.concatenate([[self.starts[k]], places, [self.starts[k + 1]]])
        segments = np.stack([ends[:-1], ends[1:]], axis=1)
        return self._inside(level, segments, np.full(len(segments), k))[None]

    def splits(self, level: Level, nodes: Indices) -> Splits:
        """The splits of some nodes by this attribute."""
        assert isinstance(level, RowLevel)  # noqa: S101 - see above
        cells, missing = [], []
        for k in nodes.tolist():
            inside, lost = settled(self._branches(level, k), self._absent(level, np.array([k])), level)
            cells.append(inside[0])
            missing.append(int(lost[0]))
        limits = [self._edges[k] for k in nodes.tolist()]
        attribute, gone = np.full(len(nodes), self.place, np.int32), np.array(missing, dtype=np.int32)
        groups = [self._groups(e, m) for e, m in zip(limits, missing, strict=True)]
        none = [_NO_GROUPS] * len(nodes)
        return Splits(nodes, attribute, limits, groups, none, gone, cells)

    def _groups(self, edges: Floats, lost: int) -> NDArray[np.int32]:
        """Of an order, the range of each value."""
        if not self.n_values:
            return _NO_GROUPS
        return np.append(np.searchsorted(edges, np.arange(self.n_values)), [lost, lost]).astype(np.int32)
