"""countwise sql: a model as a scoring query that needs no Python."""

from __future__ import annotations

import click

from countwise.cli._common import dialect_option, output_file

__all__ = ["command"]

_PREDICT = "countwise predict MODEL FILE answers files of any size; a tree or naive Bayes can be written."
_REFUSED = {
    **dict.fromkeys(
        ("NeighborsClassifier", "NeighborsRegressor", "PEBLSClassifier"), ("the rows of its neighbors", _PREDICT)
    ),
    "RoteClassifier": ("rows learned by heart", _PREDICT),
    "BayesNetwork": ("a network", "countwise ask asks it; naive Bayes can be written."),
}


@click.command("sql")
@click.argument("model")
@click.option("--table", required=True, metavar="TABLE", help="The table to score.")
@dialect_option
@click.option(
    "--form",
    default="join",
    show_default=True,
    type=click.Choice(["join", "case"]),
    help="Names of many values by joins with small tables, or all by CASE.",
)
@click.option(
    "--proba/--no-proba", default=True, show_default=True, help="Give the probabilities of the classes too."
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write the query.")
def command(model: str, table: str, dialect: str, form: str, proba: bool, output: str) -> None:
    """Write a query that scores TABLE as MODEL does.

    MODEL is a naive Bayes, a discriminant, a tree or a list of rules. `countwise bin --sql` writes cuts.

    \b
    countwise sql credit.json --table applicants > score.sql
    countwise sql tree.json --table bank.applicants --dialect postgres
    """
    from inspect import signature

    from countwise.errors import OptionError
    from countwise.modelfile import load

    fitted = load(model)
    if not hasattr(fitted, "to_sql"):
        what, way_round = _REFUSED.get(type(fitted).__name__, ("a model", _PREDICT))
        raise OptionError(f"{model} holds {what}, which cannot be written as SQL.", hint=way_round)
    settings = {"proba": proba and hasattr(fitted, "classes_")}
    if "form" in signature(fitted.to_sql).parameters:
        settings["form"] = form  # type: ignore[assignment]
    query = fitted.to_sql(table, dialect, **settings)
    with output_file(output, (model,)) as out:
        out.write(query + ";\n")
    if output != "-":
        click.echo(f"Written to {output}")
