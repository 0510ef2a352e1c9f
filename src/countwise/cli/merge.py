"""countwise merge: models that were trained apart as one."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import click

from countwise.cli._common import refuse_same

__all__ = ["command"]


@click.command("merge")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-o", "--output", required=True, metavar="MODEL", help="Where to write the model.")
def command(models: tuple[str, ...], output: str) -> None:
    """Join MODELs that were trained apart with the same settings: the result is as if trained on all their rows.

    No rows travel: a model file holds counts. Models that learn by counting can be joined: naive Bayes,
    discriminants, prototypes, Parzen densities, networks of a given structure. A pattern in quotes stands for its
    files.

    \b
    countwise merge north.json south.json -o both.json
    countwise merge 'sites/*.json' -o all.json
    """
    from countwise.modelfile import load, save

    refuse_same(output, models)
    paths = _paths(models)
    if len(paths) < 2:
        raise click.UsageError("At least two models are needed.")
    refuse_same(output, paths)
    whole = load(paths[0])
    for path in paths[1:]:
        other = load(path)
        _refuse_different(whole, other, paths[0], path)
        whole = whole + other
    save(whole, output)
    click.echo(f"{whole.n_rows_} rows of {len(paths)} models. Written to {output}")


def _paths(models: tuple[str, ...]) -> list[str]:
    """The model files that are meant, each once."""
    from countwise.errors import OptionError

    found: list[str] = []
    for text in models:
        hits = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) and not Path(text).exists() else [text]
        if not hits:
            raise OptionError(f"No model matches {text!r}.", hint="check the folder and the ending.")
        found += hits
    real = [os.path.realpath(path) for path in found]
    twice = next((path for path, place in zip(found, real, strict=True) if real.count(place) > 1), None)
    if twice is not None:
        raise OptionError(f"{twice} is given twice.", hint="its rows would count twice.")
    return found


def _refuse_different(one: Any, other: Any, first: str, second: str) -> None:
    """Say in what two models differ that cannot be joined."""
    from countwise.errors import OptionError, listed

    if type(one) is not type(other) or not hasattr(one, "tallies_"):
        raise OptionError(
            f"{first} and {second} cannot be merged.", hint="models of one kind that learn by counting can be."
        )
    mine, theirs = one._settings(), other._settings()
    odd = [name for name in mine if mine[name] != theirs.get(name)]
    if odd:
        raise OptionError(
            f"{first} and {second} were trained with other settings: {listed(odd)}.",
            hint="train both with the same, and with the same domains if their files declare any.",
        )
    for a, b, lacking in ((one, other, second), (other, one, first)):
        lost = [name for name in a.schema_ if name not in b.schema_]
        if lost and a.target_.name == b.target_.name:
            raise OptionError(
                f"{lacking} has not learned {listed(lost)}.", hint="models are merged over the same columns."
            )
    for a in one.schema_.attributes if one.target_.name == other.target_.name else ():
        kind = other.schema_[a.name].kind
        if kind != a.kind and not one._is_unknown(a) and not other._is_unknown(other.schema_[a.name]):
            raise OptionError(
                f"{a.name!r} is {a.kind} in {first} and {kind} in {second}.", hint=f"--types {a.name}={a.kind}."
            )
