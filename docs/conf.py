"""The documentation site: Markdown pages, the reference from docstrings and commands, pictures made by the code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parent))
import pictures

import countwise
from countwise import registry

HERE = Path(__file__).parent

project = "Countwise"
copyright = "The Countwise developers"
version = release = "0.1.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_copybutton"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "Countwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _names(package: str) -> list[str]:
    return sorted(importlib.import_module(f"countwise.{package}").__all__)


def write_reference() -> None:
    """A page that lists every public name; autosummary makes a page for each."""
    root = [name for name in countwise.__all__ if name not in registry.NAMESPACES]
    groups = {"countwise": root}
    for package in registry.NAMESPACES:
        groups[f"countwise.{package}"] = [name for name in _names(package) if name not in root]
    lines = ["# Python", "", "Everything that is public. Import it from the package named above each table.", ""]
    for package, names in groups.items():
        public = [name for name in names if not name.startswith("__")]
        if not public:
            continue
        lines += [f"## {package}", "", "```{eval-rst}", f".. currentmodule:: {package}", "", ".. autosummary::"]
        lines += ["   :toctree: api", "   :nosignatures:", "", *(f"   {name}" for name in public), "```", ""]
    _write("python.md", lines)


def write_commands() -> None:
    """A page with the help of every command, as the terminal shows it at 100 columns."""
    from click.testing import CliRunner

    from countwise.cli import group

    def shown(*words: str) -> list[str]:
        text = CliRunner().invoke(group, [*words, "--help"], prog_name="countwise", terminal_width=100).output
        return ["```console", f"$ {' '.join(('countwise', *words, '--help'))}", text.rstrip(), "```", ""]

    lines = ["# Command line", "", "What `--help` prints. Recipes are in [How to](../howto/index.md).", "", *shown()]
    for name in group.list_commands(None):
        lines += [f"## countwise {name}", "", *shown(name)]
    _write("commands.md", lines)


def _write(name: str, lines: list[str]) -> None:
    """Write a page of the reference, unless it is as it was: pages that did not change are not read again."""
    target, text = HERE / "reference" / name, "\n".join(lines)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def _mathml(self: Any, node: nodes.Element) -> None:
    block = isinstance(node, nodes.math_block)
    self.body.append(convert(node.astext(), display="block" if block else "inline"))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Formulas as MathML, which browsers draw without a script; pictures and the reference before reading."""
    app.add_node(nodes.math, override=True, html=(_mathml, None))
    app.add_node(nodes.math_block, override=True, html=(_mathml, None))
    app.connect("builder-inited", lambda app: pictures.make(HERE / "_static" / "pictures"))


write_reference()
write_commands()
