"""Texts that a spreadsheet would run as formulas when it opens a CSV file, and their guard: a leading apostrophe."""

from __future__ import annotations

import re

__all__ = ["guarded", "unguarded"]

_FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet may run a text; numbers, and signs alone, are harmless."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it as a formula.

    Examples
    --------
    >>> from countwise.io.spreadsheets import guarded, unguarded
    >>> [guarded(text) for text in ("=1+1", "-5", "+", "'@x")]
    ["'=1+1", '-5', '+', "''@x"]
    >>> unguarded("'=1+1")
    '=1+1'
    """
    return f"'{text}" if _is_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text
