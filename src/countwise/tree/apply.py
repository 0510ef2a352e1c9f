"""Applying a tree: the leaves that rows reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.tree.nodes import Tree

__all__ = ["Landing", "land", "shares_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Landing:
    """The leaves that rows reach: one each, or several, each with a share of the row.

    Parameters
    ----------
    n_rows : int
        How many rows.
    leaves : ndarray, shape (n,)
        Leaves.
    rows, shares : ndarray, shape (n,), or None
        The row of each, and the share of it that reached the leaf; None if every row reached one leaf.
    """

    n_rows: int
    leaves: NDArray[Any]
    rows: NDArray[Any] | None = None
    shares: Floats | None = None

    def blended(self, values: Floats) -> Floats:
        """Values of nodes (nodes, ...) averaged over the leaves of each row by their shares; (rows, ...)."""
        if self.rows is None or self.shares is None:
            return values[self.leaves]
        out = np.zeros((self.n_rows, *values.shape[1:]))
        shares = self.shares.reshape(-1, *[1] * (values.ndim - 1))
        np.add.at(out, self.rows, shares * values[self.leaves])
        return out


def shares_of(tree: Tree, weights: Floats) -> Floats:
    """The share of its parent's rows that each node has: where rows with a missing value go."""
    below = np.zeros(len(tree))
    np.add.at(below, tree.parent[1:], weights[1:])
    total = np.ones(len(tree))
    total[1:] = below[tree.parent[1:]]
    return np.divide(weights, total, out=np.zeros(len(tree)), where=total > 0)


def land(tree: Tree, columns: Sequence[NDArray[Any]], n_rows: int, weights: Floats) -> Landing:
    """Send rows down to the leaves; a row with a missing value goes down all branches, in shares."""
    tests = tree.tests
    at = _kernels.apply_tests(columns, None, None, n_rows, tests, tree.children)
    lost = np.flatnonzero(at < 0)
    if not len(lost):
        return Landing(n_rows, at)
    shares, sizes = shares_of(tree, weights), tree.sizes
    there = np.flatnonzero(at >= 0)
    leaves, rows, parts = [at[there]], [there], [np.ones(len(there))]
    share = np.ones(len(lost))
    node = -1 - at[lost].astype(np.int64)
    while len(lost):
        many = sizes[node]
        first = np.repeat(np.cumsum(many) - many, many)
        child = np.repeat(tree.children[node], many) + (np.arange(int(many.sum())) - first)
        part = np.repeat(share, many) * shares[child]
        row = np.repeat(lost, many)
        kept = part > 0
        row, child, part = row[kept].astype(np.uint32), child[kept].astype(np.int32), part[kept]
        at = _kernels.apply_tests(columns, row, child, len(row), tests, tree.children)
        done = at >= 0
        leaves.append(at[done])
        rows.append(row[done].astype(np.intp))
        parts.append(part[done])
        lost, share, node = row[~done].astype(np.intp), part[~done], -1 - at[~done].astype(np.int64)
    return Landing(n_rows, np.concatenate(leaves), np.concatenate(rows), np.concatenate(parts))
