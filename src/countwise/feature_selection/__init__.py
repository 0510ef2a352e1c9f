"""Feature selection: attribute scores, and filter, wrapper and embedded selectors."""

from __future__ import annotations

from countwise.feature_selection.contingency_table import ContingencyTable, contingency_table
from countwise.feature_selection.embedded import EmbeddedSelector
from countwise.feature_selection.filters import attribute_scores, pmi, threshold_gains
from countwise.feature_selection.pairs import pairwise_scores
from countwise.feature_selection.selectors import FilterSelector
from countwise.feature_selection.wrapper import WrapperSelector

__all__ = [
    "ContingencyTable",
    "EmbeddedSelector",
    "FilterSelector",
    "WrapperSelector",
    "attribute_scores",
    "contingency_table",
    "pairwise_scores",
    "pmi",
    "threshold_gains",
]
