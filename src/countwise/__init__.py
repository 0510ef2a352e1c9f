"""Countwise: machine learning by counting, for tables as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countwise import samples
    from countwise.attributes import Count, Nominal, Numeric, Ordinal
    from countwise.bags import Text
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
    from countwise.conditionals import (
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
    from countwise.distances.metric import Metric, distance_matrix
    from countwise.errors import AdaptationFailed, CountwiseError, CountwiseWarning
    from countwise.evaluation.comparing import compare
    from countwise.evaluation.comparison import Comparison
    from countwise.evaluation.deciding import cost_threshold, decide
    from countwise.evaluation.folding import cross_validate, leave_one_out
    from countwise.evaluation.learning_curves import LearningCurve, learning_curve
    from countwise.evaluation.pairing import Paired, paired
    from countwise.evaluation.sweeping import SettingCurve, k_curve, width_curve
    from countwise.evaluation.validation import Validation
    from countwise.modelfile import load, save
    from countwise.models.estimators import NaiveBayesClassifier
    from countwise.models.logistic import LogisticForm
    from countwise.models.neighbor_estimators import (
        InstanceSelector,
        NeighborsClassifier,
        NeighborsRegressor,
        PEBLSClassifier,
        RoteClassifier,
    )
    from countwise.models.network_estimators import BayesNetwork, NetworkClassifier
    from countwise.models.row_estimators import (
        DiscriminantClassifier,
        ParzenClassifier,
        ParzenDensity,
        PrototypeClassifier,
    )
    from countwise.models.tree_estimators import RuleClassifier, TreeClassifier, TreeRegressor
    from countwise.schema import Schema
    from countwise.selection.embedded import EmbeddedSelector
    from countwise.selection.filters import pmi, scores
    from countwise.selection.pairs import pairwise
    from countwise.selection.selectors import FilterSelector
    from countwise.selection.wrapper import WrapperSelector
    from countwise.sources.readers import read
    from countwise.tallies import Counts, Moments, Rows, Scatter, Values
    from countwise.transformers import Discretizer, NumericEncoder
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
    "countwise.attributes": ("Count", "Nominal", "Numeric", "Ordinal"),
    "countwise.bags": ("Text",),
    "countwise.cases": (
        "Case", "CaseBase", "EqualSimilarity", "GraphSimilarity", "LabeledGraph", "NumberSimilarity",
        "RecordSimilarity", "SetSimilarity", "StringSimilarity", "TableSimilarity", "TaxonomySimilarity",
    ),
    "countwise.conditionals": (
        "Auto", "Bernoulli", "Categorical", "Gaussian", "Kernel", "MEstimate", "Multinomial", "Poisson", "Ranges",
    ),
    "countwise.distances.metric": ("Metric", "distance_matrix"),
    "countwise.errors": ("AdaptationFailed", "CountwiseError", "CountwiseWarning"),
    "countwise.evaluation.comparing": ("compare",),
    "countwise.evaluation.comparison": ("Comparison",),
    "countwise.evaluation.deciding": ("cost_threshold", "decide"),
    "countwise.evaluation.learning_curves": ("LearningCurve", "learning_curve"),
    "countwise.evaluation.sweeping": ("SettingCurve", "k_curve", "width_curve"),
    "countwise.evaluation.folding": ("cross_validate", "leave_one_out"),
    "countwise.evaluation.pairing": ("Paired", "paired"),
    "countwise.evaluation.validation": ("Validation",),
    "countwise.modelfile": ("load", "save"),
    "countwise.models.estimators": ("NaiveBayesClassifier",),
    "countwise.models.logistic": ("LogisticForm",),
    "countwise.models.network_estimators": ("BayesNetwork", "NetworkClassifier"),
    "countwise.network.families": ("Dirichlet",),
    "countwise.models.neighbor_estimators": (
        "InstanceSelector", "NeighborsClassifier", "NeighborsRegressor", "PEBLSClassifier", "RoteClassifier",
    ),
    "countwise.models.row_estimators": (
        "DiscriminantClassifier", "ParzenClassifier", "ParzenDensity", "PrototypeClassifier",
    ),
    "countwise.models.tree_estimators": ("RuleClassifier", "TreeClassifier", "TreeRegressor"),
    "countwise.schema": ("Schema",),
    "countwise.selection.embedded": ("EmbeddedSelector",),
    "countwise.selection.filters": ("pmi", "scores"),
    "countwise.selection.pairs": ("pairwise",),
    "countwise.selection.selectors": ("FilterSelector",),
    "countwise.selection.wrapper": ("WrapperSelector",),
    "countwise.sources.readers": ("read",),
    "countwise.tallies": ("Counts", "Moments", "Rows", "Scatter", "Values"),
    "countwise.transformers": ("Discretizer", "NumericEncoder"),
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
