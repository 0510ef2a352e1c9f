"""Rounding: numbers, probabilities, percentages and log-odds as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Self

__all__ = [
    "RowNumbers",
    "Worked",
    "cell",
    "counted",
    "decimal",
    "fraction",
    "normal",
    "normal_written",
    "number",
    "percent",
    "poisson",
    "poisson_written",
    "precise",
    "probability",
    "signed",
]

_ERROR = 1e-4  # largest relative error of a factor that is computed again from its text
_LARGE = 1e5  # larger values of a table are shown with all their digits
_LONG = 10**9  # fractions with a larger numerator or denominator are shown as decimals only


def counted(n: int, what: str) -> str:
    """Return a count with its noun: ``1 edge``, ``2 edges``."""
    return f"{n} {what}{'s' * (n != 1)}"


class Worked(float):
    """A float that prints together with its derivation, such as ``3/5 = 0.6``, and knows the count in its numerator.

    Examples
    --------
    >>> from countwise.working.numbers import Worked
    >>> p = Worked(0.6, "3/5")
    >>> p + 0, str(p)
    (0.6, '3/5 = 0.6')
    """

    text: str
    count: float | None

    def __new__(cls, value: float, text: str, count: float | None = None) -> Self:
        """Create the number with the text of its derivation and, for a relative frequency, its count."""
        made = super().__new__(cls, value)
        made.text, made.count = text, count
        return made

    def __getnewargs__(self) -> tuple[float, str, float | None]:  # type: ignore[override]
        return float(self), self.text, self.count

    def __str__(self) -> str:
        return f"{self.text} = {number(self)}" if self.text else number(self)


class RowNumbers(tuple[int, ...]):
    """Numbers of rows, counted from 0; as text only the first ones.

    Examples
    --------
    >>> from countwise.working.numbers import RowNumbers
    >>> print(RowNumbers([1, 4, 7]), RowNumbers(range(100)), sep="; ")
    1, 4, 7; 0, 1, 2, 3, 4, 5, 6, 7 and 92 more
    """

    __slots__ = ()
    _most: ClassVar[int] = 8

    def __str__(self) -> str:
        shown = ", ".join(map(str, self[: self._most]))
        rest = len(self) - self._most
        return f"{shown} and {rest} more" if rest > 1 else ", ".join(map(str, self))


def number(value: float) -> str:
    """Return a number with at most six significant digits and no trailing zeros.

    Examples
    --------
    >>> from countwise.working.numbers import number
    >>> number(25.033333333), number(3.0), number(1e-7)
    ('25.0333', '3', '1e-7')
    """
    return _digits(value, 6)


def _digits(value: float, figures: int) -> str:
    text = f"{value:.{figures}g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e") if "e" in text else text


def decimal(value: float) -> str:
    """Return a number with six significant digits and without an exponent, unless it is below 1e-9 or very large.

    Examples
    --------
    >>> from countwise.working.numbers import decimal
    >>> decimal(0.0000390625), decimal(1.5), decimal(2e-12)
    ('0.0000390625', '1.5', '2e-12')
    """
    text = number(value)
    _, _, exponent = text.partition("e-")
    return f"{float(text):.{int(exponent) + 5}f}".rstrip("0") if exponent and int(exponent) < 10 else text


def precise(value: float, error: float) -> str:
    """Return a number with six significant digits, or with as many as its rounding error needs to be at most `error`.

    Examples
    --------
    >>> from countwise.working.numbers import precise
    >>> precise(25.033333333, 1e-4), precise(1000000004.0, 1e-4)
    ('25.0333', '1000000004')
    """
    for figures in range(6, 17):
        text = _digits(value, figures)
        if abs(float(text) - value) <= error:
            return text
    return _digits(value, 17)


def cell(value: float) -> str:
    """Return a value of a table: six significant digits, or all digits of a large value.

    Examples
    --------
    >>> from countwise.working.numbers import cell
    >>> cell(25.033333333), cell(1000000004.0), cell(1e300)
    ('25.0333', '1000000004', '1e300')
    """
    return number(value) if abs(value) < _LARGE or not math.isfinite(value) else precise(value, 0.0)


def normal(x: float, mean: float, sd: float) -> tuple[str, str]:
    """Return φ(x; mean, sd) as text and as LaTeX, with enough digits to compute it again far from 0 too.

    Examples
    --------
    >>> from countwise.working.numbers import normal
    >>> normal(66.0, 73.0, 6.16441400297)[0], normal(1000000004.0, 1000000001.0, 1.0)[0]
    ('φ(66; 73, 6.16441)', 'φ(1000000004; 1000000001, 1)')
    """
    texts = _parameters(x, mean, sd)
    return "φ({}; {}, {})".format(*texts), r"\varphi({};\,{},\,{})".format(*texts)


def _parameters(x: float, mean: float, sd: float) -> tuple[str, str, str]:
    z = abs(x - mean) / sd if sd > 0 else math.inf
    near = _ERROR * sd / max(z, 1.0)
    return precise(x, near), precise(mean, near), precise(sd, near / max(z, 1.0))


def normal_written(x: float, mean: float, sd: float) -> str:
    """Return φ(x; mean, sd) with its definition, in which the numbers are inserted.

    Examples
    --------
    >>> from countwise.working.numbers import normal_written
    >>> normal_written(66.0, 73.0, 7.95)
    'φ(66; 73, 7.95) = 1/(√(2π)·7.95)·exp(-(66 - 73)²/(2·7.95²))'
    """
    at, center, spread = _parameters(x, mean, sd)
    center_shown = f"({center})" if mean < 0 else center
    return f"φ({at}; {center}, {spread}) = 1/(√(2π)·{spread})·exp(-({at} - {center_shown})²/(2·{_base(spread)}²))"


def poisson_written(x: float, rate: float) -> str:
    """Return Pois(x; rate) with its definition, in which the numbers are inserted.

    Examples
    --------
    >>> from countwise.working.numbers import poisson_written
    >>> poisson_written(3.0, 2.5)
    'Pois(3; 2.5) = 2.5^3·e^-2.5/3!'
    """
    name = poisson(x, rate)[0]
    at, mean = name[5:-1].split("; ")
    factorial = f"{at}!" if x == int(x) else f"Γ({at} + 1)"
    return f"{name} = {_base(mean)}^{at}·e^-{mean}/{factorial}"


def _base(text: str) -> str:
    """Return a number as the base of a power."""
    return f"({text})" if "e" in text else text


def poisson(x: float, rate: float) -> tuple[str, str]:
    """Return Pois(x; rate) as text and as LaTeX, with enough digits to compute it again.

    Examples
    --------
    >>> from countwise.working.numbers import poisson
    >>> poisson(3.0, 2.3333333)[0], poisson(1234567.0, 1230000.25)[0]
    ('Pois(3; 2.33333)', 'Pois(1234567; 1230000.25)')
    """
    texts = precise(x, 0.0), precise(rate, _ERROR * rate / max(abs(x - rate), 1.0))
    return "Pois({}; {})".format(*texts), r"\mathrm{{Pois}}({};\,{})".format(*texts)


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
