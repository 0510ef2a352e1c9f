"""Smoothing against zero frequencies: Laplace smoothing and the m-estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import NumberIn, OptionError, check_value
from countwise.jsonfile import plain

__all__ = ["MEstimate", "Smoothing", "check_smoothing", "drawn_counts", "exact", "jeffreys", "smoothing_of"]

LARGEST = 1e100  # pseudocount; sums over all values and classes are finite


@dataclass(frozen=True, slots=True)
class MEstimate:
    """The m-estimate of a probability: (count + m p) / (total + m).

    Laplace smoothing with pseudocount ε is the m-estimate with m = ε K and p = 1/K, for an attribute with K values.

    Parameters
    ----------
    m : float, default=1.0
        The equivalent sample size: the sum of all pseudocounts.
    p : {'uniform', 'global'} or mapping of value to probability, default='uniform'
        The prior probability of each value: 'uniform' is the same for all values, 'global' the frequency over all
        classes. A mapping gives the probabilities; a value that it does not contain has probability 0.

    References
    ----------
    Mitchell, T. M. (1997). Machine Learning. McGraw-Hill, section 6.9.1.

    Examples
    --------
    >>> from countwise import MEstimate
    >>> MEstimate(3)
    MEstimate(m=3, p='uniform')
    """

    m: float = 1.0
    p: Any = "uniform"

    def __post_init__(self) -> None:
        check_value("m", self.m, NumberIn(0, LARGEST))
        if not isinstance(self.p, Mapping):
            if not isinstance(self.p, str) or self.p not in ("uniform", "global"):
                raise OptionError(
                    f"p must be 'uniform', 'global' or a mapping of value to probability, not {self.p!r}."
                )
            return
        for value, p in self.p.items():
            check_value(f"The probability p of {value!r}", p, NumberIn(0, 1))

    def as_setting(self) -> dict[str, Any]:
        """Return the settings as plain data, for the model file.

        Returns
        -------
        dict
            The data.

        Examples
        --------
        >>> from countwise import MEstimate
        >>> MEstimate(3).as_setting()
        {'@': 'm-estimate', 'm': 3, 'p': 'uniform'}
        """
        return {"@": "m-estimate", "m": plain(self.m), "p": plain(self.p)}


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Pseudocounts that are added to a table of counts.

    Parameters
    ----------
    epsilon : float or None, default=0.0
        The pseudocount of each value, for Laplace smoothing. It is ignored if `estimate` is given.
    estimate : MEstimate or None, default=None
        The m-estimate. None uses Laplace smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.distributions import MEstimate, Smoothing
    >>> Smoothing(estimate=MEstimate(3)).pseudo(np.array([[3, 0], [1, 2]]), ("a", "b")).tolist()
    [1.5, 1.5]
    """

    epsilon: float | None = 0.0
    estimate: MEstimate | None = None

    def as_setting(self) -> dict[str, Any]:
        """Return the settings as plain data, for the model file.

        Returns
        -------
        dict
            The data.

        Examples
        --------
        >>> from countwise.distributions import Smoothing
        >>> Smoothing(1.0).as_setting()
        {'@': 'smoothing', 'epsilon': 1.0, 'estimate': None}
        """
        return {"@": "smoothing", "epsilon": plain(self.epsilon), "estimate": plain(self.estimate)}

    def pseudo(self, counts: NDArray[Any], values: Sequence[Any], extra: int = 0) -> Floats:
        """Return the pseudocount of each value.

        Parameters
        ----------
        counts : ndarray of shape (n_classes, n_values)
            The counts.
        values : sequence
            The values.
        extra : int, default=0
            The number of extra values, for unseen values.

        Returns
        -------
        ndarray of shape (n_values + extra,)
            The pseudocounts.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.distributions import Smoothing
        >>> Smoothing(1.0).pseudo(np.array([[3, 0], [1, 2]]), ("a", "b")).tolist()
        [1.0, 1.0]
        """
        k = counts.shape[-1] + extra
        if k == 0:  # every value is missing
            return np.empty(0)
        if self.estimate is None:
            return np.full(k, float(self.epsilon or 0.0))
        m, p = float(self.estimate.m), self.estimate.p
        if isinstance(p, Mapping):
            probabilities = [float(p.get(v, 0.0)) for v in values] + [max(0.0, 1 - sum(p.values()))] * extra
            return m * np.array(probabilities)
        if p == "uniform":
            return np.full(k, m / k)
        if extra:
            raise OptionError(
                "unseen='share' cannot be combined with global frequencies: an unseen value has none.",
                hint="use Laplace smoothing or a uniform m-estimate.",
            )
        overall = counts.sum(axis=0)
        total = overall.sum()
        return m * overall / total if total > 0 else np.full(k, m / k)

    def exact(self, counts: NDArray[Any], index: int, values: Sequence[Any], extra: int = 0) -> Fraction | None:
        """Return the pseudocount of one value as a fraction.

        Parameters
        ----------
        counts : ndarray of shape (n_classes, n_values)
            The counts.
        index : int
            The position of the value.
        values : sequence
            The values.
        extra : int, default=0
            The number of extra values, for unseen values.

        Returns
        -------
        Fraction or None
            The pseudocount; None if it is not a short fraction.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.distributions import MEstimate, Smoothing
        >>> str(Smoothing(estimate=MEstimate(1)).exact(np.array([[3, 0, 1]]), 0, ("a", "b", "c")))
        '1/3'
        """
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
        """Return the sum of all pseudocounts of an attribute as a fraction.

        Parameters
        ----------
        counts : ndarray of shape (n_classes, n_values)
            The counts.
        extra : int, default=0
            The number of extra values, for unseen values.

        Returns
        -------
        Fraction or None
            The sum; None if it is not a short fraction.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.distributions import Smoothing
        >>> str(Smoothing(0.5).mass(np.array([[3, 0, 1]])))
        '3/2'
        """
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
    """Return the smoothing that an option describes.

    Parameters
    ----------
    option : float, {'laplace', 'global', 'none'}, MEstimate, mapping, Smoothing or None
        A number is the pseudocount ε of Laplace smoothing, and 'laplace' is the same as 1. 'global' is the m-estimate
        with m = 1 and the frequencies over all classes. An `MEstimate` or a mapping such as ``{"m": 1}`` is an
        m-estimate. 0, 'none' and None do not smooth.

    Returns
    -------
    Smoothing
        The smoothing.

    Examples
    --------
    >>> from countwise.distributions import smoothing_of
    >>> print(smoothing_of("laplace"))
    Laplace 1
    """
    if isinstance(option, Smoothing):
        return option
    if type(option) in (float, int):
        return _laplace(option)
    if option is None or isinstance(option, str):
        option = {None: 0.0, "none": 0.0, "laplace": 1.0, "global": MEstimate(1.0, "global")}.get(option, option)
    if isinstance(option, MEstimate):
        return Smoothing(None, option)
    if isinstance(option, Mapping):
        odd = sorted(set(option) - {"m", "p"})
        if odd:
            raise OptionError(f"An m-estimate has no setting {odd[0]!r}.", hint="use m and p.")
        return Smoothing(None, MEstimate(**option))
    if isinstance(option, int | float | np.integer | np.floating) and not isinstance(option, bool):
        return _laplace(option)
    raise OptionError(
        f"smoothing must be a number, 'laplace', 'global', 'none', an MEstimate or None, not {option!r}.",
        hint="use a number for Laplace smoothing, for example smoothing=1.",
    )


@lru_cache(maxsize=256)
def _laplace(epsilon: float) -> Smoothing:
    if epsilon not in NumberIn(0, LARGEST):
        raise OptionError(f"smoothing must be a finite number >= 0 and <= {LARGEST:g}, not {epsilon!r}.")
    return Smoothing(float(epsilon))


def check_smoothing(option: Any) -> None:
    """Raise an error unless a setting is a smoothing, or None for that of the model."""
    if option is not None:
        smoothing_of(option)


def jeffreys(pseudo: Floats) -> Floats:
    """Return pseudocounts from which probabilities can be drawn: 0.5, Jeffreys' prior, instead of 0."""
    return np.where(pseudo > 0, pseudo, 0.5)


def drawn_counts(counts: NDArray[Any], n: NDArray[Any], pseudo: Floats) -> NDArray[Any]:
    """Return the counts from which the probabilities of each class are drawn.

    They are those of the estimate: a class without values that is not smoothed has the frequencies over all classes.
    """
    alone = (n > 0) | bool(pseudo.any())
    return counts if alone.all() else np.where(alone[:, None], counts, counts.sum(axis=0))


def exact(number: Any) -> Fraction | None:
    """Return a float as the short fraction that it is meant to be (0.1 is 1/10), or None."""
    value = float(number)
    if not np.isfinite(value):
        return None
    if value == int(value):
        return Fraction(int(value))
    short = Fraction(repr(value))
    return short if short.denominator <= 10**6 else None
