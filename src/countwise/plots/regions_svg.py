"""Decision regions drawn as SVG, without matplotlib."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from countwise.plots.regions import Panel, Scene
from countwise.plots.style import DARK, QUIET, look, shades, shortened, svg_page, svg_text, text_width, wrapped
from countwise.working.numbers import number

__all__ = ["nice_ticks", "render", "runs"]

_LEVELS = 10  # number of shades of each color; few shades keep the file small
_SMALL, _BODY, _HEAD = 11.0, 12.0, 14.0
_EDGE, _GAP = 16.0, 26.0


def render(scene: Scene) -> str:
    """Return a scene as an SVG document."""
    page = _RegionPage(scene)
    pieces = [page.legend(), *(page.panel(i) for i in range(len(scene.panels))), *page.caption()]
    title = f"Decision regions over {' and '.join(scene.data.pair)}: {', '.join(p.title for p in scene.panels)}"
    results = [f"{panel.title}: {panel.subtitle}." for panel in scene.panels]
    desc = " ".join([f"Classes: {', '.join(map(str, scene.classes))}.", *results, scene.caption]).strip()
    return svg_page(page.width, page.height, title, "".join(pieces), desc)


class _RegionPage:
    """The layout of the page, from top to bottom: legend, panels, caption."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.points = ""
        self.columns = scene.columns
        self.wide, self.high = {1: (380.0, 310.0), 2: (330.0, 280.0)}.get(self.columns, (270.0, 240.0))
        self.xticks, self.yticks = (nice_ticks(low, high) for low, high in scene.data.limits)
        self.left = _EDGE + 30 + max(text_width(text, _SMALL) for _, text in self.yticks)
        self.width = self.left + self.columns * self.wide + (self.columns - 1) * _GAP + _EDGE
        self.lines = _legend_lines(scene, self.width - 2 * _EDGE)
        self.top = _EDGE + 22 * len(self.lines) + 4
        self.step = self.high + 100  # title, ticks and label included
        self.words = wrapped(scene.caption, self.width - 2 * _EDGE, _SMALL)
        self.foot = self.top + self.step * -(-len(scene.panels) // self.columns) + 4
        self.height = self.foot + 15 * len(self.words) + (8 if self.words else 0)

    def legend(self) -> str:
        out = []
        for i, line in enumerate(self.lines):
            y = _EDGE + 22 * i + 9
            for x, code, text in line:
                if code is not None:
                    place = np.array([[x + 7, y]])
                    out.append(_rings(place, 6) if code < 0 else _marks(place, code, 4.2))
                out.append(svg_text(x + (0 if code is None else 18), y + 4, text, _BODY))
        return f'<g class="legend">{"".join(out)}</g>'

    def caption(self) -> list[str]:
        y = self.foot + 4
        return [svg_text(_EDGE, y + 15 * i, line, _SMALL, fill=QUIET) for i, line in enumerate(self.words)]

    def panel(self, i: int) -> str:
        panel, scene = self.scene.panels[i], self.scene
        row, column = divmod(i, self.columns)
        x, y = self.left + column * (self.wide + _GAP), self.top + row * self.step + 44
        (left, right), (low, high) = scene.data.limits
        shift, scale = np.array([left, high]), np.array([self.wide / (right - left), -self.high / (high - low)])

        def placed(points: NDArray[Any]) -> NDArray[Any]:
            return np.asarray((points - shift) * scale)

        size, ring, thick = (3.5, 7.0, 1.3) if len(scene.shown) <= 300 else (2.3, 5.0, 1.0)
        inner = [
            _regions(panel, self.wide, self.high),
            _boundary(placed(panel.lines)),
            self._points(placed(scene.data.xy), size) if i == 0 else f'<use class="points" href="#{self.points}"/>',
            _rings(placed(scene.data.xy[scene.shown[panel.wrong[scene.shown]]]), ring, thick),
            f'<rect width="{self.wide:g}" height="{self.high:g}" fill="none" stroke="{QUIET}"/>',
            self._axes(i, placed),
            svg_text(0, -24, shortened(panel.title, self.wide, _HEAD * 1.06), _HEAD, bold=True),
            svg_text(0, -8, shortened(panel.subtitle, self.wide, _SMALL), _SMALL, fill=QUIET),
        ]
        return f'<g class="panel" transform="translate({round(x)} {round(y)})">{"".join(inner)}</g>'

    def _points(self, places: NDArray[Any], size: float) -> str:
        """Return the points of the rows by class; the other panels refer to this element."""
        shown, codes = self.scene.shown, self.scene.codes[self.scene.shown]
        found = [_marks(places[shown[codes == code]], int(code), size) for code in np.unique(codes)]
        # the id depends on the content: two plots on one page share it only if the points are the same
        self.points = f"cw{crc32(''.join(found).encode()):08x}"
        return f'<g class="points" id="{self.points}">{"".join(found)}</g>'

    def _axes(self, i: int, placed: Any) -> str:
        (left, _), (low, _) = self.scene.data.limits
        out, marks = [], []
        for value, text in self.xticks:
            x = placed(np.array([value, low]))[0]
            marks.append(f"M{x:.1f} {self.high:g}v4")
            out.append(svg_text(x, self.high + 17, text, _SMALL, anchor="middle"))
        first = i % self.columns == 0
        for value, text in self.yticks:
            y = placed(np.array([left, value]))[1]
            marks.append(f"M0 {y:.1f}h-4")
            if first:
                out.append(svg_text(-8, y + 4, text, _SMALL, anchor="end"))
        x, y = self.scene.data.pair
        out.append(svg_text(self.wide / 2, self.high + 36, shortened(x, self.wide, _BODY), _BODY, anchor="middle"))
        if first:
            turn = f' transform="translate({_EDGE + 8 - self.left:.1f} {self.high / 2:g}) rotate(-90)"'
            out.append(svg_text(0, 0, shortened(y, self.high, _BODY), _BODY, anchor="middle", more=turn))
        return f'<path d="{"".join(marks)}" stroke="{QUIET}" fill="none"/><g class="axes">{"".join(out)}</g>'


def _legend_lines(scene: Scene, width: float) -> list[list[tuple[float, int | None, str]]]:
    """Return the legend entries of each line: position, class code (-1 for a ring, None for text only), text."""
    entries: list[tuple[int | None, str]] = [(code, str(value)) for code, value in enumerate(scene.classes)]
    if any(panel.wrong[scene.shown].any() for panel in scene.panels):
        entries.append((-1, "misclassified"))
    if scene.data.target is not None:
        entries.insert(0, (None, f"{scene.data.target}:"))
    lines: list[list[tuple[float, int | None, str]]] = [[]]
    x = 0.0
    for code, text in entries:
        shown = shortened(text, width - 40, _BODY)
        wide = text_width(shown, _BODY) + (8 if code is None else 36)
        if x + wide > width + 18 and lines[-1]:
            lines.append([])
            x = 0.0
        lines[-1].append((_EDGE + x, code, shown))
        x += wide
    return lines


# -- content of a panel ---------------------------------------------------------------


def runs(values: NDArray[Any]) -> list[tuple[int, int, int, int, int]]:
    """Return rectangles of equal values that cover a grid: value, column, row, width, height.

    Runs of equal values along a row are merged with identical runs in the rows below.
    """
    open_: dict[tuple[int, int, int], tuple[int, int]] = {}
    done: list[tuple[int, int, int, int, int]] = []
    for row, line in enumerate(values):
        starts = np.flatnonzero(np.r_[True, line[1:] != line[:-1]])
        ends = np.r_[starts[1:], len(line)]
        found = {(int(line[a]), int(a), int(b - a)) for a, b in zip(starts, ends, strict=True)}
        for key in [key for key in open_ if key not in found]:
            first, height = open_.pop(key)
            done.append((key[0], key[1], first, key[2], height))
        for key in found:
            first, height = open_.get(key, (row, 0))
            open_[key] = first, height + 1
    done += [(value, column, first, width, height) for (value, column, width), (first, height) in open_.items()]
    return sorted(done, key=lambda one: (one[2], one[1]))


def _regions(panel: Panel, wide: float, high: float) -> str:
    """Return one path for each shade of each class."""
    levels = np.zeros(panel.codes.shape, dtype=np.int64)
    if panel.confidence is not None:
        levels = np.minimum((panel.confidence * _LEVELS).astype(np.int64), _LEVELS - 1)
    paths: dict[int, list[str]] = {}
    for value, column, row, width, height in runs((panel.codes * _LEVELS + levels)[::-1]):
        paths.setdefault(value, []).append(f"M{column} {row}h{width}v{height}H{column}z")
    side = len(panel.codes)
    out = []
    for value, path in sorted(paths.items()):
        code, level = divmod(value, _LEVELS)
        color = shades(code, None if panel.confidence is None else (level + 0.5) / _LEVELS).tobytes().hex()
        out.append(f'<path class="c{code}" fill="#{color}" d="{"".join(path)}"/>')
    scale = f"scale({wide / side:.6g} {high / side:.6g})"
    return f'<g class="regions" shape-rendering="crispEdges" transform="{scale}">{"".join(out)}</g>'


def _short(*numbers: float) -> str:
    """Format the numbers of a path with one decimal and as few characters as possible."""
    return " ".join(f"{round(value, 1) + 0.0:g}" for value in map(float, numbers)).replace(" -", "-")


def _boundary(lines: NDArray[Any]) -> str:
    path = "".join(f"M{a:.1f} {b:.1f}l{_short(c - a, d - b)}" for (a, b), (c, d) in lines)
    return f'<path class="boundary" d="{path}" fill="none" stroke="{DARK}" stroke-linecap="round"/>' if path else ""


_OUTLINES = {  # corners of the markers around their center; a circle needs only its radius
    "s": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "^": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    "D": [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)],
    "v": [(0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    "P": [(-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4), (0.4, 1.1), (-0.4, 1.1),
          (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4)],
    "X": [(0, -0.5), (0.6, -1.1), (1.1, -0.6), (0.5, 0), (1.1, 0.6), (0.6, 1.1), (0, 0.5), (-0.6, 1.1), (-1.1, 0.6),
          (-0.5, 0), (-1.1, -0.6), (-0.6, -1.1)],
    "p": [(0, -1.15), (1.1, -0.35), (0.7, 0.95), (-0.7, 0.95), (-1.1, -0.35)],
}  # fmt: skip


def _marks(places: NDArray[Any], code: int, size: float) -> str:
    """Return all points of a class as one path."""
    color, mark = look(code)
    if mark == "o":
        path = "".join(_circle(x, y, size) for x, y in places)
    else:
        corners = size * np.array(_OUTLINES[mark])
        steps = "l" + _short(*np.diff(corners, axis=0).ravel()) + "z"
        path = "".join(f"M{x:.1f} {y:.1f}{steps}" for x, y in places + corners[0])
    return f'<path class="c{code}" fill="{color}" stroke="#fff" stroke-width=".6" d="{path}"/>'


def _circle(x: float, y: float, r: float) -> str:
    return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0-{2 * r:g} 0z"


def _rings(places: NDArray[Any], size: float, line: float = 1.3) -> str:
    if not len(places):
        return ""
    path = "".join(_circle(x, y, size) for x, y in places)
    seen = "" if len(places) <= 100 else ' stroke-opacity=".6"'  # many rings would hide the points
    return f'<path class="wrong" fill="none" stroke="{DARK}" stroke-width="{line}"{seen} d="{path}"/>'


def nice_ticks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """Return tick positions with labels in a range; the step is 1, 2 or 5 times a power of ten."""
    ten = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(ten * k for k in (1, 2, 5, 10) if (high - low) / (ten * k) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    out = []
    for k in range(first, last + 1):
        value = round(k * step, decimals) + 0.0
        plain = abs(value) < 1e6 and decimals < 7
        out.append((value, (f"{value:.{decimals}f}" if plain else number(value)).replace("-", "−")))
    return out
