"""Tables of names: the public names, the types of model, and the learners of `compare`.

This module imports none of them, so that a module is imported only when one of its names is used.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "KINDS",
    "LAZY",
    "NAMESPACES",
    "PUBLIC",
    "RECIPES",
    "Kind",
    "Recipe",
    "class_of",
    "kind_of",
    "kind_of_word",
    "lazy_names",
    "public",
]

# Names of the package `countwise`, by the module that defines them.
PUBLIC: dict[str, tuple[str, ...]] = {
    "countwise.cases": ("CaseBase",),
    "countwise.data.attributes": ("Count", "Date", "Nominal", "Numeric", "Ordinal"),
    "countwise.data.schema": ("Schema",),
    "countwise.data.text": ("Text",),
    "countwise.discriminant.model": ("DiscriminantClassifier",),
    "countwise.distributions": (
        "Auto",
        "Bernoulli",
        "Binned",
        "Categorical",
        "Gaussian",
        "Kernel",
        "MEstimate",
        "Multinomial",
        "Poisson",
    ),
    "countwise.evaluation.compare": ("compare",),
    "countwise.evaluation.cross_validation": ("cross_validate", "leave_one_out"),
    "countwise.evaluation.learning_curve": ("learning_curve",),
    "countwise.evaluation.validation_curve": ("validation_curve",),
    "countwise.feature_selection.embedded": ("EmbeddedSelector",),
    "countwise.feature_selection.selectors": ("FilterSelector",),
    "countwise.feature_selection.wrapper": ("WrapperSelector",),
    "countwise.io.readers": ("read",),
    "countwise.modelfile": ("load", "save"),
    "countwise.naive_bayes.model": ("NaiveBayesClassifier",),
    "countwise.neighbors.instance_selection": ("InstanceSelector",),
    "countwise.neighbors.knn": ("NeighborsClassifier", "NeighborsRegressor"),
    "countwise.neighbors.pebls": ("PEBLSClassifier",),
    "countwise.neighbors.prototype": ("PrototypeClassifier",),
    "countwise.neighbors.rote": ("RoteClassifier",),
    "countwise.network.classifier": ("BayesNetworkClassifier",),
    "countwise.network.model": ("BayesNetwork",),
    "countwise.parzen.model": ("ParzenClassifier", "ParzenDensity"),
    "countwise.preprocessing.discretizer": ("Discretizer",),
    "countwise.preprocessing.encoder": ("CategoricalEncoder",),
    "countwise.tree.model": ("TreeClassifier", "TreeRegressor"),
    "countwise.tree.rule_list": ("RuleClassifier",),
}

# Public subpackages; their names are listed in their `__all__`.
NAMESPACES = (
    "cases",
    "distributions",
    "errors",
    "evaluation",
    "feature_selection",
    "neighbors",
    "network",
    "plots",
    "preprocessing",
    "samples",
    "tallies",
    "working",
)

# Names of packages whose modules are imported when the name is first used.
LAZY: dict[str, dict[str, str]] = {
    "countwise.neighbors": {
        "DistanceMetric": "metric",
        "InstanceSelector": "instance_selection",
        "NeighborsClassifier": "knn",
        "NeighborsRegressor": "knn",
        "PEBLSClassifier": "pebls",
        "PrototypeClassifier": "prototype",
        "RoteClassifier": "rote",
        "distance_matrix": "metric",
    },
    "countwise.network": {
        "BayesNetwork": "model",
        "BayesNetworkClassifier": "classifier",
        "Dirichlet": "families",
    },
    "countwise.preprocessing": {"CategoricalEncoder": "encoder", "Discretizer": "discretizer"},
}


def lazy_names(package: str) -> tuple[Any, Any]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported when they are first used."""
    names = LAZY[package]

    def get(name: str) -> Any:
        import importlib

        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{names[name]}"), name)

    return get, lambda: sorted(names)


class Kind:
    """A type of model.

    Parameters
    ----------
    module, name : str
        Module and name of the class.
    word : str, default=''
        Name in `countwise train --model`; empty if the command line cannot train it.
    renamed : dict of str to str or None, default=None
        Parameters with other names in older model files: old name to new name, or to "" if it is ignored.
    """

    def __init__(self, module: str, name: str, word: str = "", renamed: dict[str, str] | None = None) -> None:
        self.module, self.name, self.word, self.renamed = module, name, word, renamed or {}


_OF_NETWORKS = {"conditionals": "distributions", "ess": "equivalent_sample_size", "k": "max_dependence"}

# Types of model by their name in model files. Other names in a file are errors.
KINDS: dict[str, Kind] = {
    "NaiveBayes": Kind(
        "countwise.naive_bayes.model", "NaiveBayesClassifier", "naive-bayes", {"conditionals": "distributions"}
    ),
    "Discriminant": Kind("countwise.discriminant.model", "DiscriminantClassifier", "discriminant"),
    "Parzen": Kind("countwise.parzen.model", "ParzenClassifier", "parzen", {"width": "bandwidth"}),
    "ParzenDensity": Kind("countwise.parzen.model", "ParzenDensity", "", {"width": "bandwidth"}),
    "Prototype": Kind("countwise.neighbors.prototype", "PrototypeClassifier", "prototype"),
    "Tree": Kind("countwise.tree.model", "TreeClassifier", "tree"),
    "RegressionTree": Kind("countwise.tree.model", "TreeRegressor", "regression-tree"),
    "Rules": Kind("countwise.tree.rule_list", "RuleClassifier", "rules"),
    "Neighbors": Kind("countwise.neighbors.knn", "NeighborsClassifier", "neighbors", {"search": ""}),
    "NeighborsRegression": Kind(
        "countwise.neighbors.knn", "NeighborsRegressor", "neighbors-regression", {"search": ""}
    ),
    "Exemplars": Kind("countwise.neighbors.pebls", "PEBLSClassifier", "pebls"),
    "Rote": Kind("countwise.neighbors.rote", "RoteClassifier", "rote"),
    "NetworkBayes": Kind("countwise.network.classifier", "BayesNetworkClassifier", "network", _OF_NETWORKS),
    "Network": Kind("countwise.network.model", "BayesNetwork", "net", {**_OF_NETWORKS, "tables": "cpts"}),
}


class Recipe:
    """A learner of `compare`: a type of model and its parameters.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    settings : dict or None, default=None
        Parameters that differ from the defaults.
    cannot, slow : str, default=''
        Conditions of `evaluation.learners` under which the learner is skipped: always (`cannot`), or unless the user
        names it (`slow`).
    """

    def __init__(self, kind: str, settings: dict[str, Any] | None = None, cannot: str = "", slow: str = "") -> None:
        self.kind, self.settings, self.cannot, self.slow = kind, settings or {}, cannot, slow


_C45 = {"min_samples_leaf": 2, "threshold_cost": True, "pruning": "pessimistic"}
_CART = {"nominal": "subset", "pruning": "cost_complexity"}
_SMOOTHED = {"smoothing": "laplace"}  # without it, a leaf with one class would predict it with probability 1

RECIPES: dict[str, Recipe] = {
    "naive Bayes": Recipe("NaiveBayes"),
    "naive Bayes (auto)": Recipe("NaiveBayes", {"distributions": "auto"}, "no numbers"),
    "naive Bayes (kernel)": Recipe("NaiveBayes", {"distributions": "kernel"}, "no numbers"),
    "TAN": Recipe("NetworkBayes", {"structure": "tan"}, "no pairs"),
    "LDA": Recipe("Discriminant", {"covariance": "shared"}, "texts", "many columns"),
    "QDA": Recipe("Discriminant", {"covariance": "own", "shrinkage": "auto"}, "texts", "many columns"),
    "C4.5 tree": Recipe("Tree", {"criterion": "gain_ratio", **_C45, **_SMOOTHED}, "", "many texts"),
    "CART tree": Recipe("Tree", {"criterion": "gini", **_CART, **_SMOOTHED}, "", "many texts or rows"),
    "rules": Recipe("Rules", {"method": "c45", **_SMOOTHED}, "", "many texts or rows"),
    "one rule": Recipe("Rules", {"method": "one_r", **_SMOOTHED}, "texts"),
    "neighbors": Recipe("Neighbors", {"n_neighbors": "loo"}, "", "many rows"),
    "PEBLS": Recipe("Exemplars", {}, "", "many rows"),
    "Parzen": Recipe("Parzen", {}, "texts", "many rows"),
    "prototype": Recipe("Prototype", {}, "texts"),
    "rote": Recipe("Rote", {}, "", "not nominal"),
}


def public(name: str) -> Any:
    """Import and return a public name of the package."""
    import importlib

    return getattr(importlib.import_module(next(m for m, names in PUBLIC.items() if name in names)), name)


def class_of(kind: Kind) -> Any:
    """Import and return the class of a type of model."""
    import importlib

    return getattr(importlib.import_module(kind.module), kind.name)


def kind_of(model: Any) -> str | None:
    """Return the type of a model, by its class or a base class; None if it is not in `KINDS`."""
    names = {(kind.module, kind.name): name for name, kind in KINDS.items()}
    return next(
        (names[at] for cls in type(model).__mro__ if (at := (cls.__module__, cls.__qualname__)) in names), None
    )


def kind_of_word(word: str) -> Kind:
    """Return the type of model with this name in `countwise train --model`."""
    return next(kind for kind in KINDS.values() if kind.word == word)
