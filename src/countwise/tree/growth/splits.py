"""Split strategies for counted attributes, each a function of a contingency table (nodes, values, classes)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.tree.growth.criteria import Criterion, moments_of

__all__ = ["Multiway", "OneAgainstRest", "Searched", "SplitResult", "SplitStrategy", "Subset", "Threshold"]

Table = Callable[[], NDArray[Any]]
Found = tuple[Indices, Floats]  # the place and the gain of the best split of each node
_TRIED = 8  # largest number of values of which every subset is tried


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult:
    """Best splits of the n nodes of a batch."""

    gain: Floats  # NaN where no split is possible
    place: Indices  # number of values left of a threshold; or the value that is separated from the rest
    branches: Table  # the cells of the branches, (n, branches, classes)
    branch: Table  # the branch of each value, (n, values); -1 for values without rows
    table: Table  # the cells of the values, (n, values, classes)
    binary: bool = False  # whether there are two branches and every value has one


class SplitStrategy(Protocol):
    """Split strategy; values that no row of a node has go to a new branch ("empty"), to the "rest", or to none."""

    unseen_branch: str | None

    def split(self, table: NDArray[Any], criterion: Criterion, least: float) -> SplitResult:
        """Return the best split of each node of a table (nodes, values, classes)."""


class Searched:
    """Strategy whose best split is found by a kernel, also for tables that are not kept."""

    def search(self, table: NDArray[Any], n_values: int, criterion: Criterion, least: float) -> Found:
        """Return the best split of each node by the first `n_values` cells of a table."""
        raise NotImplementedError

    def result(self, table: Table, n_values: int, found: Found) -> SplitResult:
        """Return the splits of the nodes, given the result of `search`."""
        raise NotImplementedError

    def split(self, table: NDArray[Any], criterion: Criterion, least: float) -> SplitResult:
        """Return the best split of each node of a table (nodes, values, classes)."""
        n_values = table.shape[1]
        return self.result(lambda: table, n_values, self.search(table, n_values, criterion, least))


class Multiway(Searched):
    """Strategy with a branch for each value (ID3); at least two branches must have the minimum weight."""

    unseen_branch: str | None = "empty"

    def search(self, table: NDArray[Any], n_values: int, criterion: Criterion, least: float) -> Found:
        """Return the gain of the only possible split."""
        return np.zeros(len(table), dtype=np.int64), _kernels.branch_gains(table, n_values, criterion.kernel, least)

    def result(self, table: Table, n_values: int, found: Found) -> SplitResult:
        """Return the split with a branch for each value."""

        def branch() -> NDArray[Any]:
            present = table().any(axis=-1)
            return np.where(present, np.cumsum(present, axis=1) - 1, -1)

        return SplitResult(found[1], found[0], table, branch, table)


class Threshold(Searched):
    """Strategy with one threshold: the values up to it, and the values above it."""

    unseen_branch: str | None = None

    def search(self, table: NDArray[Any], n_values: int, criterion: Criterion, least: float) -> Found:
        """Return the best threshold of each node."""
        return _kernels.best_bins(table, n_values, criterion.kernel, least)

    def result(self, table: Table, n_values: int, found: Found) -> SplitResult:
        """Return the split at a threshold."""
        place, gain = found

        def branches() -> Floats:
            below = np.cumsum(table(), axis=1, dtype=np.float64)
            left = np.take_along_axis(below, np.maximum(place - 1, 0)[:, None, None], axis=1)[:, 0]
            return np.stack([left, below[:, -1] - left], axis=1)

        def branch() -> NDArray[Any]:
            return (np.arange(n_values) >= place[:, None]).astype(np.int32)

        return SplitResult(np.where(place > 0, gain, np.nan), place, branches, branch, table, binary=True)


class OneAgainstRest:
    """Strategy that separates one value from all others."""

    unseen_branch: str | None = "rest"

    def split(self, table: NDArray[Any], criterion: Criterion, least: float) -> SplitResult:
        """Return the split by the best value of each node."""
        cells = table.astype(np.float64)
        total = cells.sum(axis=1, keepdims=True)
        sides = np.stack([cells, total - cells], axis=2)  # (n, values, 2, classes)
        n = criterion.weight(sides)
        good = ((n > 0) & (n >= least * (1 - 1e-9))).all(axis=2)
        gains = np.where(good, criterion.gain(sides), -1.0)
        tolerance = _tolerance(total[:, 0], criterion)
        best = gains.max(axis=1, initial=-1.0)
        place = np.argmax(gains >= (best - tolerance)[:, None], axis=1)
        rows = np.arange(len(table))
        gain = np.where(best >= 0, gains[rows, place] if gains.shape[1] else np.nan, np.nan)

        def branch() -> NDArray[Any]:
            return np.where(np.arange(table.shape[1]) == place[:, None], 0, 1)

        return SplitResult(gain, place, lambda: sides[rows, place], branch, lambda: table, binary=True)


class Subset:
    """Strategy with two groups of values (CART).

    For two classes the values are sorted by the proportion of the second class, for a numeric target by the mean. The
    best two groups are then a cut in that order (Breiman et al., 1984; for a numeric target if the criterion is the
    variance). For more classes, all pairs of groups are tried if there are at most eight values. Otherwise the values
    are sorted along the first principal component of their class proportions, and the best cut in that order is
    used; it need not be the best pair of groups.
    """

    unseen_branch: str | None = None

    def split(self, table: NDArray[Any], criterion: Criterion, least: float) -> SplitResult:
        """Return the best two groups of values of each node."""
        if not criterion.numeric and table.shape[2] > 2 and table.shape[1] <= _TRIED:
            return _every_pair(table.astype(np.float64), criterion, least)
        n = criterion.weight(table)
        key = _even(_direction(table, criterion), n > 0)
        # ties are sorted by contents, not by codes
        tie_break = _even(table[:, :, -1] if criterion.numeric else n, n > 0)
        order = np.lexsort((_even(n, n > 0), tie_break, key), axis=1)
        ordered = np.ascontiguousarray(np.take_along_axis(table, order[:, :, None], axis=1))
        place, gain = _kernels.best_bins(ordered, table.shape[1], criterion.kernel, least)
        rank = np.argsort(order, axis=1, kind="stable")
        return _grouped(table, n > 0, (rank >= place[:, None]).astype(np.int64), np.where(place > 0, gain, np.nan))


def _tolerance(whole: NDArray[Any], criterion: Criterion) -> Any:
    """Return the rounding error of a gain; for a numeric target from the squares about the center of the parent."""
    n = criterion.weight(whole)
    if not criterion.numeric:
        return criterion.tolerance(criterion.impurity(whole), n)
    square = np.divide(whole[..., 2], n, out=np.zeros_like(n), where=n > 0)
    return criterion.tolerance(square if criterion.name == "variance" else np.sqrt(square), n)


def _direction(table: NDArray[Any], criterion: Criterion) -> Floats:
    """Return the sort key of each value of each node."""
    if criterion.numeric:
        return moments_of(table)[1]
    n = table.sum(axis=-1, keepdims=True)
    p = table / np.maximum(n, 1e-300)
    if table.shape[2] <= 2:
        return np.asarray(p[:, :, -1])
    total = n.sum(axis=1, keepdims=True)
    centered = p - table.sum(axis=1, keepdims=True) / np.maximum(total, 1e-300)
    scatter = np.einsum("nvc,nv,nvd->ncd", centered, n[:, :, 0].astype(np.float64), centered)
    main = np.linalg.eigh(scatter)[1][:, :, -1]
    return np.asarray((centered * main[:, None, :]).sum(axis=-1))


def _even(key: Floats, present: Flags) -> Floats:
    """Round keys so that rounding errors do not change the order; values without rows come last."""
    low = np.where(present, key, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    span = np.where(present, key, -np.inf).max(axis=1, keepdims=True, initial=-np.inf) - low
    with np.errstate(invalid="ignore"):
        steps = np.round((key - low) / np.where(span > 0, span, 1.0), 9)
    return np.where(present, steps, np.inf)


def _every_pair(table: Floats, criterion: Criterion, least: float) -> SplitResult:
    """Try every pair of groups of values; the first value is in the first group."""
    size = table.shape[1]
    masks = np.array([(0, *rest) for rest in product((0, 1), repeat=max(size - 1, 0))][1:], dtype=np.float64)
    masks = masks.reshape(-1, size)
    right = np.einsum("mv,nvc->nmc", masks, table)
    sides = np.stack([table.sum(axis=1)[:, None] - right, right], axis=2)  # (n, masks, 2, classes)
    n = criterion.weight(sides)
    good = ((n > 1e-9) & (n >= least * (1 - 1e-9))).all(axis=2)
    gains = np.where(good, criterion.gain(sides), -1.0)
    tolerance = _tolerance(table.sum(axis=1), criterion)
    best = gains.max(axis=1, initial=-1.0)
    pick = np.argmax(gains >= (best - tolerance)[:, None], axis=1) if len(masks) else np.zeros(len(table), np.int64)
    groups = masks[pick].astype(np.int64) if len(masks) else np.zeros((len(table), size), np.int64)
    return _grouped(table, criterion.weight(table) > 0, groups, np.where(best >= 0, best, np.nan))


def _grouped(table: NDArray[Any], present: NDArray[Any], groups: Indices, gain: Floats) -> SplitResult:
    """Return the split into two groups; the first value that a node has is in the first group."""
    rows = np.arange(len(table))
    first = groups[rows, np.argmax(present, axis=1)] if table.shape[1] else np.zeros(len(table), np.int64)
    groups = np.where(present, groups ^ first[:, None], -1)

    def branches() -> Floats:
        sides = [(table * (groups == b)[:, :, None]).sum(axis=1) for b in (0, 1)]
        return np.stack(sides, axis=1).astype(np.float64)

    return SplitResult(gain, np.zeros(len(table), dtype=np.int64), branches, lambda: groups, lambda: table)
