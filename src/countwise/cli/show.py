"""countwise show: what a model has learned."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("show")
@click.argument("model")
@click.argument("attribute", required=False)
@click.option("--json", "as_json", is_flag=True, help="Plain data for other programs.")
def command(model: str, attribute: str | None, as_json: bool) -> None:
    """Show the tables of MODEL: all of them, or that of one ATTRIBUTE.

    \b
    countwise show weather.json
    countwise show weather.json outlook
    """
    from countwise.cli._common import echo_json
    from countwise.modelfile import load

    fitted = load(model, plain=True)
    names = [attribute] if attribute else [fitted.target_.name, *fitted.densities_]
    tables = {name: fitted.table(name) for name in names[:200]}
    if as_json:
        echo_json({name: dict(table) for name, table in tables.items()})
        return
    if not attribute:
        kind = type(fitted).__name__.removesuffix("Bayes") or "Bayes"
        title = {"Naive": "Naive Bayes", "Parzen": "Parzen classifier", "Prototype": "Nearest prototype"}.get(
            kind, kind
        )
        click.echo(f"{title} for {fitted.target_.name!r}, from {fitted.n_rows_} rows\n")
    for name, table in tables.items():
        key = next((part.key for part in fitted.parts_ if name == part.key or name in part.columns), None)
        rule = "prior" if key is None else fitted.densities_[key].rule
        click.echo(f"[{rule}]\n{table}\n")
    if len(names) > 200:
        click.echo(f"… and {len(names) - 200} more; name one to see it.")
    for name, scores in getattr(fitted, "choices_", {}).items():
        if not attribute or name == attribute:
            best = max(scores, key=lambda law: scores[law])
            told = ", ".join(f"{law} {score:.4f}" for law, score in scores.items())
            click.echo(f"{name}: {best} chosen by leave-one-out log P({fitted.target_.name} | {name}): {told}")
