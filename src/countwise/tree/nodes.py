"""The tree: its nodes in the order of their levels, the children of each side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.tree.growth.level import Tests, ragged

__all__ = ["Offered", "Tree"]

_INTEGERS = ("attribute", "groups", "missing", "children", "parent", "looked")
_NUMBERS = ("limits", "cells", "offered")
_STARTS = ("limit_starts", "group_starts")


class Offered(NamedTuple):
    """What the attributes offered a node, one number for each: gains, what was compared, and cuts."""

    gains: Floats
    scores: Floats
    cuts: Floats


@dataclass(frozen=True, eq=False)  # no slots: what is derived from the nodes is kept once it is known
class Tree:
    """Nodes as arrays; node 0 is the root.

    Parameters
    ----------
    attribute : ndarray, shape (nodes,)
        What a node asks for; -1 for a leaf.
    limits, limit_starts, groups, group_starts, missing : ndarray
        Where each value goes; see the kernels of trees.
    children, parent : ndarray, shape (nodes,)
        The first child of each node, and the node from which it comes (-1 for the root).
    cells : ndarray, shape (nodes, classes) or (nodes, 3)
        The weight of each class; of numbers the weight, the mean, and the sum of squared deviations.
    looked : ndarray, shape (m,)
        The nodes that were asked what each attribute offers, ascending: all that split, and leaves that could have.
    offered : ndarray, shape (3, m, attributes)
        What it was: the gain (NaN for nothing), what was compared, and where a number would be cut.
    """

    attribute: NDArray[np.int32]
    limits: Floats
    limit_starts: Indices
    groups: NDArray[np.int32]
    group_starts: Indices
    missing: NDArray[np.int32]
    children: NDArray[np.int32]
    parent: NDArray[np.int32]
    cells: Floats
    looked: NDArray[np.int32]
    offered: Floats

    def __len__(self) -> int:
        return len(self.attribute)

    @lazy
    def tests(self) -> Tests:
        """What the kernels ask for: a value that no training row brought to a node goes where missing ones go."""
        groups = np.where(self.groups < 0, np.repeat(self.missing, np.diff(self.group_starts)), self.groups)
        return (self.attribute, self.limits, self.limit_starts, groups, self.group_starts, self.missing)

    def offers(self, k: int) -> Offered:
        """What each attribute offered a node; NaN if it was not looked at."""
        at = int(np.searchsorted(self.looked, k))
        if at < len(self.looked) and self.looked[at] == k:
            return Offered(*self.offered[:, at])
        return Offered(*np.full((3, self.offered.shape[2]), np.nan))

    @property
    def leaves(self) -> Indices:
        """The nodes that ask nothing."""
        return np.flatnonzero(self.attribute < 0)

    @lazy
    def sizes(self) -> Indices:
        """How many children each node has."""
        return np.bincount(self.parent[1:], minlength=len(self)) if len(self) > 1 else np.zeros(len(self), np.int64)

    @lazy
    def depths(self) -> Indices:
        """How far each node is from the root."""
        depth = np.zeros(len(self), dtype=np.int64)
        until = np.cumsum(self.sizes) + 1  # behind the last child of each node
        high = 1
        while high < len(self):  # level by level: the children of one level are the next
            stop = int(until[high - 1])
            depth[high:stop] = depth[self.parent[high:stop]] + 1
            high = stop
        return depth

    def weights(self, numbers: bool) -> Floats:
        """The weight of the rows at each node."""
        return np.asarray(self.cells[:, 0] if numbers else self.cells.sum(axis=1))

    def answering(self, numbers: bool) -> Floats:
        """What each node answers from: its cells, or those of its parent if no row came to it (002)."""
        cells = self.cells.copy()
        empty = np.flatnonzero(self.weights(numbers) <= 0)
        empty = empty[empty > 0]
        cells[empty] = cells[self.parent[empty]]
        return cells

    def limits_of(self, k: int) -> Floats:
        """The limits of a node."""
        return self.limits[self.limit_starts[k] : self.limit_starts[k + 1]]

    def groups_of(self, k: int) -> NDArray[np.int32]:
        """The branch of each code at a node."""
        return self.groups[self.group_starts[k] : self.group_starts[k + 1]]

    def path(self, k: int) -> list[int]:
        """The nodes from the root to a node."""
        found = [int(k)]
        while found[-1] > 0:
            found.append(int(self.parent[found[-1]]))
        return found[::-1]

    def passed(self, nodes: Iterable[int]) -> frozenset[int]:
        """All nodes on the ways from the root to some nodes, these among them."""
        found: set[int] = set()
        for k in nodes:
            at = int(k)
            while at >= 0 and at not in found:
                found.add(at)
                at = int(self.parent[at])
        return frozenset(found)

    def without(self, cut: Flags) -> Tree:
        """The tree with all below the marked nodes taken off."""
        gone = np.zeros(len(self), dtype=bool)
        closed = cut | (self.attribute < 0)
        for k in range(1, len(self)):  # parents stand before their children
            gone[k] = gone[self.parent[k]] or cut[self.parent[k]]
        kept = np.flatnonzero(~gone)
        number = np.cumsum(~gone) - 1
        leaf = closed[kept]
        there = ~gone[self.looked]
        attribute = np.where(leaf, -1, self.attribute[kept]).astype(np.int32)
        limits = [np.empty(0) if end else self.limits_of(k) for k, end in zip(kept.tolist(), leaf, strict=True)]
        groups = [_NO_GROUPS if end else self.groups_of(k) for k, end in zip(kept.tolist(), leaf, strict=True)]
        flat_limits, limit_starts = ragged(limits, np.float64)
        flat_groups, group_starts = ragged(groups, np.int32)
        parent = np.where(kept > 0, number[np.maximum(self.parent[kept], 0)], -1).astype(np.int32)
        return replace(
            self,
            attribute=attribute,
            limits=flat_limits,
            limit_starts=limit_starts,
            groups=flat_groups,
            group_starts=group_starts,
            missing=self.missing[kept],
            children=np.where(leaf, 0, number[self.children[kept]]).astype(np.int32),
            parent=parent,
            cells=self.cells[kept],
            looked=number[self.looked[there]].astype(np.int32),
            offered=self.offered[:, there],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file; NaN is written as None."""
        plain = {name: getattr(self, name).tolist() for name in (*_INTEGERS, *_STARTS)}
        return plain | {name: _without_nan(getattr(self, name)) for name in _NUMBERS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], n_attributes: int) -> Tree:
        """The tree that `to_dict` wrote, if it is sound."""
        parts: dict[str, Any] = {name: np.array(data[name], dtype=np.int32) for name in _INTEGERS}
        parts |= {name: np.array(data[name], dtype=np.int64) for name in _STARTS}
        parts |= {name: np.array(data[name], dtype=np.float64) for name in _NUMBERS}
        parts["offered"] = parts["offered"].reshape(3, -1, n_attributes)  # also where no node was looked at
        tree = cls(**parts)
        _check(tree, n_attributes)
        return tree


_NO_GROUPS = np.empty(0, dtype=np.int32)


def _without_nan(array: Floats) -> list[Any]:
    plain = array.astype(object)
    plain[np.isnan(array)] = None
    found: list[Any] = plain.tolist()
    return found


def _check(tree: Tree, n_attributes: int) -> None:
    """Refuse a tree that leads nowhere."""
    n = len(tree)
    inner = tree.attribute >= 0
    sizes = tree.sizes
    sound = (
        n > 0
        and all(getattr(tree, name).shape == (n,) for name in ("missing", "children", "parent"))
        and tree.offered.shape == (3, len(tree.looked), n_attributes)
        and (np.diff(tree.looked, prepend=-1) > 0).all()
        and (tree.looked < n).all()
        and tree.cells.ndim == 2
        and len(tree.cells) == n
        and np.isfinite(tree.cells).all()
        and tree.parent[0] == -1
        and (tree.parent[1:] >= 0).all()
        and (tree.parent[1:] < np.arange(1, n)).all()
        and (tree.attribute < n_attributes).all()
        and (tree.children[inner] > np.flatnonzero(inner)).all()
        and (tree.children[inner] + sizes[inner] <= n).all()
        and ((sizes > 0) == inner).all()
        and _in_levels(tree, sizes)
        and _is_ascending(tree.limit_starts, n, len(tree.limits))
        and _is_ascending(tree.group_starts, n, len(tree.groups))
        and (tree.missing < np.maximum(sizes, 1)).all()
        and (tree.missing >= -1).all()
    )
    if not sound:
        raise ValueError("the tree does not hang together")
    for k in np.flatnonzero(inner).tolist():
        groups, limits = tree.groups_of(k), tree.limits_of(k)
        if len(limits) + 1 > sizes[k] or (len(groups) and (groups.max() >= sizes[k] or groups.min() < -1)):
            raise ValueError(f"node {k} has fewer branches than it names")
        if (len(limits) == 0) == (len(groups) == 0) or (np.diff(limits) <= 0).any():
            raise ValueError(f"what node {k} asks is not sound")


def _in_levels(tree: Tree, sizes: Indices) -> bool:
    """Whether the children of each node stand side by side, and those of one level behind those of the one before."""
    place = np.arange(1, len(tree))
    first = tree.children[tree.parent[1:]]
    until, high = np.cumsum(sizes) + 1, 1
    while high < len(tree) and until[high - 1] > high:
        high = int(until[high - 1])
    return bool(high == len(tree) and (place >= first).all() and (place < first + sizes[tree.parent[1:]]).all())


def _is_ascending(starts: Indices, n: int, size: int) -> bool:
    return bool(len(starts) == n + 1 and starts[0] == 0 and starts[-1] == size and (np.diff(starts) >= 0).all())
