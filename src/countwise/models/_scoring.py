"""The laws of a model as terms that an engine can add up."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.attributes import Nominal
from countwise.conditionals.categorical import CategoricalDensity
from countwise.conditionals.gaussian import GaussianDensity
from countwise.conditionals.poisson import PoissonDensity
from countwise.conditionals.ranges import RangesDensity
from countwise.errors import OptionError
from countwise.parts import Part
from countwise.terms import Cut, Lookup, Normal, Presence, Rate

__all__ = ["terms_of"]


def terms_of(part: Part, density: Any) -> list[Any]:
    """What a part adds; a law that no engine can compute is refused by name."""
    chosen = getattr(density, "law", density) if hasattr(density, "choice") else density
    name = part.columns[0] if part.columns else part.key
    if isinstance(chosen, RangesDensity):
        return [Cut(name, np.asarray(chosen.edges, dtype=np.float64), _laid(chosen)[: len(chosen.edges) + 1])]
    if isinstance(chosen, CategoricalDensity):
        logs = _laid(chosen)
        if part.how == "missing":
            return [Presence(name, logs[0], logs[1], number=part.cell is None)]
        if part.how == "positive":
            return [Cut(name, np.zeros(1), logs[:2])]
        assert isinstance(chosen.of, Nominal)  # noqa: S101 - the law of names
        if chosen.unseen == "share":
            raise OptionError("unseen='share' is not written for engines.", hint="unseen='ignore'.")
        return [Lookup(name, chosen.of.values, logs[: len(chosen.of.values)])]
    if isinstance(chosen, GaussianDensity):
        return [] if chosen.constant else [Normal(name, chosen.mean, chosen.inverse_sd, chosen.log_norm)]
    if isinstance(chosen, PoissonDensity):
        with np.errstate(divide="ignore"):
            return [Rate(name, np.log(chosen.rate), chosen.rate)]
    raise OptionError(
        f"{name!r} has a law that no engine can compute: {getattr(chosen, 'rule', part.rule)}.",
        hint="cut it into ranges: conditionals={...: 'ranges'}.",
    )


def _laid(density: CategoricalDensity) -> Any:
    """Log P(value | class), (values, classes), as the answer adds it."""
    return density._lookup
