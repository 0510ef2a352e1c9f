"""countwise ask: probabilities in a Bayesian network."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli._common import echo, echo_json, json_option, network_from, output_file, pairs, terminal_width
from countwise.errors import OptionError

__all__ = ["command"]


@click.command("ask")
@click.argument("model")
@click.argument("nodes", nargs=-1)
@click.option(
    "--given",
    "given",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Evidence: the observed values of nodes. Can be repeated.",
)
@click.option(
    "--do",
    "doing",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Intervention: nodes that are set to a value. The arcs into them are cut. Can be repeated.",
)
@click.option(
    "--method",
    default="exact",
    show_default=True,
    type=click.Choice(["exact", "likelihood_weighting", "gibbs"]),
    help="Inference method. likelihood_weighting and gibbs draw samples and report standard errors.",
)
@click.option(
    "-n", "n", default=10_000, show_default=True, help="Number of samples of likelihood_weighting and gibbs."
)
@click.option("--explain", is_flag=True, help="Show the computation by variable elimination, step by step.")
@click.option(
    "--separated",
    is_flag=True,
    help="Show whether the two NODES are d-separated given the nodes of --given (NAME,…), with each path.",
)
@click.option(
    "--most-probable",
    is_flag=True,
    help="Show the most probable joint assignment of the nominal nodes that are not in --given.",
)
@click.option(
    "--svg", default=None, metavar="FILE", help="Write a drawing of the network and its posterior probabilities."
)
@json_option
def command(
    model: str,
    nodes: tuple[str, ...],
    given: tuple[str, ...],
    doing: tuple[str, ...],
    method: str,
    n: int,
    explain: bool,
    separated: bool,
    most_probable: bool,
    svg: str | None,
    as_json: bool,
) -> None:
    """Compute P(NODES | evidence) in a Bayesian network.

    MODEL is a model file of countwise train --model net or network, or a BIF file. Several NODES give their joint
    distribution. A numeric node gives its mean and standard deviation. Without NODES, the distribution of each
    nominal node is shown.

    \b
    Examples:
      countwise ask asia.bif lung --given dysp=yes,smoke=yes
      countwise ask asia.bif lung --given dysp=yes --explain
      countwise ask asia.bif lung --do smoke=no --explain
      countwise ask asia.bif smoke dysp --separated --given lung
      countwise ask asia.bif --given dysp=yes --svg asia.svg
    """
    fitted = network_from(model)
    if separated:
        _separated(fitted, nodes, given, as_json, other=bool(doing or svg or explain or most_probable))
        return
    known = _typed(fitted, pairs(given, "--given"))
    actions = _typed(fitted, asked := pairs(doing, "--do"))
    if len(actions) < len(asked):
        raise OptionError("--do sets a node to a missing value.", hint="drop it, or pass one of its values.")
    if svg:
        from countwise.plots.network import draw_network

        with output_file(svg, (model,)) as out:
            out.write(draw_network(fitted, known, do=actions))
        echo(f"Written to {svg}", err=svg == "-")
    elif most_probable:
        found = fitted.most_probable_explanation(known, do=actions)
        echo_json(found) if as_json else echo("\n".join(f"{name} = {value}" for name, value in found.items()))
    elif explain:
        _explained(fitted, nodes, known, actions, as_json)
    elif not nodes:
        every = fitted.marginals(known, do=actions)
        echo_json({k: _plain(v) for k, v in every.items()}) if as_json else echo(
            "\n\n".join(str(result) for name, result in every.items() if name not in known and name not in actions)
        )
    else:
        result = fitted.query(nodes[0] if len(nodes) == 1 else nodes, known, do=actions, method=method, n=n)
        echo_json(_plain(result)) if as_json else echo(str(result))


def _separated(fitted: Any, nodes: tuple[str, ...], given: tuple[str, ...], as_json: bool, *, other: bool) -> None:
    if len(nodes) != 2 or other:
        raise click.UsageError("--separated needs two nodes, and can be used only with --given and --json.")
    names = [part.partition("=")[0].strip() for text in given for part in text.split(",") if part.strip()]
    folded = {node.casefold(): node for node in fitted.graph_}
    working = fitted.explain_d_separated(*nodes, [folded.get(name.casefold(), name) for name in names])
    echo_json(working.to_dict()) if as_json else echo(working.text(terminal_width()))


def _explained(
    fitted: Any, nodes: tuple[str, ...], known: dict[str, Any], actions: dict[str, Any], as_json: bool
) -> None:
    from countwise.network.inference.elimination_working import explain_elimination

    if not nodes:
        raise click.UsageError("--explain needs at least one node.")
    working = explain_elimination(fitted._situation(known, actions), nodes)
    echo_json(working.to_dict()) if as_json else echo(working.text(terminal_width()))


def _typed(fitted: Any, texts: dict[str, str]) -> dict[str, Any]:
    """Return the evidence as values of the nodes."""
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
        if node in getattr(fitted, "cuts_", {}) and value == text:  # the evidence on a binned node is a number
            try:
                value = float(text)
            except ValueError:
                value = text
        found[node] = value
    return found


def _plain(result: Any) -> dict[str, Any]:
    probabilities = {", ".join(map(str, k)) if isinstance(k, tuple) else str(k): v for k, v in result.items()}
    plain = {"query": result.query, "method": result.method, "probabilities": probabilities}
    if result.cut:
        plain["cut"] = [list(arc) for arc in result.cut]
    if result.errors is None:
        return plain
    return {
        **plain,
        "errors": {str(k): v for k, v in result.errors.items()},
        "effective": result.effective,
    }
