"""Smoothing as a table: each frequency as it was counted, and after the pseudocounts were added."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from countwise.working.formula import Formula
from countwise.working.grid import Grid
from countwise.working.numbers import fraction, probability
from countwise.working.steps import Factor, Step

__all__ = ["frequency", "smoothing_table"]


def frequency(count: Fraction, total: Fraction, power: float = 1.0, *, absent: bool = False) -> str:
    """Return a relative frequency as a formula: as it is, to a power, or that of the absence of a word.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from countwise.working.smoothing import frequency
    >>> frequency(Fraction(2), Fraction(9)), frequency(Fraction(2), Fraction(9), absent=True)
    ('2/9', '1 - 2/9')
    """
    text = f"{_operand(count)}/{_operand(total)}"
    if absent:
        return f"1 - {text}"
    return text if power == 1 else f"({text})^{power:g}"


def _operand(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"({value})"


def smoothing_table(steps: Sequence[Step], classes: Sequence[Any]) -> Grid:
    """Return a row for each probability and class: the frequency, and the value after smoothing.

    Steps that are not frequencies are left out.

    Examples
    --------
    >>> import math
    >>> from countwise.working import Factor, Step
    >>> from countwise.working.smoothing import smoothing_table
    >>> one = Factor(math.log(1 / 8), "(0 + 1)/(5 + 3)", "", raw="0/5")
    >>> print(smoothing_table([Step("outlook", "Overcast", (one,))], ["No"]))
    probability                 raw  smoothed
    P(outlook = Overcast | No)  0/5  (0 + 1)/(5 + 3) = 0.125
    """
    rows = [
        (_label(step, str(label)), Formula(factor.raw), Formula(_smoothed(factor)))
        for step in steps
        for label, factor in zip(classes, step.factors, strict=False)
        if factor.raw
    ]
    names = ("probability", "raw", "smoothed")
    return Grid(
        dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else dict.fromkeys(names, ())
    )


def _label(step: Step, label: str) -> str:
    if step.rule == "prior":
        return f"P({label})"
    return step.written(label) if step.rule != "rate" else f"{step.event} | {label}"


def _smoothed(factor: Factor) -> str:
    """Return a factor as formula, exact fraction and decimal."""
    value = probability(factor.log)
    exact = None if factor.fraction is None else fraction(factor.fraction)
    return " = ".join(dict.fromkeys([factor.text, *([] if exact is None else [exact]), value]))
