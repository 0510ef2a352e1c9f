"""Plots: displays based on matplotlib, and drawings of trees, networks and decision regions as SVG."""

from __future__ import annotations

from countwise.plots.displays_curves import (
    LearningCurveDisplay,
    ValidationCurveDisplay,
    plot_bandwidth,
    plot_search,
    plot_threshold_gains,
)
from countwise.plots.displays_scores import CalibrationDisplay, PrecisionRecallDisplay, ROCDisplay
from countwise.plots.displays_tables import ConfusionDisplay, DensityDisplay, HistogramDisplay
from countwise.plots.network import draw_network
from countwise.plots.regions import compare_boundaries
from countwise.plots.regions_mpl import BoundaryDisplay, ContourDisplay
from countwise.plots.tree import draw_tree

__all__ = [
    "BoundaryDisplay",
    "CalibrationDisplay",
    "ConfusionDisplay",
    "ContourDisplay",
    "DensityDisplay",
    "HistogramDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "ROCDisplay",
    "ValidationCurveDisplay",
    "compare_boundaries",
    "draw_network",
    "draw_tree",
    "plot_bandwidth",
    "plot_search",
    "plot_threshold_gains",
]
