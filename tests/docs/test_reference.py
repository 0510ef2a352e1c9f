"""Every public name, command, option and error is documented."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from numpydoc.validate import validate

import countwise
from countwise import errors, registry
from countwise.cli import group

ROOT = Path(__file__).parents[2]

# numpydoc's checks that a docstring must pass; see `numpydoc validate --help`.
CHECKS = {
    "GL05", "GL06", "GL07", "GL08", "SS01", "SS03", "SS04", "SS05", "SS06", "PR01", "PR02", "PR03", "PR04", "PR06",
    "PR07", "PR08", "PR09", "PR10", "RT01", "RT03", "RT04", "RT05", "YD01",
}  # fmt: skip


def public_names() -> dict[str, Any]:
    """Every public class and function by its full name."""
    found = {f"countwise.{name}": getattr(countwise, name) for name in countwise.__all__}
    for package in registry.NAMESPACES:
        module = importlib.import_module(f"countwise.{package}")
        found |= {f"countwise.{package}.{name}": getattr(module, name) for name in module.__all__}
    kept: dict[int, tuple[str, Any]] = {}
    for name, thing in found.items():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            kept.setdefault(id(thing), (name, thing))  # the shortest name comes first
    return dict(kept.values())


def public_methods(name: str, cls: type) -> dict[str, Any]:
    """The public methods and properties of a class that Countwise defines."""
    found = {}
    for key in dir(cls):
        thing = inspect.getattr_static(cls, key)
        function = getattr(thing, "__func__", None) or getattr(thing, "fget", None) or thing
        if key.startswith("_") or not inspect.isfunction(function):
            continue
        if str(function.__module__).startswith("countwise"):
            found[f"{name}.{key}"] = function
    return found


NAMES = public_names()
COMMANDS = list(group.list_commands(None))


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_are_complete(name):
    found = [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in CHECKS | {"EX01"}]
    if inspect.isclass(NAMES[name]):
        for method in public_methods(name, NAMES[name]):
            found += [f"{method}: {code} {text}" for code, text in validate(method)["errors"] if code in CHECKS]
        if issubclass(NAMES[name], Exception):  # the base class documents the arguments
            found = [line for line in found if " EX01 " not in line and " PR01 " not in line]
    assert not found, "\n".join(found)


def test_public_names_are_sorted_and_complete():
    assert countwise.__all__ == sorted(countwise.__all__)
    assert all(hasattr(countwise, name) for name in countwise.__all__)
    assert dir(countwise) == countwise.__all__


def _commands() -> list[tuple[str, click.Command]]:
    with click.Context(group) as context:
        return [(name, group.get_command(context, name)) for name in COMMANDS]  # type: ignore[misc]


@pytest.mark.parametrize(("name", "command"), _commands(), ids=COMMANDS)
def test_commands_and_their_options_have_help(name, command):
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, (name, option.name)
            assert option.help.endswith((".", ")", "]")), (name, option.name, option.help)
    with click.Context(group) as context:
        names = [part.human_readable_name for part in command.params if isinstance(part, click.Argument)]
        text = command.get_help(click.Context(command, info_name=name, parent=context))
        assert all(argument.upper().rstrip(".") in text for argument in names)


def test_every_error_and_warning_is_on_its_page():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    classes = [name for name in errors.__all__ if inspect.isclass(getattr(errors, name)) and name != "NumberIn"]
    assert all(f"`{name}`" in page for name in classes)


def test_every_kind_of_model_is_on_the_page_of_model_files():
    page = (ROOT / "docs" / "reference" / "model-files.md").read_text(encoding="utf-8")
    assert all(kind in page and f"`{entry.name}`" in page for kind, entry in registry.KINDS.items())


def test_lecture_numbers_are_on_one_page_only():
    pages = [p for p in (ROOT / "docs").rglob("*.md") if p.name != "lectures.md" and "api" not in p.parts]
    for path in [ROOT / "README.md", *pages, *(ROOT / "src" / "countwise").rglob("*.py")]:
        found = re.search(r"\((00[0-4][,)])|\blectures? 00[0-4]\b", path.read_text(encoding="utf-8"))
        assert found is None, (path, found)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            made = target.endswith(("reference/python.md", "reference/commands.md")) or page.parent.name == "api"
            assert made or (page.parent / target).exists(), (page.name, target)


def test_help_in_a_terminal_of_80_columns_fits():
    for name in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "countwise", name, "--help"],
            capture_output=True,
            text=True,
            env={"COLUMNS": "80"},
            check=True,
        )
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
