"""Layered graph layout (Sugiyama): positions of the nodes and routes of the arcs of a directed graph."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from countwise.network.graph import Graph
from countwise.working.tikz import LETTER, Arrow, Box, picture

__all__ = [
    "HEAD",
    "Item",
    "LayerRows",
    "Layout",
    "Run",
    "across",
    "crossings",
    "layers_of",
    "layout",
    "ordered",
    "tikz_picture",
]

_SCALE = 50.0  # points of the layout in a cm of a TikZ picture
_HIGH = 0.6  # height of a node in a TikZ picture, in cm
_SWEEPS = 24
_PATIENCE = 10  # number of sweeps without improvement after which the search stops


class Item(NamedTuple):
    """An item of a layer: a node, or a dummy node where a long arc passes through the layer."""

    parent: str  # the start of the arc; for a node, its name
    child: str  # the end of the arc; for a node, its name
    layer: int  # counted from the top

    @property
    def is_node(self) -> bool:
        """Whether the item is a node; no arc leads from a node to itself."""
        return self.parent == self.child


def layers_of(graph: Graph) -> dict[str, int]:
    """Return the layer of each node: its longest path from the top, or lower if this makes arcs shorter."""
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
    """The layers of a graph, each in some order, and the segments of arcs between them."""

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
    """Return the number of arc crossings."""
    count = 0
    for upper, lower in pairwise(rows.rows):
        place = {item: i for i, item in enumerate(lower)}
        seen: list[int] = []
        for item in upper:
            ends = sorted(place[end] for end in rows.below[item])
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def ordered(graph: Graph, layer: Mapping[str, int]) -> LayerRows:
    """Order the layers with few crossings, by the median and barycenter heuristics in sweeps down and up.

    The result is the best order found from two initial orders; it is deterministic.
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
    """Order each layer by a depth-first walk from the first node that ignores the direction of arcs."""
    found: list[list[Item]] = [[] for _ in rows.rows]
    seen: set[Item] = set()
    for row in rows.rows:
        for first in row:
            waiting = [first]
            while waiting:
                item = waiting.pop()
                if item not in seen:
                    seen.add(item)
                    found[item.layer].append(item)
                    waiting.extend(reversed([*rows.below[item], *rows.above[item]]))
    return found


def _sweep(rows: LayerRows, *, down: bool, mean: bool, turned: bool) -> None:
    """Order each layer by the positions of the neighbors in the previous layer; items without neighbors stay.

    The key is the median or the mean position. Ties keep their order, or are reversed to escape a local minimum.
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
    """Swap adjacent items while this reduces crossings, layer by layer; return whether anything changed."""
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
    """Return the number of crossings between the arcs of two adjacent items, from the sorted ends of the arcs."""
    return sum(len(left) - bisect_right(left, end) for end in right)


HEAD = 9.0  # length of an arrowhead
_BESIDE = 26.0  # distance between two nodes of a layer
_PASSING = 16.0  # distance between a passing arc and its neighbor
_BELOW = 46.0  # smallest distance between two layers
_APART = 44.0  # distance between two connected components
_PORT = 13.0  # distance between two arrowheads at one node

Run = tuple[float, float, float]  # vertical segment: x, y start, y end


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the nodes and routes of the arcs."""

    corners: dict[str, tuple[float, float]]  # upper left corner of each node
    # The route of each arc is a list of vertical segments, one for each layer that it passes. The curve from one
    # segment to the next stays between two layers, so that it crosses no node.
    routes: dict[tuple[str, str], list[Run]]
    width: float
    height: float


def layout(graph: Graph, sizes: Mapping[str, tuple[float, float]], *, widest: float = 1100.0) -> Layout:
    """Lay out a graph whose nodes have the given widths and heights in layers, with every arc pointing down.

    Connected components are placed side by side, and continue below if they would be wider than `widest`.
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
    """Return the nodes of each connected component, the largest first."""
    near, seen = graph.moral(), set[str]()
    found: list[list[str]] = []
    for first in graph:
        part, waiting = set[str](), [first]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                part.add(node)
                waiting.extend(near[node])
        if part:
            found.append([node for node in graph if node in part])
    return sorted(found, key=lambda nodes: -len(nodes))


def _part(graph: Graph, sizes: Mapping[str, tuple[float, float]]) -> Layout:
    """Lay out a connected component."""
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


# -- x coordinates --------------------------------------------------------------------


def across(rows: LayerRows, widths: Mapping[Item, float]) -> dict[Item, float]:
    """Return the x coordinate of each item: short arcs, nodes centered over their children and under their parents.

    A long arc is vertical along its dummy nodes unless it crosses another long arc. The coordinates minimize a
    weighted sum of absolute distances by linear programming, which keeps as many arcs vertical as possible.
    """
    block = _blocks(rows)
    terms: list[tuple[float, dict[int, float]]] = []  # weight and coefficients of each absolute distance
    for item in block:
        for near in (rows.below[item], rows.above[item]):
            if len(near) > 1:  # a dummy node has one neighbor on each side
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
            margin = _BESIDE if one.is_node and two.is_node else _PASSING
            pair = block[one], block[two]
            apart[pair] = max(apart.get(pair, 0.0), (widths[one] + widths[two]) / 2 + margin)
    found = _least(terms, apart, max(block.values()) + 1)
    return {item: found[at] for item, at in block.items()}


def _blocks(rows: LayerRows) -> dict[Item, int]:
    """Return the block of each item, which shares one x coordinate: a node, or a long arc up to a crossing."""
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
    """Return the coordinates that minimize the weighted sum of absolute terms with given distances of pairs."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if not terms:
        return [0.0] * count
    entries: list[tuple[int, int, float]] = []
    for t, (_, sides) in enumerate(terms):  # the term and its negative are at most an auxiliary variable
        for sign in (0, 1):
            entries += [(2 * t + sign, at, -value if sign else value) for at, value in sides.items()]
            entries.append((2 * t + sign, count + t, -1.0))
    bounds = [0.0] * (2 * len(terms))
    for (one, two), distance in apart.items():
        entries += [(len(bounds), one, 1.0), (len(bounds), two, -1.0)]
        bounds.append(-distance)
    line, column, value = zip(*entries, strict=True)
    matrix: Any = csr_array((value, (line, column)), shape=(len(bounds), count + len(terms)))
    cost = np.r_[np.zeros(count), [weight for weight, _ in terms]]
    limits = [(0.0, None)] * (count + len(terms))
    result: Any = linprog(cost, A_ub=matrix, b_ub=bounds, bounds=limits, method="highs-ds")
    return [float(x) for x in result.x[:count]]


# -- y coordinates --------------------------------------------------------------------


def _down(
    rows: LayerRows, middle: Mapping[Item, float], sizes: Mapping[str, tuple[float, float]]
) -> tuple[list[float], list[float]]:
    """Return the top and the bottom of each layer; layers are farther apart where arcs cover a long distance."""
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
    """Return the x coordinate of each arrowhead: shifted to the side that the arc comes from, without overlap."""
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
        weights = [9.0 if abs(x) < 1 else 1.0 for x in away]  # vertical arcs stay vertical
        for (_, arc), shift in zip(arcs, _spaced(wished, weights, gap, half), strict=True):
            found[arc] = middle[child] + shift
    return found


def _spaced(wished: Sequence[float], weights: Sequence[float], gap: float, half: float) -> list[float]:
    """Return the positions nearest to those wished, in order, at least `gap` apart and within ±`half`."""
    pools: list[tuple[float, float, int]] = []  # means, weights and sizes (pool adjacent violators)
    for i, (x, weight) in enumerate(zip(wished, weights, strict=True)):
        mean, heavy, size = x - i * gap, weight, 1
        while pools and pools[-1][0] > mean:
            before, w, n = pools.pop()
            mean, heavy, size = (before * w + mean * heavy) / (w + heavy), w + heavy, n + size
        pools.append((mean, heavy, size))
    flat = [mean for mean, _, size in pools for _ in range(size)]
    last = half - (len(wished) - 1) * gap
    return [min(max(x, -half), last) + i * gap for i, x in enumerate(flat)]


def tikz_picture(graph: Graph, width: int | None) -> str:
    """Return the TikZ picture of a graph: nodes in layers, with arcs that point down."""
    wide = {name: LETTER * len(name) + 0.5 for name in graph}
    placed = layout(graph, {name: (wide[name] * _SCALE, _HIGH * _SCALE) for name in graph})
    boxes = []
    for name, (x, y) in placed.corners.items():
        boxes.append(Box(x / _SCALE + wide[name] / 2, -y / _SCALE - _HIGH / 2, (name,), wide[name], round=True))
    number = {name: i for i, name in enumerate(placed.corners)}
    arrows = []
    for (parent, child), (_, *passed, _) in placed.routes.items():
        points = tuple((x / _SCALE, -y / _SCALE) for x, top, end in passed for y in (top, end))
        arrows.append(Arrow(number[parent], number[child], points=points, head=True))
    return picture(boxes, arrows, width)
