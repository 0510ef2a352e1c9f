"""What the pictures have in common: colors, marks, and how wide a text is."""

from __future__ import annotations

from html import escape
from typing import Any

from countwise.errors import OptionError

__all__ = ["DARK", "INK", "MARK", "MARKS", "PALETTE", "QUIET", "SOFT", "axes", "bare", "columns_for", "look", "mixed",
           "pyplot", "shortened", "strength", "svg_text", "text_width", "wrapped", "xml"]  # fmt: skip

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
    """The axes to draw on; new ones if none are given."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def pyplot() -> Any:
    """Matplotlib's pyplot, or an error that says how to come by it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError("Pictures need matplotlib.", hint="pip install countwise[plot].") from None
    return plt


def bare(ax: Any) -> None:
    """Axes without the lines at the top and on the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def look(code: int) -> tuple[str, str]:
    """The color and the mark of a class; colors come again after ten, with another mark.

    Examples
    --------
    >>> from countwise.plots.style import look
    >>> look(0), look(10)
    (('#0072b2', 'o'), ('#0072b2', 'D'))
    """
    turns = code // len(PALETTE)
    return PALETTE[code % len(PALETTE)], MARKS[(code + turns) % len(MARKS)]


def mixed(color: str, share: float) -> tuple[int, int, int]:
    """A share of a color in white, as red, green and blue.

    Examples
    --------
    >>> from countwise.plots.style import mixed
    >>> mixed("#0072b2", 0.0), mixed("#0072b2", 1.0)
    ((255, 255, 255), (0, 114, 178))
    """
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    red, green, blue = (round(255 + share * (part - 255)) for part in parts)
    return red, green, blue


def strength(sure: Any) -> Any:
    """How much of its color a region has, from how sure a model is of it; the same all over without probabilities."""
    return 0.28 if sure is None else 0.07 + 0.37 * sure


def columns_for(panels: int) -> int:
    """How many panels stand side by side: all of up to four, else rows of three or four.

    Examples
    --------
    >>> from countwise.plots.style import columns_for
    >>> [columns_for(n) for n in (1, 4, 5, 7, 9)]
    [1, 4, 3, 4, 3]
    """
    if panels <= 4:
        return panels
    return 3 if panels in (5, 6, 9) else 4


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a plain sans-serif type, in the unit of its size."""
    wide = {**dict.fromkeys("iljtfrI.,:;'|!()[] ", 0.33), **dict.fromkeys("mwMW@%—", 0.9)}
    return size * sum(wide.get(c, 0.68 if c.isupper() or ord(c) > 0x2000 else 0.57) for c in text)


def shortened(text: str, width: float, size: float) -> str:
    """The text, or as much of it as is no wider than `width`.

    Examples
    --------
    >>> from countwise.plots.style import shortened
    >>> shortened("a discriminant of many words", 80, 12)
    'a discrimina…'
    """
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


def svg_text(x: float, y: float, text: str, size: float, more: str = "") -> str:
    """A text of an SVG; `more` is further attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{more}>{xml(text)}</text>'
