"""Pictures: for those who have matplotlib, and some for those who have not."""

from __future__ import annotations

from countwise.plots.boundaries import compare_boundaries
from countwise.plots.displays_curves import LearningCurveDisplay, SettingCurveDisplay
from countwise.plots.displays_scores import CalibrationDisplay, PrecisionRecallDisplay, ROCDisplay
from countwise.plots.displays_tables import ConfusionDisplay, DensityDisplay
from countwise.plots.network import draw_network
from countwise.plots.search import plot_search
from countwise.plots.tree import draw_tree
from countwise.plots.widths import plot_width

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "DensityDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "ROCDisplay",
    "SettingCurveDisplay",
    "compare_boundaries",
    "draw_network",
    "draw_tree",
    "plot_search",
    "plot_width",
]
