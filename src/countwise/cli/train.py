"""countwise train: learn a classifier from a file."""

from __future__ import annotations

from inspect import signature
from typing import Any

import click

from countwise.cli import _common
from countwise.registry import KINDS, class_of, kind_of_word

__all__ = ["command", "settings_of"]


@click.command("train")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-y", "--target", default=None, metavar="COLUMN", help="The column to be told; a net needs none.")
@click.option(
    "-o",
    "--output",
    default="model.json",
    show_default=True,
    metavar="MODEL",
    help="Where to write the model.",
)
@click.option(
    "--model",
    "kind",
    default="naive-bayes",
    show_default=True,
    type=click.Choice([kind.word for kind in KINDS.values() if kind.word]),
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of that model: covariance=own, nominal=onehot; width=leave_one_out; center=median; "
    "criterion=gain_ratio, pruning=pessimistic, max_depth=5; method=one_r; n_neighbors=loo, metric=manhattan, "
    "nominal=mvdm; structure=tan, criterion=k2, order=a;b;c.",
)
@_common.types_option
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    metavar="[COLUMN=]DISTRIBUTION",
    help="Naive Bayes: auto, categorical, bernoulli, multinomial, gaussian, poisson, kernel, binned, or a rule for "
    "ranges such as mdl; for one column or all.",
)
@click.option(
    "--smoothing",
    default="1",
    show_default=True,
    metavar="ε",
    help="Naive Bayes: Laplace's ε, 0 for none, 'global', or m=NUMBER for an m-estimate.",
)
@click.option(
    "--prior", default=None, type=click.Choice(["raw", "smoothed", "uniform"]), help="As counted by default."
)
@click.option(
    "--missing", "missing", multiple=True, metavar="COLUMN", help="Naive Bayes: a column whose absence is evidence."
)
@_common.weights_option
@_common.drop_option
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "memory", "duckdb"]),
    help="memory reads by pieces; duckdb learns in DuckDB from Parquet, for models that learn by counting; auto is "
    "DuckDB for Parquet of 100 MB or more if it is installed and can, else memory. The model is the same.",
)
@click.option(
    "--memory",
    default=None,
    metavar="SIZE",
    help="How much memory to use, 500MB or 1.5GiB, at least 256MB: pieces are made to fit, DuckDB is held to it, and "
    "a model that needs all rows is refused if they do not fit.",
)
def command(
    files: tuple[str, ...],
    target: str | None,
    output: str,
    kind: str,
    options: tuple[str, ...],
    types: tuple[str, ...],
    distributions: tuple[str, ...],
    smoothing: str,
    prior: str | None,
    missing: tuple[str, ...],
    weights: str | None,
    drop: tuple[str, ...],
    engine: str,
    memory: str | None,
) -> None:
    """Learn from FILE (CSV, Parquet or ARFF) and write a model.

    Several files of one format with the same columns are one table; a pattern in quotes, or a folder of Parquet
    files, stands for its files in the order of their names.

    \b
    countwise train weather.arff -y play -o weather.json
    countwise train credit.csv -y Status --distribution auto --missing Income
    countwise train penguins.csv -y species --model discriminant --option covariance=own,nominal=onehot
    countwise train credit.csv -y Status --model tree --option criterion=gain_ratio,pruning=pessimistic
    countwise train credit.csv -y Status --model network --option structure=tan
    countwise train credit.csv --model net --option structure=hill_climb
    countwise train 'sales/*.parquet' -y returned --engine duckdb --memory 500MB
    """
    from countwise.cli._engines import learned, size
    from countwise.modelfile import save

    if target is None and kind != "net":
        raise click.UsageError("Missing option '-y' / '--target'.")
    if target is not None and kind == "net":
        raise click.UsageError("A net tells no column before others; leave -y out, or --model network tells a class.")
    room = size(memory)
    found = _common.tables(files)
    _common.refuse_same(output, found)
    declared = _common.types_from(found, types, target) or None
    settings: dict[str, Any] = {"types": declared} | ({"prior": prior} if prior else {})
    family = class_of(kind_of_word(kind))
    own = {"types", "prior"}
    if kind == "naive-bayes":
        own |= {"smoothing", "missing"}
        settings["distributions"] = _common.one_or_named(distributions, "--distribution")
        settings["smoothing"] = _smoothing(smoothing)
        settings["missing"] = dict.fromkeys(missing, "value") or "ignore"
    elif distributions or missing or smoothing != "1":
        raise click.UsageError(f"--distribution, --smoothing and --missing are for naive Bayes, not for {kind}.")
    elif prior and "prior" not in signature(family).parameters:
        raise click.UsageError(f"--prior has no meaning for {kind}.")
    model = family(**settings_of(family, settings, options, own))
    said = learned(model, found, target, drop, weights, engine, room)
    save(model, output)
    click.echo(said, err=True)
    click.echo(model.summary())
    unused = model.unused_absence() if kind == "naive-bayes" else []
    if unused:
        click.echo(f"  Absence depends on the class in {', '.join(unused)}: --missing {unused[0]} would use it.")
    click.echo(f"Written to {output}")


def _metric_settings(family: Any) -> list[str]:
    """The settings of the metric that a model takes, as far as it has none of that name itself."""
    own = signature(family.__init__).parameters
    if "metric" not in own:
        return []
    from countwise.neighbors.metric import DistanceMetric

    return [name for name in signature(DistanceMetric.__init__).parameters if name not in own]


def settings_of(family: Any, settings: dict[str, Any], options: tuple[str, ...], own: set[str]) -> dict[str, Any]:
    """The settings of a model, those of its metric as a metric; some have an option of their own."""
    return _with_metric(family, settings | _options(family, options, own))


def _with_metric(family: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a metric as a metric."""
    theirs = {name: settings.pop(name) for name in _metric_settings(family) if name in settings}
    if theirs:
        from countwise.neighbors.metric import DistanceMetric

        if "metric" in settings:
            theirs.setdefault("p", settings["metric"])
        settings["metric"] = DistanceMetric(**theirs)
    return settings


def _options(family: Any, texts: tuple[str, ...], own: set[str]) -> dict[str, Any]:
    """Settings of a model as typed: numbers where they read as numbers; some have an option of their own."""
    from countwise.errors import did_you_mean, listed

    known = [*list(signature(family.__init__).parameters)[1:], *_metric_settings(family)[1:]]
    found: dict[str, Any] = {}
    for name, text in _common.pairs(texts, "--option").items():
        if name in own:
            raise click.UsageError(f"--option {name}=…: give it by --{name}.")
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {listed(known)}."
            raise click.UsageError(f"--option: there is no setting {name!r}; {hint}")
        try:
            found[name] = int(text) if text.lstrip("-").isdecimal() else float(text)
        except ValueError:
            listed_names = text.split(";") if name == "order" else text
            found[name] = None if text == "none" else listed_names
    return found


def _smoothing(text: str) -> Any:
    from countwise.distributions import MEstimate

    if text in ("global", "laplace", "none"):
        return text
    try:
        return MEstimate(float(text[2:])) if text.startswith("m=") else float(text)
    except ValueError:
        raise click.UsageError(f"--smoothing takes a number, 'global' or m=NUMBER, not {text!r}.") from None
