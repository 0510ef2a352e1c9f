"""Smoothing against zero frequencies: Laplace smoothing and the m-estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.errors import NumberIn, OptionError, check_settings, check_value, listed
from countwise.jsonfile import plain

__all__ = [
    "MEstimate",
    "Smoothing",
    "check_given",
    "check_smoothing",
    "drawn_counts",
    "exact",
    "jeffreys",
    "smoothing_of",
]

LARGEST = 1e100  # pseudocount; sums over all values and classes are finite


@dataclass(frozen=True, slots=True)
class MEstimate:
    """The m-estimate of a probability: (count + m p) / (total + m).

    Laplace smoothing with pseudocount ε is the m-estimate with m = ε K and p = 1/K, for an attribute with K values.

    Parameters
    ----------
    m : float, default=1.0
        The equivalent sample size: the sum of all pseudocounts.
    p : {'uniform', 'global'}, float or mapping of value to probability, default='uniform'
        The prior probability of each value: 'uniform' is the same for all values, 'global' the frequency over all
        classes. A number is the probability of every value, as in the formula by hand; unless it is 1/K, the
        estimates do not sum to 1. A mapping gives the probabilities of the values of one attribute, which sum to 1; a
        value that it does not contain has probability 0. Attributes without any of these values have 'uniform'. For
        Bernoulli words, a mapping gives P(word present).

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
            if self.p not in NumberIn(0, 1, words=("uniform", "global")):
                raise OptionError(
                    "p must be 'uniform', 'global', a number from 0 to 1 or a mapping of value to probability, "
                    f"not {self.p!r}."
                )
            return
        if not self.p:
            raise OptionError("p is an empty mapping.", hint="give the probability of each value.")
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
    epsilon : float, 'global' or None, default=0.0
        The pseudocount ε of each value, for Laplace smoothing. 'global' is the frequency of the value over all
        classes, which is the m-estimate ``MEstimate(1, "global")``. It is ignored if `estimate` is given.
    estimate : MEstimate or None, default=None
        The m-estimate. None uses Laplace smoothing.
    k : {'values', 'classes'}, default='values'
        The number K in the denominator n + ε K of Laplace smoothing: the number of values of the attribute, or the
        number of classes, as in some textbooks. With the number of classes, the probabilities of an attribute sum to
        1 only if it has as many values as there are classes.
    denominator : {'sum', 'literal'}, default='sum'
        What is added to the number of rows n of a class. 'sum' adds the pseudocounts of all values, so that the
        probabilities sum to 1. 'literal' adds K times the pseudocount of the value itself: (count + ε) / (n + ε K) as
        it is written, also for a global ε. The two differ only if the pseudocounts of the values differ; then the
        probabilities do not sum to 1. The prior and the leaves of trees always use the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.distributions import MEstimate, Smoothing
    >>> Smoothing(estimate=MEstimate(3)).pseudo(np.array([[3, 0], [1, 2]]), ("a", "b")).tolist()
    [1.5, 1.5]
    >>> print(Smoothing("global", denominator="literal"))
    global ε, denominator n + K·ε
    """

    epsilon: Any = 0.0
    estimate: MEstimate | None = None
    k: str = "values"
    denominator: str = "sum"

    def __post_init__(self) -> None:
        check_settings(self, k=("values", "classes"), denominator=("sum", "literal"))
        if isinstance(self.epsilon, str) and self.epsilon == "global":
            object.__setattr__(self, "estimate", self.estimate or MEstimate(1.0, "global"))
            object.__setattr__(self, "epsilon", None)
        elif self.epsilon is not None:
            _check_epsilon(self.epsilon)
        if self.k == "classes" and self.estimate is not None and self.denominator == "sum":
            raise OptionError(
                "k='classes' has no effect: the denominator of an m-estimate and of a global ε has no K.",
                hint="use denominator='literal' for n + K·ε.",
            )

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
        {'@': 'smoothing', 'epsilon': 1.0, 'estimate': None, 'k': 'values', 'denominator': 'sum'}
        """
        own = {"epsilon": plain(self.epsilon), "estimate": plain(self.estimate)}
        return {"@": "smoothing", **own, "k": self.k, "denominator": self.denominator}

    @property
    def proper(self) -> bool:
        """Whether the probabilities of the values of every attribute sum to 1."""
        p = "uniform" if self.estimate is None else self.estimate.p
        if self.denominator == "literal":
            return self.k == "values" and isinstance(p, str) and p == "uniform"
        return self.k == "values" and not isinstance(p, int | float | np.number)

    @property
    def follows_rows(self) -> bool:
        """Whether the pseudocounts depend on the counts, as global ones do."""
        return self.estimate is not None and isinstance(self.estimate.p, str) and self.estimate.p == "global"

    @property
    def adds(self) -> bool:
        """Whether any pseudocount is above 0."""
        return bool(self.epsilon if self.estimate is None else self.estimate.m)

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
        if isinstance(p, Mapping) and not p.keys().isdisjoint(values):
            return m * np.array([*_given(p, values), *[0.0] * extra])
        if isinstance(p, Mapping) or p == "uniform":
            return np.full(k, m / k)
        if not isinstance(p, str):
            return np.full(k, m * float(p))
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
            The position of the value; for an unseen value, the number of values.
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
        if isinstance(p, Mapping) and not p.keys().isdisjoint(values):
            p = p.get(values[index], 0.0) if index < len(values) else 0.0
        if m is None or isinstance(p, int | float | np.number):
            share = exact(p) if m is not None else None
            return None if m is None or share is None else m * share
        if p != "global":
            return m / k
        count, total = exact(counts[:, index].sum()), exact(counts.sum())
        return None if count is None or not total else m * count / total

    def mass(self, counts: NDArray[Any], own: Fraction | None, extra: int = 0) -> Fraction | None:
        """Return what is added to the number of rows of a class, as a fraction.

        Parameters
        ----------
        counts : ndarray of shape (n_classes, n_values)
            The counts.
        own : Fraction or None
            The pseudocount of the value, from `exact`.
        extra : int, default=0
            The number of extra values, for unseen values.

        Returns
        -------
        Fraction or None
            The sum; None if it is not a short fraction.

        Examples
        --------
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from countwise.distributions import Smoothing
        >>> str(Smoothing(0.5).mass(np.array([[3, 0, 1]]), Fraction(1, 2)))
        '3/2'
        >>> str(Smoothing(1, k="classes").mass(np.array([[3, 0, 1], [2, 2, 0]]), Fraction(1)))
        '2'
        """
        if self.estimate is not None and self.denominator == "sum":
            return exact(self.estimate.m)
        return None if own is None else own * self._k(len(counts), counts.shape[-1] + extra)

    def added(self, pseudo: Floats, n_classes: int) -> Floats:
        """Return what is added to the number of rows of a class.

        Parameters
        ----------
        pseudo : ndarray of shape (..., n_values)
            The pseudocounts of the values.
        n_classes : int
            The number of classes.

        Returns
        -------
        ndarray of shape (..., 1) or (..., n_values)
            The sum of the pseudocounts, unless K is the number of classes or p is one number for all values. With a
            literal denominator it differs between the values.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.distributions import Smoothing
        >>> Smoothing(1, k="classes").added(np.ones(3), 2).tolist()
        [2.0]
        >>> Smoothing("global", denominator="literal").added(np.array([0.25, 0.5, 0.25]), 2).tolist()
        [0.75, 1.5, 0.75]
        """
        if self.proper:
            return np.asarray(pseudo.sum(axis=-1, keepdims=True))
        if self.denominator == "literal":
            return pseudo * self._k(n_classes, pseudo.shape[-1])
        total = float(self.epsilon or 0.0) * n_classes if self.estimate is None else float(self.estimate.m)
        return np.full((*pseudo.shape[:-1], 1), total)

    def _k(self, n_classes: int, n_values: int) -> int:
        return n_classes if self.k == "classes" else n_values

    def __str__(self) -> str:
        of = ", K = number of classes" if self.k == "classes" else ""
        if self.estimate is None:
            return f"Laplace {self.epsilon:g}{of}" if self.epsilon else "unsmoothed"
        p = "given" if isinstance(self.estimate.p, Mapping) else self.estimate.p
        if self.denominator == "sum":
            return f"m-estimate, m = {self.estimate.m:g}, p {p}"
        epsilon = "global ε" if self.estimate == MEstimate(1.0, "global") else f"ε = {self.estimate.m:g}·p, p {p}"
        return f"{epsilon}, denominator n + K·ε{of}"


def _given(p: Mapping[Any, float], values: Sequence[Any]) -> list[float]:
    """Return the given probabilities of the values of an attribute; those of other values are an error."""
    unknown = [value for value in p if value not in values]
    if unknown:
        raise OptionError(
            f"p has a probability for {listed(unknown)}, but the values of the attribute are {listed(values)}.",
            hint="declare a value that no training row has, as in types={'size': Nominal('size', ('S', 'M', 'L'))}.",
        )
    total = math.fsum(p.values())
    if abs(total - 1) > 1e-9:
        raise OptionError(f"The probabilities p of {listed(p)} sum to {total:.6g}, but they must sum to 1.")
    return [float(p.get(value, 0.0)) for value in values]


def check_given(densities: Iterable[Any]) -> None:
    """Raise an error for a mapping p that is wrong, or whose values no attribute has that is smoothed with it."""
    found: list[tuple[Mapping[Any, float], bool]] = []
    for density in densities:
        estimate = getattr(getattr(density, "smoothing", None), "estimate", None)
        if estimate is not None and isinstance(estimate.p, Mapping):
            words = getattr(density, "words", None)
            values = density.of.values if words is None else (*words, "present", "absent")
            found.append((estimate.p, not estimate.p.keys().isdisjoint(values)))
            _ = density.pseudo  # is computed when first needed, and checks the mapping
    for p, known in found:
        if not known and not any(other for same, other in found if same == p):
            raise OptionError(
                f"p has probabilities for {listed(p)}, but no attribute has one of these values.",
                hint="spell the values as in the table; numbers without quotation marks.",
            )


def smoothing_of(option: Any) -> Smoothing:
    """Return the smoothing that an option describes.

    Parameters
    ----------
    option : float, {'laplace', 'global', 'none'}, MEstimate, mapping, Smoothing or None
        A number is the pseudocount ε of Laplace smoothing, and 'laplace' is the same as 1. 'global' is the m-estimate
        with m = 1 and the frequencies over all classes. An `MEstimate` or a mapping such as ``{"m": 1}`` is an
        m-estimate; ``{"epsilon": 1, "k": "classes"}`` is Laplace smoothing with K = number of classes, and
        ``{"epsilon": "global", "denominator": "literal"}`` the `Smoothing` with these settings. 0, 'none' and None do
        not smooth.

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
        own = {"epsilon", "k", "denominator"}
        kind, names = (Smoothing, own) if "epsilon" in option else (MEstimate, {"m", "p"})
        odd = sorted(set(option) - names, key=str)
        if odd:
            raise OptionError(
                f"A mapping for smoothing has no setting {odd[0]!r}.",
                hint="use m and p, or epsilon, k and denominator.",
            )
        return smoothing_of(kind(**option))
    if isinstance(option, int | float | np.integer | np.floating) and not isinstance(option, bool):
        return _laplace(option)
    raise OptionError(
        f"smoothing must be a number, 'laplace', 'global', 'none', an MEstimate or None, not {option!r}.",
        hint="use a number for Laplace smoothing, for example smoothing=1.",
    )


@lru_cache(maxsize=256)
def _laplace(epsilon: float) -> Smoothing:
    _check_epsilon(epsilon)
    return Smoothing(float(epsilon))


def _check_epsilon(epsilon: Any) -> None:
    if epsilon not in NumberIn(0, LARGEST):
        raise OptionError(f"smoothing must be a finite number >= 0 and <= {LARGEST:g}, not {epsilon!r}.")


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
