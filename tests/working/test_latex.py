"""LaTeX of workings, tables, trees and networks: every engine compiles it, and it fits a frame of beamer."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import countwise as cw
from countwise import BayesNetworkClassifier, NaiveBayesClassifier, TreeClassifier, TreeRegressor, samples
from countwise.evaluation import paired_test
from countwise.feature_selection import FilterSelector, attribute_scores, contingency_table, threshold_gains
from countwise.working import Formula, Grid, Section
from countwise.working.latex import formula_latex
from countwise.working.numbers import Worked

ENGINES = ("pdflatex", "xelatex", "lualatex")
WIDTH = 56  # characters of a line in a frame of 4:3


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("(3 + 1)/(5 + 3) = 0.5", r"\frac{3 + 1}{5 + 3} = 0.5"),
        ("0.94 - (7/14)·0.985 = 0.45", r"0.94 - \frac{7}{14} \cdot 0.985 = 0.45"),
        ("-(9/14)·log2(9/14)", r"- \frac{9}{14} \cdot \log_2\left(\frac{9}{14}\right)"),
        ("(3 - 1.8)²/1.8", r"\frac{(3 - 1.8)^{2}}{1.8}"),
        ("√(1/5) = 1e-7", r"\sqrt{\frac{1}{5}} = 1 \cdot 10^{-7}"),
        ("P(humidity = High | play)", r"P(\text{humidity} = \text{High} \mid \text{play})"),
        ("|2/4 - 0/2|^k", r"| \frac{2}{4} - \frac{0}{2} |^{k}"),
        ("Σ⁻¹(x - μ)", r"\Sigma^{-1} (x - \mu)"),
        ("f = Σ K(u)/(n·h)", r"f = \sum \frac{K(u)}{n \cdot h}"),
        ("2.5^3·e^-2.5/3!", r"2.5^{3} \cdot \frac{e^{-2.5}}{3!}"),
        ("H(y | (42.35, 46.05]) = (1/2)/3", r"H(y \mid (42.35,\, 46.05]) = \frac{\frac{1}{2}}{3}"),
        ("x - xᵢ", "x - x_{i}"),
        ("bill_length_mm <= 3", r"\text{bill\_length\_mm} \le 3"),
        ("a/b/c", r"\frac{\frac{a}{b}}{c}"),
        ("open (3 + 4", r"\text{open} (3 + 4"),
    ],
)
def test_a_formula_is_set_as_on_a_board(text, latex):
    assert formula_latex(Formula(text)) == latex


def test_a_formula_wider_than_the_line_is_broken_before_operators():
    lines = formula_latex(Formula(" + ".join(f"(1/{k})·log2(1/{k})" for k in range(2, 12))), 40).split(r"\\")
    assert len(lines) > 3
    assert all(re.match(r"\s*& \\quad [+\\]", line) for line in lines[1:])


def test_a_table_wider_than_the_line_is_divided_and_repeats_its_first_column():
    grid = Grid({"class": ["yes", "no"], **{f"column {k}": [k / 7, 1.5] for k in range(9)}})
    assert grid.latex().count(r"\begin{array}") == 1
    assert grid.latex(40).count(r"\begin{array}") == grid.latex(40).count(r"\text{class} &") > 2


def test_a_divided_table_in_latex_repeats_the_columns_up_to_the_first_one_with_a_name():
    grid = Grid({"": ["▶", ""], "attribute": ["outlook", "wind"], **{f"number {k}": [k / 7, 1.5] for k in range(9)}})
    latex = grid.latex(50)
    assert latex.count(r"\begin{array}") == latex.count(r"   & \text{attribute} &") > 2
    assert latex.count(r"\triangleright}} & \text{outlook} &") == latex.count(r"\begin{array}")


def test_long_names_of_columns_take_several_lines_and_rows_without_cells_are_left_out():
    latex = attribute_scores(samples.load("penguins").frame, "species").latex(56)
    assert r"\text{\shortstack[r]{information\_ \\ gain}}" in latex
    notes = latex.rpartition(r"\begin{array}")[2]
    assert notes.count(r"\text{") == 3  # attribute, note and the only attribute with a note
    assert r"\text{year}" in notes
    short = Grid({"class": ["yes"], "mean_value": [1.5], "a_b": ["a longer text"]})
    assert "shortstack" not in short.latex() + short.latex(56)


def test_a_bracket_wider_than_the_line_is_broken_inside():
    text = "(13/14)·(0.940286 - " + " - ".join(f"({k}/14)·0.97" for k in range(1, 9)) + ") = 0.1"
    assert r"\left(" in formula_latex(Formula(text))
    lines = formula_latex(Formula(text), 40).split(r"\\")
    assert len(lines) > 3
    assert lines[0].count(r"\bigl(") == lines[-1].count(r"\bigr)") + ("bigr" in lines[-2]) == 1


def test_numbers_with_a_derivation_are_fractions_in_tables():
    assert r"\frac{3}{5} = 0.6" in Grid({"p": [Worked(0.6, "3/5")]}).latex()
    assert r"\noindent a \% b\par" in Section("s", Grid({}), ("a % b",)).latex()


def test_the_factor_of_an_absent_word_is_in_parentheses_within_a_product():
    mail = samples.load("mail")
    model = NaiveBayesClassifier({"text": "bernoulli"}, smoothing=0).fit(mail.X, mail.y)
    product = model.explain([{"text": "review us now"}], changes=False, interval=None).latex().splitlines()[2]
    assert product.count(r"\cdot \left(1 - \frac{") == 4
    assert r"\cdot 1 -" not in product


def _workings() -> dict[str, str]:
    penguins = samples.load("penguins")
    numbers = {name: penguins.frame[name] for name in ("bill_length_mm", "bill_depth_mm", "flipper_length_mm")}
    learners = {
        "naive Bayes": cw.NaiveBayesClassifier("auto"),
        "discriminant": cw.DiscriminantClassifier(nominal="onehot"),
        "prototypes": cw.PrototypeClassifier(),
        "tree": cw.TreeClassifier(),
        "rules": cw.RuleClassifier(),
        "neighbors": cw.NeighborsClassifier(3),
        "PEBLS": cw.PEBLSClassifier(),
        "rote": cw.RoteClassifier(),
        "network": cw.BayesNetworkClassifier("tan"),
    }
    found = {name: model.fit(penguins.X, penguins.y).explain(penguins.X, row=0) for name, model in learners.items()}
    tennis = samples.load("tennis")
    for name in ("naive Bayes", "tree", "rules", "network"):
        found[f"{name}, rows"] = learners[name].fit(tennis.frame, "play").explain(tennis.X, rows=tennis.frame)
    cutter = cw.Discretizer({"bill_depth_mm": "mdl", "bill_length_mm": {"method": "lloyd", "n_bins": 3}})
    cutter.fit(penguins.X, penguins.y)
    found |= {f"bins by {cutter.how_[name]}": cutter.explain(name) for name in cutter.edges_}
    found["report of bins"] = cutter.report("bill_length_mm")
    found["Parzen"] = cw.ParzenClassifier().fit(numbers, penguins.y).explain(numbers, row=0)
    for covariance in ("shared", "own"):
        model = cw.DiscriminantClassifier(covariance).fit(numbers, penguins.y)
        found[f"discriminant, {covariance}"] = model.explain(numbers, row=0)
    credit = samples.load("credit")
    found["missing values"] = cw.evaluation.missing_values(cw.NaiveBayesClassifier(), credit.X, credit.y)
    loan = samples.load("loan")
    counts = cw.NaiveBayesClassifier(types={"job_years": "count"}).fit(loan.X, loan.y)
    found["densities"] = counts.explain(loan.X, row=0, densities=True)
    gauss = cw.NaiveBayesClassifier({"bill_depth_mm": "kernel"}).fit(numbers, penguins.y)
    found["Gaussian densities"] = gauss.explain(numbers, row=0, densities=True, all_terms=True)
    plane = cw.NeighborsRegressor(5, local="linear").fit(numbers, np.arange(344.0))
    found["neighbors, a plane"] = plane.explain(numbers, row=0)
    found["neighbors, a number"] = cw.NeighborsRegressor(3).fit(numbers, np.arange(344.0)).explain(numbers, row=0)
    return {name: working.latex(WIDTH) for name, working in {**found, **_networks()}.items()}


def _networks() -> dict[str, object]:
    net = cw.BayesNetwork().add_arc("rain", "hose").add_node("rain", ["no", "yes"], [0.8, 0.2])
    net = net.add_arc("rain", "wet").add_arc("hose", "wet").add_node("hose", [0, 1], [[0.6, 0.4], [1, 0]])
    net = net.add_node("wet", [0, 1]).set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0, 1]]])
    done = net.query("rain", {"wet": 1}, do={"hose": 1})
    xor = {"A": ["n", "n", "y", "y"], "B": ["n", "y", "n", "y"], "C": ["n", "y", "y", "n"]}
    search = cw.BayesNetwork("backward_ordering", criterion="chi_square").fit(xor).explain_structure()
    orders = cw.BayesNetwork("all_orders").fit(xor).explain_structure()
    rows = {"rain": ["no", "no", "yes", None], "wet": ["no", "yes", "yes", "yes"]}
    em = cw.BayesNetwork({"wet": ["rain"]}).fit(rows).explain_em(rows, iterations=1)
    found = {"a search": search, "every ordering": orders, "EM": em}
    found["d-separation"] = cw.BayesNetwork({"wet": ["rain", "hose"]}).explain_d_separated("rain", "hose")
    return found | {"an intervention": net.explain("rain", {"wet": 1}, do={"hose": 1}), "do": done}


def _pictures() -> dict[str, str]:
    penguins, hours, tennis = (samples.load(name) for name in ("penguins", "hours", "tennis"))
    trees = {
        "a deep tree": TreeClassifier().fit(penguins.X, penguins.y),
        "a regression tree": TreeRegressor().fit(hours.X, hours.y),
        "a network": BayesNetworkClassifier("tan").fit(penguins.frame, "species"),
    }
    table = NaiveBayesClassifier().fit(tennis.X, tennis.y).table("outlook")
    return {**{name: model.latex(WIDTH) for name, model in trees.items()}, "a table": table.latex(WIDTH)}


def _reports() -> dict[str, str]:
    """Return the LaTeX of what is not the working of a prediction."""
    penguins, tennis, weather = (samples.load(name) for name in ("penguins", "tennis", "weather"))
    cheat = samples.load("cheat")
    edits = cw.neighbors.DistanceMetric(1, nominal="levenshtein")
    strings = cw.PrototypeClassifier(metric=edits).fit({"name": ["Meier", "Maier", "Schmidt"]}, ["m", "m", "s"])
    learners = (NaiveBayesClassifier(), TreeClassifier())
    scores = [cw.cross_validate(learner, tennis.X, tennis.y, cv=7) for learner in learners]
    numeric = {name: weather.frame[name] for name in ("temperature", "humidity")}
    selection = FilterSelector("cfs", k=2).fit(tennis.X, tennis.y)
    found = {
        "a contingency table": contingency_table(tennis.frame, "play", column="outlook"),
        "thresholds": threshold_gains(weather.frame, "play", column="temperature"),
        "scores of attributes": attribute_scores(penguins.frame, "species"),
        "a selection of columns": selection.explain(),
        "a paired test": paired_test(*scores).explain(),
        "the answer to a query": BayesNetworkClassifier("tan").fit(tennis.frame, "play").query("outlook"),
        "weights of exemplars": cw.PEBLSClassifier(weighting="incremental").fit(cheat.X, cheat.y).weight_history_,
        "prototypes of strings": strings.explain([{"name": "Mair"}]),
        "the logistic form": cw.DiscriminantClassifier().fit(numeric, weather.y).logistic_form(),
    }
    return {name: report.latex(WIDTH) for name, report in {**found, **_trees()}.items()}


def _trees() -> dict[str, object]:
    penguins, hours, tennis = (samples.load(name) for name in ("penguins", "hours", "tennis"))
    c45 = {"criterion": "gain_ratio", "threshold_cost": True}
    splits = {
        "splits by gain ratio": TreeClassifier(**c45).fit(penguins.frame, "species"),
        "splits by Gini impurity": TreeClassifier("gini", nominal="subset").fit(penguins.frame, "species"),
        "splits by SD": TreeRegressor().fit(hours.frame, "hours"),
    }
    pruned = {
        "pessimistic pruning": TreeClassifier(**c45, pruning="pessimistic").fit(penguins.frame, "species"),
        "reduced-error pruning": TreeClassifier(pruning="reduced_error").fit(penguins.frame, "species"),
        "cost-complexity pruning": TreeClassifier(pruning="cost_complexity").fit(penguins.frame, "species"),
    }
    rules = cw.RuleClassifier(min_samples_leaf=1).fit(tennis.frame, "play")
    found = {
        "a rule list": cw.RuleClassifier().fit(penguins.frame, "species").rules_,
        "rules of a tree": rules.rules_,
    }
    found |= {name: model.split_report(max_depth=2) for name, model in splits.items()}
    found |= {name: model.pruning_report() for name, model in pruned.items()}
    return found | {"simplified rules": rules.simplification_report()}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_latex_of_every_learner_compiles_and_fits_a_frame(engine, tmp_path):
    if shutil.which(engine) is None:
        pytest.skip(f"needs {engine}")
    parts = {**_workings(), **_pictures(), **_reports()}
    frames = [
        f"\\begin{{frame}}[allowframebreaks=0.85]{{{name}}}\n{body}\n\\end{{frame}}" for name, body in parts.items()
    ]
    text = "\n".join([r"\documentclass[11pt]{beamer}\usepackage{tikz}\begin{document}", *frames, r"\end{document}"])
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-no-shell-escape", "t.tex"], cwd=tmp_path, capture_output=True,
        timeout=240,
    )  # fmt: skip
    log = (tmp_path / "t.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-3000:]
    assert not re.search(r"^!", log, re.MULTILINE)
    over = [float(points) for points in re.findall(r"Overfull \\[hv]box \(([0-9.]+)pt", log)]
    assert max(over, default=0.0) < 4, over  # points; a letter is about five wide and ten high
