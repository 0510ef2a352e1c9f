"""Countwise: machine learning by counting, for tables as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countwise.registry import PUBLIC

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
    from countwise.discriminant.model import DiscriminantClassifier
    from countwise.distributions import (
        Auto,
        Bernoulli,
        Binned,
        Categorical,
        Gaussian,
        Kernel,
        MEstimate,
        Multinomial,
        Poisson,
    )
    from countwise.errors import AdaptationFailed, CountwiseError, CountwiseWarning
    from countwise.evaluation.compare import compare
    from countwise.evaluation.comparison import Comparison
    from countwise.evaluation.costs import cost_threshold, decide
    from countwise.evaluation.cross_validation import cross_validate, leave_one_out
    from countwise.evaluation.learning_curve import LearningCurve, learning_curve
    from countwise.evaluation.pairing import PairedTest, paired_test
    from countwise.evaluation.validation import Validation
    from countwise.evaluation.validation_curve import ValidationCurve, validation_curve
    from countwise.feature_selection.embedded import EmbeddedSelector
    from countwise.feature_selection.filters import attribute_scores, pmi
    from countwise.feature_selection.pairs import pairwise_scores
    from countwise.feature_selection.selectors import FilterSelector
    from countwise.feature_selection.wrapper import WrapperSelector
    from countwise.io.readers import read
    from countwise.modelfile import load, save
    from countwise.naive_bayes.model import NaiveBayesClassifier
    from countwise.neighbors.instance_selection import InstanceSelector
    from countwise.neighbors.knn import NeighborsClassifier, NeighborsRegressor
    from countwise.neighbors.metric import DistanceMetric, distance_matrix
    from countwise.neighbors.pebls import PEBLSClassifier
    from countwise.neighbors.prototype import PrototypeClassifier
    from countwise.neighbors.rote import RoteClassifier
    from countwise.network.classifier import BayesNetworkClassifier
    from countwise.network.families import Dirichlet
    from countwise.network.model import BayesNetwork
    from countwise.parzen.model import ParzenClassifier, ParzenDensity
    from countwise.preprocessing.discretizer import Discretizer
    from countwise.preprocessing.encoder import CategoricalEncoder
    from countwise.tallies import Counts, Moments, Rows, Scatter, Values
    from countwise.tree.model import TreeClassifier, TreeRegressor
    from countwise.tree.rule_list import RuleClassifier
    from countwise.working import Working

__version__ = "0.1.0"

__all__ = [
    "AdaptationFailed",
    "Auto",
    "BayesNetwork",
    "BayesNetworkClassifier",
    "Bernoulli",
    "Binned",
    "Case",
    "CaseBase",
    "Categorical",
    "CategoricalEncoder",
    "Comparison",
    "Count",
    "Counts",
    "CountwiseError",
    "CountwiseWarning",
    "Dirichlet",
    "Discretizer",
    "DiscriminantClassifier",
    "DistanceMetric",
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
    "Moments",
    "Multinomial",
    "NaiveBayesClassifier",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "Nominal",
    "NumberSimilarity",
    "Numeric",
    "Ordinal",
    "PEBLSClassifier",
    "PairedTest",
    "ParzenClassifier",
    "ParzenDensity",
    "Poisson",
    "PrototypeClassifier",
    "RecordSimilarity",
    "RoteClassifier",
    "Rows",
    "RuleClassifier",
    "Scatter",
    "Schema",
    "SetSimilarity",
    "StringSimilarity",
    "TableSimilarity",
    "TaxonomySimilarity",
    "Text",
    "TreeClassifier",
    "TreeRegressor",
    "Validation",
    "ValidationCurve",
    "Values",
    "Working",
    "WrapperSelector",
    "__version__",
    "attribute_scores",
    "compare",
    "cost_threshold",
    "cross_validate",
    "decide",
    "distance_matrix",
    "learning_curve",
    "leave_one_out",
    "load",
    "paired_test",
    "pairwise_scores",
    "pmi",
    "read",
    "samples",
    "save",
    "validation_curve",
]

_MODULE = {name: module for module, names in PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts at once."""
    import importlib

    if name == "samples":
        return importlib.import_module("countwise.samples")
    if name not in _MODULE:
        raise AttributeError(f"module 'countwise' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
