"""Networks as SVG, written by hand: nodes in layers with bars of their probabilities, and what is known marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.errors import OptionError, did_you_mean, listed
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.queries import moments
from countwise.plots.layered_layout import HEAD, Layout, Run, layout
from countwise.plots.style import DARK, PALETTE, QUIET, shortened, svg_text, text_width, wrapped, xml
from countwise.working.numbers import number, percent

__all__ = ["draw_network", "graph_svg", "network_svg"]

_SMALL, _BODY, _TOP = 11.0, 13.0, 16.0
_EDGE = 18.0
_SIDE = 9.0  # from the border of a node to what is in it
_NAME, _LINE, _FOOT = 25.0, 16.0, 6.0  # heights of a node: its name, each line, the rest
_SHORTEST_BAR = 62.0  # of 100 %
_WIDEST_LABEL, _WIDEST_NAME = 96.0, 200.0
_MOST_VALUES = 8
_ARC, _TRACK = "#7b8590", "#e6eaee"
_PERCENT = text_width("> 99.9 %", _SMALL)


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    share: float
    text: str
    others: bool = False


@dataclass(frozen=True, slots=True)
class _Node:
    """What a node shows: bars if it has values, lines if it is a number, nothing but its name else."""

    name: str
    bars: tuple[_Bar, ...] = ()
    lines: tuple[str, ...] = ()
    mark: str = ""
    told: str = ""

    @property
    def kind(self) -> str:
        return "nominal" if self.bars else "number" if self.lines else "bare"


def draw_network(model: Any, given: Mapping[str, Any] | None = None, *, title: str = "") -> str:
    """Draw a fitted network as SVG: arcs point down, and nodes show how probable their values are.

    Parameters
    ----------
    model : BayesNetwork or BayesNetworkClassifier
        Fitted, or drawn by hand with all its tables.
    given : mapping of str to value, optional
        The evidence: it is marked, and the bars of all other nodes follow.
    title : str, default=""
        What to write above.

    Returns
    -------
    str

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
            f"{type(model).__name__} is not a network.", hint="BayesNetwork and BayesNetworkClassifier are."
        )
    net, known = model._net(), model._evidence(given)
    numbers = {name: moments(net, name, known) for name in net.densities if name not in known and _is_one(net, name)}
    return network_svg(net, known, title=title, numbers=numbers)


def _is_one(net: Net, name: str) -> bool:
    """Whether a node is a number, and no text."""
    return isinstance(net.attributes[name], Numeric)


def network_svg(
    net: Net,
    known: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    numbers: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """Draw a network as SVG, with the probabilities of all values given the evidence.

    Arcs point down. What is known has a dark head, a heavy border and the word "given"; what is known but for weights
    of its values (soft evidence) has a broken border and the word "soft".

    Parameters
    ----------
    net : Net
        A network with its tables.
    known : mapping of str to value, optional
        What is known, as `Net.query` takes it.
    title : str, default=""
        What to write above.
    numbers : mapping of str to (float, float), optional
        Mean and deviation of nodes that are numbers.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.network.graph import Graph
    >>> from countwise.network.net import Net
    >>> from countwise.plots.network import network_svg
    >>> both = ("no", "yes")
    >>> net = Net(
    ...     Graph({"rain": (), "wet": ("rain",)}),
    ...     {"rain": Nominal("rain", both), "wet": Nominal("wet", both)},
    ...     {"rain": np.array([0.8, 0.2]), "wet": np.array([[0.9, 0.1], [0.1, 0.9]])},
    ...     {},
    ... )
    >>> picture = network_svg(net, {"wet": "yes"})
    >>> picture[:4], "69.2 %" in picture, ">given<" in picture
    ('<svg', True, True)
    """
    known = dict(known or {})
    codes, values = net.evidence(known)
    for name in numbers or ():
        if name not in net.graph or isinstance(net.attributes[name], Nominal):
            others = [n for n in net.graph if not isinstance(net.attributes[n], Nominal)]
            hint = did_you_mean(name, others) or f"such nodes are {listed(others)}."
            raise OptionError(f"numbers names {name!r}, which is no node that is a number.", hint=hint)
    shares = net.marginals(known)[0]
    nodes = []
    for name in net.graph:
        a = net.attributes[name]
        if isinstance(a, Nominal):
            nodes.append(_nominal(name, a.values, shares[name], codes.get(name)))
        else:
            rule = str(getattr(net.densities.get(name), "rule", a.kind))
            nodes.append(_number(name, rule, values.get(name), (numbers or {}).get(name)))
    return _NetworkPage(net.graph, nodes, title, _given(net, codes, values)).svg()


def graph_svg(graph: Graph, *, title: str = "") -> str:
    """Draw a graph as SVG: names and arcs alone, every arc pointing down.

    Parameters
    ----------
    graph : Graph
        A structure without tables.
    title : str, default=""
        What to write above.

    Returns
    -------
    str

    Examples
    --------
    >>> from countwise.network.graph import Graph
    >>> from countwise.plots.network import graph_svg
    >>> graph_svg(Graph({"rain": (), "wet": ("rain",)})).count('class="arc"')
    1
    """
    return _NetworkPage(graph, [_Node(name, told=name) for name in graph], title, "").svg()


# -- what nodes show --------------------------------------------------------------------


def _nominal(name: str, values: Sequence[Any], shares: Floats, known: Any) -> _Node:
    """The values with their shares; the smallest together where they are many."""
    every = [_Bar(str(value), float(p), _share(float(p))) for value, p in zip(values, shares, strict=True)]
    bars = every
    if len(every) > _MOST_VALUES:
        kept = sorted(np.argsort(-shares, kind="stable")[: _MOST_VALUES - 1].tolist())
        rest = float(np.delete(shares, kept).sum())
        bars = [every[i] for i in kept]
        bars.append(_Bar(f"{len(every) - len(kept)} others", rest, _share(rest), others=True))
    mark = "" if known is None else "given" if np.ndim(known) == 0 else "soft"
    told = ", ".join(f"{bar.label} {bar.text}" for bar in every)
    weights = ""
    if mark == "soft":
        pairs = zip(values, np.asarray(known).tolist(), strict=True)
        weights = "; weights " + ", ".join(f"{value} {number(weight)}" for value, weight in pairs)
    return _Node(name, tuple(bars), mark=mark, told=f"{name}: {told}{weights}")


def _share(p: float) -> str:
    return percent(p, certain=p in (0.0, 1.0))


def _number(name: str, rule: str, known: float | None, spread: tuple[float, float] | None) -> _Node:
    law = rule.partition(",")[0]
    lines = [law]
    if known is not None:
        lines.append(f"= {number(known)}")
    elif spread is not None:
        lines.append(f"{number(spread[0])} ± {number(spread[1])}")
    told = f"{name}: {', '.join([rule, *lines[1:]])}"
    return _Node(name, lines=tuple(lines), mark="" if known is None else "given", told=told)


def _given(net: Net, codes: Mapping[str, Any], values: Mapping[str, float]) -> str:
    """What is known, in a line."""
    words = []
    for name in net.graph:
        a = net.attributes[name]
        if name in values:
            words.append(f"{name} = {number(values[name])}")
        elif name in codes and isinstance(a, Nominal):
            soft = np.ndim(codes[name]) > 0
            words.append(f"{name} by weights" if soft else f"{name} = {a.values[codes[name]]}")
    return f"given {', '.join(words)}" if words else ""


# -- the page ---------------------------------------------------------------------------


class _NetworkPage:
    """Where everything goes; from the top: title, what is known, the nodes."""

    def __init__(self, graph: Graph, nodes: Sequence[_Node], title: str, given: str) -> None:
        self.graph, self.nodes, self.given = graph, nodes, given
        labels = max((text_width(b.label, _SMALL) * 1.06 for node in nodes for b in node.bars), default=0.0)
        self.label = min(labels, _WIDEST_LABEL)
        self.wide = self._node_width()
        self.bar = self.wide - 2 * _SIDE - self.label - 8 - 6 - _PERCENT
        sizes = {node.name: (self.wide, self._height(node)) for node in nodes}
        self.heights = {name: high for name, (_, high) in sizes.items()}
        self.layout: Layout = layout(graph, sizes)
        least = min(max(text_width(title, _TOP) * 1.06, text_width(given, _BODY)), 640.0)
        self.width = max(self.layout.width, least, 60.0) + 2 * _EDGE
        self.head = [shortened(title, self.width - 2 * _EDGE, _TOP * 1.06)] if title else []
        lines = wrapped(given, self.width - 2 * _EDGE, _BODY)
        self.words = [shortened(line, self.width - 2 * _EDGE, _BODY) for line in lines]
        self.top = _EDGE + 24 * len(self.head) + 18 * len(self.words) + (8 if self.head or self.words else 0)
        self.left = (self.width - self.layout.width) / 2
        self.height = self.top + self.layout.height + _EDGE
        counts = [f"{n} {word}{'s' * (n != 1)}" for n, word in ((len(nodes), "node"), (len(graph.arcs), "arc"))]
        self.title = title or f"A network of {' and '.join(counts)}"

    def _node_width(self) -> float:
        """One width for all nodes, so that their bars can be compared."""
        names = max((text_width(n.name, _BODY) * 1.08 + 46 * bool(n.mark) for n in self.nodes), default=0.0)
        lines = max((text_width(line, _SMALL) for n in self.nodes for line in n.lines), default=0.0)
        wide = max(min(names, _WIDEST_NAME), min(lines, _WIDEST_NAME), 40.0)
        if any(node.bars for node in self.nodes):
            wide = max(wide, self.label + 8 + _SHORTEST_BAR + 6 + _PERCENT)
        return float(math.ceil(wide + 2 * _SIDE))

    @staticmethod
    def _height(node: _Node) -> float:
        lines = len(node.bars) + len(node.lines)
        return _NAME + (_LINE * lines + _FOOT if lines else 3.0)

    def svg(self) -> str:
        """The whole picture."""
        arcs = [self._arc(arc, runs) for arc, runs in self.layout.routes.items()]
        nodes = [self._node(node) for node in self.nodes]
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        desc = f"<desc>{xml(self.given)}</desc>" if self.given else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, Liberation Sans, sans-serif" '
            f'fill="{DARK}"><title>{xml(self.title)}</title>{desc}<rect width="{width}" height="{height}" '
            f'fill="#fff"/>{self._heading()}{"".join(arcs)}{"".join(nodes)}</svg>'
        )

    def _heading(self) -> str:
        out = [svg_text(_EDGE, _EDGE + 13, line, _TOP, ' font-weight="bold"') for line in self.head]
        y = _EDGE + 24 * len(self.head) + 11
        out += [svg_text(_EDGE, y + 18 * i, line, _BODY, f' fill="{QUIET}"') for i, line in enumerate(self.words)]
        return "".join(out)

    def _arc(self, arc: tuple[str, str], runs: Sequence[Run]) -> str:
        """A curve through its runs, and the head of the arrow."""
        placed = [(self.left + x, self.top + y0, self.top + y1) for x, y0, y1 in runs]
        x, y, end = placed[0]
        path = [f"M{x:.1f} {y:.1f}V{end:.1f}"]
        for (x0, _, y0), (x1, y1, end) in pairwise(placed):
            middle = (y0 + y1) / 2
            if abs(x1 - x0) >= 0.05:
                path.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
            path.append(f"V{end:.1f}")
        x, _, y = placed[-1]
        path[-1] = f"V{y - HEAD:.1f}"  # the head goes on from there
        head = f"M{x:.1f} {y:.1f}l-4-{HEAD:g}h8z"
        parent, child = arc
        return (
            f'<g class="arc" data-from="{xml(parent)}" data-to="{xml(child)}">'
            f"<title>{xml(f'{parent} → {child}')}</title>"
            f'<path d="{"".join(path)}" fill="none" stroke="{_ARC}" stroke-width="1.5"/>'
            f'<path d="{head}" fill="{_ARC}"/></g>'
        )

    # -- a node --------------------------------------------------------------------------

    def _node(self, node: _Node) -> str:
        x, y = self.layout.corners[node.name]
        high, round_ = self.heights[node.name], 11 if node.kind == "number" else 4
        edge = {
            "given": f'stroke="{DARK}" stroke-width="3"',
            "soft": f'stroke="{DARK}" stroke-width="2.4" stroke-dasharray="7 4"',
        }.get(node.mark, f'stroke="{QUIET}" stroke-width="1"')
        box = f'width="{self.wide:g}" height="{high:g}" rx="{round_}"'
        body = [self._bar(node, i, bar) for i, bar in enumerate(node.bars)]
        body += [
            svg_text(self.wide / 2, _NAME + 11 + _LINE * i, self._fits(line), _SMALL, _MIDDLE + _quiet(i == 0))
            for i, line in enumerate(node.lines)
        ]
        return (
            f'<g class="node {node.kind}{f" {node.mark}" if node.mark else ""}" data-node="{xml(node.name)}" '
            f'transform="translate({self.left + x:.1f} {self.top + y:.1f})"><title>{xml(node.told)}</title>'
            f'<rect class="box" {box} fill="#fff" {edge}/>{self._name(node, round_)}{"".join(body)}</g>'
        )

    def _fits(self, text: str) -> str:
        return shortened(text, self.wide - 2 * _SIDE, _SMALL)

    def _name(self, node: _Node, round_: int) -> str:
        """The name, and the tag beside it if the node is known."""
        room = self.wide - 2 * _SIDE - 46 * bool(node.mark)
        name = shortened(node.name, room, _BODY * 1.08)
        if not node.mark:
            return svg_text(self.wide / 2, 17, name, _BODY, f'{_MIDDLE} font-weight="bold"')
        wide, r = self.wide, round_
        words = svg_text(_SIDE, 17, name, _BODY, ' font-weight="bold"' + ' fill="#fff"' * (node.mark == "given"))
        if node.mark == "soft":
            tag = f'<rect x="{wide - 46:g}" y="5" width="39" height="16" rx="8" fill="#fff" stroke="{DARK}"/>'
            return words + tag + svg_text(wide - 26.5, 17, "soft", _SMALL, _MIDDLE)
        head = f"M0 {_NAME - 1:g}V{r}a{r} {r} 0 0 1 {r} -{r}H{wide - r:g}a{r} {r} 0 0 1 {r} {r}V{_NAME - 1:g}z"
        tag = f'<rect x="{wide - 46:g}" y="4.5" width="39" height="16" rx="8" fill="#fff"/>'
        return f'<path d="{head}" fill="{DARK}"/>{words}{tag}' + svg_text(
            wide - 26.5, 16.5, "given", _SMALL, _MIDDLE + ' font-weight="bold"'
        )

    def _bar(self, node: _Node, i: int, bar: _Bar) -> str:
        """A value: its label, a bar of its share, and the share in percent."""
        y = _NAME + _LINE * i
        x = _SIDE + self.label + 8
        faint = node.mark == "given" and bar.share == 0
        color = DARK if node.mark == "given" else _OTHERS if bar.others else PALETTE[0]
        label = shortened(bar.label, self.label, _SMALL)
        long = f"<title>{xml(f'{bar.label}: {bar.text}')}</title>"
        bold = ' font-weight="bold"' * (node.mark == "given" and not faint)
        return (
            f'<g class="value">{long}{svg_text(_SIDE, y + 11, label, _SMALL, bold + _quiet(faint or bar.others))}'
            f'<rect class="track" x="{x:.1f}" y="{y + 2:g}" width="{self.bar:.2f}" height="11" fill="{_TRACK}"/>'
            f'<rect class="bar" x="{x:.1f}" y="{y + 2:g}" width="{self.bar * bar.share:.2f}" height="11" '
            f'fill="{color}"/>'
            f"{svg_text(self.wide - _SIDE, y + 11, bar.text, _SMALL, _RIGHT + bold + _quiet(faint))}</g>"
        )


_MIDDLE, _RIGHT = ' text-anchor="middle"', ' text-anchor="end"'
_OTHERS = "#8fb8d4"


def _quiet(quiet: bool) -> str:
    return f' fill="{QUIET}"' * quiet
