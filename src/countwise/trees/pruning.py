"""Pruning: taking off what the rows do not bear out.

Each rule marks nodes below which everything is taken off; see `Tree.without`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.trees.paths import Landing
from countwise.trees.tree import Tree

__all__ = ["Path", "at_nodes", "complexity_path", "pessimistic_errors", "prune_by_errors", "upper_error"]


def upper_error(errors: Floats, n: Floats, confidence: float) -> Floats:
    """The error rate that is exceeded with the probability `confidence` at most, times n (C4.5's pessimistic errors).

    .. math:: U such that P(at most e errors of n | U) = confidence

    The exact binomial limit; for no errors it is 1 - confidence^(1/n).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.trees.pruning import upper_error
    >>> upper_error(np.array([0.0, 0.0, 1.0]), np.array([6.0, 9.0, 16.0]), 0.25).round(3).tolist()
    [1.238, 1.285, 2.554]
    """
    from scipy.special import betaincinv

    n = np.asarray(n, dtype=np.float64)
    errors = np.clip(np.asarray(errors, dtype=np.float64), 0.0, n)
    some = (n > 0) & (errors < n * (1 - 1e-12))
    rate = np.ones_like(n)
    rate[some] = betaincinv(errors[some] + 1, n[some] - errors[some], 1 - confidence)
    return np.where(n > 0, rate * n, 0.0)


def pessimistic_errors(cells: Floats, confidence: float) -> Floats:
    """The pessimistic errors of nodes that answer with their commonest class."""
    n = cells.sum(axis=1)
    return upper_error(n - cells.max(axis=1, initial=0.0), n, confidence)


def prune_by_errors(tree: Tree, errors: Floats) -> Tree:
    """Bottom up, a node becomes a leaf if it then errs no more than the leaves below it do together.

    Parameters
    ----------
    tree : Tree
        The tree.
    errors : ndarray, shape (nodes,)
        How much each node would err as a leaf.
    """
    below = np.where(tree.attribute < 0, errors, 0.0)
    cut = np.zeros(len(tree), dtype=bool)
    for k in range(len(tree) - 1, -1, -1):  # children stand behind their parents
        if tree.attribute[k] >= 0 and errors[k] <= below[k] * (1 + 1e-9) + 1e-12:
            cut[k] = True
            below[k] = errors[k]
        if k:
            below[tree.parent[k]] += below[k]
    return tree.without(cut) if cut.any() else tree


def at_nodes(tree: Tree, landing: Landing, told: NDArray[Any], weights: Floats | None, answers: Floats) -> Floats:
    """How much rows err at each node that they pass, if it answered them: weight of errors, or squared errors.

    Parameters
    ----------
    tree : Tree
        The tree.
    landing : Landing
        Where the rows come to rest.
    told : ndarray
        Their classes as codes, or their numbers.
    weights : ndarray or None
        Their weights.
    answers : ndarray, shape (nodes,)
        The class, or the number, that each node answers.
    """
    numbers = answers.dtype.kind == "f"
    node = landing.leaves.astype(np.int64)
    rows = np.arange(landing.n_rows) if landing.rows is None else landing.rows
    w = np.ones(len(rows)) if landing.shares is None else landing.shares.copy()
    w = w if weights is None else w * weights[rows]
    y = told[rows]
    errors = np.zeros(len(tree))
    moving = np.arange(len(node))
    while len(moving):
        here, said = node[moving], answers[node[moving]]
        wrong = (y[moving] - said) ** 2 if numbers else (y[moving] != said).astype(np.float64)
        np.add.at(errors, here, w[moving] * wrong)
        node[moving] = tree.parent[here]
        moving = moving[node[moving] >= 0]
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The trees that cost-complexity pruning passes, from the whole tree to the root.

    Parameters
    ----------
    alphas : ndarray, shape (steps,)
        From which alpha on each of the trees is the best, ascending; the first is 0.
    impurities : ndarray, shape (steps,)
        The impurity of all leaves of each, weighed by their share of the rows.
    leaves : ndarray, shape (steps,)
        How many leaves each has.
    pruned_at : ndarray, shape (nodes,)
        The alpha at which a node becomes a leaf; infinite for the leaves of the whole tree.
    """

    alphas: Floats
    impurities: Floats
    leaves: Indices
    pruned_at: Floats


def complexity_path(tree: Tree, risk: Floats) -> Path:
    """The weakest link is cut first: the node whose branch lowers the risk least, a leaf.

    .. math:: g(t) = [R(t) - R(T_t)] / (|leaves of T_t| - 1)

    Parameters
    ----------
    tree : Tree
        The whole tree.
    risk : ndarray, shape (nodes,)
        R(t): the impurity of each node, weighed by its share of the rows.
    """
    leaf = tree.attribute < 0
    below = np.where(leaf, risk, 0.0)
    leaves = leaf.astype(np.int64)
    for k in range(len(tree) - 1, 0, -1):
        below[tree.parent[k]] += below[k]
        leaves[tree.parent[k]] += leaves[k]

    def link(k: int) -> float:
        return max(float(risk[k] - below[k]) / max(int(leaves[k]) - 1, 1), 0.0)

    waiting = [(link(k), k) for k in np.flatnonzero(~leaf).tolist()]
    heapq.heapify(waiting)
    pruned_at = np.full(len(tree), np.inf)
    gone = np.zeros(len(tree), dtype=bool)
    alphas, impurities, counts = [0.0], [float(below[0])], [int(leaves[0])]
    alpha = 0.0
    while waiting:
        g, k = heapq.heappop(waiting)
        if gone[k] or np.isfinite(pruned_at[k]) or g != link(k):
            continue  # already off, or no longer the link that it was
        alpha = max(alpha, g)
        _cut_off(tree, k, alpha, pruned_at, gone)
        lost, fewer = float(risk[k] - below[k]), int(leaves[k]) - 1
        at = k
        while at >= 0:
            below[at] += lost
            leaves[at] -= fewer
            if at != k:
                heapq.heappush(waiting, (link(at), at))
            at = int(tree.parent[at])
        if alpha <= alphas[-1] * (1 + 1e-12) + 1e-300:
            impurities[-1], counts[-1] = float(below[0]), int(leaves[0])
        else:
            alphas.append(alpha)
            impurities.append(float(below[0]))
            counts.append(int(leaves[0]))
    return Path(np.array(alphas), np.array(impurities), np.array(counts), pruned_at)


def _cut_off(tree: Tree, k: int, alpha: float, pruned_at: Floats, gone: Flags) -> None:
    """Mark a node as a leaf from alpha on, and all below it as gone."""
    pruned_at[k] = alpha
    waiting = [k]
    while waiting:
        at = waiting.pop()
        if tree.attribute[at] < 0:
            continue
        child = int(tree.children[at])
        while child < len(tree) and tree.parent[child] == at:
            if not gone[child]:  # what was off before need not be walked again
                gone[child] = True
                waiting.append(child)
            child += 1
