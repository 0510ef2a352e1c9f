"""countwise merge: models that were trained apart as one."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("merge")
@click.argument("models", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="MODEL", help="Where to write the model.")
def command(models: tuple[str, ...], output: str) -> None:
    """Join MODELS that were trained apart with the same settings: the result is as if trained on all their rows.

    No rows travel: a model file holds counts.

    \b
    countwise merge north.json south.json -o both.json
    """
    from countwise.cli._common import refuse_same
    from countwise.errors import OptionError
    from countwise.modelfile import load, save

    if len(models) < 2:
        raise click.UsageError("At least two models are needed.")
    refuse_same(output, models)
    found = [load(path, plain=True) for path in models]
    whole = found[0]
    for path, other in zip(models[1:], found[1:], strict=True):
        if type(other) is not type(whole) or not hasattr(whole, "tallies_"):
            raise OptionError(
                f"{models[0]} and {path} cannot be merged.", hint="models of one kind that learn by counting can be."
            )
        whole = whole + other
    save(whole, output)
    click.echo(f"{whole.n_rows_} rows of {len(models)} models. Written to {output}")
