"""The documentation site: pages in Markdown, a reference from docstrings and commands, pictures made by the code."""

from __future__ import annotations

import html
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import pictures

import countwise
from countwise import registry

project = "Countwise"
copyright = "The Countwise developers"
version = release = countwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "Countwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference lists the names of the root by what they do; every other public package follows with the rest.
GROUPS = {
    "Classifiers": (
        "NaiveBayesClassifier DiscriminantClassifier ParzenClassifier PrototypeClassifier NeighborsClassifier "
        "PEBLSClassifier RoteClassifier TreeClassifier RuleClassifier BayesNetworkClassifier"
    ),
    "Regression, densities, networks and cases": (
        "NeighborsRegressor TreeRegressor ParzenDensity BayesNetwork CaseBase"
    ),
    "Preprocessing and selection": (
        "Discretizer CategoricalEncoder FilterSelector WrapperSelector EmbeddedSelector InstanceSelector"
    ),
    "Attribute types": "Schema Nominal Ordinal Numeric Count Date Text",
    "Distributions": "Auto Bernoulli Binned Categorical Gaussian Kernel Multinomial Poisson MEstimate",
    "Evaluation": "cross_validate leave_one_out learning_curve validation_curve compare",
    "Files": "read save load",
}


def _section(title: str, package: str, names: list[str], text: str = "") -> list[str]:
    lines = [f"## {title}", "", *([text, ""] if text else []), "```{eval-rst}", f".. currentmodule:: {package}", ""]
    return [
        *lines,
        ".. autosummary::",
        "   :toctree: api",
        "   :nosignatures:",
        "",
        *(f"   {n}" for n in names),
        "```",
        "",
    ]


def write_reference() -> None:
    """Write the page that lists every public name; autosummary makes a page for each."""
    listed = [name for names in GROUPS.values() for name in names.split()]
    missing = set(countwise.__all__) - set(listed) - set(registry.NAMESPACES) - {"__version__"}
    if missing:
        raise ValueError(f"docs/conf.py: add {sorted(missing)} to GROUPS.")
    lines = [
        "# Python",
        "",
        "Every public name. The names of the first tables are imported from `countwise` itself.",
        "",
    ]
    for title, names in GROUPS.items():
        lines += _section(title, "countwise", names.split())
    for package in registry.NAMESPACES:
        module = importlib.import_module(f"countwise.{package}")
        public = [
            name
            for name in module.__all__
            if inspect.isroutine(thing := getattr(module, name)) or inspect.isclass(thing)
        ]
        rest = sorted(set(public) - set(listed))
        if rest:
            summary = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
            lines += _section(f"countwise.{package}", f"countwise.{package}", rest, summary)
    _write("python.md", lines)


def write_commands() -> None:
    """Write the page with the help of every command, as a terminal of 80 columns shows it."""
    from click.testing import CliRunner

    from countwise.cli import group

    def shown(*words: str) -> list[str]:
        text = CliRunner().invoke(group, [*words, "--help"], prog_name="countwise", terminal_width=80).output
        return ["```text", text.rstrip(), "```", ""]

    lines = ["# Command line", "", "The help of each command. Recipes are in [How to](../howto/index.md).", ""]
    lines += [
        "Exit status: 0 success, 1 a problem with the data or the settings, 2 wrong usage, 130 interrupted by Ctrl-C."
    ]
    lines += ["", *shown()]
    for name in group.list_commands(None):
        lines += [f"## countwise {name}", "", *shown(name)]
    _write("commands.md", lines)


def _write(name: str, lines: list[str]) -> None:
    """Write a page of the reference unless it is unchanged: unchanged pages are not read again."""
    target, text = HERE / "reference" / name, "\n".join(lines)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def _mathml(self: Any, node: nodes.Element) -> None:
    """Formulas as MathML: browsers draw it without a script."""
    block, text = isinstance(node, nodes.math_block), node.astext()
    if "\\" not in text:  # the formula of a docstring, in Unicode: its words are text
        text = re.sub(r"[A-Za-z]{2,}(?: [a-z]{2,})* ?", r"\\text{\g<0>}", text)
    formula = convert(text, display="block" if block else "inline")
    self.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def _add_picture(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Show the picture of a class or function below its docstring."""
    for title, fragment in pictures.of(name):
        lines += ["", f".. rubric:: {title}", "", ".. raw:: html", ""]
        lines += [f"   {line}" for line in fragment.splitlines()]


class Picture(Directive):
    """The `{picture} name` directive of pages: a picture made by `pictures.py`, with its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture as HTML."""
        caption = html.escape(" ".join(self.content))
        picture = f"{pictures.fragment(self.arguments[0])}<figcaption>{caption}</figcaption>"
        return [nodes.raw("", f"<figure class='picture'>{picture}</figure>", format="html")]


def setup(app: Any) -> None:
    """Register the formulas, the pictures and the directive that shows them."""
    app.add_node(nodes.math, override=True, html=(_mathml, None))
    app.add_node(nodes.math_block, override=True, html=(_mathml, None))
    app.add_directive("picture", Picture)
    app.connect("autodoc-process-docstring", _add_picture)


write_reference()
write_commands()
