"""Bayesian belief networks: drawn by hand, learned from tables, or both (004)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.base.term import numeric_and_nominal
from countwise.data.attributes import Attribute, Nominal
from countwise.data.frames import Frame
from countwise.data.output import dense, library_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, TableError, did_you_mean, listed, warn
from countwise.network.cpt_input import table_of, values_in
from countwise.network.editing import Extending
from countwise.network.inference.elimination_working import elimination_told
from countwise.network.net import Net
from countwise.network.persistence import NetworkFiles
from countwise.network.queries import NetworkAnswers
from countwise.network.search.dispatch import given_graph
from countwise.working import Account

__all__ = ["BayesNetwork"]


class BayesNetwork(NetworkFiles, NetworkAnswers, Extending):
    """A Bayesian belief network over names and numbers: drawn by hand, learned from a table, or both (004).

    .. math:: P(x_1, ..., x_d) = ∏_i P(x_i | parents of x_i)

    Names have tables. Numbers have a law of their own for each combination of the names above them, and Gaussians may
    depend on Gaussians by a line; a number that names depend on is held by its ranges.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="given"
        Who depends on whom: ``{child: [parents]}`` or pairs (parent, child); or "given" (what `arc` drew), "ordering"
        (the loop of 004 over `order`), "orders" and "annealing" (a search for the ordering), "chow_liu" (the tree of
        most mutual information), "naive", "tan", "k_dependence" (with the class `target`), "hill_climb".
    order : sequence of str, optional
        For "ordering": causes before effects; by default the columns as they stand.
    criterion : {"bic", "aic", "bdeu", "k2", "log_likelihood"}, default="bic"
        What a structure is judged by. "bdeu" and "k2" are of names: numbers are then held by their ranges.
    ess : float, default=1
        For "bdeu": the equivalent sample size.
    max_parents : int, default=3
        The most parents that a search gives a node.
    required, forbidden : arcs, optional
        What a search must and must not find; `arc` draws required ones too.
    tiers : list of lists, or mapping of node to number, optional
        No arc that is searched goes from a later tier to an earlier one.
    target : str, optional
        The class, for "naive", "tan" and "k_dependence".
    root : str, optional
        Where the tree of "chow_liu" and "tan" begins.
    k : int, default=2
        For "k_dependence": the most parents beside the class.
    smoothing : float, {"laplace", "global", "bdeu", "none"}, MEstimate, Dirichlet or None, default=1
        Against zero counts: Laplace with that ε, or imagined rows. Unless it is 0, a Gaussian in a combination of
        several parents' values has one imagined row of the spread within all combinations.
    distributions : mapping of column to law, optional
        Of numbers: "gaussian", "poisson", "kernel", "ranges". By default numbers are Gaussian, counts Poisson.
    ranges : int, str, list of edges or Ranges, default=4
        How numbers are cut that names depend on: how many ranges of equal frequency, or a rule.
    types, categorical_features
        What columns are; see `NaiveBayesClassifier`.
    missing : {"em", "available", "complete"}, default="em"
        Missing cells: expected counts by EM (and by structural EM where the structure is searched), each family from
        the rows that have all of it, or only rows that lack nothing.
    latent : mapping of node to number of values or list of values, optional
        Nodes that no column shows.
    restarts : int, default=3
        Of the searches.
    max_iter : int, default=500
        The most steps of EM.
    tol : float, default=1e-8
        EM ends with a step that moves no probability by more.
    random_state : int or None, default=0
        Of searches, and of where latent nodes begin.
    nodes, arcs, tables : optional
        What `node`, `arc` and `table` wrote.

    Attributes
    ----------
    graph_ : Graph
        The structure.
    found_ : Found or None
        Its score, and every arc that was tried.
    em_ : Learned or None
        The log-likelihood before each step of EM.
    tallies_ : dict
        All that was counted; expected counts where EM filled gaps.
    cuts_ : dict
        Where numbers are cut that are held by their ranges.

    Examples
    --------
    >>> from countwise import BayesNetwork, samples
    >>> tennis = samples.load("tennis")
    >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(tennis.frame)
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> print(net.query("play", day))
    P(play | outlook = Sunny, temperature = Cool, humidity = High, wind = Strong)
    No   0.795417
    Yes  0.204583
    >>> net.separated("outlook", "wind", given="play"), net.separated("outlook", "wind")
    (True, False)
    """

    def __init__(
        self,
        structure: Any = "given",
        *,
        order: Any = None,
        criterion: str = "bic",
        ess: float = 1.0,
        max_parents: int = 3,
        required: Any = (),
        forbidden: Any = (),
        tiers: Any = None,
        target: str | None = None,
        root: str | None = None,
        k: int = 2,
        smoothing: Any = 1.0,
        distributions: Any = None,
        ranges: Any = 4,
        types: Any = None,
        categorical_features: Any = None,
        missing: str = "em",
        latent: Any = None,
        restarts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-8,
        random_state: int | None = 0,
        nodes: Any = None,
        arcs: Any = None,
        tables: Any = None,
    ) -> None:
        self.structure = structure
        self.order = order
        self.criterion = criterion
        self.ess = ess
        self.max_parents = max_parents
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.target = target
        self.root = root
        self.k = k
        self.smoothing = smoothing
        self.distributions = distributions
        self.ranges = ranges
        self.types = types
        self.categorical_features = categorical_features
        self.missing = missing
        self.latent = latent
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.nodes = nodes
        self.arcs = arcs
        self.tables = tables

    # -- by hand -----------------------------------------------------------------------

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of all rows together, with what is missing summed out.

        Parameters
        ----------
        X : any table
            The rows.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).sum())

    def node(self, name: str, values: Sequence[Any] | Attribute | None = None, table: Any = None) -> Self:
        """Declare a node by hand.

        Parameters
        ----------
        name : str
            Its name; a column of that name shows it.
        values : sequence or Attribute, optional
            Its values, in order; if there are none, the data says.
        table : array-like or mapping, optional
            P(node), if it depends on nothing: see `table`.

        Returns
        -------
        self
        """
        self._refuse_fitted()
        name = str(name)
        if isinstance(values, str):
            raise OptionError(f"The values of {name!r} must be a list, not the word {values!r}.")
        if values is not None and not isinstance(values, Attribute | Iterable):
            raise OptionError(f"The values of {name!r} must be a list, not {values!r}.")
        found: Any = values
        if values is not None and not isinstance(values, Attribute):
            found = list(Nominal(name, tuple(values)).values)
        self.nodes = {**(self.nodes or {}), str(name): found}
        return self if table is None else self.table(str(name), table)

    def arc(self, parent: str, child: str) -> Self:
        """Draw an arc by hand: the child depends on the parent.

        Parameters
        ----------
        parent, child : str
            Nodes; those that there are not yet are declared.

        Returns
        -------
        self
        """
        self._refuse_fitted()
        arcs = [tuple(pair) for pair in self.arcs or []]
        nodes = dict(self.nodes or {})
        for name in (parent, child):
            nodes.setdefault(str(name), None)
        if (parent, child) not in arcs:
            given_graph(list(nodes), [*arcs, (str(parent), str(child))])  # a circle is refused here
            if child in (self.tables or {}):
                raise OptionError(
                    f"{child!r} has a table already, which {parent!r} is not in.", hint="draw arcs before tables."
                )
            arcs.append((str(parent), str(child)))
        self.nodes, self.arcs = nodes, arcs
        return self

    def table(self, name: str, table: Any = None, rows: float | None = None) -> Any:
        """Give the table of a node by hand; without a table, show the one that it has.

        Parameters
        ----------
        name : str
            The node.
        table : array-like or mapping, optional
            P(node | parents): an axis for each parent, in the order in which their arcs were drawn, and the last for
            the node; or ``{value: p}``, ``{parent's value: {value: p}}``, ``{(value, value): {value: p}}``.
        rows : float, optional
            How many rows it is worth when there are data too; if not given, it stands whatever the data say.

        Returns
        -------
        self or Grid
        """
        if table is None:
            return self._shown_table(name)
        self._refuse_fitted()
        nodes = dict(self.nodes or {})
        if name not in nodes:
            nodes[str(name)] = None
        above = [p for p, c in self.arcs or [] if c == name]
        if nodes[name] is None:
            said = values_in(table, len(above))
            nodes[name] = None if said is None else list(said)
        for node in (name, *above):
            if not isinstance(nodes.get(node), list | Nominal):
                raise OptionError(f"The values of {node!r} are not known.", hint=f"net.node({node!r}, [...]) first.")
        if rows is not None and not (isinstance(rows, int | float | np.number) and rows >= 0 and np.isfinite(rows)):
            raise OptionError(f"rows must be 0 or more, not {rows!r}.")
        found = table_of(_nominal(name, nodes[name]), [_nominal(p, nodes[p]) for p in above], table)
        entry = {"table": found.tolist(), "rows": None if rows is None else float(rows)}
        self.nodes, self.tables = nodes, {**(self.tables or {}), str(name): entry}
        return self

    def _refuse_fitted(self) -> None:
        if hasattr(self, "tallies_") and self.tallies_:
            raise OptionError(
                "The network has learned from data; it is not drawn by hand any more.",
                hint="add_arc and add_node extend it, with rows to learn from.",
            )
        for name in ("schema_", "net_", "graph_"):
            vars(self).pop(name, None)

    def _declared(self) -> dict[str, Attribute | None]:
        """The nodes drawn by hand, as attributes; None where the data must say."""
        found: dict[str, Attribute | None] = {}
        for name, what in (self.nodes or {}).items():
            found[name] = None if what is None else what if isinstance(what, Attribute) else _nominal(name, what)
        return found

    def _hand_arcs(self) -> list[tuple[str, str]]:
        return [(p, c) for p, c in self.arcs or []]

    def _hand_table(self, name: str) -> tuple[Floats, float | None] | None:
        entry = (self.tables or {}).get(name)
        return None if entry is None else (np.array(entry["table"], dtype=np.float64), entry["rows"])

    def _check_fitted(self, *, answers: bool = True) -> None:
        if not hasattr(self, "schema_") and self.nodes:
            self._settle_by_hand()
        super()._check_fitted(answers=answers)

    def _settle_by_hand(self) -> None:
        """The network of tables that were given, without any data."""
        nodes = self._declared()
        lost = [name for name in nodes if name not in (self.tables or {})]
        if lost:
            raise OptionError(
                f"{listed(lost)} {'has' if len(lost) == 1 else 'have'} no table.",
                hint=f"net.table({lost[0]!r}, ...), or fit on data.",
            )
        attributes: dict[str, Any] = {name: a for name, a in nodes.items() if isinstance(a, Nominal)}
        self.graph_ = given_graph(list(nodes), self._hand_arcs())
        tables = {name: np.array(entry["table"], dtype=np.float64) for name, entry in self.tables.items()}
        self.net_ = Net(self.graph_, attributes, tables, {})
        self.schema_ = Schema(attributes.values())
        self.target_ = Nominal("", (0,))
        self.tallies_, self.cuts_, self.found_, self.em_, self.terms_ = {}, {}, None, None, []
        self.n_rows_ = self.n_left_out_ = 0
        self.n_features_in_ = len(attributes)
        self._label_type: Any = None
        self._laws: dict[str, Any] = {}

    def _revive(self, state: Mapping[str, Any]) -> None:
        if state["tallies"]:
            super()._revive(state)
        else:
            self._settle_by_hand()

    # -- from data -------------------------------------------------------------------------

    def _needs_target(self) -> bool:
        return False

    def _class_node(self, target: Nominal) -> Nominal | None:
        return None

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return dense(X)

    def _infer_schema(self, frame: Frame) -> Schema:
        declared = self._declared()
        schema = numeric_and_nominal(super()._infer_schema(frame), "a network")
        return Schema(declared.get(a.name) or a for a in schema.attributes)

    def _latent(self) -> dict[str, Nominal]:
        found: dict[str, Nominal] = {}
        if self.latent is not None and not isinstance(self.latent, Mapping):
            raise OptionError(f"latent={self.latent!r} must say how many values each node has: {{'kind': 2}}.")
        for name, size in (self.latent or {}).items():
            whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            if not whole and (isinstance(size, str | bool) or not isinstance(size, Iterable)):
                raise OptionError(
                    f"The latent node {name!r} needs a number of values or a list of them, not {size!r}."
                )
            values = tuple(range(int(size))) if whole else tuple(size)
            if len(values) < 1:
                raise OptionError(f"The latent node {name!r} needs at least one value.")
            found[str(name)] = Nominal(str(name), values, grows=False)
        return found

    def _check_settings(self) -> None:
        super()._check_settings()
        if self._latent() and self.missing != "em":
            raise OptionError("Latent nodes are learned by EM.", hint="missing='em'.")

    def _prepare(self, schema: Schema, target: Nominal, table: Any) -> Net | None:
        for name in self._latent():
            if name in schema:
                raise OptionError(f"The latent node {name!r} is a column of the table.", hint="name it otherwise.")
        hidden = [name for name in self.nodes or {} if name not in schema and name not in self._latent()]
        if hidden:
            raise TableError(
                f"The table lacks the column{'s' * (len(hidden) > 1)} {listed(hidden)}.",
                hint=did_you_mean(hidden[0], schema)
                or f"a node that is never seen is latent: latent={{{hidden[0]!r}: how many values}}.",
            )
        net = super()._prepare(schema, target, table)
        for name in self.tables or {}:
            above = self.graph_.parents[name]
            if list(above) != [p for p, c in self._hand_arcs() if c == name]:
                raise OptionError(f"{name!r} has a table by hand; other arcs than by hand do not fit it.")
        return net

    def _how(self, names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> Any:
        found = super()._how(names, arcs)
        fixed = set(self.tables or {})
        closed = {(p, c) for c in fixed for p in names if p != c and (p, c) not in arcs}
        if not closed:
            return found
        return replace(found, constraints=replace(found.constraints, forbidden=found.constraints.forbidden | closed))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table: the structure if it is not given, and the law of each node.

        Parameters
        ----------
        X : any table, path, or iterator of frames
            pandas, Polars, PyArrow, NumPy, a mapping of columns, a list of dicts.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array-like or str, optional
            A weight for each row; a weight of n equals n copies.

        Returns
        -------
        self
        """
        super().fit(X, None, sample_weight)
        if (
            isinstance(self.structure, str)
            and self.structure == "given"
            and not (self.arcs or self.nodes)
            and len(self.schema_) > 1
        ):
            warn("No arcs were given: every node stands alone. Hint: structure='hill_climb' looks for arcs.")
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the structure stays as it is.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : ignored

        Returns
        -------
        self
        """
        return super().partial_fit(X, None, None, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows back, as if they had never been there; the structure stays as it is.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        return super().forget(X, None, sample_weight)

    def explain(self, asked: str | Sequence[str], given: Mapping[str, Any] | None = None) -> Account:
        """P(asked | given) worked out by variable elimination, as a lecture would: factors, products, sums.

        Parameters
        ----------
        asked : str or sequence of str
            A node of names, or several.
        given : mapping of str to value, optional
            What is known.

        Returns
        -------
        Account
            As text, HTML or LaTeX.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().arc("rain", "wet").node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.explain("rain", {"wet": "yes"}).sections[-1])
        What is left: P(rain) · P(wet = yes | rain)
          rain  P(rain)  P(wet = yes | rain)  product  P(rain | wet = yes)
          no    0.8      0.1                  0.08     0.333333
          yes   0.2      0.8                  0.16     0.666667
          The sum of the products is 0.24 = P(wet = yes); each is divided by it.
        """
        return elimination_told(self._net(), asked, self._known(given))


def _nominal(name: str, what: Any) -> Nominal:
    return what if isinstance(what, Nominal) else Nominal(name, tuple(what), grows=False)
