"""The working: an answer with every factor that made it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from countwise.working.sections import Section
from countwise.working.steps import Step

__all__ = ["Change", "Working"]


@dataclass(frozen=True, slots=True)
class Change:
    """A smallest change of the attributes that flips the answer.

    Parameters
    ----------
    to : object
        The class that it would then be.
    values : dict of str to str
        The attributes to change, and what to.
    posterior : float
        How probable the new class would then be.
    """

    to: Any
    values: dict[str, str]
    posterior: float

    def __str__(self) -> str:
        from countwise.working.numbers import percent

        changes = " and ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{changes} would make it {self.to} ({percent(self.posterior, certain=self.posterior == 1)})"


@dataclass(frozen=True, slots=True)
class Working:
    """Each factor of an answer, their product, and the normalization.

    Parameters
    ----------
    target : str
        What is being told.
    classes : tuple
        Its values.
    prior : Step
        P(class).
    steps : tuple of Step
        The factor of each attribute, or why it is left out.
    log_joint : tuple of float
        log of prior times factors, a class.
    posterior : tuple of float
        P(class | row).
    chosen : int
        The position of the answer in `classes`.
    notes : tuple of str
        What a reader should know.
    changes : tuple of Change
        What would change the answer.
    interval : tuple of (float, float), optional
        A credible interval on P(class | row) for each class.
    level : float
        The credibility of the interval.
    sections : tuple of Section
        How a factor came about, where it is more than a count or a formula of one number.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> tennis = samples.load("tennis")
    >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
    >>> working = model.explain([{"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}])
    >>> working.answer, str(working.exact_posterior[1])
    ('No', '125/611')
    """

    target: str
    classes: tuple[Any, ...]
    prior: Step
    steps: tuple[Step, ...]
    log_joint: tuple[float, ...]
    posterior: tuple[float, ...]
    chosen: int
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    interval: tuple[tuple[float, float], ...] | None = None
    level: float = 0.9
    given: dict[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    @property
    def answer(self) -> Any:
        """The class chosen."""
        return self.classes[self.chosen]

    @property
    def prior_written(self) -> str:
        """The first factor as a lecture writes it: P(class), or given what the class depends on."""
        given = self.prior.given
        return f"P({self.target} | {given})" if given else f"P({self.target})"

    @property
    def rival(self) -> int:
        """The most probable class other than the answer."""
        others = [c for c in range(len(self.classes)) if c != self.chosen]
        return max(others, key=lambda c: (self.log_joint[c], -c)) if others else self.chosen

    @property
    def used(self) -> tuple[Step, ...]:
        """The steps that have a say."""
        return tuple(step for step in self.steps if step.factors)

    @property
    def left_out(self) -> tuple[Step, ...]:
        """The steps that have none: missing, never seen, constant."""
        return tuple(step for step in self.steps if not step.factors)

    @property
    def exact_joint(self) -> tuple[Fraction | None, ...]:
        """The product of each class as a fraction, where every factor is one."""
        products: list[Fraction | None] = []
        for c in range(len(self.classes)):
            product: Fraction | None = Fraction(1)
            for step in (self.prior, *self.used):
                factor = step.factors[c].fraction
                product = None if product is None or factor is None else product * factor
            products.append(product)
        return tuple(products)

    @property
    def exact_posterior(self) -> tuple[Fraction | None, ...]:
        """P(class | row) as a fraction, where every product is one."""
        joint = self.exact_joint
        known = [j for j in joint if j is not None]
        total = sum(known, Fraction(0))
        if len(known) < len(joint) or total == 0:
            return (None,) * len(joint)
        return tuple(j / total for j in known)

    def share(self, c: int) -> str:
        """P(class | row) as a percentage; certain only where a product is exactly 0."""
        from countwise.working.numbers import percent

        others = [log for k, log in enumerate(self.log_joint) if k != c]
        alone = all(log == -math.inf for log in others)
        return percent(self.posterior[c], certain=self.log_joint[c] == -math.inf or alone)

    def log_odds(self) -> dict[str, float]:
        """What each part speaks for the answer against its nearest rival, in natural logarithms."""
        odds = {self.prior_written: self.prior.log_odds(self.chosen, self.rival)}
        for step in self.used:
            odds[step.event] = step.log_odds(self.chosen, self.rival)
        return odds

    def to_dict(self) -> dict[str, Any]:
        """Plain data; every number unrounded, fractions as text."""

        def text(fractions: tuple[Fraction | None, ...]) -> list[str | None]:
            return [None if f is None else str(f) for f in fractions]

        def number(x: float) -> float | None:
            return x if math.isfinite(x) else None

        return {
            "target": self.target,
            "classes": list(self.classes),
            "answer": self.answer,
            "prior": self.prior.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
            "log_joint": [number(x) for x in self.log_joint],
            "posterior": [number(x) for x in self.posterior],
            "exact_joint": text(self.exact_joint),
            "exact_posterior": text(self.exact_posterior),
            "log_odds": {k: number(v) for k, v in self.log_odds().items()},
            "interval": None if self.interval is None else [list(pair) for pair in self.interval],
            "level": self.level,
            "notes": list(self.notes),
            "sections": [section.to_dict() for section in self.sections],
            "changes": [{"to": c.to, "values": c.values, "posterior": c.posterior} for c in self.changes],
        }

    def text(self, width: int | None = None) -> str:
        """As a lecture writes it; class by class if the table is wider than `width`."""
        from countwise.working.text import render

        return render(self, width)

    def latex(self) -> str:
        """For a paper or a slide."""
        from countwise.working.latex import render

        return render(self)

    def html(self) -> str:
        """For a page or a notebook."""
        from countwise.working.html import render

        return render(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()
