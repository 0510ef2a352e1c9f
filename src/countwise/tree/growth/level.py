"""A level: the open nodes of one depth with their rows, the candidate splits, and the splits that are made."""

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

_MOST = (1 << 31) - 1  # instances that entries can number


class Countable(Protocol):
    """A column whose cells can be counted."""

    index: int
    codes: NDArray[Any]
    n_cells: int


@dataclass(frozen=True, slots=True, eq=False)
class ActiveRows:
    """The rows on their way down the tree: instances, each a row or that part of a row that went down one branch."""

    y: NDArray[Any]  # the class of each instance as a code, or its numeric target
    weights: NDArray[Any] | None  # of int64 or float64; None is 1 each
    rows: NDArray[np.uint32] | None  # None if instance i is row i
    n_classes: int  # 0 for a numeric target

    @property
    def whole(self) -> bool:
        """Whether all counts are whole numbers of classes, so that differences are exact."""
        return self.n_classes > 0 and (self.weights is None or self.weights.dtype.kind == "i")

    @property
    def floats(self) -> Floats | None:
        """The weights as the kernels of thresholds want them."""
        return None if self.weights is None else self.weights.astype(np.float64, copy=False)

    def table(self, codes: Any, entries: Any, segments: Any, n_cells: int, centers: Floats | None) -> NDArray[Any]:
        """The contents of each cell of a column of codes, in some segments: (segments, cells, classes or 3)."""
        if self.n_classes:
            return _kernels.count_entries(
                codes, entries, segments, self.y, self.weights, self.rows, n_cells, self.n_classes
            )
        assert centers is not None  # noqa: S101 - a numeric target is summed about the centers of the nodes
        return _kernels.sum_entries(codes, entries, segments, self.y, self.floats, self.rows, n_cells, centers)

    def sums(self, entries: NDArray[Any], segments: NDArray[Any], centers: Floats | None) -> Floats:
        """The contents of some segments of entries: (segments, classes or 3)."""
        one = np.broadcast_to(np.uint8(0), (len(self.y),))
        return self.table(one, entries, segments, 1, centers)[:, 0].astype(np.float64)

    def thresholds(
        self, entries: NDArray[Any], starts: NDArray[Any], criterion: Criterion, least: float
    ) -> tuple[NDArray[Any], Floats]:
        """The best place in each segment of sorted entries, and its gain."""
        given = (entries, starts, self.y, self.floats)
        if self.n_classes:
            return _kernels.best_thresholds(*given, self.n_classes, criterion.kernel, least)
        return _kernels.best_thresholds_of_numbers(*given, criterion.kernel, least)

    def divided(self, which: NDArray[Any], sizes: NDArray[Any], shares: Floats) -> tuple[ActiveRows, Any]:
        """The instances with the parts of some of them appended, and where the parts of each instance begin.

        Instance which[j] has sizes[j] parts; `shares` are their shares of its weight, one after the other.
        """
        n, n_new = len(self.y), int(sizes.sum())
        if n + n_new > _MOST:
            raise TableError(
                f"Rows with missing values would be divided into more than {_MOST} parts.",
                hint="give missing='branch' or 'majority', or a smaller max_depth.",
            )
        copies = np.zeros(n, dtype=np.uint32)
        copies[which] = n + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        origin = np.repeat(which, sizes)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        rows = np.arange(n, dtype=np.uint32) if self.rows is None else self.rows
        grown = replace(
            self,
            y=np.concatenate([self.y, self.y[origin]]),
            weights=np.concatenate([weights, weights[origin] * shares]),
            rows=np.concatenate([rows, rows[origin]]),
        )
        return grown, copies


@dataclass(slots=True, eq=False)
class Level:
    """The open nodes of one depth."""

    cells: Floats  # contents (nodes, classes); of a numeric target weight, sum and sum of squares about its center
    centers: Floats | None  # for a numeric target, the mean of each node
    settings: GrowthSettings
    criterion: Criterion = field(init=False)
    n_nodes: int = field(init=False)
    n_entries: int = field(init=False)  # how many rows there are to work on

    def __post_init__(self) -> None:
        self.criterion, self.n_nodes, self.n_entries = self.settings.criterion, len(self.cells), 0

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """The contents of each cell of a column at some nodes: (nodes, cells, classes or 3)."""
        raise NotImplementedError

    def candidates(
        self,
        known_gain: Floats,
        nodes: Any,
        branches: Callable[[], Any],
        missing: Floats | None,
        cut: Floats,
        n_tried: NDArray[Any] | None = None,  # thresholds, if a gain is to pay for the choice
    ) -> SplitCandidates:
        """Splits by one attribute, with the effect of rows whose value is missing.

        `known_gain` is that among rows that have a value, NaN where there is nothing to split; `branches` gives the
        cells (n, branches, classes) of these rows, `missing` are those of the others (n, classes).
        """
        criterion, gain = self.criterion, known_gain
        if missing is not None and (criterion.weight(missing) > 0).any():
            gain = self._gain_with_missing(known_gain, self.cells[nodes], branches, missing)
        if n_tried is not None:
            weights = criterion.weight(self.cells[nodes])
            gain = gain - np.log2(np.maximum(n_tried, 1)) / np.maximum(weights, 1e-300)
            gain = np.where(gain > 0, gain, np.nan)
        if not criterion.ratio:
            return SplitCandidates(gain, None, cut)
        sides = criterion.weight(branches())
        if missing is not None and self.settings.missing == "majority":
            sides = _with_heaviest(sides, criterion.weight(missing), sides)
        elif missing is not None:
            sides = np.concatenate([sides, criterion.weight(missing)[:, None]], axis=1)
        return SplitCandidates(gain, np.asarray(entropy(sides, axis=-1)), cut)

    def _gain_with_missing(self, known: Floats, cells: Floats, branches: Any, missing: Floats) -> Floats:
        n, lost = self.criterion.weight(cells), self.criterion.weight(missing)
        share = np.divide(n - lost, n, out=np.zeros_like(n), where=n > 0)
        if self.settings.missing == "fractions":
            # where the rows that have a value are pure, no split of them gains anything
            pure = (lost > 0) & self._pure(cells - missing, cells)
            return np.where(pure, np.nan, np.where(lost > 0, share * known, known))
        if self.settings.missing == "branch":
            apart = self.criterion.gain(np.stack([cells - missing, missing], axis=1))
            return np.where(lost > 0, apart + share * known, known)
        sides = branches()
        joined = _with_heaviest(sides, missing, self.criterion.weight(sides))
        return np.where(np.isnan(known) | (lost <= 0), known, self.criterion.gain(joined))

    def _pure(self, known: Floats, cells: Floats) -> Flags:
        if not self.criterion.numeric:
            return np.asarray(self.criterion.pure(known))
        return np.asarray(moments_of(known)[2] <= 1e-12 * moments_of(cells)[2])

    def add_missing(
        self, branches: NDArray[Any], missing: NDArray[Any] | None
    ) -> tuple[list[Floats], NDArray[np.int32]]:
        """Branches (n, branches, classes) with the rows whose value is missing (n, classes).

        Returns the branches of each node, and the branch of missing values (-1: all of them).
        """
        inside = np.array(branches, dtype=np.float64)
        n = self.criterion.weight(inside)
        if self.settings.missing == "majority":
            most = heaviest(n)
            if missing is not None:
                inside[np.arange(len(inside)), most] += missing
            return list(inside), most.astype(np.int32)
        lost: Any = 0.0 if missing is None else self.criterion.weight(missing)
        if missing is None or not (lost > 0).any():
            return list(inside), np.full(len(inside), -1, dtype=np.int32)
        if self.settings.missing == "branch":
            own = [
                np.concatenate([a, b[None]]) if w > 0 else a for a, b, w in zip(inside, missing, lost, strict=True)
            ]
            return own, np.where(lost > 0, inside.shape[1], -1).astype(np.int32)
        share = n / n.sum(axis=1, keepdims=True)
        return list(inside + share[:, :, None] * missing[:, None]), np.full(len(inside), -1, dtype=np.int32)


@dataclass(slots=True, eq=False)
class RowLevel(Level):
    """A level whose rows are in memory.

    The contents of the larger of two siblings are those of its parent less those of the smaller one.
    """

    members: NDArray[np.uint32]  # the instances of each node, as entries in segments
    starts: Indices
    rows: ActiveRows
    larger: Indices
    smaller: Indices
    parents: Indices  # in the level before

    def __post_init__(self) -> None:
        Level.__post_init__(self)
        self.n_entries = len(self.members)

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """The cells of a column counted at some nodes."""
        segments = np.stack([self.starts[nodes], self.starts[nodes + 1]], axis=1)
        centers = None if self.centers is None else self.centers[nodes]
        return self.rows.table(column.codes, self.members, segments, column.n_cells, centers)


@dataclass(slots=True, eq=False)
class TableLevel(Level):
    """A level whose tables were counted beforehand, where the rows are."""

    tables: dict[int, NDArray[Any]]  # of each attribute (nodes, cells, classes or 3)

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """The cells of a column at some nodes."""
        return np.ascontiguousarray(self.tables[column.index][nodes])


def _with_heaviest(sides: NDArray[Any], missing: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Branches with the rows whose value is missing in the heaviest of them."""
    joined = sides.astype(np.float64, copy=True)
    joined[np.arange(len(sides)), heaviest(weights)] += missing
    return joined


def heaviest(weights: NDArray[Any]) -> Indices:
    """The heaviest branch of each node (n, branches), of equally heavy ones the first: rounding must not decide."""
    return np.argmax(weights >= weights.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SplitCandidates:
    """The best split of each node by one attribute."""

    gain: Floats  # NaN if there is no split
    information: Floats | None  # of the split itself, for the gain ratio
    cut: Floats  # the threshold

    @classmethod
    def none(cls, n: int) -> SplitCandidates:
        """No split anywhere."""
        return cls(np.full(n, np.nan), np.zeros(n), np.full(n, np.nan))

    def put(self, nodes: Any, some: SplitCandidates) -> None:
        """Write down the candidates of some nodes."""
        self.gain[nodes], self.cut[nodes] = some.gain, some.cut
        if self.information is not None and some.information is not None:
            self.information[nodes] = some.information


@dataclass(slots=True, eq=False)
class Splits:
    """The splits of some nodes, and the contents of their branches."""

    nodes: Indices  # which nodes of the level, ascending
    attribute: NDArray[np.int32]  # of each
    limits: Sequence[NDArray[Any]]  # the thresholds of each node
    groups: Sequence[NDArray[Any]]  # or the branch of each code
    by_code: Sequence[NDArray[Any]]  # the branch of each code of the column that is used in training
    missing: NDArray[np.int32]  # the branch of missing values; -1 for all
    cells: Sequence[NDArray[Any]]  # the contents of each branch (branches, classes)
    sizes: Indices = field(init=False)  # how many branches each node has

    def __post_init__(self) -> None:
        self.sizes = np.fromiter(map(len, self.cells), dtype=np.int64, count=len(self.cells))

    @classmethod
    def by(cls, attribute: int, nodes: Indices, *parts: Any) -> Splits:
        """The splits of some nodes by one attribute."""
        return cls(nodes, np.full(len(nodes), attribute, dtype=np.int32), *parts)

    @classmethod
    def joined(cls, parts: Sequence[Splits]) -> Splits:
        """The splits by several attributes in the order of the nodes."""
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
        """The tests of all nodes of a level on the columns that are used in training."""
        tests = NodeTests(n_nodes)
        tests.put(self.nodes, self.attribute, self.limits, self.by_code, self.missing)
        return tests.flat()
