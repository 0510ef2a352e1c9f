"""A working as LaTeX; the document must load amsmath."""

from __future__ import annotations

import re
import unicodedata

from countwise.errors import printable
from countwise.working.grid import shown
from countwise.working.numbers import fraction, number, probability
from countwise.working.sections import Section
from countwise.working.text import columns, folded
from countwise.working.working import Working

__all__ = ["escaped", "render", "section_latex", "text_latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "\xa0": r"\nobreakspace{}",
    "…": r"\ldots{}", "–": "{--}", "—": "{---}", "‘": "{`}", "’": "{'}", "“": "{``}", "”": "{''}",
    "ß": r"{\ss}", "æ": r"{\ae}", "Æ": r"{\AE}", "œ": r"{\oe}", "Œ": r"{\OE}", "ø": r"{\o}", "Ø": r"{\O}",
    "ł": r"{\l}", "Ł": r"{\L}", "ı": r"{\i}", "§": r"{\S}", "¶": r"{\P}", "©": r"{\copyright}",
}  # fmt: skip
_MATH = {
    "−": "-", "·": r"\cdot", "×": r"\times", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≈": r"\approx",
    "∝": r"\propto", "∞": r"\infty", "√": r"\surd", "∫": r"\int", "Σ": r"\Sigma", "∏": r"\prod", "Π": r"\Pi",
    "→": r"\rightarrow", "←": r"\leftarrow", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "∈": r"\in",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "Δ": r"\Delta", "ε": r"\varepsilon",
    "½": r"\tfrac12", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "σ": r"\sigma",
    "φ": r"\varphi", "χ": r"\chi", "°": r"^{\circ}", "¹": "^{1}", "²": "^{2}", "³": "^{3}", "⁻": "^{-}",
    "₁": "_{1}", "₂": "_{2}", "ᵀ": r"^{\mathsf{T}}",
}  # fmt: skip
# Accents that every encoding of fonts has.
_ACCENTS = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0327": r"\c",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")


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
        name = rf"P({text_latex(working.target)} = {text_latex(str(working.classes[c]))},\, \mathbf{{x}})"
        product = r" \cdot ".join(factors)
        lines.append(rf"  {name} &= {product} = {equal} \\")
    for c in columns(working):
        exact = working.exact_posterior[c]
        short = None if exact is None else fraction(exact)
        value = _power(number(working.posterior[c]))
        equal = value if short is None else rf"{_over(short)} = {value}"
        name = rf"P({text_latex(working.target)} = {text_latex(str(working.classes[c]))} \mid \mathbf{{x}})"
        lines.append(rf"  {name} &= {equal} \\")
    lines[-1] = lines[-1].removesuffix(r" \\")
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}", *(section_latex(s) for s in working.sections)])


def section_latex(section: Section) -> str:
    """Return the title, the table and the lines of a section."""
    head = " & ".join(map(text_latex, section.table))
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
    if _NUMBER.fullmatch(text):
        return _power(text)
    return text_latex(text) if text else ""


def text_latex(text: str) -> str:
    """Return any text as LaTeX within a formula."""
    return rf"\text{{{escaped(text)}}}"


def escaped(text: str) -> str:
    """Return any text as LaTeX that shows it, and that no engine can take for a command.

    Letters that pdfLaTeX does not have are shown by LuaLaTeX and XeLaTeX; pdfLaTeX shows their code points.
    """
    return "".join(map(_letter, printable(text, lines=False)))


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter.isascii():
        return letter
    if letter in _MATH:
        return rf"\ensuremath{{{_MATH[letter]}}}"
    base, accent = (*unicodedata.normalize("NFD", letter), "", "")[:2]
    if base.isascii() and base.isalpha() and accent in _ACCENTS and len(unicodedata.normalize("NFD", letter)) == 2:
        return rf"{{{_ACCENTS[accent]}{{{base}}}}}"
    return rf"{{\ifdefined\Umathchar {letter}\else[U+{ord(letter):04X}]\fi}}"


def _over(short: str) -> str:
    above, _, below = short.partition("/")
    return rf"\frac{{{above}}}{{{below}}}" if below else above


def _power(value: str) -> str:
    mantissa, _, exponent = value.partition("e")
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if exponent else mantissa
