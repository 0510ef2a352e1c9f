"""Steps: the factors of a prediction as data. Numbers are unrounded; only the renderings round them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Factor", "Step"]


@dataclass(frozen=True, slots=True)
class Factor:
    """Factor of one attribute for one class: P(attribute = value | class).

    Parameters
    ----------
    log : float
        Natural logarithm of the factor.
    text : str
        The factor as a formula: ``2/9`` or ``φ(66; 73, 6.164)``.
    latex : str
        The same formula in LaTeX.
    fraction : Fraction or None, default=None
        Exact value, if counts and smoothing are integers.
    count, total : float or None, default=None
        Numerator and denominator, if the factor is a relative frequency.
    raw : str, default=''
        The factor without smoothing, as a formula: ``0/5``.

    Examples
    --------
    >>> import math
    >>> from countwise.working import Factor
    >>> factor = Factor(math.log(2 / 9), "2/9", r"\\frac{2}{9}", count=2, total=9)
    >>> factor.text, round(math.exp(factor.log), 4)
    ('2/9', 0.2222)
    """

    log: float
    text: str
    latex: str
    fraction: Fraction | None = None
    count: float | None = None
    total: float | None = None
    raw: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the factor as plain data.

        Returns
        -------
        dict
            Keys `log`, `text`, `fraction`, `count` and `total`, and `raw` if it is not empty.

        Examples
        --------
        >>> from countwise.working import Factor
        >>> Factor(0.0, "3/3", "1", count=3, total=3).to_dict()
        {'log': 0.0, 'text': '3/3', 'fraction': None, 'count': 3, 'total': 3}
        """
        return {
            "log": self.log,
            "text": self.text,
            "fraction": None if self.fraction is None else str(self.fraction),
            "count": self.count,
            "total": self.total,
            **({"raw": self.raw} if self.raw else {}),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """Contribution of one attribute to a prediction: a factor for each class, or the reason why it is not used.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    value : str
        Value of the attribute, as shown.
    factors : tuple of Factor, default=()
        One factor for each class. Empty if the attribute is not used.
    state : {'known', 'missing', 'never seen', 'constant', 'redundant'}, default='known'
        Why the attribute is not used; 'known' if it is used.
    rule : str, default=''
        Distribution of the attribute: ``categorical, Laplace 1``.
    word : str, default=''
        Word of a text column that the step is about.
    given : str, default=''
        Observed parents of the attribute beside the class: ``wind = Weak``.

    Examples
    --------
    >>> from countwise.working import Step
    >>> step = Step("humidity", "?", state="missing")
    >>> step.event, step.absence
    ('humidity = ?', 'missing')
    """

    attribute: str
    value: str
    factors: tuple[Factor, ...] = ()
    state: str = "known"
    rule: str = ""
    word: str = ""
    given: str = ""

    @property
    def absence(self) -> str:
        """Reason why the attribute is not used."""
        reasons = {
            "never seen": "never seen in training",
            "constant": "the same in all rows",
            "too close": "its values differ by less than numbers of their size can resolve",
            "redundant": "constant or a linear combination of other columns",
        }
        return reasons.get(self.state, self.state)

    @property
    def event(self) -> str:
        """Event whose probability the factors are: ``humidity = High``, or ``comment: refund`` for a word."""
        if self.word:
            return f"{self.attribute}: {self.word}"
        return f"{self.attribute} = {self.value}" if self.value else self.attribute

    def written(self, target: str) -> str:
        """Return the conditional probability as a formula.

        Parameters
        ----------
        target : str
            Name of the target.

        Returns
        -------
        str
            Such as ``P(humidity = High | play, wind = Weak)``.

        Examples
        --------
        >>> from countwise.working import Step
        >>> Step("humidity", "High", given="wind = Weak").written("play")
        'P(humidity = High | play, wind = Weak)'
        """
        return f"P({self.event} | {', '.join([target, self.given] if self.given else [target])})"

    def log_odds(self, a: int, b: int) -> float:
        """Return log P(value | class a) - log P(value | class b), the contribution to the log-odds.

        Parameters
        ----------
        a, b : int
            Positions of the two classes.

        Returns
        -------
        float
            Positive if the step favors class a; 0 if the attribute is not used.

        Examples
        --------
        >>> from countwise.working import Factor, Step
        >>> step = Step("wind", "Weak", (Factor(-0.5, "a", "a"), Factor(-1.5, "b", "b")))
        >>> step.log_odds(0, 1)
        1.0
        """
        if not self.factors:
            return 0.0
        one, two = self.factors[a].log, self.factors[b].log
        return 0.0 if one == two else one - two

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data.

        Returns
        -------
        dict
            Keys `attribute`, `value`, `word`, `state`, `rule`, `factors`, and `given` if it is not empty.

        Examples
        --------
        >>> from countwise.working import Step
        >>> Step("wind", "?", state="missing").to_dict()["state"]
        'missing'
        """
        return {
            "attribute": self.attribute,
            "value": self.value,
            "word": self.word or None,
            **({"given": self.given} if self.given else {}),
            "state": self.state,
            "rule": self.rule,
            "factors": [factor.to_dict() for factor in self.factors],
        }
