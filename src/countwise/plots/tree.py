"""Trees as SVG, written by hand: nodes with bars of their classes, and the path of one row marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import OptionError
from countwise.plots.style import DARK, MARK, PALETTE, QUIET, shortened, svg_text, text_width, xml
from countwise.tree.conditions import condition_of, conditions_to
from countwise.working.numbers import number, percent

__all__ = ["draw_tree"]

_SMALL, _BODY, _HEAD = 11.0, 13.0, 15.0
_EDGE = 16.0
_HIGH = 50.0  # a node
_NARROWEST, _WIDEST = 104.0, 190.0
_LONGEST = 150.0  # a label of a line
_FEW = 9  # leaves that stand side by side below the root; more stand one below the other
_MOST_LEAVES = 400
_MOST_CLASSES = 10


def draw_tree(
    model: Any, X: Any = None, *, row: int = 0, max_depth: int | None = None, direction: str | None = None
) -> str:
    """Draw a tree as SVG.

    A node shows its test, or its prediction, how many rows reached it, and the share of each class as a bar (of a
    numeric target, the mean and the standard deviation around it). Lines are the thicker the more rows they carry.

    Parameters
    ----------
    model : TreeClassifier or TreeRegressor
        A fitted tree.
    X : any table, optional
        Whose row to follow: its path is marked.
    row : int, default=0
        Which row.
    max_depth : int, optional
        How deep to draw; by default as deep as there is room.
    direction : {"down", "right"}, optional
        Which way the tree grows; by default down if it has few leaves.

    Returns
    -------
    str

    Examples
    --------
    >>> from countwise import TreeClassifier, samples
    >>> from countwise.plots import draw_tree
    >>> tennis = samples.load("tennis")
    >>> picture = draw_tree(TreeClassifier().fit(tennis.frame, "play"), tennis.X, row=0)
    >>> picture[:4], "outlook?" in picture
    ('<svg', True)
    """
    if not hasattr(model, "tree_"):
        raise OptionError(f"{type(model).__name__} is not a fitted tree.", hint="fit a TreeClassifier first.")
    if direction not in (None, "down", "right"):
        raise OptionError(f"direction={direction!r} is unknown.", hint="give 'down' or 'right'.")
    if max_depth is not None and (isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 0):
        raise OptionError(f"max_depth={max_depth!r} must be a whole number of at least 0.")
    return _TreePage(model, model._passed(X, row), _depth_drawn(model.tree_, max_depth), direction).svg()


def _depth_drawn(tree: Any, max_depth: int | None) -> int:
    """How deep to draw: all of it, or as deep as some hundred leaves go."""
    depths = tree.depths
    deepest = int(depths.max())
    if max_depth is not None:
        return min(max_depth, deepest)
    nodes = np.bincount(depths)
    ends = np.cumsum(np.bincount(depths[tree.leaves], minlength=len(nodes)))
    room = np.flatnonzero(ends + nodes <= _MOST_LEAVES)
    return int(room[-1]) if len(room) else 0


@dataclass(frozen=True, slots=True)
class _Box:
    """A node and where it stands: how deep, and at which place across."""

    node: int
    depth: int
    across: float


class _TreePage:
    """Where everything goes."""

    def __init__(self, model: Any, marked: frozenset[int], max_depth: int, direction: str | None) -> None:
        self.model, self.tree, self.features = model, model.tree_, model._features
        self.marked, self.max_depth = marked, max_depth
        self.boxes = self._placed()
        leaves = sum(1 for box in self.boxes.values() if self._ends(box))
        self.down = leaves <= _FEW if direction is None else direction == "down"
        self.wide = self._node_width()
        labels = self._label_widths()
        # along the depth a line and its label; across it, room between two nodes
        if self.down:
            self.across = max(self.wide, max(labels, default=0.0) + 8) + 14
            self.levels = [depth * (_HIGH + 62) for depth in range(len(labels) + 1)]
            wide, high = leaves * self.across, self.levels[-1] + _HIGH
        else:
            self.across = _HIGH + 16
            self.levels = [
                sum(self.wide + label + 44 for label in labels[:depth]) for depth in range(len(labels) + 1)
            ]
            wide, high = self.levels[-1] + self.wide, leaves * self.across
        self.top = _EDGE + 30
        self.width = max(wide + 2 * _EDGE, self._legend_width())
        self.height = self.top + high + _EDGE
        self.shift = (self.width - 2 * _EDGE - wide) / 2 if self.down else 0.0

    def _node_width(self) -> float:
        words = max(text_width(self._words(box), _BODY) * 1.05 for box in self.boxes.values())
        return min(max(words + 16, _NARROWEST), _WIDEST)

    def _label_widths(self) -> list[float]:
        """The widest label of the lines to each depth."""
        found = [0.0] * max(box.depth for box in self.boxes.values())
        for k, box in self.boxes.items():
            if k:
                found[box.depth - 1] = max(found[box.depth - 1], text_width(self._label(k), _SMALL))
        return found

    def _label(self, k: int) -> str:
        return shortened(condition_of(self.tree, self.features, k).short, _LONGEST, _SMALL)

    def _ends(self, box: _Box) -> bool:
        return bool(self.tree.attribute[box.node] < 0 or box.depth >= self.max_depth)

    def _placed(self) -> dict[int, _Box]:
        """Leaves one after the other, each other node in the middle of its children."""
        sizes = self.tree.sizes
        order: list[tuple[int, int]] = []
        waiting = [(0, 0)]
        while waiting:
            k, depth = waiting.pop()
            order.append((k, depth))
            if self.tree.attribute[k] >= 0 and depth < self.max_depth:
                first = int(self.tree.children[k])
                waiting.extend((c, depth + 1) for c in range(first + int(sizes[k]) - 1, first - 1, -1))
        place: dict[int, float] = {}
        leaves = 0
        for k, depth in order:
            if self.tree.attribute[k] < 0 or depth >= self.max_depth:
                place[k] = float(leaves)
                leaves += 1
        for k, _ in reversed(order):  # children come behind their parents
            if k not in place:
                first, last = int(self.tree.children[k]), int(self.tree.children[k] + sizes[k] - 1)
                place[k] = (place[first] + place[last]) / 2
        return {k: _Box(k, depth, place[k]) for k, depth in order}

    def _corner(self, box: _Box) -> tuple[float, float]:
        """The upper left corner of a node."""
        if self.down:
            x = _EDGE + self.shift + box.across * self.across + (self.across - self.wide) / 2
            return x, self.top + self.levels[box.depth]
        return _EDGE + self.levels[box.depth], self.top + box.across * self.across

    def svg(self) -> str:
        """The whole picture."""
        lines = [self._line(box) for k, box in self.boxes.items() if k]
        nodes = [self._node(box) for box in self.boxes.values()]
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        leaves = len(self.tree.leaves)
        title = f"A tree that predicts {self.model.target_.name}: {len(self.tree)} nodes, {leaves} leaves"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, Liberation Sans, sans-serif" '
            f'fill="{DARK}"><title>{xml(title)}</title><rect width="{width}" height="{height}" fill="#fff"/>'
            f"{self._legend()}{''.join(lines)}{''.join(nodes)}</svg>"
        )

    # -- legend ------------------------------------------------------------------------

    def _entries(self) -> list[tuple[str | None, str]]:
        name = self.model.target_.name
        if self.model._numbers:
            cells = self.tree.cells[0]
            sd = float(np.sqrt(cells[2] / cells[0]))
            return [(None, f"{name}: all rows {number(float(cells[1]))} ± {number(sd)}")]
        classes = [str(c) for c in self.model.classes_.tolist()]
        shown = classes[:_MOST_CLASSES]
        found: list[tuple[str | None, str]] = [(None, f"{name}:")]
        found += [(_color(c), shortened(label, 160, _BODY)) for c, label in enumerate(shown)]
        if len(classes) > len(shown):
            found.append((_color(len(shown)), f"{len(classes) - len(shown)} others"))
        return found

    def _legend_width(self) -> float:
        return 2 * _EDGE + sum(text_width(text, _BODY) + 34 for _, text in self._entries())

    def _legend(self) -> str:
        x, out = _EDGE, []
        for color, text in self._entries():
            if color is not None:
                out.append(f'<rect x="{x:.1f}" y="{_EDGE - 1:g}" width="12" height="12" rx="2" fill="{color}"/>')
                x += 17
            out.append(svg_text(x, _EDGE + 9, text, _BODY))
            x += text_width(text, _BODY) + 16
        return f'<g class="legend">{"".join(out)}</g>'

    # -- lines ---------------------------------------------------------------------------

    def _line(self, box: _Box) -> str:
        """From a node's parent to it, with what must hold."""
        parent = self.boxes[int(self.tree.parent[box.node])]
        (x0, y0), (x1, y1) = self._corner(parent), self._corner(box)
        if self.down:
            x0, y0, x1 = x0 + self.wide / 2, y0 + _HIGH, x1 + self.wide / 2
            middle = (y0 + y1) / 2 - 8
            curve = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {middle:.1f} {x1:.1f} {middle - 8:.1f} {x1:.1f} {y1:.1f}"
            at, anchor = (x1, y1 - 10), "middle"
        else:
            x0, y0, y1 = x0 + self.wide, y0 + _HIGH / 2, y1 + _HIGH / 2
            middle = x0 + 26
            curve = (
                f"M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {x0 + 6:.1f} {y1:.1f} {middle + 10:.1f} {y1:.1f}H{x1:.1f}"
            )
            at, anchor = (x1 - 8, y1 - 5), "end"
        on = box.node in self.marked
        share = self._share(box.node)
        color, thick = (MARK, 2.4 + 2 * share) if on else ("#9aa3ad", 0.9 + 3.2 * share)
        label = self._label(box.node)
        bold = ' font-weight="bold"' if on else ""
        halo = ' stroke="#fff" stroke-width="3.5" paint-order="stroke" stroke-linejoin="round"'
        return f'<path d="{curve}" fill="none" stroke="{color}" stroke-width="{thick:.1f}"/>' + svg_text(
            *at, label, _SMALL, f' text-anchor="{anchor}"{bold}{halo}'
        )

    def _share(self, k: int) -> float:
        return float(self.model._node_weights[k] / self.model._node_weights[0])

    # -- nodes ---------------------------------------------------------------------------

    def _node(self, box: _Box) -> str:
        k, (x, y) = box.node, self._corner(box)
        leaf = self.tree.attribute[k] < 0
        on = k in self.marked
        words = self._words(box)
        n = float(self.model._node_weights[k])
        rows = f"{number(n)} row{'s' * (n != 1)}"
        edge = f'stroke="{MARK}" stroke-width="2.4"' if on else f'stroke="{QUIET}" stroke-width="1"'
        bold = ' font-weight="bold"' if leaf or k == 0 else ""
        return (
            f'<g class="node{" leaf" * bool(leaf)}{" on" * on}" transform="translate({x:.1f} {y:.1f})">'
            f"<title>{xml(self._tooltip(k))}</title>"
            f'<rect width="{self.wide:g}" height="{_HIGH:g}" rx="{10 if leaf else 3}" fill="#fff" {edge}/>'
            + svg_text(
                self.wide / 2, 18, shortened(words, self.wide - 14, _BODY), _BODY, f' text-anchor="middle"{bold}'
            )
            + svg_text(self.wide / 2, 31, rows, _SMALL, f' text-anchor="middle" fill="{QUIET}"')
            + self._bar(k)
            + "</g>"
        )

    def _words(self, box: _Box) -> str:
        """The test of a node, or its prediction."""
        if not self._ends(box):
            return f"{self.features[self.tree.attribute[box.node]].name}?"
        return self._prediction(box.node) + ("" if self.tree.attribute[box.node] < 0 else " …")

    def _prediction(self, k: int) -> str:
        if self.model._numbers:
            return number(float(self.model._means[k]))
        p = self.model._probabilities[k]
        best = int(self.model._best[k])
        sure = f" {percent(float(p[best]))}" if p[best] < 1 else ""
        return f"{self.model.classes_[best]}{sure}"

    def _tooltip(self, k: int) -> str:
        where = " and ".join(map(str, conditions_to(self.tree, self.features, k))) or "all rows"
        cells = self.tree.cells[k]
        if self.model._numbers:
            return f"{where}: {number(float(cells[0]))} rows, mean {number(float(cells[1]))}"
        pairs: Sequence[tuple[Any, float]] = list(zip(self.model.classes_.tolist(), cells.tolist(), strict=True))
        return f"{where}: " + ", ".join(f"{number(n)} {c}" for c, n in pairs[:30])

    def _bar(self, k: int) -> str:
        x, y, wide, high = 10.0, 37.0, self.wide - 20, 7.0
        frame = f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" fill="#eceff2"/>'
        if self.model._numbers:
            return frame + self._spread(k, x, y, wide, high)
        cells = self.tree.cells[k]
        total = float(cells.sum())
        if total <= 0:
            return frame  # no row reached it: an empty bar
        out, at = [frame], x
        parts = [*cells[:_MOST_CLASSES], float(cells[_MOST_CLASSES:].sum())]
        for c, n in enumerate(parts):
            size = wide * float(n) / total
            if size > 0:
                out.append(f'<rect x="{at:.2f}" y="{y:g}" width="{size:.2f}" height="{high:g}" fill="{_color(c)}"/>')
                at += size
        return "".join(out)

    def _spread(self, k: int, x: float, y: float, wide: float, high: float) -> str:
        """The mean and its deviation, on the scale of all means."""
        means = self.model._means
        low, top = float(means.min()), float(means.max())
        span = (top - low) or 1.0
        cells = self.tree.cells[k]
        sd = float(np.sqrt(cells[2] / cells[0])) if cells[0] > 0 else 0.0
        mean = float(means[k])
        ends = [x + wide * min(max((m - low) / span, 0.0), 1.0) for m in (mean - sd, mean, mean + sd)]
        return (
            f'<rect x="{ends[0]:.2f}" y="{y:g}" width="{max(ends[2] - ends[0], 0.0):.2f}" height="{high:g}" '
            f'fill="#a9c4dd"/><rect x="{ends[1] - 1.5:.2f}" y="{y - 1:g}" width="3" height="{high + 2:g}" '
            'fill="#0072b2"/>'
        )


def _color(c: int) -> str:
    return PALETTE[c] if c < _MOST_CLASSES else "#444444"
