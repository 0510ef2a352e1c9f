"""Decision regions drawn with matplotlib."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError
from countwise.plots.regions import Panel, Scene
from countwise.plots.style import DARK, QUIET, literal, look, pyplot, shades, shortened, wrapped

__all__ = ["draw"]

_SMALL = 8


def draw(scene: Scene, ax: Any) -> NDArray[Any]:
    """Draw a scene on the given axes, one for each panel, or on a new figure; return the axes."""
    places = _figure(scene) if ax is None else _given(ax, len(scene.panels))
    for i, (place, panel) in enumerate(zip(places, scene.panels, strict=True)):
        _draw_panel(place, panel, scene)
        if ax is None:  # only the lowest and the leftmost panels have axis labels
            lowest = i + scene.columns >= len(places)
            place.set_xlabel(scene.data.pair[0] * lowest)
            place.tick_params(labelbottom=lowest)
            place.set_ylabel(scene.data.pair[1] * (i % scene.columns == 0))
    if ax is None:
        _around_figure(places[0].figure, scene)
    else:
        _around_axes(places, scene)
    for place in places:
        literal(place)
    return places


def _figure(scene: Scene) -> NDArray[Any]:
    panels, columns = len(scene.panels), scene.columns
    rows = -(-panels // columns)
    size = (4.9, 4.4) if panels == 1 else (0.6 + (3.9 if columns == 2 else 3.3) * columns, 0.6 + 3.5 * rows)
    figure, grid = pyplot().subplots(
        rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    for place in grid.ravel()[panels:]:
        place.remove()
    return np.asarray(grid.ravel()[:panels])


def _given(ax: Any, panels: int) -> NDArray[Any]:
    places = np.asarray(ax, dtype=object).ravel()
    for place in places:
        if not hasattr(place, "imshow"):
            raise OptionError(f"ax must be matplotlib Axes, not {place!r}.")
    if len(places) != panels:
        raise OptionError(f"There are {panels} models and {len(places)} axes; each model needs its own axes.")
    return places


def _draw_panel(ax: Any, panel: Panel, scene: Scene) -> None:
    from matplotlib.collections import LineCollection

    limits = scene.data.limits
    ax.imshow(shades(panel.codes, panel.confidence), extent=limits.ravel(), origin="lower", aspect="auto",
              interpolation="nearest")  # fmt: skip
    lines = LineCollection(list(panel.lines), colors=DARK, linewidths=0.9, capstyle="round", label="boundary")
    ax.add_collection(lines, autolim=False)
    small = len(scene.shown) > 300
    for code in range(len(scene.classes)):
        rows = scene.shown[scene.codes[scene.shown] == code]
        if len(rows):
            color, mark = look(code)
            ax.scatter(*scene.data.xy[rows].T, s=12 if small else 26, c=color, marker=mark, edgecolors="white",
                       linewidths=0.5, label=str(scene.classes[code]), zorder=3)  # fmt: skip
    rows = scene.shown[panel.wrong[scene.shown]]
    if len(rows):
        ax.scatter(*scene.data.xy[rows].T, s=36 if small else 80, facecolors="none", edgecolors=DARK,
                   linewidths=0.8 if small else 1.1, alpha=1.0 if len(rows) <= 100 else 0.6, zorder=4,
                   label="misclassified")  # fmt: skip
    x, y = scene.data.pair
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=x, ylabel=y)
    ax.tick_params(labelsize=_SMALL, color=QUIET)
    for spine in ax.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
    wide = 72 * ax.get_position().width * ax.figure.get_size_inches()[0]
    ax.set_title(shortened(panel.title, wide, 10.5), loc="left", fontsize=10.5, fontweight="bold", pad=19)
    ax.annotate(panel.subtitle, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=_SMALL,
                color=QUIET)  # fmt: skip


def _handles(scene: Scene) -> list[Any]:
    from matplotlib.lines import Line2D

    dot = partial(Line2D, [], [], linestyle="none")
    handles = [
        dot(marker=look(code)[1], color=look(code)[0], markeredgecolor="white", markeredgewidth=0.5, markersize=6.5,
            label=str(value))
        for code, value in enumerate(scene.classes)
    ]  # fmt: skip
    if any(panel.wrong[scene.shown].any() for panel in scene.panels):
        handles.append(
            dot(marker="o", markerfacecolor="none", markeredgecolor=DARK, markersize=9, label="misclassified")
        )
    return handles


def _around_figure(figure: Any, scene: Scene) -> None:
    """Add a legend above and a caption below the panels of a new figure."""
    handles = _handles(scene)
    points = 72 * figure.get_size_inches()[0]
    widest = max(len(handle.get_label()) for handle in handles) + 4
    across = max(1, min(len(handles), int(points / 5 / widest)))
    figure.legend(handles=handles, loc="outside upper left", ncols=across, frameon=False,
                  fontsize=9, handletextpad=0.2, columnspacing=1.4, title=scene.data.target,
                  title_fontsize=9, alignment="left")  # fmt: skip
    if scene.caption:
        text = "\n".join(wrapped(scene.caption, points - 20, _SMALL))
        figure.supxlabel(text, x=0.012, ha="left", fontsize=_SMALL, color=QUIET)


def _around_axes(places: NDArray[Any], scene: Scene) -> None:
    """Add a legend and a caption within axes passed by the user."""
    places[-1].legend(handles=_handles(scene), fontsize=_SMALL, title=scene.data.target, title_fontsize=_SMALL)
    if scene.caption:
        first = places[0]
        wide = 72 * first.get_position().width * first.figure.get_size_inches()[0]
        first.annotate("\n".join(wrapped(scene.caption, wide, _SMALL - 1)), (0, 0), (0, -36), va="top", color=QUIET,
                       xycoords="axes fraction", textcoords="offset points", fontsize=_SMALL - 1)  # fmt: skip
