"""Colors, markers and text measurement shared by all plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError
from countwise.working.markup import escape

__all__ = ["DARK", "INK", "MARK", "PALETTE", "QUIET", "SOFT", "axes", "literal", "look", "pyplot", "shades",
           "shortened", "svg_page", "svg_text", "text_width", "wrapped"]  # fmt: skip

INK, SOFT, MARK = "#1f3a5f", "#b8c4d3", "#c8102e"
DARK, QUIET = "#222222", "#5a5a5a"
PALETTE = (  # colors that can be distinguished with color blindness
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
MARKS = "os^DvPXp"  # matplotlib markers


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return the given axes or new ones, without the spines at the top and on the right."""
    ax = pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    if not hasattr(ax, "spines"):
        raise OptionError(f"ax must be matplotlib Axes, not {ax!r}.")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError(
            "This plot needs matplotlib, which is not installed.", hint="install it: pip install countwise[plot]."
        ) from None
    return plt


def literal(ax: Any) -> Any:
    """Show the texts of axes, and of the legend of their figure, as they are: a dollar sign begins no formula."""
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    legends = [legend for legend in (ax.get_legend(), *ax.figure.legends) if legend is not None]
    texts = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts, *ax.figure.texts]
    texts += [text for legend in legends for text in (legend.get_title(), *legend.get_texts())]
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):  # names, not numbers
            texts += axis.get_ticklabels()
    for text in texts:
        text.set_parse_math(False)
    return ax


def look(code: int) -> tuple[str, str]:
    """Return the color and the marker of a class; colors repeat after ten classes, with another marker."""
    turns = code // len(PALETTE)
    return PALETTE[code % len(PALETTE)], MARKS[(code + turns) % len(MARKS)]


def shades(codes: Any, confidence: Any) -> NDArray[np.uint8]:
    """Return the RGB colors of regions: paler where the confidence is lower, uniform without probabilities."""
    solid = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in PALETTE])[codes % len(PALETTE)]
    opacity = 0.28 if confidence is None else 0.07 + 0.37 * np.asarray(confidence)[..., None]
    return (255 + opacity * (solid - 255)).round().astype(np.uint8)


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in a sans-serif font, in the unit of its size."""
    wide = {**dict.fromkeys("iljtfrI.,:;'|!()[] ", 0.33), **dict.fromkeys("mwMW@%—", 0.9)}
    return size * sum(wide.get(c, 0.68 if c.isupper() or ord(c) > 0x2000 else 0.57) for c in text)


def shortened(text: str, width: float, size: float) -> str:
    """Return the text, shortened with an ellipsis if it is wider than `width`."""
    if text_width(text, size) <= width:
        return text
    text = text[: int(width / (0.33 * size)) + 1]  # upper bound: even the narrowest letters would not fit beyond
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Wrap the text at spaces into lines of at most `width`; a longer word keeps its own line."""
    lines: list[str] = []
    if not text:
        return lines
    for word in text.replace(" = ", "\xa0=\xa0").split(" "):  # "name = value" is not broken
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line.replace("\xa0", " ") for line in lines]


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
    """Return an SVG text element; `more` contains further attributes."""
    style = f' text-anchor="{anchor}"' * bool(anchor) + ' font-weight="bold"' * bold + f' fill="{fill}"' * bool(fill)
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{style}{more}>{escape(text)}</text>'


def svg_page(width: float, height: float, title: str, body: str, desc: str = "") -> str:
    """Return a complete SVG with a white background."""
    wide, high = f"{width:.0f}", f"{height:.0f}"
    more = f"<desc>{escape(desc)}</desc>" if desc else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="Helvetica, Arial, Liberation Sans, sans-serif" fill="{DARK}">'
        f'<title>{escape(title)}</title>{more}<rect width="{wide}" height="{high}" fill="#fff"/>{body}</svg>'
    )
