"""countwise sql: a model as an SQL query."""

from __future__ import annotations

import click

from countwise.cli._common import dialect_option, echo, output_file

__all__ = ["command"]

_PREDICT = "use countwise predict MODEL FILE, or train a model that SQL can express, such as naive-bayes or tree."
_REFUSED = {
    **dict.fromkeys(
        ("NeighborsClassifier", "NeighborsRegressor", "PEBLSClassifier"), ("a nearest-neighbors model", _PREDICT)
    ),
    "RoteClassifier": ("a rote learner", _PREDICT),
    "BayesNetwork": (
        "a Bayesian network",
        "use countwise ask, or train a model that SQL can express, such as naive-bayes.",
    ),
}


@click.command("sql")
@click.argument("model")
@click.option("--table", required=True, metavar="TABLE", help="Table to score.")
@dialect_option
@click.option(
    "--form",
    default="join",
    show_default=True,
    type=click.Choice(["join", "case"]),
    help="Look up nominal columns with many values in joined tables, or use only CASE expressions. "
    "Ignored for trees and rules.",
)
@click.option(
    "--proba/--no-proba", default=True, show_default=True, help="Also return the probability of each class."
)
@click.option("-o", "--output", default="-", metavar="FILE", help="SQL file to write.  [default: standard output]")
def command(model: str, table: str, dialect: str, form: str, proba: bool, output: str) -> None:
    """Write an SQL query that computes the predictions of MODEL for TABLE.

    MODEL must be naive Bayes, a discriminant, a tree or rules. To discretize in SQL, use countwise bin --sql.

    \b
    Examples:
      countwise sql credit.json --table applicants > score.sql
      countwise sql tree.json --table bank.applicants --dialect postgres
    """
    from inspect import signature

    from countwise.errors import OptionError
    from countwise.modelfile import load

    fitted = load(model)
    if not hasattr(fitted, "to_sql"):
        what, hint = _REFUSED.get(type(fitted).__name__, ("a model", _PREDICT))
        raise OptionError(f"{model} is {what}, which cannot be written as SQL.", hint=hint)
    settings = {"proba": proba and hasattr(fitted, "classes_")}
    if "form" in signature(fitted.to_sql).parameters:
        settings["form"] = form  # type: ignore[assignment]
    query = fitted.to_sql(table, dialect, **settings)
    with output_file(output, (model,)) as out:
        out.write(query + ";\n")
    if output != "-":
        echo(f"Written to {output}")
