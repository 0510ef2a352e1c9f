"""What a network shows of itself: its tables, its graph, and why it has its arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from countwise.errors import check_number, printable
from countwise.network import inspection
from countwise.network.answers import NetworkAnswers
from countwise.network.em import Learned
from countwise.network.graph import Graph
from countwise.network.layered_layout import layout
from countwise.network.search.constraints import FoundStructure
from countwise.working import Grid
from countwise.working.tikz import LETTER, Arrow, Box, picture

__all__ = ["NetworkViews"]

_SCORE_NAMES = {"bic": "BIC", "aic": "AIC", "bdeu": "BDeu", "k2": "K2", "log_likelihood": "log-likelihood"}
_SCALE = 50.0  # points of the layout in a cm
_HIGH = 0.6  # height of a node in a picture, in cm


class NetworkViews(NetworkAnswers):
    """The tables and the graph of a network."""

    structure: Any
    criterion: str | None
    found_: FoundStructure | None
    em_: Learned | None
    _class_is_node: bool

    @property
    def graph_(self) -> Graph:
        """The structure."""
        raise NotImplementedError

    def summary(self) -> str:
        """Summarize the network: number of training rows, arcs, score of the learned structure.

        Returns
        -------
        str
            One line for the network and one line for each of the first 40 nodes with its parents.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain"]}).fit({"rain": ["no", "yes"], "wet": ["no", "yes"]})
        >>> print(net.summary())
        2 rows, 2 attributes: network with 1 arc
          rain
          wet ← rain
        """
        self._check_fitted()
        target = f"; {self.target_.name}" if self._class_is_node else ""
        n_arcs = len(self.graph_.arcs)
        arcs = f"network with {n_arcs} arc{'s' * (n_arcs != 1)}"
        head = f"{self._training_size}{target}: {arcs}"
        if self.found_ is not None:
            head += f", {_SCORE_NAMES[self.criterion or 'bic']} {self.found_.score:.6g}"
        lines = [head, "  missing values estimated by EM"] if self.em_ is not None else [head]
        return printable("\n".join([*lines, *(f"  {line}" for line in inspection.arc_lines(self.graph_)[:40])]))

    def tables(self) -> dict[str, Grid]:
        """Return the CPT or the parameters of every node; see `cpt`.

        Returns
        -------
        dict of str to Grid
            The table of each node.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> print(net.tables()["rain"])
        rain = no  rain = yes
              0.8         0.2
        """
        return {name: self.cpt(name) for name in self._net().graph}

    def table_titles(self) -> dict[str, str]:
        """Return the titles of the `tables`, such as P(node | parents).

        Returns
        -------
        dict of str to str
            The title for each node.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).table_titles()
        {'rain': 'P(rain)'}
        """
        parents = self._net().graph.parents
        return {name: f"P({name}{' | ' + ', '.join(above) if above else ''})" for name, above in parents.items()}

    def cpt(self, name: str) -> Grid:
        """Return the conditional probability table (CPT) of a nominal node, or the parameters of a numeric node.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        Grid
            One row for each combination of the nominal parents' values. A CPT has one column for each value of the
            node. A numeric node has its parameters, such as mean and standard deviation, the slope of each numeric
            parent ("× parent"), and the number of rows n. Numbers are rounded only when printed.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> print(net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]}).cpt("wet"))
        rain  wet = no  wet = yes
        no         0.9        0.1
        yes        0.2        0.8
        """
        return inspection.cpt_grid(self._net(), name)

    def explain_arc(self, parent: str, child: str) -> Grid:
        """Explain why the structure search included an arc between two nodes or not.

        Parameters
        ----------
        parent : str
            A node.
        child : str
            Another node. Both directions of the arc are reported.

        Returns
        -------
        Grid
            The arc, its gain, whether it was taken, and the reason. For 'ordering', 'orders' and 'annealing' the gain
            is the increase of the score, with one row for each step of the K2 algorithm that considered the arc. For
            'hill_climb' it is the increase of the score by the arc in the learned structure. For 'chow_liu', 'tan'
            and 'k_dependence' it is the mutual information in bits (given the class, if there is one). An arc that
            the search did not consider has no row: a forbidden arc, or an arc from the class in 'naive', 'tan' and
            'k_dependence'.

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("chow_liu").fit(samples.load("tennis").frame)
        >>> print(net.explain_arc("outlook", "play"))
        arc                gain  taken  because
        outlook → play  0.24675  yes    it is in the tree with the largest mutual information
        """
        structure = self.structure if isinstance(self.structure, str) else ""
        return inspection.arc_reasons(self._net().graph, self.found_, parent, child, structure)

    def _known_graph(self) -> Graph:
        """Return the structure, which may be known before the parameters are."""
        if not hasattr(self, "graph_"):
            self._check_fitted()
        return self.graph_

    def latex(self, width: int | None = None) -> str:
        r"""Return the graph as a LaTeX picture; the document must load tikz.

        Parameters
        ----------
        width : int or None, default=None
            The picture is scaled down to fit a frame with lines of this many characters; a beamer frame has about
            56. If None, it is not scaled.

        Returns
        -------
        str
            A ``tikzpicture`` with the nodes in layers and arcs that point down.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> print(BayesNetwork({"rain": [], "grass": ["rain"]}).latex())
        \begin{tikzpicture}[x=1cm, y=1cm, every node/.style={font=\small, align=center}]
          \node[draw, rounded corners=4pt, minimum width=1.26cm] (n0) at (0.72,-0.3) {rain};
          \node[draw, rounded corners=4pt, minimum width=1.45cm] (n1) at (0.72,-1.82) {grass};
          \draw[->] (n0) -- (n1);
        \end{tikzpicture}
        """
        check_number("width", width, 1, none=True)
        return _picture(self._known_graph(), width)

    @property
    def _has_parameters(self) -> bool:
        """Whether the network is fitted, or every node has its CPT."""
        return hasattr(self, "schema_")

    def d_separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Return whether two sets of nodes are d-separated by a third set.

        Nodes that are d-separated are conditionally independent, whatever the parameters are. So the structure
        suffices: the nodes need no CPTs.

        Parameters
        ----------
        one : str or iterable of str
            The first set.
        other : str or iterable of str
            The second set.
        given : str or iterable of str, default=()
            The nodes to condition on.

        Returns
        -------
        bool
            Whether the graph implies the independence.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain", "hose"]})
        >>> net.d_separated("rain", "hose"), net.d_separated("rain", "hose", given="wet")
        (True, False)
        """
        return self._known_graph().d_separated(one, other, given)

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return the Markov blanket of a node: its parents, its children and the other parents of its children.

        Given its Markov blanket, a node is independent of all other nodes. The nodes need no CPTs.

        Parameters
        ----------
        node : str
            The node.

        Returns
        -------
        tuple of str
            The nodes of the Markov blanket, in the order of the network.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork({"wet": ["rain", "hose"]}).markov_blanket("rain")
        ('wet', 'hose')
        """
        return self._known_graph().markov_blanket(node)

    def independence(self, X: Any, one: str, other: str, given: str | Sequence[str] = ()) -> Grid:
        """Test whether two nominal nodes are conditionally independent, by Pearson's chi-square test.

        Parameters
        ----------
        X : any table
            The rows to test on. Rows in which one of these nodes is missing are ignored.
        one : str
            A nominal node.
        other : str
            Another nominal node.
        given : str or sequence of str, default=()
            Nominal nodes to condition on. The statistic is summed over the combinations of their values.

        Returns
        -------
        Grid
            The statistic, the degrees of freedom (df), the p-value, and whether the nodes are d-separated, so that
            the graph implies independence.

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> tennis = samples.load("tennis").frame
        >>> net = BayesNetwork("naive", target="play").fit(tennis)
        >>> print(net.independence(tennis, "outlook", "wind", given="play"))
        pair                         chi-square  df   p-value  d-separated
        outlook and wind given play     4.47222   3  0.214781  yes
        """
        return inspection.independence_test(self._net(), self._rows_of(X), one, other, given)


def _picture(graph: Graph, width: int | None) -> str:
    """Return the TikZ picture of a graph: nodes in layers, with arcs that point down."""
    wide = {name: LETTER * len(name) + 0.5 for name in graph}
    placed = layout(graph, {name: (wide[name] * _SCALE, _HIGH * _SCALE) for name in graph})
    boxes = []
    for name, (x, y) in placed.corners.items():
        boxes.append(Box(x / _SCALE + wide[name] / 2, -y / _SCALE - _HIGH / 2, (name,), wide[name], round=True))
    number = {name: i for i, name in enumerate(placed.corners)}
    arrows = []
    for (parent, child), (_, *passed, _) in placed.routes.items():
        points = tuple((x / _SCALE, -y / _SCALE) for x, top, end in passed for y in (top, end))
        arrows.append(Arrow(number[parent], number[child], points=points, head=True))
    return picture(boxes, arrows, width)
