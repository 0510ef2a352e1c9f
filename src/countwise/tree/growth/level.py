"""Levels of a growing tree: the open nodes of one depth, their rows, candidate splits and chosen splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.errors import TableError
from countwise.measures import entropy
from countwise.tree.growth.criteria import Criterion, moments_of
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.nodes import NodeTests, Tests

__all__ = ["ActiveRows", "Level", "RowLevel", "SplitCandidates", "Splits", "TableLevel"]

_MOST = (1 << 31) - 1  # largest number of instances that entries can index


class Countable(Protocol):
    """Column whose codes can be counted."""

    index: int
    codes: NDArray[Any]
    n_cells: int


@dataclass(frozen=True, slots=True, eq=False)
class ActiveRows:
    """Rows during growth, as instances: an instance is a row, or the part of a row that went down one branch."""

    y: NDArray[Any]  # the class code of each instance, or its numeric target
    weights: NDArray[Any] | None  # int64 or float64; None if all are 1
    rows: NDArray[np.uint32] | None  # None if instance i is row i
    n_classes: int  # 0 for a numeric target

    @property
    def whole(self) -> bool:
        """Whether all class counts are integers, so that differences are exact."""
        return self.n_classes > 0 and (self.weights is None or self.weights.dtype.kind == "i")

    @property
    def floats(self) -> Floats | None:
        """The weights as floats, as the threshold kernels expect them."""
        return None if self.weights is None else self.weights.astype(np.float64, copy=False)

    def table(self, codes: Any, entries: Any, segments: Any, n_cells: int, centers: Floats | None) -> NDArray[Any]:
        """Count the cells of a column of codes in some segments: (segments, cells, classes or 3)."""
        if self.n_classes:
            return _kernels.count_entries(
                codes, entries, segments, self.y, self.weights, self.rows, n_cells, self.n_classes
            )
        assert centers is not None  # noqa: S101 - a numeric target is summed about the centers of the nodes
        return _kernels.sum_entries(codes, entries, segments, self.y, self.floats, self.rows, n_cells, centers)

    def sums(self, entries: NDArray[Any], segments: NDArray[Any], centers: Floats | None) -> Floats:
        """Return the totals of some segments of entries: (segments, classes or 3)."""
        one = np.broadcast_to(np.uint8(0), (len(self.y),))
        return self.table(one, entries, segments, 1, centers)[:, 0].astype(np.float64)

    def thresholds(
        self, entries: NDArray[Any], starts: NDArray[Any], criterion: Criterion, least: float
    ) -> tuple[NDArray[Any], Floats]:
        """Return the best threshold position in each segment of sorted entries, and its gain."""
        given = (entries, starts, self.y, self.floats)
        if self.n_classes:
            return _kernels.best_thresholds(*given, self.n_classes, criterion.kernel, least)
        return _kernels.best_thresholds_of_numbers(*given, criterion.kernel, least)

    def divided(self, which: NDArray[Any], sizes: NDArray[Any], fractions: Floats) -> tuple[ActiveRows, Any]:
        """Append the parts of some instances; return the result and the index of the first part of each instance.

        Instance which[j] is divided into sizes[j] parts. `fractions` are the fractions of the weights, concatenated.
        """
        n, n_new = len(self.y), int(sizes.sum())
        if n + n_new > _MOST:
            raise TableError(
                f"Rows with missing values would be divided into more than {_MOST} parts.",
                hint="use missing='branch' or 'majority', or a smaller max_depth.",
            )
        copies = np.zeros(n, dtype=np.uint32)
        copies[which] = n + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        origin = np.repeat(which, sizes)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        rows = np.arange(n, dtype=np.uint32) if self.rows is None else self.rows
        grown = replace(
            self,
            y=np.concatenate([self.y, self.y[origin]]),
            weights=np.concatenate([weights, weights[origin] * fractions]),
            rows=np.concatenate([rows, rows[origin]]),
        )
        return grown, copies


@dataclass(slots=True, eq=False)
class Level:
    """Open nodes of one depth."""

    cells: Floats  # (nodes, classes); for a numeric target: weight, sum and sum of squares about the center
    centers: Floats | None  # for a numeric target, the mean of each node
    settings: GrowthSettings
    criterion: Criterion = field(init=False)
    n_nodes: int = field(init=False)
    n_entries: int = field(init=False)  # number of instances at these nodes
    keeps_branches: bool = field(init=False, default=False)  # whether candidates keep the cells of their branches

    def __post_init__(self) -> None:
        self.criterion, self.n_nodes, self.n_entries = self.settings.criterion, len(self.cells), 0

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """Return the contingency table of a column at some nodes: (nodes, cells, classes or 3)."""
        raise NotImplementedError

    def candidates(
        self,
        known_gain: Floats,
        nodes: Any,
        branches: Callable[[], Any],
        missing: Floats | None,
        cut: Floats,
        n_tried: NDArray[Any] | None = None,  # number of thresholds, if gains are corrected for it
    ) -> SplitCandidates:
        """Return the candidate splits by one attribute, accounting for missing values.

        `known_gain` is the gain among the rows with a value, NaN where no split is possible. `branches` returns the
        cells of these rows (n, branches, classes). `missing` are the cells of the rows without a value (n, classes).
        """
        criterion, gain = self.criterion, known_gain
        if missing is not None and (criterion.weight(missing) > 0).any():
            gain = self._gain_with_missing(known_gain, self.cells[nodes], branches, missing)
        if n_tried is not None:
            weights = criterion.weight(self.cells[nodes])
            gain = gain - np.log2(np.maximum(n_tried, 1)) / np.maximum(weights, 1e-300)
            gain = np.where(gain > 0, gain, np.nan)
        every = np.arange(len(gain))
        kept = [(every, self._with_missing(branches(), missing))] if self.keeps_branches else []
        if not criterion.ratio:
            return SplitCandidates(gain, None, cut, kept)
        sides = criterion.weight(branches())
        if missing is not None and self.settings.missing == "majority":
            sides = _with_heaviest(sides, criterion.weight(missing), sides)
        elif missing is not None:
            sides = np.concatenate([sides, criterion.weight(missing)[:, None]], axis=1)
        return SplitCandidates(gain, np.asarray(entropy(sides, axis=-1)), cut, kept)

    def _with_missing(self, branches: NDArray[Any], missing: Floats | None) -> Floats:
        """Return the cells of the branches of each node; with 'fractions', of the rows with a value only."""
        if missing is not None and self.settings.missing == "majority":
            return _with_heaviest(branches, missing, self.criterion.weight(branches))
        if missing is not None and self.settings.missing == "branch":
            return np.concatenate([branches, missing[:, None]], axis=1)
        return branches.astype(np.float64)

    def _gain_with_missing(self, known: Floats, cells: Floats, branches: Any, missing: Floats) -> Floats:
        n, n_missing = self.criterion.weight(cells), self.criterion.weight(missing)
        observed = np.divide(n - n_missing, n, out=np.zeros_like(n), where=n > 0)  # fraction of rows with a value
        if self.settings.missing == "fractions":
            # if the rows with a value are pure, no split of them has a gain
            pure = (n_missing > 0) & self._pure(cells - missing, cells)
            return np.where(pure, np.nan, np.where(n_missing > 0, observed * known, known))
        if self.settings.missing == "branch":
            of_missing = self.criterion.gain(np.stack([cells - missing, missing], axis=1))
            return np.where(n_missing > 0, of_missing + observed * known, known)
        sides = branches()
        joined = _with_heaviest(sides, missing, self.criterion.weight(sides))
        return np.where(np.isnan(known) | (n_missing <= 0), known, self.criterion.gain(joined))

    def _pure(self, known: Floats, cells: Floats) -> Flags:
        if not self.criterion.numeric:
            return np.asarray(self.criterion.pure(known))
        return np.asarray(moments_of(known)[2] <= 1e-12 * moments_of(cells)[2])

    def add_missing(
        self, branches: NDArray[Any], missing: NDArray[Any] | None
    ) -> tuple[list[Floats], NDArray[np.int32]]:
        """Add the rows with a missing value (n, classes) to branches (n, branches, classes).

        Returns the branches of each node, and the branch of missing values (-1 for all branches).
        """
        inside = np.array(branches, dtype=np.float64)
        n = self.criterion.weight(inside)
        if self.settings.missing == "majority":
            most = heaviest(n)
            if missing is not None:
                inside[np.arange(len(inside)), most] += missing
            return list(inside), most.astype(np.int32)
        n_missing: Any = 0.0 if missing is None else self.criterion.weight(missing)
        if missing is None or not (n_missing > 0).any():
            return list(inside), np.full(len(inside), -1, dtype=np.int32)
        if self.settings.missing == "branch":
            own = [
                np.concatenate([a, b[None]]) if w > 0 else a
                for a, b, w in zip(inside, missing, n_missing, strict=True)
            ]
            return own, np.where(n_missing > 0, inside.shape[1], -1).astype(np.int32)
        fraction = n / n.sum(axis=1, keepdims=True)
        return list(inside + fraction[:, :, None] * missing[:, None]), np.full(len(inside), -1, dtype=np.int32)


@dataclass(slots=True, eq=False)
class RowLevel(Level):
    """Level whose rows are in memory.

    Only the smaller of two siblings is counted; the table of the larger one is that of the parent minus it.
    """

    members: NDArray[np.uint32]  # the instances of each node, as entries in segments
    starts: Indices
    rows: ActiveRows
    larger: Indices
    smaller: Indices
    parents: Indices  # nodes of the previous level

    def __post_init__(self) -> None:
        Level.__post_init__(self)
        self.n_entries = len(self.members)

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """Count the cells of a column at some nodes."""
        segments = np.stack([self.starts[nodes], self.starts[nodes + 1]], axis=1)
        centers = None if self.centers is None else self.centers[nodes]
        return self.rows.table(column.codes, self.members, segments, column.n_cells, centers)


@dataclass(slots=True, eq=False)
class TableLevel(Level):
    """Level whose contingency tables were counted in an engine or from a file."""

    tables: dict[int, NDArray[Any]]  # for each attribute (nodes, cells, classes or 3)

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """Return the cells of a column at some nodes."""
        return np.ascontiguousarray(self.tables[column.index][nodes])


def _with_heaviest(sides: NDArray[Any], missing: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Add the rows with a missing value to the branch with the largest weight."""
    joined = sides.astype(np.float64, copy=True)
    joined[np.arange(len(sides)), heaviest(weights)] += missing
    return joined


def heaviest(weights: NDArray[Any]) -> Indices:
    """Return the branch with the largest weight at each node (n, branches); ties, up to rounding, go to the first."""
    return np.argmax(weights >= weights.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SplitCandidates:
    """Best split of each node by one attribute."""

    gain: Floats  # NaN if there is no split
    information: Floats | None  # split information, for the gain ratio
    cut: Floats  # the threshold
    branches: list[tuple[Indices, Floats]]  # nodes, and the cells of their branches, if the level keeps them

    @classmethod
    def none(cls, n: int) -> SplitCandidates:
        """Return candidates without any split."""
        return cls(np.full(n, np.nan), np.zeros(n), np.full(n, np.nan), [])

    def put(self, nodes: Indices, some: SplitCandidates) -> None:
        """Set the candidates of some nodes."""
        self.gain[nodes], self.cut[nodes] = some.gain, some.cut
        if self.information is not None and some.information is not None:
            self.information[nodes] = some.information
        self.branches.extend((nodes[places], cells) for places, cells in some.branches)


@dataclass(slots=True, eq=False)
class Splits:
    """Splits of some nodes, and the cells of their branches."""

    nodes: Indices  # nodes of the level, ascending
    attribute: NDArray[np.int32]  # the attribute of each split
    limits: Sequence[NDArray[Any]]  # the thresholds of each split
    groups: Sequence[NDArray[Any]]  # or the branch of each code
    by_code: Sequence[NDArray[Any]]  # the branch of each code of the training column, which may be binned
    missing: NDArray[np.int32]  # the branch of missing values; -1 for all branches
    cells: Sequence[NDArray[Any]]  # the cells of the branches of each split (branches, classes)
    sizes: Indices = field(init=False)  # number of branches of each split

    def __post_init__(self) -> None:
        self.sizes = np.fromiter(map(len, self.cells), dtype=np.int64, count=len(self.cells))

    @classmethod
    def by(cls, attribute: int, nodes: Indices, *parts: Any) -> Splits:
        """Return the splits of some nodes by one attribute."""
        return cls(nodes, np.full(len(nodes), attribute, dtype=np.int32), *parts)

    @classmethod
    def joined(cls, parts: Sequence[Splits]) -> Splits:
        """Merge the splits by several attributes, in the order of the nodes."""
        if len(parts) == 1:
            return parts[0]
        nodes = np.concatenate([part.nodes for part in parts])
        order = np.argsort(nodes, kind="stable")
        in_order, columns = itemgetter(*order.tolist()), ("limits", "groups", "by_code", "cells")
        limits, groups, by_code, cells = (
            in_order(list(chain.from_iterable(map(attrgetter(name), parts)))) for name in columns
        )
        attribute, missing = (np.concatenate([getattr(p, name) for p in parts]) for name in ("attribute", "missing"))
        return cls(nodes[order], attribute[order], limits, groups, by_code, missing[order], cells)

    def training_tests(self, n_nodes: int) -> Tests:
        """Return the tests of all nodes of a level on the training columns."""
        tests = NodeTests(n_nodes)
        tests.put(self.nodes, self.attribute, self.limits, self.by_code, self.missing)
        return tests.flat()
