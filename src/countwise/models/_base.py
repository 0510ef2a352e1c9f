"""What every classifier learned by counting has in common.

A new model writes `_kinds`, `_parts`, `_settle` and `_add_terms`; learning and predicting are there.
"""

from __future__ import annotations

from countwise.learning import Tallying
from countwise.models._predicting import Predicting

__all__ = ["TallyClassifier"]


class TallyClassifier(Tallying, Predicting):
    """A classifier whose learned state is its tallies."""
