"""Public texts use the words of the field: the home-made ones are those of the glossary."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Words of a private dialect, and what to write instead.
DIALECT = {
    r"told|tells?|telling|retell": "predict, report, show, distinguish",
    r"laws?": "distribution; property",
    r"gaps?": "missing value",
    r"bumps?": "kernel",
    r"settle[sd]?|settling": "estimate, determine",
    r"let in|lets in|letting in": "accept, convert",
    r"urns?": "multinomial",
    r"names and numbers|numbers and names|names or numbers|numbers or names": "nominal and numeric columns",
    r"commonest": "most frequent",
    r"tak(?:e|es|en|ing) back|took back": "subtract, forget",
    r"imagined": "pseudocount, prior row",
    r"way round": "alternative",
    r"whole numbers?": "integer",
    r"too sure|how sure": "overconfident",
    r"judge[sd]?|judging": "evaluate, score",
    r"never met|was met|were met|is met|values met|rows met": "seen, unseen",
    r"dealt|deals? out|deals? the rows": "assign, shuffle",
    r"at the door|the door": "on input",
    r"spreads? of|the spread": "standard deviation, variance",
    r"who is best|what is told": "say it directly",
    r"cells? that (?:is|are) (?:not )?there": "missing, observed",
    r"colour|behaviour|neighbour|labelled|modelled|discretis|normalis|optimis(?:e|ing|ation)|centre": "American",
}  # fmt: skip
PATTERNS = {
    re.compile(rf"\b(?:{words})", re.I) if "colour" in words else re.compile(rf"\b(?:{words})\b", re.I): cure
    for words, cure in DIALECT.items()
}


def _source_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a module: docstrings, comments, and literals of several words."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            lines = [line for line in node.value.splitlines() if not line.lstrip().startswith((">>>", "..."))]
            yield node.lineno, re.sub(r"``.*?``|`[^`\n]*`", "", "\n".join(lines))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], re.sub(r"`[^`\n]*`", "", token.string)


def _page_text(path: Path) -> str:
    text = re.sub(r"```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def _faults(text: str) -> list[str]:
    flat = " ".join(text.split())
    return [
        f"{found[0]!r} ({cure}): ...{flat[max(0, found.start() - 40) : found.end() + 40]}..."
        for pattern, cure in PATTERNS.items()
        for found in pattern.finditer(flat)
    ]


MODULES = sorted((ROOT / "src" / "countwise").rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*.md") if "api" not in p.parts)])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src" / "countwise")))
def test_docstrings_messages_and_comments_use_the_words_of_the_field(path):
    found = [f"line {line}: {fault}" for line, text in _source_texts(path) for fault in _faults(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(path):
    found = _faults(_page_text(path))
    assert not found, "\n".join(found)


def test_native_comments_use_the_words_of_the_field():
    for path in (ROOT / "src" / "native").rglob("*.*"):
        comments = re.findall(r"//[^\n]*|/\*.*?\*/", path.read_text(encoding="utf-8"), flags=re.S)
        found = _faults(" ".join(comments))
        assert not found, (path.name, found)


def test_a_word_of_the_dialect_is_found():
    assert len(_faults("The column to be told has gaps; a law settles it.")) == 4
    assert not _faults("The target column has missing values; the distribution is estimated.")
