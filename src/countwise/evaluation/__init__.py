"""Cross-validation, leave-one-out, learning and validation curves, comparison of learners, cost-based decisions."""

from __future__ import annotations

from countwise.base.predictions import Predictions
from countwise.evaluation.compare import compare
from countwise.evaluation.comparison import Comparison
from countwise.evaluation.costs import cost_threshold, decide
from countwise.evaluation.cross_validation import cross_validate, leave_one_out
from countwise.evaluation.learning_curve import LearningCurve, learning_curve
from countwise.evaluation.missing_values import MissingValues, missing_values
from countwise.evaluation.validation import PairedTest, Validation, paired_test
from countwise.evaluation.validation_curve import ValidationCurve, validation_curve

__all__ = [
    "Comparison",
    "LearningCurve",
    "MissingValues",
    "PairedTest",
    "Predictions",
    "Validation",
    "ValidationCurve",
    "compare",
    "cost_threshold",
    "cross_validate",
    "decide",
    "learning_curve",
    "leave_one_out",
    "missing_values",
    "paired_test",
    "validation_curve",
]
