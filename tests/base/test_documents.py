"""Every example in the docstrings, the README and the guide is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import countwise

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(countwise.__path__, "countwise.") if not m.name.endswith("_native")
)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_on_pages_are_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted > 0 or ">>>" not in page.read_text(encoding="utf-8")


def test_every_public_name_has_a_docstring_with_an_example():
    for name in countwise.__all__:
        thing = getattr(countwise, name)
        if isinstance(thing, type) and not issubclass(thing, Exception):
            assert ">>>" in (thing.__doc__ or ""), name


def test_public_names_are_sorted_and_complete():
    assert countwise.__all__ == sorted(countwise.__all__)
    assert all(hasattr(countwise, name) for name in countwise.__all__)
    assert dir(countwise) == countwise.__all__


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)
