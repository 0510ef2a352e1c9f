"""countwise train: train a model on a table and save it."""

from __future__ import annotations

from inspect import signature
from typing import Any

import click

from countwise.cli import _common
from countwise.registry import KINDS, class_of, kind_of_word

__all__ = ["command", "settings_of"]

_MODELS = [kind.word for kind in KINDS.values() if kind.word]


@click.command("train")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-y", "--target", default=None, metavar="COLUMN", help="Target column (not needed for --model net).")
@click.option(
    "-o",
    "--output",
    default="model.json",
    show_default=True,
    metavar="MODEL",
    help="Model file to write.",
)
@click.option(
    "--model",
    "kind",
    default="naive-bayes",
    show_default=True,
    type=click.Choice(_MODELS),
    metavar="MODEL",
    help=f"Type of model: {', '.join(_MODELS)}. network is a Bayesian network classifier, net a Bayesian network "
    "without a target.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the model, as in the Python class. Examples: covariance=own (discriminant), "
    "bandwidth=leave_one_out (parzen), center=median (prototype), criterion=gain_ratio,max_depth=5 (tree), "
    "method=one_r (rules), n_neighbors=loo,metric=manhattan (neighbors), structure=tan (network), "
    "structure=ordering,order=a;b;c (net). Can be repeated, or separated by commas.",
)
@_common.types_option
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    metavar="[COLUMN=]DISTRIBUTION",
    help="Distribution of all columns or of one, for naive-bayes: auto, categorical, bernoulli, multinomial, "
    "gaussian, poisson, kernel, binned, a discretization method such as mdl, or cut points such as 18:30:65.  "
    "[default: categorical for nominal, gaussian for numeric, poisson for count and multinomial for text columns]",
)
@click.option(
    "--smoothing",
    default="1",
    show_default=True,
    metavar="ALPHA",
    help="Smoothing of naive-bayes: pseudocount per value (Laplace), 0 for none, 'global' for one "
    "pseudocount split in proportion to the overall frequencies, m=NUMBER or m=NUMBER,p=NUMBER for an m-estimate, "
    "NUMBER,k=classes for K = number of classes in Laplace's denominator, or global,denominator=literal for "
    "the denominator n + K·ε with a global ε.",
)
@click.option(
    "--prior",
    default=None,
    type=click.Choice(["raw", "smoothed", "uniform"]),
    help="Class prior: relative frequencies (raw), smoothed frequencies, or uniform.  [default: that of the model]",
)
@click.option(
    "--missing",
    "missing",
    multiple=True,
    metavar="COLUMN",
    help="Column whose missing values are informative, for naive-bayes: being missing becomes a separate factor. "
    "Can be repeated. auto: the columns where missing values depend on the class.",
)
@click.option(
    "--em-steps",
    default=0,
    type=click.IntRange(min=0),
    metavar="N",
    help="Show the first N iterations of EM, for net and network: the completions of incomplete rows with their "
    "probabilities, and the expected counts.",
)
@_common.weights_option
@_common.drop_option
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "memory", "duckdb"]),
    help="Where to train. memory reads the files in chunks. duckdb counts in DuckDB and needs Parquet files. auto "
    "uses DuckDB for Parquet files of 100 MB or more if it is installed. Every engine gives the same model.",
)
@click.option(
    "--memory",
    default=None,
    metavar="SIZE",
    help="Memory limit such as 500MB or 1.5GiB, at least 256MB. A model that needs more memory stops with an error.",
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
    em_steps: int,
    weights: str | None,
    drop: tuple[str, ...],
    engine: str,
    memory: str | None,
) -> None:
    """Train a model on FILE (CSV, Parquet or ARFF) and save it.

    FILE can also be a pattern in quotes or a folder of Parquet files. Several files with the same columns are read as
    one table.

    \b
    Examples:
      countwise train weather.arff -y play -o weather.json
      countwise train credit.csv -y Status --distribution auto --missing Income
      countwise train penguins.csv -y species --model neighbors
      countwise train credit.csv -y Status --model tree --option max_depth=5
      countwise train credit.csv --model net --option structure=hill_climb
      countwise train days.csv -y play --model network --em-steps 2
      countwise train 'sales/*.parquet' -y returned --engine duckdb
    """
    from countwise.cli._engines import size, trained
    from countwise.modelfile import save

    if target is None and kind != "net":
        raise click.UsageError("Missing option '-y' / '--target'.")
    if target is not None and kind == "net":
        raise click.UsageError("--model net has no target: remove -y, or use --model network for a classifier.")
    if em_steps and kind not in ("net", "network"):
        raise click.UsageError("--em-steps can be used only with --model net and --model network.")
    room = size(memory)
    found = _common.tables(files)
    _common.refuse_same(output, found)
    declared = _common.types_from(found, types, target) or None
    settings: dict[str, Any] = {"types": declared} | ({"prior": prior} if prior else {})
    family = class_of(kind_of_word(kind))
    own = {"types", "prior"}
    if kind == "naive-bayes":
        own |= {"smoothing", "missing"}
        given = _common.one_or_named(distributions, "--distribution")
        by_column = isinstance(given, dict)
        settings["distributions"] = {k: _common.cut_points(v) for k, v in given.items()} if by_column else given
        settings["smoothing"] = _smoothing(smoothing)
        if "auto" in missing and len(missing) > 1:
            raise click.UsageError(
                "--missing auto decides for every column; it cannot be combined with other columns."
            )
        settings["missing"] = "auto" if missing == ("auto",) else dict.fromkeys(missing, "value") or "ignore"
    elif distributions or missing or smoothing != "1":
        raise click.UsageError(
            f"--distribution, --smoothing and --missing can be used only with --model naive-bayes, not {kind}."
        )
    elif prior and "prior" not in signature(family).parameters:
        raise click.UsageError(f"--prior cannot be used with --model {kind}.")
    model = family(**settings_of(family, settings, options, own))
    named = _common.row_weights(found, weights)
    how = trained(model, found, target, drop, named, engine, room)
    save(model, output)
    _common.echo(how, err=True)
    _common.echo(model.summary())
    unused = model.unused_absence() if kind == "naive-bayes" else []
    if unused:
        _common.echo(
            f"  Missing values depend on the class in {', '.join(unused)}; use --missing {unused[0]} to model them."
        )
    _common.echo(f"Written to {output}")
    if em_steps:
        table = _common.table_of(found, target, drop, _common.schema_with_target(model, target), named)
        _common.echo("\n" + _em_steps(model, table, target, named, em_steps))


def _em_steps(model: Any, table: Any, target: str | None, weights: str | None, iterations: int) -> str:
    """Return the first iterations of EM, or why there are none."""
    from countwise.errors import TableError

    try:
        working = model.explain_em(table, target, weights, iterations=iterations)
    except TableError as error:
        return error.message
    return str(working.text(_common.terminal_width()))


def _metric_settings(family: Any) -> list[str]:
    """Return the parameters of the metric of a model, without those that the model itself has."""
    own = signature(family.__init__).parameters
    if "metric" not in own:
        return []
    from countwise.neighbors.metric import DistanceMetric

    return [name for name in signature(DistanceMetric.__init__).parameters if name not in own]


def settings_of(family: Any, settings: dict[str, Any], options: tuple[str, ...], own: set[str]) -> dict[str, Any]:
    """Return the parameters of a model, with parameters of its metric as a DistanceMetric.

    Parameters in `own` have a separate command-line option.
    """
    return _with_metric(family, settings | _options(family, options, own))


def _with_metric(family: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Replace parameters of the metric by a DistanceMetric."""
    theirs = {name: settings.pop(name) for name in _metric_settings(family) if name in settings}
    if theirs:
        from countwise.neighbors.metric import DistanceMetric

        if "metric" in settings:
            theirs.setdefault("p", settings["metric"])
        settings["metric"] = DistanceMetric(**theirs)
    return settings


def _options(family: Any, texts: tuple[str, ...], own: set[str]) -> dict[str, Any]:
    """Parse the parameters given by --option; numbers are converted."""
    from countwise.errors import did_you_mean, listed

    known = [*list(signature(family.__init__).parameters)[1:], *_metric_settings(family)[1:]]
    found: dict[str, Any] = {}
    for name, text in _common.pairs(texts, "--option").items():
        if name in own:
            raise click.UsageError(f"Use --{name} instead of --option {name}=….")
        if name not in known:
            hint = did_you_mean(name, known) or f"use one of {listed(known, most=len(known))}."
            raise click.UsageError(f"The model has no parameter {name!r}. Hint: {hint}")
        try:
            found[name] = int(text) if text.lstrip("-").isdecimal() else float(text)
        except ValueError:
            value = text.split(";") if name == "order" else _common.cut_points(text) if name == "ranges" else text
            found[name] = None if text == "none" else value
    return found


def _smoothing(text: str) -> Any:
    from countwise.distributions import MEstimate, Smoothing
    from countwise.errors import CountwiseError

    if text in ("global", "laplace", "none"):
        return text
    first, _, more = text.partition(",")
    try:
        if first.startswith("m=") and (not more or more.startswith("p=")):
            return MEstimate(float(first[2:]), float(more[2:]) if more else "uniform")
        if more:
            settings: dict[str, Any] = dict(one.strip().split("=") for one in more.split(","))
            if settings.keys() <= {"k", "denominator"}:
                return Smoothing(first if first == "global" else float(first), **settings)
        return float(text)
    except ValueError as error:
        if isinstance(error, CountwiseError):
            raise
        raise click.UsageError(
            "--smoothing must be a number >= 0, 'global', NUMBER,k=classes, global,denominator=literal, m=NUMBER or "
            f"m=NUMBER,p=NUMBER, not {text!r}."
        ) from None
