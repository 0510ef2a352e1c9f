"""Drawings of decision trees as SVG: nodes with bars of class proportions, optionally the path of one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.errors import NumberIn, OptionError, check_value
from countwise.plots.style import MARK, PALETTE, QUIET, shortened, svg_page, svg_text, text_width
from countwise.tree.conditions import condition_of, conditions_to
from countwise.working.markup import escape
from countwise.working.numbers import number, percent

__all__ = ["draw_tree"]

_SMALL, _BODY = 11.0, 13.0
_EDGE = 16.0
_HIGH = 50.0  # height of a node
_NARROWEST, _WIDEST = 104.0, 190.0  # limits of the width of a node
_LONGEST = 150.0  # largest width of the label of a line
_FEW = 9  # trees with more leaves grow to the right by default
_MOST_LEAVES = 400
_MOST_CLASSES = 10


def draw_tree(
    model: Any, X: Any = None, *, row: int = 0, max_depth: int | None = None, direction: str | None = None
) -> str:
    """Draw a decision tree as SVG.

    A node shows its test or its prediction, the number of training rows that reached it, and a bar of the class
    proportions (for a regression tree, of the mean and standard deviation of the target). Lines are thicker the more
    rows follow them.

    Parameters
    ----------
    model : TreeClassifier or TreeRegressor
        A fitted tree.
    X : any table, optional
        A table with a row whose path is highlighted.
    row : int, default=0
        Index of that row in X.
    max_depth : int, optional
        Largest depth to draw. By default the largest depth with at most about 400 leaves.
    direction : {'down', 'right'}, optional
        Direction in which the tree grows. By default 'down' for at most 9 leaves, else 'right'.

    Returns
    -------
    str
        The SVG document.

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
        raise OptionError(
            f"{type(model).__name__} is not a fitted tree.", hint="use a fitted TreeClassifier or TreeRegressor."
        )
    check_value("direction", direction, ("down", "right", None))
    check_value("max_depth", max_depth, NumberIn(0, whole=True, words=(None,)))
    return _TreePage(model, model._passed(X, row), max_depth, direction).svg()


class _TreePage:
    """The layout of the page."""

    def __init__(self, model: Any, marked: frozenset[int], max_depth: int | None, direction: str | None) -> None:
        self.model, self.tree, self.features, self.marked = model, model.tree_, model._features, marked
        depths = self.tree.depths
        if max_depth is None:
            max_depth = self.tree.depth_with(_MOST_LEAVES)
        self.ends = (self.tree.attribute < 0) | (depths >= max_depth)
        self.place = self.tree.places(self.ends)
        self.depth = {k: int(depths[k]) for k in self.place}
        leaves = sum(bool(self.ends[k]) for k in self.place)
        self.down = leaves <= _FEW if direction is None else direction == "down"
        self.words = {k: self._words(k) for k in self.place}
        widest = max(text_width(words, _BODY) * 1.05 for words in self.words.values())
        self.wide = min(max(widest + 16, _NARROWEST), _WIDEST)
        conditions = {k: condition_of(self.tree, self.features, k).short for k in self.place if k}
        self.labels = {k: shortened(text, _LONGEST, _SMALL) for k, text in conditions.items()}
        labels = [0.0] * max(self.depth.values())  # the widest label of the lines to each depth
        for k, label in self.labels.items():
            labels[self.depth[k] - 1] = max(labels[self.depth[k] - 1], text_width(label, _SMALL))
        # `levels` are positions along the direction of growth, `across` is the distance of two leaves
        if self.down:
            self.across = max(self.wide, max(labels, default=0.0) + 8) + 14
            self.levels = [depth * (_HIGH + 62) for depth in range(len(labels) + 1)]
            wide, high = leaves * self.across, self.levels[-1] + _HIGH
        else:
            self.across = _HIGH + 16
            self.levels = [sum(self.wide + label + 44 for label in labels[:d]) for d in range(len(labels) + 1)]
            wide, high = self.levels[-1] + self.wide, leaves * self.across
        self.entries = self._entries()
        self.top = _EDGE + 30
        self.width = 2 * _EDGE + max(wide, sum(text_width(text, _BODY) + 34 for _, text in self.entries))
        self.height = self.top + high + _EDGE
        self.shift = (self.width - 2 * _EDGE - wide) / 2 if self.down else 0.0

    def _corner(self, k: int) -> tuple[float, float]:
        """Return the upper left corner of a node."""
        if self.down:
            x = _EDGE + self.shift + self.place[k] * self.across + (self.across - self.wide) / 2
            return x, self.top + self.levels[self.depth[k]]
        return _EDGE + self.levels[self.depth[k]], self.top + self.place[k] * self.across

    def svg(self) -> str:
        """Return the SVG document."""
        counts = f"{len(self.tree)} nodes, {len(self.tree.leaves)} leaves"
        parts = [self._legend(), *map(self._line, self.labels), *map(self._node, self.place)]
        title = f"Decision tree for {self.model.target_.name}: {counts}"
        return svg_page(self.width, self.height, title, "".join(parts))

    # -- legend ------------------------------------------------------------------------

    def _entries(self) -> list[tuple[str | None, str]]:
        name = self.model.target_.name
        if self.model._numbers:
            cells = self.tree.cells[0]
            sd = float(np.sqrt(cells[2] / cells[0]))
            return [(None, f"{name}: all rows {number(float(cells[1]))} ± {number(sd)}")]
        classes = [str(c) for c in self.model.classes_.tolist()]
        shown = [shortened(label, 160, _BODY) for label in classes[:_MOST_CLASSES]]
        if len(classes) > len(shown):
            shown.append(f"{len(classes) - len(shown)} others")
        return [(None, f"{name}:"), *((_color(c), text) for c, text in enumerate(shown))]

    def _legend(self) -> str:
        x, out = _EDGE, []
        for color, text in self.entries:
            if color is not None:
                out.append(f'<rect x="{x:.1f}" y="{_EDGE - 1:g}" width="12" height="12" rx="2" fill="{color}"/>')
                x += 17
            out.append(svg_text(x, _EDGE + 9, text, _BODY))
            x += text_width(text, _BODY) + 16
        return f'<g class="legend">{"".join(out)}</g>'

    # -- lines ---------------------------------------------------------------------------

    def _line(self, k: int) -> str:
        """Return the line from a node's parent to the node, labeled with its condition."""
        (x0, y0), (x1, y1) = self._corner(int(self.tree.parent[k])), self._corner(k)
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
        on = k in self.marked
        fraction = float(self.model._node_weights[k] / self.model._node_weights[0])
        color, thick = (MARK, 2.4 + 2 * fraction) if on else ("#9aa3ad", 0.9 + 3.2 * fraction)
        halo = ' stroke="#fff" stroke-width="3.5" paint-order="stroke" stroke-linejoin="round"'
        label = svg_text(*at, self.labels[k], _SMALL, anchor=anchor, bold=on, more=halo)
        return f'<path d="{curve}" fill="none" stroke="{color}" stroke-width="{thick:.1f}"/>{label}'

    # -- nodes ---------------------------------------------------------------------------

    def _node(self, k: int) -> str:
        x, y = self._corner(k)
        leaf, on = bool(self.tree.attribute[k] < 0), k in self.marked
        n = float(self.model._node_weights[k])
        rows = f"{number(n)} row{'s' * (n != 1)}"
        edge = f'stroke="{MARK}" stroke-width="2.4"' if on else f'stroke="{QUIET}" stroke-width="1"'
        words = shortened(self.words[k], self.wide - 14, _BODY)
        return (
            f'<g class="node{" leaf" * leaf}{" on" * on}" transform="translate({x:.1f} {y:.1f})">'
            f"<title>{escape(self._tooltip(k))}</title>"
            f'<rect width="{self.wide:g}" height="{_HIGH:g}" rx="{10 if leaf else 3}" fill="#fff" {edge}/>'
            f"{svg_text(self.wide / 2, 18, words, _BODY, anchor='middle', bold=leaf or k == 0)}"
            f"{svg_text(self.wide / 2, 31, rows, _SMALL, anchor='middle', fill=QUIET)}{self._bar(k)}</g>"
        )

    def _words(self, k: int) -> str:
        """Return the test of a node, or its prediction."""
        if not self.ends[k]:
            return f"{self.features[self.tree.attribute[k]].name}?"
        more = "" if self.tree.attribute[k] < 0 else " …"
        if self.model._numbers:
            return number(float(self.model._means[k])) + more
        best = int(self.model._best[k])
        p = float(self.model._probabilities[k][best])
        return f"{self.model.classes_[best]}{f' {percent(p)}' if p < 1 else ''}{more}"

    def _tooltip(self, k: int) -> str:
        where = " and ".join(map(str, conditions_to(self.tree, self.features, k))) or "all rows"
        cells = self.tree.cells[k]
        if self.model._numbers:
            return f"{where}: {number(float(cells[0]))} rows, mean {number(float(cells[1]))}"
        pairs = list(zip(self.model.classes_.tolist(), cells.tolist(), strict=True))
        return f"{where}: " + ", ".join(f"{number(n)} {c}" for c, n in pairs[:30])

    def _bar(self, k: int) -> str:
        """Return the bar of class proportions; it is empty if no row reached the node."""
        x, y, wide, high = 10.0, 37.0, self.wide - 20, 7.0
        out = [f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" fill="#eceff2"/>']
        if self.model._numbers:
            return out[0] + self._mean_sd(k, x, y, wide, high)
        cells = self.tree.cells[k]
        total = float(cells.sum())
        for c, n in enumerate([*cells[:_MOST_CLASSES], float(cells[_MOST_CLASSES:].sum())] if total > 0 else ()):
            size = wide * float(n) / total
            if size > 0:
                out.append(f'<rect x="{x:.2f}" y="{y:g}" width="{size:.2f}" height="{high:g}" fill="{_color(c)}"/>')
                x += size
        return "".join(out)

    def _mean_sd(self, k: int, x: float, y: float, wide: float, high: float) -> str:
        """Return the mean and the interval of one standard deviation, on the scale of all means."""
        means, cells = self.model._means, self.tree.cells[k]
        low, mean = float(means.min()), float(means[k])
        span = float(means.max()) - low or 1.0
        sd = float(np.sqrt(cells[2] / cells[0])) if cells[0] > 0 else 0.0
        ends = [x + wide * min(max((m - low) / span, 0.0), 1.0) for m in (mean - sd, mean, mean + sd)]
        return (
            f'<rect x="{ends[0]:.2f}" y="{y:g}" width="{max(ends[2] - ends[0], 0.0):.2f}" height="{high:g}" '
            f'fill="#a9c4dd"/><rect x="{ends[1] - 1.5:.2f}" y="{y - 1:g}" width="3" height="{high + 2:g}" '
            'fill="#0072b2"/>'
        )


def _color(c: int) -> str:
    return PALETTE[c] if c < _MOST_CLASSES else "#444444"
