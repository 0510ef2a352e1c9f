"""Random settings of estimators: words of their documentation, numbers, and values that make no sense."""

from __future__ import annotations

import inspect
import math
import re
from functools import cache
from typing import Any

import numpy as np

import countwise as cw

from .draw import Draw

__all__ = ["CLASSIFIERS", "LEARNERS", "REGRESSORS", "settings", "silly"]

CLASSIFIERS = [
    cw.NaiveBayesClassifier,
    cw.TreeClassifier,
    cw.DiscriminantClassifier,
    cw.NeighborsClassifier,
    cw.PEBLSClassifier,
    cw.PrototypeClassifier,
    cw.ParzenClassifier,
    cw.RuleClassifier,
    cw.RoteClassifier,
    cw.BayesNetworkClassifier,
]
REGRESSORS = [cw.TreeRegressor, cw.NeighborsRegressor]
DENSITIES = [cw.ParzenDensity, cw.BayesNetwork]
TRANSFORMERS = [cw.Discretizer, cw.CategoricalEncoder, cw.FilterSelector, cw.EmbeddedSelector, cw.WrapperSelector]
RESAMPLERS = [cw.neighbors.InstanceSelector]
LEARNERS = [*CLASSIFIERS, *CLASSIFIERS, *REGRESSORS, *DENSITIES, *TRANSFORMERS, *RESAMPLERS]

_TYPES = ["nominal", "numeric", "count", "text", "ordinal", "boolean", "auto", "", None, cw.Numeric("a"), 5]
_DISTRIBUTIONS = ["auto", "gaussian", "kernel", "poisson", "categorical", "bernoulli", "multinomial", "binned", "mdl",
                  cw.Kernel("leave_one_out"), cw.Binned("equal_width", 3), cw.Gaussian("n"),
                  cw.MEstimate(2.0)]  # fmt: skip
_NUMBERS = [1, 2, 3, 0.5, 0.1, 5, 10, 0, 1.5]
_SILLY: list[Any] = [None, -1, 0, math.nan, math.inf, -0.5, 1e308, "x", "", [], {}, (), True, b"x", object(),
                     np.float32(2.5), np.int64(3), np.array([1.0, 2.0]), 10**400, 1e-308, "auto", ["a"], {"a": 1},
                     {"b": "x"}, 2**63, float, lambda *_: 1, 1000000]  # fmt: skip
# Settings of which a large value takes much time or memory, as it should.
_COSTLY = {"n_bins", "max_iter", "restarts", "cv", "passes", "max_parents", "max_dependence", "max_subsets", "n_jobs"}


@cache
def _words(cls: type) -> dict[str, list[str]]:
    """The quoted words in the documentation of each parameter."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        head = re.match(r"(\w+(?:, \w+)*) : (.*)", line)
        if head:
            name = head[1]
        elif line and not line.startswith(" "):
            name = ""
        for one in name.split(", ") if name else ():
            found.setdefault(one, []).extend(re.findall(r"['\"]([\w -]+)['\"]", line))
    return found


def silly(draw: Draw) -> Any:
    """A value that few parameters accept."""
    return draw.pick(_SILLY)


def _value(draw: Draw, cls: type, name: str, default: Any, columns: list[Any]) -> Any:
    """A value of one parameter."""
    if draw.chance(12):
        value = silly(draw)
        large = isinstance(value, int | float) and value > 100
        return 3 if large and name in _COSTLY else value
    if name == "types":
        return {column: draw.pick(_TYPES[:6]) for column in columns if draw.chance(50)}
    if name == "categorical_features":
        return draw.pick([[0], columns[:1], [True], None])
    if name == "distributions":
        return draw.pick(_DISTRIBUTIONS)
    if name == "smoothing":
        return draw.pick([0, 1.0, 0.5, "laplace", "global", cw.MEstimate(2.0), cw.MEstimate(1.0, "global")])
    if name == "estimator":
        chosen = draw.pick(CLASSIFIERS)
        return chosen()
    words = _words(cls).get(name, [])
    if isinstance(default, bool):
        return draw.pick([True, False])
    numbers = _NUMBERS if not words or isinstance(default, int | float) or default is None else []
    return draw.pick([*words, *numbers])


def settings(draw: Draw, cls: type, columns: list[Any], often: int = 15) -> dict[str, Any]:
    """Random values of some parameters of a class."""
    if draw.chance(30):
        return {}
    found = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if draw.chance(often) and name not in ("n_jobs", "verbose"):
            found[name] = _value(draw, cls, name, parameter.default, columns)
    return found
