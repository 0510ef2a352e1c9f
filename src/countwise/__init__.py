"""Countwise: machine learning by counting, for tables as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countwise import samples
    from countwise.base.logistic import LogisticForm
    from countwise.cases import (
        Case,
        CaseBase,
        EqualSimilarity,
        GraphSimilarity,
        LabeledGraph,
        NumberSimilarity,
        RecordSimilarity,
        SetSimilarity,
        StringSimilarity,
        TableSimilarity,
        TaxonomySimilarity,
    )
    from countwise.data.attributes import Count, Nominal, Numeric, Ordinal
    from countwise.data.schema import Schema
    from countwise.data.text import Text
    from countwise.distributions import (
        Auto,
        Bernoulli,
        Categorical,
        Gaussian,
        Kernel,
        MEstimate,
        Multinomial,
        Poisson,
        Ranges,
    )
    from countwise.errors import AdaptationFailed, CountwiseError, CountwiseWarning
    from countwise.evaluation.compare import compare
    from countwise.evaluation.comparison import Comparison
    from countwise.evaluation.costs import cost_threshold, decide
    from countwise.evaluation.cross_validation import cross_validate, leave_one_out
    from countwise.evaluation.learning_curve import LearningCurve, learning_curve
    from countwise.evaluation.pairing import Paired, paired
    from countwise.evaluation.setting_curves import SettingCurve, k_curve, width_curve
    from countwise.evaluation.validation import Validation
    from countwise.feature_selection.embedded import EmbeddedSelector
    from countwise.feature_selection.filters import pmi, scores
    from countwise.feature_selection.pairs import pairwise
    from countwise.feature_selection.selectors import FilterSelector
    from countwise.feature_selection.wrapper import WrapperSelector
    from countwise.io.readers import read
    from countwise.modelfile import load, save
    from countwise.naive_bayes.estimators import NaiveBayesClassifier
    from countwise.neighbors.estimators import (
        InstanceSelector,
        NeighborsClassifier,
        NeighborsRegressor,
        PEBLSClassifier,
        RoteClassifier,
    )
    from countwise.neighbors.metric import Metric, distance_matrix
    from countwise.neighbors.row_estimators import (
        DiscriminantClassifier,
        ParzenClassifier,
        ParzenDensity,
        PrototypeClassifier,
    )
    from countwise.network.estimators import BayesNetwork, NetworkClassifier
    from countwise.preprocessing.transformers import Discretizer, NumericEncoder
    from countwise.tallies import Counts, Moments, Rows, Scatter, Values
    from countwise.tree.estimators import RuleClassifier, TreeClassifier, TreeRegressor
    from countwise.working import Working

__version__ = "0.1.0"

__all__ = [
    "AdaptationFailed",
    "Auto",
    "BayesNetwork",
    "Bernoulli",
    "Case",
    "CaseBase",
    "Categorical",
    "Comparison",
    "Count",
    "Counts",
    "CountwiseError",
    "CountwiseWarning",
    "Dirichlet",
    "Discretizer",
    "DiscriminantClassifier",
    "EmbeddedSelector",
    "EqualSimilarity",
    "FilterSelector",
    "Gaussian",
    "GraphSimilarity",
    "InstanceSelector",
    "Kernel",
    "LabeledGraph",
    "LearningCurve",
    "LogisticForm",
    "MEstimate",
    "Metric",
    "Moments",
    "Multinomial",
    "NaiveBayesClassifier",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "NetworkClassifier",
    "Nominal",
    "NumberSimilarity",
    "Numeric",
    "NumericEncoder",
    "Ordinal",
    "PEBLSClassifier",
    "Paired",
    "ParzenClassifier",
    "ParzenDensity",
    "Poisson",
    "PrototypeClassifier",
    "Ranges",
    "RecordSimilarity",
    "RoteClassifier",
    "Rows",
    "RuleClassifier",
    "Scatter",
    "Schema",
    "SetSimilarity",
    "SettingCurve",
    "StringSimilarity",
    "TableSimilarity",
    "TaxonomySimilarity",
    "Text",
    "TreeClassifier",
    "TreeRegressor",
    "Validation",
    "Values",
    "Working",
    "WrapperSelector",
    "__version__",
    "compare",
    "cost_threshold",
    "cross_validate",
    "decide",
    "distance_matrix",
    "k_curve",
    "learning_curve",
    "leave_one_out",
    "load",
    "paired",
    "pairwise",
    "pmi",
    "read",
    "samples",
    "save",
    "scores",
    "width_curve",
]

# Names are imported when they are first asked for, so that the command line starts without scikit-learn.
_HOMES = {
    "countwise.data.attributes": ("Count", "Nominal", "Numeric", "Ordinal"),
    "countwise.data.text": ("Text",),
    "countwise.cases": (
        "Case", "CaseBase", "EqualSimilarity", "GraphSimilarity", "LabeledGraph", "NumberSimilarity",
        "RecordSimilarity", "SetSimilarity", "StringSimilarity", "TableSimilarity", "TaxonomySimilarity",
    ),
    "countwise.distributions": (
        "Auto", "Bernoulli", "Categorical", "Gaussian", "Kernel", "MEstimate", "Multinomial", "Poisson", "Ranges",
    ),
    "countwise.neighbors.metric": ("Metric", "distance_matrix"),
    "countwise.errors": ("AdaptationFailed", "CountwiseError", "CountwiseWarning"),
    "countwise.evaluation.compare": ("compare",),
    "countwise.evaluation.comparison": ("Comparison",),
    "countwise.evaluation.costs": ("cost_threshold", "decide"),
    "countwise.evaluation.learning_curve": ("LearningCurve", "learning_curve"),
    "countwise.evaluation.setting_curves": ("SettingCurve", "k_curve", "width_curve"),
    "countwise.evaluation.cross_validation": ("cross_validate", "leave_one_out"),
    "countwise.evaluation.pairing": ("Paired", "paired"),
    "countwise.evaluation.validation": ("Validation",),
    "countwise.modelfile": ("load", "save"),
    "countwise.naive_bayes.estimators": ("NaiveBayesClassifier",),
    "countwise.base.logistic": ("LogisticForm",),
    "countwise.network.estimators": ("BayesNetwork", "NetworkClassifier"),
    "countwise.network.families": ("Dirichlet",),
    "countwise.neighbors.estimators": (
        "InstanceSelector", "NeighborsClassifier", "NeighborsRegressor", "PEBLSClassifier", "RoteClassifier",
    ),
    "countwise.neighbors.row_estimators": (
        "DiscriminantClassifier", "ParzenClassifier", "ParzenDensity", "PrototypeClassifier",
    ),
    "countwise.tree.estimators": ("RuleClassifier", "TreeClassifier", "TreeRegressor"),
    "countwise.data.schema": ("Schema",),
    "countwise.feature_selection.embedded": ("EmbeddedSelector",),
    "countwise.feature_selection.filters": ("pmi", "scores"),
    "countwise.feature_selection.pairs": ("pairwise",),
    "countwise.feature_selection.selectors": ("FilterSelector",),
    "countwise.feature_selection.wrapper": ("WrapperSelector",),
    "countwise.io.readers": ("read",),
    "countwise.tallies": ("Counts", "Moments", "Rows", "Scatter", "Values"),
    "countwise.preprocessing.transformers": ("Discretizer", "NumericEncoder"),
    "countwise.working": ("Working",),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "samples":
        return importlib.import_module("countwise.samples")
    if name not in _HOME:
        raise AttributeError(f"module 'countwise' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
