"""countwise show: what a model has learned."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["command"]


@click.command("show")
@click.argument("model")
@click.argument("attribute", required=False)
@click.option("--json", "as_json", is_flag=True, help="Plain data for other programs.")
@click.option("--rules", is_flag=True, help="A tree as if-then rules.")
@click.option("--sql", is_flag=True, help="A tree as an SQL expression.")
@click.option("--svg", default=None, metavar="FILE", help="A tree or a network as a picture.")
@click.option("--depth", default=None, type=click.IntRange(min=0), help="How deep to draw a tree.")
def command(
    model: str, attribute: str | None, as_json: bool, rules: bool, sql: bool, svg: str | None, depth: int | None
) -> None:
    """Show what MODEL has learned: its tables, or that of one ATTRIBUTE; a tree, or its rules; a network.

    \b
    countwise show weather.json
    countwise show weather.json outlook
    countwise show tree.json --rules
    countwise show net.json --svg net.svg
    """
    from countwise.cli._common import echo_json, network_from
    from countwise.modelfile import load

    fitted = network_from(model) if model.lower().endswith(".bif") else load(model)
    if hasattr(fitted, "graph_") or model.lower().endswith(".bif"):
        if rules or sql or depth is not None:
            raise click.UsageError("--rules, --sql and --depth are for trees.")
        _show_network(fitted, as_json, svg, attribute)
        return
    if hasattr(fitted, "tree_") or hasattr(fitted, "rules_"):
        _show_tree(fitted, as_json, rules, sql, svg, depth, attribute)
        return
    if rules or sql or svg or depth is not None:
        raise click.UsageError("--rules, --sql, --svg and --depth are for trees.")
    if hasattr(fitted, "metric_") or hasattr(fitted, "n_different_"):
        _show_instances(fitted, as_json, attribute)
        return
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
        key = next((part.key for part in fitted.terms_ if name == part.key or name in part.columns), None)
        rule = "prior" if key is None else fitted.densities_[key].rule
        click.echo(f"[{rule}]\n{table}\n")
    if len(names) > 200:
        click.echo(f"… and {len(names) - 200} more; name one to see it.")
    for name, scores in getattr(fitted, "choices_", {}).items():
        if not attribute or name == attribute:
            best = max(scores, key=lambda law: scores[law])
            told = ", ".join(f"{law} {score:.4f}" for law, score in scores.items())
            click.echo(f"{name}: {best} chosen by leave-one-out log P({fitted.target_.name} | {name}): {told}")


def _show_tree(
    fitted: Any, as_json: bool, rules: bool, sql: bool, svg: str | None, depth: int | None, attribute: str | None
) -> None:
    from countwise.cli._common import echo_json, output_file

    if attribute:
        raise click.UsageError("A tree has no table of one attribute.")
    listed = hasattr(fitted, "rules_")
    if listed and (sql or svg or depth is not None):
        raise click.UsageError("--sql, --svg and --depth are for trees, not for lists of rules.")
    if svg:
        from countwise.plots.tree import draw_tree

        with output_file(svg) as out:
            out.write(draw_tree(fitted, max_depth=depth))
        click.echo(f"Written to {svg}", err=svg == "-")
        return
    found = fitted.rules_ if listed else fitted.rules()
    if as_json:
        echo_json(found.to_dict())
    elif rules or listed:
        click.echo(str(found))
    elif sql:
        click.echo(fitted.to_sql())
    else:
        click.echo(
            f"A tree for {fitted.target_.name!r}, from {fitted.n_rows_} rows\n\n{fitted.draw(max_depth=depth)}"
        )


def _show_instances(fitted: Any, as_json: bool, attribute: str | None) -> None:
    from countwise.cli._common import echo_json

    if attribute:
        raise click.UsageError("A model that keeps its rows has no table of one attribute.")
    if hasattr(fitted, "n_different_"):
        told = f"{fitted.n_different_} different rows learned by heart for {fitted.target_.name!r}"
        echo_json({"rows": fitted.n_rows_, "different": fitted.n_different_}) if as_json else click.echo(told)
        return
    tables = {"metric": fitted.metric_.parts_}
    tables |= {name: getattr(fitted, f"{name}_") for name in ("exemplars", "choice") if hasattr(fitted, f"{name}_")}
    if as_json:
        echo_json({name: dict(table) for name, table in tables.items()})
        return
    n = fitted.n_neighbors_
    click.echo(f"{n} neighbor{'s' * (n != 1)} for {fitted.target_.name!r}, of {fitted.n_rows_} rows\n")
    for name, table in tables.items():
        click.echo(f"[{name}]\n{table}\n")


def arcs_told(fitted: Any) -> list[str]:
    """Each node with what it depends on."""
    graph = fitted.graph_
    return [f"{name} ← {', '.join(graph.parents[name])}" if graph.parents[name] else name for name in graph]


def _show_network(fitted: Any, as_json: bool, svg: str | None, attribute: str | None) -> None:
    from countwise.cli._common import echo_json, output_file

    net = fitted._net()
    if svg:
        from countwise.plots.network import draw_network

        with output_file(svg) as out:
            out.write(draw_network(fitted))
        click.echo(f"Written to {svg}", err=svg == "-")
        return
    names = [attribute] if attribute else list(net.graph)
    tables = {name: fitted._shown_table(name) for name in names[:200]}
    if as_json:
        arcs = [list(arc) for arc in fitted.graph_.arcs]
        echo_json({"arcs": arcs, "tables": {name: dict(table) for name, table in tables.items()}})
        return
    if not attribute:
        what = f" for {fitted.target_.name!r}" if hasattr(fitted, "classes_") else ""
        click.echo(f"A network{what}, from {fitted.n_rows_} rows\n")
        click.echo("\n".join(arcs_told(fitted)) + "\n")
    for name, table in tables.items():
        above = fitted.graph_.parents[name]
        click.echo(f"[P({name}{' | ' + ', '.join(above) if above else ''})]\n{table}\n")
    if len(names) > 200:
        click.echo(f"… and {len(names) - 200} more; name one to see it.")
