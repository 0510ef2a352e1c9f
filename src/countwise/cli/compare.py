"""countwise compare: cross-validation of all suitable learners on the same folds."""

from __future__ import annotations

import sys

import click

from countwise.cli import _common

__all__ = ["command"]


@click.command("compare")
@click.argument("file")
@click.option("-y", "--target", required=True, metavar="COLUMN", help="Target column.")
@click.option(
    "--cv",
    default=10,
    show_default=True,
    type=click.IntRange(2),
    metavar="N",
    help="Number of cross-validation folds.",
)
@click.option(
    "--score",
    default="accuracy",
    show_default=True,
    metavar="METRIC",
    help="Metric used to rank the learners: accuracy, balanced_accuracy, log_loss, brier, roc_auc or "
    "calibration_error.",
)
@click.option(
    "--only",
    "only",
    multiple=True,
    metavar="LEARNER",
    help="Evaluate only this learner, named as in the output. Can be repeated, or separated by commas.",
)
@click.option(
    "--without",
    "without",
    multiple=True,
    metavar="LEARNER",
    help="Skip this learner. Can be repeated, or separated by commas.",
)
@click.option(
    "-j", "--jobs", default=1, show_default=True, metavar="N", help="Number of processes; -1 for one per processor."
)
@click.option("--seed", default=0, show_default=True, help="Random seed for assigning rows to folds.")
@_common.drop_option
@_common.types_option
@click.option(
    "--curve/--no-curve",
    default=True,
    show_default=True,
    help="Check with a learning curve whether more rows would help.",
)
@_common.json_option
def command(
    file: str,
    target: str,
    cv: int,
    score: str,
    only: tuple[str, ...],
    without: tuple[str, ...],
    jobs: int,
    seed: int,
    drop: tuple[str, ...],
    types: tuple[str, ...],
    curve: bool,
    as_json: bool,
) -> None:
    """Cross-validate all learners that are suitable for FILE on the same folds.

    Press Ctrl-C to stop and show the learners evaluated so far.

    \b
    Examples:
      countwise compare credit.csv -y Status -j 2
      countwise compare sms.tsv -y label --types message=text --score log_loss
      countwise compare credit.csv -y Status --only "naive bayes" --only lda
    """
    from countwise.evaluation.compare import compare

    files = _common.tables(file)
    known = _common.types_from(files, types, target, (*drop, target))
    found = compare(
        _common.table_of(files, target, drop, known),
        target,
        only=_split(only),
        without=_split(without),
        score=score,
        cv=cv,
        types=known or None,
        curve=None if curve else False,
        n_jobs=jobs,
        random_state=seed,
        verbose=sys.stderr.isatty(),
    )
    if as_json:
        _common.echo_json({"file": file, "target": target, **found.to_dict()})
    else:
        _common.echo(f"{target} of {file}: {found}")
    if found.partial:
        waiting = sum(why.startswith("interrupted") for why in found.skipped.values())
        learners = "1 learner was" if waiting == 1 else f"{waiting} learners were"
        _common.echo(f"Interrupted: {learners} not evaluated.", err=True)
        raise SystemExit(130)
    if found.best is None:
        raise SystemExit(1)


def _split(names: tuple[str, ...]) -> list[str] | None:
    """Split names that are separated by commas."""
    return [name.strip() for one in names for name in one.split(",")] or None
