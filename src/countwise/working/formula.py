"""Computations as text, and the same computations as LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Formula", "Part", "joined", "parts_of", "width_of"]


class Formula(str):
    """Text that is a computation, such as ``0.94 - (7/14)·0.985 = 0.4475``.

    Plain text and HTML show it as it is. LaTeX sets it as mathematics: a quotient becomes a fraction, a name upright
    text.

    Examples
    --------
    >>> from countwise.working import Formula, Grid, Section
    >>> section = Section("gain", Grid({}), (Formula("gain(wind) = 0.94 - (8/14)·0.811 - (6/14)·1 = 0.048"),))
    >>> print(section.latex())
    \\noindent\\textbf{gain}
    \\[
    \\text{gain}(\\text{wind}) = 0.94 - \\frac{8}{14} \\cdot 0.811 - \\frac{6}{14} \\cdot 1 = 0.048
    \\]
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Piece of a formula: its LaTeX, its width in characters, and whether it is an operator."""

    latex: str
    width: float
    operator: bool = False
    inside: tuple[Part, ...] = ()  # the pieces of a bracket; a line may be broken between them, too


_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|\.[0-9]+"
_LETTER = r"[^\W_¹²³₀-₉ᵢⱼᵀ]"
_WORD = rf"(?![0-9]){_LETTER}(?:{_LETTER}|[_'](?={_LETTER})|[-.](?={_LETTER}))*"
_TOKENS = re.compile(rf"(?P<number>{_NUMBER})|(?P<word>{_WORD})|(?P<space>\s+)|(?P<other>[<>!]=|.)", re.DOTALL)
_OPERATORS = {
    "=": "=", "+": "+", "-": "-", "−": "-", "·": r"\cdot", "×": r"\times", "±": r"\pm", "≤": r"\le", "≥": r"\ge",
    "<": "<", ">": ">", "≠": r"\ne", "≈": r"\approx", "∝": r"\propto", "→": r"\rightarrow", "∈": r"\in",
    "∧": r"\wedge", "∨": r"\vee", ":": ":", "<=": r"\le", ">=": r"\ge", "!=": r"\ne",
}  # fmt: skip
_FUNCTIONS = {"log": r"\log", "log2": r"\log_2", "ln": r"\ln", "exp": r"\exp", "max": r"\max", "min": r"\min",
              "sqrt": r"\sqrt"}  # fmt: skip
_POWERS = {"¹": "1", "²": "2", "³": "3", "⁻": "-", "ᵀ": r"\mathsf{T}"}
_INDICES = {"₀": "0", "₁": "1", "₂": "2", "₃": "3", "ᵢ": "i", "ⱼ": "j"}
_SYMBOLS = {
    "Σ": r"\sum", "∏": r"\prod", "Π": r"\prod", "∞": r"\infty", "φ": r"\varphi", "χ": r"\chi", "μ": r"\mu",
    "σ": r"\sigma", "λ": r"\lambda", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "Δ": r"\Delta",
    "ε": r"\varepsilon", "θ": r"\theta", "π": r"\pi", "Γ": r"\Gamma", "½": r"\tfrac12", "…": r"\ldots", "%": r"\,\%",
    "'": "'", "!": "!", "[": "[", "]": "]", "~": r"\sim",
}  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def parts_of(text: str) -> list[Part]:
    """Return the pieces of a formula from left to right; a line may be broken before an operator.

    Examples
    --------
    >>> from countwise.working.formula import parts_of
    >>> [part.latex for part in parts_of("(3 + 1)/(5 + 3) = 0.5")]
    ['\\\\frac{3 + 1}{5 + 3}', '=', '0.5']
    """
    return _Reader(text).parts()


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = [(match.lastgroup or "", match.group()) for match in _TOKENS.finditer(text)]
        self.at = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def take(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def parts(self, closing: str = "") -> list[Part]:
        """Read up to the closing bracket, or to the end."""
        found: list[Part] = []
        while self.at < len(self.tokens):
            kind, text = self.peek()
            if closing and text == closing:
                break
            if kind == "space":
                self.take()
            elif text == "|" and self._between_blanks():
                self.take()
                found.append(Part(r"\mid", 2, operator=True))
            elif text in _OPERATORS:
                self.take()
                found.append(Part(_OPERATORS[text], 2, operator=True))
            elif text in (",", ";"):
                self.take()
                found.append(Part(rf"{text}\,", 1.5))
            else:
                found.append(self._quotient())
        return found

    def _between_blanks(self) -> bool:
        before = self.tokens[self.at - 1][0] if self.at else "space"
        after = self.tokens[self.at + 1][0] if self.at + 1 < len(self.tokens) else "space"
        return before == after == "space"

    def _quotient(self) -> Part:
        """Read operands that are joined by a slash."""
        part, above = self._operand()
        while self.peek()[1] == "/" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] != "space":
            self.take()
            below = self._operand()[1]
            part = above = Part(rf"\frac{{{above.latex}}}{{{below.latex}}}", max(above.width, below.width) + 0.5)
        return part

    def _operand(self) -> tuple[Part, Part]:
        """Read a number, a name with its arguments, or a bracket; also return it without its outer bracket."""
        kind, text = self.take()
        if kind == "number":
            part = Part(_scientific(text), len(text))
            bare = part
        elif text == "√":
            _, inner = self._operand() if self.at < len(self.tokens) else (Part("", 0), Part("", 0))
            part = bare = Part(rf"\sqrt{{{inner.latex}}}", inner.width + 1.5)
        elif kind == "word":
            part = bare = self._named(text)
        elif text in ("(", "["):
            part, bare = self._bracket(text)
        else:
            part = bare = _symbol(text)
        scripted = self._scripts(part)
        return scripted, (bare if scripted is part else scripted)

    def _bracket(self, opening: str) -> tuple[Part, Part]:
        closing = self._partner(opening)
        inside = self.parts(closing)
        if self.peek()[1] != closing:  # no closing bracket: only a character
            return (plain := Part(rf"{opening}{joined(inside)}", 1 + width_of(inside))), plain
        self.take()
        latex, width = joined(inside), width_of(inside)
        tall = r"\frac" in latex or r"\sqrt" in latex
        shown = rf"\left{opening}{latex}\right{closing}" if tall else f"{opening}{latex}{closing}"
        bare = Part(latex, width)
        # (7/14)·0.985: a fraction alone needs no bracket
        alone = opening == "(" and len(inside) == 1 and latex.startswith(r"\frac") and self.peek()[1] not in _POWERS
        opened = Part(rf"\bigl{opening}", 1), *inside, Part(rf"\bigr{closing}", 1)
        return (bare if alone and self.peek()[1] != "^" else Part(shown, width + 2, inside=opened)), bare

    def _partner(self, opening: str) -> str:
        """Return the bracket that closes this one; that of a half-open interval is of the other kind: (42, 46]."""
        depth = 0
        for _, text in self.tokens[self.at :]:
            if text in (")", "]"):
                if not depth:
                    return text
                depth -= 1
            depth += text in ("(", "[")
        return _CLOSING[opening]

    def _named(self, text: str) -> Part:
        """Read a name of one or more words, and the bracket with its arguments."""
        if text == "Σ" and self._ends_here():
            return Part(r"\Sigma", 1)
        words = [text]
        while (
            text not in _SYMBOLS
            and self.peek()[0] == "space"
            and self.at + 1 < len(self.tokens)
            and self.tokens[self.at + 1][0] == "word"
        ):
            self.take()
            words.append(self.take()[1])
        name = Part(_name(words), len(" ".join(words)))
        if self.peek()[1] == "(":
            self.take()
            inside = self.parts(")")
            if self.peek()[1] == ")":
                self.take()
            latex = joined(inside)
            if words == ["sqrt"]:
                return Part(rf"\sqrt{{{latex}}}", width_of(inside) + 1.5)
            tall = r"\frac" in latex or r"\sqrt" in latex
            brackets = rf"\left({latex}\right)" if tall else f"({latex})"
            return Part(name.latex + brackets, name.width + 2 + width_of(inside))
        return name

    def _ends_here(self) -> bool:
        """Return whether no operand follows, so that Σ is a matrix and no sum."""
        behind = "".join(text for _, text in self.tokens[self.at : self.at + 2])
        return not behind or behind[0] in "|,)" or behind == " ="

    def _scripts(self, part: Part) -> Part:
        """Read the powers and indices behind an operand."""
        power = index = ""
        while True:
            text = self.peek()[1]
            if text == "!" and not power and not index:
                self.take()
                part = Part(f"{part.latex}!", part.width + 1)
            elif text and text in _POWERS:
                power += _POWERS[self.take()[1]]
            elif text and text in _INDICES:
                index += _INDICES[self.take()[1]]
            elif text in ("^", "_") and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] != "space":
                self.take()
                sign = self.take()[1] if self.peek()[1] == "-" else ""
                inner = sign + (self._operand()[1].latex if self.at < len(self.tokens) else "")
                power, index = (power + inner, index) if text == "^" else (power, index + inner)
            else:
                break
        if not power and not index:
            return part
        latex = r"\Sigma" if part.latex == r"\sum" and power else part.latex  # a matrix, no sum
        scripts = (f"_{{{index}}}" if index else "") + (f"^{{{power}}}" if power else "")
        return Part(latex + scripts, part.width + 0.7 * max(len(index), min(len(power), 4)))


def _scientific(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _name(words: list[str]) -> str:
    """Return a name as LaTeX: a single letter is a variable, a longer name upright text."""
    from countwise.working.latex import escaped

    if len(words) == 1:
        word = words[0]
        if word in _FUNCTIONS:
            return _FUNCTIONS[word]
        if len(word) == 1:
            return word if word.isascii() else _symbol(word).latex
        letter, _, index = word.partition("_")
        if len(letter) == 1 and 0 < len(index) <= 2:
            return rf"{letter if letter.isascii() else _symbol(letter).latex}_{{\mathrm{{{escaped(index)}}}}}"
    return rf"\text{{{escaped(' '.join(words))}}}"


def _symbol(text: str) -> Part:
    from countwise.working.latex import escaped

    if text == "|":
        return Part("|", 1)
    if text in _SYMBOLS:
        return Part(_SYMBOLS[text], 1)
    return Part(rf"\text{{{escaped(text)}}}", len(text))


def joined(parts: list[Part]) -> str:
    """Join pieces with single blanks; no blank before a comma."""
    return " ".join(part.latex for part in parts).replace(r" ,\,", r",\,").replace(r" ;\,", r";\,")


def width_of(parts: list[Part]) -> float:
    """Return the width of pieces in characters."""
    return sum(part.width for part in parts)
