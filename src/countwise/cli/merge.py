"""countwise merge: one model from models that were trained on different rows."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import click

from countwise.cli._common import echo, refuse_same

__all__ = ["command"]


@click.command("merge")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-o", "--output", required=True, metavar="MODEL", help="Model file to write.")
def command(models: tuple[str, ...], output: str) -> None:
    """Merge MODELs that were trained on different rows with the same settings.

    The result is the same as a model trained on all rows. These models can be merged: naive Bayes, discriminant,
    prototype, Parzen, and networks with the same structure, unless their missing values were estimated by EM. MODEL
    can be a pattern in quotes.

    \b
    Examples:
      countwise merge north.json south.json -o both.json
      countwise merge 'sites/*.json' -o all.json
    """
    from countwise.modelfile import load, save

    refuse_same(output, models)
    paths = _paths(models)
    if len(paths) < 2:
        raise click.UsageError("At least two MODEL files are needed.")
    refuse_same(output, paths)
    whole = load(paths[0])
    for path in paths[1:]:
        other = load(path)
        _refuse_different(whole, other, paths[0], path)
        whole = whole + other
    save(whole, output)
    echo(f"Merged {len(paths)} models with {whole.n_rows_} rows.\nWritten to {output}")


def _paths(models: tuple[str, ...]) -> list[str]:
    """Return the model files of paths and patterns."""
    from countwise.errors import OptionError

    found: list[str] = []
    for text in models:
        hits = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) and not Path(text).exists() else [text]
        if not hits:
            raise OptionError(f"No file matches {text!r}.", hint="check the folder and the file extension.")
        found += hits
    real = [os.path.realpath(path) for path in found]
    twice = next((path for path, place in zip(found, real, strict=True) if real.count(place) > 1), None)
    if twice is not None:
        raise OptionError(f"{twice} is given twice; its rows would be counted twice.", hint="pass each model once.")
    return found


def _refuse_different(one: Any, other: Any, first: str, second: str) -> None:
    """Raise an error that says why two models cannot be merged."""
    from countwise.errors import OptionError, listed

    if type(one) is not type(other) or not hasattr(one, "tallies_"):
        raise OptionError(
            f"{first} and {second} cannot be merged.",
            hint="merge models of the same type that are estimated from counts, such as naive Bayes.",
        )
    mine, theirs = one._settings(), other._settings()
    odd = [name for name in mine if mine[name] != theirs.get(name)]
    if odd:
        raise OptionError(
            f"{first} and {second} were trained with different settings: {listed(odd)}.",
            hint="train both with the same options, and with the same domains if the ARFF files declare them.",
        )
    for a, b, lacking in ((one, other, second), (other, one, first)):
        lost = [name for name in a.schema_ if name not in b.schema_]
        if lost and a.target_.name == b.target_.name:
            raise OptionError(
                f"{lacking} was trained without {listed(lost)}.", hint="train both models on the same columns."
            )
    for a in one.schema_.attributes if one.target_.name == other.target_.name else ():
        kind = other.schema_[a.name].kind
        if kind != a.kind and not one._is_unknown(a) and not other._is_unknown(other.schema_[a.name]):
            raise OptionError(
                f"{a.name!r} is {a.kind} in {first} and {kind} in {second}.",
                hint=f"train both with --types {a.name}={a.kind}.",
            )
