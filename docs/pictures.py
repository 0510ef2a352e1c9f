"""The pictures of the documentation, made by the code that they show.

`fragment(name)` is a picture as HTML: an SVG drawing, a plot or a worked prediction. `python docs/pictures.py` writes
the picture of the README, `docs/_static/readme.svg`.
"""

from __future__ import annotations

import functools
import io
import re
import warnings
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import countwise as cw
from countwise import feature_selection, plots, samples

__all__ = ["PICTURES", "SHOWN", "fragment", "of"]

PICTURES: dict[str, Callable[[], str]] = {}


def _picture(function: Callable[[], str]) -> Callable[[], str]:
    PICTURES[function.__name__] = functools.cache(function)
    return PICTURES[function.__name__]


def _plot(draw: Callable[[Any], Any], size: tuple[float, float] = (6.4, 3.8)) -> str:
    """What a function draws on matplotlib axes, as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=size, layout="constrained")
    draw(ax)
    target = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "countwise", "svg.fonttype": "none"}):
        figure.savefig(target, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = target.getvalue()
    return text[text.index("<svg") :]


_DAY = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]


def _weather() -> Any:
    return samples.load("weather")


def _penguins() -> Any:
    return samples.load("penguins")


@functools.cache
def _credit_model() -> Any:
    credit = samples.load("credit")
    return cw.NaiveBayesClassifier("auto").fit(credit.frame, "Status")


# -- worked predictions --------------------------------------------------------------


@_picture
def naive_bayes_working() -> str:
    model = cw.NaiveBayesClassifier(smoothing=0).fit(_weather().frame, "play")
    return model.explain(_DAY).html()


@_picture
def credit_working() -> str:
    credit = samples.load("credit")
    return _credit_model().explain(credit.X, row=3).html()


@_picture
def discriminant_working() -> str:
    weather = _weather().columns("temperature", "humidity", "play")
    return cw.DiscriminantClassifier().fit(weather, "play").explain([[66, 90]]).html()


@_picture
def parzen_working() -> str:
    return (
        cw.ParzenClassifier()
        .fit(samples.load("rain").frame, "rain")
        .explain([{"wind": "north", "temp": 22.8}])
        .html()
    )


@_picture
def prototype_working() -> str:
    return cw.PrototypeClassifier().fit(_weather().frame, "play").explain(_DAY).html()


@_picture
def neighbors_working() -> str:
    return cw.NeighborsClassifier(3).fit(_weather().frame, "play").explain(_DAY).html()


@_picture
def neighbors_regression_working() -> str:
    hours = samples.load("hours")
    return cw.NeighborsRegressor(3).fit(hours.frame, "hours").explain(hours.X).html()


@_picture
def pebls_working() -> str:
    model = cw.PEBLSClassifier().fit(samples.load("cheat").frame, "cheat")
    return model.explain([{"refund": "No", "marital": "Single", "income_k": 84}]).html()


@_picture
def rote_working() -> str:
    tennis = samples.load("tennis")
    return cw.RoteClassifier().fit(tennis.frame, "play").explain(tennis.X).html()


@_picture
def rules_working() -> str:
    return cw.RuleClassifier().fit(_weather().frame, "play").explain(_DAY).html()


@_picture
def cases_working() -> str:
    base = cw.CaseBase(
        [
            ({"noise": "grinding", "hours": 900, "seen": {"smoke", "heat"}}, "change the bearing"),
            ({"noise": "hissing", "hours": 100, "seen": {"leak"}}, "change the seal"),
            ({"noise": "none", "hours": 300}, "check the fuse"),
        ]
    )
    return base.solve({"noise": "grinding", "hours": 500, "seen": {"heat"}})._repr_html_()


@_picture
def text_working() -> str:
    mail = samples.load("mail")
    model = cw.NaiveBayesClassifier({"text": "bernoulli"}).fit(mail.X, mail.y)
    return model.explain([{"text": "review us now"}]).html()


@_picture
def elimination_working() -> str:
    return _alarm().explain("burglary", {"alarm": "yes"}).html()


# -- trees and networks --------------------------------------------------------------


@_picture
def tree() -> str:
    return plots.draw_tree(cw.TreeClassifier().fit(_weather().frame, "play"))


@_picture
def tree_path() -> str:
    return plots.draw_tree(cw.TreeClassifier().fit(_weather().frame, "play"), _DAY)


@_picture
def regression_tree() -> str:
    return plots.draw_tree(cw.TreeRegressor(max_depth=2).fit(samples.load("hours").frame, "hours"))


def _alarm() -> Any:
    net = cw.BayesNetwork().add_node("burglary", ["yes", "no"], [0.01, 0.99])
    net = net.add_node("earthquake", ["yes", "no"], [0.02, 0.98]).add_node("alarm", ["yes", "no"])
    net = net.add_arc("burglary", "alarm").add_arc("earthquake", "alarm")
    net = net.set_cpt("alarm", [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]])
    net = net.add_arc("alarm", "john calls").add_node("john calls", ["yes", "no"], [[0.9, 0.1], [0.05, 0.95]])
    return net.add_arc("alarm", "mary calls").add_node("mary calls", ["yes", "no"], [[0.7, 0.3], [0.01, 0.99]])


@_picture
def network() -> str:
    return plots.draw_network(_alarm(), {"alarm": "yes"})


@_picture
def tan() -> str:
    return plots.draw_network(cw.BayesNetworkClassifier("tan").fit(samples.load("tennis").frame, "play"))


# -- decision regions and densities --------------------------------------------------


def _regions(models: dict[str, Any]) -> str:
    penguins = _penguins()
    X = penguins.columns("bill_length_mm", "bill_depth_mm")
    return str(plots.compare_boundaries(models, X, penguins.y, kind="svg", resolution=90))


@_picture
def discriminant_regions() -> str:
    return _regions({"LDA": cw.DiscriminantClassifier(), "QDA": cw.DiscriminantClassifier("own")})


@_picture
def parzen_regions() -> str:
    return _regions({"Parzen": cw.ParzenClassifier(), "naive Bayes, kernel": cw.NaiveBayesClassifier("kernel")})


@_picture
def neighbors_regions() -> str:
    return _regions({"1 neighbor": cw.NeighborsClassifier(1), "15 neighbors": cw.NeighborsClassifier(15)})


@_picture
def prototype_regions() -> str:
    return _regions(
        {"nearest mean": cw.PrototypeClassifier(), "nearest median": cw.PrototypeClassifier(center="median")}
    )


@_picture
def all_regions() -> str:
    return _regions({"naive Bayes": cw.NaiveBayesClassifier(), "tree": cw.TreeClassifier(max_depth=3)})


def _density(distribution: Any, name: str = "flipper_length_mm") -> str:
    penguins = _penguins()
    model = cw.NaiveBayesClassifier({name: distribution}).fit(penguins.columns(name, "species"), "species")
    return _plot(lambda ax: plots.DensityDisplay.from_estimator(model, name, ax=ax))


@_picture
def gaussian_density() -> str:
    return _density("gaussian")


@_picture
def kernel_density() -> str:
    return _density("kernel")


@_picture
def binned_density() -> str:
    return _density("mdl")


@_picture
def poisson_density() -> str:
    loan = samples.load("loan")
    model = cw.NaiveBayesClassifier("poisson", types={"job_years": "count"})
    model = model.fit(loan.columns("job_years", "default"), "default")
    return _plot(lambda ax: plots.DensityDisplay.from_estimator(model, "job_years", ax=ax))


@_picture
def bandwidth_densities() -> str:
    density = cw.ParzenDensity().fit(samples.load("rain").columns("temp"))
    return _plot(lambda ax: plots.DensityDisplay.from_bandwidths(density, [0.5, 1, 2, 5], ax=ax))


def _contours(model: Any) -> str:
    penguins = _penguins()
    X = penguins.columns("bill_length_mm", "bill_depth_mm")
    return _plot(lambda ax: plots.ContourDisplay.from_estimator(model, X, penguins.y, ax=ax), (6.4, 4.4))


@_picture
def discriminant_contours() -> str:
    return _contours(cw.DiscriminantClassifier("own"))


@_picture
def parzen_contours() -> str:
    return _contours(cw.ParzenClassifier())


@_picture
def boundaries() -> str:
    from sklearn.linear_model import LogisticRegression

    models = {"discriminant": cw.DiscriminantClassifier(), "logistic regression": LogisticRegression(max_iter=1000)}
    weather = _weather().columns("temperature", "humidity", "play")
    return _plot(lambda ax: plots.BoundaryDisplay.from_estimator(models, weather, "play", ax=ax), (6.4, 4.6))


@_picture
def bandwidth_curve() -> str:
    density = cw.ParzenDensity("leave_one_out").fit(samples.load("rain").columns("temp"))
    return _plot(lambda ax: plots.plot_bandwidth(density, ax=ax))


# -- scores --------------------------------------------------------------------------


@functools.cache
def _validation() -> Any:
    credit = samples.load("credit")
    return cw.cross_validate(cw.NaiveBayesClassifier("auto"), credit.X, credit.y, cv=5)


@_picture
def roc() -> str:
    return _plot(lambda ax: _validation().plot("roc", ax=ax, pos_label="bad"), (4.4, 4.0))


@_picture
def precision_recall() -> str:
    return _plot(lambda ax: _validation().plot("precision_recall", ax=ax, pos_label="bad"), (4.4, 4.0))


@_picture
def calibration() -> str:
    return _plot(lambda ax: _validation().plot("calibration", ax=ax), (4.6, 4.4))


@_picture
def confusion() -> str:
    return _plot(lambda ax: _validation().plot("confusion", ax=ax), (4.4, 3.6))


@_picture
def learning_curve() -> str:
    credit = samples.load("credit")
    learners = {"naive Bayes": cw.NaiveBayesClassifier("auto"), "tree": cw.TreeClassifier(max_depth=5)}
    found = cw.learning_curve(learners, credit.X, credit.y, repeats=5)
    return _plot(lambda ax: found.plot(ax))


@_picture
def validation_curve() -> str:
    penguins = _penguins()
    found = cw.validation_curve(
        cw.NeighborsClassifier(), penguins.X, penguins.y, param_name="n_neighbors", param_range=range(1, 31)
    )
    return _plot(lambda ax: found.plot(ax))


@_picture
def comparison() -> str:
    penguins = _penguins()
    chosen = ["naive Bayes", "naive Bayes (auto)", "LDA", "C4.5 tree", "one rule"]
    return cw.compare(penguins.frame, "species", only=chosen, cv=5, curve=False)._repr_html_()


@_picture
def wrapper_path() -> str:
    credit = samples.load("credit")
    search = cw.WrapperSelector(cw.NaiveBayesClassifier("auto"), cv=5).fit(credit.X, credit.y)
    return _plot(lambda ax: search.plot(ax))


@_picture
def threshold_gains() -> str:
    penguins = samples.load("penguins")
    gains = feature_selection.threshold_gains(penguins.frame, "species", column="flipper_length_mm")
    return _plot(lambda ax: plots.plot_threshold_gains(gains, ax))


@_picture
def contingency_table() -> str:
    tennis = samples.load("tennis")
    return feature_selection.contingency_table(tennis.frame, "play", column="outlook")._repr_html_()


@_picture
def filter_scores() -> str:
    credit = samples.load("credit")
    return cw.FilterSelector(k=4).fit(credit.X, credit.y).table_._repr_html_()


@_picture
def histogram_cuts() -> str:
    penguins = samples.load("penguins")
    cutter = cw.Discretizer("mdl", columns=["bill_length_mm"]).fit(penguins.X, penguins.y)
    return _plot(lambda ax: plots.HistogramDisplay.from_discretizer(cutter, "bill_length_mm", ax=ax))


# -- which picture a public name shows -----------------------------------------------

_WORKING, _DRAWN, _REGIONS = "A worked prediction", "Drawn", "Decision regions"
SHOWN: dict[str, dict[str, str]] = {
    "NaiveBayesClassifier": {"naive_bayes_working": _WORKING},
    "DiscriminantClassifier": {"discriminant_working": _WORKING, "discriminant_regions": _REGIONS},
    "ParzenClassifier": {"parzen_working": _WORKING, "parzen_regions": _REGIONS},
    "ParzenDensity": {"bandwidth_curve": "The likelihood of each bandwidth"},
    "PrototypeClassifier": {"prototype_working": _WORKING, "prototype_regions": _REGIONS},
    "NeighborsClassifier": {"neighbors_working": _WORKING, "neighbors_regions": _REGIONS},
    "NeighborsRegressor": {"neighbors_regression_working": _WORKING},
    "PEBLSClassifier": {"pebls_working": _WORKING},
    "RoteClassifier": {"rote_working": _WORKING},
    "TreeClassifier": {"tree": _DRAWN, "all_regions": _REGIONS},
    "TreeRegressor": {"regression_tree": _DRAWN},
    "RuleClassifier": {"rules_working": _WORKING},
    "BayesNetwork": {"network": _DRAWN, "elimination_working": "A worked query"},
    "BayesNetworkClassifier": {"tan": _DRAWN},
    "CaseBase": {"cases_working": "A worked solution"},
    "Gaussian": {"gaussian_density": "Densities by class"},
    "Kernel": {"kernel_density": "Densities by class"},
    "Binned": {"binned_density": "Densities by class"},
    "Poisson": {"poisson_density": "Probabilities by class"},
    "Bernoulli": {"text_working": _WORKING},
    "WrapperSelector": {"wrapper_path": "The score of each step"},
    "FilterSelector": {"filter_scores": "The scores"},
    "cross_validate": {"calibration": '`plot("calibration")` of the result'},
    "learning_curve": {"learning_curve": "`plot()` of the result"},
    "validation_curve": {"validation_curve": "`plot()` of the result"},
    "compare": {"comparison": "The result in a notebook"},
    "plots.draw_tree": {"tree_path": "With the path of one row"},
    "plots.draw_network": {"network": "With evidence"},
    "plots.compare_boundaries": {"discriminant_regions": _REGIONS},
    "plots.plot_bandwidth": {"bandwidth_curve": _DRAWN},
    "plots.plot_search": {"wrapper_path": _DRAWN},
    "plots.plot_threshold_gains": {"threshold_gains": _DRAWN},
    "feature_selection.threshold_gains": {"threshold_gains": "Drawn by `plot_threshold_gains`"},
    "feature_selection.ContingencyTable": {"contingency_table": "In a notebook"},
    "Discretizer": {"histogram_cuts": "Drawn by `HistogramDisplay`"},
    "plots.HistogramDisplay": {"histogram_cuts": _DRAWN},
    "plots.ROCDisplay": {"roc": _DRAWN},
    "plots.PrecisionRecallDisplay": {"precision_recall": _DRAWN},
    "plots.CalibrationDisplay": {"calibration": _DRAWN},
    "plots.ConfusionDisplay": {"confusion": _DRAWN},
    "plots.BoundaryDisplay": {"boundaries": _DRAWN},
    "plots.ContourDisplay": {"discriminant_contours": _DRAWN},
    "plots.DensityDisplay": {"kernel_density": _DRAWN, "bandwidth_densities": "Drawn by `from_bandwidths`"},
    "plots.LearningCurveDisplay": {"learning_curve": _DRAWN},
    "plots.ValidationCurveDisplay": {"validation_curve": _DRAWN},
    "working.Working": {"naive_bayes_working": "In a notebook"},
    "working.Account": {"neighbors_working": "In a notebook"},
    "evaluation.Comparison": {"comparison": "In a notebook"},
}


def fragment(name: str) -> str:
    """A picture as HTML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f'<div class="shown">{PICTURES[name]()}</div>'


def of(name: str) -> list[tuple[str, str]]:
    """The pictures of a public name, each with its title."""
    shown = SHOWN.get(name.removeprefix("countwise."), {})
    return [(title, fragment(picture)) for picture, title in shown.items()]


# -- the picture of the README -------------------------------------------------------

_FONT = 'font-family="Helvetica, Arial, Liberation Sans, sans-serif"'
_BOLD = 'font-weight="bold"'
_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#666666"


def _text(x: float, y: float, words: str, size: int = 13, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def _worked() -> str:
    """The worked prediction: factors with their counts, and bars of log-odds."""
    model = cw.NaiveBayesClassifier(smoothing=0).fit(_weather().frame, "play")
    working = model.explain([{"outlook": "sunny", "temperature": 66, "humidity": None, "windy": True}])
    table, notes = str(working).split("\n\n", 1)
    rows = [[part.strip() for part in line.split("  ") if part.strip()] for line in table.splitlines()]
    out = [_text(at, 18, words, 13, more=_BOLD) for at, words in zip((170, 385), rows[0], strict=False)]
    out.append(_text(620, 18, "log-odds", 13, "middle", _BOLD))
    for k, row in enumerate(rows[1:]):
        y = 44 + 25 * k
        bold = _BOLD if row[0] in ("product", "posterior") else ""
        out += [_text(at, y, words, 12, more=bold) for at, words in zip((0, 170, 385), row, strict=False)]
        if len(row) > 3:
            wide = 36 * abs(float(row[3]))
            left, color = (612, _BLUE) if float(row[3]) > 0 else (612 - wide, _ORANGE)
            out.append(f'<rect x="{left:.1f}" y="{y - 11}" width="{wide:.1f}" height="13" fill="{color}"/>')
            out.append(_text(690, y, row[3], 12, "end", f'fill="{_GREY}"'))
    lines = [" ".join(line.split()) for line in notes.splitlines()]
    return "".join([*out, *(_text(0, 50 + 25 * len(rows) + 20 * k, line, 13) for k, line in enumerate(lines))])


def _scores() -> str:
    """Accuracies of all learners on the credit table, with 95 % intervals."""
    credit = samples.load("credit")
    found = cw.compare(credit.frame, "Status", cv=10, curve=False)
    names = [name for name in found.learners if not found.validations[name].errors]
    scores = {
        name: (found.validations[name].mean("accuracy"), *found.validations[name].interval("accuracy"))
        for name in names
    }
    names.sort(key=lambda name: -scores[name][0])
    low = min(0.6, *(score[1] for score in scores.values()))
    high = max(score[2] for score in scores.values()) + 0.01
    base = max((credit.y == value).mean() for value in set(credit.y))

    def x(value: float) -> float:
        return 190 + 430 * (value - low) / (high - low)

    out, bottom = [], 34 + 22 * len(names)
    for tick in (k / 20 for k in range(21)):
        if low <= tick <= high:
            out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="20" y2="{bottom}" stroke="#e4e4e4"/>')
            out.append(_text(x(tick), bottom + 16, f"{100 * tick:.0f} %", 12, "middle", f'fill="{_GREY}"'))
    line = f'<line x1="{x(base):.1f}" x2="{x(base):.1f}" y1="20" y2="{bottom}"'
    out.append(f'{line} stroke="{_ORANGE}" stroke-dasharray="4 3"/>')
    out.append(_text(x(base), 14, "majority class", 12, "middle", f'fill="{_ORANGE}"'))
    for k, name in enumerate(names):
        mean, lower, upper = scores[name]
        y = 36 + 22 * k
        out.append(_text(180, y + 4, name, 13, "end"))
        out.append(
            f'<line x1="{x(lower):.1f}" x2="{x(upper):.1f}" y1="{y}" y2="{y}" stroke="{_BLUE}" stroke-width="2"/>'
        )
        out.append(f'<circle cx="{x(mean):.1f}" cy="{y}" r="4.5" fill="{_BLUE}"/>')
    return "".join(out)


def _panel(x: float, y: float, title: str, body: str) -> str:
    """A titled drawing at a place; an SVG is scaled to fit, and centered."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body)
    if found:
        width, height = map(float, found.groups())
        scale = min(1.15, 660 / width, 345 / height)
        place = f' x="{(660 - width * scale) / 2:.0f}" width="{width * scale:.0f}" height="{height * scale:.0f}"'
        body = re.sub(r' width="[\d.]+" height="[\d.]+"', place, body, count=1)
    inner = f'{_text(0, 0, title, 16, more=_BOLD)}<g transform="translate(0 14)">{body}</g>'
    return f'<g transform="translate({x} {y})">{inner}</g>'


def readme() -> str:
    """The four panels of the README: a worked prediction, a tree, a network, a comparison."""
    panels = [
        _panel(24, 36, "Every prediction shows its working", _worked()),
        _panel(750, 36, "Trees over mixed columns", PICTURES["tree_path"]()),
        _panel(24, 420, "Bayesian networks, by hand or from data", PICTURES["network"]()),
        _panel(750, 420, "All learners compared on one table (accuracy, 10 folds)", _scores()),
    ]
    title = "Countwise: a worked prediction, a tree, a network and a comparison of learners"
    open_tag = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 1440 800" {_FONT} fill="#222222">'
    return (
        f'{open_tag}<title>{title}</title><rect width="1440" height="800" fill="#ffffff"/>{"".join(panels)}</svg>\n'
    )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (Path(__file__).parent / "_static" / "readme.svg").write_text(readme(), encoding="utf-8")
