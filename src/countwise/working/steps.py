"""Steps: the parts of an answer before they are summed, as data.

Numbers are kept whole here; only the renderings round.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Factor", "Step"]


@dataclass(frozen=True, slots=True)
class Factor:
    """One class's factor for one attribute: P(attribute = value | class).

    Parameters
    ----------
    log : float
        Its natural logarithm, as it enters the sum.
    text : str
        How a lecture would write it: ``2/9`` or ``φ(66; 73, 6.164)``.
    latex : str
        The same for a formula.
    fraction : Fraction or None
        The exact value, where counts and smoothing are whole.
    count, total : float or None
        What was counted, and out of how many.
    """

    log: float
    text: str
    latex: str
    fraction: Fraction | None = None
    count: float | None = None
    total: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "log": self.log,
            "text": self.text,
            "fraction": None if self.fraction is None else str(self.fraction),
            "count": self.count,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """One attribute's part in an answer: a factor for each class, or the reason why there is none.

    Parameters
    ----------
    attribute : str
        Its name.
    value : str
        The value as written.
    factors : tuple of Factor
        One a class; empty if the factor is left out.
    state : {"known", "missing", "never seen", "constant", "redundant"}
        Why a factor is left out, if it is.
    rule : str
        The law behind the factors: ``categorical, Laplace 1``.
    word : str
        For a text: the word that this step is about.
    given : str
        What it depends on beside the class, and is known: ``wind = Weak``.
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
        """Why the factor is left out, in words."""
        words = {
            "missing": "missing",
            "never seen": "never seen in training",
            "constant": "the same in all rows",
            "redundant": "told by other columns, or without spread",
        }
        return words[self.state]

    @property
    def event(self) -> str:
        """What the factor is the probability of."""
        if self.word:
            return f"{self.attribute}: {self.word}"
        return f"{self.attribute} = {self.value}" if self.value else self.attribute

    def written(self, target: str) -> str:
        """The factor as a lecture writes it: ``P(humidity = High | play, wind = Weak)``."""
        return f"P({self.event} | {', '.join([target, self.given] if self.given else [target])})"

    def log_odds(self, a: int, b: int) -> float:
        """How much this step speaks for class a against class b, in natural logarithms."""
        if not self.factors:
            return 0.0
        one, two = self.factors[a].log, self.factors[b].log
        return 0.0 if one == two else one - two

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attribute": self.attribute,
            "value": self.value,
            "word": self.word or None,
            **({"given": self.given} if self.given else {}),
            "state": self.state,
            "rule": self.rule,
            "factors": [factor.to_dict() for factor in self.factors],
        }
