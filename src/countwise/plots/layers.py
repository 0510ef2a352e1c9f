"""Directed graphs in layers: who stands in which, and in which order, so that few arcs cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from countwise.network.graph import Graph

__all__ = ["Item", "Rows", "crossings", "layers_of", "ordered"]

_SWEEPS = 24
_PATIENCE = 10  # sweeps without fewer crossings before it is left at that


class Item(NamedTuple):
    """What stands in a layer: a node, or the place where a long arc passes through.

    Parameters
    ----------
    parent, child : str
        The arc that passes; of a node, twice its name.
    layer : int
        Counted from the top.
    """

    parent: str
    child: str
    layer: int

    @property
    def is_node(self) -> bool:
        """Whether it is a node: no arc leads from a node to itself."""
        return self.parent == self.child


def layers_of(graph: Graph) -> dict[str, int]:
    """The layer of each node: the longest path from the top, lower where that makes arcs shorter.

    Examples
    --------
    >>> from countwise.network.graph import Graph
    >>> from countwise.plots.layers import layers_of
    >>> layers_of(Graph({"a": (), "b": ("a",), "c": ("b", "d"), "d": ()}))
    {'a': 0, 'b': 1, 'c': 2, 'd': 1}
    """
    found: dict[str, int] = {}
    for node in graph.order():
        found[node] = 1 + max((found[parent] for parent in graph.parents[node]), default=-1)
    children: dict[str, list[str]] = {node: [] for node in graph}
    for parent, child in graph.arcs:
        children[parent].append(child)
    for node in reversed(graph.order()):
        if len(children[node]) > len(graph.parents[node]):
            found[node] = min(found[child] for child in children[node]) - 1
    top = min(found.values(), default=0)
    return {node: found[node] - top for node in graph}


class Rows:
    """The layers of a graph, each in some order, and the pieces of arcs between them.

    Parameters
    ----------
    layer : mapping of str to int
        Of each node.
    arcs : sequence of (str, str)
        Parents and children.
    """

    def __init__(self, layer: Mapping[str, int], arcs: Sequence[tuple[str, str]]) -> None:
        nodes = {node: Item(node, node, at) for node, at in layer.items()}
        self.rows: list[list[Item]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
        self.below: dict[Item, list[Item]] = {}
        self.above: dict[Item, list[Item]] = {}
        self.chains: dict[tuple[str, str], list[Item]] = {}
        for item in nodes.values():
            self._add(item)
        for parent, child in arcs:
            between = [Item(parent, child, at) for at in range(layer[parent] + 1, layer[child])]
            for item in between:
                self._add(item)
            chain = self.chains[parent, child] = [nodes[parent], *between, nodes[child]]
            for one, next_ in pairwise(chain):
                self.below[one].append(next_)
                self.above[next_].append(one)

    def _add(self, item: Item) -> None:
        self.rows[item.layer].append(item)
        self.below[item] = []
        self.above[item] = []


def crossings(rows: Rows) -> int:
    """How many pairs of arcs cross.

    Examples
    --------
    >>> from countwise.plots.layers import Rows, crossings
    >>> crossings(Rows({"a": 0, "b": 0, "c": 1, "d": 1}, [("a", "d"), ("b", "c")]))
    1
    """
    count = 0
    for upper, lower in pairwise(rows.rows):
        place = {item: i for i, item in enumerate(lower)}
        met: list[int] = []
        for item in upper:
            ends = sorted(place[end] for end in rows.below[item])
            count += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return count


def ordered(graph: Graph, layer: Mapping[str, int]) -> Rows:
    """The layers in an order with few crossings: sweeps down and up by the middle of each one's neighbors.

    The order is the best that was met from two starts; the same graph always gets the same.

    Parameters
    ----------
    graph : Graph
        What is drawn.
    layer : mapping of str to int
        Of each node, as `layers_of` gives it.
    """
    rows = Rows(layer, graph.arcs)
    given = [list(row) for row in rows.rows]
    best, fewest = given, crossings(rows)
    for start in (given, _by_depth(rows)):
        rows.rows = [list(row) for row in start]
        waited = 0
        for turn in range(_SWEEPS):
            _sweep(rows, down=turn % 2 == 0, mean=turn % 8 >= 4, turned=turn % 4 >= 2)
            while _exchange(rows):
                pass
            count = crossings(rows)
            waited += 1
            if count < fewest:
                best, fewest, waited = [list(row) for row in rows.rows], count, 0
            if not fewest or waited > _PATIENCE:
                break
    rows.rows = best
    return rows


def _by_depth(rows: Rows) -> list[list[Item]]:
    """Each layer in the order in which a walk from the first node meets it, whatever way the arcs point."""
    found: list[list[Item]] = [[] for _ in rows.rows]
    met: set[Item] = set()
    for row in rows.rows:
        for first in row:
            waiting = [first]
            while waiting:
                item = waiting.pop()
                if item not in met:
                    met.add(item)
                    found[item.layer].append(item)
                    waiting.extend(reversed([*rows.below[item], *rows.above[item]]))
    return found


def _sweep(rows: Rows, *, down: bool, mean: bool, turned: bool) -> None:
    """Order each layer by where the neighbors in the one before stand; who has none stays in place.

    By the median or the mean; at a tie as they stand, or the other way round to come out of a dead end.
    """
    near = rows.above if down else rows.below
    every = range(1, len(rows.rows)) if down else range(len(rows.rows) - 2, -1, -1)
    for k in every:
        fixed = {item: i for i, item in enumerate(rows.rows[k - 1 if down else k + 1])}
        key: dict[Item, float] = {}
        for item in rows.rows[k]:
            ends = sorted(fixed[end] for end in near[item])
            if ends:
                middle = (ends[(len(ends) - 1) // 2] + ends[len(ends) // 2]) / 2
                key[item] = sum(ends) / len(ends) if mean else middle
        moving = iter(sorted(reversed(key) if turned else key, key=lambda item: key[item]))
        rows.rows[k] = [next(moving) if item in key else item for item in rows.rows[k]]


def _exchange(rows: Rows) -> bool:
    """Exchange neighbors as long as that saves crossings, layer after layer; whether it did."""
    changed = False
    for k, row in enumerate(rows.rows):
        places = [{item: i for i, item in enumerate(rows.rows[j])} for j in (k - 1, k + 1) if 0 <= j < len(rows.rows)]
        sides = [near for j, near in ((k - 1, rows.above), (k + 1, rows.below)) if 0 <= j < len(rows.rows)]
        ends = {
            item: [sorted(p[end] for end in near[item]) for p, near in zip(places, sides, strict=True)]
            for item in row
        }
        better = True
        while better:
            better = False
            for i in range(len(row) - 1):
                one, two = ends[row[i]], ends[row[i + 1]]
                now = sum(_crossed(a, b) for a, b in zip(one, two, strict=True))
                then = sum(_crossed(b, a) for a, b in zip(one, two, strict=True))
                if then < now:
                    row[i], row[i + 1] = row[i + 1], row[i]
                    better = changed = True
    return changed


def _crossed(left: Sequence[int], right: Sequence[int]) -> int:
    """How often arcs of two neighbors cross, from the sorted places where they end."""
    return sum(len(left) - bisect_right(left, end) for end in right)
