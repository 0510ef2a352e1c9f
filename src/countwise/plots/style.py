"""What the pictures have in common: colors, marks, and how wide a text is."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError

__all__ = ["DARK", "INK", "MARK", "PALETTE", "QUIET", "SOFT", "axes", "look", "pyplot", "shades", "shortened",
           "svg_page", "svg_text", "text_width", "wrapped", "xml"]  # fmt: skip

INK, SOFT, MARK = "#1f3a5f", "#b8c4d3", "#c8102e"
DARK, QUIET = "#222222", "#5a5a5a"
PALETTE = (  # told apart by those who do not see all colors
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#882255",
    "#999933",
    "#332288",
    "#777777",
)
MARKS = "os^DvPXp"  # matplotlib's names


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """The axes to draw on, or new ones; without the lines at the top and on the right."""
    ax = pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def pyplot() -> Any:
    """Matplotlib's pyplot, or an error that says how to come by it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError("Pictures need matplotlib.", hint="pip install countwise[plot].") from None
    return plt


def look(code: int) -> tuple[str, str]:
    """The color and the mark of a class; colors come again after ten, with another mark."""
    turns = code // len(PALETTE)
    return PALETTE[code % len(PALETTE)], MARKS[(code + turns) % len(MARKS)]


def shades(codes: Any, sure: Any) -> NDArray[np.uint8]:
    """Red, green and blue of regions: paler where a model is less sure, alike all over without probabilities."""
    solid = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in PALETTE])[codes % len(PALETTE)]
    share = 0.28 if sure is None else 0.07 + 0.37 * np.asarray(sure)[..., None]
    return (255 + share * (solid - 255)).round().astype(np.uint8)


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a plain sans-serif type, in the unit of its size."""
    wide = {**dict.fromkeys("iljtfrI.,:;'|!()[] ", 0.33), **dict.fromkeys("mwMW@%—", 0.9)}
    return size * sum(wide.get(c, 0.68 if c.isupper() or ord(c) > 0x2000 else 0.57) for c in text)


def shortened(text: str, width: float, size: float) -> str:
    """The text, or as much of it as is no wider than `width`."""
    if text_width(text, size) <= width:
        return text
    text = text[: int(width / (0.33 * size)) + 1]  # more of the narrowest letters would not fit
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The text in lines that are no wider than `width`, as far as its words allow."""
    lines: list[str] = []
    if not text:
        return lines
    for word in text.replace(" = ", "\xa0=\xa0").split(" "):  # what is equal stays together
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line.replace("\xa0", " ") for line in lines]


def xml(text: str) -> str:
    """A text with its marks escaped, less the characters that XML does not have."""
    return escape("".join(" " if c < " " or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff" else c for c in text))


def svg_text(
    x: float,
    y: float,
    text: str,
    size: float,
    *,
    anchor: str = "",
    bold: bool = False,
    fill: str = "",
    more: str = "",
) -> str:
    """A text of an SVG; `more` is further attributes."""
    style = f' text-anchor="{anchor}"' * bool(anchor) + ' font-weight="bold"' * bold + f' fill="{fill}"' * bool(fill)
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{style}{more}>{xml(text)}</text>'


def svg_page(width: float, height: float, title: str, body: str, desc: str = "") -> str:
    """A whole SVG on a white ground."""
    wide, high = f"{width:.0f}", f"{height:.0f}"
    more = f"<desc>{xml(desc)}</desc>" if desc else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="Helvetica, Arial, Liberation Sans, sans-serif" fill="{DARK}">'
        f'<title>{xml(title)}</title>{more}<rect width="{wide}" height="{high}" fill="#fff"/>{body}</svg>'
    )
