"""Drawings of Bayesian networks as SVG: nodes in layers, bars of probabilities, marked evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.errors import OptionError, did_you_mean, listed
from countwise.network.graph import Graph
from countwise.network.layered_layout import HEAD, Run, layout
from countwise.network.net import Net
from countwise.network.queries import moments
from countwise.plots.style import DARK, PALETTE, QUIET, shortened, svg_page, svg_text, text_width, wrapped
from countwise.working.markup import escape
from countwise.working.numbers import number, percent

__all__ = ["draw_network", "graph_svg", "network_svg"]

_SMALL, _BODY, _TOP = 11.0, 13.0, 16.0
_EDGE = 18.0
_SIDE = 9.0  # padding of a node
_NAME, _LINE, _FOOT = 25.0, 16.0, 6.0  # heights in a node: its name, each line, bottom padding
_SHORTEST_BAR = 62.0  # smallest length of a bar of 100 %
_WIDEST_LABEL, _WIDEST_NAME = 96.0, 200.0
_MOST_VALUES = 8
_ARC, _TRACK, _OTHERS = "#7b8590", "#e6eaee", "#8fb8d4"
_PERCENT = text_width("> 99.9 %", _SMALL)


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    probability: float
    others: bool = False

    @property
    def text(self) -> str:
        return percent(self.probability, certain=self.probability in (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class _Node:
    """The content of a node: bars if it is nominal, lines of text if it is numeric, else only its name."""

    name: str
    bars: tuple[_Bar, ...] = ()
    lines: tuple[str, ...] = ()
    mark: str = ""
    tooltip: str = ""


def draw_network(
    model: Any, given: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None, title: str = ""
) -> str:
    """Draw a Bayesian network as SVG: arcs point down, and nodes show their distributions.

    A nominal node shows the probability of each value; of more than 8 values, the least probable are combined. A
    numeric node shows its type of distribution, its mean and its standard deviation. A network whose structure is
    given, but which has no CPTs yet, shows the names of its nodes.

    Parameters
    ----------
    model : BayesNetwork or BayesNetworkClassifier
        A fitted network, or one whose structure is given.
    given : mapping of str to value, optional
        The evidence, in the form that `BayesNetwork.query` accepts. Its nodes are marked, and all other nodes show
        their posterior given the evidence.
    do : mapping of str to value, optional
        An intervention, in the form that `BayesNetwork.query` accepts. Its nodes are marked; the arcs that it cuts
        are dashed.
    title : str, default=''
        The title above the drawing.

    Returns
    -------
    str
        The SVG document.

    Examples
    --------
    >>> from countwise import BayesNetworkClassifier, samples
    >>> from countwise.plots import draw_network
    >>> tennis = samples.load("tennis")
    >>> picture = draw_network(BayesNetworkClassifier("tan").fit(tennis.frame, "play"), {"outlook": "Sunny"})
    >>> picture[:4], "given" in picture
    ('<svg', True)
    """
    if not hasattr(model, "query") or not hasattr(model, "marginals"):
        raise OptionError(
            f"{type(model).__name__} is not a Bayesian network.", hint="use a BayesNetwork or BayesNetworkClassifier."
        )
    if not model._has_parameters and not given and not do:
        return graph_svg(model._known_graph(), title=title)
    here = model._situation(given, do)
    net, known = here.net, here.evidence
    numeric = [n for n in net.densities if n not in known and isinstance(net.attributes[n], Numeric)]
    numbers = {name: moments(net, name, known) for name in numeric}
    if not here.do:
        return network_svg(net, known, title=title, numbers=numbers)
    found = {node.name: node for node in _contents(net, known, numbers)}
    nodes = [
        replace(found[name], mark="set" if name in here.do else found[name].mark)
        if name in found
        else replace(_number(name, "set", float(here.do[name]), None), mark="set")
        for name in here.before.graph
    ]
    seen = {name: value for name, value in known.items() if name not in here.do}
    words = ", ".join(part for part in (here.doing, _given(net, *net.evidence(seen))) if part)
    return _NetworkPage(here.before.graph, nodes, title, words, here.cut).svg()


def network_svg(
    net: Net,
    known: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    numbers: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """Draw a network as SVG, with the posterior of each node given the evidence.

    `numbers` contains the mean and standard deviation of numeric nodes. Nodes with evidence have a dark header, a
    thick border and the label "given"; nodes with soft evidence (weights of values) have a dashed border and the
    label "soft".
    """
    known = dict(known or {})
    for name in numbers or ():
        if name not in net.graph or isinstance(net.attributes[name], Nominal):
            others = [n for n in net.graph if not isinstance(net.attributes[n], Nominal)]
            hint = did_you_mean(name, others) or f"choose among {listed(others)}."
            raise OptionError(f"numbers refers to {name!r}, which is not a numeric node of the network.", hint=hint)
    return _NetworkPage(
        net.graph, _contents(net, known, numbers or {}), title, _given(net, *net.evidence(known))
    ).svg()


def _contents(net: Net, known: Mapping[str, Any], numbers: Mapping[str, tuple[float, float]]) -> list[_Node]:
    """Return the content of each node."""
    codes, values = net.evidence(known)
    probabilities = net.marginals(known)[0]
    nodes = []
    for name in net.graph:
        a = net.attributes[name]
        if isinstance(a, Nominal):
            nodes.append(_nominal(name, a.values, probabilities[name], codes.get(name)))
        else:
            rule = str(getattr(net.densities.get(name), "rule", a.kind))
            nodes.append(_number(name, rule, values.get(name), numbers.get(name)))
    return nodes


def graph_svg(graph: Graph, *, title: str = "") -> str:
    """Draw a graph as SVG, with node names and arcs only; every arc points down."""
    return _NetworkPage(graph, [_Node(name, tooltip=name) for name in graph], title, "").svg()


# -- content of nodes -------------------------------------------------------------------


def _nominal(name: str, values: Sequence[Any], probabilities: Floats, known: Any) -> _Node:
    """Return a nominal node with the probabilities of its values; the least probable of many are combined."""
    every = bars = [_Bar(str(value), float(p)) for value, p in zip(values, probabilities, strict=True)]
    if len(every) > _MOST_VALUES:
        kept = sorted(np.argsort(-probabilities, kind="stable")[: _MOST_VALUES - 1].tolist())
        rest = _Bar(f"{len(every) - len(kept)} others", float(np.delete(probabilities, kept).sum()), others=True)
        bars = [*(every[i] for i in kept), rest]
    mark = "" if known is None else "given" if np.ndim(known) == 0 else "soft"
    tooltip = f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in every)
    if mark == "soft":
        pairs = zip(values, np.asarray(known).tolist(), strict=True)
        tooltip += "; weights " + ", ".join(f"{value} {number(weight)}" for value, weight in pairs)
    return _Node(name, tuple(bars), mark=mark, tooltip=tooltip)


def _number(name: str, rule: str, known: float | None, mean_sd: tuple[float, float] | None) -> _Node:
    """Return a numeric node with its distribution, and its evidence or its mean and standard deviation."""
    lines = []
    if known is not None:
        lines.append(f"= {number(known)}")
    elif mean_sd is not None:
        lines.append(f"{number(mean_sd[0])} ± {number(mean_sd[1])}")
    tooltip = f"{name}: {', '.join([rule, *lines])}"
    return _Node(name, lines=(rule.partition(",")[0], *lines), mark="" if known is None else "given", tooltip=tooltip)


def _given(net: Net, codes: Mapping[str, Any], values: Mapping[str, float]) -> str:
    """Describe the evidence in one line."""
    words = []
    for name in net.graph:
        a = net.attributes[name]
        if name in values:
            words.append(f"{name} = {number(values[name])}")
        elif name in codes and isinstance(a, Nominal):
            soft = np.ndim(codes[name]) > 0
            words.append(f"soft evidence on {name}" if soft else f"{name} = {a.values[codes[name]]}")
    return f"given {', '.join(words)}" if words else ""


# -- the page ---------------------------------------------------------------------------


class _NetworkPage:
    """The layout of the page, from top to bottom: title, evidence, nodes."""

    def __init__(
        self, graph: Graph, nodes: Sequence[_Node], title: str, given: str, cut: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.nodes, self.given, self.cut = nodes, given, cut
        labels = max((text_width(b.label, _SMALL) * 1.06 for node in nodes for b in node.bars), default=0.0)
        self.label = min(labels, _WIDEST_LABEL)
        self.wide = self._node_width()
        self.bar = self.wide - 2 * _SIDE - self.label - 8 - 6 - _PERCENT
        lines = {node.name: len(node.bars) + len(node.lines) for node in nodes}
        self.heights = {name: _NAME + (_LINE * n + _FOOT if n else 3.0) for name, n in lines.items()}
        self.layout = layout(graph, {name: (self.wide, high) for name, high in self.heights.items()})
        least = min(max(text_width(title, _TOP) * 1.06, text_width(given, _BODY)), 640.0)
        self.width = max(self.layout.width, least, 60.0) + 2 * _EDGE
        room = self.width - 2 * _EDGE
        self.head = [shortened(title, room, _TOP * 1.06)] if title else []
        self.words = [shortened(line, room, _BODY) for line in wrapped(given, room, _BODY)]
        self.top = _EDGE + 24 * len(self.head) + 18 * len(self.words) + (8 if self.head or self.words else 0)
        self.left = (self.width - self.layout.width) / 2
        counts = [f"{n} {word}{'s' * (n != 1)}" for n, word in ((len(nodes), "node"), (len(graph.arcs), "arc"))]
        self.title = title or f"Network with {' and '.join(counts)}"

    def _node_width(self) -> float:
        """Return one width for all nodes, so that bars are comparable."""
        names = max((text_width(n.name, _BODY) * 1.08 + 46 * bool(n.mark) for n in self.nodes), default=0.0)
        lines = max((text_width(line, _SMALL) for n in self.nodes for line in n.lines), default=0.0)
        wide = max(min(names, _WIDEST_NAME), min(lines, _WIDEST_NAME), 40.0)
        if any(node.bars for node in self.nodes):
            wide = max(wide, self.label + 8 + _SHORTEST_BAR + 6 + _PERCENT)
        return float(math.ceil(wide + 2 * _SIDE))

    def svg(self) -> str:
        """Return the SVG document."""
        parts = [svg_text(_EDGE, _EDGE + 13, line, _TOP, bold=True) for line in self.head]
        y = _EDGE + 24 * len(self.head) + 11
        parts += [svg_text(_EDGE, y + 18 * i, line, _BODY, fill=QUIET) for i, line in enumerate(self.words)]
        parts += [self._arc(arc, runs) for arc, runs in self.layout.routes.items()]
        parts += [self._node(node) for node in self.nodes]
        return svg_page(self.width, self.top + self.layout.height + _EDGE, self.title, "".join(parts), self.given)

    def _arc(self, arc: tuple[str, str], runs: Sequence[Run]) -> str:
        """Return an arc: a curve through its vertical segments, and an arrowhead."""
        placed = [(self.left + x, self.top + y0, self.top + y1) for x, y0, y1 in runs]
        x, y, end = placed[0]
        path = [f"M{x:.1f} {y:.1f}V{end:.1f}"]
        for (x0, _, y0), (x1, y1, end) in pairwise(placed):
            middle = (y0 + y1) / 2
            if abs(x1 - x0) >= 0.05:
                path.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
            path.append(f"V{end:.1f}")
        x, _, y = placed[-1]
        path[-1] = f"V{y - HEAD:.1f}"  # the arrowhead starts there
        parent, child = map(escape, arc)
        if arc in self.cut:
            return (
                f'<g class="arc cut" data-from="{parent}" data-to="{child}"><title>{parent} → {child}: cut</title>'
                f'<path d="{"".join(path)}" fill="none" stroke="{_ARC}" stroke-width="1" stroke-dasharray="3 5"/></g>'
            )
        return (
            f'<g class="arc" data-from="{parent}" data-to="{child}"><title>{parent} → {child}</title>'
            f'<path d="{"".join(path)}" fill="none" stroke="{_ARC}" stroke-width="1.5"/>'
            f'<path d="M{x:.1f} {y:.1f}l-4-{HEAD:g}h8z" fill="{_ARC}"/></g>'
        )

    # -- a node --------------------------------------------------------------------------

    def _node(self, node: _Node) -> str:
        x, y = self.layout.corners[node.name]
        kind = "nominal" if node.bars else "number" if node.lines else "bare"
        round_ = 11 if kind == "number" else 4
        edge = {
            "given": f'stroke="{DARK}" stroke-width="3"',
            "set": f'stroke="{DARK}" stroke-width="3"',
            "soft": f'stroke="{DARK}" stroke-width="2.4" stroke-dasharray="7 4"',
        }.get(node.mark, f'stroke="{QUIET}" stroke-width="1"')
        box = f'width="{self.wide:g}" height="{self.heights[node.name]:g}" rx="{round_}"'
        body = [self._bar(node, i, bar) for i, bar in enumerate(node.bars)]
        for i, line in enumerate(node.lines):
            words = shortened(line, self.wide - 2 * _SIDE, _SMALL)
            quiet = "" if i else QUIET
            body.append(svg_text(self.wide / 2, _NAME + 11 + _LINE * i, words, _SMALL, anchor="middle", fill=quiet))
        return (
            f'<g class="node {kind}{f" {node.mark}" if node.mark else ""}" data-node="{escape(node.name)}" '
            f'transform="translate({self.left + x:.1f} {self.top + y:.1f})"><title>{escape(node.tooltip)}</title>'
            f'<rect class="box" {box} fill="#fff" {edge}/>{self._name(node, round_)}{"".join(body)}</g>'
        )

    def _name(self, node: _Node, r: int) -> str:
        """Return the name of a node, with a tag if it has evidence."""
        wide, given = self.wide, node.mark in ("given", "set")
        name = shortened(node.name, wide - 2 * _SIDE - 46 * bool(node.mark), _BODY * 1.08)
        if not node.mark:
            return svg_text(wide / 2, 17, name, _BODY, anchor="middle", bold=True)
        words = svg_text(_SIDE, 17, name, _BODY, bold=True, fill="#fff" * given)
        tag = f'<rect x="{wide - 46:g}" y="{4.5 if given else 5}" width="39" height="16" rx="8" fill="#fff"'
        if not given:
            return f'{words}{tag} stroke="{DARK}"/>' + svg_text(wide - 26.5, 17, "soft", _SMALL, anchor="middle")
        head = f"M0 {_NAME - 1:g}V{r}a{r} {r} 0 0 1 {r} -{r}H{wide - r:g}a{r} {r} 0 0 1 {r} {r}V{_NAME - 1:g}z"
        text = svg_text(wide - 26.5, 16.5, node.mark, _SMALL, anchor="middle", bold=True)
        return f'<path d="{head}" fill="{DARK}"/>{words}{tag}/>{text}'

    def _bar(self, node: _Node, i: int, bar: _Bar) -> str:
        """Return the row of a value: label, bar, and probability in percent."""
        x, y = _SIDE + self.label + 8, _NAME + _LINE * i
        given = node.mark in ("given", "set")
        faint = given and bar.probability == 0
        bold = given and not faint
        color = DARK if given else _OTHERS if bar.others else PALETTE[0]
        place = f'x="{x:.1f}" y="{y + 2:g}"'
        label = shortened(bar.label, self.label, _SMALL)
        text = svg_text(self.wide - _SIDE, y + 11, bar.text, _SMALL, anchor="end", bold=bold, fill=QUIET * faint)
        return (
            f'<g class="value"><title>{escape(f"{bar.label}: {bar.text}")}</title>'
            f"{svg_text(_SIDE, y + 11, label, _SMALL, bold=bold, fill=QUIET * (faint or bar.others))}"
            f'<rect class="track" {place} width="{self.bar:.2f}" height="11" fill="{_TRACK}"/>'
            f'<rect class="bar" {place} width="{self.bar * bar.probability:.2f}" height="11" fill="{color}"/>'
            f"{text}</g>"
        )
