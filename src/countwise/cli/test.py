"""countwise test: how good a model is on rows whose class is known."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli import _common

__all__ = ["command"]


@click.command("test")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-y", "--target", default=None, metavar="COLUMN", help="The class; the model's own by default.")
@click.option(
    "--cost",
    "costs",
    multiple=True,
    metavar="NAME=COST,…",
    help="fn=5,fp=1 of two classes, also tp and tn; or CLASS:ANSWER=5, in which wrong answers not named cost 1. "
    "Negative costs are gains.",
)
@click.option(
    "--positive", default=None, metavar="CLASS", help="What fn and fp call positive; the second by default."
)
@click.option("--by", default=None, metavar="COLUMN", help="Scores of the rows of each value, too.")
@_common.weights_option
@click.option("--charts", is_flag=True, help="Draw calibration, and of two classes the ROC curve, as text.")
@_common.json_option
def command(
    model: str,
    files: tuple[str, ...],
    target: str | None,
    costs: tuple[str, ...],
    positive: str | None,
    by: str | None,
    weights: str | None,
    charts: bool,
    as_json: bool,
) -> None:
    """Score MODEL on FILE, whose rows have their class: not those that it learned from.

    \b
    countwise test credit.json new.csv
    countwise test credit.json new.csv --cost fn=5,fp=1 --positive bad
    countwise test credit.json new.csv --by Home --charts
    """
    from countwise.evaluation.holdout import Holdout
    from countwise.io.readers import read_pieces
    from countwise.modelfile import load

    if positive is not None and not costs:
        raise click.UsageError("--positive says what --cost calls positive; give --cost.")
    judge = Holdout(load(model), target, by=by, weights=weights)
    asked = _costs(costs, list(judge.classes), positive) if costs else None  # a wrong name is told before the work
    found = _common.tables(files)
    with _common.progress_bar(f"Reading {_common.title(found)}"):
        for piece in read_pieces(found):
            _check(piece, judge.target, found[0])
            judge.add(piece)
    answers = judge.answers
    report = _report(judge, answers)
    if asked is not None:
        report["cost"] = _priced(judge, answers, asked, positive)
    if as_json:
        _common.echo_json(_common.plain(report))
    else:
        _print(report, judge, answers, charts, positive)


def _check(piece: Any, target: str, file: Any) -> None:
    from countwise.errors import ReadError, did_you_mean, listed

    if target not in piece:
        near = did_you_mean(target, piece) or f"it has {listed(piece)}"
        raise ReadError(f"{file} has no column {target!r}, the class.", hint=f"{near.rstrip('.')}; name it by -y.")


def _costs(texts: tuple[str, ...], classes: list[Any], positive: str | None) -> Any:
    """A table of costs from what was typed; classes may have colons in their names."""
    from countwise.evaluation.costs import costs_of

    names = {str(c) for c in classes}
    asked: dict[Any, str] = {}
    for key, value in _common.pairs(texts, "--cost").items():
        cuts = [(key[:i], key[i + 1 :]) for i, mark in enumerate(key) if mark == ":"]
        both = next((cut for cut in cuts if cut[0] in names and cut[1] in names), None)
        asked[both or (cuts[0] if cuts else key)] = value
    return costs_of(asked, classes, positive)


def _report(judge: Any, answers: Any) -> dict[str, Any]:
    from countwise.base.predictions import SCORES
    from countwise.evaluation.validation import scores_by

    base = judge.baseline
    report: dict[str, Any] = {
        "rows": len(answers),
        "without_class": judge.n_missing,
        "abstained": judge.n_abstained,
        "classes_never_met": judge.unmet,
        "scores": answers.scores(),
        "zeros": answers.zeros,
        "majority_class": None if base is None else {"class": answers.classes[base.answered[0]], **base.scores()},
        "classes": list(answers.classes),
        "confusion": answers.table,
        "calibration": _common.rows_of_grid(answers.reliability()),
    }
    if judge.by is not None:
        report["by"] = _common.rows_of_grid(scores_by(answers, judge.labels, judge.by, SCORES))
    return report


def _priced(judge: Any, answers: Any, costs: Any, positive: str | None) -> dict[str, Any]:
    """The plain decision and the cheapest one, over rows of classes that the model knows."""
    import numpy as np

    from countwise.base.predictions import Predictions
    from countwise.errors import OptionError
    from countwise.evaluation.costs import cheapest, cost_threshold

    k = len(costs)
    rows = np.flatnonzero(answers.codes < k)
    known, classes = answers.take(rows), answers.classes[:k]
    proba = known.proba[:, :k]
    ways = {"most_probable": known.answered, "cheapest": cheapest(proba, costs)}
    found: dict[str, Any] = {"costs": costs, "rows": len(rows)}
    for name, answered in ways.items():
        one = Predictions(classes, known.codes, proba, answered, known.weights)
        found[name] = {"mean_cost": one.cost(costs) if len(rows) else float("nan"), "accuracy": one.accuracy,
                       "confusion": one.table}  # fmt: skip
    if k == 2:
        found["positive"] = positive if positive is not None else classes[1]
        try:
            found["threshold"] = cost_threshold(costs, classes, pos_label=positive)
        except OptionError:  # right answers cost more than wrong ones
            found["threshold"] = float("nan")
    return found


def _print(report: dict[str, Any], judge: Any, answers: Any, charts: bool, positive: str | None) -> None:

    click.echo(f"{report['rows']} rows with a class in {judge.target}\n")
    base = report["majority_class"]
    columns = {"score": list(report["scores"]), "model": [_common.shown(v) for v in report["scores"].values()]}
    if base is not None:
        columns[f"always {base['class']}"] = [_common.shown(base[score]) for score in report["scores"]]
    _common.echo_table(columns)
    for note in _notes(report, judge, answers):
        click.echo(note)
    click.echo()
    _print_confusion(answers.classes, report["confusion"])
    if "by" in report:
        rows = report["by"]
        click.echo()
        _common.echo_table({name: [_cell(row[name]) for row in rows] for name in rows[0]})
    if "cost" in report:
        click.echo()
        _print_cost(report["cost"], answers.classes)
    if charts:
        click.echo(f"\n{_charts(report, answers, positive)}")


def _cell(cell: Any) -> Any:
    """A cell that went through JSON's gate, back to words."""
    return "undefined" if cell is None else "infinite" if cell == "inf" else _common.shown(cell)


def _notes(report: dict[str, Any], judge: Any, answers: Any) -> list[str]:
    import math

    notes = []
    if report["zeros"]:
        others = answers.take((answers.own > 0).nonzero()[0])
        rest = f"; over the other {len(others)} it is {_common.shown(others.log_loss)}" if len(others) else ""
        n = report["zeros"]
        notes.append(f"log_loss is infinite: {_rows(n)} {'is' if n == 1 else 'are'} of a class that got probability "
                     f"0{rest}.")  # fmt: skip
    if math.isnan(report["scores"]["roc_auc"]):
        notes.append("roc_auc is undefined: the rows are of one class, or one of three or more classes is not there.")
    elif (answers.proba == answers.proba[0]).all():
        notes.append("All rows got the same probabilities: they are not ranked, and roc_auc is 0.5.")
    for c, n in report["classes_never_met"].items():
        notes.append(f"The model never met class {str(c)!r}: its {_rows(n)} cannot be answered rightly.")
    if report["without_class"]:
        notes.append(f"{_rows(report['without_class'])} without a class left out.")
    if report["abstained"]:
        notes.append(f"{_rows(report['abstained'])} left out: the model abstains.")
    if report["majority_class"] is None:
        notes.append("The model does not keep how frequent the classes were: there is no baseline.")
    return [f"Note: {note}" for note in notes]


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n != 1)}"


def _print_confusion(classes: Any, table: Any) -> None:
    from countwise.working.numbers import number

    columns: dict[str, list[Any]] = {"class": [str(c) for c in classes]}
    for j, c in enumerate(classes):
        columns[f"answered {c}"] = [number(float(n)) for n in table[:, j]]
    _common.echo_table(columns)


def _print_cost(cost: dict[str, Any], classes: Any) -> None:
    names = {"most_probable": "the most probable class", "cheapest": "the class of least expected cost"}
    columns = {"answer": list(names.values())}
    for score in ("mean_cost", "accuracy"):
        columns[score.replace("_", " ")] = [_common.shown(cost[way][score]) for way in names]
    _common.echo_table(columns)
    if "threshold" in cost:
        click.echo(_threshold_told(cost["threshold"], cost["positive"]))
    click.echo("\nAnswered at least expected cost:")
    _print_confusion(classes[: len(cost["costs"])], cost["cheapest"]["confusion"])


def _threshold_told(threshold: float, positive: Any) -> str:
    import math

    if math.isnan(threshold):
        return "There is no threshold: right answers cost more than wrong ones."
    if threshold < 0:
        return f"{positive!s} is the cheaper answer whatever its probability."
    if threshold >= 1:
        return f"{positive!s} is never the cheaper answer."
    return f"{positive!s} is the cheaper answer where P({positive!s}) is above {threshold:.4g}."


def _charts(report: dict[str, Any], answers: Any, positive: str | None) -> str:
    from countwise.measures import roc_points
    from countwise.working.charts import bar_chart, line_chart

    style = _common.chart_look()
    rows = report["calibration"]
    bars = {f"{row['from']:.1f}-{row['to']:.1f}": row["share"] for row in rows}
    notes = [f"{row['share']:.3f} of {row['rows']:g}, told {row['probability']:.3f}" for row in rows]
    parts = [
        "Share of right answers, by the probability of the answer:",
        bar_chart(bars, notes=notes, most=1.0, **style),
    ]
    if len(answers.classes) == 2 and len(set(answers.codes.tolist())) == 2:
        c = 0 if positive == str(answers.classes[0]) else 1
        false, true, _ = roc_points(answers.proba[:, c], answers.codes == c, answers.weight)
        points = list(zip(false.tolist(), true.tolist(), strict=True))
        chart = line_chart({f"ROC of {answers.classes[c]!s}": points, "chance": [(0.0, 0.0), (1.0, 1.0)]},
                           x_label="false positive rate", y_label="true positive rate", x_range=(0, 1),
                           y_range=(0, 1), **style)  # fmt: skip
        parts += ["", chart]
    return "\n".join(parts)
