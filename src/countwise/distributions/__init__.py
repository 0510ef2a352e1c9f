"""Distributions of attributes: P(attribute | class), one in each module.

To add a distribution, write a module with a `Distribution` and its `Density`, add the class to `DISTRIBUTIONS`, and
add a golden test case. `register` adds a distribution from outside the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
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
_ALIASES = {"kde": "kernel", "nominal": "categorical", "normal": "gaussian", "ranges": "binned"}


def distribution_from(spec: Any) -> Any:
    """Return the distribution described by `spec`.

    Parameters
    ----------
    spec : str, mapping, sequence of float or Distribution
        A name such as 'gaussian' or a discretization method such as 'mdl'; a mapping with the name as ``kind`` and
        the settings of the distribution; cut points, for a `Binned` distribution; or a distribution.

    Returns
    -------
    Distribution
        The distribution.

    Examples
    --------
    >>> from countwise.distributions import distribution_from
    >>> distribution_from("gaussian")
    Gaussian(divisor='n-1', floor=1e-09)
    >>> distribution_from({"kind": "kernel", "bandwidth": 2.0})
    Kernel(bandwidth=2.0)
    """
    if isinstance(spec, Mapping):
        settings = {key: value for key, value in spec.items() if key != "kind"}
        rule = type(distribution_from(spec.get("kind")))
        known = {f.name for f in fields(rule)}
        odd = sorted(set(settings) - known)
        if odd:
            raise OptionError(
                f"{rule.kind!r} has no setting {odd[0]!r}.", hint=f"use one of {listed(sorted(known))}."
            )
        if "candidates" in settings:
            settings["candidates"] = tuple(distribution_from(c) for c in settings["candidates"])
        return rule(**settings)
    if isinstance(spec, str):
        name = _ALIASES.get(spec, spec)
        if name in DISTRIBUTIONS:
            return DISTRIBUTIONS[name]()
        if name in METHODS:
            return Binned(name)
    elif isinstance(spec, Distribution):
        return spec
    elif isinstance(spec, Sequence | np.ndarray):
        return Binned(spec)
    raise OptionError(
        f"There is no distribution {spec!r}.",
        hint=did_you_mean(spec, DISTRIBUTIONS) or f"use one of {listed(DISTRIBUTIONS)}.",
    )


def register(distribution: type[Distribution]) -> type[Distribution]:
    """Register a distribution under its `kind`, so that it can be requested by name and stored in model files.

    Parameters
    ----------
    distribution : type of Distribution
        A frozen dataclass derived from `Distribution`.

    Returns
    -------
    type of Distribution
        The same class, so that `register` can be used as a decorator.

    Examples
    --------
    >>> from countwise.distributions import Gaussian, register
    >>> register(Gaussian) is Gaussian  # already registered under 'gaussian': nothing changes
    True
    """
    if distribution.kind in DISTRIBUTIONS and DISTRIBUTIONS[distribution.kind] is not distribution:
        raise OptionError(f"A distribution {distribution.kind!r} already exists.", hint="use another `kind`.")
    DISTRIBUTIONS[distribution.kind] = distribution
    return distribution


def default_for(attribute: Attribute) -> Distribution:
    """Return the default distribution of an attribute.

    Parameters
    ----------
    attribute : Attribute
        The attribute.

    Returns
    -------
    Distribution
        Categorical for nominal attributes, Gaussian for numeric ones, Poisson for counts, multinomial for text
        columns and blocks of counts, Bernoulli for binary blocks.

    Examples
    --------
    >>> from countwise import Count
    >>> from countwise.distributions import default_for
    >>> default_for(Count("visits"))
    Poisson(smoothing=None)
    """
    if isinstance(attribute, Block) and attribute.binary:
        return _default(Bernoulli)
    if isinstance(attribute, Text | Block):
        return _default(Multinomial)
    if isinstance(attribute, Count):
        return _default(Poisson)
    return _default(Gaussian if isinstance(attribute, Numeric) else Categorical)


@cache
def _default(family: type[Distribution]) -> Distribution:
    """Return the distribution with its default settings; it is immutable, so all columns can share it."""
    return family()
