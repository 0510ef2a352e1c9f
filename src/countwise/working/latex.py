"""A working as LaTeX; the document must load amsmath."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, groupby
from math import ceil
from typing import Any

from countwise.errors import printable
from countwise.working.formula import Formula, Part, parts_of
from countwise.working.formula import joined as _joined
from countwise.working.formula import width_of as _width
from countwise.working.grid import Grid, Matrix
from countwise.working.grid import shown as shown_text
from countwise.working.numbers import RowNumbers, Worked, fraction, number, probability
from countwise.working.sections import Section
from countwise.working.steps import Factor, Step
from countwise.working.text import columns, folded, remarks, verdict
from countwise.working.working import Working

__all__ = ["LETTER", "escaped", "formula_latex", "grid_latex", "lines_latex", "render", "section_latex", "text_latex"]

_ROWS, _ROWS_OF_A_FRAME = 25, 10  # of one table: more rows go into a further table, since no page divides a table
_LINES_OF_A_FRAME = 6  # of an equation with fractions
LETTER = 0.19  # average width of a letter in cm, at 11 pt
_LONGEST = 24  # characters of an event in the names of the factors
_MARGIN = 3  # characters between the columns of a table with broken cells
_NARROWEST = 14  # width in characters of a column whose lines are broken

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
    "▶": r"\triangleright",
    "→": r"\rightarrow", "←": r"\leftarrow", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "∈": r"\in",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "Δ": r"\Delta", "ε": r"\varepsilon",
    "½": r"\tfrac12", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi", "σ": r"\sigma",
    "φ": r"\varphi", "χ": r"\chi", "°": r"^{\circ}", "¹": "^{1}", "²": "^{2}", "³": "^{3}", "⁻": "^{-}",
    "₁": "_{1}", "₂": "_{2}", "ᵢ": "_{i}", "ⱼ": "_{j}", "ᵀ": r"^{\mathsf{T}}",
}  # fmt: skip
# Accents that every encoding of fonts has.
_ACCENTS = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0327": r"\c",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
_PRODUCTS = (r"\cdot", r"\times")
_INFINITE = {"inf": r"\infty", "-inf": r"-\infty", "infinite": r"\infty", "-infinite": r"-\infty"}


def render(working: Working, width: int | None = None) -> str:
    """Return the names of the factors, a line for each class, one for each posterior, and the remarks."""
    steps, rest = folded(working, most=12)
    products, posteriors = [_equation(*_factorization(working, steps, bool(rest)), width)], []
    for c in columns(working):
        factors = [_factor(step.factors[c]) for step in (working.prior, *steps)]
        if rest:
            factors.append(_value(probability(sum(step.factors[c].log for step in rest))))
        product = [part for factor in factors for part in (Part(r"\cdot", 2, operator=True), factor)][1:]
        product += _result(working.exact_joint[c], probability(working.log_joint[c]))
        products.append(_equation(*_event(working, c, r",\, "), product, width))
    for c in columns(working):
        posterior = _result(working.exact_posterior[c], number(working.posterior[c]))[1:]
        posteriors.append(_equation(*_event(working, c, r" \mid "), posterior, width))
    if width is None:
        pages = [list(chain(*products, *posteriors))]
    else:
        pages = [*_pages(products, _LINES_OF_A_FRAME), *_pages(posteriors, _LINES_OF_A_FRAME)]
    spoken = lines_latex([verdict(working), *remarks(working)], width)
    return "\n".join([*map(_aligned, pages), *spoken, *(section_latex(s, width) for s in working.sections)])


def _factorization(working: Working, steps: Sequence[Step], cut: bool) -> tuple[str, str, list[Part]]:
    """Return P(target, x), its text, and the names of the factors in the order in which their values follow."""
    parts = [_conditional(working.target, working.prior.given)]
    for step in steps:
        given = f"{working.target}, {step.given}" if step.given else working.target
        parts += [Part(r"\cdot", 2, operator=True), _conditional(step.event, given)]
    more = [Part(r"\cdots", 2, operator=True)] if cut else []
    return rf"P({text_latex(working.target)},\, \mathbf{{x}})", f"P({working.target}, x)", [*parts, *more]


def _conditional(event: str, given: str) -> Part:
    """Return P(event | given); what is long is shortened, since a line is broken only between the factors."""
    event, given = (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in (event, given))
    behind = rf" \mid {text_latex(given)}" if given else ""
    return Part(f"P({text_latex(event)}{behind})", len(event) + len(given) + 6)


def _pages(equations: list[list[str]], most: int) -> list[list[str]]:
    """Join the lines of equations, as many as fit on a page; an equation longer than a page is divided."""
    pages: list[list[str]] = [[]]
    for lines in equations:
        if pages[-1] and len(pages[-1]) + len(lines) > most:
            pages.append([])
        pages[-1] += lines
        while len(pages[-1]) > most:
            pages.append(pages[-1][most:])
            pages[-2] = pages[-2][:most]
    return pages


def _aligned(lines: list[str]) -> str:
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _event(working: Working, c: int, between: str) -> tuple[str, str]:
    """Return the probability of a class and the row as LaTeX, and as text of the same width."""
    target, label = working.target, str(working.classes[c])
    return rf"P({text_latex(target)} = {text_latex(label)}{between}\mathbf{{x}})", f"P({target} = {label}, x)"


def _factor(factor: Factor) -> Part:
    return Part(factor.latex, _width(parts_of(factor.text)))


def _value(text: str) -> Part:
    return Part(_power(text), len(text) + 1.5 * ("e" in text))  # · 10 is wider than e


def _result(exact: Fraction | None, value: str) -> list[Part]:
    """Return the value of a product behind its equals signs, with its fraction if it is short."""
    equal = Part("=", 2, operator=True)
    short = None if exact is None else fraction(exact)
    if short is None:
        return [equal, _value(value)]
    return [equal, Part(_over(short), max(map(len, short.split("/")))), equal, _value(value)]


def _equation(name: str, shown: str, parts: list[Part], width: int | None) -> list[str]:
    """Return the lines of align* for one equation, which is broken before operators if it is too wide."""
    if width is None:
        return [rf"{name} &= {_joined(parts)}"]
    first, *more = map(_joined, _broken([Part(name, len(shown)), Part("=", 2, operator=True), *parts], width - 4))
    return [f"& {first}", *(rf"& \quad {line}" for line in more)]


def section_latex(section: Section, width: int | None = None) -> str:
    """Return the title, the table and the lines of a section."""
    body = [grid_latex(section.table, width)] if section.table.n_rows else []
    body += lines_latex(section.lines, width)
    title = rf"\noindent\textbf{{{escaped(section.title)}}}"
    displayed = body and body[0].startswith((r"\[", r"\begin{align"))
    return "\n".join([title if displayed else rf"{title}\par\nopagebreak", *body])


def lines_latex(lines: Sequence[str], width: int | None = None) -> list[str]:
    """Return sentences as paragraphs and formulas, each on its own line, as displayed mathematics."""
    shown: list[str] = []
    for formula, group in groupby(lines, key=lambda line: isinstance(line, Formula)):
        if not formula:
            shown += [rf"\noindent {escaped(line)}\par" for line in group]
            continue
        formulas = [_formula_lines(line, width) for line in group]
        for page in _pages(formulas, _LINES_OF_A_FRAME if width else sum(map(len, formulas))):
            shown.append(_aligned([f"& {text}" for text in page]) if len(page) > 1 else f"\\[\n{page[0]}\n\\]")
    return shown


def _formula_lines(text: str, width: int | None) -> list[str]:
    """Return the lines of a formula, which is broken before operators if it is wider than `width` characters."""
    parts = parts_of(text)
    first, *more = map(_joined, [parts] if width is None else _broken(parts, width - 4))
    return [first, *(rf"\quad {line}" for line in more)]


def formula_latex(text: str, width: int | None = None) -> str:
    """Return a formula as mathematics, on several lines if it is wider than `width` characters."""
    first, *more = _formula_lines(text, width)
    if not more:
        return first
    below = " \\\\\n".join(f"    & {line}" for line in more)
    return f"\\begin{{aligned}}[t]\n    & {first} \\\\\n{below}\n  \\end{{aligned}}"


def _broken(parts: list[Part], width: float) -> list[list[Part]]:
    """Break a formula before operators so that each line has at most `width` characters; before ``·`` if need be."""
    pieces: list[list[Part]] = [[]]
    for piece in _split(parts, (r"\mid", *_PRODUCTS)):
        if _width(piece) > width and any(part.inside for part in piece):
            opened = [inner for part in piece for inner in (part.inside or (part,))]
            pieces += _split(opened, (r"\mid", *_PRODUCTS))
            continue
        pieces += [piece] if _width(piece) <= width / 2 else _split(piece, (r"\mid",))
    lines: list[list[Part]] = [[]]
    for piece in pieces:
        if lines[-1] and _width(lines[-1]) + _width(piece) > width:
            lines.append([])
        lines[-1] += piece
    return lines


def _split(parts: list[Part], kept: tuple[str, ...]) -> list[list[Part]]:
    """Divide a formula before each operator but those that are kept."""
    pieces: list[list[Part]] = [[]]
    for part in parts:
        if part.operator and part.latex not in kept and pieces[-1]:
            pieces.append([])
        pieces[-1].append(part)
    return pieces


def grid_latex(grid: Grid, width: int | None = None) -> str:
    """Return a table; if it is wider than `width` characters, as several tables that repeat the leading columns."""
    if isinstance(grid, Matrix):
        return _matrix(grid, width)
    columns = {name: [_named(name), *map(_cell, cells)] for name, cells in grid.items()}
    wide = {name: max(part.width for part in cells) + 2 for name, cells in columns.items()}
    if width is not None and sum(wide.values()) > width:
        for name, cells in columns.items():
            cells[0] = _stacked(name, max((part.width for part in cells[1:]), default=0), right=_is_right(grid[name]))
            wide[name] = max(part.width for part in cells) + 2
    repeated = list(grid)[: grid._leading]
    tables: list[list[str]] = [[]]
    for name in grid:
        full = sum(map(wide.__getitem__, (*tables[-1], name))) > width if width is not None else False
        if full and len(tables[-1]) > len(repeated):
            tables.append(list(repeated))
        tables[-1].append(name)
    return "\n".join(_arrays(grid, columns, wide, names, width) for names in tables)


def _matrix(matrix: Matrix, width: int | None) -> str:
    """Return a matrix with its symbol; a matrix that is too wide is made smaller."""
    cells = [[_cell(value) for value in row] for row in matrix.numbers]
    body = r" \\ ".join(" & ".join(cell.latex for cell in row) for row in cells)
    shown = rf"{_joined(parts_of(matrix.symbol))} = \begin{{pmatrix}} {body} \end{{pmatrix}}"
    wide = len(matrix.symbol) + 4 + sum(max(cell.width for cell in column) + 2 for column in zip(*cells, strict=True))
    table = rf"\({shown}\)"
    if width is not None and wide > width:
        table = f"\\resizebox{{\\linewidth}}{{!}}{{{table}}}"
    return f"\\begingroup\\centering\\smallskip\n{table}\\par\\smallskip\\endgroup"


def _arrays(
    grid: Grid, columns: dict[str, list[Part]], wide: dict[str, float], names: list[str], width: int | None
) -> str:
    """Return some columns of a table as arrays of so many rows that a page can hold them."""
    align = "".join("r" if _is_right(grid[name]) else "l" for name in names)
    over, high = 0.0, [1] * (grid.n_rows + 1)  # high: the lines of each row
    if width is not None:
        texts = {name for name in names if all(isinstance(c, str | RowNumbers) for c in grid[name])}
        texts -= {name for name in texts if any(isinstance(c, Formula) for c in grid[name])}
        room = {name: wide[name] for name in names}
        for cap in range(int(max(room.values())), _NARROWEST, -1):  # the widest columns of text are broken first
            room |= {name: min(wide[name], max(cap, _word(grid[name]))) for name in texts}
            full = any(room[name] < wide[name] for name in texts)  # no cell of a broken column is shorter than it
            over = sum(room.values()) - width + _MARGIN * full
            if over <= 0:
                break
        broken = {name: LETTER * room[name] for name in texts if room[name] < wide[name]}
        columns = columns | {
            name: [columns[name][0], *(_paragraph(c, broken[name]) for c in grid[name])] for name in broken
        }
        for name, cm in broken.items():
            high = [
                1,
                *(max(h, ceil(1.2 * len(str(c)) * LETTER / cm)) for h, c in zip(high[1:], grid[name], strict=True)),
            ]
    lines = [" & ".join(columns[name][i].latex for name in names) for i in range(grid.n_rows + 1)]
    most = _ROWS if width is None else _ROWS_OF_A_FRAME - max(columns[name][0].latex.count(r"\\") for name in names)
    if width is not None and any(r"\frac" in line for line in lines):
        most -= 3  # fractions are higher
    own = [name for name in names if name not in list(grid)[: grid._leading]]
    kept = [any(shown_text(grid[name][i]) for name in own) or len(names) == len(grid) for i in range(grid.n_rows)]
    rows = [line for line, some in zip(zip(lines[1:], high[1:], strict=True), kept, strict=True) if some]
    pieces = _pages([[line] + [""] * (h - 1) for line, h in rows], most)
    tables = [[line for line in piece if line] for piece in pieces]
    return "\n".join(_array(align, lines[0], table, small=over > 0) for table in tables if table)


def _word(cells: Sequence[Any]) -> float:
    """Return the width of the longest word of a column, which is not broken, in characters."""
    return 1.15 * max((len(word) for cell in cells for word in str(cell).split()), default=0)


def _paragraph(text: Any, wide: float) -> Part:
    shown = str(text)
    return Part(rf"\parbox[t]{{{wide:.1f}cm}}{{\raggedright {escaped(shown)}\strut}}" if shown else "", 0)


def _array(align: str, head: str, rows: list[str], *, small: bool) -> str:
    body = " \\\\\n  ".join(rows)
    stretch = 1.4 if r"\frac" in body else 1.1  # fractions of two rows do not touch
    taller = rf"\renewcommand{{\arraystretch}}{{{stretch}}}"
    array = f"\\begin{{array}}[b]{{{align}}}\n  {head} \\\\ \\hline\n  {body}\n\\end{{array}}"
    table = f"\\({array}\\)"
    if small:
        table = f"\\resizebox{{\\linewidth}}{{!}}{{{table}}}"
    # a paragraph: a page ends before or after it, but not behind the title above
    return f"\\begingroup\\centering{taller}\\smallskip\n{table}\\par\\smallskip\\endgroup"


def _is_right(cells: Sequence[Any]) -> bool:
    """Return whether a column has only numbers, which are aligned at the right."""
    return all(type(cell) in (int, float, type(None)) for cell in cells)


def _stacked(name: str, width: float, *, right: bool) -> Part:
    """Return the name of a column on several lines, if it is wider than the cells."""
    lines: list[str] = []
    for word in re.findall(r"[^_ ]+[_ ]?|[_ ]", name):
        if lines and len(lines[-1] + word) <= width:
            lines[-1] += word
        else:
            lines.append(word)
    if len(lines) < 2:
        return _named(name)
    shown = r" \\ ".join(escaped(line.rstrip()) for line in lines)
    return Part(rf"\text{{\shortstack[{'r' if right else 'l'}]{{{shown}}}}}", max(map(len, lines)))


def _named(name: str) -> Part:
    return Part(text_latex(name) if name else "", len(name))


def _cell(cell: Any) -> Part:
    """Return a number or a computation as mathematics, and any other value as text."""
    text = shown_text(cell)
    if isinstance(cell, Formula | Worked):
        parts = parts_of(text)
        return Part(_joined(parts), _width(parts))
    if text in _INFINITE:
        return Part(_INFINITE[text], 2)
    if _NUMBER.fullmatch(text):
        return _value(text)
    # digits are wider than most letters
    return Part(text_latex(text) if text else "", len(text) * (1.2 if isinstance(cell, RowNumbers) else 1))


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
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
