"""Countwise: explainable machine learning for tables with mixed columns and missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countwise.registry import NAMESPACES, PUBLIC

if TYPE_CHECKING:
    from countwise import samples
    from countwise.cases import CaseBase
    from countwise.data.attributes import Count, Date, Nominal, Numeric, Ordinal
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
    from countwise.evaluation.compare import compare
    from countwise.evaluation.cross_validation import cross_validate, leave_one_out
    from countwise.evaluation.learning_curve import learning_curve
    from countwise.evaluation.validation_curve import validation_curve
    from countwise.feature_selection.embedded import EmbeddedSelector
    from countwise.feature_selection.selectors import FilterSelector
    from countwise.feature_selection.wrapper import WrapperSelector
    from countwise.io.readers import read
    from countwise.modelfile import load, save
    from countwise.naive_bayes.model import NaiveBayesClassifier
    from countwise.neighbors.instance_selection import InstanceSelector
    from countwise.neighbors.knn import NeighborsClassifier, NeighborsRegressor
    from countwise.neighbors.pebls import PEBLSClassifier
    from countwise.neighbors.prototype import PrototypeClassifier
    from countwise.neighbors.rote import RoteClassifier
    from countwise.network.classifier import BayesNetworkClassifier
    from countwise.network.model import BayesNetwork
    from countwise.parzen.model import ParzenClassifier, ParzenDensity
    from countwise.preprocessing.discretizer import Discretizer
    from countwise.preprocessing.encoder import CategoricalEncoder
    from countwise.tree.model import TreeClassifier, TreeRegressor
    from countwise.tree.rule_list import RuleClassifier

__version__ = "0.1.0"

__all__ = [
    "Auto",
    "BayesNetwork",
    "BayesNetworkClassifier",
    "Bernoulli",
    "Binned",
    "CaseBase",
    "Categorical",
    "CategoricalEncoder",
    "Count",
    "Date",
    "Discretizer",
    "DiscriminantClassifier",
    "EmbeddedSelector",
    "FilterSelector",
    "Gaussian",
    "InstanceSelector",
    "Kernel",
    "MEstimate",
    "Multinomial",
    "NaiveBayesClassifier",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "Nominal",
    "Numeric",
    "Ordinal",
    "PEBLSClassifier",
    "ParzenClassifier",
    "ParzenDensity",
    "Poisson",
    "PrototypeClassifier",
    "RoteClassifier",
    "RuleClassifier",
    "Schema",
    "Text",
    "TreeClassifier",
    "TreeRegressor",
    "WrapperSelector",
    "__version__",
    "compare",
    "cross_validate",
    "learning_curve",
    "leave_one_out",
    "load",
    "read",
    "samples",
    "save",
    "validation_curve",
]

_MODULE = {name: module for module, names in PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts fast."""
    import importlib

    if name in NAMESPACES:
        return importlib.import_module(f"countwise.{name}")
    if name not in _MODULE:
        raise AttributeError(f"module 'countwise' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
