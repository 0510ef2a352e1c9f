"""countwise test: scores of a model on rows whose class is known."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli import _common

__all__ = ["command"]


@click.command("test")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-y",
    "--target",
    default=None,
    metavar="COLUMN",
    help="Column with the true class.  [default: the target of the model]",
)
@click.option(
    "--cost",
    "costs",
    multiple=True,
    metavar="NAME=COST,…",
    help="Costs of predictions. For two classes: fn, fp, tp and tn, such as fn=5,fp=1; others cost 0. Or "
    "CLASS:PREDICTION=COST; other errors cost 1. Negative costs are gains.",
)
@click.option(
    "--positive",
    default=None,
    metavar="CLASS",
    help="Positive class of --cost.  [default: the second class]",
)
@click.option("--by", default=None, metavar="COLUMN", help="Also show the scores for each value of this column.")
@_common.weights_option
@click.option("--charts", is_flag=True, help="Draw the calibration and, for two classes, the ROC curve as text.")
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
    """Evaluate MODEL on FILE, whose rows have a known class.

    Use rows that MODEL was not trained on.

    \b
    Examples:
      countwise test credit.json new.csv
      countwise test credit.json new.csv --cost fn=5,fp=1 --positive bad
      countwise test credit.json new.csv --by Home --charts
    """
    from countwise.data.schema import field_types
    from countwise.evaluation.holdout import Holdout
    from countwise.io.readers import read_pieces
    from countwise.modelfile import load

    if positive is not None and not costs:
        raise click.UsageError("--positive needs --cost.")
    fitted = load(model)
    holdout = Holdout(fitted, target, by=by, weights=weights)
    priced = _costs(costs, list(holdout.classes), positive) if costs else None  # checked before the file is read
    found = _common.tables(files)
    holdout.weights = weights = _common.row_weights(found, weights)
    with _common.progress_bar(f"Reading {_common.title(found)}"):
        schema = _common.schema_with_target(fitted, holdout.target)
        needed = [*schema, *(name for name in (by, weights) if name is not None)]
        for chunk in read_pieces(found, types=field_types(schema), needed=needed):
            _check(chunk, holdout.target, found[0])
            holdout.add(chunk)
    predictions = holdout.predictions.decided
    report = _report(holdout, predictions)
    if priced is not None:
        report["cost"] = _priced(holdout, predictions, priced, positive)
    if as_json:
        _common.echo_json(_common.plain(report))
    else:
        _print(report, holdout, predictions, charts, positive)


def _check(chunk: Any, target: str, file: Any) -> None:
    from countwise.errors import ReadError, did_you_mean, listed

    if target not in chunk:
        near = did_you_mean(target, chunk) or f"use one of {listed(chunk)}."
        raise ReadError(f"{file} has no target column {target!r}.", hint=f"{near} Name the column with -y.")


def _costs(texts: tuple[str, ...], classes: list[Any], positive: str | None) -> Any:
    """Return the cost matrix given by --cost; class names may contain colons."""
    from countwise.evaluation.costs import costs_of

    names = {str(c) for c in classes}
    given: dict[Any, str] = {}
    for key, value in _common.pairs(texts, "--cost").items():
        cuts = [(key[:i], key[i + 1 :]) for i, mark in enumerate(key) if mark == ":"]
        both = next((cut for cut in cuts if cut[0] in names and cut[1] in names), None)
        given[both or (cuts[0] if cuts else key)] = value
    return costs_of(given, classes, positive)


def _report(holdout: Any, predictions: Any) -> dict[str, Any]:
    from countwise.base.predictions import COVERAGE, SCORES
    from countwise.evaluation.validation import scores_by

    base = holdout.baseline
    abstains = [COVERAGE] if holdout.n_abstained else []
    report: dict[str, Any] = {
        "rows": len(holdout.predictions),
        "without_class": holdout.n_missing,
        "abstained": holdout.n_abstained,
        "classes_never_met": holdout.unseen,
        "scores": holdout.predictions.scores((*SCORES, *abstains)),
        "zeros": predictions.zeros,
        "majority_class": None
        if base is None
        else {"class": predictions.classes[base.answered[0]], **base.scores((*SCORES, *abstains))},
        "classes": list(predictions.classes),
        "confusion": predictions.table,
        "calibration": _common.rows_of_grid(predictions.reliability()),
    }
    if holdout.by is not None:
        report["by"] = _common.rows_of_grid(
            scores_by(holdout.predictions, holdout.labels, holdout.by, (*SCORES, *abstains))
        )
    return report


def _priced(holdout: Any, predictions: Any, costs: Any, positive: str | None) -> dict[str, Any]:
    """Return cost and accuracy of the most probable and of the cheapest prediction, over rows of known classes."""
    import numpy as np

    from countwise.base.predictions import Predictions
    from countwise.errors import OptionError
    from countwise.evaluation.costs import cheapest, cost_threshold

    k = len(costs)
    rows = np.flatnonzero(predictions.codes < k)
    known, classes = predictions.take(rows), predictions.classes[:k]
    proba = known.proba[:, :k]
    ways = {"most_probable": known.answered, "cheapest": cheapest(proba, costs, known.answered)}
    found: dict[str, Any] = {"costs": costs, "rows": len(rows)}
    for name, answered in ways.items():
        one = Predictions(classes, known.codes, proba, answered, known.weights)
        found[name] = {"mean_cost": one.cost(costs) if len(rows) else float("nan"), "accuracy": one.accuracy,
                       "confusion": one.table}  # fmt: skip
    if k == 2:
        found["positive"] = positive if positive is not None else classes[1]
        try:
            found["threshold"] = cost_threshold(costs, classes, pos_label=positive)
        except OptionError:  # correct predictions cost more than errors
            found["threshold"] = float("nan")
    return found


def _print(report: dict[str, Any], holdout: Any, predictions: Any, charts: bool, positive: str | None) -> None:

    _common.echo(f"{report['rows']} rows with a known {holdout.target}\n")
    base = report["majority_class"]
    columns = {"score": list(report["scores"]), "model": [_common.shown(v) for v in report["scores"].values()]}
    if base is not None:
        columns[f"always {base['class']}"] = [_common.shown(base[score]) for score in report["scores"]]
    _common.echo_table(columns)
    for note in _notes(report, holdout, predictions):
        _common.echo(note)
    _common.echo()
    _print_confusion(predictions.classes, report["confusion"])
    if "by" in report:
        rows = report["by"]
        _common.echo()
        _common.echo_table({name: [_cell(row[name]) for row in rows] for name in rows[0]})
    if "cost" in report:
        _common.echo()
        _print_cost(report["cost"], predictions.classes)
    if charts:
        _common.echo(f"\n{_charts(report, predictions, positive)}")


def _cell(cell: Any) -> Any:
    """Return a value of the JSON report as text."""
    return "undefined" if cell is None else "infinite" if cell == "inf" else _common.shown(cell)


def _notes(report: dict[str, Any], holdout: Any, predictions: Any) -> list[str]:
    import math

    notes = []
    if report["zeros"]:
        others = predictions.take((predictions.own > 0).nonzero()[0])
        rest = f" For the other {_rows(len(others))} it is {_common.shown(others.log_loss)}." if len(others) else ""
        n = report["zeros"]
        notes.append(f"log_loss is infinite: the true class of {_rows(n)} has probability 0.{rest}")
    if math.isnan(report["scores"]["roc_auc"]):
        notes.append(
            "roc_auc is undefined: all rows have the same class, or one of three or more classes has no row."
        )
    elif (predictions.proba == predictions.proba[0]).all():
        notes.append("All rows have the same predicted probabilities, so roc_auc is 0.5.")
    for c, n in report["classes_never_met"].items():
        notes.append(f"Class {str(c)!r} was never seen in training: its {_rows(n)} cannot be predicted correctly.")
    if report["without_class"]:
        notes.append(f"{_rows(report['without_class'])} without a class skipped.")
    if report["abstained"]:
        notes.append(f"The model abstains for {_rows(report['abstained'])}; the scores are those of the other rows.")
    if report["majority_class"] is None:
        notes.append("There is no baseline, because the model does not store the class frequencies.")
    return [f"Note: {note}" for note in notes]


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n != 1)}"


def _print_confusion(classes: Any, table: Any) -> None:
    from countwise.working.numbers import number

    columns: dict[str, list[Any]] = {"class": [str(c) for c in classes]}
    for j, c in enumerate(classes):
        columns[f"predicted {c}"] = [number(float(n)) for n in table[:, j]]
    _common.echo_table(columns)


def _print_cost(cost: dict[str, Any], classes: Any) -> None:
    names = {"most_probable": "most probable class", "cheapest": "class with the lowest expected cost"}
    columns = {"prediction": list(names.values())}
    for score in ("mean_cost", "accuracy"):
        columns[score.replace("_", " ")] = [_common.shown(cost[way][score]) for way in names]
    _common.echo_table(columns)
    if "threshold" in cost:
        _common.echo(_threshold_text(cost["threshold"], cost["positive"]))
    _common.echo("\nPredictions with the lowest expected cost:")
    _print_confusion(classes[: len(cost["costs"])], cost["cheapest"]["confusion"])


def _threshold_text(threshold: float, positive: Any) -> str:
    import math

    if math.isnan(threshold):
        return "There is no threshold: correct predictions cost more than errors."
    if threshold < 0:
        return f"Predicting {positive!s} always has the lower expected cost."
    if threshold >= 1:
        return f"Predicting {positive!s} never has the lower expected cost."
    return f"Predicting {positive!s} has the lower expected cost if P({positive!s}) > {threshold:.4g}."


def _charts(report: dict[str, Any], predictions: Any, positive: str | None) -> str:
    from countwise.measures import roc_points
    from countwise.working.charts import bar_chart, line_chart

    style = _common.chart_look()
    rows = report["calibration"]
    bars = {f"{row['from']:.1f}-{row['to']:.1f}": row["share"] for row in rows}
    notes = [f"{row['share']:.3f} of {row['rows']:g}, mean P {row['probability']:.3f}" for row in rows]
    parts = [
        "Calibration: fraction of correct predictions, by their probability P:",
        bar_chart(bars, notes=notes, most=1.0, **style),
    ]
    if len(predictions.classes) == 2 and len(set(predictions.codes.tolist())) == 2:
        c = 0 if positive == str(predictions.classes[0]) else 1
        false, true, _ = roc_points(predictions.proba[:, c], predictions.codes == c, predictions.weight)
        points = list(zip(false.tolist(), true.tolist(), strict=True))
        chart = line_chart({f"ROC of {predictions.classes[c]!s}": points, "chance": [(0.0, 0.0), (1.0, 1.0)]},
                           x_label="false positive rate", y_label="true positive rate", x_range=(0, 1),
                           y_range=(0, 1), **style)  # fmt: skip
        parts += ["", chart]
    return "\n".join(parts)
