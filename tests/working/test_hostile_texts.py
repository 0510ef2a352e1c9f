"""Texts that try to be commands: LaTeX compiles and executes nothing, HTML and SVG have no tags but their own."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.plots import draw_network, draw_tree
from countwise.working import Formula, Grid
from countwise.working.latex import escaped, formula_latex

from .hostile import TEXTS, workings

# What our LaTeX consists of. Nothing else may begin with a backslash.
_COMMANDS = r"""
\\ \, \{ \} \& \% \$ \# \_ \` \' \^ \~ \= \. \" \u \r \H \v \c \[ \] \begin \end \text \textbf \noindent \mathbf \frac
\cdot \mid \hat \varphi \mathrm \prod \left \right \mu \Sigma \textbackslash \textasciitilde \ensuremath \textbar
\textasciicircum \textless \textgreater \ldots \ss \ae \AE \oe \OE \o \O \l \L \i \S \P \copyright \ifdefined
\Umathchar \nobreakspace \else \fi \infty \le \ge \ne \rightarrow \leftarrow \sigma \times \pm \approx \surd \int
\Pi \wedge \vee \neg \in \tfrac \alpha \beta \gamma \delta \Delta \varepsilon \theta \lambda \pi \chi \circ
\mathsf \propto \triangleright \hline \renewcommand \arraystretch \quad \sum \sqrt \log \ln \exp \max \min \Gamma \sim
\( \) \cdots \bigl \bigr \begingroup \endgroup \centering \smallskip \par \nopagebreak
"""
COMMANDS = set(_COMMANDS.split())
_TAGS = "style div p b i table thead tbody caption tr th td span ul li h4"
_SVG_TAGS = "svg title desc style rect g path text line circle polygon tspan"


@pytest.fixture(scope="module")
def hostile():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return workings()


def check_latex(text: str) -> None:
    """Assert that LaTeX has no command but ours, no special character as it is, and closes what it opens."""
    assert set(re.findall(r"\\(?:[A-Za-z]+|.)", text, re.DOTALL)) <= COMMANDS
    bare = re.sub(r"\\(?:[A-Za-z]+|.)", "", text, flags=re.DOTALL)
    assert not set(bare) & set("%$#~")
    assert bare.count("{") == bare.count("}")
    assert "^^" not in text
    assert "\n\n" not in text


@given(st.text(alphabet=st.one_of(st.sampled_from("\\{}%$&#^_~\n\t\r\x1b\"'`<>|é漢"), st.characters())))
def test_any_text_is_escaped_for_latex(text):
    shown = escaped(text)
    check_latex(shown)
    assert not set(re.sub(r"\\ensuremath\{[^{}]*(?:\{[^{}]*\})?\}|\\.", "", shown)) & set("&^_")


@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("\\{}()[]|/%$&#^_~√²₁ᵀ·=-+ 123e.xyΣμ,;\n\t\x1b<>é漢"), st.characters())
    )
)
def test_any_text_is_a_formula_that_latex_can_set(text):
    shown = formula_latex(Formula(text))
    check_latex(shown)
    assert "&" not in re.sub(r"\\&", "", shown)
    assert len(re.findall(r"\\left\b", shown)) == len(re.findall(r"\\right\b", shown))
    check_latex(formula_latex(Formula(text), 10))


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_what_looks_like_a_command_is_shown_as_text(text):
    check_latex(escaped(text))
    assert escaped(r"\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"


def test_the_latex_of_every_working_has_no_command_of_a_name_or_value(hostile):
    for name, working in hostile.items():
        try:
            check_latex(working.latex())
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_latex_of_every_working_compiles(hostile, tmp_path):
    body = "\n\n".join(working.latex() for working in hostile.values())
    text = f"\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "t.tex"],
        cwd=tmp_path, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.search(rb"^!", done.stdout, re.MULTILINE)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def check_html(text: str) -> None:
    """Assert that HTML has no tag or attribute but ours, and is well-formed."""
    parser = Tags()
    parser.feed(text)
    assert parser.found <= set(_TAGS.split())
    assert parser.attributes <= {"class", "style"}
    ElementTree.fromstring(f"<root>{text}</root>")


def test_the_html_of_every_working_has_no_tag_of_a_name_or_value(hostile):
    for working in hostile.values():
        check_html(working._repr_html_())


def test_the_html_of_tables_has_no_tag_of_a_name_or_value():
    check_html(Grid({text: list(TEXTS) for text in TEXTS})._repr_html_())


def test_pictures_are_well_formed_and_have_no_tag_of_a_name_or_value():
    n = 4 * len(TEXTS)
    b = np.array([TEXTS[i % len(TEXTS)] for i in range(n)], dtype=object)
    y = np.array([TEXTS[(i // 3) % 5] for i in range(n)], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = cw.TreeClassifier().fit({TEXTS[9]: b, TEXTS[3]: np.arange(n)}, y)
        network = cw.BayesNetworkClassifier("naive").fit({TEXTS[9]: b, TEXTS[7]: b[::-1]}, y)
    for picture in (draw_tree(tree), draw_network(network)):
        found = ElementTree.fromstring(str(picture))
        tags = {element.tag.rpartition("}")[2] for element in found.iter()}
        assert tags <= set(_SVG_TAGS.split())
        assert not any(name.startswith("on") for element in found.iter() for name in element.attrib)


def test_dollar_signs_in_names_are_no_formulas_in_plots(tmp_path):
    plots = pytest.importorskip("matplotlib").use("Agg") or cw.plots
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    names = r"x$\foo$", "b$^$", "z$_{$"
    X = {names[0]: x, names[1]: np.where(x > 0.3, r"$\bad{$", "v$_$").astype(object)}
    y = np.where(x + rng.normal(size=60) > 0, r"a$\frac$b", "c$x^$").astype(object)
    model = cw.NaiveBayesClassifier().fit(X, y)
    answers = cw.cross_validate(cw.NaiveBayesClassifier(), X, y, cv=3).predictions
    shown = [
        plots.ROCDisplay.from_answers(answers).figure_,
        plots.ConfusionDisplay.from_answers(answers).figure_,
        *(plots.DensityDisplay.from_estimator(model, name).figure_ for name in X),
        plots.compare_boundaries({r"n$\bad$": cw.NaiveBayesClassifier()}, {names[0]: x, names[2]: -x}, y)[0].figure,
    ]
    for figure in shown:
        figure.savefig(tmp_path / "plot.png")  # a formula that cannot be parsed would be an error
