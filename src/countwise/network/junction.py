"""The junction tree: cliques that pass messages, and all marginals after two passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from countwise.network.elimination import elimination_order, refuse_wide
from countwise.network.factors import Factor, product

__all__ = ["Junction", "joined_cliques"]


class Junction:
    """Cliques of variables in a tree, such that those that share a variable are connected by others that have it.

    Parameters
    ----------
    near : mapping of str to set of str
        The moral graph.
    sizes : mapping of str to int
        How many values each variable has.
    """

    def __init__(self, near: Mapping[str, set[str]], sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        order, self.cells = elimination_order(near, sizes, list(near))
        refuse_wide(self.cells, "The junction tree")
        self.cliques, self.parent = joined_cliques(near, order)

    @property
    def width(self) -> int:
        """The variables of the largest clique, less one."""
        return max(map(len, self.cliques), default=1) - 1

    def marginals(self, factors: Sequence[Factor]) -> tuple[dict[str, NDArray[np.float64]], float]:
        """P(variable | evidence) of every variable, and the log of the probability of the evidence.

        Parameters
        ----------
        factors : sequence of Factor
            Whose product is the joint; evidence put in as weights of values.
        """
        tables, log = self._collected(factors)
        if log == -np.inf:
            return {}, log
        self._distributed(tables)
        found: dict[str, NDArray[np.float64]] = {}
        for clique in tables:
            for v in clique.variables:
                if v not in found:
                    share = clique.without(*(w for w in clique.variables if w != v)).table
                    found[v] = share / share.sum()
        return found, log

    def _collected(self, factors: Sequence[Factor]) -> tuple[list[Factor], float]:
        """Every clique with its factors, and messages passed towards the first; the scale of what was divided out."""
        own: list[list[Factor]] = [[] for _ in self.cliques]
        for factor in factors:
            at = next(i for i, clique in enumerate(self.cliques) if set(factor.variables) <= set(clique))
            own[at].append(factor)
        tables: list[Factor] = [None] * len(self.cliques)  # type: ignore[list-item]
        log = 0.0
        for i in reversed(range(len(self.cliques))):
            ones = [Factor((v,), np.ones(self.sizes[v])) for v in self.cliques[i]]
            whole = product([*ones, *own[i]])
            total = float(whole.table.sum())
            if not total > 0:
                return [], -np.inf
            log += float(np.log(total))
            tables[i] = Factor(whole.variables, whole.table / total)
            up = self.parent[i]
            if up >= 0:
                shared = [v for v in self.cliques[i] if v in self.cliques[up]]
                own[up].append(tables[i].without(*(v for v in self.cliques[i] if v not in shared)))
        return tables, log

    def _distributed(self, tables: list[Factor]) -> None:
        """Messages passed back: every clique learns what the others know."""
        for i in range(len(self.cliques)):
            up = self.parent[i]
            if up < 0:
                continue
            shared = tuple(v for v in self.cliques[i] if v in self.cliques[up])
            before = tables[i].without(*(v for v in self.cliques[i] if v not in shared))
            after = tables[up].without(*(v for v in self.cliques[up] if v not in shared))
            old, new = before.over(shared), after.over(shared)
            ratio = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
            updated = tables[i] * Factor(shared, ratio)
            tables[i] = Factor(updated.variables, updated.table / updated.table.sum())


def _cliques(near: Mapping[str, set[str]], order: Sequence[str]) -> list[tuple[str, ...]]:
    """The largest sets of variables that are together when one of them is eliminated."""
    left = {node: set(others) for node, others in near.items()}
    found: list[set[str]] = []
    for node in order:
        clique = {node, *left[node]}
        for one in left[node]:
            left[one] |= left[node] - {one}
            left[one].discard(node)
        del left[node]
        if not any(clique <= other for other in found):
            found.append(clique)
    place = {node: i for i, node in enumerate(near)}
    return [tuple(sorted(clique, key=lambda v: place[v])) for clique in reversed(found)]


def joined_cliques(near: Mapping[str, set[str]], order: Sequence[str]) -> tuple[list[tuple[str, ...]], list[int]]:
    """Cliques in a tree: each behind the one above it, and which that is; -1 for the first of each part.

    The tree is one of those in which neighbors share most in all. Only then do the cliques with a variable hang
    together by others that have it; the order of elimination alone does not ensure that.
    """
    cliques = _cliques(near, order)
    sets = [set(clique) for clique in cliques]
    shares, above = [0] * len(cliques), [-1] * len(cliques)
    waiting = dict.fromkeys(range(len(cliques)))
    place: dict[int, int] = {}
    while waiting:
        i = max(waiting, key=lambda j: shares[j])  # of equals the first
        del waiting[i]
        place[i] = len(place)
        for j in waiting:
            shared = len(sets[i] & sets[j])
            if shared > shares[j]:
                shares[j], above[j] = shared, i
    return [cliques[i] for i in place], [place[above[i]] if above[i] >= 0 else -1 for i in place]
