"""Measures of contingency tables, numeric attributes and rankings, and their formulas."""

from __future__ import annotations

from countwise.measures.formulas import (
    entropy_formula,
    gain_formula,
    gain_ratio_formula,
    gini_formula,
    sd_reduction_formula,
)
from countwise.measures.rankings import area, average_precision, by_range, precision_recall_points, roc_points
from countwise.measures.tables import (
    chance_information,
    chi_square,
    chi_square_tail,
    entropy,
    expected_information,
    gain_ratio,
    gaussian_information,
    gini,
    gini_gain,
    information_of_values,
    mutual_information,
    mvdm,
    pmi,
    pooled_rare,
    sd_reduction,
    symmetrical_uncertainty,
    variance_reduction,
)

__all__ = [
    "area",
    "average_precision",
    "by_range",
    "chance_information",
    "chi_square",
    "chi_square_tail",
    "entropy",
    "entropy_formula",
    "expected_information",
    "gain_formula",
    "gain_ratio",
    "gain_ratio_formula",
    "gaussian_information",
    "gini",
    "gini_formula",
    "gini_gain",
    "information_of_values",
    "mutual_information",
    "mvdm",
    "pmi",
    "pooled_rare",
    "precision_recall_points",
    "roc_points",
    "sd_reduction",
    "sd_reduction_formula",
    "symmetrical_uncertainty",
    "variance_reduction",
]
