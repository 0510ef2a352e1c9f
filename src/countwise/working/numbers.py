"""Rounding: numbers, probabilities, percentages and log-odds as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self

__all__ = ["Worked", "counted", "fraction", "number", "percent", "probability", "signed"]

_LONG = 10**9  # fractions with a larger numerator or denominator are shown as decimals only


def counted(n: int, what: str) -> str:
    """Return a count with its noun: ``1 edge``, ``2 edges``."""
    return f"{n} {what}{'s' * (n != 1)}"


class Worked(float):
    """A float that prints together with its derivation, such as ``3/5 = 0.6``.

    Examples
    --------
    >>> from countwise.working.numbers import Worked
    >>> p = Worked(0.6, "3/5")
    >>> p + 0, str(p)
    (0.6, '3/5 = 0.6')
    """

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """Create the number with the text of its derivation."""
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.text

    def __str__(self) -> str:
        return f"{self.text} = {number(self)}" if self.text else number(self)


def number(value: float) -> str:
    """Return a number with at most six significant digits and no trailing zeros.

    Examples
    --------
    >>> from countwise.working.numbers import number
    >>> number(25.033333333), number(3.0), number(1e-7)
    ('25.0333', '3', '1e-7')
    """
    return f"{value:.6g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def percent(p: float, *, certain: bool = False) -> str:
    """Return a probability as a percentage; 0 % and 100 % only if it is certain.

    Examples
    --------
    >>> from countwise.working.numbers import percent
    >>> percent(0.2046), percent(0.99999), percent(1.0), percent(1.0, certain=True)
    ('20.5 %', '> 99.9 %', '> 99.9 %', '100 %')
    """
    if math.isnan(p):
        return "?"
    if certain:
        return f"{100 * p:.0f} %"
    if p < 0.0005:
        return "< 0.1 %"
    if p > 0.9995:
        return "> 99.9 %"
    return f"{100 * p:.1f} %"


def probability(log: float) -> str:
    """Return exp(log) with six significant digits, also where it underflows or overflows a float.

    Examples
    --------
    >>> from countwise.working.numbers import probability
    >>> probability(-1.0), probability(-1e4), probability(-math.inf)
    ('0.367879', '1.13548e-4343', '0')
    """
    if math.isnan(log):
        return "?"
    if log == -math.inf:
        return "0"
    if -700 < log < 700:
        return number(math.exp(log))
    ten = log / math.log(10)
    whole = math.floor(ten)
    return f"{10 ** (ten - whole):.6g}e{whole}"


def fraction(value: Fraction) -> str | None:
    """Return a fraction as text, or None if its numerator or denominator is too long to read."""
    if abs(value.numerator) > _LONG or value.denominator > _LONG:
        return None
    return str(value)


def signed(value: float) -> str:
    """Return a log-odds with its sign and three decimals.

    Examples
    --------
    >>> from countwise.working.numbers import signed
    >>> signed(0.5), signed(-math.inf), signed(0.0)
    ('+0.500', '-∞', '0')
    """
    if math.isnan(value):
        return "?"
    if value == 0:
        return "0"
    if math.isinf(value):
        return "+∞" if value > 0 else "-∞"
    return f"{value:+.3f}"
