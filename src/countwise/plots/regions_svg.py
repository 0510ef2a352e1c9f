"""Decision regions as SVG, written by hand: no library that draws is needed."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from countwise.plots.regions import Panel, Scene
from countwise.plots.style import (
    DARK,
    QUIET,
    columns_for,
    look,
    mixed,
    shortened,
    strength,
    svg_text,
    text_width,
    wrapped,
    xml,
)
from countwise.working.numbers import number

__all__ = ["nice_ticks", "render", "runs"]

_LEVELS = 10  # of shading: few enough for a small file
_SMALL, _BODY, _HEAD = 11.0, 12.0, 14.0
_EDGE, _GAP = 16.0, 26.0


def render(scene: Scene) -> str:
    """A scene as one SVG, complete in itself.

    Parameters
    ----------
    scene : Scene
        What to draw.

    Returns
    -------
    str
    """
    page = _RegionPage(scene)
    pieces = [*page.legend(), *(piece for i in range(len(scene.panels)) for piece in page.panel(i)), *page.caption()]
    x, y = scene.ground.pair
    names = ", ".join(panel.title for panel in scene.panels)
    title = f"Decision regions over {x} and {y}: {names}"
    told = [f"{panel.title}: {panel.subtitle}." for panel in scene.panels]
    desc = " ".join([f"Classes: {', '.join(map(str, scene.classes))}.", *told, scene.caption]).strip()
    width, height = f"{page.width:.0f}", f"{page.height:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, Liberation Sans, sans-serif" '
        f'fill="{DARK}"><title>{xml(title)}</title><desc>{xml(desc)}</desc>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(pieces)}</svg>'
    )


class _RegionPage:
    """Where everything goes; from the top: legend, panels, caption."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.points = ""
        self.columns = columns_for(len(scene.panels))
        self.wide, self.high = {1: (380.0, 310.0), 2: (330.0, 280.0)}.get(self.columns, (270.0, 240.0))
        self.xticks, self.yticks = (nice_ticks(low, high) for low, high in scene.ground.limits)
        self.left = _EDGE + 30 + max(text_width(text, _SMALL) for _, text in self.yticks)
        self.width = self.left + self.columns * self.wide + (self.columns - 1) * _GAP + _EDGE
        self.lines = _legend_lines(scene, self.width - 2 * _EDGE)
        self.top = _EDGE + 22 * len(self.lines) + 4
        self.step = self.high + 100  # title, ticks and label included
        self.words = wrapped(scene.caption, self.width - 2 * _EDGE, _SMALL)
        self.foot = self.top + self.step * -(-len(scene.panels) // self.columns) + 4
        self.height = self.foot + 15 * len(self.words) + (8 if self.words else 0)

    def legend(self) -> list[str]:
        out = []
        for i, line in enumerate(self.lines):
            y = _EDGE + 22 * i + 9
            for x, code, text in line:
                if code is not None:
                    out.append(_entry(x + 7, y, code))
                out.append(svg_text(x + (0 if code is None else 18), y + 4, text, _BODY))
        return [f'<g class="legend">{"".join(out)}</g>']

    def caption(self) -> list[str]:
        return [
            svg_text(_EDGE, self.foot + 4 + 15 * i, line, _SMALL, f' fill="{QUIET}"')
            for i, line in enumerate(self.words)
        ]

    def panel(self, i: int) -> list[str]:
        panel, scene = self.scene.panels[i], self.scene
        row, column = divmod(i, self.columns)
        x, y = self.left + column * (self.wide + _GAP), self.top + row * self.step + 44
        (left, right), (low, high) = scene.ground.limits
        shift, scale = np.array([left, high]), np.array([self.wide / (right - left), -self.high / (high - low)])

        def placed(points: NDArray[Any]) -> NDArray[Any]:
            return np.asarray((points - shift) * scale)

        few = len(scene.shown) <= 300
        size = 3.5 if few else 2.3
        inner = [
            _regions(panel, self.wide, self.high),
            _boundary(placed(panel.lines)),
            self._points(placed(scene.ground.xy), size) if i == 0 else f'<use class="points" href="#{self.points}"/>',
            _rings(
                placed(scene.ground.xy[scene.shown[panel.wrong[scene.shown]]]),
                7.0 if few else 5.0,
                1.3 if few else 1.0,
            ),
            f'<rect width="{self.wide:g}" height="{self.high:g}" fill="none" stroke="{QUIET}"/>',
            self._axes(i, placed),
            svg_text(0, -24, shortened(panel.title, self.wide, _HEAD * 1.06), _HEAD, ' font-weight="bold"'),
            svg_text(0, -8, shortened(panel.subtitle, self.wide, _SMALL), _SMALL, f' fill="{QUIET}"'),
        ]
        return [f'<g class="panel" transform="translate({round(x)} {round(y)})">', *inner, "</g>"]

    def _points(self, places: NDArray[Any], size: float) -> str:
        """The rows by class, written once: the other panels show them again."""
        shown, codes = self.scene.shown, self.scene.codes[self.scene.shown]
        found = [_marks(places[shown[codes == code]], int(code), size) for code in np.unique(codes)]
        self.points = (
            f"cw{crc32(''.join(found).encode()):08x}"  # two pictures of a page share it only if it is the same
        )
        return f'<g class="points" id="{self.points}">{"".join(found)}</g>'

    def _axes(self, i: int, placed: Any) -> str:
        (left, _), (low, _) = self.scene.ground.limits
        out, marks = [], []
        for value, text in self.xticks:
            x = placed(np.array([value, low]))[0]
            marks.append(f"M{x:.1f} {self.high:g}v4")
            out.append(svg_text(x, self.high + 17, text, _SMALL, ' text-anchor="middle"'))
        first = i % self.columns == 0
        for value, text in self.yticks:
            y = placed(np.array([left, value]))[1]
            marks.append(f"M0 {y:.1f}h-4")
            if first:
                out.append(svg_text(-8, y + 4, text, _SMALL, ' text-anchor="end"'))
        x, y = self.scene.ground.pair
        out.append(svg_text(self.wide / 2, self.high + 36, shortened(x, self.wide, _BODY), _BODY, _MIDDLE))
        if first:
            turn = f' transform="translate({_EDGE + 8 - self.left:.1f} {self.high / 2:g}) rotate(-90)"'
            out.append(svg_text(0, 0, shortened(y, self.high, _BODY), _BODY, _MIDDLE + turn))
        return f'<path d="{"".join(marks)}" stroke="{QUIET}" fill="none"/><g class="axes">{"".join(out)}</g>'


_MIDDLE = ' text-anchor="middle"'


def _legend_lines(scene: Scene, width: float) -> list[list[tuple[float, int | None, str]]]:
    """Entries of the legend line by line: where, the class (-1 a ring, None nothing but text), the text."""
    entries: list[tuple[int | None, str]] = [(code, str(value)) for code, value in enumerate(scene.classes)]
    if any(panel.wrong[scene.shown].any() for panel in scene.panels):
        entries.append((-1, "wrong"))
    if scene.ground.target is not None:
        entries.insert(0, (None, f"{scene.ground.target}:"))
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


def _entry(x: float, y: float, code: int) -> str:
    if code < 0:
        return _rings(np.array([[x, y]]), 6)
    return _marks(np.array([[x, y]]), code, 4.2)


# -- what is in a panel ---------------------------------------------------------------


def runs(values: NDArray[Any]) -> list[tuple[int, int, int, int, int]]:
    """Rectangles of equal values that cover a grid: value, column, row, width, height.

    Runs along a row; those that stand one over the other in two rows and more are one.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.plots.regions_svg import runs
    >>> runs(np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1]]))
    [(0, 0, 0, 2, 2), (1, 2, 0, 1, 2), (0, 0, 2, 1, 1), (1, 1, 2, 2, 1)]
    """
    open_: dict[tuple[int, int, int], tuple[int, int]] = {}
    done: list[tuple[int, int, int, int, int]] = []
    for row, line in enumerate(values):
        starts = np.flatnonzero(np.r_[True, line[1:] != line[:-1]])
        ends = np.r_[starts[1:], len(line)]
        met = {(int(line[a]), int(a), int(b - a)) for a, b in zip(starts, ends, strict=True)}
        for key in [key for key in open_ if key not in met]:
            first, height = open_.pop(key)
            done.append((key[0], key[1], first, key[2], height))
        for key in met:
            first, height = open_.get(key, (row, 0))
            open_[key] = first, height + 1
    done += [(value, column, first, width, height) for (value, column, width), (first, height) in open_.items()]
    return sorted(done, key=lambda one: (one[2], one[1]))


def _regions(panel: Panel, wide: float, high: float) -> str:
    """One path for each shade of each class."""
    levels = np.zeros(panel.codes.shape, dtype=np.int64)
    if panel.sure is not None:
        levels = np.minimum((panel.sure * _LEVELS).astype(np.int64), _LEVELS - 1)
    paths: dict[int, list[str]] = {}
    for value, column, row, width, height in runs((panel.codes * _LEVELS + levels)[::-1]):
        paths.setdefault(value, []).append(f"M{column} {row}h{width}v{height}H{column}z")
    side = len(panel.codes)
    out = []
    for value, path in sorted(paths.items()):
        code, level = divmod(value, _LEVELS)
        share = strength(None if panel.sure is None else (level + 0.5) / _LEVELS)
        color = "#{:02x}{:02x}{:02x}".format(*mixed(look(code)[0], share))
        out.append(f'<path class="c{code}" fill="{color}" d="{"".join(path)}"/>')
    scale = f"scale({wide / side:.6g} {high / side:.6g})"
    return f'<g class="regions" shape-rendering="crispEdges" transform="{scale}">{"".join(out)}</g>'


def _short(*numbers: float) -> str:
    """Numbers of a path to a tenth, with few idle characters.

    Examples
    --------
    >>> _short(10.0, -0.26, -0.01)
    '10-0.3 0'
    """
    return " ".join(f"{round(value, 1) + 0.0:g}" for value in map(float, numbers)).replace(" -", "-")


def _boundary(lines: NDArray[Any]) -> str:
    path = "".join(f"M{a:.1f} {b:.1f}l{_short(c - a, d - b)}" for (a, b), (c, d) in lines)
    return f'<path class="boundary" d="{path}" fill="none" stroke="{DARK}" stroke-linecap="round"/>' if path else ""


_OUTLINES = {  # corners of the marks about their center; a circle is told by its radius alone
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
    """All points of a class as one path."""
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
    seen = "" if len(places) <= 100 else ' stroke-opacity=".6"'  # so many that they would hide the points
    return f'<path class="wrong" fill="none" stroke="{DARK}" stroke-width="{line}"{seen} d="{path}"/>'


def nice_ticks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """Round numbers within a range, 1, 2 or 5 times a power of ten apart, and how they are written.

    Examples
    --------
    >>> from countwise.plots.regions_svg import nice_ticks
    >>> nice_ticks(-0.13, 0.42)
    [(-0.1, '−0.1'), (0.0, '0.0'), (0.1, '0.1'), (0.2, '0.2'), (0.3, '0.3'), (0.4, '0.4')]
    """
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
