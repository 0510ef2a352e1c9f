"""Feature selection: attribute scores, and filter, wrapper and embedded selectors."""

from __future__ import annotations

from countwise.feature_selection.embedded import EmbeddedSelector
from countwise.feature_selection.filters import attribute_scores, pmi
from countwise.feature_selection.pairs import pairwise_scores
from countwise.feature_selection.selectors import FilterSelector
from countwise.feature_selection.wrapper import WrapperSelector

__all__ = ["EmbeddedSelector", "FilterSelector", "WrapperSelector", "attribute_scores", "pairwise_scores", "pmi"]
