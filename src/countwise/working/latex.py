"""A working as LaTeX; the document must load amsmath."""

from __future__ import annotations

from countwise.working.grid import shown
from countwise.working.numbers import fraction, number, probability
from countwise.working.sections import Section
from countwise.working.text import columns, folded
from countwise.working.working import Working

__all__ = ["render", "section_latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def render(working: Working) -> str:
    """Return one line for each class with prior, factors and product, then one for each posterior."""
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
        name = rf"P(\text{{{escaped(working.target)}}} = \text{{{escaped(str(working.classes[c]))}}},\, \mathbf{{x}})"
        product = r" \cdot ".join(factors)
        lines.append(rf"  {name} &= {product} = {equal} \\")
    for c in columns(working):
        exact = working.exact_posterior[c]
        short = None if exact is None else fraction(exact)
        value = _power(number(working.posterior[c]))
        equal = value if short is None else rf"{_over(short)} = {value}"
        name = (
            rf"P(\text{{{escaped(working.target)}}} = \text{{{escaped(str(working.classes[c]))}}} \mid \mathbf{{x}})"
        )
        lines.append(rf"  {name} &= {equal} \\")
    lines[-1] = lines[-1].removesuffix(r" \\")
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}", *(section_latex(s) for s in working.sections)])


def section_latex(section: Section) -> str:
    """Return the title, the table and the lines of a section."""
    head = " & ".join(rf"\text{{{escaped(name)}}}" for name in section.table)
    rows = [" & ".join(_cell(shown(cell)) for cell in row) for row in section.table.rows()]
    table = [
        rf"\begin{{array}}{{l{'r' * (len(section.table) - 1)}}}",
        "  " + " \\\\\n  ".join([head, *rows]),
        r"\end{array}",
    ]
    lines = [rf"\noindent {escaped(line)}\\" for line in section.lines]
    body = [r"\[", *table, r"\]"] if section.table.n_rows else []
    return "\n".join([rf"\noindent\textbf{{{escaped(section.title)}}}", *body, *lines])


def _cell(text: str) -> str:
    """Return a number as math and any other value as text."""
    try:
        float(text)
    except ValueError:
        return rf"\text{{{escaped(text)}}}" if text else ""
    return _power(text)


def escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _over(short: str) -> str:
    above, _, below = short.partition("/")
    return rf"\frac{{{above}}}{{{below}}}" if below else above


def _power(value: str) -> str:
    mantissa, _, exponent = value.partition("e")
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if exponent else mantissa
