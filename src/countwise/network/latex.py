"""A network as LaTeX: a TikZ picture of its nodes in layers, with arcs that point down."""

from __future__ import annotations

from countwise.network.graph import Graph
from countwise.network.layered_layout import layout
from countwise.working.tikz import LETTER, Arrow, Box, picture

__all__ = ["graph_latex"]

_SCALE = 50.0  # points of the layout in a cm
_HIGH = 0.6  # of a node, in cm


def graph_latex(graph: Graph, width: int | None) -> str:
    """Return the picture of a graph."""
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
