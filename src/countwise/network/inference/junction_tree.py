"""Junction tree: cliques that pass messages; two passes give all marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from countwise._typing import Floats
from countwise.network.inference.elimination import elimination_order, refuse_wide
from countwise.network.inference.factors import TINY, Potential

__all__ = ["Junction", "joined_cliques"]


class Junction:
    """The cliques of the triangulated moral graph in a tree with the running intersection property."""

    def __init__(self, near: Mapping[str, set[str]], sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        order, cells = elimination_order(near, sizes, list(near))
        refuse_wide(cells, "The junction tree")
        self.cliques, self.parent = joined_cliques(near, order)
        self._sets = [set(clique) for clique in self.cliques]
        self._shapes = [[self.sizes[v] for v in clique] for clique in self.cliques]
        self._edges = [self._edge(i) for i in range(len(self.cliques))]
        self._views: dict[tuple[str, ...], _View] = {}
        self._smallest = self._where()
        self._variables = tuple(near)

    def _edge(self, i: int) -> _Edge:
        """Return the axes and shapes of messages between a clique and its parent."""
        up = self.parent[i]
        if up < 0:
            return _Edge((), (), [], [])
        shared = self._sets[i] & self._sets[up]
        own, above = self.cliques[i], self.cliques[up]
        return _Edge(
            tuple(k for k, v in enumerate(own) if v not in shared),
            tuple(k for k, v in enumerate(above) if v not in shared),
            [self.sizes[v] if v in shared else 1 for v in own],
            [self.sizes[v] if v in shared else 1 for v in above],
        )

    def _where(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Return the smallest clique of each variable, and the axes of the other variables in it."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        for i in sorted(range(len(self.cliques)), key=lambda i: int(np.prod(self._shapes[i]))):
            for k, v in enumerate(self.cliques[i]):
                if v not in found:
                    found[v] = i, tuple(m for m in range(len(self.cliques[i])) if m != k)
        return found

    def _view(self, variables: tuple[str, ...]) -> _View:
        """Return the clique of a factor, and the layout of its table there."""
        if variables not in self._views:
            at = next(i for i, clique in enumerate(self._sets) if clique.issuperset(variables))
            clique = self.cliques[at]
            axes = tuple(variables.index(v) for v in clique if v in variables)
            shape = [self.sizes[v] if v in variables else 1 for v in clique]
            self._views[variables] = _View(at, axes, shape)
        return self._views[variables]

    def marginals(self, factors: Sequence[Potential]) -> tuple[dict[str, Floats], float]:
        """Return P(variable | evidence) of every variable, and log P(evidence); evidence is among the factors."""
        tables = [np.ones(shape) for shape in self._shapes]
        scale = 0.0
        for factor in factors:
            if not factor.variables:  # the density of observed numbers; a network may have no other node
                scale += math.log(constant) if (constant := float(factor.table)) > 0 else -math.inf
                continue
            view = self._view(factor.variables)
            table = tables[view.clique]
            table *= factor.table.transpose(view.axes).reshape(view.shape)
            if 0 < (most := float(table.max())) < TINY:
                table /= most
                scale += math.log(most)
        sent, log = self._collected(tables)
        log += scale
        if log == -np.inf:
            return {}, log
        self._distributed(tables, sent)
        found: dict[str, Floats] = {}
        for v in self._variables:
            i, others = self._smallest[v]
            total = np.add.reduce(tables[i], axis=others)
            found[v] = total / total.sum()
        return found, log

    def _collected(self, tables: list[Floats]) -> tuple[list[Floats], float]:
        """Pass messages toward the root; return the messages and the log of the total."""
        sent: list[Floats] = [tables[0]] * len(tables) if tables else []
        log = 0.0
        for i in reversed(range(len(tables))):
            edge, up = self._edges[i], self.parent[i]
            message = np.add.reduce(tables[i], axis=edge.gone, keepdims=True) if up >= 0 else tables[i]
            total = float(np.add.reduce(message, axis=None))
            if not total > 0:
                return [], -np.inf
            log += math.log(total)
            sent[i] = message / total
            tables[i] /= total
            if up >= 0:
                tables[up] *= sent[i].reshape(edge.above)
        return sent, log

    def _distributed(self, tables: list[Floats], sent: Sequence[Floats]) -> None:
        """Pass messages back from the root, divided by the messages that each clique sent."""
        for i, edge in enumerate(self._edges):
            up = self.parent[i]
            if up < 0:
                continue
            new = np.add.reduce(tables[up], axis=edge.gone_above).reshape(edge.own)
            tables[i] *= np.divide(new, sent[i], out=np.zeros(edge.own), where=sent[i] > 0)


class _Edge(NamedTuple):
    """A clique and its parent: the axes of each that are not shared, and the shape of a message in each."""

    gone: tuple[int, ...]
    gone_above: tuple[int, ...]
    own: list[int]
    above: list[int]


class _View(NamedTuple):
    """The clique of a factor, the order of its axes there, and its shape, with length 1 for other variables."""

    clique: int
    axes: tuple[int, ...]
    shape: list[int]


def _cliques(near: Mapping[str, set[str]], order: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the maximal sets of variables that occur together during the elimination."""
    left = {node: set(others) for node, others in near.items()}
    found: list[set[str]] = []
    for node in order:
        around = left.pop(node)
        for one in around:
            left[one] |= around
            left[one] -= {one, node}
        clique = {node, *around}
        if not any(map(clique.issubset, found)):
            found.append(clique)
    place = {node: i for i, node in enumerate(near)}
    return [tuple(sorted(clique, key=place.__getitem__)) for clique in reversed(found)]


def joined_cliques(near: Mapping[str, set[str]], order: Sequence[str]) -> tuple[list[tuple[str, ...]], list[int]]:
    """Return the cliques, each after its parent, and the position of the parent; -1 for the root of each component.

    The tree is a maximum spanning tree by the number of shared variables. This ensures the running intersection
    property, which the elimination order alone does not.
    """
    cliques = _cliques(near, order)
    sets = [set(clique) for clique in cliques]
    sizes, above = [0] * len(cliques), [-1] * len(cliques)
    waiting = dict.fromkeys(range(len(cliques)))
    place: dict[int, int] = {}
    while waiting:
        i = max(waiting, key=lambda j: sizes[j])  # ties: the first
        del waiting[i]
        place[i] = len(place)
        for j in waiting:
            shared = len(sets[i] & sets[j])
            if shared > sizes[j]:
                sizes[j], above[j] = shared, i
    return [cliques[i] for i in place], [place[above[i]] if above[i] >= 0 else -1 for i in place]
