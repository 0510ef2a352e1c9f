"""Directed graphs in layers: where each node stands, and which way its arcs go."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from countwise.network.graph import Graph

__all__ = ["HEAD", "Item", "LayerRows", "Layout", "Run", "across", "crossings", "layers_of", "layout", "ordered"]

_SWEEPS = 24
_PATIENCE = 10  # sweeps without fewer crossings before it is left at that


class Item(NamedTuple):
    """What stands in a layer: a node, or the place where a long arc passes through."""

    parent: str  # of the arc that passes; of a node, its name
    child: str
    layer: int  # counted from the top

    @property
    def is_node(self) -> bool:
        """Whether it is a node: no arc leads from a node to itself."""
        return self.parent == self.child


def layers_of(graph: Graph) -> dict[str, int]:
    """The layer of each node: the longest path from the top, lower where that makes arcs shorter."""
    found: dict[str, int] = {}
    for node in graph.order():
        found[node] = 1 + max((found[parent] for parent in graph.parents[node]), default=-1)
    for node in reversed(graph.order()):
        children = graph.children(node)
        if len(children) > len(graph.parents[node]):
            found[node] = min(found[child] for child in children) - 1
    top = min(found.values(), default=0)
    return {node: found[node] - top for node in graph}


class LayerRows:
    """The layers of a graph, each in some order, and the pieces of arcs between them."""

    def __init__(self, layer: Mapping[str, int], arcs: Sequence[tuple[str, str]]) -> None:
        nodes = {node: Item(node, node, at) for node, at in layer.items()}
        self.chains: dict[tuple[str, str], list[Item]] = {}
        for parent, child in arcs:
            between = [Item(parent, child, at) for at in range(layer[parent] + 1, layer[child])]
            self.chains[parent, child] = [nodes[parent], *between, nodes[child]]
        items = [*nodes.values(), *(item for chain in self.chains.values() for item in chain[1:-1])]
        self.rows: list[list[Item]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
        self.below: dict[Item, list[Item]] = {item: [] for item in items}
        self.above: dict[Item, list[Item]] = {item: [] for item in items}
        for item in items:
            self.rows[item.layer].append(item)
        for chain in self.chains.values():
            for one, next_ in pairwise(chain):
                self.below[one].append(next_)
                self.above[next_].append(one)


def crossings(rows: LayerRows) -> int:
    """How many pairs of arcs cross."""
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


def ordered(graph: Graph, layer: Mapping[str, int]) -> LayerRows:
    """The layers in an order with few crossings: sweeps down and up by the middle of each one's neighbors.

    The order is the best that was met from two starts; the same graph always gets the same.
    """
    rows = LayerRows(layer, graph.arcs)
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


def _by_depth(rows: LayerRows) -> list[list[Item]]:
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


def _sweep(rows: LayerRows, *, down: bool, mean: bool, turned: bool) -> None:
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


def _exchange(rows: LayerRows) -> bool:
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


HEAD = 9.0  # how long the head of an arrow is
_BESIDE = 26.0  # between two nodes
_PASSING = 16.0  # between an arc that passes and its neighbor
_BELOW = 46.0  # between two layers, at least
_APART = 44.0  # between two parts that no arc joins
_PORT = 13.0  # between two heads that end on one node

Run = tuple[float, float, float]  # straight down: x, from, to


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything goes."""

    corners: dict[str, tuple[float, float]]  # the upper left one of each node
    # The way of each arc: straight down past the nodes of a layer, then over to the next such run. A curve from one
    # run to the next stays between two layers, so that it meets no node.
    routes: dict[tuple[str, str], list[Run]]
    width: float
    height: float


def layout(graph: Graph, sizes: Mapping[str, tuple[float, float]], *, widest: float = 1100.0) -> Layout:
    """Place a graph whose nodes have such widths and heights in layers, every arc pointing down.

    Parts that no arc joins stand side by side, and below each other where they would be wider than `widest`.
    """
    parts = [_part(graph.within(nodes), sizes) for nodes in _parts(graph)]
    room = max([widest, *(part.width for part in parts)])
    corners: dict[str, tuple[float, float]] = {}
    routes: dict[tuple[str, str], list[Run]] = {}
    x = y = low = width = 0.0
    for part in parts:
        if x and x + part.width > room:
            x, y = 0.0, low + _APART
        corners |= {node: (x + left, y + top) for node, (left, top) in part.corners.items()}
        for arc, runs in part.routes.items():
            routes[arc] = [(x + at, y + top, y + end) for at, top, end in runs]
        width, low = max(width, x + part.width), max(low, y + part.height)
        x += part.width + _APART
    return Layout({node: corners[node] for node in graph}, {arc: routes[arc] for arc in graph.arcs}, width, low)


def _parts(graph: Graph) -> list[list[str]]:
    """Nodes that arcs join, the largest parts first, else as given."""
    near, met = graph.moral(), set[str]()
    found: list[list[str]] = []
    for first in graph:
        part, waiting = set[str](), [first]
        while waiting:
            node = waiting.pop()
            if node not in met:
                met.add(node)
                part.add(node)
                waiting.extend(near[node])
        if part:
            found.append([node for node in graph if node in part])
    return sorted(found, key=lambda nodes: -len(nodes))


def _part(graph: Graph, sizes: Mapping[str, tuple[float, float]]) -> Layout:
    """Place what arcs join."""
    layer = layers_of(graph)
    rows = ordered(graph, layer)
    widths = {item: sizes[item.parent][0] if item.is_node else 0.0 for row in rows.rows for item in row}
    middle = across(rows, widths)
    left = min(middle[item] - widths[item] / 2 for item in middle)
    middle = {item: x - left for item, x in middle.items()}
    tops, ends = _down(rows, middle, sizes)
    nodes = {item.parent: item for item in middle if item.is_node}
    corners = {name: (middle[item] - widths[item] / 2, tops[item.layer]) for name, item in nodes.items()}
    ports, routes = _ports(rows, middle, sizes), {}
    for arc, (first, *passed, last) in rows.chains.items():
        routes[arc] = [
            (middle[first], tops[first.layer] + sizes[first.parent][1], ends[first.layer]),
            *((middle[item], tops[item.layer], ends[item.layer]) for item in passed),
            (ports[arc], tops[last.layer] - HEAD - 1, tops[last.layer]),
        ]
    width = max(middle[item] + widths[item] / 2 for item in middle)
    return Layout(corners, routes, width, ends[-1])


# -- across ---------------------------------------------------------------------------


def across(rows: LayerRows, widths: Mapping[Item, float]) -> dict[Item, float]:
    """The middle of each item: neighbors apart, arcs short, parents over the middle of their children and under.

    A long arc is straight all along unless it crosses another long one. The rest is a linear program, since sums of
    distances keep straight what can be straight.
    """
    block = _blocks(rows)
    terms: list[tuple[float, dict[int, float]]] = []  # weights of |sum of coefficients times places|
    for item in block:
        for near in (rows.below[item], rows.above[item]):
            if len(near) > 1:  # of arcs that pass there is but one on each side
                sides = {block[item]: 1.0}
                for end in near:
                    sides[block[end]] = sides.get(block[end], 0.0) - 1 / len(near)
                terms.append((2.0, sides))
        for end in rows.below[item]:
            if block[end] != block[item]:
                weight = 1.0 if item.is_node or end.is_node else 4.0
                terms.append((weight, {block[item]: 1.0, block[end]: -1.0}))
    apart: dict[tuple[int, int], float] = {}
    for row in rows.rows:
        for one, two in pairwise(row):
            gap = _BESIDE if one.is_node and two.is_node else _PASSING
            pair = block[one], block[two]
            apart[pair] = max(apart.get(pair, 0.0), (widths[one] + widths[two]) / 2 + gap)
    found = _least(terms, apart, max(block.values()) + 1)
    return {item: found[at] for item, at in block.items()}


def _blocks(rows: LayerRows) -> dict[Item, int]:
    """What shares a place across: a node alone, a long arc all along, but for where two of those cross."""
    broken: set[Item] = set()
    for upper, lower in pairwise(rows.rows):
        place = {item: i for i, item in enumerate(lower)}
        inner = [rows.below[item][0] for item in upper if not item.is_node]
        inner = [end for end in inner if not end.is_node]
        for i, end in enumerate(inner):
            if any((place[other] > place[end]) == (j < i) for j, other in enumerate(inner) if j != i):
                broken.add(end)
    block: dict[Item, int] = {}
    count = 0
    for row in rows.rows:
        for item in row:
            before = None if item.is_node else rows.above[item][0]
            if before is not None and not before.is_node and item not in broken:
                block[item] = block[before]
            else:
                block[item] = count
                count += 1
    return block


def _least(
    terms: Sequence[tuple[float, Mapping[int, float]]], apart: Mapping[tuple[int, int], float], count: int
) -> list[float]:
    """Places with the least sum of weighted absolute terms, pairs being so far apart."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if not terms:
        return [0.0] * count
    entries: list[tuple[int, int, float]] = []
    for t, (_, sides) in enumerate(terms):  # the term and its opposite are no more than the bound of it
        for sign in (0, 1):
            entries += [(2 * t + sign, at, -value if sign else value) for at, value in sides.items()]
            entries.append((2 * t + sign, count + t, -1.0))
    bounds = [0.0] * (2 * len(terms))
    for (one, two), gap in apart.items():
        entries += [(len(bounds), one, 1.0), (len(bounds), two, -1.0)]
        bounds.append(-gap)
    line, column, value = zip(*entries, strict=True)
    matrix: Any = csr_array((value, (line, column)), shape=(len(bounds), count + len(terms)))
    cost = np.r_[np.zeros(count), [weight for weight, _ in terms]]
    limits = [(0.0, None)] * (count + len(terms))
    result: Any = linprog(cost, A_ub=matrix, b_ub=bounds, bounds=limits, method="highs-ds")
    return [float(x) for x in result.x[:count]]


# -- down -----------------------------------------------------------------------------


def _down(
    rows: LayerRows, middle: Mapping[Item, float], sizes: Mapping[str, tuple[float, float]]
) -> tuple[list[float], list[float]]:
    """Where each layer begins and ends; more room between two where arcs go far across."""
    tops, ends = [], []
    y = 0.0
    for row in rows.rows:
        tops.append(y)
        ends.append(y + max(sizes[item.parent][1] for item in row if item.is_node))
        far = max((abs(middle[item] - middle[end]) for item in row for end in rows.below[item]), default=0.0)
        y = ends[-1] + _BELOW + min(0.11 * far, 60.0)
    return tops, ends


def _ports(
    rows: LayerRows, middle: Mapping[Item, float], sizes: Mapping[str, tuple[float, float]]
) -> dict[tuple[str, str], float]:
    """Where on its child each arc ends: apart from the others, and towards the side that it comes from."""
    found: dict[tuple[str, str], float] = {}
    coming: dict[Item, list[tuple[float, tuple[str, str]]]] = {}
    for arc, chain in rows.chains.items():
        coming.setdefault(chain[-1], []).append((middle[chain[-2]], arc))
    for child, arcs in coming.items():
        arcs.sort()
        half = sizes[child.parent][0] / 2 - 12
        gap = min(_PORT, 2 * half / max(len(arcs) - 1, 1))
        away = [x - middle[child] for x, _ in arcs]
        wished = [float(np.clip(0.14 * x, -half, half)) for x in away]
        weights = [9.0 if abs(x) < 1 else 1.0 for x in away]  # what comes straight down stays straight
        for (_, arc), shift in zip(arcs, _spaced(wished, weights, gap, half), strict=True):
            found[arc] = middle[child] + shift
    return found


def _spaced(wished: Sequence[float], weights: Sequence[float], gap: float, half: float) -> list[float]:
    """Places as near as can be to those wished, in their order, apart by a gap, and within half a width."""
    pools: list[tuple[float, float, int]] = []  # means, weights and sizes: who is too near moves together
    for i, (x, weight) in enumerate(zip(wished, weights, strict=True)):
        mean, heavy, size = x - i * gap, weight, 1
        while pools and pools[-1][0] > mean:
            before, w, n = pools.pop()
            mean, heavy, size = (before * w + mean * heavy) / (w + heavy), w + heavy, n + size
        pools.append((mean, heavy, size))
    flat = [mean for mean, _, size in pools for _ in range(size)]
    last = half - (len(wished) - 1) * gap
    return [min(max(x, -half), last) + i * gap for i, x in enumerate(flat)]
