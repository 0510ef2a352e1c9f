"""countwise show: the tables, tree, rules or network of a model."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli._common import (
    echo,
    echo_data,
    echo_json,
    json_option,
    network_from,
    output_file,
    refuse_same,
    terminal_width,
)

__all__ = ["command"]

_MOST = 200  # most tables to show


@click.command("show")
@click.argument("model")
@click.argument("attribute", required=False)
@json_option
@click.option("--rules", is_flag=True, help="Show a tree as if-then rules.")
@click.option("--sql", is_flag=True, help="Show a tree as an SQL expression.")
@click.option("--splits", is_flag=True, help="Show the candidate splits of each node of a tree, with their gains.")
@click.option("--steps", is_flag=True, help="Show each step of the search for the structure of a network.")
@click.option(
    "--pruning",
    is_flag=True,
    help="Show the decisions of the pruning of a tree, or the conditions dropped from rules.",
)
@click.option("--svg", default=None, metavar="FILE", help="Write a drawing of a tree or a network.")
@click.option(
    "--depth", default=None, type=click.IntRange(min=0), metavar="N", help="Largest depth to which a tree is shown."
)
@click.option(
    "-o", "--output", default=None, metavar="FILE", help="Write the tables to an Excel (.xlsx) or CSV (.csv) file."
)
@click.option("--unsmoothed", is_flag=True, help="Show the frequencies of ATTRIBUTE before and after smoothing.")
def command(
    model: str,
    attribute: str | None,
    as_json: bool,
    rules: bool,
    sql: bool,
    splits: bool,
    steps: bool,
    pruning: bool,
    svg: str | None,
    depth: int | None,
    output: str | None,
    unsmoothed: bool,
) -> None:
    """Show what MODEL has learned: its tables, tree, rules or network.

    MODEL is a model file of countwise train, or a BIF file. With ATTRIBUTE, only the table of that attribute is
    shown.

    \b
    Examples:
      countwise show weather.json
      countwise show weather.json outlook
      countwise show weather.json outlook --unsmoothed
      countwise show weather.json -o counts.xlsx
      countwise show tree.json --rules
      countwise show tree.json --splits --depth 1
      countwise show net.json --steps
      countwise show net.json --svg net.svg
    """
    from countwise.modelfile import load
    from countwise.registry import KINDS, kind_of

    fitted = network_from(model) if model.lower().endswith(".bif") else load(model)
    word = KINDS[kind_of(fitted) or "Network"].word
    tree, network = word in ("tree", "regression-tree"), word in ("net", "network")
    if not tree and (sql or splits or depth is not None or ((rules or pruning) and word != "rules")):
        raise click.UsageError("--rules, --sql, --splits, --pruning and --depth can be used only with trees.")
    if steps and not network:
        raise click.UsageError("--steps can be used only with networks.")
    if sum((rules, sql, splits, pruning, steps, svg is not None)) > 1:
        raise click.UsageError("Use only one of --rules, --sql, --splits, --pruning, --steps and --svg.")
    if unsmoothed and (not attribute or not hasattr(fitted, "table")):
        raise click.UsageError("--unsmoothed needs ATTRIBUTE, and a model with a table for each attribute.")
    if output:
        if as_json or rules or sql or splits or pruning or steps or svg or depth is not None or unsmoothed:
            raise click.UsageError("-o can be used only with MODEL and ATTRIBUTE; it writes tables.")
        refuse_same(output, [model])
        fitted.write_tables(output, attribute)
        echo(f"Written to {output}")
    elif svg:
        if not (tree or network):
            raise click.UsageError("--svg can be used only with trees and networks.")
        _draw(fitted, svg, depth, tree)
    elif steps:
        _show_working(fitted.explain_structure(), as_json)
    elif tree or word == "rules":
        if attribute:
            raise click.UsageError("ATTRIBUTE cannot be used with trees and rules.")
        if splits:
            _show_working(fitted.split_report(max_depth=depth), as_json)
        elif pruning:
            _show_working(fitted.pruning_report() if tree else fitted.simplification_report(), as_json)
        else:
            _show_tree(fitted, as_json, rules, sql, depth, tree)
    else:
        _show_tables(fitted, as_json, attribute, word, unsmoothed)


def _draw(fitted: Any, svg: str, depth: int | None, tree: bool) -> None:
    from countwise.plots.network import draw_network
    from countwise.plots.tree import draw_tree

    with output_file(svg) as out:
        out.write(draw_tree(fitted, max_depth=depth) if tree else draw_network(fitted))
    echo(f"Written to {svg}", err=svg == "-")


def _show_working(working: Any, as_json: bool) -> None:
    if as_json:
        echo_json(working.to_dict())
    else:
        echo(working.text(terminal_width()))


def _show_tree(fitted: Any, as_json: bool, rules: bool, sql: bool, depth: int | None, tree: bool) -> None:
    found = fitted.rules() if tree else fitted.rules_
    if as_json:
        echo_json(found.to_dict())
    elif rules or not tree:
        echo(str(found))
    elif sql:
        echo_data(fitted.to_sql())
    else:
        echo(f"Tree for {fitted.target_.name!r}, trained on {fitted.n_rows_} rows\n\n{fitted.draw(max_depth=depth)}")


def _show_tables(fitted: Any, as_json: bool, attribute: str | None, word: str, unsmoothed: bool) -> None:
    from countwise.errors import OptionError, did_you_mean, listed

    tables = fitted.tables()
    if attribute:
        if hasattr(fitted, "table"):  # several columns may share one term
            tables = {attribute: fitted.table(attribute, **({"smoothing": True} if unsmoothed else {}))}
        elif attribute in tables:
            tables = {attribute: tables[attribute]}
        else:
            hint = did_you_mean(attribute, tables) or f"use one of {listed(tables)}."
            raise OptionError(f"The model has no table {attribute!r}.", hint=hint)
    if as_json:
        arcs = {"arcs": [list(arc) for arc in fitted.graph_.arcs]} if word in ("net", "network") else None
        found = {name: dict(table) for name, table in tables.items()}
        echo_json(found if arcs is None else {**arcs, "tables": found})
        return
    if not attribute:
        echo(f"{fitted.summary()}\n")
    titles = fitted.table_titles() if hasattr(fitted, "table_titles") else {}
    for name in list(tables)[:_MOST]:
        echo(f"[{titles.get(name, name)}]\n{tables[name].text(terminal_width())}\n")
    if len(tables) > _MOST:
        echo(f"… and {len(tables) - _MOST} more tables; use countwise show MODEL ATTRIBUTE to show one.")
    for name, scores in getattr(fitted, "choices_", {}).items():
        if not attribute or name == attribute:
            best = max(scores, key=lambda title: scores[title])
            every = ", ".join(f"{title} {score:.4f}" for title, score in scores.items())
            echo(f"{name}: {best}, chosen by leave-one-out log P({fitted.target_.name} | {name}): {every}")
