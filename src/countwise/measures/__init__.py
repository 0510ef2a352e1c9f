"""Measures, each written once.

A table of counts has a row for each value of the attribute and a column for each class; several
tables of one shape can be stacked. Information is in bits, 0 log 0 is 0.
"""

from __future__ import annotations

from countwise.measures.counts import (
    chance_information,
    chi_square,
    entropy,
    expected_information,
    gain_ratio,
    gini,
    gini_gain,
    mutual_information,
    mvdm,
    pmi,
    pooled_rare,
    symmetrical_uncertainty,
)
from countwise.measures.numbers import gaussian_information, information_of_values, sd_reduction, variance_reduction

__all__ = [
    "chance_information",
    "chi_square",
    "entropy",
    "expected_information",
    "gain_ratio",
    "gaussian_information",
    "gini",
    "gini_gain",
    "information_of_values",
    "mutual_information",
    "mvdm",
    "pmi",
    "pooled_rare",
    "sd_reduction",
    "symmetrical_uncertainty",
    "variance_reduction",
]
