"""The width of a kernel, drawn against what it does to the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError
from countwise.plots.style import INK, MARK, QUIET, axes, bare
from countwise.working.numbers import number

__all__ = ["plot_width"]


def plot_width(density: Any, ax: Any = None) -> Any:
    """The log-likelihood of the training rows and of rows held out, against the width of the kernel.

    The narrower the kernel, the better it fits the rows that it was made from; rows held out fit
    best somewhere between. That width is marked with a ring.

    Parameters
    ----------
    density : estimator
        Fitted, with `bandwidth_curve_` (columns "bandwidth", "train" and "held_out") and `best_bandwidth_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from countwise.plots import plot_width
    >>> curve = {"bandwidth": [0.1, 1.0, 10.0], "train": [-1.0, -2.0, -4.0], "held_out": [-9.0, -2.5, -4.2]}
    >>> ax = plot_width(SimpleNamespace(bandwidth_curve_=curve, best_bandwidth_=1.0))
    >>> ax.get_xscale(), ax.get_xlabel()
    ('log', 'width of the kernel')
    """
    widths, train, held_out = _curve(density)
    best = float(getattr(density, "best_bandwidth_", widths[int(np.argmax(np.nan_to_num(held_out, nan=-np.inf)))]))
    ax = axes(ax)
    low, high = _heights(train, held_out)
    ax.set_xscale("log")
    for values, style, color, name in ((train, "--", QUIET, "training rows"), (held_out, "-", INK, "rows held out")):
        drawn = ~np.isnan(values)
        shown = np.clip(
            values[drawn], low - 9 * (high - low), high + 9 * (high - low)
        )  # infinity is out of the picture
        ax.plot(widths[drawn], shown, style, color=color, linewidth=1.8, label=name)
    peak = _height_at(best, widths, held_out)
    if peak is not None:
        ax.scatter([best], [peak], s=120, facecolors="none", edgecolors=MARK, linewidths=1.8, zorder=3,
                   label="best width")  # fmt: skip
        ax.annotate(f"{best:.3g}", (best, peak), (0, -20), textcoords="offset points", ha="center", color=MARK,
                    fontsize=9)  # fmt: skip
    if widths[-1] < 300 * widths[0]:  # few powers of ten: some numbers between them
        from matplotlib.ticker import LogLocator

        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda value, _: number(value))
    ax.set_ylim(low, high)
    several = len(getattr(density, "widths_", ())) > 1
    ax.set_xlabel("factor on the widths" if several else "width of the kernel")
    ax.set_ylabel("log-likelihood")
    bare(ax)
    ax.legend(frameon=False, fontsize=8)
    return ax


def _curve(density: Any) -> tuple[Floats, Floats, Floats]:
    """The three columns, by width."""
    curve = getattr(density, "bandwidth_curve_", None)
    if curve is None and hasattr(
        density, "bandwidth_curve"
    ):  # its width was given, or by a rule: there is a curve still
        curve = density.bandwidth_curve()
    if curve is None:
        raise OptionError(
            f"This {type(density).__name__} has no curve of widths: its width was given, or it is not fitted.",
            hint='fit it with width="leave_one_out" or width="k_fold".',
        )
    lost = [name for name in ("bandwidth", "train", "held_out") if name not in curve]
    if lost:
        raise TableError(f"The curve of widths has no column {lost[0]!r}.")
    widths, train, held_out = (
        np.asarray(curve[name], dtype=np.float64) for name in ("bandwidth", "train", "held_out")
    )
    if not len(widths) == len(train) == len(held_out) or not len(widths):
        raise TableError("The columns of the curve of widths are empty, or differ in length.")
    if not (widths > 0).all():
        raise TableError(f"A width is above 0; the curve has {number(float(widths.min()))}.")
    order = np.argsort(widths, kind="stable")
    return widths[order], train[order], held_out[order]


def _heights(train: Floats, held_out: Floats) -> tuple[float, float]:
    """What to show: the curves about the best width; the fall at tiny widths leaves the picture below."""
    fine = held_out[np.isfinite(held_out)]
    known = np.concatenate([train[np.isfinite(train)], fine])
    if not len(known):
        return -1.0, 0.0
    top = float(known.max())
    peak = float(fine.max()) if len(fine) else top
    end = float(fine[-1]) if len(fine) else float(known.min())
    reach = max(top - peak, peak - end, 1e-3 * max(1.0, abs(peak)))
    low = max(float(known.min()), peak - 2.0 * reach)
    margin = 0.08 * max(top - low, 1e-9)
    return low - margin, top + 1.6 * margin


def _height_at(best: float, widths: Floats, held_out: Floats) -> float | None:
    """The height of the held-out curve at a width, between two of its points if need be."""
    fine = np.isfinite(held_out)
    return float(np.interp(np.log(best), np.log(widths[fine]), held_out[fine])) if fine.any() else None
