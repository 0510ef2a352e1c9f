"""Names as strings: the public names, the kinds of model, and the recipes of `compare`.

Nothing is imported here. `countwise/__init__.py`, model files, `countwise train`, `countwise curve` and `compare`
look a name up and import its module only when it is used.
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
]

# Public names at the root, by the module that defines them.
PUBLIC: dict[str, tuple[str, ...]] = {
    "countwise.cases": ("CaseBase",),
    "countwise.data.attributes": ("Count", "Nominal", "Numeric", "Ordinal"),
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

# Public packages beside the root; the names that they offer are in their `__all__`.
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

# The names of packages whose modules are imported when a name is first used.
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
    """`__getattr__` and `__dir__` of a package whose names are imported when they are first used."""
    names = LAZY[package]

    def get(name: str) -> Any:
        import importlib

        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{names[name]}"), name)

    return get, lambda: sorted(names)


class Kind:
    """A kind of model.

    Parameters
    ----------
    module, name : str
        Where its class is.
    word : str
        What `countwise train --model` calls it; empty if it cannot be trained there.
    renamed : dict of str to str
        Settings that older model files call otherwise: old name to new name, or to "" if the setting is gone.
    """

    def __init__(self, module: str, name: str, word: str = "", renamed: dict[str, str] | None = None) -> None:
        self.module, self.name, self.word, self.renamed = module, name, word, renamed or {}


_OF_NETWORKS = {"conditionals": "distributions", "ess": "equivalent_sample_size", "k": "max_dependence"}

# The kinds of model by the name that model files use; no other name in a file is ever looked up.
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
    """A learner that `compare` tries: a kind of model and its settings.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    settings : dict
        What differs from the defaults.
    cannot, slow : str
        Reasons against it, by the names that `evaluation.learners` gives them: what rules the learner out, and what
        rules it out unless the user names it.
    """

    def __init__(self, kind: str, settings: dict[str, Any] | None = None, cannot: str = "", slow: str = "") -> None:
        self.kind, self.settings, self.cannot, self.slow = kind, settings or {}, cannot, slow


_C45 = {"min_samples_leaf": 2, "threshold_cost": True, "pruning": "pessimistic"}
_CART = {"nominal": "subset", "pruning": "cost_complexity"}
_SURE = {"smoothing": "laplace"}  # a leaf of one class is not certain of it

RECIPES: dict[str, Recipe] = {
    "naive Bayes": Recipe("NaiveBayes"),
    "naive Bayes (auto)": Recipe("NaiveBayes", {"distributions": "auto"}, "no numbers"),
    "naive Bayes (kernel)": Recipe("NaiveBayes", {"distributions": "kernel"}, "no numbers"),
    "TAN": Recipe("NetworkBayes", {"structure": "tan"}, "no pairs"),
    "LDA": Recipe("Discriminant", {"covariance": "shared"}, "texts", "many columns"),
    "QDA": Recipe("Discriminant", {"covariance": "own", "shrinkage": "auto"}, "texts", "many columns"),
    "C4.5 tree": Recipe("Tree", {"criterion": "gain_ratio", **_C45, **_SURE}, "", "many texts"),
    "CART tree": Recipe("Tree", {"criterion": "gini", **_CART, **_SURE}, "", "many texts or rows"),
    "rules": Recipe("Rules", {"method": "c45", **_SURE}, "", "many texts or rows"),
    "one rule": Recipe("Rules", {"method": "one_r", **_SURE}, "texts"),
    "neighbors": Recipe("Neighbors", {"n_neighbors": "loo"}, "", "many rows"),
    "PEBLS": Recipe("Exemplars", {}, "", "many rows"),
    "Parzen": Recipe("Parzen", {}, "texts", "many rows"),
    "prototype": Recipe("Prototype", {}, "texts"),
    "rote": Recipe("Rote", {}, "", "not nominal"),
}


def class_of(kind: Kind) -> Any:
    """The class of a kind of model, imported now."""
    import importlib

    return getattr(importlib.import_module(kind.module), kind.name)


def kind_of(model: Any) -> str | None:
    """The kind of a model, by its class or one that it is derived from; None if it is no such model."""
    names = {(kind.module, kind.name): name for name, kind in KINDS.items()}
    return next(
        (names[at] for cls in type(model).__mro__ if (at := (cls.__module__, cls.__qualname__)) in names), None
    )


def kind_of_word(word: str) -> Kind:
    """The kind of model that the command line calls so."""
    return next(kind for kind in KINDS.values() if kind.word == word)
