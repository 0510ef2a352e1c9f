"""Smoothing: imagined counts against zero counts, by Laplace's ε or an m-estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.jsonfile import plain

__all__ = ["MEstimate", "Smoothing", "exact", "smoothing_of"]


@dataclass(frozen=True, slots=True)
class MEstimate:
    """The m-estimate: (count + m p) / (total + m).

    Laplace's ε is the m-estimate with m = ε K and p = 1/K over an attribute's K
    values; the share num(w) / num of lecture 003 is m = 1 with p from all classes.

    Parameters
    ----------
    m : float, default=1
        The number of imagined rows.
    p : {"uniform", "global"} or mapping of value to probability, default="uniform"
        What the imagined rows hold: every value alike, or values as often as in all classes together.

    Examples
    --------
    >>> from countwise import MEstimate
    >>> MEstimate(3)
    MEstimate(m=3, p='uniform')
    """

    m: float = 1.0
    p: Any = "uniform"

    def __post_init__(self) -> None:
        if not self.m >= 0:
            raise OptionError(f"m must be 0 or more, not {self.m!r}.")
        if not isinstance(self.p, Mapping) and self.p not in ("uniform", "global"):
            raise OptionError(f"p must be 'uniform', 'global' or a mapping of values, not {self.p!r}.")

    def as_setting(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        return {"@": "m-estimate", "m": plain(self.m), "p": plain(self.p)}


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Imagined counts for the cells of a table.

    Parameters
    ----------
    epsilon : float or None
        Laplace's ε for each value.
    estimate : MEstimate or None
        Or an m-estimate.
    """

    epsilon: float | None = 0.0
    estimate: MEstimate | None = None

    def as_setting(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        return {"@": "smoothing", "epsilon": plain(self.epsilon), "estimate": plain(self.estimate)}

    def pseudo(self, counts: NDArray[Any], values: Sequence[Any], extra: int = 0) -> Floats:
        """The imagined count of each value; shape (values + extra,)."""
        k = counts.shape[-1] + extra
        if k == 0:  # nothing but missing cells: no value, no count
            return np.empty(0)
        if self.estimate is None:
            return np.full(k, float(self.epsilon or 0.0))
        m, p = float(self.estimate.m), self.estimate.p
        if isinstance(p, Mapping):
            shares = np.array([float(p.get(v, 0.0)) for v in values] + [max(0.0, 1 - sum(p.values()))] * extra)
            return m * shares
        if p == "uniform":
            return np.full(k, m / k)
        if extra:
            raise OptionError(
                "unseen='share' needs Laplace or a uniform m-estimate: a value never seen has no global share."
            )
        overall = counts.sum(axis=0)
        total = overall.sum()
        return m * overall / total if total > 0 else np.full(k, m / k)

    def exact(self, counts: NDArray[Any], index: int, values: Sequence[Any], extra: int = 0) -> Fraction | None:
        """The imagined count of one value as a fraction, if it is one."""
        k = counts.shape[-1] + extra
        if self.estimate is None:
            return exact(self.epsilon or 0.0)
        m, p = exact(self.estimate.m), self.estimate.p
        if m is None or isinstance(p, Mapping):
            return None
        if p == "uniform":
            return m / k
        count, total = exact(counts[:, index].sum()), exact(counts.sum())
        return None if count is None or not total else m * count / total

    def mass(self, counts: NDArray[Any], extra: int = 0) -> Fraction | None:
        """All imagined counts of an attribute together, as a fraction."""
        if self.estimate is None:
            each = exact(self.epsilon or 0.0)
            return None if each is None else each * (counts.shape[-1] + extra)
        return exact(self.estimate.m)

    def __str__(self) -> str:
        if self.estimate is None:
            return f"Laplace {self.epsilon:g}" if self.epsilon else "unsmoothed"
        p = self.estimate.p if isinstance(self.estimate.p, str) else "given"
        return f"m-estimate, m = {self.estimate.m:g}, p {p}"


def smoothing_of(option: Any) -> Smoothing:
    """The smoothing that a user named.

    None or 0: none. A number: Laplace with that ε. "laplace": ε = 1. "global":
    ε from global statistics, num(w) / num. An `MEstimate`, or ``{"m": 1}``.
    """
    if isinstance(option, Smoothing):
        return option
    if option is None or isinstance(option, str):
        option = {None: 0.0, "none": 0.0, "laplace": 1.0, "global": MEstimate(1.0, "global")}.get(option, option)
    if isinstance(option, MEstimate):
        return Smoothing(None, option)
    if isinstance(option, Mapping):
        odd = sorted(set(option) - {"m", "p"})
        if odd:
            raise OptionError(f"An m-estimate has no setting {odd[0]!r}.", hint="it has m and p.")
        return Smoothing(None, MEstimate(**option))
    if isinstance(option, int | float | np.integer | np.floating) and not isinstance(option, bool):
        if not (option >= 0 and np.isfinite(option)):
            raise OptionError(f"smoothing must be 0 or more, not {option!r}.")
        return Smoothing(float(option))
    raise OptionError(
        f"smoothing={option!r} is unknown.",
        hint="give a number (Laplace), 'global', MEstimate(m, p) or None.",
    )


def exact(number: Any) -> Fraction | None:
    """A float as the fraction that a person means by it: 0.1 is 1/10; None if it is no short fraction."""
    value = float(number)
    if not np.isfinite(value):
        return None
    if value == int(value):
        return Fraction(int(value))
    short = Fraction(repr(value))
    return short if short.denominator <= 10**6 else None
