"""Structures for telling a class: naive Bayes, trees beside it (TAN), and k parents beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise.measures import mutual_information
from countwise.network.graph import Graph
from countwise.network.scores import Families
from countwise.network.structure import chow_liu

__all__ = ["augmented_tree", "conditional_information", "k_dependence", "naive"]


def conditional_information(families: Families, names: Sequence[str], target: str) -> NDArray[np.float64]:
    """What each two attributes tell of each other within the classes, in bits: I(a; b | class).

    Parameters
    ----------
    families : Families
        Where tables come from.
    names : sequence of str
        The attributes.
    target : str
        The class.

    Returns
    -------
    ndarray, shape (names, names)
        0 on the diagonal.
    """
    found = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j in range(i):
            counts = families.counts(names[j], (target, a))  # (classes, values of a, values of b)
            weight = counts.sum(axis=(1, 2))
            bits = np.asarray(mutual_information(counts))
            found[i, j] = found[j, i] = float((weight * bits).sum() / max(weight.sum(), 1e-300))
    return found


def naive(names: Sequence[str], target: str) -> Graph:
    """Every attribute depends on the class alone."""
    return Graph({target: (), **dict.fromkeys(names, (target,))})


def augmented_tree(names: Sequence[str], target: str, information: NDArray[np.float64]) -> Graph:
    """TAN: every attribute depends on the class and, but for the first, on one other, so that they tell most.

    Parameters
    ----------
    names : sequence of str
        The attributes; the first is the root of the tree.
    target : str
        The class.
    information : ndarray
        As `conditional_information` gives it.
    """
    parent = chow_liu(names, information) if names else {}
    return Graph({target: (), **{name: (target, above) if above else (target,) for name, above in parent.items()}})


def k_dependence(
    families: Families, names: Sequence[str], target: str, information: NDArray[np.float64], k: int
) -> Graph:
    """Every attribute depends on the class and on up to k others that tell more of the class than it does.

    Parameters
    ----------
    families : Families
        Where tables come from.
    names, target, information
        As for `augmented_tree`.
    k : int
        The most parents beside the class.
    """
    tells = [float(mutual_information(families.counts(name, (target,)).T)) for name in names]
    order = sorted(range(len(names)), key=lambda i: (-tells[i], i))
    parents: dict[str, tuple[str, ...]] = {target: ()}
    for place, i in enumerate(order):
        before = sorted(order[:place], key=lambda j: (-information[i, j], j))[:k]
        chosen = [names[j] for j in sorted(before) if information[i, j] > 0]
        parents[names[i]] = (target, *chosen)
    return Graph({node: parents[node] for node in (target, *names)})
