"""countwise ask: queries of a network."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli._common import echo_json, json_option, network_from, output_file, pairs

__all__ = ["command"]


@click.command("ask")
@click.argument("model")
@click.argument("nodes", nargs=-1)
@click.option("--given", "given", multiple=True, metavar="NAME=VALUE,…", help="Evidence: observed values of nodes.")
@click.option(
    "--method",
    default="exact",
    show_default=True,
    type=click.Choice(["exact", "likelihood_weighting", "gibbs"]),
    help="Exact inference, or sampling with standard errors.",
)
@click.option("-n", "n", default=10_000, show_default=True, help="How many rows to draw.")
@click.option("--explain", is_flag=True, help="Show the steps of variable elimination.")
@click.option(
    "--most-probable", is_flag=True, help="The most probable explanation: the values of all nodes together."
)
@click.option("--svg", default=None, metavar="FILE", help="The network as a picture, with the evidence marked.")
@json_option
def command(
    model: str,
    nodes: tuple[str, ...],
    given: tuple[str, ...],
    method: str,
    n: int,
    explain: bool,
    most_probable: bool,
    svg: str | None,
    as_json: bool,
) -> None:
    """Query a network for P(NODES | given); MODEL is a model file or a BIF file. Without NODES, of every node.

    \b
    countwise ask asia.bif lung --given dysp=yes,smoke=yes
    countwise ask asia.bif lung --given dysp=yes --explain
    countwise ask asia.bif --given dysp=yes --svg asia.svg
    """
    fitted = network_from(model)
    known = _typed(fitted, pairs(given, "--given"))
    if svg:
        from countwise.plots.network import draw_network

        with output_file(svg, (model,)) as out:
            out.write(draw_network(fitted, known))
        click.echo(f"Written to {svg}", err=svg == "-")
    elif most_probable:
        found = fitted.most_probable_explanation(known)
        echo_json(found) if as_json else click.echo("\n".join(f"{name} = {value}" for name, value in found.items()))
    elif explain:
        _explained(fitted, nodes, known, as_json)
    elif not nodes:
        every = fitted.marginals(known)
        echo_json({k: _plain(v) for k, v in every.items()}) if as_json else click.echo(
            "\n\n".join(str(answer) for name, answer in every.items() if name not in known)
        )
    else:
        answer = fitted.query(nodes[0] if len(nodes) == 1 else nodes, known, method=method, n=n)
        echo_json(_plain(answer)) if as_json else click.echo(str(answer))


def _explained(fitted: Any, nodes: tuple[str, ...], known: dict[str, Any], as_json: bool) -> None:
    from countwise.network.inference.elimination_working import explain_elimination

    if not nodes:
        raise click.UsageError("--explain needs a node.")
    told = explain_elimination(fitted._net(), nodes[0] if len(nodes) == 1 else nodes, fitted._evidence(known))
    echo_json(told.to_dict()) if as_json else click.echo(str(told))


def _typed(fitted: Any, texts: dict[str, str]) -> dict[str, Any]:
    """The evidence as typed, as values of the nodes."""
    net = fitted._net()
    folded = {node.casefold(): node for node in net.graph}
    found: dict[str, Any] = {}
    for name, text in texts.items():
        node = folded.get(name.casefold(), name)
        net.graph.known([node])
        if text in ("", "?"):
            continue
        a = net.attributes[node]
        value = a.parse(text)
        if node in getattr(fitted, "cuts_", {}) and value == text:  # a binned node is given by a number
            try:
                value = float(text)
            except ValueError:
                value = text
        found[node] = value
    return found


def _plain(answer: Any) -> dict[str, Any]:
    shares = {", ".join(map(str, k)) if isinstance(k, tuple) else str(k): v for k, v in answer.items()}
    if answer.errors is None:
        return {"asked": answer.asked, "method": answer.method, "probabilities": shares}
    return {
        "asked": answer.asked,
        "method": answer.method,
        "probabilities": shares,
        "errors": {str(k): v for k, v in answer.errors.items()},
        "effective": answer.effective,
    }
