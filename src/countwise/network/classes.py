"""Structures for telling a class: naive Bayes, trees beside it (TAN), and k parents beside it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from countwise.measures import mutual_information
from countwise.network.graph import Graph
from countwise.network.mixed import MixedFamilies
from countwise.network.scores import Families
from countwise.network.structure import chow_liu

__all__ = ["augmented_tree", "conditional_information", "k_dependence", "naive"]


def conditional_information(families: Families, names: Sequence[str], target: str | None) -> NDArray[np.float64]:
    """What each two attributes tell of each other within the classes, in bits: I(a; b | class).

    Of numbers it is what knowing one gains of the likelihood of the other. It is minus infinity where neither may
    depend on the other.

    Parameters
    ----------
    families : Families
        Where tables come from.
    names : sequence of str
        The attributes.
    target : str or None
        The class; None for none.

    Returns
    -------
    ndarray, shape (names, names)
        0 on the diagonal.
    """
    found = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j in range(i):
            found[i, j] = found[j, i] = _information(families, a, names[j], () if target is None else (target,))
    return found


def _information(families: Families, a: str, b: str, given: tuple[str, ...]) -> float:
    if isinstance(families, MixedFamilies) and (a in families.numbers or b in families.numbers):
        return families.information(a, b, given)
    counts = families.counts(b, (*given, a))  # (classes, values of a, values of b)
    counts = counts if given else counts[None]
    weight = counts.sum(axis=(1, 2))
    bits = np.asarray(mutual_information(counts))
    return float((weight * bits).sum() / max(weight.sum(), 1e-300))


def naive(names: Sequence[str], target: str) -> Graph:
    """Every attribute depends on the class alone."""
    return Graph({target: (), **dict.fromkeys(names, (target,))})


def augmented_tree(
    names: Sequence[str],
    target: str,
    information: NDArray[np.float64],
    root: str | None = None,
    last: Collection[str] = (),
) -> Graph:
    """TAN: every attribute depends on the class and, but for the first, on one other, so that they tell most.

    Parameters
    ----------
    names : sequence of str
        The attributes; the first is the root of the tree.
    target : str
        The class.
    information : ndarray
        As `conditional_information` gives it.
    root : str, optional
        The root of the tree.
    last : collection of str
        Numbers: no name may depend on them.
    """
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
    information: NDArray[np.float64],
    k: int,
    last: Collection[str] = (),
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
    last : collection of str
        Numbers: no name may depend on them.
    """
    tells = [_information(families, name, target, ()) for name in names]
    order = sorted(range(len(names)), key=lambda i: (names[i] in last, -tells[i], i))
    parents: dict[str, tuple[str, ...]] = {target: ()}
    for place, i in enumerate(order):
        before = sorted(order[:place], key=lambda j: (-information[i, j], j))[:k]  # infinities of no use come last
        chosen = [names[j] for j in sorted(before) if information[i, j] > 0]
        parents[names[i]] = (target, *chosen)
    return Graph({node: parents[node] for node in (target, *names)})
