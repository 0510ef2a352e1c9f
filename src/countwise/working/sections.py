"""Sections: tables that stand under an answer, and answers that are nothing but tables."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from countwise.working.grid import Grid

__all__ = ["Account", "Section"]


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a title, and what follows from it.

    Parameters
    ----------
    title : str
        What is shown.
    table : Grid
        The numbers, whole; they are rounded when they are written.
    lines : tuple of str
        What comes of them.

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
        """As plain text, wrapped to fit into `width` characters."""
        table = self.table.text(None if width is None else width - 2) if self.table.n_rows else ""
        body = [*(table.split("\n") if table else []), *self.lines]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in body)])

    def __str__(self) -> str:
        return self.text()

    def html(self) -> str:
        """For a page or a notebook."""
        table = self.table._repr_html_() if self.table.n_rows else ""
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines)
        return f"<h4>{escape(self.title)}</h4>{table}{lines}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"title": self.title, "table": dict(self.table), "lines": list(self.lines)}


@dataclass(frozen=True, slots=True)
class Account:
    """How an answer that is no product of factors came about: a density, a distance, a path down a tree.

    Parameters
    ----------
    answer : str
        The number in a sentence.
    value : float
        The number.
    sections : tuple of Section
        How it came about.
    notes : tuple of str
        What a reader should know.
    posterior : dict or None
        P(class | row), if a class is told.
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
        """As plain text; tables are wrapped to fit into `width` characters."""
        sections = (section.text(width) for section in self.sections)
        return "\n\n".join([self.answer, *sections, *(f"Note: {note}" for note in self.notes)])

    def latex(self) -> str:
        """For a paper or a slide."""
        from countwise.working.latex import escaped, section_latex

        lines = [rf"\noindent {escaped(line)}\\" for line in (self.answer, *self.notes)]
        return "\n".join([lines[0], *(section_latex(s) for s in self.sections), *lines[1:]])

    def html(self) -> str:
        """For a page or a notebook."""
        from countwise.working.html import STYLE

        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        parts = "".join(section.html() for section in self.sections)
        body = f"<p><b>{escape(self.answer)}</b></p>{parts}{f'<ul>{notes}</ul>' if notes else ''}"
        return f'{STYLE}<div class="cw-working">{body}</div>'

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; every number unrounded."""
        return {
            "answer": self.answer,
            "value": self.value,
            "sections": [section.to_dict() for section in self.sections],
            "notes": list(self.notes),
        } | ({} if self.posterior is None else {"posterior": {str(c): p for c, p in self.posterior.items()}})
