"""Tree of nodes, stored as arrays in breadth-first order with siblings next to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.jsonfile import numbers

__all__ = ["Landing", "NodeCandidates", "NodeTests", "Tests", "Tree", "first_best", "ragged"]

# attribute, thresholds, starts of thresholds, groups, starts of groups, branch of missing values
Tests = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

_DTYPES: dict[str, Any] = {  # dtype of each field
    **dict.fromkeys(("attribute", "groups", "missing", "children", "parent", "searched"), np.int32),
    **dict.fromkeys(("branch_nodes", "branch_attributes"), np.int32),
    **dict.fromkeys(("limit_starts", "group_starts"), np.int64),
    **dict.fromkeys(("limits", "cells", "search_results", "branch_cells"), np.float64),
}
_LARGEST = 1e150  # numbers above it cannot be squared
_BRANCHES = ("branch_nodes", "branch_attributes", "branch_cells")
_FILE_NAMES = {"searched": "looked", "search_results": "offered"}  # names in model files, where they differ


class NodeCandidates(NamedTuple):
    """Candidate splits of a node, one for each attribute: gain, score that was compared, and threshold."""

    gains: Floats
    scores: Floats
    cuts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Landing:
    """Leaves that rows reach: one leaf for each row, or several leaves with a fraction of the row at each."""

    n_rows: int
    leaves: NDArray[Any]
    rows: NDArray[Any] | None = None  # the row of each leaf; None if every row reached exactly one leaf
    fractions: Floats | None = None  # the fraction of the row that reached the leaf

    def blended(self, values: Floats) -> Floats:
        """Average values of nodes (nodes, ...) over the leaves of each row, weighted by fractions; (rows, ...)."""
        if self.rows is None or self.fractions is None:
            return values[self.leaves]
        out = np.zeros((self.n_rows, *values.shape[1:]))
        fractions = self.fractions.reshape(-1, *[1] * (values.ndim - 1))
        np.add.at(out, self.rows, fractions * values[self.leaves])
        return out


def first_best(proba: Floats) -> NDArray[np.intp]:
    """Return the index of the most probable class of each row, the first at a tie.

    Rounded as engines and SQL queries do, because the sum over the leaves of a row has rounding errors.
    """
    return np.asarray(np.argmax(proba.round(12), axis=1))


@dataclass(frozen=True, eq=False)  # no slots, because derived arrays are cached on the instance
class Tree:
    """Nodes of a tree as arrays; node 0 is the root."""

    attribute: NDArray[np.int32]  # index of the attribute that a node tests; -1 for a leaf
    limits: Floats  # thresholds of all nodes; with groups and missing, the tests in the form that the kernels use
    limit_starts: Indices
    groups: NDArray[np.int32]  # branch of each code at nodes with a nominal test
    group_starts: Indices
    missing: NDArray[np.int32]  # branch of missing values; -1 for all branches
    children: NDArray[np.int32]  # the first child of each node
    parent: NDArray[np.int32]  # -1 for the root
    cells: Floats  # weight of each class; for a numeric target: weight, mean and sum of squared deviations
    searched: NDArray[np.int32]  # nodes for which a split was searched, ascending; some of them became leaves
    search_results: Floats  # (3, searched, attributes): gain (NaN for no split), score, threshold
    branch_nodes: NDArray[np.int32]  # the node of each branch of candidate splits, in the upper part of the tree
    branch_attributes: NDArray[np.int32]  # its attribute
    branch_cells: Floats  # its cells, as in `cells`; without the rows with missing values that follow every branch

    def __len__(self) -> int:
        return len(self.attribute)

    @lazy
    def tests(self) -> Tests:
        """The tests as the kernels expect them; values not seen at a node take the branch of missing values."""
        groups = np.where(self.groups < 0, np.repeat(self.missing, np.diff(self.group_starts)), self.groups)
        return (self.attribute, self.limits, self.limit_starts, groups, self.group_starts, self.missing)

    def depth_with(self, leaves: int) -> int:
        """Return the largest depth at which a tree that is cut off there has at most so many leaves."""
        nodes = np.bincount(self.depths)
        ends = np.cumsum(np.bincount(self.depths[self.leaves], minlength=len(nodes)))
        return int(np.flatnonzero(ends + nodes <= leaves).max(initial=0))

    def places(self, ends: Flags) -> dict[int, float]:
        """Return the position of each node across the direction of growth, parents before their children.

        Leaves are consecutive, other nodes are centered on their children. The tree is cut off at the nodes `ends`.
        """
        order, waiting = [], [0]
        while waiting:
            k = waiting.pop()
            order.append(k)
            if not ends[k]:
                waiting.extend(range(int(self.children[k] + self.sizes[k]) - 1, int(self.children[k]) - 1, -1))
        place = {k: float(i) for i, k in enumerate(k for k in order if ends[k])}
        for k in reversed(order):  # children come behind their parents
            if not ends[k]:
                first = int(self.children[k])
                place[k] = (place[first] + place[first + int(self.sizes[k]) - 1]) / 2
        return {k: place[k] for k in order}

    def candidates(self, k: int) -> NodeCandidates:
        """Return the candidate split of a node by each attribute; NaN if none was searched."""
        at = int(np.searchsorted(self.searched, k))
        if at < len(self.searched) and self.searched[at] == k:
            return NodeCandidates(*self.search_results[:, at])
        return NodeCandidates(*np.full((3, self.search_results.shape[2]), np.nan))

    def branches_of(self, k: int, j: int) -> Floats | None:
        """Return the cells of the branches of the candidate split of a node by an attribute; None if not kept."""
        mine = (self.branch_nodes == k) & (self.branch_attributes == j)
        return self.branch_cells[mine] if mine.any() else None

    @property
    def leaves(self) -> Indices:
        """Indices of the leaves."""
        return np.flatnonzero(self.attribute < 0)

    @lazy
    def sizes(self) -> Indices:
        """Number of children of each node."""
        return np.bincount(self.parent[1:], minlength=len(self)) if len(self) > 1 else np.zeros(len(self), np.int64)

    @lazy
    def depths(self) -> Indices:
        """Depth of each node; the root has depth 0."""
        depth = np.zeros(len(self), dtype=np.int64)
        until = np.cumsum(self.sizes) + 1  # index after the last child of each node
        high = 1
        while high < len(self):  # the children of one level are the next level
            stop = int(until[high - 1])
            depth[high:stop] = depth[self.parent[high:stop]] + 1
            high = stop
        return depth

    def weights(self, numeric: bool) -> Floats:
        """Return the total weight of the training rows at each node."""
        return np.asarray(self.cells[:, 0] if numeric else self.cells.sum(axis=1))

    def predicting_cells(self, numeric: bool) -> Floats:
        """Return the cells from which each node predicts: its own, or those of its parent if no row reached it."""
        cells = self.cells.copy()
        empty = np.flatnonzero(self.weights(numeric) <= 0)
        empty = empty[empty > 0]
        cells[empty] = cells[self.parent[empty]]
        return cells

    def limits_of(self, k: int) -> Floats:
        """Return the thresholds of a node."""
        return self.limits[self.limit_starts[k] : self.limit_starts[k + 1]]

    def groups_of(self, k: int) -> NDArray[np.int32]:
        """Return the branch of each code at a node."""
        return self.groups[self.group_starts[k] : self.group_starts[k + 1]]

    def children_of(self, k: int) -> range:
        """Return the children of a node; an empty range for a leaf."""
        first = int(self.children[k])
        return range(first, first + int(self.sizes[k]))

    def path(self, k: int) -> list[int]:
        """Return the nodes from the root to a node."""
        found = [int(k)]
        while found[-1] > 0:
            found.append(int(self.parent[found[-1]]))
        return found[::-1]

    def passed(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return all nodes on the paths from the root to some nodes, including these nodes."""
        found: set[int] = set()
        for k in nodes:
            at = int(k)
            while at >= 0 and at not in found:
                found.add(at)
                at = int(self.parent[at])
        return frozenset(found)

    def without(self, cut: Flags) -> Tree:
        """Return the tree without the nodes below the marked ones."""
        gone = np.zeros(len(self), dtype=bool)
        closed = cut | (self.attribute < 0)
        for k in range(1, len(self)):  # parents precede their children
            gone[k] = gone[self.parent[k]] or cut[self.parent[k]]
        kept = np.flatnonzero(~gone)
        number = np.cumsum(~gone) - 1
        leaf = closed[kept]
        inner = kept[~leaf]
        tests = NodeTests(len(kept))
        limits, groups = ([of(k) for k in inner.tolist()] for of in (self.limits_of, self.groups_of))
        tests.put(number[inner], self.attribute[inner], limits, groups, self.missing[inner])
        remaining, branches = ~gone[self.searched], ~gone[self.branch_nodes]
        return Tree(
            *tests.flat(),
            children=np.where(leaf, 0, number[self.children[kept]]).astype(np.int32),
            parent=np.where(kept > 0, number[np.maximum(self.parent[kept], 0)], -1).astype(np.int32),
            cells=self.cells[kept],
            searched=number[self.searched[remaining]].astype(np.int32),
            search_results=self.search_results[:, remaining],
            branch_nodes=number[self.branch_nodes[branches]].astype(np.int32),
            branch_attributes=self.branch_attributes[branches],
            branch_cells=self.branch_cells[branches],
        )

    def fractions(self, weights: Floats) -> Floats:
        """Return the fraction of the weight of its parent that each node has; rows with missing values follow it."""
        below = np.zeros(len(self))
        np.add.at(below, self.parent[1:], weights[1:])
        total = np.ones(len(self))
        total[1:] = below[self.parent[1:]]
        return np.divide(weights, total, out=np.zeros(len(self)), where=total > 0)

    def land(self, columns: Sequence[NDArray[Any]], n_rows: int, weights: Floats) -> Landing:
        """Send rows down to the leaves; a row with a missing value goes down all branches, in fractions."""
        at = _kernels.apply_tests(columns, None, None, n_rows, self.tests, self.children)
        divided = np.flatnonzero(at < 0)
        if not len(divided):
            return Landing(n_rows, at)
        fractions, sizes = self.fractions(weights), self.sizes
        whole = np.flatnonzero(at >= 0)
        leaves, rows, parts = [at[whole]], [whole], [np.ones(len(whole))]
        fraction = np.ones(len(divided))
        node = -1 - at[divided].astype(np.int64)
        while len(divided):
            many = sizes[node]
            first = np.repeat(np.cumsum(many) - many, many)
            child = np.repeat(self.children[node], many) + (np.arange(int(many.sum())) - first)
            part = np.repeat(fraction, many) * fractions[child]
            row = np.repeat(divided, many)
            kept = part > 0
            row, child, part = row[kept].astype(np.uint32), child[kept].astype(np.int32), part[kept]
            at = _kernels.apply_tests(columns, row, child, len(row), self.tests, self.children)
            done = at >= 0
            leaves.append(at[done])
            rows.append(row[done].astype(np.intp))
            parts.append(part[done])
            divided, fraction, node = row[~done].astype(np.intp), part[~done], -1 - at[~done].astype(np.int64)
        return Landing(n_rows, np.concatenate(leaves), np.concatenate(rows), np.concatenate(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain data for the model file; NaN becomes None."""
        fields = {_FILE_NAMES.get(name, name): getattr(self, name) for name in _DTYPES}
        return {name: _without_nan(x) if x.dtype.kind == "f" else x.tolist() for name, x in fields.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], n_attributes: int) -> Tree:
        """Create a tree from the result of `to_dict`, and check its consistency."""
        names = {name: _FILE_NAMES.get(name, name) for name in _DTYPES}
        older = not any(name in data for name in _BRANCHES)  # a file of a version without branches of candidates
        parts = {name: _array([] if older and name in _BRANCHES else data[key], name) for name, key in names.items()}
        shape = 3, len(parts["searched"]), n_attributes  # also without searched nodes or attributes
        parts["search_results"] = parts["search_results"].reshape(shape)
        if not len(parts["branch_nodes"]):
            parts["branch_cells"] = np.empty((0, parts["cells"].shape[1]))
        tree = cls(**parts)
        _check(tree, n_attributes)
        return tree

    def check_cells(self, numeric: bool) -> None:
        """Raise ValueError if the cells of a file are not counts, or branches do not divide those of their node."""
        cells = self.cells[:, [0, 2]] if numeric else self.cells  # the weight, and the squared deviations
        weights, tolerance = self.weights(numeric), 1e-6 * float(self.weights(numeric)[0])
        below = np.zeros(len(self))
        np.add.at(below, self.parent[1:], weights[1:])
        inner = self.attribute >= 0
        if (cells < -tolerance * (not numeric)).any() or weights[0] <= 0 or not np.isfinite(self.cells.sum()):
            raise ValueError("a node of the tree has negative counts, or the root has none")
        with np.errstate(invalid="ignore"):
            extreme = np.abs(self.search_results[:2]) > (4 * _LARGEST**2 if numeric else 1e100)
        if extreme.any():
            raise ValueError("the gain or the score of a split is impossible")
        inside = self.branch_cells[:, [0, 2]] if numeric else self.branch_cells
        if (inside < 0).any() or (np.abs(self.branch_cells) > _LARGEST**2).any():
            raise ValueError("a branch of a candidate split has negative or impossible counts")
        means = self.cells[:, 1] if numeric else np.empty(0)
        if (np.abs(means) > _LARGEST).any() or (np.abs(below - weights)[inner] > tolerance).any():
            raise ValueError("the counts of a node are not the sums of those of its branches")


def _array(data: Any, name: str) -> NDArray[Any]:
    """Return a field of a tree from a file as an array."""
    floats = _DTYPES[name] is np.float64
    depth = {"cells": 2, "branch_cells": 2, "search_results": 3}.get(name, 1)
    if name in ("search_results", "branch_cells") and not any(map(len, data)):
        return np.empty(0)
    limits = {} if floats else {"least": -1, "most": 2**31 - 1}
    missing = name == "search_results"
    found = numbers(data, f"the {name}", (None,) * depth, missing=missing, whole=not floats, **limits)
    return found.astype(_DTYPES[name])


class NodeTests:
    """Tests of nodes, collected in ascending order of the nodes; nodes without a test are leaves."""

    def __init__(self, n_nodes: int) -> None:
        self.attribute, self.missing = np.full((2, n_nodes), -1, dtype=np.int32)
        self.n_limits, self.n_groups = np.zeros((2, n_nodes), dtype=np.int64)
        self.limits: list[NDArray[Any]] = []
        self.groups: list[NDArray[Any]] = []

    def put(self, nodes: Indices, attribute: Any, limits: Sequence[Any], groups: Sequence[Any], missing: Any) -> None:
        """Add the tests of some nodes: the groups of a node, or its thresholds if it has no groups."""
        sizes = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
        own = sizes == 0
        self.attribute[nodes], self.missing[nodes], self.n_groups[nodes] = attribute, missing, sizes
        self.groups.extend(groups)
        limits = list(compress(limits, own))
        self.n_limits[nodes[own]] = list(map(len, limits))
        self.limits.extend(limits)

    def flat(self) -> Tests:
        """Return the tests as the kernels expect them."""
        limits, groups = _joined(self.limits, np.float64), _joined(self.groups, np.int32)
        return self.attribute, limits, _starts(self.n_limits), groups, _starts(self.n_groups), self.missing


def ragged(parts: Sequence[NDArray[Any]], dtype: Any) -> tuple[NDArray[Any], Indices]:
    """Concatenate arrays, and return the start of each."""
    return _joined(parts, dtype), _starts(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if len(parts) else np.empty(0, dtype=dtype)


def _starts(sizes: Indices) -> Indices:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _without_nan(array: Floats) -> list[Any]:
    plain = array.astype(object)
    plain[np.isnan(array)] = None
    found: list[Any] = plain.tolist()
    return found


def _check(tree: Tree, n_attributes: int) -> None:
    """Raise ValueError if the arrays of a tree are inconsistent."""
    n = len(tree)
    inner = tree.attribute >= 0
    sizes = tree.sizes
    consistent = (
        n > 0
        and all(getattr(tree, name).shape == (n,) for name in ("missing", "children", "parent"))
        and tree.search_results.shape == (3, len(tree.searched), n_attributes)
        and (np.diff(tree.searched, prepend=-1) > 0).all()
        and (tree.searched < n).all()
        and tree.branch_nodes.shape == tree.branch_attributes.shape == tree.branch_cells.shape[:1]
        and tree.branch_cells.ndim == 2
        and tree.branch_cells.shape[1] == tree.cells.shape[-1]
        and np.isfinite(tree.branch_cells).all()
        and np.isin(tree.branch_nodes, tree.searched).all()
        and ((tree.branch_attributes >= 0) & (tree.branch_attributes < n_attributes)).all()
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
        and (tree.missing[inner] < sizes[inner]).all()  # files may hold it for pruned nodes, too
        and (tree.missing >= -1).all()
    )
    if not consistent:
        raise ValueError("the nodes of the tree are inconsistent")
    for k in np.flatnonzero(inner).tolist():
        groups, limits = tree.groups_of(k), tree.limits_of(k)
        if len(limits) + 1 > sizes[k] or (len(groups) and (groups.max() >= sizes[k] or groups.min() < -1)):
            raise ValueError(f"the test of node {k} refers to a branch that does not exist")
        if (len(limits) == 0) == (len(groups) == 0) or (np.diff(limits) <= 0).any():
            raise ValueError(f"the test of node {k} is invalid")


def _in_levels(tree: Tree, sizes: Indices) -> bool:
    """Return whether siblings are adjacent and the levels are in order."""
    place = np.arange(1, len(tree))
    first = tree.children[tree.parent[1:]]
    until, high = np.cumsum(sizes) + 1, 1
    while high < len(tree) and until[high - 1] > high:
        high = int(until[high - 1])
    return bool(high == len(tree) and (place >= first).all() and (place < first + sizes[tree.parent[1:]]).all())


def _is_ascending(starts: Indices, n: int, size: int) -> bool:
    return bool(len(starts) == n + 1 and starts[0] == 0 and starts[-1] == size and (np.diff(starts) >= 0).all())
