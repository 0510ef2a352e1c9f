"""Boxes and arrows as a TikZ picture: trees and networks in LaTeX documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from countwise.working.latex import LETTER, escaped

__all__ = ["AT", "LETTER", "Arrow", "Box", "picture", "scale_of"]

AT = 0.7  # place of a label on its line, nearer to the end: labels of neighboring lines do not touch
_LINE = 0.6  # height of a line of text in a box, in cm
_HIGH = 0.6  # height of a frame, as a share of its width


@dataclass(frozen=True, slots=True)
class Box:
    """Rectangle with lines of text, centered at a point in cm; y grows upwards."""

    x: float
    y: float
    lines: tuple[str, ...]
    wide: float  # in cm
    round: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """Line between two boxes, through points, with a label near its end."""

    start: int
    end: int
    label: str = ""
    points: tuple[tuple[float, float], ...] = ()
    head: bool = False


def picture(boxes: Sequence[Box], arrows: Sequence[Arrow], width: int | None = None) -> str:
    r"""Return a ``tikzpicture``, scaled down to a frame with lines of `width` characters; the document loads tikz.

    Examples
    --------
    >>> from countwise.working.tikz import Arrow, Box, picture
    >>> print(picture([Box(0, 0, ("rain",), 1.2), Box(0, -1.5, ("grass",), 1.4)], [Arrow(0, 1, head=True)]))
    \begin{tikzpicture}[x=1cm, y=1cm, every node/.style={font=\small, align=center}]
      \node[draw, minimum width=1.2cm] (n0) at (0,0) {rain};
      \node[draw, minimum width=1.4cm] (n1) at (0,-1.5) {grass};
      \draw[->] (n0) -- (n1);
    \end{tikzpicture}
    """
    lines = [r"\begin{tikzpicture}[x=1cm, y=1cm, every node/.style={font=\small, align=center}]"]
    for i, box in enumerate(boxes):
        style = f"draw{', rounded corners=4pt' if box.round else ''}, minimum width={_cm(box.wide)}cm"
        text = r" \\ ".join(map(escaped, box.lines))
        lines.append(rf"  \node[{style}] (n{i}) at ({_cm(box.x)},{_cm(box.y)}) {{{text}}};")
    for arrow in arrows:
        style = f"[{'->' if arrow.head else '-'}{', rounded corners=6pt' if arrow.points else ''}]"
        through = "".join(f" -- ({_cm(x)},{_cm(y)})" for x, y in arrow.points)
        label = rf" node[pos={AT}, fill=white, inner sep=1pt] {{{escaped(arrow.label)}}}" if arrow.label else ""
        lines.append(rf"  \draw{style} (n{arrow.start}){through} --{label} (n{arrow.end});")
    lines.append(r"\end{tikzpicture}")
    text = "\n".join(lines)
    scale = 1.0 if width is None else scale_of(boxes, width)
    return text if scale == 1 else f"\\scalebox{{{scale:.2f}}}{{%\n{text}%\n}}"


def scale_of(boxes: Sequence[Box], width: int) -> float:
    """Return the factor, at most 1, that makes a picture fit into a frame with lines of `width` characters.

    Examples
    --------
    >>> from countwise.working.tikz import Box, scale_of
    >>> round(scale_of([Box(0, 0, ("rain",), 1), Box(18, 0, ("grass",), 2)], 56), 2)
    0.55
    """
    left = min((box.x - box.wide / 2 for box in boxes), default=0.0)
    right = max((box.x + box.wide / 2 for box in boxes), default=0.0)
    below = min((box.y - _LINE * len(box.lines) / 2 for box in boxes), default=0.0)
    above = max((box.y + _LINE * len(box.lines) / 2 for box in boxes), default=0.0)
    line = width * LETTER
    return min(1.0, line / max(right - left, 1e-9), _HIGH * line / max(above - below, 1e-9))


def _cm(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"
