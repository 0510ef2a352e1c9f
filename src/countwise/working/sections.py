"""Sections of a working, and workings of predictions that are not a product of factors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from countwise.errors import check_number, printable
from countwise.working.formula import Formula
from countwise.working.grid import Grid, cell_width
from countwise.working.markup import escape

__all__ = ["Account", "Section", "broken_line"]


@dataclass(frozen=True, slots=True)
class Section:
    """Titled table of a working, with the conclusions drawn from it.

    Parameters
    ----------
    title : str
        Title of the section.
    table : Grid
        Unrounded numbers. They are rounded when the section is rendered.
    lines : tuple of str, default=()
        Sentences and formulas (`Formula`) shown below the table.

    Examples
    --------
    >>> from countwise.working import Grid, Section
    >>> print(Section("distances", Grid({"class": ["yes", "no"], "d": [12.9, 9.4]}), ("nearest: no",)))
    distances
      class     d
      yes    12.9
      no      9.4
      nearest: no
    """

    title: str
    table: Grid
    lines: tuple[str, ...] = ()

    def text(self, width: int | None = None) -> str:
        """Return the section as plain text.

        Parameters
        ----------
        width : int or None, default=None
            The table and the lines are wrapped to fit into this many characters; a formula is broken before an
            operator. If None, nothing is wrapped.

        Returns
        -------
        str
            Title, table and lines.

        Examples
        --------
        >>> from countwise.working import Grid, Section
        >>> print(Section("counts", Grid({"class": ["yes", "no"], "n": [9, 5]})).text(40))
        counts
          class  n
          yes    9
          no     5
        """
        check_number("width", width, 1, none=True, whole=True)
        room = None if width is None else max(int(width) - 2, 1)
        table = self.table.text(room) if self.table.n_rows else ""
        lines = self.lines if room is None else [part for line in self.lines for part in broken_line(line, room)]
        body = [*(table.split("\n") if table else []), *lines]
        title = [self.title] if width is None else broken_line(self.title, max(int(width), 1))
        return "\n".join([*title, *(f"  {line}".rstrip() for line in body)])

    def __str__(self) -> str:
        return self.text()

    def latex(self, width: int | None = None) -> str:
        r"""Return the section as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            Formulas and tables are broken to fit into this many characters; a beamer frame has about 56. If None,
            nothing is broken.

        Returns
        -------
        str
            Title, table and lines.

        Examples
        --------
        >>> from countwise.working import Formula, Grid, Section
        >>> print(Section("gain", Grid({}), (Formula("0.94 - (8/14)·0.811 - (6/14)·1 = 0.048"),)).latex())
        \noindent\textbf{gain}
        \[
        0.94 - \frac{8}{14} \cdot 0.811 - \frac{6}{14} \cdot 1 = 0.048
        \]
        """
        from countwise.working.latex import section_latex

        check_number("width", width, 1, none=True)
        return section_latex(self, width)

    def html(self) -> str:
        """Return the section as HTML.

        Returns
        -------
        str
            Title, table and lines.

        Examples
        --------
        >>> from countwise.working import Grid, Section
        >>> Section("counts", Grid({}), ("n = 14",)).html()
        '<h4>counts</h4><p>n = 14</p>'
        """
        table = self.table._repr_html_() if self.table.n_rows else ""
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines)
        return f"<h4>{escape(self.title)}</h4>{table}{lines}"

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain data.

        Returns
        -------
        dict
            Keys `title`, `table` (a dict of columns) and `lines`.

        Examples
        --------
        >>> from countwise.working import Grid, Section
        >>> Section("counts", Grid({"n": [9, 5]})).to_dict()
        {'title': 'counts', 'table': {'n': [9, 5]}, 'lines': []}
        """
        return {"title": self.title, "table": dict(self.table), "lines": list(self.lines)}


_BREAKS = re.compile(r"(?<=\S) (?=[=+−·≥≤<>-] )")  # before an operator between blanks
_OPENING, _CLOSING = "([{", ")]}"


def broken_line(line: str, width: int) -> list[str]:
    """Break a sentence at blanks, and a formula before operators; the further lines are indented."""
    import textwrap

    if cell_width(line) <= width:
        return [line]
    if not isinstance(line, Formula):
        return textwrap.wrap(
            line, max(width, 10), subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    lines: list[str] = []
    for piece in _pieces(line, width):
        if lines and cell_width(lines[-1]) + 1 + cell_width(piece) <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(f"    {piece}" if lines else piece)
    return lines


def _pieces(line: str, width: int) -> list[str]:
    """Split a formula before the operators outside of brackets, and a piece that is too long before those inside."""
    pieces: list[str] = []
    for piece in _BREAKS.split(line):
        inside = bool(pieces) and sum(map(pieces[-1].count, _OPENING)) > sum(map(pieces[-1].count, _CLOSING))
        if inside:
            pieces[-1] += f" {piece}"
        else:
            pieces.append(piece)
    return [part for piece in pieces for part in (_BREAKS.split(piece) if cell_width(piece) > width else [piece])]


@dataclass(frozen=True, slots=True)
class Account:
    """Working of a prediction that is not a product of factors: a density, a distance, a path in a tree.

    Parameters
    ----------
    answer : str
        The prediction as a sentence.
    value : float
        The predicted number, or the posterior of the predicted class.
    sections : tuple of Section
        Steps of the computation.
    notes : tuple of str, default=()
        Remarks for the reader.
    posterior : dict or None, default=None
        P(class | row) of each class. None if the model does not predict a class.

    Examples
    --------
    >>> from countwise.working import Account, Grid, Section
    >>> votes = Section("votes", Grid({"class": ["yes", "no"], "n": [2, 1]}))
    >>> print(Account("play = yes", 2 / 3, (votes,)))
    play = yes
    <BLANKLINE>
    votes
      class  n
      yes    2
      no     1
    """

    answer: str
    value: float
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    posterior: dict[Any, float] | None = None

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self, width: int | None = None) -> str:
        """Return the working as plain text.

        Parameters
        ----------
        width : int or None, default=None
            Tables, lines and notes are wrapped to fit into this many characters. If None, nothing is wrapped.

        Returns
        -------
        str
            The prediction, the sections and the notes.

        Examples
        --------
        >>> from countwise.working import Account
        >>> print(Account("play = yes", 1.0, (), ("All rows are equally near.",)).text())
        play = yes
        <BLANKLINE>
        Note: All rows are equally near.
        """
        check_number("width", width, 1, none=True, whole=True)
        sections = (section.text(width) for section in self.sections)
        answer, *notes = (self.answer, *(f"Note: {note}" for note in self.notes))
        if width is not None:
            answer, *notes = ("\n".join(broken_line(line, int(width))) for line in (answer, *notes))
        return printable("\n\n".join([answer, *sections, *notes]))

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
            The prediction, the sections and the notes.

        Examples
        --------
        >>> from countwise.working import Account
        >>> print(Account("play = yes", 1.0, ()).latex())
        \noindent play = yes\par
        """
        from countwise.working.latex import escaped, section_latex

        check_number("width", width, 1, none=True)
        lines = [rf"\noindent {escaped(line)}\par" for line in (self.answer, *self.notes)]
        return "\n".join([lines[0], *(section_latex(s, width) for s in self.sections), *lines[1:]])

    def html(self) -> str:
        """Return the working as HTML that needs no external style sheet.

        Returns
        -------
        str
            The prediction, the sections and the notes, with their style.

        Examples
        --------
        >>> from countwise.working import Account
        >>> "<b>play = yes</b>" in Account("play = yes", 1.0, ()).html()
        True
        """
        from countwise.working.html import STYLE

        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        parts = "".join(section.html() for section in self.sections)
        body = f"<p><b>{escape(self.answer)}</b></p>{parts}{f'<ul>{notes}</ul>' if notes else ''}"
        return f'{STYLE}<div class="cw-working">{body}</div>'

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Return the working as plain data with unrounded numbers.

        Returns
        -------
        dict
            Keys `answer`, `value`, `sections`, `notes`, and `posterior` if there is one.

        Examples
        --------
        >>> from countwise.working import Account
        >>> Account("play = yes", 1.0, ()).to_dict()
        {'answer': 'play = yes', 'value': 1.0, 'sections': [], 'notes': []}
        """
        return {
            "answer": self.answer,
            "value": self.value,
            "sections": [section.to_dict() for section in self.sections],
            "notes": list(self.notes),
        } | ({} if self.posterior is None else {"posterior": {str(c): p for c, p in self.posterior.items()}})
