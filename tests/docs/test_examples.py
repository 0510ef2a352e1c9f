"""Every example of the docstrings, the README and the documentation is run, and prints what is shown."""

from __future__ import annotations

import re

import examples
import pytest

ROOT = examples.ROOT
MODULES = [path for path in examples.modules() if ">>>" in path.read_text(encoding="utf-8")]
PAGES = examples.pages()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(examples.SOURCE)))
def test_examples_in_docstrings_print_what_they_show(path):
    failures = examples.run_module(path)
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_and_commands_on_pages_print_what_they_show(path):
    failures = examples.run_page(path)
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_shell_blocks_that_are_not_run_only_install_or_build(path):
    allowed = ("pip install ", "make ", "spark-submit ", "COUNTWISE_LAWS=20 make ", "pre-commit ", "python tools/")
    for block in re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S):
        assert all(line.startswith(allowed) for line in block.splitlines()), block


def test_an_example_that_prints_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```pycon\n>>> 1 + 1\n3\n>>> 2\n2\n```\n\n```console\n$ echo a; echo b\na\nc\n```\n", encoding="utf-8"
    )
    assert [failure.got for failure in examples.run_page(page)] == ["2\n", "a\nb\n"]
    examples.mend(page, examples.run_page(page))
    assert not examples.run_page(page)
