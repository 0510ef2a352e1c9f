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
      class  d
      yes    12.9
      no     9.4
      nearest: no
    """

    title: str
    table: Grid
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        body = [*(str(self.table).split("\n") if self.table.n_rows else []), *self.lines]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in body)])

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
    """How a number that is no choice between classes came about: a density, a distance.

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
    """

    answer: str
    value: float
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([self.answer, *map(str, self.sections), *(f"Note: {note}" for note in self.notes)])

    __repr__ = __str__

    def html(self) -> str:
        """For a page or a notebook."""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        parts = "".join(section.html() for section in self.sections)
        return f"<div><p><b>{escape(self.answer)}</b></p>{parts}{f'<ul>{notes}</ul>' if notes else ''}</div>"

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; every number unrounded."""
        return {
            "answer": self.answer,
            "value": self.value,
            "sections": [section.to_dict() for section in self.sections],
            "notes": list(self.notes),
        }
