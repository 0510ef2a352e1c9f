"""How a line of an ARFF file is cut: quotes, escapes, commas and comments."""

from __future__ import annotations

import re
from collections.abc import Callable

from countwise.errors import ReadError

__all__ = ["QUOTED", "STRING", "Cell", "cells_of", "parts_of", "uncommented", "unquoted"]

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = re.compile(rf"\s*(?:({QUOTED})|([^,]*?))\s*(,|$)", re.DOTALL)
_WORD = re.compile(rf"\s*(?:({QUOTED})|(\S+))()", re.DOTALL)
# A quotation mark quotes only where a value may begin: the one in "it's" does not.
STRING = rf"((?:(?<=[\s,{{}}])|^)(?:{QUOTED}))"
_COMMENT = re.compile(STRING + r"|(?:(?<=[\s,}])|^)%", re.DOTALL)
_COMMA = re.compile(STRING + "|,", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}

Cell = str | None


def parts_of(text: str) -> list[str]:
    """Cut at the commas that are not within quotes, leaving the parts as they are."""
    found: list[str] = []
    start = 0
    for match in _COMMA.finditer(text):
        if match[1] is None:
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


def cells_of(text: str, width: int, wrong: Callable[[str, str], ReadError]) -> list[Cell]:
    """Values between commas; a row of several attributes without a comma is cut at white space.

    `wrong` makes the error, since only the caller knows the line.
    """
    pattern = _VALUE
    if width != 1 and len(parts_of(text)) == 1:
        pattern = _WORD
    found: list[Cell] = []
    at = 0
    while True:
        match = pattern.match(text, at)
        if match is None or (match[1] is None and match[2][:1] in ("'", '"')):
            raise wrong("a quote is not closed, or text follows it.", "write 'it\\'s' for it's.")
        if match[1] is None and not match[2]:
            raise wrong("a value is empty.", "write ? for a missing value, '' for an empty one.")
        plain = None if match[2] == "?" else match[2]
        found.append(plain if match[1] is None else unquoted(match[1]))
        at = match.end()
        if match[3] == "," and at == len(text):
            raise wrong("the row ends with a comma.", "write ? for a missing value.")
        if match[3] == "" and not text[at:].strip():
            return found


def uncommented(text: str) -> str:
    """The line without a comment: a percent sign begins one where a word may begin, outside quotes."""
    for match in _COMMENT.finditer(text) if "%" in text else ():
        if match[1] is None:
            return text[: match.start()].strip()
    return text.strip()


def unquoted(text: str) -> str:
    """The text without its quotes, if it has any, and with the escapes within them resolved."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])
    return text
