"""countwise curve: scores over the number of training rows or over one parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from countwise.cli import _common
from countwise.registry import KINDS, class_of, kind_of_word

__all__ = ["command"]

_CLASSIFIERS = [kind.word for kind in KINDS.values() if kind.word and kind.name.endswith("Classifier")]
_PICTURES = (".svg", ".png", ".pdf")


@click.command("curve")
@click.argument("file")
@click.option("-y", "--target", required=True, metavar="COLUMN", help="Target column.")
@click.option(
    "--model",
    "kinds",
    multiple=True,
    type=click.Choice(_CLASSIFIERS),
    metavar="MODEL",
    help=f"Classifier to train: {', '.join(_CLASSIFIERS)}. Can be repeated to compare learning curves.  "
    "[default: naive-bayes; with --k neighbors, with --widths parzen]",
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Parameter of the model; see countwise train."
)
@click.option(
    "--sizes", default=None, metavar="N,N,…", help="Numbers of training rows, or fractions such as 0.1,0.5,1.0."
)
@click.option(
    "--repeats",
    default=10,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Number of random splits into training and test rows.",
)
@click.option(
    "--score",
    default="accuracy",
    show_default=True,
    metavar="METRIC",
    help="Metric of the learning curve: accuracy, balanced_accuracy, log_loss, brier, roc_auc or calibration_error.",
)
@click.option(
    "--k",
    "k",
    default=None,
    metavar="FROM:TO",
    help="Compute a validation curve over the number of neighbors, such as 1:30 or 1,3,5.",
)
@click.option(
    "--widths",
    default=None,
    metavar="FROM:TO[:N]",
    help="Compute a validation curve over N kernel bandwidths with equal ratios, or over a list such as 0.1,0.5,2.",
)
@_common.types_option
@_common.drop_option
@click.option("--seed", default=0, show_default=True, help="Random seed of the splits.")
@click.option(
    "-o", "--output", default=None, metavar="FILE", help="Write a plot (.svg, .png, .pdf) or the numbers (.csv)."
)
@_common.json_option
def command(
    file: str,
    target: str,
    kinds: tuple[str, ...],
    options: tuple[str, ...],
    sizes: str | None,
    repeats: int,
    score: str,
    k: str | None,
    widths: str | None,
    types: tuple[str, ...],
    drop: tuple[str, ...],
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Train on increasing numbers of rows of FILE and score on held-out rows.

    With --k or --widths, compute a validation curve over that parameter instead.

    \b
    Examples:
      countwise curve credit.csv -y Status --model naive-bayes --model tree
      countwise curve credit.csv -y Status --sizes 20,100,500 -o curve.svg
      countwise curve penguins.csv -y species --k 1:30
      countwise curve penguins.csv -y species --drop body_mass_g --widths 0.1:10:9
    """
    from countwise.evaluation.learning_curve import LearningCurve

    if k is not None and widths is not None:
        raise click.UsageError("Use --k or --widths, not both.")
    if output is not None and Path(output).suffix.lower() not in (*_PICTURES, ".csv"):
        raise click.UsageError(f"The file of -o must end in {', '.join(_PICTURES)} or .csv, not {output!r}.")
    over = "k" if k is not None else "widths" if widths is not None else None
    if over is not None and (sizes is not None or len(kinds) > 1):
        raise click.UsageError(f"--{over} cannot be combined with --sizes or several --model.")
    _refuse_idle(over, "repeats", "score", "seed")
    tried = _numbers(str(k if over == "k" else widths), f"--{over}") if over else []
    files = _common.tables(file)
    if output is not None:
        _common.refuse_same(output, files)
    declared = _common.types_from(files, types, target, drop)
    learners = _learners(kinds or ({"k": "neighbors", "widths": "parzen"}.get(over or "", "naive-bayes"),), options,
                         declared)  # fmt: skip
    with _common.progress_bar(f"Curve of {file}"):
        table = _common.table_of(files, target, drop, declared)
        curve = _made(learners, table, target, over, tried, sizes, repeats, score, seed)
    if output is not None:
        _write(curve, output)
    if as_json:
        _common.echo_json(_learning_json(curve) if isinstance(curve, LearningCurve) else _setting_json(curve))
    else:
        (_print_learning if isinstance(curve, LearningCurve) else _print_setting)(curve)


def _refuse_idle(over: str | None, *names: str) -> None:
    """Raise an error for options that a validation curve does not use."""
    context = click.get_current_context()
    for name in names if over is not None else ():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--{over} cannot be combined with --{name}.")


def _made(
    learners: dict[str, Any],
    frame: Any,
    target: str,
    over: str | None,
    tried: list[Any],
    sizes: str | None,
    repeats: int,
    score: str,
    seed: int,
) -> Any:
    from countwise.evaluation.learning_curve import learning_curve
    from countwise.evaluation.validation_curve import validation_curve

    first = next(iter(learners.values()))
    if over is not None:
        name = "n_neighbors" if over == "k" else "bandwidth"
        return validation_curve(first, frame, target, param_name=name, param_range=tried)
    chosen: dict[str, Any] = {} if sizes is None else {"train_sizes": _sizes(sizes)}
    return learning_curve(learners, frame, target, repeats=repeats, scoring=score, random_state=seed, **chosen)


def _learners(kinds: tuple[str, ...], options: tuple[str, ...], types: dict[str, Any]) -> dict[str, Any]:
    from countwise.cli.train import settings_of

    if len(set(kinds)) < len(kinds):
        raise click.UsageError("--model contains the same model twice.")
    if options and len(kinds) > 1:
        raise click.UsageError("--option can be used with only one --model.")
    made = {}
    for kind in kinds:
        family = class_of(kind_of_word(kind))
        made[kind] = family(**settings_of(family, {"types": types or None}, options, {"types"}))
    return made


def _numbers(text: str, option: str) -> list[Any]:
    """Parse ``1:30``, ``0.1:5:20`` or ``1,3,5`` into a list of numbers."""
    import numpy as np

    whole = option == "--k"
    try:
        if ":" not in text:
            return [int(part) if whole else float(part) for part in text.split(",")]
        parts = text.split(":")
        if whole:
            low, high = (int(part) for part in parts)
            return list(_rising(range(low, high + 1)))
        low_width, high_width = float(parts[0]), float(parts[1])
        n = int(parts[2]) if len(parts) == 3 else 20
        if not 0 < low_width < high_width or n < 2 or len(parts) > 3:
            raise ValueError
        return [float(f"{w:.6g}") for w in np.geomspace(low_width, high_width, n)]
    except ValueError:
        form = (
            "FROM:TO with FROM <= TO, such as 1:30, or a list such as 1,3,5"
            if whole
            else "FROM:TO or FROM:TO:N with 0 < FROM < TO and N >= 2, such as 0.05:5:20, or a list such as 0.1,0.5,2"
        )
        raise click.UsageError(f"{option} must be {form}, not {text!r}.") from None


def _rising(found: range) -> range:
    if not found:
        raise ValueError
    return found


def _sizes(text: str) -> list[Any]:
    try:
        return [float(part) if "." in part else int(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--sizes must be a list such as 20,100,500 or 0.1,0.5,1.0, not {text!r}.") from None


def _write(curve: Any, output: str) -> None:
    """Write a plot or a table; the file is written only if nothing fails."""
    import io

    from countwise.filewriter import write_whole

    if output.lower().endswith(".csv"):
        with _common.output_file(output) as out:
            writer = _common.csv_writer(out)
            writer.writerow(curve.frame)
            writer.writerows(curve.frame.rows())
        return
    from countwise.plots.style import pyplot

    pyplot().switch_backend("Agg")  # no window is needed
    picture = io.BytesIO()
    curve.plot().figure_.savefig(picture, format=Path(output).suffix[1:].lower(), dpi=150)
    write_whole(output, picture.getvalue())


def _print_learning(curve: Any) -> None:
    from countwise.working.charts import line_chart

    summary = curve.summary
    words = [name for name in summary if name not in ("learner", "rows", "train_sd", "test_sd")]
    series = {}
    for name in dict.fromkeys(summary["learner"]):
        mine = [i for i, learner in enumerate(summary["learner"]) if learner == name]
        for word in reversed(words):  # the score on held-out rows first: it is drawn on top
            text = word.replace("_", " ")
            label = text if len(curve.train) == 1 else f"{name}: {text}"
            series[label] = [(summary["rows"][i], summary[word][i]) for i in mine]
    sizes = curve.train_sizes
    chart = line_chart(series, x_label="training rows", log_x=bool(sizes[-1] > 20 * sizes[0]), **_common.chart_look())
    _common.echo_table({name: [_common.shown(cell) for cell in cells] for name, cells in summary.items()})
    _common.echo(f"\n{chart}")


def _print_setting(curve: Any) -> None:
    from countwise.working.charts import line_chart
    from countwise.working.numbers import number

    series = {
        "held-out rows": list(zip(curve.param_range, curve.held_out, strict=True)),
        "training rows": list(zip(curve.param_range, curve.train, strict=True)),
    }
    wide = "log" in curve.scoring
    chart = line_chart(
        series, x_label=curve.param_name, y_label=curve.scoring.replace("_", " "), log_x=wide, **_common.chart_look()
    )
    _common.echo_table({name: [_common.shown(cell) for cell in cells] for name, cells in curve.frame.items()})
    if curve.best is not None:
        best = f"Best {curve.param_name}: {number(curve.best)} by {curve.scoring}{curve.edge}"
    else:
        best = f"No best {curve.param_name}: each gives some held-out row probability 0. Try larger values."
    _common.echo(f"\n{chart}\n{best}")


def _learning_json(curve: Any) -> dict[str, Any]:
    return {
        "score": curve.scoring,
        "sizes": _common.plain(curve.train_sizes),
        "train": _common.plain(curve.train),
        "test": _common.plain(curve.test),
        "summary": _common.rows_of_grid(curve.summary),
        "errors": curve.errors,
    }


def _setting_json(curve: Any) -> dict[str, Any]:
    return {
        "setting": curve.param_name,
        "score": curve.scoring,
        "best": _common.plain(curve.best),
        "curve": _common.rows_of_grid(curve.frame),
    }
