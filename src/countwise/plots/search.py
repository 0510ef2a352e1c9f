"""A search for attributes, drawn."""

from __future__ import annotations

from typing import Any

from countwise.plots.style import INK, MARK, SOFT, axes, bare

__all__ = ["plot_search"]


def plot_search(search: Any, ax: Any = None) -> Any:
    """The score of a `WrapperSelector` against the number of attributes.

    Each subset that was scored is a dot; the line is the path taken (for an exhaustive search the
    best of each size), and the ring is the choice.

    Parameters
    ----------
    search : WrapperSelector
        Fitted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    sizes = [len(subset) for subset in search.scores_]
    ax.scatter(sizes, list(search.scores_.values()), s=12, color=SOFT, label="subsets scored", zorder=1)
    path = search.path_
    ax.plot(
        path["attributes"],
        path["score"],
        "o-",
        color=INK,
        markersize=4,
        label="best of each size" if search.direction == "exhaustive" else "path taken",
        zorder=2,
    )
    chosen = int(search.support_.sum())
    ring = {"facecolors": "none", "edgecolors": MARK, "linewidths": 1.8}
    ax.scatter([chosen], [search.score_], s=120, label=f"chosen: {chosen}", zorder=3, **ring)
    names = search.get_feature_names_out().tolist()
    if len(names) <= 4:
        ax.annotate(", ".join(names), (chosen, search.score_), (0, 10), textcoords="offset points", ha="center",
                    color=MARK, fontsize=9)  # fmt: skip
    ax.margins(x=0.08, y=0.15)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("number of attributes")
    scoring = search.scoring if isinstance(search.scoring, str) else "score"
    ax.set_ylabel(f"cross-validated {scoring.replace('_', ' ')}")
    backwards = " (from right to left)" if search.direction == "backward" else ""
    ax.set_title(f"{search.direction} search{backwards}", loc="left", fontsize=10)
    bare(ax)
    ax.legend(frameon=False, fontsize=8)
    return ax
