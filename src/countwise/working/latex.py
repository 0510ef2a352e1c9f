"""A working as LaTeX, for a slide or a paper (needs amsmath)."""

from __future__ import annotations

from countwise.working.numbers import fraction, number, probability
from countwise.working.text import columns, folded
from countwise.working.working import Working

__all__ = ["render"]

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def render(working: Working) -> str:
    """One line a class: prior, factors, product; then the posterior."""
    steps, rest = folded(working, most=12)
    lines = []
    for c in columns(working):
        factors = [working.prior.factors[c].latex, *(step.factors[c].latex for step in steps)]
        if rest:
            factors.append(_power(probability(sum(step.factors[c].log for step in rest))))
        exact = working.exact_joint[c]
        short = None if exact is None else fraction(exact)
        value = _power(probability(working.log_joint[c]))
        equal = value if short is None else rf"{_over(short)} = {value}"
        name = rf"P(\text{{{_text(working.target)}}} = \text{{{_text(str(working.classes[c]))}}},\, \mathbf{{x}})"
        product = r" \cdot ".join(factors)
        lines.append(rf"  {name} &= {product} = {equal} \\")
    for c in columns(working):
        exact = working.exact_posterior[c]
        short = None if exact is None else fraction(exact)
        value = number(working.posterior[c])
        equal = value if short is None else rf"{_over(short)} = {value}"
        name = rf"P(\text{{{_text(working.target)}}} = \text{{{_text(str(working.classes[c]))}}} \mid \mathbf{{x}})"
        lines.append(rf"  {name} &= {equal} \\")
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"])


def _text(words: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in words)


def _over(short: str) -> str:
    above, _, below = short.partition("/")
    return rf"\frac{{{above}}}{{{below}}}" if below else above


def _power(value: str) -> str:
    mantissa, _, exponent = value.partition("e")
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if exponent else mantissa
