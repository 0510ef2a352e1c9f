"""Line charts and bar charts as text, for terminals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from countwise.working.numbers import number

__all__ = ["bar_chart", "line_chart", "supports_unicode"]

Points = Sequence[tuple[float, float]]
_MARKS = ("●○▲△■□◆◇", "*o+x#@%&")
_DOTS = ("·", ".")
_BLOCKS = " ▏▎▍▌▋▊▉█"


def supports_unicode(encoding: str | None) -> bool:
    """Return whether an encoding has all characters that the charts use.

    Examples
    --------
    >>> from countwise.working.charts import supports_unicode
    >>> supports_unicode("utf-8"), supports_unicode("ascii"), supports_unicode("cp1252"), supports_unicode(None)
    (True, False, False, False)
    """
    try:
        f"{_MARKS[0]}{_DOTS[0]}{_BLOCKS}│─└┤┬".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def line_chart(
    series: Mapping[str, Points],
    *,
    width: int = 64,
    height: int = 14,
    x_label: str = "",
    y_label: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    log_x: bool = False,
    unicode: bool = True,
) -> str:
    """Draw lines through points, with a different mark for each series.

    Parameters
    ----------
    series : mapping of str to sequence of (x, y)
        Points of each series. NaN and infinite points are skipped. The first series is drawn on top.
    width, height : int
        Size in characters, including the axes.
    x_label, y_label : str
        Labels below the x axis and above the y axis.
    x_range, y_range : (float, float), optional
        Limits of the axes. By default, the range of the points.
    log_x : bool, default=False
        Whether the x axis is logarithmic.
    unicode : bool, default=True
        Whether to draw with Unicode characters; plain ASCII otherwise.

    Returns
    -------
    str
        The chart, or "(nothing to draw)" if there is no finite point.

    Examples
    --------
    >>> from countwise.working.charts import line_chart
    >>> print(line_chart({"true": [(1, 0.4), (10, 0.2)], "apparent": [(1, 0), (10, 0.2)]}, width=24, height=5,
    ...                  unicode=False))
    0.4 |*....
        |     .........
    0.2 |              ....*
        |     .........
      0 |o....
        +-------------------
         1                10
    * true  o apparent
    """
    shown = {name: [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y) and (x > 0 or not log_x)]
             for name, points in series.items()}  # fmt: skip
    every = [point for points in shown.values() for point in points]
    if not every:
        return "(nothing to draw)"
    xs, ys = x_range or _ends([x for x, _ in every]), _widened(*(y_range or _ends([y for _, y in every])))
    ticks = {r: _tick(ys[1] - r / (height - 1) * (ys[1] - ys[0])) for r in (0, height // 2, height - 1)}
    margin = max(map(len, ticks.values()))
    columns = max(width - margin - 2, 8)
    marks = _MARKS[0 if unicode else 1]
    cells = _drawn(list(shown.values()), columns, height, xs, ys, log_x, marks, _DOTS[0 if unicode else 1])
    bar, corner, dash = ("│", "└", "─") if unicode else ("|", "+", "-")
    lines = [f"{' ' * (margin + 1)}{y_label}".rstrip()] if y_label else []
    lines += [f"{ticks.get(r, ''):>{margin}} {bar}{''.join(line)}".rstrip() for r, line in enumerate(cells)]
    lines += [f"{' ' * margin} {corner}{dash * columns}", " " * (margin + 2) + _below(*xs, x_label, columns)]
    labels = [f"{marks[i % len(marks)]} {name}" for i, name in enumerate(shown) if name]
    return "\n".join([*lines, *_legend(labels, width)])


def _legend(entries: Sequence[str], width: int) -> list[str]:
    """Fill lines of at most `width` characters with the entries."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 2 + len(entry) <= width:
            lines[-1] += f"  {entry}"
        else:
            lines.append(entry)
    return lines


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _drawn(
    series: Sequence[Points],
    columns: int,
    height: int,
    xs: tuple[float, float],
    ys: tuple[float, float],
    log_x: bool,
    marks: str,
    dot: str,
) -> list[list[str]]:
    """Draw all lines, then all marks, so that no line covers a mark."""
    scale = math.log if log_x else float
    left, right = scale(xs[0]), scale(xs[1])
    cells = [[" "] * columns for _ in range(height)]

    def place(x: float, y: float) -> tuple[int, int]:
        c = 0 if right <= left else round((scale(x) - left) / (right - left) * (columns - 1))
        r = round((ys[1] - y) / (ys[1] - ys[0]) * (height - 1))
        return min(max(c, 0), columns - 1), min(max(r, 0), height - 1)

    placed = [[place(x, y) for x, y in points] for points in series]
    for places in placed:
        _join(cells, places, dot)
    for i, places in reversed(list(enumerate(placed))):
        # with many points, a mark on each of them would hide the other lines
        few = places if len(places) <= columns // 2 else places[i :: max(len(places) // 12, 1)]
        for c, r in few:
            cells[r][c] = marks[i % len(marks)]
    return cells


def _join(cells: list[list[str]], places: Sequence[tuple[int, int]], dot: str) -> None:
    """Draw dots from each place to the next."""
    for (c0, r0), (c1, r1) in pairwise(places):
        steps = max(abs(c1 - c0), abs(r1 - r0))
        for step in range(steps + 1):
            t = step / max(steps, 1)
            cells[round(r0 + t * (r1 - r0))][round(c0 + t * (c1 - c0))] = dot


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return limits with low < high, so that a constant series can be drawn."""
    if high > low:
        return low, high
    reach = abs(low) * 0.1 or 1.0
    return low - reach, high + reach


def _below(low: float, high: float, label: str, columns: int) -> str:
    """Return the limits of the x axis, with its label between them if it fits."""
    left, right = number(low), number(high)
    room = columns - len(left) - len(right)
    if room < 1:
        return left
    middle = label if label and len(label) + 2 <= room else ""
    return left + middle.center(room) + right


def _tick(value: float) -> str:
    return number(float(f"{value:.3g}"))


def bar_chart(
    bars: Mapping[str, float], *, width: int = 64, notes: Sequence[str] = (), most: float | None = None,
    unicode: bool = True,
) -> str:  # fmt: skip
    """Draw a horizontal bar for each value.

    Parameters
    ----------
    bars : mapping of str to float
        Values >= 0. NaN has no bar.
    width : int
        Width in characters, including names and notes.
    notes : sequence of str, optional
        Text after each bar. By default, the value.
    most : float, optional
        Value of a bar of full length. By default, the largest value.
    unicode : bool, default=True
        Whether to draw with Unicode characters; plain ASCII otherwise.

    Returns
    -------
    str
        One line for each bar.

    Examples
    --------
    >>> from countwise.working.charts import bar_chart
    >>> print(bar_chart({"north": 4, "east": 1.5}, width=22, unicode=False))
    north ############ 4
    east  ####         1.5
    """
    labels = list(notes) or ["?" if math.isnan(value) else number(value) for value in bars.values()]
    margin = max((len(name) for name in bars), default=0)
    room = max(width - margin - 2 - max(map(len, labels), default=0), 4)
    largest = most if most is not None else max((v for v in bars.values() if math.isfinite(v)), default=0.0)
    lines = []
    for (name, value), note in zip(bars.items(), labels, strict=True):
        length = 0.0 if math.isnan(value) or largest <= 0 else min(max(value / largest, 0.0), 1.0)
        lines.append(f"{name:<{margin}} {_bar(length, room, unicode):<{room}} {note}".rstrip())
    return "\n".join(lines)


def _bar(length: float, room: int, unicode: bool) -> str:
    if not unicode:
        return "#" * round(length * room)
    eighths = round(length * room * 8)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
