"""Distributions: P(attribute | class), one a file.

To add one: a file here with a `Distribution` and its `Density`, its name below, and a golden case.
`register` makes one from outside known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from countwise.cuts import METHODS
from countwise.data.attributes import Attribute, Count, Numeric
from countwise.data.text import Block, Text
from countwise.distributions.auto import Auto
from countwise.distributions.bernoulli import Bernoulli
from countwise.distributions.binned import Binned
from countwise.distributions.categorical import Categorical
from countwise.distributions.distribution import Density, Distribution
from countwise.distributions.gaussian import Gaussian
from countwise.distributions.kernel import Kernel
from countwise.distributions.multinomial import Multinomial
from countwise.distributions.poisson import Poisson
from countwise.distributions.smoothing import MEstimate, Smoothing, smoothing_of
from countwise.errors import OptionError, did_you_mean, listed

__all__ = [
    "DISTRIBUTIONS",
    "Auto",
    "Bernoulli",
    "Binned",
    "Categorical",
    "Density",
    "Distribution",
    "Gaussian",
    "Kernel",
    "MEstimate",
    "Multinomial",
    "Poisson",
    "Smoothing",
    "default_for",
    "distribution_from",
    "register",
    "smoothing_of",
]

DISTRIBUTIONS: dict[str, Any] = {
    d.kind: d for d in (Auto, Bernoulli, Categorical, Gaussian, Kernel, Multinomial, Poisson, Binned)
}
_WORDS = {"kde": "kernel", "nominal": "categorical", "normal": "gaussian", "ranges": "binned"}


def distribution_from(spec: Any) -> Any:
    """The conditional that a user named: a word, a mapping with a ``kind``, or a conditional itself."""
    if isinstance(spec, Mapping):
        settings = {key: value for key, value in spec.items() if key != "kind"}
        kind = type(distribution_from(spec.get("kind")))
        known = {f.name for f in fields(kind)}
        odd = sorted(set(settings) - known)
        if odd:
            raise OptionError(f"{kind.kind} has no setting {odd[0]!r}.", hint=f"it has {listed(sorted(known))}.")
        if "candidates" in settings:
            settings["candidates"] = tuple(distribution_from(c) for c in settings["candidates"])
        return kind(**settings)
    if isinstance(spec, str):
        word = _WORDS.get(spec, spec)
        if word in DISTRIBUTIONS:
            return DISTRIBUTIONS[word]()
        if word in METHODS:
            return Binned(word)
    elif isinstance(spec, Distribution):
        return spec
    elif isinstance(spec, Sequence | np.ndarray):
        return Binned(spec)
    raise OptionError(
        f"{spec!r} is not a distribution of an attribute.",
        hint=did_you_mean(spec, DISTRIBUTIONS) or f"distributions are {listed(DISTRIBUTIONS)}.",
    )


def register(distribution: type[Distribution]) -> type[Distribution]:
    """Make a distribution known by its `kind`, so that users can name it and model files can hold it.

    Parameters
    ----------
    distribution : type
        A frozen dataclass derived from `Distribution`.

    Returns
    -------
    type
        The same; `register` can be used as a decorator.
    """
    if distribution.kind in DISTRIBUTIONS and DISTRIBUTIONS[distribution.kind] is not distribution:
        raise OptionError(f"There is a distribution {distribution.kind!r} already.", hint="choose another kind.")
    DISTRIBUTIONS[distribution.kind] = distribution
    return distribution


def default_for(attribute: Attribute) -> Distribution:
    """The distribution that a kind of attribute has unless the user says otherwise."""
    if isinstance(attribute, Block) and attribute.binary:
        return Bernoulli()
    if isinstance(attribute, Text | Block):
        return Multinomial()
    if isinstance(attribute, Count):
        return Poisson()
    return Gaussian() if isinstance(attribute, Numeric) else Categorical()
