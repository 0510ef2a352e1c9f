"""countwise train: learn a naive Bayes from a file."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["command"]


@click.command("train")
@click.argument("file")
@click.option("-y", "--target", required=True, metavar="COLUMN", help="The column to be told.")
@click.option(
    "-o",
    "--output",
    default="model.json",
    show_default=True,
    metavar="MODEL",
    help="Where to write the model.",
)
@click.option(
    "--types",
    "types",
    multiple=True,
    metavar="COLUMN=KIND",
    help="nominal, ordinal, numeric, count, text or boolean.",
)
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="[COLUMN=]LAW",
    help="auto, categorical, bernoulli, multinomial, gaussian, poisson, kernel, ranges, or a rule for ranges such as "
    "mdl; for one column or all.",
)
@click.option(
    "--smoothing",
    default="1",
    show_default=True,
    metavar="ε",
    help="Laplace's ε, 0 for none, 'global', or m=NUMBER for an m-estimate.",
)
@click.option("--prior", default="raw", show_default=True, type=click.Choice(["raw", "smoothed", "uniform"]))
@click.option("--missing", "missing", multiple=True, metavar="COLUMN", help="A column whose absence is evidence.")
@click.option("--weights", default=None, metavar="COLUMN", help="The column that holds the weight of each row.")
@click.option("--drop", "drop", multiple=True, metavar="COLUMN", help="A column to leave out.")
def command(
    file: str,
    target: str,
    output: str,
    types: tuple[str, ...],
    laws: tuple[str, ...],
    smoothing: str,
    prior: str,
    missing: tuple[str, ...],
    weights: str | None,
    drop: tuple[str, ...],
) -> None:
    """Learn from FILE (CSV, Parquet or ARFF) and write a model.

    \b
    countwise train weather.arff -y play -o weather.json
    countwise train credit.csv -y Status --law auto --missing Income
    """
    from countwise.cli._common import existing, pairs, pieces, progress_bar, refuse_same, types_from
    from countwise.modelfile import save
    from countwise.models.naive_bayes import NaiveBayes

    existing(file)
    refuse_same(output, (file,))
    model = NaiveBayes(
        _laws(laws),
        smoothing=_smoothing(smoothing),
        prior=prior,
        types=types_from(file, pairs(types, "--types"), target) or None,
        missing=dict.fromkeys(missing, "value") or "ignore",
    )
    with progress_bar(f"Reading {file}"):
        model.fit(pieces(file, target, drop), target, sample_weight=weights)
    save(model, output)
    click.echo(_summary(model, output))


def _laws(laws: tuple[str, ...]) -> Any:
    from countwise.cli._common import pairs

    single = [law for law in laws if "=" not in law]
    named = pairs(tuple(law for law in laws if "=" in law), "--law")
    if len(single) > 1 or (single and named):
        raise click.UsageError("--law takes one law for all columns, or COLUMN=LAW for some.")
    return single[0] if single else named or None


def _smoothing(text: str) -> Any:
    from countwise.conditionals import MEstimate

    if text in ("global", "laplace", "none"):
        return text
    try:
        return MEstimate(float(text[2:])) if text.startswith("m=") else float(text)
    except ValueError:
        raise click.UsageError(f"--smoothing takes a number, 'global' or m=NUMBER, not {text!r}.") from None


def _summary(model: Any, output: str) -> str:
    counts = model.class_count_
    share = counts / counts.sum()
    classes = ", ".join(f"{c} {n:g} ({s:.1%})" for c, n, s in zip(model.classes_, counts, share, strict=True))
    laws: dict[str, list[str]] = {}
    for key, density in model.densities_.items():
        laws.setdefault(
            density.choice.chosen if hasattr(density, "choice") else model.conditionals_[key].law, []
        ).append(key)
    lines = [f"{model.n_rows_} rows, {len(model.schema_)} attributes; {model.target_.name}: {classes}"]
    lines += [f"  {law}: {', '.join(keys[:12])}{' …' if len(keys) > 12 else ''}" for law, keys in laws.items()]
    report = model.missing_report()
    evidence = [
        name for name, kind in zip(report["attribute"], report["absence is"], strict=True) if kind == "evidence"
    ]
    unused = [name for name in evidence if not model._missing_is_value(name)]
    if unused:
        lines.append(f"  Absence depends on the class in {', '.join(unused)}: --missing {unused[0]} would use it.")
    return "\n".join([*lines, f"Written to {output}"])
