"""Structures from mutual information: Chow-Liu trees, naive Bayes, TAN and k-dependence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.measures import mutual_information
from countwise.network.family_scores import Families
from countwise.network.graph import Graph

__all__ = ["augmented_tree", "chow_liu", "conditional_information", "k_dependence", "naive"]

_TOGETHER = 4096  # the number of pairs counted at once


def conditional_information(families: Families, names: Sequence[str], target: str | None) -> Floats:
    """Return the conditional mutual information of each pair of attributes given the class, in bits: I(a; b | class).

    For numeric attributes it is the gain in the log-likelihood of one from knowing the other. It is minus infinity if
    neither may depend on the other, and 0 on the diagonal.
    """
    found = np.zeros((len(names), len(names)))
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    bits = _informations(families, [(names[i], names[j]) for i, j in pairs], () if target is None else (target,))
    for (i, j), one in zip(pairs, bits, strict=True):
        found[i, j] = found[j, i] = one
    return found


def _informations(families: Families, pairs: Sequence[tuple[str, str]], given: tuple[str, ...]) -> list[float]:
    """Return the mutual information of each pair; pairs of nominal attributes are counted together."""
    found = [0.0] * len(pairs)
    names = []
    for i, (a, b) in enumerate(pairs):
        if a in families.numbers or b in families.numbers:
            found[i] = families.information(a, b, given)
        else:
            names.append(i)
    for start in range(0, len(names), _TOGETHER):
        part = names[start : start + _TOGETHER]
        tables = families.tables([(pairs[i][1], (*given, pairs[i][0])) for i in part])
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for place, table in enumerate(tables):
            by_shape.setdefault(table.shape, []).append(place)
        for places in by_shape.values():
            for place, one in zip(places, _weighted_information(np.stack([tables[k] for k in places])), strict=True):
                found[part[place]] = float(one)
    return found


def _weighted_information(counts: NDArray[Any]) -> Floats:
    """Return the weighted mutual information within classes; counts (tables, classes if any, a values, b values)."""
    counts = counts.reshape(len(counts), -1, *counts.shape[-2:])
    weight = counts.sum(axis=(2, 3))
    bits = np.asarray(mutual_information(counts))
    return np.asarray((weight * bits).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300))


def chow_liu(
    names: Sequence[str], information: Floats, root: str | None = None, last: Collection[str] = ()
) -> dict[str, str | None]:
    """Return the tree with the largest total mutual information: the parent of each node, None for the root.

    The root is the first node unless given. Nodes in `last` cannot have nominal children and join the tree last.
    """
    n, here = len(names), 0 if root is None else list(names).index(root)
    late, free = np.array([name in last for name in names]), np.ones(n, dtype=bool)
    above, most = np.full(n, here), np.full(n, -np.inf)  # the best parent of each free node, and its information
    parent: list[str | None] = [None] * n
    for _ in range(n - 1):
        free[here] = False
        better = (information[here] > most) | ((information[here] == most) & (here < above))
        above, most = np.where(better, here, above), np.where(better, information[here], most)
        open_now = free & ~late if (free & ~late).any() else free
        here = int(np.argmax(np.where(open_now, most, -np.inf)))  # ties: the first by position
        here = here if open_now[here] else int(np.argmax(open_now))
        parent[here] = names[int(above[here])]
    return dict(zip(names, parent, strict=True))


def naive(names: Sequence[str], target: str) -> Graph:
    """Return the naive Bayes structure: every attribute depends on the class only."""
    return Graph({target: (), **dict.fromkeys(names, (target,))})


def augmented_tree(
    names: Sequence[str], target: str, information: Floats, root: str | None = None, last: Collection[str] = ()
) -> Graph:
    """Return the TAN structure: every attribute but the root depends on the class and one other attribute."""
    parent = chow_liu(names, information, root, last) if names else {}
    at = {name: i for i, name in enumerate(names)}
    parents: dict[str, tuple[str, ...]] = {target: ()}
    for name, above in parent.items():
        joined = above is not None and np.isfinite(information[at[name], at[above]])
        parents[name] = (target, above) if joined and above is not None else (target,)
    return Graph(parents)


def k_dependence(
    families: Families,
    names: Sequence[str],
    target: str,
    information: Floats,
    max_dependence: int,
    last: Collection[str] = (),
) -> Graph:
    """Return the k-dependence structure (Sahami, 1996).

    Every attribute depends on the class and on up to k attributes that have more mutual information with the class.
    """
    relevance = _informations(families, [(name, target) for name in names], ())
    order = sorted(range(len(names)), key=lambda i: (names[i] in last, -relevance[i], i))
    parents: dict[str, tuple[str, ...]] = {target: ()}
    for place, i in enumerate(order):
        before = sorted(order[:place], key=lambda j: (-information[i, j], j))  # minus infinity sorts last
        chosen = [names[j] for j in sorted(before[:max_dependence]) if information[i, j] > 0]
        parents[names[i]] = (target, *chosen)
    return Graph({node: parents[node] for node in (target, *names)})
