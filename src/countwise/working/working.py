"""The working: a prediction with all its factors."""

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
    """Smallest change of attributes that changes the prediction.

    Parameters
    ----------
    to : object
        Class that is predicted after the change.
    values : dict of str to str
        New values of the changed attributes.
    posterior : float
        Posterior of the new class after the change.

    Examples
    --------
    >>> from countwise.working import Change
    >>> print(Change("Yes", {"humidity": "Normal"}, 0.8))
    humidity = Normal would give Yes with probability 80.0 %
    """

    to: Any
    values: dict[str, str]
    posterior: float

    def __str__(self) -> str:
        from countwise.working.numbers import percent

        changes = " and ".join(f"{name} = {value}" for name, value in self.values.items())
        return (
            f"{changes} would give {self.to} with probability {percent(self.posterior, certain=self.posterior == 1)}"
        )


@dataclass(frozen=True, slots=True)
class Working:
    """Working of one prediction: the factors of each class, their product and the posterior.

    P(class | row) = P(class) · Π P(attribute = value | class) / P(row)

    Parameters
    ----------
    target : str
        Name of the target.
    classes : tuple
        Classes of the target.
    prior : Step
        P(class) of each class.
    steps : tuple of Step
        Factors of each attribute, or the reason why it is not used.
    log_joint : tuple of float
        Logarithm of prior times factors, for each class.
    posterior : tuple of float
        P(class | row) of each class.
    chosen : int
        Position of the predicted class in `classes`.
    notes : tuple of str, default=()
        Remarks for the reader.
    changes : tuple of Change, default=()
        Smallest changes of attributes that change the prediction.
    interval : tuple of (float, float) or None, default=None
        Credible interval of P(class | row) for each class.
    level : float, default=0.9
        Credibility of the interval.
    given : dict of str to str, default={}
        Values of the queried row, as shown.
    sections : tuple of Section, default=()
        How a factor was computed, if it is more than a count or a formula of one number.

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
        """Predicted class."""
        return self.classes[self.chosen]

    @property
    def prior_written(self) -> str:
        """Prior as a formula: ``P(play)``, or ``P(play | parents)`` in a Bayesian network."""
        given = self.prior.given
        return f"P({self.target} | {given})" if given else f"P({self.target})"

    @property
    def rival(self) -> int:
        """Position of the most probable class other than the predicted one."""
        others = [c for c in range(len(self.classes)) if c != self.chosen]
        return max(others, key=lambda c: (self.log_joint[c], -c)) if others else self.chosen

    @property
    def used(self) -> tuple[Step, ...]:
        """Steps of the attributes that are used."""
        return tuple(step for step in self.steps if step.factors)

    @property
    def left_out(self) -> tuple[Step, ...]:
        """Steps of the attributes that are not used: missing, never seen in training, constant or redundant."""
        return tuple(step for step in self.steps if not step.factors)

    @property
    def exact_joint(self) -> tuple[Fraction | None, ...]:
        """Product of each class as an exact fraction; None if a factor has no exact value."""
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
        """P(class | row) of each class as an exact fraction; None if a product has no exact value."""
        joint = self.exact_joint
        known = [j for j in joint if j is not None]
        total = sum(known, Fraction(0))
        if len(known) < len(joint) or total == 0:
            return (None,) * len(joint)
        return tuple(j / total for j in known)

    def share(self, c: int) -> str:
        """Return P(class | row) as a percentage.

        It is 0 % or 100 % only if a product is exactly 0; otherwise ``< 0.1 %`` and ``> 99.9 %`` are the limits.

        Parameters
        ----------
        c : int
            Position of the class in `classes`.

        Returns
        -------
        str
            The posterior, rounded to one decimal.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> working = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y).explain([{"outlook": "Sunny"}])
        >>> [working.share(c) for c in range(2)]
        ['60.0 %', '40.0 %']
        """
        from countwise.working.numbers import percent

        others = [log for k, log in enumerate(self.log_joint) if k != c]
        alone = all(log == -math.inf for log in others)
        return percent(self.posterior[c], certain=self.log_joint[c] == -math.inf or alone)

    def log_odds(self) -> dict[str, float]:
        """Return the log-odds of the predicted class against the most probable other class, by attribute.

        Returns
        -------
        dict of str to float
            Contributions of the prior and of each attribute, in natural logarithms. Their sum is the log-odds of
            the prediction.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
        >>> odds = model.explain([{"outlook": "Sunny", "wind": "Strong"}]).log_odds()
        >>> {event: round(value, 3) for event, value in odds.items()}
        {'P(class)': -0.588, 'outlook = Sunny': 0.993, 'wind = Strong': 0.588}
        """
        odds = {self.prior_written: self.prior.log_odds(self.chosen, self.rival)}
        for step in self.used:
            odds[step.event] = step.log_odds(self.chosen, self.rival)
        return odds

    def to_dict(self) -> dict[str, Any]:
        """Return the working as plain data.

        Returns
        -------
        dict
            All fields of the working with unrounded numbers; exact fractions are strings, infinite numbers are None.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
        >>> model.explain([{"outlook": "Sunny"}]).to_dict()["exact_posterior"]
        ['3/5', '2/5']
        """

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
        """Return the working as plain text.

        Parameters
        ----------
        width : int or None, default=None
            If the table of factors is wider than this many characters, the classes are shown one after the other.

        Returns
        -------
        str
            The factors, the prediction, the attributes that are not used, and the notes.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
        >>> print(model.explain([{"outlook": "Sunny", "wind": None}]).text())
                                    class = No       class = Yes      log-odds No : Yes
        P(class)                    5/14 = 0.357143  9/14 = 0.642857             -0.588
        P(outlook = Sunny | class)  3/5 = 0.6        2/9 = 0.222222              +0.993
        product                     3/14 = 0.214286  1/7 = 0.142857              +0.405
        posterior                   3/5 = 60.0 %     2/5 = 40.0 %
        <BLANKLINE>
        class = No with probability 60.0 % (90 % credible interval 22.4 % to 86.8 %).
        Not used: temperature (missing).
        Not used: humidity (missing).
        Not used: wind (missing).
        What would change the prediction:
          outlook = Overcast would give Yes with probability 100 %.
        """
        from countwise.errors import check_number
        from countwise.working.text import render

        check_number("width", width, 1, none=True, whole=True)
        return render(self, width)

    def latex(self, width: int | None = None) -> str:
        r"""Return the working as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            Formulas and tables are broken to fit into this many characters; a beamer frame has about 56. If None,
            nothing is broken.

        Returns
        -------
        str
            An ``align*`` environment, followed by the sections.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
        >>> print(model.explain([{"outlook": "Sunny"}]).latex())
        \begin{align*}
          P(\text{class},\, \mathbf{x}) &= P(\text{class}) \cdot P(\text{outlook = Sunny} \mid \text{class}) \\
          P(\text{class} = \text{No},\, \mathbf{x}) &= \frac{5}{14} \cdot \frac{3}{5} = \frac{3}{14} = 0.214286 \\
          P(\text{class} = \text{Yes},\, \mathbf{x}) &= \frac{9}{14} \cdot \frac{2}{9} = \frac{1}{7} = 0.142857 \\
          P(\text{class} = \text{No} \mid \mathbf{x}) &= \frac{3}{5} = 0.6 \\
          P(\text{class} = \text{Yes} \mid \mathbf{x}) &= \frac{2}{5} = 0.4
        \end{align*}
        \noindent class = No with probability 60.0 \% (90 \% credible interval 22.4 \% to 86.8 \%).\par
        \noindent Not used: temperature (missing).\par
        \noindent Not used: humidity (missing).\par
        \noindent Not used: wind (missing).\par
        \noindent What would change the prediction:\par
        \noindent   outlook = Overcast would give Yes with probability 100 \%.\par
        """
        from countwise.errors import check_number
        from countwise.working.latex import render

        check_number("width", width, 1, none=True)
        return render(self, width)

    def html(self) -> str:
        """Return the working as HTML that needs no external style sheet.

        Returns
        -------
        str
            The prediction, a table with a bar for each factor, the notes and the sections.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.X, tennis.y)
        >>> "<td>P(outlook = Sunny | class)</td>" in model.explain([{"outlook": "Sunny"}]).html()
        True
        """
        from countwise.working.html import render

        return render(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()
